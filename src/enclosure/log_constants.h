/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Constants of the logarithm: the single source; proofs are generated from this file. */
#ifndef ATTEST_ENCLOSURE_LOG_CONSTANTS_H
#define ATTEST_ENCLOSURE_LOG_CONSTANTS_H

#define LOG64_ROOT 0x1.6a09e667f3bcdp-1 /* sqrt 1/2 */
/* 1/3, 1/5, .. 1/21 */
#define LOG64_C3 0x1.5555555555555p-2
#define LOG64_C5 0x1.999999999999ap-3
#define LOG64_C7 0x1.2492492492492p-3
#define LOG64_C9 0x1.c71c71c71c71cp-4
#define LOG64_C11 0x1.745d1745d1746p-4
#define LOG64_C13 0x1.3b13b13b13b14p-4
#define LOG64_C15 0x1.1111111111111p-4
#define LOG64_C17 0x1.e1e1e1e1e1e1ep-5
#define LOG64_C19 0x1.af286bca1af28p-5
#define LOG64_C21 0x1.8618618618618p-5

#endif
