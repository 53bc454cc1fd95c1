/*
 * dilation.c - greyscale dilation of images by a filter, and its gradients:
 *
 *     Dilation2D Dilation2DBackpropInput Dilation2DBackpropFilter
 *
 *     y[b, i, j, c] = max over taps of x[b, i', j', c] + filter[tap, c]
 *
 * where i' and j' are the places of the tap in the image, as in a convolution.
 * A gradient gives each element of dy to the tap, or to the element of x, that
 * its first largest sum is of.  Sums of half types are rounded before they are
 * compared, and sums of integers wrap.
 */
#include "common/base/half.h"
#include "common/base/str.h"
#include "common/thread/halt.h"
#include "kernels/conv/window.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"

#include <float.h>
#include <string.h>

#define COST_NS 2 /* of a tap */
#define BLOCK 64  /* channels at a time */
#define IMAGE_DIMS 4
#define FILTER_DIMS 3

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code read_numbers(const struct tfd_node *n, const char *attr,
                                  const char *five, const char *what,
                                  int64_t *out, struct tfd_status *st)
{
    int64_t v[8];
    int count;

    TFD_TRY(tfd_node_ints(n, attr, v, 8, &count, st));
    if (count != IMAGE_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s field must specify 4 dimensions", five);
    if (v[0] != 1 || v[3] != 1)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "%s is only supported across spatial dimensions.",
                        what);
    for (int i = 0; i < IMAGE_DIMS; i++) {
        if (v[i] > INT32_MAX || v[i] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be between 0 and %d, but one is %lld",
                            attr, INT32_MAX, (long long)v[i]);
        out[i] = v[i];
    }
    return TFD_OK;
}

static enum tfd_code read_window(const struct tfd_node *n, struct tfd_window *w,
                                 struct tfd_status *st)
{
    struct tfd_str padding;

    *w = (struct tfd_window){.padding = TFD_WINDOW_VALID};
    TFD_TRY(tfd_node_str(n, "padding", &padding, st));
    if (tfd_str_is(padding, "SAME"))
        w->padding = TFD_WINDOW_SAME;
    TFD_TRY(read_numbers(n, "strides", "Sliding window stride", "Stride",
                         w->stride, st));
    return read_numbers(n, "rates", "Input stride (atrous rate)", "Rate",
                        w->dilation, st);
}

static enum tfd_code prepare_dilation(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    return read_window(p->node, state, st);
}

static enum tfd_code check_stride(const struct tfd_window *w,
                                  struct tfd_status *st)
{
    for (int d = TFD_WINDOW_ROW; d <= TFD_WINDOW_COLUMN; d++)
        if (w->stride[d] < 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Stride must be > 0, but got %lld",
                            (long long)w->stride[d]);
    return TFD_OK;
}

/* ---- Sizes --------------------------------------------------------------- */

struct plan {
    struct tfd_window_side row, column;
    int64_t batch, channels;
    struct tfd_shape y;
};

static enum tfd_code measure(const struct tfd_window *w,
                             const struct tfd_shape *x,
                             const struct tfd_shape *f, struct plan *p,
                             struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (x->rank != IMAGE_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must be 4-dimensional%s",
                        tfd_shape_text(x, text));
    if (f->rank != FILTER_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "filter must be 3-dimensional: %s",
                        tfd_shape_text(f, text));
    if (x->dim[3] != f->dim[2])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input and filter must have the same depth: %lld vs "
                        "%lld",
                        (long long)x->dim[3], (long long)f->dim[2]);
    TFD_TRY(check_stride(w, st));
    p->batch = x->dim[0];
    p->channels = x->dim[3];
    TFD_TRY(
        tfd_window_side(w, TFD_WINDOW_ROW, x->dim[1], f->dim[0], &p->row, st));
    TFD_TRY(tfd_window_side(w, TFD_WINDOW_COLUMN, x->dim[2], f->dim[1],
                            &p->column, st));
    p->y = *x;
    p->y.dim[1] = p->row.out;
    p->y.dim[2] = p->column.out;
    return tfd_shape_make(&p->y, p->y.dim, IMAGE_DIMS, st);
}

static enum tfd_code measure_back(const struct tfd_kctx *k, struct plan *p,
                                  struct tfd_status *st)
{
    const struct tfd_shape *dy = &k->in[2].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    TFD_TRY(measure(k->state, &k->in[0].shape, &k->in[1].shape, p, st));
    if (dy->rank != IMAGE_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "out_backprop must be 4-dimensional%s",
                        tfd_shape_text(dy, text));
    if (!tfd_shape_equal(dy, &p->y))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "out_backprop has incompatible size.");
    return TFD_OK;
}

/* ---- Loops --------------------------------------------------------------- */

