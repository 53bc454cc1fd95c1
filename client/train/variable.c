/*
 * variable.c - resource variables, in the operations and under the names that
 * Python gives them, so that Python finds them in a MetaGraphDef.
 */
#include "client/train/model.h"

#include "common/base/pbio.h"
#include "common/proto/meta_graph.pb.h"
#include "common/base/shape_long.h"
#include "config/limits.h"

#include <stdio.h>
#include <string.h>

/* An operation on the handle, on the handle's device; NULL on failure. */
static TF_OperationDescription *
begin_variable_op(TFD_Scope *s, const TFD_Variable *v, const char *op_type,
                  const char *suffix, TF_Status *status)
{
    struct tfd_str name = TFD_STR_EMPTY;
    TF_OperationDescription *d;

    if (tfd_model_ok(status))
        name = tfd_model_format(s->model, &status->st, TFD_STR_FMT "/%s",
                                TFD_STR_ARG(v->handle->node->name), suffix);
    d = tfd_scope_begin_exact(s, op_type, name, s->device, status);
    if (d)
        TF_AddInput(d, TFD_Handle(v));
    return d;
}

static TF_Operation *make_handle(TFD_Scope *s, struct tfd_str name,
                                 TF_Output initial, TF_Status *status)
{
    const struct tfd_shape *shape = &initial.oper->shapes[initial.index];
    TF_OperationDescription *d =
        tfd_scope_begin_exact(s, "VarHandleOp", name, s->device, status);
    int64_t dim[TFD_RANK_LONG_MAX];

    if (!d)
        return NULL;
    if (shape->rank != TFD_RANK_UNKNOWN)
        tfd_shape_dims(shape, dim);
    TF_SetAttrType(d, "dtype", TF_OperationOutputType(initial));
    TF_SetAttrShape(d, "shape", dim, shape->rank);
    TF_SetAttrString(d, "shared_name", name.data, name.size);
    return tfd_scope_end(d, status).oper;
}

static void make_operations(TFD_Scope *s, TFD_Variable *v, TF_Status *status)
{
    TF_DataType dtype = TF_OperationOutputType(v->initial);
    TF_OperationDescription *d;

    d = begin_variable_op(s, v, "VarIsInitializedOp",
                          "IsInitialized/VarIsInitializedOp", status);
    v->is_initialized = tfd_scope_end(d, status).oper;
    d = begin_variable_op(s, v, "AssignVariableOp", "Assign", status);
    if (d)
        TF_AddInput(d, v->initial);
    v->initializer = tfd_scope_end(d, status).oper;
    d = begin_variable_op(s, v, "ReadVariableOp", "Read/ReadVariableOp",
                          status);
    if (d)
        TF_SetAttrType(d, "dtype", dtype);
    v->read = tfd_scope_end(d, status);
}

/* ---- The variable among the others --------------------------------------- */

void tfd_variable_def(const TFD_Variable *v, struct tfd_bytes *out)
{
    char text[TFD_NAME_SIZE_MAX + 16];

#define PUT(field, ...)                        \
    snprintf(text, sizeof(text), __VA_ARGS__); \
    tfd_pb_put_str(out, tensorflow_VariableDef_##field##_tag, tfd_str_of(text))
    PUT(variable_name, "%s:0", TF_OperationName(v->handle));
    PUT(initializer_name, "%s", TF_OperationName(v->initializer));
    PUT(snapshot_name, "%s:0", TF_OperationName(v->read.oper));
    tfd_pb_put_bool(out, tensorflow_VariableDef_is_resource_tag, true);
    PUT(initial_value_name, "%s:%d", TF_OperationName(v->initial.oper),
        v->initial.index);
#undef PUT
    tfd_pb_put_bool(out, tensorflow_VariableDef_trainable_tag,
                    v->flags & TFD_TRAINABLE);
}

static void collect(TFD_Variable *v, const char *collection, TF_Status *status)
{
    struct tfd_bytes def;

    tfd_bytes_init(&def, 8 * TFD_NAME_SIZE_MAX);
    tfd_variable_def(v, &def);
    if (tfd_bytes_ok(&def, "a VariableDef", &status->st) == TFD_OK)
        tfd_model_collect(v->model, collection, true, tfd_bytes_view(&def),
                          &status->st);
    tfd_bytes_deinit(&def);
}

static void enlist(TFD_Variable *v, TF_Status *status)
{
    *v->model->variables_end = v;
    v->model->variables_end = &v->next;
    collect(v, v->flags & TFD_LOCAL ? "local_variables" : "variables", status);
    if (v->flags & TFD_TRAINABLE)
        collect(v, "trainable_variables", status);
}

TFD_Variable *tfd_variable_new(TFD_Scope *s, struct tfd_str full_name,
                               TF_Output initial, int flags,
                               struct tfd_str device, TF_Status *status)
{
    TFD_Scope at = tfd_scope_on(s, device);
    struct tfd_edge e;
    TFD_Variable *v;

    if (!tfd_model_ok(status) ||
        tfd_capi_edge(s->model->graph, initial, &e, &status->st) != TFD_OK)
        return NULL;
    v = tfd_arena_alloc(&s->model->arena, sizeof(*v));
    if (tfd_arena_check(v, "a variable", &status->st) != TFD_OK)
        return NULL;
    v->model = s->model;
    v->initial = initial;
    v->flags = flags;
    v->handle = make_handle(&at, full_name, initial, status);
    if (v->handle)
        make_operations(&at, v, status);
    if (!tfd_model_ok(status))
        return NULL;
    enlist(v, status);
    return v;
}

/* ---- Public -------------------------------------------------------------- */

/* The next ps task, or the scope's device. */
static struct tfd_str choose_device(TFD_Scope *s, int flags,
                                    struct tfd_status *st)
{
    if (s->ps_tasks == 0 || flags & TFD_LOCAL)
        return s->device;
    return tfd_model_format(s->model, st, "/job:ps/task:%d",
                            s->model->next_ps++ % s->ps_tasks);
}

TFD_Variable *TFD_NewVariable(TFD_Scope *scope, const char *name,
                              TF_Output initial, int flags, TF_Status *status)
{
    struct tfd_str full, device;

    if (!tfd_model_ok(status))
        return NULL;
    full = tfd_scope_unique(scope, name, &status->st);
    device = choose_device(scope, flags, &status->st);
    return tfd_variable_new(scope, full, initial, flags, device, status);
}

TF_Output TFD_Read(const TFD_Variable *variable)
{
    return variable ? variable->read : (TF_Output){NULL, 0};
}

TF_Output TFD_Handle(const TFD_Variable *variable)
{
    return (TF_Output){variable ? variable->handle : NULL, 0};
}

TF_Operation *TFD_Initializer(const TFD_Variable *variable)
{
    return variable ? variable->initializer : NULL;
}

TFD_Variable *TFD_GlobalStep(TFD_Scope *scope, TF_Status *status)
{
    struct tfd_model *m = scope->model;
    TFD_Scope top = *scope;
    TFD_Variable *v;

    if (m->global_step || !tfd_model_ok(status))
        return m->global_step;
    top.prefix = TFD_STR_EMPTY;
    v = TFD_NewVariable(&top, "global_step",
                        TFD_ConstInt(&top, "global_step/Initializer/zeros",
                                     TF_INT64, 0, status),
                        0, status);
    if (v)
        collect(v, "global_step", status);
    m->global_step = v;
    return v;
}
