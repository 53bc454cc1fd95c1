/*
 * sparse_union.c - two sparse tensors of one shape become one: SparseAdd with
 * its gradient, SparseSparseMaximum and SparseSparseMinimum.
 *
 * Both are walked at once, as if they were in order, which nobody checks; what
 * stands in one of them alone is taken over:
 *
 *     a  2  5  7      from a  0  1  .  2
 *     b  5  6         from b  .  0  1  .       "." is -1
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/core/summarize.h"
#include "kernels/sparse/sparse_pick.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Walking both -------------------------------------------------------- */

struct both {
    struct tfd_sparse a, b;
    struct tfd_tensor from_a, from_b;
    int64_t count;
};

static void both_deinit(struct both *u)
{
    tfd_tensor_unref(&u->from_a);
    tfd_tensor_unref(&u->from_b);
}

/* How many elements there are in either; -1 where the step has ended.  Inlined
 * with a constant rank. */
__attribute__((always_inline)) static inline int64_t
walk_both(const struct tfd_sparse *a, const struct tfd_sparse *b, int rank,
          int64_t *from_a, int64_t *from_b)
{
    int64_t i = 0, j = 0, n = 0;

    for (; i < a->count && j < b->count; n++) {
        const int order =
            tfd_sparse_compare(a->index + i * rank, b->index + j * rank, rank);

        if (tfd_sparse_stops(n))
            return -1;
        from_a[n] = order <= 0 ? i : -1;
        from_b[n] = order >= 0 ? j : -1;
        i += order <= 0;
        j += order >= 0;
    }
    for (; i < a->count || j < b->count; n++) {
        if (tfd_sparse_stops(n))
            return -1;
        from_a[n] = i < a->count ? i++ : -1;
        from_b[n] = j < b->count ? j++ : -1;
    }
    return n;
}

static enum tfd_code walk(struct both *u, struct tfd_status *st)
{
    const struct tfd_sparse *a = &u->a, *b = &u->b;
    int64_t *from_a, *from_b;

    TFD_TRY(tfd_sparse_numbers(&u->from_a, a->count + b->count, st));
    TFD_TRY(tfd_sparse_numbers(&u->from_b, a->count + b->count, st));
    from_a = tfd_tensor_data(&u->from_a);
    from_b = tfd_tensor_data(&u->from_b);
    u->count = a->rank == 2 ? walk_both(a, b, 2, from_a, from_b)
                            : walk_both(a, b, a->rank, from_a, from_b);
    return u->count < 0 ? tfd_halt_fail(st) : TFD_OK;
}

static enum tfd_code put_indices(struct tfd_kctx *k, const struct both *u,
                                 struct tfd_status *st)
{
    const struct tfd_shape matrix = {2, {u->count, u->a.rank}};
    int64_t *to;

    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &matrix, st));
    to = tfd_tensor_data(&k->out[0]);
    TFD_TRY(tfd_sparse_pick_rows(to, u->a.index, u->a.rank,
                                 tfd_tensor_data(&u->from_a), u->count, st));
    return tfd_sparse_pick_rows(to, u->b.index, u->a.rank,
                                tfd_tensor_data(&u->from_b), u->count, st);
}

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code fail_ranks(const struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_bytes a, b;
    enum tfd_code rc;

    tfd_bytes_init(&a, TFD_STATUS_TEXT_MAX);
    tfd_bytes_init(&b, TFD_STATUS_TEXT_MAX);
    tfd_summarize(&a, &k->in[2], 10);
    tfd_summarize(&b, &k->in[5], 10);
    rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                  "Operands do not have the same ranks; got shapes: %.*s and "
                  "%.*s",
                  (int)tfd_bytes_view(&a).size, tfd_bytes_view(&a).data,
                  (int)tfd_bytes_view(&b).size, tfd_bytes_view(&b).data);
    tfd_bytes_deinit(&b);
    tfd_bytes_deinit(&a);
    return rc;
}

static enum tfd_code check_same_dims(const struct tfd_kctx *k,
                                     struct tfd_status *st)
{
    const struct tfd_tensor *a = &k->in[2], *b = &k->in[5];

    if (a->shape.dim[0] != b->shape.dim[0])
        return fail_ranks(k, st);
    for (int64_t d = 0; d < a->shape.dim[0]; d++)
        if (tfd_check_int_at(a, d) != tfd_check_int_at(b, d))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Operands' shapes do not match: got %" PRId64
                            " and %" PRId64 " for dimension %" PRId64,
                            tfd_check_int_at(a, d), tfd_check_int_at(b, d), d);
    return TFD_OK;
}

