/*
 * test_reduce_ints.c - reduce_ints.c against one element at a time: every
 * length around vectors, wherever the input begins, rows, columns, slabs and
 * all of it; sums and products that wrap, means that do not, and the least and
 * largest numbers of a type.
 */
#include "kernels/reduce/reduce_ints.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROOM 16384
#define OUTPUTS 64

enum op { SUM, MEAN, PROD, MAX, MIN, OPS };

static const char *const names[] = {"Sum", "Mean", "Prod", "Max", "Min"};

#define ROW(name)                                            \
    {                                                        \
        &tfd_reduce_sum_##name, &tfd_reduce_mean_##name,     \
            &tfd_reduce_prod_##name, &tfd_reduce_max_##name, \
            &tfd_reduce_min_##name                           \
    }
static const struct tfd_reducer *const reducers[2][OPS] = {ROW(INT32),
                                                           ROW(INT64)};

static _Alignas(64) int32_t ints[ROOM];
static _Alignas(64) int64_t longs[ROOM];

static uint64_t drawn(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 32;
}

/* All bits of either type, the least and the largest among them. */
static void fill(void)
{
    uint64_t seed = 7;

    for (int i = 0; i < ROOM; i++) {
        ints[i] = (int32_t)drawn(&seed);
        longs[i] = (int64_t)(drawn(&seed) << 32 | drawn(&seed));
        if (i % 97 == 5)
            ints[i] = i % 2 ? INT32_MAX : INT32_MIN;
        if (i % 89 == 5)
            longs[i] = i % 2 ? INT64_MAX : INT64_MIN;
    }
}

static int64_t at(bool wide, int64_t i)
{
    return wide ? longs[i] : ints[i];
}

/* The n elements from `from` that lie `stride` apart; sums in 64 bits, whose
 * low ones are those of a narrower sum. */
static int64_t reference(enum op op, bool wide, int64_t from, int64_t n,
                         int64_t stride)
{
    uint64_t sum = 0, product = 1;
    int64_t most = at(wide, from), least = most;

    for (int64_t i = 0; i < n; i++) {
        const int64_t v = at(wide, from + i * stride);

        sum += (uint64_t)v;
        product *= (uint64_t)v;
        most = v > most ? v : most;
        least = v < least ? v : least;
    }
    return op == SUM    ? (int64_t)sum
           : op == MEAN ? (int64_t)sum / n
           : op == PROD ? (int64_t)product
           : op == MAX  ? most
                        : least;
}

/* Dimension 1 of [outer, n, width], from element `offset` on. */
static void check(enum op op, bool wide, int64_t outer, int64_t n,
                  int64_t width, int offset)
{
    const struct tfd_shape shape = {.rank = 3, .dim = {outer, n, width}};
    const bool reduced[TFD_RANK_MAX] = {false, true, false};
    struct tfd_kctx k = {.rt = NULL};
    int32_t y[OUTPUTS];
    int64_t z[OUTPUTS];

    assert_true(outer * n * width + offset <= ROOM);
    assert_true(outer * width <= OUTPUTS);
    if (wide)
        tfd_reduce_view(&k, reducers[1][op], &shape, reduced, sizeof(*longs),
                        longs + offset, z);
    else
        tfd_reduce_view(&k, reducers[0][op], &shape, reduced, sizeof(*ints),
                        ints + offset, y);
    for (int64_t i = 0; i < outer * width; i++) {
        const int64_t want = reference(
            op, wide, offset + i / width * n * width + i % width, n, width);
        const int64_t have = wide ? z[i] : y[i];

        if (have != (wide ? want : (int32_t)want))
            fail_msg("%s of [%d, %d, %d] from %d, output %d: %lld, not %lld",
                     names[op], (int)outer, (int)n, (int)width, offset, (int)i,
                     (long long)have, (long long)want);
    }
}

static void check_shapes(enum op op, bool wide, int64_t n, int offset)
{
    check(op, wide, 1, n, 1, offset);
    check(op, wide, 3, n, 1, offset);
    check(op, wide, 1, n, 5, offset);
    check(op, wide, 2, n, 3, offset);
    if (n < 120)
        check(op, wide, 2, n, 19, offset);
}

static void test_every_length_and_place(void **state)
{
    (void)state;
    fill();
    for (int op = 0; op < OPS; op++)
        for (int wide = 0; wide < 2; wide++)
            for (int64_t n = 1; n < 140; n++)
                for (int offset = 0; offset < 5; offset += 1 + (n > 40))
                    check_shapes((enum op)op, wide, n, offset);
}

static void test_many_short_rows(void **state)
{
    (void)state;
    fill();
    for (int op = 0; op < OPS; op++)
        for (int wide = 0; wide < 2; wide++)
            for (int64_t n = 1; n < 9; n++)
                for (int64_t rows = 1; rows <= OUTPUTS; rows++)
                    check((enum op)op, wide, rows, n, 1, (int)(rows % 3));
}

static void test_long_ones(void **state)
{
    static const int64_t lengths[] = {255, 256,  257,  287,  288, 511,
                                      512, 1023, 1025, 1600, 5000};

    (void)state;
    fill();
    for (int op = 0; op < OPS; op++)
        for (int wide = 0; wide < 2; wide++)
            for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
                check((enum op)op, wide, 1, lengths[i], 1, 1);
                check((enum op)op, wide, 3, lengths[i], 1, 2);
                check((enum op)op, wide, 1, lengths[i], 3, 3);
            }
}

/* A sum of so many that 32 bits are too few; its mean is exact. */
static void test_a_mean_does_not_wrap(void **state)
{
    (void)state;
    for (int i = 0; i < ROOM; i++)
        ints[i] = INT32_MAX - i % 2;
    check(MEAN, false, 1, 10000, 1, 0);
    check(MEAN, false, 4, 1000, 1, 1);
    check(MEAN, false, 1, 1000, 7, 1);
    check(MEAN, false, 2, 1000, 7, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_length_and_place),
        cmocka_unit_test(test_many_short_rows),
        cmocka_unit_test(test_long_ones),
        cmocka_unit_test(test_a_mean_does_not_wrap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
