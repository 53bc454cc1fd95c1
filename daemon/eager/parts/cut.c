/*
 * cut.c - see cut.h.
 *
 * Arguments are Placeholders on their devices and results Identities while the
 * graph is rewritten (part_def.h).
 */
#include "daemon/eager/parts/cut.h"

#include "common/proto/graphdef.h"
#include "config/limits.h"
#include "daemon/eager/body.h"
#include "daemon/eager/graph_ends.h"
#include "daemon/eager/parts/unpack.h"
#include "daemon/rewrite/added_node.h"
#include "daemon/rewrite/functions.h"
#include "daemon/rewrite/partition.h"
#include "daemon/rewrite/place.h"
#include "daemon/rewrite/prune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cutter {
    struct tfd_eager_cut *c;
    struct tfd_eager_body body;
    struct tfd_graph *graph;
    int32_t *device_of; /* by node */
    struct tfd_arena arena;
    struct tfd_bytes *defs; /* by worker */
    struct tfd_status *st;
};

/* ---- The whole graph ----------------------------------------------------- */

static enum tfd_code device_asked(void *ctx, struct tfd_str asked,
                                  struct tfd_str *out, struct tfd_status *st)
{
    (void)ctx;
    (void)st;
    *out = asked;
    return TFD_OK;
}

static void put_end(struct cutter *x, const char *prefix, int number,
                    const char *op, const char *type_attr, int type,
                    struct tfd_str device, const struct tfd_str *in)
{
    char name[TFD_EAGER_END_NAME_MAX];
    struct tfd_added_node a;
    struct tfd_nodedef def = {
        .op = tfd_str_of(op),
        .device = device,
        .in = in,
        .in_count = in ? 1 : 0,
    };

    snprintf(name, sizeof(name), "%s%d", prefix, number);
    def.name = tfd_str_of(name);
    tfd_added_node_init(&a);
    tfd_attr_put_type(tfd_added_node_attr(&a, type_attr), type);
    tfd_added_node_put(&a, &x->body.def, &def);
}

static struct tfd_str device_name(const struct tfd_eager_cut *c, int device)
{
    return tfd_str_of(c->devices->devices[device].attributes.name);
}

static enum tfd_code put_graph(struct cutter *x)
{
    struct tfd_eager_body *b = &x->body;
    struct tfd_eager_cut *c = x->c;
    struct tfd_str from;

    for (int i = 0; i < c->value_count; i++)
        put_end(x, TFD_EAGER_CUT_ARG, i, "Placeholder", "dtype",
                b->body.arg_types[c->arg_of[i]],
                device_name(c, c->arg_device[i]), NULL);
    TFD_TRY(tfd_eager_body_put_nodes(b));
    for (int i = 0; i < b->body.ret_count; i++) {
        TFD_TRY(tfd_eager_body_edge(b, b->body.ret[i], &from));
        put_end(x, TFD_EAGER_CUT_RESULT, i, "Identity", "T",
                b->body.ret_types[i], TFD_STR_EMPTY, &from);
    }
    return tfd_eager_body_end(b);
}

/* An argument's node is that of its first value. */
static enum tfd_code number_args(struct cutter *x)
{
    struct tfd_eager_cut *c = x->c;
    int *numbers =
        tfd_arena_array(&x->arena, (size_t)c->arg_count + 1, sizeof(*numbers));

    TFD_TRY(tfd_arena_check(numbers, "a function's arguments", x->st));
    for (int i = c->value_count - 1; i >= 0; i--)
        numbers[c->arg_of[i]] = i;
    x->body.arg_number = numbers;
    return TFD_OK;
}

static enum tfd_code write_graph(struct cutter *x)
{
    struct tfd_eager_body *b = &x->body;
    struct tfd_eager_cut *c = x->c;

    if (c->op.size > 0) {
        tfd_bytes_add_str(&b->def, tfd_bytes_view(&c->op));
        return tfd_bytes_ok(&b->def, "an op", x->st);
    }
    TFD_TRY(number_args(x));
    b->arg_name = TFD_EAGER_CUT_ARG;
    b->device = device_asked;
    tfd_bytes_add_str(&b->library, tfd_bytes_view(&c->library));
    TFD_TRY(tfd_eager_body_read(b, &c->registry->ops, c->name));
    if (b->body.arg_count != c->arg_count)
        return tfd_fail(x->st, TFD_INVALID_ARGUMENT,
                        "InstantiateOptions.input_devices must have the same "
                        "length as the number of arguments: input_devices "
                        "length = %d number of arguments = %d",
                        c->arg_count, b->body.arg_count);
    c->result_count = b->body.ret_count;
    return put_graph(x);
}

