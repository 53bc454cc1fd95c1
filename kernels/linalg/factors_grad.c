/*
 * factors_grad.c - gradients of eigenvalues, of Qr and of Svd: see
 * linalg_grad.h.
 *
 * Where two values are the same, vectors of both are any of a plane, and the
 * gradient by them has no meaning.
 */
#include "kernels/linalg/linalg_grad.h"

/* x / (x^2 + 1e-20) */
static struct tfd_edge safe_reciprocal(struct tfd_gradient *b,
                                       struct tfd_edge x)
{
    struct tfd_edge below = tfd_gradient_op2(b, "Mul", x, x);

    below = tfd_linalg_emit_sum(b, below, tfd_gradient_scalar(b, x, 1e-20));
    return tfd_gradient_op2(b, "Mul", x,
                            tfd_gradient_op1(b, "Reciprocal", below));
}

/* 1 / (e[j] - e[i]) at [i, j]; 0 on the diagonal. */
static struct tfd_edge differences(struct tfd_gradient *b, struct tfd_edge e)
{
    struct tfd_edge all =
        tfd_gradient_op2(b, "Sub", tfd_linalg_emit_axis(b, e, -2),
                         tfd_linalg_emit_axis(b, e, -1));

    return tfd_gradient_op2(b, "MatrixSetDiag", safe_reciprocal(b, all),
                            tfd_gradient_op1(b, "ZerosLike", e));
}

static struct tfd_edge plain_product(struct tfd_gradient *b, struct tfd_edge x,
                                     struct tfd_edge y)
{
    return tfd_linalg_emit_product(b, x, false, y, false);
}

static struct tfd_edge adjoint_of(struct tfd_gradient *b, struct tfd_edge x)
{
    return tfd_linalg_emit_transposed(b, x, true);
}

/* x and its adjoint. */
static struct tfd_edge with_adjoint(struct tfd_gradient *b, struct tfd_edge x)
{
    return tfd_linalg_emit_sum(b, x, adjoint_of(b, x));
}

/* x less its adjoint. */
static struct tfd_edge less_adjoint(struct tfd_gradient *b, struct tfd_edge x)
{
    return tfd_gradient_op2(b, "Sub", x, adjoint_of(b, x));
}

static bool is_complex(const struct tfd_gradient *b, struct tfd_edge x)
{
    enum tfd_dtype dtype = tfd_gradient_dtype(b, x);

    return dtype == TFD_COMPLEX64 || dtype == TFD_COMPLEX128;
}

/* x without its imaginary part, as complex as it was. */
static struct tfd_edge real_part(struct tfd_gradient *b, struct tfd_edge x)
{
    struct tfd_gradient_attr attrs[] = {{"Tout", 't', TFD_FLOAT}, {NULL, 0, 0}};
    enum tfd_dtype dtype;
    struct tfd_edge out;

    if (b->code != TFD_OK)
        return TFD_EDGE_NONE;
    dtype = tfd_gradient_dtype(b, x);
    if (dtype == TFD_COMPLEX128)
        attrs[0].value = TFD_DOUBLE;
    tfd_gradient_with(b, "Real", &x, 1, attrs, &out, 1);
    return tfd_gradient_cast(b, out, dtype);
}

/* ---- Eigenvalues --------------------------------------------------------- */

/* The kernel reads the lower triangle alone: dx of both, folded onto it. */
static struct tfd_edge folded(struct tfd_gradient *b, struct tfd_edge dx)
{
    dx = tfd_linalg_emit_band(b, with_adjoint(b, dx), -1, 0);
    return tfd_gradient_op2(
        b, "MatrixSetDiag", dx,
        tfd_linalg_emit_scaled(b, tfd_gradient_op1(b, "MatrixDiagPart", dx),
                               0.5));
}

/* The eigenvectors, anew where the node did not make them. */
static struct tfd_edge eigenvectors(struct tfd_gradient *b, const char *op,
                                    bool made)
{
    static const char *const names[] = {"Tout", NULL};
    struct tfd_edge out[2] = {TFD_EDGE_NONE, b->g->y[1]};

    if (!made)
        tfd_gradient_copying(b, op, b->g->x, 1, names, out, 2);
    return out[1];
}

