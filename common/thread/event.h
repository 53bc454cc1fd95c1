/*
 * event.h - one thread waits until another says that something is done.
 *
 *     struct tfd_event e;
 *     tfd_event_init(&e, TFD_LOCK_SERVER);
 *     hand it to another thread, which calls tfd_event_set(&e)
 *     tfd_event_wait(&e, spin_us);
 *     tfd_event_deinit(&e);
 *
 * Happens once.  When tfd_event_wait() returns the other thread is done with
 * the event, which may be gone then.
 *
 * Threads: any; one waits.
 */
#ifndef TFD_COMMON_EVENT_H
#define TFD_COMMON_EVENT_H

#include "common/thread/lock.h"

struct tfd_event {
    struct tfd_lock lock;
    struct tfd_cond cond;
    bool set; /* atomic */
};

void tfd_event_init(struct tfd_event *e, enum tfd_lock_rank rank);
void tfd_event_deinit(struct tfd_event *e);
void tfd_event_set(struct tfd_event *e);
/* spin_us: how long the thread may look before it sleeps, where its last waits
 * were as short (spin.h). */
void tfd_event_wait(struct tfd_event *e, int64_t spin_us);

#endif
