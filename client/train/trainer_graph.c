/*
 * trainer_graph.c - see trainer_graph.h.
 *
 * Names of a MetaGraphDef become operations here, once; what the graph lacks is
 * added under "tfd_train/": a read of the global step that waits for the train
 * operation, and a question to each variable whether it has a value.
 */
#include "client/train/trainer_graph.h"

#include "client/train/metagraph.h"
#include "client/train/model.h"
#include "client/train/placement.h"
#include "client/train/training_saver.h"
#include "common/proto/meta_graph.pb.h"

#include <string.h>

#define ARENA_MAX ((size_t)64 << 20)
#define RUNNER(field) tensorflow_QueueRunnerDef_##field##_tag

struct building {
    struct tfd_trainer_graph *t;
    struct tfd_meta_graph meta;
    const struct tfd_trainer_graph_options *o;
    TF_Status *status; /* for calls of the C API */
    TFD_Scope *scope;
    struct tfd_status *st;
};

/* ---- Names to operations ------------------------------------------------- */

static enum tfd_code find_output(const struct building *b, struct tfd_str name,
                                 const char *what, TF_Output *out)
{
    struct tfd_edge e;

    if (tfd_graph_endpoint(b->t->graph->graph, name, &e, b->st) != TFD_OK) {
        tfd_status_context(b->st, "%s of the MetaGraphDef", what);
        return b->st->code;
    }
    *out = (TF_Output){b->t->graph->operations[e.node], e.output};
    return TFD_OK;
}

static enum tfd_code find_operation(const struct building *b,
                                    struct tfd_str name, const char *what,
                                    TF_Operation **out)
{
    const struct tfd_node *n = tfd_graph_find(b->t->graph->graph, name);

    if (!n)
        return tfd_fail(b->st, TFD_INVALID_ARGUMENT,
                        "%s of the MetaGraphDef, '" TFD_STR_FMT
                        "', is no operation of its graph",
                        what, TFD_STR_ARG(name));
    *out = b->t->graph->operations[n->id];
    return TFD_OK;
}

static int list_length(const struct building *b, const char *collection)
{
    struct tfd_meta_list l = tfd_meta_graph_list(&b->meta, collection);
    struct tfd_str value;
    int count = 0;

    while (tfd_meta_list_next(&l, &value))
        count++;
    return count;
}

static void *array(const struct building *b, int count, size_t size)
{
    void *at = tfd_arena_array(&b->t->arena, (size_t)count + 1, size);

    (void)!tfd_arena_check(at, "a MetaGraphDef's operations", b->st);
    return at;
}

/* ---- Import and placement ------------------------------------------------ */

static enum tfd_code import(const struct building *b)
{
    TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
    const TF_Buffer def = {b->meta.graph_def.data, b->meta.graph_def.size,
                           NULL};

    if (!o)
        return tfd_fail(b->st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for an import");
    TF_GraphImportGraphDef(b->t->graph, &def, o, b->status);
    TF_DeleteImportGraphDefOptions(o);
    if (TF_GetCode(b->status) != TF_OK)
        return tfd_status_copy(b->st, &b->status->st);
    return TFD_OK;
}

static enum tfd_code list_local(const struct building *b, int32_t *local,
                                int *count)
{
    struct tfd_meta_list l = tfd_meta_graph_list(&b->meta, "local_variables");
    struct tfd_variable_names names;
    struct tfd_str def;
    TF_Output v = {NULL, 0};

    while (tfd_meta_list_next(&l, &def)) {
        TFD_TRY(tfd_variable_names_read(def, &names, b->st));
        TFD_TRY(find_output(b, names.variable, "a local variable", &v));
        local[(*count)++] = v.oper->node->id;
    }
    return TFD_OK;
}

static enum tfd_code place_model(const struct building *b)
{
    struct tfd_placement p = {.graph = b->t->graph->graph,
                              .ps_tasks = b->o->ps_tasks};
    int32_t *local;

