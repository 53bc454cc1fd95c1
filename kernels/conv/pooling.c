/*
 * pooling.c - maxima and means of windows over images:
 *
 *     MaxPool MaxPoolV2 MaxPoolGrad MaxPoolGradV2 AvgPool AvgPoolGrad
 *
 * V2 takes the window as tensors.  Loops are those of pool_loops.h; half types
 * are computed in float.  Channels may be second where TensorFlow's kernels
 * (those with oneDNN for float and bfloat16) allow it.
 *
 * MaxPool also takes maxima of neighbouring channels, which are then the
 * columns of a loop over images one pixel wide.
 */
#include "kernels/conv/pooling.h"

#include <string.h>

#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/conv/image.h"

enum tfd_code tfd_pooling_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    return tfd_window_read(p->node, state, st);
}

/* ---- What is allowed ----------------------------------------------------- */

static bool takes_all(enum tfd_dtype t)
{
    return t == TFD_FLOAT || t == TFD_BFLOAT16;
}

/* TensorFlow says which of its classes refuses. */
static const char *class_of(const char *op)
{
    static const char *const classes[][2] = {
        {"MaxPool", "MaxPoolingOp"},
        {"MaxPoolV2", "MaxPoolingV2Op"},
        {"MaxPoolGrad", "MaxPoolingGradOp"},
        {"MaxPoolGradV2", "MaxPoolingGradOp"},
        {"AvgPool", "AvgPoolingOp"},
        {"AvgPoolGrad", "AvgPoolingGradOp"},
    };

    for (size_t i = 0; i < TFD_COUNT(classes); i++)
        if (strcmp(classes[i][0], op) == 0)
            return classes[i][1];
    return op;
}

static enum tfd_code check_layout(const struct tfd_kctx *k,
                                  const struct tfd_window *w, bool all,
                                  struct tfd_status *st)
{
    if (w->channels_second && !all)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Default %s only supports NHWC on device type CPU",
                        class_of(k->kernel->op));
    return TFD_OK;
}

static enum tfd_code check_pool_rank(const char *what,
                                     const struct tfd_tensor *t,
                                     struct tfd_status *st)
{
    if (t->shape.rank != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be 4-dimensional",
                        what);
    return TFD_OK;
}

/* Forward; the number behind the rank is that of the layout. */
static enum tfd_code check_pooled(const struct tfd_window *w,
                                  const struct tfd_tensor *t,
                                  struct tfd_status *st)
{
    if (t->shape.rank != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "tensor_in_shape must have 2 spatial dimensions. %d %d",
                        t->shape.rank, w->channels_second);
    return TFD_OK;
}

static bool moves(const struct tfd_window *w, enum tfd_window_dim d)
{
    return w->size[d] != 1 || w->stride[d] != 1;
}

static enum tfd_code check_batch(const struct tfd_window *w,
                                 struct tfd_status *st)
{
    if (moves(w, TFD_WINDOW_BATCH))
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Pooling is not yet supported on the batch dimension.");
    return TFD_OK;
}

static enum tfd_code check_spatial(const struct tfd_window *w,
                                   struct tfd_status *st)
{
    TFD_TRY(check_batch(w, st));
    if (moves(w, TFD_WINDOW_CHANNEL))
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Non-spatial pooling is not yet supported. Volunteers? "
                        ":)");
    return TFD_OK;
}

/* Channels by channels: windows side by side, and no others. */
static enum tfd_code check_depth(const struct tfd_window *w, int64_t channels,
                                 struct tfd_status *st)
{
    const int64_t size = w->size[TFD_WINDOW_CHANNEL];

    if (w->size[TFD_WINDOW_ROW] != 1 || w->size[TFD_WINDOW_COLUMN] != 1)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "MaxPooling supports exactly one of pooling across "
                        "depth or pooling across width/height.");
    if (channels % size)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Depthwise max pooling requires the depth window to "
                        "evenly divide the input depth");
    if (size != w->stride[TFD_WINDOW_CHANNEL])
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Depthwise max pooling requires the depth window to "
                        "equal the depth stride");
    return TFD_OK;
}

/* ---- Sizes --------------------------------------------------------------- */

