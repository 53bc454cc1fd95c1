/*
 * descriptor_link.c - looks up the types of a file's fields, reads their
 * defaults, and sorts them (descriptor.h).
 */
#include "kernels/proto/descriptor.h"

#include "common/base/pbio.h"
#include "common/thread/halt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names --------------------------------------------------------------- */

static const struct tfd_proto_symbol *find_seen(const struct tfd_proto_file *f,
                                                struct tfd_str name)
{
    const struct tfd_proto_symbol *s;
    uintptr_t value;

    if (!tfd_map_get(&f->pool->symbols, name, &value))
        return NULL;
    s = (const struct tfd_proto_symbol *)value;
    return f->sees[s->file] ? s : NULL;
}

/* ".package.Message" is a full name; another one is looked for in the scope,
 * then in what is around it. */
static const struct tfd_proto_symbol *
resolve(struct tfd_proto_file *f, struct tfd_str scope, struct tfd_str name)
{
    const struct tfd_proto_symbol *s = NULL;
    struct tfd_bytes *b = &f->name_room;

    if (name.size > 0 && name.data[0] == '.')
        return find_seen(f, (struct tfd_str){name.data + 1, name.size - 1});
    while (!s && scope.size > 0) {
        tfd_bytes_clear(b);
        tfd_bytes_add_str(b, scope);
        tfd_bytes_add(b, ".", 1);
        tfd_bytes_add_str(b, name);
        if (!b->failed)
            s = find_seen(f, tfd_bytes_view(b));
        do
            scope.size--;
        while (scope.size > 0 && scope.data[scope.size] != '.');
    }
    return s ? s : find_seen(f, name);
}

static enum tfd_code link_type(struct tfd_proto_file *f, struct tfd_str scope,
                               struct tfd_proto_field *x)
{
    bool wants_enum = x->type == TFD_PROTO_ENUM;
    bool wants_message =
        x->type == TFD_PROTO_MESSAGE || x->type == TFD_PROTO_GROUP;
    const struct tfd_proto_symbol *s = NULL;

    if (x->type_name.size > 0)
        s = resolve(f, scope, x->type_name);
    if (x->type_name.size > 0 && !s)
        return tfd_proto_file_fail(f, x->type_name, "this type is not defined");
    /* Without a type its name says which it is; without either it is the
     * first. */
    if (s && x->type == 0) {
        wants_enum = s->kind == TFD_PROTO_IS_ENUM;
        wants_message = !wants_enum;
        x->type = wants_enum ? TFD_PROTO_ENUM : TFD_PROTO_MESSAGE;
        x->is_packed = x->is_packed && wants_enum;
    }
    if (x->type == 0)
        x->type = TFD_PROTO_DOUBLE;
    if ((wants_enum || wants_message) != (s != NULL) ||
        (s &&
         s->kind != (wants_enum ? TFD_PROTO_IS_ENUM : TFD_PROTO_IS_MESSAGE)))
        return tfd_proto_file_fail(f, x->name,
                                   "its type and the name of it differ");
    if (wants_enum)
        x->values = (const struct tfd_proto_enum *)s;
    if (wants_message) {
        x->message = (const struct tfd_proto_message *)s;
        x->is_implicit = false;
    }
    return TFD_OK;
}

/* ---- Defaults ------------------------------------------------------------ */

#define NUMBER_SIZE_MAX 400 /* a double written out has 330 digits */

static bool read_whole(const char *text, bool is_signed, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = is_signed ? (uint64_t)strtoll(text, &end, 0)
                     : (uint64_t)strtoull(text, &end, 0);
    return end != text && !*end && errno == 0;
}

static bool read_real(const char *text, bool is_float, uint64_t *out)
{
    char *end;
    double value = strtod(text, &end);
    float narrow = (float)value;
    uint32_t bits;

    if (end == text || *end)
        return false;
    memcpy(out, &value, sizeof(value));
    memcpy(&bits, &narrow, sizeof(bits));
    if (is_float)
        *out = bits;
    return true;
}

static bool read_default_number(struct tfd_proto_field *x)
{
    char text[NUMBER_SIZE_MAX + 1];
    bool is_signed = tfd_proto_type_kind(x->type)[0] == 'i';

    if (x->default_text.size == 0 || x->default_text.size > NUMBER_SIZE_MAX)
        return false;
    memcpy(text, x->default_text.data, x->default_text.size);
    text[x->default_text.size] = '\0';
    if (strlen(text) != x->default_text.size)
        return false;
    if (x->type == TFD_PROTO_DOUBLE || x->type == TFD_PROTO_FLOAT)
        return read_real(text, x->type == TFD_PROTO_FLOAT, &x->absent);
    return read_whole(text, is_signed, &x->absent);
}

