/*
 * connect.c - nodes, slots and edges of what is left of a graph: see
 * compiler.h.
 *
 *     number()    a number for each executed node
 *     trace()     where each input's value comes from
 *     copies      nodes that move values between memories, where they differ
 *     place       locals, slots and places within frames
 *     edges       counted by producer, then filled in
 */
#include "daemon/worker/compile/wiring.h"

#include "config/limits.h"
#include "daemon/worker/run/node_sample.h"
#include "kernels/layout/long_shape.h"

#include <string.h>

static bool is_executed(const struct tfd_plan_node *p)
{
    return !p->elided && !p->bound && !p->inner;
}

/* ---- Numbers and sources ------------------------------------------------- */

static void number(struct tfd_compiler *c)
{
    int32_t inputs = 0;

    for (int32_t i = 0; i < c->g->count; i++) {
        const struct tfd_node *n = c->g->nodes[c->order[i]];
        struct tfd_plan_node *p = &c->nodes[n->id];

        p->exec = is_executed(p) ? c->e->node_count++ : -1;
        p->first_in = inputs;
        inputs += p->chain ? p->chain->exec->chain.in_count : n->in_count;
    }
    c->source_count = inputs;
}

static struct tfd_source source_of(const struct tfd_compiler *c,
                                   struct tfd_edge edge)
{
    struct tfd_edge from =
        c->alias[c->nodes[edge.node].first_out + edge.output];
    const struct tfd_plan_node *p = &c->nodes[from.node];

    if (p->bound)
        return (struct tfd_source){-1, p->constant};
    return (struct tfd_source){p->exec, from.output};
}

static enum tfd_code trace(struct tfd_compiler *c, struct tfd_status *st)
{
    c->sources = tfd_arena_array(&c->scratch, (size_t)c->source_count + 1,
                                 sizeof(*c->sources));
    TFD_TRY(tfd_arena_check(c->sources, "inputs of a graph", st));
    for (int32_t i = 0; i < c->g->count; i++) {
        const struct tfd_node *n = c->g->nodes[i];
        const struct tfd_plan_chain *chain = c->nodes[i].chain;
        const struct tfd_edge *in = chain ? chain->in : n->in;
        int32_t count = chain ? chain->exec->chain.in_count : n->in_count;

        for (int32_t j = 0; j < count; j++)
            c->sources[c->nodes[i].first_in + j] = source_of(c, in[j]);
    }
    return TFD_OK;
}

/* ---- Loops --------------------------------------------------------------- */

/* What stands for a loop when it runs as code; named after one of its Enters.
 */
static void add_loop(struct tfd_wiring *w, int32_t frame,
                     const struct tfd_node *n)
{
    int32_t exec = w->e->node_count++;

    w->e->nodes[exec] = (struct tfd_exec_node){
        .node = n,
        .kind = TFD_EXEC_LOOP,
        .value = frame,
    };
    w->graph_node[exec] = -1;
    w->frame[exec] = frame;
}

static void add_loops(struct tfd_wiring *w)
{
    int32_t frame = 1;

    for (int32_t i = 0; i < w->c->g->count; i++) {
        const struct tfd_node *n = w->c->g->nodes[w->c->order[i]];

        if (w->c->nodes[n->id].child == frame)
            add_loop(w, frame++, n);
    }
}

/* ---- Nodes --------------------------------------------------------------- */

static bool names_state(uint8_t type)
{
    return tfd_dtype_is_ref(type) || type == TFD_RESOURCE;
}

/* Nothing but its outputs and what ends with the step changes when it runs, so
 * a kernel whose step has failed may leave that half done. */
static bool may_halt(const struct tfd_node *n, const struct tfd_plan_node *p)
{
    if (!p->kernel || !p->kernel->compute || n->out_count == 0)
        return false;
    if (n->op->flags & TFD_OP_STEP_STATE)
        return true;
    for (int32_t i = 0; i < n->in_count; i++)
        if (names_state(n->in_types[i]))
            return false;
    for (int32_t i = 0; i < n->out_count; i++)
        if (names_state(n->out_types[i]))
            return false;
    return true;
}

