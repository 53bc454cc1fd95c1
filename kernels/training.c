/*
 * training.c - the Apply ops of optimizers: definitions, and the one kernel
 * that finds, locks and checks variables; what each optimizer computes is in
 * training_loops.c.
 *
 * Apply<X> takes references, ResourceApply<X> handles; otherwise they are the
 * same op, so one row of `optimizers` serves both:
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
};

/* ---- Preparing ----------------------------------------------------------- */

static enum tfd_code prepare(const struct tfd_prepare *p, void *state,
                             struct tfd_status *st)
{
    const char *name = strstr(p->node->op->name.data, "Apply");
    struct state *s = state;

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

static enum tfd_code read_inputs(const struct tfd_kctx *k,
                                 const struct state *s,
                                 const struct tfd_variable *var,
                                 struct tfd_train_job *job,
                                 struct tfd_status *st)
{
    const char *roles = s->row->roles;

    for (int i = 0; roles[i]; i++) {
        int in = s->row->variables + i;

        if (roles[i] == 's') {
            TFD_TRY(read_scalar(k, in, job, st));
        } else if (roles[i] == 'n') {
            TFD_TRY(tfd_check_int(k, in, &job->global_step, st));
        } else {
            TFD_TRY(
                same_shape(&var->value.shape, &k->in[in].shape, "grad", st));
            job->grad = tfd_tensor_data(&k->in[in]);
        }
    }
    return TFD_OK;
}

/* ---- Running ------------------------------------------------------------- */

#define COST_NS 2 /* per element: a square root and three streams */

static enum tfd_code apply_locked(struct tfd_kctx *k,
                                  struct tfd_variable *const *v,
                                  struct tfd_status *st)
{
    const struct state *s = k->state;
    struct tfd_train_job job = {.option = s->option};

