/*
 * decode_image.c - DecodePng, DecodeJpeg, DecodeAndCropJpeg, DecodeGif,
 * DecodeBmp, DecodeWebP, DecodeJxl, DecodeImage, and ExtractJpegShape.
 *
 * As in TensorFlow all of them look at the first bytes and decode what is
 * there, a few combinations apart; they differ in attributes, and in the rank
 * of what they give: DecodeGif has frames always, DecodePng never.
 *
 * Decoders give bytes.  Where other numbers are wanted, bytes go to memory of
 * their own and are converted; a PNG's 16 bits are read as such.
 */
#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/codec/bmp.h"
#include "kernels/codec/gif.h"
#include "kernels/codec/jpeg.h"
#include "kernels/codec/jxl.h"
#include "kernels/codec/png.h"
#include "kernels/codec/webp.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"

#include <string.h>

enum image_op {
    OP_BMP,
    OP_CROP_JPEG,
    OP_GIF,
    OP_IMAGE,
    OP_JPEG,
    OP_JXL,
    OP_PNG,
    OP_WEBP,
};

/* By number. */
static const char *const op_names[] = {
    "DecodeBmp",  "DecodeAndCropJpeg", "DecodeGif", "DecodeImage",
    "DecodeJpeg", "DecodeJxl",         "DecodePng", "DecodeWebP",
};

struct decoding {
    enum image_op op;
    int64_t channels;
    enum tfd_dtype dtype;
    bool all_frames;
    struct tfd_jpeg_options jpeg;
};

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code read_jpeg_options(const struct tfd_node *n,
                                       struct tfd_jpeg_options *o,
                                       struct tfd_status *st)
{
    struct tfd_str method;

    TFD_TRY(tfd_node_int(n, "ratio", &o->ratio, st));
    if (o->ratio != 1 && o->ratio != 2 && o->ratio != 4 && o->ratio != 8)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "ratio must be 1, 2, 4, or 8, got %lld",
                        (long long)o->ratio);
    TFD_TRY(tfd_node_bool(n, "fancy_upscaling", &o->fancy, st));
    TFD_TRY(tfd_node_bool(n, "try_recover_truncated", &o->recover, st));
    TFD_TRY(tfd_node_float(n, "acceptable_fraction", &o->fraction, st));
    TFD_TRY(tfd_node_str(n, "dct_method", &method, st));
    o->accurate = tfd_str_is(method, "INTEGER_ACCURATE");
    if (!o->accurate && method.size && !tfd_str_is(method, "INTEGER_FAST"))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "dct_method must be one of {'', 'INTEGER_FAST', "
                        "'INTEGER_ACCURATE'}");
    return TFD_OK;
}

static enum tfd_code read_dtype(const struct tfd_node *n, struct decoding *d,
                                struct tfd_status *st)
{
    TFD_TRY(tfd_node_type(n, "dtype", &d->dtype, st));
    return d->op == OP_IMAGE
               ? tfd_node_bool(n, "expand_animations", &d->all_frames, st)
               : TFD_OK;
}

static enum tfd_code decode_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct decoding *d = state;

    while (!tfd_str_is(p->node->op->name, op_names[d->op]))
        d->op++;
    d->dtype = TFD_UINT8;
    d->all_frames = true;
    d->jpeg = (struct tfd_jpeg_options){.ratio = 1,
                                        .fancy = true,
                                        .fraction = 1,
                                        .crop = d->op == OP_CROP_JPEG};
    if (d->op == OP_JPEG || d->op == OP_CROP_JPEG)
        TFD_TRY(read_jpeg_options(p->node, &d->jpeg, st));
    if (d->op == OP_PNG || d->op == OP_IMAGE)
        TFD_TRY(read_dtype(p->node, d, st));
    d->channels = 3;
    if (d->op == OP_GIF)
        return TFD_OK;
    TFD_TRY(tfd_node_int(p->node, "channels", &d->channels, st));
    if (d->channels != 0 && d->channels != 1 && d->channels != 3 &&
        d->channels != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`channels` must be 0, 1, 3 or 4 but got %lld",
                        (long long)d->channels);
    return TFD_OK;
}

