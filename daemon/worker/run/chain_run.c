/*
 * chain_run.c - runs a chain: see chains.h.
 */
#include "daemon/worker/compile/chains.h"

#include "common/base/clock.h"
#include "common/thread/halt.h"
#include "daemon/worker/run/runner.h"
#include "daemon/worker/run/trace.h"

/* Results of the nodes, while these run one by one. */
struct walk {
    struct tfd_runner *r;
    const struct tfd_exec_node *exec;
    struct tfd_iter *it;
    struct tfd_kctx k; /* of the whole chain */
    struct tfd_tensor made[TFD_CHAIN_NODES_MAX];
};

static bool is_fixed(const struct walk *w, int in)
{
    return (w->exec->flags & TFD_EXEC_FIXED_IN) &&
           w->it->layout->is_fixed[w->exec->slot + in];
}

/* The value itself for the last one who reads it, so that a kernel may write
 * over it. */
static struct tfd_tensor take_input(struct walk *w,
                                    const struct tfd_chain_node *n, int j)
{
    int in = n->in[j];
    struct tfd_tensor *from = in < 0 ? &w->made[~in] : &w->k.in[in];
    struct tfd_tensor t = *from;

    if (!n->last[j] || (in >= 0 && is_fixed(w, in)))
        return tfd_tensor_ref(from);
    from->dtype = TFD_DTYPE_INVALID;
    from->buffer = NULL;
    return t;
}

/* A node of the chain as one of the graph that runs alone. */
static struct tfd_exec_node alone(const struct walk *w, int i)
{
    struct tfd_exec_node x = *w->exec;

    x.kernel = w->exec->chain->chain.node[i].kernel;
    x.node = w->exec->chain->chain.node[i].node;
    x.flags = w->exec->chain->flags[i] | TFD_EXEC_MAY_HALT;
    return x;
}

static enum tfd_code run_one(struct walk *w, int i)
{
    const struct tfd_chain_node *n = &w->exec->chain->chain.node[i];
    struct tfd_variable *none[2] = {NULL, NULL}, *no_out = NULL;
    struct tfd_tensor in[2] = {TFD_TENSOR_INIT, TFD_TENSOR_INIT};
    const struct tfd_exec_node x = alone(w, i);
    struct tfd_runner *r = w->r;

    for (int j = 0; j < n->in_count; j++)
        in[j] = take_input(w, n, j);
    r->k.kernel = n->kernel;
    r->k.node = n->node;
    r->k.in = in;
    r->k.in_count = n->in_count;
    r->k.ref = none;
    r->k.out = &w->made[i];
    r->k.ref_out = &no_out;
    if (r->step->trace)
        r->node_ns = tfd_clock_wall_ns();
    tfd_runner_compute(r, &x);
    if (r->step->trace)
        tfd_trace_node(r->step->trace, r->step, &x, r->node_ns, &w->made[i]);
    for (int j = 0; j < n->in_count; j++)
        tfd_tensor_unref(&in[j]);
    if (r->st.code != TFD_OK)
        tfd_runner_fail(r, &x, &r->st); /* by its name; the first counts */
    return r->st.code;
}

static void run_each(struct tfd_runner *r, struct tfd_ready *item)
{
    const int count = item->node->chain->chain.count;
    struct walk w = {.r = r, .exec = item->node, .it = item->it, .k = r->k};
    enum tfd_code rc = TFD_OK;

    for (int i = 0; i < count; i++)
        w.made[i] = (struct tfd_tensor)TFD_TENSOR_INIT;
    for (int i = 0; i < count && rc == TFD_OK; i++)
        rc = run_one(&w, i);
    if (rc == TFD_OK) {
        w.k.out[0] = w.made[count - 1];
        w.made[count - 1] = (struct tfd_tensor)TFD_TENSOR_INIT;
    }
    for (int i = 0; i < count; i++)
        tfd_tensor_unref(&w.made[i]);
}

void tfd_chain_node(struct tfd_runner *r, struct tfd_ready *item)
{
    enum tfd_code rc;
    bool taken;

    tfd_runner_prepare(r, item);
    if (!r->step->trace) {
        tfd_halt_at(&r->step->failed);
        taken = tfd_chain_run(&r->k, &item->node->chain->chain, &rc, &r->st);
        tfd_halt_at(NULL);
        if (taken)
            return;
    }
    run_each(r, item);
}
