/*
 * matrix_diag.c - diagonals of matrices, the two last dimensions of a tensor:
 *
 *     MatrixDiag MatrixDiagPart MatrixSetDiag, and their V2 and V3
 *
 * Diagonal d has the elements [i, i + d].  Several of them, from `lower` to
 * `upper`, are the rows of a matrix, the upper one first, each as long as the
 * longest.  Shorter ones are aligned left or right in their row, those from 0
 * up and those from 0 down each in their way; the rest is padding or not read.
 */
#include "kernels/array/matrix_diag_loops.h"

#include "common/base/min.h"

#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"

#include <string.h>

/* ---- Reading what is asked for ------------------------------------------- */

enum tfd_code tfd_matrix_diag_align(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct tfd_matrix_diag *b = state;
    struct tfd_str align;

    TFD_TRY(tfd_node_str(p->node, "align", &align, st));
    b->upper_left = tfd_str_starts(align, "LEFT_");
    b->lower_left =
        align.size > 5 && memcmp(align.data + align.size - 5, "_LEFT", 5) == 0;
    return TFD_OK;
}

enum tfd_code tfd_matrix_diag_left(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct tfd_matrix_diag *b = state;

    (void)p;
    (void)st;
    b->upper_left = b->lower_left = true;
    return TFD_OK;
}

/* Input `arg`, one number or two; without it, 0. */
static enum tfd_code read_bounds(const struct tfd_kctx *k, int arg,
                                 struct tfd_matrix_diag *b,
                                 struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[arg];
    char text[TFD_SHAPE_TEXT_MAX];
    int64_t n;

    b->lower = b->upper = 0;
    if (k->in_count <= arg)
        return TFD_OK;
    n = tfd_tensor_elements(t);
    if (t->shape.rank > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "diag_index must be a scalar or vector, received "
                        "shape: %s",
                        tfd_shape_text(&t->shape, text));
    if (n < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s",
                        k->in_count > 3 || arg == 1
                            ? "Expected diag_index to have at least 1 element"
                            : "diag_index must have at least one element");
    if (n > 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "diag_index must have only one or two elements, "
                        "received %lld elements.",
                        (long long)n);
    b->lower = tfd_check_int_at(t, 0);
    b->upper = tfd_check_int_at(t, n - 1);
    if (b->lower > b->upper)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "lower_diag_index must not be larger than "
                        "upper_diag_index: %lld > %lld",
                        (long long)b->lower, (long long)b->upper);
    return TFD_OK;
}

static bool in_matrix(const struct tfd_matrix_diag *b, int64_t d)
{
    return d == 0 || (d > -b->rows && d < b->columns);
}

/* The band of input 0, matrices. */
static enum tfd_code read_band(const struct tfd_kctx *k, int arg,
                               struct tfd_matrix_diag *b, struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[0].shape;
    const char *stop = arg == 1 ? "." : ""; /* MatrixDiagPart's sentence ends */
    char text[TFD_SHAPE_TEXT_MAX];
    bool low;

    if (s->rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must be at least 2-dim, received shape: %s",
                        tfd_shape_text(s, text));
    TFD_TRY(read_bounds(k, arg, b, st));
    b->rows = s->dim[s->rank - 2];
    b->columns = s->dim[s->rank - 1];
    low = !in_matrix(b, b->lower);
    if (low || !in_matrix(b, b->upper))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s_diag_index is out of bound: %lld%s It must be "
                        "between %lld and %lld",
                        low ? "lower" : "upper",
                        (long long)(low ? b->lower : b->upper), stop,
                        (long long)-b->rows, (long long)b->columns);
    b->length = tfd_min(b->rows + tfd_min(b->upper, 0),
                        b->columns - tfd_max(b->lower, 0));
    return TFD_OK;
}

/* The shape of the diagonals of matrices of shape s. */
static struct tfd_shape diagonals_of(const struct tfd_shape *s,
                                     const struct tfd_matrix_diag *b)
{
    struct tfd_shape out = *s;

    out.rank -= 2;
    if (b->lower != b->upper)
        out.dim[out.rank++] = b->upper - b->lower + 1;
    out.dim[out.rank++] = b->length;
    return out;
}

/* Number of matrices. */
static int64_t count_of(const struct tfd_shape *s, int inner)
{
    int64_t n = 1;

    for (int i = 0; i < s->rank - inner; i++)
        n *= s->dim[i];
    return n;
}

/* ---- MatrixDiagPart ------------------------------------------------------ */

