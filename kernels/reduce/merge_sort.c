/* merge_sort.c - see merge_sort.h. */
#include "kernels/reduce/merge_sort.h"

#include "common/base/min.h"
#include "common/thread/halt.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a run that qsort() takes: what fits a second-level cache, and is
 * sorted in a few milliseconds. */
#define RUN_SIZE ((size_t)512 << 10)
/* A rough time for one item of a run. */
#define ITEM_NS 500
/* Items that are merged between two looks at whether to go on. */
#define MERGE_BLOCK 16384

struct sort {
    char *items, *spare; /* spare: room for the left of two runs */
    int64_t count, run;
    size_t size;
    tfd_compare_fn *compare;
};

static char *item(const struct sort *s, int64_t i)
{
    return s->items + (size_t)i * s->size;
}

static void sort_runs(void *arg, int64_t begin, int64_t end)
{
    const struct sort *s = arg;

    for (int64_t r = begin; r < end && !tfd_halted(); r++) {
        int64_t first = r * s->run;

        qsort(item(s, first), (size_t)tfd_min(s->run, s->count - first),
              s->size, s->compare);
    }
}

/* The first of items [low, high), which are in order, that is greater than x,
 * or, or_equal, not smaller. */
static int64_t find_above(const struct sort *s, int64_t low, int64_t high,
                          const char *x, bool or_equal)
{
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int order = s->compare(item(s, middle), x);

        if (order > 0 || (or_equal && order == 0))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Merges the left items, which are in spare, and [right, end) to items from
 * `to` on.  What is left of the right ones is in its place. */
static void merge_spare(const struct sort *s, int64_t left_count, int64_t right,
                        int64_t end, int64_t to)
{
    const char *left = s->spare;
    const char *left_end = left + (size_t)left_count * s->size;

    for (int64_t n = 1; left < left_end && right < end; n++) {
        if (s->compare(left, item(s, right)) <= 0) {
            memcpy(item(s, to++), left, s->size);
            left += s->size;
        } else {
            memcpy(item(s, to++), item(s, right++), s->size);
        }
        if (n % MERGE_BLOCK == 0 && tfd_halted())
            break;
    }
    memcpy(item(s, to), left, (size_t)(left_end - left));
}

/* Two runs that lie side by side.  What is first on the left, and last on the
 * right, has its place. */
static void merge(const struct sort *s, int64_t first, int64_t middle,
                  int64_t end)
{
    first = find_above(s, first, middle, item(s, middle), false);
    if (first == middle)
        return;
    end = find_above(s, middle, end, item(s, middle - 1), true);
    memcpy(s->spare, item(s, first), (size_t)(middle - first) * s->size);
    merge_spare(s, middle - first, middle, end, first);
}

static void merge_runs(const struct sort *s)
{
    for (int64_t run = s->run; run < s->count; run *= 2)
        for (int64_t first = 0; first + run < s->count; first += 2 * run) {
            if (tfd_halted())
                return;
            merge(s, first, first + run, tfd_min(first + 2 * run, s->count));
        }
}

enum tfd_code tfd_merge_sort(struct tfd_kctx *k, void *items, int64_t count,
                             size_t size, tfd_compare_fn *compare,
                             struct tfd_status *st)
{
    struct sort s = {.items = items,
                     .count = count,
                     .run = (int64_t)(RUN_SIZE / size),
                     .size = size,
                     .compare = compare};

    if (count < 2)
        return TFD_OK;
    if (count > s.run) {
        s.spare = malloc((size_t)count * size);
        if (!s.spare)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "no memory to sort %lld items", (long long)count);
    }
    tfd_kctx_parallel(k, (count - 1) / s.run + 1, (int)s.run * ITEM_NS,
                      sort_runs, &s);
    merge_runs(&s);
    free(s.spare);
    return tfd_halted() ? tfd_halt_fail(st) : TFD_OK;
}