struct work {
    const struct plan *p;
    const void *x, *filter, *dy;
    void *out;
    bool to_filter; /* which of the two gradients */
};

/* The taps of an element of y that lie inside the image. */
struct taps {
    int64_t row, row_end, column, column_end; /* of the filter */
    int64_t y, x; /* where the first tap of all is in the image */
};

/* All taps of a side lie at one place where the rate is 0. */
static void taps_of_side(const struct tfd_window_side *s, int64_t at,
                         int64_t *first, int64_t *last, int64_t *place)
{
    *place = at * s->stride - s->before;
    if (s->dilation > 0) {
        tfd_window_inside(s, at, first, last);
        return;
    }
    *first = 0;
    *last = *place >= 0 && *place < s->in ? s->size : 0;
}

static struct taps taps_of(const struct plan *p, int64_t y, int64_t x)
{
    struct taps t;

    taps_of_side(&p->row, y, &t.row, &t.row_end, &t.y);
    taps_of_side(&p->column, x, &t.column, &t.column_end, &t.x);
    return t;
}

/* Where a tap is in an image; of its first channel. */
static int64_t tap_of(const struct plan *p, const struct taps *t, int64_t i,
                      int64_t j)
{
    return ((t->y + i * p->row.dilation) * p->column.in + t->x +
            j * p->column.dilation) *
           p->channels;
}

/* The largest sums of n channels from c on, and of which tap each first is; at
 * is NULL where nobody asks.  Of no taps: the lowest number, and the first. */
#define BEST(name, T, C, LOAD, ADD, STORE, LOWEST)                             \
    static void best_##name(const struct plan *p, const struct taps *t,        \
                            const T *x, const T *filter, int64_t c, int64_t n, \
                            C *best, int64_t *at)                              \
    {                                                                          \
        for (int64_t d = 0; d < n; d++)                                        \
            best[d] = LOWEST;                                                  \
        for (int64_t i = t->row; i < t->row_end && !tfd_halted(); i++)         \
            for (int64_t j = t->column; j < t->column_end; j++) {              \
                const int64_t tap = i * p->column.size + j;                    \
                const T *from = x + tap_of(p, t, i, j) + c;                    \
                const T *by = filter + tap * p->channels + c;                  \
                                                                               \
                for (int64_t d = 0; d < n; d++) {                              \
                    const C sum = ADD(LOAD(from[d]), LOAD(by[d]));             \
                                                                               \
                    if (at && sum > best[d])                                   \
                        at[d] = tap;                                           \
                    best[d] = sum > best[d] ? sum : best[d];                   \
                }                                                              \
            }                                                                  \
    }

/* Rows of y. */
#define FORWARD(name, T, C, LOAD, ADD, STORE, LOWEST)                     \
    static void forward_##name(void *arg, int64_t begin, int64_t end)     \
    {                                                                     \
        const struct work *w = arg;                                       \
        const struct plan *p = w->p;                                      \
        const int64_t n = p->channels;                                    \
        const int64_t image = p->row.in * p->column.in * n;               \
        C best[BLOCK];                                                    \
                                                                          \
        for (int64_t i = begin; i < end && !tfd_halted(); i++)            \
            for (int64_t j = 0; j < p->column.out; j++) {                 \
                const struct taps t = taps_of(p, i % p->row.out, j);      \
                T *y = (T *)w->out + (i * p->column.out + j) * n;         \
                                                                          \
                for (int64_t c = 0; c < n; c += BLOCK) {                  \
                    const int64_t some = n - c < BLOCK ? n - c : BLOCK;   \
                                                                          \
                    best_##name(p, &t,                                    \
                                (const T *)w->x + i / p->row.out * image, \
                                w->filter, c, some, best, NULL);          \
                    for (int64_t d = 0; d < some; d++)                    \
                        y[c + d] = STORE(best[d]);                        \
                }                                                         \
            }                                                             \
    }

/* Blocks of channels: nobody else writes there, and each element gets what it
 * gets in the order of dy. */
