/*
 * test_peers.c - rpc/core/peers.c: the tasks of a cluster as one process sees
 * them.
 */
#define _GNU_SOURCE 1 /* strdup */

#include "rpc/core/peers.h"

#include "config/limits.h"

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
    struct tfd_peers_follower follower; /* first */
    struct rig *rig;
    int ups, downs;
};

static void follow(struct tfd_peers_follower *f, int i, bool up,
                   const struct tfd_status *why)
{
    struct followed *x = (struct followed *)f;

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
    struct followed x = {.follower.changed = follow, .rig = r};
    struct tfd_cluster cluster;
    struct tfd_peers *peers;

    (void)state;
    make_cluster(&cluster, "worker", 1);
    free(cluster.jobs[0].tasks[0].address);
    cluster.jobs[0].tasks[0].address = strdup(r->address);
    assert_int_equal(tfd_peers_new(r->loop, &cluster, &self, &peers, NULL),
                     TFD_OK);
    tfd_peers_follow(peers, &x.follower);
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

/* ---- Clusters of sessions ------------------------------------------------ */

/* A job of two tasks, the first of them at `address`; own < 0: we are none. */
static enum tfd_code bring(struct fixture *f, const char *job,
                           const char *address, int own,
                           struct tfd_peers_range *out, struct tfd_status *st)
{
    struct tfd_cluster c;
    enum tfd_code rc;

    tfd_cluster_init(&c);
    assert_int_equal(tfd_cluster_add(&c, job, 0, address, st), TFD_OK);
    assert_int_equal(tfd_cluster_add(&c, job, 1, "here:1", st), TFD_OK);
    snprintf(c.job_name, sizeof(c.job_name), "%s", own < 0 ? "none" : job);
    c.task_index = own;
    rc = tfd_peers_add_cluster(f->peers, &c, out, st);
    tfd_cluster_deinit(&c);
    return rc;
}

static struct tfd_peers_range bring_number(struct fixture *f, int number)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_peers_range range;
    char job[32];

    snprintf(job, sizeof(job), "job%d", number);
    assert_int_equal(bring(f, job, "there:1", 1, &range, &st), TFD_OK);
    return range;
}

struct told {
    struct tfd_peers_follower follower; /* first */
    struct tfd_peers_range last;
    int count;
};

static void tell(struct tfd_peers_follower *f, struct tfd_peers_range range)
{
    struct told *t = (struct told *)f;

    t->last = range;
    t->count++;
}

static void test_a_cluster_is_known_while_a_session_has_it(void **state)
{
    struct tfd_peers_range a, again, start;
    struct fixture f;

    (void)state;
    open_fixture(&f, "worker", 1);
    a = bring_number(&f, 1);
    assert_int_equal(a.first, 5);
    assert_int_equal(a.count, 2);
    assert_int_equal(a.own, 6);
    assert_int_equal(tfd_peers_count(f.peers), 5);
    again = bring_number(&f, 1);
    assert_memory_equal(&a, &again, sizeof(a));
    tfd_peers_drop_cluster(f.peers, a);
    assert_string_equal(tfd_peers_task(f.peers, 5),
                        "/job:job1/replica:0/task:0");
    tfd_peers_drop_cluster(f.peers, a);
    again = bring_number(&f, 1); /* a moment later: as it was */
    assert_memory_equal(&a, &again, sizeof(a));
    assert_int_equal(tfd_peers_clusters(f.peers), 1);
    start = tfd_peers_all(f.peers);
    for (int i = 0; i < 3; i++)
        tfd_peers_drop_cluster(f.peers, start); /* nothing */
    assert_int_equal(tfd_peers_find(f.peers, TFD_STR("/job:job1/task:0")), -1);
    close_fixture(&f);
}

