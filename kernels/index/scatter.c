/*
 * scatter.c - updates of rows of a variable by index: Scatter<X> on references,
 * ResourceScatter<X> on handles, for the functions of scatter.h.
 *
 * Both kinds are one kernel; the variable is locked whatever use_locking says
 * (variable.h).  All indices are checked before the first row changes.
 */
#include "kernels/index/scatter.h"

#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/layout/rows.h"

#include <string.h>

/* ---- What all devices share ---------------------------------------------- */

enum tfd_code tfd_scatter_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    enum tfd_scatter_function *function = state;

    *function = tfd_scatter_named(p->node->op->name);
    if (*function == TFD_SCATTER_END)
        return tfd_fail(st, TFD_INTERNAL, "no function behind op %s",
                        p->node->op->name.data);
    return TFD_OK;
}

enum tfd_code tfd_scatter_check_type(const struct tfd_variable *v,
                                     const struct tfd_tensor *updates,
                                     struct tfd_status *st)
{
    if (v->dtype == updates->dtype)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "DType of scatter resource and updates does not match: "
                    "variable %s is %s, updates are %s",
                    v->name, tfd_dtype_name((int)v->dtype),
                    tfd_dtype_name((int)updates->dtype));
}

static enum tfd_code bad_updates(const struct tfd_shape *v,
                                 const struct tfd_shape *indices,
                                 const struct tfd_shape *updates,
                                 struct tfd_status *st)
{
    char var[TFD_SHAPE_TEXT_MAX], index[TFD_SHAPE_TEXT_MAX];
    char update[TFD_SHAPE_TEXT_MAX];

    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Must have updates.shape = indices.shape + "
                    "params.shape[1:] or updates.shape = [], got updates.shape "
                    "%s, indices.shape %s, params.shape %s",
                    tfd_shape_text(updates, update),
                    tfd_shape_text(indices, index), tfd_shape_text(v, var));
}

static bool is_prefix(const struct tfd_shape *prefix, const struct tfd_shape *s)
{
    bool is = prefix->rank <= s->rank;

    for (int d = 0; is && d < prefix->rank; d++)
        is = prefix->dim[d] == s->dim[d];
    return is;
}

/* ref: of a reference; the op on handles says the same in other words. */
static enum tfd_code check_updates(const struct tfd_shape *v,
                                   const struct tfd_shape *indices,
                                   const struct tfd_shape *updates, bool ref,
                                   struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    char prefix[TFD_SHAPE_TEXT_MAX];
    bool fits = updates->rank == indices->rank + v->rank - 1;

    if (ref && v->rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "params must be at least 1-D, got shape %s",
                        tfd_shape_text(v, text));
    if (updates->rank == 0 && v->rank > 0)
        return TFD_OK;
    if (!ref && tfd_shape_elements(indices) > 0 && !is_prefix(indices, updates))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The shape of indices (%s) must be a prefix of the "
                        "shape of updates (%s)",
                        tfd_shape_text(indices, prefix),
                        tfd_shape_text(updates, text));
    fits = fits && v->rank > 0;
    for (int d = 0; fits && d < updates->rank; d++)
        fits = updates->dim[d] == (d < indices->rank
                                       ? indices->dim[d]
                                       : v->dim[d - indices->rank + 1]);
    return fits ? TFD_OK : bad_updates(v, indices, updates, st);
}

enum tfd_code tfd_scatter_make(const struct tfd_kctx *k,
                               const struct tfd_shape *shape,
                               struct tfd_scatter *out, struct tfd_status *st)
{
    const struct tfd_tensor *indices = &k->in[1], *updates = &k->in[2];

    TFD_TRY(check_updates(shape, &indices->shape, &updates->shape,
                          k->ref && k->ref[0], st));
    *out = (struct tfd_scatter){.by = tfd_tensor_data(updates),
                                .count = tfd_tensor_elements(indices),
                                .inner = 1,
                                .limit = shape->dim[0],
                                .one = updates->shape.rank == 0};
    for (int d = 1; d < shape->rank; d++)
        out->inner *= shape->dim[d];
    return TFD_OK;
}

/* ---- Indices ------------------------------------------------------------- */

static enum tfd_code bad_index(const struct tfd_tensor *indices, int64_t at,
                               int64_t limit, struct tfd_status *st)
{
    char place[TFD_SCATTER_PLACE_MAX];

    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "indices%s = %lld is not in [0, %lld)",
                    tfd_scatter_place(&indices->shape, at, place),
                    (long long)tfd_check_int_at(indices, at), (long long)limit);
}

static enum tfd_code check_scatter_indices(const struct tfd_tensor *indices,
                                           int64_t limit, struct tfd_status *st)
{
    const int64_t n = tfd_tensor_elements(indices);
    const int64_t bad =
        tfd_rows_bad(tfd_tensor_data(indices), indices->dtype, n, limit);

    return bad < n ? bad_index(indices, bad, limit, st) : TFD_OK;
}

/* The indices, made 64 bits wide in *wide where they are not. */
static enum tfd_code read_rows(const struct tfd_tensor *indices,
                               struct tfd_tensor *wide, const int64_t **rows,
                               struct tfd_status *st)
{
    const int64_t n = tfd_tensor_elements(indices);
    const int32_t *narrow = tfd_tensor_data(indices);
    int64_t *to;

