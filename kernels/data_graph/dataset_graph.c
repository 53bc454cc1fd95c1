/*
 * dataset_graph.c - DatasetFromGraph: makes a dataset of a GraphDef, the form
 * in which a program hands a dataset to another task.
 *
 * The graph is run once, as a function without arguments.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/data/whole.h"

struct from_graph {
    struct tfd_rt_home *home;
};

static enum tfd_code from_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    return tfd_rt_home(p, &((struct from_graph *)state)->home, st);
}

static enum tfd_code run_graph(struct tfd_whole *w, struct tfd_rt_function *f,
                               struct tfd_status *st)
{
    struct tfd_tensor none = TFD_TENSOR_INIT;
    struct tfd_dataset *d;

    TFD_TRY(tfd_data_scope_call(w->scope, f, &none, &w->k->out[0], st));
    return tfd_dataset_of(&w->k->out[0], &d, st);
}

static enum tfd_code from_run(struct tfd_whole *w, struct tfd_status *st)
{
    const struct from_graph *g = w->k->state;
    struct tfd_rt_function *f;
    struct tfd_str def;
    enum tfd_code rc;

    TFD_TRY(tfd_check_str(w->k, 0, &def, st));
    TFD_TRY(tfd_rt_graph_function(g->home, w->k->rt, def, 0, &f, st));
    rc = run_graph(w, f, st);
    tfd_rt_function_let_go(f);
    return rc;
}

static void from_start(struct tfd_kctx *k)
{
    tfd_whole_start(k, NULL, from_run);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "DatasetFromGraph",
        .inputs = "graph_def: string",
        .outputs = "handle: variant",
        .checks = "graph_def: scalar",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT | TFD_OP_HOME,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY(
        "DatasetFromGraph", NULL, .start = from_start, .prepare = from_prepare,
        .state_size = sizeof(struct from_graph), .flags = TFD_KERNEL_WAITS),
};

const struct tfd_family tfd_family_dataset_graph = {
    .name = "dataset_graph",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
