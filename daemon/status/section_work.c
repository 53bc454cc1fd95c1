/*
 * section_work.c - who works with this task and what runs: sessions, contexts
 * of TensorFlow 2, steps, plans, and what other masters run here.
 */
#include "daemon/status/document.h"

#include "daemon/eager/eager.h"
#include "daemon/master/facts/session_facts.h"
#include "daemon/status/slow_ops.h"
#include "daemon/worker/service/worker.h"
#include "rpc/core/peers.h"

#include <stdlib.h>

/* Names of a signature that are shown. */
#define NAMES_MAX 4

/* A list that is being written. */
struct list {
    struct tfd_json_out *j;
    int shown;
};

static void open_list(struct list *l, struct tfd_json_out *j, const char *key)
{
    *l = (struct list){.j = j};
    tfd_json_out_open(j, key, '{');
    tfd_json_out_open(j, "list", '[');
}

static void close_list(struct list *l, int count)
{
    tfd_json_out_close(l->j, ']');
    tfd_json_out_number(l->j, "count", count);
    tfd_json_out_number(l->j, "more", count > l->shown ? count - l->shown : 0);
    tfd_json_out_close(l->j, '}');
}

static void put_seconds(struct tfd_json_out *j, const char *key, uint64_t us)
{
    tfd_json_out_real(j, key, (double)us / 1e6, 3);
}

/* What it costs: bytes that came and went, and that are kept for it now. */
static void put_bytes(struct tfd_json_out *j, uint64_t received, uint64_t sent,
                      size_t memory)
{
    tfd_json_out_number(j, "received_bytes", (int64_t)received);
    tfd_json_out_number(j, "sent_bytes", (int64_t)sent);
    tfd_json_out_number(j, "memory_bytes", (int64_t)memory);
}

/* ---- Sessions ------------------------------------------------------------ */

static void put_session(void *ctx, const struct tfd_session_facts *f)
{
    struct list *l = ctx;
    struct tfd_json_out *j = l->j;

    l->shown++;
    tfd_json_out_open(j, NULL, '{');
    tfd_json_out_text(j, "session", tfd_str_of(f->handle));
    tfd_json_out_text(j, "client", tfd_str_of(f->client));
    tfd_json_out_text(j, "state", tfd_str_of(f->state));
    put_seconds(j, "age_seconds", f->age_us);
    put_seconds(j, "idle_seconds", f->idle_us);
    tfd_json_out_number(j, "steps_done", (int64_t)f->steps_done);
    tfd_json_out_number(j, "steps_failed", (int64_t)f->steps_failed);
    tfd_json_out_number(j, "steps_running", f->running);
    tfd_json_out_number(j, "steps_waiting", f->waiting);
    tfd_json_out_number(j, "tasks", f->tasks);
    tfd_json_out_number(j, "nodes", f->nodes);
    tfd_json_out_number(j, "plans", f->plans);
    tfd_json_out_number(j, "partial_runs", f->partial_runs);
    tfd_json_out_number(j, "callables", f->callables);
    put_bytes(j, f->received, f->sent, f->memory);
    tfd_json_out_close(j, '}');
}

void tfd_section_sessions(const struct tfd_document *d, struct tfd_json_out *j,
                          const char *key)
{
    struct list l;

    open_list(&l, j, key);
    close_list(&l,
               tfd_session_facts_each(d->view->master, TFD_STATUS_SESSIONS_MAX,
                                      put_session, &l));
}

static void put_context(void *ctx, const struct tfd_eager_facts *f)
{
    struct list *l = ctx;
    struct tfd_json_out *j = l->j;

    l->shown++;
    tfd_json_out_open(j, NULL, '{');
    tfd_json_out_id(j, "context", f->id);
    tfd_json_out_text(j, "client", tfd_str_of(f->client));
    put_seconds(j, "age_seconds", f->age_us);
    put_seconds(j, "idle_seconds", f->idle_us);
    tfd_json_out_number(j, "runs_done", (int64_t)f->runs_done);
    tfd_json_out_number(j, "calls_running", f->calls);
    tfd_json_out_number(j, "values", (int64_t)f->handles);
    tfd_json_out_number(j, "functions", (int64_t)f->functions);
    tfd_json_out_number(j, "graphs", (int64_t)f->graphs);
    put_bytes(j, f->received, f->sent, f->memory);
    tfd_json_out_close(j, '}');
}

