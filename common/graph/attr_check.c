/*
 * attr_check.c - see attr.h.
 *
 * What is checked here need not be checked by anyone who reads the attribute
 * of a node later: types exist, shapes are shapes, tensors have a type and a
 * shape.  Contents of tensors are left to who decodes them.
 */
#include "common/graph/attr.h"

#include "common/proto/graph.pb.h"
#include "common/proto/tensor_proto.h"

#define TEXT_MAX 512 /* of a list in a message */

/* ---- Kinds --------------------------------------------------------------- */

/* The word for what a message holds: "int", "list(type)", "placeholder". */
static const char *member_name(const struct tfd_pb_field *value, bool *list)
{
    struct tfd_attr_list l = tfd_attr_list_of(value->bytes);
    struct tfd_pb_field f = *value;

    *list = value->tag == tensorflow_AttrValue_list_tag;
    if (*list && !tfd_attr_list_next(&l, &f))
        return "any";
    for (int k = TFD_ATTR_STRING; k <= TFD_ATTR_FUNC; k++) {
        enum tfd_attr_kind kind = (enum tfd_attr_kind)k;

        if (f.tag == (*list ? tfd_attr_list_tag(kind) : tfd_attr_tag(kind)))
            return tfd_attr_kind_name(kind);
    }
    return "placeholder";
}

static enum tfd_code fail_member(enum tfd_attr_kind kind, bool list,
                                 const struct tfd_pb_field *value,
                                 struct tfd_status *st)
{
    const char *open = list ? "list(" : "", *close = list ? ")" : "";
    const char *expected = tfd_attr_kind_name(kind), *name;
    bool was_list;

    if (!value->tag)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "AttrValue missing value with expected type '%s%s%s'",
                        open, expected, close);
    name = member_name(value, &was_list);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "AttrValue had value with type '%s%s%s' when '%s%s%s' "
                    "expected",
                    was_list ? "list(" : "", name, was_list ? ")" : "", open,
                    expected, close);
}

static enum tfd_code fail_kind(const struct tfd_op_attr *a,
                               const struct tfd_pb_field *value,
                               struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;

    (void)fail_member(a->kind, a->list, value, &why);
    return tfd_fail(st, why.code, "%s\n\t for attr '" TFD_STR_FMT "'", why.text,
                    TFD_STR_ARG(a->name));
}

enum tfd_code tfd_attr_check_kind(struct tfd_str message,
                                  enum tfd_attr_kind kind,
                                  struct tfd_status *st)
{
    struct tfd_pb_field f;

    TFD_TRY(tfd_attr_read(message, &f, st));
    return f.tag == tfd_attr_tag(kind) ? TFD_OK
                                       : fail_member(kind, false, &f, st);
}

/* ---- Values -------------------------------------------------------------- */

static enum tfd_code fail_allowed(const struct tfd_op_attr *a,
                                  struct tfd_str value, const char *quote,
                                  struct tfd_status *st)
{
    struct tfd_bytes list;
    enum tfd_code rc;

    tfd_bytes_init(&list, TEXT_MAX);
    for (int i = 1; a->types && i < TFD_DTYPE_END; i++)
        if (a->types >> i & 1)
            tfd_bytes_printf(&list, "%s%s", list.size ? ", " : "",
                             tfd_dtype_name(i));
    for (int i = 0; i < a->string_count; i++)
        tfd_bytes_printf(&list, "%s\"" TFD_STR_FMT "\"", list.size ? ", " : "",
                         TFD_STR_ARG(a->strings[i]));
    rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                  "Value for attr '" TFD_STR_FMT "' of %s" TFD_STR_FMT
                  "%s is not in the list of allowed values: " TFD_STR_FMT,
                  TFD_STR_ARG(a->name), quote, TFD_STR_ARG(value), quote,
                  TFD_STR_ARG(tfd_bytes_view(&list)));
    tfd_bytes_deinit(&list);
    return rc;
}

