/*
 * own_name.c - see own_name.h.
 *
 * Name service blocks for as long as its servers are silent, and cannot be
 * interrupted.  So a thread asks, and may be left behind with what it holds:
 * the process either ends then or has its answer.
 */
#define _GNU_SOURCE 1 /* eventfd(), sigaction() */
#include "daemon/own_name.h"

#include "common/base/clock.h"
#include "common/base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define BACKOFF_US 100000
#define BACKOFF_MAX_US 3200000

/* One question; freed by who comes last of the two that know it. */
struct question {
    int refs;
    int answered; /* eventfd */
    char *bind;   /* NULL: own */
    char *own;
    int32_t port;
    struct tfd_bind found;
    struct tfd_status st;
};

struct search {
    int signals;    /* eventfd: the number of the one that came */
    int64_t end_us; /* INT64_MAX: never */
    const char *bind, *own;
    int32_t port;
};

/* Libraries have started threads of their own by now (OpenBLAS does), to which
 * a signal may go that only we block: so there is a handler.  Such a thread may
 * run it late, even after the search: then the signal is raised again for
 * whoever handles it by then. */
static int signalled = -1; /* atomic: the eventfd of the search; -1: none */
static int handling;       /* atomic: handlers that run */

static void on_signal(int number)
{
    int errno_before = errno, fd;
    uint64_t value = (uint64_t)number;
    ssize_t written = 0;

    __atomic_add_fetch(&handling, 1, __ATOMIC_SEQ_CST);
    fd = __atomic_load_n(&signalled, __ATOMIC_SEQ_CST);
    if (fd >= 0)
        written = write(fd, &value, sizeof(value));
    (void)written; /* nothing could be done */
    __atomic_sub_fetch(&handling, 1, __ATOMIC_SEQ_CST);
    if (fd < 0)
        kill(getpid(), number);
    errno = errno_before;
}

static void handle_signals(int fd, struct sigaction *before)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    __atomic_store_n(&signalled, fd, __ATOMIC_SEQ_CST);
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, &before[0]);
    sigaction(SIGINT, &action, &before[1]);
}

/* After this fd has the signal, or it is raised again. */
static void leave_signals(const struct sigaction *before)
{
    sigaction(SIGTERM, &before[0], NULL);
    sigaction(SIGINT, &before[1], NULL);
    __atomic_store_n(&signalled, -1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&handling, __ATOMIC_SEQ_CST) > 0)
        sched_yield();
}

