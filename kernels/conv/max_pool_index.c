/*
 * max_pool_index.c - which elements are the maxima of windows, and what is
 * taken from there or given to them:
 *
 *     MaxPoolWithArgmax MaxPoolGradWithArgmax MaxPoolGradGrad MaxPoolGradGradV2
 *
 * The number of an element is its place in its image, or in the whole batch.
 * Checks and sizes are those of MaxPool and MaxPoolGrad (pooling.h); half types
 * are computed in float.  The innermost loops run along the channels.
 */
#include "common/thread/halt.h"
#include "kernels/conv/image.h"
#include "kernels/conv/pooling.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/vector/simd.h"

#include <string.h>

#define COST_NS 2 /* of an element of a window */

struct argmax_state {
    struct tfd_window w; /* first, as all pools have it */
    bool whole;          /* numbers are those in the batch */
};

static enum tfd_code prepare_argmax(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct argmax_state *s = state;

    TFD_TRY(tfd_window_read(p->node, &s->w, st));
    return tfd_node_bool(p->node, "include_batch_in_index", &s->whole, st);
}

/* ---- Loops --------------------------------------------------------------- */

struct work {
    const struct tfd_pooling_window *p;
    const void *x, *y, *ddx;
    void *out;
    int64_t *index;
    bool whole;
};

/* The elements of the window of an element of y: rows [row, row_end) and
 * columns [column, column_end) of x. */
struct span {
    int64_t row, row_end, column, column_end;
};

static struct span span_of(const struct tfd_pooling_window *p, int64_t y,
                           int64_t x)
{
    int64_t first, last, at;
    struct span s;

    tfd_window_inside(&p->row, y, &first, &last);
    at = y * p->row.stride - p->row.before;
    s.row = at + first;
    s.row_end = at + last;
    tfd_window_inside(&p->column, x, &first, &last);
    at = x * p->column.stride - p->column.before;
    s.column = at + first;
    s.column_end = at + last;
    return s;
}

/* A row of y each.  A larger element takes the place of one before; nothing
 * takes that of a NaN. */
