/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The ladder of number types. */
#include "enclosure.h"

/* The exact tier has no fixed cost: the figure serves estimates only. */
const enclosure_rung enclosure_ladder[TIER_COUNT] = {
    [TIER_DOUBLE] = {"double", 53, 4},
    [TIER_DOUBLE_DOUBLE] = {"double-double", 106, 100},
    [TIER_BALL] = {"ball", 128, 4000},
    [TIER_EXACT] = {"exact", 0, 40000},
};
