/*
 * candidate_sampler.c - see candidate_sampler.h.
 */
#include "kernels/nn/candidate_sampler.h"

#include <math.h>
#include <stdlib.h>

void tfd_candidate_sampler_init(struct tfd_candidate_sampler *s,
                                enum tfd_candidate_kind kind, int64_t range)
{
    *s = (struct tfd_candidate_sampler){
        .kind = kind,
        .range = range,
        .log_range = log1p((double)range),
    };
}

void tfd_candidate_sampler_deinit(struct tfd_candidate_sampler *s)
{
    free(s->weight);
    free(s->coin);
    free(s->alias);
    tfd_candidate_tree_deinit(&s->tree);
    *s = (struct tfd_candidate_sampler){.range = 0};
}

/* ---- Weights ------------------------------------------------------------- */

/* Shares `have` of one slot each; what a slot has too little of is filled up by
 * one that has too much.  Both stacks lie in `stack`, one at each end. */
static void pair_up(struct tfd_candidate_sampler *s, double *have,
                    int32_t *stack)
{
    int64_t n = s->range, low = 0, high = n; /* [0, low), [high, n) */

    for (int64_t i = 0; i < n; i++)
        stack[have[i] < 1 ? low++ : --high] = (int32_t)i;
    while (low > 0 && high < n) {
        int32_t poor = stack[--low], rich = stack[high++];

        s->alias[poor] = rich;
        have[rich] -= 1 - have[poor];
        stack[have[rich] < 1 ? low++ : --high] = rich;
    }
    for (int64_t i = 0; i < n; i++)
        s->coin[i] = (float)have[i];
    /* What is left has its whole slot, but for rounding. */
    for (int64_t i = 0; i < n; i++)
        if (i < low || i >= high) {
            s->coin[stack[i]] = 1;
            s->alias[stack[i]] = stack[i];
        }
}

enum tfd_code tfd_candidate_sampler_weights(struct tfd_candidate_sampler *s,
                                            float *weight, int64_t range,
                                            struct tfd_status *st)
{
    size_t n = range <= INT32_MAX ? (size_t)range : SIZE_MAX / sizeof(double);
    double *have = malloc(n * sizeof(*have)), sum = 0;
    int32_t *stack = malloc(n * sizeof(*stack));

    tfd_candidate_sampler_init(s, TFD_CANDIDATE_WEIGHTS, range);
    s->weight = weight;
    s->coin = malloc(n * sizeof(*s->coin));
    s->alias = malloc(n * sizeof(*s->alias));
    if (!have || !stack || !s->coin || !s->alias) {
        free(have);
        free(stack);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when sampling from %lld weights",
                        (long long)range);
    }
    for (int64_t i = 0; i < range; i++) {
        sum += (double)weight[i];
        s->total += weight[i];
    }
    for (int64_t i = 0; i < range; i++)
        have[i] = (double)(weight[i] * (float)range) / sum;
    pair_up(s, have, stack);
    free(have);
    free(stack);
    return TFD_OK;
}

/* ---- Drawing ------------------------------------------------------------- */

/* The log-uniform result may reach the range by rounding. */
static int64_t draw_log_uniform(const struct tfd_candidate_sampler *s,
                                struct tfd_random_draw *draw)
{
    double x = exp(tfd_random_draw_double(draw) * s->log_range);

    return x < 0x1p63 ? ((int64_t)x - 1) % s->range : s->range - 1;
}

static int64_t draw_weighted(const struct tfd_candidate_sampler *s,
                             struct tfd_random_draw *draw)
{
    float coin = tfd_random_draw_float(draw);
    uint32_t i = tfd_random_below32(draw, (uint32_t)s->range);

    return coin < s->coin[i] ? (int64_t)i : s->alias[i];
}

int64_t tfd_candidate_sampler_draw(const struct tfd_candidate_sampler *s,
                                   struct tfd_random_draw *draw)
{
    switch (s->kind) {
    case TFD_CANDIDATE_LOG_UNIFORM:
        return draw_log_uniform(s, draw);
    case TFD_CANDIDATE_WEIGHTS:
        return draw_weighted(s, draw);
    case TFD_CANDIDATE_LEARNED:
        return tfd_candidate_tree_draw(&s->tree, draw);
    default:
        return (int64_t)tfd_random_below64(draw, (uint64_t)s->range);
    }
}

float tfd_candidate_sampler_probability(const struct tfd_candidate_sampler *s,
                                        int64_t value)
{
    double v = (double)value;

    switch (s->kind) {
    case TFD_CANDIDATE_LOG_UNIFORM:
        return (float)(log((v + 2) / (v + 1)) / s->log_range);
    case TFD_CANDIDATE_WEIGHTS:
        return s->weight[value] / s->total;
    case TFD_CANDIDATE_LEARNED:
        return tfd_candidate_tree_probability(&s->tree, value);
    default:
        return (float)(1.0 / (double)s->range);
    }
}
