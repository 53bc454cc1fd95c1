/*
 * step_waits.c - see step_waits.h.
 *
 * Steps of calls are listed by the loop thread (function_run.c), so they stay
 * while it looks; each is looked at under its own lock, one at a time.
 */
#define _GNU_SOURCE 1 /* memmem() */
#include "daemon/worker/service/step_waits.h"

#include "common/base/atomic.h"
#include "common/resource/handle.h"
#include "daemon/worker/run/called_functions.h"
#include "daemon/worker/run/runner.h"
#include "daemon/worker/service/worker_service.h"
#include "daemon/worker/state/resource_facts.h"
#include "kernels/state/variable.h"

#include <stdio.h>
#include <string.h>

/* Ops that are told of one step, and how much of each name. */
#define TOLD_MAX 4
#define NAME_SHOWN 200
/* Calls within each other whose names are told: the innermost. */
#define PATH_MAX_SHOWN 8

struct text {
    size_t used;
    char bytes[TFD_STEP_WAITS_SIZE];
};

struct look {
    struct tfd_step_waits *out;
    struct text causes, tensors; /* ops that wait, and those for a tensor */
    int causes_told, tensors_told;
    bool at_work; /* somebody is */
    bool pulls;   /* from a dataset */
};

/* ---- Words --------------------------------------------------------------- */

static void add_text(struct text *t, const char *text, size_t size)
{
    size_t room = sizeof(t->bytes) - 1 - t->used;

    if (size > room)
        size = room;
    memcpy(t->bytes + t->used, text, size);
    t->used += size;
    t->bytes[t->used] = '\0';
}

static void add_wait_name(struct text *t, struct tfd_str name)
{
    add_text(t, name.data, name.size < NAME_SHOWN ? name.size : NAME_SHOWN);
}

static void add_literal(struct text *t, const char *text)
{
    add_text(t, text, strlen(text));
}

static bool has_word(struct tfd_str name, const char *word)
{
    return memmem(name.data, name.size, word, strlen(word)) != NULL;
}

/* ---- Where an op is ------------------------------------------------------ */

/* Of the ops whose calls the step is within.  Nodes of a body have its name. */
static void add_path(struct text *t, const struct tfd_step *s)
{
    struct tfd_str names[PATH_MAX_SHOWN];
    int count = 0;

    for (; s->caller && count < PATH_MAX_SHOWN; s = s->caller->step)
        names[count++] = s->caller->node->name;
    if (s->caller)
        add_literal(t, ".../");
    while (count > 0) {
        add_wait_name(t, names[--count]);
        add_literal(t, "/");
    }
}

static void add_iteration(struct text *t, const struct tfd_iter *it)
{
    char text[48];

    if (!it->frame)
        return;
    snprintf(text, sizeof(text), " [iteration %lld]", (long long)it->number);
    add_literal(t, text);
}

/* ---- What it waits for --------------------------------------------------- */

/* "/job:ps/replica:0/task:0" of "/job:ps/replica:0/task:0/device:CPU:0". */
static void note_owes(struct tfd_step_waits *w, struct tfd_str device)
{
    const char *end = memmem(device.data, device.size, "/device:", 8);
    size_t size = end ? (size_t)(end - device.data) : device.size;

    if (w->owes[0] || size >= sizeof(w->owes))
        return;
    memcpy(w->owes, device.data, size);
    w->owes[size] = '\0';
}

/* The key is "DEVICE;INCARNATION;DEVICE;TENSOR", and the first is who owes. */
static void add_tensor(struct text *t, const struct tfd_exec_channel *ch)
{
    const char *tensor = strrchr(ch->key, ';');

    add_literal(t, "tensor ");
    add_wait_name(t, tfd_str_of(tensor ? tensor + 1 : ch->key));
    add_literal(t, " of ");
    add_wait_name(t, (struct tfd_str){ch->key, strcspn(ch->key, ";")});
}

static void add_counts(struct text *t, const struct tfd_resource_facts *f)
{
    char text[64] = "";

    if (f->count >= 0 && f->capacity >= 0)
        snprintf(text, sizeof(text), " (%lld of %lld)", (long long)f->count,
                 (long long)f->capacity);
    else if (f->count >= 0)
        snprintf(text, sizeof(text), " (%lld)", (long long)f->count);
    add_literal(t, text);
}

/* The resource, once a kernel has looked it up, which one that waits has. */
static void add_resource(struct text *t, const struct tfd_handle *h)
{
    struct tfd_resource *r = TFD_LOAD_ACQUIRE(&h->cached);
    struct tfd_resource_facts facts;

    add_literal(t, " of ");
    if (r) {
        tfd_resource_facts(r, &facts);
        add_literal(t, facts.kind);
        add_literal(t, " ");
    }
    add_wait_name(t, h->name);
    if (h->container.size > 0) {
        add_literal(t, " in ");
        add_wait_name(t, h->container);
    }
    if (r)
        add_counts(t, &facts);
}

/* Older ops have the container and the name as two strings. */
static void add_reference(struct text *t, struct tfd_variable *ref)
{
    struct tfd_tensor names = TFD_TENSOR_INIT;
    const struct tfd_tstring *name;

    if (tfd_variable_read(ref, &names, NULL) != TFD_OK)
        return;
    name = tfd_tensor_data(&names);
    if (names.dtype == TFD_STRING && tfd_shape_elements(&names.shape) == 2) {
        add_literal(t, " of ");
        add_wait_name(t, tfd_tstring_view(&name[1]));
        add_literal(t, " in ");
        add_wait_name(t, tfd_tstring_view(&name[0]));
    }
    tfd_tensor_unref(&names);
}

