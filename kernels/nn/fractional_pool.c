/*
 * fractional_pool.c - pools that shrink images by a ratio that is no integer:
 *
 *     FractionalMaxPool FractionalMaxPoolGrad
 *     FractionalAvgPool FractionalAvgPoolGrad
 *
 * Windows have two neighbouring sizes, which follow upon each other at random
 * (B. Graham, "Fractional Max-Pooling", arXiv:1412.6071): shuffled, or by one
 * random number where pseudo_random is set.  The sequences are bit for bit
 * those that TensorFlow draws from the same stream.  A deterministic op draws
 * from the beginning of its stream each time; the gradients are given the
 * sequences.
 */
#include "kernels/nn/fractional.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/random/random_number.h"
#include "kernels/random/random_stream.h"

#include <math.h>
#include <string.h>

#define IMAGE_DIMS 4
#define ASK_EVERY 65536 /* windows */

struct fractional_state {
    struct tfd_philox_source source;
    float ratio[IMAGE_DIMS];
    bool pseudo_random, overlapping, deterministic;
};

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code read_ratios(const struct tfd_node *n, float *ratio,
                                 struct tfd_status *st)
{
    float values[IMAGE_DIMS + 1];
    int count;

    TFD_TRY(tfd_node_floats(n, "pooling_ratio", values, IMAGE_DIMS + 1, &count,
                            st));
    if (count != IMAGE_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "pooling_ratio field must specify 4 dimensions");
    for (int i = 0; i < IMAGE_DIMS; i++) {
        if (!(values[i] >= 1))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "pooling_ratio cannot be smaller than 1, got: %g",
                            (double)values[i]);
        ratio[i] = values[i];
    }
    return TFD_OK;
}

static enum tfd_code check_seeds(const struct tfd_node *n,
                                 const struct fractional_state *s,
                                 struct tfd_status *st)
{
    int64_t seed, seed2;

    TFD_TRY(tfd_node_int(n, "seed", &seed, st));
    TFD_TRY(tfd_node_int(n, "seed2", &seed2, st));
    if (!s->deterministic && (seed || seed2))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Both seed and seed2 should be 0 if deterministic is "
                        "false.");
    return TFD_OK;
}

static bool is_mean(const char *op)
{
    return strncmp(op, "FractionalAvg", strlen("FractionalAvg")) == 0;
}

static enum tfd_code prepare_fractional(const struct tfd_prepare *p,
                                        void *state, struct tfd_status *st)
{
    const struct tfd_node *n = p->node;
    struct fractional_state *s = state;

    TFD_TRY(read_ratios(n, s->ratio, st));
    TFD_TRY(tfd_node_bool(n, "pseudo_random", &s->pseudo_random, st));
    TFD_TRY(tfd_node_bool(n, "overlapping", &s->overlapping, st));
    TFD_TRY(tfd_node_bool(n, "deterministic", &s->deterministic, st));
    if (s->ratio[0] != 1 || s->ratio[3] != 1)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Fractional %s pooling is not yet supported on the "
                        "batch nor channel dimension.",
                        is_mean(n->op->def->name) ? "average" : "max");
    TFD_TRY(check_seeds(n, s, st));
    return tfd_random_stream_init(p, &s->source, st);
}

static enum tfd_code prepare_gradient(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    struct fractional_state *s = state;

    return tfd_node_bool(p->node, "overlapping", &s->overlapping, st);
}

/* ---- Sequences ----------------------------------------------------------- */

/* The next numbers of the op's stream; `fixed` is where a deterministic op is
 * in its own. */
static struct tfd_random_draw draw_of(struct fractional_state *s,
                                      struct tfd_philox *fixed, uint64_t blocks)
{
    struct tfd_philox g = *fixed;

    if (!s->deterministic)
        g = tfd_philox_reserve_blocks(&s->source, blocks);
    else
        tfd_philox_skip(fixed, blocks);
    return tfd_random_draw_of(g);
}

/* Nobody wants the windows from i on; asked at every ASK_EVERY-th. */
static inline bool drawing_halted(int64_t i)
{
    return i % ASK_EVERY == 0 && tfd_halted();
}

/* Windows end where ceil(alpha * (i + u)) says, for one u below what keeps the
 * first and the last window from being too large or too small. */
