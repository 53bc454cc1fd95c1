/*
 * node.c - runs one ready node, by its kind.  See runner.h.
 *
 * A kernel's outputs lie on the runner's stack, or in the iteration where they
 * are many or come later.  Places are empty before and after.
 */
#include "common/base/atomic.h"
#include "common/base/clock.h"
#include "common/thread/halt.h"
#include "daemon/worker/compile/chains.h"
#include "daemon/worker/run/captures.h"
#include "daemon/worker/run/node_sample.h"
#include "daemon/worker/run/runner.h"
#include "daemon/worker/run/trace.h"

#include "kernels/layout/long_shape.h"
#include "kernels/state/variable.h"

/* ---- One node ------------------------------------------------------------ */

/* tfd_tensor_unref() without clearing the shape, which nobody reads. */
static void empty(struct tfd_tensor *t)
{
    struct tfd_buffer *b = t->buffer;

    t->dtype = TFD_DTYPE_INVALID;
    t->buffer = NULL;
    if (b)
        tfd_buffer_unref(b);
}

static void drop_inputs(struct tfd_iter *it, const struct tfd_exec_node *n)
{
    const uint8_t *is_fixed = it->layout->is_fixed;

    for (int32_t i = n->slot; i < n->slot + n->in_count; i++) {
        if ((n->flags & TFD_EXEC_FIXED_IN) && is_fixed[i])
            continue;
        empty(&it->slots[i]);
        if (it->refs[i]) {
            tfd_resource_unref(&it->refs[i]->resource);
            it->refs[i] = NULL;
        }
    }
}

static bool is_initialized(struct tfd_variable *v)
{
    bool is;

    tfd_lock(&v->lock);
    is = v->initialized;
    tfd_unlock(&v->lock);
    return is;
}

/* It passes input i on.  A Switch does not pass its predicate. */
static bool passes_on(const struct tfd_exec_node *n, int32_t i)
{
    return (n->flags & TFD_EXEC_READS_LATE) && n->kind != TFD_EXEC_KERNEL &&
           n->kind != TFD_EXEC_ASYNC && !(n->kind == TFD_EXEC_SWITCH && i == 1);
}

/* A snapshot of input i, a reference, which is let go of unless the kernel may
 * pass its memory on. */
static enum tfd_code read_input(struct tfd_iter *it,
                                const struct tfd_exec_node *n, int32_t i,
                                struct tfd_status *st)
{
    struct tfd_variable **ref = &it->refs[n->slot + i];

    TFD_TRY(tfd_variable_read(*ref, &it->slots[n->slot + i], st));
    if (n->flags & TFD_EXEC_READS_LATE)
        return TFD_OK;
    tfd_resource_unref(&(*ref)->resource);
    *ref = NULL;
    return TFD_OK;
}

/* References that the op wants as such stay, and those it only passes on;
 * others become snapshots. */
static enum tfd_code take_refs(struct tfd_iter *it,
                               const struct tfd_exec_node *n,
                               struct tfd_status *st)
{
    for (int32_t i = 0; i < n->in_count; i++) {
        struct tfd_variable **ref = &it->refs[n->slot + i];

        if (!*ref)
            continue;
        if (!tfd_dtype_is_ref(n->node->in_types[i]) && !passes_on(n, i)) {
            TFD_TRY(read_input(it, n, i, st));
        } else if (!(n->flags & TFD_EXEC_UNINITIALIZED) &&
                   !is_initialized(*ref)) {
            return tfd_fail(st, TFD_FAILED_PRECONDITION,
                            "Attempting to use uninitialized value %s",
                            (*ref)->name);
        }
    }
    return TFD_OK;
}

/* The same for Recv, which may have got nothing: a dead tensor. */
static void check_received(const struct tfd_kctx *k, struct tfd_status *st)
{
    if (k->out[0].dtype == TFD_DTYPE_INVALID ||
        (int)k->out[0].dtype == k->node->out_types[0])
        return;
    tfd_fail(st, TFD_INVALID_ARGUMENT,
             "received a tensor of type %s where %s is expected",
             tfd_dtype_name((int)k->out[0].dtype),
             tfd_dtype_name(k->node->out_types[0]));
}

static void drop_outputs(struct tfd_tensor *out, struct tfd_variable **refs,
                         int count)
{
    for (int i = 0; i < count; i++) {
        empty(&out[i]);
        if (refs[i]) {
            tfd_resource_unref(&refs[i]->resource);
            refs[i] = NULL;
        }
    }
}

