/*
 * training.h - the optimizers, between their kernel (training.c) and their
 * loops (training_loops.c).
 *
 * To add one: a row here, its formula there, its definition in training.c.
 */
#ifndef TFD_KERNELS_TRAINING_H
#define TFD_KERNELS_TRAINING_H

#include "kernels/variable.h"

/* id, name, variables, roles of further inputs (training.c), bool attribute */
#define TFD_OPTIMIZERS(X)                                                    \
    X(ADADELTA, "Adadelta", 3, "sssg", NULL)                                 \
    X(ADAGRAD, "Adagrad", 2, "sg", "update_slots")                           \
    X(ADAGRAD_V2, "AdagradV2", 2, "ssg", "update_slots")                     \
    X(ADAGRAD_DA, "AdagradDA", 3, "gsssn", NULL)                             \
    X(ADAM, "Adam", 3, "ssssssg", "use_nesterov")                            \
    X(CENTERED_RMSPROP, "CenteredRMSProp", 4, "ssssg", NULL)                 \
    X(FTRL, "Ftrl", 3, "gssss", "multiply_linear_by_lr")                     \
    X(FTRL_V2, "FtrlV2", 3, "gsssss", "multiply_linear_by_lr")               \
    X(GRADIENT_DESCENT, "GradientDescent", 1, "sg", NULL)                    \
    X(MOMENTUM, "Momentum", 2, "sgs", "use_nesterov")                        \
    X(PROXIMAL_ADAGRAD, "ProximalAdagrad", 2, "sssg", NULL)                  \
    X(PROXIMAL_GRADIENT_DESCENT, "ProximalGradientDescent", 1, "sssg", NULL) \
    X(RMSPROP, "RMSProp", 3, "ssssg", NULL)

enum tfd_optimizer {
#define X(id, name, variables, roles, option) TFD_OPT_##id,
    TFD_OPTIMIZERS(X)
#undef X
};

/* What a loop works on: scalars as elements of the op's type. */
struct tfd_train_job {
    void *var[4]; /* the variable, its slots; unused ones repeat the first */
    const void *grad;
    unsigned char scalar[6][16];
    int scalar_count;
    bool option;
    int64_t global_step;
};

#define TFD_TRAIN_LOOPS(id)                  \
    tfd_range_fn tfd_train_##id##_float;     \
    tfd_range_fn tfd_train_##id##_double;    \
    tfd_range_fn tfd_train_##id##_half;      \
    tfd_range_fn tfd_train_##id##_bfloat16;  \
    tfd_range_fn tfd_train_##id##_complex64; \
    tfd_range_fn tfd_train_##id##_complex128;

#define X(id, name, variables, roles, option) TFD_TRAIN_LOOPS(id)
TFD_OPTIMIZERS(X)
#undef X

#endif
