/*
 * bincount.c - how often values fall into bins: Bincount and DenseBincount by
 * the value itself, whose weights are added up, HistogramFixedWidth by bins of
 * one width between two limits.
 *
 * Negative values have no bin, as those beyond the last, and are looked for
 * among the values without one.  Rows of DenseBincount are shared among
 * threads; a long one alone is cut in parts, whose bins are added up.  The cut
 * depends on sizes only, so that sums are the same with any number of threads.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"

#include "common/base/alloc.h"
#include "common/base/atomic.h"
#include "common/base/min.h"
#include "common/thread/halt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Counting ------------------------------------------------------------ */

struct count {
    const struct tfd_tensor *x;
    const void *weights;  /* NULL: each is 1 */
    void *y;              /* bins of all rows */
    int64_t total;        /* values */
    int64_t length, size; /* values of a row, of which the last may have fewer;
                             bins */
    bool binary;
    int negative; /* a value is; by any thread */
};

#define COUNT_NS 2

/* Does `what` with the value x where that has a bin. */
#define PUT(x, what)              \
    do {                          \
        if ((uint64_t)(x) < size) \
            what;                 \
        else                      \
            rest |= (x);          \
    } while (0)

/* A row, of values of type IX.  U: what weights are added up in; integers
 * wrap.  What is asked of the op is asked outside of the loops. */
#define COUNT_ROW(name, IX, U)                                          \
    static bool name(const struct count *c, int64_t row, U *restrict y) \
    {                                                                   \
        const int64_t first = row * c->length;                          \
        const int64_t n = tfd_min(c->length, c->total - first);         \
        const uint64_t size = (uint64_t)c->size;                        \
        const IX *x = (const IX *)tfd_tensor_data(c->x) + first;        \
        const U *w = c->weights ? (const U *)c->weights + first : NULL; \
        IX rest = 0;                                                    \
                                                                        \
        if (c->binary)                                                  \
            for (int64_t i = 0; i < n; i++)                             \
                PUT(x[i], y[x[i]] = 1);                                 \
        else if (w) {                                                   \
            int64_t i = 0;                                              \
                                                                        \
            for (; i + 4 <= n; i += 4) {                                \
                PUT(x[i], y[x[i]] += w[i]);                             \
                PUT(x[i + 1], y[x[i + 1]] += w[i + 1]);                 \
                PUT(x[i + 2], y[x[i + 2]] += w[i + 2]);                 \
                PUT(x[i + 3], y[x[i + 3]] += w[i + 3]);                 \
            }                                                           \
            for (; i < n; i++)                                          \
                PUT(x[i], y[x[i]] += w[i]);                             \
        } else                                                          \
            for (int64_t i = 0; i < n; i++)                             \
                PUT(x[i], y[x[i]] += 1);                                \
        return rest < 0;                                                \
    }

COUNT_ROW(row_32_FLOAT, int32_t, float)
COUNT_ROW(row_64_FLOAT, int64_t, float)
COUNT_ROW(row_32_DOUBLE, int32_t, double)
COUNT_ROW(row_64_DOUBLE, int64_t, double)
COUNT_ROW(row_32_INT32, int32_t, uint32_t)
COUNT_ROW(row_64_INT32, int64_t, uint32_t)
COUNT_ROW(row_32_INT64, int32_t, uint64_t)
COUNT_ROW(row_64_INT64, int64_t, uint64_t)

#define COUNT(name, U)                                               \
    static void count_##name(void *arg, int64_t begin, int64_t end)  \
    {                                                                \
        struct count *c = arg;                                       \
                                                                     \
        for (int64_t row = begin; row < end; row++) {                \
            U *y = c->size ? (U *)c->y + row * c->size : NULL;       \
                                                                     \
            tfd_halt_clear(y, (size_t)c->size * sizeof(*y));         \
            if (c->length == 0)                                      \
                continue;                                            \
            if (c->x->dtype == TFD_INT32 ? row_32_##name(c, row, y)  \
                                         : row_64_##name(c, row, y)) \
                TFD_STORE_RELAXED(&c->negative, 1);                  \
        }                                                            \
    }
COUNT(FLOAT, float)
COUNT(DOUBLE, double)
COUNT(INT32, uint32_t)
COUNT(INT64, uint64_t)

static enum tfd_code fail_negative(const struct tfd_tensor *x, bool rows,
                                   struct tfd_status *st)
{
    int64_t i = 0;

    while (tfd_check_int_at(x, i) >= 0)
        i++;
    if (rows)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input 'in' must be non-negative! Negative input "
                        "value found: %lld",
                        (long long)tfd_check_int_at(x, i));
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Input arr must be non-negative!");
}

/* ---- Parts of one row ---------------------------------------------------- */

