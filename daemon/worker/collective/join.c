/*
 * join.c - a member joins its group: the leader is asked who belongs to it, and
 * of a broadcast who has the value.
 *
 * Threads: loop thread.
 */
#include "daemon/worker/collective/collectives.h"

#include "common/base/clock.h"
#include "common/base/container.h"
#include "common/proto/worker.pb.h"
#include "config/limits.h"
#include "daemon/device_proto.h"

#include <stdlib.h>
#include <string.h>

#define GROUP(field) tensorflow_CompleteGroupRequest_##field##_tag
#define GROUPED(field) tensorflow_CompleteGroupResponse_##field##_tag
#define INSTANCE(field) tensorflow_CompleteInstanceRequest_##field##_tag
#define INSTANCED(field) tensorflow_CompleteInstanceResponse_##field##_tag

static void leave(struct tfd_collective *c, const struct tfd_status *st)
{
    c->joining = false;
    tfd_timer_stop(&c->timer);
    tfd_collective_end(c, st);
}

/* ---- Joined -------------------------------------------------------------- */

static enum tfd_code keep_group(struct tfd_collective *c,
                                const struct tfd_group *g,
                                struct tfd_status *st)
{
    const size_t size = (size_t)g->size;

    c->task = calloc(size, sizeof(*c->task));
    c->member = calloc(size, sizeof(*c->member));
    if (!c->task || !c->member)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a group of %d", g->size);
    memcpy(c->task, g->task, size * sizeof(*c->task));
    memcpy(c->member, g->member, size * sizeof(*c->member));
    return TFD_OK;
}

static void joined(struct tfd_collective *c)
{
    struct tfd_status st = TFD_STATUS_INIT;
    const struct tfd_group *g =
        tfd_groups_find(&c->all->groups, c->spec.group_key);

    if (!g || !tfd_group_complete(g))
        tfd_fail(&st, TFD_INTERNAL, "group %d is not complete any more",
                 (int)c->spec.group_key);
    else
        (void)!keep_group(c, g, &st);
    if (st.code != TFD_OK) {
        leave(c, &st);
        return;
    }
    c->joining = false;
    tfd_timer_stop(&c->timer);
    if (tfd_crew_submit(tfd_rt_crew(c->k->rt), &c->job, &st) != TFD_OK)
        tfd_collective_end(c, &st);
}

/* ---- The source of a broadcast ------------------------------------------- */

static void call_leader(struct tfd_collective *c, enum tfd_method_number method,
                        struct tfd_channel *ch, struct tfd_message *m,
                        tfd_outcall_fn *done)
{
    const struct tfd_outcall_options options = {.wait_ready = true};

    c->call = tfd_channel_call(ch, method, m, &options, done, c);
    tfd_message_deinit(m);
}

/* The end of a call of the leader; true: go on. */
static bool leader_answered(struct tfd_collective *c,
                            const struct tfd_status *st)
{
    struct tfd_status late = TFD_STATUS_INIT;

    c->call = NULL;
    if (st->code == TFD_OK)
        return true;
    if (c->timed_out)
        tfd_fail(&late, TFD_DEADLINE_EXCEEDED,
                 "Collective has timed out waiting for other workers.");
    leave(c, c->timed_out ? &late : st);
    return false;
}

static enum tfd_code decode_source(struct tfd_collective *c,
                                   struct tfd_str proto, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    c->source = 0;
    while (tfd_pb_next(&r, &f))
        if (f.tag == INSTANCED(source_rank))
            c->source = tfd_pb_int32(&r, &f);
    TFD_TRY(tfd_pb_end(&r, "CompleteInstanceResponse", st));
    if (c->source >= 0 && c->source < c->spec.group_size)
        return TFD_OK;
    return tfd_fail(st, TFD_INTERNAL,
                    "the leader says that rank %d of %d has the value",
                    c->source, (int)c->spec.group_size);
}

static void instance_answered(void *ctx, const struct tfd_status *st,
                              const struct tfd_incoming *response)
{
    struct tfd_collective *c = ctx;
    struct tfd_status own = TFD_STATUS_INIT;

    if (!leader_answered(c, st))
        return;
    if (decode_source(c, response->proto, &own) == TFD_OK)
        joined(c);
    else
        leave(c, &own);
}

