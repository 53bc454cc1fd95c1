/*
 * tensor_decode.c - TensorProto into a tensor; see message.h.
 *
 * The first walk over the proto finds type, shape and where the content is; the
 * second one, only for the *_val fields, stores values.  In between stands the
 * check of the sizes, so nothing is allocated that the shape does not explain.
 */
#include "common/alloc.h"
#include "common/proto/tensor.pb.h"
#include "config/limits.h"
#include "rpc/message.h"

#include <assert.h>
#include <string.h>

#define F(field) tensorflow_TensorProto_##field##_tag
#define WHAT "Cannot parse tensor from proto"

/* A slice holds the whole body, so it must be worth that. */
#define SLICE_MIN 4096
#define SLICE_SHARE 4 /* of the body, at least 1 / 4 */

/* Where values of a type stand when they are not in tensor_content, how, and
 * how many bytes each fills.  A complex number has two. */
static const struct value_field {
    uint32_t tag;
    enum tfd_pb_wire wire;
    uint8_t size;
    uint8_t parts;
} value_fields[TFD_DTYPE_END] = {
    [TFD_FLOAT] = {F(float_val), TFD_PB_FIXED32, 4, 1},
    [TFD_DOUBLE] = {F(double_val), TFD_PB_FIXED64, 8, 1},
    [TFD_INT32] = {F(int_val), TFD_PB_VARINT, 4, 1},
    [TFD_UINT8] = {F(int_val), TFD_PB_VARINT, 1, 1},
    [TFD_INT16] = {F(int_val), TFD_PB_VARINT, 2, 1},
    [TFD_INT8] = {F(int_val), TFD_PB_VARINT, 1, 1},
    [TFD_STRING] = {F(string_val), TFD_PB_BYTES, 0, 1},
    [TFD_COMPLEX64] = {F(scomplex_val), TFD_PB_FIXED32, 4, 2},
    [TFD_INT64] = {F(int64_val), TFD_PB_VARINT, 8, 1},
    [TFD_BOOL] = {F(bool_val), TFD_PB_VARINT, 1, 1},
    [TFD_QINT8] = {F(int_val), TFD_PB_VARINT, 1, 1},
    [TFD_QUINT8] = {F(int_val), TFD_PB_VARINT, 1, 1},
    [TFD_QINT32] = {F(int_val), TFD_PB_VARINT, 4, 1},
    [TFD_BFLOAT16] = {F(half_val), TFD_PB_VARINT, 2, 1},
    [TFD_QINT16] = {F(int_val), TFD_PB_VARINT, 2, 1},
    [TFD_QUINT16] = {F(int_val), TFD_PB_VARINT, 2, 1},
    [TFD_UINT16] = {F(int_val), TFD_PB_VARINT, 2, 1},
    [TFD_COMPLEX128] = {F(dcomplex_val), TFD_PB_FIXED64, 8, 2},
    [TFD_HALF] = {F(half_val), TFD_PB_VARINT, 2, 1},
    [TFD_RESOURCE] = {F(resource_handle_val), TFD_PB_BYTES, 0, 1},
    [TFD_UINT32] = {F(uint32_val), TFD_PB_VARINT, 4, 1},
    [TFD_UINT64] = {F(uint64_val), TFD_PB_VARINT, 8, 1},
};

struct source {
    const struct tfd_incoming *in; /* may be NULL */
    struct tfd_str proto;
    tfd_handle_decode_fn *handle;
    int64_t dtype;
    struct tfd_shape shape;
    int64_t elements;
    struct tfd_str content;
    struct tfd_buffer *payload; /* NULL: content is in the proto */
};

/* ---- Type, shape, place -------------------------------------------------- */

static enum tfd_code read_dim(struct tfd_str proto, int64_t *size,
                              struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    *size = 0;
    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_TensorShapeProto_Dim_size_tag)
            *size = tfd_pb_int64(&r, &f);
    return tfd_pb_end(&r, "TensorShapeProto", st);
}

