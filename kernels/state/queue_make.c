/*
 * queue_make.c - the operations that make queues: FIFOQueue, PaddingFIFOQueue,
 * RandomShuffleQueue, PriorityQueue, and their V2 forms.
 *
 * A queue of a shared name may be there already, made by another session; then
 * it must be what the node asks for.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/owner.h"
#include "kernels/state/queue_core.h"

#include "common/base/entropy.h"
#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

#define UNBOUNDED INT32_MAX

struct maker {
    struct tfd_owner owner;
    struct tfd_queue_spec spec;
};

/* ---- Texts --------------------------------------------------------------- */

static void add_types(struct tfd_bytes *b, const struct tfd_queue_spec *s)
{
    for (int i = 0; i < s->count; i++)
        tfd_bytes_printf(b, "%s%s", i ? ", " : "",
                         tfd_dtype_name((int)s->types[i]));
}

static void add_shapes(struct tfd_bytes *b, const struct tfd_queue_spec *s)
{
    char text[TFD_SHAPE_TEXT_MAX];

    tfd_bytes_printf(b, "[");
    for (int i = 0; i < s->shape_count; i++)
        tfd_bytes_printf(b, "%s%s", i ? ", " : "",
                         tfd_shape_text(&s->shapes[i], text));
    tfd_bytes_printf(b, "]");
}

typedef void add_fn(struct tfd_bytes *b, const struct tfd_queue_spec *s);

static enum tfd_code differ(const struct tfd_queue *q, const char *what,
                            add_fn *add, const struct tfd_queue_spec *wanted,
                            struct tfd_status *st)
{
    struct tfd_bytes b;
    enum tfd_code rc;

    tfd_bytes_init(&b, TFD_STATUS_TEXT_MAX);
    tfd_bytes_printf(&b, "Shared queue '%s' has component %s ", q->name, what);
    add(&b, &q->spec);
    tfd_bytes_printf(&b, " but requested component %s were ", what);
    add(&b, wanted);
    rc = tfd_fail(st, TFD_INVALID_ARGUMENT, TFD_STR_FMT,
                  TFD_STR_ARG(tfd_bytes_view(&b)));
    tfd_bytes_deinit(&b);
    return rc;
}

/* ---- Attributes ---------------------------------------------------------- */

/* A queue of priorities has one component more than the node tells. */
static int extra(const struct tfd_queue_spec *s)
{
    return s->kind == &tfd_queue_priority ? 1 : 0;
}

static enum tfd_code read_components(const struct tfd_node *n,
                                     struct tfd_queue_spec *s,
                                     struct tfd_status *st)
{
    int lead = extra(s), max = TFD_QUEUE_COMPONENTS_MAX;

    s->types = calloc((size_t)max + 1, sizeof(*s->types));
    s->shapes = calloc((size_t)max + 1, sizeof(*s->shapes));
    if (!s->types || !s->shapes)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the kernel of " TFD_STR_FMT,
                        TFD_STR_ARG(n->name));
    TFD_TRY(tfd_node_types(n, "component_types", s->types + lead, max,
                           &s->count, st));
    TFD_TRY(tfd_node_shapes(n, "shapes", s->shapes + lead, max, &s->shape_count,
                            st));
    s->count += lead;
    if (lead) {
        s->types[0] = TFD_INT64;
        s->shapes[0] = (struct tfd_shape){0, {0}};
        s->shape_count += s->shape_count > 0;
    }
    return TFD_OK;
}

static enum tfd_code check_shape(const struct tfd_queue_spec *s, int i,
                                 struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (s->kind->padding && s->shapes[i].rank < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "shape %s must have known rank.",
                        tfd_shape_text(&s->shapes[i], text));
    if (!s->kind->padding && tfd_shape_elements(&s->shapes[i]) < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape %s is not fully defined",
                        tfd_shape_text(&s->shapes[i], text));
    return TFD_OK;
}

static enum tfd_code check_components(const struct tfd_queue_spec *s,
                                      struct tfd_status *st)
{
    struct tfd_bytes b;
    enum tfd_code rc;

