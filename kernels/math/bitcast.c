/*
 * bitcast.c - Bitcast: the same bytes as elements of another type.
 *
 * Elements that are n times as large take n of the last dimension, which then
 * goes; smaller ones make one more dimension.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/layout/runs.h"

static enum tfd_code shape_of(const struct tfd_shape *in, enum tfd_dtype from,
                              enum tfd_dtype to, struct tfd_shape *out,
                              struct tfd_status *st)
{
    const int64_t in_size = (int64_t)tfd_dtype_size(from);
    const int64_t out_size = (int64_t)tfd_dtype_size(to);

    *out = *in;
    if (in_size == out_size || in->rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    if (in_size > out_size) {
        if (in->rank == TFD_RANK_MAX)
            return tfd_fail(st, TFD_UNIMPLEMENTED,
                            "Bitcast of a tensor with %d dimensions", in->rank);
        out->dim[out->rank++] = in_size / out_size;
        return TFD_OK;
    }
    if (in->rank == 0 || (in->dim[in->rank - 1] != TFD_DIM_UNKNOWN &&
                          in->dim[in->rank - 1] != out_size / in_size))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Cannot bitcast from %d to %d", (int)from, (int)to);
    out->rank--;
    return TFD_OK;
}

static bool is_aligned(const struct tfd_tensor *t, enum tfd_dtype to)
{
    return (uintptr_t)tfd_tensor_data(t) % tfd_dtype_size(to) == 0;
}

static enum tfd_code bitcast_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    const enum tfd_dtype to = (enum tfd_dtype)k->node->out_types[0];
    const int64_t n = tfd_tensor_elements(x);
    struct tfd_shape out;

    TFD_TRY(shape_of(&x->shape, x->dtype, to, &out, st));
    TFD_TRY(tfd_shape_make(&out, out.dim, out.rank, st));
    if (n > 0 && is_aligned(x, to)) {
        k->out[0] = (struct tfd_tensor){to, out, tfd_buffer_ref(x->buffer)};
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output(k, 0, to, &out, st));
    return tfd_runs_copy(k, 0, n, 0, x, n, 0, n, 1, st);
}

static enum tfd_code bitcast_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    enum tfd_dtype from, to;

    if (!s->node)
        return TFD_OK;
    TFD_TRY(tfd_node_type(s->node, "T", &from, st));
    TFD_TRY(tfd_node_type(s->node, "type", &to, st));
    return shape_of(&s->in[0], from, to, &s->out[0], st);
}

static const struct tfd_opdef ops[] = {
    {
        .name = "Bitcast",
        .inputs = "input: T",
        .outputs = "output: type",
        .attrs = "T: numbertype; type: numbertype",
        .shape = bitcast_shape,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Bitcast", bitcast_compute),
};

const struct tfd_family tfd_family_bitcast = {
    .name = "bitcast",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
