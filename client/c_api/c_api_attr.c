/*
 * c_api_attr.c - TF_SetAttr...: values as AttrValue messages.  The graph checks
 * them against the operation's definition when it is finished.
 */
#include "client/c_api/op_desc.h"

#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "common/base/shape_long.h"
#include "common/proto/tensor_proto.h"

#include <stdlib.h>
#include <string.h>

#define LIST tensorflow_AttrValue_list_tag
#define ITEM(name) tensorflow_AttrValue_ListValue_##name##_tag

/* The nodes that a node is colocated with, unless the value is for another
 * attribute: a list of strings replaces them, any other value forgets them. */
static bool set_classes(TF_OperationDescription *desc, const char *attr_name,
                        struct tfd_str value)
{
    if (strcmp(attr_name, "_class"))
        return false;
    tfd_op_desc_classes(desc, value);
    return true;
}

/* ---- Single values ------------------------------------------------------- */

void TF_SetAttrString(TF_OperationDescription *desc, const char *attr_name,
                      const void *value, size_t length)
{
    struct tfd_bytes b;

    tfd_op_desc_value_init(&b);
    tfd_attr_put_str(&b, (struct tfd_str){value, length});
    tfd_op_desc_take(desc, attr_name, &b);
}

void TF_SetAttrInt(TF_OperationDescription *desc, const char *attr_name,
                   int64_t value)
{
    struct tfd_bytes b;

    tfd_op_desc_value_init(&b);
    tfd_attr_put_int(&b, value);
    tfd_op_desc_take(desc, attr_name, &b);
}

void TF_SetAttrFloat(TF_OperationDescription *desc, const char *attr_name,
                     float value)
{
    struct tfd_bytes b;

    tfd_op_desc_value_init(&b);
    tfd_attr_put_float(&b, value);
    tfd_op_desc_take(desc, attr_name, &b);
}

void TF_SetAttrBool(TF_OperationDescription *desc, const char *attr_name,
                    unsigned char value)
{
    struct tfd_bytes b;

    tfd_op_desc_value_init(&b);
    tfd_attr_put_bool(&b, value != 0);
    tfd_op_desc_take(desc, attr_name, &b);
}

void TF_SetAttrType(TF_OperationDescription *desc, const char *attr_name,
                    TF_DataType value)
{
    struct tfd_bytes b;

    tfd_op_desc_value_init(&b);
    tfd_attr_put_type(&b, (int)value);
    tfd_op_desc_take(desc, attr_name, &b);
}

static bool read_shape(TF_OperationDescription *desc, const char *attr_name,
                       const int64_t *dims, int num_dims, struct tfd_shape *out)
{
    struct tfd_status why = TFD_STATUS_INIT;
    int64_t known[TFD_RANK_LONG_MAX];

    *out = (struct tfd_shape)TFD_SHAPE_UNKNOWN;
    /* TensorFlow takes any negative number for what is not known. */
    for (int i = 0; i < num_dims && i < TFD_RANK_LONG_MAX; i++)
        known[i] = dims[i] < 0 ? TFD_DIM_UNKNOWN : dims[i];
    if (num_dims < 0 ||
        tfd_shape_make_any_partial(out, known, num_dims, &why) == TFD_OK)
        return true;
    tfd_fail(&desc->st, why.code, "attribute %.100s: %s", attr_name, why.text);
    return false;
}

void TF_SetAttrShape(TF_OperationDescription *desc, const char *attr_name,
                     const int64_t *dims, int num_dims)
{
    struct tfd_shape shape;
    struct tfd_bytes b;

    if (!read_shape(desc, attr_name, dims, num_dims, &shape))
        return;
    tfd_op_desc_value_init(&b);
    tfd_attr_put_shape(&b, &shape);
    tfd_op_desc_take(desc, attr_name, &b);
}

void TF_SetAttrTensor(TF_OperationDescription *desc, const char *attr_name,
                      TF_Tensor *value, TF_Status *status)
{
    struct tfd_status *st = tfd_capi_status(status);
    struct tfd_bytes b;

    if (!value) {
        tfd_fail(st, TFD_INVALID_ARGUMENT, "attribute %.100s: no tensor",
                 attr_name);
        return;
    }
    tfd_op_desc_value_init(&b);
    tfd_attr_put_tensor(&b, &value->tensor);
    (void)!tfd_bytes_ok(&b, "a constant", st);
    tfd_op_desc_take(desc, attr_name, &b);
}

