/*
 * encode_image.c - EncodePng, EncodeJpeg, EncodeJpegVariableQuality.
 */
#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/codec/jpeg.h"
#include "kernels/codec/png.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"

#include <string.h>

/* A pixel's channel, compressed: some 20 ns. */
#define CHANNEL_COST_NS 20

static const struct tfd_shape scalar = {0, {0}};

/* The string is *b from now on. */
static void give_bytes(struct tfd_tstring *out, struct tfd_bytes *b)
{
    tfd_tstring_take(out, b->data, b->size, b->capacity);
    tfd_bytes_init(b, 0);
}

/* ---- EncodePng ----------------------------------------------------------- */

static enum tfd_code png_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    int64_t *compression = state;

    TFD_TRY(tfd_node_int(p->node, "compression", compression, st));
    if (*compression < -1 || *compression > 9)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "compression should be in [-1,9], got %lld",
                        (long long)*compression);
    return TFD_OK;
}

static enum tfd_code check_pixels(const struct tfd_shape *x,
                                  struct tfd_status *st)
{
    const int64_t *dim = x->dim + (x->rank - 3);
    const int64_t width_max = INT32_MAX / 2;

    if (tfd_shape_elements(x) >= INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "image cannot have >= int32 max elements");
    if (dim[1] != 0 && dim[2] >= width_max / dim[1])
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "image too wide to encode");
    if (dim[2] < 1 || dim[2] > 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "image must have 1, 2, 3, or 4 channels, got %lld",
                        (long long)dim[2]);
    return TFD_OK;
}

struct pngs {
    struct tfd_picture picture; /* the first */
    size_t size;                /* of one, in bytes */
    struct tfd_tstring *y;
};

/* What libpng does not write stays empty, which no file is. */
static enum tfd_code encode_pngs(void *arg, int64_t begin, int64_t end,
                                 struct tfd_status *st)
{
    const struct pngs *p = arg;

    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        struct tfd_status why = TFD_STATUS_INIT;
        struct tfd_picture picture = p->picture;
        struct tfd_bytes b;

        if (picture.pixels)
            picture.pixels =
                (const uint8_t *)picture.pixels + (size_t)i * p->size;
        tfd_bytes_init(&b, TFD_PICTURE_FILE_SIZE_MAX);
        if (tfd_png_encode(&picture, &b, &why) == TFD_OK)
            give_bytes(&p->y[i], &b);
        tfd_bytes_deinit(&b);
        if (why.code != TFD_OK && why.code != TFD_INTERNAL)
            return tfd_status_copy(st, &why);
    }
    return TFD_OK;
}

static enum tfd_code check_written(const struct tfd_tensor *t,
                                   struct tfd_status *st)
{
    const struct tfd_tstring *y = tfd_tensor_data(t);
    struct tfd_bytes text;
    enum tfd_code rc = TFD_OK;

    tfd_bytes_init(&text, TFD_ERROR_TEXT_SIZE_MAX);
    for (int64_t i = 0; i < tfd_tensor_elements(t) && !text.failed; i++)
        if (tfd_tstring_view(&y[i]).size == 0)
            tfd_bytes_printf(&text, "%s%lld", text.size ? ", " : "",
                             (long long)i);
    if (text.size)
        rc = tfd_fail(st, TFD_INTERNAL,
                      "PNG encoding failed at the following flattened batch "
                      "indices: " TFD_STR_FMT,
                      TFD_STR_ARG(tfd_bytes_view(&text)));
    tfd_bytes_deinit(&text);
    return rc;
}

static enum tfd_code png_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    const int64_t *dim = x->dim + (x->rank - 3);
    const int size = (int)tfd_dtype_size(k->in[0].dtype);
    struct tfd_shape out;
    struct pngs p;

    TFD_TRY(check_pixels(x, st));
    TFD_TRY(tfd_shape_make(&out, x->dim, x->rank - 3, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &out, st));
    p.size = (size_t)(dim[0] * dim[1] * dim[2]) * (size_t)size;
    p.picture =
        (struct tfd_picture){.pixels = tfd_tensor_data(&k->in[0]),
                             .height = dim[0],
                             .width = dim[1],
                             .channels = (int)dim[2],
                             .bits = 8 * size,
                             .compression = (int)*(const int64_t *)k->state};
    p.y = tfd_tensor_data(&k->out[0]);
    TFD_TRY(tfd_kctx_try(k, tfd_shape_elements(&out),
                         p.size < INT32_MAX / CHANNEL_COST_NS
                             ? CHANNEL_COST_NS * (int)p.size
                             : INT32_MAX,
                         encode_pngs, &p, st));
    return tfd_halted() ? TFD_OK : check_written(&k->out[0], st);
}

static enum tfd_code png_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    if (s->in[0].rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    if (s->in[0].rank < 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank 3 but is rank %d",
                        s->in[0].rank);
    return tfd_shape_make_partial(&s->out[0], s->in[0].dim, s->in[0].rank - 3,
                                  st);
}

/* ---- EncodeJpeg ---------------------------------------------------------- */

struct jpeg_state {
    int64_t channels; /* 0: what the image has */
    struct tfd_jpeg_settings settings;
};

static enum tfd_code check_quality(int64_t quality, struct tfd_status *st)
{
    if (quality >= 0 && quality <= 100)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "quality must be in [0,100], got %lld", (long long)quality);
}

