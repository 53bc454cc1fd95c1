/*
 * test_flags_files.c - config/flags.c: options from files, what --print_config
 * shows of them, and values that are held against this machine.
 */
#define _GNU_SOURCE 1 /* mkstemp() */
#include "tests/unit/config/flags_rig.h"

/* Writes text to a file in the working directory of the test. */
static void write_file(char *name, const char *text)
{
    FILE *f;

    memcpy(name, "/tmp/tfd_test_XXXXXX", 21);
    f = fdopen(mkstemp(name), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void run_file(struct result *r, const char *text, const char *flag,
                     const char *tf_config)
{
    char name[32];
    char option[64];
    const char *args[ARGS_MAX] = {option, flag};

    write_file(name, text);
    snprintf(option, sizeof(option), "--config=%s", name);
    run(r, args, tf_config);
    remove(name);
}

static void test_file_ranks_below_flags_and_tf_config(void **state)
{
    struct result r;

    (void)state;
    run_file(&r,
             "{\"job_name\": \"ps\", \"task_index\": 1, \"threads\": 5,"
             " \"ps_hosts\": [\"x:1\", \"y:2\"], \"worker_hosts\": \"z:3\","
             " \"file_root\": [\"/a\", \"/b\"], \"check_config\": false}",
             "--threads=4", NULL);
    if (r.code != TFD_FLAGS_RUN)
        fail_msg("%s", r.err);
    assert_string_equal(tfd_cluster_own_address(&r.config.cluster), "y:2");
    assert_int_equal(r.config.threads, 4);
    assert_int_equal(r.config.file_root_count, 2);
    tfd_config_deinit(&r.config);

    run_file(&r,
             "{\"job_name\": \"worker\", \"port\": 77,"
             " \"cluster_spec\": {\"worker\": [\"x:1\"]}}",
             NULL, TF_PS);
    if (r.code != TFD_FLAGS_RUN)
        fail_msg("%s", r.err);
    assert_string_equal(r.config.cluster.job_name, "ps");
    assert_int_equal(r.config.port, 2);
    tfd_config_deinit(&r.config);
}

static void test_bad_files_name_file_and_key(void **state)
{
    static const struct {
        const char *text;
        const char *place;
        const char *fix;
    } cases[] = {
        {"{\"prot\": 1}", ": prot = 1", "\"port\""},
        {"{\"xyzzy\": 1}", ": xyzzy = 1", "--help"},
        {"{\"port\": []}", ": port = []", "--port=PORT"},
        {"{\"port\": null}", ": port = null", "--port=PORT"},
        {"{\"port\": 70000}", ": port = 70000", "0 to 65535"},
        {"{\"config\": \"x\"}", ": config", "once"},
        {"{\"ps_hosts\": [\"a\"]}", ": ps_hosts[0] = a", "a:2222"},
        {"{\"ps_hosts\": [1]}", ": ps_hosts = [1]", "[\"...\"]"},
        {"{\"cluster_spec\": {\"ps\": [\"a\"]}}", ": cluster_spec.ps[0]",
         "a:2222"},
        {"{\"port\": 1, \"port\": 2}", "line 1", "once"},
        {"{\"port\": 1", "line 1", "there"},
        {"[]", "= []", "{...}"},
        {"", "line 1", "quote"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct result r;

        run_file(&r, cases[i].text, NULL, NULL);
        if (r.code != TFD_EXIT_CONFIG || lines_of(r.err) != 1 ||
            !strstr(r.err, "/tmp/tfd_test_") ||
            !strstr(r.err, cases[i].place) || !strstr(r.err, cases[i].fix))
            fail_msg("case %zu: exit %d: %s", i, r.code, r.err);
        tfd_config_deinit(&r.config);
    }
}

static void test_print_config_names_origins(void **state)
{
    static const char *const args[ARGS_MAX] = {"--print_config", "--threads=2"};
    struct result r;

    (void)state;
    run(&r, args, TF_PS);
    assert_int_equal(r.code, TFD_EXIT_OK);
    assert_non_null(strstr(r.out, "threads = 2 (flag)"));
    assert_non_null(strstr(r.out, "job_name = ps (TF_CONFIG)"));
    assert_non_null(strstr(r.out, "peer_wait = 60s (default)"));
    assert_non_null(strstr(r.out, "cluster.ps[1] = b:2 (TF_CONFIG) this task"));
    tfd_config_deinit(&r.config);
}

static void test_questions_are_answered_with_exit_0(void **state)
{
    static const struct {
        const char *arg;
        const char *answer;
    } cases[] = {
        {"--help", "--peer_wait=DURATION"},
        {"--help", "own name to"},
        {"--help", "138 a task or the own name stayed away"},
        {"-h", "usage: tfd"},
        {"--version", "tfd 0"},
        {"--check_config", "good"},
        {"--print_config", "port = "},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *const args[ARGS_MAX] = {cases[i].arg};
        struct result r;

        run(&r, args, NULL);
        assert_int_equal(r.code, TFD_EXIT_OK);
        assert_non_null(strstr(r.out, cases[i].answer));
        assert_string_equal(r.err, "");
        tfd_config_deinit(&r.config);
    }
}

#define PS_AT "--job_name=ps", "--ps_hosts=192.0.2.1:5"
#define TWO_AT "--job_name=ps", "--ps_hosts=127.0.0.1:5"

/* What a start would stumble over. */
static void test_the_host_is_checked_when_asked_for(void **state)
{
    static const struct {
        const char *args[4];
        const char *place, *value, *why;
    } cases[] = {
        {{"--file_root=/no/such"}, "--file_root", "/no/such", "No such file"},
        {{"--file_root=/", "--file_root=/dev/null"},
         "--file_root",
         "/dev/null",
         "Not a directory"},
        {{"--bind=192.0.2.1"}, "--bind", "192.0.2.1", "not an address of"},
        {{PS_AT, NULL}, "--ps_hosts[0]", "192.0.2.1:5", "not an address of"},
        {{TWO_AT, "--worker_hosts=127.0.0.1:5"},
         "--ps_hosts[0]",
         "127.0.0.1:5",
         "--worker_hosts[0] has the same address"},
        {{"--port_file=/no/such/port"}, "--port_file", "/no/such/port", "No"},
        {{"--port_file=/"}, "--port_file", "/", "Is a directory"},
        {{"--flight_recorder=/no/such/f"},
         "--flight_recorder",
         "/no/such/f",
         "No such file"},
        {{"--flight_recorder=/"}, "--flight_recorder", "/", "Is a directory"},
        {{"--train=/no/such"}, "--train", "/no/such", "No such file"},
        {{"--train=/"}, "--train", "/", "not a regular file"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *args[ARGS_MAX] = {"--check_config"};
        struct result r;

        for (size_t k = 0; k < COUNT(cases[i].args) && cases[i].args[k]; k++)
            args[k + 1] = cases[i].args[k];
        run(&r, args, NULL);
        assert_int_equal(r.code, TFD_EXIT_CONFIG);
        assert_int_equal(lines_of(r.err), 1);
        assert_non_null(strstr(r.err, cases[i].place));
        assert_non_null(strstr(r.err, cases[i].value));
        assert_non_null(strstr(r.err, cases[i].why));
        assert_string_equal(r.out, "");
        tfd_config_deinit(&r.config);
    }
}

/* The chief makes its directory; a start does not look at what it will need. */
static void test_what_is_there_or_will_be_is_good(void **state)
{
    static const char *const cases[][4] = {
        {"--file_root=/", "--file_root=/tmp"},
        {"--port_file=/dev/null"},
        {"--flight_recorder=/tmp/not-yet-there"},
        {"--train=/proc/self/exe", "--job_name=chief",
         "--chief_hosts=127.0.0.1:5", "--checkpoint_dir=/tmp/not/yet/there"},
        {TWO_AT, "--worker_hosts=127.0.0.1:6"},
        {"--bind=localhost"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *args[ARGS_MAX] = {"--check_config"};
        struct result r;

        for (size_t k = 0; k < COUNT(cases[i]) && cases[i][k]; k++)
            args[k + 1] = cases[i][k];
        run(&r, args, NULL);
        assert_string_equal(r.err, "");
        assert_int_equal(r.code, TFD_EXIT_OK);
        assert_non_null(strstr(r.out, "good: "));
        tfd_config_deinit(&r.config);
    }
}

static void test_a_checkpoint_dir_may_be_a_file_uri(void **state)
{
    static const struct {
        const char *given, *dir; /* NULL: refused */
    } cases[] = {
        {"--checkpoint_dir=file:///a/b", "/a/b"},
        {"--checkpoint_dir=file://host/a", "/a"},
        {"--checkpoint_dir=/a/b", "/a/b"},
        {"--checkpoint_dir=file://", NULL},
        {"--checkpoint_dir=file://host", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *args[ARGS_MAX] = {"--train=m", cases[i].given};
        struct result r;

        run(&r, args, NULL);
        if (cases[i].dir)
            assert_string_equal(r.config.checkpoint_dir, cases[i].dir);
        else
            assert_non_null(strstr(r.err, "--checkpoint_dir"));
        tfd_config_deinit(&r.config);
    }
}

static void test_help_fits_into_80_columns(void **state)
{
    static const char *const args[ARGS_MAX] = {"--help"};
    struct result r;
    char *line;

    (void)state;
    run(&r, args, NULL);
    for (line = strtok(r.out, "\n"); line; line = strtok(NULL, "\n"))
        assert_in_range(strlen(line), 1, 80);
    tfd_config_deinit(&r.config);
}

static void test_too_many_roots_are_refused(void **state)
{
    char *argv[TFD_FILE_ROOTS_MAX + 2];
    struct tfd_config c;
    FILE *err = tmpfile();
    char text[400];

    (void)state;
    for (size_t i = 0; i < TFD_FILE_ROOTS_MAX + 2; i++)
        argv[i] = (char *)(uintptr_t) "--file_root=/x";
    assert_int_equal(
        tfd_flags_parse(&c, TFD_FILE_ROOTS_MAX + 1, argv, NULL, err, err),
        TFD_FLAGS_RUN);
    tfd_config_deinit(&c);
    assert_int_equal(
        tfd_flags_parse(&c, TFD_FILE_ROOTS_MAX + 2, argv, NULL, err, err),
        TFD_EXIT_USAGE);
    tfd_config_deinit(&c);
    read_back(err, text, sizeof(text));
    assert_non_null(strstr(text, "--file_root = /x: given more than 16"));
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_ranks_below_flags_and_tf_config),
        cmocka_unit_test(test_bad_files_name_file_and_key),
        cmocka_unit_test(test_print_config_names_origins),
        cmocka_unit_test(test_questions_are_answered_with_exit_0),
        cmocka_unit_test(test_the_host_is_checked_when_asked_for),
        cmocka_unit_test(test_what_is_there_or_will_be_is_good),
        cmocka_unit_test(test_a_checkpoint_dir_may_be_a_file_uri),
        cmocka_unit_test(test_help_fits_into_80_columns),
        cmocka_unit_test(test_too_many_roots_are_refused),
    };

    return cmocka_run_group_tests_name("flags_files", tests, NULL, NULL);
}