#define BACKWARD(name, T, C, LOAD, ADD, STORE, LOWEST)                         \
    static void back_##name##_pixel(const struct work *w, int64_t b,           \
                                    int64_t i, int64_t j, int64_t c,           \
                                    int64_t n)                                 \
    {                                                                          \
        const struct plan *p = w->p;                                           \
        const int64_t image = p->row.in * p->column.in * p->channels;          \
        const struct taps t = taps_of(p, i, j);                                \
        const T *dy =                                                          \
            (const T *)w->dy +                                                 \
            ((b * p->row.out + i) * p->column.out + j) * p->channels + c;      \
        T *out = (T *)w->out + (w->to_filter ? 0 : b * image) + c;             \
        int64_t at[BLOCK];                                                     \
        C best[BLOCK];                                                         \
                                                                               \
        if (t.row >= t.row_end || t.column >= t.column_end)                    \
            return;                                                            \
        for (int64_t d = 0; d < n; d++)                                        \
            at[d] = t.row * p->column.size + t.column;                         \
        best_##name(p, &t, (const T *)w->x + b * image, w->filter, c, n, best, \
                    at);                                                       \
        for (int64_t d = 0; d < n; d++) {                                      \
            T *to = out + d +                                                  \
                    (w->to_filter ? at[d] * p->channels                        \
                                  : tap_of(p, &t, at[d] / p->column.size,      \
                                           at[d] % p->column.size));           \
                                                                               \
            *to = STORE(ADD(LOAD(*to), LOAD(dy[d])));                          \
        }                                                                      \
    }                                                                          \
                                                                               \
    static void back_##name(void *arg, int64_t begin, int64_t end)             \
    {                                                                          \
        const struct work *w = arg;                                            \
        const struct plan *p = w->p;                                           \
                                                                               \
        for (int64_t k = begin; k < end; k++) {                                \
            const int64_t c = k * BLOCK, rest = p->channels - c;               \
            const int64_t n = rest < BLOCK ? rest : BLOCK;                     \
                                                                               \
            for (int64_t b = 0; b < p->batch; b++)                             \
                for (int64_t i = 0; i < p->row.out && !tfd_halted(); i++)      \
                    for (int64_t j = 0; j < p->column.out; j++)                \
                        back_##name##_pixel(w, b, i, j, c, n);                 \
        }                                                                      \
    }

#define SELF(v) (v)
#define PLUS(a, b) ((a) + (b))
#define HALF_MOST 65504.0f
#define BFLOAT16_MOST 3.38953139e38f
#define HALF_PLUS(a, b) tfd_half_round((a) + (b))
#define BFLOAT16_PLUS(a, b) tfd_bfloat16_round((a) + (b))

#define INT_PLUS(name, number, T)              \
    static inline T plus_##name(T a, T b)      \
    {                                          \
        return (T)((uint64_t)a + (uint64_t)b); \
    }
TFD_INT_DTYPES(INT_PLUS)

/* Type, C type, type to compute in, how it is loaded, added and stored, the
 * lowest number. */
#define INT_TYPE(X, name, T, LOWEST) \
    X(name, T, T, SELF, plus_##name, SELF, LOWEST)
#define TYPES(X)                                                           \
    X(FLOAT, float, float, SELF, PLUS, SELF, -FLT_MAX)                     \
    X(DOUBLE, double, double, SELF, PLUS, SELF, -DBL_MAX)                  \
    X(HALF, tfd_half, float, tfd_half_to_float, HALF_PLUS,                 \
      tfd_half_from_float, -HALF_MOST)                                     \
    X(BFLOAT16, tfd_bfloat16, float, tfd_bfloat16_to_float, BFLOAT16_PLUS, \
      tfd_bfloat16_from_float, -BFLOAT16_MOST)                             \
    INT_TYPE(X, INT8, int8_t, INT8_MIN)                                    \
    INT_TYPE(X, INT16, int16_t, INT16_MIN)                                 \
    INT_TYPE(X, INT32, int32_t, INT32_MIN)                                 \
    INT_TYPE(X, INT64, int64_t, INT64_MIN)                                 \
    INT_TYPE(X, UINT8, uint8_t, 0)                                         \
    INT_TYPE(X, UINT16, uint16_t, 0)                                       \
    INT_TYPE(X, UINT32, uint32_t, 0)                                       \
    INT_TYPE(X, UINT64, uint64_t, 0)

TYPES(BEST)
TYPES(FORWARD)
TYPES(BACKWARD)

static tfd_range_fn *loop_of(enum tfd_dtype dtype, bool back)
{
#define ROW(name, number, T) [TFD_##name] = {forward_##name, back_##name},
    static tfd_range_fn *const loops[TFD_DTYPE_END][2] = {
        TFD_REAL_DTYPES(ROW) TFD_HALF_DTYPES(ROW)};
#undef ROW

    return loops[dtype][back];
}

/* ---- Kernels ------------------------------------------------------------- */

static int cost_of(const struct plan *p, int64_t pixels, int64_t channels)
{
    double ns = (double)pixels * (double)channels * (double)p->row.size *
                (double)p->column.size * COST_NS;

    return ns < 1 ? 1 : ns > 1e9 ? 1000000000 : (int)ns;
}

static enum tfd_code dilation_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const enum tfd_dtype t = k->in[0].dtype;
    struct plan p;
    struct work w = {.p = &p,
                     .x = tfd_tensor_data(&k->in[0]),
                     .filter = tfd_tensor_data(&k->in[1])};

    TFD_TRY(measure(k->state, &k->in[0].shape, &k->in[1].shape, &p, st));
    TFD_TRY(tfd_kctx_output(k, 0, t, &p.y, st));
    w.out = tfd_tensor_data(&k->out[0]);
    if (tfd_shape_elements(&p.y) > 0)
        tfd_kctx_parallel(k, p.batch * p.row.out,
                          cost_of(&p, p.column.out, p.channels),
                          loop_of(t, false), &w);
    return TFD_OK;
}

