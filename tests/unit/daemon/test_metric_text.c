/*
 * test_metric_text.c - daemon/status/metric_text.c against the lines of
 * Prometheus' text format, and the table of daemon/status/metrics.c against its
 * rules for names.
 */
#include "daemon/status/metrics.h"

#include "config/limits.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HEAD "# HELP m what it is\n# TYPE m gauge\n"

static struct tfd_bytes out;
static struct tfd_metric_text text;

static void begin(enum tfd_metric_type type)
{
    tfd_bytes_init(&out, 1 << 20);
    text = (struct tfd_metric_text){.out = &out};
    tfd_metric_text_begin(&text, "m", type, "what it is");
}

static void assert_written(const char *wanted)
{
    tfd_bytes_add(&out, "", 1);
    assert_string_equal(out.data, wanted);
    tfd_bytes_deinit(&out);
}

static void test_a_sample(void **state)
{
    (void)state;
    begin(TFD_METRIC_GAUGE);
    tfd_metric_text_put(&text, NULL, 0, 2.5);
    tfd_metric_text_put(&text, NULL, 0, 9007199254740993.0);
    assert_written(HEAD "m 2.5\nm 9007199254740992\n");
}

/* As printf() has them, the whole ones too, which it does not write. */
static void test_numbers(void **state)
{
    static const double cases[] = {
        0,        -0.0,         1,        9,         10,
        -1,       4294967296.0, 1e15 - 1, 1e15,      1e15 + 1,
        1e17,     1e300,        5e-324,   0.1,       999999999999999.5,
        1e14 / 3, 1e22,         INFINITY, -INFINITY, 18446744073709551616.0,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char wanted[128];

        snprintf(wanted, sizeof(wanted), HEAD "m %.17g\n", cases[i]);
        begin(TFD_METRIC_GAUGE);
        tfd_metric_text_put(&text, NULL, 0, cases[i]);
        assert_written(wanted);
    }
}

static void test_a_metric_without_samples_is_not_there(void **state)
{
    (void)state;
    begin(TFD_METRIC_GAUGE);
    assert_written("");
}

static void test_labels_are_escaped(void **state)
{
    const struct tfd_metric_label labels[] = {
        {"a", TFD_STR("x\"y\\z\n{},=\t\x7f")},
        {"b", TFD_STR("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbf")}};

    (void)state;
    begin(TFD_METRIC_GAUGE);
    tfd_metric_text_put(&text, labels, 2, 1);
    assert_written(HEAD
                   "m{a=\"x\\\"y\\\\z\\n{},=\t\x7f\",b=\"\xc3\xa9\xe2\x82\xac"
                   "\xf0\x9f\x98\x80\xef\xbf\xbf\"} 1\n");
}

static void test_labels_that_cannot_be_told(void **state)
{
    static char longer[TFD_METRIC_LABEL_SIZE_MAX + 1];
    const struct tfd_str cases[] = {
        TFD_STR("a\0b"),
        TFD_STR("\xff"),
        TFD_STR("\xc3"),
        TFD_STR("\xc0\x80"),
        TFD_STR("\xe0\x9f\xbf"),
        TFD_STR("\xed\xa0\x80"),
        TFD_STR("\xf4\x90\x80\x80"),
        TFD_STR("\xf0\x8f\xbf\xbf"),
        TFD_STR("\xe2\x82"),
        TFD_STR("\x80"),
        {longer, sizeof(longer)},
    };

    (void)state;
    memset(longer, 'x', sizeof(longer));
    begin(TFD_METRIC_GAUGE);
    for (int i = 0; i < (int)(sizeof(cases) / sizeof(cases[0])); i++) {
        const struct tfd_metric_label l = {"a", cases[i]};

        tfd_metric_text_put(&text, &l, 1, 1);
        assert_int_equal(text.left_out, i + 1);
    }
    assert_written("");
}

static void test_the_longest_label(void **state)
{
    static char name[TFD_METRIC_LABEL_SIZE_MAX];
    const struct tfd_metric_label l = {"a", {name, sizeof(name)}};

    (void)state;
    memset(name, '"', sizeof(name));
    begin(TFD_METRIC_GAUGE);
    tfd_metric_text_put(&text, &l, 1, 1);
    assert_int_equal(text.left_out, 0);
    assert_int_equal(out.size, strlen(HEAD "m{a=\"\"} 1\n") + 2 * sizeof(name));
    tfd_bytes_deinit(&out);
}