static void draw_pseudo_random(struct tfd_random_draw *d, int64_t in,
                               int64_t out, int64_t *at)
{
    const double alpha = (double)in / (double)out;
    const double k = (double)(in / out);
    const double first = (k + 2) / alpha - 1;
    const double last = ((double)in + 1 - k) / alpha - (double)(out - 1);
    const double u = tfd_random_draw_double(d) * (first < last ? first : last);

    at[0] = 0;
    at[out] = in;
    for (int64_t i = 1; i < out && !drawing_halted(i); i++)
        at[i] = (int64_t)ceil(alpha * ((double)i + u)) - 1;
}

/* As many larger windows as there must be, shuffled among the others. */
static void draw_shuffled(struct tfd_random_draw *d, int64_t in, int64_t out,
                          int64_t *at)
{
    const int64_t k = in / out, larger = in % out;

    at[0] = 0;
    for (int64_t i = 0; i < out && !drawing_halted(i); i++)
        at[i + 1] = i < larger ? k + 1 : k;
    for (int64_t i = 0; i + 1 < out && !drawing_halted(i); i++) {
        const int64_t left = out - i;
        const int64_t other =
            i + (int64_t)(tfd_random_draw32(d) % (uint32_t)left);
        const int64_t size = at[i + 1];

        at[i + 1] = at[other + 1];
        at[other + 1] = size;
    }
    for (int64_t i = 0; i < out && !drawing_halted(i); i++)
        at[i + 1] += at[i];
}

/* Output `arg`: where windows begin, and where the last one ends.  Fails where
 * the drawing was told to stop: the pools must not run along half of it. */
static enum tfd_code make_sequence(struct tfd_kctx *k, int arg, int64_t in,
                                   int64_t out, struct tfd_philox *fixed,
                                   struct tfd_status *st)
{
    struct fractional_state *s = k->state;
    const struct tfd_shape shape = {.rank = 1, .dim = {out + 1}};
    struct tfd_random_draw d;
    int64_t *at;

    TFD_TRY(tfd_kctx_output(k, arg, TFD_INT64, &shape, st));
    at = tfd_tensor_data(&k->out[arg]);
    d = draw_of(s, fixed, s->pseudo_random ? 1 : (uint64_t)(out + 3) / 4);
    if (s->pseudo_random)
        draw_pseudo_random(&d, in, out, at);
    else
        draw_shuffled(&d, in, out, at);
    return tfd_halted() ? tfd_halt_fail(st) : TFD_OK;
}

/* ---- Pools --------------------------------------------------------------- */

/* Windows along dimension i of a size of at most INT32_MAX.  Images and
 * channels stay as they are: a float has no room for all of their digits.  That
 * is so of rows and columns, too, where TensorFlow divides floats and the
 * quotient may round above the size. */
static int64_t windows_along(int i, int64_t size, float ratio)
{
    int64_t windows;

    if (i == 0 || i == IMAGE_DIMS - 1)
        return size;
    windows = (int64_t)floorf((float)size / ratio);
    return windows < size ? windows : size;
}

static enum tfd_code shrink(const struct fractional_state *s,
                            const struct tfd_shape *x, struct tfd_shape *y,
                            struct tfd_status *st)
{
    if (x->rank != IMAGE_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "tensor_in must be 4-dimensional");
    *y = *x;
    for (int i = 0; i < IMAGE_DIMS; i++) {
        if (!(s->ratio[i] <= (float)x->dim[i]))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Pooling ratio is higher than input dimension size "
                            "for dimension %d. Input dim size: %lld pooling "
                            "ratio: %g",
                            i, (long long)x->dim[i], (double)s->ratio[i]);
        if (x->dim[i] > INT32_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Dimension %d of the input is %lld, above %d", i,
                            (long long)x->dim[i], INT32_MAX);
        y->dim[i] = windows_along(i, x->dim[i], s->ratio[i]);
    }
    return TFD_OK;
}

static int cost_of_pixels(const struct tfd_fractional *f, int64_t items)
{
    const double ns = (double)f->batch * (double)f->rows * (double)f->columns *
                      (double)f->channels / (double)items;

    return ns < 1 ? 1 : ns > 1e9 ? 1000000000 : (int)ns;
}

