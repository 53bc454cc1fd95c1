/*
 * data_nodes.c - see data_nodes.h.
 *
 * Datasets are visited depth first, with a stack of our own: each visit goes on
 * with the next input, and an input that is not a node yet is visited first.
 */
#include "kernels/data_graph/data_nodes.h"

#include "common/base/container.h"
#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

struct visit {
    struct tfd_dataset *dataset;
    struct visit *below;
};

struct filling {
    struct tfd_data_nodes *g;
    struct visit *top;
    struct tfd_status *st;
};

void tfd_data_nodes_init(struct tfd_data_nodes *g)
{
    memset(g, 0, sizeof(*g));
    tfd_arena_init(&g->arena, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_map_init(&g->by_dataset);
}

void tfd_data_nodes_deinit(struct tfd_data_nodes *g)
{
    tfd_map_deinit(&g->by_dataset);
    tfd_arena_deinit(&g->arena);
    free(g->node);
}

static enum tfd_code no_room(struct tfd_status *st)
{
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "no memory for the graph of a dataset");
}

static enum tfd_code more_room(struct tfd_data_nodes *g, struct tfd_status *st)
{
    int32_t capacity = g->capacity ? 2 * g->capacity : 16;
    struct tfd_data_node **bigger;

    if (g->count < g->capacity)
        return TFD_OK;
    if (g->count >= TFD_GRAPH_NODES_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "a dataset is made of more than %d others",
                        TFD_GRAPH_NODES_MAX);
    bigger =
        realloc(g->node, (size_t)capacity * sizeof(struct tfd_data_node *));
    if (!bigger)
        return no_room(st);
    g->node = bigger;
    g->capacity = capacity;
    return TFD_OK;
}

enum tfd_code tfd_data_nodes_add(struct tfd_data_nodes *g, struct tfd_str op,
                                 int32_t in_count, struct tfd_data_node **out,
                                 struct tfd_status *st)
{
    struct tfd_data_node *n = tfd_arena_alloc(&g->arena, sizeof(*n));

    TFD_TRY(more_room(g, st));
    if (!n)
        return no_room(st);
    n->op = op;
    n->in_count = in_count;
    n->in = tfd_arena_array(&g->arena, (size_t)in_count + 1, sizeof(*n->in));
    if (!n->in)
        return no_room(st);
    for (int32_t i = 0; i < in_count; i++)
        n->in[i].node = -1;
    g->node[g->count++] = n;
    *out = n;
    return TFD_OK;
}

bool tfd_data_node_attr(const struct tfd_data_node *n, const char *name,
                        struct tfd_str *value)
{
    for (int32_t i = 0; i < n->attr_count; i++)
        if (tfd_str_is(n->attrs[i].name, name)) {
            *value = n->attrs[i].value;
            return true;
        }
    return false;
}

/* ---- Inputs -------------------------------------------------------------- */

static struct tfd_str dataset_key(struct tfd_dataset *const *d)
{
    return (struct tfd_str){(const char *)d, sizeof(struct tfd_dataset *)};
}

static bool find_node(const struct tfd_data_nodes *g, struct tfd_dataset *d,
                      int32_t *out)
{
    uintptr_t value;

    if (!tfd_map_get(&g->by_dataset, dataset_key(&d), &value))
        return false;
    *out = (int32_t)value;
    return true;
}

/* Datasets in a tensor: as many as it has elements, else none. */
static int64_t datasets_in(const struct tfd_tensor *t)
{
    struct tfd_variant *const *v = tfd_tensor_data(t);
    int64_t count = tfd_tensor_elements(t);

    if (t->dtype != TFD_VARIANT || t->shape.rank > 1)
        return 0;
    for (int64_t i = 0; i < count; i++)
        if (!v[i] || v[i]->kind != TFD_VARIANT_OBJECT ||
            v[i]->object->type != &tfd_dataset_type)
            return 0;
    return count;
}

static struct tfd_dataset *dataset_at(const struct tfd_tensor *t, int64_t i)
{
    struct tfd_variant *const *v = tfd_tensor_data(t);

    return TFD_CONTAINER_OF(v[i]->object, struct tfd_dataset, object);
}

static enum tfd_code push(struct filling *f, struct tfd_dataset *d)
{
    struct visit *v = malloc(sizeof(*v));

    if (!v)
        return no_room(f->st);
    v->dataset = d;
    v->below = f->top;
    f->top = v;
    return TFD_OK;
}

/* The last one is pushed first, so that the first is visited next. */
static enum tfd_code push_missing(struct filling *f, const struct tfd_tensor *t)
{
    int32_t node;

