/*
 * ragged_cross.c - RaggedCross: crosses of columns that ragged tensors, sparse
 * matrices and matrices are, as a ragged tensor.
 *
 * Inputs are lists: values and splits of the ragged ones; indices, values and
 * shapes of the sparse ones; matrices.  `input_order` has a letter for each
 * column, "RSD", which says of which kind the next one is.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/ragged/ragged.h"
#include "kernels/crosses/crosses.h"
#include "kernels/sparse/sparse_pick.h"

#include "config/limits.h"

#include <inttypes.h>

struct crossing {
    int ragged, sparse, dense; /* how many */
    struct tfd_str order;
    int64_t buckets, salt;
    enum tfd_dtype values, splits;
};

struct inputs {
    const struct tfd_tensor *ragged_value, *ragged_split;
    const struct tfd_tensor *index, *value, *shape, *matrix;
};

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code count_types(const struct tfd_node *n, const char *name,
                                 int *count, struct tfd_status *st)
{
    enum tfd_dtype types[TFD_CROSSED_COLUMNS_MAX];

    return tfd_node_types(n, name, types, TFD_CROSSED_COLUMNS_MAX, count, st);
}

static enum tfd_code read_lists(const struct tfd_node *n, struct crossing *x,
                                struct tfd_status *st)
{
    int splits;
    int64_t sparse;

    TFD_TRY(tfd_node_int(n, "Nsparse", &sparse, st));
    TFD_TRY(count_types(n, "ragged_values_types", &x->ragged, st));
    TFD_TRY(count_types(n, "ragged_splits_types", &splits, st));
    TFD_TRY(count_types(n, "sparse_values_types", &x->sparse, st));
    TFD_TRY(count_types(n, "dense_types", &x->dense, st));
    if (splits != x->ragged)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "ragged values and splits must have the same length");
    if (sparse != x->sparse)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "sparse indices and values must have the same length");
    if ((size_t)(x->ragged + x->sparse + x->dense) != x->order.size)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid length for input_order");
    return TFD_OK;
}

static enum tfd_code cross_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct crossing *x = state;

    TFD_TRY(tfd_node_int(p->node, "num_buckets", &x->buckets, st));
    TFD_TRY(tfd_node_int(p->node, "hash_key", &x->salt, st));
    TFD_TRY(tfd_node_str(p->node, "input_order", &x->order, st));
    TFD_TRY(tfd_node_type(p->node, "out_values_type", &x->values, st));
    TFD_TRY(tfd_node_type(p->node, "out_row_splits_type", &x->splits, st));
    return read_lists(p->node, x, st);
}

static struct inputs lists_of(const struct tfd_kctx *k)
{
    const struct crossing *x = k->state;
    struct inputs in = {.ragged_value = k->in};

    in.ragged_split = in.ragged_value + x->ragged;
    in.index = in.ragged_split + x->ragged;
    in.value = in.index + x->sparse;
    in.shape = in.value + x->sparse;
    in.matrix = in.shape + x->sparse;
    return in;
}

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code fail_rank(struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "tf.ragged.cross only supports inputs with rank=2.");
}

static enum tfd_code check_splits(const struct tfd_tensor *s, int64_t values,
                                  struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(s);

    if (n < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid ragged splits: ragged splits must have at "
                        "least one splits, but is empty");
    if (tfd_check_int_at(s, 0) != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid ragged splits: first element of ragged splits "
                        " must be 0 but is %" PRId64,
                        tfd_check_int_at(s, 0));
    for (int64_t i = 1; i < n; i++)
        if (tfd_check_int_at(s, i) < tfd_check_int_at(s, i - 1))
            return tfd_fail(
                st, TFD_INVALID_ARGUMENT,
                "Invalid ragged splits: ragged splits must be monotonically "
                "increasing, but ragged_splits[%" PRId64 "]=%" PRId64
                " is smaller than row_splits[%" PRId64 "]=%" PRId64,
                i, tfd_check_int_at(s, i), i - 1, tfd_check_int_at(s, i - 1));
    if (tfd_check_int_at(s, n - 1) == values)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Invalid ragged splits: last element of ragged splits must "
                    "be the number of ragged values(%" PRId64
                    ") but is %" PRId64,
                    values, tfd_check_int_at(s, n - 1));
}

