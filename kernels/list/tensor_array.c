/*
 * tensor_array.c - making arrays and their gradients; one element at a time.
 */
#include "kernels/list/tensor_array.h"

#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/kept.h"
#include "kernels/core/step_handle.h"

#include <stdlib.h>
#include <string.h>

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code read_options(const struct tfd_node *n,
                                  struct tfd_tensor_array *a,
                                  struct tfd_status *st)
{
    TFD_TRY(tfd_node_shape(n, "element_shape", &a->element_shape, st));
    TFD_TRY(tfd_node_bool(n, "dynamic_size", &a->dynamic, st));
    TFD_TRY(tfd_node_bool(n, "clear_after_read", &a->clear_after_read, st));
    return tfd_node_bool(n, "identical_element_shapes", &a->identical, st);
}

enum tfd_code tfd_tensor_array_compute_make(struct tfd_kctx *k,
                                            struct tfd_status *st)
{
    struct tfd_tensor_array *a;
    enum tfd_dtype dtype;
    struct tfd_str name;
    enum tfd_code rc;
    int64_t size;

    TFD_TRY(tfd_check_int(k, 0, &size, st));
    if (size < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Size should be >= 0.");
    TFD_TRY(tfd_node_type(k->node, "dtype", &dtype, st));
    TFD_TRY(tfd_node_str(k->node, "tensor_array_name", &name, st));
    TFD_TRY(tfd_tensor_array_flow(k, -1, 1, st));
    a = tfd_tensor_array_new(dtype, name.size ? name : k->node->name, st);
    if (!a)
        return TFD_RESOURCE_EXHAUSTED;
    rc = read_options(k->node, a, st);
    if (rc == TFD_OK)
        rc = tfd_tensor_array_resize(a, size, st);
    if (rc != TFD_OK) {
        tfd_resource_unref(&a->resource);
        return rc;
    }
    return tfd_step_handle(k, 0, tfd_str_of(a->name), &a->resource, st);
}

/* ---- Gradients ----------------------------------------------------------- */

static struct tfd_tensor_array *find_gradient(const struct tfd_tensor_array *a,
                                              struct tfd_str source)
{
    struct tfd_tensor_array *g = a->gradients;

    while (g && !tfd_str_is(source, g->source))
        g = g->next_gradient;
    return g;
}

/* `own` behind the dimensions of shape_to_prepend, if there are any. */
static enum tfd_code prepend(const struct tfd_shape *front,
                             const struct tfd_shape *own, struct tfd_shape *out,
                             struct tfd_status *st)
{
    int64_t dim[2 * TFD_RANK_MAX];

    *out = *own;
    if (front->rank <= 0 || own->rank < 0)
        return TFD_OK;
    for (int i = 0; i < front->rank; i++)
        dim[i] = front->dim[i];
    for (int i = 0; i < own->rank; i++)
        dim[front->rank + i] = own->dim[i];
    return tfd_shape_make_partial(out, dim, front->rank + own->rank, st);
}

/* Elements that were written have gradients of their shapes, zero at first. */
static enum tfd_code gradient_shapes(const struct tfd_kctx *k,
                                     const struct tfd_tensor_array *a,
                                     struct tfd_tensor_array *g,
                                     struct tfd_status *st)
{
    struct tfd_shape front = {0, {0}};

    if (k->in_count > 2)
        TFD_TRY(tfd_check_shape(k, 2, true, &front, st));
    TFD_TRY(prepend(&front, &a->element_shape, &g->element_shape, st));
    TFD_TRY(tfd_tensor_array_resize(g, a->count, st));
    for (int64_t i = a->last_used; i >= 0; i = a->slots[i].next) {
        struct tfd_tensor_array_slot *slot;

        if (!a->slots[i].written)
            continue;
        slot = tfd_tensor_array_slot_use(g, i);
        TFD_TRY(prepend(&front, &a->slots[i].shape, &slot->shape, st));
        slot->written = true;
    }
    return TFD_OK;
}

static enum tfd_code make_gradient(const struct tfd_kctx *k,
                                   struct tfd_tensor_array *a,
                                   struct tfd_str source,
                                   struct tfd_tensor_array **out,
                                   struct tfd_status *st)
{
    struct tfd_tensor_array *g =
        tfd_tensor_array_new(a->dtype, tfd_str_of(a->name), st);
    enum tfd_code rc;

    if (!g)
        return TFD_RESOURCE_EXHAUSTED;
    g->source = malloc(source.size + 1);
    rc = g->source
             ? gradient_shapes(k, a, g, st)
             : tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a gradient");
    if (rc != TFD_OK) {
        tfd_resource_unref(&g->resource);
        return rc;
    }
    memcpy(g->source, source.data, source.size);
    g->source[source.size] = '\0';
    g->adds = true;
    g->identical = a->identical;
    g->split_count = a->split_count;
    g->next_gradient = a->gradients;
    a->gradients = g;
    a->dynamic = false; /* its gradient has its size */
    *out = g;
    return TFD_OK;
}

static enum tfd_code gradient_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor_array *a, *g;
    enum tfd_code rc = TFD_OK;
    struct tfd_str source;

    TFD_TRY(tfd_node_str(k->node, "source", &source, st));
    TFD_TRY(tfd_tensor_array_find(k, &a, st));
    g = find_gradient(a, source);
    if (!g)
        rc = make_gradient(k, a, source, &g, st);
    if (rc == TFD_OK)
        tfd_resource_ref(&g->resource);
    tfd_tensor_array_leave(a);
    TFD_TRY(rc);
    TFD_TRY(tfd_step_handle(k, 0, tfd_str_of(g->name), &g->resource, st));
    return tfd_tensor_array_flow(k, 1, 1, st);
}

