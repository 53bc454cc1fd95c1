/*
 * stuck_steps.c - see stuck_steps.h.
 *
 * A step waits when it has no runner and kernels of its outermost iteration
 * have started and not finished.  Each of them runs once in a step, so the same
 * set of them at two looks means that nothing has moved in between.
 */
#define _GNU_SOURCE 1 /* memmem() */
#include "daemon/worker/service/stuck_steps.h"

#include "common/base/atomic.h"
#include "common/base/container.h"
#include "common/proto/peer.pb.h"
#include "common/resource/handle.h"
#include "daemon/worker/run/step.h"
#include "daemon/worker/service/worker_service.h"
#include "daemon/worker/state/resource_facts.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LOOKS_PER_LIMIT 4
#define LOOK_MIN_US 25000u
/* Ops that are told of one step, and how much of each name. */
#define TOLD_MAX 4
#define NAME_SHOWN 200
/* Of all of them, within a line of the log. */
#define WAITS_SIZE 2000

struct wait_text {
    char text[WAITS_SIZE];
    size_t used;
    int ops;
    uint64_t mark;                  /* of the set of them; 0: none */
    char owes[TFD_DEVICE_NAME_MAX]; /* the task of the first tensor */
};

/* ---- What an op waits for ------------------------------------------------ */

static void add_text(struct wait_text *w, const char *text, size_t size)
{
    size_t room = sizeof(w->text) - 1 - w->used;

    if (size > room)
        size = room;
    memcpy(w->text + w->used, text, size);
    w->used += size;
    w->text[w->used] = '\0';
}

static void add_wait_name(struct wait_text *w, struct tfd_str name)
{
    add_text(w, name.data, name.size < NAME_SHOWN ? name.size : NAME_SHOWN);
}

static void add_literal(struct wait_text *w, const char *text)
{
    add_text(w, text, strlen(text));
}

/* "/job:ps/replica:0/task:0" of "/job:ps/replica:0/task:0/device:CPU:0". */
static void note_owes(struct wait_text *w, struct tfd_str device)
{
    const char *end = memmem(device.data, device.size, "/device:", 8);
    size_t size = end ? (size_t)(end - device.data) : device.size;

    if (w->owes[0] || size >= sizeof(w->owes))
        return;
    memcpy(w->owes, device.data, size);
    w->owes[size] = '\0';
}

/* The key is "DEVICE;INCARNATION;DEVICE;TENSOR", and the first is who owes. */
static void add_tensor(struct wait_text *w, const struct tfd_exec_channel *ch)
{
    const char *tensor = strrchr(ch->key, ';');

    add_literal(w, "tensor ");
    add_wait_name(w, tfd_str_of(tensor ? tensor + 1 : ch->key));
    add_literal(w, " of ");
    add_wait_name(w, (struct tfd_str){ch->key, strcspn(ch->key, ";")});
    note_owes(w, (struct tfd_str){ch->key, strcspn(ch->key, ";")});
}

static void add_counts(struct wait_text *w, const struct tfd_resource_facts *f)
{
    char text[64] = "";

    if (f->count >= 0 && f->capacity >= 0)
        snprintf(text, sizeof(text), " (%lld of %lld)", (long long)f->count,
                 (long long)f->capacity);
    else if (f->count >= 0)
        snprintf(text, sizeof(text), " (%lld)", (long long)f->count);
    add_literal(w, text);
}

/* The resource, once a kernel has looked it up, which one that waits has. */
static void add_resource(struct wait_text *w, const struct tfd_handle *h)
{
    struct tfd_resource *r = TFD_LOAD_ACQUIRE(&h->cached);
    struct tfd_resource_facts facts;

    if (r) {
        tfd_resource_facts(r, &facts);
        add_literal(w, facts.kind);
        add_literal(w, " ");
    }
    add_wait_name(w, h->name);
    if (h->container.size > 0) {
        add_literal(w, " in ");
        add_wait_name(w, h->container);
    }
    if (r)
        add_counts(w, &facts);
}

static const struct tfd_handle *handle_of(const struct tfd_kctx *k)
{
    if (k->in_count == 0 || k->ref[0] || k->in[0].dtype != TFD_RESOURCE)
        return NULL;
    return tfd_kctx_handle(k, 0);
}

static void add_op(struct wait_text *w, const struct tfd_async *a)
{
    const struct tfd_exec_node *n = a->item->node;
    bool is_recv = (n->kernel->flags & TFD_KERNEL_DEAD) && n->out_count > 0;
    const struct tfd_handle *h = is_recv ? NULL : handle_of(&a->k);

    w->ops++;
    w->mark = (w->mark ^ (uint64_t)(uintptr_t)n) * UINT64_C(0x9e3779b97f4a7c15);
    if (w->ops > TOLD_MAX)
        return;
    if (w->ops > 1)
        add_literal(w, "; ");
    add_wait_name(w, n->node->name);
    add_literal(w, ": ");
    if (is_recv && a->channel && a->channel->key) {
        add_tensor(w, a->channel);
        return;
    }
    add_wait_name(w, n->node->op->name);
    if (h) {
        add_literal(w, " of ");
        add_resource(w, h);
    }
}

/* ---- Steps --------------------------------------------------------------- */

