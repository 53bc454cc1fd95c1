/*
 * training.h - the optimizers, between what they all do (training.c), the loops
 * of the CPU (training_loops.c) and the kernels of GPUs
 * (cuda/state/training.cuh).
 *
 * To add one: a row here, its formula in training_formulas.h, its definition in
 * training.c.  The roles of the inputs after the variables are
 *
 *     s   a scalar
 *     g   the gradient, in sparse ops followed by the numbers of its rows
 *     n   global_step
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_TRAINING_H
#define TFD_KERNELS_TRAINING_H

#include "kernels/state/variable.h"

/* id, name, variables, roles of further inputs, bool attribute */
#define TFD_OPTIMIZERS(X)                                                    \
    X(ADADELTA, "Adadelta", 3, "sssg", NULL)                                 \
    X(ADAGRAD, "Adagrad", 2, "sg", "update_slots")                           \
    X(ADAGRAD_V2, "AdagradV2", 2, "ssg", "update_slots")                     \
    X(ADAGRAD_DA, "AdagradDA", 3, "gsssn", NULL)                             \
    X(ADA_MAX, "AdaMax", 3, "sssssg", NULL)                                  \
    X(ADAM, "Adam", 3, "ssssssg", "use_nesterov")                            \
    X(ADAM_AMSGRAD, "AdamWithAmsgrad", 4, "ssssssg", NULL)                   \
    X(ADD_SIGN, "AddSign", 2, "ssssg", NULL)                                 \
    X(CENTERED_RMSPROP, "CenteredRMSProp", 4, "ssssg", NULL)                 \
    X(FTRL, "Ftrl", 3, "gssss", "multiply_linear_by_lr")                     \
    X(FTRL_V2, "FtrlV2", 3, "gsssss", "multiply_linear_by_lr")               \
    X(GRADIENT_DESCENT, "GradientDescent", 1, "sg", NULL)                    \
    X(KERAS_MOMENTUM, "KerasMomentum", 2, "sgs", "use_nesterov")             \
    X(MOMENTUM, "Momentum", 2, "sgs", "use_nesterov")                        \
    X(POWER_SIGN, "PowerSign", 2, "ssssg", NULL)                             \
    X(PROXIMAL_ADAGRAD, "ProximalAdagrad", 2, "sssg", NULL)                  \
    X(PROXIMAL_GRADIENT_DESCENT, "ProximalGradientDescent", 1, "sssg", NULL) \
    X(RMSPROP, "RMSProp", 3, "ssssg", NULL)

enum tfd_optimizer {
#define X(id, name, variables, roles, option) TFD_OPT_##id,
    TFD_OPTIMIZERS(X)
#undef X
};

/* Of an op, by tfd_training_prepare(). */
struct tfd_training_state {
    const struct tfd_training_optimizer *row;
    bool option;
    bool sparse;
};
tfd_prepare_fn tfd_training_prepare;

struct tfd_training_optimizer {
    const char *name; /* without Apply */
    int variables;
    const char *roles;
    const char *option; /* a bool attribute handed to the loop, or NULL */
};

/* The rows that a sparse update is for. */
struct tfd_training_rows {
    const struct tfd_tensor *indices; /* NULL: all */
    int64_t count;                    /* of indices */
    int64_t limit;                    /* rows of the variable */
    int64_t width;                    /* elements of one */
};

#define TFD_TRAIN_VARIABLES 4
#define TFD_TRAIN_SCALARS 6

/* What a device works on; everything lies in its memory. */
struct tfd_training_job {
    /* The variable, its slots; unused ones repeat the first. */
    void *var[TFD_TRAIN_VARIABLES];
    const void *grad;
    const void *scalar[TFD_TRAIN_SCALARS]; /* of the op's type; or NULL */
    int scalar_count;
    bool option;
    int64_t global_step;
    int64_t elements; /* of the variable */
    struct tfd_training_rows rows;
};

struct tfd_training_device {
    /* Makes v's value, which there is, writable in place: variable.h. */
    enum tfd_code (*writable)(struct tfd_kctx *k, struct tfd_variable *v,
                              struct tfd_status *st);
    /* Shapes have been checked, indices have not. */
    enum tfd_code (*run)(struct tfd_kctx *k, const struct tfd_training_job *job,
                         struct tfd_status *st);
};

/* Finds, locks and checks the variables and the other inputs of k's op, and
 * runs it; d says how. */
enum tfd_code tfd_training_apply(struct tfd_kctx *k,
                                 const struct tfd_training_device *d,
                                 struct tfd_status *st) TFD_MUST_USE;

/* Calls update() with the variables at the first `count` inputs, locked; then
 * output 0, if the op has one, refers to the first. */
typedef enum tfd_code tfd_training_update_fn(struct tfd_kctx *k,
                                             struct tfd_variable *const *v,
                                             const void *arg,
                                             struct tfd_status *st);
enum tfd_code tfd_training_locked(struct tfd_kctx *k, int count,
                                  tfd_training_update_fn *update,
                                  const void *arg,
                                  struct tfd_status *st) TFD_MUST_USE;

/* FAILED_PRECONDITION in the words of these ops. */
enum tfd_code tfd_training_initialized(const struct tfd_variable *v,
                                       struct tfd_status *st) TFD_MUST_USE;

/* What AssignAdd and AssignSub, of references and of resources, ask of input 1
 * as an update of v; INVALID_ARGUMENT in TensorFlow's words. */
enum tfd_code tfd_training_check_update(const struct tfd_kctx *k,
                                        const struct tfd_variable *v,
                                        struct tfd_status *st) TFD_MUST_USE;

#define TFD_TRAIN_LOOPS(id)                     \
    tfd_range_fn tfd_training_##id##_float;     \
    tfd_range_fn tfd_training_##id##_double;    \
    tfd_range_fn tfd_training_##id##_half;      \
    tfd_range_fn tfd_training_##id##_bfloat16;  \
    tfd_range_fn tfd_training_##id##_complex64; \
    tfd_range_fn tfd_training_##id##_complex128;

#define X(id, name, variables, roles, option) TFD_TRAIN_LOOPS(id)
TFD_OPTIMIZERS(X)
#undef X

#endif
