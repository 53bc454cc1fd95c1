/*
 * wire.c - see wire.h.
 */
#include "kernels/proto/wire.h"

#include "common/base/pbio.h"
#include "config/limits.h"

#include <string.h>

#define VARINT_SIZE_MAX 10

struct tfd_proto_wire tfd_proto_wire_of(struct tfd_str message)
{
    return (struct tfd_proto_wire){message.data, message.data + message.size};
}

bool tfd_proto_wire_varint(struct tfd_proto_wire *w, uint64_t *out)
{
    uint64_t value = 0;

    for (int i = 0; i < VARINT_SIZE_MAX && w->at < w->end; i++) {
        uint64_t byte = (uint8_t)*w->at++;

        value |= (byte & 0x7f) << 7 * i;
        if (!(byte & 0x80)) {
            *out = value;
            return true;
        }
    }
    return false;
}

uint32_t tfd_proto_wire_tag(struct tfd_proto_wire *w)
{
    uint64_t tag;

    return w->at < w->end && tfd_proto_wire_varint(w, &tag) ? (uint32_t)tag : 0;
}

bool tfd_proto_wire_fixed(struct tfd_proto_wire *w, size_t size, uint64_t *out)
{
    *out = 0;
    if ((size_t)(w->end - w->at) < size)
        return false;
    memcpy(out, w->at, size);
    w->at += size;
    return true;
}

bool tfd_proto_wire_bytes(struct tfd_proto_wire *w, struct tfd_str *out)
{
    uint64_t size;

    if (!tfd_proto_wire_varint(w, &size) ||
        (uint32_t)size > (size_t)(w->end - w->at))
        return false;
    *out = (struct tfd_str){w->at, (uint32_t)size};
    w->at += (uint32_t)size;
    return true;
}

/* ---- Stepping over ------------------------------------------------------- */

/* A field that is no group. */
static bool skip_plain(struct tfd_proto_wire *w, uint32_t wire,
                       struct tfd_bytes *out)
{
    const size_t size = wire == TFD_PROTO_WIRE_FIXED64 ? 8 : 4;
    struct tfd_str bytes;
    uint64_t number;

    switch (wire) {
    case TFD_PROTO_WIRE_VARINT:
        if (!tfd_proto_wire_varint(w, &number))
            return false;
        if (out)
            tfd_pb_put_varint(out, number);
        return true;
    case TFD_PROTO_WIRE_FIXED64:
    case TFD_PROTO_WIRE_FIXED32:
        if (!tfd_proto_wire_fixed(w, size, &number))
            return false;
        if (out)
            tfd_bytes_add(out, &number, size);
        return true;
    case TFD_PROTO_WIRE_BYTES:
        if (!tfd_proto_wire_bytes(w, &bytes))
            return false;
        if (out)
            tfd_pb_put_varint(out, bytes.size);
        if (out)
            tfd_bytes_add_str(out, bytes);
        return true;
    default:
        return false;
    }
}

/* *last: where the last tag begins, if there was one more. */
static bool skip_field(struct tfd_proto_wire *w, uint32_t tag,
                       struct tfd_bytes *out, const char **last)
{
    uint32_t open[TFD_PROTO_DEPTH_MAX];
    int depth = 0;

    for (;; *last = w->at, tag = tfd_proto_wire_tag(w)) {
        uint32_t wire = tag & 7, number = tag >> 3;

        if (number == 0)
            return false;
        if (out)
            tfd_pb_put_varint(out, tag);
        if (wire == TFD_PROTO_WIRE_GROUP) {
            if (depth == TFD_PROTO_DEPTH_MAX)
                return false;
            open[depth++] = number;
        } else if (wire == TFD_PROTO_WIRE_GROUP_END) {
            if (depth == 0 || open[--depth] != number)
                return false;
        } else if (!skip_plain(w, wire, out)) {
            return false;
        }
        if (depth == 0)
            return true;
    }
}

bool tfd_proto_wire_skip(struct tfd_proto_wire *w, uint32_t tag,
                         struct tfd_bytes *out)
{
    const char *last;

    return skip_field(w, tag, out, &last);
}

bool tfd_proto_wire_group(struct tfd_proto_wire *w, uint32_t tag,
                          struct tfd_str *out)
{
    const char *begin = w->at, *last = begin;

    if (!skip_field(w, tag, NULL, &last))
        return false;
    *out = (struct tfd_str){begin, (size_t)(last - begin)};
    return true;
}
