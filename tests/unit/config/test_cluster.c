/*
 * test_cluster.c - clusters from TF_CONFIG in every dialect that launchers
 * write, and in every way in which people get it wrong.
 */
#include "config/cluster.h"
#include "config/tf_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct result {
    struct tfd_tf_config tf;
    struct tfd_report errors;
    struct tfd_report notes;
};

/* What flags.c does with TF_CONFIG alone. */
static bool run(struct result *r, const char *text)
{
    struct tfd_cluster_self self = {NULL, "TF_CONFIG.task.type", -1,
                                    "TF_CONFIG.task.index", false};

    tfd_report_init(&r->errors);
    tfd_report_init(&r->notes);
    tfd_tf_config_init(&r->tf);
    if (!tfd_tf_config_parse(text, strlen(text), &r->tf, &r->errors, &r->notes))
        return false;
    self.job = r->tf.has_job ? r->tf.job_name : NULL;
    self.index = r->tf.task_index;
    self.alone = r->tf.alone;
    return tfd_cluster_choose(&r->tf.cluster, &self, &r->errors);
}

#define TASK(type, index) \
    ",\"task\":{\"type\":\"" type "\",\"index\":" index "}}"
#define PS_WORKER                         \
    "{\"cluster\":{\"ps\":[\"p0:2222\"]," \
    "\"worker\":[\"w0:2222\",\"w1:2222\"]}"
#define CHIEF_WORKER                         \
    "{\"cluster\":{\"chief\":[\"c0:2222\"]," \
    "\"worker\":[\"w0:2222\",\"w1:2222\"]}"