#define LOOPS(name, number, T)                                                \
    static inline void best_##name##_pixel(const struct work *w,              \
                                           const struct span *s, const T *x,  \
                                           T *y, int64_t *index)              \
    {                                                                         \
        const struct tfd_pooling_window *p = w->p;                            \
        const int64_t n = p->channels;                                        \
                                                                              \
        for (int64_t i = s->row; i < s->row_end && !tfd_halted(); i++)        \
            for (int64_t j = s->column; j < s->column_end; j++) {             \
                const int64_t at = (i * p->column.in + j) * n;                \
                const bool first = i == s->row && j == s->column;             \
                                                                              \
                for (int64_t c = 0; c < n; c++) {                             \
                    const bool more = first || y[c] < x[at + c];              \
                                                                              \
                    y[c] = more ? x[at + c] : y[c];                           \
                    index[c] = more ? at + c : index[c];                      \
                }                                                             \
            }                                                                 \
    }                                                                         \
                                                                              \
    TFD_SIMD_LOOP(best_##name)                                                \
    {                                                                         \
        const struct work *w = arg;                                           \
        const struct tfd_pooling_window *p = w->p;                            \
        const int64_t n = p->channels, row_size = p->column.out * n;          \
        const int64_t image_size = p->row.in * p->column.in * n;              \
                                                                              \
        for (int64_t i = begin; i < end && !tfd_halted(); i++) {              \
            const int64_t image = i / p->row.out;                             \
            const T *x = (const T *)w->x + image * image_size;                \
            T *y = (T *)w->out + i * row_size;                                \
            int64_t *index = w->index + i * row_size;                         \
                                                                              \
            for (int64_t j = 0; j < p->column.out; j++) {                     \
                const struct span s = span_of(p, i % p->row.out, j);          \
                                                                              \
                best_##name##_pixel(w, &s, x, y + j * n, index + j * n);      \
            }                                                                 \
            for (int64_t j = 0; w->whole && j < row_size; j++)                \
                index[j] += image * image_size;                               \
        }                                                                     \
    }                                                                         \
    TFD_SIMD_CLONES(best_##name)                                              \
                                                                              \
    /* The gradient where x first is y; none where it nowhere is. */          \
    static inline void taken_##name##_pixel(const struct work *w,             \
                                            const struct span *s, const T *x, \
                                            const T *ddx, const T *y, T *out) \
    {                                                                         \
        const struct tfd_pooling_window *p = w->p;                            \
        const int64_t n = p->channels;                                        \
                                                                              \
        for (int64_t i = s->row_end - 1; i >= s->row && !tfd_halted(); i--)   \
            for (int64_t j = s->column_end - 1; j >= s->column; j--) {        \
                const int64_t at = (i * p->column.in + j) * n;                \
                                                                              \
                for (int64_t c = 0; c < n; c++)                               \
                    out[c] = x[at + c] == y[c] ? ddx[at + c] : out[c];        \
            }                                                                 \
    }                                                                         \
                                                                              \
    TFD_SIMD_LOOP(taken_##name)                                               \
    {                                                                         \
        const struct work *w = arg;                                           \
        const struct tfd_pooling_window *p = w->p;                            \
        const int64_t n = p->channels, row_size = p->column.out * n;          \
        const int64_t image_size = p->row.in * p->column.in * n;              \
                                                                              \
        for (int64_t i = begin; i < end && !tfd_halted(); i++) {              \
            const int64_t from = i / p->row.out * image_size;                 \
            T *out = (T *)w->out + i * row_size;                              \
                                                                              \
            memset(out, 0, (size_t)row_size * sizeof(T));                     \
            for (int64_t j = 0; j < p->column.out; j++) {                     \
                const struct span s = span_of(p, i % p->row.out, j);          \
                                                                              \
                taken_##name##_pixel(                                         \
                    w, &s, (const T *)w->x + from, (const T *)w->ddx + from,  \
                    (const T *)w->y + i * row_size + j * n, out + j * n);     \
            }                                                                 \
        }                                                                     \
    }                                                                         \
    TFD_SIMD_CLONES(taken_##name)

TFD_REAL_DTYPES(LOOPS)

static int cost_of_row(const struct tfd_pooling_window *p)
{
    double ns = (double)p->column.out * (double)p->channels *
                (double)p->row.size * (double)p->column.size * COST_NS;

    return ns < 1 ? 1 : ns > 1e9 ? 1000000000 : (int)ns;
}

static void run_window_rows(struct tfd_kctx *k, struct work *w,
                            enum tfd_dtype dtype, int64_t batch, bool best)
{
#define ROW(name, number, T) [TFD_##name] = {taken_##name, best_##name},
    static tfd_range_fn *const loops[TFD_DTYPE_END][2] = {TFD_REAL_DTYPES(ROW)};
#undef ROW

    tfd_kctx_parallel(k, batch * w->p->row.out, cost_of_row(w->p),
                      loops[dtype][best], w);
}

/* ---- MaxPoolWithArgmax --------------------------------------------------- */

static enum tfd_code plan_of(const struct tfd_kctx *k,
                             struct tfd_pooling_plan *plan,
                             struct tfd_status *st)
{
    plan->x = k->in[0].shape;
    plan->w = ((const struct argmax_state *)k->state)->w;
    TFD_TRY(tfd_pooling_sizes(k, plan, st));
    /* TensorFlow looks at each channel even where the window has several. */
    return plan->deep ? tfd_pooling_measure(plan, st) : TFD_OK;
}

/* Where numbers are computed: the output itself, or one beside it. */
static enum tfd_code begin_index(struct tfd_kctx *k, struct tfd_tensor *index,
                                 const struct tfd_shape *y,
                                 enum tfd_dtype dtype, struct tfd_status *st)
{
    TFD_TRY(tfd_kctx_output(k, 1, dtype, y, st));
    if (dtype == TFD_INT64) {
        *index = tfd_tensor_ref(&k->out[1]);
        return TFD_OK;
    }
    return tfd_tensor_new(index, TFD_INT64, y, st);
}

static void end_index(struct tfd_kctx *k, struct tfd_tensor *index)
{
    const int64_t *from = tfd_tensor_data(index);
    const int64_t n = tfd_tensor_elements(index);

    if (k->out[1].dtype == TFD_INT32) {
        int32_t *to = tfd_tensor_data(&k->out[1]);

        for (int64_t i = 0; i < n; i++)
            to[i] = (int32_t)from[i];
    }
    tfd_tensor_unref(index);
}

static enum tfd_code argmax_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct argmax_state *s = k->state;
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_image o[] = {tfd_image_operand(x, false),
                            tfd_image_result(0, false)};
    struct tfd_pooling_plan plan;
    struct tfd_tensor index;
    enum tfd_dtype type;
    enum tfd_code rc;

    if (x->shape.rank != TFD_WINDOW_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "tensor_in must be 4-dimensional (2)");
    if (tfd_tensor_elements(x) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "tensor_in must not be empty (2)");
    TFD_TRY(plan_of(k, &plan, st));
    TFD_TRY(tfd_node_type(k->node, "Targmax", &type, st));
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &plan.y, st));
    TFD_TRY(begin_index(k, &index, &plan.y, type, st));
    rc = tfd_image_begin(k, o, 2, st);
    if (rc == TFD_OK && tfd_shape_elements(&plan.y) > 0) {
        struct work w = {.p = &plan.p,
                         .x = tfd_tensor_data(&o[0].work),
                         .out = tfd_tensor_data(&o[1].work),
                         .index = tfd_tensor_data(&index),
                         .whole = s->whole};

        run_window_rows(k, &w, o[0].work.dtype, x->shape.dim[0], true);
    }
    end_index(k, &index);
    return tfd_image_end(k, o, 2, rc, st);
}

