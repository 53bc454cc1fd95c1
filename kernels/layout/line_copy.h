/*
 * line_copy.h - rows of some lines, copied without a call, in registers as wide
 * as the caller is compiled for (simd.h).
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_LINE_COPY_H
#define TFD_KERNELS_LINE_COPY_H

#include <stddef.h>
#include <stdint.h>

#define TFD_LINE_COPY_MIN 64 /* bytes */

/* A line wherever it lies, in as many registers as it takes. */
typedef uint64_t tfd_line_copy
    __attribute__((vector_size(64), aligned(1), may_alias));

#define TFD_LINE_FROM(row, at) (*(const tfd_line_copy *)((row) + (at)))
#define TFD_LINE_TO(row, at) (*(tfd_line_copy *)((row) + (at)))

/* At least a line.  What is no whole lines ends with one that overlaps; `to`
 * may be `from`.  Loads stand before stores, as a store may seem to meet a load
 * of the next line (4 KiB aliasing). */
static inline __attribute__((always_inline)) void
tfd_line_copy_row(char *to, const char *from, size_t size)
{
    const size_t line = sizeof(tfd_line_copy);
    const tfd_line_copy last = TFD_LINE_FROM(from, size - line);
    size_t at = 0;

    for (; at + 4 * line <= size; at += 4 * line) {
        const tfd_line_copy one = TFD_LINE_FROM(from, at);
        const tfd_line_copy two = TFD_LINE_FROM(from, at + line);
        const tfd_line_copy three = TFD_LINE_FROM(from, at + 2 * line);
        const tfd_line_copy four = TFD_LINE_FROM(from, at + 3 * line);

        TFD_LINE_TO(to, at) = one;
        TFD_LINE_TO(to, at + line) = two;
        TFD_LINE_TO(to, at + 2 * line) = three;
        TFD_LINE_TO(to, at + 3 * line) = four;
    }
    for (; at + line < size; at += line)
        TFD_LINE_TO(to, at) = TFD_LINE_FROM(from, at);
    if (at < size)
        TFD_LINE_TO(to, size - line) = last;
}

#endif
