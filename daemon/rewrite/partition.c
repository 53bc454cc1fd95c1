/*
 * partition.c - writes every node into its task's GraphDef, and a Send/Recv
 * pair the first time an endpoint is wanted in another task.
 */
#include "daemon/rewrite/partition.h"

#include "daemon/rewrite/added_node.h"
#include "daemon/rewrite/early_recv.h"
#include "daemon/rewrite/while_control.h"

#include "common/base/atomic.h"
#include "common/proto/graph.pb.h"
#include "config/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One endpoint that one task gets from another. */
struct crossing {
    int32_t output;      /* TFD_CONTROL for a control edge */
    int worker;          /* who gets it */
    struct tfd_str name; /* input text at the consumer: "v/read_S3", "^..." */
    int32_t next;        /* of the same producer, or -1 */
};

struct partitioner {
    const struct tfd_partition_request *r;
    struct tfd_bytes *out;
    struct tfd_status *st;
    struct tfd_while_control loops;
    struct tfd_early_recv early;
    struct tfd_str *names; /* by part node */
    int32_t *first;        /* by part node: its crossings */
    struct crossing *crossings;
    int32_t crossing_count;
    int32_t crossing_capacity;
    int32_t channels; /* edges numbered so far */
};

static const struct tfd_part_node *part(const struct partitioner *p, int32_t i)
{
    return &p->r->pruned->nodes[i];
}

static int device_index(const struct partitioner *p, int32_t i)
{
    const struct tfd_part_node *n = part(p, i);

    return n->kind == TFD_PART_NODE ? p->loops.device_of[n->node] : 0;
}

static const struct tfd_device *device_at(const struct partitioner *p,
                                          int32_t i)
{
    return &p->r->devices->devices[device_index(p, i)];
}

static const struct tfd_node *node_of(const struct partitioner *p, int32_t i)
{
    return p->r->graph->nodes[part(p, i)->node];
}

static int type_of(const struct partitioner *p, struct tfd_edge e)
{
    const struct tfd_part_node *n = part(p, e.node);

    if (n->kind != TFD_PART_NODE)
        return n->type;
    return (int)tfd_dtype_base(node_of(p, e.node)->out_types[e.output]);
}

/* ---- Names --------------------------------------------------------------- */

static enum tfd_code text(struct partitioner *p, struct tfd_str *out,
                          const char *fmt, ...) TFD_PRINTF(3, 4);

static enum tfd_code text(struct partitioner *p, struct tfd_str *out,
                          const char *fmt, ...)
{
    va_list args;
    char *at;
    int n;

    va_start(args, fmt);
    n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    at = n < 0 ? NULL : tfd_arena_alloc(p->r->arena, (size_t)n + 1);
    TFD_TRY(tfd_arena_check(at, "names of a partition", p->st));
    va_start(args, fmt);
    vsnprintf(at, (size_t)n + 1, fmt, args);
    va_end(args);
    *out = (struct tfd_str){at, (size_t)n};
    return TFD_OK;
}

/* "<source><infix>_S<n>", which is no node's name. */
static enum tfd_code new_name(struct partitioner *p, struct tfd_str *out,
                              const char *source, const char *infix)
{
    do
        TFD_TRY(text(p, out, "%s%s_S%lld", source, infix,
                     (long long)(*p->r->suffix)++));
    while (tfd_graph_find(p->r->graph, *out));
    return TFD_OK;
}

static enum tfd_code name_nodes(struct partitioner *p)
{
    for (int32_t i = 0; i < p->r->pruned->count; i++) {
        const struct tfd_part_node *n = part(p, i);

        p->first[i] = -1;
        p->names[i] = node_of(p, i)->name;
        if (n->kind != TFD_PART_NODE)
            TFD_TRY(text(p, &p->names[i], "_%s_%s_%d_%d",
                         n->kind == TFD_PART_FEED ? "recv" : "send",
                         node_of(p, i)->name.data, n->output, n->index));
    }
    return TFD_OK;
}

/* "a" for output 0, "a:1" for others. */
static enum tfd_code input_text(struct partitioner *p, struct tfd_str *out,
                                struct tfd_edge e)
{
    if (e.output > 0)
        return text(p, out, "%s:%d", p->names[e.node].data, e.output);
    *out = p->names[e.node];
    return TFD_OK;
}

/* ---- Attributes ---------------------------------------------------------- */

