/*
 * random_gamma.c - samples of distributions that have a parameter:
 *
 *     RandomGamma StatelessRandomGammaV2 StatelessRandomGammaV3
 *     RandomPoissonV2 RandomPoisson StatelessRandomPoisson
 *
 * Each element of the parameter gives `samples` of the output; sample s of
 * element p lies at s * (number of elements) + p and draws from block
 * 256 * (p * samples + s) of the stream on.  All are computed in double.
 *
 *   gamma    G. Marsaglia, W. Tsang, "A simple method for generating gamma
 *            variables", 2000; exponential where alpha is 1
 *   poisson  below a rate of 10 D. Knuth's product of uniforms, else
 *            W. Hoermann, "The transformed rejection method for generating
 *            Poisson random variables", 1993
 *
 * Uniforms and normals come in pairs, a block each, the second one first.
 */
#define _GNU_SOURCE /* lgamma_r */
#include "common/base/atomic.h"
#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/random/philox_lanes.h"
#include "kernels/random/random_fill.h"
#include "kernels/random/random_gamma_grad.h"
#include "kernels/random/random_number.h"
#include "kernels/random/random_stream.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- Pairs ---------------------------------------------------------------
 */

/* Most samples need no more blocks than these, which are drawn for several
 * samples at once. */
#define AHEAD 2

struct pairs {
    struct tfd_philox generator; /* before the first block */
    const struct tfd_philox_lanes *ahead;
    int lane; /* of the first block */
    int used; /* blocks */
    double uniform[2], normal[2];
    int uniforms, normals; /* not used yet */
};

static void next_block(struct pairs *s, uint32_t x[4])
{
    if (s->used < AHEAD) {
        uint64_t low = s->ahead->pair[0][s->lane + s->used];
        uint64_t high = s->ahead->pair[1][s->lane + s->used];

        x[0] = (uint32_t)low;
        x[1] = (uint32_t)(low >> 32);
        x[2] = (uint32_t)high;
        x[3] = (uint32_t)(high >> 32);
    } else {
        if (s->used == AHEAD)
            tfd_philox_skip(&s->generator, AHEAD);
        tfd_philox_next(&s->generator, x);
    }
    s->used++;
}

static inline double next_uniform(struct pairs *s)
{
    if (s->uniforms == 0) {
        uint32_t x[4];

        next_block(s, x);
        s->uniform[0] = tfd_random_double_of(x[0], x[1]);
        s->uniform[1] = tfd_random_double_of(x[2], x[3]);
        s->uniforms = 2;
    }
    return s->uniform[--s->uniforms];
}

static double next_normal(struct pairs *s)
{
    if (s->normals == 0) {
        uint32_t x[4];

        next_block(s, x);
        tfd_random_normals(x, s->normal);
        s->normals = 2;
    }
    return s->normal[--s->normals];
}

/* ---- Distributions ------------------------------------------------------- */

/* Proposals made for one sample.  Every one of them is taken with a probability
 * over a half, unless the parameter is no number or every sample is beyond
 * `highest`, the largest number of the output's type. */
#define TRIES_MAX 10000

/* False after so many. */
typedef bool draw_fn(struct pairs *s, double parameter, double highest,
                     double *out);

static bool draw_gamma(struct pairs *s, double alpha, double highest,
                       double *out)
{
    /* Below 1 alpha + 1 is sampled, and scaled by a power of a uniform. */
    const bool below_one = alpha < 1;
    const double d = alpha + (below_one ? 2.0 / 3 : -1.0 / 3);
    const double c = 1.0 / 3 / sqrt(d);

    (void)highest;
    if (alpha == 1) {
        *out = -log1p(-next_uniform(s));
        return true;
    }
    for (int i = 0; i < TRIES_MAX; i++) {
        const double x = next_normal(s), root = 1 + c * x;
        const double v = root * root * root;
        double u;

        if (root <= 0)
            continue;
        u = next_uniform(s);
        if (!(u < 1 - 0.0331 * (x * x) * (x * x)) &&
            !(log(u) < 0.5 * x * x + d * (1 - v + log(v))))
            continue;
        *out = d * v;
        if (below_one)
            *out *= pow(next_uniform(s), 1 / alpha);
        return true;
    }
    return false;
}

static bool draw_few(struct pairs *s, double rate, double *out)
{
    const double until = exp(-rate);
    double product = next_uniform(s);
    int count = 0;

    for (; product > until; count++)
        product *= next_uniform(s);
    *out = count;
    return true;
}

