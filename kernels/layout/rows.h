/*
 * rows.h - rows of bytes moved from and to the places that indices name: the
 * loops of GatherV2, GatherNd, ScatterUpdate and their kin.
 *
 *     gather     to[i] = from[index[i]]
 *     scatter    to[index[i]] = from[i]      in the order of i
 *
 * A row is as wide as the caller says, in bytes; `index` points to numbers of
 * type INT16, INT32 or INT64, and is checked by the caller, who has
 * tfd_rows_bad() for it.  Each width has a loop of its own where a call for
 * every row would cost more than the row, and rows are prefetched as far ahead
 * as their width needs.
 *
 * Threads: any; a caller gives each thread its own range of indices (of places
 * where it scatters).
 */
#ifndef TFD_KERNELS_ROWS_H
#define TFD_KERNELS_ROWS_H

#include "kernels/core/kernel.h"

/* Moves n rows of `size` bytes, which is at least 1. */
typedef void tfd_rows_fn(void *to, const void *from, size_t size,
                         const void *index, int64_t n);

tfd_rows_fn *tfd_rows_gather(size_t size, enum tfd_dtype index);
tfd_rows_fn *tfd_rows_scatter(size_t size, enum tfd_dtype index);
/* The same for rows out of `room` bytes: none is prefetched where a near cache
 * holds those. */
tfd_rows_fn *tfd_rows_gather_from(size_t room, size_t size,
                                  enum tfd_dtype index);
/* The same for rows that go somewhere into `room` bytes at `to`: none is
 * prefetched where a cache holds those, and whole lines go to memory past the
 * caches where none does. */
tfd_rows_fn *tfd_rows_scatter_into(const void *to, size_t room, size_t size,
                                   enum tfd_dtype index);

/* Whether rows of `size` bytes, one behind the other in `room` bytes at `to`,
 * are whole lines and so many that they are better written past the caches:
 * each by tfd_lines_stream(), and after the last of a thread's tfd_lines_end().
 */
bool tfd_rows_streams(size_t room, const void *to, size_t size);

/* The place of the first of n indices that is not in [0, limit); n: none. */
int64_t tfd_rows_bad(const void *index, enum tfd_dtype dtype, int64_t n,
                     int64_t limit);
/* The same of all of a tensor's, shared among threads where there are many. */
int64_t tfd_rows_bad_in(struct tfd_kctx *k, const struct tfd_tensor *indices,
                        int64_t limit);

/* Nanoseconds, rather too few than too many, to move a row of this size: what
 * tfd_kctx_parallel() asks for. */
int tfd_rows_cost(size_t size);

#endif
