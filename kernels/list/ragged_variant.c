/*
 * ragged_variant.c - RaggedTensorToVariant, RaggedTensorFromVariant: a ragged
 * tensor as one element, or as an element for each of its rows, and back.
 *
 *     splits [0 2 3]  values [a b c]  --by rows-->  [a b] [c]
 *
 * Splits of splits: those of the outer ones say which of the inner ones belong
 * to a row, and begin anew at 0 there.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"

#include "common/base/variant.h"
#include "config/limits.h"

/* Partitions of one ragged tensor. */
#define RAGGED_RANK_MAX 64

static int64_t split_at(const struct tfd_tensor *splits, int64_t i)
{
    return tfd_check_int_at(splits, i);
}

static void put_split(struct tfd_tensor *splits, int64_t i, int64_t value)
{
    if (splits->dtype == TFD_INT32)
        ((int32_t *)tfd_tensor_data(splits))[i] = (int32_t)value;
    else
        ((int64_t *)tfd_tensor_data(splits))[i] = value;
}

static enum tfd_code new_splits(struct tfd_tensor *out, enum tfd_dtype dtype,
                                int64_t count, struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(tfd_shape_make(&shape, &count, 1, st));
    return tfd_tensor_new(out, dtype, &shape, st);
}

static enum tfd_code check_rank(int64_t rank, struct tfd_status *st)
{
    if (rank >= 0 && rank <= RAGGED_RANK_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "a ragged rank of %lld; at most %d are possible",
                    (long long)rank, RAGGED_RANK_MAX);
}

/* ---- Checking splits ----------------------------------------------------- */

/* values: how many rows they divide. */
static enum tfd_code check_splits(const struct tfd_tensor *s, int64_t values,
                                  struct tfd_status *st)
{
    int64_t count = tfd_tensor_elements(s);

    if (s->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid ragged splits: ragged splits must be rank 1 "
                        "but is rank %d",
                        s->shape.rank);
    if (count < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid ragged splits: ragged splits must have at "
                        "least one splits, but is empty");
    if (split_at(s, 0) != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid ragged splits: first element of ragged splits "
                        " must be 0 but is %lld",
                        (long long)split_at(s, 0));
    for (int64_t i = 1; i < count; i++)
        if (split_at(s, i) < split_at(s, i - 1))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Invalid ragged splits: ragged splits must be "
                            "monotonically increasing, but ragged_splits[%lld]"
                            "=%lld is smaller than row_splits[%lld]=%lld",
                            (long long)i, (long long)split_at(s, i),
                            (long long)i - 1, (long long)split_at(s, i - 1));
    if (split_at(s, count - 1) == values)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Invalid ragged splits: last element of ragged splits must "
                    "be the number of ragged values(%lld) but is %lld",
                    (long long)values, (long long)split_at(s, count - 1));
}

static enum tfd_code check_parts_of(const struct tfd_tensor *parts, int rank,
                                    struct tfd_status *st)
{
    const struct tfd_tensor *values = &parts[rank];

