/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The loops of the sparse kernels; see kernel.h. */
#include "kernel.h"

/* One bit a lane where s > above. */
#if ISA_BYTES == 64
ISA_INLINE unsigned above_f32(vf s, float above) {
  return _mm512_cmp_ps_mask((__m512)s, (__m512)vf_set1(above), _CMP_GT_OQ);
}
ISA_INLINE unsigned above_f64(vd s, double above) {
  return _mm512_cmp_pd_mask((__m512d)s, (__m512d)vd_set1(above), _CMP_GT_OQ);
}
#elif ISA_BYTES == 32
ISA_INLINE unsigned above_f32(vf s, float above) {
  return (unsigned)_mm256_movemask_ps((__m256)(s > vf_set1(above)));
}
ISA_INLINE unsigned above_f64(vd s, double above) {
  return (unsigned)_mm256_movemask_pd((__m256d)(s > vd_set1(above)));
}
#else
ISA_INLINE unsigned above_f32(vf s, float above) {
  unsigned found = 0;
  for (int i = 0; i < VF_LANES; i++)
    found |= (unsigned)(s[i] > above) << i;
  return found;
}
ISA_INLINE unsigned above_f64(vd s, double above) {
  unsigned found = 0;
  for (int i = 0; i < VD_LANES; i++)
    found |= (unsigned)(s[i] > above) << i;
  return found;
}
#endif

#define REAL float
#define VEC vf
#define NAME(x) x##_f32
#include "kernel_impl.h"
#undef REAL
#undef VEC
#undef NAME

#define REAL double
#define VEC vd
#define NAME(x) x##_f64
#include "kernel_impl.h"