static const struct {
    const char *text;
    const char *job;
    int index;
    const char *address;
    size_t tasks;
    enum tfd_role role;
} good[] = {
    /* nothing, or a process alone */
    {"", "local", 0, "", 1, TFD_ROLE_OTHER},
    {" \n", "local", 0, "", 1, TFD_ROLE_OTHER},
    {"{}", "local", 0, "", 1, TFD_ROLE_OTHER},
    {"{\"cluster\":{}}", "local", 0, "", 1, TFD_ROLE_OTHER},
    {"{\"task\":{\"type\":\"worker\",\"index\":0}}", "worker", 0, "", 1,
     TFD_ROLE_CHIEF},
    {"{\"cluster\":{}" TASK("chief", "0"), "chief", 0, "", 1, TFD_ROLE_CHIEF},
    {"{\"cluster\":null" TASK("ps", "3"), "ps", 3, "", 1, TFD_ROLE_PS},
    {"{\"environment\":\"cloud\"}", "local", 0, "", 1, TFD_ROLE_OTHER},
    /* one job with one task needs no task */
    {"{\"cluster\":{\"worker\":[\"w0:2222\"]}}", "worker", 0, "w0:2222", 1,
     TFD_ROLE_CHIEF},
    /* the common ones */
    {PS_WORKER TASK("ps", "0"), "ps", 0, "p0:2222", 3, TFD_ROLE_PS},
    {PS_WORKER TASK("worker", "0"), "worker", 0, "w0:2222", 3, TFD_ROLE_CHIEF},
    {PS_WORKER TASK("worker", "1"), "worker", 1, "w1:2222", 3, TFD_ROLE_WORKER},
    {CHIEF_WORKER TASK("worker", "0"), "worker", 0, "w0:2222", 3,
     TFD_ROLE_WORKER},
    {CHIEF_WORKER TASK("chief", "0"), "chief", 0, "c0:2222", 3, TFD_ROLE_CHIEF},
    /* one task of the job: no index needed */
    {PS_WORKER ",\"task\":{\"type\":\"ps\"}}", "ps", 0, "p0:2222", 3,
     TFD_ROLE_PS},
    /* index as text, as real */
    {PS_WORKER TASK("worker", "\"1\""), "worker", 1, "w1:2222", 3,
     TFD_ROLE_WORKER},
    {PS_WORKER TASK("worker", "1.0"), "worker", 1, "w1:2222", 3,
     TFD_ROLE_WORKER},
    /* master is chief, both ways */
    {CHIEF_WORKER TASK("master", "0"), "chief", 0, "c0:2222", 3,
     TFD_ROLE_CHIEF},
    {"{\"cluster\":{\"master\":[\"m:1\"],\"ps\":[\"p:1\"]}" TASK("chief", "0"),
     "master", 0, "m:1", 2, TFD_ROLE_CHIEF},
    /* evaluator inside, outside, and further ones */
    {"{\"cluster\":{\"chief\":[\"c:1\"],\"evaluator\":[\"e:1\"]}" TASK(
         "evaluator", "0"),
     "evaluator", 0, "e:1", 2, TFD_ROLE_EVALUATOR},
    {CHIEF_WORKER TASK("evaluator", "0"), "evaluator", 0, "", 4,
     TFD_ROLE_EVALUATOR},
    {"{\"cluster\":{\"chief\":[\"c:1\"],\"evaluator\":[\"e:1\"]}" TASK(
         "evaluator", "7"),
     "evaluator", 7, "", 3, TFD_ROLE_EVALUATOR},
    /* maps, and gaps in them */
    {"{\"cluster\":{\"worker\":{\"1\":\"w1:1\",\"5\":\"w5:1\"}}" TASK("worker",
                                                                      "5"),
     "worker", 5, "w5:1", 2, TFD_ROLE_WORKER},
    /* Kubeflow, enableDynamicWorker */
    {"{\"cluster\":{\"ps\":[\"p0:1\",\"p1:1\"],\"worker\":{\"3\":"
     "\"w3:1\"}}" TASK("worker", "3"),
     "worker", 3, "w3:1", 3, TFD_ROLE_WORKER},
    {"{\"sparseCluster\":{\"ps\":[\"p0:1\"],\"worker\":{\"2\":"
     "\"w2:1\"}}" TASK("worker", "2"),
     "worker", 2, "w2:1", 2, TFD_ROLE_WORKER},
    {"{\"sparseCluster\":{\"ps\":[\"p4:1\"],\"worker\":{}}" TASK("ps", "4"),
     "ps", 4, "p4:1", 1, TFD_ROLE_PS},
    {"{\"cluster\":{\"ps\":[\"p4:1\"],\"worker\":null}" TASK("ps", "4"), "ps",
     4, "p4:1", 1, TFD_ROLE_PS},
    /* empty jobs do not exist */
    {"{\"cluster\":{\"ps\":[],\"worker\":[\"w0:1\"]}" TASK("worker", "0"),
     "worker", 0, "w0:1", 1, TFD_ROLE_CHIEF},
    /* Google's service: trial, cloud, job */
    {"{\"cluster\":{\"chief\":[\"cmle-training-chief-4a-0:2222\"]},"
     "\"environment\":\"cloud\",\"job\":{\"args\":[\"--x\"],\"region\":"
     "\"r\"},\"task\":{\"type\":\"chief\",\"index\":0,\"trial\":\"1\","
     "\"cloud\":\"id\"}}",
     "chief", 0, "cmle-training-chief-4a-0:2222", 1, TFD_ROLE_CHIEF},
    /* Estimator's keys, rpc_layer */
    {"{\"cluster\":{\"chief\":[\"c:1\"]},\"rpc_layer\":\"grpc\","
     "\"model_dir\":\"/m\",\"service\":{},\"session_master\":\"x\"" TASK(
         "chief", "0"),
     "chief", 0, "c:1", 1, TFD_ROLE_CHIEF},
    /* the master listed as a worker too, seen from the master */
    {"{\"cluster\":{\"master\":[\"a:1\"],\"worker\":[\"a:1\",\"b:1\"]"
     "}" TASK("master", "0"),
     "master", 0, "a:1", 3, TFD_ROLE_CHIEF},
    /* addresses */
    {"{\"cluster\":{\"ps\":[\"[::1]:2222\"]}}", "ps", 0, "[::1]:2222", 1,
     TFD_ROLE_PS},
    {"{\"cluster\":{\"ps\":[\"localhost:0\"]}}", "ps", 0, "localhost:0", 1,
     TFD_ROLE_PS},
    {"{\"cluster\":{\"ps\":[\"job-ps-0.ns.svc.cluster.local:2222\"]}}", "ps", 0,
     "job-ps-0.ns.svc.cluster.local:2222", 1, TFD_ROLE_PS},
    {"{\"cluster\":{\"trainer\":[\"10.0.0.1:65535\"]}}", "trainer", 0,
     "10.0.0.1:65535", 1, TFD_ROLE_OTHER},
    /* an unknown key far from every known one is another launcher's */
    {"{\"cluster\":{\"ps\":[\"a:1\"]},\"x-launcher\":{\"deep\":[[]]}}", "ps", 0,
     "a:1", 1, TFD_ROLE_PS},
};

