/*
 * rows.c - see rows.h.
 *
 * A row of an odd width is moved as two words that overlap: 7 bytes are the
 * first 4 and the last 4.  So a few widths cover all short rows without a
 * branch.  Longer ones are words in a loop, and from 2 KiB on memcpy()'s, whose
 * call is little then.
 */
#include "kernels/layout/rows.h"

#include "common/base/atomic.h"
#include "kernels/layout/line_copy.h"
#include "kernels/layout/lines.h"
#include "kernels/vector/simd.h"

#include <string.h>

/* ---- Moving -------------------------------------------------------------- */

/* Rows between the one that is moved and the one that is prefetched. */
#define AHEAD 12
/* Of a long row so many bytes: then the processor's own prefetcher has seen
 * where it goes. */
#define FETCH_SIZE_MAX 512
#define LINE_SIZE 64

#define INLINE static inline __attribute__((always_inline))

/* Words of so many bytes, wherever they lie; without registers as wide as the
 * last the compiler takes two. */
#define WORD(T) typedef T __attribute__((aligned(1), may_alias))
WORD(uint8_t) word1;
WORD(uint16_t) word2;
WORD(uint32_t) word4;
WORD(uint64_t) word8;
typedef uint64_t word16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t word32 __attribute__((vector_size(32), aligned(1), may_alias));
#define WORD_MAX 32
#define MANY_MAX 2048 /* bytes of a row that is moved without a call */

INLINE void fetch_read(const char *row, size_t size)
{
    for (size_t at = 0; at < size && at < FETCH_SIZE_MAX; at += LINE_SIZE)
        __builtin_prefetch(row + at, 0);
}

INLINE void fetch_write(const char *row, size_t size)
{
    for (size_t at = 0; at < size && at < FETCH_SIZE_MAX; at += LINE_SIZE)
        __builtin_prefetch(row + at, 1);
}

/* How a row of `size` bytes is moved in words T: it is one; it is the first and
 * the last one, which overlap; many; by a call. */
#define ONE(T, to, from, size) *(T *)(to) = *(const T *)(from)
#define TWO(T, to, from, size)                                    \
    do {                                                          \
        const T last = *(const T *)((from) + (size) - sizeof(T)); \
                                                                  \
        ONE(T, to, from, size);                                   \
        *(T *)((to) + (size) - sizeof(T)) = last;                 \
    } while (0)
#define MANY(T, to, from, size)                                    \
    do {                                                           \
        const T last = *(const T *)((from) + (size) - sizeof(T));  \
                                                                   \
        for (size_t b = 0; b + sizeof(T) < (size); b += sizeof(T)) \
            ONE(T, (to) + b, (from) + b, size);                    \
        *(T *)((to) + (size) - sizeof(T)) = last;                  \
    } while (0)
#define CALL(T, to, from, size) memcpy(to, from, size)

/* Up to how many bytes a row is moved how; the first that is wide enough is
 * taken. */
#define WIDTHS(X, set, I)         \
    X(set, I, 1, ONE, word1)      \
    X(set, I, 2, ONE, word2)      \
    X(set, I, 3, TWO, word2)      \
    X(set, I, 4, ONE, word4)      \
    X(set, I, 7, TWO, word4)      \
    X(set, I, 8, ONE, word8)      \
    X(set, I, 15, TWO, word8)     \
    X(set, I, 16, ONE, word16)    \
    X(set, I, 32, TWO, word16)    \
    X(set, I, 64, TWO, word32)    \
    X(set, I, 2048, MANY, word32) \
    X(set, I, SIZE_MAX, CALL, word32)

/* Where the word is the row, its size is a constant, and a gather needs no
 * prefetch: the processor has enough loads under way.  Stores it has not. */
#define SIZE(width, T) (sizeof(T) == (width) ? sizeof(T) : size)
#define FETCHED(T) (sizeof(T) < WORD_MAX ? 1 : size)

