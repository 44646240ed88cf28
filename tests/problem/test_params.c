/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table of parameters: names, aliases, domains, kernels, conventions, help. */
#include "build.h"

/* ---- names ----------------------------------------------------------------------------------- */

START_TEST(dashes_and_underscores_are_alike_and_nothing_is_abbreviated) {
  static const char *const known[][2] = {{"scale", "scale"},
                                         {"softmax_scale", "scale"},
                                         {"softmax-scale", "scale"},
                                         {"sm_scale", "scale"},
                                         {"is_causal", "causal"},
                                         {"window_size", "window"},
                                         {"sliding_window", "sliding-window"},
                                         {"logits_soft_cap", "softcap"},
                                         {"attn_mask", "mask"},
                                         {"cu_seqlens_q", "cu-seqlens-q"},
                                         {"rope_base", "rope-base"}};
  static const char *const unknown[] = {
      "scal",          "caus",        "", "-", "scale ", "Scale", "window-", "attn", "softmax",
      "scale-softmax", "is-causal sm"};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    ck_assert_str_eq(problem_param_find(known[i][0], NULL)->name, known[i][1]);
  for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
    ck_assert_msg(!problem_param_find(unknown[i], NULL), "'%s' was found", unknown[i]);
}
END_TEST

START_TEST(only_is_causal_implies_a_value_and_only_causal_may_stand_bare) {
  for (size_t i = 0; i < problem_param_count; i++) {
    const char *implied = "x";
    ck_assert_ptr_eq(problem_param_find(problem_params[i].name, &implied), &problem_params[i]);
    ck_assert_ptr_null(implied);
    ck_assert_int_eq(problem_params[i].bare, !strcmp(problem_params[i].name, "causal"));
  }
  const char *implied;
  problem_param_find("is_causal", &implied);
  ck_assert_str_eq(implied, "top-left");
}
END_TEST

START_TEST(no_name_or_alias_stands_twice) {
  for (size_t i = 0; i < problem_param_count; i++)
    for (int a = 0; *problem_params[i].aliases; a++) {
      char *alias = problem_word_at(problem_params[i].aliases, ' ', a);
      if (!alias) break;
      ck_assert_ptr_eq(problem_param_find(alias, NULL), &problem_params[i]);
      free(alias);
    }
}
END_TEST

/* ---- values ---------------------------------------------------------------------------------- */

/* Every parameter on a kernel that takes it: a legal text and its canonical form. The kernels that
 * are not built yet are tested through the table. */
static const struct {
  const char *name, *text, *canonical;
} legal[] = {{"scale", "0.125", "1/8"},
             {"scale", "0", "0"},
             {"scale", "-2", "-2"},
             {"scale", "sqrt(1/8)", "sqrt(1/8)"},
             {"causal", "top_left", "top-left"},
             {"causal", "bottom-right", "bottom-right"},
             {"causal", "none", "none"},
             {"alignment", "bottom-right", "bottom-right"},
             {"window", "4,0", "4,0"},
             {"window", "-1,-1", "-1,-1"},
             {"sliding-window", "4", "4"},
             {"softcap", "50.0", "50"},
             {"lse-base", "2", "2"},
             {"lse-base", "e", "e"},
             {"degree", "0", "0"},
             {"form", "chunked", "chunked"},
             {"chunk", "128", "128"},
             {"normalize", "none", "none"},
             {"eps", "1e-6", "1e-6"},
             {"eps", "0", "0"},
             {"decay", "1", "1"},
             {"decay", "0x1.fp-1", "31/32"},
             {"alpha", "1", "1"},
             {"alpha", "4/3", "4/3"},
             {"temperature", "sqrt(2)", "sqrt(2)"},
             {"bandwidth", "3/2", "3/2"},
             {"margin", "1", "1"},
             {"topk", "3", "3"},
             {"rope-base", "10000", "1e4"},
             {"rope-pairs", "half", "half"},
             {"feature", "elu1", "elu1"},
             {"layout", "bhnd", "bhnd"},
             {"layout", "bshd", "bnhd"},
             {"layout", "bmhk", "bnhd"},
             {"layout", "thd", "thd"},
             {"out-layout", "bshd", "bnhd"},
             {"empty-row", "nan", "nan"},
             {"nonfinite", "ieee", "ieee"},
             {"subnormals", "flush", "flush"},
             {"ties", "highest", "highest"},
             {"convention", "flash_attn", "flash-attn"}};

