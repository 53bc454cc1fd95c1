/*
 * sets_numbers.h - many sets of integers: each ascending and without
 * repetitions, in the order of their groups (sets.c).
 *
 * What goes in need not be sorted: tfd_sets_sort() does that, set by set, where
 * none has more than TFD_SET_MAX numbers.
 *
 * Threads: one at a time.
 */
#ifndef TFD_KERNELS_SETS_NUMBERS_H
#define TFD_KERNELS_SETS_NUMBERS_H

#include "kernels/core/kernel.h"

#define TFD_SET_MAX 256

struct tfd_set {
    int64_t group;
    int64_t begin, count; /* of its numbers, in `value` */
};

struct tfd_sets {
    int64_t *value;
    struct tfd_set *set; /* groups ascend */
    int64_t count;       /* of sets */
    struct tfd_buffer *memory[2];
};

/* Room for so many numbers and sets; *s is zeroed before, or deinitialised. */
enum tfd_code tfd_sets_new(struct tfd_sets *s, int64_t values, int64_t sets,
                           struct tfd_status *st) TFD_MUST_USE;
void tfd_sets_deinit(struct tfd_sets *s);

/* Number `at` is one of that group, which is not before that of the last set.
 * Returns how many it has. */
static inline int64_t tfd_sets_count(struct tfd_sets *s, int64_t group,
                                     int64_t at)
{
    if (s->count == 0 || s->set[s->count - 1].group != group)
        s->set[s->count++] = (struct tfd_set){group, at, 0};
    return ++s->set[s->count - 1].count;
}

/* Numbers that were counted, of a tensor of integers: each set in order. */
enum tfd_code tfd_sets_sort(struct tfd_kctx *k, const struct tfd_tensor *t,
                            struct tfd_sets *s,
                            struct tfd_status *st) TFD_MUST_USE;
/* A set of each row of so many elements. */
enum tfd_code tfd_sets_of_rows(struct tfd_kctx *k, const struct tfd_tensor *t,
                               int64_t inner, struct tfd_sets *s,
                               struct tfd_status *st) TFD_MUST_USE;

/* Which numbers stay: those of the first only, of both, of the second only. */
struct tfd_sets_operation {
    const char *name;
    bool first, both, second;
};

/* Sets of both, group by group, none of them empty. */
enum tfd_code tfd_sets_combine(const struct tfd_sets *a,
                               const struct tfd_sets *b,
                               const struct tfd_sets_operation *o,
                               struct tfd_sets *out,
                               struct tfd_status *st) TFD_MUST_USE;

/* The sparse tensor of a result of so many values, whose shape still lacks its
 * last dimension: the size of the largest set. */
enum tfd_code tfd_sets_outputs(struct tfd_kctx *k,
                               const struct tfd_shape *groups,
                               enum tfd_dtype dtype, int64_t values,
                               struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_sets_put(struct tfd_kctx *k, const struct tfd_shape *groups,
                           enum tfd_dtype dtype, const struct tfd_sets *s,
                           struct tfd_status *st) TFD_MUST_USE;

#endif
