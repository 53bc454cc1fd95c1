/*
 * data_writing.c - see data_writing.h.
 */
#include "kernels/data_graph/data_writing.h"

#include "common/proto/graph.pb.h"
#include "common/proto/graphdef.h"
#include "common/resource/handle.h"
#include "config/limits.h"

#include <stdlib.h>

struct writing {
    struct tfd_data_nodes *g;
    struct tfd_bytes *out;
    struct tfd_arena arena;
    struct tfd_str *names; /* by node */
    int32_t number;        /* of the next node */
    int32_t identities;
    bool only_changed;
    struct tfd_tensor *args;
    int32_t arg_count, arg_capacity;
    struct tfd_status *st;
};

/* ---- Names --------------------------------------------------------------- */

static enum tfd_code make_name(struct writing *w, struct tfd_str op,
                               const char *joint, int32_t number,
                               struct tfd_str *out)
{
    struct tfd_bytes text;
    enum tfd_code rc;

    tfd_bytes_init(&text, TFD_NAME_SIZE_MAX);
    tfd_bytes_add_str(&text, op);
    tfd_bytes_printf(&text, "%s%d", joint, number);
    rc = tfd_bytes_ok(&text, "a node's name", w->st);
    if (rc == TFD_OK) {
        *out = tfd_arena_str(&w->arena, tfd_bytes_view(&text));
        rc = tfd_arena_check(out->data, "the graph of a dataset", w->st);
    }
    tfd_bytes_deinit(&text);
    return rc;
}

static enum tfd_code next_name(struct writing *w, struct tfd_str op,
                               struct tfd_str *out)
{
    return make_name(w, op, "/_", w->number++, out);
}

/* ---- Values -------------------------------------------------------------- */

static void put_tensor(struct tfd_bytes *b, const struct tfd_tensor *t)
{
    size_t mark = tfd_pb_begin(b, tensorflow_AttrValue_tensor_tag);

    tfd_tensor_proto_encode(b, t, tfd_handle_encode);
    tfd_pb_finish(b, mark);
}

static enum tfd_code put_node(struct writing *w, const struct tfd_nodedef *def)
{
    tfd_graphdef_put(w->out, def);
    return tfd_bytes_ok(w->out, "the graph of a dataset", w->st);
}

/* A node whose one or two attributes lie in `values`. */
static enum tfd_code put_two(struct writing *w, struct tfd_nodedef *def,
                             struct tfd_attr attrs[2],
                             const struct tfd_bytes *values, size_t first)
{
    TFD_TRY(tfd_bytes_ok(values, "an attribute", w->st));
    attrs[0].value = (struct tfd_str){values->data, first};
    attrs[1].value =
        (struct tfd_str){values->data + first, values->size - first};
    def->attrs = attrs;
    def->attr_count = attrs[1].value.size ? 2 : 1;
    return put_node(w, def);
}

static enum tfd_code put_const(struct writing *w, const struct tfd_tensor *t,
                               struct tfd_str *name)
{
    struct tfd_attr attrs[2] = {{.name = TFD_STR("dtype")},
                                {.name = TFD_STR("value")}};
    struct tfd_nodedef def = {.op = TFD_STR("Const"), .device = TFD_STR_EMPTY};
    struct tfd_bytes values;
    enum tfd_code rc;
    size_t first;

    TFD_TRY(next_name(w, def.op, name));
    def.name = *name;
    tfd_bytes_init(&values, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_attr_put_type(&values, (int)t->dtype);
    first = values.size;
    put_tensor(&values, t);
    rc = put_two(w, &def, attrs, &values, first);
    tfd_bytes_deinit(&values);
    return rc;
}

/* TensorFlow marks the names of files by a node that nobody reads. */
static enum tfd_code put_identity(struct writing *w, enum tfd_dtype dtype,
                                  struct tfd_str in)
{
    struct tfd_attr attrs[2] = {{.name = TFD_STR("T")}, {.name = TFD_STR("")}};
    struct tfd_nodedef def = {
        .op = TFD_STR("Identity"),
        .device = TFD_STR_EMPTY,
        .in = &in,
        .in_count = 1,
    };
    struct tfd_bytes values;
    enum tfd_code rc;

    TFD_TRY(
        make_name(w, TFD_STR("FileIdentity"), "/", w->identities++, &def.name));
    tfd_bytes_init(&values, TFD_ATTR_SIZE_MAX);
    tfd_attr_put_type(&values, (int)dtype);
    rc = put_two(w, &def, attrs, &values, values.size);
    tfd_bytes_deinit(&values);
    return rc;
}

static enum tfd_code more_args(struct writing *w)
{
    int32_t capacity = w->arg_capacity ? 2 * w->arg_capacity : 16;
    struct tfd_tensor *bigger;

    if (w->arg_count < w->arg_capacity)
        return TFD_OK;
    bigger = tfd_arena_array(&w->g->arena, (size_t)capacity, sizeof(*bigger));
    TFD_TRY(tfd_arena_check(bigger, "arguments of a dataset", w->st));
    for (int32_t i = 0; i < w->arg_count; i++)
        bigger[i] = w->args[i];
    w->args = bigger;
    w->arg_capacity = capacity;
    return TFD_OK;
}

static enum tfd_code put_arg(struct writing *w, const struct tfd_tensor *t,
                             struct tfd_str *name)
{
    struct tfd_attr attrs[2] = {{.name = TFD_STR("index")},
                                {.name = TFD_STR("T")}};
    struct tfd_nodedef def = {.op = TFD_STR("_Arg"), .device = TFD_STR_EMPTY};
    struct tfd_bytes values;
    enum tfd_code rc;
    size_t first;