static bool draw_many(struct pairs *s, double rate, double highest, double *out)
{
    const double log_rate = log(rate);
    const double b = 0.931 + 2.53 * sqrt(rate);
    const double a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);

    for (int i = 0; i < TRIES_MAX; i++) {
        const double u = next_uniform(s) - 0.5, v = next_uniform(s);
        const double shifted = 0.5 - fabs(u);
        const double k = floor((2 * a / shifted + b) * u + rate + 0.43);
        int sign;

        if (k > highest)
            continue;
        *out = k;
        if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2))
            return true;
        if (k < 0 || (shifted < 0.013 && v > shifted))
            continue;
        if (log(v * inverse_alpha / (a / (shifted * shifted) + b)) <=
            -rate + k * log_rate - lgamma_r(k + 1, &sign))
            return true;
    }
    return false;
}

static bool draw_poisson(struct pairs *s, double rate, double highest,
                         double *out)
{
    if (rate < 10)
        return draw_few(s, rate, out);
    if (isinf(rate)) {
        *out = rate; /* 0 in types that have no infinity */
        return true;
    }
    return draw_many(s, rate, highest, out);
}

/* ---- Elements ------------------------------------------------------------ */

static double number_at(const struct tfd_tensor *t, int64_t i)
{
    const void *data = tfd_tensor_data(t);

    switch (t->dtype) {
    case TFD_HALF:
        return (double)tfd_half_to_float(((const tfd_half *)data)[i]);
    case TFD_FLOAT:
        return (double)((const float *)data)[i];
    case TFD_DOUBLE:
        return ((const double *)data)[i];
    case TFD_INT32:
        return ((const int32_t *)data)[i];
    default:
        return (double)((const int64_t *)data)[i];
    }
}

static double highest_of(enum tfd_dtype dtype)
{
    switch (dtype) {
    case TFD_HALF:
        return 65504;
    case TFD_FLOAT:
        return (double)FLT_MAX;
    case TFD_DOUBLE:
        return DBL_MAX;
    case TFD_INT32:
        return INT32_MAX;
    default:
        return 0x1p63;
    }
}

static void store_sample(struct tfd_tensor *t, int64_t i, double x)
{
    void *data = tfd_tensor_data(t);

    switch (t->dtype) {
    case TFD_HALF:
        ((tfd_half *)data)[i] = tfd_half_from_float((float)x);
        break;
    case TFD_FLOAT: /* TensorFlow's threads have no subnormal results */
        ((float *)data)[i] = fabs(x) < (double)FLT_MIN ? 0 : (float)x;
        break;
    case TFD_DOUBLE:
        ((double *)data)[i] = x;
        break;
    case TFD_INT32:
        ((int32_t *)data)[i] = isinf(x) ? 0 : (int32_t)x;
        break;
    default:
        /* 2^63 is not beyond `highest`, but has no int64. */
        x = isinf(x) ? 0 : x < 0x1p63 ? x : 0x1.fffffffffffffp62;
        ((int64_t *)data)[i] = (int64_t)x;
        break;
    }
}

/* ---- Running ------------------------------------------------------------- */

struct job {
    struct tfd_philox generator;
    draw_fn *draw;
    const struct tfd_tensor *parameter;
    struct tfd_tensor *out;
    int64_t count, samples; /* of parameters, for each of them */
    double highest;
    int failed;     /* atomic */
    double culprit; /* the parameter that failed */
};

/* Samples whose first blocks are drawn together. */
#define TOGETHER (TFD_PHILOX_LANES / AHEAD)

/* Samples `first` and so on. */
static void draw_ahead(const struct tfd_philox *g, int64_t first,
                       struct tfd_philox_lanes *l)
{
    uint64_t skip[TFD_PHILOX_LANES];

    for (int i = 0; i < TFD_PHILOX_LANES; i++)
        skip[i] = (uint64_t)(first + i / AHEAD) * TFD_PHILOX_BLOCKS_PER_OUTPUT +
                  (uint64_t)(i % AHEAD);
    tfd_philox_lanes(l, g, skip);
}

static void run_random_gamma(void *arg, int64_t begin, int64_t end)
{
    struct job *j = arg;
    struct tfd_philox_lanes l;

    for (int64_t i = begin; i < end; i++) {
        int together = (int)((i - begin) % TOGETHER);
        double parameter = number_at(j->parameter, i / j->samples), x;
        struct pairs s;

        if (TFD_LOAD_RELAXED(&j->failed))
            return;
        if (together == 0)
            draw_ahead(&j->generator, i, &l);
        s.generator = j->generator;
        tfd_philox_skip(&s.generator,
                        (uint64_t)i * TFD_PHILOX_BLOCKS_PER_OUTPUT);
        s.ahead = &l;
        s.lane = together * AHEAD;
        s.used = s.uniforms = s.normals = 0;
        if (!j->draw(&s, parameter, j->highest, &x)) {
            if (!TFD_EXCHANGE(&j->failed, 1))
                j->culprit = parameter;
            return;
        }
        store_sample(j->out, i % j->samples * j->count + i / j->samples, x);
    }
}

