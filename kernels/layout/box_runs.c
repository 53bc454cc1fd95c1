/*
 * box_runs.c - see box_runs.h.
 *
 * Short runs are copied by loads and stores of a fixed size, the last of which
 * reach back to where the run ends: 12 bytes are bytes 0 to 7 and 4 to 11, and
 * 100 bytes are two times 32 from the first on and two times 32 up to the last.
 */
#include "kernels/layout/box_runs.h"

#include "kernels/layout/box_items.h"
#include "kernels/layout/lines.h"
#include "kernels/core/kernel.h"
#include "kernels/vector/simd.h"

#include <stddef.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))
#define TARGET_base
#define TARGET_avx2 __attribute__((target("avx2")))
#define TARGET_avx512 __attribute__((target(TFD_SIMD_AVX512)))

/* ---- Runs ---------------------------------------------------------------- */

/* Each loop has a copy of its nest: what it stores could be in the nest itself,
 * whose fields would be loaded again for every row, and until the address of a
 * store is known no later load can be sure of its bytes (Zen 5: 62,500 rows of
 * 256 bytes 400 us in place of 670). */

/* Rows that are written later are asked for meanwhile where they have gaps,
 * which no processor foresees.  A row that is not there is no harm. */
#define ROWS_AHEAD 12
#define AHEAD_MAX 256 /* bytes of a row that are all asked for */
#define LINE_SIZE 64

/* Bytes of such a row. */
INLINE ptrdiff_t asked_ahead(const struct tfd_box_nest *n, ptrdiff_t half)
{
    if (half < 32 || n->row_to == n->count)
        return 0;
    return n->count <= AHEAD_MAX ? n->count : half;
}

/* Of `times` to 2 * `times` items of a type: so many from the first byte on,
 * and so many up to the last. */
#define RUN_LOOP(set, name, type, times)                                     \
    TARGET_##set static void name(const struct tfd_box_nest *nest, char *to, \
                                  const char *from)                          \
    {                                                                        \
        const struct tfd_box_nest n = *nest;                                 \
        const ptrdiff_t size = (ptrdiff_t)sizeof(type), half = (times)*size; \
        const ptrdiff_t end = n.count - half;                                \
        const ptrdiff_t ahead = asked_ahead(&n, half);                       \
                                                                             \
        for (int64_t o = 0; o < n.rows; o++) {                               \
            type head[times], tail[times];                                   \
                                                                             \
            for (ptrdiff_t i = 0; i < ahead; i += LINE_SIZE)                 \
                __builtin_prefetch(to + ROWS_AHEAD * n.row_to + i, 1);       \
            for (int i = 0; i < (times); i++) {                              \
                head[i] = OF(type, from, i * size);                          \
                tail[i] = OF(type, from, end + i * size);                    \
            }                                                                \
            for (int i = 0; i < (times); i++) {                              \
                AT(type, to, i *size) = head[i];                             \
                AT(type, to, end + i * size) = tail[i];                      \
            }                                                                \
            from += n.row_from;                                              \
            to += n.row_to;                                                  \
        }                                                                    \
    }

RUN_LOOP(base, run3, item2, 1)    /* 2 to 4 bytes */
RUN_LOOP(base, run7, item4, 1)    /* 4 to 8 */
RUN_LOOP(base, run15, item8, 1)   /* 8 to 16 */
RUN_LOOP(base, run31, item16, 1)  /* 16 to 32 */
RUN_LOOP(base, run63, item16, 2)  /* 32 to 64 */
RUN_LOOP(base, run127, item16, 4) /* 64 to 128 */

static void run1(const struct tfd_box_nest *nest, char *to, const char *from)
{
    const struct tfd_box_nest n = *nest;
    for (int64_t o = 0; o < n.rows; o++)
        to[o * n.row_to] = from[o * n.row_from];
}

/* Some whole items, and the last. */
static void run_short(const struct tfd_box_nest *nest, char *to,
                      const char *from)
{
    const struct tfd_box_nest n = *nest;
    const ptrdiff_t end = n.count - (ptrdiff_t)sizeof(item16);

    for (int64_t o = 0; o < n.rows; o++) {
        const char *x = from + o * n.row_from;
        const item16 tail = OF(item16, x, end);
        char *y = to + o * n.row_to;

        for (ptrdiff_t i = 0; i < end; i += (ptrdiff_t)sizeof(item16))
            AT(item16, y, i) = OF(item16, x, i);
        AT(item16, y, end) = tail;
    }
}

static void run_long(const struct tfd_box_nest *nest, char *to,
                     const char *from)
{
    const struct tfd_box_nest n = *nest;
    for (int64_t o = 0; o < n.rows; o++)
        memcpy(to + o * n.row_to, from + o * n.row_from, (size_t)n.count);
}

