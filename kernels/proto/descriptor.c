/*
 * descriptor.c - see descriptor.h: files of a set one by one, and what is found
 * by name or number afterwards.
 */
#include "kernels/proto/descriptor.h"

#include "common/base/pbio.h"
#include "common/thread/halt.h"
#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

/* ---- Files --------------------------------------------------------------- */

enum {
    FILE_NAME = 1,
    FILE_PACKAGE = 2,
    FILE_DEPENDENCY = 3,
    FILE_OPTIONS = 8,
    FILE_PUBLIC_DEPENDENCY = 10,
    FILE_SYNTAX = 12,
    FILE_EDITION = 14,
    FILE_OPTIONS_FEATURES = 50,
};

/* One file of the set, and what it imports: files have numbers. */
struct head {
    struct tfd_str bytes, name, package, syntax, options;
    int64_t edition;
    int import_count, public_count;
    int *imports, *publics; /* publics: places in imports */
    bool has_name;
};

struct files {
    struct tfd_proto_file file;
    struct head *heads;
    int count, read_count;
    bool *sees;
    struct tfd_map by_name;
};

static enum tfd_code count_imports(struct files *s, struct head *h)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(h->bytes);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        h->import_count += f.tag == FILE_DEPENDENCY;
        h->public_count += f.tag == FILE_PUBLIC_DEPENDENCY;
        /* A packed run has at most as many as bytes. */
        if (f.tag == FILE_PUBLIC_DEPENDENCY && f.wire == TFD_PB_BYTES)
            h->public_count += (int)f.bytes.size;
    }
    if (r.failed)
        return tfd_proto_file_damaged(&s->file);
    h->imports = tfd_arena_array(&s->file.pool->arena,
                                 (size_t)h->import_count + 1, sizeof(int));
    h->publics = tfd_arena_array(&s->file.pool->arena,
                                 (size_t)h->public_count + 1, sizeof(int));
    h->import_count = h->public_count = 0;
    return tfd_arena_check(h->imports && h->publics ? h : NULL, "imports",
                           s->file.st);
}

static enum tfd_code add_import(struct files *s, struct head *h,
                                struct tfd_str name)
{
    uintptr_t number;

    if (!tfd_map_get(&s->by_name, name, &number))
        return tfd_proto_file_fail(&s->file, name,
                                   "this import has not been loaded");
    h->imports[h->import_count++] = (int)number;
    return TFD_OK;
}

static void add_publics(struct head *h, const struct tfd_pb_field *f)
{
    struct tfd_str rest = f->bytes;
    uint64_t value;

    if (f->wire == TFD_PB_VARINT)
        h->publics[h->public_count++] = (int)(uint32_t)f->number;
    while (f->wire == TFD_PB_BYTES && tfd_pb_packed_varint(&rest, &value))
        h->publics[h->public_count++] = (int)(uint32_t)value;
}

static void read_names(struct head *h, struct tfd_pb_reader *r,
                       const struct tfd_pb_field *f)
{
    if (f->tag == FILE_NAME) {
        h->name = tfd_pb_str(r, f);
        h->has_name = true;
    } else if (f->tag == FILE_PACKAGE) {
        h->package = tfd_pb_str(r, f);
    } else if (f->tag == FILE_SYNTAX) {
        h->syntax = tfd_pb_str(r, f);
    } else if (f->tag == FILE_OPTIONS) {
        h->options = tfd_pb_str(r, f);
    } else if (f->tag == FILE_EDITION) {
        h->edition = tfd_pb_int64(r, f);
    }
}

static enum tfd_code read_head(struct files *s, struct head *h)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(h->bytes);
    struct tfd_pb_field f;

    h->name = h->package = h->syntax = h->options = TFD_STR_EMPTY;
    TFD_TRY(count_imports(s, h));
    while (tfd_pb_next(&r, &f))
        read_names(h, &r, &f);
    if (r.failed)
        return tfd_proto_file_damaged(&s->file);
    s->file.name = h->name;
    s->file.package = h->package;
    if (!h->has_name)
        return tfd_proto_file_fail(&s->file, h->name, "a file has no name");
    r = tfd_pb_reader_of(h->bytes);
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == FILE_DEPENDENCY)
            TFD_TRY(add_import(s, h, tfd_pb_str(&r, &f)));
        if (f.tag == FILE_PUBLIC_DEPENDENCY)
            add_publics(h, &f);
    }
    return TFD_OK;
}

/* What others see who import file `at`: the file, and what it imports
 * publicly, and so on.  A file imports earlier ones alone, so one pass from the
 * last to the first does. */
static void mark_seen(struct files *s, const struct head *h, int self)
{
    memset(s->sees, 0, (size_t)s->count * sizeof(bool));
    s->sees[self] = true;
    for (int i = 0; i < h->import_count; i++)
        s->sees[h->imports[i]] = true;
    for (int at = self - 1; at >= 0; at--) {
        const struct head *other = &s->heads[at];

        for (int i = 0; s->sees[at] && i < other->public_count; i++)
            if (other->publics[i] >= 0 &&
                other->publics[i] < other->import_count)
                s->sees[other->imports[other->publics[i]]] = true;
    }
}

