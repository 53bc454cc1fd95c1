/*
 * str.h - views of bytes, and a growing buffer with a maximum.
 *
 * A view borrows; who owns the bytes is said where the view is stored.  Views
 * are not terminated: print them with TFD_STR_FMT, TFD_STR_ARG.
 *
 * Threads: any.  Memory of large buffers goes from one to the next
 * (large_text.h).
 */
#ifndef TFD_COMMON_STR_H
#define TFD_COMMON_STR_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tfd_str {
    const char *data;
    size_t size;
};

#define TFD_STR(literal) \
    ((struct tfd_str){(literal), sizeof(literal) - 1}) /* of a "literal" */
/* The same for the initialiser of a static object. */
#define TFD_STR_INIT(literal)          \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }
#define TFD_STR_EMPTY ((struct tfd_str){"", 0})
#define TFD_STR_FMT "%.*s"
#define TFD_STR_ARG(s) (int)((s).size > 1024 ? 1024 : (s).size), (s).data

struct tfd_str tfd_str_of(const char *terminated); /* NULL gives "" */
bool tfd_str_eq(struct tfd_str a, struct tfd_str b);
bool tfd_str_is(struct tfd_str a, const char *terminated);
bool tfd_str_starts(struct tfd_str a, const char *prefix);
int tfd_str_cmp(struct tfd_str a, struct tfd_str b); /* bytewise, as memcmp */

/* ---- Growing buffer ------------------------------------------------------ */

/* max is fixed at creation; an append past it, or out of memory, fails and
 * sticks: later appends do nothing and tfd_bytes_ok() stays false, so that a
 * writer checks once at its end. */
struct tfd_bytes {
    char *data;
    size_t size;
    size_t capacity;
    size_t max;
    bool failed;
    const char *stays; /* where it failed: what cannot be written; or NULL */
};

void tfd_bytes_init(struct tfd_bytes *b, size_t max);
void tfd_bytes_deinit(struct tfd_bytes *b);
void tfd_bytes_clear(struct tfd_bytes *b); /* keeps the memory */
void tfd_bytes_add(struct tfd_bytes *b, const void *data, size_t size);
void tfd_bytes_add_str(struct tfd_bytes *b, struct tfd_str s);
/* Fails, since `what`, a literal ("a dataset"), does not leave this process. */
void tfd_bytes_refuse(struct tfd_bytes *b, const char *what);
/* Fails as the other one has, if it has. */
void tfd_bytes_fail_as(struct tfd_bytes *b, const struct tfd_bytes *other);
void tfd_bytes_printf(struct tfd_bytes *b, const char *fmt, ...)
    TFD_PRINTF(2, 3);
/* Room for size more bytes at the end, counted as used; NULL when failed. */
char *tfd_bytes_extend(struct tfd_bytes *b, size_t size);
struct tfd_str tfd_bytes_view(const struct tfd_bytes *b);
/* RESOURCE_EXHAUSTED naming `what` and both sizes when an append failed. */
enum tfd_code tfd_bytes_ok(const struct tfd_bytes *b, const char *what,
                           struct tfd_status *st) TFD_MUST_USE;

#endif
