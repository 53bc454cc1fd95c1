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
 *     then        scalars, the gradient and perhaps global_step, in the order
 *                 of the op, which `roles` says letter by letter
 *
 * Variables are locked in the order of their addresses whatever use_locking
 * says: updates are never torn (variable.h).
 */
#include "kernels/state/training.h"

#include "kernels/core/check.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/families.h"

#include <string.h>

/* Rows in the order of enum tfd_optimizer. */
static const struct tfd_training_optimizer optimizers[] = {
#define X(id, name, variables, roles, option) \
    [TFD_OPT_##id] = {name, variables, roles, option},
    TFD_OPTIMIZERS(X)
#undef X
};

/* ---- Preparing ----------------------------------------------------------- */

enum tfd_code tfd_training_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    const char *name = strstr(p->node->op->name.data, "Apply");
    struct tfd_training_state *s = state;

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

/* In TensorFlow's words, which show the variable's shape for that of mg. */
static enum tfd_code same_shape(const struct tfd_shape *a,
                                const struct tfd_shape *b, struct tfd_str what,
                                struct tfd_status *st)
{
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (tfd_shape_equal(a, b))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "var and " TFD_STR_FMT " do not have the same shape%s %s",
                    TFD_STR_ARG(what), tfd_shape_text(a, one),
                    tfd_shape_text(tfd_str_is(what, "mg") ? a : b, other));
}

enum tfd_code tfd_training_initialized(const struct tfd_variable *v,
                                       struct tfd_status *st)
{
    if (v->initialized)
        return TFD_OK;
    return tfd_fail(st, TFD_FAILED_PRECONDITION,
                    "Attempting to use uninitialized variables: %s", v->name);
}

enum tfd_code tfd_training_check_update(const struct tfd_kctx *k,
                                        const struct tfd_variable *v,
                                        struct tfd_status *st)
{
    char have[TFD_SHAPE_TEXT_MAX], want[TFD_SHAPE_TEXT_MAX];
    const struct tfd_tensor *by = &k->in[1];

