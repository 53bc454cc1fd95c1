/*
 * trace_clients.c - tfdctl trace without a graph: the next steps that clients
 * of the server run, by tfd.Peer/TraceSteps.
 *
 * The server is the master of those steps: it says between which moments of its
 * clock each ran, and everybody's times are brought to that clock.
 */
#define _POSIX_C_SOURCE 200809L /* fileno() */

#include "tools/ctl/server.h"
#include "tools/ctl/trace.h"

#include "common/proto/peer.pb.h"

#include <string.h>
#include <unistd.h>

#define WAIT_MS 60000
#define ERROR_MAX 300

/* What the server answered, beside the timeline. */
struct traced {
    struct tfd_ctl_timeline timeline;
    struct tfd_str task, why; /* views of the answer */
    int64_t passed, failed, too_large;
    char error[ERROR_MAX]; /* of the first step that failed */
};

struct traced_step {
    struct tfd_str session, error, metadata;
    int64_t id, begin_us, end_us;
    int code;
    bool too_large;
};

/* ---- The answer ---------------------------------------------------------- */

static enum tfd_code read_step(struct tfd_str proto, struct traced_step *s,
                               struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    *s = (struct traced_step){.session = TFD_STR_EMPTY,
                              .error = TFD_STR_EMPTY,
                              .metadata = TFD_STR_EMPTY};
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tfd_TracedStep_step_id_tag)
            s->id = tfd_pb_int64(&r, &f);
        else if (f.tag == tfd_TracedStep_session_tag)
            s->session = tfd_pb_str(&r, &f);
        else if (f.tag == tfd_TracedStep_begin_us_tag)
            s->begin_us = tfd_pb_int64(&r, &f);
        else if (f.tag == tfd_TracedStep_end_us_tag)
            s->end_us = tfd_pb_int64(&r, &f);
        else if (f.tag == tfd_TracedStep_code_tag)
            s->code = tfd_pb_int32(&r, &f);
        else if (f.tag == tfd_TracedStep_error_tag)
            s->error = tfd_pb_str(&r, &f);
        else if (f.tag == tfd_TracedStep_metadata_tag)
            s->metadata = tfd_pb_str(&r, &f);
        else if (f.tag == tfd_TracedStep_too_large_tag)
            s->too_large = tfd_pb_bool(&r, &f);
    }
    return tfd_pb_end(&r, "TracedStep", st);
}

static enum tfd_code add_step(struct traced *x, struct tfd_str proto,
                              struct tfd_status *st)
{
    struct tfd_ctl_step_span span;
    struct traced_step s;

    TFD_TRY(read_step(proto, &s, st));
    x->too_large += s.too_large;
    if (s.code != 0 && x->failed++ == 0)
        snprintf(x->error, sizeof(x->error), TFD_STR_FMT, TFD_STR_ARG(s.error));
    TFD_TRY(tfd_ctl_timeline_add(&x->timeline, s.metadata, s.begin_us, s.end_us,
                                 st));
    span = (struct tfd_ctl_step_span){.task = x->task,
                                      .session = s.session,
                                      .id = s.id,
                                      .begin_us = s.begin_us,
                                      .end_us = s.end_us};
    return tfd_ctl_timeline_add_span(&x->timeline, &span, st);
}

static enum tfd_code read_traced(struct tfd_str answer, struct traced *x,
                                 struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(answer);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tfd_TracedSteps_task_tag)
            x->task = tfd_pb_str(&r, &f);
        else if (f.tag == tfd_TracedSteps_why_tag)
            x->why = tfd_pb_str(&r, &f);
        else if (f.tag == tfd_TracedSteps_passed_tag)
            x->passed = tfd_pb_int64(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "TracedSteps", st));
    r = tfd_pb_reader_of(answer);
    while (tfd_pb_next(&r, &f))
        if (f.tag == tfd_TracedSteps_step_tag)
            TFD_TRY(add_step(x, tfd_pb_str(&r, &f), st));
    return tfd_pb_end(&r, "TracedSteps", st);
}

/* ---- The call ------------------------------------------------------------ */

static int64_t asked_steps(const struct tfd_ctl *c)
{
    return c->steps > 0 ? c->steps : 1;
}

static int64_t wait_ms(const struct tfd_ctl *c)
{
    return c->wait_ms > 0 ? c->wait_ms : WAIT_MS;
}

static void say_what_is_waited_for(const struct tfd_ctl_server *s)
{
    const struct tfd_ctl *c = s->ctl;
    char text[TFD_CTL_NUMBER_SIZE];
    int fd = fileno(c->err);

    if (fd >= 0 && isatty(fd))
        tfd_ctl_note(c,
                     "%s: the next %lld steps of its clients; they have %s, "
                     "Ctrl-C ends the trace",
                     s->address, (long long)asked_steps(c),
                     tfd_ctl_time((double)wait_ms(c) * 1000, text));
}

