/*
 * wav.c - see wav.h.
 *
 * A file may have other chunks than the two, which are passed over, before the
 * format those that TensorFlow knows.  A chunk of an odd size has nothing
 * behind it to make it even, which is TensorFlow's way and not the format's.
 */
#include "kernels/signal/wav.h"

#include "kernels/vector/simd.h"

#include <string.h>

/* ---- Writing ------------------------------------------------------------- */

static void put_le(struct tfd_bytes *b, uint32_t v, int size)
{
    char at[4];

    for (int i = 0; i < size; i++)
        at[i] = (char)(uint8_t)(v >> (8 * i));
    tfd_bytes_add(b, at, (size_t)size);
}

#define WAV_HEAD 44

struct samples {
    const float *x;
    char *to;
};

/* 32768 times each, rounded to the nearest, a half away from zero, as 16 bits;
 * what does not fit is the nearest that does, and what is no number is 0. */
TFD_SIMD_LOOP(put_samples)
{
    const struct samples *s = arg;

    for (int64_t i = begin; i < end; i++) {
        float v = s->x[i] * 32768.0f, rest;
        int32_t whole;
        int16_t sample;

        v = v > -32768.0f ? v : v != v ? 0 : -32768.0f;
        v = v < 32767.0f ? v : 32767.0f;
        whole = (int32_t)v;
        rest = v - (float)whole;
        sample = (int16_t)(whole + (rest >= 0.5f) - (rest <= -0.5f));
        memcpy(s->to + 2 * i, &sample, sizeof(sample));
    }
}
TFD_SIMD_CLONES(put_samples)

bool tfd_wav_fits(int64_t frames, int64_t channels)
{
    return frames <= (int64_t)(UINT32_MAX - WAV_HEAD) / 2 / channels;
}

void tfd_wav_encode(struct tfd_bytes *b, const float *x, int64_t frames,
                    int64_t channels, uint32_t rate)
{
    uint32_t size = (uint32_t)(frames * channels * 2);
    struct samples samples = {.x = x};

    tfd_bytes_add(b, "RIFF", 4);
    put_le(b, size + WAV_HEAD - 8, 4);
    tfd_bytes_add(b, "WAVEfmt ", 8);
    put_le(b, 16, 4); /* bytes of the format that follows */
    put_le(b, 1, 2);  /* PCM */
    put_le(b, (uint32_t)channels, 2);
    put_le(b, rate, 4);
    put_le(b, rate * (uint32_t)channels * 2, 4); /* bytes per second */
    put_le(b, (uint32_t)channels * 2, 2);        /* bytes per frame */
    put_le(b, 16, 2);                            /* bits per sample */
    tfd_bytes_add(b, "data", 4);
    put_le(b, size, 4);
    samples.to = size ? tfd_bytes_extend(b, size) : NULL;
    if (samples.to)
        put_samples(&samples, 0, frames * channels);
}

/* ---- Reading ------------------------------------------------------------- */

#define CHUNK_SIZE_MAX INT32_MAX
#define FORMAT_SIZE 16 /* two bytes that say nothing may follow */
#define SAMPLE_BITS 16
#define SAMPLE_SIZE 2

struct reader {
    struct tfd_str rest;
};

static enum tfd_code take(struct reader *r, size_t size, struct tfd_str *out,
                          struct tfd_status *st)
{
    if (r->rest.size < size)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Data too short when trying to read string");
    *out = (struct tfd_str){r->rest.data, size};
    r->rest.data += size;
    r->rest.size -= size;
    return TFD_OK;
}

static enum tfd_code take_number(struct reader *r, size_t size, uint32_t *out,
                                 struct tfd_status *st)
{
    struct tfd_str bytes = TFD_STR_EMPTY;

    TFD_TRY(take(r, size, &bytes, st));
    *out = 0;
    for (size_t i = 0; i < size; i++)
        *out |= (uint32_t)(uint8_t)bytes.data[i] << 8 * i;
    return TFD_OK;
}

static enum tfd_code expect(struct reader *r, const char *what,
                            struct tfd_status *st)
{
    struct tfd_str found;

    TFD_TRY(take(r, 4, &found, st));
    if (tfd_str_is(found, what))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Header mismatch: Expected %s but found " TFD_STR_FMT, what,
                    TFD_STR_ARG(found));
}

static bool is_known_chunk(struct tfd_str id)
{
    static const char known[][5] = {"JUNK", "bext", "iXML", "qlty",
                                    "mext", "levl", "link", "axml"};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (tfd_str_is(id, known[i]))
            return true;
    return false;
}

/* Over a chunk, or all that there is of it, which may not be nothing. */
static enum tfd_code skip(struct reader *r, size_t size, struct tfd_status *st)
{
    struct tfd_str some;

