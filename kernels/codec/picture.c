/*
 * picture.c - see picture.h.
 */
#include "kernels/codec/picture.h"

#include "config/limits.h"

enum tfd_code tfd_picture_check(const char *what,
                                const struct tfd_picture_size *size,
                                struct tfd_status *st)
{
    const int64_t max = TFD_PICTURE_PIXELS_MAX;

    if (size->height == 0 || size->width == 0 || size->frames == 0 ||
        (size->height <= max / size->width &&
         size->height * size->width <= max / size->frames))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s of %lld frames, %lld by %lld pixels, is too large: "
                    "the limit is %lld pixels",
                    what, (long long)size->frames, (long long)size->width,
                    (long long)size->height, (long long)max);
}
