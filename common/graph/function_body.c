/*
 * function_body.c - see function_body.h.
 *
 * First all nodes with their attributes, so that it is known how many tensors
 * each output is; then, by name, inputs and results.
 */
#include "common/graph/function_body.h"

#include "common/graph/attr.h"
#include "common/graph/function_attr.h"
#include "common/graph/graph_internal.h"
#include "common/graph/unknown_ops.h"
#include "config/limits.h"

#include <string.h>

struct making {
    const struct tfd_graph *g;
    const struct tfd_func *call;
    struct tfd_func bound; /* the call's attributes and the defaults */
    struct tfd_arena *arena;
    struct tfd_body *body;
    struct tfd_map by_name; /* of arguments: "x" -> index in the signature;
                               of nodes: -> number; see name_value() */
    int32_t *first_tensor;  /* by argument of the signature, and the end */
    struct tfd_edge *edges; /* scratch, for one node at a time */
    int32_t edge_count, edge_capacity;
    struct tfd_status *st;
};

/* Both kinds of names in one map: arguments are odd. */
static uintptr_t name_value(bool arg, int32_t number)
{
    return (uintptr_t)number << 1 | arg;
}

static struct tfd_str name_of(const struct making *m)
{
    return m->body->function->op.name;
}

/* ---- Attributes of the call ---------------------------------------------- */

static enum tfd_code bind_attrs(struct making *m)
{
    const struct tfd_op *op = &m->body->function->op;
    size_t room = (size_t)m->call->attr_count + (size_t)op->attr_count + 1;
    struct tfd_attr *all =
        tfd_arena_array(m->arena, room, sizeof(struct tfd_attr));
    int32_t count = m->call->attr_count;

    TFD_TRY(tfd_arena_check(all, "a call", m->st));
    if (count)
        memcpy(all, m->call->attrs, sizeof(*all) * (size_t)count);
    for (int i = 0; i < op->attr_count; i++)
        if (op->attrs[i].has_default)
            all[count++] = (struct tfd_attr){op->attrs[i].name,
                                             op->attrs[i].default_value};
    m->bound = (struct tfd_func){m->call->name, all, count};
    return TFD_OK;
}

/* ---- Types --------------------------------------------------------------- */

static enum tfd_code types_of_arg(const struct making *m,
                                  const struct tfd_node *n,
                                  const struct tfd_op_arg *arg, uint8_t *out)
{
    const struct tfd_op_attr *attrs = n->op->attrs;
    int count = (int)tfd_graph_arg_count(n, arg);
    enum tfd_dtype type = arg->dtype, *list;

    if (arg->list_attr >= 0) {
        list = tfd_arena_array(m->arena, (size_t)count + 1, sizeof(*list));
        TFD_TRY(tfd_arena_check(list, "a call", m->st));
        TFD_TRY(tfd_node_types(n, attrs[arg->list_attr].name.data, list, count,
                               &count, m->st));
        for (int i = 0; i < count; i++)
            out[i] = (uint8_t)list[i];
        return TFD_OK;
    }
    if (arg->type_attr >= 0)
        TFD_TRY(
            tfd_node_type(n, attrs[arg->type_attr].name.data, &type, m->st));
    for (int i = 0; i < count; i++)
        out[i] = (uint8_t)type;
    return TFD_OK;
}

/* Of all tensors of all args, one after the other; lengths are checked. */
static enum tfd_code make_types(const struct making *m,
                                const struct tfd_node *n,
                                const struct tfd_op_arg *args, int count,
                                int64_t tensors, const uint8_t **out)
{
    uint8_t *types = tfd_arena_array(m->arena, (size_t)tensors + 1, 1);

    TFD_TRY(tfd_arena_check(types, "a call", m->st));
    *out = types;
    for (int i = 0; i < count; i++) {
        TFD_TRY(types_of_arg(m, n, &args[i], types));
        types += tfd_graph_arg_count(n, &args[i]);
    }
    return TFD_OK;
}

/* ---- Arguments ----------------------------------------------------------- */

