/*
 * spread.c - see spread.h.
 */
#include "daemon/eager/parts/spread.h"

#include "common/base/container.h"
#include "common/base/entropy.h"
#include "common/proto/graph.pb.h"
#include "config/limits.h"
#include "daemon/eager/called.h"
#include "daemon/eager/packed.h"
#include "daemon/eager/parts/op_def.h"
#include "daemon/eager/parts/tasks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Its end ------------------------------------------------------------- */

static void free_part(struct tfd_eager_part *p)
{
    tfd_eager_graph_unref(p->graph);
    free(p->args);
    free(p->results);
}

void tfd_eager_spread_unref(struct tfd_eager_spread *s)
{
    if (--s->refs > 0)
        return;
    for (int i = 0; i < s->part_count; i++)
        free_part(&s->parts[i]);
    free(s->parts);
    free(s->result_device);
    tfd_eager_cut_deinit(&s->cut);
    tfd_bytes_deinit(&s->key);
    free((char *)s->text.data);
    tfd_eager_tasks_unref(s->tasks);
    free(s);
}

static void forget(struct tfd_eager_spread *s)
{
    struct tfd_eager_spread **at = &s->function->spreads;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    s->function = NULL;
    tfd_eager_spread_unref(s);
}

static void forget_all(struct tfd_eager_function *f)
{
    while (f->spreads)
        forget(f->spreads);
}

/* ---- Whether it is needed ------------------------------------------------ */

static bool is_elsewhere(const struct tfd_eager_context *c,
                         struct tfd_str device)
{
    int found = device.size ? tfd_eager_tasks_find(c->tasks, device) : 0;

    return found >= 0 && c->tasks->devices.devices[found].worker > 0;
}

static bool nodes_elsewhere(const struct tfd_eager_context *c,
                            struct tfd_str function)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(function), n;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag != tensorflow_FunctionDef_node_def_tag)
            continue;
        n = tfd_pb_reader_of(tfd_pb_str(&r, &f));
        while (tfd_pb_next(&n, &f))
            if (f.tag == tensorflow_NodeDef_device_tag &&
                f.wire == TFD_PB_BYTES && is_elsewhere(c, f.bytes))
                return true;
    }
    return false;
}

/* What it calls counts, as far as it is known. */
static bool names_others(struct tfd_eager_context *c,
                         const struct tfd_eager_function *f)
{
    bool found = nodes_elsewhere(c, f->def);
    struct tfd_bytes library;
    struct tfd_pb_reader r;
    struct tfd_pb_field field;

    tfd_bytes_init(&library, (size_t)TFD_GRAPH_SIZE_MAX);
    if (!found &&
        tfd_eager_called(&c->functions, f, &library, NULL) == TFD_OK) {
        r = tfd_pb_reader_of(tfd_bytes_view(&library));
        while (!found && tfd_pb_next(&r, &field))
            found = nodes_elsewhere(c, tfd_pb_str(&r, &field));
    }
    tfd_bytes_deinit(&library);
    return found;
}

bool tfd_eager_spread_needed(struct tfd_eager_context *c,
                             struct tfd_eager_function *f,
                             const struct tfd_eager_operation *o)
{
    for (int i = 0; i < o->in_count; i++)
        if (o->inputs[i].packed || is_elsewhere(c, o->inputs[i].device))
            return true;
    if (!f->graph && !f->spreads && !f->spans)
        f->spans = names_others(c, f);
    return f->spans;
}

/* ---- Keys ---------------------------------------------------------------- */

static int device_of(const struct tfd_eager_context *c,
                     const struct tfd_eager_operation *o, int i)
{
    struct tfd_str device = o->inputs[i].device;

    return tfd_eager_tasks_find(c->tasks,
                                device.size ? device : tfd_str_of(o->on->name));
}

