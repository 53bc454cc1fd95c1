/*
 * encode_proto.c - EncodeProto: tensors of values as the bytes of messages,
 * each field's in the order of their numbers.
 *
 * sizes[..., i] says how many values of field i a message has.  That of a field
 * that is no list may be over 1: all are written, and readers take the last.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/proto/message_plan.h"
#include "kernels/proto/wire.h"

#include "common/base/pbio.h"
#include "common/thread/halt.h"
#include "config/limits.h"

#include <string.h>

/* ---- Numbers ------------------------------------------------------------- */

static uint64_t zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

/* A number of a tensor's type as the bits of a field. */
static uint64_t bits_of(const struct tfd_tensor *t, int64_t at)
{
    const void *x = tfd_element_at(tfd_tensor_data(t), t->dtype, at);
    uint64_t bits = 0;

    memcpy(&bits, x, tfd_dtype_size(t->dtype));
    return t->dtype == TFD_INT32 ? (uint64_t)(int64_t)(int32_t)bits : bits;
}

static void put_float(struct tfd_bytes *b, const struct tfd_tensor *t,
                      int64_t at)
{
    float value;

    if (t->dtype == TFD_DOUBLE)
        value = (float)((const double *)tfd_tensor_data(t))[at];
    else
        value = ((const float *)tfd_tensor_data(t))[at];
    tfd_bytes_add(b, &value, sizeof(value));
}

/* Without its tag. */
static void put_number(struct tfd_bytes *b, enum tfd_proto_type type,
                       const struct tfd_tensor *t, int64_t at)
{
    const uint64_t bits = bits_of(t, at);

    switch (type) {
    case TFD_PROTO_FLOAT:
        put_float(b, t, at);
        break;
    case TFD_PROTO_DOUBLE:
    case TFD_PROTO_FIXED64:
    case TFD_PROTO_SFIXED64:
        tfd_bytes_add(b, &bits, 8);
        break;
    case TFD_PROTO_FIXED32:
    case TFD_PROTO_SFIXED32:
        tfd_bytes_add(b, &bits, 4);
        break;
    case TFD_PROTO_INT32:
    case TFD_PROTO_ENUM:
        tfd_pb_put_varint(b, (uint64_t)(int64_t)(int32_t)bits);
        break;
    case TFD_PROTO_UINT32:
        tfd_pb_put_varint(b, (uint32_t)bits);
        break;
    case TFD_PROTO_SINT32:
        tfd_pb_put_varint(b, zigzag((int32_t)bits));
        break;
    case TFD_PROTO_SINT64:
        tfd_pb_put_varint(b, zigzag((int64_t)bits));
        break;
    default: /* INT64, UINT64, BOOL */
        tfd_pb_put_varint(b, bits);
    }
}

/* ---- Fields -------------------------------------------------------------- */

static void put_tag(struct tfd_bytes *b, const struct tfd_proto_field *f,
                    int wire)
{
    tfd_pb_put_varint(b, (uint64_t)f->number << 3 | (uint64_t)wire);
}

/* Of a number of values below 0 TensorFlow writes none, but what so many of a
 * fixed width would take as the length. */
static void put_packed(struct tfd_bytes *b, const struct tfd_proto_field *f,
                       const struct tfd_tensor *t, int64_t first, int32_t count)
{
    const int wire = tfd_proto_type_wire(f->type);
    const int width = wire == TFD_PB_FIXED64 ? 8 : 4;
    size_t mark;

    if (count < 0) {
        put_tag(b, f, TFD_PB_BYTES);
        tfd_pb_put_varint(
            b,
            wire == TFD_PB_VARINT && f->type != TFD_PROTO_BOOL
                ? 0
                : (uint32_t)(count *
                             (int64_t)(f->type == TFD_PROTO_BOOL ? 1 : width)));
        return;
    }
    mark = tfd_pb_begin(b, (uint32_t)f->number);
    for (int64_t i = first; i < first + count; i++)
        put_number(b, f->type, t, i);
    tfd_pb_finish(b, mark);
}

static void put_bytes_field(struct tfd_bytes *b,
                            const struct tfd_proto_field *f,
                            const struct tfd_tensor *t, int64_t at)
{
    const struct tfd_tstring *s = tfd_tensor_data(t);
    struct tfd_str text = tfd_tstring_view(&s[at]);

    put_tag(b, f, tfd_proto_type_wire(f->type));
    if (f->type != TFD_PROTO_GROUP)
        tfd_pb_put_varint(b, text.size);
    tfd_bytes_add_str(b, text);
    if (f->type == TFD_PROTO_GROUP)
        put_tag(b, f, TFD_PROTO_WIRE_GROUP_END);
}

static void put_values(struct tfd_bytes *b, const struct tfd_proto_field *f,
                       const struct tfd_tensor *t, int64_t first, int32_t count)
{
    if (f->is_packed) {
        put_packed(b, f, t, first, count);
        return;
    }
    for (int64_t i = first; i < first + count; i++) {
        if (t->dtype == TFD_STRING) {
            put_bytes_field(b, f, t, i);
        } else {
            put_tag(b, f, tfd_proto_type_wire(f->type));
            put_number(b, f->type, t, i);
        }
    }
}

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_value(const struct tfd_kctx *k,
                                 const struct tfd_proto_plan *p, int i,
                                 struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[1 + i];
    char shape[TFD_SHAPE_TEXT_MAX];

    if (!tfd_proto_plan_fits(p->fields[i]->type, t->dtype))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Incompatible type for field " TFD_STR_FMT
                        ".  Saw dtype: %s but field type is: %s",
                        TFD_STR_ARG(p->names[i]), tfd_dtype_name((int)t->dtype),
                        tfd_proto_type_name(p->fields[i]->type));
    if (t->shape.rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid shape for field " TFD_STR_FMT
                        ".  Saw shape %s but it should be at least a matrix.",
                        TFD_STR_ARG(p->names[i]),
                        tfd_shape_text(&t->shape, shape));
    return TFD_OK;
}

