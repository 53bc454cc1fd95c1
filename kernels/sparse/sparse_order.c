/*
 * sparse_order.c - see sparse_order.h.
 */
#include "kernels/sparse/sparse_order.h"

#include "common/base/atomic.h"
#include "common/thread/halt.h"
#include "kernels/reduce/radix.h"

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
