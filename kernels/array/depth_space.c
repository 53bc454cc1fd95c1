/*
 * depth_space.c - blocks of space to depth and back:
 *
 *     SpaceToDepth DepthToSpace
 *
 * The wide tensor is [batch, rows * block, columns * block, depth]; the deep
 * one has each block of the space as one pixel, [batch, rows, columns, block *
 * block * depth].  Both are the same box of six dimensions, whose steps in the
 * wide tensor are blocks.
 */
#include "common/base/str.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"

#define DIMS 4 /* of an image */

struct blocks {
    int64_t size;
};

static enum tfd_code read_blocks(const struct tfd_node *n, struct blocks *b,
                                 struct tfd_status *st)
{
    TFD_TRY(tfd_node_int(n, "block_size", &b->size, st));
    if (b->size < 2 || b->size > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Block size should be > 1, but was: %lld",
                        (long long)b->size);
    return TFD_OK;
}

/* TensorFlow looks for a kernel by the layout, and a CPU has one for channels
 * last alone. */
static enum tfd_code prepare_blocks(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct tfd_str layout;

    TFD_TRY(tfd_node_str(p->node, "data_format", &layout, st));
    if (!tfd_str_is(layout, "NHWC"))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "No OpKernel was registered to support this Op with "
                        "data_format=\"%.*s\": a CPU has one for NHWC",
                        (int)layout.size, layout.data);
    return read_blocks(p->node, state, st);
}

/* ---- Sizes --------------------------------------------------------------- */

static enum tfd_code deep_shape(const struct blocks *b,
                                const struct tfd_shape *wide,
                                struct tfd_shape *deep, struct tfd_status *st)
{
    const int64_t rows = wide->dim[1], columns = wide->dim[2];

    if (rows % b->size || columns % b->size)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Image width %lld and height %lld should be divisible "
                        "by block_size: %lld",
                        (long long)columns, (long long)rows,
                        (long long)b->size);
    *deep = *wide;
    deep->dim[1] = rows / b->size;
    deep->dim[2] = columns / b->size;
    if (__builtin_mul_overflow(wide->dim[3], b->size * b->size, &deep->dim[3]))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a depth of %lld is too much for blocks of %lld",
                        (long long)wide->dim[3], (long long)b->size);
    return tfd_shape_make(deep, deep->dim, DIMS, st);
}

static enum tfd_code wide_shape(const struct blocks *b,
                                const struct tfd_shape *deep,
                                struct tfd_shape *wide, struct tfd_status *st)
{
    const int64_t offsets = b->size * b->size;

    if (deep->dim[3] % offsets)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input depth dimension %lld should be divisible by: "
                        "%lld",
                        (long long)deep->dim[3], (long long)offsets);
    *wide = *deep;
    wide->dim[3] = deep->dim[3] / offsets;
    if (__builtin_mul_overflow(deep->dim[1], b->size, &wide->dim[1]) ||
        __builtin_mul_overflow(deep->dim[2], b->size, &wide->dim[2]))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "an image of %lld x %lld is too much for blocks of "
                        "%lld",
                        (long long)deep->dim[1], (long long)deep->dim[2],
                        (long long)b->size);
    return tfd_shape_make(wide, wide->dim, DIMS, st);
}

/* ---- Kernels ------------------------------------------------------------- */

/* The box of both: batch, row, row in its block, column, column in its block,
 * channel; with the strides of both tensors. */
static enum tfd_code move_blocks(struct tfd_kctx *k, int64_t size, bool deepens,
                                 struct tfd_status *st)
{
    const struct tfd_shape *deep = deepens ? &k->out[0].shape : &k->in[0].shape;
    const struct tfd_shape *wide = deepens ? &k->in[0].shape : &k->out[0].shape;
    const int64_t dims[] = {deep->dim[0], deep->dim[1], size,
                            deep->dim[2], size,         wide->dim[3]};
    int64_t d[DIMS], w[DIMS];
    struct tfd_shape box;

