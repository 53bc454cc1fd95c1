/*
 * regex_compile.h - what the two halves of the compiler of regex.h share:
 * regex_compile.c reads groups and repetitions and writes steps, regex_class.c
 * reads characters and classes and writes ranges.
 */
#ifndef TFD_KERNELS_REGEX_COMPILE_H
#define TFD_KERNELS_REGEX_COMPILE_H

#include "kernels/text/regex.h"

#define TFD_REGEX_DEPTH_MAX 1000

enum tfd_regex_flag {
    TFD_REGEX_FOLD = 1 << 0,     /* i: either case */
    TFD_REGEX_LINES = 1 << 1,    /* m: ^ and $ at lines */
    TFD_REGEX_DOT_LINE = 1 << 2, /* s: . is \n too */
};

/* An open group, or the whole pattern. */
struct tfd_regex_group {
    int32_t begin;  /* of the group's steps */
    int32_t branch; /* of the alternative being read */
    int32_t jumps;  /* the last JUMP to the group's end, or -1; each holds how
                       far back the one before it is, or 0 */
    unsigned flags; /* outside */
};

struct tfd_regex_compiler {
    struct tfd_regex *r;
    struct tfd_str pattern;
    const char *p, *end;
    unsigned flags;
    int32_t atom; /* where the last part begins, or -1: nothing to repeat */
    struct tfd_regex_group groups[TFD_REGEX_DEPTH_MAX];
    int depth;
    struct tfd_status *st;
};

/* INVALID_ARGUMENT: the pattern and what is wrong with it. */
enum tfd_code tfd_regex_wrong(const struct tfd_regex_compiler *c,
                              const char *what);
bool tfd_regex_left(const struct tfd_regex_compiler *c);
/* Whether the text came next; it is read then. */
bool tfd_regex_take(struct tfd_regex_compiler *c, const char *text);

/* The result of a tfd_regex_set_*() call as a status. */
enum tfd_code tfd_regex_class_kept(const struct tfd_regex_compiler *c, bool ok);
/* At least `least` and at most `most` digits; large numbers come out as some
 * number above TFD_REGEX_CHARACTER_MAX. */
bool tfd_regex_class_number(struct tfd_regex_compiler *c, int base, int least,
                            int most, uint32_t *out);
/* The next character as it stands. */
enum tfd_code tfd_regex_class_plain(struct tfd_regex_compiler *c,
                                    uint32_t *out) TFD_MUST_USE;
/* The character that a backslash, which has been read, begins. */
enum tfd_code tfd_regex_class_escaped(struct tfd_regex_compiler *c,
                                      uint32_t *out) TFD_MUST_USE;
/* The ranges of \d and the like, the backslash read, if it is one. */
enum tfd_code tfd_regex_class_perl(struct tfd_regex_compiler *c,
                                   bool *found) TFD_MUST_USE;
/* The ranges of a class, after its '['. */
enum tfd_code tfd_regex_class_read(struct tfd_regex_compiler *c) TFD_MUST_USE;

#endif
