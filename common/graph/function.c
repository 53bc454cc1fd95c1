/*
 * function.c - a FunctionDefLibrary into the graph's table.
 *
 * Every FunctionDef is copied into the graph's arena once and read there, so
 * everything that is kept is a view of the copy.  Signatures: opdef_read.c.
 */
#include "common/graph/function.h"

#include "common/graph/attr.h"
#include "common/graph/attr_depth.h"
#include "common/graph/graph_internal.h"
#include "common/graph/opdef_read.h"
#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "config/limits.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define FUNCTION(name) tensorflow_FunctionDef_##name##_tag
#define NODE(name) tensorflow_NodeDef_##name##_tag

struct tfd_gradient_def {
    struct tfd_str function, gradient;
};

struct reading {
    struct tfd_graph *g;
    struct tfd_function *f;
    struct tfd_str def; /* in the arena */
    struct tfd_status *st;
};

/* ---- Pieces -------------------------------------------------------------- */

static int32_t count_fields(struct tfd_str message, uint32_t tag)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field f;
    int32_t count = 0;

    while (tfd_pb_next(&r, &f))
        count += f.tag == tag;
    return count;
}

static enum tfd_code new_array(struct tfd_arena *arena, int32_t count,
                               size_t size, void **out, struct tfd_status *st)
{
    *out = tfd_arena_array(arena, (size_t)count + 1, size);
    return tfd_arena_check(*out, "a function", st);
}

enum tfd_code tfd_function_attrs(struct tfd_str message, uint32_t tag,
                                 struct tfd_arena *arena,
                                 const struct tfd_attr **out, int32_t *count,
                                 struct tfd_status *st)
{
    int32_t fields = count_fields(message, tag);
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_attr *attrs;
    struct tfd_pb_field f;
    void *memory;

    if (fields > TFD_NODE_ATTRS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%d attributes of a function; the limit is %d", fields,
                        TFD_NODE_ATTRS_MAX);
    TFD_TRY(new_array(arena, fields, sizeof(*attrs), &memory, st));
    *out = attrs = memory;
    *count = 0;
    while (tfd_pb_next(&r, &f)) {
        struct tfd_pb_entry entry;

        if (f.tag != tag)
            continue;
        if (!tfd_pb_map_entry(tfd_pb_str(&r, &f), &entry)) {
            r.failed = true;
            break;
        }
        attrs[*count] = (struct tfd_attr){entry.key, entry.value};
        TFD_TRY(tfd_attr_depth_check(entry.key, entry.value, st));
        ++*count;
    }
    return tfd_pb_end(&r, "attributes of a function", st);
}

/* ---- Bodies -------------------------------------------------------------- */

static enum tfd_code read_inputs(const struct reading *d, struct tfd_str def,
                                 struct tfd_function_node *n)
{
    int32_t count = count_fields(def, NODE(input));
    struct tfd_pb_reader r = tfd_pb_reader_of(def);
    struct tfd_str *in;
    struct tfd_pb_field f;
    void *memory;

    if (count > TFD_NODE_INPUTS_MAX)
        return tfd_fail(d->st, TFD_RESOURCE_EXHAUSTED,
                        "a node of function " TFD_STR_FMT " has %d inputs; the "
                        "limit is %d",
                        TFD_STR_ARG(d->f->op.name), count, TFD_NODE_INPUTS_MAX);
    TFD_TRY(new_array(&d->g->arena, count, sizeof(*in), &memory, d->st));
    n->in = in = memory;
    while (tfd_pb_next(&r, &f))
        if (f.tag == NODE(input))
            in[n->in_count++] = tfd_pb_str(&r, &f);
    return tfd_pb_end(&r, "NodeDef", d->st);
}

static enum tfd_code read_node(const struct reading *d, struct tfd_str def,
                               struct tfd_function_node *n)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(def);
    char text[TFD_PRINTABLE_MAX];
    struct tfd_pb_field f;

    n->name = n->op = n->device = TFD_STR_EMPTY;
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == NODE(name))
            n->name = tfd_pb_str(&r, &f);
        else if (f.tag == NODE(op))
            n->op = tfd_pb_str(&r, &f);
        else if (f.tag == NODE(device))
            n->device = tfd_pb_str(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "NodeDef", d->st));
    if (!tfd_graph_name_ok(n->name) || n->name.size > TFD_NAME_SIZE_MAX)
        return tfd_fail(d->st, TFD_INVALID_ARGUMENT,
                        "Node '%s' of function " TFD_STR_FMT
                        ": Node name contains invalid characters",
                        tfd_graph_printable(n->name, text),
                        TFD_STR_ARG(d->f->op.name));
    TFD_TRY(tfd_function_attrs(def, NODE(attr), &d->g->arena, &n->attrs,
                               &n->attr_count, d->st));
    return read_inputs(d, def, n);
}

