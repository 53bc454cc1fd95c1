/*
 * while_graph.c - a connected graph seen from its consumers: see while_graph.h.
 *
 * The order within a frame takes a loop inside for one node, which waits for
 * all of its Enters.  What cannot be put in order so, since an Enter waits for
 * an Exit of the same loop, is left out.
 */
#include "daemon/worker/compile/while_graph.h"

/* ---- Who feeds whom ------------------------------------------------------ */

int32_t tfd_while_out_frame(const struct tfd_while_graph *g, int32_t node)
{
    const struct tfd_exec_node *x = &g->e->nodes[node];

    if (tfd_while_enters(x))
        return x->value;
    if (x->route == TFD_ROUTE_EXIT)
        return g->e->frames[g->frame[node]].parent;
    return g->frame[node];
}

static int32_t consumer(const struct tfd_while_graph *g, int32_t node,
                        const struct tfd_exec_edge *edge)
{
    const struct tfd_exec_frame *f =
        &g->e->frames[tfd_while_out_frame(g, node)];

    return tfd_while_number(g, f->nodes[edge->local]);
}

struct tfd_while_input tfd_while_input(const struct tfd_while_graph *g,
                                       int32_t node, int32_t i)
{
    return g->inputs[g->slot_base[g->frame[node]] + g->e->nodes[node].slot + i];
}

struct tfd_while_input tfd_while_source(const struct tfd_while_graph *g,
                                        int32_t node, int32_t i)
{
    struct tfd_while_input in = tfd_while_input(g, node, i);

    while (in.node >= 0 && g->e->nodes[in.node].kind == TFD_EXEC_PASS &&
           g->e->nodes[in.node].route == TFD_ROUTE_HERE &&
           in.node != g->condition[g->frame[in.node]])
        in = tfd_while_input(g, in.node, in.output);
    return in;
}

static void fill_frames(struct tfd_while_graph *g)
{
    int32_t slots = 0;

    for (int32_t f = 0; f < g->e->frame_count; f++) {
        const struct tfd_exec_frame *x = &g->e->frames[f];

        g->slot_base[f] = slots;
        slots += x->slot_count;
        g->condition[f] = g->gate[f] = g->unit_guard[f] = -1;
        g->waits[f] = true;
        for (int32_t i = 0; i < x->node_count; i++)
            g->frame[tfd_while_number(g, x->nodes[i])] = f;
        for (int32_t i = 0; i < x->fixed_count; i++)
            g->inputs[g->slot_base[f] + x->fixed[i].slot] =
                (struct tfd_while_input){-1, x->fixed[i].constant};
    }
}

static void fill_data(struct tfd_while_graph *g, int32_t node)
{
    const struct tfd_exec_node *x = &g->e->nodes[node];
    int32_t base = g->slot_base[tfd_while_out_frame(g, node)];

    for (int32_t i = 0; i < x->edge_count; i++)
        if (x->edges[i].output >= 0)
            g->inputs[base + x->edges[i].slot] =
                (struct tfd_while_input){node, x->edges[i].output};
        else
            g->control_first[consumer(g, node, &x->edges[i]) + 1]++;
    if (tfd_while_enters(x))
        g->enter_first[x->value + 1]++;
}

/* Counts become places; they move on by one as they are filled. */
static void add_up(int32_t *first, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        first[i + 1] += first[i];
}

static void step_back(int32_t *first, int32_t count)
{
    for (int32_t i = count; i > 0; i--)
        first[i] = first[i - 1];
    first[0] = 0;
}

static void fill_lists(struct tfd_while_graph *g)
{
    for (int32_t n = 0; n < g->e->node_count; n++) {
        const struct tfd_exec_node *x = &g->e->nodes[n];

        for (int32_t i = 0; i < x->edge_count; i++)
            if (x->edges[i].output < 0)
                g->controls[g->control_first[consumer(g, n, &x->edges[i])]++] =
                    n;
        if (tfd_while_enters(x))
            g->enters[g->enter_first[x->value]++] = n;
    }
    step_back(g->control_first, g->e->node_count);
    step_back(g->enter_first, g->e->frame_count);
}

/* ---- Order --------------------------------------------------------------- */

struct ordering {
    struct tfd_while_graph *g;
    int32_t *node_waits, *frame_waits;
    int32_t end; /* of `order` */
};

/* What comes from the iteration before is there. */
static void count_waits(struct ordering *o)
{
    const struct tfd_while_graph *g = o->g;

    for (int32_t n = 0; n < g->e->node_count; n++) {
        const struct tfd_exec_node *x = &g->e->nodes[n];

        if (tfd_while_enters(x))
            o->frame_waits[x->value]++;
        for (int32_t i = 0; x->route != TFD_ROUTE_NEXT && i < x->edge_count;
             i++)
            o->node_waits[consumer(g, n, &x->edges[i])]++;
    }
}

