/*
 * captures.h - runs static parts of a registered graph as CUDA graphs: their
 * kernels are captured once and then launched together.
 *
 * Why: enqueueing a hundred small kernels one by one costs the host more time
 * than many of them take on the card.  One launch of a CUDA graph
 * (cuda/device/capture.h) enqueues all of them.
 *
 * A part is a set of nodes on one device whose kernels only enqueue work, and
 * enqueue the same work whenever their inputs have the same shapes (and, in
 * host memory, the same values): they have no state, take no references and
 * wait for nothing.  One node more, the gate, stands before them and becomes
 * ready when every input that comes from outside the part has arrived:
 *
 *     inputs --> gate --plain-->     nodes run one by one, as all others do
 *                     --captured-->  one launch; the outputs that leave the
 *                                    part go on from the gate
 *
 * A step runs a part plain when the step is traced, when an input is dead or
 * has another shape than was captured, when inputs lie elsewhere than where
 * the captured kernels read, or while somebody still holds an output that a
 * launch would write over.
 *
 *     inputs    are read where they lie, if the last step had them there too;
 *               otherwise they are copied to memory of the capture first
 *     outputs   are memory of the capture; one that is still held when the
 *               part runs again is copied out from then on
 *
 * Which nodes form a part (capture_find.c): those of one device and one level.
 * A level ends where a path leaves the part and comes back, because the gate
 * would wait for itself.  Other tasks, steps and clients may tie such a knot
 * without any path in this graph.  So a node whose result could be awaited
 * outside must itself wait for all outside inputs of its part; others stay
 * out.  Graphs with loops and bodies of functions have no parts.
 *
 * Whether it pays is measured (capture_trial.c): a few steps run plain, the
 * next ones captured, and the way that had the fastest step is kept.
 *
 * Threads: tfd_captures_find() runs on the thread that compiles, the rest on
 * any; a part serves one step at a time, others run it plain meanwhile.
 */
#ifndef TFD_DAEMON_WORKER_CAPTURES_H
#define TFD_DAEMON_WORKER_CAPTURES_H

#include "common/thread/lock.h"
#include "daemon/worker/compile/exec.h"

struct tfd_runner;
struct tfd_ready;
struct tfd_captured;

/* Gates of a graph at most. */
#define TFD_PARTS_MAX 32

/* What comes from outside: the output of a node, in one or more slots. */
struct tfd_part_input {
    int32_t slot;
    int32_t local;  /* the node that reads it */
    int32_t source; /* the first input that has the same value; often itself */
    bool host;
};

struct tfd_part_edge {
    const struct tfd_exec_edge *edge;
    int32_t value; /* control edges: -1 */
};

/* An output that leaves the part. */
struct tfd_part_value {
    int32_t member; /* position */
    int32_t output;
    bool host;
};

struct tfd_part {
    struct tfd_device *device;
    const struct tfd_exec_node *const *members; /* in an order that edges allow
                                                 */
    const int32_t *member_of; /* by node: position in its part; -1 */
    const struct tfd_part_input *inputs;
    const struct tfd_part_edge *edges; /* that leave it */
    const struct tfd_part_value *values;
    int32_t member_count, input_count, edge_count, value_count;
    int32_t out_max; /* outputs of a member at most */
    /* What changes. */
    int busy; /* atomic: a step is at it; guards the rest */
    struct tfd_captured *captured;
    const void **seen; /* by input: where it was in the step before */
    int32_t misses;    /* in a row */
    int32_t failures;  /* to capture */
};

/* What is measured of a graph's steps; the lock's. */
struct tfd_parts_trial {
    uint64_t steps;
    uint64_t best_ns[2]; /* plain, captured */
    int32_t count[2];
    bool is_over;
};

struct tfd_parts {
    struct tfd_part *part;
    int32_t count;
    bool at_once; /* no trial: captured from the first step on */
    int off;      /* atomic: it does not pay */
    int wanted;   /* atomic: the next step is to capture, on a thread */
    struct tfd_lock lock;
    struct tfd_parts_trial trial;
};

/* How a step runs them. */
enum tfd_parts_mode { TFD_PARTS_PLAIN, TFD_PARTS_CAPTURED };

void tfd_captures_free(struct tfd_parts *p);

/* A step begins; *thread: not on the loop thread, since it will capture. */
enum tfd_parts_mode tfd_captures_begin(struct tfd_parts *p, bool traced,
                                       bool *thread);
/* It has ended well, after so many nanoseconds, of which gates launched what
 * they had captured. */
void tfd_captures_end(struct tfd_parts *p, enum tfd_parts_mode mode,
                      int32_t launched, uint64_t took_ns);

/* A gate is ready.  True: the part has run, its outputs are on their way; else
 * its nodes are to be let go. */
bool tfd_captures_run(struct tfd_runner *r, struct tfd_ready *gate);

#endif
