/*
 * spread_run.c - see spread_run.h.
 */
#include "daemon/eager/parts/spread_run.h"

#include "common/base/container.h"
#include "config/limits.h"
#include "daemon/eager/packed.h"
#include "daemon/eager/parts/peer.h"
#include "daemon/eager/parts/tasks.h"

#include <stdlib.h>
#include <string.h>

static void part_done(struct tfd_eager_run *part, const struct tfd_status *st);
static void waited(struct tfd_timer *t);

/* ---- Memory -------------------------------------------------------------- */

void tfd_eager_spread_run_free(struct tfd_eager_spread_run *r)
{
    struct tfd_eager_context *c = r->context;

    for (int i = 0; r->runs && i < r->spread->part_count; i++)
        if (r->runs[i])
            tfd_eager_run_free(r->runs[i]);
    for (int i = 0; r->in && i < r->spread->value_count; i++)
        tfd_tensor_unref(&r->in[i]);
    for (int i = 0; r->packed && i < r->spread->value_count; i++)
        tfd_eager_packed_unref(r->packed[i]);
    free(r->packed);
    free(r->runs);
    free(r->in);
    free(r->inputs);
    free(r->part_inputs);
    tfd_eager_spread_unref(r->spread);
    free(r);
    tfd_eager_context_unref(c);
}

struct tfd_eager_spread_run *tfd_eager_spread_run_new(
    struct tfd_eager_context *c, struct tfd_eager_spread *s,
    struct tfd_eager_operation *o, int64_t step, struct tfd_status *st)
{
    struct tfd_eager_spread_run *r = calloc(1, sizeof(*r));
    size_t count = (size_t)s->value_count + 1;

    if (!r) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory to run a function");
        return NULL;
    }
    tfd_timer_init(&r->timer, c->eager->options.loop, waited);
    r->context = tfd_eager_context_ref(c);
    r->spread = s;
    s->refs++;
    r->op = o->id;
    r->step = step;
    r->in = calloc(count, sizeof(*r->in));
    r->inputs = calloc(count, sizeof(*r->inputs));
    r->packed = calloc(count, sizeof(struct tfd_eager_packed *));
    if (!r->in || !r->inputs || !r->packed) {
        tfd_eager_spread_run_free(r);
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory to run a function");
        return NULL;
    }
    for (int i = 0; i < o->in_count; i++) {
        r->in[i] = o->in[i];
        r->inputs[i] = o->inputs[i].proto;
        r->packed[i] = o->inputs[i].packed;
        o->inputs[i].packed = NULL;
        o->in[i] = (struct tfd_tensor)TFD_TENSOR_INIT;
    }
    return r;
}

/* Values are those of one part each, as each lies on one device. */
static void give_inputs(struct tfd_eager_spread_run *r, int part,
                        struct tfd_str *inputs)
{
    struct tfd_eager_part *p = &r->spread->parts[part];
    struct tfd_eager_run *run = r->runs[part];

    for (int i = 0; i < p->graph->arg_count; i++) {
        run->args[i] = r->in[p->args[i]];
        r->in[p->args[i]] = (struct tfd_tensor)TFD_TENSOR_INIT;
        inputs[i] = r->inputs[p->args[i]];
    }
    run->inputs = inputs;
    run->outputs = p->results;
    run->op = r->op;
    run->done = part_done;
    run->ctx = r;
}

static enum tfd_code prepare(struct tfd_eager_spread_run *r,
                             struct tfd_status *st)
{
    const struct tfd_eager_spread *s = r->spread;
    size_t used = 0;

    r->runs = calloc((size_t)s->part_count + 1, sizeof(struct tfd_eager_run *));
    r->part_inputs =
        calloc((size_t)s->value_count + 1, sizeof(*r->part_inputs));
    if (!r->runs || !r->part_inputs)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to run a function");
    for (int i = 0; i < s->part_count; i++) {
        r->runs[i] = tfd_eager_run_new(r->context, s->parts[i].graph, st);
        if (!r->runs[i])
            return TFD_RESOURCE_EXHAUSTED;
        give_inputs(r, i, r->part_inputs + used);
        used += (size_t)s->parts[i].graph->arg_count;
    }
    return TFD_OK;
}

/* ---- The end ------------------------------------------------------------- */

/* A run that has ended well between tasks that push has left nothing. */
static void clean_up(struct tfd_eager_spread_run *r)
{
    if (r->spread->pushes && r->error.code == TFD_OK)
        return;
    for (int i = 0; i < r->spread->part_count; i++) {
        struct tfd_worker *w = r->spread->parts[i].graph->worker;

        w->ops->cleanup_graph(w, r->step);
    }
}

/* ---- Failures ------------------------------------------------------------ */

/* How much a failure says of its cause. */
enum rank { RANK_NONE, RANK_CANCELLED, RANK_ECHO, RANK_CAUSE };

static enum rank rank_of(const struct tfd_status *st)
{
    if (st->code == TFD_OK)
        return RANK_NONE;
    if (st->code == TFD_CANCELLED)
        return RANK_CANCELLED;
    if ((st->code == TFD_UNAVAILABLE || st->code == TFD_ABORTED) &&
        !strstr(st->text, "calling /tensorflow.eager"))
        return RANK_ECHO;
    return RANK_CAUSE;
}