static void put_partition_node(struct partitioner *p,
                               const struct tfd_device *d, struct tfd_str name,
                               const char *op, const struct tfd_str *in,
                               int in_count, struct tfd_added_node *a)
{
    struct tfd_nodedef def = {
        .name = name,
        .op = tfd_str_of(op),
        .device = tfd_str_of(d->attributes.name),
        .in = in,
        .in_count = in_count,
    };

    tfd_added_node_put(a, &p->out[d->worker], &def);
}

/* The attributes that both ends of a rendezvous share. */
struct pair {
    struct tfd_str tensor_name;
    const struct tfd_device *from, *to;
    int type;
    bool client;     /* a feed or a fetch */
    bool early;      /* early.h */
    int32_t channel; /* -1: none */
};

static void put_pair_end(struct partitioner *p, const struct pair *pair,
                         bool sends, struct tfd_str name,
                         const struct tfd_str *in, int in_count)
{
    const struct tfd_device *here = sends ? pair->from : pair->to;
    struct tfd_added_node a;

    tfd_added_node_init(&a);
    tfd_attr_put_type(tfd_added_node_attr(&a, sends ? "T" : "tensor_type"),
                      pair->type);
    tfd_attr_put_str(tfd_added_node_attr(&a, "tensor_name"), pair->tensor_name);
    tfd_attr_put_str(tfd_added_node_attr(&a, "send_device"),
                     tfd_str_of(pair->from->attributes.name));
    tfd_attr_put_int(tfd_added_node_attr(&a, "send_device_incarnation"),
                     (int64_t)pair->from->attributes.incarnation);
    tfd_attr_put_str(tfd_added_node_attr(&a, "recv_device"),
                     tfd_str_of(pair->to->attributes.name));
    tfd_attr_put_bool(tfd_added_node_attr(&a, "client_terminated"),
                      pair->client);
    if (pair->channel >= 0)
        tfd_attr_put_int(tfd_added_node_attr(&a, "_tfd_channel"),
                         pair->channel);
    if (pair->early && !sends)
        tfd_attr_put_bool(tfd_added_node_attr(&a, "_tfd_early"), true);
    put_partition_node(p, here, name, sends ? "_Send" : "_Recv", in, in_count,
                       &a);
}

/* ---- Edges between tasks ------------------------------------------------- */

static enum tfd_code new_crossing(struct partitioner *p, int32_t from,
                                  struct crossing **out)
{
    if (p->crossing_count == p->crossing_capacity) {
        int32_t capacity = p->crossing_capacity * 2 + 16;
        struct crossing *grown =
            realloc(p->crossings, sizeof(*grown) * (size_t)capacity);

        if (!grown)
            return tfd_fail(p->st, TFD_RESOURCE_EXHAUSTED,
                            "No memory for %d edges between tasks", capacity);
        p->crossings = grown;
        p->crossing_capacity = capacity;
    }
    *out = &p->crossings[p->crossing_count];
    (*out)->next = p->first[from];
    p->first[from] = p->crossing_count++;
    return TFD_OK;
}

static const struct crossing *find_crossing(const struct partitioner *p,
                                            struct tfd_edge e, int worker)
{
    for (int32_t i = p->first[e.node]; i >= 0; i = p->crossings[i].next)
        if (p->crossings[i].output == e.output &&
            p->crossings[i].worker == worker)
            return &p->crossings[i];
    return NULL;
}

static struct pair make_pair(struct partitioner *p, const struct tfd_device *a,
                             const struct tfd_device *b, int type)
{
    int32_t channel = p->channels++;
    bool push = p->r->native[a->worker] && p->r->native[b->worker];

    return (struct pair){
        .tensor_name = TFD_STR_EMPTY,
        .from = a,
        .to = b,
        .type = type,
        .channel = push ? channel : -1,
    };
}

/* TensorFlow's servers have no use for it. */
static bool is_early(const struct partitioner *p, int32_t from,
                     const struct tfd_device *to)
{
    return p->r->native[to->worker] &&
           tfd_early_recv_is(&p->early, from, to->worker);
}

/* What arrives within a loop arrives in every iteration. */
static void put_recv(struct partitioner *p, const struct pair *pair,
                     struct tfd_str name, int32_t from)
{
    const struct tfd_control_loop *loop =
        tfd_while_control_of(&p->loops, from, pair->to->worker);
    struct tfd_str restart = tfd_str_of(loop ? loop->restart : "");