START_TEST(legal_values_are_read_and_written_canonically) {
  problem_values values;
  problem_values_init(&values);
  const problem_param *param = problem_param_find(legal[_i].name, NULL);
  ck_assert_int_eq(problem_param_parse(&values, param, legal[_i].text), 0);
  char *text = problem_param_text(&values, param);
  ck_assert_str_eq(text, legal[_i].canonical);
  free(text);
  problem_values_clear(&values);
}
END_TEST

static const struct {
  const char *name, *text, *legal;
} illegal[] = {{"scale", "nan", "finite number"},
               {"scale", "", "finite number"},
               {"causal", "left", "top-left|bottom-right"},
               {"alignment", "none", "top-left|bottom-right"},
               {"window", "4", "L,R"},
               {"window", "-2,0", ">= -1"},
               {"window", "1,2,3", "L,R"},
               {"window", "1.5,0", "L,R"},
               {"window", " 1,0", "L,R"},
               {"window", "99999999999999999999,0", "L,R"},
               {"sliding-window", "0", ">= 1"},
               {"sliding-window", "-4", ">= 1"},
               {"softcap", "0.0", "> 0"},
               {"softcap", "-5.0", "> 0"},
               {"softcap", "inf", "> 0"},
               {"softcap", "nan", "leave it out"},
               {"lse-base", "10", "e|2"},
               {"degree", "-1", ">= 0"},
               {"degree", "2.5", ">= 0"},
               {"chunk", "0", ">= 1"},
               {"eps", "-1e-9", ">= 0"},
               {"decay", "0", "> 0"},
               {"decay", "1.0000001", "<= 1"},
               {"alpha", "0.5", ">= 1"},
               {"alpha", "sqrt(0.99)", ">= 1"},
               {"temperature", "0", "> 0"},
               {"temperature", "-1", "> 0"},
               {"bandwidth", "0", "> 0"},
               {"margin", "-1", "> 0"},
               {"topk", "0", ">= 1"},
               {"rope-base", "0", "> 0"},
               {"rope-pairs", "inter", "interleaved|half"},
               {"layout", "bhdn", "bhnd|bnhd"},
               {"layout", "", "bhnd|bnhd"},
               {"empty-row", "0", "zero|nan|error"},
               {"ties", "random", "lowest|highest"},
               {"convention", "flash", "sdpa|flash-attn"}};

START_TEST(values_outside_their_domain_are_refused_with_what_is_legal) {
  problem_values values;
  problem_values_init(&values);
  const problem_param *param = problem_param_find(illegal[_i].name, NULL);
  ck_assert_int_eq(problem_param_parse(&values, param, illegal[_i].text), -1);
  ck_assert_msg(strstr(problem_param_legal(param), illegal[_i].legal) != NULL, "%s",
                problem_param_legal(param));
  problem_values_clear(&values);
  attest_problem *problem = new_problem("softmax");
  attest_error error = {0};
  if (problem_kernel_takes(problem->kernel, param)) {
    ck_assert_int_eq(attest_problem_set(problem, illegal[_i].name, illegal[_i].text, &error),
                     !strcmp(illegal[_i].text, "") && param->bare ? ATTEST_OK : ATTEST_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(error.message, param->name));
    ck_assert_ptr_nonnull(strstr(error.message, illegal[_i].text));
    ck_assert_ptr_nonnull(strstr(error.message, illegal[_i].legal));
  }
  attest_problem_free(problem);
}
END_TEST