    if (r->rest.size == 0)
        return take(r, 1, &some, st);
    return take(r, size < r->rest.size ? size : r->rest.size, &some, st);
}

/* Up to behind "fmt ". */
static enum tfd_code find_format(struct reader *r, struct tfd_status *st)
{
    struct tfd_str id;
    uint32_t size;

    TFD_TRY(expect(r, "RIFF", st));
    TFD_TRY(take_number(r, 4, &size, st));
    TFD_TRY(expect(r, "WAVE", st));
    TFD_TRY(take(r, 4, &id, st));
    while (is_known_chunk(id)) {
        TFD_TRY(take_number(r, 4, &size, st));
        TFD_TRY(skip(r, size, st));
        TFD_TRY(take(r, 4, &id, st));
    }
    if (tfd_str_is(id, "fmt "))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Unexpected field " TFD_STR_FMT,
                    TFD_STR_ARG(id));
}

struct format {
    uint32_t coding, channels, rate, byte_rate, frame_size, bits;
};

static enum tfd_code check_format(const struct format *f, struct tfd_status *st)
{
    uint64_t byte_rate = (uint64_t)f->rate * f->frame_size;

    if (f->coding != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Bad audio format for WAV: Expected 1 (PCM), but got%u",
                        f->coding);
    if (f->channels == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Bad number of channels for WAV: Expected at least 1, "
                        "but got 0");
    if (f->bits != SAMPLE_BITS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Can only read 16-bit WAV files, but received %u",
                        f->bits);
    if (f->frame_size != f->channels * SAMPLE_SIZE)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Bad bytes per sample in WAV header: Expected %u but "
                        "got %u",
                        f->channels * SAMPLE_SIZE, f->frame_size);
    if (f->byte_rate != byte_rate)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Bad bytes per second in WAV header: Expected %llu but "
                        "got %u (sample_rate=%u, bytes_per_sample=%u)",
                        (unsigned long long)byte_rate, f->byte_rate, f->rate,
                        f->frame_size);
    return TFD_OK;
}

static enum tfd_code read_format(struct reader *r, struct format *f,
                                 struct tfd_status *st)
{
    uint32_t size;

    TFD_TRY(take_number(r, 4, &size, st));
    if (size != FORMAT_SIZE && size != 18)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Bad format chunk size for WAV: Expected 16 or 18, but "
                        "got%u",
                        size);
    TFD_TRY(take_number(r, 2, &f->coding, st));
    TFD_TRY(take_number(r, 2, &f->channels, st));
    TFD_TRY(take_number(r, 4, &f->rate, st));
    TFD_TRY(take_number(r, 4, &f->byte_rate, st));
    TFD_TRY(take_number(r, 2, &f->frame_size, st));
    TFD_TRY(take_number(r, 2, &f->bits, st));
    TFD_TRY(check_format(f, st));
    return size == FORMAT_SIZE ? TFD_OK : skip(r, size - FORMAT_SIZE, st);
}

/* Whole frames; what of the size is none of one is not there. */
static enum tfd_code read_data(struct reader *r, uint32_t size,
                               const struct format *f, struct tfd_wav *out,
                               struct tfd_status *st)
{
    struct tfd_str data = TFD_STR_EMPTY;

    if (out->samples)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "More than one data chunk found in WAV");
    out->frames = size / f->frame_size;
    if (r->rest.size == 0) /* none at all is too few for TensorFlow, too */
        return take(r, 1, &data, st);
    TFD_TRY(take(r, (size_t)out->frames * f->frame_size, &data, st));
    out->samples = data.data;
    return TFD_OK;
}

static enum tfd_code read_chunk(struct reader *r, const struct format *f,
                                struct tfd_wav *out, struct tfd_status *st)
{
    struct tfd_str id;
    uint32_t size;

    TFD_TRY(take(r, 4, &id, st));
    TFD_TRY(take_number(r, 4, &size, st));
    if (size > CHUNK_SIZE_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "WAV data chunk '" TFD_STR_FMT "' is too large: %u "
                        "bytes, but the limit is %d",
                        TFD_STR_ARG(id), size, CHUNK_SIZE_MAX);
    if (tfd_str_is(id, "data"))
        return read_data(r, size, f, out, st);
    return skip(r, size, st);
}

enum tfd_code tfd_wav_decode(struct tfd_str file, struct tfd_wav *out,
                             struct tfd_status *st)
{
    struct reader r = {file};
    struct format f = {0};

    *out = (struct tfd_wav){.samples = NULL};
    TFD_TRY(find_format(&r, st));
    TFD_TRY(read_format(&r, &f, st));
    while (r.rest.size > 0)
        TFD_TRY(read_chunk(&r, &f, out, st));
    if (!out->samples)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "No data chunk found in WAV");
    out->rate = f.rate;
    out->channels = f.channels;
    return TFD_OK;
}
