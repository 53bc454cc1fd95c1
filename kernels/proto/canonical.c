/*
 * canonical.c - see canonical.h.
 */
#include "kernels/proto/canonical.h"

#include "kernels/proto/wire.h"

#include "common/base/pbio.h"
#include "common/base/unicode.h"
#include "common/thread/halt.h"
#include "config/limits.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct rewriter {
    const struct tfd_proto_pool *pool;
    bool is_text;
    struct tfd_bytes *out;
    size_t held; /* against TFD_PROTO_WORK_SIZE_MAX */
    struct tfd_status *st;
};

/* One field as it lies in the message. */
struct entry {
    const struct tfd_proto_field *field; /* NULL: not described */
    uint32_t tag;
    uint32_t order;
    bool is_value;        /* of an enum, which does not have it */
    uint64_t number;      /* its bits, or that value */
    struct tfd_str bytes; /* BYTES, GROUP: what is in it; NULL: from its tag */
};

struct entries {
    struct entry *at;
    uint32_t count, capacity;
};

static bool rewrite(struct rewriter *x, const struct tfd_proto_message *m,
                    struct tfd_str message, int depth);

/* ---- Memory -------------------------------------------------------------- */

static bool hold(struct rewriter *x, size_t size)
{
    if (size <= TFD_PROTO_WORK_SIZE_MAX - x->held) {
        x->held += size;
        return true;
    }
    (void)!tfd_fail(x->st, TFD_RESOURCE_EXHAUSTED,
                    "fields of a message take over %zu bytes to sort",
                    TFD_PROTO_WORK_SIZE_MAX);
    return false;
}

