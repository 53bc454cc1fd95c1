/*
 * optional.c - OptionalFromValue, OptionalNone, OptionalHasValue,
 * OptionalGetValue: a variant that holds tensors or nothing
 * (common/base/variant.h).  Gradients of conditionals use them for values of
 * the branch that was not taken.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "config/limits.h"

#include "common/base/variant.h"

#include <stdlib.h>

static enum tfd_code none_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_variant *v = tfd_variant_new(TFD_VARIANT_OPTIONAL, st);

    return v ? tfd_variant_tensor(v, &k->out[0], st) : TFD_RESOURCE_EXHAUSTED;
}

static enum tfd_code from_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_variant *v = tfd_variant_new(TFD_VARIANT_OPTIONAL, st);
    enum tfd_code rc = TFD_OK;

    if (!v)
        return TFD_RESOURCE_EXHAUSTED;
    v->has_value = true;
    for (int i = 0; rc == TFD_OK && i < k->in_count; i++) {
        struct tfd_tensor t = tfd_tensor_ref(&k->in[i]);

        rc = tfd_variant_set(v, i, &t, st);
    }
    if (rc == TFD_OK)
        return tfd_variant_tensor(v, &k->out[0], st);
    tfd_variant_unref(v);
    return rc;
}

static enum tfd_code get(const struct tfd_kctx *k, struct tfd_variant **out,
                         struct tfd_status *st)
{
    *out = tfd_variant_of(&k->in[0]);
    if (*out && (*out)->kind == TFD_VARIANT_OPTIONAL)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Input to Optional op must be a scalar tensor with an "
                    "Optional variant.");
}

static enum tfd_code has_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_variant *v;

    TFD_TRY(get(k, &v, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_BOOL, &scalar, st));
    *(tfd_bool *)tfd_tensor_data(&k->out[0]) = v->has_value;
    return TFD_OK;
}

/* What OptionalGetValue's node says of its outputs. */
struct expected {
    struct tfd_shape *shapes;
};

static enum tfd_code value_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct expected *e = state;
    int want = p->node->out_count, count;

    e->shapes = calloc((size_t)want + 1, sizeof(*e->shapes));
    if (!e->shapes)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the kernel of " TFD_STR_FMT,
                        TFD_STR_ARG(p->node->name));
    TFD_TRY(
        tfd_node_shapes(p->node, "output_shapes", e->shapes, want, &count, st));
    if (count == want)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "`output_shapes` must be the same length as "
                    "`output_types` (%d vs. %d)",
                    count, want);
}

static void value_release(void *state)
{
    struct expected *e = state;

    free(e->shapes);
}

static enum tfd_code check_component(const struct tfd_kctx *k, int i,
                                     const struct tfd_tensor *t,
                                     struct tfd_status *st)
{
    const struct expected *e = k->state;
    char want[TFD_SHAPE_TEXT_MAX], have[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape shape = e->shapes[i];

    if ((int)t->dtype != k->node->out_types[i])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The given optional does not match the expected "
                        "type for component %d. Expected: %s. Actual: %s.",
                        i, tfd_dtype_name(k->node->out_types[i]),
                        tfd_dtype_name((int)t->dtype));
    if (tfd_shape_merge(&shape, &t->shape, NULL) == TFD_OK)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "The given optional does not match the expected shape for "
                    "component %d. Expected: %s. Actual: %s.",
                    i, tfd_shape_text(&e->shapes[i], want),
                    tfd_shape_text(&t->shape, have));
}

static enum tfd_code value_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_variant *v;

    TFD_TRY(get(k, &v, st));
    if (!v->has_value)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The given optional does not have a value.");
    if (v->count != k->out_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The given optional has %d components, expected %d",
                        v->count, k->out_count);
    for (int i = 0; i < k->out_count; i++) {
        TFD_TRY(check_component(k, i, &v->tensors[i], st));
        k->out[i] = tfd_tensor_ref(&v->tensors[i]);
    }
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

/* The inputs' shapes, as far as they are known. */
static enum tfd_code component_shapes(const struct tfd_grad *g,
                                      struct tfd_bytes *out,
                                      struct tfd_status *st)
{
    struct tfd_shape shapes[TFD_GRAD_LIST_MAX];

    if (g->node->in_count > TFD_GRAD_LIST_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "the gradient of %d components; at most %d are "
                        "supported",
                        g->node->in_count, TFD_GRAD_LIST_MAX);
    for (int i = 0; i < g->node->in_count; i++)
        (void)tfd_grad_shape(g, g->x[i], &shapes[i]);
    tfd_attr_put_shapes(out, shapes, g->node->in_count);
    return tfd_bytes_ok(out, "shapes", st);
}

/* What arrived is an optional, too: of the gradients. */
static enum tfd_code from_value_gradient(struct tfd_grad *g,
                                         struct tfd_status *st)
{
    struct tfd_attr attrs[] = {{.name = TFD_STR("output_types")},
                               {.name = TFD_STR("output_shapes")}};
    struct tfd_bytes shapes;
    enum tfd_code rc;

    if (!tfd_node_attr(g->node, "Toutput_types", &attrs[0].value))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "OptionalFromValue has no Toutput_types");
    tfd_bytes_init(&shapes, TFD_GRAPH_SIZE_MAX);
    rc = component_shapes(g, &shapes, st);
    attrs[1].value = tfd_bytes_view(&shapes);
    if (rc == TFD_OK)
        rc = tfd_grad_emit_attrs(g, "OptionalGetValue", g->dy, 1, attrs, 2,
                                 g->dx, g->node->in_count, st);
    tfd_bytes_deinit(&shapes);
    return rc;
}

static enum tfd_code get_value_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge parts[TFD_GRAD_LIST_MAX];

    if (g->node->out_count > TFD_GRAD_LIST_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "the gradient of %d components; at most %d are "
                        "supported",
                        g->node->out_count, TFD_GRAD_LIST_MAX);
    for (int i = 0; i < g->node->out_count; i++)
        parts[i] = tfd_gradient_given(&b, i);
    g->dx[0] =
        tfd_gradient_op(&b, "OptionalFromValue", parts, g->node->out_count);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "OptionalNone",
        .outputs = "optional: variant",
        .shape = tfd_shape_scalar,
    },
    {
        .name = "OptionalFromValue",
        .inputs = "components: Toutput_types",
        .outputs = "optional: variant",
        .attrs = "Toutput_types: list(type) >= 1",
        .shape = tfd_shape_scalar,
        .grad = from_value_gradient,
    },
    {
        .name = "OptionalHasValue",
        .inputs = "optional: variant",
        .outputs = "has_value: bool",
        .shape = tfd_shape_scalar,
    },
    {
        .name = "OptionalGetValue",
        .inputs = "optional: variant",
        .outputs = "components: output_types",
        .attrs = "output_types: list(type) >= 1; "
                 "output_shapes: list(shape) >= 1",
        .grad = get_value_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("OptionalNone", none_compute),
    TFD_KERNEL_ANY("OptionalFromValue", from_compute,
                   .flags = TFD_KERNEL_BY_TYPE),
    TFD_KERNEL_ANY("OptionalHasValue", has_compute),
    TFD_KERNEL_ANY("OptionalGetValue", value_compute, .prepare = value_prepare,
                   .release = value_release,
                   .state_size = sizeof(struct expected),
                   .flags = TFD_KERNEL_BY_TYPE),
};

const struct tfd_family tfd_family_optional = {
    .name = "optional",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
