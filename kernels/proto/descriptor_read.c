/*
 * descriptor_read.c - the messages, enums and extensions of one file
 * (descriptor.h).
 *
 * Messages stand in a list in which nested ones are appended behind those that
 * they stand in; so nothing recurses.
 */
#include "kernels/proto/descriptor.h"

#include "common/base/pbio.h"
#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

enum {
    FILE_MESSAGE = 4,
    FILE_ENUM = 5,
    FILE_EXTENSION = 7,
    MESSAGE_NAME = 1,
    MESSAGE_FIELD = 2,
    MESSAGE_NESTED = 3,
    MESSAGE_ENUM = 4,
    MESSAGE_RANGE = 5,
    MESSAGE_EXTENSION = 6,
    MESSAGE_OPTIONS = 7,
    MESSAGE_ONEOF = 8,
    OPTIONS_MAP_ENTRY = 7,
    OPTIONS_FEATURES = 12,
    ENUM_NAME = 1,
    ENUM_VALUE = 2,
    ENUM_OPTIONS = 3,
    ENUM_OPTIONS_FEATURES = 7,
};

/* ---- Features ------------------------------------------------------------ */

/* FeatureSet: 0 is no choice. */
static void choose_feature(const struct tfd_pb_field *f,
                           struct tfd_proto_features *out)
{
    const uint64_t v = f->number;

    if (f->wire != TFD_PB_VARINT || v == 0)
        return;
    if (f->tag == 1) /* field_presence: IMPLICIT */
        out->is_implicit = v == 2;
    else if (f->tag == 2) /* enum_type: CLOSED */
        out->is_closed = v == 2;
    else if (f->tag == 3) /* repeated_field_encoding: PACKED */
        out->is_packed = v == 1;
    else if (f->tag == 4) /* utf8_validation: VERIFY */
        out->is_utf8 = v == 2;
    else if (f->tag == 5) /* message_encoding: DELIMITED */
        out->is_delimited = v == 2;
}

bool tfd_proto_read_features(struct tfd_str options, uint32_t tag,
                             struct tfd_proto_features *out)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(options), set;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag != tag || f.wire != TFD_PB_BYTES)
            continue;
        set = tfd_pb_reader_of(f.bytes);
        while (tfd_pb_next(&set, &f))
            choose_feature(&f, out);
        if (set.failed)
            return false;
    }
    return !r.failed;
}

/* ---- Enums --------------------------------------------------------------- */

static int compare_value_names(const void *a, const void *b)
{
    return tfd_str_cmp(((const struct tfd_proto_value *)a)->name,
                       ((const struct tfd_proto_value *)b)->name);
}

static int compare_numbers(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

static bool read_enum_value(struct tfd_str bytes, struct tfd_proto_value *out)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_pb_field f;

    out->name = TFD_STR_EMPTY;
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == 1)
            out->name = tfd_pb_str(&r, &f);
        else if (f.tag == 2)
            out->number = tfd_pb_int32(&r, &f);
    }
    return !r.failed;
}

static enum tfd_code count_more(struct tfd_proto_file *f, int count)
{
    f->pool->field_count += count;
    if (f->pool->field_count > TFD_PROTO_FIELDS_MAX)
        return tfd_fail(f->st, TFD_RESOURCE_EXHAUSTED,
                        "descriptors of %lld fields; at most %d can be read",
                        (long long)f->pool->field_count, TFD_PROTO_FIELDS_MAX);
    return TFD_OK;
}

static enum tfd_code sort_values(struct tfd_proto_file *f,
                                 struct tfd_proto_enum *e)
{
    if (e->count == 0)
        return tfd_proto_file_fail(f, e->symbol.name, "an enum has no values");
    e->first = e->values[0].number;
    if (!e->is_closed && e->first != 0)
        return tfd_proto_file_fail(f, e->symbol.name,
                                   "the first value of an open enum is not 0");
    for (int i = 0; i < e->count; i++)
        e->numbers[i] = e->values[i].number;
    qsort(e->values, (size_t)e->count, sizeof(*e->values), compare_value_names);
    qsort(e->numbers, (size_t)e->count, sizeof(int32_t), compare_numbers);
    for (int i = 1; i < e->count; i++)
        if (tfd_str_eq(e->values[i - 1].name, e->values[i].name))
            return tfd_proto_file_fail(f, e->values[i].name,
                                       "this is defined twice");
    return TFD_OK;
}

