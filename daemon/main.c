/*
 * main.c - flags -> server -> loop -> exit code; nothing else.
 */
#include "common/base/log.h"
#include "config/environment.h"
#include "daemon/beat.h"
#include "daemon/init_process.h"
#include "daemon/master/session/master.h"
#include "daemon/missing_ops.h"
#include "daemon/notify.h"
#include "daemon/own_name.h"
#include "daemon/server_impl.h"
#include "daemon/train_thread.h"
#include "daemon/worker/service/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For the ready callback. */
struct program {
    const struct tfd_config *config;
    struct tfd_notify notify;
    struct tfd_beat beat;
    struct tfd_server *server;
    struct tfd_train_thread *trainer; /* NULL: this task does not train */
    int exit_code;
};

/* What waits for the file must not wait for ever: it is written, or we end. */
static bool write_port_file(const char *path, int port)
{
    FILE *f = fopen(path, "w");
    bool good = f && fprintf(f, "%d\n", port) > 0;

    if (f && fclose(f) != 0)
        good = false;
    if (!good)
        tfd_log(TFD_LOG_ERROR, "port_file",
                "path=%s error=\"cannot write: %s\"", path, strerror(errno));
    return good;
}

static void describe_task(void *ctx, char *text, size_t size)
{
    const struct program *p = ctx;
    const struct tfd_config *c = p->config;
    const struct tfd_master *m = tfd_server_master(p->server);
    struct tfd_worker_counts w =
        tfd_worker_counts(tfd_server_worker(p->server));

    snprintf(text, size,
             "%.60s %d on %.80s: %d sessions, %d steps running, %llu done%s",
             c->cluster.job_name, c->cluster.task_index,
             tfd_server_target(p->server),
             tfd_master_session_count(m) > w.sessions
                 ? tfd_master_session_count(m)
                 : w.sessions,
             w.steps, (unsigned long long)w.steps_done,
             tfd_server_stopping(p->server) ? ", stopping" : "");
}

static void start_beat(struct program *p, struct tfd_server *s)
{
    struct tfd_beat_options o = {
        .loop = tfd_server_loop(s),
        .pool = tfd_server_pool(s),
        .notify = &p->notify,
        .watchdog_us = tfd_beat_watchdog_us(
            tfd_environment_get(TFD_ENVIRONMENT_WATCHDOG_USEC),
            tfd_environment_get(TFD_ENVIRONMENT_WATCHDOG_PID)),
        .describe = describe_task,
        .ctx = p,
    };

    p->server = s;
    tfd_beat_start(&p->beat, &o);
}

static void start_trainer(struct program *p, struct tfd_server *s)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (tfd_train_thread_start(s, p->config, stdout, &p->trainer, &st) ==
        TFD_OK)
        return;
    tfd_log(TFD_LOG_ERROR, "training_failed", "error=\"%s\"", st.text);
    p->exit_code = TFD_EXIT_OS;
    tfd_server_stop(s);
}

static void ready(void *ctx, struct tfd_server *s)
{
    struct program *p = ctx;

    if (p->config->port_file &&
        !write_port_file(p->config->port_file, tfd_server_port(s))) {
        p->exit_code = TFD_EXIT_OS;
        tfd_server_stop(s);
        return;
    }
    tfd_notify_ready(&p->notify, "%s %d on %s", p->config->cluster.job_name,
                     p->config->cluster.task_index, tfd_server_target(s));
    start_beat(p, s);
    if (tfd_train_thread_wanted(p->config))
        start_trainer(p, s);
}

static void stopping(void *ctx)
{
    struct program *p = ctx;

    tfd_notify_stopping(&p->notify, "stopping: running steps may end");
    if (p->trainer)
        tfd_train_thread_stop(p->trainer);
}

static void name_unknown(void *ctx, const char *why)
{
    struct program *p = ctx;

    tfd_notify_status(&p->notify, "waiting: %s", why);
}

