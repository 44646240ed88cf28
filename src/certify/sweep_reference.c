/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table of functions that a sweep knows exactly, and what follows from a row of it. */
#include <float.h>

#include "../problem/pairing.h"
#include "sweep_exact.h"

#define CHOOSE(name)                                                                               \
  static sweep_enclose *choose_##name(void) {                                                      \
    return ISA_DISPATCH(sweep_enclose_##name);                                                     \
  }
SWEEP_ENCLOSURES(CHOOSE)

#define FUNCTION(kind)                                                                             \
  .enclose = choose_##kind, .ball = sweep_ball_##kind, .mpfr = sweep_mpfr_##kind
#define EVERYWHERE .least = -FLT_MAX, .most = FLT_MAX
#define LIMITS(a, b) .at_minus_inf = a, .at_inf = b
#define NO_POLE .pole = NAN
#define NEAR_ZERO(value_, order_, minus, plus) .near_zero = {value_, order_, {minus, plus}}
#define NO_TURN .turn = {NAN, NAN}

static const sweep_reference references[] = {
    {"exp", "e^x", FUNCTION(exp), NEAR_ZERO(1, 1, 0, 1), EVERYWHERE, LIMITS(0, INFINITY), NO_POLE,
     .huge = 90, .vast = 709, .direction = 1, NO_TURN},
    {"exp2", "2^x", FUNCTION(exp2), NEAR_ZERO(1, 1, 0, 1), EVERYWHERE, LIMITS(0, INFINITY), NO_POLE,
     .huge = 130, .vast = 1000, .direction = 1, NO_TURN},
    {"expm1", "e^x - 1", FUNCTION(expm1), NEAR_ZERO(INFINITY, 1, 0, 1), EVERYWHERE,
     LIMITS(-1, INFINITY), NO_POLE, .limit = {-1, 0}, .huge = 90, .vast = 709, .direction = 1,
     NO_TURN},
    {"log", "log x", FUNCTION(log), .least = FLT_TRUE_MIN, .most = FLT_MAX, LIMITS(NAN, INFINITY),
     .pole = 0, .pole_value = -INFINITY, .huge = NAN, .direction = 1, NO_TURN},
    {"log2", "log x / log 2", FUNCTION(log2), .least = FLT_TRUE_MIN, .most = FLT_MAX,
     LIMITS(NAN, INFINITY), .pole = 0, .pole_value = -INFINITY, .huge = NAN, .direction = 1,
     NO_TURN},
    {"log1p", "log(1 + x)", FUNCTION(log1p), NEAR_ZERO(INFINITY, 1, 1, 0), .least = -0x1.fffffep-1f,
     .most = FLT_MAX, LIMITS(NAN, INFINITY), .pole = -1, .pole_value = -INFINITY, .huge = NAN,
     .direction = 1, NO_TURN},
    {"sin", "sin x", FUNCTION(sin), NEAR_ZERO(INFINITY, 2, 0, 0), EVERYWHERE, LIMITS(NAN, NAN),
     NO_POLE, .huge = NAN, NO_TURN, .is_angle = 1},
    {"cos", "cos x", FUNCTION(cos), NEAR_ZERO(1, 2, 0, 0), EVERYWHERE, LIMITS(NAN, NAN), NO_POLE,
     .huge = NAN, NO_TURN, .is_angle = 1},
    {"rope-sin", "sin(x theta), theta = B^(-2M/D)", FUNCTION(sin), EVERYWHERE, LIMITS(NAN, NAN),
     NO_POLE, .huge = NAN, NO_TURN, .is_angle = 1},
    {"rope-cos", "cos(x theta), theta = B^(-2M/D)", FUNCTION(cos), EVERYWHERE, LIMITS(NAN, NAN),
     NO_POLE, .huge = NAN, NO_TURN, .is_angle = 1},
    {"tanh", "tanh x", FUNCTION(tanh), NEAR_ZERO(INFINITY, 2, 0, 0), EVERYWHERE, LIMITS(-1, 1),
     NO_POLE, .limit = {-1, 1}, .huge = NAN, .direction = 1, NO_TURN},
    {"sigmoid", "1 / (1 + e^-x)", FUNCTION(sigmoid), NEAR_ZERO(0.5f, 1, 0, 1), EVERYWHERE,
     LIMITS(0, 1), NO_POLE, .limit = {0, 1}, .huge = NAN, .direction = 1, NO_TURN},
    {"silu", "x / (1 + e^-x)", FUNCTION(silu), EVERYWHERE, LIMITS(0, INFINITY), NO_POLE,
     .limit = {0, INFINITY}, .huge = NAN, .direction = 1,
     .turn = {-0x1.474974p+0f, -0x1.474972p+0f}},
    {"sqrt", "x^(1/2)", FUNCTION(sqrt), .least = -0.0f, .most = FLT_MAX, LIMITS(NAN, INFINITY),
     NO_POLE, .huge = NAN, .direction = 1, NO_TURN},
    {"rsqrt", "x^(-1/2)", FUNCTION(rsqrt), .least = FLT_TRUE_MIN, .most = FLT_MAX, LIMITS(NAN, 0),
     .pole = 0, .pole_value = INFINITY, .pole_has_two_sides = 1, .huge = NAN, .direction = -1,
     NO_TURN},
    {"reciprocal", "1 / x", FUNCTION(reciprocal), EVERYWHERE, LIMITS(0, 0), .pole = 0,
     .pole_value = INFINITY, .pole_has_two_sides = 1, .huge = NAN, .direction = -1, NO_TURN},
#define TAYLOR(degree_, formula, minus, direction_, ...)                                           \
  {                                                                                                \
    "taylor" #degree_, formula, FUNCTION(taylor),                                                  \
        .degree = degree_, .near_zero = {1, (degree_) > 0, {0, 1}}, EVERYWHERE,                    \
        LIMITS(minus, degree_ ? INFINITY : 1), NO_POLE, .huge = NAN, .direction = direction_,      \
        __VA_ARGS__                                                                                \
  }
    TAYLOR(0, "1", 1, 1, NO_TURN),
    TAYLOR(1, "1 + x", -INFINITY, 1, NO_TURN),
    TAYLOR(2, "1 + x + x^2/2", INFINITY, 1, .turn = {-1, -1}),
    TAYLOR(3, "1 + x + .. + x^3/3!", -INFINITY, 1, NO_TURN),
    TAYLOR(4, "1 + x + .. + x^4/4!", INFINITY, 1, .turn = {-0x1.989828p+0f, -0x1.989826p+0f}),
    TAYLOR(5, "1 + x + .. + x^5/5!", -INFINITY, 1, NO_TURN),
    TAYLOR(6, "1 + x + .. + x^6/6!", INFINITY, 1, .turn = {-0x1.171e24p+1f, -0x1.171e22p+1f}),
    TAYLOR(7, "1 + x + .. + x^7/7!", -INFINITY, 1, NO_TURN),
    TAYLOR(8, "1 + x + .. + x^8/8!", INFINITY, 1, .turn = {-0x1.612702p+1f, -0x1.6127p+1f}),
#define PROFILE(name, formula, degree_)                                                            \
  {                                                                                                \
    name, formula, FUNCTION(profile), .degree = degree_, NEAR_ZERO(1, 1, 1, 0), EVERYWHERE,        \
                                      LIMITS(INFINITY, 0), NO_POLE, .huge = NAN, .direction = -1,  \
                                      NO_TURN                                                      \
  }
    PROFILE("epanechnikov", "[1 - x]_+", 1),
    PROFILE("biweight", "[1 - x]_+^2", 2),
    PROFILE("triweight", "[1 - x]_+^3", 3),
    {"gaussian", "e^(-x/2)", FUNCTION(gaussian), NEAR_ZERO(1, 1, 1, 0), EVERYWHERE,
     LIMITS(INFINITY, 0), NO_POLE, .huge = -180, .vast = -1418, .direction = -1, NO_TURN},
};
enum { REFERENCES = sizeof references / sizeof *references };

