/*
 * test_assert.c - kernels/control/assert.c within a worker: the text of a
 * failure.
 */
#include "tests/support/worker_rig.h"

static struct wrig w;

static int setup(void **state)
{
    (void)state;
    wrig_init(&w, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wrig_deinit(&w);
    return 0;
}

static void assert_text(const char *part)
{
    if (!strstr(w.st.text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, w.st.text);
}

/* Texts as TensorFlow 2.21 prints them. */
static void test_a_failed_assertion_shows_its_data(void **state)
{
    static const struct {
        int rank;
        int64_t dim[3];
        int summarize;
        const char *text;
    } cases[] = {
        {1, {5}, 3, "[0 1 2...]"},
        {2, {3, 4}, 3, "[[0 1 2...]...]"},
        {2, {3, 4}, 20, "[[0 1 2 3][4 5 6 7][8 9 10 11]]"},
        {3, {2, 2, 4}, 30, "[[[0 1 2 3][4 5 6 7]][[8 9 10 11][12 13 14 15]]]"},
        {3, {2, 3, 4}, 5, "[[[0 1 2 3][4...]]...]"},
        {1, {5}, -1, "[0 1 2 3 4]"},
        {2, {2, 6}, -1, "[[0 1 2 3 4 5][6 7 8 9 10 11]]"},
        {2, {2, 6}, 0, "[...]"},
        {2, {0, 3}, 3, "[]"},
        {2, {2, 0}, 3, "[]"},
        {0, {0}, 3, "[0]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char expected[200];
        struct tfd_shape shape;
        uint64_t graph;

        wrig_feed(&w, "x");
        wrig_feed_of(&w, "ok", TFD_BOOL);
        wrig_attr_int(&w, "summarize", cases[i].summarize);
        wrig_node(&w, "assert", "Assert", "ok,x,ok");
        graph = wrig_register(&w);
        assert_int_equal(
            tfd_shape_make(&shape, cases[i].dim, cases[i].rank, NULL), TFD_OK);
        assert_int_equal(tfd_tensor_new(&w.fed[0], TFD_FLOAT, &shape, NULL),
                         TFD_OK);
        for (int64_t j = 0; j < tfd_tensor_elements(&w.fed[0]); j++)
            ((float *)tfd_tensor_data(&w.fed[0]))[j] = (float)j;
        w.fed[1] = wrig_scalar(TFD_BOOL, 0);
        assert_int_equal(wrig_run(&w, graph), TFD_INVALID_ARGUMENT);
        snprintf(expected, sizeof(expected),
                 "assertion failed: %s [%s]\n\t [[{{node assert}}]]",
                 cases[i].text, cases[i].summarize ? "0" : "...");
        assert_string_equal(w.st.text, expected);
    }
}

static void test_numbers_and_strings_are_shown_as_in_tensorflow(void **state)
{
    static const float numbers[] = {0.1f, 1e-8f, 1 / 3.f, 1e20f, 1e8f, 3};
    const struct tfd_shape six = {1, {6}}, two = {1, {2}};
    struct tfd_tstring *s;
    uint64_t graph;

    (void)state;
    wrig_feed(&w, "x");
    wrig_feed_of(&w, "y", TFD_STRING);
    wrig_feed_of(&w, "ok", TFD_BOOL);
    wrig_attr_int(&w, "summarize", 10);
    wrig_node(&w, "assert", "Assert", "ok,x,y");
    graph = wrig_register(&w);
    assert_int_equal(tfd_tensor_new(&w.fed[0], TFD_FLOAT, &six, NULL), TFD_OK);
    memcpy(tfd_tensor_data(&w.fed[0]), numbers, sizeof(numbers));
    assert_int_equal(tfd_tensor_new(&w.fed[1], TFD_STRING, &two, NULL), TFD_OK);
    s = tfd_tensor_data(&w.fed[1]);
    assert_int_equal(tfd_tstring_set(&s[0], TFD_STR("d\ne\001"), NULL), TFD_OK);
    assert_int_equal(tfd_tstring_set(&s[1], TFD_STR("q\"\\"), NULL), TFD_OK);
    w.fed[2] = wrig_scalar(TFD_BOOL, 0);
    assert_int_equal(wrig_run(&w, graph), TFD_INVALID_ARGUMENT);
    assert_text("assertion failed: [0.1 1e-08 0.333333343 1e+20 1e+08 3] "
                "[d\\ne\\001 q\\\"\\\\]\n");
}

static void test_an_assertion_that_holds_says_nothing(void **state)
{
    uint64_t graph;

    (void)state;
    wrig_feed_of(&w, "ok", TFD_BOOL);
    wrig_node(&w, "assert", "Assert", "ok,ok");
    graph = wrig_register(&w);
    w.fed[0] = wrig_scalar(TFD_BOOL, 1);
    assert_int_equal(wrig_run(&w, graph), TFD_OK);
}

static void test_the_condition_is_one_bool(void **state)
{
    const struct tfd_shape two = {1, {2}};
    uint64_t graph;

    (void)state;
    wrig_feed_of(&w, "ok", TFD_BOOL);
    wrig_node(&w, "assert", "Assert", "ok,ok");
    graph = wrig_register(&w);
    assert_int_equal(tfd_tensor_new(&w.fed[0], TFD_BOOL, &two, NULL), TFD_OK);
    assert_int_equal(wrig_run(&w, graph), TFD_INVALID_ARGUMENT);
    assert_text("{{node assert}}");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_failed_assertion_shows_its_data),
        TEST(test_numbers_and_strings_are_shown_as_in_tensorflow),
        TEST(test_an_assertion_that_holds_says_nothing),
        TEST(test_the_condition_is_one_bool),
    };

    return cmocka_run_group_tests_name("assert", tests, NULL, NULL);
}