/* This task's part may find that another task cannot be reached, which its
 * calls to that task would say only after a while.  Without the task's name a
 * coordinator takes it for a failure of this task, and tries for ever. */
static void blame_task(struct tfd_eager_spread_run *r)
{
    struct tfd_worker *own = r->context->eager->options.worker, *found = NULL;

    if (rank_of(&r->error) != RANK_ECHO)
        return;
    for (int i = 0; i < r->spread->part_count; i++) {
        struct tfd_worker *w = r->spread->parts[i].graph->worker;

        if (w != own && strstr(r->error.text, w->task) &&
            (!found || strlen(w->task) > strlen(found->task)))
            found = w;
    }
    if (found)
        tfd_eager_peer_blame(found, &r->error);
}

static void end_run(struct tfd_eager_spread_run *r)
{
    tfd_timer_stop(&r->timer);
    clean_up(r);
    blame_task(r);
    r->done(r, &r->error);
}

static void cancel_parts(struct tfd_eager_spread_run *r)
{
    for (int i = 0; r->runs && i < r->spread->part_count; i++)
        if (r->runs[i] && r->runs[i]->is_running)
            tfd_eager_run_cancel(r->runs[i]);
}

static void drop_pending(struct tfd_eager_spread_run *r)
{
    if (--r->pending == 0)
        end_run(r);
}

static void cancel_deferred(struct tfd_post *p)
{
    struct tfd_eager_spread_run *r =
        TFD_CONTAINER_OF(p, struct tfd_eager_spread_run, cancel);

    cancel_parts(r);
    drop_pending(r);
}

/* Failures that have arrived by now may say more. */
static void cancel_soon(struct tfd_eager_spread_run *r)
{
    if (r->ending)
        return;
    r->ending = true;
    r->pending++;
    r->cancel.run = cancel_deferred;
    tfd_loop_defer(r->timer.loop, &r->cancel);
}

static void waited(struct tfd_timer *t)
{
    cancel_soon(TFD_CONTAINER_OF(t, struct tfd_eager_spread_run, timer));
}

static void part_done(struct tfd_eager_run *part, const struct tfd_status *st)
{
    struct tfd_eager_spread_run *r = part->ctx;

    if (rank_of(st) > rank_of(&r->error))
        r->error = *st;
    if (rank_of(st) == RANK_CAUSE ||
        (st->code != TFD_OK && r->timer.slot < 0 &&
         tfd_timer_start(&r->timer, TFD_EAGER_CAUSE_WAIT_US, NULL) != TFD_OK))
        cancel_soon(r);
    drop_pending(r);
}

void tfd_eager_spread_run_cancel(struct tfd_eager_spread_run *r)
{
    r->is_cancelled = true;
    if (r->pending == 0)
        return; /* it waits for its parts, which will come */
    if (r->error.code == TFD_OK)
        tfd_fail(&r->error, TFD_CANCELLED, "The function was cancelled.");
    cancel_soon(r);
}

/* ---- The beginning ------------------------------------------------------- */

/* Other tasks first: they start while this one computes. */
static void start_parts(struct tfd_eager_spread_run *r)
{
    const struct tfd_eager_spread *s = r->spread;

    r->pending = s->part_count + 1;
    for (int i = s->part_count - 1; i >= 0; i--)
        tfd_eager_run_begin(r->runs[i], r->step);
    drop_pending(r);
}

static void start(struct tfd_eager_spread_waiter *w)
{
    struct tfd_eager_spread_run *r =
        TFD_CONTAINER_OF(w, struct tfd_eager_spread_run, waiter);

    if (r->spread->state == TFD_SPREAD_FAILED)
        tfd_status_copy(&r->error, &r->spread->status);
    else if (r->is_cancelled || r->context->is_closed)
        tfd_fail(&r->error, TFD_CANCELLED, "The function was cancelled.");
    else
        (void)!prepare(r, &r->error);
    if (r->error.code == TFD_OK)
        start_parts(r);
    else
        r->done(r, &r->error);
}

void tfd_eager_spread_run_begin(struct tfd_eager_spread_run *r)
{
    r->waiter.ready = start;
    tfd_eager_spread_wait(r->spread, &r->waiter);
}

/* ---- Results ------------------------------------------------------------- */

struct tfd_eager_spread_result
tfd_eager_spread_run_result(const struct tfd_eager_spread_run *r, int i)
{
    const struct tfd_eager_spread *s = r->spread;
    const struct tfd_device *d =
        &s->tasks->devices.devices[s->result_device[i]];
    struct tfd_eager_spread_result result = {.value = NULL};

    for (int p = 0; p < s->part_count; p++)
        for (int k = 0; k < s->parts[p].graph->result_count; k++)
            if (s->parts[p].results[k] == i)
                result.value = &r->runs[p]->results[k];
    result.device = d->worker > 0 ? d->attributes.name : NULL;
    return result;
}
