/*
 * test_peers.c - rpc/peers.c: the tasks of a cluster as one process sees them.
 */
#define _GNU_SOURCE 1 /* strdup */

#include "rpc/peers.h"

#include "tests/support/rig.h"

static const struct tfd_peer_info self = {"/job:worker/replica:0/task:1", 5};

/* A cluster of these tasks, of which the process is one. */
static void make_cluster(struct tfd_cluster *c, const char *job, int index)
{
    static const struct {
        const char *job;
        int index;
        const char *address;
    } tasks[] = {
        {"worker", 0, "w0:1"}, {"worker", 1, "w1:1"}, {"ps", 0, "p0:1"},
        {"ps", 7, "[::1]:17"}, {"chief", 0, "c0:1"},  {"evaluator", 0, "e0:1"},
    };
    struct tfd_status st = TFD_STATUS_INIT;

    tfd_cluster_init(c);
    for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++)
        assert_int_equal(tfd_cluster_add(c, tasks[i].job, tasks[i].index,
                                         tasks[i].address, &st),
                         TFD_OK);
    snprintf(c->job_name, sizeof(c->job_name), "%s", job);
    c->task_index = index;
}

struct fixture {
    struct rig *rig;
    struct tfd_cluster cluster;
    struct tfd_peers *peers;
};

static void open_fixture(struct fixture *f, const char *job, int index)
{
    f->rig = rig_new();
    make_cluster(&f->cluster, job, index);
    assert_int_equal(
        tfd_peers_new(f->rig->loop, &f->cluster, &self, &f->peers, NULL),
        TFD_OK);
}

static void close_fixture(struct fixture *f)
{
    tfd_peers_free(f->peers);
    tfd_cluster_deinit(&f->cluster);
    rig_free(f->rig);
}

static void test_tasks_are_known_by_number_and_name(void **state)
{
    static const struct {
        const char *task, *address;
    } want[] = {
        {"/job:chief/replica:0/task:0", "c0:1"},
        {"/job:ps/replica:0/task:0", "p0:1"},
        {"/job:ps/replica:0/task:7", "[::1]:17"},
        {"/job:worker/replica:0/task:0", "w0:1"},
        {"/job:worker/replica:0/task:1", "w1:1"},
    };
    struct fixture f;

    (void)state;
    open_fixture(&f, "worker", 1);
    assert_int_equal(tfd_peers_count(f.peers), 5);
    for (int i = 0; i < 5; i++) {
        char device[128];

        assert_string_equal(tfd_peers_task(f.peers, i), want[i].task);
        assert_string_equal(tfd_peers_address(f.peers, i), want[i].address);
        assert_int_equal(tfd_peers_find(f.peers, tfd_str_of(want[i].task)), i);
        snprintf(device, sizeof(device), "%s/device:GPU:3", want[i].task);
        assert_int_equal(tfd_peers_find(f.peers, tfd_str_of(device)), i);
    }
    assert_int_equal(tfd_peers_self(f.peers), 4);
    close_fixture(&f);
}

static void test_names_of_nobody(void **state)
{
    static const char *const names[] = {
        "",
        "/",
        "nonsense",
        "/job:ps",
        "/job:ps/task:0",
        "/job:ps/replica:1/task:0",
        "/job:ps/replica:0/task:1",
        "/job:nosuch/replica:0/task:0",
        "/job:evaluator/replica:0/task:0",
        "/job:ps/replica:0/task:0/device:CPU:0/more",
    };
    struct fixture f;

    (void)state;
    open_fixture(&f, "worker", 1);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(tfd_peers_find(f.peers, tfd_str_of(names[i])), -1);
    close_fixture(&f);
}

/* Nobody calls an evaluator, but it calls others. */
static void test_an_evaluator_sees_itself(void **state)
{
    struct fixture f;
    int own;

    (void)state;
    open_fixture(&f, "evaluator", 0);
    assert_int_equal(tfd_peers_count(f.peers), 6);
    own = tfd_peers_self(f.peers);
    assert_string_equal(tfd_peers_task(f.peers, own),
                        "/job:evaluator/replica:0/task:0");
    assert_null(tfd_peers_channel(f.peers, own));
    assert_non_null(tfd_peers_channel(f.peers, own == 0 ? 1 : 0));
    close_fixture(&f);
}

