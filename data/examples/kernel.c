/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A softmax attention kernel in C, in the form that attest calls:
 *
 *   gcc -O2 -shared -fPIC kernel.c -o kernel.so -lm          (-I for the folder of attest.h)
 *   attest check softmax --q q.npy --k k.npy --v v.npy --causal top-left \
 *     --library ./kernel.so:attention
 */
#include <attest.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One head: q (nq, d), k (nk, d), v (nk, dv), all float32. Sums are in double: in float, one term
 * after the other, they would lose 30 units of roundoff and more at d = 64. */
static void head(float *out, const float *q, const float *k, const float *v, int64_t nq, int64_t nk,
                 int64_t d, int64_t dv, double scale, int causal, float *weight) {
  for (int64_t i = 0; i < nq; i++) {
    int64_t last = causal == 1   ? i + 1
                   : causal == 2 ? i + 1 + nk - nq
                                 : nk,
            n = last < nk ? last : nk;
    float largest = -INFINITY;
    double sum = 0;
    for (int64_t j = 0; j < n; j++) {
      double score = 0;
      for (int64_t c = 0; c < d; c++)
        score += (double)q[i * d + c] * k[j * d + c];
      weight[j] = (float)(score * scale);
      largest = fmaxf(largest, weight[j]);
    }
    for (int64_t j = 0; j < n; j++)
      sum += weight[j] = expf(weight[j] - largest);
    for (int64_t c = 0; c < dv; c++) {
      double total = 0;
      for (int64_t j = 0; j < n; j++)
        total += (double)weight[j] * v[j * dv + c];
      /* A row that sees nothing returns zeros. */
      out[i * dv + c] = n > 0 ? (float)(total / sum) : 0;
    }
  }
}

/* Whether the problem is softmax without windows, soft caps or temperatures, and positions stand
 * next to components (layouts bhnd, hnd, nd; not bnhd, nhd, ..). */
static int is_served(const attest_call *call) {
  return !strcmp(call->kernel, "softmax") && strstr(call->params, "\"window\": \"-1,-1\"") &&
         strstr(call->params, "\"temperature\": \"1\"") && !strstr(call->params, "\"softcap\"") &&
         !strstr(call->params, "hd\"");
}

/* q, k, v with axes (.., heads, position, component); heads of q may share those of k and v. */
int attention(const attest_call *call) {
  const attest_tensor *q = &call->q, *k = &call->k, *v = &call->v;
  int n = q->ndim;
  if (q->dtype != ATTEST_FLOAT32 || k->dtype != ATTEST_FLOAT32 || v->dtype != ATTEST_FLOAT32 ||
      call->input_count > 3 || n < 2 || !is_served(call))
    return 77; /* not served: skipped */
  int64_t nq = q->shape[n - 2], d = q->shape[n - 1], nk = k->shape[n - 2], dv = v->shape[n - 1];
  int64_t heads_q = 1, heads_k = 1;
  for (int a = 0; a < n - 2; a++) {
    heads_q *= q->shape[a];
    heads_k *= k->shape[a];
  }
  float *weight = malloc((size_t)(nk > 0 ? nk : 1) * sizeof *weight);
  if (!weight) return 1;
  for (int64_t h = 0; h < heads_q; h++) {
    int64_t shared = h / (heads_q / heads_k);
    head((float *)call->out.data + h * nq * dv, (const float *)q->data + h * nq * d,
         (const float *)k->data + shared * nk * d, (const float *)v->data + shared * nk * dv, nq,
         nk, d, dv, call->scale, call->causal, weight);
  }
  free(weight);
  return 0;
}