static enum tfd_code jpeg_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct jpeg_state *s = state;
    struct tfd_jpeg_settings *o = &s->settings;
    struct tfd_str text;

    TFD_TRY(tfd_node_str(p->node, "format", &text, st));
    s->channels = text.size == 0 ? 0 : tfd_str_is(text, "rgb") ? 3 : 1;
    TFD_TRY(tfd_node_int(p->node, "quality", &o->quality, st));
    TFD_TRY(check_quality(o->quality, st));
    TFD_TRY(tfd_node_bool(p->node, "progressive", &o->progressive, st));
    TFD_TRY(tfd_node_bool(p->node, "optimize_size", &o->optimize, st));
    TFD_TRY(tfd_node_bool(p->node, "chroma_downsampling",
                          &o->chroma_downsampling, st));
    TFD_TRY(tfd_node_str(p->node, "density_unit", &text, st));
    o->per_cm = tfd_str_is(text, "cm");
    TFD_TRY(tfd_node_int(p->node, "x_density", &o->x_density, st));
    TFD_TRY(tfd_node_int(p->node, "y_density", &o->y_density, st));
    return tfd_node_str(p->node, "xmp_metadata", &o->xmp, st);
}

static enum tfd_code variable_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    struct jpeg_state *s = state;

    (void)p, (void)st;
    s->settings = (struct tfd_jpeg_settings){
        .chroma_downsampling = true, .x_density = 300, .y_density = 300};
    return TFD_OK;
}

static enum tfd_code check_jpeg_image(const struct tfd_shape *x,
                                      struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (x->rank != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "image must be 3-dimensional%s",
                        tfd_shape_text(x, text));
    if (tfd_shape_elements(x) >= INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Cannot encode images with >= max int32 elements");
    return TFD_OK;
}

static enum tfd_code check_jpeg_channels(const struct tfd_shape *x,
                                         int64_t channels,
                                         struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (channels == 0 && x->dim[2] != 1 && x->dim[2] != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "image must have 1 or 3 channels, got %s",
                        tfd_shape_text(x, text));
    if (channels != 0 && x->dim[2] != channels)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "format %s expects %lld channels, got %s",
                        channels == 1 ? "grayscale" : "rgb",
                        (long long)channels, tfd_shape_text(x, text));
    return TFD_OK;
}

static enum tfd_code write_jpeg(struct tfd_kctx *k,
                                const struct tfd_jpeg_settings *settings,
                                struct tfd_status *st)
{
    const int64_t *dim = k->in[0].shape.dim;
    const struct tfd_picture_size size = {1, dim[0], dim[1], dim[2]};
    struct tfd_bytes b;
    enum tfd_code rc;

    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &scalar, st));
    tfd_bytes_init(&b, TFD_PICTURE_FILE_SIZE_MAX);
    rc = tfd_jpeg_encode(tfd_tensor_data(&k->in[0]), &size, settings, &b, st);
    if (rc == TFD_OK)
        give_bytes(tfd_tensor_data(&k->out[0]), &b);
    tfd_bytes_deinit(&b);
    return rc;
}

static enum tfd_code jpeg_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct jpeg_state *s = k->state;

    TFD_TRY(check_jpeg_image(&k->in[0].shape, st));
    TFD_TRY(check_jpeg_channels(&k->in[0].shape, s->channels, st));
    return write_jpeg(k, &s->settings, st);
}

static enum tfd_code variable_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct jpeg_state *s = k->state;
    struct tfd_jpeg_settings settings = s->settings;
    char text[TFD_SHAPE_TEXT_MAX];

    TFD_TRY(check_jpeg_image(&k->in[0].shape, st));
    if (k->in[1].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "quality must be scalar: %s",
                        tfd_shape_text(&k->in[1].shape, text));
    settings.quality = tfd_check_int_at(&k->in[1], 0);
    TFD_TRY(check_quality(settings.quality, st));
    TFD_TRY(check_jpeg_channels(&k->in[0].shape, 0, st));
    return write_jpeg(k, &settings, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "EncodePng",
        .inputs = "image: T",
        .outputs = "contents: string",
        .attrs = "compression: int = -1; T: {uint8, uint16} = DT_UINT8",
        .checks = "image: rank>=3 'images must be at least rank 3%s'",
        .shape = png_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "EncodeJpeg",
        .inputs = "image: uint8",
        .outputs = "contents: string",
        .attrs = "format: {'', 'grayscale', 'rgb'} = ''; quality: int = 95; "
                 "progressive: bool = false; optimize_size: bool = false; "
                 "chroma_downsampling: bool = true; "
                 "density_unit: {'in', 'cm'} = 'in'; x_density: int = 300; "
                 "y_density: int = 300; xmp_metadata: string = ''",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "EncodeJpegVariableQuality",
        .inputs = "images: uint8, quality: int32",
        .outputs = "contents: string",
        .attrs = "",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define FLAGS .flags = TFD_KERNEL_HEAVY | TFD_KERNEL_BLOCKS
#define PNG(name)                                                      \
    TFD_KERNEL("EncodePng", name, png_compute, .prepare = png_prepare, \
               .state_size = sizeof(int64_t), FLAGS)

static const struct tfd_kernel kernels[] = {
    PNG(UINT8),
    PNG(UINT16),
    TFD_KERNEL_ANY("EncodeJpeg", jpeg_compute, .prepare = jpeg_prepare,
                   .state_size = sizeof(struct jpeg_state), FLAGS),
    TFD_KERNEL_ANY("EncodeJpegVariableQuality", variable_compute,
                   .prepare = variable_prepare,
                   .state_size = sizeof(struct jpeg_state), FLAGS),
};

const struct tfd_family tfd_family_encode_image = {
    .name = "encode_image",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
