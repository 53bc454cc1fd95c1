/*
 * function.c - see function.h.
 *
 * The body is read by way of a graph that has nothing but its library, and
 * written as a GraphDef: what the worker registers is checked as all graphs
 * are.
 */
#include "daemon/eager/function.h"

#include "common/graph/function_body.h"
#include "common/proto/graph.pb.h"
#include "common/proto/graphdef.h"
#include "config/limits.h"
#include "daemon/eager/called.h"
#include "daemon/eager/context.h"
#include "daemon/eager/graph_ends.h"
#include "daemon/eager/operation.h"

#include <stdlib.h>

struct writing {
    struct tfd_eager_context *c;
    const struct tfd_device_attributes *on;
    struct tfd_graph *graph; /* has the library */
    struct tfd_body body;
    struct tfd_arena arena;
    struct tfd_bytes library, def, text;
    struct tfd_status *st;
};

/* ---- Names --------------------------------------------------------------- */

static enum tfd_code copy_text(struct writing *w, struct tfd_str *out)
{
    TFD_TRY(tfd_bytes_ok(&w->text, "a node's name", w->st));
    *out = tfd_arena_str(&w->arena, tfd_bytes_view(&w->text));
    return tfd_arena_check(out->data, "a function's body", w->st);
}

static enum tfd_code edge_name(struct writing *w, struct tfd_edge e,
                               struct tfd_str *out)
{
    const struct tfd_body_node *from = &w->body.nodes[e.node];
    char name[TFD_EAGER_END_NAME_MAX];

    tfd_bytes_clear(&w->text);
    if (e.output == TFD_CONTROL)
        tfd_bytes_add(&w->text, "^", 1);
    if (from->arg >= 0)
        tfd_bytes_add_str(
            &w->text, tfd_str_of(tfd_eager_end_name(name, true, from->arg)));
    else
        tfd_bytes_add_str(&w->text, from->node.name);
    if (e.output > 0)
        tfd_bytes_printf(&w->text, ":%d", e.output);
    return copy_text(w, out);
}

/* ---- Nodes --------------------------------------------------------------- */

static enum tfd_code put_node(struct writing *w, const struct tfd_node *n)
{
    size_t count = (size_t)n->in_count + (size_t)n->control_count;
    struct tfd_str *in = tfd_arena_array(&w->arena, count + 1, sizeof(*in));
    const struct tfd_device_attributes *on = w->on;
    struct tfd_nodedef def = {
        .name = n->name,
        .op = n->op->name,
        .in = in,
        .in_count = (int)count,
        .attrs = n->attrs,
        .attr_count = n->attr_count,
    };

    TFD_TRY(tfd_arena_check(in, "a function's body", w->st));
    for (int32_t i = 0; i < n->in_count; i++)
        TFD_TRY(edge_name(w, n->in[i], &in[i]));
    for (int32_t i = 0; i < n->control_count; i++)
        TFD_TRY(edge_name(w, (struct tfd_edge){n->control[i], TFD_CONTROL},
                          &in[n->in_count + i]));
    if (n->device.size)
        TFD_TRY(tfd_eager_find_device(w->c, n->device, false, &on, w->st));
    def.device = tfd_str_of(on->name);
    tfd_graphdef_put(&w->def, &def);
    return TFD_OK;
}

static enum tfd_code put_body(struct writing *w)
{
    const struct tfd_body *b = &w->body;
    struct tfd_str from;

    for (int32_t i = 0; i < b->arg_count; i++)
        tfd_eager_put_arg(&w->def, w->on, i, b->arg_types[i]);
    for (int32_t i = 0; i < b->count; i++)
        if (b->nodes[i].arg < 0)
            TFD_TRY(put_node(w, &b->nodes[i].node));
    for (int32_t i = 0; i < b->ret_count; i++) {
        TFD_TRY(edge_name(w, b->ret[i], &from));
        tfd_eager_put_result(&w->def, w->on, i, from);
    }
    tfd_eager_put_versions(&w->def);
    tfd_pb_put_str(&w->def, tensorflow_GraphDef_library_tag,
                   tfd_bytes_view(&w->library));
    return tfd_bytes_ok(&w->def, "a function's body", w->st);
}

/* ---- The whole ----------------------------------------------------------- */

static enum tfd_code read_body(struct writing *w,
                               const struct tfd_eager_function *f,
                               bool is_component)
{
    const struct tfd_func call = {.name = f->name};

    tfd_pb_put_str_always(&w->library,
                          tensorflow_FunctionDefLibrary_function_tag, f->def);
    if (is_component)
        tfd_bytes_add_str(&w->library, f->library);
    else
        TFD_TRY(tfd_eager_called(&w->c->functions, f, &w->library, w->st));
    TFD_TRY(tfd_bytes_ok(&w->library, "the functions that one calls", w->st));
    w->graph = tfd_graph_new(&w->c->eager->options.registry->ops, w->st);
    if (!w->graph)
        return TFD_RESOURCE_EXHAUSTED;
    TFD_TRY(tfd_functions_add(w->graph, tfd_bytes_view(&w->library), w->st));
    return tfd_function_body(w->graph, &call, &w->arena, &w->body, w->st);
}

static enum tfd_code make_graph(struct writing *w, struct tfd_eager_function *f,
                                bool is_component)
{
    TFD_TRY(read_body(w, f, is_component));
    TFD_TRY(put_body(w));
    return tfd_eager_graph_new(w->c, &w->def, w->body.arg_count,
                               w->body.ret_count, &f->graph, w->st);
}

enum tfd_code tfd_eager_function_graph(struct tfd_eager_context *c,
                                       struct tfd_eager_function *f,
                                       bool is_component,
                                       const struct tfd_device_attributes *on,
                                       struct tfd_status *st)
{
    struct writing w = {.c = c, .on = on, .st = st};
    enum tfd_code rc;

    if (f->graph)
        return TFD_OK;
    tfd_arena_init(&w.arena, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_bytes_init(&w.library, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_bytes_init(&w.def, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_bytes_init(&w.text, 4 * TFD_NAME_SIZE_MAX);
    rc = make_graph(&w, f, is_component);
    if (rc != TFD_OK)
        tfd_status_context(st, "{{function_node " TFD_STR_FMT "}}",
                           TFD_STR_ARG(f->name));
    tfd_graph_unref(w.graph);
    tfd_bytes_deinit(&w.text);
    tfd_bytes_deinit(&w.def);
    tfd_bytes_deinit(&w.library);
    tfd_arena_deinit(&w.arena);
    return rc;
}
