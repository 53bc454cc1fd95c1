/*
 * candidate_weights.h - the weights of a FixedUnigramCandidateSampler node.
 *
 * They are its attribute `unigrams`, or the last column of a file with commas,
 * `vocab_file`, a line each; each to the power of `distortion`.  In front come
 * `num_reserved_ids` that are never drawn.  Of all that only every
 * `num_shards`th from `shard` on is kept; reserved ids and weights are counted
 * on from those kept, as TensorFlow does.
 *
 * Threads: any.  Errors: INVALID_ARGUMENT unless exactly `range` weights come
 * out of exactly one source; the file's.
 */
#ifndef TFD_KERNELS_CANDIDATE_WEIGHTS_H
#define TFD_KERNELS_CANDIDATE_WEIGHTS_H

#include "kernels/nn/candidate_sampler.h"
#include "kernels/core/kernel.h"

/* *out is to be deinitialised also after a failure. */
enum tfd_code tfd_candidate_weights_read(const struct tfd_kctx *k,
                                         int64_t range,
                                         struct tfd_candidate_sampler *out,
                                         struct tfd_status *st) TFD_MUST_USE;

#endif
