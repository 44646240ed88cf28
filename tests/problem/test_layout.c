/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Layouts: every element of every slice against index arithmetic on the letters of the layout, as
 * NumPy's would be; conventions; shapes that do not match. */
#include "build.h"

enum { B = 2, HQ = 4, HK = 2, NQ = 3, NK = 5, D = 6, DV = 7 };

/* Row-major place of (b, h, n, d) in a tensor whose axes the letters name: b; h; n, s (second
 * letter of a sequence), t or m; d or k. Extents belong to the same letters. */
static int64_t place(const char *letters, int64_t b, int64_t h, int64_t n, int64_t d, int64_t hs,
                     int64_t ns, int64_t ds) {
  int64_t at = 0;
  for (const char *c = letters; *c; c++) {
    if (*c == 'b')
      at = at * B + b;
    else if (*c == 'h')
      at = at * hs + h;
    else if (*c == 'd' || *c == 'k')
      at = at * ds + d;
    else
      at = at * ns + n;
  }
  return at;
}

static attest_tensor laid_out(double *data, const char *letters, int64_t hs, int64_t ns,
                              int64_t ds) {
  int64_t shape[ATTEST_MAX_DIMS];
  int ndim = 0;
  for (const char *c = letters; *c; c++)
    shape[ndim++] = *c == 'b' ? B : *c == 'h' ? hs : *c == 'd' || *c == 'k' ? ds : ns;
  attest_tensor t = attest_tensor_of(data, ATTEST_FLOAT64, ndim, shape);
  for (int64_t i = 0; i < tensor_elements(&t); i++)
    data[i] = (double)i;
  return t;
}

static int has(const char *letters, char letter) {
  return strchr(letters, letter) != NULL;
}

/* Input layout, out-layout (""; the same), axes of lse as given. */
static const struct {
  const char *in, *out, *lse;
} cases[] = {
    {"bhnd", "", "bhn"},     {"bnhd", "", "bnh"},     {"bnhd", "", "bhn"},
    {"bshd", "", "bsh"},     {"bmhk", "", "bhm"},     {"sbhd", "", "sbh"},
    {"sbhd", "", "bhs"},     {"hnd", "", "hn"},       {"nhd", "", "nh"},
    {"nhd", "", "hn"},       {"nd", "", "n"},         {"bhnd", "bnhd", "bnh"},
    {"bhnd", "bnhd", "bhn"}, {"bshd", "bhnd", "bhn"}, {"sbhd", "bnhd", "bnh"},
    {"hnd", "nhd", "nh"},    {"nhd", "hnd", "hn"},
};

static void check_slice(const attest_problem *p, const char *in, const char *out, const char *lse) {
  int64_t heads = has(in, 'h') ? HQ : 1, kheads = has(in, 'h') ? HK : 1;
  for (int64_t s = 0; s < problem_slice_count(p); s++) {
    problem_slice x;
    int64_t index[ATTEST_MAX_DIMS];
    problem_slice_get(&x, p, s);
    int64_t b = s / heads, h = s % heads, hk = h * kheads / heads;
    for (int64_t i = 0; i < NQ; i++)
      for (int64_t c = 0; c < D; c++)
        ck_assert(element(&x.q, i, c) == (double)place(in, b, h, i, c, heads, NQ, D));
    for (int64_t j = 0; j < NK; j++)
      for (int64_t c = 0; c < D; c++)
        ck_assert(element(&x.k, j, c) == (double)place(in, b, hk, j, c, kheads, NK, D));
    for (int64_t j = 0; j < NK; j++)
      for (int64_t c = 0; c < DV; c++)
        ck_assert(element(&x.v, j, c) == (double)place(in, b, hk, j, c, kheads, NK, DV));
    for (int64_t i = 0; i < NQ; i++)
      for (int64_t c = 0; c < DV; c++) {
        int64_t at = place(out, b, h, i, c, heads, NQ, DV), flat = 0;
        ck_assert(element(&x.out, i, c) == (double)at);
        problem_output_index(index, p, &x, OUTPUT_OUT, i, c);
        for (int a = 0; a < p->output[OUTPUT_OUT].ndim; a++)
          flat += index[a] * p->output[OUTPUT_OUT].stride[a];
        ck_assert_int_eq(flat, at);
      }
    for (int64_t i = 0; i < NQ; i++) {
      int64_t at = place(lse, b, h, i, 0, heads, NQ, 1), flat = 0;
      ck_assert(element(&x.lse, i, 0) == (double)at);
      problem_output_index(index, p, &x, OUTPUT_LSE, i, 0);
      for (int a = 0; a < p->output[OUTPUT_LSE].ndim; a++)
        flat += index[a] * p->output[OUTPUT_LSE].stride[a];
      ck_assert_int_eq(flat, at);
    }
  }
}

