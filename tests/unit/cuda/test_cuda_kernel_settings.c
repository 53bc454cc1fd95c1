/*
 * test_cuda_kernel_settings.c - cuda/device/kernel_settings.c: which words of
 * the environment count.
 */
#include "cuda/device/kernel_settings.h"

#include "config/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_a_limit_in_megabytes_counts(void **state)
{
    (void)state;
    tfd_cuda_kernel_settings_set(false, false, "16");
    assert_int_equal(tfd_cuda_kernel_settings()->dnn_memory_max, 16 << 20);
    tfd_cuda_kernel_settings_set(false, false, "0");
    assert_int_equal(tfd_cuda_kernel_settings()->dnn_memory_max, 0);
}

static void test_what_is_no_limit_leaves_ours(void **state)
{
    static const char *const cases[] = {
        NULL, "", "much", "16MB", "-1", "99999999999999999999", "1000000"};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tfd_cuda_kernel_settings_set(false, false, cases[i]);
        if (tfd_cuda_kernel_settings()->dnn_memory_max !=
            (size_t)TFD_CUDNN_WORKSPACE_SIZE_MAX)
            fail_msg("\"%s\"", cases[i] ? cases[i] : "NULL");
    }
}

static void test_deterministic_ops_include_those_of_cudnn(void **state)
{
    (void)state;
    tfd_cuda_kernel_settings_set(true, false, NULL);
    assert_true(tfd_cuda_kernel_settings()->deterministic_ops);
    assert_true(tfd_cuda_kernel_settings()->deterministic_dnn);
    tfd_cuda_kernel_settings_set(false, true, NULL);
    assert_false(tfd_cuda_kernel_settings()->deterministic_ops);
    assert_true(tfd_cuda_kernel_settings()->deterministic_dnn);
    tfd_cuda_kernel_settings_set(false, false, NULL);
    assert_false(tfd_cuda_kernel_settings()->deterministic_dnn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_limit_in_megabytes_counts),
        cmocka_unit_test(test_what_is_no_limit_leaves_ours),
        cmocka_unit_test(test_deterministic_ops_include_those_of_cudnn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
