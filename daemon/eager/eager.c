/*
 * eager.c - see eager.h: the table of all contexts, and a timer that closes
 * those which no coordinator has called for as long as they asked to be kept.
 */
#include "common/base/container.h"
#include "common/base/log.h"
#include "daemon/eager/context.h"
#include "daemon/eager/context_memory.h"

#include <inttypes.h>
#include <stdlib.h>

#define LOOK_US 1000000u

/* ---- Keep-alive ---------------------------------------------------------- */

static bool is_forgotten(const struct tfd_eager_context *c, uint64_t now)
{
    return c->keep_alive_us > 0 && c->calls == 0 &&
           now - c->used_us > c->keep_alive_us;
}

static struct tfd_eager_context *find_forgotten(const struct tfd_eager *e)
{
    uint64_t now = tfd_loop_now_us(e->options.loop);
    struct tfd_eager_context *c;
    size_t at = 0;

    while ((c = tfd_id_map_next(&e->contexts, &at)))
        if (is_forgotten(c, now))
            return c;
    return NULL;
}

static void look(struct tfd_timer *t)
{
    struct tfd_eager *e = TFD_CONTAINER_OF(t, struct tfd_eager, timer);
    struct tfd_eager_context *c;

    while ((c = find_forgotten(e))) {
        tfd_log(TFD_LOG_INFO, "eager_context_abandoned",
                "context=%" PRIu64 " peer=%s seconds=%" PRIu64, c->id, c->peer,
                c->keep_alive_us / 1000000);
        e->abandoned++;
        tfd_eager_context_close(c);
    }
    (void)!tfd_timer_start(&e->timer, LOOK_US, NULL);
}

/* ---- The whole ----------------------------------------------------------- */

enum tfd_code tfd_eager_new(const struct tfd_eager_options *o,
                            struct tfd_eager **out, struct tfd_status *st)
{
    struct tfd_eager *e = calloc(1, sizeof(*e));

    if (!e)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the eager service");
    e->options = *o;
    tfd_timer_init(&e->timer, o->loop, look);
    tfd_eager_line_init(&e->line, o->loop);
    tfd_eager_bind(e);
    if (tfd_timer_start(&e->timer, LOOK_US, st) != TFD_OK) {
        free(e);
        return TFD_RESOURCE_EXHAUSTED;
    }
    *out = e;
    return TFD_OK;
}

void tfd_eager_stop(struct tfd_eager *e)
{
    struct tfd_eager_context *c;
    size_t at;

    e->stopping = true;
    tfd_timer_stop(&e->timer);
    tfd_eager_end_streams(e);
    for (at = 0; (c = tfd_id_map_next(&e->contexts, &at)); at = 0)
        tfd_eager_context_close(c);
    tfd_eager_line_end(&e->line);
    if (e->builders)
        tfd_pool_free(e->builders);
    e->builders = NULL;
}

void tfd_eager_free(struct tfd_eager *e)
{
    if (!e)
        return;
    if (!e->stopping)
        tfd_eager_stop(e);
    tfd_id_map_deinit(&e->contexts);
    free(e);
}

struct tfd_eager_counts tfd_eager_counts(const struct tfd_eager *e)
{
    struct tfd_eager_counts n = {
        .contexts = (int)e->contexts.count,
        .runs = e->runs,
        .runs_done = e->runs_done,
        .abandoned = e->abandoned,
    };
    const struct tfd_eager_context *c;
    size_t at = 0;

    while ((c = tfd_id_map_next(&e->contexts, &at))) {
        n.handles += c->handles.count;
        n.functions += c->functions.by_name.count + c->components.by_name.count;
        n.graphs += c->ops.by_key.count;
    }
    return n;
}

size_t tfd_eager_memory(const struct tfd_eager *e)
{
    const struct tfd_eager_context *c;
    size_t at = 0, size = 0;

    while ((c = tfd_id_map_next(&e->contexts, &at)))
        size += tfd_eager_context_memory(c);
    return size;
}

void tfd_eager_each(const struct tfd_eager *e, int max,
                    void (*fn)(void *ctx, const struct tfd_eager_facts *f),
                    void *ctx)
{
    uint64_t now = tfd_loop_now_us(e->options.loop);
    const struct tfd_eager_context *c;
    size_t at = 0;

    while (max-- > 0 && (c = tfd_id_map_next(&e->contexts, &at))) {
        struct tfd_eager_facts f = {
            .id = c->id,
            .client = c->peer,
            .age_us = now - c->begun_us,
            .idle_us = now - c->used_us,
            .handles = c->handles.count,
            .functions =
                c->functions.by_name.count + c->components.by_name.count,
            .graphs = c->ops.by_key.count,
            .calls = c->calls,
            .runs_done = c->runs_done,
            .received = c->meter->received,
            .sent = c->meter->sent,
            .memory = tfd_eager_context_memory(c),
        };

        fn(ctx, &f);
    }
}
