/*
 * slurm.h - the cluster of a Slurm step, and which of its tasks this is.
 *
 *     srun --ntasks=4 tfd --cluster_from=slurm --jobs=ps:1,chief:1,worker:2
 *
 * Ranks (SLURM_PROCID) are given to the jobs in alphabetical order of their
 * names, here chief 0, ps 0, worker 0 and 1, and to the hosts in the order of
 * SLURM_STEP_NODELIST, as many to each as SLURM_STEP_TASKS_PER_NODE says.  The
 * first task of a host listens on the base port, the next on the port above
 * it.  TensorFlow's SlurmClusterResolver does the same, so a program that uses
 * it finds the cluster; but that one sorts the hosts, and so names wrong ones
 * where n10 comes before n2.
 *
 * Of tasks that are dealt out in another order (srun --distribution) Slurm says
 * in SLURM_NODEID and SLURM_LOCALID where they are, and what does not agree is
 * an error.
 *
 * The variables are those of a step: the script of a job has none of them, and
 * would be one task that waits for the others.
 *
 * Threads: as environment.h.
 */
#ifndef TFD_CONFIG_LAUNCHER_SLURM_H
#define TFD_CONFIG_LAUNCHER_SLURM_H

#include "config/cluster.h"
#include "config/limits.h"
#include "config/report.h"

#include <stdbool.h>
#include <stdint.h>

struct tfd_slurm_self {
    char job_name[TFD_JOB_NAME_SIZE_MAX + 1];
    int32_t task_index;
};

/* Whether this process is a task of a step. */
bool tfd_slurm_here(void);

/* Fills the empty cluster.  `jobs` is "ps:1,worker:2", NULL: all tasks are
 * workers; `jobs_path` is where that was said.  False where lines were added to
 * `errors`; the cluster is then of no use. */
bool tfd_slurm_read(const char *jobs, const char *jobs_path, int32_t port_base,
                    struct tfd_cluster *c, struct tfd_slurm_self *self,
                    struct tfd_report *errors);

#endif
