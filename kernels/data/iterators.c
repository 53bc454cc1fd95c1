/*
 * iterators.c - the operations on iterators: made by name or anonymous, set to
 * a dataset, asked for elements, written as strings.
 */
#include "kernels/data/anonymous.h"
#include "kernels/data/handle_text.h"
#include "kernels/data/iterator.h"
#include "kernels/data/maker.h"
#include "kernels/data/shapes.h"

#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/owner.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- Iterators by name --------------------------------------------------- */

/* State of a kernel that owns one. */
struct named {
    struct tfd_owner owner;
    struct tfd_dataset_maker maker;
};

static enum tfd_code named_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct named *n = state;

    TFD_TRY(tfd_owner_prepare(&n->owner, p, &tfd_iterator_type, st));
    if (n->owner.own_name && tfd_rt_is_lasting(p))
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "{{node " TFD_STR_FMT "}} is in a function of a "
                        "dataset, where an iterator needs a shared_name",
                        TFD_STR_ARG(p->node->name));
    return tfd_dataset_prepare(p, &n->maker, NULL, st);
}

static void named_release(void *state)
{
    struct named *n = state;

    tfd_owner_release(&n->owner);
    tfd_dataset_maker_release(&n->maker);
}

static enum tfd_code make_iterator(void *arg, struct tfd_resource **out,
                                   struct tfd_status *st)
{
    const struct named *n = arg;
    const struct tfd_data_task task = tfd_data_task_of(n->owner.rt);

    return tfd_iterator_new(&task, n->maker.count, n->maker.types,
                            n->maker.shapes, out, st);
}

/* Another node of the same name must have the same elements. */
static enum tfd_code match_iterator(const struct tfd_kctx *k, void *arg,
                                    struct tfd_resource *r,
                                    struct tfd_status *st)
{
    const struct named *n = arg;

    (void)k;
    return tfd_iterator_check((struct tfd_iterator *)r, n->maker.count,
                              n->maker.types, n->maker.shapes, st);
}

static enum tfd_code named_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct named *n = k->state;

    return tfd_owner_output(k, &n->owner, make_iterator, match_iterator, n, st);
}

/* ---- Anonymous iterators ------------------------------------------------- */

static enum tfd_code anonymous_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = k->state;
    const struct tfd_data_task task = tfd_data_task_of(k->rt);
    struct tfd_resource *r;

    TFD_TRY(tfd_iterator_new(&task, m->count, m->types, m->shapes, &r, st));
    TFD_TRY(tfd_anonymous_output(
        k, 0, "AnonymousIterator",
        tfd_iterator_anonymous((struct tfd_iterator *)r), r, st));
    if (k->out_count == 1)
        return TFD_OK;
    return tfd_anonymous_deleter(k, 1, st);
}

static enum tfd_code make_unnamed(void *arg, struct tfd_resource **out,
                                  struct tfd_status *st)
{
    const struct tfd_kctx *k = arg;
    const struct tfd_dataset_maker *m = k->state;
    const struct tfd_data_task task = tfd_data_task_of(k->rt);

    return tfd_iterator_new(&task, m->count, m->types, m->shapes, out, st);
}

/* The oldest kind has a name of its own in the container and stays until it is
 * destroyed: a dataset that copies from another device makes it in one function
 * and finds it by its string in others. */
static enum tfd_code unnamed_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    const struct tfd_str container = tfd_str_of(tfd_rt_container(k->rt));
    struct tfd_resource *r;
    struct tfd_handle *h;
    char name[64];

    snprintf(name, sizeof(name), "_%" PRIu64 "_AnonymousIterator",
             tfd_rt_unique(k->rt));
    TFD_TRY(tfd_rt_find_or_make(k->rt, container, tfd_str_of(name),
                                &tfd_iterator_type, make_unnamed, k, &r, st));
    h = tfd_handle_new(tfd_str_of(tfd_rt_device(k->rt)), container,
                       tfd_str_of(name), tfd_str_of(tfd_iterator_type.name), 0,
                       st);
    tfd_resource_unref(r);
    if (!h)
        return TFD_RESOURCE_EXHAUSTED;
    if (tfd_kctx_output(k, 0, TFD_RESOURCE, &scalar, st) != TFD_OK) {
        tfd_handle_unref(h);
        return TFD_RESOURCE_EXHAUSTED;
    }
    *(struct tfd_handle **)tfd_tensor_data(&k->out[0]) = h;
    return TFD_OK;
}