#define EDITION_2023 1000
#define EDITION_2024 1001

static enum tfd_code choose_features(struct files *s, const struct head *h)
{
    struct tfd_proto_features *x = &s->file.features;
    bool is_edition = tfd_str_is(h->syntax, "editions");

    s->file.is_proto3 = tfd_str_is(h->syntax, "proto3");
    *x = (struct tfd_proto_features){.is_closed = true};
    if (s->file.is_proto3)
        *x = (struct tfd_proto_features){
            .is_implicit = true, .is_packed = true, .is_utf8 = true};
    else if (is_edition)
        *x = (struct tfd_proto_features){.is_packed = true, .is_utf8 = true};
    else if (h->syntax.size > 0 && !tfd_str_is(h->syntax, "proto2"))
        return tfd_proto_file_fail(&s->file, h->syntax,
                                   "this syntax is not known");
    if (!is_edition)
        return TFD_OK;
    if (h->edition != EDITION_2023 && h->edition != EDITION_2024)
        return tfd_proto_file_fail(&s->file, h->name,
                                   "its edition is not known");
    return tfd_proto_read_features(h->options, FILE_OPTIONS_FEATURES, x)
               ? TFD_OK
               : tfd_proto_file_damaged(&s->file);
}

static enum tfd_code check_package(struct files *s, struct tfd_str package)
{
    struct tfd_str part = {package.data, 0};

    for (size_t i = 0; package.size > 0 && i <= package.size; i++) {
        if (i < package.size && package.data[i] != '.') {
            part.size++;
            continue;
        }
        if (!tfd_proto_file_is_word(part))
            return tfd_proto_file_fail(&s->file, package,
                                       "this is not a package");
        part = (struct tfd_str){package.data + i + 1, 0};
    }
    return TFD_OK;
}

/* A file of the same name has to be the same. */
static enum tfd_code read_file(struct files *s, struct tfd_str bytes)
{
    struct head *h = &s->heads[s->read_count];
    uintptr_t before;

    h->bytes = bytes;
    TFD_TRY(read_head(s, h));
    if (tfd_map_get(&s->by_name, h->name, &before))
        return tfd_str_eq(s->heads[before].bytes, bytes)
                   ? TFD_OK
                   : tfd_proto_file_fail(&s->file, h->name,
                                         "another file has this name");
    TFD_TRY(choose_features(s, h));
    TFD_TRY(check_package(s, h->package));
    mark_seen(s, h, s->read_count);
    s->file.number = s->read_count;
    s->file.first = s->file.last = NULL;
    s->file.extensions = NULL;
    TFD_TRY(tfd_proto_read_file(&s->file, bytes));
    TFD_TRY(tfd_proto_link_file(&s->file));
    if (!tfd_map_put(&s->by_name, h->name, (uintptr_t)s->read_count))
        return tfd_fail(s->file.st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the names of files");
    s->read_count++;
    return TFD_OK;
}

static enum tfd_code read_files(struct files *s, struct tfd_str set)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(set);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (tfd_halted())
            return tfd_halt_fail(s->file.st);
        if (f.tag == 1 && f.wire != TFD_PB_BYTES)
            return tfd_proto_file_damaged(&s->file);
        if (f.tag == 1)
            TFD_TRY(read_file(s, f.bytes));
    }
    return r.failed ? tfd_proto_file_damaged(&s->file) : TFD_OK;
}

static enum tfd_code count_files(struct files *s, struct tfd_str set)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(set);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        s->count += f.tag == 1;
    if (r.failed)
        return tfd_proto_file_damaged(&s->file);
    if (s->count > TFD_PROTO_FILES_MAX)
        return tfd_fail(s->file.st, TFD_RESOURCE_EXHAUSTED,
                        "descriptors of %d files; at most %d can be read",
                        s->count, TFD_PROTO_FILES_MAX);
    s->heads = tfd_arena_array(&s->file.pool->arena, (size_t)s->count + 1,
                               sizeof(*s->heads));
    s->sees = tfd_arena_array(&s->file.pool->arena, (size_t)s->count + 1,
                              sizeof(*s->sees));
    return tfd_arena_check(s->heads && s->sees ? s->heads : NULL, "files",
                           s->file.st);
}

static int compare_extensions(const void *a, const void *b)
{
    const struct tfd_proto_extension *x =
        *(struct tfd_proto_extension *const *)a;
    const struct tfd_proto_extension *y =
        *(struct tfd_proto_extension *const *)b;

    if (x->of != y->of)
        return (uintptr_t)x->of < (uintptr_t)y->of ? -1 : 1;
    return (x->field.number > y->field.number) -
           (x->field.number < y->field.number);
}

