/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The walk over multi-indices, and the decomposition over the rationals. */
#include "decompose.h"

void toeplitz_term_count(fmpz_t count, int64_t support, int64_t degree) {
  fmpz_bin_uiui(count, (ulong)(support + degree), (ulong)degree);
}

/* ---- the walk ---- */

void toeplitz_walk_start(toeplitz_walk *walk, int64_t support, int64_t degree) {
  walk->support = support;
  walk->degree = degree;
  walk->level = 0;
  walk->run[0] = 0;
}

static void find_run(toeplitz_walk *walk) {
  int64_t l = walk->level;
  int same = l > 1 && walk->chain[l - 1] == walk->chain[l - 2];
  walk->run[l] = same ? walk->run[l - 1] + 1 : 1;
}

int toeplitz_walk_next(toeplitz_walk *walk) {
  if (walk->level < walk->degree && walk->support > 0) {
    walk->chain[walk->level] = walk->level ? walk->chain[walk->level - 1] : 0;
    walk->level++;
    find_run(walk);
    return 1;
  }
  for (; walk->level > 0; walk->level--)
    if (++walk->chain[walk->level - 1] < walk->support) {
      find_run(walk);
      return 1;
    }
  return 0;
}

void toeplitz_walk_multinomial(fmpz_t count, const fmpz_t before, const toeplitz_walk *walk) {
  fmpz_mul_si(count, before, walk->level);
  fmpz_divexact_si(count, count, walk->run[walk->level]);
}

double toeplitz_walk_multinomial_double(double before, const toeplitz_walk *walk) {
  return before * (double)walk->level / (double)walk->run[walk->level];
}

/* ---- over the rationals ---- */

/* The entrywise product of one level: left, symbol, right in a row. */
typedef struct {
  toeplitz_rescaled_fmpq m;
  fmpz_t multinomial;
} level_product;

static void level_init(level_product *l, const decompose_problem *p) {
  l->m = (toeplitz_rescaled_fmpq){p->rows, p->cols, _fmpq_vec_init(p->rows),
                                  _fmpq_vec_init(p->rows + p->cols - 1), _fmpq_vec_init(p->cols)};
  fmpz_init(l->multinomial);
}

static void level_clear(level_product *l) {
  _fmpq_vec_clear(l->m.left, l->m.rows);
  _fmpq_vec_clear(l->m.symbol, l->m.rows + l->m.cols - 1);
  _fmpq_vec_clear(l->m.right, l->m.cols);
  fmpz_clear(l->multinomial);
}

/* The all-ones matrix where the mask lets it. */
static void first_level(level_product *l, const decompose_problem *p) {
  for (int64_t i = 0; i < p->rows; i++)
    fmpq_one(l->m.left + i);
  for (int64_t n = 0; n < p->rows + p->cols - 1; n++)
    fmpq_set(l->m.symbol + n, p->mask + n);
  for (int64_t j = 0; j < p->cols; j++)
    fmpq_one(l->m.right + j);
  fmpz_one(l->multinomial);
}

/* to = from o A^(s). */
static void next_level(level_product *to, const level_product *from, const decompose_problem *p,
                       const toeplitz_walk *walk) {
  int64_t s = walk->chain[walk->level - 1];
  for (int64_t i = 0; i < p->rows; i++)
    fmpq_mul(to->m.left + i, from->m.left + i, p->q + i * p->d + p->a[s]);
  for (int64_t n = 0; n < p->rows + p->cols - 1; n++)
    fmpq_mul(to->m.symbol + n, from->m.symbol + n, p->symbol[s] + n);
  for (int64_t j = 0; j < p->cols; j++)
    fmpq_mul(to->m.right + j, from->m.right + j, p->k + j * p->d + p->b[s]);
  toeplitz_walk_multinomial(to->multinomial, from->multinomial, walk);
}

/* out += coefficient A^(m) values. */
static void add_product(fmpq *out, const level_product *l, const decompose_problem *p,
                        const fmpq_t coefficient) {
  fmpq *x = _fmpq_vec_init(p->cols), *y = _fmpq_vec_init(p->rows);
  for (int64_t c = 0; c < p->width; c++) {
    for (int64_t j = 0; j < p->cols; j++)
      fmpq_set(x + j, p->values + j * p->width + c);
    toeplitz_rescaled_product_fmpq(y, &l->m, x);
    for (int64_t i = 0; i < p->rows; i++)
      fmpq_addmul(out + i * p->width + c, y + i, coefficient);
  }
  _fmpq_vec_clear(x, p->cols);
  _fmpq_vec_clear(y, p->rows);
}

int64_t decompose_attention_fmpq(fmpq *out, const decompose_problem *problem, const fmpq_poly_t p,
                                 const fmpq_t factor) {
  level_product levels[TOEPLITZ_DEGREE_MAX + 1];
  int64_t degree = fmpq_poly_degree(p), terms = 0;
  toeplitz_walk walk;
  fmpq_t alpha, c;
  fmpq_init(alpha);
  fmpq_init(c);
  for (int64_t l = 0; l <= degree; l++)
    level_init(&levels[l], problem);
  for (int64_t i = 0; i < problem->rows * problem->width; i++)
    fmpq_zero(out + i);
  first_level(&levels[0], problem);
  toeplitz_walk_start(&walk, problem->support, degree);
  do {
    level_product *l = &levels[walk.level];
    if (walk.level > 0) next_level(l, l - 1, problem, &walk);
    fmpq_poly_get_coeff_fmpq(c, p, walk.level);
    fmpq_pow_si(alpha, factor, walk.level);
    fmpq_mul(alpha, alpha, c);
    fmpq_mul_fmpz(alpha, alpha, l->multinomial);
    add_product(out, l, problem, alpha);
    terms++;
  } while (toeplitz_walk_next(&walk));
  for (int64_t l = 0; l <= degree; l++)
    level_clear(&levels[l]);
  fmpq_clear(alpha);
  fmpq_clear(c);
  return terms;
}

void decompose_dense_fmpq(fmpq *out, const decompose_problem *problem, const fmpq_poly_t p,
                          const fmpq_t factor) {
  const decompose_problem *x = problem;
  fmpq_t form, term;
  fmpq_init(form);
  fmpq_init(term);
  for (int64_t i = 0; i < x->rows * x->width; i++)
    fmpq_zero(out + i);
  for (int64_t i = 0; i < x->rows; i++)
    for (int64_t j = 0; j < x->cols; j++) {
      int64_t n = i - j + x->cols - 1;
      if (fmpq_is_zero(x->mask + n)) continue;
      fmpq_zero(form);
      for (int64_t s = 0; s < x->support; s++) {
        fmpq_mul(term, x->q + i * x->d + x->a[s], x->symbol[s] + n);
        fmpq_addmul(form, term, x->k + j * x->d + x->b[s]);
      }
      fmpq_mul(form, form, factor);
      fmpq_poly_evaluate_fmpq(form, p, form);
      for (int64_t c = 0; c < x->width; c++)
        fmpq_addmul(out + i * x->width + c, form, x->values + j * x->width + c);
    }
  fmpq_clear(form);
  fmpq_clear(term);
}
