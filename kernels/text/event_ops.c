/*
 * event_ops.c - SummaryWriter and what is done to one: CreateSummaryFileWriter,
 * CreateSummaryDbWriter, FlushSummaryWriter, CloseSummaryWriter; and the ops
 * that write what is a message already: ImportEvent, WriteGraphSummary,
 * WriteRawProtoSummary.
 *
 * Those that write a value are beside the ops that only make a Summary of it:
 * summary.c, summary_media.c, summary_histogram.c.
 */
#include "common/proto/summary.pb.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/owner.h"
#include "kernels/text/event_writer.h"

#include <inttypes.h>
#include <stdio.h>

#define EVENT_TAG(name) tensorflow_Event_##name##_tag

/* ---- SummaryWriter ------------------------------------------------------- */

struct naming {
    struct tfd_str container, name;
};

static enum tfd_code naming_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct naming *n = state;

    TFD_TRY(tfd_node_str(p->node, "container", &n->container, st));
    TFD_TRY(tfd_node_str(p->node, "shared_name", &n->name, st));
    if (n->container.size == 0)
        n->container = tfd_str_of(tfd_rt_container(p->rt));
    if (n->name.size == 0)
        n->name = p->node->name;
    else if (n->name.data[0] == '_')
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "shared_name cannot start with '_':" TFD_STR_FMT,
                        TFD_STR_ARG(n->name));
    return TFD_OK;
}

/* Not a name but TensorFlow's word for none: each run has another. */
#define ANONYMOUS "cd2c89b7-88b7-44c8-ad83-06c2a9158347"

static enum tfd_code naming_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    const struct naming *n = k->state;
    struct tfd_str name = n->name;
    struct tfd_handle *handle;
    char unique[48];

    if (tfd_str_is(name, ANONYMOUS)) {
        snprintf(unique, sizeof(unique), "_AnonymousVar%" PRIu64,
                 tfd_rt_unique(k->rt));
        name = tfd_str_of(unique);
    }
    TFD_TRY(tfd_kctx_output(k, 0, TFD_RESOURCE, &scalar, st));
    handle =
        tfd_handle_new(tfd_str_of(tfd_rt_device(k->rt)), n->container, name,
                       tfd_str_of(tfd_event_writer_type.name), 0, st);
    *(struct tfd_handle **)tfd_tensor_data(&k->out[0]) = handle;
    return handle ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

/* ---- Opening, closing ---------------------------------------------------- */

static enum tfd_code writer_handle(const struct tfd_kctx *k,
                                   const struct tfd_handle **out,
                                   struct tfd_status *st)
{
    const struct tfd_handle *h = *out = tfd_kctx_handle(k, 0);

    if (!h)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "writer must be a scalar resource handle");
    if (!h->type_name.size ||
        tfd_str_is(h->type_name, tfd_event_writer_type.name))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "writer is a handle of type " TFD_STR_FMT ", not %s",
                    TFD_STR_ARG(h->type_name), tfd_event_writer_type.name);
}

static enum tfd_code read_options(const struct tfd_kctx *k,
                                  struct tfd_event_options *o,
                                  struct tfd_status *st)
{
    TFD_TRY(tfd_check_str(k, 1, &o->directory, st));
    TFD_TRY(tfd_check_int(k, 2, &o->max_queue, st));
    TFD_TRY(tfd_check_int(k, 3, &o->flush_ms, st));
    return tfd_check_str(k, 4, &o->suffix, st);
}

/* A writer of this name that has a file already is used as it is.  names NULL:
 * it has events. */
static enum tfd_code create_writer(struct tfd_kctx *k,
                                   const struct tfd_event_options *o,
                                   const struct tfd_summary_db_names *names,
                                   struct tfd_status *st)
{
    const struct tfd_handle *h;
    struct tfd_event_writer *w;
    struct tfd_resource *r;
    enum tfd_code rc;

    TFD_TRY(writer_handle(k, &h, st));
    TFD_TRY(tfd_rt_find_or_make(k->rt, h->container, h->name,
                                &tfd_event_writer_type, tfd_event_writer_make,
                                k, &r, st));
    w = (struct tfd_event_writer *)r;
    rc = names ? tfd_event_writer_open_db(w, names, st)
               : tfd_event_writer_open(w, o, st);
    tfd_resource_unref(r);
    if (rc != TFD_OK)
        (void)!tfd_rt_destroy(k->rt, h->container, h->name, true, NULL);
    return rc;
}

static enum tfd_code create_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_event_options o;

    TFD_TRY(read_options(k, &o, st));
    return create_writer(k, &o, NULL, st);
}

static enum tfd_code create_db_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct tfd_summary_db_names names;

    TFD_TRY(tfd_check_str(k, 1, &names.database, st));
    TFD_TRY(tfd_check_str(k, 2, &names.experiment, st));
    TFD_TRY(tfd_check_str(k, 3, &names.run, st));
    TFD_TRY(tfd_check_str(k, 4, &names.user, st));
    return create_writer(k, NULL, &names, st);
}