static void follow(struct ordering *o, int32_t node)
{
    const struct tfd_exec_node *x = &o->g->e->nodes[node];

    for (int32_t i = 0; i < x->edge_count; i++) {
        int32_t to = consumer(o->g, node, &x->edges[i]);

        if (--o->node_waits[to] == 0)
            o->g->order[o->end++] = to;
    }
}

static void follow_unit(struct ordering *o, int32_t frame)
{
    const struct tfd_exec_frame *f = &o->g->e->frames[frame];

    for (int32_t i = 0; i < f->exit_count; i++)
        follow(o, tfd_while_number(o->g, f->exits[i]));
}

static void follow_item(struct ordering *o, int32_t item)
{
    const struct tfd_exec_node *x;

    if (item < 0) {
        follow_unit(o, ~item);
        return;
    }
    x = &o->g->e->nodes[item];
    if (tfd_while_enters(x) && --o->frame_waits[x->value] == 0) {
        o->g->order[o->end++] = ~x->value;
        o->g->waits[x->value] = false;
    }
    if (x->route == TFD_ROUTE_HERE)
        follow(o, item);
}

static void begin_order(struct ordering *o, int32_t frame)
{
    const struct tfd_while_graph *g = o->g;

    for (int32_t i = 0; frame == 0 && i < g->e->root_count; i++)
        g->order[o->end++] = tfd_while_number(g, g->e->roots[i]);
    for (int32_t i = g->enter_first[frame]; i < g->enter_first[frame + 1]; i++)
        follow(o, g->enters[i]);
}

static void put_in_order(struct ordering *o, int32_t frame)
{
    struct tfd_while_graph *g = o->g;
    int32_t nodes = 0;

    g->order_first[frame] = o->end;
    begin_order(o, frame);
    for (int32_t i = g->order_first[frame]; i < o->end; i++) {
        nodes += g->order[i] >= 0;
        follow_item(o, g->order[i]);
    }
    g->order_end[frame] = o->end;
    g->in_order[frame] = nodes == g->e->frames[frame].node_count - (frame > 0);
}

/* ---- All of it ----------------------------------------------------------- */

static int32_t *integers(struct tfd_while_graph *g, int64_t count)
{
    return tfd_arena_array(g->scratch, (size_t)count + 2, sizeof(int32_t));
}

static enum tfd_code make_graph_arrays(struct tfd_while_graph *g,
                                       struct tfd_status *st)
{
    int32_t nodes = g->e->node_count, frames = g->e->frame_count;
    int64_t slots = 0;

    for (int32_t i = 0; i < frames; i++)
        slots += g->e->frames[i].slot_count;
    g->frame = integers(g, nodes);
    g->control_first = integers(g, nodes);
    g->slot_base = integers(g, frames);
    g->order_first = integers(g, frames);
    g->order_end = integers(g, frames);
    g->enter_first = integers(g, frames);
    g->unit_guard = integers(g, frames);
    g->condition = integers(g, frames);
    g->gate = integers(g, frames);
    g->order = integers(g, (int64_t)nodes + frames);
    g->enters = integers(g, nodes);
    g->in_order = tfd_arena_array(g->scratch, (size_t)frames, 1);
    g->waits = tfd_arena_array(g->scratch, (size_t)frames, 1);
    g->inputs =
        tfd_arena_array(g->scratch, (size_t)slots + 1, sizeof(*g->inputs));
    if (!g->frame || !g->control_first || !g->slot_base || !g->order_first ||
        !g->order_end || !g->enter_first || !g->unit_guard || !g->condition ||
        !g->gate || !g->order || !g->enters || !g->in_order || !g->waits ||
        !g->inputs)
        return tfd_arena_check(NULL, "loops", st);
    return TFD_OK;
}

enum tfd_code tfd_while_graph_make(struct tfd_while_graph *g,
                                   struct tfd_status *st)
{
    int32_t nodes = g->e->node_count, frames = g->e->frame_count;
    struct ordering o = {.g = g};

    TFD_TRY(make_graph_arrays(g, st));
    fill_frames(g);
    for (int32_t i = 0; i < nodes; i++)
        fill_data(g, i);
    add_up(g->control_first, nodes);
    add_up(g->enter_first, frames);
    g->controls = integers(g, g->control_first[nodes]);
    o.node_waits = integers(g, nodes);
    o.frame_waits = integers(g, frames);
    if (!g->controls || !o.node_waits || !o.frame_waits)
        return tfd_arena_check(NULL, "loops", st);
    fill_lists(g);
    count_waits(&o);
    for (int32_t i = 0; i < frames; i++)
        put_in_order(&o, i);
    return TFD_OK;
}
