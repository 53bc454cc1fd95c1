/* linalg_grad.c - see linalg_grad.h. */
#include "kernels/linalg/linalg_grad.h"

#include "kernels/linalg/batch_matmul_grad.h"

/* ---- What they are written in -------------------------------------------- */

struct tfd_edge tfd_linalg_emit_product(struct tfd_gradient *b,
                                        struct tfd_edge x, bool adj_x,
                                        struct tfd_edge y, bool adj_y)
{
    const struct tfd_gradient_attr attrs[] = {
        {"adj_x", 'b', adj_x}, {"adj_y", 'b', adj_y}, {NULL, 0, 0}};
    const struct tfd_edge in[] = {x, y};
    struct tfd_edge out;

    tfd_gradient_with(b, "BatchMatMulV2", in, 2, attrs, &out, 1);
    return out;
}

/* Of a rank that only a step knows: 0, 1, ... rank - 1, rank - 2. */
static struct tfd_edge permutation(struct tfd_gradient *b, struct tfd_edge x)
{
    struct tfd_edge rank = tfd_gradient_op1(b, "Rank", x), in[4], last[2];

    for (int32_t i = 0; i < 3; i++)
        in[i] = tfd_gradient_ints(b, &i, -1);
    last[0] = tfd_gradient_op2(b, "Sub", rank, in[1]);
    last[1] = tfd_gradient_op2(b, "Sub", rank, in[2]);
    in[0] = tfd_gradient_op3(b, "Range", in[0], last[1], in[1]);
    in[1] = tfd_linalg_emit_axis(b, last[0], 0);
    in[2] = tfd_linalg_emit_axis(b, last[1], 0);
    in[3] = tfd_gradient_ints(b, (const int32_t[]){0}, -1);
    return tfd_gradient_op(b, "ConcatV2", in, 4);
}

struct tfd_edge tfd_linalg_emit_transposed(struct tfd_gradient *b,
                                           struct tfd_edge x, bool conjugated)
{
    const char *op = conjugated ? "ConjugateTranspose" : "Transpose";
    int32_t order[TFD_RANK_MAX];
    struct tfd_shape shape;

    if (b->code != TFD_OK)
        return TFD_EDGE_NONE;
    (void)tfd_grad_shape(b->g, x, &shape);
    if (shape.rank < 2)
        return tfd_gradient_op2(b, op, x, permutation(b, x));
    for (int32_t i = 0; i < shape.rank; i++)
        order[i] = i;
    order[shape.rank - 1] = shape.rank - 2;
    order[shape.rank - 2] = shape.rank - 1;
    return tfd_gradient_op2(b, op, x, tfd_gradient_ints(b, order, shape.rank));
}

struct tfd_edge tfd_linalg_emit_band(struct tfd_gradient *b, struct tfd_edge x,
                                     int32_t lower, int32_t upper)
{
    return tfd_gradient_op3(b, "MatrixBandPart", x,
                            tfd_gradient_ints(b, &lower, -1),
                            tfd_gradient_ints(b, &upper, -1));
}

struct tfd_edge tfd_linalg_emit_triangular(struct tfd_gradient *b,
                                           struct tfd_edge a, struct tfd_edge y,
                                           bool lower, bool adjoint)
{
    const struct tfd_gradient_attr attrs[] = {
        {"lower", 'b', lower}, {"adjoint", 'b', adjoint}, {NULL, 0, 0}};
    const struct tfd_edge in[] = {a, y};
    struct tfd_edge out;

    tfd_gradient_with(b, "MatrixTriangularSolve", in, 2, attrs, &out, 1);
    return out;
}

struct tfd_edge tfd_linalg_emit_scaled(struct tfd_gradient *b,
                                       struct tfd_edge x, double factor)
{
    return tfd_gradient_op2(b, "Mul", x, tfd_gradient_scalar(b, x, factor));
}

struct tfd_edge tfd_linalg_emit_sum(struct tfd_gradient *b, struct tfd_edge x,
                                    struct tfd_edge y)
{
    return tfd_gradient_op2(b, "AddV2", x, y);
}

