/*
 * cost_graph.c - see cost_graph.h.  Two passes over each GraphDef: names and
 * consumers first, then a CostGraphDef.Node for each of its nodes.
 *
 * Format: core/framework/cost_graph.proto, which has no generated tags here.
 */
#include "daemon/master/service/cost_graph.h"

#include "common/base/arena.h"
#include "common/base/map.h"
#include "common/base/pbio.h"
#include "common/proto/config.pb.h"
#include "common/proto/graph.pb.h"
#include "common/proto/step_stats.pb.h"
#include "common/proto/tensor_proto.h"
#include "config/limits.h"

#include <string.h>

#define NODE(field) tensorflow_NodeDef_##field##_tag
#define STATS(field) tensorflow_NodeExecStats_##field##_tag
#define DESCRIBED(field) tensorflow_TensorDescription_##field##_tag

enum { COST_GRAPH_NODE = 1 };

enum {
    COST_NAME = 1,
    COST_DEVICE = 2,
    COST_ID = 3,
    COST_INPUT = 4,
    COST_OUTPUT = 5,
    COST_FINAL = 7,
    COST_CONTROL = 8,
    COST_COMPUTE = 9,
    COST_PERSISTENT = 12,
};
enum { INPUT_NODE = 1, INPUT_PORT = 2 };
enum { OUTPUT_SIZE = 1, OUTPUT_ALIAS = 2, OUTPUT_SHAPE = 3, OUTPUT_TYPE = 4 };
enum { SHAPE_UNKNOWN_RANK = 3 };

/* What every graph of TensorFlow's begins with. */
enum { SOURCE, SINK, FIRST };

#define PORTS_MAX 4096 /* of a node; others are left out */

struct node {
    struct tfd_str def; /* NodeDef */
    int32_t ports;      /* outputs that are read */
    bool waited_for;
};

struct costs {
    struct tfd_bytes *out;
    struct tfd_arena arena;
    struct tfd_map stats;   /* name -> its NodeExecStats, a struct tfd_str * */
    struct tfd_map by_name; /* -> number in the part and one */
    struct node *nodes;
    int32_t count;
};

/* The last field with this tag, a string. */
static struct tfd_str find_cost_graph(struct tfd_str message, uint32_t tag)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_str value = TFD_STR_EMPTY;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tag)
            value = tfd_pb_str(&r, &f);
    return value;
}

static int64_t find_number(struct tfd_str message, uint32_t tag)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field f;
    int64_t value = 0;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tag)
            value = tfd_pb_int64(&r, &f);
    return value;
}

/* ---- What is known ------------------------------------------------------- */

static void note_stats(struct costs *c, struct tfd_str device)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(device);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        struct tfd_str *kept;

        if (f.tag != tensorflow_DeviceStepStats_node_stats_tag)
            continue;
        kept = tfd_arena_alloc(&c->arena, sizeof(*kept));
        if (!kept)
            return;
        *kept = tfd_pb_str(&r, &f);
        (void)!tfd_map_put(&c->stats, find_cost_graph(*kept, STATS(node_name)),
                           (uintptr_t)kept);
    }
}

static void note_all_stats(struct costs *c, struct tfd_str stats)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(stats);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_StepStats_dev_stats_tag)
            note_stats(c, tfd_pb_str(&r, &f));
}

/* "a:1" is output 1 of node a, "^a" its end (TFD_CONTROL); -1: not there. */
static int32_t split(const struct costs *c, struct tfd_str in, int32_t *port)
{
    uintptr_t number;
    size_t at = in.size;
    int32_t output = 0, scale = 1;

    *port = 0;
    if (in.size > 0 && in.data[0] == '^') {
        *port = -1;
        in = (struct tfd_str){in.data + 1, in.size - 1};
    } else {
        while (at > 0 && in.data[at - 1] >= '0' && in.data[at - 1] <= '9' &&
               scale < 1000000) {
            output += scale * (in.data[--at] - '0');
            scale *= 10;
        }
        if (at > 1 && at < in.size && in.data[at - 1] == ':') {
            *port = output;
            in.size = at - 1;
        }
    }
    return tfd_map_get(&c->by_name, in, &number) ? (int32_t)number - 1 : -1;
}

static void note_inputs(struct costs *c, struct tfd_str def)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(def);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        int32_t from, port;

        if (f.tag != NODE(input))
            continue;
        from = split(c, tfd_pb_str(&r, &f), &port);
        if (from < 0)
            continue;
        c->nodes[from].waited_for = true;
        if (port >= c->nodes[from].ports && port < PORTS_MAX)
            c->nodes[from].ports = port + 1;
    }
}

