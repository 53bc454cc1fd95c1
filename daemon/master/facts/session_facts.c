/*
 * session_facts.c - see session_facts.h.
 */
#include "daemon/master/facts/session_facts.h"

static const char *const session_states[] = {
    [TFD_SESSION_CREATING] = "creating",
    [TFD_SESSION_OPEN] = "open",
    [TFD_SESSION_CLOSING] = "closing",
    [TFD_SESSION_CLOSED] = "closed",
};

static const char *const plan_states[] = {
    [TFD_PLAN_EMPTY] = "empty",
    [TFD_PLAN_BUILDING] = "building",
    [TFD_PLAN_READY] = "ready",
    [TFD_PLAN_FAILED] = "failed",
};

size_t tfd_session_facts_memory(const struct tfd_session *s)
{
    struct tfd_worker *w = s->worker_count > 0 ? s->workers[0] : NULL;
    size_t size = s->graph_size + s->plans_size + s->fed_size +
                  (size_t)s->meter->under_way;

    return w && w->ops->session_memory
               ? size + w->ops->session_memory(w, tfd_str_of(s->handle))
               : size;
}

size_t tfd_session_facts_memory_of_all(const struct tfd_master *m)
{
    size_t size = 0;

    for (const struct tfd_session *s = m->sessions; s; s = s->next)
        size += tfd_session_facts_memory(s);
    return size;
}

int tfd_session_facts_each(const struct tfd_master *m, int max,
                           void (*fn)(void *ctx,
                                      const struct tfd_session_facts *f),
                           void *ctx)
{
    uint64_t now = tfd_loop_now_us(m->o.loop);

    for (const struct tfd_session *s = m->sessions; s && max-- > 0;
         s = s->next) {
        struct tfd_session_facts f = {
            .handle = s->handle,
            .client = s->client,
            .age_us = s->opened_us ? now - s->opened_us : 0,
            .idle_us = s->used_us ? now - s->used_us : 0,
            .steps_done = s->steps_done,
            .steps_failed = s->steps_failed,
            .running = s->running,
            .waiting = s->waiting,
            .tasks = s->worker_count,
            .plans = s->plans_built,
            .partial_runs = s->partial_run_count,
            .callables = s->callable_count,
            .nodes = s->node_count,
            .received = s->meter->received,
            .sent = s->meter->sent,
            .memory = tfd_session_facts_memory(s),
            .state = session_states[s->state],
        };

        fn(ctx, &f);
    }
    return m->session_count;
}

/* The first of a session's workers is this task's. */
static uint64_t graph_here(const struct tfd_plan *p)
{
    for (int i = 0; p->state == TFD_PLAN_READY && i < p->part_count; i++)
        if (p->parts[i].worker == 0)
            return p->parts[i].graph;
    return 0;
}

/* While it is split, its parts are a builder's. */
static void tell_plan(const struct tfd_plan *p,
                      void (*fn)(void *ctx, const struct tfd_plan_facts *f),
                      void *ctx)
{
    struct tfd_plan_facts f = {
        .session = p->session->handle,
        .number = p->number,
        .state = plan_states[p->state],
        .signature = &p->signature,
        .nodes = p->splitting ? 0 : p->node_count,
        .parts = p->splitting ? 0 : p->part_count,
        .running = p->running,
        .here = graph_here(p),
        .started = p->started,
        .times = &p->times,
    };

    fn(ctx, &f);
}

int tfd_session_facts_plans(const struct tfd_master *m, int max,
                            void (*fn)(void *ctx,
                                       const struct tfd_plan_facts *f),
                            void *ctx)
{
    int count = 0;

    for (const struct tfd_session *s = m->sessions; s; s = s->next) {
        count += s->plans_built;
        for (uint32_t i = 0; i < s->plan_count && max > 0; i++) {
            const struct tfd_plan *p = s->plans[i];

            if (!p || p->state == TFD_PLAN_EMPTY || p->state == TFD_PLAN_FAILED)
                continue;
            tell_plan(p, fn, ctx);
            max--;
        }
    }
    return count;
}

void tfd_session_facts_steps(const struct tfd_master *m,
                             tfd_master_step_facts_fn *fn, void *ctx)
{
    for (const struct tfd_session *s = m->sessions; s; s = s->next)
        tfd_master_step_facts(s, fn, ctx);
}
