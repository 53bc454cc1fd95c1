/*
 * grpc_body.c - see the header for the bytes.
 *
 * An outgoing message is a sequence of pieces: the prefix, then parts of the
 * protobuf bytes and the tensors between them in turn.  The writer keeps how
 * far it is in each, so that a DATA frame may end anywhere.
 */
#include "rpc/grpc/grpc_body.h"

#include "common/base/alloc.h"
#include "config/limits.h"
#include "rpc/core/tensor_place.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What 6 bytes of a peer may claim, and what each byte after that. */
#define FIRST_CAPACITY ((size_t)1 << 20)
#define GROWTH 256

/* Less is read together with the frames behind it, and copied. */
#define DIRECT_MIN ((size_t)32 << 10)

#define FRAME_HEAD 9 /* bytes before each frame of HTTP/2 */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- Incoming -------------------------------------------------------------
 */

void tfd_grpc_reader_deinit(struct tfd_grpc_reader *r)
{
    tfd_buffer_unref(r->body);
    *r = (struct tfd_grpc_reader){0};
}

static enum tfd_code check_prefix(struct tfd_grpc_reader *r, int64_t size_max,
                                  struct tfd_status *st)
{
    r->size = (uint32_t)r->prefix[1] << 24 | (uint32_t)r->prefix[2] << 16 |
              (uint32_t)r->prefix[3] << 8 | r->prefix[4];
    if (r->prefix[0] > 1)
        return tfd_fail(st, TFD_INTERNAL,
                        "damaged gRPC message: it begins with byte %u",
                        r->prefix[0]);
    if (r->prefix[0] == 1 && !r->may_be_compressed)
        return tfd_fail(st, TFD_INTERNAL,
                        "compressed gRPC message, and grpc-encoding does not "
                        "say how");
    if (r->size > size_max)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "gRPC message of %u bytes; the limit is %lld", r->size,
                        (long long)size_max);
    return TFD_OK;
}

/* What the buffer may hold now that n more bytes are here: all of the message
 * if these have earned it, else little, so that little will be copied. */
static size_t next_capacity(const struct tfd_grpc_reader *r, size_t n)
{
    size_t here = r->have + n;
    size_t earned = here < SIZE_MAX / GROWTH ? here * GROWTH : SIZE_MAX;

    if (r->size <= FIRST_CAPACITY || r->size <= earned)
        return r->size;
    return r->capacity ? earned : FIRST_CAPACITY;
}

static enum tfd_code fail_memory(const struct tfd_grpc_reader *r,
                                 struct tfd_status *st)
{
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "no memory for a gRPC message of %u bytes", r->size);
}

/* The buffer grows once it is full.  Messages of 16 MiB fit at once when they
 * begin with 64 KiB in one piece, and a 100 MiB one copies 1 MiB.  Of the
 * memory what has come counts. */
static enum tfd_code grow_grpc_body(struct tfd_grpc_reader *r, size_t n,
                                    struct tfd_status *st)
{
    size_t capacity = next_capacity(r, n);
    struct tfd_buffer *b =
        tfd_buffer_new_empty(r->start + capacity + FRAME_HEAD);

    if (!b)
        return fail_memory(r, st);
    if (r->body)
        memcpy((char *)b->data + r->start, (char *)r->body->data + r->start,
               r->have);
    tfd_buffer_unref(r->body);
    r->body = b;
    r->capacity = (uint32_t)capacity;
    return TFD_OK;
}

static uint8_t *next_byte(const struct tfd_grpc_reader *r)
{
    return (uint8_t *)r->body->data + r->start + r->have;
}

static enum tfd_code feed_body(struct tfd_grpc_reader *r, const uint8_t *data,
                               size_t n, struct tfd_status *st)
{
    if (n > r->size - r->have)
        return tfd_fail(st, TFD_INTERNAL,
                        "more than one message in a unary call: %zu bytes "
                        "after the first one",
                        n - (r->size - r->have));
    /* The first bytes tell where the message's large tensor will lie; it is
     * placed so that the tensor is aligned and can be used there. */
    if (!r->body)
        r->start = tfd_tensor_place((struct tfd_str){(const char *)data, n},
                                    r->size, TFD_BUFFER_ALIGN);
    while (n > 0) {
        size_t part;

        if (r->have == r->capacity)
            TFD_TRY(grow_grpc_body(r, n, st));
        part = least(n, r->capacity - r->have);
        if (!tfd_buffer_charge(r->body, r->start + r->have + part))
            return fail_memory(r, st);
        if (next_byte(r) != data)
            memcpy(next_byte(r), data, part);
        r->have += (uint32_t)part;
        data += part;
        n -= part;
    }
    return TFD_OK;
}

enum tfd_code tfd_grpc_reader_feed(struct tfd_grpc_reader *r,
                                   const uint8_t *data, size_t n,
                                   int64_t size_max, struct tfd_status *st)
{
    while (n > 0 && r->prefix_have < TFD_GRPC_PREFIX_SIZE) {
        r->prefix[r->prefix_have++] = *data++;
        n--;
        if (r->prefix_have == TFD_GRPC_PREFIX_SIZE)
            TFD_TRY(check_prefix(r, size_max, st));
    }
    return n > 0 ? feed_body(r, data, n, st) : TFD_OK;
}

size_t tfd_grpc_reader_room(const struct tfd_grpc_reader *r, size_t data_left,
                            uint8_t **at)
{
    size_t room = least(r->capacity - r->have, data_left);

    if (!r->body || room < DIRECT_MIN)
        return 0;
    *at = next_byte(r);
    if (room == data_left && room < r->size - r->have)
        room += FRAME_HEAD;
    return room;
}