/* ---- MaxPoolGradWithArgmax ----------------------------------------------- */

struct scatter {
    const void *dy;
    void *dx;
    const int64_t *index;
    int64_t in, out; /* elements of an image of dx, of dy */
    bool whole;
};

/* An image each: what lies in dx of another image is refused, where TensorFlow
 * ends the process. */
#define SCATTER(name, T, U)                                                 \
    static enum tfd_code give_##name(void *arg, int64_t begin, int64_t end, \
                                     struct tfd_status *st)                 \
    {                                                                       \
        const struct scatter *s = arg;                                      \
        const T *dy = s->dy;                                                \
                                                                            \
        for (int64_t i = begin; i < end && !tfd_halted(); i++) {            \
            T *dx = (T *)s->dx + i * s->in;                                 \
            const int64_t base = s->whole ? i * s->in : 0;                  \
                                                                            \
            for (int64_t j = i * s->out; j < (i + 1) * s->out; j++) {       \
                if (s->index[j] < base || s->index[j] - base >= s->in)      \
                    return tfd_fail(                                        \
                        st, TFD_INVALID_ARGUMENT,                           \
                        "Invalid output gradient index: %lld, of an image " \
                        "of [%lld, %lld)",                                  \
                        (long long)s->index[j], (long long)base,            \
                        (long long)(base + s->in));                         \
                T *to = &dx[s->index[j] - base];                            \
                *to = (T)((U)*to + (U)dy[j]);                               \
            }                                                               \
        }                                                                   \
        return TFD_OK;                                                      \
    }

/* Type, C type, type to add in: integers wrap. */
#define SUMMED(X)                 \
    X(FLOAT, float, float)        \
    X(DOUBLE, double, double)     \
    X(INT8, int8_t, uint64_t)     \
    X(INT16, int16_t, uint64_t)   \
    X(INT32, int32_t, uint64_t)   \
    X(INT64, int64_t, uint64_t)   \
    X(UINT8, uint8_t, uint64_t)   \
    X(UINT16, uint16_t, uint64_t) \
    X(UINT32, uint32_t, uint64_t) \
    X(UINT64, uint64_t, uint64_t)
SUMMED(SCATTER)