START_TEST(setting_twice_is_an_error_unless_the_values_agree) {
  attest_problem *problem = new_problem("softmax");
  attest_error error = {0};
  set(problem, "scale", "1/8");
  set(problem, "softmax_scale", "0.125");
  set(problem, "sm-scale", "sqrt(1/64)");
  ck_assert_int_eq(attest_problem_set(problem, "scale", "0.1", &error), ATTEST_ERR_INPUT);
  ck_assert_ptr_nonnull(strstr(error.message, "set twice, to '1/8' and to '1/10'"));
  set(problem, "is_causal", "");
  set(problem, "is_causal", "true");
  set(problem, "causal", "top-left");
  ck_assert_int_eq(attest_problem_set(problem, "causal", "bottom-right", &error), ATTEST_ERR_INPUT);
  ck_assert_int_eq(attest_problem_set(problem, "causal", "", &error), ATTEST_ERR_INPUT);
  set(problem, "window", "3,0");
  set(problem, "sliding-window", "5");
  input(problem, "q", ones(SHAPE(4, 8)));
  input(problem, "k", ones(SHAPE(4, 8)));
  input(problem, "v", ones(SHAPE(4, 8)));
  refuse(problem, ATTEST_ERR_INPUT, "window is 3,0 and sliding-window 5 means 4,0");
  attest_problem_free(problem);
}
END_TEST

START_TEST(causal_words_of_plans) {
  static const char *const words[][3] = {{"is-causal", "true", "top-left"},
                                         {"is-causal", "false", "none"},
                                         {"is_causal", "1", "top-left"},
                                         {"is_causal", "0", "none"},
                                         {"causal", "true", ""},
                                         {"causal", "false", "none"},
                                         {"causal", "", ""},
                                         {"is-causal", "top-left", "top-left"}};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    attest_problem *problem = new_problem("softmax");
    set(problem, words[i][0], words[i][1]);
    ck_assert_str_eq(problem->texts[problem_param_index("causal")], words[i][2]);
    attest_problem_free(problem);
  }
}
END_TEST

/* ---- kernels --------------------------------------------------------------------------------- */

START_TEST(all_seventeen_kernels_are_listed_with_known_parameters) {
  static const char *const names[] = {
      "softmax",      "gaussian",     "taylor",      "linear",       "epanechnikov", "biweight",
      "triweight",    "uniform",      "sparsemax",   "entmax",       "normrelu",     "relumax",
      "topk-softmax", "topk-uniform", "rope-linear", "rope-softmax", "toeplitz"};
  ck_assert_uint_eq(problem_kernel_count, 17);
  for (size_t i = 0; i < 17; i++) {
    const problem_kernel *kernel = problem_kernel_find(names[i]);
    ck_assert_ptr_nonnull(kernel);
    for (int w = 0;; w++) {
      char *word = problem_word_at(kernel->params, ' ', w);
      if (!word) break;
      word[strcspn(word, "=")] = 0;
      ck_assert_msg(problem_param_find(word, NULL), "%s lists '%s'", names[i], word);
      free(word);
    }
    for (int w = 0;; w++) {
      char *word = problem_word_at(kernel->outputs, ' ', w);
      if (!word) break;
      ck_assert_int_ge(problem_output_find(word), 0);
      free(word);
    }
  }
  ck_assert_ptr_eq(problem_kernel_find("topk_softmax"), problem_kernel_find("topk-softmax"));
  ck_assert_ptr_null(problem_kernel_find("soft"));
}
END_TEST

START_TEST(every_parameter_is_taken_by_some_kernel) {
  for (size_t i = 0; i < problem_param_count; i++) {
    int taken = 0;
    for (size_t k = 0; k < problem_kernel_count; k++)
      taken += problem_kernel_takes(&problem_kernels[k], &problem_params[i]);
    ck_assert_msg(taken, "%s", problem_params[i].name);
  }
}
END_TEST

