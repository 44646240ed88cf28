/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of a sweep share with each other.
 *
 * Inputs go in blocks of SWEEP_BLOCK keys (sweep_order.h) to the function under test and to the
 * double enclosure of the reference; sweep_compare_isa.c compares a batch, and hands back what it
 * leaves undecided for balls (sweep_ball.c). All that a block yields is one sweep_record. Records
 * add up in any order, and every number in one is the same on each instruction set. */
#ifndef ATTEST_CERTIFY_SWEEP_ENGINE_H
#define ATTEST_CERTIFY_SWEEP_ENGINE_H

#include <mpfr.h>

#include "../enclosure/enclosure.h"
#include "../tensor/isa.h"
#include "sweep.h"
#include "sweep_order.h"

/* ---- references (sweep_reference.c) ---------------------------------------------------------- */

/* What an enclosure needs beside the input; constant within a binade. */
typedef struct {
  int degree;
  /* Angles: with the input m 2^e, m an integer below 2^24, the quarter turns are m (part[0] +
   * part[1] + part[2]) up to multiples of 4; inverse_unit = 2^-e. is_small: the angle is below
   * pi/4, and is the input times theta[0] + theta[1]. */
  int is_small;
  double part[3], inverse_unit, theta[2];
} sweep_constants;

/* |f(x_i) - mid_i| <= rad_i for i < n; the arrays have room for SWEEP_PAD more. rad is 0 only where
 * mid is exact. (sweep_enclose_isa.c) */
typedef void sweep_enclose(double *mid, double *rad, const float *x, int64_t n,
                           const sweep_constants *constants);
enum { SWEEP_BATCH = 1024, SWEEP_PAD = 8 };

/* clang-format off */
#define SWEEP_ENCLOSURES(DO)                                                                       \
  DO(exp) DO(exp2) DO(expm1) DO(log) DO(log2) DO(log1p) DO(sin) DO(cos) DO(tanh) DO(sigmoid)       \
  DO(silu) DO(sqrt) DO(rsqrt) DO(reciprocal) DO(taylor) DO(profile) DO(gaussian)
/* clang-format on */
#define SWEEP_DECLARE(name)                                                                        \
  ISA_DECLARE(void, sweep_enclose_##name,                                                          \
              (double *mid, double *rad, const float *x, int64_t n, const sweep_constants *c));
SWEEP_ENCLOSURES(SWEEP_DECLARE)
#undef SWEEP_DECLARE

/* One row of the table of functions. The domain holds the finite inputs from least to most, the
 * pole left out. */
struct sweep_reference {
  const char *name, *formula;
  sweep_enclose *(*enclose)(void); /* for this machine */
  void (*ball)(arb_t y, const arb_t x, const sweep_function *f, slong prec);
  void (*mpfr)(mpfr_t y, const mpfr_t x, const sweep_function *f);
  int degree;
  float least, most;
  float at_minus_inf, at_inf; /* limits; NaN: none */
  float pole, pole_value;     /* NaN: no pole */
  int pole_has_two_sides;     /* an infinity of either sign will do there */
  float huge;                 /* NaN, or: from here on, away from 0, f > 2^129 */
  float vast;                 /* beyond here f > 2^1000, and has no double enclosure */
  int direction;              /* over the domain; with a turn, above it; on both sides of a pole */
  /* Up to -32 and from 32 on, a float that f comes exponentially close to and is nearer to 0 than;
   * infinite: x; 0: none (sweep_limit.c). */
  float limit[2];
  /* Next to 0, f(x) is within 4 |value| |x|^order of this float, on this side of it (sweep_limit);
   * infinite: x; order 0: of none. */
  struct {
    float value;
    int order, is_beyond[2];
  } near_zero;
  float turn[2]; /* a turning point lies between these neighbours (or at both); NaN: none */
  int is_angle;
};

/* The constants of the binade that x lies in. Angles only: others ignore them. */
void sweep_constants_set(sweep_constants *c, const sweep_function *f, float x);

/* What is asked of the inputs from one key on, and where it ends. */
typedef enum {
  SWEEP_COMPARE,    /* a finite value, which the double enclosure knows */
  SWEEP_HUGE,       /* a finite value above 2^129, which the double enclosure knows */
  SWEEP_VAST,       /* a finite value above 2^1000, which it does not */
  SWEEP_PRESCRIBED, /* a limit, a pole, or no value: `value`, NaN for none */
  SWEEP_FLUSH,      /* the kernel under test may return 0 */
  SWEEP_OUTSIDE     /* no input of the kernel under test */
} sweep_demand;

typedef struct {
  sweep_demand demand;
  uint32_t last; /* key */
  float value;
  int either_sign;
} sweep_segment;

/* The segment of the reference that `key` is in, from there on. */
sweep_segment sweep_reference_segment(const sweep_reference *r, uint32_t key);

