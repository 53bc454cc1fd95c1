/*
 * resource_sums.h - what the resources of this task's devices come to, for
 * metrics: variables and their memory, queues and their elements, the global
 * step.  Up to TFD_METRIC_RESOURCES_MAX resources are looked at, each under its
 * lock for a moment; those of isolated sessions are not among them.
 *
 * Ownership: the caller frees.  Threads: loop thread.
 */
#ifndef TFD_DAEMON_STATUS_RESOURCE_SUMS_H
#define TFD_DAEMON_STATUS_RESOURCE_SUMS_H

#include "config/limits.h"
#include "daemon/worker/service/worker.h"
#include "daemon/worker/state/containers.h"

/* More containers than this have a global step only by mistake. */
#define TFD_GLOBAL_STEPS_MAX 8

struct tfd_queue_sum {
    const char *device; /* lives as long as the worker */
    char container[TFD_CONTAINERS_TEXT_SIZE];
    char name[TFD_CONTAINERS_TEXT_SIZE];
    int64_t elements;
};

struct tfd_step_sum {
    char container[TFD_CONTAINERS_TEXT_SIZE];
    int64_t value;
};

struct tfd_resource_sums {
    int variables;
    int64_t variable_bytes;
    struct tfd_queue_sum queues[TFD_METRIC_QUEUES_MAX];
    int queue_count;
    struct tfd_step_sum steps[TFD_GLOBAL_STEPS_MAX];
    int step_count;
    uint64_t left_out; /* queues beyond the most, resources not looked at */
};

/* NULL: no memory. */
struct tfd_resource_sums *tfd_resource_sums_new(struct tfd_worker_service *w);
void tfd_resource_sums_free(struct tfd_resource_sums *s);

#endif
