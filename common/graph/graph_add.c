/*
 * graph_add.c - a new node, checked against its definition.
 *
 * The node is made in the arena first, without being in the graph, and becomes
 * visible with the last step; a failure leaves some bytes of arena behind and
 * nothing else.  The order of checks is TensorFlow's, so that of several
 * mistakes the same one is reported.
 */
#include "common/graph/attr.h"
#include "common/graph/function.h"
#include "common/graph/graph_internal.h"
#include "common/graph/unknown_ops.h"
#include "config/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct adding {
    struct tfd_graph *g;
    const struct tfd_node_spec *spec;
    struct tfd_node *n;
    struct tfd_attr *attrs; /* n->attrs while it grows */
    struct tfd_status *st;
};

/* ---- Numbers ------------------------------------------------------------ */

static enum tfd_code check_limit(const struct adding *a, const char *what,
                                 int64_t count, int64_t max)
{
    char name[TFD_PRINTABLE_MAX];

    if (count >= 0 && count <= max)
        return TFD_OK;
    return tfd_fail(a->st, TFD_RESOURCE_EXHAUSTED,
                    "Node '%s' has %lld %s; the limit is %lld",
                    tfd_graph_printable(a->spec->name, name), (long long)count,
                    what, (long long)max);
}

static enum tfd_code check_limits(const struct adding *a)
{
    const struct tfd_node_spec *s = a->spec;

    if (a->g->count >= TFD_GRAPH_NODES_MAX)
        return tfd_fail(a->st, TFD_RESOURCE_EXHAUSTED,
                        "a graph has at most %d nodes", TFD_GRAPH_NODES_MAX);
    TFD_TRY(check_limit(a, "bytes of name", (int64_t)s->name.size,
                        TFD_NAME_SIZE_MAX));
    TFD_TRY(check_limit(a, "bytes of device", (int64_t)s->device.size,
                        TFD_DEVICE_TEXT_SIZE_MAX));
    TFD_TRY(check_limit(a, "inputs", s->in_count, TFD_NODE_INPUTS_MAX));
    TFD_TRY(check_limit(a, "control inputs", s->control_count,
                        TFD_NODE_INPUTS_MAX));
    return check_limit(a, "attributes", s->attr_count, TFD_NODE_ATTRS_MAX);
}

enum tfd_code tfd_graph_name_check(struct tfd_str name, struct tfd_status *st)
{
    char text[TFD_PRINTABLE_MAX];

    if (tfd_graph_name_ok(name))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Node '%s': Node name contains invalid characters",
                    tfd_graph_printable(name, text));
}

enum tfd_code tfd_graph_check_unused(const struct tfd_graph *g,
                                     struct tfd_str name, struct tfd_status *st)
{
    if (!tfd_graph_find(g, name))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Duplicate node name in graph: '" TFD_STR_FMT "'",
                    TFD_STR_ARG(name));
}

static enum tfd_code check_name(const struct adding *a)
{
    if (!a->spec->any_name)
        TFD_TRY(tfd_graph_name_check(a->spec->name, a->st));
    return tfd_graph_check_unused(a->g, a->spec->name, a->st);
}

static enum tfd_code find_op(const struct adding *a)
{
    struct tfd_unknown_ops unknown;

    a->n->op = tfd_function_op(a->g, a->spec->op);
    if (a->n->op)
        return TFD_OK;
    tfd_unknown_ops_begin(&unknown, a->g, a->spec->op);
    return tfd_unknown_ops_fail(&unknown, TFD_STR_EMPTY, a->st);
}

/* ---- Copies -------------------------------------------------------------- */

static enum tfd_code copy_str(const struct adding *a, struct tfd_str from,
                              struct tfd_str *to)
{
    *to = tfd_arena_str(&a->g->arena, from);
    return tfd_arena_check(to->data, "a node", a->st);
}

static enum tfd_code copy_array(const struct adding *a, const void *from,
                                size_t count, size_t size, size_t capacity,
                                void **to)
{
    *to = tfd_arena_array(&a->g->arena, capacity, size);
    TFD_TRY(tfd_arena_check(*to, "a node", a->st));
    if (count)
        memcpy(*to, from, count * size);
    return TFD_OK;
}

/* Neighbours are mostly on the same device: they share its name. */
static enum tfd_code copy_device(const struct adding *a)
{
    const struct tfd_graph *g = a->g;

