/*
 * regex_set.c - sets of characters, as ranges at the end of a program's array.
 * Ranges of one set may overlap and come in any order.
 */
#include "kernels/text/regex.h"

#include <stdlib.h>
#include <string.h>

#define RANGES_MAX (4 * TFD_REGEX_STEPS_MAX)

bool tfd_regex_set_add(struct tfd_regex *r, uint32_t first, uint32_t last)
{
    if (r->range_count == r->range_capacity) {
        int32_t capacity = r->range_capacity ? r->range_capacity * 2 : 32;
        struct tfd_regex_range *grown;

        if (capacity > RANGES_MAX)
            return false;
        grown = realloc(r->ranges, (size_t)capacity * sizeof(*grown));
        if (!grown)
            return false;
        r->ranges = grown;
        r->range_capacity = capacity;
    }
    r->ranges[r->range_count++] = (struct tfd_regex_range){first, last};
    return true;
}

static int by_first(const void *a, const void *b)
{
    const struct tfd_regex_range *x = a, *y = b;

    return x->first < y->first ? -1 : x->first > y->first;
}

bool tfd_regex_set_invert(struct tfd_regex *r, int32_t begin)
{
    int32_t count = r->range_count - begin;
    uint32_t next = 0;

    if (count > 1)
        qsort(r->ranges + begin, (size_t)count, sizeof(*r->ranges), by_first);
    for (int32_t i = 0; i < count; i++) {
        struct tfd_regex_range range = r->ranges[begin + i];

        if (range.first > next && !tfd_regex_set_add(r, next, range.first - 1))
            return false;
        if (range.last + 1 > next)
            next = range.last + 1;
    }
    if (next <= TFD_REGEX_CHARACTER_MAX &&
        !tfd_regex_set_add(r, next, TFD_REGEX_CHARACTER_MAX))
        return false;
    r->range_count -= count;
    if (count > 0)
        memmove(r->ranges + begin, r->ranges + begin + count,
                (size_t)(r->range_count - begin) * sizeof(*r->ranges));
    return true;
}

/* What lies in both [first, last] and the range, moved by `by`. */
static bool add_moved(struct tfd_regex *r, struct tfd_regex_range range,
                      uint32_t first, uint32_t last, int32_t by)
{
    uint32_t from = range.first > first ? range.first : first;
    uint32_t to = range.last < last ? range.last : last;

    return from > to ||
           tfd_regex_set_add(r, from + (uint32_t)by, to + (uint32_t)by);
}

bool tfd_regex_set_fold(struct tfd_regex *r, int32_t begin)
{
    int32_t end = r->range_count;

    for (int32_t i = begin; i < end; i++)
        if (!add_moved(r, r->ranges[i], 'a', 'z', 'A' - 'a') ||
            !add_moved(r, r->ranges[i], 'A', 'Z', 'a' - 'A'))
            return false;
    return true;
}
