/*
 * test_exit_rule.c - daemon/exit_rule.c: who has to leave until a server stops.
 */
#include "daemon/exit_rule.h"

#include "common/pbio.h"
#include "common/proto/peer.pb.h"
#include "tests/support/rig.h"

/* ---- The rule of one server ---------------------------------------------- */

struct fixture {
    struct rig *rig;
    struct tfd_config config;
    struct tfd_exit_rule *rule;
    int stops;
    char why[128];
};

static void stop(void *ctx, const char *why)
{
    struct fixture *f = ctx;

    f->stops++;
    snprintf(f->why, sizeof(f->why), "%s", why);
    rig_tick(f->rig);
}

/* tasks: "chief:0 worker:1 ..."; self is the first. */
static void open_fixture(struct fixture *f, enum tfd_exit_when when,
                         const char *tasks)
{
    struct tfd_status st = TFD_STATUS_INIT;
    char text[256], *at = text;
    int port = 1000;

    memset(f, 0, sizeof(*f));
    f->rig = rig_new();
    f->config.exit_when = when;
    f->config.exit_idle_ms = 20;
    tfd_cluster_init(&f->config.cluster);
    snprintf(text, sizeof(text), "%s", tasks);
    while (*at) {
        size_t size = strcspn(at, " ");
        char job[32], address[32];
        int index = 0;

        assert_int_equal(sscanf(at, "%31[a-z]:%d", job, &index), 2);
        snprintf(address, sizeof(address), "h:%d", port++);
        assert_int_equal(
            tfd_cluster_add(&f->config.cluster, job, index, address, &st),
            TFD_OK);
        if (at == text) {
            snprintf(f->config.cluster.job_name,
                     sizeof(f->config.cluster.job_name), "%s", job);
            f->config.cluster.task_index = index;
        }
        at += size + (at[size] == ' ');
    }
    assert_int_equal(tfd_exit_rule_new(f->rig->loop, &f->config,
                                       f->rig->service, stop, f, &f->rule, &st),
                     TFD_OK);
}

static void close_fixture(struct fixture *f)
{
    tfd_exit_rule_free(f->rule);
    tfd_cluster_deinit(&f->config.cluster);
    rig_free(f->rig);
}

/* ---- Messages ------------------------------------------------------------ */

static int answered;

static void answer(struct tfd_call *call, const struct tfd_status *st,
                   struct tfd_message *take_response)
{
    (void)call;
    assert_true(!st || st->code == TFD_OK);
    tfd_message_deinit(take_response);
    answered++;
}

static void send_leaving(struct fixture *f, struct tfd_str bytes)
{
    struct tfd_call call = {.method = TFD_METHOD_Leaving, .answer = answer};

    answered = 0;
    call.in.proto = bytes;
    tfd_service_dispatch(f->rig->service, &call);
    assert_int_equal(answered, 1);
}

static void leaves(struct fixture *f, const char *task)
{
    struct tfd_bytes b;

    tfd_bytes_init(&b, 4096);
    tfd_pb_put_str(&b, tfd_Hello_task_tag, tfd_str_of(task));
    send_leaving(f, tfd_bytes_view(&b));
    tfd_bytes_deinit(&b);
}

/* A script: "+worker:0" came, "-worker:0" left; stops happen at its end only.
 */
static void play(const char *tasks, enum tfd_exit_when when, const char *script,
                 const char *why)
{
    char text[256], *at = text;
    struct fixture f;

    open_fixture(&f, when, tasks);
    f.rig->awaited = 1000; /* stop() ticks */
    snprintf(text, sizeof(text), "%s", script);
    while (*at) {
        size_t size = strcspn(at, " ");
        char job[32], task[64];
        int index = 0;

        if (f.stops)
            fail_msg("%s: %s: stopped before %s", tasks, script, at);
        assert_int_equal(sscanf(at + 1, "%31[a-z]:%d", job, &index), 2);
        snprintf(task, sizeof(task), "/job:%s/replica:0/task:%d", job, index);
        if (*at == '+')
            tfd_exit_rule_came(f.rule, tfd_str_of(task));
        else
            leaves(&f, task);
        at += size + (at[size] == ' ');
    }
    if (!why && f.stops)
        fail_msg("%s: %s: stopped", tasks, script);
    if (why) {
        assert_int_equal(f.stops, 1);
        assert_string_equal(f.why, why);
    }
    close_fixture(&f);
}

