/*
 * session_facts.h - sessions, their plans and their running steps as a page
 * shows them.
 *
 * Ownership: texts are borrowed for the call of fn.
 * Threads: loop thread; fn calls nothing of the master.
 */
#ifndef TFD_DAEMON_MASTER_FACTS_SESSION_FACTS_H
#define TFD_DAEMON_MASTER_FACTS_SESSION_FACTS_H

#include "common/measure/histogram.h"
#include "daemon/master/session/master_step.h"

struct tfd_session_facts {
    const char *handle;
    const char *client; /* "": this process */
    uint64_t age_us;    /* 0: it is not open yet */
    uint64_t idle_us;   /* since its client's last call, or end of a step */
    uint64_t steps_done, steps_failed;
    int running, waiting; /* steps; the second for their plans */
    int tasks, plans, partial_runs, callables;
    int32_t nodes;
    uint64_t received, sent; /* bytes of its client's calls */
    size_t memory;           /* tfd_session_facts_memory() */
    const char *state;       /* "creating", "open", "closing" */
};

struct tfd_plan_facts {
    const char *session;
    uint32_t number;
    const char *state; /* "empty", "building", "ready", "failed" */
    const struct tfd_signature *signature;
    int32_t nodes; /* of the graph that it needs; 0: not known yet */
    int parts, running;
    uint64_t here; /* the graph of its part in this task; 0: none */
    uint64_t started;
    const struct tfd_histogram *times; /* of its steps that ended */
};

/* Each calls fn for `max` of them at most, and returns how many there are.
 * Sessions: the youngest first. */
int tfd_session_facts_each(const struct tfd_master *m, int max,
                           void (*fn)(void *ctx,
                                      const struct tfd_session_facts *f),
                           void *ctx);
/* Bytes that this task keeps for the session: its graph, its plans' names, what
 * partial runs were fed, requests that are not answered yet, and what the
 * worker has (worker/service/task_session_memory.h). */
size_t tfd_session_facts_memory(const struct tfd_session *s);
/* The sum of all sessions. */
size_t tfd_session_facts_memory_of_all(const struct tfd_master *m);
/* Those that are compiled, or are being compiled. */
int tfd_session_facts_plans(const struct tfd_master *m, int max,
                            void (*fn)(void *ctx,
                                       const struct tfd_plan_facts *f),
                            void *ctx);
/* Running ones: all of them, which TFD_STEPS_MAX limits. */
void tfd_session_facts_steps(const struct tfd_master *m,
                             tfd_master_step_facts_fn *fn, void *ctx);

#endif
