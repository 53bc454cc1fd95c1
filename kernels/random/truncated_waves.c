/*
 * truncated_waves.c - many samples of one distribution: the same proposals of
 * the same blocks as truncated_sample.c has, in vector lanes and by all
 * threads.
 */
#define _GNU_SOURCE 1 /* random_make.h: sincos() */
#include "kernels/random/truncated_sampler.h"

#include "common/base/min.h"
#include "common/thread/halt.h"

#define LANES TFD_PHILOX_LANES

/* ---- Proposals ----------------------------------------------------------- */

struct proposals {
    const struct tfd_truncated_sampler *s;
    void *out;
    float numbers[4][LANES];             /* normals, or logarithms */
    double log[2 * LANES], u[2 * LANES]; /* of pairs of uniforms */
    int64_t doubtful;                    /* not 0: one may be, or may not */
};

TFD_VECTOR double sample_of(const struct tfd_truncated_sampler *s,
                            enum tfd_dtype t, double z)
{
    return tfd_truncated_round(t, tfd_truncated_round(t, z * s->deviation) +
                                      s->mean);
}

TFD_SIMD_LOOP(bound_normals)
{
    const struct proposals *p = arg;
    const struct tfd_truncated_sampler s = *p->s;
    float *out = p->out;

    for (int j = 0; j < 4; j++)
        for (int64_t i = begin; i < end; i++) {
            const double z =
                tfd_truncated_round(TFD_FLOAT, (double)p->numbers[j][i]);
            const double x = sample_of(&s, TFD_FLOAT, z);

            out[4 * i + j] = (float)(z >= s.low && z <= s.high ? x : NAN);
        }
}

TFD_SIMD_CLONES_WIDE(bound_normals)

/* Of those that lie where they go. */
TFD_SIMD_LOOP(bound_normals_double)
{
    const struct proposals *p = arg;
    const struct tfd_truncated_sampler s = *p->s;
    double *out = p->out;

    for (int64_t i = begin; i < end; i++) {
        const double z = out[i], x = sample_of(&s, TFD_DOUBLE, z);

        out[i] = z >= s.low && z <= s.high ? x : (double)NAN;
    }
}

TFD_SIMD_CLONES_WIDE(bound_normals_double)

void tfd_truncated_propose_normals(const struct tfd_truncated_sampler *s,
                                   const struct tfd_philox_lanes *l, void *out)
{
    struct proposals p;

    p.s = s;
    p.out = out;
    if (s->dtype == TFD_FLOAT) {
        tfd_random_normals_lanes(l, p.numbers);
        bound_normals(&p, 0, LANES);
        return;
    }
    for (int i = 0; i < LANES; i++) {
        uint32_t x[4];

        for (int j = 0; j < 4; j++)
            x[j] = tfd_truncated_number(l, i, j);
        tfd_random_make_normals(x, (double *)out + 2 * i);
    }
    bound_normals_double(&p, 0, 2 * LANES);
}

/* A bound of the error of tfd_vector_exp(), of the result and of rounding what
 * goes in.  Whoever is within it is looked at again, exactly. */
#define DOUBT 0x1p-15

TFD_VECTOR void bound_exponentials(struct proposals *p, enum tfd_dtype t,
                                   int64_t begin, int64_t end, bool exactly)
{
    const struct tfd_truncated_sampler s = *p->s;
    const double beside = tfd_truncated_round(t, s.low - s.rate);
    int64_t doubtful = 0;

    for (int64_t i = begin; i < end; i++) {
        const double far = tfd_truncated_round(t, -p->log[i] / s.rate);
        const double z = tfd_truncated_round(t, far + s.low);
        const double below = tfd_truncated_round(t, s.rate - z);
        const double x = s.low < s.rate ? below : beside;
        const double g =
            tfd_truncated_round(t, tfd_truncated_round(t, -x * x) / 2);
        const double e = exactly ? tfd_truncated_exp(t, g)
                                 : (double)tfd_vector_exp((float)g);
        const bool sure = p->u[i] <= (exactly ? e : e * (1 - DOUBT));
        const bool taken = sure && z < s.high;
        const double y = taken ? sample_of(&s, t, z) : (double)NAN;

        doubtful |= (p->u[i] <= e * (1 + DOUBT) ? 1 : 0) & (sure ? 0 : 1);
        if (t == TFD_FLOAT)
            ((float *)p->out)[i] = (float)y;
        else
            ((double *)p->out)[i] = y;
    }
    p->doubtful = doubtful;
}

