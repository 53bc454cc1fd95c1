/*
 * stuck_steps.c - see stuck_steps.h.
 *
 * A step that waits for the same ops at two looks has not moved in between:
 * step_waits.h.
 */
#include "daemon/worker/service/stuck_steps.h"

#include "common/base/container.h"
#include "common/proto/peer.pb.h"
#include "daemon/worker/run/step.h"
#include "daemon/worker/service/step_waits.h"
#include "daemon/worker/service/worker_service.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LOOKS_PER_LIMIT 4
#define LOOK_MIN_US 25000u
/* A master that lives has asked by then: twice --stuck_after, and this. */
#define MASTER_LATE_US 2000000u

/* Who has asked what a step waits for. */
enum asked { NOBODY, A_TASK, ITS_MASTER_HERE };

/* ---- Steps --------------------------------------------------------------- */

static void fill_facts(struct tfd_stuck_facts *f, const struct tfd_step *s,
                       const struct tfd_step_waits *w, uint64_t waited_us)
{
    const struct tfd_graph_entry *g = s->owner;

    *f = (struct tfd_stuck_facts){
        .step = s->id, .waited_us = waited_us, .ops = w->ops};
    snprintf(f->session, sizeof(f->session), "%s", g->session->handle);
    snprintf(f->waits, sizeof(f->waits), "%s", w->text);
    snprintf(f->owes, sizeof(f->owes), "%s", w->owes);
}

/* Since it waits: who asked before then may ask no more. */
static enum asked asked_by(const struct tfd_step *s)
{
    return s->waits_asked_us > s->waits_since_us ? (enum asked)s->waits_asked
                                                 : NOBODY;
}

/* False: its master may still ask, and would say more. */
static bool tell_stuck(struct tfd_worker_service *worker,
                       const struct tfd_step *s, const struct tfd_step_waits *w,
                       uint64_t waited_us)
{
    uint64_t late_us = 2 * worker->options.stuck_after_us + MASTER_LATE_US;
    enum asked asked = asked_by(s);
    struct tfd_stuck_facts facts;

    if (s->run->master_tells && asked == NOBODY && waited_us < late_us)
        return false;
    fill_facts(&facts, s, w, waited_us);
    if (!s->run->master_tells || asked == NOBODY)
        tfd_stuck_ask(worker, &facts);
    else if (asked == A_TASK)
        tfd_stuck_write(TFD_LOG_INFO, &facts);
    return true;
}

/* True when nothing has moved since it was last looked at. */
static bool look_again(const struct tfd_worker_service *worker,
                       struct tfd_step *s, uint64_t now,
                       struct tfd_step_waits *w)
{
    tfd_step_waits_look(worker, s, w);
    if (w->mark != 0 && w->mark == s->waits_mark)
        return true;
    s->waits_mark = w->mark;
    s->waits_since_us = now;
    return false;
}

static void look_at_step(struct tfd_worker_service *worker, struct tfd_step *s,
                         uint64_t now)
{
    uint64_t limit_us = worker->options.stuck_after_us;
    struct tfd_step_waits w;

    if (!look_again(worker, s, now, &w) || s->waits_told ||
        now - s->waits_since_us < limit_us)
        return;
    s->waits_told = true; /* first: who tells may find that it moves */
    if (!tell_stuck(worker, s, &w, now - s->waits_since_us))
        s->waits_told = false;
}

static void start_look(struct tfd_worker_service *w)
{
    uint64_t delay = w->options.stuck_after_us / LOOKS_PER_LIMIT;

    (void)!tfd_timer_start(&w->stuck_timer,
                           delay < LOOK_MIN_US ? LOOK_MIN_US : delay, NULL);
}

static void look(struct tfd_timer *t)
{
    struct tfd_worker_service *w =
        TFD_CONTAINER_OF(t, struct tfd_worker_service, stuck_timer);
    uint64_t now = tfd_loop_now_us(w->options.loop);

    for (struct tfd_step *s = w->steps; s; s = s->next)
        look_at_step(w, s, now);
    start_look(w);
}

void tfd_stuck_steps_watch(struct tfd_worker_service *w)
{
    tfd_timer_init(&w->stuck_timer, w->options.loop, look);
    if (w->options.stuck_after_us > 0)
        start_look(w);
}

void tfd_stuck_steps_stop(struct tfd_worker_service *w)
{
    tfd_timer_stop(&w->stuck_timer);
    tfd_stuck_ask_stop(w);
}

/* ---- Being asked --------------------------------------------------------- */

static int64_t asked_for(struct tfd_str proto, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;
    int64_t step = 0;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tfd_StepWaits_step_id_tag)
            step = tfd_pb_int64(&r, &f);
    (void)!tfd_service_request_end(&r, st);
    return step;
}

/* Of the parts here one that waits is told; the others, if there are any, wait
 * for as long, or are at work.  Who is asked again and again says since when,
 * even if it looks for nothing itself. */
static void look_for_answer(struct tfd_worker_service *w, int64_t step,
                            enum asked who, struct tfd_stuck_answer *out)
{
    uint64_t now = tfd_loop_now_us(w->options.loop);
    struct tfd_step_waits waits;

    *out = (struct tfd_stuck_answer){.runs = false};
    for (struct tfd_step *s = w->steps; s; s = s->next) {
        uint64_t waited_us;

        if (s->id != step)
            continue;
        s->waits_asked = (int)who;
        s->waits_asked_us = now;
        (void)look_again(w, s, now, &waits);
        out->runs |= waits.mark == 0;
        waited_us = now - s->waits_since_us;
        if (out->facts.ops == 0 && waits.ops > 0)
            fill_facts(&out->facts, s, &waits, waited_us);
        else if (waited_us < out->facts.waited_us)
            out->facts.waited_us = waited_us;
    }
}

void tfd_stuck_steps_ask_here(struct tfd_worker_service *w, int64_t step,
                              struct tfd_stuck_answer *out)
{
    look_for_answer(w, step, ITS_MASTER_HERE, out);
}

void tfd_stuck_steps_answer(void *self, struct tfd_call *call)
{
    struct tfd_worker_service *worker = self;
    struct tfd_status st = TFD_STATUS_INIT;
    int64_t step = asked_for(call->in.proto, &st);
    struct tfd_stuck_answer a;
    struct tfd_message m;

    if (st.code != TFD_OK) {
        tfd_call_fail(call, &st);
        return;
    }
    look_for_answer(worker, step, A_TASK, &a);
    tfd_message_init(&m, call->native);
    tfd_stuck_encode(&m.proto, &a);
    tfd_call_respond(call, &m);
}

static void tell_step(const struct tfd_worker_service *worker,
                      struct tfd_step *s, uint64_t now,
                      void (*fn)(void *ctx, const struct tfd_stuck_step *s),
                      void *ctx)
{
    const struct tfd_graph_entry *g = s->owner;
    struct tfd_stuck_step told = {.step = s->id};
    struct tfd_step_waits w;

    tfd_step_waits_look(worker, s, &w);
    if (w.mark != 0 && w.mark == s->waits_mark)
        told.waited_us = now - s->waits_since_us;
    told.session = g->session->handle;
    told.waits = w.text;
    fn(ctx, &told);
}

void tfd_stuck_steps_each(const struct tfd_worker_service *w, int max,
                          void (*fn)(void *ctx, const struct tfd_stuck_step *s),
                          void *ctx)
{
    uint64_t now = tfd_loop_now_us(w->options.loop);

    for (struct tfd_step *s = w->steps; s && max > 0; s = s->next, max--)
        tell_step(w, s, now, fn, ctx);
}