static enum tfd_code check_pair(const struct tfd_kctx *k, int in, int rank,
                                const char *what, struct tfd_status *st)
{
    const struct tfd_shape *a = &k->in[in].shape, *b = &k->in[in + 3].shape;
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (a->rank == rank && b->rank == rank)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Input %s %s and %s", what,
                    tfd_shape_text(a, one), tfd_shape_text(b, other));
}

static enum tfd_code check_add(const struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *a = &k->in[0].shape, *b = &k->in[3].shape;
    int64_t a_values, b_values;
    char text[TFD_SHAPE_TEXT_MAX];

    TFD_TRY(check_pair(k, 0, 2,
                       "indices should be matrices but received shapes:", st));
    TFD_TRY(check_pair(k, 1, 1,
                       "values should be vectors but received shapes:", st));
    a_values = k->in[1].shape.dim[0];
    b_values = k->in[4].shape.dim[0];
    if (a_values != a->dim[0] || b_values != b->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected %" PRId64 " and %" PRId64
                        " non-empty input values, got %" PRId64 " and %" PRId64,
                        a->dim[0], b->dim[0], a_values, b_values);
    TFD_TRY(check_pair(k, 2, 1, "shapes should be a vector but received shapes",
                       st));
    TFD_TRY(check_same_dims(k, st));
    if (k->in[6].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The magnitude threshold must be a scalar: got shape "
                        "%s",
                        tfd_shape_text(&k->in[6].shape, text));
    return TFD_OK;
}

static enum tfd_code check_columns(const struct tfd_kctx *k,
                                   struct tfd_status *st)
{
    const int64_t a = k->in[0].shape.dim[1], b = k->in[3].shape.dim[1],
                  rank = k->in[2].shape.dim[0];

    if (a != b)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input indices must have the same dimension, got "
                        "%" PRId64 " and %" PRId64,
                        a, b);
    if (a != rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Second dimension of a_indices and length of a_shape "
                        "must match, got %" PRId64 " and %" PRId64,
                        a, rank);
    if (rank > TFD_RANK_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a sparse tensor of rank %" PRId64 "; the limit is %d",
                        rank, TFD_RANK_MAX);
    return TFD_OK;
}

static struct tfd_sparse plain_sparse(const struct tfd_kctx *k, int in)
{
    return (struct tfd_sparse){
        tfd_tensor_data(&k->in[in]), tfd_tensor_data(&k->in[in + 2]),
        k->in[in].shape.dim[0], (int)k->in[in].shape.dim[1], &k->in[in + 1]};
}

/* ---- SparseAdd ----------------------------------------------------------- */

struct sums {
    const void *a, *b;
    void *y;
    int64_t *from_a, *from_b, count;
    double float_limit;
    int64_t int_limit;
};

/* Sums whose size is below the limit are left out; what stands in one of both
 * alone stays.  Returns how many are kept; -1 where the step has ended. */
#define SUMS(name, T, SUM, SIZE, LIMIT)                          \
    static int64_t sums_##name(const struct sums *s)             \
    {                                                            \
        const T *a = s->a, *b = s->b;                            \
        T *y = s->y;                                             \
        int64_t kept = 0;                                        \
                                                                 \
        for (int64_t i = 0; i < s->count; i++) {                 \
            const int64_t m = s->from_a[i], n = s->from_b[i];    \
                                                                 \
            if (tfd_sparse_stops(i))                             \
                return -1;                                       \
            if (m >= 0 && n >= 0)                                \
                y[kept] = SUM(a[m], b[n], T);                    \
            else                                                 \
                y[kept] = m >= 0 ? a[m] : b[n];                  \
            if (m >= 0 && n >= 0 && !((LIMIT) <= SIZE(y[kept]))) \
                continue;                                        \
            s->from_a[kept] = m;                                 \
            s->from_b[kept++] = n;                               \
        }                                                        \
        return kept;                                             \
    }
#define PLUS(a, b, T) ((a) + (b))
#define WRAPPING_PLUS(a, b, T) ((T)((uint64_t)(a) + (uint64_t)(b)))
#define COMPLEX_PLUS(a, b, T) ((T){(a).re + (b).re, (a).im + (b).im})
#define SMALL_SIZE(x) ((x) < 0 ? -(x) : (x))
/* The smallest has no opposite. */
#define INT32_SIZE(x) ((x) < 0 ? (int32_t)(0u - (uint32_t)(x)) : (x))
#define INT64_SIZE(x) ((x) < 0 ? (int64_t)(0ull - (uint64_t)(x)) : (x))
#define COMPLEX64_SIZE(x) hypotf((x).re, (x).im)
#define COMPLEX128_SIZE(x) hypot((x).re, (x).im)

