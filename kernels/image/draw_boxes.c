/*
 * draw_boxes.c - DrawBoundingBoxes, DrawBoundingBoxesV2: frames of boxes in
 * images.
 */
#include "common/base/half.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"

#include <string.h>

struct drawing {
    const float *boxes, *colors;
    int64_t box_count, color_count, color_size;
    int64_t height, width, depth;
    const void *x;
    void *y;
};

/* TensorFlow's own; of grey images all are white. */
static const float own_colors[] = {
    1,    1,    0,    1, /* yellow */
    0,    0,    1,    1, /* blue */
    1,    0,    0,    1, /* red */
    0,    1,    0,    1, /* lime */
    0.5f, 0,    0.5f, 1, /* purple */
    0.5f, 0.5f, 0,    1, /* olive */
    0.5f, 0,    0,    1, /* maroon */
    0,    0,    0.5f, 1, /* navy blue */
    0,    1,    1,    1, /* aqua */
    1,    0,    1,    1, /* fuchsia */
};
static const float white[] = {1};

/* A part of a side of n pixels, cut; what is no place is far to the left, as
 * processors convert it. */
static int64_t pixel_of(float part, int64_t n)
{
    const float at = part * (float)(n - 1);

    return at > -9e18f && at < 9e18f ? (int64_t)at : INT64_MIN;
}

struct box {
    int64_t low[2], high[2];   /* row, column */
    int64_t first[2], last[2]; /* the same within the image */
};

static bool box_of(const struct drawing *d, const float *corner, struct box *b)
{
    const int64_t size[] = {d->height, d->width};

    for (int i = 0; i < 2; i++) {
        b->low[i] = pixel_of(corner[i], size[i]);
        b->high[i] = pixel_of(corner[i + 2], size[i]);
        b->first[i] = b->low[i] > 0 ? b->low[i] : 0;
        b->last[i] = b->high[i] < size[i] - 1 ? b->high[i] : size[i] - 1;
        if (b->low[i] > b->high[i] || b->low[i] >= size[i] || b->high[i] < 0)
            return false;
    }
    return true;
}

#define DRAW(name, T, TO)                                                    \
    static void put_line_##name(const struct drawing *d, T *image,           \
                                const float *color, const int64_t *first,    \
                                const int64_t *last)                         \
    {                                                                        \
        for (int64_t r = first[0]; r <= last[0]; r++)                        \
            for (int64_t c = first[1]; c <= last[1]; c++)                    \
                for (int64_t i = 0; i < d->depth; i++)                       \
                    image[(r * d->width + c) * d->depth + i] = TO(color[i]); \
    }                                                                        \
                                                                             \
    static void draw_##name(void *arg, int64_t begin, int64_t end)           \
    {                                                                        \
        const struct drawing *d = arg;                                       \
        const int64_t size = d->height * d->width * d->depth;                \
        const int64_t side[] = {d->height, d->width};                        \
                                                                             \
        for (int64_t n = begin; n < end; n++) {                              \
            T *image = (T *)d->y + n * size;                                 \
                                                                             \
            memcpy(image, (const T *)d->x + n * size,                        \
                   (size_t)size * sizeof(T));                                \
            for (int64_t i = 0; i < d->box_count && !tfd_halted(); i++) {    \
                const float *color =                                         \
                    d->colors + i % d->color_count * d->color_size;          \
                struct box b, line;                                          \
                                                                             \
                if (!box_of(d, d->boxes + (n * d->box_count + i) * 4, &b))   \
                    continue;                                                \
                for (int axis = 0; axis < 2; axis++) {                       \
                    line = b;                                                \
                    line.last[axis] = line.first[axis];                      \
                    if (b.low[axis] >= 0)                                    \
                        put_line_##name(d, image, color, line.first,         \
                                        line.last);                          \
                    line.first[axis] = line.last[axis] = b.last[axis];       \
                    if (b.high[axis] < side[axis])                           \
                        put_line_##name(d, image, color, line.first,         \
                                        line.last);                          \
                }                                                            \
            }                                                                \
        }                                                                    \
    }
