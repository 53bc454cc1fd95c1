/*
 * node_sample.c - see node_sample.h.
 */
#include "daemon/worker/run/node_sample.h"

#include "common/base/atomic.h"

bool tfd_node_sample_takes(const struct tfd_exec_node *n)
{
    switch (n->kind) {
    case TFD_EXEC_LOOP: /* its nodes count */
    case TFD_EXEC_GATE:
    case TFD_EXEC_FEED:
    case TFD_EXEC_FETCH:
    case TFD_EXEC_SEND:
        return false;
    default:
        return !n->kernel || !(n->kernel->flags & TFD_KERNEL_DEAD);
    }
}

void tfd_node_sample_add(const struct tfd_exec *e,
                         const struct tfd_exec_node *n, uint64_t took_ns,
                         uint32_t times)
{
    struct tfd_node_time *t = &e->samples->of[n - e->nodes];

    TFD_COUNTER_ADD(&t->ns, took_ns * times);
    TFD_COUNTER_ADD(&t->runs, (uint64_t)times);
}

/* What other steps add meanwhile may be lost with it. */
static void forget(struct tfd_exec *e)
{
    struct tfd_node_samples *s = e->samples;

    for (int32_t i = 0; i < e->node_count; i++) {
        TFD_STORE_RELAXED(&s->of[i].ns, 0);
        TFD_STORE_RELAXED(&s->of[i].runs, 0);
    }
    s->steps = s->took_ns = 0;
}

void tfd_node_sample_begin(struct tfd_exec *e)
{
    if (e->steps == 0 || e->samples->is_warm)
        return;
    e->samples->is_warm = true;
    forget(e);
}

/* Into its place among the slowest, if it is one of them. */
static void rank(struct tfd_node_samples *s, const struct tfd_slow_node *n)
{
    int at = s->slow_count;

    if (at == TFD_SLOW_NODES_MAX && s->slow[at - 1].ns >= n->ns)
        return;
    if (at < TFD_SLOW_NODES_MAX)
        s->slow_count++;
    else
        at--;
    for (; at > 0 && s->slow[at - 1].ns < n->ns; at--)
        s->slow[at] = s->slow[at - 1];
    s->slow[at] = *n;
}

void tfd_node_sample_end(struct tfd_exec *e, uint64_t took_ns)
{
    struct tfd_node_samples *s = e->samples;

    s->steps++;
    s->took_ns += took_ns;
    s->slow_count = 0;
    for (int32_t i = 0; i < e->node_count; i++) {
        const struct tfd_slow_node n = {
            &e->nodes[i],
            TFD_LOAD_RELAXED(&s->of[i].ns),
            TFD_LOAD_RELAXED(&s->of[i].runs),
        };

        if (n.runs > 0)
            rank(s, &n);
    }
}
