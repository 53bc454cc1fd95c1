/*
 * exit_rule.c - a small table of tasks that came and left, and one timer.
 */
#include "daemon/exit_rule.h"

#include "common/log.h"
#include "common/proto/peer.pb.h"
#include "config/device_name.h"

#include <stddef.h>
#include <stdlib.h>

struct task {
    struct tfd_device_name name;
    bool left;
};

struct tfd_exit_rule {
    const struct tfd_config *config;
    struct tfd_timer idle;
    void (*stop)(void *ctx, const char *why);
    void *ctx;
    struct task *tasks; /* of the cluster: task_count rows at most */
    size_t count;
    size_t room;
};

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

static void check(struct tfd_exit_rule *r)
{
    size_t trainers = 0, left = 0;
    bool chief_left = false;

    for (size_t i = 0; i < r->count; i++) {
        const struct task *t = &r->tasks[i];

        trainers += is_trainer(t);
        left += is_trainer(t) && t->left;
        chief_left = chief_left || (is_chief(r, t) && t->left);
    }
    if (r->config->exit_when == TFD_EXIT_WORKERS && trainers > 0 &&
        left == trainers)
        r->stop(r->ctx, "every worker has left");
    else if (r->config->exit_when == TFD_EXIT_CHIEF && chief_left)
        r->stop(r->ctx, "the chief has left");
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
    r->tasks[r->count] = (struct task){name, false};
    return &r->tasks[r->count++];
}

void tfd_exit_rule_came(struct tfd_exit_rule *r, struct tfd_str task)
{
    struct task *t = row_of(r, task);

    if (t)
        t->left = false;
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
    check(r);
}

static void idle_too_long(struct tfd_timer *t)
{
    struct tfd_exit_rule *r =
        (struct tfd_exit_rule *)((char *)t -
                                 offsetof(struct tfd_exit_rule, idle));

    r->stop(r->ctx, "no session was open for the configured time");
}

void tfd_exit_rule_busy(struct tfd_exit_rule *r, bool busy)
{
    if (r->config->exit_when != TFD_EXIT_IDLE)
        return;
    if (busy)
        tfd_timer_stop(&r->idle);
    else
        (void)!tfd_timer_start(&r->idle,
                               (uint64_t)r->config->exit_idle_ms * 1000, NULL);
}

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
    r->stop = stop;
    r->ctx = ctx;
    tfd_timer_init(&r->idle, l, idle_too_long);
    tfd_service_bind(service, TFD_METHOD_Leaving, leaving, r);
    /* A worker is itself one that has not left. */
    r->tasks[r->count].name = tfd_device_name_of(
        config->cluster.job_name, config->cluster.task_index, "CPU", 0);
    r->count += r->room > 0 && is_trainer(&r->tasks[0]);
    tfd_exit_rule_busy(r, false);
    *out = r;
    return TFD_OK;
}

void tfd_exit_rule_free(struct tfd_exit_rule *r)
{
    tfd_timer_stop(&r->idle);
    free(r->tasks);
    free(r);
}
