/*
 * png.c - see png.h.
 *
 * libpng reports an error by a function that must not return; ours jumps back
 * to whoever set the mark last: write_file(), read_png_head() or read_rows(),
 * which hold nothing.  What they work on is not of their own frames.
 */
#include "kernels/codec/png.h"

#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/codec/png_filter.h"

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void fail_png(png_structp png, png_const_charp why)
{
    (void)why; /* TensorFlow says none */
    png_longjmp(png, 1);
}

static void ignore_warning(png_structp png, png_const_charp what)
{
    (void)png;
    (void)what;
}

/* ---- Writing ------------------------------------------------------------- */

/* What deflate asks for, some 400 KB, and the rows of a usual picture come from
 * a buffer that stays, one after the other: malloc() gives such blocks back to
 * the kernel, whose page faults would be half of a small picture's time. */
#define ROOM_SIZE ((size_t)512 << 10)
#define ROOM_ALIGN 64

struct room {
    struct tfd_buffer *buffer; /* or NULL: all comes from malloc() */
    size_t taken;
};

static png_voidp take_room(png_structp png, png_alloc_size_t size)
{
    struct room *r = png_get_mem_ptr(png);
    char *at;

    if (!r->buffer || size > ROOM_SIZE - r->taken)
        return malloc(size);
    at = (char *)r->buffer->data + r->taken;
    size = (size + ROOM_ALIGN - 1) / ROOM_ALIGN * ROOM_ALIGN;
    r->taken += size < ROOM_SIZE - r->taken ? size : ROOM_SIZE - r->taken;
    return at;
}

static void give_room(png_structp png, png_voidp at)
{
    const struct room *r = png_get_mem_ptr(png);
    const uintptr_t first = r->buffer ? (uintptr_t)r->buffer->data : 0;

    if (!r->buffer || (uintptr_t)at - first >= ROOM_SIZE)
        free(at);
}

static void add_bytes(png_structp png, png_bytep data, size_t size)
{
    tfd_bytes_add(png_get_io_ptr(png), data, size);
}

static void flush_nothing(png_structp png)
{
    (void)png;
}

/* Tells which filter libpng would choose.  Before the first row it is asked to
 * choose, so that it keeps the row above and tells deflate of filters. */
static void choose_filter(png_structp png, const struct tfd_picture *p,
                          int64_t y, int64_t size)
{
    static const int names[] = {PNG_FILTER_NONE, PNG_FILTER_SUB, PNG_FILTER_UP,
                                PNG_FILTER_AVG, PNG_FILTER_PAETH};
    const uint8_t *row = (const uint8_t *)p->pixels + y * size;

    if (y > 0 && p->width > 1 && p->bits == 8 && tfd_png_filter_is_quick())
        png_set_filter(
            png, PNG_FILTER_TYPE_BASE,
            names[tfd_png_filter_choose(row, row - size, size, p->channels)]);
}

static void write_rows(png_structp png, png_infop info,
                       const struct tfd_picture *p)
{
    static const int colors[] = {0, PNG_COLOR_TYPE_GRAY,
                                 PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                 PNG_COLOR_TYPE_RGB_ALPHA};
    const int64_t size = p->width * p->channels * (p->bits / 8);

    png_set_compression_level(png, p->compression);
    png_set_compression_mem_level(png, MAX_MEM_LEVEL);
    png_set_IHDR(png, info, (png_uint_32)p->width, (png_uint_32)p->height,
                 p->bits, colors[p->channels], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    if (p->bits > 8)
        png_set_swap(png);
    for (int64_t y = 0; y < p->height && !tfd_halted(); y++) {
        choose_filter(png, p, y, size);
        png_write_row(png, (const png_byte *)p->pixels + y * size);
    }
    if (!tfd_halted())
        png_write_end(png, NULL);
}

static bool write_file(png_structp png, png_infop info,
                       const struct tfd_picture *p, struct tfd_bytes *out)
{
    if (setjmp(png_jmpbuf(png)) != 0)
        return false;
    png_set_write_fn(png, out, add_bytes, flush_nothing);
    write_rows(png, info, p);
    return true;
}

enum tfd_code tfd_png_encode(const struct tfd_picture *picture,
                             struct tfd_bytes *out, struct tfd_status *st)
{
    struct room room = {tfd_buffer_new(ROOM_SIZE), 0};
    png_structp png =
        png_create_write_struct_2(PNG_LIBPNG_VER_STRING, NULL, fail_png,
                                  ignore_warning, &room, take_room, give_room);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    bool written = info && write_file(png, info, picture, out);

    png_destroy_write_struct(&png, &info);
    if (room.buffer)
        tfd_buffer_unref(room.buffer);
    if (!written)
        return tfd_fail(st, TFD_INTERNAL, "PNG encoding failed");
    return tfd_bytes_ok(out, "picture", st);
}

/* ---- Reading ------------------------------------------------------------- */

/* No compression of deflate's is better: 258 bytes for two bits. */
#define DEFLATE_RATIO_MAX 1032

static void take_bytes(png_structp png, png_bytep to, size_t size)
{
    struct tfd_png_reader *r = png_get_io_ptr(png);

    if (size > r->left.size)
        png_error(png, "the file ends");
    /* What is deflated behind the picture is inflated all the same. */
    if (tfd_halted())
        png_error(png, "the step has ended");
    memcpy(to, r->left.data, size);
    r->left.data += size;
    r->left.size -= size;
}

/* Texts are left where they are: a compressed one asks for megabytes. */
static void skip_texts(png_structp png)
{
    static const png_byte names[] = "tEXt\0zTXt\0iTXt";

    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, names, 3);
}

