/*
 * replace.h - what a regular expression matches in a text, replaced.
 *
 * In a rewrite \0 is the match, \1 to \9 are its groups, \\ is a backslash.
 * What RE2 does with a wrong one is kept, since TensorFlow's clients see it: a
 * group that the pattern does not have leaves the text as it is; at any other
 * escape a rewrite ends, which leaves the text as it is too where one match
 * alone is replaced.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_REPLACE_H
#define TFD_KERNELS_REPLACE_H

#include "kernels/text/re2.h"

struct tfd_replace {
    const struct tfd_re2 *re2;
    const struct tfd_byte_class *bytes;
    struct tfd_str rewrite;
    bool all;  /* every match, else the first */
    int parts; /* of a match that the rewrite needs; 0: it asks for too many */
};

void tfd_replace_init(struct tfd_replace *r, const struct tfd_re2 *re2,
                      struct tfd_str rewrite, bool all);

/* *changed: out holds the new text, else the old one stays.  Whether out has
 * become too large, out says (tfd_bytes_ok). */
enum tfd_code tfd_replace(const struct tfd_replace *r, struct tfd_str text,
                          struct tfd_bytes *out, bool *changed,
                          struct tfd_status *st) TFD_MUST_USE;

#endif
