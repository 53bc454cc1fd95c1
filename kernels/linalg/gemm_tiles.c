/*
 * gemm_tiles.c - products of floats and doubles whose B stays in the first
 * cache, and those of few columns, by AVX-512.
 *
 * C is made tile by tile, up to 8 rows by 3 vectors, which are summed over all
 * of k in registers: a step along k takes a vector or three of a row of B and a
 * number of each row of A.  Nothing is packed, so the set-up is that of a call;
 * a library's is as long as the whole product of 16 by 16 numbers.
 *
 * Each sum goes from the first product to the last, with fused additions.
 */
#include "kernels/linalg/gemm.h"

#include "kernels/vector/simd.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>
#include <string.h>

#define TARGET __attribute__((target(TFD_SIMD_AVX512)))
#define INLINE TARGET static inline __attribute__((always_inline))

enum {
    ROWS = 8, /* and 4, 2, 1 for the rest */
    ROW_KINDS = 4,
    VECTORS = 3,
    AGAIN_MIN = 3 /* rows left for which the last ROWS are summed again */
};

#define B_BYTES_MAX (32 << 10)
#define TURNED_MAX 2048   /* numbers of a B that is transposed, on the stack */
#define TURNED_ROWS_MIN 8 /* of C, for which turning B pays */

/* A and B as the sum goes over them; `last` lanes of the last vector. */
#define TILES(T, V, M, LANES, s)                                               \
    struct tiles_##T {                                                         \
        const T *a, *b;                                                        \
        T *c;                                                                  \
        int64_t row_step, sum_step, ldb, ldc, k;                               \
        M last;                                                                \
        bool add;                                                              \
    };                                                                         \
    typedef void tile_fn_##T(const struct tiles_##T *t);                       \
                                                                               \
    INLINE void store_##T(const struct tiles_##T *t, T *c, M lanes, V sum)     \
    {                                                                          \
        if (t->add)                                                            \
            sum = _mm512_add_##s(sum, _mm512_maskz_loadu_##s(lanes, c));       \
        _mm512_mask_storeu_##s(c, lanes, sum);                                 \
    }                                                                          \
                                                                               \
    INLINE void tile_##T(const struct tiles_##T *t, int rows, int vectors)     \
    {                                                                          \
        V sum[ROWS][VECTORS];                                                  \
                                                                               \
        _Pragma("GCC unroll 8") for (int i = 0; i < rows; i++)                 \
            _Pragma("GCC unroll 3") for (int j = 0; j < vectors; j++)          \
                sum[i][j] = _mm512_setzero_##s();                              \
        for (int64_t p = 0; p < t->k; p++) {                                   \
            const T *a = t->a + p * t->sum_step, *row = t->b + p * t->ldb;     \
            V b[VECTORS];                                                      \
                                                                               \
            _Pragma("GCC unroll 3") for (int j = 0; j < vectors; j++) b[j] =   \
                _mm512_maskz_loadu_##s(j + 1 < vectors ? (M)-1 : t->last,      \
                                       row + j * (LANES));                     \
            _Pragma("GCC unroll 8") for (int i = 0; i < rows; i++)             \
            {                                                                  \
                const V factor = _mm512_set1_##s(a[i * t->row_step]);          \
                                                                               \
                _Pragma("GCC unroll 3") for (int j = 0; j < vectors; j++)      \
                    sum[i][j] = _mm512_fmadd_##s(factor, b[j], sum[i][j]);     \
            }                                                                  \
        }                                                                      \
        _Pragma("GCC unroll 8") for (int i = 0; i < rows; i++)                 \
            _Pragma("GCC unroll 3") for (int j = 0; j < vectors; j++)          \
                store_##T(t, t->c + i * t->ldc + j * (LANES),                  \
                          j + 1 < vectors ? (M)-1 : t->last, sum[i][j]);       \
    }                                                                          \
                                                                               \
    TILE(T, 8, 1)                                                              \
    TILE(T, 8, 2)                                                              \
    TILE(T, 8, 3)                                                              \
    TILE(T, 4, 1)                                                              \
    TILE(T, 4, 2)                                                              \
    TILE(T, 4, 3)                                                              \
    TILE(T, 2, 1)                                                              \
    TILE(T, 2, 2)                                                              \
    TILE(T, 2, 3)                                                              \
    TILE(T, 1, 1)                                                              \
    TILE(T, 1, 2)                                                              \
    TILE(T, 1, 3)                                                              \
                                                                               \
    /* All m rows of as many columns as `vectors` have. */                     \
    static void columns_##T(struct tiles_##T t, int64_t m, int vectors)        \
    {                                                                          \
        static tile_fn_##T *const made[ROW_KINDS][VECTORS] = {                 \
            {tile_##T##_8_1, tile_##T##_8_2, tile_##T##_8_3},                  \
            {tile_##T##_4_1, tile_##T##_4_2, tile_##T##_4_3},                  \
            {tile_##T##_2_1, tile_##T##_2_2, tile_##T##_2_3},                  \
            {tile_##T##_1_1, tile_##T##_1_2, tile_##T##_1_3}};                 \
        const bool again = m > ROWS && m % ROWS >= AGAIN_MIN && !t.add;        \
                                                                               \
        for (int kind = 0, rows = ROWS; kind < ROW_KINDS; kind++, rows /= 2) { \
            for (; m >= rows; m -= rows) {                                     \
                made[kind][vectors - 1](&t);                                   \
                t.a += rows * t.row_step;                                      \
                t.c += rows * t.ldc;                                           \
            }                                                                  \
            if (again && m > 0) {                                              \
                t.a -= (ROWS - m) * t.row_step;                                \
                t.c -= (ROWS - m) * t.ldc;                                     \
                made[0][vectors - 1](&t);                                      \
                return;                                                        \
            }                                                                  \
        }                                                                      \
    }                                                                          \
                                                                               \
    static void product_##T(const struct tfd_gemm *g, const T *b, int64_t ldb) \
    {                                                                          \
        const int64_t all = (g->n + (LANES)-1) / (LANES);                      \
        const int64_t parts = (all + VECTORS - 1) / VECTORS;                   \
        struct tiles_##T t = {.a = g->a,                                       \
                              .b = b,                                          \
                              .c = g->c,                                       \
                              .row_step = g->transpose_a ? 1 : g->lda,         \
                              .sum_step = g->transpose_a ? g->lda : 1,         \
                              .ldb = ldb,                                      \
                              .ldc = g->ldc,                                   \
                              .k = g->k,                                       \
                              .last = (M)-1,                                   \
                              .add = g->add};                                  \
                                                                               \
        for (int64_t part = 0, done = 0; part < parts; part++) {               \
            const int64_t vectors = all * (part + 1) / parts - done;           \
            const int64_t left = g->n - (done + vectors) * (LANES);            \
                                                                               \
            if (left < 0)                                                      \
                t.last = (M)((1u << (left + (LANES))) - 1);                    \
            columns_##T(t, g->m, (int)vectors);                                \
            t.b += vectors * (LANES);                                          \
            t.c += vectors * (LANES);                                          \
            done += vectors;                                                   \
        }                                                                      \
    }                                                                          \
                                                                               \
    static void turned_##T(const struct tfd_gemm *g)                           \
    {                                                                          \
        const T *b = g->b;                                                     \
        T turned[TURNED_MAX];                                                  \
                                                                               \
        for (int64_t j = 0; j < g->n; j++)                                     \
            for (int64_t p = 0; p < g->k; p++)                                 \
                turned[p * g->n + j] = b[j * g->ldb + p];                      \
        product_##T(g, turned, g->n);                                          \
    }                                                                          \
                                                                               \
    static bool tiled_##T(const struct tfd_gemm *g)                            \
    {                                                                          \
        if (g->transpose_b)                                                    \
            turned_##T(g);                                                     \
        else                                                                   \
            product_##T(g, g->b, g->ldb);                                      \
        return true;                                                           \
    }

#define TILE(T, rows, vectors)                        \
    TARGET static void tile_##T##_##rows##_##vectors( \
        const struct tiles_##T *t)                    \
    {                                                 \
        tile_##T(t, rows, vectors);                   \
    }

TILES(float, __m512, __mmask16, 16, ps)
TILES(double, __m512d, __mmask8, 8, pd)

/* ---- Few columns of floats ----------------------------------------------- */

enum {
    SLIM_VECTORS = 4, /* at a time */
    SLIM_DEPTH_MAX = 32,
    SLIM_MIN = 64, /* rows of C */
    LANES = 16,
    PAIR = 2 * LANES,
    SLIM_ROWS_MIN = 4, /* of C in a vector, for which this pays */
    SLIM_COLUMNS = LANES / SLIM_ROWS_MIN,
    SLIM_REST = 2 * PAIR /* numbers of A less than those of the last pairs */
};

/* A vector of C is some rows of it, whose numbers of A come from pairs of
 * vectors: of each pair those of the next `depth` steps along k. */
struct slim {
    int64_t rows, depth;
    __m512i from[PAIR]; /* by step: lanes of a pair */
    __m512 b[SLIM_DEPTH_MAX];
};

/* As many rows as a pair has of lda numbers each, with the least to do for one:
 * a pair is two reads. */
static void choose_slim(const struct tfd_gemm *g, struct slim *s)
{
    double least = HUGE_VAL;

    s->rows = s->depth = 1;
    for (int64_t rows = SLIM_ROWS_MIN;
         rows <= LANES / g->n && (rows - 1) * g->lda < PAIR; rows++) {
        const int64_t depth = PAIR - (rows - 1) * g->lda;
        const int64_t pairs = (g->k + depth - 1) / depth;
        const double cost = (double)(g->k + 2 * pairs) / (double)rows;

        if (cost < least) {
            least = cost;
            s->rows = rows;
            s->depth = depth;
        }
    }
}

static void fill_slim(const struct tfd_gemm *g, struct slim *s)
{
    const int64_t row = g->transpose_b ? 1 : g->ldb;
    const int64_t column = g->transpose_b ? g->ldb : 1;
    const float *b = g->b;

    for (int64_t lane = 0; lane < LANES; lane++) {
        const bool used = lane < s->rows * g->n;

        for (int64_t p = 0; p < s->depth && p < g->k; p++)
            ((int32_t *)&s->from[p])[lane] =
                used ? (int32_t)(lane / g->n * g->lda + p) : 0;
        for (int64_t p = 0; p < g->k; p++)
            ((float *)&s->b[p])[lane] =
                used ? b[p * row + lane % g->n * column] : 0;
    }
}

INLINE void slim_vectors(const struct tfd_gemm *g, const struct slim *s,
                         const float *a, float *c, const int vectors)
{
    const __mmask16 lanes = (__mmask16)((1u << (s->rows * g->n)) - 1);
    __m512 low[SLIM_VECTORS], high[SLIM_VECTORS], sum[SLIM_VECTORS];

    for (int i = 0; i < vectors; i++)
        sum[i] = _mm512_setzero_ps();
    for (int64_t p = 0; p < g->k; p += s->depth) {
        const int64_t left = g->k - p < s->depth ? g->k - p : s->depth;

        for (int i = 0; i < vectors; i++) {
            low[i] = _mm512_loadu_ps(a + i * s->rows * g->lda + p);
            high[i] = _mm512_loadu_ps(a + i * s->rows * g->lda + p + LANES);
        }
        for (int64_t q = 0; q < left; q++)
            for (int i = 0; i < vectors; i++)
                sum[i] = _mm512_fmadd_ps(
                    _mm512_permutex2var_ps(low[i], s->from[q], high[i]),
                    s->b[p + q], sum[i]);
    }
    for (int i = 0; i < vectors; i++)
        _mm512_mask_storeu_ps(c + i * s->rows * g->n, lanes, sum[i]);
}

/* The rows it makes: those whose pairs lie within A. */
TARGET static int64_t slim_rows(const struct tfd_gemm *g, const struct slim *s)
{
    const int64_t numbers = (g->m - 1) * g->lda + g->k;
    const int64_t last = (g->k - 1) / s->depth * s->depth + PAIR;
    const int64_t many = SLIM_VECTORS * s->rows;
    const float *a = g->a;
    float *c = g->c;
    int64_t i = 0;

    for (; (i + many - s->rows) * g->lda + last <= numbers; i += many)
        slim_vectors(g, s, a + i * g->lda, c + i * g->n, SLIM_VECTORS);
    for (; i * g->lda + last <= numbers; i += s->rows)
        slim_vectors(g, s, a + i * g->lda, c + i * g->n, 1);
    return i;
}

/* The rows from `done` on, in memory that pairs may lie in. */
TARGET static void slim_rest(const struct tfd_gemm *g, const struct slim *s,
                             int64_t done)
{
    const int64_t rows = g->m - done;
    float a[SLIM_REST + 2 * PAIR] = {0};
    float c[SLIM_REST * SLIM_COLUMNS + LANES];

    if (rows == 0)
        return;
    memcpy(a, (const float *)g->a + done * g->lda,
           (size_t)((rows - 1) * g->lda + g->k) * sizeof(*a));
    for (int64_t i = 0; i < rows; i += s->rows)
        slim_vectors(g, s, a + i * g->lda, c + i * g->n, 1);
    memcpy((float *)g->c + done * g->n, c, (size_t)(rows * g->n) * sizeof(*c));
}

bool tfd_gemm_slim(const struct tfd_gemm *g)
{
    struct slim s;

    if (g->dtype != TFD_FLOAT || g->transpose_a || g->add || g->ldc != g->n ||
        g->n < 1 || g->k < 1 || g->k > SLIM_DEPTH_MAX || g->n > SLIM_COLUMNS ||
        g->lda > PAIR / (SLIM_ROWS_MIN - 1) || g->m < SLIM_MIN ||
        !tfd_simd_has_avx512())
        return false;
    choose_slim(g, &s);
    fill_slim(g, &s);
    slim_rest(g, &s, slim_rows(g, &s));
    return true;
}

static bool in_cache(const struct tfd_gemm *g)
{
    const int64_t numbers = g->k * g->n;

    if (g->transpose_b && (numbers > TURNED_MAX || g->m < TURNED_ROWS_MIN))
        return false;
    return g->k <= INT16_MAX && g->n <= INT16_MAX &&
           numbers * (int64_t)tfd_dtype_size(g->dtype) <= B_BYTES_MAX;
}

bool tfd_gemm_tiles(const struct tfd_gemm *g)
{
    if (!tfd_simd_has_avx512() || !in_cache(g))
        return false;
    if (g->dtype == TFD_FLOAT)
        return tiled_float(g);
    return g->dtype == TFD_DOUBLE && tiled_double(g);
}

#else

bool tfd_gemm_slim(const struct tfd_gemm *g)
{
    (void)g;
    return false;
}

bool tfd_gemm_tiles(const struct tfd_gemm *g)
{
    (void)g;
    return false;
}

#endif
