/*
 * c_api_import.c - TF_GraphImportGraphDef() and its options.
 */
#include "client/c_api/capi.h"

#include "common/proto/graphdef.h"
#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "config/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An output or operation of the GraphDef that shall be returned. */
struct wanted {
    struct tfd_str name;
    int index;
};

struct TF_ImportGraphDefOptions {
    struct tfd_arena arena;
    struct tfd_str prefix;
    struct tfd_bytes map_from;   /* struct tfd_str */
    struct tfd_bytes map_to;     /* TF_Output */
    struct tfd_bytes control;    /* TF_Operation * */
    struct tfd_bytes outputs;    /* struct wanted */
    struct tfd_bytes operations; /* struct wanted */
    struct tfd_status st;        /* the first mistake */
};

struct TF_ImportGraphDefResults {
    int output_count, operation_count;
    TF_Output *outputs;
    TF_Operation **operations;
};

#define LIST_MAX ((size_t)16 << 20)
#define COUNT(list, type) ((int)((list).size / sizeof(type)))
#define ARRAY(list, type) ((type *)(void *)(list).data)

/* ---- Options ------------------------------------------------------------- */

TF_ImportGraphDefOptions *TF_NewImportGraphDefOptions(void)
{
    TF_ImportGraphDefOptions *o = calloc(1, sizeof(*o));

    if (!o)
        return NULL;
    tfd_arena_init(&o->arena, LIST_MAX);
    o->prefix = TFD_STR_EMPTY;
    tfd_bytes_init(&o->map_from, LIST_MAX);
    tfd_bytes_init(&o->map_to, LIST_MAX);
    tfd_bytes_init(&o->control, LIST_MAX);
    tfd_bytes_init(&o->outputs, LIST_MAX);
    tfd_bytes_init(&o->operations, LIST_MAX);
    return o;
}

void TF_DeleteImportGraphDefOptions(TF_ImportGraphDefOptions *opts)
{
    if (!opts)
        return;
    tfd_arena_deinit(&opts->arena);
    tfd_bytes_deinit(&opts->map_from);
    tfd_bytes_deinit(&opts->map_to);
    tfd_bytes_deinit(&opts->control);
    tfd_bytes_deinit(&opts->outputs);
    tfd_bytes_deinit(&opts->operations);
    free(opts);
}

static struct tfd_str keep_text(TF_ImportGraphDefOptions *o, struct tfd_str s)
{
    struct tfd_str copy = tfd_arena_str(&o->arena, s);

    (void)!tfd_arena_check(copy.data, "options of an import", &o->st);
    return copy;
}

void TF_ImportGraphDefOptionsSetPrefix(TF_ImportGraphDefOptions *opts,
                                       const char *prefix)
{
    opts->prefix = keep_text(opts, tfd_str_of(prefix));
    if (opts->prefix.size > 1 &&
        opts->prefix.data[opts->prefix.size - 1] == '/')
        opts->prefix.size--; /* one is put behind it anyway */
}

void TF_ImportGraphDefOptionsAddInputMapping(TF_ImportGraphDefOptions *opts,
                                             const char *src_name,
                                             int src_index, TF_Output dst)
{
    struct tfd_bytes text;
    struct tfd_str from;

    tfd_bytes_init(&text, TFD_NAME_SIZE_MAX);
    if (src_index == TFD_CONTROL)
        tfd_bytes_printf(&text, "^%s", src_name);
    else
        tfd_bytes_printf(&text, "%s:%d", src_name, src_index);
    if (tfd_bytes_ok(&text, "the name of a mapped input", &opts->st) ==
        TFD_OK) {
        from = keep_text(opts, tfd_bytes_view(&text));
        tfd_bytes_add(&opts->map_from, &from, sizeof(from));
        tfd_bytes_add(&opts->map_to, &dst, sizeof(dst));
    }
    tfd_bytes_deinit(&text);
}

void TF_ImportGraphDefOptionsAddControlDependency(
    TF_ImportGraphDefOptions *opts, TF_Operation *oper)
{
    tfd_bytes_add(&opts->control, &oper, sizeof(oper));
}

void TF_ImportGraphDefOptionsAddReturnOutput(TF_ImportGraphDefOptions *opts,
                                             const char *oper_name, int index)
{
    struct wanted w = {keep_text(opts, tfd_str_of(oper_name)), index};

    tfd_bytes_add(&opts->outputs, &w, sizeof(w));
}

int TF_ImportGraphDefOptionsNumReturnOutputs(
    const TF_ImportGraphDefOptions *opts)
{
    return COUNT(opts->outputs, struct wanted);
}

