/*
 * text_format.c - see text_format.h.
 *
 * A stack of messages, and of lists in them, that are open.  What is ignored
 * has no table (`of` is NULL) and goes the same way.
 */
#include "common/proto/text_format.h"

#include "common/base/pbio.h"
#include "common/proto/text_scan.h"

#include <string.h>

/* A list lies in a message, so there are no more lists than messages. */
#define LEVELS_MAX (2 * TFD_PROTO_DEPTH_MAX)

struct level {
    const struct tfd_text_message *of;  /* NULL: ignored */
    const struct tfd_text_field *items; /* of a list; NULL: a message */
    char close;
    bool is_first; /* no element was read as yet */
    size_t mark;
};

struct text_reader {
    struct tfd_text_scan scan;
    struct tfd_bytes *out;
    struct level levels[LEVELS_MAX];
    int depth, messages;
};

static const struct tfd_text_field ignored = {.name = "",
                                              .kind = TFD_TEXT_IGNORED};

static const struct tfd_text_field *find_field(const struct tfd_text_message *m,
                                               struct tfd_str name)
{
    for (int i = 0; m && i < m->count; i++)
        if (tfd_str_is(name, m->fields[i].name))
            return &m->fields[i];
    return NULL;
}

/* ---- One value ----------------------------------------------------------- */

static void put_fixed(struct tfd_bytes *out, uint32_t tag,
                      enum tfd_pb_wire wire, const void *bits, size_t size)
{
    tfd_pb_put_varint(out, (uint64_t)tag << 3 | wire);
    tfd_bytes_add(out, bits, size);
}

static enum tfd_code put_int(struct text_reader *r,
                             const struct tfd_text_field *f,
                             const struct tfd_text_token *t)
{
    int bits =
        f->kind == TFD_TEXT_INT32 || f->kind == TFD_TEXT_UINT32 ? 32 : 64;
    bool is_signed = f->kind == TFD_TEXT_INT32 || f->kind == TFD_TEXT_INT64;
    uint64_t value;

    TFD_TRY(tfd_text_scan_int(&r->scan, t, bits, is_signed, &value));
    tfd_pb_put_int_always(r->out, f->tag, (int64_t)value);
    return TFD_OK;
}

static enum tfd_code put_enum(struct text_reader *r,
                              const struct tfd_text_field *f,
                              const struct tfd_text_token *t)
{
    uint64_t value = 0;
    int number;

    if (!t->minus && f->number(t->text, &number))
        value = (uint64_t)(int64_t)number;
    else if (t->text[0] < '0' || t->text[0] > '9')
        return tfd_text_scan_fail(&r->scan, "%s is no value of %s", t->text,
                                  f->name);
    else
        TFD_TRY(tfd_text_scan_int(&r->scan, t, 32, true, &value));
    tfd_pb_put_int_always(r->out, f->tag, (int64_t)value);
    return TFD_OK;
}

static enum tfd_code put_real(struct text_reader *r,
                              const struct tfd_text_field *f,
                              const struct tfd_text_token *t)
{
    double value;
    float single;

    TFD_TRY(tfd_text_scan_float(&r->scan, t, &value));
    single = (float)value;
    if (f->kind == TFD_TEXT_FLOAT)
        put_fixed(r->out, f->tag, TFD_PB_FIXED32, &single, sizeof(single));
    else
        put_fixed(r->out, f->tag, TFD_PB_FIXED64, &value, sizeof(value));
    return TFD_OK;
}

static enum tfd_code put_token(struct text_reader *r,
                               const struct tfd_text_field *f)
{
    struct tfd_text_token t;
    bool flag;

    TFD_TRY(tfd_text_scan_token(&r->scan, &t));
    switch (f->kind) {
    case TFD_TEXT_BOOL:
        TFD_TRY(tfd_text_scan_bool(&r->scan, &t, &flag));
        tfd_pb_put_int_always(r->out, f->tag, flag);
        return TFD_OK;
    case TFD_TEXT_FLOAT:
    case TFD_TEXT_DOUBLE:
        return put_real(r, f, &t);
    case TFD_TEXT_ENUM:
        return put_enum(r, f, &t);
    case TFD_TEXT_IGNORED:
        return TFD_OK;
    default:
        return put_int(r, f, &t);
    }
}

static enum tfd_code read_scalar(struct text_reader *r,
                                 const struct tfd_text_field *f)
{
    int c = tfd_text_scan_peek(&r->scan);
    bool quoted = c == '"' || c == '\'';

    if (f->kind == TFD_TEXT_MESSAGE)
        return tfd_text_scan_fail(
            &r->scan, "%s is a message; '{' must stand here", f->name);
    if (f->kind != TFD_TEXT_STRING && !(f->kind == TFD_TEXT_IGNORED && quoted))
        return put_token(r, f);
    TFD_TRY(tfd_text_scan_string(&r->scan));
    if (f->kind == TFD_TEXT_STRING)
        tfd_pb_put_str_always(r->out, f->tag, tfd_bytes_view(&r->scan.string));
    return TFD_OK;
}

