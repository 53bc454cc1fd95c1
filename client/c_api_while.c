/*
 * c_api_while.c - TF_NewWhile() to TF_FinishWhile(): loops that a program
 * describes by two small graphs.
 *
 *     inputs -> Enter -> Merge -> cond's nodes -> LoopCond
 *                          `-> Switch -> Identity -> body's nodes
 *                                 |          -> NextIteration -> Merge
 *                                 `-> Exit: outputs
 *
 * The graphs' nodes are copied under "name/cond" and "name/body", their inputs
 * becoming the loop's.  One without inputs waits for the iteration: it has to
 * run in the loop's frame.
 */
#include "client/capi.h"

#include <stdlib.h>
#include <string.h>

#define NONE ((TF_Output){NULL, -1})

/* ---- The two graphs ------------------------------------------------------ */

static enum tfd_code add_input(TF_Graph *g, const char *part, int i,
                               enum tfd_dtype type, TF_Output *out,
                               struct tfd_status *st)
{
    struct tfd_attr dtype = {TFD_STR("dtype"), TFD_STR_EMPTY};
    struct tfd_bytes name, value;
    TF_Operation *op = NULL;
    enum tfd_code rc;

    tfd_bytes_init(&name, TFD_NAME_SIZE_MAX);
    tfd_bytes_init(&value, TFD_ATTR_SIZE_MAX);
    tfd_bytes_printf(&name, "%s_input%d", part, i);
    tfd_attr_put_type(&value, (int)type);
    dtype.value = tfd_bytes_view(&value);
    rc = tfd_bytes_ok(&name, "a name", st);
    if (rc == TFD_OK)
        rc = tfd_bytes_ok(&value, "a type", st);
    if (rc == TFD_OK) {
        const struct tfd_node_spec spec = {
            .name = tfd_bytes_view(&name),
            .op = TFD_STR("Placeholder"),
            .attrs = &dtype,
            .attr_count = 1,
        };

        tfd_lock(&g->lock);
        rc = tfd_capi_add(g, &spec, &op, st);
        tfd_unlock(&g->lock);
        *out = (TF_Output){op, 0};
    }
    tfd_bytes_deinit(&name);
    tfd_bytes_deinit(&value);
    return rc;
}

/* What the program sees is constant; it was allocated here. */
static void free_array(const TF_Output *outputs)
{
    free((void *)(uintptr_t)outputs);
}

void TF_AbortWhile(const TF_WhileParams *params)
{
    TF_DeleteGraph(params->cond_graph);
    TF_DeleteGraph(params->body_graph);
    free_array(params->cond_inputs);
    free_array(params->body_inputs);
    free(params->body_outputs);
}

static enum tfd_code adopt(TF_Graph *g, TF_Graph *part, TF_Output *inputs,
                           int count, struct tfd_status *st)
{
    part->loop_inputs = calloc((size_t)count, sizeof(*part->loop_inputs));
    if (!part->loop_inputs)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a loop");
    part->parent = tfd_capi_graph_ref(g);
    for (int i = 0; i < count; i++)
        TFD_TRY(tfd_capi_edge(g, inputs[i], &part->loop_inputs[i], st));
    return TFD_OK;
}

static enum tfd_code fill(TF_Graph *g, TF_Output *inputs,
                          const TF_WhileParams *p, TF_Output *cond_inputs,
                          TF_Output *body_inputs, struct tfd_status *st)
{
    if (!p->cond_graph || !p->body_graph || !cond_inputs || !body_inputs ||
        !p->body_outputs)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a loop");
    TFD_TRY(adopt(g, p->cond_graph, inputs, p->ninputs, st));
    TFD_TRY(adopt(g, p->body_graph, inputs, p->ninputs, st));
    for (int i = 0; i < p->ninputs; i++) {
        int type = tfd_graph_type(g->graph, p->cond_graph->loop_inputs[i]);

        if (type & TFD_REF)
            return tfd_fail(st, TFD_UNIMPLEMENTED,
                            "TF_NewWhile() was given a reference as input %d",
                            i);
        TFD_TRY(add_input(p->cond_graph, "cond", i, (enum tfd_dtype)type,
                          &cond_inputs[i], st));
        TFD_TRY(add_input(p->body_graph, "body", i, (enum tfd_dtype)type,
                          &body_inputs[i], st));
        p->body_outputs[i] = NONE;
    }
    return TFD_OK;
}

