/*
 * segment.c - rows folded by the number of their segment:
 * UnsortedSegment<X>, Segment<X>.
 *
 * Unsorted it is a scatter (scatter.h) with the ids as row numbers, into an
 * output full of the function's neutral element; negative ids are left out.
 * Sorted, the rows of a segment lie together (segment_loops.h).
 */
#include "kernels/sparse/segment.h"

#include "common/base/min.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/index/scatter.h"
#include "kernels/sparse/segment_loops.h"
#include "kernels/vector/simd.h"

#include <string.h>

static const struct {
    const char *word;
    enum tfd_scatter_function function;
} folds[] = {
    [TFD_SEGMENT_SUM] = {"Sum", TFD_SCATTER_ADD},
    [TFD_SEGMENT_PROD] = {"Prod", TFD_SCATTER_MUL},
    [TFD_SEGMENT_MIN] = {"Min", TFD_SCATTER_MIN},
    [TFD_SEGMENT_MAX] = {"Max", TFD_SCATTER_MAX},
    [TFD_SEGMENT_MEAN] = {"Mean", TFD_SCATTER_ADD},
};

enum tfd_code tfd_segment_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    enum tfd_segment_fold *fold = state;

    for (int i = 0; i < TFD_COUNT(folds); i++)
        if (strstr(p->node->op->name.data, folds[i].word)) {
            *fold = (enum tfd_segment_fold)i;
            return TFD_OK;
        }
    return tfd_fail(st, TFD_INTERNAL, "no fold behind op %s",
                    p->node->op->name.data);
}

/* ---- Ids ----------------------------------------------------------------- */

static int64_t id_at(const struct tfd_tensor *t, int64_t i)
{
    if (t->dtype == TFD_INT16)
        return ((const int16_t *)tfd_tensor_data(t))[i];
    return tfd_check_int_at(t, i);
}

static enum tfd_code bad_id(const struct tfd_tensor *ids, int64_t at,
                            int64_t limit, struct tfd_status *st)
{
    char place[TFD_SCATTER_PLACE_MAX];

    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "segment_ids%s = %lld is out of range [0, %lld)",
                    tfd_scatter_place(&ids->shape, at, place),
                    (long long)id_at(ids, at), (long long)limit);
}

/* ---- Filling ------------------------------------------------------------- */

/* Smallest and largest number of each type, as bits. */
static const struct {
    enum tfd_dtype dtype;
    uint64_t low, high, one;
} limits[] = {
    {TFD_INT8, 0x80, 0x7f, 1},
    {TFD_INT16, 0x8000, 0x7fff, 1},
    {TFD_INT32, 0x80000000, 0x7fffffff, 1},
    {TFD_INT64, UINT64_C(1) << 63, INT64_MAX, 1},
    {TFD_UINT8, 0, UINT8_MAX, 1},
    {TFD_UINT16, 0, UINT16_MAX, 1},
    {TFD_UINT32, 0, UINT32_MAX, 1},
    {TFD_UINT64, 0, UINT64_MAX, 1},
    {TFD_HALF, 0xfbff, 0x7bff, 0x3c00},
    {TFD_BFLOAT16, 0xff7f, 0x7f7f, 0x3f80},
    {TFD_FLOAT, 0xff7fffff, 0x7f7fffff, 0x3f800000},
    {TFD_DOUBLE, UINT64_C(0xffefffffffffffff), UINT64_C(0x7fefffffffffffff),
     UINT64_C(0x3ff0000000000000)},
    /* The real part; the imaginary part is zero. */
    {TFD_COMPLEX64, 0, 0, 0x3f800000},
    {TFD_COMPLEX128, 0, 0, UINT64_C(0x3ff0000000000000)},
};

uint64_t tfd_segment_empty(enum tfd_dtype dtype, enum tfd_segment_fold fold,
                           bool sorted)
{
    for (int i = 0; i < TFD_COUNT(limits); i++) {
        if (limits[i].dtype != dtype)
            continue;
        if (fold == TFD_SEGMENT_PROD)
            return limits[i].one;
        if (!sorted && fold == TFD_SEGMENT_MIN)
            return limits[i].high;
        if (!sorted && fold == TFD_SEGMENT_MAX)
            return limits[i].low;
    }
    return 0;
}

