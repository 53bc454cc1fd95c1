/*
 * test_xent_halves.c - xent_halves.c against sums of doubles: rows of every
 * width around a register and a block, operands that are repeated, results over
 * the logits, addresses that are aligned to nothing, and numbers that are none.
 */
#include "kernels/nn/xent/xent_rows.h"
#include "kernels/vector/narrow.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define WIDEST 2100 /* classes */
#define ELEMENTS (70 * 64)

struct example {
    enum tfd_dtype t;
    int64_t rows, size;
    int x_rows, x_step, labels_rows, labels_step; /* 0: one for all */
    bool sparse, in_place;
};

/* Logits and labels as they lie, as floats, and the results. */
static uint16_t x[ELEMENTS + 1], labels[ELEMENTS + 1], loss[72];
static uint16_t backprop[ELEMENTS + 2];
static float x_wide[ELEMENTS], labels_wide[ELEMENTS];
static int32_t classes[72];

static void draw(const struct example *e)
{
    for (int i = 0; i < ELEMENTS; i++) {
        x_wide[i] = (float)((i * 7919 + 13) % 1009) / 100 - 5;
        labels_wide[i] = (float)(i * 31 % 17) / 64;
    }
    if (e->size > 2 && e->x_step && e->x_rows)
        x_wide[e->size + 1] = -INFINITY;
    tfd_narrow_round(e->t, x_wide, x + 1, ELEMENTS);
    tfd_narrow_widen(e->t, x + 1, x_wide, ELEMENTS);
    tfd_narrow_round(e->t, labels_wide, labels + 1, ELEMENTS);
    tfd_narrow_widen(e->t, labels + 1, labels_wide, ELEMENTS);
    for (int r = 0; r < 72; r++)
        classes[r] = (int32_t)(r * 5 % e->size);
}

static double logit(const struct example *e, int64_t r, int64_t i)
{
    const int64_t width = e->x_step ? e->size : 1;

    return (double)x_wide[r * e->x_rows * width + i * e->x_step];
}

static double label(const struct example *e, int64_t r, int64_t i)
{
    const int64_t width = e->labels_step ? e->size : 1;

    if (e->sparse)
        return classes[r] == i;
    return (double)labels_wide[r * e->labels_rows * width + i * e->labels_step];
}

static void check_near(const struct example *e, uint16_t bits, double want,
                       double allowed, int64_t r, int64_t i)
{
    float have;

    tfd_narrow_widen(e->t, &bits, &have, 1);
    if (isnan(want) ? !isnan(have) : !(fabs((double)have - want) <= allowed))
        fail_msg("[%lld,%lld] of [%lld,%lld] is %g, not %g", (long long)r,
                 (long long)i, (long long)e->rows, (long long)e->size,
                 (double)have, want);
}

/* Each result is rounded once, and so is the exponential that it is made of. */
static void check_row(const struct example *e, const uint16_t *y, int64_t r)
{
    const double unit = e->t == TFD_HALF ? 0x1p-11 : 0x1p-8;
    double max = -HUGE_VAL, sum = 0, want = 0;

    for (int64_t i = 0; i < e->size; i++)
        max = logit(e, r, i) > max ? logit(e, r, i) : max;
    for (int64_t i = 0; i < e->size; i++)
        sum += exp(logit(e, r, i) - max);
    for (int64_t i = 0; i < e->size; i++) {
        const double p = exp(logit(e, r, i) - max) / sum;
        const double l = label(e, r, i);

        /* 0 times infinity is no number, as in TensorFlow */
        want +=
            e->sparse && l == 0 ? 0 : l * (log(sum) - (logit(e, r, i) - max));
        check_near(e, y[r * e->size + i], p - l,
                   1.1 * unit * (p + fabs(p - l)) + 0x1p-23, r, i);
    }
    if (!isinf(want))
        check_near(e, loss[r], want, 1.1 * unit * want + 1e-4, r, -1);
}

