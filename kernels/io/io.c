/*
 * io.c - ReadFile, WriteFile, and what is in files that are read whole:
 * DecodeCompressed, DecodeRaw.
 *
 * Compressed data that ends early gives what there is of it, and bytes after
 * the end of a ZLIB stream are not looked at; a GZIP file may have several
 * members.  That is TensorFlow's way.
 */
#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/io/file_check.h"
#include "kernels/io/file_draft.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static const struct tfd_shape scalar_shape = {0, {0}};

/* ---- ReadFile ------------------------------------------------------------ */

static enum tfd_code read_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_file_access *access;
    struct tfd_bytes contents;
    struct tfd_tstring *y;
    struct tfd_str name;
    enum tfd_code rc;

    TFD_TRY(tfd_check_str(k, 0, &name, st));
    TFD_TRY(tfd_file_check(k, &access, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &scalar_shape, st));
    y = tfd_tensor_data(&k->out[0]);
    tfd_bytes_init(&contents, (size_t)TFD_FILE_READ_SIZE_MAX);
    rc = tfd_file_read_all(access, name, &contents, st);
    if (rc != TFD_OK || contents.size == 0) {
        tfd_bytes_deinit(&contents);
        return rc;
    }
    tfd_tstring_take(y, contents.data, contents.size, contents.capacity);
    return TFD_OK;
}

/* ---- WriteFile ----------------------------------------------------------- */

static enum tfd_code open_draft(struct tfd_file_draft *d,
                                struct tfd_file_access *a, struct tfd_str name,
                                struct tfd_status *st)
{
    struct tfd_str dir = tfd_file_dirname(name);
    struct tfd_status cause = TFD_STATUS_INIT;
    enum tfd_code rc = tfd_file_draft_open(d, a, name, &cause);

    if (rc != TFD_NOT_FOUND || dir.size == 0)
        return tfd_status_copy(st, &cause);
    TFD_TRY(tfd_file_make_dirs(a, dir, st));
    return tfd_file_draft_open(d, a, name, st);
}

static enum tfd_code write_file(struct tfd_file_access *access,
                                struct tfd_str name, struct tfd_str contents,
                                struct tfd_status *st)
{
    struct tfd_file_draft draft;
    enum tfd_code rc;

    TFD_TRY(open_draft(&draft, access, name, st));
    rc = tfd_file_draft_put(&draft, contents, st);
    tfd_file_draft_deinit(&draft);
    return rc;
}

static enum tfd_code write_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_status cause = TFD_STATUS_INIT;
    struct tfd_str name, contents;
    struct tfd_file_access *access;
    const char *why;

    TFD_TRY(tfd_check_str(k, 0, &name, st));
    TFD_TRY(tfd_check_str(k, 1, &contents, st));
    TFD_TRY(tfd_file_check(k, &access, st));
    if (write_file(access, name, contents, &cause) == TFD_OK)
        return TFD_OK;
    /* The graph's name of the file, not that of the draft. */
    why = strrchr(cause.text, ';');
    return why ? tfd_fail(st, cause.code, TFD_STR_FMT "%s", TFD_STR_ARG(name),
                          why)
               : tfd_status_copy(st, &cause);
}

/* ---- DecodeCompressed ---------------------------------------------------- */

/* Output asked for at a time. */
#define INFLATE_CHUNK (64 * 1024)

enum { WINDOW_GZIP = MAX_WBITS + 16 };

static enum tfd_code compression_prepare(const struct tfd_prepare *p,
                                         void *state, struct tfd_status *st)
{
    int *window_bits = state; /* 0: not compressed */
    struct tfd_str type;

    TFD_TRY(tfd_node_str(p->node, "compression_type", &type, st));
    if (tfd_str_is(type, "ZLIB"))
        *window_bits = MAX_WBITS;
    else if (tfd_str_is(type, "GZIP"))
        *window_bits = WINDOW_GZIP;
    else if (tfd_str_is(type, "ZSTD"))
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "compression_type ZSTD is not supported");
    else if (type.size > 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Only ZLIB, ZSTD, GZIP or NONE are supported "
                        "compressions");
    return TFD_OK;
}

static enum tfd_code fail_inflate(const z_stream *z, int rc,
                                  struct tfd_status *st)
{
    return tfd_fail(st,
                    rc == Z_MEM_ERROR ? TFD_RESOURCE_EXHAUSTED : TFD_DATA_LOSS,
                    "inflate() failed with error %d%s%s", rc,
                    z->msg ? ": " : "", z->msg ? z->msg : "");
}

