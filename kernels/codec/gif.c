/*
 * gif.c - see gif.h.
 *
 * All frames are unpacked to colour indices first, since only then their number
 * and size are known; then they are drawn into the sink's pixels.  What they
 * take meanwhile counts against the memory limit.
 *
 *     "GIF89a"  width height  flags background aspect  [colours]
 *     repeated: 0x21 kind, blocks                       an extension
 *               0x2c left top width height flags [colours] bits, blocks
 *     0x3b
 *
 * Numbers have two bytes, the lower one first.
 */
#include "kernels/codec/gif.h"

#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/codec/lzw.h"

#include <string.h>

#define MAGIC_SIZE 6
#define GRAPHICS 0xf9 /* the extension that names the transparent colour */
#define FRAMES_MIN 16 /* that the list has room for when it is made */

struct colors {
    const uint8_t *rgb; /* of the file; NULL: none */
    int count;
};

struct frame {
    int64_t left, top, width, height;
    struct colors colors;
    int transparent;          /* -1: no colour */
    struct tfd_buffer *index; /* row by row */
};

struct gif {
    struct tfd_str left;
    struct colors colors; /* of frames that have none of their own */
    int transparent;      /* of the next frame: -1: none, -2: not said */
    struct tfd_buffer *frames;
    struct frame *frame; /* in it */
    int64_t count, capacity;
    int64_t pixels;  /* of all frames */
    const char *why; /* what giflib says of what is wrong */
};

/* ---- Parts --------------------------------------------------------------- */

static const char cut[] = "Failed to read from given file";

static const uint8_t *gif_bytes(struct gif *g, size_t size)
{
    const uint8_t *found = (const uint8_t *)g->left.data;

    if (g->left.size < size) {
        g->why = cut;
        return NULL;
    }
    g->left.data += size;
    g->left.size -= size;
    return found;
}

static int64_t number_of(const uint8_t *at)
{
    return at[0] | at[1] << 8;
}

static bool read_colors(struct gif *g, uint8_t flags, struct colors *out)
{
    out->count = 0;
    out->rgb = NULL;
    if (!(flags & 0x80))
        return true;
    out->count = 2 << (flags & 7);
    out->rgb = gif_bytes(g, 3 * (size_t)out->count);
    return out->rgb != NULL;
}

/* The first block that names a colour counts, if it has the right size. */
static void note_transparent(struct gif *g, const uint8_t *block, int size)
{
    if (g->transparent == -2)
        g->transparent = size == 4 && block[0] & 1 ? block[3] : -1;
}

static bool read_extension(struct gif *g)
{
    const uint8_t *kind = gif_bytes(g, 1), *size, *block;
    bool graphics;

    if (!kind)
        return false;
    graphics = *kind == GRAPHICS;
    while ((size = gif_bytes(g, 1)) && *size) {
        block = gif_bytes(g, *size);
        if (!block)
            return false;
        if (graphics)
            note_transparent(g, block, *size);
        graphics = false; /* those that follow are its continuation */
    }
    return size != NULL;
}

/* ---- Frames -------------------------------------------------------------- */

static struct frame *next_frame(struct gif *g, struct tfd_status *st)
{
    if (g->count == g->capacity) {
        const int64_t more = g->capacity ? 2 * g->capacity : FRAMES_MIN;
        struct tfd_buffer *grown =
            tfd_buffer_new((size_t)more * sizeof(struct frame));

        if (!grown) {
            (void)tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                           "OOM when allocating the frames of a GIF");
            return NULL;
        }
        if (g->count > 0)
            memcpy(grown->data, g->frame, (size_t)g->count * sizeof(*g->frame));
        tfd_buffer_unref(g->frames);
        g->frames = grown;
        g->frame = grown->data;
        g->capacity = more;
    }
    return &g->frame[g->count];
}

/* Memory that counts against the limit, for as many pixels. */
static struct tfd_buffer *new_indices(int64_t size, struct tfd_status *st)
{
    struct tfd_buffer *b = tfd_buffer_new((size_t)size);

