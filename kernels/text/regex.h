/*
 * regex.h - does a regular expression match a whole string?
 *
 * The syntax is that of RE2, which TensorFlow uses: UTF-8, classes, groups of
 * every kind, flags (?imsU), lazy quantifiers, {n,m} up to 1000, \A \z \b \B,
 * \Q..\E.  As a full match is asked for, groups capture nothing and lazy is the
 * same as greedy.  Not supported, and refused: \p{..} and \C, and
 * characters beyond ASCII under (?i).
 *
 * Time is the product of the program's size and the string's length, whatever
 * the pattern: there is no backtracking, and patterns come from clients.
 *
 * Threads: a compiled expression is read-only; a matcher belongs to one call.
 */
#ifndef TFD_KERNELS_REGEX_H
#define TFD_KERNELS_REGEX_H

#include "common/base/status.h"
#include "common/base/str.h"

#include <stdint.h>

/* Steps of a program; a pattern that needs more is refused as too large. */
#define TFD_REGEX_STEPS_MAX 32768
#define TFD_REGEX_REPEAT_MAX 1000

enum tfd_regex_op {
    TFD_REGEX_CLASS, /* a character in ranges [x, x + y), then the next step */
    TFD_REGEX_SPLIT, /* both at + x and at + y */
    TFD_REGEX_JUMP,  /* at + x */
    TFD_REGEX_TEXT_BEGIN,
    TFD_REGEX_TEXT_END,
    TFD_REGEX_LINE_BEGIN,
    TFD_REGEX_LINE_END,
    TFD_REGEX_WORD_EDGE,
    TFD_REGEX_NO_WORD_EDGE,
    TFD_REGEX_MATCH,
};

struct tfd_regex_step {
    enum tfd_regex_op op;
    int32_t x, y;
};

/* Characters from first to last. */
struct tfd_regex_range {
    uint32_t first, last;
};

struct tfd_regex {
    struct tfd_regex_step *steps;
    struct tfd_regex_range *ranges;
    int32_t step_count, range_count;
    int32_t step_capacity, range_capacity;
};

/* INVALID_ARGUMENT with what is wrong, in RE2's words.  On failure *r needs no
 * deinit. */
enum tfd_code tfd_regex_compile(struct tfd_regex *r, struct tfd_str pattern,
                                struct tfd_status *st) TFD_MUST_USE;
void tfd_regex_deinit(struct tfd_regex *r);

/* The sets of a program being compiled: a set is the ranges from `begin` on.
 * False when there are too many, or no memory. */
bool tfd_regex_set_add(struct tfd_regex *r, uint32_t first, uint32_t last);
/* All characters that the set leaves out, in its place. */
bool tfd_regex_set_invert(struct tfd_regex *r, int32_t begin);
/* Adds the other case of ASCII letters. */
bool tfd_regex_set_fold(struct tfd_regex *r, int32_t begin);

/* What one thread needs to match. */
struct tfd_regex_matcher {
    const struct tfd_regex *regex;
    int32_t *memory;
};

enum tfd_code tfd_regex_matcher_init(struct tfd_regex_matcher *m,
                                     const struct tfd_regex *r,
                                     struct tfd_status *st) TFD_MUST_USE;
void tfd_regex_matcher_deinit(struct tfd_regex_matcher *m);
bool tfd_regex_matches(struct tfd_regex_matcher *m, struct tfd_str text);

/* The character at p (p < end) and the position after it; TFD_REGEX_INVALID and
 * one byte where the bytes are no UTF-8. */
#define TFD_REGEX_INVALID UINT32_MAX
#define TFD_REGEX_CHARACTER_MAX 0x10ffffu
uint32_t tfd_regex_character(const char **p, const char *end);

#endif
