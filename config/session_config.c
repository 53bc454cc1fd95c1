/*
 * session_config.c - see session_config.h.
 *
 * A table per message says what to do with each field; fields without a row are
 * newer than we are and are reported together.
 */
#include "config/session_config.h"

#include "common/base/pbio.h"
#include "common/proto/config.pb.h"

#include <stdlib.h>
#include <string.h>

#define REWRITE_OFF 2 /* RewriterConfig.Toggle */

struct reading {
    struct tfd_session_config *out;
    struct tfd_pb_reader *r;
    const struct tfd_pb_field *f;
    struct tfd_status *st;
};

typedef enum tfd_code read_fn(struct reading *x, void *at);

struct row {
    uint32_t tag;
    const char *name; /* for the list of what is not honoured */
    read_fn *read;    /* NULL: not honoured */
    size_t offset;    /* of the member read() fills */
};

/* ---- Readers ------------------------------------------------------------- */

static enum tfd_code read_bool(struct reading *x, void *at)
{
    *(bool *)at = tfd_pb_bool(x->r, x->f);
    return TFD_OK;
}

static enum tfd_code read_timeout(struct reading *x, void *at)
{
    int64_t ms = tfd_pb_int64(x->r, x->f);

    /* TensorFlow takes a negative one for none. */
    *(int64_t *)at = ms > 0 ? ms : 0;
    return TFD_OK;
}

static enum tfd_code read_count(struct reading *x, void *at)
{
    *(int64_t *)at = tfd_pb_int64(x->r, x->f);
    return TFD_OK;
}

static enum tfd_code read_cluster_def(struct reading *x, void *at)
{
    *(struct tfd_str *)at = tfd_pb_str(x->r, x->f);
    x->out->has_cluster_def = true;
    return TFD_OK;
}

static enum tfd_code read_filter(struct reading *x, void *at)
{
    struct tfd_session_config *c = x->out;
    struct tfd_str text = tfd_pb_str(x->r, x->f);
    size_t room = c->filter_count ? 2 * c->filter_count : 4;

    (void)at;
    if (c->filter_count == TFD_DEVICE_FILTERS_MAX)
        return tfd_fail(x->st, TFD_RESOURCE_EXHAUSTED,
                        "ConfigProto.device_filters has more than %d entries",
                        TFD_DEVICE_FILTERS_MAX);
    /* Full at 0 and at each power of two from 4. */
    if (c->filter_count == 0 ||
        (c->filter_count >= 4 &&
         (c->filter_count & (c->filter_count - 1)) == 0)) {
        void *filters = realloc(c->filters, room * sizeof(*c->filters));

        if (!filters)
            return tfd_fail(x->st, TFD_RESOURCE_EXHAUSTED,
                            "Out of memory for %zu device filters", room);
        c->filters = filters;
    }
    if (tfd_device_name_parse(text, &c->filters[c->filter_count], NULL) !=
        TFD_OK)
        return tfd_fail(x->st, TFD_INVALID_ARGUMENT,
                        "Invalid device filter '" TFD_STR_FMT
                        "' in ConfigProto.device_filters; write one like "
                        "/job:ps/task:0",
                        TFD_STR_ARG(text));
    c->filter_count++;
    return TFD_OK;
}

/* As TensorFlow's master answers: it has one pool for all sessions. */
static enum tfd_code no_session_pool(struct reading *x, void *at)
{
    bool set = x->f->wire == TFD_PB_BYTES || x->f->number != 0;

    (void)at;
    return !set ? TFD_OK
                : tfd_fail(x->st, TFD_INVALID_ARGUMENT,
                           "Distributed session does not support session "
                           "thread pool options.");
}

static void add_unhonoured(struct tfd_session_config *c, const char *name)
{
    for (size_t i = 0; i < c->unhonoured_count; i++)
        if (strcmp(c->unhonoured[i], name) == 0)
            return;
    if (c->unhonoured_count < TFD_SESSION_UNHONOURED_MAX)
        c->unhonoured[c->unhonoured_count++] = name;
}

/* A task's devices are fixed when it starts.  Python sends one CPU, and the
 * GPUs of its own process, with every session: that asks for nothing. */
static enum tfd_code read_device_count(struct reading *x, void *at)
{
    struct tfd_pb_entry e;

    (void)at;
    if (x->f->wire != TFD_PB_BYTES || !tfd_pb_map_entry(x->f->bytes, &e))
        return tfd_fail(x->st, TFD_INVALID_ARGUMENT,
                        "Unable to parse ConfigProto.device_count");
    if (!tfd_str_is(e.key, "GPU") &&
        !(tfd_str_is(e.key, "CPU") && e.number == 1))
        add_unhonoured(x->out, "device_count");
    return TFD_OK;
}

