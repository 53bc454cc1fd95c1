/*
 * gemm_bfloat16.c - products of bfloat16 by the processor's dot products.
 *
 * An instruction of AVX512_BF16 adds two products to each of 16 floats, so a
 * number of A is taken with its neighbour along the sum, a pair: of A as it
 * lies, row by row, of B from panels of up to 64 columns that are packed so
 * that the pairs of 16 columns are a register.
 *
 *     panel   pairs x (16 * vectors) pairs: those of rows 2p and 2p + 1 of B
 *
 * A few rows times a panel are summed over all of k in registers and rounded
 * once; of few columns, as many rows as a register has room for.  Rows of A are
 * taken as many at a time as the second cache holds; an A to be transposed is
 * copied in that measure.
 */
#include "kernels/linalg/gemm.h"

#include "kernels/vector/simd.h"

#if defined(__x86_64__)

#include "common/base/alloc.h"
#include "common/thread/halt.h"

#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target(TFD_SIMD_AVX512 ",avx512bf16")))
#define INLINE TARGET static inline __attribute__((always_inline))

enum {
    LANES = 16,
    VECTORS = 4, /* of a whole panel */
    PANEL = LANES * VECTORS,
    ROWS_MAX = 8,
    SHORT_MAX = 8 /* columns of a row that is written without a mask */
};

/* Below, packing costs more than it saves. */
#define SIDE_MIN 2
#define SMALL_PAIRS 4096 /* of B, which are packed on the stack */
#define BLOCK_BYTES (INT64_C(256) << 10) /* of rows of A at a time */

struct product {
    const struct tfd_gemm *g;
    int64_t pairs; /* along the sum, the last may be half */
    uint32_t *panels;
    uint16_t *turned; /* rows of A, where it is to be transposed */
    int64_t block;    /* rows of A at a time */
};

/* ---- Pairs --------------------------------------------------------------- */

/* All of n < 16 lanes, or 16. */
static inline __mmask16 lanes_of(int64_t n)
{
    return (__mmask16)(n >= LANES ? 0xffff : (1u << (n < 0 ? 0 : n)) - 1);
}

/* r[p]: pairs of rows 2p and 2p + 1 of x, in n columns; rows: how many x has.
 */
INLINE void pairs_of_rows(const uint16_t *x, int64_t ld, int64_t rows,
                          int64_t n, __m512i *r)
{
    const __mmask16 columns = lanes_of(n);

#pragma GCC unroll 16
    for (int p = 0; p < LANES; p++) {
        const int64_t at = 2 * p;
        const __m256i low =
            _mm256_maskz_loadu_epi16(at < rows ? columns : 0, x + at * ld);
        const __m256i high = _mm256_maskz_loadu_epi16(
            at + 1 < rows ? columns : 0, x + (at + 1) * ld);

        r[p] =
            _mm512_or_si512(_mm512_cvtepu16_epi32(low),
                            _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16));
    }
}

/* r[j]: 16 pairs of row j of x, of which it has `columns` numbers and n rows.
 */
INLINE void pairs_along_rows(const uint16_t *x, int64_t ld, int64_t columns,
                             int64_t n, __m512i *r)
{
    const __mmask32 all =
        columns >= 2 * LANES ? 0xffffffff : (1u << columns) - 1;

#pragma GCC unroll 16
    for (int j = 0; j < LANES; j++)
        r[j] = _mm512_maskz_loadu_epi16(j < n ? all : 0, x + j * ld);
}

/* Rows of r become columns. */
INLINE void turn_pairs(__m512i *r)
{
    __m512i t[LANES];

#pragma GCC unroll 8
    for (int i = 0; i < LANES; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < LANES; i += 4) {
        r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    }
}

/* ---- Packing ------------------------------------------------------------- */

/* 16 columns of B from `left` on, of all of k; `step` pairs lie between those
 * of one pair of rows and of the next. */
TARGET static void pack_columns(const struct product *p, int64_t left,
                                uint32_t *to, int64_t step)
{
    const struct tfd_gemm *g = p->g;
    const uint16_t *b = g->b;

    for (int64_t at = 0; at < p->pairs; at += LANES) {
        const int64_t rows = g->k - 2 * at;
        __m512i r[LANES];

        if (g->transpose_b) {
            pairs_along_rows(b + left * g->ldb + 2 * at, g->ldb, rows,
                             g->n - left, r);
            turn_pairs(r);
        } else {
            pairs_of_rows(b + 2 * at * g->ldb + left, g->ldb, rows, g->n - left,
                          r);
        }
        for (int i = 0; i < LANES && at + i < p->pairs; i++)
            _mm512_storeu_si512(to + (at + i) * step, r[i]);
    }
}