START_TEST(slices_are_those_of_index_arithmetic) {
  const char *in = cases[_i].in, *out = *cases[_i].out ? cases[_i].out : in;
  int64_t heads = has(in, 'h') ? HQ : 1, kheads = has(in, 'h') ? HK : 1;
  static double q[B * HQ * NQ * D], k[B * HK * NK * D], v[B * HK * NK * DV], o[B * HQ * NQ * DV],
      l[B * HQ * NQ];
  attest_problem *p = new_problem("softmax");
  set(p, "layout", in);
  if (*cases[_i].out) set(p, "out-layout", out);
  input(p, "q", laid_out(q, in, heads, NQ, D));
  input(p, "k", laid_out(k, in, kheads, NK, D));
  input(p, "v", laid_out(v, in, kheads, NK, DV));
  output(p, "out", laid_out(o, out, heads, NQ, DV));
  output(p, "lse", laid_out(l, cases[_i].lse, heads, NQ, 1));
  resolve(p);
  ck_assert_int_eq(problem_slice_count(p), (has(in, 'b') ? B : 1) * heads);
  check_slice(p, in, out, cases[_i].lse);
  for (int which = OUTPUT_OUT; which <= OUTPUT_LSE; which++) {
    int ndim;
    int64_t shape[ATTEST_MAX_DIMS];
    problem_output_shape(&ndim, shape, p, which);
    ck_assert_int_eq(ndim, p->output[which].ndim);
    ck_assert_mem_eq(shape, p->output[which].shape, (size_t)ndim * sizeof shape[0]);
  }
  attest_problem_free(p);
}
END_TEST

START_TEST(default_layout_goes_by_the_number_of_axes) {
  static const char *const names[] = {"nd", "hnd", "bhnd"};
  const int64_t shape[] = {4, 4, 4, 4};
  for (int ndim = 2; ndim <= 4; ndim++) {
    attest_problem *p = on_ones(ndim, shape, shape, shape);
    resolve(p);
    ck_assert_str_eq(in_force(p, "layout"), names[ndim - 2]);
    ck_assert_str_eq(in_force(p, "out-layout"), names[ndim - 2]);
    attest_problem_free(p);
  }
}
END_TEST

/* Strides may be negative, permuted or zero. */
START_TEST(views_are_followed_without_copies) {
  static double data[4 * 3 * 2];
  for (int i = 0; i < 24; i++)
    data[i] = i;
  /* nhd storage (4, 3, 2) seen as hnd, rows backwards. */
  attest_tensor t = {.data = data + 3 * 6,
                     .dtype = ATTEST_FLOAT64,
                     .ndim = 3,
                     .shape = {3, 4, 2},
                     .stride = {2, -6, 1}};
  attest_problem *p = new_problem("softmax");
  input(p, "q", t);
  input(p, "k", t);
  input(p, "v", t);
  resolve(p);
  problem_slice x;
  problem_slice_get(&x, p, 2);
  for (int i = 0; i < 4; i++)
    for (int c = 0; c < 2; c++)
      ck_assert(element(&x.k, i, c) == (3 - i) * 6 + 2 * 2 + c);
  attest_problem_free(p);
}
END_TEST

/* ---- conventions ----------------------------------------------------------------------------- */

static const struct {
  const char *name, *layout4, *out4, *layout3, *out3, *causal;
  int lse_heads_first;
} conventions[] = {
    {"sdpa", "bhnd", "bhnd", "hnd", "hnd", "top-left", 0},
    {"flash-attn", "bnhd", "bnhd", "nhd", "nhd", "bottom-right", 1},
    {"xformers", "bnhd", "bnhd", "nhd", "nhd", "top-left", 1},
    {"fla", "bnhd", "bnhd", "nhd", "nhd", "top-left", 0},
    {"ggml", "bhnd", "bnhd", "hnd", "nhd", "bottom-right", 0},
};

