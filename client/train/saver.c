/*
 * saver.c - the operations that save and restore variables, under the names of
 * Python's Saver:
 *
 *     save/Const              the prefix of the files, to be fed
 *     save/control_dependency fetch it to save
 *     save/restore_all        run it to restore
 *
 * Files are the business of the task that runs SaveV2 and RestoreV2: where
 * there are replicas, the worker that the scope was built for.  A ps needs no
 * disk.
 */
#include "client/train/model.h"

#include <stdlib.h>
#include <string.h>

struct saving {
    TFD_Scope at;
    TFD_Variable **variables; /* by name */
    const char **names;
    const char **slices; /* "" each: whole tensors */
    int count;
    TF_Output prefix; /* save/Const */
    TF_Status *status;
};

/* ---- What is saved ------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const TFD_Variable *x = *(TFD_Variable *const *)a;
    const TFD_Variable *y = *(TFD_Variable *const *)b;

    return tfd_str_cmp(x->handle->node->name, y->handle->node->name);
}

static void list_model(struct saving *s, const struct tfd_model *m)
{
    for (TFD_Variable *v = m->variables; v; v = v->next)
        if (!(v->flags & TFD_LOCAL))
            s->variables[s->count++] = v;
    qsort(s->variables, (size_t)s->count, sizeof(TFD_Variable *), compare);
    for (int i = 0; i < s->count; i++) {
        s->names[i] = TF_OperationName(s->variables[i]->handle);
        s->slices[i] = "";
    }
}

static bool make_lists(struct saving *s, struct tfd_model *m)
{
    size_t count = 0;

    for (const TFD_Variable *v = m->variables; v; v = v->next)
        count += !(v->flags & TFD_LOCAL);
    if (count == 0) {
        tfd_fail(&s->status->st, TFD_INVALID_ARGUMENT, "No variables to save");
        return false;
    }
    s->variables = tfd_arena_array(&m->arena, count, sizeof(TFD_Variable *));
    s->names = tfd_arena_array(&m->arena, count, sizeof(char *));
    s->slices = tfd_arena_array(&m->arena, count, sizeof(char *));
    if (!s->variables || !s->names || !s->slices) {
        (void)!tfd_arena_check(NULL, "a saver", &s->status->st);
        return false;
    }
    list_model(s, m);
    return true;
}

/* ---- Operations ---------------------------------------------------------- */

static TF_Output with_default(struct saving *s, const char *name, TF_Output x)
{
    const TFD_Attr shape = TFD_AttrShape("shape", NULL, 0);

    return TFD_Op(&s->at, "PlaceholderWithDefault", name, &x, 1, &shape, 1,
                  s->status);
}

/* Two, as in Python, where the first may be replaced at import. */
static void add_prefix(struct saving *s)
{
    TF_Output x = TFD_ConstString(&s->at, "filename/input", "model", s->status);

    s->prefix = with_default(s, "Const", with_default(s, "filename", x));
}

static TF_Output save_values(struct saving *s, TF_Output names,
                             TF_Output slices, const TF_Output *values)
{
    TF_OperationDescription *d =
        tfd_scope_begin(&s->at, "SaveV2", NULL, s->status);

    if (d) {
        TF_AddInput(d, s->prefix);
        TF_AddInput(d, names);
        TF_AddInput(d, slices);
        TF_AddInputList(d, values, s->count);
    }
    return tfd_scope_end(d, s->status);
}

static TF_Output add_save(struct saving *s)
{
    TF_Output names = TFD_ConstStrings(&s->at, "SaveV2/tensor_names", s->names,
                                       s->count, s->status);
    TF_Output slices = TFD_ConstStrings(&s->at, "SaveV2/shape_and_slices",
                                        s->slices, s->count, s->status);
    TF_Output *values = calloc((size_t)s->count, sizeof(*values)), save;

    if (!values) {
        tfd_fail(&s->status->st, TFD_RESOURCE_EXHAUSTED,
                 "no memory for %d values", s->count);
        return (TF_Output){NULL, 0};
    }
    for (int i = 0; i < s->count; i++)
        values[i] = TFD_Read(s->variables[i]);
    save = save_values(s, names, slices, values);
    free(values);
    return save;
}

/* The prefix again, when the files are there. */
static TF_Output add_saved(struct saving *s, TF_Operation *save)
{
    TF_OperationDescription *d =
        tfd_scope_begin(&s->at, "Identity", "control_dependency", s->status);

    if (d) {
        TF_AddInput(d, s->prefix);
        TF_AddControlInput(d, save);
    }
    return tfd_scope_end(d, s->status);
}

