/*
 * test_server.c - daemon/server.c, server_stop.c: when a whole server ends by
 * itself, and that it ends whatever its clients and peers do.
 */
#include "daemon/server.h"

#include "common/base/container.h"
#include "daemon/server_impl.h"
#include "daemon/worker/service/worker.h"
#include "rpc/core/peers.h"
#include "tests/support/graph.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define HANGS_S 250 /* sanitizers on busy cores */

static void make_server(const char *const *flags, int count, bool listen,
                        struct tfd_config *config, struct tfd_server **out)
{
    struct tfd_server_options o = {.config = config, .listen = listen};
    struct tfd_status st = TFD_STATUS_INIT;
    char *arguments[16] = {"tfd"};

    for (int i = 0; i < count; i++)
        arguments[i + 1] = (char *)flags[i];
    assert_int_equal(
        tfd_flags_parse(config, count + 1, arguments, "", stdout, stderr),
        TFD_FLAGS_RUN);
    if (tfd_server_new(&o, out, &st) != TFD_OK)
        fail_msg("%s", st.text);
}

/* ---- A peer that answers while we go ------------------------------------- */

struct asking {
    struct tfd_post post; /* first */
    struct tfd_server *server;
    int answers;
    enum tfd_code code;
};

static void answered(void *ctx, const struct tfd_status *st,
                     const struct tfd_incoming *response)
{
    struct asking *a = ctx;

    (void)response;
    a->answers++;
    a->code = st->code;
}

/* Asks the other task, and the loop ends before it is even dialled. */
static void ask_and_end(struct tfd_post *p)
{
    const struct tfd_outcall_options patient = {.wait_ready = true};
    struct asking *a = (struct asking *)p;
    struct tfd_peers *peers = tfd_server_peers(a->server);
    int other = 1 - tfd_peers_self(peers);
    struct tfd_message m;

    tfd_message_init(&m, true);
    tfd_channel_call(tfd_peers_channel(peers, other), TFD_METHOD_GetStatus, &m,
                     &patient, answered, a);
    tfd_loop_stop(tfd_server_loop(a->server));
}

static void test_a_call_that_waits_does_not_keep_a_server(void **state)
{
    static const char *const peer_flags[] = {"--port=0"};
    struct tfd_config peer_config, config;
    struct tfd_server *peer, *server;
    struct asking a = {.post = {.run = ask_and_end}};
    char hosts[128];
    const char *const flags[] = {"--job_name=worker", "--task_index=0", hosts};
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    alarm(HANGS_S);
    make_server(peer_flags, 1, true, &peer_config, &peer);
    assert_int_equal(tfd_server_start(peer, &st), TFD_OK);
    snprintf(hosts, sizeof(hosts), "--worker_hosts=127.0.0.1:1,127.0.0.1:%d",
             tfd_server_port(peer));
    make_server(flags, 3, false, &config, &server);
    a.server = server;
    tfd_loop_post(tfd_server_loop(server), &a.post);
    tfd_server_run(server);
    tfd_server_free(server); /* here it dialled again and again */
    assert_int_equal(a.answers, 1);
    assert_int_equal(a.code, TFD_CANCELLED);
    tfd_server_stop(peer);
    tfd_server_join(peer);
    tfd_server_free(peer);
    tfd_config_deinit(&config);
    tfd_config_deinit(&peer_config);
    alarm(0);
}

/* ---- --exit_when=idle ---------------------------------------------------- */

struct serving {
    struct tfd_timer timer;
    struct tfd_server *server;
    bool ended, was_stopping;
};

static void made(void *ctx, const struct tfd_status *st)
{
    (void)ctx;
    assert_int_equal(st->code, TFD_OK);
}

/* Another master's session is over. */
static void end_session(struct tfd_timer *t)
{
    struct serving *s = TFD_CONTAINER_OF(t, struct serving, timer);
    struct tfd_worker *w = tfd_worker_local(tfd_server_worker(s->server));

    s->ended = true;
    s->was_stopping = tfd_server_stopping(s->server);
    w->ops->delete_session(w, TFD_STR("cafe"), TFD_SESSION_LAST, 1, made, s);
}

