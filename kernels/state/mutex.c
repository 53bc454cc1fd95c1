/*
 * mutex.c - MutexV2, MutexLock, ConsumeMutexLock: locks that steps hold, as
 * critical sections of client programs use them.
 *
 * Who has the lock holds a variant, and lets go of it with the last reference:
 * when it is consumed, or when its step ends however it does.
 *
 *     MutexLock --> waiters: [ k | k | k ]      each is an attempt of a step
 *                      |  first
 *                      v
 *                   holder: the variant of one step -- freed --> the next
 *
 * Attempts are served in the order in which they came.  One whose step is
 * cancelled leaves the line.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/runtime.h"

#include "common/base/atomic.h"
#include "common/base/container.h"
#include "common/base/variant.h"
#include "common/thread/lock.h"
#include "common/thread/pool.h"

#include <stdlib.h>

struct mutex {
    struct tfd_resource resource;
    struct tfd_lock lock; /* of what follows */
    bool locked;
    struct lock_attempt *first, *last;
};

/* In the line of its mutex exactly while it waits. */
struct lock_attempt {
    struct lock_attempt *next, *previous;
    struct tfd_cancel cancel;
    struct tfd_job job;
    struct mutex *mutex; /* counted */
    struct tfd_kctx *k;
    bool waiting, cancelled;
};

/* What the variant of who has the lock refers to. */
struct holder {
    struct tfd_variant_object object;
    struct mutex *mutex; /* counted */
};

static void mutex_free(struct tfd_resource *r)
{
    struct mutex *m = (struct mutex *)r;

    tfd_lock_deinit(&m->lock);
    free(m);
}

static const struct tfd_resource_type mutex_type = {
    .name = "N10tensorflow12_GLOBAL__N_15MutexE",
    .what = "mutex",
    .free = mutex_free,
};

static enum tfd_code make_mutex(void *arg, struct tfd_resource **out,
                                struct tfd_status *st)
{
    struct mutex *m = calloc(1, sizeof(*m));

    (void)arg;
    if (!m)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a mutex");
    tfd_resource_init(&m->resource, &mutex_type);
    tfd_lock_init(&m->lock, TFD_LOCK_RESOURCE);
    *out = &m->resource;
    return TFD_OK;
}

/* ---- The line ------------------------------------------------------------ */

/* The lock is held. */
static void leave_line(struct lock_attempt *a)
{
    struct mutex *m = a->mutex;

    if (a->previous)
        a->previous->next = a->next;
    else
        m->first = a->next;
    if (a->next)
        a->next->previous = a->previous;
    else
        m->last = a->previous;
    a->next = a->previous = NULL;
    a->waiting = false;
}

/* The next one that has the lock from now on; NULL: nobody, or it is held. */
static struct lock_attempt *pass_on(struct mutex *m)
{
    struct lock_attempt *a = m->locked ? NULL : m->first;

    if (!a)
        return NULL;
    leave_line(a);
    m->locked = true;
    return a;
}

static void serve_next(struct mutex *m);

static void let_go(struct mutex *m)
{
    tfd_lock(&m->lock);
    m->locked = false;
    tfd_unlock(&m->lock);
    serve_next(m);
}

static void holder_free(struct tfd_variant_object *o)
{
    struct holder *h = (struct holder *)o;

    let_go(h->mutex);
    tfd_resource_unref(&h->mutex->resource);
    free(h);
}

static const struct tfd_variant_object_type holder_type = {
    .name = "MutexLock",
    .free = holder_free,
};

/* The output of an attempt that has the lock; without one it lets go of it. */
static enum tfd_code give_lock(struct lock_attempt *a, struct tfd_status *st)
{
    struct holder *h = calloc(1, sizeof(*h));

    if (!h) {
        let_go(a->mutex);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a lock");
    }
    h->object.refs = 1;
    h->object.depth = 1;
    h->object.type = &holder_type;
    h->mutex = (struct mutex *)tfd_resource_ref(&a->mutex->resource);
    return tfd_variant_object_tensor(&h->object, &a->k->out[0], st);
}

/* Out of the line, and not under its lock. */
static void finish_lock(struct lock_attempt *a)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct mutex *m = a->mutex;
    struct tfd_kctx *k = a->k;

    (void)tfd_step_off_cancel(k->step, &a->cancel);
    if (a->cancelled)
        tfd_fail(&st, TFD_CANCELLED, "Lock acquisition cancelled.");
    else
        (void)!give_lock(a, &st);
    free(a);
    tfd_resource_unref(&m->resource);
    tfd_kctx_finish(k, &st);
}

static void finish_lock_job(struct tfd_job *job)
{
    finish_lock(TFD_CONTAINER_OF(job, struct lock_attempt, job));
}

/* On another thread: this one may be in the midst of ending a step, and what it
 * wakes may end before this call would. */
static void serve_next(struct mutex *m)
{
    struct tfd_pool *pool;
    struct lock_attempt *a;

    tfd_lock(&m->lock);
    a = pass_on(m);
    tfd_unlock(&m->lock);
    if (!a)
        return;
    pool = tfd_rt_pool(a->k->rt);
    a->job.run = finish_lock_job;
    if (pool)
        tfd_pool_submit(pool, &a->job);
    else
        finish_lock(a);
}

