/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Whether a value rounds to a printed number. */
#ifndef ATTEST_CLAIMS_PRINTED_H
#define ATTEST_CLAIMS_PRINTED_H

#include "../enclosure/value.h"

/* The printed number, exactly, and half a unit of its last digit: 0 for fractions and so for an
 * exact comparison. The text is a decimal or a fraction, see load.c. */
void printed_parse(fmpq_t number, fmpq_t half_unit, const char *text);

/* |v - printed| <= half a unit: 1, 0 or VALUE_UNKNOWN. Both roundings of a tie are right. */
int printed_matches(const value *v, const char *text, slong prec);

#endif
