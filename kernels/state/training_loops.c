/*
 * training_loops.c - the loops of the optimizers: a formula of
 * training_formulas.h for each element type.  half and bfloat16 are computed in
 * float and rounded once per step.
 */
#include "kernels/state/training.h"

#include "common/base/half.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/vector_functions.h"
#include "kernels/state/training_formulas.h"

#include <complex.h>
#include <string.h>
#include <tgmath.h>

typedef float _Complex complex64;
typedef double _Complex complex128;

/* ---- Loops --------------------------------------------------------------- */

#define AS_IS(x) (x)

/* In place of TFD_SIMD_CLONES() for types that few train with. */
#define BASELINE(name)                                      \
    static void name(void *arg, int64_t begin, int64_t end) \
    {                                                       \
        name##_loop(arg, begin, end);                       \
    }

/* T in memory, C to compute with. */
#define LOOP(CLONES, id, slots, suffix, T, C, LOAD, STORE)              \
    TFD_SIMD_LOOP(run_##id##_##suffix)                                  \
    {                                                                   \
        const struct tfd_training_job *job = arg;                       \
        const bool option = job->option;                                \
        const int64_t global_step = job->global_step;                   \
        T *p[4] = {job->var[0], job->var[1], job->var[2], job->var[3]}; \
        const T *grad = job->grad;                                      \
        C s[6];                                                         \
                                                                        \
        (void)option;                                                   \
        (void)global_step;                                              \
        for (int i = 0; i < 6; i++) {                                   \
            T raw = 0;                                                  \
                                                                        \
            if (job->scalar[i])                                         \
                memcpy(&raw, job->scalar[i], sizeof(raw));              \
            s[i] = LOAD(raw);                                           \
        }                                                               \
        for (int64_t i = begin; i < end; i++) {                         \
            C v[4], g = LOAD(grad[i]);                                  \
                                                                        \
            for (int n = 0; n < (slots); n++)                           \
                v[n] = LOAD(p[n][i]);                                   \
            {                                                           \
                TFD_TRAIN_##id(C)                                       \
            }                                                           \
            for (int n = 0; n < (slots); n++)                           \
                p[n][i] = STORE(v[n]);                                  \
        }                                                               \
    }                                                                   \
    CLONES(run_##id##_##suffix)

/* The function that the kernel names. */
#define NAMED(id, suffix)                                                    \
    void tfd_training_##id##_##suffix(void *arg, int64_t begin, int64_t end) \
    {                                                                        \
        run_##id##_##suffix(arg, begin, end);                                \
    }

/* The rules that a type has: ROWS of X for each, which has so many variables.
 * All have Adagrad's, too, of which that of floats is a loop of its own. */
#define ADAGRAD_RULE(ROWS, X) ROWS(X, ADAGRAD, 2)
#define ALL_RULES(ROWS, X)       \
    ROWS(X, ADADELTA, 3)         \
    ROWS(X, ADAGRAD_V2, 2)       \
    ROWS(X, ADAM, 3)             \
    ROWS(X, CENTERED_RMSPROP, 4) \
    ROWS(X, GRADIENT_DESCENT, 1) \
    ROWS(X, KERAS_MOMENTUM, 2)   \
    ROWS(X, MOMENTUM, 2)         \
    ROWS(X, RMSPROP, 3)
#define HALF_RULES(ROWS, X)  \
    ALL_RULES(ROWS, X)       \
    ROWS(X, ADA_MAX, 3)      \
    ROWS(X, ADAM_AMSGRAD, 4) \
    ROWS(X, ADD_SIGN, 2)     \
    ROWS(X, POWER_SIGN, 2)
#define REAL_RULES(ROWS, X)      \
    HALF_RULES(ROWS, X)          \
    ROWS(X, ADAGRAD_DA, 3)       \
    ROWS(X, PROXIMAL_ADAGRAD, 2) \
    ROWS(X, PROXIMAL_GRADIENT_DESCENT, 1)
#define POWER_RULES(ROWS, X) \
    ROWS(X, FTRL, 3)         \
    ROWS(X, FTRL_V2, 3)
#define ROOT_RULES(ROWS, X) \
    ROWS(X, FTRL_ROOT, 3)   \
    ROWS(X, FTRL_V2_ROOT, 3)

/* Most have roots or quotients, which AVX-512 has twice as many of on Zen 5:
 * Adam of 64,000 floats takes 8.6 us in place of 15.5. */
#define DOUBLE_LOOPS(X, id, slots) \
    X(TFD_SIMD_CLONES_WIDE, id, slots, double, double, double, AS_IS, AS_IS)
#define REAL_LOOPS(X, id, slots)                                          \
    X(TFD_SIMD_CLONES_WIDE, id, slots, float, float, float, AS_IS, AS_IS) \
    DOUBLE_LOOPS(X, id, slots)
#define HALF_LOOPS(X, id, slots)                                     \
    X(BASELINE, id, slots, half, tfd_half, float, tfd_half_to_float, \
      tfd_half_from_float)                                           \
    X(BASELINE, id, slots, bfloat16, tfd_bfloat16, float,            \
      tfd_bfloat16_to_float, tfd_bfloat16_from_float)
#define COMPLEX_LOOPS(X, id, slots)                                       \
    X(BASELINE, id, slots, complex64, complex64, complex64, AS_IS, AS_IS) \
    X(BASELINE, id, slots, complex128, complex128, complex128, AS_IS, AS_IS)

REAL_RULES(REAL_LOOPS, LOOP)
POWER_RULES(REAL_LOOPS, LOOP)
ROOT_RULES(REAL_LOOPS, LOOP)
HALF_RULES(HALF_LOOPS, LOOP)
POWER_RULES(HALF_LOOPS, LOOP)
ALL_RULES(COMPLEX_LOOPS, LOOP)
ADAGRAD_RULE(DOUBLE_LOOPS, LOOP)
ADAGRAD_RULE(HALF_LOOPS, LOOP)
ADAGRAD_RULE(COMPLEX_LOOPS, LOOP)

#define BLOCK 1024

/* Adagrad's of floats: a product with 1 / sqrt(), which is quicker than a root
 * and a quotient.  In blocks; one that has a rare accumulator is computed as
 * such, and values are the same either way. */
TFD_SIMD_LOOP(run_ADAGRAD_float)
{
    const struct tfd_training_job *job = arg;
    float *var = job->var[0], *accum = job->var[1], lr;
    const float *grad = job->grad;

    memcpy(&lr, job->scalar[0], sizeof(lr));
    for (int64_t at = begin, to; at < end; at = to) {
        uint32_t most = 0;

        to = end - at < BLOCK ? end : at + BLOCK;
        if (job->option)
            for (int64_t i = at; i < to; i++)
                accum[i] += grad[i] * grad[i];
        for (int64_t i = at; i < to; i++) {
            const uint32_t rareness = tfd_rsqrt_rareness(accum[i]);

            most = rareness > most ? rareness : most;
        }
        if (most >= TFD_RSQRT_RARE)
            for (int64_t i = at; i < to; i++)
                var[i] -= grad[i] * lr * tfd_rsqrt_any(accum[i]);
        else
            for (int64_t i = at; i < to; i++)
                var[i] -= grad[i] * lr * tfd_vector_rsqrt(accum[i]);
    }
}
TFD_SIMD_CLONES_FUSED(run_ADAGRAD_float)

#define REAL_NAMES(X, id, slots) X(id, float) X(id, double)
#define HALF_NAMES(X, id, slots) X(id, half) X(id, bfloat16)
#define COMPLEX_NAMES(X, id, slots) X(id, complex64) X(id, complex128)

REAL_RULES(REAL_NAMES, NAMED)
HALF_RULES(HALF_NAMES, NAMED)
POWER_RULES(HALF_NAMES, NAMED)
ALL_RULES(COMPLEX_NAMES, NAMED)
ADAGRAD_RULE(REAL_NAMES, NAMED)
ADAGRAD_RULE(HALF_NAMES, NAMED)
ADAGRAD_RULE(COMPLEX_NAMES, NAMED)

/* Two loops: one for a power, the scalar of that place, of -0.5. */
#define EITHER(id, place, T)                                            \
    void tfd_training_##id##_##T(void *arg, int64_t begin, int64_t end) \
    {                                                                   \
        const struct tfd_training_job *job = arg;                       \
        T power;                                                        \
                                                                        \
        memcpy(&power, job->scalar[place], sizeof(power));              \
        if (power == (T)-0.5)                                           \
            run_##id##_ROOT_##T(arg, begin, end);                       \
        else                                                            \
            run_##id##_##T(arg, begin, end);                            \
    }

EITHER(FTRL, 3, float)
EITHER(FTRL, 3, double)
EITHER(FTRL_V2, 4, float)
EITHER(FTRL_V2, 4, double)
