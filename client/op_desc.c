/*
 * op_desc.c - from a description to a node; see op_desc.h.
 *
 * The graph infers types and lengths from the inputs alone, which is enough
 * unless an operation has several lists.  The calls that added the inputs say
 * where each list ends; that is written down as attributes first.
 */
#include "client/op_desc.h"

#include "common/attr.h"
#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

/* Attributes of one node hold its constant, as large as a message may be. */
#define ARENA_MAX ((size_t)TFD_GRAPH_SIZE_MAX)
#define LIST_SIZE_MAX ((size_t)16 << 20) /* far above the counts' limits */

void tfd_op_desc_value_init(struct tfd_bytes *b)
{
    tfd_bytes_init(b, TFD_CAPI_MESSAGE_MAX);
}

TF_OperationDescription *tfd_op_desc_new(TF_Graph *g, struct tfd_str op,
                                         struct tfd_str name)
{
    TF_OperationDescription *d = calloc(1, sizeof(*d));

    if (!d)
        return NULL;
    d->graph = g;
    tfd_arena_init(&d->arena, ARENA_MAX);
    tfd_bytes_init(&d->edges, LIST_SIZE_MAX);
    tfd_bytes_init(&d->args, LIST_SIZE_MAX);
    tfd_bytes_init(&d->controls, LIST_SIZE_MAX);
    tfd_bytes_init(&d->attrs, LIST_SIZE_MAX);
    tfd_bytes_init(&d->colocation, LIST_SIZE_MAX);
    d->op = tfd_arena_str(&d->arena, op);
    d->name = tfd_arena_str(&d->arena, name);
    d->device = TFD_STR_EMPTY;
    if (!d->op.data || !d->name.data) {
        tfd_op_desc_free(d);
        return NULL;
    }
    return d;
}

void tfd_op_desc_free(TF_OperationDescription *desc)
{
    if (!desc)
        return;
    tfd_bytes_deinit(&desc->edges);
    tfd_bytes_deinit(&desc->args);
    tfd_bytes_deinit(&desc->controls);
    tfd_bytes_deinit(&desc->attrs);
    tfd_bytes_deinit(&desc->colocation);
    tfd_arena_deinit(&desc->arena);
    free(desc);
}

/* ---- Attributes ---------------------------------------------------------- */

static struct tfd_attr *attrs_of(TF_OperationDescription *d, size_t *count)
{
    *count = d->attrs.size / sizeof(struct tfd_attr);
    return (struct tfd_attr *)(void *)d->attrs.data;
}

static struct tfd_attr *find_attr(TF_OperationDescription *d,
                                  struct tfd_str name)
{
    size_t count;
    struct tfd_attr *attrs = attrs_of(d, &count);

    for (size_t i = 0; i < count; i++)
        if (tfd_str_eq(attrs[i].name, name))
            return &attrs[i];
    return NULL;
}

void tfd_op_desc_attr(TF_OperationDescription *desc, struct tfd_str name,
                      struct tfd_str value)
{
    struct tfd_attr *old = find_attr(desc, name);
    struct tfd_attr new = {old ? old->name : tfd_arena_str(&desc->arena, name),
                           tfd_arena_str(&desc->arena, value)};

    if (!new.name.data || !new.value.data) {
        tfd_fail(&desc->st, TFD_RESOURCE_EXHAUSTED,
                 "no memory for attribute " TFD_STR_FMT, TFD_STR_ARG(name));
        return;
    }
    if (old)
        old->value = new.value;
    else
        tfd_bytes_add(&desc->attrs, &new, sizeof(new));
}

void tfd_op_desc_take(TF_OperationDescription *desc, const char *name,
                      struct tfd_bytes *take_value)
{
    if (tfd_bytes_ok(take_value, "an attribute", &desc->st) == TFD_OK)
        tfd_op_desc_attr(desc, tfd_str_of(name), tfd_bytes_view(take_value));
    tfd_bytes_deinit(take_value);
}

/* ---- Lengths of lists ---------------------------------------------------- */

static const struct tfd_edge *edges_of(const TF_OperationDescription *d)
{
    return (const struct tfd_edge *)(const void *)d->edges.data;
}

static void put_types(const TF_OperationDescription *d,
                      const struct tfd_desc_arg *arg, struct tfd_bytes *value)
{
    int *types = calloc((size_t)arg->count + 1, sizeof(*types));

    if (!types) {
        value->failed = true;
        return;
    }
    for (int32_t i = 0; i < arg->count; i++)
        types[i] = (int)tfd_dtype_base(
            tfd_graph_type(d->graph->graph, edges_of(d)[arg->first + i]));
    tfd_attr_put_types(value, types, arg->count);
    free(types);
}

