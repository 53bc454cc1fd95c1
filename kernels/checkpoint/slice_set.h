/*
 * slice_set.h - the slices a checkpoint has of one tensor, and how a wanted
 * slice is put together from them.
 *
 * Stored slices do not overlap.  So a wanted one is covered when the parts they
 * have in common with it add up to its number of elements.
 *
 * Threads: one at a time.
 */
#ifndef TFD_KERNELS_SLICE_SET_H
#define TFD_KERNELS_SLICE_SET_H

#include "kernels/checkpoint/tensor_slice.h"

/* Bounds the pairs compared; partitioners make as many slices as there are
 * tasks. */
#define TFD_SLICE_SET_MAX 16384

struct tfd_slice_set {
    enum tfd_dtype dtype;
    struct tfd_shape shape;
    struct tfd_tensor_slice *slices;
    size_t count, capacity;
};

void tfd_slice_set_init(struct tfd_slice_set *s, enum tfd_dtype dtype,
                        const struct tfd_shape *shape);
void tfd_slice_set_deinit(struct tfd_slice_set *s);

/* Fails when it is not within the tensor or overlaps another. */
enum tfd_code tfd_slice_set_add(struct tfd_slice_set *s,
                                const struct tfd_tensor_slice *slice,
                                struct tfd_status *st) TFD_MUST_USE;

bool tfd_slice_set_covers(const struct tfd_slice_set *s,
                          const struct tfd_tensor_slice *want);

/* Gives the tensor of a stored slice, of the slice's shape and the set's
 * type, one reference to the caller. */
typedef enum tfd_code tfd_slice_load_fn(void *ctx,
                                        const struct tfd_tensor_slice *slice,
                                        const struct tfd_shape *piece,
                                        struct tfd_tensor *out,
                                        struct tfd_status *st);

/* Makes a covered slice; *out has one reference. */
enum tfd_code tfd_slice_set_read(const struct tfd_slice_set *s,
                                 const struct tfd_tensor_slice *want,
                                 tfd_slice_load_fn *load, void *ctx,
                                 struct tfd_tensor *out,
                                 struct tfd_status *st) TFD_MUST_USE;

#endif
