/*
 * test_exit_rule.c - daemon/exit_rule.c: who has to leave until a server stops.
 * The clock is a test's own.
 */
#include "daemon/exit_rule.h"

#include "common/base/pbio.h"
#include "common/proto/peer.pb.h"
#include "tests/support/fake_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define SESSIONS_MAX 16

/* ---- The rule of one server ---------------------------------------------- */

struct session {
    char task[64];
    uint64_t stepped_us;
    bool open;
};

struct fixture {
    struct tfd_loop net;
    struct tfd_service *service;
    struct tfd_config config;
    struct tfd_exit_rule *rule;
    struct session sessions[SESSIONS_MAX]; /* by number */
    uint64_t newest;
    int stops;
    char why[128];
};

static void stop(void *ctx, const char *why)
{
    struct fixture *f = ctx;

    f->stops++;
    snprintf(f->why, sizeof(f->why), "%s", why);
}

/* tasks: "chief:0 worker:1 ..."; self is the first. */
static void open_fixture(struct fixture *f, enum tfd_exit_when when,
                         const char *tasks)
{
    struct tfd_status st = TFD_STATUS_INIT;
    char text[256], *at = text;
    int port = 1000;

    memset(f, 0, sizeof(*f));
    net_open(&f->net);
    f->service = tfd_service_new(&f->net, &st);
    assert_non_null(f->service);
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
    assert_int_equal(tfd_exit_rule_new(&f->net, &f->config, f->service, stop, f,
                                       &f->rule, &st),
                     TFD_OK);
}

static void close_fixture(struct fixture *f)
{
    tfd_exit_rule_free(f->rule);
    assert_int_equal(f->net.timer_count, 0);
    tfd_cluster_deinit(&f->config.cluster);
    tfd_service_free(f->service);
}

/* ---- Sessions ------------------------------------------------------------ */

static void open_session(struct fixture *f, const char *task)
{
    struct session *s = &f->sessions[++f->newest];

    assert_true(f->newest < SESSIONS_MAX);
    *s = (struct session){.open = true};
    snprintf(s->task, sizeof(s->task), "%s", task);
    tfd_exit_rule_opened(f->rule, tfd_str_of(task), f->newest, &s->stepped_us);
}

/* The newest one of the task that is open, or the oldest; 0: none. */
static uint64_t find_session(const struct fixture *f, const char *task,
                             bool oldest)
{
    uint64_t found = 0;

    for (uint64_t i = f->newest; i > 0 && (oldest || found == 0); i--)
        if (f->sessions[i].open && strcmp(f->sessions[i].task, task) == 0)
            found = i;
    return found;
}

static void end_session(struct fixture *f, const char *task, bool oldest,
                        enum tfd_session_end end)
{
    uint64_t number = find_session(f, task, oldest);

