/*
 * test_roll.c - Roll against a plain loop: small tensors, and those that no
 * cache keeps, with rows of any length.
 */
#include "tests/support/kernel_rig.h"

struct plain {
    int64_t dim[3], shift[3];
};

/* Where element i of the result comes from. */
static int64_t source_of(const struct plain *p, int64_t i)
{
    int64_t source = 0, stride = 1;

    for (int d = 2; d >= 0; d--) {
        const int64_t size = p->dim[d];
        const int64_t at = (i % size - p->shift[d] % size + size) % size;

        source += at * stride;
        stride *= size;
        i /= size;
    }
    return source;
}

static void check(const struct plain *p, int mode)
{
    static const struct krig_case c = {.op = "Roll", .attrs = ""};
    const int64_t n = p->dim[0] * p->dim[1] * p->dim[2];
    char text[128];
    const double *y;

    krig.in_count = 3;
    sprintf(text, "double[%d,%d,%d] 1 2 3 4 5 6 7 8 9 10 11 12 13",
            (int)p->dim[0], (int)p->dim[1], (int)p->dim[2]);
    krig.in[0] = krig_tensor(text);
    sprintf(text, "int64[4] %d %d %d 0", (int)p->shift[2], (int)p->shift[0],
            (int)p->shift[1]);
    krig.in[1] = krig_tensor(text);
    krig.in[2] = krig_tensor("int32[4] -1 0 1 0");
    assert_int_equal(krig_run(&c, mode), TFD_OK);
    y = tfd_tensor_data(&krig.out[0]);
    for (int64_t i = 0; i < n; i++)
        if (y[i] != (double)(source_of(p, i) % 13 + 1))
            fail_msg("[%d,%d,%d], element %d: %g", (int)p->dim[0],
                     (int)p->dim[1], (int)p->dim[2], (int)i, y[i]);
    krig_end();
}

static void test_small_ones(void **state)
{
    (void)state;
    for (int shift = -7; shift <= 7; shift++)
        for (int mode = 0; mode <= KRIG_PIECES; mode++)
            check(&(struct plain){{5, 3, 4}, {shift, 1, -shift}}, mode);
}

static void test_large_ones(void **state)
{
    static const struct plain cases[] = {
        {{41, 600, 64}, {3, 9, 5}},   {{20000, 1, 67}, {-9, 0, 60}},
        {{40, 700, 61}, {0, 699, 1}}, {{3000, 2, 303}, {1, 1, 301}},
        {{700, 4, 513}, {0, 0, 256}}, {{4000, 331, 1}, {5, 17, 0}},
        {{400000, 3, 1}, {0, 2, 0}},  {{2, 700001, 1}, {1, 1, 0}},
        {{1500, 7, 129}, {4, 3, 0}},  {{3000, 1, 511}, {0, 0, -1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int mode = 0; mode <= KRIG_PIECES; mode += KRIG_PIECES)
            check(&cases[i], mode);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_ones),
        cmocka_unit_test(test_large_ones),
    };

    return cmocka_run_group_tests_name("roll", tests, krig_setup,
                                       krig_teardown);
}
