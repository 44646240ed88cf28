/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The one place that knows which mathematics rooms exist. */
#include <string.h>

#include "../softmax/softmax.h"
#include "../sparse/sparse.h"
#include "../taylor/taylor.h"
#include "../toeplitz/toeplitz.h"
#include "certify.h"

static const struct {
  const problem_room *room;
  attest_status (*parse_machine)(room_machine *, const char *, attest_error *);
} rooms[] = {
    {&softmax_room, softmax_machine_parse},      {&sparse_rooms[0], softmax_machine_parse},
    {&sparse_rooms[1], softmax_machine_parse},   {&sparse_rooms[2], softmax_machine_parse},
    {&sparse_rooms[3], softmax_machine_parse},   {&sparse_rooms[4], softmax_machine_parse},
    {&sparse_rooms[5], softmax_machine_parse},   {&sparse_rooms[6], softmax_machine_parse},
    {&sparse_rooms[7], softmax_machine_parse},   {&sparse_rooms[8], softmax_machine_parse},
    {&sparse_rooms[9], softmax_machine_parse},   {&sparse_rooms[10], softmax_machine_parse},
    {&taylor_room, taylor_machine_parse},        {&linear_room, taylor_machine_parse},
    {&rope_softmax_room, softmax_machine_parse}, {&rope_linear_room, toeplitz_machine_parse},
    {&toeplitz_room, toeplitz_machine_parse},
};
static const size_t room_count = sizeof rooms / sizeof *rooms;

const problem_room *certify_room(const char *kernel) {
  for (size_t i = 0; i < room_count; i++)
    if (!strcmp(rooms[i].room->name, kernel)) return rooms[i].room;
  return NULL;
}

attest_status certify_machine_parse(room_machine *machine, const char *kernel, const char *text,
                                    attest_error *error) {
  for (size_t i = 0; i < room_count; i++)
    if (!strcmp(rooms[i].room->name, kernel) && rooms[i].parse_machine)
      return rooms[i].parse_machine(machine, text, error);
  return attest_fail(error, ATTEST_ERR_SUPPORT, "kernel %s has no machine model in this version",
                     kernel);
}

void certify_machine_returns(room_machine *machine, const attest_problem *problem) {
  const attest_tensor *output = problem->output;
  if (output[OUTPUT_OUT].data) machine->result = output[OUTPUT_OUT].dtype;
  if (output[OUTPUT_LSE].data) machine->result_lse = output[OUTPUT_LSE].dtype;
  if (output[OUTPUT_FINAL_STATE].data) machine->result_state = output[OUTPUT_FINAL_STATE].dtype;
}

attest_status certify_machine_declared(int *declared, room_machine *machine,
                                       const attest_problem *problem, const char *text,
                                       attest_error *error) {
  const problem_room *room = certify_room(problem->kernel->name);
  int has_form = problem->values.form >= FORM_FFT;
  attest_status status = ATTEST_OK;
  *declared = text || (has_form && room && problem->output[OUTPUT_OUT].data);
  if (text && has_form)
    return attest_fail(
        error, ATTEST_ERR_INPUT,
        "--arithmetic says nothing beside --form: the bound of a fast form is that of "
        "its algorithm in float64 where out is float64, else in float32; leave it out");
  if (text)
    status = certify_machine_parse(machine, problem->kernel->name, text, error);
  else if (*declared)
    *machine = room->machine(problem->output[OUTPUT_OUT].dtype);
  if (*declared && !status) certify_machine_returns(machine, problem);
  return status;
}

attest_status certify_run(certify_case *result, const certify_subject *subjects, size_t count,
                          const certify_options *options, attest_error *error) {
  const char *kernel = subjects[0].problem->kernel->name;
  const problem_room *room = certify_room(kernel);
  memset(result, 0, sizeof *result);
  if (!room)
    return attest_fail(
        error, ATTEST_ERR_SUPPORT,
        "kernel %s is not built in this version: attest kernels lists those that are", kernel);
  if (!room->rows)
    return attest_fail(error, ATTEST_ERR_SUPPORT,
                       "outputs of kernel %s are not checked in this version: attest reference "
                       "writes what it should return",
                       kernel);
  return certify_run_room(result, room, subjects, count, options, error);
}
