/*
 * spectrogram.c - AudioSpectrogram, and Mfcc, which makes of a spectrogram the
 * coefficients that speech is recognised by.
 *
 * A frame of a spectrogram is `window_size` samples times a Hann window, with
 * zeros up to a power of two behind them, transformed.
 *
 * Mel-frequency cepstral coefficients: magnitudes are summed in bands that are
 * triangles on the mel scale, 1127 log(1 + f / 700), each reaching from the
 * centre of the band before to that of the one behind; and the logarithms of
 * the sums are transformed by a discrete cosine transform.
 */
#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/signal/fft_lanes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* ---- AudioSpectrogram ---------------------------------------------------- */

struct framing {
    int64_t window, stride, length; /* of the transform */
    bool squared;
};

static enum tfd_code framing_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    struct framing *f = state;

    TFD_TRY(tfd_node_int(p->node, "window_size", &f->window, st));
    TFD_TRY(tfd_node_int(p->node, "stride", &f->stride, st));
    return tfd_node_bool(p->node, "magnitude_squared", &f->squared, st);
}

static enum tfd_code check_framing(struct framing *f, const struct tfd_shape *x,
                                   struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (x->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must be 2-dimensional%s",
                        tfd_shape_text(x, text));
    if (f->window < 2 || f->stride < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Spectrogram initialization failed for window size "
                        "%lld and stride %lld",
                        (long long)f->window, (long long)f->stride);
    if (f->window > TFD_FFT_LENGTH_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "a window of %lld samples; at most %lld are possible",
                        (long long)f->window, (long long)TFD_FFT_LENGTH_MAX);
    for (f->length = 1; f->length < f->window; f->length *= 2)
        continue;
    return TFD_OK;
}

struct frames {
    const struct framing *framing;
    const struct tfd_fft_plan *plan; /* of half of the length */
    const double *window;
    const float *x; /* frames of samples, one of each channel */
    float *y;
    int64_t channels, count;
};

/* `at` has room for the frame, and behind it for its spectrum. */
static void run_frame(const struct frames *f, int64_t number, double *at,
                      struct tfd_fft_group *transform)
{
    const struct framing *g = f->framing;
    int64_t channel = number / f->count, begin = number % f->count * g->stride;
    float *y = f->y + number * (g->length / 2 + 1);
    const struct tfd_complex *spectrum =
        (const struct tfd_complex *)(at + g->length);

    for (int64_t i = 0; i < g->window; i++)
        at[i] =
            (double)f->x[(begin + i) * f->channels + channel] * f->window[i];
    memset(at + g->window, 0, (size_t)(g->length - g->window) * sizeof(*at));
    tfd_fft_lanes_copy(false)->run_rows(transform);
    for (int64_t i = 0; i <= g->length / 2; i++) {
        y[i] = (float)(spectrum[i].re * spectrum[i].re +
                       spectrum[i].im * spectrum[i].im);
        if (!g->squared)
            y[i] = sqrtf(y[i]);
    }
}

static enum tfd_code run_frames(void *arg, int64_t begin, int64_t end,
                                struct tfd_status *st)
{
    const struct frames *f = arg;
    /* Both arrays end where a vector may begin. */
    size_t length = (size_t)f->framing->length, both = 2 * length + 8;
    size_t count = both + tfd_fft_row_memory(f->plan);
    struct tfd_buffer *b = tfd_buffer_new(count * sizeof(double));
    double *memory = b ? b->data : NULL;
    struct tfd_fft_group transform = {
        .plan = f->plan,
        .from = {.lane = {memory}, .step = 1, .kind = TFD_FFT_REAL},
        .to = {.step = 1, .kind = TFD_FFT_HALF},
        .count = 1,
        .length = f->framing->length};

    if (!memory)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a window of %lld samples",
                        (long long)f->framing->window);
    transform.to.lane[0] = memory + length;
    transform.memory = memory + (both + 7) / 8 * 8;
    for (int64_t i = begin; i < end && !tfd_halted(); i++)
        run_frame(f, i, memory, &transform);
    tfd_buffer_unref(b);
    return TFD_OK;
}

/* Those of a window over a period, whose last one is not there. */
static double *new_hann_window(int64_t count)
{
    double *w = malloc((size_t)count * sizeof(*w));

    for (int64_t i = 0; w && i < count; i++)
        w[i] = 0.5 - 0.5 * cos(2 * pi * (double)i / (double)count);
    return w;
}

static enum tfd_code fill_frames(struct tfd_kctx *k, struct frames *f,
                                 struct tfd_status *st)
{
    struct tfd_fft_plan *plan;
    double *window;
    enum tfd_code rc;

    TFD_TRY(tfd_fft_plan_get(f->framing->length / 2, false, &plan, st));
    window = new_hann_window(f->framing->window);
    f->plan = plan;
    f->window = window;
    if (window)
        rc = tfd_kctx_try(k, f->channels * f->count,
                          16 * (int)f->framing->length, run_frames, f, st);
    else
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                      "no memory for a window of %lld samples",
                      (long long)f->framing->window);
    free(window);
    tfd_fft_plan_unref(plan);
    return rc;
}

