/*
 * training.c - the Apply ops of optimizers: definitions, and the one kernel
 * that finds, locks and checks variables; what each optimizer computes is in
 * training_loops.c.
 *
 * Apply<X> takes references, ResourceApply<X> handles; SparseApply<X> and
 * ResourceSparseApply<X> have a gradient for some rows only, whose numbers
 * follow it, and take one row after the other by the same loop.  Otherwise they
 * are the same op, so one row of `optimizers` serves all:
 *
 *     variables   the first inputs: var, then its slots
 *     then        scalars, the gradient and perhaps global_step, in the op's
 * own order, which `roles` says letter by letter
 *
 * Variables are locked in the order of their addresses whatever use_locking
 * says: updates are never torn (variable.h).
 */
#include "kernels/training.h"

#include "kernels/check.h"
#include "kernels/families.h"

#include <string.h>

#define VARIABLES_MAX 4

struct optimizer {
    const char *name; /* without Apply */
    int variables;
    /* Inputs after the variables: 's' scalar, 'g' gradient, 'n' global_step. */
    const char *roles;
    const char *option; /* a bool attribute handed to the loop, or NULL */
};

/* Rows in the order of enum tfd_optimizer. */
static const struct optimizer optimizers[] = {
#define X(id, name, variables, roles, option) \
    [TFD_OPT_##id] = {name, variables, roles, option},
    TFD_OPTIMIZERS(X)
#undef X
};

struct state {
    const struct optimizer *row;
    bool option;
    bool sparse;
};

/* ---- Preparing ----------------------------------------------------------- */

static enum tfd_code prepare(const struct tfd_prepare *p, void *state,
                             struct tfd_status *st)
{
    const char *name = strstr(p->node->op->name.data, "Apply");
    struct state *s = state;

    s->sparse = strstr(p->node->op->name.data, "Sparse") != NULL;
    for (int i = 0; i < TFD_COUNT(optimizers); i++)
        if (strcmp(name + strlen("Apply"), optimizers[i].name) == 0)
            s->row = &optimizers[i];
    if (!s->row)
        return tfd_fail(st, TFD_INTERNAL, "no optimizer behind op %s",
                        p->node->op->name.data);
    if (s->row->option)
        return tfd_node_bool(p->node, s->row->option, &s->option, st);
    return TFD_OK;
}

/* ---- Checking ------------------------------------------------------------ */

static enum tfd_code same_shape(const struct tfd_shape *a,
                                const struct tfd_shape *b, const char *what,
                                struct tfd_status *st)
{
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (tfd_shape_equal(a, b))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "var and %s do not have the same shape%s %s", what,
                    tfd_shape_text(a, one), tfd_shape_text(b, other));
}

static enum tfd_code check_variables(struct tfd_variable *const *v, int count,
                                     enum tfd_dtype dtype,
                                     struct tfd_status *st)
{
    for (int i = 0; i < count; i++) {
        if (v[i]->dtype != dtype)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "variable %s is of type %s, the op of type %s",
                            v[i]->name, tfd_dtype_name((int)v[i]->dtype),
                            tfd_dtype_name((int)dtype));
        if (!v[i]->initialized)
            return tfd_fail(st, TFD_FAILED_PRECONDITION,
                            "Attempting to use uninitialized variables: %s",
                            v[i]->name);
        TFD_TRY(same_shape(&v[0]->value.shape, &v[i]->value.shape,
                           "a slot variable", st));
        /* A slot may be the variable itself; then one copy serves both. */
        TFD_TRY(tfd_variable_writable(v[i], st));
    }
    return TFD_OK;
}

static enum tfd_code read_scalar(const struct tfd_kctx *k, int in,
                                 struct tfd_train_job *job,
                                 struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    const struct tfd_tensor *t = &k->in[in];

    if (t->shape.rank != 0)
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT, "input %d of %s is not a scalar: %s", in,
            k->node->op->name.data, tfd_shape_text(&t->shape, text));
    memcpy(job->scalar[job->scalar_count++], tfd_tensor_data(t),
           tfd_dtype_size(t->dtype));
    return TFD_OK;
}

/* The rows that a sparse update is for. */
struct rows {
    const struct tfd_tensor *indices, *grad;
    int64_t limit; /* rows of the variable */
    int64_t width; /* elements of one */
};

static int64_t index_at(const struct rows *r, int64_t i)
{
    const void *data = tfd_tensor_data(r->indices);

    return r->indices->dtype == TFD_INT32 ? ((const int32_t *)data)[i]
                                          : ((const int64_t *)data)[i];
}