static enum tfd_code read_shape(struct tfd_str proto, struct tfd_shape *shape,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;
    int64_t dim[TFD_RANK_MAX];
    int rank = 0;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_TensorShapeProto_unknown_rank_tag &&
            tfd_pb_bool(&r, &f))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            WHAT ": its rank is unknown");
        if (f.tag != tensorflow_TensorShapeProto_dim_tag)
            continue;
        if (rank == TFD_RANK_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            WHAT ": more than %d dimensions", TFD_RANK_MAX);
        TFD_TRY(read_dim(tfd_pb_str(&r, &f), &dim[rank++], st));
    }
    TFD_TRY(tfd_pb_end(&r, "TensorShapeProto", st));
    return tfd_shape_make(shape, dim, rank, st);
}

static enum tfd_code read_payload(struct source *s, int64_t index,
                                  struct tfd_status *st)
{
    uint32_t count = s->in ? s->in->payload_count : 0;

    if (index < 0 || index >= count || !s->in->payload[index])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        WHAT ": payload %lld of a message with %u",
                        (long long)index, count);
    s->payload = s->in->payload[index];
    s->content = (struct tfd_str){s->payload->data, s->payload->size};
    return TFD_OK;
}

static enum tfd_code read_head(struct source *s, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(s->proto);
    struct tfd_pb_field f;
    int64_t payload = -1;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == F(dtype))
            s->dtype = tfd_pb_int64(&r, &f);
        else if (f.tag == F(tensor_shape))
            TFD_TRY(read_shape(tfd_pb_str(&r, &f), &s->shape, st));
        else if (f.tag == F(tensor_content))
            s->content = tfd_pb_str(&r, &f);
        else if (f.tag == F(payload_index))
            payload = tfd_pb_int64(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "TensorProto", st));
    if (s->dtype < 0 || s->dtype >= TFD_DTYPE_END ||
        !value_fields[s->dtype].tag)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        WHAT ": no tensor can have the type %s (%lld)",
                        s->dtype == TFD_VARIANT ? "DT_VARIANT" : "number",
                        (long long)s->dtype);
    s->elements = tfd_shape_elements(&s->shape);
    return payload < 0 ? TFD_OK : read_payload(s, payload, st);
}

/* ---- Content ------------------------------------------------------------- */

static bool worth_slicing(const struct source *s, size_t align)
{
    const struct tfd_buffer *body = s->in ? s->in->body : NULL;
    uintptr_t at = (uintptr_t)s->content.data;

    return body && s->content.size >= SLICE_MIN &&
           s->content.size >= body->size / SLICE_SHARE && at % align == 0 &&
           at >= (uintptr_t)body->data &&
           s->content.size <= (uintptr_t)body->data + body->size - at;
}

static enum tfd_code share(struct source *s, struct tfd_tensor *out,
                           struct tfd_status *st)
{
    struct tfd_buffer *b;

    if (s->payload) {
        b = tfd_buffer_ref(s->payload);
    } else {
        const char *start = s->in->body->data;

        b = tfd_buffer_slice(s->in->body, (size_t)(s->content.data - start),
                             s->content.size);
        if (!b)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "no memory for a tensor's buffer");
    }
    *out = (struct tfd_tensor){(enum tfd_dtype)s->dtype, s->shape, b};
    return TFD_OK;
}

static enum tfd_code decode_pod(struct source *s, struct tfd_tensor *out,
                                struct tfd_status *st)
{
    const struct value_field *v = &value_fields[s->dtype];
    size_t size = tfd_dtype_size((enum tfd_dtype)s->dtype);
    char text[TFD_SHAPE_TEXT_MAX];

    if ((uint64_t)s->elements != s->content.size / size ||
        s->content.size % size != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        WHAT ": %zu bytes of content for %s of shape %s",
                        s->content.size, tfd_dtype_enum_name((int)s->dtype),
                        tfd_shape_text(&s->shape, text));
    if (s->payload || worth_slicing(s, v->size))
        return share(s, out, st);
    TFD_TRY(tfd_tensor_new(out, (enum tfd_dtype)s->dtype, &s->shape, st));
    memcpy(tfd_tensor_data(out), s->content.data, s->content.size);
    return TFD_OK;
}

