// SPDX-License-Identifier: LGPL-3.0-or-later
// A softmax attention kernel in C++, online (one pass over the keys), in the form that attest calls:
//
//   g++ -O2 -shared -fPIC kernel.cpp -o kernel.so          (-I for the folder of attest.h)
//   attest check softmax --q q.npy --k k.npy --v v.npy --library ./kernel.so:attention
#include <attest.h>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

// Whether the problem is softmax without windows, soft caps or temperatures, and positions stand next
// to components (layouts bhnd, hnd, nd; not bnhd, nhd, ..).
static bool is_served(const attest_call *call) {
  const auto says = [call](const char *text) { return std::strstr(call->params, text) != nullptr; };
  return !std::strcmp(call->kernel, "softmax") && says(R"("window": "-1,-1")") && says(R"("temperature": "1")") &&
         !says(R"("softcap")") && !says(R"(hd")");
}

extern "C" int attention(const attest_call *call) {
  const attest_tensor &q = call->q, &k = call->k, &v = call->v;
  const int n = q.ndim;
  if (q.dtype != ATTEST_FLOAT32 || k.dtype != ATTEST_FLOAT32 || v.dtype != ATTEST_FLOAT32 ||
      call->input_count > 3 || call->causal != 0 || n < 2 || !is_served(call))
    return 77;  // not served: skipped
  const int64_t nq = q.shape[n - 2], d = q.shape[n - 1], nk = k.shape[n - 2], dv = v.shape[n - 1];
  int64_t heads_q = 1, heads_k = 1;
  for (int a = 0; a < n - 2; a++) {
    heads_q *= q.shape[a];
    heads_k *= k.shape[a];
  }
  const float scale = static_cast<float>(call->scale);
  std::vector<float> sum(dv);
  for (int64_t h = 0; h < heads_q; h++) {
    const int64_t shared = h / (heads_q / heads_k);
    for (int64_t i = 0; i < nq; i++) {
      const float *qi = static_cast<const float *>(q.data) + (h * nq + i) * d;
      float largest = -std::numeric_limits<float>::infinity(), total = 0;
      std::fill(sum.begin(), sum.end(), 0.0f);
      for (int64_t j = 0; j < nk; j++) {
        const float *kj = static_cast<const float *>(k.data) + (shared * nk + j) * d;
        const float *vj = static_cast<const float *>(v.data) + (shared * nk + j) * dv;
        float score = 0;
        for (int64_t c = 0; c < d; c++) score += qi[c] * kj[c];
        score *= scale;
        const float next = std::fmax(largest, score), shrink = std::exp(largest - next),
                    weight = std::exp(score - next);
        largest = next;
        total = total * shrink + weight;
        for (int64_t c = 0; c < dv; c++) sum[c] = sum[c] * shrink + weight * vj[c];
      }
      float *out = static_cast<float *>(call->out.data) + (h * nq + i) * dv;
      for (int64_t c = 0; c < dv; c++) out[c] = sum[c] / total;
    }
  }
  return 0;
}
