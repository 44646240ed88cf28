/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The explicit state, and the memory and the instruction sets of the arithmetic behind it. */
#include <stdlib.h>

#include "kernel.h"

#define REAL float
#define NAME(x) x##_f32
#include "state_impl.h"
#undef REAL
#undef NAME

#define REAL double
#define NAME(x) x##_f64
#include "state_impl.h"
