/*
 * pbio.c - see pbio.h.
 *
 * Tags, lengths and most numbers are one byte on the wire; those are handled
 * here, all others by nanopb.  Groups, which no message of TensorFlow has,
 * are damage: skipping one would take a stack of open groups.
 */
#include "common/base/pbio.h"

#include <assert.h>
#include <pb_decode.h>
#include <pb_encode.h>
#include <string.h>

#define VARINT_SIZE_MAX 10 /* 64 bits, 7 in a byte */

/* ---- Reading ------------------------------------------------------------- */

struct tfd_pb_reader tfd_pb_reader_of(struct tfd_str message)
{
    return (struct tfd_pb_reader){message, false};
}

static void advance(struct tfd_str *rest, size_t size)
{
    assert(size <= rest->size);
    rest->data += size;
    rest->size -= size;
}

static pb_istream_t stream_of(struct tfd_str rest)
{
    return pb_istream_from_buffer((const pb_byte_t *)rest.data, rest.size);
}

/* *rest is unchanged when the number is cut or longer than 64 bits. */
static bool take_varint(struct tfd_str *rest, uint64_t *value)
{
    pb_istream_t in;

    if (rest->size && !(rest->data[0] & 0x80)) {
        *value = (uint8_t)rest->data[0];
        advance(rest, 1);
        return true;
    }
    in = stream_of(*rest);
    if (!pb_decode_varint(&in, value))
        return false;
    advance(rest, rest->size - in.bytes_left);
    return true;
}

static bool take_fixed64(struct tfd_str *rest, uint64_t *value)
{
    pb_istream_t in = stream_of(*rest);

    if (!pb_decode_fixed64(&in, value))
        return false;
    advance(rest, sizeof(*value));
    return true;
}

static bool take_fixed32(struct tfd_str *rest, uint64_t *value)
{
    pb_istream_t in = stream_of(*rest);
    uint32_t bits;

    if (!pb_decode_fixed32(&in, &bits))
        return false;
    advance(rest, sizeof(bits));
    *value = bits;
    return true;
}

static bool take_bytes(struct tfd_str *rest, struct tfd_str *bytes)
{
    uint64_t size;

    if (!take_varint(rest, &size) || size > rest->size)
        return false;
    *bytes = (struct tfd_str){rest->data, (size_t)size};
    advance(rest, (size_t)size);
    return true;
}

static bool take_value(struct tfd_str *rest, uint64_t wire,
                       struct tfd_pb_field *f)
{
    switch (wire) {
    case TFD_PB_VARINT:
        return take_varint(rest, &f->number);
    case TFD_PB_FIXED64:
        return take_fixed64(rest, &f->number);
    case TFD_PB_BYTES:
        return take_bytes(rest, &f->bytes);
    case TFD_PB_FIXED32:
        return take_fixed32(rest, &f->number);
    default:
        return false;
    }
}

bool tfd_pb_next(struct tfd_pb_reader *r, struct tfd_pb_field *f)
{
    uint64_t head;

    *f = (struct tfd_pb_field){.bytes = TFD_STR_EMPTY};
    if (r->failed || !r->rest.size)
        return false;
    /* Field numbers have 29 bits and begin at 1. */
    if (!take_varint(&r->rest, &head) || head > UINT32_MAX || head >> 3 == 0 ||
        !take_value(&r->rest, head & 7, f)) {
        r->failed = true;
        return false;
    }
    f->tag = (uint32_t)(head >> 3);
    f->wire = (enum tfd_pb_wire)(head & 7);
    return true;
}

enum tfd_code tfd_pb_end(const struct tfd_pb_reader *r, const char *what,
                         struct tfd_status *st)
{
    if (!r->failed)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Unable to parse %s", what);
}

/* ---- Typed access -------------------------------------------------------- */

static uint64_t read_number(struct tfd_pb_reader *r,
                            const struct tfd_pb_field *f, enum tfd_pb_wire wire)
{
    if (f->wire == wire)
        return f->number;
    r->failed = true;
    return 0;
}

int64_t tfd_pb_int64(struct tfd_pb_reader *r, const struct tfd_pb_field *f)
{
    return (int64_t)read_number(r, f, TFD_PB_VARINT);
}

/* The low 32 bits: a negative number has ten bytes on the wire. */
int32_t tfd_pb_int32(struct tfd_pb_reader *r, const struct tfd_pb_field *f)
{
    return (int32_t)(uint32_t)read_number(r, f, TFD_PB_VARINT);
}

bool tfd_pb_bool(struct tfd_pb_reader *r, const struct tfd_pb_field *f)
{
    return read_number(r, f, TFD_PB_VARINT) != 0;
}

