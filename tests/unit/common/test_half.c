/*
 * test_half.c - common/base/half.h: every half and bfloat16 there and back, and
 * the rounding at each limit.  The expected bits are those of TensorFlow's
 * Cast.
 */
#include "common/base/half.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_every_half_survives_the_way_there_and_back(void **state)
{
    (void)state;
    for (uint32_t h = 0; h <= 0xffff; h++) {
        float f = tfd_half_to_float((tfd_half)h);
        uint32_t back = tfd_half_from_float(f);

        if (isnan(f)) /* becomes quiet, keeps sign and payload */
            assert_int_equal(back, h | 0x200);
        else
            assert_int_equal(back, h);
    }
}

static void test_every_bfloat16_survives_the_way_there_and_back(void **state)
{
    (void)state;
    for (uint32_t b = 0; b <= 0xffff; b++) {
        float f = tfd_bfloat16_to_float((tfd_bfloat16)b);
        uint32_t back = tfd_bfloat16_from_float(f);

        assert_int_equal(back, isnan(f) ? 0x7fc0 : b);
    }
}

static void test_known_halves(void **state)
{
    (void)state;
    assert_true(tfd_half_to_float(0x3c00) == 1.0f);
    assert_true(tfd_half_to_float(0xc000) == -2.0f);
    assert_true(tfd_half_to_float(0x7bff) == 65504.0f);
    assert_true(tfd_half_to_float(0x0001) == ldexpf(1, -24));
    assert_true(tfd_half_to_float(0x0400) == ldexpf(1, -14));
    assert_true(isinf(tfd_half_to_float(0xfc00)));
    assert_true(signbit(tfd_half_to_float(0x8000)));
}

static void test_halves_round_to_nearest_and_ties_to_even(void **state)
{
    static const struct {
        uint32_t bits;
        tfd_half half;
    } cases[] = {
        {0x3f801000, 0x3c00}, /* 1 + 2^-11: tie, down to even */
        {0x3f801001, 0x3c01}, /* just above the tie */
        {0x3f803000, 0x3c02}, /* tie, up to even */
        {0x3f802fff, 0x3c01}, /* just below */
        {0x3ffff000, 0x4000}, /* carries into the exponent */
        {0x477fefff, 0x7bff}, /* below 65520: the largest */
        {0x477ff000, 0x7c00}, /* 65520: infinity */
        {0x7f7fffff, 0x7c00}, /* the largest float */
        {0x7f800000, 0x7c00}, {0xff800000, 0xfc00}, {0x80000000, 0x8000},
        {0x38800000, 0x0400}, /* 2^-14: the smallest normal */
        {0x387fffff, 0x0400}, /* rounds up to it */
        {0x387fdfff, 0x03ff}, /* the largest subnormal */
        {0x33800000, 0x0001}, /* 2^-24 */
        {0x33c00000, 0x0002}, /* 1.5 units: tie, up to even */
        {0x33000001, 0x0001}, /* above half a unit */
        {0x33000000, 0x0000}, /* half a unit: tie, down to even */
        {0xb3000000, 0x8000}, {0x00000001, 0x0000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(tfd_half_from_float(tfd_half_float_of(cases[i].bits)),
                         cases[i].half);
}

static void test_bfloat16_rounds_to_nearest_and_ties_to_even(void **state)
{
    static const struct {
        uint32_t bits;
        tfd_bfloat16 rounded, truncated;
    } cases[] = {
        {0x3f80ffff, 0x3f81, 0x3f80}, {0x3f808000, 0x3f80, 0x3f80},
        {0x3f818000, 0x3f82, 0x3f81}, {0x3f818001, 0x3f82, 0x3f81},
        {0x7f7fffff, 0x7f80, 0x7f7f}, {0x80018000, 0x8002, 0x8001},
        {0x0000ffff, 0x0001, 0x0000}, {0x00008000, 0x0000, 0x0000},
        {0xff800000, 0xff80, 0xff80}, {0x80000000, 0x8000, 0x8000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        float f = tfd_half_float_of(cases[i].bits);

        assert_int_equal(tfd_bfloat16_from_float(f), cases[i].rounded);
        assert_int_equal(tfd_bfloat16_truncate(f), cases[i].truncated);
    }
}

/* A NaN whose payload lies in the bits that are cut must not become infinity.
 */
static void test_nan_stays_nan(void **state)
{
    static const struct {
        uint32_t bits;
        uint16_t half, bfloat16, truncated;
    } cases[] = {
        {0x7fc00000, 0x7e00, 0x7fc0, 0x7fc0},
        {0x7f800001, 0x7e00, 0x7fc0, 0x7fc0},
        {0x7fc12345, 0x7e09, 0x7fc0, 0x7fc0},
        {0xffc00000, 0xfe00, 0x7fc0, 0xffc0},
        {0xff800001, 0xfe00, 0x7fc0, 0xffc0},
        {0x7f80ffff, 0x7e07, 0x7fc0, 0x7fc0},
        {0xff812000, 0xfe09, 0x7fc0, 0xffc0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        float f = tfd_half_float_of(cases[i].bits);

        assert_int_equal(tfd_half_from_float(f), cases[i].half);
        assert_int_equal(tfd_bfloat16_from_float(f), cases[i].bfloat16);
        assert_int_equal(tfd_bfloat16_truncate(f), cases[i].truncated);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_half_survives_the_way_there_and_back),
        cmocka_unit_test(test_every_bfloat16_survives_the_way_there_and_back),
        cmocka_unit_test(test_known_halves),
        cmocka_unit_test(test_halves_round_to_nearest_and_ties_to_even),
        cmocka_unit_test(test_bfloat16_rounds_to_nearest_and_ties_to_even),
        cmocka_unit_test(test_nan_stays_nan),
    };

    return cmocka_run_group_tests_name("half", tests, NULL, NULL);
}