static TF_Operation *add_restore(struct saving *s)
{
    TF_Output names = TFD_ConstStrings(&s->at, "RestoreV2/tensor_names",
                                       s->names, s->count, s->status);
    TF_Output slices = TFD_ConstStrings(&s->at, "RestoreV2/shape_and_slices",
                                        s->slices, s->count, s->status);
    TF_DataType *types = calloc((size_t)s->count, sizeof(*types));
    TF_OperationDescription *d = NULL;

    if (!types)
        tfd_fail(&s->status->st, TFD_RESOURCE_EXHAUSTED,
                 "no memory for %d types", s->count);
    d = tfd_scope_begin(&s->at, "RestoreV2", NULL, s->status);
    if (d) {
        TF_AddInput(d, s->prefix);
        TF_AddInput(d, names);
        TF_AddInput(d, slices);
        for (int i = 0; i < s->count; i++)
            types[i] = TF_OperationOutputType(TFD_Read(s->variables[i]));
        TF_SetAttrTypeList(d, "dtypes", types, s->count);
    }
    free(types);
    return tfd_scope_end(d, s->status).oper;
}

static TF_Operation *add_assign(struct saving *s, TF_Operation *restore, int i)
{
    const TFD_Variable *v = s->variables[i];
    TFD_Scope at = tfd_scope_on(&s->at, v->handle->node->device);
    TF_Output in[] = {TFD_Handle(v), {restore, i}};
    bool resource = TF_OperationOutputType(in[0]) == TF_RESOURCE;

    in[1] = TFD_Op1(&at, "Identity", in[1], s->status);
    return TFD_Op(&at, resource ? "AssignVariableOp" : "Assign", NULL, in, 2,
                  NULL, 0, s->status)
        .oper;
}

static TF_Operation *add_restore_all(struct saving *s)
{
    TF_Operation *restore = add_restore(s), *all;
    TF_Operation **assigns = calloc((size_t)s->count, sizeof(TF_Operation *));

    if (!assigns)
        tfd_fail(&s->status->st, TFD_RESOURCE_EXHAUSTED,
                 "no memory for %d operations", s->count);
    for (int i = 0; i < s->count && tfd_model_ok(s->status); i++)
        assigns[i] = add_assign(s, restore, i);
    all = TFD_Group(&s->at, "restore_all", assigns, s->count, s->status);
    free(assigns);
    return all;
}

static void add_saver(struct saving *s, struct tfd_saver_ops *out)
{
    add_prefix(s);
    out->filename = s->prefix;
    out->save = add_saved(s, add_save(s).oper);
    out->restore = add_restore_all(s);
}

void tfd_saver_add(TFD_Scope *scope, const struct tfd_saved_variables *saved,
                   struct tfd_saver_ops *out, TF_Status *status)
{
    struct saving s = {.variables = saved->variables,
                       .names = saved->names,
                       .slices = saved->slices,
                       .count = saved->count,
                       .status = status};
    TFD_Scope *sub = TFD_SubScope(scope, "save", status);

    if (!sub)
        return;
    s.at = *sub;
    add_saver(&s, out);
}

static void name_saver(struct tfd_model *m, const struct tfd_saver_ops *ops,
                       struct tfd_status *st)
{
    m->saver.filename_tensor =
        tfd_model_format(m, st, "%s:0", TF_OperationName(ops->filename.oper));
    m->saver.save_tensor =
        tfd_model_format(m, st, "%s:0", TF_OperationName(ops->save.oper));
    m->saver.restore_op = ops->restore->node->name;
    m->saver.exists = true;
}

void TFD_AddSaver(TFD_Scope *scope, TF_Status *status)
{
    struct saving s = {.status = status};
    struct tfd_saver_ops ops;
    TFD_Scope *sub;

    if (!tfd_model_ok(status) || !make_lists(&s, scope->model))
        return;
    s.at = tfd_scope_on(scope, scope->device);
    s.at.prefix = TFD_STR_EMPTY;
    sub = TFD_SubScope(&s.at, "save", status);
    if (!sub)
        return;
    s.at = *sub;
    add_saver(&s, &ops);
    if (tfd_model_ok(status))
        name_saver(s.at.model, &ops, &status->st);
}
