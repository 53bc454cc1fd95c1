/*
 * csr_grad.c - see csr_grad.h.
 *
 * Of c = f(a) f(b), where f may transpose or take the adjoint, and dc:
 *
 *     of f(a): dc f(b)^H     of f(b): f(a)^H dc     of a: f of that
 */
#include "kernels/csr/csr_grad.h"

#include "kernels/core/gradient.h"

enum form { PLAIN, TRANSPOSED, ADJOINT };

static enum tfd_code read_form(const struct tfd_node *n, const char *transpose,
                               const char *adjoint, enum form *out,
                               struct tfd_status *st)
{
    bool transposed, adjoined;

    TFD_TRY(tfd_node_bool(n, transpose, &transposed, st));
    TFD_TRY(tfd_node_bool(n, adjoint, &adjoined, st));
    *out = adjoined ? ADJOINT : transposed ? TRANSPOSED : PLAIN;
    return TFD_OK;
}

/* Elements of a matrix: where they are, what they are, the shape. */
struct elements {
    struct tfd_edge at, values, shape;
};

static struct elements elements_of(struct tfd_gradient *b, struct tfd_edge m,
                                   enum tfd_dtype dtype)
{
    const struct tfd_gradient_attr attrs[] = {{"type", 't', dtype},
                                              {NULL, 0, 0}};
    struct tfd_edge out[3];

    tfd_gradient_with(b, "CSRSparseMatrixToSparseTensor", &m, 1, attrs, out, 3);
    return (struct elements){out[0], out[1], out[2]};
}

static struct tfd_edge vector_of(struct tfd_gradient *b, int32_t value)
{
    return tfd_gradient_ints(b, &value, 1);
}

/* Rows of x, along the first dimension or another. */
static struct tfd_edge taken(struct tfd_gradient *b, struct tfd_edge x,
                             struct tfd_edge indices, int32_t axis)
{
    return tfd_gradient_op3(b, "GatherV2", x, indices,
                            tfd_gradient_ints(b, &axis, -1));
}

/* ---- Of a sparse and a dense matrix -------------------------------------- */

/* The dense matrix with its last two dimensions exchanged. */
static struct tfd_edge turned(struct tfd_gradient *b, struct tfd_edge x,
                              int rank)
{
    const int32_t two[] = {1, 0}, three[] = {0, 2, 1};

    return tfd_gradient_op2(
        b, "Transpose", x, tfd_gradient_ints(b, rank == 2 ? two : three, rank));
}

/* What arrived, as if the output were neither turned nor conjugated. */
static struct tfd_edge arrived(struct tfd_gradient *b, int rank)
{
    struct tfd_edge dc = b->g->dy[0];
    bool transposed = false, conjugated = false;

    if (b->code == TFD_OK)
        b->code =
            tfd_node_bool(b->g->node, "transpose_output", &transposed, b->st);
    if (b->code == TFD_OK)
        b->code =
            tfd_node_bool(b->g->node, "conjugate_output", &conjugated, b->st);
    if (conjugated)
        dc = tfd_gradient_conj(b, dc);
    return transposed ? turned(b, dc, rank) : dc;
}

/* f(a)^H dc and of that f: of the transposed a it is the conjugate's conjugate.
 */
static struct tfd_edge by_dense(struct tfd_gradient *b, struct tfd_edge dc,
                                enum form of_a, enum form of_b, int rank)
{
    const struct tfd_gradient_attr attrs[] = {{"adjoint_a", 'b', of_a == PLAIN},
                                              {NULL, 0, 0}};
    const struct tfd_edge in[] = {
        b->g->x[0], of_a == TRANSPOSED ? tfd_gradient_conj(b, dc) : dc};
    struct tfd_edge out;

    tfd_gradient_with(b, "SparseMatrixMatMul", in, 2, attrs, &out, 1);
    if (of_a == TRANSPOSED)
        out = tfd_gradient_conj(b, out);
    if (of_b == ADJOINT)
        out = tfd_gradient_conj(b, out);
    return of_b == PLAIN ? out : turned(b, out, rank);
}

/* The rows of a dense matrix that the elements' rows or columns name. */
static struct tfd_edge rows_at(struct tfd_gradient *b, struct tfd_edge x,
                               struct tfd_edge at, bool by_column, int rank)
{
    const int32_t columns[] = {0, rank - 2 + by_column};
    struct tfd_edge chosen = tfd_gradient_ints(
        b, rank == 2 ? columns + 1 : columns, rank == 2 ? 1 : 2);

