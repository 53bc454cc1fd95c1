/*
 * sparse_cross.c - SparseCross, SparseCrossV2, SparseCrossHashed: crosses of
 * the columns that sparse matrices and matrices are, as a sparse matrix.
 *
 * Inputs are lists: N indices, values, N shapes, matrices, and what an op has
 * besides.  The values of row b are those behind one another that have it as
 * their first index, from where those of row b - 1 end; what comes out of order
 * is not seen, as in TensorFlow.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/summarize.h"
#include "kernels/crosses/crosses.h"
#include "kernels/sparse/sparse_pick.h"

#include "config/limits.h"

#include <inttypes.h>

/* Where the lists begin. */
struct inputs {
    int sparse, values, dense; /* how many */
    const struct tfd_tensor *index, *value, *shape, *matrix, *rest;
};

struct crossing {
    int sparse, values, dense;
    enum tfd_dtype internal; /* INVALID: not asked */
    int64_t buckets, salt;
};

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code count_types(const struct tfd_node *n, const char *name,
                                 int *count, struct tfd_status *st)
{
    enum tfd_dtype types[TFD_CROSSED_COLUMNS_MAX];

    return tfd_node_types(n, name, types, TFD_CROSSED_COLUMNS_MAX, count, st);
}

static enum tfd_code lists_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct crossing *x = state;
    int64_t sparse;

    TFD_TRY(tfd_node_int(p->node, "N", &sparse, st));
    if (sparse > TFD_CROSSED_COLUMNS_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%" PRId64 " columns to cross; at most %d are possible",
                        sparse, TFD_CROSSED_COLUMNS_MAX);
    x->sparse = (int)sparse;
    TFD_TRY(count_types(p->node, "sparse_types", &x->values, st));
    return count_types(p->node, "dense_types", &x->dense, st);
}

static enum tfd_code old_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    struct crossing *x = state;

    TFD_TRY(lists_prepare(p, state, st));
    TFD_TRY(tfd_node_int(p->node, "num_buckets", &x->buckets, st));
    TFD_TRY(tfd_node_int(p->node, "hash_key", &x->salt, st));
    return tfd_node_type(p->node, "internal_type", &x->internal, st);
}

static struct inputs lists_of(const struct tfd_kctx *k)
{
    const struct crossing *x = k->state;
    struct inputs in = {x->sparse, x->values, x->dense, k->in,
                        NULL,      NULL,      NULL,     NULL};

    in.value = in.index + x->sparse;
    in.shape = in.value + x->values;
    in.matrix = in.shape + x->sparse;
    in.rest = in.matrix + x->dense;
    return in;
}

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_rank(const struct tfd_tensor *t, int rank,
                                const char *what, int at, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank == rank)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s should be a %s but received shape %s at position %d",
                    what, rank == 2 ? "matrix" : "vector",
                    tfd_shape_text(&t->shape, text), at);
}

static enum tfd_code check_internal(const struct tfd_kctx *k,
                                    const struct tfd_tensor *t,
                                    const char *what, struct tfd_status *st)
{
    const struct crossing *x = k->state;

    if (x->internal != TFD_STRING || t->dtype != TFD_INT64)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s should be of internal type %d but received %d", what,
                    (int)x->internal, (int)t->dtype);
}

static enum tfd_code check_counts(const struct inputs *in,
                                  struct tfd_status *st)
{
    if (in->values == in->sparse)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Expected %d input values, got %d", in->sparse, in->values);
}

static enum tfd_code check_indices(const struct inputs *in,
                                   struct tfd_status *st)
{
    for (int i = 0; i < in->sparse; i++) {
        TFD_TRY(check_rank(&in->index[i], 2, "Input indices", i, st));
        if (in->index[i].shape.dim[1] != 2)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected D2 of index to be 2 got %" PRId64
                            " at position %d",
                            in->index[i].shape.dim[1], i);
    }
    return TFD_OK;
}

static enum tfd_code check_sparse_values(const struct tfd_kctx *k,
                                         const struct inputs *in,
                                         struct tfd_status *st)
{
    for (int i = 0; i < in->values; i++) {
        TFD_TRY(check_internal(k, &in->value[i], "Input values", st));
        TFD_TRY(check_rank(&in->value[i], 1, "Input values", i, st));
        if (in->index[i].shape.dim[0] != in->value[i].shape.dim[0])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected size of values to be %" PRId64
                            " got %" PRId64 " at position %d",
                            in->index[i].shape.dim[0],
                            in->value[i].shape.dim[0], i);
    }
    return TFD_OK;
}

