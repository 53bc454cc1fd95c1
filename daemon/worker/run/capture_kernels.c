/*
 * capture_kernels.c - captures the kernels of a static part: see captures.h.
 *
 * Its members run one after the other, in slots of their own, with the
 * capture's stream and memory; what leaves the part is kept, the rest goes back
 * to the capture's memory.  The number of references that an output has right
 * after that is what it has when nobody else holds it.
 */
#include "daemon/worker/run/captured.h"

#include "common/base/atomic.h"
#include "common/base/alloc.h"
#include "common/base/log.h"

#include <stdlib.h>

#define FAILURES_MAX 3
/* Values in host memory are compared with what was captured. */
#define HOST_BYTES_MAX 4096

struct tfd_tensor *tfd_captured_input(const struct tfd_gate_run *x, int32_t i)
{
    return &x->it->slots[x->part->inputs[i].slot];
}

/* ---- Captured parts ------------------------------------------------------ */

void tfd_captured_free(struct tfd_part *p)
{
    struct tfd_captured *c = p->captured;

    p->captured = NULL;
    if (!c)
        return;
    for (int32_t i = 0; i < p->input_count; i++)
        tfd_tensor_unref(&c->in[i].value);
    for (int32_t i = 0; i < p->value_count; i++)
        tfd_tensor_unref(&c->out[i].tensor);
    if (c->capture)
        c->hooks->drop(c->capture);
    free(c);
}

static struct tfd_captured *captured_new(const struct tfd_part *p)
{
    struct tfd_captured *c;

    c = calloc(1, sizeof(*c) + (size_t)p->input_count * sizeof(*c->in) +
                      (size_t)p->value_count * sizeof(*c->out));
    if (!c)
        return NULL;
    c->hooks = p->device->captures;
    c->out = (struct tfd_captured_value *)(c + 1);
    c->in = (struct tfd_captured_input *)(c->out + p->value_count);
    return c;
}

void tfd_captures_free(struct tfd_parts *p)
{
    if (!p)
        return;
    for (int32_t i = 0; i < p->count; i++)
        tfd_captured_free(&p->part[i]);
    tfd_lock_deinit(&p->lock);
}

/* ---- Inputs -------------------------------------------------------------- */

/* Read where it lies, if that is where it was before; its memory is not held,
 * since who holds a variable's keeps it from being updated in place. */
static enum tfd_code capture_input(struct tfd_gate_run *x, int32_t i,
                                   struct tfd_status *st)
{
    const struct tfd_part_input *in = &x->part->inputs[i];
    const struct tfd_tensor *t = tfd_captured_input(x, i);
    struct tfd_captured_input *c = &x->c->in[i];

    if (in->host && tfd_tensor_size(t) > HOST_BYTES_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "an input in host memory has %zu bytes, of at most %d",
                        tfd_tensor_size(t), HOST_BYTES_MAX);
    if (in->host || !t->buffer) {
        c->value = tfd_tensor_ref(t);
        return TFD_OK;
    }
    c->value = (struct tfd_tensor){t->dtype, t->shape, NULL};
    if (in->source != i) {
        c->copied = x->c->in[in->source].copied;
        c->value = tfd_tensor_ref(&x->c->in[in->source].value);
    } else if (x->part->seen[i] == tfd_tensor_data(t)) {
        c->at = x->part->seen[i];
    } else {
        c->copied = true;
        return tfd_tensor_new_in(&c->value, x->c->capture->memory, t->dtype,
                                 &t->shape, st);
    }
    return TFD_OK;
}

/* Fills the slots that kernels see. */
static enum tfd_code capture_inputs(struct tfd_gate_run *x,
                                    struct tfd_status *st)
{
    const struct tfd_exec_frame *f = x->it->layout;

    for (int32_t i = 0; i < f->slot_count; i++)
        if (f->is_fixed[i])
            x->slots[i] = tfd_tensor_ref(&x->it->slots[i]);
    for (int32_t i = 0; i < x->part->input_count; i++) {
        TFD_TRY(capture_input(x, i, st));
        x->slots[x->part->inputs[i].slot] = tfd_tensor_ref(
            x->c->in[i].copied ? &x->c->in[i].value : tfd_captured_input(x, i));
    }
    return TFD_OK;
}

/* ---- Capturing ----------------------------------------------------------- */

static bool is_member(const struct tfd_part *p, int32_t local)
{
    int32_t at = p->member_of[local];

    return at >= 0 && at < p->member_count && p->members[at]->local == local;
}

static void compute_gate(struct tfd_gate_run *x, const struct tfd_exec_node *n)
{
    struct tfd_kctx *k = &x->r->k;
    bool enqueues = n->flags & TFD_EXEC_STREAM;

    *k = (struct tfd_kctx){
        .kernel = n->kernel,
        .in = x->slots + n->slot,
        .in_count = n->in_count,
        .out = x->out,
        .out_count = n->out_count,
        .stream = enqueues ? x->c->capture->stream : NULL,
        .memory = enqueues ? x->c->capture->memory : NULL,
        .state = n->state,
        .ref = x->it->refs + n->slot,
        .ref_out = x->out_refs,
        .node = n->node,
        .rt = n->rt,
        .step = x->r->step,
    };
    tfd_runner_compute(x->r, n);
    k->stream = NULL;
    k->memory = NULL;
}

