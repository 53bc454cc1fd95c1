/*
 * graphdef_export.c - a graph as a GraphDef, fields in the order of their tags.
 */
#include "common/proto/graphdef.h"
#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"

#define TAG(name) tensorflow_NodeDef_##name##_tag
#define ENTRY_TAG(name) tensorflow_NodeDef_AttrEntry_##name##_tag

static void put_attr(struct tfd_bytes *out, const struct tfd_attr *a)
{
    size_t mark = tfd_pb_begin(out, TAG(attr));

    tfd_pb_put_str_always(out, ENTRY_TAG(key), a->name);
    tfd_pb_put_str_always(out, ENTRY_TAG(value), a->value);
    tfd_pb_finish(out, mark);
}

static void put_input(struct tfd_bytes *out, const struct tfd_graph *g,
                      struct tfd_edge e)
{
    size_t mark = tfd_pb_begin(out, TAG(input));

    if (e.output == TFD_CONTROL)
        tfd_bytes_add(out, "^", 1);
    if (e.node >= 0)
        tfd_bytes_add_str(out, g->nodes[e.node]->name);
    if (e.output > 0)
        tfd_bytes_printf(out, ":%d", e.output);
    tfd_pb_finish(out, mark);
}

void tfd_graphdef_put_node(struct tfd_bytes *out, const struct tfd_graph *g,
                           const struct tfd_node *n)
{
    tfd_pb_put_str(out, TAG(name), n->name);
    tfd_pb_put_str(out, TAG(op), n->op->name);
    for (int32_t i = 0; i < n->in_count; i++)
        put_input(out, g, n->in[i]);
    for (int32_t i = 0; i < n->control_count; i++)
        put_input(out, g, (struct tfd_edge){n->control[i], TFD_CONTROL});
    tfd_pb_put_str(out, TAG(device), n->device);
    for (int32_t i = 0; i < n->attr_count; i++)
        put_attr(out, &n->attrs[i]);
}

void tfd_graphdef_export(struct tfd_bytes *out, const struct tfd_graph *g)
{
    size_t mark;

    for (int32_t i = 0; i < g->count; i++) {
        mark = tfd_pb_begin(out, tensorflow_GraphDef_node_tag);
        tfd_graphdef_put_node(out, g, g->nodes[i]);
        tfd_pb_finish(out, mark);
    }
    tfd_pb_put_str_always(out, tensorflow_GraphDef_library_tag, g->library);
    mark = tfd_pb_begin(out, tensorflow_GraphDef_versions_tag);
    tfd_pb_put_int(out, tensorflow_VersionDef_producer_tag,
                   g->versions.producer);
    tfd_pb_put_int(out, tensorflow_VersionDef_min_consumer_tag,
                   g->versions.min_consumer);
    tfd_pb_finish(out, mark);
}

void tfd_graphdef_put(struct tfd_bytes *out, const struct tfd_nodedef *n)
{
    size_t mark = tfd_pb_begin(out, tensorflow_GraphDef_node_tag);

    tfd_pb_put_str(out, TAG(name), n->name);
    tfd_pb_put_str(out, TAG(op), n->op);
    for (int i = 0; i < n->in_count; i++)
        tfd_pb_put_str_always(out, TAG(input), n->in[i]);
    tfd_pb_put_str(out, TAG(device), n->device);
    for (int i = 0; i < n->attr_count; i++)
        put_attr(out, &n->attrs[i]);
    tfd_pb_finish(out, mark);
}
