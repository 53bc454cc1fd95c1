/*
 * c_api_get_attr.c - TF_OperationGetAttr...: values as they were given, else
 * the operation's defaults.
 */
#include "client/c_api/capi.h"

#include "common/graph/attr.h"
#include "common/proto/graph.pb.h"
#include "common/base/shape_long.h"
#include "common/proto/tensor_proto.h"

#include <stdlib.h>
#include <string.h>

/* ---- Metadata ------------------------------------------------------------ */

/* What TensorFlow calls total_size, of one element. */
static int64_t element_size(enum tfd_attr_kind kind, struct tfd_str bytes)
{
    struct tfd_shape shape;

    if (kind == TFD_ATTR_STRING)
        return (int64_t)bytes.size;
    if (kind != TFD_ATTR_SHAPE ||
        tfd_tensor_proto_shape_decode_any(bytes, &shape, NULL) != TFD_OK)
        return -1;
    return shape.rank;
}

static enum tfd_code list_metadata(enum tfd_attr_kind kind,
                                   struct tfd_str value, TF_AttrMetadata *out,
                                   struct tfd_status *st)
{
    struct tfd_attr_list list;
    struct tfd_pb_field f;
    struct tfd_str items;
    int64_t total = 0;

    TFD_TRY(tfd_attr_list(value, kind, &items, &out->list_size, st));
    list = tfd_attr_list_of(items);
    while (tfd_attr_list_next(&list, &f)) {
        int64_t size = element_size(kind, f.bytes);

        total = size < 0 || total < 0 ? -1 : total + size;
    }
    out->is_list = 1;
    out->total_size = out->list_size ? total : 0;
    if (kind != TFD_ATTR_STRING && kind != TFD_ATTR_SHAPE)
        out->total_size = -1;
    return tfd_pb_end(&list.reader, "AttrValue", st);
}

static enum tfd_code fail_missing_attr(const TF_Operation *oper,
                                       const char *name, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Operation '" TFD_STR_FMT "' has no attr named '%.100s'.",
                    TFD_STR_ARG(oper->node->name), name);
}

static enum tfd_code find_attr_of(const TF_Operation *oper, const char *name,
                                  struct tfd_str *value, struct tfd_status *st)
{
    if (tfd_node_attr(oper->node, name, value))
        return TFD_OK;
    return fail_missing_attr(oper, name, st);
}

/* Of an attribute that is not the definition's ("_class"): by what is set. */
static enum tfd_attr_kind kind_of(const struct tfd_pb_field *f)
{
    for (int kind = TFD_ATTR_STRING; kind < TFD_ATTR_FUNC; kind++)
        if (tfd_attr_tag((enum tfd_attr_kind)kind) == f->tag)
            return (enum tfd_attr_kind)kind;
    return TFD_ATTR_FUNC;
}

static enum tfd_code list_kind_of(struct tfd_str items,
                                  enum tfd_attr_kind *kind,
                                  struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(items);
    struct tfd_pb_field f;

    *kind = TFD_ATTR_STRING; /* of an empty list nobody can tell */
    while (tfd_pb_next(&r, &f))
        for (int k = TFD_ATTR_STRING; k <= TFD_ATTR_FUNC; k++)
            if (tfd_attr_list_tag((enum tfd_attr_kind)k) == f.tag)
                *kind = (enum tfd_attr_kind)k;
    return tfd_pb_end(&r, "AttrValue", st);
}

static enum tfd_code metadata(const TF_Operation *oper, const char *name,
                              TF_AttrMetadata *out, struct tfd_status *st)
{
    const struct tfd_op_attr *def =
        tfd_op_attr_find(oper->node->op, tfd_str_of(name));
    enum tfd_attr_kind kind;
    struct tfd_pb_field f;
    struct tfd_str value;

    TFD_TRY(find_attr_of(oper, name, &value, st));
    TFD_TRY(tfd_attr_read(value, &f, st));
    if (f.tag == tensorflow_AttrValue_list_tag) {
        kind = def ? def->kind : TFD_ATTR_STRING;
        if (!def)
            TFD_TRY(list_kind_of(f.bytes, &kind, st));
        TFD_TRY(list_metadata(kind, value, out, st));
    } else {
        kind = def ? def->kind : kind_of(&f);
        out->list_size = -1;
        out->total_size = element_size(kind, f.bytes);
    }
    out->type = kind == TFD_ATTR_FUNC ? TF_ATTR_FUNC : (TF_AttrType)kind;
    return TFD_OK;
}

