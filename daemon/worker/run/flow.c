/*
 * flow.c - how values travel along edges: into slots, counting down what the
 * consumers wait for.  See runner.h.
 */
#include "daemon/worker/run/runner.h"

#include "common/base/atomic.h"
#include "kernels/state/variable.h"

/* ---- Ready nodes --------------------------------------------------------- */

void tfd_runner_again(struct tfd_runner *r, struct tfd_ready *item)
{
    item->next = NULL;
    if (r->last)
        r->last->next = item;
    else
        r->first = item;
    r->last = item;
}

void tfd_runner_push(struct tfd_runner *r, struct tfd_ready *item)
{
    if (item->it->frame)
        item->it->outstanding++;
    if (r->shared && tfd_runner_is_expensive(r->step->exec, item->node)) {
        item->next = r->expensive;
        r->expensive = item;
        return;
    }
    tfd_runner_again(r, item);
}

/* ---- Arrivals ------------------------------------------------------------ */

static void mark_dead(struct tfd_runner *r, struct tfd_iter *it, int32_t local)
{
    if (r->shared)
        TFD_STORE_RELAXED(&it->dead[local], 1);
    else
        it->dead[local] = 1;
}

static void count_down(struct tfd_runner *r, struct tfd_iter *it, int32_t local)
{
    int32_t left;

    if (r->shared)
        left = TFD_PENDING_SUB(&it->pending[local], 1);
    else
        left = --it->pending[local];
    if (left == 0)
        tfd_runner_push(r, &it->ready[local]);
}

void tfd_value_drop(struct tfd_value *v)
{
    tfd_tensor_unref(&v->tensor);
    if (v->ref)
        tfd_resource_unref(&v->ref->resource);
    v->ref = NULL;
}

/* The first live input makes a Merge ready, or its last control input does. */
static void merge_live(struct tfd_runner *r, struct tfd_iter *it,
                       const struct tfd_exec_edge *e, struct tfd_value *value)
{
    const struct tfd_exec_node *n = it->layout->nodes[e->local];

    if (!(it->pending[e->local] & 1) || it->merges[n->merge].is_dead) {
        tfd_value_drop(value);
        return;
    }
    it->slots[e->slot] = value->tensor;
    it->refs[e->slot] = value->ref;
    it->merges[n->merge].chosen = e->slot - n->slot;
    if (--it->pending[e->local] == 0)
        tfd_runner_push(r, &it->ready[e->local]);
}

/* Dead when all inputs are, or when the loop is entered dead: then nothing
 * comes from NextIteration. */
static void merge_dead(struct tfd_runner *r, struct tfd_iter *it,
                       const struct tfd_exec_edge *e, bool from_enter)
{
    const struct tfd_exec_node *n = it->layout->nodes[e->local];
    struct tfd_merge *m = &it->merges[n->merge];

    m->dead++;
    if (m->is_dead || !(m->dead == n->in_count || from_enter))
        return;
    m->is_dead = true;
    it->dead[e->local] = 1;
    if (it->pending[e->local] == 1)
        tfd_runner_push(r, &it->ready[e->local]);
}

static void merge_control(struct tfd_runner *r, struct tfd_iter *it,
                          const struct tfd_exec_edge *e)
{
    const struct tfd_exec_node *n = it->layout->nodes[e->local];
    int32_t left = it->pending[e->local] -= 2;

    if (left == 0 || (left == 1 && it->merges[n->merge].is_dead))
        tfd_runner_push(r, &it->ready[e->local]);
}

/* With loops the lock is held already. */
static bool lock_merge(struct tfd_runner *r)
{
    if (!r->shared || r->step->exec->has_loops)
        return false;
    tfd_lock(&r->step->lock);
    return true;
}

void tfd_runner_data(struct tfd_runner *r, struct tfd_iter *it,
                     const struct tfd_exec_edge *e, struct tfd_value *value,
                     bool from_enter)
{
    if (e->merge) {
        bool locked = lock_merge(r);

        if (value)
            merge_live(r, it, e, value);
        else
            merge_dead(r, it, e, from_enter);
        if (locked)
            tfd_unlock(&r->step->lock);
        return;
    }
    if (value) {
        it->slots[e->slot] = value->tensor;
        it->refs[e->slot] = value->ref;
    } else {
        mark_dead(r, it, e->local);
    }
    count_down(r, it, e->local);
}

void tfd_runner_control(struct tfd_runner *r, struct tfd_iter *it,
                        const struct tfd_exec_edge *e, bool dead)
{
    if (e->merge) {
        bool locked = lock_merge(r);

        merge_control(r, it, e);
        if (locked)
            tfd_unlock(&r->step->lock);
        return;
    }
    if (dead)
        mark_dead(r, it, e->local);
    count_down(r, it, e->local);
}

struct tfd_value tfd_value_ref(const struct tfd_value *v)
{
    if (v->tensor.buffer)
        tfd_buffer_ref(v->tensor.buffer);
    if (v->ref)
        tfd_resource_ref(&v->ref->resource);
    return *v;
}

/* ---- Departures ---------------------------------------------------------- */

