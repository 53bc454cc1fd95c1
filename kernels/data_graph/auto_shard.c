/*
 * auto_shard.c - AutoShardDataset: rewrites a dataset so that one of several
 * workers gets its share of the elements (data_sharding.h).
 *
 * The dataset becomes a list of nodes (data_nodes.h), the nodes are changed,
 * and those that have changed are run again as a function of their own;
 * datasets that stay as they are become arguments of that function.
 */
#include "config/limits.h"
#include "kernels/core/families.h"
#include "kernels/data/data_table.h"
#include "kernels/data/whole.h"
#include "kernels/data_graph/data_sharding.h"
#include "kernels/data_graph/data_writing.h"

#include <stdlib.h>

struct auto_shard {
    struct tfd_rt_home *home;
    int64_t policy, replicas;
};

static enum tfd_code shard_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct auto_shard *a = state;

    TFD_TRY(tfd_node_int(p->node, "auto_shard_policy", &a->policy, st));
    if (tfd_op_attr_find(p->node->op, TFD_STR("num_replicas")))
        TFD_TRY(tfd_node_int(p->node, "num_replicas", &a->replicas, st));
    return tfd_rt_home(p, &a->home, st);
}

static enum tfd_code check_inputs(const struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    const struct auto_shard *a = k->state;
    int64_t workers, index;

    TFD_TRY(tfd_dataset_int(k, 1, "num_workers", &workers, st));
    if (workers <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_workers must be greater than zero.");
    TFD_TRY(tfd_dataset_int(k, 2, "index", &index, st));
    if (index < 0 || index >= workers)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "index must be between 0 and %lld",
                        (long long)(workers - 1));
    if (a->policy < TFD_DATA_SHARD_OFF || a->policy > TFD_DATA_SHARD_HINT)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "auto_shard_policy is invalid.");
    if (a->replicas < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_replicas should be >= 0");
    return TFD_OK;
}

/* ---- Making it again ----------------------------------------------------- */

static enum tfd_code call_graph(struct tfd_whole *w, struct tfd_str graph,
                                const struct tfd_tensor *args, int32_t count,
                                struct tfd_status *st)
{
    const struct auto_shard *a = w->k->state;
    struct tfd_tensor *in = tfd_data_element_new(count, st);
    struct tfd_rt_function *f;
    enum tfd_code rc;

    if (!in)
        return TFD_RESOURCE_EXHAUSTED;
    rc = tfd_rt_graph_function(a->home, w->k->rt, graph, count, &f, st);
    for (int32_t i = 0; rc == TFD_OK && i < count; i++)
        in[i] = tfd_tensor_ref(&args[i]);
    if (rc == TFD_OK) {
        rc = tfd_data_scope_call(w->scope, f, in, &w->k->out[0], st);
        tfd_rt_function_let_go(f);
    }
    free(in);
    return rc;
}

static enum tfd_code make_again(struct tfd_whole *w, struct tfd_data_nodes *g,
                                const struct tfd_data_library *l,
                                struct tfd_status *st)
{
    struct tfd_tensor *args;
    struct tfd_bytes graph;
    int32_t arg_count;
    enum tfd_code rc;

    tfd_bytes_init(&graph, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = tfd_data_write_changed(g, l, &graph, &args, &arg_count, st);
    if (rc == TFD_OK && !g->node[g->sink]->changed)
        w->k->out[0] = tfd_tensor_ref(&w->k->in[0]);
    else if (rc == TFD_OK)
        rc = call_graph(w, tfd_bytes_view(&graph), args, arg_count, st);
    tfd_bytes_deinit(&graph);
    return rc;
}

static enum tfd_code shard_nodes(struct tfd_whole *w, struct tfd_data_nodes *g,
                                 struct tfd_data_library *l,
                                 const struct tfd_tensor *replicas,
                                 struct tfd_status *st)
{
    const struct auto_shard *a = w->k->state;
    const struct tfd_data_sharding s = {
        .g = g,
        .library = l,
        .policy = (enum tfd_data_policy)a->policy,
        .workers = &w->k->in[1],
        .index = &w->k->in[2],
        .replicas = replicas,
    };

    TFD_TRY(tfd_data_nodes_fill(g, &w->k->in[0], st));
    TFD_TRY(tfd_data_library_fill(l, g, st));
    TFD_TRY(tfd_data_shard(&s, st));
    return make_again(w, g, l, st);
}

static enum tfd_code shard_run(struct tfd_whole *w, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    const struct auto_shard *a = w->k->state;
    struct tfd_tensor replicas = TFD_TENSOR_INIT;
    struct tfd_data_nodes g;
    struct tfd_data_library l;
    enum tfd_code rc;

    TFD_TRY(check_inputs(w->k, st));
    TFD_TRY(tfd_tensor_new(&replicas, TFD_INT64, &scalar, st));
    *(int64_t *)tfd_tensor_data(&replicas) = a->replicas;
    tfd_data_nodes_init(&g);
    tfd_data_library_init(&l);
    rc = shard_nodes(w, &g, &l, &replicas, st);
    tfd_data_library_deinit(&l);
    tfd_data_nodes_deinit(&g);
    tfd_tensor_unref(&replicas);
    return rc;
}

static void shard_start(struct tfd_kctx *k)
{
    tfd_whole_start(k, NULL, shard_run);
}

/* ---- Tables -------------------------------------------------------------- */

#define SHARD(name_, more_)                                                 \
    TFD_DATA_OP(name_,                                                      \
                "input_dataset: variant, num_workers: int64, index: int64", \
                "auto_shard_policy: int = 0; ", more_, TFD_OP_HOME)

static const struct tfd_opdef ops[] = {
    SHARD("AutoShardDataset", "; num_replicas: int = 0"),
    SHARD("ExperimentalAutoShardDataset", ""),
};

#define KERNEL(name_)                                                \
    TFD_KERNEL_ANY(                                                  \
        name_, NULL, .start = shard_start, .prepare = shard_prepare, \
        .state_size = sizeof(struct auto_shard), .flags = TFD_KERNEL_WAITS)

static const struct tfd_kernel kernels[] = {
    KERNEL("AutoShardDataset"),
    KERNEL("ExperimentalAutoShardDataset"),
};

TFD_DATA_FAMILY(auto_shard);