static enum tfd_code check_sparse(const struct inputs *in, int i,
                                  struct tfd_status *st)
{
    if (in->index[i].shape.rank != 2 || in->value[i].shape.rank != 1 ||
        in->shape[i].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Invalid SparseTensor %d", i);
    if (in->shape[i].shape.dim[0] != 2)
        return fail_rank(st);
    if (in->index[i].shape.dim[0] == in->value[i].shape.dim[0] &&
        in->index[i].shape.dim[1] == 2)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "sparse_indices of input %d are %" PRId64
                    " rows of %" PRId64 "; its %" PRId64
                    " values need as many rows of 2",
                    i, in->index[i].shape.dim[0], in->index[i].shape.dim[1],
                    in->value[i].shape.dim[0]);
}

static enum tfd_code check_forms(const struct crossing *x,
                                 const struct inputs *in, struct tfd_status *st)
{
    for (int i = 0; i < x->ragged; i++) {
        if (in->ragged_value[i].shape.rank != 1 ||
            in->ragged_split[i].shape.rank != 1)
            return fail_rank(st);
        TFD_TRY(check_splits(&in->ragged_split[i],
                             in->ragged_value[i].shape.dim[0], st));
    }
    for (int i = 0; i < x->sparse; i++)
        TFD_TRY(check_sparse(in, i, st));
    for (int i = 0; i < x->dense; i++)
        if (in->matrix[i].shape.rank != 2)
            return fail_rank(st);
    return TFD_OK;
}

static enum tfd_code find_batch(const struct crossing *x,
                                const struct inputs *in, int64_t *out,
                                struct tfd_status *st)
{
    int64_t batch = x->ragged   ? in->ragged_split[0].shape.dim[0] - 1
                    : x->dense  ? in->matrix[0].shape.dim[0]
                    : x->sparse ? tfd_check_int_at(&in->shape[0], 0)
                                : 0;
    bool same = true;

    for (int i = 0; i < x->ragged; i++)
        same &= in->ragged_split[i].shape.dim[0] - 1 == batch;
    for (int i = 0; i < x->sparse; i++)
        same &= tfd_check_int_at(&in->shape[i], 0) == batch;
    for (int i = 0; i < x->dense; i++)
        same &= in->matrix[i].shape.dim[0] == batch;
    *out = batch;
    if (same)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "inputs must all have the same batch dimension size.");
}

/* ---- Columns ------------------------------------------------------------- */

static enum tfd_code check_letter(const struct crossing *x, char kind, int at,
                                  struct tfd_status *st)
{
    int count = kind == 'R' ? x->ragged : kind == 'S' ? x->sparse : x->dense;
    const char *what = kind == 'R'   ? "a ragged tensor value"
                       : kind == 'S' ? "a sparse tensor value"
                                     : "a dense tensor";

    if (kind != 'R' && kind != 'S' && kind != 'D')
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Unexpected input_order value.");
    if (at < count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "input_order \"" TFD_STR_FMT
                    "\" specifies reading %s at index %d from a list of %d %s.",
                    TFD_STR_ARG(x->order), what, at, count,
                    kind == 'D' ? "tensors" : "values");
}

static enum tfd_code split_ragged(const struct tfd_tensor *from,
                                  int64_t *splits, struct tfd_status *st)
{
    for (int64_t i = 0; i < from->shape.dim[0]; i++) {
        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        splits[i] = tfd_check_int_at(from, i);
    }
    return TFD_OK;
}

/* What has an index of row b or less and was not in a row before. */
static enum tfd_code split_sparse(const struct tfd_tensor *index, int64_t batch,
                                  int64_t *splits, struct tfd_status *st)
{
    const int64_t *row = tfd_tensor_data(index);
    int64_t at = 0;

    splits[0] = 0;
    for (int64_t b = 0; b < batch; b++) {
        if (tfd_sparse_stops(b))
            return tfd_halt_fail(st);
        while (at < index->shape.dim[0] && row[2 * at] <= b)
            at++;
        splits[b + 1] = at;
    }
    return TFD_OK;
}

