/*
 * random_make.h - one maker per distribution and type, which turns the stream
 * into one group of elements (random_fill.h); code of the CPU and of GPUs.
 *
 * half and bfloat16 are their bits here.  In C this needs _GNU_SOURCE, for
 * sincos() and sincosf(): one call of them is TensorFlow's way.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_RANDOM_MAKE_H
#define TFD_KERNELS_RANDOM_MAKE_H

#include "common/base/half.h"
#include "kernels/random/random_fill.h"
#include "kernels/random/random_number.h"

#include <math.h>

/* Blocks of the stream set apart for each element of a truncated normal. */
#define TFD_RANDOM_TRUNCATED_BLOCKS (TFD_PHILOX_BLOCKS_PER_OUTPUT / 4)
#define TFD_RANDOM_TRUNCATE_AT 2.0

#define TFD_RANDOM_TWO_PI (2 * 3.14159265358979323846)
/* A smaller number would send log() too far. */
#define TFD_RANDOM_U1_MIN 1.0e-7

/* ---- Bits to narrow numbers in [0, 1) ------------------------------------ */

/* m of 10 or 7 random mantissa bits gives m / 2^10 or m / 2^7, exactly. */
static inline TFD_DEVICE tfd_half tfd_random_make_half(uint32_t x)
{
    return tfd_half_from_float((float)(x & 0x3ffu) / 1024.0f);
}

static inline TFD_DEVICE tfd_bfloat16 tfd_random_make_bfloat16(uint32_t x)
{
    return tfd_bfloat16_from_float((float)(x & 0x7fu) / 128.0f);
}

/* ---- Two uniforms to two normals ------------------------------------------
 */

/* The angle is computed in double and rounded once, the rest in float. */
static inline TFD_DEVICE void
tfd_random_make_normals_float(uint32_t x0, uint32_t x1, float out[2])
{
    float u1 = tfd_random_float_of(x0);
    float angle = (float)(TFD_RANDOM_TWO_PI * (double)tfd_random_float_of(x1));
    float radius;

    if (u1 < (float)TFD_RANDOM_U1_MIN)
        u1 = (float)TFD_RANDOM_U1_MIN;
    radius = sqrtf(-2.0f * logf(u1));
    sincosf(angle, &out[0], &out[1]);
    out[0] *= radius;
    out[1] *= radius;
}

static inline TFD_DEVICE void tfd_random_make_normals(const uint32_t x[4],
                                                      double out[2])
{
    double u1 = tfd_random_double_of(x[0], x[1]);
    double angle = TFD_RANDOM_TWO_PI * tfd_random_double_of(x[2], x[3]);
    double radius;

    if (u1 < TFD_RANDOM_U1_MIN)
        u1 = TFD_RANDOM_U1_MIN;
    radius = sqrt(-2.0 * log(u1));
    sincos(angle, &out[0], &out[1]);
    out[0] *= radius;
    out[1] *= radius;
}

/* ---- Makers of one group ---------------------------------------------------
 *
 * x: the group's first block; the generator is at the one after it. */

/* 64 bits of the stream. */
static inline TFD_DEVICE uint64_t tfd_random_make_bits(uint32_t low,
                                                       uint32_t high)
{
    return low | (uint64_t)high << 32;
}

/* Four elements, each of its 32 bits. */
#define TFD_RANDOM_DEFINE_FOUR(kind, T, convert)                \
    static inline TFD_DEVICE void tfd_random_make_##kind##_##T( \
        const struct tfd_random_fill *f, struct tfd_philox *g,  \
        const uint32_t x[4], T out[4])                          \
    {                                                           \
        (void)f;                                                \
        (void)g;                                                \
        for (int i = 0; i < 4; i++)                             \
            out[i] = convert(x[i]);                             \
    }

