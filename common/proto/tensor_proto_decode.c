/*
 * tensor_proto_decode.c - the elements of a TensorProto.
 *
 * They come as tensor_content, a copy of memory, or in the field that the type
 * has in the table below, packed or not.  Fields are walked twice: to count,
 * which is checked before there is a tensor, and to store.  Numbers are stored
 * by their low bytes, which is right for every type on a little-endian host;
 * tfd runs on no other.
 */
#include "common/proto/tensor_proto.h"

#include "common/proto/tensor.pb.h"
#include "common/base/variant.h"

#include <assert.h>
#include <string.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "tensor_content is little-endian");

/* A repeated string of one small message may need this much memory. */
#define REPEATED_SIZE_MAX ((size_t)2 << 30)

#define TAG(name) tensorflow_TensorProto_##name##_tag

/* Which field holds the elements of a type. */
static const struct values {
    uint32_t tag;
    enum tfd_pb_wire wire;
    int parts; /* numbers in one element */
} values[TFD_DTYPE_END] = {
    [TFD_FLOAT] = {TAG(float_val), TFD_PB_FIXED32, 1},
    [TFD_DOUBLE] = {TAG(double_val), TFD_PB_FIXED64, 1},
    [TFD_INT32] = {TAG(int_val), TFD_PB_VARINT, 1},
    [TFD_UINT8] = {TAG(int_val), TFD_PB_VARINT, 1},
    [TFD_INT16] = {TAG(int_val), TFD_PB_VARINT, 1},
    [TFD_INT8] = {TAG(int_val), TFD_PB_VARINT, 1},
    [TFD_UINT16] = {TAG(int_val), TFD_PB_VARINT, 1},
    [TFD_QINT8] = {TAG(int_val), TFD_PB_VARINT, 1},
    [TFD_QUINT8] = {TAG(int_val), TFD_PB_VARINT, 1},
    [TFD_QINT16] = {TAG(int_val), TFD_PB_VARINT, 1},
    [TFD_QUINT16] = {TAG(int_val), TFD_PB_VARINT, 1},
    [TFD_QINT32] = {TAG(int_val), TFD_PB_VARINT, 1},
    [TFD_INT64] = {TAG(int64_val), TFD_PB_VARINT, 1},
    [TFD_BOOL] = {TAG(bool_val), TFD_PB_VARINT, 1},
    [TFD_HALF] = {TAG(half_val), TFD_PB_VARINT, 1},
    [TFD_BFLOAT16] = {TAG(half_val), TFD_PB_VARINT, 1},
    [TFD_UINT32] = {TAG(uint32_val), TFD_PB_VARINT, 1},
    [TFD_UINT64] = {TAG(uint64_val), TFD_PB_VARINT, 1},
    [TFD_COMPLEX64] = {TAG(scomplex_val), TFD_PB_FIXED32, 2},
    [TFD_COMPLEX128] = {TAG(dcomplex_val), TFD_PB_FIXED64, 2},
    [TFD_STRING] = {TAG(string_val), TFD_PB_BYTES, 1},
    [TFD_RESOURCE] = {TAG(resource_handle_val), TFD_PB_BYTES, 1},
    [TFD_VARIANT] = {TAG(variant_val), TFD_PB_BYTES, 1},
};

/* ---- Walking over the values --------------------------------------------- */

struct walk {
    struct tfd_pb_reader reader;
    struct tfd_str packed; /* what is left of the current field */
    const struct values *values;
};

static struct walk walk_of(const struct tfd_tensor_head *h)
{
    return (struct walk){.reader = tfd_pb_reader_of(h->proto),
                         .values = &values[h->dtype]};
}

static bool take_fixed(struct tfd_str *packed, size_t size, uint64_t *number)
{
    if (packed->size < size)
        return false;
    *number = 0;
    memcpy(number, packed->data, size);
    packed->data += size;
    packed->size -= size;
    return true;
}

static bool take_packed(struct walk *w, uint64_t *number)
{
    bool ok;

    if (w->values->wire == TFD_PB_VARINT)
        ok = tfd_pb_packed_varint(&w->packed, number);
    else
        ok = take_fixed(&w->packed, w->values->wire == TFD_PB_FIXED32 ? 4 : 8,
                        number);
    if (!ok)
        w->reader.failed = true;
    return ok;
}

