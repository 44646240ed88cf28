/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The map from certificates to theorems: what it names is in proofs/, and what it lacks is derived.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/certify/statements.h"
#include "../../src/certify/theorems.h"
#include "../tests.h"

static int file_states(const char *path, const char *theorem) {
  char line[4096], wanted[256];
  int found = 0;
  snprintf(wanted, sizeof wanted, "(** theorem: %s \xe2\x80\x94 ", theorem);
  FILE *f = fopen(path, "r");
  ck_assert_ptr_nonnull(f);
  while (!found && fgets(line, sizeof line, f))
    found = strstr(line, wanted) != NULL;
  fclose(f);
  return found;
}

static int proofs_state(const char *theorem) {
  glob_t files;
  int found = 0;
  ck_assert_int_eq(glob("proofs/*/*.v", 0, NULL, &files), 0);
  for (size_t i = 0; i < files.gl_pathc && !found; i++)
    found = file_states(files.gl_pathv[i], theorem);
  globfree(&files);
  return found;
}

START_TEST(every_theorem_of_the_map_is_stated_in_the_proofs) {
  ck_assert(!proofs_state("no_such_theorem"));
  for (size_t i = 0; i < certify_theorems.count; i++)
    ck_assert_msg(proofs_state(certify_theorems.links[i].theorem), "%s is not in proofs/",
                  certify_theorems.links[i].theorem);
}
END_TEST

static int is_statement(const theorem_link *link) {
  for (size_t i = 0; i < certify_statement_count(); i++) {
    const problem_statement *s = certify_statement(i);
    if (!strcmp(s->kernel, link->kernel) && !strcmp(s->name, link->of)) return 1;
  }
  return 0;
}

START_TEST(every_statement_of_the_map_is_made) {
  for (size_t i = 0; i < certify_theorems.count; i++)
    if (!strstr(certify_theorems.links[i].of, "_radius"))
      ck_assert_msg(is_statement(&certify_theorems.links[i]), "nothing states %s",
                    certify_theorems.links[i].of);
}
END_TEST

static void assert_basis(const char *got, const char *word, const char *name) {
  char wanted[THEOREM_BASIS];
  snprintf(wanted, sizeof wanted, "%s(%s)", word, name);
  ck_assert_str_eq(got, wanted);
}

START_TEST(a_statement_without_its_theorem_falls_to_derived) {
  for (size_t i = 0; i < certify_theorems.count; i++) {
    theorem_link kept[64];
    const theorem_link *link = &certify_theorems.links[i];
    if (!is_statement(link)) continue;
    char facts[64], basis[THEOREM_BASIS];
    snprintf(facts, sizeof facts, "%sx=1", link->part ? link->part : "");
    statement_finding finding = {ATTEST_CERTIFIED, link->kernel, link->of, "rationals", facts};
    theorem_statement_basis(basis, &certify_theorems, &finding);
    assert_basis(basis, "proved", link->theorem);

    theorem_map map = {kept, 0};
    ck_assert_uint_le(certify_theorems.count, 64);
    for (size_t k = 0; k < certify_theorems.count; k++)
      if (k != i) kept[map.count++] = certify_theorems.links[k];
    assert_basis(theorem_statement_basis(basis, &map, &finding), "derived", "rationals");
  }
}
END_TEST