/* Little endian: the low bytes of the bits are the element's. */
static enum tfd_code fill_segments(struct tfd_tensor *y,
                                   enum tfd_segment_fold fold,
                                   struct tfd_status *st)
{
    uint64_t bits = tfd_segment_empty(y->dtype, fold, false);
    tfd_complex128 value = {0, 0};

    memcpy(&value, &bits, sizeof(bits));
    return tfd_elements_fill(y->dtype, tfd_tensor_data(y), &value,
                             tfd_tensor_elements(y), st);
}

/* ---- Unsorted ------------------------------------------------------------ */

/* data.shape begins with ids.shape; the output has num_segments instead. */
enum tfd_code tfd_segment_unsorted_output(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *ids = &k->in[1].shape;
    char data[TFD_SHAPE_TEXT_MAX], text[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape out;
    int64_t dim[TFD_RANK_MAX + 1], count;
    bool fits = ids->rank <= x->rank;
    int rank = 1;

    if (k->in[2].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_segments should be a scalar, not shape %s",
                        tfd_shape_text(&k->in[2].shape, text));
    TFD_TRY(tfd_check_int(k, 2, &count, st));
    for (int d = 0; fits && d < ids->rank; d++)
        fits = ids->dim[d] == x->dim[d];
    if (!fits)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "data.shape = %s does not start with "
                        "segment_ids.shape = %s",
                        tfd_shape_text(x, data), tfd_shape_text(ids, text));
    if (count < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input num_segments == %lld must not be negative.",
                        (long long)count);
    dim[0] = count;
    for (int d = ids->rank; d < x->rank; d++)
        dim[rank++] = x->dim[d];
    TFD_TRY(tfd_shape_make(&out, dim, rank, st));
    return tfd_kctx_output(k, 0, k->in[0].dtype, &out, st);
}

struct widening {
    const void *ids;
    int64_t last; /* the highest that may be, as the type of ids has it */
    int64_t *rows;
    bool bad; /* one is higher */
};

