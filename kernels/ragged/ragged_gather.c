/*
 * ragged_gather.c - RaggedGather: rows of a ragged tensor by their numbers.
 *
 * A row is a range of what the first partition divides, which is a range of
 * what the next one does, and so on down to values:
 *
 *     splits [0 2 2 3]   values [a b c]   rows [2 0]  ->  [0 1 3]  [c a b]
 *
 * Ranges are walked twice: to count, and to put down splits and values.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/ragged/ragged.h"

#include <inttypes.h>
#include <stdio.h>

struct gathering {
    const struct tfd_tensor *splits, *values, *indices;
    int partitions;
    int first;    /* outputs in front of the partitions' own; -1: one is lost */
    int64_t rows; /* of the ragged tensor */
    int64_t count[TFD_RAGGED_RANK_MAX]; /* of splits, by partition */
    int64_t value_count;
};

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code fail_row(const struct gathering *g, int64_t i,
                              struct tfd_status *st)
{
    const struct tfd_shape *s = &g->indices->shape;
    int64_t rest = i, place[TFD_RANK_MAX];
    char text[TFD_RANK_MAX * 21 + 3] = "";
    size_t used = 0;

    for (int d = s->rank - 1; d >= 0; d--) {
        place[d] = rest % s->dim[d];
        rest /= s->dim[d];
    }
    for (int d = 0; d < s->rank; d++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%" PRId64,
                                 d ? "," : "[", place[d]);
    if (s->rank)
        snprintf(text + used, sizeof(text) - used, "]");
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "indices%s = %" PRId64 " is not in [0, %" PRId64 ")", text,
                    tfd_check_int_at(g->indices, i), g->rows);
}

static enum tfd_code check_rows_exist(const struct gathering *g,
                                      struct tfd_status *st)
{
    for (int64_t i = 0; i < tfd_tensor_elements(g->indices); i++) {
        const int64_t row = tfd_check_int_at(g->indices, i);

        if (row < 0 || row >= g->rows)
            return fail_row(g, i, st);
    }
    return TFD_OK;
}

static enum tfd_code check_gather_splits(const struct gathering *g, int p,
                                         struct tfd_status *st)
{
    const struct tfd_tensor *s = &g->splits[p];
    const int64_t n = tfd_tensor_elements(s);
    const int64_t last = p + 1 < g->partitions
                             ? tfd_tensor_elements(&g->splits[p + 1]) - 1
                             : g->values->shape.dim[0];

    if (n == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Ragged splits may not be empty");
    if (tfd_check_int_at(s, 0) < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Ragged splits must be non-negative");
    if (tfd_check_int_at(s, n - 1) > last)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Ragged splits must not point past values");
    for (int64_t i = 1; i < n; i++)
        if (tfd_check_int_at(s, i - 1) > tfd_check_int_at(s, i))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Ragged splits must be sorted");
    return TFD_OK;
}

static enum tfd_code check_gather(const struct tfd_kctx *k,
                                  const struct gathering *g,
                                  struct tfd_status *st)
{
    TFD_TRY(tfd_ragged_check_rank(g->partitions, st));
    if (g->splits[0].shape.rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "ragged splits must be a vector, not a scalar");
    TFD_TRY(check_rows_exist(g, st));
    if (g->values->shape.rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "params.rank must be nonzero");
    for (int p = 0; p < g->partitions; p++)
        TFD_TRY(check_gather_splits(g, p, st));
    if (k->out_count - 1 != g->first + g->partitions)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "an OUTPUT_RAGGED_RANK of %d where the result has %d",
                        k->out_count - 1, g->first + g->partitions);
    return TFD_OK;
}

/* ---- Walking ------------------------------------------------------------- */

static enum tfd_code count_ranges(struct gathering *g, struct tfd_status *st)
{
    for (int p = 0; p < g->partitions; p++)
        g->count[p] = 1;
    for (int64_t i = 0; i < tfd_tensor_elements(g->indices); i++) {
        int64_t begin = tfd_check_int_at(g->indices, i), end = begin + 1;
        bool fits = true;

        if ((i & 0xffff) == 0xffff && tfd_halted())
            return tfd_halt_fail(st);
        for (int p = 0; p < g->partitions; p++) {
            fits &=
                !__builtin_add_overflow(g->count[p], end - begin, &g->count[p]);
            begin = tfd_check_int_at(&g->splits[p], begin);
            end = tfd_check_int_at(&g->splits[p], end);
        }
        fits &= !__builtin_add_overflow(g->value_count, end - begin,
                                        &g->value_count);
        if (!fits)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "the result would have more than 2**63 - 1 "
                            "values");
    }
    return TFD_OK;
}