static enum tfd_code sort_extensions(struct files *s)
{
    struct tfd_proto_pool *p = s->file.pool;
    const struct tfd_map_entry *e;
    size_t at = 0;
    int count = 0;

    p->extensions =
        tfd_arena_array(&p->arena, p->symbols.count + 1, sizeof(void *));
    TFD_TRY(tfd_arena_check(p->extensions, "extensions", s->file.st));
    while (tfd_map_next(&p->symbols, &at, &e)) {
        struct tfd_proto_symbol *symbol = (struct tfd_proto_symbol *)e->value;

        if (symbol->kind == TFD_PROTO_IS_EXTENSION)
            p->extensions[count++] = (struct tfd_proto_extension *)symbol;
    }
    p->extension_count = count;
    qsort(p->extensions, (size_t)count, sizeof(void *), compare_extensions);
    for (int i = 1; i < count; i++)
        if (compare_extensions(&p->extensions[i - 1], &p->extensions[i]) == 0)
            return tfd_proto_file_fail(&s->file, p->extensions[i]->symbol.name,
                                       "its number is another extension's");
    return TFD_OK;
}

/* ---- Public -------------------------------------------------------------- */

enum tfd_code tfd_proto_pool_read(struct tfd_proto_pool *p, struct tfd_str set,
                                  struct tfd_status *st)
{
    struct files s = {.file = {.pool = p, .st = st}};
    enum tfd_code rc;

    memset(p, 0, sizeof(*p));
    tfd_arena_init(&p->arena, TFD_PROTO_POOL_SIZE_MAX);
    tfd_map_init(&p->symbols);
    if (set.size > TFD_PROTO_SET_SIZE_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "descriptors of %zu bytes; at most %zu can be read",
                        set.size, TFD_PROTO_SET_SIZE_MAX);
    set = tfd_arena_str(&p->arena, set);
    TFD_TRY(tfd_arena_check(set.data, "descriptors", st));
    tfd_map_init(&s.by_name);
    tfd_bytes_init(&s.file.name_room, TFD_PROTO_NAME_SIZE_MAX);
    s.file.name = TFD_STR_EMPTY;
    rc = count_files(&s, set);
    s.file.sees = s.sees;
    rc = rc == TFD_OK ? read_files(&s, set) : rc;
    rc = rc == TFD_OK ? sort_extensions(&s) : rc;
    tfd_bytes_deinit(&s.file.name_room);
    tfd_map_deinit(&s.by_name);
    return rc;
}

void tfd_proto_pool_deinit(struct tfd_proto_pool *p)
{
    tfd_map_deinit(&p->symbols);
    tfd_arena_deinit(&p->arena);
}

static const struct tfd_proto_symbol *find(const struct tfd_proto_pool *p,
                                           struct tfd_str name,
                                           enum tfd_proto_kind kind)
{
    const struct tfd_proto_symbol *s;
    uintptr_t value;

    if (!tfd_map_get(&p->symbols, name, &value))
        return NULL;
    s = (const struct tfd_proto_symbol *)value;
    return s->kind == kind ? s : NULL;
}

const struct tfd_proto_message *
tfd_proto_pool_message(const struct tfd_proto_pool *p, struct tfd_str name)
{
    return (const struct tfd_proto_message *)find(p, name,
                                                  TFD_PROTO_IS_MESSAGE);
}

const struct tfd_proto_field *
tfd_proto_pool_extension(const struct tfd_proto_pool *p,
                         const struct tfd_proto_message *m, struct tfd_str name)
{
    const struct tfd_proto_extension *e =
        (const struct tfd_proto_extension *)find(p, name,
                                                 TFD_PROTO_IS_EXTENSION);

    return e && e->of == m ? &e->field : NULL;
}

const struct tfd_proto_field *
tfd_proto_pool_number(const struct tfd_proto_pool *p,
                      const struct tfd_proto_message *m, uint32_t number)
{
    struct tfd_proto_extension wanted = {.of = m,
                                         .field = {.number = (int32_t)number}};
    struct tfd_proto_extension *key = &wanted, **found;
    int low = 0, high = m->count;

    while (low < high) {
        int mid = low + (high - low) / 2;

        if ((uint32_t)m->fields[mid].number < number)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < m->count && (uint32_t)m->fields[low].number == number)
        return &m->fields[low];
    if (m->range_count == 0 || p->extension_count == 0)
        return NULL;
    found = bsearch(&key, p->extensions, (size_t)p->extension_count,
                    sizeof(void *), compare_extensions);
    return found ? &(*found)->field : NULL;
}

const struct tfd_proto_field *
tfd_proto_message_field(const struct tfd_proto_message *m, struct tfd_str name)
{
    int low = 0, high = m->count;

    while (low < high) {
        int mid = low + (high - low) / 2;
        const struct tfd_proto_field *f = &m->fields[m->by_name[mid]];
        int order = tfd_str_cmp(f->name, name);

        if (order == 0)
            return f;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}