    if (b->o->ps_tasks <= 0 || !b->o->worker_device || !*b->o->worker_device)
        return TFD_OK;
    TFD_TRY(tfd_device_name_parse(tfd_str_of(b->o->worker_device), &p.worker,
                                  b->st));
    local = array(b, list_length(b, "local_variables"), sizeof(*local));
    if (!local)
        return b->st->code;
    TFD_TRY(list_local(b, local, &p.local_count));
    p.local = local;
    return tfd_placement_apply(&p, b->st);
}

/* ---- Variables ----------------------------------------------------------- */

/* A node of ours beside the variable. */
static TF_Output ask_variable(const struct building *b, const char *op,
                              const char *name, TF_Output v,
                              TF_Operation *after, bool typed)
{
    TFD_Scope at = tfd_scope_on(b->scope, v.oper->node->device);
    TF_OperationDescription *d;

    if (after)
        TFD_AddScopeControl(&at, after, b->status);
    d = tfd_scope_begin(&at, op, name, b->status);
    if (d) {
        TF_AddInput(d, v);
        if (typed)
            TF_SetAttrType(d, "dtype", TF_INT64);
    }
    return tfd_scope_end(d, b->status);
}

static TF_Output read_step(const struct building *b, TF_Output v,
                           const char *name, TF_Operation *after)
{
    if (TF_OperationOutputType(v) == TF_RESOURCE)
        return ask_variable(b, "ReadVariableOp", name, v, after, true);
    return ask_variable(b, "Identity", name, v, after, false);
}

static enum tfd_code add_variable(const struct building *b, struct tfd_str def)
{
    struct tfd_trainer_graph *t = b->t;
    struct tfd_variable_names names;
    TF_Output v;

    TFD_TRY(tfd_variable_names_read(def, &names, b->st));
    TFD_TRY(find_output(b, names.variable, "a variable", &v));
    TFD_TRY(find_operation(b, names.initializer, "an initializer",
                           &t->init[t->init_count++]));
    t->ready[t->ready_count++] =
        TF_OperationOutputType(v) == TF_RESOURCE
            ? ask_variable(b, "VarIsInitializedOp", "is_initialized", v, NULL,
                           false)
            : ask_variable(b, "IsVariableInitialized", "is_initialized", v,
                           NULL, false);
    return TFD_OK;
}

static enum tfd_code add_variables(const struct building *b)
{
    struct tfd_meta_list l = tfd_meta_graph_list(&b->meta, "variables");
    int count = list_length(b, "variables");
    struct tfd_str def;

    b->t->init = array(b, count, sizeof(TF_Operation *));
    b->t->ready = array(b, count, sizeof(*b->t->ready));
    if (b->st->code != TFD_OK)
        return b->st->code;
    while (tfd_meta_list_next(&l, &def))
        TFD_TRY(add_variable(b, def));
    return tfd_status_copy(b->st, &b->status->st);
}

static enum tfd_code add_local_init(const struct building *b)
{
    struct tfd_meta_list l = tfd_meta_graph_list(&b->meta, "local_variables");
    struct tfd_trainer_graph *t = b->t;
    struct tfd_variable_names names;
    struct tfd_str value;

    t->local_init = array(b,
                          list_length(b, "local_variables") +
                              list_length(b, "local_init_op") +
                              list_length(b, "table_initializer"),
                          sizeof(TF_Operation *));
    if (!t->local_init)
        return b->st->code;
    while (tfd_meta_list_next(&l, &value)) {
        TFD_TRY(tfd_variable_names_read(value, &names, b->st));
        TFD_TRY(find_operation(b, names.initializer, "a local initializer",
                               &t->local_init[t->local_init_count++]));
    }
    l = tfd_meta_graph_list(&b->meta, "local_init_op");
    while (tfd_meta_list_next(&l, &value))
        TFD_TRY(find_operation(b, value, "local_init_op",
                               &t->local_init[t->local_init_count++]));
    l = tfd_meta_graph_list(&b->meta, "table_initializer");
    while (tfd_meta_list_next(&l, &value))
        TFD_TRY(find_operation(b, value, "table_initializer",
                               &t->local_init[t->local_init_count++]));
    return TFD_OK;
}

/* ---- The step ------------------------------------------------------------ */

/* The first value of a collection; false when it has none. */
static bool first_of(const struct building *b, const char *collection,
                     struct tfd_str *value)
{
    struct tfd_meta_list l = tfd_meta_graph_list(&b->meta, collection);

    return tfd_meta_list_next(&l, value);
}

/* A VariableDef in new MetaGraphDefs, a tensor's name in old ones, by its usual
 * name otherwise. */
static enum tfd_code find_step(const struct building *b, TF_Output *out)
{
    struct tfd_variable_names names;
    struct tfd_str value = TFD_STR("global_step:0");

    if (first_of(b, "global_step", &value) &&
        tfd_variable_names_read(value, &names, NULL) == TFD_OK &&
        names.variable.size)
        value = names.variable;
    TFD_TRY(find_output(b, value, "the global step", out));
    if (TF_OperationOutputType(*out) == TF_RESOURCE ||
        TF_OperationOutputType(*out) == TF_INT64)
        return TFD_OK;
    return tfd_fail(b->st, TFD_INVALID_ARGUMENT,
                    "the global step '" TFD_STR_FMT "' is no int64 variable",
                    TFD_STR_ARG(value));
}

static enum tfd_code add_step(const struct building *b)
{
    struct tfd_trainer_graph *t = b->t;
    struct tfd_str name;
    TF_Output step;

