/*
 * truncated_sample.c - rejection sampling: C. Robert, "Simulation of truncated
 * normal variables", 1995.
 *
 * Distributions are brought to mean 0 and deviation 1, and mirrored where that
 * makes the lower bound the finite one, or both of them positive.  Proposals
 * are normal where the bounds leave enough of them, else uniform between the
 * bounds where those are close, else exponential from the lower bound on.
 *
 * TensorFlow computes in the type of the output, one rounding for each
 * operation.  So does this, in double: rounding its sums, products, quotients
 * and roots once more gives those of a float.
 */
#define _GNU_SOURCE 1 /* random_make.h: sincos() */
#include "kernels/random/truncated_sample.h"

#include "common/base/half.h"
#include "common/thread/halt.h"
#include "kernels/random/random_make.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/vector_normal.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* Proposals that are refused before a sample is given up, TensorFlow's. */
#define REFUSED_MAX 1000
/* Deviations within the bounds from which on normals are proposed. */
#define NORMAL_FROM 1.3
#define GROUP_MAX 4
#define LANES TFD_PHILOX_LANES

/* ---- Numbers of the type ------------------------------------------------- */

/* TensorFlow's threads have no subnormal floats. */
static inline double round_sample(enum tfd_dtype dtype, double x)
{
    if (dtype == TFD_DOUBLE)
        return x;
    if (fabs(x) < (double)FLT_MIN)
        return 0;
    if (dtype == TFD_HALF)
        return (double)tfd_half_to_float(tfd_half_from_float((float)x));
    return (double)(float)x;
}

static inline double exp_sample(enum tfd_dtype dtype, double x)
{
    if (dtype == TFD_DOUBLE)
        return exp(x);
    return round_sample(dtype, (double)expf((float)x));
}

static inline double log_sample(enum tfd_dtype dtype, double x)
{
    if (dtype == TFD_DOUBLE)
        return log(x);
    return round_sample(dtype, (double)logf((float)x));
}

/* ---- Blocks of the stream -------------------------------------------------
 */

/* What is made of the blocks at hand. */
enum { NOTHING, NORMALS, LOGARITHMS };

void tfd_truncated_begin(struct tfd_truncated_stream *s,
                         const struct tfd_philox *g)
{
    s->g = *g;
    s->at = LANES;
    s->known = NOTHING;
}

/* Of numbers 0 and 2 of each block; that of 0 is not said. */
TFD_SIMD_LOOP(make_logarithms)
{
    struct tfd_truncated_stream *s = arg;

    (void)begin;
    (void)end;
    for (int i = 0; i < LANES; i++)
        s->floats[0][i] =
            tfd_normal_log(tfd_normal_uniform_above_0(s->blocks.pair[0][i]));
    for (int i = 0; i < LANES; i++)
        s->floats[2][i] =
            tfd_normal_log(tfd_normal_uniform_above_0(s->blocks.pair[1][i]));
}

TFD_SIMD_CLONES(make_logarithms)

/* The place of the next block, of which `wanted` is known. */
static inline int draw_block(struct tfd_truncated_stream *s, int wanted)
{
    if (s->at == LANES) {
        uint64_t skip[LANES];

        for (int i = 0; i < LANES; i++)
            skip[i] = (uint64_t)i;
        tfd_philox_lanes(&s->blocks, &s->g, skip);
        tfd_philox_skip(&s->g, LANES);
        s->at = 0;
        s->known = NOTHING;
    }
    if (wanted != NOTHING && s->known != wanted) {
        if (wanted == NORMALS)
            tfd_random_normals_lanes(&s->blocks, s->floats);
        else
            make_logarithms(s, 0, LANES);
        s->known = wanted;
    }
    return s->at++;
}

static inline uint32_t number_of_block(const struct tfd_truncated_stream *s,
                                       int block, int number)
{
    return (uint32_t)(s->blocks.pair[number / 2][block] >> 32 * (number % 2));
}

/* One block of the stream, so many numbers. */
TFD_VECTOR int draw_uniform_group(enum tfd_dtype dtype,
                                  struct tfd_truncated_stream *s, int wanted,
                                  double out[GROUP_MAX])
{
    const int block = draw_block(s, wanted);

    if (dtype == TFD_DOUBLE) {
        for (int i = 0; i < 2; i++)
            out[i] = tfd_random_double_of(number_of_block(s, block, 2 * i),
                                          number_of_block(s, block, 2 * i + 1));
        return 2;
    }
    for (int i = 0; i < 4; i++) {
        const uint32_t x = number_of_block(s, block, i);

        out[i] = dtype == TFD_FLOAT
                     ? (double)tfd_random_float_of(x)
                     : (double)tfd_half_to_float(tfd_random_make_half(x));
    }
    return 4;
}

