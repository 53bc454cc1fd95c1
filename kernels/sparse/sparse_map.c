/*
 * sparse_map.c - AddSparseToTensorsMap, AddManySparseToTensorsMap,
 * TakeManySparseFromTensorsMap: sparse tensors that wait under a number until
 * they are taken, each once.
 *
 *     add   a sparse tensor  ->  7        many   rows of one  ->  [8 9 10]
 *     take  [7 9]  ->  both as one sparse tensor, whose first dimension
 *                      counts them; 7 and 9 are no more
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/sparse/held_sparse.h"
#include "kernels/sparse/sparse_pick.h"

#include "config/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static enum tfd_code add_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    return tfd_owner_prepare_named(state, p, &tfd_sparse_map_type, st);
}

static enum tfd_code take_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    return tfd_owner_prepare(state, p, &tfd_sparse_map_type, st);
}

static void map_release(void *state)
{
    tfd_owner_release(state);
}

static enum tfd_code find_map(struct tfd_kctx *k, struct tfd_sparse_map **out,
                              struct tfd_status *st)
{
    struct tfd_resource *r;

    TFD_TRY(tfd_owner_resource(k->state, tfd_sparse_map_make, NULL, &r, st));
    *out = (struct tfd_sparse_map *)r;
    return TFD_OK;
}

/* ---- Putting in ---------------------------------------------------------- */

static enum tfd_code check_forms(const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    static const char *const forms[] = {"indices should be a matrix",
                                        "values should be a vector",
                                        "shape should be a vector"};
    char text[TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < 3; i++)
        if (k->in[i].shape.rank != (i == 0 ? 2 : 1))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input %s but received shape %s", forms[i],
                            tfd_shape_text(&k->in[i].shape, text));
    return TFD_OK;
}

/* ---- One ----------------------------------------------------------------- */

static enum tfd_code check_one(const struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *indices = &k->in[0].shape;
    long long values = k->in[1].shape.dim[0];
    struct tfd_shape dims;

    TFD_TRY(tfd_check_shape(k, 2, false, &dims, st));
    if (indices->dim[0] != values)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "indices and values rows (indexing dimension) must "
                        "match. (indices = %lld, values = %lld)",
                        (long long)indices->dim[0], values);
    if (indices->dim[1] != k->in[2].shape.dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Order length must be SparseTensor rank.");
    return TFD_OK;
}

static enum tfd_code one_into(struct tfd_kctx *k, struct tfd_sparse_map *m,
                              struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    struct tfd_sparse s;
    struct tfd_held_sparse *h;
    int64_t number;

    TFD_TRY(check_forms(k, st));
    TFD_TRY(check_one(k, st));
    TFD_TRY(tfd_sparse_read(k, 0, &s, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &scalar, st));
    h = tfd_held_sparse_new(&k->in[0], &k->in[1], s.dim, s.rank, st);
    if (!h)
        return TFD_RESOURCE_EXHAUSTED;
    if (tfd_held_sparse_put(m, &h, 1, &number, st) != TFD_OK) {
        tfd_held_sparse_free(h);
        return st->code;
    }
    *(int64_t *)tfd_tensor_data(&k->out[0]) = number;
    return TFD_OK;
}

static enum tfd_code add_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_sparse_map *m;
    enum tfd_code rc;

    TFD_TRY(find_map(k, &m, st));
    rc = one_into(k, m, st);
    tfd_resource_unref(&m->resource);
    return rc;
}

/* ---- Row by row ---------------------------------------------------------- */

/* Rows that have values come first, then the others; at[i]: where row i is
 * among them. */
struct batch {
    const struct tfd_sparse *s;
    struct tfd_held_sparse **rows;
    int64_t *at;
    int64_t count;
};

static enum tfd_code check_many(const struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *indices = &k->in[0].shape;
    long long values = k->in[1].shape.dim[0], rank = k->in[2].shape.dim[0];
    char text[TFD_SHAPE_TEXT_MAX];

    if (indices->dim[0] != values)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of values must match first dimension of "
                        "indices. Got %lld values, indices shape: %s",
                        values, tfd_shape_text(indices, text));
    if (indices->dim[1] != rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of dimensions must match second dimension of "
                        "indices. Got %lld dimensions, indices shape: %s",
                        rank, tfd_shape_text(indices, text));
    if (rank <= 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Rank of input SparseTensor should be > 1, but saw "
                        "rank: %lld",
                        rank);
    return tfd_sparse_check_dims(tfd_tensor_data(&k->in[2]), rank, st);
}