static uint16_t flags_of(const struct tfd_node *n,
                         const struct tfd_plan_node *p)
{
    uint16_t flags = may_halt(n, p) ? TFD_EXEC_MAY_HALT : 0;

    flags |= (uint16_t)(tfd_long_growth(n->op->name) << TFD_EXEC_GROWTH);

    if (p->kernel && (p->kernel->flags & TFD_KERNEL_DEAD))
        flags |= TFD_EXEC_RUNS_DEAD;
    if (n->op->flags & TFD_OP_CONTROL_TRIGGER)
        flags |= TFD_EXEC_NEVER_DEAD;
    if (p->kernel && n->op->check_count > 0)
        flags |= TFD_EXEC_CHECKS;
    if (n->op->flags & TFD_OP_UNINITIALIZED_OK)
        flags |= TFD_EXEC_UNINITIALIZED;
    if (p->kernel &&
        (p->kernel->flags & (TFD_KERNEL_HEAVY | TFD_KERNEL_BLOCKS)))
        flags |= TFD_EXEC_EXPENSIVE;
    if (p->kernel && (p->kernel->compute || p->kernel->start) &&
        p->device->stream && !(p->kernel->flags & TFD_KERNEL_WAITS) &&
        !(p->kernel->host_in == TFD_HOST_ALL &&
          p->kernel->host_out == TFD_HOST_ALL))
        flags |= TFD_EXEC_STREAM;
    return flags;
}

static void wire_node(struct tfd_wiring *w, const struct tfd_node *n)
{
    const struct tfd_plan_node *p = &w->c->nodes[n->id];
    struct tfd_exec_node *x = &w->e->nodes[p->exec];

    *x = (struct tfd_exec_node){
        .kernel = p->kernel,
        .node = n,
        .rt = &w->c->env->rts[p->device - w->c->env->devices->device],
        .in_count = n->in_count,
        .out_count = n->out_count,
        .value = p->kind == TFD_EXEC_CONST ? p->constant : p->child,
        .flags = flags_of(n, p),
        .kind = p->kind,
        .route = p->route,
    };
    if (p->chain) {
        x->kind = TFD_EXEC_CHAIN;
        x->chain = p->chain->exec;
        x->node = &p->chain->exec->node;
        x->in_count = x->node->in_count;
        x->flags = TFD_EXEC_MAY_HALT;
    }
    w->graph_node[p->exec] = n->id;
    w->frame[p->exec] = p->frame;
}

/* Places of one node in the iterations of its frame. */
static void place_node(struct tfd_exec_frame *f, struct tfd_exec_node *x)
{
    x->local = f->node_count++;
    x->slot = f->slot_count;
    f->slot_count += x->in_count;
    x->out = x->async = x->merge = -1;
    if (x->kind == TFD_EXEC_ASYNC)
        x->async = f->async_count++;
    if (x->kind == TFD_EXEC_MERGE)
        x->merge = f->merge_count++;
    if (x->kind == TFD_EXEC_ASYNC || x->out_count > TFD_EXEC_STACK_OUTPUTS) {
        x->out = f->out_count;
        f->out_count += x->out_count;
    }
    if (x->route == TFD_ROUTE_EXIT)
        x->place = f->exit_count++;
    if (x->route == TFD_ROUTE_NEXT)
        x->place = f->next_count++;
}

/* Enters are in the frame around the one they lead into. */
static void place_enter(struct tfd_exec *e, struct tfd_exec_node *x)
{
    if (x->route == TFD_ROUTE_ENTER)
        x->place = e->frames[x->value].first_count++;
    if (x->route == TFD_ROUTE_CONSTANT)
        x->place = e->frames[x->value].constant_count++;
}

static enum tfd_code make_frames(struct tfd_wiring *w, struct tfd_status *st)
{
    struct tfd_exec *e = w->e;

    e->frame_count = w->c->frame_count;
    e->has_loops = e->frame_count > 1;
    e->frames =
        tfd_arena_array(&e->arena, (size_t)e->frame_count, sizeof(*e->frames));
    TFD_TRY(tfd_arena_check(e->frames, "loops", st));
    for (int32_t i = 0; i < e->frame_count; i++) {
        const struct tfd_plan_frame *p = &w->c->frames[i];
        struct tfd_str name = tfd_arena_str(&e->arena, p->name);

        TFD_TRY(tfd_arena_check(name.data, "a loop's name", st));
        e->frames[i] = (struct tfd_exec_frame){
            .parent = p->parent,
            .name = name.data,
            .name_hash = tfd_exec_hash(name),
            .enter_count = p->enters,
            .parallel =
                p->parallel > INT32_MAX ? INT32_MAX : (int32_t)p->parallel,
        };
    }
    for (int32_t i = 0; i < e->node_count; i++) {
        struct tfd_exec_node *x = &e->nodes[i];

        place_node(&e->frames[w->frame[i]], x);
        place_enter(e, x);
    }
    return TFD_OK;
}