static enum tfd_code put_name(struct making *m, struct tfd_str name,
                              uintptr_t value)
{
    uintptr_t known;

    if (tfd_map_get(&m->by_name, name, &known))
        return tfd_fail(m->st, TFD_INVALID_ARGUMENT,
                        "Duplicated name '" TFD_STR_FMT
                        "' in function " TFD_STR_FMT,
                        TFD_STR_ARG(name), TFD_STR_ARG(name_of(m)));
    if (!tfd_map_put(&m->by_name, name, value))
        return tfd_arena_check(NULL, "a function's names", m->st);
    return TFD_OK;
}

/* A node that has the attributes of the call, to ask about the signature. */
static struct tfd_node signature_node(const struct making *m)
{
    return (struct tfd_node){
        .name = m->call->name,
        .op = &m->body->function->op,
        .attrs = m->bound.attrs,
        .attr_count = m->bound.attr_count,
    };
}

static enum tfd_code count_tensors(const struct making *m,
                                   const struct tfd_node *n,
                                   const struct tfd_op_arg *args, int count,
                                   int64_t max, int64_t *sum)
{
    *sum = 0;
    for (int i = 0; i < count; i++) {
        int64_t tensors = tfd_graph_arg_count(n, &args[i]);

        if (tensors < 0 || tensors > max - *sum)
            return tfd_fail(m->st, TFD_INVALID_ARGUMENT,
                            "'" TFD_STR_FMT "' of " TFD_STR_FMT
                            " in function " TFD_STR_FMT " has no length",
                            TFD_STR_ARG(args[i].name), TFD_STR_ARG(n->name),
                            TFD_STR_ARG(name_of(m)));
        *sum += tensors;
    }
    return TFD_OK;
}

/* "x" for a single tensor, "x_2" for one of several. */
static enum tfd_code arg_name(const struct making *m, struct tfd_str name,
                              int64_t index, int64_t of, struct tfd_str *out)
{
    struct tfd_bytes b;
    enum tfd_code rc;

    *out = name;
    if (of == 1)
        return TFD_OK;
    tfd_bytes_init(&b, 2 * TFD_NAME_SIZE_MAX);
    tfd_bytes_add_str(&b, name);
    tfd_bytes_printf(&b, "_%lld", (long long)index);
    rc = tfd_bytes_ok(&b, "an argument's name", m->st);
    if (rc == TFD_OK) {
        *out = tfd_arena_str(m->arena, tfd_bytes_view(&b));
        rc = tfd_arena_check(out->data, "an argument's name", m->st);
    }
    tfd_bytes_deinit(&b);
    return rc;
}

static enum tfd_code make_args(struct making *m)
{
    const struct tfd_op *op = &m->body->function->op;
    const struct tfd_node n = signature_node(m);
    int32_t at = 0;

    for (int i = 0; i < op->in_count; i++) {
        int64_t tensors = tfd_graph_arg_count(&n, &op->in[i]);

        m->first_tensor[i] = at;
        TFD_TRY(put_name(m, op->in[i].name, name_value(true, i)));
        for (int64_t k = 0; k < tensors; k++, at++) {
            struct tfd_body_node *arg = &m->body->nodes[at];

            arg->arg = arg->node.id = at;
            arg->node.device = TFD_STR_EMPTY;
            TFD_TRY(arg_name(m, op->in[i].name, k, tensors, &arg->node.name));
        }
    }
    m->first_tensor[op->in_count] = at;
    return TFD_OK;
}

/* ---- Nodes --------------------------------------------------------------- */

static enum tfd_code substitute(const struct making *m,
                                const struct tfd_function_node *from,
                                struct tfd_node *to)
{
    struct tfd_attr *attrs =
        tfd_arena_array(m->arena, (size_t)from->attr_count + 1, sizeof(*attrs));

    TFD_TRY(tfd_arena_check(attrs, "a function's body", m->st));
    for (int32_t i = 0; i < from->attr_count; i++) {
        attrs[i] = from->attrs[i];
        TFD_TRY(tfd_function_attr(&m->bound, m->arena, &attrs[i].value, m->st));
    }
    to->attrs = attrs;
    to->attr_count = from->attr_count;
    return TFD_OK;
}

static enum tfd_code fail_unknown_op(const struct making *m,
                                     struct tfd_str type)
{
    struct tfd_unknown_ops unknown;

    tfd_unknown_ops_begin(&unknown, m->g, type);
    return tfd_unknown_ops_fail(&unknown, name_of(m), m->st);
}

