/*
 * sequence_fill.c - makes the output tensors of one list of features: see
 * sequence.h.  What is in the rows has been checked before.
 */
#include "kernels/core/element.h"
#include "kernels/parse/sequence.h"

#include <string.h>

struct fill {
    const struct tfd_example_want *want;
    const struct tfd_sequence_rows *rows;
    int64_t count; /* of examples */
    bool is_single;
    int64_t values, most_rows, most_values;
};

static int64_t length_of(const struct fill *f, int64_t example)
{
    int64_t n = f->rows->lengths[example];

    return n > 0 ? n : 0;
}

static void measure(struct fill *f)
{
    for (int64_t i = 0; i < f->count; i++)
        if (length_of(f, i) > f->most_rows)
            f->most_rows = length_of(f, i);
    for (int64_t i = 0; i < f->rows->count; i++) {
        int64_t n = f->rows->at[i].count;

        f->values += n;
        f->most_values = n > f->most_values ? n : f->most_values;
    }
}

static enum tfd_code new_tensor(struct tfd_tensor *out, enum tfd_dtype dtype,
                                const int64_t *dim, int rank,
                                struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(tfd_shape_make(&shape, dim, rank, st));
    return tfd_tensor_new(out, dtype, &shape, st);
}

/* All values, one after the other. */
static enum tfd_code fill_values(const struct fill *f, struct tfd_tensor *out,
                                 struct tfd_status *st)
{
    int64_t at = 0;

    TFD_TRY(new_tensor(out, f->want->dtype, &f->values, 1, st));
    for (int64_t i = 0; i < f->rows->count; i++) {
        const struct tfd_feature *x = &f->rows->at[i];

        TFD_TRY(tfd_feature_copy(
            x, tfd_element_at(tfd_tensor_data(out), f->want->dtype, at), st));
        at += x->count;
    }
    return TFD_OK;
}

/* ---- Sparse -------------------------------------------------------------- */

static enum tfd_code fill_places(const struct fill *f, struct tfd_tensor *out,
                                 struct tfd_status *st)
{
    const int64_t dim[2] = {f->values, f->is_single ? 2 : 3};
    const struct tfd_feature *x = f->rows->at;
    int64_t *to;

    TFD_TRY(new_tensor(out, TFD_INT64, dim, 2, st));
    to = tfd_tensor_data(out);
    for (int64_t i = 0; i < f->count; i++)
        for (int64_t row = 0; row < length_of(f, i); row++, x++)
            for (int64_t n = 0; n < x->count; n++) {
                if (!f->is_single)
                    *to++ = i;
                *to++ = row;
                *to++ = n;
            }
    return TFD_OK;
}

static enum tfd_code fill_sparse_list(const struct fill *f,
                                      struct tfd_example_value *out,
                                      struct tfd_status *st)
{
    int64_t rank = f->is_single ? 2 : 3, *extent;

    TFD_TRY(fill_values(f, &out->values, st));
    TFD_TRY(fill_places(f, &out->indices, st));
    TFD_TRY(new_tensor(&out->extent, TFD_INT64, &rank, 1, st));
    extent = tfd_tensor_data(&out->extent);
    if (!f->is_single)
        *extent++ = f->count;
    *extent++ = f->most_rows;
    *extent = f->most_values;
    return TFD_OK;
}

/* ---- Dense --------------------------------------------------------------- */

static enum tfd_code fill_lengths(const struct fill *f, struct tfd_tensor *out,
                                  struct tfd_status *st)
{
    int64_t *to;

    TFD_TRY(new_tensor(out, TFD_INT64, &f->count, f->is_single ? 0 : 1, st));
    to = tfd_tensor_data(out);
    for (int64_t i = 0; i < f->count; i++)
        to[i] = length_of(f, i);
    return TFD_OK;
}

/* Room for all rows; a new tensor's strings are empty. */
static enum tfd_code new_dense(const struct fill *f, struct tfd_tensor *out,
                               struct tfd_status *st)
{
    const struct tfd_shape *row = &f->want->shape;
    int64_t dim[TFD_RANK_MAX + 2];
    int rank = 0;

