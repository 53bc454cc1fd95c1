/*
 * png.h - pictures as PNG files and back, by libpng.
 *
 * One channel is grey, two are grey and alpha, three are red, green and blue,
 * four have alpha besides.  A channel has a byte, or 16 bits as the processor
 * has them.  Filters and compression are those that libpng chooses, as it does
 * in TensorFlow.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_PNG_H
#define TFD_KERNELS_PNG_H

#include "common/base/status.h"
#include "common/base/str.h"

#include <stdint.h>

struct tfd_picture {
    const void *pixels; /* row by row */
    int64_t height, width;
    int channels;    /* 1 to 4 */
    int bits;        /* of a channel: 8 or 16 */
    int compression; /* zlib's level: 0 to 9, or -1 for its own choice */
};

/* Appends the file to *out.  INTERNAL where libpng refuses the picture (a side
 * of more than 1,000,000 pixels) or has no memory. */
enum tfd_code tfd_png_encode(const struct tfd_picture *picture,
                             struct tfd_bytes *out,
                             struct tfd_status *st) TFD_MUST_USE;

/* ---- Reading ------------------------------------------------------------- */

/* A file whose head was read.  It borrows the bytes. */
struct tfd_png_reader {
    struct png_struct_def *png;
    struct png_info_def *info;
    struct tfd_str left; /* not read yet */
    int64_t height, width;
    int channels, bits; /* of the result */
    bool widen;         /* 8 bits are read and become 16 */
    int passes;         /* 7 of an interlaced file, else 1 */
    int64_t raw_size;   /* of what the file holds, unpacked */
};

/* channels: 1 to 4, or 0 for as many as the file has.  False: this is no PNG
 * that libpng reads.  In either case close() follows. */
bool tfd_png_open(struct tfd_png_reader *r, struct tfd_str file, int channels,
                  int bits);
/* INVALID_ARGUMENT when the picture is larger than TensorFlow reads. */
enum tfd_code tfd_png_check(const struct tfd_png_reader *r,
                            struct tfd_status *st) TFD_MUST_USE;
/* The file is so short that its pixels cannot be in it, however well they are
 * compressed: known before there is memory for them. */
bool tfd_png_short(const struct tfd_png_reader *r);
/* All rows, one after another; what is not read where the thread is told to
 * stop stays as it was.  False: the file is damaged. */
bool tfd_png_read(struct tfd_png_reader *r, void *pixels);
void tfd_png_close(struct tfd_png_reader *r);

#endif