static void test_every_dialect_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        struct result r;

        if (!run(&r, good[i].text))
            fail_msg("case %zu: %s", i, r.errors.lines[0]);
        assert_string_equal(r.tf.cluster.job_name, good[i].job);
        assert_int_equal(r.tf.cluster.task_index, good[i].index);
        assert_string_equal(tfd_cluster_own_address(&r.tf.cluster),
                            good[i].address);
        assert_int_equal(r.tf.cluster.task_count, good[i].tasks);
        assert_int_equal(tfd_cluster_role(&r.tf.cluster), good[i].role);
        tfd_tf_config_deinit(&r.tf);
    }
}

/* Each gives one line with all three pieces. */
static const struct bad {
    const char *text;
    const char *place;
    const char *value;
    const char *fix;
} bad[] = {
    /* not JSON, or not an object */
    {"null", "TF_CONFIG", "null", "{...}"},
    {"[]", "TF_CONFIG", "[]", "{...}"},
    {"\"x\"", "TF_CONFIG", "\"x\"", "{...}"},
    {"{", "TF_CONFIG line 1 column 1", "{", "shell"},
    {"{'cluster':{}}", "TF_CONFIG line 1", "{'", "double quotes"},
    {"{cluster:{ps:[a:1]}}", "TF_CONFIG line 1", "{", "shell"},
    {"{\"cluster\":{}} x", "TF_CONFIG line 1", "x", "there"},
    {"{\"cluster\":{},\n}", "TF_CONFIG line 2", "}", "there"},
    {"{\"a\":\"\xff\"}", "TF_CONFIG line 1", "\"a\"", "there"},
    {"{\"a\":\"\\u0000\"}", "TF_CONFIG line 1", "u0000", "there"},
    {"{\"task\":{},\"task\":{}}", "TF_CONFIG line 1", "\"task\"", "once"},
    {"{\"cluster\":{\"ps\":[\"a:1\"],\"ps\":[\"b:1\"]}}", "line 1", "\"ps\"",
     "once"},
    /* keys */
    {"{\"clutser\":{}}", "TF_CONFIG.clutser", "{}", "\"cluster\""},
    {"{\"Cluster\":{}}", "TF_CONFIG.Cluster", "{}", "\"cluster\""},
    {"{\"tasks\":{}}", "TF_CONFIG.tasks", "{}", "\"task\""},
    {"{\"task\":{\"indx\":1}}", "TF_CONFIG.task.indx", "1", "\"index\""},
    {"{\"ps_hosts\":[\"a:1\"]}", "TF_CONFIG.ps_hosts", "a:1", "{\"ps\": ["},
    {"{\"worker\":[\"a:1\"]}", "TF_CONFIG.worker", "a:1", "{\"worker\": ["},
    {"{\"cluster\":{\"ps_hosts\":[\"a:1\"]}}", "TF_CONFIG.cluster.ps_hosts[0]",
     "a:1", "\"ps\""},
    {"{\"cluster\":{},\"sparseCluster\":{}}", "TF_CONFIG.sparseCluster", "",
     "keep one"},
    {"{\"service\":[]}", "TF_CONFIG.service", "[]", "{...}"},
    {"{\"rpc_layer\":\"grpc+gdr\"}", "TF_CONFIG.rpc_layer", "gdr", "\"grpc\""},
    {"{\"rpc_layer\":1}", "TF_CONFIG.rpc_layer", "1", "\"grpc\""},
    /* cluster */
    {"{\"cluster\":[]}", "TF_CONFIG.cluster", "[]", "{\"ps\":"},
    {"{\"cluster\":\"a:1\"}", "TF_CONFIG.cluster", "a:1", "{\"ps\":"},
    {"{\"cluster\":{\"ps\":\"a:1\"}}", "TF_CONFIG.cluster.ps", "a:1",
     "[\"host:port\"]"},
    {"{\"cluster\":{\"ps\":1}}", "TF_CONFIG.cluster.ps", "1",
     "[\"host:port\"]"},
    {"{\"cluster\":{\"ps\":[1]}}", "TF_CONFIG.cluster.ps[0]", "1",
     "\"host:port\""},
    {"{\"cluster\":{\"ps\":[\"a:1\",\"\"]}}", "TF_CONFIG.cluster.ps[1]", "\"\"",
     "drop it"},
    {"{\"cluster\":{\"ps\":[null]}}", "TF_CONFIG.cluster.ps[0]", "null",
     "drop it"},
    {"{\"cluster\":{\"ps\":{\"x\":\"a:1\"}}}", "TF_CONFIG.cluster.ps[x]", "a:1",
     "\"0\""},
    {"{\"cluster\":{\"ps\":{\"-1\":\"a:1\"}}}", "TF_CONFIG.cluster.ps[-1]",
     "a:1", "\"0\""},
    {"{\"cluster\":{\"ps\":{\"1000000\":\"a:1\"}}}", "ps[1000000]", "a:1",
     "\"0\""},
    {"{\"cluster\":{\"ps\":{\"1\":\"a:1\",\"01\":\"b:1\"}}}",
     "TF_CONFIG.cluster.ps[01]", "b:1", "differently"},
    {"{\"cluster\":{\"my-job\":[\"a:1\"]}}", "TF_CONFIG.cluster.my-job[0]",
     "a:1", "letter"},
    {"{\"cluster\":{\"\":[\"a:1\"]}}", "TF_CONFIG.cluster.[0]", "a:1",
     "letter"},
    {"{\"cluster\":{\"a\\nb\":[\"a:1\"]}}", "a\\x0ab", "a:1", "letter"},
    /* addresses */
    {"{\"cluster\":{\"ps\":[\"a\"]}}", "TF_CONFIG.cluster.ps[0]", "\"a\"",
     "\"a:2222\""},
    {"{\"cluster\":{\"ps\":[\"a:\"]}}", "TF_CONFIG.cluster.ps[0]", "\"a:\"",
     "host:2222"},
    {"{\"cluster\":{\"ps\":[\"a:x\"]}}", "TF_CONFIG.cluster.ps[0]", "a:x",
     "host:2222"},
    {"{\"cluster\":{\"ps\":[\"a:65536\"]}}", "TF_CONFIG.cluster.ps[0]", "65536",
     "host:2222"},
    {"{\"cluster\":{\"ps\":[\"a:-1\"]}}", "TF_CONFIG.cluster.ps[0]", "a:-1",
     "host:2222"},
    {"{\"cluster\":{\"ps\":[\":1\"]}}", "TF_CONFIG.cluster.ps[0]", ":1",
     "host:port"},
    {"{\"cluster\":{\"ps\":[\"http://a:1\"]}}", "TF_CONFIG.cluster.ps[0]",
     "http", "\"a:1\""},
    {"{\"cluster\":{\"ps\":[\"fe80::1:2222\"]}}", "TF_CONFIG.cluster.ps[0]",
     "fe80", "[fe80::1]:2222"},
    {"{\"cluster\":{\"ps\":[\"::1\"]}}", "TF_CONFIG.cluster.ps[0]", "::1",
     "\"[::1]:2222\""},
    {"{\"cluster\":{\"ps\":[\"1:2:3:4:5:6:7:8\"]}}", "TF_CONFIG.cluster.ps[0]",
     "without a port", "\"[1:2:3:4:5:6:7:8]:2222\""},
    {"{\"cluster\":{\"ps\":[\"a:b:1\"]}}", "TF_CONFIG.cluster.ps[0]", "a:b:1",
     "[a:b]:1"},
    {"{\"cluster\":{\"ps\":[\"[fe80::1\"]}}", "TF_CONFIG.cluster.ps[0]", "fe80",
     "[IPv6]:port"},
    {"{\"cluster\":{\"ps\":[\"[fe80::1]2\"]}}", "TF_CONFIG.cluster.ps[0]",
     "fe80", "[IPv6]:port"},
    {"{\"cluster\":{\"ps\":[\"a b:1\"]}}", "TF_CONFIG.cluster.ps[0]", "a b",
     "host:port"},
    {"{\"cluster\":{\"ps\":[\"a:0\",\"b:1\"]}" TASK("ps", "0"),
     "TF_CONFIG.cluster.ps[0]", "a:0", "a:2222"},
    /* the cluster as a whole */
    {"{\"cluster\":{\"ps\":[\"a:1\",\"a:1\"]}" TASK("ps", "0"),
     "TF_CONFIG.cluster.ps[0]", "a:1", "its own port"},
    {"{\"cluster\":{\"ps\":[\"a:1\"],\"worker\":[\"A:1\",\"b:1\"]}" TASK(
         "worker", "1"),
     "TF_CONFIG.cluster.ps[0]", "a:1", "its own port"},
    {"{\"cluster\":{\"chief\":[\"a:1\",\"b:1\"]}" TASK("chief", "0"),
     "TF_CONFIG.cluster.chief[1]", "b:1", "workers"},
    {"{\"cluster\":{\"chief\":[\"a:1\"],\"master\":[\"b:1\"]}" TASK("chief",
                                                                    "0"),
     "TF_CONFIG.cluster.master[0]", "b:1", "keep one"},
    /* task */
    {PS_WORKER "}", "TF_CONFIG.task.type", "not set", "ps, worker"},
    {PS_WORKER ",\"task\":{}}", "TF_CONFIG.task.type", "not set", "one of"},
    {PS_WORKER ",\"task\":[]}", "TF_CONFIG.task", "[]", "{\"type\":"},
    {PS_WORKER ",\"task\":{\"type\":1}}", "TF_CONFIG.task.type", "1",
     "\"worker\""},
    {PS_WORKER ",\"task\":{\"type\":\"\"}}", "TF_CONFIG.task.type", "\"\"",
     "\"worker\""},
    {PS_WORKER ",\"task\":{\"type\":\"worker\"}}", "TF_CONFIG.task.index",
     "not set", "0 to 1"},
    {PS_WORKER TASK("Worker", "0"), "TF_CONFIG.task.type", "Worker",
     "mean worker"},
    {PS_WORKER TASK("trainer", "0"), "TF_CONFIG.task.type", "trainer",
     "ps, worker"},
    {PS_WORKER TASK("chief", "0"), "TF_CONFIG.task.type", "chief",
     "ps, worker"},
    {PS_WORKER TASK("worker", "2"), "TF_CONFIG.task.index", "2", "0 to 1"},
    {PS_WORKER TASK("worker", "-1"), "TF_CONFIG.task.index", "-1", "from 0"},
    {PS_WORKER TASK("worker", "\"one\""), "TF_CONFIG.task.index", "one",
     "from 0"},
    {PS_WORKER TASK("worker", "\"\""), "TF_CONFIG.task.index", "\"\"",
     "from 0"},
    {PS_WORKER TASK("worker", "0.5"), "TF_CONFIG.task.index", "0.5", "from 0"},
    {PS_WORKER TASK("worker", "true"), "TF_CONFIG.task.index", "true",
     "from 0"},
    {PS_WORKER TASK("worker", "1e300"), "TF_CONFIG.task.index", "1", "from 0"},
    {PS_WORKER TASK("worker", "99999999999"), "TF_CONFIG.task.index", "9999",
     "0 to 1"},
    {"{\"cluster\":{\"ps\":{\"1\":\"a:1\",\"5\":\"b:1\"}}" TASK("ps", "2"),
     "TF_CONFIG.task.index", "2", "1, 5"},
    {"{\"cluster\":{\"ps\":[\"a:1\"]}" TASK("ps", "1"), "TF_CONFIG.task.index",
     "1", "give 0"},
    {"{\"task\":{\"type\":\"ps\",\"index\":0}}", "TF_CONFIG.task.type", "ps",
     "--ps_hosts"},
    {"{\"cluster\":{}" TASK("a-b", "0"), "TF_CONFIG.task.type", "a-b",
     "letter"},
};

