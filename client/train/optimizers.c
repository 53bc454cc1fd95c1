/*
 * optimizers.c - TFD_Minimize(): gradients, one update per variable, the step
 * counted when all are done.
 *
 * An optimizer is a row: the operation that applies a gradient, whose inputs
 * are the variable, its slots, the learning rate, the gradient and what comes
 * after that, and the slots with their initial value.  Names and structure are
 * those of Python's optimizers:
 *
 *     Adagrad/update_w/ResourceApplyAdagrad(w, w/Adagrad, rate, gradient)
 *     Adagrad/update   waits for all updates
 *     Adagrad          adds 1 to global_step after that
 *
 * A learning rate that is a number is a constant per variable, so that each can
 * stand on the variable's task and nothing but the gradient crosses.  One that
 * is computed crosses once in a step.
 */
#include "client/train/optimizers.h"

#include "common/base/shape_long.h"

#include "client/train/gradients.h"
#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

static const struct tfd_optimizer_row optimizers[] = {
    {"GradientDescent", "ResourceApplyGradientDescent", NULL, 0, NULL, 0},
    /* 0.1 is what Python's initial_accumulator_value is when not given. */
    {"Adagrad", "ResourceApplyAdagrad", "Adagrad", 0.1f, NULL, 0},
    /* Python leaves the momentum to its caller; 0.9 is the usual one. */
    {"Momentum", "ResourceApplyMomentum", "Momentum", 0, "momentum", 0.9f},
};

static const struct tfd_optimizer_row *find_optimizers(const char *name,
                                                       struct tfd_status *st)
{
    for (int i = 0; i < TFD_COUNT(optimizers); i++)
        if (strcmp(optimizers[i].name, name) == 0)
            return &optimizers[i];
    tfd_fail(st, TFD_INVALID_ARGUMENT,
             "no optimizer '%.100s'; there are GradientDescent, Adagrad and "
             "Momentum",
             name);
    return NULL;
}

struct tfd_str tfd_optimizers_device(const TFD_Variable *v)
{
    return v->handle->node->device;
}

struct tfd_str tfd_variable_name(const TFD_Variable *v)
{
    return v->handle->node->name;
}

/* ---- Gradients ----------------------------------------------------------- */

static enum tfd_code derive(const struct tfd_minimizing *m, TF_Output loss,
                            struct tfd_edge *edges, struct tfd_status *st)
{
    TF_Graph *g = m->s->model->graph;
    struct tfd_gradients r = {
        .device = m->s->device,
        .y = &edges[0],
        .y_count = 1,
        .x = &edges[1],
        .x_count = m->count,
        .dx = &edges[1 + m->count],
    };
    struct tfd_bytes prefix;
    enum tfd_code rc;

    TFD_TRY(tfd_capi_edge(g, loss, &edges[0], st));
    for (int i = 0; i < m->count; i++)
        TFD_TRY(
            tfd_capi_edge(g, TFD_Handle(m->variables[i]), &edges[1 + i], st));
    tfd_bytes_init(&prefix, TFD_NAME_SIZE_MAX);
    tfd_lock(&g->lock);
    rc = tfd_gradients_prefix(g, &prefix, st);
    r.prefix = tfd_bytes_view(&prefix);
    if (rc == TFD_OK)
        rc = tfd_gradients_add(g, &r, st);
    for (int i = 0; rc == TFD_OK && i < m->count; i++)
        m->gradients[i] = tfd_capi_output(g, r.dx[i]);
    tfd_unlock(&g->lock);
    tfd_bytes_deinit(&prefix);
    return rc;
}

static void add_gradients(const struct tfd_minimizing *m, TF_Output loss)
{
    struct tfd_edge *edges = tfd_arena_array(
        &m->s->model->arena, (size_t)m->count * 2 + 1, sizeof(*edges));

    if (tfd_arena_check(edges, "gradients", &m->status->st) == TFD_OK)
        (void)!derive(m, loss, edges, &m->status->st);
}

