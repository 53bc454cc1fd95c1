/*
 * ragged_range.c - RaggedRange: a row of numbers for each start, limit and
 * step, of which each may be one for all rows.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/ragged/ragged.h"

#include <inttypes.h>
#include <math.h>

/* ---- How many numbers a row has ------------------------------------------ */

static enum tfd_code fail_length(int64_t most, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Requires ((limit - start) / delta) <= %" PRId64, most);
}

#define LENGTH_INT(name, T)                                                    \
    static enum tfd_code length_##name(                                        \
        const void *starts, const void *limits, const void *deltas,            \
        const int64_t *i, int64_t most, int64_t *out, struct tfd_status *st)   \
    {                                                                          \
        const int64_t start = ((const T *)starts)[i[0]],                       \
                      limit = ((const T *)limits)[i[1]],                       \
                      delta = ((const T *)deltas)[i[2]];                       \
        const uint64_t by = delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta; \
        uint64_t way;                                                          \
                                                                               \
        if (delta == 0)                                                        \
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "Requires delta != 0");  \
        *out = 0;                                                              \
        if (delta > 0 ? limit <= start : limit >= start)                       \
            return TFD_OK;                                                     \
        way = delta > 0 ? (uint64_t)limit - (uint64_t)start                    \
                        : (uint64_t)start - (uint64_t)limit;                   \
        way = way / by + (way % by != 0);                                      \
        if (way > (uint64_t)most)                                              \
            return fail_length(most, st);                                      \
        *out = (int64_t)way;                                                   \
        return TFD_OK;                                                         \
    }
LENGTH_INT(INT32, int32_t)
LENGTH_INT(INT64, int64_t)

#define LENGTH_FLOAT(name, T, CEIL, ABS)                                      \
    static enum tfd_code length_##name(                                       \
        const void *starts, const void *limits, const void *deltas,           \
        const int64_t *i, int64_t most, int64_t *out, struct tfd_status *st)  \
    {                                                                         \
        const T start = ((const T *)starts)[i[0]],                            \
                limit = ((const T *)limits)[i[1]],                            \
                delta = ((const T *)deltas)[i[2]];                            \
        T count;                                                              \
                                                                              \
        if (delta == 0)                                                       \
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "Requires delta != 0"); \
        *out = 0;                                                             \
        if ((delta > 0 && limit < start) || (delta < 0 && limit > start))     \
            return TFD_OK;                                                    \
        count = CEIL(ABS((limit - start) / delta));                           \
        /* Not a number is no count, either; 2^63 is no int64. */             \
        if (!(count < (T)most))                                               \
            return fail_length(most, st);                                     \
        *out = (int64_t)count;                                                \
        return TFD_OK;                                                        \
    }
LENGTH_FLOAT(FLOAT, float, ceilf, fabsf)
LENGTH_FLOAT(DOUBLE, double, ceil, fabs)

/* ---- The numbers --------------------------------------------------------- */

#define FILL_ROW(name, T, U)                                            \
    static void fill_row_##name(const void *starts, const void *deltas, \
                                const int64_t *i, void *to, int64_t at, \
                                int64_t begin, int64_t end)             \
    {                                                                   \
        const T start = ((const T *)starts)[i[0]],                      \
                delta = ((const T *)deltas)[i[2]];                      \
        T *y = (T *)to + at;                                            \
                                                                        \
        if (begin == 0)                                                 \
            y[begin++] = start;                                         \
        for (int64_t n = begin; n < end; n++)                           \
            y[n] = (T)((U)y[n - 1] + (U)delta);                         \
    }
FILL_ROW(INT32, int32_t, uint32_t)
FILL_ROW(INT64, int64_t, uint64_t)
FILL_ROW(FLOAT, float, float)
FILL_ROW(DOUBLE, double, double)

typedef enum tfd_code length_fn(const void *starts, const void *limits,
                                const void *deltas, const int64_t *i,
                                int64_t most, int64_t *out,
                                struct tfd_status *st);
typedef void fill_row_fn(const void *starts, const void *deltas,
                         const int64_t *i, void *to, int64_t at, int64_t begin,
                         int64_t end);

struct range_type {
    length_fn *length;
    fill_row_fn *fill;
};

#define RANGE_TYPE(name) [TFD_##name] = {length_##name, fill_row_##name}

static const struct range_type range_types[TFD_DTYPE_END] = {
    RANGE_TYPE(INT32), RANGE_TYPE(INT64), RANGE_TYPE(FLOAT),
    RANGE_TYPE(DOUBLE)};

