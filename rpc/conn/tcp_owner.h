/*
 * tcp_owner.h - which user of this host holds the other end of a TCP
 * connection that was accepted.
 *
 * The kernel is asked for the peer's socket by its four addresses: one message
 * on a netlink socket (sock_diag(7)), answered before send() returns; where
 * that is not possible, as in some sandboxes, /proc/self/net/tcp is searched.
 * Both see the sockets of this network namespace only, and that is what "this
 * host" means here: a container with a network of its own is another host.
 *
 * Only a socket that somebody still holds and whose connection is still up
 * counts.  The kernel reports user 0 for one that its process has closed, and
 * anybody can close a socket: its user is not known any more.
 *
 * Threads: one at a time.  Never blocks.
 */
#ifndef TFD_RPC_TCP_OWNER_H
#define TFD_RPC_TCP_OWNER_H

#include <stdbool.h>
#include <stdint.h>

struct sockaddr;

enum tfd_tcp_owner {
    TFD_OWNER_REMOTE,  /* not of this host */
    TFD_OWNER_UNKNOWN, /* of this host; its user cannot be told */
    TFD_OWNER_GONE,    /* the same, because it has closed its socket */
    TFD_OWNER_USER,
};

/* The sockets that it asks on, opened when needed. */
struct tfd_tcp_owners {
    int diag, route; /* -1: not open */
    uint32_t sequence;
    bool diag_works; /* it has found something */
};

void tfd_tcp_owners_init(struct tfd_tcp_owners *o);
void tfd_tcp_owners_deinit(struct tfd_tcp_owners *o);

/* fd has been accepted from peer.  *uid is set with TFD_OWNER_USER. */
enum tfd_tcp_owner tfd_tcp_owners_find(struct tfd_tcp_owners *o, int fd,
                                       const struct sockaddr *peer,
                                       uint32_t *uid);

/* ---- For tests ----------------------------------------------------------- */

/* One of the two addresses of a connection; IPv4 stands in the first four
 * bytes.  Everything in network byte order. */
struct tfd_tcp_end {
    uint8_t family; /* AF_INET, AF_INET6 */
    uint16_t port;
    uint8_t address[16];
    uint32_t interface; /* of a link-local address, else 0 */
};

/* Searches tables in the format of /proc/net/tcp and tcp6, either of which may
 * be -1.  The owner of the socket with this local and this remote end, or GONE
 * where it has none any more; REMOTE when it is in neither, UNKNOWN when a
 * table is none or too long. */
enum tfd_tcp_owner tfd_tcp_owners_in_proc(int tcp, int tcp6,
                                          const struct tfd_tcp_end *local,
                                          const struct tfd_tcp_end *remote,
                                          uint32_t *uid);

#endif
