/*
 * message.c - see message.h.
 *
 * The length of a sub-message is one byte until it is finished; then the rest
 * of it is pushed in, and the splices behind move along.  A native message
 * does not count its splices: their bytes travel beside the protobuf.
 */
#include "rpc/core/message.h"

#include "config/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define VARINT_SIZE_MAX 10

void tfd_message_init(struct tfd_message *m, bool native)
{
    *m = (struct tfd_message){.native = native};
    tfd_bytes_init(&m->proto, native ? (size_t)TFD_NATIVE_ENVELOPE_SIZE_MAX
                                     : (size_t)TFD_GRPC_MESSAGE_SIZE_MAX);
}

void tfd_message_deinit(struct tfd_message *m)
{
    for (uint32_t i = 0; i < m->splice_count; i++)
        tfd_buffer_unref(m->splices[i].buffer);
    free(m->splices);
    m->splices = NULL;
    m->splice_count = m->splice_capacity = 0;
    tfd_bytes_deinit(&m->proto);
}

size_t tfd_message_begin(struct tfd_message *m, uint32_t tag)
{
    return tfd_pb_begin(&m->proto, tag);
}

static size_t encode_varint(uint64_t value, uint8_t *to)
{
    size_t n = 0;

    for (; value >= 0x80; value >>= 7)
        to[n++] = (uint8_t)(value | 0x80);
    to[n++] = (uint8_t)value;
    return n;
}

/* Bytes spliced at or behind mark, which are those of the sub-message that
 * began there: the ones inside it were added last. */
static uint64_t spliced_since(const struct tfd_message *m, size_t mark)
{
    uint64_t size = 0;

    if (m->native)
        return 0;
    for (uint32_t i = m->splice_count; i > 0; i--) {
        if (m->splices[i - 1].at < mark)
            break;
        size += m->splices[i - 1].size;
    }
    return size;
}

void tfd_message_finish(struct tfd_message *m, size_t mark)
{
    uint64_t spliced = spliced_since(m, mark);
    uint8_t wire[VARINT_SIZE_MAX];
    size_t size, more;

    if (spliced == 0) {
        tfd_pb_finish(&m->proto, mark);
        return;
    }
    if (m->proto.failed)
        return;
    assert(mark > 0 && mark <= m->proto.size);
    size = m->proto.size - mark;
    more = encode_varint(size + spliced, wire) - 1;
    if (!tfd_bytes_extend(&m->proto, more))
        return;
    memmove(m->proto.data + mark + more, m->proto.data + mark, size);
    memcpy(m->proto.data + mark - 1, wire, more + 1);
    for (uint32_t i = m->splice_count; i > 0; i--) {
        if (m->splices[i - 1].at < mark)
            break;
        m->splices[i - 1].at += more;
    }
}

uint64_t tfd_message_size(const struct tfd_message *m)
{
    uint64_t size = m->proto.size;

    for (uint32_t i = 0; i < m->splice_count; i++)
        size += m->splices[i].size;
    return size;
}

void tfd_message_splice(struct tfd_message *m, struct tfd_buffer *b,
                        size_t size)
{
    assert(size <= b->size);
    if (m->splice_count == m->splice_capacity) {
        uint32_t capacity = m->splice_capacity ? m->splice_capacity * 2 : 8;
        struct tfd_splice *splices = NULL;

        if (m->splice_count < TFD_PAYLOADS_MAX)
            splices = realloc(m->splices, capacity * sizeof(*splices));
        if (!splices) {
            m->proto.failed = true;
            return;
        }
        m->splices = splices;
        m->splice_capacity = capacity;
    }
    m->splices[m->splice_count++] =
        (struct tfd_splice){m->proto.size, tfd_buffer_ref(b), size};
}

void tfd_incoming_deinit(struct tfd_incoming *in)
{
    for (uint32_t i = 0; i < in->payload_count; i++)
        tfd_buffer_unref(in->payload[i]);
    free(in->payload);
    tfd_buffer_unref(in->body);
    *in = (struct tfd_incoming){.proto = TFD_STR_EMPTY};
}

uint64_t tfd_incoming_size(const struct tfd_incoming *in)
{
    uint64_t size = in->proto.size;

    for (uint32_t i = 0; i < in->payload_count; i++)
        size += in->payload[i] ? in->payload[i]->size : 0;
    return size;
}