static void name_length(TF_OperationDescription *d, const struct tfd_op *op,
                        int attr, const struct tfd_desc_arg *arg)
{
    const struct tfd_op_attr *a = &op->attrs[attr];
    struct tfd_bytes value;

    if (find_attr(d, a->name))
        return;
    tfd_op_desc_value_init(&value);
    if (a->list)
        put_types(d, arg, &value);
    else
        tfd_attr_put_int(&value, arg->count);
    tfd_op_desc_take(d, a->name.data, &value);
}

static void name_lengths(TF_OperationDescription *d)
{
    const struct tfd_op *op = tfd_op_find(d->graph->graph->ops, d->op);
    const struct tfd_desc_arg *args = (const void *)d->args.data;

    if (!op || d->args.size / sizeof(*args) != (size_t)op->in_count)
        return;
    for (int i = 0; i < op->in_count; i++) {
        const struct tfd_op_arg *arg = &op->in[i];
        int attr = arg->number_attr >= 0 ? arg->number_attr : arg->list_attr;

        if (attr >= 0)
            name_length(d, op, attr, &args[i]);
        else if (args[i].list)
            tfd_fail(&d->st, TFD_INVALID_ARGUMENT,
                     "Node '" TFD_STR_FMT "': argument '" TFD_STR_FMT
                     "' is a single tensor and was given as a list",
                     TFD_STR_ARG(d->name), TFD_STR_ARG(arg->name));
    }
}

/* ---- Colocation ---------------------------------------------------------- */

static int compare_strs(const void *a, const void *b)
{
    return tfd_str_cmp(*(const struct tfd_str *)a, *(const struct tfd_str *)b);
}

static enum tfd_code add_given_classes(TF_OperationDescription *d,
                                       struct tfd_status *st)
{
    const struct tfd_attr *given = find_attr(d, TFD_STR("_class"));
    struct tfd_attr_list list;
    struct tfd_pb_field f;
    struct tfd_str values;
    int64_t count;

    if (!given)
        return TFD_OK;
    TFD_TRY(tfd_attr_list(given->value, TFD_ATTR_STRING, &values, &count, st));
    list = tfd_attr_list_of(values);
    while (tfd_attr_list_next(&list, &f))
        tfd_bytes_add(&d->colocation, &f.bytes, sizeof(f.bytes));
    return tfd_pb_end(&list.reader, "_class", st);
}

/* One sorted list without duplicates, as TensorFlow writes it. */
static enum tfd_code put_classes(TF_OperationDescription *d,
                                 struct tfd_status *st)
{
    struct tfd_str *names;
    struct tfd_bytes value;
    int count, kept = 0;

    if (!d->colocation.size)
        return TFD_OK;
    TFD_TRY(add_given_classes(d, st));
    TFD_TRY(tfd_bytes_ok(&d->colocation, "_class", st));
    names = (struct tfd_str *)(void *)d->colocation.data;
    count = (int)(d->colocation.size / sizeof(*names));
    qsort(names, (size_t)count, sizeof(*names), compare_strs);
    for (int i = 0; i < count; i++)
        if (i == 0 || !tfd_str_eq(names[i], names[kept - 1]))
            names[kept++] = names[i];
    tfd_op_desc_value_init(&value);
    tfd_attr_put_strs(&value, names, kept);
    tfd_op_desc_take(d, "_class", &value);
    return d->st.code == TFD_OK ? TFD_OK : tfd_status_copy(st, &d->st);
}

/* ---- The node ------------------------------------------------------------ */

static enum tfd_code check_lists(const TF_OperationDescription *d,
                                 struct tfd_status *st)
{
    TFD_TRY(tfd_bytes_ok(&d->edges, "the list of inputs", st));
    TFD_TRY(tfd_bytes_ok(&d->args, "the list of inputs", st));
    TFD_TRY(tfd_bytes_ok(&d->controls, "the list of control inputs", st));
    return tfd_bytes_ok(&d->attrs, "the list of attributes", st);
}

enum tfd_code tfd_op_desc_finish(TF_OperationDescription *desc,
                                 TF_Operation **out, struct tfd_status *st)
{
    struct tfd_node_spec spec = {
        .name = desc->name,
        .op = desc->op,
        .device = desc->device,
        .any_name = true,
        .in = edges_of(desc),
        .in_count = (int32_t)(desc->edges.size / sizeof(struct tfd_edge)),
        .control = (const int32_t *)(const void *)desc->controls.data,
        .control_count = (int32_t)(desc->controls.size / sizeof(int32_t)),
    };
    size_t attr_count;

    name_lengths(desc);
    if (desc->st.code != TFD_OK)
        return tfd_status_copy(st, &desc->st);
    TFD_TRY(put_classes(desc, st));
    TFD_TRY(check_lists(desc, st));
    spec.attrs = attrs_of(desc, &attr_count);
    spec.attr_count = (int32_t)attr_count;
    return tfd_capi_add(desc->graph, &spec, out, st);
}
