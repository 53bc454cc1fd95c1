/*
 * crop_and_resize.c - boxes cut out of images and brought to one size:
 * CropAndResize and its two gradients.
 *
 * The corners of a box are fractions of the image's size less one.  Where a
 * box reaches out of its image the crop has the extrapolation value, and no
 * gradient comes from there.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/image/crop.h"
#include "kernels/image/resize.h"

#include <string.h>

static enum tfd_code crop_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct tfd_crop_state *s = state;
    struct tfd_str method;

    TFD_TRY(tfd_node_str(p->node, "method", &method, st));
    if (!tfd_str_eq(method, TFD_STR("bilinear")) &&
        !tfd_str_eq(method, TFD_STR("nearest")))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "method must be 'bilinear' or 'nearest'%.*s",
                        (int)method.size, method.data);
    s->nearest = tfd_str_eq(method, TFD_STR("nearest"));
    if (!tfd_node_attr(p->node, "extrapolation_value", &method))
        return TFD_OK;
    return tfd_node_float(p->node, "extrapolation_value", &s->extrapolation,
                          st);
}

/* ---- CropAndResize ------------------------------------------------------- */

/* Outside of the image. */
static void fill_pixel(const struct tfd_crop *j, int64_t count, float *y)
{
    for (int64_t c = 0; c < count; c++)
        y[c] = j->state->extrapolation;
}

/* tfd_crop_point_of() along a row, which asks it for each of its pixels. */
static inline bool crop_column(const struct tfd_crop *j,
                               const struct tfd_crop_line *columns, int64_t x,
                               struct tfd_crop_point *p)
{
    const float at = columns->first + (float)x * columns->step;
    const int64_t last = j->size[1] - 1;

    if (j->state->nearest || !(at >= 0 && at <= (float)last))
        return tfd_crop_point_of(j, at, 1, p);
    p->low = (int64_t)at;
    p->high = p->low + ((float)p->low < at);
    p->lerp = at - (float)p->low;
    p->low = p->low < last ? p->low : last;
    p->high = p->high < last ? p->high : last;
    return true;
}

#define CROP(name, T, TO)                                                    \
    static inline __attribute__((always_inline)) void crop_pixel_##name(     \
        const T *top, const T *low, int64_t depth, float down,               \
        const struct tfd_crop_point *h, float *restrict y)                   \
    {                                                                        \
        const int64_t left = h->low * depth, right = h->high * depth;        \
                                                                             \
        for (int64_t c = 0; c < depth; c++) {                                \
            const float a = TO(top[left + c]), b = TO(low[left + c]);        \
            const float above = a + (TO(top[right + c]) - a) * h->lerp;      \
            const float below = b + (TO(low[right + c]) - b) * h->lerp;      \
                                                                             \
            y[c] = above + (below - above) * down;                           \
        }                                                                    \
    }                                                                        \
                                                                             \
    static inline __attribute__((always_inline)) void crop_row_##name(       \
        const struct tfd_crop *j, const T *image, int64_t depth,             \
        const struct tfd_crop_line *columns, const struct tfd_crop_point *v, \
        float *y)                                                            \
    {                                                                        \
        const int64_t line = j->size[1] * depth, n = j->crop[1];             \
        const T *top = image + v->low * line;                                \
        const T *low = image + v->high * line;                               \
        struct tfd_crop_point h;                                             \
                                                                             \
        for (int64_t x = 0; x < n; x++, y += depth) {                        \
            if (!crop_column(j, columns, x, &h))                             \
                fill_pixel(j, depth, y);                                     \
            else if (j->state->nearest)                                      \
                for (int64_t c = 0; c < depth; c++)                          \
                    y[c] = TO(top[h.low * depth + c]);                       \
            else                                                             \
                crop_pixel_##name(top, low, depth, v->lerp, &h, y);          \
        }                                                                    \
    }                                                                        \
                                                                             \
    static void crop_##name(void *arg, int64_t begin, int64_t end)           \
    {                                                                        \
        const struct tfd_crop *j = arg;                                      \
        const int64_t depth = j->depth, n = j->crop[1] * depth;              \
        float *y = (float *)j->y + begin * n;                                \
                                                                             \
        for (int64_t i = begin; i < end && !tfd_halted(); i++, y += n) {     \
            const int64_t b = i / j->crop[0];                                \
            const T *image = (const T *)j->image +                           \
                             j->index[b] * j->size[0] * j->size[1] * depth;  \
            const struct tfd_crop_line columns = tfd_crop_line_of(j, b, 1);  \
            struct tfd_crop_point v;                                         \
                                                                             \
            if (!tfd_crop_locate(j, b, 0, i % j->crop[0], &v))               \
                fill_pixel(j, n, y);                                         \
            else if (depth == 3)                                             \
                crop_row_##name(j, image, 3, &columns, &v, y);               \
            else                                                             \
                crop_row_##name(j, image, depth, &columns, &v, y);           \
        }                                                                    \
    }