#define SAMPLE_NS 150

/* Input `arg` is the parameter; out[0] exists and is not empty. */
static enum tfd_code sample(struct tfd_kctx *k, int arg, draw_fn *draw,
                            struct tfd_philox generator, struct tfd_status *st)
{
    struct job j = {
        .generator = generator,
        .draw = draw,
        .parameter = &k->in[arg],
        .out = &k->out[0],
        .count = tfd_tensor_elements(&k->in[arg]),
        .highest = highest_of(k->out[0].dtype),
    };

    j.samples = tfd_tensor_elements(&k->out[0]) / j.count;
    tfd_kctx_parallel(k, j.samples * j.count, SAMPLE_NS, run_random_gamma, &j);
    if (j.failed)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "no sample for the parameter %g fits type %s",
                        j.culprit, tfd_dtype_name((int)k->out[0].dtype));
    return TFD_OK;
}

static enum tfd_code shape_of(const struct tfd_shape *samples,
                              const struct tfd_shape *parameter,
                              struct tfd_shape *out, struct tfd_status *st)
{
    int64_t dim[2 * TFD_RANK_MAX];
    int rank = 0;

    for (int i = 0; i < samples->rank; i++)
        dim[rank++] = samples->dim[i];
    for (int i = 0; i < parameter->rank; i++)
        dim[rank++] = parameter->dim[i];
    return tfd_shape_make_partial(out, dim, rank, st);
}

/* The node's stream; the output's shape is inputs 0 and 1, one after the other.
 */
static enum tfd_code stream_compute(struct tfd_kctx *k, draw_fn *draw,
                                    struct tfd_status *st)
{
    struct tfd_shape samples, out;

    TFD_TRY(tfd_check_shape(k, 0, false, &samples, st));
    TFD_TRY(shape_of(&samples, &k->in[1].shape, &out, st));
    TFD_TRY(tfd_shape_make(&out, out.dim, out.rank, st));
    TFD_TRY(
        tfd_kctx_output(k, 0, (enum tfd_dtype)k->node->out_types[0], &out, st));
    if (tfd_shape_elements(&out) == 0)
        return TFD_OK;
    return sample(k, 1, draw,
                  tfd_philox_reserve(k->state, tfd_shape_elements(&out)), st);
}

static bool ends_with(const struct tfd_shape *s, const struct tfd_shape *end)
{
    for (int i = 1; i <= end->rank; i++)
        if (i > s->rank || s->dim[s->rank - i] != end->dim[end->rank - i])
            return false;
    return true;
}

/* The output's shape is input 0 and ends with that of the parameter, input
 * `arg`. */
static enum tfd_code shaped_output(struct tfd_kctx *k, int arg,
                                   struct tfd_status *st)
{
    struct tfd_shape out;

    TFD_TRY(tfd_check_shape(k, 0, false, &out, st));
    if (!ends_with(&out, &k->in[arg].shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape passed in must end with broadcasted shape.");
    return tfd_kctx_output(k, 0, (enum tfd_dtype)k->node->out_types[0], &out,
                           st);
}

/* Seeds, input 1. */
static enum tfd_code seeded_compute(struct tfd_kctx *k, draw_fn *draw,
                                    struct tfd_status *st)
{
    struct tfd_philox generator;

    TFD_TRY(tfd_random_seeds(k, 1, &generator, st));
    TFD_TRY(shaped_output(k, 2, st));
    if (tfd_tensor_elements(&k->out[0]) == 0)
        return TFD_OK;
    return sample(k, 2, draw, generator, st);
}

/* A key and a counter, inputs 1 to 3. */
static enum tfd_code keyed_gamma_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    struct tfd_shape shape;
    int64_t count;

    TFD_TRY(tfd_check_shape(k, 0, false, &shape, st));
    count = tfd_shape_elements(&shape);
    TFD_TRY(tfd_random_key_check(k, 1, count, st));
    TFD_TRY(shaped_output(k, 4, st));
    if (count == 0)
        return TFD_OK;
    return sample(k, 4, draw_gamma,
                  tfd_random_keyed(tfd_tensor_data(&k->in[1]),
                                   tfd_tensor_data(&k->in[2])),
                  st);
}

static enum tfd_code gamma_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return stream_compute(k, draw_gamma, st);
}

