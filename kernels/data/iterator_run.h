/*
 * iterator_run.h - one pass of a program's iterator through its dataset, from
 * the beginning or from where another one was.
 *
 * A position is a number of elements: who goes on from there goes through the
 * dataset again, with the same seeds, and throws them away.
 *
 * Ownership: counted.  Threads: any; elements are asked for by one at a time.
 */
#ifndef TFD_KERNELS_DATA_ITERATOR_RUN_H
#define TFD_KERNELS_DATA_ITERATOR_RUN_H

#include "kernels/data/iterator.h"

struct tfd_iterator_run {
    int refs; /* atomic: the iterator's, and of the request under way */
    struct tfd_data_scope *scope;
    struct tfd_data_iterator *root;
    struct tfd_data_seeds_state *seeds; /* of the dataset, as it began */
    int64_t given;                      /* atomic: elements, to its user */
    int64_t behind; /* of them, those that are still to be gone through */
};

enum tfd_code tfd_iterator_run_new(const struct tfd_data_task *task,
                                   struct tfd_dataset *d,
                                   struct tfd_iterator_run **out,
                                   struct tfd_status *st) TFD_MUST_USE;
/* At a position; its dataset's seeds become what they were. */
enum tfd_code tfd_iterator_run_at(const struct tfd_data_task *task,
                                  const struct tfd_iterator_position *p,
                                  struct tfd_iterator_run **out,
                                  struct tfd_status *st) TFD_MUST_USE;
void tfd_iterator_run_unref(struct tfd_iterator_run *r); /* NULL is nothing */
/* As tfd_data_next(). */
enum tfd_code tfd_iterator_run_next(struct tfd_iterator_run *run,
                                    struct tfd_tensor *e, bool *end,
                                    struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_iterator_run_save(const struct tfd_iterator_run *run,
                                    struct tfd_iterator_position *out,
                                    struct tfd_status *st) TFD_MUST_USE;

#endif