#define LOOPS(set, I, width, MOVE, T)                                          \
    TARGET_##set static void gather_##set##_##width##_##I(                     \
        void *to, const void *from, size_t size, const void *index, int64_t n) \
    {                                                                          \
        const char *x = from;                                                  \
        char *y = to;                                                          \
        const I *at = index;                                                   \
                                                                               \
        size = SIZE(width, T);                                                 \
        for (int64_t i = 0; i < n; i++) {                                      \
            if (sizeof(T) != (width) && i < n - AHEAD)                         \
                fetch_read(x + (size_t)at[i + AHEAD] * size, FETCHED(T));      \
            MOVE(T, y + (size_t)i * size, x + (size_t)at[i] * size, size);     \
        }                                                                      \
    }                                                                          \
    TARGET_##set static void scatter_##set##_##width##_##I(                    \
        void *to, const void *from, size_t size, const void *index, int64_t n) \
    {                                                                          \
        const char *x = from;                                                  \
        char *y = to;                                                          \
        const I *at = index;                                                   \
                                                                               \
        size = SIZE(width, T);                                                 \
        for (int64_t i = 0; i < n; i++) {                                      \
            if (i < n - AHEAD)                                                 \
                fetch_write(y + (size_t)at[i + AHEAD] * size, FETCHED(T));     \
            MOVE(T, y + (size_t)at[i] * size, x + (size_t)i * size, size);     \
        }                                                                      \
    }

/* Sets of loops: for any processor, and for one with words of 32 bytes. */
#define TARGET_base
WIDTHS(LOOPS, base, int16_t)
WIDTHS(LOOPS, base, int32_t)
WIDTHS(LOOPS, base, int64_t)
#if defined(__x86_64__)
#define TARGET_avx2 __attribute__((target("avx2")))
WIDTHS(LOOPS, avx2, int16_t)
WIDTHS(LOOPS, avx2, int32_t)
WIDTHS(LOOPS, avx2, int64_t)
#endif

enum index_type { INDEX_16, INDEX_32, INDEX_64, INDEX_END };

struct width {
    size_t up_to; /* bytes of a row */
    tfd_rows_fn *gather, *scatter;
};

#define ROW(set, I, width, how, T) \
    {width, gather_##set##_##width##_##I, scatter_##set##_##width##_##I},
#define SET(set)                                  \
    {                                             \
        [INDEX_16] = {WIDTHS(ROW, set, int16_t)}, \
        [INDEX_32] = {WIDTHS(ROW, set, int32_t)}, \
        [INDEX_64] = {WIDTHS(ROW, set, int64_t)}, \
    }
#define COUNT(set, I, width, how, T) +1
#define WIDTH_COUNT (WIDTHS(COUNT, , ))

static const struct width sets[][INDEX_END][WIDTH_COUNT] = {
    SET(base),
#if defined(__x86_64__)
    SET(avx2),
#endif
};

static enum index_type index_type(enum tfd_dtype dtype)
{
    return dtype == TFD_INT16   ? INDEX_16
           : dtype == TFD_INT32 ? INDEX_32
                                : INDEX_64;
}

static const struct width *width_of(size_t size, enum tfd_dtype index)
{
    const struct width *w = sets[0][index_type(index)];

#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        w = sets[1][index_type(index)];
#endif
    while (w->up_to < size)
        w++;
    return w;
}

/* ---- Near rows ----------------------------------------------------------- */

#define NEAR (1 << 20) /* bytes that a cache of a processor's own holds */

INLINE void move_base(char *to, const char *from, size_t size)
{
    MANY(word32, to, from, size);
}

#define move_avx2 move_base
#define move_avx512 tfd_line_copy_row

/* Rows that MANY moves: what is prefetched out of a near cache costs more than
 * it saves. */
#define PLAIN(set, I)                                                          \
    TARGET_##set static void plain_gather_##set##_##I(                         \
        void *to, const void *from, size_t size, const void *index, int64_t n) \
    {                                                                          \
        const char *x = from;                                                  \
        char *y = to;                                                          \
        const I *at = index;                                                   \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            move_##set(y + (size_t)i * size, x + (size_t)at[i] * size, size);  \
    }                                                                          \
    TARGET_##set static void plain_scatter_##set##_##I(                        \
        void *to, const void *from, size_t size, const void *index, int64_t n) \
    {                                                                          \
        const char *x = from;                                                  \
        char *y = to;                                                          \
        const I *at = index;                                                   \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            move_##set(y + (size_t)at[i] * size, x + (size_t)i * size, size);  \
    }