static void unref_question(struct question *q)
{
    if (__atomic_sub_fetch(&q->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (q->answered >= 0)
        close(q->answered);
    free(q->bind);
    free(q->own);
    free(q);
}

static struct question *new_question(const struct search *s)
{
    struct question *q = calloc(1, sizeof(*q));

    if (!q)
        return NULL;
    q->refs = 1;
    q->answered = eventfd(0, EFD_CLOEXEC);
    q->bind = s->bind ? strdup(s->bind) : NULL;
    q->own = strdup(s->own);
    q->port = s->port;
    if (q->answered < 0 || !q->own || (s->bind && !q->bind)) {
        unref_question(q);
        return NULL;
    }
    return q;
}

static void *ask_name_service(void *arg)
{
    struct question *q = arg;
    uint64_t one = 1;
    ssize_t written;

    (void)!tfd_bind_resolve(q->bind, q->own, q->port, &q->found, &q->st);
    written = write(q->answered, &one, sizeof(one));
    (void)written; /* a counter at 0 takes it */
    unref_question(q);
    return NULL;
}

/* The thread takes no signals: they are for those that act on them. */
static bool start_asking(struct question *q)
{
    pthread_attr_t detached;
    sigset_t all, before;
    pthread_t thread;
    int rc;

    if (pthread_attr_init(&detached) != 0)
        return false;
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    q->refs = 2;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&thread, &detached, ask_name_service, q);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
    if (rc != 0)
        q->refs = 1;
    return rc == 0;
}

/* CANCELLED when a signal came, OK when fd (-1: none) can be read, UNAVAILABLE
 * when the time is over. */
static enum tfd_code await(const struct search *s, int fd, int64_t until_us)
{
    struct pollfd fds[2] = {{s->signals, POLLIN, 0}, {fd, POLLIN, 0}};

    for (;;) {
        int64_t left = (until_us - tfd_clock_now_us() + 999) / 1000;
        int n;

        if (until_us == INT64_MAX || left > INT_MAX)
            left = until_us == INT64_MAX ? -1 : INT_MAX;
        else if (left < 0)
            left = 0;
        n = poll(fds, 2, (int)left);
        if (n > 0 && fds[0].revents)
            return TFD_CANCELLED;
        if (n > 0)
            return TFD_OK;
        if (n == 0 && left >= 0 && tfd_clock_now_us() >= until_us)
            return TFD_UNAVAILABLE;
    }
}

static enum tfd_code fail_cancelled(const struct search *s,
                                    struct tfd_status *st)
{
    uint64_t number = SIGTERM;
    const char *name;

    if (read(s->signals, &number, sizeof(number)) != (ssize_t)sizeof(number))
        number = SIGTERM;
    name = number == SIGINT ? "SIGINT" : "SIGTERM";
    tfd_log(TFD_LOG_INFO, "stopping", "why=%s steps_running=%d", name, 0);
    tfd_status_clear(st);
    return tfd_fail(st, TFD_CANCELLED, "%s came while waiting", name);
}

static enum tfd_code ask_once(const struct search *s, struct tfd_bind *out,
                              struct tfd_status *st)
{
    struct question *q = new_question(s);
    enum tfd_code rc;
    uint64_t count;

    if (!q || !start_asking(q)) {
        if (q)
            unref_question(q);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory or no thread to look up the own name");
    }
    rc = await(s, q->answered, s->end_us);
    if (rc == TFD_OK && read(q->answered, &count, sizeof(count)) > 0) {
        *out = q->found;
        rc = tfd_status_copy(st, &q->st);
    } else if (rc == TFD_UNAVAILABLE) {
        (void)tfd_fail(st, rc, "name service did not answer for %s",
                       s->bind ? s->bind : s->own);
    }
    unref_question(q);
    return rc;
}

static enum tfd_code ask_until(const struct search *s,
                               void (*waiting)(void *ctx, const char *why),
                               void *ctx, struct tfd_bind *out,
                               struct tfd_status *st)
{
    int64_t pause_us = BACKOFF_US;

    for (bool told = false;; told = true) {
        enum tfd_code rc;
        int64_t again_us;

        tfd_status_clear(st);
        rc = ask_once(s, out, st);
        if (rc == TFD_CANCELLED)
            return fail_cancelled(s, st);
        if (rc != TFD_UNAVAILABLE || tfd_clock_now_us() >= s->end_us)
            return rc;
        if (!told) {
            tfd_log(TFD_LOG_WARN, "name_unknown",
                    "why=\"%s\" hint=\"it is asked for again\"", st->text);
            if (waiting)
                waiting(ctx, st->text);
        }
        again_us = tfd_clock_now_us() + pause_us;
        if (again_us > s->end_us)
            again_us = s->end_us;
        if (await(s, -1, again_us) == TFD_CANCELLED)
            return fail_cancelled(s, st);
        if (tfd_clock_now_us() >= s->end_us)
            return rc;
        if (pause_us < BACKOFF_MAX_US)
            pause_us *= 2;
    }
}

enum tfd_code tfd_own_name_find(const char *bind, const char *own, int32_t port,
                                int64_t wait_ms,
                                void (*waiting)(void *ctx, const char *why),
                                void *ctx, struct tfd_bind *out,
                                struct tfd_status *st)
{
    struct search s = {.bind = bind, .own = own, .port = port};
    struct tfd_status why = TFD_STATUS_INIT;
    struct sigaction before[2];

    s.signals = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s.signals < 0)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no descriptor is free");
    handle_signals(s.signals, before);
    s.end_us = INT64_MAX;
    if (wait_ms > 0 && wait_ms < INT64_MAX / 2000)
        s.end_us = tfd_clock_now_us() + wait_ms * 1000;
    (void)ask_until(&s, waiting, ctx, out, &why);
    leave_signals(before);
    /* One that came beside the answer was not read yet. */
    if (why.code == TFD_OK && await(&s, -1, 0) == TFD_CANCELLED)
        (void)fail_cancelled(&s, &why);
    close(s.signals);
    return tfd_status_copy(st, &why);
}