static enum tfd_code put_places(struct tfd_bytes *b,
                                const struct tfd_eager_context *c,
                                const struct tfd_eager_operation *o,
                                struct tfd_status *st)
{
    tfd_bytes_printf(b, "%s\n", o->on->name);
    tfd_bytes_add_str(b, o->name);
    for (int i = 0; i < o->in_count; i++) {
        int device = device_of(c, o, i);

        if (device < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            TFD_STR_FMT " unknown device.",
                            TFD_STR_ARG(o->inputs[i].device));
        tfd_bytes_printf(b, " %d %d %d", o->inputs[i].arg, device,
                         o->inputs[i].dtype);
    }
    for (int i = 0; i < o->attr_count; i++) {
        tfd_bytes_printf(b, "\n%zu ", o->attrs[i].name.size);
        tfd_bytes_add_str(b, o->attrs[i].name);
        tfd_bytes_printf(b, " %zu ", o->attrs[i].value.size);
        tfd_bytes_add_str(b, o->attrs[i].value);
    }
    return tfd_bytes_ok(b, "a function's devices", st);
}

/* ---- Building ------------------------------------------------------------ */

static enum tfd_code make_graph(struct tfd_eager_spread *s, int worker,
                                struct tfd_eager_part_def *d,
                                struct tfd_eager_graph **out,
                                struct tfd_status *st)
{
    struct tfd_worker *at;
    enum tfd_code rc;
    char *name;

    if (worker == 0) {
        TFD_TRY(tfd_eager_graph_new(s->context, &d->def, d->arg_count,
                                    d->result_count, out, st));
        (*out)->is_function = true;
        return TFD_OK;
    }
    TFD_TRY(tfd_eager_tasks_worker(s->tasks, worker, &at, st));
    name = tfd_eager_cut_name(&s->cut, worker);
    if (!name)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a function");
    rc = tfd_eager_graph_new_at(s->context, s->tasks, at, &d->def,
                                tfd_str_of(name), d->arg_count, d->result_count,
                                out, st);
    free(name);
    return rc;
}

static enum tfd_code make_parts(struct tfd_eager_spread *s,
                                struct tfd_status *st)
{
    s->parts = calloc((size_t)s->cut.worker_count, sizeof(*s->parts));
    if (!s->parts)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a function");
    s->pushes = true;
    for (int w = 0; w < s->cut.worker_count; w++) {
        struct tfd_eager_part_def *d = &s->cut.parts[w];
        struct tfd_eager_part *p = &s->parts[s->part_count];

        if (d->def.size == 0)
            continue;
        TFD_TRY(make_graph(s, w, d, &p->graph, st));
        s->part_count++;
        s->pushes &= s->cut.native[w];
        p->args = d->args;
        p->results = d->results;
        d->args = d->results = NULL;
    }
    s->result_count = s->cut.result_count;
    s->result_device = s->cut.result_device;
    s->cut.result_device = NULL;
    return TFD_OK;
}

void tfd_eager_spread_wait(struct tfd_eager_spread *s,
                           struct tfd_eager_spread_waiter *w)
{
    struct tfd_eager_spread_waiter **last = &s->waiting;

    if (s->state != TFD_SPREAD_BUILDING) {
        w->ready(w);
        return;
    }
    while (*last)
        last = &(*last)->next;
    *last = w;
}

static void wake_waiters(struct tfd_eager_spread *s)
{
    struct tfd_eager_spread_waiter *w;

    while ((w = s->waiting)) {
        s->waiting = w->next;
        w->ready(w);
    }
}

static void name_function(struct tfd_eager_spread *s)
{
    if (s->cut.op.size > 0)
        return;
    tfd_status_context(&s->status, "{{function_node " TFD_STR_FMT "}}",
                       TFD_STR_ARG(s->cut.name));
}

