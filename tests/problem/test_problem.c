/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The problem as a whole: defaults in force, problem.json, sizes beyond 32 bits. */
#include <math.h>
#include <sys/mman.h>

#include <jansson.h>

#include "build.h"

/* I02, J11: the default scale is 1/sqrt(d) exactly, 0 is a scale like any other, dv may differ. */
START_TEST(scale_defaults_to_one_over_root_d_and_zero_is_legal) {
  const int64_t q[] = {4, 1, 32}, k[] = {1, 36, 32}, v[] = {1, 36, 24};
  attest_problem *p = on_ones(3, q, k, v);
  int ndim;
  int64_t shape[ATTEST_MAX_DIMS];
  resolve(p);
  ck_assert_str_eq(in_force(p, "scale"), "sqrt(1/32)");
  ck_assert_int_eq(p->values.scale.root, 1);
  problem_output_shape(&ndim, shape, p, OUTPUT_OUT);
  ck_assert(ndim == 3 && shape[0] == 4 && shape[1] == 1 && shape[2] == 24);
  set(p, "scale", "0");
  resolve(p);
  ck_assert_str_eq(in_force(p, "scale"), "0");
  ck_assert_int_eq(p->values.scale.sign, 0);
  attest_problem_free(p);
}
END_TEST

START_TEST(parameters_in_force_are_the_defaults_in_the_order_of_the_table) {
  static const char *const expected[][2] = {
      {"scale", "1/8"},       {"causal", "none"},    {"alignment", "top-left"},
      {"window", "-1,-1"},    {"lse-base", "e"},     {"temperature", "1"},
      {"layout", "hnd"},      {"out-layout", "hnd"}, {"empty-row", "zero"},
      {"nonfinite", "error"}, {"subnormals", "ieee"}};
  const int64_t q[] = {2, 9, 64};
  attest_problem *p = on_ones(3, q, q, q);
  const char *names[64], *texts[64];
  resolve(p);
  size_t count = problem_params_in_force(names, texts, p);
  ck_assert_uint_eq(count, sizeof expected / sizeof expected[0]);
  for (size_t i = 0; i < count; i++) {
    ck_assert_str_eq(names[i], expected[i][0]);
    ck_assert_str_eq(texts[i], expected[i][1]);
  }
  attest_problem_free(p);
}
END_TEST

/* What is in force, set on a fresh problem, gives the same again: a certificate can be replayed. */
START_TEST(parameters_in_force_reproduce_the_problem) {
  const int64_t q[] = {1, 3, 2, 4}, k[] = {1, 5, 2, 4};
  attest_problem *p = on_ones(4, q, k, k), *again = on_ones(4, q, k, k);
  static const char *const given[][2] = {{"convention", "flash-attn"}, {"causal", ""},
                                         {"sliding-window", "3"},      {"softcap", "0x1.8p4"},
                                         {"temperature", "sqrt(2)"},   {"lse-base", "2"},
                                         {"scale", "-1e-30"},          {"nonfinite", "ieee"},
                                         {"empty-row", "nan"}};
  for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
    set(p, given[i][0], given[i][1]);
  resolve(p);
  const char *names[64], *texts[64], *names2[64], *texts2[64];
  size_t count = problem_params_in_force(names, texts, p);
  for (size_t i = 0; i < count; i++)
    set(again, names[i], texts[i]);
  resolve(again);
  ck_assert_uint_eq(problem_params_in_force(names2, texts2, again), count);
  for (size_t i = 0; i < count; i++) {
    ck_assert_str_eq(names[i], names2[i]);
    ck_assert_str_eq(texts[i], texts2[i]);
  }
  attest_problem_free(p);
  attest_problem_free(again);
}
END_TEST