/* The next value: a number, or bytes.  False at the end and at damage. */
static bool next_value(struct walk *w, struct tfd_pb_field *f)
{
    while (!w->packed.size) {
        if (!tfd_pb_next(&w->reader, f))
            return false;
        if (f->tag != w->values->tag)
            continue;
        if (f->wire == w->values->wire)
            return true;
        if (f->wire != TFD_PB_BYTES) {
            w->reader.failed = true;
            return false;
        }
        w->packed = f->bytes;
    }
    return take_packed(w, &f->number);
}

static enum tfd_code count_values(const struct tfd_tensor_head *h,
                                  int64_t *count, size_t *last_size,
                                  struct tfd_status *st)
{
    struct walk w = walk_of(h);
    struct tfd_pb_field f;

    *last_size = 0;
    for (*count = 0; next_value(&w, &f); ++*count)
        if (w.values->wire == TFD_PB_BYTES)
            *last_size = f.bytes.size;
    TFD_TRY(tfd_pb_end(&w.reader, "TensorProto", st));
    *count /= w.values->parts;
    return TFD_OK;
}

/* ---- Numbers ------------------------------------------------------------- */

/* Fills the rest of the elements with the last one, doubling the copy. */
static void repeat_last(char *data, size_t size, size_t count, size_t elements)
{
    size_t from = (count - 1) * size, end = elements * size;
    size_t at = from + size;

    while (at < end) {
        size_t n = at - from < end - at ? at - from : end - at;

        memcpy(data + at, data + from, n);
        at += n;
    }
}

static void store_numbers(const struct tfd_tensor_head *h, int64_t count,
                          const struct tfd_tensor *t)
{
    size_t size = tfd_dtype_size(t->dtype);
    size_t part = size / (size_t)values[h->dtype].parts;
    size_t numbers = (size_t)count * (size / part);
    char *data = tfd_tensor_data(t);
    struct walk w = walk_of(h);
    struct tfd_pb_field f;

    for (size_t i = 0; i < numbers && next_value(&w, &f); i++) {
        if (t->dtype == TFD_BOOL)
            f.number = f.number != 0;
        memcpy(data + i * part, &f.number, part);
    }
    if (count)
        repeat_last(data, size, (size_t)count, (size_t)tfd_tensor_elements(t));
    else
        memset(data, 0, tfd_tensor_size(t));
}

/* ---- Strings and handles ------------------------------------------------- */

static enum tfd_code store_item(const struct tfd_tensor *t, int64_t i,
                                struct tfd_str bytes,
                                tfd_handle_decode_fn *handle,
                                struct tfd_status *st)
{
    if (t->dtype == TFD_STRING)
        return tfd_tstring_set((struct tfd_tstring *)tfd_tensor_data(t) + i,
                               bytes, st);
    if (t->dtype == TFD_VARIANT && !bytes.size)
        return TFD_OK; /* none */
    if (t->dtype == TFD_VARIANT)
        return tfd_variant_decode(
            bytes, handle, (struct tfd_variant **)tfd_tensor_data(t) + i, st);
    return handle(bytes, (void **)tfd_tensor_data(t) + i, st);
}

/* Fewer items than elements: the last is repeated, but of variants. */
static enum tfd_code store_items(const struct tfd_tensor_head *h, int64_t count,
                                 tfd_handle_decode_fn *handle,
                                 const struct tfd_tensor *t,
                                 struct tfd_status *st)
{
    int64_t elements = tfd_tensor_elements(t);
    struct walk w = walk_of(h);
    struct tfd_pb_field f;

    if (!count)
        return TFD_OK;
    if (t->dtype == TFD_VARIANT) /* repeating one could cost any memory */
        elements = count;
    for (int64_t i = 0; i < elements; i++) {
        if (i < count && !next_value(&w, &f))
            break;
        TFD_TRY(store_item(t, i, f.bytes, handle, st));
    }
    return TFD_OK;
}

static enum tfd_code fail_content(const struct tfd_tensor_head *h,
                                  struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "tensor_content has %zu bytes, which are no %s of shape %s",
                    h->content.size, tfd_dtype_name((int)h->dtype),
                    tfd_shape_text(&h->shape, text));
}