SUMS(FLOAT, float, PLUS, fabsf, (float)s->float_limit)
SUMS(DOUBLE, double, PLUS, fabs, s->float_limit)
SUMS(INT8, int8_t, WRAPPING_PLUS, SMALL_SIZE, s->int_limit)
SUMS(INT16, int16_t, WRAPPING_PLUS, SMALL_SIZE, s->int_limit)
SUMS(INT32, int32_t, WRAPPING_PLUS, INT32_SIZE, s->int_limit)
SUMS(INT64, int64_t, WRAPPING_PLUS, INT64_SIZE, s->int_limit)
SUMS(COMPLEX64, tfd_complex64, COMPLEX_PLUS, COMPLEX64_SIZE,
     (float)s->float_limit)
SUMS(COMPLEX128, tfd_complex128, COMPLEX_PLUS, COMPLEX128_SIZE, s->float_limit)

typedef int64_t sums_fn(const struct sums *s);
static sums_fn *const sums_of[TFD_DTYPE_END] = {
    [TFD_FLOAT] = sums_FLOAT,         [TFD_DOUBLE] = sums_DOUBLE,
    [TFD_INT8] = sums_INT8,           [TFD_INT16] = sums_INT16,
    [TFD_INT32] = sums_INT32,         [TFD_INT64] = sums_INT64,
    [TFD_COMPLEX64] = sums_COMPLEX64, [TFD_COMPLEX128] = sums_COMPLEX128,
};

/* The threshold has the type of a value's size. */
static enum tfd_code read_limit(const struct tfd_kctx *k, struct sums *s,
                                struct tfd_status *st)
{
    enum tfd_dtype want = k->in[1].dtype, have = k->in[6].dtype;
    const void *at = tfd_tensor_data(&k->in[6]);

    want = want == TFD_COMPLEX64    ? TFD_FLOAT
           : want == TFD_COMPLEX128 ? TFD_DOUBLE
                                    : want;
    if (have != want)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a threshold of type %s for values of type %s; it must "
                        "be of type %s",
                        tfd_dtype_name((int)have),
                        tfd_dtype_name((int)k->in[1].dtype),
                        tfd_dtype_name((int)want));
#define LIMIT(name, number, T)                        \
    if (have == TFD_##name) {                         \
        s->float_limit = (double)*(const T *)at;      \
        if (have != TFD_FLOAT && have != TFD_DOUBLE)  \
            s->int_limit = (int64_t) * (const T *)at; \
    }
    TFD_REAL_DTYPES(LIMIT)
#undef LIMIT
    return TFD_OK;
}

static enum tfd_code put_sums(struct tfd_kctx *k, struct both *u,
                              struct sums *s, struct tfd_tensor *memory,
                              struct tfd_status *st)
{
    struct tfd_shape vector = {1, {0}};
    enum tfd_dtype dtype = u->a.values->dtype;

    TFD_TRY(walk(u, st));
    vector.dim[0] = u->count;
    TFD_TRY(tfd_tensor_new(memory, dtype, &vector, st));
    s->a = tfd_tensor_data(u->a.values);
    s->b = tfd_tensor_data(u->b.values);
    s->y = tfd_tensor_data(memory);
    s->from_a = tfd_tensor_data(&u->from_a);
    s->from_b = tfd_tensor_data(&u->from_b);
    s->count = u->count;
    u->count = sums_of[dtype](s);
    if (u->count < 0)
        return tfd_halt_fail(st);
    vector.dim[0] = u->count;
    TFD_TRY(put_indices(k, u, st));
    TFD_TRY(tfd_kctx_output(k, 1, dtype, &vector, st));
    if (u->count > 0)
        memcpy(tfd_tensor_data(&k->out[1]), s->y,
               (size_t)u->count * tfd_dtype_size(dtype));
    return TFD_OK;
}