    put_pair_end(p, pair, false, name, &restart, loop ? 1 : 0);
}

/* in: room for the endpoint's text, then what the _Send waits for besides. */
static enum tfd_code cross_data(struct partitioner *p, struct tfd_edge e,
                                const struct tfd_device *to, struct tfd_str *in,
                                int in_count, struct tfd_str *out)
{
    struct pair pair = make_pair(p, device_at(p, e.node), to, type_of(p, e));
    const char *source = p->names[e.node].data;
    struct tfd_str send;

    pair.early = in_count == 1 && is_early(p, e.node, to);
    TFD_TRY(text(p, &pair.tensor_name, "edge_%d_%s", p->channels - 1, source));
    TFD_TRY(new_name(p, &send, source, ""));
    TFD_TRY(new_name(p, out, source, ""));
    TFD_TRY(input_text(p, &in[0], e));
    put_pair_end(p, &pair, true, send, in, in_count);
    put_recv(p, &pair, *out, e.node);
    return TFD_OK;
}

/* The value a control edge travels as: float[0]. */
static void put_empty_const(struct partitioner *p, int32_t from,
                            struct tfd_str name, const struct tfd_str *after)
{
    struct tfd_tensor empty = {TFD_FLOAT, {1, {0}}, NULL};
    struct tfd_added_node a;

    tfd_added_node_init(&a);
    tfd_attr_put_type(tfd_added_node_attr(&a, "dtype"), TFD_FLOAT);
    tfd_attr_put_tensor(tfd_added_node_attr(&a, "value"), &empty);
    put_partition_node(p, device_at(p, from), name, "Const", after, 1, &a);
}

static void put_identity(struct partitioner *p, const struct tfd_device *d,
                         struct tfd_str name, const struct tfd_str *in)
{
    struct tfd_added_node a;

    tfd_added_node_init(&a);
    tfd_attr_put_type(tfd_added_node_attr(&a, "T"), TFD_FLOAT);
    put_partition_node(p, d, name, "Identity", in, 1, &a);
}

static enum tfd_code cross_control(struct partitioner *p, int32_t from,
                                   const struct tfd_device *to,
                                   struct crossing *c)
{
    struct pair pair = make_pair(p, device_at(p, from), to, TFD_FLOAT);
    const char *source = p->names[from].data;
    struct tfd_str after, value, send, recv, identity;

    pair.early = is_early(p, from, to);
    TFD_TRY(text(p, &pair.tensor_name, "edge_%d_%s", p->channels - 1, source));
    TFD_TRY(text(p, &after, "^%s", source));
    TFD_TRY(new_name(p, &value, source, "/ctrl"));
    TFD_TRY(new_name(p, &send, source, ""));
    TFD_TRY(new_name(p, &recv, source, ""));
    TFD_TRY(new_name(p, &identity, source, ""));
    TFD_TRY(text(p, &c->name, "^%s", identity.data));
    put_empty_const(p, from, value, &after);
    put_pair_end(p, &pair, true, send, &value, 1);
    put_recv(p, &pair, recv, from);
    put_identity(p, to, identity, &recv);
    return TFD_OK;
}

static enum tfd_code shared_crossing(struct partitioner *p, struct tfd_edge e,
                                     const struct tfd_device *to,
                                     struct tfd_str *out)
{
    const struct crossing *known = find_crossing(p, e, to->worker);
    struct crossing *c = NULL;
    struct tfd_str in;

    if (known) {
        *out = known->name;
        return TFD_OK;
    }
    TFD_TRY(new_crossing(p, e.node, &c));
    c->output = e.output;
    c->worker = to->worker;
    if (e.output == TFD_CONTROL)
        TFD_TRY(cross_control(p, e.node, to, c));
    else
        TFD_TRY(cross_data(p, e, to, &in, 1, &c->name));
    *out = c->name;
    return TFD_OK;
}

/* How a node on device `to` writes its input e. */
static enum tfd_code input_name(struct partitioner *p, struct tfd_edge e,
                                const struct tfd_device *to,
                                struct tfd_str *out)
{
    if (device_at(p, e.node)->worker != to->worker)
        return shared_crossing(p, e, to, out);
    if (e.output == TFD_CONTROL)
        return text(p, out, "^%s", p->names[e.node].data);
    return input_text(p, out, e);
}