static void run_async(struct tfd_runner *r, struct tfd_ready *item)
{
    struct tfd_iter *it = item->it;
    struct tfd_async *a = &it->async[item->node->async];
    const struct tfd_exec_node *n = item->node;

    tfd_runner_fill(&a->k, r->step, item);
    a->k.out = it->out + n->out;
    a->k.ref_out = it->out_refs + n->out;
    a->k.stream = r->k.stream;
    a->k.memory = r->k.memory;
    a->item = item;
    a->begun_ns = r->node_ns;
    if (r->step->sampled)
        a->sample_ns = tfd_clock_now_ns();
    a->waits = false;
    if (n->flags & TFD_EXEC_CHECKS &&
        tfd_checks_run(n->node->op, &a->k, &r->st) != TFD_OK)
        return;
    if (tfd_long_admit(&a->k, &r->st) != TFD_OK)
        return;
    a->waits = true;
    TFD_COUNTER_ADD(&r->step->async, 1);
    n->kernel->start(&a->k);
}

static void run_kernel(struct tfd_runner *r, struct tfd_ready *item)
{
    tfd_runner_prepare(r, item);
    tfd_runner_compute(r, item->node);
}

static void run_send(struct tfd_runner *r, struct tfd_ready *item)
{
    if (!tfd_late_send_keep(r, item))
        run_kernel(r, item);
}

/* On a device with a stream: enqueued when this returns, and its outputs are
 * good for what is enqueued later.  What reads them on the host is behind a
 * copy, which waits. */
static void run_on_device(struct tfd_runner *r, struct tfd_ready *item)
{
    const struct tfd_exec_node *n = item->node;
    struct tfd_device *d = n->rt->row;

    r->k.stream = d->stream;
    r->k.memory = d->own;
    if (d->use(d, &r->st) == TFD_OK &&
        d->await(d, item->it->slots + n->slot, n->in_count, &r->st) == TFD_OK)
        (n->kind == TFD_EXEC_ASYNC ? run_async : run_kernel)(r, item);
    r->k.stream = NULL;
    r->k.memory = NULL;
}

/* ---- Views ------------------------------------------------------------- */

/* *ref, of which `seen` was read, becomes a view. */
static enum tfd_code turn_into_view(struct tfd_variable **ref,
                                    const struct tfd_tensor *seen,
                                    struct tfd_status *st)
{
    struct tfd_variable *view;

    if ((*ref)->of)
        return TFD_OK;
    TFD_TRY(tfd_variable_view(*ref, seen, &view, st));
    tfd_resource_unref(&(*ref)->resource);
    *ref = view;
    return TFD_OK;
}

/* What a node passed on is of the memory that the variable has now. */
static enum tfd_code bind_passed(const struct tfd_exec_node *n,
                                 struct tfd_variable **refs,
                                 struct tfd_status *st)
{
    for (int32_t i = 0; i < n->out_count; i++) {
        struct tfd_tensor seen = TFD_TENSOR_INIT;
        enum tfd_code rc;

        if (!refs[i] || tfd_dtype_is_ref(n->node->out_types[i]))
            continue;
        TFD_TRY(tfd_variable_read(refs[i], &seen, st));
        rc = turn_into_view(&refs[i], &seen, st);
        tfd_tensor_unref(&seen);
        if (rc != TFD_OK)
            return rc;
    }
    return TFD_OK;
}

/* Memory that both have now is shared. */
static bool is_part(const struct tfd_tensor *part, const struct tfd_tensor *t)
{
    const char *at = tfd_tensor_data(part), *from = tfd_tensor_data(t);

    return at && from && at >= from && at < from + tfd_tensor_size(t);
}

/* The slot of the reference whose memory `out` shares; -1. */
static int32_t shared_with(const struct tfd_iter *it,
                           const struct tfd_exec_node *n,
                           const struct tfd_tensor *out)
{
    for (int32_t i = n->slot; i < n->slot + n->in_count; i++)
        if (it->refs[i] && is_part(out, &it->slots[i]))
            return i;
    return -1;
}

/* Outputs that share memory with a reference become views. */
static enum tfd_code bind_computed(const struct tfd_iter *it,
                                   const struct tfd_exec_node *n,
                                   struct tfd_tensor *out,
                                   struct tfd_variable **refs,
                                   struct tfd_status *st)
{
    for (int32_t i = 0; i < n->out_count; i++) {
        int32_t slot = shared_with(it, n, &out[i]);

        if (slot < 0)
            continue;
        TFD_TRY(tfd_variable_view_part(it->refs[slot], &it->slots[slot],
                                       &out[i], &refs[i], st));
        empty(&out[i]);
    }
    return TFD_OK;
}

