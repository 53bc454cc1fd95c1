/*
 * data_scope.h - what the iterators of one thread share: where they wait, how
 * they are told to stop, what they may use of their task.
 *
 * The iterators that one consumer pulls from make a tree, and one thread at a
 * time is in it.  All of its waiting is for the scope's one condition:
 *
 *     tfd_lock(&s->lock);
 *     while (!there_is_something && !s->cancelled)
 *         tfd_cond_wait(&s->changed, &s->lock);
 *
 * so whoever brings something (a call that ends, a thread that works ahead)
 * changes it under the scope's lock and broadcasts, and so does who cancels.  A
 * thread that works ahead is in a scope of its own.
 *
 * A scope outlives the step and the session of its iterator: it has nothing of
 * them.
 *
 * Ownership: counted.  Threads: any.
 */
#ifndef TFD_KERNELS_DATA_DATA_SCOPE_H
#define TFD_KERNELS_DATA_DATA_SCOPE_H

#include "common/thread/crew.h"
#include "common/thread/lock.h"
#include "kernels/core/function_call.h"
#include "kernels/core/runtime.h"

/* What iterators use of their task. */
struct tfd_data_task {
    struct tfd_crew *crew;
    struct tfd_pool *pool;
    struct tfd_file_access *files;
};

struct tfd_data_scope {
    int refs; /* atomic */
    struct tfd_data_task task;
    struct tfd_lock lock; /* rank TFD_LOCK_RESOURCE; never two of them */
    struct tfd_cond changed;
    bool cancelled; /* the lock's */
    int unsaved;    /* atomic: iterators whose position nobody can write down */
};

struct tfd_data_task tfd_data_task_of(struct tfd_rt *rt);

struct tfd_data_scope *tfd_data_scope_new(const struct tfd_data_task *task,
                                          struct tfd_status *st);
struct tfd_data_scope *tfd_data_scope_ref(struct tfd_data_scope *s);
void tfd_data_scope_unref(struct tfd_data_scope *s);

/* What waits in it, and what will, ends with CANCELLED; until the other. */
void tfd_data_scope_cancel(struct tfd_data_scope *s);
void tfd_data_scope_resume(struct tfd_data_scope *s);
/* CANCELLED when it is. */
enum tfd_code tfd_data_scope_check(struct tfd_data_scope *s,
                                   struct tfd_status *st) TFD_MUST_USE;

/* Waits for so long; CANCELLED as soon as the scope is. */
enum tfd_code tfd_data_scope_pause(struct tfd_data_scope *s, int64_t us,
                                   struct tfd_status *st) TFD_MUST_USE;

/* Calls a lasting function and waits.  Arguments are taken; results were empty
 * before. */
enum tfd_code tfd_data_scope_call(struct tfd_data_scope *s,
                                  struct tfd_rt_function *f,
                                  struct tfd_tensor *in, struct tfd_tensor *out,
                                  struct tfd_status *st) TFD_MUST_USE;

#endif
