/*
 * fused_conv.c - convolutions of images that are made larger first, by a
 * border that mirrors them, or by a filter and such a border:
 *
 *     FusedPadConv2D             border
 *     FusedResizeAndPadConv2D    ResizeBilinear, then border
 *
 * The larger image is made in one pass into memory of its own; each of its
 * pixels is one of the input, or lies between four.  Pixels are blended in the
 * image's own type, where ResizeBilinear has floats.  Every image of a batch is
 * convolved, where TensorFlow's kernels give the answer of the first for all.
 * Neither op has a gradient.
 */
#include "common/thread/halt.h"
#include "kernels/conv/conv.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/summarize.h"
#include "kernels/image/resize.h"

#include <inttypes.h>
#include <string.h>

struct fused_state {
    struct tfd_window window; /* first, as tfd_conv_prepare() wants it */
    struct tfd_resize_state resize;
    bool resizes;
    int64_t edge; /* pixels at the edge that are not repeated: 0 or 1 */
};

/* The sides of an image, in the order of its dimensions. */
enum { BATCH, HIGH, WIDE, DEPTH, RANK };

struct enlarged {
    const struct tfd_resize_taps *columns; /* between the borders */
    struct tfd_resize r;
    bool resizes;
    int64_t edge;
    int64_t before[2], out[2]; /* of rows and columns, with the border */
    char *y;
};

static enum tfd_code fused_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct fused_state *s = state;
    struct tfd_str mode, ignored;

    TFD_TRY(tfd_conv_prepare(p, &s->window, st));
    TFD_TRY(tfd_node_str(p->node, "mode", &mode, st));
    s->edge = tfd_str_is(mode, "REFLECT");
    s->resizes = tfd_node_attr(p->node, "resize_align_corners", &ignored);
    if (!s->resizes)
        return TFD_OK;
    return tfd_node_bool(p->node, "resize_align_corners",
                         &s->resize.align_corners, st);
}

/* ---- Sizes --------------------------------------------------------------- */

static enum tfd_code check_image_rank(const struct tfd_shape *x,
                                      struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (tfd_shape_elements(x) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input tensor can't be empty");
    if (x->rank == RANK)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "input must be 4-dimensional%s",
                    tfd_shape_text(x, text));
}

/* The sizes between the borders. */
static enum tfd_code read_resize(const struct tfd_kctx *k, struct tfd_resize *r,
                                 struct tfd_status *st)
{
    const struct fused_state *s = k->state;
    const struct tfd_shape *x = &k->in[0].shape;

    *r = (struct tfd_resize){.state = &s->resize,
                             .x = tfd_tensor_data(&k->in[0]),
                             .batch = x->dim[BATCH],
                             .channels = x->dim[DEPTH],
                             .in = {x->dim[HIGH], x->dim[WIDE]},
                             .out = {x->dim[HIGH], x->dim[WIDE]}};
    if (!s->resizes)
        return TFD_OK;
    TFD_TRY(tfd_resize_sizes(k, 1, r->out, st));
    if (r->in[0] >= INT32_MAX || r->in[1] >= INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input sizes must be between 0 and max int32");
    if (r->out[0] <= 0 || r->out[1] <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "output dimensions must be positive");
    for (int i = 0; i < 2; i++)
        r->scale[i] =
            tfd_resize_scale(r->in[i], r->out[i], s->resize.align_corners);
    return TFD_OK;
}

static enum tfd_code check_padding(int64_t before, int64_t after, int64_t size,
                                   int64_t edge, struct tfd_status *st)
{
    if (before < 0 || after < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "paddings must be non-negative: %" PRId64 " %" PRId64,
                        before, after);
    if (before > size - edge || after > size - edge)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "paddings must be %s than the dimension size: %" PRId64
                        ", %" PRId64 " %s than %" PRId64,
                        edge ? "less" : "no greater", before, after,
                        edge ? "not less" : "greater", size);
    return TFD_OK;
}

/* Borders are of rows and columns alone. */
static enum tfd_code fail_dimension(const struct tfd_tensor *paddings,
                                    const char *what, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_bytes values;
    enum tfd_code rc;

    tfd_bytes_init(&values, TFD_STATUS_TEXT_MAX);
    tfd_summarize(&values, paddings, 3);
    rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                  "Fused mirror padding only support spatial padding, not %s: "
                  "Tensor<type: int32 shape: %s values: " TFD_STR_FMT ">",
                  what, tfd_shape_text(&paddings->shape, text),
                  TFD_STR_ARG(tfd_bytes_view(&values)));
    tfd_bytes_deinit(&values);
    return rc;
}

