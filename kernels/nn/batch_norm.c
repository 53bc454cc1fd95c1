/*
 * batch_norm.c - normalisation of channels over a batch, and its gradient:
 *
 *     FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3
 *     FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3
 *
 *     y  = (x - mean) * a + offset        a = scale / sqrt(variance + epsilon)
 *     dx = (dy - mean of dy - (x - mean) * mean of dy * (x - mean)
 *                                         / (variance + epsilon)) * a
 *     dscale = sum of dy * (x - mean) / sqrt(variance + epsilon)
 *     doffset = sum of dy
 *
 * While training, mean and variance are the batch's; the outputs that feed
 * moving averages have the unbiased variance, those kept for the gradient the
 * other.  Otherwise they are inputs, and dx is dy * a.
 *
 * x is half, bfloat16 or float; everything else is float, and so are the loops
 * (batch_norm_loops.h).
 */
#include "kernels/nn/batch_norm_grad.h"
#include "kernels/nn/batch_norm.h"

#include "common/base/str.h"
#include "kernels/nn/batch_norm_loops.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/conv/image.h"

#include <math.h>
#include <string.h>

enum tfd_code tfd_batch_norm_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    struct tfd_batch_norm *s = state;
    struct tfd_str text;

    TFD_TRY(tfd_node_float(p->node, "epsilon", &s->epsilon, st));
    TFD_TRY(tfd_node_bool(p->node, "is_training", &s->training, st));
    TFD_TRY(tfd_node_str(p->node, "data_format", &text, st));
    s->second = tfd_str_is(text, "NCHW") || tfd_str_is(text, "NCDHW");
    s->rank = tfd_str_is(text, "NDHWC") || tfd_str_is(text, "NCDHW") ? 5 : 4;
    s->factor = 1;
    if (tfd_node_attr(p->node, "exponential_avg_factor", &text))
        return tfd_node_float(p->node, "exponential_avg_factor", &s->factor,
                              st);
    return TFD_OK;
}

/* ---- Forward ------------------------------------------------------------- */

/* Outputs 1 to 4, each a number per channel. */
struct moments {
    float *mean, *variance, *kept_mean, *kept_variance;
};

/* The moving average of what was and is. */
static float moved(const struct tfd_kctx *k, int in, int64_t channel, double is)
{
    const struct tfd_batch_norm *s = k->state;
    const float *was = tfd_tensor_data(&k->in[in]);

    if (s->factor == 1.0f)
        return (float)is;
    return (1 - s->factor) * was[channel] + s->factor * (float)is;
}

static void batch_moments(struct tfd_kctx *k, struct tfd_batch_norm_rows *r,
                          const struct moments *m)
{
    const double n = (double)r->count;

    tfd_batch_norm_sum(k, r);
    for (int64_t c = 0; c < r->channels; c++) {
        const double mean = tfd_batch_norm_total(r, 0, c) / n;
        const double sum = tfd_batch_norm_squares(r, c, mean);

        m->kept_mean[c] = (float)mean;
        m->mean[c] = moved(k, 3, c, mean);
        m->kept_variance[c] = (float)(sum / n);
        m->variance[c] = moved(k, 4, c, sum / (n > 1 ? n - 1 : 1));
    }
    r->mean = m->kept_mean;
}

/* The moving averages stay as they are; nothing is kept. */
static void given_moments(const struct tfd_kctx *k, int64_t channels,
                          const struct moments *m)
{
    const size_t bytes = (size_t)channels * sizeof(float);

    if (!channels)
        return;
    memcpy(m->mean, tfd_tensor_data(&k->in[3]), bytes);
    memcpy(m->variance, tfd_tensor_data(&k->in[4]), bytes);
    memset(m->kept_mean, 0, bytes);
    memset(m->kept_variance, 0, bytes);
}

/* Of nothing there is no mean. */
static void no_moments(int64_t channels, const struct moments *m)
{
    for (int64_t c = 0; c < channels; c++) {
        m->mean[c] = m->variance[c] = NAN;
        m->kept_mean[c] = m->kept_variance[c] = 0;
    }
}

