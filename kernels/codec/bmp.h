/*
 * bmp.h - BMP files without compression: grey of 8 bits, BGR, BGRA.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_CODEC_BMP_H
#define TFD_KERNELS_CODEC_BMP_H

#include "kernels/codec/picture.h"

/* channels: 3, 4, or 0 for what the file has.  INVALID_ARGUMENT for a file
 * whose size is not that of its pixels; palettes are not looked at. */
enum tfd_code tfd_bmp_decode(struct tfd_str file, int64_t channels,
                             struct tfd_picture_sink *sink,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
