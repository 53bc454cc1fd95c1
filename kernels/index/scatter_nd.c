/*
 * scatter_nd.c - updates by tuples of indices: of variables (ScatterNd<X>,
 * ResourceScatterNd<X>), of a value (TensorScatter<X>,
 * ScatterNdNonAliasingAdd), and into zeros (ScatterNd).
 *
 * A tuple of k numbers names a place among the first k dimensions; what lies
 * behind it is a row.  With the tuples brought to row numbers the rest is
 * scatter.h.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/index/scatter.h"

#include <stdio.h>
#include <string.h>

/* ---- Tuples -------------------------------------------------------------- */

enum tfd_code tfd_scatter_nd_make(struct tfd_scatter_nd *out,
                                  const struct tfd_shape *shape,
                                  const struct tfd_shape *indices,
                                  struct tfd_status *st)
{
    int64_t depth = indices->rank ? indices->dim[indices->rank - 1] : 0;

    if (indices->rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "indices must be at least a vector");
    if (depth > shape->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "index innermost dimension length must be <= params "
                        "rank; saw: %lld vs. %d",
                        (long long)depth, shape->rank);
    *out = (struct tfd_scatter_nd){1, (int)depth, 1, 1, 0};
    for (int d = 0; d < indices->rank - 1; d++)
        out->count *= indices->dim[d];
    for (int d = 0; d < shape->rank; d++)
        *(d < depth ? &out->limit : &out->inner) *= shape->dim[d];
    return TFD_OK;
}

/* One loop a type of index, the inner one of short rows; one for pairs. */
#define ROWS(name, number, T)                                                  \
    static inline __attribute__((always_inline))                               \
    int64_t places_##name(const struct tfd_scatter_nd *nd,                     \
                          const struct tfd_shape *restrict shape, const T *at, \
                          int64_t *restrict rows, int depth)                   \
    {                                                                          \
        int64_t bad = nd->count;                                               \
                                                                               \
        at += nd->first * depth;                                               \
        for (int64_t i = 0; i < nd->count; i++, at += depth) {                 \
            uint64_t row = 0, inside = 1;                                      \
                                                                               \
            for (int d = 0; d < depth; d++) {                                  \
                inside &= (uint64_t)at[d] < (uint64_t)shape->dim[d];           \
                row = row * (uint64_t)shape->dim[d] + (uint64_t)at[d];         \
            }                                                                  \
            rows[i] = inside ? (int64_t)row : -1;                              \
            bad = inside || bad < nd->count ? bad : i;                         \
        }                                                                      \
        return bad;                                                            \
    }                                                                          \
    static int64_t rows_##name(const struct tfd_scatter_nd *nd,                \
                               const struct tfd_shape *shape,                  \
                               const void *indices, int64_t *rows)             \
    {                                                                          \
        return nd->depth == 2                                                  \
                   ? places_##name(nd, shape, indices, rows, 2)                \
                   : places_##name(nd, shape, indices, rows, nd->depth);       \
    }

ROWS(INT16, 5, int16_t)
ROWS(UINT16, 17, uint16_t)
ROWS(INT32, 3, int32_t)
ROWS(INT64, 9, int64_t)

int64_t tfd_scatter_nd_rows(const struct tfd_scatter_nd *nd,
                            const struct tfd_shape *shape,
                            const struct tfd_tensor *indices, int64_t *rows)
{
    const void *data = tfd_tensor_data(indices);

    return indices->dtype == TFD_INT16    ? rows_INT16(nd, shape, data, rows)
           : indices->dtype == TFD_UINT16 ? rows_UINT16(nd, shape, data, rows)
           : indices->dtype == TFD_INT32  ? rows_INT32(nd, shape, data, rows)
                                          : rows_INT64(nd, shape, data, rows);
}

enum tfd_code tfd_scatter_nd_policy(const struct tfd_node *n, bool *ignore,
                                    struct tfd_status *st)
{
    struct tfd_str policy;

