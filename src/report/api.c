/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The public certificate: attest_check and what it returns. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

struct attest_certificate {
  report report;
  char *json, *text;
};

/* Adds the bounds of a list separated by semicolons; NULL: none. */
static attest_status parse_bounds(certify_bounds *bounds, const char *list, attest_error *error) {
  char *copy = strdup(list ? list : ""), *rest = copy, *item;
  attest_status status = copy ? ATTEST_OK : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  while (!status && (item = strsep(&rest, ";")))
    if (*item) status = certify_bounds_add(bounds, item, error);
  free(copy);
  return status;
}

static attest_status add_inputs(certify_case *c, const attest_problem *problem,
                                attest_error *error) {
  attest_status status = ATTEST_OK;
  for (int i = 0; i < INPUT_COUNT && !status; i++)
    if (problem->input[i].data)
      status = certify_case_input(c, problem_input_names[i], NULL, &problem->input[i], error);
  for (int i = 0; i < OUTPUT_COUNT && !status; i++)
    if (problem->output[i].data)
      status = certify_case_input(c, problem_output_names[i], NULL, &problem->output[i], error);
  return status;
}

static attest_status check(attest_certificate *certificate, const attest_problem *problem,
                           const certify_bounds *bounds, attest_error *error) {
  certify_subject subject = {.problem = problem, .bounds = bounds};
  certify_options options = {.name = "attest_check"};
  certify_case result;
  attest_status status = certify_run(&result, &subject, 1, &options, error);
  if (!status) status = add_inputs(&result, problem, error);
  if (status) {
    certify_case_clear(&result);
    return status;
  }
  certificate->report.seconds = result.seconds;
  certificate->text = report_text(&result, 0);
  if (report_add(&certificate->report, &result) || !certificate->text ||
      !(certificate->json = report_json(&certificate->report)))
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  return ATTEST_OK;
}

static attest_certificate *check_all(const attest_problem *problem, const char *bound,
                                     attest_error *error) {
  certify_bounds bounds = {0, NULL};
  attest_certificate *certificate = calloc(1, sizeof *certificate);
  attest_status status = certificate ? parse_bounds(&bounds, bound, error)
                                     : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  /* Resolving completes what the caller has set; it changes nothing that he could see. */
  if (!status) status = problem_resolve((attest_problem *)problem, error);
  if (!status) status = check(certificate, problem, &bounds, error);
  certify_bounds_clear(&bounds);
  if (status) {
    attest_certificate_free(certificate);
    return NULL;
  }
  return certificate;
}

/* Numbers are written with a point, whatever the program's locale writes. */
attest_certificate *attest_check(const attest_problem *problem, const char *bound,
                                 attest_error *error) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  locale_t before = uselocale(plain);
  attest_certificate *certificate = check_all(problem, bound, error);
  uselocale(before);
  if (plain) freelocale(plain);
  return certificate;
}

attest_verdict attest_certificate_verdict(const attest_certificate *certificate) {
  return certify_case_verdict(&certificate->report.cases[0]);
}

const char *attest_certificate_json(const attest_certificate *certificate) {
  return certificate->json;
}

const char *attest_certificate_text(const attest_certificate *certificate) {
  return certificate->text;
}

void attest_certificate_free(attest_certificate *certificate) {
  if (!certificate) return;
  report_clear(&certificate->report);
  free(certificate->json);
  free(certificate->text);
  free(certificate);
}
