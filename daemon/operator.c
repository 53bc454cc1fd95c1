/*
 * operator.c - tfd.Peer/Operate: another level of the log, and a stop that
 * drains, for an operator who has no signal to send (tools/ctl/operate.c).
 *
 * Whoever may connect may ask for it, as he may run any graph.
 */
#include "daemon/server_state.h"

#include "common/base/log.h"
#include "common/proto/peer.pb.h"
#include "config/version.h"

#include <string.h>

struct asked {
    char level[16]; /* "": as it is */
    bool stop;
};

static enum tfd_code read_asked(const struct tfd_call *call, struct asked *a,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(call->in.proto);
    struct tfd_str level = TFD_STR_EMPTY;
    struct tfd_pb_field f;
    enum tfd_log_level parsed;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tfd_Operate_log_level_tag)
            level = tfd_pb_str(&r, &f);
        else if (f.tag == tfd_Operate_stop_tag)
            a->stop = tfd_pb_bool(&r, &f);
    }
    TFD_TRY(tfd_service_request_end(&r, st));
    snprintf(a->level, sizeof(a->level), TFD_STR_FMT, TFD_STR_ARG(level));
    if (level.size > 0 &&
        (level.size >= sizeof(a->level) || memchr(level.data, 0, level.size) ||
         !tfd_log_level_parse(a->level, &parsed)))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "log level '" TFD_STR_FMT "' is not known; give error, "
                        "warn, info or debug",
                        TFD_STR_ARG(level));
    return TFD_OK;
}

static const char *level_name(void)
{
    static const char *const names[] = {"debug", "info", "warn"};
    enum tfd_log_level level;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (tfd_log_level_parse(names[i], &level) && tfd_log_enabled(level))
            return names[i];
    return "error";
}

static void set_level(const char *name)
{
    const char *before = level_name();
    enum tfd_log_level level;

    if (!tfd_log_level_parse(name, &level))
        return;
    tfd_log_level_set(level);
    tfd_log(TFD_LOG_INFO, "log_level", "level=%s before=%s", name, before);
}

static void answer(struct tfd_server *s, struct tfd_call *call, bool stopping)
{
    struct tfd_message m;

    tfd_message_init(&m, call->native);
    tfd_pb_put_str(&m.proto, tfd_Operated_task_tag, tfd_str_of(s->self.task));
    tfd_pb_put_str(&m.proto, tfd_Operated_version_tag, TFD_STR(TFD_VERSION));
    tfd_pb_put_str(&m.proto, tfd_Operated_log_level_tag,
                   tfd_str_of(level_name()));
    tfd_pb_put_bool(&m.proto, tfd_Operated_stopping_tag, stopping);
    tfd_call_respond(call, &m);
}

/* A server within another program ends when that program wants it. */
static enum tfd_code check_stop(const struct tfd_server *s,
                                struct tfd_status *st)
{
    if (s->o.signals)
        return TFD_OK;
    return tfd_fail(st, TFD_FAILED_PRECONDITION,
                    "%s is part of a program, which alone can stop it",
                    s->self.task);
}

static void operate_task(void *self, struct tfd_call *call)
{
    struct tfd_server *s = self;
    struct tfd_status st = TFD_STATUS_INIT;
    struct asked a = {.stop = false};
    bool stopping = s->stage != TFD_SERVER_SERVING;

    if (read_asked(call, &a, &st) != TFD_OK ||
        (a.stop && check_stop(s, &st) != TFD_OK)) {
        tfd_call_fail(call, &st);
        return;
    }
    set_level(a.level);
    answer(s, call, stopping || a.stop);
    if (a.stop)
        tfd_server_drain(s, "an operator asked for it");
}

void tfd_server_bind_operate(struct tfd_server *s)
{
    tfd_service_bind(s->service, TFD_METHOD_Operate, operate_task, s);
}