/* The nodes of a part, by name; false without memory. */
static bool note_nodes(struct costs *c, struct tfd_str graph)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(graph);
    struct tfd_pb_field f;

    c->count = 0;
    while (tfd_pb_next(&r, &f))
        c->count += f.tag == tensorflow_GraphDef_node_tag;
    c->nodes =
        tfd_arena_array(&c->arena, (size_t)c->count + 1, sizeof(*c->nodes));
    if (!c->nodes)
        return false;
    c->count = 0;
    r = tfd_pb_reader_of(graph);
    while (tfd_pb_next(&r, &f)) {
        if (f.tag != tensorflow_GraphDef_node_tag)
            continue;
        c->nodes[c->count++] = (struct node){.def = tfd_pb_str(&r, &f)};
        if (!tfd_map_put(
                &c->by_name,
                find_cost_graph(c->nodes[c->count - 1].def, NODE(name)),
                (uintptr_t)c->count))
            return false;
    }
    for (int32_t i = 0; i < c->count; i++)
        note_inputs(c, c->nodes[i].def);
    return true;
}

/* ---- One node ------------------------------------------------------------ */

/* description: a TensorDescription; "": nothing is known. */
static void put_output(struct tfd_bytes *b, struct tfd_str description,
                       int64_t size)
{
    size_t mark = tfd_pb_begin(b, COST_OUTPUT), shape;

    tfd_pb_put_int(b, OUTPUT_SIZE, size);
    tfd_pb_put_int(b, OUTPUT_ALIAS, -1);
    shape = tfd_pb_begin(b, OUTPUT_SHAPE);
    if (description.size > 0)
        tfd_bytes_add_str(b, find_cost_graph(description, DESCRIBED(shape)));
    else
        tfd_pb_put_bool(b, SHAPE_UNKNOWN_RANK, true);
    tfd_pb_finish(b, shape);
    tfd_pb_put_int(b, OUTPUT_TYPE, find_number(description, DESCRIBED(dtype)));
    tfd_pb_finish(b, mark);
}

/* The highest output that was made, and one; at least `ports`. */
static int32_t count_outputs(struct tfd_str stats, int32_t ports)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(stats);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        int64_t slot;

        if (f.tag != STATS(output))
            continue;
        slot = find_number(tfd_pb_str(&r, &f), tensorflow_NodeOutput_slot_tag);
        if (slot >= ports && slot < PORTS_MAX)
            ports = (int32_t)slot + 1;
    }
    return ports;
}

/* By output: its TensorDescription, or "" when it was not made. */
static struct tfd_str *seen_outputs(struct costs *c, struct tfd_str stats,
                                    int32_t count)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(stats);
    struct tfd_str *seen =
        tfd_arena_array(&c->arena, (size_t)count + 1, sizeof(*seen));
    struct tfd_pb_field f;

    for (int32_t i = 0; seen && i < count; i++)
        seen[i] = TFD_STR_EMPTY;
    while (seen && tfd_pb_next(&r, &f)) {
        struct tfd_str output;
        int64_t slot;

        if (f.tag != STATS(output))
            continue;
        output = tfd_pb_str(&r, &f);
        slot = find_number(output, tensorflow_NodeOutput_slot_tag);
        if (slot >= 0 && slot < count)
            seen[slot] = find_cost_graph(
                output, tensorflow_NodeOutput_tensor_description_tag);
    }
    return seen;
}

static void put_outputs(struct costs *c, struct tfd_str stats, int32_t ports)
{
    int32_t count = count_outputs(stats, ports);
    struct tfd_str *seen = seen_outputs(c, stats, count);

    for (int32_t i = 0; seen && i < count; i++) {
        struct tfd_str made =
            find_cost_graph(seen[i], DESCRIBED(allocation_description));
        int64_t size = find_number(
            made, tensorflow_AllocationDescription_requested_bytes_tag);

        put_output(c->out, seen[i], seen[i].size ? size : -1);
    }
}

/* The value of an attribute, an AttrValue. */
static struct tfd_str attr_of(struct tfd_str def, const char *name)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(def);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        struct tfd_str entry;

        if (f.tag != NODE(attr))
            continue;
        entry = tfd_pb_str(&r, &f);
        if (tfd_str_is(find_cost_graph(entry, 1),
                       name)) /* map: key 1, value 2 */
            return find_cost_graph(entry, 2);
    }
    return TFD_STR_EMPTY;
}

/* Constants are not run: what they are is in their definition, and memory for
 * them is kept from step to step.  False for other nodes. */
static bool put_constant(struct tfd_bytes *b, struct tfd_str def)
{
    struct tfd_tensor_head head;
    size_t mark, shape;
    int64_t size;

    if (!tfd_str_is(find_cost_graph(def, NODE(op)), "Const") ||
        tfd_tensor_proto_head(find_cost_graph(attr_of(def, "value"),
                                              tensorflow_AttrValue_tensor_tag),
                              &head, NULL) != TFD_OK)
        return false;
    size =
        tfd_shape_elements(&head.shape) * (int64_t)tfd_dtype_size(head.dtype);
    mark = tfd_pb_begin(b, COST_OUTPUT);
    tfd_pb_put_int(b, OUTPUT_ALIAS, -1);
    shape = tfd_pb_begin(b, OUTPUT_SHAPE);
    tfd_tensor_proto_shape_encode(b, &head.shape);
    tfd_pb_finish(b, shape);
    tfd_pb_put_int(b, OUTPUT_TYPE, (int64_t)head.dtype);
    tfd_pb_finish(b, mark);
    tfd_pb_put_int(b, COST_PERSISTENT, size);
    return true;
}

