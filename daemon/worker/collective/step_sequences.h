/*
 * step_sequences.h - the ids of steps that sessions share: where every worker
 * has a session of its own, with its part of the collectives alone, their steps
 * meet under the same id.
 *
 * A sequence has a graph key, which the masters make of the collectives in
 * their graphs (daemon/rewrite/collective_key.h).  The leader of collectives
 * (collectives.h) begins it with a random id; every other task asks it which id
 * is next (GetStepSequence).  Then each counts by itself, one a step, as the
 * sessions run step by step together.  The leader says so of a step until that
 * has ended, for no member ends it before all have asked.  After a step that
 * failed, which others may not have begun, a task asks again.
 *
 * TensorFlow keeps every sequence for ever.  Here the number is bounded: beyond
 * it one without a running step is forgotten, the one that was not used for
 * longest, first of those in which this task never ran a step.  Another task
 * that forgets one asks again.  At the leader a forgotten one would begin anew
 * with another id, while members that know it count on, so it keeps those of
 * its own steps for idle_us after the last one.
 *
 * Errors: INTERNAL, as TensorFlow's, of who asks a task that leads nothing;
 * RESOURCE_EXHAUSTED.  Threads: loop thread.
 */
#ifndef TFD_DAEMON_WORKER_COLLECTIVE_STEP_SEQUENCES_H
#define TFD_DAEMON_WORKER_COLLECTIVE_STEP_SEQUENCES_H

#include "common/base/id_map.h"
#include "daemon/worker_api.h"
#include "rpc/core/peers.h"

struct tfd_step_learner;
struct tfd_step_sequence;

/* Those without a running step, by when they were used. */
struct tfd_step_list {
    struct tfd_step_sequence *oldest, *newest;
};

struct tfd_step_sequences {
    struct tfd_peers *peers;
    int leader;               /* a peer; -1: this task */
    int64_t idle_us;          /* see above */
    struct tfd_id_map by_key; /* -> struct tfd_step_sequence * */
    struct tfd_step_list asked, own;
    struct tfd_step_learner *learners;
};

/* Nobody learns. */
void tfd_step_sequences_deinit(struct tfd_step_sequences *s);
/* All are unknown: the leader is asked again. */
void tfd_step_sequences_forget(struct tfd_step_sequences *s);

/* The next id of the key, which the leader begins; only of a leader. */
enum tfd_code tfd_step_sequences_peek(struct tfd_step_sequences *s,
                                      uint64_t key, int64_t *id,
                                      struct tfd_status *st) TFD_MUST_USE;
/* A step begins, with this id; 0: it must be learned first. */
int64_t tfd_step_sequences_begin(struct tfd_step_sequences *s, uint64_t key);
/* The step with this id has ended, well or not. */
void tfd_step_sequences_end(struct tfd_step_sequences *s, uint64_t key,
                            int64_t id, bool well);

/* done(ctx) when the key is known for sure, maybe before this returns.  Waits
 * for a link to the leader. */
void tfd_step_sequences_learn(struct tfd_step_sequences *s, uint64_t key,
                              tfd_worker_done_fn *done, void *ctx);
/* done() of the one with this ctx follows, with CANCELLED; ctx may be nobody's.
 */
void tfd_step_sequences_cancel(struct tfd_step_sequences *s, const void *ctx);

#endif
