/* lines.c - see lines.h. */
#include "kernels/layout/lines.h"

#include "kernels/vector/simd.h"

#include <assert.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define LINE_SIZE 64

/* Beyond this a copy past the caches is quicker than one through them, where a
 * last cache has 32 MiB (Zen 4: 32 MB in 620 us in place of 1050; but 16 MB in
 * 280 us in place of 240). */
#define WORTH_SIZE (20 << 20)
/* Of rows, by several threads (Zen 5: 16 MB of reversed rows 390 us through the
 * caches and 410 past them, but 32 MB 1,000 and 900). */
#define WORTH_SHARED_SIZE (40 << 20)

bool tfd_lines_worth(int64_t to, int64_t from)
{
#if defined(__x86_64__)
    return to >= WORTH_SIZE / 4 && to + from >= WORTH_SIZE;
#else
    (void)to;
    (void)from;
    return false;
#endif
}

bool tfd_lines_worth_shared(int threads, int64_t to, int64_t from)
{
    return tfd_lines_worth(to, from) &&
           (threads < 2 || to + from >= WORTH_SHARED_SIZE);
}

/* ---- Streaming stores ----------------------------------------------------
 *
 * Of 32 bytes, where the processor has them: rows of 256 bytes that are
 * scattered over 16 MB take 640 us, with 16 bytes a store 870 (Zen 4).  Stores
 * of 64 take 610, but half as long again where one row follows the other.
 */

#if defined(__x86_64__)

#define STREAM(set, V, load, store)                                   \
    TARGET_##set static void stream_##set(char *to, const char *from, \
                                          size_t size)                \
    {                                                                 \
        for (size_t b = 0; b < size; b += sizeof(V))                  \
            store((V *)(void *)(to + b),                              \
                  load((const V *)(const void *)(from + b)));         \
    }

#define TARGET_base
#define TARGET_avx2 __attribute__((target("avx2")))
STREAM(base, __m128i, _mm_loadu_si128, _mm_stream_si128)
STREAM(avx2, __m256i, _mm256_loadu_si256, _mm256_stream_si256)

void tfd_lines_stream(void *to, const void *from, size_t size)
{
    if (__builtin_cpu_supports("avx2"))
        stream_avx2(to, from, size);
    else
        stream_base(to, from, size);
}

/* The lines that are not whole go through the caches, where what is put before
 * and behind completes them. */
void tfd_lines_put(char *to, const char *block, int64_t size)
{
    int64_t at = (int64_t)(-(uintptr_t)to % LINE_SIZE), whole;

    at = at < size ? at : size;
    whole = (size - at) / LINE_SIZE * LINE_SIZE;
    memcpy(to, block, (size_t)at);
    tfd_lines_stream(to + at, block + at, (size_t)whole);
    at += whole;
    memcpy(to + at, block + at, (size_t)(size - at));
}

void tfd_lines_end(void)
{
    _mm_sfence();
}

/* ---- Rows with gaps ------------------------------------------------------ */

#define TARGET_avx512 __attribute__((target(TFD_SIMD_AVX512)))
#define INLINE_avx512 TARGET_avx512 static inline __attribute__((always_inline))

/* So many bytes ahead of a load its line is asked for: between stores past the
 * caches no processor looks far enough ahead (Zen 5, rows of 64 doubles: none
 * 1,640 us, 2048 bytes 1,180, 4096 1,020, 8192 930). */
#define AHEAD 8192

INLINE_avx512 void stream_line(char *to, __m512i line)
{
    _mm256_stream_si256((void *)to, _mm512_castsi512_si256(line));
    _mm256_stream_si256((void *)(to + LINE_SIZE / 2),
                        _mm512_extracti64x4_epi64(line, 1));
}

/* Whole lines of a row. */
INLINE_avx512 void stream_row(char *to, const char *from, int64_t size)
{
    for (int64_t at = 0; at < size; at += LINE_SIZE) {
        __builtin_prefetch(from + at + AHEAD);
        stream_line(to + at, _mm512_loadu_si512(from + at));
    }
}

/* The lines from `to` up to `end`: `tail` bytes of a row, the gap, and up to
 * the end `head` bytes of the next row. */
INLINE_avx512 void stream_gap(char *to, const char *end, const char *row,
                              unsigned tail, const char *next, unsigned head,
                              __m512i gap)
{
    const __mmask64 all = ~(__mmask64)0;
    __m512i line =
        _mm512_mask_loadu_epi8(gap, ~(all << (tail % LINE_SIZE)), row);

    for (; to < end - LINE_SIZE; to += LINE_SIZE, line = gap)
        stream_line(to, line);
    if (head > 0)
        line = _mm512_mask_loadu_epi8(line, all << (LINE_SIZE - head),
                                      next + head - LINE_SIZE);
    stream_line(to, line);
}

static int64_t to_next_line(const char *at)
{
    return (int64_t)(-(uintptr_t)at % LINE_SIZE);
}

TARGET_avx512 static void put_rows_avx512(const struct tfd_lines_rows *r,
                                          char *to, const char *from)
{
    const __m512i gap = _mm512_loadu_si512(r->gap);
    int64_t at = to_next_line(to), rest;

    memcpy(to, from, (size_t)at);
    for (int64_t i = 0;; i++, to += r->row_to, from += r->size) {
        char *next = to + r->row_to;
        const int64_t next_at = to_next_line(next);

        rest = (r->size - at) % LINE_SIZE;
        stream_row(to + at, from + at, r->size - at - rest);
        if (i + 1 >= r->rows)
            break;
        at = r->size - rest;
        if (to + at < next + next_at)
            stream_gap(to + at, next + next_at, from + at, (unsigned)rest,
                       from + r->size, (unsigned)next_at, gap);
        at = next_at;
    }
    memcpy(to + r->size - rest, from + r->size - rest, (size_t)rest);
}

bool tfd_lines_has_rows(void)
{
    return tfd_simd_has_avx512();
}

void tfd_lines_put_rows(const struct tfd_lines_rows *r, char *to,
                        const char *from)
{
    assert(r->size >= TFD_LINES_ROW_MIN);
    assert(r->row_to >= r->size);
    if (r->rows > 0)
        put_rows_avx512(r, to, from);
}

#else

bool tfd_lines_has_rows(void)
{
    return false;
}

void tfd_lines_put_rows(const struct tfd_lines_rows *r, char *to,
                        const char *from)
{
    (void)r;
    (void)to;
    (void)from;
    assert(!"asked for where tfd_lines_has_rows()");
}

void tfd_lines_stream(void *to, const void *from, size_t size)
{
    memcpy(to, from, size);
}

void tfd_lines_put(char *to, const char *block, int64_t size)
{
    memcpy(to, block, (size_t)size);
}

void tfd_lines_end(void)
{
}

#endif