enum tfd_code tfd_pooling_measure(struct tfd_pooling_plan *plan,
                                  struct tfd_status *st)
{
    const struct tfd_window *w = &plan->w;
    const struct tfd_shape *x = &plan->x;
    struct tfd_pooling_window *p = &plan->p;
    struct tfd_shape *y = &plan->y;
    static const enum tfd_window_dim dims[] = {TFD_WINDOW_ROW,
                                               TFD_WINDOW_COLUMN};
    struct tfd_window_side *sides[] = {&p->row, &p->column};

    *y = *x;
    p->channels = x->dim[tfd_window_at(w, TFD_WINDOW_CHANNEL)];
    for (int i = 0; i < 2; i++) {
        int at = tfd_window_at(w, dims[i]);

        TFD_TRY(tfd_window_side(w, dims[i], x->dim[at], w->size[dims[i]],
                                sides[i], st));
        y->dim[at] = sides[i]->out;
        /* A window that sees nothing but padding has no mean. */
        if (w->padding == TFD_WINDOW_EXPLICIT &&
            (w->before[dims[i]] >= w->size[dims[i]] ||
             w->after[dims[i]] >= w->size[dims[i]]))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Pooling padding (%lld, %lld) must be smaller than "
                            "the window (%lld)",
                            (long long)w->before[dims[i]],
                            (long long)w->after[dims[i]],
                            (long long)w->size[dims[i]]);
    }
    return tfd_shape_make(y, y->dim, y->rank, st);
}

/* The window of a V2 op stands in its last two inputs. */
static enum tfd_code window_of(const struct tfd_kctx *k, int values,
                               struct tfd_window *w, struct tfd_status *st)
{
    *w = *(const struct tfd_window *)k->state;
    if (k->in_count == values)
        return TFD_OK;
    TFD_TRY(tfd_window_values(&k->in[values], "ksize", w, w->size, st));
    return tfd_window_values(&k->in[values + 1],
                             values == 1 ? "stride" : "strides", w, w->stride,
                             st);
}

/* Each window's channels are a column, one channel wide. */
static enum tfd_code measure_deep(const struct tfd_kctx *k,
                                  struct tfd_pooling_plan *plan,
                                  struct tfd_status *st)
{
    const int64_t size = plan->w.size[TFD_WINDOW_CHANNEL];
    const struct tfd_window_side column = {size, 1, size, size, 1, 0};

    TFD_TRY(check_layout(k, &plan->w, false, st));
    TFD_TRY(check_depth(&plan->w, plan->x.dim[3], st));
    plan->y = plan->x;
    plan->y.dim[3] /= size;
    plan->p.channels = 1;
    plan->p.row = (struct tfd_window_side){1, 1, 1, 1, 1, 0};
    plan->p.column = column;
    return TFD_OK;
}

enum tfd_code tfd_pooling_sizes(const struct tfd_kctx *k,
                                struct tfd_pooling_plan *plan,
                                struct tfd_status *st)
{
    TFD_TRY(check_pooled(&plan->w, &k->in[0], st));
    TFD_TRY(check_batch(&plan->w, st));
    plan->deep = moves(&plan->w, TFD_WINDOW_CHANNEL);
    return plan->deep ? measure_deep(k, plan, st)
                      : tfd_pooling_measure(plan, st);
}

enum tfd_code tfd_pooling_max(const struct tfd_kctx *k,
                              struct tfd_pooling_plan *plan,
                              struct tfd_status *st)
{
    plan->x = k->in[0].shape;
    TFD_TRY(window_of(k, 1, &plan->w, st));
    return tfd_pooling_sizes(k, plan, st);
}

enum tfd_code tfd_pooling_spatial(struct tfd_pooling_plan *plan,
                                  struct tfd_status *st)
{
    const int deep = tfd_window_at(&plan->w, TFD_WINDOW_CHANNEL);

    if (!moves(&plan->w, TFD_WINDOW_BATCH) &&
        moves(&plan->w, TFD_WINDOW_CHANNEL))
        TFD_TRY(check_depth(&plan->w, plan->x.dim[deep], st));
    TFD_TRY(check_spatial(&plan->w, st));
    return tfd_pooling_measure(plan, st);
}

