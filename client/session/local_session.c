/*
 * local_session.c - sessions on a server in this process: calls go straight to
 * its loop thread (daemon/server.h).
 *
 * A session without target makes a server for itself, as two such sessions
 * share nothing; it has no port and ends with the session.
 */
#include "client/session/server_config.h"
#include "common/base/atomic.h"
#include "client/session/backend.h"

#include <stdlib.h>
#include <string.h>

struct local {
    struct tfd_backend backend; /* first */
    struct tfd_bytes config;
    struct tfd_config server_config;
    struct tfd_server *server;
    bool owns_server;
    struct tfd_local_session *session; /* atomic; NULL: not open */
};

static enum tfd_code start_server(struct local *l, struct tfd_status *st)
{
    struct tfd_server_options o = {
        .config = &l->server_config,
        .session_config = tfd_bytes_view(&l->config),
    };

    if (l->server)
        return TFD_OK;
    if (tfd_server_config_local(tfd_bytes_view(&l->config), &l->server_config,
                                st) != TFD_OK ||
        tfd_server_new(&o, &l->server, st) != TFD_OK) {
        tfd_config_deinit(&l->server_config);
        return st->code;
    }
    l->owns_server = true;
    if (tfd_server_start(l->server, st) == TFD_OK)
        return TFD_OK;
    tfd_server_free(l->server);
    l->server = NULL;
    tfd_config_deinit(&l->server_config);
    return st->code;
}

static enum tfd_code local_open(struct tfd_backend *b, struct tfd_str graph_def,
                                struct tfd_status *st)
{
    struct local *l = (struct local *)b;
    struct tfd_local_session *session;
    struct tfd_str config;

    TFD_TRY(start_server(l, st));
    config = l->owns_server ? TFD_STR_EMPTY : tfd_bytes_view(&l->config);
    TFD_TRY(tfd_local_open(l->server, graph_def, config, &session, st));
    TFD_STORE_RELEASE(&l->session, session);
    return TFD_OK;
}

static enum tfd_code local_extend(struct tfd_backend *b,
                                  struct tfd_str graph_def,
                                  struct tfd_status *st)
{
    return tfd_local_extend(((struct local *)b)->session, graph_def, st);
}

/* A session without target has one task, which TensorFlow does not name. */
static void forget_task(const struct local *l, struct tfd_status *st)
{
    static const char task[] = "From /job:localhost/replica:0/task:0:\n";
    size_t size = sizeof(task) - 1;

    if (l->owns_server && !strncmp(st->text, task, size))
        memmove(st->text, st->text + size, strlen(st->text + size) + 1);
}

static enum tfd_code local_run(struct tfd_backend *b, struct tfd_local_run *run,
                               struct tfd_status *st)
{
    const struct local *l = (const struct local *)b;
    enum tfd_code rc = tfd_local_run(l->session, run, st);

    if (rc != TFD_OK)
        forget_task(l, st);
    return rc;
}

static void local_cancel(struct tfd_backend *b)
{
    struct local *l = (struct local *)b;
    struct tfd_local_session *session = TFD_LOAD_ACQUIRE(&l->session);

    if (session)
        tfd_local_cancel(session);
}

static void local_free(struct tfd_backend *b)
{
    struct local *l = (struct local *)b;

    if (l->session)
        tfd_local_close(l->session);
    if (l->server && l->owns_server) {
        tfd_server_stop(l->server);
        tfd_server_join(l->server);
        tfd_server_free(l->server);
        tfd_config_deinit(&l->server_config);
    }
    tfd_bytes_deinit(&l->config);
    free(l);
}

static const struct tfd_backend_ops ops = {
    local_open, local_extend, local_run, local_cancel, local_free,
};

struct tfd_backend *tfd_local_backend(struct tfd_server *server,
                                      struct tfd_str config,
                                      struct tfd_status *st)
{
    struct local *l = calloc(1, sizeof(*l));

    if (!l) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a session");
        return NULL;
    }
    l->backend.ops = &ops;
    l->server = server;
    tfd_bytes_init(&l->config, TFD_SESSION_CONFIG_SIZE_MAX);
    tfd_bytes_add_str(&l->config, config);
    if (tfd_bytes_ok(&l->config, "the ConfigProto", st) != TFD_OK) {
        local_free(&l->backend);
        return NULL;
    }
    return &l->backend;
}
