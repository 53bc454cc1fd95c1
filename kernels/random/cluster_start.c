/*
 * cluster_start.c - points from which the search for clusters begins:
 *
 *     KmeansPlusPlusInitialization KMC2ChainInitialization
 *
 * The first takes points one after the other, each with a probability that is
 * proportional to its squared distance from those taken before (D. Arthur, S.
 * Vassilvitskii, "k-means++: the advantages of careful seeding", 2007), and of
 * several tries the one that leaves the smallest sum of distances.  The second
 * is a Markov chain over candidates that arrive with their distances (O. Bachem
 * et al., "Approximate k-means++ in sublinear time", 2016).
 *
 * Draws are TensorFlow's from the same seed; they differ where a sum of floats,
 * which is added up in another order, is rounded to another interval.
 */
#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/random/random_number.h"

#include <math.h>
#include <string.h>

struct clusters {
    const float *points;
    int64_t count, size; /* of points, of each */
    int64_t tries;
    float *norm;    /* half the square of a point's length */
    float *near;    /* half the squared distance from the nearest one taken */
    float *sums;    /* of `near` up to a point */
    float *attempt; /* what `near` would be with a point */
    float *best;
    bool *taken;
    struct tfd_random_draw draw;
};

/* ---- Distances ----------------------------------------------------------- */

static float dot(const float *x, const float *y, int64_t n)
{
    float sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* `to` becomes what `near` would be if point `at` were taken; their sum. */
static float try_point(const struct clusters *c, int64_t at, float *to)
{
    const float *point = c->points + at * c->size;
    float sum = 0;

    for (int64_t i = 0; i < c->count && !tfd_halted(); i++) {
        const float far = c->norm[i] -
                          dot(c->points + i * c->size, point, c->size) +
                          c->norm[at];

        to[i] = far < c->near[i] ? far : c->near[i];
        sum += to[i];
    }
    return sum;
}

/* ---- Drawing ------------------------------------------------------------- */

/* The first point up to which the sum is beyond `limit`. */
static int64_t first_beyond(const struct clusters *c, float limit)
{
    int64_t low = 0, high = c->count;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (limit < c->sums[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low < c->count ? low : c->count - 1;
}

/* Draws that hit points taken already are made again, but where rounding or
 * numbers that are none leave no others they never end. */
#define DRAWS_MAX 1000000

/* One that is not taken. */
static enum tfd_code draw_point(struct clusters *c, bool first, int64_t *out,
                                struct tfd_status *st)
{
    const float total = c->sums[c->count - 1];

    for (int i = 0; i < DRAWS_MAX; i++) {
        if (tfd_halted())
            return tfd_halt_fail(st);
        *out = first || !(total > 0)
                   ? (int64_t)tfd_random_below64(&c->draw, (uint64_t)c->count)
                   : first_beyond(c, tfd_random_draw_float(&c->draw) * total);
        if (!c->taken[*out])
            return TFD_OK;
    }
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%d draws have found no point of %lld that is not taken",
                    DRAWS_MAX, (long long)c->count);
}

static void swap_floats(float **a, float **b)
{
    float *t = *a;

    *a = *b;
    *b = t;
}

/* The point, and `near` with it. */
static enum tfd_code take_point(struct clusters *c, bool first, int64_t *out,
                                struct tfd_status *st)
{
    float least = INFINITY;
    int64_t at = 0;

    *out = 0;
    if (c->tries == 0) {
        TFD_TRY(draw_point(c, first, out, st));
        (void)try_point(c, *out, c->attempt);
        swap_floats(&c->near, &c->attempt);
        return TFD_OK;
    }
    for (int64_t i = 0; i <= c->tries && !tfd_halted(); i++) {
        float sum;

        TFD_TRY(draw_point(c, first, &at, st));
        sum = try_point(c, at, c->attempt);
        if (sum < least) {
            least = sum;
            *out = at;
            swap_floats(&c->best, &c->attempt);
        }
    }
    swap_floats(&c->near, &c->best);
    return TFD_OK;
}

static enum tfd_code take_points(struct clusters *c, int64_t count, float *out,
                                 struct tfd_status *st)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t at = 0;
        float sum = 0;

        for (int64_t j = 0; i > 0 && j < c->count && !tfd_halted(); j++)
            c->sums[j] = sum += c->near[j];
        TFD_TRY(take_point(c, i == 0, &at, st));
        memcpy(out + i * c->size, c->points + at * c->size,
               sizeof(float) * (size_t)c->size);
        c->taken[at] = true;
    }
    return TFD_OK;
}

/* ---- Kernels ------------------------------------------------------------- */