static enum tfd_code run_fractional(struct tfd_kctx *k,
                                    enum tfd_fractional_loop loop,
                                    struct tfd_fractional *f,
                                    struct tfd_status *st)
{
    const int64_t items[] = {[TFD_FRACTIONAL_MAX] = f->batch * f->out_rows,
                             [TFD_FRACTIONAL_MEAN] = f->batch * f->out_rows,
                             [TFD_FRACTIONAL_MAX_GRAD] = f->batch,
                             [TFD_FRACTIONAL_MEAN_GRAD] = f->batch * f->rows};

    if (items[loop] == 0 || f->columns * f->channels == 0)
        return TFD_OK;
    f->out = tfd_tensor_data(&k->out[0]);
    return tfd_kctx_try(k, items[loop], cost_of_pixels(f, items[loop]),
                        tfd_fractional_loop(loop, k->out[0].dtype), f, st);
}

static void set_image(struct tfd_fractional *f, const struct tfd_shape *x,
                      const struct tfd_shape *y)
{
    f->batch = x->dim[0];
    f->rows = x->dim[1];
    f->columns = x->dim[2];
    f->channels = x->dim[3];
    f->out_rows = y->dim[1];
    f->out_columns = y->dim[2];
}

static enum tfd_code fractional_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    struct fractional_state *s = k->state;
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_fractional f = {.overlapping = s->overlapping,
                               .x = tfd_tensor_data(x)};
    struct tfd_philox fixed = s->source.start;
    struct tfd_shape y;

    TFD_TRY(shrink(s, &x->shape, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &y, st));
    TFD_TRY(make_sequence(k, 1, x->shape.dim[1], y.dim[1], &fixed, st));
    TFD_TRY(make_sequence(k, 2, x->shape.dim[2], y.dim[2], &fixed, st));
    set_image(&f, &x->shape, &y);
    f.row_at = tfd_tensor_data(&k->out[1]);
    f.column_at = tfd_tensor_data(&k->out[2]);
    return run_fractional(
        k, is_mean(k->kernel->op) ? TFD_FRACTIONAL_MEAN : TFD_FRACTIONAL_MAX,
        &f, st);
}

/* ---- Gradients' checks --------------------------------------------------- */

/* Sequence `in`, for so many windows, of input dy. */
static enum tfd_code check_sequence(const struct tfd_kctx *k, int dy, int in,
                                    const char *attr, const char *what,
                                    const char *word, int64_t windows,
                                    struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[in];
    const int64_t *at = tfd_tensor_data(t);
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s must be a vector, received shape %s", attr,
                        tfd_shape_text(&t->shape, text));
    if (t->shape.dim[0] < windows + 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Given out_backprop shape %s, %s must have at least "
                        "%lld elements, but got %lld",
                        tfd_shape_text(&k->in[dy].shape, text), what,
                        (long long)(windows + 1), (long long)t->shape.dim[0]);
    for (int64_t i = 0; i <= windows; i++)
        if (at[i] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s sequence tensor values must not be negative, "
                            "but number %lld is %lld",
                            word, (long long)i, (long long)at[i]);
    return TFD_OK;
}

/* Sequences are the inputs from `in` on. */
static enum tfd_code check_sequences(const struct tfd_kctx *k, int in,
                                     struct tfd_fractional *f,
                                     struct tfd_status *st)
{
    TFD_TRY(check_sequence(k, in - 1, in, "row_pooling_sequence",
                           "row_seq_tensor", "Row", f->out_rows, st));
    TFD_TRY(check_sequence(k, in - 1, in + 1, "col_pooling_sequence",
                           "col_seq_tensor", "Column", f->out_columns, st));
    f->row_at = tfd_tensor_data(&k->in[in]);
    f->column_at = tfd_tensor_data(&k->in[in + 1]);
    return TFD_OK;
}

/* dy is of as many images and channels as x. */
static enum tfd_code check_same_images(const struct tfd_shape *x,
                                       const struct tfd_shape *dy,
                                       struct tfd_status *st)
{
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (x->dim[0] == dy->dim[0] && x->dim[3] == dy->dim[3])
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "out_backprop of shape %s must have the batch size and "
                    "the channels of an input of shape %s",
                    tfd_shape_text(dy, one), tfd_shape_text(x, other));
}

