/*
 * summary_media.c - ImageSummary, AudioSummary and AudioSummaryV2; and
 * WriteImageSummary and WriteAudioSummary, which write the same to an event
 * file.
 *
 * Images become PNG files (png.h).
 *
 * Images of floats are scaled: by 255 / max where nothing is negative, else by
 * 127 / max |x| around 128; a pixel that is not finite gets the bad colour.
 *
 * Audio becomes WAV (wav.h).
 */
#include "common/base/half.h"
#include "common/proto/summary.pb.h"
#include "config/limits.h"
#include "kernels/codec/png.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/signal/wav.h"
#include "kernels/text/event_writer.h"
#include "kernels/text/summary.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Scaling to bytes ---------------------------------------------------- */

struct scaling {
    const void *x; /* pixels of one image */
    uint8_t *y;
    int64_t pixels, depth;
    const uint8_t *bad_color;
};

/* Below this an image is black, and not noise blown up. */
#define DARK 1e-6f

/* The transform is computed in the element's own type, step by step, because
 * the last bit decides between two bytes. */
#define SCALE(name, T, W, to_wide, narrow)                                     \
    static void range_##name(const struct scaling *s, float *low, float *high) \
    {                                                                          \
        const T *x = s->x;                                                     \
                                                                               \
        *low = INFINITY;                                                       \
        *high = -INFINITY;                                                     \
        for (int64_t i = 0; i < s->pixels; i++, x += s->depth) {               \
            bool finite = true;                                                \
                                                                               \
            for (int64_t c = 0; c < s->depth; c++)                             \
                finite &= isfinite(to_wide(x[c])) != 0;                        \
            for (int64_t c = 0; finite && c < s->depth; c++) {                 \
                float v = (float)to_wide(x[c]);                                \
                                                                               \
                *low = v < *low ? v : *low;                                    \
                *high = v > *high ? v : *high;                                 \
            }                                                                  \
        }                                                                      \
    }                                                                          \
                                                                               \
    static void scale_##name(void *arg, int64_t begin, int64_t end)            \
    {                                                                          \
        const struct scaling *s = arg;                                         \
        const T *x = (const T *)s->x + begin * s->depth;                       \
        uint8_t *y = s->y + begin * s->depth;                                  \
        float low, high, top;                                                  \
        W scale, offset;                                                       \
                                                                               \
        range_##name(s, &low, &high);                                          \
        top = low < 0 ? fmaxf(fabsf(low), fabsf(high)) : high;                 \
        scale =                                                                \
            narrow((W)(top < DARK ? 0 : (low < 0 ? 127.0f : 255.0f) / top));   \
        offset = (W)(low < 0 ? 128 : 0);                                       \
        for (int64_t i = begin; i < end; i++, x += s->depth, y += s->depth) {  \
            bool finite = true;                                                \
                                                                               \
            for (int64_t c = 0; c < s->depth; c++)                             \
                finite &= isfinite(to_wide(x[c])) != 0;                        \
            for (int64_t c = 0; c < s->depth; c++)                             \
                y[c] = !finite ? s->bad_color[c]                               \
                               : byte_of((double)narrow(                       \
                                     narrow(to_wide(x[c]) * scale) + offset)); \
        }                                                                      \
    }

static uint8_t byte_of(double v)
{
    return v > 0 ? (uint8_t)(v < 255 ? v : 255) : 0;
}

#define SAME(v) (v)
#define ROUNDED_HALF(v) tfd_half_to_float(tfd_half_from_float(v))

SCALE(FLOAT, float, float, SAME, SAME)
SCALE(DOUBLE, double, double, SAME, SAME)
SCALE(HALF, tfd_half, float, tfd_half_to_float, ROUNDED_HALF)

/* ---- ImageSummary -------------------------------------------------------- */

struct images {
    int64_t max;
    uint8_t bad_color[4];
    int64_t bad_color_size;
};

static enum tfd_code take_bad_color(struct images *s,
                                    const struct tfd_tensor *t,
                                    struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    s->bad_color_size = tfd_tensor_elements(t);
    if (t->dtype != TFD_UINT8)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "bad_color must be uint8, got %s",
                        tfd_dtype_name((int)t->dtype));
    if (t->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "bad_color must be a vector, got shape %s",
                        tfd_shape_text(&t->shape, text));
    if (s->bad_color_size)
        memcpy(s->bad_color, tfd_tensor_data(t),
               s->bad_color_size < 4 ? (size_t)s->bad_color_size : 4);
    return TFD_OK;
}

