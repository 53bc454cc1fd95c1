/*
 * sparse_order.c - see sparse_order.h.
 */
#include "kernels/sparse/sparse_order.h"

#include "common/base/atomic.h"
#include "common/base/min.h"
#include "common/thread/halt.h"
#include "kernels/core/element.h"
#include "kernels/layout/rows.h"
#include "kernels/reduce/radix.h"
#include "kernels/sparse/sparse_pick.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Whether they are in order ------------------------------------------- */

#define BLOCK 1024 /* indices between two looks at what was found */

struct looking {
    const struct tfd_sparse *s;
    int falls;
};

static inline bool block_falls(const struct tfd_sparse *s, int64_t begin,
                               int64_t end)
{
    const int64_t *x = s->index;
    bool falls = false;

    if (s->rank == 1)
        for (int64_t i = begin; i < end; i++)
            falls |= x[i + 1] < x[i];
    else if (s->rank == 2)
        for (int64_t i = begin; i < end; i++)
            falls |=
                (x[2 * i + 2] < x[2 * i]) |
                ((x[2 * i + 2] == x[2 * i]) & (x[2 * i + 3] < x[2 * i + 1]));
    else
        for (int64_t i = begin; i < end; i++)
            falls |= tfd_sparse_compare(x + (i + 1) * s->rank, x + i * s->rank,
                                        s->rank) < 0;
    return falls;
}

static void look_for_disorder(void *arg, int64_t begin, int64_t end)
{
    struct looking *l = arg;

    for (int64_t at = begin; at < end; at += BLOCK) {
        if (TFD_LOAD_RELAXED(&l->falls))
            return;
        if (block_falls(l->s, at, end - at < BLOCK ? end : at + BLOCK))
            TFD_STORE_RELAXED(&l->falls, 1);
    }
}

bool tfd_sparse_in_order(struct tfd_kctx *k, const struct tfd_sparse *s)
{
    struct looking l = {.s = s};

    if (s->count > 1)
        tfd_kctx_parallel_bytes(k, s->count - 1,
                                (s->rank + 1) * (int)sizeof(int64_t),
                                look_for_disorder, &l);
    return !l.falls;
}

/* ---- Places in the dense tensor ------------------------------------------ */

/* Elements of the dense tensor; -1 where an int64 cannot count them. */
static int64_t dense_size(const struct tfd_sparse *s)
{
    int64_t size = 1;

    for (int d = 0; d < s->rank; d++)
        if (__builtin_mul_overflow(size, s->dim[d], &size))
            return -1;
    return size;
}

/* keys[i] is the place of element i; false where one lies outside. */
static bool find_sort_keys(const struct tfd_sparse *s, int64_t *keys)
{
    const int64_t *x = s->index;
    bool outside = false;

    for (int64_t i = 0; i < s->count; i++, x += s->rank) {
        int64_t place = 0;

        for (int d = 0; d < s->rank; d++) {
            outside |= (uint64_t)x[d] >= (uint64_t)s->dim[d];
            place = (int64_t)((uint64_t)place * (uint64_t)s->dim[d] +
                              (uint64_t)x[d]);
        }
        keys[i] = place;
    }
    return !outside;
}

/* ---- Merging ------------------------------------------------------------- */

struct sorting {
    const struct tfd_sparse *s;
    const int64_t *keys; /* NULL: by indices */
};

static inline bool is_before(const struct sorting *by, int64_t a, int64_t b)
{
    const struct tfd_sparse *s = by->s;

    if (by->keys)
        return by->keys[a] < by->keys[b];
    return tfd_sparse_compare(s->index + a * s->rank, s->index + b * s->rank,
                              s->rank) < 0;
}

/* [begin, middle) and [middle, end) of `from`, merged into `to`. */
static void merge(const struct sorting *by, const int64_t *from, int64_t *to,
                  int64_t begin, int64_t middle, int64_t end)
{
    int64_t a = begin, b = middle;

    for (int64_t i = begin; i < end; i++) {
        bool second =
            a == middle || (b < end && is_before(by, from[b], from[a]));

        to[i] = second ? from[b++] : from[a++];
    }
}

/* False where the thread is told to stop; order may be anything then. */
static bool merge_all(const struct sorting *by, int64_t *order, int64_t *memory)
{
    const int64_t count = by->s->count;
    int64_t *from = order, *to = memory;

    for (int64_t i = 0; i < count; i++)
        from[i] = i;
    for (int64_t width = 1; width < count; width *= 2) {
        int64_t *swap = from;

        for (int64_t i = 0; i < count; i += 2 * width) {
            int64_t left = count - i;

            if (tfd_halted())
                return false;
            merge(by, from, to, i, i + (left < width ? left : width),
                  i + (left < 2 * width ? left : 2 * width));
        }
        from = to;
        to = swap;
    }
    if (from != order && count)
        memcpy(order, from, (size_t)count * sizeof(*order));
    return true;
}