/* ---- Edges --------------------------------------------------------------- */

static void add_edge(struct tfd_wiring *w, int32_t from, int32_t to,
                     int32_t output, int32_t slot)
{
    struct tfd_exec_node *x = &w->e->nodes[to];

    if (w->count_only) {
        w->edge_count[from]++;
        return;
    }
    *w->fill[from]++ = (struct tfd_exec_edge){
        .local = x->local,
        .slot = slot,
        .output = output,
        .merge = x->kind == TFD_EXEC_MERGE,
    };
}

static int32_t fixed_input(struct tfd_wiring *w, struct tfd_exec_frame *f,
                           struct tfd_exec_node *x, int32_t slot,
                           int32_t constant)
{
    x->flags |= TFD_EXEC_FIXED_IN;
    if (!w->count_only) {
        ((struct tfd_exec_fixed *)f->fixed)[f->fixed_count++] =
            (struct tfd_exec_fixed){slot, constant};
        ((uint8_t *)f->is_fixed)[slot] = 1;
    }
    return 0;
}

/* The value may arrive as a reference. */
static bool is_reference(const struct tfd_wiring *w, struct tfd_source s)
{
    const struct tfd_exec_node *from = &w->e->nodes[s.exec];

    return tfd_dtype_is_ref(from->node->out_types[s.output]) ||
           (from->flags & TFD_EXEC_READS_LATE);
}

/* Inputs of one node; returns how many it waits for. */
static int32_t connect_data(struct tfd_wiring *w, int32_t to)
{
    struct tfd_exec_node *x = &w->e->nodes[to];
    int32_t id = w->graph_node[to], waits = 0;
    const struct tfd_source *s =
        id < 0 ? &w->copied[to] : &w->c->sources[w->c->nodes[id].first_in];

    for (int32_t i = 0; i < x->in_count; i++) {
        if (s[i].exec < 0) {
            waits += fixed_input(w, &w->e->frames[w->frame[to]], x, x->slot + i,
                                 s[i].output);
            continue;
        }
        add_edge(w, s[i].exec, to, s[i].output, x->slot + i);
        waits++;
        if (x->kind != TFD_EXEC_MERGE)
            w->seen[s[i].exec] = to;
        if (is_reference(w, s[i]))
            x->flags |= TFD_EXEC_REF_IN;
    }
    if (tfd_wiring_reads_late(w, x))
        x->flags |= TFD_EXEC_READS_LATE;
    w->keeps_refs |= (x->flags & TFD_EXEC_REF_IN) && tfd_late_keeps(x->node);
    if ((x->flags & TFD_EXEC_READS_LATE) && x->kind == TFD_EXEC_KERNEL &&
        (x->node->op->flags & TFD_OP_SEND))
        x->kind = TFD_EXEC_SEND;
    return waits;
}

/* One edge from each node, and none from those whose value it waits for. */
static int32_t connect_control(struct tfd_wiring *w, int32_t to)
{
    int32_t id = w->graph_node[to], waits = 0;
    const struct tfd_node *n;

    if (id < 0)
        return 0;
    n = w->c->g->nodes[id];
    for (int32_t i = 0; i < n->control_count; i++) {
        int32_t from = w->c->nodes[n->control[i]].control;

        if (from < 0 || w->seen[w->c->nodes[from].exec] == to)
            continue;
        from = w->c->nodes[from].exec;
        w->seen[from] = to;
        add_edge(w, from, to, TFD_CONTROL, -1);
        waits++;
    }
    return waits;
}

static void connect_all(struct tfd_wiring *w)
{
    for (int32_t i = 0; i < w->e->node_count; i++)
        w->seen[i] = -1;
    for (int32_t i = 0; i < w->e->node_count; i++) {
        struct tfd_exec_node *x = &w->e->nodes[i];
        struct tfd_exec_frame *f = &w->e->frames[w->frame[i]];
        int32_t data = connect_data(w, i), control = connect_control(w, i);

        if (!w->count_only)
            ((int32_t *)f->pending)[x->local] =
                x->kind == TFD_EXEC_MERGE ? 2 * control + 1 : data + control;
    }
}

