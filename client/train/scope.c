/*
 * scope.c - scopes, and operations that are named and placed by them.
 */
#include "client/train/model.h"
#include "client/c_api/op_desc.h"

#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

/* Names, collections; constants are the graph's. */
#define MODEL_SIZE_MAX ((size_t)256 << 20)

/* ---- Life ---------------------------------------------------------------- */

static struct tfd_model *new_model(TF_Graph *graph)
{
    struct tfd_model *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    m->graph = graph;
    tfd_arena_init(&m->arena, MODEL_SIZE_MAX);
    m->variables_end = &m->variables;
    m->collections_end = &m->collections;
    return m;
}

TFD_Scope *TFD_NewScope(TF_Graph *graph)
{
    struct tfd_model *m = new_model(graph);
    TFD_Scope *s = m ? tfd_arena_alloc(&m->arena, sizeof(*s)) : NULL;

    if (!s) {
        free(m);
        return NULL;
    }
    s->model = m;
    s->prefix = TFD_STR_EMPTY;
    s->device = TFD_STR_EMPTY;
    s->root = true;
    return s;
}

void TFD_DeleteScope(TFD_Scope *scope)
{
    struct tfd_model *m = scope ? scope->model : NULL;

    if (!m || !scope->root)
        return;
    tfd_arena_deinit(&m->arena);
    free(m);
}

/* ---- Names --------------------------------------------------------------- */

/* Neither a node nor a prefix of nodes has the name. */
static bool is_free(TF_Graph *g, struct tfd_str name)
{
    bool free_name;

    tfd_lock(&g->lock);
    free_name = !tfd_graph_find(g->graph, name);
    tfd_unlock(&g->lock);
    return free_name;
}

struct tfd_str tfd_scope_unique(TFD_Scope *s, const char *name,
                                struct tfd_status *st)
{
    struct tfd_str full = tfd_model_format(s->model, st, TFD_STR_FMT "%s",
                                           TFD_STR_ARG(s->prefix), name);

    for (int i = 1; st->code == TFD_OK && !is_free(s->model->graph, full); i++)
        full = tfd_model_format(s->model, st, TFD_STR_FMT "%s_%d",
                                TFD_STR_ARG(s->prefix), name, i);
    return full;
}

/* A prefix that no node begins with. */
static bool prefix_is_free(TF_Graph *g, struct tfd_str prefix)
{
    bool found = false;

    tfd_lock(&g->lock);
    for (int32_t i = 0; i < g->operation_count && !found; i++)
        found = tfd_str_starts(g->operations[i]->node->name, prefix.data);
    tfd_unlock(&g->lock);
    return !found;
}

TFD_Scope *TFD_SubScope(TFD_Scope *parent, const char *name, TF_Status *status)
{
    struct tfd_model *m = parent->model;
    TFD_Scope *s;

    if (!tfd_model_ok(status))
        return NULL;
    s = tfd_arena_alloc(&m->arena, sizeof(*s));
    if (tfd_arena_check(s, "a scope", &status->st) != TFD_OK)
        return NULL;
    *s = *parent;
    s->root = false;
    s->prefix = tfd_model_format(m, &status->st, TFD_STR_FMT "%s/",
                                 TFD_STR_ARG(parent->prefix), name);
    for (int i = 1;
         tfd_model_ok(status) && !prefix_is_free(m->graph, s->prefix); i++)
        s->prefix = tfd_model_format(m, &status->st, TFD_STR_FMT "%s_%d/",
                                     TFD_STR_ARG(parent->prefix), name, i);
    return tfd_model_ok(status) ? s : NULL;
}

/* ---- Devices and control inputs ------------------------------------------ */

void TFD_SetScopeDevice(TFD_Scope *scope, const char *device, TF_Status *status)
{
    if (tfd_model_ok(status))
        scope->device =
            tfd_model_keep(scope->model, tfd_str_of(device), &status->st);
}

void TFD_SetReplicas(TFD_Scope *scope, const char *worker_device, int ps_tasks,
                     TF_Status *status)
{
    if (!tfd_model_ok(status))
        return;
    if (ps_tasks < 0)
        tfd_fail(&status->st, TFD_INVALID_ARGUMENT, "%d ps tasks", ps_tasks);
    else
        scope->ps_tasks = ps_tasks;
    TFD_SetScopeDevice(scope, worker_device, status);
}

void TFD_AddScopeControl(TFD_Scope *scope, TF_Operation *op, TF_Status *status)
{
    struct tfd_item *item;

    if (!tfd_model_ok(status))
        return;
    item = tfd_arena_alloc(&scope->model->arena, sizeof(*item));
    if (tfd_arena_check(item, "a control input", &status->st) != TFD_OK)
        return;
    item->value.data = (const char *)op;
    item->next = scope->control;
    scope->control = item;
}

TFD_Scope tfd_scope_on(const TFD_Scope *s, struct tfd_str device)
{
    TFD_Scope copy = *s;

    copy.device = device;
    copy.ps_tasks = 0;
    copy.control = NULL;
    copy.root = false;
    return copy;
}

/* ---- Operations ---------------------------------------------------------- */