/* Rows of values [begin, end) from value row `at` of the output on. */
static enum tfd_code copy_range(struct tfd_kctx *k, const struct gathering *g,
                                int64_t begin, int64_t end, int64_t at,
                                struct tfd_status *st)
{
    const int64_t row = tfd_ragged_row_size(&g->values->shape);
    const enum tfd_dtype dtype = g->values->dtype;

    if (begin == end || row == 0)
        return TFD_OK;
    return tfd_elements_copy(
        dtype,
        tfd_element_at(tfd_tensor_data(&k->out[k->out_count - 1]), dtype,
                       at * row),
        tfd_element_of(tfd_tensor_data(g->values), dtype, begin * row),
        (end - begin) * row, st);
}

/* Splits [begin, end] of a partition, moved to where the output's end. */
static void copy_splits(const struct tfd_tensor *from,
                        const struct tfd_tensor *to, int64_t begin, int64_t end,
                        int64_t *at)
{
    const int64_t move =
        tfd_check_int_at(to, *at - 1) - tfd_check_int_at(from, begin);

    for (int64_t i = begin; i < end; i++)
        tfd_ragged_put(to, (*at)++, tfd_check_int_at(from, i + 1) + move);
}

static enum tfd_code put_ranges(struct tfd_kctx *k, const struct gathering *g,
                                struct tfd_status *st)
{
    int64_t at[TFD_RAGGED_RANK_MAX], value = 0;

    for (int p = 0; p < g->partitions; p++) {
        at[p] = 1;
        if (p + g->first >= 0)
            tfd_ragged_put(&k->out[p + g->first], 0, 0);
    }
    for (int64_t i = 0; i < tfd_tensor_elements(g->indices); i++) {
        int64_t begin = tfd_check_int_at(g->indices, i), end = begin + 1;

        if (tfd_halted())
            return tfd_halt_fail(st);
        for (int p = 0; p < g->partitions; p++) {
            if (p + g->first >= 0)
                copy_splits(&g->splits[p], &k->out[p + g->first], begin, end,
                            &at[p]);
            begin = tfd_check_int_at(&g->splits[p], begin);
            end = tfd_check_int_at(&g->splits[p], end);
        }
        TFD_TRY(copy_range(k, g, begin, end, value, st));
        value += end - begin;
    }
    return TFD_OK;
}

/* ---- The op -------------------------------------------------------------- */

/* Partition d of those that the dimensions of the indices make: even ones. */
static enum tfd_code put_even_splits(struct tfd_kctx *k,
                                     const struct gathering *g, int d,
                                     enum tfd_dtype dtype,
                                     struct tfd_status *st)
{
    const struct tfd_shape *s = &g->indices->shape;
    int64_t rows = 1, each = s->dim[d + 1];

    for (int i = 0; i <= d; i++)
        rows *= s->dim[i];
    TFD_TRY(tfd_ragged_new_splits(k, d, dtype, rows + 1, rows * each, st));
    for (int64_t i = 0; i <= rows; i++)
        tfd_ragged_put(&k->out[d], i, i * each);
    return TFD_OK;
}

static enum tfd_code make_gather_outputs(struct tfd_kctx *k,
                                         const struct gathering *g,
                                         struct tfd_status *st)
{
    const enum tfd_dtype dtype = g->splits[0].dtype;
    struct tfd_shape shape = g->values->shape;

