/*
 * npy_head.c - see npy_head.h.
 *
 * The text is Python's, of which a dictionary of three keys is read, in any
 * order: a string, True or False, and a tuple of whole numbers.
 */
#include "tools/npy/npy_head.h"

#include <inttypes.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Letters of NumPy; the first row of a type is what is written for it. */
static const struct type {
    char kind;
    int size;
    enum tfd_dtype dtype;
} types[] = {
    {'b', 1, TFD_BOOL},      {'i', 1, TFD_INT8},        {'i', 2, TFD_INT16},
    {'i', 4, TFD_INT32},     {'i', 8, TFD_INT64},       {'u', 1, TFD_UINT8},
    {'u', 2, TFD_UINT16},    {'u', 4, TFD_UINT32},      {'u', 8, TFD_UINT64},
    {'f', 2, TFD_HALF},      {'f', 4, TFD_FLOAT},       {'f', 8, TFD_DOUBLE},
    {'c', 8, TFD_COMPLEX64}, {'c', 16, TFD_COMPLEX128}, {'V', 2, TFD_BFLOAT16},
    {'i', 1, TFD_QINT8},     {'u', 1, TFD_QUINT8},      {'i', 2, TFD_QINT16},
    {'u', 2, TFD_QUINT16},   {'i', 4, TFD_QINT32},
};

struct scan {
    const char *at, *end;
    struct tfd_status *st;
};

static enum tfd_code fail_head(struct scan *s, const char *what)
{
    return tfd_fail(s->st, TFD_INVALID_ARGUMENT,
                    "its head has no %s; numpy.save() writes one", what);
}

static void skip_blanks(struct scan *s)
{
    while (s->at < s->end && strchr(" \t\r\n", *s->at) && *s->at)
        s->at++;
}

