/*
 * graph_facts.h - the graphs that are registered here, parts of plans of
 * whatever master, with their slowest ops, as a page shows them.
 *
 * Ownership: texts are borrowed until the loop goes on.
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_WORKER_GRAPH_FACTS_H
#define TFD_DAEMON_WORKER_GRAPH_FACTS_H

#include "common/base/str.h"

struct tfd_worker_service;

#define TFD_SLOW_OPS_MAX 5

struct tfd_slow_op_facts {
    struct tfd_str name, op, device; /* device "": of none */
    double runs, mean_us;            /* in a step, all its runs together */
    double share; /* of the step's time; those of nodes that run side by side
                     may be more than 1 together */
    bool waits;   /* asynchronous: its time is that until it ended */
};

struct tfd_graph_facts {
    uint64_t id;
    const char *session;     /* handle; "": the default one */
    const char *master_task; /* "": of none */
    int32_t nodes;           /* as compiled */
    uint64_t steps;          /* ended */
    uint64_t sampled;        /* of them: what follows is theirs */
    uint64_t mean_us;        /* from a step's begin to its end, here */
    int slow_count;
    struct tfd_slow_op_facts slow[TFD_SLOW_OPS_MAX]; /* slowest first */
};

typedef void tfd_graph_facts_fn(void *ctx, const struct tfd_graph_facts *f);

/* Calls fn for `max` of them at most, first those whose steps took the most
 * time together, and returns how many there are. */
int tfd_graph_facts_each(const struct tfd_worker_service *w, int max,
                         tfd_graph_facts_fn *fn, void *ctx);
/* False where there is none of that number. */
bool tfd_graph_facts_of(const struct tfd_worker_service *w, uint64_t id,
                        struct tfd_graph_facts *f);

#endif