static enum tfd_code read_nodes(const struct reading *d)
{
    int32_t count = count_fields(d->def, FUNCTION(node_def));
    struct tfd_pb_reader r = tfd_pb_reader_of(d->def);
    struct tfd_function_node *nodes;
    struct tfd_pb_field f;
    void *memory;

    if (count > TFD_GRAPH_NODES_MAX)
        return tfd_fail(d->st, TFD_RESOURCE_EXHAUSTED,
                        "Function " TFD_STR_FMT " has %d nodes; the limit is "
                        "%d",
                        TFD_STR_ARG(d->f->op.name), count, TFD_GRAPH_NODES_MAX);
    TFD_TRY(new_array(&d->g->arena, count, sizeof(*nodes), &memory, d->st));
    d->f->nodes = nodes = memory;
    while (tfd_pb_next(&r, &f))
        if (f.tag == FUNCTION(node_def))
            TFD_TRY(
                read_node(d, tfd_pb_str(&r, &f), &nodes[d->f->node_count++]));
    return tfd_pb_end(&r, "FunctionDef", d->st);
}

/* ---- Results ------------------------------------------------------------- */

/* ret maps names of outputs to what they are. */
static enum tfd_code read_ret(const struct reading *d)
{
    const struct tfd_op *op = &d->f->op;
    struct tfd_pb_reader r = tfd_pb_reader_of(d->def);
    struct tfd_str *ret;
    struct tfd_pb_field f;
    void *memory;

    TFD_TRY(
        new_array(&d->g->arena, op->out_count, sizeof(*ret), &memory, d->st));
    d->f->ret = ret = memory;
    while (tfd_pb_next(&r, &f)) {
        struct tfd_pb_entry entry;

        if (f.tag != FUNCTION(ret))
            continue;
        if (!tfd_pb_map_entry(tfd_pb_str(&r, &f), &entry))
            r.failed = true;
        for (int i = 0; !r.failed && i < op->out_count; i++)
            if (tfd_str_eq(op->out[i].name, entry.key))
                ret[i] = entry.value;
    }
    TFD_TRY(tfd_pb_end(&r, "FunctionDef", d->st));
    for (int i = 0; i < op->out_count; i++)
        if (!ret[i].size)
            return tfd_fail(
                d->st, TFD_INVALID_ARGUMENT,
                "Function " TFD_STR_FMT ": return " TFD_STR_FMT " missing.",
                TFD_STR_ARG(op->name), TFD_STR_ARG(op->out[i].name));
    return TFD_OK;
}

static enum tfd_code read_control_ret(const struct reading *d)
{
    int32_t count = count_fields(d->def, FUNCTION(control_ret));
    struct tfd_pb_reader r = tfd_pb_reader_of(d->def);
    struct tfd_str *ret;
    struct tfd_pb_field f;
    void *memory;

    TFD_TRY(new_array(&d->g->arena, count, sizeof(*ret), &memory, d->st));
    d->f->control_ret = ret = memory;
    while (tfd_pb_next(&r, &f)) {
        struct tfd_pb_entry entry;

        if (f.tag != FUNCTION(control_ret))
            continue;
        if (!tfd_pb_map_entry(tfd_pb_str(&r, &f), &entry)) {
            r.failed = true;
            break;
        }
        ret[d->f->control_ret_count++] = entry.value;
    }
    return tfd_pb_end(&r, "FunctionDef", d->st);
}

/* ---- Functions ----------------------------------------------------------- */

/* Calls that are not inlined run as the op that calls any function. */
static int runner_of(const struct tfd_graph *g, const struct tfd_op *op)
{
    const struct tfd_op *runner = tfd_op_find(
        g->ops, op->flags & TFD_OP_STATEFUL ? TFD_STR("StatefulPartitionedCall")
                                            : TFD_STR("PartitionedCall"));

    return runner ? runner->index : -1;
}

