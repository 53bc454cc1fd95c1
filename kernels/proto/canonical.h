/*
 * canonical.h - a message as a parser of protobuf would write it after it had
 * read it: fields in the order of their numbers, each that is no list once,
 * lists packed as they are described, what is not described at the end.
 *
 * DecodeProtoV2 does this to what it does not trust (attribute sanitize) and to
 * what was text.  Nothing becomes a tree: the fields of a message are sorted
 * where they lie, and messages that have to be merged are put behind each
 * other, which is the same on the wire.
 *
 * Memory is bounded, messages may be TFD_PROTO_DEPTH_MAX deep.
 * Threads: any; nothing is shared.
 */
#ifndef TFD_KERNELS_PROTO_CANONICAL_H
#define TFD_KERNELS_PROTO_CANONICAL_H

#include "kernels/proto/descriptor.h"

/* Appended to out.  DATA_LOSS, without words, where a parser would refuse it:
 * what is cut, too deep, no UTF-8, or lacks a required field.  Of text a field
 * that is no list must not be given twice, and strings are not looked at. */
enum tfd_code tfd_proto_canonical(const struct tfd_proto_pool *pool,
                                  const struct tfd_proto_message *m,
                                  struct tfd_str message, bool is_text,
                                  struct tfd_bytes *out,
                                  struct tfd_status *st) TFD_MUST_USE;

#endif