static enum tfd_code poisson_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return stream_compute(k, draw_poisson, st);
}

static enum tfd_code seeded_gamma_compute(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    return seeded_compute(k, draw_gamma, st);
}

static enum tfd_code seeded_poisson_compute(struct tfd_kctx *k,
                                            struct tfd_status *st)
{
    return seeded_compute(k, draw_poisson, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define SHAPE_VECTOR \
    "shape: vector 'shape must be a vector of {int32,int64}, got shape %s'"

static enum tfd_code samples_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    struct tfd_shape samples;

    if (!s->value || !s->value[0] || s->in[1].rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    TFD_TRY(tfd_check_shape_value(s->value[0], false, &samples, st));
    return shape_of(&samples, &s->in[1], &s->out[0], st);
}

static enum tfd_code value_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    if (s->value && s->value[0])
        return tfd_check_shape_value(s->value[0], false, &s->out[0], st);
    return TFD_OK;
}

#define INDEX "{int32, int64}"
#define FLOATS "{half, float, double}"
#define NUMBERS "{half, float, double, int32, int64}"

static const struct tfd_opdef ops[] = {
    {
        .name = "RandomGamma",
        .inputs = "shape: S, alpha: T",
        .outputs = "output: T",
        .attrs = "seed: int = 0; seed2: int = 0; S: " INDEX "; T: " FLOATS,
        .checks = SHAPE_VECTOR,
        .shape = samples_shape,
        .grad = tfd_random_gamma_gradient,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "RandomPoissonV2",
        .inputs = "shape: S, rate: R",
        .outputs = "output: dtype",
        .attrs = "seed: int = 0; seed2: int = 0; S: " INDEX "; R: " NUMBERS
                 " = DT_DOUBLE; dtype: " NUMBERS " = DT_INT64",
        .checks = SHAPE_VECTOR,
        .key = "dtype",
        .shape = samples_shape,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "RandomPoisson",
        .inputs = "shape: S, rate: dtype",
        .outputs = "output: dtype",
        .attrs = "seed: int = 0; seed2: int = 0; S: " INDEX "; dtype: " FLOATS,
        .checks = SHAPE_VECTOR,
        .key = "dtype",
        .shape = samples_shape,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "StatelessRandomGammaV2",
        .inputs = "shape: T, seed: Tseed, alpha: dtype",
        .outputs = "output: dtype",
        .attrs = "dtype: " FLOATS "; T: " INDEX "; Tseed: " INDEX " = DT_INT64",
        .checks = SHAPE_VECTOR,
        .key = "dtype",
        .shape = value_shape,
        .grad = tfd_random_gamma_stateless_gradient,
    },
    {
        .name = "StatelessRandomGammaV3",
        .inputs = "shape: shape_dtype, key: uint64, counter: uint64, "
                  "alg: int32, alpha: dtype",
        .outputs = "output: dtype",
        .attrs = "dtype: " FLOATS "; shape_dtype: " INDEX " = DT_INT32",
        .checks = SHAPE_VECTOR,
        .key = "dtype",
        .shape = value_shape,
        .grad = tfd_random_gamma_stateless_gradient,
    },
    {
        .name = "StatelessRandomPoisson",
        .inputs = "shape: T, seed: Tseed, lam: Rtype",
        .outputs = "output: dtype",
        .attrs = "Rtype: " NUMBERS "; dtype: " NUMBERS "; T: " INDEX
                 "; Tseed: " INDEX " = DT_INT64",
        .checks = SHAPE_VECTOR,
        .key = "dtype",
        .shape = value_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define STREAM_KERNEL(op, compute)                                    \
    TFD_KERNEL_ANY(op, compute, .prepare = tfd_random_stream_prepare, \
                   .state_size = sizeof(struct tfd_philox_source),    \
                   .flags = TFD_KERNEL_SHARED)

static const struct tfd_kernel kernels[] = {
    STREAM_KERNEL("RandomGamma", gamma_compute),
    STREAM_KERNEL("RandomPoissonV2", poisson_compute),
    STREAM_KERNEL("RandomPoisson", poisson_compute),
    TFD_KERNEL_ANY("StatelessRandomGammaV2", seeded_gamma_compute),
    TFD_KERNEL_ANY("StatelessRandomGammaV3", keyed_gamma_compute),
    TFD_KERNEL_ANY("StatelessRandomPoisson", seeded_poisson_compute),
};

const struct tfd_family tfd_family_random_gamma = {
    .name = "random_gamma",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
