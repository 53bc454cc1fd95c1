/*
 * test_pool_loops.c - windows (pool_loops.c): every number of channels around
 * what is taken at once, every size and stride, against plain loops over small
 * integers.
 */
#include "kernels/conv/pool_loops.h"

#include "common/base/half.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS 4
#define COLUMNS 12
#define CHANNELS_MAX 70
#define MAX (ROWS * COLUMNS * CHANNELS_MAX)

/* One more: what is tested begins at an odd element. */
static float x[MAX + 1], y[MAX + 1], dx[MAX + 1];
static double wide[MAX], out[MAX], sum[MAX];

static struct tfd_window_side side(int64_t in, int size, int stride)
{
    struct tfd_window_side s = {0};

    s.in = in;
    s.size = size;
    s.stride = stride;
    s.dilation = 1;
    s.before = (size - 1) / 2;
    s.out = (in + stride - 1) / stride;
    return s;
}

static struct tfd_pooling_window window(int size, int stride, int channels)
{
    struct tfd_pooling_window p = {.row = side(ROWS, size, stride),
                                   .column = side(COLUMNS, size, stride),
                                   .channels = channels};

    return p;
}

static int first_of(const struct tfd_window_side *s, int at)
{
    int first = (int)(at * s->stride - s->before);

    return first < 0 ? 0 : first;
}

static int end_of(const struct tfd_window_side *s, int at)
{
    int64_t end = at * s->stride - s->before + s->size;

    return (int)(end > s->in ? s->in : end);
}

/* The mean of a window, or its largest element. */
static double result_at(const struct tfd_pooling_window *p, int at, int c,
                        bool largest)
{
    const int row = at / (int)p->column.out, column = at % (int)p->column.out;
    double all = largest ? -FLT_MAX : 0;
    int count = 0;

    for (int i = first_of(&p->row, row); i < end_of(&p->row, row); i++)
        for (int j = first_of(&p->column, column);
             j < end_of(&p->column, column); j++, count++) {
            double v = wide[(i * COLUMNS + j) * p->channels + c];

            all = !largest ? all + v : v > all ? v : all;
        }
    return largest ? all : all / count;
}

/* Each loop as it is for images that caches keep, and for others. */
static void check(int size, int stride, int channels)
{
    struct tfd_pooling_window p = window(size, stride, channels);

    for (int i = 0; i < ROWS * COLUMNS * channels; i++)
        x[i + 1] = (float)(wide[i] = i * 37 % 19 - 9);
    for (int i = 0; i < 4; i++) {
        const bool largest = i % 2;
        enum tfd_pool_loop loop = largest ? TFD_POOL_MAX : TFD_POOL_MEAN;

        p.ahead = i / 2;
        memset(y, 0, sizeof(y));
        memset(out, 0, sizeof(out));
        p.in = x + 1;
        p.out = y + 1;
        tfd_pool_loop(loop, TFD_FLOAT)(&p, 0, p.row.out);
        p.in = wide;
        p.out = out;
        tfd_pool_loop(loop, TFD_DOUBLE)(&p, 0, p.row.out);
        for (int j = 0; j < p.row.out * p.column.out * channels; j++) {
            double want = result_at(&p, j / channels, j % channels, largest);

            assert_true(y[j + 1] == (float)want);
            assert_true(out[j] == want);
        }
    }
}

/* What a window gives each of its elements, added up in `sum`. */
static void spread(const struct tfd_pooling_window *p, int at)
{
    const int row = at / (int)p->column.out, column = at % (int)p->column.out;
    const int rows = end_of(&p->row, row) - first_of(&p->row, row);
    const int columns =
        end_of(&p->column, column) - first_of(&p->column, column);

    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            for (int c = 0; c < p->channels; c++)
                sum[((first_of(&p->row, row) + i) * COLUMNS +
                     first_of(&p->column, column) + j) *
                        p->channels +
                    c] += y[at * p->channels + c + 1] / (float)(rows * columns);
}

/* By rows of dx, from the last to the first: each stands for itself. */
static void check_gradient(int size, int stride, int channels)
{
    struct tfd_pooling_window p = window(size, stride, channels);
    const int pixels = (int)(p.row.out * p.column.out);

    memset(sum, 0, sizeof(sum));
    for (int i = 0; i < pixels * channels; i++)
        y[i + 1] = (float)(i * 37 % 19 - 9);
    for (int i = 0; i < pixels; i++)
        spread(&p, i);
    p.in = y + 1;
    p.out = dx + 1;
    for (int row = ROWS - 1; row >= 0; row--)
        tfd_pool_loop(TFD_POOL_MEAN_GRAD, TFD_FLOAT)(&p, row, row + 1);
    for (int i = 0; i < ROWS * COLUMNS * channels; i++)
        assert_true(fabs(dx[i + 1] - sum[i]) < 1e-4);
}

