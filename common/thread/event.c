/* event.c - see event.h. */
#include "common/thread/event.h"

#include "common/base/atomic.h"
#include "common/thread/spin.h"

/* A thread that makes one step after the other learns from the last ones. */
static _Thread_local struct tfd_spin spin;

void tfd_event_init(struct tfd_event *e, enum tfd_lock_rank rank)
{
    tfd_lock_init(&e->lock, rank);
    tfd_cond_init(&e->cond);
    e->set = false;
}

void tfd_event_deinit(struct tfd_event *e)
{
    tfd_cond_deinit(&e->cond);
    tfd_lock_deinit(&e->lock);
}

void tfd_event_set(struct tfd_event *e)
{
    tfd_lock(&e->lock);
    TFD_STORE_RELEASE(&e->set, true);
    tfd_cond_signal(&e->cond);
    tfd_unlock(&e->lock);
}

void tfd_event_wait(struct tfd_event *e, int64_t spin_us)
{
    spin.limit_ns = spin_us * 1000;
    tfd_spin_begin(&spin);
    while (!TFD_LOAD_ACQUIRE(&e->set) && tfd_spin_again(&spin))
        ;
    tfd_lock(&e->lock); /* or the other may still hold it */
    while (!e->set)
        tfd_cond_wait(&e->cond, &e->lock);
    tfd_unlock(&e->lock);
    tfd_spin_end(&spin);
}
