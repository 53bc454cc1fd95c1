/*
 * stochastic_cast.c - StochasticCastToInt: floats rounded up or down, by a
 * number from [0, 1) that decides with the fraction as its probability.
 *
 *     x < 0: floor(x + r)     x > 0: floor(x + 1 - r)
 *
 * Which number that is depends on how TensorFlow's loops go through the tensor.
 * One by one, each element that has a fraction takes the first number of the
 * next block of the stream, and nothing else takes any.  Float and double to
 * int32 go by packets of 8 and 4: each takes a block, whose numbers it uses
 * again and again, and what does not fill 8 at the end goes one by one.
 *
 * What is beyond the integers becomes the largest or the smallest as a float,
 * which the conversion may find beyond them still: it is then INT_MIN, as the
 * processor has it.  The stream is followed on one thread.
 */
#include "common/base/half.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/random/random_number.h"
#include "kernels/random/random_stream.h"

#include <math.h>

/* So many elements are done between two looks at the step. */
#define CAST_BLOCK (1 << 16)
#define WHOLE_PACKETS 8 /* elements: a packet of int32 */
#define BLOCK_NUMBERS 4 /* of a block of the stream, at most */

static int32_t to_int32(double v)
{
    return v > -2147483649.0 && v < 2147483648.0 ? (int32_t)v : INT32_MIN;
}

/* The numbers of a block, as each type reads them. */

static int floats_of(const uint32_t *bits, float *r)
{
    for (int i = 0; i < 4; i++)
        r[i] = tfd_random_float_of(bits[i]);
    return 4;
}

static int doubles_of(const uint32_t *bits, double *r)
{
    for (int i = 0; i < 2; i++)
        r[i] = tfd_random_double_of(bits[2 * i], bits[2 * i + 1]);
    return 2;
}

static int halfs_of(const uint32_t *bits, float *r)
{
    for (int i = 0; i < 4; i++)
        r[i] = (float)(bits[i] & 0x3ff) / 1024;
    return 4;
}

static int bfloat16s_of(const uint32_t *bits, float *r)
{
    for (int i = 0; i < 4; i++)
        r[i] = (float)(bits[i] & 0x7f) / 128;
    return 4;
}

/* W computes, ROUND is how T keeps what W has computed. */
#define ROUNDING(name, T, W, FROM, ROUND, NUMBERS, FLOOR)                     \
    static W round_##name(W x, W r, W least, W most)                          \
    {                                                                         \
        if (isnan(x))                                                         \
            return 0;                                                         \
        if (x >= most || x <= least)                                          \
            return x >= most ? most : least;                                  \
        if (x < 0)                                                            \
            return FLOOR(ROUND(x + r));                                       \
        return FLOOR(ROUND(ROUND(x + 1) - r));                                \
    }                                                                         \
                                                                              \
    static bool draws_##name(W x, W least, W most)                            \
    {                                                                         \
        return x > least && x < most && FLOOR(x) != x;                        \
    }                                                                         \
                                                                              \
    static void cast_##name(struct casting *c, int64_t begin, int64_t end)    \
    {                                                                         \
        const T *x = c->x;                                                    \
        const W least = ROUND((W)c->least), most = ROUND((W)c->most);         \
        W r[BLOCK_NUMBERS];                                                   \
        uint32_t bits[4];                                                     \
                                                                              \
        for (int64_t i = begin; i < end; i++) {                               \
            W v = FROM(x[i]);                                                 \
                                                                              \
            if (draws_##name(v, least, most)) {                               \
                tfd_philox_next(&c->stream, bits);                            \
                NUMBERS(bits, r);                                             \
                v = round_##name(v, r[0], least, most);                       \
            } else {                                                          \
                v = isnan(v) ? 0 : v <= least ? least : v >= most ? most : v; \
            }                                                                 \
            c->put(c->y, i, to_int32((double)v));                             \
        }                                                                     \
    }                                                                         \
                                                                              \
    static void packets_##name(struct casting *c, int64_t begin, int64_t end) \
    {                                                                         \
        const T *x = c->x;                                                    \
        const W least = ROUND((W)c->least), most = ROUND((W)c->most);         \
        W r[BLOCK_NUMBERS];                                                   \
        uint32_t bits[4];                                                     \
                                                                              \
        for (int64_t i = begin; i < end; i += c->packet) {                    \
            int n;                                                            \
                                                                              \
            tfd_philox_next(&c->stream, bits);                                \
            n = NUMBERS(bits, r);                                             \
            for (int l = 0; l < c->packet; l++) {                             \
                W v = FROM(x[i + l]);                                         \
                                                                              \
                if (FLOOR(v) != v || v <= least || v >= most)                 \
                    v = round_##name(v, r[l % n], least, most);               \
                c->put(c->y, i + l, to_int32((double)v));                     \
            }                                                                 \
        }                                                                     \
    }

