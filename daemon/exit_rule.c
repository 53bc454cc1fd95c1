/*
 * exit_rule.c - see exit_rule.h.  It keeps a small table of tasks, with the
 * sessions that each has open here, and two timers: one for the time without
 * sessions, one that looks again when a task that has closed its session may
 * have left for good.
 */
#include "daemon/exit_rule.h"

#include "common/base/container.h"
#include "common/base/log.h"
#include "common/proto/peer.pb.h"
#include "config/device_name.h"

#include <stddef.h>
#include <stdlib.h>

struct open_session {
    uint64_t number;
    const uint64_t *stepped_us; /* the worker's */
};

struct task {
    struct tfd_device_name name;
    bool left;                  /* it said so */
    bool unclear;               /* memory was short: its sessions say nothing */
    uint64_t newest;            /* session; 0: none yet */
    uint64_t closed, closed_us; /* the latest that a trainer closed; 0: none */
    struct open_session *open;
    size_t open_count, open_room;
};

struct tfd_exit_rule {
    const struct tfd_config *config;
    struct tfd_loop *loop;
    struct tfd_timer idle;
    struct tfd_timer settle;
    bool was_busy;
    void (*stop)(void *ctx, const char *why);
    void *ctx;
    struct task *tasks; /* of the cluster: task_count rows at most */
    size_t count;
    size_t room;
};

/* ---- Tasks --------------------------------------------------------------- */

static bool is_chief(const struct tfd_exit_rule *r, const struct task *t)
{
    const struct tfd_cluster *c = &r->config->cluster;
    bool has_chief = false;

    for (size_t i = 0; i < c->job_count; i++)
        has_chief = has_chief || tfd_cluster_same_job(c->jobs[i].name, "chief");
    if (has_chief)
        return tfd_cluster_same_job(t->name.job, "chief");
    return tfd_cluster_same_job(t->name.job, "worker") && t->name.task == 0;
}

static bool is_trainer(const struct task *t)
{
    return tfd_cluster_same_job(t->name.job, "chief") ||
           tfd_cluster_same_job(t->name.job, "worker");
}

/* The row of a task of the cluster; NULL for anything else. */
static struct task *row_of(struct tfd_exit_rule *r, struct tfd_str task)
{
    struct tfd_device_name name;

    if (tfd_device_name_parse(task, &name, NULL) != TFD_OK ||
        !tfd_cluster_address(&r->config->cluster, name.job, name.task))
        return NULL;
    for (size_t i = 0; i < r->count; i++)
        if (tfd_device_name_same_task(&r->tasks[i].name, &name))
            return &r->tasks[i];
    if (r->count == r->room)
        return NULL;
    r->tasks[r->count] = (struct task){.name = name};
    return &r->tasks[r->count++];
}

/* A trainer is at the other end, as far as can be seen. */
static bool counts(const struct task *t, const struct open_session *s)
{
    return s->number > t->closed || *s->stepped_us > t->closed_us;
}

/* When it will have left if nothing happens; UINT64_MAX: it has not closed what
 * it has opened. */
static uint64_t leaves_at(const struct task *t, uint64_t settle_us)
{
    if (t->left)
        return 0;
    if (t->unclear || t->closed == 0 || t->closed != t->newest)
        return UINT64_MAX;
    for (size_t i = 0; i < t->open_count; i++)
        if (counts(t, &t->open[i]))
            return UINT64_MAX;
    return t->closed_us + settle_us;
}

/* ---- The rules ----------------------------------------------------------- */

/* When the workers' rule, or the chief's, is met if nothing happens. */
static uint64_t due(const struct tfd_exit_rule *r)
{
    bool workers = r->config->exit_when == TFD_EXIT_WORKERS, led = false;
    uint64_t last = 0;
    size_t count = 0;

    for (size_t i = 0; i < r->count; i++)
        led = led || is_chief(r, &r->tasks[i]);
    for (size_t i = 0; i < r->count; i++) {
        const struct task *t = &r->tasks[i];
        uint64_t at =
            leaves_at(t, led ? TFD_EXIT_SETTLE_US : TFD_EXIT_UNLED_US);

        if (!(workers ? is_trainer(t) : is_chief(r, t)))
            continue;
        count++;
        if (at > last)
            last = at;
    }
    return count ? last : UINT64_MAX;
}

static void check_rule(struct tfd_exit_rule *r)
{
    uint64_t now = tfd_loop_now_us(r->loop), at;

    tfd_timer_stop(&r->settle);
    if (r->config->exit_when != TFD_EXIT_WORKERS &&
        r->config->exit_when != TFD_EXIT_CHIEF)
        return;
    at = due(r);
    if (at == UINT64_MAX)
        return;
    if (at > now && tfd_timer_start(&r->settle, at - now, NULL) == TFD_OK)
        return;
    r->stop(r->ctx, r->config->exit_when == TFD_EXIT_WORKERS
                        ? "every worker has left"
                        : "the chief has left");
}

static void settled(struct tfd_timer *t)
{
    check_rule(TFD_CONTAINER_OF(t, struct tfd_exit_rule, settle));
}

