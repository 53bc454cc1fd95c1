/*
 * graph_facts.c - see graph_facts.h.
 */
#include "daemon/worker/service/graph_facts.h"

#include "daemon/worker/run/node_sample.h"
#include "daemon/worker/service/worker_service.h"

#include <stdlib.h>

_Static_assert(TFD_SLOW_OPS_MAX >= TFD_SLOW_NODES_MAX, "there is room");

static void describe_op(const struct tfd_node_samples *s,
                        const struct tfd_slow_node *n,
                        struct tfd_slow_op_facts *f)
{
    const struct tfd_exec_node *x = n->node;
    double ns = (double)n->ns, steps = (double)s->steps;

    *f = (struct tfd_slow_op_facts){
        .name = x->node->name,
        .op = x->node->op->name,
        .device = tfd_str_of(x->rt ? tfd_rt_device(x->rt) : ""),
        .runs = (double)n->runs / steps,
        .mean_us = ns / 1000 / steps,
        .share = s->took_ns > 0 ? ns / (double)s->took_ns : 0,
        .waits = x->kind == TFD_EXEC_ASYNC,
    };
}

static void describe(const struct tfd_graph_entry *g, struct tfd_graph_facts *f)
{
    const struct tfd_node_samples *s = g->exec->samples;

    *f = (struct tfd_graph_facts){
        .id = g->id,
        .session = g->session->handle,
        .master_task = g->session->master_task,
        .nodes = g->exec->node_count,
        .steps = g->exec->steps,
        .sampled = s->steps,
        .mean_us = s->steps > 0 ? s->took_ns / 1000 / s->steps : 0,
    };
    for (int i = 0; s->steps > 0 && i < s->slow_count; i++)
        describe_op(s, &s->slow[i], &f->slow[f->slow_count++]);
}

bool tfd_graph_facts_of(const struct tfd_worker_service *w, uint64_t id,
                        struct tfd_graph_facts *f)
{
    const struct tfd_graph_entry *g = tfd_id_map_get(&w->graphs, id);

    if (g)
        describe(g, f);
    return g != NULL;
}

/* What its steps took together, as far as the sampled ones tell. */
static double total_ns(const struct tfd_graph_entry *g)
{
    const struct tfd_node_samples *s = g->exec->samples;

    return s->steps > 0
               ? (double)s->took_ns / (double)s->steps * (double)g->exec->steps
               : 0;
}

/* Of those that took as long, the youngest first. */
static int by_total(const void *a, const void *b)
{
    const struct tfd_graph_entry *const *x = a, *const *y = b;
    double p = total_ns(*x), q = total_ns(*y);

    if (p < q || p > q)
        return p < q ? 1 : -1;
    return ((*x)->id < (*y)->id) - ((*x)->id > (*y)->id);
}

int tfd_graph_facts_each(const struct tfd_worker_service *w, int max,
                         tfd_graph_facts_fn *fn, void *ctx)
{
    size_t room = w->graphs.count, count = 0, at = 0;
    struct tfd_graph_entry **all = calloc(room + 1, sizeof(*all)), *g;
    struct tfd_graph_facts f;

    while (all && count < room && (g = tfd_id_map_next(&w->graphs, &at)))
        all[count++] = g;
    if (count > 1)
        qsort(all, count, sizeof(*all), by_total);
    for (size_t i = 0; i < count && (int)i < max; i++) {
        describe(all[i], &f);
        fn(ctx, &f);
    }
    free(all);
    return (int)room;
}
