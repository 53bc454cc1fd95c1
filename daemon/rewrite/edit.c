/*
 * edit.c - nodes that change: see edit.h.  Writing them back: edit_write.c.
 */
#include "daemon/rewrite/edit.h"

#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

/* ---- Failure ------------------------------------------------------------- */

bool tfd_edit_ok(const struct tfd_edit *e)
{
    return e->code == TFD_OK;
}

enum tfd_code tfd_edit_fail(struct tfd_edit *e, enum tfd_code rc)
{
    if (e->code == TFD_OK)
        e->code = rc;
    return e->code;
}

void *tfd_edit_array(struct tfd_edit *e, int32_t count, size_t size)
{
    void *p = tfd_edit_ok(e)
                  ? tfd_arena_array(&e->arena, (size_t)count + 1, size)
                  : NULL;

    if (!p && tfd_edit_ok(e))
        tfd_edit_fail(e, tfd_arena_check(p, "functions", e->st));
    return p;
}

/* ---- Asking -------------------------------------------------------------- */

struct tfd_edit_node *tfd_edit_at(const struct tfd_edit *e, int32_t id)
{
    return e->nodes[id - e->first];
}

static const struct tfd_node *node_at(const struct tfd_edit *e, int32_t id)
{
    return id < e->first ? e->g->nodes[id] : &tfd_edit_at(e, id)->n;
}

struct tfd_str tfd_edit_name(const struct tfd_edit *e, int32_t id)
{
    return node_at(e, id)->name;
}

struct tfd_str tfd_edit_device(const struct tfd_edit *e, int32_t id)
{
    return node_at(e, id)->device;
}

struct tfd_edge tfd_edit_follow(const struct tfd_edit *e, struct tfd_edge edge)
{
    while (edge.node >= e->first) {
        const struct tfd_edit_node *n = tfd_edit_at(e, edge.node);

        if (edge.output == TFD_CONTROL) {
            if (n->forward_end < 0)
                break;
            edge.node = n->forward_end;
        } else {
            if (!n->forward)
                break;
            edge = n->forward[edge.output];
        }
    }
    return edge;
}

/* ---- Names --------------------------------------------------------------- */

static bool is_taken(const struct tfd_edit *e, struct tfd_str name)
{
    const struct tfd_node *old = tfd_graph_find(e->g, name);
    uintptr_t unused;

    return (old && old->id < e->first) || tfd_map_get(&e->names, name, &unused);
}

struct tfd_str tfd_edit_join(struct tfd_edit *e, struct tfd_str a,
                             const char *between, struct tfd_str b)
{
    size_t middle = strlen(between);
    struct tfd_str out = TFD_STR_EMPTY;
    char *text;

    if (a.size > TFD_NAME_SIZE_MAX || b.size > TFD_NAME_SIZE_MAX)
        return out; /* its own name is refused when it is written back */
    text = tfd_edit_array(e, (int32_t)(a.size + middle + b.size), 1);
    if (!text)
        return out;
    memcpy(text, a.data, a.size);
    memcpy(text + a.size, between, middle);
    memcpy(text + a.size + middle, b.data, b.size);
    return (struct tfd_str){text, a.size + middle + b.size};
}

static struct tfd_str with_suffix(struct tfd_edit *e, struct tfd_str name)
{
    struct tfd_str out;
    char number[24];
    size_t at = sizeof(number);

    do {
        uint64_t rest = (uint64_t)e->suffix++;

        at = sizeof(number);
        do
            number[--at] = (char)('0' + rest % 10);
        while (rest /= 10);
        out = tfd_edit_join(e, name, "/_",
                            (struct tfd_str){number + at, sizeof(number) - at});
    } while (tfd_edit_ok(e) && is_taken(e, out));
    return out;
}

struct tfd_str tfd_edit_new_name(struct tfd_edit *e, struct tfd_str prefix,
                                 const char *infix)
{
    if (infix)
        prefix = tfd_edit_join(e, prefix, "/", tfd_str_of(infix));
    return with_suffix(e, prefix);
}

/* ---- Nodes --------------------------------------------------------------- */

static bool grow_edit(struct tfd_edit *e)
{
    int32_t capacity = e->capacity ? 2 * e->capacity : 64;
    struct tfd_edit_node **more;

    if (e->count < e->capacity)
        return true;
    more = realloc(e->nodes, sizeof(*more) * (size_t)capacity);
    if (!more)
        return false;
    e->nodes = more;
    e->capacity = capacity;
    return true;
}

static struct tfd_edit_node *new_node(struct tfd_edit *e, struct tfd_str name)
{
    struct tfd_edit_node *n = tfd_edit_array(e, 1, sizeof(*n));

    if (!n)
        return NULL;
    if (e->count - e->taken >= TFD_FUNCTION_NODES_MAX) {
        tfd_edit_fail(e, tfd_fail(e->st, TFD_RESOURCE_EXHAUSTED,
                                  "the graph has more than %d new nodes once "
                                  "its functions are expanded (at " TFD_STR_FMT
                                  ")",
                                  TFD_FUNCTION_NODES_MAX, TFD_STR_ARG(name)));
        return NULL;
    }
    if (is_taken(e, name))
        name = with_suffix(e, name);
    if (!grow_edit(e) || !tfd_map_put(&e->names, name, (uintptr_t)e->count)) {
        tfd_edit_fail(e, tfd_arena_check(NULL, "functions", e->st));
        return NULL;
    }
    n->n.id = e->first + e->count;
    n->n.name = name;
    n->forward_end = n->written = -1;
    e->nodes[e->count++] = n;
    return n;
}

