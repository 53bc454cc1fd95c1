/*
 * webp.c - see webp.h.
 *
 * The structs below are those of libwebp's interface, whose versions these are;
 * a library with another one before the point refuses, and says so by failing.
 */
#include "kernels/codec/webp.h"

#include "common/thread/halt.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#define DECODER_VERSION 0x0209
#define DEMUX_VERSION 0x0107

struct webp_features {
    int width, height, has_alpha, has_animation, format;
    uint32_t pad[5];
};

struct webp_data {
    const uint8_t *bytes;
    size_t size;
};

struct webp_animation {
    uint32_t width, height, loop_count, background, frame_count;
    uint32_t pad[4];
};

struct webp_decoder; /* of an animation */

static struct {
    pthread_once_t once, demux_once;
    bool found, found_demux;
    int (*features)(const uint8_t *data, size_t size, struct webp_features *out,
                    int version);
    uint8_t *(*rgb)(const uint8_t *data, size_t size, uint8_t *out,
                    size_t out_size, int stride);
    uint8_t *(*rgba)(const uint8_t *data, size_t size, uint8_t *out,
                     size_t out_size, int stride);
    struct webp_decoder *(*open)(const struct webp_data *data,
                                 const void *options, int version);
    int (*info)(const struct webp_decoder *d, struct webp_animation *out);
    int (*has_more)(const struct webp_decoder *d);
    int (*next)(struct webp_decoder *d, uint8_t **pixels, int *time);
    void (*close)(struct webp_decoder *d);
} webp = {.once = PTHREAD_ONCE_INIT, .demux_once = PTHREAD_ONCE_INIT};

/* ---- Libraries ----------------------------------------------------------- */

static bool find_webp(void *handle, const char *name, void *function)
{
    void *found = handle ? dlsym(handle, name) : NULL;

    memcpy(function, &found, sizeof(found));
    return found != NULL;
}

static void load_webp(void)
{
    void *h = dlopen("libwebp.so.7", RTLD_NOW | RTLD_LOCAL);

    webp.found = find_webp(h, "WebPGetFeaturesInternal", &webp.features) &&
                 find_webp(h, "WebPDecodeRGBInto", &webp.rgb) &&
                 find_webp(h, "WebPDecodeRGBAInto", &webp.rgba);
}

static void load_demux(void)
{
    void *h = dlopen("libwebpdemux.so.2", RTLD_NOW | RTLD_LOCAL);

    webp.found_demux =
        find_webp(h, "WebPAnimDecoderNewInternal", &webp.open) &&
        find_webp(h, "WebPAnimDecoderGetInfo", &webp.info) &&
        find_webp(h, "WebPAnimDecoderHasMoreFrames", &webp.has_more) &&
        find_webp(h, "WebPAnimDecoderGetNext", &webp.next) &&
        find_webp(h, "WebPAnimDecoderDelete", &webp.close);
}

static enum tfd_code need_webp(struct tfd_status *st)
{
    if (pthread_once(&webp.once, load_webp) == 0 && webp.found)
        return TFD_OK;
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "libwebp is not installed here (no libwebp.so.7); of "
                    "Debian's packages it is libwebp7");
}

static enum tfd_code need_demux(struct tfd_status *st)
{
    if (pthread_once(&webp.demux_once, load_demux) == 0 && webp.found_demux)
        return TFD_OK;
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "libwebpdemux is not installed here (no "
                    "libwebpdemux.so.2); of Debian's packages it is "
                    "libwebpdemux2");
}

/* ---- One picture --------------------------------------------------------- */

static enum tfd_code decode_still(struct tfd_str file,
                                  const struct tfd_picture_size *size,
                                  struct tfd_picture_sink *sink,
                                  struct tfd_status *st)
{
    const int64_t stride = size->width * size->channels;
    uint8_t *to, *done;

    TFD_TRY(tfd_picture_check("WebP", size, st));
    TFD_TRY(sink->room(sink, size, &to, st));
    done = (size->channels == 4 ? webp.rgba : webp.rgb)(
        (const uint8_t *)file.data, file.size, to,
        (size_t)(stride * size->height), (int)stride);
    if (!done)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Failed to decode WebP image.");
    return TFD_OK;
}

/* ---- Animations ---------------------------------------------------------- */

static enum tfd_code animation_fails(struct tfd_status *st, const char *why)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Failed to decode WebP Animation: %s", why);
}

static enum tfd_code decode_frames(struct webp_decoder *d,
                                   const struct tfd_picture_size *size,
                                   uint8_t *to, struct tfd_status *st)
{
    const size_t frame = (size_t)(size->width * size->height * 4);
    int64_t n = 0;
    int time;

    for (; n < size->frames && webp.has_more(d); n++, to += frame) {
        uint8_t *pixels;

        if (tfd_halted())
            return TFD_OK;
        if (!webp.next(d, &pixels, &time))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Failed to decode WebP Animation: failed to "
                            "decode frame: %lld",
                            (long long)n);
        memcpy(to, pixels, frame);
    }
    if (n < size->frames)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Failed to decode WebP Animation: only read %lld of "
                        "%lld frames",
                        (long long)n, (long long)size->frames);
    return TFD_OK;
}

static enum tfd_code run_decoder(struct webp_decoder *d, bool all_frames,
                                 struct tfd_picture_sink *sink,
                                 struct tfd_status *st)
{
    struct webp_animation info;
    struct tfd_picture_size size;
    uint8_t *to;

    if (!webp.info(d, &info))
        return animation_fails(st, "failed to get WebP Animation Info");
    size = (struct tfd_picture_size){all_frames ? info.frame_count : 1,
                                     info.height, info.width, 4};
    TFD_TRY(tfd_picture_check("WebP", &size, st));
    TFD_TRY(sink->room(sink, &size, &to, st));
    return decode_frames(d, &size, to, st);
}

static enum tfd_code decode_animation(struct tfd_str file, bool all_frames,
                                      struct tfd_picture_sink *sink,
                                      struct tfd_status *st)
{
    const struct webp_data data = {(const uint8_t *)file.data, file.size};
    struct webp_decoder *d;
    enum tfd_code rc;

    TFD_TRY(need_demux(st));
    d = webp.open(&data, NULL, DEMUX_VERSION);
    if (!d)
        return animation_fails(st, "failed to decode WebP Animation");
    rc = run_decoder(d, all_frames, sink, st);
    webp.close(d);
    return rc;
}

enum tfd_code tfd_webp_decode(struct tfd_str file, int64_t channels,
                              bool all_frames, struct tfd_picture_sink *sink,
                              struct tfd_status *st)
{
    struct webp_features f;
    struct tfd_picture_size size;

    TFD_TRY(need_webp(st));
    if (webp.features((const uint8_t *)file.data, file.size, &f,
                      DECODER_VERSION) != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Failed to decode WebP header.");
    size = (struct tfd_picture_size){1, f.height, f.width, f.has_alpha ? 4 : 3};
    if (channels != 0 && channels != size.channels)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of channels requested does not match input");
    if (!f.has_animation)
        return decode_still(file, &size, sink, st);
    if (channels != 0 && channels != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "WebP Animation must be 4 channel RGBA");
    TFD_TRY(tfd_picture_check("WebP", &size, st)); /* two of them are made */
    return decode_animation(file, all_frames, sink, st);
}
