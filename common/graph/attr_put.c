/*
 * attr_put.c - AttrValue messages, as graph.h declares them.  Members of a
 * oneof are written even when they are zero: that says which one is set.
 */
#include "common/graph/graph.h"
#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "common/proto/tensor_proto.h"

#include <string.h>

#define TAG(name) tensorflow_AttrValue_##name##_tag
#define LIST_TAG(name) tensorflow_AttrValue_ListValue_##name##_tag

void tfd_attr_put_int(struct tfd_bytes *b, int64_t v)
{
    tfd_pb_put_int_always(b, TAG(i), v);
}

void tfd_attr_put_float(struct tfd_bytes *b, float v)
{
    uint32_t bits;
    char *at;

    memcpy(&bits, &v, sizeof(bits));
    tfd_pb_put_varint(b, TAG(f) << 3 | TFD_PB_FIXED32);
    at = tfd_bytes_extend(b, sizeof(bits));
    for (size_t i = 0; at && i < sizeof(bits); i++)
        at[i] = (char)(uint8_t)(bits >> (8 * i));
}

void tfd_attr_put_bool(struct tfd_bytes *b, bool v)
{
    tfd_pb_put_int_always(b, TAG(b), v);
}

void tfd_attr_put_type(struct tfd_bytes *b, int dtype)
{
    tfd_pb_put_int_always(b, TAG(type), dtype);
}

void tfd_attr_put_str(struct tfd_bytes *b, struct tfd_str v)
{
    tfd_pb_put_str_always(b, TAG(s), v);
}

void tfd_attr_put_shape(struct tfd_bytes *b, const struct tfd_shape *v)
{
    size_t mark = tfd_pb_begin(b, TAG(shape));

    tfd_tensor_proto_shape_encode(b, v);
    tfd_pb_finish(b, mark);
}

void tfd_attr_put_tensor(struct tfd_bytes *b, const struct tfd_tensor *v)
{
    size_t mark = tfd_pb_begin(b, TAG(tensor));

    tfd_tensor_proto_encode(b, v, NULL);
    tfd_pb_finish(b, mark);
}

void tfd_attr_put_strs(struct tfd_bytes *b, const struct tfd_str *v, int count)
{
    size_t mark = tfd_pb_begin(b, TAG(list));

    for (int i = 0; i < count; i++)
        tfd_pb_put_str_always(b, LIST_TAG(s), v[i]);
    tfd_pb_finish(b, mark);
}

void tfd_attr_put_ints(struct tfd_bytes *b, const int64_t *v, int count)
{
    size_t list = tfd_pb_begin(b, TAG(list));
    size_t packed = count ? tfd_pb_begin(b, LIST_TAG(i)) : 0;

    for (int i = 0; i < count; i++)
        tfd_pb_put_varint(b, (uint64_t)v[i]);
    if (count)
        tfd_pb_finish(b, packed);
    tfd_pb_finish(b, list);
}

void tfd_attr_put_floats(struct tfd_bytes *b, const float *v, int count)
{
    const size_t list = tfd_pb_begin(b, TAG(list));

    for (int i = 0; i < count; i++) {
        uint32_t bits;

        memcpy(&bits, &v[i], sizeof(bits));
        tfd_pb_put_fixed32(b, LIST_TAG(f), bits);
    }
    tfd_pb_finish(b, list);
}

void tfd_attr_put_types(struct tfd_bytes *b, const int *v, int count)
{
    size_t list = tfd_pb_begin(b, TAG(list));
    size_t packed = count ? tfd_pb_begin(b, LIST_TAG(type)) : 0;

    for (int i = 0; i < count; i++)
        tfd_pb_put_varint(b, (uint64_t)v[i]);
    if (count)
        tfd_pb_finish(b, packed);
    tfd_pb_finish(b, list);
}

void tfd_attr_put_shapes(struct tfd_bytes *b, const struct tfd_shape *v,
                         int count)
{
    size_t list = tfd_pb_begin(b, TAG(list));

    for (int i = 0; i < count; i++) {
        size_t shape = tfd_pb_begin(b, LIST_TAG(shape));

        tfd_tensor_proto_shape_encode(b, &v[i]);
        tfd_pb_finish(b, shape);
    }
    tfd_pb_finish(b, list);
}