TF_WhileParams TF_NewWhile(TF_Graph *g, TF_Output *inputs, int ninputs,
                           TF_Status *status)
{
    const TF_WhileParams empty = {0,    NULL, NULL, {NULL, -1},
                                  NULL, NULL, NULL, NULL};
    struct tfd_status *st = tfd_capi_status(status);
    size_t count = ninputs > 0 ? (size_t)ninputs : 1;
    TF_Output *cond_inputs, *body_inputs;

    if (ninputs <= 0) {
        tfd_fail(st, TFD_INVALID_ARGUMENT,
                 "TF_NewWhile() must be passed at least one input");
        return empty;
    }
    if (ninputs > TFD_NODE_INPUTS_MAX) {
        tfd_fail(st, TFD_INVALID_ARGUMENT,
                 "TF_NewWhile() may be passed at most %d inputs, not %d",
                 TFD_NODE_INPUTS_MAX, ninputs);
        return empty;
    }
    cond_inputs = calloc(count, sizeof(*cond_inputs));
    body_inputs = calloc(count, sizeof(*body_inputs));
    {
        const TF_WhileParams p = {
            ninputs,
            TF_NewGraph(),
            cond_inputs,
            {NULL, -1},
            TF_NewGraph(),
            body_inputs,
            calloc(count, sizeof(TF_Output)),
            NULL,
        };

        if (fill(g, inputs, &p, cond_inputs, body_inputs, st) == TFD_OK)
            return p;
        TF_AbortWhile(&p);
    }
    return empty;
}

/* ---- Nodes of the loop --------------------------------------------------- */

struct building {
    TF_Graph *g;
    const TF_WhileParams *p;
    int32_t *enter, *merge, *switched, *identity, *exit; /* by input */
    int32_t cond;                                        /* LoopCond */
    struct tfd_status *st;
};

/* Adds "name/op", or "name/op_1" ... */
static enum tfd_code add(struct building *b, const char *op,
                         const struct tfd_edge *in, int in_count,
                         const struct tfd_attr *attrs, int attr_count,
                         int32_t *out)
{
    struct tfd_node_spec spec = {
        .op = tfd_str_of(op),
        .in = in,
        .in_count = in_count,
        .attrs = attrs,
        .attr_count = attr_count,
    };
    struct tfd_bytes name;
    TF_Operation *added;
    enum tfd_code rc;
    size_t plain;

    tfd_bytes_init(&name, TFD_NAME_SIZE_MAX);
    tfd_bytes_add_str(&name, tfd_str_of(b->p->name));
    tfd_bytes_printf(&name, "/%s", op);
    plain = name.size;
    for (int i = 1; tfd_graph_find(b->g->graph, tfd_bytes_view(&name)); i++) {
        name.size = plain;
        tfd_bytes_printf(&name, "_%d", i);
    }
    rc = tfd_bytes_ok(&name, "the name of a loop", b->st);
    spec.name = tfd_bytes_view(&name);
    if (rc == TFD_OK)
        rc = tfd_capi_add(b->g, &spec, &added, b->st);
    if (rc == TFD_OK)
        *out = added->node->id;
    tfd_bytes_deinit(&name);
    return rc;
}

static enum tfd_code enter(struct building *b)
{
    struct tfd_attr frame = {TFD_STR("frame_name"), TFD_STR_EMPTY};
    struct tfd_bytes value;
    enum tfd_code rc;

