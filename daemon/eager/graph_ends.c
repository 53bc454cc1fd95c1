/*
 * graph_ends.c - see graph_ends.h.
 */
#include "daemon/eager/graph_ends.h"

#include "common/proto/graph.pb.h"
#include "daemon/rewrite/added_node.h"

#include <stdio.h>

const char *tfd_eager_end_name(char text[TFD_EAGER_END_NAME_MAX], bool is_arg,
                               int index)
{
    snprintf(text, TFD_EAGER_END_NAME_MAX, "%s%d",
             is_arg ? TFD_EAGER_ARG_NAME : "_result/", index);
    return text;
}

/* Both ends of it are here, the client's and the graph's. */
static void put_end(struct tfd_bytes *def,
                    const struct tfd_device_attributes *on, bool is_arg,
                    int index, int type, const struct tfd_str *from)
{
    char name[TFD_EAGER_END_NAME_MAX];
    const struct tfd_str device = tfd_str_of(on->name);
    struct tfd_nodedef node = {
        .name = tfd_str_of(tfd_eager_end_name(name, is_arg, index)),
        .op = is_arg ? TFD_STR("_Recv") : TFD_STR("_Send"),
        .device = device,
        .in = from,
        .in_count = from ? 1 : 0,
    };
    struct tfd_added_node a;

    tfd_added_node_init(&a);
    if (is_arg) /* the type of a result is what it is */
        tfd_attr_put_type(tfd_added_node_attr(&a, "tensor_type"), type);
    tfd_attr_put_str(tfd_added_node_attr(&a, "tensor_name"), node.name);
    tfd_attr_put_str(tfd_added_node_attr(&a, "send_device"), device);
    tfd_attr_put_int(tfd_added_node_attr(&a, "send_device_incarnation"),
                     (int64_t)on->incarnation);
    tfd_attr_put_str(tfd_added_node_attr(&a, "recv_device"), device);
    tfd_attr_put_bool(tfd_added_node_attr(&a, "client_terminated"), true);
    tfd_added_node_put(&a, def, &node);
}

void tfd_eager_put_arg(struct tfd_bytes *def,
                       const struct tfd_device_attributes *on, int index,
                       int type)
{
    put_end(def, on, true, index, type, NULL);
}

void tfd_eager_put_result(struct tfd_bytes *def,
                          const struct tfd_device_attributes *on, int index,
                          struct tfd_str from)
{
    put_end(def, on, false, index, TFD_DTYPE_INVALID, &from);
}

void tfd_eager_put_versions(struct tfd_bytes *def)
{
    size_t mark = tfd_pb_begin(def, tensorflow_GraphDef_versions_tag);

    tfd_pb_put_int(def, tensorflow_VersionDef_producer_tag,
                   TFD_GRAPH_DEF_VERSION);
    tfd_pb_finish(def, mark);
}
