/*
 * rendezvous_table.c - the table of the rendezvous of all steps: see
 * rendezvous.h.
 *
 * A step's rendezvous is in the table from when somebody first asks for it, the
 * step or a peer, until the step has ended and left nothing, or is cleaned up;
 * then it is kept for another step.  A timer removes what peers left for steps
 * that never begin, or that do not fetch it.
 */
#include "daemon/worker/exchange/rendezvous_step.h"

#include "common/base/clock.h"
#include "common/base/container.h"
#include "common/base/id_map.h"
#include "config/limits.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A rendezvous with a larger table is not kept, nor are more than these. */
#define KEPT_CAPACITY_MAX 4096
#define KEPT_MAX 64
/* Remembered steps; a power of two. */
#define RETIRED_MAX 4096
#define SWEEP_US (60u * 1000 * 1000)

struct tfd_rendezvous_table {
    struct tfd_loop *loop;
    struct tfd_id_map steps;
    struct tfd_rendezvous *kept;
    int kept_count;
    size_t parked_size;
    struct tfd_timer sweep;
    bool sweeping;
    int64_t retired[RETIRED_MAX]; /* -1: none */
};

/* ---- One step's ---------------------------------------------------------- */

static struct tfd_rendezvous *take_kept(struct tfd_rendezvous_table *t)
{
    struct tfd_rendezvous *r = t->kept;

    if (r) {
        t->kept = r->next;
        t->kept_count--;
        return r;
    }
    return tfd_rendezvous_new();
}

/* Nobody waits any more, and neither the table nor a step has it. */
static void put_back(struct tfd_rendezvous_table *t, struct tfd_rendezvous *r)
{
    if (t->kept_count == KEPT_MAX || r->capacity > KEPT_CAPACITY_MAX) {
        tfd_rendezvous_free(r);
        return;
    }
    tfd_rendezvous_reset(r);
    r->has_begun = false;
    r->next = t->kept;
    t->kept = r;
    t->kept_count++;
}

static void unpark(struct tfd_rendezvous_table *t, struct tfd_rendezvous *r)
{
    t->parked_size -= r->parked_size;
    r->parked_size = 0;
    r->parked_count = 0;
}

static void unlist(struct tfd_rendezvous_table *t, struct tfd_rendezvous *r)
{
    tfd_id_map_remove(&t->steps, (uint64_t)r->step);
    r->listed = false;
    unpark(t, r);
    r->users -= r->held;
    r->held = false;
    if (r->users == 0)
        put_back(t, r);
}

/* ---- The table ----------------------------------------------------------- */

static void sweep(struct tfd_timer *timer);

struct tfd_rendezvous_table *tfd_rendezvous_table_new(struct tfd_loop *l,
                                                      struct tfd_status *st)
{
    struct tfd_rendezvous_table *t = calloc(1, sizeof(*t));

    if (!t) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for rendezvous");
        return NULL;
    }
    t->loop = l;
    tfd_timer_init(&t->sweep, l, sweep);
    memset(t->retired, 0xff, sizeof(t->retired));
    return t;
}

void tfd_rendezvous_clear(struct tfd_rendezvous_table *t)
{
    struct tfd_rendezvous *r;
    size_t at;

    for (at = 0; (r = tfd_id_map_next(&t->steps, &at)); at = 0)
        tfd_rendezvous_cleanup(t, r->step);
}

void tfd_rendezvous_table_free(struct tfd_rendezvous_table *t)
{
    struct tfd_rendezvous *r;

    if (!t)
        return;
    tfd_rendezvous_clear(t);
    while ((r = t->kept)) {
        t->kept = r->next;
        tfd_rendezvous_free(r);
    }
    tfd_timer_stop(&t->sweep);
    tfd_id_map_deinit(&t->steps);
    free(t);
}

static bool is_retired(const struct tfd_rendezvous_table *t, int64_t step)
{
    return t->retired[(uint64_t)step % RETIRED_MAX] == step;
}

/* While there is something that a peer left, it is looked at now and then. */
static void start_sweeping(struct tfd_rendezvous_table *t)
{
    if (!t->sweeping)
        t->sweeping = tfd_timer_start(&t->sweep, SWEEP_US, NULL) == TFD_OK;
}

static enum tfd_code list(struct tfd_rendezvous_table *t, int64_t step,
                          struct tfd_rendezvous **out, struct tfd_status *st)
{
    struct tfd_rendezvous *r = take_kept(t);

    if (!r || !tfd_id_map_put(&t->steps, (uint64_t)step, r)) {
        if (r)
            tfd_rendezvous_free(r);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for step %" PRId64, step);
    }
    r->step = step;
    r->listed = true;
    r->users = 0;
    r->held = false;
    r->since_us = tfd_clock_now_us();
    *out = r;
    return TFD_OK;
}

enum tfd_code tfd_rendezvous_begin(struct tfd_rendezvous_table *t, int64_t step,
                                   int keys, struct tfd_rendezvous **out,
                                   struct tfd_status *st)
{
    struct tfd_rendezvous *r = tfd_id_map_get(&t->steps, (uint64_t)step);

