/*
 * opdef_read.c - see opdef_read.h.  Attributes come first, because arguments
 * name them.
 */
#include "common/graph/opdef_read.h"

#include "common/graph/attr.h"
#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "config/limits.h"

#define OP(name) tensorflow_OpDef_##name##_tag
#define ARG(name) tensorflow_OpDef_ArgDef_##name##_tag
#define ATTR(name) tensorflow_OpDef_AttrDef_##name##_tag

struct reading {
    struct tfd_str message;
    struct tfd_arena *arena;
    struct tfd_op *op;
    struct tfd_status *st;
};

static const struct tfd_opdef function_def = {.name = "function"};

static enum tfd_code fail_op_def(const struct reading *d, struct tfd_str name,
                                 const char *what)
{
    return tfd_fail(d->st, TFD_INVALID_ARGUMENT,
                    "signature of function " TFD_STR_FMT ": '" TFD_STR_FMT
                    "' %s",
                    TFD_STR_ARG(d->op->name), TFD_STR_ARG(name), what);
}

static enum tfd_code make_array(const struct reading *d, uint32_t tag,
                                size_t size, void **out)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(d->message);
    struct tfd_pb_field f;
    int32_t count = 0;

    while (tfd_pb_next(&r, &f))
        count += f.tag == tag;
    if (count > TFD_NODE_INPUTS_MAX)
        return tfd_fail(d->st, TFD_RESOURCE_EXHAUSTED,
                        "function " TFD_STR_FMT " has %d arguments, results or "
                        "attributes; the limit is %d",
                        TFD_STR_ARG(d->op->name), count, TFD_NODE_INPUTS_MAX);
    *out = tfd_arena_array(d->arena, (size_t)count + 1, size);
    return tfd_arena_check(*out, "a function's signature", d->st);
}

/* ---- Attributes ---------------------------------------------------------- */

/* "type", "list(type)". */
static bool read_kind(struct tfd_str text, struct tfd_op_attr *a)
{
    if (tfd_str_starts(text, "list(") && text.data[text.size - 1] == ')') {
        a->list = true;
        text = (struct tfd_str){text.data + 5, text.size - 6};
    }
    for (int k = TFD_ATTR_STRING; k <= TFD_ATTR_FUNC; k++)
        if (tfd_str_is(text, tfd_attr_kind_name((enum tfd_attr_kind)k))) {
            a->kind = (enum tfd_attr_kind)k;
            return true;
        }
    return false;
}

/* Of types; lists of allowed strings are not used by functions. */
static uint32_t read_allowed(struct tfd_str value)
{
    struct tfd_attr_list l;
    struct tfd_pb_field f;
    struct tfd_str list;
    uint32_t types = 0;
    int64_t count;

    if (tfd_attr_list(value, TFD_ATTR_TYPE, &list, &count, NULL) || !count)
        return TFD_OP_TYPES_ALL;
    l = tfd_attr_list_of(list);
    while (tfd_attr_list_next(&l, &f))
        if (f.number < TFD_DTYPE_END)
            types |= UINT32_C(1) << f.number;
    return types;
}

/* The name with a terminator, as definitions have it. */
static enum tfd_code copy_name(const struct reading *d, struct tfd_str *name)
{
    *name = tfd_arena_str(d->arena, *name);
    return tfd_arena_check(name->data, "a function's signature", d->st);
}

static enum tfd_code read_attr(const struct reading *d, struct tfd_str message,
                               struct tfd_op_attr *a)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_str type = TFD_STR_EMPTY;
    struct tfd_pb_field f;

    a->types = TFD_OP_TYPES_ALL;
    a->name = TFD_STR_EMPTY;
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == ATTR(name))
            a->name = tfd_pb_str(&r, &f);
        else if (f.tag == ATTR(type))
            type = tfd_pb_str(&r, &f);
        else if (f.tag == ATTR(has_minimum))
            a->has_minimum = tfd_pb_bool(&r, &f);
        else if (f.tag == ATTR(minimum))
            a->minimum = tfd_pb_int64(&r, &f);
        else if (f.tag == ATTR(allowed_values))
            a->types = read_allowed(tfd_pb_str(&r, &f));
        else if (f.tag == ATTR(default_value)) {
            a->default_value = tfd_pb_str(&r, &f);
            a->has_default = true;
        }
    }
    TFD_TRY(tfd_pb_end(&r, "OpDef", d->st));
    if (tfd_op_attr_find(d->op, a->name))
        return fail_op_def(d, a->name, "is there twice");
    if (!read_kind(type, a))
        return fail_op_def(d, a->name, "is of no known kind");
    return copy_name(d, &a->name);
}