TF_OperationDescription *
tfd_scope_begin_exact(TFD_Scope *s, const char *op_type, struct tfd_str name,
                      struct tfd_str device, TF_Status *status)
{
    TF_OperationDescription *d;

    if (!tfd_model_ok(status))
        return NULL;
    d = TF_NewOperation(s->model->graph, op_type, name.data);
    if (!d) {
        tfd_fail(&status->st, TFD_RESOURCE_EXHAUSTED,
                 "no memory for an operation");
        return NULL;
    }
    if (device.size)
        TF_SetDevice(d, device.data);
    for (const struct tfd_item *c = s->control; c; c = c->next)
        TF_AddControlInput(d, (TF_Operation *)(uintptr_t)c->value.data);
    return d;
}

TF_OperationDescription *tfd_scope_begin(TFD_Scope *s, const char *op_type,
                                         const char *name, TF_Status *status)
{
    struct tfd_str full = TFD_STR_EMPTY;

    if (tfd_model_ok(status))
        full = tfd_scope_unique(s, name ? name : op_type, &status->st);
    return tfd_scope_begin_exact(s, op_type, full, s->device, status);
}

TF_Output tfd_scope_end(TF_OperationDescription *d, TF_Status *status)
{
    TF_Output out = {NULL, 0};

    if (d)
        out.oper = TF_FinishOperation(d, status);
    return out;
}

static void set_attr(TF_OperationDescription *d, const TFD_Attr *a)
{
    switch (a->kind) {
    case TFD_KIND_INT:
        TF_SetAttrInt(d, a->name, a->number);
        break;
    case TFD_KIND_FLOAT:
        TF_SetAttrFloat(d, a->name, a->real);
        break;
    case TFD_KIND_BOOL:
        TF_SetAttrBool(d, a->name, a->number != 0);
        break;
    case TFD_KIND_TYPE:
        TF_SetAttrType(d, a->name, (TF_DataType)a->number);
        break;
    case TFD_KIND_STRING:
        TF_SetAttrString(d, a->name, a->text, strlen(a->text));
        break;
    case TFD_KIND_SHAPE:
        TF_SetAttrShape(d, a->name, a->dims, (int)a->number);
        break;
    case TFD_KIND_INTS:
        TF_SetAttrIntList(d, a->name, a->dims, (int)a->number);
        break;
    }
}

TF_Output TFD_Op(TFD_Scope *scope, const char *op_type, const char *name,
                 const TF_Output *inputs, int num_inputs, const TFD_Attr *attrs,
                 int num_attrs, TF_Status *status)
{
    TF_OperationDescription *d = tfd_scope_begin(scope, op_type, name, status);

    if (d)
        tfd_op_desc_flat(d, inputs, num_inputs);
    for (int i = 0; d && i < num_attrs; i++)
        set_attr(d, &attrs[i]);
    return tfd_scope_end(d, status);
}

TF_Output TFD_Op1(TFD_Scope *scope, const char *op_type, TF_Output x,
                  TF_Status *status)
{
    return TFD_Op(scope, op_type, NULL, &x, 1, NULL, 0, status);
}

TF_Output TFD_Op2(TFD_Scope *scope, const char *op_type, TF_Output x,
                  TF_Output y, TF_Status *status)
{
    const TF_Output in[] = {x, y};

    return TFD_Op(scope, op_type, NULL, in, 2, NULL, 0, status);
}

TF_Operation *TFD_Group(TFD_Scope *scope, const char *name,
                        TF_Operation *const *ops, int num_ops,
                        TF_Status *status)
{
    TF_OperationDescription *d = tfd_scope_begin(scope, "NoOp", name, status);

    for (int i = 0; d && i < num_ops; i++)
        TF_AddControlInput(d, ops[i]);
    return tfd_scope_end(d, status).oper;
}

/* ---- Attributes ---------------------------------------------------------- */

TFD_Attr TFD_AttrInt(const char *name, int64_t value)
{
    return (TFD_Attr){.name = name, .kind = TFD_KIND_INT, .number = value};
}

TFD_Attr TFD_AttrFloat(const char *name, float value)
{
    return (TFD_Attr){.name = name, .kind = TFD_KIND_FLOAT, .real = value};
}

TFD_Attr TFD_AttrBool(const char *name, bool value)
{
    return (TFD_Attr){.name = name, .kind = TFD_KIND_BOOL, .number = value};
}

TFD_Attr TFD_AttrType(const char *name, TF_DataType value)
{
    return (TFD_Attr){
        .name = name, .kind = TFD_KIND_TYPE, .number = (int64_t)value};
}

TFD_Attr TFD_AttrString(const char *name, const char *value)
{
    return (TFD_Attr){.name = name, .kind = TFD_KIND_STRING, .text = value};
}

TFD_Attr TFD_AttrShape(const char *name, const int64_t *dims, int num_dims)
{
    return (TFD_Attr){
        .name = name, .kind = TFD_KIND_SHAPE, .number = num_dims, .dims = dims};
}

TFD_Attr TFD_AttrInts(const char *name, const int64_t *values, int num_values)
{
    return (TFD_Attr){.name = name,
                      .kind = TFD_KIND_INTS,
                      .number = num_values,
                      .dims = values};
}