static enum tfd_code check_row_shapes(const struct rows *r,
                                      const struct tfd_shape *var,
                                      struct tfd_status *st)
{
    const struct tfd_shape *grad = &r->grad->shape;

    if (var->rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "var must be at least 1 dimensional");
    if (r->indices->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "indices must be one-dimensional");
    if (grad->rank != var->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "var and grad must have the same number of dimensions");
    for (int i = 1; i < grad->rank; i++)
        if (grad->dim[i] != var->dim[i])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "var and grad must match in dimension %d", i);
    if (grad->dim[0] != r->indices->shape.dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "grad must be the same size as indices in the first "
                        "dimension.");
    return TFD_OK;
}

/* All before anything is changed. */
static enum tfd_code check_rows(const struct tfd_kctx *k, int grad,
                                const struct tfd_variable *var, struct rows *r,
                                struct tfd_status *st)
{
    int64_t count;

    r->grad = &k->in[grad];
    r->indices = &k->in[grad + 1];
    TFD_TRY(check_row_shapes(r, &var->value.shape, st));
    r->limit = var->value.shape.dim[0];
    r->width = r->limit ? tfd_tensor_elements(&var->value) / r->limit : 0;
    count = tfd_tensor_elements(r->indices);
    for (int64_t i = 0; i < count; i++)
        if (index_at(r, i) < 0 || index_at(r, i) >= r->limit)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Index %lld at offset %lld in indices is out of "
                            "range",
                            (long long)index_at(r, i), (long long)i);
    return TFD_OK;
}

static enum tfd_code read_gradient(const struct tfd_kctx *k, int in,
                                   const struct tfd_variable *var,
                                   struct tfd_train_job *job, struct rows *r,
                                   struct tfd_status *st)
{
    const struct state *s = k->state;

    if (s->sparse)
        TFD_TRY(check_rows(k, in, var, r, st));
    else
        TFD_TRY(same_shape(&var->value.shape, &k->in[in].shape, "grad", st));
    job->grad = tfd_tensor_data(&k->in[in]);
    return TFD_OK;
}

static enum tfd_code read_inputs(const struct tfd_kctx *k,
                                 const struct tfd_variable *var,
                                 struct tfd_train_job *job, struct rows *r,
                                 struct tfd_status *st)
{
    const struct state *s = k->state;
    const char *role = s->row->roles;

    for (int in = s->row->variables; *role; in++, role++) {
        if (*role == 's') {
            TFD_TRY(read_scalar(k, in, job, st));
        } else if (*role == 'n') {
            TFD_TRY(tfd_check_int(k, in, &job->global_step, st));
        } else {
            TFD_TRY(read_gradient(k, in, var, job, r, st));
            in += s->sparse; /* indices */
        }
    }
    return TFD_OK;
}

/* ---- Running ------------------------------------------------------------- */

#define COST_NS 2 /* per element: a square root and three streams */

/* In their order: a row may come more than once. */
static void apply_rows(const struct tfd_kctx *k, const struct rows *r,
                       const struct tfd_train_job *whole)
{
    const size_t row = (size_t)r->width * tfd_dtype_size(k->kernel->dtype);
    const int64_t count = tfd_tensor_elements(r->indices);

    for (int64_t i = 0; r->width && i < count; i++) {
        struct tfd_train_job job = *whole;

        for (int v = 0; v < VARIABLES_MAX; v++)
            job.var[v] = (char *)job.var[v] + (size_t)index_at(r, i) * row;
        job.grad = (const char *)job.grad + (size_t)i * row;
        k->kernel->range(&job, 0, r->width);
    }
}

static enum tfd_code apply_locked(struct tfd_kctx *k,
                                  struct tfd_variable *const *v,
                                  struct tfd_status *st)
{
    const struct state *s = k->state;
    struct tfd_train_job job = {.option = s->option};
    struct rows rows = {.width = 0};

    TFD_TRY(check_variables(v, s->row->variables, k->kernel->dtype, st));
    TFD_TRY(read_inputs(k, v[0], &job, &rows, st));
    for (int i = 0; i < VARIABLES_MAX; i++)
        job.var[i] = tfd_tensor_data(&v[i < s->row->variables ? i : 0]->value);
    if (s->sparse)
        apply_rows(k, &rows, &job);
    else
        tfd_kctx_parallel(k, tfd_tensor_elements(&v[0]->value), COST_NS,
                          k->kernel->range, &job);
    return TFD_OK;
}

/* A handle without a variable is INTERNAL in TensorFlow, with these words;
 * whose it was is ours. */