static enum tfd_code run_back(struct tfd_kctx *k, bool to_filter,
                              struct tfd_status *st)
{
    const struct tfd_tensor *like = &k->in[to_filter];
    struct plan p;
    struct work w = {.p = &p,
                     .x = tfd_tensor_data(&k->in[0]),
                     .filter = tfd_tensor_data(&k->in[1]),
                     .dy = tfd_tensor_data(&k->in[2]),
                     .to_filter = to_filter};

    TFD_TRY(measure_back(k, &p, st));
    TFD_TRY(tfd_kctx_output(k, 0, like->dtype, &like->shape, st));
    w.out = tfd_tensor_data(&k->out[0]);
    if (tfd_tensor_elements(like) == 0)
        return TFD_OK;
    tfd_halt_clear(w.out, (size_t)tfd_tensor_elements(like) *
                              tfd_dtype_size(like->dtype));
    if (tfd_shape_elements(&p.y) > 0)
        tfd_kctx_parallel(
            k, (p.channels + BLOCK - 1) / BLOCK,
            cost_of(&p, p.batch * p.row.out * p.column.out, BLOCK),
            loop_of(like->dtype, true), &w);
    return TFD_OK;
}

static enum tfd_code dilated_input_compute(struct tfd_kctx *k,
                                           struct tfd_status *st)
{
    return run_back(k, false, st);
}

static enum tfd_code dilated_filter_compute(struct tfd_kctx *k,
                                            struct tfd_status *st)
{
    return run_back(k, true, st);
}

/* ---- Shapes, gradient ---------------------------------------------------- */

static enum tfd_code dilation_shape(struct tfd_shape_ctx *s,
                                    struct tfd_status *st)
{
    struct tfd_window w;
    struct plan p;

    if (!s->node)
        return TFD_OK;
    TFD_TRY(read_window(s->node, &w, st));
    if (tfd_shape_elements(&s->in[0]) < 0 || tfd_shape_elements(&s->in[1]) < 0)
        return TFD_OK;
    TFD_TRY(measure(&w, &s->in[0], &s->in[1], &p, st));
    s->out[0] = p.y;
    return TFD_OK;
}

static enum tfd_code filter_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    (void)st;
    s->out[0] = s->in[1];
    return TFD_OK;
}

static enum tfd_code dilation_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    static const char *const names[] = {"strides", "rates", "padding", NULL};
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->x[0], g->x[1], g->dy[0]};

    tfd_gradient_copying(&b, "Dilation2DBackpropInput", in, 3, names, &g->dx[0],
                         1);
    tfd_gradient_copying(&b, "Dilation2DBackpropFilter", in, 3, names,
                         &g->dx[1], 1);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define ATTRS                                                             \
    "T: realnumbertype; strides: list(int) >= 4; rates: list(int) >= 4; " \
    "padding: {'SAME', 'VALID'}"

static const struct tfd_opdef ops[] = {
    {
        .name = "Dilation2D",
        .inputs = "input: T, filter: T",
        .outputs = "output: T",
        .attrs = ATTRS,
        .shape = dilation_shape,
        .grad = dilation_gradient,
    },
    {
        .name = "Dilation2DBackpropInput",
        .inputs = "input: T, filter: T, out_backprop: T",
        .outputs = "in_backprop: T",
        .attrs = ATTRS,
        .shape = tfd_shape_like_first,
    },
    {
        .name = "Dilation2DBackpropFilter",
        .inputs = "input: T, filter: T, out_backprop: T",
        .outputs = "filter_backprop: T",
        .attrs = ATTRS,
        .shape = filter_shape,
    },
};

#define ROW(op, name, compute)                                 \
    TFD_KERNEL(op, name, compute, .prepare = prepare_dilation, \
               .state_size = sizeof(struct tfd_window)),
#define ROWS(name, number, T)                                   \
    ROW("Dilation2D", name, dilation_compute)                   \
    ROW("Dilation2DBackpropInput", name, dilated_input_compute) \
    ROW("Dilation2DBackpropFilter", name, dilated_filter_compute)

static const struct tfd_kernel kernels[] = {TFD_REAL_DTYPES(ROWS)
                                                TFD_HALF_DTYPES(ROWS)};

const struct tfd_family tfd_family_dilation = {
    .name = "dilation",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
