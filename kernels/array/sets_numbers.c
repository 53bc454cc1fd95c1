/*
 * sets_numbers.c - numbers that lie close together are bits of a map, which is
 * then read in order; others are sorted in runs of four and merged.  Nothing
 * here takes a branch that depends on one number.
 */
#include "kernels/array/sets_numbers.h"

#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/core/element.h"

#include <string.h>

/* ---- Memory -------------------------------------------------------------- */

enum tfd_code tfd_sets_new(struct tfd_sets *s, int64_t values, int64_t sets,
                           struct tfd_status *st)
{
    const int64_t max = INT64_MAX / (int64_t)sizeof(*s->set);

    if (values < max && sets < max) {
        s->memory[0] = tfd_buffer_new((size_t)values * sizeof(*s->value));
        s->memory[1] = tfd_buffer_new((size_t)sets * sizeof(*s->set));
    }
    if (!s->memory[0] || !s->memory[1])
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for %lld members of sets",
                        (long long)values);
    s->value = s->memory[0]->data;
    s->set = s->memory[1]->data;
    return TFD_OK;
}

void tfd_sets_deinit(struct tfd_sets *s)
{
    tfd_buffer_unref(s->memory[0]);
    tfd_buffer_unref(s->memory[1]);
    *s = (struct tfd_sets){.count = 0};
}

/* ---- One set ------------------------------------------------------------- */

#define WORD 64 /* bits of a map's word */
#define WORDS_MAX 64

static bool is_set(const int64_t *v, int64_t n)
{
    int falls = 0;

    for (int64_t i = 1; i < n; i++)
        falls |= v[i] <= v[i - 1];
    return !falls;
}

static void find_range(const int64_t *v, int64_t n, int64_t *least,
                       int64_t *most)
{
    int64_t low = v[0], high = v[0];

    for (int64_t i = 1; i < n; i++) {
        low = v[i] < low ? v[i] : low;
        high = v[i] > high ? v[i] : high;
    }
    *least = low;
    *most = high;
}

/* Numbers from `least` on, of which so many words have a bit each. */
static int64_t by_map(int64_t *v, int64_t n, int64_t least, int64_t words)
{
    uint64_t map[WORDS_MAX];
    int64_t count = 0;

    memset(map, 0, (size_t)words * sizeof(*map));
    for (int64_t i = 0; i < n; i++) {
        const uint64_t at = (uint64_t)v[i] - (uint64_t)least;

        map[at / WORD] |= UINT64_C(1) << (at % WORD);
    }
    for (int64_t w = 0; w < words; w++)
        for (uint64_t left = map[w]; left; left &= left - 1)
            v[count++] = least + w * WORD + __builtin_ctzll(left);
    return count;
}

static inline void in_order(int64_t *a, int64_t *b)
{
    const int64_t low = *a < *b ? *a : *b, high = *a < *b ? *b : *a;

    *a = low;
    *b = high;
}

#define RUN 4

static void sort_runs(int64_t *v, int64_t n)
{
    int64_t i = 0;

    for (; i + RUN <= n; i += RUN) {
        in_order(&v[i], &v[i + 1]);
        in_order(&v[i + 2], &v[i + 3]);
        in_order(&v[i], &v[i + 2]);
        in_order(&v[i + 1], &v[i + 3]);
        in_order(&v[i + 1], &v[i + 2]);
    }
    for (int64_t end = n; end > i + 1; end--)
        for (int64_t j = i + 1; j < end; j++)
            in_order(&v[j - 1], &v[j]);
}