START_TEST(conventions_expand_to_layout_alignment_and_empty_rows) {
  const int64_t q[] = {2, 4, 4, 8}, k[] = {2, 4, 4, 8};
  for (int ndim = 3; ndim <= 4; ndim++) {
    attest_problem *p = on_ones(ndim, q + 4 - ndim, k + 4 - ndim, k + 4 - ndim);
    set(p, "causal", ""); /* bare: the convention aligns */
    set(p, "convention", conventions[_i].name);
    resolve(p);
    ck_assert_str_eq(in_force(p, "convention"), conventions[_i].name);
    ck_assert_str_eq(in_force(p, "layout"),
                     ndim == 4 ? conventions[_i].layout4 : conventions[_i].layout3);
    ck_assert_str_eq(in_force(p, "out-layout"),
                     ndim == 4 ? conventions[_i].out4 : conventions[_i].out3);
    ck_assert_str_eq(in_force(p, "causal"), conventions[_i].causal);
    ck_assert_str_eq(in_force(p, "empty-row"), "zero");
    ck_assert_int_eq(p->lse_heads_first, conventions[_i].lse_heads_first);
    attest_problem_free(p);
  }
}
END_TEST

START_TEST(explicit_values_win_over_the_convention_in_any_order) {
  static const char *const given[][2] = {{"convention", "flash-attn"},
                                         {"layout", "bhnd"},
                                         {"empty-row", "nan"},
                                         {"causal", "top-left"}};
  const int64_t q[] = {2, 4, 3, 8}, k[] = {2, 4, 5, 8};
  for (int first = 0; first < 4; first++) {
    attest_problem *p = on_ones(4, q, k, k);
    for (int i = 0; i < 4; i++)
      set(p, given[(first + i) % 4][0], given[(first + i) % 4][1]);
    resolve(p);
    for (int i = 0; i < 4; i++)
      ck_assert_str_eq(in_force(p, given[i][0]), given[i][1]);
    ck_assert_str_eq(in_force(p, "out-layout"), "bhnd");
    ck_assert_str_eq(in_force(p, "alignment"), "top-left");
    attest_problem_free(p);
  }
}
END_TEST

START_TEST(conventions_preset_eps_where_a_kernel_has_one) {
  problem_kernel kernel = *problem_kernel_find("taylor");
  attest_problem *p = new_problem("softmax");
  p->kernel = &kernel; /* reserved so far: the preset is a matter of the table */
  p->values.convention = CONVENTION_FLA;
  problem_convention_apply(p);
  char *text = problem_real_text(&p->values.eps);
  ck_assert_str_eq(text, "1e-6");
  free(text);
  attest_problem_free(p);
}
END_TEST

/* ---- lse: which axes ------------------------------------------------------------------------- */

START_TEST(lse_with_heads_equal_to_rows_follows_the_layout_or_flash_attention) {
  const int64_t q[] = {2, 4, 4, 8}, lse[] = {2, 4, 4};
  static const char *const names[] = {"", "flash-attn", "xformers", "sdpa"};
  static const int heads_first[] = {0, 1, 1, 0};
  for (int i = 0; i < 4; i++) {
    attest_problem *p = on_ones(4, q, q, q);
    set(p, "layout", "bnhd");
    if (*names[i]) set(p, "convention", names[i]);
    output(p, "lse", ones(3, lse));
    resolve(p);
    ck_assert_int_eq(p->lse_heads_first, heads_first[i]);
    attest_problem_free(p);
  }
}
END_TEST

/* ---- shapes that do not match ---------------------------------------------------------------- */

typedef struct {
  int ndim;
  int64_t q[4], k[4], v[4], out[4];
  const char *layout, *message;
} mismatch;