static void test_who_is_in_no_cluster_has_no_number(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, "trainer", 0);
    assert_int_equal(tfd_peers_self(f.peers), -1);
    close_fixture(&f);
    open_fixture(&f, "worker", 2);
    assert_int_equal(tfd_peers_self(f.peers), -1);
    close_fixture(&f);
}

static void test_there_is_one_channel_to_each(void **state)
{
    struct tfd_channel *ch;
    struct fixture f;

    (void)state;
    open_fixture(&f, "worker", 1);
    ch = tfd_peers_channel(f.peers, 2);
    assert_non_null(ch);
    assert_ptr_equal(tfd_peers_channel(f.peers, 2), ch);
    assert_string_equal(tfd_channel_address(ch), "[::1]:17");
    assert_true(tfd_peers_channel(f.peers, 1) != ch);
    assert_null(tfd_peers_channel(f.peers, tfd_peers_self(f.peers)));
    assert_false(tfd_channel_up(ch)); /* nobody called yet */
    close_fixture(&f);
}

static void test_an_address_that_is_none(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cluster_task *task;
    struct fixture f;

    (void)state;
    open_fixture(&f, "worker", 1);
    tfd_peers_free(f.peers);
    task = &f.cluster.jobs[0].tasks[0];
    task->address[0] = '\0'; /* as of a task that nobody can call */
    assert_int_equal(
        tfd_peers_new(f.rig->loop, &f.cluster, &self, &f.peers, &st), TFD_OK);
    assert_null(tfd_peers_channel(f.peers, 0));
    assert_non_null(tfd_peers_channel(f.peers, 1));
    close_fixture(&f);
}

/* ---- Connections --------------------------------------------------------- */

struct followed {
    struct rig *rig;
    int ups, downs;
};

static void follow(void *ctx, int i, bool up, const struct tfd_status *why)
{
    struct followed *x = ctx;

    assert_int_equal(i, 0);
    assert_int_equal(up, why->code == TFD_OK);
    *(up ? &x->ups : &x->downs) += 1;
    rig_tick(x->rig);
}

static void ask(struct tfd_channel *ch, struct rig_result *r)
{
    const struct tfd_outcall_options patient = {.wait_ready = true};
    struct tfd_message m;

    tfd_message_init(&m, true);
    tfd_channel_call(ch, TFD_METHOD_RunGraph, &m, &patient, rig_done, r);
}

static void test_connections_are_followed_until_the_stop(void **state)
{
    struct rig *r = rig_new();
    struct rig_result result[3] = {{.rig = r}, {.rig = r}, {.rig = r}};
    struct followed x = {.rig = r};
    struct tfd_cluster cluster;
    struct tfd_peers *peers;

    (void)state;
    make_cluster(&cluster, "worker", 1);
    free(cluster.jobs[0].tasks[0].address);
    cluster.jobs[0].tasks[0].address = strdup(r->address);
    assert_int_equal(tfd_peers_new(r->loop, &cluster, &self, &peers, NULL),
                     TFD_OK);
    tfd_peers_follow(peers, follow, &x);
    for (int i = 0; i < 2; i++) {
        ask(tfd_peers_channel(peers, 0), &result[i]);
        rig_run(r, 2);
        assert_int_equal(result[i].code, TFD_OK);
        assert_int_equal(x.ups, i + 1);
        if (i == 0)
            tfd_conn_close_all(r->loop);
        r->awaited = 0;
        assert_int_equal(x.downs, 1);
    }
    tfd_peers_stop(peers);
    ask(tfd_peers_channel(peers, 1), &result[2]); /* made only now */
    rig_run(r, 1);
    assert_int_equal(result[2].code, TFD_CANCELLED);
    tfd_peers_free(peers);
    tfd_cluster_deinit(&cluster);
    rig_free(r);
    assert_int_equal(x.ups, 2);
    assert_int_equal(x.downs, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks_are_known_by_number_and_name),
        cmocka_unit_test(test_names_of_nobody),
        cmocka_unit_test(test_an_evaluator_sees_itself),
        cmocka_unit_test(test_who_is_in_no_cluster_has_no_number),
        cmocka_unit_test(test_there_is_one_channel_to_each),
        cmocka_unit_test(test_an_address_that_is_none),
        cmocka_unit_test(test_connections_are_followed_until_the_stop),
    };

    return cmocka_run_group_tests_name("peers", tests, NULL, NULL);
}