static enum tfd_code add_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor memory = TFD_TENSOR_INIT;
    struct both u = {.from_a = TFD_TENSOR_INIT, .from_b = TFD_TENSOR_INIT};
    struct sums s = {0};
    enum tfd_code rc;

    TFD_TRY(check_add(k, st));
    TFD_TRY(read_limit(k, &s, st));
    TFD_TRY(check_columns(k, st));
    if (k->in[2].shape.dim[0] == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Tesors must not be empty");
    u.a = plain_sparse(k, 0);
    u.b = plain_sparse(k, 3);
    tfd_kctx_output_alias(k, 2, 2, &k->in[2].shape);
    rc = put_sums(k, &u, &s, &memory, st);
    both_deinit(&u);
    tfd_tensor_unref(&memory);
    return rc;
}

static enum tfd_code add_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    const struct tfd_edge in[4] = {g->dy[1], g->x[0], g->x[3], g->y[0]};
    struct tfd_edge out[2];

    if (g->dy[1].node < 0)
        return TFD_OK;
    TFD_TRY(
        tfd_grad_emit_attrs(g, "SparseAddGrad", in, 4, NULL, 0, out, 2, st));
    g->dx[1] = out[0];
    g->dx[4] = out[1];
    return TFD_OK;
}

/* ---- SparseAddGrad ------------------------------------------------------- */

static enum tfd_code check_add_grad(const struct tfd_kctx *k,
                                    struct tfd_status *st)
{
    const struct tfd_shape *dy = &k->in[0].shape, *a = &k->in[1].shape,
                           *b = &k->in[2].shape, *y = &k->in[3].shape;
    char text[3][TFD_SHAPE_TEXT_MAX];

    if (a->rank != 2 || b->rank != 2 || y->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input indices should be matrices but received shapes: "
                        "%s and %s and %s",
                        tfd_shape_text(a, text[0]), tfd_shape_text(b, text[1]),
                        tfd_shape_text(y, text[2]));
    if (dy->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input backprop_val_grad should be a vector but "
                        "received shape: %s",
                        tfd_shape_text(dy, text[0]));
    if (a->dim[1] != b->dim[1] || b->dim[1] != y->dim[1])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The densified operands should have the same ndims; "
                        "for A, B, sum got: %" PRId64 "%" PRId64 "%" PRId64,
                        a->dim[1], b->dim[1], y->dim[1]);
    if (dy->dim[0] != y->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "# elements of backprop_val_grad and # rows of "
                        "sum_indices should match (#nnz of sum): got %" PRId64
                        " and %" PRId64,
                        dy->dim[0], y->dim[0]);
    if (y->dim[1] > TFD_RANK_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a sparse tensor of rank %" PRId64 "; the limit is %d",
                        y->dim[1], TFD_RANK_MAX);
    return TFD_OK;
}

/* What the elements of input `in` have in dy; 0 where the sum has none. */
static enum tfd_code put_part_of_sum(struct tfd_kctx *k, int in, int out,
                                     struct tfd_status *st)
{
    const struct tfd_tensor *dy = &k->in[0];
    const struct tfd_shape vector = {1, {k->in[in].shape.dim[0]}};
    const int64_t *x = tfd_tensor_data(&k->in[in]),
                  *y = tfd_tensor_data(&k->in[3]);
    const int rank = (int)k->in[3].shape.dim[1];
    const size_t size = tfd_dtype_size(dy->dtype);

    TFD_TRY(tfd_kctx_output(k, out, dy->dtype, &vector, st));
    tfd_elements_clear(&k->out[out]);
    for (int64_t i = 0, j = 0; i < vector.dim[0] && j < dy->shape.dim[0];) {
        int order = tfd_sparse_compare(x + i * rank, y + j * rank, rank);

        if (tfd_sparse_stops(i + j))
            return tfd_halt_fail(st);
        if (order == 0)
            memcpy((char *)tfd_tensor_data(&k->out[out]) + (size_t)i * size,
                   (const char *)tfd_tensor_data(dy) + (size_t)j * size, size);
        i += order <= 0;
        j += order > 0;
    }
    return TFD_OK;
}

static enum tfd_code add_grad_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    TFD_TRY(check_add_grad(k, st));
    TFD_TRY(put_part_of_sum(k, 1, 0, st));
    return put_part_of_sum(k, 2, 1, st);
}

/* ---- SparseSparseMaximum, SparseSparseMinimum ---------------------------- */

static enum tfd_code extreme_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    tfd_range_fn **loop = state;
    enum tfd_dtype dtype;
    bool largest = tfd_str_is(p->node->op->name, "SparseSparseMaximum");

    TFD_TRY(tfd_node_type(p->node, "T", &dtype, st));
    *loop = p->loop(largest ? "Maximum" : "Minimum", dtype);
    return TFD_OK;
}

