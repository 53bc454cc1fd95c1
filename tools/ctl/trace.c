/*
 * trace.c - tfdctl trace: steps with RunOptions.FULL_TRACE, and what came of
 * them as one timeline.
 */
#include "tools/ctl/step.h"
#include "tools/ctl/timeline.h"

#include "common/base/clock.h"
#include "common/proto/config.pb.h"

#include <errno.h>
#include <string.h>

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

static int write_timeline(const struct tfd_ctl *c, struct tfd_ctl_timeline *t)
{
    json_t *json = tfd_ctl_timeline_json(t);
    FILE *f = json ? fopen(c->out, "we") : NULL;
    bool bad = !f;

    if (!json)
        return tfd_ctl_fail(c, TFD_CTL_OS, "out of memory");
    if (f && json_dumpf(json, f, JSON_COMPACT | JSON_ENSURE_ASCII) != 0)
        bad = true;
    if (f && fclose(f) != 0)
        bad = true;
    json_decref(json);
    if (bad)
        return tfd_ctl_fail(c, TFD_CTL_UNREADABLE, "--out = %s: %s", c->out,
                            strerror(errno));
    return TFD_CTL_DONE;
}

static int tell_traced(const struct tfd_ctl *c,
                       const struct tfd_ctl_timeline *t)
{
    if (t->count == 0)
        tfd_ctl_note(c, "the server traced nothing");
    if (c->json)
        return tfd_ctl_put_json(c,
                                json_pack("{s:o, s:I, s:I, s:I}", "file",
                                          tfd_ctl_text(tfd_str_of(c->out)),
                                          "steps", (json_int_t)t->steps,
                                          "devices",
                                          (json_int_t)t->device_count, "nodes",
                                          (json_int_t)t->count),
                                TFD_CTL_DONE);
    tfd_ctl_put_clean(c->to, c->out);
    fprintf(c->to, ": %lld steps, %zu devices, %zu nodes\n",
            (long long)t->steps, t->device_count, t->count);
    return TFD_CTL_DONE;
}

int tfd_ctl_trace(struct tfd_ctl *c)
{
    struct tfd_ctl_timeline t;
    struct tfd_ctl_step s;
    int code;

    if (!c->out)
        return tfd_ctl_fail(c, TFD_CTL_USAGE, "no file; give --out=FILE");
    tfd_ctl_timeline_init(&t);
    code = tfd_ctl_step_open(c, c->words[0], &s);
    if (code == TFD_CTL_DONE)
        code = trace_steps(&s, &t);
    if (code == TFD_CTL_DONE)
        code = write_timeline(c, &t);
    if (code == TFD_CTL_DONE)
        code = tell_traced(c, &t);
    tfd_ctl_step_close(&s);
    tfd_ctl_timeline_deinit(&t);
    return code;
}
