/*
 * while_run.c - runs loops that are code: see while_code.h.
 *
 * A slot is empty before its value is made and after its reader has run, but
 * for those that are kept: constants, and what a loop is given from outside for
 * all its iterations.  These have a reference more than readers know of, so no
 * kernel writes its output over them.
 */
#include "common/base/atomic.h"
#include "common/base/clock.h"
#include "daemon/worker/compile/while_code.h"
#include "daemon/worker/run/node_sample.h"
#include "daemon/worker/run/runner.h"

#include <string.h>

/* The clock is read after this many ops; one that is known to be heavy counts
 * as that many. */
#define CLOCK_OPS 64
/* Other nodes of the step have their turn after this, and where many steps
 * wait for a thread these do. */
#define TURN_NS 300000
#define TURN_CROWDED_NS 200000
#define CROWD 16
/* Rounds whose nodes are timed, of a step whose nodes are. */
#define TIMED_ROUNDS 4
/* The same of a step that is sampled: the first so many, then the middle one of
 * each so many, which stands for all; a prime, lest a loop within has as many.
 */
#define SAMPLED_ROUNDS 61
/* Nodes that cost more gain from a thread of their own: it costs 5000 to hand
 * one over and to hear of its end. */
#define WIDE_NS 5000

struct run {
    struct tfd_runner *r;
    const struct tfd_while_code *c;
    struct tfd_while_state *l;
    const struct tfd_while_op *op; /* the next one */
    bool timed;
};

/* ---- Values -------------------------------------------------------------- */

static void empty(struct tfd_tensor *t)
{
    struct tfd_buffer *b = t->buffer;

    t->dtype = TFD_DTYPE_INVALID;
    t->buffer = NULL;
    if (b)
        tfd_buffer_unref(b);
}

static void move_slots(struct tfd_tensor *slots, const struct tfd_while_move *m)
{
    struct tfd_tensor *from = &slots[m->from];

    if (from->dtype == TFD_DTYPE_INVALID)
        return;
    if (m->to < 0) {
        empty(from);
        return;
    }
    slots[m->to] = *from;
    if (m->last) {
        from->dtype = TFD_DTYPE_INVALID;
        from->buffer = NULL;
    } else if (from->buffer) {
        tfd_buffer_ref(from->buffer);
    }
}

static void run_moves(const struct run *x, const struct tfd_while_op *op)
{
    for (int32_t i = 0; i < op->move_count; i++)
        move_slots(x->l->slots, &op->moves[i]);
}

static void drop_inputs(const struct run *x, const struct tfd_while_op *op)
{
    const uint8_t *kept = x->c->kept;

    for (int32_t i = op->in; i < op->in + op->node->in_count; i++)
        if (!op->keeps || !kept[i])
            empty(&x->l->slots[i]);
}

/* Input i as a value of its own, in slot `to`. */
static void take_input(const struct run *x, const struct tfd_while_op *op,
                       int32_t i, int32_t to)
{
    const struct tfd_while_move m = {op->in + i, to, !x->c->kept[op->in + i]};

    move_slots(x->l->slots, &m);
}

/* ---- Ops ----------------------------------------------------------------- */

static bool holds(const struct run *x, const struct tfd_while_op *op)
{
    return op->guard < 0 || x->l->holds[op->guard];
}

static void compute_op(const struct run *x, const struct tfd_while_op *op)
{
    const struct tfd_exec_node *n = op->node;
    struct tfd_runner *r = x->r;
    struct tfd_kctx *k = &r->k;

    k->kernel = n->kernel;
    k->in = x->l->slots + op->in;
    k->in_count = n->in_count;
    k->out = x->l->slots + op->out;
    k->out_count = n->out_count;
    k->state = n->state;
    k->ref = x->l->refs;
    k->ref_out = NULL;
    k->gives_views = false;
    k->node = n->node;
    k->rt = n->rt;
    tfd_runner_compute(r, n);
}

