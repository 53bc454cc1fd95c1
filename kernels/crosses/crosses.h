/*
 * crosses.h - crosses of columns: for each row, every choice of one feature
 * from each of its columns becomes one string, or one number that the features
 * are hashed to.
 *
 *     column 0   [a b]  [c]        row 0   a_X_d  a_X_e  b_X_d  b_X_e
 *     column 1   [d e]  []         row 1   none
 *
 * The last column moves fastest.  Features are strings or int64.
 *
 * Threads: any; a cross is one kernel's.
 */
#ifndef TFD_KERNELS_CROSSES_H
#define TFD_KERNELS_CROSSES_H

#include "kernels/core/kernel.h"

/* Features splits[b] to splits[b + 1] of `values` are those of row b; without
 * splits it is a matrix. */
struct tfd_crosses_column {
    const struct tfd_tensor *values;
    const int64_t *splits;
    int64_t width; /* of a matrix */
};

enum tfd_crosses_hash {
    TFD_CROSSES_PLAIN, /* of `salt` and all features; int64 stand for themselves
                        */
    TFD_CROSSES_PRINTS, /* of the features alone, int64 of a column with splits
                         * by their low four bytes, as TensorFlow has it */
    TFD_CROSSES_STRONG, /* likewise of all int64, with a key */
};

struct tfd_crosses {
    struct tfd_crosses_column *columns;
    int count, room;
    int64_t batch; /* rows */
    struct tfd_tensor splits;
    int64_t made; /* of the splits */
    /* What is made of them: strings with `sep` in between, or numbers below
     * `buckets` (0: below the largest int64). */
    struct tfd_str sep;
    enum tfd_crosses_hash hash;
    uint64_t salt, key[2];
    int64_t buckets;
    int64_t most; /* crosses of a row; tfd_crosses_starts() sets it */
};

/* Room for so many columns, of which `split` have splits.  INVALID_ARGUMENT for
 * too many, or a batch that is negative. */
enum tfd_code tfd_crosses_init(struct tfd_crosses *c, int columns, int split,
                               int64_t batch,
                               struct tfd_status *st) TFD_MUST_USE;
void tfd_crosses_deinit(struct tfd_crosses *c);

/* The next column; the values stay the caller's.  The splits that are returned
 * are to be filled in, batch + 1 of them from 0 on, within the values. */
int64_t *tfd_crosses_add_split(struct tfd_crosses *c,
                               const struct tfd_tensor *values);
void tfd_crosses_add_matrix(struct tfd_crosses *c,
                            const struct tfd_tensor *values);

/* starts[b]: the number of the first cross of row b, up to starts[batch], which
 * is how many there are. */
enum tfd_code tfd_crosses_starts(struct tfd_crosses *c, int64_t *starts,
                                 struct tfd_status *st) TFD_MUST_USE;
/* Output `out`, a vector of STRING or INT64 of starts[batch] elements, becomes
 * the crosses; `places` NULL or their rows and numbers within them. */
enum tfd_code tfd_crosses_fill(struct tfd_kctx *k, const struct tfd_crosses *c,
                               const int64_t *starts, int out, int64_t *places,
                               struct tfd_status *st) TFD_MUST_USE;

#endif
