/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* In the place of the mutants, for builds that have no use for them. */
#include "../../src/certify/mutants.h"

const mutant_library certify_mutants;
