/*
 * test_segment_means.c - SegmentMean of whole numbers, one in a row: they are
 * divided towards zero, around those sizes where a double holds no longer all
 * of them, and wrap where their sum does.
 */
#include "tests/support/kernel_bytes.h"

#define ROWS 600
#define SEGMENT_MAX 7 /* rows */

static int64_t value[ROWS], id[ROWS], want[ROWS];

/* Segments of 1 to SEGMENT_MAX rows; every third number is left out. */
static int64_t make_ids(void)
{
    int64_t last = 0;

    for (int i = 0, left = 1; i < ROWS; i++) {
        id[i] = last;
        if (--left == 0) {
            last += last % 3 ? 1 : 2;
            left = 1 + (i * 5) % SEGMENT_MAX;
        }
    }
    return id[ROWS - 1] + 1;
}

static void make_means(bool wide)
{
    memset(want, 0, sizeof(want));
    for (int i = 0, n; i < ROWS; i += n) {
        uint64_t sum = 0;

        for (n = 0; i + n < ROWS && id[i + n] == id[i]; n++)
            sum += (uint64_t)value[i + n];
        want[id[i]] = (wide ? (int64_t)sum : (int32_t)sum) / n;
    }
}

/* Numbers near `far`, on both sides of it and of 0. */
static void check(enum tfd_dtype type, enum tfd_dtype id_type, int64_t far)
{
    static const struct krig_case c = {.op = "SegmentMean", .attrs = ""};
    const bool wide = type == TFD_INT64;
    const struct tfd_shape shape = {1, {make_ids()}};

    for (int i = 0; i < ROWS; i++) {
        value[i] = (int64_t)((uint64_t)far + (uint64_t)(i * 37 % 11 - 5));
        value[i] = i % 5 == 3 ? (int64_t)(0 - (uint64_t)value[i]) : value[i];
        value[i] = wide ? value[i] : (int32_t)value[i];
    }
    make_means(wide);
    for (int mode = 0; mode < KRIG_ALL; mode++) {
        struct tfd_tensor y = krig_ints(type, 1, shape.dim, want);

        krig.in[0] = krig_ints(type, 1, (int64_t[]){ROWS}, value);
        krig.in[1] = krig_ints(id_type, 1, (int64_t[]){ROWS}, id);
        krig.in_count = 2;
        krig_run_well(&c, mode);
        krig_expect_bytes(&shape, tfd_tensor_data(&y));
        krig_end();
        tfd_tensor_unref(&y);
    }
}

static void test_means_of_all_sizes(void **state)
{
    (void)state;
    for (int bit = 0; bit < 64; bit++) {
        check(TFD_INT64, bit % 2 ? TFD_INT32 : TFD_INT64,
              (int64_t)(UINT64_C(1) << bit));
        check(TFD_INT32, bit % 2 ? TFD_INT64 : TFD_INT32,
              (int32_t)(UINT32_C(1) << bit % 32));
    }
}

/* The sum of ones wraps as the count does, so their quotient is 1; where the
 * count wraps to 0 it is 0. */
static void test_counts_that_wrap(void **state)
{
    static const struct krig_case c = {.op = "SegmentMean", .attrs = ""};
    static const enum tfd_dtype types[] = {TFD_INT8, TFD_UINT8};
    static const int counts[] = {127, 128, 255, 256, 257, 511, 512, 513};
    const struct tfd_shape shape = {1, {1}};

    (void)state;
    for (int i = 0; i < ROWS; i++) {
        value[i] = 1;
        id[i] = 0;
    }
    for (size_t i = 0; i < 2 * sizeof(counts) / sizeof(*counts); i++) {
        const enum tfd_dtype type = types[i % 2];
        const int64_t rows = counts[i / 2], mean = rows % 256 != 0;
        struct tfd_tensor y = krig_ints(type, 1, shape.dim, &mean);

        krig.in[0] = krig_ints(type, 1, &rows, value);
        krig.in[1] = krig_ints(TFD_INT32, 1, &rows, id);
        krig.in_count = 2;
        krig_run_well(&c, 0);
        krig_expect_bytes(&shape, tfd_tensor_data(&y));
        krig_end();
        tfd_tensor_unref(&y);
    }
}

static void test_refusals(void **state)
{
    static const struct krig_case cases[] = {
        {"SegmentMean", "", {"int32[0]", "int32[0]"}, {"int32[0]"}},
        {"SegmentMean",
         "",
         {"int64[3] 7 -8 -9", "int32[3] 1 1 1"},
         {"int64[2] 0 -3"}},
        {"SegmentMean",
         "",
         {"int32[3] 1 2 3", "int32[3] 0 2 1"},
         {"!INVALID_ARGUMENT"}},
        {"SegmentMean",
         "",
         {"int64[3] 1 2 3", "int64[3] -1 0 1"},
         {"!INVALID_ARGUMENT"}},
        {"SegmentMean",
         "",
         {"int32[3] 1 2 3", "int64[2] 0 1"},
         {"!INVALID_ARGUMENT"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_means_of_all_sizes),
        cmocka_unit_test(test_counts_that_wrap),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests_name("segment_means", tests, krig_setup,
                                       krig_teardown);
}
