/*
 * training_loops.c - the loops of the optimizers: a formula of
 * training_formulas.h for each element type.  half and bfloat16 are computed in
 * float and rounded once per step.
 */
#include "kernels/state/training.h"

#include "common/base/half.h"
#include "kernels/vector/simd.h"
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

#define REAL(id, slots)                                                 \
    LOOP(TFD_SIMD_CLONES, id, slots, float, float, float, AS_IS, AS_IS) \
    LOOP(TFD_SIMD_CLONES, id, slots, double, double, double, AS_IS, AS_IS)

#define REAL_LOOPS(id, slots) REAL(id, slots) NAMED(id, float) NAMED(id, double)

#define HALVES(id, slots)                                               \
    LOOP(BASELINE, id, slots, half, tfd_half, float, tfd_half_to_float, \
         tfd_half_from_float)                                           \
    LOOP(BASELINE, id, slots, bfloat16, tfd_bfloat16, float,            \
         tfd_bfloat16_to_float, tfd_bfloat16_from_float)                \
    NAMED(id, half) NAMED(id, bfloat16)

#define HALF_LOOPS(id, slots) REAL_LOOPS(id, slots) HALVES(id, slots)

#define ALL_LOOPS(id, slots)                                                 \
    HALF_LOOPS(id, slots)                                                    \
    LOOP(BASELINE, id, slots, complex64, complex64, complex64, AS_IS, AS_IS) \
    LOOP(BASELINE, id, slots, complex128, complex128, complex128, AS_IS,     \
         AS_IS)                                                              \
    NAMED(id, complex64) NAMED(id, complex128)

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
#define POWER_LOOPS(id, slots, place) \
    REAL(id, slots)                   \
    REAL(id##_ROOT, slots)            \
    EITHER(id, place, float)          \
    EITHER(id, place, double)         \
    HALVES(id, slots)

ALL_LOOPS(ADADELTA, 3)
ALL_LOOPS(ADAGRAD, 2)
ALL_LOOPS(ADAGRAD_V2, 2)
ALL_LOOPS(ADAM, 3)
ALL_LOOPS(CENTERED_RMSPROP, 4)
ALL_LOOPS(GRADIENT_DESCENT, 1)
ALL_LOOPS(KERAS_MOMENTUM, 2)
ALL_LOOPS(MOMENTUM, 2)
ALL_LOOPS(RMSPROP, 3)
POWER_LOOPS(FTRL, 3, 3)
POWER_LOOPS(FTRL_V2, 3, 4)
HALF_LOOPS(ADA_MAX, 3)
HALF_LOOPS(ADAM_AMSGRAD, 4)
HALF_LOOPS(ADD_SIGN, 2)
HALF_LOOPS(POWER_SIGN, 2)
REAL_LOOPS(ADAGRAD_DA, 3)
REAL_LOOPS(PROXIMAL_ADAGRAD, 2)
REAL_LOOPS(PROXIMAL_GRADIENT_DESCENT, 1)
