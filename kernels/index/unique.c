/*
 * unique.c - Unique, UniqueV2, UniqueWithCounts, UniqueWithCountsV2, ListDiff.
 *
 * Items (unique_items.h) are numbered by a table (unique_table.h); results are
 * in the order of first appearance.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/outputs.h"
#include "kernels/layout/rows.h"
#include "kernels/index/unique_table.h"

#include <string.h>

#define STRINGS_BETWEEN_LOOKS 4096

/* ---- Unique -------------------------------------------------------------- */

static void put_index(const struct tfd_tensor *t, int64_t i, int64_t value)
{
    if (t->dtype == TFD_INT32)
        ((int32_t *)tfd_tensor_data(t))[i] = (int32_t)value;
    else
        ((int64_t *)tfd_tensor_data(t))[i] = value;
}

static enum tfd_code read_axis(const struct tfd_kctx *k, int *axis,
                               struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[1];
    int rank = k->in[0].shape.rank;
    int64_t value;

    if (t->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "axis expects a 1D vector.");
    if (t->shape.dim[0] == 0)
        return TFD_OK;
    if (t->shape.dim[0] > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "axis does not support input tensors larger than 1 "
                        "elements");
    value = tfd_check_int_at(t, 0);
    if (value < -rank || value >= rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "axis has to be between [0, %d)", rank);
    *axis = (int)(value < 0 ? value + rank : value);
    return TFD_OK;
}

enum tfd_code tfd_unique_axis(const struct tfd_kctx *k, int *axis,
                              struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;

    *axis = -1;
    if (k->in_count > 1)
        TFD_TRY(read_axis(k, axis, st));
    if (*axis < 0 && x->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "unique expects a 1D vector.");
    *axis = *axis < 0 ? 0 : *axis;
    if (k->node->out_types[1] == TFD_INT32 && x->dim[*axis] > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "unique does not support input tensors larger than %d "
                        "elements",
                        INT32_MAX);
    return TFD_OK;
}

static enum tfd_code read_items(const struct tfd_kctx *k,
                                struct tfd_unique_items *t, int *axis,
                                struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;

    TFD_TRY(tfd_unique_axis(k, axis, st));
    *t = (struct tfd_unique_items){
        .x = &k->in[0], .outer = 1, .count = x->dim[*axis], .inner = 1};
    for (int d = 0; d < x->rank; d++)
        if (d != *axis)
            *(d < *axis ? &t->outer : &t->inner) *= x->dim[d];
    return TFD_OK;
}

/* Plain items that are bytes. */
static void gather_items(void *to, const struct tfd_unique_items *t,
                         const int64_t *first, int64_t count)
{
    size_t size = tfd_dtype_size(t->x->dtype);

    tfd_rows_gather(size, TFD_INT64)(to, tfd_tensor_data(t->x), size, first,
                                     count);
}

/* Items that are strings. */
static enum tfd_code copy_string_items(struct tfd_tstring *to,
                                       const struct tfd_tstring *from,
                                       const int64_t *first, int64_t count,
                                       struct tfd_status *st)
{
    for (int64_t u = 0; u < count; u++) {
        if (u % STRINGS_BETWEEN_LOOKS == 0 && tfd_halted())
            return tfd_halt_fail(st);
        TFD_TRY(tfd_tstring_copy(&to[u], &from[first[u]], st));
    }
    return TFD_OK;
}

/* Item first[u] as number u of the result. */
static enum tfd_code copy_items(struct tfd_kctx *k,
                                const struct tfd_unique_items *t, int axis,
                                const int64_t *first, int64_t count,
                                struct tfd_status *st)
{
    struct tfd_shape shape = t->x->shape;
    enum tfd_dtype dtype = t->x->dtype;