static enum tfd_code make_node(struct making *m, int32_t index)
{
    const struct tfd_function_node *from = &m->body->function->nodes[index];
    int32_t number = m->body->arg_count + index;
    struct tfd_body_node *to = &m->body->nodes[number];
    int64_t unused;

    to->arg = -1;
    to->node.id = number;
    to->node.name = from->name;
    to->node.device = from->device;
    to->node.op = tfd_function_op(m->g, from->op);
    if (!to->node.op)
        return fail_unknown_op(m, from->op);
    TFD_TRY(put_name(m, from->name, name_value(false, number)));
    TFD_TRY(substitute(m, from, &to->node));
    return count_tensors(m, &to->node, to->node.op->out, to->node.op->out_count,
                         TFD_NODE_OUTPUTS_MAX, &unused);
}

static int64_t sum_tensors(const struct tfd_node *n,
                           const struct tfd_op_arg *args, int count)
{
    int64_t sum = 0;

    for (int i = 0; i < count; i++) {
        int64_t tensors = tfd_graph_arg_count(n, &args[i]);

        if (tensors < 0 || tensors > TFD_NODE_OUTPUTS_MAX - sum)
            return -1;
        sum += tensors;
    }
    return sum;
}

int64_t tfd_function_outputs(const struct tfd_node *n)
{
    return sum_tensors(n, n->op->out, n->op->out_count);
}

int64_t tfd_function_inputs(const struct tfd_node *n)
{
    return sum_tensors(n, n->op->in, n->op->in_count);
}

/* ---- Names of tensors ---------------------------------------------------- */

static enum tfd_code push_edges(struct making *m, int32_t node, int64_t first,
                                int64_t count)
{
    if (count > TFD_NODE_INPUTS_MAX - m->edge_count)
        return tfd_fail(m->st, TFD_RESOURCE_EXHAUSTED,
                        "a node of function " TFD_STR_FMT " has more than %d "
                        "inputs",
                        TFD_STR_ARG(name_of(m)), TFD_NODE_INPUTS_MAX);
    if (m->edge_count + count > m->edge_capacity) {
        int32_t capacity = 2 * (m->edge_count + (int32_t)count) + 16;
        struct tfd_edge *more =
            tfd_arena_array(m->arena, (size_t)capacity, sizeof(*more));

        TFD_TRY(tfd_arena_check(more, "inputs of a function", m->st));
        if (m->edge_count)
            memcpy(more, m->edges, sizeof(*more) * (size_t)m->edge_count);
        m->edges = more;
        m->edge_capacity = capacity;
    }
    for (int64_t i = 0; i < count; i++)
        m->edges[m->edge_count++] =
            node < 0 ? (struct tfd_edge){(int32_t)(first + i), 0}
                     : (struct tfd_edge){node, (int32_t)(first + i)};
    return TFD_OK;
}

static enum tfd_code not_found(const struct making *m, struct tfd_str user,
                               struct tfd_str input)
{
    char text[TFD_PRINTABLE_MAX];

    return tfd_fail(m->st, TFD_INVALID_ARGUMENT,
                    "input %s is not found: {{node " TFD_STR_FMT
                    "}} in function " TFD_STR_FMT,
                    tfd_graph_printable(input, text), TFD_STR_ARG(user),
                    TFD_STR_ARG(name_of(m)));
}

/* Cuts the part behind the first ':' off; false when there is none. */
static bool cut_part(struct tfd_str *text, struct tfd_str *rest)
{
    const char *colon = text->size ? memchr(text->data, ':', text->size) : NULL;

    if (!colon)
        return false;
    rest->data = colon + 1;
    rest->size = text->size - (size_t)(colon + 1 - text->data);
    text->size = (size_t)(colon - text->data);
    return true;
}

/* A tensor's number within a list; -1 when it is none. */
static int64_t index_of(struct tfd_str text, int64_t count)
{
    int64_t value = 0;

    if (!text.size || text.size > 9)
        return -1;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return -1;
        value = value * 10 + (text.data[i] - '0');
    }
    return value < count ? value : -1;
}

/* first and count: the tensors of a list; then the one that `rest` names. */
static enum tfd_code push_list(struct making *m, int32_t node, int64_t first,
                               int64_t count, bool one, struct tfd_str rest,
                               bool *found)
{
    int64_t index = one ? index_of(rest, count) : 0;

    *found = index >= 0;
    if (index < 0)
        return TFD_OK;
    return one ? push_edges(m, node, first + index, 1)
               : push_edges(m, node, first, count);
}

