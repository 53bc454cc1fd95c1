/*
 * admission.c - see admission.h.
 *
 * Memory is freed on any thread, deep inside the allocator, which must not know
 * who waits: so while somebody does, the sum is looked at every few
 * milliseconds.  While somebody only owes, windows and deliveries are looked at
 * every second.
 */
#include "rpc/core/admission.h"

#include "common/base/alloc.h"
#include "common/base/container.h"
#include "common/base/log.h"
#include "config/limits.h"

#include <assert.h>

#define LOOK_US 5000u
#define LOOK_ACTIVE_US 1000000u
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

/* The next window is asked for when less is left of this one, so that reads
 * are not cut short. */
#define LOW (TFD_ADMISSION_MIN / 2)

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t used_with(const struct tfd_admission *in, uint64_t size)
{
    struct tfd_alloc_stats memory;

    tfd_alloc_stats(&memory);
    return memory.in_use + in->reserved + size;
}

static bool is_busy(const struct tfd_admission *in)
{
    bool coming =
        in->active && tfd_loop_now_us(in->loop) - in->came_us < QUIET_US;

    return coming || (in->computing && in->computing(in->ctx));
}

static uint64_t share(const struct tfd_admission *in)
{
    uint64_t reserve = in->limit / 4;

    return in->limit - (reserve < RESERVE_MAX ? reserve : RESERVE_MAX);
}

static bool fits(const struct tfd_admission *in, uint64_t size,
                 uint64_t asked_us)
{
    uint64_t used = used_with(in, size);
    uint64_t now = tfd_loop_now_us(in->loop), since = now - in->admitted_us;

    if (in->limit == 0 || used <= share(in))
        return true;
    if (used > in->limit)
        return since >= HOPELESS_US && now - asked_us >= HOPELESS_US;
    return since >= BUSY_US || (since >= QUIET_US && !is_busy(in));
}

static void admit(struct tfd_admission *in, struct tfd_admission_ticket *t,
                  uint64_t size)
{
    t->reserved += size;
    in->reserved += size;
}

static void give_back(struct tfd_admission *in, struct tfd_admission_ticket *t,
                      uint64_t keep)
{
    if (t->reserved <= keep)
        return;
    in->reserved -= t->reserved - keep;
    t->reserved = keep;
}

static void look_for_room(struct tfd_timer *t);

/* Never later than it is set already: requests that begin all the time must not
 * put off the look at those who wait.  Without memory for a timer these do so
 * until another asks. */
static void start_intake_timer(struct tfd_admission *in)
{
    uint64_t delay_us = in->first ? LOOK_US : LOOK_ACTIVE_US;

    if (!in->first && !in->active)
        return;
    if (in->timer.slot < 0 ||
        in->timer.due_us > tfd_loop_now_us(in->loop) + delay_us)
        (void)!tfd_timer_start(&in->timer, delay_us, NULL);
}

/* ---- Who owes ------------------------------------------------------------ */

static void activate(struct tfd_admission *in, struct tfd_admission_ticket *t)
{
    if (t->active)
        return;
    t->active = true;
    t->came = t->delivered = 0;
    t->since_us = tfd_loop_now_us(in->loop);
    t->previous_active = NULL;
    t->next_active = in->active;
    if (in->active)
        in->active->previous_active = t;
    in->active = t;
    start_intake_timer(in);
}

static void deactivate(struct tfd_admission *in, struct tfd_admission_ticket *t)
{
    if (!t->active)
        return;
    t->active = false;
    if (t->previous_active)
        t->previous_active->next_active = t->next_active;
    else
        in->active = t->next_active;
    if (t->next_active)
        t->next_active->previous_active = t->previous_active;
    if (!in->active)
        tfd_timer_stop(&in->timer); /* nobody waits who owes nothing */
}

/* A new delivery begins when the last was good enough, and when it could not
 * be: its bytes were left where they are. */
static bool is_late(struct tfd_admission_ticket *t, uint64_t now)
{
    bool over = now - t->since_us >= TFD_DELIVERY_MS * UINT64_C(1000);
    bool late = over && t->delivered < TFD_DELIVERY_SIZE_MIN;

    if (!over && !t->waiting && !t->excused)
        return false;
    late = late && !t->waiting && !t->excused;
    t->since_us = now;
    t->delivered = 0;
    return late;
}

/* Takes back the windows of those who do not use them, and tells the owner of
 * the first one that is late; another has its turn a second later. */
static void look_at_active(struct tfd_admission *in)
{
    uint64_t now = tfd_loop_now_us(in->loop);
    struct tfd_admission_ticket *late = NULL;

    if (now - in->looked_us < LOOK_ACTIVE_US)
        return;
    in->looked_us = now;
    for (struct tfd_admission_ticket *t = in->active; t; t = t->next_active) {
        uint64_t keep = t->came * TFD_ADMISSION_GROWTH;

        give_back(in, t, keep > TFD_ADMISSION_MIN ? keep : TFD_ADMISSION_MIN);
        t->came = 0;
        if (!late && is_late(t, now))
            late = t;
    }
    if (!late)
        return;
    in->late++;
    late->late(late);
}

/* ---- Who waits ----------------------------------------------------------- */

static void take_out(struct tfd_admission *in, struct tfd_admission_ticket *t)
{
    struct tfd_admission_ticket **at = &in->first;

    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    if (in->last == &t->next)
        in->last = at;
    t->waiting = false;
    in->waiting--;
    in->waiting_size -= t->size;
}

static void let_in(struct tfd_admission *in, struct tfd_admission_ticket *t)
{
    take_out(in, t);
    admit(in, t, t->size);
    t->admitted(t);
}

