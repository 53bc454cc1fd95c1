/*
 * collective_methods.c - what other tasks ask for collectives: CompleteGroup,
 * CompleteInstance and GetStepSequence, of a leader, and RecvBuf, of a member.
 *
 * Threads: loop thread; a value may be offered by any.
 */
#include "daemon/worker/collective/collective_calls.h"

#include "common/base/container.h"
#include "common/proto/worker.pb.h"
#include "config/limits.h"
#include "daemon/device_proto.h"
#include "daemon/worker/collective/buf_message.h"
#include "daemon/worker/state/device.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GROUP(field) tensorflow_CompleteGroupRequest_##field##_tag
#define GROUPED(field) tensorflow_CompleteGroupResponse_##field##_tag
#define INSTANCE(field) tensorflow_CompleteInstanceRequest_##field##_tag
#define INSTANCED(field) tensorflow_CompleteInstanceResponse_##field##_tag
#define BUF(field) tensorflow_RecvBufRequest_##field##_tag

/* Of a request for steps: a tag and a number for each. */
#define STEPS_SIZE_MAX ((size_t)11 * TFD_STEP_SEQUENCES_MAX)

/* ---- CompleteGroup ------------------------------------------------------- */

static void respond_group(struct tfd_call *call, const struct tfd_group *g)
{
    struct tfd_message m;

    tfd_message_init(&m, call->native);
    tfd_pb_put_int(&m.proto, GROUPED(group_key), g->key);
    tfd_pb_put_int(&m.proto, GROUPED(group_size), g->size);
    tfd_pb_put_str(&m.proto, GROUPED(device_type), TFD_STR("CPU"));
    tfd_pb_put_int(&m.proto, GROUPED(num_tasks), g->tasks);
    for (int i = 0; i < g->size; i++)
        tfd_device_proto_put(&m.proto, GROUPED(device_attributes),
                             &g->member[i]);
    tfd_call_respond(call, &m);
}

static void group_ready(struct tfd_collective_call *c)
{
    const struct tfd_group *g = tfd_groups_find(&c->all->groups, c->group_key);

    respond_group(c->call, g);
}

struct group_request {
    int32_t key, size;
    bool has_device;
    struct tfd_device_attributes device;
};

static enum tfd_code decode_group(struct tfd_str proto, struct group_request *q,
                                  struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == GROUP(group_key)) {
            q->key = tfd_pb_int32(&r, &f);
        } else if (f.tag == GROUP(group_size)) {
            q->size = tfd_pb_int32(&r, &f);
        } else if (f.tag == GROUP(device_attributes)) {
            q->has_device = true;
            TFD_TRY(tfd_device_proto_get(tfd_pb_str(&r, &f), &q->device, st));
        }
    }
    TFD_TRY(tfd_service_request_end(&r, st));
    if (q->has_device)
        return TFD_OK;
    return tfd_fail(st, TFD_INTERNAL,
                    "CompleteGroupRequest device_attributes is not set. Make "
                    "sure you're running the same version of Tensorflow on all "
                    "workers.");
}

static enum tfd_code begin_group(struct tfd_collectives *all,
                                 struct tfd_call *call, struct tfd_group **g,
                                 struct tfd_status *st)
{
    struct group_request q = {.key = 0};

    TFD_TRY(decode_group(call->in.proto, &q, st));
    return tfd_groups_join(&all->groups, q.key, q.size, &q.device,
                           TFD_STR_EMPTY, g, st);
}

static void complete_group(void *self, struct tfd_call *call)
{
    struct tfd_collectives *all = self;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_group *g;

    if (begin_group(all, call, &g, &st) != TFD_OK)
        tfd_call_fail(call, &st);
    else if (tfd_group_complete(g))
        respond_group(call, g);
    else
        tfd_collective_call_wait(all, call, &g->waits, g->key, group_ready);
}

/* ---- CompleteInstance ---------------------------------------------------- */

