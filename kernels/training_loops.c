/*
 * training_loops.c - what each optimizer does to one element.
 *
 * The formulas are TensorFlow's (core/kernels/training_ops.cc), term by term in
 * the same order so that float results agree closely.  Each is written once as
 * a macro over the compute type C and expanded into a loop per element type:
 *
 *     v[0] the variable, v[1..] its slots, g the gradient, s[] the scalars in
 *     the op's order, `option` its bool attribute
 *
 * half and bfloat16 are computed in float and rounded once per step.
 */
#include "kernels/training.h"

#include "common/half.h"

#include <complex.h>
#include <string.h>
#include <tgmath.h>

typedef float _Complex complex64;
typedef double _Complex complex128;

/* ---- Formulas ------------------------------------------------------------ */

#define ADADELTA(C)                                     \
    C update;                                           \
    v[1] = v[1] * s[1] + g * g * ((C)1 - s[1]);         \
    update = sqrt(v[2] + s[2]) / sqrt(v[1] + s[2]) * g; \
    v[0] -= update * s[0];                              \
    v[2] = v[2] * s[1] + update * update * ((C)1 - s[1]);

#define ADAGRAD(C)     \
    if (option)        \
        v[1] += g * g; \
    v[0] -= g * s[0] / sqrt(v[1]);

#define ADAGRAD_V2(C)  \
    if (option)        \
        v[1] += g * g; \
    v[0] -= g * s[0] / (sqrt(v[1]) + s[1]);

/* s: lr l1 l2 */
#define ADAGRAD_DA(C)                                    \
    C step = (C)job->global_step, shrunk;                \
    v[1] += g;                                           \
    v[2] += g * g;                                       \
    shrunk = v[1];                                       \
    if (s[1] > 0) {                                      \
        C size = fabs(v[1]) - s[1] * step;               \
        shrunk = size > 0 ? copysign(size, v[1]) : (C)0; \
    }                                                    \
    v[0] = -s[0] * shrunk / (s[2] * step * s[0] + sqrt(v[2]));

/* s: beta1_power beta2_power lr beta1 beta2 epsilon */
#define ADAM(C)                                                         \
    C alpha = s[2] * sqrt((C)1 - s[1]) / ((C)1 - s[0]);                 \
    v[1] += (g - v[1]) * ((C)1 - s[3]);                                 \
    v[2] += (g * g - v[2]) * ((C)1 - s[4]);                             \
    v[0] -= (option ? g * ((C)1 - s[3]) + s[3] * v[1] : v[1]) * alpha / \
            (sqrt(v[2]) + s[5]);

/* v: var mg ms mom; s: lr rho momentum epsilon */
#define CENTERED_RMSPROP(C)                                          \
    v[2] += (g * g - v[2]) * ((C)1 - s[1]);                          \
    v[1] += (g - v[1]) * ((C)1 - s[1]);                              \
    v[3] = v[3] * s[2] + g * s[0] / sqrt(v[2] - v[1] * v[1] + s[3]); \
    v[0] -= v[3];

#define RMSPROP(C)                                     \
    v[1] += (g * g - v[1]) * ((C)1 - s[1]);            \
    v[2] = v[2] * s[2] + g * s[0] / sqrt(v[1] + s[3]); \
    v[0] -= v[2];

/* s: lr l1 l2 lr_power; `by` is the gradient with shrinkage */
#define FTRL_CORE(C, by, power_at)                                           \
    C power = s[power_at], lr = s[0], l1 = s[1], l2 = s[2];                  \
    C accum = v[1] + g * g, quadratic;                                       \
    C sigma = power == (C)-0.5 ? sqrt(accum) - sqrt(v[1])                    \
                               : pow(accum, -power) - pow(v[1], -power);     \
    C root = power == (C)-0.5 ? sqrt(accum) : pow(accum, -power);            \
    if (option) {                                                            \
        v[2] += (by)*lr - sigma * v[0];                                      \
        l1 *= lr;                                                            \
        quadratic = root + (C)2 * l2 * lr;                                   \
    } else {                                                                 \
        v[2] += (by)-sigma / lr * v[0];                                      \
        quadratic = root / lr + (C)2 * l2;                                   \
    }                                                                        \
    v[0] = fabs(v[2]) > l1 ? (copysign(l1, v[2]) - v[2]) / quadratic : (C)0; \
    v[1] = accum;