/* After a node that leaves references to its consumers. */
static void bind_outputs(struct tfd_runner *r, struct tfd_ready *item)
{
    const struct tfd_exec_node *n = item->node;
    struct tfd_tensor *out;
    struct tfd_variable **refs;

    if (r->st.code != TFD_OK || n->kind == TFD_EXEC_FETCH)
        return;
    tfd_runner_outputs(r, item->it, n, &out, &refs);
    if (n->kind == TFD_EXEC_KERNEL)
        (void)!bind_computed(item->it, n, out, refs, &r->st);
    else if (r->step->exec->replaces)
        (void)!bind_passed(n, refs, &r->st);
}

/* ---- The kinds --------------------------------------------------------- */

/* Input i as a value of its own. */
static void move_input(struct tfd_iter *it, const struct tfd_exec_node *n,
                       int32_t i, struct tfd_tensor *out,
                       struct tfd_variable **ref)
{
    int32_t slot = n->slot + i;

    if ((n->flags & TFD_EXEC_FIXED_IN) && it->layout->is_fixed[slot]) {
        *out = tfd_tensor_ref(&it->slots[slot]);
        return;
    }
    *out = it->slots[slot];
    *ref = it->refs[slot];
    it->slots[slot].dtype = TFD_DTYPE_INVALID;
    it->slots[slot].buffer = NULL;
    it->refs[slot] = NULL;
}

static void run_nothing(struct tfd_runner *r, struct tfd_ready *item)
{
    (void)r;
    (void)item;
}

static void run_const(struct tfd_runner *r, struct tfd_ready *item)
{
    r->out[0] = tfd_tensor_ref(&r->step->exec->constants[item->node->value]);
}

static void run_pass(struct tfd_runner *r, struct tfd_ready *item)
{
    const struct tfd_exec_node *n = item->node;
    struct tfd_tensor *out;
    struct tfd_variable **refs;

    tfd_runner_outputs(r, item->it, n, &out, &refs);
    for (int32_t i = 0; i < n->out_count; i++)
        move_input(item->it, n, i, &out[i], &refs[i]);
}

static void run_feed(struct tfd_runner *r, struct tfd_ready *item)
{
    const struct tfd_exec_node *n = item->node;
    struct tfd_tensor *feed = &r->step->feeds[n->value];

    if (feed->dtype != (enum tfd_dtype)n->node->out_types[0]) {
        tfd_fail(&r->st, TFD_INTERNAL,
                 "Output 0 of type %s does not match declared output type %s "
                 "for node {{node " TFD_STR_FMT "}}",
                 tfd_dtype_name((int)feed->dtype),
                 tfd_dtype_name(n->node->out_types[0]),
                 TFD_STR_ARG(n->node->name));
        return;
    }
    r->out[0] = *feed;
    *feed = (struct tfd_tensor)TFD_TENSOR_INIT;
}

/* A variable is read now, and once more when the step ends. */
static void run_fetch(struct tfd_runner *r, struct tfd_ready *item)
{
    const struct tfd_exec_node *n = item->node;
    struct tfd_tensor *out = &r->step->fetches[n->value];
    struct tfd_variable *ref = NULL;

    move_input(item->it, n, 0, out, &ref);
    if (!ref)
        return;
    r->step->fetch_refs[n->value] = ref;
    if (tfd_variable_read(ref, out, &r->st) == TFD_OK &&
        r->step->exec->replaces)
        (void)!turn_into_view(&r->step->fetch_refs[n->value], out, &r->st);
}

static void run_switch(struct tfd_runner *r, struct tfd_ready *item)
{
    const struct tfd_exec_node *n = item->node;
    const struct tfd_tensor *pred = &item->it->slots[n->slot + 1];
    struct tfd_variable **refs;
    struct tfd_tensor *out;
    int32_t side;

    if (tfd_node_side(n, pred, &side, &r->st) != TFD_OK)
        return;
    tfd_runner_outputs(r, item->it, n, &out, &refs);
    move_input(item->it, n, 0, &out[side], &refs[side]);
}

static void run_merge(struct tfd_runner *r, struct tfd_ready *item)
{
    const struct tfd_exec_node *n = item->node;
    int32_t chosen = item->it->merges[n->merge].chosen;
    const struct tfd_shape scalar = {0, {0}};

    move_input(item->it, n, chosen, &r->out[0], &r->out_refs[0]);
    if (!(n->flags & TFD_EXEC_INDEX_USED) ||
        tfd_tensor_new(&r->out[1], TFD_INT32, &scalar, &r->st) != TFD_OK)
        return;
    *(int32_t *)tfd_tensor_data(&r->out[1]) = chosen;
}

typedef void run_fn(struct tfd_runner *r, struct tfd_ready *item);

