/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "instance.h"

static ulong draw(ulong *seed, ulong below) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (*seed >> 33) % below;
}

/* x <- (2u, |u|^2 - 1) / (|u|^2 + 1), |x| = 1, u of small integers over 3. */
static void stereographic(fmpq *x, ulong *seed) {
  fmpq_t square, one;
  fmpq_init(square);
  fmpq_init(one);
  fmpq_one(one);
  for (int i = 0; i + 1 < INSTANCE_DIM; i++) {
    fmpq_set_si(x + i, (slong)draw(seed, 13) - 6, 3);
    fmpq_addmul(square, x + i, x + i);
    fmpq_mul_2exp(x + i, x + i, 1);
  }
  fmpq_sub(x + INSTANCE_DIM - 1, square, one);
  fmpq_add(square, square, one);
  for (int i = 0; i < INSTANCE_DIM; i++)
    fmpq_div(x + i, x + i, square);
  fmpq_clear(square);
  fmpq_clear(one);
}

void sparse_instance_open(sparse_instance *x, int index) {
  ulong seed = (ulong)index * 7919 + 11;
  fmpq *q = _fmpq_vec_init(INSTANCE_DIM), *k = _fmpq_vec_init(INSTANCE_DIM);
  fmpq_t gap;
  fmpq_init(gap);
  x->n = index % 7 == 6 ? 1 : 3 + (int)draw(&seed, INSTANCE_KEYS_MAX - 3);
  fmpq_init(&x->gamma);
  fmpq_set_si(&x->gamma, 1 + (slong)draw(&seed, 9), 1 + draw(&seed, 6));
  stereographic(q, &seed);
  for (int i = 0; i < x->n; i++) {
    fmpq_init(x->s + i);
    fmpq_init(x->distance + i);
    if (index % 4 != 3 || i % 2 == 0) stereographic(k, &seed); /* else the key before once more */
    for (int a = 0; a < INSTANCE_DIM && index % 5 == 4 && i == 2; a++)
      fmpq_set(k + a, q + a);
    for (int a = 0; a < INSTANCE_DIM; a++) {
      fmpq_addmul(x->s + i, k + a, q + a);
      fmpq_sub(gap, k + a, q + a);
      fmpq_addmul(x->distance + i, gap, gap);
    }
  }
  fmpq_clear(gap);
  _fmpq_vec_clear(q, INSTANCE_DIM);
  _fmpq_vec_clear(k, INSTANCE_DIM);
}

void sparse_instance_clear(sparse_instance *x) {
  for (int i = 0; i < x->n; i++) {
    fmpq_clear(x->s + i);
    fmpq_clear(x->distance + i);
  }
  fmpq_clear(&x->gamma);
}

const fmpq *sparse_instance_largest(const sparse_instance *x) {
  const fmpq *largest = x->s;
  for (int i = 1; i < x->n; i++)
    if (fmpq_cmp(x->s + i, largest) > 0) largest = x->s + i;
  return largest;
}
