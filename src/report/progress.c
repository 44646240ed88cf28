/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "progress.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MILLISECONDS_BETWEEN_DRAWS 100

struct progress {
  const char *what;
  int64_t total;
  atomic_int_fast64_t done, drawn_ms; /* drawn_ms: when the line was last drawn */
  int64_t start_ms;
};

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

progress *progress_start(const char *what, int64_t total) {
  if (!isatty(STDERR_FILENO)) return NULL;
  progress *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->what = what;
  p->total = total;
  p->start_ms = now_ms();
  atomic_init(&p->done, 0);
  atomic_init(&p->drawn_ms, p->start_ms);
  return p;
}

/* "12.3 M" */
static void scaled(char buf[32], double x) {
  static const char *const suffix[] = {"", " k", " M", " G", " T"};
  int i = 0;
  for (; x >= 1000 && i < 4; i++)
    x /= 1000;
  snprintf(buf, 32, "%.3g%s", x, suffix[i]);
}

static void draw(const progress *p, int64_t done, int64_t now) {
  double seconds = (double)(now - p->start_ms) / 1000, rate = (double)done / seconds;
  char rate_text[32];
  scaled(rate_text, rate);
  if (p->total > 0) {
    double left = done > 0 ? (double)(p->total - done) / rate : 0;
    fprintf(stderr, "\r\033[K%s: %.0f %%, %s/s, %.0f s left", p->what,
            100.0 * (double)done / (double)p->total, rate_text, left > 0 ? left : 0);
  } else {
    char done_text[32];
    scaled(done_text, (double)done);
    fprintf(stderr, "\r\033[K%s: %s, %s/s", p->what, done_text, rate_text);
  }
  fflush(stderr);
}

void progress_step(progress *p, int64_t n) {
  if (!p) return;
  int64_t done = atomic_fetch_add(&p->done, n) + n, now = now_ms();
  int_fast64_t last = atomic_load(&p->drawn_ms);
  /* Whoever moves the clock draws; the others go on with their work. */
  if (now - last >= MILLISECONDS_BETWEEN_DRAWS &&
      atomic_compare_exchange_strong(&p->drawn_ms, &last, now))
    draw(p, done, now);
}

void progress_hide(progress *p) {
  if (!p) return;
  fprintf(stderr, "\r\033[K");
  fflush(stderr);
}

void progress_end(progress *p) {
  progress_hide(p);
  free(p);
}
