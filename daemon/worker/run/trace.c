/*
 * trace.c - see trace.h.
 *
 * Each device has the NodeExecStats fields of its nodes as bytes, written as
 * the nodes end; nothing is kept but those.
 */
#include "daemon/worker/run/trace.h"

#include "common/base/clock.h"
#include "common/base/pbio.h"
#include "common/proto/step_stats.pb.h"
#include "common/proto/tensor_proto.h"
#include "config/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define STATS(field) tensorflow_NodeExecStats_##field##_tag
#define DESCRIBED(field) tensorflow_TensorDescription_##field##_tag
#define ALLOCATED(field) tensorflow_AllocationDescription_##field##_tag
#define USED(field) tensorflow_AllocatorMemoryUsed_##field##_tag

static const char allocator[] = "cpu";

struct traced_device {
    const char *name;
    struct tfd_bytes nodes;
};

struct tfd_trace {
    struct tfd_lock lock; /* of what follows */
    const struct tfd_rt *rts;
    int device_count;
    int64_t recorded;
    struct traced_device device[];
};

/* ---- One record ---------------------------------------------------------- */

static void put_times(struct tfd_bytes *b, uint64_t begun_ns, uint64_t end_ns)
{
    int64_t took = end_ns > begun_ns ? (int64_t)(end_ns - begun_ns) : 0;

    tfd_pb_put_int(b, STATS(all_start_micros), (int64_t)(begun_ns / 1000));
    /* Rounded up, so that the shortest node is seen in a timeline. */
    tfd_pb_put_int(b, STATS(op_end_rel_micros), (took + 999) / 1000);
    tfd_pb_put_int(b, STATS(all_end_rel_micros), (took + 999) / 1000);
    tfd_pb_put_int(b, STATS(scheduled_micros), (int64_t)(begun_ns / 1000));
    tfd_pb_put_int(b, STATS(all_start_nanos), (int64_t)begun_ns);
    tfd_pb_put_int(b, STATS(op_end_rel_nanos), took);
    tfd_pb_put_int(b, STATS(all_end_rel_nanos), took);
    tfd_pb_put_int(b, STATS(scheduled_nanos), (int64_t)begun_ns);
}

static void put_allocation(struct tfd_bytes *b, size_t size, const void *data)
{
    size_t mark = tfd_pb_begin(b, DESCRIBED(allocation_description));

    tfd_pb_put_int(b, ALLOCATED(requested_bytes), (int64_t)size);
    if (data) {
        tfd_pb_put_str(b, ALLOCATED(allocator_name), tfd_str_of(allocator));
        tfd_pb_put_int(b, ALLOCATED(ptr), (int64_t)(uintptr_t)data);
    }
    tfd_pb_finish(b, mark);
}

static void put_output(struct tfd_bytes *b, int slot,
                       const struct tfd_tensor *t)
{
    size_t mark = tfd_pb_begin(b, STATS(output)), description, mark_shape;

    tfd_pb_put_int(b, tensorflow_NodeOutput_slot_tag, slot);
    description = tfd_pb_begin(b, tensorflow_NodeOutput_tensor_description_tag);
    tfd_pb_put_int(b, DESCRIBED(dtype), (int64_t)t->dtype);
    mark_shape = tfd_pb_begin(b, DESCRIBED(shape));
    tfd_tensor_proto_shape_encode(b, &t->shape);
    tfd_pb_finish(b, mark_shape);
    put_allocation(b, tfd_tensor_size(t), tfd_tensor_data(t));
    tfd_pb_finish(b, description);
    tfd_pb_finish(b, mark);
}

static void put_memory(struct tfd_bytes *b, const struct tfd_tensor *out,
                       int count)
{
    size_t mark;
    int64_t size = 0;

    for (int i = 0; i < count; i++)
        if (out[i].buffer)
            size += (int64_t)tfd_tensor_size(&out[i]);
    mark = tfd_pb_begin(b, STATS(memory));
    tfd_pb_put_str(b, USED(allocator_name), tfd_str_of(allocator));
    tfd_pb_put_int(b, USED(total_bytes), size);
    tfd_pb_put_int(b, USED(peak_bytes), size);
    tfd_pb_put_int(b, USED(live_bytes), size);
    tfd_pb_finish(b, mark);
    mark = tfd_pb_begin(b, STATS(memory_stats)); /* there and empty */
    tfd_pb_finish(b, mark);
}