/* The handle goes; and then, if it was the last, the iterator. */
static enum tfd_code delete_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    (void)k;
    (void)st;
    return TFD_OK;
}

/* An op is where its handle is. */
static enum tfd_code device_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};

    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &scalar, st));
    return tfd_tstring_set(tfd_tensor_data(&k->out[0]),
                           tfd_str_of(tfd_rt_device(k->rt)), st);
}

/* ---- A dataset's elements ------------------------------------------------ */

static enum tfd_code set_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    struct tfd_resource *r;
    enum tfd_code rc;

    TFD_TRY(tfd_dataset_of(&k->in[0], &d, st));
    TFD_TRY(tfd_kctx_resource(k, 1, &tfd_iterator_type, &r, st));
    rc = tfd_iterator_set((struct tfd_iterator *)r, d, st);
    tfd_resource_unref(r);
    return rc;
}

static void get_element(struct tfd_kctx *k, bool optional)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_resource *r;

    if (tfd_kctx_resource(k, 0, &tfd_iterator_type, &r, &st) != TFD_OK) {
        tfd_kctx_finish(k, &st);
        return;
    }
    tfd_iterator_get((struct tfd_iterator *)r, k, optional);
    tfd_resource_unref(r);
}

static void get_start(struct tfd_kctx *k)
{
    get_element(k, false);
}

static void optional_start(struct tfd_kctx *k)
{
    get_element(k, true);
}

/* No iterator has a model of itself here, since nothing is tuned by one. */
static enum tfd_code model_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_resource *r;
    struct tfd_dataset *d;

    TFD_TRY(tfd_kctx_resource(k, 0, &tfd_iterator_type, &r, st));
    d = tfd_iterator_dataset((struct tfd_iterator *)r);
    tfd_resource_unref(r);
    if (!d)
        return tfd_fail(st, TFD_FAILED_PRECONDITION,
                        "GetModelProto() failed because the iterator has not "
                        "been initialized. Ensure that you have run the "
                        "initializer operation for this iterator before "
                        "getting the next element.");
    tfd_dataset_unref(d);
    return tfd_fail(st, TFD_NOT_FOUND,
                    "Cannot find this iterator's analytical model. Did you "
                    "disable autotune for the dataset used to create this "
                    "iterator? See more information at "
                    "https://www.tensorflow.org/api_docs/python/tf/data/"
                    "experimental/AutotuneOptions .");
}

/* ---- Handles as strings -------------------------------------------------- */

static enum tfd_code to_string_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    return tfd_handle_text_write(k, &tfd_iterator_type, st);
}

static enum tfd_code from_string_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = k->state;
    struct tfd_resource *r;
    enum tfd_code rc;

    TFD_TRY(tfd_handle_text_read(k, &tfd_iterator_type, &r, st));
    rc = tfd_iterator_check((struct tfd_iterator *)r, m->count, m->types,
                            m->shapes, st);
    tfd_resource_unref(r);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

#define ELEMENTS                      \
    "output_types: list(type) >= 1; " \
    "output_shapes: list(shape) >= 1"
#define ANY_ELEMENTS                       \
    "output_types: list(type) >= 0 = []; " \
    "output_shapes: list(shape) >= 0 = []"
#define FLAGS .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT

#define NAMED_OP(name_)                                               \
    {                                                                 \
        .name = name_, .outputs = "handle: resource",                 \
        .attrs = "shared_name: string; container: string; " ELEMENTS, \
        .shape = tfd_shape_scalar, FLAGS,                             \
    }
#define ANONYMOUS_OP(name_, more_)                                             \
    {                                                                          \
        .name = name_, .outputs = "handle: resource" more_, .attrs = ELEMENTS, \
        .shape = tfd_shape_scalar, FLAGS,                                      \
    }
#define GET_OP(name_)                                             \
    {                                                             \
        .name = name_, .inputs = "iterator: resource",            \
        .outputs = "components: output_types", .attrs = ELEMENTS, \
        .shape = tfd_data_shape_components, FLAGS,                \
    }