static enum tfd_code check_type_number(const struct tfd_op_attr *a,
                                       int64_t number, struct tfd_status *st)
{
    int dtype = number > 0 && number < INT16_MAX ? (int)number : 0;

    if (tfd_dtype_is_ref(dtype))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "AttrValue must not have reference type value of %s"
                        "\n\t for attr '" TFD_STR_FMT "'",
                        tfd_dtype_name(dtype), TFD_STR_ARG(a->name));
    if (number == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "AttrValue has invalid DataType\n\t for attr "
                        "'" TFD_STR_FMT "'",
                        TFD_STR_ARG(a->name));
    if (!tfd_dtype_valid(dtype))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "AttrValue has invalid DataType enum: %lld"
                        "\n\t for attr '" TFD_STR_FMT "'",
                        (long long)number, TFD_STR_ARG(a->name));
    if (a->types >> dtype & 1)
        return TFD_OK;
    return fail_allowed(a, tfd_str_of(tfd_dtype_name(dtype)), "", st);
}

static enum tfd_code check_string(const struct tfd_op_attr *a,
                                  struct tfd_str value, struct tfd_status *st)
{
    for (int i = 0; i < a->string_count; i++)
        if (tfd_str_eq(a->strings[i], value))
            return TFD_OK;
    return a->string_count ? fail_allowed(a, value, "\"", st) : TFD_OK;
}

/* f holds one value of the right kind. */
static enum tfd_code check_value(const struct tfd_op_attr *a,
                                 const struct tfd_pb_field *f,
                                 struct tfd_status *st)
{
    struct tfd_tensor_head head;
    struct tfd_shape shape;

    switch (a->kind) {
    case TFD_ATTR_TYPE:
        /* An enum: the low 32 bits, with a sign. */
        return check_type_number(a, (int32_t)(uint32_t)f->number, st);
    case TFD_ATTR_STRING:
        return check_string(a, f->bytes, st);
    case TFD_ATTR_SHAPE:
        return tfd_tensor_proto_shape_decode_any(f->bytes, &shape, st);
    case TFD_ATTR_TENSOR:
        return tfd_tensor_proto_head(f->bytes, &head, st);
    default:
        return TFD_OK;
    }
}

static enum tfd_code check_minimum(const struct tfd_op_attr *a,
                                   const char *what, int64_t value,
                                   struct tfd_status *st)
{
    if (!a->has_minimum || value >= a->minimum)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s for attr '" TFD_STR_FMT "' of %lld must be at least "
                    "minimum %lld",
                    what, TFD_STR_ARG(a->name), (long long)value,
                    (long long)a->minimum);
}

static enum tfd_code check_list(const struct tfd_op_attr *a,
                                struct tfd_str message, struct tfd_status *st)
{
    struct tfd_str list_value;
    struct tfd_attr_list l;
    struct tfd_pb_field f;
    int64_t count;

    if (tfd_attr_list(message, a->kind, &list_value, &count, NULL)) {
        TFD_TRY(tfd_attr_read(message, &f, st));
        return fail_kind(a, &f, st);
    }
    l = tfd_attr_list_of(list_value);
    while (tfd_attr_list_next(&l, &f))
        TFD_TRY(check_value(a, &f, st));
    return check_minimum(a, "Length", count, st);
}

enum tfd_code tfd_attr_check(const struct tfd_op_attr *a,
                             struct tfd_str message, struct tfd_status *st)
{
    struct tfd_pb_field f;

    if (a->list)
        return check_list(a, message, st);
    TFD_TRY(tfd_attr_read(message, &f, st));
    if (f.tag != tfd_attr_tag(a->kind))
        return fail_kind(a, &f, st);
    TFD_TRY(check_value(a, &f, st));
    return a->kind == TFD_ATTR_INT
               ? check_minimum(a, "Value", (int64_t)f.number, st)
               : TFD_OK;
}
