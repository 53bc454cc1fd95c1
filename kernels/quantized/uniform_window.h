/*
 * uniform_window.h - how convolutions of numbers with scales and zero points
 * go: which dimension of a tensor means what, and where windows lie.
 *
 * Each tensor has two dimensions besides those of space: lhs and the output
 * have their batch and their features, rhs has the output's features and lhs's.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_UNIFORM_WINDOW_H
#define TFD_KERNELS_UNIFORM_WINDOW_H

#include "kernels/core/kernel.h"

#define TFD_UNIFORM_SPACE_MAX (TFD_RANK_MAX - 2)

enum tfd_uniform_side {
    TFD_UNIFORM_LHS,
    TFD_UNIFORM_RHS,
    TFD_UNIFORM_OUT,
    TFD_UNIFORM_SIDES
};

struct tfd_uniform_list {
    int64_t at[2 * TFD_UNIFORM_SPACE_MAX];
    int count;
};

/* The numbers of a tensor's dimensions. */
struct tfd_uniform_numbers {
    int64_t first, second;
    struct tfd_uniform_list space;
};

/* The attributes that convolutions share. */
struct tfd_uniform_windows {
    struct tfd_uniform_list strides, lhs_dilation, rhs_dilation, padding;
    bool is_same, is_explicit; /* else VALID */
    int64_t feature_groups, batch_groups;
    struct tfd_uniform_numbers numbers[TFD_UNIFORM_SIDES];
};

/* A dimension of space. */
struct tfd_uniform_space {
    int64_t in, kernel, out;
    int64_t stride, lhs_dilation, rhs_dilation;
    int64_t before, after; /* of padding */
    int64_t step[TFD_UNIFORM_SIDES];
};

/* Of one lhs and rhs. */
struct tfd_uniform_window {
    struct tfd_uniform_space space[TFD_UNIFORM_SPACE_MAX];
    int rank; /* of space */
    struct tfd_uniform_numbers numbers[TFD_UNIFORM_SIDES];
    int64_t batches, features; /* of the output */
    int64_t in_features;       /* that one of the output's is made of */
    int64_t feature_groups, batch_groups;
    int64_t first_step[TFD_UNIFORM_SIDES], second_step[TFD_UNIFORM_SIDES];
};

enum tfd_code tfd_uniform_windows_read(const struct tfd_prepare *p,
                                       struct tfd_uniform_windows *out,
                                       struct tfd_status *st) TFD_MUST_USE;
/* All but the output, for shapes that fit. */
enum tfd_code tfd_uniform_window_of(const struct tfd_uniform_windows *a,
                                    const struct tfd_shape *lhs,
                                    const struct tfd_shape *rhs,
                                    struct tfd_uniform_window *w,
                                    struct tfd_status *st) TFD_MUST_USE;
/* The output's shape and what w lacks of it. */
enum tfd_code tfd_uniform_window_out(struct tfd_uniform_window *w,
                                     struct tfd_shape *out,
                                     struct tfd_status *st) TFD_MUST_USE;

#endif