enum tfd_code tfd_linalg_self_adjoint_gradient(struct tfd_grad *g,
                                               struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge v, middle, turned;
    bool vectors;

    TFD_TRY(tfd_node_bool(g->node, "compute_v", &vectors, st));
    v = eigenvectors(&b, "SelfAdjointEigV2", vectors);
    middle = tfd_gradient_op1(&b, "MatrixDiag", tfd_gradient_given(&b, 0));
    if (vectors) {
        turned = tfd_linalg_emit_product(&b, v, true, tfd_gradient_given(&b, 1),
                                         false);
        turned = tfd_gradient_op2(&b, "Mul", differences(&b, g->y[0]), turned);
        middle = tfd_linalg_emit_sum(&b, middle, turned);
    }
    middle = tfd_linalg_emit_product(&b, middle, false, v, true);
    g->dx[0] = folded(&b, plain_product(&b, v, middle));
    return b.code;
}

/* What comes by way of the eigenvectors, whose length is 1. */
static struct tfd_edge of_eigenvectors(struct tfd_gradient *b,
                                       struct tfd_edge v, struct tfd_edge vt)
{
    struct tfd_edge f = tfd_gradient_conj(b, differences(b, b->g->y[0]));
    struct tfd_edge vgv = plain_product(b, vt, tfd_gradient_given(b, 1)), part;

    part = tfd_gradient_op1(b, "MatrixDiagPart", real_part(b, vgv));
    part = tfd_gradient_op1(b, "MatrixDiag", part);
    part = plain_product(b, plain_product(b, vt, v), part);
    return tfd_gradient_op2(b, "Mul", f, tfd_gradient_op2(b, "Sub", vgv, part));
}

enum tfd_code tfd_linalg_eig_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge v, vt, middle;
    bool vectors;

    TFD_TRY(tfd_node_bool(g->node, "compute_v", &vectors, st));
    v = eigenvectors(&b, "Eig", vectors);
    vt = adjoint_of(&b, v);
    middle = tfd_gradient_op1(&b, "MatrixDiag", tfd_gradient_given(&b, 0));
    if (vectors)
        middle = tfd_linalg_emit_sum(&b, middle, of_eigenvectors(&b, v, vt));
    middle =
        tfd_gradient_op2(&b, "MatrixSolve", vt, plain_product(&b, middle, vt));
    g->dx[0] = tfd_gradient_cast(&b, middle, tfd_gradient_dtype(&b, g->x[0]));
    return b.code;
}

/* ---- Qr ------------------------------------------------------------------ */

/* x r^-H */
static struct tfd_edge divided(struct tfd_gradient *b, struct tfd_edge x,
                               struct tfd_edge r)
{
    return adjoint_of(
        b, tfd_linalg_emit_triangular(b, r, adjoint_of(b, x), false, false));
}

/* What complex numbers add: the imaginary part of the diagonal. */
static struct tfd_edge complex_part(struct tfd_gradient *b, struct tfd_edge q,
                                    struct tfd_edge r, struct tfd_edge qdq,
                                    struct tfd_edge rdr)
{
    struct tfd_edge m = tfd_gradient_op2(b, "Sub", rdr, adjoint_of(b, qdq));

    m = tfd_linalg_emit_band(b, m, 0, 0);
    m = tfd_gradient_op2(b, "Sub", m, real_part(b, m));
    return divided(b, plain_product(b, q, adjoint_of(b, m)), r);
}

/* Where there are no more columns than rows; r is square. */
static struct tfd_edge tall_qr(struct tfd_gradient *b, struct tfd_edge r,
                               struct tfd_edge dq, struct tfd_edge dr)
{
    struct tfd_edge q = b->g->y[0], qdq, rdr, lower, left, right;

