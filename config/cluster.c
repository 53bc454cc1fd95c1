/*
 * cluster.c - the table of jobs and tasks; see cluster.h.
 *
 * Jobs and tasks are kept sorted as they are added: both are looked up by
 * bisection, and two tasks given the same cluster in different order agree.
 * Which task is our own, and what a whole cluster must fulfil, is
 * cluster_choose.c.
 */
#include "config/cluster.h"

#include "config/address.h"
#include "config/device_name.h"
#include "config/value.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void tfd_cluster_init(struct tfd_cluster *c)
{
    memset(c, 0, sizeof(*c));
}

void tfd_cluster_deinit(struct tfd_cluster *c)
{
    for (size_t i = 0; i < c->job_count; i++) {
        for (size_t k = 0; k < c->jobs[i].task_count; k++)
            free(c->jobs[i].tasks[k].address);
        free(c->jobs[i].tasks);
    }
    free(c->jobs);
    memset(c, 0, sizeof(*c));
}

/* The place of a job, or where it would be inserted. */
static size_t job_place(const struct tfd_cluster *c, const char *name,
                        bool *found)
{
    size_t low = 0, high = c->job_count;

    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(c->jobs[middle].name, name);

        if (order < 0)
            low = middle + 1;
        else
            high = middle;
        *found = *found || order == 0;
    }
    return low;
}

static size_t task_place(const struct tfd_cluster_job *job, int32_t index,
                         bool *found)
{
    size_t low = 0, high = job->task_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (job->tasks[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    *found = low < job->task_count && job->tasks[low].index == index;
    return low;
}

/* The mistake of writing the flag's name where the job's belongs. */
static enum tfd_code check_job_name(const char *job, struct tfd_status *st)
{
    struct tfd_str name = {job, strlen(job)};

    if (name.size > 6 && strcmp(job + name.size - 6, "_hosts") == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "that is a flag's name; name the job \"%.*s\"",
                        (int)(name.size - 6 > 60 ? 60 : name.size - 6), job);
    if (name.size > TFD_JOB_NAME_SIZE_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a job name of %zu characters, the limit is %d; "
                        "give a shorter one",
                        name.size, TFD_JOB_NAME_SIZE_MAX);
    if (!tfd_device_name_job_ok(name))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "no job name; use a letter, then letters, digits "
                        "and _, like ps, worker, chief");
    return TFD_OK;
}

static enum tfd_code no_memory(struct tfd_status *st)
{
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "out of memory");
}

static enum tfd_code insert_job(struct tfd_cluster *c, const char *name,
                                size_t at, struct tfd_status *st)
{
    struct tfd_cluster_job *jobs;

    if (c->job_count >= TFD_JOBS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "more than %d jobs; merge some", TFD_JOBS_MAX);
    jobs = realloc(c->jobs, (c->job_count + 1) * sizeof(*jobs));
    if (!jobs)
        return no_memory(st);
    c->jobs = jobs;
    memmove(&jobs[at + 1], &jobs[at], (c->job_count - at) * sizeof(*jobs));
    memset(&jobs[at], 0, sizeof(jobs[at]));
    memcpy(jobs[at].name, name, strlen(name));
    jobs[at].outside = strcmp(name, "evaluator") == 0;
    c->job_count++;
    return TFD_OK;
}

static enum tfd_code insert_task(struct tfd_cluster_job *job, int32_t index,
                                 const char *address, struct tfd_status *st)
{
    bool found;
    size_t at = task_place(job, index, &found);
    size_t room = job->task_room ? 2 * job->task_room : 4;
    char *copy;

    if (found)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "job %s has a task %d already; number it differently",
                        job->name, index);
    if (job->task_count == job->task_room) {
        struct tfd_cluster_task *tasks =
            realloc(job->tasks, room * sizeof(*tasks));

        if (!tasks)
            return no_memory(st);
        job->tasks = tasks;
        job->task_room = room;
    }
    copy = malloc(strlen(address) + 1);
    if (!copy)
        return no_memory(st);
    memcpy(copy, address, strlen(address) + 1);
    memmove(&job->tasks[at + 1], &job->tasks[at],
            (job->task_count - at) * sizeof(*job->tasks));
    job->tasks[at] = (struct tfd_cluster_task){index, copy};
    job->task_count++;
    return TFD_OK;
}

