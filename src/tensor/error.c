/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <stdarg.h>
#include <stdio.h>

#include "../attest.h"

/* Messages quote names out of files: control characters must not reach a terminal. */
static void defuse(char *text) {
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if ((c < 0x20 && c != '\n') || c == 0x7f) *text = '?';
  }
}

attest_status attest_fail(attest_error *error, attest_status status, const char *format, ...) {
  if (!error) return status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  defuse(error->message);
  error->status = status;
  return status;
}