/* One element of a string or resource tensor. */
static enum tfd_code store_item(const struct source *s, struct tfd_tensor *out,
                                int64_t index, struct tfd_str item,
                                struct tfd_status *st)
{
    if (s->dtype == TFD_STRING) {
        struct tfd_tstring *t = tfd_tensor_data(out);

        return tfd_tstring_set(&t[index], item, st);
    }
    if (!s->handle)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        WHAT ": a resource handle cannot stand here");
    return s->handle(item, (void **)tfd_tensor_data(out) + index, st);
}

static enum tfd_code fail_lengths(const struct source *s, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    WHAT ": its %zu bytes of content do not hold the elements "
                         "of shape %s",
                    s->content.size, tfd_shape_text(&s->shape, text));
}

/* Every length takes a byte at least, so the count is checked before there is
 * memory for it; the sum of the lengths must be what follows them. */
static enum tfd_code check_lengths(const struct source *s,
                                   struct tfd_str *items, struct tfd_status *st)
{
    struct tfd_str rest = s->content;
    uint64_t length, sum = 0;

    if ((uint64_t)s->elements > s->content.size)
        return fail_lengths(s, st);
    for (int64_t i = 0; i < s->elements; i++) {
        if (!tfd_pb_packed_varint(&rest, &length) ||
            length > s->content.size - sum)
            return fail_lengths(s, st);
        sum += length;
    }
    if (sum != rest.size)
        return fail_lengths(s, st);
    *items = rest;
    return TFD_OK;
}

static enum tfd_code decode_items(struct source *s, struct tfd_tensor *out,
                                  struct tfd_status *st)
{
    struct tfd_str lengths = s->content, items = TFD_STR_EMPTY;
    uint64_t length = 0;

    TFD_TRY(check_lengths(s, &items, st));
    TFD_TRY(tfd_tensor_new(out, (enum tfd_dtype)s->dtype, &s->shape, st));
    for (int64_t i = 0; i < s->elements; i++) {
        bool ok = tfd_pb_packed_varint(&lengths, &length);
        struct tfd_str item = {items.data, (size_t)length};

        assert(ok && length <= items.size);
        (void)ok;
        TFD_TRY(store_item(s, out, i, item, st));
        items.data += length;
        items.size -= (size_t)length;
    }
    return TFD_OK;
}

/* ---- Values -------------------------------------------------------------- */

/* Where the next number goes. */
struct filling {
    const struct value_field *field;
    uint8_t *at;
    uint64_t left; /* numbers that still fit */
    bool is_bool;
};

static void store_number(struct filling *f, uint64_t value)
{
    if (f->left == 0)
        return;
    if (f->is_bool)
        value = value != 0;
    memcpy(f->at, &value, f->field->size); /* little-endian, as the machine */
    f->at += f->field->size;
    f->left--;
}

static bool store_packed(struct filling *f, struct tfd_str packed)
{
    uint64_t value;

    if (f->field->wire != TFD_PB_VARINT) {
        uint64_t count = packed.size / f->field->size;

        if (packed.size % f->field->size != 0)
            return false;
        if (count > f->left)
            count = f->left;
        if (count)
            memcpy(f->at, packed.data, count * f->field->size);
        f->at += count * f->field->size;
        f->left -= count;
        return true;
    }
    while (f->left > 0 && packed.size > 0) {
        if (!tfd_pb_packed_varint(&packed, &value))
            return false;
        store_number(f, value);
    }
    return true;
}

/* Repeats the last of `have` elements up to `count`, doubling what is there. */
static void repeat_last(uint8_t *data, uint64_t have, uint64_t count,
                        size_t size)
{
    uint8_t *from = data + (have - 1) * size;
    uint64_t done = 1, total = count - have + 1;

    while (done < total) {
        uint64_t take = done < total - done ? done : total - done;

        memcpy(from + done * size, from, take * size);
        done += take;
    }
}

static enum tfd_code decode_numbers(struct source *s, struct tfd_tensor *out,
                                    struct tfd_status *st)
{
    const struct value_field *v = &value_fields[s->dtype];
    struct tfd_pb_reader r = tfd_pb_reader_of(s->proto);
    size_t size = tfd_dtype_size((enum tfd_dtype)s->dtype);
    uint64_t count = (uint64_t)s->elements, have;
    struct filling fill = {.field = v, .is_bool = s->dtype == TFD_BOOL};
    struct tfd_pb_field f;

