/*
 * c_api_server.c - TF_Server is a server on a thread of its own.
 */
#include "client/c_api/capi.h"
#include "client/session/server_config.h"
#include "daemon/server.h"

#include <stdlib.h>

struct TF_Server {
    struct tfd_config config;
    struct tfd_bytes session_config;
    struct tfd_server *server;
    struct tfd_lock lock;
    struct tfd_cond ended;
    bool started, joining, joined;
};

/* Keeps the defaults of sessions, which are the caller's bytes. */
static enum tfd_code make_server(TF_Server *s, struct tfd_str server_def,
                                 struct tfd_status *st)
{
    struct tfd_server_options o = {.listen = true, .config = &s->config};
    struct tfd_str session_config;

    TFD_TRY(
        tfd_server_config_of_def(server_def, &s->config, &session_config, st));
    tfd_bytes_add_str(&s->session_config, session_config);
    TFD_TRY(tfd_bytes_ok(&s->session_config, "a ConfigProto", st));
    o.session_config = tfd_bytes_view(&s->session_config);
    return tfd_server_new(&o, &s->server, st);
}

static void free_server(TF_Server *s)
{
    tfd_bytes_deinit(&s->session_config);
    tfd_config_deinit(&s->config);
    free(s);
}

TF_Server *TF_NewServer(const void *proto, size_t proto_len, TF_Status *status)
{
    struct tfd_status *st = tfd_capi_status(status);
    TF_Server *s = calloc(1, sizeof(*s));

    if (!s) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a server");
        return NULL;
    }
    tfd_bytes_init(&s->session_config, (size_t)TFD_SESSION_CONFIG_SIZE_MAX);
    if (make_server(s, (struct tfd_str){proto, proto_len}, st) != TFD_OK) {
        free_server(s);
        return NULL;
    }
    tfd_lock_init(&s->lock, TFD_LOCK_CLIENT);
    tfd_cond_init(&s->ended);
    return s;
}

void TF_ServerStart(TF_Server *server, TF_Status *status)
{
    struct tfd_status *st = tfd_capi_status(status);

    tfd_lock(&server->lock);
    if (server->joined)
        tfd_fail(st, TFD_FAILED_PRECONDITION, "the server has been stopped");
    else if (!server->started)
        server->started = tfd_server_start(server->server, st) == TFD_OK;
    tfd_unlock(&server->lock);
}

void TF_ServerStop(TF_Server *server, TF_Status *status)
{
    (void)tfd_capi_status(status);
    tfd_lock(&server->lock);
    if (server->started && !server->joined)
        tfd_server_stop(server->server);
    tfd_unlock(&server->lock);
}

/* Several may wait; one of them joins the thread. */
static void join_server(TF_Server *server)
{
    bool mine;

    tfd_lock(&server->lock);
    mine = server->started && !server->joining;
    server->joining = server->joining || mine;
    while (!mine && server->started && !server->joined)
        tfd_cond_wait(&server->ended, &server->lock);
    tfd_unlock(&server->lock);
    if (!mine)
        return;
    tfd_server_join(server->server);
    tfd_lock(&server->lock);
    server->joined = true;
    tfd_cond_broadcast(&server->ended);
    tfd_unlock(&server->lock);
}

void TF_ServerJoin(TF_Server *server, TF_Status *status)
{
    (void)tfd_capi_status(status);
    join_server(server);
}

const char *TF_ServerTarget(TF_Server *server)
{
    return tfd_server_target(server->server);
}

void TF_DeleteServer(TF_Server *server)
{
    if (!server)
        return;
    if (server->started && !server->joined) {
        tfd_server_stop(server->server);
        join_server(server);
    }
    tfd_server_free(server->server);
    tfd_cond_deinit(&server->ended);
    tfd_lock_deinit(&server->lock);
    free_server(server);
}
