/*
 * test_slurm.c - config/launcher/slurm.c: the cluster of a Slurm step, from its
 * variables, and what is said of variables and jobs that do not fit together.
 *
 * The expected clusters are those of TensorFlow's SlurmClusterResolver, which
 * tests/slurm compares with, too.
 */
#define _GNU_SOURCE 1 /* setenv() */
#include "tests/unit/config/flags_rig.h"

static const char *const names[] = {
    "SLURM_PROCID",        "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE",
    "SLURM_NODEID",        "SLURM_LOCALID"};

/* In the order of names; NULL: not set. */
struct step {
    const char *values[COUNT(names)];
};

static void set_step(const struct step *s)
{
    for (size_t i = 0; i < COUNT(names); i++)
        if (s && s->values[i])
            setenv(names[i], s->values[i], 1);
        else
            unsetenv(names[i]);
}

static int clear_step(void **state)
{
    (void)state;
    set_step(NULL);
    return 0;
}

#define SLURM "--cluster_from=slurm"
#define JOBS "--jobs=ps:1,chief:1,worker:2"
#define FOUR(rank, node, local)                       \
    {                                                 \
        {                                             \
            rank, "4", "n[1-2]", "2(x2)", node, local \
        }                                             \
    }

static const struct {
    struct step step;
    const char *args[ARGS_MAX];
    const char *tf_config;
    const char *job, *own;
    int task;
    int port;
} good[] = {
    {FOUR("0", "0", "0"), {SLURM, JOBS}, NULL, "chief", "n1:8888", 0, 8888},
    {FOUR("1", "0", "1"), {SLURM, JOBS}, NULL, "ps", "n1:8889", 0, 8889},
    {FOUR("2", "1", "0"), {SLURM, JOBS}, NULL, "worker", "n2:8888", 0, 8888},
    {FOUR("3", "1", "1"), {SLURM, JOBS}, NULL, "worker", "n2:8889", 1, 8889},
    {FOUR("3", "1", "1"), {SLURM}, NULL, "worker", "n2:8889", 3, 8889},
    {FOUR("3", "1", "1"),
     {"--cluster_from=auto", JOBS, "--port_base=2222"},
     NULL,
     "worker",
     "n2:2223",
     1,
     2223},
    /* What is said of this task may be said twice. */
    {FOUR("3", "1", "1"),
     {SLURM, JOBS, "--job_name=worker", "--task_index=1"},
     NULL,
     "worker",
     "n2:8889",
     1,
     8889},
    {FOUR("0", "0", "0"),
     {SLURM, JOBS, "--job_name=master"},
     NULL,
     "chief",
     "n1:8888",
     0,
     8888},
    /* One command line for all: the ps does not train. */
    {FOUR("1", "0", "1"),
     {SLURM, JOBS, "--train=m.meta", "--max_steps=5"},
     NULL,
     "ps",
     "n1:8889",
     0,
     8889},
    /* Another number of tasks on each host; names with digits of two widths. */
    {{{"4", "6", "n[9-10],m", "3,2,1", "1", "1"}},
     {SLURM, "--jobs=ps:2,worker:4"},
     NULL,
     "worker",
     "n10:8889",
     2,
     8889},
    /* Who names a cluster needs no step, and who has none, none. */
    {FOUR("3", "1", "1"),
     {"--cluster_from=auto", JOBS},
     TF_PS,
     "ps",
     "b:2",
     1,
     2},
    {FOUR("3", "1", "1"), {NULL}, TF_PS, "ps", "b:2", 1, 2},
    {FOUR("3", "1", "1"), {NULL}, NULL, "local", "", 0, 2222},
    {{{NULL}}, {"--cluster_from=auto", JOBS}, NULL, "local", "", 0, 2222},
    {{{"0", NULL, NULL, NULL, "0", "0"}},
     {"--cluster_from=auto"},
     NULL,
     "local",
     "",
     0,
     2222},
};

static void test_good_steps(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        struct result r;

        set_step(&good[i].step);
        run(&r, good[i].args, good[i].tf_config);
        if (r.code != TFD_FLAGS_RUN)
            fail_msg("case %zu: %s", i, r.err);
        assert_string_equal(r.config.cluster.job_name, good[i].job);
        assert_int_equal(r.config.cluster.task_index, good[i].task);
        assert_string_equal(tfd_cluster_own_address(&r.config.cluster),
                            good[i].own);
        assert_int_equal(r.config.port, good[i].port);
        tfd_config_deinit(&r.config);
    }
}