#if defined(__x86_64__)
RUN_LOOP(avx2, avx2_run63, item32, 1)  /* 32 to 64 bytes */
RUN_LOOP(avx2, avx2_run127, item32, 2) /* 64 to 128 */
RUN_LOOP(avx2, avx2_run255, item32, 4) /* 128 to 256 */

/* Of lines, as most rows of 64 numbers are: what the caches take best. */
RUN_LOOP(avx512, avx512_run255, item64, 2) /* 128 to 256 bytes */

/* Stores to whole vectors in between: half of the others are to two lines. */
TARGET_avx2 static void avx2_run_more(const struct tfd_box_nest *nest, char *to,
                                      const char *from)
{
    const struct tfd_box_nest n = *nest;
    const ptrdiff_t size = (ptrdiff_t)sizeof(item32), end = n.count - size;

    for (int64_t o = 0; o < n.rows; o++) {
        const char *x = from + o * n.row_from;
        char *y = to + o * n.row_to;
        const item32 head = OF(item32, x, 0), tail = OF(item32, x, end);

        AT(item32, y, 0) = head;
        for (ptrdiff_t i = (ptrdiff_t)(-(uintptr_t)y % sizeof(item32)); i < end;
             i += size)
            AT(item32, y, i) = OF(item32, x, i);
        AT(item32, y, end) = tail;
    }
}
#endif

#define SHORT_RUNS                                \
    {1, run1}, {4, run3}, {8, run7}, {16, run15}, \
    {                                             \
        32, run31                                 \
    }
#define AVX2_RUNS                 \
    SHORT_RUNS, {64, avx2_run63}, \
    {                             \
        128, avx2_run127          \
    }

/* Of runs up to these bytes; for any processor, and for one with AVX2 or
 * AVX-512. */
#define AVX512 2
static const struct run_row {
    int64_t most;
    tfd_box_loop *loop;
} runs[][10] = {
    {SHORT_RUNS,
     {64, run63},
     {128, run127},
     {256, run_short},
     {INT64_MAX, run_long}},
#if defined(__x86_64__)
    {AVX2_RUNS,
     {256, avx2_run255},
     {2048, avx2_run_more},
     {INT64_MAX, run_long}},
    {AVX2_RUNS,
     {256, avx512_run255},
     {2048, avx2_run_more},
     {INT64_MAX, run_long}},
#endif
};

/* Of the sets above and below. */
static int this_processor(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") ? 1 : 0;
#else
    return 0;
#endif
}

tfd_box_loop *tfd_box_run_of(int64_t bytes)
{
    const struct run_row *r =
        runs[tfd_simd_has_avx512() ? AVX512 : this_processor()];

    while (bytes > r->most)
        r++;
    return r->loop;
}

void tfd_box_run(const struct tfd_box_nest *n, int64_t size, char *to,
                 const char *from)
{
    const struct tfd_box_nest bytes = {.rows = n->rows,
                                       .row_to = n->row_to,
                                       .row_from = n->row_from,
                                       .count = n->count * size};

    tfd_box_run_of(bytes.count)(&bytes, to, from);
}

/* Bytes.  Where shorter ones come from memory, two places to read from by turns
 * cost more than two to write to; of longer ones each begins seldom. */
#define RUNS_MIN 128
#define RUNS_MAX 256

#if defined(__x86_64__)
TARGET_avx2 static void avx2_runs(const struct tfd_box_nest *nest, char *to,
                                  const char *from)
{
    const struct tfd_box_nest n = *nest;
    const ptrdiff_t size = (ptrdiff_t)sizeof(item32), end = n.count - size;

    for (int64_t o = 0; o < n.rows; o++)
        for (int64_t r = 0; r < n.runs; r++) {
            const char *x = from + o * n.row_from + r * n.run_from;
            char *y = to + o * n.row_to + r * n.run_to;

            for (ptrdiff_t i = 0; i < end; i += size)
                AT(item32, y, i) = OF(item32, x, i);
            AT(item32, y, end) = OF(item32, x, end);
        }
}
#endif

tfd_box_loop *tfd_box_runs_of(int64_t bytes)
{
#if defined(__x86_64__)
    if (this_processor() == 1 && bytes >= RUNS_MIN && bytes <= RUNS_MAX)
        return avx2_runs;
#endif
    (void)bytes;
    return NULL;
}

/* Rows ahead, of which each is on a page of its own; bytes, where they are read
 * from the last to the first, or are short. */