/* ---- By digits ----------------------------------------------------------- */

#define RADIX_MIN 512 /* fewer are merged before the digits are counted */

/* The largest come first, so places are turned round; where they are small
 * enough as int32, in the same memory. */
static bool sort_by_digits(int64_t *keys, int64_t count, int64_t size,
                           int64_t *order, void *scratch)
{
    int32_t *small = (int32_t *)(void *)keys;

    if (size > INT32_MAX) {
        for (int64_t i = 0; i < count; i++)
            keys[i] = -keys[i];
        return tfd_radix_falling(TFD_INT64, keys, count, count, order, scratch);
    }
    for (int64_t i = 0; i < count; i++) {
        const int32_t key = (int32_t)-keys[i];

        memcpy(small + i, &key, sizeof(key));
    }
    return tfd_radix_falling(TFD_INT32, keys, count, count, order, scratch);
}

/* Places that fall are only turned round. */
static bool turn_round(const int64_t *keys, int64_t count, int64_t *order)
{
    for (int64_t i = 1; i < count; i++)
        if (keys[i] >= keys[i - 1])
            return false;
    for (int64_t i = 0; i < count; i++)
        order[i] = count - 1 - i;
    return true;
}

static enum tfd_code sort(const struct tfd_sparse *s, int64_t *keys,
                          int64_t *order, void *memory, struct tfd_status *st)
{
    const int64_t size = dense_size(s);
    struct sorting by = {s, NULL};
    bool done;

    if (size >= 0 && find_sort_keys(s, keys))
        by.keys = keys;
    if (by.keys && turn_round(keys, s->count, order))
        return TFD_OK;
    if (!by.keys || s->count < RADIX_MIN || s->count >= TFD_RADIX_MAX)
        done = merge_all(&by, order, memory);
    else
        done = sort_by_digits(keys, s->count, size, order, memory);
    return done ? TFD_OK : tfd_halt_fail(st);
}

enum tfd_code tfd_sparse_order(const struct tfd_sparse *s, int64_t *order,
                               struct tfd_status *st)
{
    const size_t bytes = (size_t)s->count * sizeof(int64_t),
                 scratch = s->count < TFD_RADIX_MAX
                               ? tfd_radix_scratch(TFD_INT64, s->count)
                               : 0;
    int64_t *keys = malloc(bytes + 1);
    void *memory = malloc((scratch > bytes ? scratch : bytes) + 1);
    enum tfd_code rc =
        keys && memory
            ? sort(s, keys, order, memory, st)
            : tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                       "no memory to sort %" PRId64 " indices", s->count);

    free(memory);
    free(keys);
    return rc;
}

/* ---- Rows without elements ----------------------------------------------- */

/* Behind the elements from i on that are of the same row; they are looked at by
 * eight where there are many. */
static int64_t row_end(const struct tfd_sparse *s, int64_t i)
{
    const int64_t rank = s->rank, count = s->count;
    const int64_t *index = s->index + i * rank, row = *index;

    for (i++, index += rank; i + 8 < count && *index == row; i += 8) {
        const int64_t *next = index + rank;
        int64_t differ = 0;

        for (int n = 1; n < 8; n++, next += rank)
            differ |= *next ^ row;
        if (differ)
            break;
        index = next;
    }
    for (; i < count && *index == row; index += rank)
        i++;
    return i;
}

/* A row's elements mostly stand together, so they are looked at together. */
enum tfd_code tfd_sparse_order_mark(struct tfd_sparse_filling *f,
                                    struct tfd_status *st)
{
    const struct tfd_sparse s = f->s;
    const int64_t rows = f->rows;
    tfd_bool *const empty = f->empty;
    int64_t last = 0, filled = 0;
    bool falls = false;

    for (int64_t i = 0; i < s.count; i = row_end(&s, i)) {
        const int64_t row = s.index[i * s.rank];

        if (row < 0 || row >= rows)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "indices(%" PRId64 ", 0) is invalid: %" PRId64
                            " >= %" PRId64,
                            i, row, rows);
        falls |= row < last;
        filled += empty[row];
        empty[row] = 0;
        last = row;
    }
    f->ordered = !falls;
    f->total = s.count + rows - filled;
    return TFD_OK;
}