static int refused(const struct tfd_ctl_server *s, const struct tfd_status *st)
{
    if (st->code == TFD_UNIMPLEMENTED)
        return tfd_ctl_fail(s->ctl, TFD_CTL_REFUSED,
                            "%s: no tfd, or an older one: TensorFlow's servers "
                            "trace steps for the client alone that runs them; "
                            "give a GRAPH to run steps of your own",
                            s->address);
    return tfd_ctl_fail_call(s->ctl, s->address, st);
}

/* The steps are waited for, and then the answer as any other is. */
static int ask(struct tfd_ctl_server *s, struct tfd_bytes *answer)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_ctl *c = s->ctl;
    int64_t timeout_ms = c->timeout_ms;
    struct tfd_bytes request;
    enum tfd_code rc;

    tfd_bytes_init(&request, 4096);
    tfd_pb_put_int(&request, tfd_TraceSteps_steps_tag, asked_steps(c));
    if (c->session)
        tfd_pb_put_str(&request, tfd_TraceSteps_session_tag,
                       tfd_str_of(c->session));
    tfd_pb_put_int(&request, tfd_TraceSteps_wait_ms_tag, wait_ms(c));
    if (request.failed) {
        tfd_bytes_deinit(&request);
        return tfd_ctl_fail(c, TFD_CTL_USAGE,
                            "--session = %.40s...: no session", c->session);
    }
    say_what_is_waited_for(s);
    if (timeout_ms > 0)
        c->timeout_ms += wait_ms(c);
    rc = tfd_ctl_server_call(s, TFD_METHOD_TraceSteps, tfd_bytes_view(&request),
                             0, answer, &st);
    c->timeout_ms = timeout_ms;
    tfd_bytes_deinit(&request);
    return rc == TFD_OK ? TFD_CTL_DONE : refused(s, &st);
}

/* ---- What came of it ----------------------------------------------------- */

static void note_losses(const struct tfd_ctl *c, const struct traced *x)
{
    if (x->failed > 0)
        tfd_ctl_note(c, "%lld of the steps failed, the first with: %s",
                     (long long)x->failed, x->error);
    if (x->too_large > 0)
        tfd_ctl_note(c, "%lld of the steps were too large to be kept",
                     (long long)x->too_large);
    if (x->passed > 0)
        tfd_ctl_note(c,
                     "%lld steps between them were not traced, as too many "
                     "ran at once",
                     (long long)x->passed);
}

static json_t *more_json(const struct tfd_ctl *c, const struct traced *x)
{
    return json_pack("{s:I, s:o, s:I, s:I, s:I}", "asked",
                     (json_int_t)asked_steps(c), "why", tfd_ctl_text(x->why),
                     "failed", (json_int_t)x->failed, "too_large",
                     (json_int_t)x->too_large, "passed", (json_int_t)x->passed);
}

/* Fewer steps than asked for are written, and not a success. */
static int tell_clients(const struct tfd_ctl *c, struct traced *x)
{
    struct tfd_ctl_timeline *t = &x->timeline;
    int code = TFD_CTL_DONE;

    if (t->steps < asked_steps(c))
        code =
            tfd_ctl_fail(c, TFD_CTL_NO, "%lld of %lld steps: %.*s",
                         (long long)t->steps, (long long)asked_steps(c),
                         x->why.size < ERROR_MAX ? (int)x->why.size : ERROR_MAX,
                         x->why.data);
    if (t->steps == 0)
        return code;
    note_losses(c, x);
    if (tfd_ctl_trace_write(c, t) != TFD_CTL_DONE)
        return TFD_CTL_UNREADABLE;
    return tfd_ctl_trace_tell(c, t, more_json(c, x), code);
}

static int take_answer(const struct tfd_ctl_server *s, struct tfd_str answer)
{
    struct traced x = {.task = TFD_STR_EMPTY, .why = TFD_STR_EMPTY};
    struct tfd_status st = TFD_STATUS_INIT;
    int code;

    tfd_ctl_timeline_init(&x.timeline);
    if (read_traced(answer, &x, &st) == TFD_OK)
        code = tell_clients(s->ctl, &x);
    else
        code = tfd_ctl_fail_call(s->ctl, s->address, &st);
    tfd_ctl_timeline_deinit(&x.timeline);
    return code;
}

static int trace_server(struct tfd_ctl *c)
{
    struct tfd_ctl_server s;
    struct tfd_bytes answer;
    int code = tfd_ctl_server_open(c, &s);

    if (code == TFD_CTL_DONE)
        code = tfd_ctl_server_greet(&s);
    if (code == TFD_CTL_DONE)
        code = ask(&s, &answer);
    if (code == TFD_CTL_DONE) {
        code = take_answer(&s, tfd_bytes_view(&answer));
        tfd_bytes_deinit(&answer);
    }
    tfd_ctl_server_close(&s);
    return code;
}

int tfd_ctl_trace_clients(struct tfd_ctl *c)
{
    int code;

    if (c->feeds.count + c->fetches.count + c->ops.count > 0)
        return tfd_ctl_fail(c, TFD_CTL_USAGE,
                            "--feed, --fetch and --op are of a GRAPH's steps; "
                            "give a GRAPH, or none of them");
    code = tfd_ctl_trace_check(c);
    return code == TFD_CTL_DONE ? trace_server(c) : code;
}