static enum tfd_code bad_color(const struct tfd_node *node, struct images *s,
                               struct tfd_status *st)
{
    struct tfd_tensor t = TFD_TENSOR_INIT;
    enum tfd_code rc;

    TFD_TRY(tfd_node_tensor(node, "bad_color", &t, st));
    rc = take_bad_color(s, &t, st);
    tfd_tensor_unref(&t);
    return rc;
}

static enum tfd_code image_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct images *s = state;

    TFD_TRY(tfd_node_int(p->node, "max_images", &s->max, st));
    return bad_color(p->node, s, st);
}

static enum tfd_code check_image(const struct tfd_kctx *k,
                                 const struct images *s,
                                 const struct tfd_shape *x,
                                 struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (x->rank != 4 || (x->dim[3] != 1 && x->dim[3] != 3 && x->dim[3] != 4))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Tensor must be 4-D with last dim 1, 3, or 4, not %s",
                        tfd_shape_text(x, text));
    if (x->dim[0] == 0)
        return TFD_OK;
    if (x->dim[1] == 0 || x->dim[2] == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input tensor must have non-zero dims. Found: %s.",
                        tfd_shape_text(x, text));
    if (x->dim[1] > INT32_MAX / 4 || x->dim[2] > INT32_MAX / 4 ||
        x->dim[1] * x->dim[2] > INT32_MAX / 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Tensor too large for summary %s",
                        tfd_shape_text(x, text));
    if (k->kernel->range && s->bad_color_size < x->dim[3])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "expected depth <= bad_color.size, got depth = %lld, "
                        "bad_color.size = %lld",
                        (long long)x->dim[3], (long long)s->bad_color_size);
    return TFD_OK;
}

static enum tfd_code put_image(struct tfd_bytes *b, const struct tfd_shape *x,
                               const uint8_t *pixels, struct tfd_status *st)
{
    struct tfd_picture picture = {.pixels = pixels,
                                  .height = x->dim[1],
                                  .width = x->dim[2],
                                  .channels = (int)x->dim[3],
                                  .bits = 8,
                                  .compression = -1};
    size_t mark = tfd_pb_begin(b, tensorflow_Summary_Value_image_tag), png;

    tfd_pb_put_int(b, tensorflow_Summary_Image_height_tag, x->dim[1]);
    tfd_pb_put_int(b, tensorflow_Summary_Image_width_tag, x->dim[2]);
    tfd_pb_put_int(b, tensorflow_Summary_Image_colorspace_tag, x->dim[3]);
    png = tfd_pb_begin(b, tensorflow_Summary_Image_encoded_image_string_tag);
    TFD_TRY(tfd_png_encode(&picture, b, st));
    tfd_pb_finish(b, png);
    tfd_pb_finish(b, mark);
    return TFD_OK;
}

/* Image number `index`; `scaled` holds one of bytes where they are floats. */
static enum tfd_code add_image(struct tfd_kctx *k, const struct images *state,
                               const struct tfd_tensor *x,
                               struct tfd_summary *s, struct tfd_str tag,
                               int64_t index, uint8_t *scaled,
                               struct tfd_status *st)
{
    struct scaling job = {.y = scaled,
                          .pixels = x->shape.dim[1] * x->shape.dim[2],
                          .depth = x->shape.dim[3],
                          .bad_color = state->bad_color};
    const uint8_t *pixels;
    size_t mark;

    pixels =
        (const uint8_t *)tfd_tensor_data(x) +
        (size_t)(index * job.pixels * job.depth) * tfd_dtype_size(x->dtype);
    job.x = pixels;
    if (k->kernel->range) {
        k->kernel->range(&job, 0, job.pixels);
        pixels = scaled;
    }
    mark = tfd_summary_value_of(s, tag, "image", index, state->max);
    TFD_TRY(put_image(&s->bytes, &x->shape, pixels, st));
    tfd_pb_finish(&s->bytes, mark);
    return TFD_OK;
}

static enum tfd_code add_images(struct tfd_kctx *k, const struct images *state,
                                const struct tfd_tensor *x,
                                struct tfd_summary *s, struct tfd_str tag,
                                struct tfd_status *st)
{
    const int64_t *dim = x->shape.dim;
    int64_t n = dim[0] < state->max ? dim[0] : state->max;
    enum tfd_code rc = TFD_OK;
    uint8_t *scaled = NULL;

    if (n > 0 && k->kernel->range) {
        scaled = malloc((size_t)(dim[1] * dim[2] * dim[3]));
        if (!scaled)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "no memory for an image");
    }
    for (int64_t i = 0; i < n && rc == TFD_OK; i++)
        rc = add_image(k, state, x, s, tag, i, scaled, st);
    free(scaled);
    return rc;
}