static enum tfd_code read_function(const struct reading *d)
{
    struct tfd_str signature = TFD_STR_EMPTY;
    struct tfd_pb_reader r = tfd_pb_reader_of(d->def);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == FUNCTION(signature))
            signature = tfd_pb_str(&r, &f);
    TFD_TRY(tfd_pb_end(&r, "FunctionDef", d->st));
    TFD_TRY(tfd_opdef_read(signature, &d->g->arena, &d->f->op, d->st));
    d->f->op.flags |= TFD_OP_FUNCTION;
    d->f->op.index = runner_of(d->g, &d->f->op);
    TFD_TRY(read_nodes(d));
    TFD_TRY(read_ret(d));
    TFD_TRY(read_control_ret(d));
    return tfd_function_attrs(d->def, FUNCTION(attr), &d->g->arena,
                              &d->f->attrs, &d->f->attr_count, d->st);
}

static struct tfd_str name_of(struct tfd_str def)
{
    struct tfd_str signature = TFD_STR_EMPTY, name = TFD_STR_EMPTY;
    struct tfd_pb_reader r = tfd_pb_reader_of(def);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == FUNCTION(signature))
            signature = tfd_pb_str(&r, &f);
    r = tfd_pb_reader_of(signature);
    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_OpDef_name_tag)
            name = tfd_pb_str(&r, &f);
    return name;
}

static enum tfd_code add_function(struct tfd_graph *g, struct tfd_str def,
                                  struct tfd_status *st)
{
    struct tfd_str name = name_of(def);
    struct reading d = {.g = g, .st = st};
    char text[TFD_PRINTABLE_MAX];

    if (tfd_function_find(g, name))
        return TFD_OK;
    if (tfd_op_find(g->ops, name))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Cannot add function '%s' because an op with the same "
                        "name already exists.",
                        tfd_graph_printable(name, text));
    d.f = tfd_arena_alloc(&g->arena, sizeof(*d.f));
    d.def = tfd_arena_str(&g->arena, def);
    if (!d.f || !d.def.data)
        return tfd_arena_check(NULL, "a function", st);
    d.f->def = d.def;
    TFD_TRY(read_function(&d));
    if (!tfd_map_put(&g->function_by_name, d.f->op.name, (uintptr_t)d.f))
        return tfd_arena_check(NULL, "a function", st);
    d.f->next = g->functions;
    g->functions = d.f;
    return TFD_OK;
}

/* A gradient whose function has none yet; of two, TensorFlow refuses the
 * second. */
static enum tfd_code add_gradient(struct tfd_graph *g, struct tfd_str message,
                                  struct tfd_status *st)
{
    struct tfd_gradient_def *d;
    struct tfd_str copy = tfd_arena_str(&g->arena, message);
    struct tfd_pb_reader r = tfd_pb_reader_of(copy);
    struct tfd_pb_field f;
    uintptr_t known;

    d = tfd_arena_alloc(&g->arena, sizeof(*d));
    if (!copy.data || !d)
        return tfd_arena_check(NULL, "a gradient", st);
    d->function = d->gradient = TFD_STR_EMPTY;
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_GradientDef_function_name_tag)
            d->function = tfd_pb_str(&r, &f);
        else if (f.tag == tensorflow_GradientDef_gradient_func_tag)
            d->gradient = tfd_pb_str(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "GradientDef", st));
    if (!tfd_map_get(&g->gradient_by_name, d->function, &known)) {
        if (!tfd_map_put(&g->gradient_by_name, d->function, (uintptr_t)d))
            return tfd_arena_check(NULL, "a gradient", st);
        return TFD_OK;
    }
    if (tfd_str_eq(((struct tfd_gradient_def *)known)->gradient, d->gradient))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Cannot assign gradient function '" TFD_STR_FMT
                    "' to '" TFD_STR_FMT "' because it already has gradient "
                    "function '" TFD_STR_FMT "'",
                    TFD_STR_ARG(d->gradient), TFD_STR_ARG(d->function),
                    TFD_STR_ARG(((struct tfd_gradient_def *)known)->gradient));
}

