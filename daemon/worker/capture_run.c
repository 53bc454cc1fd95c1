/*
 * capture_run.c - runs a static part as captured kernels: see captures.h.
 *
 *     capture     its members run one after the other, in slots of their own,
 *                 with the capture's stream and memory; what leaves the part is
 *                 kept, the rest goes back to the capture's memory
 *     launch      inputs are copied where they are to be, then one call
 *     deliver     what was kept goes along the edges that leave the part
 *
 * The number of references that an output has right after the capture is what
 * it has when nobody else holds it.
 */
#include "daemon/worker/captures.h"

#include "common/alloc.h"
#include "common/log.h"
#include "daemon/worker/runner.h"

#include <stdlib.h>
#include <string.h>

/* Steps with other shapes in a row, after which those are captured instead. */
#define MISSES_MAX 4
#define FAILURES_MAX 3
/* Values in host memory are compared with what was captured. */
#define HOST_BYTES_MAX 4096
/* An output that has been held so often is copied out from then on. */
#define HELD_MAX 2

struct captured_input {
    struct tfd_tensor value; /* in host memory: what it was; else where kernels
                                read it, if it is copied there */
    const void *at;          /* else where it lies */
    bool copied;
};

enum origin {
    ORIGIN_CAPTURE, /* the capture's memory */
    ORIGIN_INPUT,   /* an input's buffer, passed on */
    ORIGIN_ALWAYS,  /* a constant, or in host memory */
};

struct captured_value {
    struct tfd_tensor tensor;
    struct tfd_tensor copy; /* of one launch */
    enum origin origin;
    int32_t input;
    int32_t refs; /* when nobody else holds it */
    int32_t held; /* times that somebody did */
};

struct tfd_captured {
    struct tfd_capture *capture;
    const struct tfd_device_captures *hooks;
    struct captured_input *in;
    struct captured_value *out;
};

struct run {
    struct tfd_runner *r;
    struct tfd_iter *it;
    struct tfd_part *part;
    struct tfd_captured *c;
    struct tfd_tensor *slots; /* while capturing, like the iteration's */
    struct tfd_tensor *out;
    struct tfd_variable **out_refs; /* none */
    int32_t next_value;
};

static struct tfd_tensor *input_at(const struct run *x, int32_t i)
{
    return &x->it->slots[x->part->inputs[i].slot];
}

/* ---- Captured parts ------------------------------------------------------ */

static void captured_free(struct tfd_part *p)
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
    c->out = (struct captured_value *)(c + 1);
    c->in = (struct captured_input *)(c->out + p->value_count);
    return c;
}

void tfd_captures_free(struct tfd_parts *p)
{
    if (!p)
        return;
    for (int32_t i = 0; i < p->count; i++)
        captured_free(&p->part[i]);
    tfd_lock_deinit(&p->lock);
}

/* ---- Inputs -------------------------------------------------------------- */

/* Read where it lies, if that is where it was before; its memory is not held,
 * since who holds a variable's keeps it from being updated in place. */
static enum tfd_code capture_input(struct run *x, int32_t i,
                                   struct tfd_status *st)
{
    const struct tfd_part_input *in = &x->part->inputs[i];
    const struct tfd_tensor *t = input_at(x, i);
    struct captured_input *c = &x->c->in[i];

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
static enum tfd_code capture_inputs(struct run *x, struct tfd_status *st)
{
    const struct tfd_exec_frame *f = x->it->layout;

