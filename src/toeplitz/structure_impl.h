/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Structured products by FFTW for one type: REAL, NAME(x) (x with the type's suffix) and FFTW(x)
 * (x with the library's prefix) are defined by structure.c. */

attest_status NAME(toeplitz_work_open)(NAME(toeplitz_work) * work, int64_t size,
                                       attest_error *error) {
  work->input = FFTW(alloc_real)((size_t)size);
  work->real_part = FFTW(alloc_real)((size_t)size);
  work->spectrum = FFTW(alloc_real)((size_t)size + 2);
  work->filled = size;
  if (work->input && work->real_part && work->spectrum) return ATTEST_OK;
  NAME(toeplitz_work_close)(work);
  return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: transforms of %lld elements",
                     (long long)size);
}

void NAME(toeplitz_work_close)(NAME(toeplitz_work) * work) {
  FFTW(free)(work->input);
  FFTW(free)(work->real_part);
  FFTW(free)(work->spectrum);
  *work = (NAME(toeplitz_work)){0};
}

REAL *NAME(toeplitz_spectrum_new)(int64_t size) {
  return FFTW(alloc_real)((size_t)size + 2);
}

void NAME(toeplitz_spectrum_free)(REAL *spectrum) {
  FFTW(free)(spectrum);
}

/* Plans by the logarithm of their size. They stay: whoever computes products of a size once will
 * again, and planning takes as long as several transforms. */
static struct { FFTW(plan) forward, backward; } NAME(plans)[SIZE_BITS_MAX + 1];

static void NAME(make_plans)(int bits, NAME(toeplitz_work) * work) {
  int size = 1 << bits;
  FFTW(complex) *spectrum = (FFTW(complex) *)work->spectrum;
  if (!NAME(plans)[bits].forward)
    NAME(plans)[bits].forward = FFTW(plan_dft_r2c_1d)(size, work->input, spectrum, FFTW_ESTIMATE);
  if (!NAME(plans)[bits].backward) NAME(plans)
  [bits].backward = FFTW(plan_dft_c2r_1d)(size, spectrum, work->real_part, FFTW_ESTIMATE);
}

attest_status NAME(toeplitz_fft_open)(NAME(toeplitz_fft) * fft, int64_t rows, int64_t cols,
                                      attest_error *error) {
  NAME(toeplitz_work) work = {0};
  int64_t size = toeplitz_fft_size(rows, cols);
  int bits = 0;
  attest_status status = ATTEST_OK;
  *fft = (NAME(toeplitz_fft)){.rows = rows, .cols = cols, .size = size};
  if (size < 0 || size > (int64_t)1 << SIZE_BITS_MAX)
    return attest_fail(error, ATTEST_ERR_SUPPORT,
                       "%lld rows and %lld keys need transforms of more than 2^30 elements; use "
                       "the direct form",
                       (long long)rows, (long long)cols);
  while ((int64_t)1 << bits < size)
    bits++;
#pragma omp critical(attest_fftw)
  {
    if (!NAME(plans)[bits].forward || !NAME(plans)[bits].backward) {
      status = NAME(toeplitz_work_open)(&work, size, error);
      if (!status) NAME(make_plans)(bits, &work);
      NAME(toeplitz_work_close)(&work);
    }
    fft->forward = NAME(plans)[bits].forward;
    fft->backward = NAME(plans)[bits].backward;
  }
  if (status || (fft->forward && fft->backward)) return status;
  return attest_fail(error, ATTEST_ERR_MEMORY, "FFTW makes no plan for %lld elements",
                     (long long)size);
}

/* Offset p >= 0 goes to place p, offset -m to place size - m; the scale 1 / size is exact. */
void NAME(toeplitz_spectrum)(REAL *spectrum, const NAME(toeplitz_fft) * fft, const REAL *symbol,
                             NAME(toeplitz_work) * work) {
  REAL *place = work->real_part, scale = (REAL)1 / (REAL)fft->size;
  int64_t before = fft->cols - 1;
  NAME(loops_scale)(place, symbol + before, scale, fft->rows);
  for (int64_t p = fft->rows; p < fft->size - before; p++)
    place[p] = 0;
  NAME(loops_scale)(place + fft->size - before, symbol, scale, before);
  FFTW(execute_dft_r2c)(fft->forward, place, (FFTW(complex) *)spectrum);
}

void NAME(toeplitz_apply)(const NAME(toeplitz_fft) * fft, const REAL *spectrum, const REAL *right,
                          const REAL *x, NAME(toeplitz_work) * work) {
  NAME(loops_fill)(work->input, right, x, fft->cols, work->filled);
  work->filled = fft->cols;
  FFTW(execute_dft_r2c)(fft->forward, work->input, (FFTW(complex) *)work->spectrum);
  NAME(loops_multiply)(work->spectrum, spectrum, fft->size / 2 + 1);
  FFTW(execute_dft_c2r)(fft->backward, (FFTW(complex) *)work->spectrum, work->real_part);
}

void NAME(toeplitz_transforms)(const NAME(toeplitz_fft) * fft, NAME(toeplitz_work) * work,
                               int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (i % 2)
      FFTW(execute_dft_c2r)(fft->backward, (FFTW(complex) *)work->spectrum, work->real_part);
    else
      FFTW(execute_dft_r2c)(fft->forward, work->real_part, (FFTW(complex) *)work->spectrum);
}

void NAME(toeplitz_circulant)(REAL *symbol, const REAL *a, int64_t n) {
  for (int64_t p = 0; p < 2 * n - 1; p++)
    symbol[p] = a[(p + 1) % n];
}

void NAME(toeplitz_mask)(REAL *symbol, int64_t rows, int64_t cols, int64_t lo, int64_t hi) {
  for (int64_t p = 0; p < rows + cols - 1; p++)
    symbol[p] = p - (cols - 1) >= lo && p - (cols - 1) <= hi;
}

attest_status NAME(toeplitz_rescaled_product)(REAL *y, const NAME(toeplitz_rescaled) * m,
                                              const REAL *x, attest_error *error) {
  NAME(toeplitz_fft) fft;
  NAME(toeplitz_work) work = {0};
  if (m->rows == 0) return ATTEST_OK;
  if (m->cols == 0) {
    memset(y, 0, (size_t)m->rows * sizeof *y);
    return ATTEST_OK;
  }
  attest_status status = NAME(toeplitz_fft_open)(&fft, m->rows, m->cols, error);
  if (status) return status;
  REAL *spectrum = NAME(toeplitz_spectrum_new)(fft.size);
  status = NAME(toeplitz_work_open)(&work, fft.size, error);
  if (!status && !spectrum)
    status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: transforms of %lld elements",
                         (long long)fft.size);
  if (!status) {
    NAME(toeplitz_spectrum)(spectrum, &fft, m->symbol, &work);
    NAME(toeplitz_apply)(&fft, spectrum, m->right, x, &work);
    for (int64_t i = 0; i < m->rows; i++)
      y[i] = m->left[i] * work.real_part[i];
  }
  NAME(toeplitz_work_close)(&work);
  NAME(toeplitz_spectrum_free)(spectrum);
  return status;
}

void NAME(toeplitz_hadamard)(NAME(toeplitz_rescaled) * a, const NAME(toeplitz_rescaled) * b) {
  for (int64_t i = 0; i < a->rows; i++)
    a->left[i] *= b->left[i];
  for (int64_t p = 0; p < a->rows + a->cols - 1; p++)
    a->symbol[p] *= b->symbol[p];
  for (int64_t j = 0; j < a->cols; j++)
    a->right[j] *= b->right[j];
}
