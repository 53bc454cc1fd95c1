/*
 * csr_matrix.h - sparse matrices whose rows lie behind one another, or batches
 * of them, in a variant of five tensors:
 *
 *     dimensions  int64   [rows cols] or [batch rows cols]
 *     batches     int32   batch + 1: where each one's elements begin
 *     rows        int32   batch * (rows + 1): where its rows begin, from 0 on
 *     columns     int32   of each element
 *     values              float, double or complex
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_CSR_MATRIX_H
#define TFD_KERNELS_CSR_MATRIX_H

#include "kernels/core/kernel.h"

enum tfd_csr_part {
    TFD_CSR_DIMS,
    TFD_CSR_BATCHES,
    TFD_CSR_ROWS,
    TFD_CSR_COLUMNS,
    TFD_CSR_VALUES,
    TFD_CSR_PARTS
};

struct tfd_csr {
    const struct tfd_tensor *part; /* the variant's */
    int rank;                      /* 2 or 3 */
    const int64_t *dim;
    int64_t batch, rows, columns, count;
    const int32_t *batch_at, *row_at, *column;
    const char *values;
    enum tfd_dtype dtype;
    size_t size; /* of a value */
};

/* One of the batch. */
struct tfd_csr_one {
    int64_t rows, columns, count;
    const int32_t *row_at, *column;
    const char *values;
};

/* Input `in`, which keeps what it points to.  INVALID_ARGUMENT when it is no
 * matrix, or not a whole one: what is read is safe to walk. */
enum tfd_code tfd_csr_read(const struct tfd_kctx *k, int in,
                           struct tfd_csr *out,
                           struct tfd_status *st) TFD_MUST_USE;
struct tfd_csr_one tfd_csr_at(const struct tfd_csr *m, int64_t batch);

/* The tensors of a new matrix, for tfd_csr_parts_new() to make: columns and
 * values of so many elements without a value, rows all 0. */
struct tfd_csr_parts {
    struct tfd_tensor t[TFD_CSR_PARTS];
};
enum tfd_code tfd_csr_parts_new(struct tfd_csr_parts *p, const int64_t *dim,
                                int rank, int64_t count, enum tfd_dtype dtype,
                                struct tfd_status *st) TFD_MUST_USE;
void tfd_csr_parts_drop(struct tfd_csr_parts *p);
/* Output 0, a scalar, becomes a matrix of them. */
enum tfd_code tfd_csr_give(struct tfd_kctx *k, const struct tfd_csr_parts *p,
                           struct tfd_status *st) TFD_MUST_USE;

/* INVALID_ARGUMENT for dimensions that int32 do not count. */
enum tfd_code tfd_csr_check_sizes(const int64_t *dim, int rank, int64_t count,
                                  struct tfd_status *st) TFD_MUST_USE;
/* INVALID_ARGUMENT unless there are as many columns as rows. */
enum tfd_code tfd_csr_check_square(const struct tfd_csr *m,
                                   struct tfd_status *st) TFD_MUST_USE;
/* Counts behind their rows become where rows begin. */
void tfd_csr_sum_rows(int32_t *row_at, int64_t rows);
/* The imaginary parts of complex numbers change their sign. */
void tfd_csr_conjugate(enum tfd_dtype dtype, void *values, int64_t count);

#endif