    if (!f->is_single)
        dim[rank++] = f->count;
    dim[rank++] = f->most_rows;
    for (int i = 0; i < row->rank; i++)
        dim[rank++] = row->dim[i];
    TFD_TRY(new_tensor(out, f->want->dtype, dim, rank, st));
    if (f->want->dtype != TFD_STRING && tfd_tensor_elements(out) > 0)
        memset(tfd_tensor_data(out), 0,
               (size_t)tfd_tensor_elements(out) *
                   tfd_dtype_size(f->want->dtype));
    return TFD_OK;
}

static enum tfd_code fill_dense_list(const struct fill *f,
                                     struct tfd_example_value *out,
                                     struct tfd_status *st)
{
    int64_t stride = tfd_shape_elements(&f->want->shape);
    const struct tfd_feature *x = f->rows->at;
    enum tfd_dtype dtype = f->want->dtype;

    TFD_TRY(fill_lengths(f, &out->extent, st));
    TFD_TRY(new_dense(f, &out->values, st));
    for (int64_t i = 0; stride > 0 && i < f->count; i++)
        for (int64_t row = 0; row < length_of(f, i); row++)
            TFD_TRY(tfd_feature_copy(
                x++,
                tfd_element_at(tfd_tensor_data(&out->values), dtype,
                               (i * f->most_rows + row) * stride),
                st));
    return TFD_OK;
}

/* ---- Ragged -------------------------------------------------------------- */

static void put_split(struct tfd_tensor *t, int64_t i, int64_t value)
{
    if (t->dtype == TFD_INT32)
        ((int32_t *)tfd_tensor_data(t))[i] = (int32_t)value;
    else
        ((int64_t *)tfd_tensor_data(t))[i] = value;
}

/* A single example has no outer splits; what TensorFlow gives is not set. */
static enum tfd_code fill_outer(const struct fill *f, struct tfd_tensor *out,
                                struct tfd_status *st)
{
    int64_t count = f->count + 1, at = 0;

    TFD_TRY(new_tensor(out, f->want->splits, &count, f->is_single ? 0 : 1, st));
    put_split(out, 0, 0);
    for (int64_t i = 0; !f->is_single && i < f->count; i++) {
        at += length_of(f, i);
        put_split(out, i + 1, at);
    }
    return TFD_OK;
}

static enum tfd_code fill_ragged_list(const struct fill *f,
                                      struct tfd_sequence_value *out,
                                      struct tfd_status *st)
{
    int64_t count = f->rows->count + 1, at = 0;

    if (f->want->splits == TFD_INT32 &&
        (f->values > INT32_MAX || f->rows->count > INT32_MAX))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%lld values of feature " TFD_STR_FMT
                        " are too many for splits of int32",
                        (long long)f->values, TFD_STR_ARG(f->want->key));
    TFD_TRY(fill_values(f, &out->of.values, st));
    TFD_TRY(fill_outer(f, &out->of.extent, st));
    TFD_TRY(new_tensor(&out->inner, f->want->splits, &count, 1, st));
    put_split(&out->inner, 0, 0);
    for (int64_t i = 0; i < f->rows->count; i++) {
        at += f->rows->at[i].count;
        put_split(&out->inner, i + 1, at);
    }
    return TFD_OK;
}

enum tfd_code tfd_sequence_fill(const struct tfd_example_want *w,
                                const struct tfd_sequence_rows *rows,
                                int64_t count, bool is_single,
                                struct tfd_sequence_value *out,
                                struct tfd_status *st)
{
    struct fill f = {
        .want = w,
        .rows = rows,
        .count = count,
        .is_single = is_single,
    };

    measure(&f);
    if (w->form == TFD_EXAMPLE_SPARSE)
        return fill_sparse_list(&f, &out->of, st);
    return w->form == TFD_EXAMPLE_DENSE ? fill_dense_list(&f, &out->of, st)
                                        : fill_ragged_list(&f, out, st);
}
