/*
 * edit_write.c - puts edited nodes back into the graph, producers first.
 *
 * A depth-first walk with a stack of its own, as for any GraphDef; edges are
 * followed to who produces a value now, and the ways back of loops are set when
 * everything is there.
 */
#include "daemon/rewrite/edit.h"

#include "config/limits.h"

#include <stdlib.h>

struct writing {
    struct tfd_edit *e;
    int32_t *path;
    int32_t depth;
    struct tfd_edge *in; /* scratch, for the node with most inputs */
    int32_t *control;
};

static bool is_back_edge(const struct tfd_edit *e, const struct tfd_node *n,
                         struct tfd_edge edge)
{
    return n->op->flags & TFD_OP_MERGE && edge.node >= e->first &&
           tfd_edit_at(e, edge.node)->n.op->flags & TFD_OP_NEXT_ITERATION;
}

/* Edge number i of n, data and then control, followed. */
static struct tfd_edge edge_of(const struct tfd_edit *e,
                               const struct tfd_node *n, int32_t i)
{
    if (i < n->in_count)
        return tfd_edit_follow(e, n->in[i]);
    return tfd_edit_follow(
        e, (struct tfd_edge){n->control[i - n->in_count], TFD_CONTROL});
}

static int32_t number_of_node(const struct tfd_edit *e, int32_t id)
{
    return id < e->first ? id : tfd_edit_at(e, id)->written;
}

/* ---- One node ------------------------------------------------------------ */

static enum tfd_code write_node(struct writing *w, struct tfd_edit_node *n)
{
    struct tfd_edit *e = w->e;
    struct tfd_node_spec spec = {
        .name = n->n.name,
        .op = n->n.op->name,
        .device = n->n.device,
        .in = w->in,
        .in_count = n->n.in_count,
        .control = w->control,
        .control_count = n->n.control_count,
        .attrs = n->n.attrs,
        .attr_count = n->n.attr_count,
    };
    struct tfd_node *added;

    for (int32_t i = 0; i < n->n.in_count; i++) {
        struct tfd_edge from = edge_of(e, &n->n, i);

        w->in[i] =
            is_back_edge(e, &n->n, from)
                ? TFD_EDGE_NONE
                : (struct tfd_edge){number_of_node(e, from.node), from.output};
    }
    for (int32_t i = 0; i < n->n.control_count; i++)
        w->control[i] =
            number_of_node(e, edge_of(e, &n->n, n->n.in_count + i).node);
    TFD_TRY(tfd_graph_add(e->g, &spec, &added, e->st));
    n->written = added->id;
    return TFD_OK;
}

/* The unwritten node that n waits for next; -1 when there is none. */
static int32_t next_producer(const struct writing *w, struct tfd_edit_node *n)
{
    const struct tfd_edit *e = w->e;

    while (n->next < n->n.in_count + n->n.control_count) {
        struct tfd_edge from = edge_of(e, &n->n, n->next++);

        if (from.node >= e->first && !is_back_edge(e, &n->n, from) &&
            tfd_edit_at(e, from.node)->written < 0)
            return from.node;
    }
    return -1;
}

static void push_ready(struct writing *w, int32_t id)
{
    tfd_edit_at(w->e, id)->on_path = true;
    w->path[w->depth++] = id;
}

static enum tfd_code write_with_producers(struct writing *w, int32_t root)
{
    struct tfd_edit *e = w->e;

    push_ready(w, root);
    while (w->depth > 0) {
        struct tfd_edit_node *n = tfd_edit_at(e, w->path[w->depth - 1]);
        int32_t producer = next_producer(w, n);

        if (producer < 0) {
            TFD_TRY(write_node(w, n));
            n->on_path = false;
            w->depth--;
        } else if (tfd_edit_at(e, producer)->on_path) {
            return tfd_fail(e->st, TFD_INVALID_ARGUMENT,
                            "nodes in a cycle, one of them is " TFD_STR_FMT,
                            TFD_STR_ARG(n->n.name));
        } else {
            push_ready(w, producer);
        }
    }
    return TFD_OK;
}

static enum tfd_code close_loops(const struct tfd_edit *e,
                                 const struct tfd_edit_node *n)
{
    for (int32_t i = 0; i < n->n.in_count; i++) {
        struct tfd_edge from = edge_of(e, &n->n, i);

        if (!is_back_edge(e, &n->n, from))
            continue;
        from.node = number_of_node(e, from.node);
        TFD_TRY(
            tfd_graph_set_input(e->g, e->g->nodes[n->written], i, from, e->st));
    }
    return TFD_OK;
}

/* ---- All ----------------------------------------------------------------- */

static enum tfd_code make_scratch(struct writing *w)
{
    struct tfd_edit *e = w->e;
    int32_t in = 0, control = 0;

    for (int32_t i = 0; i < e->count; i++) {
        const struct tfd_node *n = &e->nodes[i]->n;

        in = n->in_count > in ? n->in_count : in;
        control = n->control_count > control ? n->control_count : control;
    }
    w->path = tfd_edit_array(e, e->count, sizeof(*w->path));
    w->in = tfd_edit_array(e, in, sizeof(*w->in));
    w->control = tfd_edit_array(e, control, sizeof(*w->control));
    return e->code;
}

/* What the attributes of nodes of the graph say lies in the graph's arena and
 * outlives their nodes. */
static enum tfd_code write_all(struct tfd_edit *e)
{
    struct writing w = {.e = e};

    TFD_TRY(e->code);
    TFD_TRY(make_scratch(&w));
    tfd_graph_truncate(e->g, e->first);
    for (int32_t i = 0; i < e->count; i++)
        if (e->nodes[i]->written < 0)
            TFD_TRY(write_with_producers(&w, e->first + i));
    for (int32_t i = 0; i < e->count; i++)
        TFD_TRY(close_loops(e, e->nodes[i]));
    return TFD_OK;
}

enum tfd_code tfd_edit_end(struct tfd_edit *e)
{
    enum tfd_code rc = write_all(e);

    if (rc != TFD_OK)
        tfd_graph_truncate(e->g, e->first);
    free(e->nodes);
    free(e->calls);
    tfd_map_deinit(&e->names);
    tfd_arena_deinit(&e->arena);
    return rc;
}
