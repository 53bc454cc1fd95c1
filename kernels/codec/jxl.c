/*
 * jxl.c - see jxl.h.
 *
 * The structs and numbers below are those of libjxl's interface, which are the
 * same in the releases that are tried.  A file is handed over in pieces, so
 * that a step that has ended is seen between them.
 *
 * What libjxl works in counts against the memory limit: as much as a lossless
 * picture takes, four bytes for each channel of each pixel, before it begins,
 * and what it asks our allocator for, which in release 0.7 are small parts
 * alone.  Channels beside the colours, of which a few bytes can announce
 * thousands, count like them.
 */
#include "kernels/codec/jxl.h"

#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "config/limits.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* Of a file, the larger of both: small enough that not many hidden frames,
 * which a few bytes can announce, are decoded between two looks at the step. */
#define PIECE_SIZE_MIN ((size_t)4096)
#define PIECES_MAX 256

enum jxl_status {
    JXL_FAILED = 1,
    JXL_NEEDS_INPUT = 2,
    JXL_NEEDS_ROOM = 5,
    JXL_HAS_INFO = 0x40,
    JXL_HAS_IMAGE = 0x1000,
};

struct jxl_info {
    int in_container;
    uint32_t width, height, bits, exponent_bits;
    float intensity, least;
    int relative;
    float linear_below;
    int own_profile, has_preview, has_animation, orientation;
    uint32_t colors, extra, alpha_bits, alpha_exponent_bits;
    int premultiplied;
    uint32_t preview[2], animation[3];
    int time_codes;
    uint32_t intrinsic[2];
    uint8_t rest[512]; /* more than any release has */
};

struct jxl_pixels {
    uint32_t channels;
    int type, endianness;
    size_t align;
};
#define JXL_BYTES 2 /* as a type of pixels */

struct jxl_memory {
    void *opaque;
    void *(*take)(void *opaque, size_t size);
    void (*give_back)(void *opaque, void *address);
};

struct jxl_decoder;

static struct {
    pthread_once_t once;
    bool found;
    struct jxl_decoder *(*open)(const struct jxl_memory *memory);
    int (*subscribe)(struct jxl_decoder *d, int events);
    int (*input)(struct jxl_decoder *d, const uint8_t *data, size_t size);
    size_t (*take_back)(struct jxl_decoder *d); /* how much it has not read */
    int (*next)(struct jxl_decoder *d);
    int (*info)(const struct jxl_decoder *d, struct jxl_info *out);
    int (*room_size)(const struct jxl_decoder *d, const struct jxl_pixels *p,
                     size_t *out);
    int (*room)(struct jxl_decoder *d, const struct jxl_pixels *p, void *to,
                size_t size);
    void (*close)(struct jxl_decoder *d);
} jxl = {.once = PTHREAD_ONCE_INIT};

/* ---- The library --------------------------------------------------------- */

static bool find_jxl(void *handle, const char *name, void *function)
{
    void *found = handle ? dlsym(handle, name) : NULL;

    memcpy(function, &found, sizeof(found));
    return found != NULL;
}

static void load_jxl(void)
{
    static const char *const names[] = {"libjxl.so.0.7",  "libjxl.so.0.11",
                                        "libjxl.so.0.10", "libjxl.so.0.9",
                                        "libjxl.so.0.8",  NULL};
    void *h = NULL;

    for (int i = 0; names[i] && !h; i++)
        h = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    jxl.found = find_jxl(h, "JxlDecoderCreate", &jxl.open) &&
                find_jxl(h, "JxlDecoderSubscribeEvents", &jxl.subscribe) &&
                find_jxl(h, "JxlDecoderSetInput", &jxl.input) &&
                find_jxl(h, "JxlDecoderReleaseInput", &jxl.take_back) &&
                find_jxl(h, "JxlDecoderProcessInput", &jxl.next) &&
                find_jxl(h, "JxlDecoderGetBasicInfo", &jxl.info) &&
                find_jxl(h, "JxlDecoderImageOutBufferSize", &jxl.room_size) &&
                find_jxl(h, "JxlDecoderSetImageOutBuffer", &jxl.room) &&
                find_jxl(h, "JxlDecoderDestroy", &jxl.close);
}

static enum tfd_code need_jxl(struct tfd_status *st)
{
    if (pthread_once(&jxl.once, load_jxl) == 0 && jxl.found)
        return TFD_OK;
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "libjxl is not installed here (no libjxl.so.0.7 to "
                    "libjxl.so.0.11); of Debian's packages it is libjxl0.7");
}

/* ---- Memory -------------------------------------------------------------- */

/* Before what the library gets stands the buffer that it lies in. */
static void *take_counted(void *opaque, size_t size)
{
    struct tfd_buffer *b;

    (void)opaque;
    if (size > SIZE_MAX - TFD_BUFFER_ALIGN)
        return NULL;
    b = tfd_buffer_new(size + TFD_BUFFER_ALIGN);
    if (!b)
        return NULL;
    memcpy(b->data, &b, sizeof(b));
    return (char *)b->data + TFD_BUFFER_ALIGN;
}

