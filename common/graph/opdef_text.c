/*
 * opdef_text.c - a definition on one line, in the form TensorFlow's messages
 * have, so that people find them with the searches they know.
 */
#include "common/graph/attr.h"
#include "common/graph/opdef.h"

static const char *comma(int i)
{
    return i ? ", " : "";
}

/* ---- Signature ----------------------------------------------------------- */

static void put_arg(struct tfd_bytes *b, const struct tfd_op *op,
                    const struct tfd_op_arg *arg)
{
    tfd_bytes_printf(b, TFD_STR_FMT ":%s", TFD_STR_ARG(arg->name),
                     arg->ref ? "Ref(" : "");
    if (arg->number_attr >= 0) {
        tfd_bytes_add_str(b, op->attrs[arg->number_attr].name);
        tfd_bytes_add(b, "*", 1);
    }
    if (arg->type_attr >= 0)
        tfd_bytes_add_str(b, op->attrs[arg->type_attr].name);
    else if (arg->list_attr < 0) /* the name of a list is not shown */
        tfd_bytes_printf(b, "%s", tfd_dtype_name((int)arg->dtype));
    if (arg->ref)
        tfd_bytes_add(b, ")", 1);
}

static void put_args(struct tfd_bytes *b, const struct tfd_op *op,
                     const struct tfd_op_arg *args, int count)
{
    for (int i = 0; i < count; i++) {
        tfd_bytes_printf(b, "%s", comma(i));
        put_arg(b, op, &args[i]);
    }
}

/* ---- Attributes ---------------------------------------------------------- */

static void put_allowed(struct tfd_bytes *b, const struct tfd_op_attr *a)
{
    int n = 0;

    tfd_bytes_printf(b, ",allowed=[");
    for (int i = 0; i < a->string_count; i++)
        tfd_bytes_printf(b, "%s\"" TFD_STR_FMT "\"", comma(n++),
                         TFD_STR_ARG(a->strings[i]));
    for (int i = 1; a->kind == TFD_ATTR_TYPE && i < TFD_DTYPE_END; i++)
        if (a->types >> i & 1)
            tfd_bytes_printf(b, "%s%s", comma(n++), tfd_dtype_enum_name(i));
    tfd_bytes_printf(b, "]");
}

static void put_attr(struct tfd_bytes *b, const struct tfd_op_attr *a)
{
    tfd_bytes_printf(b,
                     a->list ? "; attr=" TFD_STR_FMT ":list(%s)"
                             : "; attr=" TFD_STR_FMT ":%s",
                     TFD_STR_ARG(a->name), tfd_attr_kind_name(a->kind));
    if (a->has_default) {
        tfd_bytes_printf(b, ",default=");
        tfd_attr_text(a->default_value, b);
    }
    if (a->has_minimum)
        tfd_bytes_printf(b, ",min=%lld", (long long)a->minimum);
    if (a->string_count ||
        (a->kind == TFD_ATTR_TYPE && a->types != TFD_OP_TYPES_ALL))
        put_allowed(b, a);
}

void tfd_op_summary(const struct tfd_op *op, struct tfd_bytes *out)
{
    tfd_bytes_printf(
        out, "Op<name=" TFD_STR_FMT "; signature=", TFD_STR_ARG(op->name));
    put_args(out, op, op->in, op->in_count);
    tfd_bytes_printf(out, " -> ");
    put_args(out, op, op->out, op->out_count);
    for (int i = 0; i < op->attr_count; i++)
        put_attr(out, &op->attrs[i]);
    if (op->flags & TFD_OP_COMMUTATIVE)
        tfd_bytes_printf(out, "; is_commutative=true");
    if (op->flags & TFD_OP_STATEFUL)
        tfd_bytes_printf(out, "; is_stateful=true");
    if (op->flags & TFD_OP_UNINITIALIZED_OK)
        tfd_bytes_printf(out, "; allows_uninitialized_input=true");
    tfd_bytes_printf(out, ">");
}
