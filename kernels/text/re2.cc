/*
 * re2.cc - see re2.h.  The only C++ of tfd.
 *
 * It is compiled with exceptions, since RE2 allocates by `new`: what that
 * throws ends here, as a status.
 */
extern "C" {
#include "kernels/text/re2.h"
}

#include <cstring>
#include <new>
#include <re2/re2.h>

struct tfd_re2 {
    re2::RE2 pattern;
    tfd_byte_class bytes;

    tfd_re2(re2::StringPiece text, const re2::RE2::Options &options)
        : pattern(text, options), bytes()
    {
    }
};

namespace
{

tfd_code no_memory(tfd_status *st)
{
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "no memory for a regular expression");
}

/* ---- Classes of bytes ---------------------------------------------------- */

bool is_one_of(char c, const char *several)
{
    return c && std::strchr(several, c);
}

/* What stands for characters of ASCII alone behind a backslash. */
bool is_escape(char c)
{
    return is_one_of(c, "dswtnrfv") ||
           is_one_of(c, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~");
}

/* Bytes of the brackets that the pattern begins with; 0: they may hold what is
 * not ASCII, or are none. */
size_t brackets_size(tfd_str text)
{
    for (size_t i = 1; i < text.size; i++) {
        const char c = text.data[i];

        if (c == ']' && i > 1)
            return i + 1;
        if (c == '[' || (c == '^' && i == 1) || (c & 0x80))
            return 0;
        if (c == '\\' && (++i == text.size || !is_escape(text.data[i])))
            return 0;
    }
    return 0;
}

size_t character_size(tfd_str text)
{
    if (text.size == 0 || (text.data[0] & 0x80))
        return 0;
    if (text.data[0] == '[')
        return brackets_size(text);
    if (text.data[0] == '\\')
        return text.size > 1 && is_escape(text.data[1]) ? 2 : 0;
    return is_one_of(text.data[0], "^$.|?*+(){}]") ? 0 : 1;
}

void find_class(tfd_re2 *r, tfd_str text)
{
    const size_t size = character_size(text);
    tfd_byte_class *c = &r->bytes;

    c->runs = size + 1 == text.size && text.data[size] == '+';
    c->is = size > 0 && (size == text.size || c->runs);
    for (int i = 0; c->is && i < 128; i++) {
        const char one = (char)i;

        c->has[i] = r->pattern.Match(re2::StringPiece(&one, 1), 0, 1,
                                     re2::RE2::ANCHOR_BOTH, nullptr, 0);
    }
}

/* ---- Patterns ------------------------------------------------------------ */

tfd_code compile_pattern(tfd_str text, tfd_re2 **out, tfd_status *st)
{
    re2::RE2::Options options;
    tfd_re2 *r;

    options.set_max_mem(TFD_RE2_SIZE_MAX);
    options.set_log_errors(false); /* the client is told */
    r = new tfd_re2(re2::StringPiece(text.data, text.size), options);
    if (r->pattern.ok()) {
        find_class(r, text);
        *out = r;
        return TFD_OK;
    }
    tfd_fail(st, TFD_INVALID_ARGUMENT,
             "Invalid pattern: " TFD_STR_FMT ", error: %s", TFD_STR_ARG(text),
             r->pattern.error().c_str());
    delete r;
    return TFD_INVALID_ARGUMENT;
}

/* Its exceptions are the caller's. */
bool match_pattern(const tfd_re2 *r, tfd_str text, size_t from,
                   re2::RE2::Anchor anchor, tfd_str *part, int count)
{
    re2::StringPiece found[TFD_RE2_PARTS_MAX];

    if (!r->pattern.Match(re2::StringPiece(text.data, text.size), from,
                          text.size, anchor, found, count))
        return false;
    for (int i = 0; i < count; i++) {
        part[i].data = found[i].data();
        part[i].size = found[i].size();
    }
    return true;
}

} // namespace

extern "C" enum tfd_code tfd_re2_new(tfd_str pattern, tfd_re2 **out,
                                     tfd_status *st)
{
    *out = nullptr;
    try {
        return compile_pattern(pattern, out, st);
    } catch (const std::exception &) {
        return no_memory(st);
    }
}

extern "C" void tfd_re2_free(tfd_re2 *r)
{
    delete r;
}

extern "C" int tfd_re2_groups(const tfd_re2 *r)
{
    return r->pattern.NumberOfCapturingGroups();
}

extern "C" const tfd_byte_class *tfd_re2_class(const tfd_re2 *r)
{
    return &r->bytes;
}

extern "C" enum tfd_code tfd_re2_full_match(const tfd_re2 *r, tfd_str text,
                                            bool *matches, tfd_status *st)
{
    try {
        *matches =
            r->pattern.Match(re2::StringPiece(text.data, text.size), 0,
                             text.size, re2::RE2::ANCHOR_BOTH, nullptr, 0);
    } catch (const std::exception &) {
        return no_memory(st);
    }
    return TFD_OK;
}

extern "C" enum tfd_code tfd_re2_find(const tfd_re2 *r, tfd_str text,
                                      size_t from, tfd_str *part, int count,
                                      bool *found, tfd_status *st)
{
    try {
        *found =
            match_pattern(r, text, from, re2::RE2::UNANCHORED, part, count);
    } catch (const std::exception &) {
        return no_memory(st);
    }
    return TFD_OK;
}
