/*
 * task_session_memory.h - the bytes that this task keeps for a session.
 *
 *     its registered graphs, constants and the functions that they call;
 *     the state of its steps, those kept for the next run too
 *     tensors behind session handles (kernels/state/session_tensor.h)
 *     where it isolates its state: its own variables, queues, tables
 *
 * What counts is kept up to date where it changes; only the resources of an
 * isolated session are looked at when somebody asks, the first ones of many
 * standing for all.  Resources of the task's devices are everybody's and do not
 * count, nor do the values that a step computes on its way, or the states of
 * kernels.  A buffer that two hold counts for each of them.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_WORKER_TASK_SESSION_MEMORY_H
#define TFD_DAEMON_WORKER_TASK_SESSION_MEMORY_H

#include "daemon/worker/service/task_session.h"

size_t tfd_task_session_memory(const struct tfd_task_session *s);
/* Bytes of one resource; 0: its size is not known. */
size_t tfd_task_session_resource_memory(struct tfd_resource *r);

#endif
