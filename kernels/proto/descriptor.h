/*
 * descriptor.h - descriptions of protobuf messages, as protoc writes them, made
 * into tables that a message can be read and written by.
 *
 *     FileDescriptorSet { file = 1 { message_type = 4 { field = 2 } } }
 *
 * Files come in an order in which each finds what it imports before it.  What
 * is checked is what the tables need: names and numbers that are there once,
 * types that can be found in the file or in its imports, defaults that are
 * values.  Ranges of reserved numbers and names in JSON are not looked at.
 *
 * Sets come from graphs: their size, files, fields and the memory of the tables
 * are bounded, and nothing recurses.
 *
 * Ownership: a pool keeps a copy of the bytes, which its names point into.
 * Threads: read-only once read.
 */
#ifndef TFD_KERNELS_PROTO_DESCRIPTOR_H
#define TFD_KERNELS_PROTO_DESCRIPTOR_H

#include "common/base/arena.h"
#include "common/base/map.h"

/* FieldDescriptorProto.Type */
enum tfd_proto_type {
    TFD_PROTO_DOUBLE = 1,
    TFD_PROTO_FLOAT,
    TFD_PROTO_INT64,
    TFD_PROTO_UINT64,
    TFD_PROTO_INT32,
    TFD_PROTO_FIXED64,
    TFD_PROTO_FIXED32,
    TFD_PROTO_BOOL,
    TFD_PROTO_STRING,
    TFD_PROTO_GROUP,
    TFD_PROTO_MESSAGE,
    TFD_PROTO_BYTES,
    TFD_PROTO_UINT32,
    TFD_PROTO_ENUM,
    TFD_PROTO_SFIXED32,
    TFD_PROTO_SFIXED64,
    TFD_PROTO_SINT32,
    TFD_PROTO_SINT64,
    TFD_PROTO_TYPE_END,
};

/* How a file, or a part of it, wants its fields: an edition's features, which
 * older syntaxes are two fixed sets of. */
struct tfd_proto_features {
    bool is_implicit; /* a zero is not there */
    bool is_closed;   /* an enum has no other values than those it names */
    bool is_packed;
    bool is_utf8; /* strings are checked */
    bool is_delimited;
};

enum tfd_proto_kind {
    TFD_PROTO_IS_MESSAGE,
    TFD_PROTO_IS_ENUM,
    TFD_PROTO_IS_EXTENSION,
};

/* What a full name stands for; the first member of each. */
struct tfd_proto_symbol {
    enum tfd_proto_kind kind;
    struct tfd_str name; /* "package.Message.Nested" */
    int file;
};

struct tfd_proto_value {
    struct tfd_str name;
    int32_t number;
};

struct tfd_proto_enum {
    struct tfd_proto_symbol symbol;
    struct tfd_proto_value *values; /* by name */
    int32_t *numbers;               /* in order */
    int count;
    int32_t first; /* the default */
    bool is_closed;
};

struct tfd_proto_message;

struct tfd_proto_field {
    struct tfd_str name; /* of an extension the full one */
    int32_t number;
    enum tfd_proto_type type;
    bool is_repeated, is_required, is_packed;
    bool is_implicit; /* a zero is not written */
    bool is_utf8;
    int oneof;     /* -1: in none, or in one that stands for `optional` */
    bool is_alone; /* in such a one */
    const struct tfd_proto_message *message; /* MESSAGE, GROUP */
    const struct tfd_proto_enum *values;     /* ENUM */
    uint64_t absent;            /* the default's bits, as of a VARINT */
    struct tfd_str absent_text; /* STRING, BYTES */
    /* Until it is linked. */
    struct tfd_str type_name, default_text;
    bool has_default;
};

struct tfd_proto_message {
    struct tfd_proto_symbol symbol;
    struct tfd_proto_field *fields; /* by number */
    uint32_t *by_name;
    int count, required_count, oneof_count;
    int32_t *ranges; /* first, end; of numbers for extensions */
    int range_count;
    bool is_map_entry;
    /* While it is read. */
    struct tfd_proto_features features;
    struct tfd_str bytes;
    struct tfd_proto_message *next;
};

struct tfd_proto_extension {
    struct tfd_proto_symbol symbol;
    struct tfd_proto_field field;
    const struct tfd_proto_message *of;
    struct tfd_str scope, of_name;
    struct tfd_proto_extension *next;
};

