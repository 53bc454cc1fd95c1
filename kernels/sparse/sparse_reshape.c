/*
 * sparse_reshape.c - SparseReshape: the indices of the same elements in another
 * shape.
 *
 * An index outside of the dimensions gives numbers of no meaning, as in
 * TensorFlow, which does not look either; they are computed without overflow
 * being undefined.
 */
#include "kernels/sparse/sparse_reshape.h"

#include "kernels/core/check.h"
#include "kernels/core/families.h"

#include <inttypes.h>
#include <string.h>

static enum tfd_code check_parts(const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    const struct tfd_shape *indices = &k->in[0].shape;
    const struct tfd_shape *from = &k->in[1].shape, *to = &k->in[2].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (indices->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Input must be a matrix.");
    if (from->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input shape must be a vector.");
    if (indices->dim[1] != from->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input tensor rank must match input shape length.");
    if (to->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Target shape should be a vector but received shape %s",
                        tfd_shape_text(to, text));
    if (from->dim[0] > TFD_RANK_MAX || to->dim[0] > TFD_RANK_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a sparse tensor of rank %" PRId64 "; the limit is %d",
                        from->dim[0] > TFD_RANK_MAX ? from->dim[0] : to->dim[0],
                        TFD_RANK_MAX);
    return TFD_OK;
}

/* The product of those that are not negative. */
static enum tfd_code count_new_dims(const struct tfd_sparse_dims *d,
                                    int64_t *out, struct tfd_status *st)
{
    int64_t n = 1;

    for (int i = 0; i < d->rank; i++) {
        const int64_t before = n;

        if (d->dim[i] >= 0 && __builtin_mul_overflow(n, d->dim[i], &n))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Encountered overflow when multiplying %" PRId64
                            " with %" PRId64 ", result: -1",
                            before, d->dim[i]);
    }
    *out = n;
    return TFD_OK;
}

static enum tfd_code read_input(const struct tfd_kctx *k,
                                struct tfd_sparse_dims *d, int64_t *size,
                                struct tfd_status *st)
{
    d->rank = (int)k->in[1].shape.dim[0];
    for (int i = 0; i < d->rank; i++) {
        d->dim[i] = tfd_check_int_at(&k->in[1], i);
        if (d->dim[i] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected shape dimensions to be non-negative, got "
                            "%" PRId64,
                            d->dim[i]);
    }
    return count_new_dims(d, size, st);
}

/* Where the unknown dimension is; -1 without one. */
static enum tfd_code read_target(const struct tfd_kctx *k,
                                 struct tfd_sparse_dims *d, int *unknown,
                                 struct tfd_status *st)
{
    *unknown = -1;
    d->rank = (int)k->in[2].shape.dim[0];
    for (int i = 0; i < d->rank; i++) {
        d->dim[i] = tfd_check_int_at(&k->in[2], i);
        if (d->dim[i] < -1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "size %d must be non-negative, not %" PRId64, i,
                            d->dim[i]);
        if (d->dim[i] == -1 && *unknown >= 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "only one output dimension may be -1, not both %d "
                            "and %d",
                            *unknown, i);
        if (d->dim[i] == -1)
            *unknown = i;
    }
    return TFD_OK;
}

/* As shapes are written, an unknown dimension as 1. */
static const char *dims_text(const struct tfd_sparse_dims *d, char *text)
{
    struct tfd_shape s = {.rank = d->rank};

    for (int i = 0; i < d->rank; i++)
        s.dim[i] = d->dim[i] < 0 ? 1 : d->dim[i];
    return tfd_shape_text(&s, text);
}

static enum tfd_code fit(const struct tfd_sparse_dims *from,
                         struct tfd_sparse_dims *to, int unknown, int64_t size,
                         struct tfd_status *st)
{
    char have[TFD_SHAPE_TEXT_MAX], want[TFD_SHAPE_TEXT_MAX];
    int64_t known = 0;

    TFD_TRY(count_new_dims(to, &known, st));
    if (unknown >= 0 && known == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "reshape cannot infer the missing input size for an "
                        "empty tensor unless all specified input sizes are "
                        "non-zero");
    if (unknown >= 0 && size % known)
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT,
            "Input to reshape is a SparseTensor with %" PRId64
            " dense values, but the requested shape requires a "
            "multiple of %" PRId64 ". input_shape=%s output_shape=%s",
            size, known, dims_text(from, have), dims_text(to, want));
    if (unknown >= 0)
        to->dim[unknown] = size / known;
    else if (known != size)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input to reshape is a tensor with %" PRId64
                        " dense values, but the requested shape has %" PRId64
                        ". input_shape=%s output_shape=%s",
                        size, known, dims_text(from, have),
                        dims_text(to, want));
    return TFD_OK;
}