struct tfd_edge tfd_linalg_emit_columns(struct tfd_gradient *b,
                                        struct tfd_edge x, int64_t from,
                                        int64_t to)
{
    const struct tfd_gradient_attr attrs[] = {{"ellipsis_mask", 'i', 1},
                                              {NULL, 0, 0}};
    const int32_t begin[] = {0, (int32_t)from}, end[] = {0, (int32_t)to},
                  step[] = {1, 1};
    const struct tfd_edge in[] = {x, tfd_gradient_ints(b, begin, 2),
                                  tfd_gradient_ints(b, end, 2),
                                  tfd_gradient_ints(b, step, 2)};
    struct tfd_edge out;

    tfd_gradient_with(b, "StridedSlice", in, 4, attrs, &out, 1);
    return out;
}

struct tfd_edge tfd_linalg_emit_axis(struct tfd_gradient *b, struct tfd_edge x,
                                     int32_t axis)
{
    return tfd_gradient_op2(b, "ExpandDims", x,
                            tfd_gradient_ints(b, &axis, -1));
}

enum tfd_code tfd_linalg_known_size(struct tfd_gradient *b, struct tfd_edge x,
                                    int64_t *rows, int64_t *columns)
{
    struct tfd_shape s;

    (void)tfd_grad_shape(b->g, x, &s);
    *rows = s.rank < 2 ? TFD_DIM_UNKNOWN : s.dim[s.rank - 2];
    *columns = s.rank < 2 ? TFD_DIM_UNKNOWN : s.dim[s.rank - 1];
    if (*rows >= 0 && *columns >= 0 && *rows <= INT32_MAX &&
        *columns <= INT32_MAX)
        return TFD_OK;
    return tfd_fail(b->st, TFD_UNIMPLEMENTED,
                    "there is no gradient of " TFD_STR_FMT
                    " for matrices of a size that is not known",
                    TFD_STR_ARG(b->g->node->op->name));
}

static struct tfd_edge negative_product(struct tfd_gradient *b,
                                        struct tfd_edge x, bool adj_x,
                                        struct tfd_edge y, bool adj_y)
{
    return tfd_gradient_op1(b, "Neg",
                            tfd_linalg_emit_product(b, x, adj_x, y, adj_y));
}

/* ---- Inverses and systems ------------------------------------------------ */

enum tfd_code tfd_linalg_inverse_gradient(struct tfd_grad *g,
                                          struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge y = g->y[0], inner;
    bool adjoint;

    TFD_TRY(tfd_node_bool(g->node, "adjoint", &adjoint, st));
    inner = tfd_linalg_emit_product(&b, g->dy[0], adjoint, y, !adjoint);
    g->dx[0] = negative_product(&b, y, !adjoint, inner, false);
    return b.code;
}

/* By the matrix, from the gradient by the right side. */
static struct tfd_edge by_matrix(struct tfd_gradient *b, struct tfd_edge right,
                                 bool adjoint)
{
    struct tfd_edge y = b->g->y[0];

    return negative_product(b, adjoint ? y : right, false, adjoint ? right : y,
                            true);
}

enum tfd_code tfd_linalg_solve_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->x[0], g->dy[0]};
    struct tfd_gradient_attr attrs[] = {{"adjoint", 'b', 0}, {NULL, 0, 0}};
    bool adjoint;

    TFD_TRY(tfd_node_bool(g->node, "adjoint", &adjoint, st));
    attrs[0].value = !adjoint;
    tfd_gradient_with(&b, "MatrixSolve", in, 2, attrs, &g->dx[1], 1);
    g->dx[0] = by_matrix(&b, g->dx[1], adjoint);
    return b.code;
}

enum tfd_code tfd_linalg_triangular_gradient(struct tfd_grad *g,
                                             struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge dx[2];
    bool lower, adjoint;

    TFD_TRY(tfd_node_bool(g->node, "lower", &lower, st));
    TFD_TRY(tfd_node_bool(g->node, "adjoint", &adjoint, st));
    dx[1] = tfd_linalg_emit_triangular(&b, g->x[0], g->dy[0], lower, !adjoint);
    dx[0] = tfd_linalg_emit_band(&b, by_matrix(&b, dx[1], adjoint),
                                 lower ? -1 : 0, lower ? 0 : -1);
    tfd_batch_matmul_sum_back(&b, dx);
    g->dx[0] = dx[0];
    g->dx[1] = dx[1];
    return b.code;
}

/* ---- Determinants -------------------------------------------------------- */

