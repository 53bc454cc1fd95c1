/*
 * add_n.c - AddN: the sum of any number of tensors of one shape, from the first
 * to the last.
 *
 * Many inputs are added a few at a time, block by block of the result, which
 * stays in the first cache meanwhile.
 */
#include "kernels/core/families.h"

#include "common/base/min.h"
#include "kernels/math/binary.h"
#include "kernels/core/check.h"
#include "kernels/core/gradient.h"
#include "kernels/core/outputs.h"
#include "kernels/core/runtime.h"
#include "kernels/list/variant_math.h"
#include "kernels/vector/narrow_lanes.h"
#include "kernels/vector/simd.h"

#include <unistd.h>

#define BLOCK 4096 /* elements: 16 KiB of floats, half a first cache */
#define AT_ONCE 8  /* inputs that are read side by side */

/* ---- One pass for the usual types ---------------------------------------- */

/* y[i] = x[0][i] + ... + x[count - 1][i], from the first to the last; x[0] may
 * be y. */
struct several {
    const void *x[AT_ONCE];
    int count;
    bool far;      /* in no cache */
    int64_t ahead; /* bytes, where they are */
    void *y;
};

#define CASE(n, sum, far)           \
    case n:                         \
        sum(s, begin, end, n, far); \
        break;
#define CASES(sum, far) \
    CASE(2, sum, far)   \
    CASE(3, sum, far)   \
    CASE(4, sum, far)   \
    CASE(5, sum, far)   \
    CASE(6, sum, far)   \
    CASE(7, sum, far)   \
    CASE(8, sum, far)

#define VECTOR_SIZE 32
/* Of so many inputs the processor does not see far enough ahead in each: asked
 * for so many bytes early, eight out of memory take a tenth less time (Zen 4).
 */
#define AHEAD_MIN 4
#define AHEAD 128
/* Zen 5: eight of doubles in a sixth less; but two threads, which memory alone
 * holds up, take a twentieth more. */
#define AHEAD_FURTHER 512

/* A line at a time, of vectors of 32 bytes: of eight inputs out of all caches
 * they take a sixth less time than those of 64 (Zen 4).  The count is a
 * constant, so that the additions of an element are as many instructions and no
 * loop.  Inputs past it are not looked at. */