static enum tfd_code image_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct images *state = k->state;
    struct tfd_summary s;
    struct tfd_str tag;
    enum tfd_code rc;

    TFD_TRY(tfd_summary_tag(k, 0, "Tags", &tag, st));
    TFD_TRY(check_image(k, state, &k->in[1].shape, st));
    tfd_summary_begin(&s);
    rc = add_images(k, state, &k->in[1], &s, tag, st);
    return tfd_summary_end(&s, k, rc, st);
}

static enum tfd_code write_image_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    struct images state = {.max = *(const int64_t *)k->state};
    struct tfd_summary s;
    struct tfd_str tag;
    enum tfd_code rc;

    TFD_TRY(tfd_check_str(k, 2, &tag, st));
    TFD_TRY(take_bad_color(&state, &k->in[4], st));
    TFD_TRY(check_image(k, &state, &k->in[3].shape, st));
    tfd_summary_begin(&s);
    rc = add_images(k, &state, &k->in[3], &s, tag, st);
    return tfd_event_put_summary(k, &s, rc, st);
}

static enum tfd_code write_image_prepare(const struct tfd_prepare *p,
                                         void *state, struct tfd_status *st)
{
    return tfd_node_int(p->node, "max_images", state, st);
}

/* ---- Audio --------------------------------------------------------------- */

struct clips {
    int64_t max;
    float rate; /* AudioSummary's, which has no input for it */
};

static enum tfd_code outputs_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    return tfd_node_int(p->node, "max_outputs", &((struct clips *)state)->max,
                        st);
}

static enum tfd_code rate_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct clips *c = state;

    TFD_TRY(outputs_prepare(p, state, st));
    return tfd_node_float(p->node, "sample_rate", &c->rate, st);
}

static enum tfd_code check_rate(float rate, struct tfd_status *st)
{
    if (rate > 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "sample_rate must be > 0");
}

/* What is asked of it where there is a clip. */
static enum tfd_code check_rate_max(float rate, struct tfd_status *st)
{
    const float most = 9223372036854775808.0f; /* of TensorFlow's text */

    if (rate < 4294967296.0f)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "sample_rate must be in (0, 2^32), got: %.0f",
                    (double)(rate < most ? rate : most));
}

static enum tfd_code rate_of(const struct tfd_tensor *t, float *rate,
                             struct tfd_status *st)
{
    if (tfd_tensor_elements(t) != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "sample_rate must be rank-0 or contain a single "
                        "value");
    *rate = *(const float *)tfd_tensor_data(t);
    return TFD_OK;
}

static enum tfd_code check_audio(const struct tfd_shape *x, float rate,
                                 int64_t *channels, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (x->rank != 2 && x->rank != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Tensor must be 3-D or 2-D, got: %s",
                        tfd_shape_text(x, text));
    TFD_TRY(check_rate(rate, st));
    *channels = x->rank == 2 ? 1 : x->dim[2];
    if (x->dim[0] == 0)
        return TFD_OK;
    if (*channels < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "audio is null");
    TFD_TRY(check_rate_max(rate, st));
    if (*channels > UINT16_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_channels must be in (0, 2^16), got: %lld",
                        (long long)*channels);
    if (!tfd_wav_fits(x->dim[1], *channels))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Provided channels and frames cannot be encoded as a "
                        "WAV: %s",
                        tfd_shape_text(x, text));
    return TFD_OK;
}

static void add_audio(struct tfd_summary *s, const float *x, int64_t frames,
                      int64_t channels, float rate)
{
    struct tfd_bytes *b = &s->bytes;
    size_t mark = tfd_pb_begin(b, tensorflow_Summary_Value_audio_tag), wav;
    double whole = rint((double)rate); /* a half to the even one */

    tfd_pb_put_float(b, tensorflow_Summary_Audio_sample_rate_tag, rate);
    tfd_pb_put_int(b, tensorflow_Summary_Audio_num_channels_tag, channels);
    tfd_pb_put_int(b, tensorflow_Summary_Audio_length_frames_tag, frames);
    wav = tfd_pb_begin(b, tensorflow_Summary_Audio_encoded_audio_string_tag);
    tfd_wav_encode(b, x, frames, channels, whole < 1 ? 1 : (uint32_t)whole);
    tfd_pb_finish(b, wav);
    tfd_pb_put_str(b, tensorflow_Summary_Audio_content_type_tag,
                   TFD_STR("audio/wav"));
    tfd_pb_finish(b, mark);
}

