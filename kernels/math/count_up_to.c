/*
 * count_up_to.c - CountUpTo, ResourceCountUpTo: a counter that ends a loop by
 * OUT_OF_RANGE, which is what input pipelines of the first kind stop at.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/state/variable.h"

static enum tfd_code prepare_count(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    return tfd_node_int(p->node, "limit", state, st);
}

static enum tfd_code check_counter(const struct tfd_kctx *k,
                                   const struct tfd_variable *v,
                                   struct tfd_status *st)
{
    int expected = k->node->out_types[0];
    char text[TFD_SHAPE_TEXT_MAX];

    if ((int)v->dtype != expected)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "variable %s is of type %s, the op of type %s", v->name,
                        tfd_dtype_name((int)v->dtype),
                        tfd_dtype_name(expected));
    if (v->initialized && v->value.shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "input is not a scalar: %s",
                        tfd_shape_text(&v->value.shape, text));
    return TFD_OK;
}

static enum tfd_code count_locked(struct tfd_kctx *k, struct tfd_variable *v,
                                  struct tfd_status *st)
{
    int64_t limit = *(const int64_t *)k->state, now;
    void *at;

    TFD_TRY(check_counter(k, v, st));
    TFD_TRY(tfd_variable_writable(v, st));
    at = tfd_tensor_data(&v->value);
    now = tfd_check_int_at(&v->value, 0);
    if (now >= limit)
        return tfd_fail(st, TFD_OUT_OF_RANGE, "Reached limit of %lld",
                        (long long)limit);
    TFD_TRY(tfd_kctx_output(k, 0, v->dtype, &v->value.shape, st));
    if (v->dtype == TFD_INT32) {
        *(int32_t *)tfd_tensor_data(&k->out[0]) = (int32_t)now;
        *(int32_t *)at = (int32_t)(uint32_t)(now + 1);
    } else {
        *(int64_t *)tfd_tensor_data(&k->out[0]) = now;
        *(int64_t *)at = now + 1; /* now < limit */
    }
    return TFD_OK;
}

static enum tfd_code count_up_to(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_variable *v;
    enum tfd_code rc;

    TFD_TRY(tfd_kctx_variable(k, 0, &v, st));
    tfd_variables_lock(&v, 1);
    rc = count_locked(k, v, st);
    tfd_variables_unlock(&v, 1);
    tfd_resource_unref(&v->resource);
    return rc;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "CountUpTo",
        .inputs = "ref: Ref(T)",
        .outputs = "output: T",
        .attrs = "limit: int; T: {int32, int64}",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "ResourceCountUpTo",
        .inputs = "resource: resource",
        .outputs = "output: T",
        .attrs = "limit: int; T: {int32, int64}",
        .checks = "resource: scalar",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("CountUpTo", count_up_to, .prepare = prepare_count,
                   .state_size = sizeof(int64_t)),
    TFD_KERNEL_ANY("ResourceCountUpTo", count_up_to, .prepare = prepare_count,
                   .state_size = sizeof(int64_t)),
};

const struct tfd_family tfd_family_count_up_to = {
    .name = "count_up_to",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