static enum tfd_code flush_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_resource *r;
    enum tfd_code rc;

    TFD_TRY(tfd_kctx_resource(k, 0, &tfd_event_writer_type, &r, st));
    rc = tfd_event_writer_flush((struct tfd_event_writer *)r, st);
    tfd_resource_unref(r);
    return rc;
}

/* What waits is in the file when the op is done, so that its client may read
 * it; a failure to write is nobody's any more. */
static enum tfd_code close_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_handle *h;
    struct tfd_resource *r;

    TFD_TRY(writer_handle(k, &h, st));
    if (tfd_kctx_resource(k, 0, &tfd_event_writer_type, &r, NULL) == TFD_OK) {
        (void)!tfd_event_writer_end((struct tfd_event_writer *)r, NULL);
        tfd_resource_unref(r);
    }
    return tfd_rt_destroy(k->rt, h->container, h->name, false, st);
}

/* ---- Messages ------------------------------------------------------------ */

static enum tfd_code import_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_bytes event;
    struct tfd_str given;

    TFD_TRY(tfd_check_str(k, 1, &given, st));
    if (!tfd_summary_is_message(given))
        return tfd_fail(st, TFD_DATA_LOSS,
                        "Bad tf.Event binary proto tensor string");
    tfd_bytes_init(&event, (size_t)TFD_GRPC_MESSAGE_SIZE_MAX);
    tfd_bytes_add_str(&event, given);
    return tfd_event_put(k, &event, st);
}

static enum tfd_code graph_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_bytes event;
    struct tfd_str graph;

    TFD_TRY(tfd_check_str(k, 2, &graph, st));
    if (!tfd_summary_is_message(graph))
        return tfd_fail(st, TFD_DATA_LOSS,
                        "Bad tf.GraphDef binary proto tensor string");
    TFD_TRY(tfd_event_begin(k, &event, st));
    tfd_pb_put_str_always(&event, EVENT_TAG(graph_def), graph);
    return tfd_event_put(k, &event, st);
}

/* All that a Summary has is a list of values: one behind the other they are the
 * Summary of all.  None at all is an event without one. */
static enum tfd_code raw_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tstring *x = tfd_tensor_data(&k->in[2]);
    int64_t n = tfd_tensor_elements(&k->in[2]);
    struct tfd_bytes event;
    size_t mark = 0;

    for (int64_t i = 0; i < n; i++)
        if (!tfd_summary_is_message(tfd_tstring_view(&x[i])))
            return tfd_fail(st, TFD_DATA_LOSS,
                            "Bad tf.compat.v1.Summary binary proto tensor "
                            "string at index %lld",
                            (long long)i);
    TFD_TRY(tfd_event_begin(k, &event, st));
    if (n > 0)
        mark = tfd_pb_begin(&event, EVENT_TAG(summary));
    for (int64_t i = 0; i < n; i++)
        tfd_bytes_add_str(&event, tfd_tstring_view(&x[i]));
    if (n > 0)
        tfd_pb_finish(&event, mark);
    return tfd_event_put(k, &event, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define ACTION(name_, inputs_)                                            \
    {                                                                     \
        .name = (name_), .inputs = (inputs_), .outputs = "", .attrs = "", \
        .shape = tfd_shape_none,                                          \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,                    \
    }

static const struct tfd_opdef ops[] = {
    {
        .name = "SummaryWriter",
        .inputs = "",
        .outputs = "writer: resource",
        .attrs = "shared_name: string = ''; container: string = ''",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    ACTION("CreateSummaryFileWriter",
           "writer: resource, logdir: string, max_queue: int32, "
           "flush_millis: int32, filename_suffix: string"),
    ACTION("CreateSummaryDbWriter",
           "writer: resource, db_uri: string, experiment_name: string, "
           "run_name: string, user_name: string"),
    ACTION("FlushSummaryWriter", "writer: resource"),
    ACTION("CloseSummaryWriter", "writer: resource"),
    ACTION("ImportEvent", "writer: resource, event: string"),
    ACTION("WriteGraphSummary",
           "writer: resource, step: int64, tensor: string"),
    ACTION("WriteRawProtoSummary",
           "writer: resource, step: int64, tensor: string"),
};

#define WAITING(op, compute) \
    TFD_KERNEL_ANY(op, compute, .flags = TFD_KERNEL_BLOCKS)

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("SummaryWriter", naming_compute, .prepare = naming_prepare,
                   .state_size = sizeof(struct naming)),
    WAITING("CreateSummaryFileWriter", create_compute),
    WAITING("CreateSummaryDbWriter", create_db_compute),
    WAITING("FlushSummaryWriter", flush_compute),
    WAITING("CloseSummaryWriter", close_compute),
    WAITING("ImportEvent", import_compute),
    WAITING("WriteGraphSummary", graph_compute),
    WAITING("WriteRawProtoSummary", raw_compute),
};

const struct tfd_family tfd_family_event_ops = {
    .name = "event_ops",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
