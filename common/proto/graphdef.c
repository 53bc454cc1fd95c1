/*
 * graphdef.c - a GraphDef into a graph.
 *
 *   1. gather   each NodeDef's name, op and numbers of things, as views of the
 *               message; names into a map, sizes against limits
 *   2. resolve  each input to an index: of a new node, or of one that the graph
 *               has (by name, or by the caller's map)
 *   3. add      depth first along inputs with a stack of our own, so that
 *               inputs exist before a node does; ways back of loops are set
 *               when everything is there
 *
 * Memory in between is one arena.  A failure in 3 takes the new nodes out of
 * the graph again; versions and library are assigned last.
 */
#include "common/proto/graphdef.h"

#include "common/graph/attr.h"
#include "common/graph/attr_depth.h"
#include "common/graph/deprecated.h"
#include "common/graph/function.h"
#include "common/graph/graph_internal.h"
#include "common/proto/graphdef_parts.h"
#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "common/graph/unknown_ops.h"
#include "config/limits.h"

#include <string.h>

/* TensorFlow extends sessions of producers before it by any op. */
#define FIRST_REFUSED 5

#define TAG(name) tensorflow_NodeDef_##name##_tag

/* What an input refers to. */
struct input {
    struct tfd_edge edge;
    bool new; /* edge.node is an index into nodes of the import */
};

enum mark { UNSEEN, ON_PATH, DONE };

struct new_node {
    struct tfd_str def, name, op_name, device;
    const struct tfd_op *op; /* NULL when unknown */
    int64_t first_input;
    int32_t input_count; /* data and control */
    int32_t attr_count;
    int32_t next; /* input to look at next */
    int32_t id;   /* in the graph, once added */
    enum mark mark;
    bool depends; /* on another new node */
};

struct import {
    struct tfd_graph *g;
    struct tfd_graphdef_options options;
    struct tfd_versions versions; /* the message's */
    bool extends; /* the session's graph; not TF_ImportGraphDef */
    bool refuses_deprecated;
    struct tfd_arena arena;
    struct tfd_map by_name; /* new nodes, by their names in the message */
    struct tfd_map mapped;  /* map_from, as "node:0" -> index */
    struct new_node *nodes;
    int32_t count;
    struct input *inputs; /* of all nodes, one node after the other */
    int64_t input_count;
    int32_t *path; /* the stack of the walk */
    int32_t depth;
    /* for one node at a time */
    struct tfd_edge *edges;
    int32_t *control;
    struct tfd_attr *attrs;
    struct tfd_bytes name, class;
    struct tfd_status *st;
};

static bool has_flag(const struct new_node *n, enum tfd_op_flag flag)
{
    return n->op && n->op->flags & flag;
}

/* ---- Gathering ----------------------------------------------------------- */

static enum tfd_code count_nodes(struct import *im, struct tfd_str bytes,
                                 int32_t *count)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_pb_field f;
    int64_t n = 0;

    while (tfd_pb_next(&r, &f))
        n += f.tag == tensorflow_GraphDef_node_tag;
    TFD_TRY(tfd_pb_end(&r, "GraphDef", im->st));
    if (n > TFD_GRAPH_NODES_MAX - im->g->count)
        return tfd_fail(im->st, TFD_RESOURCE_EXHAUSTED,
                        "GraphDef has %lld nodes and the graph %d; together "
                        "the limit is %d",
                        (long long)n, im->g->count, TFD_GRAPH_NODES_MAX);
    *count = (int32_t)n;
    return TFD_OK;
}

/* "prefix/name", valid until the next call. */
static enum tfd_code full_name(struct import *im, struct tfd_str name,
                               struct tfd_str *out)
{
    *out = name;
    if (!im->options.prefix.size)
        return TFD_OK;
    tfd_bytes_clear(&im->name);
    tfd_bytes_add_str(&im->name, im->options.prefix);
    tfd_bytes_add(&im->name, "/", 1);
    tfd_bytes_add_str(&im->name, name);
    *out = tfd_bytes_view(&im->name);
    return tfd_bytes_ok(&im->name, "a node's name", im->st);
}

static enum tfd_code check_new_name(struct import *im, const struct new_node *n)
{
    char text[TFD_PRINTABLE_MAX];
    struct tfd_str name;
    uintptr_t at;