static enum tfd_code give_all(struct tfd_kctx *k, struct tfd_image *o,
                              const struct tfd_pooling_plan *plan,
                              struct tfd_status *st)
{
#define ROW(name, number, T) [TFD_##name] = give_##name,
    static tfd_try_fn *const loops[TFD_DTYPE_END] = {TFD_REAL_DTYPES(ROW)};
#undef ROW
    const int64_t batch = plan->x.dim[0];
    struct scatter s = {.dy = tfd_tensor_data(&o[0].work),
                        .dx = tfd_tensor_data(&o[1].work),
                        .index = tfd_tensor_data(&k->in[2]),
                        .whole = ((struct argmax_state *)k->state)->whole};

    tfd_image_zero(o, 2);
    if (batch == 0)
        return TFD_OK;
    s.in = tfd_tensor_elements(&o[1].work) / batch;
    s.out = tfd_tensor_elements(&o[0].work) / batch;
    return tfd_kctx_try(k, batch, s.out < 1000000000 ? (int)s.out : 1000000000,
                        loops[o[0].work.dtype], &s, st);
}

static enum tfd_code argmax_grad_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    struct tfd_image o[] = {tfd_image_operand(&k->in[1], false),
                            tfd_image_result(0, false)};
    struct tfd_pooling_plan plan;
    enum tfd_code rc;

    if (k->in[2].dtype != TFD_INT64)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "No OpKernel was registered to support Op "
                        "'MaxPoolGradWithArgmax' with Targmax=DT_INT32");
    TFD_TRY(plan_of(k, &plan, st));
    TFD_TRY(tfd_window_check_shape("grad", &k->in[1].shape, &plan.y, st));
    TFD_TRY(tfd_window_check_shape("argmax", &k->in[2].shape, &plan.y, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &plan.x, st));
    rc = tfd_image_begin(k, o, 2, st);
    if (rc == TFD_OK)
        rc = give_all(k, o, &plan, st);
    return tfd_image_end(k, o, 2, rc, st);
}

/* ---- MaxPoolGradGrad ----------------------------------------------------- */

static enum tfd_code again_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_image o[] = {tfd_image_operand(&k->in[0], false),
                            tfd_image_operand(&k->in[1], false),
                            tfd_image_operand(&k->in[2], false),
                            tfd_image_result(0, false)};
    struct tfd_pooling_plan plan;
    enum tfd_code rc;

    TFD_TRY(tfd_pooling_max_back(k, &plan, true, st));
    if (plan.w.channels_second)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Default MaxPoolingGradGradOp only supports NHWC on "
                        "device type CPU");
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &plan.y, st));
    rc = tfd_image_begin(k, o, 4, st);
    if (rc == TFD_OK && tfd_shape_elements(&plan.y) > 0) {
        struct work w = {.p = &plan.p,
                         .x = tfd_tensor_data(&o[0].work),
                         .y = tfd_tensor_data(&o[1].work),
                         .ddx = tfd_tensor_data(&o[2].work),
                         .out = tfd_tensor_data(&o[3].work)};

        run_window_rows(k, &w, o[0].work.dtype, plan.x.dim[0], false);
    }
    return tfd_image_end(k, o, 4, rc, st);
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code argmax_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    struct tfd_window w;
    struct tfd_shape y = {
        4,
        {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};

    if (!s->node)
        return TFD_OK;
    TFD_TRY(tfd_window_read(s->node, &w, st));
    TFD_TRY(tfd_shape_merge(&y, &s->in[0], st));
    for (int d = TFD_WINDOW_ROW; d <= TFD_WINDOW_COLUMN; d++)
        TFD_TRY(tfd_window_out(&w, (enum tfd_window_dim)d, y.dim[d], w.size[d],
                               &y.dim[d], st));
    s->out[0] = s->out[1] = y;
    return TFD_OK;
}

static enum tfd_code second_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    (void)st;
    s->out[0] = s->in[1];
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

static const char *const attributes[] = {
    "ksize", "strides", "padding", "data_format", "include_batch_in_index",
    NULL};

