/*
 * grpc_stream.c - see grpc_stream.h.
 */
#include "rpc/grpc/grpc_stream.h"

#include "rpc/grpc/grpc_wire.h"
#include "rpc/http/percent.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

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

void tfd_grpc_stream_init(struct tfd_grpc_stream *s, struct tfd_conn *conn,
                          size_t unread_max)
{
    *s = (struct tfd_grpc_stream){.conn = conn, .unread_max = unread_max};
    s->source.write = write_out;
    s->source.open = true;
    tfd_bytes_init(&s->bytes, 2 * unread_max + TFD_GRPC_PREFIX_SIZE);
}

void tfd_grpc_stream_deinit(struct tfd_grpc_stream *s)
{
    tfd_bytes_deinit(&s->bytes);
    free(s->text);
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
    if (size > s->unread_max || s->bytes.size > s->unread_max)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%zu bytes of a stream are not read; the limit is %zu",
                        s->bytes.size, s->unread_max);
    tfd_bytes_add(&s->bytes, prefix, sizeof(prefix));
    tfd_bytes_add_str(&s->bytes, tfd_bytes_view(&m->proto));
    TFD_TRY(tfd_bytes_ok(&s->bytes, "a stream of messages", st));
    s->source.left += sizeof(prefix) + size;
    return TFD_OK;
}

/* Without memory for the text the code alone is told. */
static size_t put_text(struct tfd_grpc_stream *s, const char *text)
{
    const size_t room = 3 * TFD_STATUS_TEXT_MAX + 1;

    s->text = malloc(room);
    if (!s->text)
        return 0;
    s->trailers[1] = (struct tfd_h2_header){
        TFD_STR("grpc-message"),
        {s->text, tfd_percent_encode(tfd_str_of(text), s->text, room)},
        true};
    return 1;
}

void tfd_grpc_stream_end(struct tfd_grpc_stream *s, const struct tfd_status *st)
{
    int digits =
        snprintf(s->code, sizeof(s->code), "%d", (int)(st ? st->code : TFD_OK));

    s->trailers[0] = (struct tfd_h2_header){
        TFD_STR("grpc-status"), {s->code, (size_t)digits}, false};
    s->source.trailers = s->trailers;
    s->source.trailer_count = 1;
    if (st && st->code != TFD_OK)
        s->source.trailer_count += put_text(s, st->text);
    s->source.open = false;
}
