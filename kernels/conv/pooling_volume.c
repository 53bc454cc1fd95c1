/*
 * pooling_volume.c - maxima and means of windows over volumes:
 *
 *     MaxPool3D MaxPool3DGrad MaxPool3DGradGrad AvgPool3D AvgPool3DGrad
 *
 * Loops are those of volume_pool.h; bfloat16 is computed in float.  Channels
 * may be second, as in a TensorFlow with oneDNN, but for MaxPool3DGradGrad,
 * which oneDNN does not have.
 */
#include "kernels/conv/image.h"
#include "kernels/conv/volume_pool.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"

#include <string.h>

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code read_pool(const struct tfd_node *n, struct tfd_volume *v,
                               struct tfd_status *st)
{
    static const struct tfd_volume_attr size = {
        "ksize", "Sliding window ksize",
        "Sliding window ksize must be positive, but one is "};
    static const struct tfd_volume_attr stride = {
        "strides", "Sliding window stride", "Stride must be > 0, but got "};

    TFD_TRY(tfd_volume_read(n, v, st));
    TFD_TRY(tfd_volume_numbers(n, &size, v, v->size, st));
    return tfd_volume_numbers(n, &stride, v, v->stride, st);
}

static bool moves(const struct tfd_volume *v, enum tfd_volume_dim d)
{
    return v->size[d] != 1 || v->stride[d] != 1;
}

static enum tfd_code prepare_volume_pool(const struct tfd_prepare *p,
                                         void *state, struct tfd_status *st)
{
    const bool again = tfd_str_is(p->node->op->name, "MaxPool3DGradGrad");
    struct tfd_volume *v = state;

    TFD_TRY(read_pool(p->node, v, st));
    if (v->channels_second && again)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Default MaxPooling3dGradGradOp only supportsNDHWC on "
                        "CPU device type");
    if (moves(v, TFD_VOLUME_BATCH))
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Pooling is not yet supported on the batch dimension.");
    if (moves(v, TFD_VOLUME_CHANNEL))
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "%s is not yet supported on the depth dimension.",
                        again ? "MaxPooling3dGradGrad" : "Pooling");
    return TFD_OK;
}

/* ---- Sizes --------------------------------------------------------------- */

static enum tfd_code check_volume_rank(const struct tfd_kctx *k, int in,
                                       const char *what, struct tfd_status *st)
{
    if (k->in[in].shape.rank != TFD_VOLUME_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be 5-dimensional",
                        what);
    return TFD_OK;
}

/* All sizes from those of x; and the shape of y. */
static enum tfd_code measure_volume(const struct tfd_volume *v,
                                    const struct tfd_shape *x,
                                    struct tfd_volume_pool *p,
                                    struct tfd_shape *y, struct tfd_status *st)
{
    struct tfd_window_side *sides[] = {&p->plane, &p->row, &p->column};

    *y = *x;
    p->batch = x->dim[0];
    p->channels = x->dim[tfd_volume_at(v, TFD_VOLUME_CHANNEL)];
    for (int i = 0; i < 3; i++) {
        enum tfd_volume_dim d = (enum tfd_volume_dim)(TFD_VOLUME_PLANE + i);
        int at = tfd_volume_at(v, d);

        TFD_TRY(tfd_volume_side(v, d, x->dim[at], v->size[d], sides[i], st));
        y->dim[at] = sides[i]->out;
    }
    return tfd_shape_make(y, y->dim, y->rank, st);
}

/* ---- Running a loop ------------------------------------------------------ */

/* Of an item, at a nanosecond for eight elements of windows. */
static int cost_of_item(const struct tfd_volume_pool *p, int64_t items)
{
    const double windows = (double)p->batch * (double)p->plane.out *
                           (double)p->row.out * (double)p->column.out;
    const double elements = (double)p->plane.size * (double)p->row.size *
                            (double)p->column.size * (double)p->channels;
    const double ns = windows * elements / 8 / (double)items;

    return ns < 1 ? 1 : ns > 1e9 ? 1000000000 : (int)ns;
}

