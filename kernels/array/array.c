/*
 * array.c - ops that read or change a tensor's shape and share or ignore its
 * elements:
 *
 *     Rank Shape ShapeN Size              what the shape is
 *     Reshape ExpandDims Squeeze          the same elements in another shape
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"

#include <string.h>

static const struct tfd_shape scalar_shape = {0, {0}};

/* Writes value i of an INT32 or INT64 output. */
static enum tfd_code put_int(struct tfd_kctx *k, int out, int64_t i,
                             int64_t value, struct tfd_status *st)
{
    void *data = tfd_tensor_data(&k->out[out]);

    if (k->out[out].dtype == TFD_INT64) {
        ((int64_t *)data)[i] = value;
        return TFD_OK;
    }
    if (value > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%lld does not fit the int32 output of %s",
                        (long long)value, k->node->op->name.data);
    ((int32_t *)data)[i] = (int32_t)value;
    return TFD_OK;
}

/* ---- Reading shapes ------------------------------------------------------ */

static enum tfd_code shape_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    for (int i = 0; i < k->out_count; i++) {
        const struct tfd_shape *s = &k->in[i].shape;
        struct tfd_shape shape = {1, {s->rank}};

        TFD_TRY(tfd_kctx_output(k, i, (enum tfd_dtype)k->node->out_types[i],
                                &shape, st));
        for (int d = 0; d < s->rank; d++)
            TFD_TRY(put_int(k, i, d, s->dim[d], st));
    }
    return TFD_OK;
}

static enum tfd_code rank_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &scalar_shape, st));
    return put_int(k, 0, 0, k->in[0].shape.rank, st);
}

static enum tfd_code size_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    TFD_TRY(tfd_kctx_output(k, 0, (enum tfd_dtype)k->node->out_types[0],
                            &scalar_shape, st));
    return put_int(k, 0, 0, tfd_tensor_elements(&k->in[0]), st);
}

static enum tfd_code shape_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    for (int i = 0; i < s->out_count; i++) {
        s->out[i].rank = 1;
        s->out[i].dim[0] =
            s->in[i].rank == TFD_RANK_UNKNOWN ? TFD_DIM_UNKNOWN : s->in[i].rank;
    }
    return TFD_OK;
}

/* ---- Reshape ------------------------------------------------------------- */

/* What a wanted shape says: the product of its dimensions that are neither -1
 * nor 0, where the -1 is (or -1), and whether there is a 0.  Products fit: that
 * is checked where shapes are made. */
struct wanted {
    int64_t known;
    int unknown;
    bool zero;
};

static enum tfd_code read_wanted(const struct tfd_shape *want, struct wanted *w,
                                 struct tfd_status *st)
{
    *w = (struct wanted){1, -1, false};
    for (int d = 0; d < want->rank; d++) {
        if (want->dim[d] == 0) {
            w->zero = true;
        } else if (want->dim[d] != TFD_DIM_UNKNOWN) {
            w->known *= want->dim[d];
        } else if (w->unknown >= 0) {
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Only one input size may be -1, not both %d and %d",
                            w->unknown, d);
        } else {
            w->unknown = d;
        }
    }
    return TFD_OK;
}

/* Replaces the -1 by what the number of elements leaves.  Where the wanted
 * shape has a 0, zero dimensions count on neither side, so that [0,3] to [0,-1]
 * is [0,3], and a remainder is no mistake. */
static enum tfd_code infer_dim(struct tfd_shape *want,
                               const struct tfd_shape *in, struct wanted *w,
                               struct tfd_status *st)
{
    bool skipped = false;
    int64_t n = 1;

    for (int d = 0; d < in->rank; d++) {
        if (in->dim[d] == 0 && w->zero)
            skipped = true;
        else
            n *= in->dim[d];
    }
    if (!skipped && n % w->known != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input to reshape is a tensor with %lld values, but "
                        "the requested shape requires a multiple of %lld",
                        (long long)n, (long long)w->known);
    want->dim[w->unknown] = n / w->known;
    w->known *= n / w->known;
    return TFD_OK;
}

static enum tfd_code complete(struct tfd_shape *want,
                              const struct tfd_shape *in, struct tfd_status *st)
{
    int64_t have = tfd_shape_elements(in);
    struct wanted w;

    TFD_TRY(read_wanted(want, &w, st));
    if (w.unknown >= 0)
        TFD_TRY(infer_dim(want, in, &w, st));
    if (w.zero)
        w.known = 0;
    if (w.known != have)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input to reshape is a tensor with %lld values, but "
                        "the requested shape has %lld",
                        (long long)have, (long long)w.known);
    return TFD_OK;
}

