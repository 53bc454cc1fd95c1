/*
 * data_library.c - see data_library.h.
 *
 * Functions go to the end of the list when they are first seen, and the list is
 * gone through once.
 */
#include "kernels/data_graph/data_library.h"

#include "common/base/pbio.h"
#include "common/graph/function.h"
#include "common/proto/graph.pb.h"
#include "config/limits.h"

#include <string.h>

struct finding {
    struct tfd_data_library *l;
    const struct tfd_graph *library;
    struct tfd_status *st;
};

void tfd_data_library_init(struct tfd_data_library *l)
{
    memset(l, 0, sizeof(*l));
    tfd_arena_init(&l->arena, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_map_init(&l->by_name);
}

void tfd_data_library_deinit(struct tfd_data_library *l)
{
    tfd_map_deinit(&l->by_name);
    tfd_arena_deinit(&l->arena);
}

/* ---- Names --------------------------------------------------------------- */

static enum tfd_code add_name(struct finding *f, struct tfd_str name)
{
    const struct tfd_function *function = tfd_function_find(f->library, name);
    struct tfd_data_function *d;
    uintptr_t known;

    if (!function || tfd_map_get(&f->l->by_name, name, &known))
        return TFD_OK;
    d = tfd_arena_alloc(&f->l->arena, sizeof(*d));
    TFD_TRY(tfd_arena_check(d, "functions of a dataset", f->st));
    d->function = function;
    d->library = f->library;
    if (!tfd_map_put(&f->l->by_name, function->op.name, (uintptr_t)function))
        return tfd_arena_check(NULL, "functions of a dataset", f->st);
    if (f->l->last)
        f->l->last->next = d;
    else
        f->l->first = d;
    f->l->last = d;
    return TFD_OK;
}

static struct tfd_str name_in(struct tfd_str name_attr_list)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(name_attr_list);
    struct tfd_str name = TFD_STR_EMPTY;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_NameAttrList_name_tag && f.wire == TFD_PB_BYTES)
            name = f.bytes;
    return name;
}

struct tfd_str tfd_data_library_name(struct tfd_str attr)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(attr);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_AttrValue_func_tag && f.wire == TFD_PB_BYTES)
            return name_in(f.bytes);
    return TFD_STR_EMPTY;
}

static enum tfd_code add_list(struct finding *f, struct tfd_str list)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(list);
    struct tfd_pb_field field;

    while (tfd_pb_next(&r, &field))
        if (field.tag == tensorflow_AttrValue_ListValue_func_tag &&
            field.wire == TFD_PB_BYTES)
            TFD_TRY(add_name(f, name_in(field.bytes)));
    return TFD_OK;
}

static enum tfd_code add_attrs(struct finding *f, const struct tfd_attr *attrs,
                               int32_t count)
{
    struct tfd_pb_field field;

    for (int32_t i = 0; i < count; i++) {
        struct tfd_pb_reader r = tfd_pb_reader_of(attrs[i].value);

        TFD_TRY(add_name(f, tfd_data_library_name(attrs[i].value)));
        while (tfd_pb_next(&r, &field))
            if (field.tag == tensorflow_AttrValue_list_tag &&
                field.wire == TFD_PB_BYTES)
                TFD_TRY(add_list(f, field.bytes));
    }
    return TFD_OK;
}

/* ---- All ----------------------------------------------------------------- */

static enum tfd_code add_callees(struct finding *f,
                                 const struct tfd_function *function)
{
    for (int32_t i = 0; i < function->node_count; i++) {
        const struct tfd_function_node *n = &function->nodes[i];

        TFD_TRY(add_name(f, n->op));
        TFD_TRY(add_attrs(f, n->attrs, n->attr_count));
    }
    return TFD_OK;
}

enum tfd_code tfd_data_library_fill(struct tfd_data_library *l,
                                    const struct tfd_data_nodes *g,
                                    struct tfd_status *st)
{
    struct finding f = {.l = l, .st = st};

    for (int32_t i = 0; i < g->count; i++) {
        const struct tfd_data_node *n = g->node[i];

        if (!n->dataset || !n->dataset->recipe->function)
            continue;
        f.library = tfd_rt_function_library(n->dataset->recipe->function);
        TFD_TRY(add_attrs(&f, n->attrs, n->attr_count));
    }
    for (struct tfd_data_function *d = l->first; d; d = d->next) {
        f.library = d->library;
        TFD_TRY(add_callees(&f, d->function));
    }
    return TFD_OK;
}

enum tfd_code tfd_data_library_use(const struct tfd_tensor *dataset,
                                   tfd_data_library_fn *fn, void *arg,
                                   struct tfd_status *st)
{
    struct tfd_data_nodes g;
    struct tfd_data_library l;
    enum tfd_code rc;

    tfd_data_nodes_init(&g);
    tfd_data_library_init(&l);
    rc = tfd_data_nodes_fill(&g, dataset, st);
    if (rc == TFD_OK)
        rc = tfd_data_library_fill(&l, &g, st);
    if (rc == TFD_OK)
        rc = fn(arg, &g, &l, st);
    tfd_data_library_deinit(&l);
    tfd_data_nodes_deinit(&g);
    return rc;
}

const struct tfd_function *
tfd_data_library_find(const struct tfd_data_library *l, struct tfd_str name)
{
    uintptr_t value;

    return tfd_map_get(&l->by_name, name, &value)
               ? (const struct tfd_function *)value
               : NULL;
}

/* ---- State --------------------------------------------------------------- */

static bool ends_with(struct tfd_str s, const char *end)
{
    size_t size = strlen(end);

    return s.size >= size && memcmp(s.data + s.size - size, end, size) == 0;
}

/* TensorFlow lets datasets be stateful, and what it is to branch and to loop;
 * what is in branches and bodies it looks at on its own. */
static bool is_allowed(struct tfd_str op)
{
    return ends_with(op, "Dataset") || ends_with(op, "DatasetV2") ||
           tfd_str_is(op, "Assert") || tfd_str_is(op, "If") ||
           tfd_str_is(op, "While");
}

enum tfd_code tfd_data_library_check(const struct tfd_data_library *l,
                                     struct tfd_status *st)
{
    for (struct tfd_data_function *d = l->first; d; d = d->next)
        for (int32_t i = 0; i < d->function->node_count; i++) {
            struct tfd_str name = d->function->nodes[i].op;
            const struct tfd_op *op = tfd_op_find(d->library->ops, name);

            if (op && op->flags & TFD_OP_STATEFUL && !is_allowed(name))
                return tfd_fail(st, TFD_FAILED_PRECONDITION,
                                TFD_STR_FMT " is stateful.", TFD_STR_ARG(name));
        }
    return TFD_OK;
}

/* ---- Writing ------------------------------------------------------------- */

void tfd_data_library_put(const struct tfd_data_library *l,
                          struct tfd_bytes *out)
{
    size_t mark = tfd_pb_begin(out, tensorflow_GraphDef_library_tag);

    for (struct tfd_data_function *d = l->first; d; d = d->next)
        tfd_pb_put_str_always(out, tensorflow_FunctionDefLibrary_function_tag,
                              d->function->def);
    tfd_pb_finish(out, mark);
    mark = tfd_pb_begin(out, tensorflow_GraphDef_versions_tag);
    tfd_pb_put_int(out, tensorflow_VersionDef_producer_tag,
                   TFD_GRAPH_DEF_VERSION);
    tfd_pb_finish(out, mark);
}