TFD_IMAGE_TYPES(CROP)

/* ---- CropAndResizeGradImage ---------------------------------------------- */

#define ADD_FLOAT(T, a, b) ((a) + (T)(b))
#define ADD_HALF(T, a, b)                      \
    tfd_half_from_float(tfd_half_to_float(a) + \
                        tfd_half_to_float(tfd_half_from_float(b)))

/* A row of a box's gradient, to a row of the image, with a weight. */
#define SPREAD(name, T, ADD)                                           \
    static void spread_row_##name(const struct tfd_crop *j, int64_t b, \
                                  const float *dy, float weight, T *y) \
    {                                                                  \
        const int64_t depth = j->depth;                                \
        struct tfd_crop_point h;                                       \
                                                                       \
        for (int64_t x = 0; x < j->crop[1]; x++, dy += depth) {        \
            if (!tfd_crop_locate(j, b, 1, x, &h))                      \
                continue;                                              \
            for (int64_t c = 0; c < depth; c++) {                      \
                const float part = weight * dy[c];                     \
                T *left = &y[h.low * depth + c], *right;               \
                                                                       \
                *left = ADD(T, *left, (1 - h.lerp) * part);            \
                if (j->state->nearest)                                 \
                    continue;                                          \
                right = &y[h.high * depth + c];                        \
                *right = ADD(T, *right, h.lerp * part);                \
            }                                                          \
        }                                                              \
    }                                                                  \
                                                                       \
    static void spread_##name(void *arg, int64_t begin, int64_t end)   \
    {                                                                  \
        const struct tfd_crop *j = arg;                                \
        const int64_t line = j->size[1] * j->depth;                    \
        T *y = j->y;                                                   \
                                                                       \
        memset(y + begin * line, 0,                                    \
               (size_t)((end - begin) * line) * sizeof(T));            \
        for (int64_t i = 0; i < j->box_count * j->crop[0]; i++) {      \
            const int64_t b = i / j->crop[0];                          \
            if (tfd_halted())                                          \
                return;                                                \
            const int64_t first = j->index[b] * j->size[0];            \
            const float *dy = j->dy + i * j->crop[1] * j->depth;       \
            struct tfd_crop_point v;                                   \
                                                                       \
            if (first + j->size[0] <= begin || first >= end ||         \
                !tfd_crop_locate(j, b, 0, i % j->crop[0], &v))         \
                continue;                                              \
            if (first + v.low >= begin && first + v.low < end)         \
                spread_row_##name(j, b, dy, 1 - v.lerp,                \
                                  y + (first + v.low) * line);         \
            if (!j->state->nearest && first + v.high >= begin &&       \
                first + v.high < end)                                  \
                spread_row_##name(j, b, dy, v.lerp,                    \
                                  y + (first + v.high) * line);        \
        }                                                              \
    }
#define SPREAD_ROWS(X)           \
    X(FLOAT, float, ADD_FLOAT)   \
    X(DOUBLE, double, ADD_FLOAT) \
    X(HALF, tfd_half, ADD_HALF)
SPREAD_ROWS(SPREAD)

/* ---- CropAndResizeGradBoxes ---------------------------------------------- */

/* How far the corners move a row or column i of a crop: the first two numbers
 * are of the box's first corner and of its last. */