static enum tfd_code fill_diagonal(struct tfd_kctx *k, int padding,
                                   struct tfd_status *st)
{
    struct tfd_tensor *y = &k->out[0];
    int64_t n = tfd_tensor_elements(y);

    if (padding < k->in_count)
        return tfd_elements_fill(y->dtype, tfd_tensor_data(y),
                                 tfd_tensor_data(&k->in[padding]), n, st);
    tfd_elements_zero(y->dtype, tfd_tensor_data(y), n);
    return TFD_OK;
}

enum tfd_code tfd_matrix_diag_part_output(struct tfd_kctx *k,
                                          struct tfd_matrix_diag *b,
                                          struct tfd_status *st)
{
    struct tfd_shape out;

    *b = *(const struct tfd_matrix_diag *)k->state;
    TFD_TRY(read_band(k, 1, b, st));
    out = diagonals_of(&k->in[0].shape, b);
    return tfd_kctx_output(k, 0, k->in[0].dtype, &out, st);
}

static enum tfd_code part_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_matrix_diag b;

    TFD_TRY(tfd_matrix_diag_part_output(k, &b, st));
    if (tfd_tensor_elements(&k->out[0]) == 0)
        return TFD_OK;
    if (b.lower != b.upper) /* one diagonal has no padding */
        TFD_TRY(fill_diagonal(k, 2, st));
    tfd_matrix_diag_copy(k, &(struct tfd_matrix_diag_copy){
                                .band = &b,
                                .dtype = x->dtype,
                                .count = count_of(&x->shape, 2),
                                .matrices = tfd_tensor_data(x),
                                .diagonals = tfd_tensor_data(&k->out[0])});
    return TFD_OK;
}

/* ---- MatrixDiag ---------------------------------------------------------- */

static enum tfd_code read_size(const struct tfd_kctx *k, int arg, int64_t *out,
                               struct tfd_status *st)
{
    *out = -1;
    return arg < k->in_count ? tfd_check_int(k, arg, out, st) : TFD_OK;
}

/* Sizes that are not given (-1) are the smallest that fit; of two given ones
 * one has to be. */
static enum tfd_code fit_matrix(struct tfd_matrix_diag *b,
                                struct tfd_status *st)
{
    const int64_t rows = b->length - tfd_min(b->upper, 0);
    const int64_t columns = b->length + tfd_max(b->lower, 0);

    if (b->rows == -1 && b->columns == -1) {
        b->rows = b->columns = tfd_max(rows, columns);
        return TFD_OK;
    }
    b->rows = b->rows == -1 ? rows : b->rows;
    b->columns = b->columns == -1 ? columns : b->columns;
    if (b->rows < rows)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The number of rows is too small.");
    if (b->columns < columns)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The number of columns is too small.");
    if (b->rows != rows && b->columns != columns)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The number of rows or columns is not consistent with "
                        "the specified d_lower, d_upper, and diagonal.");
    return TFD_OK;
}

static enum tfd_code diag_shape_of(const struct tfd_kctx *k,
                                   struct tfd_matrix_diag *b,
                                   struct tfd_shape *out, struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[0].shape;
    const int64_t count = b->upper - b->lower + 1;
    const int inner = count > 1 ? 2 : 1;
    char text[TFD_SHAPE_TEXT_MAX];

    if (s->rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "diagonal must be at least 1-dim, received shape: %s",
                        tfd_shape_text(s, text));
    if (s->rank < inner || (count > 1 && s->dim[s->rank - 2] != count))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The number of diagonals provided in the input does "
                        "not match the lower_diag_index and upper_diag_index "
                        "range.");
    b->length = s->dim[s->rank - 1];
    TFD_TRY(fit_matrix(b, st));
    if (s->rank - inner + 2 > TFD_RANK_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "diagonal has %d dimensions, too many for matrices",
                        s->rank);
    *out = *s;
    out->rank = s->rank - inner;
    out->dim[out->rank++] = b->rows;
    out->dim[out->rank++] = b->columns;
    return tfd_shape_make(out, out->dim, out->rank, st);
}

enum tfd_code tfd_matrix_diag_output(struct tfd_kctx *k,
                                     struct tfd_matrix_diag *b,
                                     struct tfd_status *st)
{
    struct tfd_shape out;