    return tfd_gradient_op2(b, "GatherNd", x, taken(b, at, chosen, 1));
}

/* f of dc f(b)^H, at the elements of a alone. */
static struct tfd_edge by_sparse(struct tfd_gradient *b, struct tfd_edge dc,
                                 enum form of_a, enum form of_b, int rank)
{
    const bool flipped = of_a != PLAIN;
    struct tfd_edge right = b->g->x[1], values;
    struct elements a;

    if (b->code != TFD_OK)
        return TFD_EDGE_NONE;
    a = elements_of(b, b->g->x[0], tfd_gradient_dtype(b, right));
    if (of_b != ADJOINT)
        right = tfd_gradient_conj(b, right);
    if (of_b != PLAIN)
        right = turned(b, right, rank);
    values = tfd_gradient_op2(b, "Mul", rows_at(b, dc, a.at, flipped, rank),
                              rows_at(b, right, a.at, !flipped, rank));
    values = tfd_gradient_op2(b, "Sum", values, vector_of(b, 1));
    if (of_a == ADJOINT)
        values = tfd_gradient_conj(b, values);
    return tfd_gradient_op3(b, "SparseTensorToCSRSparseMatrix", a.at, values,
                            a.shape);
}

enum tfd_code tfd_csr_matmul_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_shape right;
    struct tfd_edge dc;
    enum form of_a, of_b;

    TFD_TRY(read_form(g->node, "transpose_a", "adjoint_a", &of_a, st));
    TFD_TRY(read_form(g->node, "transpose_b", "adjoint_b", &of_b, st));
    (void)tfd_grad_shape(g, g->x[1], &right);
    if (right.rank != 2 && right.rank != 3)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "there is no gradient of SparseMatrixMatMul for a "
                        "dense matrix whose rank is not known to be 2 or 3");
    dc = arrived(&b, right.rank);
    g->dx[0] = by_sparse(&b, dc, of_a, of_b, right.rank);
    g->dx[1] = by_dense(&b, dc, of_a, of_b, right.rank);
    return b.code;
}

/* ---- Of two sparse matrices ---------------------------------------------- */

/* A product whose factors are named by GRAD, A, B and the conjugates. */
enum factor { GRAD, A, B, A_CONJUGATE, B_CONJUGATE };
struct product {
    enum factor left, right;
    enum form of_left, of_right;
};

/* By the forms of a and b: the gradients of both. */
static const struct product products[3][3][2] =
    {
        [PLAIN] =
            {
                [PLAIN] = {{GRAD, B, PLAIN, ADJOINT},
                           {A, GRAD, ADJOINT, PLAIN}},
                [TRANSPOSED] = {{GRAD, B_CONJUGATE, PLAIN, PLAIN},
                                {GRAD, A_CONJUGATE, TRANSPOSED, PLAIN}},
                [ADJOINT] = {{GRAD, B, PLAIN, PLAIN},
                             {GRAD, A, ADJOINT, PLAIN}},
            },
        [TRANSPOSED] =
            {
                [PLAIN] = {{B_CONJUGATE, GRAD, PLAIN, TRANSPOSED},
                           {A_CONJUGATE, GRAD, PLAIN, PLAIN}},
                [TRANSPOSED] = {{B, GRAD, ADJOINT, TRANSPOSED},
                                {GRAD, A, TRANSPOSED, ADJOINT}},
                [ADJOINT] = {{B, GRAD, TRANSPOSED, TRANSPOSED},
                             {GRAD, A, ADJOINT, TRANSPOSED}},
            },
        [ADJOINT] =
            {
                [PLAIN] = {{B, GRAD, PLAIN, ADJOINT}, {A, GRAD, PLAIN, PLAIN}},
                [TRANSPOSED] = {{B, GRAD, TRANSPOSED, ADJOINT},
                                {GRAD, A, TRANSPOSED, TRANSPOSED}},
                [ADJOINT] = {{B, GRAD, ADJOINT, ADJOINT},
                             {GRAD, A, ADJOINT, ADJOINT}},
            },
};

/* By the adjoint's transpose; a matrix of real numbers is its own. */
static struct tfd_edge conjugate(struct tfd_gradient *b, struct tfd_edge m,
                                 enum tfd_dtype dtype)
{
    struct tfd_gradient_attr attrs[] = {
        {"type", 't', dtype}, {"conjugate", 'b', 1}, {NULL, 0, 0}};
    struct tfd_edge out = m;

