/*
 * tensor_array.c - making arrays and their gradients; one element at a time.
 */
#include "kernels/list/tensor_array.h"
#include "kernels/list/tensor_array_grad.h"

#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/kept.h"
#include "kernels/core/owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Making -------------------------------------------------------------- */

/* Where the steps of TensorFlow keep them. */
#define ARRAYS "_tensor_arrays"
#define GRADIENTS "_tensor_array_grads"

static enum tfd_code read_options(const struct tfd_node *n,
                                  struct tfd_tensor_array *a,
                                  struct tfd_status *st)
{
    TFD_TRY(tfd_node_shape(n, "element_shape", &a->element_shape, st));
    TFD_TRY(tfd_node_bool(n, "dynamic_size", &a->dynamic, st));
    TFD_TRY(tfd_node_bool(n, "clear_after_read", &a->clear_after_read, st));
    if (tfd_dtype_base(n->out_types[0]) == TFD_STRING)
        return TFD_OK;
    return tfd_node_bool(n, "identical_element_shapes", &a->identical, st);
}

enum tfd_code tfd_tensor_array_compute_make(struct tfd_kctx *k,
                                            struct tfd_status *st)
{
    struct tfd_tensor_array *a;
    enum tfd_dtype dtype;
    char name[TFD_STEP_NAME_MAX];
    struct tfd_str wanted;
    enum tfd_code rc;
    int64_t size;

