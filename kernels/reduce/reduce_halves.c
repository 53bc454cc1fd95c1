/*
 * reduce_halves.c - Sum Mean Prod L2Loss of half and bfloat16.
 *
 * A block of elements is widened to floats that stay in the first cache, and
 * goes through the loops for floats (reduce_floats.c) into the same
 * accumulators, which are doubles.  What comes out is rounded once.  Sums of
 * bfloat16 are widened in registers by loops that lie with those for floats.
 *
 * Which floats are added up with which depends on the place alone, so the bits
 * do not depend on the number of threads.
 */
#include "kernels/reduce/reduce_halves.h"

#include "common/base/half.h"
#include "common/base/min.h"
#include "kernels/vector/narrow.h"
#include "kernels/reduce/reduce_floats.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/type_rows.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define BLOCK 2048    /* floats: 8 KiB, a quarter of a first cache at most */
#define STRIP 128     /* columns that are widened side by side */
#define STRIP_ROWS 16 /* of a strip: as many as a sum of floats takes */

/* An operation on one of the two types: floats are folded by `wide`. */
struct halves {
    enum tfd_dtype type;
    const struct tfd_reducer *wide;
    void (*finish)(void *y, const void *acc, int64_t n, int64_t folded);
};

/* ---- Into accumulators --------------------------------------------------- */

static void fold_run(const struct halves *h, const struct tfd_fold *f,
                     int64_t begin, int64_t end)
{
    const uint16_t *x = f->x;
    float wide[BLOCK];
    struct tfd_fold block = {wide, f->acc, 1, 0};

    for (int64_t i = begin; i < end; i += BLOCK) {
        int64_t n = tfd_min(end - i, BLOCK);

        tfd_narrow_widen(h->type, x + i, wide, n);
        h->wide->run(&block, 0, n);
    }
}

/* Columns [left, left + n) of all rows, n at most STRIP. */
static void fold_strip(const struct halves *h, const struct tfd_fold *f,
                       int64_t left, int64_t n)
{
    const uint16_t *x = (const uint16_t *)f->x + left;
    float wide[STRIP_ROWS * STRIP];
    struct tfd_fold block = {wide, (double *)f->acc + left, 0, n};

    for (int64_t r = 0; r < f->rows; r += STRIP_ROWS) {
        block.rows = tfd_min(f->rows - r, STRIP_ROWS);
        for (int64_t i = 0; i < block.rows; i++)
            tfd_narrow_widen(h->type, x + (r + i) * f->stride, wide + i * n, n);
        h->wide->columns(&block, 0, n);
    }
}

/* Rows that are no longer than a strip and lie one after the other. */
static void fold_narrow_rows(const struct halves *h, const struct tfd_fold *f)
{
    const uint16_t *x = f->x;
    const int64_t n = f->stride, most = BLOCK / n / STRIP_ROWS * STRIP_ROWS;
    float wide[BLOCK];
    struct tfd_fold block = {wide, f->acc, 0, n};

    for (int64_t r = 0; r < f->rows; r += block.rows) {
        block.rows = tfd_min(f->rows - r, most);
        tfd_narrow_widen(h->type, x + r * n, wide, block.rows * n);
        h->wide->columns(&block, 0, n);
    }
}

static void fold_columns(const struct halves *h, const struct tfd_fold *f,
                         int64_t begin, int64_t end)
{
    if (end - begin == f->stride && f->stride <= STRIP) {
        fold_narrow_rows(h, f);
        return;
    }
    for (int64_t i = begin; i < end; i += STRIP)
        fold_strip(h, f, i, tfd_min(end - i, STRIP));
}

/* ---- Sums of columns of half ----------------------------------------------
 */

#if defined(__x86_64__)
#define COLUMNS 64 /* four vectors */

/* COLUMNS of up to STRIP_ROWS rows: widened in registers. */
__attribute__((target(TFD_SIMD_AVX512))) static void
sum_half_strip(const uint16_t *x, int64_t stride, int64_t rows, double *acc)
{
    __m512 sum[COLUMNS / 16];

    for (int i = 0; i < COLUMNS / 16; i++)
        sum[i] = _mm512_setzero_ps();
    for (int64_t r = 0; r < rows; r++, x += stride)
        for (int i = 0; i < COLUMNS / 16; i++)
            sum[i] = _mm512_add_ps(
                sum[i], _mm512_cvtph_ps(_mm256_loadu_si256(
                            (const __m256i *)(const void *)(x + 16 * i))));
    for (int i = 0; i < COLUMNS / 8; i++) {
        const __m512 both = sum[i / 2];
        const __m256 part = i % 2 ? _mm512_extractf32x8_ps(both, 1)
                                  : _mm512_castps512_ps256(both);

        _mm512_storeu_pd(
            acc + 8 * i,
            _mm512_add_pd(_mm512_loadu_pd(acc + 8 * i), _mm512_cvtps_pd(part)));
    }
}

