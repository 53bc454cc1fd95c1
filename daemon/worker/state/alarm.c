/*
 * alarm.c - alarms of kernels (kernels/core/runtime.h), on timers of the loop.
 *
 *     any thread    tfd_rt_alarm ---+            tfd_alarm_ring_now ---+
 *                                   | post                             | post
 *     loop thread                 begin --> timer --> fire             |
 *                                                       \--> ring <----+
 *
 * Whoever is first of the timer and the caller that is in a hurry decides by
 * `state` that it rings, so that the other one does nothing.
 */
#include "daemon/worker/state/containers.h"

#include "common/base/atomic.h"
#include "common/base/clock.h"
#include "common/base/container.h"
#include "rpc/conn/loop.h"

#include <stdlib.h>

enum clock_state { CLOCK_SET, CLOCK_RINGS };

struct alarm_clock {
    struct tfd_alarm *alarm;
    struct tfd_post begin, hurry;
    struct tfd_timer timer;
    int64_t due_us;
    int state;                  /* atomic */
    bool has_begun, is_hurried; /* loop thread */
};

/* The alarm may be set anew in fn(), with another clock. */
static void ring(struct alarm_clock *c)
{
    tfd_timer_stop(&c->timer);
    c->alarm->fn(c->alarm);
    free(c);
}

static bool is_first(struct alarm_clock *c)
{
    int set = CLOCK_SET;

    return TFD_COMPARE_EXCHANGE(&c->state, &set, CLOCK_RINGS);
}

static void fire(struct tfd_timer *t)
{
    struct alarm_clock *c = TFD_CONTAINER_OF(t, struct alarm_clock, timer);

    if (is_first(c))
        ring(c);
}

static void begin_posted(struct tfd_post *p)
{
    struct alarm_clock *c = TFD_CONTAINER_OF(p, struct alarm_clock, begin);
    int64_t left_us = c->due_us - tfd_clock_now_us();

    c->has_begun = true;
    if (c->is_hurried)
        ring(c);
    else if (left_us <= 0 ||
             tfd_timer_start(&c->timer, (uint64_t)left_us, NULL) != TFD_OK)
        fire(&c->timer);
}

static void hurry_posted(struct tfd_post *p)
{
    struct alarm_clock *c = TFD_CONTAINER_OF(p, struct alarm_clock, hurry);

    c->is_hurried = true;
    if (c->has_begun)
        ring(c);
}

/* What is too far away to be counted is the end of time. */
static int64_t due_after(int64_t delay_us)
{
    int64_t now_us = tfd_clock_now_us();

    if (delay_us <= 0)
        return now_us;
    return delay_us > INT64_MAX - now_us ? INT64_MAX : now_us + delay_us;
}

enum tfd_code tfd_rt_alarm(struct tfd_rt *rt, struct tfd_alarm *a,
                           int64_t delay_us, struct tfd_status *st)
{
    struct alarm_clock *c = calloc(1, sizeof(*c));

    if (!c)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for an alarm");
    c->alarm = a;
    c->due_us = due_after(delay_us);
    c->state = CLOCK_SET;
    c->begin.run = begin_posted;
    c->hurry.run = hurry_posted;
    tfd_timer_init(&c->timer, rt->loop, fire);
    a->clock = c;
    tfd_loop_post(rt->loop, &c->begin);
    return TFD_OK;
}

void tfd_alarm_ring_now(struct tfd_alarm *a)
{
    struct alarm_clock *c = a->clock;

    if (is_first(c))
        tfd_loop_post(c->timer.loop, &c->hurry);
}
