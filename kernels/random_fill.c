/*
 * random_fill.c - a loop over groups around each maker of random_make.h.
 */
#define _GNU_SOURCE /* random_make.h */
#include "kernels/philox_lanes.h"
#include "kernels/random_make.h"

#include <stddef.h>
#include <string.h>

typedef const struct tfd_random_fill fill_args;

void tfd_random_normals(const uint32_t x[4], double out[2])
{
    tfd_random_make_normals(x, out);
}

/* ---- The rules and their loops ---------------------------------------------
 */

/* Groups whose first blocks are made together. */
#define TOGETHER 64

/* The last group of a tensor may be cut. */
static void store(fill_args *f, int64_t group, size_t count, size_t size,
                  const void *from)
{
    size_t at = (size_t)group * count;
    size_t left = (size_t)f->size - at;

    memcpy((char *)f->out + at * size, from,
           (left < count ? left : count) * size);
}

#define DEFINE_FILL(KIND, DTYPE, T, maker, count, stride, cost)              \
    static void fill_##KIND##_##DTYPE(void *arg, int64_t begin, int64_t end) \
    {                                                                        \
        fill_args *f = arg;                                                  \
        uint32_t x[TOGETHER][4];                                             \
                                                                             \
        for (int64_t i = begin; i < end; i++) {                              \
            int64_t at = (i - begin) % TOGETHER;                             \
            int64_t left = end - i;                                          \
            struct tfd_philox g = tfd_random_make_at(f, i, stride);          \
            T group[count];                                                  \
                                                                             \
            if (at == 0)                                                     \
                tfd_philox_blocks(&f->generator, (uint64_t)i *(stride),      \
                                  stride, left < TOGETHER ? left : TOGETHER, \
                                  x);                                        \
            tfd_philox_skip(&g, 1);                                          \
            tfd_random_make_##maker##_##T(f, &g, x[at], group);              \
            store(f, i, count, sizeof(T), group);                            \
        }                                                                    \
    }

TFD_RANDOM_RULES(DEFINE_FILL)

static const struct tfd_random_rule rules[] = {
#define ROW(KIND, DTYPE, T, maker, count, stride, cost) \
    {TFD_RANDOM_##KIND, TFD_##DTYPE, count, cost, fill_##KIND##_##DTYPE},
    TFD_RANDOM_RULES(ROW)
#undef ROW
};

const struct tfd_random_rule *tfd_random_rule_find(enum tfd_random_kind kind,
                                                   enum tfd_dtype dtype)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (rules[i].kind == kind && rules[i].dtype == dtype)
            return &rules[i];
    return NULL;
}

int64_t tfd_random_groups(const struct tfd_random_rule *rule, int64_t size)
{
    return size / rule->group_size + (size % rule->group_size != 0);
}
