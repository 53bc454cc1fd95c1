/*
 * ragged_to_tensor.c - RaggedTensorToTensor: a ragged tensor as a dense one,
 * cut where it is too long, with a default where it is too short.
 *
 * Partition by partition, each row becomes the place in the output where it
 * begins, in rows of values, or -1 where it is cut off:
 *
 *     splits [0 2 2 5], width 2      rows 0 1 2 -> 0 2 4
 *                                    values     -> 0 1 4 5 -1
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/ragged/ragged.h"
#include "kernels/sparse/sparse_pick.h"

#include <inttypes.h>
#include <stdio.h>

enum partition_kind { FIRST_DIM_SIZE, VALUE_ROWIDS, ROW_SPLITS };

struct densifying {
    const struct tfd_tensor *shape, *values, *filler; /* filler: the default */
    const struct tfd_tensor *parts; /* those that divide; `ragged` of them */
    enum partition_kind kind[TFD_RAGGED_RANK_MAX + 1];
    int ragged;
    int64_t first_dim;
    int64_t dim[TFD_RANK_MAX]; /* of the output */
    int rank;
};

/* ---- Partitions ---------------------------------------------------------- */

static enum tfd_code read_kind(struct tfd_str name, enum partition_kind *out,
                               struct tfd_status *st)
{
    if (tfd_str_is(name, "FIRST_DIM_SIZE"))
        *out = FIRST_DIM_SIZE;
    else if (tfd_str_is(name, "VALUE_ROWIDS"))
        *out = VALUE_ROWIDS;
    else if (tfd_str_is(name, "ROW_SPLITS"))
        *out = ROW_SPLITS;
    else
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Unknown string for partition info type: " TFD_STR_FMT,
                        TFD_STR_ARG(name));
    return TFD_OK;
}

static enum tfd_code read_kinds(const struct tfd_kctx *k, struct densifying *d,
                                struct tfd_status *st)
{
    struct tfd_str names[TFD_RAGGED_RANK_MAX + 1];
    enum partition_kind first = ROW_SPLITS;
    int count, skip;

    TFD_TRY(tfd_node_strs(k->node, "row_partition_types", names,
                          TFD_RAGGED_RANK_MAX + 1, &count, st));
    if (count == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "No row_partition_types given.");
    TFD_TRY(read_kind(names[0], &first, st));
    skip = first == FIRST_DIM_SIZE;
    d->ragged = count - skip;
    for (int i = skip; i < count; i++) {
        TFD_TRY(read_kind(names[i], &d->kind[i - skip], st));
        if (d->kind[i - skip] == FIRST_DIM_SIZE)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Unsupported partition type: FIRST_DIM_SIZE");
    }
    d->parts = &k->in[3 + skip];
    if (tfd_tensor_elements(&k->in[3]) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid first partition input. Tensor requires at "
                        "least one element.");
    if (first == VALUE_ROWIDS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Cannot handle VALUE_ROWIDS in first dimension.");
    if (first == ROW_SPLITS && k->in[3].shape.rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "row splits must be a vector, not a scalar");
    d->first_dim = first == ROW_SPLITS ? k->in[3].shape.dim[0] - 1
                                       : tfd_check_int_at(&k->in[3], 0);
    return TFD_OK;
}

/* Partitions that the node has, however many types it names. */
static enum tfd_code check_partition_count(const struct tfd_kctx *k,
                                           const struct densifying *d,
                                           struct tfd_status *st)
{
    if (d->parts + d->ragged <= k->in + k->in_count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%d row partitions for a ragged rank of %d",
                    (int)(k->in + k->in_count - d->parts), d->ragged);
}

/* ---- The output's shape -------------------------------------------------- */

static enum tfd_code check_filler(const struct densifying *d,
                                  struct tfd_status *st)
{
    const struct tfd_shape *f = &d->filler->shape, *v = &d->values->shape;
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (f->rank >= v->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "default_value.shape=%s and "
                        "rt_input.flat_values.shape=%s are incompatible: "
                        "default_value.rank = %d  must be less than "
                        "rt_input.flat_values.rank = %d",
                        tfd_shape_text(f, one), tfd_shape_text(v, other),
                        f->rank, v->rank);
    for (int i = 0; i < f->rank; i++) {
        const int64_t a = f->dim[i], b = v->dim[v->rank - f->rank + i];

        if (a != b && a != 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "default_value.shape=%s and "
                            "rt_input.flat_values.shape=%s are incompatible: "
                            "default_value.shape[%d] = %" PRId64
                            " but rt_input.flat_values.shape[%d] = %" PRId64,
                            tfd_shape_text(f, one), tfd_shape_text(v, other),
                            i - f->rank, a, i - f->rank, b);
    }
    return TFD_OK;
}

static enum tfd_code fail_shape(const struct densifying *d,
                                const struct tfd_shape *wanted, int at,
                                struct tfd_status *st)
{
    const int rank = d->ragged + d->values->shape.rank;
    char text[TFD_SHAPE_TEXT_MAX];