/* As many strips as there are; the first column that is left. */
static int64_t sum_half_strips(const struct tfd_fold *f, int64_t begin,
                               int64_t end)
{
    const int64_t last = begin + (end - begin) / COLUMNS * COLUMNS;
    const uint16_t *x = f->x;

    if (!tfd_simd_has_avx512())
        return begin;
    for (int64_t r = 0; r < f->rows; r += STRIP_ROWS)
        for (int64_t j = begin; j < last; j += COLUMNS)
            sum_half_strip(x + r * f->stride + j, f->stride,
                           tfd_min(f->rows - r, STRIP_ROWS),
                           (double *)f->acc + j);
    return last;
}
#else
static int64_t sum_half_strips(const struct tfd_fold *f, int64_t begin,
                               int64_t end)
{
    (void)f, (void)end;
    return begin;
}
#endif

static void sum_half_columns(void *arg, int64_t begin, int64_t end)
{
    static const struct halves halves = {TFD_HALF, &tfd_reduce_sum_FLOAT, NULL};
    const int64_t left = sum_half_strips(arg, begin, end);

    if (left < end)
        fold_columns(&halves, arg, left, end);
}

/* ---- Into outputs -------------------------------------------------------- */

/* A row that may be longer than a block. */
static void fold_long_row(const struct halves *h, const uint16_t *x, int64_t n,
                          uint16_t *y)
{
    double acc = *(const double *)h->wide->identity;
    const struct tfd_fold f = {x, &acc, 1, 0};

    fold_run(h, &f, 0, n);
    h->finish(y, &acc, 1, n);
}

static void fold_rows(const struct halves *h, const struct tfd_fold_whole *f,
                      int64_t begin, int64_t end)
{
    const int64_t n = f->length;
    const uint16_t *x = f->x;
    uint16_t *y = f->y;
    float wide[BLOCK], out[BLOCK];
    struct tfd_fold_whole block = {wide, out, n, 1};

    for (int64_t r = begin, count; r < end; r += count) {
        count = tfd_min(end - r, BLOCK / n);
        if (count == 0) {
            fold_long_row(h, x + r * n, n, y + r);
            count = 1;
            continue;
        }
        tfd_narrow_widen(h->type, x + r * n, wide, count * n);
        h->wide->rows(&block, 0, count);
        tfd_narrow_round(h->type, out, y + r, count);
    }
}

/* A slab with no room in a block, by strips.  It has slab_rows at most. */
static void fold_wide_slab(const struct halves *h, const uint16_t *x,
                           int64_t rows, int64_t width, uint16_t *y)
{
    float wide[STRIP_ROWS * STRIP], out[STRIP];
    struct tfd_fold_whole block = {wide, out, rows, 0};

    for (int64_t i = 0; i < width; i += STRIP) {
        block.width = tfd_min(width - i, STRIP);
        for (int64_t r = 0; r < rows; r++)
            tfd_narrow_widen(h->type, x + r * width + i, wide + r * block.width,
                             block.width);
        h->wide->slabs(&block, 0, 1);
        tfd_narrow_round(h->type, out, y + i, block.width);
    }
}

static void fold_slabs(const struct halves *h, const struct tfd_fold_whole *f,
                       int64_t begin, int64_t end)
{
    const int64_t width = f->width, n = f->length * width;
    const uint16_t *x = f->x;
    uint16_t *y = f->y;
    float wide[BLOCK], out[BLOCK];
    struct tfd_fold_whole block = {wide, out, f->length, width};

    for (int64_t i = begin, count; i < end; i += count) {
        count = tfd_min(end - i, BLOCK / n);
        if (count == 0) {
            fold_wide_slab(h, x + i * n, f->length, width, y + i * width);
            count = 1;
            continue;
        }
        tfd_narrow_widen(h->type, x + i * n, wide, count * n);
        h->wide->slabs(&block, 0, count);
        tfd_narrow_round(h->type, out, y + i * width, count * width);
    }
}

/* ---- Reducers ------------------------------------------------------------ */

#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define CUT(T, acc, n) T##_from_float((float)(acc))
#define DIVIDE(T, acc, n) T##_from_float((float)((acc) / (double)(n)))
#define HALVE(T, acc, n) T##_from_float((float)((acc) / 2))

