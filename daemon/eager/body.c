/*
 * body.c - see body.h.
 */
#include "daemon/eager/body.h"

#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "common/proto/graphdef.h"
#include "config/limits.h"
#include "daemon/eager/graph_ends.h"

void tfd_eager_body_init(struct tfd_eager_body *b, struct tfd_status *st)
{
    *b = (struct tfd_eager_body){.st = st};
    tfd_arena_init(&b->arena, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_bytes_init(&b->library, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_bytes_init(&b->def, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_bytes_init(&b->text, 4 * TFD_NAME_SIZE_MAX);
}

void tfd_eager_body_deinit(struct tfd_eager_body *b)
{
    tfd_graph_unref(b->graph);
    tfd_bytes_deinit(&b->text);
    tfd_bytes_deinit(&b->def);
    tfd_bytes_deinit(&b->library);
    tfd_arena_deinit(&b->arena);
}

enum tfd_code tfd_eager_body_read(struct tfd_eager_body *b,
                                  const struct tfd_op_set *ops,
                                  struct tfd_str name)
{
    const struct tfd_func call = {.name = name};

    TFD_TRY(tfd_bytes_ok(&b->library, "the functions that one calls", b->st));
    b->graph = tfd_graph_new(ops, b->st);
    if (!b->graph)
        return TFD_RESOURCE_EXHAUSTED;
    TFD_TRY(tfd_functions_add(b->graph, tfd_bytes_view(&b->library), b->st));
    return tfd_function_body(b->graph, &call, &b->arena, &b->body, b->st);
}

/* ---- Names --------------------------------------------------------------- */

enum tfd_code tfd_eager_body_edge(struct tfd_eager_body *b, struct tfd_edge e,
                                  struct tfd_str *out)
{
    const struct tfd_body_node *from = &b->body.nodes[e.node];

    tfd_bytes_clear(&b->text);
    if (e.output == TFD_CONTROL)
        tfd_bytes_add(&b->text, "^", 1);
    if (from->arg >= 0)
        tfd_bytes_printf(&b->text, "%s%d", b->arg_name,
                         b->arg_number ? b->arg_number[from->arg] : from->arg);
    else
        tfd_bytes_add_str(&b->text, from->node.name);
    if (e.output > 0)
        tfd_bytes_printf(&b->text, ":%d", e.output);
    TFD_TRY(tfd_bytes_ok(&b->text, "a node's name", b->st));
    *out = tfd_arena_str(&b->arena, tfd_bytes_view(&b->text));
    return tfd_arena_check(out->data, "a function's body", b->st);
}

/* ---- Nodes --------------------------------------------------------------- */

static enum tfd_code put_node(struct tfd_eager_body *b,
                              const struct tfd_node *n)
{
    size_t count = (size_t)n->in_count + (size_t)n->control_count;
    struct tfd_str *in = tfd_arena_array(&b->arena, count + 1, sizeof(*in));
    struct tfd_nodedef def = {
        .name = n->name,
        .op = n->op->name,
        .in = in,
        .in_count = (int)count,
        .attrs = n->attrs,
        .attr_count = n->attr_count,
    };

    TFD_TRY(tfd_arena_check(in, "a function's body", b->st));
    for (int32_t i = 0; i < n->in_count; i++)
        TFD_TRY(tfd_eager_body_edge(b, n->in[i], &in[i]));
    for (int32_t i = 0; i < n->control_count; i++)
        TFD_TRY(tfd_eager_body_edge(
            b, (struct tfd_edge){n->control[i], TFD_CONTROL},
            &in[n->in_count + i]));
    TFD_TRY(b->device(b->ctx, n->device, &def.device, b->st));
    tfd_graphdef_put(&b->def, &def);
    return TFD_OK;
}

enum tfd_code tfd_eager_body_put_nodes(struct tfd_eager_body *b)
{
    for (int32_t i = 0; i < b->body.count; i++)
        if (b->body.nodes[i].arg < 0)
            TFD_TRY(put_node(b, &b->body.nodes[i].node));
    return TFD_OK;
}

enum tfd_code tfd_eager_body_end(struct tfd_eager_body *b)
{
    tfd_eager_put_versions(&b->def);
    tfd_pb_put_str(&b->def, tensorflow_GraphDef_library_tag,
                   tfd_bytes_view(&b->library));
    return tfd_bytes_ok(&b->def, "a function's body", b->st);
}