/* "c = Add(a, b:1)" */
static void put_label(struct tfd_bytes *b, const struct tfd_graph *g,
                      const struct tfd_node *n)
{
    size_t mark = tfd_pb_begin(b, STATS(timeline_label));

    tfd_bytes_printf(b, TFD_STR_FMT " = " TFD_STR_FMT "(", TFD_STR_ARG(n->name),
                     TFD_STR_ARG(n->op->name));
    for (int32_t i = 0; i < n->in_count; i++) {
        const struct tfd_node *from = g->nodes[n->in[i].node];

        tfd_bytes_printf(b, "%s" TFD_STR_FMT, i ? ", " : "",
                         TFD_STR_ARG(from->name));
        if (n->in[i].output > 0)
            tfd_bytes_printf(b, ":%d", n->in[i].output);
    }
    tfd_bytes_add(b, ")", 1);
    tfd_pb_finish(b, mark);
}

/* ---- Recording ----------------------------------------------------------- */

/* NULL when there are enough.  Holds the lock otherwise. */
static struct tfd_bytes *begin_record(struct tfd_trace *t,
                                      const struct tfd_rt *rt, size_t *mark)
{
    ptrdiff_t at = rt ? rt - t->rts : 0;
    struct tfd_bytes *b = &t->device[at].nodes;

    tfd_lock(&t->lock);
    if (t->recorded >= TFD_TRACED_NODES_MAX ||
        b->size > TFD_TRACE_SIZE_MAX / 2) {
        tfd_unlock(&t->lock);
        return NULL;
    }
    t->recorded++;
    *mark = tfd_pb_begin(b, tensorflow_DeviceStepStats_node_stats_tag);
    return b;
}

static void end_record(struct tfd_trace *t, struct tfd_bytes *b, size_t mark)
{
    tfd_pb_finish(b, mark);
    tfd_unlock(&t->lock);
}

static bool is_transfer(const struct tfd_exec_node *n)
{
    return n->kind == TFD_EXEC_FEED || n->kind == TFD_EXEC_FETCH ||
           (n->kernel && (n->kernel->flags & TFD_KERNEL_DEAD));
}

void tfd_trace_node(struct tfd_trace *t, const struct tfd_step *s,
                    const struct tfd_exec_node *n, uint64_t begun_ns,
                    const struct tfd_tensor *out)
{
    uint64_t now = tfd_clock_wall_ns();
    struct tfd_bytes *b;
    size_t mark;

    if (is_transfer(n))
        return;
    b = begin_record(t, n->rt, &mark);
    if (!b)
        return;
    tfd_pb_put_str(b, STATS(node_name), n->node->name);
    put_times(b, begun_ns, now);
    put_memory(b, out, n->out_count);
    for (int i = 0; i < n->out_count; i++)
        if (out[i].dtype != TFD_DTYPE_INVALID)
            put_output(b, i, &out[i]);
    put_label(b, s->exec->graph, n->node);
    end_record(t, b, mark);
}

/* The part of "SEND;INCARNATION;RECV;NAME" behind so many semicolons. */
static struct tfd_str key_part(const char *key, int semicolons)
{
    const char *end;

    while (semicolons > 0 && *key)
        semicolons -= *key++ == ';';
    end = strchr(key, ';');
    return (struct tfd_str){key, end ? (size_t)(end - key) : strlen(key)};
}

static void put_recv_label(struct tfd_bytes *b, const char *key, size_t size,
                           uint64_t took_us)
{
    size_t mark = tfd_pb_begin(b, STATS(timeline_label));
    struct tfd_str name = key_part(key, 3), from = key_part(key, 0),
                   to = key_part(key, 2);

    tfd_bytes_printf(b,
                     "[%zuB] [%fMb/s] " TFD_STR_FMT " from " TFD_STR_FMT
                     " to " TFD_STR_FMT,
                     size, (double)size * 8 / (double)(took_us ? took_us : 1),
                     TFD_STR_ARG(name), TFD_STR_ARG(from), TFD_STR_ARG(to));
    tfd_pb_finish(b, mark);
}

void tfd_trace_recv(struct tfd_trace *t, const struct tfd_async *a)
{
    uint64_t now = tfd_clock_wall_ns(), begun = a->begun_ns;
    const struct tfd_tensor *value = &a->k.out[0];
    size_t mark, size = value->buffer ? tfd_tensor_size(value) : 0;
    size_t output, description;
    struct tfd_bytes *b;

    if (a->channel->local)
        return;
    b = begin_record(t, a->item->node->rt, &mark);
    if (!b)
        return;
    tfd_pb_put_str(b, STATS(node_name), TFD_STR("RecvTensor"));
    put_times(b, begun, now);
    output = tfd_pb_begin(b, STATS(output));
    description = tfd_pb_begin(b, tensorflow_NodeOutput_tensor_description_tag);
    put_allocation(b, size, NULL);
    tfd_pb_finish(b, description);
    tfd_pb_finish(b, output);
    put_recv_label(b, a->channel->key, size,
                   now > begun ? (now - begun) / 1000 : 0);
    end_record(t, b, mark);
}

