/*
 * cluster_choose.c - which task this process is, and what must hold for the
 * cluster as a whole; see cluster.h.
 *
 * The rules are those of TensorFlow's RunConfig and cluster resolvers.  Texts
 * that people search for keep their words.
 */
#include "config/cluster.h"

#include "config/address.h"
#include "config/device_name.h"
#include "config/value.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_SIZE 200

/* "ps, worker" for messages. */
static void list_jobs(const struct tfd_cluster *c, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < c->job_count; i++)
        tfd_report_path(text, size, "%s%s", i ? ", " : "", c->jobs[i].name);
}

/* The job's name in this cluster: "master" for "chief" and the reverse. */
static const struct tfd_cluster_job *find_job(const struct tfd_cluster *c,
                                              const char *name)
{
    for (size_t i = 0; i < c->job_count; i++)
        if (tfd_cluster_same_job(c->jobs[i].name, name))
            return &c->jobs[i];
    return NULL;
}

static bool set_self(struct tfd_cluster *c, const char *job, int32_t index)
{
    memset(c->job_name, 0, sizeof(c->job_name));
    memcpy(c->job_name, job, strlen(job));
    c->task_index = index;
    return true;
}

/* The one task of a cluster that has one, where no job is said. */
static bool choose_only_task(struct tfd_cluster *c,
                             const struct tfd_cluster_self *self,
                             struct tfd_report *errors)
{
    const struct tfd_cluster_job *job = &c->jobs[0];
    char jobs[300];

    if (c->task_count == 1 &&
        (self->index < 0 || self->index == job->tasks[0].index))
        return set_self(c, job->name, job->tasks[0].index);
    list_jobs(c, jobs, sizeof(jobs));
    tfd_report_add(errors, self->job_path, NULL,
                   "not set: if \"cluster\" is set, task type must be set; "
                   "give --job_name as one of %s",
                   jobs);
    return false;
}

/* A task of which no cluster knows: added without an address. */
static bool choose_unlisted(struct tfd_cluster *c, const char *job,
                            const struct tfd_cluster_self *self,
                            struct tfd_report *errors)
{
    struct tfd_status st = TFD_STATUS_INIT;
    int64_t index = self->index < 0 ? 0 : self->index;

    if (tfd_cluster_add(c, job, index, "", &st) != TFD_OK) {
        tfd_report_add(errors, self->job_path, job, "%s", st.text);
        return false;
    }
    return set_self(c, job, (int32_t)index);
}

/* No cluster at all: a local server, under the name it was given. */
static bool choose_local(struct tfd_cluster *c,
                         const struct tfd_cluster_self *self,
                         struct tfd_report *errors)
{
    static const char *const local[] = {"local", "localhost", "worker",
                                        "evaluator"};

    if (!self->job)
        return choose_unlisted(c, "local", self, errors);
    for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
        if (self->alone || strcmp(self->job, local[i]) == 0)
            return choose_unlisted(c, self->job, self, errors);
    tfd_report_add(errors, self->job_path, self->job,
                   "if \"cluster\" is not set, task type must be worker; "
                   "give --ps_hosts and --worker_hosts, or TF_CONFIG");
    return false;
}

static bool fail_job(const struct tfd_cluster *c,
                     const struct tfd_cluster_self *self,
                     struct tfd_report *errors)
{
    char jobs[300];
    const char *meant = NULL;

    list_jobs(c, jobs, sizeof(jobs));
    for (size_t i = 0; i < c->job_count && !meant; i++)
        if (tfd_value_near(self->job, c->jobs[i].name))
            meant = c->jobs[i].name;
    if (meant)
        tfd_report_add(errors, self->job_path, self->job,
                       "not a job of the cluster; did you mean %s?", meant);
    else
        tfd_report_add(errors, self->job_path, self->job,
                       "not a job of the cluster; give one of %s", jobs);
    return false;
}

/* "0 to 3", or "0, 2, 5 ..." where there are gaps. */
static void list_tasks(const struct tfd_cluster_job *job, char *text,
                       size_t size)
{
    int32_t last = job->tasks[job->task_count - 1].index;

    text[0] = '\0';
    if (job->task_count == 1) {
        tfd_report_path(text, size, "%d", last);
    } else if ((size_t)last + 1 == job->task_count) {
        tfd_report_path(text, size, "0 to %d", last);
    } else {
        for (size_t i = 0; i < job->task_count && i < 8; i++)
            tfd_report_path(text, size, "%s%d", i ? ", " : "",
                            job->tasks[i].index);
        tfd_report_path(text, size, "%s", job->task_count > 8 ? " ..." : "");
    }
}

static bool choose_index(struct tfd_cluster *c,
                         const struct tfd_cluster_job *job,
                         const struct tfd_cluster_self *self,
                         struct tfd_report *errors)
{
    char tasks[200];
    char value[32];

    if (self->index < 0 && job->task_count == 1)
        return set_self(c, job->name, job->tasks[0].index);
    list_tasks(job, tasks, sizeof(tasks));
    if (self->index < 0) {
        tfd_report_add(errors, self->index_path, NULL,
                       "not set: if \"cluster\" is set, task index must be "
                       "set; job %s has %s",
                       job->name, tasks);
        return false;
    }
    if (self->index <= TFD_TASK_INDEX_MAX &&
        tfd_cluster_address(c, job->name, (int32_t)self->index))
        return set_self(c, job->name, (int32_t)self->index);
    snprintf(value, sizeof(value), "%" PRId64, self->index);
    tfd_report_add(errors, self->index_path, value,
                   "not a valid task index for job %s; give %s", job->name,
                   tasks);
    return false;
}