    for (int64_t i = datasets_in(t) - 1; i >= 0; i--)
        if (!find_node(f->g, dataset_at(t, i), &node))
            TFD_TRY(push(f, dataset_at(t, i)));
    return TFD_OK;
}

/* A vector of datasets is packed. */
static enum tfd_code add_pack(struct filling *f, const struct tfd_tensor *t,
                              int32_t *out)
{
    static const struct tfd_attr attrs[] = {
        {TFD_STR_INIT("T"), TFD_STR_INIT("\x30\x15")}, /* DT_VARIANT */
        {TFD_STR_INIT("axis"), TFD_STR_INIT("\x18\x00")},
    };
    int64_t count = datasets_in(t);
    struct tfd_data_node *n;

    TFD_TRY(
        tfd_data_nodes_add(f->g, TFD_STR("Pack"), (int32_t)count, &n, f->st));
    n->attrs = attrs;
    n->attr_count = 2;
    for (int64_t i = 0; i < count; i++)
        if (!find_node(f->g, dataset_at(t, i), &n->in[i].node))
            return no_room(f->st);
    *out = f->g->count - 1;
    return TFD_OK;
}

static enum tfd_code set_input(struct filling *f, const struct tfd_tensor *t,
                               struct tfd_data_input *in)
{
    in->node = -1;
    in->value = t;
    if (datasets_in(t) == 0)
        return TFD_OK;
    if (t->shape.rank == 1)
        return add_pack(f, t, &in->node);
    return find_node(f->g, dataset_at(t, 0), &in->node) ? TFD_OK
                                                        : no_room(f->st);
}

/* ---- Visits -------------------------------------------------------------- */

static enum tfd_code add_dataset(struct filling *f, struct tfd_dataset *d)
{
    struct tfd_data_input *in =
        tfd_arena_array(&f->g->arena, (size_t)d->arg_count + 1, sizeof(*in));
    struct tfd_data_node *n;

    if (!in)
        return no_room(f->st);
    for (int i = 0; i < d->arg_count; i++)
        TFD_TRY(set_input(f, &d->args[i], &in[i]));
    TFD_TRY(tfd_data_nodes_add(f->g, d->recipe->op, 0, &n, f->st));
    n->in = in;
    n->in_count = d->arg_count;
    n->attrs = d->recipe->attrs;
    n->attr_count = d->recipe->attr_count;
    n->dataset = d;
    return tfd_map_put(&f->g->by_dataset, dataset_key(&n->dataset),
                       (uintptr_t)(f->g->count - 1))
               ? TFD_OK
               : no_room(f->st);
}

static enum tfd_code visit(struct filling *f)
{
    struct visit *v = f->top;
    struct tfd_dataset *d = v->dataset;
    int32_t node;

    if (!d->recipe)
        return tfd_fail(f->st, TFD_UNIMPLEMENTED,
                        "%sDataset does not support serialization",
                        d->kind->name ? d->kind->name : "");
    if (!find_node(f->g, d, &node)) {
        for (int i = d->arg_count - 1; i >= 0; i--)
            TFD_TRY(push_missing(f, &d->args[i]));
        if (f->top != v)
            return TFD_OK; /* it has its turn again behind them */
        TFD_TRY(add_dataset(f, d));
    }
    f->top = v->below;
    free(v);
    return TFD_OK;
}

static enum tfd_code add_sink(struct filling *f, const struct tfd_tensor *t)
{
    static const struct tfd_attr attrs[] = {
        {TFD_STR_INIT("index"), TFD_STR_INIT("\x18\x00")},
        {TFD_STR_INIT("T"), TFD_STR_INIT("\x30\x15")}, /* DT_VARIANT */
    };
    struct tfd_data_node *n;

    TFD_TRY(tfd_data_nodes_add(f->g, TFD_STR("_Retval"), 1, &n, f->st));
    n->attrs = attrs;
    n->attr_count = 2;
    f->g->sink = f->g->count - 1;
    return set_input(f, t, &n->in[0]);
}

enum tfd_code tfd_data_nodes_fill(struct tfd_data_nodes *g,
                                  const struct tfd_tensor *dataset,
                                  struct tfd_status *st)
{
    struct filling f = {.g = g, .st = st};
    struct tfd_dataset *sink;
    enum tfd_code rc = tfd_dataset_of(dataset, &sink, st);

    if (rc == TFD_OK)
        rc = push(&f, sink);

    while (rc == TFD_OK && f.top)
        rc = visit(&f);
    while (f.top) {
        struct visit *v = f.top;

        f.top = v->below;
        free(v);
    }
    return rc == TFD_OK ? add_sink(&f, dataset) : rc;
}
