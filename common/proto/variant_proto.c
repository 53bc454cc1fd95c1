/*
 * variant_proto.c - variants as TensorFlow sends them.
 *
 * A list: its elements in order without the empty slots; in `metadata`, as
 * varints, how many those are and which, the element type, the maximum, then
 * the element shape's message.  An optional: one byte and its tensors.  One
 * tensor: itself.  A map: keys and values in turn.  A ragged one: splits, then
 * values.  A compressed element: its message in `metadata`.  A composite: its
 * message there, and its components.  A sparse matrix: there a byte, padding to
 * four and the type of its values, as TensorFlow's struct lies in memory; and
 * its five tensors.
 */
#include "common/proto/tensor.pb.h"
#include "common/base/shape_long.h"
#include "common/base/variant.h"
#include "config/limits.h"

#include <assert.h>

#define TAG(name) tensorflow_VariantTensorDataProto_##name##_tag
#define LIST_NAME "tensorflow::TensorList"
#define MAP_NAME "tensorflow::TensorMap"
#define OPTIONAL_NAME "tensorflow::data::Optional"
#define TENSOR_NAME "tensorflow::Tensor"
#define RAGGED_NAME "RaggedTensorVariant"
#define COMPOSITE_NAME "CompositeTensorVariant"
#define CSR_NAME "tensorflow::CSRSparseMatrix"
#define COMPRESSED_NAME "tensorflow.data.CompressedElement"
/* TensorFlow sends no more of a dataset than this. */
#define DATASET_NAME "tensorflow::DatasetVariantWrapper"

/* ---- Out ----------------------------------------------------------------- */

static void put_list_metadata(struct tfd_bytes *b, const struct tfd_variant *v)
{
    uint64_t empty = 0;

    for (int32_t i = 0; i < v->count; i++)
        empty += v->tensors[i].dtype == TFD_DTYPE_INVALID;
    tfd_pb_put_varint(b, empty);
    for (int32_t i = 0; i < v->count; i++)
        if (v->tensors[i].dtype == TFD_DTYPE_INVALID)
            tfd_pb_put_varint(b, (uint64_t)i);
    tfd_pb_put_varint(b, (uint64_t)v->dtype);
    tfd_pb_put_varint(b, (uint64_t)(int64_t)v->max_elements);
    tfd_tensor_proto_shape_encode(b, &v->element_shape);
}

static void put_metadata(struct tfd_bytes *b, const struct tfd_variant *v)
{
    if (v->kind == TFD_VARIANT_LIST)
        put_list_metadata(b, v);
    else
        tfd_bytes_add(b, v->has_value ? "\1" : "\0", 1);
}

/* The first tensor, which is no tensor of the message. */
static void put_message(struct tfd_bytes *b, const struct tfd_variant *v)
{
    const struct tfd_tstring *text = tfd_tensor_data(&v->tensors[0]);

    assert(v->count >= 1 && v->tensors[0].dtype == TFD_STRING);
    tfd_pb_put_str_always(b, TAG(metadata), tfd_tstring_view(text));
}

static void put_csr_metadata(struct tfd_bytes *b, const struct tfd_variant *v)
{
    const int32_t parts[2] = {1, (int32_t)v->tensors[v->count - 1].dtype};

    tfd_pb_put_str_always(b, TAG(metadata),
                          (struct tfd_str){(const char *)parts, sizeof(parts)});
}

void tfd_variant_encode(struct tfd_bytes *b, const struct tfd_variant *v,
                        tfd_handle_encode_fn *handle)
{
    static const char *const names[] = {
        [TFD_VARIANT_LIST] = LIST_NAME,
        [TFD_VARIANT_OPTIONAL] = OPTIONAL_NAME,
        [TFD_VARIANT_MAP] = MAP_NAME,
        [TFD_VARIANT_TENSOR] = TENSOR_NAME,
        [TFD_VARIANT_RAGGED] = RAGGED_NAME,
        [TFD_VARIANT_COMPRESSED] = COMPRESSED_NAME,
        [TFD_VARIANT_COMPOSITE] = COMPOSITE_NAME,
        [TFD_VARIANT_CSR] = CSR_NAME,
    };
    bool message =
        v->kind == TFD_VARIANT_COMPRESSED || v->kind == TFD_VARIANT_COMPOSITE;
    size_t mark;

    if (v->kind == TFD_VARIANT_OBJECT) {
        tfd_bytes_refuse(b, v->object ? v->object->type->name : "a variant");
        return;
    }
    tfd_pb_put_str(b, TAG(type_name), tfd_str_of(names[v->kind]));
    if (message)
        put_message(b, v);
    if (v->kind == TFD_VARIANT_CSR)
        put_csr_metadata(b, v);
    if (v->kind == TFD_VARIANT_LIST || v->kind == TFD_VARIANT_OPTIONAL) {
        mark = tfd_pb_begin(b, TAG(metadata));
        put_metadata(b, v);
        tfd_pb_finish(b, mark);
    }
    for (int32_t i = message ? 1 : 0; i < v->count; i++) {
        if (v->tensors[i].dtype == TFD_DTYPE_INVALID)
            continue;
        if (v->tensors[i].dtype == TFD_VARIANT)
            tfd_bytes_refuse(b, "a variant within a variant");
        mark = tfd_pb_begin(b, TAG(tensors));
        tfd_tensor_proto_encode(b, &v->tensors[i], handle);
        tfd_pb_finish(b, mark);
    }
}

