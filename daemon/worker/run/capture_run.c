/*
 * capture_run.c - runs a static part as captured kernels: see captures.h.
 *
 *     capture     capture_kernels.c, where that is yet to be done
 *     launch      inputs are copied where they are to be, then one call
 *     deliver     what was kept goes along the edges that leave the part
 */
#include "daemon/worker/run/captured.h"

#include "common/base/atomic.h"
#include "common/base/alloc.h"

#include <string.h>

/* Steps with other shapes in a row, after which those are captured instead. */
#define MISSES_MAX 4
/* An output that has been held so often is copied out from then on. */
#define HELD_MAX 2

/* Shapes as they were, and in host memory the values; kernels read where they
 * did. */
static bool is_like_captured(const struct tfd_gate_run *x, int32_t i)
{
    const struct tfd_captured_input *c = &x->c->in[i];
    const struct tfd_part_input *in = &x->part->inputs[i];
    const struct tfd_tensor *t = tfd_captured_input(x, i);

    if (!tfd_shape_equal(&t->shape, &c->value.shape))
        return false;
    if (in->source != i || !t->buffer)
        return true;
    if (in->host)
        return memcmp(tfd_tensor_data(t), tfd_tensor_data(&c->value),
                      tfd_tensor_size(t)) == 0;
    return c->copied || c->at == tfd_tensor_data(t);
}

static bool are_like_captured(const struct tfd_gate_run *x)
{
    for (int32_t i = 0; i < x->part->input_count; i++)
        if (!is_like_captured(x, i))
            return false;
    return true;
}

/* ---- Launching ----------------------------------------------------------- */

/* What a launch would write over is held by nobody. */
static bool are_outputs_free(const struct tfd_gate_run *x)
{
    bool are_free = true;

    for (int32_t i = 0; i < x->part->value_count; i++) {
        struct tfd_captured_value *v = &x->c->out[i];

        if (v->origin != TFD_ORIGIN_CAPTURE ||
            tfd_captured_references(v) == v->refs)
            continue;
        v->held += v->held < HELD_MAX;
        are_free = false;
    }
    return are_free;
}

static enum tfd_code enqueue_copy(const struct tfd_gate_run *x,
                                  const struct tfd_tensor *to,
                                  const struct tfd_tensor *from,
                                  struct tfd_status *st)
{
    struct tfd_memory *m = x->c->capture->memory;
    size_t size = tfd_tensor_size(to);

    return m->copy_runs(m, x->part->device->stream, tfd_tensor_data(to), size,
                        tfd_tensor_data(from), size, size, 1, st);
}

static enum tfd_code copy_inputs(const struct tfd_gate_run *x,
                                 struct tfd_status *st)
{
    for (int32_t i = 0; i < x->part->input_count; i++)
        if (x->c->in[i].copied && x->part->inputs[i].source == i)
            TFD_TRY(enqueue_copy(x, &x->c->in[i].value,
                                 tfd_captured_input(x, i), st));
    return TFD_OK;
}

static enum tfd_code copy_outputs(const struct tfd_gate_run *x,
                                  struct tfd_status *st)
{
    for (int32_t i = 0; i < x->part->value_count; i++) {
        struct tfd_captured_value *v = &x->c->out[i];

        if (v->held < HELD_MAX)
            continue;
        TFD_TRY(tfd_tensor_new_in(&v->copy, x->part->device->own,
                                  v->tensor.dtype, &v->tensor.shape, st));
        TFD_TRY(enqueue_copy(x, &v->copy, &v->tensor, st));
    }
    return TFD_OK;
}

static void drop_copies(const struct tfd_gate_run *x)
{
    for (int32_t i = 0; i < x->part->value_count; i++)
        tfd_tensor_unref(&x->c->out[i].copy);
}

static enum tfd_code await_inputs(const struct tfd_gate_run *x,
                                  struct tfd_status *st)
{
    struct tfd_device *d = x->part->device;

    for (int32_t i = 0; i < x->part->input_count; i++)
        TFD_TRY(d->await(d, tfd_captured_input(x, i), 1, st));
    return TFD_OK;
}

static enum tfd_code launch(const struct tfd_gate_run *x, struct tfd_status *st)
{
    struct tfd_device *d = x->part->device;

    TFD_TRY(d->use(d, st));
    TFD_TRY(await_inputs(x, st));
    TFD_TRY(copy_inputs(x, st));
    TFD_TRY(d->captures->launch(x->c->capture, st));
    return copy_outputs(x, st);
}

