/*
 * buf_message.c - see buf_message.h.
 */
#include "daemon/worker/collective/buf_message.h"

#include "common/base/clock.h"
#include "common/proto/worker.pb.h"

#include <stdlib.h>
#include <string.h>

#define RESPONSE(field) tensorflow_RecvBufResponse_##field##_tag

/* google.protobuf.Any and tensorflow.RecvBufRespExtra. */
enum { ANY_TYPE_URL = 1, ANY_VALUE = 2, EXTRA_TENSOR_CONTENT = 1 };

#define EXTRA_URL "type.googleapis.com/tensorflow.RecvBufRespExtra"

void tfd_buf_message_put(struct tfd_message *m, const struct tfd_tensor *value)
{
    const size_t size = tfd_tensor_size(value);
    size_t any, extra, content;

    if (size == 0)
        return;
    tfd_pb_put_int(&m->proto, RESPONSE(num_bytes), (int64_t)size);
    any = tfd_message_begin(m, RESPONSE(transport_options));
    tfd_pb_put_str(&m->proto, ANY_TYPE_URL, TFD_STR(EXTRA_URL));
    extra = tfd_message_begin(m, ANY_VALUE);
    if (m->native) {
        tfd_message_splice(m, value->buffer, size);
    } else {
        content = tfd_message_begin(m, EXTRA_TENSOR_CONTENT);
        tfd_message_splice(m, value->buffer, size);
        tfd_message_finish(m, content);
    }
    tfd_message_finish(m, extra);
    tfd_message_finish(m, any);
    tfd_pb_put_int(&m->proto, RESPONSE(send_start_micros), tfd_clock_wall_us());
}

void tfd_buf_message_keep(const struct tfd_incoming *in,
                          struct tfd_incoming *out, struct tfd_status *st)
{
    *out = (struct tfd_incoming){.proto = in->proto,
                                 .body = tfd_buffer_ref(in->body)};
    if (in->payload_count == 0)
        return;
    out->payload = calloc(in->payload_count, sizeof(*out->payload));
    if (!out->payload) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a message");
        return;
    }
    out->payload_count = in->payload_count;
    for (uint32_t i = 0; i < in->payload_count; i++)
        out->payload[i] = tfd_buffer_ref(in->payload[i]);
}

static enum tfd_code decode_response(struct tfd_str proto, struct tfd_str *any,
                                     bool *dead, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == RESPONSE(transport_options))
            *any = tfd_pb_str(&r, &f);
        else if (f.tag == RESPONSE(is_dead))
            *dead = tfd_pb_bool(&r, &f);
    }
    return tfd_pb_end(&r, "RecvBufResponse", st);
}

/* The RecvBufRespExtra. */
static enum tfd_code decode_any(struct tfd_str any, struct tfd_str *extra,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(any);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == ANY_VALUE)
            *extra = tfd_pb_str(&r, &f);
    return tfd_pb_end(&r, "RecvBufResponse", st);
}

static enum tfd_code wrong_size(size_t size, size_t wanted,
                                struct tfd_status *st)
{
    return tfd_fail(st, TFD_INTERNAL,
                    "RecvBufResponse returned %zu bytes where to_tensor "
                    "expected %zu",
                    size, wanted);
}

/* Copies the pieces, if they fill the value exactly. */
static enum tfd_code copy_pieces(struct tfd_str extra, struct tfd_tensor *out,
                                 struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(extra);
    const size_t wanted = tfd_tensor_size(out);
    char *data = out->buffer ? out->buffer->data : NULL;
    struct tfd_pb_field f;
    size_t size = 0;

    while (tfd_pb_next(&r, &f)) {
        struct tfd_str piece;

        if (f.tag != EXTRA_TENSOR_CONTENT)
            continue;
        piece = tfd_pb_str(&r, &f);
        if (piece.size > 0 && piece.size <= wanted &&
            size <= wanted - piece.size)
            memcpy(data + size, piece.data, piece.size);
        size += piece.size;
    }
    TFD_TRY(tfd_pb_end(&r, "RecvBufRespExtra", st));
    return size == wanted ? TFD_OK : wrong_size(size, wanted, st);
}

static enum tfd_code take_payload(const struct tfd_incoming *in,
                                  struct tfd_tensor *out, struct tfd_status *st)
{
    const int64_t n = out->shape.dim[0];
    const size_t wanted = (size_t)n * tfd_dtype_size(out->dtype);

    if (in->payload[0]->size != wanted)
        return wrong_size(in->payload[0]->size, wanted, st);
    out->buffer = tfd_buffer_ref(in->payload[0]);
    return TFD_OK;
}

enum tfd_code tfd_buf_message_value(const struct tfd_incoming *in,
                                    enum tfd_dtype dtype, int64_t n,
                                    struct tfd_tensor *out,
                                    struct tfd_status *st)
{
    struct tfd_str any = TFD_STR_EMPTY, extra = TFD_STR_EMPTY;
    struct tfd_tensor value = {dtype, {1, {n}}, NULL};
    bool dead = false;
    enum tfd_code rc;

    TFD_TRY(decode_response(in->proto, &any, &dead, st));
    if (dead)
        return tfd_fail(st, TFD_INTERNAL, "a collective's value came dead");
    if (in->payload_count > 0) {
        rc = take_payload(in, &value, st);
    } else {
        TFD_TRY(decode_any(any, &extra, st));
        TFD_TRY(tfd_tensor_new(&value, dtype, &value.shape, st));
        rc = copy_pieces(extra, &value, st);
    }
    if (rc == TFD_OK && value.buffer)
        rc = tfd_tensor_check_bytes(dtype, value.buffer->data,
                                    tfd_tensor_size(&value), st);
    if (rc == TFD_OK)
        *out = value;
    else
        tfd_tensor_unref(&value);
    return rc;
}