#define SEVERAL(name, T)                                                      \
    typedef T vector_##name __attribute__((vector_size(VECTOR_SIZE),          \
                                           aligned(sizeof(T)), may_alias));   \
    enum { LINE_##name = 2 * VECTOR_SIZE / sizeof(T) };                       \
                                                                              \
    static inline __attribute__((always_inline)) void vector_sum_##name(      \
        const T *const x[AT_ONCE], int64_t i, const int count, T *y)          \
    {                                                                         \
        vector_##name sum = *(const vector_##name *)(x[0] + i) +              \
                            *(const vector_##name *)(x[1] + i);               \
                                                                              \
        for (int k = 2; k < count; k++)                                       \
            sum += *(const vector_##name *)(x[k] + i);                        \
        *(vector_##name *)(y + i) = sum;                                      \
    }                                                                         \
                                                                              \
    static inline __attribute__((always_inline)) void sum_##name(             \
        const struct several *s, int64_t begin, int64_t end, const int count, \
        const bool far)                                                       \
    {                                                                         \
        const T *const x[AT_ONCE] = {s->x[0], s->x[1], s->x[2], s->x[3],      \
                                     s->x[4], s->x[5], s->x[6], s->x[7]};     \
                                                                              \
        const int64_t ahead = s->ahead;                                       \
        T *const y = s->y; /* as a store could be to s */                     \
                                                                              \
        for (int64_t i = begin; i < end; i += LINE_##name) {                  \
            for (int k = 0; far && count >= AHEAD_MIN && k < count; k++)      \
                __builtin_prefetch((const char *)(x[k] + i) + ahead);         \
            vector_sum_##name(x, i, count, y);                                \
            vector_sum_##name(x, i + LINE_##name / 2, count, y);              \
        }                                                                     \
    }                                                                         \
                                                                              \
    static inline __attribute__((always_inline)) void rest_##name(            \
        const struct several *s, int64_t begin, int64_t end)                  \
    {                                                                         \
        for (int64_t i = begin; i < end; i++) {                               \
            T sum = ((const T *)s->x[0])[i];                                  \
                                                                              \
            for (int k = 1; k < s->count; k++)                                \
                sum += ((const T *)s->x[k])[i];                               \
            ((T *)s->y)[i] = sum;                                             \
        }                                                                     \
    }                                                                         \
                                                                              \
    TFD_SIMD_LOOP(several_##name)                                             \
    {                                                                         \
        const struct several *s = arg;                                        \
        const int64_t last = end;                                             \
                                                                              \
        end -= (end - begin) % LINE_##name;                                   \
        if (s->far)                                                           \
            switch (s->count) {                                               \
                CASES(sum_##name, true)                                       \
            }                                                                 \
        else                                                                  \
            switch (s->count) {                                               \
                CASES(sum_##name, false)                                      \
            }                                                                 \
        rest_##name(s, end, last);                                            \
    }                                                                         \
    TFD_SIMD_CLONES(several_##name)

SEVERAL(FLOAT, float)
SEVERAL(DOUBLE, double)
SEVERAL(INT32, uint32_t) /* sums that wrap */
SEVERAL(INT64, uint64_t)

#if defined(__x86_64__)

/* Halves by 16, where that pays; the first that is left. */
TFD_LANES_INLINE int64_t sum16_HALF(const struct several *s, int64_t begin,
                                    int64_t end)
{
    int64_t i = begin;

    if (!tfd_lanes16_pay())
        return i;
    for (; end - i >= 16; i += 16) {
        __m512 sum = tfd_lanes16_load((const uint16_t *)s->x[0] + i);

        for (int k = 1; k < s->count; k++)
            sum = tfd_lanes16_round_HALF(tfd_lanes16_add(
                sum, tfd_lanes16_load((const uint16_t *)s->x[k] + i)));
        _mm256_storeu_si256((void *)((uint16_t *)s->y + i),
                            tfd_lanes16_to_HALF(sum));
    }
    return i;
}

#define sum16_BFLOAT16(s, begin, end) (begin)

/* Elements [i, i + n), of at most 8, rounded after each addition. */
#define SUM_NARROW(name, number, T)                                           \
    TFD_LANES_INLINE void sum_##name(const struct several *s, int64_t i,      \
                                     int64_t n)                               \
    {                                                                         \
        __m256 sum = tfd_lanes_load(TFD_##name, (const T *)s->x[0] + i, n);   \
                                                                              \
        for (int k = 1; k < s->count; k++)                                    \
            sum = tfd_lanes_round_##name(tfd_lanes_add(                       \
                sum, tfd_lanes_load(TFD_##name, (const T *)s->x[k] + i, n))); \
        tfd_lanes_store(TFD_##name, (T *)s->y + i, sum, n);                   \
    }                                                                         \
    TFD_LANES_TARGET static void several_##name(void *arg, int64_t begin,     \
                                                int64_t end)                  \
    {                                                                         \
        int64_t i = sum16_##name(arg, begin, end);                            \
                                                                              \
        for (; end - i >= TFD_LANES; i += TFD_LANES)                          \
            sum_##name(arg, i, TFD_LANES);                                    \
        if (i < end)                                                          \
            sum_##name(arg, i, end - i);                                      \
    }
TFD_HALF_DTYPES(SUM_NARROW)

#else

#define several_HALF NULL
#define several_BFLOAT16 NULL

#endif

/* Where halves no longer lie in a cache: there two at a time are quicker, as
 * nothing waits for the rounding before. */
#define FAR_SIZE ((int64_t)8 << 20)

/* NULL: none for so many bytes of that type. */
static tfd_range_fn *loop_of_several(enum tfd_dtype t, int64_t bytes)
{
    if (t == TFD_HALF || t == TFD_BFLOAT16)
        return bytes < FAR_SIZE || !tfd_simd_has_avx512() ? NULL
               : t == TFD_HALF                            ? several_HALF
                                                          : several_BFLOAT16;
    return t == TFD_FLOAT    ? several_FLOAT
           : t == TFD_DOUBLE ? several_DOUBLE
           : t == TFD_INT32  ? several_INT32
           : t == TFD_INT64  ? several_INT64
                             : NULL;
}

/* ---- Two at a time ------------------------------------------------------- */

struct sum {
    const struct tfd_kctx *k;
    tfd_range_fn *add, *several; /* several: NULL for most types */
    int64_t bytes;               /* of all inputs */
    bool nine_ways; /* has the first cache; false below NEAR_SIZE */
};

static void add_block(const struct sum *s, int64_t begin, int64_t end)
{
    const struct tfd_kctx *k = s->k;
    struct tfd_row row = {.a = k->in[0].buffer->data,
                          .y = k->out[0].buffer->data,
                          .a_step = 1,
                          .b_step = 1};

    for (int i = 1; i < k->in_count; i++) {
        row.b = k->in[i].buffer->data;
        s->add(&row, begin, end);
        row.a = row.y;
    }
}

/* Eight inputs and the result have nine lines in the same place of their pages.
 * For a first cache that has room for eight of them they are read in two
 * passes, where they lie in between the caches, of which a short block is
 * quicker. */
#define NEAR_SIZE (1 << 20)
#define BETWEEN_AT_ONCE 5
#define BETWEEN_BLOCK 1024

static bool has_nine_ways(void)
{
#ifdef _SC_LEVEL1_DCACHE_ASSOC
    return sysconf(_SC_LEVEL1_DCACHE_ASSOC) > AT_ONCE;
#else
    return false;
#endif
}

static bool takes_two_passes(const struct sum *s)
{
    return s->bytes >= NEAR_SIZE && s->bytes < FAR_SIZE && !s->nine_ways;
}

static void add_several(const struct sum *s, int64_t begin, int64_t end)
{
    const struct tfd_kctx *k = s->k;
    struct several row = {.x = {k->in[0].buffer->data},
                          .far = s->bytes >= FAR_SIZE,
                          .ahead = s->nine_ways && tfd_kctx_threads(k) < 2
                                       ? AHEAD_FURTHER
                                       : AHEAD,
                          .y = k->out[0].buffer->data};
    const int at_once = takes_two_passes(s) ? BETWEEN_AT_ONCE : AT_ONCE;

    for (int i = 1; i < k->in_count;) {
        for (row.count = 1; row.count < at_once && i < k->in_count; i++)
            row.x[row.count++] = k->in[i].buffer->data;
        s->several(&row, begin, end);
        row.x[0] = row.y;
    }
}

static int64_t block_of(const struct sum *s, int64_t all)
{
    if (!s->several || s->k->in_count > AT_ONCE)
        return BLOCK;
    return takes_two_passes(s) ? BETWEEN_BLOCK : all;
}

static void add_blocks(void *arg, int64_t begin, int64_t end)
{
    const struct sum *s = arg;
    const int64_t block = block_of(s, end - begin);

    for (int64_t i = begin; i < end; i += block) {
        const int64_t last = tfd_min(end, i + block);

        if (s->several && s->k->in_count > 2)
            add_several(s, i, last);
        else
            add_block(s, i, last);
    }
}

enum tfd_code tfd_add_n_check(const struct tfd_kctx *k, struct tfd_status *st)
{
    char first[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];
    struct tfd_str name = k->node ? k->node->name : TFD_STR_EMPTY;

    for (int i = 1; i < k->in_count; i++)
        if (!tfd_shape_equal(&k->in[0].shape, &k->in[i].shape))
            return tfd_fail(
                st, TFD_INVALID_ARGUMENT,
                "Inputs to operation " TFD_STR_FMT " of type AddN must have "
                "the same size and shape.  Input 0: %s != input %d: %s",
                TFD_STR_ARG(name), tfd_shape_text(&k->in[0].shape, first), i,
                tfd_shape_text(&k->in[i].shape, other));
    return TFD_OK;
}

static enum tfd_code add_n_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape shape = k->in[0].shape;
    struct sum s = {.k = k,
                    .add = tfd_binary_add_loop(k->in[0].dtype),
                    .bytes = (int64_t)tfd_tensor_size(&k->in[0]) * k->in_count};
    int64_t n;

    s.nine_ways = s.bytes >= NEAR_SIZE && has_nine_ways();
    TFD_TRY(tfd_add_n_check(k, st));
    if (k->in_count == 1) {
        tfd_kctx_output_alias(k, 0, 0, &shape);
        return TFD_OK;
    }
    /* Only the first two: a later one would be overwritten before its turn. */
    TFD_TRY(tfd_kctx_output_reuse(k, 3, 0, k->in[0].dtype, &shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    n = tfd_shape_elements(&shape);
    s.several = loop_of_several(k->in[0].dtype, s.bytes);
    tfd_elementwise_streams(k, k->in[0].dtype, k->in_count + 1, n, add_blocks,
                            &s);
    return TFD_OK;
}

static enum tfd_code add_n_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    (void)st;
    for (int i = 0; i < g->node->in_count; i++)
        g->dx[i] = g->dy[0];
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "AddN",
        .inputs = "inputs: N * T",
        .outputs = "sum: T",
        .attrs = "N: int >= 1; T: {numbertype, variant}",
        .shape = tfd_shape_same,
        .grad = add_n_gradient,
        .flags = TFD_OP_COMMUTATIVE,
    },
};

#define KERNEL(name, number, T) TFD_KERNEL("AddN", name, add_n_cpu),

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(KERNEL) TFD_HALF_DTYPES(KERNEL) TFD_COMPLEX_DTYPES(KERNEL)
        TFD_KERNEL("AddN", VARIANT, tfd_variant_compute_add)};

const struct tfd_family tfd_family_add_n = {
    .name = "add_n",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
