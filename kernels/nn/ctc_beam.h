/*
 * ctc_beam.h - the likeliest sequences of labels of one item of a batch, by
 * following only so many beginnings at a time ("beam").
 *
 * A search holds a tree of the beginnings that it follows and of what those
 * began with; nodes that nothing needs any more are used again, so that it has
 * at most TFD_CTC_NODES_MAX of them.
 *
 * Threads: any; each call is a search of its own.
 */
#ifndef TFD_KERNELS_CTC_BEAM_H
#define TFD_KERNELS_CTC_BEAM_H

#include "kernels/nn/ctc.h"

/* Sequences of one item: their lengths, and their labels one after the other,
 * which lie in the buffer.  Whoever has it lets go of the buffer. */
struct tfd_ctc_found {
    struct tfd_buffer *buffer;
    int64_t *length;
    int32_t *label;
};

struct tfd_ctc_search {
    const struct tfd_tensor *inputs;
    int64_t item, steps; /* of the inputs */
    int64_t width;       /* beginnings that are followed */
    int64_t paths;       /* sequences that are wanted */
    bool merge;          /* the same label again is left out of a sequence */
};

/* Room for `paths` sequences of `labels` labels together.  RESOURCE_EXHAUSTED
 * without memory. */
enum tfd_code tfd_ctc_found_new(int64_t paths, int64_t labels,
                                struct tfd_ctc_found *out,
                                struct tfd_status *st) TFD_MUST_USE;

/* The likeliest first; chance has room for the logarithm of each one's
 * probability.  INVALID_ARGUMENT where there are not so many; CANCELLED where
 * the thread is told to stop. */
enum tfd_code tfd_ctc_beam(const struct tfd_ctc_search *s,
                           struct tfd_ctc_found *found, double *chance,
                           struct tfd_status *st) TFD_MUST_USE;

#endif
