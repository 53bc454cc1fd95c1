/*
 * slices_proto.c - one row per type says which field of TensorProto it has and
 * how the values lie there.
 */
#include "kernels/checkpoint/slices_proto.h"

#include "common/proto/tensor.pb.h"

#include <assert.h>
#include <string.h>

#define VALUES(field) tensorflow_TensorProto_##field##_tag

enum values_kind {
    KIND_NONE,
    KIND_VARINT,
    KIND_FIXED, /* 4 or 8 bytes each, as they lie in memory */
    KIND_STRING,
};

/* bytes: TensorFlow's estimate of an element's size in the message */
static const struct value_field {
    uint32_t tag;
    enum values_kind kind;
    unsigned bytes;
} value_fields[TFD_DTYPE_END] = {
    [TFD_FLOAT] = {VALUES(float_val), KIND_FIXED, 4},
    [TFD_DOUBLE] = {VALUES(double_val), KIND_FIXED, 8},
    [TFD_INT32] = {VALUES(int_val), KIND_VARINT, 10},
    [TFD_UINT8] = {VALUES(int_val), KIND_VARINT, 2},
    [TFD_INT16] = {VALUES(int_val), KIND_VARINT, 10},
    [TFD_INT8] = {VALUES(int_val), KIND_VARINT, 10},
    [TFD_STRING] = {VALUES(string_val), KIND_STRING, 10},
    [TFD_COMPLEX64] = {VALUES(scomplex_val), KIND_FIXED, 8},
    [TFD_INT64] = {VALUES(int64_val), KIND_VARINT, 10},
    [TFD_BOOL] = {VALUES(bool_val), KIND_VARINT, 1},
    [TFD_QINT8] = {VALUES(int_val), KIND_VARINT, 10},
    [TFD_QUINT8] = {VALUES(int_val), KIND_VARINT, 2},
    [TFD_QINT32] = {VALUES(int_val), KIND_VARINT, 10},
    [TFD_UINT16] = {VALUES(int_val), KIND_VARINT, 3},
    [TFD_COMPLEX128] = {VALUES(dcomplex_val), KIND_FIXED, 16},
    [TFD_HALF] = {VALUES(half_val), KIND_VARINT, 3},
};

enum tfd_code tfd_slices_check_dtype(enum tfd_dtype dtype,
                                     struct tfd_status *st)
{
    if (value_fields[dtype].kind != KIND_NONE)
        return TFD_OK;
    if (dtype == TFD_UINT32 || dtype == TFD_UINT64)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Tensor slice serialization not implemented for dtype "
                        "%d",
                        dtype);
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "Saving data type %s not yet supported",
                    tfd_dtype_name(dtype));
}

uint64_t tfd_slices_values_bound(const struct tfd_tensor *t)
{
    uint64_t n = (uint64_t)tfd_tensor_elements(t);
    unsigned bytes = value_fields[t->dtype].bytes;
    uint64_t total = n <= UINT64_MAX / 32 ? n * bytes : UINT64_MAX / 2;

    if (t->dtype == TFD_STRING) {
        const struct tfd_tstring *s = tfd_tensor_data(t);

        for (uint64_t i = 0; i < n; i++)
            total += tfd_tstring_view(&s[i]).size;
    }
    return total;
}

/* ---- Integers -------------------------------------------------------------
 */

/* Types whose values are varints, with the width and sign they have here. */
#define VARINT_TYPES(X) \
    X(INT32, int32_t)   \
    X(UINT8, uint8_t)   \
    X(INT16, int16_t)   \
    X(INT8, int8_t)     \
    X(INT64, int64_t)   \
    X(BOOL, uint8_t)    \
    X(QINT8, int8_t)    \
    X(QUINT8, uint8_t)  \
    X(QINT32, int32_t)  \
    X(UINT16, uint16_t) \
    X(HALF, uint16_t)

/* Negative numbers have 64 bits on the wire. */
static uint64_t get_integer(enum tfd_dtype dtype, const void *data, size_t i)
{
    switch (dtype) {
#define X(name, T)   \
    case TFD_##name: \
        return (uint64_t)(int64_t)((const T *)data)[i];
        VARINT_TYPES(X)
#undef X
    default:
        assert(false);
        return 0;
    }
}

/* Bits beyond the type's are cut off, as TensorFlow does; a bool is true when
 * any bit is. */
static void set_integer(enum tfd_dtype dtype, void *data, size_t i, uint64_t v)
{
    if (dtype == TFD_BOOL)
        v = v != 0;
    switch (dtype) {
#define X(name, T)             \
    case TFD_##name:           \
        ((T *)data)[i] = (T)v; \
        return;
        VARINT_TYPES(X)
#undef X
    default:
        assert(false);
    }
}

/* ---- Writing --------------------------------------------------------------
 */

