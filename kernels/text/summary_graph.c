/*
 * summary_graph.c - a GraphDef as rows: nodes, their inputs, and what is left
 * of each message without what has columns of its own.
 */
#include "kernels/text/summary_tables.h"

#if TFD_HAS_SQLITE
#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "common/thread/halt.h"
#include "config/limits.h"

#include <string.h>

#define NODE_TAG(name) tensorflow_NodeDef_##name##_tag

struct graph_rows {
    struct tfd_summary_db *db;
    int64_t id;
    struct tfd_map nodes; /* name -> index + 1 */
    struct tfd_bytes rest;
};

static bool is_node(const struct tfd_pb_field *f)
{
    return f->tag == tensorflow_GraphDef_node_tag && f->wire == TFD_PB_BYTES;
}

/* ---- Names --------------------------------------------------------------- */

/* The last one of a field that is there more than once counts. */
static struct tfd_str string_of(struct tfd_str node, uint32_t tag)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(node);
    struct tfd_str found = TFD_STR_EMPTY;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tag && f.wire == TFD_PB_BYTES)
            found = f.bytes;
    return found;
}

static enum tfd_code note_names(struct graph_rows *g, struct tfd_str graph,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(graph);
    struct tfd_pb_field f;
    uintptr_t index = 0, found;

    while (tfd_pb_next(&r, &f)) {
        struct tfd_str name;

        if (!is_node(&f))
            continue;
        name = string_of(f.bytes, NODE_TAG(name));
        index++;
        if (!tfd_map_get(&g->nodes, name, &found) &&
            !tfd_map_put(&g->nodes, name, index))
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "no memory for the names of %zu nodes",
                            g->nodes.count);
    }
    return tfd_pb_end(&r, "GraphDef", st);
}

/* ---- Inputs -------------------------------------------------------------- */

static bool read_index(struct tfd_str digits, int64_t *out)
{
    for (size_t i = 0; i < digits.size; i++) {
        const int digit = digits.data[i] - '0';

        if (digit < 0 || digit > 9 || *out > (INT64_MAX - digit) / 10)
            return false;
        *out = 10 * *out + digit;
    }
    return digits.size > 0;
}

/* "name", "name:1", "^name". */
static enum tfd_code split_input(const struct graph_rows *g,
                                 struct tfd_str input, uintptr_t *node,
                                 int64_t *output, bool *is_control,
                                 struct tfd_status *st)
{
    struct tfd_str name = input;
    size_t colon = name.size;

    while (colon > 0 && name.data[colon - 1] != ':')
        colon--;
    *output = 0;
    if (colon > 0) {
        if (!read_index((struct tfd_str){name.data + colon, name.size - colon},
                        output))
            return tfd_fail(st, TFD_DATA_LOSS,
                            "Bad NodeDef.input: " TFD_STR_FMT,
                            TFD_STR_ARG(input));
        name.size = colon - 1;
    }
    *is_control = name.size > 0 && name.data[0] == '^';
    name.data += *is_control;
    name.size -= *is_control;
    if (tfd_map_get(&g->nodes, name, node))
        return TFD_OK;
    return tfd_fail(st, TFD_DATA_LOSS, "Could not find node: " TFD_STR_FMT,
                    TFD_STR_ARG(name));
}

static enum tfd_code add_inputs(struct graph_rows *g, int64_t index,
                                struct tfd_str node, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(node);
    struct tfd_db_value values[6] = {tfd_db_int(g->id), tfd_db_int(index)};
    struct tfd_pb_field f;
    int64_t at = 0, output = 0;
    bool is_control = false;
    uintptr_t from = 0;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag != NODE_TAG(input))
            continue;
        TFD_TRY(split_input(g, tfd_pb_str(&r, &f), &from, &output, &is_control,
                            st));
        values[2] = tfd_db_int(at++);
        values[3] = tfd_db_int((int64_t)from - 1);
        values[4] = tfd_db_int(output);
        values[5] = tfd_db_int(is_control);
        TFD_TRY(tfd_summary_run(g->db, TFD_DB_ADD_INPUT, values, 6, st));
    }
    return tfd_pb_end(&r, "NodeDef", st);
}

