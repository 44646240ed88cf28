/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Exhaustive sweeps: a function of one float32 on every float32, or on all of a range, against the
 * exact function. The first stage is a double enclosure with a derived radius; balls decide what it
 * leaves open; MPFR is asked again at random inputs and at every witness.
 *
 * What a sweep finds is the same on every instruction set, at any number of threads, in one run or
 * in several (ledgers). */
#ifndef ATTEST_CERTIFY_SWEEP_H
#define ATTEST_CERTIFY_SWEEP_H

#include "certify.h"

/* ---- what is swept --------------------------------------------------------------------------- */

typedef struct sweep_reference sweep_reference;
typedef struct sweep_kernel sweep_kernel;

/* A real function. */
typedef struct {
  const sweep_reference *reference;
  /* rope-cos and rope-sin: the angle of the position x is x theta_pair; NULL for others. */
  const attest_problem *rope;
  int64_t d, pair;
} sweep_function;

/* Whether the double enclosure serves the angle: theta is at least 2^-700, so that no product with
 * a float leaves the range of doubles (proofs/certify/sweep_angle.v), and at most 2^100, so that
 * 640 bits hold the turns of every float. 1 for other functions. */
int sweep_angle_is_served(const sweep_function *f);

/* Names with what they compute, for help; NULL after the last. own: the suite has a kernel. */
const char *sweep_function_name(size_t i);
const char *sweep_function_formula(size_t i);
int sweep_function_is_own(size_t i);

const sweep_reference *sweep_reference_find(const char *name);
const char *sweep_reference_name(const sweep_function *f);
/* The bound that the suite's own kernel promises; NULL where there is none. */
const char *sweep_kernel_bound(const sweep_function *f);

/* A function under test that cannot be swept on: a refutation. */
typedef struct {
  char reason[48];  /* a word: "crash(SIGSEGV)" */
  char detail[480]; /* the same as a sentence, with the input where it is known */
} sweep_failure;

/* A function under test that is not the suite's own. */
typedef struct {
  /* out[i] = f(in[i]), i < n, by one of several workers, each of which one thread uses at a time.
   * 0: done; 1: it failed, see `failure`; -1: trouble, see `error`. */
  int (*call)(void *context, int worker, float *out, const float *in, int64_t n,
              sweep_failure *failure, attest_error *error);
  void *context;
} sweep_foreign;

typedef struct {
  sweep_function function;
  const sweep_foreign *foreign; /* NULL: the suite's own kernel */
  const char *subject;          /* in verdict lines; own kernels: NULL */
  const char *library_sha256;   /* of a foreign function */
  const certify_bounds *bounds; /* on ulp, abs and rel */
  uint32_t first, last;         /* keys (sweep_order.h) */
  int shard, shards;            /* 1 of 1: everything */
  const char *ledger;           /* finished blocks are kept in it, and taken from it; NULL: none */
  size_t merge_count;           /* ledgers of shards, which must hold every block */
  const char *const *merge;
  uint64_t seed;   /* of the inputs at which MPFR is asked */
  int64_t samples; /* their number */
  int threads;
  const volatile sig_atomic_t *interrupted; /* NULL: never */
  void (*step)(void *context, int64_t inputs);
  void *context;
} sweep_request;

/* ---- what comes out -------------------------------------------------------------------------- */

/* Bin 0: errors below 2^-16 ulp; bin b: from 2^(b-17) to 2^(b-16); then 2^22 and more; infinite. */
enum { SWEEP_BIN_LEAST = -16, SWEEP_BIN_MOST = 22 };
enum { SWEEP_BIN_INFINITE = SWEEP_BIN_MOST - SWEEP_BIN_LEAST + 2, SWEEP_BINS };

typedef enum { PEAK_ULP, PEAK_ABS, PEAK_REL, PEAK_COUNT } sweep_peak_kind;

/* The largest error so far lies in [lo, hi]; key: the lowest with the largest upper bound. */
typedef struct {
  double lo, hi; /* hi < 0: nothing was compared */
  uint32_t key;
} sweep_peak;

typedef struct {
  uint64_t first, count; /* keys */
  uint64_t bins[SWEEP_BINS];
  uint64_t misrounded;          /* another float is nearer, or just as near and even */
  uint64_t wrong_sign;          /* result and exact value on two sides of zero */
  uint64_t disorder;            /* neighbours whose results are in the wrong order */
  uint64_t flushed;             /* 0 where the kernel's contract allows it: not compared */
  uint64_t outside;             /* no inputs of the kernel: not compared */
  uint64_t balls;               /* elements that needed balls */
  uint64_t unresolved;          /* those that no precision settled: in no bin */
  uint32_t first_got, last_got; /* bits */
  sweep_peak peaks[PEAK_COUNT];
} sweep_record;

uint64_t sweep_record_compared(const sweep_record *r);
/* Counts and peaks of b join those of a; a's range stays. */
void sweep_record_join(sweep_record *a, const sweep_record *b);

/* The largest error, found in balls: lo <= error <= hi, both with 21 bits. */
typedef struct {
  double lo, hi;
  uint32_t key;    /* the lowest input that has it */
  int is_refined;  /* 0: too many candidates; lo and hi are of the double enclosure */
  uint32_t got;    /* bits */
  double exact[2]; /* encloses the exact value there; infinities and NaN as prescribed */
} sweep_error;

typedef struct {
  const char *text; /* borrowed from the bounds */
  sweep_peak_kind kind;
  attest_verdict verdict;
} sweep_bound_verdict;

/* One row of the table of special values. */
typedef struct {
  char label[24];
  uint32_t input, got; /* bits */
  double nearest;      /* the exact value rounded to float32; NaN where there is none */
  double ulp;          /* the error, rounded up; NaN outside the kernel's inputs */
} sweep_special;
enum { SWEEP_SPECIALS = 40, SWEEP_BINADES = 512 };

typedef struct {
  attest_verdict verdict;
  int failed; /* the function under test could not be swept: see failure */
  sweep_failure failure;
  uint64_t planned; /* inputs of the range, of this shard */
  sweep_record total;
  sweep_record *binades; /* [SWEEP_BINADES]: by the sign and exponent bits of the input */
  sweep_error error[PEAK_COUNT];
  size_t bound_count, decisive;
  sweep_bound_verdict *bounds;
  size_t special_count;
  sweep_special specials[SWEEP_SPECIALS];
  int64_t sampled, witnesses; /* inputs at which MPFR agreed */
  int interrupted;
  const char *undecided; /* why, where it is not a bound; NULL */
  uint64_t resumed;      /* inputs that a ledger held already */
  double seconds, cpu_seconds;
} sweep_result;

/* What is under test, as verdict lines name it: "./my.so:f", "exp32". */
const char *sweep_subject_name(const sweep_request *request);

/* `result` is to be cleared in any case. Trouble: a ledger of another sweep, or one in use; no
 * memory; MPFR and balls that disagree. */
attest_status sweep_run(sweep_result *result, const sweep_request *request, attest_error *error);
void sweep_result_clear(sweep_result *result);

#endif
