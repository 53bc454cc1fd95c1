/*
 * attr.c - typed access to the attributes of nodes, as graph.h declares it.
 *
 * Nodes have few attributes, so they are searched one after the other.  Kinds
 * were checked when the node was added (attr_check.c); they are looked at here
 * again because a kernel may ask for an attribute its definition lacks.
 */
#include "common/graph/attr.h"

#include "common/graph/graph.h"
#include "common/proto/tensor_proto.h"

#include <string.h>

/* ---- One value ----------------------------------------------------------- */

bool tfd_node_attr(const struct tfd_node *n, const char *name,
                   struct tfd_str *value)
{
    const struct tfd_op_attr *a;

    for (int32_t i = 0; i < n->attr_count; i++)
        if (tfd_str_is(n->attrs[i].name, name)) {
            *value = n->attrs[i].value;
            return true;
        }
    a = tfd_op_attr_find(n->op, tfd_str_of(name));
    if (!a || !a->has_default)
        return false;
    *value = a->default_value;
    return true;
}

static enum tfd_code find_attr(const struct tfd_node *n, const char *name,
                               struct tfd_str *value, struct tfd_status *st)
{
    if (tfd_node_attr(n, name, value))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "No attr named '%s' in NodeDef: {{node " TFD_STR_FMT "}}",
                    name, TFD_STR_ARG(n->name));
}

static enum tfd_code fail_kind(const struct tfd_node *n, const char *name,
                               const char *list, enum tfd_attr_kind kind,
                               struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Attr '%s' of node " TFD_STR_FMT " is not a %s%s%s", name,
                    TFD_STR_ARG(n->name), list, tfd_attr_kind_name(kind),
                    *list ? ")" : "");
}

static enum tfd_code get(const struct tfd_node *n, const char *name,
                         enum tfd_attr_kind kind, struct tfd_pb_field *f,
                         struct tfd_status *st)
{
    struct tfd_str value;

    TFD_TRY(find_attr(n, name, &value, st));
    TFD_TRY(tfd_attr_read(value, f, st));
    return f->tag == tfd_attr_tag(kind) ? TFD_OK
                                        : fail_kind(n, name, "", kind, st);
}

static float float_of(const struct tfd_pb_field *f)
{
    uint32_t bits = (uint32_t)f->number;
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static enum tfd_code dtype_of(const struct tfd_pb_field *f, enum tfd_dtype *out,
                              struct tfd_status *st)
{
    uint32_t number = (uint32_t)f->number; /* an enum has 32 bits */

    if (number >= TFD_DTYPE_END || !tfd_dtype_valid((int)number))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%u is not a type", number);
    *out = (enum tfd_dtype)number;
    return TFD_OK;
}

enum tfd_code tfd_node_int(const struct tfd_node *n, const char *name,
                           int64_t *out, struct tfd_status *st)
{
    struct tfd_pb_field f;

    TFD_TRY(get(n, name, TFD_ATTR_INT, &f, st));
    *out = (int64_t)f.number;
    return TFD_OK;
}

enum tfd_code tfd_node_float(const struct tfd_node *n, const char *name,
                             float *out, struct tfd_status *st)
{
    struct tfd_pb_field f;

    TFD_TRY(get(n, name, TFD_ATTR_FLOAT, &f, st));
    *out = float_of(&f);
    return TFD_OK;
}

enum tfd_code tfd_node_bool(const struct tfd_node *n, const char *name,
                            bool *out, struct tfd_status *st)
{
    struct tfd_pb_field f;

    TFD_TRY(get(n, name, TFD_ATTR_BOOL, &f, st));
    *out = f.number != 0;
    return TFD_OK;
}

enum tfd_code tfd_node_type(const struct tfd_node *n, const char *name,
                            enum tfd_dtype *out, struct tfd_status *st)
{
    struct tfd_pb_field f;

    TFD_TRY(get(n, name, TFD_ATTR_TYPE, &f, st));
    return dtype_of(&f, out, st);
}

enum tfd_code tfd_node_str(const struct tfd_node *n, const char *name,
                           struct tfd_str *out, struct tfd_status *st)
{
    struct tfd_pb_field f;

    TFD_TRY(get(n, name, TFD_ATTR_STRING, &f, st));
    *out = f.bytes;
    return TFD_OK;
}

enum tfd_code tfd_node_shape(const struct tfd_node *n, const char *name,
                             struct tfd_shape *out, struct tfd_status *st)
{
    struct tfd_pb_field f;

    TFD_TRY(get(n, name, TFD_ATTR_SHAPE, &f, st));
    return tfd_tensor_proto_shape_decode(f.bytes, out, st);
}

enum tfd_code tfd_node_shape_any(const struct tfd_node *n, const char *name,
                                 struct tfd_shape *out, struct tfd_status *st)
{
    struct tfd_pb_field f;

    TFD_TRY(get(n, name, TFD_ATTR_SHAPE, &f, st));
    return tfd_tensor_proto_shape_decode_any(f.bytes, out, st);
}

enum tfd_code tfd_node_tensor(const struct tfd_node *n, const char *name,
                              struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    struct tfd_tensor_head head;
    struct tfd_pb_field f;

    TFD_TRY(get(n, name, TFD_ATTR_TENSOR, &f, st));
    if (tfd_tensor_proto_head(f.bytes, &head, &why) == TFD_OK &&
        tfd_tensor_proto_decode(&head, NULL, out, &why) == TFD_OK)
        return TFD_OK;
    tfd_status_context(&why, "Cannot parse tensor from proto");
    return tfd_status_copy(st, &why);
}

enum tfd_code tfd_node_tensor_shape(const struct tfd_node *n, const char *name,
                                    struct tfd_shape *out,
                                    struct tfd_status *st)
{
    struct tfd_tensor_head head;
    struct tfd_pb_field f;

    TFD_TRY(get(n, name, TFD_ATTR_TENSOR, &f, st));
    TFD_TRY(tfd_tensor_proto_head(f.bytes, &head, st));
    *out = head.shape;
    return TFD_OK;
}

/* ---- Lists --------------------------------------------------------------- */

/* The elements are all of this kind then, and no more than max. */
static enum tfd_code open_list(const struct tfd_node *n, const char *name,
                               enum tfd_attr_kind kind, int max, int *count,
                               struct tfd_attr_list *l, struct tfd_status *st)
{
    struct tfd_str value, list_value;
    int64_t elements;

    TFD_TRY(find_attr(n, name, &value, st));
    if (tfd_attr_list(value, kind, &list_value, &elements, NULL))
        return fail_kind(n, name, "list(", kind, st);
    if (elements > max)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Attr '%s' of node " TFD_STR_FMT " has %lld elements; "
                        "at most %d are supported",
                        name, TFD_STR_ARG(n->name), (long long)elements, max);
    *count = (int)elements;
    *l = tfd_attr_list_of(list_value);
    return TFD_OK;
}

