/*
 * tensor_slice.h - boxes cut out of tensors: the pieces in which checkpoints
 * keep partitioned variables.
 *
 * In an operation's argument shape_and_slices a piece is written
 *
 *     "4 3 0,2:-"     rows 0 and 1 of a tensor of shape [4,3]
 *
 * first the whole tensor's dimensions, then for each "start,length" or "-" for
 * all of it.  "-" and "0,4" mean the same elements and are different slices:
 * they have different text, bytes and keys, as in TensorFlow.
 *
 *     TensorSliceProto  {extent = 1 repeated {start = 1, oneof {length = 2}}}
 *     key               ordered code of 0, the tensor's name, the rank, and
 *                       start and length (-1: all) of each dimension
 *
 * Error texts and codes are TensorFlow's; where TensorFlow ends the process,
 * on a negative dimension or an end past 2^63, the code is INVALID_ARGUMENT.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_KERNELS_TENSOR_SLICE_H
#define TFD_KERNELS_TENSOR_SLICE_H

#include "common/base/str.h"
#include "common/base/tensor.h"

#define TFD_SLICE_ALL (-1)

struct tfd_tensor_slice {
    int rank;
    int64_t start[TFD_RANK_MAX];
    int64_t length[TFD_RANK_MAX]; /* TFD_SLICE_ALL, with start 0 */
};

struct tfd_tensor_slice tfd_tensor_slice_all(int rank);
/* Every dimension is "-". */
bool tfd_tensor_slice_is_all(const struct tfd_tensor_slice *s);
bool tfd_tensor_slice_equal(const struct tfd_tensor_slice *a,
                            const struct tfd_tensor_slice *b);

/* Reads "DIMS SLICE"; *piece becomes the slice's own shape. */
enum tfd_code tfd_tensor_slice_parse(struct tfd_str spec,
                                     struct tfd_shape *whole,
                                     struct tfd_tensor_slice *s,
                                     struct tfd_shape *piece,
                                     struct tfd_status *st) TFD_MUST_USE;

/* The shape of the slice of a tensor of shape `whole`; fails when it has
 * another rank or does not lie within. */
enum tfd_code tfd_tensor_slice_shape(const struct tfd_tensor_slice *s,
                                     const struct tfd_shape *whole,
                                     struct tfd_shape *piece,
                                     struct tfd_status *st) TFD_MUST_USE;

/* False: they have no element in common.  out may be NULL. */
bool tfd_tensor_slice_intersect(const struct tfd_tensor_slice *a,
                                const struct tfd_tensor_slice *b,
                                struct tfd_tensor_slice *out);

#define TFD_SLICE_TEXT_MAX 400
/* "0,2:-".  Returns text, which has TFD_SLICE_TEXT_MAX bytes. */
const char *tfd_tensor_slice_text(const struct tfd_tensor_slice *s, char *text);

/* The fields of a TensorSliceProto. */
void tfd_tensor_slice_put(struct tfd_bytes *b,
                          const struct tfd_tensor_slice *s);
enum tfd_code tfd_tensor_slice_take(struct tfd_str proto,
                                    struct tfd_tensor_slice *s,
                                    struct tfd_status *st) TFD_MUST_USE;
void tfd_tensor_slice_put_key(struct tfd_bytes *b, struct tfd_str name,
                              const struct tfd_tensor_slice *s);

/* Copies the elements two slices of a tensor of shape `whole` have in common
 * from one to the other.  Both tensors have the shape of their slice and the
 * same type, plain or STRING; nobody else holds `to`. */
enum tfd_code tfd_tensor_slice_copy(const struct tfd_shape *whole,
                                    const struct tfd_tensor_slice *from_slice,
                                    const struct tfd_tensor *from,
                                    const struct tfd_tensor_slice *to_slice,
                                    struct tfd_tensor *to,
                                    struct tfd_status *st) TFD_MUST_USE;

#endif
