/*
 * multi_device_iterator.c - an iterator whose elements go to several devices in
 * turn: what a strategy of TensorFlow 2 distributes a dataset by.
 *
 * Init begins a pass (multi_device_pass.h); the one that was under way ends.
 */
#include "kernels/data/anonymous.h"
#include "kernels/data/data_table.h"
#include "kernels/data/handle_text.h"
#include "kernels/data/multi_device_pass.h"
#include "kernels/data/shapes.h"

#include "kernels/core/owner.h"

#include "common/base/container.h"
#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 256

struct multi {
    struct tfd_resource resource;
    struct tfd_anonymous anonymous;
    struct tfd_data_task task;
    int shard_count;
    struct tfd_lock lock; /* of what follows */
    struct tfd_multi_device_pass *pass;
    int64_t incarnations;
};

/* ---- The resource -------------------------------------------------------- */

static void free_multi(struct tfd_resource *r)
{
    struct multi *m = TFD_CONTAINER_OF(r, struct multi, resource);

    tfd_anonymous_forget(&m->anonymous);
    tfd_multi_device_stop(m->pass);
    tfd_lock_deinit(&m->lock);
    free(m);
}

static const struct tfd_resource_type multi_type = {
    .name = "N10tensorflow4data19MultiDeviceIteratorE",
    .what = "multi-device iterator",
    .free = free_multi,
};

static enum tfd_code new_multi(struct tfd_rt *rt, int shards,
                               struct tfd_resource **out, struct tfd_status *st)
{
    struct multi *m = calloc(1, sizeof(*m));

    if (!m)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for an iterator");
    tfd_resource_init(&m->resource, &multi_type);
    tfd_lock_init(&m->lock, TFD_LOCK_CONTAINER);
    m->task = tfd_data_task_of(rt);
    m->shard_count = shards;
    *out = &m->resource;
    return TFD_OK;
}

/* ---- Operations ---------------------------------------------------------- */

static enum tfd_code count_devices(const struct tfd_node *n, int *out,
                                   struct tfd_status *st)
{
    struct tfd_str names[DEVICES_MAX];

    return tfd_node_strs(n, "devices", names, DEVICES_MAX, out, st);
}

static enum tfd_code anonymous_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct tfd_resource *r = NULL;
    int shards;

    TFD_TRY(count_devices(k->node, &shards, st));
    TFD_TRY(new_multi(k->rt, shards, &r, st));
    TFD_TRY(tfd_anonymous_output(k, 0, "AnonymousMultiDeviceIterator",
                                 &((struct multi *)r)->anonymous, r, st));
    return k->out_count == 1 ? TFD_OK : tfd_anonymous_deleter(k, 1, st);
}

struct named {
    struct tfd_owner owner;
    int shards;
};

static enum tfd_code named_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct named *n = state;

    TFD_TRY(tfd_owner_prepare(&n->owner, p, &multi_type, st));
    return count_devices(p->node, &n->shards, st);
}

static void named_release(void *state)
{
    tfd_owner_release(&((struct named *)state)->owner);
}

static enum tfd_code make_named(void *arg, struct tfd_resource **out,
                                struct tfd_status *st)
{
    const struct named *n = arg;

    return new_multi(n->owner.rt, n->shards, out, st);
}

static enum tfd_code named_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct named *n = k->state;

    return tfd_owner_output(k, &n->owner, make_named, NULL, n, st);
}

static enum tfd_code begin_pass(struct multi *m, struct tfd_dataset *d,
                                int64_t room, int64_t *incarnation,
                                struct tfd_status *st)
{
    struct tfd_multi_device_pass *p, *old;

    TFD_TRY(tfd_multi_device_begin(&m->task, m->shard_count, d, room, &p, st));
    tfd_lock(&m->lock);
    *incarnation = ++m->incarnations;
    old = m->pass;
    m->pass = p;
    tfd_unlock(&m->lock);
    tfd_multi_device_stop(old);
    return TFD_OK;
}

static enum tfd_code init_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_dataset *d;
    struct tfd_resource *r;
    int64_t room, incarnation = 0;
    enum tfd_code rc;

    TFD_TRY(tfd_dataset_int(k, 2, "max_buffer_size", &room, st));
    TFD_TRY(tfd_dataset_of(&k->in[0], &d, st));
    TFD_TRY(tfd_kctx_resource(k, 1, &multi_type, &r, st));
    rc = begin_pass((struct multi *)r, d, room, &incarnation, st);
    tfd_resource_unref(r);
    if (rc == TFD_OK)
        rc = tfd_kctx_output(k, 0, TFD_INT64, &scalar, st);
    if (rc == TFD_OK)
        *(int64_t *)tfd_tensor_data(&k->out[0]) = incarnation;
    return rc;
}

/* The pass of this incarnation, counted. */
static enum tfd_code find_pass(struct multi *m, int64_t incarnation,
                               struct tfd_multi_device_pass **out,
                               struct tfd_status *st)
{
    struct tfd_multi_device_pass *p;