    TFD_TRY(tfd_node_str(n, "bad_indices_policy", &policy, st));
    *ignore = tfd_str_is(policy, "IGNORE");
    if (*ignore || policy.size == 0 || tfd_str_is(policy, "DEFAULT") ||
        tfd_str_is(policy, "ERROR"))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Unknown bad indices handling attribute: " TFD_STR_FMT,
                    TFD_STR_ARG(policy));
}

static int64_t index_at(const struct tfd_tensor *t, int64_t i)
{
    if (t->dtype == TFD_INT16)
        return ((const int16_t *)tfd_tensor_data(t))[i];
    if (t->dtype == TFD_UINT16)
        return ((const uint16_t *)tfd_tensor_data(t))[i];
    return tfd_check_int_at(t, i);
}

enum tfd_code tfd_scatter_nd_outside(const struct tfd_tensor *indices,
                                     int64_t tuple, const char *what,
                                     const struct tfd_shape *shape,
                                     struct tfd_status *st)
{
    char place[TFD_SCATTER_PLACE_MAX], have[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape tuples = indices->shape;
    int64_t depth = tuples.dim[tuples.rank - 1];
    char saw[TFD_SHAPE_TEXT_MAX];
    size_t used = 0;

    tuples.rank--;
    saw[0] = '\0';
    for (int64_t d = 0; d < depth && used < sizeof(saw) - 32; d++)
        used += (size_t)snprintf(
            saw + used, sizeof(saw) - used, "%s%lld", d ? ", " : "",
            (long long)index_at(indices, tuple * depth + d));
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "indices%s = [%s] does not index into %s %s",
                    tfd_scatter_place(&tuples, tuple, place), saw, what,
                    tfd_shape_text(shape, have));
}

/* ---- Checking ------------------------------------------------------------ */

/* Of the first `outer` dimensions, whose lengths TensorFlow multiplies. */
static enum tfd_code outer_mismatch(int outer, const struct tfd_shape *indices,
                                    const struct tfd_shape *updates,
                                    struct tfd_status *st)
{
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];
    long long rows = 1, others = 1;

    for (int d = 0; d < outer; d++) {
        rows *= indices->dim[d];
        others *= d < updates->rank ? updates->dim[d] : 1;
    }
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Dimensions [0,%d) of indices[shape=%s] = %lld must match "
                    "dimensions [0,%d) of updates[shape=%s] = %lld",
                    outer, tfd_shape_text(indices, one), rows, outer,
                    tfd_shape_text(updates, other), others);
}

static enum tfd_code inner_mismatch(int depth, const struct tfd_shape *shape,
                                    const struct tfd_shape *updates,
                                    struct tfd_status *st)
{
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Dimensions [%d,%d) of input[shape=%s] must match "
                    "dimensions [%d,%d) of updates[shape=%s]",
                    depth, shape->rank, tfd_shape_text(shape, one), depth,
                    updates->rank, tfd_shape_text(updates, other));
}

/* Either nothing is there at all, or something is everywhere. */
static enum tfd_code check_empty(const struct tfd_shape *shape,
                                 const struct tfd_shape *indices,
                                 const struct tfd_shape *updates,
                                 struct tfd_status *st)
{
    bool index = tfd_shape_elements(indices) > 0;
    bool update = tfd_shape_elements(updates) > 0;
    char text[TFD_SHAPE_TEXT_MAX];

    if ((!index && !update) ||
        (index && update && tfd_shape_elements(shape) > 0))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Indices and updates specified for empty output.  indices "
                    "shape: %s",
                    tfd_shape_text(indices, text));
}

static bool same_outer(int outer, const struct tfd_shape *indices,
                       const struct tfd_shape *updates)
{
    bool same = updates->rank >= outer;

    for (int d = 0; same && d < outer; d++)
        same = indices->dim[d] == updates->dim[d];
    return same;
}

