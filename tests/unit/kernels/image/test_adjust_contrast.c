/*
 * test_adjust_contrast.c - AdjustContrastv2 against plain loops, to the bit:
 * every small number of pixels, few and many channels, any alignment.
 */
#include "tests/support/kernel_rig.h"

#define ROOM 40000

static float x[ROOM], sum[ROOM], want[ROOM];

/* Halves are added to halves. */
static void sum_plainly(int pixels, int channels)
{
    memcpy(sum, x, sizeof(*x) * (size_t)(pixels * channels));
    for (int left = pixels; left > 1; left -= left / 2)
        for (int i = 0; i < left / 2 * channels; i++)
            sum[i] += sum[i + (left - left / 2) * channels];
}

static void adjust_plainly(int pixels, int channels, float by)
{
    const float part = 1.0f / (float)pixels;

    sum_plainly(pixels, channels);
    for (int i = 0; i < pixels * channels; i++) {
        const float mean = sum[i % channels] * part;

        want[i] = mean + (x[i] - mean) * by;
    }
}

static void check(int pixels, int channels)
{
    static const struct krig_case c = {.op = "AdjustContrastv2", .attrs = ""};
    const int64_t size = (int64_t)pixels * channels;
    char text[128];
    const float *y;

    assert_true(size <= ROOM);
    for (int i = 0; i < size; i++)
        x[i] = (float)sin(i * 12.9898 + pixels);
    adjust_plainly(pixels, channels, 0.3f);
    sprintf(text, "float[2,%d,1,%d] 0", pixels, channels);
    krig.in_count = 2;
    krig.in[0] = krig_tensor(text);
    krig.in[1] = krig_tensor("float[] 0.3");
    for (int image = 0; image < 2; image++)
        memcpy((float *)tfd_tensor_data(&krig.in[0]) + image * size, x,
               sizeof(*x) * (size_t)size);
    assert_int_equal(krig_run(&c, KRIG_SHARED), TFD_OK);
    y = tfd_tensor_data(&krig.out[0]);
    for (int64_t i = 0; i < 2 * size; i++)
        if (y[i] != want[i % size])
            fail_msg("%d pixels of %d, element %d: %.9g, not %.9g", pixels,
                     channels, (int)i, (double)y[i], (double)want[i % size]);
    krig_end();
}

static void test_all_is_as_plain_loops_have_it(void **state)
{
    static const int channels[] = {1, 2, 3, 4, 7, 15, 16, 17, 33, 255, 300};

    (void)state;
    for (size_t i = 0; i < sizeof(channels) / sizeof(channels[0]); i++)
        for (int pixels = 1; pixels <= 70; pixels++)
            check(pixels, channels[i]);
    for (int pixels = 4090; pixels <= 4100; pixels++)
        check(pixels, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_is_as_plain_loops_have_it),
    };

    return cmocka_run_group_tests_name("adjust contrast", tests, krig_setup,
                                       krig_teardown);
}
