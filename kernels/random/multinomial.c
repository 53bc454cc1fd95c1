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
#include "kernels/random/multinomial.h"

#include "common/base/alloc.h"
#include "common/base/half.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/random/philox_lanes.h"
#include "kernels/random/random_stream.h"
#include "kernels/vector/double_functions.h"
#include "kernels/vector/simd.h"

#include <math.h>
#include <string.h>

struct rows {
    struct tfd_multinomial m;
    const struct tfd_tensor *logits;
    struct tfd_tensor *out;
    double *sums; /* a row of sums for each row of logits */
};

/* Of halves. */
static double logit_at(const struct tfd_tensor *t, int64_t i)
{
    const void *data = tfd_tensor_data(t);

    return t->dtype == TFD_HALF
               ? (double)tfd_half_to_float(((const tfd_half *)data)[i])
               : (double)tfd_bfloat16_to_float(((const tfd_bfloat16 *)data)[i]);
}

struct exponentials {
    double *x; /* finite, up to the largest; or counts for nothing */
    double largest;
};

#define LANES 8

/* Of logits: what of them is not finite is not the largest. */
TFD_SIMD_LOOP(find_largest)
{
    struct exponentials *e = arg;
    double lane[LANES], largest = -INFINITY;
    int64_t i = begin;

    for (int l = 0; l < LANES; l++)
        lane[l] = -INFINITY;
    for (; i + LANES <= end; i += LANES)
        for (int l = 0; l < LANES; l++) {
            const double x = e->x[i + l];
            const double y = x < (double)INFINITY ? x : -(double)INFINITY;

            lane[l] = y > lane[l] ? y : lane[l];
        }
    for (; i < end; i++)
        if (e->x[i] < (double)INFINITY && e->x[i] > largest)
            largest = e->x[i];
    for (int l = 0; l < LANES; l++)
        largest = lane[l] > largest ? lane[l] : largest;
    e->largest = largest;
}
TFD_SIMD_CLONES_WIDE(find_largest)

/* Of logits that were floats or less; see vector_double.h. */
TFD_SIMD_LOOP(exponentials)
{
    const struct exponentials *e = arg;

    for (int64_t i = begin; i < end; i++) {
        const double below = e->x[i] - e->largest;
        const double y = tfd_quick_exp(below > -690 ? below : -690);

        e->x[i] = fabs(e->x[i]) < (double)INFINITY ? y : 0;
    }
}
TFD_SIMD_CLONES_WIDE(exponentials)

/* Of doubles; see double_functions.h. */
TFD_SIMD_LOOP(exponentials_exact)
{
    const struct exponentials *e = arg;

    for (int64_t i = begin; i < end; i++) {
        const double y = tfd_double_exp(e->x[i] - e->largest);

        e->x[i] = fabs(e->x[i]) < (double)INFINITY ? y : 0;
    }
}
TFD_SIMD_CLONES_WIDE(exponentials_exact)

/* The logits of a row. */
static void read_logits(const struct rows *r, int64_t row, double *out)
{
    const int64_t n = r->m.classes, first = row * n;
    const float *x = tfd_tensor_data(r->logits);

    if (r->logits->dtype == TFD_FLOAT)
        for (int64_t i = 0; i < n; i++)
            out[i] = (double)x[first + i];
    else if (r->logits->dtype == TFD_DOUBLE)
        memcpy(out, (const double *)tfd_tensor_data(r->logits) + first,
               (size_t)n * sizeof(*out));
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = logit_at(r->logits, first + i);
}

/* Returns the total. */
static double sum_up(const struct rows *r, int64_t row, double *sums)
{
    struct exponentials e = {sums, 0};
    double total = 0;

    read_logits(r, row, sums);
    find_largest(&e, 0, r->m.classes);
    if (r->logits->dtype == TFD_DOUBLE)
        exponentials_exact(&e, 0, r->m.classes);
    else
        exponentials(&e, 0, r->m.classes);
    for (int64_t i = 0; i < r->m.classes; i++)
        sums[i] = total += sums[i];
    return total;
}

/* A block of the stream makes two samples. */
#define BLOCK_SAMPLES 2
#define LANES_SAMPLES (BLOCK_SAMPLES * TFD_PHILOX_LANES)

/* Fewer blocks than this are drawn one by one. */
#define LANES_WORTH 8

