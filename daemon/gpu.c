/*
 * gpu.c - see gpu.h.
 */
#include "daemon/gpu.h"

#include "common/base/log.h"
#include "config/machine.h"
#include "cuda/device/capture.h"
#include "cuda/device/copy.h"
#include "cuda/device/share.h"
#include "daemon/worker/state/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tfd_gpus {
    struct tfd_cuda_device device[TFD_CUDA_DEVICES_MAX];
    struct tfd_device row[TFD_CUDA_DEVICES_MAX];
    int count;
    struct tfd_cuda_memory_pool *pinned; /* results in it outlive us */
    struct tfd_device_share share;
    char host[TFD_CUDA_HOST_SIZE];
};

/* ---- Options ------------------------------------------------------------- */

static int count_max(const struct tfd_config *c)
{
    for (size_t i = 0; i < c->device_type_count; i++)
        if (strcmp(c->devices[i].type, "GPU") == 0)
            return c->devices[i].count;
    return strcmp(c->cluster.job_name, "ps") == 0 ? 0 : -1;
}

static enum tfd_cuda_graphs graphs(const struct tfd_config *c)
{
    if (!c->gpu_graphs || strcmp(c->gpu_graphs, "auto") == 0)
        return TFD_CUDA_GRAPHS_AUTO;
    return strcmp(c->gpu_graphs, "on") == 0 ? TFD_CUDA_GRAPHS_ON
                                            : TFD_CUDA_GRAPHS_OFF;
}

void tfd_gpus_options(const struct tfd_config *c, const char *environment,
                      struct tfd_cuda_options *out)
{
    *out = (struct tfd_cuda_options){
        .count_max = count_max(c),
        .environment = environment,
        .visible = c->gpu_visible,
        .memory_limit = c->gpu_memory_limit,
        .memory_fraction = c->gpu_memory_fraction,
        .allow_growth = c->gpu_allow_growth,
        .graphs = graphs(c),
        .virtual_limits = c->gpu_virtual,
    };
}

/* ---- Hooks --------------------------------------------------------------- */

static struct tfd_cuda_device *of(const struct tfd_device *d)
{
    return d ? tfd_cuda_device_of(d->own) : NULL;
}

static void copy_value(struct tfd_kctx *k, struct tfd_device *from,
                       struct tfd_device *to)
{
    tfd_cuda_copy(k, of(from), of(to));
}

static enum tfd_code place_value(struct tfd_device *to,
                                 const struct tfd_tensor *value,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    return tfd_cuda_copy_in(of(to), value, out, st);
}

static enum tfd_code use_gpu(struct tfd_device *d, struct tfd_status *st)
{
    return tfd_cuda_device_use(of(d), st);
}

static enum tfd_code await(struct tfd_device *d,
                           const struct tfd_tensor *values, int count,
                           struct tfd_status *st)
{
    return tfd_cuda_copy_await(of(d), values, count, st);
}

static bool run_ahead(struct tfd_device *d, int nodes,
                      struct tfd_continuation *t)
{
    return tfd_cuda_run_ahead_step(of(d), nodes, t);
}

/* ---- Captures ------------------------------------------------------------ */

struct capture {
    struct tfd_capture worker; /* first */
    struct tfd_cuda_capture *cuda;
};

static enum tfd_code begin_capture(struct tfd_device *d,
                                   struct tfd_capture **out,
                                   struct tfd_status *st)
{
    struct capture *c = malloc(sizeof(*c));
    enum tfd_code rc;

    if (!c)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a capture");
    rc = tfd_cuda_capture_begin(of(d), &c->cuda, st);
    if (rc != TFD_OK) {
        free(c);
        return rc;
    }
    c->worker = (struct tfd_capture){c->cuda->stream, c->cuda->memory};
    *out = &c->worker;
    return TFD_OK;
}

static enum tfd_code end_capture(struct tfd_capture *c, struct tfd_status *st)
{
    return tfd_cuda_capture_end(((struct capture *)c)->cuda, st);
}

static enum tfd_code launch_capture(struct tfd_capture *c,
                                    struct tfd_status *st)
{
    return tfd_cuda_capture_launch(((struct capture *)c)->cuda, st);
}

static void drop_capture(struct tfd_capture *c)
{
    tfd_cuda_capture_drop(((struct capture *)c)->cuda);
    free(c);
}

