/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Structured products over the rationals and in balls. y_i = sum_j a_{i-j} x_j is the coefficient
 * of z^{i + cols - 1} in (sum_p symbol[p] z^p) (sum_j x_j z^j). */
#include "structure.h"

#include <flint/fmpq_poly.h>
#include <flint/fmpq_vec.h>

void toeplitz_product_fmpq(fmpq *y, const fmpq *symbol, const fmpq *x, int64_t rows, int64_t cols) {
  fmpq_poly_t a, b;
  fmpq_poly_init(a);
  fmpq_poly_init(b);
  for (int64_t p = 0; p < rows + cols - 1; p++)
    fmpq_poly_set_coeff_fmpq(a, p, symbol + p);
  for (int64_t j = 0; j < cols; j++)
    fmpq_poly_set_coeff_fmpq(b, j, x + j);
  fmpq_poly_mul(a, a, b);
  for (int64_t i = 0; i < rows; i++)
    fmpq_poly_get_coeff_fmpq(y + i, a, i + cols - 1);
  fmpq_poly_clear(a);
  fmpq_poly_clear(b);
}

void toeplitz_product_arb(arb_ptr y, arb_srcptr symbol, arb_srcptr x, int64_t rows, int64_t cols,
                          slong prec) {
  int64_t length = rows + cols - 1;
  if (rows == 0 || cols == 0) {
    _arb_vec_zero(y, rows);
    return;
  }
  arb_ptr product = _arb_vec_init(length);
  _arb_poly_mullow(product, symbol, length, x, cols, length, prec);
  for (int64_t i = 0; i < rows; i++)
    arb_swap(y + i, product + i + cols - 1);
  _arb_vec_clear(product, length);
}

void toeplitz_circulant_fmpq(fmpq *symbol, const fmpq *a, int64_t n) {
  for (int64_t p = 0; p < 2 * n - 1; p++)
    fmpq_set(symbol + p, a + (p + 1) % n);
}

void toeplitz_circulant_arb(arb_ptr symbol, arb_srcptr a, int64_t n) {
  for (int64_t p = 0; p < 2 * n - 1; p++)
    arb_set(symbol + p, a + (p + 1) % n);
}

void toeplitz_rescaled_product_fmpq(fmpq *y, const toeplitz_rescaled_fmpq *m, const fmpq *x) {
  fmpq *scaled = _fmpq_vec_init(m->cols);
  for (int64_t j = 0; j < m->cols; j++)
    fmpq_mul(scaled + j, m->right + j, x + j);
  toeplitz_product_fmpq(y, m->symbol, scaled, m->rows, m->cols);
  for (int64_t i = 0; i < m->rows; i++)
    fmpq_mul(y + i, y + i, m->left + i);
  _fmpq_vec_clear(scaled, m->cols);
}

void toeplitz_rescaled_product_arb(arb_ptr y, const toeplitz_rescaled_arb *m, arb_srcptr x,
                                   slong prec) {
  arb_ptr scaled = _arb_vec_init(m->cols);
  for (int64_t j = 0; j < m->cols; j++)
    arb_mul(scaled + j, m->right + j, x + j, prec);
  toeplitz_product_arb(y, m->symbol, scaled, m->rows, m->cols, prec);
  for (int64_t i = 0; i < m->rows; i++)
    arb_mul(y + i, y + i, m->left + i, prec);
  _arb_vec_clear(scaled, m->cols);
}

void toeplitz_hadamard_fmpq(toeplitz_rescaled_fmpq *a, const toeplitz_rescaled_fmpq *b) {
  for (int64_t i = 0; i < a->rows; i++)
    fmpq_mul(a->left + i, a->left + i, b->left + i);
  for (int64_t p = 0; p < a->rows + a->cols - 1; p++)
    fmpq_mul(a->symbol + p, a->symbol + p, b->symbol + p);
  for (int64_t j = 0; j < a->cols; j++)
    fmpq_mul(a->right + j, a->right + j, b->right + j);
}

void toeplitz_hadamard_arb(toeplitz_rescaled_arb *a, const toeplitz_rescaled_arb *b, slong prec) {
  for (int64_t i = 0; i < a->rows; i++)
    arb_mul(a->left + i, a->left + i, b->left + i, prec);
  for (int64_t p = 0; p < a->rows + a->cols - 1; p++)
    arb_mul(a->symbol + p, a->symbol + p, b->symbol + p, prec);
  for (int64_t j = 0; j < a->cols; j++)
    arb_mul(a->right + j, a->right + j, b->right + j, prec);
}

void toeplitz_mask_fmpq(fmpq *symbol, int64_t rows, int64_t cols, int64_t lo, int64_t hi) {
  for (int64_t p = 0; p < rows + cols - 1; p++)
    fmpq_set_si(symbol + p, p - (cols - 1) >= lo && p - (cols - 1) <= hi, 1);
}