START_TEST(unknown_and_unbuilt_kernels_are_told_apart) {
  attest_error error = {0};
  ck_assert_ptr_null(attest_problem_new("sofmax", &error));
  ck_assert_int_eq(error.status, ATTEST_ERR_INPUT);
  ck_assert_ptr_nonnull(strstr(error.message, "'sofmax'"));
  ck_assert_ptr_nonnull(strstr(error.message, "rope-softmax"));
  for (size_t i = 0; i < problem_kernel_count; i++) {
    const problem_kernel *kernel = &problem_kernels[i];
    attest_problem *problem = attest_problem_new(kernel->name, &error);
    ck_assert_int_eq(problem != NULL, kernel->built);
    if (!problem) {
      ck_assert_int_eq(error.status, ATTEST_ERR_SUPPORT);
      ck_assert_ptr_nonnull(strstr(error.message, kernel->name));
      ck_assert_ptr_nonnull(strstr(error.message, "is not available in this version"));
    }
    attest_problem_free(problem);
  }
}
END_TEST

START_TEST(a_parameter_without_meaning_names_the_kernels_that_take_it) {
  attest_problem *problem = new_problem("softmax");
  attest_error error = {0};
  ck_assert_int_eq(attest_problem_set(problem, "alpha", "3/2", &error), ATTEST_ERR_SUPPORT);
  ck_assert_ptr_nonnull(
      strstr(error.message, "kernel softmax does not take alpha; the kernels that do: entmax"));
  ck_assert_int_eq(attest_problem_set(problem, "topk", "3", &error), ATTEST_ERR_SUPPORT);
  ck_assert_ptr_nonnull(strstr(error.message, "topk-softmax topk-uniform"));
  attest_tensor w = ones(SHAPE(3, 2, 2));
  ck_assert_int_eq(attest_problem_input(problem, "weights", &w, &error), ATTEST_ERR_SUPPORT);
  ck_assert_ptr_nonnull(strstr(error.message, "toeplitz"));
  ck_assert_int_eq(attest_problem_set(problem, "bias", "x.npy", &error), ATTEST_ERR_INPUT);
  ck_assert_ptr_nonnull(strstr(error.message, "bias is a tensor"));
  ck_assert_int_eq(attest_problem_set(problem, "frobnicate", "1", &error), ATTEST_ERR_INPUT);
  ck_assert_ptr_nonnull(strstr(error.message, "unknown parameter 'frobnicate'"));
  attest_problem_free(problem);
}
END_TEST

START_TEST(distance_kernels_take_no_scale_but_one) {
  static const char *const names[] = {"gaussian", "epanechnikov", "biweight", "triweight",
                                      "uniform"};
  static const char *const refused[] = {"softcap", "bias", "alibi-slopes", "temperature"};
  const problem_param *scale = problem_param_find("scale", NULL);
  attest_error error = {0};
  for (size_t i = 0; i < 5; i++) {
    const problem_kernel *kernel = problem_kernel_find(names[i]);
    ck_assert_int_eq(problem_kernel_accepts(kernel, scale, "1", &error), ATTEST_OK);
    ck_assert_int_eq(problem_kernel_accepts(kernel, scale, "1/8", &error), ATTEST_ERR_SUPPORT);
    ck_assert_ptr_nonnull(strstr(error.message, "takes scale only as 1"));
    ck_assert_int_eq(problem_kernel_accepts(kernel, scale, "1e10", &error), ATTEST_ERR_SUPPORT);
    for (size_t j = 0; j < 4; j++)
      ck_assert_int_eq(
          problem_kernel_accepts(kernel, problem_param_find(refused[j], NULL), "5", &error),
          ATTEST_ERR_SUPPORT);
  }
}
END_TEST

/* ---- help and fuzz --------------------------------------------------------------------------- */