static void built(struct tfd_eager_spread *s)
{
    struct tfd_eager_context *c = s->context;

    if (s->status.code == TFD_OK && !c->is_closed)
        (void)!make_parts(s, &s->status);
    s->state = s->status.code == TFD_OK ? TFD_SPREAD_READY : TFD_SPREAD_FAILED;
    name_function(s);
    tfd_eager_cut_deinit(&s->cut);
    if (s->state == TFD_SPREAD_FAILED && s->function)
        forget(s);
    wake_waiters(s);
    s->context = NULL;
    tfd_eager_spread_unref(s);
    tfd_eager_context_unref(c);
}

static void work(struct tfd_job *job)
{
    struct tfd_eager_spread *s =
        TFD_CONTAINER_OF(job, struct tfd_eager_spread, job);

    (void)!tfd_eager_cut_make(&s->cut, &s->status);
    tfd_loop_post(s->tasks->eager->options.loop, &s->post);
}

static void worked(struct tfd_post *p)
{
    built(TFD_CONTAINER_OF(p, struct tfd_eager_spread, post));
}

static void build(struct tfd_eager_meeting *m)
{
    struct tfd_eager_spread *s =
        TFD_CONTAINER_OF(m, struct tfd_eager_spread, meeting);
    struct tfd_eager *e = s->tasks->eager;

    tfd_eager_met_native(s->tasks, s->cut.native);
    s->job.run = work;
    s->post.run = worked;
    if (s->cut.library.size > TFD_BUILD_SIZE_INLINE && !e->builders &&
        !e->stopping)
        e->builders = tfd_pool_new(TFD_BUILD_THREADS, NULL);
    if (s->cut.library.size > TFD_BUILD_SIZE_INLINE && e->builders) {
        tfd_pool_submit(e->builders, &s->job);
    } else {
        (void)!tfd_eager_cut_make(&s->cut, &s->status);
        built(s);
    }
}

static void begin_build(struct tfd_eager_spread *s)
{
    s->refs++;
    tfd_eager_context_ref(s->context);
    s->meeting.met = build;
    tfd_eager_meet(&s->meeting, s->tasks, s->cut.arg_device,
                   s->cut.value_count);
}

/* ---- A new one ----------------------------------------------------------- */

/* Parts are told apart from those of all others that register some there. */
static enum tfd_code copy_names(struct tfd_eager_spread *s, struct tfd_str name,
                                struct tfd_status *st)
{
    size_t room = 2 * name.size + 40;
    char *text = malloc(room);

    if (!text)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a function");
    memcpy(text, name.data, name.size);
    s->cut.name = (struct tfd_str){text, name.size};
    snprintf(text + name.size, room - name.size, TFD_STR_FMT "_tfd_%016" PRIx64,
             TFD_STR_ARG(name), tfd_entropy_id());
    s->cut.part_name = tfd_str_of(text + name.size);
    s->text = s->cut.name;
    return TFD_OK;
}

static enum tfd_code copy_values(struct tfd_eager_spread *s,
                                 const struct tfd_eager_operation *o,
                                 struct tfd_status *st)
{
    struct tfd_eager_cut *c = &s->cut;
    size_t count = (size_t)o->in_count + 1;

    c->arg_count = o->arg_count;
    c->value_count = s->value_count = o->in_count;
    c->arg_device = calloc(count, sizeof(*c->arg_device));
    c->arg_of = calloc(count, sizeof(*c->arg_of));
    c->native = calloc((size_t)c->worker_count, sizeof(*c->native));
    if (!c->arg_device || !c->arg_of || !c->native)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a function");
    for (int i = 0; i < o->in_count; i++) {
        c->arg_device[i] = device_of(s->context, o, i);
        c->arg_of[i] = o->inputs[i].arg;
        if (o->inputs[i].packed)
            snprintf(c->packed_on, sizeof(c->packed_on), "%s",
                     o->inputs[i].packed->device);
    }
    return TFD_OK;
}

/* f: NULL for an op. */
static enum tfd_code put_body(struct tfd_eager_spread *s,
                              const struct tfd_eager_function *f,
                              const struct tfd_eager_operation *o,
                              struct tfd_status *st)
{
    struct tfd_eager_cut *c = &s->cut;