/* A node that waits for nothing waits for the source. */
static void put_inputs(struct costs *c, struct tfd_str def)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(def);
    bool any = false;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        int32_t from, port;
        size_t mark;

        if (f.tag != NODE(input))
            continue;
        any = true;
        from = split(c, tfd_pb_str(&r, &f), &port);
        if (from < 0 || port < 0)
            continue;
        mark = tfd_pb_begin(c->out, COST_INPUT);
        tfd_pb_put_int(c->out, INPUT_NODE, from + FIRST);
        tfd_pb_put_int(c->out, INPUT_PORT, port);
        tfd_pb_finish(c->out, mark);
    }
    if (!any) {
        size_t mark = tfd_pb_begin(c->out, COST_CONTROL);

        tfd_pb_put_varint(c->out, SOURCE);
        tfd_pb_finish(c->out, mark);
    }
}

static void put_controls(struct costs *c, struct tfd_str def)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(def);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        int32_t from, port;
        size_t mark;

        if (f.tag != NODE(input))
            continue;
        from = split(c, tfd_pb_str(&r, &f), &port);
        if (from < 0 || port >= 0)
            continue;
        mark = tfd_pb_begin(c->out, COST_CONTROL);
        tfd_pb_put_varint(c->out, (uint64_t)from + FIRST);
        tfd_pb_finish(c->out, mark);
    }
}

static void put_cost_node(struct costs *c, int32_t i)
{
    struct tfd_str def = c->nodes[i].def,
                   name = find_cost_graph(def, NODE(name));
    size_t mark = tfd_pb_begin(c->out, COST_GRAPH_NODE);
    struct tfd_str stats = TFD_STR_EMPTY;
    uintptr_t found;

    if (tfd_map_get(&c->stats, name, &found))
        stats = *(struct tfd_str *)found;
    tfd_pb_put_str(c->out, COST_NAME, name);
    tfd_pb_put_str(c->out, COST_DEVICE, find_cost_graph(def, NODE(device)));
    tfd_pb_put_int(c->out, COST_ID, i + FIRST);
    put_inputs(c, def);
    if (!put_constant(c->out, def))
        put_outputs(c, stats, c->nodes[i].ports);
    tfd_pb_put_bool(c->out, COST_FINAL, !c->nodes[i].waited_for);
    put_controls(c, def);
    tfd_pb_put_int(c->out, COST_COMPUTE,
                   find_number(stats, STATS(op_end_rel_micros)));
    tfd_pb_finish(c->out, mark);
}

/* ---- All ----------------------------------------------------------------- */

/* The source, and the sink, which waits for it twice as in TensorFlow, and for
 * whatever nobody else waits for. */
static void put_ends(struct costs *c)
{
    size_t mark = tfd_pb_begin(c->out, COST_GRAPH_NODE), control;

    tfd_pb_put_str(c->out, COST_NAME, TFD_STR("_SOURCE"));
    tfd_pb_finish(c->out, mark);
    mark = tfd_pb_begin(c->out, COST_GRAPH_NODE);
    tfd_pb_put_str(c->out, COST_NAME, TFD_STR("_SINK"));
    tfd_pb_put_int(c->out, COST_ID, SINK);
    control = tfd_pb_begin(c->out, COST_CONTROL);
    tfd_pb_put_varint(c->out, SOURCE);
    tfd_pb_put_varint(c->out, SOURCE);
    for (int32_t i = 0; i < c->count; i++)
        if (!c->nodes[i].waited_for)
            tfd_pb_put_varint(c->out, (uint64_t)i + FIRST);
    tfd_pb_finish(c->out, control);
    tfd_pb_finish(c->out, mark);
}

static void put_part(struct costs *c, struct tfd_str graph)
{
    tfd_map_init(&c->by_name);
    if (note_nodes(c, graph)) {
        put_ends(c);
        for (int32_t i = 0; i < c->count; i++)
            put_cost_node(c, i);
    }
    tfd_map_deinit(&c->by_name);
}

void tfd_cost_graph_put(struct tfd_bytes *b, uint32_t tag, struct tfd_str stats,
                        struct tfd_str graphs)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(graphs);
    size_t mark = tfd_pb_begin(b, tag);
    struct costs c = {.out = b};
    struct tfd_pb_field f;

    tfd_arena_init(&c.arena, TFD_TRACE_SIZE_MAX);
    tfd_map_init(&c.stats);
    note_all_stats(&c, stats);
    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_RunMetadata_partition_graphs_tag)
            put_part(&c, tfd_pb_str(&r, &f));
    tfd_map_deinit(&c.stats);
    tfd_arena_deinit(&c.arena);
    tfd_pb_finish(b, mark);
}
