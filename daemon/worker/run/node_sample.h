/*
 * node_sample.h - what the nodes of a graph take in the steps that are sampled,
 * and the slowest of them, for whoever looks at a plan.
 *
 *     sampled step --> sums by node --> at its end: the slowest nodes
 *
 * Sampled are steps 0, 1, 2, 4, 8 and so on of a graph, and each of so many
 * afterwards, so that the clock is read in few.  What the first step took,
 * which makes what later ones find, counts no more once a second one begins. A
 * step that fails counts with what it did.
 *
 * The time of a node is that from its start to when its outputs have been
 * passed on; of one that is asynchronous, to its end, with all that it waited
 * for; of one that enqueues work for a GPU, that of enqueuing.  A node in a
 * loop counts each time it runs.  Sends, Recvs, feeds and fetches are left out:
 * what these take is some other node's.
 *
 * Threads: sums, any; the rest, the loop thread.
 */
#ifndef TFD_DAEMON_WORKER_NODE_SAMPLE_H
#define TFD_DAEMON_WORKER_NODE_SAMPLE_H

#include "daemon/worker/compile/exec.h"

/* Nodes that are kept as the slowest. */
#define TFD_SLOW_NODES_MAX 5

struct tfd_node_time {
    uint64_t ns;   /* atomic */
    uint64_t runs; /* atomic */
};

struct tfd_slow_node {
    const struct tfd_exec_node *node;
    uint64_t ns, runs; /* of all samples */
};

struct tfd_node_samples {
    struct tfd_node_time *of; /* by node */
    bool is_warm;             /* the first step's are forgotten */
    uint64_t steps;           /* ended */
    uint64_t took_ns;         /* these, from begin to end */
    int slow_count;
    struct tfd_slow_node slow[TFD_SLOW_NODES_MAX]; /* slowest first */
};

/* Whether the step after so many is sampled. */
static inline bool tfd_node_sample_wanted(uint64_t steps)
{
    return (steps & (steps - 1)) == 0 || steps % 1024 == 0;
}

/* A sampled step begins, ... */
void tfd_node_sample_begin(struct tfd_exec *e);
/* ... and has ended, after so many nanoseconds. */
void tfd_node_sample_end(struct tfd_exec *e, uint64_t took_ns);

/* The node counts; one that is asynchronous when it ends. */
bool tfd_node_sample_takes(const struct tfd_exec_node *n);
/* It ran once more, which stands for `times` runs. */
void tfd_node_sample_add(const struct tfd_exec *e,
                         const struct tfd_exec_node *n, uint64_t took_ns,
                         uint32_t times);

#endif