    TFD_TRY(tfd_tensor_new(out, (enum tfd_dtype)s->dtype, &s->shape, st));
    fill.at = tfd_tensor_data(out);
    fill.left = count * v->parts;
    while (fill.left > 0 && tfd_pb_next(&r, &f)) {
        if (f.tag != v->tag)
            continue;
        if (f.wire == v->wire)
            store_number(&fill, f.number);
        else if (f.wire != TFD_PB_BYTES || !store_packed(&fill, f.bytes))
            r.failed = true;
    }
    TFD_TRY(tfd_pb_end(&r, "TensorProto", st));
    have = (count * v->parts - fill.left) / v->parts;
    if (have == 0)
        memset(tfd_tensor_data(out), 0, count * size);
    else
        repeat_last(tfd_tensor_data(out), have, count, size);
    return TFD_OK;
}

static enum tfd_code check_repeats(const struct source *s, int64_t times,
                                   size_t size, struct tfd_status *st)
{
    if (times == 0 || (s->dtype == TFD_STRING && size == 0))
        return TFD_OK;
    if (s->dtype != TFD_STRING)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        WHAT ": %lld of %lld handles are missing",
                        (long long)times, (long long)s->elements);
    if ((uint64_t)times > (uint64_t)TFD_REPEATED_STRINGS_SIZE_MAX / size)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        WHAT ": a string of %zu bytes %lld times is more than "
                             "%lld bytes",
                        size, (long long)times,
                        (long long)TFD_REPEATED_STRINGS_SIZE_MAX);
    return TFD_OK;
}

static enum tfd_code decode_item_values(struct source *s,
                                        struct tfd_tensor *out,
                                        struct tfd_status *st)
{
    const struct value_field *v = &value_fields[s->dtype];
    struct tfd_pb_reader r = tfd_pb_reader_of(s->proto);
    struct tfd_str last = TFD_STR_EMPTY;
    struct tfd_pb_field f;
    int64_t have = 0;

    TFD_TRY(tfd_tensor_new(out, (enum tfd_dtype)s->dtype, &s->shape, st));
    while (have < s->elements && tfd_pb_next(&r, &f)) {
        if (f.tag != v->tag)
            continue;
        last = tfd_pb_str(&r, &f);
        TFD_TRY(store_item(s, out, have++, last, st));
    }
    TFD_TRY(tfd_pb_end(&r, "TensorProto", st));
    TFD_TRY(check_repeats(s, s->elements - have, last.size, st));
    while (last.size > 0 && have < s->elements)
        TFD_TRY(store_item(s, out, have++, last, st));
    return TFD_OK;
}

/* ---- All ----------------------------------------------------------------- */

static enum tfd_code decode(struct source *s, struct tfd_tensor *out,
                            struct tfd_status *st)
{
    bool pod;

    TFD_TRY(read_head(s, st));
    if (s->elements == 0)
        return tfd_tensor_new(out, (enum tfd_dtype)s->dtype, &s->shape, st);
    pod = tfd_dtype_is_pod((enum tfd_dtype)s->dtype);
    if (s->content.size > 0 || s->payload)
        return pod ? decode_pod(s, out, st) : decode_items(s, out, st);
    return pod ? decode_numbers(s, out, st) : decode_item_values(s, out, st);
}

enum tfd_code tfd_tensor_decode(const struct tfd_incoming *in,
                                struct tfd_str tensor_proto,
                                tfd_handle_decode_fn *handle,
                                struct tfd_tensor *out, struct tfd_status *st)
{
    struct source s = {.in = in,
                       .proto = tensor_proto,
                       .handle = handle,
                       .content = TFD_STR_EMPTY};
    enum tfd_code rc;

    *out = (struct tfd_tensor)TFD_TENSOR_INIT;
    rc = decode(&s, out, st);
    if (rc != TFD_OK)
        tfd_tensor_unref(out);
    return rc;
}
