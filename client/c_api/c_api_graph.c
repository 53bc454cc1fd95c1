/*
 * c_api_graph.c - graphs: their operations and what is asked of the whole.
 *
 * Operations are numbered like the nodes they stand for.  Each lies in the
 * graph's arena, so its address stays; only the array that finds it by number
 * is reallocated.
 */
#include "client/c_api/capi.h"

#include "common/base/atomic.h"
#include "common/graph/deprecated.h"
#include "common/proto/graphdef.h"
#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "common/base/shape_long.h"
#include "common/graph/unknown_ops.h"
#include "config/limits.h"

#include <assert.h>
#include <stdlib.h>

/* The oldest release that may read our graphs; what TensorFlow writes. */
#define MIN_CONSUMER 12

/* ---- Life ---------------------------------------------------------------- */

TF_Graph *TF_NewGraph(void)
{
    const struct tfd_registry *r = tfd_capi_registry(NULL);
    TF_Graph *g = calloc(1, sizeof(*g));

    if (!g || !r || !(g->graph = tfd_graph_new(&r->ops, NULL))) {
        free(g);
        return NULL;
    }
    g->refs = 1;
    tfd_bytes_init(&g->frames, TFD_GRAPH_NODES_MAX * sizeof(struct tfd_str));
    g->graph->versions =
        (struct tfd_versions){TFD_GRAPH_DEF_VERSION, MIN_CONSUMER};
    tfd_lock_init(&g->lock, TFD_LOCK_CLIENT_GRAPH);
    return g;
}

TF_Graph *tfd_capi_graph_ref(TF_Graph *g)
{
    tfd_refs_add(&g->refs, 1);
    return g;
}

void tfd_capi_graph_unref(TF_Graph *g)
{
    if (!g || !tfd_refs_drop(&g->refs))
        return;
    tfd_capi_graph_unref(g->parent); /* which has none itself, or ends too */
    free(g->loop_inputs);
    tfd_bytes_deinit(&g->frames);
    tfd_graph_unref(g->graph);
    free(g->operations);
    tfd_lock_deinit(&g->lock);
    free(g);
}

void TF_DeleteGraph(TF_Graph *graph)
{
    tfd_capi_graph_unref(graph);
}

/* ---- Growth -------------------------------------------------------------- */

static enum tfd_code reserve_nodes(TF_Graph *g, int32_t count,
                                   struct tfd_status *st)
{
    int32_t capacity = g->capacity ? g->capacity : 64;
    TF_Operation **operations;

    while (capacity < count) /* at most TFD_GRAPH_NODES_MAX: no overflow */
        capacity *= 2;
    if (capacity == g->capacity)
        return TFD_OK;
    operations =
        realloc(g->operations, (size_t)capacity * sizeof(TF_Operation *));
    if (!operations)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for operations");
    g->operations = operations;
    g->capacity = capacity;
    return TFD_OK;
}

static enum tfd_code adopt_one(TF_Graph *g, struct tfd_node *n,
                               struct tfd_status *st)
{
    TF_Operation *op = tfd_arena_alloc(&g->graph->arena, sizeof(*op));

    TFD_TRY(tfd_arena_check(op, "an operation", st));
    op->graph = g;
    op->node = n;
    op->shapes = tfd_arena_array(&g->graph->arena, (size_t)n->out_count + 1,
                                 sizeof(*op->shapes));
    TFD_TRY(tfd_arena_check(op->shapes, "shapes", st));
    TFD_TRY(tfd_capi_infer(g, op, st));
    g->operations[g->operation_count++] = op;
    return TFD_OK;
}

void tfd_capi_truncate(TF_Graph *g, int32_t count)
{
    tfd_graph_truncate(g->graph, count);
    if (g->operation_count > count)
        g->operation_count = count;
}

enum tfd_code tfd_capi_adopt(TF_Graph *g, int32_t first, struct tfd_status *st)
{
    enum tfd_code rc = reserve_nodes(g, g->graph->count, st);

    assert(tfd_lock_held(&g->lock));
    while (rc == TFD_OK && g->operation_count < g->graph->count)
        rc = adopt_one(g, g->graph->nodes[g->operation_count], st);
    if (rc != TFD_OK)
        tfd_capi_truncate(g, first);
    return rc;
}

enum tfd_code tfd_capi_add(TF_Graph *g, const struct tfd_node_spec *spec,
                           TF_Operation **out, struct tfd_status *st)
{
    int32_t first = g->graph->count;

    assert(tfd_lock_held(&g->lock));
    TFD_TRY(tfd_deprecated_check(spec->op, g->graph->versions.producer, st));
    TFD_TRY(tfd_graph_add(g->graph, spec, NULL, st));
    TFD_TRY(tfd_capi_adopt(g, first, st));
    *out = g->operations[first];
    return TFD_OK;
}