    if (!b)
        (void)tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                       "OOM when allocating a frame of a GIF of %lld pixels",
                       (long long)size);
    return b;
}

static bool read_indices(struct gif *g, struct frame *f, int bits,
                         struct tfd_status *st)
{
    static const char *const why[] = {
        [TFD_LZW_CUT] = cut,
        [TFD_LZW_DEFECTIVE] = "Image is defective, decoding aborted",
        [TFD_LZW_TOO_SOON] = "Image EOF detected before image complete"};
    const int64_t size = f->width * f->height;
    const struct tfd_picture_size all = {1, 1, g->pixels + size, 3};
    enum tfd_lzw_result found;

    if (tfd_picture_check("GIF", &all, st) != TFD_OK)
        return false;
    g->why = why[TFD_LZW_DEFECTIVE];
    if (size == 0 || size > tfd_lzw_pixels_max(g->left.size))
        return false;
    f->index = new_indices(size, st);
    if (!f->index)
        return false;
    tfd_halt_clear(f->index->data, (size_t)size);
    found = tfd_lzw_decode(&g->left, bits, f->index->data, size);
    g->why = why[found];
    return found == TFD_LZW_WHOLE;
}

/* Rows of an interlaced frame come in four passes. */
static bool sort_rows(struct frame *f, struct tfd_status *st)
{
    static const struct {
        int first, step;
    } passes[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
    struct tfd_buffer *sorted = new_indices(f->width * f->height, st);
    const uint8_t *from = f->index->data;

    if (!sorted)
        return false;
    for (int p = 0; p < 4; p++)
        for (int64_t y = passes[p].first; y < f->height; y += passes[p].step) {
            memcpy((uint8_t *)sorted->data + y * f->width, from,
                   (size_t)f->width);
            from += f->width;
        }
    tfd_buffer_unref(f->index);
    f->index = sorted;
    return true;
}

static bool read_frame(struct gif *g, struct tfd_status *st)
{
    struct frame *f = next_frame(g, st);
    const uint8_t *head = f ? gif_bytes(g, 9) : NULL, *bits;
    bool whole;

    if (!head)
        return false;
    *f =
        (struct frame){.left = number_of(head),
                       .top = number_of(head + 2),
                       .width = number_of(head + 4),
                       .height = number_of(head + 6),
                       .transparent = g->transparent < 0 ? -1 : g->transparent};
    g->transparent = -2;
    if (!read_colors(g, head[8], &f->colors))
        return false;
    bits = gif_bytes(g, 1);
    if (!bits)
        return false;
    g->why = cut;
    if (*bits < 1 || *bits > 8)
        return false;
    whole = read_indices(g, f, *bits, st) &&
            (!(head[8] & 0x40) || sort_rows(f, st));
    if (!whole) {
        tfd_buffer_unref(f->index);
        return false;
    }
    g->pixels += f->width * f->height;
    g->count++;
    return true;
}

/* ---- The file ------------------------------------------------------------ */

static bool read_head(struct gif *g)
{
    const uint8_t *head;

    if (!gif_bytes(g, MAGIC_SIZE))
        return false;
    head = gif_bytes(g, 7);
    if (head && read_colors(g, head[4], &g->colors))
        return true;
    g->why = "No screen descriptor detected";
    return false;
}

/* False: g->why or st says why not all could be read. */
static bool read_frames(struct gif *g, struct tfd_status *st)
{
    const uint8_t *kind;

    while ((kind = gif_bytes(g, 1)) && *kind != 0x3b) {
        if (tfd_halted())
            return true;
        if (*kind != 0x21 && *kind != 0x2c) {
            g->why = "Wrong record type detected";
            return false;
        }
        if (!(*kind == 0x21 ? read_extension(g) : read_frame(g, st)))
            return false;
    }
    if (kind && g->count == 0)
        g->why = "No Image Descriptor detected";
    return kind && g->count > 0;
}

/* ---- Drawing ------------------------------------------------------------- */

struct canvas {
    int64_t height, width;
    uint8_t *pixels;       /* of this frame */
    const uint8_t *before; /* of the last one; NULL: there is none */
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* -1, or the index of a colour that the frame does not have. */
static int draw_row(const struct canvas *c, const struct frame *f, int64_t y)
{
    const uint8_t *index =
        (const uint8_t *)f->index->data + (y - f->top) * f->width;
    const int64_t right = smaller(f->left + f->width, c->width);
    uint8_t *to = c->pixels + (y * c->width + f->left) * 3;

    for (int64_t x = f->left; x < right; x++, index++, to += 3) {
        if (*index == f->transparent)
            continue;
        if (*index >= f->colors.count)
            return *index;
        memcpy(to, f->colors.rgb + 3 * *index, 3);
    }
    return -1;
}

static enum tfd_code draw_frame(const struct canvas *c, const struct frame *f,
                                size_t file_size, struct tfd_status *st)
{
    const int64_t bottom = smaller(f->top + f->height, c->height);
    const size_t size = (size_t)(c->height * c->width * 3);

    if (c->before)
        memcpy(c->pixels, c->before, size);
    else
        memset(c->pixels, 0, size);
    for (int64_t y = f->top; y < bottom; y++) {
        const int bad = draw_row(c, f, y);

        if (bad >= 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Invalid GIF data (size %zu), found color index "
                            "%d outside of color map range %d",
                            file_size, bad, f->colors.count);
    }
    return TFD_OK;
}

static enum tfd_code draw_frames(struct gif *g, int64_t count, size_t file_size,
                                 struct tfd_picture_sink *sink,
                                 struct tfd_status *st)
{
    struct tfd_picture_size size = {count, 0, 0, 3};
    struct canvas c = {.before = NULL};

    for (int64_t i = 0; i < g->count; i++) {
        const struct frame *f = &g->frame[i];

        size.height = f->height > size.height ? f->height : size.height;
        size.width = f->width > size.width ? f->width : size.width;
    }
    TFD_TRY(tfd_picture_check("GIF", &size, st));
    TFD_TRY(sink->room(sink, &size, &c.pixels, st));
    c.height = size.height;
    c.width = size.width;
    for (int64_t i = 0; i < count && !tfd_halted(); i++) {
        struct frame *f = &g->frame[i];

        if (!f->colors.rgb)
            f->colors = g->colors;
        if (!f->colors.rgb)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Invalid GIF data (size %zu), missing color map "
                            "for frame %lld",
                            file_size, (long long)i);
        TFD_TRY(draw_frame(&c, f, file_size, st));
        c.before = c.pixels;
        c.pixels += c.height * c.width * 3;
    }
    return TFD_OK;
}

static enum tfd_code decode_file(struct gif *g, bool all_frames,
                                 struct tfd_picture_sink *sink,
                                 struct tfd_status *st)
{
    struct tfd_status other = TFD_STATUS_INIT;
    const size_t size = g->left.size;

    if (!read_head(g))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid GIF data (size %zu), failed to open gif "
                        "file: %s",
                        size, g->why);
    if (!read_frames(g, &other)) {
        if (other.code != TFD_OK)
            return tfd_status_copy(st, &other);
        if (g->count == 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Invalid GIF data (size %zu), failed to slurp gif "
                            "file: %s",
                            size, g->why);
    }
    if (tfd_halted())
        return TFD_OK;
    return draw_frames(g, all_frames ? g->count : 1, size, sink, st);
}

enum tfd_code tfd_gif_decode(struct tfd_str file, bool all_frames,
                             struct tfd_picture_sink *sink,
                             struct tfd_status *st)
{
    struct gif g = {.left = file, .transparent = -2};
    const enum tfd_code rc = decode_file(&g, all_frames, sink, st);

    for (int64_t i = 0; i < g.count; i++)
        tfd_buffer_unref(g.frame[i].index);
    tfd_buffer_unref(g.frames);
    return rc;
}
