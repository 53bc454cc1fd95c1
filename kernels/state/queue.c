/*
 * queue.c - the operations on queues: QueueEnqueue, QueueDequeueMany,
 * QueueClose and so on, in the older form (handle by reference) and as V2
 * (resource).
 *
 * All of them are asynchronous and return at once; queue_core.c finishes them.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/owner.h"
#include "kernels/state/queue_core.h"

/* ---- Common -------------------------------------------------------------- */

static void fail_queue(struct tfd_kctx *k, struct tfd_queue *take_q,
                       const struct tfd_status *st)
{
    if (take_q)
        tfd_resource_unref(&take_q->resource);
    tfd_kctx_finish(k, st);
}

/* NULL: k is finished. */
static struct tfd_queue *find_queue(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_resource *r;

    if (tfd_owner_find(k, &tfd_queue_type, &r, &st) == TFD_OK)
        return (struct tfd_queue *)r;
    fail_queue(k, NULL, &st);
    return NULL;
}

/* Component i of the node, or of the queue if there is one. */
static int type_at(const struct tfd_node *n, const struct tfd_queue *q,
                   int handles, bool enqueues, int i)
{
    if (q)
        return (int)q->spec.types[i];
    return enqueues ? n->in_types[handles + i] : n->out_types[i];
}

static int count_of(const struct tfd_node *n, const struct tfd_queue *q,
                    int handles, bool enqueues)
{
    if (q)
        return q->spec.count;
    return enqueues ? n->in_count - handles : n->out_count;
}

/* "resource, float->": the types of the node, or those the queue asks for. */
static void add_signature(struct tfd_bytes *b, const struct tfd_node *n,
                          const struct tfd_queue *q, int handles, bool enqueues)
{
    int count = count_of(n, q, handles, enqueues);

    tfd_bytes_printf(b, "%s", tfd_dtype_name(n->in_types[0]));
    if (handles > 1)
        tfd_bytes_printf(b, ", %s", tfd_dtype_name(n->in_types[1]));
    if (!enqueues)
        tfd_bytes_printf(b, "->");
    for (int i = 0; i < count; i++)
        tfd_bytes_printf(b, "%s%s", i > 0 || enqueues ? ", " : "",
                         tfd_dtype_name(type_at(n, q, handles, enqueues, i)));
    if (enqueues)
        tfd_bytes_printf(b, "->");
}

static enum tfd_code mismatch(const struct tfd_queue *q,
                              const struct tfd_node *n, int handles,
                              bool enqueues, struct tfd_status *st)
{
    struct tfd_bytes b;
    enum tfd_code rc;

    tfd_bytes_init(&b, TFD_STATUS_TEXT_MAX);
    tfd_bytes_printf(&b, "Signature mismatch, have: ");
    add_signature(&b, n, NULL, handles, enqueues);
    tfd_bytes_printf(&b, " expected: ");
    add_signature(&b, n, q, handles, enqueues);
    rc = tfd_fail(st, TFD_INVALID_ARGUMENT, TFD_STR_FMT,
                  TFD_STR_ARG(tfd_bytes_view(&b)));
    tfd_bytes_deinit(&b);
    return rc;
}

/* The node's types are the queue's. */
static enum tfd_code check_types(const struct tfd_queue *q,
                                 const struct tfd_kctx *k, int handles,
                                 bool enqueues, struct tfd_status *st)
{
    const struct tfd_node *n = k->node;
    int count = count_of(n, NULL, handles, enqueues);
    bool same = count == q->spec.count;

    for (int i = 0; same && i < count; i++)
        same = type_at(n, NULL, handles, enqueues, i) == (int)q->spec.types[i];
    return same ? TFD_OK : mismatch(q, n, handles, enqueues, st);
}

static enum tfd_code access_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    int64_t timeout;

    (void)state;
    TFD_TRY(tfd_node_int(p->node, "timeout_ms", &timeout, st));
    if (timeout != -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Timeout not supported yet.");
    return TFD_OK;
}