bool tfd_grpc_reader_compressed(const struct tfd_grpc_reader *r)
{
    return r->prefix_have > 0 && r->prefix[0] == 1;
}

bool tfd_grpc_reader_complete(const struct tfd_grpc_reader *r)
{
    return r->prefix_have == TFD_GRPC_PREFIX_SIZE && r->have == r->size;
}

void tfd_grpc_reader_take(struct tfd_grpc_reader *r, struct tfd_incoming *out)
{
    assert(tfd_grpc_reader_complete(r));
    *out = (struct tfd_incoming){.proto = TFD_STR_EMPTY, .body = r->body};
    if (r->body)
        out->proto =
            (struct tfd_str){(const char *)r->body->data + r->start, r->size};
    *r = (struct tfd_grpc_reader){.may_be_compressed = r->may_be_compressed};
}

/* ---- Outgoing -------------------------------------------------------------
 */

/* The bytes of a message as a buffer, so that a queue can hold a reference. */
struct shared_bytes {
    struct tfd_buffer buffer;
    struct tfd_bytes bytes;
};

static void release_shared(struct tfd_buffer *b)
{
    struct shared_bytes *s = (struct shared_bytes *)b;

    tfd_bytes_deinit(&s->bytes);
    free(s);
}

/* Takes the bytes; NULL leaves them where they are, and they get copied. */
static struct tfd_buffer *share(struct tfd_bytes *take_bytes)
{
    struct shared_bytes *s = malloc(sizeof(*s));

    if (!s)
        return NULL;
    s->bytes = *take_bytes;
    tfd_bytes_init(take_bytes, take_bytes->max);
    s->buffer = (struct tfd_buffer){.refs = 1,
                                    .size = s->bytes.size,
                                    .data = s->bytes.data,
                                    .release = release_shared};
    return &s->buffer;
}

static void put_proto(struct tfd_grpc_writer *w, size_t n)
{
    if (!w->shared)
        tfd_conn_write(w->conn, w->message.proto.data + w->proto_at, n);
    else if (n < TFD_INLINE_BODY_SIZE_MAX)
        tfd_conn_write(w->conn, (char *)w->shared->data + w->proto_at, n);
    else
        tfd_conn_write_buffer(w->conn, w->shared, w->proto_at, n);
    w->proto_at += n;
}

/* Puts out what one piece has of the next n bytes; how many those were. */
static size_t put_piece(struct tfd_grpc_writer *w, size_t n)
{
    const struct tfd_message *m = &w->message;
    size_t proto_end = w->shared ? w->shared->size : m->proto.size;

    if (w->prefix_at < TFD_GRPC_PREFIX_SIZE) {
        n = least(n, TFD_GRPC_PREFIX_SIZE - w->prefix_at);
        tfd_conn_write(w->conn, w->prefix + w->prefix_at, n);
        w->prefix_at += (uint32_t)n;
        return n;
    }
    if (w->splice < m->splice_count)
        proto_end = m->splices[w->splice].at;
    if (w->proto_at < proto_end) {
        n = least(n, proto_end - w->proto_at);
        put_proto(w, n);
        return n;
    }
    assert(w->splice < m->splice_count);
    n = least(n, m->splices[w->splice].size - w->splice_at);
    tfd_conn_write_buffer(w->conn, m->splices[w->splice].buffer, w->splice_at,
                          n);
    w->splice_at += n;
    if (w->splice_at == m->splices[w->splice].size) {
        w->splice++;
        w->splice_at = 0;
    }
    return n;
}

static void write_out(struct tfd_h2_source *s, size_t n)
{
    struct tfd_grpc_writer *w = (struct tfd_grpc_writer *)s;

    while (n > 0)
        n -= put_piece(w, n);
}

static enum tfd_code check_size(const struct tfd_message *m, uint64_t size,
                                struct tfd_status *st)
{
    TFD_TRY(tfd_bytes_ok(&m->proto, "a gRPC message", st));
    if (size > (uint64_t)TFD_GRPC_MESSAGE_SIZE_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "gRPC message of %llu bytes; the limit is %lld",
                        (unsigned long long)size,
                        (long long)TFD_GRPC_MESSAGE_SIZE_MAX);
    return TFD_OK;
}

enum tfd_code tfd_grpc_writer_init(struct tfd_grpc_writer *w,
                                   struct tfd_conn *conn,
                                   struct tfd_message *take_message,
                                   struct tfd_status *st)
{
    uint64_t size = tfd_message_size(take_message);
    enum tfd_code code = check_size(take_message, size, st);

    *w = (struct tfd_grpc_writer){.conn = conn, .message = *take_message};
    tfd_message_init(take_message, false);
    if (code != TFD_OK) {
        tfd_grpc_writer_deinit(w);
        return code;
    }
    assert(!w->message.native || w->message.splice_count == 0);
    for (int i = 1; i < TFD_GRPC_PREFIX_SIZE; i++)
        w->prefix[i] = (uint8_t)(size >> (8 * (4 - i)));
    w->source.left = TFD_GRPC_PREFIX_SIZE + size;
    w->source.write = write_out;
    if (w->message.proto.size >= TFD_INLINE_BODY_SIZE_MAX)
        w->shared = share(&w->message.proto);
    return TFD_OK;
}

void tfd_grpc_writer_deinit(struct tfd_grpc_writer *w)
{
    tfd_buffer_unref(w->shared);
    w->shared = NULL;
    tfd_message_deinit(&w->message);
}