static void produce(struct tfd_gate_run *x, const struct tfd_exec_node *n)
{
    if (n->kind == TFD_EXEC_KERNEL)
        compute_gate(x, n);
    else if (n->kind == TFD_EXEC_CONST)
        x->out[0] = tfd_tensor_ref(&x->r->step->exec->constants[n->value]);
    else
        for (int32_t i = 0; i < n->out_count; i++)
            x->out[i] = tfd_tensor_ref(&x->slots[n->slot + i]);
}

/* Outputs to members, and to what is kept; inputs and the rest are let go. */
static void hand_on(struct tfd_gate_run *x, int32_t member)
{
    const struct tfd_part *p = x->part;
    const struct tfd_exec_node *n = p->members[member];

    for (int32_t i = n->slot; i < n->slot + n->in_count; i++)
        tfd_tensor_unref(&x->slots[i]);
    for (int32_t i = 0; i < n->edge_count; i++) {
        const struct tfd_exec_edge *e = &n->edges[i];

        if (e->output != TFD_CONTROL && is_member(p, e->local))
            x->slots[e->slot] = tfd_tensor_ref(&x->out[e->output]);
    }
    for (; x->next_value < p->value_count &&
           p->values[x->next_value].member == member;
         x->next_value++)
        x->c->out[x->next_value].tensor =
            tfd_tensor_ref(&x->out[p->values[x->next_value].output]);
    for (int32_t i = 0; i < n->out_count; i++)
        tfd_tensor_unref(&x->out[i]);
}

static enum tfd_code run_members(struct tfd_gate_run *x)
{
    for (int32_t i = 0; i < x->part->member_count; i++) {
        produce(x, x->part->members[i]);
        hand_on(x, i);
        if (x->r->st.code != TFD_OK)
            return x->r->st.code;
    }
    return TFD_OK;
}

static bool is_constant(const struct tfd_gate_run *x,
                        const struct tfd_buffer *b)
{
    const struct tfd_exec *e = x->r->step->exec;

    for (int32_t i = 0; i < e->constant_count; i++)
        if (e->constants[i].buffer == b)
            return true;
    return false;
}

static void find_origin(struct tfd_gate_run *x, int32_t value)
{
    struct tfd_captured_value *v = &x->c->out[value];
    struct tfd_buffer *b = v->tensor.buffer;

    v->origin = TFD_ORIGIN_CAPTURE;
    if (!b || x->part->values[value].host || is_constant(x, b)) {
        v->origin = TFD_ORIGIN_ALWAYS;
        return;
    }
    for (int32_t i = 0; i < x->part->input_count; i++)
        if (tfd_captured_input(x, i)->buffer == b) {
            v->origin = TFD_ORIGIN_INPUT;
            v->input = i;
            v->tensor.buffer = NULL;
            tfd_buffer_unref(b);
            return;
        }
}

int32_t tfd_captured_references(const struct tfd_captured_value *v)
{
    return TFD_LOAD_ACQUIRE(&v->tensor.buffer->refs);
}

/* After everything else of the capture has been let go. */
static void find_origins(struct tfd_gate_run *x)
{
    for (int32_t i = 0; i < x->part->value_count; i++)
        find_origin(x, i);
    for (int32_t i = 0; i < x->part->value_count; i++)
        if (x->c->out[i].origin == TFD_ORIGIN_CAPTURE)
            x->c->out[i].refs = tfd_captured_references(&x->c->out[i]);
}

static void drop_slots(struct tfd_gate_run *x)
{
    for (int32_t i = 0; i < x->it->layout->slot_count; i++)
        tfd_tensor_unref(&x->slots[i]);
}

static enum tfd_code keep_kernels(struct tfd_gate_run *x, struct tfd_status *st)
{
    struct tfd_device *d = x->part->device;
    enum tfd_code rc;

    TFD_TRY(d->use(d, st));
    TFD_TRY(d->captures->begin(d, &x->c->capture, st));
    rc = capture_inputs(x, st);
    if (rc == TFD_OK)
        rc = run_members(x);
    drop_slots(x);
    if (rc == TFD_OK)
        rc = d->captures->end(x->c->capture, st);
    if (rc == TFD_OK)
        find_origins(x);
    return rc;
}

/* st is the runner's. */
static enum tfd_code capture(struct tfd_gate_run *x, struct tfd_status *st)
{
    size_t slots = (size_t)x->it->layout->slot_count + 1;
    size_t out = (size_t)x->part->out_max + 1;
    char *memory = calloc(1, (slots + out) * sizeof(struct tfd_tensor) +
                                 out * sizeof(struct tfd_variable *));
    enum tfd_code rc;

    x->c = x->part->captured = captured_new(x->part);
    if (!memory || !x->c) {
        free(memory);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a capture");
    }
    x->slots = (struct tfd_tensor *)(void *)memory;
    x->out = x->slots + slots;
    x->out_refs = (struct tfd_variable **)(void *)(x->out + out);
    rc = keep_kernels(x, st);
    free(memory);
    return rc;
}

/* What the part makes is the same either way, so a failure is only said; the
 * members will meet it themselves. */
bool tfd_capture_kernels(struct tfd_gate_run *x)
{
    struct tfd_status *st = &x->r->st;
    struct tfd_step *s = x->r->step;

    if (x->part->failures == FAILURES_MAX)
        return false;
    if (s->on_loop) {
        TFD_STORE_RELAXED(&s->exec->parts->wanted, 1);
        return false;
    }
    if (capture(x, st) == TFD_OK)
        return true;
    if (++x->part->failures == FAILURES_MAX)
        tfd_log(TFD_LOG_INFO, "not_captured", "kernels=%d why=\"%s\"",
                x->part->member_count, st->text);
    tfd_status_clear(st);
    tfd_captured_free(x->part);
    return false;
}