    if (!tfd_shape_equal(&v->value.shape, &by->shape) && k->ref && k->ref[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Parameters and update must be the same size");
    if (!tfd_shape_equal(&v->value.shape, &by->shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Cannot update variable with shape %s using a Tensor "
                        "with shape %s, shapes must be equal.",
                        tfd_shape_text(&v->value.shape, want),
                        tfd_shape_text(&by->shape, have));
    if (v->dtype != by->dtype)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "DType of variable handle and value does not match.");
    return TFD_OK;
}

static enum tfd_code check_variables(struct tfd_kctx *k,
                                     struct tfd_variable *const *v, int count,
                                     const struct tfd_training_device *d,
                                     struct tfd_status *st)
{
    const enum tfd_dtype dtype = k->kernel->dtype;

    for (int i = 0; i < count; i++) {
        if (v[i]->dtype != dtype)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "variable %s is of type %s, the op of type %s",
                            v[i]->name, tfd_dtype_name((int)v[i]->dtype),
                            tfd_dtype_name((int)dtype));
        TFD_TRY(tfd_training_initialized(v[i], st));
        TFD_TRY(same_shape(&v[0]->value.shape, &v[i]->value.shape,
                           k->node->op->in[i].name, st));
        /* A slot may be the variable itself; then one copy serves both. */
        TFD_TRY(d->writable(k, v[i], st));
    }
    return TFD_OK;
}

/* How TensorFlow goes on behind the name of a number that is no scalar, for
 * those numbers where it is not " is not a scalar: ". */
static const struct {
    const char *formula, *number, *text;
} no_scalar_texts[] = {
    {"Adam", "lr", " is not a scalar : "},
    {"AdaMax", "lr", " is not a scalar : "},
    {"AdamWithAmsgrad", "lr", " is not a scalar : "},
    {"RMSProp", "lr", " is not a scalar : "},
    {"CenteredRMSProp", "lr", " is not a scalar : "},
    {"ProximalAdagrad", "lr", " is not a positive scalar: "},
    {"ProximalAdagrad", "l1",
     " regularization strength is not a non-negative scalar: "},
    {"ProximalAdagrad", "l2",
     " regularization strength is not a non-negative scalar: "},
    {"ProximalGradientDescent", "l1",
     " regularization strength is not a scalar: "},
    {"ProximalGradientDescent", "l2",
     " regularization strength is not a scalar: "},
    {"Ftrl", "l1", " regularization strength is not a scalar: "},
    {"Ftrl", "l2", " regularization strength is not a scalar: "},
    {"Ftrl", "lr_power", " is not a scalar"},
    {"FtrlV2", "l1", " regularization strength is not a scalar: "},
    {"FtrlV2", "l2", " regularization strength is not a scalar: "},
    {"FtrlV2", "lr_power", " is not a scalar"},
};

static const char *no_scalar_text(const struct tfd_kctx *k, int in)
{
    const struct tfd_training_state *s = k->state;
    const struct tfd_str name = k->node->op->in[in].name;

    for (size_t i = 0; !s->sparse && i < TFD_COUNT(no_scalar_texts); i++)
        if (strcmp(no_scalar_texts[i].formula, s->row->name) == 0 &&
            tfd_str_is(name, no_scalar_texts[i].number))
            return no_scalar_texts[i].text;
    return " is not a scalar: ";
}

static enum tfd_code read_scalar(const struct tfd_kctx *k, int in,
                                 struct tfd_training_job *job,
                                 struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    const struct tfd_tensor *t = &k->in[in];

    if (t->shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, TFD_STR_FMT "%s%s",
                        TFD_STR_ARG(k->node->op->in[in].name),
                        no_scalar_text(k, in), tfd_shape_text(&t->shape, text));
    job->scalar[job->scalar_count++] = tfd_tensor_data(t);
    return TFD_OK;
}

static enum tfd_code check_row_shapes(const struct tfd_tensor *indices,
                                      const struct tfd_shape *grad,
                                      const struct tfd_shape *var,
                                      struct tfd_status *st)
{
    if (var->rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "var must be at least 1 dimensional");
    if (indices->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "indices must be one-dimensional");
    if (grad->rank != var->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "var and grad must have the same number of dimensions");
    for (int i = 1; i < grad->rank; i++)
        if (grad->dim[i] != var->dim[i])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "var and grad must match in dimension %d", i);
    if (grad->dim[0] != indices->shape.dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "grad must be the same size as indices in the first "
                        "dimension.");
    return TFD_OK;
}

static enum tfd_code read_gradient(const struct tfd_kctx *k, int in,
                                   const struct tfd_variable *var,
                                   struct tfd_training_job *job,
                                   struct tfd_status *st)
{
    const struct tfd_training_state *s = k->state;
    const struct tfd_tensor *value = &var->value, *indices = &k->in[in + 1];
    struct tfd_training_rows *r = &job->rows;

    job->grad = tfd_tensor_data(&k->in[in]);
    if (!s->sparse)
        return same_shape(&value->shape, &k->in[in].shape,
                          k->node->op->in[in].name, st);
    TFD_TRY(check_row_shapes(indices, &k->in[in].shape, &value->shape, st));
    r->indices = indices;
    r->count = tfd_tensor_elements(indices);
    r->limit = value->shape.dim[0];
    r->width = r->limit ? tfd_tensor_elements(value) / r->limit : 0;
    return TFD_OK;
}

static enum tfd_code read_inputs(const struct tfd_kctx *k,
                                 const struct tfd_variable *var,
                                 struct tfd_training_job *job,
                                 struct tfd_status *st)
{
    const struct tfd_training_state *s = k->state;
    const char *role = s->row->roles;

    for (int in = s->row->variables; *role; in++, role++) {
        if (*role == 's') {
            TFD_TRY(read_scalar(k, in, job, st));
        } else if (*role == 'n') {
            TFD_TRY(tfd_check_int(k, in, &job->global_step, st));
        } else {
            TFD_TRY(read_gradient(k, in, var, job, st));
            in += s->sparse; /* indices */
        }
    }
    return TFD_OK;
}

/* ---- On any device ------------------------------------------------------- */

