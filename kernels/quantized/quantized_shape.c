/*
 * quantized_shape.c - see quantized_shape.h.
 */
#include "kernels/quantized/quantized_shape.h"

#include "kernels/conv/window.h"
#include "kernels/core/check.h"
#include "kernels/core/outputs.h"

#define UNKNOWN_MATRIX                       \
    {                                        \
        2,                                   \
        {                                    \
            TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN \
        }                                    \
    }
#define UNKNOWN_IMAGES                                                         \
    {                                                                          \
        4,                                                                     \
        {                                                                      \
            TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN \
        }                                                                      \
    }

void tfd_quantized_shape_scalars(struct tfd_shape_ctx *s)
{
    for (int i = 1; i < s->out_count; i++)
        s->out[i] = (struct tfd_shape){.rank = 0};
}

enum tfd_code tfd_quantized_shape_matmul(struct tfd_shape_ctx *s,
                                         struct tfd_status *st)
{
    tfd_quantized_shape_scalars(s);
    return tfd_matmul_shape(s, st);
}

/* ---- Depthwise ----------------------------------------------------------- */

static enum tfd_code merge_dims(int64_t *a, int64_t b, struct tfd_status *st)
{
    if (*a != TFD_DIM_UNKNOWN && b != TFD_DIM_UNKNOWN && *a != b)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dimensions must be equal, but are %lld and %lld",
                        (long long)*a, (long long)b);
    if (*a == TFD_DIM_UNKNOWN)
        *a = b;
    return TFD_OK;
}

static enum tfd_code multiply_dims(int64_t a, int64_t b, int64_t *out,
                                   struct tfd_status *st)
{
    *out = TFD_DIM_UNKNOWN;
    if (a == 0 || b == 0)
        *out = 0;
    else if (a != TFD_DIM_UNKNOWN && b != TFD_DIM_UNKNOWN &&
             __builtin_mul_overflow(a, b, out))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%lld channels times %lld overflow", (long long)a,
                        (long long)b);
    return TFD_OK;
}

enum tfd_code tfd_quantized_shape_depthwise(struct tfd_shape_ctx *s,
                                            struct tfd_status *st)
{
    struct tfd_shape y = UNKNOWN_IMAGES, x = y, f = y;
    struct tfd_window w;

    if (!s->node)
        return TFD_OK;
    TFD_TRY(tfd_window_read(s->node, &w, st));
    TFD_TRY(tfd_shape_merge(&x, &s->in[0], st));
    TFD_TRY(tfd_shape_merge(&f, &s->in[1], st));
    TFD_TRY(merge_dims(&x.dim[3], f.dim[2], st));
    y.dim[0] = x.dim[0];
    TFD_TRY(
        tfd_window_out(&w, TFD_WINDOW_ROW, x.dim[1], f.dim[0], &y.dim[1], st));
    TFD_TRY(tfd_window_out(&w, TFD_WINDOW_COLUMN, x.dim[2], f.dim[1], &y.dim[2],
                           st));
    TFD_TRY(multiply_dims(x.dim[3], f.dim[3], &y.dim[3], st));
    s->out[0] = y;
    return TFD_OK;
}

/* ---- Concat -------------------------------------------------------------- */

/* The rank that all values of known rank have; TFD_RANK_UNKNOWN: none has. */
static enum tfd_code rank_of_all(const struct tfd_shape *in, int count,
                                 int *rank, bool *all, struct tfd_status *st)
{
    *rank = TFD_RANK_UNKNOWN;
    *all = true;
    for (int i = 0; i < count; i++) {
        if (in[i].rank == TFD_RANK_UNKNOWN) {
            *all = false;
            continue;
        }
        if (*rank != TFD_RANK_UNKNOWN && *rank != in[i].rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Shapes must be equal rank, but are %d and %d",
                            *rank, in[i].rank);
        *rank = in[i].rank;
    }
    return TFD_OK;
}

