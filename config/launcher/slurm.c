/*
 * slurm.c - see slurm.h.
 *
 *     read_variable       SLURM_PROCID and its like
 *     read_jobs         --jobs -> rows of names and counts, sorted
 *     add_tasks         hosts, counts and rows, walked side by side
 */
#include "config/launcher/slurm.h"

#include "config/environment.h"
#include "config/launcher/slurm_lists.h"
#include "config/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTS "SLURM_STEP_NODELIST"
#define COUNTS "SLURM_STEP_TASKS_PER_NODE"
#define TASKS "SLURM_STEP_NUM_TASKS"

struct job {
    char name[TFD_JOB_NAME_SIZE_MAX + 1];
    int64_t count;
};

struct step {
    struct tfd_cluster *cluster;
    struct tfd_slurm_self *self;
    struct tfd_report *errors;
    const char *hosts, *counts; /* as Slurm has them */
    int64_t rank, tasks, node, local;
    int32_t port_base;
    struct job jobs[TFD_JOBS_MAX];
    size_t job_count;
    /* The next task. */
    int64_t next;
    size_t job;
    int32_t index;
};

bool tfd_slurm_here(void)
{
    return tfd_environment_get(TFD_ENVIRONMENT_SLURM_PROCID) &&
           tfd_environment_get(TFD_ENVIRONMENT_SLURM_STEP_NODELIST);
}

/* ---- Variables ----------------------------------------------------------- */

static const char *read_step_text(struct step *s, enum tfd_environment variable,
                                  const char *name)
{
    const char *text = tfd_environment_get(variable);

    if (!text)
        tfd_report_add(s->errors, name, NULL,
                       "not set, so this is no task of a Slurm step; start tfd "
                       "by srun, also in the script of a job");
    return text;
}

static bool read_variable(struct step *s, enum tfd_environment variable,
                          const char *name, int64_t min, int64_t max,
                          int64_t *out)
{
    const char *text = read_step_text(s, variable, name);
    struct tfd_status st = TFD_STATUS_INIT;

    if (!text)
        return false;
    if (tfd_value_number(text, min, max, out, &st) == TFD_OK)
        return true;
    tfd_report_add(s->errors, name, text, "%s", st.text);
    return false;
}

/* The first that is not set is enough of a line. */
static bool read_environment(struct step *s)
{
    s->hosts = read_step_text(s, TFD_ENVIRONMENT_SLURM_STEP_NODELIST, HOSTS);
    if (!s->hosts)
        return false;
    s->counts =
        read_step_text(s, TFD_ENVIRONMENT_SLURM_STEP_TASKS_PER_NODE, COUNTS);
    return s->counts &&
           read_variable(s, TFD_ENVIRONMENT_SLURM_STEP_NUM_TASKS, TASKS, 1,
                         TFD_TASKS_MAX, &s->tasks) &&
           read_variable(s, TFD_ENVIRONMENT_SLURM_PROCID, "SLURM_PROCID", 0,
                         s->tasks - 1, &s->rank) &&
           read_variable(s, TFD_ENVIRONMENT_SLURM_NODEID, "SLURM_NODEID", 0,
                         s->tasks - 1, &s->node) &&
           read_variable(s, TFD_ENVIRONMENT_SLURM_LOCALID, "SLURM_LOCALID", 0,
                         s->tasks - 1, &s->local);
}

/* ---- Jobs ---------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct job *)a)->name, ((const struct job *)b)->name);
}

/* "worker:2" of `size` bytes.  Whether the name is one, the cluster says. */
static enum tfd_code read_job(struct step *s, const char *text, size_t size,
                              struct tfd_status *st)
{
    struct job *job = &s->jobs[s->job_count];
    const char *colon = memchr(text, ':', size);
    char number[16];

    if (s->job_count == TFD_JOBS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "more than %d jobs; merge some", TFD_JOBS_MAX);
    if (!colon || colon == text || colon - text > TFD_JOB_NAME_SIZE_MAX ||
        size - (size_t)(colon - text) > sizeof(number))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "\"%.*s\" is not JOB:TASKS; write ps:1,worker:2",
                        size > 80 ? 80 : (int)size, text);
    memset(job, 0, sizeof(*job));
    memcpy(job->name, text, (size_t)(colon - text));
    snprintf(number, sizeof(number), "%.*s", (int)(text + size - colon - 1),
             colon + 1);
    TFD_TRY(tfd_value_number(number, 1, TFD_TASKS_MAX, &job->count, st));
    for (size_t i = 0; i < s->job_count; i++)
        if (strcmp(s->jobs[i].name, job->name) == 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s is there twice; add up its tasks", job->name);
    s->job_count++;
    return TFD_OK;
}

static enum tfd_code read_jobs(struct step *s, const char *jobs,
                               struct tfd_status *st)
{
    int64_t sum = 0;

    while (*jobs || s->job_count == 0) {
        size_t size = strcspn(jobs, ",");

        TFD_TRY(read_job(s, jobs, size, st));
        if (jobs[size] == ',' && jobs[size + 1] == '\0')
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "no job behind the comma; drop it");
        jobs += size + (jobs[size] == ',');
    }
    for (size_t i = 0; i < s->job_count; i++)
        sum += s->jobs[i].count;
    if (sum != s->tasks)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%" PRId64 " tasks, but " TASKS " is %" PRId64
                        "; give srun --ntasks=%" PRId64 ", or other jobs",
                        sum, s->tasks, sum);
    qsort(s->jobs, s->job_count, sizeof(s->jobs[0]), by_name);
    return TFD_OK;
}