/* ---- Finding ------------------------------------------------------------- */

TF_Output tfd_capi_output(const TF_Graph *g, struct tfd_edge e)
{
    if (e.node < 0 || e.node >= g->operation_count)
        return (TF_Output){NULL, -1};
    return (TF_Output){g->operations[e.node], e.output};
}

enum tfd_code tfd_capi_edge(const TF_Graph *g, TF_Output output,
                            struct tfd_edge *out, struct tfd_status *st)
{
    const struct tfd_node *n;

    if (!output.oper || output.oper->graph != g)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s",
                        output.oper ? "an output of another graph was given"
                                    : "an output without operation was given");
    n = output.oper->node;
    if (output.index < 0 || output.index >= n->out_count)
        return tfd_fail(st, TFD_OUT_OF_RANGE,
                        "Node '" TFD_STR_FMT "' (type: '" TFD_STR_FMT
                        "', num of outputs: %d) does not have output %d",
                        TFD_STR_ARG(n->name), TFD_STR_ARG(n->op->name),
                        n->out_count, output.index);
    *out = (struct tfd_edge){n->id, output.index};
    return TFD_OK;
}

TF_Operation *TF_GraphOperationByName(TF_Graph *graph, const char *name)
{
    const struct tfd_node *n;
    TF_Operation *op = NULL;

    tfd_lock(&graph->lock);
    n = tfd_graph_find(graph->graph, tfd_str_of(name));
    if (n)
        op = graph->operations[n->id];
    tfd_unlock(&graph->lock);
    return op;
}

TF_Operation *TF_GraphNextOperation(TF_Graph *graph, size_t *pos)
{
    TF_Operation *op = NULL;

    tfd_lock(&graph->lock);
    if (*pos < (size_t)graph->operation_count)
        op = graph->operations[(*pos)++];
    tfd_unlock(&graph->lock);
    return op;
}

/* ---- Shapes -------------------------------------------------------------- */

/* TensorFlow's words where shapes are asked for and set. */
static enum tfd_code check_shaped(const TF_Graph *g, TF_Output output,
                                  struct tfd_status *st)
{
    const struct tfd_node *n;
    struct tfd_edge e;

    if (!output.oper)
        return tfd_capi_edge(g, output, &e, st);
    n = output.oper->node;
    if (output.oper->graph != g)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Node " TFD_STR_FMT " was not found in the graph",
                        TFD_STR_ARG(n->name));
    if (output.index >= 0 && output.index < n->out_count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "output_port '%d' is out of range, node '" TFD_STR_FMT
                    "' has %d outputs",
                    output.index, TFD_STR_ARG(n->name), n->out_count);
}

static enum tfd_code set_shape(TF_Graph *g, TF_Output output,
                               const int64_t *dims, int num_dims,
                               struct tfd_status *st)
{
    struct tfd_shape shape = TFD_SHAPE_UNKNOWN;

    TFD_TRY(check_shaped(g, output, st));
    if (num_dims != TFD_RANK_UNKNOWN)
        TFD_TRY(tfd_shape_make_any_partial(&shape, dims, num_dims, st));
    return tfd_shape_merge(&output.oper->shapes[output.index], &shape, st);
}

void TF_GraphSetTensorShape(TF_Graph *graph, TF_Output output,
                            const int64_t *dims, const int num_dims,
                            TF_Status *status)
{
    struct tfd_status *st = tfd_capi_status(status);

    tfd_lock(&graph->lock);
    (void)!set_shape(graph, output, dims, num_dims, st);
    tfd_unlock(&graph->lock);
}

/* False, and *st says why, when there is no such output. */
static bool shape_of(TF_Graph *g, TF_Output output, struct tfd_shape *out,
                     struct tfd_status *st)
{
    tfd_lock(&g->lock);
    if (check_shaped(g, output, st) == TFD_OK)
        *out = output.oper->shapes[output.index];
    tfd_unlock(&g->lock);
    return st->code == TFD_OK;
}

int TF_GraphGetTensorNumDims(TF_Graph *graph, TF_Output output,
                             TF_Status *status)
{
    struct tfd_shape shape = TFD_SHAPE_UNKNOWN;

    if (!shape_of(graph, output, &shape, tfd_capi_status(status)))
        return -1;
    return shape.rank;
}

