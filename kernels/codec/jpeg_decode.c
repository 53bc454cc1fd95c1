/*
 * jpeg_decode.c - see jpeg.h.
 *
 * A file that ends early does so in TensorFlow's way, since what is seen of it
 * depends on that: with `recover` there follows an end of the image, and
 * without it libjpeg is told to wait for more, which makes a row that is not
 * whole one that is not there.
 */
#include "kernels/codec/jpeg.h"

#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/codec/jpeg_library.h"

#if TFD_HAS_JPEG
#include <jerror.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct jpeg_decompress_struct d;
    struct jpeg_source_mgr source;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    const struct tfd_jpeg *lib;
    const struct tfd_jpeg_options *options;
    struct tfd_str file;
    bool recover;
    struct tfd_picture_sink *sink;
    struct tfd_status *st;
    struct tfd_picture_size size; /* of the result */
    uint8_t *pixels;              /* the sink's */
    uint8_t *line; /* a row as libjpeg has it, where that is another one */
    int64_t skipped, rows; /* rows before the crop; rows that were read */
    const JOCTET *again;   /* what was read anew last, and how often */
    int64_t again_count;
};

/* ---- What libjpeg calls -------------------------------------------------- */

static void leave_reading(j_common_ptr common)
{
    struct reading *r = common->client_data;

    longjmp(r->back, 1);
}

static void say_nothing(j_common_ptr common)
{
    (void)common;
}

static void begin_source(j_decompress_ptr d)
{
    struct reading *r = d->client_data;

    d->src->next_input_byte = (const JOCTET *)r->file.data;
    d->src->bytes_in_buffer = r->file.size;
}

/* A block has 64 coefficients, each of 31 bits at most, and an MCU 10 blocks;
 * so who reads the same bytes more often never ends. */
#define AGAIN_MAX (10 * 64 * 4)

/* What is left is less than an MCU or a marker wants: with `recover` it is read
 * again and again until that is whole. */
static boolean read_again(struct reading *r)
{
    if (r->d.src->next_input_byte != r->again)
        r->again_count = 0;
    r->again = r->d.src->next_input_byte;
    if (r->again_count++ > AGAIN_MAX)
        leave_reading((j_common_ptr)&r->d);
    return r->recover;
}

static boolean fill_source(j_decompress_ptr d)
{
    static const JOCTET end[2] = {0xff, JPEG_EOI};
    struct reading *r = d->client_data;

    if (d->src->bytes_in_buffer)
        return read_again(r);
    if (!r->recover || d->src->next_input_byte == end ||
        d->src->next_input_byte == (const JOCTET *)r->file.data)
        leave_reading((j_common_ptr)d);
    d->src->next_input_byte = end;
    d->src->bytes_in_buffer = sizeof(end);
    return TRUE;
}

static void skip_source(j_decompress_ptr d, long count)
{
    if (count < 0)
        return;
    if ((size_t)count > d->src->bytes_in_buffer) {
        d->src->bytes_in_buffer = 0;
        (void)fill_source(d);
    } else {
        d->src->bytes_in_buffer -= (size_t)count;
        d->src->next_input_byte += count;
    }
}

static void end_source(j_decompress_ptr d)
{
    (void)d;
}

/* Called for each stretch of rows of each scan. */
static void look_around(j_common_ptr common)
{
    struct reading *r = common->client_data;

    if (r->d.input_scan_number > TFD_JPEG_SCANS_MAX)
        (void)tfd_fail(r->st, TFD_INVALID_ARGUMENT,
                       "the JPEG has more than %d scans, which is the limit",
                       TFD_JPEG_SCANS_MAX);
    if (r->d.input_scan_number > TFD_JPEG_SCANS_MAX || tfd_halted())
        longjmp(r->back, 1);
}

static void begin_reading(struct reading *r)
{
    r->d.err = r->lib->std_error(&r->errors);
    r->errors.error_exit = leave_reading;
    r->errors.output_message = say_nothing;
    r->source = (struct jpeg_source_mgr){
        .init_source = begin_source,
        .fill_input_buffer = fill_source,
        .skip_input_data = skip_source,
        .resync_to_restart = r->lib->resync_to_restart,
        .term_source = end_source,
    };
    r->progress.progress_monitor = look_around;
    r->d.client_data = r;
    r->lib->CreateDecompress(&r->d, JPEG_LIB_VERSION, sizeof(r->d));
    r->d.src = &r->source;
    r->d.progress = &r->progress;
    r->d.mem->max_memory_to_use = TFD_JPEG_WORK_SIZE_MAX;
    r->lib->read_header(&r->d, TRUE);
}

