/*
 * iterator.h - the resource behind IteratorV2 and its like: it has a dataset's
 * iterator and a queue of the steps that wait for elements.
 *
 * GetNext puts a request into the queue.  While the queue is not empty one
 * thread of the crew serves it.  A request whose step is cancelled leaves the
 * queue; if it is the one that is being served, the iterator's scope is
 * cancelled, and the iterator goes on with the next request as if nothing had
 * been.
 *
 *     MakeIterator     a new run: scope and iterator; the old one ends with
 *                      the request that is under way
 *     GetNext          -> queue -> thread -> tfd_kctx_finish()
 *
 * Ownership: a counted resource; the queue holds a reference while it is
 * served. Threads: any.
 */
#ifndef TFD_KERNELS_DATA_ITERATOR_H
#define TFD_KERNELS_DATA_ITERATOR_H

#include "kernels/data/anonymous.h"
#include "kernels/data/data_seeds.h"
#include "kernels/data/dataset.h"

struct tfd_iterator;
struct tfd_iterator_run;

extern const struct tfd_resource_type tfd_iterator_type;

/* Elements have these types and shapes; count 0: any. */
enum tfd_code tfd_iterator_new(const struct tfd_data_task *task, int32_t count,
                               const enum tfd_dtype *types,
                               const struct tfd_shape *shapes,
                               struct tfd_resource **out,
                               struct tfd_status *st) TFD_MUST_USE;
/* From the dataset's beginning, whatever it did before.  INVALID_ARGUMENT for
 * another kind of elements. */
enum tfd_code tfd_iterator_set(struct tfd_iterator *it, struct tfd_dataset *d,
                               struct tfd_status *st) TFD_MUST_USE;
struct tfd_anonymous *tfd_iterator_anonymous(struct tfd_iterator *it);
/* Where an iterator is in its dataset: how many elements it has given, or has
 * failed with, and the state of the dataset's seeds when it began. */
struct tfd_iterator_position {
    struct tfd_dataset *dataset; /* counted */
    int64_t given;
    struct tfd_data_seeds_state *seeds; /* dataset->seed_count of them */
};
/* FAILED_PRECONDITION without a dataset, UNIMPLEMENTED when what it is within
 * cannot be gone through again. */
enum tfd_code tfd_iterator_save(struct tfd_iterator *it,
                                struct tfd_iterator_position *out,
                                struct tfd_status *st) TFD_MUST_USE;
/* The iterator's own dataset from its beginning, with these seeds; what comes
 * before the position is gone through when the next element is asked for. */
enum tfd_code tfd_iterator_restore(struct tfd_iterator *it,
                                   const struct tfd_iterator_position *position,
                                   struct tfd_status *st) TFD_MUST_USE;
void tfd_iterator_position_drop(struct tfd_iterator_position *p);
/* What it goes through, counted; NULL: nothing yet. */
struct tfd_dataset *tfd_iterator_dataset(struct tfd_iterator *it);
/* What an IteratorGetNext and its relatives start: finishes k. */
void tfd_iterator_get(struct tfd_iterator *it, struct tfd_kctx *k,
                      bool optional);
/* INVALID_ARGUMENT in TensorFlow's words when these are not the iterator's. */
enum tfd_code tfd_iterator_check(const struct tfd_iterator *it, int32_t count,
                                 const enum tfd_dtype *types,
                                 const struct tfd_shape *shapes,
                                 struct tfd_status *st) TFD_MUST_USE;

#endif
