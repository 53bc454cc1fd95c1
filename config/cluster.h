/*
 * cluster.h - which tasks there are, where they listen, and which one we are.
 *
 * A cluster maps jobs to tasks, and tasks (numbered, perhaps with gaps) to
 * "host:port".  It is filled from TF_CONFIG, flags, the --config file
 * (config/flags.c) or a ServerDef, then completed by tfd_cluster_choose(),
 * which fixes the task that this process is, and checked as a whole.
 *
 * Roles follow from job names, as everywhere in TensorFlow: "chief" and its
 * older name "master" are one role (giving both is an error); where there is
 * neither, worker 0 is the chief.  A job "evaluator" stands outside the
 * cluster: nobody waits for its tasks, they may be absent from the cluster,
 * and their index is not checked.
 *
 * Jobs are in alphabetical order and tasks in that of their index, on every
 * task of the cluster alike.
 *
 * Ownership: the cluster owns its addresses.  Threads: read-only once chosen.
 */
#ifndef TFD_CONFIG_CLUSTER_H
#define TFD_CONFIG_CLUSTER_H

#include "common/base/status.h"
#include "config/limits.h"
#include "config/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tfd_role {
    TFD_ROLE_PS,
    TFD_ROLE_WORKER,
    TFD_ROLE_CHIEF, /* or master, or worker 0 where there is neither */
    TFD_ROLE_EVALUATOR,
    TFD_ROLE_OTHER, /* a job with another name, such as "local" */
};

struct tfd_cluster_task {
    int32_t index;
    char *address; /* "host:port"; "" where nobody named one */
};

struct tfd_cluster_job {
    char name[TFD_JOB_NAME_SIZE_MAX + 1];
    bool outside; /* the evaluator: never waited for, never counted */
    size_t task_count;
    size_t task_room;
    struct tfd_cluster_task *tasks;
};

struct tfd_cluster {
    size_t job_count;
    struct tfd_cluster_job *jobs;
    size_t task_count; /* of all jobs */

    /* This process, after tfd_cluster_choose(). */
    char job_name[TFD_JOB_NAME_SIZE_MAX + 1];
    int32_t task_index;

    /* Where the addresses were read, for messages: the path of a task is
     * head, job, tail, "[index]", as in "--" "ps" "_hosts" "[0]". */
    char source_head[96];
    char source_tail[16];
};

void tfd_cluster_init(struct tfd_cluster *c);
void tfd_cluster_deinit(struct tfd_cluster *c);

/* Adds a task.  Fails where job, index or address are not well formed or the
 * task is known already, with a text for report.h. */
enum tfd_code tfd_cluster_add(struct tfd_cluster *c, const char *job,
                              int64_t index, const char *address,
                              struct tfd_status *st) TFD_MUST_USE;

/* What the configuration says about this process. */
struct tfd_cluster_self {
    const char *job;        /* NULL: not said */
    const char *job_path;   /* where job is said, or should be */
    int64_t index;          /* -1: not said */
    const char *index_path; /* where index is said, or should be */
    bool alone;             /* an empty cluster was given on purpose */
};

/* Fixes which task this process is and adds it where the cluster is empty (then
 * job "local", task 0, if nothing is said) or the task is an evaluator outside
 * it; then checks the cluster: one chief, no address twice, ports that peers
 * can call.  False when lines were added to `errors`. */
bool tfd_cluster_choose(struct tfd_cluster *c,
                        const struct tfd_cluster_self *self,
                        struct tfd_report *errors);

/* NULL when there is no such job or task. */
const struct tfd_cluster_job *tfd_cluster_job(const struct tfd_cluster *c,
                                              const char *name);
const char *tfd_cluster_address(const struct tfd_cluster *c, const char *job,
                                int32_t index);

/* The address of this process; "" where nobody named one. */
const char *tfd_cluster_own_address(const struct tfd_cluster *c);

enum tfd_role tfd_cluster_role(const struct tfd_cluster *c);

/* Whether both name the same job, where "master" is "chief". */
bool tfd_cluster_same_job(const char *a, const char *b);

/* The path of a task for messages: "TF_CONFIG.cluster.ps[0]". */
void tfd_cluster_path(const struct tfd_cluster *c, const char *job,
                      int32_t index, char *path, size_t size);

/* The first task that only one of both has, or that has two addresses; false
 * when they are equal.  The job name belongs to a or b. */
bool tfd_cluster_difference(const struct tfd_cluster *a,
                            const struct tfd_cluster *b, const char **job,
                            int32_t *index);

#endif