    if (tfd_map_get(&im->by_name, n->name, &at))
        return tfd_fail(im->st, TFD_INVALID_ARGUMENT, "Node '%s' is not unique",
                        tfd_graph_printable(n->name, text));
    /* Names that runtimes make are no client's to use. */
    if ((tfd_str_starts(n->name, "_") || !tfd_graph_name_ok(n->name)) &&
        !im->options.require_full_device)
        return tfd_fail(im->st, TFD_INVALID_ARGUMENT,
                        im->extends ? "Illegal op name '%s'"
                                    : "Node '%s': Node name contains invalid "
                                      "characters",
                        tfd_graph_printable(n->name, text));
    TFD_TRY(full_name(im, n->name, &name));
    if (!tfd_graph_find(im->g, name))
        return TFD_OK;
    if (im->extends)
        return tfd_fail(im->st, TFD_INVALID_ARGUMENT,
                        "GraphDef argument to Extend includes node '%s', which "
                        "was created by a previous call to Create or Extend in "
                        "this session.",
                        tfd_graph_printable(name, text));
    return tfd_fail(im->st, TFD_INVALID_ARGUMENT,
                    "Node name '%s' already exists in the Graph",
                    tfd_graph_printable(name, text));
}

static enum tfd_code check_new_node(struct import *im, const struct new_node *n)
{
    char text[TFD_PRINTABLE_MAX];

    if (n->input_count > 2 * TFD_NODE_INPUTS_MAX ||
        n->attr_count > TFD_NODE_ATTRS_MAX ||
        im->input_count > TFD_GRAPH_EDGES_MAX)
        return tfd_fail(im->st, TFD_RESOURCE_EXHAUSTED,
                        "Node '%s' has %d inputs and %d attributes; limits are "
                        "%d and %d, and %d inputs of all nodes",
                        tfd_graph_printable(n->name, text), n->input_count,
                        n->attr_count, TFD_NODE_INPUTS_MAX, TFD_NODE_ATTRS_MAX,
                        TFD_GRAPH_EDGES_MAX);
    if (im->options.require_full_device && !n->device.size)
        return tfd_fail(im->st, TFD_INVALID_ARGUMENT,
                        "Node '%s' is missing a device specification",
                        tfd_graph_printable(n->name, text));
    return check_new_name(im, n);
}

static enum tfd_code gather_node(struct import *im, struct tfd_str def)
{
    struct new_node *n = &im->nodes[im->count];
    struct tfd_pb_reader r = tfd_pb_reader_of(def);
    struct tfd_pb_field f;

    *n = (struct new_node){.def = def, .first_input = im->input_count};
    n->name = n->op_name = n->device = TFD_STR_EMPTY;
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == TAG(name))
            n->name = tfd_pb_str(&r, &f);
        else if (f.tag == TAG(op))
            n->op_name = tfd_pb_str(&r, &f);
        else if (f.tag == TAG(device))
            n->device = tfd_pb_str(&r, &f);
        n->input_count += f.tag == TAG(input);
        n->attr_count += f.tag == TAG(attr);
    }
    TFD_TRY(tfd_pb_end(&r, "NodeDef", im->st));
    im->input_count += n->input_count;
    TFD_TRY(check_new_node(im, n));
    n->op = tfd_op_find(im->g->ops, n->op_name);
    if (!tfd_map_put(&im->by_name, n->name, (uintptr_t)im->count++))
        return tfd_arena_check(NULL, "a GraphDef", im->st);
    return TFD_OK;
}

static enum tfd_code make_scratch(struct import *im)
{
    int32_t inputs = 0, attrs = 0;

    for (int32_t i = 0; i < im->count; i++) {
        if (im->nodes[i].input_count > inputs)
            inputs = im->nodes[i].input_count;
        if (im->nodes[i].attr_count > attrs)
            attrs = im->nodes[i].attr_count;
    }
    im->inputs = tfd_arena_array(&im->arena, (size_t)im->input_count,
                                 sizeof(*im->inputs));
    im->edges = tfd_arena_array(&im->arena, (size_t)inputs, sizeof(*im->edges));
    im->control = tfd_arena_array(
        &im->arena, (size_t)inputs + (size_t)im->options.control_count,
        sizeof(*im->control));
    im->attrs = tfd_arena_array(&im->arena, (size_t)attrs, sizeof(*im->attrs));
    if (!im->inputs || !im->edges || !im->control || !im->attrs)
        return tfd_arena_check(NULL, "a GraphDef", im->st);
    return TFD_OK;
}

static enum tfd_code gather_nodes(struct import *im, struct tfd_str bytes)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_pb_field f;
    int32_t count = 0;

    TFD_TRY(count_nodes(im, bytes, &count));
    im->nodes = tfd_arena_array(&im->arena, (size_t)count, sizeof(*im->nodes));
    im->path = tfd_arena_array(&im->arena, (size_t)count, sizeof(*im->path));
    if (!im->nodes || !im->path)
        return tfd_arena_check(NULL, "a GraphDef", im->st);
    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_GraphDef_node_tag)
            TFD_TRY(gather_node(im, tfd_pb_str(&r, &f)));
    TFD_TRY(tfd_pb_end(&r, "GraphDef", im->st));
    return make_scratch(im);
}

