/*
 * png_filter.h - which of PNG's filters a row of a picture is written with.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_PNG_FILTER_H
#define TFD_KERNELS_PNG_FILTER_H

#include <stdbool.h>
#include <stdint.h>

/* In the order of their numbers in a file (the PNG specification, 9.2). */
enum tfd_png_filter {
    TFD_PNG_NONE,
    TFD_PNG_SUB,
    TFD_PNG_UP,
    TFD_PNG_AVERAGE,
    TFD_PNG_PAETH,
    TFD_PNG_FILTERS
};

/* Whether the processor has the vectors for it: it must not be called, where
 * not. */
bool tfd_png_filter_is_quick(void);

/* The filter whose bytes, as signed numbers, have the least sum of absolute
 * values, and the first of those that have the same: what libpng finds.
 * Of a row of `size` bytes with `step` bytes to a pixel, size > step, and the
 * row above it. */
enum tfd_png_filter tfd_png_filter_choose(const uint8_t *row,
                                          const uint8_t *above, int64_t size,
                                          int step);

#endif