static bool grow(struct rewriter *x, struct entries *e)
{
    const uint32_t more = e->capacity ? e->capacity : 8;
    struct entry *larger;

    if (!hold(x, more * sizeof(*larger)))
        return false;
    larger = realloc(e->at, ((size_t)e->capacity + more) * sizeof(*larger));
    if (!larger) {
        x->held -= more * sizeof(*larger);
        (void)!tfd_fail(x->st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the fields of a message");
        return false;
    }
    e->at = larger;
    e->capacity += more;
    return true;
}

static struct entry *add_entry(struct rewriter *x, struct entries *e,
                               const struct tfd_proto_field *f, uint32_t tag)
{
    struct entry *new;

    if (e->count == e->capacity && !grow(x, e))
        return NULL;
    new = &e->at[e->count];
    *new = (struct entry){.field = f, .tag = tag, .order = e->count++};
    new->bytes = TFD_STR_EMPTY;
    return new;
}

/* ---- Reading ------------------------------------------------------------- */

/* Values that a closed enum does not have are as if not described. */
static bool add_unknown_value(struct rewriter *x, struct entries *e,
                              const struct tfd_proto_field *f, uint64_t value)
{
    struct entry *new;

    if (!f->values || !f->values->is_closed ||
        tfd_proto_enum_has(f->values, (int32_t)value))
        return true;
    new = add_entry(x, e, NULL, (uint32_t)f->number << 3);
    if (!new)
        return false;
    new->is_value = true;
    new->number = (uint64_t)(int64_t)(int32_t)value;
    return true;
}

static bool take_wire_number(const struct tfd_proto_field *f,
                             struct tfd_proto_wire *w, uint64_t *out)
{
    const int wire = tfd_proto_type_wire(f->type);

    if (wire == TFD_PROTO_WIRE_VARINT)
        return tfd_proto_wire_varint(w, out);
    return tfd_proto_wire_fixed(w, wire == TFD_PROTO_WIRE_FIXED64 ? 8 : 4, out);
}

static bool is_known_value(const struct tfd_proto_field *f, uint64_t value)
{
    return !f->values || !f->values->is_closed ||
           tfd_proto_enum_has(f->values, (int32_t)value);
}

/* A packed run: its numbers are all there. */
static bool check_packed(struct rewriter *x, struct entries *e,
                         const struct tfd_proto_field *f, struct tfd_str run)
{
    struct tfd_proto_wire w = tfd_proto_wire_of(run);
    uint64_t value;

    while (w.at < w.end)
        if (!take_wire_number(f, &w, &value) ||
            !add_unknown_value(x, e, f, value))
            return false;
    return true;
}

static bool read_known(struct rewriter *x, struct entries *e,
                       const struct tfd_proto_field *f, uint32_t tag,
                       struct tfd_proto_wire *w)
{
    struct entry *new = NULL;
    uint64_t value = 0;
    bool is_number =
        (tag & 7) != TFD_PROTO_WIRE_BYTES && (tag & 7) != TFD_PROTO_WIRE_GROUP;

    if (is_number && !take_wire_number(f, w, &value))
        return false;
    if (is_number && !is_known_value(f, value))
        return add_unknown_value(x, e, f, value);
    new = add_entry(x, e, f, tag);
    if (!new)
        return false;
    new->number = value;
    if ((tag & 7) == TFD_PROTO_WIRE_GROUP)
        return tfd_proto_wire_group(w, tag, &new->bytes);
    if (is_number)
        return true;
    if (!tfd_proto_wire_bytes(w, &new->bytes) ||
        (f->is_utf8 && !x->is_text && !tfd_unicode_is_utf8(new->bytes)))
        return false;
    return tfd_proto_type_wire(f->type) == TFD_PROTO_WIRE_BYTES ||
           check_packed(x, e, f, new->bytes);
}

static bool is_right_wire(const struct tfd_proto_field *f, uint32_t tag)
{
    const int wire = tfd_proto_type_wire(f->type);

    return (int)(tag & 7) == wire ||
           ((tag & 7) == TFD_PROTO_WIRE_BYTES && f->is_repeated &&
            wire != TFD_PROTO_WIRE_GROUP);
}

static bool read_entries(struct rewriter *x, const struct tfd_proto_message *m,
                         struct tfd_str message, struct entries *e)
{
    struct tfd_proto_wire w = tfd_proto_wire_of(message);
    const struct tfd_proto_field *f = NULL;

    while (w.at < w.end) {
        const char *begin = w.at;
        uint32_t tag = tfd_proto_wire_tag(&w);
        struct entry *new;

        if (!f || (uint32_t)f->number != tag >> 3)
            f = tfd_proto_pool_number(x->pool, m, tag >> 3);
        if (f && is_right_wire(f, tag)) {
            if (!read_known(x, e, f, tag, &w))
                return false;
            continue;
        }
        if (!tfd_proto_wire_skip(&w, tag, NULL))
            return false;
        new = add_entry(x, e, NULL, tag);
        if (!new)
            return false;
        new->bytes = (struct tfd_str){begin, (size_t)(w.at - begin)};
    }
    return true;
}

/* ---- Order --------------------------------------------------------------- */

static int number_of(const struct entry *e)
{
    return e->field ? e->field->number : INT_MAX;
}

static int oneof_of(const struct entry *e)
{
    return e->field ? e->field->oneof : -1;
}

static int compare_orders(const struct entry *x, const struct entry *y)
{
    return (x->order > y->order) - (x->order < y->order);
}

static int compare_fields(const void *a, const void *b)
{
    const int x = number_of(a), y = number_of(b);

    return x != y ? (x < y ? -1 : 1) : compare_orders(a, b);
}

static int compare_oneofs(const void *a, const void *b)
{
    const int x = oneof_of(a), y = oneof_of(b);

    return x != y ? (x < y ? -1 : 1) : compare_orders(a, b);
}

/* Of a oneof the field stays that was set last, with what was set of it since
 * another one was. */
static bool choose_in_oneofs(const struct rewriter *x, struct entries *e)
{
    const struct tfd_proto_field *stays = NULL;
    bool is_over = false, has_any = false;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < e->count; i++)
        has_any = has_any || oneof_of(&e->at[i]) >= 0;
    if (!has_any)
        return true;
    qsort(e->at, e->count, sizeof(*e->at), compare_oneofs);
    for (uint32_t i = e->count; i-- > 0;) {
        struct entry *this = &e->at[i];

        if (oneof_of(this) < 0)
            continue;
        if (!stays || stays->oneof != this->field->oneof) {
            stays = this->field;
            is_over = false;
        }
        is_over = is_over || this->field != stays;
        if (is_over && x->is_text)
            return false;
        if (is_over)
            this->order = UINT32_MAX;
    }
    for (uint32_t i = 0; i < e->count; i++)
        if (e->at[i].order != UINT32_MAX)
            e->at[kept++] = e->at[i];
    e->count = kept;
    return true;
}

/* ---- Writing ------------------------------------------------------------- */

