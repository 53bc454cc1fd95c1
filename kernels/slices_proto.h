/*
 * slices_proto.h - the messages of a checkpoint of format V1, which is one
 * table (kernels/table.h):
 *
 *   key ""           SavedTensorSlices {meta = 1: {tensor = 1 repeated:
 *                      {name = 1, shape = 2, type = 3, slice = 4 repeated},
 *                      versions = 2}}
 *   key of a slice   SavedTensorSlices {data = 2:
 *                      {name = 1, slice = 2, data = 3 TensorProto}}
 *
 * The TensorProto has neither type nor shape, only the field of values of its
 * type: all integers of up to 32 bits as int32, half as its bits.
 *
 * Threads: pure.
 */
#ifndef TFD_KERNELS_SLICES_PROTO_H
#define TFD_KERNELS_SLICES_PROTO_H

#include "common/pbio.h"
#include "common/tensor.h"

enum {
    TFD_SLICES_META = 1,
    TFD_SLICES_DATA = 2,
    TFD_SLICES_META_TENSOR = 1,
    TFD_SLICES_META_VERSIONS = 2,
    TFD_SLICES_TENSOR_NAME = 1,
    TFD_SLICES_TENSOR_SHAPE = 2,
    TFD_SLICES_TENSOR_TYPE = 3,
    TFD_SLICES_TENSOR_SLICE = 4,
    TFD_SLICES_DATA_NAME = 1,
    TFD_SLICES_DATA_SLICE = 2,
    TFD_SLICES_DATA_VALUES = 3,
};

/* Largest value of a table, TensorFlow's limit on a message. */
#define TFD_SLICES_VALUE_MAX ((uint64_t)1 << 31)

/* Whether the format has a field for this type; else fails as TensorFlow. */
enum tfd_code tfd_slices_check_dtype(enum tfd_dtype dtype,
                                     struct tfd_status *st) TFD_MUST_USE;

/* An upper bound on the bytes tfd_slices_put_values() appends, as TensorFlow
 * computes it. */
uint64_t tfd_slices_values_bound(const struct tfd_tensor *t);

/* The fields of the TensorProto. */
void tfd_slices_put_values(struct tfd_bytes *b, const struct tfd_tensor *t);

/* Fills a tensor that was made with type and shape. */
enum tfd_code tfd_slices_take_values(struct tfd_str proto, struct tfd_tensor *t,
                                     struct tfd_status *st) TFD_MUST_USE;

#endif
