/*
 * elementwise.h - kernels whose element i of the output depends on element i
 * of each input, after broadcasting.
 *
 * A family supplies, for each element type, a loop over [begin, end) of a
 * struct tfd_row (the kernel's `range`), normally made by one of the macros
 * below from a function of one or two elements.  The functions here make the
 * output, in the buffer of an input where that is free, and run the loop:
 * directly on a few elements, on all compute threads for many, row by row when
 * an operand is repeated.
 *
 * Loops must not use restrict: y may be a or b.
 *
 * Threads: loops run on several threads at once, on separate elements.
 */
#ifndef TFD_KERNELS_ELEMENTWISE_H
#define TFD_KERNELS_ELEMENTWISE_H

#include "common/base/atomic.h"
#include "kernels/vector/simd.h"

struct tfd_row {
    const void *a;
    const void *b; /* NULL for functions of one element */
    void *y;
    int a_step, b_step; /* 0: the same element again and again */
    int *failed;        /* set by tfd_row_fail() */
    float alpha;        /* of LeakyRelu */
    bool far;           /* no second cache holds it all; false: not known */
};

/* A loop met an element it cannot compute (an integer divided by zero). */
static inline void tfd_row_fail(const struct tfd_row *r)
{
    TFD_STORE_RELAXED(r->failed, 1);
}

/* Elements below which a loop is not worth splitting or timing. */
#define TFD_ELEMENTWISE_FEW 256

/* Of a loop that is as quick as its operands come and its results go: how
 * long that takes is for the number of their bytes to say. */
#define TFD_COST_MEMORY 0

/* How to run a loop. */
struct tfd_elementwise {
    enum tfd_dtype dtype; /* of the output */
    int cost;             /* nanoseconds per element; or TFD_COST_MEMORY */
    int *failed;          /* set to 1 by a loop that failed; NULL: none can */
    tfd_range_fn *loop;   /* NULL: the kernel's range */
};

/* Two inputs, broadcast.  INVALID_ARGUMENT "Incompatible shapes: A vs. B". */
enum tfd_code tfd_elementwise_binary(struct tfd_kctx *k,
                                     const struct tfd_elementwise *e,
                                     struct tfd_status *st) TFD_MUST_USE;
