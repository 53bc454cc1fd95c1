/*
 * opdef.c - the set of definitions, and their OpDef messages.
 */
#include "common/graph/opdef.h"

#include "common/base/atomic.h"
#include "common/base/log.h"
#include "common/base/pbio.h"
#include "common/graph/attr.h"
#include "common/graph/deprecated.h"
#include "common/graph/graph.h"
#include "common/graph/opdef_parse.h"
#include "common/proto/graph.pb.h"

/* All definitions of the program take about 1 MiB; they are ours. */
#define ARENA_MAX ((size_t)64 << 20)

void tfd_op_set_init(struct tfd_op_set *s)
{
    *s = (struct tfd_op_set){.count = 0};
    tfd_arena_init(&s->arena, ARENA_MAX);
    tfd_map_init(&s->by_name);
}

void tfd_op_set_deinit(struct tfd_op_set *s)
{
    if (s->parser) {
        tfd_arena_deinit(&s->parser->arena);
        tfd_lock_deinit(&s->parser->lock);
    }
    s->parser = NULL;
    tfd_map_deinit(&s->by_name);
    tfd_arena_deinit(&s->arena);
    s->count = 0;
}

/* ---- Adding -------------------------------------------------------------- */

static enum tfd_code make_parser(struct tfd_op_set *s, struct tfd_status *st)
{
    if (s->parser)
        return TFD_OK;
    s->parser = tfd_arena_alloc(&s->arena, sizeof(*s->parser));
    TFD_TRY(tfd_arena_check(s->parser, "definitions of operations", st));
    tfd_lock_init(&s->parser->lock, TFD_LOCK_DEFINITION);
    tfd_arena_init(&s->parser->arena, ARENA_MAX);
    return TFD_OK;
}

enum tfd_code tfd_op_set_add(struct tfd_op_set *s, const struct tfd_opdef *def,
                             struct tfd_status *st)
{
    struct tfd_str name = tfd_str_of(def->name);
    struct tfd_op *op;

    if (!name.size)
        return tfd_fail(st, TFD_INTERNAL, "a definition without a name");
    if (tfd_op_index(s, name) >= 0)
        return tfd_fail(st, TFD_INTERNAL, "op %s is defined twice", def->name);

    TFD_TRY(make_parser(s, st));
    op = tfd_arena_alloc(&s->arena, sizeof(*op));
    TFD_TRY(tfd_arena_check(op, "definitions of operations", st));
    *op = (struct tfd_op){.def = def, .name = name, .index = s->count};
    if (!tfd_map_put(&s->by_name, name, (uintptr_t)op))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for op %s",
                        def->name);
    s->count++;
    return TFD_OK;
}

/* ---- Looking up ---------------------------------------------------------- */

static struct tfd_op *entry_of(const struct tfd_op_set *s, struct tfd_str name)
{
    uintptr_t value;

    if (!tfd_map_get(&s->by_name, name, &value))
        return NULL;
    return (struct tfd_op *)value;
}

static enum tfd_code need_parsed(struct tfd_op_parser *p, struct tfd_op *op,
                                 struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;

    if (TFD_LOAD_ACQUIRE(&op->parsed))
        return TFD_OK;
    tfd_lock(&p->lock);
    if (!op->parsed)
        rc = tfd_opdef_parse(op->def, &p->arena, op, st);
    if (rc == TFD_OK)
        TFD_STORE_RELEASE(&op->parsed, 1);
    tfd_unlock(&p->lock);
    return rc;
}

const struct tfd_op *tfd_op_find(const struct tfd_op_set *s,
                                 struct tfd_str name)
{
    struct tfd_op *op = entry_of(s, name);
    struct tfd_status st = TFD_STATUS_INIT;

    if (!op || need_parsed(s->parser, op, &st) == TFD_OK)
        return op;
    tfd_log(TFD_LOG_ERROR, "op_definition", "%s", st.text);
    tfd_status_clear(&st);
    return NULL;
}

int tfd_op_index(const struct tfd_op_set *s, struct tfd_str name)
{
    const struct tfd_op *op = entry_of(s, name);

    return op ? op->index : -1;
}

enum tfd_code tfd_op_set_check(const struct tfd_op_set *s,
                               struct tfd_status *st)
{
    const struct tfd_map_entry *e;
    size_t at = 0;

    while (tfd_map_next(&s->by_name, &at, &e))
        TFD_TRY(need_parsed(s->parser, (struct tfd_op *)e->value, st));
    return TFD_OK;
}

const struct tfd_op_attr *tfd_op_attr_find(const struct tfd_op *op,
                                           struct tfd_str name)
{
    for (int i = 0; i < op->attr_count; i++)
        if (tfd_str_eq(op->attrs[i].name, name))
            return &op->attrs[i];
    return NULL;
}

