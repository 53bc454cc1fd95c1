/*
 * tf_config.h - the environment variable TF_CONFIG, in every dialect that
 * launchers write.
 *
 *     {"cluster": {"ps": ["ps0:2222"], "worker": ["w0:2222", "w1:2222"]},
 *      "task": {"type": "worker", "index": 1}}
 *
 * - Tasks of a job as a list or as a map from index to address; the index of
 *   the task as a number or as text.
 * - "sparseCluster" for "cluster", and a cluster with an empty worker map, as
 *   Kubeflow writes with enableDynamicWorker: a ps then finds only itself in
 *   its list, under whatever index it has.
 * - "chief" and "master" alike; an evaluator inside or outside the cluster.
 * - "rpc_layer" names the protocol.  "job", "environment", "task.trial",
 *   "task.cloud" (Google's service) and the keys of Estimator are noted and not
 *   used.
 * - Unset, empty or {} says nothing.
 *
 * Ownership: the result owns its cluster.  Threads: any; no shared state.
 */
#ifndef TFD_CONFIG_TF_CONFIG_H
#define TFD_CONFIG_TF_CONFIG_H

#include "config/cluster.h"
#include "config/report.h"

struct tfd_tf_config {
    struct tfd_cluster cluster; /* not chosen yet; no jobs: says nothing */
    bool alone;                 /* a cluster is given and is empty */
    bool has_job;
    char job_name[TFD_JOB_NAME_SIZE_MAX + 1];
    int64_t task_index; /* -1: not said */
    char protocol[32];  /* "": not said */
};

void tfd_tf_config_init(struct tfd_tf_config *t);
void tfd_tf_config_deinit(struct tfd_tf_config *t);

/* Reads text (need not be terminated) into *out, which was initialised.  False
 * when lines were added to `errors`.  Keys that are read and not used are
 * added to `notes`. */
bool tfd_tf_config_parse(const char *text, size_t size,
                         struct tfd_tf_config *out, struct tfd_report *errors,
                         struct tfd_report *notes);

#endif
