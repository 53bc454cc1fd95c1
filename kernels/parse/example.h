/*
 * example.h - serialized Examples into tensors.
 *
 *     Example { features = 1 { feature = 1: map<name, Feature> } }
 *
 * What is wanted of them is a list of features, each in one of three forms:
 *
 *     SPARSE   indices, values, shape of a sparse tensor
 *     DENSE    one tensor: every example has as many values, or, of a shape
 *              that begins with an unknown dimension, shorter ones are padded
 *     RAGGED   all values in one row, and where each example's begin
 *
 * Several examples are a batch, whose number is the first dimension; a single
 * one is not.  Errors are TensorFlow's, which has other words for the one than
 * for the other.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_PARSE_EXAMPLE_H
#define TFD_KERNELS_PARSE_EXAMPLE_H

#include "common/base/map.h"
#include "kernels/parse/feature.h"

enum tfd_example_form {
    TFD_EXAMPLE_SPARSE,
    TFD_EXAMPLE_DENSE,
    TFD_EXAMPLE_RAGGED,
};

struct tfd_example_want {
    struct tfd_str key;
    enum tfd_example_form form;
    enum tfd_dtype dtype;
    enum tfd_dtype splits;  /* RAGGED: INT32 or INT64 */
    struct tfd_shape shape; /* DENSE: its first dimension may be unknown */
    const struct tfd_tensor *absent; /* DENSE: for what is missing, or of the
                                      * unknown dimension one element to pad
                                      * with; no elements: it is required */
};

struct tfd_example_spec {
    const struct tfd_example_want *wants;
    int count;
    struct tfd_map by_key;
};

/* The tensors of one want, by its form; the others stay empty. */
struct tfd_example_value {
    struct tfd_tensor values;
    struct tfd_tensor indices; /* SPARSE */
    struct tfd_tensor extent;  /* SPARSE: its shape; RAGGED: splits */
};

struct tfd_example_batch {
    const struct tfd_tstring *serialized;
    const struct tfd_tstring *names; /* for messages; NULL: they have none */
    int64_t count;
    bool is_single;
};

/* Borrows the wants.  INVALID_ARGUMENT where two have one key, or a dense one's
 * default does not fit its shape. */
enum tfd_code tfd_example_spec_init(struct tfd_example_spec *s,
                                    const struct tfd_example_want *wants,
                                    int count,
                                    struct tfd_status *st) TFD_MUST_USE;
void tfd_example_spec_deinit(struct tfd_example_spec *s);

/* One value for each want, empty before and after a failure. */
enum tfd_code tfd_example_parse(const struct tfd_example_spec *s,
                                const struct tfd_example_batch *b,
                                struct tfd_example_value *values,
                                struct tfd_status *st) TFD_MUST_USE;

/* ---- Between example.c, which finds features, and example_fill.c --------- */

static inline bool tfd_example_is_variable(const struct tfd_example_want *w)
{
    return w->shape.rank > 0 && w->shape.dim[0] == TFD_DIM_UNKNOWN;
}

/* Values of an example's row, or of all of it where its length is fixed. */
int64_t tfd_example_stride(const struct tfd_example_want *w);
/* features: of each example's, `step` further on. */
enum tfd_code tfd_example_fill(const struct tfd_example_want *w,
                               const struct tfd_feature *features, int step,
                               int64_t count, bool is_single,
                               struct tfd_example_value *out,
                               struct tfd_status *st) TFD_MUST_USE;

#endif
