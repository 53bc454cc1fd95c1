/*
 * accumulator.c - the operations on conditional accumulators: dense ones by
 * reference and by resource handle, sparse ones by reference.
 *
 * The state of a kernel that applies a gradient is a bool: whether the gradient
 * tells its shape, which only sparse ones do.
 */
#include "kernels/state/accumulator_core.h"

#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/owner.h"

/* ---- Making -------------------------------------------------------------- */

struct maker {
    struct tfd_owner owner;
    struct tfd_accumulator_spec spec;
};

static enum tfd_code
prepare_accumulator(const struct tfd_prepare *p, struct maker *m,
                    const struct tfd_accumulator_kind *kind,
                    struct tfd_status *st)
{
    struct tfd_str reduction;

    TFD_TRY(tfd_owner_prepare(&m->owner, p, &tfd_accumulator_type, st));
    TFD_TRY(tfd_node_type(p->node, "dtype", &m->spec.dtype, st));
    TFD_TRY(tfd_node_shape(p->node, "shape", &m->spec.shape, st));
    TFD_TRY(tfd_node_str(p->node, "reduction_type", &reduction, st));
    m->spec.kind = kind;
    m->spec.mean = tfd_str_is(reduction, "MEAN");
    return TFD_OK;
}

static enum tfd_code dense_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    return prepare_accumulator(p, state, &tfd_accumulator_dense, st);
}

static enum tfd_code sparse_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    return prepare_accumulator(p, state, &tfd_accumulator_sparse, st);
}

static void maker_release(void *state)
{
    tfd_owner_release(&((struct maker *)state)->owner);
}

/* As in TensorFlow an accumulator that is there already is taken as it is. */
static enum tfd_code make_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct maker *m = k->state;

    return tfd_owner_output(k, &m->owner, tfd_accumulator_make, NULL, &m->spec,
                            st);
}

/* ---- Checks -------------------------------------------------------------- */

/* Input 1, a scalar. */
static enum tfd_code scalar(const struct tfd_kctx *k, const char *name,
                            int64_t *out, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (k->in[1].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Argument %s must be scalar, but had bad shape %s",
                        name, tfd_shape_text(&k->in[1].shape, text));
    return tfd_check_int(k, 1, out, st);
}

/* The accumulator at input 0 is of the kind and type that the node is for. */
static enum tfd_code check_accumulator_type(
    const struct tfd_kctx *k, const struct tfd_accumulator *a,
    const struct tfd_accumulator_kind *kind, int type, struct tfd_status *st)
{
    if (a->spec.kind != kind)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s is for %s accumulators, but this one is %s",
                        k->node->op->name.data, kind->name, a->spec.kind->name);
    if (type != (int)a->spec.dtype)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Signature mismatch: the gradient is of type %s, the "
                        "accumulator of type %s",
                        tfd_dtype_name(type),
                        tfd_dtype_name((int)a->spec.dtype));
    return TFD_OK;
}

/* ---- Applying ------------------------------------------------------------ */

static enum tfd_code apply_gradient(struct tfd_kctx *k,
                                    const struct tfd_accumulator_kind *kind,
                                    int values, struct tfd_status *st)
{
    struct tfd_accumulator *a;
    struct tfd_resource *r;
    enum tfd_code rc;
    int64_t step;

    TFD_TRY(tfd_owner_find(k, &tfd_accumulator_type, &r, st));
    a = (struct tfd_accumulator *)r;
    rc = check_accumulator_type(k, a, kind, k->node->in_types[values], st);
    if (rc == TFD_OK)
        rc = scalar(k, "local_step", &step, st);
    if (rc == TFD_OK)
        rc = tfd_accumulator_apply(a, k, step, st);
    tfd_resource_unref(r);
    return rc;
}

static enum tfd_code apply_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return apply_gradient(k, &tfd_accumulator_dense, 2, st);
}

static enum tfd_code sparse_apply_compute(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    return apply_gradient(k, &tfd_accumulator_sparse, 3, st);
}