static enum tfd_code find_variables(struct tfd_kctx *k, int count,
                                    struct tfd_variable **v, int *found,
                                    struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;

    for (*found = 0; *found < count; (*found)++) {
        if (tfd_kctx_variable(k, *found, &v[*found], &why) == TFD_OK)
            continue;
        if (why.code == TFD_NOT_FOUND)
            return tfd_fail(st, TFD_INTERNAL,
                            "Invalid variable reference. (%s)", why.text);
        return tfd_status_copy(st, &why);
    }
    return TFD_OK;
}

static enum tfd_code apply(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct state *s = k->state;
    struct tfd_variable *v[VARIABLES_MAX];
    int found;
    enum tfd_code rc = find_variables(k, s->row->variables, v, &found, st);

    if (rc == TFD_OK) {
        tfd_variables_lock(v, found);
        rc = apply_locked(k, v, st);
        tfd_variables_unlock(v, found);
    }
    for (int i = rc == TFD_OK && k->out_count > 0; i < found; i++)
        tfd_resource_unref(&v[i]->resource);
    if (rc == TFD_OK && k->out_count > 0)
        k->ref_out[0] = v[0]; /* its count goes along */
    return rc;
}

/* ---- Definitions --------------------------------------------------------- */

static enum tfd_code var_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    if (s->out_count > 0)
        s->out[0] = s->in[0];
    return TFD_OK;
}

/* name, reference inputs, handle inputs, what is before the gradient, after it,
 * further attributes; the sparse forms of the gradient's name are "grad". */
#define SPARSE_TOO(X)                                                        \
    X("Adadelta", "var: Ref(T), accum: Ref(T), accum_update: Ref(T)",        \
      "var: resource, accum: resource, accum_update: resource",              \
      "lr: T, rho: T, epsilon: T, ", "grad", "", "")                         \
    X("Adagrad", "var: Ref(T), accum: Ref(T)",                               \
      "var: resource, accum: resource", "lr: T, ", "grad", "",               \
      "; update_slots: bool = true")                                         \
    X("AdagradV2", "var: Ref(T), accum: Ref(T)",                             \
      "var: resource, accum: resource", "lr: T, epsilon: T, ", "grad", "",   \
      "; update_slots: bool = true")                                         \
    X("AdagradDA",                                                           \
      "var: Ref(T), gradient_accumulator: Ref(T), "                          \
      "gradient_squared_accumulator: Ref(T)",                                \
      "var: resource, gradient_accumulator: resource, "                      \
      "gradient_squared_accumulator: resource",                              \
      "", "grad", ", lr: T, l1: T, l2: T, global_step: int64", "")           \
    X("CenteredRMSProp", "var: Ref(T), mg: Ref(T), ms: Ref(T), mom: Ref(T)", \
      "var: resource, mg: resource, ms: resource, mom: resource",            \
      "lr: T, rho: T, momentum: T, epsilon: T, ", "grad", "", "")            \
    X("Ftrl", "var: Ref(T), accum: Ref(T), linear: Ref(T)",                  \
      "var: resource, accum: resource, linear: resource", "", "grad",        \
      ", lr: T, l1: T, l2: T, lr_power: T",                                  \
      "; multiply_linear_by_lr: bool = false")                               \
    X("FtrlV2", "var: Ref(T), accum: Ref(T), linear: Ref(T)",                \
      "var: resource, accum: resource, linear: resource", "", "grad",        \
      ", lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T",                 \
      "; multiply_linear_by_lr: bool = false")                               \
    X("Momentum", "var: Ref(T), accum: Ref(T)",                              \
      "var: resource, accum: resource", "lr: T, ", "grad", ", momentum: T",  \
      "; use_nesterov: bool = false")                                        \
    X("ProximalAdagrad", "var: Ref(T), accum: Ref(T)",                       \
      "var: resource, accum: resource", "lr: T, l1: T, l2: T, ", "grad", "", \
      "")                                                                    \
    X("ProximalGradientDescent", "var: Ref(T)", "var: resource",             \
      "alpha: T, l1: T, l2: T, ", "delta", "", "")                           \
    X("RMSProp", "var: Ref(T), ms: Ref(T), mom: Ref(T)",                     \
      "var: resource, ms: resource, mom: resource",                          \
      "lr: T, rho: T, momentum: T, epsilon: T, ", "grad", "", "")

#define DENSE_ONLY(X)                                                  \
    X("Adam", "var: Ref(T), m: Ref(T), v: Ref(T)",                     \
      "var: resource, m: resource, v: resource",                       \
      "beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, "    \
      "epsilon: T, ",                                                  \
      "grad", "", "; use_nesterov: bool = false")                      \
    X("GradientDescent", "var: Ref(T)", "var: resource", "alpha: T, ", \
      "delta", "", "")