    for (int i = rank - 1; i >= 0; i--) {
        const struct tfd_tensor *inner = &parts[i + 1];
        int64_t rows = inner->shape.rank > 0 ? inner->shape.dim[0] : 0;

        if (inner == values && values->shape.rank == 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Requires flat_values to have rank>=1");
        TFD_TRY(check_splits(&parts[i], inner == values ? rows : rows - 1, st));
    }
    return TFD_OK;
}

/* ---- By rows ------------------------------------------------------------- */

/* Rows [begin, end) of values. */
static enum tfd_code slice_values(const struct tfd_tensor *values,
                                  int64_t begin, int64_t end, bool is_one_row,
                                  struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_shape shape = values->shape;
    int64_t row = 1;

    for (int i = 1; i < shape.rank; i++)
        row *= shape.dim[i];
    if (is_one_row) {
        for (int i = 1; i < shape.rank; i++)
            shape.dim[i - 1] = shape.dim[i];
        shape.rank--;
    } else {
        shape.dim[0] = end - begin;
    }
    TFD_TRY(tfd_tensor_new(out, values->dtype, &shape, st));
    if ((end - begin) * row == 0)
        return TFD_OK;
    return tfd_elements_copy(
        values->dtype, tfd_tensor_data(out),
        tfd_element_of(tfd_tensor_data(values), values->dtype, begin * row),
        (end - begin) * row, st);
}

/* Splits begin to end, inclusive, from 0 on. */
static enum tfd_code slice_splits(const struct tfd_tensor *splits,
                                  int64_t begin, int64_t end,
                                  struct tfd_tensor *out, struct tfd_status *st)
{
    TFD_TRY(new_splits(out, splits->dtype, end - begin + 1, st));
    for (int64_t i = begin; i <= end; i++)
        put_split(out, i - begin,
                  split_at(splits, i) - split_at(splits, begin));
    return TFD_OK;
}

/* Row number `row` of a ragged tensor: one with a partition less. */
static enum tfd_code make_row(const struct tfd_tensor *parts, int rank,
                              int64_t row, struct tfd_variant **out,
                              struct tfd_status *st)
{
    struct tfd_tensor made[RAGGED_RANK_MAX + 1] = {{0}};
    int64_t begin = rank > 0 ? split_at(&parts[0], row) : row;
    int64_t end = rank > 0 ? split_at(&parts[0], row + 1) : row + 1;
    int count = 0;
    enum tfd_code rc = TFD_OK;

    for (int i = 1; rc == TFD_OK && i < rank; i++) {
        rc = slice_splits(&parts[i], begin, end, &made[count++], st);
        begin = split_at(&parts[i], begin);
        end = split_at(&parts[i], end);
    }
    if (rc == TFD_OK)
        rc = slice_values(&parts[rank], begin, end, rank == 0, &made[count++],
                          st);
    if (rc == TFD_OK)
        rc = tfd_variant_holding(TFD_VARIANT_RAGGED, made, count, out, st);
    for (int i = 0; i < count; i++)
        tfd_tensor_unref(&made[i]);
    return rc;
}

static enum tfd_code to_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int rank = k->in_count - 1;
    int64_t rows;
    struct tfd_shape shape = {0, {0}};
    struct tfd_variant **y;
    bool batched;

    TFD_TRY(check_rank(rank, st));
    TFD_TRY(tfd_node_bool(k->node, "batched_input", &batched, st));
    TFD_TRY(check_parts_of(k->in, rank, st));
    if (batched && rank == 0 && k->in[0].shape.rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Requires flat_values to have rank>=1 when "
                        "batched_input=True");
    rows = !batched ? 1
                    : (rank > 0 ? tfd_tensor_elements(&k->in[0]) - 1
                                : k->in[0].shape.dim[0]);
    if (batched)
        TFD_TRY(tfd_shape_make(&shape, &rows, 1, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_VARIANT, &shape, st));
    y = tfd_tensor_data(&k->out[0]);
    if (!batched)
        return tfd_variant_holding(TFD_VARIANT_RAGGED, k->in, rank + 1, y, st);
    for (int64_t i = 0; i < rows; i++)
        TFD_TRY(make_row(k->in, rank, i, &y[i], st));
    return TFD_OK;
}

/* ---- Back: checking ------------------------------------------------------ */

struct joining {
    struct tfd_variant *const *rows;
    int64_t count;
    int dims;  /* of the rows */
    int inner; /* partitions of each row */
    int outer; /* of the whole */
    enum tfd_dtype values, splits;
};

static enum tfd_code read_ranks(const struct tfd_kctx *k, struct joining *j,
                                struct tfd_status *st)
{
    int64_t inner, outer;