static enum tfd_code read_attrs(const struct reading *d)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(d->message);
    struct tfd_op_attr *attrs;
    struct tfd_pb_field f;
    void *memory;

    TFD_TRY(make_array(d, OP(attr), sizeof(*attrs), &memory));
    d->op->attrs = attrs = memory;
    while (tfd_pb_next(&r, &f))
        if (f.tag == OP(attr)) {
            TFD_TRY(
                read_attr(d, tfd_pb_str(&r, &f), &attrs[d->op->attr_count]));
            d->op->attr_count++;
        }
    return TFD_OK;
}

/* ---- Arguments ----------------------------------------------------------- */

static enum tfd_code attr_index(const struct reading *d, struct tfd_str name,
                                enum tfd_attr_kind kind, bool list, int *out)
{
    const struct tfd_op_attr *a;

    *out = -1;
    if (!name.size)
        return TFD_OK;
    a = tfd_op_attr_find(d->op, name);
    if (!a || a->kind != kind || a->list != list)
        return fail_op_def(d, name,
                           "is no attribute that an argument may have");
    *out = (int)(a - d->op->attrs);
    return TFD_OK;
}

static enum tfd_code check_arg(const struct reading *d,
                               const struct tfd_op_arg *a, int64_t type)
{
    bool typed = a->type_attr >= 0 || a->list_attr >= 0;

    if (!a->name.size)
        return fail_op_def(d, a->name, "is no name of an argument");
    if (a->type_attr >= 0 && a->list_attr >= 0)
        return fail_op_def(d, a->name, "has two attributes for its type");
    if (a->list_attr >= 0 && (a->number_attr >= 0 || a->ref))
        return fail_op_def(d, a->name, "is a list of lists, or of references");
    if (!typed &&
        (type <= 0 || type >= TFD_DTYPE_END || !tfd_dtype_valid((int)type)))
        return fail_op_def(d, a->name, "has no type");
    return TFD_OK;
}

static enum tfd_code read_arg(const struct reading *d, struct tfd_str message,
                              struct tfd_op_arg *a)
{
    struct tfd_str type_attr = TFD_STR_EMPTY, number_attr = TFD_STR_EMPTY;
    struct tfd_str list_attr = TFD_STR_EMPTY;
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field f;
    int64_t type = 0;

    *a = (struct tfd_op_arg){.name = TFD_STR_EMPTY};
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == ARG(name))
            a->name = tfd_pb_str(&r, &f);
        else if (f.tag == ARG(type))
            type = tfd_pb_int64(&r, &f);
        else if (f.tag == ARG(type_attr))
            type_attr = tfd_pb_str(&r, &f);
        else if (f.tag == ARG(number_attr))
            number_attr = tfd_pb_str(&r, &f);
        else if (f.tag == ARG(type_list_attr))
            list_attr = tfd_pb_str(&r, &f);
        else if (f.tag == ARG(is_ref))
            a->ref = tfd_pb_bool(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "OpDef", d->st));
    TFD_TRY(attr_index(d, type_attr, TFD_ATTR_TYPE, false, &a->type_attr));
    TFD_TRY(attr_index(d, number_attr, TFD_ATTR_INT, false, &a->number_attr));
    TFD_TRY(attr_index(d, list_attr, TFD_ATTR_TYPE, true, &a->list_attr));
    if (type > TFD_REF) { /* how Python writes references */
        type -= TFD_REF;
        a->ref = true;
    }
    TFD_TRY(check_arg(d, a, type));
    if (a->type_attr < 0 && a->list_attr < 0)
        a->dtype = (enum tfd_dtype)type;
    return TFD_OK;
}

static enum tfd_code read_args(const struct reading *d, uint32_t tag,
                               const struct tfd_op_arg **out, int *count)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(d->message);
    struct tfd_op_arg *args;
    struct tfd_pb_field f;
    void *memory;

    TFD_TRY(make_array(d, tag, sizeof(*args), &memory));
    *out = args = memory;
    *count = 0;
    while (tfd_pb_next(&r, &f))
        if (f.tag == tag)
            TFD_TRY(read_arg(d, tfd_pb_str(&r, &f), &args[(*count)++]));
    return TFD_OK;
}

/* ---- The whole ----------------------------------------------------------- */

enum tfd_code tfd_opdef_read(struct tfd_str message, struct tfd_arena *arena,
                             struct tfd_op *op, struct tfd_status *st)
{
    struct reading d = {message, arena, op, st};
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field f;

    *op = (struct tfd_op){.def = &function_def, .key_attr = -1, .index = -1};
    op->name = TFD_STR_EMPTY;
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == OP(name))
            op->name = tfd_pb_str(&r, &f);
        else if (f.tag == OP(is_stateful) && tfd_pb_bool(&r, &f))
            op->flags |= TFD_OP_STATEFUL;
    }
    TFD_TRY(tfd_pb_end(&r, "OpDef", st));
    TFD_TRY(copy_name(&d, &op->name));
    TFD_TRY(read_attrs(&d));
    TFD_TRY(read_args(&d, OP(input_arg), &op->in, &op->in_count));
    return read_args(&d, OP(output_arg), &op->out, &op->out_count);
}