/* ---- Levels -------------------------------------------------------------- */

static enum tfd_code open_message(struct text_reader *r,
                                  const struct tfd_text_field *f)
{
    struct level *l = &r->levels[r->depth];

    if (f->kind != TFD_TEXT_MESSAGE && f->kind != TFD_TEXT_IGNORED)
        return tfd_text_scan_fail(&r->scan, "%s is no message", f->name);
    if (r->messages == TFD_PROTO_DEPTH_MAX)
        return tfd_text_scan_fail(&r->scan,
                                  "messages are nested deeper than %d",
                                  TFD_PROTO_DEPTH_MAX);
    *l = (struct level){.of = f->kind == TFD_TEXT_MESSAGE ? f->of : NULL};
    l->close = tfd_text_scan_eat(&r->scan, '{') ? '}' : '>';
    if (l->close == '>')
        r->scan.at++;
    if (l->of)
        l->mark = tfd_pb_begin(r->out, f->tag);
    r->depth++;
    r->messages++;
    return TFD_OK;
}

static enum tfd_code read_value(struct text_reader *r,
                                const struct tfd_text_field *f)
{
    int c = tfd_text_scan_peek(&r->scan);

    return c == '{' || c == '<' ? open_message(r, f) : read_scalar(r, f);
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
        if (l->of)
            tfd_pb_finish(r->out, l->mark);
    }
    if (r->depth > 0 && !r->levels[r->depth - 1].items)
        eat_separator(r);
}

static enum tfd_code read_item(struct text_reader *r, struct level *l)
{
    bool is_first = l->is_first;

    if (tfd_text_scan_eat(&r->scan, ']')) {
        close_level(r);
        return TFD_OK;
    }
    l->is_first = false;
    if (!is_first && !tfd_text_scan_eat(&r->scan, ','))
        return tfd_text_scan_fail(&r->scan, "',' or ']' must stand here");
    return read_value(r, l->items);
}

static enum tfd_code read_field(struct text_reader *r, struct level *l)
{
    const struct tfd_text_field *f = &ignored;
    struct tfd_str name;
    bool colon;
    int c;

    TFD_TRY(tfd_text_scan_name(&r->scan, &name));
    if (l->of)
        f = find_field(l->of, name);
    if (!f)
        return tfd_text_scan_fail(&r->scan, "%s has no field " TFD_STR_FMT,
                                  l->of->name, TFD_STR_ARG(name));
    colon = tfd_text_scan_eat(&r->scan, ':');
    if (tfd_text_scan_eat(&r->scan, '[')) {
        r->levels[r->depth++] =
            (struct level){.of = l->of, .items = f, .is_first = true};
        return TFD_OK;
    }
    c = tfd_text_scan_peek(&r->scan);
    if (!colon && c != '{' && c != '<')
        return tfd_text_scan_fail(
            &r->scan, "':' must stand behind " TFD_STR_FMT, TFD_STR_ARG(name));
    TFD_TRY(read_value(r, f));
    if (c != '{' && c != '<')
        eat_separator(r);
    return TFD_OK;
}

/* ---- All of it ----------------------------------------------------------- */

static enum tfd_code read_levels(struct text_reader *r)
{
    while (r->depth > 0) {
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
            TFD_TRY(read_field(r, l));
        }
    }
    return TFD_OK;
}

static enum tfd_code choose_root(struct text_reader *r,
                                 const struct tfd_text_message *const *roots,
                                 int root_count, int *root)
{
    struct tfd_str name;

    TFD_TRY(tfd_text_scan_name(&r->scan, &name));
    for (*root = 0; *root < root_count; ++*root)
        if (find_field(roots[*root], name))
            break;
    if (*root == root_count)
        return tfd_text_scan_fail(
            &r->scan, "no message has a field " TFD_STR_FMT, TFD_STR_ARG(name));
    r->scan.at = 0;
    return TFD_OK;
}

enum tfd_code tfd_text_format_read(struct tfd_str text,
                                   const struct tfd_text_message *const *roots,
                                   int root_count, int *root,
                                   struct tfd_bytes *out, struct tfd_status *st)
{
    struct text_reader r = {.scan = {.text = text, .st = st}, .out = out};
    enum tfd_code rc;

    tfd_bytes_init(&r.scan.string, text.size + 8);
    rc = choose_root(&r, roots, root_count, root);
    if (rc == TFD_OK) {
        r.levels[r.depth++] = (struct level){.of = roots[*root]};
        r.messages++;
        rc = read_levels(&r);
    }
    tfd_bytes_deinit(&r.scan.string);
    return rc == TFD_OK ? tfd_bytes_ok(out, "a message", st) : rc;
}
