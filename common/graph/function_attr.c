/*
 * function_attr.c - walks the messages inside an AttrValue with a stack of
 * readers and writes them again, as attr_depth.c walks them.
 *
 *     AttrValue.placeholder -> the call's AttrValue, whole
 *     AttrValue.list -> ListValue.func -> NameAttrList.attr -> entry.value
 *     AttrValue.func -> NameAttrList ...
 */
#include "common/graph/function_attr.h"

#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "config/limits.h"

#define VALUE(name) tensorflow_AttrValue_##name##_tag

enum message { ATTR_VALUE, LIST_VALUE, NAME_ATTR_LIST, ATTR_ENTRY };

static const struct step {
    enum message in;
    uint32_t tag;
    enum message to;
} steps[] = {
    {ATTR_VALUE, VALUE(list), LIST_VALUE},
    {ATTR_VALUE, VALUE(func), NAME_ATTR_LIST},
    {LIST_VALUE, tensorflow_AttrValue_ListValue_func_tag, NAME_ATTR_LIST},
    {NAME_ATTR_LIST, tensorflow_NameAttrList_attr_tag, ATTR_ENTRY},
    {ATTR_ENTRY, 2, ATTR_VALUE}, /* value of a map's entry */
};

struct level {
    struct tfd_pb_reader reader;
    enum message in;
    size_t mark; /* where its message began */
};

struct walk {
    const struct tfd_func *call;
    struct tfd_bytes out;
    struct level stack[TFD_PROTO_DEPTH_MAX];
    int depth;
    bool found; /* a placeholder */
    struct tfd_status *st;
};

static const struct step *step_from(enum message in,
                                    const struct tfd_pb_field *f)
{
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (steps[i].in == in && steps[i].tag == f->tag &&
            f->wire == TFD_PB_BYTES)
            return &steps[i];
    return NULL;
}

static void copy_field(struct tfd_bytes *out, const struct tfd_pb_field *f)
{
    if (f->wire == TFD_PB_BYTES) {
        tfd_pb_put_str_always(out, f->tag, f->bytes);
        return;
    }
    tfd_pb_put_varint(out, (uint64_t)f->tag << 3 | f->wire);
    if (f->wire == TFD_PB_VARINT)
        tfd_pb_put_varint(out, f->number);
    else
        for (int i = 0; i < (f->wire == TFD_PB_FIXED64 ? 8 : 4); i++) {
            char byte = (char)(f->number >> 8 * i);

            tfd_bytes_add(out, &byte, 1);
        }
}

static enum tfd_code put_bound(struct walk *w, struct tfd_str name)
{
    w->found = true;
    for (int32_t i = 0; i < w->call->attr_count; i++)
        if (tfd_str_eq(w->call->attrs[i].name, name)) {
            tfd_bytes_add_str(&w->out, w->call->attrs[i].value);
            return TFD_OK;
        }
    return tfd_fail(w->st, TFD_INVALID_ARGUMENT,
                    "Function " TFD_STR_FMT " instantiated without the attr "
                    "'" TFD_STR_FMT "' that its body asks for",
                    TFD_STR_ARG(w->call->name), TFD_STR_ARG(name));
}

static enum tfd_code go_down(struct walk *w, const struct step *down,
                             const struct tfd_pb_field *f)
{
    if (w->depth == TFD_PROTO_DEPTH_MAX)
        return tfd_fail(w->st, TFD_INVALID_ARGUMENT,
                        "an attribute in function " TFD_STR_FMT
                        " is nested deeper than %d messages",
                        TFD_STR_ARG(w->call->name), TFD_PROTO_DEPTH_MAX);
    w->stack[w->depth++] = (struct level){tfd_pb_reader_of(f->bytes), down->to,
                                          tfd_pb_begin(&w->out, f->tag)};
    return TFD_OK;
}

static enum tfd_code rewrite(struct walk *w, struct tfd_str value)
{
    w->stack[w->depth++] =
        (struct level){tfd_pb_reader_of(value), ATTR_VALUE, 0};
    while (w->depth > 0) {
        struct level *l = &w->stack[w->depth - 1];
        const struct step *down;
        struct tfd_pb_field f;

        if (!tfd_pb_next(&l->reader, &f)) {
            TFD_TRY(tfd_pb_end(&l->reader, "AttrValue", w->st));
            if (--w->depth > 0)
                tfd_pb_finish(&w->out, l->mark);
            continue;
        }
        down = step_from(l->in, &f);
        if (down)
            TFD_TRY(go_down(w, down, &f));
        else if (l->in == ATTR_VALUE && f.tag == VALUE(placeholder))
            TFD_TRY(put_bound(w, tfd_pb_str(&l->reader, &f)));
        else
            copy_field(&w->out, &f);
    }
    return tfd_bytes_ok(&w->out, "an attribute", w->st);
}

/* Most attributes are numbers and types. */
static bool may_hold_any(struct tfd_str value)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(value);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == VALUE(placeholder) || f.tag == VALUE(func) ||
            f.tag == VALUE(list))
            return true;
    return false;
}

enum tfd_code tfd_function_attr(const struct tfd_func *call,
                                struct tfd_arena *arena, struct tfd_str *value,
                                struct tfd_status *st)
{
    struct walk w = {.call = call, .st = st};
    enum tfd_code rc;

    if (!may_hold_any(*value))
        return TFD_OK;
    tfd_bytes_init(&w.out, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = rewrite(&w, *value);
    if (rc == TFD_OK && w.found) {
        *value = tfd_arena_str(arena, tfd_bytes_view(&w.out));
        rc = tfd_arena_check(value->data, "an attribute", st);
    }
    tfd_bytes_deinit(&w.out);
    return rc;
}
