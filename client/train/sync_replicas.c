/*
 * sync_replicas.c - TFD_MinimizeInStep(): the structure of Python's
 * SyncReplicasOptimizer, in its operations and under its shared names, so that
 * workers of both kinds can train together.
 *
 *     worker  gradient --> accumulator of each variable (with local_step)
 *             then  token <-- sync_token_q ;  local_step = token
 *     chief   sum <-- accumulator, R of them ;  update ;  global_step + 1
 *             then  sync_token_q <-- T tokens that hold global_step
 *
 * A gradient whose local_step is behind is dropped by its accumulator.  At the
 * beginning the chief tells the accumulators the global step and puts R tokens.
 *
 * Accumulators stand beside their variable and the queue beside global_step,
 * both by device and by `_class`, since a trainer places graphs anew.
 */
#include "client/train/optimizers.h"

#include "common/base/shape_long.h"

#include "config/limits.h"

#include <stdio.h>
#include <string.h>

struct sync {
    struct tfd_minimizing m;
    TFD_Scope at; /* names, and no device of its own */
    int aggregate, total;
    TFD_Variable *step, *local_step;
    TF_Output queue;
    TF_Operation **applied; /* by update: gives the gradient away */
    TF_Operation **set;     /* by update: tells the step */
    int count;
    TF_Status *status;
};

/* ---- Nodes --------------------------------------------------------------- */

/* An operation beside a variable. */
static TF_OperationDescription *beside(struct sync *y, const TFD_Variable *v,
                                       const char *op, const char *name)
{
    TFD_Scope at = tfd_scope_on(&y->at, tfd_optimizers_device(v));
    TF_OperationDescription *d = tfd_scope_begin(&at, op, name, y->status);

    if (d)
        TF_ColocateWith(d, v->handle);
    return d;
}

/* An operation on a handle that takes one value more. */
static TF_Operation *tell_accumulator(struct sync *y, const TFD_Variable *v,
                                      const char *op, const char *name,
                                      TF_Output handle, TF_Output value)
{
    TF_OperationDescription *d = beside(y, v, op, name);

    if (!d)
        return NULL;
    TF_AddInput(d, handle);
    TF_AddInput(d, value);
    return tfd_scope_end(d, y->status).oper;
}

static TF_Output int32_const(struct sync *y, const TFD_Variable *v,
                             const char *name, int value)
{
    TFD_Scope at = tfd_scope_on(&y->at, tfd_optimizers_device(v));

    return TFD_ConstInt(&at, name, TF_INT32, value, y->status);
}

/* ---- Gradients ----------------------------------------------------------- */

static TF_Output make_accumulator(struct sync *y, const TFD_Variable *v,
                                  TF_Output gradient)
{
    const struct tfd_shape *shape = &v->initial.oper->shapes[v->initial.index];
    TF_OperationDescription *d =
        beside(y, v, "ResourceConditionalAccumulator", "accumulator");
    int64_t dim[TFD_RANK_LONG_MAX];
    struct tfd_str name;

    if (!d)
        return (TF_Output){NULL, 0};
    if (shape->rank != TFD_RANK_UNKNOWN)
        tfd_shape_dims(shape, dim);
    name = tfd_model_format(y->m.s->model, &y->status->st,
                            TFD_STR_FMT ":0/grad_accum",
                            TFD_STR_ARG(tfd_variable_name(v)));
    TF_SetAttrType(d, "dtype", TF_OperationOutputType(gradient));
    TF_SetAttrShape(d, "shape", dim, shape->rank);
    TF_SetAttrString(d, "shared_name", name.data, name.size);
    return tfd_scope_end(d, y->status);
}

static TF_Operation *apply_average(struct sync *y, const TFD_Variable *v,
                                   TF_Output accumulator, TF_Output gradient)
{
    TF_OperationDescription *d =
        beside(y, v, "ResourceAccumulatorApplyGradient", "apply_grad");

    if (!d)
        return NULL;
    TF_AddInput(d, accumulator);
    TF_AddInput(d, TFD_Read(y->local_step));
    TF_AddInput(d, gradient);
    return tfd_scope_end(d, y->status).oper;
}

