/* spin.c - see spin.h. */
#define _GNU_SOURCE 1 /* sched_yield() */

#include "common/thread/spin.h"

#include "common/base/clock.h"
#include "common/thread/cost.h"

#include <sched.h>

/* So many short waits must have been seen, and so many are remembered. */
#define CREDIT_NEEDED 2
#define CREDIT_MAX 8
/* Turns between two looks at the clock and the other threads: one of those
 * costs as much as a few turns. */
#define TURNS 4
/* A turn that gave the processor to nobody is over sooner. */
#define TAKEN_NS 10000
/* The thread rests so many times as long as the processor was gone, so that no
 * more than a thirtieth of the time is lost in this way. */
#define REST 30

void tfd_spin_init(struct tfd_spin *s, int64_t limit_us)
{
    *s = (struct tfd_spin){.limit_ns = limit_us * 1000};
}

void tfd_spin_init_eager(struct tfd_spin *s, int64_t limit_us)
{
    tfd_spin_init(s, limit_us);
    s->credit = CREDIT_MAX;
}

bool tfd_spin_pays(const struct tfd_spin *s)
{
    return s->limit_ns > 0 && s->credit >= CREDIT_NEEDED;
}

void tfd_spin_begin(struct tfd_spin *s)
{
    if (s->limit_ns == 0)
        return;
    s->turn = 0;
    s->began_ns = s->seen_ns = (int64_t)tfd_clock_now_ns();
}

/* Whether the thread had to wait for the processor since the last look. */
static bool was_taken(struct tfd_spin *s, int64_t now)
{
    int64_t gone_ns = now - s->seen_ns;

    s->seen_ns = now;
    if (gone_ns <= TAKEN_NS)
        return false;
    s->rest_until_ns = now + gone_ns * REST;
    return true;
}

bool tfd_spin_again(struct tfd_spin *s)
{
    int64_t now;

    if (!tfd_spin_pays(s) || s->began_ns < s->rest_until_ns)
        return false;
    if (++s->turn % TURNS != 0)
        return true;
    now = (int64_t)tfd_clock_now_ns();
    if (was_taken(s, now) || now - s->began_ns > s->limit_ns)
        return false;
    sched_yield();
    return !was_taken(s, (int64_t)tfd_clock_now_ns());
}

int64_t tfd_spin_elapsed_ns(const struct tfd_spin *s)
{
    return (int64_t)tfd_clock_now_ns() - s->began_ns;
}

void tfd_spin_learn(struct tfd_spin *s, int64_t waited_ns)
{
    /* A wait in which the thread slept is longer by the time of waking up. */
    if (waited_ns > s->limit_ns + TFD_COST_WAKE_NS)
        s->credit /= 2;
    else if (s->credit < CREDIT_MAX)
        s->credit++;
}

void tfd_spin_end(struct tfd_spin *s)
{
    if (s->limit_ns > 0)
        tfd_spin_learn(s, tfd_spin_elapsed_ns(s));
}
