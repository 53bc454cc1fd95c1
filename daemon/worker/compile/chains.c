/*
 * chains.c - elementwise nodes that run as one: see chains.h and compiler.h.
 *
 * A chain grows from its last node towards its inputs: a node joins when all
 * who read its result are in the chain already, nobody waits for it otherwise
 * and it waits for nobody.  All are on one device with the host's memory, and
 * outside of loops, which have a form of their own.
 */
#include "daemon/worker/compile/compiler.h"

#include "daemon/worker/compile/wiring.h"

#include <string.h>

/* Below this there is nothing to save. */
#define NODES_MIN 3

/* By graph node. */
struct uses {
    int32_t all;      /* inputs that read its result */
    int32_t in_chain; /* of these, in the chain that grows ... */
    int32_t chain;    /* ... which is that of this last node */
    int32_t joined;   /* the chain that it is in; -1 */
    bool waited_for;  /* by a control edge */
    bool passes;      /* a reference may come out as a value (late.c) */
};

struct search {
    struct tfd_compiler *c;
    struct uses *uses;
    int32_t member[TFD_CHAIN_NODES_MAX]; /* last node first */
    int32_t count;
};

static struct tfd_edge source_of(const struct search *s, struct tfd_edge e)
{
    return s->c->alias[s->c->nodes[e.node].first_out + e.output];
}

/* ---- What may be in one -------------------------------------------------- */

static void count_uses(struct search *s)
{
    const struct tfd_compiler *c = s->c;

    for (int32_t i = 0; i < c->g->count; i++) {
        const struct tfd_node *n = c->g->nodes[i];

        if (c->nodes[i].elided)
            continue;
        for (int32_t j = 0; j < n->in_count; j++)
            s->uses[source_of(s, n->in[j]).node].all++;
        for (int32_t j = 0; j < n->control_count; j++) {
            int32_t from = c->nodes[n->control[j]].control;

            if (from >= 0)
                s->uses[from].waited_for = true;
        }
    }
}

static bool has_refs(const struct tfd_graph *g)
{
    for (int32_t i = 0; i < g->count; i++)
        for (int32_t j = 0; j < g->nodes[i]->out_count; j++)
            if (tfd_dtype_is_ref(g->nodes[i]->out_types[j]))
                return true;
    return false;
}

/* Each node reads for itself what may be a reference that was passed on
 * (late.c): a chain would read it later than its first node does. */
static bool may_be_reference(const struct search *s, struct tfd_edge from)
{
    const struct tfd_node *n = s->c->g->nodes[from.node];

    return tfd_dtype_is_ref(n->out_types[from.output]) ||
           s->uses[from.node].passes;
}

/* Of a Merge it is not known: what a loop brings back comes later. */
static bool passes_reference(const struct search *s, int32_t node)
{
    const struct tfd_plan_node *p = &s->c->nodes[node];
    const struct tfd_node *n = s->c->g->nodes[node];

    if (p->kind == TFD_EXEC_MERGE)
        return true;
    if (p->kind != TFD_EXEC_PASS && p->kind != TFD_EXEC_SWITCH &&
        !tfd_late_forwards(n))
        return false;
    for (int32_t j = 0; j < n->in_count; j++)
        if (may_be_reference(s, source_of(s, n->in[j])))
            return true;
    return false;
}

static void find_references(struct search *s)
{
    const struct tfd_compiler *c = s->c;

    if (!has_refs(c->g))
        return;
    for (int32_t i = 0; i < c->g->count; i++)
        s->uses[c->order[i]].passes = passes_reference(s, c->order[i]);
}

static bool may_join(const struct search *s, int32_t node)
{
    const struct tfd_plan_node *p = &s->c->nodes[node];
    const struct tfd_node *n = s->c->g->nodes[node];

    if (p->kind != TFD_EXEC_KERNEL || p->elided || p->inner || p->chain ||
        p->frame != 0 || p->route != TFD_ROUTE_HERE || p->device->stream ||
        tfd_compile_out_memory(s->c, node, 0) || !tfd_chain_takes(p->kernel, n))
        return false;
    for (int32_t j = 0; j < n->in_count; j++) {
        struct tfd_edge from = source_of(s, n->in[j]);

        if (tfd_compile_in_memory(s->c, node, j) ||
            tfd_compile_out_memory(s->c, from.node, from.output) ||
            may_be_reference(s, from))
            return false;
    }
    return true;
}

static bool is_inner(const struct search *s, int32_t node, int32_t last)
{
    const struct uses *u = &s->uses[node];

    return u->joined != last && u->chain == last && u->in_chain == u->all &&
           !u->waited_for && s->c->g->nodes[node]->control_count == 0 &&
           s->c->nodes[node].device == s->c->nodes[last].device &&
           may_join(s, node);
}

/* ---- Growing ------------------------------------------------------------- */

static void add_member(struct search *s, int32_t node, int32_t last)
{
    const struct tfd_node *n = s->c->g->nodes[node];

    s->member[s->count++] = node;
    s->uses[node].joined = last;
    for (int32_t j = 0; j < n->in_count; j++) {
        struct uses *u = &s->uses[source_of(s, n->in[j]).node];

        if (u->chain != last)
            u->in_chain = 0;
        u->chain = last;
        u->in_chain++;
    }
}