static void test_any_number_of_clusters_one_after_the_other(void **state)
{
    struct told told = {.follower.gone = tell};
    struct fixture f;

    (void)state;
    open_fixture(&f, "worker", 1);
    tfd_peers_follow(f.peers, &told.follower);
    for (int i = 0; i < 5 * TFD_CLUSTERS_MAX; i++) {
        struct tfd_peers_range range = bring_number(&f, i);

        assert_non_null(tfd_peers_channel(f.peers, range.first));
        assert_in_range(range.first, 5, 5 + 2 * TFD_CLUSTERS_MAX);
        tfd_peers_drop_cluster(f.peers, range);
    }
    assert_int_equal(told.count, 4 * TFD_CLUSTERS_MAX);
    assert_int_equal(told.last.count, 2);
    close_fixture(&f);
}

static void test_too_many_clusters_at_once(void **state)
{
    struct tfd_peers_range range[TFD_CLUSTERS_MAX], more;
    struct told told = {.follower.gone = tell};
    struct tfd_status st = TFD_STATUS_INIT;
    struct fixture f;

    (void)state;
    open_fixture(&f, "worker", 1);
    tfd_peers_follow(f.peers, &told.follower);
    for (int i = 0; i < TFD_CLUSTERS_MAX; i++)
        range[i] = bring_number(&f, i);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bring(&f, "more", "x:1", 0, &more, &st),
                         TFD_RESOURCE_EXHAUSTED);
        assert_non_null(strstr(st.text, "64 clusters"));
        tfd_status_clear(&st);
    }
    assert_int_equal(told.count, 0);
    more = bring_number(&f, 7); /* a known one is no more */
    assert_memory_equal(&more, &range[7], sizeof(more));
    tfd_peers_drop_cluster(f.peers, more);
    tfd_peers_drop_cluster(f.peers, range[30]);
    assert_int_equal(bring(&f, "more", "x:1", 0, &more, &st), TFD_OK);
    assert_int_equal(told.count, 1);
    assert_memory_equal(&told.last, &range[30], sizeof(more));
    assert_int_equal(tfd_peers_clusters(f.peers), TFD_CLUSTERS_MAX);
    close_fixture(&f);
}

/* Larger ones do not fit where a small one was. */
static void test_numbers_that_are_free_are_used_again(void **state)
{
    struct tfd_peers_range small, large, next;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cluster c;
    struct fixture f;

    (void)state;
    open_fixture(&f, "worker", 1);
    small = bring_number(&f, 0);
    for (int i = 1; i < TFD_CLUSTERS_MAX; i++)
        (void)bring_number(&f, i);
    tfd_peers_drop_cluster(f.peers, small);
    next = bring_number(&f, 100);
    assert_int_equal(tfd_peers_clusters(f.peers), TFD_CLUSTERS_MAX);
    assert_int_equal(next.first, 5 + 2 * TFD_CLUSTERS_MAX); /* made before */
    tfd_peers_drop_cluster(f.peers, next);
    tfd_cluster_init(&c);
    for (int i = 0; i < 3; i++)
        assert_int_equal(tfd_cluster_add(&c, "large", i, "y:1", &st), TFD_OK);
    assert_int_equal(tfd_peers_add_cluster(f.peers, &c, &large, &st), TFD_OK);
    assert_int_equal(large.own, -1);
    assert_true(large.first >= 5 + 2 * TFD_CLUSTERS_MAX);
    tfd_peers_drop_cluster(f.peers, large);
    assert_int_equal(bring_number(&f, 101).first, small.first);
    tfd_cluster_deinit(&c);
    close_fixture(&f);
}