    TFD_TRY(tfd_node_int(k->node, "input_ragged_rank", &inner, st));
    TFD_TRY(tfd_node_int(k->node, "output_ragged_rank", &outer, st));
    TFD_TRY(check_rank(outer, st));
    j->dims = k->in[0].shape.rank;
    if (inner == -1) {
        inner = outer - j->dims;
        if (outer == 0 && inner < 0)
            inner = 0;
        if (inner < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Inferred input_ragged_rank (output_ragged_rank - "
                            "encoded_variant.dims()) must be >= 0, found "
                            "output_ragged_rank: %lld, encoded_variant.dims(): "
                            "%d, inferred input_ragged_rank: %lld",
                            (long long)outer, j->dims, (long long)inner);
    }
    if (outer == 0 ? inner != 0 : outer != j->dims + inner)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "output_ragged_rank must be equal to input_ragged_rank "
                        "+ encoded_ragged.dims(); output_ragged_rank: %lld, "
                        "input_ragged_rank: %lld, encoded_variant.dims(): %d.",
                        (long long)outer, (long long)inner, j->dims);
    TFD_TRY(check_rank(inner, st));
    j->inner = (int)inner;
    j->outer = (int)outer;
    return TFD_OK;
}

static enum tfd_code check_row(const struct joining *j, int64_t i,
                               struct tfd_status *st)
{
    const struct tfd_variant *v = j->rows[i];

    if (!v || v->kind != TFD_VARIANT_RAGGED)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input Variant element at index %lld doesn't hold a "
                        "RaggedTensorVariant",
                        (long long)i);
    if (v->count - 1 != j->inner)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Encoded input RaggedTensorVariant has ragged_rank=%d."
                        "  Expected ragged_rank=%d.",
                        v->count - 1, j->inner);
    if (v->tensors[j->inner].dtype != j->values)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected values Tensor dtype: %s, found: %s",
                        tfd_dtype_name((int)j->values),
                        tfd_dtype_name((int)v->tensors[j->inner].dtype));
    for (int n = 0; n < j->inner; n++)
        if (v->tensors[n].dtype != j->splits)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected row_splits Tensor dtype: %s, found: %s",
                            tfd_dtype_name((int)j->splits),
                            tfd_dtype_name((int)v->tensors[n].dtype));
    return check_parts_of(v->tensors, j->inner, st);
}

/* Values differ in their first dimension only; without partitions at all in
 * none. */
static enum tfd_code check_values(const struct joining *j,
                                  struct tfd_status *st)
{
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];
    int from = j->outer > 0;

    for (int64_t i = 1; i < j->count; i++) {
        struct tfd_shape first = j->rows[0]->tensors[j->inner].shape;
        struct tfd_shape other = j->rows[i]->tensors[j->inner].shape;

        if (from && first.rank > 0 && other.rank > 0) {
            first.dim[0] = other.dim[0] = 0;
        }
        if (tfd_shape_equal(&first, &other))
            continue;
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "All flat_values must have compatible shapes.  Shape "
                        "at index 0: %s.  Shape at index %lld: %s",
                        tfd_shape_text(&first, a), (long long)i,
                        tfd_shape_text(&other, b));
    }
    return TFD_OK;
}

/* ---- Back: joining ------------------------------------------------------- */

/* Partition d of those that the dimensions of the rows make: all but the last
 * are even. */
static enum tfd_code even_splits(struct tfd_kctx *k, const struct joining *j,
                                 int d, struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[0].shape;
    int64_t count = 1, each = s->dim[d + 1];

    for (int i = 0; i <= d; i++)
        count *= s->dim[i];
    TFD_TRY(new_splits(&k->out[d], j->splits, count + 1, st));
    for (int64_t i = 0; i <= count; i++)
        put_split(&k->out[d], i, i * each);
    return TFD_OK;
}

/* Things of a row: what the first partition of it divides, or its values. */
static int64_t things_of(const struct joining *j, int64_t row, int part)
{
    const struct tfd_tensor *t = &j->rows[row]->tensors[part];

    if (part < j->inner)
        return tfd_tensor_elements(t) - 1;
    return t->shape.rank > 0 ? t->shape.dim[0] : 1;
}

static enum tfd_code row_splits(struct tfd_kctx *k, const struct joining *j,
                                struct tfd_status *st)
{
    struct tfd_tensor *out = &k->out[j->dims - 1];
    int64_t at = 0;

