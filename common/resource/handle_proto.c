/*
 * handle_proto.c - ResourceHandleProto <-> handle (common/resource/handle.h).
 */
#include "common/resource/handle.h"

#include "common/base/pbio.h"
#include "common/proto/tensor.pb.h"
#include "common/proto/tensor_proto.h"
#include "config/limits.h"

#define F(field) tensorflow_ResourceHandleProto_##field##_tag
#define DS(field) tensorflow_ResourceHandleProto_DtypeAndShape_##field##_tag

void tfd_handle_encode(struct tfd_bytes *b, void *handle)
{
    const struct tfd_handle *h = handle;
    size_t mark;

    if (!h)
        return;
    tfd_pb_put_str(b, F(device), h->device);
    tfd_pb_put_str(b, F(container), h->container);
    tfd_pb_put_str(b, F(name), h->name);
    tfd_pb_put_int(b, F(hash_code), (int64_t)h->hash_code);
    tfd_pb_put_str(b, F(maybe_type_name), h->type_name);
    if (h->dtype == TFD_DTYPE_INVALID)
        return;
    mark = tfd_pb_begin(b, F(dtypes_and_shapes));
    tfd_pb_put_int(b, DS(dtype), (int64_t)h->dtype);
    {
        size_t shape = tfd_pb_begin(b, DS(shape));

        tfd_tensor_proto_shape_encode(b, &h->shape);
        tfd_pb_finish(b, shape);
    }
    tfd_pb_finish(b, mark);
}

struct fields {
    struct tfd_str device, container, name, type_name;
    uint64_t hash_code;
    enum tfd_dtype dtype;
    struct tfd_shape shape;
};

static enum tfd_code decode_type(struct tfd_str proto, struct fields *out,
                                 struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == DS(dtype) && f.number < TFD_DTYPE_END)
            out->dtype = (enum tfd_dtype)f.number;
        else if (f.tag == DS(shape))
            TFD_TRY(tfd_tensor_proto_shape_decode_any(tfd_pb_str(&r, &f),
                                                      &out->shape, st));
    }
    return tfd_pb_end(&r, "ResourceHandleProto", st);
}

static enum tfd_code decode_fields(struct tfd_str proto, struct fields *out,
                                   struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == F(device))
            out->device = tfd_pb_str(&r, &f);
        else if (f.tag == F(container))
            out->container = tfd_pb_str(&r, &f);
        else if (f.tag == F(name))
            out->name = tfd_pb_str(&r, &f);
        else if (f.tag == F(hash_code))
            out->hash_code = (uint64_t)tfd_pb_int64(&r, &f);
        else if (f.tag == F(maybe_type_name))
            out->type_name = tfd_pb_str(&r, &f);
        else if (f.tag == F(dtypes_and_shapes))
            TFD_TRY(decode_type(tfd_pb_str(&r, &f), out, st));
    }
    return tfd_pb_end(&r, "ResourceHandleProto", st);
}

enum tfd_code tfd_handle_decode(struct tfd_str proto, void **handle,
                                struct tfd_status *st)
{
    struct fields x = {.shape = {.rank = TFD_RANK_UNKNOWN}};
    struct tfd_handle *h;

    if (proto.size > 4 * TFD_NAME_SIZE_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a resource handle of %zu bytes; %d are possible",
                        proto.size, 4 * TFD_NAME_SIZE_MAX);
    TFD_TRY(decode_fields(proto, &x, st));
    h = tfd_handle_new(x.device, x.container, x.name, x.type_name, x.hash_code,
                       st);
    if (!h)
        return TFD_RESOURCE_EXHAUSTED;
    h->dtype = x.dtype;
    h->shape = x.shape;
    *handle = h;
    return TFD_OK;
}
