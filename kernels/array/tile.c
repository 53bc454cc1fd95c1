/*
 * tile.c - Tile: a tensor repeated along each dimension as often as `multiples`
 * says.
 */
#include "common/thread/halt.h"
#include "kernels/layout/box.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/outputs.h"

enum tfd_code tfd_tile_shape(const struct tfd_kctx *k, struct tfd_shape *out,
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

        if (times < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected multiples[%d] >= 0, but got %lld", d,
                            (long long)times);
        if (__builtin_mul_overflow(out->dim[d], times, &out->dim[d]))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Tile: dimension %d overflows", d);
    }
    return tfd_shape_make(out, out->dim, out->rank, st);
}

/* Strings and handles, in the order of y, which is larger than a cache: a box
 * in which dimensions of x are two, its copies and its elements; a box for
 * every place along the first ones, where a box has not as many dimensions. */
static enum tfd_code tile_counted(struct tfd_kctx *k, const struct tfd_shape *y,
                                  struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    const int apart =
        y->rank > TFD_RANK_MAX / 2 ? 2 * y->rank - TFD_RANK_MAX : 0;
    int64_t to[TFD_RANK_MAX], from[TFD_RANK_MAX], at[TFD_RANK_MAX] = {0};
    int64_t box_to[TFD_RANK_MAX], box_from[TFD_RANK_MAX];
    struct tfd_shape box = {0, {0}};
    int64_t tiles = 1, offset = 0;

    tfd_element_strides(y, to);
    tfd_element_strides(&x->shape, from);
    for (int d = 0; d < y->rank; d++) {
        const int64_t dim = x->shape.dim[d];

        if (d < apart) {
            tiles *= y->dim[d] / dim;
        } else {
            box.dim[box.rank] = y->dim[d] / dim;
            box_to[box.rank] = to[d] * dim;
            box_from[box.rank++] = 0;
        }
        box.dim[box.rank] = dim;
        box_to[box.rank] = to[d];
        box_from[box.rank++] = from[d];
    }
    for (int64_t t = 0; t < tiles && !tfd_halted(); t++) {
        TFD_TRY(tfd_elements_box(
            k, x->dtype, &box,
            tfd_element_at(tfd_tensor_data(&k->out[0]), x->dtype, offset),
            box_to, tfd_tensor_data(x), box_from, st));
        for (int d = apart - 1; d >= 0; d--) {
            offset += to[d] * x->shape.dim[d];
            if (++at[d] < y->dim[d] / x->shape.dim[d])
                break;
            offset -= to[d] * y->dim[d];
            at[d] = 0;
        }
    }
    return TFD_OK;
}

/* One box, in which each dimension of x is two: its copies, which are all read
 * from the same place, and its elements. */
static void tile_numbers(struct tfd_kctx *k, const struct tfd_shape *y)
{
    const struct tfd_tensor *x = &k->in[0];
    const int64_t size = (int64_t)tfd_dtype_size(x->dtype);
    int64_t to[TFD_RANK_MAX], from[TFD_RANK_MAX];
    struct tfd_box box;

    tfd_element_strides(y, to);
    tfd_element_strides(&x->shape, from);
    tfd_box_init(&box, (size_t)size);
    for (int d = 0; d < y->rank; d++) {
        const int64_t dim = x->shape.dim[d];

        tfd_box_add(&box, y->dim[d] / dim, to[d] * dim * size, 0);
        tfd_box_add(&box, dim, to[d] * size, from[d] * size);
    }
    tfd_box_copy(k, &box, tfd_tensor_data(&k->out[0]), tfd_tensor_data(x));
}

static enum tfd_code tile_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_shape out;

    TFD_TRY(tfd_tile_shape(k, &out, st));
    if (tfd_shape_equal(&out, &x->shape)) {
        tfd_kctx_output_alias(k, 0, 0, &out);
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &out, st));
    if (tfd_shape_elements(&out) == 0)
        return TFD_OK;
    if (!tfd_dtype_is_pod(x->dtype))
        return tile_counted(k, &out, st);
    tile_numbers(k, &out);
    return TFD_OK;
}

static enum tfd_code tile_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_tensor *m = s->value ? s->value[1] : NULL;

    (void)st;
    if (s->in[0].rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    s->out[0] = s->in[0];
    for (int d = 0; d < s->out[0].rank; d++) {
        int64_t dim = s->in[0].dim[d];

        if (!m || tfd_tensor_elements(m) != s->in[0].rank || dim < 0 ||
            __builtin_mul_overflow(dim, tfd_check_int_at(m, d),
                                   &s->out[0].dim[d]))
            s->out[0].dim[d] = TFD_DIM_UNKNOWN;
    }
    return TFD_OK;
}

/* Sums over the copies: reshape to [m0, d0, m1, d1, ...], sum the m. */
static enum tfd_code tile_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_edge shape, pair[3], flat, axes, in[3], perm;
    static const int32_t swap[] = {1, 0}, minus_one[] = {-1};

    TFD_TRY(tfd_grad_emit(g, "Shape", &g->x[0], 1, &shape, st));
    pair[0] = g->x[1];
    pair[1] = shape;
    TFD_TRY(tfd_grad_emit(g, "Pack", pair, 2, &flat, st));
    TFD_TRY(tfd_grad_int32(g, swap, 2, &perm, st));
    in[0] = flat;
    in[1] = perm;
    TFD_TRY(tfd_grad_emit(g, "Transpose", in, 2, &flat, st));
    TFD_TRY(tfd_grad_int32(g, minus_one, 1, &in[1], st));
    in[0] = flat;
    TFD_TRY(tfd_grad_emit(g, "Reshape", in, 2, &flat, st));
    TFD_TRY(tfd_grad_scalar(g, TFD_INT32, 0, &in[0], st));
    TFD_TRY(tfd_grad_emit(g, "Size", &flat, 1, &in[1], st));
    TFD_TRY(tfd_grad_scalar(g, TFD_INT32, 2, &in[2], st));
    TFD_TRY(tfd_grad_emit(g, "Range", in, 3, &axes, st));
    in[0] = g->dy[0];
    in[1] = flat;
    TFD_TRY(tfd_grad_emit(g, "Reshape", in, 2, &in[0], st));
    in[1] = axes;
    TFD_TRY(tfd_grad_emit(g, "Sum", in, 2, &in[0], st));
    in[1] = shape;
    return tfd_grad_emit(g, "Reshape", in, 2, &g->dx[0], st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Tile",
        .inputs = "input: T, multiples: Tmultiples",
        .outputs = "output: T",
        .attrs = "T: type; Tmultiples: {int32, int64} = DT_INT32",
        .checks = "multiples: vector 'Expected multiples to be 1-D, but got "
                  "shape %s'",
        .shape = tile_shape,
        .grad = tile_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Tile", tile_compute),
};

const struct tfd_family tfd_family_tile = {
    .name = "tile",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
