/*
 * feature.h - reads a Feature of a serialized Example: a list of strings,
 * floats or integers.
 *
 *     Feature { bytes_list = 1 | float_list = 2 | int64_list = 3 }
 *     each list { value = 1, packed or one by one }
 *
 * tfd_feature_read() finds the list and counts its values, and borrows from the
 * message; tfd_feature_copy() copies the values out.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_KERNELS_PARSE_FEATURE_H
#define TFD_KERNELS_PARSE_FEATURE_H

#include "common/base/pbio.h"
#include "common/base/tensor.h"

struct tfd_feature {
    enum tfd_dtype dtype; /* STRING, FLOAT, INT64; INVALID: an empty message */
    struct tfd_str list;
    int64_t count; /* of values */
};

/* INVALID_ARGUMENT "Unsupported datatype." for a list of something else; count
 * is -1 where the list is damaged. */
enum tfd_code tfd_feature_read(struct tfd_str message, struct tfd_feature *out,
                               struct tfd_status *st) TFD_MUST_USE;
/* All values, into elements of its type. */
enum tfd_code tfd_feature_copy(const struct tfd_feature *f, void *to,
                               struct tfd_status *st) TFD_MUST_USE;

#endif