enum tfd_code tfd_cluster_add(struct tfd_cluster *c, const char *job,
                              int64_t index, const char *address,
                              struct tfd_status *st)
{
    struct tfd_address parsed;
    bool found;
    size_t at;

    TFD_TRY(check_job_name(job, st));
    if (index < 0 || index > TFD_TASK_INDEX_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "task %" PRId64 " of job %s is not in 0 to %d; "
                        "number it differently",
                        index, job, TFD_TASK_INDEX_MAX);
    if (c->task_count >= TFD_TASKS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "more than %d tasks; run fewer", TFD_TASKS_MAX);
    if (*address)
        TFD_TRY(tfd_address_parse(address, &parsed, st));
    at = job_place(c, job, &found);
    if (!found)
        TFD_TRY(insert_job(c, job, at, st));
    TFD_TRY(insert_task(&c->jobs[at], (int32_t)index, address, st));
    c->task_count++;
    return TFD_OK;
}

const struct tfd_cluster_job *tfd_cluster_job(const struct tfd_cluster *c,
                                              const char *name)
{
    bool found;
    size_t at = job_place(c, name, &found);

    return found ? &c->jobs[at] : NULL;
}

const char *tfd_cluster_address(const struct tfd_cluster *c, const char *job,
                                int32_t index)
{
    const struct tfd_cluster_job *j = tfd_cluster_job(c, job);
    bool found = false;
    size_t at = j ? task_place(j, index, &found) : 0;

    return found ? j->tasks[at].address : NULL;
}

const char *tfd_cluster_own_address(const struct tfd_cluster *c)
{
    const char *address = tfd_cluster_address(c, c->job_name, c->task_index);

    return address ? address : "";
}

static bool is_chief_name(const char *job)
{
    return strcmp(job, "chief") == 0 || strcmp(job, "master") == 0;
}

bool tfd_cluster_same_job(const char *a, const char *b)
{
    return strcmp(a, b) == 0 || (is_chief_name(a) && is_chief_name(b));
}

enum tfd_role tfd_cluster_role(const struct tfd_cluster *c)
{
    bool has_chief =
        tfd_cluster_job(c, "chief") || tfd_cluster_job(c, "master");

    if (is_chief_name(c->job_name))
        return TFD_ROLE_CHIEF;
    if (strcmp(c->job_name, "worker") == 0)
        return !has_chief && c->task_index == 0 ? TFD_ROLE_CHIEF
                                                : TFD_ROLE_WORKER;
    if (strcmp(c->job_name, "ps") == 0)
        return TFD_ROLE_PS;
    if (strcmp(c->job_name, "evaluator") == 0)
        return TFD_ROLE_EVALUATOR;
    return TFD_ROLE_OTHER;
}

void tfd_cluster_path(const struct tfd_cluster *c, const char *job,
                      int32_t index, char *path, size_t size)
{
    path[0] = '\0';
    tfd_report_path(path, size, "%s%s%s[%d]", c->source_head, job,
                    c->source_tail, index);
}

/* The first task of a that b lacks or names differently. */
static bool lacks(const struct tfd_cluster *a, const struct tfd_cluster *b,
                  const char **job, int32_t *index)
{
    for (size_t i = 0; i < a->job_count; i++) {
        for (size_t k = 0; k < a->jobs[i].task_count; k++) {
            const struct tfd_cluster_task *task = &a->jobs[i].tasks[k];
            const char *other =
                tfd_cluster_address(b, a->jobs[i].name, task->index);

            if (other && strcmp(other, task->address) == 0)
                continue;
            *job = a->jobs[i].name;
            *index = task->index;
            return true;
        }
    }
    return false;
}

bool tfd_cluster_difference(const struct tfd_cluster *a,
                            const struct tfd_cluster *b, const char **job,
                            int32_t *index)
{
    return lacks(a, b, job, index) || lacks(b, a, job, index);
}
