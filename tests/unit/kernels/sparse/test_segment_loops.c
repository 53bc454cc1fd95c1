/*
 * test_segment_loops.c - kernels/sparse/segment_loops.h beside a plain loop
 * that adds in the order of the rows, to the bit: every width of row, segments
 * of all lengths, gaps between ids, wherever threads begin.
 */
#include "common/base/denormals.h"
#include "kernels/index/scatter_functions.h"
#include "kernels/sparse/segment_loops.h"
#include "tests/support/pieces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS 1400 /* more than a block of begins, twice */
#define INNER 100
#define IDS (4 * ROWS)

/* ---- The plain loop ------------------------------------------------------ */

#define PLAIN(name, T, empty_)                                                 \
    static T fold_##name(enum tfd_segment_fold fold, T a, T b)                 \
    {                                                                          \
        return fold == TFD_SEGMENT_MIN    ? min_##name(a, b)                   \
               : fold == TFD_SEGMENT_MAX  ? max_##name(a, b)                   \
               : fold == TFD_SEGMENT_PROD ? mul_##name(a, b)                   \
                                          : add_##name(a, b);                  \
    }                                                                          \
    static void plain_##name(enum tfd_segment_fold fold, const int64_t *id,    \
                             const void *x, void *y, int64_t n, int64_t inner) \
    {                                                                          \
        const T *from = x;                                                     \
        T *to = y;                                                             \
        int64_t rows = 1;                                                      \
                                                                               \
        for (int64_t i = 0; n && i < (id[n - 1] + 1) * inner; i++)             \
            to[i] = (T)(empty_);                                               \
        for (int64_t i = 0; i < n; i++) {                                      \
            bool first = i == 0 || id[i] != id[i - 1];                         \
            bool last = i == n - 1 || id[i] != id[i + 1];                      \
                                                                               \
            rows = first ? 1 : rows + 1;                                       \
            for (int64_t c = 0; c < inner; c++) {                              \
                T *sum = &to[id[i] * inner + c], v = from[i * inner + c];      \
                                                                               \
                *sum = first ? v : fold_##name(fold, *sum, v);                 \
                if (fold == TFD_SEGMENT_MEAN && last && rows > 1)              \
                    *sum = div_##name(*sum, (T)rows);                          \
            }                                                                  \
        }                                                                      \
    }                                                                          \
    static void fill_##name(void *x, int64_t n)                                \
    {                                                                          \
        T *to = x;                                                             \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            to[i] = (T)((T)((i * 37) % 101 - 50) * (T)1.1);                    \
        for (int64_t i = 5; i < n;                                             \
             i += 211) /* -0 stays so where it is alone */                     \
            to[i] = (T)(-(T)0);                                                \
    }

PLAIN(FLOAT, float, 7)
PLAIN(DOUBLE, double, 7)
PLAIN(INT32, int32_t, 7)
PLAIN(INT64, int64_t, 7)
PLAIN(INT16, int16_t, 7)

typedef void plain_fn(enum tfd_segment_fold fold, const int64_t *id,
                      const void *x, void *y, int64_t n, int64_t inner);

static const struct {
    enum tfd_dtype dtype;
    plain_fn *plain;
    void (*fill)(void *x, int64_t n);
    char seven[8];
} types[] = {
    {TFD_FLOAT, plain_FLOAT, fill_FLOAT, {0, 0, (char)0xe0, 0x40}},
    {TFD_DOUBLE, plain_DOUBLE, fill_DOUBLE, {0, 0, 0, 0, 0, 0, 0x1c, 0x40}},
    {TFD_INT32, plain_INT32, fill_INT32, {7}},
    {TFD_INT64, plain_INT64, fill_INT64, {7}},
    {TFD_INT16, plain_INT16, fill_INT16, {7}},
};

/* ---- Ids ----------------------------------------------------------------- */

static int64_t all_one(int64_t i)
{
    return i * 0;
}

static int64_t each_its_own(int64_t i)
{
    return i;
}

static int64_t with_gaps(int64_t i)
{
    return 2 + i / 3 * 3 + i / 7;
}

