/*
 * missing_ops.c - see missing_ops.h.
 *
 * Nodes of a graph, then bodies of its functions as they are written, then once
 * more for each call that gives attributes, from a list that grows while calls
 * are found within calls.  What is open, a placeholder that nobody has given a
 * value, is left out.
 */
#include "daemon/missing_ops.h"

#include "common/base/pbio.h"
#include "common/graph/attr.h"
#include "common/graph/function_attr.h"
#include "common/proto/graph.pb.h"
#include "common/proto/graphdef_parts.h"
#include "daemon/graph_file.h"
#include "daemon/missing_gradients.h"

#include <inttypes.h>
#include <string.h>

#define TEXT_SIZE_MAX ((size_t)64 * 1024)

struct call {
    struct tfd_func func;
    struct call *next; /* the one found after it */
};

struct look {
    const struct tfd_registry *registry;
    struct tfd_missing_lines lines;
    struct tfd_missing_gradients gradients;
    struct tfd_map ops; /* all that were seen */
    int64_t nodes;
    int number; /* of the graph */

    struct tfd_graph *g;    /* its library */
    struct tfd_arena arena; /* of a graph: calls */
    struct tfd_arena node;  /* of a node */
    struct tfd_map calls;   /* those in the list */
    struct call *first_call, *last_call;
    int64_t called_nodes;
    struct tfd_status *st;
};

/* A node, and whose body has it. */
struct seen {
    struct tfd_node n;
    const struct tfd_function *in;
    bool open; /* an attribute is left out */
};

/* ---- Lines --------------------------------------------------------------- */

static enum tfd_code lack(struct look *l, const struct seen *s,
                          const char *what, const char *which,
                          struct tfd_str op)
{
    struct tfd_missing_place place = {
        l->number, s->in ? s->in->op.name : TFD_STR_EMPTY, s->n.name};
    struct tfd_bytes text;
    enum tfd_code rc;

    tfd_bytes_init(&text, TEXT_SIZE_MAX);
    tfd_bytes_printf(&text, "%s%s%s" TFD_STR_FMT, what, which,
                     *which ? " of " : "", TFD_STR_ARG(op));
    rc = tfd_bytes_ok(&text, "a line", l->st);
    if (rc == TFD_OK)
        rc = tfd_missing_lines_add(&l->lines, &place, tfd_bytes_view(&text),
                                   l->st);
    tfd_bytes_deinit(&text);
    return rc;
}

/* A value that the definition of the op does not allow. */
static enum tfd_code lack_value(struct look *l, const struct seen *s,
                                const struct tfd_op_attr *a,
                                struct tfd_str value)
{
    struct tfd_pb_field f;
    int number;

    if (a->kind == TFD_ATTR_TYPE && !a->list &&
        tfd_attr_read(value, &f, NULL) == TFD_OK &&
        f.tag == tfd_attr_tag(TFD_ATTR_TYPE)) {
        number = f.number < TFD_DTYPE_END ? (int)f.number : 0;
        return lack(l, s, "type ", tfd_dtype_name(number), s->n.op->name);
    }
    return lack(l, s, "attribute ", a->name.data, s->n.op->name);
}

/* ---- One node ------------------------------------------------------------ */

static enum tfd_code look_at_values(struct look *l, const struct seen *s,
                                    bool *good)
{
    *good = true;
    for (int32_t i = 0; i < s->n.attr_count; i++) {
        const struct tfd_attr *given = &s->n.attrs[i];
        const struct tfd_op_attr *a = tfd_op_attr_find(s->n.op, given->name);

        if (!a || tfd_attr_check(a, given->value, NULL) == TFD_OK)
            continue;
        *good = false;
        TFD_TRY(lack_value(l, s, a, given->value));
    }
    return TFD_OK;
}

/* A key that is open, or that a session takes from the inputs, may be any. */
static enum tfd_code look_at_kernel(struct look *l, const struct seen *s)
{
    const struct tfd_op *op = s->n.op;
    const char *key =
        op->key_attr < 0 ? NULL : op->attrs[op->key_attr].name.data;
    enum tfd_dtype type = TFD_DTYPE_INVALID;
    struct tfd_str value;

    if (tfd_registry_kernel(l->registry, &s->n, TFD_CPU))
        return TFD_OK;
    if (key && !tfd_node_attr(&s->n, key, &value) &&
        l->registry->kernel_count[op->index] > 0)
        return TFD_OK;
    if (key && tfd_node_type(&s->n, key, &type, NULL) == TFD_OK)
        return lack(l, s, "type ", tfd_dtype_name((int)type), op->name);
    return lack(l, s, "kernel of ", "", op->name);
}