static enum tfd_code fill_enum(struct tfd_proto_file *f,
                               const struct tfd_proto_features *features,
                               struct tfd_str bytes, struct tfd_proto_enum *e,
                               struct tfd_str *name)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_proto_features own = *features;
    struct tfd_pb_field field;

    e->count = 0;
    while (tfd_pb_next(&r, &field)) {
        if (field.tag == ENUM_NAME)
            *name = tfd_pb_str(&r, &field);
        else if (field.tag == ENUM_OPTIONS &&
                 !tfd_proto_read_features(tfd_pb_str(&r, &field),
                                          ENUM_OPTIONS_FEATURES, &own))
            r.failed = true;
        else if (field.tag == ENUM_VALUE &&
                 !read_enum_value(tfd_pb_str(&r, &field),
                                  &e->values[e->count++]))
            r.failed = true;
    }
    e->is_closed = own.is_closed;
    return r.failed ? tfd_proto_file_damaged(f) : TFD_OK;
}

enum tfd_code tfd_proto_read_enum(struct tfd_proto_file *f,
                                  struct tfd_str scope,
                                  const struct tfd_proto_features *features,
                                  struct tfd_str bytes)
{
    struct tfd_arena *a = &f->pool->arena;
    struct tfd_proto_enum *e = tfd_arena_alloc(a, sizeof(*e));
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_str name = TFD_STR_EMPTY;
    struct tfd_pb_field field;
    size_t count = 0;

    TFD_TRY(tfd_arena_check(e, "enums", f->st));
    while (tfd_pb_next(&r, &field))
        count += field.tag == ENUM_VALUE;
    TFD_TRY(count_more(f, (int)count));
    e->values = tfd_arena_array(a, count + 1, sizeof(*e->values));
    e->numbers = tfd_arena_array(a, count + 1, sizeof(*e->numbers));
    TFD_TRY(
        tfd_arena_check(e->values && e->numbers ? e : NULL, "enums", f->st));
    TFD_TRY(fill_enum(f, features, bytes, e, &name));
    e->symbol.kind = TFD_PROTO_IS_ENUM;
    e->symbol.file = f->number;
    TFD_TRY(tfd_proto_file_name(f, scope, name, &e->symbol.name));
    TFD_TRY(sort_values(f, e));
    return tfd_proto_file_add(f, &e->symbol);
}

/* ---- Extensions ---------------------------------------------------------- */

static enum tfd_code read_extension(struct tfd_proto_file *f,
                                    struct tfd_str scope,
                                    const struct tfd_proto_features *features,
                                    struct tfd_str bytes)
{
    struct tfd_proto_extension *e =
        tfd_arena_alloc(&f->pool->arena, sizeof(*e));

    TFD_TRY(tfd_arena_check(e, "extensions", f->st));
    TFD_TRY(count_more(f, 1));
    TFD_TRY(tfd_proto_read_field(f, features, bytes, &e->field, &e->of_name));
    e->symbol.kind = TFD_PROTO_IS_EXTENSION;
    e->symbol.file = f->number;
    e->scope = scope;
    TFD_TRY(tfd_proto_file_name(f, scope, e->field.name, &e->symbol.name));
    e->field.name = e->symbol.name;
    e->field.is_implicit = false;
    if (e->field.oneof >= 0)
        return tfd_proto_file_fail(f, e->field.name,
                                   "an extension is in a oneof");
    e->next = f->extensions;
    f->extensions = e;
    return tfd_proto_file_add(f, &e->symbol);
}

/* ---- Messages ------------------------------------------------------------ */

static enum tfd_code append_message(struct tfd_proto_file *f,
                                    struct tfd_str scope,
                                    const struct tfd_proto_features *features,
                                    struct tfd_str bytes)
{
    struct tfd_proto_message *m = tfd_arena_alloc(&f->pool->arena, sizeof(*m));
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_str name = TFD_STR_EMPTY;
    struct tfd_pb_field field;

    TFD_TRY(tfd_arena_check(m, "messages", f->st));
    TFD_TRY(count_more(f, 1));
    m->features = *features;
    m->bytes = bytes;
    while (tfd_pb_next(&r, &field)) {
        if (field.tag == MESSAGE_NAME)
            name = tfd_pb_str(&r, &field);
        m->count += field.tag == MESSAGE_FIELD;
        m->oneof_count += field.tag == MESSAGE_ONEOF;
        m->range_count += field.tag == MESSAGE_RANGE;
    }
    if (r.failed)
        return tfd_proto_file_damaged(f);
    m->symbol.kind = TFD_PROTO_IS_MESSAGE;
    m->symbol.file = f->number;
    TFD_TRY(tfd_proto_file_name(f, scope, name, &m->symbol.name));
    if (f->last)
        f->last->next = m;
    else
        f->first = m;
    f->last = m;
    return tfd_proto_file_add(f, &m->symbol);
}