/* Segments of 1, 2, 3 ... rows. */
static int64_t longer_ones(int64_t i)
{
    int64_t id = 0;

    while ((id + 1) * (id + 2) / 2 <= i)
        id++;
    return id;
}

static int64_t (*const patterns[])(int64_t) = {all_one, each_its_own, with_gaps,
                                               longer_ones};

/* ---- Comparing ----------------------------------------------------------- */

static struct {
    int64_t id[ROWS];
    int32_t narrow[ROWS];
    double x[ROWS * INNER + 1], y[IDS * INNER + 1], expected[IDS * INNER + 1];
} m;

static void compare(int type, enum tfd_segment_fold fold, bool wide, int64_t n,
                    int64_t inner, size_t shift)
{
    size_t size = tfd_dtype_size(types[type].dtype);
    size_t rows = n ? (size_t)m.id[n - 1] + 1 : 0;
    const struct tfd_segments s = {
        .ids = wide ? (const void *)m.id : m.narrow,
        .x = (char *)m.x + shift,
        .y = (char *)m.y + shift,
        .count = n,
        .inner = inner,
        .ids_type = wide ? TFD_INT64 : TFD_INT32,
        .dtype = types[type].dtype,
        .empty = types[type].seven,
    };
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx k = {0};

    assert_true(rows <= IDS);
    memset(m.y, 0x5a, rows * (size_t)inner * size + 8);
    memset(m.expected, 0x5a, rows * (size_t)inner * size + 8);
    types[type].fill((char *)m.x + shift, n * inner);
    types[type].plain(fold, m.id, s.x, (char *)m.expected + shift, n, inner);
    assert_int_equal(tfd_segment_fold_sorted(&k, fold, &s, &st), TFD_OK);
    assert_memory_equal(m.y, m.expected, rows * (size_t)inner * size + 8);
}

static void compare_widths(int64_t n, int p)
{
    static const int64_t inner[] = {1,  2,  3,  4,  5,  7,  8,  9,  15, 16,
                                    17, 24, 25, 31, 32, 33, 63, 64, 65, INNER};

    for (int64_t i = 0; i < n; i++) {
        m.id[i] = patterns[p](i);
        m.narrow[i] = (int32_t)m.id[i];
    }
    for (int t = 0; t < TFD_COUNT(types); t++)
        for (int f = 0; f <= TFD_SEGMENT_MEAN; f++)
            for (int w = 0; w < (n > 100 ? 5 : TFD_COUNT(inner)); w++)
                for (size_t shift = 0; shift <= 8; shift += 8)
                    compare(t, (enum tfd_segment_fold)f, (w + f) % 2, n,
                            inner[w], shift);
}

static void segments_are_folded_in_order(void **unused)
{
    static const int64_t counts[] = {1, 2, 3, 4, 5, 8, 13, 40};

    (void)unused;
    for (piece = 1; piece <= 64; piece *= 4)
        for (int p = 0; p < TFD_COUNT(patterns); p++)
            for (int c = 0; c < TFD_COUNT(counts); c++)
                compare_widths(counts[c], p);
}

static void many_segments_are(void **unused)
{
    static const int64_t pieces[] = {1, 100, 511, 512, 513, 1024, ROWS};

    (void)unused;
    for (int i = 0; i < TFD_COUNT(pieces); i++)
        for (int p = 0; p < TFD_COUNT(patterns); p++) {
            piece = pieces[i];
            compare_widths(ROWS, p);
        }
}

/* Subnormal numbers, in threads that compute without such: what is alone in its
 * segment is not computed with. */
