/*
 * truncated_sample.c - rejection sampling: C. Robert, "Simulation of truncated
 * normal variables", 1995.
 *
 * Distributions are brought to mean 0 and deviation 1, and mirrored where that
 * makes the lower bound the finite one, or both of them positive.  Proposals
 * are normal where the bounds leave enough of them, else uniform between the
 * bounds where those are close, else exponential from the lower bound on.
 */
#define _GNU_SOURCE 1 /* random_make.h: sincos() */
#include "kernels/random/truncated_sampler.h"

#include "common/thread/halt.h"
#include "kernels/vector/vector_normal.h"

/* Deviations within the bounds from which on normals are proposed. */
#define NORMAL_FROM 1.3
#define GROUP_MAX 4
#define LANES TFD_PHILOX_LANES

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

struct logarithms {
    const struct tfd_philox_lanes *of;
    float (*out)[LANES];
};

TFD_SIMD_LOOP(make_logarithms)
{
    const struct logarithms *l = arg;

    (void)begin;
    (void)end;
    for (int i = 0; i < LANES; i++)
        l->out[0][i] =
            tfd_normal_log(tfd_normal_uniform_above_0(l->of->pair[0][i]));
    for (int i = 0; i < LANES; i++)
        l->out[2][i] =
            tfd_normal_log(tfd_normal_uniform_above_0(l->of->pair[1][i]));
}

TFD_SIMD_CLONES_WIDE(make_logarithms)

void tfd_truncated_logarithms(const struct tfd_philox_lanes *l,
                              float out[4][LANES])
{
    make_logarithms(&(struct logarithms){l, out}, 0, LANES);
}

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
            tfd_truncated_logarithms(&s->blocks, s->floats);
        s->known = wanted;
    }
    return s->at++;
}

/* One block of the stream, so many numbers. */
TFD_VECTOR int draw_uniform_group(enum tfd_dtype dtype,
                                  struct tfd_truncated_stream *s, int wanted,
                                  double out[GROUP_MAX])
{
    const int block = draw_block(s, wanted);

    if (dtype == TFD_DOUBLE) {
        for (int i = 0; i < 2; i++)
            out[i] = tfd_random_double_of(
                tfd_truncated_number(&s->blocks, block, 2 * i),
                tfd_truncated_number(&s->blocks, block, 2 * i + 1));
        return 2;
    }
    for (int i = 0; i < 4; i++) {
        const uint32_t x = tfd_truncated_number(&s->blocks, block, i);

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
            x[i] = tfd_truncated_number(&s->blocks, block, i);
        tfd_random_make_normals(x, out);
        return 2;
    }
    for (int i = 0; i < 4; i++)
        out[i] = tfd_truncated_round(dtype, (double)s->floats[i][block]);
    return 4;
}

/* ---- Taking and refusing ------------------------------------------------- */

