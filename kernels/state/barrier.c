/*
 * barrier.c - the operations on barriers: Barrier, BarrierInsertMany,
 * BarrierTakeMany, BarrierClose, BarrierReadySize, BarrierIncompleteSize.
 */
#include "kernels/state/barrier_core.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/owner.h"

#include "config/limits.h"

#include <stdlib.h>

/* ---- Making -------------------------------------------------------------- */

struct maker {
    struct tfd_owner owner;
    struct tfd_queue_spec spec; /* of the queue of what is complete */
};

static enum tfd_code read_components(const struct tfd_node *n,
                                     struct tfd_queue_spec *s,
                                     struct tfd_status *st)
{
    int max = TFD_QUEUE_COMPONENTS_MAX;

    s->types = calloc((size_t)max + TFD_BARRIER_HEAD, sizeof(*s->types));
    s->shapes = calloc((size_t)max + TFD_BARRIER_HEAD, sizeof(*s->shapes));
    if (!s->types || !s->shapes)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the kernel of " TFD_STR_FMT,
                        TFD_STR_ARG(n->name));
    TFD_TRY(tfd_node_types(n, "component_types", s->types + TFD_BARRIER_HEAD,
                           max, &s->count, st));
    TFD_TRY(tfd_node_shapes(n, "shapes", s->shapes + TFD_BARRIER_HEAD, max,
                            &s->shape_count, st));
    if (s->shape_count != s->count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "All of the component shapes must be specified");
    s->types[0] = TFD_INT64;
    s->types[1] = TFD_STRING;
    s->count += TFD_BARRIER_HEAD;
    s->shape_count = s->count;
    return TFD_OK;
}

static enum tfd_code read_spec(const struct tfd_node *n,
                               struct tfd_queue_spec *s, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    int64_t capacity;

    s->kind = &tfd_queue_priority;
    s->capacity = INT32_MAX;
    TFD_TRY(read_components(n, s, st));
    for (int i = TFD_BARRIER_HEAD; i < s->count; i++) {
        /* Not told, as from tf.Barrier without shapes, means scalars. */
        if (s->shapes[i].rank == TFD_RANK_UNKNOWN)
            s->shapes[i] = (struct tfd_shape){0, {0}};
        if (tfd_shape_elements(&s->shapes[i]) < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Shape %s is not fully defined",
                            tfd_shape_text(&s->shapes[i], text));
    }
    TFD_TRY(tfd_node_int(n, "capacity", &capacity, st));
    if (capacity == -1)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Barrier only accepts capacity=-1.  Feed the inputs to "
                    "your Barrier through a queue to enforce a limited "
                    "capacity.");
}

static void maker_release(void *state)
{
    struct maker *m = state;

    tfd_owner_release(&m->owner);
    free(m->spec.types);
    free(m->spec.shapes);
}

static enum tfd_code make_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct maker *m = state;

    TFD_TRY(tfd_owner_prepare(&m->owner, p, &tfd_barrier_type, st));
    return read_spec(p->node, &m->spec, st);
}

static enum tfd_code make_barrier(void *arg, struct tfd_resource **out,
                                  struct tfd_status *st)
{
    const struct maker *m = arg;
    struct tfd_barrier_order order = {&m->spec, m->owner.name};

    return tfd_barrier_make(&order, out, st);
}

static void list_types(struct tfd_bytes *text, const struct tfd_queue_spec *s)
{
    for (int i = TFD_BARRIER_HEAD; i < s->count; i++)
        tfd_bytes_printf(text, "%s%s", i > TFD_BARRIER_HEAD ? ", " : "",
                         tfd_dtype_name((int)s->types[i]));
}

static void list_shapes(struct tfd_bytes *text, const struct tfd_queue_spec *s)
{
    char shape[TFD_SHAPE_TEXT_MAX];

    tfd_bytes_printf(text, "[");
    for (int i = TFD_BARRIER_HEAD; i < s->count; i++)
        tfd_bytes_printf(text, "%s%s", i > TFD_BARRIER_HEAD ? ", " : "",
                         tfd_shape_text(&s->shapes[i], shape));
    tfd_bytes_printf(text, "]");
}

static enum tfd_code
differ(const struct tfd_barrier *b, const char *what,
       void (*list)(struct tfd_bytes *text, const struct tfd_queue_spec *s),
       const struct tfd_queue_spec *wanted, struct tfd_status *st)
{
    struct tfd_bytes text;

    tfd_bytes_init(&text, TFD_STATUS_TEXT_MAX);
    tfd_bytes_printf(&text, "Shared barrier '%s' has component %s ", b->name,
                     what);
    list(&text, &b->queue->spec);
    tfd_bytes_printf(&text, " but requested component %s were ", what);
    list(&text, wanted);
    tfd_fail(st, TFD_INVALID_ARGUMENT, TFD_STR_FMT,
             TFD_STR_ARG(tfd_bytes_view(&text)));
    tfd_bytes_deinit(&text);
    return st->code;
}