    qdq = tfd_linalg_emit_product(b, q, true, dq, false);
    rdr = tfd_linalg_emit_product(b, r, false, dr, true);
    lower = tfd_linalg_emit_sum(b, less_adjoint(b, qdq), less_adjoint(b, rdr));
    lower = tfd_linalg_emit_band(b, lower, -1, 0);
    left =
        plain_product(b, q, tfd_linalg_emit_sum(b, dr, divided(b, lower, r)));
    right = tfd_gradient_op2(b, "Sub", dq, plain_product(b, q, qdq));
    left = tfd_linalg_emit_sum(b, left, divided(b, right, r));
    if (b->code == TFD_OK && is_complex(b, q))
        left = tfd_linalg_emit_sum(b, left, complex_part(b, q, r, qdq, rdr));
    return left;
}

/* The columns beyond a square follow from the others: x = [u, y], r = [ru, rv].
 */
static struct tfd_edge wide_qr(struct tfd_gradient *b, int64_t rows,
                               int64_t columns)
{
    const int32_t last = -1;
    struct tfd_edge dq = tfd_gradient_given(b, 0);
    struct tfd_edge dr = tfd_gradient_given(b, 1), rest, in[3];
    struct tfd_edge y = tfd_linalg_emit_columns(b, b->g->x[0], rows, columns);
    struct tfd_edge r = tfd_linalg_emit_columns(b, b->g->y[1], 0, rows);

    rest = tfd_linalg_emit_columns(b, dr, rows, columns);
    dr = tfd_linalg_emit_columns(b, dr, 0, rows);
    dq = tfd_linalg_emit_sum(b, dq,
                             tfd_linalg_emit_product(b, y, false, rest, true));
    in[0] = tall_qr(b, r, dq, dr);
    in[1] = plain_product(b, b->g->y[0], rest);
    in[2] = tfd_gradient_ints(b, &last, -1);
    return tfd_gradient_op(b, "ConcatV2", in, 3);
}

enum tfd_code tfd_linalg_qr_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    int64_t rows, columns;
    bool full;

    TFD_TRY(tfd_node_bool(g->node, "full_matrices", &full, st));
    TFD_TRY(tfd_linalg_known_size(&b, g->x[0], &rows, &columns));
    if (full && rows > columns)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "there is no gradient of Qr with full matrices for "
                        "%lld rows and %lld columns",
                        (long long)rows, (long long)columns);
    if (rows < columns)
        g->dx[0] = wide_qr(&b, rows, columns);
    else
        g->dx[0] = tall_qr(&b, g->y[1], tfd_gradient_given(&b, 0),
                           tfd_gradient_given(&b, 1));
    return b.code;
}

/* ---- Svd ----------------------------------------------------------------- */

/* Of a matrix with no more rows than columns: the adjoint where it has more. */
struct svd {
    int64_t rows, columns;
    bool full;
    struct tfd_edge s, u, v;    /* the values as a diagonal */
    struct tfd_edge ds, du, dv; /* what arrived; the same */
    struct tfd_edge inverse;    /* of s */
    struct tfd_edge v1, dv1;    /* the first `rows` columns */
    struct tfd_edge v_dv;       /* v1^H dv1 */
};

static void find_svd(struct tfd_gradient *b, struct svd *d)
{
    struct tfd_grad *g = b->g;
    const bool turned = d->rows > d->columns;
    const int u = turned ? 2 : 1, v = turned ? 1 : 2;
    const int64_t rows = d->rows;

    if (turned) {
        d->rows = d->columns;
        d->columns = rows;
    }
    d->s = tfd_gradient_op1(b, "MatrixDiag", g->y[0]);
    d->ds = tfd_gradient_op1(b, "MatrixDiag", tfd_gradient_given(b, 0));
    d->inverse = tfd_gradient_op1(b, "MatrixDiag", safe_reciprocal(b, g->y[0]));
    d->u = g->y[u];
    d->v = g->y[v];
    d->du = tfd_gradient_given(b, u);
    d->dv = tfd_gradient_given(b, v);
    d->v1 = tfd_linalg_emit_columns(b, d->v, 0, d->rows);
    d->dv1 = tfd_linalg_emit_columns(b, d->dv, 0, d->rows);
    d->v_dv = tfd_linalg_emit_product(b, d->v1, true, d->dv1, false);
}

