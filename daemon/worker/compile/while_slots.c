/*
 * while_slots.c - slots of a loop that becomes code, and what fills them: see
 * while_graph.h.
 *
 * Nodes that are run have a slot for each input; a variable, an Enter, a
 * NextIteration, a LoopCond and an Exit of the outermost loop have one.  The
 * source of a slot is found by going back past all nodes that only pass on,
 * Enters of constants and Exits included.
 */
#include "daemon/worker/compile/while_graph.h"

bool tfd_while_is_run(const struct tfd_while_graph *g, int32_t node)
{
    uint8_t kind = g->e->nodes[node].kind;

    return g->role[node] == TFD_WHILE_PLAIN &&
           (kind == TFD_EXEC_KERNEL || kind == TFD_EXEC_SWITCH ||
            kind == TFD_EXEC_MERGE);
}

uint8_t tfd_while_phase(const struct tfd_while_graph *g, int32_t item)
{
    return g->guards[item < 0 ? g->unit_guard[~item] : g->guard[item]].phase;
}

/* ---- Numbers ------------------------------------------------------------- */

/* Slots that a node reads from, or is. */
static int32_t slots_of(const struct tfd_while_slots *s, int32_t node)
{
    const struct tfd_exec_node *x = &s->g->e->nodes[node];

    if (tfd_while_is_run(s->g, node))
        return x->in_count;
    if (x->route == TFD_ROUTE_EXIT)
        return s->g->frame[node] == s->top;
    return s->g->role[node] == TFD_WHILE_VARIABLE ||
           x->route != TFD_ROUTE_HERE ||
           node == s->g->condition[s->g->frame[node]];
}

static int32_t sources_of(const struct tfd_while_slots *s, int32_t node)
{
    if (tfd_while_is_run(s->g, node))
        return s->g->e->nodes[node].out_count;
    if (s->g->role[node] == TFD_WHILE_VARIABLE)
        return TFD_WHILE_PHASES;
    return s->g->e->nodes[node].route == TFD_ROUTE_CONSTANT;
}

static void number_node(struct tfd_while_slots *s, int32_t node)
{
    const struct tfd_exec_node *x = &s->g->e->nodes[node];

    s->in[node] = s->count;
    s->count += slots_of(s, node);
    s->source[node] = s->source_count;
    s->source_count += sources_of(s, node);
    s->capacity += x->out_count;
    s->node_count++;
    if (x->in_count > s->in_max)
        s->in_max = x->in_count;
}

static void number(struct tfd_while_slots *s)
{
    const struct tfd_while_graph *g = s->g;

    for (int32_t i = g->enter_first[s->top]; i < g->enter_first[s->top + 1];
         i++)
        number_node(s, g->enters[i]);
    s->frames[s->frame_count++] = s->top;
    for (int32_t f = 0; f < s->frame_count; f++)
        for (int32_t i = g->order_first[s->frames[f]];
             i < g->order_end[s->frames[f]]; i++)
            if (g->order[i] < 0)
                s->frames[s->frame_count++] = ~g->order[i];
            else
                number_node(s, g->order[i]);
}

/* ---- Sources ------------------------------------------------------------- */

static bool passes_on(const struct tfd_exec_node *x)
{
    return x->kind == TFD_EXEC_PASS &&
           (x->route == TFD_ROUTE_HERE || x->route == TFD_ROUTE_EXIT);
}

/* Of an input; a constant's complement. */
static int32_t find_source(const struct tfd_while_slots *s, int32_t node,
                           int32_t i)
{
    const struct tfd_while_graph *g = s->g;
    struct tfd_while_input in = tfd_while_input(g, node, i);
    int32_t kept = -1;

    while (in.node >= 0) {
        const struct tfd_exec_node *x = &g->e->nodes[in.node];

        if (x->kind == TFD_EXEC_CONST)
            return ~x->value;
        if (x->route == TFD_ROUTE_CONSTANT)
            kept = in.node;
        if (x->route == TFD_ROUTE_CONSTANT ? x->value == s->top : !passes_on(x))
            break;
        in = tfd_while_input(g, in.node, in.output);
    }
    if (in.node < 0)
        return ~in.output;
    if (kept >= 0)
        return s->source[kept];
    if (g->role[in.node] == TFD_WHILE_GATE)
        return s->source[tfd_while_source(g, in.node, 0).node] +
               (in.output ? TFD_WHILE_BODY : TFD_WHILE_LEAVING);
    return s->source[in.node] + in.output;
}