    *rows = tfd_tensor_data(indices);
    if (indices->dtype == TFD_INT64)
        return TFD_OK;
    TFD_TRY(tfd_tensor_new(wide, TFD_INT64, &indices->shape, st));
    *rows = to = tfd_tensor_data(wide);
    for (int64_t i = 0; i < n; i++)
        to[i] = narrow[i];
    return TFD_OK;
}

/* ---- Running ------------------------------------------------------------- */

static enum tfd_code scatter_locked(struct tfd_kctx *k, struct tfd_variable *v,
                                    struct tfd_tensor *wide,
                                    struct tfd_status *st)
{
    const enum tfd_scatter_function function =
        *(const enum tfd_scatter_function *)k->state;
    const struct tfd_tensor *indices = &k->in[1];
    struct tfd_scatter s;

    TFD_TRY(tfd_scatter_check_type(v, &k->in[2], st));
    TFD_TRY(tfd_variable_writable(v, st));
    TFD_TRY(tfd_scatter_make(k, &v->value.shape, &s, st));
    TFD_TRY(check_scatter_indices(indices, s.limit, st));
    s.to = tfd_tensor_data(&v->value);
    if (function == TFD_SCATTER_UPDATE && tfd_dtype_is_pod(v->dtype) &&
        !s.one) {
        tfd_scatter_move(k, &s, (size_t)s.inner * tfd_dtype_size(v->dtype),
                         tfd_tensor_data(indices), indices->dtype);
        return TFD_OK;
    }
    TFD_TRY(read_rows(indices, wide, &s.rows, st));
    return tfd_scatter_run(k, function, v->dtype, &s, st);
}

static enum tfd_code change(struct tfd_kctx *k, struct tfd_variable *v,
                            struct tfd_status *st)
{
    struct tfd_tensor wide = TFD_TENSOR_INIT;
    enum tfd_code rc = scatter_locked(k, v, &wide, st);

    tfd_tensor_unref(&wide);
    return rc;
}

static enum tfd_code scatter(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_kctx_change_variable(k, change, st);
}

static enum tfd_code ref_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    if (s->out_count > 0)
        s->out[0] = s->in[0];
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define OPS(word, types, locking)                               \
    {                                                           \
        .name = "Scatter" word,                                 \
        .inputs = "ref: Ref(T), indices: Tindices, updates: T", \
        .outputs = "output_ref: Ref(T)",                        \
        .attrs = "T: " types "; Tindices: {int32, int64}; "     \
                 "use_locking: bool = " locking,                \
        .shape = ref_shape,                                     \
        .flags = TFD_OP_NO_GRADIENT,                            \
    },                                                          \
        RESOURCE_OP(word, "numbertype")

#define RESOURCE_OP(word, types)                                              \
    {                                                                         \
        .name = "ResourceScatter" word,                                       \
        .inputs = "resource: resource, indices: Tindices, updates: dtype",    \
        .outputs = "", .attrs = "dtype: " types "; Tindices: {int32, int64}", \
        .checks = "resource: scalar", .key = "dtype", .shape = ref_shape,     \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,                        \
    }

#define ORDERED "{half, bfloat16, float, double, int32, int64}"

static const struct tfd_opdef ops[] = {
    OPS("Add", "numbertype", "false"),
    OPS("Sub", "numbertype", "false"),
    OPS("Mul", "numbertype", "false"),
    OPS("Div", "numbertype", "false"),
    OPS("Min", ORDERED, "false"),
    OPS("Max", ORDERED, "false"),
    {
        .name = "ScatterUpdate",
        .inputs = "ref: Ref(T), indices: Tindices, updates: T",
        .outputs = "output_ref: Ref(T)",
        .attrs = "T: type; Tindices: {int32, int64}; use_locking: bool = true",
        .shape = ref_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    RESOURCE_OP("Update", "type"),
};

#define ROW(op, name)                                             \
    TFD_KERNEL(op, name, scatter, .prepare = tfd_scatter_prepare, \
               .state_size = sizeof(enum tfd_scatter_function))

#define BOTH(word, name) \
    ROW("Scatter" word, name), ROW("ResourceScatter" word, name)

#define UPDATE(name, number, T) BOTH("Update", name),

#define ARITHMETIC(name, number, T)                          \
    BOTH("Add", name), BOTH("Sub", name), BOTH("Mul", name), \
        BOTH("Div", name), UPDATE(name, number, T)

#define RESOURCE_ORDER(name, number, T) \
    ROW("ResourceScatterMin", name), ROW("ResourceScatterMax", name),

#define REF_ORDER(name, number, T) \
    ROW("ScatterMin", name), ROW("ScatterMax", name),

/* Of the ordered types only these pass the reference op's definition. */
#define ORDERED_DTYPES(X) \
    TFD_FLOAT_DTYPES(X)   \
    TFD_HALF_DTYPES(X)    \
    X(INT32, 3, int32_t)  \
    X(INT64, 9, int64_t)

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(ARITHMETIC) TFD_HALF_DTYPES(ARITHMETIC)
        TFD_COMPLEX_DTYPES(ARITHMETIC) TFD_REAL_DTYPES(RESOURCE_ORDER)
            TFD_HALF_DTYPES(RESOURCE_ORDER) ORDERED_DTYPES(REF_ORDER)
                UPDATE(BOOL, 10, tfd_bool) UPDATE(STRING, 7, tstring)
                    ROW("ResourceScatterUpdate", VARIANT)};

const struct tfd_family tfd_family_scatter = {
    .name = "scatter",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
