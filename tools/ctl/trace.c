/*
 * trace.c - tfdctl trace GRAPH: steps with RunOptions.FULL_TRACE, and what came
 * of them as one timeline.  Without a graph: trace_clients.c.
 */
#include "tools/ctl/step.h"
#include "tools/ctl/trace.h"

#include "common/base/clock.h"
#include "common/proto/config.pb.h"

#define FULL_TRACE 3
#define METADATA_SIZE_MAX ((size_t)256 << 20)

static int trace_one(struct tfd_ctl_step *s, struct tfd_str options,
                     struct tfd_ctl_timeline *t)
{
    int64_t begin_us = tfd_clock_wall_us();
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_bytes metadata;
    enum tfd_code rc;
    int code;

    tfd_bytes_init(&metadata, METADATA_SIZE_MAX);
    code = tfd_ctl_step_run(s, options, &metadata);
    if (code == TFD_CTL_DONE) {
        rc = tfd_bytes_ok(&metadata, "the trace of a step", &st);
        if (rc == TFD_OK)
            rc = tfd_ctl_timeline_add(t, tfd_bytes_view(&metadata), begin_us,
                                      tfd_clock_wall_us(), &st);
        if (rc != TFD_OK)
            code = tfd_ctl_fail_call(s->server.ctl, s->server.address, &st);
    }
    tfd_bytes_deinit(&metadata);
    return code;
}

static int trace_steps(struct tfd_ctl_step *s, struct tfd_ctl_timeline *t)
{
    const struct tfd_ctl *c = s->server.ctl;
    int64_t count = c->steps > 0 ? c->steps : 1;
    int code = TFD_CTL_DONE;
    struct tfd_bytes options;

    tfd_bytes_init(&options, 64);
    tfd_pb_put_int(&options, tensorflow_RunOptions_trace_level_tag, FULL_TRACE);
    tfd_pb_put_int(&options, tensorflow_RunOptions_timeout_in_ms_tag,
                   c->timeout_ms);
    for (int64_t i = 0; i < count && code == TFD_CTL_DONE; i++)
        code = trace_one(s, tfd_bytes_view(&options), t);
    tfd_bytes_deinit(&options);
    return code;
}

/* A session is of the steps of clients; those of a graph have one of their own.
 */
static int trace_graph(struct tfd_ctl *c)
{
    struct tfd_ctl_timeline t;
    struct tfd_ctl_step s;
    int code;

    if (c->session)
        return tfd_ctl_fail(c, TFD_CTL_USAGE,
                            "--session is of the steps of clients; give it "
                            "without a GRAPH");
    tfd_ctl_timeline_init(&t);
    code = tfd_ctl_step_open(c, c->words[0], &s);
    if (code == TFD_CTL_DONE)
        code = trace_steps(&s, &t);
    if (code == TFD_CTL_DONE)
        code = tfd_ctl_trace_write(c, &t);
    if (code == TFD_CTL_DONE)
        code = tfd_ctl_trace_tell(c, &t, NULL, code);
    tfd_ctl_step_close(&s);
    tfd_ctl_timeline_deinit(&t);
    return code;
}

int tfd_ctl_trace(struct tfd_ctl *c)
{
    int code;

    if (c->word_count == 0)
        return tfd_ctl_trace_clients(c);
    code = tfd_ctl_trace_check(c);
    return code == TFD_CTL_DONE ? trace_graph(c) : code;
}
