/*
 * composite_variant.c - CompositeTensorVariantFromComponents,
 * CompositeTensorVariantToComponents: tensors as one element, with the class of
 * the Python object that they are parts of, and back.
 *
 * `metadata` is a CompositeTensorVariantMetadata message, of which nothing but
 * the number of that class is looked at:
 *
 *     metadata { type_spec_proto = 1 { type_spec_class = 1, ... } }
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"

#include "common/base/variant.h"
#include "common/base/pbio.h"

/* ---- Metadata ------------------------------------------------------------ */

/* The name of a class of TensorFlow's TypeSpecProto; "" for one it has not. */
static const char *class_name(int64_t number)
{
    static const char *const names[] = {"UNKNOWN",
                                        "SPARSE_TENSOR_SPEC",
                                        "INDEXED_SLICES_SPEC",
                                        "RAGGED_TENSOR_SPEC",
                                        "TENSOR_ARRAY_SPEC",
                                        "DATA_DATASET_SPEC",
                                        "DATA_ITERATOR_SPEC",
                                        "OPTIONAL_SPEC",
                                        "PER_REPLICA_SPEC",
                                        "VARIABLE_SPEC",
                                        "ROW_PARTITION_SPEC",
                                        "",
                                        "REGISTERED_TYPE_SPEC",
                                        "EXTENSION_TYPE_SPEC"};

    return number >= 0 && number < TFD_COUNT(names) ? names[number] : "";
}

static enum tfd_code read_spec_class(struct tfd_str message, int64_t *class,
                                     struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == 1)
            *class = tfd_pb_int32(&r, &f);
    return tfd_pb_end(&r, "TypeSpecProto", st);
}

static enum tfd_code read_class(struct tfd_str metadata, int64_t *class,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(metadata);
    struct tfd_pb_field f;

    *class = 0;
    while (tfd_pb_next(&r, &f))
        if (f.tag == 1)
            TFD_TRY(read_spec_class(tfd_pb_str(&r, &f), class, st));
    return tfd_pb_end(&r, "CompositeTensorVariantMetadata", st);
}

/* ---- From components ----------------------------------------------------- */

struct composing {
    struct tfd_str metadata;
    int64_t class;
};

static enum tfd_code composing_prepare(const struct tfd_prepare *p,
                                       struct composing *x, const char *words,
                                       struct tfd_status *st)
{
    TFD_TRY(tfd_node_str(p->node, "metadata", &x->metadata, st));
    if (read_class(x->metadata, &x->class, NULL) == TFD_OK)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Error parsing %s", words);
}

static enum tfd_code from_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    return composing_prepare(p, state, "metadata", st);
}

static enum tfd_code put_metadata(struct tfd_variant *v, struct tfd_str text,
                                  struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    struct tfd_tensor t = TFD_TENSOR_INIT;
    enum tfd_code rc;

    TFD_TRY(tfd_tensor_new(&t, TFD_STRING, &scalar, st));
    rc = tfd_tstring_set(tfd_tensor_data(&t), text, st);
    if (rc == TFD_OK)
        return tfd_variant_set(v, 0, &t, st);
    tfd_tensor_unref(&t);
    return rc;
}

static enum tfd_code from_components(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct composing *x = k->state;
    struct tfd_variant *v = tfd_variant_new(TFD_VARIANT_COMPOSITE, st);
    enum tfd_code rc;

    if (!v)
        return TFD_RESOURCE_EXHAUSTED;
    rc = put_metadata(v, x->metadata, st);
    for (int i = 0; rc == TFD_OK && i < k->in_count; i++) {
        struct tfd_tensor t = tfd_tensor_ref(&k->in[i]);

        rc = tfd_variant_set(v, i + 1, &t, st);
    }
    if (rc == TFD_OK)
        return tfd_variant_tensor(v, &k->out[0], st);
    tfd_variant_unref(v);
    return rc;
}

/* ---- To components ------------------------------------------------------- */

static enum tfd_code to_prepare(const struct tfd_prepare *p, void *state,
                                struct tfd_status *st)
{
    return composing_prepare(p, state, "`metadata`", st);
}

