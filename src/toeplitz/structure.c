/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Structured products by FFTW, in double and, from the same source, in float. FFTW's planner is not
 * reentrant: one critical section guards it; plans are executed by any thread. */
#include "structure.h"

#include <fftw3.h>
#include <string.h>

#include "../enclosure/interval.h"
#include "loops.h"

int64_t toeplitz_fft_size(int64_t rows, int64_t cols) {
  int64_t size = 1;
  while (size < rows + cols - 1)
    size *= 2;
  return size;
}

double toeplitz_fft_error(int64_t size, double u) {
  double levels = 1;
  for (int64_t n = 1; n < size; n *= 2)
    levels++;
  /* (1 + u)^{3n} (1 + sqrt(5) u)^{3n+1} (1 + u)^{3n} <= e^z with z below. */
  double z = enclosure_mul_up((3 * levels * (2 + 2.2361) + 2.2361), u);
  return z < 0x1p-4 ? enclosure_mul_up(z, 1 + z) : INFINITY;
}

enum { SIZE_BITS_MAX = 30 };

#define PASTE2(a, b) a##_##b
#define PASTE(a, b) PASTE2(a, b)

#define REAL double
#define NAME(x) PASTE(x, f64)
#define FFTW(x) PASTE(fftw, x)
#include "structure_impl.h"
#undef REAL
#undef NAME
#undef FFTW

#define REAL float
#define NAME(x) PASTE(x, f32)
#define FFTW(x) PASTE(fftwf, x)
#include "structure_impl.h"