static void give_counted_back(void *opaque, void *address)
{
    struct tfd_buffer *b;

    (void)opaque;
    if (!address)
        return;
    memcpy(&b, (char *)address - TFD_BUFFER_ALIGN, sizeof(b));
    tfd_buffer_unref(b);
}

/* ---- Decoding ------------------------------------------------------------ */

struct reading {
    struct jxl_decoder *d;
    struct tfd_str file;
    size_t given;             /* bytes of the file */
    struct tfd_buffer *count; /* stands for what the library works in */
    struct tfd_picture_size size;
};

static enum tfd_code fail_jxl(const struct reading *r, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Failed to decode JXL %s",
                    r->size.frames ? "image" : "header");
}

static size_t piece_of(const struct reading *r)
{
    const size_t part = r->file.size / PIECES_MAX;

    return part > PIECE_SIZE_MIN ? part : PIECE_SIZE_MIN;
}

/* What the library says next when it has as much of the file as it wants; 0 is
 * also what it says at the end. */
static int next_event(struct reading *r)
{
    int event = jxl.next(r->d);

    while (event == JXL_NEEDS_INPUT && r->given < r->file.size &&
           !tfd_halted()) {
        size_t from = r->given - jxl.take_back(r->d);
        size_t left = r->file.size - from;
        size_t piece = r->given - from + piece_of(r);

        if (piece > left)
            piece = left;
        if (jxl.input(r->d, (const uint8_t *)r->file.data + from, piece) != 0)
            return JXL_FAILED;
        r->given = from + piece;
        event = jxl.next(r->d);
    }
    return event;
}

static enum tfd_code count_work(struct reading *r, const struct jxl_info *info,
                                struct tfd_status *st)
{
    const uint64_t pixels = (uint64_t)(r->size.height * r->size.width);
    size_t each = 4 * ((size_t)info->colors + info->extra), size;

    if (!__builtin_mul_overflow(pixels, each, &size))
        r->count = tfd_buffer_new_empty(size);
    if (r->count && tfd_buffer_charge(r->count, size))
        return TFD_OK;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "OOM when decoding a JPEG XL of %lld by %lld pixels of "
                    "%llu channels",
                    (long long)r->size.width, (long long)r->size.height,
                    (unsigned long long)info->colors + info->extra);
}

static enum tfd_code read_header(struct reading *r, int64_t channels,
                                 struct tfd_status *st)
{
    struct jxl_info info;

    if (next_event(r) != JXL_HAS_INFO || jxl.info(r->d, &info) != 0)
        return fail_jxl(r, st);
    r->size =
        (struct tfd_picture_size){1, info.height, info.width,
                                  (int64_t)info.colors + (info.alpha_bits > 0)};
    if (channels != 0 && channels != r->size.channels)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of channels requested does not match input");
    TFD_TRY(tfd_picture_check("JPEG XL", &r->size, st));
    return count_work(r, &info, st);
}

static enum tfd_code read_pixels(struct reading *r,
                                 struct tfd_picture_sink *sink,
                                 struct tfd_status *st)
{
    const struct jxl_pixels form = {.channels = (uint32_t)r->size.channels,
                                    .type = JXL_BYTES};
    const size_t want =
        (size_t)(r->size.height * r->size.width * r->size.channels);
    size_t size = 0;
    uint8_t *to;

    if (next_event(r) != JXL_NEEDS_ROOM ||
        jxl.room_size(r->d, &form, &size) != 0 || size != want)
        return fail_jxl(r, st);
    TFD_TRY(sink->room(sink, &r->size, &to, st));
    if (jxl.room(r->d, &form, to, size) != 0 || next_event(r) != JXL_HAS_IMAGE)
        return fail_jxl(r, st);
    return TFD_OK;
}

static enum tfd_code read_jxl(struct reading *r, int64_t channels,
                              struct tfd_picture_sink *sink,
                              struct tfd_status *st)
{
    r->given = piece_of(r) < r->file.size ? piece_of(r) : r->file.size;
    if (jxl.subscribe(r->d, JXL_HAS_INFO | JXL_HAS_IMAGE) != 0 ||
        jxl.input(r->d, (const uint8_t *)r->file.data, r->given) != 0)
        return fail_jxl(r, st);
    TFD_TRY(read_header(r, channels, st));
    return read_pixels(r, sink, st);
}

enum tfd_code tfd_jxl_decode(struct tfd_str file, int64_t channels,
                             struct tfd_picture_sink *sink,
                             struct tfd_status *st)
{
    const struct jxl_memory memory = {NULL, take_counted, give_counted_back};
    struct reading r = {.file = file};
    enum tfd_code rc;

    TFD_TRY(need_jxl(st));
    r.d = jxl.open(&memory);
    if (!r.d)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when opening a JPEG XL");
    rc = read_jxl(&r, channels, sink, st);
    jxl.close(r.d);
    tfd_buffer_unref(r.count);
    return rc;
}