/* Order: f never decreases (or increases) from neighbour to neighbour within first .. last. */
typedef struct {
  uint32_t first, last;
  int direction;
} sweep_piece;
/* At most 2; their number. */
int sweep_pieces(sweep_piece pieces[2], const sweep_reference *r);

/* ---- the suite's own kernels (sweep_kernel.c) ------------------------------------------------ */

struct sweep_kernel {
  const char *name, *reference;
  /* out[i] = f(in[i]); context: from open */
  void (*run)(float *out, const float *in, int64_t n, const void *context);
  attest_status (*open)(void **context, const sweep_function *f, attest_error *error);
  void (*close)(void *context);
  float least, most; /* inputs of the kernel */
  float flush_below; /* smaller inputs (none: NaN) may give 0 */
  int integers;      /* only whole numbers are inputs */
  const char *bound; /* what it promises */
};
const sweep_kernel *sweep_kernel_find(const char *reference);
sweep_segment sweep_kernel_segment(const sweep_kernel *k, const sweep_reference *r, uint32_t key);

/* ---- records (sweep_record.c) ---------------------------------------------------------------- */

void sweep_record_clear(sweep_record *r);
void sweep_peak_add(sweep_peak *peak, double lo, double hi, uint32_t key);
/* As bytes, at most SWEEP_RECORD_BYTES; the number of bytes. */
enum { SWEEP_RECORD_BYTES = 1024 };
size_t sweep_record_write(unsigned char *bytes, const sweep_record *r);
/* 0, or -1 when the bytes are none. */
int sweep_record_read(sweep_record *r, const unsigned char *bytes, size_t size);

/* The bin of an error, by its exponent. */
static inline int sweep_bin(double ulp) {
  uint64_t bits;
  memcpy(&bits, &ulp, sizeof bits);
  int e = (int)(bits >> 52) - 1023;
  if (e == 1024) return SWEEP_BIN_INFINITE;
  return e < SWEEP_BIN_LEAST  ? 0
         : e > SWEEP_BIN_MOST ? SWEEP_BIN_MOST - SWEEP_BIN_LEAST + 1
                              : e - SWEEP_BIN_LEAST + 1;
}

/* ---- one element, in balls (sweep_ball.c) ---------------------------------------------------- */

/* An element that is settled: its errors enclosed, all else certain. */
typedef struct {
  measure_interval error[PEAK_COUNT];
  int bin, misrounded, wrong_sign;
} sweep_element;

/* Scratch of one thread. */
typedef struct {
  arb_t x, y, t;
} sweep_balls;
void sweep_balls_open(sweep_balls *b);
void sweep_balls_close(sweep_balls *b);

/* got against f(x), x a finite input of the domain. 0, or -1 where not even
 * ENCLOSURE_BALL_PRECISION_MAX bits settle it: then e is not set. */
int sweep_ball(sweep_element *e, sweep_balls *b, const sweep_function *f, float x, float got);
/* One measure of it, enclosed to `bits` bits at least (or exactly), as a ball. */
void sweep_ball_error(arb_t error, sweep_balls *b, const sweep_function *f, float x, float got,
                      sweep_peak_kind kind, slong bits);
/* All errors are 0, or infinite. */
void sweep_settle(sweep_element *e, double error);
/* A result beside what is prescribed there. */
void sweep_prescribed(sweep_element *e, const sweep_segment *s, float got);
/* A result where the exact value is above 2^1000. */
void sweep_vast(sweep_element *e, float got);
/* A float that f(x) comes close to, without being it. */
typedef struct {
  float value;
  int is_beyond; /* |f(x)| is above |value|, else below */
  double gap;    /* |f(x) - value| is below this, far less than the distance of floats */
} sweep_limit;
/* 0: there is none (sweep_limit.c). */
int sweep_limit_find(sweep_limit *limit, const sweep_reference *r, float x);
/* The exponent of a unit of f(x). */
int sweep_limit_unit(const sweep_limit *limit);
/* A result there: 1 when it is settled. */
int sweep_settle_near_limit(sweep_element *e, const sweep_reference *r, float x, float got);
void sweep_record_element(sweep_record *r, const sweep_element *e, uint32_t key);

/* ---- blocks (sweep_block.c) ------------------------------------------------------------------ */

/* What one thread works with. */
typedef struct {
  const sweep_request *request;
  const sweep_kernel *kernel; /* NULL: foreign */
  const void *kernel_context;
  sweep_balls balls;
  sweep_constants constants;
  int constants_of; /* the exponent bits they are for; -1: none */
  float *in, *out;  /* SWEEP_BLOCK */
  float *x, *got;   /* SWEEP_BATCH, as the other arrays */
  double *mid, *rad;
  int *open;
  int number; /* of the worker */
  sweep_failure failure;
  void *memory;
} sweep_worker;