static enum tfd_code check_slice_sizes(const struct tfd_tensor *sizes,
                                       struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (sizes->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "sizes input must be 1-D, not %s",
                        tfd_shape_text(&sizes->shape, text));
    for (int64_t i = 0; i < tfd_tensor_elements(sizes); i++)
        if (tfd_check_int_at(sizes, i) < TFD_DIM_UNKNOWN)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Size %lld must be non-negative, not %lld",
                            (long long)i,
                            (long long)tfd_check_int_at(sizes, i));
    return TFD_OK;
}

static enum tfd_code reshape_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor sizes = tfd_check_as_vector(&k->in[1]);
    struct tfd_shape want;

    TFD_TRY(check_slice_sizes(&sizes, st));
    TFD_TRY(tfd_check_shape_value(&sizes, true, &want, st));
    TFD_TRY(complete(&want, &k->in[0].shape, st));
    tfd_kctx_output_alias(k, 0, 0, &want);
    return TFD_OK;
}

static enum tfd_code reshape_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    struct tfd_shape *out = &s->out[0];
    int64_t n = tfd_shape_elements(&s->in[0]);
    struct tfd_tensor sizes;
    struct wanted w;

    if (!s->value || !s->value[1]) {
        if (s->in[1].rank == 1 && s->in[1].dim[0] >= 0 &&
            s->in[1].dim[0] <= TFD_RANK_MAX) {
            out->rank = (int)s->in[1].dim[0];
            for (int d = 0; d < out->rank; d++)
                out->dim[d] = TFD_DIM_UNKNOWN;
            if (out->rank == 1 && n >= 0)
                out->dim[0] = n;
        }
        return TFD_OK;
    }
    sizes = tfd_check_as_vector(s->value[1]);
    TFD_TRY(tfd_check_shape_value(&sizes, true, out, st));
    TFD_TRY(read_wanted(out, &w, st));
    if (w.unknown >= 0 && n >= 0 && !w.zero && n % w.known == 0)
        out->dim[w.unknown] = n / w.known;
    return TFD_OK;
}

/* QuantizedReshape: the range goes along, as scalars. */
static enum tfd_code quantized_reshape(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    TFD_TRY(reshape_compute(k, st));
    for (int i = 0; i < 2; i++) {
        const struct tfd_tensor *limit = &k->in[2 + i];

        if (limit->shape.rank > 1 || tfd_tensor_elements(limit) != 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "input_%s must be a scalar or a vector of 1 "
                            "element",
                            i ? "max" : "min");
        tfd_kctx_output_alias(k, 2 + i, 1 + i, &(struct tfd_shape){.rank = 0});
    }
    return TFD_OK;
}

static enum tfd_code quantized_reshape_shape(struct tfd_shape_ctx *s,
                                             struct tfd_status *st)
{
    for (int i = 1; i < s->out_count; i++)
        s->out[i] = (struct tfd_shape){.rank = 0};
    return reshape_shape(s, st);
}

static enum tfd_code reshape_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_edge in[2] = {g->dy[0], TFD_EDGE_NONE};

    TFD_TRY(tfd_grad_emit(g, "Shape", &g->x[0], 1, &in[1], st));
    return tfd_grad_emit(g, "Reshape", in, 2, &g->dx[0], st);
}

/* ---- ExpandDims, Squeeze ------------------------------------------------- */

static enum tfd_code insert_dim(const struct tfd_shape *s, int64_t at,
                                struct tfd_shape *out, struct tfd_status *st)
{
    if (at < -1 - s->rank || at > s->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Tried to expand dim index %lld for tensor with %d "
                        "dimensions.",
                        (long long)at, s->rank);
    if (s->rank == TFD_RANK_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "ExpandDims of a tensor with %d dimensions, the most "
                        "supported",
                        s->rank);
    if (at < 0)
        at += s->rank + 1;
    out->rank = s->rank + 1;
    for (int d = 0; d < out->rank; d++)
        out->dim[d] = d < at ? s->dim[d] : d == at ? 1 : s->dim[d - 1];
    return TFD_OK;
}

static enum tfd_code expand_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape out;

    if (tfd_tensor_elements(&k->in[1]) != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "'dim' must be a tensor with a single value");
    TFD_TRY(
        insert_dim(&k->in[0].shape, tfd_check_int_at(&k->in[1], 0), &out, st));
    tfd_kctx_output_alias(k, 0, 0, &out);
    return TFD_OK;
}

static enum tfd_code expand_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    if (!s->value || !s->value[1] || s->in[0].rank == TFD_RANK_UNKNOWN ||
        tfd_tensor_elements(s->value[1]) != 1)
        return TFD_OK;
    return insert_dim(&s->in[0], tfd_check_int_at(s->value[1], 0), &s->out[0],
                      st);
}

struct squeeze {
    int64_t dims[TFD_RANK_MAX];
    int count;
};

static enum tfd_code squeeze_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    struct squeeze *s = state;

    return tfd_node_ints(p->node, "squeeze_dims", s->dims, TFD_RANK_MAX,
                         &s->count, st);
}