/* Nothing here takes it that a session's graph stays as it is. */
static enum tfd_code graphs_grow(struct reading *x, void *at)
{
    (void)x;
    (void)at;
    return TFD_OK;
}

static read_fn read_graph_options;
static read_fn read_experimental;
static read_fn read_rewrite_options;

#define AT(member) offsetof(struct tfd_session_config, member)

static const struct row config_rows[] = {
    {1, "device_count", read_device_count, 0},
    {2, "intra_op_parallelism_threads", NULL, 0},
    {3, "placement_period", NULL, 0},
    {4, "device_filters", read_filter, 0},
    {5, "inter_op_parallelism_threads", NULL, 0},
    {6, "gpu_options", NULL, 0},
    {7, "allow_soft_placement", read_bool, AT(allow_soft_placement)},
    {8, "log_device_placement", read_bool, AT(log_device_placement)},
    {9, "use_per_session_threads", no_session_pool, 0},
    {10, "graph_options", read_graph_options, 0},
    {11, "operation_timeout_in_ms", read_timeout, AT(operation_timeout_ms)},
    {12, "session_inter_op_thread_pool", no_session_pool, 0},
    {13, "rpc_options", NULL, 0},
    {14, "cluster_def", read_cluster_def, AT(cluster_def)},
    {15, "isolate_session_state", read_bool, AT(isolate_session_state)},
    {16, "experimental", read_experimental, 0},
    {17, "share_cluster_devices_in_session", read_bool,
     AT(share_cluster_devices)},
    {18, "pluggable_device_options", NULL, 0},
    {1001, "saves_before_tasks_leave", read_bool, AT(saves_before_leave)},
};

static const struct row graph_rows[] = {
    {2, "graph_options.enable_recv_scheduling", NULL, 0},
    {3, "graph_options.optimizer_options", NULL, 0},
    {4, "graph_options.build_cost_model", read_count, AT(cost_model)},
    {5, "graph_options.infer_shapes", NULL, 0},
    {6, "graph_options.place_pruned_graph", read_bool, AT(place_pruned_graph)},
    {7, "graph_options.enable_bfloat16_sendrecv", NULL, 0},
    {8, "graph_options.timeline_step", NULL, 0},
    {9, "graph_options.build_cost_model_after", read_count,
     AT(cost_model_after)},
    {10, "graph_options.rewrite_options", read_rewrite_options,
     AT(keeps_unread)},
};

static const struct row experimental_rows[] = {
    {1, "experimental.collective_group_leader", NULL, 0},
    {3, "experimental.executor_type", NULL, 0},
    {4, "experimental.recv_buf_max_chunk", NULL, 0},
    {5, "experimental.use_numa_affinity", NULL, 0},
    {6, "experimental.collective_deterministic_sequential_execution", NULL, 0},
    {7, "experimental.collective_nccl", NULL, 0},
    {8, "experimental.share_session_state_in_clusterspec_propagation",
     read_bool, AT(share_session_state)},
    {9, "experimental.disable_thread_spinning", NULL, 0},
    {10, "experimental.share_cluster_devices_in_session", read_bool,
     AT(share_cluster_devices)},
    {11, "experimental.session_metadata", NULL, 0},
    {12, "experimental.optimize_for_static_graph", NULL, 0},
    {13, "experimental.enable_mlir_bridge", NULL, 0},
    {14, "experimental.disable_output_partition_graphs", NULL, 0},
    {15, "experimental.xla_fusion_autotuner_thresh", NULL, 0},
    {16, "experimental.enable_mlir_graph_optimization", NULL, 0},
    {17, "experimental.mlir_bridge_rollout", NULL, 0},
    {18, "experimental.use_tfrt", NULL, 0},
    {21, "experimental.disable_functional_ops_lowering", NULL, 0},
    {22, "experimental.xla_prefer_single_graph_cluster", NULL, 0},
    {23, "experimental.coordination_config", NULL, 0},
    {24, "experimental.disable_optimize_for_static_graph", graphs_grow, 0},
    {26, "experimental.disable_eager_executor_streaming_enqueue", NULL, 0},
    {27, "experimental.enable_multi_host", NULL, 0},
    {28, "experimental.backend_server_port", NULL, 0},
    {29, "experimental.target_tpu", NULL, 0},
    {30, "experimental.target_gpu", NULL, 0},
    {31, "experimental.stream_merge_threshold", NULL, 0},
    {32, "experimental.tfrt_use_ifrt", NULL, 0},
    {33, "experimental.finalize_function_library_runtime", NULL, 0},
    {34, "experimental.finalize_resource_manager", NULL, 0},
    {35, "experimental.tf2xla_dump_dir", NULL, 0},
    {36, "experimental.online_cost_analysis", NULL, 0},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Whether a field says anything: clients send empty messages for options that
 * nobody touched, also within messages. */
static bool is_set(const struct tfd_pb_field *f)
{
    struct tfd_pb_reader r;
    struct tfd_pb_field inner;

    if (f->wire != TFD_PB_BYTES)
        return f->number != 0;
    r = tfd_pb_reader_of(f->bytes);
    while (tfd_pb_next(&r, &inner))
        if (inner.wire == TFD_PB_BYTES ? inner.bytes.size > 0
                                       : inner.number != 0)
            return true;
    return r.failed; /* a text, not a message */
}

static const struct row *find_row(const struct row *rows, size_t count,
                                  uint32_t tag)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].tag == tag)
            return &rows[i];
    return NULL;
}