/* The entries [first, last) without their first index. */
static enum tfd_code new_row(const struct tfd_sparse *s, int64_t first,
                             int64_t last, struct tfd_held_sparse **out,
                             struct tfd_status *st)
{
    const struct tfd_shape matrix = {2, {last - first, s->rank - 1}};
    const struct tfd_shape vector = {1, {last - first}};
    struct tfd_tensor indices = TFD_TENSOR_INIT, values = TFD_TENSOR_INIT;
    enum tfd_dtype dtype = s->values->dtype;
    enum tfd_code rc = tfd_tensor_new(&indices, TFD_INT64, &matrix, st);
    int64_t *to = rc == TFD_OK ? tfd_tensor_data(&indices) : NULL;

    if (rc == TFD_OK)
        rc = tfd_tensor_new(&values, dtype, &vector, st);
    for (int64_t i = first; rc == TFD_OK && i < last; i++)
        memcpy(to + (i - first) * (s->rank - 1), s->index + i * s->rank + 1,
               (size_t)(s->rank - 1) * sizeof(*to));
    if (rc == TFD_OK && last > first)
        rc = tfd_elements_copy(
            dtype, tfd_tensor_data(&values),
            tfd_element_of(tfd_tensor_data(s->values), dtype, first),
            last - first, st);
    if (rc == TFD_OK) {
        *out =
            tfd_held_sparse_new(&indices, &values, s->dim + 1, s->rank - 1, st);
        rc = *out ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
    }
    tfd_tensor_unref(&indices);
    tfd_tensor_unref(&values);
    return rc;
}

static enum tfd_code make_full(struct batch *b, struct tfd_status *st)
{
    const struct tfd_sparse *s = b->s;
    int64_t last;

    for (int64_t first = 0; first < s->count; first = last) {
        int64_t row = s->index[first * s->rank];

        for (last = first; last < s->count && s->index[last * s->rank] == row;)
            last++;
        if (tfd_sparse_stops(b->count))
            return tfd_halt_fail(st);
        TFD_TRY(new_row(s, first, last, &b->rows[b->count], st));
        b->at[row] = b->count++;
    }
    return TFD_OK;
}

static enum tfd_code make_empty(struct batch *b, struct tfd_status *st)
{
    const struct tfd_sparse *s = b->s;
    struct tfd_held_sparse *first = NULL;

    for (int64_t row = 0; row < s->dim[0]; row++) {
        if (b->at[row] >= 0)
            continue;
        if (tfd_sparse_stops(row))
            return tfd_halt_fail(st);
        if (!first)
            TFD_TRY(new_row(s, 0, 0, &b->rows[b->count], st));
        else
            b->rows[b->count] = tfd_held_sparse_new(
                &first->indices, &first->values, s->dim + 1, s->rank - 1, st);
        if (!b->rows[b->count])
            return TFD_RESOURCE_EXHAUSTED;
        first = b->rows[b->count];
        b->at[row] = b->count++;
    }
    return TFD_OK;
}

static enum tfd_code put_batch(struct tfd_kctx *k, struct tfd_sparse_map *m,
                               struct batch *b, struct tfd_status *st)
{
    int64_t *to = tfd_tensor_data(&k->out[0]), first = 0;

    for (int64_t row = 0; row < b->s->dim[0]; row++)
        b->at[row] = -1;
    TFD_TRY(make_full(b, st));
    TFD_TRY(make_empty(b, st));
    TFD_TRY(tfd_held_sparse_put(m, b->rows, b->count, &first, st));
    for (int64_t row = 0; row < b->count; row++)
        to[row] = first + b->at[row];
    b->count = 0; /* they are the map's */
    return TFD_OK;
}

