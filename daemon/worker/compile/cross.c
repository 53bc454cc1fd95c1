/*
 * cross.c - copies where an edge leads from one memory to another: see
 * compiler.h.
 *
 * All consumers of a value in one memory share its copy.  A chain takes and
 * leaves everything in the host's memory.
 */
#include "daemon/worker/compile/wiring.h"

int32_t tfd_wiring_crossings(const struct tfd_compiler *c)
{
    int32_t count = 0;

    for (int32_t i = 0; i < c->g->count; i++) {
        const struct tfd_node *n = c->g->nodes[i];

        if (c->nodes[i].exec < 0 || c->nodes[i].chain)
            continue;
        for (int32_t j = 0; j < n->in_count; j++) {
            struct tfd_edge from =
                c->alias[c->nodes[n->in[j].node].first_out + n->in[j].output];

            count += !tfd_compile_same_memory(
                tfd_compile_out_memory(c, from.node, from.output),
                tfd_compile_in_memory(c, i, j));
        }
    }
    return count;
}

static void copy_start(struct tfd_kctx *k)
{
    const struct tfd_copy_state *s = k->state;

    (s->from ? s->from : s->to)->copy(k, s->from, s->to);
}

const struct tfd_kernel tfd_cross_copy_kernel = {
    .op = "_Copy",
    .start = copy_start,
};

/* A node that no graph has: its name and types are the producer's. */
static enum tfd_code add_copy(struct tfd_wiring *w, struct tfd_source from,
                              struct tfd_device *memory, struct tfd_device *to,
                              struct tfd_wire_copy **out, struct tfd_status *st)
{
    const struct tfd_node *producer = w->c->g->nodes[w->graph_node[from.exec]];
    struct tfd_arena *a = &w->e->arena;
    struct tfd_wire_copy *copy = tfd_arena_alloc(&w->c->scratch, sizeof(*copy));
    struct tfd_node *n = tfd_arena_alloc(a, sizeof(*n));
    struct tfd_copy_state *state = tfd_arena_alloc(a, sizeof(*state));
    uint8_t *type = tfd_arena_alloc(a, 1);
    int32_t exec = w->e->node_count;

    if (!copy || !n || !state || !type)
        return tfd_arena_check(NULL, "copies between devices", st);
    *type = (uint8_t)tfd_dtype_base(producer->out_types[from.output]);
    *n = *producer;
    n->in_types = n->out_types = type;
    n->in_count = n->out_count = 1;
    *state = (struct tfd_copy_state){memory, to};
    w->e->nodes[exec] = (struct tfd_exec_node){
        .kernel = &tfd_cross_copy_kernel,
        .state = state,
        .node = n,
        .rt = &w->c->env->rts[w->c->nodes[producer->id].device -
                              w->c->env->devices->device],
        .kind = TFD_EXEC_ASYNC,
        .in_count = 1,
        .out_count = 1,
    };
    w->graph_node[exec] = -1;
    w->frame[exec] = tfd_compile_out_frame(w->c, producer->id);
    w->copied[exec] = from;
    w->e->node_count++;
    *copy = (struct tfd_wire_copy){w->copies[from.exec], to, from, exec};
    w->copies[from.exec] = copy;
    *out = copy;
    return TFD_OK;
}

/* An input that is wanted in memory `to`. */
static enum tfd_code cross(struct tfd_wiring *w, struct tfd_source *s,
                           struct tfd_device *to, struct tfd_status *st)
{
    struct tfd_wire_copy *copy = w->copies[s->exec];
    struct tfd_device *memory =
        tfd_compile_out_memory(w->c, w->graph_node[s->exec], s->output);

    if (tfd_compile_same_memory(memory, to))
        return TFD_OK;
    while (copy && !(copy->from.output == s->output &&
                     tfd_compile_same_memory(copy->to, to)))
        copy = copy->next;
    if (!copy)
        TFD_TRY(add_copy(w, *s, memory, to, &copy, st));
    *s = (struct tfd_source){copy->exec, 0};
    return TFD_OK;
}

static enum tfd_code cross_inputs(struct tfd_wiring *w, int32_t node,
                                  struct tfd_status *st)
{
    struct tfd_source *s = &w->c->sources[w->c->nodes[node].first_in];

    for (int32_t j = 0; j < w->c->g->nodes[node]->in_count; j++) {
        struct tfd_device *to = tfd_compile_in_memory(w->c, node, j);

        if (s[j].exec >= 0)
            TFD_TRY(cross(w, &s[j], to, st));
        else if (to)
            TFD_TRY(tfd_compile_place(w->c, s[j].output, to, &s[j].output, st));
    }
    return TFD_OK;
}

enum tfd_code tfd_wiring_cross(struct tfd_wiring *w, struct tfd_status *st)
{
    for (int32_t i = 0; i < w->c->g->count; i++)
        if (w->c->nodes[i].exec >= 0 && !w->c->nodes[i].chain)
            TFD_TRY(cross_inputs(w, i, st));
    return TFD_OK;
}