PLAIN(base, int16_t)
PLAIN(base, int32_t)
PLAIN(base, int64_t)
#if defined(__x86_64__)
PLAIN(avx2, int16_t)
PLAIN(avx2, int32_t)
PLAIN(avx2, int64_t)
#define TARGET_avx512 __attribute__((target(TFD_SIMD_AVX512)))
PLAIN(avx512, int16_t)
PLAIN(avx512, int32_t)
PLAIN(avx512, int64_t)
#endif

#define BY_INDEX(prefix)                                              \
    {                                                                 \
        [INDEX_16] = prefix##_int16_t, [INDEX_32] = prefix##_int32_t, \
        [INDEX_64] = prefix##_int64_t,                                \
    }

static tfd_rows_fn *const plains[][2][INDEX_END] = {
    {BY_INDEX(plain_gather_base), BY_INDEX(plain_scatter_base)},
#if defined(__x86_64__)
    {BY_INDEX(plain_gather_avx2), BY_INDEX(plain_scatter_avx2)},
    {BY_INDEX(plain_gather_avx512), BY_INDEX(plain_scatter_avx512)},
#endif
};

static bool is_plain(size_t room, size_t size)
{
    return room <= NEAR && size > 2 * WORD_MAX && size <= MANY_MAX;
}

static tfd_rows_fn *plain_of(bool scatter, enum tfd_dtype index)
{
#if defined(__x86_64__)
    if (tfd_simd_has_avx512())
        return plains[2][scatter][index_type(index)];
    if (__builtin_cpu_supports("avx2"))
        return plains[1][scatter][index_type(index)];
#endif
    return plains[0][scatter][index_type(index)];
}

/* ---- Far rows ------------------------------------------------------------ */

#define FAR (12 << 20) /* bytes that no cache holds beside as many others */

#if defined(__x86_64__)

bool tfd_rows_streams(size_t room, const void *to, size_t size)
{
    return room >= FAR && size > 0 &&
           (size | (size_t)(uintptr_t)to) % LINE_SIZE == 0;
}

/* A scatter of whole lines, none of which is read before it is written. */
#define STREAM(I)                                                   \
    static void stream_##I(void *to, const void *from, size_t size, \
                           const void *index, int64_t n)            \
    {                                                               \
        const char *x = from;                                       \
        const I *at = index;                                        \
                                                                    \
        for (int64_t i = 0; i < n; i++)                             \
            tfd_lines_stream((char *)to + (size_t)at[i] * size,     \
                             x + (size_t)i * size, size);           \
        tfd_lines_end();                                            \
    }

STREAM(int16_t)
STREAM(int32_t)
STREAM(int64_t)

static tfd_rows_fn *const streams[INDEX_END] = BY_INDEX(stream);

#else

bool tfd_rows_streams(size_t room, const void *to, size_t size)
{
    (void)room;
    (void)to;
    (void)size;
    return false;
}

static tfd_rows_fn *const streams[INDEX_END];

#endif

tfd_rows_fn *tfd_rows_scatter_into(const void *to, size_t room, size_t size,
                                   enum tfd_dtype index)
{
    if (tfd_rows_streams(room, to, size))
        return streams[index_type(index)];
    if (is_plain(room, size))
        return plain_of(true, index);
    return tfd_rows_scatter(size, index);
}