static int vectors_at(const struct tfd_gemm *g, int64_t left)
{
    const int64_t n = (g->n - left + LANES - 1) / LANES;

    return n < VECTORS ? (int)n : VECTORS;
}

TARGET static void pack_panels(const struct product *p)
{
    uint32_t *to = p->panels;

    for (int64_t left = 0; left < p->g->n && !tfd_halted(); left += PANEL) {
        const int vectors = vectors_at(p->g, left);

        for (int v = 0; v < vectors; v++)
            pack_columns(p, left + v * LANES, to + v * LANES, vectors * LANES);
        to += p->pairs * vectors * LANES;
    }
}

/* Rows [first, first + m) of an A to be transposed, each of whole pairs. */
TARGET static void turn_rows(const struct product *p, int64_t first, int64_t m)
{
    const struct tfd_gemm *g = p->g;
    const uint16_t *a = (const uint16_t *)g->a + first;

    for (int64_t i = 0; i < m; i += LANES)
        for (int64_t at = 0; at < p->pairs; at += LANES) {
            uint16_t *to = p->turned + 2 * (i * p->pairs + at);
            __m512i r[LANES];

            pairs_of_rows(a + 2 * at * g->lda + i, g->lda, g->k - 2 * at, m - i,
                          r);
            turn_pairs(r);
            for (int j = 0; j < LANES && i + j < m; j++)
                _mm512_mask_storeu_epi32(to + 2 * j * p->pairs,
                                         lanes_of(p->pairs - at), r[j]);
        }
}

/* ---- Products ------------------------------------------------------------ */

/* Rows of A, of `pairs` whole pairs and perhaps a number more. */
struct left_rows {
    const uint16_t *row[ROWS_MAX];
    int64_t pairs;
    bool more;
};

INLINE void add_pairs(const __m512i *b, int p_rows, int p_vectors,
                      const __m512i *a, __m512 (*sum)[VECTORS])
{
#pragma GCC unroll 8
    for (int i = 0; i < p_rows; i++)
#pragma GCC unroll 4
        for (int v = 0; v < p_vectors; v++)
            sum[i][v] =
                _mm512_dpbf16_ps(sum[i][v], (__m512bh)a[i], (__m512bh)b[v]);
}

INLINE void multiply_rows(const struct left_rows *a, const uint32_t *panel,
                          int rows, int vectors, __m512 (*sum)[VECTORS])
{
    const uint16_t *row[ROWS_MAX];
    __m512i b[VECTORS], x[ROWS_MAX];

#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
        row[i] = a->row[i];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            sum[i][v] = _mm512_setzero_ps();
    }
    for (int64_t p = 0; p < a->pairs; p++, panel += vectors * LANES) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            b[v] = _mm512_loadu_si512(panel + v * LANES);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            int pair;

            __builtin_memcpy(&pair, row[i] + 2 * p, sizeof(pair));
            x[i] = _mm512_set1_epi32(pair);
        }
        add_pairs(b, rows, vectors, x, sum);
    }
    if (!a->more)
        return;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        b[v] = _mm512_loadu_si512(panel + v * LANES);
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
        x[i] = _mm512_set1_epi32(row[i][2 * a->pairs]);
    add_pairs(b, rows, vectors, x, sum);
}

/* n columns of m rows. */
INLINE void store_rows(uint16_t *c, int64_t ld, int64_t m, int64_t n, int rows,
                       int vectors, __m512 (*sum)[VECTORS])
{
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
        if (i < m)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++)
                _mm256_mask_storeu_epi16(
                    c + i * ld + v * LANES, lanes_of(n - v * LANES),
                    (__m256i)_mm512_cvtneps_pbh(sum[i][v]));
}

/* Rows of at most 8 columns that lie one behind the other, quicker: what is
 * written too far is of the rows to come, which are as many. */
INLINE void store_over(uint16_t *c, int64_t ld, int rows,
                       __m512 (*sum)[VECTORS])
{
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
        _mm_storeu_si128(
            (void *)(c + i * ld),
            _mm256_castsi256_si128((__m256i)_mm512_cvtneps_pbh(sum[i][0])));
}

/* m: rows from here on. */
#define MULTIPLY(vectors, rows)                                               \
    TARGET static void multiply_##vectors(const struct left_rows *a,          \
                                          const uint32_t *panel, uint16_t *c, \
                                          int64_t ld, int64_t m, int64_t n)   \
    {                                                                         \
        __m512 sum[ROWS_MAX][VECTORS];                                        \
                                                                              \
        multiply_rows(a, panel, rows, vectors, sum);                          \
        if (vectors == 1 && n <= SHORT_MAX && n == ld && m >= 2 * rows)       \
            store_over(c, ld, rows, sum);                                     \
        else                                                                  \
            store_rows(c, ld, m, n, rows, vectors, sum);                      \
    }