float tfd_pb_float(struct tfd_pb_reader *r, const struct tfd_pb_field *f)
{
    uint32_t bits = (uint32_t)read_number(r, f, TFD_PB_FIXED32);
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

double tfd_pb_double(struct tfd_pb_reader *r, const struct tfd_pb_field *f)
{
    uint64_t bits = read_number(r, f, TFD_PB_FIXED64);
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

struct tfd_str tfd_pb_str(struct tfd_pb_reader *r, const struct tfd_pb_field *f)
{
    if (f->wire == TFD_PB_BYTES)
        return f->bytes;
    r->failed = true;
    return TFD_STR_EMPTY;
}

bool tfd_pb_packed_varint(struct tfd_str *packed, uint64_t *value)
{
    return packed->size && take_varint(packed, value);
}

bool tfd_pb_map_entry(struct tfd_str entry, struct tfd_pb_entry *out)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(entry);
    struct tfd_pb_field f;

    *out = (struct tfd_pb_entry){.key = TFD_STR_EMPTY, .value = TFD_STR_EMPTY};
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == 1) {
            if (f.wire != TFD_PB_BYTES && f.wire != TFD_PB_VARINT)
                return false;
            out->key = f.bytes;
            out->key_number = f.number;
        } else if (f.tag == 2) {
            out->value = f.bytes;
            out->number = f.number;
        }
    }
    return !r.failed;
}

/* ---- Writing ------------------------------------------------------------- */

static size_t encode_varint(uint64_t value, pb_byte_t *to)
{
    pb_ostream_t out = pb_ostream_from_buffer(to, VARINT_SIZE_MAX);
    bool ok;

    if (value < 0x80) {
        to[0] = (pb_byte_t)value;
        return 1;
    }
    ok = pb_encode_varint(&out, value);
    assert(ok);
    (void)ok;
    return out.bytes_written;
}

void tfd_pb_put_varint(struct tfd_bytes *b, uint64_t value)
{
    pb_byte_t wire[VARINT_SIZE_MAX];

    tfd_bytes_add(b, wire, encode_varint(value, wire));
}

static void put_tag(struct tfd_bytes *b, uint32_t tag, enum tfd_pb_wire wire)
{
    assert(tag > 0 && tag <= UINT32_MAX >> 3);
    tfd_pb_put_varint(b, (uint64_t)tag << 3 | (uint64_t)wire);
}

void tfd_pb_put_int_always(struct tfd_bytes *b, uint32_t tag, int64_t value)
{
    put_tag(b, tag, TFD_PB_VARINT);
    tfd_pb_put_varint(b, (uint64_t)value);
}

void tfd_pb_put_int(struct tfd_bytes *b, uint32_t tag, int64_t value)
{
    if (value)
        tfd_pb_put_int_always(b, tag, value);
}

void tfd_pb_put_bool(struct tfd_bytes *b, uint32_t tag, bool value)
{
    tfd_pb_put_int(b, tag, value);
}

static void put_little_endian(struct tfd_bytes *b, uint64_t value, int size)
{
    char *at = tfd_bytes_extend(b, (size_t)size);

    for (int i = 0; at && i < size; i++)
        at[i] = (char)(uint8_t)(value >> (8 * i));
}

void tfd_pb_put_fixed64(struct tfd_bytes *b, uint32_t tag, uint64_t value)
{
    if (!value)
        return;
    put_tag(b, tag, TFD_PB_FIXED64);
    put_little_endian(b, value, 8);
}

void tfd_pb_put_fixed32(struct tfd_bytes *b, uint32_t tag, uint32_t value)
{
    if (!value)
        return;
    put_tag(b, tag, TFD_PB_FIXED32);
    put_little_endian(b, value, 4);
}

/* By the bits, not the value: minus zero is written. */
void tfd_pb_put_float(struct tfd_bytes *b, uint32_t tag, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    tfd_pb_put_fixed32(b, tag, bits);
}

void tfd_pb_put_double(struct tfd_bytes *b, uint32_t tag, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    tfd_pb_put_fixed64(b, tag, bits);
}

void tfd_pb_put_head(struct tfd_bytes *b, uint32_t tag, uint64_t size)
{
    put_tag(b, tag, TFD_PB_BYTES);
    tfd_pb_put_varint(b, size);
}

void tfd_pb_put_str_always(struct tfd_bytes *b, uint32_t tag,
                           struct tfd_str value)
{
    tfd_pb_put_head(b, tag, value.size);
    tfd_bytes_add_str(b, value);
}

void tfd_pb_put_str(struct tfd_bytes *b, uint32_t tag, struct tfd_str value)
{
    if (value.size)
        tfd_pb_put_str_always(b, tag, value);
}

/* As many bytes are kept for the size as one of `likely` takes.  A message of
 * which that is not so is moved: a copy, but the bytes are those that every
 * other encoder writes. */
size_t tfd_pb_begin_large(struct tfd_bytes *b, uint32_t tag, size_t likely)
{
    tfd_pb_put_head(b, tag, likely);
    return b->size;
}

void tfd_pb_finish_large(struct tfd_bytes *b, size_t mark, size_t likely)
{
    pb_byte_t wire[VARINT_SIZE_MAX];
    const size_t kept = encode_varint(likely, wire);
    size_t size, taken;

    if (b->failed)
        return;
    assert(mark >= kept && mark <= b->size);
    size = b->size - mark;
    taken = encode_varint(size, wire);
    if (taken > kept && !tfd_bytes_extend(b, taken - kept))
        return;
    if (taken != kept)
        memmove(b->data + mark - kept + taken, b->data + mark, size);
    memcpy(b->data + mark - kept, wire, taken);
    b->size = mark - kept + taken + size;
}

size_t tfd_pb_begin(struct tfd_bytes *b, uint32_t tag)
{
    return tfd_pb_begin_large(b, tag, 0);
}

void tfd_pb_finish(struct tfd_bytes *b, size_t mark)
{
    tfd_pb_finish_large(b, mark, 0);
}
