/*
 * trace.h - when each node of a step ran and what it made, as TensorFlow's
 * StepStats; only steps that a client asked to be traced have one.
 *
 *     node name, label "name = Op(inputs)", times, outputs, bytes
 *
 * Nodes that move values between tasks are not nodes here: a value that came
 * from another task is recorded where it arrived, as "RecvTensor", with what
 * TensorFlow's RPC log says of it.  What the compiler left out (constants,
 * Identity that only passes on) is there without duration, if TensorFlow would
 * have run it exactly once.
 *
 * Format: core/framework/step_stats.proto; read by Python's timeline.py.
 * Times are wall time, so that those of several tasks lie side by side.
 *
 * Threads: recording, any; the rest, the loop thread.
 */
#ifndef TFD_DAEMON_WORKER_TRACE_H
#define TFD_DAEMON_WORKER_TRACE_H

#include "daemon/worker/run/step.h"

struct tfd_trace;

/* Of a step about to run on these devices; it begins now. */
struct tfd_trace *tfd_trace_new(const struct tfd_rt *devices, int device_count,
                                struct tfd_status *st);
void tfd_trace_free(struct tfd_trace *t); /* NULL is allowed */

/* The nodes of the graph that are not executed; before the step begins. */
void tfd_trace_left_out(struct tfd_trace *t, const struct tfd_exec *e);
/* A node that ran from begun_ns until now. */
void tfd_trace_node(struct tfd_trace *t, const struct tfd_step *s,
                    const struct tfd_exec_node *n, uint64_t begun_ns,
                    const struct tfd_tensor *out);
/* A Recv that has its value; those within this task are left out. */
void tfd_trace_recv(struct tfd_trace *t, const struct tfd_async *a);

/* Appends the fields of a StepStats. */
void tfd_trace_write(const struct tfd_trace *t, struct tfd_bytes *out);

#endif