static const struct tfd_device_captures captures = {
    begin_capture,
    end_capture,
    launch_capture,
    drop_capture,
};

/* ---- Other processes ----------------------------------------------------- */

static void *part_of(struct tfd_device *d, const void *at, uint64_t *offset)
{
    return tfd_cuda_share_region(of(d), at, offset);
}

static enum tfd_code name_part(struct tfd_device *d, void *part,
                               struct tfd_device_handle *out,
                               struct tfd_status *st)
{
    struct tfd_cuda_handle h;

    TFD_TRY(tfd_cuda_share_handle(of(d), part, &h, st));
    memcpy(out->bytes, h.bytes, sizeof(h.bytes));
    return TFD_OK;
}

static enum tfd_code map_part(struct tfd_device *d,
                              const struct tfd_device_handle *handle, void **at,
                              size_t *size, struct tfd_status *st)
{
    struct tfd_cuda_handle h;

    memcpy(h.bytes, handle->bytes, sizeof(h.bytes));
    return tfd_cuda_share_map(of(d), &h, at, size, st);
}

static void unmap_part(struct tfd_device *d, void *at)
{
    tfd_cuda_share_unmap(of(d), at);
}

static enum tfd_code bring(struct tfd_device *d, const void *from,
                           const struct tfd_tensor *value,
                           struct tfd_tensor *out, struct tfd_status *st)
{
    return tfd_cuda_copy_mapped(of(d), from, value, out, st);
}

static void fetch(struct tfd_device *d, const struct tfd_tensor *value,
                  void (*done)(void *ctx, struct tfd_tensor *take_out,
                               const struct tfd_status *st),
                  void *ctx)
{
    tfd_cuda_copy_out(of(d), value, done, ctx);
}

static void after(struct tfd_device *d,
                  void (*fn)(void *ctx, const struct tfd_status *st), void *ctx)
{
    tfd_cuda_share_after(of(d), fn, ctx);
}

_Static_assert(TFD_DEVICE_HANDLE_SIZE == TFD_CUDA_HANDLE_SIZE, "handles");

static void make_share(struct tfd_gpus *g)
{
    tfd_cuda_share_host(g->host);
    g->share = (struct tfd_device_share){
        g->host, part_of, name_part, map_part, unmap_part, bring, fetch, after,
    };
}

/* ---- Devices ------------------------------------------------------------- */

static void make_row(struct tfd_device *row, struct tfd_cuda_device *d,
                     const struct tfd_cuda_options *o)
{
    *row = (struct tfd_device){
        .kind = TFD_GPU,
        .id = d->number,
        .memory = TFD_MEMORY_HOST + 1 + d->number,
        .stream = d->stream,
        .own = &d->pool.memory,
        .copy = copy_value,
        .place = place_value,
        .use = use_gpu,
        .await = await,
        .run_ahead = run_ahead,
        .captures = o->graphs == TFD_CUDA_GRAPHS_OFF ? NULL : &captures,
        .captures_at_once = o->graphs == TFD_CUDA_GRAPHS_ON,
        .attributes.memory_limit = (int64_t)d->pool.o.limit,
    };
    tfd_cuda_describe(d->ordinal, &d->properties, row->attributes.physical,
                      sizeof(row->attributes.physical));
}

static enum tfd_code add_gpu(struct tfd_gpus *g,
                             const struct tfd_cuda_driver *driver,
                             const struct tfd_cuda_options *o,
                             const struct tfd_cuda_choice *c,
                             struct tfd_status *st)
{
    const struct tfd_cuda_device_options options = {
        .driver = driver,
        .ordinal = c->ordinal,
        .number = g->count,
        .memory_limit = c->memory_limit,
        .grows = o->allow_growth,
        .pinned = g->pinned,
    };
    struct tfd_cuda_device *d = &g->device[g->count];

    TFD_TRY(tfd_cuda_device_init(d, &options, st));
    make_row(&g->row[g->count], d, o);
    g->row[g->count++].share = &g->share;
    return TFD_OK;
}

/* ---- Cards of this process ----------------------------------------------- */

/* Virtual devices are of one card. */
static bool is_first_of_card(const struct tfd_gpus *g, int i)
{
    for (int j = 0; j < i; j++)
        if (g->device[j].ordinal == g->device[i].ordinal)
            return false;
    return true;
}

/* Cards that refuse, for the log. */
struct apart {
    char pairs[512];
    size_t used;
    int why; /* 0: none did */
};

