/*
 * test_reduce_floats.c - reduce_floats.c against one element at a time: every
 * length around vectors, steps and blocks, wherever the input begins, rows,
 * columns, slabs and all of it; NaN at every place.
 */
#include "kernels/reduce/reduce_floats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROOM 16384
#define OUTPUTS 64

enum op { SUM, MEAN, PROD, LOSS, MAX, MIN, OPS };

static const char *const names[] = {"Sum",    "Mean", "Prod",
                                    "L2Loss", "Max",  "Min"};

#define ROW(name)                                             \
    {                                                         \
        &tfd_reduce_sum_##name, &tfd_reduce_mean_##name,      \
            &tfd_reduce_prod_##name, &tfd_reduce_loss_##name, \
            &tfd_reduce_max_##name, &tfd_reduce_min_##name    \
    }
static const struct tfd_reducer *const reducers[2][OPS] = {ROW(FLOAT),
                                                           ROW(DOUBLE)};

static _Alignas(64) float floats[ROOM];
static _Alignas(64) double doubles[ROOM];

/* Small numbers, of which every sum is exact; products are of few that are not
 * 1. */
static void fill(enum op op)
{
    uint32_t seed = 7;

    for (int i = 0; i < ROOM; i++) {
        double value;

        seed = seed * 1664525 + 1013904223;
        value = (int)(seed >> 24) % 9 - 4;
        if (op == PROD)
            value = seed >> 26 ? 1 : -2;
        floats[i] = (float)value;
        doubles[i] = value;
    }
}

/* The n elements from x that lie `stride` apart. */
static double reference(enum op op, const double *x, int64_t n, int64_t stride)
{
    static const double first[] = {0, 0, 1, 0, -INFINITY, INFINITY};
    double acc = first[op];

    for (int64_t i = 0; i < n; i++) {
        double v = x[i * stride];

        if (op == SUM || op == MEAN)
            acc += v;
        else if (op == LOSS)
            acc += v * v;
        else if (op == PROD)
            acc *= v;
        else if (isnan(v) || isnan(acc))
            acc = NAN;
        else
            acc = (op == MAX ? v > acc : v < acc) ? v : acc;
    }
    return op == MEAN ? acc / (double)n : op == LOSS ? acc / 2 : acc;
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b;
}

/* Dimension 1 of [outer, n, width], from element `offset` on. */
static void check(enum op op, int wide, int64_t outer, int64_t n, int64_t width,
                  int offset)
{
    const struct tfd_shape shape = {.rank = 3, .dim = {outer, n, width}};
    const bool reduced[TFD_RANK_MAX] = {false, true, false};
    struct tfd_kctx k = {.rt = NULL};
    float y[OUTPUTS];
    double z[OUTPUTS];

    assert_true(outer * n * width + offset <= ROOM);
    assert_true(outer * width <= OUTPUTS);
    if (wide)
        tfd_reduce_view(&k, reducers[1][op], &shape, reduced, sizeof(double),
                        doubles + offset, z);
    else
        tfd_reduce_view(&k, reducers[0][op], &shape, reduced, sizeof(float),
                        floats + offset, y);
    for (int64_t i = 0; i < outer * width; i++) {
        const double *x = doubles + offset + i / width * n * width + i % width;
        double want = reference(op, x, n, width);
        double have = wide ? z[i] : (double)y[i];

        if (!same(have, wide ? want : (double)(float)want))
            fail_msg("%s of [%d, %d, %d] from %d, output %d: %.9g, not %.9g",
                     names[op], (int)outer, (int)n, (int)width, offset, (int)i,
                     have, want);
    }
}

static void check_shapes(enum op op, int wide, int64_t n, int offset)
{
    check(op, wide, 1, n, 1, offset);
    check(op, wide, n < 1100 ? 7 : 3, n, 1, offset);
    check(op, wide, 1, n, 5, offset);
    check(op, wide, 2, n, 3, offset);
    if (n < 120)
        check(op, wide, 2, n, 19, offset);
}

static void test_every_length_and_place(void **state)
{
    (void)state;
    for (int op = 0; op < OPS; op++) {
        fill((enum op)op);
        for (int wide = 0; wide < 2; wide++)
            for (int64_t n = 1; n < 140; n++)
                for (int offset = 0; offset < 5; offset += 1 + (n > 40))
                    check_shapes((enum op)op, wide, n, offset);
    }
}

