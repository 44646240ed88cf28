/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Claims about what kernels do, checked on the project's own kernels.
 *
 *   run:
 *     kernel: softmax           # and parameters as on the command line:
 *     params: {scale: 1/2, causal: top-left}
 *     data: {rows: sphere, n: 1024, d: 16, dv: 64, seed: 1}     # rows: see certify/generate.h
 *     dtype: float32
 *     figure: abs               # or rel row ulp nmse backward; frobenius = sqrt(nmse); seconds
 *     against: {kernel: softmax, params: {scale: 1/2, causal: top-left}}
 *     bound: 1e-6               # or printed: 6.5e-4
 *
 * The kernel's output on the data is compared with the exact result of `against` (default: of the
 * same kernel), and the figure enclosed. With `bound` the claim is that it stays below. With
 * `printed` the figure is shown beside the printed one, and the verdict is `measured`: the paper's
 * own data are not at hand, and times depend on the machine. Times are those of one thread, the
 * least of several. `against` makes the figure the ratio of the two times, and `sizes` the fitted
 * exponent of the time over n. decode: yes times one more token after n: one query on n keys, or,
 * for kernels that keep a state, one key and one query on the state that n keys left. */
#ifndef ATTEST_CLAIMS_RUN_H
#define ATTEST_CLAIMS_RUN_H

#include "../certify/certify.h"
#include "../certify/generate.h"
#include "../tensor/config.h"

typedef enum { FIGURE_MEASURE, FIGURE_FROBENIUS, FIGURE_SECONDS } run_figure;

typedef struct {
  char *kernel;
  size_t param_count;
  char **names, **values;
} run_kernel;

enum { RUN_SIZES_MAX = 16 };

typedef struct {
  run_kernel subject, against; /* against.kernel NULL: the subject's own reference */
  int generator, decode;       /* of certify/generate.h */
  int64_t nq, n, d, dv;
  uint64_t seed;
  attest_dtype dtype;
  run_figure figure;
  measure_kind measure;
  size_t size_count;
  int64_t sizes[RUN_SIZES_MAX];
  char *bound, *printed; /* decimals; NULL: absent */
} claim_run;

attest_status claim_run_read(claim_run *run, const config_node *node, const char *path,
                             attest_error *error);
void claim_run_clear(claim_run *run);

/* The figure lies in [lo, hi] (times: both the same). `data`: the folder that holds stories260k/.
 */
attest_status claim_run_execute(double *lo, double *hi, const claim_run *run, const char *data,
                                attest_error *error);

#endif
