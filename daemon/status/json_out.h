/*
 * json_out.h - writes one JSON document (RFC 8259) from front to back.
 *
 *     tfd_json_out_open(j, NULL, '{');
 *     tfd_json_out_text(j, "job", tfd_str_of("ps"));
 *     tfd_json_out_open(j, "tasks", '[');
 *     tfd_json_out_number(j, NULL, 3);
 *     tfd_json_out_close(j, ']');
 *     tfd_json_out_close(j, '}');
 *
 * `key` is a literal of ours, written as it is; NULL within an array.  Texts
 * are anybody's: they are escaped, what is no UTF-8 becomes U+FFFD, control
 * characters (of Unicode's second block, too) are escaped, and what is longer
 * than TFD_STATUS_TEXT_SIZE_MAX bytes ends in "...".
 *
 * Errors: those of the buffer, which its owner looks at once at the end.
 * Threads: any; a writer belongs to one.
 */
#ifndef TFD_DAEMON_STATUS_JSON_OUT_H
#define TFD_DAEMON_STATUS_JSON_OUT_H

#include "common/base/str.h"

struct tfd_json_out {
    struct tfd_bytes *out;
    bool follows; /* something stands before on this level */
};

void tfd_json_out_open(struct tfd_json_out *j, const char *key, char bracket);
void tfd_json_out_close(struct tfd_json_out *j, char bracket);
void tfd_json_out_text(struct tfd_json_out *j, const char *key,
                       struct tfd_str text);
void tfd_json_out_number(struct tfd_json_out *j, const char *key,
                         int64_t value);
/* Numbers beyond 2^53, which readers of JSON round, as text. */
void tfd_json_out_id(struct tfd_json_out *j, const char *key, uint64_t value);
/* With so many digits behind the point, at most 6; null where it is none. */
void tfd_json_out_real(struct tfd_json_out *j, const char *key, double value,
                       int digits);
void tfd_json_out_bool(struct tfd_json_out *j, const char *key, bool value);
void tfd_json_out_null(struct tfd_json_out *j, const char *key);

#endif
