/*
 * batcher.h - puts rows of steps that come at about the same time together, for
 * Batch and for BatchFunction.
 *
 *     steps --> line: the open batch --> full, or its time has come --> due
 *     (several lines of one batcher, by the attribute batching_queue)     |
 *            outputs of its steps <-- the op's process() on a thread <----+
 *
 * A task is one execution of a node.  Its rows are in one batch, or, where the
 * node splits them, in several, one part each.  A task holds its inputs, and
 * results until the last of its parts has them, so that its step may leave at
 * any time: a step that is cancelled ends at once, its rows go where the batch
 * has not begun, and a batch that all have left is abandoned.
 *
 * Threads: process() has its batch to itself until it calls tfd_batch_end();
 * the batcher's lock guards what steps do with it.
 */
#ifndef TFD_KERNELS_BATCHER_H
#define TFD_KERNELS_BATCHER_H

#include "kernels/control/batch_choices.h"
#include "kernels/control/batch_rows.h"
#include "kernels/core/function_call.h"
#include "kernels/core/runtime.h"

#include "common/thread/pool.h"

struct tfd_batch;
struct tfd_batch_line;
struct tfd_batch_task;
struct tfd_batcher;

/* What an op makes of a batch. */
struct tfd_batch_kind {
    struct tfd_resource_type type; /* of its batchers, with the next */
    /* On a compute thread; tfd_batch_end() follows, there or later elsewhere.
     * The batch has a part at least. */
    void (*process)(struct tfd_batch *x);
    /* No step wants the batch any more, which process() works on; under the
     * batcher's lock.  NULL: it is let be. */
    void (*abandon)(struct tfd_batch *x);
};

void tfd_batcher_free(struct tfd_resource *r);

/* Rows [first, first + rows) of a task's inputs. */
struct tfd_batch_part {
    struct tfd_batch_part *next, *previous; /* in the batch */
    struct tfd_batch_task *task;
    struct tfd_batch *batch; /* NULL: in none, or in one that is over */
    int64_t first, rows;
    struct tfd_tensor *out; /* task->out_count of them: what it gets */
};

struct tfd_batch_task {
    struct tfd_cancel cancel;
    struct tfd_batcher *batcher;      /* counted */
    struct tfd_kctx *k;               /* NULL: its step has left; the lock's */
    struct tfd_rt_function *function; /* held; NULL: the op has none */
    int64_t id, rows;
    struct tfd_tensor *in; /* in_count that are batched, then captured ones */
    int32_t in_count, captured_count, out_count;
    int64_t parts_left, part_count; /* the lock's */
    int refs; /* the lock's: of its step, and of each part in a batch */
    struct tfd_status st;        /* the first failure; the lock's */
    struct tfd_batch_task *next; /* of those that end together */
    struct tfd_tensor *results;  /* memory of the parts' out */
    struct tfd_batch_part part[];
};

struct tfd_batch {
    struct tfd_alarm alarm;
    struct tfd_job job;
    struct tfd_batcher *batcher; /* counted */
    struct tfd_batch_line *line; /* NULL: taken */
    struct tfd_batch *next;      /* among those that are due */
    struct tfd_batch_part *first, *last;
    int64_t rows, count; /* of parts */
    int64_t live;        /* parts whose steps wait for them */
    int64_t begun_us;
    bool rings; /* the alarm has rung */
    void *work; /* of process() */
};

/* Finds the batcher that the choices name, or makes it, and starts a task of
 * k's first in_count inputs, which are checked; the others are captured.  It
 * ends with tfd_kctx_finish(), whatever happens.  f is NULL, or lasting. */
void tfd_batcher_start(struct tfd_kctx *k, const struct tfd_batch_choices *c,
                       const struct tfd_batch_kind *kind,
                       struct tfd_rt_function *f, int32_t in_count);

/* The rows that the batch's inputs have when they are filled up. */
int64_t tfd_batch_filled_rows(const struct tfd_batch *x);
/* Inputs of all parts joined, each of them new; out has in_count of the last
 * part's task, and is empty after a failure. */
enum tfd_code tfd_batch_inputs(const struct tfd_batch *x,
                               struct tfd_tensor *out,
                               struct tfd_status *st) TFD_MUST_USE;
/* What the parts' out hold is theirs, or a failure is; x is gone. */
void tfd_batch_end(struct tfd_batch *x, const struct tfd_status *st);

/* For process() that lets go of the batch meanwhile. */
struct tfd_batcher *tfd_batcher_ref(struct tfd_batcher *b);
void tfd_batcher_unref(struct tfd_batcher *b);
void tfd_batcher_lock(struct tfd_batcher *b);
void tfd_batcher_unlock(struct tfd_batcher *b);

#endif
