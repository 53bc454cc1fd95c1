/*
 * test_special_lanes.c - special_lanes.h beside the functions of one number,
 * usual arguments and all others, and wherever in a block they stand.
 */
#include "kernels/math/special_functions.h"
#include "kernels/math/special_lanes.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ROOM 8192
#define NUMBERS(a) (sizeof(a) / sizeof((a)[0]))

typedef void lanes_fn(const struct tfd_special_lanes *s, int64_t begin,
                      int64_t end);
typedef double exact_fn(double a, double x);
typedef float one_fn(float a, float x);

static double betainc_at_a_third(double a, double b)
{
    return tfd_special_betainc(a, b, (double)0.3f);
}

static float betainc_at_a_third_float(float a, float b)
{
    return tfd_special_betainc_float(a, b, 0.3f);
}

static const struct function {
    const char *name;
    lanes_fn *lanes;
    exact_fn *exact;
    one_fn *one;
    float more; /* is added to the first argument */
    int whole;  /* which is a whole number */
} functions[] = {
    {"igamma", tfd_special_igamma_lanes, tfd_special_igamma,
     tfd_special_igamma_float, 0, 0},
    {"igammac", tfd_special_igammac_lanes, tfd_special_igammac,
     tfd_special_igammac_float, 0, 0},
    {"zeta", tfd_special_zeta_lanes, tfd_special_zeta, tfd_special_zeta_float,
     1, 0},
    {"polygamma", tfd_special_polygamma_lanes, tfd_special_polygamma,
     tfd_special_polygamma_float, 0, 1},
    {"betainc", tfd_special_betainc_lanes, betainc_at_a_third,
     betainc_at_a_third_float, 0, 0},
};

static float a[ROOM], x[ROOM], y[ROOM], again[ROOM];
static const float third = 0.3f;

static void run(const struct function *f, int64_t n, float *to)
{
    const struct tfd_special_lanes s = {{a, x, &third}, {1, 1, 0}, to};

    f->lanes(&s, 0, n);
}

/* Half a unit in the last place of a float, and what the bounds of
 * test_special_functions.c leave to the functions of floats. */
static void expect_rounded(const struct function *f, int64_t i)
{
    const double want = f->exact((double)a[i], (double)x[i]);
    const double half = fabs(want) * 0x1p-24 + 0x1p-150;

    if (fabs(want) > (double)FLT_MAX
            ? !isinf(y[i]) && y[i] < FLT_MAX
            : !(fabs((double)y[i] - want) <= half + 4e-9 * fabs(want)))
        fail_msg("%s at %.9g, %.9g: %.9g, not %.17g", f->name, (double)a[i],
                 (double)x[i], (double)y[i], want);
}

static int64_t make_grid(const struct function *f)
{
    int64_t n = 0;

    for (float p = 0.26f; p < 400; p *= 1.13f)
        for (float q = 0.01f; q < 500; q *= 1.11f) {
            assert_true(n < ROOM);
            a[n] = (f->whole ? fminf(floorf(p), 60) : p) + f->more;
            x[n++] = q;
        }
    return n;
}

static void test_floats_are_rounded_doubles(void **state)
{
    (void)state;
    for (size_t k = 0; k < NUMBERS(functions); k++) {
        const int64_t n = make_grid(&functions[k]);

        run(&functions[k], n, y);
        for (int64_t i = 0; i < n; i++)
            expect_rounded(&functions[k], i);
    }
}

/* Zeros, what is outside of a domain, infinite, or no number. */
static void test_rare_arguments(void **state)
{
    static const float numbers[] = {0,     -0.5f,    1e-30f,    1e30f, -1e30f,
                                    1e-4f, INFINITY, -INFINITY, NAN,   1,
                                    -2,    2,        3.5f,      600,   31};
    const size_t count = NUMBERS(numbers);

    (void)state;
    for (size_t i = 0; i < count * count; i++) {
        a[i] = numbers[i / count];
        x[i] = numbers[i % count];
    }
    for (size_t k = 0; k < NUMBERS(functions); k++) {
        run(&functions[k], (int64_t)(count * count), y);
        for (size_t i = 0; i < count * count; i++) {
            const float want = functions[k].one(a[i], x[i]);

            if (isnan(want) ? !isnan(y[i])
                            : y[i] != want && !(fabsf(y[i] - want) <=
                                                FLT_EPSILON * fabsf(want)))
                fail_msg("%s at %.9g, %.9g: %.9g, not %.9g", functions[k].name,
                         (double)a[i], (double)x[i], (double)y[i],
                         (double)want);
        }
    }
}

/* The bits of a result do not depend on what is computed with it. */
static void test_places_do_not_matter(void **state)
{
    (void)state;
    for (size_t k = 0; k < NUMBERS(functions); k++) {
        const int64_t n = make_grid(&functions[k]);

        run(&functions[k], n, y);
        for (int64_t i = 0, few; i < n; i += few) {
            const struct tfd_special_lanes s = {
                {a + i, x + i, &third}, {1, 1, 0}, again + i};

            few = i % 23 + 1 < n - i ? i % 23 + 1 : n - i;
            functions[k].lanes(&s, 0, few);
        }
        assert_memory_equal(y, again, (size_t)n * sizeof(*y));
    }
}

static void test_one_argument_for_all(void **state)
{
    (void)state;
    for (size_t k = 0; k < NUMBERS(functions); k++) {
        const struct tfd_special_lanes s = {{a, x, &third}, {0, 1, 0}, again};
        const int64_t n = make_grid(&functions[k]);

        functions[k].lanes(&s, 0, n);
        for (int64_t i = 1; i < n; i++)
            a[i] = a[0];
        run(&functions[k], n, y);
        assert_memory_equal(y, again, (size_t)n * sizeof(*y));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats_are_rounded_doubles),
        cmocka_unit_test(test_rare_arguments),
        cmocka_unit_test(test_places_do_not_matter),
        cmocka_unit_test(test_one_argument_for_all),
    };

    return cmocka_run_group_tests_name("special_lanes", tests, NULL, NULL);
}
