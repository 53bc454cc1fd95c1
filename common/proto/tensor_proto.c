/*
 * tensor_proto.c - see tensor_proto.h: heads, shapes and encoding.  Decoding
 * of elements is in tensor_proto_decode.c.
 */
#include "common/proto/tensor_proto.h"

#include "common/proto/tensor.pb.h"
#include "common/base/shape_long.h"
#include "common/base/variant.h"

#define TAG(name) tensorflow_TensorProto_##name##_tag
#define SHAPE_TAG(name) tensorflow_TensorShapeProto_##name##_tag
#define DIM_TAG(name) tensorflow_TensorShapeProto_Dim_##name##_tag

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code decode_dim(struct tfd_str proto, int64_t *size,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    *size = 0;
    while (tfd_pb_next(&r, &f))
        if (f.tag == DIM_TAG(size))
            *size = tfd_pb_int64(&r, &f);
    return tfd_pb_end(&r, "TensorShapeProto.Dim", st);
}

enum tfd_code tfd_tensor_proto_shape_decode_any(struct tfd_str proto,
                                                struct tfd_shape *out,
                                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;
    int64_t dim[TFD_RANK_LONG_MAX], size;
    bool unknown = false;
    int rank = 0;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == SHAPE_TAG(unknown_rank))
            unknown = tfd_pb_bool(&r, &f);
        if (f.tag != SHAPE_TAG(dim))
            continue;
        TFD_TRY(decode_dim(tfd_pb_str(&r, &f), &size, st));
        if (rank < TFD_RANK_LONG_MAX)
            dim[rank] = size;
        /* Counted on, for the message; a message has fewer than 2^31. */
        rank++;
    }
    TFD_TRY(tfd_pb_end(&r, "TensorShapeProto", st));
    if (unknown && rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "A shape of unknown rank has %d dimensions", rank);
    if (!unknown)
        return tfd_shape_make_any_partial(out, dim, rank, st);
    *out = (struct tfd_shape)TFD_SHAPE_UNKNOWN;
    return TFD_OK;
}

enum tfd_code tfd_tensor_proto_shape_decode(struct tfd_str proto,
                                            struct tfd_shape *out,
                                            struct tfd_status *st)
{
    struct tfd_shape any;

    TFD_TRY(tfd_tensor_proto_shape_decode_any(proto, &any, st));
    if (tfd_shape_is_long(&any))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "A shape has %d dimensions; 0 to %d are supported here",
                        any.rank, TFD_RANK_MAX);
    *out = any;
    return TFD_OK;
}

void tfd_tensor_proto_shape_encode(struct tfd_bytes *b,
                                   const struct tfd_shape *s)
{
    int64_t dim[TFD_RANK_LONG_MAX];

    tfd_shape_dims(s, dim);
    tfd_pb_put_bool(b, SHAPE_TAG(unknown_rank), s->rank == TFD_RANK_UNKNOWN);
    for (int i = 0; i < s->rank; i++) {
        size_t mark = tfd_pb_begin(b, SHAPE_TAG(dim));

        tfd_pb_put_int(b, DIM_TAG(size), dim[i]);
        tfd_pb_finish(b, mark);
    }
}

/* ---- Heads --------------------------------------------------------------- */

static enum tfd_code check_head(const struct tfd_tensor_head *h, int32_t dtype,
                                struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (!tfd_dtype_valid(dtype))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "TensorProto has invalid dtype %d", dtype);
    if (tfd_shape_elements(&h->shape) < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "TensorProto has shape %s, which is not fully defined",
                        tfd_shape_text(&h->shape, text));
    return TFD_OK;
}

