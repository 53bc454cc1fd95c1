/*
 * slices_proto.h - the messages of a checkpoint of format V1, which is one
 * table (kernels/io/table.h):
 *
 *   key ""           SavedTensorSlices with meta, the table of contents
 *   key of a slice   SavedTensorSlices with data, the slice's values
 *
 * The TensorProto has neither type nor shape, only the field of values of its
 * type: all integers of up to 32 bits as int32, half as its bits.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_SLICES_PROTO_H
#define TFD_KERNELS_SLICES_PROTO_H

#include "common/base/pbio.h"
#include "common/proto/bundle.pb.h"
#include "common/base/tensor.h"

#define TFD_SLICES(field) tensorflow_SavedTensorSlices_##field##_tag
#define TFD_SLICES_META(field) tensorflow_SavedTensorSliceMeta_##field##_tag
#define TFD_SLICES_TENSOR(field) tensorflow_SavedSliceMeta_##field##_tag
#define TFD_SLICES_SLICE(field) tensorflow_SavedSlice_##field##_tag

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
