/*
 * meet.h - finds out whether the tasks that a function's values lie on speak
 * native, before the function is cut (cut.h): between those that do, values are
 * pushed, and the others are asked for theirs.
 *
 * What a task speaks is known once there is a connection to it.  One that
 * cannot be reached counts as one that does not speak native, and the function
 * fails later, where it is needed.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_PARTS_MEET_H
#define TFD_DAEMON_EAGER_PARTS_MEET_H

#include "daemon/eager/parts/tasks.h"

/* Embedded by who waits, who counts the tasks meanwhile. */
struct tfd_eager_meeting {
    void (*met)(struct tfd_eager_meeting *m);
    int pending;
};

/* devices: of the tasks' set.  met() follows, possibly at once. */
void tfd_eager_meet(struct tfd_eager_meeting *m, struct tfd_eager_tasks *c,
                    const int *devices, int count);
/* native: by worker. */
void tfd_eager_met_native(const struct tfd_eager_tasks *c, bool *native);

#endif