#define PARTS_MAX 16
#define PART_MIN                                                          \
    16000           /* values, which take as long as it does to hand over \
                     */
#define PART_BINS 8 /* values of a part for each of its bins */

static int64_t parts_of(const struct count *c)
{
    const int64_t most = c->total / PART_MIN;

    if (c->binary || c->size > c->total / PART_BINS)
        return 1;
    return tfd_min(PARTS_MAX, tfd_min(most, c->total / (c->size * PART_BINS)));
}

struct merge {
    const void *bins; /* of each part */
    void *y;
    int64_t parts, size;
};

#define MERGE(name, U)                                                 \
    static void merge_##name(const struct merge *m)                    \
    {                                                                  \
        U *restrict y = m->y;                                          \
                                                                       \
        memset(y, 0, (size_t)m->size * sizeof(*y));                    \
        for (int64_t p = 0; p < m->parts; p++) {                       \
            const U *restrict part = (const U *)m->bins + p * m->size; \
                                                                       \
            for (int64_t i = 0; i < m->size; i++)                      \
                y[i] += part[i];                                       \
        }                                                              \
    }
MERGE(FLOAT, float)
MERGE(DOUBLE, double)
MERGE(INT32, uint32_t)
MERGE(INT64, uint64_t)

static void merge_parts(const struct merge *m, enum tfd_dtype dtype)
{
    switch (dtype) {
    case TFD_FLOAT:
        merge_FLOAT(m);
        break;
    case TFD_DOUBLE:
        merge_DOUBLE(m);
        break;
    case TFD_INT32:
        merge_INT32(m);
        break;
    default:
        merge_INT64(m);
        break;
    }
}

static enum tfd_code read_size(const struct tfd_kctx *k, int64_t *size,
                               struct tfd_status *st)
{
    if (k->in[1].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be rank 0 but is rank %d",
                        k->in[1].shape.rank);
    TFD_TRY(tfd_check_int(k, 1, size, st));
    if (*size < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "size (%lld) must be non-negative", (long long)*size);
    return TFD_OK;
}

static enum tfd_code check_weights(const struct tfd_kctx *k,
                                   struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *w = &k->in[2].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (tfd_tensor_elements(&k->in[2]) != 0 && !tfd_shape_equal(w, x))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`weights` must be the same shape as `arr` or a "
                        "length-0 `Tensor`, in which case it acts as all "
                        "weights equal to 1. Received %s",
                        tfd_shape_text(w, text));
    return TFD_OK;
}

static void count_parallel(struct tfd_kctx *k, struct count *c, int64_t rows)
{
    const int64_t ns = COUNT_NS * tfd_min(c->length, INT16_MAX) +
                       tfd_min(c->size, INT16_MAX) / 16;

    tfd_kctx_parallel(k, rows, (int)ns, k->kernel->range, c);
}

static enum tfd_code count_in_parts(struct tfd_kctx *k, struct count *c,
                                    int64_t parts, struct tfd_status *st)
{
    const struct tfd_tensor *y = &k->out[0];
    struct tfd_buffer *b =
        tfd_buffer_new((size_t)(parts * c->size) * tfd_dtype_size(y->dtype));
    struct merge m = {.y = c->y, .parts = parts, .size = c->size};

    if (!b)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating %lld times %lld bins",
                        (long long)parts, (long long)c->size);
    m.bins = c->y = b->data;
    c->length = (c->total + parts - 1) / parts;
    count_parallel(k, c, parts);
    merge_parts(&m, y->dtype);
    tfd_buffer_unref(b);
    return TFD_OK;
}

static enum tfd_code count_rows(struct tfd_kctx *k, int64_t rows, int64_t size,
                                bool has_rows, bool binary,
                                struct tfd_status *st)
{
    const struct tfd_tensor *w = &k->in[2];
    struct count c = {.x = &k->in[0], .size = size, .binary = binary};
    struct tfd_shape out = {.rank = 0};
    int64_t parts;

    if (has_rows)
        out.dim[out.rank++] = rows;
    out.dim[out.rank++] = size;
    TFD_TRY(tfd_shape_make(&out, out.dim, out.rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, w->dtype, &out, st));
    c.total = tfd_tensor_elements(c.x);
    c.weights = tfd_tensor_elements(w) ? tfd_tensor_data(w) : NULL;
    c.y = tfd_tensor_data(&k->out[0]);
    c.length = rows > 0 ? c.total / rows : 0;
    parts = rows == 1 && size > 0 ? parts_of(&c) : 1;
    if (parts > 1)
        TFD_TRY(count_in_parts(k, &c, parts, st));
    else
        count_parallel(k, &c, rows);
    return c.negative ? fail_negative(c.x, has_rows, st) : TFD_OK;
}