enum tfd_code tfd_pooling_mean(const struct tfd_kctx *k,
                               struct tfd_pooling_plan *plan,
                               struct tfd_status *st)
{
    plan->x = k->in[0].shape;
    TFD_TRY(window_of(k, 1, &plan->w, st));
    TFD_TRY(check_pooled(&plan->w, &k->in[0], st));
    return tfd_pooling_spatial(plan, st);
}

enum tfd_code tfd_pooling_max_back(const struct tfd_kctx *k,
                                   struct tfd_pooling_plan *plan, bool again,
                                   struct tfd_status *st)
{
    plan->x = k->in[0].shape;
    TFD_TRY(window_of(k, 3, &plan->w, st));
    TFD_TRY(check_pool_rank("tensor_in", &k->in[0], st));
    TFD_TRY(check_pool_rank("tensor_out", &k->in[1], st));
    TFD_TRY(check_pool_rank(again ? "out_grad_backprop" : "out_backprop",
                            &k->in[2], st));
    if (moves(&plan->w, TFD_WINDOW_CHANNEL))
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "MaxPoolingGrad%s is not yet supported on the depth "
                        "dimension.",
                        again ? "Grad" : "");
    TFD_TRY(check_batch(&plan->w, st));
    TFD_TRY(tfd_pooling_measure(plan, st));
    TFD_TRY(
        tfd_window_check_shape("orig_output", &k->in[1].shape, &plan->y, st));
    return tfd_window_check_shape("grad", &k->in[2].shape,
                                  again ? &plan->x : &plan->y, st);
}

/* TensorFlow calls the shape of the input by the gradient's name. */
static enum tfd_code check_pool_sizes(const struct tfd_tensor *t,
                                      struct tfd_status *st)
{
    if (t->shape.rank != 1 || t->shape.dim[0] != TFD_WINDOW_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "out_backprop must be 1-dimensional and 4 elements");
    for (int i = 0; i < TFD_WINDOW_DIMS; i++)
        if (tfd_check_int_at(t, i) < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected a non-negative size, got %lld",
                            (long long)tfd_check_int_at(t, i));
    return TFD_OK;
}

enum tfd_code tfd_pooling_mean_grad(const struct tfd_kctx *k,
                                    struct tfd_pooling_plan *plan,
                                    struct tfd_status *st)
{
    TFD_TRY(window_of(k, 2, &plan->w, st));
    TFD_TRY(check_pool_sizes(&k->in[0], st));
    TFD_TRY(tfd_check_shape(k, 0, false, &plan->x, st));
    TFD_TRY(check_pool_rank("out_backprop", &k->in[1], st));
    TFD_TRY(check_spatial(&plan->w, st));
    TFD_TRY(tfd_pooling_measure(plan, st));
    return tfd_window_check_shape("grad", &k->in[1].shape, &plan->y, st);
}

/* ---- Kernels ------------------------------------------------------------- */

static enum tfd_code max_deep(struct tfd_kctx *k, struct tfd_pooling_plan *plan,
                              struct tfd_status *st)
{
    struct tfd_image o[] = {tfd_image_operand(&k->in[0], false),
                            tfd_image_result(0, false)};
    const int64_t n = tfd_shape_elements(&plan->y);

    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &plan->y, st));
    if (n == 0)
        return TFD_OK;
    TFD_TRY(tfd_image_begin(k, o, 2, st));
    plan->p.in = tfd_tensor_data(&o[0].work);
    plan->p.out = tfd_tensor_data(&o[1].work);
    tfd_kctx_parallel(k, n, tfd_pool_cost(&plan->p, 1),
                      tfd_pool_loop(TFD_POOL_MAX, o[0].work.dtype), &plan->p);
    return tfd_image_end(k, o, 2, TFD_OK, st);
}

static enum tfd_code max_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_pooling_plan plan;

    TFD_TRY(tfd_pooling_max(k, &plan, st));
    if (plan.deep)
        return max_deep(k, &plan, st);
    TFD_TRY(
        check_layout(k, &plan.w, takes_all(x->dtype) && k->in_count == 1, st));
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &plan.y, st));
    return tfd_pool_run(
        k, TFD_POOL_MAX, &plan.p,
        (struct tfd_image[]){tfd_image_operand(x, plan.w.channels_second),
                             tfd_image_result(0, plan.w.channels_second)},
        2, st);
}