static enum tfd_code sparse_apply_prepare(const struct tfd_prepare *p,
                                          void *state, struct tfd_status *st)
{
    return tfd_node_bool(p->node, "has_known_shape", state, st);
}

/* ---- Taking -------------------------------------------------------------- */

static enum tfd_code check_take(struct tfd_kctx *k,
                                const struct tfd_accumulator *a,
                                const struct tfd_accumulator_kind *kind,
                                int values, int64_t *required,
                                struct tfd_status *st)
{
    TFD_TRY(check_accumulator_type(k, a, kind, k->node->out_types[values], st));
    TFD_TRY(scalar(k, "num_required", required, st));
    if (*required <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Argument num_required must be positive, but was %lld",
                        (long long)*required);
    return TFD_OK;
}

static void take_gradient(struct tfd_kctx *k,
                          const struct tfd_accumulator_kind *kind, int values)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_resource *r = NULL;
    int64_t required;

    if (tfd_owner_find(k, &tfd_accumulator_type, &r, &st) == TFD_OK &&
        check_take(k, (struct tfd_accumulator *)r, kind, values, &required,
                   &st) == TFD_OK) {
        tfd_accumulator_take((struct tfd_accumulator *)r, k, required);
        return;
    }
    tfd_resource_unref(r);
    tfd_kctx_finish(k, &st);
}

static void take_start(struct tfd_kctx *k)
{
    take_gradient(k, &tfd_accumulator_dense, 0);
}

static void sparse_take_start(struct tfd_kctx *k)
{
    take_gradient(k, &tfd_accumulator_sparse, 1);
}

/* ---- Count, step --------------------------------------------------------- */

static enum tfd_code count_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape shape = {0, {0}};
    struct tfd_resource *r;
    int64_t count;

    TFD_TRY(tfd_owner_find(k, &tfd_accumulator_type, &r, st));
    count = tfd_accumulator_count((struct tfd_accumulator *)r);
    tfd_resource_unref(r);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &shape, st));
    *(int32_t *)tfd_tensor_data(&k->out[0]) =
        count < INT32_MAX ? (int32_t)count : INT32_MAX;
    return TFD_OK;
}

/* The argument's name is what TensorFlow's message says. */
static enum tfd_code set_step_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_resource *r;
    int64_t step;

    TFD_TRY(scalar(k, "num_required", &step, st));
    TFD_TRY(tfd_owner_find(k, &tfd_accumulator_type, &r, st));
    tfd_accumulator_set_step((struct tfd_accumulator *)r, step);
    tfd_resource_unref(r);
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define REF "handle: Ref(string)"
#define RES "handle: resource"

#define ACCUMULATOR(name_, handle_, shape_)                           \
    {                                                                 \
        .name = name_, .inputs = "", .outputs = handle_,              \
        .attrs = "dtype: numbertype; shape: shape; "                  \
                 "container: string = ''; shared_name: string = ''; " \
                 "reduction_type: {'MEAN', 'SUM'} = 'MEAN'",          \
        .key = "dtype", .shape = shape_,                              \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,                \
    }
#define APPLY(name_, handle_, flags_)                                    \
    {                                                                    \
        .name = name_,                                                   \
        .inputs = handle_ ", local_step: int64, gradient: dtype",        \
        .outputs = "", .attrs = "dtype: numbertype", .key = "dtype",     \
        .shape = tfd_shape_none, .flags = (flags_) | TFD_OP_NO_GRADIENT, \
    }
#define TAKE(name_, handle_, flags_)                               \
    {                                                              \
        .name = name_, .inputs = handle_ ", num_required: int32",  \
        .outputs = "average: dtype", .attrs = "dtype: numbertype", \
        .key = "dtype", .flags = (flags_) | TFD_OP_NO_GRADIENT,    \
    }
#define COUNT(name_, handle_, flags_)                                          \
    {                                                                          \
        .name = name_, .inputs = handle_, .outputs = "num_accumulated: int32", \
        .attrs = "", .shape = tfd_shape_scalar,                                \
        .flags = (flags_) | TFD_OP_NO_GRADIENT,                                \
    }