/* The place of a window's first largest element gets what the window has. */
static int place_of(const struct tfd_pooling_window *p, int at, int c)
{
    const int row = at / (int)p->column.out, column = at % (int)p->column.out;
    int best = -1;

    for (int i = first_of(&p->row, row); i < end_of(&p->row, row); i++)
        for (int j = first_of(&p->column, column);
             j < end_of(&p->column, column); j++) {
            int here = (i * COLUMNS + j) * (int)p->channels + c;

            if (best < 0 || x[here + 1] > x[best + 1])
                best = here;
        }
    return best;
}

static void check_max_gradient(int size, int stride, int channels, int before)
{
    struct tfd_pooling_window p = window(size, stride, channels);
    const int all = ROWS * COLUMNS * channels;
    int results;

    p.row.before = p.column.before = before;
    results = (int)(p.row.out * p.column.out) * channels;
    memset(sum, 0, sizeof(sum));
    for (int i = 0; i < all; i++) {
        x[i + 1] = (float)(i * 37 % 19 - 9);
        dx[i + 1] = 77;
    }
    for (int i = 0; i < results; i++) {
        int place = place_of(&p, i / channels, i % channels);

        y[i + 1] = (float)(i * 41 % 23 - 11);
        if (place >= 0)
            sum[place] += y[i + 1];
    }
    p.x = x + 1;
    p.in = y + 1;
    p.out = dx + 1;
    tfd_pool_loop(TFD_POOL_MAX_GRAD, TFD_FLOAT)(&p, 0, 1);
    for (int i = 0; i < all; i++)
        assert_true(dx[i + 1] == sum[i]);
}

static void test_gradients_of_maxima(void **state)
{
    (void)state;
    for (int channels = 1; channels <= 40; channels++)
        for (int size = 1; size <= 4; size++)
            for (int stride = 1; stride <= 4; stride++) {
                check_max_gradient(size, stride, channels, 0);
                check_max_gradient(size, stride, channels, (size - 1) / 2);
            }
}

static void test_every_number_of_channels(void **state)
{
    (void)state;
    for (int channels = 1; channels <= CHANNELS_MAX; channels++)
        for (int stride = 1; stride <= 3; stride++) {
            check(3, stride, channels);
            check_gradient(3, stride, channels);
        }
}

/* 144 taps are more than are written down. */
static void test_every_size_of_a_window(void **state)
{
    (void)state;
    for (int size = 1; size <= 12; size++)
        for (int stride = 1; stride <= 4; stride++) {
            check(size, stride, 1);
            check(size, stride, 5);
            check(size, stride, 34);
            check(size, stride, 70); /* runs of more than 512 elements */
            check_gradient(size, stride, 1);
            check_gradient(size, stride, 34);
        }
}

/* ---- Half and bfloat16 --------------------------------------------------- */

static uint16_t narrow_in[MAX + 1], narrow_out[MAX + 1];

static uint16_t narrow(enum tfd_dtype t, float v)
{
    return t == TFD_HALF ? tfd_half_from_float(v) : tfd_bfloat16_from_float(v);
}

static float widened(enum tfd_dtype t, uint16_t v)
{
    return t == TFD_HALF ? tfd_half_to_float(v) : tfd_bfloat16_to_float(v);
}

/* A unit of the last of 11 bits, or of 8. */
static void check_near(enum tfd_dtype t, uint16_t have, double want)
{
    const double value = (double)widened(t, have);
    const double part = t == TFD_HALF ? 1024 : 128;

    if (!(fabs(value - want) <= fabs(want) / part + 1e-6))
        fail_msg("%g, not %g", value, want);
}

