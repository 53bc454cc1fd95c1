/*
 * test_number.c - number.c against the C library: numbers of any digits and
 * powers, and those in the middle between two floats.
 */
#include "kernels/parse/number.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DRAWS 200000
#define TEXT_SIZE 64

static uint64_t next_bits(void)
{
    static uint64_t seed = 88172645463325252;

    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static void check(const char *text)
{
    const struct tfd_str s = {text, strlen(text)};
    const float narrow = strtof(text, NULL);
    const double wide = strtod(text, NULL);
    float one;
    double two;

    if (!tfd_number_parse(TFD_FLOAT, s, &one) ||
        !tfd_number_parse(TFD_DOUBLE, s, &two))
        fail_msg("\"%s\" is not read", text);
    if (memcmp(&one, &narrow, sizeof(one)) || memcmp(&two, &wide, sizeof(two)))
        fail_msg("\"%s\" is %a and %a, not %a and %a", text, (double)one, two,
                 (double)narrow, wide);
}

/* Up to 21 digits, a point among them or not, a power or none. */
static void some_decimal(char *text)
{
    const int digits = 1 + (int)(next_bits() % 21),
              point = (int)(next_bits() % 24),
              power = (int)(next_bits() % 91) - 45;
    int at = 0;

    if (next_bits() % 2)
        text[at++] = next_bits() % 4 ? '-' : '+';
    for (int i = 0; i < digits; i++) {
        if (i == point)
            text[at++] = '.';
        text[at++] = (char)('0' + next_bits() % 10);
    }
    if (next_bits() % 2)
        at += sprintf(text + at, next_bits() % 2 ? "e%d" : "E%+03d", power);
    text[at] = '\0';
}

static void test_any_decimal(void **state)
{
    char text[TEXT_SIZE];

    (void)state;
    for (int i = 0; i < DRAWS; i++) {
        some_decimal(text);
        check(text);
    }
}

/* The middle of two floats, with all of its digits or some, and what lies
 * beside it. */
static void test_middles(void **state)
{
    char text[TEXT_SIZE];

    (void)state;
    for (int i = 0; i < DRAWS; i++) {
        const double x =
            ldexp((double)((next_bits() % (1 << 24)) | 1 << 24) + 0.5,
                  (int)(next_bits() % 100) - 60);
        const int near = (int)(next_bits() % 3) - 1;

        snprintf(text, sizeof(text), "%.*g", 12 + (int)(next_bits() % 9),
                 near ? nextafter(x, near < 0 ? 0 : INFINITY) : x);
        check(text);
    }
}

static void test_floats_and_back(void **state)
{
    char text[TEXT_SIZE];

    (void)state;
    for (int i = 0; i < DRAWS; i++) {
        const uint32_t bits = (uint32_t)next_bits();
        float x;

        memcpy(&x, &bits, sizeof(x));
        if (!isfinite(x))
            continue;
        snprintf(text, sizeof(text), "%.9g", (double)x);
        check(text);
    }
}

static void test_what_is_none(void **state)
{
    static const char *const texts[] = {
        "",     "-",   "+",   ".",    "-.",   ".e1",  "e1",
        "1e",   "1e+", "1e-", "1e5.", "1.2.", "1..2", "1e5e5",
        "1 2",  "--1", "+-1", "1,5",  "1x",   "1.5f", "1.e+x",
        "1e 5", "- 1", "0x",  "1_0",  "in",   "na",   "1e--5"};
    double out;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const struct tfd_str s = {texts[i], strlen(texts[i])};

        if (tfd_number_parse(TFD_FLOAT, s, &out) ||
            tfd_number_parse(TFD_DOUBLE, s, &out))
            fail_msg("\"%s\" is read", texts[i]);
    }
}

/* Behind the end there are digits, which are not the text's. */
static void test_ends(void **state)
{
    static const char digits[] = "123.4567e12";
    static const double prefix[] = {1,     12,         123,        123,
                                    123.4, 123.45,     123.456,    123.4567,
                                    NAN,   123.4567e1, 123.4567e12};

    (void)state;
    for (size_t n = 1; n <= 11; n++) {
        double out = 0;
        const bool read =
            tfd_number_parse(TFD_DOUBLE, (struct tfd_str){digits, n}, &out);

        assert_int_equal(read, !isnan(prefix[n - 1]));
        if (read)
            assert_true(out == prefix[n - 1]);
    }
    assert_false(tfd_number_parse(TFD_DOUBLE, (struct tfd_str){"1\0002", 3},
                                  &(double){0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_decimal),
        cmocka_unit_test(test_middles),
        cmocka_unit_test(test_floats_and_back),
        cmocka_unit_test(test_what_is_none),
        cmocka_unit_test(test_ends),
    };

    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
