/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The passes of pass.h on one instruction set: for float and for double, the terms of the backward
 * error, and second passes over single rows. */
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

#include "condition_impl.h"
#include "second_impl.h"