    for (int32_t i = 0; i < f->slot_count; i++)
        if (f->is_fixed[i])
            x->slots[i] = tfd_tensor_ref(&x->it->slots[i]);
    for (int32_t i = 0; i < x->part->input_count; i++) {
        TFD_TRY(capture_input(x, i, st));
        x->slots[x->part->inputs[i].slot] = tfd_tensor_ref(
            x->c->in[i].copied ? &x->c->in[i].value : input_at(x, i));
    }
    return TFD_OK;
}

/* Shapes as they were, and in host memory the values; kernels read where they
 * did. */
static bool is_like_captured(const struct run *x, int32_t i)
{
    const struct captured_input *c = &x->c->in[i];
    const struct tfd_part_input *in = &x->part->inputs[i];
    const struct tfd_tensor *t = input_at(x, i);

    if (!tfd_shape_equal(&t->shape, &c->value.shape))
        return false;
    if (in->source != i || !t->buffer)
        return true;
    if (in->host)
        return memcmp(tfd_tensor_data(t), tfd_tensor_data(&c->value),
                      tfd_tensor_size(t)) == 0;
    return c->copied || c->at == tfd_tensor_data(t);
}

static bool are_like_captured(const struct run *x)
{
    for (int32_t i = 0; i < x->part->input_count; i++)
        if (!is_like_captured(x, i))
            return false;
    return true;
}

/* ---- Capturing ----------------------------------------------------------- */

static bool is_member(const struct tfd_part *p, int32_t local)
{
    int32_t at = p->member_of[local];

    return at >= 0 && at < p->member_count && p->members[at]->local == local;
}

static void compute(struct run *x, const struct tfd_exec_node *n)
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

static void produce(struct run *x, const struct tfd_exec_node *n)
{
    if (n->kind == TFD_EXEC_KERNEL)
        compute(x, n);
    else if (n->kind == TFD_EXEC_CONST)
        x->out[0] = tfd_tensor_ref(&x->r->step->exec->constants[n->value]);
    else
        for (int32_t i = 0; i < n->out_count; i++)
            x->out[i] = tfd_tensor_ref(&x->slots[n->slot + i]);
}

/* Outputs to members, and to what is kept; inputs and the rest are let go. */
static void hand_on(struct run *x, int32_t member)
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

static enum tfd_code run_members(struct run *x)
{
    for (int32_t i = 0; i < x->part->member_count; i++) {
        produce(x, x->part->members[i]);
        hand_on(x, i);
        if (x->r->st.code != TFD_OK)
            return x->r->st.code;
    }
    return TFD_OK;
}

static bool is_constant(const struct run *x, const struct tfd_buffer *b)
{
    const struct tfd_exec *e = x->r->step->exec;

    for (int32_t i = 0; i < e->constant_count; i++)
        if (e->constants[i].buffer == b)
            return true;
    return false;
}

static void find_origin(struct run *x, int32_t value)
{
    struct captured_value *v = &x->c->out[value];
    struct tfd_buffer *b = v->tensor.buffer;

    v->origin = ORIGIN_CAPTURE;
    if (!b || x->part->values[value].host || is_constant(x, b)) {
        v->origin = ORIGIN_ALWAYS;
        return;
    }
    for (int32_t i = 0; i < x->part->input_count; i++)
        if (input_at(x, i)->buffer == b) {
            v->origin = ORIGIN_INPUT;
            v->input = i;
            v->tensor.buffer = NULL;
            tfd_buffer_unref(b);
            return;
        }
}

static int32_t references(const struct captured_value *v)
{
    return __atomic_load_n(&v->tensor.buffer->refs, __ATOMIC_ACQUIRE);
}

/* After everything else of the capture has been let go. */
static void find_origins(struct run *x)
{
    for (int32_t i = 0; i < x->part->value_count; i++)
        find_origin(x, i);
    for (int32_t i = 0; i < x->part->value_count; i++)
        if (x->c->out[i].origin == ORIGIN_CAPTURE)
            x->c->out[i].refs = references(&x->c->out[i]);
}

static void drop_slots(struct run *x)
{
    for (int32_t i = 0; i < x->it->layout->slot_count; i++)
        tfd_tensor_unref(&x->slots[i]);
}

static enum tfd_code capture_kernels(struct run *x, struct tfd_status *st)
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
static enum tfd_code capture(struct run *x, struct tfd_status *st)
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
    rc = capture_kernels(x, st);
    free(memory);
    return rc;
}

/* What the part makes is the same either way, so a failure is only said; the
 * members will meet it themselves. */
static bool try_capture(struct run *x)
{
    struct tfd_status *st = &x->r->st;
    struct tfd_step *s = x->r->step;

    if (x->part->failures == FAILURES_MAX)
        return false;
    if (s->on_loop) {
        __atomic_store_n(&s->exec->parts->wanted, 1, __ATOMIC_RELAXED);
        return false;
    }
    if (capture(x, st) == TFD_OK)
        return true;
    if (++x->part->failures == FAILURES_MAX)
        tfd_log(TFD_LOG_INFO, "not_captured", "kernels=%d why=\"%s\"",
                x->part->member_count, st->text);
    tfd_status_clear(st);
    captured_free(x->part);
    return false;
}

/* ---- Launching ----------------------------------------------------------- */

/* What a launch would write over is held by nobody. */
static bool are_outputs_free(const struct run *x)
{
    bool are_free = true;

    for (int32_t i = 0; i < x->part->value_count; i++) {
        struct captured_value *v = &x->c->out[i];

        if (v->origin != ORIGIN_CAPTURE || references(v) == v->refs)
            continue;
        v->held += v->held < HELD_MAX;
        are_free = false;
    }
    return are_free;
}

static enum tfd_code enqueue_copy(const struct run *x,
                                  const struct tfd_tensor *to,
                                  const struct tfd_tensor *from,
                                  struct tfd_status *st)
{
    struct tfd_memory *m = x->c->capture->memory;
    size_t size = tfd_tensor_size(to);

    return m->copy_runs(m, x->part->device->stream, tfd_tensor_data(to), size,
                        tfd_tensor_data(from), size, size, 1, st);
}