static enum tfd_code apply_locked(struct tfd_kctx *k,
                                  struct tfd_variable *const *v,
                                  const void *arg, struct tfd_status *st)
{
    const struct tfd_training_state *s = k->state;
    const struct tfd_training_device *d = arg;
    struct tfd_training_job job = {.option = s->option};

    TFD_TRY(check_variables(k, v, s->row->variables, d, st));
    TFD_TRY(read_inputs(k, v[0], &job, st));
    for (int i = 0; i < TFD_TRAIN_VARIABLES; i++)
        job.var[i] = tfd_tensor_data(&v[i < s->row->variables ? i : 0]->value);
    job.elements = tfd_tensor_elements(&v[0]->value);
    return d->run(k, &job, st);
}

static enum tfd_code find_variables(struct tfd_kctx *k, int count,
                                    struct tfd_variable **v, int *found,
                                    struct tfd_status *st)
{
    for (*found = 0; *found < count; (*found)++)
        TFD_TRY(tfd_kctx_variable(k, *found, &v[*found], st));
    return TFD_OK;
}

enum tfd_code tfd_training_locked(struct tfd_kctx *k, int count,
                                  tfd_training_update_fn *update,
                                  const void *arg, struct tfd_status *st)
{
    struct tfd_variable *v[TFD_TRAIN_VARIABLES] = {NULL};
    int found;
    enum tfd_code rc = find_variables(k, count, v, &found, st);

    if (rc == TFD_OK) {
        tfd_variables_lock(v, found);
        rc = update(k, v, arg, st);
        tfd_variables_unlock(v, found);
    }
    for (int i = rc == TFD_OK && k->out_count > 0; i < found; i++)
        tfd_resource_unref(&v[i]->resource);
    if (rc == TFD_OK && k->out_count > 0)
        k->ref_out[0] = v[0]; /* its count goes along */
    return rc;
}

/* A handle without a variable is INTERNAL in TensorFlow, with these words;
 * whose it was is ours. */
enum tfd_code tfd_training_apply(struct tfd_kctx *k,
                                 const struct tfd_training_device *d,
                                 struct tfd_status *st)
{
    const struct tfd_training_state *s = k->state;
    struct tfd_status why; /* kilobytes, of which most are never looked at */
    enum tfd_code rc;

    tfd_status_clear(&why);
    rc = tfd_training_locked(k, s->row->variables, apply_locked, d, &why);
    if (rc == TFD_NOT_FOUND)
        return tfd_fail(st, TFD_INTERNAL, "Invalid variable reference.");
    return rc == TFD_OK ? TFD_OK : tfd_status_copy(st, &why);
}

/* ---- On a CPU ------------------------------------------------------------ */

#define COST_NS 2 /* per element: a square root and three streams */

/* Neither roots nor powers: as quick as memory. */
static bool is_light(const struct tfd_training_optimizer *o)
{
    return o == &optimizers[TFD_OPT_GRADIENT_DESCENT] ||
           o == &optimizers[TFD_OPT_MOMENTUM] ||
           o == &optimizers[TFD_OPT_KERAS_MOMENTUM];
}

/* All elements; each variable is read and written. */
static void run_all(struct tfd_kctx *k, const struct tfd_training_job *job)
{
    const struct tfd_training_state *s = k->state;
    struct tfd_training_job loop = *job;

    if (is_light(s->row))
        tfd_elementwise_updates(k, k->kernel->dtype, s->row->variables,
                                job->elements, k->kernel->range, &loop);
    else
        tfd_kctx_parallel(k, job->elements, COST_NS, k->kernel->range, &loop);
}

static enum tfd_code fail_row(const struct tfd_kctx *k, int64_t at, int64_t row,
                              int64_t limit, struct tfd_status *st)
{
    const struct tfd_training_state *s = k->state;

    if (strcmp(s->row->name, "KerasMomentum") == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "indices[%lld] = %lld is not in [0, %lld)",
                        (long long)at, (long long)row, (long long)limit);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Index %lld at offset %lld in indices is out of range",
                    (long long)row, (long long)at);
}

static enum tfd_code check_row_indices(const struct tfd_kctx *k,
                                       const struct tfd_training_rows *r,
                                       struct tfd_status *st)
{
    for (int64_t i = 0; i < r->count; i++) {
        int64_t row = tfd_check_int_at(r->indices, i);

        if (row < 0 || row >= r->limit)
            return fail_row(k, i, row, r->limit, st);
    }
    return TFD_OK;
}