START_TEST(problem_json_has_kernel_params_doubles_shapes_and_dtypes) {
  const int64_t q[] = {2, 9, 8};
  attest_problem *p = on_ones(3, q, q, q);
  set(p, "softcap", "1/3");
  resolve(p);
  char *text = problem_json(p);
  json_error_t error;
  json_t *root = json_loads(text, 0, &error), *params, *doubles, *inputs, *outputs;
  ck_assert_msg(root != NULL, "%s", error.text);
  const char *kernel, *scale, *dtype;
  ck_assert(!json_unpack(root, "{s:s, s:o, s:o, s:o, s:o}", "kernel", &kernel, "params", &params,
                         "doubles", &doubles, "inputs", &inputs, "outputs", &outputs));
  ck_assert_str_eq(kernel, "softmax");
  double cap, temperature;
  int a, b, c;
  ck_assert(!json_unpack(params, "{s:s}", "scale", &scale));
  ck_assert_str_eq(scale, "sqrt(1/8)");
  ck_assert(!json_unpack(doubles, "{s:f, s:f}", "softcap", &cap, "temperature", &temperature));
  ck_assert(cap == 1.0 / 3 && temperature == 1);
  ck_assert(
      !json_unpack(inputs, "{s:{s:s, s:[i,i,i]}}", "k", "dtype", &dtype, "shape", &a, &b, &c));
  ck_assert_str_eq(dtype, "float64");
  ck_assert(a == 2 && b == 9 && c == 8);
  ck_assert(!json_unpack(outputs, "{s:{s:[i,i]}}", "lse", "shape", &a, &b));
  ck_assert(a == 2 && b == 9);
  json_decref(root);
  free(text);
  attest_problem_free(p);
}
END_TEST

START_TEST(resolving_is_repeated_only_after_a_change) {
  const int64_t q[] = {3, 4};
  attest_problem *p = on_ones(2, q, q, q);
  resolve(p);
  const char *text = in_force(p, "scale");
  resolve(p);
  ck_assert_ptr_eq(in_force(p, "scale"), text);
  set(p, "scale", "2");
  ck_assert_int_eq(p->resolved, 0);
  resolve(p);
  ck_assert_str_eq(in_force(p, "scale"), "2");
  set(p, "subnormals", "flush");
  refuse(p, ATTEST_ERR_SUPPORT, "subnormals flush is not available");
  attest_problem_free(p);
}
END_TEST

START_TEST(outputs_that_the_kernel_has_not_are_refused) {
  attest_problem *p = new_problem("softmax");
  attest_tensor t = ones(SHAPE(3, 4));
  attest_error error = {0};
  ck_assert_int_eq(attest_problem_output(p, "final-state", &t, &error), ATTEST_ERR_INPUT);
  ck_assert_ptr_nonnull(strstr(error.message, "its outputs: out lse"));
  ck_assert_int_eq(attest_problem_output(p, "o", &t, &error), ATTEST_ERR_INPUT);
  ck_assert_int_eq(attest_problem_input(p, "out", &t, &error), ATTEST_ERR_INPUT);
  ck_assert_int_eq(attest_problem_input(p, "scale", &t, &error), ATTEST_ERR_INPUT);
  t.dtype = ATTEST_INT32;
  ck_assert_int_eq(attest_problem_output(p, "out", &t, &error), ATTEST_ERR_INPUT);
  ck_assert_int_eq(attest_problem_input(p, "q", &t, &error), ATTEST_ERR_INPUT);
  ck_assert_ptr_nonnull(strstr(error.message, "q is int32"));
  attest_problem_free(p);
}
END_TEST

