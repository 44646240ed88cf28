/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The loops of pack.c over elements, on one instruction set: see pass.h. */
#include "pass.h"

#include <float.h>

int ISA(softmax_rows_finite)(const double *x, int64_t n);
int ISA(softmax_rows_finite)(const double *x, int64_t n) {
  int finite = 1;
  for (int64_t i = 0; i < n; i++)
    finite &= fabs(x[i]) <= DBL_MAX;
  return finite;
}

double ISA(softmax_rows_largest)(const double *x, int64_t n);
double ISA(softmax_rows_largest)(const double *x, int64_t n) {
  vd largest = {0};
  int64_t i = 0;
  for (; i + VD_LANES <= n; i += VD_LANES)
    largest = vd_max(largest, vd_abs(vd_load(x + i)));
  double most = vd_largest(largest);
  for (; i < n; i++)
    most = fabs(x[i]) > most ? fabs(x[i]) : most;
  return most;
}

void ISA(softmax_rows_add)(double *sum, const double *x, int64_t rows, int64_t n, double factor);
void ISA(softmax_rows_add)(double *sum, const double *x, int64_t rows, int64_t n, double factor) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < n; c++)
      sum[c] += x[r * n + c] * factor;
}

void ISA(softmax_put_keys_f32)(float *restrict panel, const double *restrict x, int64_t d);
void ISA(softmax_put_keys_f32)(float *restrict panel, const double *restrict x, int64_t d) {
  for (int64_t r = 0; r < PASS_PANEL_F32; r++)
    for (int64_t i = 0; i < d; i++)
      panel[i * PASS_PANEL_F32 + r] = (float)x[r * d + i];
}

void ISA(softmax_put_keys_f64)(double *restrict panel, double *restrict squares,
                               float *restrict sizes, const double *restrict x, int64_t d);
void ISA(softmax_put_keys_f64)(double *restrict panel, double *restrict squares,
                               float *restrict sizes, const double *restrict x, int64_t d) {
  for (int64_t r = 0; r < PASS_PANEL_F64; r++)
    for (int64_t i = 0; i < d; i++)
      panel[i * PASS_PANEL_F64 + r] = x[r * d + i];
  for (int64_t r = 0; r < PASS_PANEL_F64; r++)
    squares[r] = 0;
  for (int64_t i = 0; i < d; i++)
    for (int64_t r = 0; r < PASS_PANEL_F64; r++)
      squares[r] += panel[i * PASS_PANEL_F64 + r] * panel[i * PASS_PANEL_F64 + r];
  for (int64_t i = 0; sizes && i < d; i++)
    for (int64_t r = 0; r < PASS_PANEL_F64; r++)
      sizes[i * PASS_PANEL_F32 + r] = (float)fabs(panel[i * PASS_PANEL_F64 + r]);
}

void ISA(softmax_put_values)(softmax_pack *pack, const double *restrict x, int64_t j);
void ISA(softmax_put_values)(softmax_pack *pack, const double *restrict x, int64_t j) {
  int64_t dv = pack->slice.dv;
  if (!pack->is_double) {
    float *restrict to = (float *)pack->values + j * pack->dv_pad;
    for (int64_t c = 0; c < dv; c++)
      to[c] = (float)(x[c] * pack->value_scale);
    return;
  }
  double *restrict to = (double *)pack->values + j * pack->dv_pad;
  double *restrict largest = pack->value_max + j / PASS_KEYS * dv;
  for (int64_t c = 0; c < dv; c++) {
    to[c] = x[c];
    largest[c] = fabs(x[c]) > largest[c] ? fabs(x[c]) : largest[c];
  }
  if (!pack->condition) return;
  float *restrict size = pack->values_f32 + j * pack->dv_pad_f32;
  float *restrict spread = pack->spreads_f32 + j * pack->dv_pad_f32;
  const double *restrict center = pack->center;
  double scale = pack->value_scale_f32;
  for (int64_t c = 0; c < dv; c++) {
    size[c] = (float)fabs(x[c] * scale);
    spread[c] = (float)fabs(x[c] * scale - center[c]);
  }
}