/* o: in and the result; of gradients of maxima x, y, in and the result. */
static enum tfd_code run_volume_pool(struct tfd_kctx *k,
                                     enum tfd_volume_loop loop,
                                     struct tfd_volume_pool *p,
                                     struct tfd_image *o, int n,
                                     struct tfd_status *st)
{
    enum tfd_code rc = tfd_image_begin(k, o, n, st);

    if (rc == TFD_OK && tfd_image_empty(o, n)) {
        tfd_image_zero(o, n);
    } else if (rc == TFD_OK) {
        const int64_t items = tfd_volume_pool_items(loop, p);

        p->x = tfd_tensor_data(&o[0].work);
        p->y = tfd_tensor_data(&o[1].work);
        p->in = tfd_tensor_data(&o[n - 2].work);
        p->out = tfd_tensor_data(&o[n - 1].work);
        tfd_kctx_parallel(k, items, cost_of_item(p, items),
                          tfd_volume_pool_loop(loop), p);
    }
    return tfd_image_end(k, o, n, rc, st);
}

/* ---- Kernels ------------------------------------------------------------- */

static enum tfd_code pool_volume(struct tfd_kctx *k, enum tfd_volume_loop loop,
                                 struct tfd_status *st)
{
    const struct tfd_volume *v = k->state;
    struct tfd_volume_pool p = {0};
    struct tfd_shape y;

    TFD_TRY(check_volume_rank(k, 0, "tensor_in", st));
    TFD_TRY(measure_volume(v, &k->in[0].shape, &p, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &y, st));
    return run_volume_pool(
        k, loop, &p,
        (struct tfd_image[]){tfd_image_operand(&k->in[0], v->channels_second),
                             tfd_image_result(0, v->channels_second)},
        2, st);
}

static enum tfd_code max_volume_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    return pool_volume(k, TFD_VOLUME_MAX, st);
}

static enum tfd_code mean_volume_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    return pool_volume(k, TFD_VOLUME_MEAN, st);
}

/* TensorFlow's second gradient takes nothing that is empty. */
static enum tfd_code check_full(const struct tfd_kctx *k, int in,
                                const char *what, struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[in];
    char text[TFD_SHAPE_TEXT_MAX];

    if (tfd_tensor_elements(t) > 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "received empty tensor %s: Tensor<type: %s shape: %s "
                    "values: >",
                    what, tfd_dtype_name((int)t->dtype),
                    tfd_shape_text(&t->shape, text));
}

static enum tfd_code max_volume_back(struct tfd_kctx *k, bool again,
                                     struct tfd_status *st)
{
    const char *const names[] = {"tensor_in", "tensor_out",
                                 again ? "out_grad_backprop" : "out_backprop"};
    const struct tfd_volume *v = k->state;
    const struct tfd_shape *x = &k->in[0].shape;
    const bool second = v->channels_second;
    struct tfd_volume_pool p = {0};
    struct tfd_shape y;

    for (int i = 0; i < 3; i++)
        TFD_TRY(check_volume_rank(k, i, names[i], st));
    TFD_TRY(measure_volume(v, x, &p, &y, st));
    TFD_TRY(tfd_window_check_shape("orig_output", &k->in[1].shape, &y, st));
    TFD_TRY(
        tfd_window_check_shape("grad", &k->in[2].shape, again ? x : &y, st));
    for (int i = 0; again && i < 3; i++)
        TFD_TRY(check_full(k, i, names[i], st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[2].dtype, again ? &y : x, st));
    return run_volume_pool(
        k, again ? TFD_VOLUME_TAKE : TFD_VOLUME_GIVE, &p,
        (struct tfd_image[]){tfd_image_operand(&k->in[0], second),
                             tfd_image_operand(&k->in[1], second),
                             tfd_image_operand(&k->in[2], second),
                             tfd_image_result(0, second)},
        4, st);
}