static void compute_timed(const struct run *x, const struct tfd_while_op *op)
{
    const struct tfd_exec *e = x->r->step->exec;
    uint64_t begun = tfd_clock_now_ns(), took;

    compute_op(x, op);
    took = tfd_clock_now_ns() - begun;
    tfd_runner_cost(e, op->node, took);
    if (x->r->step->sampled)
        tfd_node_sample_add(e, op->node, took,
                            x->l->rounds < SAMPLED_ROUNDS ? 1 : SAMPLED_ROUNDS);
}

static void run_kernel(struct run *x, const struct tfd_while_op *op)
{
    if (holds(x, op)) {
        if (x->timed)
            compute_timed(x, op);
        else
            compute_op(x, op);
    }
    drop_inputs(x, op);
    run_moves(x, op);
}

static void run_switch(struct run *x, const struct tfd_while_op *op)
{
    const struct tfd_exec_node *n = op->node;
    uint8_t *sides = &x->l->holds[op->sides];
    int32_t side;

    memset(sides, 0, (size_t)n->out_count);
    if (holds(x, op) && tfd_node_side(n, &x->l->slots[op->in + 1], &side,
                                      &x->r->st) == TFD_OK) {
        sides[side] = 1;
        take_input(x, op, 0, op->out + side);
    }
    drop_inputs(x, op);
    run_moves(x, op);
}

static void run_merge(struct run *x, const struct tfd_while_op *op)
{
    const struct tfd_shape scalar = {0, {0}};
    const struct tfd_exec_node *n = op->node;
    struct tfd_tensor *index = &x->l->slots[op->out + 1];
    int32_t chosen = 0;

    if (holds(x, op)) {
        while (chosen < n->in_count - 1 && !x->l->holds[op->chose[chosen]])
            chosen++;
        take_input(x, op, chosen, op->out);
        if ((n->flags & TFD_EXEC_INDEX_USED) &&
            tfd_tensor_new(index, TFD_INT32, &scalar, &x->r->st) == TFD_OK)
            *(int32_t *)tfd_tensor_data(index) = chosen;
    }
    drop_inputs(x, op);
    run_moves(x, op);
}

static void run_enter(struct run *x, const struct tfd_while_op *op)
{
    if (holds(x, op))
        run_moves(x, op);
    else
        x->op = x->c->ops + op->jump;
}

static void run_plain(struct run *x, const struct tfd_while_op *op)
{
    run_moves(x, op);
}

static void run_test(struct run *x, const struct tfd_while_op *op)
{
    struct tfd_tensor *condition = &x->l->slots[op->in];
    int32_t side;

    if (tfd_node_side(op->node, condition, &side, &x->r->st) != TFD_OK)
        return;
    if (!x->c->kept[op->in])
        empty(condition);
    if (side)
        run_moves(x, op);
    else
        x->op = x->c->ops + op->jump;
}

static bool is_round_timed(const struct tfd_step *s, uint32_t round)
{
    if (s->sampled)
        return round < SAMPLED_ROUNDS ||
               round % SAMPLED_ROUNDS == SAMPLED_ROUNDS / 2;
    return s->timed && round < TIMED_ROUNDS;
}

static void begin_sampled_round(struct run *x)
{
    x->timed = is_round_timed(x->r->step, ++x->l->rounds);
}

static void run_jump(struct run *x, const struct tfd_while_op *op)
{
    run_moves(x, op);
    x->op = x->c->ops + op->jump;
    if (x->r->step->sampled)
        begin_sampled_round(x);
    else if (x->l->rounds < TIMED_ROUNDS && ++x->l->rounds == TIMED_ROUNDS)
        x->timed = false;
}

typedef void run_fn(struct run *x, const struct tfd_while_op *op);

static run_fn *const run_table[] = {
    [TFD_WHILE_KERNEL] = run_kernel, [TFD_WHILE_SWITCH] = run_switch,
    [TFD_WHILE_MERGE] = run_merge,   [TFD_WHILE_ENTER] = run_enter,
    [TFD_WHILE_MOVES] = run_plain,   [TFD_WHILE_TEST] = run_test,
    [TFD_WHILE_JUMP] = run_jump,
};