    tfd_shape_text(wanted, text);
    if (wanted->rank != rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "rt_input.shape and shape=%s are incompatible: "
                        "rt_input.rank = %d but shape.rank = %d",
                        text, rank, wanted->rank);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "rt_input.shape and shape=%s are incompatible: "
                    "rt_input.shape[%d] = %" PRId64 " but shape[%d] = %" PRId64,
                    text, at, d->values->shape.dim[at - d->ragged], at,
                    wanted->dim[at]);
}

/* Unknown dimensions are -1; a scalar -1 tells of none. */
static enum tfd_code read_wanted(const struct tfd_kctx *k, struct densifying *d,
                                 struct tfd_status *st)
{
    const struct tfd_shape *v = &d->values->shape;
    struct tfd_shape wanted;

    d->rank = d->ragged + v->rank;
    if (d->rank > TFD_RANK_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a dense tensor of rank %d; the limit is %d", d->rank,
                        TFD_RANK_MAX);
    for (int i = 0; i < d->rank; i++)
        d->dim[i] = i <= d->ragged ? -1 : v->dim[i - d->ragged];
    if (d->shape->shape.rank == 0 && tfd_check_int_at(d->shape, 0) == -1)
        return TFD_OK;
    TFD_TRY(tfd_check_shape(k, 0, true, &wanted, st));
    if (wanted.rank != d->rank)
        return fail_shape(d, &wanted, 0, st);
    for (int i = 0; i < d->rank; i++) {
        if (wanted.dim[i] >= 0 && i > d->ragged && wanted.dim[i] != d->dim[i])
            return fail_shape(d, &wanted, i, st);
        d->dim[i] = i > d->ragged ? d->dim[i] : wanted.dim[i];
    }
    return TFD_OK;
}

static int64_t longest_of_splits(const struct tfd_tensor *t)
{
    int64_t most = 0;

    for (int64_t i = 1; i < tfd_tensor_elements(t); i++) {
        int64_t length;

        if (__builtin_sub_overflow(tfd_check_int_at(t, i),
                                   tfd_check_int_at(t, i - 1), &length))
            length = INT64_MAX;
        most = length > most ? length : most;
    }
    return most;
}

static int64_t longest_of_ids(const struct tfd_tensor *t)
{
    const int64_t n = tfd_tensor_elements(t);
    int64_t most = 0, begin = 0;

    for (int64_t i = 1; i <= n; i++)
        if (i == n || tfd_check_int_at(t, i) != tfd_check_int_at(t, begin)) {
            most = i - begin > most ? i - begin : most;
            begin = i;
        }
    return most;
}

static enum tfd_code find_dims(const struct tfd_kctx *k, struct densifying *d,
                               struct tfd_status *st)
{
    TFD_TRY(check_filler(d, st));
    TFD_TRY(read_wanted(k, d, st));
    if (d->dim[0] < 0)
        d->dim[0] = d->first_dim;
    for (int i = 0; i < d->ragged; i++)
        if (d->dim[i + 1] < 0)
            d->dim[i + 1] = d->kind[i] == ROW_SPLITS
                                ? longest_of_splits(&d->parts[i])
                                : longest_of_ids(&d->parts[i]);
    return TFD_OK;
}

/* ---- Places -------------------------------------------------------------- */

/* Where the rows of the first dimension begin; each is `step` long. */
static enum tfd_code first_places(const struct densifying *d, int64_t step,
                                  struct tfd_tensor *out, struct tfd_status *st)
{
    int64_t *to;

    TFD_TRY(tfd_sparse_numbers(out, d->first_dim, st));
    to = tfd_tensor_data(out);
    for (int64_t i = 0; i < d->first_dim; i++) {
        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        to[i] = i < d->dim[0] ? i * step : -1;
    }
    return TFD_OK;
}

static enum tfd_code places_by_splits(const struct tfd_tensor *splits,
                                      const struct tfd_tensor *parents,
                                      int64_t step, int64_t width,
                                      struct tfd_tensor *out,
                                      struct tfd_status *st)
{
    const int64_t *from = tfd_tensor_data(parents);
    const int64_t n = tfd_tensor_elements(splits), rows = parents->shape.dim[0],
                  total = n ? tfd_check_int_at(splits, n - 1) : 0;
    int64_t *to, at = 0;