    a->n->device = TFD_STR_EMPTY;
    if (g->count &&
        tfd_str_eq(g->nodes[g->count - 1]->device, a->spec->device)) {
        a->n->device = g->nodes[g->count - 1]->device;
        return TFD_OK;
    }
    return a->spec->device.size ? copy_str(a, a->spec->device, &a->n->device)
                                : TFD_OK;
}

static enum tfd_code copy_inputs(const struct adding *a)
{
    const struct tfd_node_spec *s = a->spec;
    void *to;

    TFD_TRY(copy_array(a, s->in, (size_t)s->in_count, sizeof(*s->in),
                       (size_t)s->in_count, &to));
    a->n->in = to;
    a->n->in_count = s->in_count;
    for (int32_t i = 0; i < s->in_count; i++)
        if (s->in[i].node < 0 && !(a->n->op->flags & TFD_OP_MERGE))
            return tfd_fail(a->st, TFD_INVALID_ARGUMENT,
                            "Input %d of node '" TFD_STR_FMT "' is missing", i,
                            TFD_STR_ARG(s->name));
        else if (s->in[i].node >= a->g->count)
            return tfd_fail(a->st, TFD_INVALID_ARGUMENT,
                            "Input %d of node '" TFD_STR_FMT "' is node %d of "
                            "%d",
                            i, TFD_STR_ARG(s->name), s->in[i].node,
                            a->g->count);
    return TFD_OK;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Keeps the first of equal ids.  A key is id and place, so that equal ids end
 * up side by side with the first in front. */
static enum tfd_code remove_duplicates(const struct adding *a, int32_t *ids,
                                       int32_t *count)
{
    uint64_t *keys = malloc(sizeof(*keys) * (size_t)*count);
    int32_t kept = 0;

    TFD_TRY(tfd_arena_check(keys, "control inputs", a->st));
    for (int32_t i = 0; i < *count; i++)
        keys[i] = (uint64_t)ids[i] << 32 | (uint32_t)i;
    qsort(keys, (size_t)*count, sizeof(*keys), compare_keys);
    for (int32_t i = 1; i < *count; i++)
        if (keys[i] >> 32 == keys[i - 1] >> 32)
            ids[(uint32_t)keys[i]] = -1;
    for (int32_t i = 0; i < *count; i++)
        if (ids[i] >= 0)
            ids[kept++] = ids[i];
    *count = kept;
    free(keys);
    return TFD_OK;
}

/* Room for the next power of two: tfd_graph_add_control() counts on it. */
static size_t control_capacity(int32_t count)
{
    size_t capacity = 1;

    while (capacity < (size_t)count)
        capacity *= 2;
    return capacity;
}

static enum tfd_code copy_control(const struct adding *a)
{
    const struct tfd_node_spec *s = a->spec;
    struct tfd_node *n = a->n;
    void *to;

    if (!s->control_count)
        return TFD_OK;
    TFD_TRY(copy_array(a, s->control, (size_t)s->control_count,
                       sizeof(*s->control), control_capacity(s->control_count),
                       &to));
    n->control = to;
    n->control_count = s->control_count;
    for (int32_t i = 0; i < n->control_count; i++)
        if (n->control[i] < 0 || n->control[i] >= a->g->count)
            return tfd_fail(a->st, TFD_INVALID_ARGUMENT,
                            "Control input %d of node '" TFD_STR_FMT "' is "
                            "node %d of %d",
                            i, TFD_STR_ARG(s->name), n->control[i],
                            a->g->count);
    if (n->control_count == 1)
        return TFD_OK;
    return remove_duplicates(a, n->control, &n->control_count);
}

/* ---- Attributes ---------------------------------------------------------- */

/* A definition's name for it is used where there is one: less memory. */
static enum tfd_code copy_attr(struct adding *a, const struct tfd_attr *from)
{
    const struct tfd_op_attr *known = tfd_op_attr_find(a->n->op, from->name);
    struct tfd_attr *to = &a->attrs[a->n->attr_count];

    if (known)
        to->name = known->name;
    else
        TFD_TRY(copy_str(a, from->name, &to->name));
    TFD_TRY(copy_str(a, from->value, &to->value));
    a->n->attr_count++;
    return TFD_OK;
}

static enum tfd_code copy_attrs(struct adding *a)
{
    const struct tfd_node_spec *s = a->spec;
    size_t capacity = (size_t)s->attr_count + (size_t)a->n->op->attr_count;