void TF_ImportGraphDefOptionsAddReturnOperation(TF_ImportGraphDefOptions *opts,
                                                const char *oper_name)
{
    struct wanted w = {keep_text(opts, tfd_str_of(oper_name)), 0};

    tfd_bytes_add(&opts->operations, &w, sizeof(w));
}

int TF_ImportGraphDefOptionsNumReturnOperations(
    const TF_ImportGraphDefOptions *opts)
{
    return COUNT(opts->operations, struct wanted);
}

static enum tfd_code check_options(const TF_ImportGraphDefOptions *o,
                                   struct tfd_status *st)
{
    TFD_TRY(tfd_status_copy(st, &o->st));
    TFD_TRY(tfd_bytes_ok(&o->map_from, "the list of mapped inputs", st));
    TFD_TRY(tfd_bytes_ok(&o->map_to, "the list of mapped inputs", st));
    TFD_TRY(tfd_bytes_ok(&o->control, "the list of control inputs", st));
    TFD_TRY(tfd_bytes_ok(&o->outputs, "the list of outputs", st));
    return tfd_bytes_ok(&o->operations, "the list of operations", st);
}

/* ---- Import; the lock is held -------------------------------------------- */

/* Both are outputs, or both are control edges. */
static enum tfd_code check_mapping(struct tfd_str from, struct tfd_edge to,
                                   struct tfd_str name, struct tfd_status *st)
{
    char index[16] = "";

    if (tfd_str_starts(from, "^") == (to.output == TFD_CONTROL))
        return TFD_OK;
    if (to.output != TFD_CONTROL)
        snprintf(index, sizeof(index), ":%d", to.output);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "input_map entry " TFD_STR_FMT "->%s" TFD_STR_FMT
                    "%s between control edge and non-control edge",
                    TFD_STR_ARG(from), *index ? "" : "^", TFD_STR_ARG(name),
                    index);
}

/* Whether the node has so many outputs is asked where one is used, as in
 * TensorFlow. */
static enum tfd_code resolve_map(const TF_Graph *g,
                                 const TF_ImportGraphDefOptions *o,
                                 struct tfd_edge *map_to, struct tfd_status *st)
{
    for (int i = 0; i < COUNT(o->map_to, TF_Output); i++) {
        TF_Output to = ARRAY(o->map_to, TF_Output)[i];

        if (!to.oper || to.oper->graph != g || to.index < TFD_CONTROL)
            return tfd_capi_edge(g, to, &map_to[i], st);
        map_to[i] = (struct tfd_edge){to.oper->node->id, to.index};
        TFD_TRY(check_mapping(ARRAY(o->map_from, struct tfd_str)[i], map_to[i],
                              to.oper->node->name, st));
    }
    return TFD_OK;
}

static enum tfd_code resolve_control(const TF_Graph *g,
                                     const TF_ImportGraphDefOptions *o,
                                     int32_t *control, struct tfd_status *st)
{
    for (int i = 0; i < COUNT(o->control, TF_Operation *); i++) {
        const TF_Operation *op = ARRAY(o->control, TF_Operation *)[i];

        if (!op || op->graph != g)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "a control dependency is no operation of this "
                            "graph");
        control[i] = op->node->id;
    }
    return TFD_OK;
}

/* An import found an op that is not registered: when it is "", say of which
 * node. */
static enum tfd_code explain(struct tfd_str graph, const struct tfd_status *why,
                             struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(graph), node;
    struct tfd_str name, op;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag != tensorflow_GraphDef_node_tag)
            continue;
        node = tfd_pb_reader_of(tfd_pb_str(&r, &f));
        name = op = TFD_STR_EMPTY;
        while (tfd_pb_next(&node, &f))
            if (f.tag == tensorflow_NodeDef_name_tag)
                name = tfd_pb_str(&node, &f);
            else if (f.tag == tensorflow_NodeDef_op_tag)
                op = tfd_pb_str(&node, &f);
        if (!op.size)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Node '" TFD_STR_FMT
                            "' does not specify an operation",
                            TFD_STR_ARG(name));
    }
    return tfd_status_copy(st, why);
}

static enum tfd_code import_nodes(TF_Graph *g, struct tfd_str bytes,
                                  const struct tfd_graphdef_options *options,
                                  int32_t *first, struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;

    if (tfd_graphdef_import(g->graph, bytes, options, first, &why) ==
        TFD_NOT_FOUND)
        return explain(bytes, &why, st);
    return tfd_status_copy(st, &why);
}

