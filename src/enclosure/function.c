/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "function.h"

attest_status function_number(const value *argument, const char *name, attest_error *error) {
  if (value_is_number(argument)) return ATTEST_OK;
  return attest_fail(error, ATTEST_ERR_INPUT, "%s must be a number, not a %s", name,
                     argument->kind == VALUE_LIST ? "list" : "truth value");
}

attest_status function_integer(slong *n, const value *argument, const char *name, slong low,
                               slong high, attest_error *error) {
  fmpz_t z;
  attest_status status = function_number(argument, name, error);
  if (status) return status;
  fmpz_init(z);
  if (!value_get_fmpz(z, argument))
    status =
        attest_fail(error, ATTEST_ERR_INPUT, "%s must be an integer that is known exactly", name);
  else if (fmpz_cmp_si(z, low) < 0 || fmpz_cmp_si(z, high) > 0)
    status = attest_fail(error, ATTEST_ERR_INPUT, "%s must be from %ld to %ld", name, (long)low,
                         (long)high);
  else
    *n = fmpz_get_si(z);
  fmpz_clear(z);
  return status;
}

attest_status function_range(int *inside, const value *argument, const char *name, const value *low,
                             int low_open, const value *high, int high_open, const char *wanted,
                             attest_error *error) {
  attest_status status = function_number(argument, name, error);
  if (status) return status;
  int below = low ? value_compare(argument, low, 128) : 1;
  int above = high ? value_compare(argument, high, 128) : -1;
  *inside =
      (below == 1 || (below == 0 && !low_open)) && (above == -1 || (above == 0 && !high_open));
  if (below == -1 || (below == 0 && low_open) || above == 1 || (above == 0 && high_open))
    return attest_fail(error, ATTEST_ERR_INPUT, "%s must be %s", name, wanted);
  return ATTEST_OK;
}