/* M01 with strides 0: 2^40 and more elements, none of them stored. */
START_TEST(offsets_beyond_32_bits_in_broadcast_views) {
  const int64_t q[] = {1 << 12, 1 << 10, 1 << 10, 1 << 10};
  attest_problem *p = on_ones(4, q, q, q);
  output(p, "out", ones(4, q));
  set(p, "layout", "bnhd");
  set(p, "causal", "top-left");
  resolve(p);
  problem_slice x;
  int64_t index[4], lo, hi, last = problem_slice_count(p) - 1;
  ck_assert_int_eq(last + 1, 1 << 22);
  problem_slice_get(&x, p, last);
  ck_assert(x.sequence == (1 << 12) - 1 && x.head == (1 << 10) - 1);
  ck_assert(element(&x.out, 1023, 1023) == 1);
  problem_output_index(index, p, &x, OUTPUT_OUT, 1023, 1022);
  ck_assert(index[0] == 4095 && index[1] == 1023 && index[2] == 1023 && index[3] == 1022);
  attest_problem_free(p);
  const int64_t rows[] = {1ll << 40, 2};
  p = on_ones(2, rows, rows, rows);
  set(p, "causal", "bottom-right");
  set(p, "window", "4,0");
  resolve(p);
  problem_slice_get(&x, p, 0);
  problem_visible_range(&lo, &hi, p, &x, (1ll << 40) - 1);
  ck_assert(hi == 1ll << 40 && lo == hi - 5);
  attest_problem_free(p);
}
END_TEST

/* M01 with real strides: 2^31 + 2^21 float16 elements in a sparse mapping. */
START_TEST(offsets_beyond_32_bits_in_stored_tensors) {
  const int64_t shape[] = {1025, 64, 512, 64}, n = 1025ll << 21;
  uint16_t *data = mmap(NULL, (size_t)n * 2, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ck_assert(data != MAP_FAILED);
  data[n - 1] = 0x3c00; /* 1.0 */
  attest_tensor t = attest_tensor_of(data, ATTEST_FLOAT16, 4, shape);
  attest_problem *p = new_problem("softmax");
  input(p, "q", t);
  input(p, "k", t);
  input(p, "v", t);
  output(p, "out", t);
  resolve(p);
  problem_slice x;
  problem_slice_get(&x, p, problem_slice_count(p) - 1);
  ck_assert(element(&x.q, 511, 63) == 1 && element(&x.k, 511, 63) == 1);
  ck_assert(element(&x.v, 511, 63) == 1 && element(&x.out, 511, 63) == 1);
  ck_assert(element(&x.q, 511, 62) == 0);
  attest_problem_free(p);
  munmap(data, (size_t)n * 2);
}
END_TEST

START_TEST(shapes_and_strides_that_overflow_are_refused) {
  attest_problem *p = new_problem("softmax");
  attest_error error = {0};
  attest_tensor wide = ones(SHAPE(1ll << 40, 1ll << 40)), negative = ones(SHAPE(3, -1)),
                far = ones(SHAPE(3, 4)), empty = ones(SHAPE(1ll << 40, 0, 1ll << 40));
  far.stride[0] = INT64_MAX / 2;
  attest_tensor deep = ones(SHAPE(3, 4));
  deep.ndim = 5;
  const attest_tensor *bad[] = {&wide, &negative, &far, &empty, &deep};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    ck_assert_int_eq(attest_problem_input(p, "q", bad[i], &error), ATTEST_ERR_INPUT);
  far.stride[0] = INT64_MIN;
  ck_assert_int_eq(attest_problem_input(p, "q", &far, &error), ATTEST_ERR_INPUT);
  attest_problem_free(p);
}
END_TEST

void test_problem(Suite *suite) {
  TCase *tc = tcase_create("problem");
  tcase_add_test(tc, scale_defaults_to_one_over_root_d_and_zero_is_legal);
  tcase_add_test(tc, parameters_in_force_are_the_defaults_in_the_order_of_the_table);
  tcase_add_test(tc, parameters_in_force_reproduce_the_problem);
  tcase_add_test(tc, problem_json_has_kernel_params_doubles_shapes_and_dtypes);
  tcase_add_test(tc, resolving_is_repeated_only_after_a_change);
  tcase_add_test(tc, outputs_that_the_kernel_has_not_are_refused);
  tcase_add_test(tc, offsets_beyond_32_bits_in_broadcast_views);
  tcase_add_test(tc, offsets_beyond_32_bits_in_stored_tensors);
  tcase_add_test(tc, shapes_and_strides_that_overflow_are_refused);
  suite_add_tcase(suite, tc);
}