/* ---- Gradients ----------------------------------------------------------- */

static enum tfd_code check_image(const struct tfd_kctx *k, int in,
                                 const char *name, struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[in];
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank != IMAGE_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s should be a tensor of rank 4, got a tensor of "
                        "shape %s",
                        name, tfd_shape_text(&t->shape, text));
    if (tfd_tensor_elements(t) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s must not be empty, got Tensor<type: %s shape: %s "
                        "values: >",
                        name, tfd_dtype_name((int)t->dtype),
                        tfd_shape_text(&t->shape, text));
    return TFD_OK;
}

static enum tfd_code fractional_max_grad(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    const struct fractional_state *s = k->state;
    const struct tfd_tensor *x = &k->in[0], *y = &k->in[1], *dy = &k->in[2];
    struct tfd_fractional f = {.overlapping = s->overlapping,
                               .x = tfd_tensor_data(x),
                               .y = tfd_tensor_data(y),
                               .dy = tfd_tensor_data(dy)};
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    TFD_TRY(check_image(k, 0, "orig_input", st));
    TFD_TRY(check_image(k, 1, "orig_output", st));
    if (!tfd_shape_equal(&y->shape, &dy->shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "out_backprop of shape %s must have the shape of "
                        "orig_output, %s",
                        tfd_shape_text(&dy->shape, one),
                        tfd_shape_text(&y->shape, other));
    TFD_TRY(check_same_images(&x->shape, &y->shape, st));
    set_image(&f, &x->shape, &y->shape);
    TFD_TRY(check_sequences(k, 3, &f, st));
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &x->shape, st));
    return run_fractional(k, TFD_FRACTIONAL_MAX_GRAD, &f, st);
}

/* The shape of x, which input 0 has as numbers. */
static enum tfd_code image_sizes(const struct tfd_kctx *k, struct tfd_shape *x,
                                 struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[0];

    if (t->shape.rank != 1 || t->shape.dim[0] != IMAGE_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "original input tensor shape must be1-dimensional and "
                        "4 elements");
    for (int i = 0; i < IMAGE_DIMS; i++)
        if (tfd_check_int_at(t, i) < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected a non-negative size, got %lld",
                            (long long)tfd_check_int_at(t, i));
    return tfd_check_shape(k, 0, false, x, st);
}

static enum tfd_code check_positive(const struct tfd_shape *dy,
                                    struct tfd_status *st)
{
    if (dy->rank != IMAGE_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "out_backprop must be 4-dimensional");
    for (int i = 0; i < IMAGE_DIMS; i++)
        if (dy->dim[i] == 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "out_backprop must be positive for all dimension, "
                            "got:0");
    return TFD_OK;
}