/* ---- Sessions ------------------------------------------------------------ */

static void note_open(struct task *t, struct open_session s)
{
    if (t->open_count == t->open_room) {
        size_t room = t->open_room ? t->open_room * 2 : 4;
        struct open_session *open = realloc(t->open, room * sizeof(*open));

        if (!open) {
            t->unclear = true;
            return;
        }
        t->open = open;
        t->open_room = room;
    }
    t->open[t->open_count++] = s;
}

void tfd_exit_rule_opened(struct tfd_exit_rule *r, struct tfd_str task,
                          uint64_t number, const uint64_t *stepped_us)
{
    struct task *t = row_of(r, task);

    if (!t)
        return;
    t->left = false;
    t->newest = number;
    note_open(t, (struct open_session){number, stepped_us});
    check_rule(r);
}

/* False when it is not there. */
static bool take_open(struct task *t, uint64_t number, struct open_session *out)
{
    for (size_t i = 0; i < t->open_count; i++) {
        if (t->open[i].number != number)
            continue;
        *out = t->open[i];
        t->open[i] = t->open[--t->open_count];
        return true;
    }
    return false;
}

static bool has_newer(const struct task *t, uint64_t number)
{
    for (size_t i = 0; i < t->open_count; i++)
        if (t->open[i].number > number)
            return true;
    return false;
}

void tfd_exit_rule_ended(struct tfd_exit_rule *r, struct tfd_str task,
                         uint64_t number, enum tfd_session_end end)
{
    struct task *t = row_of(r, task);
    struct open_session s;

    if (!t || !take_open(t, number, &s))
        return;
    if (end == TFD_SESSION_LAST) {
        t->closed = has_newer(t, number) ? number : t->newest;
        t->closed_us = tfd_loop_now_us(r->loop);
    } else if (end == TFD_SESSION_BROKEN && counts(t, &s)) {
        t->closed = 0;
    }
    check_rule(r);
}

static void leaving(void *self, struct tfd_call *call)
{
    struct tfd_pb_reader reader = tfd_pb_reader_of(call->in.proto);
    struct tfd_exit_rule *r = self;
    struct tfd_message answer;
    struct tfd_pb_field f;

    while (tfd_pb_next(&reader, &f)) {
        struct task *t;

        if (f.tag != tfd_Hello_task_tag)
            continue;
        t = row_of(r, tfd_pb_str(&reader, &f));
        if (!t)
            continue;
        t->left = true;
        tfd_log(TFD_LOG_INFO, "task_left", "task=" TFD_STR_FMT,
                TFD_STR_ARG(f.bytes));
    }
    tfd_message_init(&answer, call->native);
    tfd_call_respond(call, &answer);
    check_rule(r);
}

/* ---- Idle ---------------------------------------------------------------- */

static void idle_too_long(struct tfd_timer *t)
{
    struct tfd_exit_rule *r = TFD_CONTAINER_OF(t, struct tfd_exit_rule, idle);

    r->stop(r->ctx, "no session was open for the configured time");
}

void tfd_exit_rule_busy(struct tfd_exit_rule *r, bool busy)
{
    if (r->config->exit_when != TFD_EXIT_IDLE)
        return;
    if (busy)
        tfd_timer_stop(&r->idle);
    else if (r->was_busy)
        (void)!tfd_timer_start(&r->idle,
                               (uint64_t)r->config->exit_idle_ms * 1000, NULL);
    r->was_busy = r->was_busy || busy;
}

/* ---- Life ---------------------------------------------------------------- */

enum tfd_code tfd_exit_rule_new(struct tfd_loop *l,
                                const struct tfd_config *config,
                                struct tfd_service *service,
                                void (*stop)(void *ctx, const char *why),
                                void *ctx, struct tfd_exit_rule **out,
                                struct tfd_status *st)
{
    struct tfd_exit_rule *r = calloc(1, sizeof(*r));

    if (r) {
        r->room = config->cluster.task_count;
        r->tasks = calloc(r->room + 1, sizeof(*r->tasks));
    }
    if (!r || !r->tasks) {
        free(r);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for %zu tasks",
                        config->cluster.task_count);
    }
    r->config = config;
    r->loop = l;
    r->stop = stop;
    r->ctx = ctx;
    tfd_timer_init(&r->idle, l, idle_too_long);
    tfd_timer_init(&r->settle, l, settled);
    tfd_service_bind(service, TFD_METHOD_Leaving, leaving, r);
    /* A worker is itself one that has not left. */
    r->tasks[r->count].name = tfd_device_name_of(
        config->cluster.job_name, config->cluster.task_index, "CPU", 0);
    r->count += r->room > 0 && is_trainer(&r->tasks[0]);
    *out = r;
    return TFD_OK;
}

void tfd_exit_rule_free(struct tfd_exit_rule *r)
{
    tfd_timer_stop(&r->idle);
    tfd_timer_stop(&r->settle);
    for (size_t i = 0; i < r->room; i++)
        free(r->tasks[i].open);
    free(r->tasks);
    free(r);
}