    shape.dim[axis] = count;
    TFD_TRY(tfd_kctx_output(k, 0, dtype, &shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    if (t->exact) {
        gather_items(tfd_tensor_data(&k->out[0]), t, first, count);
        return TFD_OK;
    }
    if (dtype == TFD_STRING && t->outer == 1 && t->inner == 1)
        return copy_string_items(tfd_tensor_data(&k->out[0]),
                                 tfd_tensor_data(t->x), first, count, st);
    for (int64_t o = 0; o < t->outer; o++)
        for (int64_t u = 0; u < count; u++)
            TFD_TRY(tfd_elements_copy(
                dtype,
                tfd_element_at(tfd_tensor_data(&k->out[0]), dtype,
                               (o * count + u) * t->inner),
                tfd_unique_items_run(t, o, first[u]), t->inner, st));
    return TFD_OK;
}

static void put_numbers(const struct tfd_tensor *idx, int64_t from,
                        const int64_t *numbers, int64_t n)
{
    int64_t *wide = (int64_t *)tfd_tensor_data(idx) + from;
    int32_t *narrow = (int32_t *)tfd_tensor_data(idx) + from;

    if (idx->dtype == TFD_INT64)
        memcpy(wide, numbers, (size_t)n * sizeof(*wide));
    else
        for (int64_t i = 0; i < n; i++)
            narrow[i] = (int32_t)numbers[i];
}

/* New numbers follow each other; those below `before` were there. */
static void count_numbers(int64_t *counts, int64_t before,
                          const int64_t *numbers, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (numbers[i] == before)
            counts[before++] = 1;
        else
            counts[numbers[i]]++;
}

static int64_t block_of(int64_t left)
{
    return left < TFD_UNIQUE_BLOCK ? left : TFD_UNIQUE_BLOCK;
}

/* idx and counts[] by number may be NULL. */
static enum tfd_code number_all(struct tfd_unique_table *t,
                                const struct tfd_tensor *idx, int64_t *counts,
                                struct tfd_status *st)
{
    int64_t numbers[TFD_UNIQUE_BLOCK];

    for (int64_t i = 0; i < t->stored->count; i += TFD_UNIQUE_BLOCK) {
        int64_t n = block_of(t->stored->count - i), before = t->count;

        if (tfd_halted())
            return tfd_halt_fail(st);
        TFD_TRY(tfd_unique_table_number(t, i, n, numbers, st));
        if (idx)
            put_numbers(idx, i, numbers, n);
        if (counts)
            count_numbers(counts, before, numbers, n);
    }
    return TFD_OK;
}

static enum tfd_code put_counts(struct tfd_kctx *k, const int64_t *counts,
                                int64_t unique, struct tfd_status *st)
{
    const struct tfd_shape shape = {1, {unique}};

    if (k->out_count < 3)
        return TFD_OK;
    TFD_TRY(tfd_kctx_output(k, 2, (enum tfd_dtype)k->node->out_types[2], &shape,
                            st));
    for (int64_t u = 0; u < unique; u++)
        put_index(&k->out[2], u, counts[u]);
    return TFD_OK;
}

static enum tfd_code unique_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape vector = {1, {0}};
    struct tfd_tensor counts = TFD_TENSOR_INIT;
    struct tfd_unique_table table = {0};
    struct tfd_unique_items t;
    enum tfd_code rc = TFD_OK;
    int axis;

    TFD_TRY(read_items(k, &t, &axis, st));
    vector.dim[0] = t.count;
    TFD_TRY(tfd_kctx_output(k, 1, (enum tfd_dtype)k->node->out_types[1],
                            &vector, st));
    if (k->out_count > 2)
        TFD_TRY(tfd_tensor_new(&counts, TFD_INT64, &vector, st));
    tfd_unique_items_init(&t);
    rc = tfd_unique_table_make(&table, &t, true, st);
    if (rc == TFD_OK)
        rc = number_all(&table, &k->out[1], tfd_tensor_data(&counts), st);
    if (rc == TFD_OK)
        rc = copy_items(k, &t, axis, table.first, table.count, st);
    if (rc == TFD_OK)
        rc = put_counts(k, tfd_tensor_data(&counts), table.count, st);
    tfd_unique_table_free(&table);
    tfd_tensor_unref(&counts);
    return rc;
}

/* ---- ListDiff ------------------------------------------------------------ */

static enum tfd_code put_rest(struct tfd_kctx *k,
                              const struct tfd_unique_items *x,
                              const int64_t *kept, int64_t count,
                              struct tfd_status *st)
{
    const struct tfd_shape shape = {1, {count}};

