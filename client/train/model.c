/*
 * model.c - strings and collections of a model; see model.h.
 */
#include "client/train/model.h"

#include "config/limits.h"

#include <stdarg.h>
#include <stdio.h>

bool tfd_model_ok(const TF_Status *status)
{
    return TF_GetCode(status) == TF_OK;
}

struct tfd_str tfd_model_keep(struct tfd_model *m, struct tfd_str s,
                              struct tfd_status *st)
{
    struct tfd_str copy = tfd_arena_str(&m->arena, s);

    (void)!tfd_arena_check(copy.data, "a model", st);
    return copy;
}

struct tfd_str tfd_model_format(struct tfd_model *m, struct tfd_status *st,
                                const char *fmt, ...)
{
    char text[TFD_NAME_SIZE_MAX + 1];
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof(text)) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                 "a name of %d bytes; the limit is %d", n, TFD_NAME_SIZE_MAX);
        return TFD_STR_EMPTY;
    }
    return tfd_model_keep(m, (struct tfd_str){text, (size_t)n}, st);
}

/* ---- Collections --------------------------------------------------------- */

static struct tfd_collection *find_collection(struct tfd_model *m,
                                              const char *name)
{
    for (struct tfd_collection *c = m->collections; c; c = c->next)
        if (tfd_str_is(c->name, name))
            return c;
    return NULL;
}

static struct tfd_collection *make_collection(struct tfd_model *m,
                                              const char *name, bool bytes,
                                              struct tfd_status *st)
{
    struct tfd_collection *c = tfd_arena_alloc(&m->arena, sizeof(*c));

    if (tfd_arena_check(c, "a collection", st) != TFD_OK)
        return NULL;
    c->name = tfd_model_keep(m, tfd_str_of(name), st);
    c->bytes = bytes;
    c->end = &c->first;
    *m->collections_end = c;
    m->collections_end = &c->next;
    return c->name.data ? c : NULL;
}

void tfd_model_collect(struct tfd_model *m, const char *collection, bool bytes,
                       struct tfd_str value, struct tfd_status *st)
{
    struct tfd_collection *c = find_collection(m, collection);
    struct tfd_item *item;

    if (!c)
        c = make_collection(m, collection, bytes, st);
    if (!c)
        return;
    if (c->bytes != bytes) {
        tfd_fail(st, TFD_INVALID_ARGUMENT,
                 "collection '%.100s' holds %s and cannot hold %s", collection,
                 c->bytes ? "messages" : "names", bytes ? "messages" : "names");
        return;
    }
    item = tfd_arena_alloc(&m->arena, sizeof(*item));
    if (tfd_arena_check(item, "a collection", st) != TFD_OK)
        return;
    item->value = tfd_model_keep(m, value, st);
    *c->end = item;
    c->end = &item->next;
}

void TFD_Collect(TFD_Scope *scope, const char *collection, TF_Output output,
                 TF_Status *status)
{
    struct tfd_model *m = scope->model;
    struct tfd_str name;
    struct tfd_edge e;

    if (!tfd_model_ok(status) ||
        tfd_capi_edge(m->graph, output, &e, &status->st) != TFD_OK)
        return;
    name = tfd_model_format(m, &status->st, TFD_STR_FMT ":%d",
                            TFD_STR_ARG(output.oper->node->name), output.index);
    if (tfd_model_ok(status))
        tfd_model_collect(m, collection, false, name, &status->st);
}

void TFD_CollectOp(TFD_Scope *scope, const char *collection, TF_Operation *op,
                   TF_Status *status)
{
    if (!tfd_model_ok(status))
        return;
    if (!op || op->graph != scope->model->graph)
        tfd_fail(&status->st, TFD_INVALID_ARGUMENT,
                 "collection '%.100s': no operation of this graph", collection);
    else
        tfd_model_collect(scope->model, collection, false, op->node->name,
                          &status->st);
}
