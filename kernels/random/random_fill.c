/*
 * random_fill.c - a loop over groups around each maker of random_make.h, and
 * the same makers for as many groups as there are lanes (philox_lanes.h).
 *
 * In lanes a group's numbers lie in as many arrays; a last loop brings them in
 * order.  A few groups are made one by one, which is less work than a round of
 * lanes.
 */
#define _GNU_SOURCE /* random_make.h */
#include "kernels/random/random_make.h"

#include "kernels/random/philox_lanes.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/vector_normal.h"

#include <stddef.h>
#include <string.h>

typedef const struct tfd_random_fill fill_args;

#define LANES TFD_PHILOX_LANES
/* Fewer groups than this are made one by one. */
#define LANES_WORTH 8

void tfd_random_normals(const uint32_t x[4], double out[2])
{
    tfd_random_make_normals(x, out);
}

/* ---- Makers in lanes -------------------------------------------------------
 */

/* Number j of the block in lane i. */
#define NUMBER(l, j, i) ((uint32_t)((l)->pair[(j) / 2][i] >> 32 * ((j) % 2)))

#define DEFINE_FOUR(kind, T, convert)                                     \
    TFD_VECTOR void lanes_##kind##_##T(                                   \
        fill_args *f, const struct tfd_philox_lanes *l, T out[4 * LANES]) \
    {                                                                     \
        (void)f;                                                          \
        for (int i = 0; i < LANES; i++) {                                 \
            out[4 * i] = convert(NUMBER(l, 0, i));                        \
            out[4 * i + 1] = convert(NUMBER(l, 1, i));                    \
            out[4 * i + 2] = convert(NUMBER(l, 2, i));                    \
            out[4 * i + 3] = convert(NUMBER(l, 3, i));                    \
        }                                                                 \
    }

#define DEFINE_TWO(kind, T, convert)                                       \
    TFD_VECTOR void lanes_##kind##_##T(                                    \
        fill_args *f, const struct tfd_philox_lanes *l, T out[2 * LANES])  \
    {                                                                      \
        (void)f;                                                           \
        for (int i = 0; i < LANES; i++) {                                  \
            out[2 * i] = (T)convert(NUMBER(l, 0, i), NUMBER(l, 1, i));     \
            out[2 * i + 1] = (T)convert(NUMBER(l, 2, i), NUMBER(l, 3, i)); \
        }                                                                  \
    }

/* Below 1 the bits of a bfloat16 are the upper half of those of the float, and
 * seven random bits are no more than it holds. */
TFD_VECTOR tfd_bfloat16 bfloat16_of(uint32_t x)
{
    return (tfd_bfloat16)(tfd_half_float_bits((float)(x & 0x7fu) / 128.0f) >>
                          16);
}

/* m / 2^10 has no more bits than a half, nor a smaller exponent. */
TFD_VECTOR tfd_half half_of(uint32_t x)
{
    uint32_t bits = tfd_half_float_bits((float)(x & 0x3ffu) / 1024.0f);

    return (tfd_half)((x & 0x3ffu) == 0 ? 0 : (bits - 0x38000000u) >> 13);
}

DEFINE_FOUR(uniform, tfd_half, half_of)
DEFINE_FOUR(uniform, tfd_bfloat16, bfloat16_of)
DEFINE_FOUR(uniform, float, tfd_random_float_of)
DEFINE_TWO(uniform, double, tfd_random_double_of)
DEFINE_FOUR(full, int32_t, (int32_t))
DEFINE_FOUR(full, uint32_t, (uint32_t))
DEFINE_TWO(full, int64_t, tfd_random_make_bits)
DEFINE_TWO(full, uint64_t, tfd_random_make_bits)

/* x % range, by a quotient in double: where it is no integer, it is at least
 * 2^-32 of itself away from one, so it is not rounded up to it. */
