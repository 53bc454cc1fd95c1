/*
 * sparse_count.c - how often each value comes in each row, as a sparse tensor:
 * DenseCountSparseOutput, SparseCountSparseOutput, RaggedCountSparseOutput.
 *
 * Each value becomes a pair, its row and itself; pairs are sorted, and those
 * that are equal counted.  So memory depends on the values that are there,
 * never on how many rows or bins there could be.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/summarize.h"
#include "kernels/sparse/ragged_rows.h"
#include "kernels/sparse/sparse_order.h"
#include "kernels/sparse/sparse_pick.h"

#include <inttypes.h>

struct counting_rows {
    const struct tfd_tensor *values, *weights;
    struct tfd_tensor rows; /* of each value */
    int64_t row_count;
    bool is_vector; /* the result has no rows */
    int64_t bins_min, bins_max;
    bool binary;
    struct tfd_tensor pairs, places; /* of the values that are counted */
    struct tfd_tensor order;
    int64_t count, largest;
};

static void counting_deinit(struct counting_rows *c)
{
    tfd_tensor_unref(&c->rows);
    tfd_tensor_unref(&c->pairs);
    tfd_tensor_unref(&c->places);
    tfd_tensor_unref(&c->order);
}

static enum tfd_code read_bins(const struct tfd_kctx *k,
                               struct counting_rows *c, struct tfd_status *st)
{
    TFD_TRY(tfd_node_int(k->node, "minlength", &c->bins_min, st));
    TFD_TRY(tfd_node_int(k->node, "maxlength", &c->bins_max, st));
    return tfd_node_bool(k->node, "binary_output", &c->binary, st);
}

static enum tfd_code check_count_weights(const struct counting_rows *c,
                                         const char *what,
                                         struct tfd_status *st)
{
    const struct tfd_shape *w = &c->weights->shape, *v = &c->values->shape;
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (tfd_tensor_elements(c->weights) == 0 || tfd_shape_equal(w, v))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Weights and %s must have the same shape. Weight shape: "
                    "%s; %s shape: %s",
                    what, tfd_shape_text(w, one), what,
                    tfd_shape_text(v, other));
}

/* ---- Pairs --------------------------------------------------------------- */

static enum tfd_code make_pairs(struct counting_rows *c, struct tfd_status *st)
{
    const int64_t n = tfd_tensor_elements(c->values), dim[2] = {n, 2};
    const int64_t *rows = tfd_tensor_data(&c->rows);
    struct tfd_shape shape;
    int64_t *pairs, *places;

    TFD_TRY(tfd_shape_make(&shape, dim, 2, st));
    TFD_TRY(tfd_tensor_new(&c->pairs, TFD_INT64, &shape, st));
    TFD_TRY(tfd_sparse_numbers(&c->places, n, st));
    pairs = tfd_tensor_data(&c->pairs);
    places = tfd_tensor_data(&c->places);
    for (int64_t i = 0; i < n; i++) {
        const int64_t value = tfd_check_int_at(c->values, i);

        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        if (value < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input values must all be non-negative");
        c->largest = value > c->largest ? value : c->largest;
        if (c->bins_max >= 0 && value >= c->bins_max)
            continue;
        pairs[2 * c->count] = rows[i];
        pairs[2 * c->count + 1] = value;
        places[c->count++] = i;
    }
    return TFD_OK;
}

static enum tfd_code sort_pairs(struct tfd_kctx *k, struct counting_rows *c,
                                struct tfd_status *st)
{
    const int64_t dim[2] = {
        c->row_count, c->largest < INT64_MAX ? c->largest + 1 : INT64_MAX};
    const struct tfd_sparse s = {tfd_tensor_data(&c->pairs), dim, c->count, 2,
                                 c->values};
    int64_t *order;

    TFD_TRY(tfd_sparse_numbers(&c->order, c->count, st));
    order = tfd_tensor_data(&c->order);
    if (!tfd_sparse_in_order(k, &s))
        return tfd_sparse_order(&s, order, st);
    for (int64_t i = 0; i < c->count; i++)
        order[i] = i;
    return TFD_OK;
}

/* ---- The result ---------------------------------------------------------- */

/* Adds up equal pairs; y NULL only counts them.  -1: the step has ended. */
#define COUNT_PAIRS(name, T, U)                                             \
    static int64_t count_pairs_##name(const struct counting_rows *c,        \
                                      int64_t *index, void *to)             \
    {                                                                       \
        const int64_t *pairs = tfd_tensor_data(&c->pairs),                  \
                      *places = tfd_tensor_data(&c->places),                \
                      *order = tfd_tensor_data(&c->order);                  \
        const T *w = tfd_tensor_elements(c->weights)                        \
                         ? tfd_tensor_data(c->weights)                      \
                         : NULL;                                            \
        T *y = to;                                                          \
        int64_t n = 0;                                                      \
                                                                            \
        for (int64_t i = 0; i < c->count; i++) {                            \
            const int64_t *pair = pairs + 2 * order[i];                     \
            const T by = c->binary || !w ? (T)1 : w[places[order[i]]];      \
            const bool first =                                              \
                i == 0 ||                                                   \
                tfd_sparse_compare(pairs + 2 * order[i - 1], pair, 2) != 0; \
                                                                            \
            if (tfd_sparse_stops(i))                                        \
                return -1;                                                  \
            n += first;                                                     \
            if (y && first && !c->is_vector)                                \
                *index++ = pair[0];                                         \
            if (y && first)                                                 \
                *index++ = pair[1];                                         \
            if (y && first)                                                 \
                y[n - 1] = by;                                              \
            else if (y && !c->binary)                                       \
                y[n - 1] = (T)((U)y[n - 1] + (U)by);                        \
        }                                                                   \
        return n;                                                           \
    }