/* A factor for each matrix times the adjoint's inverse. */
static enum tfd_code of_determinants(struct tfd_gradient *b,
                                     struct tfd_edge factor)
{
    static const char *const flags[] = {"adjoint", NULL};
    struct tfd_grad *g = b->g;

    factor = tfd_linalg_emit_axis(b, tfd_linalg_emit_axis(b, factor, -1), -1);
    g->dx[0] = tfd_gradient_op2(
        b, "Mul", factor,
        tfd_gradient_op_flags(b, "MatrixInverse", g->x, 1, flags));
    return b->code;
}

enum tfd_code tfd_linalg_det_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    return of_determinants(&b, tfd_gradient_op2(&b, "Mul", g->dy[0], g->y[0]));
}

/* The sign makes steps. */
enum tfd_code tfd_linalg_log_det_gradient(struct tfd_grad *g,
                                          struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    return of_determinants(&b, tfd_gradient_given(&b, 1));
}

/* ---- Cholesky ------------------------------------------------------------ */

static struct tfd_edge identity_like(struct tfd_gradient *b, struct tfd_edge x)
{
    return tfd_linalg_emit_band(b, tfd_gradient_op1(b, "OnesLike", x), 0, 0);
}

/* l^-H (the lower triangle of l^H dy, its diagonal halved) l^-1, and of that
 * and its adjoint the mean. */
enum tfd_code tfd_linalg_cholesky_gradient(struct tfd_grad *g,
                                           struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge l = g->y[0], inverse, middle, dx;

    inverse =
        tfd_linalg_emit_triangular(&b, l, identity_like(&b, l), true, false);
    middle = tfd_linalg_emit_product(&b, l, true, g->dy[0], false);
    middle = tfd_gradient_op2(
        &b, "MatrixSetDiag", middle,
        tfd_linalg_emit_scaled(
            &b, tfd_gradient_op1(&b, "MatrixDiagPart", middle), 0.5));
    middle = tfd_linalg_emit_band(&b, middle, -1, 0);
    dx = tfd_linalg_emit_product(&b, inverse, true, middle, false);
    dx = tfd_linalg_emit_product(&b, dx, false, inverse, false);
    dx = tfd_linalg_emit_sum(&b, dx, tfd_linalg_emit_transposed(&b, dx, true));
    g->dx[0] = tfd_linalg_emit_scaled(&b, dx, 0.5);
    return b.code;
}

/* ---- Least squares ------------------------------------------------------- */

/* The factor of a^H a + l2, or of a a^H + l2. */
static struct tfd_edge factor_of_squares(struct tfd_gradient *b, bool tall)
{
    struct tfd_edge a = b->g->x[0], l2, squares;

    squares = tfd_linalg_emit_product(b, a, tall, a, !tall);
    if (b->code != TFD_OK)
        return TFD_EDGE_NONE;
    l2 = tfd_gradient_cast(b, b->g->x[2], tfd_gradient_dtype(b, a));
    l2 = tfd_gradient_op2(b, "Mul", identity_like(b, squares), l2);
    return tfd_gradient_op1(b, "Cholesky", tfd_linalg_emit_sum(b, squares, l2));
}

static struct tfd_edge solved_by_factor(struct tfd_gradient *b,
                                        struct tfd_edge l, struct tfd_edge y)
{
    y = tfd_linalg_emit_triangular(b, l, y, true, false);
    return tfd_linalg_emit_triangular(b, l, y, true, true);
}

/* x = (a^H a + l2)^-1 a^H b */
static void tall_system(struct tfd_gradient *b)
{
    struct tfd_grad *g = b->g;
    struct tfd_edge a = g->x[0], z, xz;

    z = solved_by_factor(b, factor_of_squares(b, true), g->dy[0]);
    xz = tfd_linalg_emit_product(b, g->y[0], false, z, true);
    xz = tfd_linalg_emit_sum(b, xz, tfd_linalg_emit_transposed(b, xz, false));
    g->dx[0] = tfd_linalg_emit_sum(
        b, negative_product(b, a, false, xz, false),
        tfd_linalg_emit_product(b, g->x[1], false, z, true));
    g->dx[1] = tfd_linalg_emit_product(b, a, false, z, false);
}