static TF_Output take_average(struct sync *y, const TFD_Variable *v,
                              TF_Output accumulator, TF_DataType dtype)
{
    TF_Output required = int32_const(y, v, "num_required", y->aggregate);
    TF_OperationDescription *d =
        beside(y, v, "ResourceAccumulatorTakeGradient", "take_grad");

    if (!d)
        return (TF_Output){NULL, 0};
    TF_AddInput(d, accumulator);
    TF_AddInput(d, required);
    TF_SetAttrType(d, "dtype", dtype);
    return tfd_scope_end(d, y->status);
}

/* The gradient goes into an accumulator, and what comes out takes its place. */
static void aggregate(struct sync *y, const TFD_Variable *v,
                      TF_Output *gradient)
{
    TF_Output accumulator = make_accumulator(y, v, *gradient);

    if (!accumulator.oper)
        return;
    y->applied[y->count] = apply_average(y, v, accumulator, *gradient);
    y->set[y->count] =
        tell_accumulator(y, v, "ResourceAccumulatorSetGlobalStep",
                         "SetGlobalStep", accumulator, TFD_Read(y->step));
    *gradient =
        take_average(y, v, accumulator, TF_OperationOutputType(*gradient));
    y->count++;
}

static void aggregate_all(struct sync *y)
{
    struct tfd_arena *arena = &y->m.s->model->arena;
    size_t count = (size_t)y->m.count + 1;

    y->applied = tfd_arena_array(arena, count, sizeof(TF_Operation *));
    y->set = tfd_arena_array(arena, count, sizeof(TF_Operation *));
    if (!y->applied || !y->set) {
        (void)!tfd_arena_check(NULL, "accumulators", &y->status->st);
        return;
    }
    for (int i = 0; i < y->m.count && tfd_model_ok(y->status); i++)
        if (y->m.gradients[i].oper)
            aggregate(y, y->m.variables[i], &y->m.gradients[i]);
}

/* ---- Tokens -------------------------------------------------------------- */

static void make_queue(struct sync *y)
{
    static const char name[] = "sync_token_q";
    const TF_DataType type = TF_INT64;
    const int64_t *const dims[] = {NULL};
    const int scalar = 0;
    TF_OperationDescription *d = beside(y, y->step, "FIFOQueueV2", name);

    if (!d)
        return;
    TF_SetAttrTypeList(d, "component_types", &type, 1);
    TF_SetAttrShapeList(d, "shapes", dims, &scalar, 1);
    TF_SetAttrString(d, "shared_name", name, sizeof(name) - 1);
    y->queue = tfd_scope_end(d, y->status);
}

/* Waits for a token, once all gradients have been given away. */
static TF_Output take_token(struct sync *y)
{
    const TF_DataType type = TF_INT64;
    TF_OperationDescription *d =
        beside(y, y->step, "QueueDequeueV2", "sync_token_q_Dequeue");

    if (!d)
        return (TF_Output){NULL, 0};
    TF_AddInput(d, y->queue);
    TF_SetAttrTypeList(d, "component_types", &type, 1);
    for (int i = 0; i < y->count; i++)
        TF_AddControlInput(d, y->applied[i]);
    return tfd_scope_end(d, y->status);
}

/* Puts tokens that hold this step. */
static TF_Operation *put_tokens(struct sync *y, int count, TF_Output step)
{
    TFD_Scope at = tfd_scope_on(&y->at, tfd_optimizers_device(y->step));
    const int32_t n = count;
    TF_Output dims = TFD_ConstInts(&at, "tokens/dims", &n, 1, y->status);
    TF_OperationDescription *d = beside(y, y->step, "Fill", "tokens");
    TF_Output tokens;

    if (!d)
        return NULL;
    TF_AddInput(d, dims);
    TF_AddInput(d, step);
    tokens = tfd_scope_end(d, y->status);
    d = beside(y, y->step, "QueueEnqueueManyV2", "sync_token_q_EnqueueMany");
    if (!d)
        return NULL;
    TF_AddInput(d, y->queue);
    TF_AddInputList(d, &tokens, 1);
    return tfd_scope_end(d, y->status).oper;
}

/* ---- The parts ----------------------------------------------------------- */