const sweep_reference *sweep_reference_find(const char *name) {
  for (size_t i = 0; i < REFERENCES; i++)
    if (!strcmp(references[i].name, name)) return &references[i];
  return NULL;
}

const char *sweep_reference_name(const sweep_function *f) {
  return f->reference->name;
}

const char *sweep_function_name(size_t i) {
  return i < REFERENCES ? references[i].name : NULL;
}

const char *sweep_function_formula(size_t i) {
  return references[i].formula;
}

int sweep_function_is_own(size_t i) {
  return sweep_kernel_find(references[i].name) != NULL;
}

/* ---- what is asked of an input --------------------------------------------------------------- */

static sweep_segment prescribed(uint32_t last, float value) {
  return (sweep_segment){.demand = SWEEP_PRESCRIBED, .last = last, .value = value};
}

/* Up to, and not including, a key that lies ahead. */
static void stop_before(sweep_segment *s, uint32_t key, uint32_t at) {
  if (key < at && s->last >= at) s->last = at - 1;
}

/* Finite inputs. */
static sweep_segment finite_segment(const sweep_reference *r, uint32_t key) {
  uint32_t least = sweep_key(r->least), most = sweep_key(r->most);
  sweep_segment s = {.demand = SWEEP_COMPARE, .last = SWEEP_KEY_INF - 1};
  if (r->pole == r->pole) {
    uint32_t first = r->pole == 0 ? SWEEP_KEY_MINUS_ZERO : sweep_key(r->pole);
    uint32_t last = r->pole == 0 ? SWEEP_KEY_ZERO : first;
    if (key >= first && key <= last) {
      s = prescribed(last, r->pole_value);
      s.either_sign = r->pole_has_two_sides;
      return s;
    }
    stop_before(&s, key, first);
  }
  stop_before(&s, key, least);
  if (key < least || key > most) {
    s.demand = SWEEP_PRESCRIBED;
    s.value = NAN;
    return s;
  }
  if (r->huge > 0) {
    stop_before(&s, key, sweep_key(r->huge));
    stop_before(&s, key, sweep_key(r->vast) + 1);
    if (key >= sweep_key(r->huge)) s.demand = SWEEP_HUGE;
    if (key > sweep_key(r->vast)) s.demand = SWEEP_VAST;
  } else if (r->huge < 0) {
    stop_before(&s, key, sweep_key(r->vast));
    stop_before(&s, key, sweep_key(r->huge) + 1);
    if (key <= sweep_key(r->huge)) s.demand = SWEEP_HUGE;
    if (key < sweep_key(r->vast)) s.demand = SWEEP_VAST;
  }
  return s;
}

