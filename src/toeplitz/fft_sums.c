/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The decomposition's sums through FFTW, in double and in float; see fft.h for the bound. */
#include <stdlib.h>
#include <string.h>

#include "../problem/rotary.h"
#include "decompose.h"
#include "fft_pack.h"
#include "loops.h"

#define FFT_BLOCK INT64_C(64) /* keys that the blocked form sums directly */
#define PASTE2(a, b) a##_##b
#define PASTE(a, b) PASTE2(a, b)

#define REAL double
#define NAME(x) PASTE(x, f64)
#define ROUNDOFF 0x1p-53
#define TINY 0x1p-1074
#include "fft_impl.h"
#undef REAL
#undef NAME
#undef ROUNDOFF
#undef TINY

#define REAL float
#define NAME(x) PASTE(x, f32)
#define ROUNDOFF 0x1p-24
#define TINY 0x1p-149
#include "fft_impl.h"