/* The value for one edge: its own reference, the output's for the last. */
static struct tfd_value take_output(struct tfd_tensor *t,
                                    struct tfd_variable **ref, bool last)
{
    struct tfd_value v = {*t, *ref};

    if (last) {
        t->dtype = TFD_DTYPE_INVALID;
        t->buffer = NULL;
        *ref = NULL;
        return v;
    }
    return tfd_value_ref(&v);
}

void tfd_runner_spread(struct tfd_runner *r, struct tfd_iter *it,
                       const struct tfd_exec_node *n, struct tfd_value *value)
{
    bool from_enter =
        n->route == TFD_ROUTE_ENTER || n->route == TFD_ROUTE_CONSTANT;

    for (int32_t i = 0; i < n->edge_count; i++) {
        const struct tfd_exec_edge *e = &n->edges[i];
        struct tfd_value v;

        if (e->output == TFD_CONTROL) {
            tfd_runner_control(r, it, e, !value);
            continue;
        }
        if (value)
            v = take_output(&value->tensor, &value->ref, e->last);
        tfd_runner_data(r, it, e, value ? &v : NULL, from_enter);
    }
    if (value)
        tfd_value_drop(value);
}

/* One value straight into its slot; the way of nearly all of them. */
static void fill_slot(struct tfd_runner *r, struct tfd_iter *it,
                      const struct tfd_exec_edge *e, struct tfd_tensor *out,
                      struct tfd_variable **ref)
{
    struct tfd_tensor *slot = &it->slots[e->slot];

    *slot = *out;
    if (e->last) {
        out->dtype = TFD_DTYPE_INVALID;
        out->buffer = NULL;
    } else if (slot->buffer) {
        tfd_buffer_ref(slot->buffer);
    }
    if (*ref) {
        it->refs[e->slot] = *ref;
        if (e->last)
            *ref = NULL;
        else
            tfd_resource_ref(&(*ref)->resource);
    }
    count_down(r, it, e->local);
}

/* The only output, with all its references at once. */
static void spread_only(struct tfd_runner *r, struct tfd_ready *item,
                        struct tfd_tensor *out)
{
    const struct tfd_exec_node *n = item->node;
    const struct tfd_exec_edge *end = n->edges + n->edge_count;
    struct tfd_tensor value = *out;

    out->dtype = TFD_DTYPE_INVALID;
    out->buffer = NULL;
    if (n->shares > 0)
        tfd_buffer_ref_times(value.buffer, n->shares);
    for (const struct tfd_exec_edge *e = n->edges; e < end; e++) {
        if (e->output == TFD_CONTROL) {
            tfd_runner_control(r, item->it, e, false);
            continue;
        }
        item->it->slots[e->slot] = value;
        count_down(r, item->it, e->local);
    }
}

/* Outputs of a node whose consumers are in the same iteration. */
static void spread_here(struct tfd_runner *r, struct tfd_ready *item,
                        struct tfd_tensor *out, struct tfd_variable **refs,
                        bool dead)
{
    const struct tfd_exec_node *n = item->node;
    const struct tfd_exec_edge *e = n->edges;
    const struct tfd_exec_edge *end = e + n->edge_count;

    if (n->shares >= 0 && !dead && !refs[0] &&
        out[0].dtype != TFD_DTYPE_INVALID) {
        spread_only(r, item, out);
        return;
    }
    for (; e < end; e++) {
        struct tfd_value v;

        if (e->output == TFD_CONTROL) {
            tfd_runner_control(r, item->it, e, dead);
        } else if (dead || (out[e->output].dtype == TFD_DTYPE_INVALID &&
                            !refs[e->output])) {
            tfd_runner_data(r, item->it, e, NULL, false);
        } else if (!e->merge) {
            fill_slot(r, item->it, e, &out[e->output], &refs[e->output]);
        } else {
            v = take_output(&out[e->output], &refs[e->output], e->last);
            tfd_runner_data(r, item->it, e, &v, false);
        }
    }
}

static void route(struct tfd_runner *r, struct tfd_ready *item,
                  struct tfd_tensor *out, struct tfd_variable **refs, bool dead)
{
    struct tfd_value v;

    if (item->node->route == TFD_ROUTE_HERE) {
        spread_here(r, item, out, refs, dead);
        return;
    }
    if (!dead)
        v = take_output(out, refs, true);
    tfd_while_route(r, item, dead ? NULL : &v);
}

/* A node is done: its outputs travel, or nothing does when it is dead.  In
 * graphs with loops one lock guards all of this while there are several
 * runners: iterations come and go with it. */
void tfd_runner_complete(struct tfd_runner *r, struct tfd_ready *item,
                         struct tfd_tensor *out, struct tfd_variable **refs,
                         bool dead)
{
    struct tfd_step *s = r->step;
    bool lock = r->shared && s->exec->has_loops;

    if (lock)
        tfd_lock(&s->lock);
    route(r, item, out, refs, dead);
    if (item->it->frame)
        tfd_while_node_done(r, item->it);
    if (lock)
        tfd_unlock(&s->lock);

    if (r->st.code != TFD_OK) {
        tfd_runner_fail(r, item->node, &r->st);
        tfd_status_clear(&r->st);
    }
    if (r->expensive)
        tfd_runner_share(r);
}
