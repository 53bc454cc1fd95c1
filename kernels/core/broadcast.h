/*
 * broadcast.h - which elements of two or three operands meet in which element
 * of the result, by TensorFlow's rule:
 *
 *     [   3, 1, 5]      shapes are aligned at their last dimension; a dimension
 *     [2, 1, 4, 5]      that is 1 or missing is repeated
 *     [2, 3, 4, 5]
 *
 * A plan merges neighbouring dimensions that are repeated by the same operands,
 * so most real cases have one or two left.  The last one is the row: a loop
 * that a kernel runs over whole; along it every operand steps by 1 or by 0.
 *
 *     tfd_broadcast_seek(&plan, first_row, &at);
 *     for (row = first_row; row < end; row++, tfd_broadcast_next(&plan, &at))
 *         loop over plan.row_size elements from at.offset[operand]
 *
 * Threads: a plan is read-only; each thread has its own position.
 */
#ifndef TFD_KERNELS_BROADCAST_H
#define TFD_KERNELS_BROADCAST_H

#include "common/base/tensor.h"

#define TFD_BROADCAST_MAX 3

struct tfd_broadcast {
    int count; /* operands */
    int rank;  /* of the rows: dimensions without the last */
    int64_t dim[TFD_RANK_MAX];
    int64_t step[TFD_BROADCAST_MAX][TFD_RANK_MAX]; /* 0: repeated */
    int64_t row_size;
    int64_t rows;
    int row_step[TFD_BROADCAST_MAX]; /* 1 or 0 */
};

struct tfd_broadcast_at {
    int64_t index[TFD_RANK_MAX];
    int64_t offset[TFD_BROADCAST_MAX]; /* of the row, in elements */
};

/* False when the shapes do not fit together; *out is then unchanged. */
bool tfd_broadcast_fits(const struct tfd_shape *a, const struct tfd_shape *b);
/* The shape of the result of two that fit.  Fails as tfd_shape_make() does. */
enum tfd_code tfd_broadcast_shape(const struct tfd_shape *a,
                                  const struct tfd_shape *b,
                                  struct tfd_shape *out,
                                  struct tfd_status *st) TFD_MUST_USE;

/* `in` are count shapes that fit out, which has elements. */
void tfd_broadcast_plan(struct tfd_broadcast *p, const struct tfd_shape *out,
                        const struct tfd_shape *const *in, int count);
void tfd_broadcast_seek(const struct tfd_broadcast *p, int64_t row,
                        struct tfd_broadcast_at *at);
void tfd_broadcast_next(const struct tfd_broadcast *p,
                        struct tfd_broadcast_at *at);

#endif
