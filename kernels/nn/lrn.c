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
#include "kernels/nn/lrn.h"

#include "common/base/alloc.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/conv/image.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/vector_math.h"

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
    float *out;
    float *scratch; /* `stride` for each row and its sums; NULL: on the stack */
    int64_t channels;
    int64_t reach;  /* the radius, at most the channels */
    int64_t stride; /* of a row with zeros on both sides, as many as reach */
};

/* Rows are taken in batches of as many as fit into a scratch on the stack:
 * loops are long, and what one wrote has arrived when the next one reads it in
 * other pieces.  Longer rows have a scratch of new memory, one each. */
#define SCRATCH_MAX 1024

/* A batch: rows [first, first + count), with the zeros around each, and a sum
 * for each number of them. */
struct batch {
    int64_t first, count;
    float *padded, *sums;
};

TFD_VECTOR struct batch batch_at(const struct rows *r, float *stack,
                                 int64_t first, int64_t end)
{
    int64_t most = r->scratch ? 1 : SCRATCH_MAX / r->stride;
    struct batch b = {first, end - first < most ? end - first : most, stack,
                      stack + SCRATCH_MAX};

    if (r->scratch) {
        b.padded = r->scratch + 2 * first * r->stride;
        b.sums = b.padded + r->stride;
    }
    for (int64_t i = 0; i < b.count; i++)
        for (int64_t c = 0; c < r->reach; c++) {
            b.padded[i * r->stride + c] = 0;
            b.padded[(i + 1) * r->stride - 1 - c] = 0;
        }
    return b;
}

/* sums[i * stride + c] = v[c - reach] + ... + v[c + reach] of row i, in that
 * order, all elements side by side; what comes to lie between two rows means
 * nothing. */
TFD_VECTOR void sums_of_batch(const struct rows *r, const struct batch *b)
{
    const int64_t n = b->count * r->stride - 2 * r->reach;
    const int64_t terms = 2 * r->reach + 1;
    const float *v = b->padded;
    float *sums = b->sums;
    int64_t j = 0;

    for (int64_t c = 0; c < n; c++)
        sums[c] = 0;
    for (; j + 4 <= terms; j += 4, v += 4)
        for (int64_t c = 0; c < n; c++)
            sums[c] = sums[c] + v[c] + v[c + 1] + v[c + 2] + v[c + 3];
    for (; j < terms; j++, v++)
        for (int64_t c = 0; c < n; c++)
            sums[c] += v[c];
}

TFD_VECTOR void squares_of_batch(const struct rows *r, const struct batch *b)
{
    const float *x = r->x + b->first * r->channels;

    for (int64_t i = 0; i < b->count; i++, x += r->channels) {
        float *squares = b->padded + i * r->stride + r->reach;

        for (int64_t c = 0; c < r->channels; c++)
            squares[c] = x[c] * x[c];
    }
}

/* norms[i] becomes norms[i]^-beta, computed as TensorFlow does. */
TFD_VECTOR void scales_of(float *norms, int64_t n, float beta)
{
    if (beta == 0.5f)
        for (int64_t i = 0; i < n; i++)
            norms[i] = 1 / sqrtf(norms[i]);
    else
        for (int64_t i = 0; i < n; i++)
            norms[i] = tfd_vector_exp(-beta * tfd_vector_log(norms[i]));
}

/* The sums of a batch become norms. */
TFD_VECTOR void norms_of_batch(const struct rows *r, const struct batch *b)
{
    const int64_t n = b->count * r->stride - 2 * r->reach;
    const float bias = r->s->bias, alpha = r->s->alpha;

    for (int64_t i = 0; i < n; i++)
        b->sums[i] = bias + alpha * b->sums[i];
}