static enum tfd_code check_vector(const struct tfd_kctx *k, int arg,
                                  const char *what, struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[arg].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (s->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be 1-dimensional%s",
                        what, tfd_shape_text(s, text));
    return TFD_OK;
}

/* when: what makes the kernel look at it, where that is not always so. */
static enum tfd_code check_size(const struct tfd_kctx *k, int arg,
                                const char *when, const char *what,
                                int64_t channels, struct tfd_status *st)
{
    const int64_t size = k->in[arg].shape.dim[0];

    if (size != channels)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s%s must have the same number of elements as the "
                        "channels of x, got %lld and %lld",
                        when, what, (long long)size, (long long)channels);
    return TFD_OK;
}

static enum tfd_code check_image(const struct tfd_kctx *k, int arg,
                                 int64_t *channels, struct tfd_status *st)
{
    const struct tfd_batch_norm *s = k->state;
    const struct tfd_shape *x = &k->in[arg].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (x->rank != s->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must be 4 or 5-dimensional%s",
                        tfd_shape_text(x, text));
    *channels = x->dim[s->second ? 1 : s->rank - 1];
    return TFD_OK;
}

static enum tfd_code check_forward(const struct tfd_kctx *k, int64_t channels,
                                   struct tfd_status *st)
{
    const struct tfd_batch_norm *s = k->state;
    const char *when = s->training ? "When exponential_avg_factor != 1, "
                                   : "When is_training=false, ";

    TFD_TRY(check_vector(k, 1, "scale", st));
    TFD_TRY(check_vector(k, 2, "offset", st));
    TFD_TRY(check_vector(k, 3, "estimated_mean", st));
    TFD_TRY(check_vector(k, 4, "estimated_variance", st));
    TFD_TRY(check_size(k, 1, "", "scale", channels, st));
    TFD_TRY(check_size(k, 2, "", "offset", channels, st));
    if (s->training && s->factor == 1.0f)
        return TFD_OK; /* nobody looks at the others */
    TFD_TRY(check_size(k, 3, when, "mean", channels, st));
    return check_size(k, 4, when, "variance", channels, st);
}

enum tfd_code tfd_batch_norm_forward(struct tfd_kctx *k, int64_t *channels,
                                     struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    struct tfd_shape shape = {1, {0}};

    TFD_TRY(check_image(k, 0, channels, st));
    TFD_TRY(check_forward(k, *channels, st));
    shape.dim[0] = *channels;
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &k->in[0].shape, st));
    for (int i = 1; i <= 4; i++)
        TFD_TRY(tfd_kctx_output(k, i, TFD_FLOAT, &shape, st));
    return k->out_count == 6 ? tfd_kctx_output(k, 5, TFD_FLOAT, &scalar, st)
                             : TFD_OK;
}

static struct moments moments_of(const struct tfd_kctx *k)
{
    if (k->out_count == 6) /* cuDNN's; nothing here */
        *(float *)tfd_tensor_data(&k->out[5]) = 0;
    return (struct moments){
        .mean = tfd_tensor_data(&k->out[1]),
        .variance = tfd_tensor_data(&k->out[2]),
        .kept_mean = tfd_tensor_data(&k->out[3]),
        .kept_variance = tfd_tensor_data(&k->out[4]),
    };
}

static enum tfd_code forward_work(struct tfd_kctx *k,
                                  struct tfd_batch_norm_rows *r,
                                  const struct moments *m,
                                  struct tfd_status *st)
{
    const struct tfd_batch_norm *s = k->state;
    const float *scale = tfd_tensor_data(&k->in[1]), *variance;
    struct tfd_buffer *b;
    float *a = NULL;

    TFD_TRY(tfd_batch_norm_scratch(r, &b, &a, st));
    if (s->training)
        batch_moments(k, r, m);
    else
        given_moments(k, r->channels, m);
    variance = s->training ? m->kept_variance : m->variance;
    for (int64_t c = 0; c < r->channels; c++)
        a[c] = scale[c] / sqrtf(variance[c] + s->epsilon);
    r->mean = s->training ? m->kept_mean : m->mean;
    r->a = a;
    r->b = tfd_tensor_data(&k->in[2]);
    tfd_batch_norm_normalise(k, r);
    tfd_buffer_unref(b);
    return TFD_OK;
}

