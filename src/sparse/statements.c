/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "statements.h"

const problem_statement sparse_statements[] = {
    {"entmax", "kernel-regression", "rationals",
     "alpha-entmax of unit vectors is kernel regression with [1 - D/h^2]_+^r, h^2 = 2 - 2 r gamma "
     "tau",
     sparse_kernel_regression},
    {"entmax", "bandwidth-range", "balls",
     "2 r gamma N^(-1/r) <= h^2 - d_min^2 <= 2 r gamma, with both ends attained",
     sparse_bandwidth_range},
    {"entmax", "softmax-limit", "balls", "alpha-entmax tends to softmax as r grows, as 1/r",
     sparse_softmax_limit},
    {"gaussian", "gaussian-softmax", "rationals",
     "the Gaussian estimate on unit vectors is softmax at temperature h^2",
     sparse_gaussian_softmax},
    {"epanechnikov", "epanechnikov-family", "rationals",
     "normrelu, relumax and sparsemax are Epanechnikov estimates at their bandwidths",
     sparse_epanechnikov},
    {"topk-uniform", "nearest-keys", "rationals",
     "top-k averaging is the uniform kernel at some radius unless the k-th distance is tied",
     sparse_nearest_keys},
    {"entmax", "missing-hypotheses", "rationals",
     "what fails without unit norms, without distinct maxima, and without a bound on the mass",
     sparse_hypotheses},
};
const size_t sparse_statement_count = sizeof sparse_statements / sizeof *sparse_statements;
