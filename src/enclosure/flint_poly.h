/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Polynomials and root isolation of FLINT 2.9 with Arb or FLINT 3 under one name: see flint.h. */
#ifndef ATTEST_ENCLOSURE_FLINT_POLY_H
#define ATTEST_ENCLOSURE_FLINT_POLY_H

#include "flint.h"

#include <flint/fmpq_poly.h>
#include <flint/fmpz_poly.h>
#include <flint/fmpz_poly_factor.h>
#include <flint/fmpz_vec.h>

#if __FLINT_RELEASE >= 30000
#include <flint/acb.h>
#include <flint/arb_fmpz_poly.h>
#include <flint/arb_poly.h>
#else
#include <acb.h>
#include <arb_fmpz_poly.h>
#include <arb_poly.h>
#endif

#endif