/* ---- In ------------------------------------------------------------------ */

static enum tfd_code damaged(struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "a VariantTensorDataProto that is damaged");
}

static enum tfd_code add_tensor(struct tfd_variant *v, struct tfd_str proto,
                                tfd_handle_decode_fn *handle,
                                struct tfd_status *st)
{
    struct tfd_tensor t = TFD_TENSOR_INIT;
    struct tfd_tensor_head head;

    TFD_TRY(tfd_tensor_proto_head(proto, &head, st));
    if (head.dtype == TFD_VARIANT)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "A variant within a variant cannot be sent");
    if (tfd_shape_is_long(&head.shape))
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "A tensor of %d dimensions within a variant; at most "
                        "%d are supported",
                        head.shape.rank, TFD_RANK_MAX);
    TFD_TRY(tfd_tensor_proto_decode(&head, handle, &t, st));
    return tfd_variant_set(v, v->count, &t, st);
}

static void swap_tensors(struct tfd_variant *a, struct tfd_variant *b)
{
    struct tfd_variant own = *a;

    a->tensors = b->tensors;
    a->count = b->count;
    a->capacity = b->capacity;
    a->used = b->used;
    b->tensors = own.tensors;
    b->count = own.count;
    b->capacity = own.capacity;
    b->used = own.used;
}

/* Makes room for the empty slots: their numbers rise. */
static enum tfd_code spread_tensors(struct tfd_variant *v,
                                    struct tfd_str *metadata, uint64_t empty,
                                    struct tfd_status *st)
{
    int64_t full = v->count, total = full + (int64_t)empty, from = 0;
    struct tfd_variant *wide = tfd_variant_new(v->kind, st);
    enum tfd_code rc;

    if (!wide)
        return TFD_RESOURCE_EXHAUSTED;
    rc = tfd_variant_resize(wide, total, st);
    for (int64_t i = 0, next = -1; rc == TFD_OK && i < total; i++) {
        uint64_t at;

        if (empty && next < i) {
            if (!tfd_pb_packed_varint(metadata, &at) || at < (uint64_t)i ||
                at >= (uint64_t)total)
                rc = damaged(st);
            next = (int64_t)at;
            empty--;
        }
        if (rc != TFD_OK || i == next)
            continue;
        if (from == full)
            rc = damaged(st);
        else
            rc = tfd_variant_set(wide, (int32_t)i, &v->tensors[from++], st);
    }
    if (rc == TFD_OK)
        swap_tensors(v, wide);
    tfd_variant_unref(wide);
    return rc;
}

static enum tfd_code read_list(struct tfd_variant *v, struct tfd_str metadata,
                               struct tfd_status *st)
{
    uint64_t empty, dtype, max;

    if (!tfd_pb_packed_varint(&metadata, &empty) ||
        empty > metadata.size) /* each takes a byte at least */
        return damaged(st);
    TFD_TRY(spread_tensors(v, &metadata, empty, st));
    if (!tfd_pb_packed_varint(&metadata, &dtype) || dtype >= TFD_DTYPE_END ||
        !tfd_dtype_valid((int)dtype) || !tfd_pb_packed_varint(&metadata, &max))
        return damaged(st);
    v->dtype = (enum tfd_dtype)dtype;
    v->max_elements = (int64_t)max < 0 ? -1 : (int32_t)(max & INT32_MAX);
    TFD_TRY(tfd_tensor_proto_shape_decode(metadata, &v->element_shape, st));
    for (int32_t i = 0; i < v->count; i++)
        if (v->tensors[i].dtype != TFD_DTYPE_INVALID &&
            v->tensors[i].dtype != v->dtype)
            return damaged(st);
    return TFD_OK;
}

/* The keys and values that were read, in turn, become a map. */
static enum tfd_code read_map(struct tfd_variant *v, struct tfd_status *st)
{
    struct tfd_variant *map = tfd_variant_new(TFD_VARIANT_MAP, st);
    enum tfd_code rc = TFD_OK;

