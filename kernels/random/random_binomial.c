/*
 * random_binomial.c - StatelessRandomBinomial, and what StatefulRandomBinomial
 * of kernels/state/random_variable.c draws.
 *
 * Distribution d has `samples` of the output; sample s of it lies at s *
 * (number of distributions) + d, and is number d * samples + s of those that
 * are drawn.
 *
 *   below a mean of 10   sums of geometric variables until they are beyond the
 *                        count; from block 42 * number of the stream on
 *   else                 W. Hoermann, "The generation of binomial random
 *                        variates", 1993; from block 256 * number on
 *
 * Samples of one distribution by the latter go 32 at once: their first tries,
 * most of which are taken, are judged in vectors, by logarithms and series that
 * are not exact; where that leaves a doubt the sample is drawn alone.
 *
 * Of a probability above 1/2 it is the failures that are drawn.  Uniforms come
 * in pairs, a block each, the second one first.
 */
#include "kernels/random/random_binomial.h"

#include "common/base/atomic.h"
#include "common/base/half.h"
#include "kernels/core/broadcast.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/random/philox_lanes.h"
#include "kernels/random/random_number.h"
#include "kernels/random/random_stream.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/vector_double.h"

#include <math.h>

#define BLOCKS_FEW 42
#define BLOCKS_MANY 256

/* ---- Distributions ------------------------------------------------------- */

struct uniforms {
    struct tfd_philox generator;
    double pair[2];
    int left;
};

static double draw_uniform(struct uniforms *u)
{
    uint32_t x[4];

    if (u->left == 0) {
        tfd_philox_next(&u->generator, x);
        u->pair[0] = tfd_random_double_of(x[0], x[1]);
        u->pair[1] = tfd_random_double_of(x[2], x[3]);
        u->left = 2;
    }
    return u->pair[--u->left];
}

/* Of either method, which need a few; parameters that are no numbers never come
 * to an end. */
#define TRIES_MAX 10000

static bool draw_few(struct uniforms *u, double count, double p, double *out)
{
    double sum = 0;

    for (int i = 0; i < TRIES_MAX; i++) {
        sum += ceil(log(draw_uniform(u)) / log1p(-p));
        if (sum > count) {
            *out = i;
            return true;
        }
    }
    return false;
}