_Static_assert((int)TFD_ATTR_STRING == TF_ATTR_STRING &&
                   (int)TFD_ATTR_TYPE == TF_ATTR_TYPE &&
                   (int)TFD_ATTR_TENSOR == TF_ATTR_TENSOR,
               "kinds up to tensor have TensorFlow's numbers");

TF_AttrMetadata TF_OperationGetAttrMetadata(TF_Operation *oper,
                                            const char *attr_name,
                                            TF_Status *status)
{
    TF_AttrMetadata out = {0};

    (void)!metadata(oper, attr_name, &out, tfd_capi_status(status));
    return out;
}

/* ---- Values -------------------------------------------------------------- */

/* There is a single value of this kind; the texts are those of the getters of
 * everything but strings and lists. */
static bool is_single(const TF_Operation *oper, const char *name,
                      enum tfd_attr_kind kind, struct tfd_status *st)
{
    struct tfd_str value;

    if (tfd_node_attr(oper->node, name, &value))
        return tfd_attr_check_kind(value, kind, st) == TFD_OK;
    tfd_fail(st, TFD_NOT_FOUND,
             "No attr named '%.100s' in NodeDef:\n\t [[{{node " TFD_STR_FMT
             "}}]]",
             name, TFD_STR_ARG(oper->node->name));
    return false;
}

void TF_OperationGetAttrString(TF_Operation *oper, const char *attr_name,
                               void *value, size_t max_length,
                               TF_Status *status)
{
    struct tfd_status *st = tfd_capi_status(status);
    struct tfd_str message, s;

    if (find_attr_of(oper, attr_name, &message, st) != TFD_OK)
        return;
    if (tfd_attr_check_kind(message, TFD_ATTR_STRING, NULL) != TFD_OK)
        tfd_fail(st, TFD_INVALID_ARGUMENT, "Attribute '%.100s' is not a string",
                 attr_name);
    else if (tfd_node_str(oper->node, attr_name, &s, st) == TFD_OK && s.size)
        memcpy(value, s.data, s.size < max_length ? s.size : max_length);
}

void TF_OperationGetAttrInt(TF_Operation *oper, const char *attr_name,
                            int64_t *value, TF_Status *status)
{
    struct tfd_status *st = tfd_capi_status(status);

    if (is_single(oper, attr_name, TFD_ATTR_INT, st))
        (void)!tfd_node_int(oper->node, attr_name, value, st);
}

void TF_OperationGetAttrFloat(TF_Operation *oper, const char *attr_name,
                              float *value, TF_Status *status)
{
    struct tfd_status *st = tfd_capi_status(status);

    if (is_single(oper, attr_name, TFD_ATTR_FLOAT, st))
        (void)!tfd_node_float(oper->node, attr_name, value, st);
}

void TF_OperationGetAttrBool(TF_Operation *oper, const char *attr_name,
                             unsigned char *value, TF_Status *status)
{
    struct tfd_status *st = tfd_capi_status(status);
    bool b;

    if (is_single(oper, attr_name, TFD_ATTR_BOOL, st) &&
        tfd_node_bool(oper->node, attr_name, &b, st) == TFD_OK)
        *value = b;
}

void TF_OperationGetAttrType(TF_Operation *oper, const char *attr_name,
                             TF_DataType *value, TF_Status *status)
{
    struct tfd_status *st = tfd_capi_status(status);
    enum tfd_dtype dtype;

    if (is_single(oper, attr_name, TFD_ATTR_TYPE, st) &&
        tfd_node_type(oper->node, attr_name, &dtype, st) == TFD_OK)
        *value = (TF_DataType)dtype;
}

