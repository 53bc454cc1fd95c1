/*
 * c_api_while.c - TF_NewWhile() to TF_FinishWhile(): loops that a program
 * describes by two small graphs.
 *
 *     inputs -> Enter -> Merge -> cond's nodes -> LoopCond
 *                          `-> Switch -> Identity -> body's nodes
 *                                 |          -> NextIteration -> Merge
 *                                 `-> Exit: outputs
 *
 * The graphs' nodes are copied in between (while_copy.h).
 */
#include "client/c_api/while_copy.h"

#include <stdlib.h>
#include <string.h>

#define NONE ((TF_Output){NULL, -1})

/* ---- The two graphs ------------------------------------------------------ */

static enum tfd_code add_input(TF_Graph *g, const char *part, int i, int type,
                               TF_Output *out, struct tfd_status *st)
{
    struct tfd_attr dtype = {TFD_STR("dtype"), TFD_STR_EMPTY};
    struct tfd_bytes name, value;
    TF_Operation *op = NULL;
    enum tfd_code rc;

    tfd_bytes_init(&name, TFD_NAME_SIZE_MAX);
    tfd_bytes_init(&value, TFD_ATTR_SIZE_MAX);
    tfd_bytes_printf(&name, "%s_input%d", part, i);
    tfd_attr_put_type(&value, type);
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

/* An output that its operation does not have passes: it has no type, and that
 * is what TensorFlow says. */
static enum tfd_code adopt(TF_Graph *g, TF_Graph *part, TF_Output *inputs,
                           int count, struct tfd_status *st)
{
    part->loop_inputs = calloc((size_t)count, sizeof(*part->loop_inputs));
    if (!part->loop_inputs)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a loop");
    part->parent = tfd_capi_graph_ref(g);
    for (int i = 0; i < count; i++) {
        struct tfd_edge *e = &part->loop_inputs[i];

        if (inputs[i].oper && inputs[i].oper->graph == g)
            *e = (struct tfd_edge){inputs[i].oper->node->id, inputs[i].index};
        else
            TFD_TRY(tfd_capi_edge(g, inputs[i], e, st));
    }
    return TFD_OK;
}

static enum tfd_code fill_params(TF_Graph *g, TF_Output *inputs,
                                 const TF_WhileParams *p,
                                 TF_Output *cond_inputs, TF_Output *body_inputs,
                                 struct tfd_status *st)
{
    if (!p->cond_graph || !p->body_graph || !cond_inputs || !body_inputs ||
        !p->body_outputs)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a loop");
    TFD_TRY(adopt(g, p->cond_graph, inputs, p->ninputs, st));
    TFD_TRY(adopt(g, p->body_graph, inputs, p->ninputs, st));
    for (int i = 0; i < p->ninputs; i++) {
        int type = tfd_graph_type(g->graph, p->cond_graph->loop_inputs[i]);

        TFD_TRY(add_input(p->cond_graph, "cond", i, type, &cond_inputs[i], st));
        TFD_TRY(add_input(p->body_graph, "body", i, type, &body_inputs[i], st));
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

        if (fill_params(g, inputs, &p, cond_inputs, body_inputs, st) == TFD_OK)
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
    struct tfd_bytes scope; /* in front of the nodes' names, with its slash */
    struct tfd_status *st;
};

/* Adds "scope/op", or "scope/op_1" ...  Any name will do here: copies of the
 * graphs refuse a scope with bad characters. */
static enum tfd_code add_loop_node(struct building *b, const char *op,
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
        .any_name = true,
    };
    struct tfd_bytes name;
    TF_Operation *added;
    enum tfd_code rc;

    tfd_bytes_init(&name, TFD_NAME_SIZE_MAX);
    tfd_bytes_add_str(&name, tfd_bytes_view(&b->scope));
    tfd_while_add_name(b->g, &name, tfd_str_of(op));
    rc = tfd_bytes_ok(&name, "the name of a loop", b->st);
    spec.name = tfd_bytes_view(&name);
    if (rc == TFD_OK)
        rc = tfd_capi_add(b->g, &spec, &added, b->st);
    if (rc == TFD_OK)
        *out = added->node->id;
    tfd_bytes_deinit(&name);
    return rc;
}

static enum tfd_code enter_loop(struct building *b)
{
    struct tfd_attr frame = {TFD_STR("frame_name"), TFD_STR_EMPTY};
    struct tfd_bytes value;
    enum tfd_code rc;

    tfd_bytes_init(&value, TFD_ATTR_SIZE_MAX);
    tfd_attr_put_str(&value, tfd_str_of(b->p->name));
    frame.value = tfd_bytes_view(&value);
    rc = tfd_bytes_ok(&value, "the name of a loop", b->st);
    for (int i = 0; rc == TFD_OK && i < b->p->ninputs; i++)
        rc = add_loop_node(b, "Enter", &b->p->cond_graph->loop_inputs[i], 1,
                           &frame, 1, &b->enter[i]);
    tfd_bytes_deinit(&value);
    return rc;
}

static enum tfd_code merge(struct building *b)
{
    struct tfd_edge in[2] = {TFD_EDGE_NONE, TFD_EDGE_NONE};

    for (int i = 0; i < b->p->ninputs; i++) {
        in[0] = (struct tfd_edge){b->enter[i], 0};
        TFD_TRY(add_loop_node(b, "Merge", in, 2, NULL, 0, &b->merge[i]));
    }
    return TFD_OK;
}

static enum tfd_code split(struct building *b)
{
    struct tfd_edge in[2] = {TFD_EDGE_NONE, {b->cond, 0}};

    for (int i = 0; i < b->p->ninputs; i++) {
        in[0] = (struct tfd_edge){b->merge[i], 0};
        TFD_TRY(add_loop_node(b, "Switch", in, 2, NULL, 0, &b->switched[i]));
    }
    for (int i = 0; i < b->p->ninputs; i++) {
        in[0] = (struct tfd_edge){b->switched[i], 1};
        TFD_TRY(add_loop_node(b, "Identity", in, 1, NULL, 0, &b->identity[i]));
    }
    return TFD_OK;
}

static enum tfd_code close(struct building *b, const struct tfd_edge *next)
{
    int32_t back;

    for (int i = 0; i < b->p->ninputs; i++) {
        TFD_TRY(add_loop_node(b, "NextIteration", &next[i], 1, NULL, 0, &back));
        TFD_TRY(tfd_graph_set_input(b->g->graph,
                                    b->g->graph->nodes[b->merge[i]], 1,
                                    (struct tfd_edge){back, 0}, b->st));
    }
    for (int i = 0; i < b->p->ninputs; i++) {
        struct tfd_edge last = {b->switched[i], 0};

        TFD_TRY(add_loop_node(b, "Exit", &last, 1, NULL, 0, &b->exit[i]));
    }
    return TFD_OK;
}

/* ---- All ----------------------------------------------------------------- */

/* What goes in front of the nodes' names: "" for a loop without a name. */
static enum tfd_code choose_scope(struct building *b)
{
    if (*b->p->name) {
        tfd_while_add_name(b->g, &b->scope, tfd_str_of(b->p->name));
        tfd_bytes_add(&b->scope, "/", 1);
    }
    return tfd_bytes_ok(&b->scope, "the name of a loop", b->st);
}

static enum tfd_code check_cond(const struct building *b, struct tfd_edge cond)
{
    int type = tfd_graph_type(b->g->graph, cond);

    if (type == TFD_BOOL)
        return TFD_OK;
    return tfd_fail(b->st, TFD_INVALID_ARGUMENT,
                    "BuildWhileLoop: 'cond' argument must return a boolean "
                    "output, got %s",
                    tfd_dtype_name(type));
}

/* Two loops of a graph have two frames, whatever their nodes are called. */
static enum tfd_code add_frame(struct building *b)
{
    struct tfd_bytes *frames = &b->g->frames;
    const struct tfd_str *names = (const void *)frames->data;
    struct tfd_str name = tfd_str_of(b->p->name);

    for (size_t i = 0; i < frames->size / sizeof(name); i++)
        if (tfd_str_eq(names[i], name))
            return tfd_fail(b->st, TFD_INVALID_ARGUMENT,
                            "WhileContext with frame name '" TFD_STR_FMT
                            "' already exists",
                            TFD_STR_ARG(name));
    name = tfd_arena_str(&b->g->graph->arena, name);
    TFD_TRY(tfd_arena_check(name.data, "the name of a loop", b->st));
    tfd_bytes_add(frames, &name, sizeof(name));
    return tfd_bytes_ok(frames, "the names of loops", b->st);
}

static enum tfd_code build_loop(struct building *b, struct tfd_edge *next)
{
    const TF_WhileParams *p = b->p;
    const struct tfd_while_part condition = {
        "cond",         p->cond_graph, p->ninputs,      1,
        p->cond_inputs, b->merge,      &p->cond_output,
    };
    const struct tfd_while_part body = {
        "body",         p->body_graph, p->ninputs,      p->ninputs,
        p->body_inputs, b->identity,   p->body_outputs,
    };
    struct tfd_edge cond;

    TFD_TRY(choose_scope(b));
    TFD_TRY(enter_loop(b));
    TFD_TRY(merge(b));
    TFD_TRY(tfd_while_copy(&condition, b->g, tfd_bytes_view(&b->scope), &cond,
                           b->st));
    TFD_TRY(check_cond(b, cond));
    TFD_TRY(add_loop_node(b, "LoopCond", &cond, 1, NULL, 0, &b->cond));
    TFD_TRY(split(b));
    TFD_TRY(
        tfd_while_copy(&body, b->g, tfd_bytes_view(&b->scope), next, b->st));
    TFD_TRY(close(b, next));
    return add_frame(b);
}

static enum tfd_code build_while_loop(const TF_WhileParams *p,
                                      TF_Output *outputs, struct tfd_status *st)
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
        tfd_bytes_init(&b.scope, TFD_NAME_SIZE_MAX);
        tfd_lock(&b.g->lock);
        first = b.g->graph->count;
        rc = build_loop(&b, next);
        if (rc != TFD_OK)
            tfd_capi_truncate(b.g, first);
        for (size_t i = 0; rc == TFD_OK && i < count; i++)
            outputs[i] = tfd_capi_output(b.g, (struct tfd_edge){b.exit[i], 0});
        tfd_unlock(&b.g->lock);
        tfd_bytes_deinit(&b.scope);
    } else {
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a loop");
    }
    free(nodes);
    free(next);
    return rc;
}

static enum tfd_code check_params(const TF_WhileParams *p,
                                  struct tfd_status *st)
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
    if (check_params(params, st) == TFD_OK)
        (void)!build_while_loop(params, outputs, st);
    TF_AbortWhile(params);
}