static void check(const struct example *e)
{
    uint16_t *y = e->in_place ? x + 1 : backprop + 1;
    struct tfd_xent_rows rows = {
        .x = x + 1,
        .labels = e->sparse ? (const void *)classes : labels + 1,
        .loss = loss,
        .backprop = y,
        .size = e->size,
        .x_row = e->x_rows * (e->x_step ? e->size : 1),
        .x_step = e->x_step,
        .labels_row = e->labels_rows * (e->labels_step ? e->size : 1),
        .labels_step = e->labels_step,
        .dtype = e->t};

    draw(e);
    backprop[e->rows * e->size + 1] = loss[e->rows] = 0x1234;
    if (e->sparse)
        tfd_xent_sparse_halves(&rows, 0, e->rows);
    else
        tfd_xent_dense_halves(&rows, 0, e->rows);
    assert_int_equal(backprop[e->rows * e->size + 1], 0x1234);
    assert_int_equal(loss[e->rows], 0x1234);
    for (int64_t r = 0; r < e->rows; r++)
        check_row(e, y, r);
}

static void check_sizes(struct example e)
{
    static const int64_t sizes[] = {1,    2,    7,    8,    15,   16,
                                    17,   31,   32,   33,   64,   100,
                                    1000, 1023, 1024, 1025, 2048, WIDEST};
    static const int64_t heights[] = {1, 2, 31, 33, 70};

    for (size_t i = 0; i < TFD_COUNT(sizes); i++)
        for (size_t j = 0; j < TFD_COUNT(heights); j++) {
            e.size = sizes[i];
            e.rows = heights[j];
            if (e.rows * e.size > ELEMENTS)
                continue;
            e.t = TFD_HALF;
            check(&e);
            e.t = TFD_BFLOAT16;
            check(&e);
        }
}

static void test_distributions(void **state)
{
    (void)state;
    check_sizes((struct example){
        .x_rows = 1, .x_step = 1, .labels_rows = 1, .labels_step = 1});
    check_sizes((struct example){.x_rows = 1,
                                 .x_step = 1,
                                 .labels_rows = 1,
                                 .labels_step = 1,
                                 .in_place = true});
}

static void test_repeated(void **state)
{
    (void)state;
    for (int i = 1; i < 15; i++)
        check_sizes((struct example){.x_rows = i & 1,
                                     .x_step = i >> 1 & 1,
                                     .labels_rows = i >> 2 & 1,
                                     .labels_step = i >> 3 & 1});
}

static void test_classes(void **state)
{
    (void)state;
    check_sizes((struct example){.x_rows = 1, .x_step = 1, .sparse = true});
    check_sizes((struct example){
        .x_rows = 1, .x_step = 1, .sparse = true, .in_place = true});
}

/* A number that is none makes its own row so, and no other. */
static void test_nan(void **state)
{
    static uint16_t many[3 * WIDEST], y[3 * WIDEST];
    static const int64_t at[] = {0, 1, 16, 1023, 1024, WIDEST - 1};
    struct tfd_xent_rows rows = {.x = many,
                                 .labels = classes,
                                 .loss = loss,
                                 .backprop = y,
                                 .size = WIDEST,
                                 .x_row = WIDEST,
                                 .x_step = 1};

    (void)state;
    for (size_t k = 0; k < 2 * TFD_COUNT(at); k++) {
        const uint16_t nan = k % 2 ? 0x7e00 : 0x7fc0;

        rows.dtype = k % 2 ? TFD_HALF : TFD_BFLOAT16;
        memset(many, 0, sizeof(many));
        many[WIDEST + at[k / 2]] = nan;
        tfd_xent_sparse_halves(&rows, 0, 3);
        for (int64_t i = 0; i < 3 * WIDEST; i++)
            if ((i / WIDEST == 1) != ((y[i] & 0x7fff) > 0x7f80 ||
                                      (k % 2 && (y[i] & 0x7fff) > 0x7c00)))
                fail_msg("%lld is %x", (long long)i, y[i]);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_repeated),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_nan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