void tfd_sparse_reshape_strides(const struct tfd_sparse_dims *d,
                                int64_t *stride)
{
    int64_t step = 1;

    for (int i = d->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= d->dim[i];
    }
}

static void move_indices(const int64_t *in, const struct tfd_sparse_dims *from,
                         int64_t *out, const struct tfd_sparse_dims *to,
                         int64_t n)
{
    int64_t from_stride[TFD_RANK_MAX], to_stride[TFD_RANK_MAX];

    tfd_sparse_reshape_strides(from, from_stride);
    tfd_sparse_reshape_strides(to, to_stride);
    for (int64_t i = 0; i < n; i++) {
        uint64_t sum = 0;
        int64_t at;

        for (int d = 0; d < from->rank; d++)
            sum += (uint64_t)in[i * from->rank + d] * (uint64_t)from_stride[d];
        at = (int64_t)sum;
        for (int d = 0; d < to->rank; d++) {
            out[i * to->rank + d] = at / to_stride[d];
            at %= to_stride[d];
        }
    }
}

static bool is_same(const struct tfd_sparse_dims *a,
                    const struct tfd_sparse_dims *b)
{
    return a->rank == b->rank &&
           !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof(a->dim[0]));
}

static enum tfd_code put_reshaped(struct tfd_kctx *k,
                                  const struct tfd_sparse_dims *from,
                                  const struct tfd_sparse_dims *to,
                                  struct tfd_status *st)
{
    const struct tfd_shape matrix = {2, {k->in[0].shape.dim[0], to->rank}};
    const struct tfd_shape vector = {1, {to->rank}};
    int64_t *sizes;

    TFD_TRY(tfd_kctx_output(k, 1, TFD_INT64, &vector, st));
    sizes = tfd_tensor_data(&k->out[1]);
    for (int d = 0; d < to->rank; d++)
        sizes[d] = to->dim[d];
    if (is_same(from, to)) {
        tfd_kctx_output_alias(k, 0, 0, &matrix);
        return TFD_OK;
    }
    return tfd_kctx_output(k, 0, TFD_INT64, &matrix, st);
}

enum tfd_code tfd_sparse_reshape_outputs(struct tfd_kctx *k,
                                         struct tfd_sparse_dims *from,
                                         struct tfd_sparse_dims *to, bool *same,
                                         struct tfd_status *st)
{
    char have[TFD_SHAPE_TEXT_MAX], want[TFD_SHAPE_TEXT_MAX];
    int64_t size = 0;
    int unknown;

    TFD_TRY(check_parts(k, st));
    TFD_TRY(read_input(k, from, &size, st));
    TFD_TRY(read_target(k, to, &unknown, st));
    TFD_TRY(fit(from, to, unknown, size, st));
    if (size == 0 && k->in[0].shape.dim[0] > 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input tensor has %" PRId64
                        " non zero elements but input shape (%s) or output "
                        "shape (%s) is empty",
                        k->in[0].shape.dim[0], dims_text(from, have),
                        dims_text(to, want));
    *same = is_same(from, to);
    return put_reshaped(k, from, to, st);
}

static enum tfd_code compute_sparse_reshape(struct tfd_kctx *k,
                                            struct tfd_status *st)
{
    struct tfd_sparse_dims from, to;
    bool same;

    TFD_TRY(tfd_sparse_reshape_outputs(k, &from, &to, &same, st));
    if (!same)
        move_indices(tfd_tensor_data(&k->in[0]), &from,
                     tfd_tensor_data(&k->out[0]), &to, k->in[0].shape.dim[0]);
    return TFD_OK;
}

static enum tfd_code shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape matrix = {2, {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};
    struct tfd_shape vector = {1, {TFD_DIM_UNKNOWN}}, sizes = vector;

    TFD_TRY(tfd_shape_merge(&matrix, &s->in[0], st));
    TFD_TRY(tfd_shape_merge(&sizes, &s->in[1], st));
    TFD_TRY(tfd_shape_merge(&vector, &s->in[2], st));
    s->out[0] = (struct tfd_shape){2, {matrix.dim[0], vector.dim[0]}};
    s->out[1] = vector;
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseReshape",
        .inputs = "input_indices: int64, input_shape: int64, new_shape: int64",
        .outputs = "output_indices: int64, output_shape: int64",
        .attrs = "",
        .shape = shape,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("SparseReshape", compute_sparse_reshape),
};

const struct tfd_family tfd_family_sparse_reshape = {
    .name = "sparse_reshape",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