static void connect_cards(struct tfd_gpus *g, int i, int j, struct apart *a)
{
    const struct tfd_cuda_driver *driver = g->device[i].driver;
    int error = driver->peer_access(g->device[i].ordinal, g->device[j].ordinal);

    if (!error)
        return;
    a->why = error;
    if (a->used < sizeof(a->pairs))
        a->used +=
            (size_t)snprintf(a->pairs + a->used, sizeof(a->pairs) - a->used,
                             "%sGPU:%d to GPU:%d", a->used ? ", " : "", i, j);
}

/* Copies between those that refuse go by the host's memory. */
static void connect_all(struct tfd_gpus *g)
{
    struct apart a = {.why = 0};

    for (int i = 0; i < g->count; i++)
        for (int j = 0; j < g->count; j++)
            if (i != j && is_first_of_card(g, i) && is_first_of_card(g, j))
                connect_cards(g, i, j, &a);
    if (a.why)
        tfd_log(TFD_LOG_INFO, "gpus_apart", "pairs=\"%s\" why=\"%s\"", a.pairs,
                g->device[0].driver->error_text(a.why));
}

/* ---- All together -------------------------------------------------------- */

static bool is_configured(const struct tfd_cuda_options *o)
{
    return o->memory_limit > 0 || o->memory_fraction > 0 ||
           (o->virtual_limits && *o->virtual_limits);
}

static void say(const struct tfd_gpus *g, const struct tfd_cuda_choices *c,
                const struct tfd_cuda_options *o)
{
    char text[1024] = "";
    size_t used = 0;

    if (g->count == 0) {
        tfd_log(TFD_LOG_INFO, "no_gpu", "why=\"%s\"", c->why);
        return;
    }
    if (*c->why)
        tfd_log(TFD_LOG_INFO, "gpus_ignored", "why=\"%s\"", c->why);
    for (int i = 0; i < g->count && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "%sGPU:%d (%s, %lld MiB)", i ? ", " : "", i,
                                 g->device[i].properties.name,
                                 (long long)(g->device[i].pool.o.limit >> 20));
    tfd_log(TFD_LOG_INFO, "gpus",
            "count=%d of=%d taken=\"%s\" memory=\"%s\" visible=\"%s\"",
            g->count, c->physical, text,
            is_configured(o) ? "as configured" : "what was free",
            o->environment ? o->environment : "all");
}

enum tfd_code
tfd_gpus_new(const struct tfd_cuda_driver *driver,
             const struct tfd_cuda_options *o,
             void (*on_lost)(void *ctx, const struct tfd_cuda_device *d),
             void *ctx, struct tfd_gpus **out, struct tfd_status *st)
{
    struct tfd_cuda_choices choices;
    struct tfd_gpus *g;

    TFD_TRY(tfd_cuda_choose(driver, o, &choices, st));
    g = calloc(1, sizeof(*g));
    if (g)
        g->pinned = malloc(sizeof(*g->pinned));
    if (!g || !g->pinned) {
        free(g);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for GPUs");
    }
    make_share(g);
    tfd_cuda_pinned_init(g->pinned, driver, (size_t)tfd_machine_memory() / 2);
    for (int i = 0; i < choices.count; i++)
        if (add_gpu(g, driver, o, &choices.choice[i], st) != TFD_OK) {
            tfd_gpus_free(g);
            return TFD_INTERNAL;
        }
    connect_all(g);
    for (int i = 0; i < g->count; i++) {
        g->device[i].on_lost = on_lost;
        g->device[i].ctx = ctx;
    }
    say(g, &choices, o);
    *out = g;
    return TFD_OK;
}

void tfd_gpus_free(struct tfd_gpus *g)
{
    if (!g)
        return;
    for (int i = 0; i < g->count; i++)
        tfd_cuda_device_stop(&g->device[i]);
    for (int i = 0; i < g->count; i++)
        tfd_cuda_device_deinit(&g->device[i]);
    tfd_cuda_memory_pool_close(g->pinned);
    free(g);
}

int tfd_gpus_count(const struct tfd_gpus *g)
{
    return g->count;
}

const struct tfd_device *tfd_gpus_rows(const struct tfd_gpus *g)
{
    return g->row;
}

struct tfd_cuda_device *tfd_gpus_at(struct tfd_gpus *g, int i)
{
    return &g->device[i];
}
