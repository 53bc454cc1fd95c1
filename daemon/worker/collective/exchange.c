/*
 * exchange.c - values that members of a collective send each other: see
 * kernels/core/collective_member.h.
 *
 * A value of this task's member passes by its reference.  One of another task
 * is fetched from there with RecvBuf, by the loop thread; its bytes are copied
 * out of the answer by the thread that waits for it.
 */
#include "daemon/worker/collective/collectives.h"

#include "common/base/alloc.h"
#include "common/base/container.h"
#include "common/proto/worker.pb.h"
#include "daemon/worker/collective/buf_message.h"
#include "daemon/worker/state/device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST(field) tensorflow_RecvBufRequest_##field##_tag

/* GROUP:INSTANCE:FRAME:ITERATION and the tail. */
#define KEY_MAX (70 + TFD_COLLECTIVE_TAIL_MAX)

static struct tfd_str put_part_key(const struct tfd_collective *c,
                                   const char *tail, char *key)
{
    snprintf(key, KEY_MAX, "%d:%d:%" PRIu64 ":%" PRIu64 "%s",
             (int)c->spec.group_key, (int)c->spec.instance_key, c->frame,
             c->iteration, tail);
    return tfd_str_of(key);
}

/* One more thing is under way. */
static void begin_one(struct tfd_collective *c)
{
    tfd_lock(&c->lock);
    c->pending++;
    tfd_unlock(&c->lock);
}

/* ---- Sending ------------------------------------------------------------- */

static void fetched(struct tfd_buf_end *e, struct tfd_tensor *take_value)
{
    struct tfd_collective_send *s =
        TFD_CONTAINER_OF(e, struct tfd_collective_send, end);
    struct tfd_collective *c = s->c;

    (void)take_value;
    tfd_lock(&c->lock);
    c->pending--;
    tfd_cond_broadcast(&c->changed);
    tfd_unlock(&c->lock);
}

enum tfd_code tfd_collective_send(struct tfd_collective *c, const char *tail,
                                  const struct tfd_tensor *value,
                                  struct tfd_status *st)
{
    struct tfd_collective_send *s = calloc(1, sizeof(*s) + KEY_MAX);
    enum tfd_code rc;

    if (!s)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory to send a part");
    s->c = c;
    s->end.step = c->step;
    s->end.key = put_part_key(c, tail, s->key);
    s->end.met = fetched;
    s->next = c->sends;
    begin_one(c);
    rc = tfd_buf_offer(&c->all->bufs, &s->end, value, st);
    if (rc == TFD_OK) {
        c->sends = s;
        return TFD_OK;
    }
    fetched(&s->end, NULL);
    free(s);
    return rc;
}

/* ---- Asking -------------------------------------------------------------- */

static void part_ended(struct tfd_collective_part *p)
{
    struct tfd_collective *c = p->c;

    tfd_lock(&c->lock);
    p->arrived = true;
    c->pending--;
    tfd_cond_broadcast(&c->changed);
    tfd_unlock(&c->lock);
}

static void part_met(struct tfd_buf_end *e, struct tfd_tensor *take_value)
{
    struct tfd_collective_part *p =
        TFD_CONTAINER_OF(e, struct tfd_collective_part, end);

    p->value = *take_value;
    part_ended(p);
}

/* Loop thread. */
static void part_answered(void *ctx, const struct tfd_status *st,
                          const struct tfd_incoming *response)
{
    struct tfd_collective_part *p = ctx;

    p->call = NULL;
    if (st->code != TFD_OK)
        tfd_status_copy(&p->st, st);
    else
        tfd_buf_message_keep(response, &p->answer, &p->st);
    /* The sender was restarted: who belongs to the group is asked again.  The
     * leader is told by the sender itself. */
    if (st->code == TFD_FAILED_PRECONDITION && p->c->all->leader >= 0)
        tfd_groups_drop(&p->c->all->groups, p->c->spec.group_key);
    part_ended(p);
}