/* ---- References between tasks -------------------------------------------- */

/* A reference is read when its consumer may run: after everything else the
 * consumer waits for, which may have changed the variable.  An alternative of
 * a Merge waits for nothing. */
static bool read_late(const struct partitioner *p, struct tfd_edge e,
                      int32_t to)
{
    const struct tfd_part_node *n = part(p, to);

    if (part(p, e.node)->kind != TFD_PART_NODE || n->kind != TFD_PART_NODE ||
        device_at(p, e.node)->worker == device_at(p, to)->worker)
        return false;
    return tfd_dtype_is_ref(node_of(p, e.node)->out_types[e.output]) &&
           !(node_of(p, to)->op->flags & TFD_OP_MERGE) &&
           n->in_count + n->control_count > 1;
}

/* in[*count] becomes "^node" as the task of `at` knows it.  Within a loop no
 * edge is added between tasks: its control loops are chosen already. */
static enum tfd_code wait_for(struct partitioner *p, int32_t node, int32_t at,
                              struct tfd_str *in, int *count)
{
    struct tfd_edge e = {node, TFD_CONTROL};

    if (node == at || (tfd_while_control_inside(&p->loops, at) &&
                       device_at(p, node)->worker != device_at(p, at)->worker))
        return TFD_OK;
    TFD_TRY(input_name(p, e, device_at(p, at), &in[*count]));
    (*count)++;
    return TFD_OK;
}

static enum tfd_code late_crossing(struct partitioner *p, struct tfd_edge e,
                                   int32_t to, struct tfd_str *out)
{
    const struct tfd_part_node *n = part(p, to);
    size_t room = (size_t)n->in_count + (size_t)n->control_count + 1;
    struct tfd_str *in = tfd_arena_array(p->r->arena, room, sizeof(*in));
    int count = 1; /* after the endpoint itself */

    TFD_TRY(tfd_arena_check(in, "inputs of a partition", p->st));
    for (int32_t k = 0; k < n->in_count; k++)
        TFD_TRY(wait_for(p, n->in[k].node, e.node, in, &count));
    for (int32_t k = 0; k < n->control_count; k++)
        TFD_TRY(wait_for(p, n->control[k], e.node, in, &count));
    return cross_data(p, e, device_at(p, to), in, count, out);
}

/* ---- Nodes --------------------------------------------------------------- */

static enum tfd_code input_names(struct partitioner *p, int32_t i,
                                 struct tfd_str **out, int *count)
{
    const struct tfd_part_node *n = part(p, i);
    const struct tfd_device *here = device_at(p, i);
    int32_t total = n->in_count + n->control_count;
    struct tfd_str *in =
        tfd_arena_array(p->r->arena, (size_t)total + 1, sizeof(*in));

    TFD_TRY(tfd_arena_check(in, "inputs of a partition", p->st));
    for (int32_t k = 0; k < n->in_count; k++)
        TFD_TRY(read_late(p, n->in[k], i)
                    ? late_crossing(p, n->in[k], i, &in[k])
                    : input_name(p, n->in[k], here, &in[k]));
    for (int32_t k = 0; k < n->control_count; k++) {
        struct tfd_edge e = {n->control[k], TFD_CONTROL};

        TFD_TRY(input_name(p, e, here, &in[n->in_count + k]));
    }
    *out = in;
    *count = total;
    return TFD_OK;
}

static enum tfd_code put_client_node(struct partitioner *p, int32_t i,
                                     const struct tfd_str *in, int in_count)
{
    const struct tfd_part_node *n = part(p, i);
    const struct tfd_device *client = &p->r->devices->devices[0];
    bool feed = n->kind == TFD_PART_FEED;
    struct pair pair = {
        .tensor_name = feed ? p->r->signature->feeds[n->index]
                            : p->r->signature->fetch_labels[n->index],
        .from = client,
        .to = client,
        .type = n->type,
        .client = !p->r->partial,
        .channel = -1,
    };

    put_pair_end(p, &pair, !feed, p->names[i], in, in_count);
    return TFD_OK;
}

static enum tfd_code put_part(struct partitioner *p, int32_t i)
{
    const struct tfd_node *n = node_of(p, i);
    struct tfd_str *in;
    int in_count;
    bool no_op;