/* ---- What is left -------------------------------------------------------- */

/* The fields of a message as they are, but for those from the first to the last
 * of these. */
static enum tfd_code take_rest(struct graph_rows *g, struct tfd_str message,
                               uint32_t first, uint32_t last,
                               struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    const char *begin = r.rest.data;
    struct tfd_pb_field f;

    tfd_bytes_clear(&g->rest);
    while (tfd_pb_next(&r, &f)) {
        if (f.tag < first || f.tag > last)
            tfd_bytes_add(&g->rest, begin, (size_t)(r.rest.data - begin));
        begin = r.rest.data;
    }
    TFD_TRY(tfd_pb_end(&r, "GraphDef", st));
    return tfd_bytes_ok(&g->rest, "a graph", st);
}

static enum tfd_code add_node(struct graph_rows *g, int64_t index,
                              struct tfd_str node, struct tfd_status *st)
{
    struct tfd_db_value values[6] = {
        tfd_db_int(g->id), tfd_db_int(index),
        tfd_db_text(string_of(node, NODE_TAG(name))),
        tfd_db_text(string_of(node, NODE_TAG(op))),
        tfd_db_text(string_of(node, NODE_TAG(device)))};

    TFD_TRY(take_rest(g, node, NODE_TAG(name), NODE_TAG(device), st));
    values[5] = tfd_db_blob(tfd_bytes_view(&g->rest));
    return tfd_summary_run(g->db, TFD_DB_ADD_NODE, values, 6, st);
}

/* ---- All of it ----------------------------------------------------------- */

typedef enum tfd_code node_fn(struct graph_rows *g, int64_t index,
                              struct tfd_str node, struct tfd_status *st);

static enum tfd_code each_node(struct graph_rows *g, struct tfd_str graph,
                               node_fn *fn, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(graph);
    struct tfd_pb_field f;
    int64_t index = 0;

    while (tfd_pb_next(&r, &f)) {
        if (tfd_halted())
            return tfd_halt_fail(st);
        if (is_node(&f))
            TFD_TRY(fn(g, index++, f.bytes, st));
    }
    return tfd_pb_end(&r, "GraphDef", st);
}

static enum tfd_code add_graph_rows(struct graph_rows *g, struct tfd_str graph,
                                    struct tfd_status *st)
{
    struct tfd_db_value values[4];

    TFD_TRY(tfd_summary_new_id(g->db, &g->id, st));
    TFD_TRY(note_names(g, graph, st));
    TFD_TRY(each_node(g, graph, add_inputs, st));
    TFD_TRY(each_node(g, graph, add_node, st));
    TFD_TRY(take_rest(g, graph, tensorflow_GraphDef_node_tag,
                      tensorflow_GraphDef_node_tag, st));
    values[0] = tfd_db_id(g->db->ids.run);
    values[1] = tfd_db_int(g->id);
    values[2] = tfd_db_real(tfd_summary_now());
    values[3] = tfd_db_blob(tfd_bytes_view(&g->rest));
    return tfd_summary_run(g->db, TFD_DB_ADD_GRAPH, values, 4, st);
}

enum tfd_code tfd_summary_add_graph(struct tfd_summary_db *db,
                                    struct tfd_str graph, struct tfd_status *st)
{
    struct graph_rows g = {.db = db};
    enum tfd_code rc;

    tfd_map_init(&g.nodes);
    tfd_bytes_init(&g.rest, (size_t)TFD_GRPC_MESSAGE_SIZE_MAX);
    rc = add_graph_rows(&g, graph, st);
    tfd_map_deinit(&g.nodes);
    tfd_bytes_deinit(&g.rest);
    return rc;
}
#else
typedef int tfd_no_summary_graph; /* C wants something in a file */
#endif
