/*
 * work_line.h - work on the elements of an iterator's input on the task's
 * threads, several at once; results come in the order of the input.
 *
 * It is a call_line.h whose calls are no functions of the program: what is done
 * with an element neither waits nor asks for another, and takes its time on a
 * thread of the pool.  Work that has begun is not cancelled.
 *
 * Ownership: the iterator's; work that is under way when it goes ends by
 * itself, and holds what it needs.  Threads: the one that is in the iterator's
 * scope.
 */
#ifndef TFD_KERNELS_DATA_CALLS_WORK_LINE_H
#define TFD_KERNELS_DATA_CALLS_WORK_LINE_H

#include "kernels/data/dataset.h"

struct tfd_work_line;

/* An element of d's input into one of d, whose tensors are empty before and
 * after a failure.  Any thread. */
typedef enum tfd_code tfd_work_fn(const struct tfd_dataset *d,
                                  const struct tfd_tensor *element,
                                  struct tfd_tensor *out,
                                  struct tfd_status *st);

/* calls: how many at once, -1: as suits the task's threads. */
enum tfd_code tfd_work_line_new(struct tfd_data_iterator *it, tfd_work_fn *work,
                                int64_t calls, struct tfd_work_line **out,
                                struct tfd_status *st) TFD_MUST_USE;
void tfd_work_line_close(struct tfd_work_line *l); /* NULL is nothing */
/* The next element; its failure, or that of the input, at its place. */
enum tfd_code tfd_work_line_next(struct tfd_work_line *l,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st) TFD_MUST_USE;

#endif
