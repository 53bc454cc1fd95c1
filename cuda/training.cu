/*
 * training.cu - variables that are updated on a GPU: AssignAdd, AssignSub of
 * kernels/variable.c and the Apply ops of kernels/training.c, whose formulas
 * these are.
 *
 * A value that others can still see is copied first, on the stream (variable.h
 * says why).  Scalars are the device's and are read by the kernels.
 */
#include "cuda/launch.cuh"

extern "C" {
#include "kernels/variable.h"
}

namespace
{

#define VARIABLES_MAX 3
#define SCALARS_MAX 6

/* ---- Variables ----------------------------------------------------------- */

/* The lock is held. */
static enum tfd_code writable(struct tfd_kctx *k, struct tfd_variable *v,
                              struct tfd_status *st)
{
    struct tfd_cuda_device *d = tfd_cuda_device_of(k->memory);
    struct tfd_tensor copy = TFD_TENSOR_INIT;
    enum tfd_code rc;

    if (!v->initialized)
        return tfd_fail(st, TFD_FAILED_PRECONDITION,
                        "Attempting to use uninitialized variables: %s",
                        v->name);
    if (!v->value.buffer || tfd_buffer_sole(v->value.buffer))
        return TFD_OK;
    TFD_TRY(tfd_tensor_new_in(&copy, k->memory, v->value.dtype, &v->value.shape,
                              st));
    rc = tfd_cuda_device_check(
        d,
        (int)cudaMemcpyAsync(copy.buffer->data, v->value.buffer->data,
                             tfd_tensor_size(&copy), cudaMemcpyDeviceToDevice,
                             stream_of(k)),
        "copy of a variable", st);
    if (rc != TFD_OK) {
        tfd_tensor_unref(&copy);
        return rc;
    }
    tfd_tensor_unref(&v->value);
    v->value = copy;
    return TFD_OK;
}

/* What runs under the locks of the first `count` inputs' variables. */
typedef enum tfd_code update_fn(struct tfd_kctx *k, struct tfd_variable **v,
                                struct tfd_status *st);

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

static enum tfd_code with_variables(struct tfd_kctx *k, int count,
                                    update_fn *update, struct tfd_status *st)
{
    struct tfd_variable *v[VARIABLES_MAX];
    int found;
    enum tfd_code rc = find_variables(k, count, v, &found, st);

    if (rc == TFD_OK) {
        tfd_variables_lock(v, found);
        rc = update(k, v, st);
        tfd_variables_unlock(v, found);
    }
    for (int i = rc == TFD_OK && k->out_count > 0; i < found; i++)
        tfd_resource_unref(&v[i]->resource);
    if (rc == TFD_OK && k->out_count > 0)
        k->ref_out[0] = v[0]; /* its count goes along */
    return rc;
}

/* ---- AssignAdd, AssignSub ------------------------------------------------ */

struct plus {
    template <typename T> __device__ T operator()(T a, T b) const
    {
        return narrow<T>(widen(a) + widen(b));
    }
};

struct minus {
    template <typename T> __device__ T operator()(T a, T b) const
    {
        return narrow<T>(widen(a) - widen(b));
    }
};

template <typename T, typename F>
static enum tfd_code assign_locked(struct tfd_kctx *k, struct tfd_variable **v,
                                   struct tfd_status *st)
{
    char have[TFD_SHAPE_TEXT_MAX], want[TFD_SHAPE_TEXT_MAX];
    const struct tfd_tensor *by = &k->in[1];
    T *to;

    if (v[0]->dtype != by->dtype)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Trying to assign variable with wrong dtype. Expected "
                        "%s got %s",
                        tfd_dtype_name((int)v[0]->dtype),
                        tfd_dtype_name((int)by->dtype));
    TFD_TRY(writable(k, v[0], st));
    if (!tfd_shape_equal(&v[0]->value.shape, &by->shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Cannot update variable with shape %s using a Tensor "
                        "with shape %s, shapes must be equal.",
                        tfd_shape_text(&v[0]->value.shape, want),
                        tfd_shape_text(&by->shape, have));
    to = (T *)tfd_tensor_data(&v[0]->value);
    return run_two(k, F(), (const T *)to, in_at<T>(k, 1), to,
                   tfd_tensor_elements(by), st);
}

template <typename T, typename F>
static enum tfd_code assign(struct tfd_kctx *k, struct tfd_status *st)
{
    return with_variables(k, 1, assign_locked<T, F>, st);
}

/* ---- Optimizers ---------------------------------------------------------- */

template <typename T> struct job {
    T *v[VARIABLES_MAX];
    const T *g;
    const T *s[SCALARS_MAX];
    bool option;
};

/* name, variables, roles of further inputs, bool attribute, formula on v, g, s;
 * as in kernels/training_loops.c */
#define OPTIMIZER(id, count, roles_, option_, body)                     \
    struct id {                                                         \
        static constexpr int variables = count;                         \
        static const char *roles()                                      \
        {                                                               \
            return roles_;                                              \
        }                                                               \
        static const char *attribute()                                  \
        {                                                               \
            return option_;                                             \
        }                                                               \
        template <typename C>                                           \
        __device__ static void step(C *v, C g, const C *s, bool option) \
        {                                                               \
            (void)option;                                               \
            body                                                        \
        }                                                               \
    };

OPTIMIZER(gradient_descent, 1, "sg", nullptr, v[0] -= s[0] * g;)

OPTIMIZER(momentum, 2, "sgs", "use_nesterov", v[1] = v[1] * s[1] + g;
          v[0] -= option ? g * s[0] + v[1] * s[1] * s[0] : v[1] * s[0];)

OPTIMIZER(adagrad, 2, "sg", "update_slots", if (option) v[1] += g * g;
          v[0] -= g * s[0] / sqrt(v[1]);)

OPTIMIZER(adam, 3, "ssssssg", "use_nesterov",
          C alpha = s[2] * sqrt((C)1 - s[1]) / ((C)1 - s[0]);
          v[1] += (g - v[1]) * ((C)1 - s[3]);
          v[2] += (g * g - v[2]) * ((C)1 - s[4]);
          v[0] -= (option ? g * ((C)1 - s[3]) + s[3] * v[1] : v[1]) * alpha /
                  (sqrt(v[2]) + s[5]);)

OPTIMIZER(rmsprop, 3, "ssssg", nullptr, v[1] += (g * g - v[1]) * ((C)1 - s[1]);
          v[2] = v[2] * s[2] + g * s[0] / sqrt(v[1] + s[3]); v[0] -= v[2];)

template <typename O, typename T>
__global__ void apply_all(struct job<T> j, int64_t n)
{
    wide<T> s[SCALARS_MAX];

#pragma unroll
    for (int i = 0; i < SCALARS_MAX; i++)
        s[i] = j.s[i] ? widen(*j.s[i]) : (wide<T>)0;
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        wide<T> v[VARIABLES_MAX];

#pragma unroll
        for (int a = 0; a < O::variables; a++)
            v[a] = widen(j.v[a][i]);
        O::step(v, widen(j.g[i]), s, j.option);
#pragma unroll
        for (int a = 0; a < O::variables; a++)
            j.v[a][i] = narrow<T>(v[a]);
    }
}