/* ---- OpDef --------------------------------------------------------------- */

#define ARG_TAG(name) tensorflow_OpDef_ArgDef_##name##_tag
#define ATTR_TAG(name) tensorflow_OpDef_AttrDef_##name##_tag
#define OP_TAG(name) tensorflow_OpDef_##name##_tag

static void put_attr_name(struct tfd_bytes *b, uint32_t tag,
                          const struct tfd_op *op, int attr)
{
    if (attr >= 0)
        tfd_pb_put_str(b, tag, op->attrs[attr].name);
}

static void put_arg(struct tfd_bytes *b, uint32_t tag, const struct tfd_op *op,
                    const struct tfd_op_arg *arg)
{
    size_t mark = tfd_pb_begin(b, tag);

    tfd_pb_put_str(b, ARG_TAG(name), arg->name);
    tfd_pb_put_int(b, ARG_TAG(type), (int)arg->dtype);
    put_attr_name(b, ARG_TAG(type_attr), op, arg->type_attr);
    put_attr_name(b, ARG_TAG(number_attr), op, arg->number_attr);
    put_attr_name(b, ARG_TAG(type_list_attr), op, arg->list_attr);
    tfd_pb_put_bool(b, ARG_TAG(is_ref), arg->ref);
    tfd_pb_finish(b, mark);
}

static bool restricts(const struct tfd_op_attr *a)
{
    return a->string_count ||
           (a->kind == TFD_ATTR_TYPE && a->types != TFD_OP_TYPES_ALL);
}

static void put_allowed(struct tfd_bytes *b, const struct tfd_op_attr *a)
{
    size_t mark = tfd_pb_begin(b, ATTR_TAG(allowed_values));
    int types[TFD_DTYPE_END], n = 0;

    for (int i = 1; i < TFD_DTYPE_END; i++)
        if (a->kind == TFD_ATTR_TYPE && a->types >> i & 1)
            types[n++] = i;
    if (a->string_count)
        tfd_attr_put_strs(b, a->strings, a->string_count);
    else
        tfd_attr_put_types(b, types, n);
    tfd_pb_finish(b, mark);
}

static void put_attr(struct tfd_bytes *b, const struct tfd_op_attr *a)
{
    size_t mark = tfd_pb_begin(b, OP_TAG(attr)), type;

    tfd_pb_put_str(b, ATTR_TAG(name), a->name);
    type = tfd_pb_begin(b, ATTR_TAG(type));
    tfd_bytes_printf(b, a->list ? "list(%s)" : "%s",
                     tfd_attr_kind_name(a->kind));
    tfd_pb_finish(b, type);
    if (a->has_default)
        tfd_pb_put_str_always(b, ATTR_TAG(default_value), a->default_value);
    tfd_pb_put_bool(b, ATTR_TAG(has_minimum), a->has_minimum);
    tfd_pb_put_int(b, ATTR_TAG(minimum), a->minimum);
    if (restricts(a))
        put_allowed(b, a);
    tfd_pb_finish(b, mark);
}

static void put_deprecation(struct tfd_bytes *b, const struct tfd_op *op)
{
    const struct tfd_deprecated *row = tfd_deprecated_find(op->name);
    size_t mark;

    if (!row)
        return;
    mark = tfd_pb_begin(b, OP_TAG(deprecation));
    tfd_pb_put_int(b, tensorflow_OpDeprecation_version_tag, row->version);
    tfd_pb_put_str(b, tensorflow_OpDeprecation_explanation_tag,
                   tfd_str_of(row->why));
    tfd_pb_finish(b, mark);
}

void tfd_op_encode(const struct tfd_op *op, struct tfd_bytes *out)
{
    tfd_pb_put_str(out, OP_TAG(name), op->name);
    for (int i = 0; i < op->in_count; i++)
        put_arg(out, OP_TAG(input_arg), op, &op->in[i]);
    for (int i = 0; i < op->out_count; i++)
        put_arg(out, OP_TAG(output_arg), op, &op->out[i]);
    for (int i = 0; i < op->attr_count; i++)
        put_attr(out, &op->attrs[i]);
    tfd_pb_put_bool(out, OP_TAG(is_stateful), op->flags & TFD_OP_STATEFUL);
    tfd_pb_put_bool(out, OP_TAG(is_commutative),
                    op->flags & TFD_OP_COMMUTATIVE);
    tfd_pb_put_bool(out, OP_TAG(allows_uninitialized_input),
                    op->flags & TFD_OP_UNINITIALIZED_OK);
    put_deprecation(out, op);
}