static enum tfd_code fractional_mean_grad(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    const struct fractional_state *s = k->state;
    const struct tfd_tensor *dy = &k->in[1];
    struct tfd_fractional f = {.overlapping = s->overlapping,
                               .dy = tfd_tensor_data(dy)};
    struct tfd_shape x;

    if (k->in[0].shape.rank == 1 && k->in[0].shape.dim[0] == IMAGE_DIMS)
        TFD_TRY(check_positive(&dy->shape, st));
    TFD_TRY(image_sizes(k, &x, st));
    if (x.dim[1] == 0 || x.dim[2] == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s dimension of input must not be 0",
                        x.dim[1] == 0 ? "Rows" : "Columns");
    TFD_TRY(check_same_images(&x, &dy->shape, st));
    set_image(&f, &x, &dy->shape);
    TFD_TRY(check_sequences(k, 2, &f, st));
    TFD_TRY(tfd_kctx_output(k, 0, dy->dtype, &x, st));
    return run_fractional(k, TFD_FRACTIONAL_MEAN_GRAD, &f, st);
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code fractional_shape(struct tfd_shape_ctx *s,
                                      struct tfd_status *st)
{
    struct tfd_shape y = {
        4,
        {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};
    float ratio[IMAGE_DIMS];

    if (!s->node)
        return TFD_OK;
    TFD_TRY(read_ratios(s->node, ratio, st));
    TFD_TRY(tfd_shape_merge(&y, &s->in[0], st));
    for (int i = 0; i < IMAGE_DIMS; i++)
        if (y.dim[i] > INT32_MAX)
            y.dim[i] = TFD_DIM_UNKNOWN;
        else if (y.dim[i] != TFD_DIM_UNKNOWN)
            y.dim[i] = windows_along(i, y.dim[i], ratio[i]);
    s->out[0] = y;
    for (int i = 1; i < s->out_count; i++)
        s->out[i] = (struct tfd_shape){.rank = 1, .dim = {TFD_DIM_UNKNOWN}};
    return TFD_OK;
}

static enum tfd_code fractional_mean_grad_shape(struct tfd_shape_ctx *s,
                                                struct tfd_status *st)
{
    if (!s->value || !s->value[0])
        return TFD_OK;
    return tfd_check_shape_value(s->value[0], true, &s->out[0], st);
}

/* ---- Derivatives --------------------------------------------------------- */

static const char *const attributes[] = {"overlapping", NULL};

static enum tfd_code fractional_max_gradient(struct tfd_grad *g,
                                             struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->x[0], g->y[0], g->dy[0], g->y[1], g->y[2]};

    tfd_gradient_copying(&b, "FractionalMaxPoolGrad", in, 5, attributes,
                         &g->dx[0], 1);
    return b.code;
}

static enum tfd_code fractional_mean_gradient(struct tfd_grad *g,
                                              struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge shape =
        tfd_gradient_cast(&b, tfd_gradient_shape(&b, g->x[0]), TFD_INT64);
    const struct tfd_edge in[] = {shape, g->dy[0], g->y[1], g->y[2]};

    tfd_gradient_copying(&b, "FractionalAvgPoolGrad", in, 4, attributes,
                         &g->dx[0], 1);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define TYPES "T: {float, double, int32, int64}"
#define RATIO                                                                 \
    "pooling_ratio: list(float) >= 4; pseudo_random: bool = false; "          \
    "overlapping: bool = false; deterministic: bool = false; seed: int = 0; " \
    "seed2: int = 0; " TYPES
#define SEQUENCES "row_pooling_sequence: int64, col_pooling_sequence: int64"

static const struct tfd_opdef ops[] = {
    {
        .name = "FractionalMaxPool",
        .inputs = "value: T",
        .outputs = "output: T, " SEQUENCES,
        .attrs = RATIO,
        .shape = fractional_shape,
        .grad = fractional_max_gradient,
    },
    {
        .name = "FractionalMaxPoolGrad",
        .inputs = "orig_input: T, orig_output: T, out_backprop: T, " SEQUENCES,
        .outputs = "output: T",
        .attrs = "overlapping: bool = false; " TYPES,
        .shape = tfd_shape_like_first,
    },
    {
        .name = "FractionalAvgPool",
        .inputs = "value: T",
        .outputs = "output: T, " SEQUENCES,
        .attrs = RATIO,
        .shape = fractional_shape,
        .grad = fractional_mean_gradient,
    },
    {
        .name = "FractionalAvgPoolGrad",
        .inputs = "orig_input_tensor_shape: int64, out_backprop: T, " SEQUENCES,
        .outputs = "output: T",
        .attrs = "overlapping: bool = false; " TYPES,
        .shape = fractional_mean_grad_shape,
    },
};

#define POOL(op, name)                                                      \
    TFD_KERNEL(op, name, fractional_compute, .prepare = prepare_fractional, \
               .state_size = sizeof(struct fractional_state),               \
               .flags = TFD_KERNEL_SHARED),
#define BACK(op, name, compute)                                \
    TFD_KERNEL(op, name, compute, .prepare = prepare_gradient, \
               .state_size = sizeof(struct fractional_state)),
#define ROWS(name)                                           \
    POOL("FractionalMaxPool", name)                          \
    POOL("FractionalAvgPool", name)                          \
    BACK("FractionalMaxPoolGrad", name, fractional_max_grad) \
    BACK("FractionalAvgPoolGrad", name, fractional_mean_grad)

static const struct tfd_kernel kernels[] = {ROWS(FLOAT) ROWS(DOUBLE) ROWS(INT32)
                                                ROWS(INT64)};

const struct tfd_family tfd_family_fractional_pool = {
    .name = "fractional_pool",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