enum tfd_code tfd_functions_add(struct tfd_graph *g, struct tfd_str library,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(library);
    struct tfd_pb_field f;

    if (tfd_str_eq(library, g->library))
        return TFD_OK;
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_FunctionDefLibrary_function_tag)
            TFD_TRY(add_function(g, tfd_pb_str(&r, &f), st));
        else if (f.tag == tensorflow_FunctionDefLibrary_gradient_tag)
            TFD_TRY(add_gradient(g, tfd_pb_str(&r, &f), st));
    }
    return tfd_pb_end(&r, "FunctionDefLibrary", st);
}

/* Gradients stay: of functions that are gone they say nothing. */
void tfd_functions_drop(struct tfd_graph *g, const struct tfd_function *newest)
{
    while (g->functions != newest) {
        assert(g->functions);
        tfd_map_remove(&g->function_by_name, g->functions->op.name);
        g->functions = g->functions->next;
    }
}

/* ---- Asking -------------------------------------------------------------- */

const struct tfd_function *tfd_function_find(const struct tfd_graph *g,
                                             struct tfd_str name)
{
    uintptr_t value;

    if (g->library_of)
        g = g->library_of;
    if (!tfd_map_get(&g->function_by_name, name, &value))
        return NULL;
    return (const struct tfd_function *)value;
}

const struct tfd_function *tfd_function_gradient(const struct tfd_graph *g,
                                                 struct tfd_str name)
{
    uintptr_t value;

    if (g->library_of)
        g = g->library_of;
    if (!tfd_map_get(&g->gradient_by_name, name, &value))
        return NULL;
    return tfd_function_find(g, ((struct tfd_gradient_def *)value)->gradient);
}

const struct tfd_op *tfd_function_op(const struct tfd_graph *g,
                                     struct tfd_str type)
{
    const struct tfd_op *op = tfd_op_find(g->ops, type);
    const struct tfd_function *f = op ? NULL : tfd_function_find(g, type);

    return f ? &f->op : op;
}

const struct tfd_function *tfd_function_of(const struct tfd_op *op)
{
    assert(op->flags & TFD_OP_FUNCTION);
    return (const struct tfd_function *)((const char *)op -
                                         offsetof(struct tfd_function, op));
}

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code read_func(struct tfd_str message, struct tfd_arena *arena,
                               struct tfd_func *out, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field f;

    out->name = TFD_STR_EMPTY;
    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_NameAttrList_name_tag)
            out->name = tfd_pb_str(&r, &f);
    TFD_TRY(tfd_pb_end(&r, "NameAttrList", st));
    return tfd_function_attrs(message, tensorflow_NameAttrList_attr_tag, arena,
                              &out->attrs, &out->attr_count, st);
}

static enum tfd_code no_func(const struct tfd_node *n, const char *name,
                             struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Attr '%s' of node " TFD_STR_FMT " is no function", name,
                    TFD_STR_ARG(n->name));
}

enum tfd_code tfd_node_func(const struct tfd_node *n, const char *name,
                            struct tfd_arena *arena, struct tfd_func *out,
                            struct tfd_status *st)
{
    struct tfd_pb_field f;
    struct tfd_str value;

    if (!tfd_node_attr(n, name, &value))
        return no_func(n, name, st);
    TFD_TRY(tfd_attr_read(value, &f, st));
    if (f.tag != tfd_attr_tag(TFD_ATTR_FUNC))
        return no_func(n, name, st);
    return read_func(f.bytes, arena, out, st);
}

enum tfd_code tfd_node_funcs(const struct tfd_node *n, const char *name,
                             struct tfd_arena *arena, struct tfd_func **out,
                             int32_t *count, struct tfd_status *st)
{
    struct tfd_str value, list;
    struct tfd_attr_list l;
    struct tfd_pb_field f;
    int64_t elements;
    void *memory;

    if (!tfd_node_attr(n, name, &value) ||
        tfd_attr_list(value, TFD_ATTR_FUNC, &list, &elements, NULL) ||
        elements > TFD_NODE_INPUTS_MAX)
        return no_func(n, name, st);
    TFD_TRY(new_array(arena, (int32_t)elements, sizeof(**out), &memory, st));
    *out = memory;
    *count = 0;
    l = tfd_attr_list_of(list);
    while (tfd_attr_list_next(&l, &f))
        TFD_TRY(read_func(f.bytes, arena, &(*out)[(*count)++], st));
    return TFD_OK;
}
