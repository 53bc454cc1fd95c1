/*
 * test_fill_loops.c - tfd_elements_fill() of every width, at lengths around
 * the vectors' lanes and at places that are not a vector's, and
 * tfd_elements_zero(): all that is asked for, nothing beside it.
 */
#include "kernels/core/element.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ROOM 4096
#define AROUND 0x5a

static unsigned char y[ROOM];
static const unsigned char value[16] = {1, 2,  3,  4,  5,  6,  7,  8,
                                        9, 10, 11, 12, 13, 14, 15, 16};

static void check_fill(enum tfd_dtype dtype, int place, int64_t n)
{
    const size_t size = tfd_dtype_size(dtype);
    const size_t begin = (size_t)place * size;
    const size_t end = begin + (size_t)(n > 0 ? n : 0) * size;

    memset(y, AROUND, sizeof(y));
    assert_int_equal(tfd_elements_fill(dtype, y + begin, value, n, NULL),
                     TFD_OK);
    for (size_t i = 0; i < ROOM; i++)
        assert_int_equal(
            y[i], i < begin || i >= end ? AROUND : value[(i - begin) % size]);
}

static void check_lengths(enum tfd_dtype dtype)
{
    for (int place = 0; place < 4; place++)
        for (int64_t n = -1; n <= 70; n++)
            check_fill(dtype, place, n);
}

static void test_every_width(void **state)
{
    (void)state;
    check_lengths(TFD_UINT8);
    check_lengths(TFD_BFLOAT16);
    check_lengths(TFD_FLOAT);
    check_lengths(TFD_DOUBLE);
    check_lengths(TFD_COMPLEX128);
}

/* Lengths around where one way of clearing ends and another begins. */
static void test_zeros(void **state)
{
    static const int64_t lengths[] = {0,    1,    63,   64,   2047, 2048,
                                      2049, 2111, 2112, 2175, 3000};
    static _Alignas(64) unsigned char x[ROOM];

    (void)state;
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
        for (int64_t place = 0; place <= 128; place += 16) {
            memset(x, AROUND, sizeof(x));
            tfd_elements_zero(TFD_UINT8, x + place, lengths[l]);
            for (int64_t i = 0; i < ROOM; i++)
                assert_int_equal(
                    x[i], i < place || i >= place + lengths[l] ? AROUND : 0);
        }
}

static void test_many_zeros(void **state)
{
    static _Alignas(64) unsigned char x[(800 << 10) + 64];
    static const int64_t lengths[] = {(768 << 10) - 1, 768 << 10,
                                      (768 << 10) + 1, 800 << 10};

    (void)state;
    for (int l = 0; l < 4; l++) {
        memset(x, AROUND, sizeof(x));
        tfd_elements_zero(TFD_UINT8, x, lengths[l]);
        for (int64_t i = 0; i < (int64_t)sizeof(x); i++)
            if (x[i] != (i < lengths[l] ? 0 : AROUND))
                fail_msg("byte %lld of %lld", (long long)i,
                         (long long)lengths[l]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_width),
        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_many_zeros),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
