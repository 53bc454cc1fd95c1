/*
 * slices_writer.h - writes a checkpoint of format V1
 * (kernels/checkpoint/slices_proto.h), whole or not at all; what operations
 * Save and SaveSlices do.
 *
 * Tensors are referenced until finish(), which writes them in the order of
 * their keys; the table of contents is sorted by name as TensorFlow's is.
 *
 * Threads: one at a time.
 */
#ifndef TFD_KERNELS_SLICES_WRITER_H
#define TFD_KERNELS_SLICES_WRITER_H

#include "common/base/arena.h"
#include "common/base/map.h"
#include "kernels/io/file.h"
#include "kernels/checkpoint/tensor_slice.h"

struct tfd_slices_item {
    struct tfd_str name, key; /* in the arena */
    struct tfd_shape whole;
    struct tfd_tensor_slice slice;
    struct tfd_tensor tensor;
    size_t order; /* of being added */
};

struct tfd_slices_writer {
    struct tfd_arena strings;
    struct tfd_map by_name; /* to the first item of that name */
    struct tfd_map by_key;
    struct tfd_slices_item *items;
    size_t count, capacity;
};

void tfd_slices_writer_init(struct tfd_slices_writer *w);
void tfd_slices_writer_deinit(struct tfd_slices_writer *w);

/* t is slice s of a tensor of shape `whole`. */
enum tfd_code tfd_slices_writer_add(struct tfd_slices_writer *w,
                                    struct tfd_str name,
                                    const struct tfd_shape *whole,
                                    const struct tfd_tensor_slice *s,
                                    const struct tfd_tensor *t,
                                    struct tfd_status *st) TFD_MUST_USE;

enum tfd_code tfd_slices_writer_finish(struct tfd_slices_writer *w,
                                       struct tfd_file_access *access,
                                       struct tfd_str name,
                                       struct tfd_status *st) TFD_MUST_USE;

#endif
