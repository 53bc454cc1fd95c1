/*
 * wav_ops.c - EncodeWav and DecodeWav.
 */
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/signal/wav.h"

#include <string.h>

static const struct tfd_shape scalar_shape = {0, {0}};

/* ---- EncodeWav ----------------------------------------------------------- */

static enum tfd_code check_sound(const struct tfd_tensor *x, int64_t rate,
                                 struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    int64_t channels = x->shape.dim[1];

    if (rate <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "sample_rate must be in (0, 2^32), got: %llu",
                        (unsigned long long)rate);
    if (channels < 1 || channels > UINT16_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_channels must be in (0, 2^16), got: %lld",
                        (long long)channels);
    if (!tfd_wav_fits(x->shape.dim[0], channels))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Provided channels and frames cannot be encoded as a "
                        "WAV: %s",
                        tfd_shape_text(&x->shape, text));
    return TFD_OK;
}

static enum tfd_code encode_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0], *rate = &k->in[1];
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_bytes file;
    int64_t value;
    enum tfd_code rc;

    if (x->shape.rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "audio must be 2-dimensional%s",
                        tfd_shape_text(&x->shape, text));
    if (rate->shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input sample_rate should be a scalar tensor, got %s "
                        "instead.",
                        tfd_shape_text(&rate->shape, text));
    value = tfd_check_int_at(rate, 0);
    TFD_TRY(check_sound(x, value, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &scalar_shape, st));
    tfd_bytes_init(&file, (size_t)UINT32_MAX + 8);
    tfd_wav_encode(&file, tfd_tensor_data(x), x->shape.dim[0], x->shape.dim[1],
                   (uint32_t)value);
    rc = tfd_bytes_ok(&file, "a WAV file", st);
    if (rc != TFD_OK) {
        tfd_bytes_deinit(&file);
        return rc;
    }
    tfd_tstring_take(tfd_tensor_data(&k->out[0]), file.data, file.size,
                     file.capacity);
    return TFD_OK;
}

/* ---- DecodeWav ----------------------------------------------------------- */

struct wanted {
    int64_t channels, samples; /* -1: as in the file */
};

static enum tfd_code decode_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct wanted *w = state;

    TFD_TRY(tfd_node_int(p->node, "desired_channels", &w->channels, st));
    TFD_TRY(tfd_node_int(p->node, "desired_samples", &w->samples, st));
    if (w->channels < -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "desired_channels must be >= -1, got %lld",
                        (long long)w->channels);
    if (w->samples < -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "desired_samples must be >= -1, got %lld",
                        (long long)w->samples);
    return TFD_OK;
}

static float sample_at(const struct tfd_wav *wav, int64_t i)
{
    const uint8_t *at = (const uint8_t *)wav->samples + 2 * i;

    return (float)(int16_t)(at[0] | at[1] << 8) / 32768.0f;
}

/* Channels that the file lacks are its last one; frames are silence. */
static void fill_samples(const struct tfd_wav *wav, const int64_t *dim,
                         float *y)
{
    int64_t frames = wav->frames < dim[0] ? wav->frames : dim[0];

    for (int64_t i = 0; i < frames; i++)
        for (int64_t c = 0; c < dim[1]; c++) {
            int64_t from = c < wav->channels ? c : wav->channels - 1;

            *y++ = sample_at(wav, i * wav->channels + from);
        }
    if (frames < dim[0] && dim[1] > 0)
        memset(y, 0, (size_t)((dim[0] - frames) * dim[1]) * sizeof(*y));
}

static enum tfd_code decode_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct wanted *w = k->state;
    const struct tfd_shape *x = &k->in[0].shape;
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape shape;
    struct tfd_wav wav;
    int64_t dim[2];

    if (x->rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "contents must be scalar, got shape %s",
                        tfd_shape_text(x, text));
    TFD_TRY(
        tfd_wav_decode(tfd_tstring_view(tfd_tensor_data(&k->in[0])), &wav, st));
    dim[0] = w->samples < 0 ? wav.frames : w->samples;
    dim[1] = w->channels < 0 ? wav.channels : w->channels;
    TFD_TRY(tfd_shape_make(&shape, dim, 2, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 1, TFD_INT32, &scalar_shape, st));
    fill_samples(&wav, dim, tfd_tensor_data(&k->out[0]));
    *(int32_t *)tfd_tensor_data(&k->out[1]) = (int32_t)wav.rate;
    return TFD_OK;
}

static enum tfd_code decode_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    int64_t channels = -1, samples = -1;

    if (s->node) {
        TFD_TRY(tfd_node_int(s->node, "desired_channels", &channels, st));
        TFD_TRY(tfd_node_int(s->node, "desired_samples", &samples, st));
    }
    s->out[0] = (struct tfd_shape){
        2, {samples < 0 ? -1 : samples, channels < 0 ? -1 : channels}};
    s->out[1] = scalar_shape;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "EncodeWav",
        .inputs = "audio: float, sample_rate: int32",
        .outputs = "contents: string",
        .attrs = "",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "DecodeWav",
        .inputs = "contents: string",
        .outputs = "audio: float, sample_rate: int32",
        .attrs = "desired_channels: int = -1; desired_samples: int = -1",
        .shape = decode_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("EncodeWav", encode_compute),
    TFD_KERNEL_ANY("DecodeWav", decode_compute, .prepare = decode_prepare,
                   .state_size = sizeof(struct wanted)),
};

const struct tfd_family tfd_family_wav_ops = {
    .name = "wav_ops",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