    if (n - 1 > rows)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Row partition size is greater than output size: "
                        "%" PRId64 " > %" PRId64,
                        n - 1, rows);
    if (total < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Invalid row split size.");
    TFD_TRY(tfd_sparse_numbers(out, total, st));
    to = tfd_tensor_data(out);
    for (int64_t row = 0; row + 1 < n; row++) {
        const int64_t begin = tfd_check_int_at(splits, row),
                      end = tfd_check_int_at(splits, row + 1);

        for (int64_t i = begin; i < end; i++, at++) {
            if (tfd_sparse_stops(at))
                return tfd_halt_fail(st);
            if (at == total)
                return tfd_fail(st, TFD_INVALID_ARGUMENT,
                                "Invalid row split size.");
            to[at] = from[row] < 0 || i - begin >= width
                         ? -1
                         : from[row] + (i - begin) * step;
        }
    }
    return at == total
               ? TFD_OK
               : tfd_fail(st, TFD_INVALID_ARGUMENT, "Invalid row split size.");
}

static enum tfd_code places_by_ids(const struct tfd_tensor *ids,
                                   const struct tfd_tensor *parents,
                                   int64_t step, int64_t width,
                                   struct tfd_tensor *out,
                                   struct tfd_status *st)
{
    const int64_t *from = tfd_tensor_data(parents);
    const int64_t n = tfd_tensor_elements(ids), rows = parents->shape.dim[0];
    int64_t *to, column = 0;

    TFD_TRY(tfd_sparse_numbers(out, n, st));
    to = tfd_tensor_data(out);
    for (int64_t i = 0; i < n; i++) {
        const int64_t id = tfd_check_int_at(ids, i);

        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        if (id < 0 || id >= rows)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Got %s_value_rowid=%" PRId64
                            " which is not less than %" PRId64,
                            i ? "next" : "current", id, rows);
        column = i > 0 && id == tfd_check_int_at(ids, i - 1) ? column + 1 : 0;
        to[i] = from[id] < 0 || column >= width ? -1 : from[id] + column * step;
    }
    return TFD_OK;
}

/* Places of the rows of values, partition by partition. */
static enum tfd_code find_value_places(const struct densifying *d,
                                       struct tfd_tensor *out,
                                       struct tfd_status *st)
{
    struct tfd_tensor parents = TFD_TENSOR_INIT;
    int64_t step = 1;
    enum tfd_code rc;

    for (int i = 1; i <= d->ragged; i++)
        step *= d->dim[i];
    rc = first_places(d, step, &parents, st);
    for (int i = 0; rc == TFD_OK && i < d->ragged; i++) {
        const int64_t width = d->dim[i + 1];

        *out = (struct tfd_tensor)TFD_TENSOR_INIT;
        step /= width;
        rc = (d->kind[i] == ROW_SPLITS ? places_by_splits : places_by_ids)(
            &d->parts[i], &parents, step, width, out, st);
        tfd_tensor_unref(&parents);
        parents = *out;
    }
    *out = parents;
    return rc;
}

/* ---- Elements ------------------------------------------------------------ */

/* All of the output is the default, repeated where it is smaller than a row. */
static enum tfd_code put_filler(struct tfd_kctx *k, const struct densifying *d,
                                int64_t row, struct tfd_status *st)
{
    struct tfd_shape all = {.rank = 1};
    int64_t to[TFD_RANK_MAX], from[TFD_RANK_MAX] = {0}, step = 1;
    const struct tfd_shape *f = &d->filler->shape, *v = &d->values->shape;

    all.dim[0] = tfd_tensor_elements(&k->out[0]) / row;
    for (int i = 1; i < v->rank; i++)
        all.dim[all.rank++] = v->dim[i];
    tfd_element_strides(&all, to);
    for (int i = f->rank - 1; i >= 0; i--) {
        from[all.rank - f->rank + i] = f->dim[i] == 1 ? 0 : step;
        step *= f->dim[i];
    }
    return tfd_elements_box(k, d->values->dtype, &all,
                            tfd_tensor_data(&k->out[0]), to,
                            tfd_tensor_data(d->filler), from, st);
}

static enum tfd_code put_values(struct tfd_kctx *k, const struct densifying *d,
                                const struct tfd_tensor *places, int64_t row,
                                struct tfd_status *st)
{
    const int64_t *at = tfd_tensor_data(places);
    const enum tfd_dtype dtype = d->values->dtype;

    if (places->shape.dim[0] > d->values->shape.dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "row partitions name %" PRId64
                        " values, of which there are %" PRId64,
                        places->shape.dim[0], d->values->shape.dim[0]);
    for (int64_t i = 0; i < places->shape.dim[0]; i++) {
        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        if (at[i] >= 0)
            TFD_TRY(tfd_elements_copy(
                dtype,
                tfd_element_at(tfd_tensor_data(&k->out[0]), dtype, at[i] * row),
                tfd_element_of(tfd_tensor_data(d->values), dtype, i * row), row,
                st));
    }
    return TFD_OK;
}

