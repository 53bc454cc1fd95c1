/*
 * cluster_proto.h - a cluster from a ClusterDef message, as a session's
 * ConfigProto or a ServerDef brings it.
 *
 * Field numbers: TensorFlow's, protobuf/cluster.proto.
 * Threads: any; nothing is shared.
 */
#ifndef TFD_CONFIG_CLUSTER_PROTO_H
#define TFD_CONFIG_CLUSTER_PROTO_H

#include "common/base/str.h"
#include "config/cluster.h"

/* Adds its tasks to *c, which is initialised and empty.  Which of them we are
 * stays open.  INVALID_ARGUMENT for damage, for a job or a task that comes
 * twice, and for what is no address. */
enum tfd_code tfd_cluster_proto_read(struct tfd_str cluster_def,
                                     struct tfd_cluster *c,
                                     struct tfd_status *st) TFD_MUST_USE;

#endif