static enum tfd_code bincount_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const int64_t weights = tfd_tensor_elements(&k->in[2]);
    int64_t size;

    TFD_TRY(read_size(k, &size, st));
    if (weights != 0 && weights != tfd_tensor_elements(&k->in[0]))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input indices and weights must have the same size.");
    return count_rows(k, 1, size, false, false, st);
}

static enum tfd_code dense_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    return tfd_node_bool(p->node, "binary_output", state, st);
}

static enum tfd_code dense_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    int64_t size;

    if (x->rank > 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at most rank 2 but is rank %d", x->rank);
    TFD_TRY(read_size(k, &size, st));
    TFD_TRY(check_weights(k, st));
    return count_rows(k, x->rank == 2 ? x->dim[0] : 1, size, x->rank == 2,
                      *(const bool *)k->state, st);
}

/* ---- HistogramFixedWidth ------------------------------------------------- */

/* Values below the range count as its lower limit, those above fall into the
 * last bin.  Differences are the type's, which wrap. */
#define HISTOGRAM(name, T, SUBTRACT, IS_NAN)                                 \
    static enum tfd_code bins_of_##name(const struct tfd_kctx *k, int64_t n, \
                                        int64_t bins, int64_t *y,            \
                                        struct tfd_status *st)               \
    {                                                                        \
        const T *x = tfd_tensor_data(&k->in[0]);                             \
        const T *range = tfd_tensor_data(&k->in[1]);                         \
        const double step =                                                  \
            (double)SUBTRACT(range[1], range[0]) / (double)bins;             \
                                                                             \
        for (int64_t i = 0; i < n; i++) {                                    \
            const T v = x[i] < range[0] ? range[0] : x[i];                   \
            const double at = (double)SUBTRACT(v, range[0]) / step;          \
                                                                             \
            if (IS_NAN(x[i]))                                                \
                return tfd_fail(st, TFD_INVALID_ARGUMENT,                    \
                                "Histogram values must not contain NaN");    \
            if (at < (double)(bins - 1))                                     \
                y[at > 0 ? (int64_t)at : 0]++;                               \
            else                                                             \
                y[bins - 1]++;                                               \
        }                                                                    \
        return TFD_OK;                                                       \
    }
#define MINUS(a, b) ((a) - (b))
#define MINUS_32(a, b) ((int32_t)((uint32_t)(a) - (uint32_t)(b)))
#define MINUS_64(a, b) ((int64_t)((uint64_t)(a) - (uint64_t)(b)))
#define NEVER(x) false
HISTOGRAM(FLOAT, float, MINUS, isnan)
HISTOGRAM(DOUBLE, double, MINUS, isnan)
HISTOGRAM(INT32, int32_t, MINUS_32, NEVER)
HISTOGRAM(INT64, int64_t, MINUS_64, NEVER)

static enum tfd_code wrong_range(const struct tfd_tensor *range,
                                 struct tfd_status *st)
{
    char text[2][32];

    for (int i = 0; i < 2; i++)
        switch (range->dtype) {
        case TFD_FLOAT:
            snprintf(text[i], sizeof(text[i]), "%g",
                     (double)((const float *)tfd_tensor_data(range))[i]);
            break;
        case TFD_DOUBLE:
            snprintf(text[i], sizeof(text[i]), "%g",
                     ((const double *)tfd_tensor_data(range))[i]);
            break;
        default:
            snprintf(text[i], sizeof(text[i]), "%lld",
                     (long long)tfd_check_int_at(range, i));
        }
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "value_range should satisfy value_range[0] < "
                    "value_range[1], but got '[%s, %s]'",
                    text[0], text[1]);
}

static bool is_range(const struct tfd_tensor *range)
{
    const void *r = tfd_tensor_data(range);

    switch (range->dtype) {
    case TFD_FLOAT:
        return ((const float *)r)[0] < ((const float *)r)[1];
    case TFD_DOUBLE:
        return ((const double *)r)[0] < ((const double *)r)[1];
    default:
        return tfd_check_int_at(range, 0) < tfd_check_int_at(range, 1);
    }
}

static enum tfd_code check_histogram(const struct tfd_kctx *k, int64_t *bins,
                                     struct tfd_status *st)
{
    const char *wrong = NULL;

    if (k->in[1].shape.rank != 1)
        wrong = "value_range should be a vector.";
    else if (k->in[1].shape.dim[0] != 2)
        wrong = "value_range should be a vector of 2 elements.";
    else if (k->in[2].shape.rank != 0)
        wrong = "nbins should be a scalar.";
    if (wrong)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s", wrong);
    if (!is_range(&k->in[1]))
        return wrong_range(&k->in[1], st);
    TFD_TRY(tfd_check_int(k, 2, bins, st));
    if (*bins <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "nbins should be a positive number, but got '%lld'",
                        (long long)*bins);
    return TFD_OK;
}

