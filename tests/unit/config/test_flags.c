/*
 * test_flags.c - config/flags.c: good and bad configurations.
 *
 * A bad one must end with the right exit code and exactly one line that names
 * the place, the value and the fix.  What TF_CONFIG may say is test_cluster.c.
 */
#define _GNU_SOURCE 1 /* mkstemp() */
#include "tests/unit/config/flags_rig.h"

static const struct {
    const char *args[ARGS_MAX];
    const char *tf_config;
    const char *job;
    int task;
    int port;
} good[] = {
    {{NULL}, NULL, "local", 0, 2222},
    {{NULL}, "", "local", 0, 2222},
    {{NULL}, "{}", "local", 0, 2222},
    {{NULL}, TF_PS, "ps", 1, 2},
    {{"--job_name=ps", CLUSTER, "--task_index=0"}, NULL, "ps", 0, 1},
    {{"--job_name", "ps", CLUSTER, "--task_index", "1"}, NULL, "ps", 1, 2},
    {{"--job_name=worker", CLUSTER}, NULL, "worker", 0, 3},
    {{"--job_name=evaluator", CLUSTER}, NULL, "evaluator", 0, 2222},
    {{"--cluster_spec={\"ps\":[\"a:1\"]}"}, NULL, "ps", 0, 1},
    {{"--cluster_spec={\"ps\":{\"4\":\"a:9\"}}", "--task_index=4"},
     NULL,
     "ps",
     4,
     9},
    {{"--ps_hosts=", "--worker_hosts=c:3"}, NULL, "worker", 0, 3},
    {{"--ps_hosts=localhost:0"}, NULL, "ps", 0, 0},
    {{"--port=0"}, NULL, "local", 0, 0},
    {{"--port", "65535"}, NULL, "local", 0, 65535},
    {{CLUSTER, "--job_name=ps", "--task_index=1"}, TF_PS, "ps", 1, 2},
    {{"--job_name=worker", "--task_index=0"},
     "{\"cluster\":{\"worker\":[\"a:7\",\"b:8\"]}}",
     "worker",
     0,
     7},
    {{"--job_name=master"},
     "{\"cluster\":{\"chief\":[\"a:7\"],\"ps\":[\"b:8\"]},"
     "\"task\":{\"type\":\"chief\",\"index\":0}}",
     "chief",
     0,
     7},
    {{"--port=5000", "--bind=any"}, TF_PS, "ps", 1, 5000},
    {{"--port=2"}, TF_PS, "ps", 1, 2},
    {{"--job_name=worker"}, NULL, "worker", 0, 2222},
    {{"--train=m.meta", "--max_steps=5", "--save_secs=0"},
     NULL,
     "local",
     0,
     2222},
    {{"--noprint_config", "--check_config=false"}, NULL, "local", 0, 2222},
    {{"--port=1", "--port=2"}, NULL, "local", 0, 2},
    {{"--chief_hosts=d:1", CLUSTER, "--job_name=chief"}, NULL, "chief", 0, 1},
};

static void test_good_command_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        struct result r;

        run(&r, good[i].args, good[i].tf_config);
        if (r.code != TFD_FLAGS_RUN)
            fail_msg("case %zu: %s", i, r.err);
        assert_string_equal(r.err, "");
        assert_string_equal(r.config.cluster.job_name, good[i].job);
        assert_int_equal(r.config.cluster.task_index, good[i].task);
        assert_int_equal(r.config.port, good[i].port);
        tfd_config_deinit(&r.config);
    }
}