static void respond_instance(struct tfd_call *call, int32_t key, int source)
{
    struct tfd_message m;

    tfd_message_init(&m, call->native);
    tfd_pb_put_int(&m.proto, INSTANCED(instance_key), key);
    tfd_pb_put_int(&m.proto, INSTANCED(source_rank), source);
    tfd_call_respond(call, &m);
}

struct instance_request {
    int32_t type, group_key, instance_key;
    struct tfd_str device;
    bool is_source;
};

static enum tfd_code decode_instance(struct tfd_str proto,
                                     struct instance_request *q,
                                     struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == INSTANCE(type))
            q->type = tfd_pb_int32(&r, &f);
        else if (f.tag == INSTANCE(group_key))
            q->group_key = tfd_pb_int32(&r, &f);
        else if (f.tag == INSTANCE(instance_key))
            q->instance_key = tfd_pb_int32(&r, &f);
        else if (f.tag == INSTANCE(device))
            q->device = tfd_pb_str(&r, &f);
        else if (f.tag == INSTANCE(is_source))
            q->is_source = tfd_pb_bool(&r, &f);
    }
    return tfd_service_request_end(&r, st);
}

static enum tfd_code find_member(const struct tfd_collectives *all,
                                 const struct instance_request *q,
                                 const struct tfd_group **group, int *rank,
                                 struct tfd_status *st)
{
    const struct tfd_group *g = tfd_groups_find(&all->groups, q->group_key);

    if (!g || !tfd_group_complete(g))
        return tfd_fail(
            st, TFD_FAILED_PRECONDITION,
            "group %d %s. This normally means the server has restarted",
            (int)q->group_key, g ? "failed to resolve" : "not found");
    *group = g;
    *rank = tfd_group_rank(g, q->device);
    if (*rank >= 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INTERNAL,
                    "group %d doesn't contain device " TFD_STR_FMT,
                    (int)q->group_key, TFD_STR_ARG(q->device));
}

static void instance_ready(struct tfd_collective_call *c);

/* Asked again when all have come. */
static void run_instance(struct tfd_collectives *all, struct tfd_call *call)
{
    struct instance_request q = {.device = TFD_STR_EMPTY};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_group_instance *i = NULL;
    const struct tfd_group *g = NULL;
    int rank = -1;

    (void)!decode_instance(call->in.proto, &q, &st);
    if (st.code == TFD_OK)
        (void)!find_member(all, &q, &g, &rank, &st);
    if (st.code == TFD_OK && q.type == TFD_COLLECTIVE_BROADCAST)
        (void)!tfd_groups_broadcast(&all->groups, g, q.instance_key, rank,
                                    q.is_source, &i, &st);
    if (st.code != TFD_OK)
        tfd_call_fail(call, &st);
    else if (!i || tfd_group_instance_ready(i))
        respond_instance(call, q.instance_key, i ? i->source : -1);
    else
        tfd_collective_call_wait(all, call, &i->waits, q.group_key,
                                 instance_ready);
}

static void instance_ready(struct tfd_collective_call *c)
{
    run_instance(c->all, c->call);
}

static void complete_instance(void *self, struct tfd_call *call)
{
    run_instance(self, call);
}

/* ---- RecvBuf ------------------------------------------------------------- */

struct buf_request {
    int64_t step;
    struct tfd_str key, device;
    uint64_t incarnation;
};

static enum tfd_code decode_buf(struct tfd_str proto, struct buf_request *q,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == BUF(step_id))
            q->step = tfd_pb_int64(&r, &f);
        else if (f.tag == BUF(buf_rendezvous_key))
            q->key = tfd_pb_str(&r, &f);
        else if (f.tag == BUF(src_device))
            q->device = tfd_pb_str(&r, &f);
        else if (f.tag == BUF(src_incarnation))
            q->incarnation = (uint64_t)tfd_pb_int64(&r, &f);
    }
    return tfd_service_request_end(&r, st);
}