/* All sizes as varints, then all bytes; nothing is left over. */
static enum tfd_code check_item_content(const struct tfd_tensor_head *h,
                                        int64_t elements, struct tfd_status *st)
{
    struct tfd_str rest = h->content;
    uint64_t size, sum = 0;

    for (int64_t i = 0; i < elements; i++) {
        if (!tfd_pb_packed_varint(&rest, &size) || size > h->content.size - sum)
            return fail_content(h, st);
        sum += size;
    }
    return sum == rest.size ? TFD_OK : fail_content(h, st);
}

static enum tfd_code store_item_content(const struct tfd_tensor_head *h,
                                        tfd_handle_decode_fn *handle,
                                        const struct tfd_tensor *t,
                                        struct tfd_status *st)
{
    int64_t elements = tfd_tensor_elements(t);
    struct tfd_str sizes = h->content, bytes = h->content;
    uint64_t size, sum = 0;

    for (int64_t i = 0; i < elements; i++) {
        if (!tfd_pb_packed_varint(&bytes, &size))
            return fail_content(h, st);
        sum += size;
    }
    assert(sum == bytes.size);
    for (int64_t i = 0; i < elements; i++) {
        if (!tfd_pb_packed_varint(&sizes, &size))
            return fail_content(h, st);
        bytes.size = (size_t)size;
        TFD_TRY(store_item(t, i, bytes, handle, st));
        bytes.data += size;
    }
    return TFD_OK;
}

/* ---- The whole ----------------------------------------------------------- */

static enum tfd_code check_decodable(const struct tfd_tensor_head *h,
                                     tfd_handle_decode_fn *handle,
                                     struct tfd_status *st)
{
    if (h->payload_index >= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "TensorProto refers to payload %lld, which no message "
                        "carries here",
                        (long long)h->payload_index);
    if (values[h->dtype].tag && (h->dtype != TFD_RESOURCE || handle))
        return TFD_OK;
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "A tensor of type %s cannot be read here",
                    tfd_dtype_name((int)h->dtype));
}

/* *count is of values in fields; -1 when there is content. */
static enum tfd_code check_size(const struct tfd_tensor_head *h, int64_t *count,
                                struct tfd_status *st)
{
    int64_t elements = tfd_shape_elements(&h->shape);
    size_t size = tfd_dtype_size(h->dtype), last_size;

    *count = -1;
    if (h->content.data && !tfd_dtype_is_pod(h->dtype))
        return check_item_content(h, elements, st);
    if (h->content.data && (h->content.size / size != (size_t)elements ||
                            h->content.size % size != 0))
        return fail_content(h, st);
    if (h->content.data)
        return tfd_tensor_check_bytes(h->dtype, h->content.data,
                                      h->content.size, st);
    TFD_TRY(count_values(h, count, &last_size, st));
    if (last_size && elements > *count &&
        (uint64_t)(elements - *count) > REPEATED_SIZE_MAX / last_size)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "A string of %zu bytes is to be repeated %lld times",
                        last_size, (long long)(elements - *count));
    /* More values than elements are ignored, as TensorFlow does. */
    if (*count > elements)
        *count = elements;
    return TFD_OK;
}

static enum tfd_code store_values(const struct tfd_tensor_head *h,
                                  int64_t count, tfd_handle_decode_fn *handle,
                                  const struct tfd_tensor *t,
                                  struct tfd_status *st)
{
    if (!tfd_tensor_data(t))
        return TFD_OK;
    if (!tfd_dtype_is_pod(t->dtype))
        return count < 0 ? store_item_content(h, handle, t, st)
                         : store_items(h, count, handle, t, st);
    if (count < 0)
        memcpy(tfd_tensor_data(t), h->content.data, h->content.size);
    else
        store_numbers(h, count, t);
    return TFD_OK;
}

enum tfd_code tfd_tensor_proto_decode(const struct tfd_tensor_head *head,
                                      tfd_handle_decode_fn *handle,
                                      struct tfd_tensor *out,
                                      struct tfd_status *st)
{
    struct tfd_tensor t = TFD_TENSOR_INIT;
    enum tfd_code rc;
    int64_t count;

    TFD_TRY(check_decodable(head, handle, st));
    TFD_TRY(check_size(head, &count, st));
    TFD_TRY(tfd_tensor_new(&t, head->dtype, &head->shape, st));
    rc = store_values(head, count, handle, &t, st);
    if (rc == TFD_OK)
        *out = t;
    else
        tfd_tensor_unref(&t);
    return rc;
}
