/*
 * replace.c - see replace.h.
 *
 * RE2 has functions for this, but they let a text grow without bound and write
 * to the log what is wrong with a rewrite.  A search of theirs takes a lock and
 * reads the match twice, to its end and back to where it begins; where the
 * pattern is a class of bytes, there is none.
 */
#include "kernels/text/replace.h"

#include "common/thread/halt.h"

#include <string.h>

#define MATCHES_BETWEEN_LOOKS 4096

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

void tfd_replace_init(struct tfd_replace *r, const struct tfd_re2 *re2,
                      struct tfd_str rewrite, bool all)
{
    int last = 0;

    for (size_t i = 0; i + 1 < rewrite.size; i++) {
        if (rewrite.data[i] != '\\')
            continue;
        i++;
        if (is_digit(rewrite.data[i]) && rewrite.data[i] - '0' > last)
            last = rewrite.data[i] - '0';
    }
    *r = (struct tfd_replace){re2, tfd_re2_class(re2), rewrite, all,
                              last > tfd_re2_groups(re2) ? 0 : last + 1};
}

/* Adds the rewrite of one match, up to a wrong escape: then false. */
static bool add_rewrite(const struct tfd_replace *r, const struct tfd_str *part,
                        struct tfd_bytes *out)
{
    const char *p = r->rewrite.data, *end = p + r->rewrite.size;

    for (; p < end; p++) {
        const char *escape = memchr(p, '\\', (size_t)(end - p));

        if (!escape)
            escape = end;
        tfd_bytes_add(out, p, (size_t)(escape - p));
        p = escape + 1;
        if (escape == end)
            return true;
        if (p < end && is_digit(*p))
            tfd_bytes_add_str(out, part[*p - '0']);
        else if (p < end && *p == '\\')
            tfd_bytes_add(out, p, 1);
        else
            return false;
    }
    return true;
}

/* ---- Finding ------------------------------------------------------------- */

static bool find_bytes(const struct tfd_byte_class *c, struct tfd_str text,
                       size_t at, struct tfd_str *part)
{
    const unsigned char *p = (const unsigned char *)text.data;
    size_t end;

    while (at < text.size && !c->has[p[at]])
        at++;
    if (at == text.size)
        return false;
    for (end = at + 1; c->runs && end < text.size && c->has[p[end]];)
        end++;
    *part = (struct tfd_str){text.data + at, end - at};
    return true;
}

static enum tfd_code find(const struct tfd_replace *r, struct tfd_str text,
                          size_t at, struct tfd_str *part, bool *found,
                          struct tfd_status *st)
{
    if (!r->bytes->is)
        return tfd_re2_find(r->re2, text, at, part, r->parts, found, st);
    *found = find_bytes(r->bytes, text, at, part);
    return TFD_OK;
}

static uint32_t continuation(const unsigned char *p, size_t size, size_t i)
{
    return i < size && (p[i] & 0xc0) == 0x80 ? p[i] & 0x3fu : UINT32_MAX;
}

/* Bytes of the UTF-8 character that `rest` begins with: as many as RE2 steps
 * over, and one where it is none. */
static size_t character_size(struct tfd_str rest)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)rest.data;
    size_t size = p[0] < 0xc0 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    uint32_t value = p[0] & (0x7fu >> size);

    if (size == 1 || p[0] >= 0xf8)
        return 1;
    for (size_t i = 1; i < size; i++) {
        uint32_t bits = continuation(p, rest.size, i);

        if (bits == UINT32_MAX)
            return 1;
        value = value << 6 | bits;
    }
    return value < least[size] || value > 0x10ffff ? 1 : size;
}

static struct tfd_str text_from(struct tfd_str text, size_t at)
{
    return (struct tfd_str){text.data + at, text.size - at};
}

static void add_part(struct tfd_bytes *out, struct tfd_str text, size_t begin,
                     size_t end)
{
    tfd_bytes_add_str(out, (struct tfd_str){text.data + begin, end - begin});
}

static enum tfd_code replace_first(const struct tfd_replace *r,
                                   struct tfd_str text, struct tfd_bytes *out,
                                   bool *changed, struct tfd_status *st)
{
    struct tfd_str part[TFD_RE2_PARTS_MAX];
    size_t begin;

    TFD_TRY(find(r, text, 0, part, changed, st));
    if (!*changed)
        return TFD_OK;
    begin = (size_t)(part[0].data - text.data);
    add_part(out, text, 0, begin);
    *changed = add_rewrite(r, part, out);
    add_part(out, text, begin + part[0].size, text.size);
    return TFD_OK;
}

/* Copies the character at `at`; the position behind it, past the end of the
 * text when there is none. */
static size_t step_over(struct tfd_str text, size_t at, struct tfd_bytes *out)
{
    size_t size = at < text.size ? character_size(text_from(text, at)) : 0;

    tfd_bytes_add(out, text.data + at, size);
    return at + (size ? size : 1);
}

/* An empty match where the last one ended is none: a character is copied, and
 * the search goes on behind it. */
static enum tfd_code replace_all(const struct tfd_replace *r,
                                 struct tfd_str text, struct tfd_bytes *out,
                                 bool *changed, struct tfd_status *st)
{
    struct tfd_str part[TFD_RE2_PARTS_MAX];
    size_t at = 0, last_end = SIZE_MAX;
    bool found = true;

    for (size_t n = 0; at <= text.size && !out->failed; n++) {
        size_t begin;

        if (n % MATCHES_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        TFD_TRY(find(r, text, at, part, &found, st));
        if (!found)
            break;
        begin = (size_t)(part[0].data - text.data);
        add_part(out, text, at, begin);
        if (begin == last_end && part[0].size == 0) {
            at = step_over(text, begin, out);
            continue;
        }
        add_rewrite(r, part, out);
        last_end = at = begin + part[0].size;
        *changed = true;
    }
    if (at < text.size)
        add_part(out, text, at, text.size);
    return TFD_OK;
}

enum tfd_code tfd_replace(const struct tfd_replace *r, struct tfd_str text,
                          struct tfd_bytes *out, bool *changed,
                          struct tfd_status *st)
{
    *changed = false;
    tfd_bytes_clear(out);
    if (r->parts == 0)
        return TFD_OK;
    return r->all ? replace_all(r, text, out, changed, st)
                  : replace_first(r, text, out, changed, st);
}
