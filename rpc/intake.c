/*
 * intake.c - see intake.h.
 *
 * Memory is freed on any thread, deep inside the allocator, which must not know
 * who waits: so while somebody does, the sum is looked at every few
 * milliseconds.
 */
#include "rpc/intake.h"

#include "common/alloc.h"
#include "common/log.h"

#include <assert.h>

#define LOOK_US 5000u
/* Without any of the three signs of life of a step for so long, one request
 * more is let in; long enough for a small request on another connection to
 * come and be served. */
#define QUIET_US 20000u
/* The same for one that is not going to find its memory. */
#define HOPELESS_US 5000000u
#define TELL_US 10000000u /* between lines in the log */

/* Steps compute with the rest. */
#define SHARE(limit) ((limit) / 4 * 3)

static uint64_t used_with(const struct tfd_intake *in, uint64_t size)
{
    struct tfd_alloc_stats memory;

    tfd_alloc_stats(&memory);
    return memory.in_use + in->reserved + size;
}

static bool is_quiet(const struct tfd_intake *in, uint64_t for_us)
{
    return in->reserved == 0 &&
           tfd_loop_now_us(in->loop) - in->admitted_us >= for_us &&
           !(in->computing && in->computing(in->ctx));
}

static bool fits(const struct tfd_intake *in, uint64_t size)
{
    uint64_t used = used_with(in, size);

    if (in->limit == 0 || used <= SHARE(in->limit))
        return true;
    return is_quiet(in, used <= in->limit ? QUIET_US : HOPELESS_US);
}

static void admit(struct tfd_intake *in, uint64_t size)
{
    in->reserved += size;
    in->admitted_us = tfd_loop_now_us(in->loop);
}

static void look(struct tfd_timer *t);

/* Without memory for a timer those who wait do so until another asks. */
static void start_timer(struct tfd_intake *in)
{
    if (in->first)
        (void)!tfd_timer_start(&in->timer, LOOK_US, NULL);
}

static void take_out(struct tfd_intake *in, struct tfd_intake_ticket *t)
{
    struct tfd_intake_ticket **at = &in->first;

    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    if (in->last == &t->next)
        in->last = at;
    t->waiting = false;
    in->waiting--;
    in->waiting_size -= t->size;
}

static void look(struct tfd_timer *timer)
{
    struct tfd_intake *in =
        (struct tfd_intake *)((char *)timer -
                              offsetof(struct tfd_intake, timer));

    while (in->first && fits(in, in->first->size)) {
        struct tfd_intake_ticket *t = in->first;

        take_out(in, t);
        admit(in, t->size);
        t->admitted(t);
    }
    start_timer(in);
}

void tfd_intake_init(struct tfd_intake *in, struct tfd_loop *l)
{
    *in = (struct tfd_intake){.loop = l};
    in->last = &in->first;
    tfd_timer_init(&in->timer, l, look);
}

void tfd_intake_deinit(struct tfd_intake *in)
{
    assert(!in->first);
    tfd_timer_stop(&in->timer);
}

void tfd_intake_limit(struct tfd_intake *in, uint64_t limit,
                      bool (*computing)(void *ctx), void *ctx)
{
    in->limit = limit;
    in->computing = computing;
    in->ctx = ctx;
}

static void tell(struct tfd_intake *in)
{
    uint64_t now = tfd_loop_now_us(in->loop);

    if (in->told_us != 0 && now - in->told_us < TELL_US)
        return;
    in->told_us = now;
    tfd_log(TFD_LOG_WARN, "reading_paused",
            "why=\"requests would pass --memory_limit\" limit=%llu used=%llu "
            "waiting=%u waiting_bytes=%llu",
            (unsigned long long)in->limit, (unsigned long long)used_with(in, 0),
            in->waiting, (unsigned long long)in->waiting_size);
}

/* In the order they come: a large one is not passed by small ones for ever. */
bool tfd_intake_ask(struct tfd_intake *in, struct tfd_intake_ticket *t,
                    uint64_t size)
{
    assert(!t->waiting);
    if (!in->first && fits(in, size)) {
        admit(in, size);
        return true;
    }
    t->size = size;
    t->waiting = true;
    t->next = NULL;
    *in->last = t;
    in->last = &t->next;
    in->waiting++;
    in->waiting_size += size;
    in->pauses++;
    tell(in);
    start_timer(in);
    return false;
}

void tfd_intake_took(struct tfd_intake *in, uint64_t size)
{
    assert(size <= in->reserved);
    in->reserved -= size;
}

void tfd_intake_leave(struct tfd_intake *in, struct tfd_intake_ticket *t)
{
    if (t->waiting)
        take_out(in, t);
    if (!in->first)
        tfd_timer_stop(&in->timer);
}