static enum tfd_code check_device(const struct tfd_collectives *all,
                                  const struct buf_request *q,
                                  struct tfd_status *st)
{
    const struct tfd_device *d =
        tfd_devices_find_local(all->devices, q->device);

    if (!d)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        TFD_STR_FMT " unknown device.", TFD_STR_ARG(q->device));
    if (q->incarnation == d->attributes.incarnation)
        return TFD_OK;
    return tfd_fail(st, TFD_FAILED_PRECONDITION,
                    "RecvBuf expects a different device incarnation: %" PRIu64
                    " vs. %" PRIu64
                    ". Your worker job that contains the device (\"%s\") was "
                    "probably restarted. Check your worker job for the reason "
                    "why it was restarted.",
                    q->incarnation, d->attributes.incarnation,
                    d->attributes.name);
}

static void recv_buf(void *self, struct tfd_call *call)
{
    struct tfd_collectives *all = self;
    struct tfd_status st = TFD_STATUS_INIT;
    struct buf_request q = {.key = TFD_STR_EMPTY, .device = TFD_STR_EMPTY};

    if (decode_buf(call->in.proto, &q, &st) == TFD_OK &&
        check_device(all, &q, &st) == TFD_OK)
        tfd_collective_call_want(all, call, q.step, q.key);
    else
        tfd_call_fail(call, &st);
}

/* ---- GetStepSequence ----------------------------------------------------- */

static enum tfd_code put_sequence(struct tfd_collectives *all, uint64_t key,
                                  struct tfd_bytes *b, struct tfd_status *st)
{
    size_t mark;
    int64_t id;

    TFD_TRY(tfd_step_sequences_peek(&all->steps, key, &id, st));
    mark =
        tfd_pb_begin(b, tensorflow_GetStepSequenceResponse_step_sequence_tag);
    tfd_pb_put_int(b, tensorflow_StepSequence_graph_key_tag, (int64_t)key);
    tfd_pb_put_int(b, tensorflow_StepSequence_next_step_id_tag, id);
    tfd_pb_finish(b, mark);
    return TFD_OK;
}

/* A number by itself, or packed ones. */
static enum tfd_code put_sequences(struct tfd_collectives *all,
                                   struct tfd_str proto, struct tfd_bytes *b,
                                   struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;
    struct tfd_str packed;
    uint64_t key;

    if (proto.size > STEPS_SIZE_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "GetStepSequence has graph keys of %zu bytes; at most "
                        "%zu may be",
                        proto.size, STEPS_SIZE_MAX);
    while (tfd_pb_next(&r, &f)) {
        if (f.tag != tensorflow_GetStepSequenceRequest_graph_key_tag)
            continue;
        if (f.wire != TFD_PB_BYTES) {
            TFD_TRY(put_sequence(all, (uint64_t)tfd_pb_int64(&r, &f), b, st));
            continue;
        }
        packed = tfd_pb_str(&r, &f);
        while (tfd_pb_packed_varint(&packed, &key))
            TFD_TRY(put_sequence(all, key, b, st));
        r.failed |= packed.size > 0;
    }
    return tfd_service_request_end(&r, st);
}

static void get_step_sequence(void *self, struct tfd_call *call)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_message m;

    tfd_message_init(&m, call->native);
    if (put_sequences(self, call->in.proto, &m.proto, &st) == TFD_OK)
        tfd_call_respond(call, &m);
    else
        tfd_call_fail(call, &st);
    tfd_message_deinit(&m);
}

void tfd_collectives_bind(struct tfd_collectives *all)
{
    tfd_service_bind(all->service, TFD_METHOD_CompleteGroup, complete_group,
                     all);
    tfd_service_bind(all->service, TFD_METHOD_CompleteInstance,
                     complete_instance, all);
    tfd_service_bind(all->service, TFD_METHOD_RecvBuf, recv_buf, all);
    tfd_service_bind(all->service, TFD_METHOD_GetStepSequence,
                     get_step_sequence, all);
}
