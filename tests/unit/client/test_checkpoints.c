/*
 * test_checkpoints.c - the file `checkpoint`: read, written, cleaned up.
 */
#define _GNU_SOURCE 1 /* mkdtemp() */

#include "client/train/checkpoint_text.h"
#include "client/train/checkpoints.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/tfd-checkpoints-XXXXXX");
    return mkdtemp(dir) == NULL;
}

static int remove_dir(void **state)
{
    char path[128];

    (void)state;
    snprintf(path, sizeof(path), "rm -rf %s", dir);
    return system(path);
}

static void put(const char *name, const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static bool exists(const char *name)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static const char *contents(char *text, size_t size)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/checkpoint", dir);
    f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, size - 1, f)] = '\0';
    fclose(f);
    return text;
}

static void add(struct tfd_checkpoints *c, int64_t step)
{
    struct tfd_status st = TFD_STATUS_INIT;
    char *path = tfd_checkpoints_path(c, step), name[64];

    snprintf(name, sizeof(name), "model.ckpt-%lld.index", (long long)step);
    put(name, "");
    snprintf(name, sizeof(name), "model.ckpt-%lld.data-00000-of-00001",
             (long long)step);
    put(name, "");
    assert_int_equal(tfd_checkpoints_add(c, path, &st), TFD_OK);
    free(path);
}

static void test_an_empty_directory_is_made_and_has_none(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_checkpoints c;
    const char *path = "";
    char deep[128];

    (void)state;
    snprintf(deep, sizeof(deep), "%s/a/b/c/", dir);
    assert_int_equal(tfd_checkpoints_open(&c, deep, 5, &st), TFD_OK);
    assert_int_equal(tfd_checkpoints_latest(&c, &path, &st), TFD_OK);
    assert_null(path);
    assert_true(exists("a/b/c"));
    tfd_checkpoints_close(&c);
}

static void test_what_is_added_is_read_again(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_checkpoints c;
    const char *path = NULL;
    char text[2000];

    (void)state;
    assert_int_equal(tfd_checkpoints_open(&c, dir, 5, &st), TFD_OK);
    add(&c, 0);
    add(&c, 100);
    tfd_checkpoints_close(&c);
    contents(text, sizeof(text));
    assert_non_null(strstr(text, "model_checkpoint_path: \"model.ckpt-100\"\n"
                                 "all_model_checkpoint_paths: \"model.ckpt-0\""
                                 "\n"));
    assert_int_equal(tfd_checkpoints_open(&c, dir, 5, &st), TFD_OK);
    assert_int_equal(c.count, 2);
    assert_true(c.list[0].time > 1e9);
    assert_int_equal(tfd_checkpoints_latest(&c, &path, &st), TFD_OK);
    snprintf(text, sizeof(text), "%s/model.ckpt-100", dir);
    assert_string_equal(path, text);
    tfd_checkpoints_close(&c);
}

static void test_the_oldest_go_when_there_are_too_many(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_checkpoints c;

    (void)state;
    assert_int_equal(tfd_checkpoints_open(&c, dir, 2, &st), TFD_OK);
    put("model.ckpt-1", "not ours");
    add(&c, 1);
    add(&c, 10);
    add(&c, 100);
    add(&c, 100); /* the same step again */
    assert_int_equal(c.count, 2);
    assert_false(exists("model.ckpt-1.index"));
    assert_false(exists("model.ckpt-1.data-00000-of-00001"));
    assert_true(exists("model.ckpt-1"));
    assert_true(exists("model.ckpt-10.index"));
    assert_true(exists("model.ckpt-100.index"));
    tfd_checkpoints_close(&c);
}