    a->attrs = tfd_arena_array(&a->g->arena, capacity, sizeof(*a->attrs));
    TFD_TRY(tfd_arena_check(a->attrs, "a node", a->st));
    a->n->attrs = a->attrs;
    for (int32_t i = 0; i < s->attr_count; i++)
        TFD_TRY(copy_attr(a, &s->attrs[i]));
    return tfd_graph_infer_attrs(a->g, a->n, a->attrs, a->st);
}

/* What is wrong, and behind it the definition and the node.  TensorFlow has
 * them in this order where the value of an attribute is wrong. */
static enum tfd_code fail_value(const struct adding *a,
                                const struct tfd_status *why)
{
    struct tfd_bytes op;

    tfd_bytes_init(&op, TFD_STATUS_TEXT_MAX);
    tfd_op_summary(a->n->op, &op);
    tfd_fail(a->st, why->code,
             "%s\n\t; NodeDef: {{node " TFD_STR_FMT "}}; " TFD_STR_FMT,
             why->text, TFD_STR_ARG(a->n->name),
             TFD_STR_ARG(tfd_bytes_view(&op)));
    tfd_bytes_deinit(&op);
    return why->code;
}

/* ... and in this one everywhere else. */
static enum tfd_code fail_node(const struct adding *a, struct tfd_str text,
                               const char *link)
{
    struct tfd_bytes op;

    tfd_bytes_init(&op, TFD_STATUS_TEXT_MAX);
    tfd_op_summary(a->n->op, &op);
    tfd_fail(a->st, TFD_INVALID_ARGUMENT,
             TFD_STR_FMT "%s" TFD_STR_FMT "; NodeDef: {{node " TFD_STR_FMT "}}",
             TFD_STR_ARG(text), link, TFD_STR_ARG(tfd_bytes_view(&op)),
             TFD_STR_ARG(a->n->name));
    tfd_bytes_deinit(&op);
    return TFD_INVALID_ARGUMENT;
}

/* The attribute without a value whose name comes next; -1: there is none. */
static int next_missing(const struct tfd_node *n, struct tfd_str after)
{
    const struct tfd_op_attr *attrs = n->op->attrs;
    struct tfd_str value;
    int next = -1;

    for (int i = 0; i < n->op->attr_count; i++)
        if (tfd_str_cmp(attrs[i].name, after) > 0 &&
            (next < 0 || tfd_str_cmp(attrs[i].name, attrs[next].name) < 0) &&
            !tfd_node_attr(n, attrs[i].name.data, &value))
            next = i;
    return next;
}

static enum tfd_code fail_missing_attr(const struct adding *a)
{
    const struct tfd_op *op = a->n->op;
    struct tfd_str last = TFD_STR_EMPTY;
    struct tfd_bytes names, text;
    int missing = 0, i;

