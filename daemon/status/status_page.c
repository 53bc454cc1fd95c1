/*
 * status_page.c - pages written anew for each request, from counters that are
 * kept anyway.
 */
#include "daemon/status/status_page.h"

#include "config/version.h"
#include "daemon/eager/eager.h"
#include "daemon/master/session/master.h"
#include "daemon/status/kernels_page.h"
#include "daemon/status/metrics.h"
#include "daemon/status/steps_page.h"
#include "daemon/status/view.h"
#include "rpc/core/peers.h"

static int health_page(void *self, struct tfd_page *p)
{
    (void)self;
    tfd_bytes_printf(p->body, "ok\n");
    return 200;
}

static int ready_page(void *self, struct tfd_page *p)
{
    const struct tfd_view *v = self;
    bool draining = tfd_service_draining(v->service);

    tfd_bytes_printf(p->body, "%s\n", draining ? "draining" : "ok");
    return draining ? 503 : 200;
}

/* ---- In words ------------------------------------------------------------ */

static int overview_page(void *self, struct tfd_page *p)
{
    const struct tfd_view *v = self;
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

static int kernels_page(void *self, struct tfd_page *p)
{
    const struct tfd_view *v = self;

    tfd_kernels_page_write(v->registry, p->body);
    return 200;
}

enum tfd_code tfd_status_page_bind(const struct tfd_view *v,
                                   struct tfd_status *st)
{
    static const struct {
        const char *path;
        tfd_page_fn *page;
    } rows[] = {
        {"/", overview_page},           {"/healthz", health_page},
        {"/livez", health_page},        {"/readyz", ready_page},
        {"/metrics", tfd_metrics_page}, {"/kernels", kernels_page},
        {"/steps", tfd_steps_page},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        TFD_TRY(tfd_service_page(v->service, rows[i].path, rows[i].page,
                                 (void *)v, st));
    return TFD_OK;
}