/* What Stirling's formula lacks of log(k!). */
static double stirling_rest(double k)
{
    static const double rests[] = {0.0810614667953272,  0.0413406959554092,
                                   0.0276779256849983,  0.02079067210376509,
                                   0.0166446911898211,  0.0138761288230707,
                                   0.0118967099458917,  0.0104112652619720,
                                   0.00925546218271273, 0.00833056343336287};
    const double square = (k + 1) * (k + 1);

    if (k >= 0 && k <= 9)
        return rests[(int)k];
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

/* What the draws of one distribution have in common; of many numbers, which lie
 * one behind the other. */
struct many {
    double count, p;
    double a, b, c, odds, alpha, mode, inside, log_mode, rest_mode, rest_left;
};

static void prepare_many(struct many *m, double count, double p)
{
    double deviation;

    if (m->count == count && m->p == p)
        return;
    deviation = sqrt(count * p * (1 - p));
    m->count = count;
    m->p = p;
    m->b = 1.15 + 2.53 * deviation;
    m->a = -0.0873 + 0.0248 * m->b + 0.01 * p;
    m->c = count * p + 0.5;
    m->odds = p / (1 - p);
    m->alpha = (2.83 + 5.1 / m->b) * deviation;
    m->mode = floor((count + 1) * p);
    m->inside = 0.92 - 4.2 / m->b;
    m->log_mode = (m->mode + 0.5) *
                  log((m->mode + 1) / (m->odds * (count - m->mode + 1)));
    m->rest_mode = stirling_rest(m->mode);
    m->rest_left = stirling_rest(count - m->mode);
}

static bool draw_many(struct uniforms *u, const struct many *m, double *out)
{
    const double count = m->count, a = m->a, b = m->b;

    for (int i = 0; i < TRIES_MAX; i++) {
        const double x = draw_uniform(u) - 0.5, v = draw_uniform(u);
        const double far = 0.5 - fabs(x);
        const double k = floor((2 * a / far + b) * x + m->c);
        double bound;

        *out = k;
        if (far >= 0.07 && v <= m->inside)
            return true;
        if (k < 0 || k > count)
            continue;
        bound = m->log_mode +
                (count + 1) * log((count - m->mode + 1) / (count - k + 1)) +
                (k + 0.5) * log(m->odds * (count - k + 1) / (k + 1)) +
                m->rest_mode + m->rest_left - stirling_rest(k) -
                stirling_rest(count - k);
        if (log(v * m->alpha / (a / (far * far) + b)) <= bound)
            return true;
    }
    return false;
}

/* ---- First tries --------------------------------------------------------- */

#define LANES TFD_PHILOX_LANES

struct first_tries {
    const struct many *m;
    struct tfd_philox_lanes l;
    double k[LANES];
    uint64_t taken[LANES]; /* surely */
};

/* Of stirling_rest(): off by 6e-4 at most. */
TFD_VECTOR double quick_rest(double k)
{
    const double square = (k + 1) * (k + 1);

    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

/* Four of those are in a bound, and a logarithm, off by 2^-34, times the
 * count. */
#define DOUBT 3e-3
#define DOUBT_EACH 1e-8

TFD_VECTOR double uniform_of(uint64_t pair)
{
    return tfd_double_of(UINT64_C(1023) << 52 |
                         (pair << 32 & UINT64_C(0xfffff00000000)) |
                         pair >> 32) -
           1.0;
}

TFD_SIMD_LOOP(judge_first_tries)
{
    struct first_tries *t = arg;
    const struct many m = *t->m;
    const double doubt = DOUBT + DOUBT_EACH * m.count;

    for (int64_t i = begin; i < end; i++) {
        const double x = uniform_of(t->l.pair[1][i]) - 0.5;
        const double v = uniform_of(t->l.pair[0][i]);
        const double far = 0.5 - fabs(x);
        const double k = floor((2 * m.a / far + m.b) * x + m.c);
        const int is_inside =
            (k >= 0) & (k <= m.count) & (far > 0x1p-20) & (v > 0x1p-50);
        const double at = is_inside ? k : m.mode;
        const double left = m.count - at;
        const double bound =
            m.log_mode +
            (m.count + 1) * tfd_quick_log((m.count - m.mode + 1) / (left + 1)) +
            (at + 0.5) * tfd_quick_log(m.odds * (left + 1) / (at + 1)) +
            m.rest_mode + m.rest_left - quick_rest(at) - quick_rest(left);
        const double height =
            is_inside ? v * m.alpha / (m.a / (far * far) + m.b) : 1;
        const int is_near = (far >= 0.07) & (v <= m.inside);
        const int is_below =
            is_inside & (tfd_quick_log(height) + doubt < bound);

        t->k[i] = k;
        t->taken[i] = (uint64_t)(is_near | is_below);
    }
}
TFD_SIMD_CLONES_WIDE(judge_first_tries)

/* Of samples from `number` on. */
static void try_first(const struct tfd_philox *generator, int64_t number,
                      struct first_tries *t)
{
    uint64_t skip[LANES];

    for (int i = 0; i < LANES; i++)
        skip[i] = (uint64_t)(number + i) * BLOCKS_MANY;
    tfd_philox_lanes(&t->l, generator, skip);
    judge_first_tries(t, 0, LANES);
}

/* ---- Elements ------------------------------------------------------------ */

/* A number of the type of the parameters. */
static double round_to(enum tfd_dtype dtype, double x)
{
    switch (dtype) {
    case TFD_HALF:
        return (double)tfd_half_to_float(tfd_half_from_float((float)x));
    case TFD_FLOAT:
        return (double)(float)x;
    default:
        return x;
    }
}

static double parameter_at(const struct tfd_tensor *t, int64_t i)
{
    const void *data = tfd_tensor_data(t);

    switch (t->dtype) {
    case TFD_HALF:
        return (double)tfd_half_to_float(((const tfd_half *)data)[i]);
    case TFD_FLOAT:
        return (double)((const float *)data)[i];
    default:
        return ((const double *)data)[i];
    }
}

/* Integers have no number for what they cannot be: the lowest, as the processor
 * converts it. */
static void store_drawn(struct tfd_tensor *t, int64_t i, double x)
{
    void *data = tfd_tensor_data(t);

    switch (t->dtype) {
    case TFD_HALF:
        ((tfd_half *)data)[i] = tfd_half_from_float((float)x);
        break;
    case TFD_FLOAT:
        ((float *)data)[i] = (float)x;
        break;
    case TFD_DOUBLE:
        ((double *)data)[i] = x;
        break;
    case TFD_INT32:
        ((int32_t *)data)[i] = fabs(x) < 0x1p31 ? (int32_t)x : INT32_MIN;
        break;
    default:
        ((int64_t *)data)[i] = fabs(x) < 0x1p63 ? (int64_t)x : INT64_MIN;
        break;
    }
}

/* ---- Running ------------------------------------------------------------- */

struct job {
    const struct tfd_binomial *b;
    struct tfd_philox generator;
    const struct tfd_tensor *counts, *probabilities;
    struct tfd_tensor *out;
    int failed; /* atomic */
};

/* Element `at` of the broadcast shape in one of the shapes that it is made of.
 */
static int64_t index_within(const struct tfd_shape *result,
                            const struct tfd_shape *part, int64_t at)
{
    int64_t index = 0, step = 1;

    for (int i = result->rank - 1; i >= 0; i--) {
        const int place = i - (result->rank - part->rank);
        const int64_t dim = place >= 0 ? part->dim[place] : 1;

        index += dim == 1 ? 0 : at % result->dim[i] * step;
        step *= dim;
        at /= result->dim[i];
    }
    return index;
}

/* Sample `number` of a count and a probability within (0, 1/2]. */
static bool draw_number(const struct job *j, struct many *m, int64_t number,
                        double count, double p, double *out)
{
    const bool many = round_to(j->counts->dtype, count * p) >= 10;
    struct uniforms u = {.generator = j->generator};

    tfd_philox_skip(&u.generator,
                    (uint64_t)number * (many ? BLOCKS_MANY : BLOCKS_FEW));
    if (!many)
        return draw_few(&u, count, p, out);
    prepare_many(m, count, p);
    return draw_many(&u, m, out);
}

static bool draw_one(const struct job *j, struct many *m, int64_t number,
                     double *out)
{
    const int64_t d = number / j->b->samples;
    const double count = parameter_at(
        j->counts, index_within(&j->b->batch, &j->counts->shape, d));
    const double p =
        parameter_at(j->probabilities,
                     index_within(&j->b->batch, &j->probabilities->shape, d));
    bool found = true;

    if (count <= 0 || p <= 0)
        *out = 0;
    else if (p >= 1)
        *out = count;
    else if (p <= 0.5)
        found = draw_number(j, m, number, count, p, out);
    else if (p > 0.5) {
        found = draw_number(j, m, number, count,
                            round_to(j->counts->dtype, 1 - p), out);
        *out = count - *out;
    } else
        *out = NAN;
    return found;
}

static void store_sample(const struct job *j, int64_t number, double x)
{
    store_drawn(j->out,
                number % j->b->samples * j->b->count + number / j->b->samples,
                x);
}

/* Samples first to end, one by one; false: one has no end. */
static bool draw_each(const struct job *j, struct many *m, int64_t first,
                      int64_t end)
{
    for (; first < end; first++) {
        double x = 0;

        if (!draw_one(j, m, first, &x))
            return false;
        store_sample(j, first, x);
    }
    return true;
}

/* Makes m that of LANES samples from `number` on, or of what they leave of
 * their count, in which case *failures is set.  False: they are of two
 * distributions, or not by that method. */
static bool are_alike(const struct job *j, int64_t number, struct many *m,
                      bool *failures)
{
    const int64_t d = number / j->b->samples;
    const enum tfd_dtype dtype = j->counts->dtype;
    double count, p;

    if (d != (number + LANES - 1) / j->b->samples)
        return false;
    count = parameter_at(j->counts,
                         index_within(&j->b->batch, &j->counts->shape, d));
    p = parameter_at(j->probabilities,
                     index_within(&j->b->batch, &j->probabilities->shape, d));
    *failures = p > 0.5;
    p = *failures ? round_to(dtype, 1 - p) : p;
    if (!(count > 0) || !(p > 0) || !(p <= 0.5) ||
        !(round_to(dtype, count * p) >= 10))
        return false;
    prepare_many(m, count, p);
    return true;
}

static bool draw_lanes(const struct job *j, struct many *m, int64_t number,
                       bool failures)
{
    struct first_tries t = {.m = m};

    try_first(&j->generator, number, &t);
    for (int i = 0; i < LANES; i++)
        if (t.taken[i])
            store_sample(j, number + i, failures ? m->count - t.k[i] : t.k[i]);
        else if (!draw_each(j, m, number + i, number + i + 1))
            return false;
    return true;
}

static void run_binomial(void *arg, int64_t begin, int64_t end)
{
    struct job *j = arg;
    struct many m = {.count = NAN};

    for (int64_t next; begin < end; begin = next) {
        bool failures, done;

        if (TFD_LOAD_RELAXED(&j->failed))
            return;
        next = end - begin < LANES ? end : begin + LANES;
        if (next - begin == LANES && are_alike(j, begin, &m, &failures))
            done = draw_lanes(j, &m, begin, failures);
        else
            done = draw_each(j, &m, begin, next);
        if (!done) {
            TFD_STORE_RELAXED(&j->failed, 1);
            return;
        }
    }
}

#define SAMPLE_NS 300

enum tfd_code tfd_binomial_draw(struct tfd_kctx *k,
                                const struct tfd_binomial *b,
                                struct tfd_philox generator,
                                struct tfd_status *st)
{
    struct job j = {
        .b = b,
        .generator = generator,
        .counts = &k->in[b->counts_arg],
        .probabilities = &k->in[b->counts_arg + 1],
        .out = &k->out[0],
    };

    if (tfd_tensor_elements(j.out) == 0)
        return TFD_OK;
    tfd_kctx_parallel(k, b->count * b->samples, SAMPLE_NS, run_binomial, &j);
    if (j.failed)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%d tries have not given a binomial sample; a count "
                        "may be no number",
                        TRIES_MAX);
    return TFD_OK;
}

/* ---- Shapes -------------------------------------------------------------- */

static bool has_end(const struct tfd_shape *s, const struct tfd_shape *end)
{
    for (int i = 1; i <= end->rank; i++)
        if (i > s->rank || s->dim[s->rank - i] != end->dim[end->rank - i])
            return false;
    return true;
}

enum tfd_code tfd_binomial_begin(struct tfd_kctx *k, struct tfd_binomial *b,
                                 struct tfd_status *st)
{
    const struct tfd_shape *counts = &k->in[b->counts_arg].shape;
    const struct tfd_shape *p = &k->in[b->counts_arg + 1].shape;
    const struct tfd_shape *given = &k->in[b->shape_arg].shape;
    char text[2][TFD_SHAPE_TEXT_MAX];
    struct tfd_shape out;

    if (!tfd_broadcast_fits(counts, p))
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT,
            "counts and probs must have compatible batch dimensions: %s vs. %s",
            tfd_shape_text(counts, text[0]), tfd_shape_text(p, text[1]));
    if (given->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input shape should be a vector, got shape: %s",
                        tfd_shape_text(given, text[0]));
    TFD_TRY(tfd_check_shape(k, b->shape_arg, false, &out, st));
    TFD_TRY(tfd_broadcast_shape(counts, p, &b->batch, st));
    if (!has_end(&out, &b->batch))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape passed in must end with broadcasted shape.");
    b->count = tfd_shape_elements(&b->batch);
    b->samples = b->count ? tfd_shape_elements(&out) / b->count : 0;
    return tfd_kctx_output(k, 0, (enum tfd_dtype)k->node->out_types[0], &out,
                           st);
}

