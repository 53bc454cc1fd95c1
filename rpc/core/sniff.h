/*
 * sniff.h - which protocol an accepted connection speaks, by its first bytes:
 *
 *     "TFD1"                     native frames
 *     "PRI "                     HTTP/2, gRPC
 *     "GET ", "HEAD", "POST" ... HTTP/1
 *
 * Anything else, or nothing within TFD_HANDSHAKE_MS, is closed.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_SNIFF_H
#define TFD_RPC_SNIFF_H

#include "rpc/core/channel.h"
#include "rpc/conn/conn.h"
#include "rpc/core/service.h"

/* What a port serves; outlives its connections. */
struct tfd_sniff {
    struct tfd_service *service;
    const struct tfd_peer_info *self;
};

/* accepted() of a listener whose ctx is a struct tfd_sniff. */
void tfd_sniff_accept(void *sniff, struct tfd_conn *c);

#endif
