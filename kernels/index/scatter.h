/*
 * scatter.h - rows of updates put into rows of something: what all Scatter ops
 * come down to once their indices are row numbers.
 *
 *     to[rows[i]][n] = function(to[rows[i]][n], by[i][n])    n < inner
 *
 * for i = 0, 1, ... in this order for each row of `to`, so that an index that
 * comes twice counts twice and the last update wins; results do not depend on
 * the number of threads.
 *
 * Threads: a loop runs on several threads at once, each on its own rows of
 * `to`; the caller holds the variable's lock where there is one.
 */
#ifndef TFD_KERNELS_SCATTER_H
#define TFD_KERNELS_SCATTER_H

#include "kernels/state/variable.h"

/* id, the word in the ops' names */
#define TFD_SCATTERS(X) \
    X(UPDATE, "Update") \
    X(ADD, "Add")       \
    X(SUB, "Sub")       \
    X(MUL, "Mul")       \
    X(DIV, "Div")       \
    X(MIN, "Min")       \
    X(MAX, "Max")

enum tfd_scatter_function {
#define X(id, word) TFD_SCATTER_##id,
    TFD_SCATTERS(X)
#undef X
        TFD_SCATTER_END
};

struct tfd_scatter {
    void *to;
    const void *by;
    const int64_t *rows; /* below limit; a negative one is left out */
    int64_t count;       /* of rows */
    int64_t inner;       /* elements of a row */
    int64_t limit;       /* rows of `to` */
    bool one;            /* by is one element for all */
};

/* Loops ask for the row that so many updates later is changed, as no processor
 * foresees it, where rows are more than a core's own cache holds. */
#define TFD_SCATTER_AHEAD 16
#define TFD_SCATTER_NEAR (1 << 20) /* bytes */

/* The first update for which nothing is asked ahead, if this many rows are
 * changed, of elements of `size` bytes. */
static inline int64_t tfd_scatter_ahead(const struct tfd_scatter *s,
                                        int64_t rows, size_t size)
{
    const int64_t row = s->inner * (int64_t)size;

    return row > 0 && rows > TFD_SCATTER_NEAR / row
               ? s->count - TFD_SCATTER_AHEAD
               : 0;
}

/* Asks for it after update i; a negative row is no harm. */
static inline void tfd_scatter_ask(const struct tfd_scatter *s, int64_t i,
                                   size_t size)
{
    const uint64_t row = (uint64_t)s->rows[i + TFD_SCATTER_AHEAD];

    __builtin_prefetch(
        (const void *)((uintptr_t)s->to + row * (uint64_t)s->inner * size), 1);
}

/* The function whose word is in an op's name; END when there is none. */
enum tfd_scatter_function tfd_scatter_named(struct tfd_str op);

/* UNIMPLEMENTED when there is no such function of the type; INVALID_ARGUMENT
 * for an integer divided by zero, before anything is changed. */
enum tfd_code tfd_scatter_run(struct tfd_kctx *k,
                              enum tfd_scatter_function function,
                              enum tfd_dtype dtype, const struct tfd_scatter *s,
                              struct tfd_status *st) TFD_MUST_USE;

/* Whether one thread does it: then it may as well be done in parts. */
bool tfd_scatter_is_alone(const struct tfd_kctx *k, const struct tfd_scatter *s,
                          enum tfd_dtype dtype);

/* An update of rows of `size` bytes, `type` being that of the row numbers,
 * INT32 or INT64, all of which are below the limit; s->rows is not read, and
 * s->one is not set. */
void tfd_scatter_move(struct tfd_kctx *k, const struct tfd_scatter *s,
                      size_t size, const void *rows, enum tfd_dtype type);

/* The state of Scatter<X> and ResourceScatter<X>: the function. */
enum tfd_code tfd_scatter_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st);

/* What all kernels of a variable check, whatever the device: INVALID_ARGUMENT
 * unless v and the updates have one type. */
enum tfd_code tfd_scatter_check_type(const struct tfd_variable *v,
                                     const struct tfd_tensor *updates,
                                     struct tfd_status *st) TFD_MUST_USE;
/* Of a value of this shape by inputs 1 and 2, whose shapes it checks: all but
 * `to` and `rows`. */
enum tfd_code tfd_scatter_make(const struct tfd_kctx *k,
                               const struct tfd_shape *shape,
                               struct tfd_scatter *out,
                               struct tfd_status *st) TFD_MUST_USE;

/* "[2,0]" for element `at` of a tensor of that shape; "" for a scalar. */
#define TFD_SCATTER_PLACE_MAX 200
const char *tfd_scatter_place(const struct tfd_shape *s, int64_t at,
                              char *text);

/* ---- Indices that are tuples (scatter_nd.c) ------------------------------ */

/* How a list of tuples [.., depth] goes into a shape. */
struct tfd_scatter_nd {
    int64_t count; /* tuples; from `first` on, which is 0 at first */
    int depth;
    int64_t limit; /* places that a tuple may name */
    int64_t inner; /* elements behind each */
    int64_t first;
};

/* INVALID_ARGUMENT when a tuple has more numbers than the shape dimensions or
 * the indices are no list. */
enum tfd_code tfd_scatter_nd_make(struct tfd_scatter_nd *out,
                                  const struct tfd_shape *shape,
                                  const struct tfd_shape *indices,
                                  struct tfd_status *st) TFD_MUST_USE;
/* The number of the place that each tuple names; -1 for one outside.  Returns
 * the first tuple outside, or count.  Indices are INT16, UINT16, INT32
 * or INT64. */
int64_t tfd_scatter_nd_rows(const struct tfd_scatter_nd *nd,
                            const struct tfd_shape *shape,
                            const struct tfd_tensor *indices, int64_t *rows);

/* The state of the kernels of scatter_nd.c. */
struct tfd_scatter_nd_state {
    enum tfd_scatter_function function;
    bool ignore; /* what is outside */
};
enum tfd_code tfd_scatter_nd_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st);

/* INVALID_ARGUMENT when a tensor of this shape cannot be scattered into. */
enum tfd_code tfd_scatter_nd_check_output(const struct tfd_shape *shape,
                                          struct tfd_status *st) TFD_MUST_USE;
/* The shapes of one scattering: tfd_scatter_nd_make() of what fits together. */
enum tfd_code tfd_scatter_nd_check(struct tfd_scatter_nd *out,
                                   const struct tfd_shape *shape,
                                   const struct tfd_shape *indices,
                                   const struct tfd_shape *updates,
                                   struct tfd_status *st) TFD_MUST_USE;
/* The shape that ScatterNd makes. */
enum tfd_code tfd_scatter_nd_shape(const struct tfd_kctx *k,
                                   struct tfd_shape *out,
                                   struct tfd_status *st) TFD_MUST_USE;

/* The attribute bad_indices_policy: whether to leave out what is outside. */
enum tfd_code tfd_scatter_nd_policy(const struct tfd_node *n, bool *ignore,
                                    struct tfd_status *st) TFD_MUST_USE;
/* INVALID_ARGUMENT "indices[0] = [5] does not index into shape [4]". */
enum tfd_code tfd_scatter_nd_outside(const struct tfd_tensor *indices,
                                     int64_t tuple, const char *what,
                                     const struct tfd_shape *shape,
                                     struct tfd_status *st);

#endif