/* A barrier that is there already is the one the node asks for. */
static enum tfd_code match(const struct tfd_kctx *k, void *arg,
                           struct tfd_resource *r, struct tfd_status *st)
{
    const struct tfd_barrier *b = (const struct tfd_barrier *)r;
    const struct tfd_queue_spec *have = &b->queue->spec;
    const struct tfd_queue_spec *want = &((const struct maker *)arg)->spec;
    bool same_types = have->count == want->count, same_shapes = same_types;

    (void)k;
    for (int i = 0; same_types && i < have->count; i++) {
        same_types = have->types[i] == want->types[i];
        same_shapes &= i < TFD_BARRIER_HEAD ||
                       tfd_shape_equal(&have->shapes[i], &want->shapes[i]);
    }
    if (!same_types)
        return differ(b, "types", list_types, want, st);
    return same_shapes ? TFD_OK : differ(b, "shapes", list_shapes, want, st);
}

static enum tfd_code make_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct maker *m = k->state;

    return tfd_owner_output(k, &m->owner, make_barrier, match, m, st);
}

/* ---- Using --------------------------------------------------------------- */

static void fail_barrier(struct tfd_kctx *k, struct tfd_barrier *take_b,
                         const struct tfd_status *st)
{
    tfd_resource_unref(&take_b->resource);
    tfd_kctx_finish(k, st);
}

/* NULL: k is finished. */
static struct tfd_barrier *find_barrier(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_resource *r;

    if (tfd_owner_find(k, &tfd_barrier_type, &r, &st) == TFD_OK)
        return (struct tfd_barrier *)r;
    tfd_kctx_finish(k, &st);
    return NULL;
}

static enum tfd_code insert_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    return tfd_node_int(p->node, "component_index", state, st);
}

static enum tfd_code check_insert(const struct tfd_barrier *b,
                                  const struct tfd_kctx *k, int64_t component,
                                  struct tfd_status *st)
{
    const struct tfd_queue_spec *s = &b->queue->spec;
    int have = k->node->in_types[2], want;

    if (component < 0 || component >= s->count - TFD_BARRIER_HEAD)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The component ID is out of range %lld > "
                        "num_components (= %d)",
                        (long long)component, s->count - TFD_BARRIER_HEAD);
    want = (int)s->types[TFD_BARRIER_HEAD + component];
    if (have == want)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Signature mismatch, have: string_ref, string, %s-> "
                    "expected: string_ref, string, %s->",
                    tfd_dtype_name(have), tfd_dtype_name(want));
}

static void insert_start(struct tfd_kctx *k)
{
    int64_t component = *(const int64_t *)k->state;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_barrier *b = find_barrier(k);

    if (!b)
        return;
    if (check_insert(b, k, component, &st) == TFD_OK)
        tfd_barrier_insert(b, k, (int)component);
    else
        fail_barrier(k, b, &st);
}

static enum tfd_code take_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    int64_t timeout;

    TFD_TRY(tfd_node_int(p->node, "timeout_ms", &timeout, st));
    if (timeout != -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Timeout not supported yet.");
    return tfd_node_bool(p->node, "allow_small_batch", state, st);
}

static void add_types(struct tfd_bytes *text, const struct tfd_queue_spec *s,
                      const struct tfd_node *n)
{
    int count = s ? s->count : n->out_count;

    tfd_bytes_printf(text, "string_ref, int32->");
    for (int i = 0; i < count; i++)
        tfd_bytes_printf(
            text, "%s%s", i ? ", " : "",
            tfd_dtype_name(s ? (int)s->types[i] : n->out_types[i]));
}

static enum tfd_code check_take(const struct tfd_barrier *b,
                                const struct tfd_kctx *k, int64_t *wanted,
                                struct tfd_status *st)
{
    const struct tfd_queue_spec *s = &b->queue->spec;
    const struct tfd_node *n = k->node;
    bool same = s->count == n->out_count;
    struct tfd_bytes text;

