/*
 * ping.c - how much an empty native call costs over a raw TCP ping-pong.
 *
 * Both run in one process, in turns of a second, between two threads over
 * loopback: the raw one with blocking sockets and 64 bytes each way, the other
 * from tfd_channel_call() to done().  Prints the median of each and the ratio.
 *
 *     build/bench/ping [rounds]
 */
#define _GNU_SOURCE 1

#include "common/base/container.h"
#include "rpc/conn/conn.h"
#include "rpc/core/sniff.h"
#include "rpc/core/channel.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PINGS 5000
#define PING_SIZE 64

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static double median_us(uint64_t *ns)
{
    qsort(ns, PINGS, sizeof(*ns), by_value);
    return (double)ns[PINGS / 2] / 1000;
}

/* ---- Raw ----------------------------------------------------------------- */

static void transfer(int fd, bool out)
{
    char bytes[PING_SIZE] = {0};
    ssize_t n = out ? send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL)
                    : recv(fd, bytes, sizeof(bytes), MSG_WAITALL);

    if (n != PING_SIZE)
        pthread_exit(NULL);
}

static void *echo_raw(void *arg)
{
    int fd = *(int *)arg;

    for (;;) {
        transfer(fd, false);
        transfer(fd, true);
    }
    return NULL;
}

static void connect_pair(int fd[2])
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t size = sizeof(a);
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&a, sizeof(a)) != 0 ||
        listen(listener, 1) != 0)
        abort();
    getsockname(listener, (struct sockaddr *)&a, &size);
    fd[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd[0], (struct sockaddr *)&a, sizeof(a)) != 0)
        abort();
    fd[1] = accept(listener, NULL, NULL);
    close(listener);
    for (int i = 0; i < 2; i++)
        setsockopt(fd[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static double run_raw(void)
{
    static uint64_t ns[PINGS];
    pthread_t thread;
    int fd[2];

    connect_pair(fd);
    pthread_create(&thread, NULL, echo_raw, &fd[1]);
    for (int i = 0; i < PINGS; i++) {
        uint64_t start = now_ns();

        transfer(fd[0], true);
        transfer(fd[0], false);
        ns[i] = now_ns() - start;
    }
    close(fd[0]);
    pthread_join(thread, NULL);
    close(fd[1]);
    return median_us(ns);
}

/* ---- Native -------------------------------------------------------------- */

struct server {
    pthread_t thread;
    struct tfd_loop *loop;
    struct tfd_listener *listener;
    struct tfd_post stop;
    struct tfd_sniff sniff;
};

static void answer(void *self, struct tfd_call *call)
{
    struct tfd_message m;

    (void)self;
    tfd_message_init(&m, call->native);
    tfd_call_respond(call, &m);
}

static void *serve(void *arg)
{
    struct server *s = arg;

    tfd_loop_run(s->loop);
    return NULL;
}

static void stop(struct tfd_post *p)
{
    struct server *s = TFD_CONTAINER_OF(p, struct server, stop);

    tfd_listener_close(s->listener);
    tfd_loop_stop(s->loop);
}

struct client {
    struct tfd_loop *loop;
    struct tfd_channel *channel;
    uint64_t start;
    int done;
    uint64_t ns[PINGS];
};

static void call(struct client *c);

static void called(void *ctx, const struct tfd_status *st,
                   const struct tfd_incoming *response)
{
    struct client *c = ctx;

    (void)response;
    if (st->code != TFD_OK) {
        fprintf(stderr, "call: %s\n", st->text);
        abort();
    }
    if (c->done >= 0)
        c->ns[c->done] = now_ns() - c->start;
    if (++c->done < PINGS)
        call(c);
    else
        tfd_loop_stop(c->loop);
}

static void call(struct client *c)
{
    static const struct tfd_outcall_options options = {.wait_ready = true};
    struct tfd_message m;

    tfd_message_init(&m, true);
    c->start = now_ns();
    tfd_channel_call(c->channel, TFD_METHOD_GetStatus, &m, &options, called, c);
}

static double run_native(void)
{
    static struct client c;
    static const struct tfd_peer_info self = {"/job:bench/task:0", 1};
    struct tfd_status st = TFD_STATUS_INIT;
    struct server s = {.stop = {.run = stop}};
    char address[32];
    struct tfd_channel_options o = {.address = address,
                                    .self = &self,
                                    .protocol = TFD_PROTO_NATIVE,
                                    .dial_timeout_us = 1000000};

    s.loop = tfd_loop_new(&st);
    s.sniff.service = tfd_service_new(s.loop, &st);
    s.sniff.self = &self;
    tfd_service_bind(s.sniff.service, TFD_METHOD_GetStatus, answer, NULL);
    if (tfd_listener_new(s.loop, "127.0.0.1", 0, 10, tfd_sniff_accept, &s.sniff,
                         &s.listener, &st) != TFD_OK)
        abort();
    snprintf(address, sizeof(address), "127.0.0.1:%d",
             tfd_listener_port(s.listener));
    pthread_create(&s.thread, NULL, serve, &s);

    c = (struct client){.loop = tfd_loop_new(&st), .done = -1};
    if (tfd_channel_new(c.loop, &o, &c.channel, &st) != TFD_OK)
        abort();
    call(&c); /* number -1 makes the connection and is not counted */
    tfd_loop_run(c.loop);
    tfd_channel_free(c.channel);
    tfd_loop_post(s.loop, &s.stop);
    pthread_join(s.thread, NULL);
    return median_us(c.ns);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 5;

    for (int i = 0; i < rounds; i++) {
        double raw = run_raw(), native = run_native();

        printf("raw %.1f us, native call %.1f us, ratio %.2f\n", raw, native,
               native / raw);
    }
    return 0;
}