static void test_every_mistake_says_where_what_and_how(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct result r;
        const char *line = r.errors.lines[0];

        if (run(&r, bad[i].text))
            fail_msg("case %zu was accepted: %s", i, bad[i].text);
        if (r.errors.count != 1 || strchr(line, '\n') ||
            !strstr(line, bad[i].place) || !strstr(line, bad[i].value) ||
            !strstr(line, bad[i].fix))
            fail_msg("case %zu: %zu lines: %s", i, r.errors.count, line);
        tfd_tf_config_deinit(&r.tf);
    }
}

static void test_ignored_keys_are_noted(void **state)
{
    struct result r;

    (void)state;
    assert_true(run(&r, "{\"job\":{},\"model_dir\":\"/m\",\"foreign\":1}"));
    assert_int_equal(r.notes.count, 3);
    assert_non_null(strstr(r.notes.lines[0], "TF_CONFIG.job: ignored"));
    assert_non_null(strstr(r.notes.lines[1], "--checkpoint_dir"));
    assert_non_null(strstr(r.notes.lines[2], "not a key of TF_CONFIG"));
    tfd_tf_config_deinit(&r.tf);
}

static void test_nesting_is_limited(void **state)
{
    char text[4096];
    struct result r;

    (void)state;
    for (size_t depth = 31; depth <= 1000; depth += 969) {
        bool fits = depth == 31; /* and the object around it: 32 */

        strcpy(text, "{\"x_launcher\":");
        memset(text + 14, '[', depth);
        memset(text + 14 + depth, ']', depth);
        strcpy(text + 14 + 2 * depth, "}");
        assert_int_equal(run(&r, text), fits);
        if (!fits)
            assert_non_null(strstr(r.errors.lines[0], "1001 deep"));
        tfd_tf_config_deinit(&r.tf);
    }
}