    tfd_bytes_init(&names, 512);
    tfd_bytes_init(&text, 1024);
    while ((i = next_missing(a->n, last)) >= 0) {
        last = op->attrs[i].name;
        tfd_bytes_printf(&names, "%s'%s'", missing++ ? ", " : "", last.data);
    }
    tfd_bytes_printf(&text, "NodeDef missing attr%s " TFD_STR_FMT,
                     missing > 1 ? "s" : "",
                     TFD_STR_ARG(tfd_bytes_view(&names)));
    fail_node(a, tfd_bytes_view(&text), " from ");
    tfd_bytes_deinit(&names);
    tfd_bytes_deinit(&text);
    return TFD_INVALID_ARGUMENT;
}

static int32_t count_given(const struct tfd_node *n, struct tfd_str name)
{
    int32_t count = 0;

    for (int32_t i = 0; i < n->attr_count; i++)
        count += tfd_str_eq(n->attrs[i].name, name);
    return count;
}

static enum tfd_code check_attr(const struct adding *a,
                                const struct tfd_op_attr *attr)
{
    struct tfd_status why = TFD_STATUS_INIT;
    int32_t given = count_given(a->n, attr->name);
    struct tfd_str value;

    if (!given)
        return attr->has_default ? TFD_OK : fail_missing_attr(a);
    if (given > 1)
        return tfd_fail(a->st, TFD_INVALID_ARGUMENT,
                        "Node '" TFD_STR_FMT "' has the attr '%s' more than "
                        "once",
                        TFD_STR_ARG(a->n->name), attr->name.data);
    if (!tfd_node_attr(a->n, attr->name.data, &value) ||
        !tfd_attr_check(attr, value, &why))
        return TFD_OK;
    return fail_value(a, &why);
}

/* Attributes the definition lacks are kept and not looked at: TensorFlow adds
 * its own ("_class"), and newer clients may. */
static enum tfd_code check_attrs(const struct adding *a)
{
    for (int i = 0; i < a->n->op->attr_count; i++)
        TFD_TRY(check_attr(a, &a->n->op->attrs[i]));
    return TFD_OK;
}

/* ---- Types --------------------------------------------------------------- */

static enum tfd_code count_tensors(const struct adding *a,
                                   const struct tfd_op_arg *args, int count,
                                   const char *what, int64_t max, int64_t *sum)
{
    *sum = 0;
    for (int i = 0; i < count; i++) {
        int64_t n = tfd_graph_arg_count(a->n, &args[i]);

        if (n < 0)
            return tfd_fail(a->st, TFD_INVALID_ARGUMENT,
                            "Value for number_attr() %lld < 0\n\t "
                            "[[{{node " TFD_STR_FMT "}}]]",
                            (long long)n, TFD_STR_ARG(a->n->name));
        if (n > max - *sum)
            return tfd_fail(a->st, TFD_INVALID_ARGUMENT,
                            "Number of %s is too big: %lld\n\t "
                            "[[{{node " TFD_STR_FMT "}}]]",
                            what, (long long)n, TFD_STR_ARG(a->n->name));
        *sum += n;
    }
    return TFD_OK;
}

static enum tfd_code put_list_types(const struct adding *a,
                                    const struct tfd_op_arg *arg,
                                    uint8_t **types)
{
    struct tfd_str value, list;
    struct tfd_attr_list l;
    struct tfd_pb_field f;
    int64_t count;

    if (!tfd_node_attr(a->n, a->n->op->attrs[arg->list_attr].name.data, &value))
        return fail_missing_attr(a);
    TFD_TRY(tfd_attr_list(value, TFD_ATTR_TYPE, &list, &count, a->st));
    l = tfd_attr_list_of(list);
    while (tfd_attr_list_next(&l, &f))
        *(*types)++ = (uint8_t)f.number;
    return TFD_OK;
}

static enum tfd_code put_types(const struct adding *a,
                               const struct tfd_op_arg *arg, uint8_t **types)
{
    int64_t count = tfd_graph_arg_count(a->n, arg);
    enum tfd_dtype type = arg->dtype;

    if (arg->list_attr >= 0)
        return put_list_types(a, arg, types);
    if (arg->type_attr >= 0)
        TFD_TRY(tfd_node_type(a->n, a->n->op->attrs[arg->type_attr].name.data,
                              &type, a->st));
    for (int64_t i = 0; i < count; i++)
        *(*types)++ = (uint8_t)((int)type + (arg->ref ? TFD_REF : 0));
    return TFD_OK;
}

static enum tfd_code make_types(const struct adding *a,
                                const struct tfd_op_arg *args, int count,
                                int64_t sum, const uint8_t **out)
{
    uint8_t *types = tfd_arena_array(&a->g->arena, (size_t)sum, 1);

    TFD_TRY(tfd_arena_check(types, "a node", a->st));
    *out = types;
    for (int i = 0; i < count; i++)
        TFD_TRY(put_types(a, &args[i], &types));
    return TFD_OK;
}

static enum tfd_code fail_count(const struct adding *a, int64_t expected)
{
    struct tfd_bytes text;
    enum tfd_code rc;

    tfd_bytes_init(&text, 1024);
    tfd_bytes_printf(&text, "NodeDef expected inputs '");
    for (int64_t i = 0; i < expected && i < 32; i++)
        tfd_bytes_printf(&text, "%s%s", i ? ", " : "",
                         tfd_dtype_name(a->n->in_types[i]));
    tfd_bytes_printf(&text, "%s' do not match %d inputs specified",
                     expected > 32 ? ", ..." : "", a->n->in_count);
    rc = fail_node(a, tfd_bytes_view(&text), "; ");
    tfd_bytes_deinit(&text);
    return rc;
}

static enum tfd_code set_types(const struct adding *a)
{
    const struct tfd_op *op = a->n->op;
    int64_t in, out;