/* ---- The output ---------------------------------------------------------- */

enum picture_format {
    FORMAT_NONE,
    FORMAT_BMP,
    FORMAT_GIF,
    FORMAT_JPEG,
    FORMAT_JXL,
    FORMAT_PNG,
    FORMAT_WEBP,
};

struct output {
    struct tfd_picture_sink sink;
    struct tfd_kctx *k;
    const struct decoding *d;
    enum picture_format format;
    struct tfd_buffer *bytes; /* of ours, where the op gives other numbers */
};

static bool has_frames(const struct output *o)
{
    if (o->format == FORMAT_BMP || o->format == FORMAT_JXL)
        return false;
    if (o->format == FORMAT_WEBP)
        return o->d->all_frames;
    return o->d->op == OP_GIF || (o->format == FORMAT_GIF &&
                                  o->d->op == OP_IMAGE && o->d->all_frames);
}

static enum tfd_code output_of_size(struct output *o,
                                    const struct tfd_picture_size *size,
                                    struct tfd_status *st)
{
    const bool frames = has_frames(o);
    struct tfd_shape shape;

    if (!frames && size->frames > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Got %lld frames, but animated gifs can only be "
                        "decoded by tf.io.decode_gif or tf.io.decode_image",
                        (long long)size->frames);
    TFD_TRY(tfd_shape_make(
        &shape,
        (int64_t[]){size->frames, size->height, size->width, size->channels} +
            !frames,
        3 + frames, st));
    return tfd_kctx_output(o->k, 0, o->d->dtype, &shape, st);
}

static enum tfd_code output_room(struct tfd_picture_sink *s,
                                 const struct tfd_picture_size *size,
                                 uint8_t **out, struct tfd_status *st)
{
    struct output *o = (struct output *)s;

    TFD_TRY(output_of_size(o, size, st));
    *out = tfd_tensor_data(&o->k->out[0]);
    if (o->d->dtype == TFD_UINT8)
        return TFD_OK;
    o->bytes = tfd_buffer_new((size_t)tfd_tensor_elements(&o->k->out[0]));
    if (!o->bytes)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating the bytes of an image of %lld "
                        "numbers",
                        (long long)tfd_tensor_elements(&o->k->out[0]));
    *out = o->bytes->data;
    return TFD_OK;
}

struct numbers {
    const void *from;
    void *to;
    float scale;
};

#define CONVERT(name, F, T, EXPR)                           \
    static void name(void *arg, int64_t begin, int64_t end) \
    {                                                       \
        const struct numbers *n = arg;                      \
        const F *x = n->from;                               \
        T *y = n->to;                                       \
                                                            \
        for (int64_t i = begin; i < end; i++)               \
            y[i] = EXPR;                                    \
    }
CONVERT(bytes_to_shorts, uint8_t, uint16_t, (uint16_t)(x[i] << 8))
CONVERT(bytes_to_floats, uint8_t, float, (float)x[i] * n->scale)
CONVERT(shorts_to_floats, uint16_t, float, (float)x[i] * n->scale)

static void convert_bytes(struct output *o)
{
    struct tfd_tensor *y = &o->k->out[0];
    struct numbers n = {o->bytes->data, tfd_tensor_data(y),
                        (float)(1.0 / UINT8_MAX)};

    tfd_kctx_parallel(
        o->k, tfd_tensor_elements(y), 1,
        o->d->dtype == TFD_UINT16 ? bytes_to_shorts : bytes_to_floats, &n);
}

/* ---- PNG ----------------------------------------------------------------- */

static enum tfd_code bad_png(struct tfd_str file, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Invalid PNG data, size %zu",
                    file.size);
}

static enum tfd_code png_floats(struct output *o, struct tfd_png_reader *r,
                                struct tfd_str file, struct tfd_status *st)
{
    struct tfd_tensor *y = &o->k->out[0];
    struct numbers n = {.to = tfd_tensor_data(y),
                        .scale = (float)(1.0 / UINT16_MAX)};

