/*
 * pbio.h - protobuf messages read field by field and written into a buffer,
 * on nanopb's stream primitives.
 *
 * Nothing is decoded into trees: a reader steps over one message's fields and
 * hands out sub-messages and strings as views of the input.  So a decoder never
 * recurses, never allocates on a peer's word, and parts nobody needs (debug
 * info, function bodies) cost nothing.  Field numbers come from the generated
 * headers of common/proto (tensorflow_RunStepRequest_fetch_tag).
 *
 *     struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
 *     while (tfd_pb_next(&r, &f))
 *         switch (f.tag) { ... f.bytes ... f.number ... }
 *     TFD_TRY(tfd_pb_end(&r, "RunStepRequest", st));
 *
 * Fields of a wrong wire type come out with their actual wire type; the helpers
 * below treat them as damage (INVALID_ARGUMENT at tfd_pb_end()).
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_COMMON_PBIO_H
#define TFD_COMMON_PBIO_H

#include "common/base/str.h"

enum tfd_pb_wire {
    TFD_PB_VARINT = 0,
    TFD_PB_FIXED64 = 1,
    TFD_PB_BYTES = 2,
    TFD_PB_FIXED32 = 5,
};

struct tfd_pb_field {
    uint32_t tag;
    enum tfd_pb_wire wire;
    uint64_t number;      /* VARINT, FIXED64, FIXED32: the bits */
    struct tfd_str bytes; /* BYTES: inside the input */
};

struct tfd_pb_reader {
    struct tfd_str rest;
    bool failed;
};

struct tfd_pb_reader tfd_pb_reader_of(struct tfd_str message);
bool tfd_pb_next(struct tfd_pb_reader *r, struct tfd_pb_field *f);
/* INVALID_ARGUMENT "Unable to parse <what>" when the message was damaged. */
enum tfd_code tfd_pb_end(const struct tfd_pb_reader *r, const char *what,
                         struct tfd_status *st) TFD_MUST_USE;

/* Typed access; a field of another wire type marks the reader as failed and
 * gives zero or empty. */
int64_t tfd_pb_int64(struct tfd_pb_reader *r, const struct tfd_pb_field *f);
int32_t tfd_pb_int32(struct tfd_pb_reader *r, const struct tfd_pb_field *f);
bool tfd_pb_bool(struct tfd_pb_reader *r, const struct tfd_pb_field *f);
float tfd_pb_float(struct tfd_pb_reader *r, const struct tfd_pb_field *f);
double tfd_pb_double(struct tfd_pb_reader *r, const struct tfd_pb_field *f);
struct tfd_str tfd_pb_str(struct tfd_pb_reader *r,
                          const struct tfd_pb_field *f);

/* One element after another of a packed repeated field (its bytes).  False at
 * the end, where *packed is empty, and at damage, where it is not. */
bool tfd_pb_packed_varint(struct tfd_str *packed, uint64_t *value);

/* map<string, V>: key and value (raw bytes of V; number for scalar V) of one
 * entry. */
struct tfd_pb_entry {
    struct tfd_str key;
    uint64_t key_number; /* of map<int32, V> */
    struct tfd_str value;
    uint64_t number;
};
bool tfd_pb_map_entry(struct tfd_str entry, struct tfd_pb_entry *out);

/* ---- Writing: appends to b, which remembers a failure -------------------- */

void tfd_pb_put_varint(struct tfd_bytes *b, uint64_t value); /* bare */
/* The proto3 rule: zero, false and empty are left out ... */
void tfd_pb_put_int(struct tfd_bytes *b, uint32_t tag, int64_t value);
void tfd_pb_put_bool(struct tfd_bytes *b, uint32_t tag, bool value);
void tfd_pb_put_fixed64(struct tfd_bytes *b, uint32_t tag, uint64_t value);
void tfd_pb_put_fixed32(struct tfd_bytes *b, uint32_t tag, uint32_t value);
void tfd_pb_put_float(struct tfd_bytes *b, uint32_t tag, float value);
void tfd_pb_put_double(struct tfd_bytes *b, uint32_t tag, double value);
void tfd_pb_put_str(struct tfd_bytes *b, uint32_t tag, struct tfd_str value);
/* ... and here not, for oneof members and repeated fields. */
void tfd_pb_put_int_always(struct tfd_bytes *b, uint32_t tag, int64_t value);
void tfd_pb_put_str_always(struct tfd_bytes *b, uint32_t tag,
                           struct tfd_str value);
/* The head of a length-delimited field whose `size` bytes the caller adds. */
void tfd_pb_put_head(struct tfd_bytes *b, uint32_t tag, uint64_t size);

/* A sub-message written in place: begin, write its fields, end.  May nest. */
size_t tfd_pb_begin(struct tfd_bytes *b, uint32_t tag);
void tfd_pb_finish(struct tfd_bytes *b, size_t mark);
/* The same bytes, without moving a sub-message that comes to about `likely`
 * bytes. */
size_t tfd_pb_begin_large(struct tfd_bytes *b, uint32_t tag, size_t likely);
void tfd_pb_finish_large(struct tfd_bytes *b, size_t mark, size_t likely);

#endif