void TF_OperationGetAttrShape(TF_Operation *oper, const char *attr_name,
                              int64_t *value, int num_dims, TF_Status *status)
{
    int64_t dim[TFD_RANK_LONG_MAX];
    struct tfd_status *st = tfd_capi_status(status);
    struct tfd_shape shape;

    if (!is_single(oper, attr_name, TFD_ATTR_SHAPE, st) ||
        tfd_node_shape_any(oper->node, attr_name, &shape, st) != TFD_OK)
        return;
    if (shape.rank != TFD_RANK_UNKNOWN)
        tfd_shape_dims(&shape, dim);
    for (int i = 0; i < num_dims && i < shape.rank; i++)
        value[i] = dim[i];
}

void TF_OperationGetAttrTensor(TF_Operation *oper, const char *attr_name,
                               TF_Tensor **value, TF_Status *status)
{
    struct tfd_status *st = tfd_capi_status(status);
    struct tfd_tensor t;

    if (!is_single(oper, attr_name, TFD_ATTR_TENSOR, st) ||
        tfd_node_tensor(oper->node, attr_name, &t, st) != TFD_OK)
        return;
    *value = tfd_capi_tensor(&t);
    if (!*value)
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a tensor");
}

void TF_OperationGetAttrValueProto(TF_Operation *oper, const char *attr_name,
                                   TF_Buffer *output_attr_value,
                                   TF_Status *status)
{
    struct tfd_status *st = tfd_capi_status(status);
    struct tfd_str value;
    struct tfd_bytes b;

    if (find_attr_of(oper, attr_name, &value, st) != TFD_OK)
        return;
    tfd_bytes_init(&b, TFD_CAPI_MESSAGE_MAX);
    tfd_bytes_add_str(&b, value);
    (void)!tfd_capi_give(output_attr_value, &b, st);
}

/* ---- Lists: as many as fit ----------------------------------------------- */

typedef void store_fn(void *values, int i, const struct tfd_pb_field *f);

static void get_list(const TF_Operation *oper, const char *name,
                     enum tfd_attr_kind kind, store_fn *store, void *values,
                     int max, struct tfd_status *st)
{
    struct tfd_attr_list list;
    struct tfd_pb_field f;
    struct tfd_str value, items;
    int64_t count;

    if (find_attr_of(oper, name, &value, st) != TFD_OK)
        return;
    if (tfd_attr_read(value, &f, NULL) != TFD_OK ||
        f.tag != tensorflow_AttrValue_list_tag) {
        tfd_fail(st, TFD_INVALID_ARGUMENT, "Value for '%.100s' is not a list.",
                 name);
        return;
    }
    if (tfd_attr_list(value, kind, &items, &count, st) != TFD_OK)
        return;
    list = tfd_attr_list_of(items);
    for (int i = 0; i < max && tfd_attr_list_next(&list, &f); i++)
        store(values, i, &f);
    (void)!tfd_pb_end(&list.reader, "AttrValue", st);
}

static void store_int(void *values, int i, const struct tfd_pb_field *f)
{
    ((int64_t *)values)[i] = (int64_t)f->number;
}

static void store_float(void *values, int i, const struct tfd_pb_field *f)
{
    uint32_t bits = (uint32_t)f->number;

    memcpy((float *)values + i, &bits, sizeof(bits));
}

static void store_type(void *values, int i, const struct tfd_pb_field *f)
{
    ((TF_DataType *)values)[i] = (TF_DataType)f->number;
}

void TF_OperationGetAttrIntList(TF_Operation *oper, const char *attr_name,
                                int64_t *values, int max_values,
                                TF_Status *status)
{
    get_list(oper, attr_name, TFD_ATTR_INT, store_int, values, max_values,
             tfd_capi_status(status));
}

void TF_OperationGetAttrFloatList(TF_Operation *oper, const char *attr_name,
                                  float *values, int max_values,
                                  TF_Status *status)
{
    get_list(oper, attr_name, TFD_ATTR_FLOAT, store_float, values, max_values,
             tfd_capi_status(status));
}

void TF_OperationGetAttrTypeList(TF_Operation *oper, const char *attr_name,
                                 TF_DataType *values, int max_values,
                                 TF_Status *status)
{
    get_list(oper, attr_name, TFD_ATTR_TYPE, store_type, values, max_values,
             tfd_capi_status(status));
}
