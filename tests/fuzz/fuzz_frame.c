/*
 * fuzz_frame.c - libFuzzer target: any bytes as a stream of native frames.
 *
 *     make fuzz
 *
 * The stream is read twice, whole and byte by byte, and must come to the same
 * end: the same messages, the same failure.  The first byte of the input
 * chooses how large the pieces of the first reading are.
 */
#include "common/base/hash.h"
#include "common/base/alloc.h"
#include "config/limits.h"
#include "rpc/native/native_io.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CALLS 8
#define MEMORY_MAX ((size_t)4 << 20) /* of a payload that is announced */

struct reading {
    struct tfd_frame_reader frames;
    struct tfd_native_in in[CALLS];
    uint8_t small[TFD_NATIVE_SMALL_MAX];
    uint64_t digest; /* of what came out */
};

static void note(struct reading *r, const void *bytes, size_t size)
{
    r->digest = r->digest * 31 + tfd_hash_str((struct tfd_str){bytes, size});
}

static enum tfd_code begin(void *ctx, const struct tfd_frame_header *h,
                           uint8_t **body, struct tfd_status *st)
{
    struct reading *r = ctx;

    *body = r->small;
    if (h->kind != TFD_FRAME_REQUEST && h->kind != TFD_FRAME_RESPONSE)
        return TFD_OK;
    if (h->length > (1u << 20))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "too much for a fuzzer");
    return tfd_native_in_begin(&r->in[h->call % CALLS], h, body, st);
}

static enum tfd_code end(void *ctx, const struct tfd_frame_header *h,
                         struct tfd_status *st)
{
    struct reading *r = ctx;
    struct tfd_native_in *in = &r->in[h->call % CALLS];
    struct tfd_status failure;
    bool complete;

    note(r, &h->kind, sizeof(h->kind));
    if (h->kind == TFD_FRAME_ERROR) {
        tfd_native_error_decode(r->small, h->length, &failure);
        assert(failure.code != TFD_OK);
    }
    if (h->kind != TFD_FRAME_REQUEST && h->kind != TFD_FRAME_RESPONSE)
        return TFD_OK;
    TFD_TRY(tfd_native_in_end(in, h, &complete, st));
    if (!complete)
        return TFD_OK;
    note(r, in->message.proto.data, in->message.proto.size);
    for (uint32_t i = 0; i < in->message.payload_count; i++)
        note(r, in->message.payload[i]->data, in->message.payload[i]->size);
    tfd_native_in_deinit(in);
    return TFD_OK;
}

static const struct tfd_frame_sink sink = {begin, end};

static enum tfd_code read_stream(struct reading *r, const uint8_t *data,
                                 size_t size, size_t piece)
{
    enum tfd_code rc = TFD_OK;

    memset(r, 0, sizeof(*r));
    tfd_frame_reader_init(&r->frames, &sink, r, TFD_NATIVE_BODY_MAX);
    for (size_t at = 0; at < size && rc == TFD_OK; at += piece)
        rc = tfd_frame_reader_feed(&r->frames, data + at,
                                   size - at < piece ? size - at : piece, NULL);
    for (int i = 0; i < CALLS; i++)
        tfd_native_in_deinit(&r->in[i]);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct reading a, b;
    enum tfd_code whole, bytewise;

    if (size == 0)
        return 0;
    tfd_alloc_limit(MEMORY_MAX);
    whole = read_stream(&a, data + 1, size - 1, data[0] ? data[0] : size);
    bytewise = read_stream(&b, data + 1, size - 1, 1);
    assert(whole == bytewise);
    assert(a.digest == b.digest);
    return 0;
}
