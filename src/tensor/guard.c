/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reading mapped files that somebody else may shorten meanwhile. */
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

#include "tensor.h"

static _Thread_local sigjmp_buf *place; /* NULL: not in guarded work */
static struct sigaction before;

/* Outside of guarded work (another thread's fault) the access is tried again, and its signal goes
 * where it went before. */
static void on_bus_error(int number) {
  if (place) siglongjmp(*place, 1);
  sigaction(number, &before, NULL);
}

int tensor_guarded(void (*work)(void *context), void *context) {
  struct sigaction action = {.sa_handler = on_bus_error};
  sigjmp_buf here;
  int cut = sigsetjmp(here, 1);
  if (!cut) {
    sigaction(SIGBUS, &action, &before);
    place = &here;
    work(context);
  }
  place = NULL;
  sigaction(SIGBUS, &before, NULL);
  return cut ? -1 : 0;
}