static enum tfd_code copy_inputs(const struct run *x, struct tfd_status *st)
{
    for (int32_t i = 0; i < x->part->input_count; i++)
        if (x->c->in[i].copied && x->part->inputs[i].source == i)
            TFD_TRY(enqueue_copy(x, &x->c->in[i].value, input_at(x, i), st));
    return TFD_OK;
}

static enum tfd_code copy_outputs(const struct run *x, struct tfd_status *st)
{
    for (int32_t i = 0; i < x->part->value_count; i++) {
        struct captured_value *v = &x->c->out[i];

        if (v->held < HELD_MAX)
            continue;
        TFD_TRY(tfd_tensor_new_in(&v->copy, x->part->device->own,
                                  v->tensor.dtype, &v->tensor.shape, st));
        TFD_TRY(enqueue_copy(x, &v->copy, &v->tensor, st));
    }
    return TFD_OK;
}

static void drop_copies(const struct run *x)
{
    for (int32_t i = 0; i < x->part->value_count; i++)
        tfd_tensor_unref(&x->c->out[i].copy);
}

static enum tfd_code launch(const struct run *x, struct tfd_status *st)
{
    struct tfd_device *d = x->part->device;

    TFD_TRY(d->use(d, st));
    TFD_TRY(copy_inputs(x, st));
    TFD_TRY(d->captures->launch(x->c->capture, st));
    return copy_outputs(x, st);
}

/* A failure is left to the members, as that of a capture. */
static bool try_launch(const struct run *x)
{
    struct tfd_status *st = &x->r->st;

    if (launch(x, st) == TFD_OK)
        return true;
    tfd_status_clear(st);
    drop_copies(x);
    return false;
}

/* ---- Delivering ---------------------------------------------------------- */

static struct tfd_tensor value_of(const struct run *x, int32_t value)
{
    const struct captured_value *v = &x->c->out[value];

    if (v->copy.buffer)
        return tfd_tensor_ref(&v->copy);
    if (v->origin == ORIGIN_INPUT)
        return (struct tfd_tensor){
            v->tensor.dtype, v->tensor.shape,
            tfd_buffer_ref(input_at(x, v->input)->buffer)};
    return tfd_tensor_ref(&v->tensor);
}

static void deliver(const struct run *x)
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

static void drop_inputs(const struct run *x)
{
    for (int32_t i = 0; i < x->part->input_count; i++)
        tfd_tensor_unref(input_at(x, i));
}

/* ---- All together -------------------------------------------------------- */

static bool run_captured(struct run *x)
{
    struct tfd_part *p = x->part;

    x->c = p->captured;
    if (x->c && !are_like_captured(x)) {
        if (++p->misses < MISSES_MAX)
            return false;
        captured_free(p);
    }
    p->misses = 0;
    if (!p->captured && !try_capture(x))
        return false;
    if (!are_outputs_free(x) || !try_launch(x))
        return false;
    deliver(x);
    drop_copies(x);
    return true;
}

static void remember_places(const struct run *x)
{
    for (int32_t i = 0; i < x->part->input_count; i++)
        x->part->seen[i] = tfd_tensor_data(input_at(x, i));
}

static bool is_dead(const struct run *x, int32_t input)
{
    return input_at(x, input)->dtype == TFD_DTYPE_INVALID;
}

static bool has_dead_input(const struct run *x)
{
    for (int32_t i = 0; i < x->part->input_count; i++)
        if (is_dead(x, i))
            return true;
    return false;
}

/* The gate has kept it from the members so far. */
static void mark_dead_inputs(const struct run *x)
{
    for (int32_t i = 0; i < x->part->input_count; i++)
        if (is_dead(x, i))
            x->it->dead[x->part->inputs[i].local] = 1;
}

static bool is_off(const struct tfd_parts *p)
{
    return __atomic_load_n(&p->off, __ATOMIC_RELAXED) != 0;
}

/* One step at a time has the part. */
static bool run_alone(struct run *x)
{
    struct tfd_step *s = x->r->step;
    bool ran = false;

    if (__atomic_exchange_n(&x->part->busy, 1, __ATOMIC_ACQUIRE))
        return false;
    if (is_off(s->exec->parts))
        captured_free(x->part);
    else if (s->parts_mode == TFD_PARTS_CAPTURED)
        ran = run_captured(x);
    remember_places(x);
    __atomic_store_n(&x->part->busy, 0, __ATOMIC_RELEASE);
    return ran;
}

bool tfd_captures_run(struct tfd_runner *r, struct tfd_ready *gate)
{
    struct tfd_step *s = r->step;
    struct run x = {
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
    __atomic_add_fetch(&s->parts_launched, 1, __ATOMIC_RELAXED);
    drop_inputs(&x);
    if (r->expensive)
        tfd_runner_share(r);
    return true;
}