static void test_what_came_of_it_is_shown(void **state)
{
    static const struct step step = FOUR("3", "1", "1");
    static const char *const args[ARGS_MAX] = {SLURM, JOBS, "--print_config"};
    static const char *const lines[] = {
        "cluster_from = slurm (flag)\n",
        "jobs = ps:1,chief:1,worker:2 (flag)\n",
        "port_base = 8888 (default)\n",
        "job_name = worker (Slurm)\n",
        "task_index = 1 (Slurm)\n",
        "cluster.chief[0] = n1:8888 (Slurm)\n",
        "cluster.ps[0] = n1:8889 (Slurm)\n",
        "cluster.worker[0] = n2:8888 (Slurm)\n",
        "cluster.worker[1] = n2:8889 (Slurm) this task\n",
        "environment.SLURM_STEP_NODELIST = n[1-2] (",
    };
    struct result r;

    (void)state;
    set_step(&step);
    run(&r, args, NULL);
    assert_int_equal(r.code, TFD_EXIT_OK);
    for (size_t i = 0; i < COUNT(lines); i++)
        if (!strstr(r.out, lines[i]))
            fail_msg("no %s in %s", lines[i], r.out);
    tfd_config_deinit(&r.config);
}

/* place, value and a piece of the fix must all be in the one line. */
static const struct bad {
    struct step step;
    const char *args[ARGS_MAX];
    const char *tf_config;
    const char *place, *value, *fix;
} bad[] = {
    {{{NULL}}, {SLURM}, NULL, "SLURM_STEP_NODELIST", "not set", "srun"},
    {{{"0", "4", NULL, "4", "0", "0"}},
     {SLURM, JOBS},
     NULL,
     "SLURM_STEP_NODELIST",
     "not set",
     "srun"},
    {{{"0", "4", "n1", NULL, "0", "0"}},
     {SLURM, JOBS},
     NULL,
     "SLURM_STEP_TASKS_PER_NODE",
     "not set",
     "srun"},
    {{{"0", NULL, "n1", "4", "0", "0"}},
     {SLURM, JOBS},
     NULL,
     "SLURM_STEP_NUM_TASKS",
     "not set",
     "srun"},
    {{{NULL, "4", "n1", "4", "0", "0"}},
     {SLURM, JOBS},
     NULL,
     "SLURM_PROCID",
     "not set",
     "srun"},
    {{{"0", "4", "n1", "4", NULL, "0"}},
     {SLURM, JOBS},
     NULL,
     "SLURM_NODEID",
     "not set",
     "srun"},
    {{{"0", "4", "n1", "4", "0", NULL}},
     {SLURM, JOBS},
     NULL,
     "SLURM_LOCALID",
     "not set",
     "srun"},
    {{{"x", "4", "n1", "4", "0", "0"}},
     {SLURM, JOBS},
     NULL,
     "SLURM_PROCID",
     "x",
     "0 to 3"},
    {FOUR("4", "1", "1"), {SLURM, JOBS}, NULL, "SLURM_PROCID", "4", "0 to 3"},
    {FOUR("-1", "1", "1"), {SLURM, JOBS}, NULL, "SLURM_PROCID", "-1", "0 to"},
    {FOUR("", "1", "1"), {SLURM, JOBS}, NULL, "SLURM_PROCID", "", "0 to 3"},
    {{{"0", "0", "n1", "1", "0", "0"}},
     {SLURM},
     NULL,
     "SLURM_STEP_NUM_TASKS",
     "0",
     "1 to 10000"},
    {{{"0", "10001", "n1", "1", "0", "0"}},
     {SLURM},
     NULL,
     "SLURM_STEP_NUM_TASKS",
     "10001",
     "1 to 10000"},
    /* Dealt out in another order, as srun --distribution=cyclic does. */
    {FOUR("1", "1", "0"),
     {SLURM, JOBS},
     NULL,
     "SLURM_NODEID",
     "1",
     "--distribution=block"},
    {FOUR("2", "1", "1"),
     {SLURM, JOBS},
     NULL,
     "SLURM_LOCALID",
     "1",
     "--distribution=block"},
    {FOUR("0", "x", "0"), {SLURM, JOBS}, NULL, "SLURM_NODEID", "x", "0 to 3"},
    {FOUR("0", "0", "9"), {SLURM, JOBS}, NULL, "SLURM_LOCALID", "9", "0 to 3"},
    /* Lists that do not fit. */
    {{{"0", "4", "n[1-2", "2(x2)", "0", "0"}},
     {SLURM, JOBS},
     NULL,
     "SLURM_STEP_NODELIST",
     "n[1-2",
     "n[1-3,7],m5"},
    {{{"0", "4", "n[1-2]", "2(x2", "0", "0"}},
     {SLURM, JOBS},
     NULL,
     "SLURM_STEP_TASKS_PER_NODE",
     "2(x2",
     "2(x3),1"},
    {{{"0", "4", "n[1-2]", "2", "0", "0"}},
     {SLURM, JOBS},
     NULL,
     "SLURM_STEP_TASKS_PER_NODE",
     "2",
     "fewer tasks than the 4"},
    {{{"0", "4", "n[1-2]", "2(x3)", "0", "0"}},
     {SLURM, JOBS},
     NULL,
     "SLURM_STEP_TASKS_PER_NODE",
     "2(x3)",
     "more tasks than the 4"},
    {{{"0", "4", "n[1-2]", "3,2", "0", "0"}},
     {SLURM, JOBS},
     NULL,
     "SLURM_STEP_TASKS_PER_NODE",
     "3,2",
     "more tasks than the 4"},
    {{{"0", "4", "n[1-999999999]", "1(x999999999)", "0", "0"}},
     {SLURM, JOBS},
     NULL,
     "SLURM_STEP_TASKS_PER_NODE",
     "1(x999999999)",
     "more tasks than the 4"},
    {{{"0", "4", "n[1-999999999]", "1(x4)", "0", "0"}},
     {SLURM, JOBS},
     NULL,
     "SLURM_STEP_TASKS_PER_NODE",
     "1(x4)",
     "fewer tasks"},
    {{{"0", "4", "", "4", "0", "0"}},
     {SLURM, JOBS},
     NULL,
     "SLURM_STEP_TASKS_PER_NODE",
     "4",
     "more tasks"},
    {{{"0", "4", "n 1", "4", "0", "0"}},
     {SLURM, JOBS},
     NULL,
     "SLURM_STEP_NODELIST",
     "n 1:8888",
     "' '"},
    {{{"0", "4", "n1,n1", "2(x2)", "0", "0"}},
     {SLURM, JOBS},
     NULL,
     "SLURM_STEP_NODELIST",
     "n1:888",
     "same address"},
    /* Ports. */
    {FOUR("0", "0", "0"),
     {SLURM, JOBS, "--port_base=65535"},
     NULL,
     "SLURM_STEP_TASKS_PER_NODE",
     "2(x2)",
     "--port_base"},
    {FOUR("0", "0", "0"),
     {SLURM, JOBS, "--port_base=0"},
     NULL,
     "--port_base",
     "0",
     "1 to 65535"},
    {FOUR("0", "0", "0"),
     {SLURM, JOBS, "--port_base=x"},
     NULL,
     "--port_base",
     "x",
     "1 to 65535"},
    /* Jobs. */
    {FOUR("0", "0", "0"),
     {SLURM, "--jobs=ps:1,worker:2"},
     NULL,
     "--jobs",
     "ps:1,worker:2",
     "SLURM_STEP_NUM_TASKS is 4; give srun --ntasks=3"},
    {FOUR("0", "0", "0"),
     {SLURM, "--jobs=ps:1,ps:3"},
     NULL,
     "--jobs",
     "ps:1,ps:3",
     "twice"},
    {FOUR("0", "0", "0"), {SLURM, "--jobs=ps"}, NULL, "--jobs", "ps", "ps:1,"},
    {FOUR("0", "0", "0"), {SLURM, "--jobs="}, NULL, "--jobs", "", "ps:1,"},
    {FOUR("0", "0", "0"), {SLURM, "--jobs=:4"}, NULL, "--jobs", ":4", "ps:1,"},
    {FOUR("0", "0", "0"), {SLURM, "--jobs=ps:"}, NULL, "--jobs", "ps:", "1 to"},
    {FOUR("0", "0", "0"), {SLURM, "--jobs=ps:0"}, NULL, "--jobs", "0", "1 to"},
    {FOUR("0", "0", "0"), {SLURM, "--jobs=ps:-4"}, NULL, "--jobs", "4", "1 to"},
    {FOUR("0", "0", "0"),
     {SLURM, "--jobs=ps:4,"},
     NULL,
     "--jobs",
     "ps:4,",
     "comma"},
    {FOUR("0", "0", "0"),
     {SLURM, "--jobs=,ps:4"},
     NULL,
     "--jobs",
     ",ps:4",
     "ps:1,"},
    {FOUR("0", "0", "0"),
     {SLURM, "--jobs=ps:99999999999999999999"},
     NULL,
     "--jobs",
     "9999",
     "ps:1,"},
    {FOUR("0", "0", "0"),
     {SLURM, "--jobs=ps_hosts:4"},
     NULL,
     "SLURM_STEP_NODELIST",
     "n1:8888",
     "name the job \"ps\""},
    {FOUR("0", "0", "0"),
     {SLURM, "--jobs=chief:2,worker:2"},
     NULL,
     "SLURM_STEP_NODELIST.chief[1]",
     "n1:8889",
     "only one \"chief\""},
    /* Two say something. */
    {FOUR("3", "1", "1"),
     {SLURM, JOBS},
     TF_PS,
     "--cluster_from",
     "slurm",
     "TF_CONFIG names a cluster too"},
    {FOUR("3", "1", "1"),
     {SLURM, JOBS, CLUSTER},
     NULL,
     "--cluster_from",
     "slurm",
     "another flag"},
    {FOUR("3", "1", "1"),
     {SLURM, JOBS, "--job_name=ps"},
     NULL,
     "--job_name",
     "ps",
     "this is worker"},
    {FOUR("3", "1", "1"),
     {SLURM, JOBS, "--task_index=0"},
     NULL,
     "--task_index",
     "0",
     "this is 1"},
    {FOUR("3", "1", "1"),
     {SLURM, JOBS},
     "{\"task\":{\"type\":\"ps\",\"index\":1}}",
     "TF_CONFIG (job_name)",
     "ps",
     "this is worker"},
    {FOUR("3", "1", "1"), {JOBS}, NULL, "--jobs", "ps:1", "--cluster_from"},
    {FOUR("3", "1", "1"),
     {"--cluster_from=pbs"},
     NULL,
     "--cluster_from",
     "pbs",
     "slurm, auto"},
    {FOUR("3", "1", "1"),
     {SLURM, JOBS, "--port=5"},
     NULL,
     "--port",
     "5",
     "n2:8889"},
};