    TFD_TRY(tfd_check_int(k, 1, wanted, st));
    for (int i = 0; same && i < s->count; i++)
        same = n->out_types[i] == (int)s->types[i];
    if (same && *wanted < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "BarrierTakeMany requested %lld < 0 elements",
                        (long long)*wanted);
    if (same)
        return TFD_OK;
    tfd_bytes_init(&text, TFD_STATUS_TEXT_MAX);
    tfd_bytes_printf(&text, "Signature mismatch, have: ");
    add_types(&text, NULL, n);
    tfd_bytes_printf(&text, " expected: ");
    add_types(&text, s, n);
    tfd_fail(st, TFD_INVALID_ARGUMENT, TFD_STR_FMT,
             TFD_STR_ARG(tfd_bytes_view(&text)));
    tfd_bytes_deinit(&text);
    return st->code;
}

static void take_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_barrier *b = find_barrier(k);
    int64_t wanted;

    if (!b)
        return;
    if (check_take(b, k, &wanted, &st) == TFD_OK)
        tfd_barrier_take(b, k, wanted, *(const bool *)k->state);
    else
        fail_barrier(k, b, &st);
}

static enum tfd_code close_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    return tfd_node_bool(p->node, "cancel_pending_enqueues", state, st);
}

static void close_start(struct tfd_kctx *k)
{
    struct tfd_barrier *b = find_barrier(k);

    if (b)
        tfd_barrier_close(b, k, *(const bool *)k->state);
}

static enum tfd_code size(struct tfd_kctx *k,
                          int64_t (*count)(struct tfd_barrier *b),
                          struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    struct tfd_resource *r;
    int64_t n;

    TFD_TRY(tfd_owner_find(k, &tfd_barrier_type, &r, st));
    n = count((struct tfd_barrier *)r);
    tfd_resource_unref(r);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &scalar, st));
    *(int32_t *)tfd_tensor_data(&k->out[0]) =
        n > INT32_MAX ? INT32_MAX : (int32_t)n;
    return TFD_OK;
}

static enum tfd_code ready_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return size(k, tfd_barrier_ready, st);
}

static enum tfd_code incomplete_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    return size(k, tfd_barrier_incomplete, st);
}

/* ---- Shapes -------------------------------------------------------------- */

/* As many keys as values. */
static enum tfd_code insert_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    struct tfd_shape keys = {1, {TFD_DIM_UNKNOWN}}, count;

    TFD_TRY(tfd_shape_merge(&keys, &s->in[1], st));
    if (s->in[2].rank < 0)
        return TFD_OK;
    if (s->in[2].rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank 1 but is rank 0");
    count = (struct tfd_shape){1, {s->in[2].dim[0]}};
    return tfd_shape_merge(&keys, &count, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define HANDLE "handle: Ref(string)"

static const struct tfd_opdef ops[] = {
    {
        .name = "Barrier",
        .inputs = "",
        .outputs = HANDLE,
        .attrs = "component_types: list(type) >= 1; "
                 "shapes: list(shape) >= 0 = []; capacity: int = -1; "
                 "container: string = ''; shared_name: string = ''",
        .shape = tfd_owner_shape,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "BarrierInsertMany",
        .inputs = HANDLE ", keys: string, values: T",
        .outputs = "",
        .attrs = "T: type; component_index: int",
        .shape = insert_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "BarrierTakeMany",
        .inputs = HANDLE ", num_elements: int32",
        .outputs = "indices: int64, keys: string, values: component_types",
        .attrs = "component_types: list(type) >= 1; "
                 "allow_small_batch: bool = false; "
                 "wait_for_incomplete: bool = false; timeout_ms: int = -1",
        .checks = "num_elements: scalar",
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "BarrierClose",
        .inputs = HANDLE,
        .outputs = "",
        .attrs = "cancel_pending_enqueues: bool = false",
        .shape = tfd_shape_none,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "BarrierReadySize",
        .inputs = HANDLE,
        .outputs = "size: int32",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "BarrierIncompleteSize",
        .inputs = HANDLE,
        .outputs = "size: int32",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Barrier", make_compute, .prepare = make_prepare,
                   .release = maker_release, .state_size = sizeof(struct maker),
                   .flags = TFD_KERNEL_SHARED),
    TFD_KERNEL_ANY("BarrierInsertMany", NULL, .start = insert_start,
                   .prepare = insert_prepare, .state_size = sizeof(int64_t)),
    TFD_KERNEL_ANY("BarrierTakeMany", NULL, .start = take_start,
                   .prepare = take_prepare, .state_size = sizeof(bool)),
    TFD_KERNEL_ANY("BarrierClose", NULL, .start = close_start,
                   .prepare = close_prepare, .state_size = sizeof(bool)),
    TFD_KERNEL_ANY("BarrierReadySize", ready_compute),
    TFD_KERNEL_ANY("BarrierIncompleteSize", incomplete_compute),
};

const struct tfd_family tfd_family_barrier = {
    .name = "barrier",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
