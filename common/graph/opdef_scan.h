/*
 * opdef_scan.h - a scanner for the text of op definitions (opdef.h): it reads
 * names, numbers and punctuation from left to right, for opdef_*.c.
 *
 * A function that is named after what it reads fails with INTERNAL, naming the
 * op and the place, when something else stands there.  eat() and end() answer
 * yes or no and do not fail.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_COMMON_OPDEF_SCAN_H
#define TFD_COMMON_OPDEF_SCAN_H

#include "common/graph/opdef.h"

#define TFD_SCAN_LIST_MAX 64 /* elements of a default, strings, checks */

struct tfd_scan {
    const char *at; /* terminated */
    const char *op;
    struct tfd_arena *arena;
    struct tfd_status *st;
};

enum tfd_code tfd_scan_fail(const struct tfd_scan *s, const char *expected);
bool tfd_scan_end(struct tfd_scan *s);
/* Steps over `what` if it comes next. */
bool tfd_scan_eat(struct tfd_scan *s, const char *what);
enum tfd_code tfd_scan_need(struct tfd_scan *s, const char *what) TFD_MUST_USE;
/* Letters, digits, '_'; empty when there are none. */
struct tfd_str tfd_scan_word(struct tfd_scan *s);
enum tfd_code tfd_scan_name(struct tfd_scan *s,
                            struct tfd_str *out) TFD_MUST_USE;
enum tfd_code tfd_scan_int(struct tfd_scan *s, int64_t *out) TFD_MUST_USE;
/* In quotes of either kind; there are no escapes. */
enum tfd_code tfd_scan_quoted(struct tfd_scan *s,
                              struct tfd_str *out) TFD_MUST_USE;
/* Behind '=': makes a->default_value (opdef_default.c). */
enum tfd_code tfd_scan_default(struct tfd_scan *s,
                               struct tfd_op_attr *a) TFD_MUST_USE;

enum tfd_code tfd_scan_array(struct tfd_scan *s, size_t count, size_t size,
                             void **out) TFD_MUST_USE;

/* "float", "DT_FLOAT"; INVALID for others. */
enum tfd_dtype tfd_scan_dtype(struct tfd_str name);
/* Types by number, of a type or a group; 0 when it is neither. */
uint32_t tfd_scan_types(struct tfd_str name);

#endif
