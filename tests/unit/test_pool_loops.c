/*
 * test_pool_loops.c - means of windows (pool_loops.c): every number of channels
 * around what is added up at once, against plain loops over small integers.
 */
#include "kernels/pool_loops.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS 4
#define COLUMNS 5
#define CHANNELS_MAX 70

static float x[ROWS * COLUMNS * CHANNELS_MAX], y[ROWS * COLUMNS * CHANNELS_MAX];
static double wide[ROWS * COLUMNS * CHANNELS_MAX];
static double out[ROWS * COLUMNS * CHANNELS_MAX];

static struct tfd_window_side side(int64_t in, int64_t size)
{
    struct tfd_window_side s = {0};

    s.in = s.out = in;
    s.size = size;
    s.stride = s.dilation = 1;
    s.before = (size - 1) / 2;
    return s;
}

/* The mean of what is inside around a pixel. */
static double mean_at(int size, int row, int column, int channels, int c)
{
    int before = (size - 1) / 2, count = 0;
    double sum = 0;

    for (int i = row - before; i < row - before + size; i++)
        for (int j = column - before; j < column - before + size; j++)
            if (i >= 0 && i < ROWS && j >= 0 && j < COLUMNS) {
                sum += wide[(i * COLUMNS + j) * channels + c];
                count++;
            }
    return sum / count;
}

static void check(int size, int channels)
{
    struct tfd_pool_window p = {.row = side(ROWS, size),
                                .column = side(COLUMNS, size),
                                .channels = channels,
                                .in = x,
                                .out = y};

    for (int i = 0; i < ROWS * COLUMNS * channels; i++)
        x[i] = (float)(wide[i] = i * 37 % 19 - 9);
    tfd_pool_loop(TFD_POOL_MEAN, TFD_FLOAT)(&p, 0, ROWS);
    p.in = wide;
    p.out = out;
    tfd_pool_loop(TFD_POOL_MEAN, TFD_DOUBLE)(&p, 0, ROWS);
    for (int i = 0; i < ROWS * COLUMNS * channels; i++) {
        int pixel = i / channels;
        double want = mean_at(size, pixel / COLUMNS, pixel % COLUMNS, channels,
                              i % channels);

        assert_true(y[i] == (float)want);
        assert_true(out[i] == want);
    }
}

static void test_every_number_of_channels(void **state)
{
    (void)state;
    for (int channels = 1; channels <= CHANNELS_MAX; channels++)
        check(3, channels);
}

/* 144 taps are more than are written down. */
static void test_every_size_of_a_window(void **state)
{
    (void)state;
    for (int size = 1; size <= 12; size++) {
        check(size, 5);
        check(size, 34);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_number_of_channels),
        cmocka_unit_test(test_every_size_of_a_window),
    };

    return cmocka_run_group_tests_name("pool loops", tests, NULL, NULL);
}
