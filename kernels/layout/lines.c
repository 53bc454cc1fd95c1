/* lines.c - see lines.h. */
#include "kernels/layout/lines.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define LINE_SIZE 64

/* Beyond this a copy past the caches is quicker than one through them, where a
 * last cache has 32 MiB (Zen 4: 32 MB in 620 us in place of 1050; but 16 MB in
 * 280 us in place of 240). */
#define WORTH_SIZE (20 << 20)

bool tfd_lines_worth(int64_t to, int64_t from)
{
#if defined(__SSE2__)
    return to >= WORTH_SIZE / 4 && to + from >= WORTH_SIZE;
#else
    (void)to;
    (void)from;
    return false;
#endif
}

#if defined(__SSE2__)

/* The lines that are not whole go through the caches, where what is put before
 * and behind completes them. */
void tfd_lines_put(char *to, const char *block, int64_t size)
{
    int64_t at = (int64_t)(-(uintptr_t)to % LINE_SIZE);

    at = at < size ? at : size;
    memcpy(to, block, (size_t)at);
    for (; at + LINE_SIZE <= size; at += LINE_SIZE)
        for (int64_t i = at; i < at + LINE_SIZE; i += 16)
            _mm_stream_si128((__m128i *)(to + i),
                             *(const __m128i *)(block + i));
    memcpy(to + at, block + at, (size_t)(size - at));
}

void tfd_lines_end(void)
{
    _mm_sfence();
}

#else

void tfd_lines_put(char *to, const char *block, int64_t size)
{
    memcpy(to, block, (size_t)size);
}

void tfd_lines_end(void)
{
}

#endif