/* Two inputs with as many elements; the result has the first one's shape. */
enum tfd_code tfd_elementwise_pair(struct tfd_kctx *k,
                                   const struct tfd_elementwise *e,
                                   struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_elementwise_unary(struct tfd_kctx *k,
                                    const struct tfd_elementwise *e,
                                    struct tfd_status *st) TFD_MUST_USE;

/* What those three do once they have an output: runs the loop over n elements
 * of a row, whose operands are the first inputs (steps of 0 also where there is
 * none).  A large result that is no operand's buffer goes past the caches.
 * Sets row->far. */
void tfd_elementwise_row(struct tfd_kctx *k, const struct tfd_elementwise *e,
                         int64_t n, struct tfd_row *row);

/* Runs a loop over n elements that is as quick as memory (TFD_COST_MEMORY); of
 * this type are the inputs and outputs that it goes through, `streams` in all.
 */
void tfd_elementwise_streams(struct tfd_kctx *k, enum tfd_dtype dtype,
                             int streams, int64_t n, tfd_range_fn *loop,
                             void *row);
/* The same for one that reads and writes so many variables, and reads one
 * operand more. */
void tfd_elementwise_updates(struct tfd_kctx *k, enum tfd_dtype dtype,
                             int variables, int64_t n, tfd_range_fn *loop,
                             void *row);

/* Ready compute functions: result of the inputs' type, or BOOL. */
enum tfd_code tfd_elementwise_compute2(struct tfd_kctx *k,
                                       struct tfd_status *st);
enum tfd_code tfd_elementwise_compare(struct tfd_kctx *k,
                                      struct tfd_status *st);
enum tfd_code tfd_elementwise_compute1(struct tfd_kctx *k,
                                       struct tfd_status *st);
/* As compute1, where the loop is vectorised: a nanosecond an element. */
enum tfd_code tfd_elementwise_vector1(struct tfd_kctx *k,
                                      struct tfd_status *st);
enum tfd_code tfd_elementwise_vector2(struct tfd_kctx *k,
                                      struct tfd_status *st);
enum tfd_code tfd_elementwise_test(struct tfd_kctx *k, struct tfd_status *st);

/* That of a function of one element whose loop is vectorised for floats and
 * doubles, by element type.  Of doubles it takes a nanosecond, too, but two
 * threads gain from 8,000 on (Sin: 5.3 us in place of 8.8), which the lesser
 * cost would leave to one. */
#define TFD_COMPUTE1_FLOAT tfd_elementwise_vector1
#define TFD_COMPUTE1_DOUBLE tfd_elementwise_compute1
#define TFD_COMPUTE1_HALF tfd_elementwise_compute1
#define TFD_COMPUTE1_BFLOAT16 tfd_elementwise_compute1
#define TFD_COMPUTE1_COMPLEX64 tfd_elementwise_compute1
#define TFD_COMPUTE1_COMPLEX128 tfd_elementwise_compute1

/* ---- Blocks -------------------------------------------------------------- */

/* Loops with much arithmetic an element are blocks of so many bytes: a
 * processor in the midst of it does not see far enough ahead to ask for memory
 * in time, so the block after the one that is computed is asked for before. */
#define TFD_BLOCK_SIZE 4096
#define TFD_LINE_SIZE 64
/* Up to so many bytes of an operand lie in a cache so near that asking for
 * them costs more than it gains. */
#define TFD_BLOCK_NEAR ((int64_t)256 << 10)

/* Whether so many bytes of an operand are one block, for which nothing is asked
 * ahead.  On AMD's processors all are: with Zen 4, loops of 1 to 16 MB take 3
 * to 20 % longer in blocks. */
static inline bool tfd_block_is_whole(int64_t bytes)
{
#if defined(__x86_64__)
    return bytes <= TFD_BLOCK_NEAR || __builtin_cpu_is("amd");
#else
    return bytes <= TFD_BLOCK_NEAR;
#endif
}

static inline int64_t tfd_block_end(int64_t at, int64_t end, size_t size)
{
    const int64_t block = (int64_t)(TFD_BLOCK_SIZE / size);

    return end - at < block ? end : at + block;
}

/* Asks for the block at `next`, of at most n elements. */
static inline void tfd_block_ahead(const void *next, int64_t n, size_t size)
{
    const int64_t block = (int64_t)(TFD_BLOCK_SIZE / size);
    const int64_t bytes = (n < block ? n : block) * (int64_t)size;

    for (int64_t i = 0; i < bytes; i += TFD_LINE_SIZE)
        __builtin_prefetch((const char *)next + i);
}

/* ---- Loops --------------------------------------------------------------- */

#define TFD_EACH_INLINE static inline __attribute__((always_inline))

/* One element: y[i] = function(a[i]), and y[i] = function(a[j], b[k]).  The
 * macros below make such a function of a family's own, for its types; the loops
 * around it are inlined with it, so that the compiler sees one loop. */
typedef void tfd_unary_at(const void *a, void *y, int64_t i);
typedef void tfd_binary_at(const void *a, int64_t j, const void *b, int64_t k,
                           void *y, int64_t i);
/* Elements [begin, end). */
typedef void tfd_row_each(const struct tfd_row *r, int64_t begin, int64_t end);

TFD_EACH_INLINE void tfd_unary_each(const struct tfd_row *r, int64_t begin,
                                    int64_t end, tfd_unary_at *at)
{
    const void *a = r->a;
    void *y = r->y;

    for (int64_t i = begin; i < end; i++)
        at(a, y, i);
}

/* Of two that both go on. */
TFD_EACH_INLINE void tfd_binary_both(const struct tfd_row *r, int64_t begin,
                                     int64_t end, tfd_binary_at *at)
{
    const void *a = r->a, *b = r->b;
    void *y = r->y;

    for (int64_t i = begin; i < end; i++)
        at(a, i, b, i, y, i);
}

/* Of one on the left, or on the right, that is the same again and again. */
TFD_EACH_INLINE void tfd_binary_left(const struct tfd_row *r, int64_t begin,
                                     int64_t end, const void *one,
                                     tfd_binary_at *at)
{
    const void *b = r->b;
    void *y = r->y;

    for (int64_t i = begin; i < end; i++)
        at(one, 0, b, i, y, i);
}

TFD_EACH_INLINE void tfd_binary_right(const struct tfd_row *r, int64_t begin,
                                      int64_t end, const void *one,
                                      tfd_binary_at *at)
{
    const void *a = r->a;
    void *y = r->y;

    for (int64_t i = begin; i < end; i++)
        at(a, i, one, 0, y, i);
}

/* In blocks. */
TFD_EACH_INLINE void tfd_unary_blocks(const struct tfd_row *r, int64_t begin,
                                      int64_t end, size_t size,
                                      tfd_unary_at *at)
{
    const bool whole = tfd_block_is_whole((end - begin) * (int64_t)size);

    for (int64_t from = begin, to; from < end; from = to) {
        to = whole ? end : tfd_block_end(from, end, size);
        tfd_block_ahead((const char *)r->a + (size_t)to * size, end - to, size);
        tfd_unary_each(r, from, to, at);
    }
}

TFD_EACH_INLINE void tfd_binary_blocks(const struct tfd_row *r, int64_t begin,
                                       int64_t end, size_t size,
                                       tfd_row_each *each)
{
    const bool whole = tfd_block_is_whole((end - begin) * (int64_t)size);

    for (int64_t from = begin, to; from < end; from = to) {
        to = whole ? end : tfd_block_end(from, end, size);
        if (r->a_step)
            tfd_block_ahead((const char *)r->a + (size_t)to * size, end - to,
                            size);
        if (r->b_step)
            tfd_block_ahead((const char *)r->b + (size_t)to * size, end - to,
                            size);
        each(r, from, to);
    }
}

/* An element that is repeated is copied first, since y may be where it lies;
 * there may be none when there is nothing to do.
 * target: an attribute of the functions, or nothing. */
#define TFD_BINARY_EACH(target, name, TA, TY, function)                      \
    target TFD_EACH_INLINE void name##_at(const void *a, int64_t j,          \
                                          const void *b, int64_t k, void *y, \
                                          int64_t i)                         \
    {                                                                        \
        ((TY *)y)[i] = function(((const TA *)a)[j], ((const TA *)b)[k]);     \
    }                                                                        \
    target TFD_EACH_INLINE void name##_each(const struct tfd_row *r,         \
                                            int64_t begin, int64_t end)      \
    {                                                                        \
        if (begin >= end)                                                    \
            return;                                                          \
        if (!r->b_step) {                                                    \
            const TA one = *(const TA *)r->b;                                \
                                                                             \
            tfd_binary_right(r, begin, end, &one, name##_at);                \
        } else if (!r->a_step) {                                             \
            const TA one = *(const TA *)r->a;                                \
                                                                             \
            tfd_binary_left(r, begin, end, &one, name##_at);                 \
        } else {                                                             \
            tfd_binary_both(r, begin, end, name##_at);                       \
        }                                                                    \
    }

#define TFD_UNARY_AT(target, name, TA, TY, function)                         \
    target TFD_EACH_INLINE void name##_at(const void *a, void *y, int64_t i) \
    {                                                                        \
        ((TY *)y)[i] = function(((const TA *)a)[i]);                         \
    }

#define TFD_UNARY_EACH(target, name, TA, TY, function)                  \
    TFD_UNARY_AT(target, name, TA, TY, function)                        \
    target TFD_EACH_INLINE void name##_each(const struct tfd_row *r,    \
                                            int64_t begin, int64_t end) \
    {                                                                   \
        tfd_unary_each(r, begin, end, name##_at);                       \
    }

#define TFD_BINARY_LOOP(name, TA, TY, function)             \
    TFD_BINARY_EACH(, name, TA, TY, function)               \
    static void name(void *arg, int64_t begin, int64_t end) \
    {                                                       \
        name##_each(arg, begin, end);                       \
    }

#define TFD_BINARY_SIMD(name, TA, TY, function) \
    TFD_BINARY_EACH(, name, TA, TY, function)   \
    TFD_SIMD_LOOP(name)                         \
    {                                           \
        name##_each(arg, begin, end);           \
    }                                           \
    TFD_SIMD_CLONES(name)

/* With vectors of AVX-512, too: for what is computed in place, or lies in the
 * first cache, they are quicker even where nothing else is done (Zen 5:
 * AssignAdd of 64,000 floats takes 2.2 us in place of 2.65, Maximum of 1,000
 * doubles 0.16 in place of 0.21), but slower where the second cache is too
 * small (a column added to 4,000,000 floats: 700 us in place of 470). */
#define TFD_BINARY_LONG(name, TA, TY, function) \
    TFD_BINARY_EACH(, name, TA, TY, function)   \
    TFD_SIMD_LOOP(name)                         \
    {                                           \
        name##_each(arg, begin, end);           \
    }                                           \
    TFD_SIMD_CLONES_WIDE_IF(name, !((const struct tfd_row *)arg)->far)

/* Loops of integers: copies for long vectors cost memory, so only of what is
 * computed with often. */
#define TFD_BINARY_OF_INT8 TFD_BINARY_SIMD
#define TFD_BINARY_OF_INT16 TFD_BINARY_SIMD
#define TFD_BINARY_OF_INT32 TFD_BINARY_LONG
#define TFD_BINARY_OF_INT64 TFD_BINARY_LONG
#define TFD_BINARY_OF_UINT8 TFD_BINARY_SIMD
#define TFD_BINARY_OF_UINT16 TFD_BINARY_SIMD
#define TFD_BINARY_OF_UINT32 TFD_BINARY_SIMD
#define TFD_BINARY_OF_UINT64 TFD_BINARY_SIMD
#define TFD_UNARY_OF_INT8 TFD_UNARY_SIMD
#define TFD_UNARY_OF_INT16 TFD_UNARY_SIMD
#define TFD_UNARY_OF_INT32 TFD_UNARY_LONG
#define TFD_UNARY_OF_INT64 TFD_UNARY_LONG
#define TFD_UNARY_OF_UINT8 TFD_UNARY_SIMD
#define TFD_UNARY_OF_UINT16 TFD_UNARY_SIMD
#define TFD_UNARY_OF_UINT32 TFD_UNARY_SIMD
#define TFD_UNARY_OF_UINT64 TFD_UNARY_SIMD

/* The same in blocks. */
#define TFD_BINARY_WIDE(name, TA, TY, function)                      \
    TFD_BINARY_EACH(, name, TA, TY, function)                        \
    TFD_SIMD_LOOP(name)                                              \
    {                                                                \
        tfd_binary_blocks(arg, begin, end, sizeof(TA), name##_each); \
    }                                                                \
    TFD_SIMD_CLONES_WIDE(name)

/* Of two that have as many elements: neither is one that is repeated, so there
 * is one loop in place of three. */
#define TFD_PAIR_EACH(name, TA, TY, function)                                \
    TFD_EACH_INLINE void name##_at(const void *a, int64_t j, const void *b,  \
                                   int64_t k, void *y, int64_t i)            \
    {                                                                        \
        ((TY *)y)[i] = function(((const TA *)a)[j], ((const TA *)b)[k]);     \
    }                                                                        \
    TFD_EACH_INLINE void name##_each(const struct tfd_row *r, int64_t begin, \
                                     int64_t end)                            \
    {                                                                        \
        tfd_binary_both(r, begin, end, name##_at);                           \
    }

#define TFD_PAIR_SIMD(name, TA, TY, function) \
    TFD_PAIR_EACH(name, TA, TY, function)     \
    TFD_SIMD_LOOP(name)                       \
    {                                         \
        name##_each(arg, begin, end);         \
    }                                         \
    TFD_SIMD_CLONES(name)

#define TFD_PAIR_WIDE(name, TA, TY, function)                        \
    TFD_PAIR_EACH(name, TA, TY, function)                            \
    TFD_SIMD_LOOP(name)                                              \
    {                                                                \
        tfd_binary_blocks(arg, begin, end, sizeof(TA), name##_each); \
    }                                                                \
    TFD_SIMD_CLONES_WIDE(name)

#define TFD_UNARY_LOOP(name, TA, TY, function)              \
    TFD_UNARY_EACH(, name, TA, TY, function)                \
    static void name(void *arg, int64_t begin, int64_t end) \
    {                                                       \
        name##_each(arg, begin, end);                       \
    }

#define TFD_UNARY_SIMD(name, TA, TY, function) \
    TFD_UNARY_EACH(, name, TA, TY, function)   \
    TFD_SIMD_LOOP(name)                        \
    {                                          \
        name##_each(arg, begin, end);          \
    }                                          \
    TFD_SIMD_CLONES(name)

#define TFD_UNARY_LONG(name, TA, TY, function) \
    TFD_UNARY_EACH(, name, TA, TY, function)   \
    TFD_SIMD_LOOP(name)                        \
    {                                          \
        name##_each(arg, begin, end);          \
    }                                          \
    TFD_SIMD_CLONES_WIDE_IF(name, !((const struct tfd_row *)arg)->far)

#define TFD_UNARY_WIDE(name, TA, TY, function)                    \
    TFD_UNARY_AT(, name, TA, TY, function)                        \
    TFD_SIMD_LOOP(name)                                           \
    {                                                             \
        tfd_unary_blocks(arg, begin, end, sizeof(TA), name##_at); \
    }                                                             \
    TFD_SIMD_CLONES_WIDE(name)

/* A function that holds for usual arguments and is vectorised, and one for
 * all: of blocks that have a rare argument, `any` computes every element.
 * Where both hold, their values are the same. */
#define TFD_UNARY_RARE(name, T, is_rare, usual, any)                \
    static __attribute__((noinline)) void name##_any(               \
        const T *a, T *y, int64_t begin, int64_t end)               \
    {                                                               \
        for (int64_t i = begin; i < end; i++)                       \
            y[i] = any(a[i]);                                       \
    }                                                               \
    TFD_SIMD_LOOP(name)                                             \
    {                                                               \
        const struct tfd_row *r = arg;                              \
        const T *a = r->a;                                          \
        T *y = r->y;                                                \
        const bool whole =                                          \
            tfd_block_is_whole((end - begin) * (int64_t)sizeof(T)); \
                                                                    \
        for (int64_t at = begin, to; at < end; at = to) {           \
            int rare = 0;                                           \
                                                                    \
            to = tfd_block_end(at, end, sizeof(T));                 \
            if (!whole)                                             \
                tfd_block_ahead(a + to, end - to, sizeof(T));       \
            for (int64_t i = at; i < to; i++)                       \
                rare |= is_rare(a[i]);                              \
            if (rare)                                               \
                name##_any(a, y, at, to);                           \
            else                                                    \
                for (int64_t i = at; i < to; i++)                   \
                    y[i] = usual(a[i]);                             \
        }                                                           \
    }                                                               \
    TFD_SIMD_CLONES_WIDE(name)

/* name, C type, unsigned type to compute in without overflow being undefined;
 * narrow types would be promoted to int, whose product can overflow. */
#define TFD_WRAPPING_DTYPES(X)    \
    X(INT8, int8_t, uint32_t)     \
    X(INT16, int16_t, uint32_t)   \
    X(INT32, int32_t, uint32_t)   \
    X(INT64, int64_t, uint64_t)   \
    X(UINT8, uint8_t, uint32_t)   \
    X(UINT16, uint16_t, uint32_t) \
    X(UINT32, uint32_t, uint32_t) \
    X(UINT64, uint64_t, uint64_t)

/* name, C type, to float, from float. */
#define TFD_ROUND_HALF(v) tfd_half_round(v)
#define TFD_ROUND_BFLOAT16(v) tfd_bfloat16_round(v)
#define TFD_NARROW_DTYPES(X)                                  \
    X(HALF, tfd_half, tfd_half_to_float, tfd_half_from_float) \
    X(BFLOAT16, tfd_bfloat16, tfd_bfloat16_to_float, tfd_bfloat16_from_float)

#endif