TFD_VECTOR int draw_normal_group(enum tfd_dtype dtype,
                                 struct tfd_truncated_stream *s,
                                 double out[GROUP_MAX])
{
    const int block = draw_block(s, dtype == TFD_DOUBLE ? NOTHING : NORMALS);

    if (dtype == TFD_DOUBLE) {
        uint32_t x[4];

        for (int i = 0; i < 4; i++)
            x[i] = number_of_block(s, block, i);
        tfd_random_make_normals(x, out);
        return 2;
    }
    for (int i = 0; i < 4; i++)
        out[i] = round_sample(dtype, (double)s->floats[i][block]);
    return 4;
}

/* ---- Taking and refusing ------------------------------------------------- */

/* One distribution that is being sampled. */
struct sampler {
    enum tfd_dtype dtype;
    struct tfd_truncated_stream *stream;
    struct tfd_truncated_place place;
    double mean, deviation; /* the latter negative where mirrored */
    double low, high;       /* bounds of the standard normal */
    double width, plus;     /* of uniforms: its length, what evens it out */
    double root, rate;      /* sqrt(low^2 + 4); of exponentials */
    int refused;            /* in a row */
    void *out;
};

TFD_VECTOR void take_sample(struct sampler *s, enum tfd_dtype t, double z)
{
    const double scaled = round_sample(t, z * s->deviation);
    const double x = round_sample(t, scaled + s->mean);
    void *out = s->out;

    switch (t) {
    case TFD_HALF:
        ((tfd_half *)out)[s->place.at] = tfd_half_from_float((float)x);
        break;
    case TFD_FLOAT:
        ((float *)out)[s->place.at] = (float)x;
        break;
    default:
        ((double *)out)[s->place.at] = x;
        break;
    }
    s->place.at += s->place.step;
    s->place.left--;
    s->refused = 0;
}

/* A method draws all samples, group by group of proposals, of one type, which
 * the compiler knows; false when one has been refused too often. */
TFD_VECTOR bool take_normals(struct sampler *s, enum tfd_dtype t)
{
    while (s->place.left > 0 && !tfd_halted()) {
        double z[GROUP_MAX];
        const int count = draw_normal_group(t, s->stream, z);

        for (int i = 0; i < count && s->place.left > 0; i++)
            if (z[i] >= s->low && z[i] <= s->high)
                take_sample(s, t, z[i]);
            else if (++s->refused > REFUSED_MAX)
                return false;
    }
    return true;
}

TFD_VECTOR bool take_uniforms(struct sampler *s, enum tfd_dtype t)
{
    while (s->place.left > 0 && !tfd_halted()) {
        double z[GROUP_MAX], u[GROUP_MAX];
        const int count = draw_uniform_group(t, s->stream, NOTHING, z);

        (void)draw_uniform_group(t, s->stream, NOTHING, u);
        for (int i = 0; i < count && s->place.left > 0; i++) {
            double g;

            z[i] = round_sample(t, round_sample(t, z[i] * s->width) + s->low);
            g = round_sample(t, s->plus - round_sample(t, z[i] * z[i]));
            if (u[i] <= exp_sample(t, round_sample(t, g / 2)))
                take_sample(s, t, z[i]);
            else if (++s->refused >= REFUSED_MAX)
                return false;
        }
    }
    return true;
}

/* The logarithm of proposal i of the block that was drawn last. */
TFD_VECTOR double log_of_proposal(const struct sampler *s, enum tfd_dtype t,
                                  int i, double u)
{
    if (t == TFD_FLOAT && u > 0)
        return (double)s->stream->floats[i][s->stream->at - 1];
    return log_sample(t, u);
}