struct tfd_proto_pool {
    struct tfd_arena arena;
    struct tfd_map symbols;                  /* struct tfd_proto_symbol */
    struct tfd_proto_extension **extensions; /* by message and number */
    int extension_count;
    int64_t field_count; /* of all, against the maximum */
};

/* INVALID_ARGUMENT "Failed to load FileDescriptorProto: " and why; DATA_LOSS
 * where the bytes are no set; RESOURCE_EXHAUSTED.  After a failure, too, the
 * pool has to be released. */
enum tfd_code tfd_proto_pool_read(struct tfd_proto_pool *p, struct tfd_str set,
                                  struct tfd_status *st) TFD_MUST_USE;
void tfd_proto_pool_deinit(struct tfd_proto_pool *p);

/* NULL: there is none. */
const struct tfd_proto_message *
tfd_proto_pool_message(const struct tfd_proto_pool *p, struct tfd_str name);
const struct tfd_proto_field *
tfd_proto_pool_extension(const struct tfd_proto_pool *p,
                         const struct tfd_proto_message *m,
                         struct tfd_str name);
/* A field of a message, or an extension of it. */
const struct tfd_proto_field *
tfd_proto_pool_number(const struct tfd_proto_pool *p,
                      const struct tfd_proto_message *m, uint32_t number);
const struct tfd_proto_field *
tfd_proto_message_field(const struct tfd_proto_message *m, struct tfd_str name);
const struct tfd_proto_value *
tfd_proto_enum_value(const struct tfd_proto_enum *e, struct tfd_str name);
bool tfd_proto_enum_has(const struct tfd_proto_enum *e, int32_t number);

/* "sfixed32"; and what it is in memory, "int32". */
const char *tfd_proto_type_name(enum tfd_proto_type type);
const char *tfd_proto_type_kind(enum tfd_proto_type type);
/* Of one value: VARINT, FIXED64, BYTES, FIXED32 (pbio.h), 3 of a group. */
int tfd_proto_type_wire(enum tfd_proto_type type);

/* ---- Between the descriptor files ---------------------------------------- */

/* One file while it is read. */
struct tfd_proto_file {
    struct tfd_proto_pool *pool;
    struct tfd_str name, package;
    struct tfd_proto_features features;
    bool is_proto3;
    int number;
    const bool *sees; /* by file: this one can use its names */
    struct tfd_proto_message *first, *last; /* its messages */
    struct tfd_proto_extension *extensions;
    struct tfd_bytes name_room;
    struct tfd_status *st;
};

enum tfd_code tfd_proto_file_fail(const struct tfd_proto_file *f,
                                  struct tfd_str name, const char *why);
bool tfd_proto_file_is_word(struct tfd_str name);
enum tfd_code tfd_proto_file_damaged(const struct tfd_proto_file *f);
/* "scope.name" in the arena; INVALID_ARGUMENT when it is no name. */
enum tfd_code tfd_proto_file_name(struct tfd_proto_file *f,
                                  struct tfd_str scope, struct tfd_str name,
                                  struct tfd_str *out) TFD_MUST_USE;
enum tfd_code tfd_proto_file_add(struct tfd_proto_file *f,
                                 struct tfd_proto_symbol *s) TFD_MUST_USE;
/* All messages, enums and extensions of a FileDescriptorProto. */
enum tfd_code tfd_proto_read_file(struct tfd_proto_file *f,
                                  struct tfd_str bytes) TFD_MUST_USE;
/* Features that options choose: FeatureSet in the field with this tag. */
bool tfd_proto_read_features(struct tfd_str options, uint32_t tag,
                             struct tfd_proto_features *out);
/* An EnumDescriptorProto; and a FieldDescriptorProto: descriptor_field.c. */
enum tfd_code tfd_proto_read_enum(struct tfd_proto_file *f,
                                  struct tfd_str scope,
                                  const struct tfd_proto_features *features,
                                  struct tfd_str bytes) TFD_MUST_USE;
/* of_name: its extendee; NULL: a field of a message. */
enum tfd_code tfd_proto_read_field(struct tfd_proto_file *f,
                                   const struct tfd_proto_features *features,
                                   struct tfd_str bytes,
                                   struct tfd_proto_field *out,
                                   struct tfd_str *of_name) TFD_MUST_USE;
/* Types and defaults of all that the file has. */
enum tfd_code tfd_proto_link_file(struct tfd_proto_file *f) TFD_MUST_USE;

#endif
