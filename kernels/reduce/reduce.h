/*
 * reduce.h - folding a tensor along some of its axes.
 *
 * A family describes how one element type is folded by one operation in a
 * struct tfd_reducer; tfd_reduce() does the rest: axes, output, order, threads.
 *
 * Shapes are first brought to alternating groups of kept and reduced
 * dimensions, so that nearly all calls are one of
 *
 *     [reduced]         everything, split into pieces of fixed size
 *     [kept, reduced]   rows: each is folded by run()
 *     [reduced, kept]   columns: rows are folded into a row by columns()
 *
 * The order of folding depends on the shape alone and not on the number of
 * threads, so results are the same bits on every machine of one kind.
 *
 * Threads: a reducer is read-only.
 */
#ifndef TFD_KERNELS_REDUCE_H
#define TFD_KERNELS_REDUCE_H

#include "kernels/core/kernel.h"

/* The argument of run() and columns(), which add to what acc has. */
struct tfd_fold {
    const void *x;
    void *acc;
    int64_t rows, stride; /* columns(): row r begins at element r * stride */
};

/* The argument of rows() and slabs(), which make outputs at once. */
struct tfd_fold_whole {
    const void *x;
    void *y;
    int64_t length; /* elements that are folded into each output */
    int64_t width;  /* slabs(): outputs of each slab */
};

struct tfd_reducer {
    size_t acc_size;       /* of an accumulator, at most TFD_REDUCE_ACC_MAX */
    const void *identity;  /* an accumulator that nothing was folded into */
    tfd_range_fn *run;     /* elements [begin, end) of x into acc[0] */
    tfd_range_fn *columns; /* column j of each row into acc[j], j in range */
    void (*merge)(void *acc, const void *other, int64_t n);
    /* y[i] from acc[i], i < n, where `folded` elements went into each. */
    void (*finish)(void *y, const void *acc, int64_t n, int64_t folded);
    /* Without accumulators, where all that is folded lies together; NULL where
     * there is no such loop.  Row i of x into y[i], i in range. */
    tfd_range_fn *rows;
    /* Slab i, of `length` rows of `width` elements, into y[i * width + j], i in
     * range; for a length up to slab_rows. */
    tfd_range_fn *slabs;
    int64_t slab_rows;
    /* One element folded alone is not that element (a norm is not negative). */
    bool changes_one;
    int element_ps; /* picoseconds that an element takes; 0: not known */
};

#define TFD_REDUCE_ACC_MAX 16

/* Defines a reducer's merge() and finish(), for accumulators of type A: by
 * JOIN(a, b), and by DONE(T, a, folded), which is of the output's type T. */
#define TFD_REDUCE_MERGE(id, A, JOIN)                               \
    static void merge_##id(void *acc, const void *other, int64_t n) \
    {                                                               \
        A *a = acc;                                                 \
        const A *b = other;                                         \
                                                                    \
        for (int64_t i = 0; i < n; i++)                             \
            a[i] = JOIN(a[i], b[i]);                                \
    }

#define TFD_REDUCE_FINISH(id, T, A, DONE)                          \
    static void finish_##id(void *out, const void *acc, int64_t n, \
                            int64_t folded)                        \
    {                                                              \
        T *y = out;                                                \
        const A *a = acc;                                          \
                                                                   \
        for (int64_t i = 0; i < n; i++)                            \
            y[i] = DONE(T, a[i], folded);                          \
        (void)folded;                                              \
    }

/* The state of a reducing kernel. */
struct tfd_reduce_state {
    bool keep_dims;
};
enum tfd_code tfd_reduce_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st);

/* Folds input 0 along the axes in input 1 into output 0. */
enum tfd_code tfd_reduce(struct tfd_kctx *k, const struct tfd_reducer *r,
                         struct tfd_status *st) TFD_MUST_USE;
/* The elements at x, seen as a tensor of this shape (not empty), folded along
 * the dimensions that are set into y, whose elements are item bytes as well. */
void tfd_reduce_view(struct tfd_kctx *k, const struct tfd_reducer *r,
                     const struct tfd_shape *shape, const bool *reduced,
                     size_t item, const void *x, void *y);

/* What tfd_reduce() folds and makes: which dimensions, and the output's shape,
 * which went through its constructor. */
enum tfd_code tfd_reduce_axes(const struct tfd_kctx *k, bool *reduced,
                              struct tfd_shape *out,
                              struct tfd_status *st) TFD_MUST_USE;

/* Sums in reduce.c, by type: NULL for types that have none. */
const struct tfd_reducer *tfd_reduce_sum(enum tfd_dtype dtype);

/* Shape function of all reductions. */
enum tfd_code tfd_reduce_shape(struct tfd_shape_ctx *s, struct tfd_status *st);

#endif
