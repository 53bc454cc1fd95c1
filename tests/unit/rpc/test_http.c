/*
 * test_http.c - rpc/http/http.c and sniff.c: pages, refusals, and what the
 * first bytes of a connection choose.
 */
#include "tests/support/rig.h"

#include "config/limits.h"
#include "rpc/http/http_field.h"

static int page(void *self, struct tfd_page *p)
{
    tfd_bytes_printf(p->body, "page %s\n", (const char *)self);
    p->content_type = "text/plain";
    return 200;
}

static int not_ready(void *self, struct tfd_page *p)
{
    (void)self;
    tfd_bytes_printf(p->body, "starting\n");
    return 503;
}

static int too_large(void *self, struct tfd_page *p)
{
    (void)self;
    while (!p->body->failed)
        tfd_bytes_extend(p->body, 1 << 20);
    return 200;
}

/* Says what it was asked for. */
static int echo(void *self, struct tfd_page *p)
{
    (void)self;
    tfd_bytes_printf(p->body,
                     "query=" TFD_STR_FMT " accept=" TFD_STR_FMT " html=%d",
                     TFD_STR_ARG(p->query), TFD_STR_ARG(p->accept),
                     tfd_http_field_accepts(p->accept, "text/html"));
    p->headers = "X-Echo: yes\r\n";
    return 200;
}

/* Finished by the next turn of the loop, unless its reader has gone. */
static struct tfd_post later_post;
static struct tfd_page *later;
static int gone_count;

static void finish_later(struct tfd_post *p)
{
    (void)p;
    if (!later)
        return;
    tfd_bytes_printf(later->body, "late");
    later->finish(later, 200);
    later = NULL;
}

static void reader_gone(struct tfd_page *p)
{
    assert_ptr_equal(p, later);
    later = NULL;
    gone_count++;
    rig_tick(p->ctx);
}

static int late_page(void *self, struct tfd_page *p)
{
    struct rig *r = self;

    later = p;
    p->ctx = self;
    p->gone = reader_gone;
    later_post.run = finish_later;
    tfd_loop_post(r->loop, &later_post);
    return TFD_PAGE_LATER;
}

static int never_page(void *self, struct tfd_page *p)
{
    later = p;
    p->ctx = self;
    p->gone = reader_gone;
    rig_tick(self);
    return TFD_PAGE_LATER;
}

static struct rig *rig_with_pages(void)
{
    struct rig *r = rig_new();

    assert_int_equal(
        tfd_service_page(r->service, "/healthz", page, "healthy", NULL),
        TFD_OK);
    assert_int_equal(
        tfd_service_page(r->service, "/readyz", not_ready, NULL, NULL), TFD_OK);
    assert_int_equal(
        tfd_service_page(r->service, "/large", too_large, NULL, NULL), TFD_OK);
    assert_int_equal(tfd_service_page(r->service, "/echo", echo, NULL, NULL),
                     TFD_OK);
    assert_int_equal(tfd_service_page(r->service, "/late", late_page, r, NULL),
                     TFD_OK);
    assert_int_equal(
        tfd_service_page(r->service, "/never", never_page, r, NULL), TFD_OK);
    return r;
}

/* Sends text and returns what came until the server closed. */
static struct rig_raw *ask(struct rig *r, const char *text, size_t size)
{
    struct rig_raw *w = rig_raw_new(r, r->address);

    tfd_conn_write(w->conn, text, size);
    rig_run(r, 1);
    assert_true(w->closed);
    tfd_bytes_add(&w->in, "", 1);
    return w;
}

