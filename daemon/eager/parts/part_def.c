/*
 * part_def.c - see part_def.h.
 *
 * The GraphDef is read into a graph, which knows the names of outputs that a
 * FunctionDef wants, and written again.
 */
#include "daemon/eager/parts/part_def.h"

#include "common/base/arena.h"
#include "common/base/pbio.h"
#include "common/proto/eager.pb.h"
#include "common/proto/graph.pb.h"
#include "common/proto/graphdef.h"
#include "config/limits.h"
#include "daemon/eager/graph_ends.h"

#include <stdio.h>
#include <stdlib.h>

#define OPDEF(field) tensorflow_OpDef_##field##_tag
#define ARG(field) tensorflow_OpDef_ArgDef_##field##_tag
#define FUNCTION(field) tensorflow_FunctionDef_##field##_tag

struct writer {
    struct tfd_eager_part_def *p;
    const struct tfd_device_attributes *on; /* NULL: a component */
    struct tfd_graph *graph;
    int *arg_of; /* by node: the part's argument that it stands for, or -1 */
    struct tfd_arena arena;
    struct tfd_bytes text;
    struct tfd_status *st;
};

/* ---- Which arguments and results ----------------------------------------- */

static struct tfd_node *find_end(const struct writer *w, const char *prefix,
                                 int number)
{
    char name[TFD_EAGER_END_NAME_MAX];

    snprintf(name, sizeof(name), "%s%d", prefix, number);
    return tfd_graph_find(w->graph, tfd_str_of(name));
}