/* A master may say that a worker is one that its cluster does not have. */
static void test_a_cluster_without_us_is_known_again(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_peers_range a, b, empty[2];
    struct tfd_cluster c;
    struct fixture f;

    (void)state;
    open_fixture(&f, "worker", 1);
    (void)bring_number(&f, 1);
    assert_int_equal(bring(&f, "w", "x:1", -1, &a, &st), TFD_OK);
    assert_int_equal(bring(&f, "w", "x:1", -1, &b, &st), TFD_OK);
    assert_memory_equal(&a, &b, sizeof(a));
    assert_int_equal(bring(&f, "w", "x:1", 0, &b, &st), TFD_OK);
    assert_int_not_equal(a.cluster, b.cluster);
    tfd_cluster_init(&c);
    for (int i = 0; i < 2; i++)
        assert_int_equal(tfd_peers_add_cluster(f.peers, &c, &empty[i], &st),
                         TFD_OK);
    assert_int_equal(empty[0].count, 0);
    assert_int_equal(empty[0].cluster, empty[1].cluster);
    assert_int_equal(tfd_peers_find_in(f.peers, empty[0], TFD_STR("/job:w")),
                     -1);
    tfd_cluster_deinit(&c);
    close_fixture(&f);
}

static void test_an_address_has_one_channel_by_any_name(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_peers_range a, b;
    struct tfd_channel *ch, *own;
    struct fixture f;

    (void)state;
    open_fixture(&f, "worker", 1);
    assert_int_equal(bring(&f, "a", "w0:1", 1, &a, &st), TFD_OK);
    assert_int_equal(bring(&f, "b", "w0:1", 1, &b, &st), TFD_OK);
    ch = tfd_peers_channel(f.peers, a.first);
    assert_ptr_equal(tfd_peers_channel(f.peers, b.first), ch);
    assert_null(tfd_peers_made(f.peers, 3));
    own = tfd_peers_channel(f.peers, 3); /* w0, from the start */
    assert_ptr_equal(own, ch);
    tfd_peers_drop_cluster(f.peers, a);
    tfd_peers_drop_cluster(f.peers, b);
    for (int i = 0; i < TFD_CLUSTERS_MAX + 1; i++)
        tfd_peers_drop_cluster(f.peers, bring_number(&f, i));
    assert_string_equal(tfd_channel_address(tfd_peers_channel(f.peers, 3)),
                        "w0:1"); /* still there */
    close_fixture(&f);
}

/* Nobody asks for a new one: time alone closes the connections. */
static void look_for_end(struct tfd_timer *t)
{
    struct fixture *f = *(struct fixture **)(t + 1);

    if (tfd_peers_clusters(f->peers) == 0 &&
        tfd_listener_connections(f->rig->listener) == 0)
        rig_tick(f->rig);
    else
        assert_int_equal(tfd_timer_start(t, 5000, NULL), TFD_OK);
}

static void test_connections_close_with_the_last_cluster(void **state)
{
    struct {
        struct tfd_timer timer;
        struct fixture *f; /* behind it */
    } looks;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_peers_range a;
    struct rig_result result;
    struct fixture f;

    (void)state;
    open_fixture(&f, "worker", 1);
    assert_int_equal(bring(&f, "a", f.rig->address, 1, &a, &st), TFD_OK);
    result = (struct rig_result){.rig = f.rig};
    ask(tfd_peers_channel(f.peers, a.first), &result);
    rig_run(f.rig, 1);
    assert_int_equal(result.code, TFD_OK);
    assert_int_equal(tfd_listener_connections(f.rig->listener), 1);
    tfd_peers_drop_cluster(f.peers, a);
    looks.f = &f;
    tfd_timer_init(&looks.timer, f.rig->loop, look_for_end);
    assert_int_equal(tfd_timer_start(&looks.timer, 0, NULL), TFD_OK);
    rig_run(f.rig, 1);
    close_fixture(&f);
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
        cmocka_unit_test(test_a_cluster_is_known_while_a_session_has_it),
        cmocka_unit_test(test_any_number_of_clusters_one_after_the_other),
        cmocka_unit_test(test_too_many_clusters_at_once),
        cmocka_unit_test(test_numbers_that_are_free_are_used_again),
        cmocka_unit_test(test_a_cluster_without_us_is_known_again),
        cmocka_unit_test(test_an_address_has_one_channel_by_any_name),
        cmocka_unit_test(test_connections_close_with_the_last_cluster),
    };

    return cmocka_run_group_tests_name("peers", tests, NULL, NULL);
}
