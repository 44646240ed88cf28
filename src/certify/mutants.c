/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The face of the mutated copy of the library: the one source that is in it and not in the library
 * itself. */
#include "mutants.h"

#include "mutation.h"

int certify_mutation;

static void choose(int number) {
  certify_mutation = number;
}

#define MUTANT(name, family, role, found, wanted) {name, family, role, found, wanted},
static const mutant list[] = {
#include "list.h"
};

const mutant_library certify_mutants = {.count = sizeof list / sizeof *list,
                                        .list = list,
                                        .choose = choose,
                                        .room = certify_room,
                                        .fft = toeplitz_fft_attention,
                                        .run = certify_run,
                                        .reference = attest_reference,
                                        .open = tensor_file_open,
                                        .find = tensor_file_find,
                                        .close = tensor_file_close};