static enum tfd_code find_ends(struct writer *w, int arg_count,
                               int result_count)
{
    struct tfd_eager_part_def *p = w->p;

    p->args = calloc((size_t)arg_count + 1, sizeof(*p->args));
    p->results = calloc((size_t)result_count + 1, sizeof(*p->results));
    w->arg_of = malloc(((size_t)w->graph->count + 1) * sizeof(*w->arg_of));
    if (!p->args || !p->results || !w->arg_of)
        return tfd_fail(w->st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a function's part");
    for (int32_t i = 0; i < w->graph->count; i++)
        w->arg_of[i] = -1;
    for (int i = 0; i < arg_count; i++) {
        const struct tfd_node *n = find_end(w, TFD_EAGER_CUT_ARG, i);

        if (!n)
            continue;
        w->arg_of[n->id] = p->arg_count;
        p->args[p->arg_count++] = i;
    }
    for (int i = 0; i < result_count; i++)
        if (find_end(w, TFD_EAGER_CUT_RESULT, i))
            p->results[p->result_count++] = i;
    return TFD_OK;
}

/* ---- Edges --------------------------------------------------------------- */

static void put_data_edge(struct writer *w, const struct tfd_node *from,
                          int32_t output)
{
    int arg = tfd_node_out_arg(from, output);
    int32_t first = output;

    while (first > 0 && tfd_node_out_arg(from, first - 1) == arg)
        first--;
    tfd_bytes_add_str(&w->text, from->name);
    tfd_bytes_add(&w->text, ":", 1);
    tfd_bytes_add_str(&w->text, from->op->out[arg].name);
    tfd_bytes_printf(&w->text, ":%d", output - first);
}

/* Here "node:1", in a component "node:out:0"; an argument has its own name. */
static enum tfd_code edge_text(struct writer *w, struct tfd_edge e,
                               struct tfd_str *out)
{
    const struct tfd_node *from = w->graph->nodes[e.node];

    tfd_bytes_clear(&w->text);
    if (e.output == TFD_CONTROL)
        tfd_bytes_add(&w->text, "^", 1);
    if (w->arg_of[e.node] >= 0 && w->on)
        tfd_bytes_printf(&w->text, "%s%d", TFD_EAGER_ARG_NAME,
                         w->arg_of[e.node]);
    else if (w->arg_of[e.node] >= 0 || e.output == TFD_CONTROL)
        tfd_bytes_add_str(&w->text, from->name);
    else if (!w->on)
        put_data_edge(w, from, e.output);
    else if (e.output == 0)
        tfd_bytes_add_str(&w->text, from->name);
    else
        tfd_bytes_printf(&w->text, "%s:%d", from->name.data, e.output);
    TFD_TRY(tfd_bytes_ok(&w->text, "a node's name", w->st));
    *out = tfd_arena_str(&w->arena, tfd_bytes_view(&w->text));
    return tfd_arena_check(out->data, "a function's part", w->st);
}

/* ---- Nodes --------------------------------------------------------------- */

static enum tfd_code put_node(struct writer *w, struct tfd_bytes *out,
                              const struct tfd_node *n)
{
    size_t count = (size_t)n->in_count + (size_t)n->control_count;
    struct tfd_str *in = tfd_arena_array(&w->arena, count + 1, sizeof(*in));
    const struct tfd_nodedef def = {
        .name = n->name,
        .op = n->op->name,
        .device = n->device,
        .in = in,
        .in_count = (int)count,
        .attrs = n->attrs,
        .attr_count = n->attr_count,
    };

    TFD_TRY(tfd_arena_check(in, "a function's part", w->st));
    for (int32_t i = 0; i < n->in_count; i++)
        TFD_TRY(edge_text(w, n->in[i], &in[i]));
    for (int32_t i = 0; i < n->control_count; i++)
        TFD_TRY(edge_text(w, (struct tfd_edge){n->control[i], TFD_CONTROL},
                          &in[n->in_count + i]));
    tfd_graphdef_put(out, &def);
    return TFD_OK;
}

static int arg_type(const struct writer *w, int i)
{
    return find_end(w, TFD_EAGER_CUT_ARG, w->p->args[i])->out_types[0];
}

static int result_type(const struct writer *w, int i)
{
    return find_end(w, TFD_EAGER_CUT_RESULT, w->p->results[i])->out_types[0];
}

static enum tfd_code put_here(struct writer *w)
{
    struct tfd_eager_part_def *p = w->p;

    for (int i = 0; i < p->arg_count; i++)
        tfd_eager_put_arg(&p->def, w->on, i, arg_type(w, i));
    for (int32_t i = 0; i < w->graph->count; i++)
        if (w->arg_of[i] < 0)
            TFD_TRY(put_node(w, &p->def, w->graph->nodes[i]));
    for (int i = 0; i < p->result_count; i++)
        tfd_eager_put_result(
            &p->def, w->on, i,
            find_end(w, TFD_EAGER_CUT_RESULT, p->results[i])->name);
    tfd_eager_put_versions(&p->def);
    tfd_pb_put_str(&p->def, tensorflow_GraphDef_library_tag, w->graph->library);
    return TFD_OK;
}

/* ---- A component --------------------------------------------------------- */

/* Whose effect is waited for; what only passes values on has none. */
static bool has_effect(const struct tfd_node *n)
{
    return n->op->flags & TFD_OP_STATEFUL &&
           !(n->op->flags & (TFD_OP_SEND | TFD_OP_RECV));
}

static void put_arg_def(struct tfd_bytes *b, uint32_t tag, struct tfd_str name,
                        int type)
{
    size_t mark = tfd_pb_begin(b, tag);

    tfd_pb_put_str(b, ARG(name), name);
    tfd_pb_put_int(b, ARG(type), type);
    tfd_pb_finish(b, mark);
}

static struct tfd_str result_name(char text[TFD_EAGER_END_NAME_MAX], int i)
{
    snprintf(text, TFD_EAGER_END_NAME_MAX, "result_%d", i);
    return tfd_str_of(text);
}

static void put_signature(struct writer *w, struct tfd_bytes *b,
                          struct tfd_str name)
{
    size_t mark = tfd_pb_begin(b, FUNCTION(signature));
    char text[TFD_EAGER_END_NAME_MAX];

    tfd_pb_put_str(b, OPDEF(name), name);
    for (int i = 0; i < w->p->arg_count; i++)
        put_arg_def(b, OPDEF(input_arg),
                    find_end(w, TFD_EAGER_CUT_ARG, w->p->args[i])->name,
                    arg_type(w, i));
    for (int i = 0; i < w->p->result_count; i++)
        put_arg_def(b, OPDEF(output_arg), result_name(text, i),
                    result_type(w, i));
    tfd_pb_put_bool(b, OPDEF(is_stateful), true);
    for (int32_t i = 0; i < w->graph->count; i++)
        if (has_effect(w->graph->nodes[i]))
            tfd_pb_put_str(b, OPDEF(control_output), w->graph->nodes[i]->name);
    tfd_pb_finish(b, mark);
}

static void put_entry(struct tfd_bytes *b, uint32_t tag, struct tfd_str key,
                      struct tfd_str value)
{
    size_t mark = tfd_pb_begin(b, tag);

    tfd_pb_put_str(b, tensorflow_FunctionDef_RetEntry_key_tag, key);
    tfd_pb_put_str(b, tensorflow_FunctionDef_RetEntry_value_tag, value);
    tfd_pb_finish(b, mark);
}

static enum tfd_code put_results(struct writer *w, struct tfd_bytes *b)
{
    char text[TFD_EAGER_END_NAME_MAX];
    struct tfd_str from;

    for (int i = 0; i < w->p->result_count; i++) {
        const struct tfd_node *n =
            find_end(w, TFD_EAGER_CUT_RESULT, w->p->results[i]);

        TFD_TRY(edge_text(w, (struct tfd_edge){n->id, 0}, &from));
        put_entry(b, FUNCTION(ret), result_name(text, i), from);
    }
    for (int32_t i = 0; i < w->graph->count; i++)
        if (has_effect(w->graph->nodes[i]))
            put_entry(b, FUNCTION(control_ret), w->graph->nodes[i]->name,
                      w->graph->nodes[i]->name);
    return TFD_OK;
}

/* The nodes of a GraphDef are those of a FunctionDef but for their tag. */
static enum tfd_code put_body(struct writer *w, struct tfd_bytes *b)
{
    struct tfd_bytes nodes;
    struct tfd_pb_reader r;
    struct tfd_pb_field f;
    enum tfd_code rc = TFD_OK;

    tfd_bytes_init(&nodes, (size_t)TFD_GRAPH_SIZE_MAX);
    for (int32_t i = 0; rc == TFD_OK && i < w->graph->count; i++)
        if (w->arg_of[i] < 0)
            rc = put_node(w, &nodes, w->graph->nodes[i]);
    if (rc == TFD_OK)
        rc = tfd_bytes_ok(&nodes, "a function's part", w->st);
    r = tfd_pb_reader_of(tfd_bytes_view(&nodes));
    while (rc == TFD_OK && tfd_pb_next(&r, &f))
        tfd_pb_put_str_always(b, FUNCTION(node_def), f.bytes);
    tfd_bytes_deinit(&nodes);
    return rc;
}

static enum tfd_code put_component(struct writer *w, struct tfd_str name)
{
    struct tfd_bytes *b = &w->p->def;
    size_t mark =
        tfd_pb_begin(b, tensorflow_eager_RegisterFunctionOp_function_def_tag);

    put_signature(w, b, name);
    TFD_TRY(put_body(w, b));
    TFD_TRY(put_results(w, b));
    tfd_pb_finish(b, mark);
    tfd_pb_put_bool(
        b, tensorflow_eager_RegisterFunctionOp_is_component_function_tag, true);
    tfd_pb_put_str(b, tensorflow_eager_RegisterFunctionOp_library_tag,
                   w->graph->library);
    return TFD_OK;
}

/* ---- The whole ----------------------------------------------------------- */

static enum tfd_code read_part(struct writer *w, const struct tfd_op_set *ops,
                               struct tfd_str graph_def)
{
    const struct tfd_graphdef_options full = {.prefix = TFD_STR_EMPTY,
                                              .require_full_device = true};
    int32_t first;

    w->graph = tfd_graph_new(ops, w->st);
    if (!w->graph)
        return TFD_RESOURCE_EXHAUSTED;
    return tfd_graphdef_import(w->graph, graph_def, &full, &first, w->st);
}

static enum tfd_code write_part(struct writer *w, struct tfd_str name)
{
    TFD_TRY(w->on ? put_here(w) : put_component(w, name));
    return tfd_bytes_ok(&w->p->def, "a function's part", w->st);
}

enum tfd_code tfd_eager_part_def_make(
    const struct tfd_op_set *ops, struct tfd_str graph_def, int arg_count,
    int result_count, const struct tfd_device_attributes *on,
    struct tfd_str name, struct tfd_eager_part_def *out, struct tfd_status *st)
{
    struct writer w = {.p = out, .on = on, .st = st};
    enum tfd_code rc;

    *out = (struct tfd_eager_part_def){.arg_count = 0};
    tfd_bytes_init(&out->def, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_bytes_init(&w.text, 4 * TFD_NAME_SIZE_MAX);
    tfd_arena_init(&w.arena, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = read_part(&w, ops, graph_def);
    if (rc == TFD_OK)
        rc = find_ends(&w, arg_count, result_count);
    if (rc == TFD_OK)
        rc = write_part(&w, name);
    tfd_graph_unref(w.graph);
    tfd_arena_deinit(&w.arena);
    tfd_bytes_deinit(&w.text);
    free(w.arg_of);
    if (rc != TFD_OK)
        tfd_eager_part_def_deinit(out);
    return rc;
}

void tfd_eager_part_def_deinit(struct tfd_eager_part_def *p)
{
    tfd_bytes_deinit(&p->def);
    free(p->args);
    free(p->results);
    *p = (struct tfd_eager_part_def){.arg_count = 0};
}
