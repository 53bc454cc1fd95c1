/*
 * native_out.c - messages into frames; see native_io.h.
 *
 * The first frame is queued at once.  Payloads follow chunk by chunk, one chunk
 * of each message in turn, while the connection has less than TFD_CONN_HIGH
 * bytes queued; drained() calls for the rest.
 */
#include "rpc/native/native_io.h"

#include "common/base/crc32c.h"
#include "config/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A header and a vector are nothing beside it, and another call waits for less
 * than a millisecond at 10 Gbit/s. */
#define CHUNK_SIZE (1u << 20)

struct tfd_native_send {
    struct tfd_native_send *next;
    struct tfd_frame_header head;
    struct tfd_message message; /* proto: only while waiting */
    uint32_t at;                /* the splice being written */
    size_t offset;
};

static void put_little_endian(uint8_t *p, uint64_t value, int size)
{
    for (int i = 0; i < size; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

void tfd_native_out_init(struct tfd_native_out *o, struct tfd_conn *conn)
{
    memset(o, 0, sizeof(*o));
    o->conn = conn;
}

static void free_sends(struct tfd_native_send *s)
{
    while (s) {
        struct tfd_native_send *next = s->next;

        tfd_message_deinit(&s->message);
        free(s);
        s = next;
    }
}

void tfd_native_out_deinit(struct tfd_native_out *o)
{
    free_sends(o->first);
    free_sends(o->waiting);
    tfd_native_out_init(o, NULL);
}

static void append_send(struct tfd_native_send **first,
                        struct tfd_native_send **last,
                        struct tfd_native_send *s)
{
    s->next = NULL;
    if (*first)
        (*last)->next = s;
    else
        *first = s;
    *last = s;
}

static struct tfd_native_send *pop_send(struct tfd_native_send **first)
{
    struct tfd_native_send *s = *first;

    *first = s->next;
    s->next = NULL;
    return s;
}

/* ---- Frames -------------------------------------------------------------- */

/* body_sum is looked at where frames have sums: sum_of(). */
static void write_header(struct tfd_native_out *o,
                         const struct tfd_frame_header *h, uint32_t body_sum)
{
    uint8_t wire[TFD_FRAME_SUMMED_SIZE];

    if (o->summed) {
        tfd_frame_encode_summed(h, body_sum, wire);
        tfd_conn_write(o->conn, wire, TFD_FRAME_SUMMED_SIZE);
    } else {
        tfd_frame_encode(h, wire);
        tfd_conn_write(o->conn, wire, TFD_FRAME_HEADER_SIZE);
    }
}

/* The checksum behind `sum` of so many bytes more. */
static uint32_t sum_of(const struct tfd_native_out *o, uint32_t sum,
                       const void *data, size_t size)
{
    return o->summed && size ? tfd_crc32c_extend(sum, data, size) : sum;
}

static size_t first_size(const struct tfd_message *m)
{
    return 4 + m->splice_count * sizeof(uint64_t) + m->proto.size;
}

static uint32_t first_sum(const struct tfd_native_out *o,
                          const struct tfd_message *m)
{
    uint8_t number[8];
    uint32_t sum;

    put_little_endian(number, m->splice_count, 4);
    sum = sum_of(o, 0, number, 4);
    for (uint32_t i = 0; i < m->splice_count; i++) {
        put_little_endian(number, m->splices[i].size, 8);
        sum = sum_of(o, sum, number, 8);
    }
    return sum_of(o, sum, m->proto.data, m->proto.size);
}

/* Empties the protobuf of the message. */
static void write_first(struct tfd_native_out *o,
                        const struct tfd_frame_header *head,
                        struct tfd_message *m)
{
    struct tfd_frame_header h = *head;
    uint8_t number[8];

    h.length = (uint32_t)first_size(m);
    h.flags = m->splice_count ? TFD_FRAME_MORE : 0;
    write_header(o, &h, o->summed ? first_sum(o, m) : 0);
    put_little_endian(number, m->splice_count, 4);
    tfd_conn_write(o->conn, number, 4);
    for (uint32_t i = 0; i < m->splice_count; i++) {
        put_little_endian(number, m->splices[i].size, 8);
        tfd_conn_write(o->conn, number, 8);
    }
    tfd_conn_write_bytes(o->conn, &m->proto);
}

/* One chunk.  True when it was the last. */
static bool write_chunk(struct tfd_native_out *o, struct tfd_native_send *s)
{
    const struct tfd_splice *splice = &s->message.splices[s->at];
    struct tfd_frame_header h = s->head;
    size_t left = splice->size - s->offset;
    const uint8_t *at;
    bool last;

    h.length = (uint32_t)(left < CHUNK_SIZE ? left : CHUNK_SIZE);
    at = (const uint8_t *)splice->buffer->data + s->offset;
    last = s->at + 1 == s->message.splice_count && h.length == left;
    h.flags = last ? 0 : TFD_FRAME_MORE;
    write_header(o, &h, sum_of(o, 0, at, h.length));
    tfd_conn_write_buffer(o->conn, splice->buffer, s->offset, h.length);
    o->pending -= h.length;
    s->offset += h.length;
    if (h.length == left) {
        s->at++;
        s->offset = 0;
    }
    return last;
}

/* ---- Messages ------------------------------------------------------------ */

static uint64_t payload_size(const struct tfd_message *m)
{
    uint64_t size = 0;

    for (uint32_t i = 0; i < m->splice_count; i++)
        size += m->splices[i].size;
    return size;
}

/* Queues the first frame; the rest of the message takes its turns. */
static void start_send(struct tfd_native_out *o, struct tfd_native_send *s)
{
    o->pending -= s->message.proto.size;
    write_first(o, &s->head, &s->message);
    if (s->message.splice_count == 0) {
        free_sends(s);
        return;
    }
    append_send(&o->first, &o->last, s);
    if (s->head.call == 0)
        o->one_way_open = true;
}

/* Messages of call 0 follow each other: the next may start. */
static void one_way_done(struct tfd_native_out *o)
{
    o->one_way_open = false;
    while (o->waiting && !o->one_way_open)
        start_send(o, pop_send(&o->waiting));
}

void tfd_native_out_pump(struct tfd_native_out *o)
{
    while (o->first && tfd_conn_queued(o->conn) < TFD_CONN_HIGH) {
        struct tfd_native_send *s = pop_send(&o->first);
        bool one_way = s->head.call == 0;

        if (!write_chunk(o, s)) {
            append_send(&o->first, &o->last, s);
            continue;
        }
        free_sends(s);
        if (one_way)
            one_way_done(o);
    }
}

static enum tfd_code check_message(const struct tfd_message *m,
                                   struct tfd_status *st)
{
    uint64_t size = tfd_message_size(m);

    TFD_TRY(tfd_bytes_ok(&m->proto, "the message", st));
    if (m->splice_count > 0 && !m->native)
        return tfd_fail(st, TFD_UNAVAILABLE,
                        "message written for another protocol: the peer was "
                        "reconnected, try again");
    if (m->proto.size > (size_t)TFD_NATIVE_ENVELOPE_SIZE_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "message of %zu bytes beside its tensors, at most %lld",
                        m->proto.size, (long long)TFD_NATIVE_ENVELOPE_SIZE_MAX);
    if (size > (uint64_t)TFD_NATIVE_MESSAGE_SIZE_MAX)
        return tfd_fail(
            st, TFD_RESOURCE_EXHAUSTED, "message of %llu bytes, at most %lld",
            (unsigned long long)size, (long long)TFD_NATIVE_MESSAGE_SIZE_MAX);
    return TFD_OK;
}

enum tfd_code tfd_native_out_message(struct tfd_native_out *o,
                                     const struct tfd_frame_header *h,
                                     struct tfd_message *take_message,
                                     struct tfd_status *st)
{
    bool wait = h->call == 0 && o->one_way_open;
    enum tfd_code rc = check_message(take_message, st);
    struct tfd_native_send *s = NULL;

    if (rc == TFD_OK && !wait && take_message->splice_count == 0) {
        write_first(o, h, take_message);
        goto out;
    }
    if (rc == TFD_OK) {
        s = malloc(sizeof(*s));
        if (!s)
            rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory to send");
    }
    if (rc != TFD_OK)
        goto out;
    *s = (struct tfd_native_send){.head = *h, .message = *take_message};
    tfd_message_init(take_message, take_message->native);
    o->pending += s->message.proto.size + payload_size(&s->message);
    if (wait)
        append_send(&o->waiting, &o->newest, s);
    else
        start_send(o, s);
    tfd_native_out_pump(o);
    return TFD_OK;
out:
    tfd_message_deinit(take_message);
    return rc;
}

void tfd_native_out_error(struct tfd_native_out *o, uint32_t call,
                          const struct tfd_status *st)
{
    uint8_t body[TFD_NATIVE_SMALL_MAX];
    size_t size = strlen(st->text);

    assert(size <= sizeof(body) - 4);
    put_little_endian(body, st->code, 4);
    memcpy(body + 4, st->text, size);
    tfd_native_out_small(o, TFD_FRAME_ERROR, call, body, (uint32_t)size + 4);
}

void tfd_native_out_small(struct tfd_native_out *o, enum tfd_frame_kind kind,
                          uint32_t call, const void *body, uint32_t size)
{
    struct tfd_frame_header h = {.kind = kind, .call = call, .length = size};

    write_header(o, &h, sum_of(o, 0, body, size));
    if (size)
        tfd_conn_write(o->conn, body, size);
}

void tfd_native_out_ping(struct tfd_native_out *o)
{
    static const uint8_t body[8] = {0};

    tfd_native_out_small(o, TFD_FRAME_PING, 0, body, sizeof(body));
}

void tfd_native_out_drop(struct tfd_native_out *o, uint32_t call)
{
    struct tfd_native_send *all = o->first;

    assert(call != 0);
    o->first = NULL;
    while (all) {
        struct tfd_native_send *s = pop_send(&all);

        if (s->head.call != call) {
            append_send(&o->first, &o->last, s);
            continue;
        }
        o->pending -= payload_size(&s->message) - s->offset;
        for (uint32_t i = 0; i < s->at; i++)
            o->pending += s->message.splices[i].size;
        free_sends(s);
    }
}

uint64_t tfd_native_out_size(const struct tfd_native_out *o)
{
    return o->pending + tfd_conn_queued(o->conn);
}