    TFD_TRY(copy_items(k, x, 0, kept, count, st));
    TFD_TRY(tfd_kctx_output(k, 1, (enum tfd_dtype)k->node->out_types[1], &shape,
                            st));
    for (int64_t i = 0; i < count; i++)
        put_index(&k->out[1], i, kept[i]);
    return TFD_OK;
}

/* The items of x that the table lacks, and how many. */
static int64_t find_rest(const struct tfd_unique_table *t,
                         const struct tfd_unique_items *x, int64_t *kept)
{
    bool lacks[TFD_UNIQUE_BLOCK];
    int64_t count = 0;

    for (int64_t i = 0; i < x->count && !tfd_halted(); i += TFD_UNIQUE_BLOCK) {
        int64_t n = block_of(x->count - i);

        tfd_unique_table_lacks(t, x, i, n, lacks);
        for (int64_t j = 0; j < n; j++) {
            kept[count] = i + j;
            count += lacks[j];
        }
    }
    return count;
}

static enum tfd_code diff_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_unique_items x = {.x = &k->in[0], .outer = 1, .inner = 1};
    struct tfd_unique_items y = {.x = &k->in[1], .outer = 1, .inner = 1};
    struct tfd_tensor kept = TFD_TENSOR_INIT;
    struct tfd_unique_table table = {0};
    enum tfd_code rc;

    if (k->in[0].shape.rank != 1 || k->in[1].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s should be a 1D vector.",
                        k->in[0].shape.rank != 1 ? "x" : "y");
    x.count = k->in[0].shape.dim[0];
    y.count = k->in[1].shape.dim[0];
    tfd_unique_items_init(&x);
    tfd_unique_items_init(&y);
    TFD_TRY(tfd_tensor_new(&kept, TFD_INT64, &k->in[0].shape, st));
    rc = tfd_unique_table_make(&table, &y, false, st);
    if (rc == TFD_OK)
        rc = number_all(&table, NULL, NULL, st);
    if (rc == TFD_OK) {
        int64_t *list = tfd_tensor_data(&kept);

        rc = put_rest(k, &x, list, find_rest(&table, &x, list), st);
    }
    tfd_unique_table_free(&table);
    tfd_tensor_unref(&kept);
    return rc;
}

/* ---- Shapes -------------------------------------------------------------- */

static const struct tfd_shape some = {1, {TFD_DIM_UNKNOWN}};

static enum tfd_code unique_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    (void)st;
    s->out[1] = some;
    if (s->in_count == 1) {
        s->out[0] = some;
        s->out[1] = s->in[0];
    }
    if (s->out_count > 2)
        s->out[2] = some;
    return TFD_OK;
}

static enum tfd_code diff_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    s->out[0] = s->out[1] = some;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define UNIQUE(op, in, out, types)                                            \
    {                                                                         \
        .name = op, .inputs = "x: T" in, .outputs = "y: T, idx: out_idx" out, \
        .attrs = "T: type; " types "out_idx: {int32, int64} = DT_INT32",      \
        .shape = unique_shape,                                                \
    }

#define AXIS "Taxis: {int32, int64} = DT_INT64; "

static const struct tfd_opdef ops[] = {
    UNIQUE("Unique", "", "", ""),
    UNIQUE("UniqueV2", ", axis: Taxis", "", AXIS),
    UNIQUE("UniqueWithCounts", "", ", count: out_idx", ""),
    UNIQUE("UniqueWithCountsV2", ", axis: Taxis", ", count: out_idx", AXIS),
    {
        .name = "ListDiff",
        .inputs = "x: T, y: T",
        .outputs = "out: T, idx: out_idx",
        .attrs = "T: type; out_idx: {int32, int64} = DT_INT32",
        .shape = diff_shape,
    },
};

#define DIFF(name, number, T)                                   \
    TFD_KERNEL("Unique", name, unique_compute),                 \
        TFD_KERNEL("UniqueV2", name, unique_compute),           \
        TFD_KERNEL("UniqueWithCounts", name, unique_compute),   \
        TFD_KERNEL("UniqueWithCountsV2", name, unique_compute), \
        TFD_KERNEL("ListDiff", name, diff_compute),

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(DIFF) TFD_HALF_DTYPES(DIFF) DIFF(STRING, 7, tstring)
        DIFF(BOOL, 10, tfd_bool)};

const struct tfd_family tfd_family_unique = {
    .name = "unique",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