static void describe_slot(struct tfd_while_slots *s, int32_t node)
{
    const struct tfd_while_graph *g = s->g;
    struct tfd_while_source *x = &s->sources[s->source[node]];
    int32_t frame = g->frame[node];

    if (g->role[node] == TFD_WHILE_VARIABLE) {
        x[TFD_WHILE_ALWAYS].phase = TFD_WHILE_ALWAYS;
        x[TFD_WHILE_BODY].phase = TFD_WHILE_BODY;
        x[TFD_WHILE_LEAVING].phase =
            frame == s->top ? TFD_WHILE_LEAVING : tfd_while_phase(g, ~frame);
    } else if (g->e->nodes[node].route == TFD_ROUTE_CONSTANT) {
        x->keeps = true;
    } else {
        for (int32_t i = 0; i < sources_of(s, node); i++)
            x[i].phase = tfd_while_phase(g, node);
    }
}

static bool is_kept(const struct tfd_while_slots *s, int32_t source)
{
    return source < 0 || s->sources[source].keeps;
}

static void fill_slots(struct tfd_while_slots *s, int32_t node, int32_t i)
{
    int32_t slot = s->in[node] + i, source = find_source(s, node, i);

    if (s->g->e->nodes[node].route == TFD_ROUTE_CONSTANT && is_kept(s, source))
        return; /* its consumers are filled by that source themselves */
    s->filled_by[slot] = source;
    s->kept[slot] = is_kept(s, source);
    if (source >= 0)
        s->sources[source + 1].first++;
}

/* Enters of the outermost loop are filled from outside, variables by moves. */
static void fill_all(struct tfd_while_slots *s)
{
    const struct tfd_while_graph *g = s->g;

    for (int32_t f = 0; f < s->frame_count; f++)
        for (int32_t i = g->order_first[s->frames[f]];
             i < g->order_end[s->frames[f]]; i++) {
            int32_t node = g->order[i];
            bool has = node >= 0 && g->role[node] != TFD_WHILE_VARIABLE;

            for (int32_t k = 0; has && k < slots_of(s, node); k++)
                fill_slots(s, node, k);
        }
}

static void list_filled(struct tfd_while_slots *s)
{
    for (int32_t i = 0; i < s->source_count; i++)
        s->sources[i + 1].first += s->sources[i].first;
    for (int32_t i = 0; i < s->count; i++)
        if (s->filled_by[i] >= 0)
            s->filled[s->sources[s->filled_by[i]].first++] = i;
    for (int32_t i = s->source_count; i > 0; i--)
        s->sources[i].first = s->sources[i - 1].first;
    s->sources[0].first = 0;
}

/* One output goes straight into the first slot that it fills. */
static void place_outputs(struct tfd_while_slots *s, int32_t node)
{
    const struct tfd_exec_node *x = &s->g->e->nodes[node];
    const struct tfd_while_source *from = &s->sources[s->source[node]];

    if (!tfd_while_is_run(s->g, node))
        return;
    if (x->out_count == 1 && from[0].first < from[1].first) {
        s->out[node] = s->filled[from[0].first];
        return;
    }
    s->out[node] = s->count;
    s->count += x->out_count;
}

static enum tfd_code make_slot_arrays(struct tfd_while_slots *s,
                                      struct tfd_status *st)
{
    struct tfd_arena *a = s->g->scratch;
    size_t slots = (size_t)s->count + (size_t)s->capacity + 1;

    s->filled_by = tfd_arena_array(a, slots, sizeof(int32_t));
    s->kept = tfd_arena_array(a, slots, 1);
    s->filled = tfd_arena_array(a, slots, sizeof(int32_t));
    s->sources =
        tfd_arena_array(a, (size_t)s->source_count + 1, sizeof(*s->sources));
    if (!s->filled_by || !s->kept || !s->filled || !s->sources)
        return tfd_arena_check(NULL, "a loop", st);
    for (size_t i = 0; i < slots; i++)
        s->filled_by[i] = TFD_WHILE_UNFILLED;
    return TFD_OK;
}

enum tfd_code tfd_while_slots_make(struct tfd_while_slots *s,
                                   struct tfd_status *st)
{
    const struct tfd_while_graph *g = s->g;

    number(s);
    TFD_TRY(make_slot_arrays(s, st));
    for (int32_t i = g->enter_first[s->top]; i < g->enter_first[s->top + 1];
         i++)
        describe_slot(s, g->enters[i]);
    for (int32_t f = 0; f < s->frame_count; f++)
        for (int32_t i = g->order_first[s->frames[f]];
             i < g->order_end[s->frames[f]]; i++)
            if (g->order[i] >= 0)
                describe_slot(s, g->order[i]);
    fill_all(s);
    list_filled(s);
    for (int32_t f = 0; f < s->frame_count; f++)
        for (int32_t i = g->order_first[s->frames[f]];
             i < g->order_end[s->frames[f]]; i++)
            if (g->order[i] >= 0)
                place_outputs(s, g->order[i]);
    return TFD_OK;
}