enum tfd_code tfd_node_ints(const struct tfd_node *n, const char *name,
                            int64_t *out, int max, int *count,
                            struct tfd_status *st)
{
    struct tfd_attr_list l;
    struct tfd_pb_field f;

    TFD_TRY(open_list(n, name, TFD_ATTR_INT, max, count, &l, st));
    while (tfd_attr_list_next(&l, &f))
        *out++ = (int64_t)f.number;
    return TFD_OK;
}

enum tfd_code tfd_node_floats(const struct tfd_node *n, const char *name,
                              float *out, int max, int *count,
                              struct tfd_status *st)
{
    struct tfd_attr_list l;
    struct tfd_pb_field f;

    TFD_TRY(open_list(n, name, TFD_ATTR_FLOAT, max, count, &l, st));
    while (tfd_attr_list_next(&l, &f))
        *out++ = float_of(&f);
    return TFD_OK;
}

enum tfd_code tfd_node_strs(const struct tfd_node *n, const char *name,
                            struct tfd_str *out, int max, int *count,
                            struct tfd_status *st)
{
    struct tfd_attr_list l;
    struct tfd_pb_field f;

    TFD_TRY(open_list(n, name, TFD_ATTR_STRING, max, count, &l, st));
    while (tfd_attr_list_next(&l, &f))
        *out++ = f.bytes;
    return TFD_OK;
}

enum tfd_code tfd_node_types(const struct tfd_node *n, const char *name,
                             enum tfd_dtype *out, int max, int *count,
                             struct tfd_status *st)
{
    struct tfd_attr_list l;
    struct tfd_pb_field f;

    TFD_TRY(open_list(n, name, TFD_ATTR_TYPE, max, count, &l, st));
    while (tfd_attr_list_next(&l, &f))
        TFD_TRY(dtype_of(&f, out++, st));
    return TFD_OK;
}

enum tfd_code tfd_node_shapes(const struct tfd_node *n, const char *name,
                              struct tfd_shape *out, int max, int *count,
                              struct tfd_status *st)
{
    struct tfd_attr_list l;
    struct tfd_pb_field f;

    TFD_TRY(open_list(n, name, TFD_ATTR_SHAPE, max, count, &l, st));
    while (tfd_attr_list_next(&l, &f))
        TFD_TRY(tfd_tensor_proto_shape_decode(f.bytes, out++, st));
    return TFD_OK;
}
