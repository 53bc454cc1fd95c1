/*
 * test_local.c - daemon/local.c: sessions of a whole server in this process,
 * called from other threads; and the server's pages.
 */
#include "daemon/server.h"

#include "daemon/server_impl.h"
#include "rpc/core/service.h"
#include "tests/support/nodes.h"

#include <pthread.h>

struct fixture {
    struct tfd_config config;
    struct tfd_server *server;
    struct tfd_local_session *session;
};

#define NODES                                                        \
    "a Const; b Relu a; p Placeholder; q Add p,a; pb PlaceholderB; " \
    "s Switch a,pb; n NoOp"

static int setup(void **state)
{
    static char *arguments[] = {"tfd", NULL};
    static struct fixture f;
    struct tfd_server_options o = {.config = &f.config};
    struct tfd_bytes graph = nodes_bytes(NODES);
    struct tfd_status st = TFD_STATUS_INIT;

    memset(&f, 0, sizeof(f));
    assert_int_equal(
        tfd_flags_parse(&f.config, 1, arguments, "", stdout, stderr),
        TFD_FLAGS_RUN);
    if (tfd_server_new(&o, &f.server, &st) != TFD_OK ||
        tfd_server_start(f.server, &st) != TFD_OK ||
        tfd_local_open(f.server, tfd_bytes_view(&graph), TFD_STR_EMPTY,
                       &f.session, &st) != TFD_OK)
        fail_msg("%s", st.text);
    tfd_bytes_deinit(&graph);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    if (f->session)
        tfd_local_close(f->session);
    tfd_server_stop(f->server);
    tfd_server_join(f->server);
    tfd_server_free(f->server);
    tfd_config_deinit(&f->config);
    return 0;
}

static struct tfd_tensor scalar(float value)
{
    const struct tfd_shape shape = {0, {0}};
    struct tfd_tensor t;

    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, &shape, NULL), TFD_OK);
    *(float *)tfd_tensor_data(&t) = value;
    return t;
}

/* p + a, and b: 2 fetches of a plan with one feed. */
static enum tfd_code run(struct fixture *f, uint32_t *plan, float *out,
                         struct tfd_status *st)
{
    static const struct tfd_str feed = TFD_STR_INIT("p:0");
    static const struct tfd_str fetches[] = {TFD_STR_INIT("q:0"),
                                             TFD_STR_INIT("b:0")};
    struct tfd_tensor in = scalar(5), got[2];
    struct tfd_local_run r = {.feed_names = &feed,
                              .feeds = &in,
                              .feed_count = 1,
                              .fetch_names = fetches,
                              .fetches = got,
                              .fetch_count = 2,
                              .plan = *plan};

    TFD_TRY(tfd_local_run(f->session, &r, st));
    *plan = r.plan;
    for (int i = 0; i < 2; i++) {
        out[i] = *(float *)tfd_tensor_data(&got[i]);
        tfd_tensor_unref(&got[i]);
    }
    return TFD_OK;
}

static void test_a_step_by_names_and_then_by_number(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    uint32_t plan = 0;
    float out[2];

    for (int i = 0; i < 3; i++) {
        if (run(*state, &plan, out, &st) != TFD_OK)
            fail_msg("%s", st.text);
        assert_true(out[0] == 6 && out[1] == 1);
        assert_int_equal(plan, 1);
    }
}

