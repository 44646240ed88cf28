/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The arithmetic of kernel.h on one instruction set, for float and for double. */
#include "../enclosure/exp_isa.h"
#include "kernel.h"

#define REAL float
#define VEC vf
#define NAME(x) x##_f32
#define LOAD tensor_load_float
#define DTYPE ATTEST_FLOAT32
#include "kernel_impl.h"
#undef REAL
#undef VEC
#undef NAME
#undef LOAD
#undef DTYPE

#define REAL double
#define VEC vd
#define NAME(x) x##_f64
#define LOAD tensor_load
#define DTYPE ATTEST_FLOAT64
#include "kernel_impl.h"
