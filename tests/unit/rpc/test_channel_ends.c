/*
 * test_channel_ends.c - rpc/core/channel.c: how many calls a connection may
 * have, and what they are told when their channel is stopped or freed.
 */
#define _GNU_SOURCE 1 /* kill() */

#include "tests/support/actor.h"

#include "config/limits.h"
#include "rpc/conn/same_host.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Limits and lives ---------------------------------------------------- */

static void test_the_calls_of_a_connection_are_limited(void **state)
{
    enum { COUNT = TFD_STREAMS_PER_CONNECTION_MAX + 3 };
    struct rig *r = rig_new();
    struct actor *a = actor_new(r);
    struct tfd_channel *ch = watched_channel(r, a->address);
    struct rig_result *result = calloc(COUNT, sizeof(*result));
    struct line hello = greeting();
    int refused = 0;

    (void)state;
    assert_non_null(result);
    script(a, 0, &hello, false, false);
    for (int i = 0; i < COUNT; i++) {
        result[i].rig = r;
        call(ch, &rig_patient, &result[i]);
    }
    rig_run(r, 1 + 3); /* up, three refused */
    for (int i = 0; i < COUNT; i++)
        if (result[i].done)
            refused += result[i].code == TFD_RESOURCE_EXHAUSTED;
    assert_int_equal(refused, 3);
    tfd_channel_free(ch);
    rig_run(r, COUNT - 3);
    free(result);
    actor_free(a);
    rig_free(r);
}

struct freeing {
    struct rig *rig;
    struct tfd_channel *channel;
    int done;
};

static void free_inside(void *ctx, const struct tfd_status *st,
                        const struct tfd_incoming *response)
{
    struct freeing *f = ctx;

    (void)st;
    (void)response;
    if (f->done++ == 0)
        tfd_channel_free(f->channel);
    rig_tick(f->rig);
}

static void test_a_channel_may_be_freed_by_its_caller(void **state)
{
    static const enum tfd_protocol protocols[] = {TFD_PROTO_NATIVE,
                                                  TFD_PROTO_GRPC};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig *r = rig_new();
        struct freeing f = {r, rig_channel(r, r->address, protocols[i]), 0};

        for (int k = 0; k < 3; k++) {
            struct tfd_message m = rig_text("x");

            tfd_channel_call(f.channel, TFD_METHOD_RunGraph, &m, &rig_patient,
                             free_inside, &f);
        }
        rig_run(r, 3);
        assert_int_equal(f.done, 3);
        rig_free(r);
    }
}

static void test_a_channel_may_be_freed_in_every_state(void **state)
{
    struct rig *r = rig_new();

    (void)state;
    tfd_channel_free(NULL);
    tfd_channel_free(rig_channel(r, r->address, TFD_PROTO_UNKNOWN)); /* idle */
    for (int turns = 0; turns < 6; turns++) {
        struct tfd_channel *ch = rig_channel(r, r->address, TFD_PROTO_UNKNOWN);
        struct rig_result result = {.rig = r};

        call(ch, &rig_patient, &result);
        for (int i = 0; i < turns && !result.done; i++) {
            tfd_loop_stop(r->loop); /* ends after one turn */
            tfd_loop_run(r->loop);
        }
        tfd_channel_free(ch);
        rig_run(r, result.done ? 0 : 1);
        assert_int_equal(result.done, 1);
        r->awaited = 0;
    }
    rig_free(r);
}

/* ---- The short way that leads nowhere ------------------------------------ */

/* A process that takes the Unix name of an address and closes whoever comes. */
static pid_t close_who_comes(const char *ip, int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port)};
    pid_t child;
    int fd;

    assert_int_equal(inet_pton(AF_INET, ip, &a.sin_addr), 1);
    fd = tfd_same_host_listen((struct sockaddr *)&a, 8);
    assert_true(fd >= 0);
    child = fork();
    if (child == 0) {
        struct pollfd p = {fd, POLLIN, 0};

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            (void)poll(&p, 1, -1);
            close(accept(fd, NULL, NULL));
        }
    }
    close(fd);
    return child;
}

