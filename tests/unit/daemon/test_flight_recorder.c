/*
 * test_flight_recorder.c - daemon/flight_recorder.c: what it leaves of a file,
 * on a disk that is full, behind a name that is somebody else's, and when the
 * process crashes.
 */
#define _GNU_SOURCE 1

#include "tests/support/plan_rig.h"

#include "daemon/flight_recorder.h"

#include <jansson.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], path[128], part[128];

static void make_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/tfd-flight-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/steps", folder);
    snprintf(part, sizeof(part), "%s/steps.part", folder);
}

/* Nothing else may lie there. */
static void remove_folder(void)
{
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

static struct tfd_flight_recorder *open_recorder(const char *file, bool crashes)
{
    struct tfd_flight_recorder_options o = {.loop = &rig.loop,
                                            .master = rig.master,
                                            .task = "/job:ps/task:0",
                                            .path = file,
                                            .crashes = crashes};
    struct tfd_flight_recorder *f;
    struct tfd_status st = TFD_STATUS_INIT;

    assert_int_equal(tfd_flight_recorder_new(&o, &f, &st), TFD_OK);
    return f;
}

/* A master with so many steps behind it. */
static void run_steps(int count)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    for (int i = 0; i < count; i++)
        mrig_run(s, &step, "|c:0|");
}

/* How many steps the file tells of; -1: there is no file. */
static int steps_in(const char *file)
{
    json_error_t error;
    json_t *j = json_load_file(file, 0, &error);
    int count;

    if (!j && access(file, F_OK) == 0)
        fail_msg("%s", error.text);
    if (!j)
        return -1;
    assert_string_equal(json_string_value(json_object_get(j, "task")),
                        "/job:ps/task:0");
    count = (int)json_array_size(json_object_get(j, "kept"));
    assert_int_equal(json_integer_value(json_object_get(j, "steps")), count);
    json_decref(j);
    return count;
}

static void write_and_wait(const char *file)
{
    struct tfd_flight_recorder *f = open_recorder(file, false);

    tfd_flight_recorder_write(f, "a test");
    tfd_flight_recorder_free(f);
}

static void test_a_file_is_whole(void **state)
{
    (void)state;
    make_folder();
    run_steps(3);
    write_and_wait(path);
    assert_int_equal(steps_in(path), 3);
    write_and_wait(path); /* takes the place of the first */
    assert_int_equal(steps_in(path), 3);
    mrig_close(&rig);
    remove_folder();
}

static void test_reasons_that_come_together_share_a_file(void **state)
{
    struct tfd_flight_recorder *f;

    (void)state;
    make_folder();
    run_steps(2);
    net_advance(&rig.loop, 10);
    f = open_recorder(path, false);
    tfd_flight_recorder_write(f, "one");
    for (int i = 0; i < 100; i++)
        tfd_flight_recorder_write(f, "more");
    assert_true(f != NULL && net_next_timer(&rig.loop) != NULL);
    tfd_flight_recorder_free(f);
    assert_int_equal(steps_in(path), 2);
    mrig_close(&rig);
    remove_folder();
}

static void test_without_a_file_nothing_is_written(void **state)
{
    struct tfd_flight_recorder *f;

    (void)state;
    run_steps(1);
    f = open_recorder(NULL, true);
    tfd_flight_recorder_write(f, "a test");
    tfd_flight_recorder_free(f);
    mrig_close(&rig);
}

/* ---- What goes wrong ----------------------------------------------------- */

static void test_names_that_cannot_be_written(void **state)
{
    static const char *const names[] = {"/no/such/folder/file", "/", "",
                                        "/proc/self/nothing", "/dev/full"};

    (void)state;
    run_steps(1);
    for (size_t i = 0; i < TFD_COUNT(names); i++)
        write_and_wait(names[i]);
    mrig_close(&rig);
}

static void test_a_name_that_is_too_long(void **state)
{
    static char name[5000];
    struct tfd_flight_recorder_options o = {.loop = &rig.loop, .path = name};
    struct tfd_flight_recorder *f = NULL;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    memset(name, 'x', sizeof(name) - 1);
    assert_int_equal(tfd_flight_recorder_new(&o, &f, &st),
                     TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(st.text, "4095"));
    assert_null(f);
}

/* The file of before stays, and no part of the new one. */
static void test_a_disk_that_is_full_halfway(void **state)
{
    struct rlimit before, small = {2000, 2000};

    (void)state;
    make_folder();
    run_steps(3);
    write_and_wait(path);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    mrig_close(&rig);
    run_steps(100);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    write_and_wait(path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(steps_in(path), 3);
    mrig_close(&rig);
    remove_folder();
}

/* Nobody can have it written elsewhere. */
static void test_a_link_in_the_place_of_the_draft(void **state)
{
    char victim[128];
    struct stat s;

    (void)state;
    make_folder();
    snprintf(victim, sizeof(victim), "%s/victim", folder);
    assert_int_equal(symlink(victim, part), 0);
    run_steps(1);
    write_and_wait(path);
    assert_int_equal(steps_in(path), -1);
    assert_int_not_equal(lstat(victim, &s), 0);
    unlink(part);
    mrig_close(&rig);
    remove_folder();
}

/* ---- Crashes ------------------------------------------------------------- */

static void fault(void)
{
    char *page =
        mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    *(volatile char *)page = 1;
}

/* The process ends as it would have, and the file is there. */
static void assert_crash_leaves(int number, void (*crash)(void))
{
    int status;
    pid_t child;

    make_folder();
    run_steps(4);
    child = fork();
    if (child == 0) {
        const struct rlimit none = {0, 0};

        (void)!setrlimit(RLIMIT_CORE, &none);
        for (int i = 1; i < 32; i++) /* not the test's own handlers */
            signal(i, SIG_DFL);
        (void)open_recorder(path, true);
        if (crash)
            crash();
        else
            raise(number);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), number);
    assert_int_equal(steps_in(path), 4);
    mrig_close(&rig);
    remove_folder();
}

static void test_crashes(void **state)
{
    (void)state;
    assert_crash_leaves(SIGABRT, abort);
    assert_crash_leaves(SIGSEGV, fault);
    assert_crash_leaves(SIGBUS, NULL);
    assert_crash_leaves(SIGFPE, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_is_whole),
        cmocka_unit_test(test_reasons_that_come_together_share_a_file),
        cmocka_unit_test(test_without_a_file_nothing_is_written),
        cmocka_unit_test(test_names_that_cannot_be_written),
        cmocka_unit_test(test_a_name_that_is_too_long),
        cmocka_unit_test(test_a_disk_that_is_full_halfway),
        cmocka_unit_test(test_a_link_in_the_place_of_the_draft),
        cmocka_unit_test(test_crashes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