static run_fn *const run_table[TFD_EXEC_KIND_COUNT] = {
    [TFD_EXEC_KERNEL] = run_kernel, [TFD_EXEC_ASYNC] = run_async,
    [TFD_EXEC_CONST] = run_const,   [TFD_EXEC_NOOP] = run_nothing,
    [TFD_EXEC_PASS] = run_pass,     [TFD_EXEC_FEED] = run_feed,
    [TFD_EXEC_FETCH] = run_fetch,   [TFD_EXEC_SWITCH] = run_switch,
    [TFD_EXEC_MERGE] = run_merge,   [TFD_EXEC_LOOP] = run_nothing,
    [TFD_EXEC_GATE] = run_nothing,  [TFD_EXEC_CHAIN] = tfd_chain_node,
    [TFD_EXEC_SEND] = run_send,
};

/* ---- All together -------------------------------------------------------- */

/* The nodes of a chain were when they ran. */
static bool is_traced(const struct tfd_exec_node *n)
{
    return n->kind != TFD_EXEC_GATE && n->kind != TFD_EXEC_CHAIN;
}

static void finish_node(struct tfd_runner *r, struct tfd_ready *item, bool dead)
{
    struct tfd_tensor *out;
    struct tfd_variable **refs;

    drop_inputs(item->it, item->node);
    tfd_runner_outputs(r, item->it, item->node, &out, &refs);
    if (r->step->trace && !dead && is_traced(item->node))
        tfd_trace_node(r->step->trace, r->step, item->node, r->node_ns, out);
    if (r->st.code == TFD_OK) {
        tfd_runner_complete(r, item, out, refs, dead);
    } else {
        tfd_runner_fail(r, item->node, &r->st);
        tfd_status_clear(&r->st);
    }
    drop_outputs(out, refs, item->node->out_count);
}

static void run_node(struct tfd_runner *r, struct tfd_ready *item)
{
    const struct tfd_exec_node *n = item->node;
    bool dead = item->it->dead[n->local] && !(n->flags & TFD_EXEC_NEVER_DEAD);

    if (n->kind == TFD_EXEC_LOOP && !tfd_while_run_unit(r, item))
        return;
    if (n->kind == TFD_EXEC_GATE && tfd_captures_run(r, item))
        return;
    if (!dead || (n->flags & TFD_EXEC_RUNS_DEAD)) {
        if (!(n->flags & TFD_EXEC_REF_IN) ||
            take_refs(item->it, n, &r->st) == TFD_OK)
            (n->flags & TFD_EXEC_STREAM ? run_on_device
                                        : run_table[n->kind])(r, item);
        if ((n->flags & TFD_EXEC_READS_LATE) && n->kind != TFD_EXEC_ASYNC)
            bind_outputs(r, item);
        if (n->kind == TFD_EXEC_ASYNC && r->st.code == TFD_OK)
            return;
    }
    finish_node(r, item, dead);
}

static bool is_sampled(const struct tfd_runner *r, const struct tfd_ready *item)
{
    const struct tfd_exec_node *n = item->node;

    return r->step->sampled && n->kind != TFD_EXEC_ASYNC &&
           !item->it->dead[n->local] && tfd_node_sample_takes(n);
}

static void run_timed(struct tfd_runner *r, struct tfd_ready *item)
{
    const struct tfd_exec_node *n = item->node;
    const struct tfd_exec *e = r->step->exec;
    bool sampled = is_sampled(r, item); /* the item may go */
    uint64_t begun = tfd_clock_now_ns(), took;

    if (r->step->trace)
        r->node_ns = tfd_clock_wall_ns();
    run_node(r, item);
    took = tfd_clock_now_ns() - begun;
    tfd_runner_cost(e, n, took);
    if (sampled)
        tfd_node_sample_add(e, n, took, 1);
}

void tfd_runner_node(struct tfd_runner *r, struct tfd_ready *item)
{
    if (r->step->timed)
        run_timed(r, item);
    else
        run_node(r, item);
}

void tfd_runner_finished(struct tfd_runner *r, struct tfd_async *a, bool live)
{
    struct tfd_ready *item = a->item;
    bool recv = (item->node->kernel->flags & TFD_KERNEL_DEAD) &&
                item->node->out_count > 0;

    a->waits = false;
    if (r->step->sampled && tfd_node_sample_takes(item->node))
        tfd_node_sample_add(r->step->exec, item->node,
                            tfd_clock_now_ns() - a->sample_ns, 1);
    if (!live) {
        drop_inputs(item->it, item->node);
        drop_outputs(a->k.out, a->k.ref_out, a->k.out_count);
        return;
    }
    if (recv)
        check_received(&a->k, &r->st);
    else
        (void)!tfd_runner_check(&a->k, &r->st);
    if (r->step->trace) {
        r->node_ns = a->begun_ns;
        if (recv)
            tfd_trace_recv(r->step->trace, a);
    }
    finish_node(r, item, item->it->dead[item->node->local]);
}
