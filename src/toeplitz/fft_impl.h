/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The sums of the decomposition for one type: REAL, NAME(x), ROUNDOFF and TINY (its smallest
 * positive number) are defined by fft_sums.c. */

/* Symbols of one level for every size of transform that the form uses. */
typedef struct {
  NAME(toeplitz_fft) *
      fft; /* FFT: one; BLOCKED: one a level of blocks, sizes 2 BLOCK, 4 BLOCK .. */
  int64_t count;
  REAL **spectrum;
} NAME(engine);

/* The factors of one level of the walk. */
typedef struct {
  REAL *left, *symbol, *right;
  double multinomial;
  double most[3], lost[3]; /* of left, symbol, right: the largest element, what underflow took */
} NAME(factors);

typedef struct {
  const fft_pack *pack;
  const fft_polynomial *p;
  fft_sums *sums;
  toeplitz_form form;
  NAME(engine) engine;
  NAME(factors) level[TOEPLITZ_DEGREE_MAX + 1];
  REAL *values;                   /* [dv + 1][nk], the last column ones */
  REAL *queries, *keys, *symbols; /* as in the pack, queries times its factor, rounded */
  toeplitz_walk walk;
  int failed;
} NAME(run);

static void NAME(engine_close)(NAME(engine) * e) {
  for (int64_t n = 0; n < e->count; n++)
    NAME(toeplitz_spectrum_free)(e->spectrum[n]);
  free(e->fft);
  free(e->spectrum);
}

static attest_status NAME(engine_open)(NAME(engine) * e, const fft_pack *pack, toeplitz_form form,
                                       attest_error *error) {
  int64_t count = 1;
  if (form == TOEPLITZ_BLOCKED_FORM)
    for (count = 0; FFT_BLOCK << count < pack->nk;)
      count++;
  *e = (NAME(engine)){0};
  e->fft = calloc((size_t)count + 1, sizeof *e->fft);
  e->spectrum = calloc((size_t)count + 1, sizeof *e->spectrum);
  if (!e->fft || !e->spectrum) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (; e->count < count; e->count++) {
    int64_t n = e->count, half = FFT_BLOCK << n;
    /* A block of keys meets the rows half .. 2 half - 1 after its first: a half x half matrix. */
    attest_status status = form == TOEPLITZ_BLOCKED_FORM
                               ? NAME(toeplitz_fft_open)(&e->fft[n], half, half, error)
                               : NAME(toeplitz_fft_open)(&e->fft[n], pack->nq, pack->nk, error);
    if (status) return status;
    e->spectrum[n] = NAME(toeplitz_spectrum_new)(e->fft[n].size);
    if (!e->spectrum[n]) {
      e->count++;
      return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: transforms");
    }
  }
  return ATTEST_OK;
}

/* Transforms of the current symbol. Blocked: offset p of a half x half matrix whose rows start half
 * after its keys is offset p + half, half + p >= 1. */
static void NAME(transform_symbol)(NAME(run) * r, const REAL *symbol, NAME(toeplitz_work) * work,
                                   REAL *scratch) {
  const fft_pack *pack = r->pack;
  r->sums->transforms += r->engine.count;
  if (r->form == TOEPLITZ_FFT_FORM) {
    NAME(toeplitz_spectrum)(r->engine.spectrum[0], &r->engine.fft[0], symbol, work);
    return;
  }
  for (int64_t n = 0; n < r->engine.count; n++) {
    int64_t half = FFT_BLOCK << n;
    for (int64_t m = 0; m < 2 * half - 1; m++)
      scratch[m] = m + 1 < pack->nq ? symbol[pack->nk - 1 + m + 1] : 0;
    NAME(toeplitz_spectrum)(r->engine.spectrum[n], &r->engine.fft[n], scratch, work);
  }
}

/* Relaxed product of the lower triangle: y[i] = sum_{j <= i} symbol_{i-j} x[j]. */
static int64_t NAME(blocked_product)(double *y, const NAME(run) * r, const REAL *symbol,
                                     const REAL *x, NAME(toeplitz_work) * work) {
  int64_t n = r->pack->nk, transforms = 0;
  const REAL *causal = symbol + r->pack->nk - 1;
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int64_t j = i / FFT_BLOCK * FFT_BLOCK; j <= i; j++)
      sum += (double)causal[i - j] * (double)x[j];
    y[i] = sum;
  }
  for (int64_t k = 0; k < r->engine.count; k++) {
    int64_t half = FFT_BLOCK << k;
    for (int64_t first = 0; first + half < n; first += 2 * half) {
      int64_t rows = n - first - half < half ? n - first - half : half;
      NAME(toeplitz_apply)(&r->engine.fft[k], r->engine.spectrum[k], NULL, x + first, work);
      for (int64_t i = 0; i < rows; i++)
        y[first + half + i] += (double)work->real_part[i];
      transforms += 2;
    }
  }
  return transforms;
}