static void put_tag(struct rewriter *x, const struct tfd_proto_field *f,
                    int wire)
{
    tfd_pb_put_varint(x->out, (uint64_t)f->number << 3 | (uint64_t)wire);
}

/* The bits of a field as such a field has them. */
static uint64_t narrow(enum tfd_proto_type type, uint64_t bits)
{
    switch (type) {
    case TFD_PROTO_INT32:
    case TFD_PROTO_ENUM:
        return (uint64_t)(int64_t)(int32_t)bits;
    case TFD_PROTO_UINT32:
    case TFD_PROTO_SINT32:
        return (uint32_t)bits;
    case TFD_PROTO_BOOL:
        return bits != 0;
    default:
        return bits;
    }
}

static void put_number(struct rewriter *x, const struct tfd_proto_field *f,
                       uint64_t bits)
{
    const int wire = tfd_proto_type_wire(f->type);

    if (wire == TFD_PROTO_WIRE_VARINT)
        tfd_pb_put_varint(x->out, narrow(f->type, bits));
    else
        tfd_bytes_add(x->out, &bits, wire == TFD_PROTO_WIRE_FIXED64 ? 8 : 4);
}

/* Of one entry of a list, which may be a run; with tags unless it is packed. */
static void put_list_part(struct rewriter *x, const struct entry *e)
{
    const struct tfd_proto_field *f = e->field;
    struct tfd_proto_wire w = tfd_proto_wire_of(e->bytes);
    bool is_run = (e->tag & 7) == TFD_PROTO_WIRE_BYTES;
    uint64_t value = e->number;

    while (is_run ? w.at < w.end && take_wire_number(f, &w, &value) : true) {
        if (is_known_value(f, value)) {
            if (!f->is_packed)
                put_tag(x, f, tfd_proto_type_wire(f->type));
            put_number(x, f, value);
        }
        if (!is_run)
            return;
    }
}

static void put_list(struct rewriter *x, const struct entry *e, uint32_t count)
{
    const struct tfd_proto_field *f = e->field;
    const size_t before = x->out->size;
    size_t mark = 0, start;

    if (f->is_packed)
        mark = tfd_pb_begin(x->out, (uint32_t)f->number);
    start = x->out->size;
    for (uint32_t i = 0; i < count; i++)
        put_list_part(x, &e[i]);
    if (!f->is_packed || x->out->failed)
        return;
    if (x->out->size == start)
        x->out->size = before;
    else
        tfd_pb_finish(x->out, mark);
}

static bool put_message(struct rewriter *x, const struct tfd_proto_field *f,
                        struct tfd_str bytes, int depth)
{
    size_t mark;
    bool ok;

    if (f->type == TFD_PROTO_GROUP) {
        put_tag(x, f, TFD_PROTO_WIRE_GROUP);
        ok = rewrite(x, f->message, bytes, depth + 1);
        put_tag(x, f, TFD_PROTO_WIRE_GROUP_END);
        return ok;
    }
    mark = tfd_pb_begin(x->out, (uint32_t)f->number);
    ok = rewrite(x, f->message, bytes, depth + 1);
    if (ok)
        tfd_pb_finish(x->out, mark);
    return ok;
}

/* A message that is there several times, as one. */
static bool put_merged(struct rewriter *x, const struct entry *e,
                       uint32_t count, int depth)
{
    struct tfd_bytes all;
    size_t size = 0;
    bool ok;

    if (count == 1)
        return put_message(x, e->field, e->bytes, depth);
    for (uint32_t i = 0; i < count; i++)
        size += e[i].bytes.size;
    if (!hold(x, size))
        return false;
    tfd_bytes_init(&all, size + 1);
    for (uint32_t i = 0; i < count; i++)
        tfd_bytes_add_str(&all, e[i].bytes);
    ok = tfd_bytes_ok(&all, "a message", x->st) == TFD_OK &&
         put_message(x, e->field, tfd_bytes_view(&all), depth);
    tfd_bytes_deinit(&all);
    x->held -= size;
    return ok;
}

static void put_single(struct rewriter *x, const struct tfd_proto_field *f,
                       const struct entry *last, bool is_always)
{
    if (tfd_proto_type_wire(f->type) == TFD_PROTO_WIRE_BYTES) {
        if (last->bytes.size > 0 || is_always)
            tfd_pb_put_str_always(x->out, (uint32_t)f->number, last->bytes);
    } else if (narrow(f->type, last->number) != 0 || is_always) {
        put_tag(x, f, tfd_proto_type_wire(f->type));
        put_number(x, f, last->number);
    }
}

