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
/* When nothing was let in for so long one more is, within the limit: while
 * nothing computes and nothing else is on its way, which leaves time for a
 * small request on another connection; otherwise, which may last for ever; and
 * for one that is not going to find its memory. */
#define QUIET_US 20000u
#define BUSY_US 500000u
#define HOPELESS_US 10000000u
#define TELL_US 10000000u /* between lines in the log */

/* What steps compute with: a quarter, at most this. */
#define RESERVE_MAX (UINT64_C(2) << 30)

static uint64_t used_with(const struct tfd_intake *in, uint64_t size)
{
    struct tfd_alloc_stats memory;

    tfd_alloc_stats(&memory);
    return memory.in_use + in->reserved + size;
}

static bool is_busy(const struct tfd_intake *in)
{
    return in->reserved > 0 || (in->computing && in->computing(in->ctx));
}

static uint64_t share(const struct tfd_intake *in)
{
    uint64_t reserve = in->limit / 4;

    return in->limit - (reserve < RESERVE_MAX ? reserve : RESERVE_MAX);
}

static bool fits(const struct tfd_intake *in, uint64_t size, uint64_t asked_us)
{
    uint64_t used = used_with(in, size);
    uint64_t now = tfd_loop_now_us(in->loop), since = now - in->admitted_us;

    if (in->limit == 0 || used <= share(in))
        return true;
    if (used > in->limit)
        return since >= HOPELESS_US && now - asked_us >= HOPELESS_US;
    return since >= BUSY_US || (since >= QUIET_US && !is_busy(in));
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

    while (in->first && fits(in, in->first->size, in->first->asked_us)) {
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
    uint64_t now = tfd_loop_now_us(in->loop);

    assert(!t->waiting);
    if (!in->first && fits(in, size, now)) {
        admit(in, size);
        return true;
    }
    t->size = size;
    t->asked_us = now;
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
