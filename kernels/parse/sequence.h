/*
 * sequence.h - serialized SequenceExamples into tensors.
 *
 *     SequenceExample { context = 1: Features,
 *                       feature_lists = 2 { feature_list = 1: map<name,
 *                           FeatureList { feature = 1: Feature repeated }> } }
 *
 * The features of a context become tensors as those of an Example do
 * (example.h).  A list has rows, each of which is a feature:
 *
 *     SPARSE   indices [example, row, number], values, shape
 *     DENSE    [examples, most rows, shape of a row], filled with zeros or
 *              empty strings; and how many rows each example has
 *     RAGGED   values, where each row's begin, where each example's rows begin
 *
 * Errors are TensorFlow's, which has other words, and is stricter, in
 * ParseSingleSequenceExample.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_PARSE_SEQUENCE_H
#define TFD_KERNELS_PARSE_SEQUENCE_H

#include "kernels/parse/example.h"

enum tfd_sequence_part { TFD_SEQUENCE_CONTEXT, TFD_SEQUENCE_LISTS };

/* `absent` of a dense list: not NULL where it may be missing. */
struct tfd_sequence_spec {
    const struct tfd_example_want *wants[2]; /* by enum tfd_sequence_part */
    int count[2];
};

struct tfd_sequence_batch {
    struct tfd_example_batch examples;
    bool is_alone; /* of ParseSingleSequenceExample */
};

/* The tensors of one want; what has no use stays empty. */
struct tfd_sequence_value {
    struct tfd_example_value of; /* extent: shape, lengths or outer splits */
    struct tfd_tensor inner;     /* splits of the rows of a RAGGED list */
};

/* One value for each want, empty before and after a failure. */
enum tfd_code tfd_sequence_parse(const struct tfd_sequence_spec *s,
                                 const struct tfd_sequence_batch *b,
                                 struct tfd_sequence_value *values[2],
                                 struct tfd_status *st) TFD_MUST_USE;

/* ---- Between sequence.c, which finds rows, and sequence_fill.c ----------- */

struct tfd_sequence_rows {
    struct tfd_feature *at; /* of all examples */
    int64_t count, room;
    int64_t *lengths; /* of each example; -1: it has no such list */
};

enum tfd_code tfd_sequence_fill(const struct tfd_example_want *w,
                                const struct tfd_sequence_rows *rows,
                                int64_t count, bool is_single,
                                struct tfd_sequence_value *out,
                                struct tfd_status *st) TFD_MUST_USE;

#endif
