/*
 * text.c - see text.h; the tokens are those of common/proto/text_scan.h.
 *
 * A stack of messages, and of lists in them, that are open.
 */
#include "kernels/proto/text.h"

#include "kernels/proto/wire.h"

#include "common/base/pbio.h"
#include "common/proto/text_scan.h"
#include "common/thread/halt.h"

#include <string.h>

/* A list lies in a message, so there are no more lists than messages. */
#define LEVELS_MAX (2 * (TFD_PROTO_DEPTH_MAX + 1))

struct level {
    const struct tfd_proto_message *of;
    const struct tfd_proto_field *items; /* of a list; NULL: a message */
    const struct tfd_proto_field *field; /* whose message it is; NULL: all */
    char close;
    bool is_first; /* no element was read as yet */
    size_t mark;
};

struct text_reader {
    struct tfd_text_scan scan;
    const struct tfd_proto_pool *pool;
    struct tfd_bytes *out;
    struct level levels[LEVELS_MAX];
    int depth, messages;
};

/* ---- One value ----------------------------------------------------------- */

static void put_tag(struct text_reader *r, const struct tfd_proto_field *f,
                    int wire)
{
    tfd_pb_put_varint(r->out, (uint64_t)f->number << 3 | (uint64_t)wire);
}

static void put_bits(struct text_reader *r, const struct tfd_proto_field *f,
                     uint64_t bits)
{
    const int wire = tfd_proto_type_wire(f->type);

    put_tag(r, f, wire);
    if (f->type == TFD_PROTO_SINT32 || f->type == TFD_PROTO_SINT64)
        bits = bits << 1 ^ ((int64_t)bits < 0 ? UINT64_MAX : 0);
    if (wire == TFD_PROTO_WIRE_VARINT)
        tfd_pb_put_varint(r->out, bits);
    else
        tfd_bytes_add(r->out, &bits, wire == TFD_PROTO_WIRE_FIXED64 ? 8 : 4);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static enum tfd_code put_real(struct text_reader *r,
                              const struct tfd_proto_field *f,
                              const struct tfd_text_token *t)
{
    uint64_t bits = 0;
    double value;
    float single;

    /* 010 is a whole number of base 8, which no number with a point can be. */
    if (t->text[0] == '0' && is_digit(t->text[1]) && !strpbrk(t->text, ".eE"))
        return tfd_text_scan_fail(&r->scan, "%s is not a number", t->text);
    TFD_TRY(tfd_text_scan_float(&r->scan, t, &value));
    single = (float)value;
    if (f->type == TFD_PROTO_FLOAT)
        memcpy(&bits, &single, sizeof(single));
    else
        memcpy(&bits, &value, sizeof(value));
    put_bits(r, f, bits);
    return TFD_OK;
}

static enum tfd_code put_enum(struct text_reader *r,
                              const struct tfd_proto_field *f,
                              const struct tfd_text_token *t)
{
    const struct tfd_proto_value *v = NULL;
    uint64_t value;

    if (!is_digit(t->text[0])) {
        if (!t->minus)
            v = tfd_proto_enum_value(f->values, tfd_str_of(t->text));
        if (!v)
            return tfd_text_scan_fail(&r->scan,
                                      "%s is no value of " TFD_STR_FMT, t->text,
                                      TFD_STR_ARG(f->name));
        put_bits(r, f, (uint64_t)(int64_t)v->number);
        return TFD_OK;
    }
    TFD_TRY(tfd_text_scan_int(&r->scan, t, 32, true, &value));
    if (f->values->is_closed && !tfd_proto_enum_has(f->values, (int32_t)value))
        return tfd_text_scan_fail(&r->scan, "%s is no value of " TFD_STR_FMT,
                                  t->text, TFD_STR_ARG(f->name));
    put_bits(r, f, value);
    return TFD_OK;
}

static enum tfd_code put_whole(struct text_reader *r,
                               const struct tfd_proto_field *f,
                               const struct tfd_text_token *t)
{
    const char *kind = tfd_proto_type_kind(f->type);
    const int bits = strstr(kind, "32") ? 32 : 64;
    uint64_t value;

    TFD_TRY(tfd_text_scan_int(&r->scan, t, bits, kind[0] == 'i', &value));
    put_bits(r, f, value);
    return TFD_OK;
}

static enum tfd_code put_token(struct text_reader *r,
                               const struct tfd_proto_field *f)
{
    struct tfd_text_token t;
    bool flag;

    TFD_TRY(tfd_text_scan_token(&r->scan, &t));
    switch (f->type) {
    case TFD_PROTO_BOOL:
        TFD_TRY(tfd_text_scan_bool(&r->scan, &t, &flag));
        put_bits(r, f, flag);
        return TFD_OK;
    case TFD_PROTO_FLOAT:
    case TFD_PROTO_DOUBLE:
        return put_real(r, f, &t);
    case TFD_PROTO_ENUM:
        return put_enum(r, f, &t);
    default:
        return put_whole(r, f, &t);
    }
}

static enum tfd_code read_text_scalar(struct text_reader *r,
                                      const struct tfd_proto_field *f)
{
    if (f->message)
        return tfd_text_scan_fail(
            &r->scan, TFD_STR_FMT " is a message; '{' must stand here",
            TFD_STR_ARG(f->name));
    if (f->type != TFD_PROTO_STRING && f->type != TFD_PROTO_BYTES)
        return put_token(r, f);
    TFD_TRY(tfd_text_scan_string(&r->scan));
    tfd_pb_put_str_always(r->out, (uint32_t)f->number,
                          tfd_bytes_view(&r->scan.string));
    return TFD_OK;
}

/* ---- Levels -------------------------------------------------------------- */

static enum tfd_code open_message(struct text_reader *r,
                                  const struct tfd_proto_field *f)
{
    struct level *l = &r->levels[r->depth];

    if (!f->message)
        return tfd_text_scan_fail(&r->scan, TFD_STR_FMT " is no message",
                                  TFD_STR_ARG(f->name));
    if (r->messages > TFD_PROTO_DEPTH_MAX)
        return tfd_text_scan_fail(&r->scan,
                                  "messages are nested deeper than %d",
                                  TFD_PROTO_DEPTH_MAX);
    *l = (struct level){.of = f->message, .field = f};
    l->close = tfd_text_scan_eat(&r->scan, '{') ? '}' : '>';
    if (l->close == '>')
        r->scan.at++;
    if (f->type == TFD_PROTO_GROUP)
        put_tag(r, f, TFD_PROTO_WIRE_GROUP);
    else
        l->mark = tfd_pb_begin(r->out, (uint32_t)f->number);
    r->depth++;
    r->messages++;
    return TFD_OK;
}

static enum tfd_code read_text_value(struct text_reader *r,
                                     const struct tfd_proto_field *f)
{
    int c = tfd_text_scan_peek(&r->scan);

    return c == '{' || c == '<' ? open_message(r, f) : read_text_scalar(r, f);
}

static void eat_separator(struct text_reader *r)
{
    if (!tfd_text_scan_eat(&r->scan, ','))
        (void)tfd_text_scan_eat(&r->scan, ';');
}

/* A message or a list has ended. */
static void close_level(struct text_reader *r)
{
    struct level *l = &r->levels[--r->depth];

    if (!l->items) {
        r->messages--;
        if (l->field->type == TFD_PROTO_GROUP)
            put_tag(r, l->field, TFD_PROTO_WIRE_GROUP_END);
        else
            tfd_pb_finish(r->out, l->mark);
    }
    if (r->depth > 0 && !r->levels[r->depth - 1].items)
        eat_separator(r);
}

static enum tfd_code read_item(struct text_reader *r, struct level *l)
{
    bool is_first = l->is_first;

    if (is_first && tfd_text_scan_eat(&r->scan, ']')) {
        close_level(r);
        return TFD_OK;
    }
    l->is_first = false;
    if (!is_first && tfd_text_scan_eat(&r->scan, ']')) {
        close_level(r);
        return TFD_OK;
    }
    if (!is_first && !tfd_text_scan_eat(&r->scan, ','))
        return tfd_text_scan_fail(&r->scan, "',' or ']' must stand here");
    return read_text_value(r, l->items);
}

/* A group may go by the name of its message, too, which is that of the field
 * with capitals and lies in the same message. */
static const struct tfd_proto_field *
find_group(const struct tfd_proto_message *m, struct tfd_str name)
{
    const struct tfd_str of = m->symbol.name;
    const struct tfd_proto_field *f;
    struct tfd_str full;
    char lower[256];

    if (name.size > sizeof(lower))
        return NULL;
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];

        lower[i] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    f = tfd_proto_message_field(m, (struct tfd_str){lower, name.size});
    if (!f || f->type != TFD_PROTO_GROUP)
        return NULL;
    full = f->message->symbol.name;
    if (full.size != of.size + 1 + name.size ||
        memcmp(full.data, of.data, of.size) != 0)
        return NULL;
    full.data += of.size + 1;
    full.size = name.size;
    return tfd_str_eq(full, name) ? f : NULL;
}