static void merge_numbers(const int64_t *a, int64_t na, const int64_t *b,
                          int64_t nb, int64_t *to)
{
    int64_t i = 0, j = 0;

    while (i < na && j < nb) {
        const int second = b[j] < a[i];

        *to++ = second ? b[j] : a[i];
        j += second;
        i += !second;
    }
    memcpy(to, a + i, (size_t)(na - i) * sizeof(*a));
    memcpy(to + (na - i), b + j, (size_t)(nb - j) * sizeof(*b));
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns how many there are without repetitions. */
static int64_t by_merging(int64_t *v, int64_t n)
{
    int64_t other[TFD_SET_MAX], *from = v, *to = other, count = 1;

    sort_runs(v, n);
    for (int64_t width = RUN; width < n; width *= 2) {
        int64_t *swap = from;

        for (int64_t i = 0; i < n; i += 2 * width) {
            const int64_t first = smaller(width, n - i);

            merge_numbers(from + i, first, from + i + first,
                          smaller(width, n - i - first), to + i);
        }
        from = to;
        to = swap;
    }
    v[0] = from[0];
    for (int64_t i = 1; i < n; i++) {
        const int64_t value = from[i];

        count += value != v[count - 1];
        v[count - 1] = value;
    }
    return count;
}

static int64_t sort_set(int64_t *v, int64_t n)
{
    int64_t least, most;
    uint64_t words;

    if (is_set(v, n))
        return n;
    find_range(v, n, &least, &most);
    words = ((uint64_t)most - (uint64_t)least) / WORD + 1;
    if (words <= WORDS_MAX && words <= (uint64_t)n / 4 + 1)
        return by_map(v, n, least, (int64_t)words);
    return by_merging(v, n);
}

static void sort_sets(void *arg, int64_t begin, int64_t end)
{
    const struct tfd_sets *s = arg;

    for (int64_t i = begin; i < end && !tfd_halted(); i++)
        s->set[i].count = sort_set(s->value + s->set[i].begin, s->set[i].count);
}

#define LOAD(name, number, T)           \
    if (t->dtype == TFD_##name)         \
        for (int64_t i = 0; i < n; i++) \
            s->value[i] = (int64_t)((const T *)from)[i];

static void load(struct tfd_sets *s, const struct tfd_tensor *t)
{
    const void *from = tfd_tensor_data(t);
    const int64_t n = tfd_tensor_elements(t);

    TFD_INT_DTYPES(LOAD)
}

static int64_t count_values(const struct tfd_sets *s)
{
    int64_t n = 0;

    for (int64_t i = 0; i < s->count; i++)
        n += s->set[i].count;
    return n;
}

#define SORT_NS 5 /* a number */

enum tfd_code tfd_sets_sort(struct tfd_kctx *k, const struct tfd_tensor *t,
                            struct tfd_sets *s, struct tfd_status *st)
{
    load(s, t);
    if (s->count > 0)
        tfd_kctx_parallel(k, s->count,
                          (int)(count_values(s) / s->count + 1) * SORT_NS,
                          sort_sets, s);
    return tfd_halted() ? tfd_halt_fail(st) : TFD_OK;
}

enum tfd_code tfd_sets_of_rows(struct tfd_kctx *k, const struct tfd_tensor *t,
                               int64_t inner, struct tfd_sets *s,
                               struct tfd_status *st)
{
    const int64_t n = tfd_tensor_elements(t), rows = n ? n / inner : 0;

    TFD_TRY(tfd_sets_new(s, n, rows, st));
    for (int64_t i = 0; i < rows; i++)
        s->set[i] = (struct tfd_set){i, i * inner, inner};
    s->count = rows;
    return tfd_sets_sort(k, t, s, st);
}

/* ---- Two sets ------------------------------------------------------------ */

static int64_t append(const int64_t *v, int64_t n, bool stays, int64_t *to)
{
    if (!stays || n == 0)
        return 0;
    memcpy(to, v, (size_t)n * sizeof(*v));
    return n;
}

/* Returns how many numbers it made. */
static int64_t combine_two(const int64_t *a, int64_t na, const int64_t *b,
                           int64_t nb, const struct tfd_sets_operation *o,
                           int64_t *to)
{
    const int first = o->first, both = o->both, second = o->second;
    int64_t i = 0, j = 0, n = 0;

    while (i < na && j < nb) {
        const int64_t x = a[i], y = b[j];
        const int less = x<y, more = x> y, same = x == y;

        to[n] = more ? y : x;
        n += (less & first) | (more & second) | (same & both);
        i += !more;
        j += !less;
    }
    n += append(a + i, na - i, o->first, to + n);
    return n + append(b + j, nb - j, o->second, to + n);
}

enum tfd_code tfd_sets_combine(const struct tfd_sets *a,
                               const struct tfd_sets *b,
                               const struct tfd_sets_operation *o,
                               struct tfd_sets *out, struct tfd_status *st)
{
    const int64_t none = INT64_MAX; /* no group has this number */
    int64_t i = 0, j = 0, used = 0;

    TFD_TRY(tfd_sets_new(out, count_values(a) + count_values(b),
                         a->count + b->count, st));
    while (i < a->count || j < b->count) {
        const struct tfd_set empty = {.group = none};
        const struct tfd_set x = i < a->count ? a->set[i] : empty;
        const struct tfd_set y = j < b->count ? b->set[j] : empty;
        struct tfd_set made = {smaller(x.group, y.group), used, 0};

        made.count =
            combine_two(a->value + x.begin, x.group == made.group ? x.count : 0,
                        b->value + y.begin, y.group == made.group ? y.count : 0,
                        o, out->value + used);
        used += made.count;
        if (made.count > 0)
            out->set[out->count++] = made;
        i += x.group == made.group;
        j += y.group == made.group;
    }
    return TFD_OK;
}

/* ---- Results ------------------------------------------------------------- */

enum tfd_code tfd_sets_outputs(struct tfd_kctx *k,
                               const struct tfd_shape *groups,
                               enum tfd_dtype dtype, int64_t values,
                               struct tfd_status *st)
{
    const struct tfd_shape indices = {2, {values, groups->rank + 1}};
    const struct tfd_shape vector = {1, {values}};
    const struct tfd_shape dims = {1, {groups->rank + 1}};

    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &indices, st));
    TFD_TRY(tfd_kctx_output(k, 1, dtype, &vector, st));
    TFD_TRY(tfd_kctx_output(k, 2, TFD_INT64, &dims, st));
    memcpy(tfd_tensor_data(&k->out[2]), groups->dim,
           (size_t)groups->rank * sizeof(groups->dim[0]));
    return TFD_OK;
}

