/*
 * origin.h - who a connection comes from: the address, the user where that is
 * a process of this host, and the name under which quotas count both.
 *
 *     TCP from another host    key "10.0.0.3", IPv6 "2001:db8:0:1::/64"
 *     from this host           key "uid 1000", whatever the way: the Unix
 *                              socket of same_host.h or TCP over loopback
 *     its user is not known    key "uid unknown"
 *
 * A host gets a whole /64 of IPv6 from its network, so one host could count as
 * any number of them.  One user of this host is one peer, not the host: else
 * any user could take the quota of all the others.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_RPC_ORIGIN_H
#define TFD_RPC_ORIGIN_H

#include "config/allow.h"
#include "rpc/conn/conn_dial.h"

#include <stdbool.h>
#include <stdint.h>

#define TFD_ORIGIN_KEY_MAX 56 /* an IPv6 address and "/64" */

struct tfd_origin {
    char address[TFD_PEER_TEXT_MAX]; /* without port; "unix" for the socket */
    char key[TFD_ORIGIN_KEY_MAX];    /* what quotas count by */
    uint32_t uid;                    /* or TFD_UID_UNKNOWN, as of a remote */
    bool same_host;
};

struct sockaddr;

/* Of a connection accepted by TCP.  An IPv4 address inside IPv6 is IPv4; from a
 * loopback address it is of this host and its user not known yet. */
void tfd_origin_of_tcp(struct tfd_origin *o, const struct sockaddr *peer);
/* Of one accepted on a Unix socket: the user who connected, even if another
 * process has the descriptor by now. */
void tfd_origin_of_unix(struct tfd_origin *o, int fd);
/* It is of this host after all, and of this user. */
void tfd_origin_set_user(struct tfd_origin *o, uint32_t uid);

#endif
