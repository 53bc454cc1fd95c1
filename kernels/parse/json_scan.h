/*
 * json_scan.h - JSON token by token, as protobuf's parser of it reads text, and
 * with its errors.
 *
 * Beyond the standard (RFC 8259) it takes what protobuf takes: strings in
 * single quotes, control characters in strings, keys that are bare words, a
 * comma behind the last element.  Strings are UTF-8.
 *
 * The reader pulls: it asks for an object or an array, then for one element
 * after another.  It knows what comes, so nothing recurses here, and how deep
 * it may ask is TFD_JSON_DEPTH_MAX.
 *
 *     TFD_TRY(tfd_json_scan_open(s, '{', &more, st));
 *     while (more) {
 *         TFD_TRY(tfd_json_scan_key(s, &key, st));
 *         ... the value
 *         TFD_TRY(tfd_json_scan_more(s, '}', &more, st));
 *     }
 *
 * An error is INVALID_ARGUMENT, and says where: the message and the fields that
 * the reader has entered, and a line and a column, counted as protobuf does,
 * which leaves out digits of numbers and of escapes, bare words and what
 * follows the first byte of a character.
 *
 * Threads: one at a time.
 */
#ifndef TFD_KERNELS_PARSE_JSON_SCAN_H
#define TFD_KERNELS_PARSE_JSON_SCAN_H

#include "common/base/str.h"

/* Fields within each other; messages that are read have four. */
#define TFD_JSON_PATH_MAX 8

enum tfd_json_kind {
    TFD_JSON_OBJECT,
    TFD_JSON_ARRAY,
    TFD_JSON_STRING,
    TFD_JSON_NUMBER,
    TFD_JSON_TRUE,
    TFD_JSON_FALSE,
    TFD_JSON_NULL,
};

struct tfd_json_place {
    size_t offset, line, column; /* from 0 */
};

/* A string, a key or a number.  The text is the input's or the scanner's own,
 * which keeps it until the next string. */
struct tfd_json_token {
    struct tfd_str text;
    struct tfd_json_place place; /* where it begins */
    double value;                /* of a number: finite */
    bool is_copy;                /* the text is the scanner's own */
};

struct tfd_json_field {
    struct tfd_str name;
    const char *type;
    int64_t index; /* of an element; -1: none yet */
};

struct tfd_json_scan {
    struct tfd_str text;
    size_t at;
    struct tfd_json_place place;
    int depth;
    const char *message; /* the type of all of it */
    struct tfd_json_field path[TFD_JSON_PATH_MAX];
    int path_count;
    struct tfd_bytes string; /* one with escapes */
};

/* Borrows both. */
void tfd_json_scan_init(struct tfd_json_scan *s, struct tfd_str text,
                        const char *message);
void tfd_json_scan_deinit(struct tfd_json_scan *s);

/* ---- Where an error is --------------------------------------------------- */

/* Borrows both until it is left. */
void tfd_json_scan_enter(struct tfd_json_scan *s, struct tfd_str name,
                         const char *type);
void tfd_json_scan_leave(struct tfd_json_scan *s);
/* The next element of the field that was entered last. */
void tfd_json_scan_count(struct tfd_json_scan *s);
/* place NULL: where the scanner is. */
enum tfd_code tfd_json_scan_fail(const struct tfd_json_scan *s,
                                 const struct tfd_json_place *place,
                                 struct tfd_status *st, const char *fmt, ...)
    TFD_PRINTF(4, 5);
/* As much of a string as an error has room for, in whole characters. */
struct tfd_str tfd_json_scan_shown(struct tfd_str text);

/* ---- Tokens -------------------------------------------------------------- */

/* What comes next, behind white space. */
enum tfd_code tfd_json_scan_kind(struct tfd_json_scan *s,
                                 enum tfd_json_kind *out,
                                 struct tfd_status *st) TFD_MUST_USE;
/* False as well where there is nothing, or nothing known. */
bool tfd_json_scan_is(struct tfd_json_scan *s, enum tfd_json_kind kind);
/* Steps over these characters. */
enum tfd_code tfd_json_scan_expect(struct tfd_json_scan *s,
                                   const char *characters,
                                   struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_json_scan_string(struct tfd_json_scan *s,
                                   struct tfd_json_token *out,
                                   struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_json_scan_number(struct tfd_json_scan *s,
                                   struct tfd_json_token *out,
                                   struct tfd_status *st) TFD_MUST_USE;
/* Nothing but white space may follow. */
enum tfd_code tfd_json_scan_end(struct tfd_json_scan *s,
                                struct tfd_status *st) TFD_MUST_USE;

/* ---- Objects and arrays -------------------------------------------------- */

/* opening is '{' or '['; *more: it has an element. */
enum tfd_code tfd_json_scan_open(struct tfd_json_scan *s, char opening,
                                 bool *more,
                                 struct tfd_status *st) TFD_MUST_USE;
/* A key and its colon. */
enum tfd_code tfd_json_scan_key(struct tfd_json_scan *s,
                                struct tfd_json_token *out,
                                struct tfd_status *st) TFD_MUST_USE;
/* Behind an element; closing is '}' or ']'. */
enum tfd_code tfd_json_scan_more(struct tfd_json_scan *s, char closing,
                                 bool *more,
                                 struct tfd_status *st) TFD_MUST_USE;

#endif