static enum tfd_code check_lone(const struct tfd_kctx *k, int arg,
                                const char *name, int64_t *out,
                                struct tfd_status *st)
{
    if (k->in[arg].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input %s should be a scalar.", name);
    *out = tfd_check_int_at(&k->in[arg], 0);
    return TFD_OK;
}

static enum tfd_code check_clusters(const struct tfd_kctx *k,
                                    struct clusters *c, int64_t *wanted,
                                    struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[0].shape;
    int64_t seed = 0;

    if (s->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input points should be a matrix.");
    TFD_TRY(check_lone(k, 1, "num_to_sample", wanted, st));
    TFD_TRY(check_lone(k, 2, "seed", &seed, st));
    TFD_TRY(check_lone(k, 3, "num_retries_per_sample", &c->tries, st));
    c->count = s->dim[0];
    c->size = s->dim[1];
    if (c->count <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected points.rows() > 0.");
    if (*wanted <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected num_to_sample > 0.");
    if (*wanted > c->count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected num_to_sample <= points.rows(). %lld vs "
                        "%lld.",
                        (long long)*wanted, (long long)c->count);
    if (c->tries < 0)
        c->tries = 2 + (int64_t)log((double)*wanted);
    c->points = tfd_tensor_data(&k->in[0]);
    c->draw = tfd_random_draw_of(tfd_philox_of((uint64_t)seed, 0));
    return TFD_OK;
}

#define ROWS 5 /* of floats, one for each point */

/* NULL without memory, or where the step has ended. */
static struct tfd_buffer *cluster_room(struct clusters *c)
{
    const size_t n = (size_t)c->count;
    struct tfd_buffer *room;
    size_t bytes;

    if (__builtin_mul_overflow(n, ROWS * sizeof(float) + sizeof(bool), &bytes))
        return NULL;
    room = tfd_buffer_new(bytes);
    if (!room)
        return NULL;
    c->norm = room->data;
    c->near = c->norm + n;
    c->sums = c->near + n;
    c->attempt = c->sums + n;
    c->best = c->attempt + n;
    c->taken = (bool *)(c->best + n);
    for (int64_t i = 0; i < c->count && !tfd_halted(); i++) {
        const float *point = c->points + i * c->size;

        c->norm[i] = 0.5f * dot(point, point, c->size);
        c->near[i] = INFINITY;
        c->sums[i] = 0;
        c->best[i] = 0;
        c->taken[i] = false;
    }
    return room;
}

static enum tfd_code kmeans_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct clusters c = {.tries = 0};
    struct tfd_buffer *room;
    enum tfd_code code;
    int64_t wanted = 0;
    struct tfd_shape out = {2, {0}};

    TFD_TRY(check_clusters(k, &c, &wanted, st));
    out.dim[0] = wanted;
    out.dim[1] = c.size;
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &out, st));
    room = cluster_room(&c);
    if (!room)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM for the distances of %lld points",
                        (long long)c.count);
    code = tfd_halted()
               ? tfd_halt_fail(st)
               : take_points(&c, wanted, tfd_tensor_data(&k->out[0]), st);
    tfd_buffer_unref(room);
    return code;
}

static enum tfd_code chain_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    const float *distance = tfd_tensor_data(&k->in[0]);
    struct tfd_random_draw draw;
    int64_t count, seed = 0, at = 0;

    if (k->in[0].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input distances should be a vector.");
    TFD_TRY(check_lone(k, 1, "seed", &seed, st));
    count = tfd_tensor_elements(&k->in[0]);
    if (count == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected distances_tensor.size() > 0.");
    draw = tfd_random_draw_of(tfd_philox_of((uint64_t)seed, 0));
    for (int64_t i = 1; i < count && !tfd_halted(); i++)
        if (distance[i] > tfd_random_draw_float(&draw) * distance[at])
            at = i;
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &scalar, st));
    *(int64_t *)tfd_tensor_data(&k->out[0]) = at;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static enum tfd_code samples_matrix(struct tfd_shape_ctx *s,
                                    struct tfd_status *st)
{
    (void)st;
    s->out[0] = (struct tfd_shape){2, {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "KmeansPlusPlusInitialization",
        .inputs = "points: float, num_to_sample: int64, seed: int64, "
                  "num_retries_per_sample: int64",
        .outputs = "samples: float",
        .shape = samples_matrix,
    },
    {
        .name = "KMC2ChainInitialization",
        .inputs = "distances: float, seed: int64",
        .outputs = "index: int64",
        .shape = tfd_shape_scalar,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("KmeansPlusPlusInitialization", kmeans_compute,
                   .flags = TFD_KERNEL_HEAVY),
    TFD_KERNEL_ANY("KMC2ChainInitialization", chain_compute),
};

const struct tfd_family tfd_family_cluster_start = {
    .name = "cluster_start",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
