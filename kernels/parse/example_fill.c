/*
 * example_fill.c - makes the output tensors of one feature of many examples:
 * see example.h.  What is in the features has been checked before.
 */
#include "kernels/core/element.h"
#include "kernels/parse/example.h"

struct fill {
    const struct tfd_example_want *want;
    const struct tfd_feature *features;
    int step;
    int64_t count; /* of examples */
    bool is_single;
};

static const struct tfd_feature *feature_at(const struct fill *f, int64_t i)
{
    return &f->features[i * f->step];
}

static int64_t total_values(const struct fill *f, int64_t *most)
{
    int64_t total = 0;

    *most = 0;
    for (int64_t i = 0; i < f->count; i++) {
        int64_t n = feature_at(f, i)->count;

        total += n;
        *most = n > *most ? n : *most;
    }
    return total;
}

static enum tfd_code new_row(struct tfd_tensor *out, enum tfd_dtype dtype,
                             int64_t count, struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(tfd_shape_make(&shape, &count, 1, st));
    return tfd_tensor_new(out, dtype, &shape, st);
}

/* The values of all examples, one after the other. */
static enum tfd_code fill_row(const struct fill *f, int64_t total,
                              struct tfd_tensor *out, struct tfd_status *st)
{
    enum tfd_dtype dtype = f->want->dtype;
    int64_t at = 0;

    TFD_TRY(new_row(out, dtype, total, st));
    for (int64_t i = 0; i < f->count; i++) {
        const struct tfd_feature *x = feature_at(f, i);

        TFD_TRY(tfd_feature_copy(
            x, tfd_element_at(tfd_tensor_data(out), dtype, at), st));
        at += x->count;
    }
    return TFD_OK;
}

/* ---- Sparse -------------------------------------------------------------- */

static enum tfd_code fill_indices(const struct fill *f, int64_t total,
                                  struct tfd_tensor *out, struct tfd_status *st)
{
    const int64_t dim[2] = {total, f->is_single ? 1 : 2};
    struct tfd_shape shape;
    int64_t *to;

    TFD_TRY(tfd_shape_make(&shape, dim, 2, st));
    TFD_TRY(tfd_tensor_new(out, TFD_INT64, &shape, st));
    to = tfd_tensor_data(out);
    for (int64_t i = 0; i < f->count; i++)
        for (int64_t n = 0; n < feature_at(f, i)->count; n++) {
            if (!f->is_single)
                *to++ = i;
            *to++ = n;
        }
    return TFD_OK;
}

static enum tfd_code fill_sparse(const struct fill *f,
                                 struct tfd_example_value *out,
                                 struct tfd_status *st)
{
    int64_t most, total = total_values(f, &most), *extent;

    TFD_TRY(fill_row(f, total, &out->values, st));
    TFD_TRY(fill_indices(f, total, &out->indices, st));
    TFD_TRY(new_row(&out->extent, TFD_INT64, f->is_single ? 1 : 2, st));
    extent = tfd_tensor_data(&out->extent);
    if (!f->is_single)
        *extent++ = f->count;
    *extent = most;
    return TFD_OK;
}

/* ---- Ragged -------------------------------------------------------------- */

static enum tfd_code fill_splits(const struct fill *f, int64_t total,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    int64_t at = 0, count = f->is_single ? 0 : f->count + 1;

    if (f->want->splits == TFD_INT32 && total > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%lld values of feature " TFD_STR_FMT
                        " are too many for splits of int32",
                        (long long)total, TFD_STR_ARG(f->want->key));
    TFD_TRY(new_row(out, f->want->splits, count, st));
    for (int64_t i = 0; i < count; i++) {
        if (f->want->splits == TFD_INT32)
            ((int32_t *)tfd_tensor_data(out))[i] = (int32_t)at;
        else
            ((int64_t *)tfd_tensor_data(out))[i] = at;
        if (i < f->count)
            at += feature_at(f, i)->count;
    }
    return TFD_OK;
}

static enum tfd_code fill_ragged(const struct fill *f,
                                 struct tfd_example_value *out,
                                 struct tfd_status *st)
{
    int64_t most, total = total_values(f, &most);

    TFD_TRY(fill_row(f, total, &out->values, st));
    return fill_splits(f, total, &out->extent, st);
}

/* ---- Dense --------------------------------------------------------------- */

/* [examples] [longest] the rest of the declared shape. */
static enum tfd_code dense_shape(const struct fill *f, int64_t stride,
                                 struct tfd_shape *out, struct tfd_status *st)
{
    const struct tfd_shape *declared = &f->want->shape;
    int64_t dim[TFD_RANK_MAX + 1], most;
    int rank = 0;

    (void)total_values(f, &most);
    if (!f->is_single)
        dim[rank++] = f->count;
    for (int i = 0; i < declared->rank; i++)
        dim[rank++] = declared->dim[i];
    if (tfd_example_is_variable(f->want))
        dim[f->is_single ? 0 : 1] = stride > 0 ? most / stride : 0;
    return tfd_shape_make(out, dim, rank, st);
}

/* The values of one example into `size` elements. */
static enum tfd_code fill_example(const struct fill *f, int64_t number,
                                  void *to, int64_t size, struct tfd_status *st)
{
    const struct tfd_example_want *w = f->want;
    const struct tfd_feature *x = feature_at(f, number);
    bool is_there = x->dtype != TFD_DTYPE_INVALID;

    if (size == 0)
        return TFD_OK;
    if (!is_there && !tfd_example_is_variable(w))
        return tfd_elements_copy(w->dtype, to, tfd_tensor_data(w->absent), size,
                                 st);
    TFD_TRY(tfd_feature_copy(x, to, st));
    if (x->count == size)
        return TFD_OK;
    return tfd_elements_fill(w->dtype, tfd_element_at(to, w->dtype, x->count),
                             tfd_tensor_data(w->absent), size - x->count, st);
}

static enum tfd_code fill_dense(const struct fill *f,
                                struct tfd_example_value *out,
                                struct tfd_status *st)
{
    int64_t stride = tfd_example_stride(f->want), size;
    struct tfd_shape shape;

    TFD_TRY(dense_shape(f, stride, &shape, st));
    TFD_TRY(tfd_tensor_new(&out->values, f->want->dtype, &shape, st));
    size = f->count > 0 ? tfd_shape_elements(&shape) / f->count : 0;
    for (int64_t i = 0; i < f->count; i++)
        TFD_TRY(fill_example(f, i,
                             tfd_element_at(tfd_tensor_data(&out->values),
                                            f->want->dtype, i * size),
                             size, st));
    return TFD_OK;
}

enum tfd_code tfd_example_fill(const struct tfd_example_want *w,
                               const struct tfd_feature *features, int step,
                               int64_t count, bool is_single,
                               struct tfd_example_value *out,
                               struct tfd_status *st)
{
    const struct fill f = {w, features, step, count, is_single};

    if (w->form == TFD_EXAMPLE_SPARSE)
        return fill_sparse(&f, out, st);
    return w->form == TFD_EXAMPLE_RAGGED ? fill_ragged(&f, out, st)
                                         : fill_dense(&f, out, st);
}