/* The global step when the update is done. */
static TF_Output step_after(struct sync *y, TF_Operation *updated)
{
    TF_OperationDescription *d =
        beside(y, y->step, "ReadVariableOp", "global_step");

    if (!d)
        return (TF_Output){NULL, 0};
    TF_AddInput(d, TFD_Handle(y->step));
    TF_SetAttrType(d, "dtype", TF_INT64);
    TF_AddControlInput(d, updated);
    return tfd_scope_end(d, y->status);
}

static TF_Operation *set_local_step(struct sync *y, const char *name,
                                    TF_Output value)
{
    return tell_accumulator(y, y->local_step, "AssignVariableOp", name,
                            TFD_Handle(y->local_step), value);
}

static void make_local_step(struct sync *y)
{
    struct tfd_str name =
        tfd_scope_unique(&y->at, "sync_rep_local_step", &y->status->st);
    TFD_Scope at = tfd_scope_on(&y->at, y->m.s->device);
    TF_Output zero = TFD_ConstInt(&at, "sync_rep_local_step/initial_value",
                                  TF_INT64, 0, y->status);

    y->local_step =
        tfd_variable_new(&at, name, zero, TFD_LOCAL, at.device, y->status);
}

/* What the chief does before the first step, and what others do. */
static void collect_beginnings(struct sync *y)
{
    TF_Operation *local = set_local_step(y, "local_init", TFD_Read(y->step));
    TF_Operation *tokens = put_tokens(y, y->aggregate, TFD_Read(y->step));

    y->set[y->count] = local;
    local = TFD_Group(&y->at, "local_init_op", &local, 1, y->status);
    TFD_CollectOp(y->m.s, "tfd_sync_local_init", local, y->status);
    TFD_CollectOp(
        y->m.s, "tfd_sync_chief_init",
        TFD_Group(&y->at, "chief_init_op", y->set, y->count + 1, y->status),
        y->status);
    TFD_CollectOp(y->m.s, "tfd_sync_init_tokens", tokens, y->status);
}

static TF_Operation *build_sync(struct sync *y)
{
    int tokens = y->total > y->aggregate ? y->total : y->aggregate;
    TF_Operation *train, *updated;

    y->at.prefix = tfd_scope_unique(y->m.s, "sync_replicas", &y->status->st);
    y->at.prefix = tfd_model_format(y->m.s->model, &y->status->st,
                                    TFD_STR_FMT "/", TFD_STR_ARG(y->at.prefix));
    y->step = TFD_GlobalStep(y->m.s, y->status);
    if (y->step)
        make_local_step(y);
    if (y->local_step)
        aggregate_all(y);
    updated = tfd_optimizers_end(&y->m);
    if (!updated)
        return NULL;
    make_queue(y);
    train = set_local_step(y, "train_op", take_token(y));
    collect_beginnings(y);
    TFD_CollectOp(y->m.s, "tfd_sync_update",
                  put_tokens(y, tokens, step_after(y, updated)), y->status);
    TFD_CollectOp(y->m.s, "train_op", train, y->status);
    return tfd_model_ok(y->status) ? train : NULL;
}

static bool check_count(const char *what, int n, TF_Status *status)
{
    if (n >= 1 && n <= TFD_TASKS_MAX)
        return true;
    tfd_fail(&status->st, TFD_INVALID_ARGUMENT,
             "%s is %d; 1 to %d are possible", what, n, TFD_TASKS_MAX);
    return false;
}

TF_Operation *TFD_MinimizeInStep(TFD_Scope *scope, const char *optimizer,
                                 float learning_rate, TF_Output loss,
                                 int replicas_to_aggregate, int total_replicas,
                                 TF_Status *status)
{
    struct sync y = {.m = {.s = scope, .rate = learning_rate, .status = status},
                     .at = *scope,
                     .aggregate = replicas_to_aggregate,
                     .total = total_replicas,
                     .status = status};

    if (!tfd_model_ok(status) ||
        !check_count("replicas_to_aggregate", replicas_to_aggregate, status) ||
        !check_count("total_replicas", total_replicas, status) ||
        !tfd_optimizers_begin(&y.m, optimizer, loss))
        return NULL;
    y.at.control = NULL;
    return build_sync(&y);
}
