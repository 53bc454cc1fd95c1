/*
 * snappy.c - the room for the original is taken at once, so elements only check
 * that they stay within it.
 */
#include "kernels/checkpoint/snappy.h"

#include <string.h>

/* The densest element, a copy of 64 bytes, takes three; a size beyond this
 * ratio is a lie told to make us allocate. */
#define RATIO_MAX 32

struct decoder {
    const uint8_t *in, *in_end;
    char *out;
    size_t have, size;
};

static bool take_le(struct decoder *d, int count, uint32_t *value)
{
    if (d->in_end - d->in < count)
        return false;
    *value = 0;
    for (int i = 0; i < count; i++)
        *value |= (uint32_t)*d->in++ << (8 * i);
    return true;
}

static bool take_varint32(struct decoder *d, uint32_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 35 && d->in < d->in_end; shift += 7) {
        uint8_t byte = *d->in++;

        if (shift == 28 && byte > 15)
            return false;
        *value |= (uint32_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

static bool literal(struct decoder *d, uint32_t tag)
{
    uint32_t length = tag >> 2;

    if (length >= 60 && !take_le(d, (int)length - 59, &length))
        return false;
    if (length >= (size_t)(d->in_end - d->in) || length >= d->size - d->have)
        return false;
    memcpy(d->out + d->have, d->in, (size_t)length + 1);
    d->in += (size_t)length + 1;
    d->have += (size_t)length + 1;
    return true;
}

static bool copy_back(struct decoder *d, uint32_t tag)
{
    static const int offset_bytes[] = {0, 1, 2, 4};
    size_t length = (tag >> 2) + 1;
    uint32_t offset;

    if (!take_le(d, offset_bytes[tag & 3], &offset))
        return false;
    if ((tag & 3) == 1) {
        length = 4 + (tag >> 2 & 7);
        offset |= (tag >> 5) << 8;
    }
    if (offset == 0 || offset > d->have || length > d->size - d->have)
        return false;
    /* Byte by byte, because the source may run into the destination. */
    for (; length > 0; length--, d->have++)
        d->out[d->have] = d->out[d->have - offset];
    return true;
}

bool tfd_snappy_decode(struct tfd_str in, struct tfd_bytes *out)
{
    struct decoder d = {(const uint8_t *)in.data,
                        (const uint8_t *)in.data + in.size, NULL, 0, 0};
    uint32_t size;

    if (!take_varint32(&d, &size) || size / RATIO_MAX > in.size)
        return false;
    tfd_bytes_clear(out);
    d.out = tfd_bytes_extend(out, size);
    d.size = size;
    if (!d.out && size > 0)
        return false;
    while (d.in < d.in_end) {
        uint32_t tag = *d.in++;

        if (!((tag & 3) == 0 ? literal(&d, tag) : copy_back(&d, tag)))
            return false;
    }
    return d.have == d.size;
}