/* The indices of an empty row. */
static void put_empty_row(int64_t *to, int rank, int64_t row)
{
    to[0] = row;
    for (int d = 1; d < rank; d++)
        to[d] = 0;
}

/* How far elements in order have gone to their places. */
struct merging {
    int64_t i, row, place; /* row: the first that nothing is put for */
};

/* Up to the place `end`, while there are elements.  No branch asks whether an
 * element or an empty row comes next, which nothing foretells: a place is an
 * element's until the element has its own. */
static inline void merge_of_rank(const struct tfd_sparse_filling *f,
                                 struct merging *m, int64_t end, int64_t *index,
                                 const int rank)
{
    const int64_t *from = f->s.index + m->i * rank;
    int64_t *to = index + m->place * rank, row = m->row, i = m->i, at;

    for (at = m->place; at < end && i < f->s.count; at++) {
        const int64_t own = from[0], taken = own <= row;

        row = taken ? own : row;
        to[0] = row++;
        for (int d = 1; d < rank; d++)
            to[d] = from[d] & -taken;
        f->place[i] = at;
        i += taken;
        from += taken * rank;
        to += rank;
    }
    *m = (struct merging){i, row, at};
}

static void merge_rows(const struct tfd_sparse_filling *f, struct merging *m,
                       int64_t end, int64_t *index)
{
    if (f->s.rank == 2)
        merge_of_rank(f, m, end, index, 2);
    else
        merge_of_rank(f, m, end, index, f->s.rank);
}

#define MERGE_AT_ONCE 65536 /* places between two looks at the step */

/* The places of elements that are in order, and all indices. */
static enum tfd_code place_ordered(const struct tfd_sparse_filling *f,
                                   int64_t *index, struct tfd_status *st)
{
    struct merging m = {0};

    while (m.i < f->s.count) {
        if (tfd_halted())
            return tfd_halt_fail(st);
        merge_rows(f, &m, tfd_min(f->total, m.place + MERGE_AT_ONCE), index);
    }
    for (int64_t row = m.row; row < f->rows; row++, m.place++) {
        if (tfd_sparse_stops(row))
            return tfd_halt_fail(st);
        put_empty_row(index + m.place * f->s.rank, f->s.rank, row);
    }
    return TFD_OK;
}

/* The same in any order; begin: zeros, one for each row and one more. */
static enum tfd_code place_by_counts(const struct tfd_sparse_filling *f,
                                     int64_t *begin, int64_t *index,
                                     struct tfd_status *st)
{
    const int rank = f->s.rank;

    for (int64_t i = 0; i < f->s.count; i++)
        begin[f->s.index[i * rank] + 1]++;
    for (int64_t row = 0; row < f->rows; row++) {
        if (tfd_sparse_stops(row))
            return tfd_halt_fail(st);
        if (f->empty[row])
            put_empty_row(index + begin[row] * rank, rank, row);
        begin[row + 1] += begin[row] + f->empty[row];
    }
    for (int64_t i = 0; i < f->s.count; i++)
        f->place[i] = begin[f->s.index[i * rank]]++;
    tfd_rows_scatter((size_t)rank * sizeof(*index), TFD_INT64)(
        index, f->s.index, (size_t)rank * sizeof(*index), f->place, f->s.count);
    return TFD_OK;
}

/* n zeros; as a tensor, since n is a value of the graph's and memory for it is
 * to be accounted for. */
static enum tfd_code new_counts(struct tfd_tensor *out, int64_t n,
                                struct tfd_status *st)
{
    const struct tfd_shape shape = {1, {n}};

    TFD_TRY(tfd_tensor_new(out, TFD_INT64, &shape, st));
    tfd_elements_zero(TFD_INT64, tfd_tensor_data(out), n);
    if (!tfd_halted())
        return TFD_OK;
    tfd_tensor_unref(out);
    return tfd_halt_fail(st);
}

static enum tfd_code place_unordered(const struct tfd_sparse_filling *f,
                                     int64_t *index, struct tfd_status *st)
{
    struct tfd_tensor begin = TFD_TENSOR_INIT;
    enum tfd_code rc;

    TFD_TRY(new_counts(&begin, f->rows + 1, st));
    rc = place_by_counts(f, tfd_tensor_data(&begin), index, st);
    tfd_tensor_unref(&begin);
    return rc;
}

enum tfd_code tfd_sparse_order_fill(const struct tfd_sparse_filling *f,
                                    int64_t *index, struct tfd_status *st)
{
    return (f->ordered ? place_ordered : place_unordered)(f, index, st);
}