/* ---- Calls --------------------------------------------------------------- */

static enum tfd_code no_room(struct look *l)
{
    return tfd_arena_check(NULL, "a graph", l->st);
}

static enum tfd_code keep_call(struct look *l, const struct tfd_func *f,
                               struct call **out)
{
    size_t count = (size_t)f->attr_count;
    struct call *c = tfd_arena_alloc(&l->arena, sizeof(*c));
    struct tfd_attr *attrs =
        tfd_arena_array(&l->arena, count + 1, sizeof(*attrs));

    if (!c || !attrs)
        return no_room(l);
    for (size_t i = 0; i < count; i++) {
        attrs[i].name = tfd_arena_str(&l->arena, f->attrs[i].name);
        attrs[i].value = tfd_arena_str(&l->arena, f->attrs[i].value);
        if (!attrs[i].name.data || !attrs[i].value.data)
            return no_room(l);
    }
    c->func = (struct tfd_func){tfd_arena_str(&l->arena, f->name), attrs,
                                f->attr_count};
    *out = c;
    return c->func.name.data ? TFD_OK : no_room(l);
}

/* The call as text, which tells whether it is new. */
static enum tfd_code key_of_call(struct look *l, const struct tfd_func *f,
                                 struct tfd_str *out)
{
    struct tfd_bytes b;
    enum tfd_code rc;

    tfd_bytes_init(&b, (size_t)TFD_GRAPH_FILE_SIZE_MAX);
    tfd_pb_put_str(&b, 1, f->name);
    for (int32_t i = 0; i < f->attr_count; i++) {
        tfd_pb_put_str(&b, 2, f->attrs[i].name);
        tfd_pb_put_str(&b, 3, f->attrs[i].value);
    }
    rc = tfd_bytes_ok(&b, "a call", l->st);
    if (rc == TFD_OK) {
        *out = tfd_arena_str(&l->node, tfd_bytes_view(&b));
        rc = out->data ? TFD_OK : no_room(l);
    }
    tfd_bytes_deinit(&b);
    return rc;
}

/* A function without attributes is the same in each call. */
static enum tfd_code add_call(struct look *l, const struct tfd_func *f)
{
    const struct tfd_function *function = tfd_function_find(l->g, f->name);
    struct tfd_str key;
    struct call *c = NULL;
    uintptr_t unused;

    if (!function || function->op.attr_count == 0)
        return TFD_OK;
    TFD_TRY(key_of_call(l, f, &key));
    if (tfd_map_get(&l->calls, key, &unused))
        return TFD_OK;
    if (l->calls.count == TFD_MISSING_CALLS_MAX)
        return tfd_fail(l->st, TFD_RESOURCE_EXHAUSTED,
                        "functions are called with more than %d different "
                        "attributes",
                        TFD_MISSING_CALLS_MAX);
    TFD_TRY(keep_call(l, f, &c));
    key = tfd_arena_str(&l->arena, key);
    if (!key.data || !tfd_map_put(&l->calls, key, 1))
        return no_room(l);
    if (l->last_call)
        l->last_call->next = c;
    else
        l->first_call = c;
    l->last_call = c;
    return TFD_OK;
}

/* Functions that an attribute of a node names. */
static enum tfd_code add_named_calls(struct look *l, const struct seen *s,
                                     const struct tfd_attr *a)
{
    struct tfd_attr alone = {TFD_STR("f"), a->value};
    struct tfd_node n = s->n;
    struct tfd_func one, *many = NULL;
    int32_t count = 0;

    n.attrs = &alone;
    n.attr_count = 1;
    if (tfd_node_func(&n, "f", &l->node, &one, NULL) == TFD_OK)
        return add_call(l, &one);
    if (tfd_node_funcs(&n, "f", &l->node, &many, &count, NULL) != TFD_OK)
        return TFD_OK;
    for (int32_t i = 0; i < count; i++)
        TFD_TRY(add_call(l, &many[i]));
    return TFD_OK;
}

static enum tfd_code look_at_calls(struct look *l, const struct seen *s)
{
    struct tfd_func own = {s->n.op->name, s->n.attrs, s->n.attr_count};
    struct tfd_func f;

