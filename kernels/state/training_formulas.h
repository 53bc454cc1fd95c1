/*
 * training_formulas.h - what each optimizer does to one element: one macro
 * each, which the loops of the CPU (training_loops.c) and the kernels of GPUs
 * (cuda/state/training.cuh) compile for their types.
 *
 * The formulas are TensorFlow's (core/kernels/training_ops.cc), term by term in
 * the same order so that float results agree closely.  Where one is expanded
 * there are
 *
 *     C            the type to compute with, a float, a double or complex
 *     v[0], v[1..] the variable and its slots
 *     g            the gradient
 *     s[]          the scalars in the op's order
 *     option       its bool attribute
 *     global_step  where it takes one
 *
 * and sqrt(), pow(), exp(), fabs(), copysign() for C.
 *
 * Threads: macros only.
 */
#ifndef TFD_KERNELS_TRAINING_FORMULAS_H
#define TFD_KERNELS_TRAINING_FORMULAS_H

#define TFD_TRAIN_ADADELTA(C)                           \
    C update;                                           \
    v[1] = v[1] * s[1] + g * g * ((C)1 - s[1]);         \
    update = sqrt(v[2] + s[2]) / sqrt(v[1] + s[2]) * g; \
    v[0] -= update * s[0];                              \
    v[2] = v[2] * s[1] + update * update * ((C)1 - s[1]);

#define TFD_TRAIN_ADAGRAD(C) \
    if (option)              \
        v[1] += g * g;       \
    v[0] -= g * s[0] / sqrt(v[1]);

#define TFD_TRAIN_ADAGRAD_V2(C) \
    if (option)                 \
        v[1] += g * g;          \
    v[0] -= g * s[0] / (sqrt(v[1]) + s[1]);

/* s: lr l1 l2 */
#define TFD_TRAIN_ADAGRAD_DA(C)                          \
    C step = (C)global_step, shrunk;                     \
    v[1] += g;                                           \
    v[2] += g * g;                                       \
    shrunk = v[1];                                       \
    if (s[1] > 0) {                                      \
        C size = fabs(v[1]) - s[1] * step;               \
        shrunk = size > 0 ? copysign(size, v[1]) : (C)0; \
    }                                                    \
    v[0] = -s[0] * shrunk / (s[2] * step * s[0] + sqrt(v[2]));

/* s: beta1_power beta2_power lr beta1 beta2 epsilon */
#define TFD_TRAIN_ADAM(C)                                               \
    C alpha = s[2] * sqrt((C)1 - s[1]) / ((C)1 - s[0]);                 \
    v[1] += (g - v[1]) * ((C)1 - s[3]);                                 \
    v[2] += (g * g - v[2]) * ((C)1 - s[4]);                             \
    v[0] -= (option ? g * ((C)1 - s[3]) + s[3] * v[1] : v[1]) * alpha / \
            (sqrt(v[2]) + s[5]);

/* v: var m v vhat; s: as Adam's */
#define TFD_TRAIN_ADAM_AMSGRAD(C)                       \
    C alpha = s[2] * sqrt((C)1 - s[1]) / ((C)1 - s[0]); \
    v[1] += (g - v[1]) * ((C)1 - s[3]);                 \
    v[2] += (g * g - v[2]) * ((C)1 - s[4]);             \
    v[3] = v[3] < v[2] ? v[2] : v[3];                   \
    v[0] -= v[1] * alpha / (sqrt(v[3]) + s[5]);

/* v: var mg ms mom; s: lr rho momentum epsilon */
#define TFD_TRAIN_CENTERED_RMSPROP(C)                                \
    v[2] += (g * g - v[2]) * ((C)1 - s[1]);                          \
    v[1] += (g - v[1]) * ((C)1 - s[1]);                              \
    v[3] = v[3] * s[2] + g * s[0] / sqrt(v[2] - v[1] * v[1] + s[3]); \
    v[0] -= v[3];

#define TFD_TRAIN_RMSPROP(C)                           \
    v[1] += (g * g - v[1]) * ((C)1 - s[1]);            \
    v[2] = v[2] * s[2] + g * s[0] / sqrt(v[1] + s[3]); \
    v[0] -= v[2];

/* s: lr l1 l2 lr_power; `by` is the gradient with shrinkage, raise(x) what x is
 * to the power of -lr_power */
#define TFD_TRAIN_FTRL_CORE(C, by, raise)                                    \
    C lr = s[0], l1 = s[1], l2 = s[2], accum = v[1] + g * g, quadratic;      \
    C root = raise(accum), sigma = root - raise(v[1]);                       \
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