COUNT_PAIRS(INT32, int32_t, uint32_t)
COUNT_PAIRS(INT64, int64_t, uint64_t)
COUNT_PAIRS(FLOAT, float, float)
COUNT_PAIRS(DOUBLE, double, double)

static int64_t count_pairs(const struct counting_rows *c, int64_t *index,
                           void *y)
{
    switch (c->weights->dtype) {
    case TFD_INT32:
        return count_pairs_INT32(c, index, y);
    case TFD_INT64:
        return count_pairs_INT64(c, index, y);
    case TFD_FLOAT:
        return count_pairs_FLOAT(c, index, y);
    default:
        return count_pairs_DOUBLE(c, index, y);
    }
}

static enum tfd_code put_counts(struct tfd_kctx *k, struct counting_rows *c,
                                struct tfd_status *st)
{
    const int64_t n = count_pairs(c, NULL, NULL);
    const struct tfd_shape matrix = {2, {n, c->is_vector ? 1 : 2}},
                           vector = {1, {n}};
    int64_t bins = c->bins_max, dim[2];

    if (n < 0)
        return tfd_halt_fail(st);
    if (bins < 0 && __builtin_add_overflow(c->largest, 1, &bins))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a value of %" PRId64 "; the limit is %" PRId64,
                        c->largest, INT64_MAX - 1);
    if (c->bins_max < 0 && bins < c->bins_min)
        bins = c->bins_min;
    dim[0] = c->is_vector ? bins : c->row_count;
    dim[1] = bins;
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &matrix, st));
    TFD_TRY(tfd_kctx_output(k, 1, c->weights->dtype, &vector, st));
    TFD_TRY(tfd_sparse_put_dims(k, 2, dim, c->is_vector ? 1 : 2, st));
    if (n > 0 && count_pairs(c, tfd_tensor_data(&k->out[0]),
                             tfd_tensor_data(&k->out[1])) < 0)
        return tfd_halt_fail(st);
    return TFD_OK;
}

static enum tfd_code run_count(struct tfd_kctx *k, struct counting_rows *c,
                               struct tfd_status *st)
{
    enum tfd_code rc = make_pairs(c, st);

    if (rc == TFD_OK)
        rc = sort_pairs(k, c, st);
    if (rc == TFD_OK)
        rc = put_counts(k, c, st);
    counting_deinit(c);
    return rc;
}

/* ---- Dense --------------------------------------------------------------- */

static enum tfd_code dense_count_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    struct counting_rows c = {.values = &k->in[0], .weights = &k->in[1]};
    const struct tfd_shape *s = &k->in[0].shape;
    char text[TFD_SHAPE_TEXT_MAX];
    int64_t *rows, n = tfd_tensor_elements(&k->in[0]);

    TFD_TRY(read_bins(k, &c, st));
    if (s->rank != 1 && s->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input must be a 1 or 2-dimensional tensor. Got: %s",
                        tfd_shape_text(s, text));
    TFD_TRY(check_count_weights(&c, "data", st));
    c.is_vector = s->rank == 1;
    c.row_count = c.is_vector ? 1 : s->dim[0];
    if (c.row_count == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid input: Shapes dimension cannot be 0.");
    TFD_TRY(tfd_sparse_numbers(&c.rows, n, st));
    rows = tfd_tensor_data(&c.rows);
    for (int64_t i = 0; i < n; i++)
        rows[i] = c.is_vector ? 0 : i / s->dim[1];
    return run_count(k, &c, st);
}

/* ---- Sparse -------------------------------------------------------------- */

static enum tfd_code fail_count_index(const struct tfd_kctx *k, int64_t i,
                                      int64_t d, struct tfd_status *st)
{
    const struct tfd_tensor *dims = &k->in[2];
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_bytes b;
    enum tfd_code rc;

    tfd_bytes_init(&b, TFD_STATUS_TEXT_MAX);
    tfd_summarize(&b, dims, 3);
    rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                  "Invalid index value at %" PRId64 ": dimension %" PRId64
                  " has value %" PRId64 " which is not in [0, %" PRId64
                  ") (as given by dense shape Tensor<type: int64 shape: %s "
                  "values: %.*s>",
                  i, d, tfd_check_int_at(&k->in[0], i * dims->shape.dim[0] + d),
                  tfd_check_int_at(dims, d), tfd_shape_text(&dims->shape, text),
                  (int)tfd_bytes_view(&b).size, tfd_bytes_view(&b).data);
    tfd_bytes_deinit(&b);
    return rc;
}