    if (s->n.op->flags & TFD_OP_FUNCTION && !s->open)
        TFD_TRY(add_call(l, &own));
    for (int32_t i = 0; i < s->n.attr_count; i++)
        TFD_TRY(add_named_calls(l, s, &s->n.attrs[i]));
    if (tfd_str_is(s->n.op->name, "SymbolicGradient") &&
        tfd_node_func(&s->n, "f", &l->node, &f, NULL) == TFD_OK)
        return tfd_missing_gradients_add(&l->gradients, l->g, f.name, l->st);
    return TFD_OK;
}

/* ---- Nodes --------------------------------------------------------------- */

/* Counts it if it was not here before. */
static enum tfd_code count_node(struct look *l, struct tfd_str op)
{
    struct tfd_str kept;
    uintptr_t unused;

    l->nodes++;
    if (tfd_map_get(&l->ops, op, &unused))
        return TFD_OK;
    kept = tfd_arena_str(&l->lines.arena, op);
    return kept.data && tfd_map_put(&l->ops, kept, 1) ? TFD_OK : no_room(l);
}

static enum tfd_code look_at_node(struct look *l, struct seen *s,
                                  struct tfd_str op)
{
    bool good;

    s->n.op = tfd_function_op(l->g, op);
    if (!s->n.op)
        return lack(l, s, "op ", "", op);
    TFD_TRY(look_at_calls(l, s));
    TFD_TRY(look_at_values(l, s, &good));
    if (!good || s->n.op->flags & TFD_OP_FUNCTION)
        return TFD_OK;
    return look_at_kernel(l, s);
}

static enum tfd_code read_node_def(struct look *l, struct tfd_str def,
                                   struct seen *s, struct tfd_str *op)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(def);
    struct tfd_pb_field f;

    *s = (struct seen){.n.name = TFD_STR_EMPTY};
    *op = TFD_STR_EMPTY;
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_NodeDef_name_tag)
            s->n.name = tfd_pb_str(&r, &f);
        if (f.tag == tensorflow_NodeDef_op_tag)
            *op = tfd_pb_str(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "NodeDef", l->st));
    if (tfd_function_attrs(def, tensorflow_NodeDef_attr_tag, &l->node,
                           &s->n.attrs, &s->n.attr_count, l->st)) {
        tfd_status_context(l->st, "node " TFD_STR_FMT, TFD_STR_ARG(s->n.name));
        return l->st->code;
    }
    return TFD_OK;
}

static enum tfd_code look_at_nodes(struct look *l, struct tfd_str graph_def)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(graph_def);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        struct tfd_str op;
        struct seen s;

        if (f.tag != tensorflow_GraphDef_node_tag)
            continue;
        tfd_arena_reset(&l->node);
        TFD_TRY(read_node_def(l, tfd_pb_str(&r, &f), &s, &op));
        TFD_TRY(count_node(l, op));
        TFD_TRY(look_at_node(l, &s, op));
    }
    return tfd_pb_end(&r, "GraphDef", l->st);
}

/* ---- Functions ----------------------------------------------------------- */

/* The attributes of a node of a body, with those of the call; without those
 * that stay open. */
static enum tfd_code bind_attrs(struct look *l,
                                const struct tfd_function_node *from,
                                const struct tfd_func *call, struct seen *s)
{
    struct tfd_attr *attrs =
        tfd_arena_array(&l->node, (size_t)from->attr_count + 1, sizeof(*attrs));

    if (!attrs)
        return no_room(l);
    s->n.attrs = attrs;
    for (int32_t i = 0; i < from->attr_count; i++) {
        struct tfd_attr a = from->attrs[i];

        if (tfd_function_attr(call, &l->node, &a.value, NULL) == TFD_OK)
            attrs[s->n.attr_count++] = a;
        else
            s->open = true;
    }
    return TFD_OK;
}

static enum tfd_code look_at_body(struct look *l, const struct tfd_function *f,
                                  const struct tfd_func *call, bool counts)
{
    for (int32_t i = 0; i < f->node_count; i++) {
        struct seen s = {.n.name = f->nodes[i].name, .in = f};

        tfd_arena_reset(&l->node);
        TFD_TRY(bind_attrs(l, &f->nodes[i], call, &s));
        if (counts)
            TFD_TRY(count_node(l, f->nodes[i].op));
        TFD_TRY(look_at_node(l, &s, f->nodes[i].op));
    }
    return TFD_OK;
}

static enum tfd_code look_at_functions(struct look *l)
{
    const struct tfd_function *f;