/* ---- Tests --------------------------------------------------------------- */

#define TRAINING "ps:0 ps:1 chief:0 worker:0 worker:1 evaluator:0"
#define WORKERS "ps:0 worker:0 worker:1"

static void test_when_every_worker_has_left(void **state)
{
    static const char why[] = "every worker has left";
    static const struct {
        const char *tasks, *script;
        bool stops;
    } cases[] = {
        {WORKERS, "", false},
        {WORKERS, "+worker:0", false},
        {WORKERS, "+worker:0 -worker:0", true},
        {WORKERS, "-worker:0", true}, /* who leaves has come */
        {WORKERS, "+worker:0 +worker:1 -worker:0", false},
        {WORKERS, "+worker:0 +worker:1 -worker:0 -worker:1", true},
        /* One that comes back has to leave again. */
        {WORKERS, "+worker:1 +worker:0 -worker:0 +worker:0 -worker:1", false},
        {WORKERS, "+worker:1 +worker:0 -worker:0 +worker:0 -worker:1 -worker:0",
         true},
        /* Others do not count. */
        {WORKERS, "-ps:0", false},
        {WORKERS, "+worker:0 -ps:0", false},
        {TRAINING, "+worker:0 +chief:0 -evaluator:0 -worker:0", false},
        {TRAINING, "+worker:0 +chief:0 -evaluator:0 -worker:0 -chief:0", true},
        /* Nor who is no task of the cluster. */
        {WORKERS, "-worker:2", false},
        {WORKERS, "+worker:0 +worker:7 -worker:0", true},
        {WORKERS, "-trainer:0", false},
        /* A worker is one itself. */
        {"worker:1 ps:0 worker:0", "+worker:0 -worker:0", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        play(cases[i].tasks, TFD_EXIT_WORKERS, cases[i].script,
             cases[i].stops ? why : NULL);
}

static void test_when_the_chief_has_left(void **state)
{
    static const char why[] = "the chief has left";
    static const struct {
        const char *tasks, *script;
        bool stops;
    } cases[] = {
        {TRAINING, "", false},
        {TRAINING, "+chief:0", false},
        {TRAINING, "+chief:0 -chief:0", true},
        {TRAINING, "-chief:0", true},
        {TRAINING, "+worker:0 -worker:0", false},
        {TRAINING, "+worker:0 +chief:0 -worker:0", false},
        {WORKERS, "-worker:1", false},
        {WORKERS, "-worker:0", true}, /* there is no other chief */
        {"ps:0 master:0 worker:0", "-worker:0", false},
        {"ps:0 master:0 worker:0", "-master:0", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        play(cases[i].tasks, TFD_EXIT_CHIEF, cases[i].script,
             cases[i].stops ? why : NULL);
}

static void test_without_a_rule_nobody_is_waited_for(void **state)
{
    (void)state;
    play(TRAINING, TFD_EXIT_NEVER, "-chief:0 -worker:0 -worker:1 -ps:1", NULL);
    play(TRAINING, TFD_EXIT_IDLE, "-chief:0 -worker:0 -worker:1 -ps:1", NULL);
}

static void test_names_that_are_no_task(void **state)
{
    static const char *const names[] = {"",
                                        "worker",
                                        "/job:worker",
                                        "/job:worker/task:0",
                                        "/task:0",
                                        "/job:worker/replica:0/task:-1",
                                        "/job:worker/replica:1/task:9999999",
                                        "/job:worker/replica:0/task:0x"};
    struct fixture f;

    (void)state;
    open_fixture(&f, TFD_EXIT_WORKERS, WORKERS);
    tfd_exit_rule_came(f.rule, TFD_STR("/job:worker/replica:0/task:1"));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        tfd_exit_rule_came(f.rule, tfd_str_of(names[i]));
        leaves(&f, names[i]);
    }
    assert_int_equal(f.stops, 0);
    close_fixture(&f);
}

static void test_messages_that_are_damaged(void **state)
{
    static const struct tfd_str messages[] = {
        TFD_STR_INIT(""), TFD_STR_INIT("\x0a"), TFD_STR_INIT("\x0a\x7f/job"),
        TFD_STR_INIT("\xff\xff\xff\xff"), TFD_STR_INIT("\x08\x01")};
    struct fixture f;

    (void)state;
    open_fixture(&f, TFD_EXIT_WORKERS, WORKERS);
    tfd_exit_rule_came(f.rule, TFD_STR("/job:worker/replica:0/task:1"));
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
        send_leaving(&f, messages[i]);
    assert_int_equal(f.stops, 0);
    close_fixture(&f);
}

/* More tasks than the cluster has cannot fill the table. */
static void test_many_strangers(void **state)
{
    struct fixture f;
    char task[64];

    (void)state;
    open_fixture(&f, TFD_EXIT_WORKERS, WORKERS);
    for (int i = 2; i < 5000; i++) {
        snprintf(task, sizeof(task), "/job:worker/replica:0/task:%d", i);
        leaves(&f, task);
    }
    assert_int_equal(f.stops, 0);
    f.rig->awaited = 1;
    leaves(&f, "/job:worker/replica:0/task:1");
    assert_int_equal(f.stops, 1);
    close_fixture(&f);
}

static void test_a_server_without_sessions_stops_in_time(void **state)
{
    struct fixture f;
    uint64_t start;

    (void)state;
    open_fixture(&f, TFD_EXIT_IDLE, WORKERS);
    tfd_exit_rule_busy(f.rule, true);
    tfd_exit_rule_busy(f.rule, true);
    start = tfd_loop_now_us(f.rig->loop);
    tfd_exit_rule_busy(f.rule, false);
    rig_run(f.rig, 1);
    assert_true(tfd_loop_now_us(f.rig->loop) - start >= 20000);
    assert_string_equal(f.why, "no session was open for the configured time");
    close_fixture(&f);
}

struct much_later {
    struct tfd_timer timer;
    struct rig *rig;
};

static void now_it_is(struct tfd_timer *t)
{
    rig_tick(((struct much_later *)t)->rig);
}

static void test_a_server_with_sessions_does_not_stop(void **state)
{
    struct much_later later;
    struct fixture f;

    (void)state;
    open_fixture(&f, TFD_EXIT_IDLE, WORKERS);
    tfd_exit_rule_busy(f.rule, true);
    later.rig = f.rig;
    tfd_timer_init(&later.timer, f.rig->loop, now_it_is);
    assert_int_equal(tfd_timer_start(&later.timer, 60000, NULL), TFD_OK);
    rig_run(f.rig, 1);
    assert_int_equal(f.stops, 0);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_when_every_worker_has_left),
        cmocka_unit_test(test_when_the_chief_has_left),
        cmocka_unit_test(test_without_a_rule_nobody_is_waited_for),
        cmocka_unit_test(test_names_that_are_no_task),
        cmocka_unit_test(test_messages_that_are_damaged),
        cmocka_unit_test(test_many_strangers),
        cmocka_unit_test(test_a_server_without_sessions_stops_in_time),
        cmocka_unit_test(test_a_server_with_sessions_does_not_stop),
    };

    return cmocka_run_group_tests_name("exit_rule", tests, NULL, NULL);
}
