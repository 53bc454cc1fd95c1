/*
 * http.c - HTTP/1: one GET or HEAD per connection, answered with a page of the
 * service table.
 *
 * Health checks and metric scrapers are the callers; keeping connections open
 * for them would save nothing and cost a parser of bodies and pipelining.
 */
#include "common/base/container.h"
#include "config/limits.h"
#include "rpc/core/link.h"
#include "rpc/http/http_field.h"

#include <stdlib.h>
#include <string.h>

#define GRACE_US (5 * 1000 * 1000) /* for a reader of a large page */

struct http {
    struct tfd_service *service;
    struct tfd_conn *conn;
    struct tfd_timer timer;
    struct tfd_bytes head;
    bool answered;
    struct tfd_page page;
    struct tfd_bytes body;
    bool head_only;
    bool later; /* the page's handler has not finished it yet */
};

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    {200, "OK"},
    {400, "Bad Request"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {431, "Request Header Fields Too Large"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

static const char *reason_of(int status)
{
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Internal Server Error";
}

/* ---- Answering ----------------------------------------------------------- */

/* Frees the page's body. */
static void answer_http(struct http *h, int status)
{
    struct tfd_page *page = &h->page;
    struct tfd_bytes head;

    h->answered = true;
    h->later = false;
    tfd_timer_stop(&h->timer);
    tfd_bytes_init(&head, TFD_HTTP_HEAD_SIZE_MAX);
    tfd_bytes_printf(&head,
                     "HTTP/1.1 %d %s\r\n"
                     "Content-Type: %s\r\n"
                     "Content-Length: %zu\r\n"
                     "%s%s"
                     "Cache-Control: no-store\r\n"
                     "X-Content-Type-Options: nosniff\r\n"
                     "Connection: close\r\n\r\n",
                     status, reason_of(status), page->content_type,
                     page->body->size, page->headers,
                     status == 405 ? "Allow: GET, HEAD\r\n" : "");
    tfd_conn_write_bytes(h->conn, &head);
    if (!h->head_only)
        tfd_conn_write_bytes(h->conn, page->body);
    tfd_bytes_deinit(&head);
    tfd_bytes_deinit(page->body);
    tfd_conn_close(h->conn, GRACE_US);
}

static void finish_page(struct tfd_page *page, int status);

static void init_page(struct http *h)
{
    tfd_bytes_init(&h->body, TFD_PAGE_SIZE_MAX);
    h->page = (struct tfd_page){.accept = TFD_STR_EMPTY,
                                .query = TFD_STR_EMPTY,
                                .body = &h->body,
                                .content_type = "text/plain; charset=utf-8",
                                .headers = "",
                                .finish = finish_page};
}

static void refuse_http(struct http *h, int status)
{
    init_page(h);
    tfd_bytes_printf(&h->body, "%d %s\n", status, reason_of(status));
    answer_http(h, status);
}

static void finish_page(struct tfd_page *page, int status)
{
    struct http *h = TFD_CONTAINER_OF(page, struct http, page);

    if (tfd_bytes_ok(&h->body, "the page", NULL) == TFD_OK) {
        answer_http(h, status);
        return;
    }
    tfd_bytes_deinit(&h->body);
    refuse_http(h, 500);
}

/* `fields` is what follows the request's first line. */
static void answer_page(struct http *h, struct tfd_str path,
                        struct tfd_str query, struct tfd_str fields)
{
    void *self = NULL;
    tfd_page_fn *fn = tfd_service_find_page(h->service, path, &self);
    int status;

    if (!fn) {
        refuse_http(h, 404);
        return;
    }
    init_page(h);
    h->page.query = query;
    h->page.accept = tfd_http_field(fields, "accept");
    h->answered = h->later = true; /* what comes now is for nobody */
    status = fn(self, &h->page);
    if (status != TFD_PAGE_LATER)
        finish_page(&h->page, status);
    else
        tfd_timer_stop(&h->timer);
}

/* ---- Reading ------------------------------------------------------------- */

/* Takes the bytes before `end` off *rest, and `end` itself. */
static bool take_until(struct tfd_str *rest, char end, struct tfd_str *out)
{
    const char *at = rest->size ? memchr(rest->data, end, rest->size) : NULL;
    size_t size = at ? (size_t)(at - rest->data) : 0;

    if (!at)
        return false;
    *out = (struct tfd_str){rest->data, size};
    rest->data += size + 1;
    rest->size -= size + 1;
    return true;
}

/* "GET /steps?x HTTP/1.1" */
static void answer_request(struct http *h)
{
    struct tfd_str rest = tfd_bytes_view(&h->head);
    struct tfd_str line, method, target, path, query = TFD_STR_EMPTY;
    bool get, head;

    if (!take_until(&rest, '\n', &line) || !take_until(&line, ' ', &method) ||
        !take_until(&line, ' ', &target) || target.size == 0 ||
        target.data[0] != '/') {
        refuse_http(h, 400);
        return;
    }
    get = tfd_str_is(method, "GET");
    head = tfd_str_is(method, "HEAD");
    h->head_only = head;
    if (take_until(&target, '?', &path))
        query = target;
    else
        path = target;
    if (!tfd_str_starts(line, "HTTP/1."))
        refuse_http(h, 505);
    else if (!get && !head)
        refuse_http(h, 405);
    else
        answer_page(h, path, query, rest);
}

/* An empty line ends the head; a bare line feed is taken for a line's end, as
 * people type it. */
static bool head_complete(const struct tfd_bytes *head, size_t from)
{
    for (size_t i = from; i < head->size; i++) {
        if (head->data[i] != '\n' || i == 0)
            continue;
        if (head->data[i - 1] == '\n' ||
            (i >= 2 && head->data[i - 1] == '\r' && head->data[i - 2] == '\n'))
            return true;
    }
    return false;
}

static void add_bytes(struct http *h, const char *data, size_t size)
{
    size_t before = h->head.size;

    if (h->answered)
        return;
    tfd_bytes_add(&h->head, data, size);
    if (h->head.failed)
        refuse_http(h, 431);
    else if (head_complete(&h->head, before))
        answer_request(h);
}

static size_t on_space(void *self, uint8_t **at)
{
    struct http *h = self;

    *at = tfd_loop_scratch(tfd_conn_loop(h->conn));
    return 4096;
}

static enum tfd_code on_commit(void *self, size_t n, struct tfd_status *st)
{
    struct http *h = self;

    (void)st;
    add_bytes(h, (const char *)tfd_loop_scratch(tfd_conn_loop(h->conn)), n);
    return TFD_OK;
}

static void on_http_closed(void *self, const struct tfd_status *why)
{
    struct http *h = self;

    (void)why;
    tfd_timer_stop(&h->timer);
    if (h->later) {
        h->page.gone(&h->page);
        tfd_bytes_deinit(&h->body);
    }
    tfd_bytes_deinit(&h->head);
    free(h);
}

static const struct tfd_conn_handler handler = {
    .space = on_space,
    .commit = on_commit,
    .closed = on_http_closed,
};

static void too_slow(struct tfd_timer *t)
{
    struct http *h = TFD_CONTAINER_OF(t, struct http, timer);

    tfd_conn_close(h->conn, 0);
}

enum tfd_code tfd_http_serve(struct tfd_service *s, struct tfd_conn *c,
                             struct tfd_str prefix, struct tfd_status *st)
{
    struct http *h = calloc(1, sizeof(*h));

    if (!h)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a connection");
    h->service = s;
    h->conn = c;
    tfd_bytes_init(&h->head, TFD_HTTP_HEAD_SIZE_MAX);
    tfd_timer_init(&h->timer, tfd_conn_loop(c), too_slow);
    if (tfd_timer_start(&h->timer, TFD_HEAD_MS * UINT64_C(1000), st) !=
        TFD_OK) {
        free(h);
        return TFD_RESOURCE_EXHAUSTED;
    }
    tfd_conn_handle(c, &handler, h);
    add_bytes(h, prefix.data, prefix.size);
    return TFD_OK;
}
