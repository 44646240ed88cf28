/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Matrices with O(n log n) products: circulant, Toeplitz, rescaled Toeplitz.
 *
 *   Circ(a)_ij = a_{(i-j) mod n}
 *   Toep(a)_ij = a_{i-j}, rows x cols; the symbol a is stored from offset -(cols-1) to rows-1, so
 *                that a_{i-j} is symbol[i - j + cols - 1]
 *   rescaled   = diag(left) Toep(symbol) diag(right)
 *
 * The entrywise product of two rescaled Toeplitz matrices is one: its three vectors are the
 * entrywise products of theirs, for entry (i, j) is left_i a_{i-j} right_j (MATH, Lemma 3.9 of the
 * source). So a chain of factors costs one product in the end. A visible range lo <= i - j <= hi
 * (causal: 0 <= i - j) is a Toeplitz factor of zeros and ones.
 *
 * Four number types: double and float by FFTW, rationals (exact), balls. */
#ifndef ATTEST_TOEPLITZ_STRUCTURE_H
#define ATTEST_TOEPLITZ_STRUCTURE_H

#include "../enclosure/enclosure.h"

/* ---- exact rationals and balls (structure_exact.c) ------------------------------------------- */

/* Vectors are borrowed: rows, rows + cols - 1 and cols entries. */
typedef struct {
  int64_t rows, cols;
  fmpq *left, *symbol, *right;
} toeplitz_rescaled_fmpq;

typedef struct {
  int64_t rows, cols;
  arb_ptr left, symbol, right;
} toeplitz_rescaled_arb;

/* y = Toep(symbol) x, as a product of polynomials. y must not be x. */
void toeplitz_product_fmpq(fmpq *y, const fmpq *symbol, const fmpq *x, int64_t rows, int64_t cols);
void toeplitz_product_arb(arb_ptr y, arb_srcptr symbol, arb_srcptr x, int64_t rows, int64_t cols,
                          slong prec);
/* The symbol (2n - 1 entries) of Circ(a) as a Toeplitz matrix. */
void toeplitz_circulant_fmpq(fmpq *symbol, const fmpq *a, int64_t n);
void toeplitz_circulant_arb(arb_ptr symbol, arb_srcptr a, int64_t n);
/* y = diag(left) Toep(symbol) diag(right) x. */
void toeplitz_rescaled_product_fmpq(fmpq *y, const toeplitz_rescaled_fmpq *m, const fmpq *x);
void toeplitz_rescaled_product_arb(arb_ptr y, const toeplitz_rescaled_arb *m, arb_srcptr x,
                                   slong prec);
/* a = a o b, entrywise. */
void toeplitz_hadamard_fmpq(toeplitz_rescaled_fmpq *a, const toeplitz_rescaled_fmpq *b);
void toeplitz_hadamard_arb(toeplitz_rescaled_arb *a, const toeplitz_rescaled_arb *b, slong prec);
/* 1 where lo <= i - j <= hi, else 0. */
void toeplitz_mask_fmpq(fmpq *symbol, int64_t rows, int64_t cols, int64_t lo, int64_t hi);

/* ---- double and float (structure.c) ---------------------------------------------------------- */

/* The size of the transforms for a rows x cols Toeplitz matrix: the least power of two that is at
 * least rows + cols - 1, below which the ends of the circulant would wrap around into the product.
 */
int64_t toeplitz_fft_size(int64_t rows, int64_t cols);

/* e with |y^ - y|_max <= e |a|_2 |x|_2 for y = a * x (cyclic) computed by transforms of `size` in
 * arithmetic of unit roundoff u: Percival, Rapid multiplication modulo the sum and difference of
 * highly composite numbers, Math. Comp. 72 (2003), Theorem 5.1: with n = log2 size levels,
 *   e = (1 + u)^{3n} (1 + sqrt(5) u)^{3n+1} (1 + m)^{3n} - 1,
 * m <= u the error of the twiddle factors. Assumed of FFTW: its plans for powers of two are made of
 * such levels, at most one multiplication by a rounded constant in each; n counts one level more
 * for the packing of real data. Underflow is not counted. */
double toeplitz_fft_error(int64_t size, double u);

/* Plans are made once a process, by FFTW's rules without timing, so they are the same in every run
 * on a machine; on another kind of processor FFTW may choose other codelets and the last bits may
 * differ. */
#define TOEPLITZ_FFT(real, suffix)                                                                 \
  typedef struct {                                                                                 \
    int64_t rows, cols, size;                                                                      \
    void *forward, *backward;                                                                      \
  } toeplitz_fft_##suffix;                                                                         \
  /* Working memory of one thread: `input` and `real_part` have size entries, `spectrum` size + 2. \
   * `input` is zero from `filled` on. */                                                          \
  typedef struct {                                                                                 \
    real *input, *real_part, *spectrum;                                                            \
    int64_t filled;                                                                                \
  } toeplitz_work_##suffix;                                                                        \
  typedef struct {                                                                                 \
    int64_t rows, cols;                                                                            \
    real *left, *symbol, *right;                                                                   \
  } toeplitz_rescaled_##suffix;                                                                    \
  attest_status toeplitz_fft_open_##suffix(toeplitz_fft_##suffix *fft, int64_t rows, int64_t cols, \
                                           attest_error *error);                                   \
  attest_status toeplitz_work_open_##suffix(toeplitz_work_##suffix *work, int64_t size,            \
                                            attest_error *error);                                  \
  void toeplitz_work_close_##suffix(toeplitz_work_##suffix *work);                                 \
  /* An aligned array for spectra: size + 2 entries; NULL: out of memory. */                       \
  real *toeplitz_spectrum_new_##suffix(int64_t size);                                              \
  void toeplitz_spectrum_free_##suffix(real *spectrum);                                            \
  /* The transform of the circulant that holds Toep(symbol), over size: one transform. */          \
  void toeplitz_spectrum_##suffix(real *spectrum, const toeplitz_fft_##suffix *fft,                \
                                  const real *symbol, toeplitz_work_##suffix *work);               \
  /* work->real_part[0 .. rows - 1] = Toep(symbol) diag(right) x: two transforms. right NULL:      \
   * ones.                                                                                         \
   */                                                                                              \
  void toeplitz_apply_##suffix(const toeplitz_fft_##suffix *fft, const real *spectrum,             \
                               const real *right, const real *x, toeplitz_work_##suffix *work);    \
  /* `count` transforms of work->real_part and spectrum, forth and back, for measuring. */         \
  void toeplitz_transforms_##suffix(const toeplitz_fft_##suffix *fft,                              \
                                    toeplitz_work_##suffix *work, int64_t count);                  \
  void toeplitz_circulant_##suffix(real *symbol, const real *a, int64_t n);                        \
  void toeplitz_mask_##suffix(real *symbol, int64_t rows, int64_t cols, int64_t lo, int64_t hi);   \
  /* y = diag(left) Toep(symbol) diag(right) x by three transforms. */                             \
  attest_status toeplitz_rescaled_product_##suffix(real *y, const toeplitz_rescaled_##suffix *m,   \
                                                   const real *x, attest_error *error);            \
  void toeplitz_hadamard_##suffix(toeplitz_rescaled_##suffix *a,                                   \
                                  const toeplitz_rescaled_##suffix *b)

TOEPLITZ_FFT(double, f64);
TOEPLITZ_FFT(float, f32);

#endif
