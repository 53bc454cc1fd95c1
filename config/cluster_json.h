/*
 * cluster_json.h - a cluster as JSON, in every form in which TF_CONFIG and
 * --cluster_spec have it:
 *
 *     {"ps": ["a:2222", "b:2222"],              a list, numbered from 0
 *      "worker": {"1": "c:2222"},               a map from index to address
 *      "chief": ["d:2222"], "evaluator": []}    an empty job does not exist
 *
 * Threads: any; no shared state.
 */
#ifndef TFD_CONFIG_CLUSTER_JSON_H
#define TFD_CONFIG_CLUSTER_JSON_H

#include "config/cluster.h"
#include "config/json.h"

/* Adds the jobs of `jobs` to the empty cluster c and notes `path` as their
 * source.  Every mistake adds a line to `errors`. */
void tfd_cluster_json_read(struct tfd_cluster *c, const json_t *jobs,
                           const char *path, struct tfd_report *errors);

/* The same from "a:2222,b:2222", the value of "<head><job>_hosts": head is "--"
 * for a flag. */
void tfd_cluster_json_hosts(struct tfd_cluster *c, const char *job,
                            const char *hosts, const char *head,
                            struct tfd_report *errors);

#endif