TFD_VECTOR void take_sample(struct tfd_truncated_sampler *s, enum tfd_dtype t,
                            double z)
{
    const double scaled = tfd_truncated_round(t, z * s->deviation);
    const double x = tfd_truncated_round(t, scaled + s->mean);
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
TFD_VECTOR bool take_normals(struct tfd_truncated_sampler *s, enum tfd_dtype t)
{
    while (s->place.left > 0 && !tfd_halted()) {
        double z[GROUP_MAX];
        const int count = draw_normal_group(t, s->stream, z);

        for (int i = 0; i < count && s->place.left > 0; i++)
            if (z[i] >= s->low && z[i] <= s->high)
                take_sample(s, t, z[i]);
            else if (++s->refused > TFD_TRUNCATED_REFUSED_MAX)
                return false;
    }
    return true;
}

TFD_VECTOR bool take_uniforms(struct tfd_truncated_sampler *s, enum tfd_dtype t)
{
    while (s->place.left > 0 && !tfd_halted()) {
        double z[GROUP_MAX], u[GROUP_MAX];
        const int count = draw_uniform_group(t, s->stream, NOTHING, z);

        (void)draw_uniform_group(t, s->stream, NOTHING, u);
        for (int i = 0; i < count && s->place.left > 0; i++) {
            double g;

            z[i] = tfd_truncated_round(
                t, tfd_truncated_round(t, z[i] * s->width) + s->low);
            g = tfd_truncated_round(t, s->plus -
                                           tfd_truncated_round(t, z[i] * z[i]));
            if (u[i] <= tfd_truncated_exp(t, tfd_truncated_round(t, g / 2)))
                take_sample(s, t, z[i]);
            else if (++s->refused >= TFD_TRUNCATED_REFUSED_MAX)
                return false;
        }
    }
    return true;
}

/* The logarithm of proposal i of the block that was drawn last. */
TFD_VECTOR double log_of_proposal(const struct tfd_truncated_sampler *s,
                                  enum tfd_dtype t, int i, double u)
{
    if (t == TFD_FLOAT && u > 0)
        return (double)s->stream->floats[i][s->stream->at - 1];
    return tfd_truncated_log(t, u);
}

/* Pairs of uniforms: a proposal, and what it is taken by. */
TFD_VECTOR bool take_exponentials(struct tfd_truncated_sampler *s,
                                  enum tfd_dtype t)
{
    while (s->place.left > 0 && !tfd_halted()) {
        double u[GROUP_MAX];
        const int count = draw_uniform_group(
            t, s->stream, t == TFD_FLOAT ? LOGARITHMS : NOTHING, u);

        for (int i = 0; i < count && s->place.left > 0; i += 2) {
            const double far = tfd_truncated_round(
                t, -log_of_proposal(s, t, i, u[i]) / s->rate);
            const double z = tfd_truncated_round(t, far + s->low);
            const double x = tfd_truncated_round(
                t, s->low < s->rate ? s->rate - z : s->low - s->rate);
            const double g =
                tfd_truncated_round(t, tfd_truncated_round(t, -x * x) / 2);

            if (u[i + 1] <= tfd_truncated_exp(t, g) && z < s->high)
                take_sample(s, t, z);
            else if (++s->refused >= TFD_TRUNCATED_REFUSED_MAX)
                return false;
        }
    }
    return true;
}

/* ---- Methods ------------------------------------------------------------- */

/* Copies of a method for each type. */
#define METHOD(name)                                            \
    static bool name##_of_type(struct tfd_truncated_sampler *s) \
    {                                                           \
        switch (s->dtype) {                                     \
        case TFD_HALF:                                          \
            return name(s, TFD_HALF);                           \
        case TFD_FLOAT:                                         \
            return name(s, TFD_FLOAT);                          \
        default:                                                \
            return name(s, TFD_DOUBLE);                         \
        }                                                       \
    }

METHOD(take_normals)
METHOD(take_uniforms)
METHOD(take_exponentials)

static const struct tfd_truncated_method normals = {
    .take = take_normals_of_type,
    .failure =
        "TruncatedNormal randn rejection sampler failed to accept a sample.",
    .refused_max = TFD_TRUNCATED_REFUSED_MAX,
    .propose = tfd_truncated_propose_normals,
    .of_float = 4,
    .of_double = 2,
    .ns_float = 350,
    .ns_double = 1200,
};
static const struct tfd_truncated_method uniforms = {
    .take = take_uniforms_of_type,
    .failure = "TruncatedNormal uniform rejection sampler failed to  accept a "
               "sample.",
};
static const struct tfd_truncated_method exponentials = {
    .take = take_exponentials_of_type,
    .failure = "TruncatedNormal exponential distribution rejection "
               "sampler failed to accept a sample.",
    .refused_max = TFD_TRUNCATED_REFUSED_MAX - 1,
    .propose = tfd_truncated_propose_exponentials,
    .of_float = 2,
    .of_double = 1,
    .ns_float = 350,
    .ns_double = 500,
};

/* Bounds further apart are better sampled by exponentials. */
static double uniform_width(const struct tfd_truncated_sampler *s)
{
    const enum tfd_dtype t = s->dtype;
    const double product = tfd_truncated_round(
        t, s->low * tfd_truncated_round(t, s->low - s->root));
    const double power = tfd_truncated_exp(
        t, tfd_truncated_round(t, 0.5 + tfd_truncated_round(t, product / 4)));

    return tfd_truncated_round(t, tfd_truncated_round(t, 2 * power) /
                                      tfd_truncated_round(t, s->low + s->root));
}

static const struct tfd_truncated_method *
method_of(const struct tfd_truncated_sampler *s)
{
    const double from = tfd_truncated_round(s->dtype, NORMAL_FROM);

    if ((s->low < -from && s->high >= 0) || (s->high > from && s->low <= 0))
        return &normals;
    if (s->width < uniform_width(s))
        return &uniforms;
    return &exponentials;
}

enum tfd_code tfd_truncated_sampler_init(struct tfd_truncated_sampler *out,
                                         const struct tfd_truncated *p,
                                         struct tfd_truncated_stream *stream,
                                         struct tfd_truncated_place place,
                                         struct tfd_status *st)
{
    const enum tfd_dtype t = place.out->dtype;
    const bool mirrored = (isinf(p->low) && p->low < 0) || p->high < p->mean;
    const double deviation = mirrored ? -p->deviation : p->deviation;
    const double low = mirrored ? p->high : p->low;
    const double high = mirrored ? p->low : p->high;
    struct tfd_truncated_sampler s = {
        .dtype = t,
        .stream = stream,
        .out = tfd_tensor_data(place.out),
        .place = place,
        .mean = p->mean,
        .deviation = deviation,
        .low = tfd_truncated_round(t, tfd_truncated_round(t, low - p->mean) /
                                          deviation),
        .high = tfd_truncated_round(t, tfd_truncated_round(t, high - p->mean) /
                                           deviation),
    };
    const double square = tfd_truncated_round(t, s.low * s.low);

    if (!(p->deviation > 0) || !(p->low < p->high) ||
        (!isfinite(p->low) && !isfinite(p->high)))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Invalid parameters");
    s.width = tfd_truncated_round(t, s.high - s.low);
    s.plus = s.low < 0 ? 0 : square;
    s.root = tfd_truncated_round(t, sqrt(tfd_truncated_round(t, square + 4)));
    s.rate = tfd_truncated_round(t, tfd_truncated_round(t, s.low + s.root) / 2);
    s.method = method_of(&s);
    *out = s;
    return TFD_OK;
}

enum tfd_code tfd_truncated_check_taken(bool taken,
                                        const struct tfd_truncated_sampler *s,
                                        struct tfd_status *st)
{
    if (taken)
        return TFD_OK;
    return tfd_fail(st, TFD_INTERNAL, "%s", s->method->failure);
}

enum tfd_code tfd_truncated_draw(const struct tfd_truncated *parameters,
                                 struct tfd_truncated_stream *stream,
                                 struct tfd_truncated_place place,
                                 struct tfd_status *st)
{
    struct tfd_truncated_sampler s;

    TFD_TRY(tfd_truncated_sampler_init(&s, parameters, stream, place, st));
    return tfd_truncated_check_taken(s.method->take(&s), &s, st);
}
