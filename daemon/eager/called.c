/*
 * called.c - see called.h.
 *
 * A function is called by an op of its name or by an attribute that names it,
 * alone or in a list.  The search is a list of functions that grows at its end
 * while it is walked from its beginning.
 */
#include "daemon/eager/called.h"

#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"

#include <stdlib.h>

struct search {
    const struct tfd_eager_library *library;
    struct tfd_map seen; /* name -> nothing */
    const struct tfd_eager_function **found;
    size_t count; /* of as many places as the library has functions, and one */
    bool failed;
};

static void note_name(struct search *s, struct tfd_str name)
{
    const struct tfd_eager_function *f =
        tfd_eager_library_find(s->library, name);
    uintptr_t value;

    if (!f || tfd_map_get(&s->seen, f->name, &value))
        return;
    if (!tfd_map_put(&s->seen, f->name, 1))
        s->failed = true;
    else
        s->found[s->count++] = f;
}

static void note_func(struct search *s, struct tfd_str name_attr_list)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(name_attr_list);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_NameAttrList_name_tag && f.wire == TFD_PB_BYTES)
            note_name(s, f.bytes);
}

static void note_list(struct search *s, struct tfd_str list)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(list);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_AttrValue_ListValue_func_tag &&
            f.wire == TFD_PB_BYTES)
            note_func(s, f.bytes);
}

static void note_value(struct search *s, struct tfd_str attr_value)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(attr_value);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.wire != TFD_PB_BYTES)
            continue;
        if (f.tag == tensorflow_AttrValue_func_tag)
            note_func(s, f.bytes);
        else if (f.tag == tensorflow_AttrValue_list_tag)
            note_list(s, f.bytes);
    }
}

/* What cannot be read, whoever reads the function says so. */
static void note_attr(struct search *s, struct tfd_str entry)
{
    struct tfd_pb_entry e;

    if (tfd_pb_map_entry(entry, &e))
        note_value(s, e.value);
}

static void note_node(struct search *s, struct tfd_str node)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(node);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.wire != TFD_PB_BYTES)
            continue;
        if (f.tag == tensorflow_NodeDef_op_tag)
            note_name(s, f.bytes);
        else if (f.tag == tensorflow_NodeDef_attr_tag)
            note_attr(s, f.bytes);
    }
}

static void note_function(struct search *s, struct tfd_str def)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(def);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_FunctionDef_node_def_tag &&
            f.wire == TFD_PB_BYTES)
            note_node(s, f.bytes);
}

static enum tfd_code begin_search(struct search *s,
                                  const struct tfd_eager_library *l,
                                  struct tfd_status *st)
{
    *s = (struct search){.library = l};
    s->found = calloc(l->by_name.count + 1, sizeof(*s->found));
    if (!s->found)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for functions");
    tfd_map_init(&s->seen);
    return TFD_OK;
}

/* All but `without`. */
static enum tfd_code end_search(struct search *s,
                                const struct tfd_eager_function *without,
                                struct tfd_bytes *library,
                                struct tfd_status *st)
{
    for (size_t i = 0; i < s->count; i++) {
        note_function(s, s->found[i]->def);
        if (s->found[i] != without)
            tfd_pb_put_str_always(library,
                                  tensorflow_FunctionDefLibrary_function_tag,
                                  s->found[i]->def);
    }
    tfd_map_deinit(&s->seen);
    free(s->found);
    if (s->failed)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for functions");
    return TFD_OK;
}

enum tfd_code tfd_eager_called(const struct tfd_eager_library *l,
                               const struct tfd_eager_function *f,
                               struct tfd_bytes *library, struct tfd_status *st)
{
    struct search s;

    TFD_TRY(begin_search(&s, l, st));
    note_name(&s, f->name);
    return end_search(&s, f, library, st);
}

enum tfd_code tfd_eager_called_by(const struct tfd_eager_library *l,
                                  const struct tfd_attr *attrs, int attr_count,
                                  struct tfd_bytes *library,
                                  struct tfd_status *st)
{
    struct search s;

    TFD_TRY(begin_search(&s, l, st));
    for (int i = 0; i < attr_count; i++)
        note_value(&s, attrs[i].value);
    return end_search(&s, NULL, library, st);
}
