/*
 * collective_state.h - what the kernels of collectives share: what their nodes
 * say, and the ways in which members exchange values, one file each.
 *
 * Each run function is what tfd_collective_start() calls
 * (core/collective_member.h); its kernel's state is a struct
 * tfd_collective_state.  Keys and the order in which values are combined are
 * TensorFlow's, whose servers may be members.
 *
 * Threads: that of run(), which may wait.
 */
#ifndef TFD_KERNELS_COLLECTIVE_STATE_H
#define TFD_KERNELS_COLLECTIVE_STATE_H

#include "kernels/core/collective_member.h"

struct tfd_collective_state {
    enum tfd_dtype dtype;
    float timeout_s;
    tfd_range_fn *merge;  /* of two values, a struct tfd_row; NULL: none */
    tfd_range_fn *divide; /* by the size of the group; NULL: it is not */
    bool finds_subdivs;   /* by the size of the value, at most max_subdivs */
    int64_t max_subdivs;  /* for each device of a task */
    int64_t *subdiv;      /* else these offsets */
    int subdiv_count;
    int32_t group_size, group_key, instance_key; /* of ops that have attributes
                                                    for them */
    struct tfd_shape shape;                      /* attribute of a broadcast */
};

/* ring.c: a reduction, and a gather along the first dimension. */
tfd_collective_run_fn tfd_collective_reduce, tfd_collective_gather;
/* tree.c: from the source to all others. */
tfd_collective_run_fn tfd_collective_broadcast;
/* all_to_all.c: row i of the input goes to member i. */
tfd_collective_run_fn tfd_collective_all_to_all;

/* Elements [begin, begin + n) of a value as a vector that shares its bytes. */
enum tfd_code tfd_collective_slice(const struct tfd_tensor *t, int64_t begin,
                                   int64_t n, struct tfd_tensor *out,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
