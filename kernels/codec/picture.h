/*
 * picture.h - where the pixels of a decoded file go.
 *
 * A decoder first reads how large the picture is, then asks its sink for room,
 * then writes all of it.  The sink is who knows the op: it checks the number of
 * frames, makes the output, or memory of its own for pixels that become another
 * type.  A decoder frees nothing that a sink gave.
 *
 * Sizes are checked before anything is asked for: TFD_PICTURE_PIXELS_MAX of
 * all frames.
 *
 * Threads: any; one picture belongs to one thread.
 */
#ifndef TFD_KERNELS_CODEC_PICTURE_H
#define TFD_KERNELS_CODEC_PICTURE_H

#include "common/base/status.h"
#include "common/base/str.h"

#include <stdint.h>

struct tfd_picture_size {
    int64_t frames, height, width, channels;
};

struct tfd_picture_sink {
    /* Room for this many bytes, one for each channel of each pixel, in *out:
     * frame by frame, row by row. */
    enum tfd_code (*room)(struct tfd_picture_sink *s,
                          const struct tfd_picture_size *size, uint8_t **out,
                          struct tfd_status *st);
};

/* INVALID_ARGUMENT when it has more pixels than TFD_PICTURE_PIXELS_MAX; `what`
 * is "GIF". */
enum tfd_code tfd_picture_check(const char *what,
                                const struct tfd_picture_size *size,
                                struct tfd_status *st) TFD_MUST_USE;

#endif
