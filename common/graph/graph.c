/*
 * graph.c - graphs and what is asked of them; nodes are made in graph_add.c.
 *
 * Arrays that may grow (control inputs) have room for the next power of two of
 * their count, so that growing by one costs one copy now and then and no field.
 */
#include "common/graph/graph.h"

#include "common/base/atomic.h"
#include "common/graph/attr.h"
#include "common/graph/graph_internal.h"
#include "config/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- Graphs -------------------------------------------------------------- */

struct tfd_graph *tfd_graph_new(const struct tfd_op_set *ops,
                                struct tfd_status *st)
{
    struct tfd_graph *g = calloc(1, sizeof(*g));

    if (!g) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a graph");
        return NULL;
    }
    g->refs = 1;
    g->ops = ops;
    g->library = TFD_STR_EMPTY;
    tfd_arena_init(&g->arena, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_map_init(&g->by_name);
    tfd_map_init(&g->function_by_name);
    tfd_map_init(&g->gradient_by_name);
    return g;
}

struct tfd_graph *tfd_graph_ref(struct tfd_graph *g)
{
    tfd_refs_add(&g->refs, 1);
    return g;
}

void tfd_graph_unref(struct tfd_graph *g)
{
    struct tfd_graph *library;

    for (; g && tfd_refs_drop(&g->refs); g = library) {
        library = g->library_of;
        tfd_map_deinit(&g->gradient_by_name);
        tfd_map_deinit(&g->function_by_name);
        tfd_map_deinit(&g->by_name);
        tfd_arena_deinit(&g->arena);
        free(g->nodes);
        free(g);
    }
}

struct tfd_node *tfd_graph_find(const struct tfd_graph *g, struct tfd_str name)
{
    uintptr_t id;

    if (!tfd_map_get(&g->by_name, name, &id))
        return NULL;
    return g->nodes[id];
}

void tfd_graph_truncate(struct tfd_graph *g, int32_t count)
{
    assert(count >= 0 && count <= g->count);
    while (g->count > count)
        tfd_map_remove(&g->by_name, g->nodes[--g->count]->name);
}

/* ---- Edges --------------------------------------------------------------- */

int tfd_graph_type(const struct tfd_graph *g, struct tfd_edge e)
{
    const struct tfd_node *n;

    if (e.node < 0 || e.node >= g->count)
        return TFD_DTYPE_INVALID;
    n = g->nodes[e.node];
    if (e.output < 0 || e.output >= n->out_count)
        return TFD_DTYPE_INVALID;
    return n->out_types[e.output];
}

bool tfd_graph_endpoint_split(struct tfd_str text, struct tfd_str *name,
                              int32_t *output)
{
    size_t digits = 0;
    int64_t number = 0;

    *name = text;
    *output = 0;
    if (text.size && text.data[0] == '^') {
        *name = (struct tfd_str){text.data + 1, text.size - 1};
        *output = TFD_CONTROL;
        return name->size > 0;
    }
    while (digits < text.size && text.data[text.size - digits - 1] >= '0' &&
           text.data[text.size - digits - 1] <= '9')
        digits++;
    if (digits == text.size || text.data[text.size - digits - 1] != ':')
        return text.size > 0 && !memchr(text.data, ':', text.size);

    name->size = text.size - digits - 1;
    for (size_t i = text.size - digits; i < text.size; i++) {
        number = number * 10 + (text.data[i] - '0');
        if (number > INT32_MAX)
            return false;
    }
    *output = (int32_t)number;
    return digits > 0 && name->size > 0;
}

enum tfd_code tfd_graph_endpoint(const struct tfd_graph *g, struct tfd_str text,
                                 struct tfd_edge *out, struct tfd_status *st)
{
    const struct tfd_node *n;
    struct tfd_str name;
    int32_t output;

    if (!tfd_graph_endpoint_split(text, &name, &output))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "'" TFD_STR_FMT "' does not name an output of a node",
                        TFD_STR_ARG(text));
    n = tfd_graph_find(g, name);
    if (!n)
        return tfd_fail(st, TFD_NOT_FOUND,
                        "there is no node named '" TFD_STR_FMT "'",
                        TFD_STR_ARG(name));
    if (output >= n->out_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "'" TFD_STR_FMT "': output index too large, must be "
                        "< %d",
                        TFD_STR_ARG(text), n->out_count);
    *out = (struct tfd_edge){n->id, output};
    return TFD_OK;
}