    if (!f)
        return tfd_eager_op_def(s->context, o, &c->op, &c->result_count, st);
    tfd_pb_put_str_always(&c->library,
                          tensorflow_FunctionDefLibrary_function_tag, f->def);
    TFD_TRY(tfd_eager_called(&s->context->functions, f, &c->library, st));
    return tfd_bytes_ok(&c->library, "the functions that one calls", st);
}

static enum tfd_code prepare_cut(struct tfd_eager_spread *s,
                                 const struct tfd_eager_function *f,
                                 const struct tfd_eager_operation *o,
                                 struct tfd_status *st)
{
    struct tfd_eager_cut *c = &s->cut;

    c->registry = s->tasks->eager->options.registry;
    c->devices = &s->tasks->devices;
    c->worker_count = s->tasks->worker_count;
    tfd_bytes_init(&c->library, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_bytes_init(&c->op, (size_t)TFD_GRAPH_SIZE_MAX);
    TFD_TRY(put_body(s, f, o, st));
    TFD_TRY(copy_names(s, o->name, st));
    TFD_TRY(copy_values(s, o, st));
    c->on = tfd_eager_tasks_find(s->tasks, tfd_str_of(o->on->name));
    if (c->on < 0)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "functions that span tasks run on CPUs here, not on %s",
                        o->on->name);
    return TFD_OK;
}

/* The newest comes first. */
static void drop_surplus(struct tfd_eager_function *f)
{
    struct tfd_eager_spread *s = f->spreads, *last = s;
    int count = 0;

    for (; s; s = s->next, count++)
        last = s;
    if (count >= TFD_EAGER_SPREADS_MAX)
        forget(last);
}

static enum tfd_code
new_spread(struct tfd_eager_context *c, struct tfd_eager_function *f,
           const struct tfd_eager_operation *o, struct tfd_bytes *take_key,
           struct tfd_eager_spread **out, struct tfd_status *st)
{
    const bool is_op = f == &c->spread_ops;
    struct tfd_eager_spread *s = calloc(1, sizeof(*s));

    if (!s)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a function");
    s->refs = 1;
    s->context = c;
    s->tasks = tfd_eager_tasks_ref(c->tasks);
    s->key = *take_key;
    tfd_bytes_init(take_key, 0);
    if (prepare_cut(s, is_op ? NULL : f, o, st) != TFD_OK) {
        tfd_eager_spread_unref(s);
        return st ? st->code : TFD_INTERNAL;
    }
    drop_surplus(f);
    s->refs++;
    s->function = f;
    s->next = f->spreads;
    f->spreads = s;
    f->forget = forget_all;
    begin_build(s);
    *out = s;
    return TFD_OK;
}

static struct tfd_eager_spread *find_spread(const struct tfd_eager_function *f,
                                            struct tfd_str key)
{
    struct tfd_eager_spread *s = f->spreads;

    while (s && !tfd_str_eq(tfd_bytes_view(&s->key), key))
        s = s->next;
    return s;
}

enum tfd_code tfd_eager_spread_get(struct tfd_eager_context *c,
                                   struct tfd_eager_function *f,
                                   const struct tfd_eager_operation *o,
                                   struct tfd_eager_spread **out,
                                   struct tfd_status *st)
{
    struct tfd_bytes key;
    bool has_library;
    enum tfd_code rc;

    tfd_bytes_init(&key, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = put_places(&key, c, o, st);
    if (rc == TFD_OK && f == &c->spread_ops) /* what it calls may change */
        rc = tfd_eager_single_op_library(c, o, &key, &has_library, st);
    if (rc == TFD_OK) {
        *out = find_spread(f, tfd_bytes_view(&key));
        if (*out)
            (*out)->refs++;
        else
            rc = new_spread(c, f, o, &key, out, st);
    }
    tfd_bytes_deinit(&key);
    return rc;
}