#define SAME(v) (v)
DRAW(FLOAT, float, SAME)
DRAW(HALF, tfd_half, tfd_half_from_float)

static enum tfd_code check_boxes(const struct tfd_shape *x,
                                 const struct tfd_shape *boxes,
                                 struct tfd_status *st)
{
    if (x->rank != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The rank of the images should be 4");
    if (boxes->rank != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The rank of the boxes tensor should be 3");
    if (x->dim[0] != boxes->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The batch sizes should be the same");
    if (x->dim[3] != 1 && x->dim[3] != 3 && x->dim[3] != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Channel depth should be either 1 (GRY), 3 (RGB), or "
                        "4 (RGBA)");
    if (boxes->dim[2] != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The size of the third dimension of the box must be "
                        "4. Received: %lld",
                        (long long)boxes->dim[2]);
    return TFD_OK;
}

static enum tfd_code take_colors(const struct tfd_kctx *k, struct drawing *d,
                                 struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[2];
    char text[TFD_SHAPE_TEXT_MAX];

    d->color_size = d->depth == 1 ? 1 : 4;
    d->colors = d->depth == 1 ? white : own_colors;
    d->color_count =
        d->depth == 1 ? 1 : (int64_t)(sizeof(own_colors) / sizeof(float)) / 4;
    if (k->in_count < 3)
        return TFD_OK;
    if (t->shape.rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "colors must be a 2-D matrix%s",
                        tfd_shape_text(&t->shape, text));
    if (t->shape.dim[1] < d->depth)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "colors must have equal or more channels than the "
                        "image provided: %s",
                        tfd_shape_text(&t->shape, text));
    if (tfd_tensor_elements(t) == 0)
        return TFD_OK;
    d->colors = tfd_tensor_data(t);
    d->color_count = t->shape.dim[0];
    d->color_size = t->shape.dim[1];
    return TFD_OK;
}

static enum tfd_code boxes_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    struct drawing d;

    TFD_TRY(check_boxes(x, &k->in[1].shape, st));
    d.height = x->dim[1];
    d.width = x->dim[2];
    d.depth = x->dim[3];
    TFD_TRY(take_colors(k, &d, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, x, st));
    d.x = tfd_tensor_data(&k->in[0]);
    d.y = tfd_tensor_data(&k->out[0]);
    d.boxes = tfd_tensor_data(&k->in[1]);
    d.box_count = k->in[1].shape.dim[1];
    if (tfd_tensor_elements(&k->in[0]) > 0)
        tfd_kctx_parallel(k, x->dim[0], INT32_MAX, k->kernel->range, &d);
    return TFD_OK;
}

static enum tfd_code boxes_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape four = {
        4,
        {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};

    TFD_TRY(tfd_shape_merge(&four, &s->in[0], st));
    s->out[0] = four;
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "DrawBoundingBoxes",
        .inputs = "images: T, boxes: float",
        .outputs = "output: T",
        .attrs = "T: {float, half} = DT_FLOAT",
        .shape = boxes_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "DrawBoundingBoxesV2",
        .inputs = "images: T, boxes: float, colors: float",
        .outputs = "output: T",
        .attrs = "T: {float, half} = DT_FLOAT",
        .shape = boxes_shape,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("DrawBoundingBoxes", FLOAT, boxes_compute, draw_FLOAT),
    TFD_KERNEL("DrawBoundingBoxes", HALF, boxes_compute, draw_HALF),
    TFD_KERNEL("DrawBoundingBoxesV2", FLOAT, boxes_compute, draw_FLOAT),
    TFD_KERNEL("DrawBoundingBoxesV2", HALF, boxes_compute, draw_HALF),
};

const struct tfd_family tfd_family_draw_boxes = {
    .name = "draw_boxes",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