/* Why it did not start, where the reader of the log looks for it. */
static int refuse_start(const struct tfd_status *st, int code)
{
    if (tfd_log_is_json())
        tfd_log(TFD_LOG_ERROR, "start_failed", "exit_code=%d error=\"%s\"",
                code, st->text);
    else
        fprintf(stderr, "tfd: %s\n", st->text);
    return code;
}

/* What was read and means nothing here. */
static void log_notes(const struct tfd_report *notes)
{
    for (size_t i = 0; i < notes->count && i < TFD_REPORT_LINES_MAX; i++)
        tfd_log(TFD_LOG_INFO, "config_note", "text=\"%s\"", notes->lines[i]);
}

static int find_name(struct program *p, struct tfd_bind *bind)
{
    const struct tfd_config *c = p->config;
    struct tfd_status st = TFD_STATUS_INIT;

    switch (tfd_own_name_find(c->bind, tfd_cluster_own_address(&c->cluster),
                              c->port, c->peer_wait_ms, name_unknown, p, bind,
                              &st)) {
    case TFD_OK:
        return TFD_FLAGS_RUN;
    case TFD_CANCELLED:
        return c->stopped_code;
    case TFD_UNAVAILABLE:
        return refuse_start(&st, TFD_EXIT_PEER_LOST);
    case TFD_RESOURCE_EXHAUSTED:
        return refuse_start(&st, TFD_EXIT_OS);
    default:
        return refuse_start(&st, TFD_EXIT_CONFIG);
    }
}

static int serve(struct program *p, const struct tfd_bind *bind)
{
    struct tfd_server_options o = {
        .config = p->config,
        .bind = bind,
        .listen = true,
        .signals = true,
        .ready = ready,
        .stopping = stopping,
        .ctx = p,
    };
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_server *server;
    int code;

    if (tfd_server_new(&o, &server, &st) != TFD_OK)
        return refuse_start(&st, st.code == TFD_FAILED_PRECONDITION
                                     ? TFD_EXIT_CONFIG
                                     : TFD_EXIT_OS);
    code = tfd_server_run(server);
    tfd_beat_stop(&p->beat);
    if (p->trainer)
        p->exit_code = tfd_train_thread_result(p->trainer);
    /* A training fails by what stops tasks, too: then that is why it ended. */
    if (p->config->stopped_code && tfd_server_by_signal(server))
        p->exit_code = p->config->stopped_code;
    tfd_server_free(server);
    /* A lost GPU also fails the training. */
    return code ? code : p->exit_code;
}

int main(int argc, char **argv)
{
    struct tfd_config config;
    struct program p = {.config = &config};
    enum tfd_log_level level;
    struct tfd_bind bind;
    bool json;
    int code;

    tfd_init_process_begin();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN); /* until the loop hears of it */
    tfd_log_journal_set(tfd_environment_get(TFD_ENVIRONMENT_JOURNAL_STREAM));
    code = tfd_flags_parse(&config, argc, argv,
                           tfd_environment_get(TFD_ENVIRONMENT_TF_CONFIG),
                           stdout, stderr);
    if (code == TFD_FLAGS_RUN && config.missing_ops) {
        code = (int)tfd_missing_ops(config.missing_ops, stdout, stderr);
    } else if (code == TFD_FLAGS_RUN) {
        if (tfd_log_level_parse(config.log_level, &level))
            tfd_log_level_set(level);
        if (tfd_log_format_parse(config.log_format, &json))
            tfd_log_format_set(json);
        tfd_notify_open(&p.notify,
                        tfd_environment_get(TFD_ENVIRONMENT_NOTIFY_SOCKET));
        log_notes(&config.notes);
        code = find_name(&p, &bind);
        if (code == TFD_FLAGS_RUN)
            code = serve(&p, &bind);
        tfd_notify_close(&p.notify);
    }
    tfd_config_deinit(&config);
    return code;
}