/* Of one execution. */
struct casting {
    const void *x;
    void *y;
    double least, most;
    void (*put)(void *y, int64_t at, int32_t v);
    struct tfd_philox stream;
    int packet; /* elements; 0: one by one */
};

#define SAME(v) (v)
#define KEEP_HALF(v) tfd_half_to_float(tfd_half_from_float(v))
#define KEEP_BFLOAT16(v) tfd_bfloat16_to_float(tfd_bfloat16_from_float(v))
ROUNDING(float, float, float, SAME, SAME, floats_of, floorf)
ROUNDING(double, double, double, SAME, SAME, doubles_of, floor)
ROUNDING(half, tfd_half, float, tfd_half_to_float, KEEP_HALF, halfs_of, floorf)
ROUNDING(bfloat16, tfd_bfloat16, float, tfd_bfloat16_to_float, KEEP_BFLOAT16,
         bfloat16s_of, floorf)

/* ---- The op -------------------------------------------------------------- */

static void put_int8(void *y, int64_t at, int32_t v)
{
    ((int8_t *)y)[at] = (int8_t)(uint8_t)v;
}

static void put_int16(void *y, int64_t at, int32_t v)
{
    ((int16_t *)y)[at] = (int16_t)(uint16_t)v;
}

static void put_int32(void *y, int64_t at, int32_t v)
{
    ((int32_t *)y)[at] = v;
}

typedef void cast_fn(struct casting *c, int64_t begin, int64_t end);

struct cast_type {
    enum tfd_dtype dtype;
    cast_fn *one_by_one, *by_packets;
    int packet; /* elements in one, to int32 */
};

static const struct cast_type cast_types[] = {
    {TFD_FLOAT, cast_float, packets_float, 8},
    {TFD_DOUBLE, cast_double, packets_double, 4},
    {TFD_HALF, cast_half, packets_half, 0},
    {TFD_BFLOAT16, cast_bfloat16, packets_bfloat16, 0},
};

static void cast_to(struct casting *c, enum tfd_dtype out)
{
    c->put = put_int32;
    c->least = INT32_MIN;
    c->most = INT32_MAX;
    if (out == TFD_INT8) {
        c->put = put_int8;
        c->least = INT8_MIN;
        c->most = INT8_MAX;
    } else if (out == TFD_INT16) {
        c->put = put_int16;
        c->least = INT16_MIN;
        c->most = INT16_MAX;
    }
}

static void cast_all(struct casting *c, const struct cast_type *t, int64_t n)
{
    int64_t whole = c->packet ? n - n % WHOLE_PACKETS : 0, at = 0, step;

    for (; at < whole && !tfd_halted(); at += step) {
        step = whole - at < CAST_BLOCK ? whole - at : CAST_BLOCK;
        t->by_packets(c, at, at + step);
    }
    for (; at < n && !tfd_halted(); at += step) {
        step = n - at < CAST_BLOCK ? n - at : CAST_BLOCK;
        t->one_by_one(c, at, at + step);
    }
}

static enum tfd_code cast_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const enum tfd_dtype out = k->node->out_types[0];
    const struct cast_type *t = cast_types;
    struct casting c = {.packet = 0};

    TFD_TRY(tfd_random_key_check_philox(k, 1, st));
    TFD_TRY(tfd_kctx_output(k, 0, out, &k->in[0].shape, st));
    while (t->dtype != k->in[0].dtype)
        t++;
    c.x = tfd_tensor_data(&k->in[0]);
    c.y = tfd_tensor_data(&k->out[0]);
    c.packet = out == TFD_INT32 ? t->packet : 0;
    c.stream = tfd_philox_of(*(const uint64_t *)tfd_tensor_data(&k->in[2]),
                             *(const uint64_t *)tfd_tensor_data(&k->in[1]));
    cast_to(&c, out);
    cast_all(&c, t, tfd_tensor_elements(&k->in[0]));
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "StochasticCastToInt",
        .inputs = "input: Tin, key: uint64, counter: uint64, alg: int32",
        .outputs = "output: Tout",
        .attrs = "Tin: {half, bfloat16, float, double}; "
                 "Tout: {int8, int16, int32}",
        .key = "Tin",
        .shape = tfd_shape_like_first,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("StochasticCastToInt", HALF, cast_compute),
    TFD_KERNEL("StochasticCastToInt", BFLOAT16, cast_compute),
    TFD_KERNEL("StochasticCastToInt", FLOAT, cast_compute),
    TFD_KERNEL("StochasticCastToInt", DOUBLE, cast_compute),
};

const struct tfd_family tfd_family_stochastic_cast = {
    .name = "stochastic_cast",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
