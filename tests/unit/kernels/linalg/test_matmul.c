/*
 * test_matmul.c - matmul.c, gemm_blas.c, gemm_tiles.c and gemv_narrow.c;
 * gemm_ref.c is the judge.
 */
#include "kernels/linalg/gemm.h"
#include "kernels/vector/simd.h"
#include "tests/support/kernel_rig.h"

static void test_values(void **state)
{
    static const struct krig_case cases[] = {
        {"MatMul",
         "",
         {"float[2,3] 1 2 3 4 5 6", "float[3,2] 1 2 3 4 5 6"},
         {"float[2,2] 22 28 49 64"}},
        {"MatMul",
         "transpose_a=true",
         {"float[3,2] 1 4 2 5 3 6", "float[3,2] 1 2 3 4 5 6"},
         {"float[2,2] 22 28 49 64"}},
        {"MatMul",
         "transpose_b=true",
         {"float[2,3] 1 2 3 4 5 6", "float[2,3] 1 3 5 2 4 6"},
         {"float[2,2] 22 28 49 64"}},
        {"MatMul",
         "transpose_a=true transpose_b=true",
         {"int32[3,2] 1 4 2 5 3 6", "int32[2,3] 1 3 5 2 4 6"},
         {"int32[2,2] 22 28 49 64"}},
        {"MatMul",
         "grad_a=true",
         {"double[1,1] 3", "double[1,1] 4"},
         {"double[1,1] 12"}},
        {"MatMul",
         "",
         {"int64[1,2] 4611686018427387904 1", "int64[2,1] 4 7"},
         {"int64[1,1] 7"}},
        {"MatMul",
         "",
         {"complex64[1,2] 1,2 3,4", "complex64[2,1] 1,0 0,1"},
         {"complex64[1,1] -3,5"}},
        {"MatMul",
         "transpose_a=true",
         {"complex128[2,1] 1,2 3,4", "complex128[2,1] 1,0 0,1"},
         {"complex128[1,1] -3,5"}},
        {"MatMul",
         "",
         {"half[1,3] 1 2 3", "half[3,1] 4 5 6"},
         {"half[1,1] 32"}},
        {"MatMul",
         "",
         {"bfloat16[1,2] 256 1", "bfloat16[2,1] 1 1"},
         {"bfloat16[1,1] 256"}},
        {"MatMul", "", {"float[0,3]", "float[3,2] 1"}, {"float[0,2]"}},
        {"MatMul", "", {"float[2,0]", "float[0,2]"}, {"float[2,2] 0"}},
        {"MatMul", "", {"half[2,0]", "half[0,2]"}, {"half[2,2] 0"}},
        {"MatMul",
         "",
         {"float[2,3] 1", "float[2,3] 1"},
         {"!INVALID_ARGUMENT Matrix size-incompatible: In[0]: [2,3], In[1]: "
          "[2,3]"}},
        {"MatMul",
         "",
         {"float[3] 1", "float[3,2] 1"},
         {"!INVALID_ARGUMENT In[0] and In[1] has different ndims: [3] vs. "
          "[3,2]"}},
        {"MatMul",
         "",
         {"float[1,2,3] 1", "float[1,3,2] 1"},
         {"!INVALID_ARGUMENT In[0] and In[1] ndims must be == 2: 3"}},
        {"MatMul",
         "",
         {"uint8[1,1] 1", "uint8[1,1] 1"},
         {"!NOT_FOUND no kernel"}},
        {"MatMul", "", {"int8[1,1] 1", "int8[1,1] 1"}, {"!INVALID_ARGUMENT T"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_half_in_blocks_of_rows(void **state)
{
    static const struct krig_case cases[] = {
        {"MatMul",
         "",
         {"half[24001,7] 1 2 3 4 5 6 7", "half[7,3] 1 2 3"},
         {"half[24001,3] 28 56 84"}},
        {"MatMul",
         "transpose_b=true",
         {"half[24001,7] 1 2 3 4 5 6 7",
          "half[3,7] 1 1 1 1 1 1 1 2 2 2 2 2 2 2 "
          "3 3 3 3 3 3 3"},
         {"half[24001,3] 28 56 84"}},
        {"Conv2D", /* a window of one element is such a product */
         "strides=1,1,1,1 padding=SAME",
         {"half[2,100,121,7] 1 2 3 4 5 6 7", "half[1,1,7,3] 1 2 3"},
         {"half[2,100,121,3] 28 56 84"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

/* A number that looks random, the same in every run. */
static double noise(int64_t i)
{
    return (double)(((uint64_t)i * UINT64_C(2654435761)) % 1000) / 500 - 1;
}

static struct tfd_tensor matrix(enum tfd_dtype t, int64_t rows, int64_t columns)
{
    struct tfd_shape shape = {2, {rows, columns}};
    struct tfd_tensor m;

    assert_int_equal(tfd_tensor_new(&m, t, &shape, NULL), TFD_OK);
    for (int64_t i = 0; i < rows * columns; i++)
        krig_put_number(t, tfd_tensor_data(&m), i, noise(i), noise(i + 7), i);
    return m;
}

static void compare_with_loops(enum tfd_dtype t, int64_t m, int64_t n,
                               int64_t k, bool ta, bool tb)
{
    const bool vector =
        t == TFD_HALF || (t == TFD_BFLOAT16 && (m == 1 || n == 1));
    struct tfd_kctx kctx = {.rt = NULL};
    struct tfd_tensor a = matrix(t, ta ? k : m, ta ? m : k);
    struct tfd_tensor b = matrix(t, tb ? n : k, tb ? k : n);
    struct tfd_tensor c = matrix(t, m, n), judge = matrix(t, m, n);
    struct tfd_gemm g = {.dtype = t,
                         .transpose_a = ta,
                         .transpose_b = tb,
                         .m = m,
                         .n = n,
                         .k = k,
                         .a = tfd_tensor_data(&a),
                         .b = tfd_tensor_data(&b),
                         .c = tfd_tensor_data(&judge),
                         .lda = ta ? m : k,
                         .ldb = tb ? k : n,
                         .ldc = n};

    tfd_gemm_init();
    tfd_gemm_ref(&g);
    g.c = tfd_tensor_data(&c);
    assert_true(vector ? tfd_gemv_narrow(&kctx, &g) : tfd_gemm_blas(&g));
    for (int64_t i = 0; i < m * n; i++)
        for (int part = 0; part < 2; part++)
            if (!krig_near(krig_number(&c, i, part),
                           krig_number(&judge, i, part),
                           t == TFD_BFLOAT16                      ? 8e-3
                           : t == TFD_HALF                        ? 1e-3
                           : t == TFD_FLOAT || t == TFD_COMPLEX64 ? 1e-4
                                                                  : 1e-12))
                fail_msg("%s %lldx%lldx%lld %d%d, element %lld: %.9g, not %.9g",
                         tfd_dtype_name((int)t), (long long)m, (long long)n,
                         (long long)k, ta, tb, (long long)i,
                         krig_number(&c, i, part),
                         krig_number(&judge, i, part));
    tfd_tensor_unref(&a);
    tfd_tensor_unref(&b);
    tfd_tensor_unref(&c);
    tfd_tensor_unref(&judge);
}

/* Small ones, vectors, and ones with remainders in every direction. */
static void test_blas_agrees_with_the_loops(void **state)
{
    static const enum tfd_dtype types[] = {TFD_FLOAT, TFD_DOUBLE, TFD_COMPLEX64,
                                           TFD_COMPLEX128};
    static const int64_t sizes[][3] = {
        {1, 1, 1},   {2, 3, 4},   {6, 6, 6},    {1, 50, 70},  {50, 1, 70},
        {50, 70, 1}, {17, 33, 9}, {64, 64, 64}, {65, 67, 130}};

    (void)state;
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
            for (int flags = 0; flags < 4; flags++)
                compare_with_loops(types[t], sizes[i][0], sizes[i][1],
                                   sizes[i][2], flags & 1, flags & 2);
}

/* A product of m x n x k whose matrices lie in wider ones, at odd places. */
struct wide_product {
    struct tfd_tensor a, b, c, judge;
    struct tfd_gemm g;
};

static void wide_product(struct wide_product *w, enum tfd_dtype t,
                         const int64_t *size, int flags)
{
    const int64_t m = size[0], n = size[1], k = size[2];
    const size_t item = tfd_dtype_size(t);
    const bool ta = flags & 1, tb = flags & 2;

    w->a = matrix(t, (ta ? k : m) + 1, (ta ? m : k) + 3);
    w->b = matrix(t, (tb ? n : k) + 1, (tb ? k : n) + 5);
    w->c = matrix(t, m + 1, n + 2);
    w->judge = matrix(t, m + 1, n + 2);
    w->g = (struct tfd_gemm){.dtype = t,
                             .transpose_a = ta,
                             .transpose_b = tb,
                             .add = flags & 4,
                             .m = m,
                             .n = n,
                             .k = k,
                             .a = (char *)tfd_tensor_data(&w->a) + item,
                             .b = (char *)tfd_tensor_data(&w->b) + 3 * item,
                             .lda = (ta ? m : k) + 3,
                             .ldb = (tb ? k : n) + 5,
                             .ldc = n + 2};
}

static void tiles_leave_what_is_beside(enum tfd_dtype t, const int64_t *size,
                                       int flags)
{
    struct wide_product w;

    wide_product(&w, t, size, flags);
    w.g.c = tfd_tensor_data(&w.judge);
    tfd_gemm_ref(&w.g);
    w.g.c = tfd_tensor_data(&w.c);
    if (tfd_gemm_tiles(&w.g))
        for (int64_t i = 0; i < (size[0] + 1) * w.g.ldc; i++)
            if (!krig_near(krig_number(&w.c, i, 0), krig_number(&w.judge, i, 0),
                           t == TFD_FLOAT ? 1e-4 : 1e-12))
                fail_msg("%s %lldx%lldx%lld %d, element %lld: %.9g, not %.9g",
                         tfd_dtype_name((int)t), (long long)size[0],
                         (long long)size[1], (long long)size[2], flags,
                         (long long)i, krig_number(&w.c, i, 0),
                         krig_number(&w.judge, i, 0));
    tfd_tensor_unref(&w.a);
    tfd_tensor_unref(&w.b);
    tfd_tensor_unref(&w.c);
    tfd_tensor_unref(&w.judge);
}

/* Rows and columns around tiles and vectors; also added to what there is. */
static void test_tiles_agree_with_the_loops(void **state)
{
    static const int64_t ms[] = {1, 2, 3, 7, 8, 9, 10, 11, 15, 16, 19};
    static const int64_t ns[] = {1, 3, 7, 8, 9, 15, 16, 17, 33, 48, 49, 65};
    static const int64_t ks[] = {1, 2, 17};

    (void)state;
    for (int64_t at = 0; at < TFD_COUNT(ms) * TFD_COUNT(ns) * TFD_COUNT(ks);
         at++) {
        const int64_t size[3] = {ms[at % TFD_COUNT(ms)],
                                 ns[at / TFD_COUNT(ms) % TFD_COUNT(ns)],
                                 ks[at / TFD_COUNT(ms) / TFD_COUNT(ns)]};

        for (int flags = 0; flags < 8; flags++) {
            tiles_leave_what_is_beside(TFD_FLOAT, size, flags);
            tiles_leave_what_is_beside(TFD_DOUBLE, size, flags);
        }
    }
}

/* Rows that lie together, and nothing behind the last of them. */
static void slim_product(enum tfd_dtype t, int64_t m, int64_t n, int64_t k,
                         int64_t lda, bool turned)
{
    const size_t item = tfd_dtype_size(t), all = (size_t)(m * n) * item;
    struct tfd_tensor a = matrix(t, 1, 1 + (m - 1) * lda + k);
    struct tfd_tensor b = matrix(t, 1, n * k), c = matrix(t, 1, m * n);
    struct tfd_tensor judge = matrix(t, 1, m * n);
    struct tfd_gemm g = {.dtype = t,
                         .transpose_b = turned,
                         .m = m,
                         .n = n,
                         .k = k,
                         .b = tfd_tensor_data(&b),
                         .lda = lda,
                         .ldb = turned ? k : n,
                         .ldc = n};
    char *behind = test_malloc(all + item);

    g.a = (char *)tfd_tensor_data(&a) + item;
    g.c = tfd_tensor_data(&judge);
    tfd_gemm_ref(&g);
    memset(behind, 0x55, all + item);
    g.c = behind;
    assert_true(t == TFD_FLOAT ? tfd_gemm_slim(&g) : tfd_gemm_bfloat16(&g));
    memcpy(tfd_tensor_data(&c), behind, all);
    for (size_t i = 0; i < item; i++)
        assert_int_equal(behind[all + i], 0x55);
    for (int64_t i = 0; i < m * n; i++)
        if (!krig_near(krig_number(&c, i, 0), krig_number(&judge, i, 0),
                       t == TFD_FLOAT ? 1e-5 : 1e-2))
            fail_msg("%s %lldx%lldx%lld, element %lld: %.9g, not %.9g",
                     tfd_dtype_name((int)t), (long long)m, (long long)n,
                     (long long)k, (long long)i, krig_number(&c, i, 0),
                     krig_number(&judge, i, 0));
    test_free(behind);
    tfd_tensor_unref(&a);
    tfd_tensor_unref(&b);
    tfd_tensor_unref(&c);
    tfd_tensor_unref(&judge);
}

static void test_few_columns(void **state)
{
    (void)state;
    if (!tfd_simd_has_avx512())
        skip();
    for (int64_t n = 2; n <= 4; n++)
        for (int64_t k = 1; k <= 10; k++)
            for (int64_t m = 256; m <= 282; m++)
                for (int64_t lda = k; lda <= 10; lda += 3) {
                    slim_product(TFD_FLOAT, m, n, k, lda, m & 1);
                    if (tfd_gemm_wants_bfloat16(m, n))
                        slim_product(TFD_BFLOAT16, m, n, k, lda, m & 1);
                }
}

static void test_tiles_leave_what_is_not_for_them(void **state)
{
    static const struct tfd_gemm others[] = {
        {.dtype = TFD_FLOAT, .m = 9, .n = 1024, .k = 9},
        {.dtype = TFD_DOUBLE, .m = 9, .n = 9, .k = 1024},
        {.dtype = TFD_FLOAT, .m = 9, .n = 1 << 20, .k = 1 << 30},
        {.dtype = TFD_DOUBLE, .m = 9, .n = INT32_MAX, .k = INT32_MAX},
        {.dtype = TFD_FLOAT, .transpose_b = true, .m = 7, .n = 9, .k = 9},
        {.dtype = TFD_FLOAT, .transpose_b = true, .m = 9, .n = 64, .k = 33},
        {.dtype = TFD_COMPLEX64, .m = 9, .n = 9, .k = 9}};

    (void)state;
    for (int i = 0; i < TFD_COUNT(others); i++)
        assert_false(tfd_gemm_tiles(&others[i]));
}

/* Every number of columns up to twice what gemv.h sums at once, rows below
 * and above what it takes. */
static void test_vectors_of_every_length(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 520; n++)
        for (int flags = 0; flags < 4; flags++) {
            const int64_t k = n % 17 == 0 ? 700 : 1 + 601 / n;

            compare_with_loops(TFD_FLOAT, 1, n, k, flags & 1, flags & 2);
            compare_with_loops(TFD_FLOAT, n, 1, k, flags & 1, flags & 2);
            compare_with_loops(TFD_DOUBLE, 1, n, k, flags & 1, flags & 2);
            compare_with_loops(TFD_DOUBLE, n, 1, k, flags & 1, flags & 2);
        }
}

/* `add` to what is there, which nothing lies beside that is touched. */
static void test_vectors_are_added(void **state)
{
    double b[40 * 21], x[40], y[23], want[21];

    (void)state;
    for (int i = 0; i < 40 * 21; i++)
        b[i] = noise(i);
    for (int n = 1; n <= 21; n++)
        for (int add = 0; add < 2; add++) {
            const struct tfd_gemm g = {TFD_DOUBLE, false, false, add, 1,  n, 40,
                                       x,          b,     &y[1], 40,  21, n};

            for (int i = 0; i < 40; i++)
                x[i] = noise(i + n);
            for (int j = 0; j < 23; j++)
                y[j] = j;
            for (int j = 0; j < n; j++) {
                want[j] = add ? j + 1 : 0;
                for (int i = 0; i < 40; i++)
                    want[j] += x[i] * b[i * 21 + j];
            }
            assert_true(tfd_gemm_blas(&g));
            for (int j = 0; j < n; j++)
                assert_true(krig_near(y[1 + j], want[j], 1e-12));
            assert_true(y[0] == 0 && y[n + 1] == n + 1);
        }
}

/* Around the rows and columns that are taken at a time. */
static void test_narrow_vectors_agree_with_the_loops(void **state)
{
    static const int64_t sizes[] = {1,  2,  7,  8,    9,    15,   16,  17,
                                    33, 64, 65, 2047, 2048, 2049, 4100};
    const struct tfd_gemm none = {.dtype = TFD_HALF, .m = 1, .n = 1};
    const struct tfd_gemm matrix = {.dtype = TFD_HALF, .m = 2, .n = 2, .k = 1};
    struct tfd_kctx k = {.rt = NULL};

    (void)state;
    for (int i = 0; i < TFD_COUNT(sizes); i++)
        for (int j = 0; j < TFD_COUNT(sizes); j++)
            for (int flags = 0; flags < 8; flags++)
                if (i < 11 || j < 11)
                    compare_with_loops(flags & 4 ? TFD_HALF : TFD_BFLOAT16,
                                       flags & 1 ? 1 : sizes[j],
                                       flags & 1 ? sizes[j] : 1, sizes[i],
                                       (flags & 2) != 0, (i + j) % 2 == 0);
    assert_false(tfd_gemv_narrow(&k, &none));
    assert_false(tfd_gemv_narrow(&k, &matrix));
}

/* Sides around vectors, tiles and panels, pairs and an odd one, an A that
 * is taken in several blocks. */
static void test_bfloat16_agrees_with_the_loops(void **state)
{
    static const int64_t sizes[][3] = {
        {1, 1, 1},     {2, 3, 4},       {6, 16, 5},   {7, 17, 31},
        {8, 32, 32},   {9, 33, 33},     {13, 48, 65}, {12, 64, 2},
        {5, 65, 3},    {17, 79, 64},    {1, 130, 70}, {70, 1, 9},
        {30, 96, 257}, {100, 20, 3000}, {15, 3, 7},   {16, 3, 7},
        {17, 8, 2},    {31, 2, 8},      {33, 7, 9},   {40, 9, 6},
        {24, 1, 3},    {2000, 3, 700}};

    (void)state;
    if (!tfd_gemm_wants_bfloat16(16, 16)) {
        print_message("no AVX512_BF16\n");
        skip();
    }
    assert_false(tfd_gemm_wants_bfloat16(1, 16));
    assert_false(tfd_gemm_wants_bfloat16(16, 1));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int flags = 0; flags < 4; flags++)
            compare_with_loops(TFD_BFLOAT16, sizes[i][0], sizes[i][1],
                               sizes[i][2], flags & 1, flags & 2);
}

/* Short rows, of which one is written over the next, and nothing behind the
 * last. */
static void test_bfloat16_leaves_what_is_behind(void **state)
{
    static tfd_bfloat16 one[64], c[40 * 8 + 8];

    (void)state;
    if (!tfd_gemm_wants_bfloat16(16, 16))
        skip();
    for (int i = 0; i < 64; i++)
        one[i] = 0x3f80;
    for (int64_t m = 2; m <= 40; m++)
        for (int64_t n = 2; n <= 8; n++) {
            const struct tfd_gemm g = {.dtype = TFD_BFLOAT16,
                                       .m = m,
                                       .n = n,
                                       .k = 1,
                                       .a = one,
                                       .b = one,
                                       .c = c,
                                       .lda = 1,
                                       .ldb = n,
                                       .ldc = n};

            memset(c, 7, sizeof(c));
            assert_true(tfd_gemm_bfloat16(&g));
            for (int64_t i = 0; i < m * n + 8; i++)
                assert_int_equal(c[i], i < m * n ? 0x3f80 : 0x0707);
        }
}

static void test_bfloat16_adds_nothing(void **state)
{
    tfd_bfloat16 one[4] = {0x3f80, 0x3f80, 0x3f80, 0x3f80}, c[4] = {0};
    const struct tfd_gemm g = {.dtype = TFD_BFLOAT16,
                               .add = true,
                               .m = 2,
                               .n = 2,
                               .k = 2,
                               .a = one,
                               .b = one,
                               .c = c,
                               .lda = 2,
                               .ldb = 2,
                               .ldc = 2};

    (void)state;
    assert_false(tfd_gemm_bfloat16(&g));
    assert_int_equal(c[0], 0);
}

static void test_blas_leaves_what_it_does_not_know(void **state)
{
    struct tfd_gemm g = {.dtype = TFD_INT32, .m = 1, .n = 1, .k = 1};

    (void)state;
    assert_false(tfd_gemm_blas(&g));
    g.dtype = TFD_FLOAT;
    g.k = 0;
    assert_false(tfd_gemm_blas(&g));
    g.k = INT64_C(1) << 31;
    assert_false(tfd_gemm_blas(&g));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_half_in_blocks_of_rows),
        cmocka_unit_test(test_blas_agrees_with_the_loops),
        cmocka_unit_test(test_tiles_agree_with_the_loops),
        cmocka_unit_test(test_few_columns),
        cmocka_unit_test(test_tiles_leave_what_is_not_for_them),
        cmocka_unit_test(test_vectors_of_every_length),
        cmocka_unit_test(test_vectors_are_added),
        cmocka_unit_test(test_narrow_vectors_agree_with_the_loops),
        cmocka_unit_test(test_bfloat16_agrees_with_the_loops),
        cmocka_unit_test(test_bfloat16_leaves_what_is_behind),
        cmocka_unit_test(test_bfloat16_adds_nothing),
        cmocka_unit_test(test_blas_leaves_what_it_does_not_know),
    };

    return cmocka_run_group_tests_name("matmul", tests, krig_setup,
                                       krig_teardown);
}