static void put_strings(struct tfd_bytes *b, uint32_t tag,
                        const struct tfd_tensor *t)
{
    const struct tfd_tstring *s = tfd_tensor_data(t);
    int64_t n = tfd_tensor_elements(t);

    for (int64_t i = 0; i < n; i++)
        tfd_pb_put_str_always(b, tag, tfd_tstring_view(&s[i]));
}

void tfd_slices_put_values(struct tfd_bytes *b, const struct tfd_tensor *t)
{
    const struct value_field *f = &value_fields[t->dtype];
    size_t n = (size_t)tfd_tensor_elements(t), mark;

    assert(f->kind != KIND_NONE);
    if (n == 0)
        return;
    if (f->kind == KIND_STRING) {
        put_strings(b, f->tag, t);
        return;
    }
    if (f->kind == KIND_FIXED) {
        tfd_pb_put_head(b, f->tag, tfd_tensor_size(t));
        tfd_bytes_add(b, tfd_tensor_data(t), tfd_tensor_size(t));
        return;
    }
    mark = tfd_pb_begin(b, f->tag);
    for (size_t i = 0; i < n; i++)
        tfd_pb_put_varint(b, get_integer(t->dtype, tfd_tensor_data(t), i));
    tfd_pb_finish(b, mark);
}

/* ---- Reading --------------------------------------------------------------
 */

/* How far the tensor is filled, in units of the wire: for complex types, which
 * have two numbers an element, twice the elements. */
struct filling {
    struct tfd_tensor *t;
    size_t have, count, unit; /* unit: bytes of a fixed number */
};

static bool take_fixed(struct filling *f, const struct tfd_pb_field *field)
{
    struct tfd_str bytes = field->bytes;
    enum tfd_pb_wire single = f->unit == 4 ? TFD_PB_FIXED32 : TFD_PB_FIXED64;
    char one[8];

    if (field->wire == single) {
        memcpy(one, &field->number, sizeof(one)); /* little-endian */
        bytes = (struct tfd_str){one, f->unit};
    } else if (field->wire != TFD_PB_BYTES) {
        return false;
    }
    if (bytes.size % f->unit != 0 || bytes.size / f->unit > f->count - f->have)
        return false;
    if (bytes.size > 0)
        memcpy((char *)tfd_tensor_data(f->t) + f->have * f->unit, bytes.data,
               bytes.size);
    f->have += bytes.size / f->unit;
    return true;
}

static bool take_varints(struct filling *f, const struct tfd_pb_field *field)
{
    struct tfd_str packed = field->bytes;
    uint64_t v = field->number;

    if (field->wire != TFD_PB_VARINT && field->wire != TFD_PB_BYTES)
        return false;
    while (field->wire == TFD_PB_VARINT || packed.size > 0) {
        if (field->wire == TFD_PB_BYTES && !tfd_pb_packed_varint(&packed, &v))
            return false;
        if (f->have == f->count)
            return false;
        set_integer(f->t->dtype, tfd_tensor_data(f->t), f->have++, v);
        if (field->wire == TFD_PB_VARINT)
            break;
    }
    return true;
}

static bool take_string(struct filling *f, const struct tfd_pb_field *field)
{
    struct tfd_tstring *s = tfd_tensor_data(f->t);

    if (field->wire != TFD_PB_BYTES || f->have == f->count)
        return false;
    return tfd_tstring_set(&s[f->have++], field->bytes, NULL) == TFD_OK;
}

static bool take_values(struct filling *f, enum values_kind kind,
                        const struct tfd_pb_field *field)
{
    if (kind == KIND_FIXED)
        return take_fixed(f, field);
    return kind == KIND_VARINT ? take_varints(f, field) : take_string(f, field);
}

static struct filling filling_of(struct tfd_tensor *t)
{
    struct filling f = {t, 0, (size_t)tfd_tensor_elements(t), 0};

    f.unit = tfd_dtype_size(t->dtype);
    if (t->dtype == TFD_COMPLEX64 || t->dtype == TFD_COMPLEX128) {
        f.unit /= 2;
        f.count *= 2;
    }
    return f;
}

enum tfd_code tfd_slices_take_values(struct tfd_str proto, struct tfd_tensor *t,
                                     struct tfd_status *st)
{
    const struct value_field *want = &value_fields[t->dtype];
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct filling f = filling_of(t);
    struct tfd_pb_field field;

    while (tfd_pb_next(&r, &field))
        if (field.tag == want->tag && !take_values(&f, want->kind, &field))
            return tfd_fail(st, TFD_DATA_LOSS,
                            "values of a slice do not fit its %zu elements",
                            f.count);
    if (tfd_pb_end(&r, "TensorProto", NULL) != TFD_OK || f.have != f.count)
        return tfd_fail(st, TFD_DATA_LOSS,
                        "slice of %zu elements has %zu values", f.count,
                        f.have);
    return TFD_OK;
}
