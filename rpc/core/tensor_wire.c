/*
 * tensor_wire.c - what a message can do for a tensor beyond tensor_proto.h:
 * large contents are spliced into outgoing messages, and taken out of incoming
 * ones without a copy.
 *
 * dtype, shape, content, in this order: where the content is spliced on a gRPC
 * message, its head is the last thing before it, as TensorFlow writes it.
 */
#include "common/base/alloc.h"
#include "common/proto/tensor.pb.h"
#include "common/proto/tensor_proto.h"
#include "config/limits.h"
#include "rpc/core/message.h"

#include <string.h>

#define TAG(field) tensorflow_TensorProto_##field##_tag

/* A slice holds the whole body, so it must be worth that. */
#define SLICE_MIN 4096
#define SLICE_SHARE 4 /* of the body, at least 1 / 4 */

/* ---- Out ----------------------------------------------------------------- */

/* The first `size` bytes of buffer are the content. */
static void put_splice(struct tfd_message *m, struct tfd_buffer *buffer,
                       size_t size)
{
    if (m->native)
        tfd_pb_put_int_always(&m->proto, TAG(payload_index), m->splice_count);
    else
        tfd_pb_put_head(&m->proto, TAG(tensor_content), size);
    tfd_message_splice(m, buffer, size);
}

/* Strings and handles have to be written together first; much of it is better
 * beside the message all the same, where it is not copied again. */
static void put_items(struct tfd_message *m, const struct tfd_tensor *t,
                      tfd_handle_encode_fn *handle)
{
    struct tfd_buffer *buffer;
    struct tfd_bytes content;

    tfd_bytes_init(&content, SIZE_MAX);
    tfd_tensor_proto_encode_content(&content, t, handle);
    if (content.failed) {
        tfd_bytes_fail_as(&m->proto, &content);
    } else if (content.size <= TFD_TENSOR_INLINE_MAX) {
        tfd_pb_put_str_always(&m->proto, TAG(tensor_content),
                              tfd_bytes_view(&content));
    } else if ((buffer = tfd_buffer_new(content.size))) {
        memcpy(buffer->data, content.data, content.size);
        put_splice(m, buffer, content.size);
        tfd_buffer_unref(buffer);
    } else {
        m->proto.failed = true;
    }
    tfd_bytes_deinit(&content);
}

void tfd_message_put_tensor(struct tfd_message *m, uint32_t tag,
                            const struct tfd_tensor *t,
                            tfd_handle_encode_fn *handle)
{
    size_t mark = tfd_message_begin(m, tag);

    tfd_tensor_proto_encode_head(&m->proto, t);
    if (tfd_tensor_elements(t) > 0) {
        size_t size = tfd_tensor_size(t);
        struct tfd_str bytes = {(char *)tfd_tensor_data(t), size};

        if (!tfd_dtype_is_pod(t->dtype))
            put_items(m, t, handle);
        else if (size <= TFD_TENSOR_INLINE_MAX)
            tfd_pb_put_str_always(&m->proto, TAG(tensor_content), bytes);
        else
            put_splice(m, t->buffer, size);
    }
    tfd_message_finish(m, mark);
}

/* ---- In ------------------------------------------------------------------ */

static bool right_size(const struct tfd_tensor_head *h, size_t size)
{
    size_t element = tfd_dtype_size(h->dtype);

    return tfd_dtype_is_pod(h->dtype) && size % element == 0 &&
           size / element == (uint64_t)tfd_shape_elements(&h->shape);
}

static size_t alignment_of(enum tfd_dtype t)
{
    size_t size = tfd_dtype_size(t);

    return size < sizeof(double) ? size : sizeof(double);
}

/* The bytes are in the body, aligned, and most of it. */
static bool worth_slicing(const struct tfd_incoming *in,
                          const struct tfd_tensor_head *h)
{
    const struct tfd_buffer *body = in ? in->body : NULL;
    uintptr_t at = (uintptr_t)h->content.data;

    return body && h->content.size >= SLICE_MIN &&
           h->content.size >= body->size / SLICE_SHARE &&
           at % alignment_of(h->dtype) == 0 && at >= (uintptr_t)body->data &&
           h->content.size <= (uintptr_t)body->data + body->size - at &&
           right_size(h, h->content.size);
}

static enum tfd_code slice(const struct tfd_incoming *in,
                           const struct tfd_tensor_head *h,
                           struct tfd_tensor *out, struct tfd_status *st)
{
    size_t offset = (size_t)(h->content.data - (const char *)in->body->data);
    struct tfd_buffer *b;

    TFD_TRY(
        tfd_tensor_check_bytes(h->dtype, h->content.data, h->content.size, st));
    b = tfd_buffer_slice(in->body, offset, h->content.size);
    if (!b)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a tensor's buffer");
    *out = (struct tfd_tensor){h->dtype, h->shape, b};
    return TFD_OK;
}

static enum tfd_code take_payload(const struct tfd_incoming *in,
                                  struct tfd_tensor_head *h,
                                  tfd_handle_decode_fn *handle,
                                  struct tfd_tensor *out, struct tfd_status *st)
{
    uint32_t count = in ? in->payload_count : 0;
    struct tfd_buffer *b;

    if (h->payload_index >= count || !in->payload[h->payload_index])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "TensorProto refers to payload %lld of a message with "
                        "%u",
                        (long long)h->payload_index, count);
    b = in->payload[h->payload_index];
    if (right_size(h, b->size)) {
        TFD_TRY(tfd_tensor_check_bytes(h->dtype, b->data, b->size, st));
        *out = (struct tfd_tensor){h->dtype, h->shape, tfd_buffer_ref(b)};
        return TFD_OK;
    }
    h->content = (struct tfd_str){b->data, b->size};
    h->payload_index = -1;
    return tfd_tensor_proto_decode(h, handle, out, st);
}

enum tfd_code tfd_tensor_decode(const struct tfd_incoming *in,
                                struct tfd_str tensor_proto,
                                tfd_handle_decode_fn *handle,
                                struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_tensor_head h;

    *out = (struct tfd_tensor)TFD_TENSOR_INIT;
    TFD_TRY(tfd_tensor_proto_head(tensor_proto, &h, st));
    if (h.payload_index >= 0)
        return take_payload(in, &h, handle, out, st);
    if (worth_slicing(in, &h))
        return slice(in, &h, out, st);
    return tfd_tensor_proto_decode(&h, handle, out, st);
}
