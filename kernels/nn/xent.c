/*
 * xent.c - cross entropy of logits with labels, and its gradient at once:
 *
 *     loss     = sum(labels * (log(sum(exp(x - max))) - (x - max)))
 *     backprop = softmax(x) - labels
 *
 * SoftmaxCrossEntropyWithLogits takes a distribution per row; logits and labels
 * are broadcast to one matrix.  SparseSoftmaxCrossEntropyWithLogits takes the
 * index of the one label that is 1.
 *
 * The loss is summed as log(sum) * sum(labels) - sum(labels * (x - max)), so
 * that logits are needed only before backprop, which may lie over them.
 */
#include "kernels/core/families.h"

#include "kernels/core/broadcast.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/gradient.h"
#include "kernels/core/outputs.h"
#include "kernels/nn/softmax_row.h"
#include "kernels/nn/xent/xent_rows.h"

#include <stdio.h>
#include <string.h>

/* ---- Loops over rows ----------------------------------------------------- */

TFD_ROW_WIDE_DTYPES(TFD_ROW_FUNCTIONS)

/* The exponentials of a row of doubles: a loop that all share, as they are long
 * and would be unrolled in each place. */
struct exps {
    const double *x;
    double *y, max;
};

TFD_SIMD_LOOP(exps)
{
    const struct exps *e = arg;

    for (int64_t i = begin; i < end; i++)
        e->y[i] = tfd_double_exp(e->x[i] - e->max);
}
TFD_SIMD_CLONES_WIDE(exps)

/* row_exp_DOUBLE(), whose sum is that of TFD_ROW_LANES, too. */
TFD_ROW_INLINE double sum_exps(const double *x, int64_t step, int64_t n,
                               double max, double *y)
{
    struct exps e = {x, y, max};

    exps(&e, 0, step ? n : 1);
    for (int64_t i = 1; !step && i < n; i++)
        y[i] = y[0];
    return row_sum_DOUBLE(y, n);
}

#define EXPS_FLOAT row_exp_FLOAT
#define EXPS_DOUBLE sum_exps

/* One row, dense.  Steps are constants where the caller gives constants. */
#define DENSE_ROW(name, T, F, to, from, exp_, log_)                            \
    TFD_ROW_INLINE void dense_row_##name(const T *x, int64_t x_step,           \
                                         const T *labels, int64_t labels_step, \
                                         int64_t n, T *loss, T *backprop)      \
    {                                                                          \
        const F max = row_max_##name(x, x_step, n);                            \
        F weight, dot, sum, scale;                                             \
                                                                               \
        dot =                                                                  \
            xent_sums_##name(x, x_step, max, labels, labels_step, n, &weight); \
        sum = EXPS_##name(x, x_step, n, max, backprop);                        \
        scale = 1 / sum;                                                       \
        *loss = from(log_(sum) * weight - dot);                                \
        for (int64_t i = 0; i < n; i++)                                        \
            backprop[i] =                                                      \
                from(to(backprop[i]) * scale - to(labels[i * labels_step]));   \
    }