/* ---- Tasks --------------------------------------------------------------- */

/* Slurm deals out tasks in other orders, too, and tells each where it is. */
static bool check_own_place(struct step *s, const char *host, int64_t node,
                            int64_t local)
{
    char number[32];

    if (s->node == node && s->local == local)
        return true;
    snprintf(number, sizeof(number), "%" PRId64,
             s->node != node ? s->node : s->local);
    tfd_report_add(s->errors,
                   s->node != node ? "SLURM_NODEID" : "SLURM_LOCALID", number,
                   "task %" PRId64 " of the step was looked for as number "
                   "%" PRId64 " of host %" PRId64 " (%.100s); start the step "
                   "with srun --distribution=block",
                   s->rank, local, node, host);
    return false;
}

static bool add_slurm_task(struct step *s, const char *host, int64_t local,
                           int64_t node)
{
    const struct job *job = &s->jobs[s->job];
    struct tfd_status st = TFD_STATUS_INIT;
    char address[TFD_ADDRESS_SIZE_MAX];
    int64_t port = s->port_base + local;

    if (port > 65535) {
        tfd_report_add(s->errors, COUNTS, s->counts,
                       "task %" PRId64 " of %.100s has no port: --port_base is "
                       "%d; give a lower one",
                       local, host, s->port_base);
        return false;
    }
    snprintf(address, sizeof(address), "%s:%" PRId64, host, port);
    if (tfd_cluster_add(s->cluster, job->name, s->index, address, &st) !=
        TFD_OK) {
        tfd_report_add(s->errors, HOSTS, address, "%s", st.text);
        return false;
    }
    if (s->next == s->rank) {
        memcpy(s->self->job_name, job->name, sizeof(job->name));
        s->self->task_index = s->index;
        if (!check_own_place(s, host, node, local))
            return false;
    }
    s->next++;
    if (++s->index == job->count) {
        s->job++;
        s->index = 0;
    }
    return true;
}

static bool fail_list(struct step *s, const char *name, const char *list,
                      const struct tfd_status *st)
{
    tfd_report_add(s->errors, name, list, "%s", st->text);
    return false;
}

static bool fail_tasks(struct step *s, const char *more_or_less)
{
    tfd_report_add(s->errors, COUNTS, s->counts,
                   "%s tasks than the %" PRId64 " of " TASKS
                   " on the hosts of " HOSTS " (%.100s); is one of the three "
                   "set by hand?",
                   more_or_less, s->tasks, s->hosts);
    return false;
}

/* Each turn adds a task or more, so a long list ends where tasks do. */
static bool add_tasks(struct step *s)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_slurm_hosts hosts;
    struct tfd_slurm_counts counts;
    char host[TFD_HOST_SIZE_MAX + 1];
    int64_t count;
    bool end;

    tfd_slurm_hosts_init(&hosts, s->hosts);
    tfd_slurm_counts_init(&counts, s->counts);
    for (int64_t node = 0;; node++) {
        if (tfd_slurm_hosts_next(&hosts, host, &end, &st) != TFD_OK)
            return fail_list(s, HOSTS, s->hosts, &st);
        if (tfd_slurm_counts_next(&counts, &count, &st) != TFD_OK)
            return fail_list(s, COUNTS, s->counts, &st);
        if (end || count == 0)
            break;
        if (count > s->tasks - s->next)
            return fail_tasks(s, "more");
        for (int64_t local = 0; local < count; local++)
            if (!add_slurm_task(s, host, local, node))
                return false;
    }
    if (!end || count > 0)
        return fail_tasks(s, end ? "more" : "fewer");
    return s->next == s->tasks || fail_tasks(s, "fewer");
}

static bool read_step(struct step *s, const char *jobs, const char *jobs_path)
{
    struct tfd_status st = TFD_STATUS_INIT;
    char all[40];

    if (!read_environment(s))
        return false;
    snprintf(all, sizeof(all), "worker:%" PRId64, s->tasks);
    if (read_jobs(s, jobs ? jobs : all, &st) != TFD_OK) {
        tfd_report_add(s->errors, jobs_path, jobs, "%s", st.text);
        return false;
    }
    return add_tasks(s);
}

bool tfd_slurm_read(const char *jobs, const char *jobs_path, int32_t port_base,
                    struct tfd_cluster *c, struct tfd_slurm_self *self,
                    struct tfd_report *errors)
{
    struct step *s = calloc(1, sizeof(*s));
    bool good;

    memset(self, 0, sizeof(*self));
    if (!s) {
        tfd_report_add(errors, jobs_path, NULL, "out of memory");
        return false;
    }
    s->cluster = c;
    s->self = self;
    s->errors = errors;
    s->port_base = port_base;
    snprintf(c->source_head, sizeof(c->source_head), HOSTS ".");
    good = read_step(s, jobs, jobs_path);
    free(s);
    return good;
}
