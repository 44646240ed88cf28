/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The pass of pass.h, for float and for double, on one instruction set. */
#include "../enclosure/exp_isa.h"
#include "pass.h"

#define REAL float
#define VEC vf
#define NAME(x) x##_f32
#define LOAD tensor_load_float
#include "pass_impl.h"
#undef REAL
#undef VEC
#undef NAME
#undef LOAD

#define REAL double
#define VEC vd
#define NAME(x) x##_f64
#define LOAD tensor_load
#include "pass_impl.h"