/* Imports and adopts; *first is the first new operation's number. */
static enum tfd_code import(TF_Graph *g, struct tfd_str bytes,
                            const TF_ImportGraphDefOptions *o, int32_t *first,
                            struct tfd_status *st)
{
    size_t maps = (size_t)COUNT(o->map_to, TF_Output);
    size_t controls = (size_t)COUNT(o->control, TF_Operation *);
    struct tfd_edge *map_to = calloc(maps + 1, sizeof(*map_to));
    int32_t *control = calloc(controls + 1, sizeof(*control));
    struct tfd_graphdef_options options = {
        .prefix = o->prefix,
        .map_from = ARRAY(o->map_from, struct tfd_str),
        .map_to = map_to,
        .map_count = (int)maps,
        .control = control,
        .control_count = (int)controls,
    };
    enum tfd_code rc = TFD_OK;

    if (!map_to || !control)
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for an import");
    if (rc == TFD_OK)
        rc = resolve_map(g, o, map_to, st);
    if (rc == TFD_OK)
        rc = resolve_control(g, o, control, st);
    if (rc == TFD_OK)
        rc = import_nodes(g, bytes, &options, first, st);
    if (rc == TFD_OK)
        rc = tfd_capi_adopt(g, *first, st);
    free(map_to);
    free(control);
    return rc;
}

/* ---- Results ------------------------------------------------------------- */

static TF_Operation *find_operation(const TF_Graph *g,
                                    const TF_ImportGraphDefOptions *o,
                                    int32_t first, struct tfd_str name)
{
    const struct tfd_node *n;
    struct tfd_bytes text;

    tfd_bytes_init(&text, 2 * TFD_NAME_SIZE_MAX);
    if (o->prefix.size) {
        tfd_bytes_add_str(&text, o->prefix);
        tfd_bytes_add(&text, "/", 1);
    }
    tfd_bytes_add_str(&text, name);
    n = tfd_graph_find(g->graph, tfd_bytes_view(&text));
    tfd_bytes_deinit(&text);
    return n && n->id >= first ? g->operations[n->id] : NULL;
}

/* -1 is the node's control output. */
static enum tfd_code check_output(TF_Output o, struct tfd_str name,
                                  struct tfd_status *st)
{
    int count = o.oper->node->out_count;

    if (o.index >= TFD_CONTROL && o.index < count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Invalid return output %d of node '" TFD_STR_FMT
                    "', which has %d output(s)",
                    o.index, TFD_STR_ARG(name), count);
}

/* The output that is asked for, which a mapping may have replaced. */
static enum tfd_code find_output(const TF_Graph *g,
                                 const TF_ImportGraphDefOptions *o,
                                 int32_t first, const struct wanted *w,
                                 TF_Output *out, struct tfd_status *st)
{
    char text[64];

    snprintf(text, sizeof(text), ":%d", w->index);
    for (int i = 0; i < COUNT(o->map_to, TF_Output); i++) {
        struct tfd_str from = ARRAY(o->map_from, struct tfd_str)[i];

        if (from.size == w->name.size + strlen(text) &&
            tfd_str_starts(from, w->name.data) &&
            tfd_str_is((struct tfd_str){from.data + w->name.size,
                                        from.size - w->name.size},
                       text)) {
            *out = ARRAY(o->map_to, TF_Output)[i];
            return check_output(*out, out->oper->node->name, st);
        }
    }
    *out = (TF_Output){find_operation(g, o, first, w->name), w->index};
    if (out->oper)
        return check_output(*out, w->name, st);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Requested return tensor '" TFD_STR_FMT
                    "%s' not found in graph def",
                    TFD_STR_ARG(w->name), text);
}

static enum tfd_code fill_results(const TF_Graph *g,
                                  const TF_ImportGraphDefOptions *o,
                                  int32_t first, TF_ImportGraphDefResults *r,
                                  struct tfd_status *st)
{
    for (int i = 0; i < r->output_count; i++)
        TFD_TRY(find_output(g, o, first, &ARRAY(o->outputs, struct wanted)[i],
                            &r->outputs[i], st));
    for (int i = 0; i < r->operation_count; i++) {
        const struct wanted *w = &ARRAY(o->operations, struct wanted)[i];

        r->operations[i] = find_operation(g, o, first, w->name);
        if (!r->operations[i])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Requested return node '" TFD_STR_FMT
                            "' not found in graph def",
                            TFD_STR_ARG(w->name));
    }
    return TFD_OK;
}