/* sum[c] += alpha diag(left) Toep(symbol) diag(right) column. */
static int64_t NAME(add_column)(NAME(run) * r, int64_t c, double alpha, NAME(toeplitz_work) * work,
                                REAL *x, double *y) {
  const fft_pack *pack = r->pack;
  const NAME(factors) *f = &r->level[r->walk.level];
  const REAL *column = r->values + c * pack->nk;
  double *sum = r->sums->sum + c * pack->nq;
  if (r->form == TOEPLITZ_FFT_FORM) {
    NAME(toeplitz_apply)(&r->engine.fft[0], r->engine.spectrum[0], f->right, column, work);
    NAME(loops_add)(sum, alpha, f->left, work->real_part, pack->nq);
    return 2;
  }
  for (int64_t j = 0; j < pack->nk; j++)
    x[j] = f->right[j] * column[j];
  int64_t transforms = NAME(blocked_product)(y, r, f->symbol, x, work);
  for (int64_t i = 0; i < pack->nq; i++)
    sum[i] += alpha * (double)f->left[i] * y[i];
  return transforms;
}

/* What underflow can do to the column of ones in this term. */
static double NAME(underflow)(const NAME(run) * r, double alpha, double symbol_norm,
                              double right_norm) {
  const NAME(factors) *f = &r->level[r->walk.level];
  const double *m = f->most, *l = f->lost;
  double n = 2, levels = 1, keys = (double)r->pack->nk;
  for (; n < (double)(r->pack->nq + r->pack->nk); n *= 2)
    levels++;
  double factors =
      l[0] * (m[1] + l[1]) * (m[2] + l[2]) + m[0] * l[1] * (m[2] + l[2]) + m[0] * m[1] * l[2];
  double transforms = 64 * levels * n * n * sqrt(n) * TINY * (1 + symbol_norm + right_norm);
  return fabs(alpha) * (keys * factors + (m[0] + l[0]) * transforms);
}

/* What rounding can do to the column of ones in this term, by row. */
static void NAME(add_bound)(NAME(run) * r, double alpha) {
  const fft_pack *pack = r->pack;
  const NAME(factors) *f = &r->level[r->walk.level];
  int blocked = r->form == TOEPLITZ_BLOCKED_FORM;
  double t = (double)r->walk.level, g = (double)r->p->degree;
  double symbol_norm = sqrt(NAME(loops_squares)(f->symbol, pack->length)) * (1 + 0x1p-20);
  double transforms = 0;
  for (int64_t n = 0; n < r->engine.count; n++)
    transforms += toeplitz_fft_error(r->engine.fft[n].size, ROUNDOFF);
  if (blocked) transforms += (FFT_BLOCK + (double)r->engine.count + 2) * 0x1p-53;
  double e = transforms + (7 * t + g + 8) * ROUNDOFF + (double)r->sums->terms * 0x1p-53;
  if (pack->problem->pairing == PAIRING_ROTARY)
    e += t * ROTARY_ERROR * sqrt((double)pack->length) / fmax(symbol_norm, 0x1p-1000);
  e *= fabs(alpha) * symbol_norm * (1 + 0x1p-10);
  double right_norm = sqrt(NAME(loops_squares)(f->right, pack->nk));
  r->sums->underflow += NAME(underflow)(r, alpha, symbol_norm, right_norm);
  if (!blocked) {
    e *= right_norm;
    NAME(loops_bound)(r->sums->bound, e, f->left, pack->nq);
    return;
  }
  double squares = 0; /* of the keys that the row has seen */
  for (int64_t i = 0; i < pack->nq; i++) {
    squares += (double)f->right[i] * (double)f->right[i];
    r->sums->bound[i] += e * fabs((double)f->left[i]) * sqrt(squares);
  }
}

/* The factors of the current chain from those of the chain without its last element. */
static void NAME(next_factors)(NAME(run) * r) {
  const fft_pack *pack = r->pack;
  int64_t l = r->walk.level, s = r->walk.chain[l - 1];
  const NAME(factors) *from = &r->level[l - 1];
  NAME(factors) *to = &r->level[l];
  NAME(loops_factor)(to->left, from->left, r->queries + pack->a[s] * pack->nq, pack->nq);
  NAME(loops_factor)
  (to->symbol, from->symbol, r->symbols + s * pack->length, pack->length);
  NAME(loops_factor)(to->right, from->right, r->keys + pack->b[s] * pack->nk, pack->nk);
  const double most[3] = {pack->query_max[pack->a[s]], pack->symbol_max[s],
                          pack->key_max[pack->b[s]]};
  for (int n = 0; n < 3; n++) {
    to->most[n] = from->most[n] * most[n] * (1 + 0x1p-20);
    to->lost[n] = from->lost[n] * most[n] * (1 + 0x1p-20) + TINY;
  }
  to->multinomial = toeplitz_walk_multinomial_double(from->multinomial, &r->walk);
}

