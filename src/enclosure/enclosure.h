/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* enclosure: the number tower and its ladder; error measures; rounding to a dtype; decimals. */
#ifndef ATTEST_ENCLOSURE_ENCLOSURE_H
#define ATTEST_ENCLOSURE_ENCLOSURE_H

#include "../tensor/tensor.h"
#include "flint.h" /* FLINT 2.9 + Arb or FLINT 3: arb.h, arb_mat.h, fmpq.h under one name */

/* ---- the ladder (ladder.c) ------------------------------------------------------------------ */

typedef enum { TIER_DOUBLE, TIER_DOUBLE_DOUBLE, TIER_BALL, TIER_EXACT, TIER_COUNT } enclosure_tier;
typedef struct {
  const char *name;   /* "double", "double-double", "ball", "exact" */
  int precision;      /* bits at entry: 53, 106, 128, 0 */
  double nanoseconds; /* a (query, key) pair at d = dv = 64, for estimates of the time left */
} enclosure_rung;
extern const enclosure_rung enclosure_ladder[TIER_COUNT];
#define ENCLOSURE_BALL_PRECISION_MAX 65536

/* ---- floating-point environment (environment.c) --------------------------------------------- */

/* 0 when rounding is to nearest and subnormals are neither flushed nor zeroed on input. Checked in
 * every worker and around every call of a subject. */
int enclosure_environment_check(void);
/* Puts it right (round to nearest, FTZ and DAZ off). */
void enclosure_environment_restore(void);

/* ---- rounding a ball (round.c) -------------------------------------------------------------- */

/* 1 and the value of `format` nearest to every point of x (ties to even; overflow to infinity at
 * 2^emax (2 - 2^-p)), or 0 when x straddles a rounding boundary. Subnormals and -0 (negative values
 * that round to zero) included, so a ball astride zero straddles. Exact balls always succeed. */
int enclosure_round(double *result, const arb_t x, const tensor_format *format);
/* The ends of x rounded outward to double: infinities when x has no bound, also for NaN. */
double enclosure_upper(const arb_t x); /* >= every point of x, signed */
double enclosure_lower(const arb_t x); /* <= every point of x, signed */

/* `digits` significant decimal digits, correctly rounded to nearest (ties to even digit; exact ties
 * only when x is exact), e.g. "0.33333333333333333333", "-1.5e-40": 1 and *text (free() it), or 0
 * when x straddles. Zero is "0". Trailing zeros are kept: exactly `digits` digits, except exact
 * zero. Notation: 0.00000123 to 123456 in full as long as all digits left of the point are
 * significant, else 1.23e-7, 1.23e40. Beyond 2^(+-2^28) a ball power of ten is split off first, so
 * there even an exact x may straddle; beyond 2^(+-2^62) every x does. */
int enclosure_decimal(char **text, const arb_t x, long digits);
/* An end of x, the upper (1) or the lower one (0), rounded outward to `digits` significant digits,
 * in the same notation without trailing zeros; "inf" or "-inf" where x has no bound or lies beyond
 * 2^(+-2^28). free() it; NULL when out of memory. */
char *enclosure_end_decimal(const arb_t x, int upper, long digits);
/* An upper bound, "1.2e-50", of |y - mid_text| over all y in x: two digits, rounded up; "0" when it
 * is exact, "inf" when unbounded. free() it; NULL when mid_text is no number or out of memory. */
char *enclosure_radius_decimal(const arb_t x, const char *mid_text);

/* ---- error measures (measure.c) -------------------------------------------------------------- */

typedef enum {
  MEASURE_ABS,
  MEASURE_REL,
  MEASURE_ULP,      /* ulp of the exact x */
  MEASURE_ROW,      /* relative to the largest |x| of the row */
  MEASURE_NMSE,     /* sum (got-x)^2 / sum x^2 over the whole output */
  MEASURE_ALLCLOSE, /* |got-x| / (atol + rtol |x|): holds iff <= 1 */
  MEASURE_BACKWARD,
  MEASURE_THEORY, /* |got-x| / a-priori bound: holds iff <= 1 */
  MEASURE_COUNT
} measure_kind;
extern const char *const measure_names[MEASURE_COUNT];

/* 0 <= lo <= hi; hi may be infinite. */
typedef struct {
  double lo, hi;
} measure_interval;

/* What the exact element is: usually a number, enclosed; a problem's empty-row and nonfinite
 * policies also prescribe NaN or an infinity. */
typedef enum { EXACT_FINITE, EXACT_NAN, EXACT_PLUS_INF, EXACT_MINUS_INF } measure_class;

/* The distance to be measured, classified by the edge rules:
 *   got NaN and the policy prescribes NaN: error 0; got NaN otherwise: infinite error;
 *   got +-inf counts as +-2^(emax+1) iff x rounds there in `format`, else infinite error;
 *   x infinite: got must be that infinity.
 * GOT_UNKNOWN: got is NaN and x has no bounds, or got is infinite and the enclosure of x straddles
 * the overflow threshold 2^emax (2 - 2^-p), which no double enclosure of a float64 element decides
 * upwards: climb the ladder. Infinite float64 outputs stay infinite in *got: all measures read it
 * as +-2^1024. */
typedef enum { GOT_NUMBER, GOT_EXACT, GOT_HOPELESS, GOT_UNKNOWN } measure_got;
measure_got measure_classify(double *got, measure_class exact, double x_lo, double x_hi,
                             const tensor_format *format);
measure_got measure_classify_arb(double *got, measure_class exact, const arb_t x,
                                 const tensor_format *format);

/* In double, outward rounded. x in [x_mid - x_rad, x_mid + x_rad], got a number (classified). All
 * radii may be infinite. 0/0 = 0, nonzero/0 = infinity. */
measure_interval measure_abs(double got, double x_mid, double x_rad);
measure_interval measure_rel(double got, double x_mid, double x_rad);
measure_interval measure_ulp(double got, double x_mid, double x_rad, const tensor_format *format);
/* |got-x| / y for y in [y_lo, y_hi], y >= 0. */
measure_interval measure_quotient(double got, double x_mid, double x_rad, double y_lo, double y_hi);

/* The same on balls; *value encloses the measure (may be an infinite ball). ulp straddling a binade
 * gives the union. */
void measure_abs_arb(arb_t value, double got, const arb_t x, slong prec);
void measure_rel_arb(arb_t value, double got, const arb_t x, slong prec);
void measure_ulp_arb(arb_t value, double got, const arb_t x, const tensor_format *format,
                     slong prec);
void measure_quotient_arb(arb_t value, double got, const arb_t x, const arb_t y, slong prec);
measure_interval measure_interval_arb(const arb_t value); /* outward to double, clipped at 0 */

/* The canonical figure of a certificate: the value rounded up to a multiple of 2^-20 of its binade
 * (21 significant bits). */
double measure_canonical(double hi);

/* u and emin - p terms: u = 2^-p. */
static inline double measure_unit_roundoff(const tensor_format *format) {
  return 1.0 / (double)((uint64_t)1 << format->precision);
}

#endif