static enum tfd_code check_paddings_shape(const struct tfd_tensor *t,
                                          const struct tfd_shape *x,
                                          struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX], image[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank != 2 || t->shape.dim[1] != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "paddings must be a matrix with 2 columns: %s",
                        tfd_shape_text(&t->shape, text));
    if (t->shape.dim[0] != RANK)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The first dimension of paddings must be the rank of "
                        "inputs: %d %s %s",
                        RANK, tfd_shape_text(&t->shape, text),
                        tfd_shape_text(x, image));
    return TFD_OK;
}

/* x: the shape between the borders, which becomes that with them. */
static enum tfd_code read_borders(const struct tfd_kctx *k, struct enlarged *e,
                                  struct tfd_shape *x, struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[e->resizes ? 2 : 1];
    int64_t before[RANK], after[RANK];

    TFD_TRY(check_paddings_shape(t, x, st));
    for (int d = 0; d < RANK; d++) {
        before[d] = tfd_check_int_at(t, 2 * d);
        after[d] = tfd_check_int_at(t, 2 * d + 1);
        TFD_TRY(check_padding(before[d], after[d], x->dim[d], e->edge, st));
        x->dim[d] += before[d] + after[d];
    }
    if (before[BATCH] || after[BATCH])
        return fail_dimension(t, "batches", st);
    if (before[DEPTH] || after[DEPTH])
        return fail_dimension(t, "channels", st);
    for (int i = 0; i < 2; i++) {
        e->before[i] = before[HIGH + i];
        e->out[i] = x->dim[HIGH + i];
    }
    return tfd_shape_make(x, x->dim, RANK, st);
}

/* ---- The larger image ---------------------------------------------------- */

/* The row or column between the borders that stands at place i. */
static int64_t mirrored(const struct enlarged *e, int axis, int64_t i)
{
    int64_t at = i - e->before[axis], n = e->r.out[axis];

    if (at < 0)
        return e->edge - 1 - at;
    return at < n ? at : 2 * n - 1 - e->edge - at;
}

/* The borders of a row, whose pixels have `size` bytes, from its middle. */
static void mirror_columns(const struct enlarged *e, char *row, size_t size)
{
    const int64_t begin = e->before[1], end = begin + e->r.out[1];
    const char *middle = row + (size_t)begin * size;

    for (int64_t i = 0; i < begin; i++)
        memcpy(row + (size_t)i * size,
               middle + (size_t)mirrored(e, TFD_RESIZE_WIDE, i) * size, size);
    for (int64_t i = end; i < e->out[1]; i++)
        memcpy(row + (size_t)i * size,
               middle + (size_t)mirrored(e, TFD_RESIZE_WIDE, i) * size, size);
}

#define SAME(x) (x)
#define HALF_TO(x) tfd_half_to_float(x)
#define HALF_FROM(x) tfd_half_from_float(x)
#define ROUND_HALF(x) tfd_half_round(x)

/* Pixels between four; W is what T is computed in, ROUND what each step does
 * to it. */
#define BLEND(name, T, W, TO, FROM, ROUND)                                     \
    static void blend_##name(const struct enlarged *e, const T *image,         \
                             const struct tfd_resize_taps *row, T *restrict y) \
    {                                                                          \
        const int64_t depth = e->r.channels, line = e->r.in[1] * depth;        \
        const T *top = image + row->at[0] * line;                              \
        const T *low = image + row->at[1] * line;                              \
        const W down = ROUND((W)row->weight[1]);                               \
                                                                               \
        for (int64_t i = 0; i < e->r.out[1]; i++, y += depth) {                \
            const struct tfd_resize_taps *t = &e->columns[i];                  \
            const int64_t left = t->at[0] * depth;                             \
            const int64_t right = t->at[1] * depth;                            \
            const W across = ROUND((W)t->weight[1]);                           \
                                                                               \
            for (int64_t c = 0; c < depth; c++) {                              \
                const W a = TO(top[left + c]), b = TO(low[left + c]);          \
                const W u = ROUND(TO(top[right + c]) - a);                     \
                const W v = ROUND(TO(low[right + c]) - b);                     \
                const W above = ROUND(a + ROUND(u * across));                  \
                const W below = ROUND(b + ROUND(v * across));                  \
                                                                               \
                y[c] = FROM(above + ROUND(ROUND(below - above) * down));       \
            }                                                                  \
        }                                                                      \
    }                                                                          \
                                                                               \
    static void enlarge_##name(void *arg, int64_t begin, int64_t end)          \
    {                                                                          \
        const struct enlarged *e = arg;                                        \
        const int64_t image = e->r.in[0] * e->r.in[1] * e->r.channels;         \
        const int64_t line = e->out[1] * e->r.channels;                        \
                                                                               \
        for (int64_t i = begin; i < end && !tfd_halted(); i++) {               \
            const struct tfd_resize_taps row = tfd_resize_linear(              \
                &e->r, TFD_RESIZE_HIGH,                                        \
                mirrored(e, TFD_RESIZE_HIGH, i % e->out[0]));                  \
            T *y = (T *)(void *)e->y + i * line;                               \
                                                                               \
            blend_##name(e, (const T *)e->r.x + i / e->out[0] * image, &row,   \
                         y + e->before[1] * e->r.channels);                    \
            mirror_columns(e, (char *)y, (size_t)e->r.channels * sizeof(T));   \
        }                                                                      \
    }