    o->bytes = tfd_buffer_new(2 * (size_t)tfd_tensor_elements(y));
    if (!o->bytes)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating the numbers of a PNG");
    if (!tfd_png_read(r, o->bytes->data))
        return bad_png(file, st);
    n.from = o->bytes->data;
    tfd_kctx_parallel(o->k, tfd_tensor_elements(y), 1, shorts_to_floats, &n);
    return TFD_OK;
}

static enum tfd_code read_png(struct output *o, struct tfd_png_reader *r,
                              struct tfd_str file, struct tfd_status *st)
{
    const struct tfd_picture_size size = {1, r->height, r->width, r->channels};

    TFD_TRY(tfd_png_check(r, st));
    if (tfd_png_short(r))
        return bad_png(file, st);
    TFD_TRY(output_of_size(o, &size, st));
    if (o->d->dtype == TFD_FLOAT)
        return png_floats(o, r, file, st);
    return tfd_png_read(r, tfd_tensor_data(&o->k->out[0])) ? TFD_OK
                                                           : bad_png(file, st);
}

static enum tfd_code decode_png(struct output *o, struct tfd_str file,
                                struct tfd_status *st)
{
    struct tfd_png_reader r;
    enum tfd_code rc;

    if (tfd_png_open(&r, file, (int)o->d->channels,
                     o->d->dtype == TFD_UINT8 ? 8 : 16))
        rc = read_png(o, &r, file, st);
    else
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "Invalid PNG. Failed to initialize decoder.");
    tfd_png_close(&r);
    return rc;
}

/* ---- JPEG ---------------------------------------------------------------- */

static enum tfd_code read_window(const struct tfd_kctx *k, int32_t *out,
                                 struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[1];
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "crop_window must be 1-D, got shape %s",
                        tfd_shape_text(&t->shape, text));
    if (t->shape.dim[0] != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "crop_size must have four elements %s",
                        tfd_shape_text(&t->shape, text));
    memcpy(out, tfd_tensor_data(t), 4 * sizeof(*out));
    return TFD_OK;
}

static enum tfd_code decode_jpeg(struct output *o, struct tfd_str file,
                                 struct tfd_status *st)
{
    struct tfd_jpeg_options options = o->d->jpeg;

    options.channels = o->d->channels;
    if (options.crop)
        TFD_TRY(read_window(o->k, options.window, st));
    return tfd_jpeg_decode(file, &options, &o->sink, st);
}

/* ---- Which one it is ----------------------------------------------------- */

static bool starts_with(struct tfd_str file, struct tfd_str magic)
{
    return file.size >= magic.size &&
           memcmp(file.data, magic.data, magic.size) == 0;
}

static enum picture_format format_of(struct tfd_str file)
{
    static const struct {
        struct tfd_str magic;
        enum picture_format format;
    } rows[] = {
        {TFD_STR_INIT("\xff\xd8\xff"), FORMAT_JPEG},
        {TFD_STR_INIT("\x89PNG\r\n\x1a\n"), FORMAT_PNG},
        {TFD_STR_INIT("GIF8"), FORMAT_GIF},
        {TFD_STR_INIT("BM"), FORMAT_BMP},
        {TFD_STR_INIT("\xff\x0a"), FORMAT_JXL},
        {TFD_STR_INIT("\0\0\0\x0cJXL \r\n\x87\n"), FORMAT_JXL},
    };

    for (int i = 0; i < TFD_COUNT(rows); i++)
        if (starts_with(file, rows[i].magic))
            return rows[i].format;
    if (file.size > 12 && starts_with(file, TFD_STR("RIFF")) &&
        memcmp(file.data + 8, "WEBP", 4) == 0)
        return FORMAT_WEBP;
    return FORMAT_NONE;
}

/* What TensorFlow's ops do not decode though they could. */
static enum tfd_code check_pair(const struct output *o, struct tfd_status *st)
{
    static const char *const names[] = {[FORMAT_BMP] = "BMP",
                                        [FORMAT_GIF] = "GIF",
                                        [FORMAT_JPEG] = "JPEG",
                                        [FORMAT_PNG] = "PNG"};
    static const char *const ops_for[] = {[FORMAT_GIF] = "decode_gif",
                                          [FORMAT_JPEG] = "decode_jpeg",
                                          [FORMAT_PNG] = "decode_png"};
    const enum image_op op = o->d->op;

