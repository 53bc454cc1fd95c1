/*
 * while_copy.c - see while_copy.h.  What TensorFlow refuses when it imports a
 * GraphDef is refused here with the same words: that is how it copies.
 */
#include "client/c_api/while_copy.h"

#include "client/train/gradients.h"

#include <stdlib.h>

/* ---- Names --------------------------------------------------------------- */

void tfd_while_add_name(const TF_Graph *g, struct tfd_bytes *name,
                        struct tfd_str part)
{
    size_t plain;

    tfd_bytes_add_str(name, part);
    plain = name->size;
    for (int i = 1; tfd_gradients_prefix_user(g, tfd_bytes_view(name)); i++) {
        name->size = plain;
        tfd_bytes_printf(name, "_%d", i);
    }
}

/* ---- Copies of the graphs' nodes ----------------------------------------- */

struct copying {
    TF_Graph *g;
    struct tfd_str scope;
    int input_count;
    struct tfd_status *st;
    const TF_Graph *from;
    struct tfd_bytes prefix; /* "scope/cond/" */
    const TF_Output *inputs; /* in `from` */
    const int32_t *values;   /* the loop's nodes, by input */
    int32_t *copies;         /* by node of `from` */
};

/* Names that runtimes make are no program's to use. */
static bool is_bad_name(struct tfd_str name)
{
    return tfd_str_starts(name, "_") || !tfd_graph_name_ok(name);
}

static enum tfd_code choose_prefix(struct copying *c, const char *part)
{
    struct tfd_str prefix;
    bool bad;

    tfd_bytes_add_str(&c->prefix, c->scope);
    tfd_while_add_name(c->g, &c->prefix, tfd_str_of(part));
    bad = is_bad_name(tfd_bytes_view(&c->prefix));
    tfd_bytes_add(&c->prefix, "/", 1);
    TFD_TRY(tfd_bytes_ok(&c->prefix, "the name of a loop", c->st));
    prefix = tfd_bytes_view(&c->prefix);
    if (!bad)
        return TFD_OK;
    return tfd_fail(c->st, TFD_INVALID_ARGUMENT,
                    "Imported node name prefix '" TFD_STR_FMT
                    "' would lead to invalid node names",
                    TFD_STR_ARG(prefix));
}

static enum tfd_code check_names(const struct copying *c)
{
    const struct tfd_graph *g = c->from->graph;

    for (int32_t i = 0; i < g->count; i++)
        if (is_bad_name(g->nodes[i]->name))
            return tfd_fail(c->st, TFD_INVALID_ARGUMENT,
                            "Node '" TFD_STR_FMT
                            "': Node name contains invalid characters",
                            TFD_STR_ARG(g->nodes[i]->name));
    return TFD_OK;
}

static enum tfd_code begin_copy(struct copying *c)
{
    TFD_TRY(check_names(c));
    c->copies = calloc((size_t)c->from->graph->count + 1, sizeof(*c->copies));
    if (!c->copies)
        return tfd_fail(c->st, TFD_RESOURCE_EXHAUSTED, "no memory for a loop");
    for (int32_t i = 0; i < c->from->graph->count; i++)
        c->copies[i] = -1;
    for (int i = 0; i < c->input_count; i++)
        c->copies[c->inputs[i].oper->node->id] = c->values[i];
    return TFD_OK;
}

static enum tfd_code add_copy(struct copying *c, const struct tfd_node *n,
                              struct tfd_node_spec *spec)
{
    struct tfd_bytes name;
    TF_Operation *added;
    enum tfd_code rc;

    tfd_bytes_init(&name, 2 * TFD_NAME_SIZE_MAX);
    tfd_bytes_add_str(&name, tfd_bytes_view(&c->prefix));
    tfd_bytes_add_str(&name, n->name);
    rc = tfd_bytes_ok(&name, "the name of a loop", c->st);
    spec->name = tfd_bytes_view(&name);
    if (rc == TFD_OK)
        rc = tfd_capi_add(c->g, spec, &added, c->st);
    if (rc == TFD_OK)
        c->copies[n->id] = added->node->id;
    tfd_bytes_deinit(&name);
    return rc;
}

