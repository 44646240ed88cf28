/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is certified of Toeplitz attention as such (problem/statement.h). */
#ifndef ATTEST_TOEPLITZ_STATEMENTS_H
#define ATTEST_TOEPLITZ_STATEMENTS_H

#include "../problem/statement.h"

extern const problem_statement toeplitz_statements[];
extern const size_t toeplitz_statement_count;

/* (sum x_s)^t into binom(|S| + t - 1, t) monomials, as polynomials in x. (identity.c) */
attest_status toeplitz_polynomial_identity(statement_findings *into,
                                           const problem_statement *statement, const char *data,
                                           attest_error *error);
/* Decomposed attention is attention with p for exp, with rational rotations. (identity.c) */
attest_status toeplitz_decomposition(statement_findings *into, const problem_statement *statement,
                                     const char *data, attest_error *error);
/* Entrywise products of rescaled Toeplitz matrices. (identity.c) */
attest_status toeplitz_closure(statement_findings *into, const problem_statement *statement,
                               const char *data, attest_error *error);
/* (R_i q).(R_j k) = q^T R_{j-i} k. (rank.c) */
attest_status toeplitz_rotary_scores(statement_findings *into, const problem_statement *statement,
                                     const char *data, attest_error *error);
/* Rank of the scores before exp: at most d under rotations, full in general. (rank.c) */
attest_status toeplitz_rank(statement_findings *into, const problem_statement *statement,
                            const char *data, attest_error *error);
/* Rotary phases in the formats that models use, by binade of the position. (phases.c) */
attest_status toeplitz_phases(statement_findings *into, const problem_statement *statement,
                              const char *data, attest_error *error);
/* Least degrees of polynomials for exp. (deviation.c) */
attest_status toeplitz_degrees(statement_findings *into, const problem_statement *statement,
                               const char *data, attest_error *error);
/* The FFT form beside softmax attention. (deviation.c) */
attest_status toeplitz_deviation(statement_findings *into, const problem_statement *statement,
                                 const char *data, attest_error *error);

#endif