#define SET_STEP(name_, handle_, flags_)                             \
    {                                                                \
        .name = name_, .inputs = handle_ ", new_global_step: int64", \
        .outputs = "", .attrs = "", .shape = tfd_shape_none,         \
        .flags = (flags_) | TFD_OP_NO_GRADIENT,                      \
    }

static const struct tfd_opdef ops[] = {
    ACCUMULATOR("ConditionalAccumulator", REF, tfd_owner_shape),
    ACCUMULATOR("ResourceConditionalAccumulator", RES, tfd_shape_scalar),
    ACCUMULATOR("SparseConditionalAccumulator", REF, tfd_owner_shape),
    APPLY("AccumulatorApplyGradient", REF, 0),
    APPLY("ResourceAccumulatorApplyGradient", RES, TFD_OP_STATEFUL),
    TAKE("AccumulatorTakeGradient", REF, 0),
    TAKE("ResourceAccumulatorTakeGradient", RES, TFD_OP_STATEFUL),
    COUNT("AccumulatorNumAccumulated", REF, 0),
    COUNT("ResourceAccumulatorNumAccumulated", RES, TFD_OP_STATEFUL),
    SET_STEP("AccumulatorSetGlobalStep", REF, 0),
    SET_STEP("ResourceAccumulatorSetGlobalStep", RES, TFD_OP_STATEFUL),
    {
        .name = "SparseAccumulatorApplyGradient",
        .inputs = REF ", local_step: int64, gradient_indices: int64, "
                      "gradient_values: dtype, gradient_shape: int64",
        .outputs = "",
        .attrs = "dtype: numbertype; has_known_shape: bool",
        .key = "dtype",
        .shape = tfd_shape_none,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "SparseAccumulatorTakeGradient",
        .inputs = REF ", num_required: int32",
        .outputs = "indices: int64, values: dtype, shape: int64",
        .attrs = "dtype: numbertype",
        .key = "dtype",
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define MAKE(name_, type_, prepare_)                                         \
    TFD_KERNEL(name_, type_, make_compute, .prepare = prepare_,              \
               .release = maker_release, .state_size = sizeof(struct maker), \
               .flags = TFD_KERNEL_SHARED)
#define MAKE_ALL(name_, prepare_)                              \
    MAKE(name_, HALF, prepare_), MAKE(name_, FLOAT, prepare_), \
        MAKE(name_, DOUBLE, prepare_)

static const struct tfd_kernel kernels[] = {
    MAKE_ALL("ConditionalAccumulator", dense_prepare),
    MAKE_ALL("ResourceConditionalAccumulator", dense_prepare),
    MAKE_ALL("SparseConditionalAccumulator", sparse_prepare),
    TFD_KERNEL_ANY("AccumulatorApplyGradient", apply_compute),
    TFD_KERNEL_ANY("ResourceAccumulatorApplyGradient", apply_compute),
    TFD_KERNEL_ANY("SparseAccumulatorApplyGradient", sparse_apply_compute,
                   .prepare = sparse_apply_prepare, .state_size = sizeof(bool)),
    TFD_KERNEL_ANY("AccumulatorTakeGradient", NULL, .start = take_start),
    TFD_KERNEL_ANY("ResourceAccumulatorTakeGradient", NULL,
                   .start = take_start),
    TFD_KERNEL_ANY("SparseAccumulatorTakeGradient", NULL,
                   .start = sparse_take_start),
    TFD_KERNEL_ANY("AccumulatorNumAccumulated", count_compute),
    TFD_KERNEL_ANY("ResourceAccumulatorNumAccumulated", count_compute),
    TFD_KERNEL_ANY("AccumulatorSetGlobalStep", set_step_compute),
    TFD_KERNEL_ANY("ResourceAccumulatorSetGlobalStep", set_step_compute),
};

const struct tfd_family tfd_family_accumulator = {
    .name = "accumulator",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
