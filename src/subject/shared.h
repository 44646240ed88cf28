/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Memory that attest and its worker share, while the worker calls a library.
 *
 * The header comes first, then the text of problem.json, then each tensor on pages of its own,
 * contiguous and in the machine's byte order, its last byte within 64 bytes of the end of the last
 * page. The worker maps each tensor between two pages that cannot be touched, inputs read only.
 * What lies on a tensor's pages before and behind it is filled with SHARED_FILL, and looked at
 * after the call. */
#ifndef ATTEST_SUBJECT_SHARED_H
#define ATTEST_SUBJECT_SHARED_H

#include "../problem/problem.h"

enum { SHARED_DESCRIPTOR = 3, SHARED_ALIGNMENT = 64, SHARED_FILL = 0xa5 };

/* How far the worker came. */
typedef enum { PHASE_START, PHASE_CALLED, PHASE_RETURNED } shared_phase;

/* What is wrong with the floating-point environment. */
enum { ENVIRONMENT_AFTER_LOAD = 1, ENVIRONMENT_AFTER_CALL = 2 };

typedef struct {
  int32_t output, index;         /* OUTPUT_* or INPUT_* */
  attest_tensor tensor;          /* data: set by the worker */
  uint64_t pages_at, pages_size; /* in the shared memory: whole pages */
  uint64_t lead, bytes;          /* of the tensor on its pages */
} shared_tensor;

typedef struct {
  uint64_t size; /* of all the memory */
  uint64_t params_at;
  int32_t phase, returned;
  uint32_t environment;
  /* A forbidden access: the tensor whose pages it touched (-1: elsewhere), where from its first
   * byte, and whether it wrote. */
  int32_t fault_signal, fault_tensor, fault_is_write;
  int64_t fault_offset;
  char message[256]; /* why loading failed */
  char kernel[32];
  double scale;
  int32_t causal;
  int32_t count;
  shared_tensor tensors[INPUT_COUNT + OUTPUT_COUNT];
} shared_header;

#endif