static enum tfd_code check_shapes(const struct tfd_kctx *k,
                                  const struct inputs *in,
                                  struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < in->sparse; i++) {
        TFD_TRY(check_rank(&in->shape[i], 1, "Input shapes", i, st));
        if (in->shape[i].shape.dim[0] != 2)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "shape should imply a 2D tensor, but got %s at "
                            "position %d",
                            tfd_shape_text(&in->shape[i].shape, text), i);
    }
    for (int i = 0; i < in->dense; i++) {
        TFD_TRY(check_internal(k, &in->matrix[i], "Dense inputs", st));
        TFD_TRY(check_rank(&in->matrix[i], 2, "Dense inputs", i, st));
    }
    return TFD_OK;
}

static enum tfd_code find_batch(const struct inputs *in, int64_t *batch,
                                struct tfd_status *st)
{
    *batch = in->sparse > 0  ? tfd_check_int_at(&in->shape[0], 0)
             : in->dense > 0 ? in->matrix[0].shape.dim[0]
                             : 0;
    for (int i = 0; i < in->sparse; i++)
        if (tfd_check_int_at(&in->shape[i], 0) != *batch)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected batch size %" PRId64 " got %" PRId64
                            " at position %d",
                            *batch, tfd_check_int_at(&in->shape[i], 0), i);
    for (int i = 0; i < in->dense; i++)
        if (in->matrix[i].shape.dim[0] != *batch)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected batch size %" PRId64 " got %" PRId64
                            " at dense tensor %d",
                            *batch, in->matrix[i].shape.dim[0], i);
    return TFD_OK;
}

static enum tfd_code check_lists(const struct tfd_kctx *k,
                                 const struct inputs *in, int64_t *batch,
                                 struct tfd_status *st)
{
    TFD_TRY(check_indices(in, st));
    TFD_TRY(check_counts(in, st));
    TFD_TRY(check_sparse_values(k, in, st));
    TFD_TRY(check_shapes(k, in, st));
    return find_batch(in, batch, st);
}

/* ---- Crossing ------------------------------------------------------------ */

static enum tfd_code split_column(const struct tfd_tensor *index, int64_t batch,
                                  int64_t *splits, struct tfd_status *st)
{
    const int64_t *row = tfd_tensor_data(index);
    int64_t at = 0;

    splits[0] = 0;
    for (int64_t b = 0; b < batch; b++) {
        if (tfd_sparse_stops(b))
            return tfd_halt_fail(st);
        while (at < index->shape.dim[0] && row[2 * at] == b)
            at++;
        splits[b + 1] = at;
    }
    return TFD_OK;
}

static enum tfd_code add_columns(struct tfd_crosses *c, const struct inputs *in,
                                 struct tfd_status *st)
{
    for (int i = 0; i < in->sparse; i++)
        TFD_TRY(split_column(&in->index[i], c->batch,
                             tfd_crosses_add_split(c, &in->value[i]), st));
    for (int i = 0; i < in->dense; i++)
        tfd_crosses_add_matrix(c, &in->matrix[i]);
    return TFD_OK;
}

static enum tfd_code put_crosses(struct tfd_kctx *k, struct tfd_crosses *c,
                                 const int64_t *starts, enum tfd_dtype dtype,
                                 struct tfd_status *st)
{
    const int64_t dim[2] = {starts[c->batch], 2};
    const int64_t all[2] = {c->batch, c->most};
    struct tfd_shape shape;

    TFD_TRY(tfd_shape_make(&shape, dim, 2, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &shape, st));
    TFD_TRY(tfd_shape_make(&shape, dim, 1, st));
    TFD_TRY(tfd_kctx_output(k, 1, dtype, &shape, st));
    TFD_TRY(tfd_sparse_put_dims(k, 2, all, 2, st));
    return tfd_crosses_fill(k, c, starts, 1, tfd_tensor_data(&k->out[0]), st);
}

/* `how` says what is made of the columns. */
static enum tfd_code cross_lists(struct tfd_kctx *k, const struct inputs *in,
                                 int64_t batch, const struct tfd_crosses *how,
                                 enum tfd_dtype dtype, struct tfd_status *st)
{
    struct tfd_tensor starts = TFD_TENSOR_INIT;
    struct tfd_crosses c;
    enum tfd_code rc =
        tfd_crosses_init(&c, in->sparse + in->dense, in->sparse, batch, st);

    c.sep = how->sep;
    c.hash = how->hash;
    c.salt = how->salt;
    c.key[0] = how->key[0];
    c.key[1] = how->key[1];
    c.buckets = how->buckets;
    if (rc == TFD_OK)
        rc = tfd_sparse_numbers(&starts, batch + 1, st);
    if (rc == TFD_OK)
        rc = add_columns(&c, in, st);
    if (rc == TFD_OK)
        rc = tfd_crosses_starts(&c, tfd_tensor_data(&starts), st);
    if (rc == TFD_OK)
        rc = put_crosses(k, &c, tfd_tensor_data(&starts), dtype, st);
    tfd_tensor_unref(&starts);
    tfd_crosses_deinit(&c);
    return rc;
}