BLEND(FLOAT, float, float, SAME, SAME, SAME)
BLEND(DOUBLE, double, double, SAME, SAME, SAME)
BLEND(HALF, tfd_half, float, HALF_TO, HALF_FROM, ROUND_HALF)

/* Pixels of `size` bytes that are copied. */
struct copied {
    const struct enlarged *e;
    size_t size;
};

static void copy_bordered(void *arg, int64_t begin, int64_t end)
{
    const struct copied *c = arg;
    const struct enlarged *e = c->e;
    size_t line = (size_t)e->r.in[1] * c->size;

    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        int64_t row = i / e->out[0] * e->r.in[0] +
                      mirrored(e, TFD_RESIZE_HIGH, i % e->out[0]);
        char *to = e->y + (size_t)(i * e->out[1]) * c->size;

        memcpy(to + (size_t)e->before[1] * c->size,
               (const char *)e->r.x + (size_t)row * line, line);
        mirror_columns(e, to, c->size);
    }
}

/* ---- The whole ----------------------------------------------------------- */

static enum tfd_code enlarge_image(struct tfd_kctx *k, struct enlarged *e,
                                   struct tfd_tensor *y, struct tfd_status *st)
{
    struct copied c = {e,
                       (size_t)e->r.channels * tfd_dtype_size(k->in[0].dtype)};
    const double cost = (double)(e->out[1] * e->r.channels);
    const int64_t rows = e->r.batch * e->out[0];
    struct tfd_buffer *columns;

    e->y = tfd_tensor_data(y);
    if (!e->resizes) {
        tfd_kctx_parallel(k, rows, tfd_resize_cost(cost), copy_bordered, &c);
        return tfd_halted() ? tfd_halt_fail(st) : TFD_OK;
    }
    TFD_TRY(tfd_resize_columns(&e->r, tfd_resize_linear, &columns, st));
    e->columns = columns->data;
    tfd_kctx_parallel(k, rows, tfd_resize_cost(4 * cost), k->kernel->range, e);
    tfd_buffer_unref(columns);
    return tfd_halted() ? tfd_halt_fail(st) : TFD_OK;
}

static enum tfd_code check_fused_filter(const struct tfd_shape *filter,
                                        const struct tfd_shape *x,
                                        struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (filter->rank != RANK)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "filter must be 4-dimensional: %s",
                        tfd_shape_text(filter, text));
    if (filter->dim[2] != x->dim[DEPTH])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input and filter must have the same depth: %" PRId64
                        " vs %" PRId64,
                        x->dim[DEPTH], filter->dim[2]);
    return TFD_OK;
}

/* x: the larger image's shape. */
static enum tfd_code make_fused_output(struct tfd_kctx *k,
                                       const struct tfd_shape *x,
                                       const struct tfd_tensor *filter,
                                       struct tfd_conv *c,
                                       struct tfd_status *st)
{
    const struct fused_state *s = k->state;
    struct tfd_shape y;

    TFD_TRY(check_fused_filter(&filter->shape, x, st));
    TFD_TRY(tfd_conv_measure(&s->window, x, &filter->shape, c, &y, st));
    if (tfd_shape_elements(&y) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Output tensor can't be empty");
    return tfd_kctx_output(k, 0, k->in[0].dtype, &y, st);
}

static enum tfd_code fused_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct fused_state *s = k->state;
    const struct tfd_tensor *filter = &k->in[s->resizes ? 3 : 2];
    struct enlarged e = {.resizes = s->resizes, .edge = s->edge};
    struct tfd_tensor large = TFD_TENSOR_INIT;
    struct tfd_shape shape = k->in[0].shape;
    struct tfd_conv c = {0};
    enum tfd_code rc;