    TFD_TRY(input_names(p, i, &in, &in_count));
    if (part(p, i)->kind != TFD_PART_NODE)
        return put_client_node(p, i, in, in_count);
    no_op = part(p, i)->no_op;
    tfd_graphdef_put(&p->out[device_at(p, i)->worker],
                     &(struct tfd_nodedef){
                         .name = n->name,
                         .op = no_op ? TFD_STR("NoOp") : n->op->name,
                         .device = tfd_str_of(device_at(p, i)->attributes.name),
                         .in = in,
                         .in_count = in_count,
                         .attrs = n->attrs,
                         .attr_count = no_op ? 0 : n->attr_count,
                     });
    return TFD_OK;
}

static enum tfd_code put_loops(struct partitioner *p)
{
    for (int32_t i = 0; i < p->loops.loop_count; i++) {
        const struct tfd_control_loop *loop = &p->loops.loops[i];
        struct tfd_str in;

        TFD_TRY(input_name(p, loop->predicate,
                           &p->r->devices->devices[loop->device], &in));
        tfd_while_control_put(&p->loops, i, in, &p->out[loop->worker]);
    }
    return TFD_OK;
}

/* ---- All ----------------------------------------------------------------- */

static bool calls_functions(const struct tfd_op *op)
{
    bool calls = op->flags & TFD_OP_FUNCTION;

    for (int i = 0; i < op->attr_count; i++)
        calls |= op->attrs[i].kind == TFD_ATTR_FUNC;
    return calls;
}

/* Most plans have no calls left and need no library. */
static void put_library(struct partitioner *p, int worker)
{
    for (int32_t i = 0; i < p->r->pruned->count; i++)
        if (part(p, i)->kind == TFD_PART_NODE &&
            device_at(p, i)->worker == worker &&
            calls_functions(node_of(p, i)->op)) {
            tfd_pb_put_str(&p->out[worker], tensorflow_GraphDef_library_tag,
                           p->r->graph->library);
            return;
        }
}

static void put_versions(struct tfd_bytes *out, const struct tfd_graph *g)
{
    size_t mark = tfd_pb_begin(out, tensorflow_GraphDef_versions_tag);

    tfd_pb_put_int(out, tensorflow_VersionDef_producer_tag,
                   g->versions.producer);
    tfd_pb_put_int(out, tensorflow_VersionDef_min_consumer_tag,
                   g->versions.min_consumer);
    tfd_pb_finish(out, mark);
}

static enum tfd_code finish_partitions(struct partitioner *p)
{
    for (int w = 0; w < p->r->worker_count; w++) {
        if (p->out[w].size == 0)
            continue;
        put_versions(&p->out[w], p->r->graph);
        if (p->r->graph->library.size)
            put_library(p, w);
        TFD_TRY(tfd_bytes_ok(&p->out[w], "the GraphDef of a partition", p->st));
    }
    return TFD_OK;
}

static enum tfd_code run_partition(struct partitioner *p)
{
    TFD_TRY(tfd_while_control_find(p->r, &p->loops, p->st));
    TFD_TRY(tfd_early_recv_find(p->r, p->loops.device_of, &p->early, p->st));
    TFD_TRY(name_nodes(p));
    for (int32_t i = 0; i < p->r->pruned->count; i++) {
        if (p->r->stop && TFD_LOAD_RELAXED(p->r->stop))
            return tfd_fail(p->st, TFD_CANCELLED, "Nobody waits for the plan");
        TFD_TRY(put_part(p, i));
    }
    TFD_TRY(put_loops(p));
    return finish_partitions(p);
}

enum tfd_code tfd_partition(const struct tfd_partition_request *r,
                            struct tfd_bytes *graph_defs, struct tfd_status *st)
{
    size_t count = (size_t)r->pruned->count + 1;
    struct tfd_status own = TFD_STATUS_INIT;
    struct partitioner p = {.r = r, .out = graph_defs, .st = &own};
    enum tfd_code rc;

    p.names = calloc(count, sizeof(*p.names));
    p.first = calloc(count, sizeof(*p.first));
    if (p.names && p.first)
        rc = run_partition(&p);
    else
        rc = tfd_fail(&own, TFD_RESOURCE_EXHAUSTED,
                      "No memory to partition %d nodes", r->pruned->count);
    free(p.names);
    free(p.first);
    free(p.crossings);
    return rc == TFD_OK ? TFD_OK : tfd_status_copy(st, &own);
}