    tfd_lock(&m->lock);
    p = m->pass;
    if (p && m->incarnations == incarnation)
        tfd_multi_device_ref(p);
    else
        p = NULL;
    tfd_unlock(&m->lock);
    *out = p;
    if (p)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Invalid incarnation id. Provided: %lld; Expected: %lld",
                    (long long)incarnation, (long long)m->incarnations);
}

static enum tfd_code get_element(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_multi_device_pass *p;
    int64_t shard, incarnation;
    struct tfd_resource *r;
    enum tfd_code rc;

    TFD_TRY(tfd_check_int(k, 1, &shard, st));
    TFD_TRY(tfd_check_int(k, 2, &incarnation, st));
    TFD_TRY(tfd_kctx_resource(k, 0, &multi_type, &r, st));
    rc = find_pass((struct multi *)r, incarnation, &p, st);
    tfd_resource_unref(r);
    return rc == TFD_OK ? tfd_multi_device_get(p, k, shard, st) : rc;
}

static void get_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (get_element(k, &st) != TFD_OK)
        tfd_kctx_finish(k, &st);
}

static enum tfd_code to_string_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    return tfd_handle_text_write(k, &multi_type, st);
}

static enum tfd_code from_string_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    struct tfd_resource *r;

    TFD_TRY(tfd_handle_text_read(k, &multi_type, &r, st));
    tfd_resource_unref(r);
    return TFD_OK;
}

/* Handles go; and then, if they were the last, the iterators. */
static enum tfd_code delete_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    (void)k;
    (void)st;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define FLAGS .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT

static const struct tfd_opdef ops[] = {
    {
        .name = "AnonymousMultiDeviceIterator",
        .outputs = "handle: resource, deleter: variant",
        .attrs = "devices: list(string) >= 1; " TFD_DATA_TYPES,
        .shape = tfd_shape_scalar,
        FLAGS,
    },
    {
        .name = "AnonymousMultiDeviceIteratorV3",
        .outputs = "handle: resource",
        .attrs = "devices: list(string) >= 1; " TFD_DATA_TYPES,
        .shape = tfd_shape_scalar,
        FLAGS,
    },
    {
        .name = "MultiDeviceIterator",
        .outputs = "handle: resource",
        .attrs = "devices: list(string) >= 1; shared_name: string; "
                 "container: string; " TFD_DATA_TYPES,
        .shape = tfd_shape_scalar,
        FLAGS,
    },
    {
        .name = "MultiDeviceIteratorInit",
        .inputs = "dataset: variant, multi_device_iterator: resource, "
                  "max_buffer_size: int64",
        .outputs = "incarnation_id: int64",
        .shape = tfd_shape_scalar,
        FLAGS,
    },
    {
        .name = "MultiDeviceIteratorGetNextFromShard",
        .inputs = "multi_device_iterator: resource, shard_num: int32, "
                  "incarnation_id: int64",
        .outputs = "components: output_types",
        .attrs = TFD_DATA_TYPES,
        .shape = tfd_data_shape_components,
        FLAGS,
    },
    {
        .name = "MultiDeviceIteratorToStringHandle",
        .inputs = "multi_device_iterator: resource",
        .outputs = "string_handle: string",
        .shape = tfd_shape_scalar,
        FLAGS,
    },
    {
        .name = "MultiDeviceIteratorFromStringHandle",
        .inputs = "string_handle: string",
        .outputs = "multi_device_iterator: resource",
        .attrs = "output_types: list(type) >= 0 = []; "
                 "output_shapes: list(shape) >= 0 = []",
        .checks = "string_handle: scalar",
        .shape = tfd_shape_scalar,
        FLAGS,
    },
    {
        .name = "DeleteMultiDeviceIterator",
        .inputs = "multi_device_iterator: resource, iterators: N * resource, "
                  "deleter: variant",
        .attrs = "N: int >= 0",
        .shape = tfd_shape_none,
        FLAGS,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("AnonymousMultiDeviceIterator", anonymous_compute),
    TFD_KERNEL_ANY("AnonymousMultiDeviceIteratorV3", anonymous_compute),
    TFD_KERNEL_ANY("MultiDeviceIterator", named_compute,
                   .prepare = named_prepare, .release = named_release,
                   .state_size = sizeof(struct named),
                   .flags = TFD_KERNEL_SHARED),
    TFD_KERNEL_ANY("MultiDeviceIteratorInit", init_compute),
    TFD_KERNEL_ANY("MultiDeviceIteratorGetNextFromShard", NULL,
                   .start = get_start, .flags = TFD_KERNEL_WAITS),
    TFD_KERNEL_ANY("MultiDeviceIteratorToStringHandle", to_string_compute),
    TFD_KERNEL_ANY("MultiDeviceIteratorFromStringHandle", from_string_compute),
    TFD_KERNEL_ANY("DeleteMultiDeviceIterator", delete_compute),
};

TFD_DATA_FAMILY(multi_device_iterator);