TFD_VECTOR int32_t bounded(uint32_t x, double range, uint32_t whole,
                           uint32_t lo)
{
    uint32_t times = (uint32_t)((double)x / range);

    return (int32_t)(lo + (x - times * whole));
}

TFD_VECTOR void lanes_uniform_int32_t(fill_args *f,
                                      const struct tfd_philox_lanes *l,
                                      int32_t out[4 * LANES])
{
    const uint32_t lo = (uint32_t)f->lo, whole = (uint32_t)f->hi - lo;
    const double range = whole;

    for (int i = 0; i < LANES; i++) {
        out[4 * i] = bounded(NUMBER(l, 0, i), range, whole, lo);
        out[4 * i + 1] = bounded(NUMBER(l, 1, i), range, whole, lo);
        out[4 * i + 2] = bounded(NUMBER(l, 2, i), range, whole, lo);
        out[4 * i + 3] = bounded(NUMBER(l, 3, i), range, whole, lo);
    }
}

TFD_VECTOR void lanes_uniform_int64_t(fill_args *f,
                                      const struct tfd_philox_lanes *l,
                                      int64_t out[2 * LANES])
{
    const uint64_t lo = (uint64_t)f->lo, range = (uint64_t)f->hi - lo;

    for (int i = 0; i < LANES; i++) {
        out[2 * i] = (int64_t)(lo + l->pair[0][i] % range);
        out[2 * i + 1] = (int64_t)(lo + l->pair[1][i] % range);
    }
}

/* Four standard normals of each block, those of two pairs. */
struct normals {
    struct tfd_philox_lanes from;
    float out[4][LANES];
};

TFD_SIMD_LOOP(make_normals)
{
    struct normals *n = arg;

    (void)end;
    (void)begin;
    for (int i = 0; i < LANES; i++)
        tfd_normal_pair(n->from.pair[0][i], &n->out[0][i], &n->out[1][i]);
    for (int i = 0; i < LANES; i++)
        tfd_normal_pair(n->from.pair[1][i], &n->out[2][i], &n->out[3][i]);
}

TFD_SIMD_CLONES_WIDE(make_normals)

void tfd_random_normals_lanes(const struct tfd_philox_lanes *l,
                              float out[4][LANES])
{
    struct normals n = {.from = *l};

    make_normals(&n, 0, LANES);
    memcpy(out, n.out, sizeof(n.out));
}

#define DEFINE_NORMAL(T, round)                                           \
    TFD_VECTOR void lanes_normal_##T(                                     \
        fill_args *f, const struct tfd_philox_lanes *l, T out[4 * LANES]) \
    {                                                                     \
        struct normals n = {.from = *l};                                  \
                                                                          \
        (void)f;                                                          \
        make_normals(&n, 0, LANES);                                       \
        for (int i = 0; i < LANES; i++) {                                 \
            out[4 * i] = round(n.out[0][i]);                              \
            out[4 * i + 1] = round(n.out[1][i]);                          \
            out[4 * i + 2] = round(n.out[2][i]);                          \
            out[4 * i + 3] = round(n.out[3][i]);                          \
        }                                                                 \
    }

DEFINE_NORMAL(tfd_half, tfd_half_from_float)
DEFINE_NORMAL(tfd_bfloat16, tfd_bfloat16_from_float)
DEFINE_NORMAL(float, TFD_RANDOM_SAME)

TFD_VECTOR void lanes_normal_double(fill_args *f,
                                    const struct tfd_philox_lanes *l,
                                    double out[2 * LANES])
{
    (void)f;
    for (int i = 0; i < LANES; i++) {
        const uint32_t x[4] = {NUMBER(l, 0, i), NUMBER(l, 1, i),
                               NUMBER(l, 2, i), NUMBER(l, 3, i)};

        tfd_random_make_normals(x, &out[2 * i]);
    }
}

/* ---- Fills of groups of one block ------------------------------------------
 */

/* The first `groups` groups of those at `from`; the last group of a tensor may
 * be cut. */
