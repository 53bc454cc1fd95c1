/*
 * file_check.h - gives an operation the files that it may use, or
 * PERMISSION_DENIED, naming --file_root, where the operator has allowed none.
 * Every op that touches files asks here first.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_FILE_CHECK_H
#define TFD_KERNELS_FILE_CHECK_H

#include "kernels/io/file.h"
#include "kernels/core/kernel.h"

/* The files of the device that runs this node.  PERMISSION_DENIED, naming the
 * option --file_root, where operations have none. */
enum tfd_code tfd_file_check(const struct tfd_kctx *k,
                             struct tfd_file_access **out,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