static int octal(const char *s, size_t left, char *out)
{
    int value = 0, size = 0;

    while (size < 3 && (size_t)size < left && s[size] >= '0' && s[size] <= '7')
        value = value * 8 + (s[size++] - '0');
    *out = (char)value;
    return size;
}

static int hex(const char *s, size_t left, char *out)
{
    int value = 0, size = 1; /* the x */

    while (size < 3 && (size_t)size < left) {
        char c = s[size], lower = (char)(c | 0x20);

        if (c >= '0' && c <= '9')
            value = value * 16 + (c - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = value * 16 + (lower - 'a' + 10);
        else
            break;
        size++;
    }
    *out = (char)value;
    return size;
}

/* Bytes stand as a string of C in a description. */
static enum tfd_code read_bytes(struct tfd_proto_file *f,
                                struct tfd_proto_field *x)
{
    static const char letters[] = "abfnrtv", meant[] = "\a\b\f\n\r\t\v";
    const struct tfd_str s = x->default_text;
    char *out = tfd_arena_alloc(&f->pool->arena, s.size + 1);
    size_t size = 0;

    TFD_TRY(tfd_arena_check(out, "defaults", f->st));
    for (size_t i = 0; i < s.size; i++) {
        const char *letter;

        out[size] = s.data[i];
        if (s.data[i] == '\\' && i + 1 < s.size) {
            char c = s.data[++i];

            letter = c ? strchr(letters, c) : NULL;
            out[size] = letter ? meant[letter - letters] : c;
            if (c >= '0' && c <= '7')
                i += (size_t)octal(s.data + i, s.size - i, &out[size]) - 1;
            else if (c == 'x' || c == 'X')
                i += (size_t)hex(s.data + i, s.size - i, &out[size]) - 1;
        }
        size++;
    }
    x->absent_text = (struct tfd_str){out, size};
    return TFD_OK;
}

static enum tfd_code read_default(struct tfd_proto_file *f,
                                  struct tfd_proto_field *x)
{
    const struct tfd_proto_value *value;
    bool ok = true;

    if (x->type == TFD_PROTO_ENUM)
        x->absent = (uint64_t)(int64_t)x->values->first;
    if (!x->has_default)
        return TFD_OK;
    switch (x->type) {
    case TFD_PROTO_STRING:
        x->absent_text = x->default_text;
        break;
    case TFD_PROTO_BYTES:
        return read_bytes(f, x);
    case TFD_PROTO_BOOL:
        x->absent = tfd_str_is(x->default_text, "true");
        ok = x->absent || tfd_str_is(x->default_text, "false");
        break;
    case TFD_PROTO_ENUM:
        value = tfd_proto_enum_value(x->values, x->default_text);
        ok = value != NULL;
        x->absent = ok ? (uint64_t)(int64_t)value->number : 0;
        break;
    case TFD_PROTO_MESSAGE:
    case TFD_PROTO_GROUP:
        ok = false;
        break;
    default:
        ok = read_default_number(x);
    }
    return ok ? TFD_OK
              : tfd_proto_file_fail(f, x->name, "its default is no value");
}

static enum tfd_code link_field(struct tfd_proto_file *f, struct tfd_str scope,
                                struct tfd_proto_field *x)
{
    if (tfd_halted())
        return tfd_halt_fail(f->st);
    TFD_TRY(link_type(f, scope, x));
    return read_default(f, x);
}

/* ---- Messages ------------------------------------------------------------ */

static int compare_numbers(const void *a, const void *b)
{
    const int32_t x = ((const struct tfd_proto_field *)a)->number;
    const int32_t y = ((const struct tfd_proto_field *)b)->number;

    return (x > y) - (x < y);
}

/* Of qsort() alone, which has no argument for the fields: a heap of indices. */
static void sift(const struct tfd_proto_message *m, int at, int count)
{
    uint32_t *h = m->by_name;

    for (int child; (child = 2 * at + 1) < count; at = child) {
        uint32_t swap;

        if (child + 1 < count && tfd_str_cmp(m->fields[h[child]].name,
                                             m->fields[h[child + 1]].name) < 0)
            child++;
        if (tfd_str_cmp(m->fields[h[at]].name, m->fields[h[child]].name) >= 0)
            return;
        swap = h[at];
        h[at] = h[child];
        h[child] = swap;
    }
}

static void sort_names(const struct tfd_proto_message *m)
{
    uint32_t *h = m->by_name;

    for (int i = 0; i < m->count; i++)
        h[i] = (uint32_t)i;
    for (int i = m->count / 2 - 1; i >= 0; i--)
        sift(m, i, m->count);
    for (int i = m->count - 1; i > 0; i--) {
        uint32_t swap = h[0];

        h[0] = h[i];
        h[i] = swap;
        sift(m, 0, i);
    }
}

static bool is_in_range(const struct tfd_proto_message *m, int32_t number)
{
    for (int i = 0; i < m->range_count; i++)
        if (number >= m->ranges[2 * i] && number < m->ranges[2 * i + 1])
            return true;
    return false;
}

static enum tfd_code check_message(struct tfd_proto_file *f,
                                   const struct tfd_proto_message *m)
{
    for (int i = 1; i < m->count; i++) {
        if (m->fields[i - 1].number == m->fields[i].number)
            return tfd_proto_file_fail(f, m->fields[i].name,
                                       "its number is another field's");
        if (tfd_str_eq(m->fields[m->by_name[i - 1]].name,
                       m->fields[m->by_name[i]].name))
            return tfd_proto_file_fail(f, m->fields[m->by_name[i]].name,
                                       "this is defined twice");
    }
    return TFD_OK;
}

/* As many as there are have to have fields. */
static enum tfd_code check_oneofs(struct tfd_proto_file *f,
                                  const struct tfd_proto_message *m, int alone)
{
    bool *has = tfd_arena_array(&f->pool->arena, (size_t)m->oneof_count + 1,
                                sizeof(bool));
    int missing = m->oneof_count - alone;

    TFD_TRY(tfd_arena_check(has, "oneofs", f->st));
    for (int i = 0; i < m->count; i++) {
        int oneof = m->fields[i].oneof;

        if (oneof >= m->oneof_count)
            return tfd_proto_file_fail(f, m->fields[i].name,
                                       "its oneof is not there");
        if (oneof >= 0 && !has[oneof]) {
            has[oneof] = true;
            missing--;
        }
    }
    return missing <= 0 ? TFD_OK
                        : tfd_proto_file_fail(f, m->symbol.name,
                                              "a oneof has no fields");
}

/* An entry of a map has a key and a value; what only says that it is one is a
 * message like others. */
static bool is_map_entry(const struct tfd_proto_message *m)
{
    const struct tfd_proto_field *key = &m->fields[0], *value = key + 1;

    return m->is_map_entry && m->count == 2 && key->number == 1 &&
           value->number == 2 && !key->is_repeated && !value->is_repeated &&
           !key->message && !(value->message && value->message->is_map_entry);
}

static enum tfd_code link_message(struct tfd_proto_file *f,
                                  struct tfd_proto_message *m)
{
    int alone = 0;

    for (int i = 0; i < m->count; i++) {
        struct tfd_proto_field *x = &m->fields[i];

        if (!tfd_proto_file_is_word(x->name))
            return tfd_proto_file_fail(f, x->name, "this is not a name");
        TFD_TRY(link_field(f, m->symbol.name, x));
        m->required_count += x->is_required;
        alone += x->is_alone;
    }
    qsort(m->fields, (size_t)m->count, sizeof(*m->fields), compare_numbers);
    sort_names(m);
    TFD_TRY(check_message(f, m));
    m->is_map_entry = is_map_entry(m);
    return check_oneofs(f, m, alone);
}

enum tfd_code tfd_proto_link_file(struct tfd_proto_file *f)
{
    for (struct tfd_proto_message *m = f->first; m; m = m->next)
        TFD_TRY(link_message(f, m));
    for (struct tfd_proto_extension *e = f->extensions; e; e = e->next) {
        const struct tfd_proto_symbol *s = resolve(f, e->scope, e->of_name);

        if (!s || s->kind != TFD_PROTO_IS_MESSAGE)
            return tfd_proto_file_fail(f, e->of_name,
                                       "this message is not defined");
        e->of = (const struct tfd_proto_message *)s;
        if (!is_in_range(e->of, e->field.number))
            return tfd_proto_file_fail(f, e->symbol.name,
                                       "its number is none for extensions");
        TFD_TRY(link_field(f, e->scope, &e->field));
    }
    return TFD_OK;
}