struct state {
    bool option;
};

template <typename O>
static enum tfd_code prepare(const struct tfd_prepare *p, void *state,
                             struct tfd_status *st)
{
    struct state *s = (struct state *)state;

    return O::attribute()
               ? tfd_node_bool(p->node, O::attribute(), &s->option, st)
               : TFD_OK;
}

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

static enum tfd_code check_variables(struct tfd_kctx *k,
                                     struct tfd_variable **v, int count,
                                     struct tfd_status *st)
{
    for (int i = 0; i < count; i++) {
        if (v[i]->dtype != k->kernel->dtype)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "variable %s is of type %s, the op of type %s",
                            v[i]->name, tfd_dtype_name((int)v[i]->dtype),
                            tfd_dtype_name((int)k->kernel->dtype));
        TFD_TRY(writable(k, v[i], st));
        TFD_TRY(same_shape(&v[0]->value.shape, &v[i]->value.shape,
                           "a slot variable", st));
    }
    return TFD_OK;
}

template <typename T>
static enum tfd_code read_inputs(const struct tfd_kctx *k, int first,
                                 const char *roles,
                                 const struct tfd_variable *var,
                                 struct job<T> *j, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    int scalars = 0;

    for (int in = first; *roles; in++, roles++) {
        const struct tfd_tensor *t = &k->in[in];

        if (*roles == 'g') {
            TFD_TRY(same_shape(&var->value.shape, &t->shape, "grad", st));
            j->g = (const T *)tfd_tensor_data(t);
        } else if (t->shape.rank != 0) {
            return tfd_fail(
                st, TFD_INVALID_ARGUMENT, "input %d of %s is not a scalar: %s",
                in, k->node->op->name.data, tfd_shape_text(&t->shape, text));
        } else {
            j->s[scalars++] = (const T *)tfd_tensor_data(t);
        }
    }
    return TFD_OK;
}

template <typename T, typename O>
static enum tfd_code apply_locked(struct tfd_kctx *k, struct tfd_variable **v,
                                  struct tfd_status *st)
{
    struct job<T> j = {
    };
    int64_t n;

    TFD_TRY(check_variables(k, v, O::variables, st));
    TFD_TRY(read_inputs(k, O::variables, O::roles(), v[0], &j, st));
    j.option = ((const struct state *)k->state)->option;
    for (int i = 0; i < O::variables; i++)
        j.v[i] = (T *)tfd_tensor_data(&v[i]->value);
    n = tfd_tensor_elements(&v[0]->value);
    if (n == 0)
        return TFD_OK;
    apply_all<O><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(j, n);
    return launched(k, st);
}

template <typename T, typename O>
static enum tfd_code apply(struct tfd_kctx *k, struct tfd_status *st)
{
    return with_variables(k, O::variables, apply_locked<T, O>, st);
}

/* ---- Rows ---------------------------------------------------------------- */

/* Handles are the host's; references have no memory. */
#define HANDLES(count) ((UINT32_C(1) << (count)) - 1)
#define APPLY(op, name, T, o)                               \
    row("Apply" op, TFD_##name, apply<T, o>, 0, prepare<o>, \
        sizeof(struct state)),                              \
        row("ResourceApply" op, TFD_##name, apply<T, o>,    \
            HANDLES(o::variables), prepare<o>, sizeof(struct state)),
#define ASSIGN(name, T)                                                       \
    row("AssignAdd", TFD_##name, assign<T, plus>),                            \
        row("AssignSub", TFD_##name, assign<T, minus>),                       \
        row("AssignAddVariableOp", TFD_##name, assign<T, plus>, HOST_ARG(0)), \
        row("AssignSubVariableOp", TFD_##name, assign<T, minus>, HOST_ARG(0)),
#define ROWS(name, T)                                   \
    ASSIGN(name, T)                                     \
    APPLY("GradientDescent", name, T, gradient_descent) \
    APPLY("Momentum", name, T, momentum)                \
    APPLY("Adagrad", name, T, adagrad)                  \
    APPLY("Adam", name, T, adam)                        \
    APPLY("RMSProp", name, T, rmsprop)

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROWS)
                                                ASSIGN(INT64, int64_t)};

} /* namespace */

CUDA_FAMILY_OF(training);