static enum tfd_code read_message(struct tfd_str bytes, const struct row *rows,
                                  size_t count, struct tfd_session_config *out,
                                  struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        const struct row *row = find_row(rows, count, f.tag);
        struct reading x = {out, &r, &f, st};

        if (row && row->read)
            TFD_TRY(row->read(&x, (char *)out + row->offset));
        else if (is_set(&f))
            add_unhonoured(out, row ? row->name : "unknown fields");
    }
    return tfd_pb_end(&r, "ConfigProto", st);
}

static enum tfd_code read_graph_options(struct reading *x, void *at)
{
    (void)at;
    return read_message(tfd_pb_str(x->r, x->f), graph_rows, COUNT(graph_rows),
                        x->out, x->st);
}

static enum tfd_code read_experimental(struct reading *x, void *at)
{
    (void)at;
    return read_message(tfd_pb_str(x->r, x->f), experimental_rows,
                        COUNT(experimental_rows), x->out, x->st);
}

struct pass {
    bool off, named;
};

/* Two of the rewriter's passes have something like them here. */
static enum tfd_code read_rewrite_options(struct reading *x, void *at)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(tfd_pb_str(x->r, x->f));
    struct tfd_pb_field f;
    bool off = false, named = false, others = false;
    struct pass unread = {0}, twins = {0};
    struct tfd_str name;

    (void)at;

    while (tfd_pb_next(&r, &f))
        switch (f.tag) {
        case tensorflow_RewriterConfig_disable_meta_optimizer_tag:
            off |= tfd_pb_bool(&r, &f);
            break;
        case tensorflow_RewriterConfig_dependency_optimization_tag:
            unread.off |= tfd_pb_int64(&r, &f) == REWRITE_OFF;
            break;
        case tensorflow_RewriterConfig_arithmetic_optimization_tag:
            twins.off |= tfd_pb_int64(&r, &f) == REWRITE_OFF;
            break;
        case tensorflow_RewriterConfig_optimizers_tag:
            named = true;
            name = tfd_pb_str(&r, &f);
            unread.named |= tfd_str_is(name, "dependency");
            twins.named |= tfd_str_is(name, "arithmetic");
            break;
        default:
            others |= is_set(&f);
        }
    if (others || (named && (unread.named || twins.named)))
        add_unhonoured(x->out, "graph_options.rewrite_options");
    x->out->keeps_unread = off || unread.off || (named && !unread.named);
    x->out->keeps_twins = off || twins.off || (named && !twins.named);
    return tfd_pb_end(&r, "ConfigProto", x->st);
}

enum tfd_code tfd_session_config_read(struct tfd_str bytes,
                                      struct tfd_session_config *out,
                                      struct tfd_status *st)
{
    enum tfd_code rc;

    memset(out, 0, sizeof(*out));
    if (bytes.size > TFD_SESSION_CONFIG_SIZE_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "ConfigProto has %zu bytes, the limit is %d",
                        bytes.size, TFD_SESSION_CONFIG_SIZE_MAX);
    rc = read_message(bytes, config_rows, COUNT(config_rows), out, st);
    if (rc != TFD_OK)
        tfd_session_config_deinit(out);
    return rc;
}

void tfd_session_config_deinit(struct tfd_session_config *c)
{
    free(c->filters);
    memset(c, 0, sizeof(*c));
}

bool tfd_session_config_admits(const struct tfd_session_config *c,
                               const struct tfd_device_name *task)
{
    for (size_t i = 0; i < c->filter_count; i++)
        if (tfd_device_name_intersects(&c->filters[i], task))
            return true;
    return c->filter_count == 0;
}
