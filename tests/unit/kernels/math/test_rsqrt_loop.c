/*
 * test_rsqrt_loop.c - the loop of Rsqrt beside the function of one element, to
 * the bit: rare elements in any block, in place, at any length and place.
 */
#include "kernels/core/elementwise.h"
#include "kernels/core/registry.h"
#include "kernels/vector/vector_functions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ROOM 70000 /* more than one block that lies near */

static float x[ROOM], y[ROOM];

static const float rare[] = {0,        -0.0f,     -1,        NAN,
                             INFINITY, -INFINITY, 0x1p-149f, 0x1p-127f};

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
        const float want = inside ? tfd_rsqrt_any(x[i]) : x[i];

        if (memcmp(&y[i], &want, sizeof(want)) != 0 &&
            !(y[i] != y[i] && want != want))
            fail_msg("%d of %d from %d: rsqrt of %a is %a, not %a", i, n, begin,
                     (double)x[i], (double)y[i], (double)want);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths_and_places),
        cmocka_unit_test(test_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