static void check_bad(const struct bad *b, size_t i)
{
    struct result r;

    set_step(&b->step);
    run(&r, b->args, b->tf_config);
    if (r.code != TFD_EXIT_CONFIG || lines_of(r.err) != 1)
        fail_msg("case %zu: exit %d: %s", i, r.code, r.err);
    if (!strstr(r.err, b->place) || !strstr(r.err, b->value) ||
        !strstr(r.err, b->fix))
        fail_msg("case %zu: no place, value or fix: %s", i, r.err);
    tfd_config_deinit(&r.config);
}

static void test_bad_steps_say_where_what_and_how(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        check_bad(&bad[i], i);
}

static void test_a_job_more_than_there_may_be(void **state)
{
    static const struct step step = FOUR("0", "0", "0");
    char jobs[1000] = "--jobs=";
    const char *args[ARGS_MAX] = {SLURM, jobs};
    struct result r;

    (void)state;
    for (int i = 0; i <= TFD_JOBS_MAX; i++)
        tfd_report_path(jobs, sizeof(jobs), "%sj%d:1", i ? "," : "", i);
    set_step(&step);
    run(&r, args, NULL);
    assert_int_equal(r.code, TFD_EXIT_CONFIG);
    assert_non_null(strstr(r.err, "more than 64 jobs"));
    tfd_config_deinit(&r.config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_good_steps, clear_step),
        cmocka_unit_test_teardown(test_what_came_of_it_is_shown, clear_step),
        cmocka_unit_test_teardown(test_bad_steps_say_where_what_and_how,
                                  clear_step),
        cmocka_unit_test_teardown(test_a_job_more_than_there_may_be,
                                  clear_step),
    };

    return cmocka_run_group_tests_name("slurm", tests, NULL, NULL);
}
