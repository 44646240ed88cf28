/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The exact functions of a sweep (sweep_exact.c): y encloses f(x), and is exact where f(x) is a
 * dyadic number; the same by MPFR, correct to a few units of y's precision. */
#ifndef ATTEST_CERTIFY_SWEEP_EXACT_H
#define ATTEST_CERTIFY_SWEEP_EXACT_H

#include "sweep_engine.h"

#define SWEEP_DECLARE(name)                                                                        \
  void sweep_ball_##name(arb_t y, const arb_t x, const sweep_function *f, slong prec);             \
  void sweep_mpfr_##name(mpfr_t y, const mpfr_t x, const sweep_function *f);
SWEEP_ENCLOSURES(SWEEP_DECLARE)
#undef SWEEP_DECLARE

#endif