/* Gives zlib, which counts in 32 bits, the next part of the input. */
static void feed(z_stream *z, struct tfd_str *in)
{
    size_t n = in->size < UINT_MAX ? in->size : UINT_MAX;

    if (z->avail_in > 0 || n == 0)
        return;
    /* next_in is not const in zlib's API; nothing is written there. */
    memcpy(&z->next_in, &in->data, sizeof(z->next_in));
    z->avail_in = (uInt)n;
    in->data += n;
    in->size -= n;
}

/* One step; *done when there is nothing more to come. */
static enum tfd_code inflate_chunk(z_stream *z, bool gzip, struct tfd_str *in,
                                   struct tfd_bytes *out, bool *done,
                                   struct tfd_status *st)
{
    char *at;
    int rc;

    feed(z, in);
    at = tfd_bytes_extend(out, INFLATE_CHUNK);
    TFD_TRY(tfd_bytes_ok(out, "decompressed strings", st));
    z->next_out = (Bytef *)at;
    z->avail_out = INFLATE_CHUNK;
    rc = inflate(z, Z_NO_FLUSH);
    out->size -= z->avail_out;
    if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
        return fail_inflate(z, rc, st);
    *done = z->avail_in == 0 && in->size == 0 && z->avail_out > 0;
    if (rc == Z_STREAM_END) {
        *done = !gzip || (z->avail_in == 0 && in->size == 0);
        if (!*done && inflateReset(z) != Z_OK)
            return fail_inflate(z, Z_STREAM_ERROR, st);
    }
    return TFD_OK;
}

/* The bytes of `in` in out, which is emptied first; at most limit bytes. */
static enum tfd_code inflate_all(struct tfd_str in, int window_bits,
                                 struct tfd_bytes *out, size_t limit,
                                 struct tfd_status *st)
{
    bool gzip = window_bits == WINDOW_GZIP, done = in.size == 0;
    enum tfd_code rc = TFD_OK;
    z_stream z = {0};
    int ready = inflateInit2(&z, window_bits);

    if (ready != Z_OK)
        return fail_inflate(&z, ready, st);
    tfd_bytes_clear(out);
    while (rc == TFD_OK && !done) {
        rc = inflate_chunk(&z, gzip, &in, out, &done, st);
        if (rc == TFD_OK && out->size > limit)
            rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                          "decompressed strings are larger than %lld bytes",
                          (long long)TFD_INFLATED_SIZE_MAX);
    }
    inflateEnd(&z);
    return rc;
}

static enum tfd_code inflate_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tstring *x = tfd_tensor_data(&k->in[0]);
    int64_t n = tfd_tensor_elements(&k->in[0]);
    size_t left = (size_t)TFD_INFLATED_SIZE_MAX;
    int window_bits = *(const int *)k->state;
    enum tfd_code rc = TFD_OK;
    struct tfd_tstring *y;
    struct tfd_bytes out;

    if (window_bits == 0) {
        tfd_kctx_output_alias(k, 0, 0, &k->in[0].shape);
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &k->in[0].shape, st));
    y = tfd_tensor_data(&k->out[0]);
    tfd_bytes_init(&out, left + INFLATE_CHUNK);
    for (int64_t i = 0; i < n && rc == TFD_OK; i++) {
        rc = inflate_all(tfd_tstring_view(&x[i]), window_bits, &out, left, st);
        if (rc == TFD_OK)
            rc = tfd_tstring_set(&y[i], tfd_bytes_view(&out), st);
        left -= rc == TFD_OK ? out.size : 0;
    }
    tfd_bytes_deinit(&out);
    return rc;
}

/* ---- DecodeRaw ----------------------------------------------------------- */

static enum tfd_code little_endian_prepare(const struct tfd_prepare *p,
                                           void *state, struct tfd_status *st)
{
    return tfd_node_bool(p->node, "little_endian", state, st);
}

/* The size all strings have; 0 when there are none. */
static enum tfd_code common_size(const struct tfd_tensor *t, size_t element,
                                 enum tfd_dtype dtype, size_t *size,
                                 struct tfd_status *st)
{
    const struct tfd_tstring *x = tfd_tensor_data(t);
    int64_t n = tfd_tensor_elements(t);