/* A power of -0.5, as nearly everyone has it, is a root: TensorFlow computes
 * it so, and loops of their own for it are vectorised. */
#define TFD_TRAIN_ROOT(x) sqrt(x)
#define TFD_TRAIN_POWER_3(x) (s[3] == (-0.5f) ? sqrt(x) : pow(x, -s[3]))
#define TFD_TRAIN_POWER_4(x) (s[4] == (-0.5f) ? sqrt(x) : pow(x, -s[4]))

#define TFD_TRAIN_FTRL(C) TFD_TRAIN_FTRL_CORE(C, g, TFD_TRAIN_POWER_3)
#define TFD_TRAIN_FTRL_ROOT(C) TFD_TRAIN_FTRL_CORE(C, g, TFD_TRAIN_ROOT)
/* s: lr l1 l2 l2_shrinkage lr_power */
#define TFD_TRAIN_FTRL_V2(C)           \
    C shrunk = g + (C)2 * s[3] * v[0]; \
    TFD_TRAIN_FTRL_CORE(C, shrunk, TFD_TRAIN_POWER_4)
#define TFD_TRAIN_FTRL_V2_ROOT(C)      \
    C shrunk = g + (C)2 * s[3] * v[0]; \
    TFD_TRAIN_FTRL_CORE(C, shrunk, TFD_TRAIN_ROOT)

#define TFD_TRAIN_GRADIENT_DESCENT(C) v[0] -= g * s[0];

/* s: lr momentum */
#define TFD_TRAIN_MOMENTUM(C)                  \
    v[1] = v[1] * s[1] + g;                    \
    if (option)                                \
        v[0] -= g * s[0] + v[1] * s[1] * s[0]; \
    else                                       \
        v[0] -= v[1] * s[0];

/* s: lr momentum */
#define TFD_TRAIN_KERAS_MOMENTUM(C)     \
    v[1] = v[1] * s[1] - g * s[0];      \
    if (option)                         \
        v[0] += v[1] * s[1] - g * s[0]; \
    else                                \
        v[0] += v[1];

/* The step `lr` towards the minimum of l1 |x| + l2 x^2 / 2. */
#define TFD_TRAIN_PROXIMAL(C, lr, l1, l2)              \
    C prox = v[0] - g * (lr);                          \
    if ((l1) > 0) {                                    \
        C size = fabs(prox) - (lr) * (l1);             \
        prox = size > 0 ? copysign(size, prox) : (C)0; \
    }                                                  \
    v[0] = prox / ((C)1 + (l2) * (lr));

/* s: lr l1 l2 */
#define TFD_TRAIN_PROXIMAL_ADAGRAD(C) \
    C rate;                           \
    v[1] += g * g;                    \
    rate = s[0] / sqrt(v[1]);         \
    TFD_TRAIN_PROXIMAL(C, rate, s[1], s[2])

#define TFD_TRAIN_PROXIMAL_GRADIENT_DESCENT(C) \
    TFD_TRAIN_PROXIMAL(C, s[0], s[1], s[2])

/* -1, 0, 1; a NaN is 0. */
#define TFD_TRAIN_SIGN(C, x) ((C)((x) > 0) - (C)((x) < 0))

/* s: beta1_power lr beta1 beta2 epsilon */
#define TFD_TRAIN_ADA_MAX(C)                          \
    C size = fabs(g);                                 \
    v[1] += (g - v[1]) * ((C)1 - s[2]);               \
    v[2] = s[3] * v[2];                               \
    v[2] = v[2] < size || size != size ? size : v[2]; \
    v[0] -= s[1] / ((C)1 - s[0]) * (v[1] / (v[2] + s[4]));

/* s: lr alpha sign_decay beta */
#define TFD_TRAIN_ADD_SIGN(C)                               \
    C agree;                                                \
    v[1] = v[1] * s[3] + g * ((C)1 - s[3]);                 \
    agree = TFD_TRAIN_SIGN(C, g) * TFD_TRAIN_SIGN(C, v[1]); \
    v[0] -= s[0] * (s[1] + s[2] * agree) * g;

/* s: lr logbase sign_decay beta */
#define TFD_TRAIN_POWER_SIGN(C)                             \
    C agree;                                                \
    v[1] = v[1] * s[3] + g * ((C)1 - s[3]);                 \
    agree = TFD_TRAIN_SIGN(C, g) * TFD_TRAIN_SIGN(C, v[1]); \
    v[0] -= s[0] * exp(s[1] * s[2] * agree) * g;

#endif