    tfd_bytes_init(&value, TFD_ATTR_SIZE_MAX);
    tfd_attr_put_str(&value, tfd_str_of(b->p->name));
    frame.value = tfd_bytes_view(&value);
    rc = tfd_bytes_ok(&value, "the name of a loop", b->st);
    for (int i = 0; rc == TFD_OK && i < b->p->ninputs; i++)
        rc = add(b, "Enter", &b->p->cond_graph->loop_inputs[i], 1, &frame, 1,
                 &b->enter[i]);
    tfd_bytes_deinit(&value);
    return rc;
}

static enum tfd_code merge(struct building *b)
{
    struct tfd_edge in[2] = {TFD_EDGE_NONE, TFD_EDGE_NONE};

    for (int i = 0; i < b->p->ninputs; i++) {
        in[0] = (struct tfd_edge){b->enter[i], 0};
        TFD_TRY(add(b, "Merge", in, 2, NULL, 0, &b->merge[i]));
    }
    return TFD_OK;
}

static enum tfd_code split(struct building *b)
{
    struct tfd_edge in[2] = {TFD_EDGE_NONE, {b->cond, 0}};

    for (int i = 0; i < b->p->ninputs; i++) {
        in[0] = (struct tfd_edge){b->merge[i], 0};
        TFD_TRY(add(b, "Switch", in, 2, NULL, 0, &b->switched[i]));
    }
    for (int i = 0; i < b->p->ninputs; i++) {
        in[0] = (struct tfd_edge){b->switched[i], 1};
        TFD_TRY(add(b, "Identity", in, 1, NULL, 0, &b->identity[i]));
    }
    return TFD_OK;
}

static enum tfd_code close(struct building *b, const struct tfd_edge *next)
{
    int32_t back;

    for (int i = 0; i < b->p->ninputs; i++) {
        TFD_TRY(add(b, "NextIteration", &next[i], 1, NULL, 0, &back));
        TFD_TRY(tfd_graph_set_input(b->g->graph,
                                    b->g->graph->nodes[b->merge[i]], 1,
                                    (struct tfd_edge){back, 0}, b->st));
    }
    for (int i = 0; i < b->p->ninputs; i++) {
        struct tfd_edge last = {b->switched[i], 0};

        TFD_TRY(add(b, "Exit", &last, 1, NULL, 0, &b->exit[i]));
    }
    return TFD_OK;
}

/* ---- Copies of the graphs' nodes ----------------------------------------- */

struct copying {
    struct building *b;
    const TF_Graph *from;
    const char *part;
    const TF_Output *inputs; /* in `from` */
    const int32_t *values;   /* the loop's nodes, by input */
    int32_t *copies;         /* by node of `from` */
};

static enum tfd_code begin_copy(struct copying *c)
{
    c->copies = calloc((size_t)c->from->graph->count, sizeof(*c->copies));
    if (!c->copies)
        return tfd_fail(c->b->st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a loop");
    for (int32_t i = 0; i < c->from->graph->count; i++)
        c->copies[i] = -1;
    for (int i = 0; i < c->b->p->ninputs; i++)
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
    tfd_bytes_add_str(&name, tfd_str_of(c->b->p->name));
    tfd_bytes_printf(&name, "/%s/", c->part);
    tfd_bytes_add_str(&name, n->name);
    rc = tfd_bytes_ok(&name, "the name of a loop", c->b->st);
    spec->name = tfd_bytes_view(&name);
    if (rc == TFD_OK)
        rc = tfd_capi_add(c->b->g, spec, &added, c->b->st);
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
    rc = in && control ? add_copy(c, n, &spec)
                       : tfd_fail(c->b->st, TFD_RESOURCE_EXHAUSTED,
                                  "no memory for a loop");
    free(in);
    free(control);
    return rc;
}

static enum tfd_code close_loops(struct copying *c, const struct tfd_node *n)
{
    struct tfd_graph *g = c->b->g->graph;

