/*
 * jpeg_encode.c - see jpeg.h.
 */
#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/codec/jpeg.h"
#include "kernels/codec/jpeg_library.h"

#if TFD_HAS_JPEG
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* libjpeg fills this, and then it is appended to the file. */
#define BLOCK_SIZE 16384
#define XMP_NAME "http://ns.adobe.com/xap/1.0/" /* and the 0 that ends it */

struct writing {
    struct jpeg_compress_struct c;
    struct jpeg_destination_mgr to;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    const struct tfd_jpeg *lib;
    const struct tfd_jpeg_settings *settings;
    const struct tfd_picture_size *size;
    struct tfd_bytes *out;
    struct tfd_bytes xmp;
    JOCTET block[BLOCK_SIZE];
};

static void leave_writing(j_common_ptr common)
{
    struct writing *w = common->client_data;

    longjmp(w->back, 1);
}

static void print_nothing(j_common_ptr common)
{
    (void)common;
}

/* Called for each stretch of rows of each pass, of which there are ten where
 * the file is progressive. */
static void look_for_end(j_common_ptr common)
{
    if (tfd_halted())
        leave_writing(common);
}

static void begin_block(j_compress_ptr c)
{
    struct writing *w = c->client_data;

    c->dest->next_output_byte = w->block;
    c->dest->free_in_buffer = BLOCK_SIZE;
}

static boolean empty_block(j_compress_ptr c)
{
    struct writing *w = c->client_data;

    tfd_bytes_add(w->out, w->block, BLOCK_SIZE);
    begin_block(c);
    return TRUE;
}

static void end_block(j_compress_ptr c)
{
    struct writing *w = c->client_data;

    tfd_bytes_add(w->out, w->block, BLOCK_SIZE - c->dest->free_in_buffer);
}

static void begin_writing(struct writing *w)
{
    w->c.err = w->lib->std_error(&w->errors);
    w->errors.error_exit = leave_writing;
    w->errors.output_message = print_nothing;
    w->c.client_data = w;
    w->lib->CreateCompress(&w->c, JPEG_LIB_VERSION, sizeof(w->c));
    w->to = (struct jpeg_destination_mgr){.init_destination = begin_block,
                                          .empty_output_buffer = empty_block,
                                          .term_destination = end_block};
    w->c.dest = &w->to;
    w->progress.progress_monitor = look_for_end;
    w->c.progress = &w->progress;
    w->c.mem->max_memory_to_use = TFD_JPEG_WORK_SIZE_MAX;
}

static void apply_settings(struct writing *w)
{
    const struct tfd_jpeg_settings *s = w->settings;
    const bool grey = w->size->channels == 1;

    w->c.image_width = (JDIMENSION)w->size->width;
    w->c.image_height = (JDIMENSION)w->size->height;
    w->c.input_components = grey ? 1 : 3;
    w->c.in_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
    w->lib->set_defaults(&w->c);
    if (s->optimize)
        w->c.optimize_coding = TRUE;
    w->c.density_unit = s->per_cm ? 2 : 1;
    w->c.X_density = (UINT16)s->x_density;
    w->c.Y_density = (UINT16)s->y_density;
    w->lib->set_quality(&w->c, (int)s->quality, TRUE);
    if (s->progressive)
        w->lib->simple_progression(&w->c);
    for (int i = 0; i < w->c.num_components && !s->chroma_downsampling; i++) {
        w->c.comp_info[i].h_samp_factor = 1;
        w->c.comp_info[i].v_samp_factor = 1;
    }
}

static bool write_xmp(struct writing *w)
{
    tfd_bytes_add(&w->xmp, XMP_NAME, sizeof(XMP_NAME));
    tfd_bytes_add_str(&w->xmp, w->settings->xmp);
    if (w->xmp.failed)
        return false;
    w->lib->write_marker(&w->c, JPEG_APP0 + 1, (const JOCTET *)w->xmp.data,
                         (unsigned)w->xmp.size);
    return true;
}

static bool write_picture(struct writing *w, const uint8_t *pixels)
{
    const int64_t size = w->size->width * w->size->channels;

    if (setjmp(w->back) != 0)
        return false;
    begin_writing(w);
    apply_settings(w);
    w->lib->start_compress(&w->c, TRUE);
    if (w->settings->xmp.size && !write_xmp(w))
        return false;
    while (w->c.next_scanline < w->c.image_height && !tfd_halted()) {
        JSAMPROW row = (JSAMPROW)pixels + w->c.next_scanline * size;

        w->lib->write_scanlines(&w->c, &row, 1);
    }
    if (!tfd_halted())
        w->lib->finish_compress(&w->c);
    return true;
}

enum tfd_code tfd_jpeg_encode(const uint8_t *pixels,
                              const struct tfd_picture_size *size,
                              const struct tfd_jpeg_settings *settings,
                              struct tfd_bytes *out, struct tfd_status *st)
{
    const struct tfd_jpeg *lib;
    struct writing *w;
    bool written;

    TFD_TRY(tfd_jpeg_library(&lib, st));
    w = calloc(1, sizeof(*w));
    if (!w)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a JPEG");
    w->lib = lib;
    w->settings = settings;
    w->size = size;
    w->out = out;
    tfd_bytes_init(&w->xmp, UINT16_MAX);
    written = size->height > 0 && size->width > 0 && write_picture(w, pixels);
    if (w->c.mem)
        lib->destroy((j_common_ptr)&w->c);
    tfd_bytes_deinit(&w->xmp);
    free(w);
    if (tfd_halted())
        return tfd_halt_fail(st);
    if (!written)
        return tfd_fail(st, TFD_INTERNAL, "JPEG encoding failed");
    return tfd_bytes_ok(out, "picture", st);
}
#else
enum tfd_code tfd_jpeg_encode(const uint8_t *pixels,
                              const struct tfd_picture_size *size,
                              const struct tfd_jpeg_settings *settings,
                              struct tfd_bytes *out, struct tfd_status *st)
{
    (void)pixels, (void)size, (void)settings, (void)out;
    return tfd_fail(st, TFD_UNIMPLEMENTED, TFD_JPEG_NOT_BUILT);
}
#endif
