/*
 * wire.h - protobuf's wire format read step by step, as TensorFlow reads it:
 * with groups, which pbio.h refuses, and with numbers of up to ten bytes of
 * which the upper bits are cut off.
 *
 * Groups in groups may be TFD_PROTO_DEPTH_MAX deep; nothing recurses.
 * Threads: any; nothing is shared.
 */
#ifndef TFD_KERNELS_PROTO_WIRE_H
#define TFD_KERNELS_PROTO_WIRE_H

#include "common/base/str.h"

enum {
    TFD_PROTO_WIRE_VARINT,
    TFD_PROTO_WIRE_FIXED64,
    TFD_PROTO_WIRE_BYTES,
    TFD_PROTO_WIRE_GROUP,
    TFD_PROTO_WIRE_GROUP_END,
    TFD_PROTO_WIRE_FIXED32,
};

struct tfd_proto_wire {
    const char *at, *end;
};

struct tfd_proto_wire tfd_proto_wire_of(struct tfd_str message);

/* 0: the end, which is where at == end, or no tag. */
uint32_t tfd_proto_wire_tag(struct tfd_proto_wire *w);
/* All of these: false, at any place, where the message is cut or no message. */
bool tfd_proto_wire_varint(struct tfd_proto_wire *w, uint64_t *out);
bool tfd_proto_wire_fixed(struct tfd_proto_wire *w, size_t size, uint64_t *out);
bool tfd_proto_wire_bytes(struct tfd_proto_wire *w, struct tfd_str *out);
/* Steps over a field, or a group with all in it, whose tag was read; copies it
 * with its tag, numbers as short as they can be, unless out is NULL. */
bool tfd_proto_wire_skip(struct tfd_proto_wire *w, uint32_t tag,
                         struct tfd_bytes *out);
/* Behind the tag of a group: what stands between that and the tag of its
 * end. */
bool tfd_proto_wire_group(struct tfd_proto_wire *w, uint32_t tag,
                          struct tfd_str *out);

#endif
