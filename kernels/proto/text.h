/*
 * text.h - a message in protobuf's text format as bytes, by its description:
 *
 *     name: "a"  list: [1, 2]  inner { x: RED }  [package.extension] < y: inf >
 *
 * Fields come out as they stand in the text; tfd_proto_canonical() puts them in
 * order, and refuses those that are given twice.
 *
 * Nothing recurses; messages may be TFD_PROTO_DEPTH_MAX deep.
 * Threads: any; nothing is shared.
 */
#ifndef TFD_KERNELS_PROTO_TEXT_H
#define TFD_KERNELS_PROTO_TEXT_H

#include "kernels/proto/descriptor.h"

/* INVALID_ARGUMENT naming line and column.  `out` has a part of the message
 * after a failure. */
enum tfd_code tfd_proto_text_read(const struct tfd_proto_pool *pool,
                                  const struct tfd_proto_message *m,
                                  struct tfd_str text, struct tfd_bytes *out,
                                  struct tfd_status *st) TFD_MUST_USE;

#endif