static enum tfd_code spectrogram_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    struct framing g = *(const struct framing *)k->state;
    struct frames f = {.framing = &g};
    const struct tfd_shape *x = &k->in[0].shape;
    struct tfd_shape shape;
    int64_t dim[3];

    TFD_TRY(check_framing(&g, x, st));
    f.channels = x->dim[1];
    f.count = x->dim[0] < g.window ? 0 : 1 + (x->dim[0] - g.window) / g.stride;
    dim[0] = f.channels;
    dim[1] = f.count;
    dim[2] = g.length / 2 + 1;
    TFD_TRY(tfd_shape_make(&shape, dim, 3, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &shape, st));
    f.x = tfd_tensor_data(&k->in[0]);
    f.y = tfd_tensor_data(&k->out[0]);
    return f.channels * f.count > 0 ? fill_frames(k, &f, st) : TFD_OK;
}

static enum tfd_code spectrogram_shape(struct tfd_shape_ctx *s,
                                       struct tfd_status *st)
{
    (void)st;
    s->out[0] = (struct tfd_shape){3, {-1, -1, -1}};
    if (s->in[0].rank == 2)
        s->out[0].dim[0] = s->in[0].dim[1];
    return TFD_OK;
}

/* ---- Mfcc ---------------------------------------------------------------- */

struct bands {
    float upper, lower; /* frequencies */
    int64_t channels, coefficients;
    /* Of a call. */
    int64_t length, first, last; /* of a spectrum, and those that count */
    double *center; /* of the bands and of the one that would be next, in mel */
    double *weight; /* of point i for the band before it; the rest: its own */
    int64_t *band;  /* the one before point i; -1: there is none */
    double *cosine, *sum;
};

static enum tfd_code bands_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct bands *b = state;

    TFD_TRY(tfd_node_float(p->node, "upper_frequency_limit", &b->upper, st));
    TFD_TRY(tfd_node_float(p->node, "lower_frequency_limit", &b->lower, st));
    TFD_TRY(
        tfd_node_int(p->node, "filterbank_channel_count", &b->channels, st));
    return tfd_node_int(p->node, "dct_coefficient_count", &b->coefficients, st);
}

static enum tfd_code check_bands(const struct bands *b, int64_t rate,
                                 struct tfd_status *st)
{
    bool good = rate > 0 && b->length > 1 && b->channels > 0 &&
                b->coefficients > 0 && b->coefficients <= b->channels &&
                !(b->lower < 0) && !(b->upper <= b->lower);

    if (!good)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Mfcc initialization failed for channel count %lld, "
                        "sample rate %lld and filterbank_channel_count %lld",
                        (long long)b->length, (long long)rate,
                        (long long)b->channels);
    if (b->channels > TFD_MFCC_TABLE_MAX / b->coefficients)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%lld coefficients of %lld channels: a table of at "
                        "most %lld cosines is possible",
                        (long long)b->coefficients, (long long)b->channels,
                        (long long)TFD_MFCC_TABLE_MAX);
    return TFD_OK;
}

static double mel_of(double frequency)
{
    return 1127.0 * log1p(frequency / 700.0);
}

/* A frequency that is none is beyond all points. */
static int64_t point_of(double at)
{
    return at < (double)INT32_MAX ? (int64_t)at : INT32_MAX;
}

#define POINTS_BETWEEN_LOOKS 65536

static void place_bands(struct bands *b, int64_t rate)
{
    double low = mel_of((double)b->lower), high = mel_of((double)b->upper);
    double spacing = (high - low) / (double)(b->channels + 1);
    double each = 0.5 * (double)rate / (double)(b->length - 1);
    int64_t band = 0;

    for (int64_t i = 0; i <= b->channels; i++)
        b->center[i] = low + spacing * (double)(i + 1);
    b->first = point_of(1.5 + (double)b->lower / each);
    b->last = point_of((double)b->upper / each);
    for (int64_t i = 0; i < b->length; i++) {
        double mel = mel_of((double)i * each), before;

        if (i % POINTS_BETWEEN_LOOKS == 0 && tfd_halted())
            return;
        if (i < b->first || i > b->last)
            continue;
        while (band < b->channels && b->center[band] < mel)
            band++;
        before = band > 0 ? b->center[band - 1] : low;
        b->band[i] = band - 1;
        b->weight[i] = (b->center[band] - mel) / (b->center[band] - before);
    }
}

static void fill_cosines(struct bands *b)
{
    double scale = sqrt(2.0 / (double)b->channels);
    double step = pi / (double)b->channels;

    for (int64_t i = 0; i < b->coefficients; i++)
        for (int64_t j = 0; j < b->channels; j++)
            b->cosine[i * b->channels + j] =
                scale * cos((double)i * step * ((double)j + 0.5));
}

/* What a band has at least, so that its logarithm is finite. */
#define FLOOR 1e-12

