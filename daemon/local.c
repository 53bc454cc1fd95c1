/*
 * local.c - sessions of this process for other threads: each call is posted to
 * the loop thread, and the caller sleeps until it is answered.
 */
#include "common/thread/event.h"
#include "config/flags.h"
#include "daemon/master/session/run_options.h"
#include "daemon/master/session/session.h"
#include "daemon/server_impl.h"

#include <stdlib.h>

struct tfd_local_session {
    struct tfd_server *server;
    struct tfd_session *session; /* counted; NULL once it is closing */
    int64_t version;
};

/* One call: what to do on the loop thread, and whether it is done. */
struct request {
    struct tfd_post post; /* first */
    struct tfd_local_session *local;
    struct tfd_event done;
    struct tfd_status status;
    struct tfd_str bytes, config; /* of open and extend */
    struct tfd_run_step run;
    struct tfd_local_run *local_run;
};

/* Both ends of a race between closing and another call are on the loop. */
static bool is_closed(struct request *r)
{
    if (!r->local->session)
        tfd_fail(&r->status, TFD_CANCELLED, "Session has been closed.");
    return !r->local->session;
}

static enum tfd_code ask_service(struct request *r,
                                 void (*fn)(struct tfd_post *p),
                                 struct tfd_status *st)
{
    tfd_event_init(&r->done, TFD_LOCK_SERVER);
    r->post.run = fn;
    tfd_loop_post(tfd_server_loop(r->local->server), &r->post);
    tfd_event_wait(&r->done, TFD_SPIN_US);
    tfd_event_deinit(&r->done);
    if (r->status.code == TFD_OK)
        return TFD_OK;
    return tfd_status_copy(st, &r->status);
}

/* ---- Open and extend ----------------------------------------------------- */

static void opened(void *ctx, const struct tfd_status *st,
                   struct tfd_session *session)
{
    struct request *r = ctx;

    r->status = *st;
    r->local->session = session;
    if (session)
        tfd_session_ref(session);
    tfd_event_set(&r->done);
}

static void open_on_loop(struct tfd_post *p)
{
    struct request *r = (struct request *)p;
    struct tfd_create_session c = {
        .graph_def = r->bytes,
        .config = r->config,
        .done = opened,
        .ctx = r,
    };

    (void)tfd_master_create_session(tfd_server_master(r->local->server), &c);
}

enum tfd_code tfd_local_open(struct tfd_server *s, struct tfd_str graph_def,
                             struct tfd_str config,
                             struct tfd_local_session **out,
                             struct tfd_status *st)
{
    struct tfd_local_session *l = calloc(1, sizeof(*l));
    struct request r = {.bytes = graph_def, .config = config, .local = l};

    if (!l)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a session");
    l->server = s;
    if (ask_service(&r, open_on_loop, st) != TFD_OK) {
        free(l);
        return r.status.code;
    }
    *out = l;
    return TFD_OK;
}

static void extended(void *ctx, const struct tfd_status *st, int64_t version)
{
    struct request *r = ctx;

    r->status = *st;
    if (st->code == TFD_OK)
        r->local->version = version;
    tfd_event_set(&r->done);
}

static void extend_on_loop(struct tfd_post *p)
{
    struct request *r = (struct request *)p;
    struct tfd_extend_session x = {
        .graph_def = r->bytes,
        .version = r->local->version,
        .done = extended,
        .ctx = r,
    };

    if (is_closed(r))
        tfd_event_set(&r->done);
    else
        (void)tfd_session_extend(r->local->session, &x);
}

enum tfd_code tfd_local_extend(struct tfd_local_session *l,
                               struct tfd_str graph_def, struct tfd_status *st)
{
    struct request r = {.bytes = graph_def, .local = l};

    return ask_service(&r, extend_on_loop, st);
}

/* ---- Run ----------------------------------------------------------------- */

/* As TensorFlow's sessions in process, and unlike its servers, any level of
 * trace traces.  Steps that ask for nothing pay nothing. */
static enum tfd_code begin_trace(struct request *r)
{
    const struct tfd_local_run *run = r->local_run;
    struct tfd_run_options options;

    if (!run->options.size && !run->metadata)
        return TFD_OK;
    TFD_TRY(tfd_run_options_read(tfd_server_master(r->local->server),
                                 run->options, &options, &r->status));
    if (!run->metadata)
        return TFD_OK;
    options.timeline = options.trace_level > 0;
    options.costs = tfd_session_wants_costs(r->local->session);
    return tfd_run_trace_new(&options, &r->run.trace, &r->status);
}

static void end_trace(struct request *r, enum tfd_code code)
{
    if (code == TFD_OK && r->local_run->metadata)
        tfd_run_trace_write(r->local_run->metadata, r->run.trace);
    tfd_run_trace_free(r->run.trace);
    r->run.trace = NULL;
}

static void ran(struct tfd_run_step *run, const struct tfd_status *st,
                struct tfd_tensor *fetches, uint32_t plan)
{
    struct request *r = run->ctx;

    if (st->code == TFD_OK && run->fetch_count != r->local_run->fetch_count) {
        tfd_fail(&r->status, TFD_INVALID_ARGUMENT,
                 "Plan %u has %d fetches, %d were asked for", plan,
                 run->fetch_count, r->local_run->fetch_count);
    } else if (st->code == TFD_OK) {
        for (int i = 0; i < r->local_run->fetch_count; i++)
            r->local_run->fetches[i] = tfd_tensor_ref(&fetches[i]);
        r->local_run->plan = plan;
        r->local_run->task_leaves =
            r->local->session && r->local->session->task_leaves;
    } else {
        r->status = *st;
    }
    end_trace(r, r->status.code);
    tfd_event_set(&r->done);
}

static void run_on_loop(struct tfd_post *p)
{
    struct request *r = (struct request *)p;

    if (is_closed(r) || begin_trace(r) != TFD_OK)
        tfd_event_set(&r->done);
    else
        tfd_session_run(r->local->session, &r->run);
}

enum tfd_code tfd_local_run(struct tfd_local_session *l,
                            struct tfd_local_run *run, struct tfd_status *st)
{
    struct request r = {
        .local = l,
        .local_run = run,
        .run =
            {
                .plan = run->plan,
                .feed_names = run->feed_names,
                .feeds = run->feeds,
                .feed_count = run->feed_count,
                .fetch_names = run->fetch_names,
                .fetch_count = run->fetch_count,
                .target_names = run->target_names,
                .target_count = run->target_count,
                .timeout_us = run->timeout_us,
                .done = ran,
            },
    };
    enum tfd_code rc;

    r.run.ctx = &r;
    rc = ask_service(&r, run_on_loop, st);
    for (int i = 0; i < run->feed_count; i++)
        tfd_tensor_unref(&run->feeds[i]);
    return rc;
}

/* ---- Close --------------------------------------------------------------- */

static void closed(void *ctx, const struct tfd_status *st)
{
    struct request *r = ctx;

    r->status = *st;
    tfd_event_set(&r->done);
}

static void close_on_loop(struct tfd_post *p)
{
    struct request *r = (struct request *)p;
    struct tfd_session *session = r->local->session;

    r->local->session = NULL;
    if (!session) {
        tfd_event_set(&r->done);
        return;
    }
    tfd_session_close(session, closed, r);
    tfd_session_unref(session);
}

void tfd_local_cancel(struct tfd_local_session *l)
{
    struct request r = {.local = l};

    (void)ask_service(&r, close_on_loop, NULL);
}

void tfd_local_close(struct tfd_local_session *l)
{
    tfd_local_cancel(l);
    free(l);
}
