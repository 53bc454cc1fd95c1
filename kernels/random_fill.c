/*
 * random_fill.c - one maker per distribution and type, which turns the stream
 * into one group of elements, and one loop over groups around each.
 */
#define _GNU_SOURCE /* sincos, sincosf: one call of them is TensorFlow's way \
                     */
#include "kernels/random_fill.h"

#include "common/half.h"
#include "kernels/random_number.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Blocks of the stream set apart for each element of a truncated normal. */
#define TRUNCATED_BLOCKS (TFD_PHILOX_BLOCKS_PER_OUTPUT / 4)
#define TRUNCATE_AT 2.0

#define TWO_PI (2 * 3.14159265358979323846)
#define U1_MIN 1.0e-7 /* a smaller number would send log() too far */

typedef const struct tfd_random_fill fill_args;

/* ---- Bits to narrow numbers in [0, 1) ------------------------------------ */

/* m of 10 or 7 random mantissa bits gives m / 2^10 or m / 2^7, exactly. */
static tfd_half uniform_half(uint32_t x)
{
    return tfd_half_from_float((float)(x & 0x3ffu) / 1024.0f);
}

static tfd_bfloat16 uniform_bfloat16(uint32_t x)
{
    return tfd_bfloat16_from_float((float)(x & 0x7fu) / 128.0f);
}

/* ---- Two uniforms to two normals ------------------------------------------
 */

/* The angle is computed in double and rounded once, the rest in float. */
static void box_muller_float(uint32_t x0, uint32_t x1, float out[2])
{
    float u1 = tfd_random_float_of(x0);
    float angle = (float)(TWO_PI * (double)tfd_random_float_of(x1));
    float radius;

    if (u1 < (float)U1_MIN)
        u1 = (float)U1_MIN;
    radius = sqrtf(-2.0f * logf(u1));
    sincosf(angle, &out[0], &out[1]);
    out[0] *= radius;
    out[1] *= radius;
}

void tfd_random_normals(const uint32_t x[4], double out[2])
{
    double u1 = tfd_random_double_of(x[0], x[1]);
    double angle = TWO_PI * tfd_random_double_of(x[2], x[3]);
    double radius;

    if (u1 < U1_MIN)
        u1 = U1_MIN;
    radius = sqrt(-2.0 * log(u1));
    sincos(angle, &out[0], &out[1]);
    out[0] *= radius;
    out[1] *= radius;
}

/* ---- Makers of one group ---------------------------------------------------
 */

/* Four elements, each of its 32 bits. */
#define DEFINE_UNIFORM(T, convert)                                             \
    static void make_uniform_##T(fill_args *f, struct tfd_philox *g, T out[4]) \
    {                                                                          \
        uint32_t x[4];                                                         \
                                                                               \
        (void)f;                                                               \
        tfd_philox_next(g, x);                                                 \
        for (int i = 0; i < 4; i++)                                            \
            out[i] = convert(x[i]);                                            \
    }

DEFINE_UNIFORM(tfd_half, uniform_half)
DEFINE_UNIFORM(tfd_bfloat16, uniform_bfloat16)
DEFINE_UNIFORM(float, tfd_random_float_of)

static void make_uniform_double(fill_args *f, struct tfd_philox *g,
                                double out[2])
{
    uint32_t x[4];

    (void)f;
    tfd_philox_next(g, x);
    out[0] = tfd_random_double_of(x[0], x[1]);
    out[1] = tfd_random_double_of(x[2], x[3]);
}

/* hi - lo may not fit the signed type, so it is an unsigned number. */
static void make_uniform_int32_t(fill_args *f, struct tfd_philox *g,
                                 int32_t out[4])
{
    uint32_t range = (uint32_t)f->hi - (uint32_t)f->lo;
    uint32_t x[4];

    tfd_philox_next(g, x);
    for (int i = 0; i < 4; i++)
        out[i] = (int32_t)(f->lo + (int64_t)(x[i] % range));
}

