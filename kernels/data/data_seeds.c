/*
 * data_seeds.c - see data_seeds.h; and the operation that makes one.
 */
#include "kernels/data/data_seeds.h"

#include "common/base/container.h"
#include "common/base/entropy.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"

#include <stdlib.h>

static void free_seeds(struct tfd_resource *r)
{
    struct tfd_data_seeds *s =
        TFD_CONTAINER_OF(r, struct tfd_data_seeds, resource);

    tfd_anonymous_forget(&s->anonymous);
    tfd_lock_deinit(&s->lock);
    free(s);
}

const struct tfd_resource_type tfd_data_seeds_type = {
    .name = "N10tensorflow4data20SeedGeneratorManagerE",
    .what = "seed generator",
    .free = free_seeds,
};

enum tfd_code tfd_data_seeds_new(int64_t seed, int64_t seed2, bool fixed,
                                 struct tfd_data_seeds **out,
                                 struct tfd_status *st)
{
    uint64_t a = (uint64_t)seed, b = (uint64_t)seed2;
    struct tfd_data_seeds *s;

    if (a == 0 && b == 0) {
        TFD_TRY(tfd_entropy_u64(&a, st));
        TFD_TRY(tfd_entropy_u64(&b, st));
    }
    s = calloc(1, sizeof(*s));
    if (!s)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for seeds");
    tfd_resource_init(&s->resource, &tfd_data_seeds_type);
    tfd_lock_init(&s->lock, TFD_LOCK_RESOURCE);
    s->fixed = fixed;
    s->seed = a;
    s->seed2 = b;
    s->draw = tfd_random_draw_of(tfd_philox_of(a, b));
    *out = s;
    return TFD_OK;
}

void tfd_data_seeds_unref(struct tfd_data_seeds *s)
{
    if (s)
        tfd_resource_unref(&s->resource);
}

void tfd_data_seeds_pair(struct tfd_data_seeds *s, uint64_t pair[2])
{
    tfd_lock(&s->lock);
    pair[0] = s->fixed ? s->seed : tfd_random_draw32(&s->draw);
    pair[1] = s->fixed ? s->seed2 : tfd_random_draw32(&s->draw);
    s->drawn++;
    tfd_unlock(&s->lock);
}

struct tfd_random_draw tfd_data_seeds_next(struct tfd_data_seeds *s)
{
    uint64_t pair[2];

    tfd_data_seeds_pair(s, pair);
    return tfd_random_draw_of(tfd_philox_of(pair[0], pair[1]));
}

void tfd_data_seeds_save(struct tfd_data_seeds *s,
                         struct tfd_data_seeds_state *out)
{
    tfd_lock(&s->lock);
    *out = (struct tfd_data_seeds_state){s->seed, s->seed2, s->drawn};
    tfd_unlock(&s->lock);
}

/* A pair is half a block of the generator. */
void tfd_data_seeds_load(struct tfd_data_seeds *s,
                         const struct tfd_data_seeds_state *state)
{
    struct tfd_philox p = tfd_philox_of(state->seed, state->seed2);

    tfd_philox_skip(&p, state->drawn / 2);
    tfd_lock(&s->lock);
    s->seed = state->seed;
    s->seed2 = state->seed2;
    s->drawn = state->drawn;
    s->draw = tfd_random_draw_of(p);
    if (state->drawn % 2) {
        (void)tfd_random_draw32(&s->draw);
        (void)tfd_random_draw32(&s->draw);
    }
    tfd_unlock(&s->lock);
}

enum tfd_code tfd_data_seeds_of(struct tfd_kctx *k, int in, int64_t seed,
                                int64_t seed2, bool fixed,
                                struct tfd_data_seeds **out,
                                struct tfd_status *st)
{
    struct tfd_resource *r;

    if (tfd_kctx_resource(k, in, &tfd_data_seeds_type, &r, NULL) != TFD_OK)
        return tfd_data_seeds_new(seed, seed2, fixed, out, st);
    *out = TFD_CONTAINER_OF(r, struct tfd_data_seeds, resource);
    return TFD_OK;
}

/* ---- Operations ---------------------------------------------------------- */

static enum tfd_code make_seeds(struct tfd_kctx *k, bool fixed,
                                const char *name, struct tfd_status *st)
{
    struct tfd_data_seeds *s;
    int64_t seed, seed2;

    TFD_TRY(tfd_check_int(k, 0, &seed, st));
    TFD_TRY(tfd_check_int(k, 1, &seed2, st));
    TFD_TRY(tfd_data_seeds_new(seed, seed2, fixed, &s, st));
    TFD_TRY(tfd_anonymous_output(k, 0, name, &s->anonymous, &s->resource, st));
    return tfd_anonymous_deleter(k, 1, st);
}

static enum tfd_code random_seeds_compute(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    return make_seeds(k, false, "RandomSeedGenerator", st);
}

static enum tfd_code seeds_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    bool reshuffle;

    TFD_TRY(tfd_check_bool(k, 2, &reshuffle, st));
    return make_seeds(k, !reshuffle, "SeedGenerator", st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "AnonymousSeedGenerator",
        .inputs = "seed: int64, seed2: int64, reshuffle: bool",
        .outputs = "handle: resource, deleter: variant",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "AnonymousRandomSeedGenerator",
        .inputs = "seed: int64, seed2: int64",
        .outputs = "handle: resource, deleter: variant",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("AnonymousSeedGenerator", seeds_compute),
    TFD_KERNEL_ANY("AnonymousRandomSeedGenerator", random_seeds_compute),
};

const struct tfd_family tfd_family_data_seeds = {
    .name = "data_seeds",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
