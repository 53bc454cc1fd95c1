/*
 * candidate_sampler.h - distributions over the integers below `range`, from
 * which sampled losses draw classes: log-uniform, uniform, and by weights.
 *
 *   log-uniform  P(v) = log((v + 2) / (v + 1)) / log(range + 1)
 *   uniform      P(v) = 1 / range
 *   weights      A. Walker's alias method: an index and a coin
 *   learned      by how often a class was seen, which candidate_tree.h counts
 *
 * What is drawn is bit for bit what TensorFlow draws from the same stream, the
 * single precision of probabilities included.
 *
 * Threads: a sampler is read-only once made, but for what LEARNED counts.
 */
#ifndef TFD_KERNELS_CANDIDATE_SAMPLER_H
#define TFD_KERNELS_CANDIDATE_SAMPLER_H

#include "kernels/nn/candidate_tree.h"
#include "kernels/random/random_number.h"

#include <stdbool.h>

enum tfd_candidate_kind {
    TFD_CANDIDATE_LOG_UNIFORM,
    TFD_CANDIDATE_UNIFORM,
    TFD_CANDIDATE_WEIGHTS,
    TFD_CANDIDATE_LEARNED,
};

struct tfd_candidate_sampler {
    enum tfd_candidate_kind kind;
    int64_t range;
    double log_range; /* of range + 1 */
    /* For WEIGHTS; made from all weights at once. */
    float *weight;
    float *coin;    /* an index is kept when a uniform is below its coin */
    int32_t *alias; /* what it is replaced by otherwise */
    float total;
    struct tfd_candidate_tree tree; /* for LEARNED */
};

void tfd_candidate_sampler_init(struct tfd_candidate_sampler *s,
                                enum tfd_candidate_kind kind, int64_t range);
/* Weights: `range` floats, malloc'ed, which the sampler owns from then on, also
 * after a failure.  RESOURCE_EXHAUSTED. */
enum tfd_code tfd_candidate_sampler_weights(struct tfd_candidate_sampler *s,
                                            float *weight, int64_t range,
                                            struct tfd_status *st) TFD_MUST_USE;
void tfd_candidate_sampler_deinit(struct tfd_candidate_sampler *s);

int64_t tfd_candidate_sampler_draw(const struct tfd_candidate_sampler *s,
                                   struct tfd_random_draw *draw);
/* 0 <= value < range */
float tfd_candidate_sampler_probability(const struct tfd_candidate_sampler *s,
                                        int64_t value);

#endif
