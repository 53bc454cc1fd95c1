/*
 * status_page.c - pages written anew for each request, from counters that are
 * kept anyway.
 */
#include "daemon/status/status_page.h"

#include "common/base/container.h"
#include "common/base/entropy.h"
#include "config/limits.h"
#include "config/version.h"
#include "daemon/eager/eager.h"
#include "daemon/master/session/master.h"
#include "daemon/status/document.h"
#include "daemon/status/kernels_page.h"
#include "daemon/status/metrics.h"
#include "daemon/status/steps_page.h"
#include "daemon/status/view.h"
#include "rpc/core/peers.h"
#include "rpc/http/http_field.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tfd_status_page {
    const struct tfd_view *view;
    struct tfd_roster *roster;
    struct tfd_history history;
    char headers[512]; /* of the last page that had some */
    /* The document, for all who ask in one turn of the loop; nothing of what
     * it tells reaches anybody before that is over. */
    struct tfd_bytes document;
    bool has_document;
    uint64_t answers; /* of the roster, that it tells */
    struct tfd_post turn_over;
};

/* By `make`, from page.html. */
static const char html[] = {
#include "daemon/status/page.html.h"
    0};

static int health_page(void *self, struct tfd_page *p)
{
    (void)self;
    tfd_bytes_printf(p->body, "ok\n");
    return 200;
}

static int ready_page(void *self, struct tfd_page *p)
{
    const struct tfd_status_page *pages = self;
    const struct tfd_view *v = pages->view;
    bool draining = tfd_service_draining(v->service);

    tfd_bytes_printf(p->body, "%s\n", draining ? "draining" : "ok");
    return draining ? 503 : 200;
}

/* ---- In words ------------------------------------------------------------ */

static int metrics_page(void *self, struct tfd_page *p)
{
    struct tfd_status_page *pages = self;

    return tfd_metrics_page((void *)pages->view, p);
}

static int steps_page(void *self, struct tfd_page *p)
{
    struct tfd_status_page *pages = self;

    return tfd_steps_page((void *)pages->view, p);
}

static int kernels_page(void *self, struct tfd_page *p)
{
    const struct tfd_status_page *pages = self;

    tfd_kernels_page_write(pages->view->registry, p->body);
    return 200;
}

/* ---- As a document ------------------------------------------------------- */

/* A reader who waits for the cluster's tasks. */
struct reader {
    struct tfd_roster_waiter waiter;
    struct tfd_status_page *pages;
    struct tfd_page *page;
};

static void drop_document(struct tfd_status_page *pages)
{
    if (pages->has_document)
        tfd_bytes_deinit(&pages->document);
    pages->has_document = false;
}

static void document_turn_over(struct tfd_post *p)
{
    struct tfd_status_page *pages =
        TFD_CONTAINER_OF(p, struct tfd_status_page, turn_over);

    p->run = NULL;
    drop_document(pages);
}

/* Before the connections write, which is deferred, too. */
static void keep_for_turn(struct tfd_status_page *pages)
{
    if (pages->turn_over.run)
        return;
    pages->turn_over.run = document_turn_over;
    tfd_loop_defer_first(pages->view->loop, &pages->turn_over);
}

static void make_document(struct tfd_status_page *pages)
{
    struct tfd_document d = {pages->view, pages->roster, &pages->history};
    uint64_t answers = tfd_roster_answers(pages->roster);

    if (pages->has_document && pages->answers == answers)
        return;
    drop_document(pages);
    tfd_bytes_init(&pages->document, TFD_PAGE_SIZE_MAX);
    pages->has_document = true;
    pages->answers = answers;
    tfd_document_write(&d, &pages->document);
    keep_for_turn(pages);
}

static int write_document(struct tfd_status_page *pages, struct tfd_page *p)
{
    struct tfd_bytes *from = &pages->document;

    p->content_type = "application/json";
    make_document(pages);
    tfd_bytes_add(p->body, from->data, from->size);
    p->body->failed = p->body->failed || from->failed; /* that is told */
    return 200;
}

static void cluster_ready(struct tfd_roster_waiter *w)
{
    struct reader *r = TFD_CONTAINER_OF(w, struct reader, waiter);
    struct tfd_page *page = r->page;
    int status = write_document(r->pages, page);

    free(r);
    page->finish(page, status);
}

static void reader_gone(struct tfd_page *p)
{
    struct reader *r = p->ctx;

    tfd_roster_forget(r->pages->roster, &r->waiter);
    free(r);
}