/* ---- Resolving ----------------------------------------------------------- */

/* "node" and "node:0" are the same. */
static enum tfd_code canonical(struct import *im, struct tfd_str name,
                               int32_t output, struct tfd_str *out)
{
    tfd_bytes_clear(&im->name);
    if (output == TFD_CONTROL)
        tfd_bytes_printf(&im->name, "^");
    tfd_bytes_add_str(&im->name, name);
    if (output != TFD_CONTROL)
        tfd_bytes_printf(&im->name, ":%d", output);
    *out = tfd_bytes_view(&im->name);
    return tfd_bytes_ok(&im->name, "the name of an input", im->st);
}

static enum tfd_code read_map(struct import *im)
{
    char text[TFD_PRINTABLE_MAX];

    for (int i = 0; i < im->options.map_count; i++) {
        struct tfd_str name, key;
        int32_t output;

        if (!tfd_graph_endpoint_split(im->options.map_from[i], &name, &output))
            return tfd_fail(im->st, TFD_INVALID_ARGUMENT,
                            "'%s' does not name an output of a node",
                            tfd_graph_printable(im->options.map_from[i], text));
        TFD_TRY(canonical(im, name, output, &key));
        key = tfd_arena_str(&im->arena, key);
        if (!key.data || !tfd_map_put(&im->mapped, key, (uintptr_t)i))
            return tfd_arena_check(NULL, "a GraphDef", im->st);
    }
    return TFD_OK;
}

/* False when there is no such node. */
static bool find_node(const struct import *im, struct tfd_str name,
                      struct input *in)
{
    const struct tfd_node *old;
    uintptr_t at;

    if (tfd_map_get(&im->by_name, name, &at)) {
        in->edge.node = (int32_t)at;
        in->new = true;
        return true;
    }
    old = im->extends ? tfd_graph_find(im->g, name) : NULL;
    if (!old)
        return false;
    in->edge.node = old->id;
    return true;
}

static enum tfd_code resolve_input(struct import *im, const struct new_node *n,
                                   struct tfd_str text, struct input *in)
{
    char node[TFD_PRINTABLE_MAX], input[TFD_PRINTABLE_MAX];
    struct tfd_str name, key;
    bool found = false;
    uintptr_t at;

    *in = (struct input){.edge = TFD_EDGE_NONE};
    if (tfd_graph_endpoint_split(text, &name, &in->edge.output)) {
        if (im->mapped.count) {
            TFD_TRY(canonical(im, name, in->edge.output, &key));
            if (tfd_map_get(&im->mapped, key, &at)) {
                in->edge = im->options.map_to[at];
                return TFD_OK;
            }
        }
        found = find_node(im, name, in);
    }
    if (found)
        return TFD_OK;
    return tfd_fail(
        im->st, TFD_INVALID_ARGUMENT, "Node '%s': Unknown input node '%s'",
        tfd_graph_printable(n->name, node), tfd_graph_printable(text, input));
}

static bool is_back_edge(const struct import *im, const struct new_node *n,
                         const struct input *in)
{
    return in->new &&
           in->edge.output != TFD_CONTROL &&has_flag(n, TFD_OP_MERGE) &&
           has_flag(&im->nodes[in->edge.node], TFD_OP_NEXT_ITERATION);
}

static enum tfd_code resolve_node(struct import *im, struct new_node *n)
{
    struct input *in = im->inputs + n->first_input;
    struct tfd_pb_reader r = tfd_pb_reader_of(n->def);
    char text[TFD_PRINTABLE_MAX];
    bool control = false;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        struct tfd_str name;

        if (f.tag != TAG(input))
            continue;
        name = tfd_pb_str(&r, &f);
        if (control && !tfd_str_starts(name, "^"))
            return tfd_fail(im->st, TFD_INVALID_ARGUMENT,
                            im->extends
                                ? "All control inputs must follow normal "
                                  "inputs: node '%s'"
                                : "Node '%s': Control dependencies must come "
                                  "after regular dependencies",
                            tfd_graph_printable(n->name, text));
        control = tfd_str_starts(name, "^");
        TFD_TRY(resolve_input(im, n, name, in));
        n->depends |= in->new && !is_back_edge(im, n, in);
        in++;
    }
    return tfd_pb_end(&r, "NodeDef", im->st);
}