    TFD_TRY(tfd_check_int(k, 0, &size, st));
    if (size < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Size should be >= 0.");
    TFD_TRY(tfd_node_type(k->node, "dtype", &dtype, st));
    TFD_TRY(tfd_node_str(k->node, "tensor_array_name", &wanted, st));
    if (k->out_count > 1)
        TFD_TRY(tfd_tensor_array_flow(k, -1, 1, st));
    tfd_step_name(k, 0, wanted, name);
    a = tfd_tensor_array_new(dtype, tfd_str_of(name), st);
    if (!a)
        return TFD_RESOURCE_EXHAUSTED;
    rc = read_options(k->node, a, st);
    if (rc == TFD_OK)
        rc = tfd_tensor_array_resize(a, size, st);
    if (rc != TFD_OK) {
        tfd_resource_unref(&a->resource);
        return rc;
    }
    return tfd_step_handle(k, 0, ARRAYS, tfd_str_of(a->name), &a->resource, st);
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

/* Gives out g, which is taken.  Its name in older ops is its array's with the
 * source behind it. */
static enum tfd_code give_gradient(struct tfd_kctx *k,
                                   struct tfd_tensor_array *take_g,
                                   struct tfd_status *st)
{
    size_t size = strlen(take_g->name) + strlen(take_g->source) + 2;
    char *name = malloc(size);
    enum tfd_code rc;

    if (!name) {
        tfd_resource_unref(&take_g->resource);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a gradient");
    }
    snprintf(name, size, "%s@%s", take_g->name, take_g->source);
    rc = tfd_step_handle(k, 0, GRADIENTS, tfd_str_of(name), &take_g->resource,
                         st);
    free(name);
    return rc;
}

static enum tfd_code check_source(const struct tfd_tensor_array *a,
                                  struct tfd_status *st)
{
    return a->source ? tfd_fail(st, TFD_INVALID_ARGUMENT,
                                "Input container should be '%s',  but received "
                                "'%s'",
                                ARRAYS, GRADIENTS)
                     : TFD_OK;
}

static enum tfd_code gradient_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor_array *a, *g = NULL;
    struct tfd_str source;
    enum tfd_code rc;

    TFD_TRY(tfd_node_str(k->node, "source", &source, st));
    TFD_TRY(tfd_tensor_array_find(k, &a, st));
    rc = check_source(a, st);
    if (rc == TFD_OK)
        g = find_gradient(a, source);
    if (rc == TFD_OK && !g)
        rc = make_gradient(k, a, source, &g, st);
    if (rc == TFD_OK)
        tfd_resource_ref(&g->resource);
    tfd_tensor_array_leave(a);
    TFD_TRY(rc);
    TFD_TRY(give_gradient(k, g, st));
    return k->out_count > 1 ? tfd_tensor_array_flow(k, 1, 1, st) : TFD_OK;
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
    tfd_unlock(&a->lock);
    a->resource.type->empty(&a->resource);
    tfd_resource_unref(&a->resource);
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define FIXED .flags = TFD_OP_STATEFUL | TFD_OP_STEP_STATE | TFD_OP_NO_GRADIENT

#define OPTIONS                                                   \
    "element_shape: shape = { unknown_rank: true }; "             \
    "dynamic_size: bool = false; clear_after_read: bool = true; " \
    "tensor_array_name: string = ''"
#define ARRAY(name_, outputs_, more_, shape_)                             \
    {                                                                     \
        .name = name_, .inputs = "size: int32", .outputs = outputs_,      \
        .attrs = "dtype: type; " more_ OPTIONS, .checks = "size: scalar", \
        .key = "dtype", .shape = shape_, FIXED                            \
    }
#define GRADIENT(name_, inputs_, outputs_, shape_)             \
    {                                                          \
        .name = name_, .inputs = inputs_, .outputs = outputs_, \
        .attrs = "source: string", .shape = shape_, FIXED      \
    }
#define FROM_RESOURCE "handle: resource, flow_in: float"
#define TO_RESOURCE "grad_handle: resource, flow_out: float"
#define FROM_STRING "handle: string, flow_in: float"

static const struct tfd_opdef ops[] = {
    ARRAY("TensorArray", "handle: Ref(string)", "", NULL),
    ARRAY("TensorArrayV2", "handle: string", "", tfd_owner_shape),
    ARRAY("TensorArrayV3", "handle: resource, flow: float",
          "identical_element_shapes: bool = false; ", NULL),
    GRADIENT("TensorArrayGrad", FROM_STRING, "grad_handle: Ref(string)", NULL),
    GRADIENT("TensorArrayGradV2", FROM_STRING, "grad_handle: string",
             tfd_owner_shape),
    GRADIENT("TensorArrayGradV3", FROM_RESOURCE, TO_RESOURCE, NULL),
    GRADIENT("TensorArrayGradWithShape",
             FROM_RESOURCE ", shape_to_prepend: int32", TO_RESOURCE, NULL),
    TFD_TENSOR_ARRAY_USERS("TensorArrayWrite",
                           ", index: int32, value: T, flow_in: float",
                           .outputs = "flow_out: float", .attrs = "T: type",
                           .checks = "index: scalar", .shape = tfd_shape_scalar,
                           .grad = tfd_tensor_array_write_gradient),
    TFD_TENSOR_ARRAY_USERS("TensorArrayRead", ", index: int32, flow_in: float",
                           .outputs = "value: dtype", .attrs = "dtype: type",
                           .checks = "index: scalar", .key = "dtype",
                           .grad = tfd_tensor_array_read_gradient),
    TFD_TENSOR_ARRAY_FLAGGED("TensorArraySize", ", flow_in: float",
                             TFD_OP_NO_GRADIENT, .outputs = "size: int32",
                             .shape = tfd_shape_scalar),
    TFD_TENSOR_ARRAY_FLAGGED("TensorArrayClose", "", TFD_OP_NO_GRADIENT,
                             .shape = tfd_shape_none),
};

static const struct tfd_kernel kernels[] = {
    TFD_TENSOR_ARRAY_KERNELS("TensorArray", tfd_tensor_array_compute_make),
    TFD_TENSOR_ARRAY_KERNELS("TensorArrayGrad", gradient_compute),
    TFD_KERNEL_ANY("TensorArrayGradWithShape", gradient_compute),
    TFD_TENSOR_ARRAY_KERNELS("TensorArrayWrite",
                             tfd_tensor_array_compute_write),
    TFD_TENSOR_ARRAY_KERNELS("TensorArrayRead", tfd_tensor_array_compute_read),
    TFD_TENSOR_ARRAY_KERNELS("TensorArraySize", size_compute),
    TFD_TENSOR_ARRAY_KERNELS("TensorArrayClose", close_compute),
};

const struct tfd_family tfd_family_tensor_array = {
    .name = "tensor_array",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