/* x = a^H (a a^H + l2)^-1 b */
static void wide_system(struct tfd_gradient *b)
{
    struct tfd_grad *g = b->g;
    struct tfd_edge a = g->x[0], l = factor_of_squares(b, false), z, left,
                    right;

    g->dx[1] = solved_by_factor(
        b, l, tfd_linalg_emit_product(b, a, false, g->dy[0], false));
    z = solved_by_factor(b, l, g->x[1]);
    left = tfd_linalg_emit_product(b, z, true, a, false);
    left = negative_product(b, g->dx[1], false, left, false);
    right =
        tfd_gradient_op2(b, "Sub", g->dy[0],
                         tfd_linalg_emit_product(b, a, true, g->dx[1], false));
    right = tfd_linalg_emit_product(b, z, false, right, true);
    g->dx[0] = tfd_linalg_emit_sum(b, left, right);
}

enum tfd_code tfd_linalg_least_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    int64_t rows, columns;
    bool fast;

    TFD_TRY(tfd_node_bool(g->node, "fast", &fast, st));
    if (!fast)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Gradient not defined for fast=False");
    TFD_TRY(tfd_linalg_known_size(&b, g->x[0], &rows, &columns));
    if (rows >= columns)
        tall_system(&b);
    else
        wide_system(&b);
    return b.code;
}

/* ---- Square root --------------------------------------------------------- */

/* Each element of x times each of y: [m * m, m * m] of two [m, m], of which
 * only the dimensions are still apart. */
static struct tfd_edge kronecker(struct tfd_gradient *b, struct tfd_edge x,
                                 struct tfd_edge y)
{
    x = tfd_linalg_emit_axis(b, tfd_linalg_emit_axis(b, x, -1), -3);
    y = tfd_linalg_emit_axis(b, tfd_linalg_emit_axis(b, y, -2), -4);
    return tfd_gradient_op2(b, "Mul", x, y);
}

/* The last two dimensions of a shape, or all before them. */
static struct tfd_edge part_of_shape(struct tfd_gradient *b,
                                     struct tfd_edge shape, bool last)
{
    const struct tfd_gradient_attr attrs[] = {
        {last ? "end_mask" : "begin_mask", 'i', 1}, {NULL, 0, 0}};
    const int32_t at = -2, step = 1;
    const struct tfd_edge edge = tfd_gradient_ints(b, &at, 1);
    const struct tfd_edge in[] = {shape, edge, edge,
                                  tfd_gradient_ints(b, &step, 1)};
    struct tfd_edge out;

    tfd_gradient_with(b, "StridedSlice", in, 4, attrs, &out, 1);
    return out;
}

/* x in the shape that three vectors make together. */
static struct tfd_edge shaped(struct tfd_gradient *b, struct tfd_edge x,
                              struct tfd_edge front, struct tfd_edge rows,
                              struct tfd_edge columns)
{
    const struct tfd_edge in[] = {
        front, rows, columns, tfd_gradient_ints(b, (const int32_t[]){0}, -1)};

    return tfd_gradient_op2(b, "Reshape", x,
                            tfd_gradient_op(b, "ConcatV2", in, 4));
}

/* Of r r = a follows r dr + dr r = da: a system of m * m unknowns. */
enum tfd_code tfd_linalg_root_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    static const char *const keep[] = {"keep_dims", NULL};
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge r = g->y[0], shape = tfd_gradient_shape(&b, r);
    struct tfd_edge front = part_of_shape(&b, shape, false), sum, right;
    const int32_t zero = 0, one = 1;
    struct tfd_edge in[] = {part_of_shape(&b, shape, true),
                            tfd_gradient_ints(&b, &zero, 1)};
    struct tfd_edge size = tfd_gradient_op_flags(&b, "Prod", in, 2, keep);
    struct tfd_edge unit = identity_like(&b, r);

    sum = kronecker(&b, unit, tfd_linalg_emit_transposed(&b, r, false));
    sum = tfd_linalg_emit_sum(&b, sum, kronecker(&b, r, unit));
    sum = shaped(&b, sum, front, size, size);
    right = tfd_linalg_emit_transposed(&b, g->dy[0], false);
    right = shaped(&b, right, front, size, tfd_gradient_ints(&b, &one, 1));
    right = tfd_gradient_op2(&b, "MatrixSolve", sum, right);
    right = tfd_gradient_op2(&b, "Reshape", right, shape);
    g->dx[0] = tfd_linalg_emit_transposed(&b, right, false);
    return b.code;
}
