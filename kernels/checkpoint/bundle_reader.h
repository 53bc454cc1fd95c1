/*
 * bundle_reader.h - reads a checkpoint of format V2
 * (kernels/checkpoint/bundle_writer.h), whoever wrote it and whatever happened
 * to it since.
 *
 * Sizes are checked against shape, type and the data file's length before
 * memory is taken, and the checksum before a tensor is handed out.  Texts of
 * errors are TensorFlow's.
 *
 * Threads: one at a time.
 */
#ifndef TFD_KERNELS_BUNDLE_READER_H
#define TFD_KERNELS_BUNDLE_READER_H

#include "kernels/checkpoint/bundle_table.h"
#include "kernels/checkpoint/tensor_slice.h"

#define TFD_BUNDLE_OPEN_MAX 16 /* data files open at a time */

struct tfd_bundle_reader {
    struct tfd_file_access *access;
    struct tfd_bytes prefix;
    struct tfd_bundle_table table;
    int32_t num_shards;
    struct tfd_bytes slices, name; /* scratch */
    struct {
        int32_t shard;
        struct tfd_file file;
    } open[TFD_BUNDLE_OPEN_MAX];
    int open_count, oldest;
};

/* NOT_FOUND when there is no index of that prefix.  On failure nothing has to
 * be released. */
enum tfd_code tfd_bundle_reader_open(struct tfd_bundle_reader *r,
                                     struct tfd_file_access *access,
                                     struct tfd_str prefix,
                                     struct tfd_status *st) TFD_MUST_USE;
void tfd_bundle_reader_close(struct tfd_bundle_reader *r);

/* Type and whole shape; e->slices is empty unless it is kept in slices, and
 * holds until the next call. */
enum tfd_code tfd_bundle_reader_find(struct tfd_bundle_reader *r,
                                     struct tfd_str name,
                                     struct tfd_bundle_entry *e,
                                     struct tfd_status *st) TFD_MUST_USE;

/* A slice of the tensor; NULL: all of it.  *out has one reference. */
enum tfd_code tfd_bundle_reader_read(struct tfd_bundle_reader *r,
                                     struct tfd_str name,
                                     const struct tfd_tensor_slice *slice,
                                     struct tfd_tensor *out,
                                     struct tfd_status *st) TFD_MUST_USE;

#endif