static void put_request(struct tfd_message *m,
                        const struct tfd_collective_part *p)
{
    const struct tfd_device_attributes *from = &p->c->member[p->from];

    tfd_pb_put_int(&m->proto, REQUEST(step_id), p->c->step);
    tfd_pb_put_str(&m->proto, REQUEST(buf_rendezvous_key), p->end.key);
    tfd_pb_put_int(&m->proto, REQUEST(num_bytes),
                   p->n * (int64_t)tfd_dtype_size(p->c->spec.dtype));
    tfd_pb_put_str(&m->proto, REQUEST(src_device), tfd_str_of(from->name));
    tfd_pb_put_str(&m->proto, REQUEST(dst_device),
                   tfd_str_of(tfd_collective_device(p->c->k)->name));
    tfd_pb_put_int(&m->proto, REQUEST(request_id),
                   (int64_t)(tfd_device_random() >> 1));
    tfd_pb_put_int(&m->proto, REQUEST(src_incarnation),
                   (int64_t)from->incarnation);
}

static enum tfd_code call_sender(struct tfd_collective_part *p,
                                 struct tfd_status *st)
{
    const struct tfd_outcall_options options = {.wait_ready = true};
    const char *device = p->c->member[p->from].name;
    struct tfd_peers *peers = p->c->all->peers;
    int peer = peers ? tfd_peers_find(peers, tfd_str_of(device)) : -1;
    struct tfd_channel *ch = peer < 0 ? NULL : tfd_peers_channel(peers, peer);
    struct tfd_message m;

    if (!ch)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s of group %d is not in this cluster", device,
                        (int)p->c->spec.group_key);
    tfd_message_init(&m, tfd_channel_protocol(ch) == TFD_PROTO_NATIVE);
    put_request(&m, p);
    p->call = tfd_channel_call(ch, TFD_METHOD_RecvBuf, &m, &options,
                               part_answered, p);
    tfd_message_deinit(&m);
    return TFD_OK;
}

static void ask_posted(struct tfd_post *post)
{
    struct tfd_collective_part *p =
        TFD_CONTAINER_OF(post, struct tfd_collective_part, post);

    if (call_sender(p, &p->st) != TFD_OK)
        part_ended(p);
}

static bool is_here(const struct tfd_collective *c, int rank)
{
    return c->task[rank] == c->task[c->rank];
}

enum tfd_code tfd_collective_ask(struct tfd_collective *c, int from,
                                 const char *tail, int64_t n,
                                 struct tfd_collective_part **out,
                                 struct tfd_status *st)
{
    struct tfd_collective_part *p = calloc(1, sizeof(*p) + KEY_MAX);
    enum tfd_code rc = TFD_OK;

    if (!p)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to ask for a part");
    p->c = c;
    p->from = from;
    p->n = n;
    p->end.step = c->step;
    p->end.key = put_part_key(c, tail, p->key);
    p->end.met = part_met;
    p->post.run = ask_posted;
    p->next = c->parts;
    begin_one(c);
    if (is_here(c, from))
        rc = tfd_buf_want(&c->all->bufs, &p->end, st);
    else
        tfd_loop_post(c->all->loop, &p->post);
    if (rc == TFD_OK) {
        c->parts = *out = p;
        return TFD_OK;
    }
    part_ended(p);
    free(p);
    return rc;
}

/* ---- Waiting ------------------------------------------------------------- */

/* The lock is held. */
static enum tfd_code wait_more(struct tfd_collective *c, struct tfd_status *st)
{
    if (c->cancelled)
        return tfd_fail(st, TFD_CANCELLED, "Operation was cancelled");
    if (c->deadline_us == 0)
        tfd_cond_wait(&c->changed, &c->lock);
    else if (!tfd_cond_wait_until(&c->changed, &c->lock, c->deadline_us))
        return tfd_fail(st, TFD_DEADLINE_EXCEEDED,
                        "Collective has timed out during execution.");
    return TFD_OK;
}