static enum tfd_code add_clips(struct tfd_summary *s,
                               const struct tfd_tensor *x, struct tfd_str tag,
                               int64_t max, float rate, struct tfd_status *st)
{
    const int64_t *dim = x->shape.dim;
    const float *data = tfd_tensor_data(x);
    int64_t channels = 0, n;

    TFD_TRY(check_audio(&x->shape, rate, &channels, st));
    n = dim[0] < max ? dim[0] : max;
    for (int64_t i = 0; i < n; i++) {
        size_t mark = tfd_summary_value_of(s, tag, "audio", i, max);

        add_audio(s, data ? data + i * dim[1] * channels : NULL, dim[1],
                  channels, rate);
        tfd_pb_finish(&s->bytes, mark);
    }
    return TFD_OK;
}

static enum tfd_code audio_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct clips *c = k->state;
    float rate = c->rate;
    struct tfd_summary s;
    struct tfd_str tag;
    enum tfd_code rc;

    TFD_TRY(tfd_summary_tag(k, 0, "Tag", &tag, st));
    if (k->in_count > 2)
        TFD_TRY(rate_of(&k->in[2], &rate, st));
    tfd_summary_begin(&s);
    rc = add_clips(&s, &k->in[1], tag, c->max, rate, st);
    return tfd_summary_end(&s, k, rc, st);
}

static enum tfd_code write_audio_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    const struct clips *c = k->state;
    struct tfd_summary s;
    struct tfd_str tag;
    enum tfd_code rc;
    float rate = 0;

    TFD_TRY(tfd_check_str(k, 2, &tag, st));
    TFD_TRY(rate_of(&k->in[4], &rate, st));
    tfd_summary_begin(&s);
    rc = add_clips(&s, &k->in[3], tag, c->max, rate, st);
    return tfd_event_put_summary(k, &s, rc, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "ImageSummary",
        .inputs = "tag: string, tensor: T",
        .outputs = "summary: string",
        .attrs = "max_images: int >= 1 = 3; "
                 "T: {uint8, float, half, double} = DT_FLOAT; "
                 "bad_color: tensor = { dtype: DT_UINT8 tensor_shape: { dim { "
                 "size: 4 } } int_val: 255 int_val: 0 int_val: 0 int_val: 255 "
                 "}",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "AudioSummaryV2",
        .inputs = "tag: string, tensor: float, sample_rate: float",
        .outputs = "summary: string",
        .attrs = "max_outputs: int >= 1 = 3",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "AudioSummary",
        .inputs = "tag: string, tensor: float",
        .outputs = "summary: string",
        .attrs = "sample_rate: float; max_outputs: int >= 1 = 3",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "WriteImageSummary",
        .inputs = "writer: resource, step: int64, tag: string, tensor: T, "
                  "bad_color: uint8",
        .outputs = "",
        .attrs = "max_images: int >= 1 = 3; "
                 "T: {uint8, double, float, half} = DT_FLOAT",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "WriteAudioSummary",
        .inputs = "writer: resource, step: int64, tag: string, tensor: float, "
                  "sample_rate: float",
        .outputs = "",
        .attrs = "max_outputs: int >= 1 = 3",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

#define IMAGE(name, loop)                                                      \
    TFD_KERNEL("ImageSummary", name, image_compute, loop,                      \
               .prepare = image_prepare, .state_size = sizeof(struct images)), \
        TFD_KERNEL("WriteImageSummary", name, write_image_compute, loop,       \
                   .prepare = write_image_prepare,                             \
                   .state_size = sizeof(int64_t), .flags = TFD_KERNEL_BLOCKS)

static const struct tfd_kernel kernels[] = {
    IMAGE(UINT8, NULL),
    IMAGE(FLOAT, scale_FLOAT),
    IMAGE(DOUBLE, scale_DOUBLE),
    IMAGE(HALF, scale_HALF),
    TFD_KERNEL_ANY("AudioSummaryV2", audio_compute, .prepare = outputs_prepare,
                   .state_size = sizeof(struct clips)),
    TFD_KERNEL_ANY("AudioSummary", audio_compute, .prepare = rate_prepare,
                   .state_size = sizeof(struct clips)),
    TFD_KERNEL_ANY(
        "WriteAudioSummary", write_audio_compute, .prepare = outputs_prepare,
        .state_size = sizeof(struct clips), .flags = TFD_KERNEL_BLOCKS),
};

const struct tfd_family tfd_family_summary_media = {
    .name = "summary_media",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
