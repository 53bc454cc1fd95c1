/*
 * graph_infer.c - attributes that follow from a node's inputs.
 *
 * First the lengths: inputs that no argument of known length claims belong to
 * the arguments of unknown length, which must all have the same attribute.
 * Then the types, each from the first input of an argument that has it.
 */
#include "common/graph/attr.h"
#include "common/graph/graph_internal.h"

#define VALUE_SIZE_MAX ((size_t)1 << 20) /* a list of 500,000 types */

struct infer {
    struct tfd_graph *g;
    struct tfd_node *n;
    struct tfd_attr *attrs;
    struct tfd_status *st;
};

static bool is_given(const struct tfd_node *n, int attr)
{
    for (int32_t i = 0; i < n->attr_count; i++)
        if (tfd_str_eq(n->attrs[i].name, n->op->attrs[attr].name))
            return true;
    return false;
}

/* Appends the attribute unless it is what the op assumes anyway. */
static enum tfd_code append_values(const struct infer *f, int attr,
                                   const struct tfd_bytes *value)
{
    const struct tfd_op_attr *a = &f->n->op->attrs[attr];
    struct tfd_str copy;

    TFD_TRY(tfd_bytes_ok(value, "an attribute", f->st));
    if (a->has_default && tfd_str_eq(a->default_value, tfd_bytes_view(value)))
        return TFD_OK;
    copy = tfd_arena_str(&f->g->arena, tfd_bytes_view(value));
    TFD_TRY(tfd_arena_check(copy.data, "an attribute", f->st));
    f->attrs[f->n->attr_count++] = (struct tfd_attr){a->name, copy};
    return TFD_OK;
}

static enum tfd_dtype type_of_input(const struct infer *f, int64_t input)
{
    return tfd_dtype_base(tfd_graph_type(f->g, f->n->in[input]));
}

/* ---- Lengths ------------------------------------------------------------- */

struct unknown {
    int attr; /* that says the length; -1: none is unknown */
    bool several;
    int64_t args;  /* with this attribute */
    int64_t known; /* inputs of the other arguments */
};

static int length_attr(const struct tfd_op_arg *arg)
{
    return arg->number_attr >= 0 ? arg->number_attr : arg->list_attr;
}

static struct unknown find_unknown(const struct tfd_node *n)
{
    struct unknown u = {.attr = -1};

    for (int i = 0; i < n->op->in_count; i++) {
        int attr = length_attr(&n->op->in[i]);
        int64_t count;

        if (attr >= 0 && !is_given(n, attr)) {
            u.several = u.several || (u.attr >= 0 && u.attr != attr);
            u.attr = attr;
            u.args++;
            continue;
        }
        count = tfd_graph_arg_count(n, &n->op->in[i]);
        /* A damaged length is refused later; here it must not overflow. */
        if (count > 0 && count <= n->in_count)
            u.known += count;
    }
    return u;
}

/* The first input of the first argument with this attribute; the arguments in
 * front of it have known lengths. */
static int64_t first_of(const struct tfd_node *n, int attr)
{
    int64_t first = 0;

    for (int i = 0; i < n->op->in_count; i++) {
        if (length_attr(&n->op->in[i]) == attr)
            break;
        first += tfd_graph_arg_count(n, &n->op->in[i]);
    }
    return first;
}

static enum tfd_code put_types(const struct infer *f, int64_t first,
                               int64_t count, struct tfd_bytes *b)
{
    int *types = tfd_arena_array(&f->g->arena, (size_t)count, sizeof(*types));

    TFD_TRY(tfd_arena_check(types, "types of inputs", f->st));
    for (int64_t i = 0; i < count; i++)
        types[i] = (int)type_of_input(f, first + i);
    tfd_attr_put_types(b, types, (int)count);
    return TFD_OK;
}

static enum tfd_code infer_length(const struct infer *f)
{
    struct unknown u = find_unknown(f->n);
    int64_t rest = f->n->in_count - u.known, count;
    enum tfd_code rc = TFD_OK;
    struct tfd_bytes b;

    /* Whatever is not inferred is found missing, or not to fit, later. */
    if (u.attr < 0 || u.several || rest < 0 || rest % u.args)
        return TFD_OK;
    count = rest / u.args;
    tfd_bytes_init(&b, VALUE_SIZE_MAX);
    if (f->n->op->attrs[u.attr].list)
        rc = put_types(f, first_of(f->n, u.attr), count, &b);
    else
        tfd_attr_put_int(&b, count);
    if (rc == TFD_OK)
        rc = append_values(f, u.attr, &b);
    tfd_bytes_deinit(&b);
    return rc;
}

/* ---- Types --------------------------------------------------------------- */

static enum tfd_code infer_type(const struct infer *f, int attr,
                                enum tfd_dtype type)
{
    enum tfd_code rc;
    struct tfd_bytes b;

    tfd_bytes_init(&b, VALUE_SIZE_MAX);
    tfd_attr_put_type(&b, (int)type);
    rc = append_values(f, attr, &b);
    tfd_bytes_deinit(&b);
    return rc;
}

/* Inputs of a Merge may be missing. */
static enum tfd_dtype first_type(const struct infer *f, int64_t first,
                                 int64_t count)
{
    enum tfd_dtype type = TFD_DTYPE_INVALID;

    for (int64_t i = 0; i < count && !type && first + i < f->n->in_count; i++)
        type = type_of_input(f, first + i);
    return type;
}

static enum tfd_code infer_types(const struct infer *f)
{
    const struct tfd_op *op = f->n->op;
    int64_t first = 0;

    for (int i = 0; i < op->in_count; i++) {
        int64_t count = tfd_graph_arg_count(f->n, &op->in[i]);
        int attr = op->in[i].type_attr;

        if (count < 0 || count > f->n->in_count)
            return TFD_OK;
        if (attr >= 0 && !is_given(f->n, attr)) {
            enum tfd_dtype type = first_type(f, first, count);

            if (type)
                TFD_TRY(infer_type(f, attr, type));
        }
        first += count;
    }
    return TFD_OK;
}

enum tfd_code tfd_graph_infer_attrs(struct tfd_graph *g, struct tfd_node *n,
                                    struct tfd_attr *attrs,
                                    struct tfd_status *st)
{
    struct infer f = {g, n, attrs, st};

    TFD_TRY(infer_length(&f));
    return infer_types(&f);
}
