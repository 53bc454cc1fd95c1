/*
 * png.h - pictures as PNG files, by libpng.
 *
 * Pixels are bytes: one channel is grey, two are grey and alpha, three are red,
 * green and blue, four have alpha besides.  libpng chooses the filters and
 * compresses, as it does in TensorFlow.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_PNG_H
#define TFD_KERNELS_PNG_H

#include "common/base/status.h"
#include "common/base/str.h"

#include <stdint.h>

struct tfd_picture {
    const uint8_t *pixels; /* row by row */
    int64_t height, width;
    int channels; /* 1 to 4 */
};

/* Appends the file to *out.  INTERNAL where libpng refuses the picture (a side
 * of more than 1,000,000 pixels) or has no memory. */
enum tfd_code tfd_png_encode(const struct tfd_picture *picture,
                             struct tfd_bytes *out,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