#define DENSE_LOOP(name, T, F, to, from, exp_, log_)                          \
    TFD_SIMD_LOOP(dense_##name)                                               \
    {                                                                         \
        const struct tfd_xent_rows *rows = arg;                               \
        const int64_t n = rows->size;                                         \
                                                                              \
        for (int64_t r = begin; r < end; r++) {                               \
            const T *x = (const T *)rows->x + r * rows->x_row;                \
            const T *labels = (const T *)rows->labels + r * rows->labels_row; \
            T *loss = (T *)rows->loss + r;                                    \
            T *backprop = (T *)rows->backprop + r * n;                        \
                                                                              \
            if (rows->x_step && rows->labels_step)                            \
                dense_row_##name(x, 1, labels, 1, n, loss, backprop);         \
            else                                                              \
                dense_row_##name(x, rows->x_step, labels, rows->labels_step,  \
                                 n, loss, backprop);                          \
        }                                                                     \
    }                                                                         \
    TFD_SIMD_CLONES_WIDE(dense_##name)

#define SPARSE_LOOP(name, T, F, to, from, exp_, log_)          \
    TFD_SIMD_LOOP(sparse_##name)                               \
    {                                                          \
        const struct tfd_xent_rows *rows = arg;                \
        const int64_t n = rows->size;                          \
                                                               \
        for (int64_t r = begin; r < end; r++) {                \
            const T *x = (const T *)rows->x + r * n;           \
            T *backprop = (T *)rows->backprop + r * n;         \
            const int64_t label = tfd_xent_label(rows, r);     \
            const F max = row_max_##name(x, 1, n);             \
            const F hit = to(x[label]) - max;                  \
            const F sum = EXPS_##name(x, 1, n, max, backprop); \
            const F scale = 1 / sum;                           \
                                                               \
            ((T *)rows->loss)[r] = from(log_(sum) - hit);      \
            for (int64_t i = 0; i < n; i++)                    \
                backprop[i] = from(to(backprop[i]) * scale);   \
            backprop[label] = from(exp_(hit) * scale - 1);     \
        }                                                      \
    }                                                          \
    TFD_SIMD_CLONES_WIDE(sparse_##name)

TFD_ROW_WIDE_DTYPES(TFD_XENT_SUMS)
TFD_ROW_WIDE_DTYPES(DENSE_ROW)
TFD_ROW_WIDE_DTYPES(DENSE_LOOP)
TFD_ROW_WIDE_DTYPES(SPARSE_LOOP)

#define dense_HALF tfd_xent_dense_halves
#define dense_BFLOAT16 tfd_xent_dense_halves
#define sparse_HALF tfd_xent_sparse_halves
#define sparse_BFLOAT16 tfd_xent_sparse_halves

#define COST_NS 4 /* per element, two exponentials and the labels */

static void run_xent(struct tfd_kctx *k, struct tfd_xent_rows *rows,
                     int64_t count)
{
    int64_t size = rows->size < 1000000 ? rows->size : 1000000;

    rows->dtype = k->in[0].dtype;
    rows->loss = k->out[0].buffer->data;
    rows->backprop = k->out[1].buffer->data;
    tfd_kctx_parallel(k, count, (int)(size * COST_NS + 50), k->kernel->range,
                      rows);
}

/* loss[rows] and backprop[rows, n]; `candidates` as tfd_kctx_output_reuse(). */
static enum tfd_code make_xent_outputs(struct tfd_kctx *k, uint32_t candidates,
                                       const struct tfd_shape *matrix,
                                       struct tfd_status *st)
{
    const struct tfd_shape vector = {1, {matrix->dim[0]}};

    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &vector, st));
    return tfd_kctx_output_reuse(k, candidates, 1, k->in[0].dtype, matrix, st);
}

/* ---- Dense --------------------------------------------------------------- */

enum tfd_code tfd_xent_dense_shape(const struct tfd_kctx *k,
                                   struct tfd_shape *matrix,
                                   struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *y = &k->in[1].shape;
    char xt[TFD_SHAPE_TEXT_MAX], yt[TFD_SHAPE_TEXT_MAX];

    if (!tfd_broadcast_fits(x, y))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "logits and labels must be broadcastable: "
                        "logits_size=%s labels_size=%s",
                        tfd_shape_text(x, xt), tfd_shape_text(y, yt));
    TFD_TRY(tfd_broadcast_shape(x, y, matrix, st));
    if (matrix->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "logits and labels must be either 2-dimensional, or "
                        "broadcasted to be 2-dimensional");
    return TFD_OK;
}

void tfd_xent_steps(const struct tfd_shape *s, int64_t *row, int64_t *step)
{
    bool has_columns = s->rank > 0 && s->dim[s->rank - 1] > 1;
    bool has_rows = s->rank > 1 && s->dim[0] > 1;

    *step = has_columns;
    *row = has_rows ? s->dim[1] : 0;
}