static enum tfd_code copy_node(struct copying *c, const struct tfd_node *n)
{
    size_t ins = (size_t)n->in_count, controls = (size_t)n->control_count;
    struct tfd_edge *in = calloc(ins + 1, sizeof(*in));
    int32_t *control = calloc(controls + 1, sizeof(*control));
    struct tfd_node_spec spec = {
        .op = n->op->name,
        .device = n->device,
        .in = in,
        .in_count = n->in_count,
        .control = control,
        .control_count = n->control_count,
        .attrs = n->attrs,
        .attr_count = n->attr_count,
    };
    enum tfd_code rc;

    for (size_t i = 0; in && i < ins; i++) {
        int32_t from = n->in[i].node < 0 ? -1 : c->copies[n->in[i].node];

        /* Back edges are not there yet. */
        in[i] =
            from < 0 ? TFD_EDGE_NONE : (struct tfd_edge){from, n->in[i].output};
    }
    for (size_t i = 0; control && i < controls; i++)
        control[i] = c->copies[n->control[i]];
    if (control && n->in_count == 0 && n->control_count == 0) {
        control[0] = c->values[0];
        spec.control_count = 1;
    }
    rc = in && control
             ? add_copy(c, n, &spec)
             : tfd_fail(c->st, TFD_RESOURCE_EXHAUSTED, "no memory for a loop");
    free(in);
    free(control);
    return rc;
}

static enum tfd_code close_loops(struct copying *c, const struct tfd_node *n)
{
    struct tfd_graph *g = c->g->graph;

    for (int32_t i = 0; i < n->in_count; i++)
        if (n->in[i].node > n->id)
            TFD_TRY(tfd_graph_set_input(
                g, g->nodes[c->copies[n->id]], i,
                (struct tfd_edge){c->copies[n->in[i].node], n->in[i].output},
                c->st));
    return TFD_OK;
}

static enum tfd_code copy_nodes(struct copying *c)
{
    const struct tfd_graph *g = c->from->graph;

    TFD_TRY(begin_copy(c));
    for (int32_t i = 0; i < g->count; i++)
        if (c->copies[i] < 0)
            TFD_TRY(copy_node(c, g->nodes[i]));
    for (int32_t i = 0; i < g->count; i++)
        TFD_TRY(close_loops(c, g->nodes[i]));
    return TFD_OK;
}

/* The copy of an output, which is found by its node's name, as TensorFlow finds
 * it in the copied GraphDef. */
static enum tfd_code copy_of(const struct copying *c, TF_Output output,
                             struct tfd_edge *out)
{
    struct tfd_str name = output.oper->node->name;
    const struct tfd_node *n = tfd_graph_find(c->from->graph, name), *copy;

    if (!n)
        return tfd_fail(c->st, TFD_INVALID_ARGUMENT,
                        "Requested return tensor '" TFD_STR_FMT
                        ":%d' not found in graph def",
                        TFD_STR_ARG(name), output.index);
    if (output.index >= n->out_count)
        return tfd_fail(c->st, TFD_INVALID_ARGUMENT,
                        "Invalid return output %d of node '" TFD_STR_FMT
                        "', which has %d output(s)",
                        output.index, TFD_STR_ARG(name), n->out_count);
    copy = c->g->graph->nodes[c->copies[n->id]];
    if (output.index < 0)
        return tfd_fail(c->st, TFD_OUT_OF_RANGE,
                        "Node '" TFD_STR_FMT "' (type: '" TFD_STR_FMT
                        "', num of outputs: %d) does not have output %d",
                        TFD_STR_ARG(copy->name), TFD_STR_ARG(copy->op->name),
                        copy->out_count, output.index);
    *out = (struct tfd_edge){copy->id, output.index};
    return TFD_OK;
}

enum tfd_code tfd_while_copy(const struct tfd_while_part *part, TF_Graph *g,
                             struct tfd_str scope, struct tfd_edge *out,
                             struct tfd_status *st)
{
    struct copying c = {
        .g = g,
        .scope = scope,
        .input_count = part->input_count,
        .st = st,
        .from = part->graph,
        .inputs = part->inputs,
        .values = part->values,
    };
    enum tfd_code rc;

    tfd_bytes_init(&c.prefix, TFD_NAME_SIZE_MAX);
    rc = choose_prefix(&c, part->name);
    if (rc == TFD_OK)
        rc = copy_nodes(&c);
    for (int i = 0; rc == TFD_OK && i < part->output_count; i++)
        rc = copy_of(&c, part->outputs[i], &out[i]);
    tfd_bytes_deinit(&c.prefix);
    free(c.copies);
    return rc;
}