    if (o->format == FORMAT_WEBP || o->format == FORMAT_JXL)
        return TFD_OK;
    if (op == OP_CROP_JPEG && o->format != FORMAT_JPEG)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "DecodeAndCropJpeg operation can run on JPEG only, "
                        "but detected %s.",
                        names[o->format]);
    if (op == OP_BMP && o->format != FORMAT_BMP)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Trying to decode %s format using DecodeBmp op. Use "
                        "`%s` or `decode_image` instead.",
                        names[o->format], ops_for[o->format]);
    if (o->format == FORMAT_BMP && op != OP_BMP && op != OP_IMAGE)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Trying to decode BMP format using a wrong op. Use "
                        "`decode_bmp` or `decode_image` instead. Op used: %s",
                        op_names[op]);
    return TFD_OK;
}

static enum tfd_code check_channels(const struct output *o,
                                    struct tfd_status *st)
{
    const int64_t channels = o->d->channels;

    if (o->format == FORMAT_JPEG && channels == 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "JPEG does not support 4 channels");
    if (o->format == FORMAT_GIF && channels != 0 && channels != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "channels must be 0 or 3 for GIF, got %lld",
                        (long long)channels);
    if (o->format == FORMAT_BMP && channels == 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`channels` must be 0, 3 or 4 for BMP, but got 1");
    if (o->format == FORMAT_WEBP && channels == 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "WebP only supports 3 or 4 channels");
    if (o->format == FORMAT_WEBP && o->d->dtype != TFD_UINT8)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "WebP only supports uint8 for dtype");
    if (o->format == FORMAT_JXL && o->d->dtype != TFD_UINT8)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "JXL only supports uint8 for dtype");
    return TFD_OK;
}

static enum tfd_code decode_file(struct output *o, struct tfd_str file,
                                 struct tfd_status *st)
{
    const struct decoding *d = o->d;

    switch (o->format) {
    case FORMAT_BMP:
        return tfd_bmp_decode(file, d->channels, &o->sink, st);
    case FORMAT_GIF:
        return tfd_gif_decode(file, d->all_frames, &o->sink, st);
    case FORMAT_JPEG:
        return decode_jpeg(o, file, st);
    case FORMAT_PNG:
        return decode_png(o, file, st);
    case FORMAT_WEBP:
        return tfd_webp_decode(file, d->channels, d->all_frames, &o->sink, st);
    case FORMAT_JXL:
        return tfd_jxl_decode(file, d->channels, &o->sink, st);
    case FORMAT_NONE:
        break;
    }
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Unknown image file format. One of JPEG, JPEG XL, PNG, "
                    "GIF, BMP, WebP required.");
}

static enum tfd_code decode_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct output o = {.sink = {output_room}, .k = k, .d = k->state};
    struct tfd_str file;
    enum tfd_code rc;

    TFD_TRY(tfd_check_str(k, 0, &file, st));
    if (file.size == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Input is empty.");
    if (file.size > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input contents are too large for int: %zu", file.size);
    o.format = format_of(file);
    if (o.format != FORMAT_NONE) {
        TFD_TRY(check_channels(&o, st));
        TFD_TRY(check_pair(&o, st));
    }
    rc = decode_file(&o, file, st);
    if (rc == TFD_OK && o.bytes && o.format != FORMAT_PNG && !tfd_halted())
        convert_bytes(&o);
    tfd_buffer_unref(o.bytes);
    return rc;
}

/* ---- ExtractJpegShape ---------------------------------------------------- */

static enum tfd_code jpeg_shape_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    static const struct tfd_shape three = {1, {3}};
    const enum tfd_dtype dtype = (enum tfd_dtype)k->node->out_types[0];
    struct tfd_picture_size size;
    struct tfd_str file;

    TFD_TRY(tfd_check_str(k, 0, &file, st));
    if (file.size > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "JPEG contents are too large for int: %zu", file.size);
    TFD_TRY(tfd_jpeg_shape(file, &size, st));
    TFD_TRY(tfd_kctx_output(k, 0, dtype, &three, st));
    for (int i = 0; i < 3; i++) {
        const int64_t v =
            (const int64_t[]){size.height, size.width, size.channels}[i];

        if (dtype == TFD_INT64)
            ((int64_t *)tfd_tensor_data(&k->out[0]))[i] = v;
        else
            ((int32_t *)tfd_tensor_data(&k->out[0]))[i] = (int32_t)v;
    }
    return TFD_OK;
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code decoded_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    const int64_t any = TFD_DIM_UNKNOWN;
    int64_t channels = 0;

    if (!s->node)
        return TFD_OK;
    TFD_TRY(tfd_node_int(s->node, "channels", &channels, st));
    if (channels < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "channels must be non-negative, got %lld",
                        (long long)channels);
    return tfd_shape_make_partial(
        &s->out[0], (int64_t[]){any, any, channels ? channels : any}, 3, st);
}