static void store_group(fill_args *f, int64_t group, int64_t groups,
                        size_t count, size_t size, const void *from)
{
    size_t at = (size_t)group * count, wanted = (size_t)groups * count;
    size_t left = (size_t)f->size - at;

    memcpy((char *)f->out + at * size, from,
           (left < wanted ? left : wanted) * size);
}

static bool are_whole(fill_args *f, int64_t group, int64_t end, int64_t count)
{
    return end - group >= LANES && f->size - group * count >= LANES * count;
}

static void draw_lanes(fill_args *f, int64_t group, struct tfd_philox_lanes *l)
{
    uint64_t skip[LANES];

    for (int i = 0; i < LANES; i++)
        skip[i] = (uint64_t)group + (uint64_t)i;
    tfd_philox_lanes(l, &f->generator, skip);
}

#define DEFINE_ONE_BY_ONE(KIND, DTYPE, T, maker, count, stride, cost)    \
    static inline                                                        \
        __attribute__((always_inline)) void one_by_one_##KIND##_##DTYPE( \
            fill_args *f, int64_t begin, int64_t end)                    \
    {                                                                    \
        for (; begin < end; begin++) {                                   \
            struct tfd_philox g = tfd_random_make_at(f, begin, stride);  \
            uint32_t first[4];                                           \
            T group[count];                                              \
                                                                         \
            tfd_philox_next(&g, first);                                  \
            tfd_random_make_##maker##_##T(f, &g, first, group);          \
            store_group(f, begin, 1, count, sizeof(T), group);           \
        }                                                                \
    }

TFD_RANDOM_RULES(DEFINE_ONE_BY_ONE)