#define PAST_AHEAD 4
#define PAST_AHEAD_BACK 8192
#define PAST_AHEAD_SHORT 2048
#define PAST_SHORT 256

INLINE int64_t rows_ahead(const struct tfd_box_nest *n)
{
    if (n->row_from < 0)
        return PAST_AHEAD_BACK / n->count;
    return n->count <= PAST_SHORT ? PAST_AHEAD_SHORT / n->count : PAST_AHEAD;
}

/* Rows of n.runs runs, or of one. */
#define PAST_LOOP(set, stream)                                           \
    TARGET_##set static void past_##set(const struct tfd_box_nest *nest, \
                                        char *to, const char *from)      \
    {                                                                    \
        const struct tfd_box_nest n = *nest;                             \
        const int64_t ahead = rows_ahead(&n);                            \
        const int64_t many = n.runs > 0 ? n.runs : 1;                    \
                                                                         \
        for (int64_t o = 0; o < n.rows; o++)                             \
            for (int64_t r = 0; r < many; r++) {                         \
                const char *x = from + o * n.row_from + r * n.run_from;  \
                                                                         \
                tfd_lines_fetch(x + ahead * n.row_from, n.count);        \
                stream(to + o * n.row_to + r * n.run_to, x, n.count);    \
            }                                                            \
    }

INLINE void stream_base(char *to, const char *from, int64_t size)
{
    tfd_lines_stream(to, from, (size_t)size);
}

PAST_LOOP(base, stream_base)
#if defined(__x86_64__)
/* A short run is not worth a call. */
TARGET_avx2 INLINE void stream_avx2(char *to, const char *from, int64_t size)
{
    for (int64_t i = 0; i < size; i += (int64_t)sizeof(__m256i))
        _mm256_stream_si256(
            (__m256i *)(void *)(to + i),
            _mm256_loadu_si256((const __m256i *)(const void *)(from + i)));
}

PAST_LOOP(avx2, stream_avx2)
#endif

tfd_box_loop *tfd_box_run_past(void)
{
#if defined(__x86_64__)
    if (this_processor() == 1)
        return past_avx2;
#endif
    return past_base;
}

/* ---- Copies of one element ----------------------------------------------- */

/* 16 bytes of them. */
INLINE item16 twice(uint64_t bytes)
{
    return (item16){bytes, bytes};
}

INLINE item16 pattern1(const char *x)
{
    return twice(OF(item1, x, 0) * UINT64_C(0x0101010101010101));
}

INLINE item16 pattern2(const char *x)
{
    return twice(OF(item2, x, 0) * UINT64_C(0x0001000100010001));
}

INLINE item16 pattern4(const char *x)
{
    return twice(OF(item4, x, 0) * UINT64_C(0x0000000100000001));
}

INLINE item16 pattern8(const char *x)
{
    return twice(OF(item8, x, 0));
}

INLINE item16 pattern16(const char *x)
{
    return OF(item16, x, 0);
}

/* Writes bytes of the pattern, which are at least those of an item.  What
 * reaches back does so by whole elements. */
#define FILL_ENDS(size, value)                                    \
    INLINE void fill_by##size(char *y, ptrdiff_t bytes, item16 p) \
    {                                                             \
        const item##size item = value;                            \
                                                                  \
        for (ptrdiff_t i = 0; i < bytes - (size); i += (size))    \
            AT(item##size, y, i) = item;                          \
        AT(item##size, y, bytes - (size)) = item;                 \
    }

FILL_ENDS(2, (item2)p[0])
FILL_ENDS(4, (item4)p[0])
FILL_ENDS(8, p[0])
FILL_ENDS(16, p)
FILL_ENDS(32, ((item32){p[0], p[1], p[0], p[1]}))

/* Of 128 bytes and more: as a call for each set, and in steps so long that it
 * does not matter where in a line of instructions the loop comes to lie. */
#define LONG_FILL 128
#define FILL_LONG(set)                                                  \
    TARGET_##set static __attribute__((noinline)) void fill_long_##set( \
        char *y, ptrdiff_t bytes, item16 p)                             \
    {                                                                   \
        const item32 item = {p[0], p[1], p[0], p[1]};                   \
        const ptrdiff_t end = bytes - LONG_FILL;                        \
                                                                        \
        for (ptrdiff_t i = 0; i < end; i += LONG_FILL)                  \
            for (int part = 0; part < LONG_FILL; part += 32)            \
                AT(item32, y, i + part) = item;                         \
        for (int part = 0; part < LONG_FILL; part += 32)                \
            AT(item32, y, end + part) = item;                           \
    }

FILL_LONG(base)
#if defined(__x86_64__)
FILL_LONG(avx2)
#endif

/* Of fewer. */
INLINE void fill_row(char *y, ptrdiff_t bytes, item16 p)
{
    if (bytes >= 32)
        fill_by32(y, bytes, p);
    else if (bytes >= 16)
        fill_by16(y, bytes, p);
    else if (bytes >= 8)
        fill_by8(y, bytes, p);
    else if (bytes >= 4)
        fill_by4(y, bytes, p);
    else if (bytes >= 2)
        fill_by2(y, bytes, p);
    else if (bytes == 1)
        *y = (char)p[0];
}

#define SAME_LOOP(set, size)                                                   \
    TARGET_##set static void set##_same##size(const struct tfd_box_nest *nest, \
                                              char *to, const char *from)      \
    {                                                                          \
        const struct tfd_box_nest n = *nest;                                   \
        const ptrdiff_t bytes = n.count * (size);                              \
                                                                               \
        for (int64_t o = 0; o < n.rows; o++) {                                 \
            const item16 p = pattern##size(from + o * n.row_from);             \
            char *y = to + o * n.row_to;                                       \
                                                                               \
            if (bytes >= LONG_FILL)                                            \
                fill_long_##set(y, bytes, p);                                  \
            else                                                               \
                fill_row(y, bytes, p);                                         \
        }                                                                      \
    }

