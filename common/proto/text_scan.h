/*
 * text_scan.h - the tokens of protobuf's text format, from left to right, for
 * text_format.c.
 *
 * A function that is named after what it reads fails with INVALID_ARGUMENT,
 * naming line and column, when something else stands there.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_COMMON_TEXT_SCAN_H
#define TFD_COMMON_TEXT_SCAN_H

#include "common/base/str.h"
#include "config/limits.h"

struct tfd_text_scan {
    struct tfd_str text;
    size_t at;
    struct tfd_bytes string; /* the last that was read, without escapes */
    struct tfd_status *st;
};

/* "line 3, column 7: " and the rest, at the place that comes next. */
enum tfd_code tfd_text_scan_fail(const struct tfd_text_scan *s, const char *fmt,
                                 ...) TFD_PRINTF(2, 3);

/* Both step over blanks and comments: the next character, -1 at the end; and
 * whether it is this one, which is then behind us. */
int tfd_text_scan_peek(struct tfd_text_scan *s);
bool tfd_text_scan_eat(struct tfd_text_scan *s, char c);

/* "node", or "[type.googleapis.com/some.Message]". */
enum tfd_code tfd_text_scan_name(struct tfd_text_scan *s,
                                 struct tfd_str *out) TFD_MUST_USE;

/* A number or a word, and whether a minus stood before it. */
struct tfd_text_token {
    bool minus;
    char text[TFD_TEXT_TOKEN_SIZE_MAX + 1];
};

enum tfd_code tfd_text_scan_token(struct tfd_text_scan *s,
                                  struct tfd_text_token *out) TFD_MUST_USE;
/* Strings that stand side by side are one: s->string. */
enum tfd_code tfd_text_scan_string(struct tfd_text_scan *s) TFD_MUST_USE;

/* What a token is; the bits of a number of `bits` bits. */
enum tfd_code tfd_text_scan_int(const struct tfd_text_scan *s,
                                const struct tfd_text_token *t, int bits,
                                bool is_signed, uint64_t *out) TFD_MUST_USE;
enum tfd_code tfd_text_scan_float(const struct tfd_text_scan *s,
                                  const struct tfd_text_token *t,
                                  double *out) TFD_MUST_USE;
enum tfd_code tfd_text_scan_bool(const struct tfd_text_scan *s,
                                 const struct tfd_text_token *t,
                                 bool *out) TFD_MUST_USE;

#endif