    if (r && r->has_begun)
        return tfd_fail(st, TFD_ABORTED,
                        "Step %" PRId64 " was started twice on this worker",
                        step);
    return tfd_rendezvous_join(t, step, keys, out, st);
}

enum tfd_code tfd_rendezvous_join(struct tfd_rendezvous_table *t, int64_t step,
                                  int keys, struct tfd_rendezvous **out,
                                  struct tfd_status *st)
{
    struct tfd_rendezvous *r = tfd_id_map_get(&t->steps, (uint64_t)step);

    if (!r)
        TFD_TRY(list(t, step, &r, st));
    unpark(t, r);
    r->has_begun = true;
    r->users++;
    tfd_rendezvous_reserve(r, keys);
    *out = r;
    return TFD_OK;
}

enum tfd_code tfd_rendezvous_hold(struct tfd_rendezvous_table *t, int64_t step,
                                  struct tfd_status *st)
{
    struct tfd_rendezvous *r = tfd_id_map_get(&t->steps, (uint64_t)step);

    if (r && r->held)
        return TFD_OK;
    TFD_TRY(tfd_rendezvous_join(t, step, 0, &r, st));
    r->held = true;
    return TFD_OK;
}

void tfd_rendezvous_end(struct tfd_rendezvous_table *t,
                        struct tfd_rendezvous *r)
{
    if (--r->users > 0)
        return;
    if (!r->listed) {
        put_back(t, r);
        return;
    }
    r->since_us = tfd_clock_now_us();
    if (tfd_rendezvous_is_empty(r))
        unlist(t, r);
    else
        start_sweeping(t);
}

enum tfd_code tfd_rendezvous_find(struct tfd_rendezvous_table *t, int64_t step,
                                  struct tfd_rendezvous **out,
                                  struct tfd_status *st)
{
    *out = tfd_id_map_get(&t->steps, (uint64_t)step);
    if (*out)
        return TFD_OK;
    if (is_retired(t, step))
        return tfd_fail(st, TFD_ABORTED, "Cleanup %" PRId64, step);
    if (t->steps.count >= TFD_PARKED_PUSHES_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%d steps are waited for that have not begun",
                        TFD_PARKED_PUSHES_MAX);
    start_sweeping(t);
    return list(t, step, out, st);
}

void tfd_rendezvous_push(struct tfd_rendezvous_table *t,
                         struct tfd_rendezvous *r, uint64_t key,
                         struct tfd_tensor *take_value)
{
    struct tfd_status st = TFD_STATUS_INIT;
    size_t size = tfd_tensor_size(take_value);

    if (!r->has_begun) {
        t->parked_size += size;
        r->parked_size += size;
        if (t->parked_size > (size_t)TFD_PARKED_PUSH_SIZE_MAX ||
            ++r->parked_count > TFD_PARKED_PUSHES_MAX) {
            tfd_fail(&st, TFD_RESOURCE_EXHAUSTED,
                     "%zu bytes were pushed for steps that have not begun; "
                     "%" PRId64 " are possible",
                     t->parked_size, TFD_PARKED_PUSH_SIZE_MAX);
            unpark(t, r);
            tfd_rendezvous_abort(r, &st);
        }
    }
    if (tfd_rendezvous_send(r, key, take_value, &st) != TFD_OK)
        tfd_rendezvous_abort(r, &st);
}

void tfd_rendezvous_cleanup(struct tfd_rendezvous_table *t, int64_t step)
{
    struct tfd_rendezvous *r = tfd_id_map_get(&t->steps, (uint64_t)step);
    struct tfd_status st = TFD_STATUS_INIT;

    t->retired[(uint64_t)step % RETIRED_MAX] = step;
    if (!r)
        return;
    tfd_fail(&st, TFD_ABORTED, "Cleanup %" PRId64, step);
    tfd_rendezvous_abort(r, &st);
    /* The waiters may have ended the step, and it what it had here. */
    if (tfd_id_map_get(&t->steps, (uint64_t)step) == r)
        unlist(t, r);
}

static void sweep(struct tfd_timer *timer)
{
    struct tfd_rendezvous_table *t =
        TFD_CONTAINER_OF(timer, struct tfd_rendezvous_table, sweep);
    int64_t before = tfd_clock_now_us() - (int64_t)TFD_PARKED_PUSH_MS * 1000;
    struct tfd_rendezvous *r;
    bool more = false;

    t->sweeping = false;
    for (size_t at = 0; (r = tfd_id_map_next(&t->steps, &at));) {
        if (r->users > 0)
            continue;
        if (r->since_us < before) {
            tfd_rendezvous_cleanup(t, r->step);
            at = 0;
        } else {
            more = true;
        }
    }
    if (more)
        start_sweeping(t);
}

struct tfd_rendezvous_stats
tfd_rendezvous_stats(const struct tfd_rendezvous_table *t)
{
    return (struct tfd_rendezvous_stats){t->steps.count, t->parked_size};
}