void tfd_section_contexts(const struct tfd_document *d, struct tfd_json_out *j,
                          const char *key)
{
    struct list l;

    open_list(&l, j, key);
    tfd_eager_each(d->view->eager, TFD_STATUS_SESSIONS_MAX, put_context, &l);
    close_list(&l, tfd_eager_counts(d->view->eager).contexts);
}

/* ---- Steps --------------------------------------------------------------- */

struct steps {
    struct tfd_master_step_facts *of;
    int count, room;
};

static void collect_step(void *ctx, const struct tfd_master_step_facts *f)
{
    struct steps *s = ctx;

    if (s->count < s->room)
        s->of[s->count++] = *f;
}

static int by_age(const void *a, const void *b)
{
    const struct tfd_master_step_facts *x = a, *y = b;

    return (x->age_us < y->age_us) - (x->age_us > y->age_us);
}

/* What the task said its part of the step waits for; NULL: nothing. */
static const char *said_of(const struct tfd_task_state *s, int64_t step)
{
    for (int i = 0; i < s->waiting_count; i++)
        if (s->waiting[i].step == step)
            return s->waiting[i].waits;
    return NULL;
}

static const char *waits_on(const struct tfd_document *d,
                            const struct tfd_task_state *own, const char *task,
                            int64_t step)
{
    int i = tfd_peers_find(d->view->peers, tfd_str_of(task));
    const struct tfd_roster_task *t;

    if (i == tfd_peers_self(d->view->peers))
        return said_of(own, step);
    if (i < 0)
        return NULL; /* of a session's own cluster */
    t = tfd_roster_task(d->roster, i);
    return t->spoke ? said_of(&t->said, step) : NULL;
}

/* The tasks whose parts have not ended, and what those wait for as far as they
 * say so: what another part is to send, or what is the cause. */
static void put_waits(const struct tfd_document *d,
                      const struct tfd_task_state *own, struct tfd_json_out *j,
                      const struct tfd_master_step_facts *f)
{
    int shown = 0;

    tfd_json_out_open(j, "waits", '[');
    for (int i = 0; i < f->parts && shown < NAMES_MAX; i++) {
        const char *task = tfd_master_step_owes(f->step, i);
        const char *waits = task ? waits_on(d, own, task, f->id) : NULL;

        if (!task)
            continue;
        shown++;
        tfd_json_out_open(j, NULL, '{');
        tfd_json_out_text(j, "for", tfd_str_of("task"));
        tfd_json_out_text(j, "task", tfd_str_of(task));
        if (waits)
            tfd_json_out_text(j, "text", tfd_str_of(waits));
        tfd_json_out_close(j, '}');
    }
    tfd_json_out_close(j, ']');
}

static void put_step(const struct tfd_document *d,
                     const struct tfd_task_state *own, struct list *l,
                     const struct tfd_master_step_facts *f)
{
    struct tfd_json_out *j = l->j;

    l->shown++;
    tfd_json_out_open(j, NULL, '{');
    tfd_json_out_id(j, "step", (uint64_t)f->id);
    tfd_json_out_text(j, "session", tfd_str_of(f->plan->session->handle));
    tfd_json_out_number(j, "plan", f->plan->number);
    put_seconds(j, "age_seconds", f->age_us);
    tfd_json_out_number(j, "parts", f->parts);
    tfd_json_out_number(j, "parts_running", f->pending);
    put_waits(d, own, j, f);
    tfd_json_out_close(j, '}');
}

/* The oldest first: it is the one that somebody asks for. */
void tfd_section_steps(const struct tfd_document *d, struct tfd_json_out *j,
                       const char *key)
{
    struct tfd_master *m = d->view->master;
    struct steps s = {.room = tfd_master_step_count(m)};
    struct tfd_task_state own;
    struct list l;

    tfd_task_state_fill(d->view, &own);
    s.of = calloc((size_t)s.room + 1, sizeof(*s.of));
    if (!s.of)
        s.room = 0;
    tfd_session_facts_steps(m, collect_step, &s);
    if (s.of)
        qsort(s.of, (size_t)s.count, sizeof(*s.of), by_age);
    open_list(&l, j, key);
    for (int i = 0; i < s.count && i < TFD_STATUS_STEPS_MAX; i++)
        put_step(d, &own, &l, &s.of[i]);
    close_list(&l, tfd_master_step_count(m));
    free(s.of);
}

