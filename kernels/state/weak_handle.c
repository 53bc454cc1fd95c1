/*
 * weak_handle.c - MakeWeakResourceHandle, IsResourceHandleRefCounting and
 * DeleteRpcFutureResource: what handles of resources own; and
 * DtypeWithDefaultOp, the name of a type.
 *
 * A weak handle names a resource and keeps nothing: one that has no container
 * is not found by it.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/runtime.h"

static const struct tfd_shape scalar = {0, {0}};

/* Of several it is the first one that counts. */
static enum tfd_code first_handle(const struct tfd_kctx *k,
                                  const struct tfd_handle **out,
                                  struct tfd_status *st)
{
    *out = tfd_kctx_handle(k, 0);
    if (*out)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "input 0 of " TFD_STR_FMT " has no resource handle",
                    TFD_STR_ARG(k->node->name));
}

static enum tfd_code is_counting_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    const struct tfd_handle *h;

    TFD_TRY(first_handle(k, &h, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_BOOL, &scalar, st));
    *(tfd_bool *)tfd_tensor_data(&k->out[0]) = h->owns;
    return TFD_OK;
}

static enum tfd_code weak_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_handle *h;
    struct tfd_handle *weak;

    TFD_TRY(first_handle(k, &h, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_RESOURCE, &scalar, st));
    weak = tfd_handle_new(h->device, h->container, h->name, h->type_name,
                          h->hash_code, st);
    if (!weak)
        return TFD_RESOURCE_EXHAUSTED;
    weak->dtype = h->dtype;
    weak->shape = h->shape;
    *(struct tfd_handle **)tfd_tensor_data(&k->out[0]) = weak;
    return TFD_OK;
}

static enum tfd_code delete_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_handle *h;

    TFD_TRY(first_handle(k, &h, st));
    if (!tfd_str_is(h->device, tfd_rt_device(k->rt)))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Trying to access resource " TFD_STR_FMT
                        " located in device " TFD_STR_FMT " from device %s",
                        TFD_STR_ARG(h->name), TFD_STR_ARG(h->device),
                        tfd_rt_device(k->rt));
    return tfd_rt_destroy(k->rt, h->container, h->name, false, st);
}

static enum tfd_code dtype_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const char *name = tfd_dtype_name((int)k->in[0].dtype);

    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &scalar, st));
    return tfd_tstring_set(tfd_tensor_data(&k->out[0]), tfd_str_of(name), st);
}

static const struct tfd_opdef ops[] = {
    {
        .name = "IsResourceHandleRefCounting",
        .inputs = "handle: resource",
        .outputs = "result: bool",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "MakeWeakResourceHandle",
        .inputs = "handle: resource",
        .outputs = "dup: resource",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "DeleteRpcFutureResource",
        .inputs = "handle: resource, deleter: variant",
        .outputs = "",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "DtypeWithDefaultOp",
        .inputs = "in: T",
        .outputs = "dtype: string",
        .attrs = "T: type = DT_UINT8",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("IsResourceHandleRefCounting", is_counting_compute),
    TFD_KERNEL_ANY("MakeWeakResourceHandle", weak_compute),
    TFD_KERNEL_ANY("DeleteRpcFutureResource", delete_compute),
    TFD_KERNEL_ANY("DtypeWithDefaultOp", dtype_compute),
};

const struct tfd_family tfd_family_weak_handle = {
    .name = "weak_handle",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