TFD_SIMD_LOOP(bound_exponentials_float)
{
    bound_exponentials(arg, TFD_FLOAT, begin, end, false);
}

TFD_SIMD_LOOP(bound_exponentials_double)
{
    bound_exponentials(arg, TFD_DOUBLE, begin, end, false);
}

TFD_SIMD_CLONES_WIDE(bound_exponentials_float)
TFD_SIMD_CLONES_WIDE(bound_exponentials_double)

/* The logarithm of 0 is infinite, and such a proposal is refused. */
static void pairs_float(struct proposals *p, const struct tfd_philox_lanes *l)
{
    tfd_truncated_logarithms(l, p->numbers);
    for (int i = 0; i < 2 * LANES; i++) {
        const uint64_t pair = l->pair[i % 2][i / 2];
        const double log = (double)p->numbers[i % 2 * 2][i / 2];

        p->log[i] =
            tfd_random_float_of((uint32_t)pair) > 0 ? log : -(double)INFINITY;
        p->u[i] = (double)tfd_random_float_of((uint32_t)(pair >> 32));
    }
}

static void pairs_double(struct proposals *p, const struct tfd_philox_lanes *l)
{
    for (int i = 0; i < LANES; i++) {
        const uint64_t a = l->pair[0][i], b = l->pair[1][i];

        p->log[i] = log(tfd_random_double_of((uint32_t)a, (uint32_t)(a >> 32)));
        p->u[i] = tfd_random_double_of((uint32_t)b, (uint32_t)(b >> 32));
    }
}

void tfd_truncated_propose_exponentials(const struct tfd_truncated_sampler *s,
                                        const struct tfd_philox_lanes *l,
                                        void *out)
{
    struct proposals p;

    p.s = s;
    p.out = out;
    if (s->dtype == TFD_FLOAT) {
        pairs_float(&p, l);
        bound_exponentials_float(&p, 0, 2 * LANES);
        if (p.doubtful)
            bound_exponentials(&p, TFD_FLOAT, 0, 2 * LANES, true);
    } else {
        pairs_double(&p, l);
        bound_exponentials_double(&p, 0, LANES);
        if (p.doubtful)
            bound_exponentials(&p, TFD_DOUBLE, 0, LANES, true);
    }
}

/* ---- Waves ----------------------------------------------------------------
 *
 * Threads make the proposals of a wave of blocks where samples will be in the
 * end: there are no more of them than samples are missing, so that each of
 * these blocks is needed.  Then one moves those that are taken together. */

struct wave {
    const struct tfd_truncated_sampler *s;
    struct tfd_philox g; /* at its first block */
    void *out;
    int64_t at;           /* of its first proposal; samples are before it */
    int64_t run, missing; /* samples of a run, and of the one that has begun */
    int refused;          /* in a row */
};

static int proposals_of_block(const struct wave *w)
{
    return w->s->dtype == TFD_FLOAT ? w->s->method->of_float
                                    : w->s->method->of_double;
}

/* Of LANES blocks each. */
static void propose_lanes(void *arg, int64_t begin, int64_t end)
{
    const struct wave *w = arg;
    const int64_t per = (int64_t)proposals_of_block(w) * LANES;
    const size_t size = tfd_dtype_size(w->s->dtype);

    for (int64_t at = begin; at < end; at++) {
        struct tfd_philox_lanes blocks;
        uint64_t skip[LANES];

        for (int i = 0; i < LANES; i++)
            skip[i] = (uint64_t)at * LANES + (uint64_t)i;
        tfd_philox_lanes(&blocks, &w->g, skip);
        w->s->method->propose(
            w->s, &blocks, (char *)w->out + (size_t)(w->at + at * per) * size);
    }
}

/* Of `count` proposals in blocks of `per` those that are samples move to where
 * the wave begins, which then is after them.  A run that is complete leaves the
 * rest of its block out; only then, and near a failure, they are looked at one
 * by one.  False: too many are refused. */
