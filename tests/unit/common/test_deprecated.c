/*
 * test_deprecated.c - common/graph/deprecated.c, and how graphs grow by it
 * (common/proto/graphdef.c).  That the rows are TensorFlow's is looked at by
 * tests/conformance/deprecated.py.
 */
#define _GNU_SOURCE 1 /* strsep() */

#include "common/graph/deprecated.h"
#include "tests/support/graphdef_rig.h"

#define GONE(version)                                           \
    "Op BatchFFT is not available in GraphDef version " version \
    ". It has been removed in version 15. Use FFT."

static void test_rows_are_sorted_and_found(void **state)
{
    int count;
    const struct tfd_deprecated *rows = tfd_deprecated_all(&count);

    (void)state;
    assert_true(count > 50);
    for (int i = 0; i < count; i++) {
        assert_true(!i || strcmp(rows[i - 1].op, rows[i].op) < 0);
        assert_true(rows[i].version > 0);
        assert_ptr_equal(tfd_deprecated_find(tfd_str_of(rows[i].op)), &rows[i]);
    }
}

static void test_what_is_no_row(void **state)
{
    static const char *const names[] = {"",          "Tile",      "TileGra",
                                        "TileGradd", "tilegrad",  "AAAA",
                                        "zzzz",      "BatchFFT\n"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_null(tfd_deprecated_find(tfd_str_of(names[i])));
        assert_int_equal(
            tfd_deprecated_check(tfd_str_of(names[i]), INT32_MAX, NULL),
            TFD_OK);
    }
}

static void test_producers(void **state)
{
    static const struct {
        int32_t producer;
        const char *text; /* NULL: taken */
    } cases[] = {
        {0, NULL},        {14, NULL},           {15, GONE("15")},
        {16, GONE("16")}, {2474, GONE("2474")}, {INT32_MAX, GONE("2147483647")},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_status st = TFD_STATUS_INIT;
        enum tfd_code rc =
            tfd_deprecated_check(TFD_STR("BatchFFT"), cases[i].producer, &st);

        assert_int_equal(rc, cases[i].text ? TFD_UNIMPLEMENTED : TFD_OK);
        if (cases[i].text)
            assert_string_equal(st.text, cases[i].text);
    }
}

/* ---- Graphs that grow ---------------------------------------------------- */

/* The nodes, and versions { producer } where it is not negative. */
static enum tfd_code grow(const char *nodes, int producer,
                          const struct tfd_graphdef_options *options,
                          struct tfd_status *st)
{
    uint8_t versions[] = {0x22, 2, 8, (uint8_t)producer};

    assert_true(producer < 128);
    (void)graph_of(nodes);
    if (producer >= 0)
        tfd_bytes_add(&b, versions, sizeof(versions));
    return tfd_graphdef_import(g, tfd_bytes_view(&b), options, NULL, st);
}

static void expect_gone(enum tfd_code rc, const struct tfd_status *st,
                        const char *text)
{
    assert_int_equal(rc, TFD_UNIMPLEMENTED);
    assert_string_equal(st->text, text);
}

static void test_a_session_is_created_with_any(void **state)
{
    (void)state;
    assert_int_equal(grow("f = BatchFFT()", 15, NULL, NULL), TFD_OK);
    assert_int_equal(g->versions.producer, 15);
}

static void test_a_session_is_extended_by_what_its_producer_has(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    assert_int_equal(grow("a = NoOp()", 20, NULL, NULL), TFD_OK);
    expect_gone(grow("f = BatchFFT()", 15, NULL, &st), &st, GONE("15"));
    assert_int_equal(g->count, 1);
    assert_int_equal(g->versions.producer, 20);
    assert_int_equal(grow("f = BatchFFT()", 14, NULL, NULL), TFD_OK);
    assert_int_equal(g->versions.producer, 14);
    assert_int_equal(grow("h = BatchFFT()", -1, NULL, NULL), TFD_OK);
    assert_int_equal(g->versions.producer, 0);
    assert_int_equal(g->count, 3);
}

static void test_an_extension_makes_old_nodes_new(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    assert_int_equal(grow("f = BatchFFT()", 14, NULL, NULL), TFD_OK);
    expect_gone(grow("a = NoOp()", 16, NULL, &st), &st, GONE("16"));
    assert_int_equal(g->count, 1);
    assert_int_equal(g->versions.producer, 14);
}

static void test_a_worker_takes_any_node(void **state)
{
    const struct tfd_graphdef_options worker = {.require_full_device = true};
    struct tfd_nodedef n = {.name = TFD_STR("f"),
                            .op = TFD_STR("BatchFFT"),
                            .device = TFD_STR("/cpu:0")};

    (void)state;
    tfd_graphdef_put(&b, &n);
    tfd_bytes_add(&b, "\x22\x02\x08\x0f", 4);
    assert_int_equal(
        tfd_graphdef_import(g, tfd_bytes_view(&b), &worker, NULL, NULL),
        TFD_OK);
}

static void test_an_import_is_of_its_own_producer(void **state)
{
    const struct tfd_graphdef_options import = {.prefix = TFD_STR("p")};
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    assert_int_equal(grow("a = NoOp()", 14, NULL, NULL), TFD_OK);
    expect_gone(grow("f = BatchFFT()", 15, &import, &st), &st, GONE("15"));
    assert_int_equal(g->count, 1);
    assert_int_equal(grow("q = NoOp()", 100, &import, NULL), TFD_OK);
    assert_int_equal(g->versions.producer, 14);
    assert_int_equal(grow("f = BatchFFT()", 8, &import, NULL), TFD_OK);
    assert_int_equal(g->versions.producer, 8);
    assert_int_equal(grow("z = BatchFFT()", -1, &import, NULL), TFD_OK);
    assert_int_equal(g->versions.producer, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_sorted_and_found),
        cmocka_unit_test(test_what_is_no_row),
        cmocka_unit_test(test_producers),
        TEST(test_a_session_is_created_with_any),
        TEST(test_a_session_is_extended_by_what_its_producer_has),
        TEST(test_an_extension_makes_old_nodes_new),
        TEST(test_a_worker_takes_any_node),
        TEST(test_an_import_is_of_its_own_producer),
    };

    return cmocka_run_group_tests_name("deprecated", tests, NULL, NULL);
}