static void draw_few(const struct tfd_philox *g, uint64_t block, int blocks,
                     struct tfd_philox_lanes *l)
{
    struct tfd_philox at = *g;

    tfd_philox_skip(&at, block);
    for (int i = 0; i < blocks; i++) {
        uint32_t x[4];

        tfd_philox_next(&at, x);
        l->pair[0][i] = x[0] | (uint64_t)x[1] << 32;
        l->pair[1][i] = x[2] | (uint64_t)x[3] << 32;
    }
}

static void draw_many(const struct tfd_philox *g, uint64_t block,
                      struct tfd_philox_lanes *l)
{
    uint64_t skip[TFD_PHILOX_LANES];

    for (int i = 0; i < TFD_PHILOX_LANES; i++)
        skip[i] = block + (uint64_t)i;
    tfd_philox_lanes(l, g, skip);
}

/* Uniform numbers of `count` samples and maybe one more, from number `first`
 * on, which is even. */
static void draw_uniforms(const struct tfd_philox *g, uint64_t first, int count,
                          double out[LANES_SAMPLES])
{
    const int blocks = (count + BLOCK_SAMPLES - 1) / BLOCK_SAMPLES;
    struct tfd_philox_lanes l;

    if (blocks < LANES_WORTH)
        draw_few(g, first / BLOCK_SAMPLES, blocks, &l);
    else
        draw_many(g, first / BLOCK_SAMPLES, &l);
    for (int i = 0; i < blocks * BLOCK_SAMPLES; i++) {
        uint64_t pair = l.pair[i % BLOCK_SAMPLES][i / BLOCK_SAMPLES];

        out[i] = tfd_random_double_of((uint32_t)pair, (uint32_t)(pair >> 32));
    }
}

/* Element `at` of the output. */
static void store_class(const struct rows *r, uint64_t at, int64_t found)
{
    void *data = tfd_tensor_data(r->out);

    if (r->out->dtype == TFD_INT32)
        ((int32_t *)data)[at] = (int32_t)found;
    else
        ((int64_t *)data)[at] = found;
}

/* Samples first to end of all rows, which are of one row. */
static void draw_samples(const struct rows *r, uint64_t first, uint64_t end,
                         const double *sums, double total)
{
    double uniform[LANES_SAMPLES];

    while (first < end && !tfd_halted()) {
        uint64_t from = first / BLOCK_SAMPLES * BLOCK_SAMPLES;
        uint64_t until =
            end - from < LANES_SAMPLES ? end : from + LANES_SAMPLES;

        draw_uniforms(&r->m.generator, from, (int)(until - from), uniform);
        for (; first < until; first++)
            store_class(r, first,
                        tfd_multinomial_find(sums, r->m.classes,
                                             uniform[first - from] * total));
    }
}

/* Rows are independent: each starts where the samples before it end. */
static void draw_rows(void *arg, int64_t begin, int64_t end)
{
    const struct rows *r = arg;

    for (int64_t row = begin; row < end; row++) {
        double *sums = r->sums + row * r->m.classes;
        double total = sum_up(r, row, sums);
        uint64_t first = (uint64_t)row * (uint64_t)r->m.samples;

        draw_samples(r, first, first + (uint64_t)r->m.samples, sums, total);
    }
}

#define EXP_NS 10
#define SAMPLE_NS 3

static int row_cost(const struct rows *r)
{
    double ns =
        EXP_NS * (double)r->m.classes +
        SAMPLE_NS * (double)r->m.samples * log2((double)r->m.classes + 2);

    return ns < INT32_MAX ? (int)ns : INT32_MAX;
}

static enum tfd_code check_multinomial(const struct tfd_kctx *k,
                                       struct tfd_multinomial *m,
                                       struct tfd_shape *out,
                                       struct tfd_status *st)
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

    TFD_TRY(check_multinomial(k, m, &out, st));
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

static enum tfd_code compute_multinomial(struct tfd_kctx *k,
                                         struct tfd_status *st)
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
    TFD_KERNEL("Multinomial", name, compute_multinomial,       \
               .prepare = tfd_random_stream_prepare,           \
               .state_size = sizeof(struct tfd_philox_source), \
               .flags = TFD_KERNEL_SHARED),                    \
        TFD_KERNEL("StatelessMultinomial", name, compute_multinomial)

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
