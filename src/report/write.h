/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Documents as files. */
#ifndef ATTEST_REPORT_WRITE_H
#define ATTEST_REPORT_WRITE_H

#include "../tensor/tensor.h"

/* Writes the text and a newline, the whole file or none. Takes the text (free); NULL: the document
 * was too large for memory, which is the error then. */
attest_status report_write_text(const char *path, char *text, attest_error *error);

#endif