/* In their order: a row may come more than once. */
static void run_training_rows(const struct tfd_kctx *k,
                              const struct tfd_training_job *job)
{
    const struct tfd_training_rows *r = &job->rows;
    const size_t size = (size_t)r->width * tfd_dtype_size(k->kernel->dtype);

    for (int64_t i = 0; r->width && i < r->count; i++) {
        struct tfd_training_job one = *job;
        size_t row = (size_t)tfd_check_int_at(r->indices, i);

        for (int v = 0; v < TFD_TRAIN_VARIABLES; v++)
            one.var[v] = (char *)one.var[v] + row * size;
        one.grad = (const char *)one.grad + (size_t)i * size;
        k->kernel->range(&one, 0, r->width);
    }
}

static enum tfd_code run_cpu(struct tfd_kctx *k,
                             const struct tfd_training_job *job,
                             struct tfd_status *st)
{
    if (!job->rows.indices) {
        run_all(k, job);
        return TFD_OK;
    }
    TFD_TRY(check_row_indices(k, &job->rows, st));
    run_training_rows(k, job);
    return TFD_OK;
}

static enum tfd_code writable_cpu(struct tfd_kctx *k, struct tfd_variable *v,
                                  struct tfd_status *st)
{
    (void)k;
    return tfd_variable_writable(v, st);
}

static enum tfd_code apply_training(struct tfd_kctx *k, struct tfd_status *st)
{
    static const struct tfd_training_device cpu = {writable_cpu, run_cpu};