void TF_SetAttrValueProto(TF_OperationDescription *desc, const char *attr_name,
                          const void *proto, size_t proto_len,
                          TF_Status *status)
{
    struct tfd_str value = {proto, proto_len};
    struct tfd_pb_reader r = tfd_pb_reader_of(value);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        ;
    if (tfd_pb_end(&r, "AttrValue", NULL) != TFD_OK)
        tfd_fail(tfd_capi_status(status), TFD_INVALID_ARGUMENT,
                 "Unparseable AttrValue proto");
    else if (!set_classes(desc, attr_name, value))
        tfd_op_desc_attr(desc, tfd_str_of(attr_name), value);
}

/* ---- Lists --------------------------------------------------------------- */

void TF_SetAttrStringList(TF_OperationDescription *desc, const char *attr_name,
                          const void *const *values, const size_t *lengths,
                          int num_values)
{
    struct tfd_bytes b;
    size_t mark;

    tfd_op_desc_value_init(&b);
    mark = tfd_pb_begin(&b, LIST);
    for (int i = 0; i < num_values; i++)
        tfd_pb_put_str_always(&b, ITEM(s),
                              (struct tfd_str){values[i], lengths[i]});
    tfd_pb_finish(&b, mark);
    if (!set_classes(desc, attr_name, tfd_bytes_view(&b)))
        tfd_op_desc_take(desc, attr_name, &b);
    tfd_bytes_deinit(&b);
}

/* A packed list of numbers: `item` writes element i. */
typedef void put_item_fn(struct tfd_bytes *b, const void *values, int i);

static void set_packed(TF_OperationDescription *desc, const char *attr_name,
                       uint32_t tag, put_item_fn *item, const void *values,
                       int count)
{
    struct tfd_bytes b;
    size_t list, packed;

    tfd_op_desc_value_init(&b);
    list = tfd_pb_begin(&b, LIST);
    if (count > 0) {
        packed = tfd_pb_begin(&b, tag);
        for (int i = 0; i < count; i++)
            item(&b, values, i);
        tfd_pb_finish(&b, packed);
    }
    tfd_pb_finish(&b, list);
    tfd_op_desc_take(desc, attr_name, &b);
}

static void put_int(struct tfd_bytes *b, const void *values, int i)
{
    tfd_pb_put_varint(b, (uint64_t)((const int64_t *)values)[i]);
}

static void put_float(struct tfd_bytes *b, const void *values, int i)
{
    uint32_t bits;
    char *at = tfd_bytes_extend(b, sizeof(bits));

    memcpy(&bits, (const float *)values + i, sizeof(bits));
    for (size_t k = 0; at && k < sizeof(bits); k++)
        at[k] = (char)(uint8_t)(bits >> (8 * k));
}

static void put_bool(struct tfd_bytes *b, const void *values, int i)
{
    tfd_pb_put_varint(b, ((const unsigned char *)values)[i] != 0);
}

static void put_type(struct tfd_bytes *b, const void *values, int i)
{
    tfd_pb_put_varint(b, (uint64_t)((const TF_DataType *)values)[i]);
}

void TF_SetAttrIntList(TF_OperationDescription *desc, const char *attr_name,
                       const int64_t *values, int num_values)
{
    set_packed(desc, attr_name, ITEM(i), put_int, values, num_values);
}

void TF_SetAttrFloatList(TF_OperationDescription *desc, const char *attr_name,
                         const float *values, int num_values)
{
    set_packed(desc, attr_name, ITEM(f), put_float, values, num_values);
}

void TF_SetAttrBoolList(TF_OperationDescription *desc, const char *attr_name,
                        const unsigned char *values, int num_values)
{
    set_packed(desc, attr_name, ITEM(b), put_bool, values, num_values);
}

void TF_SetAttrTypeList(TF_OperationDescription *desc, const char *attr_name,
                        const TF_DataType *values, int num_values)
{
    set_packed(desc, attr_name, ITEM(type), put_type, values, num_values);
}

void TF_SetAttrShapeList(TF_OperationDescription *desc, const char *attr_name,
                         const int64_t *const *dims, const int *num_dims,
                         int num_shapes)
{
    struct tfd_shape shape;
    struct tfd_bytes b;
    size_t list, mark;

    tfd_op_desc_value_init(&b);
    list = tfd_pb_begin(&b, LIST);
    for (int i = 0; i < num_shapes; i++) {
        if (!read_shape(desc, attr_name, dims[i], num_dims[i], &shape))
            break;
        mark = tfd_pb_begin(&b, ITEM(shape));
        tfd_tensor_proto_shape_encode(&b, &shape);
        tfd_pb_finish(&b, mark);
    }
    tfd_pb_finish(&b, list);
    tfd_op_desc_take(desc, attr_name, &b);
}