static enum tfd_code old_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct crossing *x = k->state;
    const struct tfd_crosses how = {.sep = tfd_str_of("_X_"),
                                    .salt = (uint64_t)x->salt,
                                    .buckets = x->buckets};
    struct inputs in = lists_of(k);
    enum tfd_dtype dtype;
    int64_t batch;

    TFD_TRY(tfd_node_type(k->node, "out_type", &dtype, st));
    TFD_TRY(check_lists(k, &in, &batch, st));
    return cross_lists(k, &in, batch, &how, dtype, st);
}

static enum tfd_code fail_sep(const struct tfd_tensor *sep,
                              struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_bytes values;
    enum tfd_code rc;

    tfd_bytes_init(&values, TFD_STATUS_TEXT_MAX);
    tfd_summarize(&values, sep, 3);
    rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                  "Input separator should be a scalar. Received: Tensor<type: "
                  "string shape: %s values: " TFD_STR_FMT ">",
                  tfd_shape_text(&sep->shape, text),
                  TFD_STR_ARG(tfd_bytes_view(&values)));
    tfd_bytes_deinit(&values);
    return rc;
}

static enum tfd_code text_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct inputs in = lists_of(k);
    struct tfd_crosses how = {.count = 0};
    int64_t batch;

    TFD_TRY(check_lists(k, &in, &batch, st));
    if (in.rest[0].shape.rank != 0)
        return fail_sep(&in.rest[0], st);
    how.sep = tfd_tstring_view(tfd_tensor_data(&in.rest[0]));
    return cross_lists(k, &in, batch, &how, TFD_STRING, st);
}

static enum tfd_code check_ones(const struct inputs *in, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < 2; i++)
        if (tfd_tensor_elements(&in->rest[i]) != 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be a scalar, got shape %s",
                            i ? "strong_hash" : "num_buckets",
                            tfd_shape_text(&in->rest[i].shape, text));
    if (tfd_tensor_elements(&in->rest[2]) == 2)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Input \"salt\" must have length 2 but has length %" PRId64,
                    tfd_tensor_elements(&in->rest[2]));
}

static enum tfd_code hashed_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct inputs in = lists_of(k);
    struct tfd_crosses how = {.count = 0};
    int64_t batch;

    TFD_TRY(check_lists(k, &in, &batch, st));
    TFD_TRY(check_ones(&in, st));
    how.buckets = tfd_check_int_at(&in.rest[0], 0);
    how.hash = *(const bool *)tfd_tensor_data(&in.rest[1]) ? TFD_CROSSES_STRONG
                                                           : TFD_CROSSES_PRINTS;
    how.key[0] = (uint64_t)tfd_check_int_at(&in.rest[2], 0);
    how.key[1] = (uint64_t)tfd_check_int_at(&in.rest[2], 1);
    return cross_lists(k, &in, batch, &how, TFD_INT64, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define LISTS_IN                                 \
    "indices: N * int64, values: sparse_types, " \
    "shapes: N * int64, dense_inputs: dense_types"
#define LISTS_ATTRS                              \
    "sparse_types: list({int64, string}) >= 0; " \
    "dense_types: list({int64, string}) >= 0"
#define CROSS(name_, more_, out_, attrs_, key_)                    \
    {                                                              \
        .name = name_, .inputs = LISTS_IN more_,                   \
        .outputs = "output_indices: int64, output_values: " out_   \
                   ", output_shape: int64",                        \
        .attrs = attrs_, .key = key_, .flags = TFD_OP_NO_GRADIENT, \
    }

static const struct tfd_opdef ops[] = {
    CROSS("SparseCross", "", "out_type",
          "N: int >= 0; hashed_output: bool; num_buckets: int >= 0; "
          "hash_key: int; " LISTS_ATTRS
          "; out_type: {int64, string}; internal_type: {int64, string}",
          "out_type"),
    CROSS("SparseCrossV2", ", sep: string", "string",
          "N: int >= 0; " LISTS_ATTRS, NULL),
    CROSS("SparseCrossHashed",
          ", num_buckets: int64, strong_hash: bool, salt: int64", "int64",
          "N: int >= 0; " LISTS_ATTRS, NULL),
};

#define CROSSING(op_, compute_, prepare_)              \
    TFD_KERNEL_ANY(op_, compute_, .prepare = prepare_, \
                   .state_size = sizeof(struct crossing))

static const struct tfd_kernel kernels[] = {
    CROSSING("SparseCross", old_compute, old_prepare),
    CROSSING("SparseCrossV2", text_compute, lists_prepare),
    CROSSING("SparseCrossHashed", hashed_compute, lists_prepare),
};

const struct tfd_family tfd_family_sparse_cross = {
    .name = "sparse_cross",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