static enum tfd_code squeeze_mask(const struct squeeze *s, int rank,
                                  bool *dropped, struct tfd_status *st)
{
    for (int i = 0; i < s->count; i++) {
        int64_t d = s->dims[i];

        if (d < -rank || d >= rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Tried to squeeze dim index %lld for tensor with "
                            "%d dimensions.",
                            (long long)d, rank);
        dropped[d < 0 ? d + rank : d] = true;
    }
    return TFD_OK;
}

static enum tfd_code squeeze_dims(const struct squeeze *s,
                                  const struct tfd_shape *in,
                                  struct tfd_shape *out, struct tfd_status *st)
{
    bool dropped[TFD_RANK_MAX] = {false};

    TFD_TRY(squeeze_mask(s, in->rank, dropped, st));
    out->rank = 0;
    for (int d = 0; d < in->rank; d++) {
        if (dropped[d] && in->dim[d] != 1 && in->dim[d] >= 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Can not squeeze dim[%d], expected a dimension of "
                            "1, got %lld",
                            d, (long long)in->dim[d]);
        if (dropped[d] || (s->count == 0 && in->dim[d] == 1))
            continue;
        out->dim[out->rank++] = in->dim[d];
    }
    return TFD_OK;
}

static enum tfd_code squeeze_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape out;

    TFD_TRY(squeeze_dims(k->state, &k->in[0].shape, &out, st));
    tfd_kctx_output_alias(k, 0, 0, &out);
    return TFD_OK;
}

static enum tfd_code squeeze_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    struct squeeze q = {.count = 0};

    if (!s->node || s->in[0].rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    TFD_TRY(tfd_node_ints(s->node, "squeeze_dims", q.dims, TFD_RANK_MAX,
                          &q.count, st));
    for (int d = 0; q.count == 0 && d < s->in[0].rank; d++)
        if (s->in[0].dim[d] == TFD_DIM_UNKNOWN)
            return TFD_OK;
    return squeeze_dims(&q, &s->in[0], &s->out[0], st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Shape",
        .inputs = "input: T",
        .outputs = "output: out_type",
        .attrs = "T: type; out_type: {int32, int64} = DT_INT32",
        .shape = shape_shape,
        .flags = TFD_OP_METADATA | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "ShapeN",
        .inputs = "input: N * T",
        .outputs = "output: N * out_type",
        .attrs = "N: int >= 1; T: type; out_type: {int32, int64} = DT_INT32",
        .shape = shape_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "Rank",
        .inputs = "input: T",
        .outputs = "output: int32",
        .attrs = "T: type",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_METADATA | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "Size",
        .inputs = "input: T",
        .outputs = "output: out_type",
        .attrs = "T: type; out_type: {int32, int64} = DT_INT32",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_METADATA | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "QuantizedReshape",
        .inputs = "tensor: T, shape: Tshape, input_min: float, "
                  "input_max: float",
        .outputs = "output: T, output_min: float, output_max: float",
        .attrs = "T: type; Tshape: {int32, int64} = DT_INT32",
        .checks = "shape: vector 'sizes input must be 1-D, not %s'",
        .shape = quantized_reshape_shape,
    },
    {
        .name = "Reshape",
        .inputs = "tensor: T, shape: Tshape",
        .outputs = "output: T",
        .attrs = "T: type; Tshape: {int32, int64} = DT_INT32",
        .checks = "shape: vector 'sizes input must be 1-D, not %s'",
        .shape = reshape_shape,
        .grad = reshape_gradient,
    },
    {
        .name = "ExpandDims",
        .inputs = "input: T, dim: Tdim",
        .outputs = "output: T",
        .attrs = "T: type; Tdim: {int32, int64} = DT_INT32",
        .shape = expand_shape,
        .grad = reshape_gradient,
    },
    {
        .name = "Squeeze",
        .inputs = "input: T",
        .outputs = "output: T",
        .attrs = "T: type; squeeze_dims: list(int) >= 0 = []",
        .shape = squeeze_shape,
        .grad = reshape_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Shape", shape_compute),
    TFD_KERNEL_ANY("ShapeN", shape_compute),
    TFD_KERNEL_ANY("Rank", rank_compute),
    TFD_KERNEL_ANY("Size", size_compute),
    TFD_KERNEL("QuantizedReshape", QUINT8, quantized_reshape),
    TFD_KERNEL("QuantizedReshape", QINT32, quantized_reshape),
    TFD_KERNEL_ANY("Reshape", reshape_compute),
    TFD_KERNEL_ANY("ExpandDims", expand_compute),
    TFD_KERNEL_ANY("Squeeze", squeeze_compute, .prepare = squeeze_prepare,
                   .state_size = sizeof(struct squeeze)),
};

const struct tfd_family tfd_family_array = {
    .name = "array",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
