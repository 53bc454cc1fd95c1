/*
 * bmp.c - see bmp.h.
 *
 *     byte 10  where the pixels begin     18  width    22  height
 *          28  bits of a pixel
 *
 * Numbers are little-endian; rows are multiples of 4 bytes, the lowest one
 * first unless the height is negative.
 */
#include "kernels/codec/bmp.h"

#include "common/thread/halt.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_SIZE_MIN 32

struct bmp {
    int64_t head, width, height; /* height is negative where rows go down */
    int depth;                   /* channels in the file */
    int64_t row_size;
};

static int64_t int32_at(struct tfd_str file, size_t at)
{
    int32_t v;

    memcpy(&v, file.data + at, sizeof(v));
    return v;
}

static enum tfd_code check_head(const struct bmp *b, struct tfd_status *st)
{
    if (b->depth != 1 && b->depth != 3 && b->depth != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of channels inherent in the image must be 1, "
                        "3 or 4, was %d",
                        b->depth);
    if (b->width <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Width must be positive");
    if (b->height == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Height must be nonzero");
    if (b->head < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "header size must be nonnegative");
    if (b->width * llabs(b->height) >= INT32_MAX / 8)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Total possible pixel bytes must be less than 2^30");
    return TFD_OK;
}

static enum tfd_code read_bmp_head(struct tfd_str file, struct bmp *b,
                                   struct tfd_status *st)
{
    int64_t rest;
    int16_t bits;

    if (file.size < HEAD_SIZE_MIN)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Incomplete bmp content, requires at least 32 bytes "
                        "to find the header size, width, height, and bpp, got "
                        "%zu bytes",
                        file.size);
    memcpy(&bits, file.data + 28, sizeof(bits));
    *b = (struct bmp){.head = int32_at(file, 10),
                      .width = int32_at(file, 18),
                      .height = int32_at(file, 22),
                      .depth = bits / 8};
    TFD_TRY(check_head(b, st));
    b->row_size = (b->depth * b->width + 3) / 4 * 4;
    rest = (int64_t)file.size - b->head - b->row_size * llabs(b->height);
    if (rest != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input size should match (header_size + row_size * "
                        "abs_height) but they differ by %lld",
                        (long long)rest);
    return TFD_OK;
}

static void copy_bmp_row(const uint8_t *from, int in, uint8_t *to, int out,
                         int64_t width)
{
    for (int64_t x = 0; x < width; x++, from += in, to += out) {
        for (int c = 0; c < 3 && c < out; c++)
            to[c] = in == 1 ? from[0] : from[2 - c];
        if (out == 4)
            to[3] = in == 4 ? from[3] : UINT8_MAX;
    }
}

enum tfd_code tfd_bmp_decode(struct tfd_str file, int64_t channels,
                             struct tfd_picture_sink *sink,
                             struct tfd_status *st)
{
    struct tfd_picture_size size = {.frames = 1};
    const uint8_t *from;
    struct bmp b = {0};
    uint8_t *to;

    TFD_TRY(read_bmp_head(file, &b, st));
    size.height = llabs(b.height);
    size.width = b.width;
    size.channels = channels ? channels : b.depth;
    TFD_TRY(sink->room(sink, &size, &to, st));
    from = (const uint8_t *)file.data + b.head;
    for (int64_t y = 0; y < size.height && !tfd_halted(); y++) {
        const int64_t row = b.height < 0 ? y : size.height - 1 - y;

        copy_bmp_row(from + row * b.row_size, b.depth,
                     to + y * size.width * size.channels, (int)size.channels,
                     size.width);
    }
    return TFD_OK;
}
