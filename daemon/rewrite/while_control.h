/*
 * while_control.h - while loops whose body spans tasks (TensorFlow's control
 * loops; protocol.md section 12, runtime.md section 3).
 *
 * A task that receives values within a frame needs to know when an iteration
 * begins there.  So each such (frame, task) gets a loop of its own that carries
 * nothing and turns as often as the frame does:
 *
 *     Enter -> Merge -> Switch -> NextIteration -> Merge
 *                ^         ^
 *                |         +-- the frame's LoopCond, received each iteration
 *                +-- every _Recv of the frame in this task waits for it
 *
 * The Enter of a frame outside of others takes a constant; within another frame
 * it takes the Merge of the control loop of that one in the same task.
 *
 * Before, where it saves edges between tasks, a Switch goes to the task of its
 * data, an Exit to that of what it takes out, an Enter (of no reference) and a
 * NextIteration to that of their first consumer.
 *
 * Ownership: all is in the request's arena.  Threads: one at a time.
 */
#ifndef TFD_DAEMON_REWRITE_WHILE_CONTROL_H
#define TFD_DAEMON_REWRITE_WHILE_CONTROL_H

#include "daemon/rewrite/partition.h"

struct tfd_control_loop {
    int worker;
    int device;    /* in the device set */
    int32_t frame; /* private to while_control.c */
    int32_t outer; /* the control loop that feeds its Enter, or -1 */
    int32_t next;  /* another of its frame, or -1 */
    struct tfd_edge predicate; /* in the pruned graph */
    char restart[32];          /* "^<its Merge>", what a _Recv waits for */
};

struct tfd_while_control {
    const int32_t *device_of; /* by graph node: the request's, or new places */
    struct tfd_control_loop *loops;
    int32_t loop_count;
    struct tfd_while_finder *finder; /* NULL: the graph has no loops */
};

/* INVALID_ARGUMENT when a loop that spans tasks has no LoopCond, or an edge
 * between tasks leads from one frame to another. */
enum tfd_code tfd_while_control_find(const struct tfd_partition_request *r,
                                     struct tfd_while_control *out,
                                     struct tfd_status *st) TFD_MUST_USE;

/* Whether the outputs of a node of the pruned graph are within a frame. */
bool tfd_while_control_inside(const struct tfd_while_control *c, int32_t i);

/* The loop that restarts what `worker` receives from a node of the pruned
 * graph; NULL outside of frames. */
const struct tfd_control_loop *
tfd_while_control_of(const struct tfd_while_control *c, int32_t from,
                     int worker);

/* Writes the nodes of one control loop.  predicate: the input text of its
 * predicate in its task. */
void tfd_while_control_put(const struct tfd_while_control *c, int32_t loop,
                           struct tfd_str predicate, struct tfd_bytes *out);

#endif
