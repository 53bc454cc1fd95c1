/*
 * test_summary_db.c - a summary database whose disk fails at each write, and
 * one that somebody else holds.  That its rows are TensorFlow's is the
 * conformance table's.
 */
#define _GNU_SOURCE
#include "tests/unit/kernels/io/file_rig.h"

#include "common/proto/summary.pb.h"
#include "common/thread/halt.h"
#include "kernels/io/sqlite_library.h"
#include "kernels/text/summary_db.h"

#if TFD_HAS_SQLITE
#include "common/base/pbio.h"

static const struct tfd_sqlite *library; /* NULL: not installed */

/* ---- A disk that fails --------------------------------------------------- */

static int changes_left; /* until it fails, and stays so; negative: never */

static enum tfd_code change(struct tfd_status *st)
{
    if (changes_left == 0)
        return tfd_fail(st, TFD_UNKNOWN, "the disk is gone");
    changes_left -= changes_left > 0;
    return TFD_OK;
}

static enum tfd_code failing_write_at(struct tfd_file_access *a,
                                      struct tfd_file *f, uint64_t offset,
                                      const void *data, size_t size,
                                      struct tfd_status *st)
{
    TFD_TRY(change(st));
    return tfd_file_roots_access.write_at(a, f, offset, data, size, st);
}

static enum tfd_code failing_resize(struct tfd_file_access *a,
                                    struct tfd_file *f, uint64_t size,
                                    struct tfd_status *st)
{
    TFD_TRY(change(st));
    return tfd_file_roots_access.resize(a, f, size, st);
}

static enum tfd_code failing_sync(struct tfd_file_access *a, struct tfd_file *f,
                                  struct tfd_status *st)
{
    TFD_TRY(change(st));
    return tfd_file_roots_access.sync(a, f, st);
}

static enum tfd_code failing_remove(struct tfd_file_access *a,
                                    struct tfd_str name, struct tfd_status *st)
{
    TFD_TRY(change(st));
    return tfd_file_roots_access.remove(a, name, st);
}

static void break_disk(struct place *p, int changes)
{
    struct tfd_file_access *a = &p->roots.access;

    changes_left = changes;
    a->write_at = failing_write_at;
    a->resize = failing_resize;
    a->sync = failing_sync;
    a->remove = failing_remove;
}

/* ---- Databases ----------------------------------------------------------- */

static enum tfd_code open_db(struct place *p, const char *name,
                             struct tfd_summary_db **out)
{
    const struct tfd_summary_db_names names = {tfd_str_of(name), TFD_STR("e"),
                                               TFD_STR("r"), TFD_STR("u")};

    tfd_status_clear(&p->st);
    return tfd_summary_db_open(out, &p->roots.access, &names, &p->st);
}

/* An event with one scalar. */
static enum tfd_code put_scalar(struct place *p, struct tfd_summary_db *db,
                                const char *tag)
{
    struct tfd_bytes event;
    size_t summary, value;
    enum tfd_code rc;

    tfd_bytes_init(&event, 4096);
    tfd_pb_put_double(&event, tensorflow_Event_wall_time_tag, 2e9);
    summary = tfd_pb_begin(&event, tensorflow_Event_summary_tag);
    value = tfd_pb_begin(&event, tensorflow_Summary_value_tag);
    tfd_pb_put_str(&event, tensorflow_Summary_Value_tag_tag, tfd_str_of(tag));
    tfd_pb_put_float(&event, tensorflow_Summary_Value_simple_value_tag, 1.5f);
    tfd_pb_finish(&event, value);
    tfd_pb_finish(&event, summary);
    tfd_status_clear(&p->st);
    rc = tfd_summary_db_put(db, tfd_bytes_view(&event), &p->st);
    tfd_bytes_deinit(&event);
    return rc;
}