static void test_size_is_limited(void **state)
{
    size_t size = TFD_CONFIG_TEXT_SIZE_MAX + 1;
    char *text = malloc(size + 1);
    struct result r;

    (void)state;
    assert_non_null(text);
    memset(text, ' ', size);
    text[0] = '{';
    text[size - 1] = '}';
    text[size] = '\0';
    assert_false(run(&r, text));
    assert_non_null(strstr(r.errors.lines[0], "1048577 bytes"));
    tfd_tf_config_deinit(&r.tf);
    assert_true(run(&r, "{}"));
    tfd_tf_config_deinit(&r.tf);
    free(text);
}

static void test_errors_beyond_the_kept_ones_are_counted(void **state)
{
    char text[1024] = "{\"cluster\":{\"ps\":[";
    char printed[8192] = "";
    struct result r;
    FILE *f = tmpfile();

    (void)state;
    assert_non_null(f);
    for (int i = 0; i < 20; i++)
        strcat(text, i ? ",\"a\"" : "\"a\"");
    strcat(text, "]}}");
    assert_false(run(&r, text));
    assert_int_equal(r.errors.count, 20);
    tfd_report_print(&r.errors, f, "tfd: ");
    rewind(f);
    printed[fread(printed, 1, sizeof(printed) - 1, f)] = '\0';
    fclose(f);
    assert_non_null(strstr(printed, "tfd: and 4 more\n"));
    tfd_tf_config_deinit(&r.tf);
}