static enum tfd_code check_count_ranks(const struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    static const char *const forms[] = {
        "indices must be a 2-dimensional tensor", "values must be a vector",
        "shape must be a vector"};
    const struct tfd_shape *s = &k->in[0].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < 3; i++)
        if (k->in[i].shape.rank != (i == 0 ? 2 : 1))
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "Input %s. Got: %s",
                            forms[i], tfd_shape_text(&k->in[i].shape, text));
    if (k->in[1].shape.dim[0] != s->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of values must match first dimension of "
                        "indices.Got %" PRId64 " values, indices shape: %s",
                        k->in[1].shape.dim[0], tfd_shape_text(s, text));
    if (k->in[2].shape.dim[0] != s->dim[1])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of dimensions must match second dimension of "
                        "indices.Got %" PRId64 " dimensions, indices shape: %s",
                        k->in[2].shape.dim[0], tfd_shape_text(s, text));
    if (s->dim[1] == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The shape argument requires at least one element.");
    return TFD_OK;
}

static enum tfd_code read_sparse_rows(const struct tfd_kctx *k,
                                      struct counting_rows *c,
                                      struct tfd_status *st)
{
    const int64_t count = k->in[0].shape.dim[0], rank = k->in[0].shape.dim[1];
    const int64_t *index = tfd_tensor_data(&k->in[0]),
                  *dim = tfd_tensor_data(&k->in[2]);
    int64_t *rows;

    TFD_TRY(tfd_sparse_numbers(&c->rows, count, st));
    rows = tfd_tensor_data(&c->rows);
    for (int64_t i = 0; i < count; i++, index += rank) {
        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        for (int64_t d = 0; d < rank; d++)
            if (index[d] < 0 || index[d] >= dim[d])
                return fail_count_index(k, i, d, st);
        rows[i] = rank == 1 ? 0 : index[0];
    }
    c->is_vector = rank == 1;
    c->row_count = c->is_vector ? 1 : dim[0];
    if (c->row_count <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Cannot allocate %" PRId64
                        " batches, is the dense shape too wide?",
                        c->row_count);
    return TFD_OK;
}

static enum tfd_code sparse_count_compute(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    struct counting_rows c = {.values = &k->in[1], .weights = &k->in[3]};
    enum tfd_code rc;

    TFD_TRY(read_bins(k, &c, st));
    TFD_TRY(check_count_ranks(k, st));
    TFD_TRY(check_count_weights(&c, "values", st));
    rc = read_sparse_rows(k, &c, st);
    if (rc == TFD_OK)
        return run_count(k, &c, st);
    counting_deinit(&c);
    return rc;
}

/* ---- Ragged -------------------------------------------------------------- */

static enum tfd_code ragged_count_compute(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    struct counting_rows c = {.values = &k->in[1], .weights = &k->in[2]};
    enum tfd_code rc;

    TFD_TRY(read_bins(k, &c, st));
    if (tfd_tensor_elements(&k->in[0]) < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Must provide at least 2 elements for the splits "
                        "argument");
    TFD_TRY(
        tfd_ragged_check_ends(&k->in[0], tfd_tensor_elements(c.values), st));
    TFD_TRY(check_count_weights(&c, "values", st));
    c.row_count = tfd_tensor_elements(&k->in[0]) - 1;
    rc = tfd_ragged_rows(&k->in[0], tfd_tensor_elements(c.values), &c.rows, st);
    if (rc == TFD_OK)
        return run_count(k, &c, st);
    counting_deinit(&c);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

#define COUNT_OP(name_, inputs_)                                         \
    {                                                                    \
        .name = name_, .inputs = inputs_ ", weights: output_type",       \
        .outputs = "output_indices: int64, output_values: output_type, " \
                   "output_dense_shape: int64",                          \
        .attrs = "T: {int32, int64}; minlength: int >= -1 = -1; "        \
                 "maxlength: int >= -1 = -1; binary_output: bool; "      \
                 "output_type: {int32, int64, float, double}",           \
        .key = "output_type",                                            \
    }

static const struct tfd_opdef ops[] = {
    COUNT_OP("DenseCountSparseOutput", "values: T"),
    COUNT_OP("SparseCountSparseOutput",
             "indices: int64, values: T, dense_shape: int64"),
    COUNT_OP("RaggedCountSparseOutput", "splits: int64, values: T"),
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("DenseCountSparseOutput", dense_count_compute),
    TFD_KERNEL_ANY("SparseCountSparseOutput", sparse_count_compute),
    TFD_KERNEL_ANY("RaggedCountSparseOutput", ragged_count_compute),
};

const struct tfd_family tfd_family_sparse_count = {
    .name = "sparse_count",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
