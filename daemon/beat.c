/*
 * beat.c - see beat.h.
 */
#define _GNU_SOURCE 1 /* getpid() */
#include "daemon/beat.h"

#include "common/base/container.h"
#include "common/base/log.h"
#include "common/thread/pool.h"
#include "kernels/io/file_waits.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Several to each limit, so that one may be late. */
#define BEATS_PER_LIMIT 4
#define BEAT_MAX_US 5000000u
/* Less is what sleepers use to look around. */
#define PROGRESS_US 1000u

uint64_t tfd_beat_watchdog_us(const char *usec, const char *pid)
{
    char *end;
    unsigned long long value;

    if (!usec || *usec < '0' || *usec > '9')
        return 0;
    if (pid && strtoll(pid, NULL, 10) != (long long)getpid())
        return 0;
    value = strtoull(usec, &end, 10);
    return *end ? 0 : value;
}

/* The letter behind the name of a thread, which may hold what it likes. */
static bool waits_for_disk(const char *task)
{
    char path[300], text[512];
    const char *state;
    size_t size;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/self/task/%.200s/stat", task);
    f = fopen(path, "r");
    if (!f)
        return false; /* it has ended */
    size = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[size] = '\0';
    state = strrchr(text, ')');
    return state && strncmp(state, ") D", 3) == 0;
}

static bool any_waits_for_disk(void)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *d;
    bool found = false;

    if (!tasks)
        return false;
    while (!found && (d = readdir(tasks)))
        found = d->d_name[0] != '.' && waits_for_disk(d->d_name);
    closedir(tasks);
    return found;
}

static bool makes_progress(struct tfd_beat *b)
{
    uint64_t cpu_us = tfd_pool_cpu_us(b->o.pool);
    bool computed = cpu_us - b->cpu_us >= PROGRESS_US;

    b->cpu_us = cpu_us;
    return computed || tfd_pool_waiting(b->o.pool) == 0 ||
           tfd_file_waits() > 0 || any_waits_for_disk();
}

static void send_beat(struct tfd_timer *t)
{
    struct tfd_beat *b = TFD_CONTAINER_OF(t, struct tfd_beat, timer);
    uint64_t delay = b->o.watchdog_us / BEATS_PER_LIMIT;
    bool good = makes_progress(b);
    char text[256] = "";

    b->o.describe(b->o.ctx, text, sizeof(text));
    if (good && b->o.watchdog_us > 0)
        tfd_notify_alive(b->o.notify, "%s", text);
    else
        tfd_notify_status(b->o.notify, "%s%s", good ? "" : "STUCK: ", text);
    if (!good && !b->stuck)
        tfd_log(TFD_LOG_ERROR, "no_progress",
                "jobs_waiting=%d why=\"all compute threads sleep\"",
                tfd_pool_waiting(b->o.pool));
    b->stuck = !good;
    if (delay == 0 || delay > BEAT_MAX_US)
        delay = BEAT_MAX_US;
    /* Without memory for a timer the watchdog ends us: nothing works then. */
    (void)!tfd_timer_start(&b->timer, delay, NULL);
}

void tfd_beat_start(struct tfd_beat *b, const struct tfd_beat_options *o)
{
    memset(b, 0, sizeof(*b));
    b->o = *o;
    if (o->notify->fd < 0)
        return;
    tfd_timer_init(&b->timer, o->loop, send_beat);
    send_beat(&b->timer);
}

void tfd_beat_stop(struct tfd_beat *b)
{
    if (b->timer.loop)
        tfd_timer_stop(&b->timer);
}