MULTIPLY(1, 8)
MULTIPLY(2, 8)
MULTIPLY(3, 8)
MULTIPLY(4, 6)

/* By vectors of a panel: as many rows as leave registers for the rest. */
static const struct {
    void (*multiply)(const struct left_rows *a, const uint32_t *panel,
                     uint16_t *c, int64_t ld, int64_t m, int64_t n);
    int rows;
} tiles[] = {{NULL, 0},
             {multiply_1, 8},
             {multiply_2, 8},
             {multiply_3, 8},
             {multiply_4, 6}};

/* m rows of A, from `a` on, times a panel, into `c`. */
static void multiply_panel(const struct product *p, const uint16_t *a,
                           int64_t lda, int64_t m, const uint32_t *panel,
                           uint16_t *c, int64_t left)
{
    const struct tfd_gemm *g = p->g;
    const int vectors = vectors_at(g, left), rows = tiles[vectors].rows;
    struct left_rows l = {.pairs = p->pairs, .more = false};

    if (!p->turned && g->k % 2) {
        l.pairs--;
        l.more = true;
    }
    for (int64_t i = 0; i < m; i += rows) {
        if (i + rows <= m)
            for (int64_t j = 0; j < rows; j++)
                l.row[j] = a + (i + j) * lda;
        else
            for (int64_t j = 0; j < rows; j++)
                l.row[j] = a + (i + j < m ? i + j : m - 1) * lda;
        tiles[vectors].multiply(&l, panel, c + i * g->ldc + left, g->ldc, m - i,
                                g->n - left);
    }
}

static void multiply_block(const struct product *p, int64_t first, int64_t m)
{
    const struct tfd_gemm *g = p->g;
    const uint16_t *a = (const uint16_t *)g->a + first * g->lda;
    uint16_t *c = (uint16_t *)g->c + first * g->ldc;
    const uint32_t *panel = p->panels;
    int64_t lda = g->lda;

    if (p->turned) {
        turn_rows(p, first, m);
        a = p->turned;
        lda = 2 * p->pairs;
    }
    for (int64_t left = 0; left < g->n; left += PANEL) {
        multiply_panel(p, a, lda, m, panel, c, left);
        panel += p->pairs * vectors_at(g, left) * LANES;
    }
}

static void multiply_blocks(const struct product *p)
{
    const int64_t m = p->g->m;

    pack_panels(p);
    for (int64_t i = 0; i < m && !tfd_halted(); i += p->block)
        multiply_block(p, i, m - i < p->block ? m - i : p->block);
}

/* Rows at a time: a multiple of what every tile has. */
static int64_t block_of(const struct tfd_gemm *g)
{
    const int64_t rows = BLOCK_BYTES / (g->k * (int64_t)sizeof(uint16_t));

    return rows < 48 ? 48 : rows - rows % 24;
}

static bool multiply_large(struct product *p, size_t packed)
{
    const size_t turned = p->g->transpose_a ? (size_t)(p->block * p->pairs) : 0;
    struct tfd_buffer *b = tfd_buffer_new((packed + turned) * sizeof(uint32_t));

    if (!b)
        return false;
    p->panels = b->data;
    if (turned)
        p->turned = (uint16_t *)(p->panels + packed);
    multiply_blocks(p);
    tfd_buffer_unref(b);
    return true;
}

static bool multiply_small(struct product *p)
{
    uint32_t panels[SMALL_PAIRS];

    p->panels = panels;
    multiply_blocks(p);
    return true;
}

/* ---- Few columns --------------------------------------------------------- */

enum {
    SLIM_MIN = 256,    /* rows of C */
    SLIM_ROWS_MIN = 4, /* of C in a vector, for which this pays */
    SLIM_COLUMNS = LANES / SLIM_ROWS_MIN,
    SLIM_PAIRS = 16,       /* along the sum */
    SLIM_WORDS = 4 * LANES /* numbers of two vectors of A */
};

/* A vector of sums is some rows of C, whose numbers of A lie in two vectors: of
 * those it takes a pair for each sum. */
struct slim {
    int64_t rows;
    __m512i from[SLIM_PAIRS], b[SLIM_PAIRS];
    __mmask32 there[SLIM_PAIRS];
};

/* The pair p of a lane. */
static void fill_slim_pair(const struct tfd_gemm *g, int64_t p, int64_t lane,
                           struct slim *s)
{
    const int64_t row = g->transpose_b ? 1 : g->ldb;
    const int64_t column = g->transpose_b ? g->ldb : 1;
    const uint16_t *b = (const uint16_t *)g->b + lane % g->n * column;

    for (int64_t half = 0; half < 2; half++) {
        const int64_t at = 2 * p + half, word = 2 * lane + half;
        const bool there = lane < s->rows * g->n && at < g->k;

        ((uint16_t *)&s->from[p])[word] =
            there ? (uint16_t)(lane / g->n * g->lda + at) : 0;
        ((uint16_t *)&s->b[p])[word] = there ? b[at * row] : 0;
        s->there[p] |= (__mmask32)there << word;
    }
}