attest_status sweep_worker_open(sweep_worker *w, const sweep_request *request,
                                const void *kernel_context, int number, attest_error *error);
void sweep_worker_close(sweep_worker *w);
/* n results: 0 done, 1 the function failed, -1 trouble. */
int sweep_worker_call(sweep_worker *w, float *out, const float *in, int64_t n, attest_error *error);
/* The record of keys first .. first + n - 1 of one block; the same return values. */
int sweep_block(sweep_record *record, sweep_worker *w, uint32_t first, int64_t n,
                attest_error *error);
/* A result that is NaN or infinite, where the double enclosure leaves no doubt about it: 1. */
int sweep_settle_quickly(sweep_element *e, float got, double mid, double rad);
/* The double enclosure at n <= SWEEP_BATCH inputs of one binade, in w->mid and w->rad. */
void sweep_worker_enclose(sweep_worker *w, const float *x, int64_t n);
sweep_segment sweep_worker_segment(const sweep_worker *w, uint32_t key);
/* Calls visit for every input of the function in a block, already called into w->out, in the order
 * of keys. */
typedef struct {
  uint32_t key;
  float got;
  const sweep_segment *segment;
  double mid, rad; /* no prescribed nor vast value: the double enclosure */
} sweep_visited;
typedef void sweep_visit(void *context, const sweep_visited *v);
void sweep_block_visit(sweep_worker *w, uint32_t first, int64_t n, sweep_visit *visit,
                       void *context);
/* Whether neighbours key and key + 1 have an order, and are both inputs: its direction, or 0. */
int sweep_order(const sweep_worker *w, uint32_t key);

/* ---- ledgers (sweep_ledger.c) ---------------------------------------------------------------- */

typedef struct sweep_ledger sweep_ledger;
/* Opens or makes the file. `identity` must be what it was made with, line by line ("key=value");
 * read_only: an existing one, whose `shard` line may differ. */
attest_status sweep_ledger_open(sweep_ledger **ledger, const char *path, const char *identity,
                                int read_only, attest_error *error);
void sweep_ledger_close(sweep_ledger *ledger);
/* Every record it holds. */
attest_status sweep_ledger_read(sweep_ledger *ledger,
                                attest_status (*take)(void *context, const sweep_record *r,
                                                      attest_error *error),
                                void *context, attest_error *error);
/* Keeps a record; it is on disk after the next commit. */
attest_status sweep_ledger_add(sweep_ledger *ledger, const sweep_record *r, attest_error *error);
attest_status sweep_ledger_commit(sweep_ledger *ledger, attest_error *error);

/* ---- the end (sweep_finish.c) ---------------------------------------------------------------- */

/* Summaries of the blocks, by block number. */
typedef struct {
  uint64_t first, count; /* count 0: not there */
  uint32_t first_got, last_got;
  sweep_peak peaks[PEAK_COUNT];
} sweep_summary;
/* Exact maxima, verdicts, special values, MPFR; 0, 1 or -1. */
int sweep_finish(sweep_result *result, sweep_worker *w, const sweep_summary *blocks, size_t count,
                 attest_error *error);
/* A block called again, into w->in and w->out: 0, 1 (other results than before, too), -1. */
int sweep_call_again(sweep_worker *w, const sweep_summary *block, attest_error *error);
/* Whether results depend on the number of inputs in a call (sweep_repeat.c); the same values. */
int sweep_repeat(const sweep_result *result, sweep_worker *w, const sweep_summary *blocks,
                 size_t count, attest_error *error);
/* The table of special values (sweep_special.c), and MPFR's view of random inputs and of x. */
int sweep_specials(sweep_result *result, sweep_worker *w, attest_error *error);
attest_status sweep_check_sample(sweep_result *result, sweep_worker *w, attest_error *error);
attest_status sweep_check(sweep_worker *w, float x, attest_error *error);

/* ---- comparing ------------------------------------------------------------------------------- */

/* n inputs and results; open: room for n indices, those that a double cannot decide. They are left
 * out of the record. key[i] = key + i step. (sweep_compare_isa.c) */
typedef struct {
  int64_t n;
  uint32_t key, step;
  const float *got;
  const double *mid, *rad;
  int *open;
} sweep_batch;
ISA_DECLARE(int64_t, sweep_compare, (sweep_record * record, const sweep_batch *batch));
/* Neighbours out of order. */
ISA_DECLARE(uint64_t, sweep_disorder, (const float *got, int64_t n, int direction));
/* Results that are equal to `value`, or NaN where that is. */
ISA_DECLARE(int64_t, sweep_matches, (const float *got, int64_t n, float value));
/* x[i] = input of key + i step. */
ISA_DECLARE(void, sweep_inputs, (float *x, uint32_t key, uint32_t step, int64_t n));

#endif