/* Also where CreateDecompress() has failed: *d was zero before. */
static void end_reading(struct reading *r)
{
    if (r->errors.msg_code == JERR_NO_BACKING_STORE)
        (void)tfd_fail(r->st, TFD_INVALID_ARGUMENT,
                       "the JPEG, %u by %u pixels, is too large to be read in "
                       "several scans: the limit is %lld bytes of memory",
                       r->d.image_width, r->d.image_height,
                       (long long)TFD_JPEG_WORK_SIZE_MAX);
    if (r->d.mem)
        r->lib->destroy((j_common_ptr)&r->d);
    free(r->line);
}

/* ---- Sizes --------------------------------------------------------------- */

static bool is_cmyk(const struct reading *r)
{
    return r->d.jpeg_color_space == JCS_CMYK ||
           r->d.jpeg_color_space == JCS_YCCK;
}

/* Files with four channels are read as CMYK, and made RGB here. */
static void choose_output(struct reading *r)
{
    const struct tfd_jpeg_options *o = r->options;
    const int found = r->d.num_components < 3 ? r->d.num_components : 3;

    r->size.channels = o->channels ? o->channels : found;
    r->d.out_color_space = r->size.channels == 1 ? JCS_GRAYSCALE
                           : is_cmyk(r)          ? JCS_CMYK
                                                 : JCS_RGB;
    r->d.do_fancy_upsampling = o->fancy;
    r->d.scale_num = 1;
    r->d.scale_denom = (unsigned)o->ratio;
    r->d.dct_method = o->accurate ? JDCT_ISLOW : JDCT_IFAST;
}

static bool is_too_large(const struct jpeg_decompress_struct *d)
{
    return (int64_t)d->output_height * d->output_width * d->num_components >=
           TFD_PICTURE_PIXELS_MAX;
}

static void refuse_size(struct reading *r)
{
    (void)tfd_fail(r->st, TFD_INVALID_ARGUMENT,
                   "the JPEG is too large: %u by %u pixels of %d channels; "
                   "the limit is %lld of all channels",
                   r->d.output_width, r->d.output_height, r->d.num_components,
                   (long long)TFD_PICTURE_PIXELS_MAX);
}

static bool fits_window(const struct reading *r)
{
    const int32_t *w = r->options->window;

    return w[0] >= 0 && w[1] >= 0 && w[2] > 0 && w[3] > 0 &&
           (int64_t)w[0] + w[2] <= r->d.output_height &&
           (int64_t)w[1] + w[3] <= r->d.output_width;
}

/* libjpeg begins a row at a block's border, to the left of what is wanted. */
static bool begin_crop(struct reading *r)
{
    const int32_t *w = r->options->window;
    JDIMENSION x = (JDIMENSION)w[1], width = (JDIMENSION)w[3];

    if (!fits_window(r))
        return false;
    r->size.height = w[2];
    r->size.width = w[3];
    r->lib->crop_scanline(&r->d, &x, &width);
    r->skipped = r->lib->skip_scanlines(&r->d, (JDIMENSION)w[0]);
    return r->skipped == w[0];
}

/* ---- Rows ---------------------------------------------------------------- */

static void rgb_of_cmyk(const struct reading *r, const uint8_t *from,
                        uint8_t *to)
{
    for (int64_t i = 0; i < r->size.width; i++, from += 4, to += 3) {
        const int k = r->d.saw_Adobe_marker ? from[3] : 255 - from[3];

        for (int c = 0; c < 3; c++)
            to[c] =
                (uint8_t)(k *
                          (r->d.saw_Adobe_marker ? from[c] : 255 - from[c]) /
                          255);
    }
}

static bool read_row(struct reading *r, uint8_t *to)
{
    const bool cmyk = r->d.out_color_space == JCS_CMYK;
    const int64_t depth = cmyk ? 4 : r->size.channels;
    const int64_t before = (r->d.output_width - r->size.width) * depth;
    JSAMPROW line = r->line ? r->line : to;

    if (r->lib->read_scanlines(&r->d, &line, 1) == 0)
        return false;
    if (cmyk)
        rgb_of_cmyk(r, line + before, to);
    else if (r->line)
        memcpy(to, line + before, (size_t)(r->size.width * depth));
    return true;
}

/* The rows from number `row` on are as the last one, or black. */
static void make_up_rows(struct reading *r, int64_t row, int64_t size)
{
    for (; row < r->size.height; row++)
        if (row == 0)
            memset(r->pixels, 0, (size_t)size);
        else
            memcpy(r->pixels + row * size, r->pixels + (row - 1) * size,
                   (size_t)size);
}

