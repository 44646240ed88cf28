/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What this room adds to the expression language. */
#ifndef ATTEST_TOEPLITZ_FUNCTIONS_H
#define ATTEST_TOEPLITZ_FUNCTIONS_H

#include "../enclosure/function.h"

extern const room_functions toeplitz_functions;

#endif