static enum tfd_code gif_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const int64_t any = TFD_DIM_UNKNOWN;

    return tfd_shape_make_partial(&s->out[0], (int64_t[]){any, any, any, 3}, 4,
                                  st);
}

static enum tfd_code three_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    return tfd_shape_make(&s->out[0], (int64_t[]){3}, 1, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define CONTENTS "contents: scalar '`contents` must be scalar but got shape%s'"
#define JPEG_ATTRS                                                      \
    "channels: int = 0; ratio: int = 1; fancy_upscaling: bool = true; " \
    "try_recover_truncated: bool = false; "                             \
    "acceptable_fraction: float = 1; dct_method: string = ''"
#define DECODES(op_, in, type, attrs_, shape_)                                 \
    {                                                                          \
        .name = op_, .inputs = in, .outputs = "image: " type, .attrs = attrs_, \
        .checks = CONTENTS, .shape = shape_, .flags = TFD_OP_NO_GRADIENT       \
    }

static const struct tfd_opdef ops[] = {
    DECODES("DecodeBmp", "contents: string", "uint8", "channels: int = 0",
            decoded_shape),
    DECODES("DecodeAndCropJpeg", "contents: string, crop_window: int32",
            "uint8", JPEG_ATTRS, decoded_shape),
    DECODES("DecodeGif", "contents: string", "uint8", "", gif_shape),
    DECODES("DecodeImage", "contents: string", "dtype",
            "channels: int = 0; dtype: {uint8, uint16, float} = DT_UINT8; "
            "expand_animations: bool = true",
            NULL),
    DECODES("DecodeJpeg", "contents: string", "uint8", JPEG_ATTRS,
            decoded_shape),
    DECODES("DecodeJxl", "contents: string", "dtype",
            "channels: int = 0; dtype: {uint8} = DT_UINT8", NULL),
    DECODES("DecodePng", "contents: string", "dtype",
            "channels: int = 0; dtype: {uint8, uint16} = DT_UINT8",
            decoded_shape),
    DECODES("DecodeWebP", "contents: string", "dtype",
            "channels: int = 0; dtype: {uint8} = DT_UINT8", NULL),
    {
        .name = "ExtractJpegShape",
        .inputs = "contents: string",
        .outputs = "image_shape: output_type",
        .attrs = "output_type: {int32, int64} = DT_INT32",
        .checks = "contents: scalar 'contents must be scalar, got shape %s'",
        .shape = three_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define KERNEL(op)                                                \
    TFD_KERNEL_ANY(op, decode_compute, .prepare = decode_prepare, \
                   .state_size = sizeof(struct decoding),         \
                   .flags = TFD_KERNEL_HEAVY | TFD_KERNEL_BLOCKS)

static const struct tfd_kernel kernels[] = {
    KERNEL("DecodeBmp"),
    KERNEL("DecodeAndCropJpeg"),
    KERNEL("DecodeGif"),
    KERNEL("DecodeImage"),
    KERNEL("DecodeJpeg"),
    KERNEL("DecodeJxl"),
    KERNEL("DecodePng"),
    KERNEL("DecodeWebP"),
    TFD_KERNEL_ANY("ExtractJpegShape", jpeg_shape_compute,
                   .flags = TFD_KERNEL_HEAVY | TFD_KERNEL_BLOCKS),
};

const struct tfd_family tfd_family_decode_image = {
    .name = "decode_image",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