void TF_GraphGetTensorShape(TF_Graph *graph, TF_Output output, int64_t *dims,
                            int num_dims, TF_Status *status)
{
    struct tfd_status *st = tfd_capi_status(status);
    struct tfd_shape shape = TFD_SHAPE_UNKNOWN;

    if (!shape_of(graph, output, &shape, st))
        return;
    if (num_dims != shape.rank) {
        tfd_fail(st, TFD_INVALID_ARGUMENT,
                 "Expected rank is %d but actual rank is %d", num_dims,
                 shape.rank);
        return;
    }
    if (shape.rank != TFD_RANK_UNKNOWN)
        tfd_shape_dims(&shape, dims);
}

/* ---- Messages ------------------------------------------------------------ */

void TF_GraphToGraphDef(TF_Graph *graph, TF_Buffer *output_graph_def,
                        TF_Status *status)
{
    struct tfd_bytes b;

    tfd_bytes_init(&b, TFD_CAPI_MESSAGE_MAX);
    tfd_lock(&graph->lock);
    tfd_graphdef_export(&b, graph->graph);
    tfd_unlock(&graph->lock);
    (void)!tfd_capi_give(output_graph_def, &b, tfd_capi_status(status));
}

void TF_GraphGetOpDef(TF_Graph *graph, const char *op_name,
                      TF_Buffer *output_op_def, TF_Status *status)
{
    struct tfd_status *st = tfd_capi_status(status);
    const struct tfd_op *op =
        tfd_op_find(graph->graph->ops, tfd_str_of(op_name));
    struct tfd_bytes b;

    if (!op) {
        struct tfd_unknown_ops unknown;

        tfd_unknown_ops_begin(&unknown, graph->graph, tfd_str_of(op_name));
        (void)tfd_unknown_ops_fail(&unknown, TFD_STR_EMPTY, st);
        return;
    }
    tfd_bytes_init(&b, TFD_CAPI_MESSAGE_MAX);
    tfd_op_encode(op, &b);
    (void)!tfd_capi_give(output_op_def, &b, st);
}

void TF_GraphVersions(TF_Graph *graph, TF_Buffer *output_version_def,
                      TF_Status *status)
{
    struct tfd_bytes b;

    tfd_bytes_init(&b, TFD_CAPI_MESSAGE_MAX);
    tfd_lock(&graph->lock);
    tfd_pb_put_int(&b, tensorflow_VersionDef_producer_tag,
                   graph->graph->versions.producer);
    tfd_pb_put_int(&b, tensorflow_VersionDef_min_consumer_tag,
                   graph->graph->versions.min_consumer);
    tfd_unlock(&graph->lock);
    (void)!tfd_capi_give(output_version_def, &b, tfd_capi_status(status));
}

static void put_op(struct tfd_bytes *b, const struct tfd_op *op)
{
    size_t mark = tfd_pb_begin(b, tensorflow_OpList_op_tag);

    tfd_op_encode(op, b);
    tfd_pb_finish(b, mark);
}

static int compare_ops(const void *a, const void *b)
{
    const struct tfd_op *x = *(const struct tfd_op *const *)a;
    const struct tfd_op *y = *(const struct tfd_op *const *)b;

    return tfd_str_cmp(x->name, y->name);
}

/* In the order of their names, as TensorFlow lists them. */
static void put_all_ops(struct tfd_bytes *b, const struct tfd_op_set *ops)
{
    const struct tfd_op **sorted = malloc((size_t)ops->count * sizeof(*sorted));
    const struct tfd_map_entry *e;
    size_t at = 0, count = 0;

    if (!sorted) {
        b->failed = true;
        return;
    }
    while (tfd_map_next(&ops->by_name, &at, &e))
        if ((sorted[count] = tfd_op_find(ops, e->key)))
            count++;
    qsort(sorted, count, sizeof(*sorted), compare_ops);
    for (size_t i = 0; i < count; i++)
        put_op(b, sorted[i]);
    free(sorted);
}

TF_Buffer *TF_GetAllOpList(void)
{
    const struct tfd_registry *r = tfd_capi_registry(NULL);
    TF_Buffer *out = TF_NewBuffer();
    struct tfd_bytes b;

    if (!r || !out) {
        TF_DeleteBuffer(out);
        return NULL;
    }
    tfd_bytes_init(&b, TFD_CAPI_MESSAGE_MAX);
    put_all_ops(&b, &r->ops);
    if (tfd_capi_give(out, &b, NULL) != TFD_OK) {
        TF_DeleteBuffer(out);
        return NULL;
    }
    return out;
}
