/*
 * one_shot_iterator.c - OneShotIterator: an iterator whose dataset is made by a
 * function, when it is first asked for.
 *
 * Who asks while the function runs waits for it on a thread of the crew.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/owner.h"
#include "kernels/data/iterator.h"
#include "kernels/data/maker.h"

#include "common/base/container.h"

#include <stdlib.h>

struct one_shot {
    struct tfd_owner owner;
    struct tfd_dataset_maker maker;
    struct tfd_lock lock;
    struct tfd_cond changed;
    bool making; /* the lock's, as the next */
    bool is_made;
};

struct making {
    struct tfd_job job;
    struct tfd_cancel cancel;
    struct tfd_kctx *k;
    struct tfd_data_scope *scope;
};

static enum tfd_code one_shot_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    struct one_shot *o = state;

    tfd_lock_init(&o->lock, TFD_LOCK_RESOURCE);
    tfd_cond_init(&o->changed);
    TFD_TRY(tfd_owner_prepare(&o->owner, p, &tfd_iterator_type, st));
    if (tfd_rt_is_lasting(p))
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "{{node " TFD_STR_FMT "}} is in a function of a "
                        "dataset, where no OneShotIterator can be",
                        TFD_STR_ARG(p->node->name));
    TFD_TRY(tfd_dataset_prepare(p, &o->maker, "dataset_factory", st));
    tfd_rt_function_hold(o->maker.function);
    if (tfd_rt_function_in_count(o->maker.function) == 0 &&
        tfd_rt_function_out_count(o->maker.function) == 1)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "The `dataset_factory` function must accept no arguments "
                    "and return exactly one result; it has %d and %d.",
                    tfd_rt_function_in_count(o->maker.function),
                    tfd_rt_function_out_count(o->maker.function));
}

static void one_shot_release(void *state)
{
    struct one_shot *o = state;

    tfd_owner_release(&o->owner);
    if (o->maker.function)
        tfd_rt_function_let_go(o->maker.function);
    tfd_dataset_maker_release(&o->maker);
    tfd_cond_deinit(&o->changed);
    tfd_lock_deinit(&o->lock);
}

/* ---- The dataset --------------------------------------------------------- */

static enum tfd_code make_resource(void *arg, struct tfd_resource **out,
                                   struct tfd_status *st)
{
    const struct one_shot *o = arg;
    const struct tfd_data_task task = tfd_data_task_of(o->owner.rt);

    return tfd_iterator_new(&task, o->maker.count, o->maker.types,
                            o->maker.shapes, out, st);
}

static enum tfd_code set_dataset(struct tfd_kctx *k, struct tfd_tensor *made,
                                 struct tfd_status *st)
{
    struct one_shot *o = k->state;
    struct tfd_dataset *d;

    if (tfd_dataset_of(made, &d, NULL) != TFD_OK)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The `dataset_factory` function must return a single "
                        "scalar of dtype DT_VARIANT.");
    TFD_TRY(tfd_owner_output(k, &o->owner, make_resource, NULL, o, st));
    return tfd_iterator_set(
        (struct tfd_iterator *)(*(struct tfd_handle **)tfd_tensor_data(
                                    &k->out[0]))
            ->cached,
        d, st);
}

static enum tfd_code make_dataset(struct making *m, struct tfd_status *st)
{
    const struct one_shot *o = m->k->state;
    struct tfd_tensor made = TFD_TENSOR_INIT;
    struct tfd_tensor none = TFD_TENSOR_INIT;
    enum tfd_code rc =
        tfd_data_scope_call(m->scope, o->maker.function, &none, &made, st);

    if (rc == TFD_OK)
        rc = set_dataset(m->k, &made, st);
    tfd_tensor_unref(&made);
    return rc;
}

/* True: it is this one's turn to make it. */
static bool begin_making(struct one_shot *o)
{
    bool mine;

    tfd_lock(&o->lock);
    while (o->making)
        tfd_cond_wait(&o->changed, &o->lock);
    mine = !o->is_made;
    o->making = mine;
    tfd_unlock(&o->lock);
    return mine;
}

static void end_making(struct one_shot *o, bool made)
{
    tfd_lock(&o->lock);
    o->making = false;
    o->is_made = made;
    tfd_cond_broadcast(&o->changed);
    tfd_unlock(&o->lock);
}

static void finish_making(struct making *m, const struct tfd_status *st)
{
    struct tfd_kctx *k = m->k;

    tfd_step_off_cancel(k->step, &m->cancel);
    tfd_data_scope_unref(m->scope);
    free(m);
    tfd_kctx_finish(k, st);
}

static void make_job(struct tfd_job *job)
{
    struct making *m = TFD_CONTAINER_OF(job, struct making, job);
    struct one_shot *o = m->k->state;
    struct tfd_status st = TFD_STATUS_INIT;

    if (begin_making(o))
        end_making(o, make_dataset(m, &st) == TFD_OK);
    else
        (void)!tfd_owner_output(m->k, &o->owner, make_resource, NULL, o, &st);
    finish_making(m, &st);
}

static void making_cancelled(struct tfd_cancel *c)
{
    tfd_data_scope_cancel(TFD_CONTAINER_OF(c, struct making, cancel)->scope);
}

/* ---- The node ------------------------------------------------------------ */

static bool is_made(struct one_shot *o)
{
    bool made;

    tfd_lock(&o->lock);
    made = o->is_made;
    tfd_unlock(&o->lock);
    return made;
}

static enum tfd_code start_making(struct tfd_kctx *k, struct making **out,
                                  struct tfd_status *st)
{
    const struct tfd_data_task task = tfd_data_task_of(k->rt);
    struct making *m = calloc(1, sizeof(*m));

    if (!m)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    *out = m;
    m->k = k;
    m->job.run = make_job;
    m->cancel.fn = making_cancelled;
    m->scope = tfd_data_scope_new(&task, st);
    if (!m->scope)
        return TFD_RESOURCE_EXHAUSTED;
    if (!tfd_step_on_cancel(k->step, &m->cancel))
        return tfd_fail(st, TFD_CANCELLED, "Operation was cancelled");
    return tfd_crew_submit(task.crew, &m->job, st);
}

static void one_shot_start(struct tfd_kctx *k)
{
    struct one_shot *o = k->state;
    struct tfd_status st = TFD_STATUS_INIT;
    struct making *m = NULL;

    if (is_made(o))
        (void)!tfd_owner_output(k, &o->owner, make_resource, NULL, o, &st);
    else if (start_making(k, &m, &st) == TFD_OK)
        return;
    if (m)
        finish_making(m, &st);
    else
        tfd_kctx_finish(k, &st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "OneShotIterator",
        .outputs = "handle: resource",
        .attrs = "dataset_factory: func; output_types: list(type) >= 1; "
                 "output_shapes: list(shape) >= 1; container: string = ''; "
                 "shared_name: string = ''",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("OneShotIterator", NULL, .start = one_shot_start,
                   .prepare = one_shot_prepare, .release = one_shot_release,
                   .state_size = sizeof(struct one_shot),
                   .flags = TFD_KERNEL_SHARED | TFD_KERNEL_WAITS),
};

const struct tfd_family tfd_family_one_shot_iterator = {
    .name = "one_shot_iterator",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