    TFD_TRY(count_tensors(a, op->in, op->in_count, "inputs",
                          TFD_NODE_INPUTS_MAX, &in));
    TFD_TRY(count_tensors(a, op->out, op->out_count, "outputs",
                          TFD_NODE_OUTPUTS_MAX, &out));
    TFD_TRY(make_types(a, op->in, op->in_count, in, &a->n->in_types));
    TFD_TRY(make_types(a, op->out, op->out_count, out, &a->n->out_types));
    a->n->out_count = (int32_t)out;
    return in == a->n->in_count ? TFD_OK : fail_count(a, in);
}

/* What a gradient's graph, which asks for values of the forward op that this
 * one does not give, is told to do about it; TensorFlow's words. */
static const char *intermediates_hint(const struct tfd_node *source)
{
    static const char *const names[] = {"If", "StatelessIf", "While",
                                        "StatelessWhile"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (tfd_str_is(source->op->name, names[i]))
            return " Try using "
                   "tf.compat.v1.experimental.output_all_intermediates(True).";
    return "";
}

enum tfd_code tfd_graph_check_edge(const struct tfd_graph *g,
                                   const struct tfd_node *n, int32_t input,
                                   struct tfd_edge from, struct tfd_status *st)
{
    int expected = n->in_types[input], actual;
    const struct tfd_node *source;

    if (from.node < 0 || from.node >= g->count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input %d of node '" TFD_STR_FMT "' is node %d of %d",
                        input, TFD_STR_ARG(n->name), from.node, g->count);
    source = g->nodes[from.node];
    if (from.output < 0 || from.output >= source->out_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Node '" TFD_STR_FMT "': Connecting to invalid output "
                        "%d of source node " TFD_STR_FMT " which has %d "
                        "outputs.%s",
                        TFD_STR_ARG(n->name), from.output,
                        TFD_STR_ARG(source->name), source->out_count,
                        intermediates_hint(source));
    actual = source->out_types[from.output];
    /* A reference is good where a value is wanted, but not the reverse. */
    if (expected == actual || expected == (int)tfd_dtype_base(actual))
        return TFD_OK;
    return tfd_fail(
        st, TFD_INVALID_ARGUMENT,
        "Input %d of node " TFD_STR_FMT " was passed %s from " TFD_STR_FMT
        ":%d incompatible with expected %s.",
        input, TFD_STR_ARG(n->name), tfd_dtype_name(actual),
        TFD_STR_ARG(source->name), from.output, tfd_dtype_name(expected));
}

static enum tfd_code check_edges(const struct adding *a)
{
    for (int32_t i = 0; i < a->n->in_count; i++)
        if (a->n->in[i].node >= 0)
            TFD_TRY(tfd_graph_check_edge(a->g, a->n, i, a->n->in[i], a->st));
    return TFD_OK;
}

/* ---- The whole ----------------------------------------------------------- */

static enum tfd_code make_node(struct adding *a)
{
    a->n = tfd_arena_alloc(&a->g->arena, sizeof(*a->n));
    TFD_TRY(tfd_arena_check(a->n, "a node", a->st));
    TFD_TRY(find_op(a));
    a->n->id = a->g->count;
    TFD_TRY(copy_str(a, a->spec->name, &a->n->name));
    TFD_TRY(copy_device(a));
    TFD_TRY(copy_inputs(a));
    TFD_TRY(copy_control(a));
    TFD_TRY(copy_attrs(a));
    TFD_TRY(check_attrs(a));
    TFD_TRY(set_types(a));
    return check_edges(a);
}

static enum tfd_code publish(const struct adding *a)
{
    struct tfd_graph *g = a->g;
    int32_t capacity = g->capacity ? g->capacity * 2 : 64;
    struct tfd_node **nodes = g->nodes;

    if (g->count == g->capacity) {
        nodes = realloc(nodes, sizeof(struct tfd_node *) * (size_t)capacity);
        TFD_TRY(tfd_arena_check(nodes, "the nodes of a graph", a->st));
        g->nodes = nodes;
        g->capacity = capacity;
    }
    if (!tfd_map_put(&g->by_name, a->n->name, (uintptr_t)g->count))
        return tfd_fail(a->st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the names of a graph");
    g->nodes[g->count++] = a->n;
    return TFD_OK;
}

enum tfd_code tfd_graph_add(struct tfd_graph *g,
                            const struct tfd_node_spec *spec,
                            struct tfd_node **out, struct tfd_status *st)
{
    struct adding a = {.g = g, .spec = spec, .st = st};

    TFD_TRY(check_limits(&a));
    TFD_TRY(check_name(&a));
    TFD_TRY(make_node(&a));
    TFD_TRY(publish(&a));
    if (out)
        *out = a.n;
    return TFD_OK;
}
