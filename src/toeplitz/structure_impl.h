/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Structured products by FFTW for one type: REAL, NAME(x) (x with the type's suffix) and FFTW(x)
 * (x with the library's prefix) are defined by structure.c. */

attest_status NAME(toeplitz_work_open)(NAME(toeplitz_work) * work, int64_t size,
                                       attest_error *error) {
  work->real_part = FFTW(alloc_real)((size_t)size);
  work->spectrum = FFTW(alloc_real)((size_t)size + 2);
  if (work->real_part && work->spectrum) return ATTEST_OK;
  NAME(toeplitz_work_close)(work);
  return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: transforms of %lld elements",
                     (long long)size);
}

void NAME(toeplitz_work_close)(NAME(toeplitz_work) * work) {
  FFTW(free)(work->real_part);
  FFTW(free)(work->spectrum);
  work->real_part = work->spectrum = NULL;
}

REAL *NAME(toeplitz_spectrum_new)(int64_t size) {
  return FFTW(alloc_real)((size_t)size + 2);
}

void NAME(toeplitz_spectrum_free)(REAL *spectrum) {
  FFTW(free)(spectrum);
}

void NAME(toeplitz_fft_close)(NAME(toeplitz_fft) * fft) {
#pragma omp critical(attest_fftw)
  {
    if (fft->forward) FFTW(destroy_plan)(fft->forward);
    if (fft->backward) FFTW(destroy_plan)(fft->backward);
  }
  fft->forward = fft->backward = NULL;
}

attest_status NAME(toeplitz_fft_open)(NAME(toeplitz_fft) * fft, int64_t rows, int64_t cols,
                                      attest_error *error) {
  NAME(toeplitz_work) work;
  int64_t size = toeplitz_fft_size(rows, cols);
  *fft = (NAME(toeplitz_fft)){.rows = rows, .cols = cols, .size = size};
  if (size < 0 || size > (int64_t)1 << 30)
    return attest_fail(error, ATTEST_ERR_SUPPORT,
                       "%lld rows and %lld keys need transforms of more than 2^30 elements; use "
                       "the direct form",
                       (long long)rows, (long long)cols);
  attest_status status = NAME(toeplitz_work_open)(&work, size, error);
  if (status) return status;
#pragma omp critical(attest_fftw)
  {
    fft->forward = FFTW(plan_dft_r2c_1d)((int)size, work.real_part, (FFTW(complex) *)work.spectrum,
                                         FFTW_ESTIMATE);
    fft->backward = FFTW(plan_dft_c2r_1d)((int)size, (FFTW(complex) *)work.spectrum, work.real_part,
                                          FFTW_ESTIMATE);
  }
  NAME(toeplitz_work_close)(&work);
  if (fft->forward && fft->backward) return ATTEST_OK;
  NAME(toeplitz_fft_close)(fft);
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
  REAL *place = work->real_part;
  NAME(loops_fill)(place, right, x, fft->cols, fft->size);
  FFTW(execute_dft_r2c)(fft->forward, place, (FFTW(complex) *)work->spectrum);
  NAME(loops_multiply)(work->spectrum, spectrum, fft->size / 2 + 1);
  FFTW(execute_dft_c2r)(fft->backward, (FFTW(complex) *)work->spectrum, place);
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
  NAME(toeplitz_work) work;
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
  NAME(toeplitz_fft_close)(&fft);
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