static enum tfd_code count_bins(const struct tfd_kctx *k, int64_t bins,
                                int64_t *y, struct tfd_status *st)
{
    const int64_t n = tfd_tensor_elements(&k->in[0]);

    switch (k->in[0].dtype) {
    case TFD_FLOAT:
        return bins_of_FLOAT(k, n, bins, y, st);
    case TFD_DOUBLE:
        return bins_of_DOUBLE(k, n, bins, y, st);
    case TFD_INT32:
        return bins_of_INT32(k, n, bins, y, st);
    default:
        return bins_of_INT64(k, n, bins, y, st);
    }
}

static enum tfd_code histogram_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    const bool wide = k->node->out_types[0] == TFD_INT64;
    struct tfd_tensor counts = TFD_TENSOR_INIT;
    struct tfd_shape shape = {.rank = 1};
    enum tfd_code rc;

    TFD_TRY(check_histogram(k, &shape.dim[0], st));
    TFD_TRY(tfd_tensor_new(&counts, TFD_INT64, &shape, st));
    tfd_elements_clear(&counts);
    rc = count_bins(k, shape.dim[0], tfd_tensor_data(&counts), st);
    if (rc == TFD_OK && wide) {
        k->out[0] = tfd_tensor_ref(&counts);
    } else if (rc == TFD_OK) {
        rc = tfd_kctx_output(k, 0, TFD_INT32, &shape, st);
        for (int64_t i = 0; rc == TFD_OK && i < shape.dim[0]; i++)
            ((int32_t *)tfd_tensor_data(&k->out[0]))[i] =
                (int32_t)((const int64_t *)tfd_tensor_data(&counts))[i];
    }
    tfd_tensor_unref(&counts);
    return rc;
}

/* ---- Shapes -------------------------------------------------------------- */

/* The size of the output along the last dimension, where it is known. */
static enum tfd_code known_size(const struct tfd_shape_ctx *s, int in,
                                int64_t *size, struct tfd_status *st)
{
    struct tfd_shape scalar = {.rank = 0};

    *size = TFD_DIM_UNKNOWN;
    TFD_TRY(tfd_shape_merge(&scalar, &s->in[in], st));
    if (!s->value || !s->value[in])
        return TFD_OK;
    *size = tfd_check_int_at(s->value[in], 0);
    if (*size < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "size (%lld) must be non-negative", (long long)*size);
    return TFD_OK;
}

static enum tfd_code bincount_shape(struct tfd_shape_ctx *s,
                                    struct tfd_status *st)
{
    s->out[0].rank = 1;
    return known_size(s, 1, &s->out[0].dim[0], st);
}

static enum tfd_code dense_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_shape *x = &s->in[0];
    int64_t size;

    TFD_TRY(known_size(s, 1, &size, st));
    if (x->rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    if (x->rank > 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at most rank 2 but is rank %d", x->rank);
    s->out[0].rank = x->rank == 2 ? 2 : 1;
    s->out[0].dim[0] = x->dim[0];
    s->out[0].dim[s->out[0].rank - 1] = size;
    return TFD_OK;
}

static enum tfd_code histogram_shape(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    s->out[0].rank = 1;
    return known_size(s, 2, &s->out[0].dim[0], st);
}

/* ---- Tables -------------------------------------------------------------- */

#define WEIGHTS "T: {int32, int64, float, double}"

static const struct tfd_opdef ops[] = {
    {
        .name = "Bincount",
        .inputs = "arr: int32, size: int32, weights: T",
        .outputs = "bins: T",
        .attrs = WEIGHTS,
        .shape = bincount_shape,
    },
    {
        .name = "DenseBincount",
        .inputs = "input: Tidx, size: Tidx, weights: T",
        .outputs = "output: T",
        .attrs =
            "Tidx: {int32, int64}; " WEIGHTS "; binary_output: bool = false",
        .shape = dense_shape,
    },
    {
        .name = "HistogramFixedWidth",
        .inputs = "values: T, value_range: T, nbins: int32",
        .outputs = "out: dtype",
        .attrs = WEIGHTS "; dtype: {int32, int64} = DT_INT32",
        .shape = histogram_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define KERNELS(type)                                                     \
    TFD_KERNEL("Bincount", type, bincount_compute, count_##type),         \
        TFD_KERNEL("DenseBincount", type, dense_compute, count_##type,    \
                   .prepare = dense_prepare, .state_size = sizeof(bool)), \
        TFD_KERNEL("HistogramFixedWidth", type, histogram_compute)

static const struct tfd_kernel kernels[] = {
    KERNELS(INT32),
    KERNELS(INT64),
    KERNELS(FLOAT),
    KERNELS(DOUBLE),
};

const struct tfd_family tfd_family_bincount = {
    .name = "bincount",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
