/*
 * step_times.c - see step_times.h.
 */
#include "daemon/master/session/step_times.h"

#include "daemon/master/session/session_log.h"

#include <string.h>

/* An answer of less takes no longer than reading the clock. */
#define WORTH_SIZE 4096

static uint64_t now_of(const struct tfd_plan *p)
{
    return tfd_loop_now_us(p->session->master->o.loop);
}

static uint32_t fits(uint64_t us)
{
    return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

/* ---- Names --------------------------------------------------------------- */

static struct tfd_str title_of(const struct tfd_signature *s)
{
    if (s->fetch_count > 0)
        return s->fetches[0];
    return s->target_count > 0 ? s->targets[0] : TFD_STR_EMPTY;
}

void tfd_step_times_name(struct tfd_plan *p)
{
    tfd_step_ring_text(p->name, sizeof(p->name), title_of(&p->signature));
    for (int i = 0; i < p->part_count; i++)
        tfd_step_ring_text(
            p->parts[i].task, sizeof(p->parts[i].task),
            tfd_str_of(tfd_session_task(p->session, p->parts[i].worker)));
}

/* ---- Phases -------------------------------------------------------------- */

static uint64_t tensors_size(const struct tfd_tensor *t, int count)
{
    uint64_t size = 0;

    for (int i = 0; t && i < count; i++)
        size += tfd_tensor_size(&t[i]);
    return size;
}

static void fill_record(struct tfd_step_record *r,
                        const struct tfd_step_times *t,
                        const struct tfd_plan *p, int64_t id)
{
    r->id = id;
    r->begun_us = t->begun_us - t->plan_us;
    r->fed = t->fed;
    r->plan_us = fits(t->plan_us);
    r->plan = p->number;
    r->parts = p->part_count;
    r->code = TFD_STEP_RUNNING;
    r->partial = p->partial;
    memcpy(r->session, p->session->handle, sizeof(r->session) - 1);
    memcpy(r->name, p->name, sizeof(r->name));
    r->number = t->number;
}

void tfd_step_times_begin(struct tfd_step_times *t, const struct tfd_plan *p,
                          const struct tfd_run_step *run, int64_t id)
{
    struct tfd_master *m = p->session->master;

    *t = (struct tfd_step_times){
        .number = m->steps_begun, .begun_us = now_of(p), .slowest = -1};
    t->last_us = t->begun_us;
    t->fed = tensors_size(run->feeds, run->feed_count);
    if (run->waited_from_us)
        t->plan_us = t->begun_us - run->waited_from_us;
    t->record = tfd_step_ring_take(&m->ring);
    if (t->record)
        fill_record(t->record, t, p, id);
}

void tfd_step_times_started(struct tfd_step_times *t, const struct tfd_plan *p,
                            bool over)
{
    if (!over)
        t->last_us = now_of(p);
    t->start_us = t->last_us - t->begun_us;
    if (t->record && t->record->number == t->number)
        t->record->start_us = fits(t->start_us);
}

void tfd_step_times_part(struct tfd_step_times *t, const struct tfd_plan *p,
                         int part)
{
    uint64_t took_us;
    bool ours = t->record && t->record->number == t->number;

    t->last_us = now_of(p);
    took_us = t->last_us - t->begun_us;
    if (part == p->client_part) {
        t->here_us = took_us;
        if (ours)
            t->record->here_us = fits(took_us);
        return;
    }
    t->others_us = took_us;
    t->slowest = part;
    if (ours)
        t->record->others_us = fits(took_us);
}

/* ---- The end ------------------------------------------------------------- */

/* A client that has the same time-out began to count before the request came,
 * and cancels the step before ours passes. */
static bool has_timed_out(const struct tfd_run_step *run, uint64_t took_us,
                          enum tfd_code code)
{
    return code == TFD_DEADLINE_EXCEEDED ||
           (code == TFD_CANCELLED && run->timeout_us > 0 &&
            took_us + took_us / 8 >= run->timeout_us);
}

/* That it had from the beginning, or another, where 1,000 have begun since. */
static struct tfd_step_record *own_record(struct tfd_step_times *t,
                                          const struct tfd_plan *p, int64_t id)
{
    if (t->record && t->record->number != t->number) {
        t->record = tfd_step_ring_take(&p->session->master->ring);
        fill_record(t->record, t, p, id);
        t->record->start_us = fits(t->start_us);
        t->record->here_us = fits(t->here_us);
        t->record->others_us = fits(t->others_us);
    }
    return t->record;
}

static void end_record(struct tfd_step_record *r,
                       const struct tfd_step_times *t, const struct tfd_plan *p,
                       const struct tfd_tensor *fetches, uint64_t took_us,
                       const struct tfd_status *st)
{
    r->fetched = tensors_size(fetches, p->signature.fetch_count);
    r->total_us = fits(t->plan_us + took_us);
    if (t->slowest >= 0)
        memcpy(r->slowest, p->parts[t->slowest].task, sizeof(r->slowest));
    if (st->code != TFD_OK)
        tfd_step_ring_text(r->error, sizeof(r->error), tfd_str_of(st->text));
    r->code = (int32_t)st->code;
}

void tfd_step_times_end(struct tfd_step_times *t, struct tfd_plan *p,
                        int64_t id, const struct tfd_run_step *run,
                        const struct tfd_tensor *fetches,
                        const struct tfd_status *st)
{
    struct tfd_master *m = p->session->master;
    struct tfd_step_record *r = own_record(t, p, id);
    uint64_t took_us;

    if (st->code != TFD_OK) /* else the end of a part was the last */
        t->last_us = now_of(p);
    took_us = t->last_us - t->begun_us;
    if (r)
        end_record(r, t, p, fetches, took_us, st);
    tfd_session_log_step(p, id, t->last_us, took_us, st);
    if (!p->partial) { /* as long as its client likes */
        tfd_histogram_add(&m->step_times, t->plan_us + took_us);
        tfd_recent_add(&p->recent, took_us);
    }
    if (st->code != TFD_OK)
        m->steps_failed++;
    if (has_timed_out(run, t->plan_us + took_us, st->code)) {
        m->steps_timed_out++;
        if (m->o.timed_out)
            m->o.timed_out(m->o.activity_ctx);
    }
}

void tfd_step_times_answered(struct tfd_step_times *t,
                             const struct tfd_master *m)
{
    struct tfd_step_record *r = t->record;

    if (!r || r->number != t->number || r->fetched < WORTH_SIZE)
        return;
    r->answer_us = fits(tfd_loop_now_us(m->o.loop) - r->begun_us);
    r->answer_us -= r->answer_us < r->total_us ? r->answer_us : r->total_us;
}
