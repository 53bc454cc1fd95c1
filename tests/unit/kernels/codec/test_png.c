/*
 * test_png.c - that files are, to the byte, what libpng makes when it is left
 * alone; how they are read is compared with TensorFlow's answers.
 */
#include "kernels/codec/png.h"

#include <png.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PIXELS_MAX (64 * 1024)

/* How pixels are drawn: all filters are the best of some row. */
enum drawing { FLAT, NOISE, SLOPE, UPRIGHT, EDGES, WAVES, DRAWINGS };

static uint8_t byte_of(enum drawing drawing, int64_t i, int64_t row,
                       uint32_t noise)
{
    switch (drawing) {
    case FLAT:
        return 128;
    case NOISE:
        return (uint8_t)(noise >> 24);
    case SLOPE:
        return (uint8_t)(3 * i + 5 * row + (noise >> 30));
    case UPRIGHT:
        return (uint8_t)(i * i * 37 + (noise >> 31));
    case EDGES:
        return (i / 7 + row / 2) % 3 ? 255 : (uint8_t)(noise >> 31);
    default:
        return (uint8_t)(i * row / 3 + (noise >> 29));
    }
}

static void draw(const struct tfd_picture *p, enum drawing drawing,
                 uint8_t *pixels)
{
    const int64_t size = p->width * p->channels * (p->bits / 8);
    uint32_t noise = 1;

    for (int64_t y = 0; y < p->height; y++)
        for (int64_t i = 0; i < size; i++) {
            noise = noise * 1664525 + 1013904223;
            pixels[y * size + i] = byte_of(drawing, i, y, noise);
        }
}

static void add(png_structp png, png_bytep data, size_t size)
{
    tfd_bytes_add(png_get_io_ptr(png), data, size);
}

static void flush(png_structp png)
{
    (void)png;
}

/* Errors end the test: there is no place to jump to. */
static void encode_plainly(const struct tfd_picture *p, struct tfd_bytes *out)
{
    static const int colors[] = {0, PNG_COLOR_TYPE_GRAY,
                                 PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                 PNG_COLOR_TYPE_RGB_ALPHA};
    const int64_t size = p->width * p->channels * (p->bits / 8);
    png_structp png =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);

    png_set_write_fn(png, out, add, flush);
    png_set_compression_level(png, p->compression);
    png_set_compression_mem_level(png, 9);
    png_set_IHDR(png, info, (png_uint_32)p->width, (png_uint_32)p->height,
                 p->bits, colors[p->channels], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    if (p->bits > 8)
        png_set_swap(png);
    for (int64_t y = 0; y < p->height; y++)
        png_write_row(png, (const png_byte *)p->pixels + y * size);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
}

static void check(struct tfd_picture p, enum drawing drawing)
{
    static uint8_t pixels[8 * PIXELS_MAX];
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_bytes have, want;

    assert_true(p.width * p.height <= PIXELS_MAX);
    draw(&p, drawing, pixels);
    p.pixels = pixels;
    tfd_bytes_init(&have, 1 << 20);
    tfd_bytes_init(&want, 1 << 20);
    assert_int_equal(tfd_png_encode(&p, &have, &st), TFD_OK);
    encode_plainly(&p, &want);
    if (have.size != want.size || memcmp(have.data, want.data, want.size) != 0)
        fail_msg("%d x %d, %d channels of %d bits, drawing %d: %d bytes, "
                 "libpng alone %d",
                 (int)p.height, (int)p.width, p.channels, p.bits, (int)drawing,
                 (int)have.size, (int)want.size);
    tfd_bytes_deinit(&have);
    tfd_bytes_deinit(&want);
}

static void test_every_width_around_vectors(void **state)
{
    static const int64_t widths[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,
                                     15, 16, 17, 18, 31, 32, 33, 34, 50};

    (void)state;
    for (int drawing = 0; drawing < DRAWINGS; drawing++)
        for (int channels = 1; channels <= 4; channels++)
            for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++)
                for (int64_t height = 1; height <= 5; height += 2)
                    check((struct tfd_picture){.height = height,
                                               .width = widths[i],
                                               .channels = channels,
                                               .bits = 8,
                                               .compression = -1},
                          (enum drawing)drawing);
}

/* Rows of more than one block of sums, and of 16 bits; all levels. */
static void test_long_rows_and_levels(void **state)
{
    (void)state;
    for (int drawing = 0; drawing < DRAWINGS; drawing++)
        for (int bits = 8; bits <= 16; bits += 8)
            check((struct tfd_picture){.height = 5,
                                       .width = 4200,
                                       .channels = 2 + drawing % 3,
                                       .bits = bits,
                                       .compression = drawing + 1},
                  (enum drawing)drawing);
}

/* More memory than the buffer has that stays. */
static void test_a_wide_picture(void **state)
{
    (void)state;
    check((struct tfd_picture){.height = 2,
                               .width = PIXELS_MAX / 2,
                               .channels = 4,
                               .bits = 16,
                               .compression = 1},
          SLOPE);
}

static void test_a_side_that_libpng_refuses(void **state)
{
    const struct tfd_picture wide = {.pixels = "",
                                     .height = 1,
                                     .width = 1000001,
                                     .channels = 1,
                                     .bits = 8,
                                     .compression = -1};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_bytes out;

    (void)state;
    tfd_bytes_init(&out, 1 << 20);
    assert_int_equal(tfd_png_encode(&wide, &out, &st), TFD_INTERNAL);
    assert_string_equal(st.text, "PNG encoding failed");
    tfd_bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_width_around_vectors),
        cmocka_unit_test(test_long_rows_and_levels),
        cmocka_unit_test(test_a_wide_picture),
        cmocka_unit_test(test_a_side_that_libpng_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