/* Pairs of uniforms: a proposal, and what it is taken by. */
TFD_VECTOR bool take_exponentials(struct sampler *s, enum tfd_dtype t)
{
    while (s->place.left > 0 && !tfd_halted()) {
        double u[GROUP_MAX];
        const int count = draw_uniform_group(
            t, s->stream, t == TFD_FLOAT ? LOGARITHMS : NOTHING, u);

        for (int i = 0; i < count && s->place.left > 0; i += 2) {
            const double far =
                round_sample(t, -log_of_proposal(s, t, i, u[i]) / s->rate);
            const double z = round_sample(t, far + s->low);
            const double x = round_sample(
                t, s->low < s->rate ? s->rate - z : s->low - s->rate);
            const double g = round_sample(t, round_sample(t, -x * x) / 2);

            if (u[i + 1] <= exp_sample(t, g) && z < s->high)
                take_sample(s, t, z);
            else if (++s->refused >= REFUSED_MAX)
                return false;
        }
    }
    return true;
}

/* ---- Methods ------------------------------------------------------------- */

struct method {
    bool (*take)(struct sampler *s);
    const char *failure;
};

/* Copies of a method for each type. */
#define METHOD(name)                              \
    static bool name##_of_type(struct sampler *s) \
    {                                             \
        switch (s->dtype) {                       \
        case TFD_HALF:                            \
            return name(s, TFD_HALF);             \
        case TFD_FLOAT:                           \
            return name(s, TFD_FLOAT);            \
        default:                                  \
            return name(s, TFD_DOUBLE);           \
        }                                         \
    }

METHOD(take_normals)
METHOD(take_uniforms)
METHOD(take_exponentials)

static const struct method normals = {
    take_normals_of_type,
    "TruncatedNormal randn rejection sampler failed to accept a sample."};
static const struct method uniforms = {
    take_uniforms_of_type,
    "TruncatedNormal uniform rejection sampler failed to  accept a sample."};
static const struct method exponentials = {
    take_exponentials_of_type,
    "TruncatedNormal exponential distribution rejection "
    "sampler failed to accept a sample."};

/* Bounds further apart are better sampled by exponentials. */
static double uniform_width(const struct sampler *s)
{
    const enum tfd_dtype t = s->dtype;
    const double product =
        round_sample(t, s->low * round_sample(t, s->low - s->root));
    const double power =
        exp_sample(t, round_sample(t, 0.5 + round_sample(t, product / 4)));

    return round_sample(t, round_sample(t, 2 * power) /
                               round_sample(t, s->low + s->root));
}

static const struct method *method_of(const struct sampler *s)
{
    const double from = round_sample(s->dtype, NORMAL_FROM);

    if ((s->low < -from && s->high >= 0) || (s->high > from && s->low <= 0))
        return &normals;
    if (s->width < uniform_width(s))
        return &uniforms;
    return &exponentials;
}

static struct sampler sampler_of(const struct tfd_truncated *p,
                                 struct tfd_truncated_stream *stream,
                                 struct tfd_truncated_place place)
{
    const enum tfd_dtype t = place.out->dtype;
    const bool mirrored = (isinf(p->low) && p->low < 0) || p->high < p->mean;
    const double deviation = mirrored ? -p->deviation : p->deviation;
    const double low = mirrored ? p->high : p->low;
    const double high = mirrored ? p->low : p->high;
    struct sampler s = {
        .dtype = t,
        .stream = stream,
        .out = tfd_tensor_data(place.out),
        .place = place,
        .mean = p->mean,
        .deviation = deviation,
        .low = round_sample(t, round_sample(t, low - p->mean) / deviation),
        .high = round_sample(t, round_sample(t, high - p->mean) / deviation),
    };
    const double square = round_sample(t, s.low * s.low);

    s.width = round_sample(t, s.high - s.low);
    s.plus = s.low < 0 ? 0 : square;
    s.root = round_sample(t, sqrt(round_sample(t, square + 4)));
    s.rate = round_sample(t, round_sample(t, s.low + s.root) / 2);
    return s;
}

enum tfd_code tfd_truncated_draw(const struct tfd_truncated *parameters,
                                 struct tfd_truncated_stream *stream,
                                 struct tfd_truncated_place place,
                                 struct tfd_status *st)
{
    const struct method *method;
    struct sampler s;

    if (!(parameters->deviation > 0) || !(parameters->low < parameters->high) ||
        (!isfinite(parameters->low) && !isfinite(parameters->high)))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Invalid parameters");
    s = sampler_of(parameters, stream, place);
    method = method_of(&s);
    if (!method->take(&s))
        return tfd_fail(st, TFD_INTERNAL, "%s", method->failure);
    return TFD_OK;
}
