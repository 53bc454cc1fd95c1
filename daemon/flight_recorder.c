/*
 * flight_recorder.c - see flight_recorder.h.
 *
 * The loop copies the ring, 400 kB, and a thread writes the copy: a disk may
 * take any time, and the threads of the pool may be what is stuck.  A handler
 * of a crash has neither time nor memory and reads the ring itself, with calls
 * that signal-safety(7) allows.
 */
#define _GNU_SOURCE 1 /* O_NOFOLLOW, sigaction() */
#include "daemon/flight_recorder.h"

#include "common/base/atomic.h"
#include "common/base/clock.h"
#include "common/base/container.h"
#include "common/base/log.h"
#include "config/limits.h"
#include "daemon/master/session/master.h"
#include "daemon/master/record/step_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAUSE_US 1000000u

struct flight_paths {
    char path[TFD_FILE_NAME_SIZE_MAX + 1];
    char part[TFD_FILE_NAME_SIZE_MAX + sizeof(".part")];
};

struct tfd_flight_recorder {
    struct tfd_flight_recorder_options o;
    struct flight_paths paths;
    struct tfd_step_ring copy; /* the thread's while it writes */
    struct tfd_step_origin origin;
    const char *why, *next_why; /* the first is the thread's as well */
    uint64_t written_us;        /* when the last one began; 0: there was none */
    struct tfd_timer timer;
    pthread_t thread;
    bool has_thread;
    int done; /* atomic: the thread is about to end */
};

/* ---- Writing, also by a signal handler ----------------------------------- */