static enum tfd_code check_shapes(const struct tfd_shape *shape,
                                  const struct tfd_shape *indices,
                                  const struct tfd_shape *updates,
                                  struct tfd_status *st)
{
    int outer = indices->rank - 1;
    int64_t depth;
    bool fits;

    if (indices->rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Indices shape must have rank at least one. Found:[]");
    if (updates->rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Updates shape must have rank at least one. Found:[]");
    TFD_TRY(check_empty(shape, indices, updates, st));
    if (!same_outer(outer, indices, updates))
        return outer_mismatch(outer, indices, updates, st);
    depth = indices->dim[outer];
    fits = depth <= shape->rank &&
           updates->rank - outer == shape->rank - (int)depth;
    for (int d = outer; fits && d < updates->rank; d++)
        fits = updates->dim[d] == shape->dim[d - outer + (int)depth];
    if (!fits)
        return inner_mismatch(depth > INT16_MAX ? INT16_MAX : (int)depth, shape,
                              updates, st);
    return TFD_OK;
}

enum tfd_code tfd_scatter_nd_check(struct tfd_scatter_nd *out,
                                   const struct tfd_shape *shape,
                                   const struct tfd_shape *indices,
                                   const struct tfd_shape *updates,
                                   struct tfd_status *st)
{
    TFD_TRY(check_shapes(shape, indices, updates, st));
    return tfd_scatter_nd_make(out, shape, indices, st);
}

enum tfd_code tfd_scatter_nd_check_output(const struct tfd_shape *shape,
                                          struct tfd_status *st)
{
    if (shape->rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Output must be at least 1-D, got shape: []");
    return TFD_OK;
}

enum tfd_code tfd_scatter_nd_shape(const struct tfd_kctx *k,
                                   struct tfd_shape *out, struct tfd_status *st)
{
    if (k->in[2].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Shape must be a vector");
    TFD_TRY(tfd_check_shape(k, 2, false, out, st));
    if (out->rank == 0 && tfd_tensor_elements(&k->in[1]) > 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Indices and updates specified for empty output shape");
    return TFD_OK;
}

/* ---- Running ------------------------------------------------------------- */

enum tfd_code tfd_scatter_nd_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    struct tfd_scatter_nd_state *s = state;

    s->function = tfd_scatter_named(p->node->op->name);
    if (s->function == TFD_SCATTER_END) /* ScatterNd sums */
        s->function = TFD_SCATTER_ADD;
    return tfd_scatter_nd_policy(p->node, &s->ignore, st);
}

/* The shapes that tfd_scatter_nd_check() refused, in the words that TensorFlow
 * has for ScatterNd and for its kin on tensors. */
static enum tfd_code fail_shapes(const struct tfd_kctx *k,
                                 const struct tfd_shape *shape,
                                 const struct tfd_shape *indices,
                                 const struct tfd_shape *updates,
                                 struct tfd_status *st)
{
    const char *op = k->node ? k->node->op->name.data : "";
    bool zeros = strcmp(op, "ScatterNd") == 0;
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];
    int outer = indices->rank - 1, inner;
    struct tfd_scatter_nd nd;

    if ((!zeros && strncmp(op, "TensorScatter", 13) != 0) || outer < 0 ||
        updates->rank < 1)
        return tfd_scatter_nd_check(&nd, shape, indices, updates, st);
    if (check_empty(shape, indices, updates, NULL) != TFD_OK)
        return zeros && tfd_shape_elements(indices) > 0 &&
                       tfd_shape_elements(updates) > 0
                   ? check_empty(shape, indices, updates, st)
                   : tfd_fail(st, TFD_INVALID_ARGUMENT,
                              "Indices and updates specified for empty output "
                              "shape");
    tfd_shape_text(updates, b);
    if (!same_outer(outer, indices, updates))
        return zeros ? tfd_fail(st, TFD_INVALID_ARGUMENT,
                                "Dimensions [0,%d) of indices[shape=%s] must "
                                "match dimensions [0,%d) of updates[shape=%s]",
                                outer, tfd_shape_text(indices, a), outer, b)
                     : tfd_fail(st, TFD_INVALID_ARGUMENT,
                                "Outer dimensions of indices and update must "
                                "match. Indices shape: %s, updates shape:%s",
                                tfd_shape_text(indices, a), b);
    inner = shape->rank - (int)indices->dim[outer];
    tfd_shape_text(shape, a);
    if (zeros)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dimensions [%d,%d) of input[shape=%s] must match "
                        "dimensions [%d,%d) of updates[shape=%s]",
                        (int)indices->dim[outer], shape->rank, a, outer,
                        updates->rank, b);
    if (updates->rank - outer != inner)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Inner dimensions of output shape must match inner "
                        "dimensions of updates shape. Output: %s updates: %s",
                        a, b);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "The inner %d dimensions of output.shape=%s must match the "
                    "inner %d dimensions of updates.shape=%s",
                    inner, a, inner, b);
}