/* What it calls is expanded, since one op runs in one task. */
static enum tfd_code read_graph(struct cutter *x)
{
    const struct tfd_expand how = {.across_tasks = true, .stop = x->c->stop};
    int32_t first;

    x->graph = tfd_graph_new(&x->c->registry->ops, x->st);
    if (!x->graph)
        return TFD_RESOURCE_EXHAUSTED;
    TFD_TRY(tfd_graphdef_import(x->graph, tfd_bytes_view(&x->body.def), NULL,
                                &first, x->st));
    TFD_TRY(tfd_functions_expand(x->graph, first, &how, x->st));
    return x->c->value_count > x->c->arg_count
               ? tfd_eager_unpack(x->c, x->graph, x->st)
               : TFD_OK;
}

/* ---- Places -------------------------------------------------------------- */

static const struct tfd_node *find_end(const struct cutter *x,
                                       const char *prefix, int number)
{
    char name[TFD_EAGER_END_NAME_MAX];

    snprintf(name, sizeof(name), "%s%d", prefix, number);
    return tfd_graph_find(x->graph, tfd_str_of(name));
}

/* Who makes the value, where nodes in between only pass it on. */
static const struct tfd_node *maker_of(const struct cutter *x,
                                       const struct tfd_node *result)
{
    const struct tfd_node *n = x->graph->nodes[result->in[0].node];

    while (n->device.size == 0 && tfd_str_is(n->op->name, "Identity"))
        n = x->graph->nodes[n->in[0].node];
    return n;
}

static bool is_arg(const struct tfd_node *n)
{
    return tfd_str_starts(n->name, TFD_EAGER_CUT_ARG);
}

static void place_result(struct cutter *x, int number)
{
    const struct tfd_node *n = find_end(x, TFD_EAGER_CUT_RESULT, number);
    const struct tfd_node *maker = maker_of(x, n);
    int32_t *device = &x->device_of[n->id];

    if (x->c->op.size > 0)
        *device = x->c->on;
    else if (n->out_types[0] != TFD_RESOURCE)
        *device = maker->device.size > 0 &&
                          (n->out_types[0] != TFD_VARIANT || is_arg(maker))
                      ? x->device_of[maker->id]
                      : x->c->on;
    x->c->result_device[number] = *device;
}

static enum tfd_code place(struct cutter *x)
{
    const struct tfd_place_request r = {
        .graph = x->graph,
        .registry = x->c->registry,
        .devices = x->c->devices,
        .soft = true,
    };
    size_t count = (size_t)x->graph->count + 1;

    x->device_of = calloc(count, sizeof(*x->device_of));
    x->c->result_device =
        calloc((size_t)x->c->result_count + 1, sizeof(*x->c->result_device));
    if (!x->device_of || !x->c->result_device)
        return tfd_fail(x->st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to place %d nodes", x->graph->count);
    TFD_TRY(tfd_place(&r, x->device_of, x->st));
    for (int i = 0; i < x->c->result_count; i++)
        place_result(x, i);
    return TFD_OK;
}

/* ---- Parts --------------------------------------------------------------- */

/* Results, what has an effect, and what the function says it ends with. */
static enum tfd_code choose_targets(struct cutter *x, struct tfd_signature *sig)
{
    const struct tfd_body *b = &x->body.body;
    size_t room = (size_t)x->graph->count + (size_t)b->control_ret_count + 1;
    struct tfd_str *targets =
        tfd_arena_array(&x->arena, room, sizeof(*targets));
    int count = 0;