/* A failure is left to the members, as that of a capture. */
static bool try_launch(const struct tfd_gate_run *x)
{
    struct tfd_status *st = &x->r->st;

    if (launch(x, st) == TFD_OK)
        return true;
    tfd_status_clear(st);
    drop_copies(x);
    return false;
}

/* ---- Delivering ---------------------------------------------------------- */

static struct tfd_tensor value_of(const struct tfd_gate_run *x, int32_t value)
{
    const struct tfd_captured_value *v = &x->c->out[value];

    if (v->copy.buffer)
        return tfd_tensor_ref(&v->copy);
    if (v->origin == TFD_ORIGIN_INPUT)
        return (struct tfd_tensor){
            v->tensor.dtype, v->tensor.shape,
            tfd_buffer_ref(tfd_captured_input(x, v->input)->buffer)};
    return tfd_tensor_ref(&v->tensor);
}

static void deliver(const struct tfd_gate_run *x)
{
    for (int32_t i = 0; i < x->part->edge_count; i++) {
        const struct tfd_part_edge *e = &x->part->edges[i];
        struct tfd_value v = {.ref = NULL};

        if (e->value < 0) {
            tfd_runner_control(x->r, x->it, e->edge, false);
            continue;
        }
        v.tensor = value_of(x, e->value);
        tfd_runner_data(x->r, x->it, e->edge, &v, false);
    }
}

static void drop_inputs(const struct tfd_gate_run *x)
{
    for (int32_t i = 0; i < x->part->input_count; i++)
        tfd_tensor_unref(tfd_captured_input(x, i));
}

/* ---- All together -------------------------------------------------------- */

static bool run_captured(struct tfd_gate_run *x)
{
    struct tfd_part *p = x->part;

    x->c = p->captured;
    if (x->c && !are_like_captured(x)) {
        if (++p->misses < MISSES_MAX)
            return false;
        tfd_captured_free(p);
    }
    p->misses = 0;
    if (!p->captured && !tfd_capture_kernels(x))
        return false;
    if (!are_outputs_free(x) || !try_launch(x))
        return false;
    deliver(x);
    drop_copies(x);
    return true;
}

static void remember_places(const struct tfd_gate_run *x)
{
    for (int32_t i = 0; i < x->part->input_count; i++)
        x->part->seen[i] = tfd_tensor_data(tfd_captured_input(x, i));
}

static bool is_dead(const struct tfd_gate_run *x, int32_t input)
{
    return tfd_captured_input(x, input)->dtype == TFD_DTYPE_INVALID;
}

static bool has_dead_input(const struct tfd_gate_run *x)
{
    for (int32_t i = 0; i < x->part->input_count; i++)
        if (is_dead(x, i))
            return true;
    return false;
}

/* The gate has kept it from the members so far. */
static void mark_dead_inputs(const struct tfd_gate_run *x)
{
    for (int32_t i = 0; i < x->part->input_count; i++)
        if (is_dead(x, i))
            x->it->dead[x->part->inputs[i].local] = 1;
}

static bool is_off(const struct tfd_parts *p)
{
    return TFD_LOAD_RELAXED(&p->off) != 0;
}

/* One step at a time has the part. */
static bool run_alone(struct tfd_gate_run *x)
{
    struct tfd_step *s = x->r->step;
    bool ran = false;

    if (TFD_EXCHANGE(&x->part->busy, 1))
        return false;
    if (is_off(s->exec->parts))
        tfd_captured_free(x->part);
    else if (s->parts_mode == TFD_PARTS_CAPTURED)
        ran = run_captured(x);
    remember_places(x);
    TFD_STORE_RELEASE(&x->part->busy, 0);
    return ran;
}

bool tfd_captures_run(struct tfd_runner *r, struct tfd_ready *gate)
{
    struct tfd_step *s = r->step;
    struct tfd_gate_run x = {
        .r = r,
        .it = gate->it,
        .part = &s->exec->parts->part[gate->node->value],
    };

    if (has_dead_input(&x)) {
        mark_dead_inputs(&x);
        return false;
    }
    if (!run_alone(&x))
        return false;
    TFD_COUNTER_ADD(&s->parts_launched, 1);
    drop_inputs(&x);
    if (r->expensive)
        tfd_runner_share(r);
    return true;
}
