/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Why an output may be wrong: other readings of the problem under which it certifies, and the rows
 * that are furthest off. A reading is reported only after the output certified under it, in full.
 */
#ifndef ATTEST_CERTIFY_DIAGNOSE_H
#define ATTEST_CERTIFY_DIAGNOSE_H

#include "certify.h"

/* Adds lines to result->diagnosis, for the output out of a subject that was refuted. Nothing is
 * added where the problem is too large to try readings of it; that is no error. */
attest_status certify_diagnose(certify_case *result, const certify_subject *subject,
                               const certify_options *options, attest_error *error);

/* ---- inside: diagnose_rows.c ---- */

attest_status diagnose_note(certify_case *result, attest_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The worst rows: error, condition, the keys of largest weight, the key that carries the error. */
attest_status diagnose_rows(certify_case *result, const certify_subject *subject,
                            attest_error *error);

#endif