static void test_requests_and_their_answers(void **state)
{
    static const struct {
        const char *request, *status, *part;
    } cases[] = {
        {"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 OK\r\n",
         "\r\n\r\npage healthy\n"},
        {"GET /healthz?verbose=1 HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n",
         "Content-Length: 13\r\n"},
        {"GET /healthz HTTP/1.1\n\n", "HTTP/1.1 200 OK\r\n", "page healthy"},
        {"HEAD /healthz HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n",
         "Connection: close\r\n\r\n"},
        {"GET /readyz HTTP/1.1\r\n\r\n", "HTTP/1.1 503 ", "starting"},
        {"GET /large HTTP/1.1\r\n\r\n", "HTTP/1.1 500 ", "500"},
        {"GET /echo HTTP/1.1\r\n\r\n", "HTTP/1.1 200 ",
         "query= accept= html=0"},
        {"GET /echo?a=1?2 HTTP/1.1\r\nAccept: */*\r\n\r\n", "HTTP/1.1 200 ",
         "query=a=1?2 accept=*/* html=0"},
        {"GET /echo HTTP/1.1\r\nHost: accept\r\nACCEPT:image/x, Text/HTML "
         ";a=b; "
         "q=0.9\r\nX: y\r\n\r\n",
         "HTTP/1.1 200 ", "q=0.9 html=1"},
        {"GET /echo HTTP/1.1\nAccept: text/html;q=0.0,text/htmlx\n\n",
         "HTTP/1.1 200 ", "html=0"},
        {"GET /echo HTTP/1.1\nAccept\nAccept:\n\n", "HTTP/1.1 200 ",
         "accept= html=0"},
        {"GET /echo HTTP/1.1\nAccept: ,;,;;,text/html;q\n\n", "HTTP/1.1 200 ",
         "html=1"},
        {"GET /echo HTTP/1.1\r\n\r\n", "HTTP/1.1 200 ", "\r\nX-Echo: yes\r\n"},
        {"GET /late HTTP/1.1\r\n\r\n", "HTTP/1.1 200 ", "\r\n\r\nlate"},
        {"GET /late HTTP/1.1\r\n\r\nGET /late HTTP/1.1\r\n\r\n",
         "HTTP/1.1 200 ", "\r\n\r\nlate"},
        {"HEAD /late HTTP/1.1\r\n\r\n", "HTTP/1.1 200 ",
         "Content-Length: 4\r\n"},
        {"GET /nothing HTTP/1.1\r\n\r\n", "HTTP/1.1 404 ", "404 Not Found"},
        {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404 ", "404"},
        {"HEAD / HTTP/1.1\r\n\r\n", "HTTP/1.1 404 ", "Content-Length: 14\r\n"},
        {"POST /healthz HTTP/1.1\r\n\r\n", "HTTP/1.1 405 ",
         "Allow: GET, HEAD\r\n"},
        {"DELETE /healthz HTTP/1.1\r\n\r\n", "HTTP/1.1 405 ", "Allow"},
        {"GET /healthz HTTP/2.0\r\n\r\n", "HTTP/1.1 505 ", "505"},
        {"GET /healthz\r\n\r\n", "HTTP/1.1 400 ", "400"},
        {"GET  HTTP/1.1\r\n\r\n", "HTTP/1.1 400 ", "400"},
        {"GET healthz HTTP/1.1\r\n\r\n", "HTTP/1.1 400 ", "400"},
        {"GET http://a/healthz HTTP/1.1\r\n\r\n", "HTTP/1.1 400 ", "400"},
        {"GET \r\n\r\n", "HTTP/1.1 400 ", "400"},
    };
    struct rig *r = rig_with_pages();

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig_raw *w = ask(r, cases[i].request, strlen(cases[i].request));

        if (strncmp(w->in.data, cases[i].status, strlen(cases[i].status)) ||
            !strstr(w->in.data, cases[i].part))
            fail_msg("%s was answered %s", cases[i].request, w->in.data);
        if (strncmp(cases[i].request, "HEAD", 4) == 0)
            assert_string_equal(strstr(w->in.data, "\r\n\r\n"), "\r\n\r\n");
        rig_raw_free(w);
    }
    rig_free(r);
}

static void test_the_size_of_a_head_is_limited(void **state)
{
    struct rig *r = rig_with_pages();
    struct tfd_bytes request;
    struct rig_raw *w;

    (void)state;
    for (int over = 0; over < 2; over++) {
        tfd_bytes_init(&request, 1 << 20);
        tfd_bytes_printf(&request, "GET /healthz HTTP/1.1\r\nX: ");
        while (request.size < TFD_HTTP_HEAD_SIZE_MAX - 4 + (size_t)over)
            tfd_bytes_add(&request, "x", 1);
        tfd_bytes_add(&request, "\r\n\r\n", 4);
        w = ask(r, request.data, request.size);
        assert_memory_equal(w->in.data,
                            over ? "HTTP/1.1 431 " : "HTTP/1.1 200 ", 13);
        rig_raw_free(w);
        tfd_bytes_deinit(&request);
    }
    rig_free(r);
}

static void test_a_head_may_come_in_pieces(void **state)
{
    static const char text[] = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    struct rig *r = rig_with_pages();

    (void)state;
    for (size_t cut = 1; cut < strlen(text); cut++) {
        struct rig_raw *w = rig_raw_new(r, r->address);

        w->tick_connected = true;
        rig_run(r, 1);
        tfd_conn_write(w->conn, text, cut);
        tfd_loop_stop(r->loop); /* one turn: the first piece leaves */
        tfd_loop_run(r->loop);
        tfd_conn_write(w->conn, text + cut, strlen(text) - cut);
        rig_run(r, 1);
        tfd_bytes_add(&w->in, "", 1);
        assert_non_null(strstr(w->in.data, "page healthy"));
        rig_raw_free(w);
    }
    rig_free(r);
}