static void begin_session(struct serving *s)
{
    static const struct tfd_worker_session spec = {
        .handle = TFD_STR_INIT("cafe"),
        .master_task = TFD_STR_INIT("/job:worker/replica:0/task:0"),
        .master_incarnation = 7,
    };
    struct tfd_worker *w = tfd_worker_local(tfd_server_worker(s->server));

    w->ops->create_session(w, &spec, made, s);
    tfd_timer_init(&s->timer, tfd_server_loop(s->server), end_session);
    assert_int_equal(tfd_timer_start(&s->timer, 400 * 1000, NULL), TFD_OK);
}

static void test_a_server_of_other_masters_is_not_idle(void **state)
{
    static const char *const flags[] = {
        "--job_name=ps", "--task_index=0", "--ps_hosts=127.0.0.1:1",
        "--worker_hosts=127.0.0.1:2", "--exit_when=idle:100ms"};
    struct serving s = {.ended = false};
    struct tfd_config config;

    (void)state;
    alarm(HANGS_S);
    make_server(flags, 5, false, &config, &s.server);
    begin_session(&s);
    assert_int_equal(tfd_server_run(s.server), 0); /* ends by itself */
    assert_true(s.ended && !s.was_stopping);
    tfd_server_free(s.server);
    tfd_config_deinit(&config);
    alarm(0);
}

/* ---- Clients that do not stop -------------------------------------------- */

enum { CLIENTS = 50 };

struct client {
    TF_Graph *graph;
    TF_Output y;
    char target[64];
    sem_t *runs; /* posted after its first step */
    TF_Code end;
    bool wrong;
};

/* One step; false when it failed. */
static bool run_once(struct client *c, TF_Session *s, TF_Status *st)
{
    TF_Tensor *t = NULL;

    TF_SessionRun(s, NULL, NULL, NULL, 0, &c->y, &t, 1, NULL, 0, NULL, st);
    if (t && *(float *)TF_TensorData(t) != 3)
        c->wrong = true;
    TF_DeleteTensor(t);
    return TF_GetCode(st) == TF_OK;
}

static void *run_until_it_fails(void *arg)
{
    struct client *c = arg;
    TF_SessionOptions *o = TF_NewSessionOptions();
    TF_Status *st = TF_NewStatus();
    TF_Session *s;

    TF_SetTarget(o, c->target);
    s = TF_NewSession(c->graph, o, st);
    TF_DeleteSessionOptions(o);
    for (int i = 0; run_once(c, s, st); i++)
        if (i == 0)
            sem_post(c->runs);
    c->end = TF_GetCode(st);
    TF_DeleteSession(s, st);
    TF_DeleteStatus(st);
    return NULL;
}

/* Half of them by each protocol. */
static void start_clients(struct fixture *f, const char *target, sem_t *runs,
                          struct client *c, pthread_t *threads)
{
    TF_Output y = op2(f, "AddV2", "y", scalar(f, "a", 1), scalar(f, "b", 2));

    for (int i = 0; i < CLIENTS; i++) {
        c[i] = (struct client){.graph = f->g, .y = y, .runs = runs};
        snprintf(c[i].target, sizeof(c[i].target), "%s%s",
                 i % 2 ? "tfd" : "grpc", target + strlen("grpc"));
        assert_int_equal(
            pthread_create(&threads[i], NULL, run_until_it_fails, &c[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++)
        while (sem_wait(runs) != 0)
            ; /* a signal */
}

static void test_a_server_stops_under_load(void **state)
{
    static const char *const flags[] = {"--port=0"};
    static struct client clients[CLIENTS];
    struct fixture *f = *state;
    struct tfd_status st = TFD_STATUS_INIT;
    pthread_t threads[CLIENTS];
    struct tfd_config config;
    struct tfd_server *server;
    sem_t runs;

    alarm(HANGS_S);
    sem_init(&runs, 0, 0);
    make_server(flags, 1, true, &config, &server);
    assert_int_equal(tfd_server_start(server, &st), TFD_OK);
    start_clients(f, tfd_server_target(server), &runs, clients, threads);
    tfd_server_stop(server);
    tfd_server_join(server);
    tfd_server_free(server); /* while they go on */
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(clients[i].end, TF_UNAVAILABLE);
        assert_false(clients[i].wrong);
    }
    sem_destroy(&runs);
    tfd_config_deinit(&config);
    alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_call_that_waits_does_not_keep_a_server),
        cmocka_unit_test(test_a_server_of_other_masters_is_not_idle),
        cmocka_unit_test_setup_teardown(test_a_server_stops_under_load,
                                        fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests_name("server", tests, NULL, NULL);
}