/* ---- Plans --------------------------------------------------------------- */

static void put_some(struct tfd_json_out *j, const char *key,
                     const struct tfd_str *names, int count)
{
    tfd_json_out_open(j, key, '[');
    for (int i = 0; i < count && i < NAMES_MAX; i++)
        tfd_json_out_text(j, NULL, names[i]);
    tfd_json_out_close(j, ']');
}

/* The bound of the bucket in which 99 of 100 lie. */
static uint64_t p99_us(const struct tfd_histogram *h)
{
    uint64_t wanted = tfd_histogram_count(h), below = 0;

    wanted -= wanted / 100;
    for (int i = 0; i < TFD_HISTOGRAM_BOUNDS; i++) {
        below += h->counts[i];
        if (below >= wanted)
            return tfd_histogram_bound_us(i);
    }
    return 2 * tfd_histogram_bound_us(TFD_HISTOGRAM_BOUNDS - 1);
}

static void put_times(struct tfd_json_out *j, const struct tfd_histogram *h)
{
    uint64_t count = tfd_histogram_count(h);

    tfd_json_out_number(j, "steps_ended", (int64_t)count);
    if (count == 0) {
        tfd_json_out_null(j, "mean_us");
        tfd_json_out_null(j, "p99_us");
        return;
    }
    tfd_json_out_number(j, "mean_us", (int64_t)(h->sum_us / count));
    tfd_json_out_number(j, "p99_us", (int64_t)p99_us(h));
}

struct plans {
    struct list list;
    const struct tfd_worker_service *worker;
};

static void put_plan(void *ctx, const struct tfd_plan_facts *f)
{
    struct plans *l = ctx;
    struct tfd_json_out *j = l->list.j;

    l->list.shown++;
    tfd_json_out_open(j, NULL, '{');
    tfd_json_out_text(j, "session", tfd_str_of(f->session));
    tfd_json_out_number(j, "plan", f->number);
    tfd_json_out_text(j, "state", tfd_str_of(f->state));
    tfd_json_out_number(j, "nodes", f->nodes);
    tfd_json_out_number(j, "parts", f->parts);
    tfd_json_out_number(j, "steps_running", f->running);
    tfd_json_out_number(j, "steps_begun", (int64_t)f->started);
    put_times(j, f->times);
    tfd_json_out_number(j, "feed_count", f->signature->feed_count);
    put_some(j, "fetches", f->signature->fetches, f->signature->fetch_count);
    put_some(j, "targets", f->signature->targets, f->signature->target_count);
    tfd_slow_ops_put_of(j, "slowest", l->worker, f->here);
    tfd_json_out_close(j, '}');
}

void tfd_section_plans(const struct tfd_document *d, struct tfd_json_out *j,
                       const char *key)
{
    struct plans l = {.worker = d->view->worker};

    open_list(&l.list, j, key);
    close_list(&l.list,
               tfd_session_facts_plans(d->view->master, TFD_STATUS_PLANS_MAX,
                                       put_plan, &l));
}

/* ---- For other masters --------------------------------------------------- */

void tfd_section_worker(const struct tfd_document *d, struct tfd_json_out *j,
                        const char *key)
{
    struct tfd_worker_counts n = tfd_worker_counts(d->view->worker);

    tfd_json_out_open(j, key, '{');
    tfd_json_out_number(j, "sessions", n.sessions);
    tfd_json_out_number(j, "graphs", n.graphs);
    tfd_json_out_number(j, "graphs_registering", n.registering);
    tfd_json_out_number(j, "steps_running", n.steps);
    tfd_json_out_number(j, "steps_done", (int64_t)n.steps_done);
    tfd_json_out_number(j, "resources", n.resources);
    tfd_json_out_number(j, "parked_bytes", (int64_t)n.parked_size);
    tfd_json_out_number(j, "memory_bytes",
                        (int64_t)tfd_worker_memory(d->view->worker));
    tfd_json_out_close(j, '}');
}