/* ---- Adding -------------------------------------------------------------- */

static struct tfd_edge edge_of(const struct import *im, const struct input *in)
{
    if (!in->new)
        return in->edge;
    return (struct tfd_edge){im->nodes[in->edge.node].id, in->edge.output};
}

static void read_inputs(struct import *im, const struct new_node *n,
                        struct tfd_node_spec *spec)
{
    const struct input *in = im->inputs + n->first_input;

    for (int32_t i = 0; i < n->input_count; i++, in++)
        if (is_back_edge(im, n, in))
            im->edges[spec->in_count++] = TFD_EDGE_NONE;
        else if (in->edge.output == TFD_CONTROL)
            im->control[spec->control_count++] = edge_of(im, in).node;
        else
            im->edges[spec->in_count++] = edge_of(im, in);
    for (int i = 0; i < im->options.control_count && !n->depends; i++)
        im->control[spec->control_count++] = im->options.control[i];
    spec->in = im->edges;
    spec->control = im->control;
}

/* Groups of nodes that shall be together are named "loc:@node". */
static enum tfd_code prefix_class(struct import *im, struct tfd_attr *a)
{
    static const char group[] = "loc:@";
    struct tfd_str list, name;
    struct tfd_attr_list l;
    struct tfd_pb_field f;
    int64_t count;
    size_t mark;

    if (tfd_attr_list(a->value, TFD_ATTR_STRING, &list, &count, NULL))
        return TFD_OK;
    tfd_bytes_clear(&im->class);
    mark = tfd_pb_begin(&im->class, tensorflow_AttrValue_list_tag);
    l = tfd_attr_list_of(list);
    while (tfd_attr_list_next(&l, &f)) {
        size_t item = tfd_pb_begin(&im->class, f.tag);

        name = f.bytes;
        if (tfd_str_starts(name, group)) {
            name.data += sizeof(group) - 1;
            name.size -= sizeof(group) - 1;
            tfd_bytes_add(&im->class, group, sizeof(group) - 1);
            tfd_bytes_add_str(&im->class, im->options.prefix);
            tfd_bytes_add(&im->class, "/", 1);
        }
        tfd_bytes_add_str(&im->class, name);
        tfd_pb_finish(&im->class, item);
    }
    tfd_pb_finish(&im->class, mark);
    a->value = tfd_bytes_view(&im->class);
    return tfd_bytes_ok(&im->class, "a node's class", im->st);
}

static enum tfd_code read_attrs(struct import *im, const struct new_node *n,
                                struct tfd_node_spec *spec)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(n->def);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        struct tfd_attr *a = &im->attrs[spec->attr_count];
        struct tfd_pb_entry entry;

        if (f.tag != TAG(attr))
            continue;
        if (!tfd_pb_map_entry(tfd_pb_str(&r, &f), &entry))
            r.failed = true;
        *a = (struct tfd_attr){entry.key, entry.value};
        TFD_TRY(tfd_attr_depth_check(a->name, a->value, im->st));
        spec->attr_count++;
        if (im->options.prefix.size && tfd_str_is(a->name, "_class"))
            TFD_TRY(prefix_class(im, a));
    }
    spec->attrs = im->attrs;
    return tfd_pb_end(&r, "NodeDef", im->st);
}

static enum tfd_code fail_unknown_op(const struct import *im,
                                     const struct new_node *n)
{
    struct tfd_unknown_ops unknown;

    tfd_unknown_ops_begin(&unknown, im->g, n->op_name);
    for (int32_t i = 0; i < im->count; i++)
        tfd_unknown_ops_see(&unknown, im->nodes[i].op_name);
    return tfd_unknown_ops_fail(&unknown, TFD_STR_EMPTY, im->st);
}

static enum tfd_code add_imported(struct import *im, struct new_node *n)
{
    struct tfd_node_spec spec = {.op = n->op_name, .device = n->device};
    struct tfd_node *added;

    if (!n->op && !tfd_function_op(im->g, n->op_name))
        return fail_unknown_op(im, n);
    TFD_TRY(full_name(im, n->name, &spec.name));
    read_inputs(im, n, &spec);
    TFD_TRY(read_attrs(im, n, &spec));
    TFD_TRY(tfd_graph_add(im->g, &spec, &added, im->st));
    n->id = added->id;
    n->mark = DONE;
    return im->refuses_deprecated
               ? tfd_deprecated_check(n->op_name, im->versions.producer, im->st)
               : TFD_OK;
}

static enum tfd_code fail_cycle(const struct import *im, int32_t node)
{
    int32_t start = im->depth - 1;
    char text[TFD_PRINTABLE_MAX];

