/*
 * file_glob.h - lists the files whose names match a pattern.
 *
 *     *        any characters of one name     [a-z]   one of these
 *     ?        one character                  [!a-z]  one of the others
 *     \c       c itself
 *
 * A pattern without any of these stands for itself, if it is there.
 *
 * Threads: any; waits for the disk.
 */
#ifndef TFD_KERNELS_IO_FILE_GLOB_H
#define TFD_KERNELS_IO_FILE_GLOB_H

#include "kernels/io/file.h"

/* Whether one name matches one component; takes time in proportion to both. */
bool tfd_file_glob_matches(struct tfd_str pattern, struct tfd_str name);

/* Appends the names, each with a NUL behind it, in no order.  What cannot be
 * listed has none, except that PERMISSION_DENIED and a file system that is not
 * there are errors. */
enum tfd_code tfd_file_glob(struct tfd_file_access *a, struct tfd_str pattern,
                            struct tfd_bytes *out,
                            struct tfd_status *st) TFD_MUST_USE;

/* Steps through names with a NUL behind each; false at the end. */
bool tfd_file_glob_next(struct tfd_str *names, struct tfd_str *name);

#endif
