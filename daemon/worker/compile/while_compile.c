/*
 * while_compile.c - makes code of the loops of a graph that may be code: see
 * while_graph.h.
 *
 * Of loops within each other the outermost that may be code is made; those
 * inside are part of it.
 */
#include "daemon/worker/compile/compiler.h"
#include "daemon/worker/compile/while_graph.h"

static enum tfd_code make_slots(struct tfd_while_graph *g,
                                struct tfd_while_slots *s, int32_t **bits,
                                struct tfd_status *st)
{
    size_t nodes = (size_t)g->e->node_count + 1;

    s->g = g;
    s->in = tfd_arena_array(g->scratch, nodes, sizeof(int32_t));
    s->out = tfd_arena_array(g->scratch, nodes, sizeof(int32_t));
    s->source = tfd_arena_array(g->scratch, nodes, sizeof(int32_t));
    s->frames =
        tfd_arena_array(g->scratch, (size_t)g->e->frame_count, sizeof(int32_t));
    *bits = tfd_arena_array(g->scratch, (size_t)g->guard_count + 1,
                            sizeof(int32_t));
    if (!s->in || !s->out || !s->source || !s->frames || !*bits)
        return tfd_arena_check(NULL, "loops", st);
    for (int32_t i = 0; i < g->guard_count; i++)
        (*bits)[i] = -1;
    return TFD_OK;
}

enum tfd_code tfd_compile_loops(struct tfd_compiler *c, struct tfd_status *st)
{
    struct tfd_while_graph g = {.e = c->e, .scratch = &c->scratch};
    struct tfd_while_slots s = {.g = NULL};
    int32_t *bits;

    if (!c->e->has_loops)
        return TFD_OK;
    TFD_TRY(tfd_while_graph_make(&g, st));
    TFD_TRY(tfd_while_guard_all(&g, st));
    TFD_TRY(make_slots(&g, &s, &bits, st));
    for (int32_t i = 1; i < c->e->frame_count; i++)
        if (g.may_be_code[i] && !g.waits[i] &&
            !g.may_be_code[c->e->frames[i].parent])
            TFD_TRY(tfd_while_emit(&s, bits, i, st));
    return TFD_OK;
}
