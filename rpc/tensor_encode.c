/*
 * tensor_encode.c - tensors into messages; see message.h.
 *
 * dtype, shape, content, in this order: where the content is spliced on a gRPC
 * message, its head is the last thing before it, as TensorFlow writes it.
 */
#include "common/alloc.h"
#include "common/proto/tensor.pb.h"
#include "rpc/message.h"

#include <string.h>

#define F(field) tensorflow_TensorProto_##field##_tag

static void put_shape(struct tfd_message *m, const struct tfd_shape *s)
{
    struct tfd_bytes *b = &m->proto;
    size_t mark = tfd_pb_begin(b, F(tensor_shape));

    for (int i = 0; i < s->rank; i++) {
        size_t dim = tfd_pb_begin(b, tensorflow_TensorShapeProto_dim_tag);

        tfd_pb_put_int(b, tensorflow_TensorShapeProto_Dim_size_tag, s->dim[i]);
        tfd_pb_finish(b, dim);
    }
    tfd_pb_finish(b, mark);
}

/* The first `size` bytes of buffer are the content. */
static void put_splice(struct tfd_message *m, struct tfd_buffer *buffer,
                       size_t size)
{
    if (m->native)
        tfd_pb_put_int_always(&m->proto, F(payload_index), m->splice_count);
    else
        tfd_pb_put_head(&m->proto, F(tensor_content), size);
    tfd_message_splice(m, buffer, size);
}

static void put_pod(struct tfd_message *m, const struct tfd_tensor *t)
{
    size_t size = tfd_tensor_size(t);
    struct tfd_str bytes = {tfd_tensor_data(t), size};

    if (size <= TFD_TENSOR_INLINE_MAX)
        tfd_pb_put_str_always(&m->proto, F(tensor_content), bytes);
    else
        put_splice(m, t->buffer, size);
}

/* ---- Strings ------------------------------------------------------------- */

static size_t varint_size(uint64_t value)
{
    size_t n = 1;

    for (; value >= 0x80; value >>= 7)
        n++;
    return n;
}

static char *write_varint(char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (char)(uint8_t)(value | 0x80);
    *at++ = (char)value;
    return at;
}

static void write_strings(char *at, const struct tfd_tstring *s, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        at = write_varint(at, s[i].size);
    for (int64_t i = 0; i < count; i++) {
        if (s[i].size)
            memcpy(at, s[i].data, s[i].size);
        at += s[i].size;
    }
}

static void put_strings(struct tfd_message *m, const struct tfd_tensor *t)
{
    const struct tfd_tstring *s = tfd_tensor_data(t);
    int64_t count = tfd_tensor_elements(t);
    struct tfd_buffer *buffer;
    size_t size = 0;
    char *at;

    for (int64_t i = 0; i < count; i++)
        size += varint_size(s[i].size) + s[i].size;
    if (size <= TFD_TENSOR_INLINE_MAX) {
        tfd_pb_put_head(&m->proto, F(tensor_content), size);
        at = tfd_bytes_extend(&m->proto, size);
        if (at)
            write_strings(at, s, count);
        return;
    }
    buffer = tfd_buffer_new(size);
    if (!buffer) {
        m->proto.failed = true;
        return;
    }
    write_strings(buffer->data, s, count);
    put_splice(m, buffer, size);
    tfd_buffer_unref(buffer);
}

/* ---- Handles ------------------------------------------------------------- */

static void put_handles(struct tfd_message *m, const struct tfd_tensor *t,
                        tfd_handle_encode_fn *handle)
{
    void *const *h = tfd_tensor_data(t);
    int64_t count = tfd_tensor_elements(t);
    struct tfd_bytes lengths, items;

    tfd_bytes_init(&lengths, m->proto.max);
    tfd_bytes_init(&items, m->proto.max);
    for (int64_t i = 0; i < count; i++) {
        size_t before = items.size;

        if (h[i])
            handle(&items, h[i]);
        tfd_pb_put_varint(&lengths, items.size - before);
    }
    tfd_pb_put_head(&m->proto, F(tensor_content), lengths.size + items.size);
    tfd_bytes_add_str(&m->proto, tfd_bytes_view(&lengths));
    tfd_bytes_add_str(&m->proto, tfd_bytes_view(&items));
    if (lengths.failed || items.failed)
        m->proto.failed = true;
    tfd_bytes_deinit(&lengths);
    tfd_bytes_deinit(&items);
}

void tfd_message_put_tensor(struct tfd_message *m, uint32_t tag,
                            const struct tfd_tensor *t,
                            tfd_handle_encode_fn *handle)
{
    size_t mark = tfd_message_begin(m, tag);

    tfd_pb_put_int(&m->proto, F(dtype), t->dtype);
    put_shape(m, &t->shape);
    if (tfd_tensor_elements(t) > 0) {
        if (tfd_dtype_is_pod(t->dtype))
            put_pod(m, t);
        else if (t->dtype == TFD_STRING)
            put_strings(m, t);
        else if (t->dtype == TFD_RESOURCE && handle)
            put_handles(m, t, handle);
        else
            m->proto.failed = true; /* VARIANT has no encoding here */
    }
    tfd_message_finish(m, mark);
}