int32_t tfd_edit_add(struct tfd_edit *e, const struct tfd_edit_spec *spec)
{
    struct tfd_edit_node *n = new_node(e, spec->name);
    struct tfd_edge *in =
        n ? tfd_edit_array(e, spec->in_count, sizeof(*in)) : NULL;

    if (!in)
        return -1;
    n->n.op = tfd_op_find(e->g->ops, tfd_str_of(spec->op));
    if (!n->n.op) {
        tfd_edit_fail(
            e, tfd_fail(e->st, TFD_INTERNAL, "there is no op %s", spec->op));
        return -1;
    }
    if (spec->in_count)
        memcpy(in, spec->in, sizeof(*in) * (size_t)spec->in_count);
    n->n.in = in;
    n->n.in_count = spec->in_count;
    n->n.device = spec->device;
    n->call = spec->call;
    return n->n.id;
}

void tfd_edit_control(struct tfd_edit *e, int32_t id, int32_t waits_for)
{
    struct tfd_edit_node *n;
    int32_t *more;

    if (!tfd_edit_ok(e))
        return;
    n = tfd_edit_at(e, id);
    if (n->n.control_count == n->control_capacity) {
        int32_t capacity = 2 * n->control_capacity + 2;

        more = tfd_edit_array(e, capacity, sizeof(*more));
        if (!more)
            return;
        if (n->n.control_count)
            memcpy(more, n->n.control,
                   sizeof(*more) * (size_t)n->n.control_count);
        n->n.control = more;
        n->control_capacity = capacity;
    }
    n->n.control[n->n.control_count++] = waits_for;
}

void tfd_edit_attr(struct tfd_edit *e, int32_t id, const char *name,
                   struct tfd_bytes *take_value)
{
    struct tfd_attr *more;
    struct tfd_node *n;
    struct tfd_str value = TFD_STR_EMPTY;

    if (tfd_edit_ok(e) &&
        tfd_bytes_ok(take_value, "an attribute", e->st) == TFD_OK)
        value = tfd_arena_str(&e->arena, tfd_bytes_view(take_value));
    else
        tfd_edit_fail(e, TFD_RESOURCE_EXHAUSTED);
    tfd_bytes_deinit(take_value);
    more = id < 0 ? NULL
                  : tfd_edit_array(e, tfd_edit_at(e, id)->n.attr_count + 1,
                                   sizeof(*more));
    if (!more)
        return;
    n = &tfd_edit_at(e, id)->n;
    if (n->attr_count)
        memcpy(more, n->attrs, sizeof(*more) * (size_t)n->attr_count);
    more[n->attr_count++] = (struct tfd_attr){tfd_str_of(name), value};
    n->attrs = more;
}

void tfd_edit_colocate(struct tfd_edit *e, int32_t id, struct tfd_str with)
{
    struct tfd_str name = tfd_edit_join(e, TFD_STR("loc:"), "@", with);
    struct tfd_bytes value;

    tfd_bytes_init(&value, TFD_ATTR_SIZE_MAX);
    tfd_attr_put_strs(&value, &name, 1);
    tfd_edit_attr(e, id, "_class", &value);
}

static const char *carrier(int32_t count)
{
    return count > 0 ? "IdentityN" : "NoOp";
}

void tfd_edit_replace(struct tfd_edit *e, int32_t id,
                      const struct tfd_edge *outputs, int32_t count,
                      int32_t end)
{
    struct tfd_edge *forward = tfd_edit_array(e, count, sizeof(*forward));
    struct tfd_edge *in = tfd_edit_array(e, count, sizeof(*in));
    struct tfd_edit_node *n;

    if (!forward || !in)
        return;
    n = tfd_edit_at(e, id);
    for (int32_t i = 0; i < count; i++)
        forward[i] = in[i] = outputs[i];
    n->n.op = tfd_op_find(e->g->ops, tfd_str_of(carrier(count)));
    n->n.in = in;
    n->n.in_count = count;
    n->n.attrs = NULL;
    n->n.attr_count = n->n.control_count = 0;
    n->forward = forward;
    n->forward_end = end;
    if (!n->n.op)
        tfd_edit_fail(e, tfd_fail(e->st, TFD_INTERNAL, "there is no op %s",
                                  carrier(count)));
    tfd_edit_control(e, id, end);
}

/* ---- Beginning ----------------------------------------------------------- */

static void take_node(struct tfd_edit *e, const struct tfd_node *from)
{
    struct tfd_edit_node *n = new_node(e, from->name);

    if (!n)
        return;
    n->n = *from;
    n->control_capacity = n->n.control_count;
    n->call = -1;
}

void tfd_edit_begin(struct tfd_edit *e, struct tfd_graph *g, int32_t first,
                    struct tfd_status *st)
{
    *e = (struct tfd_edit){.g = g, .first = first, .suffix = first, .st = st};
    tfd_arena_init(&e->arena, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_map_init(&e->names);
    for (e->taken = 0; first + e->taken < g->count && tfd_edit_ok(e);)
        take_node(e, g->nodes[first + e->taken++]);
}