static enum tfd_code push_output(struct making *m, int32_t number,
                                 struct tfd_str out, bool *found)
{
    const struct tfd_node *n = &m->body->nodes[number].node;
    struct tfd_str rest = TFD_STR_EMPTY;
    bool one = cut_part(&out, &rest);
    int64_t first = 0;

    for (int i = 0; i < n->op->out_count; i++) {
        int64_t count = tfd_graph_arg_count(n, &n->op->out[i]);

        if (tfd_str_eq(n->op->out[i].name, out))
            return push_list(m, number, first, count, one, rest, found);
        first += count;
    }
    *found = false;
    return TFD_OK;
}

/* Appends what `text` stands for to m->edges. */
static enum tfd_code resolve_input(struct making *m, struct tfd_str user,
                                   struct tfd_str text)
{
    struct tfd_str name = text, rest = TFD_STR_EMPTY;
    bool more = cut_part(&name, &rest), found = false;
    uintptr_t value;

    if (!tfd_map_get(&m->by_name, name, &value))
        return not_found(m, user, text);
    if (value & 1) {
        int32_t first = m->first_tensor[value >> 1];

        TFD_TRY(push_list(m, -1, first,
                          m->first_tensor[(value >> 1) + 1] - first, more, rest,
                          &found));
    } else if (more) {
        TFD_TRY(push_output(m, (int32_t)(value >> 1), rest, &found));
    }
    return found ? TFD_OK : not_found(m, user, text);
}

/* The node, or the argument's first tensor. */
static enum tfd_code resolve_control(const struct making *m,
                                     struct tfd_str user, struct tfd_str name,
                                     int32_t *out)
{
    uintptr_t value;

    if (!tfd_map_get(&m->by_name, name, &value))
        return not_found(m, user, name);
    *out = value & 1 ? m->first_tensor[value >> 1] : (int32_t)(value >> 1);
    if (*out >= m->body->count)
        return not_found(m, user, name);
    return TFD_OK;
}

/* ---- Inputs -------------------------------------------------------------- */

static enum tfd_code take_edges(struct making *m, struct tfd_edge **out)
{
    *out = tfd_arena_array(m->arena, (size_t)m->edge_count + 1, sizeof(**out));
    TFD_TRY(tfd_arena_check(*out, "inputs of a function", m->st));
    if (m->edge_count)
        memcpy(*out, m->edges, sizeof(**out) * (size_t)m->edge_count);
    return TFD_OK;
}

static enum tfd_code connect(struct making *m, int32_t index)
{
    const struct tfd_function_node *from = &m->body->function->nodes[index];
    struct tfd_node *to = &m->body->nodes[m->body->arg_count + index].node;

    m->edge_count = 0;
    to->control = tfd_arena_array(m->arena, (size_t)from->in_count + 1,
                                  sizeof(*to->control));
    TFD_TRY(tfd_arena_check(to->control, "inputs of a function", m->st));
    for (int32_t i = 0; i < from->in_count; i++) {
        struct tfd_str in = from->in[i];

        if (tfd_str_starts(in, "^")) {
            in = (struct tfd_str){in.data + 1, in.size - 1};
            TFD_TRY(resolve_control(m, from->name, in,
                                    &to->control[to->control_count]));
            to->control_count++;
        } else if (to->control_count > 0) {
            return tfd_fail(m->st, TFD_INVALID_ARGUMENT,
                            "Expected input[%d] == '" TFD_STR_FMT
                            "' to be a control input.",
                            i, TFD_STR_ARG(in));
        } else {
            TFD_TRY(resolve_input(m, from->name, in));
        }
    }
    to->in_count = m->edge_count;
    return take_edges(m, &to->in);
}

/* ---- Results ------------------------------------------------------------- */

static enum tfd_code return_length(const struct making *m, int output,
                                   int64_t expected, int64_t actual)
{
    return tfd_fail(m->st, TFD_INVALID_ARGUMENT,
                    "Function " TFD_STR_FMT ": return '" TFD_STR_FMT
                    "' is %lld tensors and declared as %lld",
                    TFD_STR_ARG(name_of(m)),
                    TFD_STR_ARG(m->body->function->op.out[output].name),
                    (long long)actual, (long long)expected);
}

