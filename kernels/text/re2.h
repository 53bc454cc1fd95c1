/*
 * re2.h - RE2, the library of regular expressions that TensorFlow uses, for C.
 *
 * The syntax, its errors and what matches are therefore TensorFlow's.  Time is
 * linear in the text, whatever the pattern, and a compiled pattern takes
 * TFD_RE2_SIZE_MAX bytes at most, as patterns come from clients: RE2 refuses
 * one whose program is larger, and matches without a cache where there is no
 * room for one.
 *
 * Threads: a compiled pattern may be used by several at once.
 */
#ifndef TFD_KERNELS_RE2_H
#define TFD_KERNELS_RE2_H

#include "common/base/status.h"
#include "common/base/str.h"

#include <stdint.h>

/* RE2's own default, and so TensorFlow's. */
#define TFD_RE2_SIZE_MAX (8 << 20)

/* Parts of a match that a rewrite can name: \0, the whole, to \9. */
#define TFD_RE2_PARTS_MAX 10

struct tfd_re2;

/* INVALID_ARGUMENT in TensorFlow's words where the pattern is wrong. */
enum tfd_code tfd_re2_new(struct tfd_str pattern, struct tfd_re2 **out,
                          struct tfd_status *st) TFD_MUST_USE;
void tfd_re2_free(struct tfd_re2 *r); /* NULL allowed */

/* Parenthesised groups that capture. */
int tfd_re2_groups(const struct tfd_re2 *r);

/* A pattern that is one ASCII character or one of several, "[0-9]", may be
 * matched without RE2, by whom its table was filled. */
struct tfd_byte_class {
    bool is;   /* else nothing of this holds */
    bool runs; /* as many as there are: "[0-9]+" */
    bool has[UINT8_MAX + 1];
};

const struct tfd_byte_class *tfd_re2_class(const struct tfd_re2 *r);

/* The pattern matches all of the text.  Both fail with RESOURCE_EXHAUSTED. */
enum tfd_code tfd_re2_full_match(const struct tfd_re2 *r, struct tfd_str text,
                                 bool *matches,
                                 struct tfd_status *st) TFD_MUST_USE;

/* The first match at or behind byte `from` of the text, which ^ and \b still
 * see whole.  part[0] is the match, part[n] its group n, data NULL where that
 * took no part; count is 1 to TFD_RE2_PARTS_MAX. */
enum tfd_code tfd_re2_find(const struct tfd_re2 *r, struct tfd_str text,
                           size_t from, struct tfd_str *part, int count,
                           bool *found, struct tfd_status *st) TFD_MUST_USE;

#endif