static bool read_range(struct tfd_str bytes, int32_t *out)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == 1 || f.tag == 2)
            out[f.tag - 1] = tfd_pb_int32(&r, &f);
    return !r.failed;
}

static enum tfd_code read_message_options(struct tfd_proto_file *f,
                                          struct tfd_proto_message *m,
                                          struct tfd_str bytes)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_pb_field field;

    while (tfd_pb_next(&r, &field))
        if (field.tag == OPTIONS_MAP_ENTRY)
            m->is_map_entry = tfd_pb_bool(&r, &field);
    if (r.failed ||
        !tfd_proto_read_features(bytes, OPTIONS_FEATURES, &m->features))
        return tfd_proto_file_damaged(f);
    return TFD_OK;
}

static enum tfd_code allocate_message(struct tfd_proto_file *f,
                                      struct tfd_proto_message *m)
{
    struct tfd_arena *a = &f->pool->arena;

    TFD_TRY(count_more(f, m->count));
    m->fields = tfd_arena_array(a, (size_t)m->count + 1, sizeof(*m->fields));
    m->by_name = tfd_arena_array(a, (size_t)m->count + 1, sizeof(uint32_t));
    m->ranges =
        tfd_arena_array(a, (size_t)m->range_count * 2 + 1, sizeof(int32_t));
    m->count = m->range_count = 0;
    return tfd_arena_check(m->fields && m->by_name && m->ranges ? m : NULL,
                           "fields", f->st);
}

static enum tfd_code read_part(struct tfd_proto_file *f,
                               struct tfd_proto_message *m, uint32_t tag,
                               struct tfd_str part)
{
    switch (tag) {
    case MESSAGE_FIELD:
        return tfd_proto_read_field(f, &m->features, part,
                                    &m->fields[m->count++], NULL);
    case MESSAGE_NESTED:
        return append_message(f, m->symbol.name, &m->features, part);
    case MESSAGE_ENUM:
        return tfd_proto_read_enum(f, m->symbol.name, &m->features, part);
    case MESSAGE_EXTENSION:
        return read_extension(f, m->symbol.name, &m->features, part);
    case MESSAGE_RANGE:
        return read_range(part, &m->ranges[2 * m->range_count++])
                   ? TFD_OK
                   : tfd_proto_file_damaged(f);
    default:
        return TFD_OK;
    }
}

/* Options, which say how fields are read, may stand behind the fields. */
static enum tfd_code read_descriptor(struct tfd_proto_file *f,
                                     struct tfd_proto_message *m)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(m->bytes);
    struct tfd_pb_field field;

    TFD_TRY(allocate_message(f, m));
    while (tfd_pb_next(&r, &field))
        if (field.tag == MESSAGE_OPTIONS)
            TFD_TRY(read_message_options(f, m, tfd_pb_str(&r, &field)));
    r = tfd_pb_reader_of(m->bytes);
    while (tfd_pb_next(&r, &field)) {
        bool is_part = field.tag >= MESSAGE_FIELD && field.tag <= MESSAGE_ONEOF;

        if (is_part && field.wire != TFD_PB_BYTES)
            return tfd_proto_file_damaged(f);
        TFD_TRY(read_part(f, m, field.tag, field.bytes));
    }
    return TFD_OK;
}

enum tfd_code tfd_proto_read_file(struct tfd_proto_file *f,
                                  struct tfd_str bytes)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_pb_field field;

    while (tfd_pb_next(&r, &field)) {
        if (field.wire != TFD_PB_BYTES)
            continue;
        if (field.tag == FILE_MESSAGE)
            TFD_TRY(append_message(f, f->package, &f->features, field.bytes));
        else if (field.tag == FILE_ENUM)
            TFD_TRY(
                tfd_proto_read_enum(f, f->package, &f->features, field.bytes));
        else if (field.tag == FILE_EXTENSION)
            TFD_TRY(read_extension(f, f->package, &f->features, field.bytes));
    }
    for (struct tfd_proto_message *m = f->first; m; m = m->next)
        TFD_TRY(read_descriptor(f, m));
    return TFD_OK;
}