static enum tfd_code check_value(const struct tfd_collective_part *p,
                                 const struct tfd_tensor *v,
                                 struct tfd_status *st)
{
    const int64_t bytes = p->n * (int64_t)tfd_dtype_size(p->c->spec.dtype);

    if (v->dtype == p->c->spec.dtype && tfd_tensor_elements(v) == p->n)
        return TFD_OK;
    return tfd_fail(st, TFD_INTERNAL,
                    "RecvBufResponse returned %zu bytes where to_tensor "
                    "expected %" PRId64,
                    tfd_tensor_size(v), bytes);
}

enum tfd_code tfd_collective_wait(struct tfd_collective *c,
                                  struct tfd_collective_part *part,
                                  struct tfd_tensor *out, struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;

    tfd_lock(&c->lock);
    while (!part->arrived && rc == TFD_OK)
        rc = wait_more(c, st);
    tfd_unlock(&c->lock);
    TFD_TRY(rc);
    if (part->st.code != TFD_OK)
        return tfd_fail(st, part->st.code, "%s", part->st.text);
    if (!is_here(c, part->from))
        return tfd_buf_message_value(&part->answer, c->spec.dtype, part->n, out,
                                     st);
    TFD_TRY(check_value(part, &part->value, st));
    *out = tfd_tensor_ref(&part->value);
    return TFD_OK;
}

/* ---- The end ------------------------------------------------------------- */

static void cancel_posted(struct tfd_post *post)
{
    struct tfd_collective_part *p =
        TFD_CONTAINER_OF(post, struct tfd_collective_part, cancel);
    struct tfd_collective *c = p->c;

    if (p->call)
        tfd_channel_cancel(p->call);
    tfd_lock(&c->lock);
    c->pending--;
    tfd_cond_broadcast(&c->changed);
    tfd_unlock(&c->lock);
}

static void take_back_send(struct tfd_collective *c,
                           struct tfd_collective_send *s)
{
    if (!tfd_buf_forget(&c->all->bufs, &s->end))
        return;
    fetched(&s->end, NULL);
}

static void take_back_part(struct tfd_collective *c,
                           struct tfd_collective_part *p)
{
    if (!is_here(c, p->from)) {
        begin_one(c);
        p->cancel.run = cancel_posted;
        tfd_loop_post(c->all->loop, &p->cancel);
    } else if (tfd_buf_forget(&c->all->bufs, &p->end)) {
        part_ended(p);
    }
}

static void take_back(struct tfd_collective *c)
{
    for (struct tfd_collective_send *s = c->sends; s; s = s->next)
        take_back_send(c, s);
    for (struct tfd_collective_part *p = c->parts; p; p = p->next)
        take_back_part(c, p);
    tfd_lock(&c->lock);
    while (c->pending > 0)
        tfd_cond_wait(&c->changed, &c->lock);
    tfd_unlock(&c->lock);
}

static void free_all(struct tfd_collective *c)
{
    while (c->sends) {
        struct tfd_collective_send *s = c->sends;

        c->sends = s->next;
        free(s);
    }
    while (c->parts) {
        struct tfd_collective_part *p = c->parts;

        c->parts = p->next;
        tfd_tensor_unref(&p->value);
        tfd_incoming_deinit(&p->answer);
        free(p);
    }
}

enum tfd_code tfd_collective_settle(struct tfd_collective *c, bool failed,
                                    struct tfd_status *st)
{
    enum tfd_code rc = failed ? TFD_UNKNOWN : TFD_OK;

    tfd_lock(&c->lock);
    while (c->pending > 0 && rc == TFD_OK)
        rc = wait_more(c, st);
    tfd_unlock(&c->lock);
    if (rc != TFD_OK)
        take_back(c);
    free_all(c);
    return rc;
}