/* Columns are shared among threads; each adds its terms in the order of the walk. */
static void NAME(walk_sums)(NAME(run) * r) {
  const fft_pack *pack = r->pack;
  int64_t size = r->engine.count ? r->engine.fft[r->engine.count - 1].size : 1, transforms = 0;
  int64_t columns = pack->dv + 1;
#pragma omp parallel reduction(+ : transforms) if (size * columns >= 1 << 16)
  {
    NAME(toeplitz_work) work = {0};
    REAL *x = malloc((size_t)(2 * pack->nk + 4 * FFT_BLOCK + 2 * size) * sizeof *x);
    double *y = malloc((size_t)pack->nk * sizeof *y);
    int ready = x && y && NAME(toeplitz_work_open)(&work, size, NULL) == ATTEST_OK, more = 1;
    if (!ready)
#pragma omp atomic write
      r->failed = 1;
#pragma omp barrier
    while (more && !r->failed) {
#pragma omp single
      {
        if (r->walk.level > 0) NAME(next_factors)(r);
        double alpha = r->p->c[r->walk.level] * r->level[r->walk.level].multinomial;
        NAME(transform_symbol)(r, r->level[r->walk.level].symbol, &work, x);
        NAME(add_bound)(r, alpha);
      }
      double alpha = r->p->c[r->walk.level] * r->level[r->walk.level].multinomial;
#pragma omp for schedule(static)
      for (int64_t c = 0; c < columns; c++)
        transforms += NAME(add_column)(r, c, alpha, &work, x, y);
#pragma omp single copyprivate(more)
      more = toeplitz_walk_next(&r->walk);
    }
    NAME(toeplitz_work_close)(&work);
    free(x);
    free(y);
  }
  r->sums->transforms += transforms;
}

static void NAME(walk_bounds)(NAME(run) * r) {
  do {
    if (r->walk.level > 0) NAME(next_factors)(r);
    NAME(add_bound)(r, r->p->c[r->walk.level] * r->level[r->walk.level].multinomial);
  } while (toeplitz_walk_next(&r->walk));
}

static int NAME(allocate)(NAME(run) * r) {
  const fft_pack *pack = r->pack;
  int64_t a_level = pack->nq + pack->length + pack->nk;
  r->values = malloc((size_t)((pack->dv + 1) * pack->nk + pack->d * (pack->nq + pack->nk) +
                              pack->support * pack->length) *
                     sizeof *r->values);
  int ok = r->values != NULL;
  for (int64_t l = 0; l <= r->p->degree && ok; l++) {
    r->level[l].left = malloc((size_t)a_level * sizeof(REAL));
    ok = r->level[l].left != NULL;
    if (!ok) break;
    r->level[l].symbol = r->level[l].left + pack->nq;
    r->level[l].right = r->level[l].symbol + pack->length;
  }
  return ok;
}

/* What all factors are made of, in the form's type. */
static void NAME(round_pack)(NAME(run) * r) {
  const fft_pack *pack = r->pack;
  r->queries = r->values + (pack->dv + 1) * pack->nk;
  r->keys = r->queries + pack->d * pack->nq;
  r->symbols = r->keys + pack->d * pack->nk;
  NAME(loops_round)(r->values, pack->values, 1, pack->dv * pack->nk);
  for (int64_t j = 0; j < pack->nk; j++)
    r->values[pack->dv * pack->nk + j] = 1;
  NAME(loops_round)(r->queries, pack->queries, pack->factor, pack->d * pack->nq);
  NAME(loops_round)(r->keys, pack->keys, 1, pack->d * pack->nk);
  NAME(loops_round)(r->symbols, pack->symbols, 1, pack->support * pack->length);
}

static void NAME(first_factors)(NAME(run) * r) {
  const fft_pack *pack = r->pack;
  NAME(factors) *f = &r->level[0];
  f->multinomial = 1;
  for (int n = 0; n < 3; n++)
    f->most[n] = 1;
  for (int64_t i = 0; i < pack->nq; i++)
    f->left[i] = 1;
  NAME(toeplitz_mask)(f->symbol, pack->nq, pack->nk, pack->lo, pack->hi);
  for (int64_t j = 0; j < pack->nk; j++)
    f->right[j] = 1;
}

attest_status NAME(fft_sums)(fft_sums *sums, const fft_pack *pack, const fft_polynomial *p,
                             toeplitz_form form, attest_error *error) {
  NAME(run) *r = calloc(1, sizeof *r);
  if (!r) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  r->pack = pack;
  r->p = p;
  r->sums = sums;
  r->form = form;
  attest_status status = NAME(engine_open)(&r->engine, pack, form, error);
  if (!status && !NAME(allocate)(r))
    status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: factors of degree %lld",
                         (long long)p->degree);
  if (!status) {
    NAME(round_pack)(r);
    NAME(first_factors)(r);
    toeplitz_walk_start(&r->walk, pack->support, p->degree);
    (r->sums->sum ? NAME(walk_sums) : NAME(walk_bounds))(r);
    if (r->failed) status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: transforms");
  }
  sums->size = r->engine.count ? r->engine.fft[r->engine.count - 1].size : 0;
  for (int64_t l = 0; l <= p->degree; l++)
    free(r->level[l].left);
  free(r->values);
  NAME(engine_close)(&r->engine);
  free(r);
  return status;
}
