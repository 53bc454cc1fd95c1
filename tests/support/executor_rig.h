/*
 * executor_rig.h - graphs that the tests of daemon/worker/run/executor.c run:
 * each test has a worker of its own, with two compute threads or alone.
 *
 * Included once by a test program, as worker_rig.h is.
 */
#ifndef TFD_TESTS_SUPPORT_EXECUTOR_RIG_H
#define TFD_TESTS_SUPPORT_EXECUTOR_RIG_H

#include "daemon/worker/service/worker_service.h"
#include "tests/support/worker_rig.h"

static struct wrig w;

static inline int setup(void **state)
{
    (void)state;
    wrig_init(&w, 2);
    return 0;
}

static inline int setup_without_threads(void **state)
{
    (void)state;
    wrig_init(&w, 0);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    assert_int_equal(tfd_worker_counts(w.service).steps, 0);
    wrig_deinit(&w);
    return 0;
}

static inline void assert_text(const char *part)
{
    if (!strstr(w.st.text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, w.st.text);
}

/* Several times: the first steps run on a compute thread, later ones here. */
static inline void run_repeatedly(uint64_t graph, double expected)
{
    assert_true(graph != 0);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
        assert_true(wrig_result(&w, 0) == expected);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define TEST_ALONE(f) \
    cmocka_unit_test_setup_teardown(f, setup_without_threads, teardown)

#endif