static bool locate_ratio(const struct tfd_crop *j, int64_t b, int axis,
                         int64_t i, struct tfd_crop_point *p, float *by)
{
    const float from = j->boxes[4 * b + axis], to = j->boxes[4 * b + 2 + axis];
    const float last = (float)(j->size[axis] - 1);
    const int64_t n = j->crop[axis];
    const float ratio = n > 1 ? last / (float)(n - 1) : 0;

    by[0] = last - (float)i * ratio;
    by[1] = (float)i * ratio;
    return tfd_crop_point_of(
        j,
        n > 1 ? from * last + (float)i * ((to - from) * ratio)
              : (float)(0.5 * (double)(from + to) * (double)last),
        axis, p);
}

/* Of a crop of one row both corners move it half as far. */
static void add_moves(const struct tfd_crop *j, int axis, float grad,
                      const float *by, float *y)
{
    const double half = (double)grad * 0.5 * (double)(j->size[axis] - 1);

    if (j->crop[axis] > 1) {
        y[axis] += grad * by[0];
        y[2 + axis] += grad * by[1];
    } else {
        y[axis] = (float)((double)y[axis] + half);
        y[2 + axis] = (float)((double)y[2 + axis] + half);
    }
}

#define MOVES(name, T, TO)                                                     \
    static void moves_of_pixel_##name(                                         \
        const struct tfd_crop *j, const T *image,                              \
        const struct tfd_crop_point *p, const float(*by)[2], const float *dy,  \
        float *y)                                                              \
    {                                                                          \
        const int64_t line = j->size[1] * j->depth;                            \
        const T *top = image + p[0].low * line;                                \
        const T *low = image + p[0].high * line;                               \
        const int64_t left = p[1].low * j->depth,                              \
                      right = p[1].high * j->depth;                            \
                                                                               \
        for (int64_t c = 0; c < j->depth; c++) {                               \
            const float tl = TO(top[left + c]), tr = TO(top[right + c]);       \
            const float bl = TO(low[left + c]), br = TO(low[right + c]);       \
            const float high =                                                 \
                (1 - p[1].lerp) * (bl - tl) + p[1].lerp * (br - tr);           \
            const float wide =                                                 \
                (1 - p[0].lerp) * (tr - tl) + p[0].lerp * (br - bl);           \
                                                                               \
            add_moves(j, 0, high *dy[c], by[0], y);                            \
            add_moves(j, 1, wide *dy[c], by[1], y);                            \
        }                                                                      \
    }                                                                          \
                                                                               \
    static void moves_##name(void *arg, int64_t begin, int64_t end)            \
    {                                                                          \
        const struct tfd_crop *j = arg;                                        \
        const int64_t rows = j->crop[0], columns = j->crop[1];                 \
                                                                               \
        for (int64_t b = begin; b < end; b++) {                                \
            const T *image = (const T *)j->image +                             \
                             j->index[b] * j->size[0] * j->size[1] * j->depth; \
            float *y = (float *)j->y + 4 * b, by[2][2];                        \
            struct tfd_crop_point p[2];                                        \
                                                                               \
            memset(y, 0, 4 * sizeof(*y));                                      \
            for (int64_t i = 0; i < rows * columns && !tfd_halted(); i++)      \
                if (locate_ratio(j, b, 0, i / columns, &p[0], by[0]) &&        \
                    locate_ratio(j, b, 1, i % columns, &p[1], by[1]))          \
                    moves_of_pixel_##name(                                     \
                        j, image, p, (const float(*)[2])by,                    \
                        j->dy + (b * rows * columns + i) * j->depth, y);       \
        }                                                                      \
    }
TFD_IMAGE_TYPES(MOVES)

/* ---- Kernels ------------------------------------------------------------- */

static void run(struct tfd_kctx *k, struct tfd_crop *j, int64_t n, double cost)
{
    j->y = tfd_tensor_data(&k->out[0]);
    tfd_kctx_parallel(k, n, tfd_resize_cost(cost), k->kernel->range, j);
}

static enum tfd_code read_crop_size(const struct tfd_kctx *k,
                                    struct tfd_crop *j, struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[3];
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "crop_size must be 1-D%s",
                        tfd_shape_text(&t->shape, text));
    if (t->shape.dim[0] != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "crop_size must have two elements%s",
                        tfd_shape_text(&t->shape, text));
    j->crop[0] = tfd_check_int_at(t, 0);
    j->crop[1] = tfd_check_int_at(t, 1);
    if (j->crop[0] <= 0 || j->crop[1] <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "crop dimensions must be positive");
    return TFD_OK;
}

