/*
 * linalg_grad.h - gradients of linear algebra: of linalg.c, eigen.c,
 * least_squares.c and matrix_function.c, and what they are written in.
 *
 * The formulas are TensorFlow's.  Matrices are the last two dimensions.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_LINALG_GRAD_H
#define TFD_KERNELS_LINALG_GRAD_H

#include "kernels/core/gradient.h"

/* Of linalg_grad.c. */
enum tfd_code tfd_linalg_inverse_gradient(struct tfd_grad *g,
                                          struct tfd_status *st);
enum tfd_code tfd_linalg_solve_gradient(struct tfd_grad *g,
                                        struct tfd_status *st);
enum tfd_code tfd_linalg_triangular_gradient(struct tfd_grad *g,
                                             struct tfd_status *st);
enum tfd_code tfd_linalg_det_gradient(struct tfd_grad *g,
                                      struct tfd_status *st);
enum tfd_code tfd_linalg_log_det_gradient(struct tfd_grad *g,
                                          struct tfd_status *st);
enum tfd_code tfd_linalg_cholesky_gradient(struct tfd_grad *g,
                                           struct tfd_status *st);
/* Not where `fast` is off, or the size of a matrix unknown. */
enum tfd_code tfd_linalg_least_gradient(struct tfd_grad *g,
                                        struct tfd_status *st);
enum tfd_code tfd_linalg_root_gradient(struct tfd_grad *g,
                                       struct tfd_status *st);

/* Of factors_grad.c.  Qr and Svd: not where the size of a matrix is unknown. */
enum tfd_code tfd_linalg_self_adjoint_gradient(struct tfd_grad *g,
                                               struct tfd_status *st);
enum tfd_code tfd_linalg_eig_gradient(struct tfd_grad *g,
                                      struct tfd_status *st);
enum tfd_code tfd_linalg_qr_gradient(struct tfd_grad *g, struct tfd_status *st);
enum tfd_code tfd_linalg_svd_gradient(struct tfd_grad *g,
                                      struct tfd_status *st);

/* ---- What they are written in -------------------------------------------- */

/* x y, of the adjoints where that is said. */
struct tfd_edge tfd_linalg_emit_product(struct tfd_gradient *b,
                                        struct tfd_edge x, bool adj_x,
                                        struct tfd_edge y, bool adj_y);
/* Rows and columns exchanged; conjugated, too, where that is said. */
struct tfd_edge tfd_linalg_emit_transposed(struct tfd_gradient *b,
                                           struct tfd_edge x, bool conjugated);
/* So many diagonals below and above the main one; -1: all. */
struct tfd_edge tfd_linalg_emit_band(struct tfd_gradient *b, struct tfd_edge x,
                                     int32_t lower, int32_t upper);
/* x of a x = y for a triangle a. */
struct tfd_edge tfd_linalg_emit_triangular(struct tfd_gradient *b,
                                           struct tfd_edge a, struct tfd_edge y,
                                           bool lower, bool adjoint);
/* x times a number. */
struct tfd_edge tfd_linalg_emit_scaled(struct tfd_gradient *b,
                                       struct tfd_edge x, double factor);
struct tfd_edge tfd_linalg_emit_sum(struct tfd_gradient *b, struct tfd_edge x,
                                    struct tfd_edge y);
/* Columns [from, to) */
struct tfd_edge tfd_linalg_emit_columns(struct tfd_gradient *b,
                                        struct tfd_edge x, int64_t from,
                                        int64_t to);
/* x with a dimension of 1 at `axis`. */
struct tfd_edge tfd_linalg_emit_axis(struct tfd_gradient *b, struct tfd_edge x,
                                     int32_t axis);
/* UNIMPLEMENTED where rows or columns of x are not known. */
enum tfd_code tfd_linalg_known_size(struct tfd_gradient *b, struct tfd_edge x,
                                    int64_t *rows, int64_t *columns);

#endif
