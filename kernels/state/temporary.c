/*
 * temporary.c - TemporaryVariable and DestroyTemporaryVariable: a reference
 * variable that its step finds by name, and that ends with it if not before.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/state/variable.h"

/* ---- Making -------------------------------------------------------------- */

/* A variable without a shape is a scalar. */
static enum tfd_code read_shape(const struct tfd_node *n, struct tfd_shape *out,
                                struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    TFD_TRY(tfd_node_shape(n, "shape", out, st));
    if (out->rank < 0)
        *out = (struct tfd_shape){0, {0}};
    if (tfd_shape_elements(out) >= 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Shape %s is not fully defined",
                    tfd_shape_text(out, text));
}

/* Its value is zeros; in TensorFlow what happens to be there. */
static enum tfd_code set_zeros(struct tfd_variable *v,
                               const struct tfd_shape *shape,
                               struct tfd_status *st)
{
    struct tfd_tensor value;

    TFD_TRY(tfd_tensor_new(&value, v->dtype, shape, st));
    tfd_variable_set(v, &value);
    return TFD_OK;
}

static enum tfd_code temporary_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct tfd_variable_spec spec = {.type = &tfd_variable_ref_type};
    struct tfd_resource *made;
    enum tfd_code rc;

    TFD_TRY(tfd_node_str(k->node, "var_name", &spec.name, st));
    if (spec.name.size == 0)
        spec.name = k->node->name;
    TFD_TRY(tfd_node_type(k->node, "dtype", &spec.dtype, st));
    TFD_TRY(read_shape(k->node, &spec.shape, st));
    TFD_TRY(tfd_variable_make(&spec, &made, st));
    rc = set_zeros((struct tfd_variable *)made, &spec.shape, st);
    if (rc == TFD_OK)
        rc = tfd_step_keep(k->step, spec.name, made, st);
    if (rc == TFD_OK)
        k->ref_out[0] = (struct tfd_variable *)made;
    else
        tfd_resource_unref(made);
    return rc;
}

/* ---- Ending -------------------------------------------------------------- */

/* The value is the input's, whatever variable the name is of. */
static enum tfd_code destroy_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_resource *r;
    struct tfd_str name;

    TFD_TRY(tfd_node_str(k->node, "var_name", &name, st));
    TFD_TRY(tfd_variable_read(k->ref[0], &k->out[0], st));
    r = tfd_step_kept(k->step, name, &tfd_variable_ref_type, true);
    if (!r)
        return tfd_fail(st, TFD_NOT_FOUND,
                        "Resource __per_step_%lld/" TFD_STR_FMT
                        "/N10tensorflow19TemporaryVariableOp6TmpVarE does not "
                        "exist.",
                        (long long)tfd_step_id(k->step), TFD_STR_ARG(name));
    tfd_resource_unref(r);
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static enum tfd_code made_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(tfd_node_shape(s->node, "shape", &shape, st));
    if (shape.rank >= 0)
        s->out[0] = shape;
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "TemporaryVariable",
        .inputs = "",
        .outputs = "ref: Ref(dtype)",
        .attrs = "shape: shape; dtype: type; var_name: string = ''",
        .key = "dtype",
        .shape = made_shape,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "DestroyTemporaryVariable",
        .inputs = "ref: Ref(T)",
        .outputs = "value: T",
        .attrs = "T: type; var_name: string",
        .shape = tfd_shape_like_first,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("TemporaryVariable", temporary_compute),
    TFD_KERNEL_ANY("DestroyTemporaryVariable", destroy_compute),
};

const struct tfd_family tfd_family_temporary = {
    .name = "temporary",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