static void test_order_is_the_same_however_it_is_written(void **state)
{
    struct tfd_cluster c;

    (void)state;
    tfd_cluster_init(&c);
    assert_int_equal(tfd_cluster_add(&c, "worker", 9, "a:1", NULL), TFD_OK);
    assert_int_equal(tfd_cluster_add(&c, "ps", 0, "b:1", NULL), TFD_OK);
    assert_int_equal(tfd_cluster_add(&c, "worker", 2, "c:1", NULL), TFD_OK);
    assert_int_equal(tfd_cluster_add(&c, "worker", 5, "d:1", NULL), TFD_OK);
    assert_int_equal(tfd_cluster_add(&c, "worker", 5, "e:1", NULL),
                     TFD_INVALID_ARGUMENT);
    assert_string_equal(c.jobs[0].name, "ps");
    assert_int_equal(c.jobs[1].tasks[0].index, 2);
    assert_int_equal(c.jobs[1].tasks[2].index, 9);
    assert_string_equal(tfd_cluster_address(&c, "worker", 5), "d:1");
    assert_null(tfd_cluster_address(&c, "worker", 3));
    assert_null(tfd_cluster_address(&c, "chief", 0));
    tfd_cluster_deinit(&c);
}

static void test_difference_finds_what_either_lacks(void **state)
{
    struct tfd_cluster a, b;
    const char *job;
    int32_t index;

    (void)state;
    tfd_cluster_init(&a);
    tfd_cluster_init(&b);
    assert_int_equal(tfd_cluster_add(&a, "ps", 0, "a:1", NULL), TFD_OK);
    assert_int_equal(tfd_cluster_add(&b, "ps", 0, "a:1", NULL), TFD_OK);
    assert_false(tfd_cluster_difference(&a, &b, &job, &index));
    assert_int_equal(tfd_cluster_add(&b, "worker", 3, "b:1", NULL), TFD_OK);
    assert_true(tfd_cluster_difference(&a, &b, &job, &index));
    assert_string_equal(job, "worker");
    assert_int_equal(index, 3);
    assert_true(tfd_cluster_difference(&b, &a, &job, &index));
    tfd_cluster_deinit(&a);
    tfd_cluster_deinit(&b);
}