    if (!first_of(b, "train_op", &name))
        return tfd_fail(b->st, TFD_INVALID_ARGUMENT,
                        "the MetaGraphDef has no collection train_op, which "
                        "names the operation to run in each step");
    TFD_TRY(find_operation(b, name, "train_op", &t->train_op));
    TFD_TRY(find_step(b, &step));
    t->step = read_step(b, step, "global_step", NULL);
    t->step_after = read_step(b, step, "global_step_after", t->train_op);
    if (first_of(b, "losses", &name))
        TFD_TRY(find_output(b, name, "collection losses", &t->loss));
    return tfd_status_copy(b->st, &b->status->st);
}

/* Whoever trains has the files. */
static struct tfd_str file_device(const struct building *b)
{
    if (b->o->ps_tasks <= 0 || !b->o->worker_device)
        return TFD_STR_EMPTY;
    return tfd_str_of(b->o->worker_device);
}

static enum tfd_code add_saver(const struct building *b)
{
    const struct tfd_saver_def *s = &b->meta.saver;
    struct tfd_trainer_graph *t = b->t;

    if (!s->save_tensor.size || !s->restore_op.size) {
        TFD_Scope at = tfd_scope_on(b->scope, file_device(b));

        return tfd_trainer_graph_add_saver(t, &b->meta, &at, b->status, b->st);
    }
    t->max_to_keep = s->max_to_keep;
    TFD_TRY(find_output(b, s->filename_tensor, "the saver", &t->filename));
    TFD_TRY(find_output(b, s->save_tensor, "the saver", &t->save));
    return find_operation(b, s->restore_op, "the saver", &t->restore);
}

/* All of them or none. */
static enum tfd_code add_sync(const struct building *b)
{
    struct tfd_trainer_graph *t = b->t;
    const struct {
        const char *collection;
        TF_Operation **op;
    } parts[] = {
        {"tfd_sync_chief_init", &t->sync_chief_init},
        {"tfd_sync_local_init", &t->sync_local_init},
        {"tfd_sync_init_tokens", &t->sync_tokens},
        {"tfd_sync_update", &t->sync_update},
    };
    struct tfd_str name;

    if (!first_of(b, "tfd_sync_update", &name))
        return TFD_OK;
    for (int i = 0; i < TFD_COUNT(parts); i++) {
        if (!first_of(b, parts[i].collection, &name))
            return tfd_fail(b->st, TFD_INVALID_ARGUMENT,
                            "the MetaGraphDef has collection tfd_sync_update "
                            "but no %s",
                            parts[i].collection);
        TFD_TRY(find_operation(b, name, parts[i].collection, parts[i].op));
    }
    return TFD_OK;
}

static enum tfd_code add_eval(const struct building *b)
{
    struct tfd_meta_list l = tfd_meta_graph_list(&b->meta, "tfd_eval");
    struct tfd_trainer_graph *t = b->t;
    struct tfd_str name;

    t->eval = array(b, list_length(b, "tfd_eval"), sizeof(*t->eval));
    if (!t->eval)
        return b->st->code;
    while (tfd_meta_list_next(&l, &name))
        TFD_TRY(find_output(b, name, "collection tfd_eval",
                            &t->eval[t->eval_count++]));
    return TFD_OK;
}

/* ---- Queues -------------------------------------------------------------- */

/* Packed, or one number. */
static void add_closed_code(struct tfd_queue_runner *r,
                            struct tfd_pb_reader *reader,
                            const struct tfd_pb_field *f)
{
    struct tfd_str packed;
    uint64_t code = f->number;

    if (f->wire != TFD_PB_BYTES) {
        r->closed_codes |= code < 32 ? 1u << code : 0;
        return;
    }
    packed = tfd_pb_str(reader, f);
    while (tfd_pb_packed_varint(&packed, &code))
        r->closed_codes |= code < 32 ? 1u << code : 0;
}

static enum tfd_code read_queue_runner(const struct building *b,
                                       struct tfd_str def,
                                       struct tfd_queue_runner *r)
{
    static const char what[] = "collection queue_runners";
    struct tfd_pb_reader reader = tfd_pb_reader_of(def);
    struct tfd_pb_field f;

