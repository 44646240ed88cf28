/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Claims as text and JSON. */
#ifndef ATTEST_REPORT_CLAIMS_H
#define ATTEST_REPORT_CLAIMS_H

#include <stdio.h>

#include "../claims/claims.h"

/* One verdict line, key=value without blanks in values. `explain` adds lines with the statement,
 * its source and what was found. */
void report_claim_text(FILE *stream, const claim_result *result, const claim *c, int explain);

typedef struct report_claims report_claims;

/* The array of --json, one object a claim: id, verdict, expected, printed, enclosure {lo, hi}
 * (texts, lists of texts for lists, or null), note, statement, source. NULL when out of memory. */
report_claims *report_claims_new(void);
void report_claims_add(report_claims *r, const claim_result *result, const claim *c);
attest_status report_claims_write(const char *path, const report_claims *r, attest_error *error);
void report_claims_free(report_claims *r);

#endif
