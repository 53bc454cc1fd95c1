/*
 * lrn.c - LRN: an element divided by the squares around it, along channels.
 *
 *     norm[c] = bias + alpha * sum of x[j]^2, |j - c| <= depth_radius
 *     y[c]    = x[c] * norm[c]^-beta
 *     dx[c]   = dy[c] * norm[c]^-beta
 *               - 2 alpha beta x[c] * sum of dy[j] * y[j] / norm[j]
 *
 * half is computed in float.
 */
#include "kernels/lrn.h"

#include "common/alloc.h"
#include "kernels/check.h"
#include "kernels/families.h"
#include "kernels/gradient.h"
#include "kernels/image.h"

#include <math.h>

enum tfd_code tfd_lrn_prepare(const struct tfd_prepare *p, void *state,
                              struct tfd_status *st)
{
    struct tfd_lrn *s = state;

    TFD_TRY(tfd_node_int(p->node, "depth_radius", &s->radius, st));
    if (s->radius < 0 || s->radius > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "depth_radius = %lld must be between 0 and %d",
                        (long long)s->radius, INT32_MAX);
    TFD_TRY(tfd_node_float(p->node, "bias", &s->bias, st));
    TFD_TRY(tfd_node_float(p->node, "alpha", &s->alpha, st));
    return tfd_node_float(p->node, "beta", &s->beta, st);
}

struct rows {
    const struct tfd_lrn *s;
    const float *x, *y, *dy;
    float *out, *scratch; /* scratch: a row for each row */
    int64_t channels;
};

/* Sum of v[j], |j - c| <= radius. */
static float around(const struct rows *r, const float *v, int64_t c)
{
    int64_t first = c > r->s->radius ? c - r->s->radius : 0;
    int64_t last = c + r->s->radius + 1;
    float sum = 0;

    last = last < r->channels ? last : r->channels;
    for (; first < last; first++)
        sum += v[first];
    return sum;
}

static float norm_of(const struct rows *r, const float *squares, int64_t c)
{
    return r->s->bias + r->s->alpha * around(r, squares, c);
}

static void lrn_rows(void *arg, int64_t begin, int64_t end)
{
    const struct rows *r = arg;

    for (int64_t i = begin * r->channels; begin < end;
         begin++, i += r->channels) {
        float *squares = r->scratch + i;

        for (int64_t c = 0; c < r->channels; c++)
            squares[c] = r->x[i + c] * r->x[i + c];
        for (int64_t c = 0; c < r->channels; c++)
            r->out[i + c] =
                r->x[i + c] * powf(norm_of(r, squares, c), -r->s->beta);
    }
}

static void grad_rows(void *arg, int64_t begin, int64_t end)
{
    const struct rows *r = arg;
    const float factor = 2 * r->s->alpha * r->s->beta;

    for (int64_t i = begin * r->channels; begin < end;
         begin++, i += r->channels) {
        float *work = r->scratch + i, *dx = r->out + i;
        const float *x = r->x + i, *dy = r->dy + i;

        /* dx has the norms until the last loop; work the squares, then the
         * terms of the sum. */
        for (int64_t c = 0; c < r->channels; c++)
            work[c] = x[c] * x[c];
        for (int64_t c = 0; c < r->channels; c++)
            dx[c] = norm_of(r, work, c);
        for (int64_t c = 0; c < r->channels; c++)
            work[c] = dy[c] * r->y[i + c] / dx[c];
        for (int64_t c = 0; c < r->channels; c++)
            dx[c] = dy[c] * powf(dx[c], -r->s->beta) -
                    factor * x[c] * around(r, work, c);
    }
}

enum tfd_code tfd_lrn_check(const struct tfd_kctx *k, struct tfd_status *st)
{
    for (int i = 0; i < k->in_count; i++) {
        if (k->in[i].shape.rank != 4)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be 4-dimensional",
                            k->in_count == 1 ? "in" : "inputs");
        if (!tfd_shape_equal(&k->in[i].shape, &k->in[0].shape))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "input_grads, input_image, and out_image should "
                            "have the same shape");
    }
    return TFD_OK;
}

/* o: the inputs, then the output. */
static enum tfd_code work(struct tfd_kctx *k, struct rows *r,
                          struct tfd_image *o, int n, tfd_range_fn *fn,
                          struct tfd_status *st)
{
    int64_t elements = tfd_tensor_elements(&k->in[0]);
    int64_t radius = r->s->radius < r->channels ? r->s->radius : r->channels;
    int64_t cost = r->channels * (30 + 2 * radius);
    struct tfd_buffer *b = tfd_buffer_new((size_t)elements * sizeof(float));

    if (!b)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating %lld floats for LRN",
                        (long long)elements);
    r->scratch = b->data;
    r->out = tfd_tensor_data(&o[n - 1].work);
    tfd_kctx_parallel(k, elements / r->channels,
                      cost < INT32_MAX ? (int)cost : INT32_MAX, fn, r);
    tfd_buffer_unref(b);
    return TFD_OK;
}

static enum tfd_code lrn_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const bool backward = k->in_count == 3;
    const int n = k->in_count + 1;
    struct rows r = {.s = k->state};
    struct tfd_image o[4];
    enum tfd_code rc;

    TFD_TRY(tfd_lrn_check(k, st));
    r.channels = k->in[0].shape.dim[3];
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &k->in[0].shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    for (int i = 0; i < k->in_count; i++)
        o[i] = tfd_image_operand(&k->in[i], false);
    o[n - 1] = tfd_image_result(0, false);
    rc = tfd_image_begin(k, o, n, st);
    if (rc == TFD_OK) {
        r.x = tfd_tensor_data(&o[backward ? 1 : 0].work);
        r.dy = backward ? tfd_tensor_data(&o[0].work) : NULL;
        r.y = backward ? tfd_tensor_data(&o[2].work) : NULL;
        rc = work(k, &r, o, n, backward ? grad_rows : lrn_rows, st);
    }
    return tfd_image_end(k, o, n, rc, st);
}

static enum tfd_code lrn_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    static const char *const names[] = {"depth_radius", "bias", "alpha", "beta",
                                        NULL};
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->dy[0], g->x[0], g->y[0]};

    tfd_gradient_copying(&b, "LRNGrad", in, 3, names, &g->dx[0], 1);
    return b.code;
}

#define ATTRS                                                        \
    "depth_radius: int = 5; bias: float = 1.0; alpha: float = 1.0; " \
    "beta: float = 0.5; T: {half, bfloat16, float} = DT_FLOAT"

static const struct tfd_opdef ops[] = {
    {
        .name = "LRN",
        .inputs = "input: T",
        .outputs = "output: T",
        .attrs = ATTRS,
        .shape = tfd_shape_same,
        .grad = lrn_gradient,
    },
    {
        .name = "LRNGrad",
        .inputs = "input_grads: T, input_image: T, output_image: T",
        .outputs = "output: T",
        .attrs = ATTRS,
        .shape = tfd_shape_same,
    },
};

#define ROW(op, name)                                             \
    TFD_KERNEL(op, name, lrn_compute, .prepare = tfd_lrn_prepare, \
               .state_size = sizeof(struct tfd_lrn))

static const struct tfd_kernel kernels[] = {
    ROW("LRN", FLOAT),
    ROW("LRN", HALF),
    ROW("LRNGrad", FLOAT),
    ROW("LRNGrad", HALF),
};

const struct tfd_family tfd_family_lrn = {
    .name = "lrn",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
