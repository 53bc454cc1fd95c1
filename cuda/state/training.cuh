/*
 * training.cuh - optimizers on a GPU, for training.cu and training_sparse.cu:
 * formulas as types, and what they work on.  Scalars are the device's and are
 * read by the kernels.
 *
 * Threads: device code, and host code without state.
 */
#ifndef TFD_CUDA_TRAINING_CUH
#define TFD_CUDA_TRAINING_CUH

#include "cuda/lib/variable.cuh"

extern "C" {
#include "kernels/state/training.h"
#include "kernels/state/training_formulas.h"
}

/* ---- Formulas ------------------------------------------------------------ */

/* One optimizer: how many variables it has, and its formula. */
#define CUDA_OPTIMIZER(id, count)                                       \
    struct id {                                                         \
        static constexpr int variables = count;                         \
        template <typename C>                                           \
        __device__ static void step(C *v, C g, const C *s, bool option) \
        {                                                               \
            (void)option;                                               \
            TFD_TRAIN_##id(C)                                           \
        }                                                               \
    };

/* ---- Work ---------------------------------------------------------------- */

template <typename T> struct cuda_train {
    T *v[TFD_TRAIN_VARIABLES];
    const T *g;
    const T *s[TFD_TRAIN_SCALARS];
    bool option;
};

template <typename T>
static inline struct cuda_train<T>
cuda_train_of(const struct tfd_training_job *job) {
    struct cuda_train<T> j = {
    };

    for (int i = 0; i < TFD_TRAIN_VARIABLES; i++)
        j.v[i] = (T *)job->var[i];
    for (int i = 0; i < TFD_TRAIN_SCALARS; i++)
        j.s[i] = (const T *)job->scalar[i];
    j.g = (const T *)job->grad;
    j.option = job->option;
    return j;
}

template <typename T>
__device__ inline void cuda_train_scalars(const struct cuda_train<T> &j,
                                          wide<T> *s)
{
#pragma unroll
    for (int i = 0; i < TFD_TRAIN_SCALARS; i++)
        s[i] = j.s[i] ? widen(*j.s[i]) : (wide<T>)0;
}

/* N elements of the variables from `at` on, by those of the gradient from `by`
 * on. */
template <typename O, int N, typename T>
__device__ inline void cuda_train_step(const struct cuda_train<T> &j,
                                       const wide<T> *s, int64_t at, int64_t by)
{
    pack<T, N> v[O::variables], g = *(const pack<T, N> *)(j.g + by);

#pragma unroll
    for (int a = 0; a < O::variables; a++)
        v[a] = *(const pack<T, N> *)(j.v[a] + at);
#pragma unroll
    for (int i = 0; i < N; i++) {
        wide<T> one[O::variables];

#pragma unroll
        for (int a = 0; a < O::variables; a++)
            one[a] = widen(v[a].v[i]);
        O::step(one, widen(g.v[i]), s, j.option);
#pragma unroll
        for (int a = 0; a < O::variables; a++)
            v[a].v[i] = narrow<T>(one[a]);
    }
#pragma unroll
    for (int a = 0; a < O::variables; a++)
        *(pack<T, N> *)(j.v[a] + at) = v[a];
}

/* Whether packs of them may be read. */
static inline bool cuda_train_aligned(const struct tfd_training_job *job)
{
    bool is = is_aligned(job->grad, job->grad, job->grad);

    for (int i = 0; i < TFD_TRAIN_VARIABLES; i++)
        is = is && is_aligned(job->var[i], job->var[i], job->var[i]);
    return is;
}

/* ---- Rows ---------------------------------------------------------------- */

/* Handles are the host's; references have no memory. */
#define CUDA_TRAIN_HANDLES(count) ((UINT32_C(1) << (count)) - 1)

#define CUDA_TRAIN_ROW(op, name, compute, host)           \
    row(op, TFD_##name, compute, host, tfd_training_prepare, \
        sizeof(struct tfd_training_state)),

#endif