/* The group by its dimensions, and the place in the set. */
static int64_t *put_indices(const struct tfd_set *s,
                            const struct tfd_shape *groups, int64_t *index)
{
    int64_t rest = s->group, at[TFD_RANK_MAX];

    for (int d = groups->rank - 1; d >= 0; d--) {
        at[d] = d > 0 ? rest % groups->dim[d] : rest;
        rest = d > 0 ? rest / groups->dim[d] : 0;
    }
    for (int64_t i = 0; i < s->count; i++) {
        for (int d = 0; d < groups->rank; d++)
            *index++ = at[d];
        *index++ = i;
    }
    return index;
}

#define STORE(name, number, T)                   \
    if (t->dtype == TFD_##name)                  \
        for (int64_t n = 0; n < set->count; n++) \
            ((T *)to)[at + n] = (T)from[n];

static void put_values(const struct tfd_sets *s, const struct tfd_tensor *t)
{
    void *to = tfd_tensor_data(t);
    int64_t at = 0;

    for (int64_t i = 0; i < s->count; i++) {
        const struct tfd_set *set = &s->set[i];
        const int64_t *from = s->value + set->begin;

        TFD_INT_DTYPES(STORE)
        at += set->count;
    }
}

enum tfd_code tfd_sets_put(struct tfd_kctx *k, const struct tfd_shape *groups,
                           enum tfd_dtype dtype, const struct tfd_sets *s,
                           struct tfd_status *st)
{
    int64_t largest = 0, *index, *shape;

    TFD_TRY(tfd_sets_outputs(k, groups, dtype, count_values(s), st));
    index = tfd_tensor_data(&k->out[0]);
    for (int64_t i = 0; i < s->count; i++) {
        index = put_indices(&s->set[i], groups, index);
        largest = s->set[i].count > largest ? s->set[i].count : largest;
    }
    put_values(s, &k->out[1]);
    shape = tfd_tensor_data(&k->out[2]);
    shape[groups->rank] = largest;
    return TFD_OK;
}
