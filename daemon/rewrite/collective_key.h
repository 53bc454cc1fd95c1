/*
 * collective_key.h - what a pruned graph shares with those of other sessions:
 * one that holds the collectives of one device alone meets theirs, and its
 * steps must have the ids of theirs (worker/collective/step_sequences.h).
 *
 * The key is TensorFlow's, so that its masters and ours make the same of the
 * same collectives: a hash of their instance keys, ascending, where these are
 * attributes; else one number for all (GraphExecutionState::BuildGraph).
 *
 * Threads: one for a request.
 */
#ifndef TFD_DAEMON_REWRITE_COLLECTIVE_KEY_H
#define TFD_DAEMON_REWRITE_COLLECTIVE_KEY_H

#include "daemon/rewrite/prune.h"

/* 0: no collective, or those of several devices, which meet in the graph.
 * device_of: by graph node. */
enum tfd_code tfd_collective_key(const struct tfd_graph *g,
                                 const struct tfd_pruned *p,
                                 const int32_t *device_of,
                                 struct tfd_arena *arena, uint64_t *key,
                                 struct tfd_status *st) TFD_MUST_USE;

#endif
