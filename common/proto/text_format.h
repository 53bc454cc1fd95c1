/*
 * text_format.h - protobuf's text format into the bytes of the message.
 *
 *     node { name: "a" op: 'Const' # a comment
 *       attr < key: "dtype" value { type: DT_FLOAT } > }
 *     list [1, 2], other: [{ x: 1 }, { x: 2 }]
 *
 * What fields a message has is a table.  Of a field that is given twice though
 * it is no list both are written, where protobuf would refuse.
 *
 * Nothing recurses; messages may be TFD_PROTO_DEPTH_MAX deep.
 * Threads: any; nothing is shared.
 */
#ifndef TFD_COMMON_TEXT_FORMAT_H
#define TFD_COMMON_TEXT_FORMAT_H

#include "common/base/str.h"

enum tfd_text_kind {
    TFD_TEXT_STRING, /* and bytes */
    TFD_TEXT_INT32,
    TFD_TEXT_INT64,
    TFD_TEXT_UINT32,
    TFD_TEXT_UINT64,
    TFD_TEXT_BOOL,
    TFD_TEXT_FLOAT,
    TFD_TEXT_DOUBLE,
    TFD_TEXT_ENUM,
    TFD_TEXT_MESSAGE,
    TFD_TEXT_IGNORED, /* any value, which is not written */
};

struct tfd_text_message;

struct tfd_text_field {
    const char *name;
    uint32_t tag;
    enum tfd_text_kind kind;
    const struct tfd_text_message *of; /* MESSAGE */
    /* ENUM: the number of a name; false when it has none */
    bool (*number)(const char *name, int *out);
};

struct tfd_text_message {
    const char *name;
    const struct tfd_text_field *fields;
    int count;
};

/* The text is one of the `roots`, *root: the first that has its first field.
 * INVALID_ARGUMENT naming line and column.  `out` has a part of the message
 * after a failure. */
enum tfd_code tfd_text_format_read(struct tfd_str text,
                                   const struct tfd_text_message *const *roots,
                                   int root_count, int *root,
                                   struct tfd_bytes *out,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