/* ---- Slots --------------------------------------------------------------- */

/* A tensor of the variable's shape, filled with one number. */
static TF_Output make_filled(struct tfd_minimizing *m, TFD_Scope *at,
                             const TFD_Variable *v)
{
    const struct tfd_shape *shape = &v->initial.oper->shapes[v->initial.index];
    struct tfd_status *st = &m->status->st;
    struct tfd_str name = tfd_variable_name(v);
    int64_t dim[TFD_RANK_LONG_MAX];
    int32_t dims[TFD_RANK_LONG_MAX];
    TF_Output in[2];

    if (tfd_shape_elements(shape) < 0) {
        tfd_fail(st, TFD_INVALID_ARGUMENT,
                 "%s needs the shape of variable '" TFD_STR_FMT
                 "', which is not known",
                 m->o->name, TFD_STR_ARG(name));
        return (TF_Output){NULL, 0};
    }
    tfd_shape_dims(shape, dim);
    for (int i = 0; i < shape->rank; i++)
        dims[i] = (int32_t)dim[i];
    at->prefix =
        tfd_model_format(m->s->model, st, TFD_STR_FMT "/%s/Initializer/",
                         TFD_STR_ARG(name), m->o->slot);
    in[0] = TFD_ConstInts(at, "shape_as_tensor", dims, shape->rank, m->status);
    in[1] = TFD_ConstFloat(at, "Const", m->o->slot_initial, m->status);
    return TFD_Op(at, "Fill", NULL, in, 2, NULL, 0, m->status);
}

static TFD_Variable *make_slot(struct tfd_minimizing *m, const TFD_Variable *v)
{
    TFD_Scope at = tfd_scope_on(m->s, tfd_optimizers_device(v));
    TF_Output initial = make_filled(m, &at, v);
    struct tfd_str name =
        tfd_model_format(m->s->model, &m->status->st, TFD_STR_FMT "/%s",
                         TFD_STR_ARG(tfd_variable_name(v)), m->o->slot);

    return tfd_variable_new(m->s, name, initial, 0, tfd_optimizers_device(v),
                            m->status);
}

/* ---- Updates ------------------------------------------------------------- */

static TF_Output add_update(struct tfd_minimizing *m, const TFD_Variable *v,
                            TF_Output gradient)
{
    TFD_Scope at = tfd_scope_on(m->s, tfd_optimizers_device(v));
    TFD_Variable *slot = m->o->slot ? make_slot(m, v) : NULL;
    TF_Output in[5] = {TFD_Handle(v)};
    int count = 1;

    at.prefix = tfd_model_format(
        m->s->model, &m->status->st, TFD_STR_FMT "/update_" TFD_STR_FMT "/",
        TFD_STR_ARG(m->prefix), TFD_STR_ARG(tfd_variable_name(v)));
    if (m->o->slot)
        in[count++] = TFD_Handle(slot);
    in[count++] = m->rate_of_step.oper ? m->rate_of_step
                                       : TFD_ConstFloat(&at, "learning_rate",
                                                        m->rate, m->status);
    in[count++] = gradient;
    if (m->o->last)
        in[count++] =
            TFD_ConstFloat(&at, m->o->last, m->o->last_value, m->status);
    return TFD_Op(&at, m->o->apply, NULL, in, count, NULL, 0, m->status);
}

static void add_updates(struct tfd_minimizing *m)
{
    for (int i = 0; i < m->count && tfd_model_ok(m->status); i++)
        if (m->gradients[i].oper)
            m->updates[m->update_count++] =
                add_update(m, m->variables[i], m->gradients[i]).oper;
    if (tfd_model_ok(m->status) && m->update_count == 0)
        tfd_fail(&m->status->st, TFD_INVALID_ARGUMENT,
                 "No gradients provided for any variable: the loss depends on "
                 "none of %d trainable ones",
                 m->count);
}

