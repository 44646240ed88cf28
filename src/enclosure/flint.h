/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One name for two packagings: Debian 12 ships FLINT 2.9 with Arb apart (<arb.h>), Debian 13 ships
 * FLINT 3 with Arb inside (<flint/arb.h>). */
#ifndef ATTEST_ENCLOSURE_FLINT_H
#define ATTEST_ENCLOSURE_FLINT_H

/* FLINT 2 brings these along, FLINT 3 does not. */
#include <math.h>
#include <stdlib.h>

#include <flint/flint.h>
#include <flint/fmpq.h>
#include <flint/fmpq_vec.h>
#include <flint/fmpz.h>
#include <flint/fmpz_vec.h>
#include <flint/ulong_extras.h>

#if __FLINT_RELEASE >= 30000
#include <flint/arb.h>
#include <flint/arb_hypgeom.h>
#include <flint/arb_mat.h>
#include <flint/arb_poly.h>
#include <flint/arf.h>
#else
#include <arb.h>
#include <arb_hypgeom.h>
#include <arb_mat.h>
#include <arb_poly.h>
#include <arf.h>
#endif

#endif