/* ---- Stateless ----------------------------------------------------------- */

static enum tfd_code seeded_binomial(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_binomial b = {.shape_arg = 0, .counts_arg = 2};
    struct tfd_philox generator;

    TFD_TRY(tfd_random_seeds(k, 1, &generator, st));
    TFD_TRY(tfd_binomial_begin(k, &b, st));
    return tfd_binomial_draw(k, &b, generator, st);
}

/* Of what input 0 says, where it is known while building. */
static enum tfd_code drawn_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    if (s->value && s->value[0])
        return tfd_check_shape_value(s->value[0], false, &s->out[0], st);
    return TFD_OK;
}

#define INDEX "{int32, int64}"
#define NUMBERS "{half, float, double, int32, int64}"

static const struct tfd_opdef ops[] = {
    {
        .name = "StatelessRandomBinomial",
        .inputs = "shape: S, seed: Tseed, counts: T, probs: T",
        .outputs = "output: dtype",
        .attrs = "S: " INDEX "; Tseed: " INDEX " = DT_INT64; T: " NUMBERS
                 " = DT_DOUBLE; dtype: " NUMBERS " = DT_INT64",
        .key = "T",
        .shape = drawn_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("StatelessRandomBinomial", HALF, seeded_binomial),
    TFD_KERNEL("StatelessRandomBinomial", FLOAT, seeded_binomial),
    TFD_KERNEL("StatelessRandomBinomial", DOUBLE, seeded_binomial),
};

const struct tfd_family tfd_family_random_binomial = {
    .name = "random_binomial",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