#define WIDEN(name, T)                        \
    TFD_SIMD_LOOP(widen_##name)               \
    {                                         \
        struct widening *w = arg;             \
        const T *id = w->ids;                 \
        const T last = (T)w->last;            \
        int64_t *rows = w->rows;              \
        T bad = 0;                            \
                                              \
        for (int64_t i = begin; i < end; i++) \
            bad |= (T)(id[i] > last);         \
        for (int64_t i = begin; i < end; i++) \
            rows[i - begin] = id[i];          \
        w->bad = bad != 0;                    \
    }                                         \
    TFD_SIMD_CLONES(widen_##name)

WIDEN(INT16, int16_t)
WIDEN(INT32, int32_t)
WIDEN(INT64, int64_t)

static const struct {
    enum tfd_dtype dtype;
    int64_t most;
    tfd_range_fn *widen;
} widenings[] = {
    {TFD_INT16, INT16_MAX, widen_INT16},
    {TFD_INT32, INT32_MAX, widen_INT32},
    {TFD_INT64, INT64_MAX, widen_INT64},
};

/* Ids [begin, begin + n) as 64 bit numbers in *rows, all below the limit. */
static enum tfd_code widen_ids(const struct tfd_tensor *ids, int64_t begin,
                               int64_t n, int64_t limit, int64_t *rows,
                               struct tfd_status *st)
{
    struct widening w = {.ids = tfd_tensor_data(ids), .rows = rows};
    int t = 0;

    while (widenings[t].dtype != ids->dtype)
        t++;
    w.last = tfd_min(limit - 1, widenings[t].most);
    widenings[t].widen(&w, begin, begin + n);
    for (int64_t i = 0; w.bad && i < n; i++)
        if (rows[i] >= limit)
            return bad_id(ids, begin + i, limit, st);
    return TFD_OK;
}

static struct tfd_scatter scatter_of(struct tfd_kctx *k, const int64_t *rows)
{
    const struct tfd_shape *out = &k->out[0].shape;
    struct tfd_scatter s = {.to = tfd_tensor_data(&k->out[0]),
                            .by = tfd_tensor_data(&k->in[0]),
                            .rows = rows,
                            .count = tfd_tensor_elements(&k->in[1]),
                            .inner = 1,
                            .limit = out->dim[0]};

    for (int d = 1; d < out->rank; d++)
        s.inner *= out->dim[d];
    return s;
}

#define BLOCK 512 /* ids that stay in the nearest cache */

static enum tfd_code scatter_blocks(struct tfd_kctx *k,
                                    enum tfd_segment_fold fold,
                                    struct tfd_scatter s, struct tfd_status *st)
{
    const int64_t count = s.count;
    int64_t rows[BLOCK];

    s.rows = rows;
    for (int64_t at = 0; at < count; at += BLOCK) {
        s.count = count - at < BLOCK ? count - at : BLOCK;
        s.by = tfd_element_of(tfd_tensor_data(&k->in[0]), k->in[0].dtype,
                              at * s.inner);
        TFD_TRY(widen_ids(&k->in[1], at, s.count, s.limit, rows, st));
        TFD_TRY(
            tfd_scatter_run(k, folds[fold].function, k->in[0].dtype, &s, st));
    }
    return TFD_OK;
}

static enum tfd_code scatter_all(struct tfd_kctx *k, enum tfd_segment_fold fold,
                                 struct tfd_scatter s, struct tfd_status *st)
{
    struct tfd_tensor rows = TFD_TENSOR_INIT;
    enum tfd_code rc;

    TFD_TRY(tfd_tensor_new(&rows, TFD_INT64, &k->in[1].shape, st));
    s.rows = tfd_tensor_data(&rows);
    rc = widen_ids(&k->in[1], 0, s.count, s.limit, tfd_tensor_data(&rows), st);
    if (rc == TFD_OK)
        rc = tfd_scatter_run(k, folds[fold].function, k->in[0].dtype, &s, st);
    tfd_tensor_unref(&rows);
    return rc;
}

static enum tfd_code unsorted_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    enum tfd_segment_fold fold = *(const enum tfd_segment_fold *)k->state;
    struct tfd_scatter s;

    TFD_TRY(tfd_segment_unsorted_output(k, st));
    s = scatter_of(k, NULL);
    TFD_TRY(fill_segments(&k->out[0], fold, st));
    return (tfd_scatter_is_alone(k, &s, k->in[0].dtype)
                ? scatter_blocks
                : scatter_all)(k, fold, s, st);
}

/* ---- Sorted -------------------------------------------------------------- */

static enum tfd_code check_sorted(const struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    if (k->in[0].shape.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must be at least rank 1");
    if (k->in[1].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "segment_ids should be a vector.");
    if (k->in[1].shape.dim[0] != k->in[0].shape.dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "segment_ids should be the same size as dimension 0 "
                        "of input.");
    return TFD_OK;
}

static enum tfd_code check_ids(const struct tfd_tensor *ids,
                               struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(ids), last = -1;

    if (tfd_segment_increases(ids))
        return TFD_OK;
    for (int64_t i = 0; i < n; i++) {
        int64_t id = id_at(ids, i);

        if (id < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Segment id %lld out of range [0, %lld), possibly "
                            "because 'segment_ids' input is not sorted.",
                            (long long)id, (long long)id_at(ids, n - 1) + 1);
        if (id < last)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "segment ids are not increasing");
        last = id;
    }
    return TFD_OK;
}

enum tfd_code tfd_segment_sorted_output(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    struct tfd_shape out = k->in[0].shape;
    int64_t n;

    TFD_TRY(check_sorted(k, st));
    TFD_TRY(check_ids(&k->in[1], st));
    n = k->in[1].shape.dim[0];
    out.dim[0] = n ? id_at(&k->in[1], n - 1) + 1 : 0;
    TFD_TRY(tfd_shape_make(&out, out.dim, out.rank, st));
    return tfd_kctx_output(k, 0, k->in[0].dtype, &out, st);
}

static enum tfd_code sorted_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    enum tfd_segment_fold fold = *(const enum tfd_segment_fold *)k->state;
    const struct tfd_tensor *x = &k->in[0], *ids = &k->in[1];
    uint64_t bits = tfd_segment_empty(x->dtype, fold, true);
    tfd_complex128 empty = {0, 0};
    struct tfd_segments s = {.ids = tfd_tensor_data(ids),
                             .x = tfd_tensor_data(x),
                             .count = ids->shape.dim[0],
                             .inner = 1,
                             .ids_type = ids->dtype,
                             .dtype = x->dtype,
                             .empty = &empty};

    TFD_TRY(tfd_segment_sorted_output(k, st));
    memcpy(&empty, &bits, sizeof(bits)); /* little endian */
    s.y = tfd_tensor_data(&k->out[0]);
    for (int d = 1; d < x->shape.rank; d++)
        s.inner *= x->shape.dim[d];
    return s.count && s.inner ? tfd_segment_fold_sorted(k, fold, &s, st)
                              : TFD_OK;
}