/* ---- Elements ------------------------------------------------------------ */

/* A gradient, which adds, has values of its own. */
static enum tfd_code write_kept(const struct tfd_kctx *k,
                                struct tfd_tensor_array *a, int64_t index,
                                struct tfd_status *st)
{
    struct tfd_tensor value;
    enum tfd_code rc;

    if (a->adds)
        return tfd_tensor_array_write(k, a, index, &k->in[2], st);
    TFD_TRY(tfd_kept_put(k, 2, &value, st));
    rc = tfd_tensor_array_write(k, a, index, &value, st);
    tfd_tensor_unref(&value);
    return rc;
}

enum tfd_code tfd_tensor_array_compute_write(struct tfd_kctx *k,
                                             struct tfd_status *st)
{
    struct tfd_tensor_array *a;
    enum tfd_code rc;
    int64_t index;

    TFD_TRY(tfd_check_int(k, 1, &index, st));
    TFD_TRY(tfd_tensor_array_find(k, &a, st));
    rc = write_kept(k, a, index, st);
    tfd_tensor_array_leave(a);
    return rc == TFD_OK ? tfd_tensor_array_flow(k, 3, 0, st) : rc;
}

enum tfd_code tfd_tensor_array_compute_read(struct tfd_kctx *k,
                                            struct tfd_status *st)
{
    struct tfd_tensor held = TFD_TENSOR_INIT;
    struct tfd_tensor_array *a;
    enum tfd_code rc;
    int64_t index;

    TFD_TRY(tfd_check_int(k, 1, &index, st));
    TFD_TRY(tfd_tensor_array_find(k, &a, st));
    if (k->node->out_types[0] != (int)a->dtype)
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "TensorArray dtype is %s but Op requested dtype %s.",
                      tfd_dtype_name((int)a->dtype),
                      tfd_dtype_name(k->node->out_types[0]));
    else
        rc = tfd_tensor_array_read_held(k, a, index, &held, st);
    tfd_tensor_array_leave(a);
    if (rc == TFD_OK)
        rc = tfd_kept_give(k, 0, &held, st);
    tfd_tensor_unref(&held);
    return rc;
}

static enum tfd_code size_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_tensor_array *a;
    int64_t size;

    TFD_TRY(tfd_tensor_array_find(k, &a, st));
    size = a->count;
    tfd_tensor_array_leave(a);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &scalar, st));
    *(int32_t *)tfd_tensor_data(&k->out[0]) = (int32_t)size;
    return TFD_OK;
}

static enum tfd_code close_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor_array *a;

    TFD_TRY(tfd_tensor_array_find(k, &a, st));
    a->closed = true;
    for (int64_t i = a->last_used; i >= 0; i = a->slots[i].next)
        tfd_tensor_unref(&a->slots[i].value);
    a->count = 0;
    tfd_tensor_array_leave(a);
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define STATEFUL .flags = TFD_OP_STATEFUL | TFD_OP_STEP_STATE

static const struct tfd_opdef ops[] = {
    {
        .name = "TensorArrayV3",
        .inputs = "size: int32",
        .outputs = "handle: resource, flow: float",
        .attrs = "dtype: type; "
                 "element_shape: shape = { unknown_rank: true }; "
                 "dynamic_size: bool = false; clear_after_read: bool = true; "
                 "identical_element_shapes: bool = false; "
                 "tensor_array_name: string = ''",
        .checks = "size: scalar",
        .key = "dtype",
        STATEFUL,
    },
    {
        .name = "TensorArrayGradV3",
        .inputs = "handle: resource, flow_in: float",
        .outputs = "grad_handle: resource, flow_out: float",
        .attrs = "source: string",
        STATEFUL,
    },
    {
        .name = "TensorArrayGradWithShape",
        .inputs = "handle: resource, flow_in: float, shape_to_prepend: int32",
        .outputs = "grad_handle: resource, flow_out: float",
        .attrs = "source: string",
        STATEFUL,
    },
    {
        .name = "TensorArrayWriteV3",
        .inputs = "handle: resource, index: int32, value: T, flow_in: float",
        .outputs = "flow_out: float",
        .attrs = "T: type",
        .checks = "index: scalar",
        .shape = tfd_shape_scalar,
        STATEFUL,
    },
    {
        .name = "TensorArrayReadV3",
        .inputs = "handle: resource, index: int32, flow_in: float",
        .outputs = "value: dtype",
        .attrs = "dtype: type",
        .checks = "index: scalar",
        .key = "dtype",
        STATEFUL,
    },
    {
        .name = "TensorArraySizeV3",
        .inputs = "handle: resource, flow_in: float",
        .outputs = "size: int32",
        .shape = tfd_shape_scalar,
        STATEFUL,
    },
    {
        .name = "TensorArrayCloseV3",
        .inputs = "handle: resource",
        .shape = tfd_shape_none,
        STATEFUL,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("TensorArrayV3", tfd_tensor_array_compute_make),
    TFD_KERNEL_ANY("TensorArrayGradV3", gradient_compute),
    TFD_KERNEL_ANY("TensorArrayGradWithShape", gradient_compute),
    TFD_KERNEL_ANY("TensorArrayWriteV3", tfd_tensor_array_compute_write),
    TFD_KERNEL_ANY("TensorArrayReadV3", tfd_tensor_array_compute_read),
    TFD_KERNEL_ANY("TensorArraySizeV3", size_compute),
    TFD_KERNEL_ANY("TensorArrayCloseV3", close_compute),
};

const struct tfd_family tfd_family_tensor_array = {
    .name = "tensor_array",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