static void make_uniform_int64_t(fill_args *f, struct tfd_philox *g,
                                 int64_t out[2])
{
    uint64_t range = (uint64_t)f->hi - (uint64_t)f->lo;
    uint32_t x[4];

    tfd_philox_next(g, x);
    for (int i = 0; i < 2; i++) {
        uint64_t bits = x[2 * i] | (uint64_t)x[2 * i + 1] << 32;

        out[i] = (int64_t)((uint64_t)f->lo + bits % range);
    }
}

/* Every value of the type, as likely as the others. */
#define DEFINE_FULL_INT32(T)                                                \
    static void make_full_##T(fill_args *f, struct tfd_philox *g, T out[4]) \
    {                                                                       \
        uint32_t x[4];                                                      \
                                                                            \
        (void)f;                                                            \
        tfd_philox_next(g, x);                                              \
        for (int i = 0; i < 4; i++)                                         \
            out[i] = (T)x[i];                                               \
    }

#define DEFINE_FULL_INT64(T)                                                \
    static void make_full_##T(fill_args *f, struct tfd_philox *g, T out[2]) \
    {                                                                       \
        uint32_t x[4];                                                      \
                                                                            \
        (void)f;                                                            \
        tfd_philox_next(g, x);                                              \
        out[0] = (T)(x[0] | (uint64_t)x[1] << 32);                          \
        out[1] = (T)(x[2] | (uint64_t)x[3] << 32);                          \
    }

DEFINE_FULL_INT32(int32_t)
DEFINE_FULL_INT32(uint32_t)
DEFINE_FULL_INT64(int64_t)
DEFINE_FULL_INT64(uint64_t)

#define SAME(x) (x)

#define DEFINE_NORMAL(T, round)                                               \
    static void make_normal_##T(fill_args *f, struct tfd_philox *g, T out[4]) \
    {                                                                         \
        uint32_t x[4];                                                        \
                                                                              \
        (void)f;                                                              \
        tfd_philox_next(g, x);                                                \
        for (int i = 0; i < 4; i += 2) {                                      \
            float n[2];                                                       \
                                                                              \
            box_muller_float(x[i], x[i + 1], n);                              \
            out[i] = round(n[0]);                                             \
            out[i + 1] = round(n[1]);                                         \
        }                                                                     \
    }                                                                         \
                                                                              \
    static void make_truncated_##T(fill_args *f, struct tfd_philox *g,        \
                                   T out[4])                                  \
    {                                                                         \
        float n[4];                                                           \
                                                                              \
        (void)f;                                                              \
        truncated_float(g, n);                                                \
        for (int i = 0; i < 4; i++)                                           \
            out[i] = round(n[i]);                                             \
    }

/* Draws until four are within bounds.  A stream of 256 blocks that has no four
 * of them does not occur. */
static void truncated_float(struct tfd_philox *g, float out[4])
{
    for (int have = 0; have < 4;) {
        uint32_t x[4];

        tfd_philox_next(g, x);
        for (int i = 0; i < 4; i += 2) {
            float n[2];

            box_muller_float(x[i], x[i + 1], n);
            for (int j = 0; j < 2 && have < 4; j++)
                if (fabsf(n[j]) < (float)TRUNCATE_AT)
                    out[have++] = n[j];
        }
    }
}

DEFINE_NORMAL(tfd_half, tfd_half_from_float)
DEFINE_NORMAL(tfd_bfloat16, tfd_bfloat16_from_float)
DEFINE_NORMAL(float, SAME)

static void make_normal_double(fill_args *f, struct tfd_philox *g,
                               double out[2])
{
    uint32_t x[4];

    (void)f;
    tfd_philox_next(g, x);
    tfd_random_normals(x, out);
}

