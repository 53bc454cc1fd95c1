/*
 * tile_grad.c - TileGrad, the gradient of Tile that graphs of the first two
 * producers have: the sum of the copies.
 *
 *     [.., m * d, ..] seen as [before, m, d * after] --> [before, d * after]
 *
 * once for each dimension that was repeated.
 *
 * TensorFlow registers its kernels by an attribute that the op's definition
 * does not have, so that a node without it is refused, as here.  Others run.
 */
#include "common/graph/attr.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/outputs.h"
#include "kernels/reduce/reduce.h"

#define TILE_GRAD_RANK_MAX 7

static enum tfd_code tile_grad_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st)
{
    enum tfd_dtype type, multiples;

    (void)state;
    if (tfd_node_type(p->node, "Tmultiples", &multiples, NULL) == TFD_OK)
        return TFD_OK;
    TFD_TRY(tfd_node_type(p->node, "T", &type, st));
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "OpKernel 'TileGrad' has constraint on attr 'Tmultiples' "
                    "not in NodeDef '[T=%s]'",
                    tfd_dtype_enum_name((int)type));
}

static enum tfd_code tile_grad_dims(const struct tfd_kctx *k,
                                    struct tfd_shape *out,
                                    struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0], *m = &k->in[1];

    if (tfd_tensor_elements(m) != x->shape.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected multiples argument to be a vector of length "
                        "%d but got length %lld",
                        x->shape.rank, (long long)tfd_tensor_elements(m));
    *out = x->shape;
    for (int d = 0; d < out->rank; d++) {
        int64_t times = tfd_check_int_at(m, d);

        if (times <= 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected multiples[%d] > 0, but got %lld", d,
                            (long long)times);
        if (out->dim[d] % times)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected input_dim[%d] to be divisible by "
                            "multiples[%d], but %lld %% %lld != 0",
                            d, d, (long long)out->dim[d], (long long)times);
        out->dim[d] /= times;
    }
    return tfd_shape_make(out, out->dim, out->rank, st);
}

/* Sums over the copies along dimension d, into y. */
static void fold_copies(struct tfd_kctx *k, const struct tfd_tensor *x, int d,
                        int64_t times, void *y)
{
    static const bool reduced[] = {false, true, false};
    struct tfd_shape view = {3, {1, times, x->shape.dim[d] / times}};

    for (int i = 0; i < d; i++)
        view.dim[0] *= x->shape.dim[i];
    for (int i = d + 1; i < x->shape.rank; i++)
        view.dim[2] *= x->shape.dim[i];
    tfd_reduce_view(k, tfd_reduce_sum(x->dtype), &view, reduced,
                    tfd_dtype_size(x->dtype), tfd_tensor_data(x), y);
}

/* Dimension after dimension; the last that was repeated goes to the output. */
static enum tfd_code fold_all(struct tfd_kctx *k, int last,
                              struct tfd_status *st)
{
    struct tfd_tensor x = tfd_tensor_ref(&k->in[0]), y;

    for (int d = 0; d <= last; d++) {
        int64_t times = tfd_check_int_at(&k->in[1], d);
        struct tfd_shape shape = x.shape;
        enum tfd_code rc = TFD_OK;

        if (times == 1)
            continue;
        shape.dim[d] /= times;
        if (d == last)
            y = tfd_tensor_ref(&k->out[0]);
        else
            rc = tfd_tensor_new(&y, x.dtype, &shape, st);
        if (rc == TFD_OK)
            fold_copies(k, &x, d, times, tfd_tensor_data(&y));
        tfd_tensor_unref(&x);
        TFD_TRY(rc);
        x = y;
    }
    tfd_tensor_unref(&x);
    return TFD_OK;
}

static bool has_sum(enum tfd_dtype type)
{
    static const uint32_t types =
        1u << TFD_FLOAT | 1u << TFD_DOUBLE | 1u << TFD_INT32 | 1u << TFD_INT16 |
        1u << TFD_INT64 | 1u << TFD_HALF | 1u << TFD_BFLOAT16 |
        1u << TFD_COMPLEX64 | 1u << TFD_COMPLEX128;

    return types >> type & 1;
}

static enum tfd_code tile_grad_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_shape out;
    int last = x->shape.rank - 1;

    TFD_TRY(tile_grad_dims(k, &out, st));
    if (tfd_shape_equal(&out, &x->shape)) {
        tfd_kctx_output_alias(k, 0, 0, &out);
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &out, st));
    if (!has_sum(x->dtype) || x->shape.rank > TILE_GRAD_RANK_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "TileGradientOp : The input data type or dimension is "
                        "not supported, DataType : %s, Dimension : %d",
                        tfd_dtype_name((int)x->dtype), x->shape.rank);
    if (tfd_shape_elements(&out) == 0)
        return TFD_OK;
    while (tfd_check_int_at(&k->in[1], last) == 1)
        last--;
    return fold_all(k, last, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "TileGrad",
        .inputs = "input: T, multiples: int32",
        .outputs = "output: T",
        .attrs = "T: type",
        .checks = "multiples: vector 'Expected multiples to be 1-D, but got "
                  "shape %s'",
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("TileGrad", tile_grad_compute, .prepare = tile_grad_prepare),
};

const struct tfd_family tfd_family_tile_grad = {
    .name = "tile_grad",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