static enum tfd_code add_columns(struct tfd_crosses *c,
                                 const struct crossing *x,
                                 const struct inputs *in, struct tfd_status *st)
{
    int ragged = 0, sparse = 0, dense = 0;

    for (size_t i = 0; i < x->order.size; i++) {
        char kind = x->order.data[i];
        int at = kind == 'R' ? ragged++ : kind == 'S' ? sparse++ : dense++;

        TFD_TRY(check_letter(x, kind, at, st));
        if (kind == 'R')
            TFD_TRY(split_ragged(
                &in->ragged_split[at],
                tfd_crosses_add_split(c, &in->ragged_value[at]), st));
        else if (kind == 'S')
            TFD_TRY(split_sparse(&in->index[at], c->batch,
                                 tfd_crosses_add_split(c, &in->value[at]), st));
        else
            tfd_crosses_add_matrix(c, &in->matrix[at]);
    }
    return TFD_OK;
}

/* ---- The whole ----------------------------------------------------------- */

static enum tfd_code put_crosses(struct tfd_kctx *k, struct tfd_crosses *c,
                                 const int64_t *starts, struct tfd_status *st)
{
    const struct crossing *x = k->state;
    const int64_t *total = &starts[c->batch];
    struct tfd_shape shape;

    TFD_TRY(tfd_ragged_new_splits(k, 1, x->splits, c->batch + 1, *total, st));
    for (int64_t b = 0; b <= c->batch; b++)
        tfd_ragged_put(&k->out[1], b, starts[b]);
    TFD_TRY(tfd_shape_make(&shape, total, 1, st));
    TFD_TRY(tfd_kctx_output(k, 0, x->values, &shape, st));
    return tfd_crosses_fill(k, c, starts, 0, NULL, st);
}

static enum tfd_code cross_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct crossing *x = k->state;
    struct tfd_tensor starts = TFD_TENSOR_INIT;
    struct inputs in = lists_of(k);
    struct tfd_crosses c;
    int64_t batch;
    enum tfd_code rc;

    TFD_TRY(check_forms(x, &in, st));
    TFD_TRY(find_batch(x, &in, &batch, st));
    rc = tfd_crosses_init(&c, (int)x->order.size, x->ragged + x->sparse, batch,
                          st);
    c.sep = tfd_str_of("_X_");
    c.salt = (uint64_t)x->salt;
    c.buckets = x->buckets;
    if (rc == TFD_OK)
        rc = tfd_sparse_numbers(&starts, batch + 1, st);
    if (rc == TFD_OK)
        rc = add_columns(&c, x, &in, st);
    if (rc == TFD_OK)
        rc = tfd_crosses_starts(&c, tfd_tensor_data(&starts), st);
    if (rc == TFD_OK)
        rc = put_crosses(k, &c, tfd_tensor_data(&starts), st);
    tfd_tensor_unref(&starts);
    tfd_crosses_deinit(&c);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "RaggedCross",
        .inputs = "ragged_values: ragged_values_types, "
                  "ragged_row_splits: ragged_splits_types, "
                  "sparse_indices: Nsparse * int64, "
                  "sparse_values: sparse_values_types, "
                  "sparse_shape: Nsparse * int64, dense_inputs: dense_types",
        .outputs = "output_values: out_values_type, "
                   "output_row_splits: out_row_splits_type",
        .attrs = "Nsparse: int >= 0; input_order: string; "
                 "hashed_output: bool; num_buckets: int >= 0; hash_key: int; "
                 "ragged_values_types: list({int64, string}) >= 0; "
                 "ragged_splits_types: list({int32, int64}) >= 0; "
                 "sparse_values_types: list({int64, string}) >= 0; "
                 "dense_types: list({int64, string}) >= 0; "
                 "out_values_type: {int64, string}; "
                 "out_row_splits_type: {int32, int64}",
        .key = "out_row_splits_type",
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("RaggedCross", cross_compute, .prepare = cross_prepare,
                   .state_size = sizeof(struct crossing)),
};

const struct tfd_family tfd_family_ragged_cross = {
    .name = "ragged_cross",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