#define FROM_STRING_OP(name_)                                                \
    {                                                                        \
        .name = name_, .inputs = "string_handle: string",                    \
        .outputs = "resource_handle: resource", .attrs = ANY_ELEMENTS,       \
        .checks = "string_handle: scalar", .shape = tfd_shape_scalar, FLAGS, \
    }

#define DEVICE_OP(name_)                                               \
    {                                                                  \
        .name = (name_), .inputs = "resource: resource",               \
        .outputs = "device: string", .shape = tfd_shape_scalar, FLAGS, \
    }

static const struct tfd_opdef ops[] = {
    DEVICE_OP("IteratorGetDevice"),
    DEVICE_OP("ExperimentalIteratorGetDevice"),
    NAMED_OP("Iterator"),
    NAMED_OP("IteratorV2"),
    ANONYMOUS_OP("AnonymousIterator", ""),
    ANONYMOUS_OP("AnonymousIteratorV2", ", deleter: variant"),
    ANONYMOUS_OP("AnonymousIteratorV3", ""),
    {
        .name = "DeleteIterator",
        .inputs = "handle: resource, deleter: variant",
        .shape = tfd_shape_none,
        FLAGS,
    },
    {
        .name = "MakeIterator",
        .inputs = "dataset: variant, iterator: resource",
        .shape = tfd_shape_none,
        FLAGS,
    },
    GET_OP("IteratorGetNext"),
    GET_OP("IteratorGetNextSync"),
    {
        .name = "IteratorGetNextAsOptional",
        .inputs = "iterator: resource",
        .outputs = "optional: variant",
        .attrs = ELEMENTS,
        .shape = tfd_shape_scalar,
        FLAGS,
    },
    {
        .name = "IteratorGetModelProto",
        .inputs = "iterator: resource",
        .outputs = "model_proto: string",
        .shape = tfd_shape_scalar,
        FLAGS,
    },
    {
        .name = "IteratorToStringHandle",
        .inputs = "resource_handle: resource",
        .outputs = "string_handle: string",
        .shape = tfd_shape_scalar,
        FLAGS,
    },
    FROM_STRING_OP("IteratorFromStringHandle"),
    FROM_STRING_OP("IteratorFromStringHandleV2"),
};

#define NAMED(name_)                                               \
    TFD_KERNEL_ANY(name_, named_compute, .prepare = named_prepare, \
                   .release = named_release,                       \
                   .state_size = sizeof(struct named),             \
                   .flags = TFD_KERNEL_SHARED)
#define MADE(name_, compute_)                                             \
    TFD_KERNEL_ANY(name_, compute_, .prepare = tfd_dataset_prepare_plain, \
                   .release = tfd_dataset_maker_release,                  \
                   .state_size = sizeof(struct tfd_dataset_maker))
#define WAITS(name_, start_)                                       \
    TFD_KERNEL_ANY(name_, NULL, .start = start_,                   \
                   .prepare = tfd_dataset_prepare_plain,           \
                   .release = tfd_dataset_maker_release,           \
                   .state_size = sizeof(struct tfd_dataset_maker), \
                   .flags = TFD_KERNEL_WAITS)

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("IteratorGetDevice", device_compute),
    TFD_KERNEL_ANY("ExperimentalIteratorGetDevice", device_compute),
    NAMED("Iterator"),
    NAMED("IteratorV2"),
    MADE("AnonymousIterator", unnamed_compute),
    MADE("AnonymousIteratorV2", anonymous_compute),
    MADE("AnonymousIteratorV3", anonymous_compute),
    TFD_KERNEL_ANY("DeleteIterator", delete_compute),
    TFD_KERNEL_ANY("MakeIterator", set_compute),
    TFD_KERNEL_ANY("IteratorGetModelProto", model_compute),
    WAITS("IteratorGetNext", get_start),
    WAITS("IteratorGetNextSync", get_start),
    WAITS("IteratorGetNextAsOptional", optional_start),
    TFD_KERNEL_ANY("IteratorToStringHandle", to_string_compute),
    MADE("IteratorFromStringHandle", from_string_compute),
    MADE("IteratorFromStringHandleV2", from_string_compute),
};

const struct tfd_family tfd_family_iterators = {
    .name = "iterators",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