static const mismatch mismatches[] = {
    {3, {2, 9, 8}, {2, 9, 6}, {2, 9, 8}, {0}, "", "q (2, 9, 8) and k (2, 9, 6) do not match"},
    {3, {2, 9, 8}, {2, 9, 6}, {2, 9, 8}, {0}, "", "the head dimension d is 8 and 6"},
    {3, {2, 9, 8}, {2, 9, 8}, {2, 7, 8}, {0}, "", "the number of keys is 9 and 7"},
    {3, {2, 9, 8}, {2, 9, 8}, {1, 9, 8}, {0}, "", "the number of key heads is 2 and 1"},
    {4, {2, 4, 9, 8}, {3, 4, 9, 8}, {3, 4, 9, 8}, {0}, "", "the batch is 2 and 3"},
    {4, {2, 4, 9, 8}, {2, 4, 9, 8}, {1, 4, 9, 8}, {0}, "", "the batch is 2 and 1"},
    {3, {3, 9, 8}, {2, 9, 8}, {2, 9, 8}, {0}, "", "key heads must divide query heads"},
    {3, {3, 9, 8}, {0, 9, 8}, {0, 9, 8}, {0}, "", "key heads must divide query heads"},
    {3, {2, 9, 0}, {2, 9, 0}, {2, 9, 8}, {0}, "", "d = 0"},
    {3, {2, 9, 8}, {2, 9, 8}, {2, 9, 8}, {2, 5, 8}, "", "out (2, 5, 8) does not match q (2, 9, 8)"},
    {3, {2, 9, 8}, {2, 9, 8}, {2, 9, 4}, {2, 9, 8}, "", "under out-layout hnd it is (2, 9, 4)"},
    {3, {2, 9, 8}, {2, 9, 8}, {2, 9, 8}, {9, 2, 8}, "", "it has the shape of --out-layout nhd"},
    {4, {2, 9, 4, 8}, {2, 5, 2, 8}, {2, 5, 2, 8}, {0}, "", "they match under --layout bnhd"},
    {4, {9, 2, 4, 8}, {5, 2, 2, 8}, {5, 2, 2, 8}, {0}, "", "they match under --layout sbhd"},
    {3, {2, 9, 8}, {2, 9, 8}, {2, 9, 8}, {0}, "bhnd", "q (2, 9, 8) has 3 axes, layout bhnd has 4"},
    {3, {2, 9, 8}, {2, 9, 8}, {2, 9, 8}, {0}, "thd", "needs cu-seqlens-q"},
};

START_TEST(shapes_that_do_not_match_are_named_with_a_remedy) {
  const mismatch *m = &mismatches[_i];
  attest_problem *p = on_ones(m->ndim, m->q, m->k, m->v);
  if (*m->layout) set(p, "layout", m->layout);
  if (m->out[0]) output(p, "out", ones(m->ndim, m->out));
  refuse(p, ATTEST_ERR_INPUT, m->message);
  attest_problem_free(p);
}
END_TEST

START_TEST(inputs_with_different_numbers_of_axes_or_none_are_refused) {
  attest_problem *p = new_problem("softmax");
  refuse(p, ATTEST_ERR_INPUT, "q is missing");
  input(p, "q", ones(SHAPE(2, 9, 8)));
  refuse(p, ATTEST_ERR_INPUT, "k is missing");
  input(p, "k", ones(SHAPE(9, 8)));
  input(p, "v", ones(SHAPE(2, 9, 8)));
  refuse(p, ATTEST_ERR_INPUT, "k (9, 8) has 2 axes, layout hnd has 3");
  input(p, "q", ones(SHAPE(8)));
  refuse(p, ATTEST_ERR_INPUT, "q (8,) has 1 axes");
  attest_problem_free(p);
  p = on_ones(SHAPE(2, 9, 8), (const int64_t[]){2, 9, 8}, (const int64_t[]){2, 9, 8});
  set(p, "out-layout", "bnhd");
  refuse(p, ATTEST_ERR_INPUT, "do not have the same axes");
  attest_problem_free(p);
  p = on_ones(SHAPE(2, 9, 8), (const int64_t[]){2, 9, 8}, (const int64_t[]){2, 9, 8});
  output(p, "lse", ones(SHAPE(2, 9, 1)));
  refuse(p, ATTEST_ERR_INPUT, "lse (2, 9, 1) does not match");
  attest_problem_free(p);
}
END_TEST

void test_layout(Suite *suite) {
  TCase *tc = tcase_create("layout");
  tcase_add_loop_test(tc, slices_are_those_of_index_arithmetic, 0, sizeof cases / sizeof cases[0]);
  tcase_add_test(tc, default_layout_goes_by_the_number_of_axes);
  tcase_add_test(tc, views_are_followed_without_copies);
  tcase_add_loop_test(tc, conventions_expand_to_layout_alignment_and_empty_rows, 0,
                      sizeof conventions / sizeof conventions[0]);
  tcase_add_test(tc, explicit_values_win_over_the_convention_in_any_order);
  tcase_add_test(tc, conventions_preset_eps_where_a_kernel_has_one);
  tcase_add_test(tc, lse_with_heads_equal_to_rows_follows_the_layout_or_flash_attention);
  tcase_add_loop_test(tc, shapes_that_do_not_match_are_named_with_a_remedy, 0,
                      sizeof mismatches / sizeof mismatches[0]);
  tcase_add_test(tc, inputs_with_different_numbers_of_axes_or_none_are_refused);
  suite_add_tcase(suite, tc);
}