/* Members are looked at in the order they joined; what all its readers have
 * joined joins after them. */
static void grow_chains(struct search *s, int32_t last)
{
    s->count = 0;
    add_member(s, last, last);
    for (int32_t i = 0; i < s->count; i++) {
        const struct tfd_node *n = s->c->g->nodes[s->member[i]];

        for (int32_t j = 0; j < n->in_count; j++) {
            int32_t from = source_of(s, n->in[j]).node;

            if (s->count < TFD_CHAIN_NODES_MAX && is_inner(s, from, last))
                add_member(s, from, last);
        }
    }
}

/* ---- Making -------------------------------------------------------------- */

static int32_t place_in_chain(const struct search *s, int32_t node)
{
    for (int32_t i = 0; i < s->count; i++)
        if (s->member[i] == node)
            return s->count - 1 - i;
    return -1;
}

/* The number of an input of the chain; the same value comes in once. */
static int add_input(struct tfd_plan_chain *p, struct tfd_edge from)
{
    struct tfd_chain *chain = &p->exec->chain;
    int i = 0;

    while (i < chain->in_count &&
           (p->in[i].node != from.node || p->in[i].output != from.output))
        i++;
    if (i == chain->in_count)
        p->in[chain->in_count++] = from;
    return i;
}

static void fill_chain(struct search *s, struct tfd_plan_chain *p)
{
    struct tfd_exec_chain *e = p->exec;

    e->chain.count = s->count;
    for (int32_t i = 0; i < s->count; i++) {
        int32_t node = s->member[s->count - 1 - i];
        const struct tfd_node *n = s->c->g->nodes[node];
        struct tfd_chain_node *x = &e->chain.node[i];

        x->kernel = s->c->nodes[node].kernel;
        x->node = n;
        x->in_count = n->in_count;
        e->flags[i] = n->op->check_count > 0 ? TFD_EXEC_CHECKS : 0;
        for (int32_t j = 0; j < n->in_count; j++) {
            struct tfd_edge from = source_of(s, n->in[j]);
            int32_t place = place_in_chain(s, from.node);

            x->in[j] = place >= 0 ? ~place : add_input(p, from);
        }
    }
}

static enum tfd_code make_node(struct search *s, struct tfd_plan_chain *p,
                               struct tfd_status *st)
{
    struct tfd_exec_chain *e = p->exec;
    const int count = e->chain.in_count;
    struct tfd_arena *a = &s->c->e->arena;
    struct tfd_edge *in = tfd_arena_array(a, (size_t)count, sizeof(*in));
    uint8_t *types = tfd_arena_alloc(a, (size_t)count);

    if (!in || !types)
        return tfd_arena_check(NULL, "inputs of a chain", st);
    memcpy(in, p->in, (size_t)count * sizeof(*in));
    for (int i = 0; i < count; i++)
        types[i] = s->c->g->nodes[p->in[i].node]->out_types[p->in[i].output];
    e->node = *s->c->g->nodes[s->member[0]];
    e->node.in = in;
    e->node.in_types = types;
    e->node.in_count = count;
    return TFD_OK;
}

static enum tfd_code make_chains(struct search *s, struct tfd_status *st)
{
    struct tfd_arena *a = &s->c->e->arena;
    struct tfd_plan_chain *p = tfd_arena_alloc(&s->c->scratch, sizeof(*p));

    TFD_TRY(tfd_arena_check(p, "a chain of nodes", st));
    memset(p, 0, sizeof(*p));
    p->exec = tfd_arena_alloc(a, sizeof(*p->exec));
    TFD_TRY(tfd_arena_check(p->exec, "a chain of nodes", st));
    memset(p->exec, 0, sizeof(*p->exec));
    fill_chain(s, p);
    if (!tfd_chain_finish(&p->exec->chain))
        return TFD_OK; /* they stay nodes */
    TFD_TRY(make_node(s, p, st));
    s->c->nodes[s->member[0]].chain = p;
    for (int32_t i = 1; i < s->count; i++)
        s->c->nodes[s->member[i]].inner = true;
    return TFD_OK;
}

enum tfd_code tfd_compile_chains(struct tfd_compiler *c, struct tfd_status *st)
{
    struct search s = {.c = c};

    if (!c->env->chains)
        return TFD_OK;
    s.uses =
        tfd_arena_array(&c->scratch, (size_t)c->g->count + 1, sizeof(*s.uses));
    TFD_TRY(tfd_arena_check(s.uses, "nodes of a graph", st));
    for (int32_t i = 0; i < c->g->count; i++)
        s.uses[i].chain = s.uses[i].joined = -1;
    count_uses(&s);
    find_references(&s);
    for (int32_t i = c->g->count - 1; i >= 0; i--) {
        int32_t last = c->order[i];

        if (!may_join(&s, last))
            continue;
        grow_chains(&s, last);
        if (s.count >= NODES_MIN)
            TFD_TRY(make_chains(&s, st));
    }
    return TFD_OK;
}