    while (im->path[start] != node)
        start--;
    return tfd_fail(im->st, TFD_INVALID_ARGUMENT,
                    "%d nodes in a cycle, one of them is '%s'",
                    im->depth - start,
                    tfd_graph_printable(im->nodes[node].name, text));
}

/* The new node that n waits for next; -1 when it waits for no other. */
static int32_t next_producer(const struct import *im, struct new_node *n)
{
    while (n->next < n->input_count) {
        const struct input *in = &im->inputs[n->first_input + n->next++];

        if (in->new && !is_back_edge(im, n, in) &&
            im->nodes[in->edge.node].mark != DONE)
            return in->edge.node;
    }
    return -1;
}

static void push_ready(struct import *im, int32_t node)
{
    im->nodes[node].mark = ON_PATH;
    im->path[im->depth++] = node;
}

static enum tfd_code add_with_producers(struct import *im, int32_t root)
{
    push_ready(im, root);
    while (im->depth) {
        struct new_node *n = &im->nodes[im->path[im->depth - 1]];
        int32_t producer = next_producer(im, n);

        if (producer < 0) {
            TFD_TRY(add_imported(im, n));
            im->depth--;
        } else if (im->nodes[producer].mark == ON_PATH) {
            return fail_cycle(im, producer);
        } else {
            push_ready(im, producer);
        }
    }
    return TFD_OK;
}

static enum tfd_code close_loops(struct import *im, const struct new_node *n)
{
    const struct input *in = im->inputs + n->first_input;

    for (int32_t i = 0; i < n->input_count; i++)
        if (is_back_edge(im, n, &in[i]))
            TFD_TRY(tfd_graph_set_input(im->g, im->g->nodes[n->id], i,
                                        edge_of(im, &in[i]), im->st));
    return TFD_OK;
}

static enum tfd_code add_all(struct import *im)
{
    for (int32_t i = 0; i < im->count; i++)
        TFD_TRY(resolve_node(im, &im->nodes[i]));
    for (int32_t i = 0; i < im->count; i++)
        if (im->nodes[i].mark == UNSEEN)
            TFD_TRY(add_with_producers(im, i));
    for (int32_t i = 0; i < im->count; i++)
        TFD_TRY(close_loops(im, &im->nodes[i]));
    return TFD_OK;
}

/* ---- The whole ----------------------------------------------------------- */

static enum tfd_code import_all(struct import *im, struct tfd_str bytes)
{
    struct tfd_str library;

    TFD_TRY(tfd_graphdef_versions(bytes, &im->versions, im->st));
    if (im->extends && im->versions.producer < FIRST_REFUSED)
        im->refuses_deprecated = false;
    if (im->extends && im->refuses_deprecated)
        TFD_TRY(tfd_graphdef_check_ops(im->g, im->versions.producer, im->st));
    TFD_TRY(gather_nodes(im, bytes));
    TFD_TRY(read_map(im));
    TFD_TRY(tfd_graphdef_library(im->g, bytes, &library, im->st));
    TFD_TRY(tfd_functions_add(im->g, library, im->st));
    TFD_TRY(add_all(im));
    tfd_graphdef_set_versions(im->g, &im->versions, im->extends);
    im->g->library = library;
    return TFD_OK;
}

enum tfd_code tfd_graphdef_import(struct tfd_graph *g, struct tfd_str bytes,
                                  const struct tfd_graphdef_options *options,
                                  int32_t *first, struct tfd_status *st)
{
    struct import im = {.g = g, .st = st};
    const struct tfd_function *functions = g->functions;
    int32_t before = g->count;
    enum tfd_code rc;

    im.extends = !options || options->require_full_device;
    im.refuses_deprecated =
        options ? !options->require_full_device : before > 0;
    if (options)
        im.options = *options;
    tfd_arena_init(&im.arena, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_map_init(&im.by_name);
    tfd_map_init(&im.mapped);
    tfd_bytes_init(&im.name, 2 * TFD_NAME_SIZE_MAX);
    tfd_bytes_init(&im.class, (size_t)1 << 20);

    rc = import_all(&im, bytes);
    if (rc != TFD_OK) {
        tfd_graph_truncate(g, before);
        tfd_functions_drop(g, functions);
    } else if (first) {
        *first = before;
    }

    tfd_bytes_deinit(&im.class);
    tfd_bytes_deinit(&im.name);
    tfd_map_deinit(&im.mapped);
    tfd_map_deinit(&im.by_name);
    tfd_arena_deinit(&im.arena);
    return rc;
}
