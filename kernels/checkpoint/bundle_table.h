/*
 * bundle_table.h - the index file of a bundle, opened: a table whose first
 * entry is the header.
 *
 * Threads: one at a time.
 */
#ifndef TFD_KERNELS_BUNDLE_TABLE_H
#define TFD_KERNELS_BUNDLE_TABLE_H

#include "kernels/checkpoint/checkpoint_proto.h"
#include "kernels/io/file.h"
#include "kernels/checkpoint/table_reader.h"

/* A table in a file; also used for checkpoints of format V1. */
struct tfd_bundle_table {
    struct tfd_file_access *access;
    struct tfd_file file;
    struct tfd_table_reader reader;
};

/* Opens any table.  On failure nothing has to be released. */
enum tfd_code tfd_bundle_table_open(struct tfd_bundle_table *t,
                                    struct tfd_file_access *access,
                                    struct tfd_str name,
                                    struct tfd_status *st) TFD_MUST_USE;
void tfd_bundle_table_close(struct tfd_bundle_table *t);

/* Moves to the header of an index and reads it; name is for messages. */
enum tfd_code tfd_bundle_table_header(struct tfd_bundle_table *t,
                                      struct tfd_str name,
                                      struct tfd_bundle_header *h,
                                      struct tfd_status *st) TFD_MUST_USE;

/* Reads the entry the table stands at; slices as in tfd_bundle_entry_take(). */
enum tfd_code tfd_bundle_table_entry(struct tfd_bundle_table *t,
                                     struct tfd_bundle_entry *e,
                                     struct tfd_bytes *slices,
                                     struct tfd_status *st) TFD_MUST_USE;

#endif