    if (dtype != TFD_COMPLEX64 && dtype != TFD_COMPLEX128)
        return m;
    for (int i = 1; i >= 0; i--) {
        attrs[1].value = i;
        m = out;
        tfd_gradient_with(b, "SparseMatrixTranspose", &m, 1, attrs, &out, 1);
    }
    return out;
}

static struct tfd_edge emit_factors(struct tfd_gradient *b,
                                    const struct product *p,
                                    enum tfd_dtype dtype)
{
    const struct tfd_gradient_attr attrs[] = {
        {"transpose_a", 'b', p->of_left == TRANSPOSED},
        {"adjoint_a", 'b', p->of_left == ADJOINT},
        {"transpose_b", 'b', p->of_right == TRANSPOSED},
        {"adjoint_b", 'b', p->of_right == ADJOINT},
        {"type", 't', dtype},
        {NULL, 0, 0}};
    struct tfd_edge in[2], out;

    for (int i = 0; i < 2; i++) {
        enum factor f = i == 0 ? p->left : p->right;

        if (f == GRAD)
            in[i] = b->g->dy[0];
        else if (f == A || f == B)
            in[i] = b->g->x[f == B];
        else
            in[i] = conjugate(b, b->g->x[f == B_CONJUGATE], dtype);
    }
    tfd_gradient_with(b, "SparseMatrixSparseMatMul", in, 2, attrs, &out, 1);
    return out;
}

/* Where each element would be if all rows lay one behind the other. */
static struct tfd_edge flat_places(struct tfd_gradient *b,
                                   const struct elements *m)
{
    static const char *const none[] = {NULL};
    const struct tfd_edge in[] = {
        m->at, m->shape, tfd_gradient_cast(b, vector_of(b, -1), TFD_INT64)};
    struct tfd_edge out[2];

    tfd_gradient_copying(b, "SparseReshape", in, 3, none, out, 2);
    return tfd_gradient_op2(b, "Reshape", out[0], vector_of(b, -1));
}

/* Of sorted places those that `wanted` has, too: indices into `places`. */
static struct tfd_edge common_places(struct tfd_gradient *b,
                                     struct tfd_edge places,
                                     struct tfd_edge wanted)
{
    const int32_t first = 0;
    struct tfd_edge axis = tfd_gradient_ints(b, &first, -1), in[3], match;

    match = tfd_gradient_op2(b, "LowerBound",
                             tfd_gradient_op2(b, "ExpandDims", places, axis),
                             tfd_gradient_op2(b, "ExpandDims", wanted, axis));
    match = tfd_gradient_op2(b, "Reshape", match, vector_of(b, -1));
    /* One that is after all others finds this, and is not there. */
    in[0] = places;
    in[1] = tfd_gradient_cast(b, vector_of(b, -1), TFD_INT64);
    in[2] = axis;
    places = tfd_gradient_op(b, "ConcatV2", in, 3);
    wanted = tfd_gradient_op2(b, "Equal", taken(b, places, match, 0), wanted);
    wanted = tfd_gradient_op2(
        b, "Reshape", tfd_gradient_op1(b, "Where", wanted), vector_of(b, -1));
    return taken(b, match, wanted, 0);
}

/* A matrix without the elements that `like` has not. */
static struct tfd_edge pruned(struct tfd_gradient *b, struct tfd_edge m,
                              struct tfd_edge like, enum tfd_dtype dtype)
{
    struct elements all = elements_of(b, m, dtype);
    struct elements wanted = elements_of(b, like, dtype);
    struct tfd_edge kept =
        common_places(b, flat_places(b, &all), flat_places(b, &wanted));

    return tfd_gradient_op3(b, "SparseTensorToCSRSparseMatrix",
                            taken(b, all.at, kept, 0),
                            taken(b, all.values, kept, 0), wanted.shape);
}

enum tfd_code tfd_csr_product_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    enum form of_a, of_b;
    enum tfd_dtype dtype;

    TFD_TRY(tfd_node_type(g->node, "type", &dtype, st));
    TFD_TRY(read_form(g->node, "transpose_a", "adjoint_a", &of_a, st));
    TFD_TRY(read_form(g->node, "transpose_b", "adjoint_b", &of_b, st));
    for (int i = 0; i < 2; i++)
        g->dx[i] = pruned(&b, emit_factors(&b, &products[of_a][of_b][i], dtype),
                          g->x[i], dtype);
    return b.code;
}