/* Ops that wait, while nobody works on the step: its lock keeps them there. */
static void look_at_ops(struct tfd_step *s, struct wait_text *w)
{
    const struct tfd_iter *it = s->root;

    w->text[0] = w->owes[0] = '\0';
    w->used = 0;
    w->ops = 0;
    w->mark = 0;
    tfd_lock(&s->lock);
    if (s->runners == 0 && !s->inbox && !it->children && !s->is_ended &&
        !TFD_LOAD_RELAXED(&s->failed) && TFD_LOAD_RELAXED(&s->calls) == 0)
        for (int32_t i = 0; i < it->layout->async_count; i++)
            if (it->async[i].waits)
                add_op(w, &it->async[i]);
    tfd_unlock(&s->lock);
}

static void tell_stuck(struct tfd_worker_service *worker,
                       const struct tfd_step *s, const struct wait_text *w,
                       uint64_t waited_us)
{
    const struct tfd_graph_entry *g = s->owner;
    struct tfd_stuck_facts facts = {
        .step = s->id, .waited_us = waited_us, .ops = w->ops};

    snprintf(facts.session, sizeof(facts.session), "%s", g->session->handle);
    snprintf(facts.waits, sizeof(facts.waits), "%s", w->text);
    snprintf(facts.owes, sizeof(facts.owes), "%s", w->owes);
    tfd_stuck_ask(worker, &facts);
}

static void look_at_step(struct tfd_worker_service *worker, struct tfd_step *s,
                         uint64_t now)
{
    uint64_t limit_us = worker->options.stuck_after_us;
    struct wait_text w;

    look_at_ops(s, &w);
    if (w.mark == 0 || w.mark != s->waits_mark) {
        s->waits_mark = w.mark;
        s->waits_since_us = now;
    } else if (!s->waits_told && now - s->waits_since_us >= limit_us) {
        s->waits_told = true;
        tell_stuck(worker, s, &w, now - s->waits_since_us);
    }
}

static void start_look(struct tfd_worker_service *w)
{
    uint64_t delay = w->options.stuck_after_us / LOOKS_PER_LIMIT;

    (void)!tfd_timer_start(&w->stuck_timer,
                           delay < LOOK_MIN_US ? LOOK_MIN_US : delay, NULL);
}

static void look(struct tfd_timer *t)
{
    struct tfd_worker_service *w =
        TFD_CONTAINER_OF(t, struct tfd_worker_service, stuck_timer);
    uint64_t now = tfd_loop_now_us(w->options.loop);

    for (struct tfd_step *s = w->steps; s; s = s->next)
        look_at_step(w, s, now);
    start_look(w);
}

void tfd_stuck_steps_watch(struct tfd_worker_service *w)
{
    tfd_timer_init(&w->stuck_timer, w->options.loop, look);
    if (w->options.stuck_after_us > 0)
        start_look(w);
}

void tfd_stuck_steps_stop(struct tfd_worker_service *w)
{
    tfd_timer_stop(&w->stuck_timer);
    tfd_stuck_ask_stop(w);
}

/* ---- Being asked --------------------------------------------------------- */

static int64_t asked_for(struct tfd_str proto, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;
    int64_t step = 0;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tfd_StepWaits_step_id_tag)
            step = tfd_pb_int64(&r, &f);
    (void)!tfd_service_request_end(&r, st);
    return step;
}

/* A step may have several parts here, of which one that waits is told. */
void tfd_stuck_steps_answer(void *self, struct tfd_call *call)
{
    struct tfd_worker_service *worker = self;
    struct tfd_status st = TFD_STATUS_INIT;
    int64_t step = asked_for(call->in.proto, &st);
    struct wait_text w = {.used = 0};
    struct tfd_message m;

    if (st.code != TFD_OK) {
        tfd_call_fail(call, &st);
        return;
    }
    for (struct tfd_step *s = worker->steps; s && w.ops == 0; s = s->next)
        if (s->id == step)
            look_at_ops(s, &w);
    tfd_message_init(&m, call->native);
    tfd_pb_put_str(&m.proto, tfd_StepWaits_text_tag, tfd_str_of(w.text));
    tfd_pb_put_str(&m.proto, tfd_StepWaits_owes_tag, tfd_str_of(w.owes));
    tfd_call_respond(call, &m);
}

static void tell_step(struct tfd_step *s, uint64_t now,
                      void (*fn)(void *ctx, const struct tfd_stuck_step *s),
                      void *ctx)
{
    const struct tfd_graph_entry *g = s->owner;
    struct tfd_stuck_step told = {.step = s->id};
    struct wait_text w;

    look_at_ops(s, &w);
    if (w.mark != 0 && w.mark == s->waits_mark)
        told.waited_us = now - s->waits_since_us;
    told.session = g->session->handle;
    told.waits = w.text;
    fn(ctx, &told);
}

void tfd_stuck_steps_each(const struct tfd_worker_service *w, int max,
                          void (*fn)(void *ctx, const struct tfd_stuck_step *s),
                          void *ctx)
{
    uint64_t now = tfd_loop_now_us(w->options.loop);

    for (struct tfd_step *s = w->steps; s && max > 0; s = s->next, max--)
        tell_step(s, now, fn, ctx);
}