static bool choose_self(struct tfd_cluster *c,
                        const struct tfd_cluster_self *self,
                        struct tfd_report *errors)
{
    const struct tfd_cluster_job *job;

    if (c->job_count == 0)
        return choose_local(c, self, errors);
    if (!self->job)
        return choose_only_task(c, self, errors);
    job = find_job(c, self->job);
    if (job && job->outside && self->index >= 0 &&
        !tfd_cluster_address(c, job->name, (int32_t)self->index))
        return choose_unlisted(c, job->name, self, errors);
    if (job)
        return choose_index(c, job, self, errors);
    if (strcmp(self->job, "evaluator") == 0)
        return choose_unlisted(c, self->job, self, errors);
    return fail_job(c, self, errors);
}

static bool check_chief(const struct tfd_cluster *c, struct tfd_report *errors)
{
    const struct tfd_cluster_job *chief = tfd_cluster_job(c, "chief");
    const struct tfd_cluster_job *master = tfd_cluster_job(c, "master");
    const struct tfd_cluster_job *job = chief ? chief : master;
    char path[PATH_SIZE];

    if (!job)
        return true;
    if (chief && master) {
        tfd_cluster_path(c, "master", master->tasks[0].index, path, PATH_SIZE);
        tfd_report_add(errors, path, master->tasks[0].address,
                       "master is the older name of chief, and the cluster "
                       "has both; keep one");
        return false;
    }
    if (job->task_count == 1)
        return true;
    tfd_cluster_path(c, job->name, job->tasks[1].index, path, PATH_SIZE);
    tfd_report_add(errors, path, job->tasks[1].address,
                   "the cluster must have only one \"%s\" node; make the "
                   "others workers",
                   job->name);
    return false;
}

/* One task while addresses are compared. */
struct place {
    const char *address;
    const char *job;
    int32_t index;
};

/* Host names do not distinguish letter case. */
static int compare_addresses(const char *x, const char *y)
{
    while (*x && tolower((unsigned char)*x) == tolower((unsigned char)*y)) {
        x++;
        y++;
    }
    return tolower((unsigned char)*x) - tolower((unsigned char)*y);
}

/* A total order, so that the same mistake gives the same message. */
static int by_address(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;
    int order = compare_addresses(x->address, y->address);

    if (order == 0)
        order = strcmp(x->job, y->job);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

static bool is_self(const struct tfd_cluster *c, const struct place *p)
{
    return p->index == c->task_index && strcmp(p->job, c->job_name) == 0;
}

/* Some launchers list the master as a worker too. */
static bool is_master_as_worker(const struct place *a, const struct place *b)
{
    return (tfd_cluster_same_job(a->job, "chief") &&
            strcmp(b->job, "worker") == 0) ||
           (tfd_cluster_same_job(b->job, "chief") &&
            strcmp(a->job, "worker") == 0);
}

/* Two tasks at one address are an error, of which one would not start, unless
 * both are this process. */
static bool check_pair(const struct tfd_cluster *c, const struct place *a,
                       const struct place *b, struct tfd_report *errors)
{
    char path[PATH_SIZE];
    char other[PATH_SIZE];

    if (a->address[0] == '\0' || compare_addresses(a->address, b->address) != 0)
        return true;
    if (is_master_as_worker(a, b) && (is_self(c, a) || is_self(c, b)))
        return true;
    tfd_cluster_path(c, a->job, a->index, path, PATH_SIZE);
    tfd_cluster_path(c, b->job, b->index, other, PATH_SIZE);
    tfd_report_add(errors, path, a->address,
                   "%s has the same address; give each task its own port",
                   other);
    return false;
}

static size_t list_places(const struct tfd_cluster *c, struct place *places)
{
    size_t n = 0;

    for (size_t i = 0; i < c->job_count; i++)
        for (size_t k = 0; k < c->jobs[i].task_count; k++)
            places[n++] =
                (struct place){c->jobs[i].tasks[k].address, c->jobs[i].name,
                               c->jobs[i].tasks[k].index};
    return n;
}

/* Port 0 means any free port, which no peer can know. */
static bool check_port(const struct tfd_cluster *c, const struct place *p,
                       struct tfd_report *errors)
{
    struct tfd_address parsed;
    char path[PATH_SIZE];

    if (c->task_count == 1 || p->address[0] == '\0' ||
        tfd_address_parse(p->address, &parsed, NULL) != TFD_OK ||
        parsed.port != 0)
        return true;
    tfd_cluster_path(c, p->job, p->index, path, PATH_SIZE);
    tfd_report_add(errors, path, p->address,
                   "peers cannot call port 0; write %.100s:%d", parsed.host,
                   TFD_PORT_DEFAULT);
    return false;
}

static bool check_addresses(const struct tfd_cluster *c,
                            struct tfd_report *errors)
{
    struct place *places = calloc(c->task_count + 1, sizeof(*places));
    size_t n;
    bool ok = true;

    if (!places) {
        tfd_report_add(errors, "cluster", NULL, "out of memory");
        return false;
    }
    n = list_places(c, places);
    for (size_t i = 0; i < n; i++)
        ok = check_port(c, &places[i], errors) && ok;
    qsort(places, n, sizeof(*places), by_address);
    for (size_t i = 1; i < n; i++)
        ok = check_pair(c, &places[i - 1], &places[i], errors) && ok;
    free(places);
    return ok;
}

bool tfd_cluster_choose(struct tfd_cluster *c,
                        const struct tfd_cluster_self *self,
                        struct tfd_report *errors)
{
    bool ok = choose_self(c, self, errors);

    ok = check_chief(c, errors) && ok;
    return check_addresses(c, errors) && ok;
}