#define SAME_LOOPS(X, set) \
    X(set, 1)              \
    X(set, 2)              \
    X(set, 4)              \
    X(set, 8)              \
    X(set, 16)

SAME_LOOPS(SAME_LOOP, base)
#if defined(__x86_64__)
SAME_LOOPS(SAME_LOOP, avx2)
#endif

static const struct same_row {
    int64_t size;
    tfd_box_loop *loop;
} sames[][5] = {
#define SAME_ROWS(set)                                        \
    {                                                         \
        {1, set##_same1}, {2, set##_same2}, {4, set##_same4}, \
            {8, set##_same8}, {16, set##_same16},             \
    }
    SAME_ROWS(base),
#if defined(__x86_64__)
    SAME_ROWS(avx2),
#endif
#undef SAME_ROWS
};

tfd_box_loop *tfd_box_same_of(int64_t size)
{
    const struct same_row *r = sames[this_processor()];

    while (r->size != size)
        r++;
    return r->loop;
}

/* ---- Both ---------------------------------------------------------------- */

/* From so many bytes on memcpy() is worth its call. */
#define CALL_MIN 256

/* What is written of a gap may reach into the row behind it, which is written
 * later. */
#define BETWEEN(set)                                                           \
    TARGET_##set static void between_##set(                                    \
        const struct tfd_box_nest *nest, char *to, const char *from, item16 p) \
    {                                                                          \
        const struct tfd_box_nest n = *nest;                                   \
        const item32 item = {p[0], p[1], p[0], p[1]};                          \
        const ptrdiff_t step = (ptrdiff_t)sizeof(item), end = n.count;         \
                                                                               \
        for (int64_t o = 0; o < n.rows; o++) {                                 \
            const char *x = from + o * n.row_from;                             \
            char *y = to + o * n.row_to;                                       \
                                                                               \
            if (end >= CALL_MIN) {                                             \
                memcpy(y, x, (size_t)end);                                     \
            } else {                                                           \
                for (ptrdiff_t i = 0; i < end - step; i += step)               \
                    AT(item32, y, i) = OF(item32, x, i);                       \
                AT(item32, y, end - step) = OF(item32, x, end - step);         \
            }                                                                  \
            if (o + 1 < n.rows)                                                \
                for (ptrdiff_t i = end; i < n.row_to; i += step)               \
                    AT(item32, y, i) = item;                                   \
        }                                                                      \
    }

BETWEEN(base)
#if defined(__x86_64__)
BETWEEN(avx2)
#endif

static item16 pattern_of(const char *value, int64_t size)
{
    switch (size) {
    case 1:
        return pattern1(value);
    case 2:
        return pattern2(value);
    case 4:
        return pattern4(value);
    case 8:
        return pattern8(value);
    default:
        return pattern16(value);
    }
}

void tfd_box_run_between(const struct tfd_box_nest *n, int64_t size, char *to,
                         const char *from, const char *value)
{
    const struct tfd_box_nest bytes = {.rows = n->rows,
                                       .row_to = n->row_to,
                                       .row_from = n->row_from,
                                       .count = n->count * size};
    const item16 p = pattern_of(value, size);

#if defined(__x86_64__)
    if (this_processor() == 1) {
        between_avx2(&bytes, to, from, p);
        return;
    }
#endif
    between_base(&bytes, to, from, p);
}
