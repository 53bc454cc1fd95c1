/*
 * capture_parts.c - puts a gate before each static part of a connected graph:
 * see captures.h.
 *
 * Edges into a part lead to its gate, but fill the same slots as before; the
 * gate has control edges to the members that they led to.
 */
#include "daemon/worker/compile/capture_find.h"

/* Kernels that are launched, at least: below, a launch of all saves little. */
#define KERNELS_MIN 8

/* ---- Parts --------------------------------------------------------------- */

struct builder {
    struct tfd_finder *f;
    struct tfd_exec_frame *frame;
    struct tfd_part *part;
    int32_t number;    /* of the part */
    int32_t *part_of;  /* by node; -1: none */
    int32_t *position; /* by node, among the members of its part */
    int32_t *first;    /* by output of one node: what stands for it; -1 */
    struct tfd_exec_node *gate;
    const struct tfd_exec_node **members;
    struct tfd_part_input *inputs;
    struct tfd_part_edge *edges;
    struct tfd_part_value *values;
    struct tfd_exec_edge *opens;
    bool *is_entry; /* by position */
};

static bool is_mine(const struct builder *b, int32_t node)
{
    return node < b->f->count && b->part_of[node] == b->number;
}

/* Output TFD_CONTROL has a place of its own. */
static int32_t *first_of(const struct builder *b, int32_t output)
{
    return &b->first[output - TFD_CONTROL];
}

static void forget_firsts(const struct builder *b,
                          const struct tfd_exec_node *x)
{
    for (int32_t i = TFD_CONTROL; i < x->out_count; i++)
        *first_of(b, i) = -1;
}

static bool is_host_in(const struct builder *b, const struct tfd_exec_node *x,
                       int32_t slot)
{
    return !tfd_compile_in_memory(b->f->c, x->node->id, slot - x->slot);
}

/* An edge into the part leads to its gate. */
static void enter_part(struct builder *b, struct tfd_exec_edge *edge)
{
    struct tfd_part *p = b->part;
    const struct tfd_exec_node *to = &b->f->e->nodes[edge->local];
    int32_t *pending = (int32_t *)b->frame->pending;
    int32_t *first = first_of(b, edge->output);

    b->is_entry[b->position[edge->local]] = true;
    pending[edge->local]--;
    pending[b->gate->local]++;
    if (edge->output != TFD_CONTROL) {
        if (*first < 0)
            *first = p->input_count;
        b->inputs[p->input_count++] = (struct tfd_part_input){
            edge->slot, edge->local, *first, is_host_in(b, to, edge->slot)};
    }
    edge->local = b->gate->local;
}

static void enter_from(struct builder *b, const struct tfd_exec_node *x)
{
    struct tfd_exec_edge *edges = (struct tfd_exec_edge *)x->edges;

    forget_firsts(b, x);
    for (int32_t i = 0; i < x->edge_count; i++)
        if (is_mine(b, edges[i].local))
            enter_part(b, &edges[i]);
}

static void leave_part(struct builder *b, int32_t member, int32_t *value,
                       const struct tfd_exec_edge *edge)
{
    struct tfd_part *p = b->part;
    const struct tfd_exec_node *x = b->members[member];

    if (edge->output != TFD_CONTROL && *value < 0) {
        *value = p->value_count;
        b->values[p->value_count++] = (struct tfd_part_value){
            member, edge->output,
            !tfd_compile_out_memory(b->f->c, x->node->id, edge->output)};
    }
    b->edges[p->edge_count++] =
        (struct tfd_part_edge){edge, edge->output == TFD_CONTROL ? -1 : *value};
}

static void leave_from(struct builder *b, int32_t member)
{
    const struct tfd_exec_node *x = b->members[member];

    if (x->out_count > b->part->out_max)
        b->part->out_max = x->out_count;
    forget_firsts(b, x);
    for (int32_t i = 0; i < x->edge_count; i++)
        if (!is_mine(b, x->edges[i].local))
            leave_part(b, member, first_of(b, x->edges[i].output),
                       &x->edges[i]);
}

/* What a gate lets go: entries, and members that waited for nothing. */
static void add_opens(struct builder *b)
{
    int32_t *pending = (int32_t *)b->frame->pending;
    int32_t count = 0;

    for (int32_t i = 0; i < b->part->member_count; i++) {
        int32_t local = b->members[i]->local;

        if (!b->is_entry[i] && pending[local] > 0)
            continue;
        pending[local]++;
        b->opens[count++] = (struct tfd_exec_edge){
            .local = local, .slot = -1, .output = TFD_CONTROL};
    }
    b->gate->edges = b->opens;
    b->gate->edge_count = count;
}

static void add_gate(struct builder *b)
{
    struct tfd_exec *e = b->f->e;
    struct tfd_exec_frame *frame = b->frame;
    const struct tfd_exec_node *like = b->members[0];

    b->gate = &e->nodes[e->node_count];
    *b->gate = (struct tfd_exec_node){
        .node = like->node,
        .rt = like->rt,
        .local = frame->node_count,
        .out = -1,
        .async = -1,
        .merge = -1,
        .shares = -1,
        .value = b->number,
        .flags = TFD_EXEC_NEVER_DEAD,
        .kind = TFD_EXEC_GATE,
    };
    frame->nodes[frame->node_count++] = b->gate;
    e->node_count++;
}

static enum tfd_code make_lists(struct builder *b, int32_t members,
                                struct tfd_status *st)
{
    struct tfd_arena *a = &b->f->e->arena;
    size_t n = (size_t)members, in = 1, out = 1, values = 1;

