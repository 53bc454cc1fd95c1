/*
 * resize_nearest.c - images of another size by picking pixels:
 * ResizeNearestNeighbor, which moves elements of any size, and its gradient,
 * which adds up what was picked several times.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/image/resize.h"

#include <string.h>

/* Which of `limit` pixels is pixel i. */
static int64_t nearest(const struct tfd_resize_state *s, int64_t i, float scale,
                       int64_t limit)
{
    const float at =
        s->half_pixel_centers ? ((float)i + 0.5f) * scale : (float)i * scale;
    const float whole = s->align_corners ? roundf(at) : floorf(at);

    return tfd_resize_bound((int64_t)whole, limit);
}

/* ---- ResizeNearestNeighbor ----------------------------------------------- */

struct job {
    struct tfd_resize r;
    int64_t *column; /* which column of the other image each one is */
};

#define PICK(bits)                                                          \
    static void pick_##bits(void *arg, int64_t begin, int64_t end)          \
    {                                                                       \
        const struct job *j = arg;                                          \
        const int64_t depth = j->r.channels, high = j->r.out[0];            \
        const int64_t line = j->r.in[1] * depth;                            \
        uint##bits##_t *y =                                                 \
            (uint##bits##_t *)j->r.y + begin * j->r.out[1] * depth;         \
                                                                            \
        for (int64_t i = begin; i < end && !tfd_halted(); i++) {            \
            const int64_t row =                                             \
                nearest(j->r.state, i % high, j->r.scale[0], j->r.in[0]);   \
            const uint##bits##_t *x = (const uint##bits##_t *)j->r.x +      \
                                      (i / high * j->r.in[0] + row) * line; \
                                                                            \
            for (int64_t w = 0; w < j->r.out[1]; w++, y += depth)           \
                for (int64_t c = 0; c < depth; c++)                         \
                    y[c] = x[j->column[w] * depth + c];                     \
        }                                                                   \
    }
PICK(8)
PICK(16)
PICK(32)
PICK(64)

static enum tfd_code new_columns(const struct tfd_resize *r, int64_t n,
                                 int64_t limit, struct tfd_buffer **out,
                                 struct tfd_status *st)
{
    *out = tfd_buffer_new((size_t)n * sizeof(int64_t));
    if (!*out)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating the places of %lld columns",
                        (long long)n);
    for (int64_t i = 0; i < n; i++)
        ((int64_t *)(*out)->data)[i] =
            nearest(r->state, i, r->scale[TFD_RESIZE_WIDE], limit);
    return TFD_OK;
}

static enum tfd_code nearest_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct job j;
    struct tfd_buffer *columns;

    TFD_TRY(tfd_resize_begin(k, &j.r, k->in[0].dtype, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    TFD_TRY(new_columns(&j.r, j.r.out[1], j.r.in[1], &columns, st));
    j.column = columns->data;
    tfd_kctx_parallel(k, j.r.batch * j.r.out[0],
                      tfd_resize_cost((double)(j.r.out[1] * j.r.channels)),
                      k->kernel->range, &j);
    tfd_buffer_unref(columns);
    return TFD_OK;
}

static enum tfd_code nearest_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    static const char *const names[] = {"align_corners", "half_pixel_centers",
                                        NULL};
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge in[] = {g->dy[0], {0}};
    struct tfd_shape shape;

    if (tfd_grad_shape(g, g->x[0], &shape) && shape.rank == 4) {
        const int32_t size[] = {(int32_t)shape.dim[1], (int32_t)shape.dim[2]};

        in[1] = tfd_gradient_ints(&b, size, 2);
    } else {
        const struct tfd_edge dims = tfd_gradient_op1(&b, "Shape", g->x[0]);
        const int32_t first = 1, count = 2;

        in[1] = tfd_gradient_op3(&b, "Slice", dims,
                                 tfd_gradient_ints(&b, &first, 1),
                                 tfd_gradient_ints(&b, &count, 1));
    }
    tfd_gradient_copying(&b, "ResizeNearestNeighborGrad", in, 2, names,
                         &g->dx[0], 1);
    return b.code;
}

/* ---- ResizeNearestNeighborGrad ------------------------------------------- */

#define ADD_FLOAT(T, a, b) ((a) + (b))
#define ADD_WRAPPING(T, a, b) ((T)((uint32_t)(a) + (uint32_t)(b)))
#define ADD_HALF(T, a, b) \
    tfd_half_from_float(tfd_half_to_float(a) + tfd_half_to_float(b))
#define ADD_BFLOAT16(T, a, b) \
    tfd_bfloat16_from_float(tfd_bfloat16_to_float(a) + tfd_bfloat16_to_float(b))

/* Rows of the result are shared out; each is given what belongs to it of all
 * rows of the gradient, in their order. */