#define FTRL(C) FTRL_CORE(C, g, 3)
/* s: lr l1 l2 l2_shrinkage lr_power */
#define FTRL_V2(C)                     \
    C shrunk = g + (C)2 * s[3] * v[0]; \
    FTRL_CORE(C, shrunk, 4)

#define GRADIENT_DESCENT(C) v[0] -= g * s[0];

/* s: lr momentum */
#define MOMENTUM(C)                            \
    v[1] = v[1] * s[1] + g;                    \
    if (option)                                \
        v[0] -= g * s[0] + v[1] * s[1] * s[0]; \
    else                                       \
        v[0] -= v[1] * s[0];

/* The step `lr` towards the minimum of l1 |x| + l2 x^2 / 2. */
#define PROXIMAL(C, lr, l1, l2)                        \
    C prox = v[0] - g * (lr);                          \
    if ((l1) > 0) {                                    \
        C size = fabs(prox) - (lr) * (l1);             \
        prox = size > 0 ? copysign(size, prox) : (C)0; \
    }                                                  \
    v[0] = prox / ((C)1 + (l2) * (lr));

/* s: lr l1 l2 */
#define PROXIMAL_ADAGRAD(C)   \
    C rate;                   \
    v[1] += g * g;            \
    rate = s[0] / sqrt(v[1]); \
    PROXIMAL(C, rate, s[1], s[2])

#define PROXIMAL_GRADIENT_DESCENT(C) PROXIMAL(C, s[0], s[1], s[2])

/* ---- Loops --------------------------------------------------------------- */

#define AS_IS(x) (x)

/* T in memory, C to compute with. */
#define LOOP(id, slots, suffix, T, C, LOAD, STORE)                        \
    void tfd_train_##id##_##suffix(void *arg, int64_t begin, int64_t end) \
    {                                                                     \
        const struct tfd_train_job *job = arg;                            \
        const bool option = job->option;                                  \
        T *p[4] = {job->var[0], job->var[1], job->var[2], job->var[3]};   \
        const T *grad = job->grad;                                        \
        C s[6];                                                           \
                                                                          \
        (void)option;                                                     \
        for (int i = 0; i < 6; i++) {                                     \
            T raw;                                                        \
                                                                          \
            memcpy(&raw, job->scalar[i], sizeof(raw));                    \
            s[i] = LOAD(raw);                                             \
        }                                                                 \
        for (int64_t i = begin; i < end; i++) {                           \
            C v[4], g = LOAD(grad[i]);                                    \
                                                                          \
            for (int n = 0; n < (slots); n++)                             \
                v[n] = LOAD(p[n][i]);                                     \
            {                                                             \
                id(C)                                                     \
            }                                                             \
            for (int n = 0; n < (slots); n++)                             \
                p[n][i] = STORE(v[n]);                                    \
        }                                                                 \
    }

#define REAL_LOOPS(id, slots)                          \
    LOOP(id, slots, float, float, float, AS_IS, AS_IS) \
    LOOP(id, slots, double, double, double, AS_IS, AS_IS)

#define HALF_LOOPS(id, slots)                                             \
    REAL_LOOPS(id, slots)                                                 \
    LOOP(id, slots, half, tfd_half, float, tfd_half_to_float,             \
         tfd_half_from_float)                                             \
    LOOP(id, slots, bfloat16, tfd_bfloat16, float, tfd_bfloat16_to_float, \
         tfd_bfloat16_from_float)

#define ALL_LOOPS(id, slots)                                       \
    HALF_LOOPS(id, slots)                                          \
    LOOP(id, slots, complex64, complex64, complex64, AS_IS, AS_IS) \
    LOOP(id, slots, complex128, complex128, complex128, AS_IS, AS_IS)

ALL_LOOPS(ADADELTA, 3)
ALL_LOOPS(ADAGRAD, 2)
ALL_LOOPS(ADAGRAD_V2, 2)
ALL_LOOPS(ADAM, 3)
ALL_LOOPS(CENTERED_RMSPROP, 4)
ALL_LOOPS(GRADIENT_DESCENT, 1)
ALL_LOOPS(MOMENTUM, 2)
ALL_LOOPS(RMSPROP, 3)
HALF_LOOPS(FTRL, 3)
HALF_LOOPS(FTRL_V2, 3)
REAL_LOOPS(ADAGRAD_DA, 3)
REAL_LOOPS(PROXIMAL_ADAGRAD, 2)
REAL_LOOPS(PROXIMAL_GRADIENT_DESCENT, 1)