static TF_ImportGraphDefResults *new_results(const TF_ImportGraphDefOptions *o)
{
    TF_ImportGraphDefResults *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->output_count = COUNT(o->outputs, struct wanted);
    r->operation_count = COUNT(o->operations, struct wanted);
    r->outputs = calloc((size_t)r->output_count + 1, sizeof(*r->outputs));
    r->operations =
        calloc((size_t)r->operation_count + 1, sizeof(TF_Operation *));
    if (!r->outputs || !r->operations) {
        TF_DeleteImportGraphDefResults(r);
        return NULL;
    }
    return r;
}

static enum tfd_code check_prefix(struct tfd_str prefix, struct tfd_status *st)
{
    if (!prefix.size ||
        (tfd_graph_name_ok(prefix) && !tfd_str_starts(prefix, "_")))
        return TFD_OK;
    if (tfd_str_is(prefix, "/"))
        prefix.size = 0; /* a slash is put behind it */
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Imported node name prefix '" TFD_STR_FMT
                    "/' would lead to invalid node names",
                    TFD_STR_ARG(prefix));
}

static enum tfd_code import_locked(TF_Graph *g, const TF_Buffer *graph_def,
                                   const TF_ImportGraphDefOptions *o,
                                   TF_ImportGraphDefResults *r,
                                   struct tfd_status *st)
{
    struct tfd_str bytes = {graph_def->data, graph_def->length};
    struct tfd_pb_reader scan = tfd_pb_reader_of(bytes);
    struct tfd_pb_field f;
    enum tfd_code rc;
    int32_t first;

    TFD_TRY(check_options(o, st));
    while (tfd_pb_next(&scan, &f))
        ;
    if (tfd_pb_end(&scan, "GraphDef", NULL) != TFD_OK)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Invalid GraphDef");
    TFD_TRY(check_prefix(o->prefix, st));
    tfd_lock(&g->lock);
    rc = import(g, bytes, o, &first, st);
    if (rc == TFD_OK && (rc = fill_results(g, o, first, r, st)) != TFD_OK)
        tfd_capi_truncate(g, first);
    tfd_unlock(&g->lock);
    return rc;
}

TF_ImportGraphDefResults *
TF_GraphImportGraphDefWithResults(TF_Graph *graph, const TF_Buffer *graph_def,
                                  const TF_ImportGraphDefOptions *options,
                                  TF_Status *status)
{
    struct tfd_status *st = tfd_capi_status(status);
    TF_ImportGraphDefResults *r = new_results(options);

    if (!r) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for an import");
        return NULL;
    }
    if (import_locked(graph, graph_def, options, r, st) != TFD_OK) {
        TF_DeleteImportGraphDefResults(r);
        return NULL;
    }
    return r;
}

void TF_GraphImportGraphDefWithReturnOutputs(
    TF_Graph *graph, const TF_Buffer *graph_def,
    const TF_ImportGraphDefOptions *options, TF_Output *return_outputs,
    int num_return_outputs, TF_Status *status)
{
    TF_ImportGraphDefResults *r;

    if (num_return_outputs !=
        TF_ImportGraphDefOptionsNumReturnOutputs(options)) {
        tfd_fail(tfd_capi_status(status), TFD_INVALID_ARGUMENT,
                 "Expected 'num_return_outputs' to be %d, got %d",
                 TF_ImportGraphDefOptionsNumReturnOutputs(options),
                 num_return_outputs);
        return;
    }
    r = TF_GraphImportGraphDefWithResults(graph, graph_def, options, status);
    if (r && num_return_outputs)
        memcpy(return_outputs, r->outputs,
               (size_t)num_return_outputs * sizeof(*return_outputs));
    TF_DeleteImportGraphDefResults(r);
}

void TF_GraphImportGraphDef(TF_Graph *graph, const TF_Buffer *graph_def,
                            const TF_ImportGraphDefOptions *options,
                            TF_Status *status)
{
    TF_DeleteImportGraphDefResults(
        TF_GraphImportGraphDefWithResults(graph, graph_def, options, status));
}

void TF_ImportGraphDefResultsReturnOutputs(TF_ImportGraphDefResults *results,
                                           int *num_outputs,
                                           TF_Output **outputs)
{
    *num_outputs = results->output_count;
    *outputs = results->outputs;
}

void TF_ImportGraphDefResultsReturnOperations(TF_ImportGraphDefResults *results,
                                              int *num_opers,
                                              TF_Operation ***opers)
{
    *num_opers = results->operation_count;
    *opers = results->operations;
}

void TF_DeleteImportGraphDefResults(TF_ImportGraphDefResults *results)
{
    if (!results)
        return;
    free(results->outputs);
    free(results->operations);
    free(results);
}
