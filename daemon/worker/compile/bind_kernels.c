/*
 * bind_kernels.c - kernels' states, channels, feeds and fetches: see
 * compiler.h.
 *
 * prepare() gets a struct tfd_prepare that is part of a struct binding, so that
 * tfd_rt_channel() finds the graph that is being made.
 */
#include "daemon/worker/compile/compiler.h"

#include "common/base/hash.h"
#include "config/limits.h"
#include "daemon/worker/exchange/rendezvous.h"
#include "daemon/worker/run/called_functions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- States -------------------------------------------------------------- */

struct binding {
    struct tfd_prepare prepare;
    struct tfd_compiler *c;
};

enum tfd_code tfd_exec_prepare(const struct tfd_kernel *k,
                               const struct tfd_prepare *p, void **state,
                               struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;
    void *made = NULL;

    if (k->state_size > 0) {
        made = calloc(1, k->state_size);
        if (!made)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "no memory for the kernel of " TFD_STR_FMT,
                            TFD_STR_ARG(p->node->name));
    }
    if (k->prepare)
        rc = k->prepare(p, made, st);
    if (rc != TFD_OK) {
        tfd_exec_release(k, made);
        return rc;
    }
    *state = made;
    return TFD_OK;
}

void tfd_exec_release(const struct tfd_kernel *k, void *state)
{
    if (state && k->release)
        k->release(state);
    free(state);
}

struct tfd_function_table *tfd_compile_functions(const struct tfd_prepare *p)
{
    return ((const struct binding *)p)->c->env->functions;
}

static enum tfd_code bind_kernel(struct tfd_compiler *c,
                                 struct tfd_exec_node *x, struct tfd_status *st)
{
    const struct tfd_kernel *k = x->kernel;
    struct binding b = {{x->node, x->rt, tfd_registry_loop}, c};
    struct tfd_exec *e = c->e;

    if (k->flags & TFD_KERNEL_SHARED)
        return c->env->shared(c->env->session, k, &b.prepare, e->graph,
                              &x->state, st);
    TFD_TRY(tfd_exec_prepare(k, &b.prepare, &x->state, st));
    if (x->state)
        e->states[e->state_count++] = (struct tfd_exec_state){k, x->state};
    return TFD_OK;
}

static enum tfd_code bind_kernels(struct tfd_compiler *c, struct tfd_status *st)
{
    struct tfd_exec *e = c->e;

    e->states = tfd_arena_array(&e->arena, (size_t)e->node_count + 1,
                                sizeof(*e->states));
    TFD_TRY(tfd_arena_check(e->states, "states of kernels", st));
    for (int32_t i = 0; i < e->node_count; i++) {
        struct tfd_exec_node *x = &e->nodes[i];

        if (!x->kernel || x->kernel == &tfd_cross_copy_kernel || x->chain)
            continue;
        if (bind_kernel(c, x, st) != TFD_OK) {
            struct tfd_str name = x->node->name;

            if (!st)
                return TFD_INTERNAL;
            snprintf(st->text + strlen(st->text),
                     sizeof(st->text) - strlen(st->text),
                     "\n\t [[{{node " TFD_STR_FMT "}}]]", TFD_STR_ARG(name));
            return st->code;
        }
    }
    return TFD_OK;
}

/* ---- Keys ---------------------------------------------------------------- */

struct ends {
    struct tfd_str send_device, recv_device, tensor_name;
    int64_t incarnation;
};

static enum tfd_code read_ends(const struct tfd_node *n, struct ends *ends,
                               struct tfd_status *st)
{
    TFD_TRY(tfd_node_str(n, "send_device", &ends->send_device, st));
    TFD_TRY(tfd_node_str(n, "recv_device", &ends->recv_device, st));
    TFD_TRY(tfd_node_str(n, "tensor_name", &ends->tensor_name, st));
    return tfd_node_int(n, "send_device_incarnation", &ends->incarnation, st);
}

/* "SEND;INCARNATION;RECV;NAME" and the suffix, in the graph's arena. */
static enum tfd_code make_key(struct tfd_exec *e, const struct ends *ends,
                              const char *suffix, const char **out,
                              struct tfd_status *st)
{
    struct tfd_bytes b;
    struct tfd_str key = {NULL, 0};
    enum tfd_code rc;

    tfd_bytes_init(&b, 4 * TFD_NAME_SIZE_MAX);
    tfd_bytes_add_str(&b, ends->send_device);
    tfd_bytes_printf(&b, ";%016" PRIx64 ";", (uint64_t)ends->incarnation);
    tfd_bytes_add_str(&b, ends->recv_device);
    tfd_bytes_add(&b, ";", 1);
    tfd_bytes_add_str(&b, ends->tensor_name);
    tfd_bytes_add_str(&b, tfd_str_of(suffix));
    rc = tfd_bytes_ok(&b, "a rendezvous key", st);
    if (rc == TFD_OK) {
        key = tfd_arena_str(&e->arena, tfd_bytes_view(&b));
        rc = tfd_arena_check(key.data, "a rendezvous key", st);
    }
    tfd_bytes_deinit(&b);
    *out = key.data;
    return rc;
}

/* ---- Channels ------------------------------------------------------------ */

static enum tfd_code grow_channels(struct tfd_exec *e, struct tfd_status *st)
{
    int32_t capacity = e->channel_capacity ? 2 * e->channel_capacity : 8;
    struct tfd_exec_channel *more =
        tfd_arena_array(&e->arena, (size_t)capacity, sizeof(*more));