static void test_a_histogram(void **state)
{
    const struct tfd_metric_label l = {"method", TFD_STR("x/Y")};
    struct tfd_histogram h = {0};
    const char *at, *end;

    (void)state;
    tfd_histogram_add(&h, 15);
    tfd_histogram_add(&h, 2000000);
    tfd_histogram_add(&h, 500000000);
    begin(TFD_METRIC_HISTOGRAM);
    tfd_metric_text_histogram(&text, &l, 1, &h);
    tfd_bytes_add(&out, "", 1);
    assert_non_null(strstr(out.data, "# TYPE m histogram\n"));
    assert_non_null(
        strstr(out.data, "m_bucket{method=\"x/Y\",le=\"1e-05\"} 0"));
    assert_non_null(
        strstr(out.data, "m_bucket{method=\"x/Y\",le=\"2e-05\"} 1"));
    assert_non_null(strstr(out.data, "m_bucket{method=\"x/Y\",le=\"1\"} 1\n"));
    assert_non_null(strstr(out.data, "m_bucket{method=\"x/Y\",le=\"2\"} 2\n"));
    assert_non_null(
        strstr(out.data, "m_bucket{method=\"x/Y\",le=\"100\"} 2\n"));
    at = strstr(out.data, "m_bucket{method=\"x/Y\",le=\"+Inf\"} 3\n");
    assert_non_null(at);
    end = "m_bucket{method=\"x/Y\",le=\"+Inf\"} 3\n"
          "m_sum{method=\"x/Y\"} 502.00001500000002\n"
          "m_count{method=\"x/Y\"} 3\n";
    assert_string_equal(at, end);
    tfd_bytes_deinit(&out);
}

/* ---- The table ----------------------------------------------------------- */

static bool ends_in(const char *name, const char *end)
{
    size_t size = strlen(name), n = strlen(end);

    return size >= n && strcmp(name + size - n, end) == 0;
}

static void test_names_are_by_the_rules(void **state)
{
    (void)state;
    for (int i = 0; i < tfd_metrics_count; i++) {
        const struct tfd_metric *m = &tfd_metrics[i];

        assert_int_equal(strspn(m->name, "abcdefghijklmnopqrstuvwxyz_"),
                         strlen(m->name));
        assert_true(strncmp(m->name, "tfd_", 4) == 0 ||
                    strncmp(m->name, "process_", 8) == 0);
        assert_int_equal(ends_in(m->name, "_total"),
                         m->type == TFD_METRIC_COUNTER);
        assert_true((m->value == NULL) != (m->put == NULL));
        assert_true(*m->help && !strpbrk(m->help, "|\n\\"));
        if (m->type == TFD_METRIC_HISTOGRAM)
            assert_true(ends_in(m->name, "_seconds"));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(m->name, tfd_metrics[j].name);
    }
}

static void test_what_the_kernel_says(void **state)
{
    struct tfd_process_facts f, more;
    int copies[50];

    (void)state;
    tfd_process_facts(&f);
    assert_true(f.open_fds >= 3 && f.open_fds < 1000);
    for (int i = 0; i < 50; i++)
        copies[i] = dup(STDERR_FILENO);
    tfd_process_facts(&more);
    for (int i = 0; i < 50; i++)
        assert_int_equal(close(copies[i]), 0);
    assert_true(more.open_fds == f.open_fds + 50);
    assert_true(f.max_fds > f.open_fds);
    assert_true(f.resident_bytes > 1000000 &&
                f.virtual_bytes > f.resident_bytes);
    assert_true(f.threads >= 1 && f.cpu_seconds >= 0);
    assert_true(f.start_seconds > 1.6e9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sample),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_a_metric_without_samples_is_not_there),
        cmocka_unit_test(test_labels_are_escaped),
        cmocka_unit_test(test_labels_that_cannot_be_told),
        cmocka_unit_test(test_the_longest_label),
        cmocka_unit_test(test_a_histogram),
        cmocka_unit_test(test_names_are_by_the_rules),
        cmocka_unit_test(test_what_the_kernel_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