sweep_segment sweep_reference_segment(const sweep_reference *r, uint32_t key) {
  if (key < SWEEP_KEY_MINUS_INF) return prescribed(SWEEP_KEY_MINUS_INF - 1, NAN);
  if (key == SWEEP_KEY_MINUS_INF) return prescribed(key, r->at_minus_inf);
  if (key == SWEEP_KEY_INF) return prescribed(key, r->at_inf);
  if (key > SWEEP_KEY_INF) return prescribed(UINT32_MAX, NAN);
  return finite_segment(r, key);
}

int sweep_pieces(sweep_piece pieces[2], const sweep_reference *r) {
  uint32_t first = sweep_key(r->least), last = sweep_key(r->most);
  if (!r->direction) return 0;
  if (r->at_minus_inf == r->at_minus_inf) first = SWEEP_KEY_MINUS_INF;
  if (r->at_inf == r->at_inf) last = SWEEP_KEY_INF;
  if (r->pole == 0 && r->least < 0) { /* on either side of it */
    pieces[0] = (sweep_piece){first, SWEEP_KEY_MINUS_ZERO - 1, r->direction};
    pieces[1] = (sweep_piece){SWEEP_KEY_ZERO + 1, last, r->direction};
    return 2;
  }
  if (r->turn[0] != r->turn[0]) {
    pieces[0] = (sweep_piece){first, last, r->direction};
    return 1;
  }
  pieces[0] = (sweep_piece){first, sweep_key(r->turn[0]), -r->direction};
  pieces[1] = (sweep_piece){sweep_key(r->turn[1]), last, r->direction};
  return 2;
}

/* ---- angles ---------------------------------------------------------------------------------- */

/* The multiple of 2^e nearest to x, subtracted from it. */
static double take(arb_t x, slong e) {
  fmpz_t n;
  arf_t part;
  fmpz_init(n);
  arf_init(part);
  arf_mul_2exp_si(part, arb_midref(x), -e);
  arf_get_fmpz(n, part, ARF_RND_NEAR);
  arf_set_fmpz(part, n);
  arf_mul_2exp_si(part, part, e);
  arb_sub_arf(x, x, part, ARF_PREC_EXACT);
  double result = arf_get_d(part, ARF_RND_NEAR);
  fmpz_clear(n);
  arf_clear(part);
  return result;
}

int sweep_angle_is_served(const sweep_function *f) {
  enum { PREC = 64, LEAST_EXPONENT = -700, MOST_EXPONENT = 100 };
  if (!f->rope) return 1;
  arb_t theta;
  arb_init(theta);
  problem_rotary_angle(theta, &f->rope->values, f->d, f->pair, PREC);
  int served = arf_cmpabs_2exp_si(arb_midref(theta), LEAST_EXPONENT) > 0 &&
               arf_cmpabs_2exp_si(arb_midref(theta), MOST_EXPONENT) < 0;
  arb_clear(theta);
  return served;
}

void sweep_constants_set(sweep_constants *c, const sweep_function *f, float x) {
  enum { PREC = 640 }; /* 2^105 theta mod 4, to 2^-107, with room for theta itself */
  *c = (sweep_constants){.degree = f->reference->degree};
  if (!f->reference->is_angle) return;
  int e = -125;
  if (fabsf(x) >= FLT_MIN) frexpf(x, &e);
  e -= 24; /* x = m 2^e, |m| < 2^24 */
  arb_t theta, turns;
  arb_init(theta);
  arb_init(turns);
  arb_one(theta);
  if (f->rope) problem_rotary_angle(theta, &f->rope->values, f->d, f->pair, PREC);
  arb_set(turns, theta);
  c->theta[0] = arf_get_d(arb_midref(turns), ARF_RND_NEAR);
  arf_set_d(arb_midref(turns), c->theta[0]);
  mag_zero(arb_radref(turns));
  arb_sub(turns, theta, turns, PREC);
  c->theta[1] = arf_get_d(arb_midref(turns), ARF_RND_NEAR);
  c->inverse_unit = ldexp(1, -e);
  c->is_small = ldexp(c->theta[0], e + 24) < 0.78;

  arb_const_pi(turns, PREC);
  arb_div(turns, theta, turns, PREC);
  arb_mul_2exp_si(turns, turns, e + 1);
  take(turns, 2); /* whole turns, times any m */
  c->part[0] = take(turns, -25);
  c->part[1] = take(turns, -52);
  c->part[2] = arf_get_d(arb_midref(turns), ARF_RND_NEAR);
  arb_clear(theta);
  arb_clear(turns);
}