static void test_tasks_and_jobs_are_limited(void **state)
{
    struct tfd_cluster c;
    struct tfd_status st = TFD_STATUS_INIT;
    char job[16];

    (void)state;
    tfd_cluster_init(&c);
    for (int i = 0; i < TFD_JOBS_MAX; i++) {
        snprintf(job, sizeof(job), "job%d", i);
        assert_int_equal(tfd_cluster_add(&c, job, 0, "a:1", NULL), TFD_OK);
    }
    assert_int_equal(tfd_cluster_add(&c, "another", 0, "a:1", &st),
                     TFD_RESOURCE_EXHAUSTED);
    assert_string_equal(st.text, "more than 64 jobs; merge some");
    for (int i = TFD_JOBS_MAX; i < TFD_TASKS_MAX; i++)
        assert_int_equal(tfd_cluster_add(&c, "job0", i, "a:1", NULL), TFD_OK);
    assert_int_equal(tfd_cluster_add(&c, "job0", TFD_TASKS_MAX, "a:1", NULL),
                     TFD_RESOURCE_EXHAUSTED);
    tfd_cluster_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_dialect_is_read),
        cmocka_unit_test(test_every_mistake_says_where_what_and_how),
        cmocka_unit_test(test_ignored_keys_are_noted),
        cmocka_unit_test(test_nesting_is_limited),
        cmocka_unit_test(test_size_is_limited),
        cmocka_unit_test(test_errors_beyond_the_kept_ones_are_counted),
        cmocka_unit_test(test_order_is_the_same_however_it_is_written),
        cmocka_unit_test(test_difference_finds_what_either_lacks),
        cmocka_unit_test(test_tasks_and_jobs_are_limited),
    };

    return cmocka_run_group_tests_name("cluster", tests, NULL, NULL);
}
