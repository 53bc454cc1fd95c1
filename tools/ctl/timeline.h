/*
 * timeline.h - what the devices of a cluster did in some steps, from their
 * StepStats, as one file for Chrome (chrome://tracing) and Perfetto.
 *
 *     one process of the file     a device
 *     its threads                 nodes that ran at the same time
 *     the clock                   the one of who asked for the steps: this
 *                                 program, or the master of clients' steps
 *
 * Each task has a clock of its own.  All that a task did in a step happened
 * between the moment when the step was asked for and the one when it was
 * answered: where a task's clock says otherwise, its times are shifted until
 * they fit into every step that was traced.
 *
 * Threads: one.
 */
#ifndef TFD_TOOLS_CTL_TIMELINE_H
#define TFD_TOOLS_CTL_TIMELINE_H

#include "common/base/str.h"

#include <jansson.h>

#define TFD_CTL_EVENTS_MAX 2000000
#define TFD_CTL_DEVICES_MAX 4096

struct tfd_ctl_event;
struct tfd_ctl_device;

struct tfd_ctl_timeline {
    struct tfd_ctl_event *events;
    size_t count, capacity;
    struct tfd_ctl_device *devices;
    size_t device_count;
    size_t span_count; /* of the events, in one more row for each task */
    int64_t steps;
};

void tfd_ctl_timeline_init(struct tfd_ctl_timeline *t);
void tfd_ctl_timeline_deinit(struct tfd_ctl_timeline *t);

/* The RunMetadata of a step that lasted from begin_us to end_us of the wall
 * clock.  INVALID_ARGUMENT for a message that cannot be read, or a step that
 * ends before it begins; RESOURCE_EXHAUSTED for more events than
 * TFD_CTL_EVENTS_MAX. */
enum tfd_code tfd_ctl_timeline_add(struct tfd_ctl_timeline *t,
                                   struct tfd_str metadata, int64_t begin_us,
                                   int64_t end_us,
                                   struct tfd_status *st) TFD_MUST_USE;

/* The step that was added last, as its master saw it. */
struct tfd_ctl_step_span {
    struct tfd_str task; /* the master's */
    struct tfd_str session;
    int64_t id;
    int64_t begin_us, end_us;
};
/* An event in a row of its own, "TASK/steps". */
enum tfd_code tfd_ctl_timeline_add_span(struct tfd_ctl_timeline *t,
                                        const struct tfd_ctl_step_span *span,
                                        struct tfd_status *st) TFD_MUST_USE;

/* The file, after the last step; NULL without memory. */
json_t *tfd_ctl_timeline_json(struct tfd_ctl_timeline *t);

#endif