static enum tfd_code fail_kind(const struct tfd_tensor *t,
                               struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (tfd_tensor_elements(t) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input `encoded` must not be an empty variant tensor, "
                        "but got Tensor<type: variant shape: %s values: >",
                        tfd_shape_text(&t->shape, text));
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "The input `encoded` is not a valid CompositeTensorVariant "
                    "tensor, got another variant of shape %s",
                    tfd_shape_text(&t->shape, text));
}

static enum tfd_code check_class(const struct composing *x,
                                 const struct tfd_variant *v,
                                 struct tfd_status *st)
{
    int64_t class;

    TFD_TRY(read_class(tfd_tstring_view(tfd_tensor_data(&v->tensors[0])),
                       &class, st));
    if (class == x->class)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Expected a %s (based on `type_spec`), but `encoded` "
                    "contains a %s",
                    class_name(x->class), class_name(class));
}

static enum tfd_code check_component(const struct tfd_kctx *k, int i,
                                     const struct tfd_tensor *t,
                                     struct tfd_status *st)
{
    enum tfd_dtype dtype = (enum tfd_dtype)k->node->out_types[i];

    if (t->dtype == dtype)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Tensor component %d had dtype %s; expected dtype %s", i,
                    tfd_dtype_enum_name((int)t->dtype),
                    tfd_dtype_enum_name((int)dtype));
}

static enum tfd_code to_components(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_variant *const *encoded = tfd_tensor_data(&k->in[0]);
    const struct tfd_variant *v;

    if (tfd_tensor_elements(&k->in[0]) == 0)
        return fail_kind(&k->in[0], st);
    v = encoded[0];
    if (!v || v->kind != TFD_VARIANT_COMPOSITE)
        return fail_kind(&k->in[0], st);
    TFD_TRY(check_class(k->state, v, st));
    if (v->count - 1 != k->out_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Encoded value has %d tensor components; expected %d "
                        "components based on type_spec",
                        v->count - 1, k->out_count);
    for (int i = 0; i < k->out_count; i++) {
        TFD_TRY(check_component(k, i, &v->tensors[i + 1], st));
        k->out[i] = tfd_tensor_ref(&v->tensors[i + 1]);
    }
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

static const char *const both_attrs[] = {"metadata", "Tcomponents", NULL};

static enum tfd_code from_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    tfd_gradient_copying(&b, "CompositeTensorVariantToComponents", g->dy, 1,
                         both_attrs, g->dx, g->node->in_count);
    return b.code;
}

/* A component without a gradient stands for itself. */
static enum tfd_code to_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge parts[TFD_GRAD_LIST_MAX];
    int count = g->node->out_count;

    if (count > TFD_GRAD_LIST_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "the gradient of %d components; at most %d are "
                        "possible",
                        count, TFD_GRAD_LIST_MAX);
    for (int i = 0; i < count; i++)
        parts[i] = g->dy[i].node < 0 ? g->y[i] : g->dy[i];
    tfd_gradient_copying(&b, "CompositeTensorVariantFromComponents", parts,
                         count, both_attrs, g->dx, 1);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "CompositeTensorVariantFromComponents",
        .inputs = "components: Tcomponents",
        .outputs = "encoded: variant",
        .attrs = "metadata: string; Tcomponents: list(type) >= 0",
        .shape = tfd_shape_scalar,
        .grad = from_gradient,
    },
    {
        .name = "CompositeTensorVariantToComponents",
        .inputs = "encoded: variant",
        .outputs = "components: Tcomponents",
        .attrs = "metadata: string; Tcomponents: list(type) >= 0",
        .grad = to_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("CompositeTensorVariantFromComponents", from_components,
                   .prepare = from_prepare,
                   .state_size = sizeof(struct composing)),
    TFD_KERNEL_ANY("CompositeTensorVariantToComponents", to_components,
                   .prepare = to_prepare,
                   .state_size = sizeof(struct composing)),
};

const struct tfd_family tfd_family_composite_variant = {
    .name = "composite_variant",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
