/*
 * native_in.c - frames into messages; see native_io.h.
 *
 * A payload's buffer is made when its first frame arrives, and of all buffers
 * counts what has come, so what a peer announces and does not send costs
 * nothing.
 */
#include "rpc/native/native_io.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "config/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* From here on a body is read in place; below, a second system call would cost
 * more than the copy. */
#define IN_PLACE_MIN 8192

static uint64_t get_little_endian(const uint8_t *p, int size)
{
    uint64_t v = 0;

    for (int i = size; i > 0; i--)
        v = v << 8 | p[i - 1];
    return v;
}

/* ---- First frame --------------------------------------------------------- */

static enum tfd_code begin_first(struct tfd_native_in *in,
                                 const struct tfd_frame_header *h,
                                 uint8_t **body, struct tfd_status *st)
{
    if (h->length < 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "message of call %u begins with %u bytes, not 4",
                        h->call, h->length);
    in->message.body = tfd_buffer_new_empty(h->length);
    if (!in->message.body)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a message of %u bytes", h->length);
    in->total = h->length;
    *body = in->message.body->data;
    return TFD_OK;
}

static enum tfd_code read_sizes(struct tfd_native_in *in, const uint8_t *at,
                                uint32_t count, struct tfd_status *st)
{
    in->sizes = calloc(count, sizeof(*in->sizes));
    in->message.payload = calloc(count, sizeof(struct tfd_buffer *));
    if (!in->sizes || !in->message.payload)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for %u payloads",
                        count);
    in->message.payload_count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t size = get_little_endian(at + i * sizeof(uint64_t), 8);

        if (size == 0 || size > (uint64_t)TFD_NATIVE_MESSAGE_SIZE_MAX ||
            in->total + size > (uint64_t)TFD_NATIVE_MESSAGE_SIZE_MAX)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "payload %u of %llu bytes after %llu, at most %lld "
                            "in a message",
                            i, (unsigned long long)size,
                            (unsigned long long)in->total,
                            (long long)TFD_NATIVE_MESSAGE_SIZE_MAX);
        in->sizes[i] = size;
        in->total += size;
    }
    return TFD_OK;
}

static enum tfd_code end_first(struct tfd_native_in *in, struct tfd_status *st)
{
    const uint8_t *body = in->message.body->data;
    size_t size = in->message.body->size;
    uint32_t count = (uint32_t)get_little_endian(body, 4);
    size_t head = 4 + (size_t)count * sizeof(uint64_t);

    if (count > TFD_PAYLOADS_MAX || head > size)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%u payloads in a message of %zu bytes, at most %d",
                        count, size, TFD_PAYLOADS_MAX);
    in->message.proto =
        (struct tfd_str){(const char *)body + head, size - head};
    return count ? read_sizes(in, body + 4, count, st) : TFD_OK;
}

/* ---- The others ---------------------------------------------------------- */

static enum tfd_code begin_payload(struct tfd_native_in *in,
                                   const struct tfd_frame_header *h,
                                   uint8_t **body, struct tfd_status *st)
{
    uint64_t left;
    struct tfd_buffer **payload;

    assert(in->at < in->message.payload_count);
    left = in->sizes[in->at] - in->have;
    if (h->length == 0 || h->length > left ||
        h->length > TFD_FRAME_BODY_SIZE_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "frame of %u bytes where %llu of payload %u of call "
                        "%u are left",
                        h->length, (unsigned long long)left, in->at, h->call);
    payload = &in->message.payload[in->at];
    if (!*payload)
        *payload = tfd_buffer_new_empty((size_t)in->sizes[in->at]);
    if (!*payload)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a payload of %llu bytes",
                        (unsigned long long)in->sizes[in->at]);
    *body = (uint8_t *)(*payload)->data + in->have;
    return TFD_OK;
}

enum tfd_code tfd_native_in_begin(struct tfd_native_in *in,
                                  const struct tfd_frame_header *h,
                                  uint8_t **body, struct tfd_status *st)
{
    return in->message.body ? begin_payload(in, h, body, st)
                            : begin_first(in, h, body, st);
}

enum tfd_code tfd_native_in_came(struct tfd_native_in *in, uint32_t have,
                                 struct tfd_status *st)
{
    struct tfd_buffer *b =
        in->done == 0 ? in->message.body : in->message.payload[in->at];
    uint64_t here = in->have + have;

    if (b && tfd_buffer_charge(b, (size_t)here))
        return TFD_OK;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "no memory for %llu bytes of a message of %llu",
                    (unsigned long long)here, (unsigned long long)in->total);
}

enum tfd_code tfd_native_in_end(struct tfd_native_in *in,
                                const struct tfd_frame_header *h,
                                bool *complete, struct tfd_status *st)
{
    bool more = h->flags & TFD_FRAME_MORE;

    TFD_TRY(tfd_native_in_came(in, h->length, st));
    if (!in->message.proto.data) {
        TFD_TRY(end_first(in, st));
        in->done = in->message.body->size;
    } else {
        in->have += h->length;
        if (in->have == in->sizes[in->at]) {
            in->done += in->sizes[in->at++];
            in->have = 0;
        }
    }
    *complete = in->at == in->message.payload_count;
    if (*complete == more)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "call %u says %s after %u of %u payloads", h->call,
                        more ? "more" : "no more", in->at,
                        in->message.payload_count);
    return TFD_OK;
}

void tfd_native_in_deinit(struct tfd_native_in *in)
{
    tfd_incoming_deinit(&in->message);
    free(in->sizes);
    *in = (struct tfd_native_in){0};
}

/* ---- Reading ------------------------------------------------------------- */

size_t tfd_native_reader_space(struct tfd_native_reader *r, uint8_t **at)
{
    size_t room = tfd_frame_reader_space(&r->frames, at);

    /* A header before a payload is read alone, so that none of the payload
     * lands in the scratch and must be copied. */
    r->scratch = r->frames.in_body ? room < IN_PLACE_MIN : !r->payload_comes;
    if (!r->scratch)
        return room;
    *at = tfd_loop_scratch(r->loop);
    return TFD_LOOP_SCRATCH_SIZE;
}

enum tfd_code tfd_native_reader_commit(struct tfd_native_reader *r, size_t n,
                                       struct tfd_status *st)
{
    if (r->scratch)
        return tfd_frame_reader_feed(&r->frames, tfd_loop_scratch(r->loop), n,
                                     st);
    return tfd_frame_reader_commit(&r->frames, n, st);
}

void tfd_native_reader_told(const struct tfd_native_reader *r, const char *peer)
{
    if (r->frames.damaged)
        tfd_log(TFD_LOG_WARN, "frame_damaged", "peer=%s why=\"%s\"", peer,
                r->frames.error.text);
}

void tfd_native_error_decode(const uint8_t *body, uint32_t size,
                             struct tfd_status *out)
{
    uint32_t code = (uint32_t)get_little_endian(body, 4);

    assert(size >= 4);
    if (code == TFD_OK || code > TFD_UNAUTHENTICATED)
        code = TFD_UNKNOWN;
    tfd_status_clear(out);
    (void)tfd_fail(out, (enum tfd_code)code, "%.*s", (int)(size - 4),
                   (const char *)body + 4);
}