    for (int i = 0; i < s->shape_count; i++)
        TFD_TRY(check_shape(s, i, st));
    if (s->kind->padding && s->shape_count == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shapes must be provided for all components, but "
                        "received %d dtypes and 0 shapes.",
                        s->count);
    if (s->shape_count == 0 || s->shape_count == s->count)
        return TFD_OK;
    tfd_bytes_init(&b, TFD_STATUS_TEXT_MAX);
    tfd_bytes_printf(&b, "Different number of component types.  Types: ");
    add_types(&b, s);
    tfd_bytes_printf(&b, ", Shapes: ");
    add_shapes(&b, s);
    rc = tfd_fail(st, TFD_INVALID_ARGUMENT, TFD_STR_FMT,
                  TFD_STR_ARG(tfd_bytes_view(&b)));
    tfd_bytes_deinit(&b);
    return rc;
}

static enum tfd_code read_random(const struct tfd_node *n,
                                 struct tfd_queue_spec *s,
                                 struct tfd_status *st)
{
    TFD_TRY(tfd_node_int(n, "min_after_dequeue", &s->min_after_dequeue, st));
    TFD_TRY(tfd_node_int(n, "seed", &s->seed, st));
    TFD_TRY(tfd_node_int(n, "seed2", &s->seed2, st));
    if (s->min_after_dequeue < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "min_after_dequeue %lld must be >= 0",
                        (long long)s->min_after_dequeue);
    if (s->min_after_dequeue >= s->capacity)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "min_after_dequeue %lld must be < capacity %lld",
                        (long long)s->min_after_dequeue,
                        (long long)s->capacity);
    return TFD_OK;
}

static enum tfd_code prepare_queue(const struct tfd_prepare *p, struct maker *m,
                                   const struct tfd_queue_kind *kind,
                                   struct tfd_status *st)
{
    struct tfd_queue_spec *s = &m->spec;

    s->kind = kind;
    TFD_TRY(tfd_node_int(p->node, "capacity", &s->capacity, st));
    if (s->capacity < 0 || s->capacity > UNBOUNDED)
        s->capacity = UNBOUNDED;
    if (kind == &tfd_queue_random)
        TFD_TRY(read_random(p->node, s, st));
    TFD_TRY(read_components(p->node, s, st));
    return check_components(s, st);
}

static void maker_release(void *state)
{
    struct maker *m = state;

    tfd_owner_release(&m->owner);
    free(m->spec.types);
    free(m->spec.shapes);
}

#define PREPARE(id)                                                       \
    static enum tfd_code id##_prepare(const struct tfd_prepare *p,        \
                                      void *state, struct tfd_status *st) \
    {                                                                     \
        struct maker *m = state;                                          \
                                                                          \
        TFD_TRY(tfd_owner_prepare(&m->owner, p, &tfd_queue_type, st));    \
        return prepare_queue(p, m, &tfd_queue_##id, st);                  \
    }

PREPARE(fifo)
PREPARE(padding)
PREPARE(random)
PREPARE(priority)

/* ---- The queue that is there already ------------------------------------- */

static enum tfd_code match_random(const struct tfd_queue *q,
                                  const struct maker *m, struct tfd_status *st)
{
    const struct tfd_queue_spec *have = &q->spec, *want = &m->spec;

    if (have->min_after_dequeue != want->min_after_dequeue)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shared queue '%s' has min_after_dequeue %lld but "
                        "requested min_after_dequeue was %lld.",
                        q->name, (long long)have->min_after_dequeue,
                        (long long)want->min_after_dequeue);
    if ((want->seed != 0 || want->seed2 != 0) &&
        (have->seed != want->seed || have->seed2 != want->seed2))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shared queue '%s' has random seeds (%lld, %lld) but "
                        "requested seeds are (%lld, %lld).",
                        q->name, (long long)have->seed, (long long)have->seed2,
                        (long long)want->seed, (long long)want->seed2);
    return TFD_OK;
}

static bool same_types(const struct tfd_queue_spec *a,
                       const struct tfd_queue_spec *b)
{
    for (int i = 0; a->count == b->count && i < a->count; i++)
        if (a->types[i] != b->types[i])
            return false;
    return a->count == b->count;
}

/* Padded shapes need only be compatible. */
static bool same_shapes(const struct tfd_queue_spec *a,
                        const struct tfd_queue_spec *b)
{
    if (a->shape_count != b->shape_count)
        return false;
    for (int i = 0; i < a->shape_count; i++) {
        struct tfd_shape s = a->shapes[i];

        if (a->kind->padding
                ? tfd_shape_merge(&s, &b->shapes[i], NULL) != TFD_OK
                : !tfd_shape_equal(&s, &b->shapes[i]))
            return false;
    }
    return true;
}