static enum tfd_code check_count(int64_t rows, struct tfd_status *st)
{
    if (rows <= TFD_SPARSE_MAP_COUNT_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "%" PRId64 " sparse tensors for a map; at most %d wait in "
                    "one",
                    rows, TFD_SPARSE_MAP_COUNT_MAX);
}

static enum tfd_code many_into(struct tfd_kctx *k, struct tfd_sparse_map *m,
                               struct tfd_status *st)
{
    struct tfd_sparse s;
    struct tfd_shape shape;
    struct batch b = {.s = &s};
    enum tfd_code rc;
    size_t rows;

    TFD_TRY(check_forms(k, st));
    TFD_TRY(check_many(k, st));
    TFD_TRY(tfd_sparse_read(k, 0, &s, st));
    TFD_TRY(tfd_sparse_check_order(&s, st));
    TFD_TRY(check_count(s.dim[0], st));
    TFD_TRY(tfd_shape_make(&shape, s.dim, 1, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &shape, st));
    rows = (size_t)s.dim[0];
    b.rows = calloc(rows + 1, sizeof(*b.rows));
    b.at = calloc(rows + 1, sizeof(*b.at));
    rc = b.rows && b.at ? put_batch(k, m, &b, st)
                        : tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                                   "no memory for %zu sparse tensors", rows);
    for (int64_t i = 0; i < b.count; i++)
        tfd_held_sparse_free(b.rows[i]);
    free(b.rows);
    free(b.at);
    return rc;
}

static enum tfd_code many_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_sparse_map *m;
    enum tfd_code rc;

    TFD_TRY(find_map(k, &m, st));
    rc = many_into(k, m, st);
    tfd_resource_unref(&m->resource);
    return rc;
}

/* ---- Taking out ---------------------------------------------------------- */

struct taken {
    struct tfd_held_sparse **rows;
    int64_t count; /* of them there */
    int64_t total; /* values of all */
    enum tfd_dtype dtype;
};

static enum tfd_code take_rows(const struct tfd_kctx *k,
                               struct tfd_sparse_map *m, struct taken *t,
                               struct tfd_status *st)
{
    const int64_t *numbers = tfd_tensor_data(&k->in[0]);
    const struct tfd_owner *o = k->state;
    int64_t n = k->in[0].shape.dim[0];

    t->count = tfd_held_sparse_take(m, numbers, n, t->rows);
    if (t->count == n)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Unable to find SparseTensor: %" PRId64
                    " in map: " TFD_STR_FMT,
                    numbers[t->count], TFD_STR_ARG(o->name));
}

static enum tfd_code check_taken(struct taken *t, struct tfd_status *st)
{
    for (int64_t i = 0; i < t->count; i++) {
        const struct tfd_held_sparse *h = t->rows[i];

        if (h->values.dtype != t->dtype)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Requested SparseTensor of type %s but "
                            "SparseTensor[%lld].values.dtype() == %s",
                            tfd_dtype_name((int)t->dtype), (long long)i,
                            tfd_dtype_name((int)h->values.dtype));
        if (h->rank != t->rows[0]->rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Inconsistent rank across SparseTensors: rank "
                            "prior to SparseTensor[%lld] was: %d but rank of "
                            "SparseTensor[%lld] is: %d",
                            (long long)i, t->rows[0]->rank + 1, (long long)i,
                            h->rank + 1);
        t->total += h->values.shape.dim[0];
    }
    return TFD_OK;
}

static enum tfd_code fill_taken(struct tfd_kctx *k, const struct taken *t,
                                struct tfd_status *st)
{
    int64_t *index = tfd_tensor_data(&k->out[0]), at = 0;
    int64_t *dim = tfd_tensor_data(&k->out[2]);
    int rank = t->rows[0]->rank;
    size_t size = (size_t)rank * sizeof(*index);