/* Scatters `updates` into the elements at `to` of this shape. */
static enum tfd_code scatter_into(struct tfd_kctx *k, void *to,
                                  const struct tfd_shape *shape,
                                  const struct tfd_tensor *indices,
                                  const struct tfd_tensor *updates,
                                  struct tfd_status *st)
{
    const struct tfd_scatter_nd_state *state = k->state;
    struct tfd_tensor rows = TFD_TENSOR_INIT;
    struct tfd_shape list = {1, {0}};
    struct tfd_scatter_nd nd;
    enum tfd_code rc;
    int64_t bad;

    if (tfd_scatter_nd_check(&nd, shape, &indices->shape, &updates->shape,
                             NULL) != TFD_OK)
        return fail_shapes(k, shape, &indices->shape, &updates->shape, st);
    if (tfd_tensor_elements(indices) == 0)
        return TFD_OK;
    list.dim[0] = nd.count;
    TFD_TRY(tfd_tensor_new(&rows, TFD_INT64, &list, st));
    bad = tfd_scatter_nd_rows(&nd, shape, indices, tfd_tensor_data(&rows));
    if (bad < nd.count && !state->ignore) {
        const int64_t *row = tfd_tensor_data(&rows);

        /* TensorFlow names the last of them. */
        for (bad = nd.count - 1; row[bad] >= 0;)
            bad--;
        rc = tfd_scatter_nd_outside(indices, bad, "shape", shape, st);
    } else {
        struct tfd_scatter s = {to,
                                tfd_tensor_data(updates),
                                tfd_tensor_data(&rows),
                                nd.count,
                                nd.inner,
                                nd.limit,
                                false};

        rc = tfd_scatter_run(k, state->function, updates->dtype, &s, st);
    }
    tfd_tensor_unref(&rows);
    return rc;
}

static enum tfd_code variable_locked(struct tfd_kctx *k, struct tfd_variable *v,
                                     struct tfd_status *st)
{
    TFD_TRY(tfd_scatter_check_type(v, &k->in[2], st));
    TFD_TRY(tfd_variable_writable(v, st));
    TFD_TRY(tfd_scatter_nd_check_output(&v->value.shape, st));
    return scatter_into(k, tfd_tensor_data(&v->value), &v->value.shape,
                        &k->in[1], &k->in[2], st);
}

static enum tfd_code variable_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_kctx_change_variable(k, variable_locked, st);
}

/* In the input's buffer where nobody else reads it. */
static enum tfd_code tensor_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];

    TFD_TRY(tfd_scatter_nd_check_output(&x->shape, st));
    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    if (tfd_tensor_data(&k->out[0]) != tfd_tensor_data(x))
        TFD_TRY(tfd_elements_copy(x->dtype, tfd_tensor_data(&k->out[0]),
                                  tfd_tensor_data(x), tfd_tensor_elements(x),
                                  st));
    return scatter_into(k, tfd_tensor_data(&k->out[0]), &x->shape, &k->in[1],
                        &k->in[2], st);
}