    for (f = l->g->functions; f; f = f->next) {
        struct tfd_func none = {f->op.name, NULL, 0};

        TFD_TRY(look_at_body(l, f, &none, true));
    }
    for (const struct call *c = l->first_call; c; c = c->next) {
        f = tfd_function_find(l->g, c->func.name);
        if (!f)
            continue;
        l->called_nodes += f->node_count;
        if (l->called_nodes > TFD_MISSING_CALLED_NODES_MAX)
            return tfd_fail(l->st, TFD_RESOURCE_EXHAUSTED,
                            "calls with different attributes have more than %d "
                            "nodes",
                            TFD_MISSING_CALLED_NODES_MAX);
        TFD_TRY(look_at_body(l, f, &c->func, false));
    }
    return TFD_OK;
}

/* ---- Graphs -------------------------------------------------------------- */

static enum tfd_code look_at_all(struct look *l, struct tfd_str graph_def)
{
    struct tfd_str library;

    TFD_TRY(tfd_graphdef_library(l->g, graph_def, &library, l->st));
    TFD_TRY(tfd_functions_add(l->g, library, l->st));
    TFD_TRY(look_at_nodes(l, graph_def));
    TFD_TRY(look_at_functions(l));
    return tfd_missing_gradients_find(&l->gradients, l->g, l->number, &l->lines,
                                      l->st);
}

static enum tfd_code look_at_graph(struct look *l, struct tfd_str graph_def)
{
    enum tfd_code rc;

    l->g = tfd_graph_new(&l->registry->ops, l->st);
    if (!l->g)
        return no_room(l);
    l->first_call = l->last_call = NULL;
    l->called_nodes = 0;
    tfd_arena_init(&l->arena, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_arena_init(&l->node, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_map_init(&l->calls);
    tfd_missing_gradients_init(&l->gradients);
    rc = look_at_all(l, graph_def);
    tfd_missing_gradients_deinit(&l->gradients);
    tfd_map_deinit(&l->calls);
    tfd_arena_deinit(&l->node);
    tfd_arena_deinit(&l->arena);
    tfd_graph_unref(l->g);
    return rc;
}

static enum tfd_code look_at_file(struct look *l, const char *path,
                                  struct tfd_graph_file *f, FILE *to)
{
    for (l->number = 0; l->number < f->count; l->number++)
        if (look_at_graph(l, f->graphs[l->number])) {
            tfd_status_context(l->st, "%s", path);
            return l->st->code;
        }
    TFD_TRY(tfd_missing_lines_print(&l->lines, to, l->st));
    fprintf(to,
            "%s: %s: looked at %" PRId64 " node%s of %zu op%s, found %zu "
            "thing%s lacking\n",
            path, f->form, l->nodes, l->nodes == 1 ? "" : "s", l->ops.count,
            l->ops.count == 1 ? "" : "s", l->lines.by_text.count,
            l->lines.by_text.count == 1 ? "" : "s");
    return TFD_OK;
}

enum tfd_missing tfd_missing_ops_with(const struct tfd_registry *r,
                                      const char *path, FILE *to, FILE *err)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct look l = {.registry = r, .st = &st};
    struct tfd_graph_file file;
    enum tfd_missing found;
    enum tfd_code rc;

    tfd_missing_lines_init(&l.lines);
    tfd_map_init(&l.ops);
    rc = tfd_graph_file_read(&file, path, &st);
    if (rc == TFD_OK)
        rc = look_at_file(&l, path, &file, to);
    if (rc != TFD_OK)
        fprintf(err, "tfd: --missing_ops: %s\n", st.text);
    found = rc != TFD_OK            ? TFD_MISSING_UNREADABLE
            : l.lines.by_text.count ? TFD_MISSING_SOMETHING
                                    : TFD_MISSING_NOTHING;
    tfd_graph_file_deinit(&file);
    tfd_map_deinit(&l.ops);
    tfd_missing_lines_deinit(&l.lines);
    return found;
}

enum tfd_missing tfd_missing_ops(const char *path, FILE *to, FILE *err)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_registry r;
    enum tfd_missing found;

    if (tfd_registry_init(&r, tfd_families, tfd_family_count, &st)) {
        fprintf(err, "tfd: --missing_ops: %s\n", st.text);
        return TFD_MISSING_UNREADABLE;
    }
    found = tfd_missing_ops_with(&r, path, to, err);
    tfd_registry_deinit(&r);
    return found;
}
