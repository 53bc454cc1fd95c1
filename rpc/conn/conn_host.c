/*
 * conn_host.c - whether a connection leaves this host; see conn.h.
 *
 * A connection to another host has another address at its other end.  One to
 * an address of our own, loopback or not, has it at both ends, and the kernel
 * then moves the bytes from one process to the other without a wire.
 */
#define _GNU_SOURCE 1
#include "rpc/conn/conn_impl.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static bool is_loopback(const struct sockaddr_storage *a)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)a;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)a;

    if (a->ss_family == AF_INET)
        return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static bool same_address(const struct sockaddr_storage *a,
                         const struct sockaddr_storage *b)
{
    if (a->ss_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    return memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)b)->sin6_addr,
                  sizeof(struct in6_addr)) == 0;
}

bool tfd_conn_leaves_host(const struct tfd_conn *c)
{
    struct sockaddr_storage own, peer;
    socklen_t own_size = sizeof(own), peer_size = sizeof(peer);

    memset(&own, 0, sizeof(own));
    memset(&peer, 0, sizeof(peer));
    if (getsockname(c->fd, (struct sockaddr *)&own, &own_size) != 0 ||
        getpeername(c->fd, (struct sockaddr *)&peer, &peer_size) != 0)
        return true; /* it has ended, or nobody knows: sums do no harm */
    if (own.ss_family != peer.ss_family ||
        (own.ss_family != AF_INET && own.ss_family != AF_INET6))
        return false;
    return !is_loopback(&peer) && !same_address(&own, &peer);
}