/* Two, each of its 64 bits. */
#define TFD_RANDOM_DEFINE_TWO(kind, T, convert)                 \
    static inline TFD_DEVICE void tfd_random_make_##kind##_##T( \
        const struct tfd_random_fill *f, struct tfd_philox *g,  \
        const uint32_t x[4], T out[2])                          \
    {                                                           \
        (void)f;                                                \
        (void)g;                                                \
        for (int i = 0; i < 2; i++)                             \
            out[i] = (T)convert(x[2 * i], x[2 * i + 1]);        \
    }

TFD_RANDOM_DEFINE_FOUR(uniform, tfd_half, tfd_random_make_half)
TFD_RANDOM_DEFINE_FOUR(uniform, tfd_bfloat16, tfd_random_make_bfloat16)
TFD_RANDOM_DEFINE_FOUR(uniform, float, tfd_random_float_of)
TFD_RANDOM_DEFINE_TWO(uniform, double, tfd_random_double_of)

/* Every value of the type, as likely as the others. */
TFD_RANDOM_DEFINE_FOUR(full, int32_t, (int32_t))
TFD_RANDOM_DEFINE_FOUR(full, uint32_t, (uint32_t))
TFD_RANDOM_DEFINE_TWO(full, int64_t, tfd_random_make_bits)
TFD_RANDOM_DEFINE_TWO(full, uint64_t, tfd_random_make_bits)

/* hi - lo may not fit the signed type, so it is an unsigned number. */
static inline TFD_DEVICE void
tfd_random_make_uniform_int32_t(const struct tfd_random_fill *f,
                                struct tfd_philox *g, const uint32_t x[4],
                                int32_t out[4])
{
    uint32_t range = (uint32_t)f->hi - (uint32_t)f->lo;

    (void)g;
    for (int i = 0; i < 4; i++)
        out[i] = (int32_t)(f->lo + (int64_t)(x[i] % range));
}

static inline TFD_DEVICE void
tfd_random_make_uniform_int64_t(const struct tfd_random_fill *f,
                                struct tfd_philox *g, const uint32_t x[4],
                                int64_t out[2])
{
    uint64_t range = (uint64_t)f->hi - (uint64_t)f->lo;

    (void)g;
    for (int i = 0; i < 2; i++)
        out[i] =
            (int64_t)((uint64_t)f->lo +
                      tfd_random_make_bits(x[2 * i], x[2 * i + 1]) % range);
}

#define TFD_RANDOM_SAME(x) (x)

#define TFD_RANDOM_DEFINE_NORMAL(T, round)                       \
    static inline TFD_DEVICE void tfd_random_make_normal_##T(    \
        const struct tfd_random_fill *f, struct tfd_philox *g,   \
        const uint32_t x[4], T out[4])                           \
    {                                                            \
        (void)f;                                                 \
        (void)g;                                                 \
        for (int i = 0; i < 4; i += 2) {                         \
            float n[2];                                          \
                                                                 \
            tfd_random_make_normals_float(x[i], x[i + 1], n);    \
            out[i] = round(n[0]);                                \
            out[i + 1] = round(n[1]);                            \
        }                                                        \
    }                                                            \
                                                                 \
    static inline TFD_DEVICE void tfd_random_make_truncated_##T( \
        const struct tfd_random_fill *f, struct tfd_philox *g,   \
        const uint32_t x[4], T out[4])                           \
    {                                                            \
        float n[4];                                              \
                                                                 \
        (void)f;                                                 \
        tfd_random_make_bounded_float(g, x, n);                  \
        for (int i = 0; i < 4; i++)                              \
            out[i] = round(n[i]);                                \
    }

/* Draws until four are within bounds.  A stream of 256 blocks that has no four
 * of them does not occur. */
static inline TFD_DEVICE void
tfd_random_make_bounded_float(struct tfd_philox *g, const uint32_t first[4],
                              float out[4])
{
    uint32_t x[4] = {first[0], first[1], first[2], first[3]};

    for (int have = 0;; tfd_philox_next(g, x)) {
        for (int i = 0; i < 4; i += 2) {
            float n[2];

            tfd_random_make_normals_float(x[i], x[i + 1], n);
            for (int j = 0; j < 2 && have < 4; j++)
                if (fabsf(n[j]) < (float)TFD_RANDOM_TRUNCATE_AT)
                    out[have++] = n[j];
        }
        if (have == 4)
            return;
    }
}