/* Values by `from`, 0 where there is none. */
static enum tfd_code spread(const struct tfd_sparse *s,
                            const struct tfd_tensor *from, int64_t count,
                            struct tfd_tensor *out, struct tfd_status *st)
{
    const struct tfd_shape vector = {1, {count}};
    enum tfd_dtype dtype = s->values->dtype;

    TFD_TRY(tfd_tensor_new(out, dtype, &vector, st));
    tfd_elements_clear(out);
    return tfd_sparse_pick_values(dtype, tfd_tensor_data(out),
                                  tfd_tensor_data(s->values),
                                  tfd_tensor_data(from), count, st);
}

static enum tfd_code put_extremes(struct tfd_kctx *k, struct both *u,
                                  struct tfd_tensor *a, struct tfd_tensor *b,
                                  struct tfd_status *st)
{
    tfd_range_fn *const *loop = k->state;
    struct tfd_row row = {.a_step = 1, .b_step = 1};

    TFD_TRY(walk(u, st));
    TFD_TRY(put_indices(k, u, st));
    TFD_TRY(spread(&u->a, &u->from_a, u->count, a, st));
    TFD_TRY(spread(&u->b, &u->from_b, u->count, b, st));
    TFD_TRY(tfd_kctx_output(k, 1, a->dtype, &a->shape, st));
    row.a = tfd_tensor_data(a);
    row.b = tfd_tensor_data(b);
    row.y = tfd_tensor_data(&k->out[1]);
    if (u->count > 0)
        tfd_elementwise_streams(k, a->dtype, 3, u->count, *loop, &row);
    return TFD_OK;
}

static enum tfd_code extreme_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor a = TFD_TENSOR_INIT, b = TFD_TENSOR_INIT;
    struct both u = {.from_a = TFD_TENSOR_INIT, .from_b = TFD_TENSOR_INIT};
    enum tfd_code rc;

    TFD_TRY(tfd_sparse_read(k, 0, &u.a, st));
    TFD_TRY(tfd_sparse_check_tuples(&u.a, st));
    TFD_TRY(tfd_sparse_read(k, 3, &u.b, st));
    TFD_TRY(tfd_sparse_check_tuples(&u.b, st));
    TFD_TRY(check_same_dims(k, st));
    if (u.a.rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Tensors must not be empty");
    rc = put_extremes(k, &u, &a, &b, st);
    both_deinit(&u);
    tfd_tensor_unref(&a);
    tfd_tensor_unref(&b);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

#define TWO                                           \
    "a_indices: int64, a_values: T, a_shape: int64, " \
    "b_indices: int64, b_values: T, b_shape: int64"

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseAdd",
        .inputs = TWO ", thresh: Treal",
        .outputs = "sum_indices: int64, sum_values: T, sum_shape: int64",
        .attrs = "T: numbertype; Treal: realnumbertype",
        .key = "T",
        .grad = add_gradient,
    },
    {
        .name = "SparseAddGrad",
        .inputs = "backprop_val_grad: T, a_indices: int64, b_indices: int64, "
                  "sum_indices: int64",
        .outputs = "a_val_grad: T, b_val_grad: T",
        .attrs = "T: numbertype",
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "SparseSparseMaximum",
        .inputs = TWO,
        .outputs = "output_indices: int64, output_values: T",
        .attrs = "T: realnumbertype",
    },
    {
        .name = "SparseSparseMinimum",
        .inputs = TWO,
        .outputs = "output_indices: int64, output_values: T",
        .attrs = "T: numbertype",
    },
};

#define ADD(name)                               \
    TFD_KERNEL("SparseAdd", name, add_compute), \
        TFD_KERNEL("SparseAddGrad", name, add_grad_compute)
#define EXTREME(op, name_)                                             \
    TFD_KERNEL(op, name_, extreme_compute, .prepare = extreme_prepare, \
               .state_size = sizeof(tfd_range_fn *))
#define EXTREMES(name, number, T) \
    EXTREME("SparseSparseMaximum", name), EXTREME("SparseSparseMinimum", name),

static const struct tfd_kernel kernels[] = {ADD(FLOAT),
                                            ADD(DOUBLE),
                                            ADD(INT8),
                                            ADD(INT16),
                                            ADD(INT32),
                                            ADD(INT64),
                                            ADD(COMPLEX64),
                                            ADD(COMPLEX128),
                                            TFD_REAL_DTYPES(EXTREMES)
                                                TFD_HALF_DTYPES(EXTREMES)};

const struct tfd_family tfd_family_sparse_union = {
    .name = "sparse_union",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