#define DEFINE_GATHER(T)                                                     \
    static bool gather_##T(struct wave *w, int64_t count, int64_t per)       \
    {                                                                        \
        const int refused_max = w->s->method->refused_max;                   \
        const T *from = (const T *)w->out + w->at, *end = from + count;      \
        T *to = (T *)w->out + w->at;                                         \
                                                                             \
        while (from < end) {                                                 \
            const int64_t most =                                             \
                              tfd_min(w->missing, refused_max - w->refused), \
                          n = tfd_min(end - from, most) / per * per;         \
            const T *begin = to;                                             \
                                                                             \
            for (int64_t i = 0; i < n; i++) {                                \
                const T x = from[i];                                         \
                                                                             \
                *to = x;                                                     \
                to += x == x;                                                \
                w->refused = x == x ? 0 : w->refused + 1;                    \
            }                                                                \
            w->missing -= to - begin;                                        \
            for (int64_t i = 0; n == 0 && i < per && w->missing > 0; i++) {  \
                const T x = from[i];                                         \
                                                                             \
                *to = x;                                                     \
                to += x == x;                                                \
                w->missing -= x == x;                                        \
                w->refused = x == x ? 0 : w->refused + 1;                    \
                if (w->refused > refused_max)                                \
                    return false;                                            \
            }                                                                \
            from += n == 0 ? per : n;                                        \
            w->missing = w->missing == 0 ? w->run : w->missing;              \
        }                                                                    \
        w->at = to - (T *)w->out;                                            \
        return true;                                                         \
    }

DEFINE_GATHER(float)
DEFINE_GATHER(double)

/* As many waves as are worth it. */
static bool take_waves(struct tfd_kctx *k, struct wave *w, int64_t total)
{
    const bool is_float = w->s->dtype == TFD_FLOAT;
    const int64_t per = proposals_of_block(w);

    for (;;) {
        const int64_t lanes = (total - w->at) / per / LANES;
        const int64_t count = lanes * LANES * per;

        if (lanes == 0)
            return true;
        tfd_kctx_parallel(k, lanes,
                          is_float ? w->s->method->ns_float
                                   : w->s->method->ns_double,
                          propose_lanes, w);
        if (tfd_halted())
            return true;
        if (!(is_float ? gather_float(w, count, per)
                       : gather_double(w, count, per)))
            return false;
        tfd_philox_skip(&w->g, (uint64_t)(lanes * LANES));
    }
}

/* What waves have left out. */
static enum tfd_code draw_rest(struct tfd_truncated_sampler *s,
                               const struct wave *w, struct tfd_tensor *out,
                               struct tfd_status *st)
{
    const int64_t total = tfd_tensor_elements(out);
    int64_t at = w->at, run = w->missing;

    tfd_truncated_begin(s->stream, &w->g);
    for (; at < total && !tfd_halted(); at += run, run = w->run) {
        const int64_t left = tfd_min(run, total - at);

        s->place = (struct tfd_truncated_place){out, at, 1, left};
        s->refused = 0;
        TFD_TRY(tfd_truncated_check_taken(s->method->take(s), s, st));
    }
    return TFD_OK;
}

enum tfd_code tfd_truncated_draw_all(struct tfd_kctx *k,
                                     const struct tfd_truncated *parameters,
                                     const struct tfd_philox *g,
                                     struct tfd_tensor *out, int64_t run,
                                     struct tfd_status *st)
{
    const int64_t total = tfd_tensor_elements(out);
    struct wave w = {
        .out = tfd_tensor_data(out), .g = *g, .run = run, .missing = run};
    struct tfd_truncated_stream stream;
    struct tfd_truncated_sampler s;

    if (total == 0)
        return TFD_OK;
    TFD_TRY(tfd_truncated_sampler_init(
        &s, parameters, &stream, (struct tfd_truncated_place){.out = out}, st));
    w.s = &s;
    if (s.method->propose && out->dtype != TFD_HALF)
        TFD_TRY(tfd_truncated_check_taken(take_waves(k, &w, total), &s, st));
    return draw_rest(&s, &w, out, st);
}