/* ---- The whole ----------------------------------------------------------- */

/* What every graph begins with, for TensorFlow's tools. */
static void put_source(struct tfd_trace *t, const struct tfd_rt *rt)
{
    uint64_t now = tfd_clock_wall_ns();
    size_t mark;
    struct tfd_bytes *b = begin_record(t, rt, &mark);

    if (!b)
        return;
    tfd_pb_put_str(b, STATS(node_name), TFD_STR("_SOURCE"));
    put_times(b, now, now);
    tfd_pb_put_str(b, STATS(timeline_label), TFD_STR("_SOURCE = NoOp()"));
    end_record(t, b, mark);
}

static bool *ran_nodes(const struct tfd_exec *e)
{
    bool *ran = calloc((size_t)e->graph->count + 1, sizeof(*ran));

    for (int32_t i = 0; ran && i < e->node_count; i++)
        if (e->nodes[i].node)
            ran[e->nodes[i].node->id] = true;
    return ran;
}

/* Without v1 control flow everything runs once. */
static bool runs_all(const struct tfd_graph *g)
{
    for (int32_t i = 0; i < g->count; i++)
        if (g->nodes[i]->op->flags & (TFD_OP_SWITCH | TFD_OP_ENTER))
            return false;
    return true;
}

static const struct tfd_rt *rt_of(const struct tfd_trace *t,
                                  const struct tfd_node *n)
{
    for (int i = 0; i < t->device_count; i++)
        if (tfd_str_is(n->device, t->device[i].name))
            return &t->rts[i];
    return NULL;
}

/* value: of a constant, else NULL. */
static void put_left_out(struct tfd_trace *t, const struct tfd_graph *g,
                         const struct tfd_node *n,
                         const struct tfd_tensor *value)
{
    uint64_t now = tfd_clock_wall_ns();
    size_t mark;
    struct tfd_bytes *b = begin_record(t, rt_of(t, n), &mark);

    if (!b)
        return;
    tfd_pb_put_str(b, STATS(node_name), n->name);
    put_times(b, now, now + 1);
    if (value)
        put_output(b, 0, value);
    put_label(b, g, n);
    end_record(t, b, mark);
}

void tfd_trace_left_out(struct tfd_trace *t, const struct tfd_exec *e)
{
    const struct tfd_graph *g = e->graph;
    bool *ran = ran_nodes(e), all = runs_all(g);
    int32_t constant = 0;

    for (int32_t i = 0; ran && i < g->count; i++) {
        const struct tfd_node *n = g->nodes[i];
        const struct tfd_tensor *value = NULL;

        if (n->op->flags & TFD_OP_CONST)
            value = &e->constants[constant++];
        else if (!all || !(n->op->flags & (TFD_OP_IDENTITY | TFD_OP_NOOP)))
            continue;
        if (!ran[i])
            put_left_out(t, g, n, value);
    }
    free(ran);
}

struct tfd_trace *tfd_trace_new(const struct tfd_rt *devices, int device_count,
                                struct tfd_status *st)
{
    size_t count = (size_t)device_count;
    struct tfd_trace *t = calloc(1, sizeof(*t) + count * sizeof(t->device[0]));

    if (!t) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a trace");
        return NULL;
    }
    tfd_lock_init(&t->lock, TFD_LOCK_TRACE);
    t->rts = devices;
    t->device_count = device_count;
    for (int i = 0; i < device_count; i++) {
        t->device[i].name = devices[i].device;
        tfd_bytes_init(&t->device[i].nodes, TFD_TRACE_SIZE_MAX);
        put_source(t, &devices[i]);
    }
    return t;
}

void tfd_trace_free(struct tfd_trace *t)
{
    if (!t)
        return;
    for (int i = 0; i < t->device_count; i++)
        tfd_bytes_deinit(&t->device[i].nodes);
    tfd_lock_deinit(&t->lock);
    free(t);
}

void tfd_trace_write(const struct tfd_trace *t, struct tfd_bytes *out)
{
    for (int i = 0; i < t->device_count; i++) {
        const struct traced_device *d = &t->device[i];
        size_t mark;

        if (d->nodes.failed)
            continue; /* no memory: the step counts, not its trace */
        mark = tfd_pb_begin(out, tensorflow_StepStats_dev_stats_tag);
        tfd_pb_put_str(out, tensorflow_DeviceStepStats_device_tag,
                       tfd_str_of(d->name));
        tfd_bytes_add_str(out, tfd_bytes_view(&d->nodes));
        tfd_pb_finish(out, mark);
    }
}