    assert_true(number > 0);
    f->sessions[number].open = false;
    tfd_exit_rule_ended(f->rule, tfd_str_of(task), number, end);
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
    tfd_service_dispatch(f->service, &call);
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

/* One word of a script. */
static void act(struct fixture *f, const char *word)
{
    char job[32], task[64];
    int index = 0;

    if (*word == '@') { /* "@5": the seconds that pass */
        net_advance(&f->net, (uint64_t)atoi(word + 1) * 1000000);
        return;
    }
    assert_int_equal(sscanf(word + 1, "%31[a-z]:%d", job, &index), 2);
    snprintf(task, sizeof(task), "/job:%s/replica:0/task:%d", job, index);
    if (*word == '+')
        open_session(f, task);
    else if (*word == '-')
        leaves(f, task);
    else if (*word == 'x') /* closes the newest */
        end_session(f, task, false, TFD_SESSION_LAST);
    else if (*word == 'y') /* closes the oldest */
        end_session(f, task, true, TFD_SESSION_LAST);
    else if (*word == 'o') /* closes the newest, with clients at others */
        end_session(f, task, false, TFD_SESSION_ONE);
    else if (*word == '!') /* the oldest breaks */
        end_session(f, task, true, TFD_SESSION_BROKEN);
    else if (*word == '*') /* the oldest runs a step */
        f->sessions[find_session(f, task, true)].stepped_us = f->net.now_us;
    else
        fail_msg("'%s'", word);
}

/* Stops happen at a script's end only. */
static void play(const char *tasks, enum tfd_exit_when when, const char *script,
                 const char *why)
{
    char text[256], *at = text;
    struct fixture f;

    open_fixture(&f, when, tasks);
    snprintf(text, sizeof(text), "%s", script);
    while (*at) {
        size_t size = strcspn(at, " ");

        if (f.stops)
            fail_msg("%s: %s: stopped before %s", tasks, script, at);
        act(&f, at);
        at += size + (at[size] == ' ');
    }
    if (!why && f.stops)
        fail_msg("%s: %s: stopped", tasks, script);
    if (why && !f.stops)
        fail_msg("%s: %s: not stopped", tasks, script);
    if (why)
        assert_string_equal(f.why, why);
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

static void test_when_every_trainer_has_closed_its_session(void **state)
{
    static const struct {
        const char *script;
        bool stops;
    } cases[] = {
        {"+worker:0 @100", false},
        {"+worker:0 xworker:0 @4", false},
        {"+worker:0 xworker:0 @5", true},
        /* It has come back in time, and goes later. */
        {"+worker:0 xworker:0 @4 +worker:0 @100", false},
        {"+worker:0 xworker:0 @4 +worker:0 @100 xworker:0 @4", false},
        {"+worker:0 xworker:0 @4 +worker:0 @100 xworker:0 @5", true},
        {"+worker:0 +worker:1 xworker:0 @100", false},
        {"+worker:0 +worker:1 xworker:0 @4 xworker:1 @4", false},
        {"+worker:0 +worker:1 xworker:0 @4 xworker:1 @5", true},
        {"+worker:0 +worker:1 -worker:0 xworker:1 @5", true},
        /* Broken is not closed. */
        {"+worker:0 !worker:0 @100", false},
        {"+worker:0 !worker:0 +worker:0 xworker:0 @5", true},
        {"+worker:0 xworker:0 @4 +worker:0 !worker:0 @100", false},
        /* What a killed trainer has left counts until a later one closes. */
        {"+worker:0 +worker:0 xworker:0 @5", true},
        {"+worker:0 +worker:0 yworker:0 @100", false},
        {"+worker:0 +worker:0 yworker:0 @100 xworker:0 @5", true},
        {"+worker:0 +worker:0 +worker:0 xworker:0 @4 !worker:0 @1", true},
        /* It was not killed: it goes on. */
        {"+worker:0 +worker:0 xworker:0 @1 *worker:0 @100", false},
        {"+worker:0 +worker:0 xworker:0 @1 *worker:0 @9 xworker:0 @5", true},
        {"+worker:0 +worker:0 xworker:0 @1 *worker:0 @9 !worker:0 @9", false},
        {"+worker:0 *worker:0 +worker:0 @1 xworker:0 @5", true},
        /* Its master knows that it lives. */
        {"+worker:0 +worker:0 oworker:0 @100", false},
        {"+worker:0 +worker:0 oworker:0 @100 xworker:0 @5", true},
        {"+worker:0 +worker:0 oworker:0 @100 !worker:0 @100", false},
        /* Workers wait for a chief: for half a minute at a time. */
        {"+worker:1 xworker:1 @59", false},
        {"+worker:1 xworker:1 @60", true},
        {"+worker:1 xworker:1 @30 +worker:0 @1 +worker:1 xworker:1 @99", false},
        {"+worker:1 xworker:1 @30 +worker:0 xworker:0 @5", true},
        /* Others do not count. */
        {"+ps:1 xps:1 @100", false},
        {"+worker:0 +worker:7 xworker:0 @5", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        play("ps:0 ps:1 worker:0 worker:1", TFD_EXIT_WORKERS, cases[i].script,
             cases[i].stops ? "every worker has left" : NULL);
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
        {TRAINING, "+chief:0 xchief:0 @4", false},
        {TRAINING, "+chief:0 +worker:1 xchief:0 @5", true},
        {TRAINING, "+chief:0 +worker:1 !chief:0 xworker:1 @100", false},
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
    play(TRAINING, TFD_EXIT_NEVER,
         "+chief:0 xchief:0 @99 -chief:0 -worker:0 -ps:1", NULL);
    play(TRAINING, TFD_EXIT_IDLE,
         "+chief:0 xchief:0 @99 -chief:0 -worker:0 -ps:1", NULL);
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
    open_session(&f, "/job:worker/replica:0/task:1");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        open_session(&f, names[i]);
        end_session(&f, names[i], false, TFD_SESSION_LAST);
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
    open_session(&f, "/job:worker/replica:0/task:1");
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
    leaves(&f, "/job:worker/replica:0/task:1");
    assert_int_equal(f.stops, 1);
    close_fixture(&f);
}

static void test_a_server_that_is_idle_again_stops_in_time(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, TFD_EXIT_IDLE, WORKERS);
    tfd_exit_rule_busy(f.rule, true);
    tfd_exit_rule_busy(f.rule, true);
    net_advance(&f.net, 60000);
    assert_int_equal(f.stops, 0);
    tfd_exit_rule_busy(f.rule, false);
    net_advance(&f.net, 19999);
    assert_int_equal(f.stops, 0);
    net_advance(&f.net, 1);
    assert_int_equal(f.stops, 1);
    assert_string_equal(f.why, "no session was open for the configured time");
    close_fixture(&f);
}

static void test_idle_counts_from_the_first_session_on(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, TFD_EXIT_IDLE, WORKERS);
    net_advance(&f.net, 1000000);
    tfd_exit_rule_busy(f.rule, false);
    net_advance(&f.net, 1000000);
    assert_int_equal(f.stops, 0);
    close_fixture(&f);
}

static void test_sessions_that_nobody_knows(void **state)
{
    struct tfd_str task = TFD_STR("/job:worker/replica:0/task:0");
    struct fixture f;

    (void)state;
    open_fixture(&f, TFD_EXIT_WORKERS, WORKERS);
    tfd_exit_rule_ended(f.rule, task, 0, TFD_SESSION_LAST);
    tfd_exit_rule_ended(f.rule, task, UINT64_MAX, TFD_SESSION_LAST);
    open_session(&f, "/job:worker/replica:0/task:0");
    tfd_exit_rule_ended(f.rule, task, 2, TFD_SESSION_LAST);
    net_advance(&f.net, 100000000);
    assert_int_equal(f.stops, 0);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_when_every_worker_has_left),
        cmocka_unit_test(test_when_every_trainer_has_closed_its_session),
        cmocka_unit_test(test_when_the_chief_has_left),
        cmocka_unit_test(test_without_a_rule_nobody_is_waited_for),
        cmocka_unit_test(test_names_that_are_no_task),
        cmocka_unit_test(test_messages_that_are_damaged),
        cmocka_unit_test(test_many_strangers),
        cmocka_unit_test(test_a_server_that_is_idle_again_stops_in_time),
        cmocka_unit_test(test_idle_counts_from_the_first_session_on),
        cmocka_unit_test(test_sessions_that_nobody_knows),
    };

    return cmocka_run_group_tests_name("exit_rule", tests, NULL, NULL);
}