#define LOCKING "; use_locking: bool = false"

#define PAIR(name_, refs, handles, rest, attributes)       \
    {                                                      \
        .name = name_,                                     \
        .inputs = refs ", " rest,                          \
        .outputs = "out: Ref(T)",                          \
        .attrs = attributes,                               \
        .shape = var_shape,                                \
        .flags = TFD_OP_NO_GRADIENT,                       \
    },                                                     \
        {                                                  \
            .name = "Resource" name_,                      \
            .inputs = handles ", " rest,                   \
            .outputs = "",                                 \
            .attrs = attributes,                           \
            .shape = var_shape,                            \
            .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT, \
        },

#define DENSE(name, refs, handles, before, grad, after, more)  \
    PAIR("Apply" name, refs, handles, before grad ": T" after, \
         "T: numbertype" LOCKING more)

#define SPARSE(name, refs, handles, before, grad, after, more) \
    PAIR("SparseApply" name, refs, handles,                    \
         before "grad: T, indices: Tindices" after,            \
         "T: numbertype; Tindices: {int32, int64}" LOCKING more)

static const struct tfd_opdef ops[] = {SPARSE_TOO(DENSE) SPARSE_TOO(SPARSE)
                                           DENSE_ONLY(DENSE)};

#define ONE(op_, T, loop)                               \
    TFD_KERNEL(op_, T, apply, loop, .prepare = prepare, \
               .state_size = sizeof(struct state)),

#define ROW(op, T, loop) \
    ONE("Apply" op, T, loop) ONE("ResourceApply" op, T, loop)

#define SPARSE_ROW(op, T, loop) \
    ONE("SparseApply" op, T, loop) ONE("ResourceSparseApply" op, T, loop)

/* By the loops there are; WITH is ROW or SPARSE_ROW. */
#define REAL_ROWS(WITH, op, id)             \
    WITH(op, FLOAT, tfd_train_##id##_float) \
    WITH(op, DOUBLE, tfd_train_##id##_double)

#define HALF_ROWS(WITH, op, id)           \
    REAL_ROWS(WITH, op, id)               \
    WITH(op, HALF, tfd_train_##id##_half) \
    WITH(op, BFLOAT16, tfd_train_##id##_bfloat16)

#define COMPLEX_ROWS(WITH, op, id)                  \
    WITH(op, COMPLEX64, tfd_train_##id##_complex64) \
    WITH(op, COMPLEX128, tfd_train_##id##_complex128)

#define ALL_ROWS(WITH, op, id) \
    HALF_ROWS(WITH, op, id)    \
    COMPLEX_ROWS(WITH, op, id)

/* TensorFlow has these for every type but bfloat16. */
#define UNUSUAL_ROWS(op, id)                    \
    REAL_ROWS(SPARSE_ROW, op, id)               \
    SPARSE_ROW(op, HALF, tfd_train_##id##_half) \
    COMPLEX_ROWS(SPARSE_ROW, op, id)

#define BOTH(ROWS, op, id) ROWS(ROW, op, id) ROWS(SPARSE_ROW, op, id)

/* clang-format off */
static const struct tfd_kernel kernels[] = {
    BOTH(ALL_ROWS, "Adadelta", ADADELTA)
    BOTH(ALL_ROWS, "Adagrad", ADAGRAD)
    BOTH(ALL_ROWS, "AdagradV2", ADAGRAD_V2)
    ALL_ROWS(ROW, "Adam", ADAM)
    ALL_ROWS(ROW, "CenteredRMSProp", CENTERED_RMSPROP)
    UNUSUAL_ROWS("CenteredRMSProp", CENTERED_RMSPROP)
    ALL_ROWS(ROW, "GradientDescent", GRADIENT_DESCENT)
    BOTH(ALL_ROWS, "Momentum", MOMENTUM)
    ALL_ROWS(ROW, "RMSProp", RMSPROP)
    UNUSUAL_ROWS("RMSProp", RMSPROP)
    BOTH(HALF_ROWS, "Ftrl", FTRL)
    BOTH(HALF_ROWS, "FtrlV2", FTRL_V2)
    BOTH(REAL_ROWS, "AdagradDA", ADAGRAD_DA)
    BOTH(REAL_ROWS, "ProximalAdagrad", PROXIMAL_ADAGRAD)
    BOTH(REAL_ROWS, "ProximalGradientDescent", PROXIMAL_GRADIENT_DESCENT)
};
/* clang-format on */

const struct tfd_family tfd_family_training = {
    .name = "training",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
