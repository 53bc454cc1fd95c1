/*
 * multinomial.c - Multinomial and StatelessMultinomial: classes drawn by their
 * unnormalised logarithmic probabilities.
 *
 * A row's cumulative sum of exp(logit - largest) is searched for a uniform
 * number times the total.  Logits that are not finite count for nothing.  Two
 * numbers of 32 bits make a sample; row after row draws from one stream, as
 * TensorFlow does as long as it leaves a batch on one thread.  (Where it splits
 * one, the pieces' streams overlap and depend on its number of threads.)
 */
#include "kernels/multinomial.h"

#include "common/alloc.h"
#include "common/half.h"
#include "common/halt.h"
#include "kernels/check.h"
#include "kernels/families.h"
#include "kernels/random_stream.h"

#include <math.h>

struct rows {
    struct tfd_multinomial m;
    const struct tfd_tensor *logits;
    struct tfd_tensor *out;
    double *sums; /* a row of sums for each row of logits */
};

static double logit_at(const struct tfd_tensor *t, int64_t i)
{
    const void *data = tfd_tensor_data(t);

    switch (t->dtype) {
    case TFD_FLOAT:
        return (double)((const float *)data)[i];
    case TFD_DOUBLE:
        return ((const double *)data)[i];
    case TFD_HALF:
        return (double)tfd_half_to_float(((const tfd_half *)data)[i]);
    default:
        return (double)tfd_bfloat16_to_float(((const tfd_bfloat16 *)data)[i]);
    }
}

/* Returns the total. */
static double sum_up(const struct rows *r, int64_t row, double *sums)
{
    double largest = -INFINITY, total = 0;

    for (int64_t i = 0; i < r->m.classes; i++) {
        sums[i] = logit_at(r->logits, row * r->m.classes + i);
        if (isfinite(sums[i]) && sums[i] > largest)
            largest = sums[i];
    }
    for (int64_t i = 0; i < r->m.classes; i++) {
        if (isfinite(sums[i]))
            total += exp(sums[i] - largest);
        sums[i] = total;
    }
    return total;
}

/* Rows are independent: each starts where the samples before it end. */
static void draw_rows(void *arg, int64_t begin, int64_t end)
{
    const struct rows *r = arg;
    void *data = tfd_tensor_data(r->out);
    bool narrow = r->out->dtype == TFD_INT32;

    for (int64_t row = begin; row < end; row++) {
        double *sums = r->sums + row * r->m.classes;
        double total = sum_up(r, row, sums);
        struct tfd_philox g = r->m.generator;
        struct tfd_random_draw draw;
        uint64_t first = (uint64_t)row * (uint64_t)r->m.samples;

        tfd_philox_skip(&g, first / 2);
        draw = tfd_random_draw_of(g);
        if (first % 2)
            (void)tfd_random_draw64(&draw);
        for (int64_t i = 0; i < r->m.samples && !tfd_halted(); i++) {
            double value = tfd_random_draw_double(&draw) * total;
            int64_t found = tfd_multinomial_find(sums, r->m.classes, value);

            if (narrow)
                ((int32_t *)data)[row * r->m.samples + i] = (int32_t)found;
            else
                ((int64_t *)data)[row * r->m.samples + i] = found;
        }
    }
}

#define EXP_NS 10
#define SAMPLE_NS 15

static int row_cost(const struct rows *r)
{
    double ns =
        EXP_NS * (double)r->m.classes +
        SAMPLE_NS * (double)r->m.samples * log2((double)r->m.classes + 2);

    return ns < INT32_MAX ? (int)ns : INT32_MAX;
}

static enum tfd_code check_inputs(const struct tfd_kctx *k,
                                  struct tfd_multinomial *m,
                                  struct tfd_shape *out, struct tfd_status *st)
{
    const struct tfd_shape *logits = &k->in[0].shape;
    int64_t dims[2];

