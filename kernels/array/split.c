/*
 * split.c - cutting along a dimension: Split, SplitV.
 *
 * As in TensorFlow a single part, and parts of whole aligned rows, share the
 * input's memory.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/layout/runs.h"

static enum tfd_code cut_input(struct tfd_kctx *k, int in, int axis,
                               const int64_t *sizes, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[in];
    struct tfd_shape out = x->shape;
    int64_t outer, inner;

    tfd_runs_around(&x->shape, axis, &outer, &inner);
    if (k->out_count == 1) {
        tfd_kctx_output_alias(k, in, 0, &out);
        return TFD_OK;
    }
    if (axis == 0 && tfd_runs_share(k, in, out, sizes))
        return TFD_OK;
    for (int i = 0; i < k->out_count; i++) {
        int64_t size = sizes ? sizes[i] : x->shape.dim[axis] / k->out_count;

        out.dim[axis] = size;
        TFD_TRY(tfd_kctx_output(k, i, x->dtype, &out, st));
    }
    return tfd_runs_cut(k, x, outer, st);
}

static enum tfd_code split_axis(const struct tfd_kctx *k, int arg,
                                const struct tfd_tensor *x, int *axis,
                                struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[arg];
    int64_t at;

    if (tfd_tensor_elements(t) != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "split_dim_tensor must have exactly one element.");
    at = tfd_check_int_at(t, 0);
    if (at < -x->shape.rank || at >= x->shape.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "-input rank(-%d) <= split_dim < input rank (%d), but "
                        "got %lld",
                        x->shape.rank, x->shape.rank, (long long)at);
    *axis = (int)(at < 0 ? at + x->shape.rank : at);
    return TFD_OK;
}

static enum tfd_code split_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[1];
    int axis = 0;

    TFD_TRY(split_axis(k, 0, x, &axis, st));
    if (x->shape.dim[axis] % k->out_count != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of ways to split should evenly divide the "
                        "split dimension, but got split_dim %d (size = %lld) "
                        "and num_split %d",
                        axis, (long long)x->shape.dim[axis], k->out_count);
    return cut_input(k, 1, axis, NULL, st);
}

static int64_t size_at(const struct tfd_tensor *t, int64_t i)
{
    if (t->dtype == TFD_INT8)
        return ((const int8_t *)tfd_tensor_data(t))[i];
    return tfd_check_int_at(t, i);
}

#define SPLITS_MAX 1024

static enum tfd_code split_v_count(const struct tfd_kctx *k,
                                   struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[1];

    if (t->shape.rank != 1 || t->shape.dim[0] != k->out_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "size of the split_tensor must be 1-D and have the "
                        "same elements as outputs got %d -D and %lld elements",
                        t->shape.rank, (long long)tfd_tensor_elements(t));
    if (k->out_count > SPLITS_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "SplitV into %d parts; at most %d are supported",
                        k->out_count, SPLITS_MAX);
    return TFD_OK;
}

static enum tfd_code fail_only(int64_t dim, int64_t size, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "If there is only one output, it must have the same size "
                    "as the input. Input size: %lld output size: %lld",
                    (long long)dim, (long long)size);
}

static enum tfd_code fail_sum(int64_t sum, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Determined shape must either match input shape along "
                    "split_dim exactly if fully specified, or be less than "
                    "the size of the input along split_dim if not fully "
                    "specified.  Got: %lld",
                    (long long)sum);
}

static enum tfd_code split_v_sizes(const struct tfd_kctx *k, int64_t dim,
                                   int64_t *sizes, struct tfd_status *st)
{
    int64_t sum = 0;
    int unknown = -1;

    TFD_TRY(split_v_count(k, st));
    for (int i = 0; i < k->out_count; i++)
        sizes[i] = size_at(&k->in[1], i);
    if (k->out_count == 1)
        return sizes[0] == dim ? TFD_OK : fail_only(dim, sizes[0], st);
    for (int i = 0; i < k->out_count; i++) {
        if (sizes[i] != -1) {
            if (__builtin_add_overflow(sum, sizes[i], &sum))
                return tfd_fail(st, TFD_INVALID_ARGUMENT,
                                "Split sizes add up to more than 2**63 - 1");
        } else if (unknown < 0) {
            unknown = i;
        } else {
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "There can only be one -1 in the input.");
        }
    }
    if (unknown < 0 ? sum != dim : sum > dim)
        return fail_sum(sum, st);
    /* Negative sizes elsewhere are refused below, whatever comes out here. */
    if (unknown >= 0 && __builtin_sub_overflow(dim, sum, &sizes[unknown]))
        return fail_sum(sum, st);
    for (int i = 0; i < k->out_count; i++)
        if (sizes[i] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Split size at index %d must be >= 0. Got: %lld", i,
                            (long long)sizes[i]);
    return TFD_OK;
}

static enum tfd_code split_v_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    int64_t sizes[SPLITS_MAX];
    int axis = 0;

    TFD_TRY(split_axis(k, 2, x, &axis, st));
    TFD_TRY(split_v_sizes(k, x->shape.dim[axis], sizes, st));
    return cut_input(k, 0, axis, sizes, st);
}

/* dx is the parts put together again. */
static enum tfd_code join_parts(struct tfd_grad *g, struct tfd_edge axis,
                                struct tfd_edge *dx, struct tfd_status *st)
{
    struct tfd_edge in[TFD_GRAD_LIST_MAX + 1];
    int count = g->node->out_count;

    if (count == 1) {
        *dx = g->dy[0];
        return TFD_OK;
    }
    TFD_TRY(tfd_runs_gradients(g, in, st));
    in[count] = axis;
    return tfd_grad_emit(g, "ConcatV2", in, count + 1, dx, st);
}

static enum tfd_code split_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return join_parts(g, g->x[0], &g->dx[1], st);
}

static enum tfd_code split_v_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return join_parts(g, g->x[2], &g->dx[0], st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Split",
        .inputs = "split_dim: int32, value: T",
        .outputs = "output: num_split * T",
        .attrs = "num_split: int >= 1; T: type",
        .checks = "split_dim: scalar 'split_dim must be a scalar but has rank "
                  "%d'",
        .grad = split_gradient,
    },
    {
        .name = "SplitV",
        .inputs = "value: T, size_splits: Tlen, split_dim: int32",
        .outputs = "output: num_split * T",
        .attrs = "num_split: int >= 1; T: type; "
                 "Tlen: {int8, int32, int64} = DT_INT64",
        .grad = split_v_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Split", split_compute),
    TFD_KERNEL_ANY("SplitV", split_v_compute),
};

const struct tfd_family tfd_family_split = {
    .name = "split",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