/* place, value and a piece of the fix must all be in the one line. */
static const struct bad {
    const char *args[ARGS_MAX];
    const char *tf_config;
    int code;
    const char *place;
    const char *value;
    const char *fix;
} bad[] = {
    {{"--prot=1"}, NULL, 64, "--prot", "", "--port"},
    {{"--job-name=ps"}, NULL, 64, "--job-name", "", "--job_name"},
    {{"-port=1"}, NULL, 64, "-port", "", "--port"},
    {{"--xyzzy"}, NULL, 64, "--xyzzy", "", "--help"},
    {{"--nohelpp"}, NULL, 64, "--nohelpp", "", "--help"},
    {{"worker"}, NULL, 64, "worker", "", "--port=2222"},
    {{"--port"}, NULL, 64, "--port", "", "--port=PORT"},
    {{"--port", "--bind=any"}, NULL, 64, "--port", "", "--port=PORT"},
    {{"--noport"}, NULL, 64, "--noport", "", "--port"},
    {{"--port=abc"}, NULL, 78, "--port", "abc", "0 to 65535"},
    {{"--port=65536"}, NULL, 78, "--port", "65536", "0 to 65535"},
    {{"--port=-1"}, NULL, 78, "--port", "-1", "0 to 65535"},
    {{"--port="}, NULL, 78, "--port", "", "0 to 65535"},
    {{"--port=99999999999999999999"}, NULL, 78, "--port", "9999", "0 to"},
    {{"--port=1\n2"}, NULL, 78, "--port", "1\\x0a2", "0 to 65535"},
    {{"--port=\xc2\x9b"
      "2J"},
     NULL,
     78,
     "--port",
     "= \\xc2\\x9b2J:",
     "65535"},
    {{"--port=\x9b\xc3\xa9"}, NULL, 78, "--port", "= \\x9b\xc3\xa9:", "65535"},
    {{"--bind="}, NULL, 78, "--bind", "", "ADDR"},
    {{"--protocol=grpc+verbs"}, NULL, 78, "--protocol", "verbs", "give grpc"},
    {{"--peer_wait=soon"}, NULL, 78, "--peer_wait", "soon", "60s"},
    {{"--peer_wait=-1s"}, NULL, 78, "--peer_wait", "-1s", "60s"},
    {{"--peer_wait=1.5s"}, NULL, 78, "--peer_wait", "1.5s", "250ms"},
    {{"--peer_wait=60 s"}, NULL, 78, "--peer_wait", "60 s", "60s"},
    {{"--peer_wait=99999999d"}, NULL, 78, "--peer_wait", "99999999d", "10"},
    {{"--drain_timeout=1w"}, NULL, 78, "--drain_timeout", "1w", "5m"},
    {{"--stopped_code=256"}, NULL, 78, "--stopped_code", "256", "0 to 255"},
    {{"--stopped_code=-1"}, NULL, 78, "--stopped_code", "-1", "0 to 255"},
    {{"--stopped_code=TERM"}, NULL, 78, "--stopped_code", "TERM", "0 to"},
    {{"--exit_when=done"}, NULL, 78, "--exit_when", "done", "workers-exit"},
    {{"--exit_when=idle:"}, NULL, 78, "--exit_when", "idle:", "60s"},
    {{"--log_level=loud"}, NULL, 78, "--log_level", "loud", "debug"},
    {{"--slow_factor=-1"}, NULL, 78, "--slow_factor", "-1", "0 to 1000000"},
    {{"--slow_factor=1000001"}, NULL, 78, "--slow_factor", "1000001", "0 to"},
    {{"--slow_factor=ten"}, NULL, 78, "--slow_factor", "ten", "0 to 1000000"},
    {{"--threads=0"}, NULL, 78, "--threads", "0", "1 to 1024"},
    {{"--threads=1025"}, NULL, 78, "--threads", "1025", "1 to 1024"},
    {{"--memory_limit=8X"}, NULL, 78, "--memory_limit", "8X", "8G"},
    {{"--memory_limit=99999999T"}, NULL, 78, "--memory_limit", "9T", "8G"},
    {{"--device_count=2"}, NULL, 78, "--device_count", "2", "CPU:2"},
    {{"--device_count=CPU:0"}, NULL, 78, "--device_count", "CPU:0", "1 to"},
    {{"--device_count=CPU:65"}, NULL, 78, "--device_count", "CPU:65", "64"},
    {{"--device_count=TPU:1"}, NULL, 78, "--device_count", "TPU:1", "CPU:2"},
    {{"--device_count=GPU:-1"}, NULL, 78, "--device_count", "GPU", "0 to"},
    {{"--gpu_memory_fraction=2"}, NULL, 78, "--gpu_memory_fraction", "2", "1"},
    {{"--gpu_memory_fraction=x"}, NULL, 78, "--gpu_memory_fraction", "x", "1"},
    {{"--gpu_memory_limit=much"}, NULL, 78, "--gpu_memory_limit", "m", "8G"},
    {{"--gpu_visible="}, NULL, 78, "--gpu_visible", "", "N,..."},
    {{"--gpu_virtual="}, NULL, 78, "--gpu_virtual", "", "MIB"},
    {{"--device_count=CPU:1,CPU:2"}, NULL, 78, "--device_count", ",", "once"},
    {{"--device_count=CPU:1,,"}, NULL, 78, "--device_count", ",,", "CPU:2"},
    {{"--file_root="}, NULL, 78, "--file_root", "", "DIR"},
    {{"--check_config=maybe"}, NULL, 78, "--check_config", "maybe", "true"},
    {{"--max_steps=1"}, NULL, 78, "--max_steps", "1", "--train"},
    {{"--checkpoint_dir=d"}, NULL, 78, "--checkpoint_dir", "d", "--train"},
    {{"--train=m", "--max_steps=x"}, NULL, 78, "--max_steps", "x", "0 to"},
    {{"--ps_hosts=a"}, NULL, 78, "--ps_hosts[0]", "a", "a:2222"},
    {{"--ps_hosts=a:1,"}, NULL, 78, "--ps_hosts[0]", "a:1,", "comma"},
    {{"--ps_hosts=a:1,,b:2"}, NULL, 78, "--ps_hosts[1]", ",b:2", "comma"},
    {{"--ps_hosts=a:1 ,b:2"}, NULL, 78, "--ps_hosts[0]", "a:1 ", "2222"},
    {{"--ps_hosts=::1:5"}, NULL, 78, "--ps_hosts[0]", "::1:5", "[::1]:5"},
    {{"--ps_hosts=[::1]"}, NULL, 78, "--ps_hosts[0]", "[::1]", "[::1]:2222"},
    {{"--ps_hosts=[::1:5"}, NULL, 78, "--ps_hosts[0]", "[::1:5", "]:port"},
    {{"--ps_hosts=a:70000"}, NULL, 78, "--ps_hosts[0]", "70000", "host:2222"},
    {{"--ps_hosts=a:0,b:1", "--job_name=ps", "--task_index=1"},
     NULL,
     78,
     "--ps_hosts[0]",
     "a:0",
     "a:2222"},
    {{"--ps_hosts=grpc://a:1"}, NULL, 78, "--ps_hosts[0]", "://", "\"a:1\""},
    {{"--ps_hosts=:1"}, NULL, 78, "--ps_hosts[0]", ":1", "host:port"},
    {{"--ps_hosts=a/b:1"}, NULL, 78, "--ps_hosts[0]", "a/b:1", "'/'"},
    {{CLUSTER}, NULL, 78, "--job_name", "", "ps, worker"},
    {{CLUSTER, "--job_name=ps"}, NULL, 78, "--task_index", "", "0 to 1"},
    {{CLUSTER, "--job_name=ps", "--task_index=2"},
     NULL,
     78,
     "--task_index",
     "2",
     "0 to 1"},
    {{CLUSTER, "--job_name=ps", "--task_index=-1"},
     NULL,
     78,
     "--task_index",
     "-1",
     "0 to"},
    {{CLUSTER, "--job_name=PS"}, NULL, 78, "--job_name", "PS", "mean ps"},
    {{CLUSTER, "--job_name=chief"}, NULL, 78, "--job_name", "chief", "one of"},
    {{"--job_name=ps"}, NULL, 78, "--job_name", "ps", "--ps_hosts"},
    {{"--job_name=a-b"}, NULL, 78, "--job_name", "a-b", "--ps_hosts"},
    {{CLUSTER, "--chief_hosts=d:4,e:5", "--job_name=worker"},
     NULL,
     78,
     "--chief_hosts[1]",
     "e:5",
     "workers"},
    {{"--ps_hosts=a:1,A:1", "--job_name=ps", "--task_index=0"},
     NULL,
     78,
     "--ps_hosts[0]",
     "a:1",
     "--ps_hosts[1]"},
    {{CLUSTER, "--cluster_spec={\"ps\":[\"a:1\"]}"},
     NULL,
     78,
     "ps_hosts",
     "a:1,b:2",
     "keep one"},
    {{"--cluster_spec=ps"}, NULL, 78, "--cluster_spec", "ps", "quotes"},
    {{"--cluster_spec={ps:[a:1]}"}, NULL, 78, "--cluster_spec", "{", "shell"},
    {{"--cluster_spec={\"ps\":\"a:1\"}"},
     NULL,
     78,
     "--cluster_spec.ps",
     "a:1",
     "[\"host:port\"]"},
    {{CLUSTER, "--job_name=ps", "--task_index=0", "--train=m"},
     NULL,
     78,
     "--train",
     "m",
     "chief and workers"},
    {{"--port=5000"}, TF_PS, 78, "--port", "5000", "--bind"},
    {{"--job_name=worker"}, TF_PS, 78, "--job_name", "worker", "keep one"},
    {{"--task_index=0"}, TF_PS, 78, "--task_index", "0", "keep one"},
    {{"--ps_hosts=a:1,b:3", "--worker_hosts=c:3"},
     TF_PS,
     78,
     "--ps_hosts[1]",
     "b:3",
     "TF_CONFIG.cluster.ps[1]"},
    {{"--ps_hosts=a:1,b:2"},
     TF_PS,
     78,
     "--worker_hosts[0]",
     "not set",
     "TF_CONFIG.cluster.worker[0]"},
    {{"--config=/nonexistent/tfd.json"},
     NULL,
     78,
     "--config",
     "/nonexistent",
     "name a file"},
    {{"--config=/"}, NULL, 78, "--config", "/", "name a file"},
};

