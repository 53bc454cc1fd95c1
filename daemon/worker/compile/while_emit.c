/*
 * while_emit.c - the code of a loop: see while_code.h and while_graph.h.
 *
 * The nodes of a frame are gone through twice, once for those that always run
 * and once for those of the body; a loop inside is written out where it stands.
 * At its end a loop inside leaves its slots empty: what always runs may have
 * left a value for the body, and what is kept for all iterations is there.
 */
#include "daemon/worker/compile/while_graph.h"

#include "config/limits.h"

#include <assert.h>
#include <string.h>

/* A loop with more is rare, and its code would take long to write. */
#define SLOTS_MAX (1 << 20)
/* A slot is moved into, or dropped, in so many places at most: a variable by
 * Enter and NextIteration, and when nobody reads it in the body or behind. */
#define MOVES_PER_SLOT 4

/* A loop that is being written. */
struct level {
    int32_t frame;
    int32_t at; /* in the order of its nodes */
    uint8_t phase;
    int32_t enter, begin, test; /* its ops */
};

struct emission {
    struct tfd_while_graph *g;
    struct tfd_while_slots s;
    struct tfd_while_code *code;
    struct tfd_while_op *ops;
    struct tfd_while_move *moves;
    int32_t op_count, move_count, op_capacity, move_capacity;
    int32_t *holds; /* by first guard of a predicate; -1 */
    struct level levels[TFD_WHILE_DEPTH_MAX + 1];
    int depth;
};

/* ---- Moves --------------------------------------------------------------- */

static void add_move(struct emission *m, int32_t from, int32_t to, bool last)
{
    assert(m->move_count < m->move_capacity);
    m->moves[m->move_count++] = (struct tfd_while_move){from, to, last};
    m->ops[m->op_count - 1].move_count++;
}

/* From a slot into all that its source fills, but for the first `skip`. */
static void spread_source(struct emission *m, int32_t from, int32_t source,
                          int32_t skip, bool last)
{
    const struct tfd_while_source *x = &m->s.sources[source];

    for (int32_t i = x[0].first + skip; i < x[1].first; i++)
        add_move(m, from, m->s.filled[i], last && i == x[1].first - 1);
    if (last && x[0].first == x[1].first)
        add_move(m, from, -1, true);
}

/* What an Enter or a NextIteration brings into variables. */
static void feed_variables(struct emission *m, int32_t node)
{
    const struct tfd_exec_node *x = &m->g->e->nodes[node];
    const struct tfd_exec_frame *f =
        &m->g->e->frames[tfd_while_out_frame(m->g, node)];
    int32_t from = m->s.in[node];

    for (int32_t i = 0; i < x->edge_count; i++) {
        int32_t to = tfd_while_number(m->g, f->nodes[x->edges[i].local]);

        add_move(m, from, m->s.in[to],
                 i == x->edge_count - 1 && !m->s.kept[from]);
    }
}

static void spread_variables(struct emission *m, int32_t frame, int32_t phase)
{
    const struct tfd_while_graph *g = m->g;

    for (int32_t i = g->order_first[frame]; i < g->order_end[frame]; i++)
        if (g->order[i] >= 0 && g->role[g->order[i]] == TFD_WHILE_VARIABLE)
            spread_source(m, m->s.in[g->order[i]],
                          m->s.source[g->order[i]] + phase, 0,
                          phase != TFD_WHILE_ALWAYS);
}

static void feed_next(struct emission *m, int32_t frame)
{
    const struct tfd_while_graph *g = m->g;

    for (int32_t i = g->order_first[frame]; i < g->order_end[frame]; i++)
        if (g->order[i] >= 0 &&
            g->e->nodes[g->order[i]].route == TFD_ROUTE_NEXT)
            feed_variables(m, g->order[i]);
}

static void feed_enters(struct emission *m, int32_t frame)
{
    const struct tfd_while_graph *g = m->g;

    for (int32_t i = g->enter_first[frame]; i < g->enter_first[frame + 1]; i++)
        if (g->e->nodes[g->enters[i]].route == TFD_ROUTE_ENTER)
            feed_variables(m, g->enters[i]);
        else
            spread_source(m, m->s.in[g->enters[i]], m->s.source[g->enters[i]],
                          0, false);
}