/* Takes the character, blanks before it too. */
static bool take(struct scan *s, char c)
{
    skip_blanks(s);
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

static bool take_word(struct scan *s, const char *word)
{
    size_t size = strlen(word);

    skip_blanks(s);
    if ((size_t)(s->end - s->at) < size || memcmp(s->at, word, size) != 0)
        return false;
    s->at += size;
    return true;
}

/* A string without escapes, which no key and no type has. */
static bool take_string(struct scan *s, struct tfd_str *out)
{
    char quote = '\'';
    const char *end;

    if (!take(s, '\'')) {
        quote = '"';
        if (!take(s, '"'))
            return false;
    }
    end = memchr(s->at, quote, (size_t)(s->end - s->at));
    if (!end)
        return false;
    *out = (struct tfd_str){s->at, (size_t)(end - s->at)};
    s->at = end + 1;
    return true;
}

/* Digits, and an L behind them where Python 2 wrote the file. */
static bool take_number(struct scan *s, int64_t *out)
{
    const char *begin;

    skip_blanks(s);
    begin = s->at;
    *out = 0;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
        if (__builtin_mul_overflow(*out, INT64_C(10), out) ||
            __builtin_add_overflow(*out, *s->at - '0', out))
            return false;
    if (s->at == begin)
        return false;
    if (s->at < s->end && *s->at == 'L')
        s->at++;
    return true;
}

/* ---- Values -------------------------------------------------------------- */

static enum tfd_code read_type(struct scan *s, struct tfd_ctl_npy_head *h)
{
    struct tfd_str descr;
    struct scan size;
    char order;

    if (!take_string(s, &descr))
        return tfd_fail(s->st, TFD_INVALID_ARGUMENT,
                        "its elements are records, which no tensor has");
    order = descr.size > 0 ? descr.data[0] : '\0';
    size = (struct scan){descr.data + 2, descr.data + descr.size, s->st};
    if (descr.size >= 2 && descr.data[1] == 'O')
        return tfd_fail(s->st, TFD_INVALID_ARGUMENT,
                        "its elements are pickled objects; save an array of "
                        "numbers or bytes");
    if (descr.size < 3 || !strchr("<>|=", order) ||
        !take_number(&size, &h->item_size) || size.at != size.end)
        return tfd_fail(s->st, TFD_INVALID_ARGUMENT, "no such type: '%.*s'",
                        (int)(descr.size < 40 ? descr.size : 40), descr.data);
    h->kind = descr.data[1];
    h->swapped = order == '>';
    h->dtype =
        h->kind == 'S' || h->kind == 'U' ? TFD_STRING : TFD_DTYPE_INVALID;
    for (size_t i = 0; i < COUNT(types) && !h->dtype; i++)
        if (types[i].kind == h->kind && types[i].size == h->item_size)
            h->dtype = types[i].dtype;
    if (!h->dtype || h->item_size > TFD_CTL_NPY_ITEM_MAX ||
        (h->kind == 'U' && h->item_size > TFD_CTL_NPY_ITEM_MAX / 4))
        return tfd_fail(s->st, TFD_INVALID_ARGUMENT,
                        "a tensor has no type '%.*s'",
                        (int)(descr.size < 40 ? descr.size : 40), descr.data);
    if (h->kind == 'U')
        h->item_size *= 4;
    return TFD_OK;
}

static enum tfd_code read_shape(struct scan *s, struct tfd_ctl_npy_head *h)
{
    if (!take(s, '('))
        return fail_head(s, "shape");
    h->rank = 0;
    while (!take(s, ')')) {
        if (h->rank == TFD_RANK_MAX)
            return tfd_fail(s->st, TFD_INVALID_ARGUMENT,
                            "more than %d dimensions", TFD_RANK_MAX);
        if (!take_number(s, &h->dim[h->rank++]))
            return fail_head(s, "shape that can be read");
        if (!take(s, ',') && (skip_blanks(s), s->at < s->end) && *s->at != ')')
            return fail_head(s, "shape that can be read");
    }
    return TFD_OK;
}

static enum tfd_code read_order(struct scan *s, struct tfd_ctl_npy_head *h)
{
    h->fortran = take_word(s, "True");
    if (!h->fortran && !take_word(s, "False"))
        return fail_head(s, "fortran_order");
    return TFD_OK;
}

enum tfd_code tfd_ctl_npy_head_read(struct tfd_str text,
                                    struct tfd_ctl_npy_head *h,
                                    struct tfd_status *st)
{
    static const struct {
        const char *key;
        enum tfd_code (*read)(struct scan *s, struct tfd_ctl_npy_head *h);
    } keys[] = {{"descr", read_type},
                {"fortran_order", read_order},
                {"shape", read_shape}};
    struct scan s = {text.data, text.data + text.size, st};
    bool seen[COUNT(keys)] = {false};
    struct tfd_str key;
    size_t i;

    *h = (struct tfd_ctl_npy_head){.rank = 0};
    if (!take(&s, '{'))
        return fail_head(&s, "dictionary");
    while (!take(&s, '}')) {
        if (!take_string(&s, &key) || !take(&s, ':'))
            return fail_head(&s, "dictionary that can be read");
        for (i = 0; i < COUNT(keys) && !tfd_str_is(key, keys[i].key); i++)
            ;
        if (i == COUNT(keys) || seen[i])
            return fail_head(&s, "dictionary of three keys");
        seen[i] = true;
        TFD_TRY(keys[i].read(&s, h));
        if (!take(&s, ',') && (s.at == s.end || *s.at != '}'))
            return fail_head(&s, "dictionary that can be read");
    }
    for (i = 0; i < COUNT(keys); i++)
        if (!seen[i])
            return fail_head(&s, keys[i].key);
    return TFD_OK;
}

/* ---- Writing ------------------------------------------------------------- */

static enum tfd_code put_type(const struct tfd_tensor *t, int64_t string_size,
                              struct tfd_bytes *b, struct tfd_status *st)
{
    if (t->dtype == TFD_STRING) {
        tfd_bytes_printf(b, "|S%" PRId64, string_size);
        return TFD_OK;
    }
    for (size_t i = 0; i < COUNT(types); i++)
        if (types[i].dtype == t->dtype) {
            tfd_bytes_printf(b, "%c%c%d", types[i].size == 1 ? '|' : '<',
                             types[i].kind, types[i].size);
            return TFD_OK;
        }
    return tfd_fail(st, TFD_INVALID_ARGUMENT, ".npy has no type for %s",
                    tfd_dtype_name((int)t->dtype));
}

/* What is in front of the elements is a multiple of 64 bytes. */
static void put_head(struct tfd_str dictionary, struct tfd_bytes *b)
{
    size_t first = dictionary.size + 64 > UINT16_MAX ? 12 : 10;
    size_t size = first + dictionary.size + 1;
    size_t blanks = (64 - size % 64) % 64;
    size_t text = size - first + blanks;

    tfd_bytes_add(b, "\x93NUMPY", 6);
    tfd_bytes_add(b, first == 10 ? "\1\0" : "\2\0", 2);
    for (size_t i = 0; i < first - 8; i++)
        tfd_bytes_add(b, &(char){(char)(text >> (8 * i))}, 1);
    tfd_bytes_add_str(b, dictionary);
    tfd_bytes_printf(b, "%*s\n", (int)blanks, "");
}

enum tfd_code tfd_ctl_npy_head_write(const struct tfd_tensor *t,
                                     int64_t string_size, struct tfd_bytes *b,
                                     struct tfd_status *st)
{
    struct tfd_bytes text;
    enum tfd_code rc;

    if (t->shape.rank > TFD_RANK_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "more than %d dimensions",
                        TFD_RANK_MAX);
    tfd_bytes_init(&text, TFD_CTL_NPY_HEAD_MAX);
    tfd_bytes_printf(&text, "{'descr': '");
    rc = put_type(t, string_size, &text, st);
    tfd_bytes_printf(&text, "', 'fortran_order': False, 'shape': (");
    for (int i = 0; i < t->shape.rank; i++)
        tfd_bytes_printf(&text, "%s%" PRId64 "%s", i ? ", " : "",
                         t->shape.dim[i], t->shape.rank == 1 ? "," : "");
    tfd_bytes_printf(&text, "), }");
    if (rc == TFD_OK)
        rc = tfd_bytes_ok(&text, "the head", st);
    if (rc == TFD_OK)
        put_head(tfd_bytes_view(&text), b);
    tfd_bytes_deinit(&text);
    return rc == TFD_OK ? tfd_bytes_ok(b, "the head", st) : rc;
}