static void test_lengths_around_blocks(void **state)
{
    static const int64_t lengths[] = {255,  256,  257,  511,  512,  513,
                                      543,  544,  767,  1023, 1024, 1025,
                                      1100, 1300, 1535, 1536, 1600};

    (void)state;
    for (int op = 0; op < OPS; op++) {
        fill((enum op)op);
        for (int wide = 0; wide < 2; wide++)
            for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
                for (int offset = 0; offset < 2; offset++)
                    check_shapes((enum op)op, wide, lengths[i], offset);
    }
}

static void test_a_nan_is_seen_wherever_it_is(void **state)
{
    static const int64_t lengths[] = {1, 2, 3, 7, 8, 15, 16, 17, 40, 64, 71};

    (void)state;
    for (int op = MAX; op <= MIN; op++)
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
            for (int64_t at = 0; at < lengths[i]; at++)
                for (int width = 1; width < 4; width += 2) {
                    fill((enum op)op);
                    doubles[at * width] = at % 2 ? NAN : -NAN;
                    floats[at * width] = (float)doubles[at * width];
                    check((enum op)op, 0, 2, lengths[i], width, 0);
                    check((enum op)op, 1, 2, lengths[i], width, 0);
                }
}

/* Their sum is NaN, but there is none among them. */
static void test_opposite_infinities(void **state)
{
    (void)state;
    for (int op = MAX; op <= MIN; op++) {
        fill((enum op)op);
        doubles[3] = floats[3] = INFINITY;
        doubles[19] = floats[19] = -INFINITY;
        for (int64_t n = 1; n < 80; n++) {
            check((enum op)op, 0, 1, n, 1, 0);
            check((enum op)op, 1, 1, n, 1, 0);
        }
    }
}

/* What a sum of floats may be off by does not grow with its length. */
static void test_long_sums_are_near_the_exact_one(void **state)
{
    const struct tfd_shape shape = {.rank = 1, .dim = {ROOM}};
    const bool reduced[TFD_RANK_MAX] = {true};
    struct tfd_kctx k = {.rt = NULL};
    double exact = 0;
    uint32_t seed = 1;
    float y;

    (void)state;
    for (int i = 0; i < ROOM; i++) {
        seed = seed * 1664525 + 1013904223;
        floats[i] = (float)(seed >> 8) / (1 << 24);
        exact += (double)floats[i];
    }
    tfd_reduce_view(&k, &tfd_reduce_sum_FLOAT, &shape, reduced, sizeof(float),
                    floats, &y);
    assert_true(fabs((double)y - exact) < exact * 1.2e-7);
}

/* No product of some of them is a float, but that of all is. */
static void test_products_go_beyond_floats(void **state)
{
    const struct tfd_shape shape = {.rank = 2, .dim = {1, 600}};
    const bool reduced[TFD_RANK_MAX] = {false, true};
    struct tfd_kctx k = {.rt = NULL};
    float y;

    (void)state;
    for (int i = 0; i < 600; i++)
        floats[i] = i < 300 ? 4 : 0.25f;
    tfd_reduce_view(&k, &tfd_reduce_prod_FLOAT, &shape, reduced, sizeof(float),
                    floats, &y);
    assert_true(same((double)y, 1));
    for (int i = 0; i < 600; i++)
        floats[i] = 0.25f;
    tfd_reduce_view(&k, &tfd_reduce_prod_FLOAT, &shape, reduced, sizeof(float),
                    floats, &y);
    assert_true(same((double)y, 0));
    floats[599] = NAN;
    tfd_reduce_view(&k, &tfd_reduce_prod_FLOAT, &shape, reduced, sizeof(float),
                    floats, &y);
    assert_true(isnan(y));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_length_and_place),
        cmocka_unit_test(test_lengths_around_blocks),
        cmocka_unit_test(test_a_nan_is_seen_wherever_it_is),
        cmocka_unit_test(test_opposite_infinities),
        cmocka_unit_test(test_long_sums_are_near_the_exact_one),
        cmocka_unit_test(test_products_go_beyond_floats),
    };

    return cmocka_run_group_tests_name("reduce floats", tests, NULL, NULL);
}
