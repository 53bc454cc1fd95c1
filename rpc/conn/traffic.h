/*
 * traffic.h - the bytes that went to somebody and came from there, over all the
 * connections that are told to count for it (tfd_conn_count()).
 *
 * Ownership: counted; a connection holds a reference as long as it lives.
 * Threads: loop thread.
 */
#ifndef TFD_RPC_TRAFFIC_H
#define TFD_RPC_TRAFFIC_H

#include <stdint.h>

struct tfd_traffic {
    int refs;
    uint64_t sent, received;
};

struct tfd_traffic *tfd_traffic_new(void); /* NULL: no memory */
/* NULL is allowed. */
struct tfd_traffic *tfd_traffic_ref(struct tfd_traffic *t);
void tfd_traffic_unref(struct tfd_traffic *t);

#endif