    for (int32_t i = 0; i < b->f->count; i++) {
        const struct tfd_exec_node *x = &b->f->e->nodes[i];

        for (int32_t j = 0; j < x->edge_count; j++)
            in += is_mine(b, x->edges[j].local);
        if (is_mine(b, i)) {
            out += (size_t)x->edge_count;
            values += (size_t)x->out_count;
        }
    }
    b->members = tfd_arena_array(a, n, sizeof(*b->members));
    b->inputs = tfd_arena_array(a, in, sizeof(*b->inputs));
    b->edges = tfd_arena_array(a, out, sizeof(*b->edges));
    b->values = tfd_arena_array(a, values, sizeof(*b->values));
    b->opens = tfd_arena_array(a, n, sizeof(*b->opens));
    b->is_entry = tfd_arena_array(&b->f->c->scratch, n, sizeof(*b->is_entry));
    b->part->seen = tfd_arena_array(a, in, sizeof(*b->part->seen));
    if (!b->members || !b->inputs || !b->edges || !b->values || !b->opens ||
        !b->is_entry || !b->part->seen)
        return tfd_arena_check(NULL, "parts of a graph", st);
    return TFD_OK;
}

static enum tfd_code build_part(struct builder *b, const struct tfd_group *g,
                                struct tfd_status *st)
{
    struct tfd_finder *f = b->f;
    struct tfd_part *p = b->part;

    TFD_TRY(make_lists(b, g->members, st));
    p->device = g->device;
    for (int32_t k = 0; k < f->count; k++)
        if (is_mine(b, f->order[k])) {
            b->position[f->order[k]] = p->member_count;
            b->members[p->member_count++] = &f->e->nodes[f->order[k]];
        }
    add_gate(b);
    for (int32_t i = 0; i < f->count; i++)
        if (!is_mine(b, i))
            enter_from(b, &f->e->nodes[i]);
    for (int32_t i = 0; i < p->member_count; i++)
        leave_from(b, i);
    add_opens(b);
    p->members = b->members;
    p->member_of = b->position;
    p->inputs = b->inputs;
    p->edges = b->edges;
    p->values = b->values;
    return TFD_OK;
}

/* Gates are roots, too, where nothing comes from outside. */
static void find_roots(struct tfd_finder *f)
{
    struct tfd_exec *e = f->e;

    e->root_count = 0;
    for (int32_t i = 0; i < e->node_count; i++)
        if (e->frames[0].pending[i] == 0)
            e->roots[e->root_count++] = &e->nodes[i];
}

static int32_t choose_groups(struct tfd_finder *f, bool at_once)
{
    int32_t parts = 0;

    for (int32_t i = 0; i < f->group_count && parts < TFD_PARTS_MAX; i++)
        if (f->groups[i].kernels >= (at_once ? 1 : KERNELS_MIN))
            f->groups[i].part = parts++;
    return parts;
}

static size_t outputs_max(const struct tfd_finder *f)
{
    int32_t most = 0;

    for (int32_t i = 0; i < f->count; i++)
        if (f->e->nodes[i].out_count > most)
            most = f->e->nodes[i].out_count;
    return (size_t)most;
}

static enum tfd_code build_all(struct tfd_finder *f, struct tfd_parts *p,
                               struct tfd_status *st)
{
    struct builder b = {.f = f};
    size_t nodes = (size_t)f->count + TFD_PARTS_MAX;

    b.frame = &f->e->frames[0];
    b.part_of = tfd_arena_array(&f->c->scratch, nodes, sizeof(*b.part_of));
    b.position = tfd_arena_array(&f->e->arena, nodes, sizeof(*b.position));
    b.first =
        tfd_arena_array(&f->c->scratch, outputs_max(f) + 1, sizeof(*b.first));
    p->part = tfd_arena_array(&f->e->arena, (size_t)p->count, sizeof(*p->part));
    if (!b.part_of || !b.position || !b.first || !p->part)
        return tfd_arena_check(NULL, "parts of a graph", st);
    for (size_t i = 0; i < nodes; i++)
        b.position[i] = -1;
    for (int32_t i = 0; i < f->count; i++)
        b.part_of[i] = f->group[i] < 0 ? -1 : f->groups[f->group[i]].part;
    for (int32_t i = 0; i < f->group_count; i++) {
        b.number = f->groups[i].part;
        if (b.number < 0)
            continue;
        b.part = &p->part[b.number];
        TFD_TRY(build_part(&b, &f->groups[i], st));
    }
    find_roots(f);
    return TFD_OK;
}

/* ---- All together -------------------------------------------------------- */

static const struct tfd_device *capturing(const struct tfd_compiler *c)
{
    for (int i = 0; i < c->env->devices->count; i++)
        if (c->env->devices->device[i].captures)
            return &c->env->devices->device[i];
    return NULL;
}

int32_t tfd_compile_gates(const struct tfd_compiler *c)
{
    return c->env->is_function || !capturing(c) ? 0 : TFD_PARTS_MAX;
}

enum tfd_code tfd_compile_parts(struct tfd_compiler *c, struct tfd_status *st)
{
    struct tfd_finder *f;
    struct tfd_parts *p;

    if (tfd_compile_gates(c) == 0 || c->e->has_loops)
        return TFD_OK;
    f = tfd_arena_alloc(&c->scratch, sizeof(*f));
    p = tfd_arena_alloc(&c->e->arena, sizeof(*p));
    if (!f || !p)
        return tfd_arena_check(NULL, "parts of a graph", st);
    f->c = c;
    TFD_TRY(tfd_capture_find(f, st));
    p->at_once = capturing(c)->captures_at_once;
    p->count = choose_groups(f, p->at_once);
    if (p->count == 0)
        return TFD_OK;
    TFD_TRY(build_all(f, p, st));
    tfd_lock_init(&p->lock, TFD_LOCK_GRAPH);
    c->e->parts = p;
    return TFD_OK;
}