    if (tfd_shape_elements(wide) == 0)
        return TFD_OK;
    TFD_TRY(tfd_shape_make(&box, dims, 6, st));
    tfd_element_strides(deep, d);
    tfd_element_strides(wide, w);
    {
        const int64_t of_deep[] = {d[0], d[1],         size * wide->dim[3],
                                   d[2], wide->dim[3], 1};
        const int64_t of_wide[] = {w[0],        w[1] * size, w[1],
                                   w[2] * size, w[2],        1};

        return tfd_elements_box(
            k, k->in[0].dtype, &box, tfd_tensor_data(&k->out[0]),
            deepens ? of_deep : of_wide, tfd_tensor_data(&k->in[0]),
            deepens ? of_wide : of_deep, st);
    }
}

static enum tfd_code space_to_depth(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct blocks *b = k->state;
    struct tfd_shape y;

    if (k->in[0].shape.rank != DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input rank should be %d instead of %d", DIMS,
                        k->in[0].shape.rank);
    TFD_TRY(deep_shape(b, &k->in[0].shape, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &y, st));
    return move_blocks(k, b->size, true, st);
}

static enum tfd_code depth_to_space(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct blocks *b = k->state;
    struct tfd_shape y;

    if (k->in[0].shape.rank != DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input rank should be: %d instead of: %d", DIMS,
                        k->in[0].shape.rank);
    TFD_TRY(wide_shape(b, &k->in[0].shape, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &y, st));
    return move_blocks(k, b->size, false, st);
}

/* ---- Shapes, gradients --------------------------------------------------- */

/* Other layouts, which no kernel here has, stay unknown. */
static enum tfd_code infer_blocks(struct tfd_shape_ctx *s, bool deepens,
                                  struct tfd_status *st)
{
    struct tfd_str layout;
    struct blocks b;

    if (!s->node)
        return TFD_OK;
    TFD_TRY(read_blocks(s->node, &b, st));
    TFD_TRY(tfd_node_str(s->node, "data_format", &layout, st));
    if (tfd_shape_elements(&s->in[0]) < 0 || s->in[0].rank != DIMS ||
        !tfd_str_is(layout, "NHWC"))
        return TFD_OK;
    return deepens ? deep_shape(&b, &s->in[0], &s->out[0], st)
                   : wide_shape(&b, &s->in[0], &s->out[0], st);
}

static enum tfd_code deepened_shape(struct tfd_shape_ctx *s,
                                    struct tfd_status *st)
{
    return infer_blocks(s, true, st);
}

static enum tfd_code widened_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    return infer_blocks(s, false, st);
}

static const char *const attributes[] = {"block_size", "data_format", NULL};

static enum tfd_code space_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    tfd_gradient_copying(&b, "DepthToSpace", &g->dy[0], 1, attributes,
                         &g->dx[0], 1);
    return b.code;
}

static enum tfd_code depth_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    tfd_gradient_copying(&b, "SpaceToDepth", &g->dy[0], 1, attributes,
                         &g->dx[0], 1);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define ATTRS                         \
    "T: type; block_size: int >= 2; " \
    "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'"

static const struct tfd_opdef ops[] = {
    {
        .name = "SpaceToDepth",
        .inputs = "input: T",
        .outputs = "output: T",
        .attrs = ATTRS,
        .shape = deepened_shape,
        .grad = space_gradient,
    },
    {
        .name = "DepthToSpace",
        .inputs = "input: T",
        .outputs = "output: T",
        .attrs = ATTRS,
        .shape = widened_shape,
        .grad = depth_gradient,
    },
};

#define ROW(op, compute)                                   \
    TFD_KERNEL_ANY(op, compute, .prepare = prepare_blocks, \
                   .state_size = sizeof(struct blocks))

static const struct tfd_kernel kernels[] = {
    ROW("SpaceToDepth", space_to_depth),
    ROW("DepthToSpace", depth_to_space),
};

const struct tfd_family tfd_family_depth_space = {
    .name = "depth_space",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