static void run_spectrum(const struct bands *b, const float *x, float *y)
{
    memset(b->sum, 0, (size_t)b->channels * sizeof(*b->sum));
    for (int64_t i = b->first; i <= b->last; i++) {
        double value = sqrt((double)x[i]), part = value * b->weight[i];
        int64_t band = b->band[i];

        if (band >= 0)
            b->sum[band] += part;
        if (band + 1 < b->channels)
            b->sum[band + 1] += value - part;
    }
    for (int64_t i = 0; i < b->channels; i++)
        b->sum[i] = log(b->sum[i] < FLOOR ? FLOOR : b->sum[i]);
    for (int64_t i = 0; i < b->coefficients; i++) {
        double sum = 0;

        for (int64_t j = 0; j < b->channels; j++)
            sum += b->cosine[i * b->channels + j] * b->sum[j];
        y[i] = (float)sum;
    }
}

/* Spectra that end before the last point give zeros, as in TensorFlow. */
static void run_spectra(const struct bands *b, int64_t count, const float *x,
                        float *y)
{
    if (b->last >= b->length) {
        memset(y, 0, (size_t)(count * b->coefficients) * sizeof(*y));
        return;
    }
    for (int64_t i = 0; i < count && !tfd_halted(); i++)
        run_spectrum(b, x + i * b->length, y + i * b->coefficients);
}

static bool make_tables(struct bands *b)
{
    size_t channels = (size_t)b->channels, length = (size_t)b->length;

    b->center = calloc(channels + 1, sizeof(*b->center));
    b->sum = calloc(channels, sizeof(*b->sum));
    b->cosine = calloc(channels * (size_t)b->coefficients, sizeof(*b->cosine));
    b->weight = calloc(length, sizeof(*b->weight));
    b->band = calloc(length, sizeof(*b->band));
    return b->center && b->sum && b->cosine && b->weight && b->band;
}

static void free_tables(struct bands *b)
{
    free(b->center);
    free(b->sum);
    free(b->cosine);
    free(b->weight);
    free(b->band);
}

static enum tfd_code fill_coefficients(struct tfd_kctx *k, struct bands *b,
                                       int64_t rate, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    enum tfd_code rc = TFD_OK;

    if (make_tables(b)) {
        place_bands(b, rate);
        fill_cosines(b);
        run_spectra(b, x->dim[0] * x->dim[1], tfd_tensor_data(&k->in[0]),
                    tfd_tensor_data(&k->out[0]));
    } else {
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                      "no memory for %lld bands of frequencies",
                      (long long)b->channels);
    }
    free_tables(b);
    return rc;
}

static enum tfd_code mfcc_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct bands b = *(const struct bands *)k->state;
    const struct tfd_shape *x = &k->in[0].shape, *rate = &k->in[1].shape;
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape shape;
    int64_t dim[3];

    if (x->rank != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "spectrogram must be 3-dimensional%s",
                        tfd_shape_text(x, text));
    if (rate->rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input sample_rate should be a scalar tensor, got %s "
                        "instead.",
                        tfd_shape_text(rate, text));
    b.length = x->dim[2];
    TFD_TRY(check_bands(&b, tfd_check_int_at(&k->in[1], 0), st));
    dim[0] = x->dim[0];
    dim[1] = x->dim[1];
    dim[2] = b.coefficients;
    TFD_TRY(tfd_shape_make(&shape, dim, 3, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &shape, st));
    if (tfd_tensor_elements(&k->out[0]) == 0)
        return TFD_OK;
    return fill_coefficients(k, &b, tfd_check_int_at(&k->in[1], 0), st);
}

static enum tfd_code mfcc_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    int64_t coefficients = -1;

    if (s->node)
        TFD_TRY(
            tfd_node_int(s->node, "dct_coefficient_count", &coefficients, st));
    s->out[0] = (struct tfd_shape){3, {-1, -1, -1}};
    if (s->in[0].rank == 3) {
        s->out[0].dim[0] = s->in[0].dim[0];
        s->out[0].dim[1] = s->in[0].dim[1];
    }
    if (coefficients >= 0)
        s->out[0].dim[2] = coefficients;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "AudioSpectrogram",
        .inputs = "input: float",
        .outputs = "spectrogram: float",
        .attrs = "window_size: int; stride: int; "
                 "magnitude_squared: bool = false",
        .shape = spectrogram_shape,
    },
    {
        .name = "Mfcc",
        .inputs = "spectrogram: float, sample_rate: int32",
        .outputs = "output: float",
        .attrs = "upper_frequency_limit: float = 4000; "
                 "lower_frequency_limit: float = 20; "
                 "filterbank_channel_count: int = 40; "
                 "dct_coefficient_count: int = 13",
        .shape = mfcc_shape,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("AudioSpectrogram", spectrogram_compute,
                   .prepare = framing_prepare,
                   .state_size = sizeof(struct framing)),
    TFD_KERNEL_ANY("Mfcc", mfcc_compute, .prepare = bands_prepare,
                   .state_size = sizeof(struct bands)),
};

const struct tfd_family tfd_family_spectrogram = {
    .name = "spectrogram",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