    *size = n > 0 ? tfd_tstring_view(&x[0]).size : 0;
    for (int64_t i = 1; i < n; i++)
        if (tfd_tstring_view(&x[i]).size != *size)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "DecodeRaw requires input strings to all be the "
                            "same size, but element %lld has size %zu != %zu",
                            (long long)i, *size, tfd_tstring_view(&x[i]).size);
    if (*size % element)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input to DecodeRaw has length %zu that is not a "
                        "multiple of %zu, the size of %s",
                        *size, element, tfd_dtype_name(dtype));
    return TFD_OK;
}

/* Reverses the bytes of each part of `unit` bytes. */
static void copy_swapped(char *to, const char *from, size_t size, size_t unit)
{
    for (size_t i = 0; i < size; i += unit)
        for (size_t j = 0; j < unit; j++)
            to[i + j] = from[i + unit - 1 - j];
}

/* Bytes that no near cache holds until they are read. */
#define FAR_SIZE (4 << 20)

/* Past the caches, which need not read what is written over; whole lines, where
 * one string follows the other. */
static void copy_far(char *to, const char *from, size_t size)
{
#if defined(__SSE2__)
    for (size_t i = 0; i < size; i += sizeof(__m128i))
        _mm_stream_si128((__m128i *)(to + i),
                         _mm_loadu_si128((const __m128i *)(from + i)));
#else
    memcpy(to, from, size);
#endif
}

static void copy_raw(char *y, const struct tfd_tstring *x, int64_t n,
                     size_t size)
{
    const bool far =
        (size_t)n * size >= FAR_SIZE && (size | (uintptr_t)y) % 16 == 0;

    for (int64_t i = 0; i < n && !tfd_halted(); i++, y += size) {
        const char *from = tfd_tstring_view(&x[i]).data;

        if (far)
            copy_far(y, from, size);
        else
            memcpy(y, from, size);
    }
#if defined(__SSE2__)
    if (far)
        _mm_sfence();
#endif
}

static enum tfd_code raw_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    enum tfd_dtype dtype = k->kernel->dtype;
    bool complex = dtype == TFD_COMPLEX64 || dtype == TFD_COMPLEX128;
    const struct tfd_tensor *in = &k->in[0];
    const struct tfd_tstring *x = tfd_tensor_data(in);
    size_t size, element = tfd_dtype_size(dtype);
    int64_t dim[TFD_RANK_MAX + 1], n = tfd_tensor_elements(in);
    struct tfd_shape shape;
    char *y;

    TFD_TRY(common_size(in, element, dtype, &size, st));
    memcpy(dim, in->shape.dim, sizeof(in->shape.dim));
    dim[in->shape.rank] = (int64_t)(size / element);
    TFD_TRY(tfd_shape_make(&shape, dim, in->shape.rank + 1, st));
    TFD_TRY(tfd_kctx_output(k, 0, dtype, &shape, st));
    y = tfd_tensor_data(&k->out[0]);
    if (size > 0 && (*(const bool *)k->state || element == 1))
        copy_raw(y, x, n, size);
    else
        for (int64_t i = 0; i < n && size > 0; i++, y += size)
            copy_swapped(y, tfd_tstring_view(&x[i]).data, size,
                         complex ? element / 2 : element);
    tfd_tensor_normalize_bools(&k->out[0]);
    return TFD_OK;
}

/* ---- DecodePaddedRaw ----------------------------------------------------- */

/* A number of which only the first bytes are there has zeros for the others. */
static void copy_padded(char *to, struct tfd_str from, size_t size,
                        size_t element, bool little_endian)
{
    size_t have = from.size < size ? from.size : size;

    if (have > 0)
        memcpy(to, from.data, have);
    if (size > have)
        memset(to + have, 0, size - have);
    for (size_t i = 0; !little_endian && i < size; i += element)
        for (size_t j = 0; j < element / 2; j++) {
            char low = to[i + j];

            to[i + j] = to[i + element - 1 - j];
            to[i + element - 1 - j] = low;
        }
}

static enum tfd_code padded_length(const struct tfd_kctx *k, size_t element,
                                   int64_t *length, struct tfd_status *st)
{
    TFD_TRY(tfd_check_int(k, 1, length, st));
    if (*length <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "fixed_length (%lld) must be greater than zero.",
                        (long long)*length);
    if (*length % (int64_t)element == 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "fixed_length (%lld) must be a multiple of the size of "
                    "out_type (%zu)",
                    (long long)*length, element);
}