START_TEST(an_output_is_proved_only_where_the_theorem_covers_it) {
  const theorem_link link = {
      "softmax",  "softmax_radius", "out", "softcap bias backward", "t=1 scale=sqrt(1/2)",
      "a_theorem"};
  const theorem_map map = {&link, 1}, none = {&link, 0};
  char kernel[] = "softmax", analysis[] = "softmax_radius", scale[] = "scale", cap[] = "softcap";
  char longer[] = "softcap-of", q[] = "q", bias[] = "bias", other[] = "rope-softmax";
  char root[] = "sqrt(1/2)", third[] = "1/3", longer_root[] = "sqrt(1/2)0",
       part_of_it[] = "sqrt(1/";
  char *params[] = {scale}, *texts[] = {root};
  certify_input inputs[] = {{.name = q}};
  certify_case c = {.kernel = kernel,
                    .theorem = analysis,
                    .param_names = params,
                    .param_texts = texts,
                    .param_count = 1,
                    .inputs = inputs,
                    .input_count = 1};
  certify_output o = {.output = OUTPUT_OUT, .dtype = ATTEST_FLOAT32};
  char basis[THEOREM_BASIS];
#define EXPECT(word, name) assert_basis(theorem_output_basis(basis, &map, &c, &o), word, name)
  EXPECT("proved", "a_theorem");
  assert_basis(theorem_output_basis(basis, &none, &c, &o), "derived", "softmax_radius");
  char *others[] = {third, longer_root, part_of_it};
  for (int i = 0; i < 3; i++) {
    texts[0] = others[i];
    EXPECT("derived", "softmax_radius");
  }
  texts[0] = root;
  params[0] = longer;
  EXPECT("proved", "a_theorem");
  params[0] = cap;
  EXPECT("derived", "softmax_radius");
  params[0] = scale;
  inputs[0].name = bias;
  EXPECT("derived", "softmax_radius");
  inputs[0].name = q;
  o.dtype = ATTEST_FLOAT64;
  EXPECT("derived", "softmax_radius");
  o.dtype = ATTEST_BFLOAT16;
  certify_bound_verdict bounds[] = {{.measure = MEASURE_ROW}, {.measure = MEASURE_BACKWARD}};
  o.bounds = bounds;
  o.bound_count = 2;
  EXPECT("derived", "softmax_radius");
  o.bound_count = 1;
  EXPECT("proved", "a_theorem");
  o.output = OUTPUT_LSE;
  EXPECT("derived", "softmax_radius");
  o.output = OUTPUT_OUT;
  c.kernel = other;
  EXPECT("derived", "softmax_radius");
#undef EXPECT
}
END_TEST

/* A kernel, one parameter and its value, one input, one measure, and the basis of an output:
 * derived once the map has lost the theorem. */