static enum tfd_code crop_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_crop j = {.state = k->state,
                         .image = tfd_tensor_data(&k->in[0])};
    struct tfd_shape out;

    TFD_TRY(tfd_crop_check_image(&k->in[0], "input", "image", st));
    tfd_crop_take_image(&k->in[0].shape, &j);
    TFD_TRY(tfd_crop_read_boxes(k, 1, &j, st));
    TFD_TRY(tfd_crop_check_finite(&j, st));
    TFD_TRY(read_crop_size(k, &j, st));
    TFD_TRY(tfd_shape_make(
        &out, (int64_t[]){j.box_count, j.crop[0], j.crop[1], j.depth}, 4, st));
    TFD_TRY(tfd_crop_check_index(&j, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &out, st));
    if (k->out[0].buffer)
        run(k, &j, j.box_count * j.crop[0],
            (double)j.crop[1] * (10 + 2 * (double)j.depth));
    return TFD_OK;
}

static enum tfd_code read_image_size(const struct tfd_kctx *k,
                                     struct tfd_crop *j, struct tfd_shape *out,
                                     struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[3];
    int64_t dim[4];
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "image_size must be 1-D%s",
                        tfd_shape_text(&t->shape, text));
    if (t->shape.dim[0] != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "image_size must have 4 elements%s",
                        tfd_shape_text(&t->shape, text));
    for (int i = 0; i < 4; i++)
        dim[i] = tfd_check_int_at(t, i);
    if (dim[1] <= 0 || dim[2] <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "image dimensions must be positive");
    if (dim[3] != k->in[0].shape.dim[3])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "image_size and grads are incompatible");
    if (dim[0] < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected a non-negative size, got %lld",
                        (long long)dim[0]);
    TFD_TRY(tfd_shape_make(out, dim, 4, st));
    tfd_crop_take_image(out, j);
    return TFD_OK;
}

static enum tfd_code grad_image_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    struct tfd_crop j = {.state = k->state};
    struct tfd_shape out;
    double rows;

    TFD_TRY(tfd_crop_take_grads(k, &j, st));
    TFD_TRY(tfd_crop_read_boxes(k, 1, &j, st));
    TFD_TRY(tfd_crop_check_grads(k, &j, st));
    TFD_TRY(read_image_size(k, &j, &out, st));
    TFD_TRY(tfd_crop_check_index(&j, st));
    TFD_TRY(
        tfd_kctx_output(k, 0, (enum tfd_dtype)k->node->out_types[0], &out, st));
    rows = (double)(j.batch * j.size[0]);
    if (k->out[0].buffer)
        run(k, &j, j.batch * j.size[0],
            (double)(j.size[1] * j.depth) +
                8 * (double)tfd_tensor_elements(&k->in[0]) / rows);
    return TFD_OK;
}

static enum tfd_code grad_boxes_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    struct tfd_crop j = {.state = k->state,
                         .image = tfd_tensor_data(&k->in[1])};
    struct tfd_shape out;

    TFD_TRY(tfd_crop_take_grads(k, &j, st));
    TFD_TRY(tfd_crop_check_image(&k->in[1], "input", "image", st));
    tfd_crop_take_image(&k->in[1].shape, &j);
    if (k->in[0].shape.dim[3] != j.depth)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "image, grads depth differ");
    TFD_TRY(tfd_crop_read_boxes(k, 2, &j, st));
    TFD_TRY(tfd_crop_check_grads(k, &j, st));
    TFD_TRY(tfd_crop_check_index(&j, st));
    TFD_TRY(tfd_shape_make(&out, (int64_t[]){j.box_count, 4}, 2, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &out, st));
    if (tfd_tensor_elements(&k->in[0]) == 0)
        tfd_elements_clear(&k->out[0]);
    else if (k->out[0].buffer)
        run(k, &j, j.box_count,
            (double)(j.crop[0] * j.crop[1]) * (10 + 6 * (double)j.depth));
    return TFD_OK;
}

/* ---- Shapes, gradient ---------------------------------------------------- */

