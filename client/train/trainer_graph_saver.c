/*
 * trainer_graph_saver.c - a saver for a MetaGraphDef that has none, as Python's
 * export_meta_graph() writes it unless it is told otherwise: all variables
 * under the names that Python's Saver gives them.
 */
#include "client/train/training_saver.h"

#include "client/train/metagraph.h"
#include "client/train/model.h"
#include "common/proto/meta_graph.pb.h"

/* Python's default. */
#define MAX_TO_KEEP 5
#define SLICE(field) tensorflow_SaveSliceInfoDef_##field##_tag
#define DIMS_MAX 32

/* Part of a variable that was split. */
struct slice {
    struct tfd_str full_name; /* "": it was not */
    int64_t shape[DIMS_MAX], offset[DIMS_MAX], length[DIMS_MAX];
    int shape_count, offset_count, length_count;
};

struct adding {
    const struct tfd_meta_graph *meta;
    struct tfd_trainer_graph *t;
    TFD_Scope *scope;
    struct tfd_saved_variables saved;
    TF_Status *status;
    struct tfd_status *st;
};

/* ---- Names --------------------------------------------------------------- */

static void add_dim(int64_t *dims, int *count, uint64_t value)
{
    if (*count < DIMS_MAX)
        dims[*count] = (int64_t)value;
    ++*count; /* too many are noticed by whoever reads the count */
}

static void read_dims(struct tfd_pb_reader *r, const struct tfd_pb_field *f,
                      int64_t *dims, int *count)
{
    struct tfd_str packed;
    uint64_t value;

    if (f->wire != TFD_PB_BYTES) {
        add_dim(dims, count, f->number);
        return;
    }
    packed = tfd_pb_str(r, f);
    while (tfd_pb_packed_varint(&packed, &value))
        add_dim(dims, count, value);
}

static enum tfd_code read_slice(struct tfd_str def, struct slice *s,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(def);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == SLICE(full_name))
            s->full_name = tfd_pb_str(&r, &f);
        else if (f.tag == SLICE(full_shape))
            read_dims(&r, &f, s->shape, &s->shape_count);
        else if (f.tag == SLICE(var_offset))
            read_dims(&r, &f, s->offset, &s->offset_count);
        else if (f.tag == SLICE(var_shape))
            read_dims(&r, &f, s->length, &s->length_count);
    }
    TFD_TRY(tfd_pb_end(&r, "SaveSliceInfoDef", st));
    if (s->shape_count > DIMS_MAX || s->offset_count != s->shape_count ||
        s->length_count != s->shape_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a part of variable '" TFD_STR_FMT
                        "' has %d dimensions, %d offsets and %d lengths",
                        TFD_STR_ARG(s->full_name), s->shape_count,
                        s->offset_count, s->length_count);
    return TFD_OK;
}

static enum tfd_code find_slice(struct tfd_str variable_def, struct slice *s,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(variable_def);
    struct tfd_pb_field f;

    *s = (struct slice){.full_name = TFD_STR_EMPTY};
    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_VariableDef_save_slice_info_def_tag)
            TFD_TRY(read_slice(tfd_pb_str(&r, &f), s, st));
    return tfd_pb_end(&r, "VariableDef", st);
}

/* "4 2 0,2:0,2" */
static struct tfd_str slice_text(const struct adding *a, const struct slice *s)
{
    struct tfd_str text = TFD_STR_EMPTY;
    struct tfd_bytes b;

    tfd_bytes_init(&b, 4096);
    for (int i = 0; i < s->shape_count; i++)
        tfd_bytes_printf(&b, "%lld ", (long long)s->shape[i]);
    for (int i = 0; i < s->shape_count; i++)
        tfd_bytes_printf(&b, "%s%lld,%lld", i ? ":" : "",
                         (long long)s->offset[i], (long long)s->length[i]);
    if (tfd_bytes_ok(&b, "a part of a variable", a->st) == TFD_OK)
        text = tfd_arena_str(&a->t->arena, tfd_bytes_view(&b));
    tfd_bytes_deinit(&b);
    return text;
}

/* ---- Variables ----------------------------------------------------------- */

static TF_Output add_read(const struct adding *a, TF_Output v)
{
    TFD_Scope at = tfd_scope_on(a->scope, v.oper->node->device);
    TFD_Attr type;
    TF_DataType dtype;

    if (TF_OperationOutputType(v) != TF_RESOURCE)
        return TFD_Op1(&at, "Identity", v, a->status);
    TF_OperationGetAttrType(v.oper, "dtype", &dtype, a->status);
    type = TFD_AttrType("dtype", dtype);
    return TFD_Op(&at, "ReadVariableOp", NULL, &v, 1, &type, 1, a->status);
}

static enum tfd_code add_variable(struct adding *a, struct tfd_str def)
{
    TFD_Variable *v = tfd_arena_alloc(&a->t->arena, sizeof(*v));
    struct tfd_variable_names names;
    struct tfd_str name, text = TFD_STR("");
    struct slice slice;
    struct tfd_edge e;

    TFD_TRY(tfd_arena_check(v, "a saver", a->st));
    TFD_TRY(tfd_variable_names_read(def, &names, a->st));
    TFD_TRY(find_slice(def, &slice, a->st));
    TFD_TRY(tfd_graph_endpoint(a->t->graph->graph, names.variable, &e, a->st));
    v->handle = a->t->graph->operations[e.node];
    v->read = add_read(a, (TF_Output){v->handle, 0});
    name = slice.full_name.size ? slice.full_name : v->handle->node->name;
    if (slice.full_name.size)
        text = slice_text(a, &slice);
    name = tfd_arena_str(&a->t->arena, name);
    if (!name.data || !text.data)
        return tfd_arena_check(NULL, "a saver", a->st);
    a->saved.variables[a->saved.count] = v;
    a->saved.names[a->saved.count] = name.data;
    a->saved.slices[a->saved.count++] = text.data;
    return tfd_status_copy(a->st, &a->status->st);
}

static enum tfd_code make_lists(struct adding *a, int count)
{
    struct tfd_arena *arena = &a->t->arena;
    size_t n = (size_t)count + 1;

    a->saved.variables = tfd_arena_array(arena, n, sizeof(TFD_Variable *));
    a->saved.names = tfd_arena_array(arena, n, sizeof(char *));
    a->saved.slices = tfd_arena_array(arena, n, sizeof(char *));
    if (!a->saved.variables || !a->saved.names || !a->saved.slices)
        return tfd_arena_check(NULL, "a saver", a->st);
    return TFD_OK;
}

enum tfd_code tfd_trainer_graph_add_saver(struct tfd_trainer_graph *t,
                                          const struct tfd_meta_graph *meta,
                                          TFD_Scope *scope, TF_Status *status,
                                          struct tfd_status *st)
{
    struct adding a = {
        .meta = meta, .t = t, .scope = scope, .status = status, .st = st};
    struct tfd_meta_list l = tfd_meta_graph_list(meta, "variables");
    struct tfd_saver_ops ops;
    struct tfd_str def;

    if (t->init_count == 0)
        return TFD_OK;
    TFD_TRY(make_lists(&a, t->init_count));
    while (tfd_meta_list_next(&l, &def))
        TFD_TRY(add_variable(&a, def));
    tfd_saver_add(scope, &a.saved, &ops, status);
    TFD_TRY(tfd_status_copy(st, &status->st));
    t->filename = ops.filename;
    t->save = ops.save;
    t->restore = ops.restore;
    t->max_to_keep = MAX_TO_KEEP;
    return TFD_OK;
}