/* ---- What a loop inside leaves ------------------------------------------- */

static int32_t reads(const struct emission *m, int32_t node)
{
    const struct tfd_exec_node *x = &m->g->e->nodes[node];

    return tfd_while_is_run(m->g, node) || x->route == TFD_ROUTE_NEXT ||
                   tfd_while_enters(x)
               ? x->in_count
               : 0;
}

static void drop_unread(struct emission *m, int32_t node)
{
    for (int32_t i = 0; i < reads(m, node); i++) {
        int32_t slot = m->s.in[node] + i, source = m->s.filled_by[slot];

        if (source >= 0 && !m->s.kept[slot] &&
            m->s.sources[source].phase == TFD_WHILE_ALWAYS)
            add_move(m, slot, -1, true);
    }
}

static void drop_enter(struct emission *m, int32_t node)
{
    const struct tfd_while_source *x = &m->s.sources[m->s.source[node]];
    int32_t slot = m->s.in[node];

    if (m->s.filled_by[slot] >= 0 && !m->s.kept[slot])
        add_move(m, slot, -1, true);
    if (m->g->e->nodes[node].route != TFD_ROUTE_CONSTANT)
        return;
    for (int32_t i = x[0].first; i < x[1].first; i++)
        add_move(m, m->s.filled[i], -1, true);
}

static void drop_left(struct emission *m, int32_t frame)
{
    const struct tfd_while_graph *g = m->g;

    for (int32_t i = g->enter_first[frame]; i < g->enter_first[frame + 1]; i++)
        drop_enter(m, g->enters[i]);
    for (int32_t i = g->order_first[frame]; i < g->order_end[frame]; i++)
        if (g->order[i] >= 0 &&
            tfd_while_phase(g, g->order[i]) == TFD_WHILE_BODY)
            drop_unread(m, g->order[i]);
}

/* ---- Ops ----------------------------------------------------------------- */

static struct tfd_while_op *add_op(struct emission *m, enum tfd_while_kind kind)
{
    struct tfd_while_op *op = &m->ops[m->op_count];

    assert(m->op_count < m->op_capacity);
    m->op_count++;
    *op = (struct tfd_while_op){
        .moves = m->moves + m->move_count,
        .guard = -1,
        .kind = (uint8_t)kind,
    };
    return op;
}

/* Its bit; what runs whenever the code comes by has none. */
static int32_t bit_of(const struct emission *m, int32_t guard)
{
    const struct tfd_while_guard *x = &m->g->guards[guard];

    return m->holds[x->first] < 0 ? -1 : m->holds[x->first] + guard - x->first;
}

static int32_t bits_of_switch(struct emission *m, int32_t node)
{
    int32_t *first = &m->holds[m->g->sides[node]];

    if (*first < 0) {
        *first = m->code->guard_count;
        m->code->guard_count += m->g->e->nodes[node].out_count;
    }
    return *first;
}

static enum tfd_code chose(struct emission *m, int32_t node,
                           const int32_t **out, struct tfd_status *st)
{
    int32_t count = m->g->e->nodes[node].in_count;
    int32_t *guards =
        tfd_arena_array(&m->g->e->arena, (size_t)count, sizeof(*guards));

    TFD_TRY(tfd_arena_check(guards, "a loop", st));
    for (int32_t i = 0; i < count; i++)
        guards[i] = bit_of(m, tfd_while_guard_of(m->g, node, i));
    *out = guards;
    return TFD_OK;
}

static void spread_outputs(struct emission *m, int32_t node)
{
    const struct tfd_exec_node *x = &m->g->e->nodes[node];
    const struct tfd_while_source *from = &m->s.sources[m->s.source[node]];
    bool direct = x->out_count == 1 && from[0].first < from[1].first;

    for (int32_t i = 0; i < x->out_count; i++)
        spread_source(m, m->s.out[node] + i, m->s.source[node] + i, direct,
                      !direct);
}

static enum tfd_code emit_node(struct emission *m, int32_t node,
                               struct tfd_status *st)
{
    static const uint8_t kinds[TFD_EXEC_KIND_COUNT] = {
        [TFD_EXEC_KERNEL] = TFD_WHILE_KERNEL,
        [TFD_EXEC_SWITCH] = TFD_WHILE_SWITCH,
        [TFD_EXEC_MERGE] = TFD_WHILE_MERGE,
    };
    const struct tfd_exec_node *x = &m->g->e->nodes[node];
    struct tfd_while_op *op;