    *b = *(const struct tfd_matrix_diag *)k->state;
    TFD_TRY(read_bounds(k, 1, b, st));
    TFD_TRY(read_size(k, 2, &b->rows, st));
    TFD_TRY(read_size(k, 3, &b->columns, st));
    TFD_TRY(diag_shape_of(k, b, &out, st));
    return tfd_kctx_output(k, 0, k->in[0].dtype, &out, st);
}

static enum tfd_code diag_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_matrix_diag b;

    TFD_TRY(tfd_matrix_diag_output(k, &b, st));
    if (tfd_tensor_elements(&k->out[0]) == 0)
        return TFD_OK;
    TFD_TRY(fill_diagonal(k, 4, st));
    tfd_matrix_diag_copy(k, &(struct tfd_matrix_diag_copy){
                                .band = &b,
                                .dtype = x->dtype,
                                .count = count_of(&k->out[0].shape, 2),
                                .matrices = tfd_tensor_data(&k->out[0]),
                                .diagonals = tfd_tensor_data(x),
                                .to_matrices = true});
    return TFD_OK;
}

/* ---- MatrixSetDiag ------------------------------------------------------- */

enum tfd_code tfd_matrix_diag_set_output(struct tfd_kctx *k,
                                         struct tfd_matrix_diag *b,
                                         struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0], *diagonal = &k->in[1];
    char text[3][TFD_SHAPE_TEXT_MAX];
    struct tfd_shape expected;
    int64_t count;

    *b = *(const struct tfd_matrix_diag *)k->state;
    TFD_TRY(read_band(k, 2, b, st));
    if (diagonal->shape.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "diagonal must be at least 1-dim, received shape: %s",
                        tfd_shape_text(&diagonal->shape, text[1]));
    expected = diagonals_of(&x->shape, b);
    count = b->upper - b->lower + 1;
    if (count > 1 && (diagonal->shape.rank < 2 ||
                      diagonal->shape.dim[diagonal->shape.rank - 2] != count))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The number of diagonals provided in `diag` is not "
                        "consistent with `lower_diag_index` and "
                        "`upper_diag_index`");
    if (!tfd_shape_equal(&expected, &diagonal->shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Either first dimensions of diagonal don't match "
                        "input.shape[:-2], or diagonal.shape[:-1] is not equal "
                        "to the longests diagonal in range "
                        "[lower_diag_index:upper_diag_index].\nInput shape: "
                        "%s\nDiagonal shape: %s\nExpected diagonal shape: %s",
                        tfd_shape_text(&x->shape, text[0]),
                        tfd_shape_text(&diagonal->shape, text[1]),
                        tfd_shape_text(&expected, text[2]));
    return tfd_kctx_output_like(k, 0, 0, st);
}

static enum tfd_code set_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_matrix_diag b;

    TFD_TRY(tfd_matrix_diag_set_output(k, &b, st));
    if (tfd_tensor_elements(x) == 0)
        return TFD_OK;
    tfd_matrix_diag_set(
        k,
        &(struct tfd_matrix_diag_copy){.band = &b,
                                       .dtype = x->dtype,
                                       .count = count_of(&x->shape, 2),
                                       .matrices = tfd_tensor_data(&k->out[0]),
                                       .diagonals = tfd_tensor_data(&k->in[1]),
                                       .to_matrices = true},
        tfd_tensor_data(x));
    return TFD_OK;
}

/* ---- Shapes -------------------------------------------------------------- */

/* Bounds as read_bounds() has them; false when they are not known yet. */
static bool known_bounds(const struct tfd_shape_ctx *s, int in,
                         struct tfd_matrix_diag *b)
{
    const struct tfd_tensor *t;
    int64_t n;

    b->lower = b->upper = 0;
    if (s->in_count <= in)
        return true;
    t = s->value ? s->value[in] : NULL;
    n = t ? tfd_tensor_elements(t) : 0;
    if (n < 1 || n > 2)
        return false;
    b->lower = tfd_check_int_at(t, 0);
    b->upper = tfd_check_int_at(t, n - 1);
    return b->lower <= b->upper;
}

static enum tfd_code part_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_shape *x = &s->in[0];
    struct tfd_matrix_diag b;

    if (x->rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    if (x->rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank 2 but is rank %d",
                        x->rank);
    if (!known_bounds(s, 1, &b))
        return TFD_OK;
    b.rows = x->dim[x->rank - 2];
    b.columns = x->dim[x->rank - 1];
    b.length = TFD_DIM_UNKNOWN;
    if (b.rows != TFD_DIM_UNKNOWN && b.columns != TFD_DIM_UNKNOWN)
        b.length = tfd_max(0, tfd_min(b.rows + tfd_min(b.upper, 0),
                                      b.columns - tfd_max(b.lower, 0)));
    s->out[0] = diagonals_of(x, &b);
    return TFD_OK;
}