    TFD_TRY(tfd_check_int(k, 1, &m->samples, st));
    if (m->samples < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_samples should be non-negative, got %lld",
                        (long long)m->samples);
    m->classes = logits->dim[1];
    if (m->classes <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_classes should be positive, got %lld",
                        (long long)m->classes);
    if (m->classes > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_classes should be less than INT_MAX, got %lld",
                        (long long)m->classes);
    dims[0] = logits->dim[0];
    dims[1] = m->samples;
    return tfd_shape_make(out, dims, 2, st);
}

enum tfd_code tfd_multinomial_begin(struct tfd_kctx *k,
                                    struct tfd_multinomial *m,
                                    struct tfd_status *st)
{
    struct tfd_shape out;

    TFD_TRY(check_inputs(k, m, &out, st));
    if (k->in_count > 2)
        TFD_TRY(tfd_random_seeds(k, 2, &m->generator, st));
    TFD_TRY(
        tfd_kctx_output(k, 0, (enum tfd_dtype)k->node->out_types[0], &out, st));
    if (k->in_count <= 2 && tfd_shape_elements(&out) > 0)
        m->generator = tfd_philox_reserve_blocks(
            k->state, (uint64_t)out.dim[0] *
                          (((uint64_t)m->samples + 3) / 4 * 4) * 2 *
                          TFD_PHILOX_BLOCKS_PER_OUTPUT);
    return TFD_OK;
}

static enum tfd_code compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t elements = tfd_tensor_elements(&k->in[0]);
    struct rows r = {.logits = &k->in[0], .out = &k->out[0]};
    struct tfd_buffer *sums;

    TFD_TRY(tfd_multinomial_begin(k, &r.m, st));
    if (tfd_tensor_elements(&k->out[0]) == 0)
        return TFD_OK;
    if (elements > INT64_MAX / (int64_t)sizeof(double) ||
        !(sums = tfd_buffer_new((size_t)elements * sizeof(double))))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when summing up %lld logits", (long long)elements);
    r.sums = sums->data;
    tfd_kctx_parallel(k, k->in[0].shape.dim[0], row_cost(&r), draw_rows, &r);
    tfd_buffer_unref(sums);
    return TFD_OK;
}

static enum tfd_code samples_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    const struct tfd_tensor *samples = s->value ? s->value[1] : NULL;

    (void)st;
    s->out[0] = (struct tfd_shape){2, {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};
    if (s->in[0].rank == 2)
        s->out[0].dim[0] = s->in[0].dim[0];
    if (samples && tfd_tensor_elements(samples) == 1 &&
        tfd_check_int_at(samples, 0) >= 0)
        s->out[0].dim[1] = tfd_check_int_at(samples, 0);
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "Multinomial",
        .inputs = "logits: T, num_samples: int32",
        .outputs = "output: output_dtype",
        .attrs = "seed: int = 0; seed2: int = 0; T: realnumbertype; "
                 "output_dtype: {int32, int64} = DT_INT64",
        .checks = "logits: matrix 'logits should be a matrix, got shape %s'; "
                  "num_samples: scalar 'num_samples should be a scalar, got "
                  "shape %s'",
        .shape = samples_shape,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "StatelessMultinomial",
        .inputs = "logits: T, num_samples: int32, seed: Tseed",
        .outputs = "output: output_dtype",
        .attrs = "T: realnumbertype; Tseed: {int32, int64} = DT_INT64; "
                 "output_dtype: {int32, int64} = DT_INT64",
        .checks = "logits: matrix 'logits should be a matrix, got shape %s'; "
                  "num_samples: scalar 'num_samples should be a scalar, got "
                  "shape %s'",
        .shape = samples_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define KERNELS(name)                                          \
    TFD_KERNEL("Multinomial", name, compute,                   \
               .prepare = tfd_random_stream_prepare,           \
               .state_size = sizeof(struct tfd_philox_source), \
               .flags = TFD_KERNEL_SHARED),                    \
        TFD_KERNEL("StatelessMultinomial", name, compute)

static const struct tfd_kernel kernels[] = {
    KERNELS(HALF),
    KERNELS(BFLOAT16),
    KERNELS(FLOAT),
    KERNELS(DOUBLE),
};

const struct tfd_family tfd_family_multinomial = {
    .name = "multinomial",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
