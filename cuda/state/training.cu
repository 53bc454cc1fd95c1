/*
 * training.cu - variables that are updated on a GPU: AssignAdd, AssignSub of
 * kernels/state/assign.c and the Apply ops of kernels/state/training.c.
 */
#include "cuda/lib/complex.cuh"
#include "cuda/state/training.cuh"

namespace
{

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
static enum tfd_code assign_locked(struct tfd_kctx *k,
                                   struct tfd_variable *const *v, const void *,
                                   struct tfd_status *st)
{
    const struct tfd_tensor *by = &k->in[1];
    T *to;

    TFD_TRY(tfd_training_initialized(v[0], st));
    TFD_TRY(tfd_training_check_update(k, v[0], st));
    TFD_TRY(writable(k, v[0], st));
    to = (T *)tfd_tensor_data(&v[0]->value);
    return run_two(k, F(), (const T *)to, in_at<T>(k, 1), to,
                   tfd_tensor_elements(by), st);
}

template <typename T, typename F>
static enum tfd_code assign(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_training_locked(k, 1, assign_locked<T, F>, nullptr, st);
}

/* ---- Optimizers ---------------------------------------------------------- */

CUDA_OPTIMIZER(ADADELTA, 3)
CUDA_OPTIMIZER(ADAGRAD, 2)
CUDA_OPTIMIZER(ADAGRAD_V2, 2)
CUDA_OPTIMIZER(ADA_MAX, 3)
CUDA_OPTIMIZER(ADAM, 3)
CUDA_OPTIMIZER(ADAM_AMSGRAD, 4)
CUDA_OPTIMIZER(ADD_SIGN, 2)
CUDA_OPTIMIZER(CENTERED_RMSPROP, 4)
CUDA_OPTIMIZER(FTRL, 3)
CUDA_OPTIMIZER(FTRL_V2, 3)
CUDA_OPTIMIZER(GRADIENT_DESCENT, 1)
CUDA_OPTIMIZER(KERAS_MOMENTUM, 2)
CUDA_OPTIMIZER(MOMENTUM, 2)
CUDA_OPTIMIZER(POWER_SIGN, 2)
CUDA_OPTIMIZER(PROXIMAL_ADAGRAD, 2)
CUDA_OPTIMIZER(RMSPROP, 3)

template <int N, typename O, typename T>
__global__ void apply_all(struct cuda_train<T> j, int64_t n)
{
    wide<T> s[TFD_TRAIN_SCALARS];

    cuda_train_scalars(j, s);
    for (int64_t i = thread_index(); i < n / N; i += thread_count())
        cuda_train_step<O, N>(j, s, i * N, i * N);
    for (int64_t i = n / N * N + thread_index(); i < n; i += thread_count())
        cuda_train_step<O, 1>(j, s, i, i);
}

template <typename T, typename O>
static enum tfd_code run_training(struct tfd_kctx *k, const struct tfd_training_job *job,
                         struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();
    const int64_t n = job->elements;

    if (n == 0)
        return TFD_OK;
    if (cuda_train_aligned(job))
        apply_all<N, O>
            <<<blocks_for(k, (n + N - 1) / N), THREADS, 0, stream_of(k)>>>(
                cuda_train_of<T>(job), n);
    else
        apply_all<1, O><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            cuda_train_of<T>(job), n);
    return launched(k, st);
}

template <typename T, typename O>
static enum tfd_code apply(struct tfd_kctx *k, struct tfd_status *st)
{
    static const struct tfd_training_device device = {writable, run_training<T, O>};

    return tfd_training_apply(k, &device, st);
}

/* ---- Rows ---------------------------------------------------------------- */

#define HANDLE(op, name, T, o)                              \
    CUDA_TRAIN_ROW("ResourceApply" op, name, (apply<T, o>), \
                   CUDA_TRAIN_HANDLES(o::variables))
#define APPLY(op, name, T, o)                          \
    CUDA_TRAIN_ROW("Apply" op, name, (apply<T, o>), 0) \
    HANDLE(op, name, T, o)
#define ASSIGN(name, T)                                                       \
    row("AssignAdd", TFD_##name, assign<T, plus>),                            \
        row("AssignSub", TFD_##name, assign<T, minus>),                       \
        row("AssignAddVariableOp", TFD_##name, assign<T, plus>, HOST_ARG(0)), \
        row("AssignSubVariableOp", TFD_##name, assign<T, minus>, HOST_ARG(0)),

/* clang-format off */
/* Complex numbers have these, too. */
#define ANY(name, T)                                    \
    APPLY("Adadelta", name, T, ADADELTA)                \
    APPLY("Adagrad", name, T, ADAGRAD)                  \
    APPLY("AdagradV2", name, T, ADAGRAD_V2)             \
    APPLY("Adam", name, T, ADAM)                        \
    APPLY("CenteredRMSProp", name, T, CENTERED_RMSPROP) \
    APPLY("GradientDescent", name, T, GRADIENT_DESCENT) \
    HANDLE("KerasMomentum", name, T, KERAS_MOMENTUM)    \
    APPLY("Momentum", name, T, MOMENTUM)                \
    APPLY("RMSProp", name, T, RMSPROP)
#define ROWS(name, T)                                   \
    ASSIGN(name, T)                                     \
    ANY(name, T)                                        \
    APPLY("AdaMax", name, T, ADA_MAX)                   \
    HANDLE("AdamWithAmsgrad", name, T, ADAM_AMSGRAD)    \
    APPLY("AddSign", name, T, ADD_SIGN)                 \
    APPLY("Ftrl", name, T, FTRL)                        \
    APPLY("FtrlV2", name, T, FTRL_V2)                   \
    APPLY("PowerSign", name, T, POWER_SIGN)
/* The loops of the CPU have no narrow types here. */
#define WIDE(name, T) APPLY("ProximalAdagrad", name, T, PROXIMAL_ADAGRAD)

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(ROWS)
    CUDA_COMPLEX_DTYPES(ANY)
    CUDA_INT_DTYPES(ASSIGN)
    WIDE(FLOAT, float)
    WIDE(DOUBLE, double)
    WIDE(HALF, __half)
};
/* clang-format on */

} /* namespace */

CUDA_FAMILY_OF(training);