/* ---- All of them --------------------------------------------------------- */

static bool must_stop(const struct run *x)
{
    return TFD_LOAD_ACQUIRE(&x->r->step->failed) != 0;
}

static enum tfd_while_end fail_while(struct run *x,
                                     const struct tfd_exec_node *n)
{
    tfd_runner_fail(x->r, n, &x->r->st);
    tfd_status_clear(&x->r->st);
    return TFD_WHILE_FAILED;
}

/* Runs ops until the clock is to be read. */
static enum tfd_while_end run_some(struct run *x)
{
    int32_t left = CLOCK_OPS;

    while (left > 0) {
        const struct tfd_while_op *op = x->op;

        if (op->kind == TFD_WHILE_END)
            return TFD_WHILE_ENDED;
        if (must_stop(x))
            return TFD_WHILE_FAILED;
        x->op++;
        run_table[op->kind](x, op);
        if (x->r->st.code != TFD_OK)
            return fail_while(x, op->node);
        left -=
            op->node && (op->node->flags & TFD_EXEC_EXPENSIVE) ? CLOCK_OPS : 1;
    }
    return TFD_WHILE_LATER;
}

enum tfd_while_end tfd_while_code_run(struct tfd_runner *r,
                                      const struct tfd_while_code *c,
                                      struct tfd_while_state *l)
{
    struct run x = {r, c, l, c->ops + l->at,
                    is_round_timed(r->step, l->rounds)};
    uint64_t begun = r->step->on_loop ? r->begun_ns : tfd_clock_now_ns();
    uint64_t turn =
        tfd_pool_waiting(r->step->pool) > CROWD ? TURN_CROWDED_NS : TURN_NS;
    enum tfd_while_end end;

    r->k.step = r->step;
    r->k.async = NULL;
    do
        end = run_some(&x);
    while (end == TFD_WHILE_LATER && tfd_clock_now_ns() - begun < turn);
    l->at = (int32_t)(x.op - c->ops);
    return end;
}

bool tfd_while_code_is_wide(const struct tfd_exec *e,
                            const struct tfd_while_code *c)
{
    int count = 0;

    for (int32_t i = 0; i < c->op_count && count < 2; i++)
        count += c->ops[i].kind == TFD_WHILE_KERNEL &&
                 tfd_runner_cost_of(e, c->ops[i].node) > WIDE_NS;
    return count >= 2;
}

/* ---- States -------------------------------------------------------------- */

size_t tfd_while_state_size(const struct tfd_while_code *c)
{
    return (size_t)c->slot_count * sizeof(struct tfd_tensor) +
           (size_t)c->in_max * sizeof(struct tfd_variable *) +
           (size_t)c->guard_count;
}

void tfd_while_state_init(struct tfd_while_state *l, const struct tfd_exec *e,
                          const struct tfd_while_code *c, void *memory)
{
    l->slots = memory;
    l->refs = (struct tfd_variable **)(l->slots + c->slot_count);
    l->holds = (uint8_t *)(l->refs + c->in_max);
    for (int32_t i = 0; i < c->fixed_count; i++)
        l->slots[c->fixed[i].slot] =
            tfd_tensor_ref(&e->constants[c->fixed[i].constant]);
}

void tfd_while_state_reset(struct tfd_while_state *l,
                           const struct tfd_while_code *c)
{
    int32_t fixed = 0;

    for (int32_t i = 0; i < c->slot_count; i++)
        if (fixed < c->fixed_count && c->fixed[fixed].slot == i)
            fixed++;
        else
            empty(&l->slots[i]);
    l->at = l->rounds = 0;
}

void tfd_while_state_deinit(struct tfd_while_state *l,
                            const struct tfd_while_code *c)
{
    for (int32_t i = 0; i < c->slot_count; i++)
        empty(&l->slots[i]);
}
