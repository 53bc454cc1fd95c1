/*
 * held_sparse.h - maps of sparse tensors that wait under a number until they
 * are taken, each once (sparse_map.c).
 *
 * Ownership: a map is a counted resource and owns what it holds.  What is put
 * in is made ready first and what is taken out is let go of last, so that under
 * the map's lock there are only look-ups.  Threads: any.
 */
#ifndef TFD_KERNELS_HELD_SPARSE_H
#define TFD_KERNELS_HELD_SPARSE_H

#include "common/base/map.h"
#include "kernels/core/owner.h"

/* One sparse tensor. */
struct tfd_held_sparse {
    int64_t number; /* its key */
    struct tfd_tensor indices, values;
    size_t bytes; /* of all of it, the strings included */
    int rank;
    int64_t dim[TFD_RANK_MAX];
};

struct tfd_sparse_map {
    struct tfd_resource resource;
    struct tfd_lock lock;
    struct tfd_map held; /* number -> struct tfd_held_sparse */
    int64_t next;
    size_t bytes;
};

extern const struct tfd_resource_type tfd_sparse_map_type;
/* A tfd_resource_make_fn; arg is not looked at. */
enum tfd_code tfd_sparse_map_make(void *arg, struct tfd_resource **out,
                                  struct tfd_status *st) TFD_MUST_USE;

/* The tensors stay the caller's. */
struct tfd_held_sparse *tfd_held_sparse_new(const struct tfd_tensor *indices,
                                            const struct tfd_tensor *values,
                                            const int64_t *dim, int rank,
                                            struct tfd_status *st);
void tfd_held_sparse_free(struct tfd_held_sparse *h); /* NULL is allowed */

/* Rows get numbers in this order, rows[i] *first + i, and are the map's then;
 * all or none.  RESOURCE_EXHAUSTED when the map would hold too much. */
enum tfd_code tfd_held_sparse_put(struct tfd_sparse_map *m,
                                  struct tfd_held_sparse **rows, int64_t count,
                                  int64_t *first,
                                  struct tfd_status *st) TFD_MUST_USE;
/* How many there were before the first number that there is not; they are the
 * caller's, and the map's no longer. */
int64_t tfd_held_sparse_take(struct tfd_sparse_map *m, const int64_t *numbers,
                             int64_t count, struct tfd_held_sparse **rows);

#endif
