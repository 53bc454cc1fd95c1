/*
 * frame.c - encoding, checking and incremental reading of frames.
 *
 * The reader has two states, header and body.  A frame without a body passes
 * through the second without waiting, so begin() and end() come in pairs.
 */
#include "rpc/native/frame.h"

#include "common/base/crc32c.h"

#include <assert.h>
#include <string.h>

#define BODY_ANY UINT32_MAX /* up to the limit of the connection */

/* Where the checksums stand in a header that has them. */
#define BODY_SUM 16
#define HEADER_SUM 20

/* What each kind may carry.  Kinds with a use for few bytes may carry few, so
 * that a peer cannot make us reserve memory for nothing. */
static const struct kind_rule {
    const char *name; /* NULL: no such kind */
    uint32_t body_min;
    uint32_t body_max;
    bool has_method;
    uint8_t flags;
} kind_rules[] = {
    [TFD_FRAME_REQUEST] = {"REQUEST", 0, BODY_ANY, true, TFD_FRAME_MORE},
    [TFD_FRAME_RESPONSE] = {"RESPONSE", 0, BODY_ANY, false, TFD_FRAME_MORE},
    [TFD_FRAME_ERROR] = {"ERROR", 4, 4096, false, 0},
    [TFD_FRAME_CANCEL] = {"CANCEL", 0, 0, false, 0},
    [TFD_FRAME_PING] = {"PING", 8, 8, false, 0},
    [TFD_FRAME_PONG] = {"PONG", 8, 8, false, 0},
};

static void put16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static void put32(uint8_t *p, uint32_t v)
{
    put16(p, (uint16_t)v);
    put16(p + 2, (uint16_t)(v >> 16));
}

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
    return get16(p) | (uint32_t)get16(p + 2) << 16;
}

static const struct kind_rule *find_rule(unsigned kind)
{
    if (kind >= sizeof(kind_rules) / sizeof(kind_rules[0]))
        return NULL;
    return kind_rules[kind].name ? &kind_rules[kind] : NULL;
}

void tfd_frame_encode(const struct tfd_frame_header *h,
                      uint8_t out[TFD_FRAME_HEADER_SIZE])
{
    const struct kind_rule *rule = find_rule(h->kind);

    assert(rule);
    assert((h->flags & ~rule->flags) == 0);
    assert(rule->has_method || h->method == 0);
    assert(h->length >= rule->body_min);
    assert(h->length <= rule->body_max);

    put32(out, TFD_FRAME_MAGIC);
    out[4] = (uint8_t)h->kind;
    out[5] = h->flags;
    put16(out + 6, h->method);
    put32(out + 8, h->call);
    put32(out + 12, h->length);
}

void tfd_frame_encode_summed(const struct tfd_frame_header *h,
                             uint32_t body_sum,
                             uint8_t out[TFD_FRAME_SUMMED_SIZE])
{
    tfd_frame_encode(h, out);
    out[5] |= TFD_FRAME_SUMMED;
    put32(out + BODY_SUM, body_sum);
    put32(out + HEADER_SUM, tfd_crc32c(out, HEADER_SUM));
}

enum tfd_code tfd_frame_decode(const uint8_t in[TFD_FRAME_HEADER_SIZE],
                               uint32_t body_max, struct tfd_frame_header *h,
                               struct tfd_status *st)
{
    const struct kind_rule *rule = find_rule(in[4]);
    uint16_t method = get16(in + 6);
    uint32_t length = get32(in + 12);
    uint32_t most;

    if (get32(in) != TFD_FRAME_MAGIC)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "no frame: begins 0x%08x",
                        get32(in));
    if (!rule)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "frame kind %u", in[4]);
    if (in[5] & ~(rule->flags | TFD_FRAME_SUMMED))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s frame with flags 0x%02x",
                        rule->name, in[5]);
    if (method != 0 && !rule->has_method)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s frame with method %u",
                        rule->name, method);

    most = rule->body_max == BODY_ANY ? body_max : rule->body_max;
    if (length < rule->body_min || length > most)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%s frame of %u bytes, not within %u to %u", rule->name,
                        length, rule->body_min, most);

    h->kind = (enum tfd_frame_kind)in[4];
    h->flags = in[5] & (uint8_t)~TFD_FRAME_SUMMED;
    h->method = method;
    h->call = get32(in + 8);
    h->length = length;
    return TFD_OK;
}

void tfd_frame_reader_init(struct tfd_frame_reader *r,
                           const struct tfd_frame_sink *sink, void *ctx,
                           uint32_t body_max)
{
    memset(r, 0, sizeof(*r));
    r->sink = sink;
    r->ctx = ctx;
    r->body_max = body_max;
}