static enum tfd_code find_field(struct text_reader *r, const struct level *l,
                                const struct tfd_proto_field **out)
{
    struct tfd_str name, inner;

    TFD_TRY(tfd_text_scan_name(&r->scan, &name));
    inner = (struct tfd_str){name.data + 1, name.size > 2 ? name.size - 2 : 0};
    if (name.data[0] == '[')
        *out = tfd_proto_pool_extension(r->pool, l->of, inner);
    else
        *out = tfd_proto_message_field(l->of, name);
    if (!*out && name.data[0] != '[')
        *out = find_group(l->of, name);
    if (*out)
        return TFD_OK;
    return tfd_text_scan_fail(
        &r->scan, TFD_STR_FMT " has no field " TFD_STR_FMT,
        TFD_STR_ARG(l->of->symbol.name), TFD_STR_ARG(name));
}

static enum tfd_code read_text_field(struct text_reader *r, struct level *l)
{
    const struct tfd_proto_field *f;
    bool colon;
    int c;

    TFD_TRY(find_field(r, l, &f));
    colon = tfd_text_scan_eat(&r->scan, ':');
    c = tfd_text_scan_peek(&r->scan);
    if (!colon && !(f->message && (c == '{' || c == '<' || c == '[')))
        return tfd_text_scan_fail(&r->scan,
                                  "':' must stand behind " TFD_STR_FMT,
                                  TFD_STR_ARG(f->name));
    if (c == '[' && f->is_repeated) {
        r->scan.at++;
        r->levels[r->depth++] =
            (struct level){.of = l->of, .items = f, .is_first = true};
        return TFD_OK;
    }
    TFD_TRY(read_text_value(r, f));
    if (c != '{' && c != '<')
        eat_separator(r);
    return TFD_OK;
}

