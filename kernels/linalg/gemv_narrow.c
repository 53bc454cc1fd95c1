/*
 * gemv_narrow.c - half and bfloat16: a vector times a matrix.  Widened as a
 * whole, a matrix would be written to memory and read again, at twice its size.
 *
 * Sums down the columns are kept in the first cache, and a few rows at a time
 * are added to all of them, so that memory is read in order.  Otherwise, and
 * without AVX-512, a block of the matrix at a time is widened to floats in that
 * cache, and multiplied there.
 *
 * Results are cut among threads; each is summed in float, from the first
 * product to the last.
 */
#include "kernels/linalg/gemm.h"

#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/core/kernel.h"
#include "kernels/vector/narrow.h"
#include "kernels/vector/simd.h"

#include <string.h>

#define BLOCK 8192 /* floats, on the stack */
#define WIDTH 2048 /* columns at a time */
/* Columns of a piece: fewer are read as parts of lines, again for each piece.
 */
#define PIECE_MIN 256
#define PER_NS 16 /* elements */
/* Floats behind the results that are there for masked vectors: one that reaches
 * into a page that is not there takes some hundred nanoseconds. */
#define MASKED 16

struct narrow_vector {
    enum tfd_dtype dtype;
    const uint16_t *matrix;
    int64_t ld, k, n; /* k: what is summed for each of n results */
    int64_t piece;    /* results that stay together */
    bool down;        /* the sum goes along a column of the matrix */
    const float *x;
    float *y;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- Rows added to sums --------------------------------------------------
 */

#if defined(__x86_64__) && !defined(TFD_SIMD_ALIKE)

#include <immintrin.h>

#define WIDE __attribute__((target(TFD_SIMD_AVX512)))
#define WIDE_INLINE WIDE static inline __attribute__((always_inline))

enum { LANES = 16, ROWS = 8 };

#define SUMS_MIN 16 /* columns; of fewer each sum waits for the last one */

WIDE_INLINE __m512 widened(enum tfd_dtype dtype, __mmask16 mask,
                           const uint16_t *from)
{
    const __m256i x = _mm256_maskz_loadu_epi16(mask, from);

    return dtype == TFD_HALF ? _mm512_cvtph_ps(x)
                             : _mm512_castsi512_ps(_mm512_slli_epi32(
                                   _mm512_cvtepu16_epi32(x), 16));
}

/* Rows [from, from + rows) of [first, first + n) columns. */
WIDE_INLINE void add_rows(const struct narrow_vector *v, enum tfd_dtype dtype,
                          int rows, int64_t from, int64_t first, int64_t n)
{
    const uint16_t *row = v->matrix + from * v->ld + first;
    float *y = v->y + first;
    __m512 x[ROWS];

    for (int r = 0; r < rows; r++)
        x[r] = _mm512_set1_ps(v->x[from + r]);
    for (int64_t i = 0; i < n; i += LANES) {
        const __mmask16 mask =
            n - i < LANES ? (__mmask16)((1u << (n - i)) - 1) : 0xffff;
        __m512 sum = _mm512_maskz_loadu_ps(mask, y + i);

        for (int r = 0; r < rows; r++)
            sum = _mm512_fmadd_ps(
                x[r], widened(dtype, mask, row + r * v->ld + i), sum);
        _mm512_mask_storeu_ps(y + i, mask, sum);
    }
}

WIDE_INLINE void sum_down(const struct narrow_vector *v, enum tfd_dtype dtype,
                          int64_t first, int64_t n)
{
    int64_t p = 0;

    memset(v->y + first, 0, (size_t)n * sizeof(*v->y));
    for (; p + ROWS <= v->k; p += ROWS)
        add_rows(v, dtype, ROWS, p, first, n);
    for (; p < v->k; p++)
        add_rows(v, dtype, 1, p, first, n);
}

WIDE static void sum_halves(const struct narrow_vector *v, int64_t first,
                            int64_t n)
{
    sum_down(v, TFD_HALF, first, n);
}

WIDE static void sum_bfloat16(const struct narrow_vector *v, int64_t first,
                              int64_t n)
{
    sum_down(v, TFD_BFLOAT16, first, n);
}

static bool sums_down(const struct narrow_vector *v, int64_t begin, int64_t end)
{
    if (!v->down || v->n < SUMS_MIN || !tfd_simd_has_avx512())
        return false;
    for (int64_t n; begin < end && !tfd_halted(); begin += n) {
        n = least(WIDTH, end - begin);
        if (v->dtype == TFD_HALF)
            sum_halves(v, begin, n);
        else
            sum_bfloat16(v, begin, n);
    }
    return true;
}

#else

static bool sums_down(const struct narrow_vector *v, int64_t begin, int64_t end)
{
    (void)v, (void)begin, (void)end;
    return false;
}

#endif

/* ---- Blocks --------------------------------------------------------------
 */

static void widen_block(const struct narrow_vector *v, int64_t row,
                        int64_t rows, int64_t column, int64_t columns,
                        float *to)
{
    const uint16_t *from = v->matrix + row * v->ld + column;

    if (columns == v->ld) {
        tfd_narrow_widen(v->dtype, from, to, rows * columns);
        return;
    }
    for (int64_t i = 0; i < rows; i++)
        tfd_narrow_widen(v->dtype, from + i * v->ld, to + i * columns, columns);
}

/* Results [first, first + n) of summing [from, from + k). */
static void multiply_block(const struct narrow_vector *v, int64_t first,
                           int64_t n, int64_t from, int64_t k)
{
    float block[BLOCK];
    const struct tfd_gemm g = {.dtype = TFD_FLOAT,
                               .transpose_b = !v->down,
                               .add = from > 0,
                               .m = 1,
                               .n = n,
                               .k = k,
                               .a = v->x + from,
                               .b = block,
                               .c = v->y + first,
                               .lda = k,
                               .ldb = v->down ? n : k,
                               .ldc = n};

    if (v->down)
        widen_block(v, from, k, first, n, block);
    else
        widen_block(v, first, n, from, k, block);
    tfd_gemm(&g);
}

static void multiply_some(const struct narrow_vector *v, int64_t begin,
                          int64_t end)
{
    const int64_t width = least(v->down ? end - begin : v->k, WIDTH);
    const int64_t n = v->down ? width : BLOCK / width;
    const int64_t k = v->down ? BLOCK / width : width;

    if (sums_down(v, begin, end))
        return;
    for (int64_t i = begin; i < end && !tfd_halted(); i += n)
        for (int64_t p = 0; p < v->k; p += k)
            multiply_block(v, i, least(n, end - i), p, least(k, v->k - p));
}

static void multiply_pieces(void *arg, int64_t begin, int64_t end)
{
    const struct narrow_vector *v = arg;

    multiply_some(v, begin * v->piece, least(end * v->piece, v->n));
}

static int64_t piece_of(int64_t n)
{
    const int64_t count = n / PIECE_MIN;

    return count > 1 ? (n - 1) / count + 1 : n;
}

static int cost_of_piece(const struct narrow_vector *v)
{
    const int64_t most = (int64_t)(INT32_MAX - 1) * PER_NS / v->piece;

    return (int)(least(v->k, most) * v->piece / PER_NS) + 1;
}

bool tfd_gemv_narrow(struct tfd_kctx *k, const struct tfd_gemm *g)
{
    const bool first = g->m == 1; /* A is the vector */
    struct narrow_vector v = {.dtype = g->dtype,
                              .matrix = first ? g->b : g->a,
                              .ld = first ? g->ldb : g->lda,
                              .k = g->k,
                              .n = first ? g->n : g->m,
                              .down = first ? !g->transpose_b : g->transpose_a};
    struct tfd_buffer *floats;
    float *at;

    if ((!first && g->n != 1) || g->k < 1 || v.n < 1 ||
        (size_t)g->k > SIZE_MAX / sizeof(*at) / 2 ||
        (size_t)v.n > SIZE_MAX / sizeof(*at) / 2)
        return false;
    floats = tfd_buffer_new(((size_t)(v.k + v.n) + MASKED) * sizeof(*at));
    if (!floats)
        return false;
    at = floats->data;
    tfd_narrow_widen(g->dtype, first ? g->a : g->b, at, v.k);
    v.x = at;
    v.y = at + v.k;
    memset(v.y + v.n, 0, MASKED * sizeof(*at));
    v.piece = v.down ? piece_of(v.n) : 1;
    tfd_kctx_parallel(k, (v.n - 1) / v.piece + 1, cost_of_piece(&v),
                      multiply_pieces, &v);
    tfd_narrow_round(g->dtype, v.y, g->c, v.n);
    tfd_buffer_unref(floats);
    return true;
}
