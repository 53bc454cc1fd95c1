/*
 * ragged_to_sparse.c - RaggedTensorToSparse: the values of a ragged tensor as
 * they are, each with its place in all dimensions.
 *
 * Values are walked in order, and with them the row of each partition that they
 * are in, which only moves on.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/ragged/ragged.h"

#include <inttypes.h>

struct unrolling {
    const struct tfd_tensor *splits; /* one tensor for each partition */
    const struct tfd_tensor *values;
    int partitions;
    int rank; /* of the sparse tensor */
    int64_t row[TFD_RAGGED_RANK_MAX];
};

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_partition(const struct tfd_tensor *s,
                                     int64_t divided, struct tfd_status *st)
{
    const int64_t n = tfd_tensor_elements(s);

    if (s->shape.rank == 0 || tfd_check_int_at(s, 0) != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "First value of ragged splits must be 0.");
    for (int64_t i = 1; i < n; i++)
        if (tfd_check_int_at(s, i) < tfd_check_int_at(s, i - 1))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Ragged splits should be non decreasing, but we "
                            "got %" PRId64 " followed by %" PRId64,
                            tfd_check_int_at(s, i - 1), tfd_check_int_at(s, i));
    if (tfd_check_int_at(s, n - 1) != divided)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Final value of ragged splits must match the length "
                        "the corresponding ragged values.");
    return TFD_OK;
}

static enum tfd_code check_partitions(const struct unrolling *u,
                                      struct tfd_status *st)
{
    for (int p = 0; p < u->partitions; p++)
        if (tfd_tensor_elements(&u->splits[p]) == 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "ragged splits may not be empty.");
    for (int p = 0; p < u->partitions; p++) {
        int64_t divided = u->values->shape.rank ? u->values->shape.dim[0] : -1;

        if (p + 1 < u->partitions)
            divided = tfd_tensor_elements(&u->splits[p + 1]) - 1;
        TFD_TRY(check_partition(&u->splits[p], divided, st));
    }
    return TFD_OK;
}

/* ---- Places -------------------------------------------------------------- */

/* The place of value row `at` in the ragged dimensions. */
static void put_ragged_place(struct unrolling *u, int64_t at, int64_t *to)
{
    for (int p = u->partitions - 1; p >= 0; p--) {
        while (tfd_check_int_at(&u->splits[p], u->row[p] + 1) <= at)
            u->row[p]++;
        to[p + 1] = at - tfd_check_int_at(&u->splits[p], u->row[p]);
        at = u->row[p];
    }
    to[0] = at;
}

/* The place of element `at` of a row. */
static void put_inner_place(const struct unrolling *u, int64_t at, int64_t *to)
{
    const struct tfd_shape *s = &u->values->shape;

    for (int d = s->rank - 1; d > 0; d--) {
        to[u->partitions + d] = at % s->dim[d];
        at /= s->dim[d];
    }
}

static enum tfd_code put_places(struct unrolling *u, int64_t *to,
                                struct tfd_status *st)
{
    const int64_t row = tfd_ragged_row_size(&u->values->shape);
    int64_t done = 0;

    for (int64_t v = 0; row > 0 && v < u->values->shape.dim[0]; v++) {
        int64_t *first = to;

        put_ragged_place(u, v, first);
        for (int64_t i = 0; i < row; i++, to += u->rank) {
            if ((++done & 0xffff) == 0 && tfd_halted())
                return tfd_halt_fail(st);
            for (int d = 0; d <= u->partitions; d++)
                to[d] = first[d];
            put_inner_place(u, i, to);
        }
    }
    return TFD_OK;
}

/* The longest row in each dimension. */
static void put_dense_dims(const struct unrolling *u, int64_t *to)
{
    to[0] = u->splits[0].shape.dim[0] - 1;
    for (int p = 0; p < u->partitions; p++) {
        const int64_t n = tfd_tensor_elements(&u->splits[p]);

        to[p + 1] = 0;
        for (int64_t i = 1; i < n; i++) {
            int64_t length = tfd_check_int_at(&u->splits[p], i) -
                             tfd_check_int_at(&u->splits[p], i - 1);

            to[p + 1] = length > to[p + 1] ? length : to[p + 1];
        }
    }
    for (int d = 1; d < u->values->shape.rank; d++)
        to[u->partitions + d] = u->values->shape.dim[d];
}

/* ---- The op -------------------------------------------------------------- */

static enum tfd_code to_sparse_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct unrolling u = {.splits = k->in,
                          .values = &k->in[k->in_count - 1],
                          .partitions = k->in_count - 1};
    struct tfd_shape matrix, vector;
    int64_t dim[2] = {tfd_tensor_elements(u.values), 0};

    TFD_TRY(tfd_ragged_check_rank(u.partitions, st));
    TFD_TRY(check_partitions(&u, st));
    u.rank = u.partitions + u.values->shape.rank;
    dim[1] = u.rank;
    TFD_TRY(tfd_shape_make(&matrix, dim, 2, st));
    TFD_TRY(tfd_shape_make(&vector, dim + 1, 1, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &matrix, st));
    TFD_TRY(tfd_kctx_output(k, 2, TFD_INT64, &vector, st));
    TFD_TRY(tfd_shape_make(&vector, dim, 1, st));
    tfd_kctx_output_alias(k, k->in_count - 1, 1, &vector);
    put_dense_dims(&u, tfd_tensor_data(&k->out[2]));
    return put_places(&u, tfd_tensor_data(&k->out[0]), st);
}

static enum tfd_code to_sparse_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    int64_t values;

    if (g->dy[1].node < 0)
        return TFD_OK;
    TFD_TRY(tfd_node_int(g->node, "RAGGED_RANK", &values, st));
    g->dx[values] = tfd_gradient_op2(&b, "Reshape", g->dy[1],
                                     tfd_gradient_shape(&b, g->x[values]));
    return b.code;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "RaggedTensorToSparse",
        .inputs = "rt_nested_splits: RAGGED_RANK * Tsplits, "
                  "rt_dense_values: T",
        .outputs = "sparse_indices: int64, sparse_values: T, "
                   "sparse_dense_shape: int64",
        .attrs = "RAGGED_RANK: int >= 1; T: type; "
                 "Tsplits: {int32, int64} = DT_INT64",
        .key = "T",
        .grad = to_sparse_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("RaggedTensorToSparse", to_sparse_compute),
};

const struct tfd_family tfd_family_ragged_to_sparse = {
    .name = "ragged_to_sparse",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
