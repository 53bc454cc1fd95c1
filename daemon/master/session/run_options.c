/*
 * run_options.c - see run_options.h.
 *
 * A table says what becomes of each field, so that none is forgotten.
 */
#include "daemon/master/session/run_options.h"

#include "common/base/pbio.h"
#include "common/proto/config.pb.h"
#include "config/limits.h"
#include "daemon/master/service/cost_graph.h"
#include "daemon/master/session/session.h"

#include <stdlib.h>

#define FULL_TRACE 3
#define OPTION(field) tensorflow_RunOptions_##field##_tag

#define EXPERIMENTAL(field) tensorflow_RunOptions_Experimental_##field##_tag

struct reading {
    struct tfd_master *m;
    struct tfd_run_options *out;
    struct tfd_pb_reader *r;
    const struct tfd_pb_field *f;
};

struct row {
    uint32_t tag;
    const char *name; /* of one that is not honoured; "" */
    /* NULL: nothing is read. */
    enum tfd_code (*read)(struct reading *x, struct tfd_status *st);
};

static bool is_set(const struct tfd_pb_field *f)
{
    return f->wire == TFD_PB_BYTES ? f->bytes.size > 0 : f->number != 0;
}

static enum tfd_code read_level(struct reading *x, struct tfd_status *st)
{
    (void)st;
    x->out->trace_level = tfd_pb_int64(x->r, x->f);
    x->out->timeline = x->out->trace_level == FULL_TRACE;
    return TFD_OK;
}

static enum tfd_code read_timeout(struct reading *x, struct tfd_status *st)
{
    int64_t ms = tfd_pb_int64(x->r, x->f);

    /* TensorFlow takes a negative one for none. */
    if (ms > 0)
        x->out->timeout_us =
            (uint64_t)(ms < TFD_DURATION_MS_MAX ? ms : TFD_DURATION_MS_MAX) *
            1000;
    (void)st;
    return TFD_OK;
}

static enum tfd_code read_graphs(struct reading *x, struct tfd_status *st)
{
    (void)st;
    x->out->partition_graphs = tfd_pb_bool(x->r, x->f);
    return TFD_OK;
}

/* A client that waits for what tfdbg writes must not believe that nothing was
 * written because nothing happened. */
static enum tfd_code read_debug(struct reading *x, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(tfd_pb_str(x->r, x->f));
    struct tfd_pb_field f;
    int64_t watches = 0;

    while (tfd_pb_next(&r, &f))
        watches += f.tag == tensorflow_DebugOptions_debug_tensor_watch_opts_tag;
    TFD_TRY(tfd_pb_end(&r, "DebugOptions", st));
    if (watches == 0)
        return TFD_OK;
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "RunOptions.debug_options.debug_tensor_watch_opts has %lld "
                    "entries; tfd does not serve TensorFlow's debugger. Run "
                    "the step without them.",
                    (long long)watches);
}

static const char *experimental_name(uint32_t tag)
{
    static const struct {
        uint32_t tag;
        const char *name;
    } names[] = {
        {EXPERIMENTAL(use_run_handler_pool),
         "RunOptions.experimental.use_run_handler_pool"},
        {EXPERIMENTAL(run_handler_pool_options),
         "RunOptions.experimental.run_handler_pool_options"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].tag == tag)
            return names[i].name;
    return "RunOptions.experimental: unknown fields";
}

static enum tfd_code read_experimental(struct reading *x, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(tfd_pb_str(x->r, x->f));
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == EXPERIMENTAL(collective_graph_key))
            x->out->collective_key = (uint64_t)tfd_pb_int64(&r, &f);
        else if (is_set(&f))
            tfd_master_name_option(x->m, experimental_name(f.tag));
    }
    return tfd_pb_end(&r, "RunOptions.Experimental", st);
}

static const struct row rows[] = {
    {OPTION(trace_level), "", read_level},
    {OPTION(timeout_in_ms), "", read_timeout},
    {OPTION(inter_op_thread_pool), "RunOptions.inter_op_thread_pool", NULL},
    {OPTION(output_partition_graphs), "", read_graphs},
    {OPTION(debug_options), "RunOptions.debug_options", read_debug},
    {OPTION(report_tensor_allocations_upon_oom),
     "RunOptions.report_tensor_allocations_upon_oom", NULL},
    {OPTION(experimental), "", read_experimental},
};

static const struct row *find_row(uint32_t tag)
{
    static const struct row unknown = {0, "RunOptions: unknown fields", NULL};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].tag == tag)
            return &rows[i];
    return &unknown;
}

enum tfd_code tfd_run_options_read(struct tfd_master *m, struct tfd_str bytes,
                                   struct tfd_run_options *out,
                                   struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_pb_field f;

    *out = (struct tfd_run_options){.timeout_us = 0};
    while (tfd_pb_next(&r, &f)) {
        const struct row *row = find_row(f.tag);
        struct reading x = {m, out, &r, &f};

        if (row->read)
            TFD_TRY(row->read(&x, st));
        if (row->name[0] && is_set(&f))
            tfd_master_name_option(m, row->name);
    }
    return tfd_pb_end(&r, "RunOptions", st);
}

/* ---- RunMetadata --------------------------------------------------------- */

enum tfd_code tfd_run_trace_new(const struct tfd_run_options *o,
                                struct tfd_run_trace **out,
                                struct tfd_status *st)
{
    *out = NULL;
    if (!o->timeline && !o->partition_graphs && !o->costs)
        return TFD_OK;
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a trace");
    (*out)->timeline = (*out)->show_stats = o->timeline;
    (*out)->partition_graphs = (*out)->show_graphs = o->partition_graphs;
    (*out)->may_cost = o->costs;
    tfd_bytes_init(&(*out)->stats, TFD_TRACE_SIZE_MAX);
    tfd_bytes_init(&(*out)->graphs, TFD_TRACE_SIZE_MAX);
    return TFD_OK;
}

void tfd_run_trace_free(struct tfd_run_trace *t)
{
    if (!t)
        return;
    tfd_bytes_deinit(&t->stats);
    tfd_bytes_deinit(&t->graphs);
    free(t);
}

void tfd_run_trace_begin(struct tfd_run_trace *t, const struct tfd_session *s,
                         uint64_t count)
{
    int64_t every = s->config.cost_model, after = s->config.cost_model_after;

    if (!t || !t->may_cost || every <= 0)
        return;
    /* TensorFlow's (count + 1 - after) % every == 0, without overflow. */
    t->costs =
        ((int64_t)((count + 1) % (uint64_t)every) - after % every) % every == 0;
    t->timeline |= t->costs;
    t->partition_graphs |= t->costs;
}

void tfd_run_trace_write(struct tfd_bytes *b, const struct tfd_run_trace *t)
{
    if (t && t->show_stats && !t->stats.failed)
        tfd_pb_put_str_always(b, tensorflow_RunMetadata_step_stats_tag,
                              tfd_bytes_view(&t->stats));
    if (t && t->costs && !t->stats.failed && !t->graphs.failed)
        tfd_cost_graph_put(b, tensorflow_RunMetadata_cost_graph_tag,
                           tfd_bytes_view(&t->stats),
                           tfd_bytes_view(&t->graphs));
    if (t && t->show_graphs && !t->graphs.failed)
        tfd_bytes_add_str(b, tfd_bytes_view(&t->graphs));
}

void tfd_run_trace_put(struct tfd_bytes *b, uint32_t tag,
                       const struct tfd_run_trace *t)
{
    size_t mark = tfd_pb_begin(b, tag);

    tfd_run_trace_write(b, t);
    tfd_pb_finish(b, mark);
}
