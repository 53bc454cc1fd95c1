/*
 * outputs.h - checks of inputs, and shapes of outputs, that the CPU kernel and
 * the GPU kernel of an op share; each is defined beside the CPU kernel.  They
 * give INVALID_ARGUMENT in TensorFlow's words.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_OUTPUTS_H
#define TFD_KERNELS_OUTPUTS_H

#include "kernels/core/kernel.h"

/* Transpose: perm as numbers in [0, rank), each once. */
enum tfd_code tfd_transpose_perm(const struct tfd_tensor *perm, int rank,
                                 int *out, struct tfd_status *st) TFD_MUST_USE;
/* OneHot (transpose.c): the shape, and what it is seen as. */
struct tfd_one_hot {
    int64_t outer, depth, inner;
    struct tfd_shape out;
};
struct tfd_one_hot_state {
    int64_t axis;
};
enum tfd_code tfd_one_hot_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st);
enum tfd_code tfd_one_hot_make(const struct tfd_kctx *k,
                               struct tfd_one_hot *out,
                               struct tfd_status *st) TFD_MUST_USE;
/* Tile (tile.c). */
enum tfd_code tfd_tile_shape(const struct tfd_kctx *k, struct tfd_shape *out,
                             struct tfd_status *st) TFD_MUST_USE;
/* BroadcastTo (broadcast_ops.c). */
enum tfd_code tfd_broadcast_ops_target(const struct tfd_kctx *k,
                                       struct tfd_shape *out,
                                       struct tfd_status *st) TFD_MUST_USE;
/* Two inputs that are broadcast (elementwise.c). */
enum tfd_code tfd_elementwise_shape(const struct tfd_kctx *k,
                                    struct tfd_shape *out,
                                    struct tfd_status *st) TFD_MUST_USE;
/* Gradients of activations: both inputs have one shape. */
enum tfd_code tfd_activation_same_shape(const struct tfd_kctx *k,
                                        struct tfd_status *st) TFD_MUST_USE;
/* LeakyRelu: the state is a float, alpha. */
enum tfd_code tfd_activation_prepare_alpha(const struct tfd_prepare *p,
                                           void *state, struct tfd_status *st);
/* Betainc (special.c). */
enum tfd_code tfd_special_betainc_shape(const struct tfd_kctx *k,
                                        struct tfd_shape *out,
                                        struct tfd_status *st) TFD_MUST_USE;
/* Complex and its parts: Tout fits T. */
enum tfd_code tfd_complex_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st);
/* ArgMax, ArgMin: the axis in [0, rank), which is not empty. */
enum tfd_code tfd_arg_axis(const struct tfd_kctx *k, int *axis,
                           struct tfd_shape *out,
                           struct tfd_status *st) TFD_MUST_USE;
/* Select (select.c): the condition's shape as one that is broadcast to that of
 * the other two inputs, which is the output's. */
enum tfd_code tfd_select_condition(const struct tfd_kctx *k,
                                   struct tfd_shape *out,
                                   struct tfd_status *st) TFD_MUST_USE;
/* SelectV2. */
enum tfd_code tfd_select_v2_shape(const struct tfd_kctx *k,
                                  struct tfd_shape *out,
                                  struct tfd_status *st) TFD_MUST_USE;
/* AddN: all inputs have one shape. */
enum tfd_code tfd_add_n_check(const struct tfd_kctx *k,
                              struct tfd_status *st) TFD_MUST_USE;
/* DynamicStitch: of a row, and of the output.  Reads the indices. */
enum tfd_code tfd_dynamic_stitch_shape(const struct tfd_kctx *k,
                                       struct tfd_shape *row,
                                       struct tfd_shape *out,
                                       struct tfd_status *st) TFD_MUST_USE;
/* DynamicPartition: shapes of inputs; then the outputs, with so many rows. */
enum tfd_code tfd_dynamic_partition_check(const struct tfd_kctx *k,
                                          struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_dynamic_partition_outputs(struct tfd_kctx *k,
                                            const int64_t *count,
                                            struct tfd_status *st) TFD_MUST_USE;
/* Unique and its kin: the axis of items, 0 for a vector. */
enum tfd_code tfd_unique_axis(const struct tfd_kctx *k, int *axis,
                              struct tfd_status *st) TFD_MUST_USE;
/* Where. */
enum tfd_code tfd_where_check(const struct tfd_kctx *k,
                              struct tfd_status *st) TFD_MUST_USE;

/* CheckNumerics: an error for bits of what was seen, if any. */
enum { TFD_NAN_SEEN = 1, TFD_MINUS_SEEN = 2, TFD_PLUS_SEEN = 4 };
struct tfd_check_numerics_state {
    struct tfd_str message;
    int version; /* 0 or 1 */
};
enum tfd_code tfd_check_numerics_prepare(const struct tfd_prepare *p,
                                         void *state, struct tfd_status *st);
enum tfd_code tfd_check_numerics_result(const struct tfd_kctx *k, int seen,
                                        struct tfd_status *st) TFD_MUST_USE;

/* MatMul (matmul.c): m by k times k by n.  The state of a kernel that computes
 * the product begins with this one. */
struct tfd_matmul_state {
    bool transpose_a, transpose_b;
};
struct tfd_matmul_sizes {
    int64_t m, k, n;
};
enum tfd_code tfd_matmul_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st);
enum tfd_code tfd_matmul_sizes(const struct tfd_kctx *k,
                               struct tfd_matmul_sizes *size,
                               struct tfd_shape *out,
                               struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_matmul_compute(struct tfd_kctx *k,
                                 struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_matmul_shape(struct tfd_shape_ctx *s, struct tfd_status *st);

/* Cross entropies (xent.c): the matrix that logits and labels make, and how an
 * operand moves through it, 0 where it is repeated. */
enum tfd_code tfd_xent_dense_shape(const struct tfd_kctx *k,
                                   struct tfd_shape *matrix,
                                   struct tfd_status *st) TFD_MUST_USE;
void tfd_xent_steps(const struct tfd_shape *s, int64_t *row, int64_t *step);
enum tfd_code tfd_xent_check_sparse(const struct tfd_kctx *k,
                                    struct tfd_status *st) TFD_MUST_USE;

#endif
