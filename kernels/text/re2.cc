/*
 * re2.cc - see re2.h.  The only C++ of tfd.
 *
 * It is compiled with exceptions, since RE2 allocates by `new`: what that
 * throws ends here, as a status.
 */
extern "C" {
#include "kernels/text/re2.h"
}

#include <new>
#include <re2/re2.h>

struct tfd_re2 {
    re2::RE2 pattern;

    tfd_re2(re2::StringPiece text, const re2::RE2::Options &options)
        : pattern(text, options)
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

tfd_code compile_pattern(tfd_str text, tfd_re2 **out, tfd_status *st)
{
    re2::RE2::Options options;
    tfd_re2 *r;

    options.set_max_mem(TFD_RE2_SIZE_MAX);
    options.set_log_errors(false); /* the client is told */
    r = new tfd_re2(re2::StringPiece(text.data, text.size), options);
    if (r->pattern.ok()) {
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

extern "C" enum tfd_code tfd_re2_full_match(const tfd_re2 *r, tfd_str text,
                                            bool *matches, tfd_status *st)
{
    try {
        *matches = match_pattern(r, text, 0, re2::RE2::ANCHOR_BOTH, nullptr, 0);
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
