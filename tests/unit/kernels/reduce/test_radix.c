/*
 * test_radix.c - kernels/reduce/radix.h against a sort by comparisons: every
 * type, many and few equal numbers, zeros of both signs, infinities, and what
 * has no place.
 */
#include "kernels/reduce/radix.h"

#include "common/base/half.h"
#include "common/thread/halt.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_MAX 5000

static const enum tfd_dtype dtypes[] = {
    TFD_FLOAT, TFD_DOUBLE, TFD_HALF,  TFD_BFLOAT16, TFD_INT8,   TFD_INT16,
    TFD_INT32, TFD_INT64,  TFD_UINT8, TFD_UINT16,   TFD_UINT32, TFD_UINT64};

static uint64_t seed = 1;

static uint64_t next(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 20;
}

/* Number i of x; exact, but for 64 bits, which are drawn below 2^53. */
static double at(enum tfd_dtype dtype, const void *x, int64_t i)
{
#define CASE(DTYPE, T, to) \
    if (dtype == (DTYPE))  \
        return (double)to(((const T *)x)[i]);
    CASE(TFD_FLOAT, float, )
    CASE(TFD_DOUBLE, double, )
    CASE(TFD_HALF, tfd_half, tfd_half_to_float)
    CASE(TFD_BFLOAT16, tfd_bfloat16, tfd_bfloat16_to_float)
    CASE(TFD_INT8, int8_t, )
    CASE(TFD_INT16, int16_t, )
    CASE(TFD_INT32, int32_t, )
    CASE(TFD_INT64, int64_t, )
    CASE(TFD_UINT8, uint8_t, )
    CASE(TFD_UINT16, uint16_t, )
    CASE(TFD_UINT32, uint32_t, )
    return (double)((const uint64_t *)x)[i];
}

static void put(enum tfd_dtype dtype, void *x, int64_t i, int64_t v)
{
#define PUT(DTYPE, T, from) \
    if (dtype == (DTYPE))   \
        ((T *)x)[i] = (T)from(v);
#define PUT_NARROW(DTYPE, T, from) \
    if (dtype == (DTYPE))          \
        ((T *)x)[i] = from((float)v);
    PUT(TFD_FLOAT, float, )
    PUT(TFD_DOUBLE, double, )
    PUT_NARROW(TFD_HALF, tfd_half, tfd_half_from_float)
    PUT_NARROW(TFD_BFLOAT16, tfd_bfloat16, tfd_bfloat16_from_float)
    PUT(TFD_INT8, int8_t, )
    PUT(TFD_INT16, int16_t, )
    PUT(TFD_INT32, int32_t, )
    PUT(TFD_INT64, int64_t, )
    PUT(TFD_UINT8, uint8_t, )
    PUT(TFD_UINT16, uint16_t, )
    PUT(TFD_UINT32, uint32_t, )
    PUT(TFD_UINT64, uint64_t, )
}

struct item {
    double value;
    int64_t place;
};

static int falling(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static void check(enum tfd_dtype dtype, const void *x, int64_t n, int64_t count)
{
    struct item *want = calloc((size_t)n + 1, sizeof(*want));
    int64_t *index = calloc((size_t)n + 1, sizeof(*index));
    void *scratch = malloc(tfd_radix_scratch(dtype, n) + 1);

    for (int64_t i = 0; i < n; i++)
        want[i] = (struct item){at(dtype, x, i), i};
    qsort(want, (size_t)n, sizeof(*want), falling);
    assert_true(tfd_radix_falling(dtype, x, n, count, index, scratch));
    for (int64_t i = 0; i < count; i++)
        if (index[i] != want[i].place)
            fail_msg("type %s, %d numbers: place %d is %d, not %d",
                     tfd_dtype_name((int)dtype), (int)n, (int)i, (int)index[i],
                     (int)want[i].place);
    free(want);
    free(index);
    free(scratch);
}

static void test_numbers_of_every_type(void **state)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 17, 255, 2048, 2049, N_MAX};
    static const int64_t ranges[] = {1, 2, 100, INT64_C(1) << 50};
    static uint64_t x[N_MAX];

    (void)state;
    for (size_t t = 0; t < sizeof(dtypes) / sizeof(dtypes[0]); t++)
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
            for (size_t r = 0; r < 4; r++) {
                bool is_signed = dtypes[t] < TFD_UINT8 || r > 1;

                for (int64_t i = 0; i < sizes[s]; i++)
                    put(dtypes[t], x, i,
                        (int64_t)(next() % (uint64_t)ranges[r]) -
                            (is_signed && dtypes[t] != TFD_UINT64
                                 ? ranges[r] / 2
                                 : 0));
                check(dtypes[t], x, sizes[s], sizes[s]);
                check(dtypes[t], x, sizes[s], sizes[s] / 3);
            }
}

/* Most of 64 bits agree but for the highest ones and the lowest ones, which are
 * all there are to tell some of them apart, or nearly all. */