    if (!map)
        return TFD_RESOURCE_EXHAUSTED;
    if (v->count % 2 != 0)
        rc = damaged(st);
    for (int32_t i = 0; rc == TFD_OK && i < v->count; i += 2)
        rc = tfd_variant_map_put(map, &v->tensors[i], &v->tensors[i + 1], st);
    if (rc == TFD_OK) {
        rc = tfd_variant_resize(v, 0, st);
        v->kind = TFD_VARIANT_MAP;
        swap_tensors(v, map);
        v->pairs = map->pairs;
    }
    tfd_variant_unref(map);
    return rc;
}

/* The message as the first tensor, before those there are.  What it says is
 * looked at by who uses it. */
static enum tfd_code read_message(struct tfd_variant *v, struct tfd_str message,
                                  struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_tensor t = TFD_TENSOR_INIT;
    enum tfd_code rc;

    TFD_TRY(tfd_tensor_new(&t, TFD_STRING, &scalar, st));
    rc = tfd_tstring_set(tfd_tensor_data(&t), message, st);
    if (rc == TFD_OK)
        rc = tfd_variant_set(v, v->count, &t, st);
    tfd_tensor_unref(&t);
    for (int32_t i = v->count - 1; rc == TFD_OK && i > 0; i--) {
        struct tfd_tensor last = v->tensors[i];

        v->tensors[i] = v->tensors[i - 1];
        v->tensors[i - 1] = last;
    }
    return rc;
}

static enum tfd_code read_compressed(struct tfd_variant *v,
                                     struct tfd_str message,
                                     struct tfd_status *st)
{
    if (v->count > 0)
        return damaged(st);
    v->kind = TFD_VARIANT_COMPRESSED;
    return read_message(v, message, st);
}

static enum tfd_code read_composite(struct tfd_variant *v,
                                    struct tfd_str message,
                                    struct tfd_status *st)
{
    v->kind = TFD_VARIANT_COMPOSITE;
    return read_message(v, message, st);
}

static enum tfd_code read(struct tfd_variant *v, struct tfd_str proto,
                          tfd_handle_decode_fn *handle, struct tfd_status *st)
{
    struct tfd_str name = TFD_STR_EMPTY, metadata = TFD_STR_EMPTY;
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == TAG(type_name))
            name = tfd_pb_str(&r, &f);
        else if (f.tag == TAG(metadata))
            metadata = tfd_pb_str(&r, &f);
        else if (f.tag == TAG(tensors))
            TFD_TRY(add_tensor(v, tfd_pb_str(&r, &f), handle, st));
    }
    TFD_TRY(tfd_pb_end(&r, "VariantTensorDataProto", st));
    if (tfd_str_is(name, LIST_NAME))
        return read_list(v, metadata, st);
    if (tfd_str_is(name, MAP_NAME))
        return read_map(v, st);
    if (tfd_str_is(name, TENSOR_NAME)) {
        v->kind = TFD_VARIANT_TENSOR;
        return v->count == 1 ? TFD_OK : damaged(st);
    }
    if (tfd_str_is(name, RAGGED_NAME)) {
        v->kind = TFD_VARIANT_RAGGED;
        return v->count >= 1 ? TFD_OK : damaged(st);
    }
    if (tfd_str_is(name, CSR_NAME)) { /* its kernels check what it holds */
        v->kind = TFD_VARIANT_CSR;
        return v->count == 5 ? TFD_OK : damaged(st);
    }
    if (tfd_str_is(name, COMPOSITE_NAME))
        return read_composite(v, metadata, st);
    if (tfd_str_is(name, COMPRESSED_NAME))
        return read_compressed(v, metadata, st);
    if (tfd_str_is(name, DATASET_NAME))
        return tfd_fail(st, TFD_INTERNAL, "A dataset does not leave its task");
    if (!tfd_str_is(name, OPTIONAL_NAME))
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "A variant of type '" TFD_STR_FMT
                        "' cannot be read here",
                        TFD_STR_ARG(name));
    v->kind = TFD_VARIANT_OPTIONAL;
    v->has_value = metadata.size > 0 && metadata.data[0] != 0;
    return TFD_OK;
}

enum tfd_code tfd_variant_decode(struct tfd_str proto,
                                 tfd_handle_decode_fn *handle,
                                 struct tfd_variant **out,
                                 struct tfd_status *st)
{
    struct tfd_variant *v = tfd_variant_new(TFD_VARIANT_LIST, st);
    enum tfd_code rc;

    if (!v)
        return TFD_RESOURCE_EXHAUSTED;
    rc = read(v, proto, handle, st);
    if (rc == TFD_OK)
        *out = v;
    else
        tfd_variant_unref(v);
    return rc;
}