static uint32_t header_size(const struct tfd_frame_reader *r)
{
    return r->summed ? TFD_FRAME_SUMMED_SIZE : TFD_FRAME_HEADER_SIZE;
}

size_t tfd_frame_reader_space(struct tfd_frame_reader *r, uint8_t **at)
{
    uint32_t size = r->in_body ? r->header.length : header_size(r);

    if (r->error.code != TFD_OK) {
        *at = NULL;
        return 0;
    }
    assert(r->have < size); /* or feed() would never end */
    *at = (r->in_body ? r->body : r->raw) + r->have;
    return size - r->have;
}

static enum tfd_code check_header_sum(struct tfd_frame_reader *r)
{
    uint32_t sent = get32(r->raw + HEADER_SUM);
    uint32_t sum = tfd_crc32c(r->raw, HEADER_SUM);

    if (sent == sum)
        return TFD_OK;
    r->damaged = true;
    return tfd_fail(&r->error, TFD_UNAVAILABLE,
                    "the header of a frame was damaged on its way: checksum "
                    "0x%08x sent, 0x%08x of what came",
                    sent, sum);
}

static enum tfd_code check_body_sum(struct tfd_frame_reader *r)
{
    uint32_t sent = get32(r->raw + BODY_SUM);

    if (!r->summed || sent == r->body_sum)
        return TFD_OK;
    r->damaged = true;
    return tfd_fail(&r->error, TFD_UNAVAILABLE,
                    "the %s frame of call %u, %u bytes, was damaged on its "
                    "way: checksum 0x%08x sent, 0x%08x of what came",
                    kind_rules[r->header.kind].name, r->header.call,
                    r->header.length, sent, r->body_sum);
}

/* A header is complete, but for the checksums of the first that has them. */
static enum tfd_code finish_header(struct tfd_frame_reader *r)
{
    if (r->summed)
        TFD_TRY(check_header_sum(r));
    TFD_TRY(tfd_frame_decode(r->raw, r->body_max, &r->header, &r->error));
    if (!r->summed && r->raw[5] & TFD_FRAME_SUMMED) {
        r->summed = true;
        return TFD_OK;
    }
    if (r->summed && !(r->raw[5] & TFD_FRAME_SUMMED))
        return tfd_fail(&r->error, TFD_INVALID_ARGUMENT,
                        "frame without checksums behind one that has them");
    r->have = 0;
    r->in_body = true;
    r->body = NULL;
    r->body_sum = 0;
    TFD_TRY(r->sink->begin(r->ctx, &r->header, &r->body, &r->error));
    assert(r->body || r->header.length == 0);
    return TFD_OK;
}

static enum tfd_code finish_body(struct tfd_frame_reader *r)
{
    TFD_TRY(check_body_sum(r));
    r->have = 0;
    r->in_body = false;
    return r->sink->end(r->ctx, &r->header, &r->error);
}

enum tfd_code tfd_frame_reader_commit(struct tfd_frame_reader *r, size_t n,
                                      struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;
    uint8_t *at;
    size_t room = tfd_frame_reader_space(r, &at);

    if (r->error.code != TFD_OK)
        return tfd_status_copy(st, &r->error);

    assert(n <= room);
    if (r->in_body && r->summed)
        r->body_sum = tfd_crc32c_extend(r->body_sum, at, n);
    r->have += (uint32_t)n;
    if (!r->in_body && r->have == header_size(r))
        rc = finish_header(r);
    if (rc == TFD_OK && r->in_body && r->have == r->header.length)
        rc = finish_body(r);
    if (rc == TFD_OK)
        return TFD_OK;

    /* A sink may fail without a text; it must stick all the same. */
    (void)tfd_fail(&r->error, rc, "frame for call %u refused", r->header.call);
    return tfd_status_copy(st, &r->error);
}

enum tfd_code tfd_frame_reader_feed(struct tfd_frame_reader *r,
                                    const uint8_t *data, size_t n,
                                    struct tfd_status *st)
{
    while (n > 0) {
        uint8_t *at;
        size_t take = tfd_frame_reader_space(r, &at);

        if (take > n)
            take = n;
        if (take > 0)
            memcpy(at, data, take);
        TFD_TRY(tfd_frame_reader_commit(r, take, st));
        data += take;
        n -= take;
    }
    return TFD_OK;
}

const struct tfd_frame_header *
tfd_frame_reader_body(const struct tfd_frame_reader *r, uint32_t *have)
{
    *have = r->have;
    return r->in_body && r->error.code == TFD_OK ? &r->header : NULL;
}

bool tfd_frame_reader_idle(const struct tfd_frame_reader *r)
{
    return r->error.code == TFD_OK && !r->in_body && r->have == 0;
}