static int document_page(void *self, struct tfd_page *p)
{
    struct tfd_status_page *pages = self;
    struct reader *r = malloc(sizeof(*r));

    if (!r)
        return write_document(pages, p);
    *r = (struct reader){{.ready = cluster_ready}, pages, p};
    p->ctx = r;
    p->gone = reader_gone;
    if (!tfd_roster_refresh(pages->roster, &r->waiter))
        return TFD_PAGE_LATER;
    free(r);
    return write_document(pages, p);
}

/* ---- For people ---------------------------------------------------------- */

/* The page's script and style carry a number that is new each time and that
 * the policy names, so a browser runs nothing else, whatever a client's names
 * may hold. */
static int browser_page(struct tfd_status_page *pages, struct tfd_page *p)
{
    static const char mark[] = "@NONCE@";
    const char *rest = html, *at;
    char nonce[40];

    snprintf(nonce, sizeof(nonce), "%016" PRIx64 "%016" PRIx64,
             tfd_entropy_id(), tfd_entropy_id());
    while ((at = strstr(rest, mark))) {
        tfd_bytes_add(p->body, rest, (size_t)(at - rest));
        tfd_bytes_add(p->body, nonce, strlen(nonce));
        rest = at + sizeof(mark) - 1;
    }
    tfd_bytes_add(p->body, rest, strlen(rest));
    snprintf(pages->headers, sizeof(pages->headers),
             "Content-Security-Policy: default-src 'none'; connect-src "
             "'self'; script-src 'nonce-%s'; style-src 'nonce-%s'; base-uri "
             "'none'; form-action 'none'; frame-ancestors 'none'\r\n"
             "Referrer-Policy: no-referrer\r\n",
             nonce, nonce);
    p->headers = pages->headers;
    p->content_type = "text/html; charset=utf-8";
    return 200;
}

static int text_page(const struct tfd_view *v, struct tfd_page *p)
{
    const struct tfd_cluster *c = &v->config->cluster;
    struct tfd_eager_counts eager = tfd_eager_counts(v->eager);

    tfd_bytes_printf(p->body,
                     "tfd %s, /job:%s/task:%d\n\nsessions %d, steps running "
                     "%d, done %llu\ncontexts %d, values %zu\n\npeers\n",
                     TFD_VERSION, c->job_name, c->task_index,
                     tfd_master_session_count(v->master),
                     tfd_master_step_count(v->master),
                     (unsigned long long)tfd_master_steps_done(v->master),
                     eager.contexts, eager.handles);
    for (int i = 0; i < tfd_peers_count(v->peers); i++)
        tfd_bytes_printf(p->body, "  %s%s\n", tfd_peers_task(v->peers, i),
                         i == tfd_peers_self(v->peers) ? " (this server)" : "");
    return 200;
}

static int overview_page(void *self, struct tfd_page *p)
{
    struct tfd_status_page *pages = self;

    return tfd_http_field_accepts(p->accept, "text/html")
               ? browser_page(pages, p)
               : text_page(pages->view, p);
}

/* ---- The table ----------------------------------------------------------- */

static enum tfd_code bind_pages(struct tfd_status_page *p,
                                struct tfd_status *st)
{
    static const struct {
        const char *path;
        tfd_page_fn *page;
    } rows[] = {
        {"/", overview_page},       {"/healthz", health_page},
        {"/livez", health_page},    {"/readyz", ready_page},
        {"/metrics", metrics_page}, {"/kernels", kernels_page},
        {"/steps", steps_page},     {"/status.json", document_page},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        TFD_TRY(tfd_service_page(p->view->service, rows[i].path, rows[i].page,
                                 p, st));
    return TFD_OK;
}

enum tfd_code tfd_status_page_new(const struct tfd_view *v,
                                  struct tfd_status_page **out,
                                  struct tfd_status *st)
{
    struct tfd_status_page *p = calloc(1, sizeof(*p));
    enum tfd_code rc;

    if (!p)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for pages");
    p->view = v;
    rc = tfd_roster_new(v, &p->roster, st);
    if (rc == TFD_OK)
        rc = bind_pages(p, st);
    if (rc != TFD_OK) {
        tfd_roster_free(p->roster);
        free(p);
        return rc;
    }
    tfd_history_start(&p->history, v);
    *out = p;
    return TFD_OK;
}

void tfd_status_page_free(struct tfd_status_page *p)
{
    if (!p)
        return;
    tfd_history_stop(&p->history);
    drop_document(p);
    tfd_roster_free(p->roster);
    free(p);
}