    for (int d = 0; d < g->first; d++)
        TFD_TRY(put_even_splits(k, g, d, dtype, st));
    for (int p = 0; p < g->partitions; p++)
        if (p + g->first >= 0)
            TFD_TRY(tfd_ragged_new_splits(
                k, p + g->first, dtype, g->count[p],
                p + 1 < g->partitions ? g->count[p + 1] : g->value_count, st));
    shape.dim[0] = g->value_count;
    TFD_TRY(tfd_shape_make(&shape, shape.dim, shape.rank, st));
    return tfd_kctx_output(k, k->out_count - 1, g->values->dtype, &shape, st);
}

static enum tfd_code ragged_gather_compute(struct tfd_kctx *k,
                                           struct tfd_status *st)
{
    struct gathering g = {.splits = k->in,
                          .values = &k->in[k->in_count - 2],
                          .indices = &k->in[k->in_count - 1],
                          .partitions = k->in_count - 2};

    g.first = g.indices->shape.rank - 1;
    g.rows = g.splits[0].shape.rank ? g.splits[0].shape.dim[0] - 1 : 0;
    TFD_TRY(check_gather(k, &g, st));
    TFD_TRY(count_ranges(&g, st));
    TFD_TRY(make_gather_outputs(k, &g, st));
    return put_ranges(k, &g, st);
}

/* ---- Its gradient -------------------------------------------------------- */

/* Value rows add up where a row was picked twice. */
static enum tfd_code ragged_gather_gradient(struct tfd_grad *g,
                                            struct tfd_status *st)
{
    static const char *const none[] = {NULL};
    const int32_t one = 1, all = -1, zero = 0;
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge splits = g->x[0], axis, flat, in[3], range[2], dy;
    int64_t partitions, outputs;

    TFD_TRY(tfd_node_int(g->node, "PARAMS_RAGGED_RANK", &partitions, st));
    TFD_TRY(tfd_node_int(g->node, "OUTPUT_RAGGED_RANK", &outputs, st));
    dy = g->dy[outputs];
    if (dy.node < 0)
        return TFD_OK;
    axis = tfd_gradient_ints(&b, &zero, -1);
    for (int64_t p = 1; p < partitions; p++)
        splits = tfd_gradient_op3(&b, "GatherV2", g->x[p], splits, axis);
    flat = tfd_gradient_op2(&b, "Reshape", g->x[partitions + 1],
                            tfd_gradient_ints(&b, &all, 1));
    in[0] = tfd_gradient_op3(&b, "GatherV2", splits, flat, axis);
    in[1] = tfd_gradient_op3(&b, "GatherV2",
                             tfd_gradient_op3(&b, "Slice", splits,
                                              tfd_gradient_ints(&b, &one, 1),
                                              tfd_gradient_ints(&b, &all, 1)),
                             flat, axis);
    in[2] = tfd_gradient_scalar(&b, splits, 1);
    tfd_gradient_copying(&b, "RaggedRange", in, 3, none, range, 2);
    g->dx[partitions] = tfd_gradient_op3(
        &b, "UnsortedSegmentSum", dy, range[1],
        tfd_gradient_op3(&b, "GatherV2",
                         tfd_gradient_shape(&b, g->x[partitions]), axis, axis));
    return b.code;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "RaggedGather",
        .inputs = "params_nested_splits: PARAMS_RAGGED_RANK * Tsplits, "
                  "params_dense_values: Tvalues, indices: Tindices",
        .outputs = "output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits, "
                   "output_dense_values: Tvalues",
        .attrs = "Tvalues: type; Tindices: {int32, int64}; "
                 "Tsplits: {int32, int64} = DT_INT64; "
                 "PARAMS_RAGGED_RANK: int >= 1; OUTPUT_RAGGED_RANK: int >= 0",
        .key = "Tvalues",
        .grad = ragged_gather_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("RaggedGather", ragged_gather_compute),
};

const struct tfd_family tfd_family_ragged_gather = {
    .name = "ragged_gather",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