/* Counts the step when every update is done. */
static TF_Operation *add_count(struct tfd_minimizing *m)
{
    TFD_Variable *step = TFD_GlobalStep(m->s, m->status);
    TFD_Scope at;
    TF_OperationDescription *d;
    TF_Operation *updated;
    TF_Output one;

    if (!step)
        return NULL;
    at = tfd_scope_on(m->s, tfd_optimizers_device(step));
    at.prefix = tfd_model_format(m->s->model, &m->status->st, TFD_STR_FMT "/",
                                 TFD_STR_ARG(m->prefix));
    updated = TFD_Group(&at, "update", m->updates, m->update_count, m->status);
    one = TFD_ConstInt(&at, "value", TF_INT64, 1, m->status);
    d = tfd_scope_begin_exact(&at, "AssignAddVariableOp", m->prefix, at.device,
                              m->status);
    if (d) {
        TF_AddInput(d, TFD_Handle(step));
        TF_AddInput(d, one);
        TF_AddControlInput(d, updated);
    }
    return tfd_scope_end(d, m->status).oper;
}

/* ---- All of it ----------------------------------------------------------- */

static void list_trainable(struct tfd_minimizing *m)
{
    struct tfd_model *model = m->s->model;
    size_t count = 0;

    for (TFD_Variable *v = model->variables; v; v = v->next)
        count++;
    m->variables =
        tfd_arena_array(&model->arena, count, sizeof(TFD_Variable *));
    m->gradients = tfd_arena_array(&model->arena, count, sizeof(*m->gradients));
    m->updates = tfd_arena_array(&model->arena, count, sizeof(TF_Operation *));
    if (!m->variables || !m->gradients || !m->updates) {
        (void)!tfd_arena_check(NULL, "an optimizer", &m->status->st);
        return;
    }
    for (TFD_Variable *v = model->variables; v; v = v->next)
        if (v->flags & TFD_TRAINABLE)
            m->variables[m->count++] = v;
}

bool tfd_optimizers_begin(struct tfd_minimizing *m, const char *optimizer,
                          TF_Output loss)
{
    if (tfd_model_ok(m->status))
        m->o = find_optimizers(optimizer, &m->status->st);
    if (!m->o)
        return false;
    list_trainable(m);
    if (tfd_model_ok(m->status))
        add_gradients(m, loss);
    return tfd_model_ok(m->status);
}

TF_Operation *tfd_optimizers_end(struct tfd_minimizing *m)
{
    TF_Operation *op = NULL;

    if (tfd_model_ok(m->status))
        m->prefix = tfd_scope_unique(m->s, m->o->name, &m->status->st);
    if (tfd_model_ok(m->status))
        add_updates(m);
    if (tfd_model_ok(m->status))
        op = add_count(m);
    return tfd_model_ok(m->status) ? op : NULL;
}

static TF_Operation *minimize(struct tfd_minimizing *m, const char *optimizer,
                              TF_Output loss)
{
    TF_Operation *op = NULL;

    if (tfd_optimizers_begin(m, optimizer, loss))
        op = tfd_optimizers_end(m);
    if (op)
        TFD_CollectOp(m->s, "train_op", op, m->status);
    return tfd_model_ok(m->status) ? op : NULL;
}

TF_Operation *TFD_Minimize(TFD_Scope *scope, const char *optimizer,
                           float learning_rate, TF_Output loss,
                           TF_Status *status)
{
    struct tfd_minimizing m = {
        .s = scope, .rate = learning_rate, .status = status};

    return minimize(&m, optimizer, loss);
}

TF_Operation *TFD_MinimizeAtRate(TFD_Scope *scope, const char *optimizer,
                                 TF_Output learning_rate, TF_Output loss,
                                 TF_Status *status)
{
    struct tfd_minimizing m = {
        .s = scope, .rate_of_step = learning_rate, .status = status};

    if (tfd_model_ok(status) && !learning_rate.oper)
        tfd_fail(&status->st, TFD_INVALID_ARGUMENT,
                 "the learning rate has no operation");
    return minimize(&m, optimizer, loss);
}