static enum tfd_code mean_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_pooling_plan plan;

    TFD_TRY(tfd_pooling_mean(k, &plan, st));
    TFD_TRY(check_layout(k, &plan.w, takes_all(x->dtype), st));
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &plan.y, st));
    return tfd_pool_run(
        k, TFD_POOL_MEAN, &plan.p,
        (struct tfd_image[]){tfd_image_operand(x, plan.w.channels_second),
                             tfd_image_result(0, plan.w.channels_second)},
        2, st);
}

static enum tfd_code max_grad_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_pooling_plan plan;

    TFD_TRY(tfd_pooling_max_grad(k, &plan, st));
    TFD_TRY(check_layout(k, &plan.w, false, st));
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &x->shape, st));
    return tfd_pool_run(
        k, TFD_POOL_MAX_GRAD, &plan.p,
        (struct tfd_image[]){tfd_image_operand(x, false),
                             tfd_image_operand(&k->in[2], false),
                             tfd_image_result(0, false)},
        3, st);
}

static enum tfd_code mean_grad_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    const struct tfd_tensor *dy = &k->in[1];
    struct tfd_pooling_plan plan;

    TFD_TRY(tfd_pooling_mean_grad(k, &plan, st));
    TFD_TRY(check_layout(k, &plan.w, takes_all(dy->dtype), st));
    TFD_TRY(tfd_kctx_output(k, 0, dy->dtype, &plan.x, st));
    return tfd_pool_run(
        k, TFD_POOL_MEAN_GRAD, &plan.p,
        (struct tfd_image[]){tfd_image_operand(dy, plan.w.channels_second),
                             tfd_image_result(0, plan.w.channels_second)},
        2, st);
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code window_shape(struct tfd_shape_ctx *s,
                                  const struct tfd_window *w,
                                  struct tfd_status *st)
{
    struct tfd_shape y = {
        4,
        {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};

    TFD_TRY(tfd_shape_merge(&y, &s->in[0], st));
    for (int d = TFD_WINDOW_ROW; d < TFD_WINDOW_DIMS; d++) {
        int64_t *n = &y.dim[tfd_window_at(w, (enum tfd_window_dim)d)];

        TFD_TRY(
            tfd_window_out(w, (enum tfd_window_dim)d, *n, w->size[d], n, st));
    }
    s->out[0] = y;
    return TFD_OK;
}

static enum tfd_code pool_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_window w;

    if (!s->node)
        return TFD_OK;
    TFD_TRY(tfd_window_read(s->node, &w, st));
    return window_shape(s, &w, st);
}

static enum tfd_code pool_v2_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    struct tfd_window w;

    if (!s->node || !s->value || !s->value[1] || !s->value[2])
        return TFD_OK;
    TFD_TRY(tfd_window_read(s->node, &w, st));
    TFD_TRY(tfd_window_values(s->value[1], "ksize", &w, w.size, st));
    TFD_TRY(tfd_window_values(s->value[2], "strides", &w, w.stride, st));
    return window_shape(s, &w, st);
}

static enum tfd_code mean_grad_shape(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    if (!s->value || !s->value[0])
        return TFD_OK;
    return tfd_check_shape_value(s->value[0], true, &s->out[0], st);
}

/* ---- Gradients ----------------------------------------------------------- */

static const char *const attributes[] = {
    "ksize", "strides", "padding", "explicit_paddings", "data_format", NULL};

static enum tfd_code max_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->x[0], g->y[0], g->dy[0]};

    tfd_gradient_copying(&b, "MaxPoolGrad", in, 3, attributes, &g->dx[0], 1);
    return b.code;
}

static enum tfd_code max_v2_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->x[0], g->y[0], g->dy[0], g->x[1], g->x[2]};

    tfd_gradient_copying(&b, "MaxPoolGradV2", in, 5, attributes, &g->dx[0], 1);
    return b.code;
}

static enum tfd_code mean_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {tfd_gradient_shape(&b, g->x[0]), g->dy[0]};

    tfd_gradient_copying(&b, "AvgPoolGrad", in, 2, attributes, &g->dx[0], 1);
    return b.code;
}