static void test_a_request_that_ends_early_gets_nothing(void **state)
{
    struct rig *r = rig_with_pages();
    struct rig_raw *w = rig_raw_new(r, r->address);

    (void)state;
    w->tick_connected = true;
    rig_run(r, 1);
    tfd_conn_write(w->conn, "GET /heal", 9);
    tfd_conn_close(w->conn, 1000 * 1000);
    rig_run(r, 1);
    assert_int_equal(w->in.size, 0);
    rig_raw_free(w);
    rig_free(r);
}

static void test_a_reader_that_goes_before_its_page_is_there(void **state)
{
    static const char request[] = "GET /never HTTP/1.1\r\n\r\n";
    struct rig *r = rig_with_pages();
    struct rig_raw *w = rig_raw_new(r, r->address);

    (void)state;
    gone_count = 0;
    w->tick_connected = true;
    rig_run(r, 1);
    tfd_conn_write(w->conn, request, sizeof(request) - 1);
    rig_run(r, 1);
    assert_non_null(later);
    tfd_conn_close(w->conn, 0);
    rig_run(r, 2);
    assert_int_equal(gone_count, 1);
    assert_int_equal(w->in.size, 0);
    rig_raw_free(w);
    rig_free(r);
}

/* ---- First bytes --------------------------------------------------------- */

static void test_first_bytes_that_are_no_protocol_end_it(void **state)
{
    static const char *const garbage[] = {
        "\x16\x03\x01\x02\x00\x01\x00\x01", /* TLS */
        "SSH-2.0-client\r\n",
        "TFD2............",
        "get / http/1.1\r\n\r\n",
        "PRJ * HTTP/2.0\r\n",
        "\xff\xff\xff\xff",
    };
    struct rig *r = rig_with_pages();

    (void)state;
    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
        struct rig_raw *w = ask(r, garbage[i], strlen(garbage[i]));

        assert_int_equal(w->in.size, 1); /* the terminator of ask() */
        rig_raw_free(w);
    }
    rig_free(r);
}

static void test_each_protocol_is_known_by_four_bytes(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *answer; /* the beginning */
        size_t answer_size;
    } cases[] = {
        {"TFD1\5\0\0\0\0\0\0\0\10\0\0\0"
         "12345678",
         24, "TFD1\6", 5},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33, "\0", 1},
        {"GET /healthz HTTP/1.1\r\n\r\n", 25, "HTTP/1.1 200", 12},
    };
    struct rig *r = rig_with_pages();

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig_raw *w = rig_raw_new(r, r->address);

        w->tick_at = cases[i].answer_size;
        for (size_t k = 0; k < cases[i].size; k++)
            tfd_conn_write(w->conn, cases[i].bytes + k, 1);
        rig_run(r, 1);
        assert_memory_equal(w->in.data, cases[i].answer, cases[i].answer_size);
        rig_raw_free(w);
        r->awaited = 0;
    }
    rig_free(r);
}

static void test_silent_connections_do_no_harm(void **state)
{
    enum { COUNT = 50 };
    struct rig *r = rig_with_pages();
    struct rig_raw *silent[COUNT], *w;

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        silent[i] = rig_raw_new(r, r->address);
        tfd_conn_write(silent[i]->conn, "GE", (size_t)(i % 3));
    }
    w = ask(r, "GET /healthz HTTP/1.0\r\n\r\n", 25);
    assert_non_null(strstr(w->in.data, "page healthy"));
    rig_raw_free(w);
    for (int i = 0; i < COUNT; i++)
        rig_raw_free(silent[i]);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_and_their_answers),
        cmocka_unit_test(test_the_size_of_a_head_is_limited),
        cmocka_unit_test(test_a_head_may_come_in_pieces),
        cmocka_unit_test(test_a_request_that_ends_early_gets_nothing),
        cmocka_unit_test(test_a_reader_that_goes_before_its_page_is_there),
        cmocka_unit_test(test_first_bytes_that_are_no_protocol_end_it),
        cmocka_unit_test(test_each_protocol_is_known_by_four_bytes),
        cmocka_unit_test(test_silent_connections_do_no_harm),
    };

    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
