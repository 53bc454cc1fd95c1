/*
 * checkpoint_proto.c - see checkpoint_proto.h for the fields.
 */
#include "kernels/checkpoint/checkpoint_proto.h"

#include "common/proto/bundle.pb.h"
#include "common/base/shape_long.h"
#include "common/proto/tensor_proto.h"

#define VERSION(field) tensorflow_VersionDef_##field##_tag
#define HEADER(field) tensorflow_BundleHeaderProto_##field##_tag
#define ENTRY(field) tensorflow_BundleEntryProto_##field##_tag

#define BIG_ENDIAN_MACHINE 1 /* BundleHeaderProto.Endianness */

/* ---- Shapes ---------------------------------------------------------------
 */

void tfd_checkpoint_put_shape(struct tfd_bytes *b, uint32_t tag,
                              const struct tfd_shape *shape)
{
    size_t mark = tfd_pb_begin(b, tag);

    tfd_tensor_proto_shape_encode(b, shape);
    tfd_pb_finish(b, mark);
}

enum tfd_code tfd_checkpoint_take_any_shape(struct tfd_str proto,
                                            struct tfd_shape *shape,
                                            struct tfd_status *st)
{
    int64_t dim[TFD_RANK_LONG_MAX];
    struct tfd_shape any;

    TFD_TRY(tfd_tensor_proto_shape_decode_any(proto, &any, st));
    if (any.rank == TFD_RANK_UNKNOWN)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "shape of unknown rank");
    tfd_shape_dims(&any, dim);
    return tfd_shape_make_any(shape, dim, any.rank, st);
}

enum tfd_code tfd_checkpoint_take_shape(struct tfd_str proto,
                                        struct tfd_shape *shape,
                                        struct tfd_status *st)
{
    struct tfd_shape any;

    TFD_TRY(tfd_checkpoint_take_any_shape(proto, &any, st));
    if (tfd_shape_is_long(&any))
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "slices of a tensor of %d dimensions; at most %d are "
                        "supported",
                        any.rank, TFD_RANK_MAX);
    *shape = any;
    return TFD_OK;
}

/* ---- Versions -------------------------------------------------------------
 */

void tfd_checkpoint_put_version(struct tfd_bytes *b, uint32_t tag)
{
    size_t mark = tfd_pb_begin(b, tag);

    tfd_pb_put_int(b, VERSION(producer), TFD_CHECKPOINT_VERSION);
    tfd_pb_finish(b, mark);
}

static enum tfd_code check_bad_consumer(int64_t version, struct tfd_status *st)
{
    if (version != TFD_CHECKPOINT_VERSION)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Checkpoint disallows consumer version %d.  Please "
                    "upgrade TensorFlow: this version is likely buggy.",
                    TFD_CHECKPOINT_VERSION);
}

enum tfd_code tfd_checkpoint_check_version(struct tfd_str proto,
                                           struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;
    uint64_t bad;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == VERSION(min_consumer) &&
            tfd_pb_int32(&r, &f) > TFD_CHECKPOINT_VERSION)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Checkpoint min consumer version %d above current "
                            "version %d for TensorFlow 2.21.0.  Please upgrade "
                            "TensorFlow.",
                            tfd_pb_int32(&r, &f), TFD_CHECKPOINT_VERSION);
        if (f.tag != VERSION(bad_consumers))
            continue;
        if (f.wire == TFD_PB_VARINT)
            TFD_TRY(check_bad_consumer(tfd_pb_int32(&r, &f), st));
        while (f.wire == TFD_PB_BYTES && tfd_pb_packed_varint(&f.bytes, &bad))
            TFD_TRY(check_bad_consumer((int32_t)(uint32_t)bad, st));
    }
    return tfd_pb_end(&r, "VersionDef", st);
}

/* ---- Header and entries of a bundle ---------------------------------------
 */

void tfd_bundle_header_put(struct tfd_bytes *b, int32_t num_shards)
{
    tfd_pb_put_int(b, HEADER(num_shards), num_shards);
    tfd_checkpoint_put_version(b, HEADER(version));
}