/* ---- The op -------------------------------------------------------------- */

struct ranging {
    const struct range_type *type;
    const void *starts, *limits, *deltas;
    bool each[3]; /* one for each row, or one for all */
    int64_t rows, most;
};

static enum tfd_code read_ranges(const struct tfd_kctx *k, struct ranging *r,
                                 enum tfd_dtype splits, struct tfd_status *st)
{
    static const char *const names[] = {"starts", "limits", "deltas"};
    bool any = false;

    *r = (struct ranging){.type = &range_types[k->in[0].dtype],
                          .starts = tfd_tensor_data(&k->in[0]),
                          .limits = tfd_tensor_data(&k->in[1]),
                          .deltas = tfd_tensor_data(&k->in[2]),
                          .rows = 1,
                          .most = splits == TFD_INT32 ? INT32_MAX : INT64_MAX};
    for (int i = 0; i < 3; i++)
        if (k->in[i].shape.rank > 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be a scalar or vector", names[i]);
    for (int i = 0; i < 3; i++) {
        const struct tfd_shape *s = &k->in[i].shape;

        r->each[i] = s->rank == 1;
        if (s->rank == 1 && any && s->dim[0] != r->rows)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "starts, limits, and deltas must have the same "
                            "shape");
        r->rows = s->rank == 1 ? s->dim[0] : r->rows;
        any |= s->rank == 1;
    }
    return TFD_OK;
}

static void place_of_row(const struct ranging *r, int64_t row, int64_t *i)
{
    for (int n = 0; n < 3; n++)
        i[n] = r->each[n] ? row : 0;
}

static enum tfd_code put_range_splits(struct tfd_kctx *k,
                                      const struct ranging *r,
                                      enum tfd_dtype dtype, int64_t *total,
                                      struct tfd_status *st)
{
    int64_t length, i[3];

    TFD_TRY(tfd_ragged_new_splits(k, 0, dtype, r->rows + 1, 0, st));
    tfd_ragged_put(&k->out[0], 0, 0);
    for (int64_t row = 0; row < r->rows; row++) {
        place_of_row(r, row, i);
        TFD_TRY(r->type->length(r->starts, r->limits, r->deltas, i, r->most,
                                &length, st));
        if (length > r->most - *total)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "The total range size overflowed. Consider using "
                            "int64 instead of int32 for row_splits_dtype.");
        *total += length;
        tfd_ragged_put(&k->out[0], row + 1, *total);
    }
    return TFD_OK;
}

#define RANGE_BLOCK (1 << 20) /* numbers between two looks at the step */

static enum tfd_code range_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct ranging r;
    enum tfd_dtype dtype;
    struct tfd_shape shape;
    int64_t total = 0, i[3];

    TFD_TRY(tfd_node_type(k->node, "Tsplits", &dtype, st));
    TFD_TRY(read_ranges(k, &r, dtype, st));
    TFD_TRY(put_range_splits(k, &r, dtype, &total, st));
    TFD_TRY(tfd_shape_make(&shape, &total, 1, st));
    TFD_TRY(tfd_kctx_output(k, 1, k->in[0].dtype, &shape, st));
    for (int64_t row = 0; row < r.rows; row++) {
        const int64_t at = tfd_check_int_at(&k->out[0], row),
                      n = tfd_check_int_at(&k->out[0], row + 1) - at;

        place_of_row(&r, row, i);
        for (int64_t begin = 0; begin < n; begin += RANGE_BLOCK) {
            if (tfd_halted())
                return tfd_halt_fail(st);
            r.type->fill(r.starts, r.deltas, i, tfd_tensor_data(&k->out[1]), at,
                         begin,
                         n - begin < RANGE_BLOCK ? n : begin + RANGE_BLOCK);
        }
    }
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "RaggedRange",
        .inputs = "starts: T, limits: T, deltas: T",
        .outputs = "rt_nested_splits: Tsplits, rt_dense_values: T",
        .attrs = "T: {bfloat16, float, double, int32, int64} = DT_INT32; "
                 "Tsplits: {int32, int64} = DT_INT64",
        .key = "T",
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("RaggedRange", INT32, range_compute),
    TFD_KERNEL("RaggedRange", INT64, range_compute),
    TFD_KERNEL("RaggedRange", FLOAT, range_compute),
    TFD_KERNEL("RaggedRange", DOUBLE, range_compute),
};

const struct tfd_family tfd_family_ragged_range = {
    .name = "ragged_range",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