    TFD_TRY(more_args(w));
    TFD_TRY(make_name(w, TFD_STR("Arg"), "/_", w->arg_count, name));
    def.name = *name;
    tfd_bytes_init(&values, TFD_ATTR_SIZE_MAX);
    tfd_attr_put_int(&values, w->arg_count);
    first = values.size;
    tfd_attr_put_type(&values, (int)t->dtype);
    w->args[w->arg_count++] = *t;
    rc = put_two(w, &def, attrs, &values, first);
    tfd_bytes_deinit(&values);
    return rc;
}

/* ---- Nodes --------------------------------------------------------------- */

static bool is_files(const struct tfd_data_node *n)
{
    struct tfd_str value;

    return tfd_str_is(n->op, "TensorSliceDataset") &&
           tfd_data_node_attr(n, "is_files", &value) && value.size == 2 &&
           value.data[1] == 1;
}

/* The name of the node behind input i, which is written if need be. */
static enum tfd_code input_name(struct writing *w, struct tfd_data_node *n,
                                int32_t i, struct tfd_str *out)
{
    const struct tfd_data_input *in = &n->in[i];

    if (in->node >= 0 && (!w->only_changed || w->g->node[in->node]->changed)) {
        *out = w->names[in->node];
        return TFD_OK;
    }
    if (w->only_changed)
        return put_arg(w, in->value, out);
    TFD_TRY(put_const(w, in->value, out));
    return is_files(n) ? put_identity(w, in->value->dtype, *out) : TFD_OK;
}

static enum tfd_code write_node(struct writing *w, int32_t number)
{
    struct tfd_data_node *n = w->g->node[number];
    struct tfd_str *in =
        tfd_arena_array(&w->arena, (size_t)n->in_count + 1, sizeof(*in));
    const struct tfd_nodedef def = {
        .op = n->op,
        .device = TFD_STR_EMPTY,
        .in = in,
        .in_count = n->in_count,
        .attrs = n->attrs,
        .attr_count = n->attr_count,
    };
    struct tfd_nodedef named = def;

    TFD_TRY(tfd_arena_check(in, "the graph of a dataset", w->st));
    for (int32_t i = 0; i < n->in_count; i++)
        TFD_TRY(input_name(w, n, i, &in[i]));
    if (number == w->g->sink)
        w->names[number] = TFD_STR("dataset");
    else if (!w->only_changed)
        TFD_TRY(next_name(w, n->op, &w->names[number]));
    named.name = w->names[number];
    return put_node(w, &named);
}

static enum tfd_code write_nodes(struct writing *w,
                                 const struct tfd_data_library *l)
{
    w->names =
        tfd_arena_array(&w->arena, (size_t)w->g->count + 1, sizeof(*w->names));
    TFD_TRY(tfd_arena_check(w->names, "the graph of a dataset", w->st));
    for (int32_t i = 0; w->only_changed && i < w->g->count; i++)
        TFD_TRY(make_name(w, w->g->node[i]->op, "/_", i, &w->names[i]));
    for (int32_t i = 0; i < w->g->count; i++)
        if (!w->only_changed || w->g->node[i]->changed)
            TFD_TRY(write_node(w, i));
    tfd_data_library_put(l, w->out);
    return tfd_bytes_ok(w->out, "the graph of a dataset", w->st);
}

enum tfd_code tfd_data_write(const struct tfd_data_nodes *g,
                             const struct tfd_data_library *l,
                             struct tfd_bytes *out, struct tfd_status *st)
{
    struct writing w = {.g = (struct tfd_data_nodes *)g, .out = out, .st = st};
    enum tfd_code rc;

    tfd_arena_init(&w.arena, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = write_nodes(&w, l);
    tfd_arena_deinit(&w.arena);
    return rc;
}

/* True when a node has changed that had not.  What is packed with a changed
 * dataset is made again with it. */
static bool spread_from(struct tfd_data_nodes *g, struct tfd_data_node *n)
{
    bool more = false;

    for (int32_t i = 0; i < n->in_count; i++) {
        struct tfd_data_node *in =
            n->in[i].node < 0 ? NULL : g->node[n->in[i].node];

        if (in && in->changed && !n->changed)
            n->changed = more = true;
        if (in && n->changed && !in->changed && !n->in[i].value)
            in->changed = more = true;
    }
    return more;
}

/* What needs a changed node has changed.  Chains are short. */
static void spread_change(struct tfd_data_nodes *g)
{
    bool more = true;

    while (more) {
        more = false;
        for (int32_t i = 0; i < g->count; i++)
            more = spread_from(g, g->node[i]) || more;
    }
}

enum tfd_code tfd_data_write_changed(struct tfd_data_nodes *g,
                                     const struct tfd_data_library *l,
                                     struct tfd_bytes *out,
                                     struct tfd_tensor **args,
                                     int32_t *arg_count, struct tfd_status *st)
{
    struct writing w = {.g = g, .out = out, .only_changed = true, .st = st};
    enum tfd_code rc;

    spread_change(g);
    tfd_arena_init(&w.arena, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = write_nodes(&w, l);
    tfd_arena_deinit(&w.arena);
    *args = w.args;
    *arg_count = w.arg_count;
    return rc;
}
