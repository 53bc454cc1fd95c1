/*
 * data_dummies.c - DummyMemoryCache, DummySeedGenerator and
 * DummyIterationCounter: handles that refer to no resource.  TensorFlow's
 * programs give them to datasets which then make the cache or the generator
 * themselves.
 *
 * And DeleteMemoryCache, DeleteSeedGenerator and DeleteRandomSeedGenerator,
 * which do nothing: what they would delete goes with its last handle.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/runtime.h"

static enum tfd_code dummy_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_handle *h;

    TFD_TRY(tfd_kctx_output(k, 0, TFD_RESOURCE, &scalar, st));
    h = tfd_handle_new(tfd_str_of(tfd_rt_device(k->rt)), TFD_STR_EMPTY,
                       TFD_STR("dummy_resource"), TFD_STR("dummy"), 0, st);
    if (!h)
        return TFD_RESOURCE_EXHAUSTED;
    *(struct tfd_handle **)tfd_tensor_data(&k->out[0]) = h;
    return TFD_OK;
}

static enum tfd_code delete_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    (void)k;
    (void)st;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define FLAGS .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT
#define DUMMY(name_)                                    \
    {                                                   \
        .name = (name_), .outputs = "handle: resource", \
        .shape = tfd_shape_scalar, FLAGS,               \
    }
#define DELETING(name_)                                                  \
    {                                                                    \
        .name = (name_), .inputs = "handle: resource, deleter: variant", \
        .shape = tfd_shape_none, FLAGS,                                  \
    }

static const struct tfd_opdef ops[] = {
    DELETING("DeleteMemoryCache"),
    DELETING("DeleteSeedGenerator"),
    DELETING("DeleteRandomSeedGenerator"),
    DUMMY("DummySeedGenerator"),
    DUMMY("DummyMemoryCache"),
    DUMMY("DummyIterationCounter"),
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("DeleteMemoryCache", delete_compute),
    TFD_KERNEL_ANY("DeleteSeedGenerator", delete_compute),
    TFD_KERNEL_ANY("DeleteRandomSeedGenerator", delete_compute),
    TFD_KERNEL_ANY("DummySeedGenerator", dummy_compute),
    TFD_KERNEL_ANY("DummyMemoryCache", dummy_compute),
    TFD_KERNEL_ANY("DummyIterationCounter", dummy_compute),
};

const struct tfd_family tfd_family_data_dummies = {
    .name = "data_dummies",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