    for (int32_t i = 0; i < n->in_count; i++)
        if (n->in[i].node > n->id)
            TFD_TRY(tfd_graph_set_input(
                g, g->nodes[c->copies[n->id]], i,
                (struct tfd_edge){c->copies[n->in[i].node], n->in[i].output},
                c->b->st));
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

/* Copies a graph; its outputs as the loop has them. */
static enum tfd_code copy(struct building *b, const TF_Graph *from,
                          const char *part, const TF_Output *inputs,
                          const int32_t *values, const TF_Output *outputs,
                          int count, struct tfd_edge *out)
{
    struct copying c = {b, from, part, inputs, values, NULL};
    enum tfd_code rc = copy_nodes(&c);

    for (int i = 0; rc == TFD_OK && i < count; i++) {
        rc = tfd_capi_edge(from, outputs[i], &out[i], b->st);
        if (rc == TFD_OK)
            out[i].node = c.copies[out[i].node];
    }
    free(c.copies);
    return rc;
}

/* ---- All ----------------------------------------------------------------- */

static enum tfd_code build_loop(struct building *b, struct tfd_edge *next)
{
    const TF_WhileParams *p = b->p;
    struct tfd_edge cond;

    TFD_TRY(enter(b));
    TFD_TRY(merge(b));
    TFD_TRY(copy(b, p->cond_graph, "cond", p->cond_inputs, b->merge,
                 &p->cond_output, 1, &cond));
    TFD_TRY(add(b, "LoopCond", &cond, 1, NULL, 0, &b->cond));
    TFD_TRY(split(b));
    TFD_TRY(copy(b, p->body_graph, "body", p->body_inputs, b->identity,
                 p->body_outputs, p->ninputs, next));
    return close(b, next);
}

static enum tfd_code build(const TF_WhileParams *p, TF_Output *outputs,
                           struct tfd_status *st)
{
    size_t count = (size_t)p->ninputs;
    int32_t *nodes = calloc(count, 5 * sizeof(*nodes));
    struct tfd_edge *next = calloc(count, sizeof(*next));
    struct building b = {.g = p->cond_graph->parent, .p = p, .st = st};
    enum tfd_code rc;
    int32_t first;

    if (nodes && next) {
        b.enter = nodes;
        b.merge = b.enter + count;
        b.switched = b.merge + count;
        b.identity = b.switched + count;
        b.exit = b.identity + count;
        tfd_lock(&b.g->lock);
        first = b.g->graph->count;
        rc = build_loop(&b, next);
        if (rc != TFD_OK)
            tfd_capi_truncate(b.g, first);
        for (size_t i = 0; rc == TFD_OK && i < count; i++)
            outputs[i] = tfd_capi_output(b.g, (struct tfd_edge){b.exit[i], 0});
        tfd_unlock(&b.g->lock);
    } else {
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a loop");
    }
    free(nodes);
    free(next);
    return rc;
}

static enum tfd_code check(const TF_WhileParams *p, struct tfd_status *st)
{
    if (!p->cond_output.oper)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "TF_WhileParams `cond_output` field isn't set");
    for (int i = 0; i < p->ninputs; i++)
        if (!p->body_outputs[i].oper)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "TF_WhileParams `body_outputs[%d]` field isn't set",
                            i);
    if (!p->name)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "TF_WhileParams `name` field is null");
    return TFD_OK;
}

static bool is_from_new(const TF_WhileParams *p)
{
    return p->ninputs > 0 && p->cond_graph && p->body_graph &&
           p->cond_graph->parent &&
           p->cond_graph->parent == p->body_graph->parent && p->cond_inputs &&
           p->body_inputs && p->body_outputs;
}

void TF_FinishWhile(const TF_WhileParams *params, TF_Status *status,
                    TF_Output *outputs)
{
    struct tfd_status *st = tfd_capi_status(status);

    if (!is_from_new(params)) {
        tfd_fail(st, TFD_INVALID_ARGUMENT,
                 "TF_FinishWhile() was given no TF_WhileParams of "
                 "TF_NewWhile()");
        return;
    }
    if (check(params, st) == TFD_OK)
        (void)!build(params, outputs, st);
    TF_AbortWhile(params);
}
