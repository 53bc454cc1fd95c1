/*
 * test_rsqrt_loop.c - the loop of Rsqrt beside the square root of a double:
 * rare elements in any block, in place, at any length and place, and numbers of
 * every exponent.
 */
#include "kernels/core/elementwise.h"
#include "kernels/core/registry.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ROOM 70000 /* more than one block that lies near */

#define FURTHEST 1.33 /* units of the last place */

static float x[ROOM], y[ROOM];

static const float rare[] = {0,        -0.0f,     -1,        NAN,
                             INFINITY, -INFINITY, 0x1p-149f, 0x1p-127f};

/* Units of the last place between got and 1 / sqrt(v); 0 where both are the
 * same infinity, or NaN. */
static double distance(float v, float got)
{
    const double want = 1 / sqrt((double)v);

    if ((double)got == want || (got != got && want != want))
        return 0;
    return fabs((double)got - want) / ldexp(1, ilogb(want) - 23);
}

/* Every apart-th element is rare; 0: none. */
static void check_row(int begin, int n, int apart)
{
    struct tfd_row row = {.a = y, .y = y, .a_step = 1};

    for (int i = 0; i < ROOM; i++)
        x[i] = apart && i % apart == apart - 1 ? rare[i / apart % 8]
                                               : 1e-3f * (float)(i + 1);
    memcpy(y, x, sizeof(y));
    tfd_registry_loop("Rsqrt", TFD_FLOAT)(&row, begin, begin + n);
    for (int i = 0; i < ROOM; i++) {
        const bool inside = i >= begin && i < begin + n;

        if (inside ? distance(x[i], y[i]) > FURTHEST
                   : memcmp(&y[i], &x[i], sizeof(y[i])) != 0)
            fail_msg("%d of %d from %d: rsqrt of %a is %a", i, n, begin,
                     (double)x[i], (double)y[i]);
    }
}

static void test_lengths_and_places(void **state)
{
    (void)state;
    for (int n = 0; n <= 70; n++)
        check_row(n % 5, n, n % 3 ? 11 : 0);
}

static void test_blocks(void **state)
{
    (void)state;
    check_row(0, ROOM, 0);
    check_row(0, ROOM, 1);
    check_row(1, ROOM - 2, 1500);
    check_row(3, 5000, 1500);
    check_row(1, 64000, 30000);
}

/* From the least subnormal number to infinity. */
static void test_numbers_of_every_exponent(void **state)
{
    struct tfd_row row = {.a = x, .y = y, .a_step = 1};
    uint32_t bits = 1;

    (void)state;
    while (bits <= 0x7f800000u) {
        int n = 0;

        for (; n < ROOM && bits <= 0x7f800000u; bits += 1499)
            memcpy(&x[n++], &bits, sizeof(bits));
        tfd_registry_loop("Rsqrt", TFD_FLOAT)(&row, 0, n);
        for (int i = 0; i < n; i++)
            if (distance(x[i], y[i]) > FURTHEST)
                fail_msg("rsqrt of %a is %a, %.3f units away", (double)x[i],
                         (double)y[i], distance(x[i], y[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths_and_places),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_numbers_of_every_exponent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