static void put_instance(struct tfd_collective *c, struct tfd_bytes *b)
{
    const struct tfd_collective_spec *s = &c->spec;
    size_t shape;

    tfd_pb_put_str(b, INSTANCE(name), c->k->node->name);
    tfd_pb_put_int(b, INSTANCE(type), s->type);
    tfd_pb_put_int(b, INSTANCE(data_type), s->dtype);
    shape = tfd_pb_begin(b, INSTANCE(shape));
    for (int i = 0; i < s->shape.rank; i++) {
        size_t dim = tfd_pb_begin(b, tensorflow_TensorShapeProto_dim_tag);

        tfd_pb_put_int(b, tensorflow_TensorShapeProto_Dim_size_tag,
                       s->shape.dim[i]);
        tfd_pb_finish(b, dim);
    }
    tfd_pb_finish(b, shape);
    tfd_pb_put_int(b, INSTANCE(group_key), s->group_key);
    tfd_pb_put_int(b, INSTANCE(group_size), s->group_size);
    tfd_pb_put_int(b, INSTANCE(instance_key), s->instance_key);
    tfd_pb_put_str(b, INSTANCE(device_type), TFD_STR("CPU"));
    tfd_pb_put_int_always(b, INSTANCE(subdiv_offset), 0);
    tfd_pb_put_str(b, INSTANCE(device),
                   tfd_str_of(tfd_collective_device(c->k)->name));
    tfd_pb_put_bool(b, INSTANCE(is_source), s->is_source);
}

static void source_known(struct tfd_group_wait *w, const struct tfd_status *st);

/* As the leader. */
static void find_source(struct tfd_collective *c, const struct tfd_group *g)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_group_instance *i;

    if (tfd_groups_broadcast(&c->all->groups, g, c->spec.instance_key, c->rank,
                             c->spec.is_source, &i, &st) != TFD_OK) {
        leave(c, &st);
    } else if (tfd_group_instance_ready(i)) {
        c->source = i->source;
        joined(c);
    } else {
        c->wait.ready = source_known;
        tfd_group_wait_for(&i->waits, &c->wait);
    }
}

static void source_known(struct tfd_group_wait *w, const struct tfd_status *st)
{
    struct tfd_collective *c = TFD_CONTAINER_OF(w, struct tfd_collective, wait);
    struct tfd_group *g = tfd_groups_find(&c->all->groups, c->spec.group_key);

    if (st)
        leave(c, st);
    else
        find_source(c, g);
}

/* ---- The group ----------------------------------------------------------- */

static struct tfd_channel *leader_of(struct tfd_collective *c)
{
    return tfd_peers_channel(c->all->peers, c->all->leader);
}

static void no_leader(struct tfd_collective *c)
{
    struct tfd_status st = TFD_STATUS_INIT;

    tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for a link to the leader");
    leave(c, &st);
}

static void ask_source(struct tfd_collective *c)
{
    struct tfd_channel *ch = leader_of(c);
    struct tfd_message m;

    if (!ch) {
        no_leader(c);
        return;
    }
    tfd_message_init(&m, tfd_channel_protocol(ch) == TFD_PROTO_NATIVE);
    put_instance(c, &m.proto);
    call_leader(c, TFD_METHOD_CompleteInstance, ch, &m, instance_answered);
}

static void group_ready(struct tfd_collective *c, const struct tfd_group *g)
{
    struct tfd_status st = TFD_STATUS_INIT;
    const char *device = tfd_collective_device(c->k)->name;

    c->rank = tfd_group_rank(g, tfd_str_of(device));
    if (c->rank < 0) {
        tfd_fail(&st, TFD_INTERNAL, "%s is not in group %d", device,
                 (int)c->spec.group_key);
        leave(c, &st);
    } else if (c->spec.type != TFD_COLLECTIVE_BROADCAST) {
        joined(c);
    } else if (c->all->leader < 0) {
        find_source(c, g);
    } else {
        ask_source(c);
    }
}

static void group_complete(struct tfd_group_wait *w,
                           const struct tfd_status *st)
{
    struct tfd_collective *c = TFD_CONTAINER_OF(w, struct tfd_collective, wait);

    if (st)
        leave(c, st);
    else
        group_ready(c, tfd_groups_find(&c->all->groups, c->spec.group_key));
}

struct members {
    struct tfd_device_attributes *list;
    int32_t size, count;
};

static enum tfd_code decode_members(struct tfd_str proto, struct members *m,
                                    struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == GROUPED(device_attributes) && m->count < m->size)
            TFD_TRY(tfd_device_proto_get(tfd_pb_str(&r, &f),
                                         &m->list[m->count++], st));
        else if (f.tag == GROUPED(device_attributes))
            m->count = INT32_MAX;
    }
    TFD_TRY(tfd_pb_end(&r, "CompleteGroupResponse", st));
    if (m->count == m->size)
        return TFD_OK;
    return tfd_fail(
        st, TFD_INTERNAL,
        "CompleteGroupResponse group_size doesn't match device_name "
        "list");
}