    if (!tfd_while_is_run(m->g, node))
        return TFD_OK;
    op = add_op(m, kinds[x->kind]);
    op->node = x;
    op->in = m->s.in[node];
    op->out = m->s.out[node];
    op->guard = bit_of(m, m->g->guard[node]);
    for (int32_t i = op->in; i < op->in + x->in_count; i++)
        op->keeps |= m->s.kept[i];
    if (x->kind == TFD_EXEC_SWITCH)
        op->sides = bits_of_switch(m, node);
    if (x->kind == TFD_EXEC_MERGE)
        TFD_TRY(chose(m, node, &op->chose, st));
    spread_outputs(m, node);
    return TFD_OK;
}

/* ---- Loops --------------------------------------------------------------- */

static void begin_loop(struct emission *m, int32_t frame)
{
    struct level *l = &m->levels[m->depth++];
    struct tfd_while_op *op = add_op(m, TFD_WHILE_ENTER);

    *l = (struct level){
        .frame = frame,
        .at = m->g->order_first[frame],
        .enter = m->op_count - 1,
    };
    if (frame != m->s.top)
        op->guard = bit_of(m, m->g->unit_guard[frame]);
    feed_enters(m, frame);
    spread_variables(m, frame, TFD_WHILE_ALWAYS);
    l->begin = m->op_count;
}

static void emit_test(struct emission *m, struct level *l)
{
    struct tfd_while_op *op = add_op(m, TFD_WHILE_TEST);

    l->test = m->op_count - 1;
    op->node = &m->g->e->nodes[m->g->gate[l->frame]];
    op->in = m->s.in[m->g->condition[l->frame]];
    spread_variables(m, l->frame, TFD_WHILE_BODY);
    l->phase = TFD_WHILE_BODY;
    l->at = m->g->order_first[l->frame];
}

static void end_loop(struct emission *m, struct level *l)
{
    add_op(m, TFD_WHILE_JUMP)->jump = l->begin;
    feed_next(m, l->frame);
    spread_variables(m, l->frame, TFD_WHILE_ALWAYS);
    m->ops[l->enter].jump = m->ops[l->test].jump = m->op_count;
    add_op(m, TFD_WHILE_MOVES);
    spread_variables(m, l->frame, TFD_WHILE_LEAVING);
    if (l->frame != m->s.top)
        drop_left(m, l->frame);
    m->depth--;
}

static enum tfd_code emit_all(struct emission *m, struct tfd_status *st)
{
    begin_loop(m, m->s.top);
    while (m->depth > 0) {
        struct level *l = &m->levels[m->depth - 1];
        int32_t item;

        if (l->at == m->g->order_end[l->frame]) {
            if (l->phase == TFD_WHILE_ALWAYS)
                emit_test(m, l);
            else
                end_loop(m, l);
            continue;
        }
        item = m->g->order[l->at++];
        if (tfd_while_phase(m->g, item) != l->phase)
            continue;
        if (item < 0)
            begin_loop(m, ~item);
        else
            TFD_TRY(emit_node(m, item, st));
    }
    add_op(m, TFD_WHILE_END);
    return TFD_OK;
}

/* ---- The code ------------------------------------------------------------ */

/* Moves are as many as needed only now. */
static enum tfd_code keep_ops(struct emission *m, struct tfd_status *st)
{
    struct tfd_arena *a = &m->g->e->arena;
    struct tfd_while_op *ops =
        tfd_arena_array(a, (size_t)m->op_count, sizeof(*ops));
    struct tfd_while_move *moves =
        tfd_arena_array(a, (size_t)m->move_count + 1, sizeof(*moves));

    if (!ops || !moves)
        return tfd_arena_check(NULL, "a loop", st);
    memcpy(ops, m->ops, (size_t)m->op_count * sizeof(*ops));
    memcpy(moves, m->moves, (size_t)m->move_count * sizeof(*moves));
    for (int32_t i = 0; i < m->op_count; i++)
        ops[i].moves = moves + (m->ops[i].moves - m->moves);
    m->code->ops = ops;
    m->code->op_count = m->op_count;
    return TFD_OK;
}