TFD_SIMD_LOOP(lrn_rows)
{
    const struct rows *r = arg;
    float stack[2 * SCRATCH_MAX];

    for (int64_t i = begin; i < end;) {
        const struct batch b = batch_at(r, stack, i, end);

        squares_of_batch(r, &b);
        sums_of_batch(r, &b);
        norms_of_batch(r, &b);
        scales_of(b.sums, b.count * r->stride - 2 * r->reach, r->s->beta);
        for (const float *scale = b.sums; i < b.first + b.count; i++) {
            const float *x = r->x + i * r->channels;
            float *out = r->out + i * r->channels;

            for (int64_t c = 0; c < r->channels; c++)
                out[c] = x[c] * scale[c];
            scale += r->stride;
        }
    }
}
TFD_SIMD_CLONES_WIDE(lrn_rows)

/* What is added up for dx: dy * y / norm. */
TFD_VECTOR void terms_of_batch(const struct rows *r, const struct batch *b)
{
    for (int64_t i = 0; i < b->count; i++) {
        const int64_t at = (b->first + i) * r->channels;
        const float *dy = r->dy + at, *y = r->y + at;
        const float *norm = b->sums + i * r->stride;
        float *terms = b->padded + i * r->stride + r->reach;

        for (int64_t c = 0; c < r->channels; c++)
            terms[c] = dy[c] * y[c] / norm[c];
    }
}

/* The other half of dx: dy * norm^-beta. */
TFD_VECTOR void scaled_batch(const struct rows *r, const struct batch *b)
{
    scales_of(b->sums, b->count * r->stride - 2 * r->reach, r->s->beta);
    for (int64_t i = 0; i < b->count; i++) {
        const int64_t at = (b->first + i) * r->channels;
        const float *dy = r->dy + at, *scale = b->sums + i * r->stride;
        float *dx = r->out + at;

        for (int64_t c = 0; c < r->channels; c++)
            dx[c] = dy[c] * scale[c];
    }
}

TFD_SIMD_LOOP(grad_rows)
{
    const struct rows *r = arg;
    const float factor = 2 * r->s->alpha * r->s->beta;
    float stack[2 * SCRATCH_MAX];

    for (int64_t i = begin; i < end;) {
        const struct batch b = batch_at(r, stack, i, end);

        squares_of_batch(r, &b);
        sums_of_batch(r, &b);
        norms_of_batch(r, &b);
        terms_of_batch(r, &b);
        scaled_batch(r, &b);
        sums_of_batch(r, &b);
        for (const float *sums = b.sums; i < b.first + b.count; i++) {
            const float *x = r->x + i * r->channels;
            float *dx = r->out + i * r->channels;

            for (int64_t c = 0; c < r->channels; c++)
                dx[c] -= factor * x[c] * sums[c];
            sums += r->stride;
        }
    }
}
TFD_SIMD_CLONES_WIDE(grad_rows)

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
static enum tfd_code run_lrn(struct tfd_kctx *k, struct rows *r,
                             struct tfd_image *o, int n, tfd_range_fn *fn,
                             struct tfd_status *st)
{
    const int64_t elements = tfd_tensor_elements(&k->in[0]);
    const int64_t rows = elements / r->channels;
    struct tfd_buffer *b = NULL;
    int64_t cost;

    r->reach = r->s->radius < r->channels ? r->s->radius : r->channels;
    r->stride = r->channels + 2 * r->reach;
    cost = r->channels * (2 + r->reach / 4); /* of a row */
    if (r->stride > SCRATCH_MAX) {           /* six times the input at most */
        b = tfd_buffer_new((size_t)(2 * rows * r->stride) * sizeof(float));
        if (!b)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "OOM when allocating %lld floats for LRN",
                            (long long)(2 * rows * r->stride));
        r->scratch = b->data;
    }
    r->out = tfd_tensor_data(&o[n - 1].work);
    tfd_kctx_parallel(k, rows, cost < INT32_MAX ? (int)cost : INT32_MAX, fn, r);
    if (b)
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
        rc = run_lrn(k, &r, o, n, backward ? grad_rows : lrn_rows, st);
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