static enum tfd_code dense_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape matrix;
    struct tfd_xent_rows rows = {0};

    TFD_TRY(tfd_xent_dense_shape(k, &matrix, st));
    TFD_TRY(make_xent_outputs(k, 1, &matrix, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    if (!k->out[1].buffer) { /* no classes: nothing was lost */
        tfd_elements_clear(&k->out[0]);
        return TFD_OK;
    }
    rows.x = k->in[0].buffer->data;
    rows.labels = k->in[1].buffer->data;
    rows.size = matrix.dim[1];
    tfd_xent_steps(&k->in[0].shape, &rows.x_row, &rows.x_step);
    tfd_xent_steps(&k->in[1].shape, &rows.labels_row, &rows.labels_step);
    run_xent(k, &rows, matrix.dim[0]);
    return TFD_OK;
}

/* ---- Sparse -------------------------------------------------------------- */

enum tfd_code tfd_xent_check_sparse(const struct tfd_kctx *k,
                                    struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *y = &k->in[1].shape;
    char xt[TFD_SHAPE_TEXT_MAX], yt[TFD_SHAPE_TEXT_MAX];

    if (x->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "logits must be 2-D, but got shape %s",
                        tfd_shape_text(x, xt));
    if (y->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "labels must be 1-D, but got shape %s",
                        tfd_shape_text(y, yt));
    if (x->dim[0] != y->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "logits and labels must have the same first dimension, "
                        "got logits shape %s and labels shape %s",
                        tfd_shape_text(x, xt), tfd_shape_text(y, yt));
    if (x->dim[1] <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Must have at least one class, but got logits shape "
                        "%s",
                        tfd_shape_text(x, xt));
    return TFD_OK;
}

#define LABELS_TEXT 1024 /* of the values listed in the message */

static enum tfd_code fail_label(const struct tfd_xent_rows *rows, int64_t count,
                                int64_t label, struct tfd_status *st)
{
    char text[LABELS_TEXT + 32];
    size_t used = 0;

    for (int64_t i = 0; i < count && used < LABELS_TEXT; i++)
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "%s%lld",
                             i ? " " : "", (long long)tfd_xent_label(rows, i));
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Received a label value of %lld which is outside the "
                    "valid range of [0, %lld).  Label values: %s",
                    (long long)label, (long long)rows->size, text);
}

static enum tfd_code check_labels(const struct tfd_xent_rows *rows,
                                  int64_t count, struct tfd_status *st)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t label = tfd_xent_label(rows, i);

        if (label < 0 || label >= rows->size)
            return fail_label(rows, count, label, st);
    }
    return TFD_OK;
}