    memset(dim, 0, size + sizeof(*dim));
    dim[0] = t->count;
    for (int64_t i = 0; i < t->count; i++) {
        const struct tfd_held_sparse *h = t->rows[i];
        const int64_t *from = tfd_tensor_data(&h->indices);
        int64_t n = h->values.shape.dim[0];

        for (int d = 0; d < rank; d++)
            dim[d + 1] = h->dim[d] > dim[d + 1] ? h->dim[d] : dim[d + 1];
        for (int64_t j = 0; j < n; j++, index += rank + 1) {
            index[0] = i;
            if (rank > 0)
                memcpy(index + 1, from + j * rank, size);
        }
        if (n > 0)
            TFD_TRY(tfd_elements_copy(
                t->dtype,
                tfd_element_at(tfd_tensor_data(&k->out[1]), t->dtype, at),
                tfd_tensor_data(&h->values), n, st));
        at += n;
    }
    return TFD_OK;
}

static enum tfd_code give_taken(struct tfd_kctx *k, struct taken *t,
                                struct tfd_status *st)
{
    int64_t dim[2] = {0, t->rows[0]->rank + 1};
    struct tfd_shape shape;

    TFD_TRY(check_taken(t, st));
    dim[0] = t->total;
    TFD_TRY(tfd_shape_make(&shape, dim, 2, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &shape, st));
    TFD_TRY(tfd_shape_make(&shape, dim, 1, st));
    TFD_TRY(tfd_kctx_output(k, 1, t->dtype, &shape, st));
    TFD_TRY(tfd_shape_make(&shape, dim + 1, 1, st));
    TFD_TRY(tfd_kctx_output(k, 2, TFD_INT64, &shape, st));
    return fill_taken(k, t, st);
}

static enum tfd_code take_from(struct tfd_kctx *k, struct tfd_sparse_map *m,
                               struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    struct taken t = {.rows = NULL};
    enum tfd_code rc;

    if (k->in[0].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "sparse_handles should be a vector but received shape "
                        "%s",
                        tfd_shape_text(&k->in[0].shape, text));
    if (k->in[0].shape.dim[0] == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Must have at least 1 serialized SparseTensor, but "
                        "input matrix has 0 rows");
    TFD_TRY(tfd_node_type(k->node, "dtype", &t.dtype, st));
    t.rows =
        calloc((size_t)k->in[0].shape.dim[0], sizeof(struct tfd_held_sparse *));
    if (!t.rows)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to take sparse tensors");
    rc = take_rows(k, m, &t, st);
    if (rc == TFD_OK)
        rc = give_taken(k, &t, st);
    for (int64_t i = 0; i < t.count; i++)
        tfd_held_sparse_free(t.rows[i]);
    free(t.rows);
    return rc;
}

static enum tfd_code take_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_sparse_map *m;
    enum tfd_code rc;

    TFD_TRY(find_map(k, &m, st));
    rc = take_from(k, m, st);
    tfd_resource_unref(&m->resource);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

#define NAMES "container: string = ''; shared_name: string = ''"
#define ADD(name_, output_, shape_)                                     \
    {                                                                   \
        .name = name_,                                                  \
        .inputs = "sparse_indices: int64, sparse_values: T, "           \
                  "sparse_shape: int64",                                \
        .outputs = output_ ": int64", .attrs = "T: type; " NAMES,       \
        .shape = shape_, .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT, \
    }

static const struct tfd_opdef ops[] = {
    ADD("AddSparseToTensorsMap", "sparse_handle", tfd_shape_scalar),
    ADD("AddManySparseToTensorsMap", "sparse_handles", NULL),
    {
        .name = "TakeManySparseFromTensorsMap",
        .inputs = "sparse_handles: int64",
        .outputs = "sparse_indices: int64, sparse_values: dtype, "
                   "sparse_shape: int64",
        .attrs = "dtype: type; " NAMES,
        .key = "dtype",
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

#define MAP_KERNEL(op_, compute_, prepare_)                                    \
    TFD_KERNEL_ANY(op_, compute_, .prepare = prepare_, .release = map_release, \
                   .state_size = sizeof(struct tfd_owner),                     \
                   .flags = TFD_KERNEL_SHARED)

static const struct tfd_kernel kernels[] = {
    MAP_KERNEL("AddSparseToTensorsMap", add_compute, add_prepare),
    MAP_KERNEL("AddManySparseToTensorsMap", many_compute, add_prepare),
    MAP_KERNEL("TakeManySparseFromTensorsMap", take_compute, take_prepare),
};

const struct tfd_family tfd_family_sparse_map = {
    .name = "sparse_map",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