static int channels_of(const struct tfd_png_reader *r, int color, bool keyed)
{
    if (color == PNG_COLOR_TYPE_PALETTE)
        return keyed ? 4 : 3;
    return png_get_channels(r->png, r->info);
}

/* Alpha as it is wanted: what there is, what one colour stands for, all; or
 * none. */
static void ask_for_alpha(struct tfd_png_reader *r, int color, int depth,
                          bool keyed)
{
    const bool has_alpha = (color & PNG_COLOR_MASK_ALPHA) != 0;

    if (r->channels & 1) {
        if (has_alpha || keyed)
            png_set_strip_alpha(r->png);
    } else if (!has_alpha) {
        if (keyed)
            png_set_tRNS_to_alpha(r->png);
        else
            png_set_add_alpha(r->png, (1u << depth) - 1, PNG_FILLER_AFTER);
    }
}

static void ask_for_colors(struct tfd_png_reader *r, int color, int depth)
{
    const bool wants_grey = r->channels < 3;
    const bool is_grey = !(color & PNG_COLOR_MASK_COLOR);

    if (color == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(r->png);
    if (is_grey && depth < 8)
        png_set_expand_gray_1_2_4_to_8(r->png);
    if (wants_grey && !is_grey) /* weights of ITU-R BT.601 */
        png_set_rgb_to_gray(r->png, 1, 0.299, 0.587);
    else if (!wants_grey && is_grey)
        png_set_gray_to_rgb(r->png);
}

static bool read_png_head(struct tfd_png_reader *r)
{
    png_uint_32 width, height;
    int depth, color;
    bool keyed;

    if (setjmp(png_jmpbuf(r->png)) != 0)
        return false;
    png_set_read_fn(r->png, r, take_bytes);
    skip_texts(r->png);
    png_read_info(r->png, r->info);
    png_get_IHDR(r->png, r->info, &width, &height, &depth, &color, NULL, NULL,
                 NULL);
    keyed = png_get_valid(r->png, r->info, PNG_INFO_tRNS) != 0;
    r->width = width;
    r->height = height;
    r->raw_size = (int64_t)png_get_rowbytes(r->png, r->info) * height;
    if (r->channels == 0)
        r->channels = channels_of(r, color, keyed);
    r->widen = depth <= 8 && r->bits == 16;
    ask_for_alpha(r, color, depth, keyed);
    if (depth > 8 && r->bits == 8)
        png_set_strip_16(r->png);
    png_set_packing(r->png);
    r->passes = png_set_interlace_handling(r->png);
    if (r->bits > 8)
        png_set_swap(r->png);
    ask_for_colors(r, color, depth);
    png_read_update_info(r->png, r->info);
    return width > 0 && height > 0;
}

bool tfd_png_open(struct tfd_png_reader *r, struct tfd_str file, int channels,
                  int bits)
{
    *r = (struct tfd_png_reader){
        .left = file, .channels = channels, .bits = bits};
    r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, fail_png,
                                    ignore_warning);
    r->info = r->png ? png_create_info_struct(r->png) : NULL;
    return r->info && read_png_head(r);
}

enum tfd_code tfd_png_check(const struct tfd_png_reader *r,
                            struct tfd_status *st)
{
    if (r->width < TFD_PICTURE_SIDE_MAX && r->height < TFD_PICTURE_SIDE_MAX &&
        r->width * r->height < TFD_PICTURE_PIXELS_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "PNG size too large for int: %lld by %lld; the limit is "
                    "%lld pixels",
                    (long long)r->width, (long long)r->height,
                    (long long)TFD_PICTURE_PIXELS_MAX);
}

bool tfd_png_short(const struct tfd_png_reader *r)
{
    return r->raw_size / DEFLATE_RATIO_MAX > (int64_t)r->left.size;
}

/* 16 bits of each byte of the row's first half, from the last one on. */
static void widen_row(png_bytep row, int64_t n)
{
    for (int64_t i = n; i-- > 0;) {
        const uint16_t wide = (uint16_t)(row[i] * 0x101);

        memcpy(row + 2 * i, &wide, sizeof(wide));
    }
}

static bool read_rows(struct tfd_png_reader *r, png_bytep pixels, int64_t size)
{
    if (setjmp(png_jmpbuf(r->png)) != 0)
        return false;
    for (int pass = 0; pass < r->passes; pass++)
        for (int64_t y = 0; y < r->height; y++) {
            if (tfd_halted())
                return true;
            png_read_row(r->png, pixels + y * size, NULL);
        }
    png_read_end(r->png, r->info);
    return true;
}

bool tfd_png_read(struct tfd_png_reader *r, void *pixels)
{
    const int64_t n = r->width * r->channels, size = n * (r->bits / 8);

    if (!read_rows(r, pixels, size))
        return false;
    for (int64_t y = 0; y < r->height && r->widen && !tfd_halted(); y++)
        widen_row((png_bytep)pixels + y * size, n);
    return true;
}

void tfd_png_close(struct tfd_png_reader *r)
{
    png_destroy_read_struct(&r->png, &r->info, NULL);
}