static enum tfd_code densify_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct densifying d = {
        .shape = &k->in[0], .values = &k->in[1], .filler = &k->in[2]};
    struct tfd_tensor places = TFD_TENSOR_INIT;
    struct tfd_shape shape;
    int64_t row;
    enum tfd_code rc;

    TFD_TRY(read_kinds(k, &d, st));
    TFD_TRY(check_partition_count(k, &d, st));
    TFD_TRY(find_dims(k, &d, st));
    TFD_TRY(tfd_shape_make(&shape, d.dim, d.rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, d.values->dtype, &shape, st));
    if (tfd_tensor_elements(&k->out[0]) == 0)
        return TFD_OK;
    row = tfd_ragged_row_size(&d.values->shape);
    rc = find_value_places(&d, &places, st);
    if (rc == TFD_OK)
        rc = put_filler(k, &d, row, st);
    if (rc == TFD_OK)
        rc = put_values(k, &d, &places, row, st);
    tfd_tensor_unref(&places);
    return rc;
}

/* ---- Its gradient -------------------------------------------------------- */

/* The op once more, with its partitions, but other values and another
 * default. */
static struct tfd_edge densify_again(struct tfd_gradient *b, int count,
                                     struct tfd_edge shape,
                                     struct tfd_edge values,
                                     struct tfd_edge filler)
{
    static const char *const names[] = {"row_partition_types", NULL};
    struct tfd_edge in[3 + TFD_RAGGED_RANK_MAX + 1] = {shape, values, filler},
                                                 out;

    for (int i = 0; i < count; i++)
        in[3 + i] = b->g->x[3 + i];
    tfd_gradient_copying(b, "RaggedTensorToTensor", in, 3 + count, names, &out,
                         1);
    return out;
}

/* The dimensions of the output that rows of values have not. */
static struct tfd_edge outer_dims(struct tfd_gradient *b, struct tfd_edge shape)
{
    const int32_t zero = 0, one = 1;
    struct tfd_edge inner = tfd_gradient_op2(
        b, "Sub",
        tfd_gradient_op1(b, "Shape", tfd_gradient_op1(b, "Shape", b->g->x[1])),
        tfd_gradient_ints(b, &one, 1));

    return tfd_gradient_op3(
        b, "Slice", shape, tfd_gradient_ints(b, &zero, 1),
        tfd_gradient_op2(b, "Sub", tfd_gradient_op1(b, "Shape", shape), inner));
}

/* Numbers instead of values show where each went, -1 where none did; zeros and
 * ones, which elements are the default's. */
static enum tfd_code densify_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    const int32_t zero = 0, one = 1, none = -1;
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge shape, rows, from, ids, chosen, dy = g->dy[0],
                                                    gone = TFD_EDGE_NONE;
    int64_t count;

    TFD_TRY(tfd_node_int(g->node, "num_row_partition_tensors", &count, st));
    if (count > TFD_RAGGED_RANK_MAX)
        return tfd_ragged_check_rank(count, st);
    from = tfd_gradient_ints(&b, &zero, -1);
    rows = tfd_gradient_op3(&b, "GatherV2", tfd_gradient_shape(&b, g->x[1]),
                            from, from);
    ids = tfd_gradient_op3(&b, "Range", from, rows,
                           tfd_gradient_ints(&b, &one, -1));
    shape = tfd_gradient_op1(&b, "Shape", dy);
    chosen = densify_again(&b, (int)count, shape,
                           tfd_gradient_op1(&b, "ZerosLike", g->x[1]),
                           tfd_gradient_op1(&b, "OnesLike", g->x[2]));
    ids = densify_again(&b, (int)count, outer_dims(&b, shape), ids,
                        tfd_gradient_ints(&b, &none, -1));
    g->dx[1] = tfd_gradient_op3(&b, "UnsortedSegmentSum", dy, ids, rows);
    g->dx[2] =
        tfd_gradient_op3(&b, "SelectV2",
                         tfd_gradient_op2(&b, "NotEqual", chosen,
                                          tfd_gradient_scalar(&b, chosen, 0)),
                         dy, tfd_gradient_op1(&b, "ZerosLike", dy));
    tfd_gradient_reduce(&b, dy, g->x[2], &gone, &g->dx[2]);
    return b.code;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "RaggedTensorToTensor",
        .inputs = "shape: Tshape, values: T, default_value: T, "
                  "row_partition_tensors: num_row_partition_tensors * Tindex",
        .outputs = "result: T",
        .attrs = "T: type; Tindex: {int64, int32}; Tshape: {int64, int32}; "
                 "num_row_partition_tensors: int >= 1; "
                 "row_partition_types: list(string)",
        .key = "T",
        .grad = densify_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("RaggedTensorToTensor", densify_compute),
};

const struct tfd_family tfd_family_ragged_to_tensor = {
    .name = "ragged_to_tensor",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
