/*
 * feature.c - see feature.h.
 */
#include "kernels/parse/feature.h"

#include <string.h>

/* ---- Counting ------------------------------------------------------------ */

/* Numbers in packed varints; -1 where the last has no end. */
static int64_t count_varints(struct tfd_str packed)
{
    int64_t count = 0;

    for (size_t i = 0; i < packed.size; i++)
        count += !(packed.data[i] & 0x80);
    if (packed.size && packed.data[packed.size - 1] & 0x80)
        return -1;
    return count;
}

static int64_t count_floats(struct tfd_str packed)
{
    return packed.size % sizeof(float) ? -1
                                       : (int64_t)(packed.size / sizeof(float));
}

/* Values of one field of a list; -1: it is none of this type. */
static int64_t count_field(enum tfd_dtype dtype, const struct tfd_pb_field *f)
{
    if (dtype == TFD_STRING)
        return f->wire == TFD_PB_BYTES ? 1 : -1;
    if (f->wire == TFD_PB_BYTES)
        return dtype == TFD_INT64 ? count_varints(f->bytes)
                                  : count_floats(f->bytes);
    return f->wire == (dtype == TFD_INT64 ? TFD_PB_VARINT : TFD_PB_FIXED32)
               ? 1
               : -1;
}

static int64_t count_values(const struct tfd_feature *feature)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(feature->list);
    struct tfd_pb_field f;
    int64_t count = 0;

    while (tfd_pb_next(&r, &f)) {
        int64_t more = f.tag == 1 ? count_field(feature->dtype, &f) : 0;

        if (more < 0)
            return -1;
        count += more;
    }
    return r.failed ? -1 : count;
}

enum tfd_code tfd_feature_read(struct tfd_str message, struct tfd_feature *out,
                               struct tfd_status *st)
{
    static const enum tfd_dtype types[] = {TFD_DTYPE_INVALID, TFD_STRING,
                                           TFD_FLOAT, TFD_INT64};
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field f;

    *out =
        (struct tfd_feature){.dtype = TFD_DTYPE_INVALID, .list = TFD_STR_EMPTY};
    if (message.size == 0)
        return TFD_OK;
    if (!tfd_pb_next(&r, &f) || f.wire != TFD_PB_BYTES || f.tag < 1 ||
        f.tag > 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Unsupported datatype.");
    out->dtype = types[f.tag];
    out->list = f.bytes;
    out->count = count_values(out);
    return TFD_OK;
}

/* ---- Copying ------------------------------------------------------------- */

static enum tfd_code copy_strings(const struct tfd_feature *feature,
                                  struct tfd_tstring *to, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(feature->list);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == 1)
            TFD_TRY(tfd_tstring_set(to++, f.bytes, st));
    return TFD_OK;
}

static void copy_floats(const struct tfd_feature *feature, char *to)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(feature->list);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        uint32_t bits = (uint32_t)f.number;

        if (f.tag != 1)
            continue;
        if (f.wire == TFD_PB_BYTES) {
            if (f.bytes.size)
                memcpy(to, f.bytes.data, f.bytes.size);
            to += f.bytes.size;
        } else {
            memcpy(to, &bits, sizeof(bits));
            to += sizeof(bits);
        }
    }
}

/* As many as were counted: a number ends where its bytes say so. */
static int64_t take_varint(struct tfd_str *packed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    bool more = true;

    while (more && packed->size > 0) {
        uint64_t byte = (uint8_t)*packed->data;

        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
        more = byte & 0x80;
        packed->data++;
        packed->size--;
    }
    return (int64_t)value;
}

static void copy_integers(const struct tfd_feature *feature, int64_t *to)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(feature->list);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag != 1)
            continue;
        if (f.wire == TFD_PB_VARINT)
            *to++ = (int64_t)f.number;
        while (f.wire == TFD_PB_BYTES && f.bytes.size > 0)
            *to++ = take_varint(&f.bytes);
    }
}

enum tfd_code tfd_feature_copy(const struct tfd_feature *f, void *to,
                               struct tfd_status *st)
{
    if (f->count <= 0)
        return TFD_OK;
    if (f->dtype == TFD_STRING)
        return copy_strings(f, to, st);
    if (f->dtype == TFD_FLOAT)
        copy_floats(f, to);
    else
        copy_integers(f, to);
    return TFD_OK;
}
