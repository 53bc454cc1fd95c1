/*
 * task_state.h - what a task says of itself to others (tfd.TaskState,
 * common/proto/peer.proto): enough for a map of the cluster.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_STATUS_TASK_STATE_H
#define TFD_DAEMON_STATUS_TASK_STATE_H

#include "daemon/status/view.h"

#define TFD_TASK_STATE_WAITING_MAX 4
#define TFD_TASK_STATE_WAITS_SIZE 200

/* A step that waits on that task, and for what. */
struct tfd_waiting_step {
    int64_t step;
    uint64_t waited_us;
    char waits[TFD_TASK_STATE_WAITS_SIZE];
};

struct tfd_task_state {
    char task[256];
    char version[32];
    uint64_t incarnation, up_us;
    uint64_t draining; /* 0, 1 */
    uint64_t sessions, contexts;
    uint64_t steps_running, steps_done, steps_us, oldest_step_us;
    uint64_t worker_steps_running, worker_steps_done;
    uint64_t memory_bytes, memory_limit, resources, warnings;
    int waiting_count;
    struct tfd_waiting_step waiting[TFD_TASK_STATE_WAITING_MAX];
};

void tfd_task_state_fill(const struct tfd_view *v, struct tfd_task_state *out);
void tfd_task_state_encode(struct tfd_bytes *b, const struct tfd_task_state *s);
/* INTERNAL for what is no such message; texts are cut where they are longer. */
enum tfd_code tfd_task_state_decode(struct tfd_str proto,
                                    struct tfd_task_state *out,
                                    struct tfd_status *st) TFD_MUST_USE;

#endif
