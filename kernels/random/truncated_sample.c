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

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* Proposals that are refused before a sample is given up, TensorFlow's. */
#define REFUSED_MAX 1000
/* Deviations within the bounds from which on normals are proposed. */
#define NORMAL_FROM 1.3
#define GROUP_MAX 4

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

/* One block of the stream, so many numbers. */
static inline int draw_uniform_group(enum tfd_dtype dtype, struct tfd_philox *g,
                                     double out[GROUP_MAX])
{
    uint32_t x[4];

    tfd_philox_next(g, x);
    if (dtype == TFD_DOUBLE) {
        out[0] = tfd_random_double_of(x[0], x[1]);
        out[1] = tfd_random_double_of(x[2], x[3]);
        return 2;
    }
    for (int i = 0; i < 4; i++)
        out[i] = dtype == TFD_FLOAT
                     ? (double)tfd_random_float_of(x[i])
                     : (double)tfd_half_to_float(tfd_random_make_half(x[i]));
    return 4;
}

static inline int draw_normal_group(enum tfd_dtype dtype, struct tfd_philox *g,
                                    double out[GROUP_MAX])
{
    float normal[4];
    uint32_t x[4];

    tfd_philox_next(g, x);
    if (dtype == TFD_DOUBLE) {
        tfd_random_make_normals(x, out);
        return 2;
    }
    tfd_random_make_normals_float(x[0], x[1], normal);
    tfd_random_make_normals_float(x[2], x[3], normal + 2);
    for (int i = 0; i < 4; i++)
        out[i] = round_sample(dtype, (double)normal[i]);
    return 4;
}

/* ---- Taking and refusing ------------------------------------------------- */

/* One distribution that is being sampled. */
struct sampler {
    enum tfd_dtype dtype;
    struct tfd_philox *g;
    struct tfd_truncated_place place;
    double mean, deviation; /* the latter negative where mirrored */
    double low, high;       /* bounds of the standard normal */
    double width, plus;     /* of uniforms: its length, what evens it out */
    double root, rate;      /* sqrt(low^2 + 4); of exponentials */
    int refused;            /* in a row */
};

static void take_sample(struct sampler *s, double z)
{
    const double scaled = round_sample(s->dtype, z * s->deviation);
    const double x = round_sample(s->dtype, scaled + s->mean);
    void *out = tfd_tensor_data(s->place.out);

    switch (s->dtype) {
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

/* A method goes over one group of proposals; false when one sample has been
 * refused too often. */
typedef bool group_fn(struct sampler *s);

static bool take_normals(struct sampler *s)
{
    double z[GROUP_MAX];
    const int count = draw_normal_group(s->dtype, s->g, z);

    for (int i = 0; i < count && s->place.left > 0; i++)
        if (z[i] >= s->low && z[i] <= s->high)
            take_sample(s, z[i]);
        else if (++s->refused > REFUSED_MAX)
            return false;
    return true;
}

static bool take_uniforms(struct sampler *s)
{
    const enum tfd_dtype t = s->dtype;
    double z[GROUP_MAX], u[GROUP_MAX];
    const int count = draw_uniform_group(t, s->g, z);

    (void)draw_uniform_group(t, s->g, u);
    for (int i = 0; i < count && s->place.left > 0; i++) {
        double g;

        z[i] = round_sample(t, round_sample(t, z[i] * s->width) + s->low);
        g = round_sample(t, s->plus - round_sample(t, z[i] * z[i]));
        if (u[i] <= exp_sample(t, round_sample(t, g / 2)))
            take_sample(s, z[i]);
        else if (++s->refused >= REFUSED_MAX)
            return false;
    }
    return true;
}

/* Pairs of uniforms: a proposal, and what it is taken by. */
static bool take_exponentials(struct sampler *s)
{
    const enum tfd_dtype t = s->dtype;
    double u[GROUP_MAX];
    const int count = draw_uniform_group(t, s->g, u);

    for (int i = 0; i < count && s->place.left > 0; i += 2) {
        const double far = round_sample(t, -log_sample(t, u[i]) / s->rate);
        const double z = round_sample(t, far + s->low);
        const double x =
            round_sample(t, s->low < s->rate ? s->rate - z : s->low - s->rate);
        const double g = round_sample(t, round_sample(t, -x * x) / 2);

        if (u[i + 1] <= exp_sample(t, g) && z < s->high)
            take_sample(s, z);
        else if (++s->refused >= REFUSED_MAX)
            return false;
    }
    return true;
}

/* ---- Methods ------------------------------------------------------------- */

struct method {
    group_fn *group;
    const char *failure;
};

static const struct method normals = {
    take_normals,
    "TruncatedNormal randn rejection sampler failed to accept a sample."};
static const struct method uniforms = {
    take_uniforms,
    "TruncatedNormal uniform rejection sampler failed to  accept a sample."};
static const struct method exponentials = {
    take_exponentials, "TruncatedNormal exponential distribution rejection "
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
                                 struct tfd_philox *g,
                                 struct tfd_truncated_place place)
{
    const enum tfd_dtype t = place.out->dtype;
    const bool mirrored = (isinf(p->low) && p->low < 0) || p->high < p->mean;
    const double deviation = mirrored ? -p->deviation : p->deviation;
    const double low = mirrored ? p->high : p->low;
    const double high = mirrored ? p->low : p->high;
    struct sampler s = {
        .dtype = t,
        .g = g,
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
                                 struct tfd_philox *g,
                                 struct tfd_truncated_place place,
                                 struct tfd_status *st)
{
    const struct method *method;
    struct sampler s;

    if (!(parameters->deviation > 0) || !(parameters->low < parameters->high) ||
        (!isfinite(parameters->low) && !isfinite(parameters->high)))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Invalid parameters");
    s = sampler_of(parameters, g, place);
    method = method_of(&s);
    while (s.place.left > 0 && !tfd_halted())
        if (!method->group(&s))
            return tfd_fail(st, TFD_INTERNAL, "%s", method->failure);
    return TFD_OK;
}
