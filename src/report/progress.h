/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A progress line with rate and time left, on standard error, only when that is a terminal. */
#ifndef ATTEST_REPORT_PROGRESS_H
#define ATTEST_REPORT_PROGRESS_H

#include <stdint.h>

typedef struct progress progress;

/* `total` steps of anything (pairs, elements); 0 when unknown. Returns NULL when standard error is
 * not a terminal or memory is short: the other functions then do nothing. */
progress *progress_start(const char *what, int64_t total);
/* n more steps are done. Any thread may call it; it draws at most ten times a second. */
void progress_step(progress *p, int64_t n);
/* Erases the line until the next step: before something else is printed. */
void progress_hide(progress *p);
/* Erases the line for good. */
void progress_end(progress *p);

#endif