static enum tfd_code max_volume_grad_compute(struct tfd_kctx *k,
                                             struct tfd_status *st)
{
    return max_volume_back(k, false, st);
}

static enum tfd_code max_volume_again_compute(struct tfd_kctx *k,
                                              struct tfd_status *st)
{
    return max_volume_back(k, true, st);
}

/* The shape of x, which TensorFlow calls tensor_in. */
static enum tfd_code volume_sizes(const struct tfd_kctx *k, struct tfd_shape *x,
                                  struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[0];

    if (t->shape.rank != 1 || t->shape.dim[0] != TFD_VOLUME_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "tensor_in must be 1-dimensional and 5 elements");
    for (int i = 0; i < TFD_VOLUME_DIMS; i++)
        if (tfd_check_int_at(t, i) < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected a non-negative size, got %lld",
                            (long long)tfd_check_int_at(t, i));
    return tfd_check_shape(k, 0, false, x, st);
}

static enum tfd_code mean_volume_grad_compute(struct tfd_kctx *k,
                                              struct tfd_status *st)
{
    const struct tfd_volume *v = k->state;
    struct tfd_volume_pool p = {0};
    struct tfd_shape x, y;

    if (k->in[0].shape.rank == 1 && k->in[0].shape.dim[0] == TFD_VOLUME_DIMS)
        TFD_TRY(check_volume_rank(k, 1, "out_backprop", st));
    TFD_TRY(volume_sizes(k, &x, st));
    TFD_TRY(measure_volume(v, &x, &p, &y, st));
    TFD_TRY(tfd_window_check_shape("grad", &k->in[1].shape, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[1].dtype, &x, st));
    return run_volume_pool(
        k, TFD_VOLUME_SPREAD, &p,
        (struct tfd_image[]){tfd_image_operand(&k->in[1], v->channels_second),
                             tfd_image_result(0, v->channels_second)},
        2, st);
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code volume_pool_shape(struct tfd_shape_ctx *s,
                                       struct tfd_status *st)
{
    struct tfd_shape y = tfd_volume_unknown();
    struct tfd_volume v;

    if (!s->node)
        return TFD_OK;
    TFD_TRY(read_pool(s->node, &v, st));
    TFD_TRY(tfd_shape_merge(&y, &s->in[0], st));
    for (int d = TFD_VOLUME_PLANE; d <= TFD_VOLUME_COLUMN; d++) {
        int64_t *n = &y.dim[tfd_volume_at(&v, (enum tfd_volume_dim)d)];

        TFD_TRY(
            tfd_volume_out(&v, (enum tfd_volume_dim)d, *n, v.size[d], n, st));
    }
    s->out[0] = y;
    return TFD_OK;
}

static enum tfd_code mean_volume_grad_shape(struct tfd_shape_ctx *s,
                                            struct tfd_status *st)
{
    s->out[0] = tfd_volume_unknown();
    if (!s->value || !s->value[0])
        return TFD_OK;
    return tfd_check_shape_value(s->value[0], true, &s->out[0], st);
}

static enum tfd_code max_volume_again_shape(struct tfd_shape_ctx *s,
                                            struct tfd_status *st)
{
    s->out[0] = tfd_volume_unknown();
    return tfd_shape_merge(&s->out[0], &s->in[1], st);
}

/* ---- Gradients ----------------------------------------------------------- */

static const char *const attributes[] = {"ksize", "strides", "padding",
                                         "data_format", NULL};

static enum tfd_code max_volume_gradient(struct tfd_grad *g,
                                         struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->x[0], g->y[0], g->dy[0]};

    tfd_gradient_copying(&b, "MaxPool3DGrad", in, 3, attributes, &g->dx[0], 1);
    return b.code;
}