static enum tfd_code set_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_shape *x = &s->in[0];

    if (x->rank != TFD_RANK_UNKNOWN && x->rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank 2 but is rank %d",
                        x->rank);
    s->out[0] = *x;
    return TFD_OK;
}

/* The size that input `in` gives, -1 without it; false: not known yet. */
static bool known_size(const struct tfd_shape_ctx *s, int in, int64_t *out)
{
    *out = -1;
    if (s->in_count <= in)
        return true;
    if (!s->value || !s->value[in] || tfd_tensor_elements(s->value[in]) != 1)
        return false;
    *out = tfd_check_int_at(s->value[in], 0);
    return true;
}

static enum tfd_code diag_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_shape *x = &s->in[0];
    int inner;
    struct tfd_matrix_diag b;

    if (x->rank == TFD_RANK_UNKNOWN || !known_bounds(s, 1, &b))
        return TFD_OK;
    inner = b.lower == b.upper ? 1 : 2;
    if (x->rank < inner)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank %d but is rank %d", inner,
                        x->rank);
    if (x->rank - inner + 2 > TFD_RANK_MAX)
        return TFD_OK;
    s->out[0] = *x;
    s->out[0].rank = x->rank - inner + 2;
    b.length = x->dim[x->rank - 1];
    if (b.length == TFD_DIM_UNKNOWN || !known_size(s, 2, &b.rows) ||
        !known_size(s, 3, &b.columns))
        b.rows = b.columns = TFD_DIM_UNKNOWN;
    else
        TFD_TRY(fit_matrix(&b, st));
    s->out[0].dim[s->out[0].rank - 2] = b.rows;
    s->out[0].dim[s->out[0].rank - 1] = b.columns;
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

/* The first version of the ops has no bounds and no padding. */
static bool has_bounds(const struct tfd_grad *g, int bounds)
{
    return g->node->in_count > bounds;
}

/* `name` in the version of the forward op, with its alignment. */
static struct tfd_edge same_version(struct tfd_gradient *b, const char *name,
                                    const struct tfd_edge *in, int in_count)
{
    static const char *const versions[][3] = {
        {"MatrixDiag", "MatrixDiagV2", "MatrixDiagV3"},
        {"MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3"},
        {"MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3"},
    };
    const struct tfd_str own = b->g->node->op->name;
    const char last = own.data[own.size - 1];
    int version = last == '2' ? 1 : last == '3' ? 2 : 0, row = 0;

    while (strcmp(versions[row][0], name) != 0)
        row++;
    if (version == 2)
        return tfd_gradient_op_like(b, versions[row][version], in, in_count,
                                    "align");
    return tfd_gradient_op(b, versions[row][version], in, in_count);
}

/* The diagonals of dy. */
static struct tfd_edge part_of_dy(struct tfd_gradient *b, int bounds)
{
    const struct tfd_grad *g = b->g;
    struct tfd_edge in[3] = {g->dy[0]};

    if (!has_bounds(g, bounds))
        return same_version(b, "MatrixDiagPart", in, 1);
    in[1] = g->x[bounds];
    in[2] = tfd_gradient_scalar(b, g->dy[0], 0);
    return same_version(b, "MatrixDiagPart", in, 3);
}

/* `matrix` with other diagonals. */
static struct tfd_edge set_diagonals(struct tfd_gradient *b,
                                     struct tfd_edge matrix,
                                     struct tfd_edge diagonals, int bounds)
{
    const struct tfd_grad *g = b->g;
    struct tfd_edge in[3] = {matrix, diagonals};

    if (has_bounds(g, bounds))
        in[2] = g->x[bounds];
    return same_version(b, "MatrixSetDiag", in, has_bounds(g, bounds) ? 3 : 2);
}

static enum tfd_code diag_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] = part_of_dy(&b, 1);
    return b.code;
}

static enum tfd_code part_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge zeros = tfd_gradient_op1(&b, "ZerosLike", g->x[0]);

    g->dx[0] = set_diagonals(&b, zeros, g->dy[0], 1);
    return b.code;
}

static enum tfd_code set_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge zeros = tfd_gradient_op1(&b, "ZerosLike", g->x[1]);

    g->dx[0] = set_diagonals(&b, g->dy[0], zeros, 2);
    g->dx[1] = part_of_dy(&b, 2);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define ALIGN                                             \
    "; align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', " \
    "'RIGHT_RIGHT'} = 'RIGHT_LEFT'"