/* SLAB: rows of a slab at most, STRIP_ROWS or less. */
#define REDUCER_BY(id, name, FIRST, SLAB, RUN, COLUMNS, ROWS)              \
    static const double first_##id##_##name = FIRST;                       \
    static const struct halves halves_##id##_##name = {                    \
        TFD_##name, &tfd_reduce_##id##_FLOAT, finish_##id##_##name};       \
    static void slabs_##id##_##name(void *arg, int64_t begin, int64_t end) \
    {                                                                      \
        fold_slabs(&halves_##id##_##name, arg, begin, end);                \
    }                                                                      \
    const struct tfd_reducer tfd_reduce_##id##_##name = {                  \
        .acc_size = sizeof(double),                                        \
        .identity = &first_##id##_##name,                                  \
        .run = (RUN),                                                      \
        .columns = (COLUMNS),                                              \
        .merge = merge_##id##_##name,                                      \
        .finish = finish_##id##_##name,                                    \
        .rows = (ROWS),                                                    \
        .slabs = slabs_##id##_##name,                                      \
        .slab_rows = (SLAB),                                               \
        .element_ps = 200, /* with vectors, from a second cache */         \
    };

#define REDUCER(id, name, FIRST, SLAB, COLUMNS)                           \
    static const struct halves halves_##id##_##name;                      \
    static void run_##id##_##name(void *arg, int64_t begin, int64_t end)  \
    {                                                                     \
        fold_run(&halves_##id##_##name, arg, begin, end);                 \
    }                                                                     \
    static void rows_##id##_##name(void *arg, int64_t begin, int64_t end) \
    {                                                                     \
        fold_rows(&halves_##id##_##name, arg, begin, end);                \
    }                                                                     \
    REDUCER_BY(id, name, FIRST, SLAB, run_##id##_##name, COLUMNS,         \
               rows_##id##_##name)

#define COLUMNS_OF(id, name)                                                 \
    static const struct halves halves_##id##_##name;                         \
    static void columns_##id##_##name(void *arg, int64_t begin, int64_t end) \
    {                                                                        \
        fold_columns(&halves_##id##_##name, arg, begin, end);                \
    }

/* Which folds all there is. */
#define LOSS_REDUCER(id, name)                                           \
    static const double first_##id##_##name = 0;                         \
    static const struct halves halves_##id##_##name = {                  \
        TFD_##name, &tfd_reduce_##id##_FLOAT, finish_##id##_##name};     \
    static void run_##id##_##name(void *arg, int64_t begin, int64_t end) \
    {                                                                    \
        fold_run(&halves_##id##_##name, arg, begin, end);                \
    }                                                                    \
    const struct tfd_reducer tfd_reduce_##id##_##name = {                \
        .acc_size = sizeof(double),                                      \
        .identity = &first_##id##_##name,                                \
        .run = run_##id##_##name,                                        \
        .columns = columns_##id##_##name,                                \
        .merge = merge_##id##_##name,                                    \
        .finish = finish_##id##_##name,                                  \
        .element_ps = 200,                                               \
    };

#define MERGES(X, name, T)      \
    X(sum_##name, double, ADD)  \
    X(mean_##name, double, ADD) \
    X(loss_##name, double, ADD) \
    X(prod_##name, double, MUL)
#define ENDS(X, name, T)              \
    X(sum_##name, T, double, CUT)     \
    X(mean_##name, T, double, DIVIDE) \
    X(loss_##name, T, double, HALVE)  \
    X(prod_##name, T, double, CUT)
#define PRODUCTS(X, name, T) X(prod, name, 1, 4, columns_prod_##name)
#define COLUMNS_HERE(X, name, T) X(prod, name) X(loss, name)
#define LOSSES(X, name, T) X(loss, name)

TFD_HALF_ROWS(MERGES, TFD_REDUCE_MERGE)
TFD_HALF_ROWS(ENDS, TFD_REDUCE_FINISH)
TFD_HALF_ROWS(COLUMNS_HERE, COLUMNS_OF)
TFD_HALF_ROWS(PRODUCTS, REDUCER)
TFD_HALF_ROWS(LOSSES, LOSS_REDUCER)
REDUCER(sum, HALF, 0, STRIP_ROWS, sum_half_columns)
REDUCER(mean, HALF, 0, STRIP_ROWS, sum_half_columns)
REDUCER_BY(sum, BFLOAT16, 0, STRIP_ROWS, tfd_reduce_bfloat16_run,
           tfd_reduce_bfloat16_columns, tfd_reduce_bfloat16_sums)
REDUCER_BY(mean, BFLOAT16, 0, STRIP_ROWS, tfd_reduce_bfloat16_run,
           tfd_reduce_bfloat16_columns, tfd_reduce_bfloat16_means)