TFD_RANDOM_DEFINE_NORMAL(tfd_half, tfd_half_from_float)
TFD_RANDOM_DEFINE_NORMAL(tfd_bfloat16, tfd_bfloat16_from_float)
TFD_RANDOM_DEFINE_NORMAL(float, TFD_RANDOM_SAME)

static inline TFD_DEVICE void
tfd_random_make_normal_double(const struct tfd_random_fill *f,
                              struct tfd_philox *g, const uint32_t x[4],
                              double out[2])
{
    (void)f;
    (void)g;
    tfd_random_make_normals(x, out);
}

static inline TFD_DEVICE void
tfd_random_make_truncated_double(const struct tfd_random_fill *f,
                                 struct tfd_philox *g, const uint32_t first[4],
                                 double out[2])
{
    uint32_t x[4] = {first[0], first[1], first[2], first[3]};

    (void)f;
    for (int have = 0;; tfd_philox_next(g, x)) {
        double n[2];

        tfd_random_make_normals(x, n);
        for (int j = 0; j < 2 && have < 2; j++)
            if (fabs(n[j]) < TFD_RANDOM_TRUNCATE_AT)
                out[have++] = n[j];
        if (have == 2)
            return;
    }
}

/* ---- Groups -------------------------------------------------------------- */

/* The generator as it is before group `group`, which starts `stride` blocks
 * after the one before it. */
static inline TFD_DEVICE struct tfd_philox
tfd_random_make_at(const struct tfd_random_fill *f, int64_t group,
                   uint64_t stride)
{
    struct tfd_philox g = f->generator;

    tfd_philox_skip(&g, (uint64_t)group * stride);
    return g;
}

/* KIND, DTYPE, T, maker, elements of a group, blocks from one group to the
 * next, nanoseconds per group */
#define TFD_RANDOM_RULES(X)                                   \
    X(UNIFORM, HALF, tfd_half, uniform, 4, 1, 5)              \
    X(UNIFORM, BFLOAT16, tfd_bfloat16, uniform, 4, 1, 5)      \
    X(UNIFORM, FLOAT, float, uniform, 4, 1, 4)                \
    X(UNIFORM, DOUBLE, double, uniform, 2, 1, 4)              \
    X(UNIFORM_INT, INT32, int32_t, uniform, 4, 1, 6)          \
    X(UNIFORM_INT, INT64, int64_t, uniform, 2, 1, 12)         \
    X(FULL_INT, INT32, int32_t, full, 4, 1, 4)                \
    X(FULL_INT, UINT32, uint32_t, full, 4, 1, 4)              \
    X(FULL_INT, INT64, int64_t, full, 2, 1, 4)                \
    X(FULL_INT, UINT64, uint64_t, full, 2, 1, 4)              \
    X(NORMAL, HALF, tfd_half, normal, 4, 1, 16)               \
    X(NORMAL, BFLOAT16, tfd_bfloat16, normal, 4, 1, 12)       \
    X(NORMAL, FLOAT, float, normal, 4, 1, 10)                 \
    X(NORMAL, DOUBLE, double, normal, 2, 1, 45)               \
    X(TRUNCATED_NORMAL, HALF, tfd_half, truncated, 4,         \
      4 * TFD_RANDOM_TRUNCATED_BLOCKS, 25)                    \
    X(TRUNCATED_NORMAL, BFLOAT16, tfd_bfloat16, truncated, 4, \
      4 * TFD_RANDOM_TRUNCATED_BLOCKS, 25)                    \
    X(TRUNCATED_NORMAL, FLOAT, float, truncated, 4,           \
      4 * TFD_RANDOM_TRUNCATED_BLOCKS, 20)                    \
    X(TRUNCATED_NORMAL, DOUBLE, double, truncated, 2,         \
      2 * TFD_RANDOM_TRUNCATED_BLOCKS, 60)

#endif
