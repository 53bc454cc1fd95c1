/*
 * session_config.h - reads a ConfigProto, which comes with CreateSession, with
 * RegisterGraph and in a ServerDef: it keeps the fields that this runtime
 * honours.
 *
 * Fields that ask for something this runtime does not have (thread pools,
 * switches of the optimizers, memory options of GPUs) are collected by name
 * when they are set, so that the log can say once what was not done.
 *
 * Field numbers: TensorFlow 2.21, protobuf/config.proto.
 *
 * Ownership: owns its filters; cluster_def borrows from the bytes read.
 * Threads: any; read-only once read.
 */
#ifndef TFD_CONFIG_SESSION_CONFIG_H
#define TFD_CONFIG_SESSION_CONFIG_H

#include "common/base/str.h"
#include "config/device_name.h"
#include "config/limits.h"

/* Fields of ConfigProto and of ConfigProto.Experimental together. */
#define TFD_SESSION_UNHONOURED_MAX 64

struct tfd_session_config {
    size_t filter_count; /* device_filters; none: every task */
    struct tfd_device_name *filters;

    bool allow_soft_placement;
    bool log_device_placement;
    bool isolate_session_state;
    bool share_cluster_devices; /* share_cluster_devices_in_session */
    bool place_pruned_graph;    /* graph_options.place_pruned_graph */
    bool saves_before_leave;    /* saves_before_tasks_leave: leaving.h */
    bool keeps_unread; /* rewrite_options turns off what unread.h does */
    bool keeps_twins;  /* ... and what twins.h does */
    int64_t operation_timeout_ms; /* 0: none */
    int64_t cost_model;           /* graph_options.build_cost_model; 0: none */
    int64_t cost_model_after;     /* graph_options.build_cost_model_after */

    /* The master takes another name and other peers for this session. */
    bool has_cluster_def;
    struct tfd_str cluster_def; /* ClusterDef */
    bool share_session_state;   /* between such sessions */

    /* Set, and not honoured: "graph_options.rewrite_options", ... */
    size_t unhonoured_count;
    const char *unhonoured[TFD_SESSION_UNHONOURED_MAX];
};

/* Reads the bytes of a ConfigProto ("" is all defaults) into *out, which need
 * not be initialised.  INVALID_ARGUMENT for damaged bytes and for a filter that
 * is no device name; RESOURCE_EXHAUSTED for too many filters.  After a failure
 * *out is as after deinit. */
enum tfd_code tfd_session_config_read(struct tfd_str bytes,
                                      struct tfd_session_config *out,
                                      struct tfd_status *st) TFD_MUST_USE;
void tfd_session_config_deinit(struct tfd_session_config *c);

/* Whether a task is in the session's scope: no filter, or one intersects. */
bool tfd_session_config_admits(const struct tfd_session_config *c,
                               const struct tfd_device_name *task);

#endif