static void test_steps_that_fail(void **state)
{
    static const struct {
        const char *fetch;
        int count;
        uint32_t plan;
        enum tfd_code code;
        const char *text;
    } cases[] = {
        {"nosuch:0", 1, 0, TFD_NOT_FOUND, "FetchOutputs node nosuch:0"},
        {"p:0", 1, 0, TFD_INVALID_ARGUMENT, "You must feed a value"},
        {"s:0", 1, 0, TFD_INVALID_ARGUMENT, "You must feed a value"},
        {"", 0, 0, TFD_INVALID_ARGUMENT, "at least one target"},
        {"b:0", 1, 77, TFD_INVALID_ARGUMENT, "Plan 77 is not known"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_str fetch = tfd_str_of(cases[i].fetch);
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_tensor got;
        struct tfd_local_run r = {.fetch_names = &fetch,
                                  .fetches = &got,
                                  .fetch_count = cases[i].count,
                                  .plan = cases[i].plan};

        assert_int_equal(tfd_local_run(f->session, &r, &st), cases[i].code);
        if (!strstr(st.text, cases[i].text))
            fail_msg("%s: %s", cases[i].fetch, st.text);
    }
}

static void test_a_number_of_other_fetches(void **state)
{
    static const struct tfd_str feed = TFD_STR_INIT("p:0");
    struct fixture *f = *state;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_tensor in = scalar(5), got[3];
    struct tfd_local_run r = {.feed_names = &feed,
                              .feeds = &in,
                              .feed_count = 1,
                              .fetches = got,
                              .fetch_count = 3};
    float out[2];

    assert_int_equal(run(f, &r.plan, out, &st), TFD_OK);
    assert_int_equal(tfd_local_run(f->session, &r, &st), TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(st.text, "has 2 fetches, 3 were asked for"));
}

static void test_a_session_grows(void **state)
{
    struct tfd_bytes more = nodes_bytes("c Relu b"),
                     wrong = nodes_bytes("c Const");
    static const struct tfd_str fetch = TFD_STR_INIT("c:0");
    struct fixture *f = *state;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_tensor got;
    struct tfd_local_run r = {
        .fetch_names = &fetch, .fetches = &got, .fetch_count = 1};

    assert_int_equal(tfd_local_run(f->session, &r, &st), TFD_NOT_FOUND);
    tfd_status_clear(&st);
    assert_int_equal(tfd_local_extend(f->session, tfd_bytes_view(&more), &st),
                     TFD_OK);
    assert_int_equal(tfd_local_extend(f->session, tfd_bytes_view(&wrong), &st),
                     TFD_INVALID_ARGUMENT);
    tfd_status_clear(&st);
    if (tfd_local_run(f->session, &r, &st) != TFD_OK)
        fail_msg("%s", st.text);
    tfd_tensor_unref(&got);
    tfd_bytes_deinit(&more);
    tfd_bytes_deinit(&wrong);
}

static void test_a_session_that_was_cancelled_takes_no_calls(void **state)
{
    struct fixture *f = *state;
    struct tfd_status st = TFD_STATUS_INIT;
    uint32_t plan = 0;
    float out[2];

    tfd_local_cancel(f->session);
    tfd_local_cancel(f->session);
    assert_int_equal(run(f, &plan, out, &st), TFD_CANCELLED);
    tfd_status_clear(&st);
    assert_int_equal(tfd_local_extend(f->session, TFD_STR_EMPTY, &st),
                     TFD_CANCELLED);
    assert_string_equal(st.text, "Session has been closed.");
}

static void test_a_graph_that_is_none(void **state)
{
    struct fixture *f = *state;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_local_session *l = NULL;

    assert_int_equal(
        tfd_local_open(f->server, TFD_STR("\xff\xff"), TFD_STR_EMPTY, &l, &st),
        TFD_INVALID_ARGUMENT);
    assert_null(l);
}

static void *run_often(void *arg)
{
    struct tfd_status st = TFD_STATUS_INIT;
    uint32_t plan = 0;
    float out[2];
    intptr_t bad = 0;

    for (int i = 0; i < 200; i++)
        bad += run(arg, &plan, out, &st) != TFD_OK || out[0] != 6;
    return (void *)bad;
}

static void test_threads_share_a_session(void **state)
{
    pthread_t threads[4];
    void *bad;

    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, *state),
                         0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &bad);
        assert_null(bad);
    }
}

/* ---- Pages --------------------------------------------------------------- */

struct page {
    struct tfd_post post; /* first */
    struct fixture *f;
    const char *path;
    struct tfd_bytes body;
    int status;
    int done; /* atomic */
};

static void show(struct tfd_post *post)
{
    struct page *p = (struct page *)post;
    struct tfd_page page = {
        .accept = TFD_STR_EMPTY, .query = TFD_STR_EMPTY, .body = &p->body};
    void *self = NULL;
    tfd_page_fn *fn = tfd_service_find_page(tfd_server_service(p->f->server),
                                            tfd_str_of(p->path), &self);

    p->status = fn ? fn(self, &page) : 404;
    __atomic_store_n(&p->done, 1, __ATOMIC_RELEASE);
}

static void get(struct fixture *f, struct page *p, const char *path)
{
    memset(p, 0, sizeof(*p));
    p->post.run = show;
    p->f = f;
    p->path = path;
    tfd_bytes_init(&p->body, 1 << 20);
    tfd_loop_post(tfd_server_loop(f->server), &p->post);
    while (!__atomic_load_n(&p->done, __ATOMIC_ACQUIRE))
        continue;
}

static void test_pages_say_how_it_is(void **state)
{
    static const struct {
        const char *path;
        int status;
        const char *text;
    } cases[] = {
        {"/healthz", 200, "ok\n"},
        {"/livez", 200, "ok\n"},
        {"/readyz", 200, "ok\n"},
        {"/metrics", 200, "\ntfd_sessions 1\n"},
        {"/metrics", 200, "\ntfd_steps_total 1\n"},
        {"/metrics", 200, "\ntfd_steps_running 0\n"},
        {"/metrics", 200, "\ntfd_role_info{job=\"local\",task=\"0\"} 1\n"},
        {"/", 200, "/job:local/replica:0/task:0 (this server)"},
        {"/", 200, "sessions 1, steps running 0, done 1"},
        {"/kernels", 200, "\nNoOp CPU host *\n"},
        {"/kernels", 200, "\nMatMul CPU host T=float,double,"},
        {"/nosuch", 404, ""},
    };
    struct tfd_status st = TFD_STATUS_INIT;
    uint32_t plan = 0;
    float out[2];

    assert_int_equal(run(*state, &plan, out, &st), TFD_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct page p;

        get(*state, &p, cases[i].path);
        assert_int_equal(p.status, cases[i].status);
        if (cases[i].text[0] && !strstr(p.body.data, cases[i].text))
            fail_msg("%s: no %s in\n%s", cases[i].path, cases[i].text,
                     p.body.data);
        tfd_bytes_deinit(&p.body);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_step_by_names_and_then_by_number),
        TEST(test_steps_that_fail),
        TEST(test_a_number_of_other_fetches),
        TEST(test_a_session_grows),
        TEST(test_a_session_that_was_cancelled_takes_no_calls),
        TEST(test_a_graph_that_is_none),
        TEST(test_threads_share_a_session),
        TEST(test_pages_say_how_it_is),
    };

    return cmocka_run_group_tests_name("local", tests, NULL, NULL);
}