/* ---- Enqueue ------------------------------------------------------------- */

static void enqueue(struct tfd_kctx *k, bool many)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_queue *q = find_queue(k);
    struct tfd_queue_row *rows = NULL;

    if (!q)
        return;
    if (check_types(q, k, 1, true, &st) != TFD_OK ||
        tfd_queue_check_inputs(q, k, 1, many, &st) != TFD_OK ||
        tfd_queue_split(q, k, 1, many, &rows, &st) != TFD_OK || !rows) {
        fail_queue(k, q, &st);
        return;
    }
    tfd_queue_enqueue(q, k, rows);
}

static void enqueue_start(struct tfd_kctx *k)
{
    enqueue(k, false);
}

static void enqueue_many_start(struct tfd_kctx *k)
{
    enqueue(k, true);
}

/* ---- Dequeue ------------------------------------------------------------- */

static void dequeue_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_queue *q = find_queue(k);

    if (!q)
        return;
    if (check_types(q, k, 1, false, &st) == TFD_OK)
        tfd_queue_dequeue(q, k);
    else
        fail_queue(k, q, &st);
}

static enum tfd_code check_many(const struct tfd_queue *q, struct tfd_kctx *k,
                                bool up_to, int64_t *n, struct tfd_status *st)
{
    TFD_TRY(tfd_check_int(k, 1, n, st));
    if (*n < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dequeue%sOp requested %lld < 0 elements",
                        up_to ? "UpTo" : "Many", (long long)*n);
    TFD_TRY(check_types(q, k, 2, false, st));
    if (q->spec.shape_count == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s's DequeueMany and DequeueUpTo require the "
                        "components to have specified shapes.",
                        q->spec.kind->name);
    return TFD_OK;
}

static void dequeue_many(struct tfd_kctx *k, bool up_to)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_queue *q = find_queue(k);
    int64_t n;

    if (!q)
        return;
    if (check_many(q, k, up_to, &n, &st) == TFD_OK && n > 0) {
        tfd_queue_dequeue_many(q, k, n, up_to);
        return;
    }
    if (st.code == TFD_OK)
        (void)!tfd_queue_batch(q, k, NULL, 0, &st);
    fail_queue(k, q, &st);
}

static void dequeue_many_start(struct tfd_kctx *k)
{
    dequeue_many(k, false);
}

static void dequeue_up_to_start(struct tfd_kctx *k)
{
    dequeue_many(k, true);
}

/* ---- Close, size --------------------------------------------------------- */

static enum tfd_code close_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    return tfd_node_bool(p->node, "cancel_pending_enqueues", state, st);
}

static void close_start(struct tfd_kctx *k)
{
    struct tfd_queue *q = find_queue(k);

    if (q)
        tfd_queue_close(q, k, *(const bool *)k->state);
}

static enum tfd_code size_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    struct tfd_resource *r;
    int64_t size;

    TFD_TRY(tfd_owner_find(k, &tfd_queue_type, &r, st));
    size = tfd_queue_size((struct tfd_queue *)r);
    tfd_resource_unref(r);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &scalar, st));
    *(int32_t *)tfd_tensor_data(&k->out[0]) = (int32_t)size;
    return TFD_OK;
}

static enum tfd_code is_closed_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    struct tfd_resource *r;
    bool closed;

    TFD_TRY(tfd_owner_find(k, &tfd_queue_type, &r, st));
    closed = tfd_queue_is_closed((struct tfd_queue *)r);
    tfd_resource_unref(r);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_BOOL, &scalar, st));
    *(tfd_bool *)tfd_tensor_data(&k->out[0]) = closed;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define ENQUEUE(name_, handle_, flags_)                                  \
    {                                                                    \
        .name = name_, .inputs = handle_ ", components: Tcomponents",    \
        .outputs = "",                                                   \
        .attrs = "Tcomponents: list(type) >= 1; timeout_ms: int = -1",   \
        .shape = tfd_shape_none, .flags = (flags_) | TFD_OP_NO_GRADIENT, \
    }
