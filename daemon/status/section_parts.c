/*
 * section_parts.c - the parts of plans that this task runs, of whatever master,
 * with what their steps take here and their slowest ops.
 */
#include "daemon/status/document.h"
#include "daemon/status/slow_ops.h"

struct parts {
    struct tfd_json_out *j;
    int shown;
};

static void tell_part(void *ctx, const struct tfd_graph_facts *f)
{
    struct parts *p = ctx;
    struct tfd_json_out *j = p->j;

    p->shown++;
    tfd_json_out_open(j, NULL, '{');
    tfd_json_out_id(j, "graph", f->id);
    tfd_json_out_text(j, "session", tfd_str_of(f->session));
    tfd_json_out_text(j, "master", tfd_str_of(f->master_task));
    tfd_json_out_number(j, "nodes", f->nodes);
    tfd_json_out_number(j, "steps_ended", (int64_t)f->steps);
    tfd_json_out_number(j, "steps_sampled", (int64_t)f->sampled);
    if (f->sampled > 0)
        tfd_json_out_number(j, "mean_us", (int64_t)f->mean_us);
    else
        tfd_json_out_null(j, "mean_us");
    tfd_slow_ops_put(j, "slowest", f);
    tfd_json_out_close(j, '}');
}

void tfd_section_parts(const struct tfd_document *d, struct tfd_json_out *j,
                       const char *key)
{
    struct parts p = {.j = j};
    int count;

    tfd_json_out_open(j, key, '{');
    tfd_json_out_open(j, "list", '[');
    count = tfd_graph_facts_each(d->view->worker, TFD_STATUS_PARTS_MAX,
                                 tell_part, &p);
    tfd_json_out_close(j, ']');
    tfd_json_out_number(j, "count", count);
    tfd_json_out_number(j, "more", count - p.shown);
    tfd_json_out_close(j, '}');
}