static bool put_to_file(void *ctx, const char *data, size_t size)
{
    int fd = *(const int *)ctx;

    while (size > 0) {
        ssize_t n = write(fd, data, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

/* What is there and is no regular file: a pipe, a device. */
static bool is_special(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && !S_ISREG(s.st_mode);
}

/* 0, or the errno of what failed. */
static int write_ring(const struct flight_paths *p,
                      const struct tfd_step_ring *ring,
                      const struct tfd_step_origin *origin)
{
    bool special = is_special(p->path);
    const char *name = special ? p->path : p->part;
    int fd = open(name,
                  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK |
                      (special ? 0 : O_NOFOLLOW),
                  0640);
    struct tfd_step_sink sink = {put_to_file, &fd};
    int error = 0;

    if (fd < 0)
        return errno;
    if (!tfd_step_ring_write(ring, origin, &sink))
        error = errno;
    if (close(fd) != 0 && error == 0)
        error = errno;
    if (error == 0 && !special && rename(p->part, p->path) != 0)
        error = errno;
    if (error != 0 && !special)
        unlink(p->part);
    return error;
}

static struct tfd_step_origin origin_of(const struct tfd_flight_recorder *f)
{
    return (struct tfd_step_origin){
        .task = f->o.task,
        .steps = tfd_master_steps_done(f->o.master),
        .now_us = (uint64_t)tfd_clock_now_us(),
        .wall_us = (uint64_t)tfd_clock_wall_us(),
    };
}

/* ---- Crashes ------------------------------------------------------------- */

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/* Of the process: whose ring a crash leaves. */
static struct tfd_flight_recorder *recorder;

/* The signal has its default action again: what caused it comes once more when
 * this returns, and what was sent is sent again. */
static void on_crash(int number, siginfo_t *info, void *context)
{
    struct tfd_flight_recorder *f = TFD_EXCHANGE(&recorder, NULL);

    (void)context;
    if (f) {
        struct tfd_step_origin origin = origin_of(f);

        (void)write_ring(&f->paths, tfd_master_steps(f->o.master), &origin);
    }
    if (info->si_code <= 0)
        raise(number);
}

static void watch_crashes(struct tfd_flight_recorder *f)
{
    struct sigaction action = {.sa_sigaction = on_crash,
                               .sa_flags =
                                   SA_SIGINFO | SA_RESETHAND | SA_NODEFER};

    TFD_STORE_RELEASE(&recorder, f);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
        sigaction(crashes[i], &action, NULL);
}

static void forget_crashes(void)
{
    if (!TFD_EXCHANGE(&recorder, NULL))
        return;
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
        signal(crashes[i], SIG_DFL);
}

/* ---- Writing beside the loop --------------------------------------------- */

static void *write_thread(void *arg)
{
    struct tfd_flight_recorder *f = arg;
    int error = write_ring(&f->paths, &f->copy, &f->origin);

    if (error == 0)
        tfd_log(TFD_LOG_INFO, "flight_recorder",
                "path=\"%s\" steps=%d why=\"%s\"", f->paths.path,
                tfd_step_ring_count(&f->copy), f->why);
    else
        tfd_log(TFD_LOG_ERROR, "flight_recorder",
                "path=\"%s\" why=\"%s\" error=\"cannot write: %s\"",
                f->paths.path, f->why, strerror(error));
    TFD_STORE_RELEASE(&f->done, 1);
    return NULL;
}

static void join_writer(struct tfd_flight_recorder *f)
{
    if (!f->has_thread)
        return;
    pthread_join(f->thread, NULL);
    f->has_thread = false;
    tfd_step_ring_deinit(&f->copy);
}

/* A thread that hears no signal, which the loop's has to. */
static int start_writer(struct tfd_flight_recorder *f)
{
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&f->thread, NULL, write_thread, f);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void write_now(struct tfd_flight_recorder *f)
{
    int error = ENOMEM;

    join_writer(f);
    f->why = f->next_why;
    f->written_us = tfd_loop_now_us(f->o.loop);
    f->origin = origin_of(f);
    TFD_STORE_RELEASE(&f->done, 0);
    if (tfd_step_ring_copy(tfd_master_steps(f->o.master), &f->copy))
        error = start_writer(f);
    f->has_thread = error == 0;
    if (error == 0)
        return;
    tfd_step_ring_deinit(&f->copy);
    tfd_log(TFD_LOG_ERROR, "flight_recorder",
            "path=\"%s\" why=\"%s\" error=\"cannot write: %s\"", f->paths.path,
            f->why, strerror(error));
}

/* The disk may be slower than this. */
static void pause_over(struct tfd_timer *t)
{
    struct tfd_flight_recorder *f =
        TFD_CONTAINER_OF(t, struct tfd_flight_recorder, timer);

    if (!f->has_thread || TFD_LOAD_ACQUIRE(&f->done))
        write_now(f);
    else
        (void)!tfd_timer_start(t, PAUSE_US, NULL);
}

void tfd_flight_recorder_write(struct tfd_flight_recorder *f, const char *why)
{
    uint64_t now = tfd_loop_now_us(f->o.loop);

    if (!f->o.path) {
        tfd_log(TFD_LOG_INFO, "flight_recorder",
                "why=\"%s\" hint=\"--flight_recorder=FILE keeps the last "
                "steps\"",
                why);
        return;
    }
    if (f->timer.slot >= 0)
        return; /* soon */
    f->next_why = why;
    if (f->written_us == 0 || (now - f->written_us >= PAUSE_US &&
                               (!f->has_thread || TFD_LOAD_ACQUIRE(&f->done))))
        write_now(f);
    else
        (void)!tfd_timer_start(&f->timer, PAUSE_US, NULL);
}

/* ---- Making -------------------------------------------------------------- */

enum tfd_code
tfd_flight_recorder_new(const struct tfd_flight_recorder_options *o,
                        struct tfd_flight_recorder **out, struct tfd_status *st)
{
    struct tfd_flight_recorder *f;

    if (o->path && strlen(o->path) > TFD_FILE_NAME_SIZE_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "--flight_recorder: a name of %zu bytes, at most %d",
                        strlen(o->path), TFD_FILE_NAME_SIZE_MAX);
    f = calloc(1, sizeof(*f));
    if (!f)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "No memory for a flight recorder");
    f->o = *o;
    tfd_timer_init(&f->timer, o->loop, pause_over);
    if (o->path) {
        snprintf(f->paths.path, sizeof(f->paths.path), "%s", o->path);
        snprintf(f->paths.part, sizeof(f->paths.part), "%s.part", o->path);
    }
    if (o->path && o->crashes)
        watch_crashes(f);
    *out = f;
    return TFD_OK;
}

void tfd_flight_recorder_free(struct tfd_flight_recorder *f)
{
    if (!f)
        return;
    if (f->o.path && f->o.crashes)
        forget_crashes();
    tfd_timer_stop(&f->timer);
    join_writer(f);
    free(f);
}