/* Arrays of a frame, now that all counts are known. */
static enum tfd_code make_frame_arrays(struct tfd_arena *a,
                                       struct tfd_exec_frame *f, int32_t gates,
                                       struct tfd_status *st)
{
    size_t nodes = (size_t)f->node_count + (size_t)gates + 1;
    size_t slots = (size_t)f->slot_count + 1;

    f->nodes = tfd_arena_array(a, nodes, sizeof(*f->nodes));
    f->pending = tfd_arena_array(a, nodes, sizeof(*f->pending));
    f->is_fixed = tfd_arena_array(a, slots, 1);
    f->fixed = tfd_arena_array(a, slots, sizeof(*f->fixed));
    f->constants = tfd_arena_array(a, (size_t)f->constant_count + 1,
                                   sizeof(*f->constants));
    f->exits = tfd_arena_array(a, (size_t)f->exit_count + 1, sizeof(*f->exits));
    f->nexts = tfd_arena_array(a, (size_t)f->next_count + 1, sizeof(*f->nexts));
    if (!f->nodes || !f->pending || !f->is_fixed || !f->fixed ||
        !f->constants || !f->exits || !f->nexts)
        return tfd_arena_check(NULL, "a registered graph", st);
    return TFD_OK;
}

static enum tfd_code make_edges(struct tfd_wiring *w, struct tfd_status *st)
{
    struct tfd_exec_edge *edges;
    size_t count = 0;

    w->count_only = true;
    connect_all(w);
    for (int32_t i = 0; i < w->e->node_count; i++)
        count += (size_t)w->edge_count[i];
    if (count > TFD_GRAPH_EDGES_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "a graph of %zu edges; %d are possible", count,
                        TFD_GRAPH_EDGES_MAX);
    edges = tfd_arena_array(&w->e->arena, count + 1, sizeof(*edges));
    TFD_TRY(tfd_arena_check(edges, "edges", st));
    for (int32_t i = 0; i < w->e->node_count; i++) {
        w->e->nodes[i].edges = w->fill[i] = edges;
        w->e->nodes[i].edge_count = w->edge_count[i];
        edges += w->edge_count[i];
    }
    w->count_only = false;
    connect_all(w);
    return TFD_OK;
}

static int32_t count_shares(const struct tfd_exec_node *x)
{
    int32_t data = 0;

    for (int32_t i = 0; i < x->edge_count; i++) {
        if (x->edges[i].merge)
            return -1;
        data += x->edges[i].output >= 0;
    }
    return x->out_count == 1 ? data - 1 : -1;
}

/* The last edge of each output takes the value itself. */
static enum tfd_code mark_last(struct tfd_wiring *w, struct tfd_status *st)
{
    int32_t outputs = 1;
    int32_t *last;

    for (int32_t i = 0; i < w->e->node_count; i++)
        if (w->e->nodes[i].out_count > outputs)
            outputs = w->e->nodes[i].out_count;
    last = tfd_arena_array(&w->c->scratch, (size_t)outputs, sizeof(*last));
    TFD_TRY(tfd_arena_check(last, "outputs", st));
    for (int32_t i = 0; i < w->e->node_count; i++) {
        struct tfd_exec_node *x = &w->e->nodes[i];
        struct tfd_exec_edge *edges = (struct tfd_exec_edge *)x->edges;

        for (int32_t j = 0; j < x->edge_count; j++)
            if (edges[j].output >= 0)
                last[edges[j].output] = j;
        for (int32_t j = 0; j < x->edge_count; j++)
            edges[j].last = edges[j].output >= 0 && last[edges[j].output] == j;
        x->shares = count_shares(x);
        if (x->kind == TFD_EXEC_MERGE)
            for (int32_t j = 0; j < x->edge_count; j++)
                if (edges[j].output == 1)
                    x->flags |= TFD_EXEC_INDEX_USED;
    }
    return TFD_OK;
}

/* ---- The rest ------------------------------------------------------------ */