/* The axis's dimension is the sum, the others are all values'. */
static enum tfd_code join_dims(const struct tfd_shape *in, int count, int axis,
                               struct tfd_shape *out, struct tfd_status *st)
{
    int64_t sum = 0;

    for (int i = 0; i < count; i++) {
        for (int d = 0; d < out->rank; d++)
            if (d != axis)
                TFD_TRY(merge_dims(&out->dim[d], in[i].dim[d], st));
        if (sum == TFD_DIM_UNKNOWN || in[i].dim[axis] == TFD_DIM_UNKNOWN)
            sum = TFD_DIM_UNKNOWN;
        else if (__builtin_add_overflow(sum, in[i].dim[axis], &sum))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "the sum of %d dimensions overflows", count);
    }
    out->dim[axis] = sum;
    return TFD_OK;
}

enum tfd_code tfd_quantized_shape_concat(struct tfd_shape_ctx *s, int first,
                                         int count, int axis,
                                         struct tfd_status *st)
{
    const struct tfd_tensor *where = s->value ? s->value[axis] : NULL;
    struct tfd_shape out = {.rank = 0};
    int rank, at;
    bool all;

    tfd_quantized_shape_scalars(s);
    TFD_TRY(rank_of_all(s->in + first, count, &rank, &all, st));
    if (rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    out.rank = rank;
    for (int d = 0; d < rank; d++)
        out.dim[d] = TFD_DIM_UNKNOWN;
    if (where && tfd_tensor_elements(where) == 1 && all) {
        TFD_TRY(tfd_check_axis(tfd_check_int_at(where, 0), rank, &at, st));
        TFD_TRY(join_dims(s->in + first, count, at, &out, st));
    }
    s->out[0] = out;
    return TFD_OK;
}

/* ---- Convolutions -------------------------------------------------------- */

void tfd_quantized_shape_ends(struct tfd_shape_ctx *s)
{
    const struct tfd_op *op = s->node->op;
    int filter = 0;

    tfd_quantized_shape_scalars(s);
    if (tfd_str_is(op->name, "QuantizedConv2D"))
        return;
    for (int i = 0; i < op->in_count; i++) {
        if (tfd_str_is(op->in[i].name, "min_freezed_output"))
            return;
        if (tfd_str_is(op->in[i].name, "min_filter"))
            filter = i;
    }
    s->out[1] = s->out[2] = s->in[filter];
}

/* ---- Ranges -------------------------------------------------------------- */

enum tfd_code tfd_quantized_shape_range(const struct tfd_shape_ctx *s,
                                        const struct tfd_shape *x, int low,
                                        struct tfd_shape *out,
                                        struct tfd_status *st)
{
    struct tfd_shape ends = {.rank = 0};
    int64_t axis = -1;

    if (s->node)
        TFD_TRY(tfd_node_int(s->node, "axis", &axis, st));
    if (axis >= 0) {
        ends = (struct tfd_shape){1, {TFD_DIM_UNKNOWN}};
        if (x->rank > axis)
            ends.dim[0] = x->dim[axis];
        else if (x->rank != TFD_RANK_UNKNOWN)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Shape must be at least rank %lld but is rank %d",
                            (long long)axis + 1, x->rank);
    }
    for (int i = low; i < low + 2; i++)
        TFD_TRY(tfd_shape_merge(&ends, &s->in[i], st));
    *out = ends;
    return TFD_OK;
}

enum tfd_code tfd_quantized_shape_back(struct tfd_shape_ctx *s,
                                       struct tfd_status *st)
{
    struct tfd_shape all = s->in[0];

    TFD_TRY(tfd_shape_merge(&all, &s->in[1], st));
    s->out[0] = all;
    TFD_TRY(tfd_quantized_shape_range(s, &all, 2, &s->out[1], st));
    s->out[2] = s->out[1];
    return TFD_OK;
}