    TFD_TRY(new_splits(out, j->splits, j->count + 1, st));
    for (int64_t i = 0; i <= j->count; i++) {
        put_split(out, i, at);
        at += i < j->count ? things_of(j, i, 0) : 0;
    }
    return TFD_OK;
}

/* Partition `part` of every row, one behind the other. */
static enum tfd_code inner_splits(struct tfd_kctx *k, const struct joining *j,
                                  int part, struct tfd_status *st)
{
    struct tfd_tensor *out = &k->out[j->dims + part];
    int64_t count = 1, at = 1, base = 0;

    for (int64_t i = 0; i < j->count; i++)
        count += things_of(j, i, part);
    TFD_TRY(new_splits(out, j->splits, count, st));
    put_split(out, 0, 0);
    for (int64_t i = 0; i < j->count; i++) {
        const struct tfd_tensor *s = &j->rows[i]->tensors[part];
        int64_t n = tfd_tensor_elements(s);

        for (int64_t x = 1; x < n; x++)
            put_split(out, at++, base + split_at(s, x));
        base += split_at(s, n - 1);
    }
    return TFD_OK;
}

static enum tfd_code values_shape(const struct tfd_kctx *k,
                                  const struct joining *j,
                                  struct tfd_shape *out, struct tfd_status *st)
{
    int64_t dim[2 * TFD_RANK_MAX], rows = 0;
    int rank = 0;

    if (j->outer == 0) /* stacked */
        for (int i = 0; i < j->dims; i++)
            dim[rank++] = k->in[0].shape.dim[i];
    for (int64_t i = 0; j->outer > 0 && i < j->count; i++)
        rows += things_of(j, i, j->inner);
    if (j->outer > 0)
        dim[rank++] = rows;
    if (j->count > 0) {
        const struct tfd_shape *s = &j->rows[0]->tensors[j->inner].shape;

        for (int i = j->outer > 0; i < s->rank; i++)
            dim[rank++] = s->dim[i];
    }
    return tfd_shape_make(out, dim, rank, st);
}

static enum tfd_code join_values(struct tfd_kctx *k, const struct joining *j,
                                 struct tfd_status *st)
{
    struct tfd_tensor *out = &k->out[j->outer];
    struct tfd_shape shape;
    int64_t at = 0;

    TFD_TRY(values_shape(k, j, &shape, st));
    TFD_TRY(tfd_kctx_output(k, j->outer, j->values, &shape, st));
    for (int64_t i = 0; i < j->count; i++) {
        const struct tfd_tensor *t = &j->rows[i]->tensors[j->inner];
        int64_t n = tfd_tensor_elements(t);

        if (n > 0)
            TFD_TRY(tfd_elements_copy(
                j->values, tfd_element_at(tfd_tensor_data(out), j->values, at),
                tfd_tensor_data(t), n, st));
        at += n;
    }
    return TFD_OK;
}

/* Splits of 32 bits count as far as they can. */
static enum tfd_code check_total(const struct joining *j, struct tfd_status *st)
{
    int64_t total = 0;

    for (int64_t i = 0; i < j->count; i++)
        for (int part = 0; part <= j->inner; part++)
            total += things_of(j, i, part);
    if (j->splits != TFD_INT32 || total <= INT32_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%lld rows are too many for splits of int32",
                    (long long)total);
}

static enum tfd_code join_rows(struct tfd_kctx *k, const struct joining *j,
                               struct tfd_status *st)
{
    TFD_TRY(check_values(j, st));
    TFD_TRY(check_total(j, st));
    for (int d = 0; j->outer > 0 && d < j->dims - 1; d++)
        TFD_TRY(even_splits(k, j, d, st));
    if (j->outer > 0)
        TFD_TRY(row_splits(k, j, st));
    for (int part = 0; part < j->inner && j->outer > 0; part++)
        TFD_TRY(inner_splits(k, j, part, st));
    return join_values(k, j, st);
}