static enum tfd_code argmax_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->x[0], g->dy[0], g->y[1]};

    tfd_gradient_copying(&b, "MaxPoolGradWithArgmax", in, 3, attributes,
                         &g->dx[0], 1);
    return b.code;
}

/* Of a function that is linear in its third input; the window of a V2 op is
 * two inputs more. */
static enum tfd_code linear(struct tfd_grad *g, const char *op, int in_count,
                            struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge in[5] = {g->x[0], g->x[1], g->dy[0]};

    for (int i = 3; i < in_count; i++)
        in[i] = g->x[i];
    g->dx[0] = tfd_gradient_op1(&b, "ZerosLike", g->x[0]);
    g->dx[1] = tfd_gradient_op1(&b, "ZerosLike", g->x[1]);
    tfd_gradient_copying(&b, op, in, in_count, attributes, &g->dx[2], 1);
    return b.code;
}

enum tfd_code tfd_max_pool_grad_gradient(struct tfd_grad *g,
                                         struct tfd_status *st)
{
    return linear(g, "MaxPoolGradGrad", 3, st);
}

enum tfd_code tfd_max_pool_grad_v2_gradient(struct tfd_grad *g,
                                            struct tfd_status *st)
{
    return linear(g, "MaxPoolGradGradV2", 5, st);
}

static enum tfd_code again_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return linear(g, "MaxPoolGrad", 3, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define WINDOW "ksize: list(int) >= 4; strides: list(int) >= 4; "
#define PADDING "padding: {'SAME', 'VALID'}; "
#define WHOLE "include_batch_in_index: bool = false; "
#define FORMAT "data_format: {'NHWC', 'NCHW'} = 'NHWC'; "

static const struct tfd_opdef ops[] = {
    {
        .name = "MaxPoolWithArgmax",
        .inputs = "input: T",
        .outputs = "output: T, argmax: Targmax",
        .attrs = WINDOW "Targmax: {int32, int64} = DT_INT64; " PADDING WHOLE
                        "T: realnumbertype",
        .shape = argmax_shape,
        .grad = argmax_gradient,
    },
    {
        .name = "MaxPoolGradWithArgmax",
        .inputs = "input: T, grad: T, argmax: Targmax",
        .outputs = "output: T",
        .attrs = WINDOW PADDING WHOLE "Targmax: {int32, int64}; "
                                      "T: realnumbertype",
        .shape = tfd_shape_like_first,
    },
    {
        .name = "MaxPoolGradGrad",
        .inputs = "orig_input: T, orig_output: T, grad: T",
        .outputs = "output: T",
        .attrs = WINDOW PADDING FORMAT "T: realnumbertype",
        .shape = second_shape,
        .grad = again_gradient,
    },
    {
        .name = "MaxPoolGradGradV2",
        .inputs = "orig_input: T, orig_output: T, grad: T, ksize: int32, "
                  "strides: int32",
        .outputs = "output: T",
        .attrs = PADDING FORMAT "T: realnumbertype",
        .shape = second_shape,
    },
};

#define ARGMAX_ROW(op, name, compute)                        \
    TFD_KERNEL(op, name, compute, .prepare = prepare_argmax, \
               .state_size = sizeof(struct argmax_state)),
#define AGAIN_ROW(op, name)                                             \
    TFD_KERNEL(op, name, again_compute, .prepare = tfd_pooling_prepare, \
               .state_size = sizeof(struct tfd_window)),
#define ROWS(name, number, T)                                      \
    ARGMAX_ROW("MaxPoolWithArgmax", name, argmax_compute)          \
    ARGMAX_ROW("MaxPoolGradWithArgmax", name, argmax_grad_compute) \
    AGAIN_ROW("MaxPoolGradGrad", name) AGAIN_ROW("MaxPoolGradGradV2", name)

static const struct tfd_kernel kernels[] = {TFD_REAL_DTYPES(ROWS)
                                                TFD_HALF_DTYPES(ROWS)};

const struct tfd_family tfd_family_max_pool_index = {
    .name = "max_pool_index",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