static enum tfd_code zeros_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    enum tfd_dtype dtype = k->in[1].dtype;
    struct tfd_shape shape;

    TFD_TRY(tfd_scatter_nd_shape(k, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, dtype, &shape, st));
    tfd_elements_zero(dtype, tfd_tensor_data(&k->out[0]),
                      tfd_shape_elements(&shape));
    return scatter_into(k, tfd_tensor_data(&k->out[0]), &shape, &k->in[0],
                        &k->in[1], st);
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code like_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    if (s->out_count > 0)
        s->out[0] = s->in[0];
    return TFD_OK;
}

static enum tfd_code zeros_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    if (s->value && s->value[2] && s->value[2]->shape.rank == 1)
        return tfd_check_shape_value(s->value[2], true, &s->out[0], st);
    if (s->in[2].rank == 1 && s->in[2].dim[0] >= 0 &&
        s->in[2].dim[0] <= TFD_RANK_MAX) {
        s->out[0].rank = (int)s->in[2].dim[0];
        for (int d = 0; d < s->out[0].rank; d++)
            s->out[0].dim[d] = TFD_DIM_UNKNOWN;
    }
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

static enum tfd_code zeros_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[1] = tfd_gradient_op2(&b, "GatherNd", g->dy[0], g->x[0]);
    return b.code;
}

static enum tfd_code add_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] = g->dy[0];
    g->dx[2] = tfd_gradient_op2(&b, "GatherNd", g->dy[0], g->x[1]);
    return b.code;
}

static enum tfd_code sub_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge rows = tfd_gradient_op2(&b, "GatherNd", g->dy[0], g->x[1]);

    g->dx[0] = g->dy[0];
    g->dx[2] = tfd_gradient_op1(&b, "Neg", rows);
    return b.code;
}

static enum tfd_code update_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge zeros = tfd_gradient_op1(&b, "ZerosLike", g->x[2]);

    g->dx[0] =
        tfd_gradient_op3(&b, "TensorScatterUpdate", g->dy[0], g->x[1], zeros);
    g->dx[2] = tfd_gradient_op2(&b, "GatherNd", g->dy[0], g->x[1]);
    return b.code;
}

/* A share of the gradient goes to each of those that are as large (or small)
 * as the result. */
static enum tfd_code extreme_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    enum tfd_dtype dtype = tfd_gradient_dtype(&b, g->x[0]);
    struct tfd_edge won, here, many, share, at;

    won = tfd_gradient_cast(&b, tfd_gradient_op2(&b, "Equal", g->y[0], g->x[0]),
                            dtype);
    at = tfd_gradient_op2(&b, "GatherNd", g->y[0], g->x[1]);
    here = tfd_gradient_cast(&b, tfd_gradient_op2(&b, "Equal", g->x[2], at),
                             dtype);
    many = tfd_gradient_op3(&b, "TensorScatterAdd", won, g->x[1], here);
    share = tfd_gradient_op2(&b, "RealDiv", g->dy[0], many);
    g->dx[0] = tfd_gradient_op2(&b, "Mul", won, share);
    g->dx[2] = tfd_gradient_op2(
        &b, "Mul", here, tfd_gradient_op2(&b, "GatherNd", share, g->x[1]));
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define POLICY "; bad_indices_policy: string = ''"

#define VARIABLE_OPS(word, types, locking)                        \
    {                                                             \
        .name = "ScatterNd" word,                                 \
        .inputs = "ref: Ref(T), indices: Tindices, updates: T",   \
        .outputs = "output_ref: Ref(T)",                          \
        .attrs = "T: " types "; Tindices: {int32, int64}; "       \
                 "use_locking: bool = " locking POLICY,           \
        .shape = like_shape,                                      \
        .flags = TFD_OP_NO_GRADIENT,                              \
    },                                                            \
    {                                                             \
        .name = "ResourceScatterNd" word,                         \
        .inputs = "ref: resource, indices: Tindices, updates: T", \
        .outputs = "",                                            \
        .attrs = "T: type; Tindices: {int32, int64}; "            \
                 "use_locking: bool = true" POLICY,               \
        .checks = "ref: scalar", .shape = like_shape,             \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,            \
    }

