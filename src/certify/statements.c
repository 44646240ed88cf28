/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The one place that knows which rooms make statements. */
#include "statements.h"

#include "../sparse/statements.h"
#include "../taylor/statements.h"
#include "../toeplitz/statements.h"

static const struct {
  const problem_statement *list;
  const size_t *count;
} rooms[] = {
    {taylor_statements, &taylor_statement_count},
    {toeplitz_statements, &toeplitz_statement_count},
    {sparse_statements, &sparse_statement_count},
};
enum { ROOMS = sizeof rooms / sizeof *rooms };

size_t certify_statement_count(void) {
  size_t count = 0;
  for (size_t r = 0; r < ROOMS; r++)
    count += *rooms[r].count;
  return count;
}

const problem_statement *certify_statement(size_t i) {
  for (size_t r = 0; r < ROOMS; r++) {
    if (i < *rooms[r].count) return &rooms[r].list[i];
    i -= *rooms[r].count;
  }
  return NULL;
}
