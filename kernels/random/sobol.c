/*
 * sobol.c - SobolSample: points of a sequence that fills the unit cube evenly.
 *
 * Point n is the exclusive or of the direction numbers that bits of the Gray
 * code of n choose, so point n + 1 differs from point n by one of them.  The
 * first row of the output is point skip + 1.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/random/sobol_table.h"
#include "kernels/vector/simd.h"

#include <string.h>

/* Rows that are made in one piece, and columns whose direction numbers are at
 * hand meanwhile: a cache line of floats. */
#define BLOCK_ROWS 4096
#define COLUMNS 16
/* From this point on TensorFlow's samples are negative: it divides by 2^31 as
 * an int32. */
#define NEGATIVE_FROM (INT64_C(1) << 30)

struct sobol {
    struct tfd_tensor *out;
    int64_t rows, skip;
    int dim;
    double unit; /* 2^-31, or what TensorFlow takes for it */
};

struct columns {
    uint32_t direction[TFD_SOBOL_DIGITS][COLUMNS];
    uint32_t point[COLUMNS];
    int first, count;
};

/* Columns from `first` on, at point n; `last` is that of the last row. */
static void begin_columns(struct columns *c, const struct sobol *s, int first,
                          uint32_t n, uint32_t last)
{
    const uint32_t gray = n ^ n >> 1;
    const int digits = 32 - __builtin_clz(last);

    c->first = first;
    c->count = s->dim - first < COLUMNS ? s->dim - first : COLUMNS;
    memset(c->point, 0, sizeof(c->point));
    for (int i = 0; i < c->count; i++) {
        uint32_t numbers[TFD_SOBOL_DIGITS];

        tfd_sobol_directions(first + i, digits, numbers);
        for (int k = 0; k < digits; k++) {
            c->direction[k][i] = numbers[k];
            if (gray >> k & 1)
                c->point[i] ^= numbers[k];
        }
    }
}

/* Points lie below 2^31, and conversions of signed numbers are instructions. */
#define FILL(T)                                                           \
    static inline __attribute__((always_inline)) void store_##T(          \
        const uint32_t *point, T unit, T *to, int count)                  \
    {                                                                     \
        for (int i = 0; i < count; i++)                                   \
            to[i] = (T)(int32_t)point[i] * unit;                          \
    }                                                                     \
    static inline __attribute__((always_inline)) void walk_##T(           \
        const struct columns *c, const struct sobol *s, int64_t begin,    \
        int64_t end, int count)                                           \
    {                                                                     \
        uint32_t n = (uint32_t)(s->skip + begin + 1), point[COLUMNS];     \
        T *to = (T *)tfd_tensor_data(s->out) + begin * s->dim + c->first; \
        const T unit = (T)s->unit;                                        \
                                                                          \
        memcpy(point, c->point, sizeof(point));                           \
        store_##T(point, unit, to, count);                                \
        for (int64_t row = begin + 1; row < end; row++) {                 \
            const uint32_t *change = c->direction[__builtin_ctz(++n)];    \
                                                                          \
            for (int i = 0; i < count; i++)                               \
                point[i] ^= change[i];                                    \
            store_##T(point, unit, to += s->dim, count);                  \
        }                                                                 \
    }                                                                     \
    TFD_SIMD_LOOP(fill_##T)                                               \
    {                                                                     \
        const struct sobol *s = arg;                                      \
                                                                          \
        for (int i = 0; i < s->dim && !tfd_halted(); i += COLUMNS) {      \
            struct columns c;                                             \
                                                                          \
            begin_columns(&c, s, i, (uint32_t)(s->skip + begin + 1),      \
                          (uint32_t)(s->skip + end));                     \
            if (c.count == COLUMNS)                                       \
                walk_##T(&c, s, begin, end, COLUMNS);                     \
            else if (c.count == COLUMNS / 2)                              \
                walk_##T(&c, s, begin, end, COLUMNS / 2);                 \
            else                                                          \
                walk_##T(&c, s, begin, end, c.count);                     \
        }                                                                 \
    }                                                                     \
    TFD_SIMD_CLONES(fill_##T)

FILL(float)
FILL(double)

static void run_sobol(void *arg, int64_t begin, int64_t end)
{
    struct sobol *s = arg;

    for (int64_t block = begin; block < end && !tfd_halted(); block++) {
        const int64_t row = block * BLOCK_ROWS, rest = s->rows - row;
        const int64_t rows = rest < BLOCK_ROWS ? rest : BLOCK_ROWS;

        if (s->out->dtype == TFD_FLOAT)
            fill_float(s, row, row + rows);
        else
            fill_double(s, row, row + rows);
    }
}

static enum tfd_code check_sobol(int64_t dim, int64_t rows, int64_t skip,
                                 struct tfd_status *st)
{
    if (dim < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "dim must be at least one");
    if (dim > TFD_SOBOL_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "dim must be at most %d",
                        TFD_SOBOL_DIMS);
    if (rows < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_results must be at least one");
    if (skip < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "skip must be non-negative");
    if (rows >= INT32_MAX - skip)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_results+skip must be less than %d", INT32_MAX);
    return TFD_OK;
}

static enum tfd_code sobol_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t dim, rows, skip, cost;
    struct tfd_shape shape;
    struct sobol s;

    TFD_TRY(tfd_check_int(k, 0, &dim, st));
    TFD_TRY(tfd_check_int(k, 1, &rows, st));
    TFD_TRY(tfd_check_int(k, 2, &skip, st));
    TFD_TRY(check_sobol(dim, rows, skip, st));
    TFD_TRY(tfd_sobol_begin(st));
    TFD_TRY(tfd_shape_make(&shape, (int64_t[]){rows, dim}, 2, st));
    TFD_TRY(tfd_kctx_output(k, 0, (enum tfd_dtype)k->node->out_types[0], &shape,
                            st));
    s = (struct sobol){&k->out[0], rows, skip, (int)dim,
                       skip + rows + 1 < NEGATIVE_FROM ? 0x1p-31 : -0x1p-31};
    cost = dim * (rows < BLOCK_ROWS ? rows : BLOCK_ROWS);
    tfd_kctx_parallel(k, (rows + BLOCK_ROWS - 1) / BLOCK_ROWS, (int)cost,
                      run_sobol, &s);
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static int64_t known_size(const struct tfd_shape_ctx *s, int in)
{
    const struct tfd_tensor *value = s->value ? s->value[in] : NULL;

    if (!value || value->dtype != TFD_INT32 || tfd_tensor_elements(value) != 1)
        return TFD_DIM_UNKNOWN;
    return tfd_check_int_at(value, 0) < 0 ? TFD_DIM_UNKNOWN
                                          : tfd_check_int_at(value, 0);
}

static enum tfd_code sobol_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const int64_t dim[] = {known_size(s, 1), known_size(s, 0)};

    return tfd_shape_make_partial(&s->out[0], dim, 2, st);
}

static const struct tfd_opdef ops[] = {
    {
        .name = "SobolSample",
        .inputs = "dim: int32, num_results: int32, skip: int32",
        .outputs = "samples: dtype",
        .attrs = "dtype: {float, double} = DT_FLOAT",
        .checks = "dim: scalar 'dim must be a scalar'; "
                  "num_results: scalar 'num_results must be a scalar'; "
                  "skip: scalar 'skip must be a scalar'",
        .key = "dtype",
        .shape = sobol_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("SobolSample", FLOAT, sobol_compute),
    TFD_KERNEL("SobolSample", DOUBLE, sobol_compute),
};

const struct tfd_family tfd_family_sobol = {
    .name = "sobol",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