/* ---- All of it ----------------------------------------------------------- */

static enum tfd_code read_levels(struct text_reader *r)
{
    while (!tfd_halted()) {
        struct level *l = &r->levels[r->depth - 1];
        int c = tfd_text_scan_peek(&r->scan);

        if (c < 0 && r->depth == 1)
            return TFD_OK;
        if (c < 0)
            return tfd_text_scan_fail(&r->scan, "'%c' is missing at the end",
                                      l->items ? ']' : l->close);
        if (l->items) {
            TFD_TRY(read_item(r, l));
        } else if (r->depth > 1 && c == l->close) {
            r->scan.at++;
            close_level(r);
        } else {
            TFD_TRY(read_text_field(r, l));
        }
    }
    return tfd_halt_fail(r->scan.st);
}

enum tfd_code tfd_proto_text_read(const struct tfd_proto_pool *pool,
                                  const struct tfd_proto_message *m,
                                  struct tfd_str text, struct tfd_bytes *out,
                                  struct tfd_status *st)
{
    struct text_reader r = {
        .scan = {.text = text, .st = st}, .pool = pool, .out = out};
    enum tfd_code rc;

    /* An escape of six characters is three bytes at most. */
    tfd_bytes_init(&r.scan.string, text.size + 8);
    r.levels[r.depth++] = (struct level){.of = m};
    r.messages++;
    rc = read_levels(&r);
    tfd_bytes_deinit(&r.scan.string);
    return rc == TFD_OK ? tfd_bytes_ok(out, "a message", st) : rc;
}