static enum tfd_code keep_slots(struct emission *m, struct tfd_status *st)
{
    struct tfd_arena *a = &m->g->e->arena;
    size_t count = (size_t)m->s.count + 1;
    uint8_t *kept = tfd_arena_array(a, count, 1);
    struct tfd_while_fixed *fixed = tfd_arena_array(a, count, sizeof(*fixed));

    if (!kept || !fixed)
        return tfd_arena_check(NULL, "a loop", st);
    for (int32_t i = 0; i < m->s.count; i++) {
        kept[i] = m->s.kept[i];
        if (m->s.filled_by[i] < 0 && m->s.filled_by[i] != TFD_WHILE_UNFILLED)
            fixed[m->code->fixed_count++] =
                (struct tfd_while_fixed){i, ~m->s.filled_by[i]};
    }
    m->code->kept = kept;
    m->code->fixed = fixed;
    m->code->slot_count = m->s.count;
    m->code->in_max = m->s.in_max;
    return TFD_OK;
}

static enum tfd_code keep_ends(struct emission *m, struct tfd_status *st)
{
    const struct tfd_exec_frame *f = &m->g->e->frames[m->s.top];
    struct tfd_arena *a = &m->g->e->arena;
    size_t firsts = (size_t)f->first_count + 1;
    int32_t *first = tfd_arena_array(a, firsts, sizeof(*first));
    int32_t *constant =
        tfd_arena_array(a, (size_t)f->constant_count + 1, sizeof(*constant));
    int32_t *exits =
        tfd_arena_array(a, (size_t)f->exit_count + 1, sizeof(*exits));

    m->code->first = tfd_arena_array(a, firsts, sizeof(*m->code->first));
    if (!first || !constant || !exits || !m->code->first)
        return tfd_arena_check(NULL, "a loop", st);
    for (int32_t i = m->g->enter_first[m->s.top];
         i < m->g->enter_first[m->s.top + 1]; i++) {
        const struct tfd_exec_node *x = &m->g->e->nodes[m->g->enters[i]];

        if (x->route == TFD_ROUTE_ENTER)
            m->code->first[x->place] = x;
        (x->route == TFD_ROUTE_ENTER ? first : constant)[x->place] =
            m->s.in[m->g->enters[i]];
    }
    for (int32_t i = 0; i < f->exit_count; i++)
        exits[i] = m->s.in[tfd_while_number(m->g, f->exits[i])];
    m->code->first_slots = first;
    m->code->constant_slots = constant;
    m->code->exit_slots = exits;
    m->code->first_count = f->first_count;
    m->code->unit = f->unit;
    return TFD_OK;
}

static enum tfd_code make_emission_arrays(struct emission *m,
                                          struct tfd_status *st)
{
    m->op_capacity = m->s.node_count + 5 * m->s.frame_count + 1;
    m->move_capacity = MOVES_PER_SLOT * m->s.count;
    m->ops =
        tfd_arena_array(m->g->scratch, (size_t)m->op_capacity, sizeof(*m->ops));
    m->moves = tfd_arena_array(m->g->scratch, (size_t)m->move_capacity,
                               sizeof(*m->moves));
    m->code = tfd_arena_alloc(&m->g->e->arena, sizeof(*m->code));
    if (!m->ops || !m->moves || !m->code)
        return tfd_arena_check(NULL, "a loop", st);
    return TFD_OK;
}

enum tfd_code tfd_while_emit(const struct tfd_while_slots *s, int32_t *bits,
                             int32_t frame, struct tfd_status *st)
{
    struct emission m = {.g = s->g, .s = *s, .holds = bits};

    m.s.top = frame;
    TFD_TRY(tfd_while_slots_make(&m.s, st));
    if (m.s.count > SLOTS_MAX)
        return TFD_OK;
    TFD_TRY(make_emission_arrays(&m, st));
    TFD_TRY(emit_all(&m, st));
    TFD_TRY(keep_ops(&m, st));
    TFD_TRY(keep_slots(&m, st));
    TFD_TRY(keep_ends(&m, st));
    m.g->e->frames[frame].code = m.code;
    return TFD_OK;
}
