/*
 * sparse_pick.c - see sparse_pick.h.
 */
#include "kernels/sparse/sparse_pick.h"

#include "kernels/core/element.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum tfd_code tfd_sparse_numbers(struct tfd_tensor *out, int64_t n,
                                 struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(tfd_shape_make(&shape, &n, 1, st));
    return tfd_tensor_new(out, TFD_INT64, &shape, st);
}

/* ---- Values -------------------------------------------------------------- */

/* A loop by width, so that numbers cost no call each. */
#define PICK(T)                                                            \
    static bool pick_##T(void *to, const void *from, const int64_t *order, \
                         int64_t count)                                    \
    {                                                                      \
        const T *x = from;                                                 \
        T *y = to;                                                         \
                                                                           \
        for (int64_t i = 0; i < count; i++) {                              \
            if (tfd_sparse_stops(i))                                       \
                return false;                                              \
            if (order[i] >= 0)                                             \
                y[i] = x[order[i]];                                        \
        }                                                                  \
        return true;                                                       \
    }
PICK(uint8_t)
PICK(uint16_t)
PICK(uint32_t)
PICK(uint64_t)
PICK(tfd_complex128)

typedef bool pick_fn(void *to, const void *from, const int64_t *order,
                     int64_t count);
static pick_fn *const picks[] = {
    [1] = pick_uint8_t,  [2] = pick_uint16_t,        [4] = pick_uint32_t,
    [8] = pick_uint64_t, [16] = pick_tfd_complex128,
};

static enum tfd_code pick_each(enum tfd_dtype dtype, void *to, const void *from,
                               const int64_t *order, int64_t count,
                               struct tfd_status *st)
{
    for (int64_t i = 0; i < count; i++) {
        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        if (order[i] >= 0)
            TFD_TRY(tfd_elements_copy(dtype, tfd_element_at(to, dtype, i),
                                      tfd_element_of(from, dtype, order[i]), 1,
                                      st));
    }
    return TFD_OK;
}

enum tfd_code tfd_sparse_pick_values(enum tfd_dtype dtype, void *to,
                                     const void *from, const int64_t *order,
                                     int64_t count, struct tfd_status *st)
{
    const size_t size = tfd_dtype_size(dtype);

    if (!tfd_dtype_is_pod(dtype) || size >= TFD_COUNT(picks) || !picks[size])
        return pick_each(dtype, to, from, order, count, st);
    return picks[size](to, from, order, count) ? TFD_OK : tfd_halt_fail(st);
}

/* ---- Rows of indices ----------------------------------------------------- */

/* Inlined with a constant rank a row is a few moves. */
__attribute__((always_inline)) static inline bool
rows_of(int64_t *to, const int64_t *from, int rank, const int64_t *order,
        int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (tfd_sparse_stops(i))
            return false;
        for (int d = 0; order[i] >= 0 && d < rank; d++)
            to[i * rank + d] = from[order[i] * rank + d];
    }
    return true;
}

enum tfd_code tfd_sparse_pick_rows(int64_t *to, const int64_t *from, int rank,
                                   const int64_t *order, int64_t count,
                                   struct tfd_status *st)
{
    const bool whole = rank == 1   ? rows_of(to, from, 1, order, count)
                       : rank == 2 ? rows_of(to, from, 2, order, count)
                       : rank == 3 ? rows_of(to, from, 3, order, count)
                                   : rows_of(to, from, rank, order, count);

    return whole ? TFD_OK : tfd_halt_fail(st);
}