static enum tfd_code finish_wiring(struct tfd_wiring *w, struct tfd_status *st)
{
    struct tfd_exec *e = w->e;
    size_t nodes = (size_t)w->capacity + 1;

    e->roots = tfd_arena_array(&e->arena, nodes, sizeof(*e->roots));
    e->node_costs = tfd_arena_array(&e->arena, nodes, sizeof(*e->node_costs));
    e->samples = tfd_arena_array(&e->arena, 1, sizeof(*e->samples));
    if (!e->roots || !e->node_costs || !e->samples)
        return tfd_arena_check(NULL, "a registered graph", st);
    e->samples->of = tfd_arena_array(&e->arena, nodes, sizeof(*e->samples->of));
    TFD_TRY(tfd_arena_check(e->samples->of, "a registered graph", st));
    for (int32_t i = 0; i < e->node_count; i++) {
        const struct tfd_exec_node *x = &e->nodes[i];
        struct tfd_exec_frame *f = &e->frames[w->frame[i]];

        f->nodes[x->local] = x;
        if (x->route == TFD_ROUTE_EXIT)
            f->exits[x->place] = x;
        if (x->route == TFD_ROUTE_NEXT)
            f->nexts[x->place] = x;
        if (x->route == TFD_ROUTE_CONSTANT)
            e->frames[x->value].constants[x->place] = x;
        if (x->kind == TFD_EXEC_LOOP)
            f->unit = x;
        else if (f->pending[x->local] == 0)
            e->roots[e->root_count++] = x;
        e->has_async |= x->kind == TFD_EXEC_ASYNC;
        e->late_fetches |=
            x->kind == TFD_EXEC_FETCH && (x->flags & TFD_EXEC_READS_LATE) != 0;
        e->late_sends |= x->kind == TFD_EXEC_SEND;
        e->blocks |= x->kernel && (x->kernel->flags & TFD_KERNEL_BLOCKS);
        e->expensive += (x->flags & TFD_EXEC_EXPENSIVE) != 0;
        e->leftovers |= x->kind == TFD_EXEC_MERGE && w->frame[i] == 0;
    }
    return TFD_OK;
}

static enum tfd_code wiring_init(struct tfd_wiring *w, struct tfd_status *st)
{
    struct tfd_arena *a = &w->c->scratch;
    size_t n = (size_t)w->capacity + 1;

    w->graph_node = tfd_arena_array(a, n, sizeof(int32_t));
    w->frame = tfd_arena_array(a, n, sizeof(int32_t));
    w->copied = tfd_arena_array(a, n, sizeof(*w->copied));
    w->copies = tfd_arena_array(a, n, sizeof(*w->copies));
    w->edge_count = tfd_arena_array(a, n, sizeof(int32_t));
    w->seen = tfd_arena_array(a, n, sizeof(int32_t));
    w->fill = tfd_arena_array(a, n, sizeof(*w->fill));
    w->e->nodes = tfd_arena_array(&w->e->arena, n, sizeof(*w->e->nodes));
    if (!w->graph_node || !w->frame || !w->copied || !w->copies ||
        !w->edge_count || !w->seen || !w->fill || !w->e->nodes)
        return tfd_arena_check(NULL, "a registered graph", st);
    return TFD_OK;
}

enum tfd_code tfd_compile_connect(struct tfd_compiler *c, struct tfd_status *st)
{
    struct tfd_wiring w = {.c = c, .e = c->e};
    int32_t gates = tfd_compile_gates(c);

    number(c);
    TFD_TRY(trace(c, st));
    w.capacity =
        c->e->node_count + tfd_wiring_crossings(c) + c->frame_count + gates;
    TFD_TRY(wiring_init(&w, st));
    for (int32_t i = 0; i < c->g->count; i++)
        if (c->nodes[i].exec >= 0)
            wire_node(&w, c->g->nodes[i]);
    TFD_TRY(tfd_wiring_cross(&w, st));
    add_loops(&w);
    TFD_TRY(make_frames(&w, st));
    for (int32_t i = 0; i < c->e->frame_count; i++)
        TFD_TRY(make_frame_arrays(&c->e->arena, &c->e->frames[i], gates, st));
    TFD_TRY(tfd_wiring_find_writers(&w, st));
    TFD_TRY(make_edges(&w, st));
    TFD_TRY(mark_last(&w, st));
    return finish_wiring(&w, st);
}
