/*
 * bind.h - which address to listen on.
 *
 *     --bind=ADDR         this address or name, which this host must have
 *     --bind=localhost    127.0.0.1
 *     --bind=any          every address, IPv6 too where there is IPv6
 *     (not given)         the address that the cluster names for this task, if
 *                         this host has it; without cluster localhost
 *
 * TensorFlow listens everywhere whatever the cluster says.  We do only when
 * told, because whoever can connect can run graphs.
 *
 * Also decides the default of --file_root: "/" where only the own user and root
 * can connect, who may read and write what they like anyway; else none, so that
 * file ops are refused.
 *
 * Threads: any; blocks on name service, so not on the loop thread.
 */
#ifndef TFD_CONFIG_BIND_H
#define TFD_CONFIG_BIND_H

#include "config/address.h"
#include "config/allow.h"

#include <stdbool.h>

struct tfd_bind {
    char host[TFD_HOST_SIZE_MAX + 1]; /* numeric: "10.0.0.3", "::" */
    int32_t port;                     /* 0: any that is free */
    bool any;                         /* every address of the host */
    bool loopback;                    /* only this host can connect */
    /* Loopback because a name of the cluster means it here, as the host's own
     * name does in Debian's /etc/hosts (127.0.1.1): worth a warning that peers
     * on other hosts cannot connect and that --bind=ADDR helps. */
    bool loopback_by_name;
};

/*
 * bind: the flag, or NULL.  own: "host:port" of this task in the cluster, or
 * "".  port: where to listen.
 *
 * UNAVAILABLE: the name does not resolve (yet; in Kubernetes it may come
 * later, so the caller may try again).  FAILED_PRECONDITION: it resolves and
 * this host does not have the address.  Both texts name --bind.
 */
enum tfd_code tfd_bind_resolve(const char *bind, const char *own, int32_t port,
                               struct tfd_bind *out,
                               struct tfd_status *st) TFD_MUST_USE;

/* The file root where none is configured: "/", or NULL for none. */
const char *tfd_bind_file_root(const struct tfd_bind *b,
                               const struct tfd_allow *a);

#endif