/* Staging areas have no handle: the ops that use one name it. */
static void add_area(struct text *t, const struct tfd_node *n)
{
    struct tfd_str name;

    if (!(has_word(n->op->name, "tage") && /* Unstage, OrderedMapStage */
          tfd_node_str(n, "shared_name", &name, NULL) == TFD_OK && name.size))
        return;
    add_literal(t, " of staging area ");
    add_wait_name(t, name);
}

static void add_what(struct text *t, const struct tfd_kctx *k)
{
    const struct tfd_handle *h = NULL;

    add_wait_name(t, k->node->op->name);
    if (k->in_count > 0 && !k->ref[0] && k->in[0].dtype == TFD_RESOURCE)
        h = tfd_kctx_handle(k, 0);
    if (h)
        add_resource(t, h);
    else if (k->in_count > 0 && k->ref[0])
        add_reference(t, k->ref[0]);
    else
        add_area(t, k->node);
}

/* ---- One op -------------------------------------------------------------- */

static bool is_recv(const struct tfd_async *a)
{
    const struct tfd_exec_node *n = a->item->node;

    return (n->kernel->flags & TFD_KERNEL_DEAD) && n->out_count > 0 &&
           a->channel && a->channel->key;
}

static void add_mark(struct look *l, uint64_t what)
{
    l->out->mark = (l->out->mark ^ what) * UINT64_C(0x9e3779b97f4a7c15);
    l->out->mark += l->out->mark == 0;
}

static void add_op(struct look *l, const struct tfd_async *a)
{
    const struct tfd_iter *it = a->item->it;
    const bool tensor = is_recv(a);
    struct text *t = tensor ? &l->tensors : &l->causes;
    int *told = tensor ? &l->tensors_told : &l->causes_told;
    struct tfd_str op = a->item->node->node->op->name;

    l->out->ops++;
    add_mark(l, (uint64_t)(uintptr_t)a);
    add_mark(l, (uint64_t)it->number);
    add_mark(l, tfd_while_frame_id(it));
    l->pulls |= has_word(op, "Iterator") || has_word(op, "Dataset") ||
                has_word(op, "BatchFunction");
    if (*told == TOLD_MAX)
        return;
    if ((*told)++ > 0)
        add_literal(t, "; ");
    add_path(t, it->step);
    add_wait_name(t, a->item->node->node->name);
    add_iteration(t, it);
    add_literal(t, ": ");
    if (tensor)
        add_tensor(t, a->channel);
    else
        add_what(t, &a->k);
    if (tensor)
        note_owes(l->out, (struct tfd_str){a->channel->key,
                                           strcspn(a->channel->key, ";")});
}

/* ---- Steps --------------------------------------------------------------- */

/* Ops that wait, while nobody works on the step: its lock keeps them there. */
static void look_at_one(struct look *l, struct tfd_step *s)
{
    int ops = l->out->ops, calls = 0;

    add_mark(l, s->runs);
    tfd_lock(&s->lock);
    l->at_work |= s->runners > 0 || s->inbox || s->is_ended ||
                  TFD_LOAD_RELAXED(&s->failed);
    for (const struct tfd_iter *it = l->at_work ? NULL : s->root; it;
         it = tfd_while_next_iter(it))
        for (int32_t i = 0; i < it->layout->async_count; i++) {
            const struct tfd_async *a = &it->async[i];

            calls += a->waits && a->calls > 0;
            if (a->waits && a->calls == 0)
                add_op(l, a);
        }
    tfd_unlock(&s->lock);
    l->at_work |= l->out->ops == ops && calls == 0;
}

/* With what it has called.  A call that is under way and has no step is about
 * to have one, or to end. */
static void look_at_calls(struct look *l, struct tfd_step *s)
{
    int calls = 0;

    look_at_one(l, s);
    for (struct tfd_step *c = s->called; c && !l->at_work; c = c->next) {
        look_at_one(l, c);
        calls++;
    }
    l->at_work |= calls != TFD_LOAD_RELAXED(&s->calls);
}

static void look_at_datasets(struct look *l, const struct tfd_worker_service *w,
                             const struct tfd_task_session *session)
{
    add_mark(l, TFD_LOAD_RELAXED(&session->lasting_calls));
    for (struct tfd_step *c = w->lasting.running; c && !l->at_work; c = c->next)
        if (c->function->table->world->session == session)
            look_at_calls(l, c);
}

static void join_texts(struct look *l)
{
    if (l->causes_told > 0 && l->tensors_told > 0)
        add_literal(&l->causes, "; ");
    add_text(&l->causes, l->tensors.bytes, l->tensors.used);
    memcpy(l->out->text, l->causes.bytes, l->causes.used + 1);
}

void tfd_step_waits_look(const struct tfd_worker_service *w, struct tfd_step *s,
                         struct tfd_step_waits *out)
{
    const struct tfd_graph_entry *g = s->owner;
    struct look l = {.out = out};

    out->text[0] = out->owes[0] = '\0';
    out->ops = 0;
    out->mark = 0;
    look_at_calls(&l, s);
    if (l.pulls && !l.at_work)
        look_at_datasets(&l, w, g->session);
    if (!l.at_work) {
        join_texts(&l);
        return;
    }
    out->ops = 0;
    out->mark = 0;
    out->owes[0] = '\0';
}