tfd_rows_fn *tfd_rows_gather_from(size_t room, size_t size,
                                  enum tfd_dtype index)
{
    return is_plain(room, size) ? plain_of(false, index)
                                : tfd_rows_gather(size, index);
}

tfd_rows_fn *tfd_rows_gather(size_t size, enum tfd_dtype index)
{
    return width_of(size, index)->gather;
}

tfd_rows_fn *tfd_rows_scatter(size_t size, enum tfd_dtype index)
{
    return width_of(size, index)->scatter;
}

int tfd_rows_cost(size_t size)
{
    return size < 40000 ? (int)(size / 16) + 1 : 2500;
}

/* ---- Checking ------------------------------------------------------------ */

/* So many indices are looked at before asking whether one was bad. */
#define CHECK_BLOCK 1024

struct check {
    const void *index;
    int64_t last; /* the largest that is allowed; at least 0 */
    int64_t *bad; /* the smallest place of one that is not */
};

static void note_bad(const struct check *c, int64_t at)
{
    int64_t least = TFD_LOAD_RELAXED(c->bad);

    while (at < least && !TFD_COMPARE_EXCHANGE(c->bad, &least, at)) {
    }
}

/* One that is negative has its sign set; one that is too large, what is left
 * from it to the last one.  So a block is bad if the OR of all these is. */
#define CHECK(I, U)                                                     \
    TFD_SIMD_LOOP(check_##I)                                            \
    {                                                                   \
        const struct check *c = arg;                                    \
        const U last = (U)c->last;                                      \
        const I *at = c->index;                                         \
                                                                        \
        for (int64_t to; begin < end; begin = to) {                     \
            U signs = 0;                                                \
                                                                        \
            to = end - begin < CHECK_BLOCK ? end : begin + CHECK_BLOCK; \
            for (int64_t i = begin; i < to; i++)                        \
                signs |= (U)((U)at[i] | (U)(last - (U)at[i]));          \
            if (!(signs >> (8 * sizeof(I) - 1)))                        \
                continue;                                               \
            while (at[begin] >= 0 && at[begin] <= c->last)              \
                begin++;                                                \
            note_bad(c, begin);                                         \
            return;                                                     \
        }                                                               \
    }                                                                   \
    TFD_SIMD_CLONES(check_##I)

CHECK(int16_t, uint16_t)
CHECK(int32_t, uint32_t)
CHECK(int64_t, uint64_t)

static const struct {
    tfd_range_fn *check;
    int64_t max;
} index_types[INDEX_END] = {
    [INDEX_16] = {check_int16_t, INT16_MAX},
    [INDEX_32] = {check_int32_t, INT32_MAX},
    [INDEX_64] = {check_int64_t, INT64_MAX},
};

/* k: NULL to stay on this thread. */
static int64_t first_bad(struct tfd_kctx *k, const void *index,
                         enum index_type type, int64_t n, int64_t limit)
{
    int64_t max = index_types[type].max;
    int64_t bad = n;
    struct check c = {index, limit - 1 < max ? limit - 1 : max, &bad};

    if (limit <= 0)
        return 0;
    if (k)
        tfd_kctx_parallel(k, n, 1, index_types[type].check, &c);
    else
        index_types[type].check(&c, 0, n);
    return bad;
}

int64_t tfd_rows_bad(const void *index, enum tfd_dtype dtype, int64_t n,
                     int64_t limit)
{
    return first_bad(NULL, index, index_type(dtype), n, limit);
}

/* Where a thread takes less than a tenth of a nanosecond an index, a second one
 * is worth waking for many. */
#define SHARED_CHECK 1000000

int64_t tfd_rows_bad_in(struct tfd_kctx *k, const struct tfd_tensor *indices,
                        int64_t limit)
{
    int64_t n = tfd_tensor_elements(indices);

    return first_bad(n < SHARED_CHECK ? NULL : k, tfd_tensor_data(indices),
                     index_type(indices->dtype), n, limit);
}
