/*
 * snapshot_error.h - the text of a status, as a distributed snapshot's writer
 * leaves it: "code: ABORTED message: \"a text\"".
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_DATA_FILES_SNAPSHOT_ERROR_H
#define TFD_KERNELS_DATA_FILES_SNAPSHOT_ERROR_H

#include "common/base/str.h"

/* False for what is no such text.  *code is OK where it names none; the message
 * is appended. */
bool tfd_snapshot_error_parse(struct tfd_str text, enum tfd_code *code,
                              struct tfd_bytes *message);

#endif