enum tfd_code tfd_batch_norm_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_batch_norm *s = k->state;
    struct tfd_image o[] = {tfd_image_operand(&k->in[0], s->second),
                            tfd_image_result(0, s->second)};
    struct tfd_batch_norm_rows r = {0};
    struct moments m;
    enum tfd_code rc;

    TFD_TRY(tfd_batch_norm_forward(k, &r.channels, st));
    m = moments_of(k);
    if (tfd_tensor_elements(&k->in[0]) == 0) {
        no_moments(r.channels, &m);
        return TFD_OK;
    }
    rc = tfd_image_begin(k, o, 2, st);
    if (rc == TFD_OK) {
        r.count = tfd_tensor_elements(&k->in[0]) / r.channels;
        r.x = tfd_tensor_data(&o[0].work);
        r.y = tfd_tensor_data(&o[1].work);
        rc = forward_work(k, &r, &m, st);
    }
    return tfd_image_end(k, o, 2, rc, st);
}

/* ---- Gradient ------------------------------------------------------------ */

static enum tfd_code check_gradient(const struct tfd_kctx *k, int64_t channels,
                                    struct tfd_status *st)
{
    char have[TFD_SHAPE_TEXT_MAX], want[TFD_SHAPE_TEXT_MAX];

    TFD_TRY(check_vector(k, 2, "scale", st));
    TFD_TRY(check_vector(k, 3, "saved mean", st));
    TFD_TRY(check_vector(k, 4, "saved variance", st));
    if (!tfd_shape_equal(&k->in[0].shape, &k->in[1].shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "x and y_backprop must have same shape, but x has "
                        "shape %s and y_backprop has shape %s",
                        tfd_shape_text(&k->in[1].shape, want),
                        tfd_shape_text(&k->in[0].shape, have));
    TFD_TRY(check_size(k, 2, "", "scale", channels, st));
    TFD_TRY(check_size(k, 3, "", "reserve_space_1", channels, st));
    return check_size(k, 4, "", "reserve_space_2", channels, st);
}

static enum tfd_code gradient_work(struct tfd_kctx *k,
                                   struct tfd_batch_norm_rows *r,
                                   struct tfd_status *st)
{
    const struct tfd_batch_norm *s = k->state;
    const float *scale = tfd_tensor_data(&k->in[2]);
    const float *variance = tfd_tensor_data(&k->in[4]);
    float *dscale = tfd_tensor_data(&k->out[1]);
    float *doffset = tfd_tensor_data(&k->out[2]);
    const double n = s->training ? (double)r->count : INFINITY;
    struct tfd_buffer *buffer;
    float *a = NULL;

    TFD_TRY(tfd_batch_norm_scratch(r, &buffer, &a, st));
    r->mean = tfd_tensor_data(&k->in[3]);
    r->a = a;
    r->b = a + r->channels;
    r->c = a + 2 * r->channels;
    tfd_batch_norm_sum_gradients(k, r);
    for (int64_t c = 0; c < r->channels; c++) {
        double sum = tfd_batch_norm_total(r, 0, c),
               product = tfd_batch_norm_total(r, 1, c);
        double wide = (double)variance[c] + (double)s->epsilon;

        dscale[c] = (float)(product / sqrt(wide));
        doffset[c] = (float)sum;
        a[c] = (float)((double)scale[c] / sqrt(wide));
        a[c + r->channels] = (float)(sum / n);
        a[c + 2 * r->channels] = (float)(product / n / wide);
    }
    tfd_batch_norm_derive(k, r);
    tfd_buffer_unref(buffer);
    return TFD_OK;
}

enum tfd_code tfd_batch_norm_gradient(struct tfd_kctx *k, int64_t *channels,
                                      struct tfd_status *st)
{
    const struct tfd_batch_norm *s = k->state;
    struct tfd_shape vector = {1, {0}}, empty = {1, {0}};