/* All entries of one field. */
static bool put_entries_of(struct rewriter *x,
                           const struct tfd_proto_message *m,
                           const struct entry *e, uint32_t count, int depth)
{
    const struct tfd_proto_field *f = e->field;
    const bool is_always = !f->is_implicit || m->is_map_entry;

    if (!f->is_repeated && count > 1 && x->is_text)
        return false;
    if (f->is_repeated && !f->message &&
        tfd_proto_type_wire(f->type) != TFD_PROTO_WIRE_BYTES) {
        put_list(x, e, count);
        return true;
    }
    if (!f->is_repeated && !f->message) {
        put_single(x, f, &e[count - 1], is_always);
        return true;
    }
    if (!f->is_repeated)
        return put_merged(x, e, count, depth);
    for (uint32_t i = 0; i < count; i++) {
        if (!f->message)
            put_single(x, f, &e[i], true);
        else if (!put_message(x, f, e[i].bytes, depth))
            return false;
    }
    return true;
}

static void put_unknown(struct rewriter *x, const struct entry *e)
{
    struct tfd_proto_wire w = tfd_proto_wire_of(e->bytes);
    uint32_t tag;

    if (e->is_value) {
        tfd_pb_put_varint(x->out, e->tag);
        tfd_pb_put_varint(x->out, e->number);
        return;
    }
    tag = tfd_proto_wire_tag(&w);
    (void)tfd_proto_wire_skip(&w, tag, x->out);
}

/* An entry of a map has both of its fields, whatever was given. */
static bool put_absent(struct rewriter *x, const struct tfd_proto_field *f,
                       int depth)
{
    const struct entry zero = {.field = f, .bytes = TFD_STR_EMPTY};

    if (f->message)
        return put_message(x, f, TFD_STR_EMPTY, depth);
    put_single(x, f, &zero, true);
    return true;
}

static bool put_map_entry(struct rewriter *x, const struct tfd_proto_message *m,
                          const struct entries *e, int depth)
{
    uint32_t at = 0;

    for (int i = 0; i < m->count; i++) {
        uint32_t begin = at;

        while (at < e->count && e->at[at].field == &m->fields[i])
            at++;
        if (at == begin
                ? !put_absent(x, &m->fields[i], depth)
                : !put_entries_of(x, m, &e->at[begin], at - begin, depth))
            return false;
    }
    return true;
}

static bool put_entries(struct rewriter *x, const struct tfd_proto_message *m,
                        const struct entries *e, int depth)
{
    int required = 0;

    for (uint32_t i = 0, end; i < e->count && !x->out->failed; i = end) {
        const struct tfd_proto_field *f = e->at[i].field;

        for (end = i + 1; f && end < e->count && e->at[end].field == f;)
            end++;
        required += f && f->is_required;
        if (!f)
            put_unknown(x, &e->at[i]);
        else if (!put_entries_of(x, m, &e->at[i], end - i, depth))
            return false;
    }
    return required == m->required_count;
}

static bool rewrite(struct rewriter *x, const struct tfd_proto_message *m,
                    struct tfd_str message, int depth)
{
    struct entries e = {0};
    bool ok = depth <= TFD_PROTO_DEPTH_MAX && !x->out->failed &&
              !tfd_halted() && read_entries(x, m, message, &e) &&
              choose_in_oneofs(x, &e);

    if (ok && e.count > 0)
        qsort(e.at, e.count, sizeof(*e.at), compare_fields);
    if (ok)
        ok = m->is_map_entry ? put_map_entry(x, m, &e, depth)
                             : put_entries(x, m, &e, depth);
    x->held -= e.capacity * sizeof(*e.at);
    free(e.at);
    return ok;
}

enum tfd_code tfd_proto_canonical(const struct tfd_proto_pool *pool,
                                  const struct tfd_proto_message *m,
                                  struct tfd_str message, bool is_text,
                                  struct tfd_bytes *out, struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    struct rewriter x = {
        .pool = pool, .is_text = is_text, .out = out, .st = &why};

    if (rewrite(&x, m, message, 0))
        return tfd_bytes_ok(out, "a message", st);
    if (why.code != TFD_OK)
        return tfd_fail(st, why.code, "%s", why.text);
    return tfd_fail(st, TFD_DATA_LOSS, "the message cannot be read");
}