/* Of a function that is linear in its third input. */
static enum tfd_code linear_gradient(struct tfd_grad *g, const char *op,
                                     struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->x[0], g->x[1], g->dy[0]};

    g->dx[0] = tfd_gradient_op1(&b, "ZerosLike", g->x[0]);
    g->dx[1] = tfd_gradient_op1(&b, "ZerosLike", g->x[1]);
    tfd_gradient_copying(&b, op, in, 3, attributes, &g->dx[2], 1);
    return b.code;
}

static enum tfd_code max_volume_grad_gradient(struct tfd_grad *g,
                                              struct tfd_status *st)
{
    return linear_gradient(g, "MaxPool3DGradGrad", st);
}

static enum tfd_code max_volume_again_gradient(struct tfd_grad *g,
                                               struct tfd_status *st)
{
    return linear_gradient(g, "MaxPool3DGrad", st);
}

static enum tfd_code mean_volume_gradient(struct tfd_grad *g,
                                          struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {tfd_gradient_shape(&b, g->x[0]), g->dy[0]};

    tfd_gradient_copying(&b, "AvgPool3DGrad", in, 2, attributes, &g->dx[0], 1);
    return b.code;
}

/* Linear: the gradient of the gradient is the function. */
static enum tfd_code mean_volume_grad_gradient(struct tfd_grad *g,
                                               struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    tfd_gradient_copying(&b, "AvgPool3D", &g->dy[0], 1, attributes, &g->dx[1],
                         1);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define ATTRS                                          \
    "ksize: list(int) >= 5; strides: list(int) >= 5; " \
    "padding: {'SAME', 'VALID'}; "                     \
    "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; "
#define SINGLE "{half, bfloat16, float}"

static const struct tfd_opdef ops[] = {
    {
        .name = "MaxPool3D",
        .inputs = "input: T",
        .outputs = "output: T",
        .attrs = ATTRS "T: " SINGLE,
        .shape = volume_pool_shape,
        .grad = max_volume_gradient,
    },
    {
        .name = "MaxPool3DGrad",
        .inputs = "orig_input: TInput, orig_output: TInput, grad: T",
        .outputs = "output: T",
        .attrs =
            ATTRS "T: " SINGLE " = DT_FLOAT; TInput: " SINGLE " = DT_FLOAT",
        .shape = tfd_shape_like_first,
        .grad = max_volume_grad_gradient,
    },
    {
        .name = "MaxPool3DGradGrad",
        .inputs = "orig_input: T, orig_output: T, grad: T",
        .outputs = "output: T",
        .attrs = ATTRS "T: realnumbertype",
        .shape = max_volume_again_shape,
        .grad = max_volume_again_gradient,
    },
    {
        .name = "AvgPool3D",
        .inputs = "input: T",
        .outputs = "output: T",
        .attrs = ATTRS "T: {half, bfloat16, float, double}",
        .shape = volume_pool_shape,
        .grad = mean_volume_gradient,
    },
    {
        .name = "AvgPool3DGrad",
        .inputs = "orig_input_shape: int32, grad: T",
        .outputs = "output: T",
        .attrs = ATTRS "T: {half, bfloat16, float, double}",
        .checks = "orig_input_shape: vector",
        .shape = mean_volume_grad_shape,
        .grad = mean_volume_grad_gradient,
    },
};

#define ROW(op, name, compute)                                    \
    TFD_KERNEL(op, name, compute, .prepare = prepare_volume_pool, \
               .state_size = sizeof(struct tfd_volume))
#define ROWS(name)                                                \
    ROW("MaxPool3D", name, max_volume_compute),                   \
        ROW("MaxPool3DGrad", name, max_volume_grad_compute),      \
        ROW("MaxPool3DGradGrad", name, max_volume_again_compute), \
        ROW("AvgPool3D", name, mean_volume_compute),              \
        ROW("AvgPool3DGrad", name, mean_volume_grad_compute)

static const struct tfd_kernel kernels[] = {ROWS(FLOAT), ROWS(BFLOAT16)};

const struct tfd_family tfd_family_pooling_volume = {
    .name = "pooling_volume",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