    TFD_TRY(check_image_rank(&shape, st));
    TFD_TRY(read_resize(k, &e.r, st));
    shape.dim[HIGH] = e.r.out[0];
    shape.dim[WIDE] = e.r.out[1];
    TFD_TRY(read_borders(k, &e, &shape, st));
    TFD_TRY(make_fused_output(k, &shape, filter, &c, st));
    TFD_TRY(tfd_tensor_new(&large, k->in[0].dtype, &shape, st));
    rc = enlarge_image(k, &e, &large, st);
    if (rc == TFD_OK)
        rc = tfd_conv_run(k, &c, &large, filter, st);
    tfd_tensor_unref(&large);
    return rc;
}

/* ---- Shapes -------------------------------------------------------------- */

/* Rows or columns with the border and as many as are known. */
static enum tfd_code padded_size(const struct tfd_tensor *paddings, int d,
                                 int64_t size, int64_t *out,
                                 struct tfd_status *st)
{
    int64_t before, after;

    *out = TFD_DIM_UNKNOWN;
    if (!paddings || tfd_tensor_elements(paddings) != 2 * RANK)
        return TFD_OK;
    before = tfd_check_int_at(paddings, 2 * d);
    after = tfd_check_int_at(paddings, 2 * d + 1);
    if (before < 0 || after < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Paddings must be non-negative");
    if (size >= 0)
        *out = size + before + after;
    return TFD_OK;
}

static enum tfd_code fused_sides(struct tfd_shape_ctx *s,
                                 const struct tfd_window *w,
                                 const struct tfd_shape *x,
                                 const struct tfd_shape *filter,
                                 struct tfd_shape *y, struct tfd_status *st)
{
    const bool resizes = s->in_count == 4;
    const struct tfd_tensor *const *value = s->value;
    const struct tfd_tensor *sizes = value && resizes ? value[1] : NULL;
    const struct tfd_tensor *paddings = value ? value[resizes ? 2 : 1] : NULL;

    for (int i = 0; i < 2; i++) {
        int64_t size = x->dim[HIGH + i];

        if (resizes)
            size = sizes && tfd_tensor_elements(sizes) == 2
                       ? tfd_check_int_at(sizes, i)
                       : TFD_DIM_UNKNOWN;
        TFD_TRY(padded_size(paddings, HIGH + i, size, &size, st));
        TFD_TRY(tfd_window_out(w, i ? TFD_WINDOW_COLUMN : TFD_WINDOW_ROW, size,
                               filter->dim[i], &y->dim[HIGH + i], st));
    }
    return TFD_OK;
}

static enum tfd_code fused_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_shape any = {
        RANK,
        {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};
    struct tfd_shape x = any, filter = any, y = any;
    struct tfd_window w;

    if (!s->node)
        return TFD_OK;
    TFD_TRY(tfd_window_read(s->node, &w, st));
    TFD_TRY(tfd_shape_merge(&x, &s->in[0], st));
    TFD_TRY(tfd_shape_merge(&filter, &s->in[s->in_count - 1], st));
    y.dim[BATCH] = x.dim[BATCH];
    y.dim[DEPTH] = filter.dim[3];
    TFD_TRY(fused_sides(s, &w, &x, &filter, &y, st));
    s->out[0] = y;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define MODES                                              \
    "mode: {'REFLECT', 'SYMMETRIC'}; strides: list(int); " \
    "padding: {'SAME', 'VALID'}"

static const struct tfd_opdef ops[] = {
    {
        .name = "FusedPadConv2D",
        .inputs = "input: T, paddings: int32, filter: T",
        .outputs = "output: T",
        .attrs = "T: {half, bfloat16, float, double}; " MODES,
        .shape = fused_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "FusedResizeAndPadConv2D",
        .inputs = "input: T, size: int32, paddings: int32, filter: T",
        .outputs = "output: T",
        .attrs = "T: {half, float, double}; "
                 "resize_align_corners: bool = false; " MODES,
        .shape = fused_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define STATE .prepare = fused_prepare, .state_size = sizeof(struct fused_state)

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("FusedPadConv2D", HALF, fused_compute, STATE),
    TFD_KERNEL("FusedPadConv2D", BFLOAT16, fused_compute, STATE),
    TFD_KERNEL("FusedPadConv2D", FLOAT, fused_compute, STATE),
    TFD_KERNEL("FusedPadConv2D", DOUBLE, fused_compute, STATE),
    TFD_KERNEL("FusedResizeAndPadConv2D", HALF, fused_compute, enlarge_HALF,
               STATE),
    TFD_KERNEL("FusedResizeAndPadConv2D", FLOAT, fused_compute, enlarge_FLOAT,
               STATE),
    TFD_KERNEL("FusedResizeAndPadConv2D", DOUBLE, fused_compute, enlarge_DOUBLE,
               STATE),
};

const struct tfd_family tfd_family_fused_conv = {
    .name = "fused_conv",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
