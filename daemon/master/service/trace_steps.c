/*
 * trace_steps.c - see trace_steps.h.
 *
 * Whoever may connect may ask for it, as he may run any graph.
 */
#include "daemon/master/service/trace_steps.h"

#include "common/base/container.h"
#include "common/proto/peer.pb.h"
#include "config/limits.h"
#include "daemon/master/session/session.h"

struct asked {
    int64_t steps;
    struct tfd_str session; /* "": all */
    uint64_t wait_ms;
};

static enum tfd_code read_asked(const struct tfd_call *call, struct asked *a,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(call->in.proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tfd_TraceSteps_steps_tag)
            a->steps = tfd_pb_int64(&r, &f);
        else if (f.tag == tfd_TraceSteps_session_tag)
            a->session = tfd_pb_str(&r, &f);
        else if (f.tag == tfd_TraceSteps_wait_ms_tag)
            a->wait_ms = (uint64_t)tfd_pb_int64(&r, &f);
    }
    return tfd_service_request_end(&r, st);
}

static enum tfd_code check_asked(const struct tfd_trace_steps *x,
                                 const struct asked *a, struct tfd_status *st)
{
    struct tfd_session *s;

    if (a->steps < 1 || a->steps > TFD_TRACED_STEPS_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a trace of %lld steps; 1 to %d can be traced",
                        (long long)a->steps, TFD_TRACED_STEPS_MAX);
    if (a->wait_ms < 1 || a->wait_ms > TFD_TRACED_WAIT_MS_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%llu ms to wait for steps; 1 to %d can be waited for",
                        (unsigned long long)a->wait_ms, TFD_TRACED_WAIT_MS_MAX);
    if (a->session.size > 0)
        TFD_TRY(tfd_master_find(x->master, a->session, &s, st));
    if (!x->call)
        return TFD_OK;
    return tfd_fail(
        st, TFD_FAILED_PRECONDITION,
        "%s traces the next %lld steps of %s, since %llu ms; one trace at a "
        "time",
        x->call->peer, (long long)x->master->watch.asked,
        x->master->o.local->task,
        (unsigned long long)((tfd_loop_now_us(x->master->o.loop) -
                              x->since_us) /
                             1000));
}

/* ---- The end ------------------------------------------------------------- */

static struct tfd_call *take_call(struct tfd_trace_steps *x)
{
    struct tfd_call *call = x->call;

    tfd_timer_stop(&x->timer);
    x->call = NULL;
    call->cancelled = NULL;
    return call;
}

static void watched(struct tfd_step_watch *w)
{
    struct tfd_trace_steps *x = w->ctx;
    struct tfd_call *call = take_call(x);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_message m;

    tfd_message_init(&m, call->native);
    tfd_pb_put_str(&m.proto, tfd_TracedSteps_task_tag,
                   tfd_str_of(x->master->o.local->task));
    tfd_bytes_add_str(&m.proto, tfd_bytes_view(&w->steps));
    if (w->why)
        tfd_pb_put_str(&m.proto, tfd_TracedSteps_why_tag, tfd_str_of(w->why));
    tfd_pb_put_int(&m.proto, tfd_TracedSteps_passed_tag, w->passed);
    if (tfd_bytes_ok(&m.proto, "the traced steps", &st) == TFD_OK) {
        tfd_call_respond(call, &m);
        return;
    }
    tfd_message_deinit(&m);
    tfd_call_fail(call, &st);
}

static void time_is_over(struct tfd_timer *t)
{
    struct tfd_trace_steps *x =
        TFD_CONTAINER_OF(t, struct tfd_trace_steps, timer);

    tfd_step_watch_stop(&x->master->watch, "the time to wait is over");
}

static void caller_gone(void *ctx, struct tfd_call *call)
{
    struct tfd_trace_steps *x = ctx;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)take_call(x);
    tfd_step_watch_drop(&x->master->watch);
    (void)tfd_fail(&st, TFD_CANCELLED, "the trace was cancelled by its caller");
    tfd_call_fail(call, &st);
}

/* ---- The beginning ------------------------------------------------------- */

static void trace_steps(void *self, struct tfd_call *call)
{
    struct tfd_trace_steps *x = self;
    struct tfd_status st = TFD_STATUS_INIT;
    struct asked a = {.steps = 0};

    if (read_asked(call, &a, &st) != TFD_OK ||
        check_asked(x, &a, &st) != TFD_OK ||
        tfd_timer_start(&x->timer, a.wait_ms * 1000, &st) != TFD_OK) {
        tfd_call_fail(call, &st);
        return;
    }
    x->call = call;
    x->since_us = tfd_loop_now_us(x->master->o.loop);
    call->ctx = x;
    call->cancelled = caller_gone;
    tfd_step_watch_start(&x->master->watch, a.steps, a.session, watched, x);
    tfd_log(TFD_LOG_INFO, "trace_steps", "steps=%lld client=%s",
            (long long)a.steps, call->peer);
}

void tfd_trace_steps_bind(struct tfd_trace_steps *x, struct tfd_master *m,
                          struct tfd_service *service)
{
    *x = (struct tfd_trace_steps){.master = m};
    tfd_timer_init(&x->timer, m->o.loop, time_is_over);
    tfd_service_bind(service, TFD_METHOD_TraceSteps, trace_steps, x);
}

void tfd_trace_steps_deinit(struct tfd_trace_steps *x)
{
    tfd_timer_stop(&x->timer);
}