#define TENSOR_OP(word, types, gradient)                                     \
    {                                                                        \
        .name = "TensorScatter" word,                                        \
        .inputs = "tensor: T, indices: Tindices, updates: T",                \
        .outputs = "output: T", .attrs = "T: type; Tindices: " types POLICY, \
        .shape = like_shape, .grad = gradient,                               \
    }

static const struct tfd_opdef ops[] = {
    VARIABLE_OPS("Add", "numbertype", "false"),
    VARIABLE_OPS("Sub", "numbertype", "false"),
    VARIABLE_OPS("Update", "type", "true"),
    VARIABLE_OPS("Min", "numbertype", "false"),
    VARIABLE_OPS("Max", "numbertype", "false"),
    TENSOR_OP("Update", "{int16, int32, int64, uint16}", update_gradient),
    TENSOR_OP("Add", "{int32, int64}", add_gradient),
    TENSOR_OP("Sub", "{int32, int64}", sub_gradient),
    TENSOR_OP("Min", "{int32, int64}", extreme_gradient),
    TENSOR_OP("Max", "{int32, int64}", extreme_gradient),
    {
        .name = "ScatterNdNonAliasingAdd",
        .inputs = "input: T, indices: Tindices, updates: T",
        .outputs = "output: T",
        .attrs = "T: {numbertype, bool}; Tindices: {int32, int64}" POLICY,
        .shape = like_shape,
        .grad = add_gradient,
    },
    {
        .name = "ScatterNd",
        .inputs = "indices: Tindices, updates: T, shape: Tindices",
        .outputs = "output: T",
        .attrs = "T: type; Tindices: {int16, int32, int64}" POLICY,
        .shape = zeros_shape,
        .grad = zeros_gradient,
    },
};

#define ROW(op, name, compute)                                       \
    TFD_KERNEL(op, name, compute, .prepare = tfd_scatter_nd_prepare, \
               .state_size = sizeof(struct tfd_scatter_nd_state))

#define BOTH(word, name)                           \
    ROW("ScatterNd" word, name, variable_compute), \
        ROW("ResourceScatterNd" word, name, variable_compute)

#define ANY(name, number, T)                                     \
    BOTH("Update", name), ROW("ScatterNd", name, zeros_compute), \
        ROW("TensorScatterUpdate", name, tensor_compute),

#define ADDED(name, number, T)                               \
    ROW("ScatterNdNonAliasingAdd", name, tensor_compute),    \
        ROW("ResourceScatterNdAdd", name, variable_compute), \
        ROW("ResourceScatterNdSub", name, variable_compute), \
        ANY(name, number, T)

#define SUMS(name, number, T)                          \
    ROW("ScatterNdAdd", name, variable_compute),       \
        ROW("ScatterNdSub", name, variable_compute),   \
        ROW("TensorScatterAdd", name, tensor_compute), \
        ROW("TensorScatterSub", name, tensor_compute), ADDED(name, number, T)

#define ORDER(name, number, T)                         \
    BOTH("Min", name), BOTH("Max", name),              \
        ROW("TensorScatterMin", name, tensor_compute), \
        ROW("TensorScatterMax", name, tensor_compute),

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(SUMS) TFD_HALF_DTYPES(SUMS) TFD_COMPLEX_DTYPES(SUMS)
        TFD_REAL_DTYPES(ORDER) TFD_HALF_DTYPES(ORDER) ADDED(BOOL, 10, tfd_bool)
            ANY(STRING, 7, tstring)};

const struct tfd_family tfd_family_scatter_nd = {
    .name = "scatter_nd",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