/* False: the file ended, and that is said by r->rows. */
static bool read_rows_of(struct reading *r)
{
    const int64_t size = r->size.width * r->size.channels;

    for (r->rows = 0; r->rows < r->size.height; r->rows++) {
        if (tfd_halted())
            longjmp(r->back, 1);
        if (read_row(r, r->pixels + r->rows * size))
            continue;
        if (!r->recover) {
            memset(r->pixels + r->rows * size, 0,
                   (size_t)((r->size.height - r->rows) * size));
            return false;
        }
        make_up_rows(r, r->rows, size);
        r->rows = r->size.height;
        r->d.output_scanline = (JDIMENSION)(r->skipped + r->size.height);
        break;
    }
    return true;
}

static bool new_line(struct reading *r)
{
    const bool cmyk = r->d.out_color_space == JCS_CMYK;

    if (!cmyk && r->d.output_width == r->size.width)
        return true;
    r->line = malloc((size_t)r->d.output_width * (cmyk ? 4 : r->size.channels));
    return r->line != NULL;
}

/* ---- One file ------------------------------------------------------------ */

static bool finish_reading(struct reading *r)
{
    const int wanted =
        r->d.out_color_space == JCS_CMYK ? 4 : (int)r->size.channels;

    if (r->options->crop && r->d.output_scanline < r->d.output_height)
        r->lib->skip_scanlines(&r->d,
                               r->d.output_height - r->d.output_scanline);
    if (r->d.output_components == wanted)
        r->lib->finish_decompress(&r->d);
    return true;
}

/* False: it is damaged, or st says why. */
static bool read_picture(struct reading *r)
{
    if (setjmp(r->back) != 0)
        return false;
    begin_reading(r);
    choose_output(r);
    if (r->size.channels != 1 && r->size.channels != 3)
        return false;
    r->lib->calc_output_dimensions(&r->d);
    if (is_too_large(&r->d)) {
        refuse_size(r);
        return false;
    }
    r->lib->start_decompress(&r->d);
    r->size.height = r->d.output_height;
    r->size.width = r->d.output_width;
    if ((r->options->crop && !begin_crop(r)) || !new_line(r) ||
        r->sink->room(r->sink, &r->size, &r->pixels, r->st) != TFD_OK)
        return false;
    if (!read_rows_of(r))
        return (float)r->rows / (float)r->size.height >=
               (r->options->fraction < 1 ? r->options->fraction : 1);
    return finish_reading(r);
}

enum tfd_code tfd_jpeg_decode(struct tfd_str file,
                              const struct tfd_jpeg_options *options,
                              struct tfd_picture_sink *sink,
                              struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    struct reading r = {.options = options,
                        .file = file,
                        .recover = options->recover,
                        .sink = sink,
                        .st = &why,
                        .size = {.frames = 1}};
    bool read;

    TFD_TRY(tfd_jpeg_library(&r.lib, st));
    read = read_picture(&r);
    end_reading(&r);
    if (read || tfd_halted())
        return TFD_OK;
    if (why.code != TFD_OK)
        return tfd_status_copy(st, &why);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "jpeg::Uncompress failed. Invalid JPEG data or crop "
                    "window.");
}

static bool read_shape(struct reading *r)
{
    if (setjmp(r->back) != 0)
        return false;
    begin_reading(r);
    r->lib->calc_output_dimensions(&r->d);
    /* Of a file with several scans this reads all of them. */
    if (!is_too_large(&r->d))
        r->lib->start_decompress(&r->d);
    r->size.height = r->d.output_height;
    r->size.width = r->d.output_width;
    r->size.channels = r->d.output_components;
    return true;
}

enum tfd_code tfd_jpeg_shape(struct tfd_str file, struct tfd_picture_size *out,
                             struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    struct reading r = {.file = file, .st = &why, .size = {.frames = 1}};
    bool read;

    TFD_TRY(tfd_jpeg_library(&r.lib, st));
    read = file.size > 0 && read_shape(&r);
    end_reading(&r);
    *out = r.size;
    if (read || tfd_halted())
        return TFD_OK;
    if (why.code != TFD_OK)
        return tfd_status_copy(st, &why);
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Invalid JPEG data, size %zu",
                    file.size);
}
#else
enum tfd_code tfd_jpeg_decode(struct tfd_str file,
                              const struct tfd_jpeg_options *options,
                              struct tfd_picture_sink *sink,
                              struct tfd_status *st)
{
    (void)file, (void)options, (void)sink;
    return tfd_fail(st, TFD_UNIMPLEMENTED, TFD_JPEG_NOT_BUILT);
}

enum tfd_code tfd_jpeg_shape(struct tfd_str file, struct tfd_picture_size *out,
                             struct tfd_status *st)
{
    (void)file, (void)out;
    return tfd_fail(st, TFD_UNIMPLEMENTED, TFD_JPEG_NOT_BUILT);
}
#endif