static enum tfd_code keep_members(struct tfd_collective *c,
                                  struct tfd_str proto, struct tfd_status *st)
{
    struct members m = {.size = c->spec.group_size};
    enum tfd_code rc;

    m.list = calloc((size_t)m.size, sizeof(*m.list));
    if (!m.list)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a group of %d", (int)m.size);
    rc = decode_members(proto, &m, st);
    if (rc == TFD_OK)
        rc = tfd_groups_put(&c->all->groups, c->spec.group_key, m.size, m.list,
                            st);
    free(m.list);
    return rc;
}

static void group_answered(void *ctx, const struct tfd_status *st,
                           const struct tfd_incoming *response)
{
    struct tfd_collective *c = ctx;
    struct tfd_status own = TFD_STATUS_INIT;

    if (!leader_answered(c, st))
        return;
    if (keep_members(c, response->proto, &own) == TFD_OK)
        group_ready(c, tfd_groups_find(&c->all->groups, c->spec.group_key));
    else
        leave(c, &own);
}

static void ask_group(struct tfd_collective *c)
{
    struct tfd_channel *ch = leader_of(c);
    struct tfd_message m;

    if (!ch) {
        no_leader(c);
        return;
    }
    tfd_message_init(&m, tfd_channel_protocol(ch) == TFD_PROTO_NATIVE);
    tfd_pb_put_int(&m.proto, GROUP(group_key), c->spec.group_key);
    tfd_pb_put_int(&m.proto, GROUP(group_size), c->spec.group_size);
    tfd_pb_put_str(&m.proto, GROUP(device_type), TFD_STR("CPU"));
    tfd_pb_put_int(&m.proto, GROUP(collective_type), c->spec.type);
    tfd_device_proto_put(&m.proto, GROUP(device_attributes),
                         tfd_collective_device(c->k));
    call_leader(c, TFD_METHOD_CompleteGroup, ch, &m, group_answered);
}

static void join_here(struct tfd_collective *c)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_group *g;

    if (tfd_groups_join(&c->all->groups, c->spec.group_key, c->spec.group_size,
                        tfd_collective_device(c->k), c->k->node->name, &g,
                        &st) != TFD_OK) {
        leave(c, &st);
        return;
    }
    g->own = true;
    if (tfd_group_complete(g)) {
        group_ready(c, g);
    } else {
        c->wait.ready = group_complete;
        tfd_group_wait_for(&g->waits, &c->wait);
    }
}

/* ---- Start and end ------------------------------------------------------- */

static void give_up(struct tfd_collective *c, enum tfd_code code,
                    const char *why)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (c->call) {
        tfd_channel_cancel(c->call); /* its answer follows */
        return;
    }
    tfd_group_wait_end(&c->wait);
    tfd_fail(&st, code, "%s", why);
    leave(c, &st);
}

void tfd_collective_join_cancel(struct tfd_collective *c)
{
    give_up(c, TFD_CANCELLED, "Operation was cancelled");
}

static void join_late(struct tfd_timer *t)
{
    struct tfd_collective *c =
        TFD_CONTAINER_OF(t, struct tfd_collective, timer);

    c->timed_out = true;
    give_up(c, TFD_DEADLINE_EXCEEDED,
            "Collective has timed out waiting for other workers.");
}

static enum tfd_code start_timer(struct tfd_collective *c,
                                 struct tfd_status *st)
{
    int64_t left = c->deadline_us - tfd_clock_now_us();

    tfd_timer_init(&c->timer, c->all->loop, join_late);
    if (c->deadline_us == 0)
        return TFD_OK;
    return tfd_timer_start(&c->timer, left > 0 ? (uint64_t)left : 0, st);
}

/* The step may have failed before there was anything to cancel. */
static enum tfd_code begin_join(struct tfd_collective *c, struct tfd_status *st)
{
    bool cancelled;

    c->joining = true;
    tfd_lock(&c->lock);
    cancelled = c->cancelled;
    tfd_unlock(&c->lock);
    TFD_TRY(start_timer(c, st));
    if (cancelled)
        return tfd_fail(st, TFD_CANCELLED, "Operation was cancelled");
    return tfd_group_check_size(c->spec.group_size, st);
}

void tfd_collective_join(struct tfd_collective *c)
{
    struct tfd_status st = TFD_STATUS_INIT;
    const struct tfd_group *g =
        tfd_groups_find(&c->all->groups, c->spec.group_key);

    if (begin_join(c, &st) != TFD_OK)
        leave(c, &st);
    else if (c->all->leader < 0 || (g && tfd_group_complete(g)))
        join_here(c);
    else
        ask_group(c);
}
