/*
 * listener_hosts.h - whose connections a listener has, counted by the key of
 * their origin, and what it told them when there were too many.
 *
 *     a connection comes --> enter() --> admitted: its host is held ...
 *                              |                   ... until leave()
 *                              +--> refused: leave() at once
 *
 * A host that was refused and has no connection is remembered, so that one that
 * knocks again and again is neither logged nor looked at anew each time.  An
 * LRU list of TFD_REFUSED_HOSTS_MAX such hosts bounds that; a host that was
 * never refused is forgotten with its last connection.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_LISTENER_HOSTS_H
#define TFD_RPC_LISTENER_HOSTS_H

#include "common/base/map.h"
#include "rpc/conn/origin.h"

struct tfd_listener_host {
    int connections;
    uint64_t told_us;           /* that it has too many; 0: never ... */
    uint64_t told_displaced_us; /* ... and that some made room */
    uint64_t full_until_us;     /* none made room a moment ago */
    char key[TFD_ORIGIN_KEY_MAX];
    struct tfd_listener_host *newer, *older; /* while it is remembered */
};

/* All zero is empty. */
struct tfd_listener_hosts {
    struct tfd_map by_key; /* -> struct tfd_listener_host * */
    struct tfd_listener_host *newest, *oldest; /* without a connection */
    uint32_t remembered;                       /* so many of them */
};

void tfd_listener_hosts_deinit(struct tfd_listener_hosts *t); /* none is held */
/* One more connection of this host.  NULL: no memory. */
struct tfd_listener_host *
tfd_listener_hosts_enter(struct tfd_listener_hosts *t,
                         const struct tfd_origin *from);
/* One less; h may be gone. */
void tfd_listener_hosts_leave(struct tfd_listener_hosts *t,
                              struct tfd_listener_host *h);

#endif
