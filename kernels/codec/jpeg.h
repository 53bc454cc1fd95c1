/*
 * jpeg.h - pictures as JPEG files and back, by libjpeg-turbo, with TensorFlow's
 * settings.
 *
 * libjpeg reports an error by a function that must not return.  Each function
 * here jumps back to itself then, and releases what libjpeg holds; a sink that
 * fails does the same by an ordinary return.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_CODEC_JPEG_H
#define TFD_KERNELS_CODEC_JPEG_H

#include "kernels/codec/picture.h"

struct tfd_jpeg_options {
    int64_t ratio;    /* sides are divided by 1, 2, 4 or 8 */
    int64_t channels; /* 1, 3, or 0 for what the file has */
    bool fancy;       /* chroma is interpolated */
    bool accurate;    /* the slower of two DCTs of integers */
    bool recover;     /* of a file that ends early the rest is made up */
    float fraction;   /* of the rows that have to be there, if not */
    bool crop;
    int32_t window[4]; /* first row, first column, height, width */
};

/* INVALID_ARGUMENT for what is no JPEG, or larger than the limits. */
enum tfd_code tfd_jpeg_decode(struct tfd_str file,
                              const struct tfd_jpeg_options *options,
                              struct tfd_picture_sink *sink,
                              struct tfd_status *st) TFD_MUST_USE;

/* Height, width and channels, without decoding. */
enum tfd_code tfd_jpeg_shape(struct tfd_str file, struct tfd_picture_size *out,
                             struct tfd_status *st) TFD_MUST_USE;

struct tfd_jpeg_settings {
    int64_t quality; /* 0 to 100 */
    bool progressive, optimize, chroma_downsampling;
    bool per_cm; /* densities are of centimetres, not inches */
    int64_t x_density, y_density;
    struct tfd_str xmp; /* metadata; "" for none */
};

/* Appends the file to *out; pixels are grey (1 channel) or RGB (3).  INTERNAL
 * where libjpeg refuses the picture. */
enum tfd_code tfd_jpeg_encode(const uint8_t *pixels,
                              const struct tfd_picture_size *size,
                              const struct tfd_jpeg_settings *settings,
                              struct tfd_bytes *out,
                              struct tfd_status *st) TFD_MUST_USE;

#endif
