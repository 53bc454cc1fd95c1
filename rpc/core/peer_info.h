/*
 * peer_info.h - encodes and decodes tfd.Hello (common/proto/peer.proto), with
 * which two tfds tell each other their task, the incarnation of their process
 * and the version of these messages.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_RPC_PEER_INFO_H
#define TFD_RPC_PEER_INFO_H

#include "common/base/pbio.h"
#include "rpc/core/channel.h"

void tfd_peer_info_encode(struct tfd_bytes *b, const struct tfd_peer_info *p);
enum tfd_code tfd_peer_info_decode(struct tfd_str proto,
                                   struct tfd_peer_info *out,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