static enum tfd_code padded_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const enum tfd_dtype dtype = k->kernel->dtype;
    const struct tfd_tensor *in = &k->in[0];
    const struct tfd_tstring *x = tfd_tensor_data(in);
    const size_t element = tfd_dtype_size(dtype);
    int64_t dim[TFD_RANK_MAX + 1], length;
    struct tfd_shape shape;
    char *y;

    TFD_TRY(padded_length(k, element, &length, st));
    memcpy(dim, in->shape.dim, sizeof(in->shape.dim));
    dim[in->shape.rank] = length / (int64_t)element;
    TFD_TRY(tfd_shape_make(&shape, dim, in->shape.rank + 1, st));
    TFD_TRY(tfd_kctx_output(k, 0, dtype, &shape, st));
    y = tfd_tensor_data(&k->out[0]);
    for (int64_t i = 0; i < tfd_tensor_elements(in) && !tfd_halted();
         i++, y += length)
        copy_padded(y, tfd_tstring_view(&x[i]), (size_t)length, element,
                    *(const bool *)k->state);
    return TFD_OK;
}

/* One dimension more than the input has. */
static enum tfd_code raw_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    if (s->in[0].rank == TFD_RANK_UNKNOWN || s->in[0].rank >= TFD_RANK_MAX)
        return TFD_OK;
    s->out[0] = s->in[0];
    s->out[0].dim[s->out[0].rank++] = TFD_DIM_UNKNOWN;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "ReadFile",
        .inputs = "filename: string",
        .outputs = "contents: string",
        .attrs = "",
        .checks = "filename: scalar 'Input filename tensor must be scalar, "
                  "but had shape: %s'",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "WriteFile",
        .inputs = "filename: string, contents: string",
        .outputs = "",
        .attrs = "",
        .checks = "filename: scalar; contents: scalar",
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "DecodeCompressed",
        .inputs = "bytes: string",
        .outputs = "output: string",
        .attrs = "compression_type: string = ''",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "DecodeRaw",
        .inputs = "bytes: string",
        .outputs = "output: out_type",
        .attrs = "out_type: {half, float, double, int32, uint16, uint8, int16, "
                 "int8, int64, complex64, complex128, bool, bfloat16}; "
                 "little_endian: bool = true",
        .key = "out_type",
        .shape = raw_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "DecodePaddedRaw",
        .inputs = "input_bytes: string, fixed_length: int32",
        .outputs = "output: out_type",
        .attrs = "out_type: {half, float, double, int32, uint16, uint8, int16, "
                 "int8, int64, bfloat16}; little_endian: bool = true",
        .checks = "fixed_length: scalar 'k must be scalar, got shape %s'",
        .key = "out_type",
        .shape = raw_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

/* Bytes are read as the numbers of a little-endian machine, which all are that
 * this program is built for. */
#define RAW(type)                              \
    TFD_KERNEL("DecodeRaw", type, raw_compute, \
               .prepare = little_endian_prepare, .state_size = sizeof(bool))

#define PADDED(type)                                    \
    TFD_KERNEL("DecodePaddedRaw", type, padded_compute, \
               .prepare = little_endian_prepare, .state_size = sizeof(bool))

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("ReadFile", read_compute, .flags = TFD_KERNEL_BLOCKS),
    TFD_KERNEL_ANY("WriteFile", write_compute, .flags = TFD_KERNEL_BLOCKS),
    TFD_KERNEL_ANY("DecodeCompressed", inflate_compute,
                   .prepare = compression_prepare, .state_size = sizeof(int),
                   .flags = TFD_KERNEL_HEAVY),
    PADDED(HALF),
    PADDED(FLOAT),
    PADDED(DOUBLE),
    PADDED(INT32),
    PADDED(UINT16),
    PADDED(UINT8),
    PADDED(INT16),
    PADDED(INT8),
    PADDED(INT64),
    PADDED(BFLOAT16),
    RAW(HALF),
    RAW(FLOAT),
    RAW(DOUBLE),
    RAW(INT32),
    RAW(UINT16),
    RAW(UINT8),
    RAW(INT16),
    RAW(INT8),
    RAW(INT64),
    RAW(COMPLEX64),
    RAW(COMPLEX128),
    RAW(BOOL),
    RAW(BFLOAT16),
};

const struct tfd_family tfd_family_io = {
    .name = "io",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