/* The list cannot be written: a folder has its name. */
static void test_none_go_when_the_list_cannot_be_written(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_checkpoints c;
    char path[128];

    (void)state;
    assert_int_equal(tfd_checkpoints_open(&c, dir, 1, &st), TFD_OK);
    add(&c, 1);
    snprintf(path, sizeof(path), "%s/checkpoint", dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    for (int step = 2; step < 4; step++) {
        char *next = tfd_checkpoints_path(&c, step);

        assert_int_not_equal(tfd_checkpoints_add(&c, next, &st), TFD_OK);
        assert_non_null(strstr(st.text, "checkpoint"));
        tfd_status_clear(&st);
        free(next);
    }
    assert_true(exists("model.ckpt-1.index"));
    assert_int_equal(rmdir(path), 0);
    add(&c, 4);
    assert_int_equal(c.count, 1);
    assert_false(exists("model.ckpt-1.index"));
    tfd_checkpoints_close(&c);
}

static void test_what_could_not_be_saved_is_removed(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_checkpoints c;
    char path[128];

    (void)state;
    assert_int_equal(tfd_checkpoints_open(&c, dir, 5, &st), TFD_OK);
    add(&c, 7);
    put("model.ckpt-70.data-00000-of-00002", "");
    put("model.ckpt-70", "not ours");
    snprintf(path, sizeof(path), "%s/model.ckpt-70_temp", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    put("model.ckpt-70_temp/part-00000-of-00002.index", "");
    snprintf(path, sizeof(path), "%s/model.ckpt-7", dir);
    tfd_checkpoints_discard(&c, path); /* it is one that is kept */
    assert_true(exists("model.ckpt-7.index"));
    assert_true(exists("model.ckpt-70_temp"));
    snprintf(path, sizeof(path), "%s/model.ckpt-70", dir);
    tfd_checkpoints_discard(&c, path);
    assert_false(exists("model.ckpt-70.data-00000-of-00002"));
    assert_false(exists("model.ckpt-70_temp"));
    assert_true(exists("model.ckpt-70"));
    tfd_checkpoints_close(&c);
}

static void test_none_go_when_all_are_kept(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_checkpoints c;

    (void)state;
    assert_int_equal(tfd_checkpoints_open(&c, dir, 0, &st), TFD_OK);
    for (int i = 0; i < 20; i++)
        add(&c, i);
    assert_int_equal(c.count, 20);
    assert_true(exists("model.ckpt-0.index"));
    tfd_checkpoints_close(&c);
}

static void test_what_python_writes_is_read(void **state)
{
    static const struct {
        const char *text, *latest; /* latest: relative to the directory */
        int count;
    } cases[] = {
        {"model_checkpoint_path: \"m-3\"\n"
         "all_model_checkpoint_paths: \"m-3\"\n",
         "m-3", 1},
        {"# by hand\nmodel_checkpoint_path:'m-3'", "m-3", 1},
        {"model_checkpoint_path: \"m\\0623\\\"\"", "m23\"", 1},
        {"all_model_checkpoint_paths: \"a\"\n"
         "all_model_checkpoint_paths: \"b\"\n"
         "model_checkpoint_path: \"a\"\n"
         "all_model_checkpoint_timestamps: 1.5e9\n"
         "all_model_checkpoint_timestamps: 1600000000.25\n"
         "last_preserved_timestamp: 1599999999\n",
         "a", 2},
        {"", NULL, 0},
    };
    struct tfd_checkpoints c;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_status st = TFD_STATUS_INIT;
        char expected[128];

        put("checkpoint", cases[i].text);
        assert_int_equal(tfd_checkpoints_open(&c, dir, 5, &st), TFD_OK);
        assert_int_equal(c.count, cases[i].count);
        snprintf(expected, sizeof(expected), "%s/%s", dir, cases[i].latest);
        if (c.count)
            assert_string_equal(c.list[c.count - 1].path, expected);
        tfd_checkpoints_close(&c);
    }
}

static void test_damage_is_no_beginning(void **state)
{
    static const char *const texts[] = {
        "model_checkpoint_path",
        "model_checkpoint_path: \"m",
        "model_checkpoint_path: \"m\n\"",
        "model_checkpoint_path: \"\\q\"",
        "model_checkpoint_path: nothing",
        ": \"m\"",
        "{}",
        "\xff\xfe",
        "all_model_checkpoint_timestamps: 1.2.3",
        "model_checkpoint_path: \"m\" all { x: 1 }",
    };
    struct tfd_checkpoints c;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct tfd_status st = TFD_STATUS_INIT;

        put("checkpoint", texts[i]);
        if (tfd_checkpoints_open(&c, dir, 5, &st) != TFD_DATA_LOSS)
            fail_msg("'%s' was read", texts[i]);
        assert_non_null(strstr(st.text, "line"));
    }
}

static void test_a_checkpoint_that_is_gone_is_named(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_checkpoints c;
    const char *path;

    (void)state;
    put("checkpoint", "model_checkpoint_path: \"gone\"");
    assert_int_equal(tfd_checkpoints_open(&c, dir, 5, &st), TFD_OK);
    assert_int_equal(tfd_checkpoints_latest(&c, &path, &st), TFD_DATA_LOSS);
    assert_non_null(strstr(st.text, "gone.index"));
    tfd_checkpoints_close(&c);
}

static void test_a_directory_that_cannot_be(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_checkpoints c;
    char path[128];

    (void)state;
    put("file", "");
    snprintf(path, sizeof(path), "%s/file/below", dir);
    assert_int_not_equal(tfd_checkpoints_open(&c, path, 5, &st), TFD_OK);
    assert_non_null(strstr(st.text, "file"));
}

static void test_quoting_is_undone_by_reading(void **state)
{
    char bytes[255];
    struct tfd_bytes b;
    struct tfd_checkpoint_text t;

    (void)state;
    for (int i = 0; i < 255; i++)
        bytes[i] = (char)(i + 1);
    tfd_bytes_init(&b, 4096);
    tfd_bytes_printf(&b, "key: ");
    tfd_checkpoint_text_quote(&b, (struct tfd_str){bytes, 255});
    tfd_checkpoint_text_init(&t, tfd_bytes_view(&b));
    assert_true(tfd_checkpoint_text_next(&t));
    assert_int_equal(t.value.size, 255);
    assert_memory_equal(t.value.data, bytes, 255);
    assert_false(tfd_checkpoint_text_next(&t));
    assert_false(t.failed);
    tfd_checkpoint_text_deinit(&t);
    tfd_bytes_deinit(&b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_empty_directory_is_made_and_has_none),
        TEST(test_what_is_added_is_read_again),
        TEST(test_the_oldest_go_when_there_are_too_many),
        TEST(test_none_go_when_all_are_kept),
        TEST(test_none_go_when_the_list_cannot_be_written),
        TEST(test_what_could_not_be_saved_is_removed),
        TEST(test_what_python_writes_is_read),
        TEST(test_damage_is_no_beginning),
        TEST(test_a_checkpoint_that_is_gone_is_named),
        TEST(test_a_directory_that_cannot_be),
        TEST(test_quoting_is_undone_by_reading),
    };

    return cmocka_run_group_tests_name("checkpoints", tests, NULL, NULL);
}
