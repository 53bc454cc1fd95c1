/*
 * tensor_place.c - follows the field that reaches past the bytes at hand, from
 * message to sub-message, until it is a TensorProto's tensor_content.
 *
 * Which message type it is need not be known: what contains a tensor is another
 * message (NamedTensorProto, RunStepRequest, RecvTensorResponse, ...), and a
 * TensorProto shows itself by beginning with its dtype (field 1, a varint) and
 * having the long field as number 4.
 */
#include "rpc/core/tensor_place.h"

#include <assert.h>

/* Below this a copy costs less than finding out. */
#define LARGE 4096

#define DTYPE_KEY 0x08   /* TensorProto.dtype = 1, varint */
#define CONTENT_KEY 0x22 /* TensorProto.tensor_content = 4, bytes */
#define BYTES_WIRE 2

/* RunStepRequest.feed.tensor is the deepest in use: three levels. */
#define DEPTH_MAX 8

struct cursor {
    const uint8_t *data;
    size_t size;
    size_t at;
};

static bool read_varint(struct cursor *c, uint64_t *out)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && c->at < c->size; shift += 7) {
        uint8_t byte = c->data[c->at++];

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return false;
}

/* Steps over one field that is wholly there.  True with *inside set when it is
 * one that goes past the bytes at hand: the cursor is at its content. */
static bool step(struct cursor *c, uint64_t *key, bool *inside)
{
    static const size_t fixed[8] = {[1] = 8, [5] = 4};
    uint64_t length = 0;
    unsigned wire;

    *inside = false;
    if (!read_varint(c, key))
        return false;
    wire = *key & 7;
    if (wire == 0)
        return read_varint(c, &length);
    if (wire == BYTES_WIRE) {
        if (!read_varint(c, &length))
            return false;
        *inside = length > c->size - c->at;
        if (*inside)
            return true;
    } else if (fixed[wire] == 0) {
        return false;
    } else {
        length = fixed[wire];
    }
    if (length > c->size - c->at)
        return false;
    c->at += (size_t)length;
    return true;
}

size_t tfd_tensor_place(struct tfd_str begin, uint64_t size, size_t align)
{
    struct cursor c = {(const uint8_t *)begin.data, begin.size, 0};
    size_t level_start = 0;
    uint64_t key;
    bool inside;

    assert(align > 0 && (align & (align - 1)) == 0);
    if (size < LARGE)
        return 0;
    for (int depth = 0; depth < DEPTH_MAX && step(&c, &key, &inside);) {
        if (!inside)
            continue;
        if (key == CONTENT_KEY && c.data[level_start] == DTYPE_KEY)
            return (align - (c.at & (align - 1))) & (align - 1);
        level_start = c.at;
        depth++;
    }
    return 0;
}