/* ---- Shapes -------------------------------------------------------------- */

/* [segments] and what is behind the ids' dimensions. */
static enum tfd_code row_shape(struct tfd_shape_ctx *s, int64_t segments,
                               int ids, struct tfd_status *st)
{
    const struct tfd_shape *x = &s->in[0];
    int64_t dim[TFD_RANK_MAX + 1] = {segments};
    int rank = 1;

    if (x->rank == TFD_RANK_UNKNOWN || ids < 0 || ids > x->rank)
        return TFD_OK;
    for (int d = ids; d < x->rank; d++)
        dim[rank++] = x->dim[d];
    return tfd_shape_make_partial(&s->out[0], dim, rank, st);
}

static enum tfd_code sorted_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    return row_shape(s, TFD_DIM_UNKNOWN, 1, st);
}

static enum tfd_code unsorted_shape(struct tfd_shape_ctx *s,
                                    struct tfd_status *st)
{
    const struct tfd_tensor *count = s->value ? s->value[2] : NULL;
    int64_t segments = TFD_DIM_UNKNOWN;

    if (count && tfd_tensor_elements(count) == 1)
        segments = tfd_check_int_at(count, 0);
    if (segments < TFD_DIM_UNKNOWN)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_segments is %lld, but must not be negative",
                        (long long)segments);
    return row_shape(s, segments, s->in[1].rank, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define SORTED(word, types, gradient)                                       \
    {                                                                       \
        .name = "Segment" word, .inputs = "data: T, segment_ids: Tindices", \
        .outputs = "output: T",                                             \
        .attrs = "T: " types "; Tindices: {int32, int64}",                  \
        .shape = sorted_shape, .grad = gradient,                            \
    }

#define UNSORTED(word, types, indices, gradient)                          \
    {                                                                     \
        .name = "UnsortedSegment" word,                                   \
        .inputs =                                                         \
            "data: T, segment_ids: Tindices, num_segments: Tnumsegments", \
        .outputs = "output: T",                                           \
        .attrs = "T: " types "; Tindices: {" indices "int32, int64}; "    \
                 "Tnumsegments: {int32, int64} = DT_INT32",               \
        .shape = unsorted_shape, .grad = gradient,                        \
    }

static const struct tfd_opdef ops[] = {
    SORTED("Sum", "numbertype", tfd_segment_sum_gradient),
    SORTED("Mean", "numbertype", tfd_segment_mean_gradient),
    SORTED("Prod", "numbertype", tfd_segment_prod_gradient),
    SORTED("Min", "realnumbertype", tfd_segment_extreme_gradient),
    SORTED("Max", "realnumbertype", tfd_segment_extreme_gradient),
    UNSORTED("Sum", "numbertype", "int16, ", tfd_segment_unsorted_sum_gradient),
    UNSORTED("Prod", "numbertype", "", tfd_segment_prod_gradient),
    UNSORTED("Min", "realnumbertype", "",
             tfd_segment_unsorted_extreme_gradient),
    UNSORTED("Max", "realnumbertype", "",
             tfd_segment_unsorted_extreme_gradient),
};

#define ROW(op, name, compute)                                    \
    TFD_KERNEL(op, name, compute, .prepare = tfd_segment_prepare, \
               .state_size = sizeof(enum tfd_segment_fold))

#define BOTH(word, name)                       \
    ROW("Segment" word, name, sorted_compute), \
        ROW("UnsortedSegment" word, name, unsorted_compute)

#define ORDERED(name, number, T) BOTH("Min", name), BOTH("Max", name),

#define SUMMED(name, number, T)            \
    BOTH("Sum", name), BOTH("Prod", name), \
        ROW("SegmentMean", name, sorted_compute),

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(SUMMED) TFD_HALF_DTYPES(SUMMED) TFD_COMPLEX_DTYPES(SUMMED)
        TFD_REAL_DTYPES(ORDERED) TFD_HALF_DTYPES(ORDERED)};

const struct tfd_family tfd_family_segment = {
    .name = "segment",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
