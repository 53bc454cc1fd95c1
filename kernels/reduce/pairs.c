/*
 * pairs.c - see pairs.h.
 */
#include "kernels/reduce/pairs.h"

#include <stdbool.h>

#define RUN 8 /* keys that are sorted by insertion before runs are merged */

static void sort_run(struct tfd_pair *k, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const struct tfd_pair key = k[i];
        int64_t at = i;

        for (; at > 0 && k[at - 1].number > key.number; at--)
            k[at] = k[at - 1];
        k[at] = key;
    }
}

static void merge_runs(const struct tfd_pair *from, struct tfd_pair *to,
                       int64_t middle, int64_t n)
{
    int64_t a = 0, b = middle;

    for (int64_t i = 0; i < n; i++) {
        const bool second =
            a == middle || (b < n && from[b].number < from[a].number);

        to[i] = from[second ? b : a];
        b += second;
        a += !second;
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct tfd_pair *tfd_pairs_sort(struct tfd_pair *k, struct tfd_pair *memory,
                                int64_t n)
{
    for (int64_t i = 0; i < n; i += RUN)
        sort_run(k + i, least(RUN, n - i));
    for (int64_t width = RUN; width < n; width *= 2) {
        struct tfd_pair *swap = k;

        for (int64_t i = 0; i < n; i += 2 * width)
            merge_runs(k + i, memory + i, least(width, n - i),
                       least(2 * width, n - i));
        k = memory;
        memory = swap;
    }
    return k;
}