enum tfd_code tfd_tensor_proto_head(struct tfd_str proto,
                                    struct tfd_tensor_head *out,
                                    struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_str shape = TFD_STR_EMPTY;
    struct tfd_pb_field f;
    int32_t dtype = 0;

    *out = (struct tfd_tensor_head){.proto = proto, .payload_index = -1};
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == TAG(dtype))
            dtype = tfd_pb_int32(&r, &f);
        else if (f.tag == TAG(tensor_shape))
            shape = tfd_pb_str(&r, &f);
        else if (f.tag == TAG(tensor_content))
            out->content = tfd_pb_str(&r, &f);
        else if (f.tag == TAG(payload_index))
            out->payload_index = (uint32_t)tfd_pb_int64(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "TensorProto", st));
    /* proto3 knows no difference between empty and absent. */
    if (!out->content.size)
        out->content.data = NULL;
    TFD_TRY(tfd_tensor_proto_shape_decode_any(shape, &out->shape, st));
    TFD_TRY(check_head(out, dtype, st));
    out->dtype = (enum tfd_dtype)dtype;
    return TFD_OK;
}

/* ---- Encoding ------------------------------------------------------------ */

void tfd_tensor_proto_encode_head(struct tfd_bytes *b,
                                  const struct tfd_tensor *t)
{
    size_t mark;

    tfd_pb_put_int(b, TAG(dtype), (int)t->dtype);
    mark = tfd_pb_begin(b, TAG(tensor_shape));
    tfd_tensor_proto_shape_encode(b, &t->shape);
    tfd_pb_finish(b, mark);
}

static void encode_strings(struct tfd_bytes *b, const struct tfd_tensor *t)
{
    const struct tfd_tstring *s = tfd_tensor_data(t);
    int64_t n = tfd_tensor_elements(t);

    for (int64_t i = 0; i < n; i++)
        tfd_pb_put_varint(b, tfd_tstring_view(&s[i]).size);
    for (int64_t i = 0; i < n; i++)
        tfd_bytes_add_str(b, tfd_tstring_view(&s[i]));
}

/* The sizes stand in front, so the handles are written aside first. */
static void encode_handles(struct tfd_bytes *b, const struct tfd_tensor *t,
                           tfd_handle_encode_fn *handle)
{
    void *const *h = tfd_tensor_data(t);
    int64_t n = tfd_tensor_elements(t);
    struct tfd_bytes all;

    tfd_bytes_init(&all, b->max - b->size);
    for (int64_t i = 0; i < n; i++) {
        size_t before = all.size;

        if (h[i] && t->dtype == TFD_VARIANT)
            tfd_variant_encode(&all, h[i], handle);
        else if (h[i] && handle)
            handle(&all, h[i]);
        tfd_pb_put_varint(b, all.size - before);
    }
    tfd_bytes_add_str(b, tfd_bytes_view(&all));
    tfd_bytes_fail_as(b, &all);
    if (n && !handle && t->dtype == TFD_RESOURCE)
        tfd_bytes_refuse(b, "a resource handle");
    tfd_bytes_deinit(&all);
}

void tfd_tensor_proto_encode_content(struct tfd_bytes *b,
                                     const struct tfd_tensor *t,
                                     tfd_handle_encode_fn *handle)
{
    if (t->dtype == TFD_STRING)
        encode_strings(b, t);
    else if (!tfd_dtype_is_pod(t->dtype))
        encode_handles(b, t, handle);
    else
        tfd_bytes_add(b, tfd_tensor_data(t), tfd_tensor_size(t));
}

void tfd_tensor_proto_encode(struct tfd_bytes *b, const struct tfd_tensor *t,
                             tfd_handle_encode_fn *handle)
{
    size_t mark;

    tfd_tensor_proto_encode_head(b, t);
    if (!tfd_tensor_elements(t))
        return;
    if (tfd_dtype_is_pod(t->dtype)) {
        tfd_pb_put_head(b, TAG(tensor_content), tfd_tensor_size(t));
        tfd_tensor_proto_encode_content(b, t, handle);
        return;
    }
    mark = tfd_pb_begin(b, TAG(tensor_content));
    tfd_tensor_proto_encode_content(b, t, handle);
    tfd_pb_finish(b, mark);
}
