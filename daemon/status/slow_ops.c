/*
 * slow_ops.c - see slow_ops.h.
 */
#include "daemon/status/slow_ops.h"

static void put_op(struct tfd_json_out *j, const struct tfd_slow_op_facts *f)
{
    tfd_json_out_open(j, NULL, '{');
    tfd_json_out_text(j, "name", f->name);
    tfd_json_out_text(j, "op", f->op);
    tfd_json_out_text(j, "device", f->device);
    tfd_json_out_real(j, "runs", f->runs, 1);
    tfd_json_out_real(j, "mean_us", f->mean_us, 1);
    tfd_json_out_real(j, "share", f->share, 3);
    tfd_json_out_bool(j, "waits", f->waits);
    tfd_json_out_close(j, '}');
}

void tfd_slow_ops_put(struct tfd_json_out *j, const char *key,
                      const struct tfd_graph_facts *f)
{
    tfd_json_out_open(j, key, '[');
    for (int i = 0; i < f->slow_count; i++)
        put_op(j, &f->slow[i]);
    tfd_json_out_close(j, ']');
}

void tfd_slow_ops_put_of(struct tfd_json_out *j, const char *key,
                         const struct tfd_worker_service *w, uint64_t graph)
{
    struct tfd_graph_facts f = {.slow_count = 0};

    (void)tfd_graph_facts_of(w, graph, &f);
    tfd_slow_ops_put(j, key, &f);
}