static enum tfd_code from_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct joining j = {.rows = tfd_tensor_data(&k->in[0]),
                        .count = tfd_tensor_elements(&k->in[0])};

    TFD_TRY(tfd_node_type(k->node, "Tvalues", &j.values, st));
    TFD_TRY(tfd_node_type(k->node, "Tsplits", &j.splits, st));
    TFD_TRY(read_ranks(k, &j, st));
    for (int64_t i = 0; i < j.count; i++)
        TFD_TRY(check_row(&j, i, st));
    if (j.dims > 0)
        return join_rows(k, &j, st);
    for (int i = 0; i <= j.outer && i < j.rows[0]->count; i++)
        k->out[i] = tfd_tensor_ref(&j.rows[0]->tensors[i]);
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

/* The values behind the rows that arrived. */
static enum tfd_code to_variant_gradient(struct tfd_grad *g,
                                         struct tfd_status *st)
{
    static const int32_t zero = 0;
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const int last = g->node->in_count - 1;
    struct tfd_gradient_attr attrs[] = {{"Tvalues", 't', 0}, {NULL, 0, 0}};
    struct tfd_edge in[3] = {g->dy[0]};

    attrs[0].value = tfd_gradient_dtype(&b, g->x[last]);
    in[1] = last == 0 ? tfd_gradient_ints(&b, &zero, -1) : g->x[0];
    in[2] = tfd_gradient_shape(&b, g->x[last]);
    tfd_gradient_with(&b, "RaggedTensorToVariantGradient", in, 3, attrs,
                      &g->dx[last], 1);
    return b.code;
}

/* Whether the variants that a node reads are a vector. */
static enum tfd_code reads_vector(const struct tfd_grad *g, bool *out,
                                  struct tfd_status *st)
{
    struct tfd_shape shape;
    int64_t rank;

    (void)tfd_grad_shape(g, g->x[0], &shape);
    TFD_TRY(tfd_node_int(g->node, "output_ragged_rank", &rank, st));
    if (shape.rank > 1)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "there is no gradient of RaggedTensorFromVariant for "
                        "variants of rank %d",
                        shape.rank);
    *out = shape.rank < 0 ? rank > 0 : shape.rank == 1;
    return TFD_OK;
}

static enum tfd_code from_variant_gradient(struct tfd_grad *g,
                                           struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const int last = g->node->out_count - 1;
    struct tfd_edge in[TFD_GRAD_LIST_MAX];
    struct tfd_gradient_attr attrs[] = {{"batched_input", 'b', 0},
                                        {NULL, 0, 0}};
    bool vector = false;

    TFD_TRY(reads_vector(g, &vector, st));
    if (last >= TFD_GRAD_LIST_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "the gradient of a ragged rank of %d; at most %d are "
                        "supported",
                        last, TFD_GRAD_LIST_MAX - 1);
    if (g->dy[last].node < 0)
        return TFD_OK;
    for (int i = 0; i < last; i++)
        in[i] = g->y[i];
    in[last] = g->dy[last];
    attrs[0].value = vector;
    tfd_gradient_with(&b, "RaggedTensorToVariant", in, last + 1, attrs,
                      &g->dx[0], 1);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "RaggedTensorToVariant",
        .inputs = "rt_nested_splits: RAGGED_RANK * Tsplits, "
                  "rt_dense_values: Tvalues",
        .outputs = "encoded_ragged: variant",
        .attrs = "RAGGED_RANK: int >= 0; Tvalues: type; "
                 "Tsplits: {int32, int64} = DT_INT64; batched_input: bool",
        .key = "Tvalues",
        .grad = to_variant_gradient,
    },
    {
        .name = "RaggedTensorFromVariant",
        .inputs = "encoded_ragged: variant",
        .outputs = "output_nested_splits: output_ragged_rank * Tsplits, "
                   "output_dense_values: Tvalues",
        .attrs = "input_ragged_rank: int >= -1; output_ragged_rank: int >= 0; "
                 "Tvalues: type; Tsplits: {int32, int64} = DT_INT64",
        .key = "Tvalues",
        .grad = from_variant_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("RaggedTensorToVariant", to_compute),
    TFD_KERNEL_ANY("RaggedTensorFromVariant", from_compute),
};

const struct tfd_family tfd_family_ragged_variant = {
    .name = "ragged_variant",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