static void make_truncated_double(fill_args *f, struct tfd_philox *g,
                                  double out[2])
{
    (void)f;
    for (int have = 0; have < 2;) {
        uint32_t x[4];
        double n[2];

        tfd_philox_next(g, x);
        tfd_random_normals(x, n);
        for (int j = 0; j < 2 && have < 2; j++)
            if (fabs(n[j]) < TRUNCATE_AT)
                out[have++] = n[j];
    }
}

/* ---- The rules and their loops ---------------------------------------------
 */

/* The generator as it is before group `group`, which starts `stride` blocks
 * after the one before it. */
static struct tfd_philox generator_at(fill_args *f, int64_t group,
                                      uint64_t stride)
{
    struct tfd_philox g = f->generator;

    tfd_philox_skip(&g, (uint64_t)group * stride);
    return g;
}

/* The last group of a tensor may be cut. */
static void store(fill_args *f, int64_t group, size_t count, size_t size,
                  const void *from)
{
    size_t at = (size_t)group * count;
    size_t left = (size_t)f->size - at;

    memcpy((char *)f->out + at * size, from,
           (left < count ? left : count) * size);
}

/* KIND, DTYPE, T, maker, elements of a group, blocks from one group to the
 * next, nanoseconds per group */
#define RULES(X)                                                              \
    X(UNIFORM, HALF, tfd_half, uniform, 4, 1, 15)                             \
    X(UNIFORM, BFLOAT16, tfd_bfloat16, uniform, 4, 1, 15)                     \
    X(UNIFORM, FLOAT, float, uniform, 4, 1, 12)                               \
    X(UNIFORM, DOUBLE, double, uniform, 2, 1, 12)                             \
    X(UNIFORM_INT, INT32, int32_t, uniform, 4, 1, 16)                         \
    X(UNIFORM_INT, INT64, int64_t, uniform, 2, 1, 20)                         \
    X(FULL_INT, INT32, int32_t, full, 4, 1, 10)                               \
    X(FULL_INT, UINT32, uint32_t, full, 4, 1, 10)                             \
    X(FULL_INT, INT64, int64_t, full, 2, 1, 10)                               \
    X(FULL_INT, UINT64, uint64_t, full, 2, 1, 10)                             \
    X(NORMAL, HALF, tfd_half, normal, 4, 1, 60)                               \
    X(NORMAL, BFLOAT16, tfd_bfloat16, normal, 4, 1, 60)                       \
    X(NORMAL, FLOAT, float, normal, 4, 1, 55)                                 \
    X(NORMAL, DOUBLE, double, normal, 2, 1, 50)                               \
    X(TRUNCATED_NORMAL, HALF, tfd_half, truncated, 4, 4 * TRUNCATED_BLOCKS,   \
      75)                                                                     \
    X(TRUNCATED_NORMAL, BFLOAT16, tfd_bfloat16, truncated, 4,                 \
      4 * TRUNCATED_BLOCKS, 75)                                               \
    X(TRUNCATED_NORMAL, FLOAT, float, truncated, 4, 4 * TRUNCATED_BLOCKS, 70) \
    X(TRUNCATED_NORMAL, DOUBLE, double, truncated, 2, 2 * TRUNCATED_BLOCKS, 60)

#define DEFINE_FILL(KIND, DTYPE, T, maker, count, stride, cost)              \
    static void fill_##KIND##_##DTYPE(void *arg, int64_t begin, int64_t end) \
    {                                                                        \
        fill_args *f = arg;                                                  \
                                                                             \
        for (int64_t i = begin; i < end; i++) {                              \
            struct tfd_philox g = generator_at(f, i, stride);                \
            T group[count];                                                  \
                                                                             \
            make_##maker##_##T(f, &g, group);                                \
            store(f, i, count, sizeof(T), group);                            \
        }                                                                    \
    }

RULES(DEFINE_FILL)

static const struct tfd_random_rule rules[] = {
#define ROW(KIND, DTYPE, T, maker, count, stride, cost) \
    {TFD_RANDOM_##KIND, TFD_##DTYPE, count, cost, fill_##KIND##_##DTYPE},
    RULES(ROW)
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