    if (s->second && !s->training)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The implementation of FusedBatchNormGrad with "
                        "is_training=False only support NHWC tensor format for "
                        "now.");
    TFD_TRY(check_image(k, 1, channels, st));
    TFD_TRY(check_gradient(k, *channels, st));
    vector.dim[0] = *channels;
    TFD_TRY(tfd_kctx_output(k, 0, k->in[1].dtype, &k->in[1].shape, st));
    TFD_TRY(tfd_kctx_output(k, 1, TFD_FLOAT, &vector, st));
    TFD_TRY(tfd_kctx_output(k, 2, TFD_FLOAT, &vector, st));
    /* Two that have had no use since cuDNN's first versions. */
    TFD_TRY(tfd_kctx_output(k, 3, TFD_FLOAT, &empty, st));
    return tfd_kctx_output(k, 4, TFD_FLOAT, &empty, st);
}

static enum tfd_code gradient_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_batch_norm *s = k->state;
    struct tfd_image o[] = {tfd_image_operand(&k->in[0], s->second),
                            tfd_image_operand(&k->in[1], s->second),
                            tfd_image_result(0, s->second)};
    struct tfd_batch_norm_rows r = {0};
    enum tfd_code rc;

    TFD_TRY(tfd_batch_norm_gradient(k, &r.channels, st));
    if (tfd_tensor_elements(&k->in[1]) == 0) {
        for (int i = 1; i <= 2; i++)
            if (k->out[i].buffer)
                memset(k->out[i].buffer->data, 0, tfd_tensor_size(&k->out[i]));
        return TFD_OK;
    }
    rc = tfd_image_begin(k, o, 3, st);
    if (rc == TFD_OK) {
        r.count = tfd_tensor_elements(&k->in[1]) / r.channels;
        r.dy = tfd_tensor_data(&o[0].work);
        r.x = tfd_tensor_data(&o[1].work);
        r.y = tfd_tensor_data(&o[2].work);
        rc = gradient_work(k, &r, st);
    }
    return tfd_image_end(k, o, 3, rc, st);
}

/* ---- Shapes -------------------------------------------------------------- */

/* Output 0 is like input x; the next `count` are vectors of channels. */
static enum tfd_code channel_shapes(struct tfd_shape_ctx *s, int x, int scale,
                                    int count, struct tfd_status *st)
{
    struct tfd_shape vector = {1, {TFD_DIM_UNKNOWN}};

    s->out[0] = s->in[x];
    TFD_TRY(tfd_shape_merge(&vector, &s->in[scale], st));
    for (int i = 1; i <= count; i++)
        s->out[i] = vector;
    return TFD_OK;
}

enum tfd_code tfd_batch_norm_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    return channel_shapes(s, 0, 1, 4, st);
}

static enum tfd_code gradient_shape(struct tfd_shape_ctx *s,
                                    struct tfd_status *st)
{
    return channel_shapes(s, 1, 2, 2, st);
}

/* ---- Gradients ----------------------------------------------------------- */

static enum tfd_code derive_with(struct tfd_grad *g, const char *op, int kept,
                                 struct tfd_status *st)
{
    static const char *const names[] = {"epsilon", "data_format", "is_training",
                                        NULL};
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge out[5],
        in[6] = {g->dy[0], g->x[0], g->x[1],
                 g->y[3],  g->y[4], g->y[kept == 3 ? 5 : 4]};
    bool training;

    TFD_TRY(tfd_node_bool(g->node, "is_training", &training, st));
    if (!training) {
        in[3] = g->x[3];
        in[4] = g->x[4];
    }
    tfd_gradient_copying(&b, op, in, 3 + kept, names, out, 5);
    for (int i = 0; i < 3; i++)
        g->dx[i] = out[i];
    return b.code;
}

static enum tfd_code first_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return derive_with(g, "FusedBatchNormGrad", 2, st);
}