static enum tfd_code sparse_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape matrix = k->in[0].shape;
    struct tfd_xent_rows rows = {.wide_labels = k->in[1].dtype == TFD_INT64};

    TFD_TRY(tfd_xent_check_sparse(k, st));
    if (k->in[1].buffer) {
        rows.labels = k->in[1].buffer->data;
        rows.size = matrix.dim[1];
        TFD_TRY(check_labels(&rows, matrix.dim[0], st));
    }
    TFD_TRY(make_xent_outputs(k, 1, &matrix, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    rows.x = k->in[0].buffer->data;
    rows.x_row = rows.size;
    rows.x_step = 1;
    run_xent(k, &rows, matrix.dim[0]);
    return TFD_OK;
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code dense_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape_ctx both = *s;
    struct tfd_shape matrix = TFD_SHAPE_UNKNOWN;

    both.out = &matrix;
    both.out_count = 1;
    TFD_TRY(tfd_shape_broadcast2(&both, st));
    if (matrix.rank == TFD_RANK_UNKNOWN)
        matrix = (struct tfd_shape){2, {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};
    if (matrix.rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be rank 2 but is rank %d", matrix.rank);
    s->out[0] = (struct tfd_shape){1, {matrix.dim[0]}};
    s->out[1] = matrix;
    return TFD_OK;
}

static enum tfd_code sparse_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    struct tfd_shape x = {2, {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};
    struct tfd_shape labels = {1, {TFD_DIM_UNKNOWN}};

    TFD_TRY(tfd_shape_merge(&x, &s->in[0], st));
    TFD_TRY(tfd_shape_merge(&labels, &s->in[1], st));
    s->out[0] = (struct tfd_shape){1, {x.dim[0]}};
    TFD_TRY(tfd_shape_merge(&s->out[0], &labels, st));
    x.dim[0] = s->out[0].dim[0];
    s->out[1] = x;
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

/* v[rows] times m[rows, n] */
static struct tfd_edge scale_rows(struct tfd_gradient *b, struct tfd_edge v,
                                  struct tfd_edge m)
{
    const int32_t last = -1;

    v = tfd_gradient_op2(b, "ExpandDims", v, tfd_gradient_ints(b, &last, -1));
    return tfd_gradient_op2(b, "Mul", v, m);
}

/* The second output is itself a gradient; its gradient adds
 * (d - sum(d * softmax)) * softmax. */
static struct tfd_edge add_second(struct tfd_gradient *b, struct tfd_edge grad)
{
    static const char *const keep_dims[] = {"keep_dims", NULL};
    struct tfd_edge d = b->g->dy[1], softmax, in[2];
    const int32_t last = -1;

    if (d.node < 0)
        return grad;
    softmax = tfd_gradient_op1(b, "Softmax", b->g->x[0]);
    in[0] = tfd_gradient_op2(b, "Mul", d, softmax);
    in[1] = tfd_gradient_ints(b, &last, -1);
    in[0] = tfd_gradient_op_flags(b, "Sum", in, 2, keep_dims);
    d = tfd_gradient_op2(b, "Sub", d, in[0]);
    d = tfd_gradient_op2(b, "Mul", d, softmax);
    return tfd_gradient_op2(b, "AddV2", grad, d);
}

static struct tfd_edge logits_gradient(struct tfd_gradient *b)
{
    struct tfd_grad *g = b->g;
    struct tfd_edge none = g->x[0];

    if (g->dy[0].node >= 0)
        return add_second(b, scale_rows(b, g->dy[0], g->y[1]));
    none = tfd_gradient_op1(b, "ZerosLike", none);
    return add_second(b, none);
}

static enum tfd_code sparse_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] = logits_gradient(&b);
    return b.code;
}

static enum tfd_code dense_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge log_softmax;

    g->dx[0] = logits_gradient(&b);
    if (g->dy[0].node >= 0) {
        log_softmax = tfd_gradient_op1(&b, "LogSoftmax", g->x[0]);
        log_softmax = tfd_gradient_op1(&b, "Neg", log_softmax);
        g->dx[1] = scale_rows(&b, g->dy[0], log_softmax);
    }
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "SoftmaxCrossEntropyWithLogits",
        .inputs = "features: T, labels: T",
        .outputs = "loss: T, backprop: T",
        .attrs = "T: {half, bfloat16, float, double}",
        .shape = dense_shape,
        .grad = dense_gradient,
    },
    {
        .name = "SparseSoftmaxCrossEntropyWithLogits",
        .inputs = "features: T, labels: Tlabels",
        .outputs = "loss: T, backprop: T",
        .attrs = "T: {half, bfloat16, float, double}; "
                 "Tlabels: {int32, int64} = DT_INT64",
        .shape = sparse_shape,
        .grad = sparse_gradient,
    },
};

#define KERNELS(name, number, T)                                            \
    TFD_KERNEL("SoftmaxCrossEntropyWithLogits", name, dense_cpu,            \
               dense_##name),                                               \
        TFD_KERNEL("SparseSoftmaxCrossEntropyWithLogits", name, sparse_cpu, \
                   sparse_##name),

static const struct tfd_kernel kernels[] = {TFD_FLOAT_DTYPES(KERNELS)
                                                TFD_HALF_DTYPES(KERNELS)};

const struct tfd_family tfd_family_xent = {
    .name = "xent",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