static bool is_small(const struct tfd_admission *in,
                     const struct tfd_admission_ticket *t)
{
    return t->owed <= TFD_ADMISSION_SMALL &&
           used_with(in, t->size) <= share(in);
}

/* The first, whoever that is, then those who want little. */
static void look_at_line(struct tfd_admission *in)
{
    struct tfd_admission_ticket *t, *next;

    while (in->first && fits(in, in->first->size, in->first->asked_us)) {
        in->admitted_us = tfd_loop_now_us(in->loop);
        let_in(in, in->first);
    }
    for (t = in->first; t; t = next) {
        next = t->next;
        if (is_small(in, t)) {
            let_in(in, t);
            next = in->first; /* what it did is not known */
        }
    }
}

/* We stood still, as a process does that was stopped or whose machine was: what
 * came meanwhile lies unread, and nobody is late. */
static void forgive(struct tfd_admission *in, uint64_t now)
{
    for (struct tfd_admission_ticket *t = in->active; t; t = t->next_active) {
        t->since_us = now;
        t->delivered = 0;
    }
}

static void look_for_room(struct tfd_timer *timer)
{
    struct tfd_admission *in =
        TFD_CONTAINER_OF(timer, struct tfd_admission, timer);
    uint64_t now = tfd_loop_now_us(in->loop);

    if (now > timer->due_us + LOOK_ACTIVE_US)
        forgive(in, now);
    look_at_active(in);
    look_at_line(in);
    start_intake_timer(in);
}

void tfd_admission_init(struct tfd_admission *in, struct tfd_loop *l)
{
    *in = (struct tfd_admission){.loop = l};
    in->last = &in->first;
    tfd_timer_init(&in->timer, l, look_for_room);
}

void tfd_admission_deinit(struct tfd_admission *in)
{
    assert(!in->first && !in->active);
    tfd_timer_stop(&in->timer);
}

void tfd_admission_limit(struct tfd_admission *in, uint64_t limit,
                         bool (*computing)(void *ctx), void *ctx)
{
    in->limit = limit;
    in->computing = computing;
    in->ctx = ctx;
}

static void tell_waiters(struct tfd_admission *in)
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

/* ---- What owners say ----------------------------------------------------- */

static void queue(struct tfd_admission *in, struct tfd_admission_ticket *t,
                  uint64_t size)
{
    t->size = size;
    t->asked_us = tfd_loop_now_us(in->loop);
    t->waiting = true;
    t->next = NULL;
    *in->last = t;
    in->last = &t->next;
    in->waiting++;
    in->waiting_size += size;
    in->pauses++;
    tell_waiters(in);
    start_intake_timer(in);
}

/* In the order they come, but for those who want little. */
static bool widen(struct tfd_admission *in, struct tfd_admission_ticket *t,
                  uint64_t more)
{
    uint64_t now = tfd_loop_now_us(in->loop);

    if (!in->first && fits(in, more, now)) {
        in->admitted_us = now;
        admit(in, t, more);
        return true;
    }
    t->size = more;
    if (is_small(in, t)) {
        admit(in, t, more);
        return true;
    }
    queue(in, t, more);
    return false;
}

static bool go_on(struct tfd_admission *in, struct tfd_admission_ticket *t)
{
    uint64_t window;

    if (t->waiting)
        return false;
    if (t->reserved >= least(t->owed, LOW))
        return true;
    window = t->come < UINT64_MAX / TFD_ADMISSION_GROWTH
                 ? t->come * TFD_ADMISSION_GROWTH
                 : UINT64_MAX;
    if (window < TFD_ADMISSION_MIN)
        window = TFD_ADMISSION_MIN;
    return widen(in, t, least(t->owed, window) - t->reserved);
}

bool tfd_admission_announce(struct tfd_admission *in,
                            struct tfd_admission_ticket *t, uint64_t size)
{
    activate(in, t);
    t->owed += size;
    return go_on(in, t);
}

bool tfd_admission_came(struct tfd_admission *in,
                        struct tfd_admission_ticket *t, uint64_t size)
{
    size = least(size, t->owed);
    t->owed -= size;
    t->come += size;
    t->came += size;
    t->delivered += size;
    in->came_us = tfd_loop_now_us(in->loop);
    give_back(in, t, t->reserved - least(t->reserved, size));
    return go_on(in, t);
}

/* Ends the account when nothing is owed any more. */
static void settle_ticket(struct tfd_admission *in,
                          struct tfd_admission_ticket *t)
{
    if (t->owed > 0 || t->incomplete > 0)
        return;
    give_back(in, t, 0);
    if (t->waiting)
        take_out(in, t);
    deactivate(in, t);
}

bool tfd_admission_small(struct tfd_admission *in,
                         struct tfd_admission_ticket *t)
{
    uint64_t came = t->small_came;

    t->small_came = 0;
    if (t->incomplete == 0) {
        if (t->active)
            settle_ticket(in, t);
        return !t->waiting;
    }
    activate(in, t);
    t->delivered += came;
    if (t->waiting)
        return false;
    if (t->small_size <= TFD_ADMISSION_SMALL)
        return true;
    give_back(in, t, t->reserved - least(t->reserved, came));
    return t->reserved >= LOW || widen(in, t, TFD_ADMISSION_MIN - t->reserved);
}

void tfd_admission_forget(struct tfd_admission *in,
                          struct tfd_admission_ticket *t, uint64_t come,
                          uint64_t rest)
{
    t->come -= least(t->come, come);
    t->owed -= least(t->owed, rest);
    give_back(in, t, t->owed);
    settle_ticket(in, t);
}

void tfd_admission_leave(struct tfd_admission *in,
                         struct tfd_admission_ticket *t)
{
    t->incomplete = 0;
    t->small_size = t->small_came = 0;
    tfd_admission_forget(in, t, t->come, t->owed);
}