static void check_narrow(enum tfd_dtype t, int size, int stride, int channels)
{
    struct tfd_pooling_window p = window(size, stride, channels);
    const int pixels = (int)(p.row.out * p.column.out);

    if (!tfd_pool_halves(TFD_POOL_MAX, t, &p)) { /* a row of few elements */
        assert_true(p.column.out * channels < 8);
        return;
    }
    p.in = narrow_in + 1;
    p.out = narrow_out + 1;
    for (int i = 0; i < ROWS * COLUMNS * channels; i++) {
        wide[i] = i * 37 % 19 - 9;
        narrow_in[i + 1] = narrow(t, (float)wide[i]);
    }
    for (int i = 0; i < 4; i++) {
        const bool largest = i % 2;

        p.ahead = i / 2;
        memset(narrow_out, 0, sizeof(narrow_out));
        tfd_pool_halves(largest ? TFD_POOL_MAX : TFD_POOL_MEAN, t,
                        &p)(&p, 0, p.row.out);
        for (int j = 0; j < pixels * channels; j++)
            check_near(t, narrow_out[j + 1],
                       result_at(&p, j / channels, j % channels, largest));
    }
    memset(sum, 0, sizeof(sum));
    for (int i = 0; i < pixels * channels; i++) /* of one sign */
        y[i + 1] =
            widened(t, narrow_in[i + 1] = narrow(t, (float)(i * 37 % 19)));
    for (int i = 0; i < pixels; i++)
        spread(&p, i);
    tfd_pool_halves(TFD_POOL_MEAN_GRAD, t, &p)(&p, 0, ROWS);
    for (int i = 0; i < ROWS * COLUMNS * channels; i++)
        check_near(t, narrow_out[i + 1], sum[i]);
}

static void check_halves(int size, int stride, int channels)
{
    check_narrow(TFD_BFLOAT16, size, stride, channels);
    check_narrow(TFD_HALF, size, stride, channels);
}

/* A maximum begins with the lowest number that the type has. */
static void test_halves_of_infinities(void **state)
{
    static const enum tfd_dtype types[] = {TFD_HALF, TFD_BFLOAT16};
    static const uint16_t infinity[] = {0xfc00, 0xff80}; /* below 0 */
    struct tfd_pooling_window p = window(3, 2, 34);

    (void)state;
    p.in = narrow_in;
    p.out = narrow_out;
    for (int t = 0; t < 2; t++) {
        if (!tfd_pool_halves(TFD_POOL_MAX, types[t], &p))
            skip();
        for (int i = 0; i < ROWS * COLUMNS * 34; i++)
            narrow_in[i] = infinity[t];
        tfd_pool_halves(TFD_POOL_MAX, types[t], &p)(&p, 0, p.row.out);
        for (int i = 0; i < (int)(p.row.out * p.column.out) * 34; i++)
            assert_int_equal(narrow_out[i], infinity[t] - 1);
    }
}

static void test_halves_of_every_window(void **state)
{
    struct tfd_pooling_window p = window(3, 1, 1);

    (void)state;
    if (!tfd_pool_halves(TFD_POOL_MAX, TFD_BFLOAT16, &p)) {
        print_message("no AVX512_BF16\n");
        skip();
    }
    for (int channels = 1; channels <= CHANNELS_MAX; channels++)
        for (int stride = 1; stride <= 3; stride++)
            check_halves(3, stride, channels);
    for (int size = 1; size <= 9; size++)
        for (int stride = 1; stride <= 4; stride++)
            check_halves(size, stride, 34);
}

/* Gradients of maxima, and more taps than are written down. */
static void test_what_halves_have_no_loop_for(void **state)
{
    struct tfd_pooling_window p = window(3, 1, 8);

    (void)state;
    assert_null(tfd_pool_halves(TFD_POOL_MAX_GRAD, TFD_HALF, &p));
    assert_null(tfd_pool_halves(TFD_POOL_MAX, TFD_FLOAT, &p));
    p = window(12, 1, 8);
    assert_null(tfd_pool_halves(TFD_POOL_MEAN, TFD_HALF, &p));
}

/* A maximum leaves NaN out, and what is nothing but NaN is the lowest. */
static void test_no_number_is_no_maximum(void **state)
{
    struct tfd_pooling_window p = window(2, 2, 1);

    (void)state;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = i % 2 ? NAN : (float)-i;
    for (int i = 0; i < 2; i++)
        x[i] = x[COLUMNS + i] = NAN;
    p.in = x;
    p.out = y;
    tfd_pool_loop(TFD_POOL_MAX, TFD_FLOAT)(&p, 0, p.row.out);
    assert_true(y[0] == -FLT_MAX);
    assert_true(y[1] == -2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_number_of_channels),
        cmocka_unit_test(test_every_size_of_a_window),
        cmocka_unit_test(test_gradients_of_maxima),
        cmocka_unit_test(test_halves_of_infinities),
        cmocka_unit_test(test_halves_of_every_window),
        cmocka_unit_test(test_what_halves_have_no_loop_for),
        cmocka_unit_test(test_no_number_is_no_maximum),
    };

    return cmocka_run_group_tests_name("pool loops", tests, NULL, NULL);
}