#define OP(name_, in, out, align, checks_, shape_, grad_)                      \
    {                                                                          \
        .name = name_, .inputs = in, .outputs = out, .attrs = "T: type" align, \
        .checks = checks_, .shape = shape_, .grad = grad_,                     \
    }

#define DIAG_OP(name, more, align, checks)                               \
    OP(name, "diagonal: T" more, "output: T", align, checks, diag_shape, \
       diag_gradient)
#define PART_OP(name, more, align, checks)                              \
    OP(name, "input: T" more, "diagonal: T", align, checks, part_shape, \
       part_gradient)
#define SET_OP(name, more, align)                                    \
    OP(name, "input: T, diagonal: T" more, "output: T", align, NULL, \
       set_shape, set_gradient)

#define OLD_OP(name, in, out, shape) OP(name, in, out, "", NULL, shape, NULL)
#define DIAG_INPUTS \
    ", k: int32, num_rows: int32, num_cols: int32, padding_value: T"
#define DIAG_CHECKS                                  \
    "num_rows: scalar 'num_rows must be a scalar'; " \
    "num_cols: scalar 'num_cols must be a scalar'; " \
    "padding_value: scalar 'padding_value must be a scalar'"
#define PART_INPUTS ", k: int32, padding_value: T"
#define PART_CHECKS "padding_value: one 'Padding must be scalar.'"

static const struct tfd_opdef ops[] = {
    DIAG_OP("MatrixDiag", "", "", NULL),
    DIAG_OP("MatrixDiagV2", DIAG_INPUTS, "", DIAG_CHECKS),
    DIAG_OP("MatrixDiagV3", DIAG_INPUTS, ALIGN, DIAG_CHECKS),
    PART_OP("MatrixDiagPart", "", "", NULL),
    PART_OP("MatrixDiagPartV2", PART_INPUTS, "", PART_CHECKS),
    PART_OP("MatrixDiagPartV3", PART_INPUTS, ALIGN, PART_CHECKS),
    SET_OP("MatrixSetDiag", "", ""),
    SET_OP("MatrixSetDiagV2", ", k: int32", ""),
    SET_OP("MatrixSetDiagV3", ", k: int32", ALIGN),
    OLD_OP("BatchMatrixDiag", "diagonal: T", "output: T", diag_shape),
    OLD_OP("BatchMatrixDiagPart", "input: T", "diagonal: T", part_shape),
    OLD_OP("BatchMatrixSetDiag", "input: T, diagonal: T", "output: T",
           set_shape),
};

#define KERNEL(op, type, compute, prepare_)            \
    TFD_KERNEL(op, type, compute, .prepare = prepare_, \
               .state_size = sizeof(struct tfd_matrix_diag)),
#define KERNELS(type, number, T)                                            \
    KERNEL("MatrixDiag", type, diag_compute, tfd_matrix_diag_left)          \
    KERNEL("BatchMatrixDiag", type, diag_compute, tfd_matrix_diag_left)     \
    KERNEL("BatchMatrixDiagPart", type, part_compute, tfd_matrix_diag_left) \
    KERNEL("BatchMatrixSetDiag", type, set_compute, tfd_matrix_diag_left)   \
    KERNEL("MatrixDiagV2", type, diag_compute, tfd_matrix_diag_left)        \
    KERNEL("MatrixDiagV3", type, diag_compute, tfd_matrix_diag_align)       \
    KERNEL("MatrixDiagPart", type, part_compute, tfd_matrix_diag_left)      \
    KERNEL("MatrixDiagPartV2", type, part_compute, tfd_matrix_diag_left)    \
    KERNEL("MatrixDiagPartV3", type, part_compute, tfd_matrix_diag_align)   \
    KERNEL("MatrixSetDiag", type, set_compute, tfd_matrix_diag_left)        \
    KERNEL("MatrixSetDiagV2", type, set_compute, tfd_matrix_diag_left)      \
    KERNEL("MatrixSetDiagV3", type, set_compute, tfd_matrix_diag_align)

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(KERNELS) TFD_HALF_DTYPES(KERNELS)
        TFD_COMPLEX_DTYPES(KERNELS) KERNELS(BOOL, 10, tfd_bool)};

const struct tfd_family tfd_family_matrix_diag = {
    .name = "matrix_diag",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
