/*
 * call_line.h - calls of a function for elements of an iterator's input,
 * several at once; results come in the order of the input.
 *
 *     oldest first:  [done] [runs] [done] [runs] ...
 *                      ^ next()             ^ input
 *
 * Who asks for a result fills the line up first, so that as many calls are
 * under way as it has room for.  A failure of the input has its place in the
 * line, too.
 *
 * Ownership: the iterator's; calls that run when it goes end by themselves, and
 * hold what they need.  Threads: the one that is in the iterator's scope.
 */
#ifndef TFD_KERNELS_DATA_CALLS_CALL_LINE_H
#define TFD_KERNELS_DATA_CALLS_CALL_LINE_H

#include "kernels/data/maker.h"

struct tfd_call_line;

/* What became of an element. */
enum tfd_call_outcome {
    TFD_CALL_RESULT,       /* or the failure of its call */
    TFD_CALL_INPUT_FAILED, /* there was no element */
    TFD_CALL_END,
};

/* `f`, of the iterator's dataset, is called for elements of it->input; calls:
 * how many at once, -1: as suits the task's threads.  keeps: elements are given
 * back with the results. */
enum tfd_code tfd_call_line_new(struct tfd_data_iterator *it,
                                const struct tfd_captured *f, int64_t calls,
                                bool keeps, struct tfd_call_line **out,
                                struct tfd_status *st) TFD_MUST_USE;
void tfd_call_line_close(struct tfd_call_line *l); /* NULL is nothing */
/* The next results, f->out_count empty tensors before; the element into
 * `element`, NULL: no. */
enum tfd_code tfd_call_line_next(struct tfd_call_line *l,
                                 struct tfd_tensor *out,
                                 struct tfd_tensor *element,
                                 enum tfd_call_outcome *outcome,
                                 struct tfd_status *st) TFD_MUST_USE;

#endif