START_TEST(help_has_every_flag_and_alias_of_the_kernel_and_no_other) {
  char *all = problem_help(NULL), *softmax = problem_help(problem_kernel_find("softmax"));
  char flag[64];
  for (size_t i = 0; i < problem_param_count; i++) {
    snprintf(flag, sizeof flag, "  --%s ", problem_params[i].name);
    ck_assert_ptr_nonnull(strstr(all, flag));
    int taken = problem_kernel_takes(problem_kernel_find("softmax"), &problem_params[i]);
    ck_assert_int_eq(strstr(softmax, flag) != NULL, taken);
  }
  ck_assert_ptr_nonnull(strstr(all, "--softmax-scale, --sm-scale"));
  for (const char *line = softmax; *line; line += strcspn(line, "\n") + 1)
    ck_assert_uint_le(strcspn(line, "\n"), 90);
  free(all);
  free(softmax);
}
END_TEST

/* Random texts, some of them pieces of legal ones, never crash, and what is accepted is accepted
 * again in canonical form. */
START_TEST(random_texts_are_accepted_or_refused_but_never_harm) {
  static const char *const pieces[] = {
      "sqrt(", ")",   "/", "1", "-", "e9", "0x",   "p-3",    "top-", ",",         "left",
      "bnhd",  "nan", ".", "|", "_", "\n", "\xff", "%s%n%d", " ",    "flash-attn"};
  uint64_t state = tests_seed();
  for (int i = 0; i < 20000; i++) {
    attest_problem *problem = new_problem("softmax");
    attest_error error = {0};
    char text[256] = "", name[64];
    for (uint64_t n = tests_random(&state) % 6; n; n--)
      strcat(text, pieces[tests_random(&state) % (sizeof pieces / sizeof pieces[0])]);
    for (uint64_t n = tests_random(&state) % 3; n; n--) {
      char byte[2] = {(char)(tests_random(&state) % 255 + 1), 0};
      strcat(text, byte);
    }
    size_t row = tests_random(&state) % problem_param_count;
    strcpy(name, i % 8 ? problem_params[row].name : text);
    attest_status status = attest_problem_set(problem, name, text, &error);
    ck_assert_int_eq(status == ATTEST_OK, error.message[0] == 0);
    if (!status) {
      const problem_param *param = problem_param_find(name, NULL);
      const char *kept = problem->texts[param - problem_params];
      set(problem, name, kept);
    }
    attest_problem_free(problem);
  }
}
END_TEST

void test_params(Suite *suite) {
  TCase *tc = tcase_create("params");
  tcase_add_test(tc, dashes_and_underscores_are_alike_and_nothing_is_abbreviated);
  tcase_add_test(tc, only_is_causal_implies_a_value_and_only_causal_may_stand_bare);
  tcase_add_test(tc, no_name_or_alias_stands_twice);
  tcase_add_loop_test(tc, legal_values_are_read_and_written_canonically, 0,
                      sizeof legal / sizeof legal[0]);
  tcase_add_loop_test(tc, values_outside_their_domain_are_refused_with_what_is_legal, 0,
                      sizeof illegal / sizeof illegal[0]);
  tcase_add_test(tc, setting_twice_is_an_error_unless_the_values_agree);
  tcase_add_test(tc, causal_words_of_plans);
  tcase_add_test(tc, all_seventeen_kernels_are_listed_with_known_parameters);
  tcase_add_test(tc, every_parameter_is_taken_by_some_kernel);
  tcase_add_test(tc, unknown_and_unbuilt_kernels_are_told_apart);
  tcase_add_test(tc, a_parameter_without_meaning_names_the_kernels_that_take_it);
  tcase_add_test(tc, distance_kernels_take_no_scale_but_one);
  tcase_add_test(tc, help_has_every_flag_and_alias_of_the_kernel_and_no_other);
  tcase_add_test(tc, random_texts_are_accepted_or_refused_but_never_harm);
  suite_add_tcase(suite, tc);
}
