/*
 * checkpoint_check.h - whether a checkpoint is whole: its index, and every
 * tensor by its checksum.
 *
 * Threads: any.  Blocks on files; holds one tensor at a time.
 */
#ifndef TFD_CLIENT_CHECKPOINT_CHECK_H
#define TFD_CLIENT_CHECKPOINT_CHECK_H

#include "kernels/io/file.h"

/* The error of a damaged one names the file. */
enum tfd_code tfd_checkpoint_check(struct tfd_file_access *access,
                                   const char *prefix,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