static const struct tfd_shape any_image = {
    4, {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};

static enum tfd_code crop_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape image = any_image, boxes = {2, {TFD_DIM_UNKNOWN, 4}};
    struct tfd_shape index = {1, {TFD_DIM_UNKNOWN}}, two = {1, {2}};
    const struct tfd_tensor *size = s->value ? s->value[3] : NULL;

    TFD_TRY(tfd_shape_merge(&image, &s->in[0], st));
    TFD_TRY(tfd_shape_merge(&boxes, &s->in[1], st));
    index.dim[0] = boxes.dim[0];
    TFD_TRY(tfd_shape_merge(&index, &s->in[2], st));
    TFD_TRY(tfd_shape_merge(&two, &s->in[3], st));
    image.dim[0] = index.dim[0];
    for (int i = 0; i < 2; i++)
        image.dim[1 + i] = size ? tfd_check_int_at(size, i) : TFD_DIM_UNKNOWN;
    return tfd_shape_make_partial(&s->out[0], image.dim, 4, st);
}

static enum tfd_code grad_image_shape(struct tfd_shape_ctx *s,
                                      struct tfd_status *st)
{
    s->out[0] = any_image;
    if (s->value && s->value[3])
        TFD_TRY(tfd_check_shape_value(s->value[3], false, &s->out[0], st));
    return TFD_OK;
}

static enum tfd_code grad_boxes_shape(struct tfd_shape_ctx *s,
                                      struct tfd_status *st)
{
    s->out[0] = (struct tfd_shape){2, {TFD_DIM_UNKNOWN, 4}};
    return tfd_shape_merge(&s->out[0], &s->in[2], st);
}

/* An image of integers has none, as in TensorFlow. */
static enum tfd_code crop_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    static const char *const both[] = {"T", "method", NULL};
    static const char *const none[] = {NULL};
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge image[] = {g->dy[0], g->x[1], g->x[2],
                                     tfd_gradient_shape(&b, g->x[0])};
    const struct tfd_edge boxes[] = {g->dy[0], g->x[0], g->x[1], g->x[2]};
    const enum tfd_dtype dtype = tfd_gradient_dtype(&b, g->x[0]);

    if (dtype == TFD_HALF || dtype == TFD_FLOAT || dtype == TFD_DOUBLE)
        tfd_gradient_copying(&b, "CropAndResizeGradImage", image, 4, both,
                             &g->dx[0], 1);
    tfd_gradient_copying(&b, "CropAndResizeGradBoxes", boxes, 4, none,
                         &g->dx[1], 1);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define IMAGES \
    "T: {uint8, uint16, int8, int16, int32, int64, half, float, double}; "

static const struct tfd_opdef ops[] = {
    {
        .name = "CropAndResize",
        .inputs = "image: T, boxes: float, box_ind: int32, crop_size: int32",
        .outputs = "crops: float",
        .attrs = IMAGES "method: {'bilinear', 'nearest'} = 'bilinear'; "
                        "extrapolation_value: float = 0",
        .shape = crop_shape,
        .grad = crop_gradient,
    },
    {
        .name = "CropAndResizeGradImage",
        .inputs = "grads: float, boxes: float, box_ind: int32, "
                  "image_size: int32",
        .outputs = "output: T",
        .attrs = "T: {float, half, double}; "
                 "method: {'bilinear', 'nearest'} = 'bilinear'",
        .shape = grad_image_shape,
    },
    {
        .name = "CropAndResizeGradBoxes",
        .inputs = "grads: float, image: T, boxes: float, box_ind: int32",
        .outputs = "output: float",
        .attrs = IMAGES "method: {'bilinear'} = 'bilinear'",
        .shape = grad_boxes_shape,
    },
};

#define STATE \
    .prepare = crop_prepare, .state_size = sizeof(struct tfd_crop_state)
#define KERNELS(name, T, TO)                                             \
    TFD_KERNEL("CropAndResize", name, crop_compute, crop_##name, STATE), \
        TFD_KERNEL("CropAndResizeGradBoxes", name, grad_boxes_compute,   \
                   moves_##name, STATE),
#define GRAD(name, T, ADD)                                         \
    TFD_KERNEL("CropAndResizeGradImage", name, grad_image_compute, \
               spread_##name, STATE),

static const struct tfd_kernel kernels[] = {TFD_IMAGE_TYPES(KERNELS)
                                                SPREAD_ROWS(GRAD)};

const struct tfd_family tfd_family_crop_and_resize = {
    .name = "crop_and_resize",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