static void rows_alone_keep_their_bits(void **unused)
{
    static const enum tfd_segment_fold folds[] = {
        TFD_SEGMENT_SUM, TFD_SEGMENT_MIN, TFD_SEGMENT_MAX, TFD_SEGMENT_PROD};
    static const int64_t inner[] = {1, 2, 3, 4, 5, 16};
    const uint64_t mode = tfd_denormals_get();
    struct tfd_kctx k = {0};

    (void)unused;
    piece = ROWS;
    for (int i = 0; i < ROWS; i++)
        m.narrow[i] = i;
    for (int at = 0; at < 2 * TFD_COUNT(folds) * TFD_COUNT(inner); at++) {
        const int t = at % 2, f = at / 2 % TFD_COUNT(folds);
        const size_t size = tfd_dtype_size(types[t].dtype);
        const struct tfd_segments s = {
            .ids = m.narrow,
            .x = m.x,
            .y = m.y,
            .count = ROWS,
            .inner = inner[at / 2 / TFD_COUNT(folds)],
            .ids_type = TFD_INT32,
            .dtype = types[t].dtype,
            .empty = types[t].seven,
        };

        memset(m.x, 0, sizeof(m.x));
        for (int64_t i = 0; i < ROWS * s.inner; i++)
            ((unsigned char *)m.x)[(size_t)i * size] = (unsigned char)(i | 1);
        tfd_denormals_set(mode | TFD_DENORMALS_FLUSH);
        assert_int_equal(tfd_segment_fold_sorted(&k, folds[f], &s, NULL),
                         TFD_OK);
        tfd_denormals_set(mode);
        assert_memory_equal(m.y, m.x, ROWS * (size_t)s.inner * size);
    }
}

static void no_rows_are_no_segments(void **unused)
{
    (void)unused;
    piece = 10;
    compare(0, TFD_SEGMENT_SUM, false, 0, 1, 0);
    compare(4, TFD_SEGMENT_MEAN, true, 0, 5, 0);
}

static void what_has_no_order_has_no_smallest(void **unused)
{
    static const tfd_complex64 x[1];
    const int32_t id = 0;
    tfd_complex64 y;
    struct tfd_segments s = {&id, x, &y, 1, 1, TFD_INT32, TFD_COMPLEX64, x};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx k = {0};

    (void)unused;
    assert_int_equal(tfd_segment_fold_sorted(&k, TFD_SEGMENT_MIN, &s, &st),
                     TFD_UNIMPLEMENTED);
    st = (struct tfd_status)TFD_STATUS_INIT;
    s.dtype = TFD_BOOL;
    assert_int_equal(tfd_segment_fold_sorted(&k, TFD_SEGMENT_SUM, &s, &st),
                     TFD_UNIMPLEMENTED);
}

/* ---- Increasing ids ------------------------------------------------------ */

static bool increases(enum tfd_dtype dtype, const int64_t *id, int64_t n)
{
    const struct tfd_shape shape = {1, {n}};
    struct tfd_tensor t = TFD_TENSOR_INIT;
    struct tfd_status st = TFD_STATUS_INIT;
    size_t size = tfd_dtype_size(dtype);
    bool result;

    assert_int_equal(tfd_tensor_new(&t, dtype, &shape, &st), TFD_OK);
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)tfd_tensor_data(&t) + (size_t)i * size, &id[i], size);
    result = tfd_segment_increases(&t);
    tfd_tensor_unref(&t);
    return result;
}

static void ids_that_fall_or_are_negative_are_seen(void **unused)
{
    static const enum tfd_dtype both[] = {TFD_INT32, TFD_INT64};
    int64_t id[70];

    (void)unused;
    for (int t = 0; t < 2; t++)
        for (int64_t n = 0; n <= 70; n++) {
            for (int64_t i = 0; i < n; i++)
                id[i] = i / 2;
            assert_true(increases(both[t], id, n));
            for (int64_t i = 0; i < n; i++) {
                id[i] = -1;
                assert_false(increases(both[t], id, n));
                id[i] = 100;
                assert_int_equal(increases(both[t], id, n), i == n - 1);
                id[i] = i / 2;
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_are_folded_in_order),
        cmocka_unit_test(many_segments_are),
        cmocka_unit_test(rows_alone_keep_their_bits),
        cmocka_unit_test(no_rows_are_no_segments),
        cmocka_unit_test(what_has_no_order_has_no_smallest),
        cmocka_unit_test(ids_that_fall_or_are_negative_are_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