    while (tfd_pb_next(&reader, &f)) {
        if (f.tag == RUNNER(enqueue_op_name))
            TFD_TRY(find_operation(b, tfd_pb_str(&reader, &f), what,
                                   &r->enqueue[r->enqueue_count++]));
        else if (f.tag == RUNNER(close_op_name))
            TFD_TRY(
                find_operation(b, tfd_pb_str(&reader, &f), what, &r->close));
        else if (f.tag == RUNNER(cancel_op_name))
            TFD_TRY(
                find_operation(b, tfd_pb_str(&reader, &f), what, &r->cancel));
        else if (f.tag == RUNNER(queue_closed_exception_types))
            add_closed_code(r, &reader, &f);
    }
    TFD_TRY(tfd_pb_end(&reader, "QueueRunnerDef", b->st));
    if (!r->close || !r->cancel)
        return tfd_fail(b->st, TFD_INVALID_ARGUMENT,
                        "collection queue_runners of the MetaGraphDef: entry "
                        "%d does not name what closes and cancels its queue",
                        b->t->queue_runner_count);
    if (!r->closed_codes)
        r->closed_codes = 1u << TFD_OUT_OF_RANGE;
    return TFD_OK;
}

static int count_enqueues(struct tfd_str def)
{
    struct tfd_pb_reader reader = tfd_pb_reader_of(def);
    struct tfd_pb_field f;
    int count = 0;

    while (tfd_pb_next(&reader, &f))
        count += f.tag == RUNNER(enqueue_op_name);
    return count;
}

static enum tfd_code add_queue_runners(const struct building *b)
{
    struct tfd_meta_list l = tfd_meta_graph_list(&b->meta, "queue_runners");
    struct tfd_trainer_graph *t = b->t;
    struct tfd_str def;
    int threads = 0;

    t->queue_runners =
        array(b, list_length(b, "queue_runners"), sizeof(*t->queue_runners));
    while (t->queue_runners && tfd_meta_list_next(&l, &def)) {
        struct tfd_queue_runner *r = &t->queue_runners[t->queue_runner_count];
        int count = count_enqueues(def);

        if (count > TFD_QUEUE_THREADS_MAX - threads)
            return tfd_fail(b->st, TFD_RESOURCE_EXHAUSTED,
                            "collection queue_runners of the MetaGraphDef asks "
                            "for %d threads; the limit is %d",
                            threads + count, TFD_QUEUE_THREADS_MAX);
        threads += count;
        *r = (struct tfd_queue_runner){
            .enqueue = array(b, count, sizeof(TF_Operation *))};
        if (!r->enqueue)
            return b->st->code;
        TFD_TRY(read_queue_runner(b, def, r));
        t->queue_runner_count++;
    }
    return b->st->code;
}

/* ---- All of it ----------------------------------------------------------- */

static enum tfd_code build_training(struct building *b, struct tfd_str meta)
{
    TFD_TRY(tfd_meta_graph_read(meta, &b->meta, b->st));
    TFD_TRY(import(b));
    TFD_TRY(place_model(b));
    b->scope = TFD_SubScope(b->scope, "tfd_train", b->status);
    TFD_TRY(tfd_status_copy(b->st, &b->status->st));
    TFD_TRY(add_variables(b));
    TFD_TRY(add_local_init(b));
    TFD_TRY(add_step(b));
    TFD_TRY(add_saver(b));
    TFD_TRY(add_sync(b));
    TFD_TRY(add_queue_runners(b));
    return add_eval(b);
}

enum tfd_code tfd_trainer_graph_init(struct tfd_trainer_graph *t,
                                     struct tfd_str meta,
                                     const struct tfd_trainer_graph_options *o,
                                     struct tfd_status *st)
{
    struct tfd_status own = TFD_STATUS_INIT;
    struct building b = {.t = t, .o = o, .status = TF_NewStatus(), .st = &own};
    TFD_Scope *root;
    enum tfd_code rc;

    memset(t, 0, sizeof(*t));
    tfd_arena_init(&t->arena, ARENA_MAX);
    t->graph = TF_NewGraph();
    root = t->graph ? TFD_NewScope(t->graph) : NULL;
    b.scope = root;
    if (root && b.status)
        rc = build_training(&b, meta);
    else
        rc = tfd_fail(&own, TFD_RESOURCE_EXHAUSTED, "no memory for a graph");
    TFD_DeleteScope(root);
    TF_DeleteStatus(b.status);
    if (rc != TFD_OK) {
        tfd_trainer_graph_deinit(t);
        return tfd_status_copy(st, &own);
    }
    return TFD_OK;
}

void tfd_trainer_graph_deinit(struct tfd_trainer_graph *t)
{
    TF_DeleteGraph(t->graph);
    tfd_arena_deinit(&t->arena);
    memset(t, 0, sizeof(*t));
}
