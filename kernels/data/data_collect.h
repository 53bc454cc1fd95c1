/*
 * data_collect.h - pulls elements from an iterator into an array, as many as a
 * batch has.
 *
 * Ownership: the array holds references of the tensors.  Threads: the one that
 * is in the iterator's scope (data_scope.h).
 */
#ifndef TFD_KERNELS_DATA_DATA_COLLECT_H
#define TFD_KERNELS_DATA_DATA_COLLECT_H

#include "kernels/data/dataset.h"

struct tfd_data_collect {        /* all zero: empty */
    struct tfd_tensor *elements; /* `have` of them, each of `width` tensors */
    int64_t have, capacity;
    int32_t width;
    bool is_over; /* the input is */
};

/* Up to `size` of them, fewer at the end of the input.  After a failure what
 * came before it is there. */
enum tfd_code tfd_data_collect(struct tfd_data_collect *c,
                               struct tfd_data_iterator *input, int64_t size,
                               struct tfd_status *st) TFD_MUST_USE;
/* The same from element `first` on, by number; fewer where there are none. */
enum tfd_code tfd_data_collect_at(struct tfd_data_collect *c,
                                  struct tfd_data_iterator *input,
                                  int64_t first, int64_t size,
                                  struct tfd_status *st) TFD_MUST_USE;
/* Drops the elements. */
void tfd_data_collect_clear(struct tfd_data_collect *c);
void tfd_data_collect_deinit(struct tfd_data_collect *c);

#endif