/* ---- Attempts ------------------------------------------------------------ */

static void lock_cancelled(struct tfd_cancel *c)
{
    struct lock_attempt *a = TFD_CONTAINER_OF(c, struct lock_attempt, cancel);
    struct mutex *m = a->mutex;
    bool was_waiting;

    tfd_resource_ref(&m->resource);
    tfd_lock(&m->lock);
    was_waiting = a->waiting;
    if (was_waiting) {
        leave_line(a);
        a->cancelled = true;
    }
    tfd_unlock(&m->lock);
    if (was_waiting)
        finish_lock(a);
    tfd_resource_unref(&m->resource);
}

static void begin_lock(struct mutex *take_m, struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct lock_attempt *a = calloc(1, sizeof(*a)), *next = NULL;

    if (!a) {
        tfd_resource_unref(&take_m->resource);
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory to wait for a mutex");
        tfd_kctx_finish(k, &st);
        return;
    }
    *a = (struct lock_attempt){
        .mutex = take_m, .k = k, .cancel.fn = lock_cancelled};
    tfd_lock(&take_m->lock);
    a->waiting = true;
    a->previous = take_m->last;
    if (take_m->last)
        take_m->last->next = a;
    else
        take_m->first = a;
    take_m->last = a;
    if (tfd_step_on_cancel(k->step, &a->cancel)) {
        next = pass_on(take_m);
    } else {
        leave_line(a);
        a->cancelled = true;
        next = a;
    }
    tfd_unlock(&take_m->lock);
    if (next)
        finish_lock(next);
}

/* The mutex that the handle names, made when there is none yet; counted. */
static enum tfd_code find_mutex(struct tfd_kctx *k, struct mutex **out,
                                struct tfd_status *st)
{
    const struct tfd_handle *h = tfd_kctx_handle(k, 0);
    struct tfd_status why = TFD_STATUS_INIT;
    struct tfd_resource *r = NULL;
    enum tfd_code rc = tfd_kctx_resource(k, 0, &mutex_type, &r, &why);

    if (rc == TFD_NOT_FOUND && h)
        rc = tfd_rt_find_or_make(k->rt, h->container, h->name, &mutex_type,
                                 make_mutex, NULL, &r, st);
    else if (rc != TFD_OK)
        rc = tfd_status_copy(st, &why);
    *out = (struct mutex *)r;
    return rc;
}

static void mutex_lock_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct mutex *m;

    if (find_mutex(k, &m, &st) == TFD_OK)
        begin_lock(m, k);
    else
        tfd_kctx_finish(k, &st);
}

/* ---- Handles, and the end of a lock -------------------------------------- */

struct naming {
    struct tfd_str container, name;
};

static enum tfd_code mutex_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct naming *n = state;

    TFD_TRY(tfd_node_str(p->node, "container", &n->container, st));
    TFD_TRY(tfd_node_str(p->node, "shared_name", &n->name, st));
    if (n->container.size == 0)
        n->container = tfd_str_of(tfd_rt_container(p->rt));
    return TFD_OK;
}

static enum tfd_code mutex_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    const struct naming *n = k->state;
    struct tfd_handle *h;

    TFD_TRY(tfd_kctx_output(k, 0, TFD_RESOURCE, &scalar, st));
    h = tfd_handle_new(tfd_str_of(tfd_rt_device(k->rt)), n->container, n->name,
                       tfd_str_of(mutex_type.name), 0, st);
    *(struct tfd_handle **)tfd_tensor_data(&k->out[0]) = h;
    return h ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

static const char *other_text(const struct tfd_variant *v)
{
    if (!v)
        return "<empty>";
    return v->object ? v->object->type->name : "a variant of tensors";
}

/* Nobody else may hold what is consumed: the lock ends with this node. */
static enum tfd_code consume_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[0];
    struct tfd_variant_object *o = tfd_variant_object_of(t, &holder_type);
    const struct tfd_variant *v = tfd_variant_of(t);
    char text[TFD_SHAPE_TEXT_MAX];
    int uses;

    if (t->shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected input to be a scalar, saw shape: %s",
                        tfd_shape_text(&t->shape, text));
    if (!o)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected input to contain a SharedLockReleaser "
                        "object, but saw variant: '%s'",
                        other_text(tfd_variant_of(t)));
    uses = TFD_LOAD_ACQUIRE(&v->refs) + TFD_LOAD_ACQUIRE(&o->refs) - 1;
    if (uses != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected use count of lock to be 1, but saw: %d",
                        uses);
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "MutexV2",
        .inputs = "",
        .outputs = "resource: resource",
        .attrs = "container: string = ''; shared_name: string = ''",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "MutexLock",
        .inputs = "mutex: resource",
        .outputs = "mutex_lock: variant",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "ConsumeMutexLock",
        .inputs = "mutex_lock: variant",
        .outputs = "",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("MutexV2", mutex_compute, .prepare = mutex_prepare,
                   .state_size = sizeof(struct naming)),
    TFD_KERNEL_ANY("MutexLock", NULL, .start = mutex_lock_start,
                   .flags = TFD_KERNEL_WAITS),
    TFD_KERNEL_ANY("ConsumeMutexLock", consume_compute),
};

const struct tfd_family tfd_family_mutex = {
    .name = "mutex",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
