/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest: certified numerics of attention kernels. The public C interface.
 *
 * Every function that can fail returns an attest_status and explains itself in the attest_error it
 * is given; nothing here aborts, exits or prints. Outputs come first, inputs next. */
#ifndef ATTEST_H
#define ATTEST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTEST_VERSION "0.1.0"

typedef enum {
  ATTEST_OK = 0,
  ATTEST_ERR_INPUT, /* malformed file, wrong shape, value outside a domain: the message says what to
                       change */
  ATTEST_ERR_IO,    /* the operating system refused: missing, unreadable, disk full */
  ATTEST_ERR_MEMORY,   /* out of memory */
  ATTEST_ERR_SUPPORT,  /* a legal request that this kernel does not serve */
  ATTEST_ERR_INTERRUPT /* Ctrl-C: partial results are valid */
} attest_status;

/* One sentence: file, field, offset where known, and the remedy. */
typedef struct {
  attest_status status;
  char message[512];
} attest_error;

/* Sets the error (printf style) and returns `status`; `error` may be NULL. */
attest_status attest_fail(attest_error *error, attest_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- tensors ------------------------------------------------------------------------------- */

typedef enum {
  ATTEST_FLOAT16,
  ATTEST_BFLOAT16,
  ATTEST_FLOAT32,
  ATTEST_FLOAT64,
  ATTEST_BOOL,  /* one byte, zero or not: masks */
  ATTEST_INT32, /* lengths and indices */
  ATTEST_INT64
} attest_dtype;

#define ATTEST_MAX_DIMS 4

/* A view of numbers that somebody else owns. Every floating element is exactly a double. Strides
 * are in elements, may be 0 (broadcast) or negative, and `data` need not be aligned. */
typedef struct {
  void *data; /* element (0, ..., 0) */
  attest_dtype dtype;
  int byteswapped; /* 1: stored in the byte order this machine does not have */
  int ndim;
  int64_t shape[ATTEST_MAX_DIMS];
  int64_t stride[ATTEST_MAX_DIMS];
} attest_tensor;

/* A C-contiguous view of `data` in native byte order. */
attest_tensor attest_tensor_of(void *data, attest_dtype dtype, int ndim, const int64_t shape[]);

/* ---- problems and certificates -------------------------------------------------------------- */

typedef struct attest_problem attest_problem;
typedef struct attest_certificate attest_certificate;

attest_problem *attest_problem_new(const char *kernel, attest_error *error);
void attest_problem_free(attest_problem *problem);

/* `name` and `value` as on the command line without dashes: ("scale", "sqrt(1/8)"). Aliases count.
 */
attest_status attest_problem_set(attest_problem *problem, const char *name, const char *value,
                                 attest_error *error);

/* Borrows the tensor's data until the problem is freed. Inputs: q k v bias mask alibi-slopes sinks
 * cu-seqlens-q cu-seqlens-k seqused-k initial-state weights coefficients. Outputs (what the kernel
 * returned): out lse final-state indices (of top-k: int32 or int64, one row of keys a query, in any
 * order, -1 where a query sees fewer). */
attest_status attest_problem_input(attest_problem *problem, const char *name,
                                   const attest_tensor *tensor, attest_error *error);
attest_status attest_problem_output(attest_problem *problem, const char *name,
                                    const attest_tensor *tensor, attest_error *error);

/* The exact `output` ("out", "lse", "final-state", "indices"), correctly rounded to the dtype of
 * `result` (to nearest, ties to even). `result` must have the shape of that output in the problem's
 * out-layout.
 */
attest_status attest_reference(attest_tensor *result, const attest_problem *problem,
                               const char *output, attest_error *error);

typedef enum { ATTEST_CERTIFIED, ATTEST_REFUTED, ATTEST_UNDECIDED } attest_verdict;

/* Compares every output that the problem was given with its enclosure. `bound` is a list separated
 * by semicolons, each as --bound takes it ("backward<=16;lse:abs<=1e-5"); NULL: the default.
 * Returns NULL and sets `error` when there is trouble. */
attest_certificate *attest_check(const attest_problem *problem, const char *bound,
                                 attest_error *error);
attest_verdict attest_certificate_verdict(const attest_certificate *certificate);
/* The certificate as JSON; owned by the certificate. */
const char *attest_certificate_json(const attest_certificate *certificate);
/* The verdict lines; owned by the certificate. */
const char *attest_certificate_text(const attest_certificate *certificate);
void attest_certificate_free(attest_certificate *certificate);

/* ---- subjects that are loaded (check --library) ---------------------------------------------- */

/* What a kernel under test receives: inputs in the axes and types of their files, contiguous, in
 * the machine's byte order; `out` (and `lse`, `final_state` where asked for) to fill. It runs in a
 * process of its own. Writing anywhere else, or returning with another rounding mode or with
 * flush-to-zero set, is a refutation. */
typedef struct {
  size_t size; /* sizeof(attest_call) of the caller: fields are only ever added at the end */
  const char *kernel;
  const char *params; /* problem.json text */
  attest_tensor q, k, v;
  attest_tensor out, lse; /* data NULL: not asked for */
  /* Every input by its name ("bias", "mask", "alibi-slopes", ..; q, k and v too). */
  size_t input_count;
  const char *const *input_names;
  const attest_tensor *inputs;
  attest_tensor final_state; /* data NULL: not asked for */
  double scale;              /* the nearest double; exactly in params */
  int causal;                /* 0 none, 1 top-left, 2 bottom-right */
  attest_tensor indices;     /* int32; data NULL: not asked for */
} attest_call;

/* 0: done; 77: skipped; anything else: the subject failed. */
typedef int attest_subject(const attest_call *call);

/* ---- functions that are loaded (sweep --library) ----------------------------------------------
 */

/* A function of one float32 under test, in either form. It runs in processes of its own and must
 * give the same result for the same input every time, bit for bit and whatever n is. An array
 * function gets n >= 1 inputs (as a rule 65,536, consecutive floats; also other n, odd ones and 1)
 * and fills out[0 .. n-1]; the arrays do not overlap, and lie at multiples of 64 bytes. */
typedef float attest_scalar_function(float x);                             /* --abi scalar */
typedef void attest_array_function(float *out, const float *in, size_t n); /* --abi array */

#ifdef __cplusplus
}
#endif
#endif