/* The values' shape without its last dimension. */
static struct tfd_shape outer_shape(const struct tfd_shape *s)
{
    struct tfd_shape outer = *s;

    outer.dim[--outer.rank] = 0;
    return outer;
}

static enum tfd_code check_value_shapes(const struct tfd_kctx *k,
                                        const struct tfd_proto_plan *p,
                                        struct tfd_shape *batch,
                                        struct tfd_status *st)
{
    char have[TFD_SHAPE_TEXT_MAX], wanted[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape sizes;

    for (int i = 0; i < p->count; i++) {
        struct tfd_shape outer;

        TFD_TRY(check_value(k, p, i, st));
        outer = outer_shape(&k->in[1 + i].shape);
        if (i == 0)
            *batch = outer;
        else if (!tfd_shape_equal(batch, &outer))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Values must match up to the last dimension");
    }
    sizes = *batch;
    sizes.dim[sizes.rank++] = p->count;
    if (tfd_shape_equal(&sizes, &k->in[0].shape))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "sizes should be batch_size + [len(field_names)].  Saw: %s "
                    "but expected: %s",
                    tfd_shape_text(&k->in[0].shape, have),
                    tfd_shape_text(&sizes, wanted));
}

static int64_t last_dim(const struct tfd_tensor *t)
{
    return t->shape.dim[t->shape.rank - 1];
}

static enum tfd_code check_value_counts(const struct tfd_kctx *k,
                                        const struct tfd_proto_plan *p,
                                        int64_t count, struct tfd_status *st)
{
    const int32_t *sizes = tfd_tensor_data(&k->in[0]);

    for (int i = 0; i < p->count; i++) {
        const int64_t most = last_dim(&k->in[1 + i]);

        for (int64_t m = 0; m < count; m++)
            if (sizes[m * p->count + i] > most)
                return tfd_fail(st, TFD_INVALID_ARGUMENT,
                                "Size to write must not be larger than value "
                                "tensor; but saw: %d > %lld at message %lld "
                                "field %d",
                                sizes[m * p->count + i], (long long)most,
                                (long long)m, i);
    }
    return TFD_OK;
}

/* ---- Messages ------------------------------------------------------------ */

static void put_message(const struct tfd_kctx *k,
                        const struct tfd_proto_plan *p, int64_t number,
                        struct tfd_bytes *b)
{
    const int32_t *sizes = tfd_tensor_data(&k->in[0]);

    tfd_bytes_clear(b);
    for (int i = 0; i < p->count; i++) {
        const int at = p->order[i];
        const struct tfd_tensor *t = &k->in[1 + at];
        const int32_t size = sizes[number * p->count + at];

        if (size != 0)
            put_values(b, p->fields[at], t, number * last_dim(t), size);
    }
}

static enum tfd_code encode_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_proto_plan *p;
    enum tfd_code rc = TFD_OK;
    struct tfd_tstring *out;
    struct tfd_shape batch;
    struct tfd_bytes b;
    int64_t count;

    if (k->in_count < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Length for attr 'Tinput_types' of 0 must be at least "
                        "minimum 1");
    TFD_TRY(tfd_proto_plan_get(k, k->in_count - 1, NULL, &p, st));
    TFD_TRY(check_value_shapes(k, p, &batch, st));
    count = tfd_shape_elements(&batch);
    TFD_TRY(check_value_counts(k, p, count, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &batch, st));
    out = tfd_tensor_data(&k->out[0]);
    tfd_bytes_init(&b, TFD_CONVERTED_SIZE_MAX);
    for (int64_t i = 0; i < count && rc == TFD_OK && !tfd_halted(); i++) {
        put_message(k, p, i, &b);
        rc = tfd_bytes_ok(&b, "a message", st);
        if (rc == TFD_OK)
            rc = tfd_tstring_set(&out[i], tfd_bytes_view(&b), st);
    }
    tfd_bytes_deinit(&b);
    return rc;
}

static enum tfd_code encode_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    struct tfd_shape batch = TFD_SHAPE_UNKNOWN;

    for (int i = s->in_count - 1; i >= 1; i--) {
        struct tfd_shape outer;

        if (s->in[i].rank == TFD_RANK_UNKNOWN)
            continue;
        if (s->in[i].rank < 2)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Shape must be at least rank 2 but is rank %d",
                            s->in[i].rank);
        outer = outer_shape(&s->in[i]);
        TFD_TRY(tfd_shape_merge(&batch, &outer, st));
    }
    s->out[0] = batch;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "EncodeProto",
        .inputs = "sizes: int32, values: Tinput_types",
        .outputs = "bytes: string",
        .attrs = "field_names: list(string); message_type: string; "
                 "descriptor_source: string = 'local://'; "
                 "Tinput_types: list(type) >= 1",
        .shape = encode_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("EncodeProto", encode_compute,
                   .prepare = tfd_proto_plans_prepare,
                   .release = tfd_proto_plans_release,
                   .state_size = sizeof(struct tfd_proto_plans),
                   .flags = TFD_KERNEL_BLOCKS),
};

const struct tfd_family tfd_family_encode_proto = {
    .name = "encode_proto",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
