/*
 * linalg_shape.c - see linalg_shape.h.
 */
#include "kernels/linalg/linalg_shape.h"

#include "common/base/min.h"

/* Rows and columns of input `in`, as far as they are known. */
static enum tfd_code read_matrix(const struct tfd_shape_ctx *s, int in,
                                 int64_t *rows, int64_t *columns,
                                 struct tfd_status *st)
{
    const struct tfd_shape *shape = &s->in[in];
    char text[TFD_SHAPE_TEXT_MAX];

    *rows = *columns = TFD_DIM_UNKNOWN;
    if (shape->rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    if (shape->rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank 2 but is %s",
                        tfd_shape_text(shape, text));
    *rows = shape->dim[shape->rank - 2];
    *columns = shape->dim[shape->rank - 1];
    return TFD_OK;
}

/* The dimensions in front of a matrix, then these; -2 for none. */
static struct tfd_shape shape_with(const struct tfd_shape *s, int64_t rows,
                                   int64_t columns)
{
    struct tfd_shape out = *s;

    if (s->rank == TFD_RANK_UNKNOWN)
        return out;
    out.rank = s->rank - 2;
    if (rows != -2)
        out.dim[out.rank++] = rows;
    if (columns != -2)
        out.dim[out.rank++] = columns;
    return out;
}

static int64_t smaller_dim(int64_t a, int64_t b)
{
    return a == TFD_DIM_UNKNOWN || b == TFD_DIM_UNKNOWN ? TFD_DIM_UNKNOWN
                                                        : tfd_min(a, b);
}

static enum tfd_code read_square(const struct tfd_shape_ctx *s, int64_t *n,
                                 struct tfd_status *st)
{
    int64_t rows, columns;

    TFD_TRY(read_matrix(s, 0, &rows, &columns, st));
    if (rows != TFD_DIM_UNKNOWN && columns != TFD_DIM_UNKNOWN &&
        rows != columns)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dimensions must be equal, but are %lld and %lld",
                        (long long)rows, (long long)columns);
    *n = rows == TFD_DIM_UNKNOWN ? columns : rows;
    return TFD_OK;
}

enum tfd_code tfd_linalg_shape_square(struct tfd_shape_ctx *s,
                                      struct tfd_status *st)
{
    int64_t n = TFD_DIM_UNKNOWN;

    TFD_TRY(read_square(s, &n, st));
    s->out[0] = shape_with(&s->in[0], n, n);
    return TFD_OK;
}

enum tfd_code tfd_linalg_shape_batch(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    int64_t n = TFD_DIM_UNKNOWN;

    TFD_TRY(read_square(s, &n, st));
    for (int i = 0; i < s->out_count; i++)
        s->out[i] = shape_with(&s->in[0], -2, -2);
    return TFD_OK;
}

enum tfd_code tfd_linalg_shape_solve(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    int64_t n = TFD_DIM_UNKNOWN, rows, columns;

    TFD_TRY(read_square(s, &n, st));
    TFD_TRY(read_matrix(s, 1, &rows, &columns, st));
    s->out[0] = s->in[1];
    return TFD_OK;
}

enum tfd_code tfd_linalg_shape_triangular(struct tfd_shape_ctx *s,
                                          struct tfd_status *st)
{
    int64_t n = TFD_DIM_UNKNOWN, rows, columns;

    TFD_TRY(read_square(s, &n, st));
    return read_matrix(s, 1, &rows, &columns, st);
}

enum tfd_code tfd_linalg_shape_qr(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    bool full = false;
    int64_t m, n, p;

    TFD_TRY(read_matrix(s, 0, &m, &n, st));
    if (s->node)
        TFD_TRY(tfd_node_bool(s->node, "full_matrices", &full, st));
    p = full ? m : smaller_dim(m, n);
    s->out[0] = shape_with(&s->in[0], m, p);
    s->out[1] = shape_with(&s->in[0], p, n);
    return TFD_OK;
}

enum tfd_code tfd_linalg_shape_eigen(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    bool vectors = true;
    int64_t n = TFD_DIM_UNKNOWN;

    TFD_TRY(read_square(s, &n, st));
    if (s->node)
        TFD_TRY(tfd_node_bool(s->node, "compute_v", &vectors, st));
    s->out[0] = shape_with(&s->in[0], n, -2);
    s->out[1] =
        vectors ? shape_with(&s->in[0], n, n) : (struct tfd_shape){1, {0}};
    return TFD_OK;
}

enum tfd_code tfd_linalg_shape_svd(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    bool vectors = true, full = false;
    int64_t m, n, p;

    TFD_TRY(read_matrix(s, 0, &m, &n, st));
    if (s->node) {
        TFD_TRY(tfd_node_bool(s->node, "compute_uv", &vectors, st));
        TFD_TRY(tfd_node_bool(s->node, "full_matrices", &full, st));
    }
    p = smaller_dim(m, n);
    s->out[0] = shape_with(&s->in[0], p, -2);
    s->out[1] = s->out[2] = (struct tfd_shape){1, {0}};
    if (vectors) {
        s->out[1] = shape_with(&s->in[0], m, full ? m : p);
        s->out[2] = shape_with(&s->in[0], n, full ? n : p);
    }
    return TFD_OK;
}