#define GATHER(name, T, ADD)                                                   \
    static void add_row_##name(const struct job *j, const T *dy, T *y)         \
    {                                                                          \
        const int64_t depth = j->r.channels;                                   \
                                                                               \
        for (int64_t w = 0; w < j->r.in[1]; w++, dy += depth)                  \
            for (int64_t c = 0; c < depth; c++) {                              \
                T *to = &y[j->column[w] * depth + c];                          \
                                                                               \
                *to = ADD(T, *to, dy[c]);                                      \
            }                                                                  \
    }                                                                          \
                                                                               \
    static void gather_##name(void *arg, int64_t begin, int64_t end)           \
    {                                                                          \
        const struct job *j = arg;                                             \
        const int64_t high = j->r.out[0];                                      \
        const int64_t line = j->r.out[1] * j->r.channels;                      \
        const int64_t in_line = j->r.in[1] * j->r.channels;                    \
        T *y = j->r.y;                                                         \
                                                                               \
        memset(y + begin * line, 0,                                            \
               (size_t)((end - begin) * line) * sizeof(T));                    \
        for (int64_t b = begin / high; b * high < end; b++)                    \
            for (int64_t i = 0; i < j->r.in[0] && !tfd_halted(); i++) {        \
                const int64_t to =                                             \
                    b * high + nearest(j->r.state, i, j->r.scale[0], high);    \
                                                                               \
                if (to >= begin && to < end)                                   \
                    add_row_##name(                                            \
                        j, (const T *)j->r.x + (b * j->r.in[0] + i) * in_line, \
                        y + to * line);                                        \
            }                                                                  \
    }

#define GATHER_ROWS(X)              \
    X(UINT8, uint8_t, ADD_WRAPPING) \
    X(INT8, int8_t, ADD_WRAPPING)   \
    X(INT32, int32_t, ADD_WRAPPING) \
    X(HALF, tfd_half, ADD_HALF)     \
    X(FLOAT, float, ADD_FLOAT)      \
    X(DOUBLE, double, ADD_FLOAT)    \
    X(BFLOAT16, tfd_bfloat16, ADD_BFLOAT16)
GATHER_ROWS(GATHER)

/* r: in is the gradient's size, out that of the image it is for. */
static enum tfd_code begin_grad(struct tfd_kctx *k, struct tfd_resize *r,
                                struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    struct tfd_shape out;
    char text[TFD_SHAPE_TEXT_MAX];

    *r =
        (struct tfd_resize){.state = k->state, .x = tfd_tensor_data(&k->in[0])};
    if (x->rank != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must be 4-dimensional%s",
                        tfd_shape_text(x, text));
    TFD_TRY(tfd_resize_sizes(k, 1, r->out, st));
    if (r->out[0] <= 0 || r->out[1] <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "shape_t's elements must be positive");
    r->batch = x->dim[0];
    r->channels = x->dim[3];
    for (int i = 0; i < 2; i++) {
        r->in[i] = x->dim[1 + i];
        r->scale[i] =
            tfd_resize_scale(r->out[i], r->in[i], r->state->align_corners);
    }
    TFD_TRY(tfd_shape_make(
        &out, (int64_t[]){r->batch, r->out[0], r->out[1], r->channels}, 4, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &out, st));
    r->y = tfd_tensor_data(&k->out[0]);
    return TFD_OK;
}

static enum tfd_code grad_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct job j;
    struct tfd_buffer *columns;

    TFD_TRY(begin_grad(k, &j.r, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    if (!k->in[0].buffer) {
        tfd_elements_clear(&k->out[0]);
        return TFD_OK;
    }
    TFD_TRY(new_columns(&j.r, j.r.in[1], j.r.out[1], &columns, st));
    j.column = columns->data;
    tfd_kctx_parallel(k, j.r.batch * j.r.out[0],
                      tfd_resize_cost((double)(j.r.out[1] + j.r.in[1]) *
                                      (double)j.r.channels),
                      k->kernel->range, &j);
    tfd_buffer_unref(columns);
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define ATTRS "align_corners: bool = false; half_pixel_centers: bool = false; "

static const struct tfd_opdef ops[] = {
    {
        .name = "ResizeNearestNeighbor",
        .inputs = "images: T, size: int32",
        .outputs = "resized_images: T",
        .attrs = ATTRS "T: {int8, uint8, int16, uint16, int32, int64, half, "
                       "float, double, bfloat16}",
        .shape = tfd_resize_shape,
        .grad = nearest_gradient,
    },
    {
        .name = "ResizeNearestNeighborGrad",
        .inputs = "grads: T, size: int32",
        .outputs = "output: T",
        .attrs = ATTRS "T: {uint8, int8, int32, half, float, double, bfloat16}",
        .shape = tfd_resize_shape,
    },
};

#define STATE \
    .prepare = tfd_resize_prepare, .state_size = sizeof(struct tfd_resize_state)
#define NEAREST(name, bits)                                                 \
    TFD_KERNEL("ResizeNearestNeighbor", name, nearest_compute, pick_##bits, \
               STATE)
#define GRAD(name, T, ADD)                                                     \
    TFD_KERNEL("ResizeNearestNeighborGrad", name, grad_compute, gather_##name, \
               STATE),

static const struct tfd_kernel kernels[] = {
    NEAREST(INT8, 8),    NEAREST(UINT8, 8),  NEAREST(INT16, 16),
    NEAREST(UINT16, 16), NEAREST(HALF, 16),  NEAREST(BFLOAT16, 16),
    NEAREST(INT32, 32),  NEAREST(FLOAT, 32), NEAREST(INT64, 64),
    NEAREST(DOUBLE, 64), GATHER_ROWS(GRAD)};

const struct tfd_family tfd_family_resize_nearest = {
    .name = "resize_nearest",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
