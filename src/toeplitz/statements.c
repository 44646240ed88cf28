/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "statements.h"

const problem_statement toeplitz_statements[] = {
    {"toeplitz", "decomposition-identity", "rationals",
     "powers of a sum of |S| terms are binom(|S|+t-1, t) monomials with multinomial coefficients",
     toeplitz_polynomial_identity},
    {"toeplitz", "decomposition-is-polynomial-kernel", "rationals",
     "the sum over multi-indices equals attention with p for exp, with difference 0",
     toeplitz_decomposition},
    {"toeplitz", "hadamard-closure", "rationals",
     "entrywise products of rescaled Toeplitz matrices are rescaled Toeplitz", toeplitz_closure},
    {"rope-softmax", "rotary-scores", "rationals",
     "scores of rotated queries and keys are those of the rotation by the difference of positions",
     toeplitz_rotary_scores},
    {"rope-softmax", "score-rank", "rationals",
     "scores before exp have rank at most d under rotations, and full rank for general W",
     toeplitz_rank},
    {"rope-softmax", "phase-error", "balls",
     "cos and sin of rotary phases in three formats, beside their bounds, by binade of the "
     "position",
     toeplitz_phases},
    {"toeplitz", "exp-degrees", "balls",
     "least degrees of Taylor, Chebyshev and minimax polynomials for exp", toeplitz_degrees},
    {"toeplitz", "fft-deviation", "double",
     "largest distance of the FFT form from softmax attention, beside its bound",
     toeplitz_deviation},
};
const size_t toeplitz_statement_count = sizeof toeplitz_statements / sizeof *toeplitz_statements;