/* What SQLite itself finds in the file. */
static int64_t ask(const char *name, const char *query)
{
    sqlite3_stmt *s = NULL;
    sqlite3 *db = NULL;
    int64_t found;

    assert_int_equal(library->open_v2(name, &db, SQLITE_OPEN_READWRITE, NULL),
                     SQLITE_OK);
    assert_int_equal(library->prepare_v2(db, query, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(library->step(s), SQLITE_ROW);
    found = library->column_int64(s, 0);
    library->finalize(s);
    library->close(db);
    return found;
}

static int64_t count_tag(const char *name, const char *tag)
{
    char query[160];

    snprintf(query, sizeof(query),
             "SELECT count(*) FROM Tensors JOIN Tags ON series = tag_id "
             "WHERE tag_name = '%s'",
             tag);
    return ask(name, query);
}

static void check_whole(const char *name)
{
    assert_int_equal(
        ask(name, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
        1);
}

/* ---- Tests --------------------------------------------------------------- */

/* The second value is there when it was said so, and else nothing of it is. */
static bool fail_at(struct place *p, const char *name, int changes)
{
    struct tfd_summary_db *db;
    enum tfd_code rc;
    bool came_to_it;

    break_disk(p, -1);
    assert_int_equal(open_db(p, name, &db), TFD_OK);
    assert_int_equal(put_scalar(p, db, "first"), TFD_OK);
    break_disk(p, changes);
    rc = put_scalar(p, db, "second");
    if (rc != TFD_OK)
        assert_string_not_equal(p->st.text, "");
    came_to_it = changes_left == 0;
    tfd_summary_db_close(db);
    break_disk(p, -1);
    assert_int_equal(open_db(p, name, &db), TFD_OK);
    assert_int_equal(put_scalar(p, db, "third"), TFD_OK);
    tfd_summary_db_close(db);
    check_whole(name);
    assert_int_equal(count_tag(name, "first"), 1);
    assert_int_equal(count_tag(name, "second"), rc == TFD_OK);
    assert_int_equal(count_tag(name, "third"), 1);
    return came_to_it;
}

static void test_a_disk_that_fails_leaves_a_whole_database(void **state)
{
    struct place *p = *state;
    char name[600];
    int changes = 0;

    if (!library)
        skip();
    do
        snprintf(name, sizeof(name), "%s/root/%d", p->top, changes);
    while (fail_at(p, name, changes++));
    assert_true(changes > 5);
}

/* After one that fails the writer goes on as if it had not been. */
static void test_a_writer_outlives_a_failure(void **state)
{
    struct place *p = *state;
    struct tfd_summary_db *db;
    char name[600];

    if (!library)
        skip();
    snprintf(name, sizeof(name), "%s/root/d", p->top);
    break_disk(p, -1);
    assert_int_equal(open_db(p, name, &db), TFD_OK);
    break_disk(p, 0);
    assert_int_not_equal(put_scalar(p, db, "a"), TFD_OK);
    break_disk(p, -1);
    assert_int_equal(put_scalar(p, db, "a"), TFD_OK);
    assert_int_equal(put_scalar(p, db, "b"), TFD_OK);
    assert_int_equal(tfd_summary_db_finish(db, &p->st), TFD_OK);
    tfd_summary_db_close(db);
    check_whole(name);
    assert_int_equal(count_tag(name, "a"), 1);
    assert_int_equal(ask(name, "SELECT count(*) FROM Ids"), 5);
    assert_int_equal(
        ask(name, "SELECT count(*) FROM Runs WHERE finished_time > 0"), 1);
}

static void test_no_database_outside_of_the_root(void **state)
{
    static const char *const names[] = {"outside/d", "outside/secret",
                                        "root/../outside/d", "root/linked"};
    struct place *p = *state;
    struct tfd_summary_db *db;

    if (!library)
        skip();
    assert_int_equal(symlink("../outside/secret", at(p, "root/linked")), 0);
    for (size_t i = 0; i < COUNT(names); i++) {
        char name[600];

        snprintf(name, sizeof(name), "%s/%s", p->top, names[i]);
        assert_int_not_equal(open_db(p, name, &db), TFD_OK);
        assert_int_not_equal(access(at(p, "outside/d"), F_OK), 0);
    }
    assert_int_equal(access(at(p, "outside/secret-journal"), F_OK), -1);
}

static void test_damaged_events_change_nothing(void **state)
{
    static const struct tfd_str events[] = {
        TFD_STR_INIT("\xff"),
        TFD_STR_INIT("\x2a\1\xff"),           /* a summary */
        TFD_STR_INIT("\x2a\3\n\1\xff"),       /* a value */
        TFD_STR_INIT("\x2a\5\n\3*\1\xff"),    /* a histogram */
        TFD_STR_INIT("\x2a\5\n\3\"\1\xff"),   /* an image */
        TFD_STR_INIT("\x2a\5\n\3\x42\1\xff"), /* a tensor */
        TFD_STR_INIT("\x2a\4\n\2\x10\1"),     /* a scalar that is a varint */
        TFD_STR_INIT("\"\1\xff"),             /* a graph */
        TFD_STR_INIT("\"\5\n\3\n\1\xff\n"),   /* one that ends in a node */
    };
    struct place *p = *state;
    struct tfd_summary_db *db;
    char name[600];

    if (!library)
        skip();
    snprintf(name, sizeof(name), "%s/root/d", p->top);
    assert_int_equal(open_db(p, name, &db), TFD_OK);
    for (size_t i = 0; i < COUNT(events); i++) {
        tfd_status_clear(&p->st);
        if (tfd_summary_db_put(db, events[i], &p->st) == TFD_OK)
            fail_msg("event %zu was taken", i);
        assert_string_not_equal(p->st.text, "");
    }
    tfd_summary_db_close(db);
    check_whole(name);
    assert_int_equal(ask(name, "SELECT count(*) FROM Ids"), 0);
    assert_int_equal(ask(name, "SELECT count(*) FROM Tensors"), 0);
}

/* A graph may have a million nodes, a value as many strings. */
static void test_a_step_that_has_ended_leaves_nothing_behind(void **state)
{
    static const struct tfd_str
        graph = TFD_STR_INIT("\"\5\n\3\n\1n"),
        strings = TFD_STR_INIT("\x2a\x12\n\x10\n\1t\x42\x0b\x08\7\x12\4\x12\2"
                               "\x08\1\x42\1s");
    const struct tfd_str *const events[] = {&graph, &strings};
    static const int ended = 1;
    struct place *p = *state;
    struct tfd_summary_db *db;
    char name[600];

    if (!library)
        skip();
    snprintf(name, sizeof(name), "%s/root/d", p->top);
    assert_int_equal(open_db(p, name, &db), TFD_OK);
    for (size_t i = 0; i < COUNT(events); i++) {
        tfd_status_clear(&p->st);
        tfd_halt_at(&ended);
        if (tfd_summary_db_put(db, *events[i], &p->st) == TFD_OK)
            fail_msg("event %zu was taken", i);
        tfd_halt_at(NULL);
        tfd_status_clear(&p->st);
        assert_int_equal(ask(name, "SELECT count(*) FROM Ids"), 0);
        assert_int_equal(tfd_summary_db_put(db, *events[i], &p->st), TFD_OK);
        assert_int_not_equal(ask(name, "SELECT count(*) FROM Ids"), 0);
        tfd_summary_db_close(db);
        assert_int_equal(unlink(name), 0);
        assert_int_equal(open_db(p, name, &db), TFD_OK);
    }
    tfd_summary_db_close(db);
}

static void test_a_database_in_memory_has_no_file(void **state)
{
    struct place *p = *state;
    struct tfd_summary_db *db;

    if (!library)
        skip();
    break_disk(p, 0);
    assert_int_equal(open_db(p, ":memory:", &db), TFD_OK);
    assert_int_equal(put_scalar(p, db, "a"), TFD_OK);
    tfd_summary_db_close(db);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_disk_that_fails_leaves_a_whole_database),
        TEST(test_a_writer_outlives_a_failure),
        TEST(test_no_database_outside_of_the_root),
        TEST(test_damaged_events_change_nothing),
        TEST(test_a_step_that_has_ended_leaves_nothing_behind),
        TEST(test_a_database_in_memory_has_no_file),
    };

    if (tfd_sqlite(&library, NULL) != TFD_OK)
        library = NULL;
    return cmocka_run_group_tests_name("summary_db", tests, NULL, NULL);
}
#else
int main(void)
{
    printf("skipped: built without SQLite\n");
    return 0;
}
#endif
