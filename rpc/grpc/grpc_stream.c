/*
 * grpc_stream.c - see grpc_stream.h.
 */
#include "rpc/grpc/grpc_stream.h"

#include "rpc/grpc/grpc_wire.h"

#include <assert.h>
#include <stdio.h>

#define UNREAD_SIZE_MAX (64 * 1024)

static void write_out(struct tfd_h2_source *source, size_t n)
{
    struct tfd_grpc_stream *s = (struct tfd_grpc_stream *)source;

    assert(n <= s->bytes.size - s->at);
    tfd_conn_write(s->conn, s->bytes.data + s->at, n);
    s->at += n;
    if (s->at < s->bytes.size)
        return;
    tfd_bytes_clear(&s->bytes);
    s->at = 0;
}

void tfd_grpc_stream_init(struct tfd_grpc_stream *s, struct tfd_conn *conn)
{
    *s = (struct tfd_grpc_stream){.conn = conn};
    s->source.write = write_out;
    s->source.open = true;
    tfd_bytes_init(&s->bytes, 2 * UNREAD_SIZE_MAX);
}

void tfd_grpc_stream_deinit(struct tfd_grpc_stream *s)
{
    tfd_bytes_deinit(&s->bytes);
}

enum tfd_code tfd_grpc_stream_add(struct tfd_grpc_stream *s,
                                  const struct tfd_message *m,
                                  struct tfd_status *st)
{
    size_t size = m->proto.size;
    const unsigned char prefix[TFD_GRPC_PREFIX_SIZE] = {
        0, (unsigned char)(size >> 24), (unsigned char)(size >> 16),
        (unsigned char)(size >> 8), (unsigned char)size};

    assert(m->splice_count == 0 && s->source.open);
    if (size > UNREAD_SIZE_MAX || s->bytes.size > UNREAD_SIZE_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%zu bytes of a stream are not read; the limit is %d",
                        s->bytes.size, UNREAD_SIZE_MAX);
    tfd_bytes_add(&s->bytes, prefix, sizeof(prefix));
    tfd_bytes_add_str(&s->bytes, tfd_bytes_view(&m->proto));
    TFD_TRY(tfd_bytes_ok(&s->bytes, "a stream of messages", st));
    s->source.left += sizeof(prefix) + size;
    return TFD_OK;
}

void tfd_grpc_stream_end(struct tfd_grpc_stream *s, enum tfd_code code)
{
    int digits = snprintf(s->status, sizeof(s->status), "%d", (int)code);

    s->trailer = (struct tfd_h2_header){
        TFD_STR("grpc-status"), {s->status, (size_t)digits}, false};
    s->source.trailers = &s->trailer;
    s->source.trailer_count = 1;
    s->source.open = false;
}