    return tfd_training_apply(k, &cpu, st);
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

#define DENSE_ONLY(X)                                                        \
    X("AdaMax", "var: Ref(T), m: Ref(T), v: Ref(T)",                         \
      "var: resource, m: resource, v: resource",                             \
      "beta1_power: T, lr: T, beta1: T, beta2: T, epsilon: T, ", "grad", "", \
      "")                                                                    \
    X("AddSign", "var: Ref(T), m: Ref(T)", "var: resource, m: resource",     \
      "lr: T, alpha: T, sign_decay: T, beta: T, ", "grad", "", "")           \
    X("PowerSign", "var: Ref(T), m: Ref(T)", "var: resource, m: resource",   \
      "lr: T, logbase: T, sign_decay: T, beta: T, ", "grad", "", "")         \
    X("Adam", "var: Ref(T), m: Ref(T), v: Ref(T)",                           \
      "var: resource, m: resource, v: resource",                             \
      "beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, "          \
      "epsilon: T, ",                                                        \
      "grad", "", "; use_nesterov: bool = false")                            \
    X("GradientDescent", "var: Ref(T)", "var: resource", "alpha: T, ",       \
      "delta", "", "")

#define LOCKING "; use_locking: bool = false"

#define BY_REFERENCE(name_, refs, rest, attributes) \
    {                                               \
        .name = name_,                              \
        .inputs = refs ", " rest,                   \
        .outputs = "out: Ref(T)",                   \
        .attrs = attributes,                        \
        .shape = var_shape,                         \
        .flags = TFD_OP_NO_GRADIENT,                \
    },
#define BY_HANDLE(name_, handles, rest, attributes)    \
    {                                                  \
        .name = name_,                                 \
        .inputs = handles ", " rest,                   \
        .outputs = "",                                 \
        .attrs = attributes,                           \
        .shape = var_shape,                            \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT, \
    },

#define PAIR(name, refs, handles, rest, attributes) \
    BY_REFERENCE(name, refs, rest, attributes)      \
    BY_HANDLE("Resource" name, handles, rest, attributes)

#define DENSE(name, refs, handles, before, grad, after, more)  \
    PAIR("Apply" name, refs, handles, before grad ": T" after, \
         "T: numbertype" LOCKING more)

#define SPARSE(name, refs, handles, before, grad, after, more) \
    PAIR("SparseApply" name, refs, handles,                    \
         before "grad: T, indices: Tindices" after,            \
         "T: numbertype; Tindices: {int32, int64}" LOCKING more)

#define SLOT "var: resource, accum: resource"
/* clang-format off */
static const struct tfd_opdef ops[] = {
    SPARSE_TOO(DENSE)
    SPARSE_TOO(SPARSE)
    DENSE_ONLY(DENSE)
    BY_HANDLE("ResourceApplyAdamWithAmsgrad",
              "var: resource, m: resource, v: resource, vhat: resource",
              "beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, "
              "epsilon: T, grad: T", "T: numbertype" LOCKING)
    BY_HANDLE("ResourceApplyKerasMomentum", SLOT,
              "lr: T, grad: T, momentum: T",
              "T: numbertype" LOCKING "; use_nesterov: bool = false")
    BY_HANDLE("ResourceSparseApplyKerasMomentum", SLOT,
              "lr: T, grad: T, indices: Tindices, momentum: T",
              "T: numbertype; Tindices: {int32, int64}" LOCKING
              "; use_nesterov: bool = false")
};
/* clang-format on */

#define ONE(op_, T, loop)                                                     \
    TFD_KERNEL(op_, T, apply_training, loop, .prepare = tfd_training_prepare, \
               .state_size = sizeof(struct tfd_training_state)),

#define ROW(op, T, loop) \
    ONE("Apply" op, T, loop) ONE("ResourceApply" op, T, loop)

#define SPARSE_ROW(op, T, loop) \
    ONE("SparseApply" op, T, loop) ONE("ResourceSparseApply" op, T, loop)

#define HANDLE_ROW(op, T, loop) ONE("ResourceApply" op, T, loop)
#define SPARSE_HANDLE_ROW(op, T, loop) ONE("ResourceSparseApply" op, T, loop)

/* By the loops there are; WITH is ROW or SPARSE_ROW. */
#define REAL_ROWS(WITH, op, id)                \
    WITH(op, FLOAT, tfd_training_##id##_float) \
    WITH(op, DOUBLE, tfd_training_##id##_double)

#define HALF_ROWS(WITH, op, id)              \
    REAL_ROWS(WITH, op, id)                  \
    WITH(op, HALF, tfd_training_##id##_half) \
    WITH(op, BFLOAT16, tfd_training_##id##_bfloat16)

#define COMPLEX_ROWS(WITH, op, id)                     \
    WITH(op, COMPLEX64, tfd_training_##id##_complex64) \
    WITH(op, COMPLEX128, tfd_training_##id##_complex128)

#define ALL_ROWS(WITH, op, id) \
    HALF_ROWS(WITH, op, id)    \
    COMPLEX_ROWS(WITH, op, id)

/* TensorFlow has these for every type but bfloat16. */
#define UNUSUAL_ROWS(op, id)                       \
    REAL_ROWS(SPARSE_ROW, op, id)                  \
    SPARSE_ROW(op, HALF, tfd_training_##id##_half) \
    COMPLEX_ROWS(SPARSE_ROW, op, id)

#define BOTH(ROWS, op, id) ROWS(ROW, op, id) ROWS(SPARSE_ROW, op, id)

/* clang-format off */
static const struct tfd_kernel kernels[] = {
    BOTH(ALL_ROWS, "Adadelta", ADADELTA)
    BOTH(ALL_ROWS, "Adagrad", ADAGRAD)
    BOTH(ALL_ROWS, "AdagradV2", ADAGRAD_V2)
    HALF_ROWS(ROW, "AdaMax", ADA_MAX)
    ALL_ROWS(ROW, "Adam", ADAM)
    HALF_ROWS(HANDLE_ROW, "AdamWithAmsgrad", ADAM_AMSGRAD)
    HALF_ROWS(ROW, "AddSign", ADD_SIGN)
    ALL_ROWS(ROW, "CenteredRMSProp", CENTERED_RMSPROP)
    UNUSUAL_ROWS("CenteredRMSProp", CENTERED_RMSPROP)
    ALL_ROWS(ROW, "GradientDescent", GRADIENT_DESCENT)
    ALL_ROWS(HANDLE_ROW, "KerasMomentum", KERAS_MOMENTUM)
    ALL_ROWS(SPARSE_HANDLE_ROW, "KerasMomentum", KERAS_MOMENTUM)
    BOTH(ALL_ROWS, "Momentum", MOMENTUM)
    HALF_ROWS(ROW, "PowerSign", POWER_SIGN)
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
