/*
 * slices_reader.h - reads a checkpoint of format V1
 * (kernels/checkpoint/slices_proto.h), one file.
 *
 * Threads: one at a time.
 */
#ifndef TFD_KERNELS_SLICES_READER_H
#define TFD_KERNELS_SLICES_READER_H

#include "common/base/map.h"
#include "kernels/checkpoint/bundle_table.h"
#include "kernels/checkpoint/slice_set.h"

/* Bounds what a small file can make us remember. */
#define TFD_SLICES_TENSORS_MAX ((size_t)1 << 20)

struct tfd_slices_tensor {
    struct tfd_str name; /* in contents */
    struct tfd_slice_set set;
};

struct tfd_slices_reader {
    struct tfd_bundle_table table;
    struct tfd_bytes file_name;
    struct tfd_bytes contents; /* the table of contents */
    struct tfd_map by_name;    /* to a tensor's number */
    struct tfd_slices_tensor *tensors;
    size_t count, capacity;
};

/* NOT_FOUND when there is no such file.  On failure nothing has to be
 * released. */
enum tfd_code tfd_slices_reader_open(struct tfd_slices_reader *r,
                                     struct tfd_file_access *access,
                                     struct tfd_str name,
                                     struct tfd_status *st) TFD_MUST_USE;
void tfd_slices_reader_close(struct tfd_slices_reader *r);

enum tfd_code tfd_slices_reader_find(struct tfd_slices_reader *r,
                                     struct tfd_str name, enum tfd_dtype *dtype,
                                     struct tfd_shape *shape,
                                     struct tfd_status *st) TFD_MUST_USE;

/* A slice of the tensor; NULL: all of it.  *out has one reference. */
enum tfd_code tfd_slices_reader_read(struct tfd_slices_reader *r,
                                     struct tfd_str name,
                                     const struct tfd_tensor_slice *slice,
                                     struct tfd_tensor *out,
                                     struct tfd_status *st) TFD_MUST_USE;

#endif