/* By the values and by what turns vectors among each other. */
static struct tfd_edge svd_inside(struct tfd_gradient *b, const struct svd *d)
{
    struct tfd_edge f =
        differences(b, tfd_gradient_op1(b, "Square", b->g->y[0]));
    struct tfd_edge by_u = tfd_gradient_op2(
        b, "Mul", f, tfd_linalg_emit_product(b, d->u, true, d->du, false));
    struct tfd_edge by_v = tfd_gradient_op2(b, "Mul", f, d->v_dv), sum;

    by_u = plain_product(b, with_adjoint(b, by_u), d->s);
    by_v = plain_product(b, d->s, with_adjoint(b, by_v));
    sum = tfd_linalg_emit_sum(b, d->ds, by_u);
    sum = tfd_linalg_emit_sum(b, sum, by_v);
    sum = tfd_linalg_emit_product(b, sum, false, d->v1, true);
    return plain_product(b, d->u, sum);
}

/* By what turns v out of the rows' space. */
static struct tfd_edge svd_outside(struct tfd_gradient *b, const struct svd *d)
{
    struct tfd_edge turned = adjoint_of(b, d->dv1), part, v2, dv2;

    part = plain_product(b, turned, d->v1);
    part = tfd_linalg_emit_product(b, part, false, d->v1, true);
    turned = tfd_gradient_op2(b, "Sub", turned, part);
    if (d->full) {
        v2 = tfd_linalg_emit_columns(b, d->v, d->rows, d->columns);
        dv2 = tfd_linalg_emit_columns(b, d->dv, d->rows, d->columns);
        part = tfd_linalg_emit_product(b, d->v1, true, dv2, false);
        part = tfd_linalg_emit_product(b, part, false, v2, true);
        turned = tfd_gradient_op2(b, "Sub", turned, part);
    }
    return plain_product(b, plain_product(b, d->u, d->inverse), turned);
}

/* By the phases of complex vectors. */
static struct tfd_edge svd_phases(struct tfd_gradient *b, const struct svd *d)
{
    struct tfd_edge l = tfd_linalg_emit_band(b, d->v_dv, 0, 0);

    l = tfd_gradient_op2(b, "Sub", adjoint_of(b, l), l);
    l = tfd_linalg_emit_product(b, plain_product(b, d->inverse, l), false,
                                d->v1, true);
    return tfd_linalg_emit_scaled(b, plain_product(b, d->u, l), 0.5);
}

/* By the values alone: the vectors are made anew. */
static enum tfd_code of_values_alone(struct tfd_gradient *b)
{
    static const char *const none[] = {NULL};
    struct tfd_grad *g = b->g;
    struct tfd_edge out[3], inner;

    tfd_gradient_copying(b, "Svd", g->x, 1, none, out, 3);
    inner = tfd_linalg_emit_product(
        b, tfd_gradient_op1(b, "MatrixDiag", tfd_gradient_given(b, 0)), false,
        out[2], true);
    g->dx[0] = plain_product(b, out[1], inner);
    return b->code;
}

enum tfd_code tfd_linalg_svd_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct svd d;
    struct tfd_edge dx;
    bool vectors, turned;

    TFD_TRY(tfd_node_bool(g->node, "compute_uv", &vectors, st));
    TFD_TRY(tfd_node_bool(g->node, "full_matrices", &d.full, st));
    if (!vectors)
        return of_values_alone(&b);
    TFD_TRY(tfd_linalg_known_size(&b, g->x[0], &d.rows, &d.columns));
    turned = d.rows > d.columns;
    find_svd(&b, &d);
    if (d.full && d.columns - d.rows > 1)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "there is no gradient of Svd with full matrices for "
                        "sizes of %lld and %lld",
                        (long long)d.rows, (long long)d.columns);
    dx = svd_inside(&b, &d);
    if (d.rows < d.columns)
        dx = tfd_linalg_emit_sum(&b, dx, svd_outside(&b, &d));
    if (b.code == TFD_OK && is_complex(&b, g->x[0]))
        dx = tfd_linalg_emit_sum(&b, dx, svd_phases(&b, &d));
    g->dx[0] = turned ? adjoint_of(&b, dx) : dx;
    return b.code;
}