enum tfd_code tfd_sparse_pick(struct tfd_kctx *k, const struct tfd_sparse *s,
                              const int64_t *order, int64_t count, int index,
                              int values, struct tfd_status *st)
{
    const struct tfd_shape matrix = {2, {count, s->rank}},
                           vector = {1, {count}};
    enum tfd_dtype dtype = s->values->dtype;

    TFD_TRY(tfd_kctx_output(k, index, TFD_INT64, &matrix, st));
    TFD_TRY(tfd_kctx_output(k, values, dtype, &vector, st));
    TFD_TRY(tfd_sparse_pick_rows(tfd_tensor_data(&k->out[index]), s->index,
                                 s->rank, order, count, st));
    return tfd_sparse_pick_values(dtype, tfd_tensor_data(&k->out[values]),
                                  tfd_tensor_data(s->values), order, count, st);
}

enum tfd_code tfd_sparse_put_dims(struct tfd_kctx *k, int out,
                                  const int64_t *dim, int rank,
                                  struct tfd_status *st)
{
    const struct tfd_shape vector = {1, {rank}};

    TFD_TRY(tfd_kctx_output(k, out, TFD_INT64, &vector, st));
    if (rank > 0)
        memcpy(tfd_tensor_data(&k->out[out]), dim, (size_t)rank * sizeof(*dim));
    return TFD_OK;
}

enum tfd_code tfd_sparse_check_ranks(const struct tfd_kctx *k,
                                     struct tfd_status *st)
{
    const struct tfd_shape *i = &k->in[0].shape, *v = &k->in[1].shape,
                           *s = &k->in[2].shape;
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (i->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input sp_indices should be a matrix but received "
                        "shape: %s",
                        tfd_shape_text(i, one));
    if (v->rank != 1 || s->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Inputs sp_values and sp_shape should be vectors but "
                        "received shapes: %s and %s",
                        tfd_shape_text(v, one), tfd_shape_text(s, other));
    return TFD_OK;
}

enum tfd_code tfd_sparse_check_dims(const int64_t *dim, int64_t rank,
                                    struct tfd_status *st)
{
    int64_t n = 1;

    if (rank > TFD_RANK_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a sparse tensor of rank %" PRId64 "; the limit is %d",
                        rank, TFD_RANK_MAX);
    for (int64_t d = 0; d < rank; d++) {
        const int64_t before = n;

        if (dim[d] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected shape dimensions to be non-negative, got "
                            "%" PRId64,
                            dim[d]);
        if (__builtin_mul_overflow(n, dim[d], &n))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Encountered overflow when multiplying %" PRId64
                            " with %" PRId64 ", result: -1",
                            before, dim[d]);
    }
    return TFD_OK;
}

/* "[1, 2]" */
static const char *tuple_text(const int64_t *index, int rank, char *text)
{
    int at = snprintf(text, TFD_SPARSE_TEXT_MAX, "[");

    for (int d = 0; d < rank && at < TFD_SPARSE_TEXT_MAX - 32; d++)
        at += snprintf(text + at, (size_t)(TFD_SPARSE_TEXT_MAX - at),
                       "%s%" PRId64, d ? ", " : "", index[d]);
    snprintf(text + at, (size_t)(TFD_SPARSE_TEXT_MAX - at), "]");
    return text;
}

/* The first element that is outside; count where none is, -1 where
 * the step has ended.  Inlined with a constant rank. */
__attribute__((always_inline)) static inline int64_t
find_outside(const struct tfd_sparse *s, int rank)
{
    for (int64_t i = 0; i < s->count; i++) {
        if (tfd_sparse_stops(i))
            return -1;
        if (!tfd_sparse_is_inside(s->index + i * rank, s->dim, rank))
            return i;
    }
    return s->count;
}

enum tfd_code tfd_sparse_check_tuples(const struct tfd_sparse *s,
                                      struct tfd_status *st)
{
    char text[TFD_SPARSE_TEXT_MAX];
    const int64_t bad =
        s->rank == 2 ? find_outside(s, 2) : find_outside(s, s->rank);

    if (bad < 0)
        return tfd_halt_fail(st);
    if (bad == s->count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Sparse index tuple indices[%" PRId64
                    ", :] = %s is out of bounds",
                    bad, tuple_text(s->index + bad * s->rank, s->rank, text));
}