    TFD_TRY(tfd_arena_check(targets, "a function's effects", x->st));
    for (int32_t i = 0; i < x->graph->count; i++) {
        const struct tfd_node *n = x->graph->nodes[i];

        if (n->op->flags & TFD_OP_STATEFUL ||
            tfd_str_starts(n->name, TFD_EAGER_CUT_RESULT))
            targets[count++] = n->name;
    }
    for (int32_t i = 0; i < b->control_ret_count; i++)
        if (b->nodes[b->control_ret[i]].arg < 0)
            targets[count++] = b->nodes[b->control_ret[i]].node.name;
    *sig = (struct tfd_signature){.targets = targets, .target_count = count};
    return TFD_OK;
}

static enum tfd_code partition(struct cutter *x)
{
    struct tfd_signature sig;
    struct tfd_pruned pruned;
    int64_t suffix = 0;
    const struct tfd_partition_request r = {
        .graph = x->graph,
        .pruned = &pruned,
        .signature = &sig,
        .devices = x->c->devices,
        .device_of = x->device_of,
        .native = x->c->native,
        .worker_count = x->c->worker_count,
        .suffix = &suffix,
        .stop = x->c->stop,
        .arena = &x->arena,
    };

    TFD_TRY(choose_targets(x, &sig));
    if (sig.target_count == 0)
        return TFD_OK;
    TFD_TRY(tfd_prune(x->graph, &sig, &x->arena, &pruned, x->st));
    return tfd_partition(&r, x->defs, x->st);
}

char *tfd_eager_cut_name(const struct tfd_eager_cut *c, int worker)
{
    size_t size = c->part_name.size + 16;
    char *name = malloc(size);

    if (name)
        snprintf(name, size, TFD_STR_FMT "_%d", TFD_STR_ARG(c->part_name),
                 worker);
    return name;
}

static enum tfd_code make_part(struct cutter *x, int worker)
{
    struct tfd_eager_cut *c = x->c;
    char *name = tfd_eager_cut_name(c, worker);
    enum tfd_code rc;

    if (!name)
        return tfd_fail(x->st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a function's part");
    rc = tfd_eager_part_def_make(
        &c->registry->ops, tfd_bytes_view(&x->defs[worker]), c->value_count,
        c->result_count,
        worker == 0 ? &c->devices->devices[c->on].attributes : NULL,
        tfd_str_of(name), &c->parts[worker], x->st);
    free(name);
    return rc;
}

static enum tfd_code make_parts(struct cutter *x)
{
    for (int w = 0; w < x->c->worker_count; w++)
        if (x->defs[w].size > 0)
            TFD_TRY(make_part(x, w));
    return TFD_OK;
}

/* ---- All ----------------------------------------------------------------- */

static enum tfd_code run_cut(struct cutter *x)
{
    size_t workers = (size_t)x->c->worker_count;

    x->c->parts = calloc(workers, sizeof(*x->c->parts));
    x->defs = calloc(workers, sizeof(*x->defs));
    if (!x->c->parts || !x->defs)
        return tfd_fail(x->st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a function's parts");
    for (size_t w = 0; w < workers; w++)
        tfd_bytes_init(&x->defs[w], (size_t)TFD_GRAPH_SIZE_MAX);
    TFD_TRY(write_graph(x));
    TFD_TRY(read_graph(x));
    TFD_TRY(place(x));
    TFD_TRY(partition(x));
    return make_parts(x);
}

enum tfd_code tfd_eager_cut_make(struct tfd_eager_cut *c, struct tfd_status *st)
{
    struct cutter x = {.c = c, .st = st};
    enum tfd_code rc;

    tfd_eager_body_init(&x.body, st);
    tfd_arena_init(&x.arena, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = run_cut(&x);
    for (int w = 0; x.defs && w < c->worker_count; w++)
        tfd_bytes_deinit(&x.defs[w]);
    free(x.defs);
    free(x.device_of);
    tfd_graph_unref(x.graph);
    tfd_arena_deinit(&x.arena);
    tfd_eager_body_deinit(&x.body);
    return rc;
}

void tfd_eager_cut_deinit(struct tfd_eager_cut *c)
{
    for (int w = 0; c->parts && w < c->worker_count; w++)
        tfd_eager_part_def_deinit(&c->parts[w]);
    free(c->parts);
    free(c->result_device);
    free(c->arg_device);
    free(c->arg_of);
    free(c->native);
    tfd_bytes_deinit(&c->library);
    tfd_bytes_deinit(&c->op);
    c->parts = NULL;
    c->native = NULL;
    c->result_device = c->arg_device = c->arg_of = NULL;
}