#define DEQUEUE(name_, inputs_, checks_, flags_)                           \
    {                                                                      \
        .name = name_, .inputs = inputs_,                                  \
        .outputs = "components: component_types",                          \
        .attrs = "component_types: list(type) >= 1; timeout_ms: int = -1", \
        .checks = checks_, .flags = (flags_) | TFD_OP_NO_GRADIENT,         \
    }
#define CLOSE(name_, handle_, flags_)                                    \
    {                                                                    \
        .name = name_, .inputs = handle_, .outputs = "",                 \
        .attrs = "cancel_pending_enqueues: bool = false",                \
        .shape = tfd_shape_none, .flags = (flags_) | TFD_OP_NO_GRADIENT, \
    }
#define QUERY(name_, handle_, outputs_, flags_)                             \
    {                                                                       \
        .name = name_, .inputs = handle_, .outputs = outputs_, .attrs = "", \
        .shape = tfd_shape_scalar, .flags = (flags_) | TFD_OP_NO_GRADIENT,  \
    }

#define REF "handle: Ref(string)"
#define RES "handle: resource"

static const struct tfd_opdef ops[] = {
    ENQUEUE("QueueEnqueue", REF, 0),
    ENQUEUE("QueueEnqueueV2", RES, TFD_OP_STATEFUL),
    ENQUEUE("QueueEnqueueMany", REF, 0),
    ENQUEUE("QueueEnqueueManyV2", RES, TFD_OP_STATEFUL),
    DEQUEUE("QueueDequeue", REF, NULL, 0),
    DEQUEUE("QueueDequeueV2", RES, NULL, TFD_OP_STATEFUL),
    DEQUEUE("QueueDequeueMany", REF ", n: int32", "n: scalar", 0),
    DEQUEUE("QueueDequeueManyV2", RES ", n: int32", "n: scalar",
            TFD_OP_STATEFUL),
    DEQUEUE("QueueDequeueUpTo", REF ", n: int32", "n: scalar", 0),
    DEQUEUE("QueueDequeueUpToV2", RES ", n: int32", "n: scalar",
            TFD_OP_STATEFUL),
    CLOSE("QueueClose", REF, 0),
    CLOSE("QueueCloseV2", RES, TFD_OP_STATEFUL),
    QUERY("QueueSize", REF, "size: int32", 0),
    QUERY("QueueSizeV2", RES, "size: int32", TFD_OP_STATEFUL),
    QUERY("QueueIsClosed", REF, "is_closed: bool", 0),
    QUERY("QueueIsClosedV2", RES, "is_closed: bool", TFD_OP_STATEFUL),
};

#define BOTH(name_, ...) \
    TFD_KERNEL_ANY(name_, __VA_ARGS__), TFD_KERNEL_ANY(name_ "V2", __VA_ARGS__)
#define ACCESS(name_, start_)                                     \
    BOTH(name_, NULL, .start = start_, .prepare = access_prepare, \
         .flags = TFD_KERNEL_BY_TYPE | TFD_KERNEL_WAITS)

static const struct tfd_kernel kernels[] = {
    ACCESS("QueueEnqueue", enqueue_start),
    ACCESS("QueueEnqueueMany", enqueue_many_start),
    ACCESS("QueueDequeue", dequeue_start),
    ACCESS("QueueDequeueMany", dequeue_many_start),
    ACCESS("QueueDequeueUpTo", dequeue_up_to_start),
    BOTH("QueueClose", NULL, .start = close_start, .prepare = close_prepare,
         .state_size = sizeof(bool)),
    BOTH("QueueSize", size_compute),
    BOTH("QueueIsClosed", is_closed_compute),
};

const struct tfd_family tfd_family_queue = {
    .name = "queue",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