    TFD_TRY(tfd_arena_check(more, "channels", st));
    for (int32_t i = 0; i < e->channel_count; i++)
        more[i] = e->channels[i];
    e->channels = more;
    e->channel_capacity = capacity;
    return TFD_OK;
}

enum tfd_code tfd_rt_channel(const struct tfd_prepare *p, bool sends,
                             int *channel, struct tfd_status *st)
{
    struct tfd_compiler *c = ((const struct binding *)p)->c;
    struct tfd_exec *e = c->e;
    struct tfd_exec_channel x = {.sends = sends, .peer = -1};
    struct tfd_str device, present;
    struct ends ends;
    int64_t number;

    TFD_TRY(read_ends(p->node, &ends, st));
    TFD_TRY(make_key(e, &ends, "", &x.key, st));
    x.hash = tfd_hash_str(tfd_str_of(x.key));
    device = sends ? ends.recv_device : ends.send_device;
    x.local = tfd_devices_find(c->env->devices, device) != NULL;
    x.device = tfd_arena_str(&e->arena, device).data;
    TFD_TRY(tfd_arena_check(x.device, "a device's name", st));
    if (tfd_node_attr(p->node, "_tfd_channel", &present)) {
        TFD_TRY(tfd_node_int(p->node, "_tfd_channel", &number, st));
        if (number < 0 || number > UINT32_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "_tfd_channel of " TFD_STR_FMT " is %" PRId64
                            " and must be in [0, 2^32)",
                            TFD_STR_ARG(p->node->name), number);
        x.pushes = true;
        x.number = (uint32_t)number;
        x.hash = tfd_rendezvous_push_hash(x.number);
    }
    if (e->channel_count == e->channel_capacity)
        TFD_TRY(grow_channels(e, st));
    *channel = e->channel_count;
    e->channels[e->channel_count++] = x;
    e->local_channels += !sends || x.local || !x.pushes;
    return TFD_OK;
}

/* ---- Feeds and fetches --------------------------------------------------- */

/* An _Arg or a _Retval; all indices below the function's counts are there. */
static enum tfd_code bind_index(struct tfd_exec_node *x,
                                struct tfd_exec_feed *table, int32_t *count,
                                struct tfd_status *st)
{
    int64_t index;

    TFD_TRY(tfd_node_int(x->node, "index", &index, st));
    if (index < 0 || index >= *count || table[index].node)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "index %lld of {{node " TFD_STR_FMT
                        "}} is taken or out of range",
                        (long long)index, TFD_STR_ARG(x->node->name));
    table[index].node = x;
    x->value = (int32_t)index;
    return TFD_OK;
}

static enum tfd_code bind_end(struct tfd_compiler *c, struct tfd_exec_node *x,
                              struct tfd_exec_feed *table, int32_t *count,
                              const struct tfd_map *positions,
                              struct tfd_status *st)
{
    struct ends ends;
    uintptr_t at;

    TFD_TRY(read_ends(x->node, &ends, st));
    if (!tfd_map_get(positions, ends.tensor_name, &at))
        at = (uintptr_t)(*count)++;
    if (table[at].node)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "two nodes are fed or fetched as " TFD_STR_FMT,
                        TFD_STR_ARG(ends.tensor_name));
    table[at].node = x;
    x->value = (int32_t)at;
    return make_key(c->e, &ends, ";0:0", &table[at].key, st);
}

/* Names of one kind -> position.  Borrowed keys: the caller's names. */
static enum tfd_code map_positions(struct tfd_map *m,
                                   const struct tfd_str *names, int count,
                                   struct tfd_status *st)
{
    for (int i = 0; i < count; i++)
        if (!tfd_map_put(m, names[i], (uintptr_t)i))
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for feeds");
    return TFD_OK;
}

static enum tfd_code bind_kind(struct tfd_compiler *c, uint8_t kind,
                               const struct tfd_str *names, int name_count,
                               struct tfd_exec_feed **table, int32_t *count,
                               struct tfd_status *st)
{
    struct tfd_exec *e = c->e;
    struct tfd_map positions;
    int32_t nodes = 0;
    enum tfd_code rc;

    for (int32_t i = 0; i < e->node_count; i++)
        nodes += e->nodes[i].kind == kind;
    *count = name_count;
    *table = tfd_arena_array(&e->arena, (size_t)(nodes + name_count) + 1,
                             sizeof(**table));
    TFD_TRY(tfd_arena_check(*table, "feeds and fetches", st));
    tfd_map_init(&positions);
    rc = map_positions(&positions, names, name_count, st);
    if (c->env->is_function)
        *count = nodes;
    for (int32_t i = 0; rc == TFD_OK && i < e->node_count; i++)
        if (e->nodes[i].kind == kind)
            rc = c->env->is_function
                     ? bind_index(&e->nodes[i], *table, count, st)
                     : bind_end(c, &e->nodes[i], *table, count, &positions, st);
    tfd_map_deinit(&positions);
    return rc;
}

enum tfd_code tfd_compile_bind(struct tfd_compiler *c, struct tfd_status *st)
{
    const struct tfd_compile_env *env = c->env;
    struct tfd_exec *e = c->e;

    TFD_TRY(bind_kind(c, TFD_EXEC_FEED, env->feeds, env->feed_count, &e->feeds,
                      &e->feed_count, st));
    TFD_TRY(bind_kind(c, TFD_EXEC_FETCH, env->fetches, env->fetch_count,
                      &e->fetches, &e->fetch_count, st));
    return bind_kernels(c, st);
}