INLINE __m512 slim_sums(const struct slim *s, int64_t pairs, const uint16_t *a)
{
    const __m512i low = _mm512_loadu_si512(a);
    const __m512i high = _mm512_loadu_si512(a + 2 * LANES);
    __m512 sum = _mm512_setzero_ps();

    for (int64_t p = 0; p < pairs; p++)
        sum = _mm512_dpbf16_ps(sum,
                               (__m512bh)_mm512_maskz_permutex2var_epi16(
                                   s->there[p], low, s->from[p], high),
                               (__m512bh)s->b[p]);
    return sum;
}

INLINE __m256i slim_rounded(__m512 sum)
{
    return (__m256i)_mm512_cvtneps_pbh(sum);
}

/* The last rows, of fewer numbers than two vectors have. */
TARGET static void slim_rest(const struct slim *s, const struct product *p,
                             int64_t done)
{
    const struct tfd_gemm *g = p->g;
    const int64_t rows = g->m - done;
    uint16_t a[4 * SLIM_WORDS] = {0};
    uint16_t c[(SLIM_WORDS + LANES) * SLIM_COLUMNS];

    if (rows == 0)
        return;
    memcpy(a, (const uint16_t *)g->a + done * g->lda,
           (size_t)((rows - 1) * g->lda + g->k) * sizeof(*a));
    for (int64_t i = 0; i < rows; i += s->rows)
        _mm256_storeu_si256(
            (void *)(c + i * g->n),
            slim_rounded(slim_sums(s, p->pairs, a + i * g->lda)));
    memcpy((uint16_t *)g->c + done * g->n, c,
           (size_t)(rows * g->n) * sizeof(*c));
}

/* What a vector has too much is written over by the next. */
TARGET static void multiply_slim(const struct slim *s, const struct product *p)
{
    const struct tfd_gemm *g = p->g;
    const int64_t numbers = (g->m - 1) * g->lda + g->k;
    const uint16_t *a = g->a;
    uint16_t *c = g->c;
    int64_t i = 0;

    for (; i * g->lda + SLIM_WORDS <= numbers && (g->m - i) * g->n >= LANES;
         i += s->rows)
        _mm256_storeu_si256(
            (void *)(c + i * g->n),
            slim_rounded(slim_sums(s, p->pairs, a + i * g->lda)));
    slim_rest(s, p, i);
}

static bool is_slim(const struct product *p)
{
    const struct tfd_gemm *g = p->g;

    return !g->transpose_a && g->lda <= LANES && g->ldc == g->n && g->n > 0 &&
           g->n <= SLIM_COLUMNS && p->pairs > 0 && p->pairs <= SLIM_PAIRS &&
           g->m >= SLIM_MIN &&
           g->lda <= (SLIM_WORDS - g->k) / (SLIM_ROWS_MIN - 1);
}

static bool multiply_few_columns(const struct product *p)
{
    const struct tfd_gemm *g = p->g;
    const int64_t most = (SLIM_WORDS - g->k) / g->lda + 1;
    struct slim s = {.rows = most < LANES / g->n ? most : LANES / g->n};

    for (int64_t i = 0; i < p->pairs; i++)
        for (int64_t lane = 0; lane < LANES; lane++)
            fill_slim_pair(g, i, lane, &s);
    multiply_slim(&s, p);
    return true;
}

static bool has_bfloat16(void)
{
    return __builtin_cpu_supports("avx512bf16") && tfd_simd_has_avx512();
}

bool tfd_gemm_bfloat16(const struct tfd_gemm *g)
{
    struct product p = {.g = g, .pairs = (g->k + 1) / 2};
    const int64_t columns = (g->n + LANES - 1) / LANES * LANES;

    if (g->add || !has_bfloat16())
        return false;
    if (is_slim(&p))
        return multiply_few_columns(&p);
    p.block = block_of(g);
    if (p.block > g->m)
        p.block = g->m;
    if (!g->transpose_a && (double)p.pairs * (double)columns <= SMALL_PAIRS)
        return multiply_small(&p);
    return multiply_large(&p, (size_t)p.pairs * (size_t)columns);
}

bool tfd_gemm_wants_bfloat16(int64_t m, int64_t n)
{
    return m >= SIDE_MIN && n >= SIDE_MIN && has_bfloat16();
}

#else

bool tfd_gemm_bfloat16(const struct tfd_gemm *g)
{
    (void)g;
    return false;
}

bool tfd_gemm_wants_bfloat16(int64_t m, int64_t n)
{
    (void)m;
    (void)n;
    return false;
}

#endif