static enum tfd_code check_input(const struct tfd_node *n, int32_t input,
                                 struct tfd_status *st)
{
    if (!(n->op->flags & TFD_OP_MERGE) || input < 0 || input >= n->in_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Node '" TFD_STR_FMT "' has no input %d to be set",
                        TFD_STR_ARG(n->name), input);
    if (n->in[input].node >= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input %d of node '" TFD_STR_FMT "' is set already",
                        input, TFD_STR_ARG(n->name));
    return TFD_OK;
}

enum tfd_code tfd_graph_set_input(struct tfd_graph *g, struct tfd_node *n,
                                  int32_t input, struct tfd_edge from,
                                  struct tfd_status *st)
{
    TFD_TRY(check_input(n, input, st));
    TFD_TRY(tfd_graph_check_edge(g, n, input, from, st));
    n->in[input] = from;
    return TFD_OK;
}

/* ---- Control inputs ------------------------------------------------------ */

enum tfd_code tfd_graph_add_control(struct tfd_graph *g, struct tfd_node *n,
                                    int32_t from, struct tfd_status *st)
{
    int32_t count = n->control_count, *bigger;

    if (from < 0 || from >= g->count || from == n->id)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Node '" TFD_STR_FMT "' cannot wait for node %d of %d",
                        TFD_STR_ARG(n->name), from, g->count);
    for (int32_t i = 0; i < count; i++)
        if (n->control[i] == from)
            return TFD_OK;
    if (count >= TFD_NODE_INPUTS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "Node '" TFD_STR_FMT "' has %d control inputs, which "
                        "is the limit",
                        TFD_STR_ARG(n->name), count);

    if ((count & (count - 1)) == 0) { /* a power of two, or none: full */
        bigger = tfd_arena_array(&g->arena, count ? (size_t)count * 2 : 1,
                                 sizeof(*bigger));
        TFD_TRY(tfd_arena_check(bigger, "control inputs", st));
        if (count)
            memcpy(bigger, n->control, sizeof(*bigger) * (size_t)count);
        n->control = bigger;
    }
    n->control[n->control_count++] = from;
    return TFD_OK;
}

/* ---- Arguments ----------------------------------------------------------- */

int64_t tfd_graph_arg_count(const struct tfd_node *n,
                            const struct tfd_op_arg *arg)
{
    struct tfd_str value, list_value;
    int64_t count = 1;

    if (arg->number_attr >= 0 &&
        tfd_node_int(n, n->op->attrs[arg->number_attr].name.data, &count, NULL))
        return -1;
    if (arg->list_attr >= 0 &&
        (!tfd_node_attr(n, n->op->attrs[arg->list_attr].name.data, &value) ||
         tfd_attr_list(value, TFD_ATTR_TYPE, &list_value, &count, NULL)))
        return -1;
    return count;
}

void tfd_node_arg(const struct tfd_node *n, int arg, int32_t *first,
                  int32_t *count)
{
    assert(arg >= 0 && arg < n->op->in_count);
    *first = 0;
    for (int i = 0; i < arg; i++)
        *first += (int32_t)tfd_graph_arg_count(n, &n->op->in[i]);
    *count = (int32_t)tfd_graph_arg_count(n, &n->op->in[arg]);
    assert(*count >= 0 && *first + *count <= n->in_count);
}

static int arg_at(const struct tfd_node *n, const struct tfd_op_arg *args,
                  int count, int32_t at)
{
    for (int i = 0; i < count; i++) {
        at -= (int32_t)tfd_graph_arg_count(n, &args[i]);
        if (at < 0)
            return i;
    }
    return count - 1;
}

int tfd_node_in_arg(const struct tfd_node *n, int32_t input)
{
    assert(input >= 0 && input < n->in_count);
    return arg_at(n, n->op->in, n->op->in_count, input);
}

int tfd_node_out_arg(const struct tfd_node *n, int32_t output)
{
    assert(output >= 0 && output < n->out_count);
    return arg_at(n, n->op->out, n->op->out_count, output);
}
