/*
 * long_view.h - helpers for the rows of long_shape.c: they read a shape of any
 * rank into an array of dimensions, merge dimensions, and give a kernel its
 * inputs under shapes of fewer dimensions.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_KERNELS_LONG_VIEW_H
#define TFD_KERNELS_LONG_VIEW_H

#include "kernels/layout/long_shape.h"

/* The dimensions of a shape, long or not. */
struct tfd_dims {
    int rank;
    int64_t at[TFD_RANK_LONG_MAX];
};
void tfd_dims_of(struct tfd_dims *d, const struct tfd_shape *s);
/* The product of dimensions [from, to). */
int64_t tfd_dims_product(const struct tfd_dims *d, int from, int to);
/* Appends dimensions [from, to) of another; INVALID_ARGUMENT "too many
 * dimensions" when there is no room. */
enum tfd_code tfd_dims_add(struct tfd_dims *d, const struct tfd_dims *from,
                           int begin, int end,
                           struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_dims_push(struct tfd_dims *d, int64_t dim,
                            struct tfd_status *st) TFD_MUST_USE;
bool tfd_dims_equal(const struct tfd_dims *a, const struct tfd_dims *b,
                    int begin, int end);
/* The shape; *out may be what d was read from. */
enum tfd_code tfd_dims_shape(const struct tfd_dims *d, struct tfd_shape *out,
                             struct tfd_status *st) TFD_MUST_USE;

/* A vector (or with count -1 a scalar) of INT32 or INT64 that lives as long as
 * this struct.  count is at most TFD_RANK_MAX. */
struct tfd_small_ints {
    struct tfd_buffer buffer;
    union {
        int32_t i32[TFD_RANK_MAX];
        int64_t i64[TFD_RANK_MAX];
    } u;
};
struct tfd_tensor tfd_small_ints(struct tfd_small_ints *room,
                                 enum tfd_dtype dtype, const int64_t *values,
                                 int count);

/* The inputs of an execution, to be changed and then given to its kernel.  The
 * elements stay where they are. */
#define TFD_LONG_VIEW_INPUTS 8
struct tfd_long_view {
    struct tfd_kctx k; /* k.in may be changed, by whoever made the view */
    struct tfd_tensor few[TFD_LONG_VIEW_INPUTS];
    struct tfd_tensor *many; /* NULL: few is enough */
};
enum tfd_code tfd_long_view_init(struct tfd_long_view *v,
                                 const struct tfd_kctx *k,
                                 struct tfd_status *st) TFD_MUST_USE;
void tfd_long_view_deinit(struct tfd_long_view *v);
/* Runs the kernel on the view; the outputs are those of the execution.  Inputs
 * that are long still, which the row does not speak of, are refused. */
enum tfd_code tfd_long_view_run(struct tfd_long_view *v,
                                struct tfd_status *st) TFD_MUST_USE;

/* Input `in` as so many dimensions. */
void tfd_long_see(struct tfd_long_view *v, int in, const int64_t *dim,
                  int rank);

/* What a row of long_shape.c does. */
struct tfd_long_row {
    const char *op;
    enum tfd_code (*run)(struct tfd_kctx *k, const struct tfd_long_row *row,
                         struct tfd_status *st);
    int arg;           /* as run() says */
    uint32_t inputs;   /* bits: those that are seen with fewer dimensions */
    const char *words; /* of a refusal */
    enum tfd_long_growth growth;
};
typedef enum tfd_code tfd_long_fn(struct tfd_kctx *k,
                                  const struct tfd_long_row *row,
                                  struct tfd_status *st);

/* The first input that is long; negative: none. */
int tfd_long_first(const struct tfd_kctx *k);
/* UNIMPLEMENTED: the kernel does not take what is long. */
enum tfd_code tfd_long_fail(const struct tfd_kctx *k,
                            struct tfd_status *st) TFD_MUST_USE;
/* The same, where an input is long. */
enum tfd_code tfd_long_none_left(const struct tfd_kctx *k,
                                 struct tfd_status *st) TFD_MUST_USE;

/* The table, sorted by op. */
const struct tfd_long_row *tfd_long_rows_all(int *count);

/* long_batch.c.  The kernel takes any shape as it is. */
tfd_long_fn tfd_long_as_is;
/* TensorFlow's kernel does not take it either: UNIMPLEMENTED with its words, in
 * which %d is the rank of input 0; INVALID_ARGUMENT where arg is 1. */
tfd_long_fn tfd_long_refuse;
/* Elementwise on inputs of one shape, and scalars.  With arg 1 outputs keep the
 * shape that the kernel gives them. */
tfd_long_fn tfd_long_flat;
/* The last `arg` dimensions of input 0 are a row or a matrix, those before are
 * a batch, which the other `inputs` have as well. */
tfd_long_fn tfd_long_batch;
tfd_long_fn tfd_long_matrix_diag; /* arg depends on k, input 1 */
tfd_long_fn tfd_long_bias;        /* by data_format */
/* Input `arg` says the output's dimensions, and nothing else depends on it. */
tfd_long_fn tfd_long_sizes;

/* long_rows.c.  Rows of input 0 by the numbers in input 1, whose dimensions
 * they begin with (arg 0), or which is a vector of another length (arg 1). */
tfd_long_fn tfd_long_rows;
tfd_long_fn tfd_long_stitch;
tfd_long_fn tfd_long_one_hot;

/* long_axis.c.  Input `arg` (from the end where negative) is the axis. */
tfd_long_fn tfd_long_axis;
tfd_long_fn tfd_long_pack;
tfd_long_fn tfd_long_unpack;
tfd_long_fn tfd_long_gather; /* the axis is input 2 where there is one */
tfd_long_fn tfd_long_gather_nd;

/* long_reduce.c */
tfd_long_fn tfd_long_reduce;

/* long_reshape.c */
tfd_long_fn tfd_long_shape;
tfd_long_fn tfd_long_reshape;
tfd_long_fn tfd_long_expand;
tfd_long_fn tfd_long_squeeze;

/* long_slice.c */
tfd_long_fn tfd_long_slice;
tfd_long_fn tfd_long_strided_slice;
tfd_long_fn tfd_long_tile;
tfd_long_fn tfd_long_transpose;

/* long_broadcast.c.  All inputs against each other, but for their last `arg`
 * dimensions. */
tfd_long_fn tfd_long_broadcast;
tfd_long_fn tfd_long_broadcast_to;

#endif