static void test_tcp_is_taken_where_the_unix_socket_is_closed(void **state)
{
    struct rig *r = rig_new();
    struct tfd_listener *everywhere;
    struct rig_result result = {.rig = r};
    struct tfd_channel *ch;
    char address[32];
    pid_t child;

    (void)state;
    assert_int_equal(tfd_listener_new(r->loop, "0.0.0.0", 0, 100,
                                      tfd_sniff_accept, &r->sniff, &everywhere,
                                      NULL),
                     TFD_OK);
    child = close_who_comes("127.0.0.1", tfd_listener_port(everywhere));
    snprintf(address, sizeof(address), "127.0.0.1:%d",
             tfd_listener_port(everywhere));
    ch = rig_channel(r, address, TFD_PROTO_NATIVE);
    call(ch, &rig_hasty, &result); /* fails with the first dial that does */
    rig_run(r, 1);
    assert_told(&result, TFD_OK, "");
    assert_true(tfd_channel_up(ch));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    tfd_channel_free(ch);
    tfd_listener_close(everywhere);
    rig_free(r);
}

/* Where TCP does not lead anywhere either, it ends there. */
static void test_a_unix_socket_alone_is_a_failure(void **state)
{
    struct rig *r = rig_new();
    struct rig_result result = {.rig = r};
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t size = sizeof(a);
    int taken = socket(AF_INET, SOCK_STREAM, 0);
    struct tfd_channel *ch;
    char address[32];
    pid_t child;

    (void)state;
    /* A port of ours that nobody listens on. */
    assert_int_equal(bind(taken, (struct sockaddr *)&a, size), 0);
    assert_int_equal(getsockname(taken, (struct sockaddr *)&a, &size), 0);
    child = close_who_comes("127.0.0.1", ntohs(a.sin_port));
    snprintf(address, sizeof(address), "127.0.0.1:%d", ntohs(a.sin_port));
    ch = rig_channel(r, address, TFD_PROTO_NATIVE);
    call(ch, &rig_hasty, &result);
    rig_run(r, 1);
    assert_told(&result, TFD_UNAVAILABLE, "refused");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(taken);
    tfd_channel_free(ch);
    rig_free(r);
}

/* ---- Stopping ------------------------------------------------------------ */

static void test_a_stopped_channel_fails_every_call(void **state)
{
    (void)state;
    for (int is_up = 0; is_up < 2; is_up++) {
        struct rig *r = rig_new();
        struct tfd_channel *ch = rig_channel(r, r->address, TFD_PROTO_NATIVE);
        struct rig_result first = {.rig = r}, sent = {.rig = r},
                          late = {.rig = r};
        struct tfd_message m = rig_text("x");
        struct tfd_status st = TFD_STATUS_INIT;

        call(ch, &rig_patient, &first);
        if (is_up)
            rig_run(r, 1);
        tfd_channel_call(ch, TFD_METHOD_RecvTensor, &m, &rig_patient, rig_done,
                         &sent); /* it would be held */
        tfd_channel_stop(ch);
        tfd_channel_stop(ch); /* twice is once */
        call(ch, &rig_patient, &late);
        rig_run(r, is_up ? 2 : 3);
        assert_told(&first, is_up ? TFD_OK : TFD_CANCELLED, "");
        assert_told(&sent, TFD_CANCELLED, r->address);
        assert_told(&late, TFD_CANCELLED, r->address);
        assert_false(tfd_channel_up(ch));
        m = rig_text("push");
        assert_int_equal(tfd_channel_send(ch, TFD_METHOD_PushTensors, &m, &st),
                         TFD_UNAVAILABLE);
        tfd_channel_free(ch);
        rig_free(r);
    }
}

/* Nothing runs any more between the two. */
static void test_calls_are_told_when_the_loop_ends(void **state)
{
    static const char *const addresses[] = {"127.0.0.1:1", "localhost:1"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig r = {.loop = tfd_loop_new(NULL), .awaited = 3};
        struct rig_result results[2] = {{.rig = &r}, {.rig = &r}};
        struct tfd_channel *ch;

        assert_non_null(r.loop);
        ch = rig_channel(&r, addresses[i], TFD_PROTO_UNKNOWN);
        call(ch, &rig_patient, &results[0]);
        call(ch, &rig_hasty, &results[1]);
        tfd_channel_free(ch);
        tfd_loop_free(r.loop);
        for (int k = 0; k < 2; k++)
            assert_told(&results[k], TFD_CANCELLED, addresses[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_calls_of_a_connection_are_limited),
        cmocka_unit_test(test_a_channel_may_be_freed_by_its_caller),
        cmocka_unit_test(test_a_channel_may_be_freed_in_every_state),
        cmocka_unit_test(test_tcp_is_taken_where_the_unix_socket_is_closed),
        cmocka_unit_test(test_a_unix_socket_alone_is_a_failure),
        cmocka_unit_test(test_a_stopped_channel_fails_every_call),
        cmocka_unit_test(test_calls_are_told_when_the_loop_ends),
    };

    return cmocka_run_group_tests_name("channel_ends", tests, NULL, NULL);
}