static enum tfd_code match(const struct tfd_kctx *k, void *arg,
                           struct tfd_resource *r, struct tfd_status *st)
{
    const struct tfd_queue *q = (const struct tfd_queue *)r;
    const struct maker *m = arg;

    if (q->spec.kind != m->spec.kind)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Expected %s, found %s",
                        q->spec.kind->name, k->node->op->name.data);
    if (q->spec.capacity != m->spec.capacity)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shared queue '%s' has capacity %lld but requested "
                        "capacity was %lld",
                        q->name, (long long)q->spec.capacity,
                        (long long)m->spec.capacity);
    TFD_TRY(match_random(q, m, st));
    if (!same_types(&q->spec, &m->spec))
        return differ(q, "types", add_types, &m->spec, st);
    if (!same_shapes(&q->spec, &m->spec))
        return differ(q, "shapes", add_shapes, &m->spec, st);
    return TFD_OK;
}

/* ---- The node ------------------------------------------------------------ */

static enum tfd_code make_queue(void *arg, struct tfd_resource **out,
                                struct tfd_status *st)
{
    const struct maker *m = arg;
    struct tfd_queue_order order = {.spec = &m->spec, .name = m->owner.name};
    uint64_t seed = (uint64_t)m->spec.seed, seed2 = (uint64_t)m->spec.seed2;

    if (seed == 0 && seed2 == 0) {
        TFD_TRY(tfd_entropy_u64(&seed, st));
        TFD_TRY(tfd_entropy_u64(&seed2, st));
    }
    order.random = tfd_philox_of(seed, seed2);
    return tfd_queue_make(&order, out, st);
}

/* TensorFlow takes a queue of priorities without shapes for a mistake. */
static enum tfd_code make_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct maker *m = k->state;

    if (extra(&m->spec) && m->spec.shape_count == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shared queue '" TFD_STR_FMT "' has component shapes "
                        "[] but requested component shapes were [[]]",
                        TFD_STR_ARG(m->owner.name));
    return tfd_owner_output(k, &m->owner, make_queue, match, m, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define SHARED                                     \
    "capacity: int = -1; container: string = ''; " \
    "shared_name: string = ''"
#define COMPONENTS                       \
    "component_types: list(type) >= 1; " \
    "shapes: list(shape) >= 0 = []; "
#define RANDOM "min_after_dequeue: int = 0; seed: int = 0; seed2: int = 0; "
#define PRIORITY                              \
    "component_types: list(type) >= 0 = []; " \
    "shapes: list(shape) >= 0; "

#define QUEUE(name_, attrs_)                                             \
    {                                                                    \
        .name = name_,                                                   \
        .inputs = "",                                                    \
        .outputs = "handle: Ref(string)",                                \
        .attrs = attrs_ SHARED,                                          \
        .shape = tfd_owner_shape,                                        \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,                   \
    },                                                                   \
    {                                                                    \
        .name = name_ "V2", .inputs = "", .outputs = "handle: resource", \
        .attrs = attrs_ SHARED, .shape = tfd_shape_scalar,               \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,                   \
    }

static const struct tfd_opdef ops[] = {
    QUEUE("FIFOQueue", COMPONENTS),
    QUEUE("PaddingFIFOQueue", COMPONENTS),
    QUEUE("RandomShuffleQueue", COMPONENTS RANDOM),
    QUEUE("PriorityQueue", PRIORITY),
};

#define KERNEL(name_, id)                                        \
    TFD_KERNEL_ANY(name_, make_compute, .prepare = id##_prepare, \
                   .release = maker_release,                     \
                   .state_size = sizeof(struct maker),           \
                   .flags = TFD_KERNEL_SHARED)
#define BOTH(name_, id) KERNEL(name_, id), KERNEL(name_ "V2", id)

static const struct tfd_kernel kernels[] = {
    BOTH("FIFOQueue", fifo),
    BOTH("PaddingFIFOQueue", padding),
    BOTH("RandomShuffleQueue", random),
    BOTH("PriorityQueue", priority),
};

const struct tfd_family tfd_family_queue_make = {
    .name = "queue_make",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
