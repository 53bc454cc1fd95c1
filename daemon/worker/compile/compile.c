/*
 * compile.c - see compile.h and compiler.h.
 */
#include "daemon/worker/compile/compiler.h"

#include "common/base/atomic.h"
#include "config/limits.h"
#include "daemon/worker/run/captures.h"
#include "daemon/worker/run/called_functions.h"

#include <stdlib.h>
#include <string.h>

/* Eight bytes as a little-endian number; fewer are the low ones. */
static uint64_t load_bytes(const char *data, size_t size)
{
    uint64_t v = 0;

    for (size_t i = 0; i < size; i++)
        v |= (uint64_t)(uint8_t)data[i] << 8 * i;
    return v;
}

/* MurmurHash64A with TensorFlow's seed. */
uint64_t tfd_exec_hash(struct tfd_str s)
{
    const uint64_t m = 0xc6a4a7935bd1e995u;
    uint64_t h = 0xDECAFCAFFEu ^ (s.size * m);

    for (; s.size >= 8; s.data += 8, s.size -= 8) {
        uint64_t k = load_bytes(s.data, 8) * m;

        k ^= k >> 47;
        h = (h ^ (k * m)) * m;
    }
    if (s.size)
        h = (h ^ load_bytes(s.data, s.size)) * m;
    h ^= h >> 47;
    h *= m;
    return h ^ h >> 47;
}

/* The place of a device among those that the graph enqueues on. */
static struct tfd_exec_ahead *ahead_of(struct tfd_exec *e, struct tfd_device *d)
{
    for (int32_t i = 0; i < e->ahead_count; i++)
        if (e->ahead[i].device == d)
            return &e->ahead[i];
    e->ahead[e->ahead_count].device = d;
    return &e->ahead[e->ahead_count++];
}

static enum tfd_code count_ahead(struct tfd_exec *e, struct tfd_status *st)
{
    const struct tfd_exec_node *last = NULL;

    for (int32_t i = 0; i < e->node_count; i++)
        if (e->nodes[i].flags & TFD_EXEC_STREAM)
            last = &e->nodes[i];
    if (!last)
        return TFD_OK;
    e->ahead = tfd_arena_array(&e->arena, TFD_DEVICES_MAX, sizeof(*e->ahead));
    TFD_TRY(tfd_arena_check(e->ahead, "devices of a graph", st));
    for (const struct tfd_exec_node *n = e->nodes; n <= last; n++)
        if ((n->flags & TFD_EXEC_STREAM) && n->rt->row->run_ahead)
            ahead_of(e, n->rt->row)->nodes++;
    return TFD_OK;
}

static enum tfd_code compile(struct tfd_compiler *c, struct tfd_status *st)
{
    c->nodes = tfd_arena_array(&c->scratch, (size_t)c->g->count + 1,
                               sizeof(*c->nodes));
    TFD_TRY(tfd_arena_check(c->nodes, "a graph to register", st));
    TFD_TRY(tfd_graph_order(c->g, &c->scratch, &c->order, st));
    TFD_TRY(tfd_compile_classify(c, st));
    TFD_TRY(tfd_compile_memory(c, st));
    TFD_TRY(tfd_compile_frames(c, st));
    TFD_TRY(tfd_compile_elide(c, st));
    TFD_TRY(tfd_compile_chains(c, st));
    TFD_TRY(tfd_compile_connect(c, st));
    TFD_TRY(tfd_compile_loops(c, st));
    TFD_TRY(count_ahead(c->e, st));
    TFD_TRY(tfd_compile_parts(c, st));
    return tfd_compile_bind(c, st);
}

/* Kernels' states are not known; values shared with nobody are its own. */
static void count_memory(struct tfd_exec *e, size_t *memory)
{
    e->memory = memory;
    e->size = sizeof(*e) + e->arena.used + e->graph->arena.used;
    for (int32_t i = 0; i < e->constant_count; i++)
        if (e->constants[i].buffer)
            e->size += e->constants[i].buffer->size;
    tfd_exec_count(e, e->size);
}

enum tfd_code tfd_exec_compile(const struct tfd_compile_env *env,
                               struct tfd_graph *take_graph,
                               struct tfd_exec **out, struct tfd_status *st)
{
    struct tfd_compiler c = {.env = env, .g = take_graph};
    enum tfd_code rc;

    c.e = calloc(1, sizeof(*c.e));
    if (!c.e) {
        if (!env->is_function)
            tfd_function_table_free(env->functions);
        tfd_graph_unref(take_graph);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a registered graph");
    }
    c.e->graph = take_graph;
    if (!env->is_function)
        c.e->functions = env->functions;
    tfd_arena_init(&c.e->arena, TFD_GRAPH_SIZE_MAX);
    tfd_arena_init(&c.scratch, TFD_GRAPH_SIZE_MAX);
    rc = compile(&c, st);
    tfd_arena_deinit(&c.scratch);
    if (rc != TFD_OK) {
        tfd_exec_free(c.e);
        return rc;
    }
    count_memory(c.e, env->memory);
    *out = c.e;
    return TFD_OK;
}

void tfd_exec_free(struct tfd_exec *e)
{
    if (!e)
        return;
    tfd_exec_uncount(e, e->size);
    tfd_captures_free(e->parts);
    for (int32_t i = 0; i < e->state_count; i++)
        tfd_exec_release(e->states[i].kernel, e->states[i].state);
    for (int32_t i = 0; i < e->constant_count; i++)
        tfd_tensor_unref(&e->constants[i]);
    tfd_function_table_free(e->functions);
    tfd_graph_unref(e->graph);
    tfd_arena_deinit(&e->arena);
    free(e);
}