enum tfd_code tfd_bundle_header_take(struct tfd_str proto,
                                     struct tfd_bundle_header *h,
                                     struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    *h = (struct tfd_bundle_header){.version = TFD_STR_EMPTY};
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == HEADER(num_shards))
            h->num_shards = tfd_pb_int32(&r, &f);
        else if (f.tag == HEADER(endianness))
            h->big_endian = tfd_pb_int32(&r, &f) == BIG_ENDIAN_MACHINE;
        else if (f.tag == HEADER(version))
            h->version = tfd_pb_str(&r, &f);
    }
    return tfd_pb_end(&r, "BundleHeaderProto", st);
}

void tfd_bundle_entry_put(struct tfd_bytes *b, const struct tfd_bundle_entry *e)
{
    tfd_pb_put_int(b, ENTRY(dtype), e->dtype);
    tfd_checkpoint_put_shape(b, ENTRY(shape), &e->shape);
    tfd_pb_put_int(b, ENTRY(shard_id), e->shard_id);
    tfd_pb_put_int(b, ENTRY(offset), (int64_t)e->offset);
    tfd_pb_put_int(b, ENTRY(size), (int64_t)e->size);
    tfd_pb_put_fixed32(b, ENTRY(crc32c), e->crc32c);
    tfd_bytes_add_str(b, e->slices);
}

void tfd_bundle_entry_slices_put(struct tfd_bytes *slices, struct tfd_str proto)
{
    tfd_pb_put_str_always(slices, ENTRY(slices), proto);
}

bool tfd_bundle_entry_slices_next(struct tfd_str *slices, struct tfd_str *proto)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(*slices);
    struct tfd_pb_field f;

    if (!tfd_pb_next(&r, &f))
        return false;
    *slices = r.rest;
    *proto = f.bytes;
    return true;
}

/* Numbers as they are on the wire, before they are believed. */
struct raw_entry {
    int64_t dtype, shard_id, offset, size;
    struct tfd_str shape;
};

static void take_field(struct tfd_pb_reader *r, const struct tfd_pb_field *f,
                       struct raw_entry *raw, struct tfd_bundle_entry *e,
                       struct tfd_bytes *slices)
{
    switch (f->tag) {
    case ENTRY(dtype):
        raw->dtype = tfd_pb_int32(r, f);
        break;
    case ENTRY(shape):
        raw->shape = tfd_pb_str(r, f);
        break;
    case ENTRY(shard_id):
        raw->shard_id = tfd_pb_int32(r, f);
        break;
    case ENTRY(offset):
        raw->offset = tfd_pb_int64(r, f);
        break;
    case ENTRY(size):
        raw->size = tfd_pb_int64(r, f);
        break;
    case ENTRY(crc32c):
        r->failed |= f->wire != TFD_PB_FIXED32;
        e->crc32c = (uint32_t)f->number;
        break;
    case ENTRY(slices):
        if (slices)
            tfd_bundle_entry_slices_put(slices, tfd_pb_str(r, f));
        break;
    default: /* of a newer version */
        break;
    }
}

enum tfd_code tfd_bundle_entry_take(struct tfd_str proto,
                                    struct tfd_bundle_entry *e,
                                    struct tfd_bytes *slices,
                                    struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct raw_entry raw = {.shape = TFD_STR_EMPTY};
    struct tfd_pb_field f;

    *e = (struct tfd_bundle_entry){.slices = TFD_STR_EMPTY};
    if (slices)
        tfd_bytes_clear(slices);
    while (tfd_pb_next(&r, &f))
        take_field(&r, &f, &raw, e, slices);
    TFD_TRY(tfd_pb_end(&r, "BundleEntryProto", st));
    if (raw.dtype > INT32_MAX || !tfd_dtype_valid((int)raw.dtype))
        return tfd_fail(st, TFD_DATA_LOSS, "unknown type %lld",
                        (long long)raw.dtype);
    if (raw.shard_id < 0 || raw.offset < 0 || raw.size < 0)
        return tfd_fail(st, TFD_DATA_LOSS, "shard %lld, offset %lld, size %lld",
                        (long long)raw.shard_id, (long long)raw.offset,
                        (long long)raw.size);
    TFD_TRY(tfd_checkpoint_take_any_shape(raw.shape, &e->shape, st));
    e->dtype = (enum tfd_dtype)raw.dtype;
    e->shard_id = (int32_t)raw.shard_id;
    e->offset = (uint64_t)raw.offset;
    e->size = (uint64_t)raw.size;
    if (slices) {
        TFD_TRY(tfd_bytes_ok(slices, "slices of a tensor", st));
        e->slices = tfd_bytes_view(slices);
    }
    return TFD_OK;
}