#define DEFINE_FILL(KIND, DTYPE, T, maker, count, stride)                     \
    TFD_SIMD_LOOP(fill_##KIND##_##DTYPE)                                      \
    {                                                                         \
        fill_args *f = arg;                                                   \
                                                                              \
        _Static_assert((stride) == 1, "a group is a block");                  \
        for (; end - begin >= LANES_WORTH; begin += LANES) {                  \
            bool whole = are_whole(f, begin, end, count);                     \
            struct tfd_philox_lanes l;                                        \
            T spare[LANES * count];                                           \
                                                                              \
            draw_lanes(f, begin, &l);                                         \
            lanes_##maker##_##T(f, &l,                                        \
                                whole ? (T *)f->out + begin *count : spare);  \
            if (!whole)                                                       \
                store_group(f, begin,                                         \
                            end - begin < LANES ? end - begin : LANES, count, \
                            sizeof(T), spare);                                \
        }                                                                     \
        one_by_one_##KIND##_##DTYPE(f, begin, end);                           \
    }                                                                         \
    TFD_SIMD_CLONES_WIDE(fill_##KIND##_##DTYPE)

/* ---- Truncated normals -----------------------------------------------------
 */

/* Each lane draws for a group until that is full, and goes on with the next. */
struct truncation {
    struct normals n;
    uint64_t skip[LANES];
    int64_t group[LANES];
    int have[LANES];
    float found[LANES][8]; /* 3, and all four of a block */
    int busy;              /* lanes; they are the first ones */
    int64_t next, end;     /* groups no lane has begun */
};

static void begin_group(struct truncation *t, int lane, uint64_t stride)
{
    t->group[lane] = t->next++;
    t->skip[lane] = (uint64_t)t->group[lane] * stride;
    t->have[lane] = 0;
}

static void move_lane(struct truncation *t, int to, int from)
{
    t->group[to] = t->group[from];
    t->skip[to] = t->skip[from];
    t->have[to] = t->have[from];
    memcpy(t->found[to], t->found[from], sizeof(t->found[to]));
}

static void truncation_begin(struct truncation *t, int64_t begin, int64_t end,
                             uint64_t stride)
{
    memset(t, 0, sizeof(*t));
    t->next = begin;
    t->end = end;
    for (; t->busy < LANES && t->next < end; t->busy++)
        begin_group(t, t->busy, stride);
}

/* A block for each lane. */
static void truncation_draw(struct truncation *t, const struct tfd_philox *g)
{
    tfd_philox_lanes(&t->n.from, g, t->skip);
    make_normals(&t->n, 0, LANES);
    for (int i = 0; i < t->busy; i++) {
        t->skip[i]++;
        for (int j = 0; j < 4; j++) {
            t->found[i][t->have[i]] = t->n.out[j][i];
            t->have[i] += fabsf(t->n.out[j][i]) < (float)TFD_RANDOM_TRUNCATE_AT;
        }
    }
}

/* Stores full groups; their lanes take others, or are given up. */
static void truncation_store(struct truncation *t, fill_args *f, size_t size,
                             void (*round)(const float from[4], void *to),
                             uint64_t stride)
{
    int busy = 0;

    for (int i = 0; i < t->busy; i++) {
        if (t->have[i] >= 4) {
            uint64_t group[4];

            round(t->found[i], group);
            store_group(f, t->group[i], 1, 4, size, group);
            if (t->next == t->end)
                continue;
            begin_group(t, i, stride);
        }
        if (busy != i)
            move_lane(t, busy, i);
        busy++;
    }
    t->busy = busy;
}

#define DEFINE_TRUNCATED(T, convert)                                       \
    static void round_##T(const float from[4], void *to)                   \
    {                                                                      \
        T group[4];                                                        \
                                                                           \
        for (int i = 0; i < 4; i++)                                        \
            group[i] = convert(from[i]);                                   \
        memcpy(to, group, sizeof(group));                                  \
    }                                                                      \
                                                                           \
    static int64_t truncated_##T(fill_args *f, int64_t begin, int64_t end, \
                                 uint64_t stride)                          \
    {                                                                      \
        struct truncation t;                                               \
                                                                           \
        if (end - begin < LANES_WORTH)                                     \
            return begin;                                                  \
        truncation_begin(&t, begin, end, stride);                          \
        while (t.busy > 0) {                                               \
            truncation_draw(&t, &f->generator);                            \
            truncation_store(&t, f, sizeof(T), round_##T, stride);         \
        }                                                                  \
        return end;                                                        \
    }

DEFINE_TRUNCATED(tfd_half, tfd_half_from_float)
DEFINE_TRUNCATED(tfd_bfloat16, tfd_bfloat16_from_float)
DEFINE_TRUNCATED(float, TFD_RANDOM_SAME)

/* Logarithm and sine of doubles are calls: lanes would gain little. */
static int64_t truncated_double(fill_args *f, int64_t begin, int64_t end,
                                uint64_t stride)
{
    (void)f;
    (void)end;
    (void)stride;
    return begin;
}

#define DEFINE_TRUNCATED_FILL(KIND, DTYPE, T, maker, count, stride)          \
    static void fill_##KIND##_##DTYPE(void *arg, int64_t begin, int64_t end) \
    {                                                                        \
        fill_args *f = arg;                                                  \
                                                                             \
        begin = truncated_##T(f, begin, end, stride);                        \
        one_by_one_##KIND##_##DTYPE(f, begin, end);                          \
    }

/* ---- The rules ------------------------------------------------------------
 */

#define DEFINE_UNIFORM_FILL DEFINE_FILL
#define DEFINE_UNIFORM_INT_FILL DEFINE_FILL
#define DEFINE_FULL_INT_FILL DEFINE_FILL
#define DEFINE_NORMAL_FILL DEFINE_FILL
#define DEFINE_TRUNCATED_NORMAL_FILL DEFINE_TRUNCATED_FILL

#define DEFINE(KIND, DTYPE, T, maker, count, stride, cost) \
    DEFINE_##KIND##_FILL(KIND, DTYPE, T, maker, count, stride)

TFD_RANDOM_RULES(DEFINE)

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
