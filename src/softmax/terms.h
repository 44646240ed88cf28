/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the double tier knows of a row beside its elements, and second passes over a row. Internal
 * to the softmax room; the derivation stands in enclose.c. */
#ifndef ATTEST_SOFTMAX_TERMS_H
#define ATTEST_SOFTMAX_TERMS_H

#include "pass.h"

typedef struct {
  int64_t lo, hi;
  double keys, blocks;         /* of the visible range */
  double query_norm, key_norm; /* |q|_2 and the largest |k|_2, from above */
  double reach;                /* largest t over the row, from above */
  double product_error;        /* E, its parts: products and scale; */
  double cap_error;            /* softcap; */
  double extra_error;          /* bias, slope, temperature, sink */
  double size_error;           /* relative error of a t computed in double */
  double rho;                  /* relative error of a weight that matters */
  double out_error, sum_error;
  int usable;
} softmax_row_terms;

/* The part that needs no pass: lo .. size_error. Plain operations in a fixed order. */
void softmax_terms_of_row(softmax_row_terms *terms, const softmax_pack *pack, int64_t row);
/* The rest; rescaled: the shift moved. */
void softmax_terms_finish(softmax_row_terms *terms, int rescaled);
/* Radius of an element from A and |x^| (step 3), given its share `tail` of negligible keys and
 * underflow. */
double softmax_radius(const softmax_row_terms *terms, double a, double x, double tail);
double softmax_tail(const softmax_row_terms *terms, double v_max);

/* Working memory of second passes: linear in the number of keys. */
typedef struct {
  softmax_state_f64 state;
  double *score, *size;   /* s_j, t_j */
  double *g, *h;          /* factors of softmax_row_sums */
  double *run;            /* running error of the scores, by key */
  double *spread, *total; /* results of softmax_row_sums, or of softmax_running_sums */
  double *scratch;        /* 4 dv */
  double largest;         /* largest score, the sink's included; -infinity: none */
  double sum;             /* normaliser relative to exp(largest) */
  double sink_weight;     /* p of the sink; 0 without */
  double sink_size;       /* t of the sink */
  void *memory;
} softmax_second;
int softmax_second_open(softmax_second *second, const softmax_pack *pack); /* 0: out of memory */
void softmax_second_close(softmax_second *second);

/* Fills score and size, and g with the normalised weights p of the keys lo .. hi - 1 (0 where
 * hidden), and the scalars. */
void softmax_second_weights(softmax_second *second, const softmax_pack *pack,
                            const softmax_row_terms *terms, int64_t row);

/* Largest |v_c| over the blocks that meet the row's range. */
double softmax_largest_value(const softmax_pack *pack, const softmax_row_terms *terms, int64_t c);

/* The a-priori bound of block->machine for row block->row + at. (bound.c) */
void softmax_theory_row(room_block *block, softmax_second *second, const softmax_pack *pack,
                        int64_t at, unsigned want);

#endif