static void check_bad(const struct bad *b, size_t i)
{
    struct result r;

    run(&r, b->args, b->tf_config);
    if (r.code != b->code || lines_of(r.err) != 1)
        fail_msg("case %zu: exit %d: %s", i, r.code, r.err);
    if (!strstr(r.err, b->place) || !strstr(r.err, b->value) ||
        !strstr(r.err, b->fix))
        fail_msg("case %zu: no place, value or fix: %s", i, r.err);
    assert_string_equal(r.out, "");
    tfd_config_deinit(&r.config);
}

static void test_bad_command_lines_say_where_what_and_how(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        check_bad(&bad[i], i);
}

static void test_every_mistake_has_its_line(void **state)
{
    static const char *const args[ARGS_MAX] = {
        "--port=x", "--threads=y", "--ps_hosts=a", "--worker_hosts=b"};
    struct result r;

    (void)state;
    run(&r, args, NULL);
    assert_int_equal(r.code, TFD_EXIT_CONFIG);
    assert_int_equal(lines_of(r.err), 4);
    tfd_config_deinit(&r.config);
}

static void test_values_reach_their_fields(void **state)
{
    static const char *const args[ARGS_MAX] = {"--peer_wait=250ms",
                                               "--exit_when=idle:90",
                                               "--device_count=CPU:2,GPU:0",
                                               "--file_root=/a",
                                               "--file_root=/b",
                                               "--memory_limit=512MiB",
                                               "--threads=3"};
    struct result r;

    (void)state;
    run(&r, args, NULL);
    assert_int_equal(r.code, TFD_FLAGS_RUN);
    assert_int_equal(r.config.peer_wait_ms, 250);
    assert_int_equal(r.config.exit_when, TFD_EXIT_IDLE);
    assert_int_equal(r.config.exit_idle_ms, 90 * 1000);
    assert_int_equal(r.config.device_type_count, 2);
    assert_string_equal(r.config.devices[0].type, "CPU");
    assert_int_equal(r.config.devices[0].count, 2);
    assert_int_equal(r.config.devices[1].count, 0);
    assert_int_equal(r.config.file_root_count, 2);
    assert_string_equal(r.config.file_roots[1], "/b");
    assert_int_equal(r.config.memory_limit, 512 << 20);
    assert_int_equal(r.config.threads, 3);
    tfd_config_deinit(&r.config);
}

static void test_defaults(void **state)
{
    static const char *const args[ARGS_MAX] = {NULL};
    struct result r;

    (void)state;
    run(&r, args, NULL);
    assert_int_equal(r.code, TFD_FLAGS_RUN);
    assert_null(r.config.bind);
    assert_null(r.config.train);
    assert_string_equal(r.config.protocol, "grpc");
    assert_string_equal(r.config.log_level, "info");
    assert_int_equal(r.config.peer_wait_ms, 60000);
    assert_int_equal(r.config.drain_timeout_ms, 25000);
    assert_int_equal(r.config.stopped_code, 0);
    assert_int_equal(r.config.exit_when, TFD_EXIT_NEVER);
    assert_int_equal(r.config.file_root_count, 0);
    assert_true(r.config.threads >= 1);
    tfd_config_deinit(&r.config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_command_lines),
        cmocka_unit_test(test_bad_command_lines_say_where_what_and_how),
        cmocka_unit_test(test_every_mistake_has_its_line),
        cmocka_unit_test(test_values_reach_their_fields),
        cmocka_unit_test(test_defaults),
    };

    return cmocka_run_group_tests_name("flags", tests, NULL, NULL);
}