static void test_numbers_that_differ_far_below(void **state)
{
    static const uint64_t tops[] = {2, 1000, 1 << 20};
    static uint64_t x[N_MAX];
    static double wide[N_MAX];
    static float real[N_MAX];
    static int32_t narrow[N_MAX];

    (void)state;
    for (size_t t = 0; t < sizeof(tops) / sizeof(tops[0]); t++)
        for (int64_t n = 2; n <= N_MAX; n = n * 2 + n / 3) {
            for (int64_t i = 0; i < n; i++) {
                x[i] = next() % tops[t] << 32 | next() % 4096;
                wide[i] = 1 + (double)x[i] / 4503599627370496.0;
                narrow[i] = (int32_t)(x[i] % tops[t]) * (i % 7 == 1 ? 1024 : 1);
                real[i] = i % 500 == 1 ? 0 : 1 + (float)narrow[i] / 8388608.0f;
            }
            check(TFD_INT32, narrow, n, n);
            check(TFD_FLOAT, real, n, n / 2);
            check(TFD_UINT64, x, n, n);
            check(TFD_INT64, x, n, n / 2);
            check(TFD_DOUBLE, wide, n, n);
        }
}

/* The least key is taken off: what is left has from 1 to 53 bits, wherever the
 * numbers lie. */
static void test_numbers_within_a_range(void **state)
{
    static const int64_t from[] = {-3, -2000000000, INT64_C(-9007199254740000),
                                   2147483000, INT64_C(9007199254000000)};
    static uint64_t x[N_MAX];

    (void)state;
    for (size_t f = 0; f < sizeof(from) / sizeof(from[0]); f++)
        for (int bits = 1; bits < 53; bits += 3)
            for (int64_t n = 1; n <= N_MAX; n = n * 9 + 4) {
                const uint64_t range = UINT64_C(1) << bits;

                for (int64_t i = 0; i < n; i++)
                    put(TFD_INT64, x, i, from[f] + (int64_t)(next() % range));
                check(TFD_INT64, x, n, n);
                for (int64_t i = 0; i < n; i++)
                    put(TFD_INT32, x, i, from[f] + (int64_t)(next() % range));
                check(TFD_INT32, x, n, n);
                for (int64_t i = 0; i < n; i++)
                    put(TFD_FLOAT, x, i, from[f] + (int64_t)(next() % range));
                check(TFD_FLOAT, x, n, n / 2);
            }
}

static void test_floats_of_every_kind(void **state)
{
    static const float kinds[] = {0.0f,   -0.0f,   INFINITY, -INFINITY,
                                  1e-45f, -1e-45f, 3e38f,    -3e38f,
                                  1.0f,   -1.0f,   1.0f,     1.1754944e-38f};
    float x[200];
    double wide[200];
    tfd_half half[200];

    (void)state;
    for (int i = 0; i < 200; i++) {
        x[i] = kinds[next() % 12];
        wide[i] = (double)x[i];
        half[i] = tfd_half_from_float(x[i]);
    }
    check(TFD_FLOAT, x, 200, 200);
    check(TFD_DOUBLE, wide, 200, 200);
    check(TFD_HALF, half, 200, 200);
}

static void test_random_bits(void **state)
{
    static float x[N_MAX];

    (void)state;
    for (int i = 0; i < N_MAX; i++) {
        uint32_t bits = (uint32_t)next();

        memcpy(&x[i], &bits, sizeof(bits));
        if (isnan(x[i]))
            x[i] = 0;
    }
    check(TFD_FLOAT, x, N_MAX, N_MAX);
}

/* ---- What has no order --------------------------------------------------- */

static void test_nan_is_refused_wherever_it_is(void **state)
{
    int64_t index[8];
    uint64_t scratch[64];

    (void)state;
    for (int at_ = 0; at_ < 8; at_++) {
        float x[8] = {3, 1, 2, -1, 0, 5, 4, 7};
        double wide[8] = {3, 1, 2, -1, 0, 5, 4, 7};
        tfd_half half[8] = {0};

        x[at_] = NAN;
        wide[at_] = -NAN;
        half[at_] = tfd_half_from_float(NAN);
        assert_false(tfd_radix_falling(TFD_FLOAT, x, 8, 8, index, scratch));
        assert_false(tfd_radix_falling(TFD_DOUBLE, wide, 8, 8, index, scratch));
        assert_false(tfd_radix_falling(TFD_HALF, half, 8, 8, index, scratch));
    }
}

static void test_types_without_an_order_are_refused(void **state)
{
    static const enum tfd_dtype none[] = {TFD_COMPLEX64, TFD_STRING, TFD_BOOL,
                                          TFD_RESOURCE};
    uint64_t x[4] = {0}, scratch[64];
    int64_t index[4];

    (void)state;
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_false(tfd_radix_falling(none[i], x, 2, 2, index, scratch));
}

static void test_it_stops_when_it_is_told_to(void **state)
{
    const int stop = 1;
    float x[4] = {1, 2, 3, 4};
    uint64_t scratch[64];
    int64_t index[4];

    (void)state;
    tfd_halt_at(&stop);
    assert_false(tfd_radix_falling(TFD_FLOAT, x, 4, 4, index, scratch));
    tfd_halt_at(NULL);
    assert_true(tfd_radix_falling(TFD_FLOAT, x, 4, 4, index, scratch));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_of_every_type),
        cmocka_unit_test(test_numbers_that_differ_far_below),
        cmocka_unit_test(test_numbers_within_a_range),
        cmocka_unit_test(test_floats_of_every_kind),
        cmocka_unit_test(test_random_bits),
        cmocka_unit_test(test_nan_is_refused_wherever_it_is),
        cmocka_unit_test(test_types_without_an_order_are_refused),
        cmocka_unit_test(test_it_stops_when_it_is_told_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