static enum tfd_code second_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return derive_with(g, "FusedBatchNormGradV2", 2, st);
}

static enum tfd_code third_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return derive_with(g, "FusedBatchNormGradV3", 3, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define EPSILON "epsilon: float = 9.999999747378752e-05; "
#define FACTOR "exponential_avg_factor: float = 1.0; "
#define FORMAT "data_format: {'NHWC', 'NCHW'} = 'NHWC'; "
#define FORMATS "data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'; "
#define TRAINING "is_training: bool = true"
#define TYPES "T: {half, bfloat16, float}; U: "

#define OUT(U)                                                            \
    "y: T, batch_mean: " U ", batch_variance: " U ", reserve_space_1: " U \
    ", reserve_space_2: " U
#define GRAD_OUT(U, a, b)                                       \
    "x_backprop: T, scale_backprop: " U ", offset_backprop: " U \
    ", reserve_space_" a ": " U ", reserve_space_" b ": " U

#define FORWARD_OP(name_, U, out_, attrs_, grad_)                           \
    {                                                                       \
        .name = name_,                                                      \
        .inputs =                                                           \
            "x: T, scale: " U ", offset: " U ", mean: " U ", variance: " U, \
        .outputs = out_, .attrs = attrs_, .shape = tfd_batch_norm_shape,    \
        .grad = grad_,                                                      \
    }

static const struct tfd_opdef ops[] = {
    FORWARD_OP("FusedBatchNorm", "T", OUT("T"),
               "T: {float}; " EPSILON FACTOR FORMAT TRAINING, first_gradient),
    FORWARD_OP("FusedBatchNormV2", "U", OUT("U"),
               TYPES "{float}; " EPSILON FACTOR FORMAT TRAINING,
               second_gradient),
    FORWARD_OP("FusedBatchNormV3", "U", OUT("U") ", reserve_space_3: U",
               TYPES "{bfloat16, float}; " EPSILON FACTOR FORMATS TRAINING,
               third_gradient),
    {
        .name = "FusedBatchNormGrad",
        .inputs = "y_backprop: T, x: T, scale: T, reserve_space_1: T, "
                  "reserve_space_2: T",
        .outputs = GRAD_OUT("T", "3", "4"),
        .attrs = "T: {float}; " EPSILON FORMAT TRAINING,
        .shape = gradient_shape,
        .grad = tfd_batch_norm_second,
    },
    {
        .name = "FusedBatchNormGradV2",
        .inputs = "y_backprop: T, x: T, scale: float, reserve_space_1: U, "
                  "reserve_space_2: U",
        .outputs = GRAD_OUT("U", "3", "4"),
        .attrs = TYPES "{float}; " EPSILON FORMAT TRAINING,
        .shape = gradient_shape,
        .grad = tfd_batch_norm_second,
    },
    {
        .name = "FusedBatchNormGradV3",
        .inputs = "y_backprop: T, x: T, scale: float, reserve_space_1: U, "
                  "reserve_space_2: U, reserve_space_3: U",
        .outputs = GRAD_OUT("U", "4", "5"),
        .attrs = TYPES "{float}; " EPSILON FORMATS TRAINING,
        .shape = gradient_shape,
        .grad = tfd_batch_norm_second,
    },
};

#define ROW(op, name, compute)                                       \
    TFD_KERNEL(op, name, compute, .prepare = tfd_batch_norm_prepare, \
               .state_size = sizeof(struct tfd_batch_norm))
#define ROWS(version, name)                                      \
    ROW("FusedBatchNorm" version, name, tfd_batch_norm_compute), \
        ROW("FusedBatchNormGrad" version, name, gradient_compute)

static const struct tfd_kernel kernels[] = {
    ROWS("", FLOAT),      ROWS("V2", FLOAT), ROWS("V2", HALF),
    ROWS("V2", BFLOAT16), ROWS("V3", FLOAT), ROWS("V3", HALF),
    ROWS("V3", BFLOAT16),
};

const struct tfd_family tfd_family_batch_norm = {
    .name = "batch_norm",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
