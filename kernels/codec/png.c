/*
 * png.c - see png.h.
 *
 * libpng reports an error by a function that must not return; ours jumps back
 * to write_file(), which holds nothing.
 */
#include "kernels/codec/png.h"

#include <png.h>
#include <setjmp.h>

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

static void add_bytes(png_structp png, png_bytep data, size_t size)
{
    tfd_bytes_add(png_get_io_ptr(png), data, size);
}

static void flush_nothing(png_structp png)
{
    (void)png;
}

static void write_rows(png_structp png, png_infop info,
                       const struct tfd_picture *p)
{
    static const int colors[] = {0, PNG_COLOR_TYPE_GRAY,
                                 PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                 PNG_COLOR_TYPE_RGB_ALPHA};

    png_set_IHDR(png, info, (png_uint_32)p->width, (png_uint_32)p->height, 8,
                 colors[p->channels], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int64_t y = 0; y < p->height; y++)
        png_write_row(png, p->pixels + y * p->width * p->channels);
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
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL,
                                              fail_png, ignore_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    bool written = info && write_file(png, info, picture, out);

    png_destroy_write_struct(&png, &info);
    if (!written)
        return tfd_fail(st, TFD_INTERNAL, "PNG encoding failed");
    return tfd_bytes_ok(out, "picture", st);
}