static enum tfd_code name_results(struct making *m, int output, int32_t first,
                                  int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        TFD_TRY(arg_name(m, m->body->function->op.out[output].name, k, count,
                         &m->body->ret_names[first + k]));
    return TFD_OK;
}

static enum tfd_code make_results(struct making *m)
{
    const struct tfd_function *f = m->body->function;
    const struct tfd_node n = signature_node(m);
    int64_t tensors;

    TFD_TRY(count_tensors(m, &n, f->op.out, f->op.out_count,
                          TFD_NODE_OUTPUTS_MAX, &tensors));
    m->body->ret_names = tfd_arena_array(m->arena, (size_t)tensors + 1,
                                         sizeof(*m->body->ret_names));
    TFD_TRY(tfd_arena_check(m->body->ret_names, "a function", m->st));
    TFD_TRY(make_types(m, &n, f->op.out, f->op.out_count, tensors,
                       &m->body->ret_types));
    m->edge_count = 0;
    for (int i = 0; i < f->op.out_count; i++) {
        int64_t expected = tfd_graph_arg_count(&n, &f->op.out[i]);
        int32_t before = m->edge_count;

        TFD_TRY(resolve_input(m, f->op.out[i].name, f->ret[i]));
        if (m->edge_count - before != expected)
            return return_length(m, i, expected, m->edge_count - before);
        TFD_TRY(name_results(m, i, before, expected));
    }
    m->body->ret_count = m->edge_count;
    return take_edges(m, &m->body->ret);
}

static enum tfd_code make_control_results(struct making *m)
{
    const struct tfd_function *f = m->body->function;
    int32_t *ret = tfd_arena_array(m->arena, (size_t)f->control_ret_count + 1,
                                   sizeof(*ret));

    TFD_TRY(tfd_arena_check(ret, "a function", m->st));
    for (int32_t i = 0; i < f->control_ret_count; i++)
        TFD_TRY(resolve_control(m, f->op.name, f->control_ret[i], &ret[i]));
    m->body->control_ret = ret;
    m->body->control_ret_count = f->control_ret_count;
    return TFD_OK;
}

/* ---- The whole ----------------------------------------------------------- */

static enum tfd_code make_function_body(struct making *m)
{
    const struct tfd_function *f = m->body->function;
    struct tfd_body *b = m->body;
    struct tfd_node n;
    int64_t args;

    TFD_TRY(bind_attrs(m));
    n = signature_node(m);
    TFD_TRY(count_tensors(m, &n, f->op.in, f->op.in_count, TFD_NODE_INPUTS_MAX,
                          &args));
    TFD_TRY(make_types(m, &n, f->op.in, f->op.in_count, args, &b->arg_types));
    b->arg_count = (int32_t)args;
    b->count = b->arg_count + f->node_count;
    b->nodes =
        tfd_arena_array(m->arena, (size_t)b->count + 1, sizeof(*b->nodes));
    m->first_tensor = tfd_arena_array(m->arena, (size_t)f->op.in_count + 1,
                                      sizeof(*m->first_tensor));
    if (!b->nodes || !m->first_tensor)
        return tfd_arena_check(NULL, "a function's body", m->st);
    TFD_TRY(make_args(m));
    for (int32_t i = 0; i < f->node_count; i++)
        TFD_TRY(make_node(m, i));
    for (int32_t i = 0; i < f->node_count; i++)
        TFD_TRY(connect(m, i));
    TFD_TRY(make_results(m));
    return make_control_results(m);
}

enum tfd_code tfd_function_body(const struct tfd_graph *g,
                                const struct tfd_func *call,
                                struct tfd_arena *arena, struct tfd_body *out,
                                struct tfd_status *st)
{
    struct making m = {g, call, .arena = arena, .body = out, .st = st};
    char text[TFD_PRINTABLE_MAX];
    enum tfd_code rc;

    *out = (struct tfd_body){.function = tfd_function_find(g, call->name)};
    if (!out->function)
        return tfd_fail(st, TFD_NOT_FOUND, "Function %s is not defined.",
                        tfd_graph_printable(call->name, text));
    tfd_map_init(&m.by_name);
    rc = make_function_body(&m);
    tfd_map_deinit(&m.by_name);
    return rc;
}
