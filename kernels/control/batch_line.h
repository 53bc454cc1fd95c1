/*
 * batch_line.h - a batcher as batcher.c and batch_line.c see it: its lines, and
 * the batches in them.
 *
 *     line     [closed] [closed] [open]     the last one takes rows
 *     due      those whose alarm has rung, of all lines, until a thread is free
 *
 * Threads: the batcher's lock is held, but for tfd_batcher_find().
 */
#ifndef TFD_KERNELS_BATCH_LINE_H
#define TFD_KERNELS_BATCH_LINE_H

#include "kernels/control/batcher.h"

#include "common/base/map.h"
#include "common/thread/lock.h"

struct tfd_batcher {
    struct tfd_resource resource;
    const struct tfd_batch_kind *kind;
    struct tfd_pool *pool;
    int64_t threads, timeout_us, batches_max;
    int64_t rows_max, batch_rows_max; /* of a step, of a batch */
    bool splits, trims, adapts;
    struct tfd_lock lock; /* of what follows, and of its lines */
    struct tfd_map lines; /* those that have batches */
    int64_t running;
    struct tfd_batch *due, *last_due;
    int size_count;
    int64_t sizes[];
};

struct tfd_batch_line {
    struct tfd_batch *open; /* NULL: the next one begins another */
    int64_t batches;        /* that no thread has taken */
    size_t name_size;
    char name[];
};

/* The batcher of these choices, made where there is none.  *out is counted. */
enum tfd_code tfd_batcher_find(struct tfd_rt *rt,
                               const struct tfd_batch_choices *c,
                               const struct tfd_batch_kind *kind,
                               struct tfd_batcher **out,
                               struct tfd_status *st) TFD_MUST_USE;

/* The rows of the task go into batches of its line; `rings` is what new ones'
 * alarms call.  UNAVAILABLE in TensorFlow's words where the line is full. After
 * a failure some of its parts may be in batches. */
enum tfd_code tfd_batch_enter(struct tfd_batch_task *t, struct tfd_str line,
                              void (*rings)(struct tfd_alarm *a),
                              struct tfd_status *st) TFD_MUST_USE;
/* The part leaves a batch that no thread has taken. */
void tfd_batch_unlink(struct tfd_batch_part *p);

/* Its alarm has rung. */
void tfd_batch_is_due(struct tfd_batch *x);
/* The next that is due, when a thread may take it; NULL. */
struct tfd_batch *tfd_batch_take_due(struct tfd_batcher *b);

#endif