    TFD_TRY(check_variables(v, s->row->variables, k->kernel->dtype, st));
    TFD_TRY(read_inputs(k, s, v[0], &job, st));
    for (int i = 0; i < VARIABLES_MAX; i++)
        job.var[i] = tfd_tensor_data(&v[i < s->row->variables ? i : 0]->value);
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

/* name, reference inputs, handle inputs, the rest, further attributes */
#define OPS(X)                                                                 \
    X("Adadelta", "var: Ref(T), accum: Ref(T), accum_update: Ref(T)",          \
      "var: resource, accum: resource, accum_update: resource",                \
      "lr: T, rho: T, epsilon: T, grad: T", "")                                \
    X("Adagrad", "var: Ref(T), accum: Ref(T)",                                 \
      "var: resource, accum: resource", "lr: T, grad: T",                      \
      "; update_slots: bool = true")                                           \
    X("AdagradV2", "var: Ref(T), accum: Ref(T)",                               \
      "var: resource, accum: resource", "lr: T, epsilon: T, grad: T",          \
      "; update_slots: bool = true")                                           \
    X("AdagradDA",                                                             \
      "var: Ref(T), gradient_accumulator: Ref(T), "                            \
      "gradient_squared_accumulator: Ref(T)",                                  \
      "var: resource, gradient_accumulator: resource, "                        \
      "gradient_squared_accumulator: resource",                                \
      "grad: T, lr: T, l1: T, l2: T, global_step: int64", "")                  \
    X("Adam", "var: Ref(T), m: Ref(T), v: Ref(T)",                             \
      "var: resource, m: resource, v: resource",                               \
      "beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, "            \
      "epsilon: T, grad: T",                                                   \
      "; use_nesterov: bool = false")                                          \
    X("CenteredRMSProp", "var: Ref(T), mg: Ref(T), ms: Ref(T), mom: Ref(T)",   \
      "var: resource, mg: resource, ms: resource, mom: resource",              \
      "lr: T, rho: T, momentum: T, epsilon: T, grad: T", "")                   \
    X("Ftrl", "var: Ref(T), accum: Ref(T), linear: Ref(T)",                    \
      "var: resource, accum: resource, linear: resource",                      \
      "grad: T, lr: T, l1: T, l2: T, lr_power: T",                             \
      "; multiply_linear_by_lr: bool = false")                                 \
    X("FtrlV2", "var: Ref(T), accum: Ref(T), linear: Ref(T)",                  \
      "var: resource, accum: resource, linear: resource",                      \
      "grad: T, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T",            \
      "; multiply_linear_by_lr: bool = false")                                 \
    X("GradientDescent", "var: Ref(T)", "var: resource", "alpha: T, delta: T", \
      "")                                                                      \
    X("Momentum", "var: Ref(T), accum: Ref(T)",                                \
      "var: resource, accum: resource", "lr: T, grad: T, momentum: T",         \
      "; use_nesterov: bool = false")                                          \
    X("ProximalAdagrad", "var: Ref(T), accum: Ref(T)",                         \
      "var: resource, accum: resource", "lr: T, l1: T, l2: T, grad: T", "")    \
    X("ProximalGradientDescent", "var: Ref(T)", "var: resource",               \
      "alpha: T, l1: T, l2: T, delta: T", "")                                  \
    X("RMSProp", "var: Ref(T), ms: Ref(T), mom: Ref(T)",                       \
      "var: resource, ms: resource, mom: resource",                            \
      "lr: T, rho: T, momentum: T, epsilon: T, grad: T", "")

#define ATTRS "T: numbertype; use_locking: bool = false"

#define DEFINE(name_, refs, handles, rest, more)           \
    {                                                      \
        .name = "Apply" name_,                             \
        .inputs = refs ", " rest,                          \
        .outputs = "out: Ref(T)",                          \
        .attrs = ATTRS more,                               \
        .shape = var_shape,                                \
        .flags = TFD_OP_NO_GRADIENT,                       \
    },                                                     \
        {                                                  \
            .name = "ResourceApply" name_,                 \
            .inputs = handles ", " rest,                   \
            .outputs = "",                                 \
            .attrs = ATTRS more,                           \
            .shape = var_shape,                            \
            .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT, \
        },

static const struct tfd_opdef ops[] = {OPS(DEFINE)};

#define ROW(op_, T, loop)                                                   \
    TFD_KERNEL("Apply" op_, T, apply, loop, .prepare = prepare,             \
               .state_size = sizeof(struct state)),                         \
        TFD_KERNEL("ResourceApply" op_, T, apply, loop, .prepare = prepare, \
                   .state_size = sizeof(struct state)),

#define REAL_ROWS(op, id)                  \
    ROW(op, FLOAT, tfd_train_##id##_float) \
    ROW(op, DOUBLE, tfd_train_##id##_double)

#define HALF_ROWS(op, id)                \
    REAL_ROWS(op, id)                    \
    ROW(op, HALF, tfd_train_##id##_half) \
    ROW(op, BFLOAT16, tfd_train_##id##_bfloat16)

#define ALL_ROWS(op, id)                           \
    HALF_ROWS(op, id)                              \
    ROW(op, COMPLEX64, tfd_train_##id##_complex64) \
    ROW(op, COMPLEX128, tfd_train_##id##_complex128)

static const struct tfd_kernel kernels[] = {
    ALL_ROWS("Adadelta", ADADELTA) ALL_ROWS("Adagrad", ADAGRAD)
        ALL_ROWS("AdagradV2", ADAGRAD_V2) ALL_ROWS("Adam", ADAM)
            ALL_ROWS("CenteredRMSProp", CENTERED_RMSPROP)
                ALL_ROWS("GradientDescent", GRADIENT_DESCENT)
                    ALL_ROWS("Momentum", MOMENTUM) ALL_ROWS("RMSProp", RMSPROP)
                        HALF_ROWS("Ftrl", FTRL) HALF_ROWS("FtrlV2", FTRL_V2)
                            REAL_ROWS("AdagradDA", ADAGRAD_DA)
                                REAL_ROWS("ProximalAdagrad", PROXIMAL_ADAGRAD)
                                    REAL_ROWS("ProximalGradientDescent",
                                              PROXIMAL_GRADIENT_DESCENT)};

const struct tfd_family tfd_family_training = {
    .name = "training",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
