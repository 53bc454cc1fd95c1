/*
 * c_api_server.c - TF_Server is a server on a thread of its own.
 */
#include "client/capi.h"
#include "client/server_config.h"
#include "daemon/server.h"

#include <stdlib.h>

struct TF_Server {
    struct tfd_config config;
    struct tfd_server *server;
    struct tfd_lock lock;
    struct tfd_cond ended;
    bool started, joining, joined;
};

TF_Server *TF_NewServer(const void *proto, size_t proto_len, TF_Status *status)
{
    struct tfd_status *st = tfd_capi_status(status);
    TF_Server *s = calloc(1, sizeof(*s));
    struct tfd_server_options o = {.listen = true};

    if (!s) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a server");
        return NULL;
    }
    o.config = &s->config;
    if (tfd_server_config_of_def((struct tfd_str){proto, proto_len}, &s->config,
                                 st) != TFD_OK ||
        tfd_server_new(&o, &s->server, st) != TFD_OK) {
        tfd_config_deinit(&s->config);
        free(s);
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
static void join(TF_Server *server)
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
    join(server);
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
        join(server);
    }
    tfd_server_free(server->server);
    tfd_config_deinit(&server->config);
    tfd_cond_deinit(&server->ended);
    tfd_lock_deinit(&server->lock);
    free(server);
}