/* Linear: the gradient of the gradient is the function. */
static enum tfd_code mean_grad_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    tfd_gradient_copying(&b, "AvgPool", &g->dy[0], 1, attributes, &g->dx[1], 1);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define WINDOW "ksize: list(int) >= 4; strides: list(int) >= 4; "
#define ANY_PADDING                            \
    "padding: {'SAME', 'VALID', 'EXPLICIT'}; " \
    "explicit_paddings: list(int) = []; "
#define PADDING "padding: {'SAME', 'VALID'}; "
#define FORMAT "data_format: {'NHWC', 'NCHW'} = 'NHWC'; "
#define MAX_TYPES                                                         \
    "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'; T: {half, "   \
    "bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, " \
    "qint8} = DT_FLOAT"

static const struct tfd_opdef ops[] = {
    {
        .name = "MaxPool",
        .inputs = "input: T",
        .outputs = "output: T",
        .attrs = WINDOW ANY_PADDING MAX_TYPES,
        .shape = pool_shape,
        .grad = max_gradient,
    },
    {
        .name = "MaxPoolV2",
        .inputs = "input: T, ksize: int32, strides: int32",
        .outputs = "output: T",
        .attrs = PADDING MAX_TYPES,
        .shape = pool_v2_shape,
        .grad = max_v2_gradient,
    },
    {
        .name = "MaxPoolGrad",
        .inputs = "orig_input: T, orig_output: T, grad: T",
        .outputs = "output: T",
        .attrs = WINDOW ANY_PADDING FORMAT "T: realnumbertype = DT_FLOAT",
        .shape = tfd_shape_like_first,
        .grad = tfd_max_pool_grad_gradient,
    },
    {
        .name = "MaxPoolGradV2",
        .inputs = "orig_input: T, orig_output: T, grad: T, ksize: int32, "
                  "strides: int32",
        .outputs = "output: T",
        .attrs = PADDING FORMAT "T: realnumbertype = DT_FLOAT",
        .shape = tfd_shape_like_first,
        .grad = tfd_max_pool_grad_v2_gradient,
    },
    {
        .name = "AvgPool",
        .inputs = "value: T",
        .outputs = "output: T",
        .attrs = WINDOW PADDING FORMAT "T: {half, bfloat16, float, double}",
        .shape = pool_shape,
        .grad = mean_gradient,
    },
    {
        .name = "AvgPoolGrad",
        .inputs = "orig_input_shape: int32, grad: T",
        .outputs = "output: T",
        .attrs = WINDOW PADDING FORMAT "T: {half, bfloat16, float, double}",
        .shape = mean_grad_shape,
        .grad = mean_grad_gradient,
    },
};

#define ROW(op, name, compute)                                    \
    TFD_KERNEL(op, name, compute, .prepare = tfd_pooling_prepare, \
               .state_size = sizeof(struct tfd_window)),
#define MAX_ROWS(name, number, T) \
    ROW("MaxPool", name, max_compute) ROW("MaxPoolV2", name, max_compute)
#define GRAD_ROWS(name, number, T)             \
    ROW("MaxPoolGrad", name, max_grad_compute) \
    ROW("MaxPoolGradV2", name, max_grad_compute)
#define MEAN_ROWS(name, number, T)     \
    ROW("AvgPool", name, mean_compute) \
    ROW("AvgPoolGrad", name, mean_grad_compute)

/* The definition of MaxPool has no uint32 and uint64, that of its gradient
 * has. */
static const struct tfd_kernel kernels[] = {
    TFD_FLOAT_DTYPES(MAX_ROWS) TFD_HALF_DTYPES(MAX_ROWS) MAX_ROWS(INT32, , )
        MAX_ROWS(INT64, , ) MAX_ROWS(INT16, , ) MAX_ROWS(INT8, , )
            MAX_ROWS(UINT8, , ) MAX_ROWS(UINT16, , ) TFD_REAL_DTYPES(GRAD_ROWS)
                TFD_HALF_DTYPES(GRAD_ROWS) TFD_FLOAT_DTYPES(MEAN_ROWS)
                    TFD_HALF_DTYPES(MEAN_ROWS)};

const struct tfd_family tfd_family_pooling = {
    .name = "pool",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
