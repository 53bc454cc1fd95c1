/*
 * training.cuh - optimizers on a GPU, for training.cu and training_sparse.cu:
 * formulas as types, and what they work on.  Scalars are the device's and are
 * read by the kernels.
 */
#ifndef TFD_CUDA_TRAINING_CUH
#define TFD_CUDA_TRAINING_CUH

#include "cuda/variable.cuh"

extern "C" {
#include "kernels/training.h"
#include "kernels/training_formulas.h"
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
cuda_train_of(const struct tfd_train_job *job) {
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

/* Element `at` of the variables by element `by` of the gradient. */
template <typename O, typename T>
__device__ inline void cuda_train_step(const struct cuda_train<T> &j,
                                       const wide<T> *s, int64_t at, int64_t by)
{
    wide<T> v[TFD_TRAIN_VARIABLES];

#pragma unroll
    for (int a = 0; a < O::variables; a++)
        v[a] = widen(j.v[a][at]);
    O::step(v, widen(j.g[by]), s, j.option);
#pragma unroll
    for (int a = 0; a < O::variables; a++)
        j.v[a][at] = narrow<T>(v[a]);
}

/* ---- Rows ---------------------------------------------------------------- */

/* Handles are the host's; references have no memory. */
#define CUDA_TRAIN_HANDLES(count) ((UINT32_C(1) << (count)) - 1)

#define CUDA_TRAIN_ROW(op, name, compute, host)           \
    row(op, TFD_##name, compute, host, tfd_train_prepare, \
        sizeof(struct tfd_train_state)),

#endif