START_TEST(the_map_proves_outputs_where_its_theorems_cover_the_case) {
  static const struct {
    const char *kernel, *analysis, *param, *text, *input;
    int measure, output;
    const char *basis;
  } cases[] = {
      {"softmax", "softmax_radius", "scale", "1/7", "q", MEASURE_ROW, OUTPUT_OUT,
       "proved(softmax_radius)"},
      {"softmax", "softmax_radius", "temperature", "2.5", "bias", MEASURE_ULP, OUTPUT_OUT,
       "proved(softmax_radius)"},
      {"softmax", "softmax_radius", "causal", "top-left", "sinks", MEASURE_ABS, OUTPUT_OUT,
       "proved(softmax_radius)"},
      {"softmax", "softmax_radius", "subnormals", "ieee", "mask", MEASURE_REL, OUTPUT_OUT,
       "proved(softmax_radius)"},
      {"softmax", "softmax_radius", "subnormals", "flush", "q", MEASURE_REL, OUTPUT_OUT,
       "derived(softmax_radius)"},
      {"softmax", "softmax_radius", "nonfinite", "error", "q", MEASURE_REL, OUTPUT_OUT,
       "proved(softmax_radius)"},
      {"softmax", "softmax_radius", "nonfinite", "ieee", "q", MEASURE_REL, OUTPUT_OUT,
       "derived(softmax_radius)"},
      {"softmax", "softmax_radius", "nonfinite", "ieee", "q", MEASURE_REL, OUTPUT_LSE,
       "derived(softmax_radius)"},
      {"softmax", "softmax_radius", "softcap", "30", "q", MEASURE_ROW, OUTPUT_OUT,
       "proved(softmax_radius)"},
      {"softmax", "softmax_radius", "scale", "1/7", "q", MEASURE_BACKWARD, OUTPUT_OUT,
       "proved(softmax_radius)"},
      {"softmax", "softmax_radius", "scale", "1/7", "q", MEASURE_THEORY, OUTPUT_OUT,
       "derived(softmax_radius)"},
      {"softmax", "softmax_radius", "lse-base", "e", "sinks", MEASURE_ABS, OUTPUT_LSE,
       "proved(softmax_lse)"},
      {"softmax", "softmax_radius", "softcap", "sqrt(2)", "q", MEASURE_ABS, OUTPUT_LSE,
       "proved(softmax_lse)"},
      {"softmax", "softmax_radius", "softcap", "30", "q", MEASURE_BACKWARD, OUTPUT_OUT,
       "derived(softmax_radius)"},
      {"softmax", "softmax_radius", "lse-base", "2", "q", MEASURE_ABS, OUTPUT_LSE,
       "proved(softmax_lse_base2)"},
      {"softmax", "softmax_radius", "lse-base", "2", "q", MEASURE_THEORY, OUTPUT_LSE,
       "derived(softmax_radius)"},
      {"softmax", "softmax_radius", "scale", "1/7", "q", MEASURE_BACKWARD, OUTPUT_LSE,
       "proved(softmax_lse)"},
      {"softmax", "softmax_radius", "lse-base", "2", "q", MEASURE_BACKWARD, OUTPUT_LSE,
       "derived(softmax_radius)"},
      {"softmax", "softmax_radius", "scale", "1/7", "q", MEASURE_THEORY, OUTPUT_LSE,
       "derived(softmax_radius)"},
      {"epanechnikov", "sparse_radius", "bandwidth", "2", "q", MEASURE_ROW, OUTPUT_OUT,
       "proved(compact_radius)"},
      {"biweight", "sparse_radius", "causal", "top-left", "mask", MEASURE_ULP, OUTPUT_OUT,
       "proved(compact_radius)"},
      {"triweight", "sparse_radius", "empty-row", "nan", "q", MEASURE_ABS, OUTPUT_OUT,
       "proved(compact_radius)"},
      {"triweight", "sparse_radius", "bandwidth", "2", "q", MEASURE_BACKWARD, OUTPUT_OUT,
       "derived(sparse_radius)"},
      {"normrelu", "sparse_radius", "scale", "1/7", "bias", MEASURE_ROW, OUTPUT_OUT,
       "proved(normrelu_radius)"},
      {"normrelu", "sparse_radius", "softcap", "30", "q", MEASURE_ROW, OUTPUT_OUT,
       "derived(sparse_radius)"},
      {"relumax", "sparse_radius", "margin", "1/3", "q", MEASURE_REL, OUTPUT_OUT,
       "proved(relumax_radius)"},
      {"relumax", "sparse_radius", "margin", "1/3", "q", MEASURE_THEORY, OUTPUT_OUT,
       "derived(sparse_radius)"},
      {"sparsemax", "sparse_radius", "temperature", "2.5", "bias", MEASURE_ROW, OUTPUT_OUT,
       "proved(entmax_radius)"},
      {"sparsemax", "sparse_radius", "subnormals", "flush", "q", MEASURE_ROW, OUTPUT_OUT,
       "derived(sparse_radius)"},
      {"entmax", "sparse_radius", "scale", "1/7", "q", MEASURE_ROW, OUTPUT_OUT,
       "proved(entmax_radius)"},
      {"entmax", "sparse_radius", "alpha", "3/2", "q", MEASURE_ROW, OUTPUT_OUT,
       "proved(entmax_radius)"},
      {"entmax", "sparse_radius", "alpha", "4", "q", MEASURE_ROW, OUTPUT_OUT,
       "proved(entmax_radius)"},
      {"entmax", "sparse_radius", "alpha", "1", "q", MEASURE_ROW, OUTPUT_OUT,
       "derived(sparse_radius)"},
      {"entmax", "sparse_radius", "alpha", "1.0", "q", MEASURE_ROW, OUTPUT_OUT,
       "derived(sparse_radius)"},
      {"entmax", "sparse_radius", "alpha", "1.5e0", "q", MEASURE_ROW, OUTPUT_OUT,
       "proved(entmax_radius)"},
      {"entmax", "sparse_radius", "alpha", "17/13", "q", MEASURE_ROW, OUTPUT_OUT,
       "proved(entmax_radius)"},
      {"entmax", "sparse_radius", "alpha", "1.00001", "q", MEASURE_ROW, OUTPUT_OUT,
       "derived(sparse_radius)"},
      {"entmax", "sparse_radius", "alpha", "10001", "q", MEASURE_ROW, OUTPUT_OUT,
       "derived(sparse_radius)"},
      {"gaussian", "sparse_radius", "bandwidth", "2", "q", MEASURE_ROW, OUTPUT_OUT,
       "proved(gaussian_radius)"},
      {"gaussian", "sparse_radius", "bandwidth", "2", "q", MEASURE_THEORY, OUTPUT_OUT,
       "derived(sparse_radius)"},
      {"topk-softmax", "sparse_radius", "topk", "2", "q", MEASURE_ROW, OUTPUT_OUT,
       "derived(sparse_radius)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char kernel[16], analysis[16], param[16], text[16], input[16];
    char *params[] = {param}, *texts[] = {text}, basis[THEOREM_BASIS];
    snprintf(kernel, sizeof kernel, "%s", cases[i].kernel);
    snprintf(analysis, sizeof analysis, "%s", cases[i].analysis);
    snprintf(param, sizeof param, "%s", cases[i].param);
    snprintf(text, sizeof text, "%s", cases[i].text);
    snprintf(input, sizeof input, "%s", cases[i].input);
    certify_input inputs[] = {{.name = input}};
    certify_bound_verdict bounds[] = {{.measure = cases[i].measure}};
    certify_case c = {.kernel = kernel,
                      .theorem = analysis,
                      .param_names = params,
                      .param_texts = texts,
                      .param_count = 1,
                      .inputs = inputs,
                      .input_count = 1};
    certify_output o = {
        .output = cases[i].output, .dtype = ATTEST_FLOAT32, .bounds = bounds, .bound_count = 1};
    theorem_output_basis(basis, &certify_theorems, &c, &o);
    ck_assert_str_eq(basis, cases[i].basis);
    if (cases[i].measure == MEASURE_BACKWARD) {
      char searched[THEOREM_BASIS];
      o.has_explicit = 1;
      assert_basis(theorem_output_basis(searched, &certify_theorems, &c, &o), "derived", analysis);
      o.has_explicit = 0;
    }

    theorem_link kept[64];
    theorem_map without = {kept, 0};
    ck_assert_uint_le(certify_theorems.count, 64);
    for (size_t k = 0; k < certify_theorems.count; k++)
      if (!strstr(basis, certify_theorems.links[k].theorem))
        kept[without.count++] = certify_theorems.links[k];
    assert_basis(theorem_output_basis(basis, &without, &c, &o), "derived", analysis);
  }
}
END_TEST

START_TEST(a_sweep_is_proved_where_its_enclosure_is) {
  const theorem_link link = {"exp", "sweep_radius", NULL, NULL, NULL, "a_theorem"};
  const theorem_map map = {&link, 1}, none = {&link, 0};
  char basis[THEOREM_BASIS];
  assert_basis(theorem_sweep_basis(basis, &map, "exp"), "proved", "a_theorem");
  assert_basis(theorem_sweep_basis(basis, &none, "exp"), "derived", "sweep_radius");
  static const char *proved[][2] = {{"exp", "sweep_exp"},
                                    {"gaussian", "sweep_gaussian"},
                                    {"exp2", "sweep_exp2"},
                                    {"expm1", "sweep_expm1"},
                                    {"tanh", "sweep_tanh"},
                                    {"sigmoid", "sweep_sigmoid"},
                                    {"silu", "sweep_silu"},
                                    {"sin", "sweep_sin"},
                                    {"cos", "sweep_cos"},
                                    {"rope-sin", "sweep_rope_sin"},
                                    {"rope-cos", "sweep_rope_cos"},
                                    {"log", "sweep_log"},
                                    {"log2", "sweep_log"},
                                    {"log1p", "sweep_log1p"},
                                    {"sqrt", "sweep_sqrt"},
                                    {"rsqrt", "sweep_reciprocal"},
                                    {"reciprocal", "sweep_reciprocal"},
                                    {"taylor0", "sweep_taylor"},
                                    {"taylor8", "sweep_taylor"},
                                    {"epanechnikov", "sweep_profile"},
                                    {"triweight", "sweep_profile"}};
  for (size_t i = 0; i < sizeof proved / sizeof *proved; i++)
    assert_basis(theorem_sweep_basis(basis, &certify_theorems, proved[i][0]), "proved",
                 proved[i][1]);
  assert_basis(theorem_sweep_basis(basis, &certify_theorems, "arctan"), "derived", "sweep_radius");
}
END_TEST

void test_theorems(Suite *suite) {
  TCase *t = tcase_create("theorems");
  tcase_add_test(t, every_theorem_of_the_map_is_stated_in_the_proofs);
  tcase_add_test(t, every_statement_of_the_map_is_made);
  tcase_add_test(t, a_statement_without_its_theorem_falls_to_derived);
  tcase_add_test(t, an_output_is_proved_only_where_the_theorem_covers_it);
  tcase_add_test(t, the_map_proves_outputs_where_its_theorems_cover_the_case);
  tcase_add_test(t, a_sweep_is_proved_where_its_enclosure_is);
  suite_add_tcase(suite, t);
}
