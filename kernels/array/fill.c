/*
 * fill.c - tensors of one value: ZerosLike, OnesLike, Fill; Empty, which is
 * of zeros, too.
 */
#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/list/variant_math.h"

#include <string.h>

/* ---- ZerosLike, OnesLike, Fill ------------------------------------------- */

static enum tfd_code zeros_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    if (k->in[0].dtype == TFD_VARIANT)
        return tfd_variant_compute_zeros(k, st);
    TFD_TRY(
        tfd_kctx_output_reuse(k, 1, 0, k->in[0].dtype, &k->in[0].shape, st));
    tfd_elements_zero(k->out[0].dtype, tfd_tensor_data(&k->out[0]),
                      tfd_tensor_elements(&k->out[0]));
    return TFD_OK;
}

#define ELEMENT_COST_NS 1

struct fill_job {
    struct tfd_tensor *y;
    const void *value;
};

static enum tfd_code fill_part(void *arg, int64_t begin, int64_t end,
                               struct tfd_status *st)
{
    const struct fill_job *j = arg;
    enum tfd_dtype dtype = j->y->dtype;
    void *y = tfd_element_at(tfd_tensor_data(j->y), dtype, begin);

    return tfd_elements_fill(dtype, y, j->value, end - begin, st);
}

/* Of plain elements, which does not fail. */
static void fill_range(void *arg, int64_t begin, int64_t end)
{
    (void)!fill_part(arg, begin, end, NULL);
}

/* All of the output. */
static enum tfd_code fill_all(struct tfd_kctx *k, const void *value,
                              struct tfd_status *st)
{
    struct fill_job j = {.y = &k->out[0], .value = value};
    const enum tfd_dtype dtype = k->out[0].dtype;

    if (tfd_dtype_is_pod(dtype)) {
        tfd_kctx_parallel_bytes(k, tfd_tensor_elements(j.y),
                                (int)tfd_dtype_size(dtype), fill_range, &j);
        return TFD_OK;
    }
    return tfd_kctx_try(k, tfd_tensor_elements(j.y), ELEMENT_COST_NS, fill_part,
                        &j, st);
}

/* One, in each type. */
union one {
#define X(name, number, T) T as_##name;
    TFD_POD_DTYPES(X)
#undef X
};

static union one one_of(enum tfd_dtype dtype)
{
    union one one;

    memset(&one, 0, sizeof(one));
    switch (dtype) {
#define X(name, number, T) \
    case TFD_##name:       \
        one.as_##name = 1; \
        break;
        TFD_REAL_DTYPES(X)
        X(BOOL, 10, tfd_bool)
#undef X
    case TFD_HALF:
        one.as_HALF = tfd_half_from_float(1);
        break;
    case TFD_BFLOAT16:
        one.as_BFLOAT16 = tfd_bfloat16_from_float(1);
        break;
    case TFD_COMPLEX64:
        one.as_COMPLEX64.re = 1;
        break;
    case TFD_COMPLEX128:
        one.as_COMPLEX128.re = 1;
        break;
    default:
        break;
    }
    return one;
}

static enum tfd_code ones_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    union one one = one_of(k->in[0].dtype);

    TFD_TRY(
        tfd_kctx_output_reuse(k, 1, 0, k->in[0].dtype, &k->in[0].shape, st));
    return fill_all(k, &one, st);
}

static enum tfd_code zeros_like_gradient(struct tfd_grad *g,
                                         struct tfd_status *st)
{
    (void)g;
    (void)st;
    return TFD_OK; /* a constant: no gradient flows */
}

static enum tfd_code fill_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor dims = tfd_check_as_vector(&k->in[0]);
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape shape;

    if (dims.shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "dims must represent a vector, got shape %s",
                        tfd_shape_text(&dims.shape, text));
    TFD_TRY(tfd_check_shape_value(&dims, false, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[1].dtype, &shape, st));
    return fill_all(k, tfd_tensor_data(&k->in[1]), st);
}

static enum tfd_code fill_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_tensor dims;

    if (!s->value || !s->value[0])
        return TFD_OK;
    dims = tfd_check_as_vector(s->value[0]);
    return tfd_check_shape_value(&dims, false, &s->out[0], st);
}

static enum tfd_code empty_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(tfd_check_shape_value(&k->in[0], false, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, (enum tfd_dtype)k->node->out_types[0], &shape,
                            st));
    /* With init or without it: memory of others' tensors is not shown. */
    tfd_elements_clear(&k->out[0]);
    return TFD_OK;
}

/* d Fill(dims, v) / dv: the sum of all. */
static enum tfd_code fill_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_edge rank, zero, one, in[3];

    TFD_TRY(tfd_grad_emit(g, "Rank", &g->dy[0], 1, &rank, st));
    TFD_TRY(tfd_grad_scalar(g, TFD_INT32, 0, &zero, st));
    TFD_TRY(tfd_grad_scalar(g, TFD_INT32, 1, &one, st));
    in[0] = zero;
    in[1] = rank;
    in[2] = one;
    TFD_TRY(tfd_grad_emit(g, "Range", in, 3, &rank, st));
    in[0] = g->dy[0];
    in[1] = rank;
    return tfd_grad_emit(g, "Sum", in, 2, &g->dx[1], st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "ZerosLike",
        .inputs = "x: T",
        .outputs = "y: T",
        .attrs = "T: type",
        .shape = tfd_shape_like_first,
        .grad = zeros_like_gradient,
    },
    {
        .name = "OnesLike",
        .inputs = "x: T",
        .outputs = "y: T",
        .attrs = "T: {bfloat16, half, float, double, int8, uint8, int16, "
                 "uint16, int32, uint32, int64, uint64, complex64, "
                 "complex128, bool}",
        .shape = tfd_shape_like_first,
        .grad = zeros_like_gradient,
    },
    {
        .name = "Fill",
        .inputs = "dims: index_type, value: T",
        .outputs = "output: T",
        .attrs = "T: type; index_type: {int32, int64} = DT_INT32",
        .checks = "value: scalar 'value must represent a scalar, got shape %s'",
        .shape = fill_shape,
        .grad = fill_gradient,
    },
    {
        .name = "Empty",
        .inputs = "shape: int32",
        .outputs = "output: dtype",
        .attrs = "dtype: type; init: bool = false",
        .checks = "shape: vector 'shape must be a vector of int32, got shape "
                  "%s'",
        .key = "dtype",
        .shape = fill_shape,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("ZerosLike", zeros_compute),
    TFD_KERNEL_ANY("OnesLike", ones_compute),
    TFD_KERNEL_ANY("Fill", fill_compute),
    TFD_KERNEL_ANY("Empty", empty_compute),
};

const struct tfd_family tfd_family_fill = {
    .name = "fill",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
