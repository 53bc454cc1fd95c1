/*
 * conn_impl.h - a connection as conn.c, conn_io.c and listener.c see it; nobody
 * else includes this.
 *
 *     DIALING --> OPEN --> DRAINING --> LINGER --> CLOSED
 *
 * DRAINING writes what is queued, LINGER has shut its side down and throws away
 * what the peer still sends: closing a socket with unread bytes would reset it,
 * and the peer might never read our last words.  A failure goes to CLOSED from
 * anywhere.  closed() is called when the handle and the deferred flush, which
 * both point here, are gone.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_CONN_IMPL_H
#define TFD_RPC_CONN_IMPL_H

#include "rpc/conn/conn.h"
#include "rpc/conn/conn_dial.h"
#include "rpc/conn/conn_queue.h"

#include <uv.h>

enum tfd_conn_state {
    TFD_CONN_DIALING,
    TFD_CONN_OPEN,
    TFD_CONN_DRAINING,
    TFD_CONN_LINGER,
    TFD_CONN_CLOSED,
};

struct tfd_conn {
    struct tfd_loop *loop;
    enum tfd_conn_state state;
    int fd;         /* -1 while dialling */
    bool is_unix;   /* the socket, which has no options of TCP */
    bool polling;   /* poll is initialised and not yet closed */
    bool deferred;  /* turn is in the loop's list */
    bool paused;    /* by the handler */
    bool blocked;   /* the socket takes no more: wait for it */
    bool above_low; /* drained() is owed */
    bool stranger;  /* accepted, and nobody has called it known yet */
    int events;     /* that poll waits for */
    uv_poll_t poll;
    struct tfd_post turn;
    struct tfd_timer timer; /* of the dial, later of the grace */
    uint64_t timeout_us;
    const struct tfd_conn_handler *handler;
    void *self;
    struct tfd_conn_queue queue;
    uint64_t written;              /* bytes the socket took */
    struct tfd_traffic *traffic;   /* that it counts for, or NULL */
    struct tfd_conn_list *in_line; /* the rest is conn_line.c's: it waits
                                      there to read on; NULL: it does not */
    struct tfd_conn *before_in_line, *next_in_line;
    uint64_t greedy_until_us;
    uint64_t heard_us; /* when bytes came, or it did */
    uint32_t chunk;    /* bytes that one read may bring */
    struct tfd_dial *dial;
    struct tfd_listener *listener;  /* that counts it, or NULL */
    struct tfd_listener_host *host; /* in it */
    /* Tells the listener that one of that host's connections is gone. */
    void (*forget)(struct tfd_listener *l, struct tfd_listener_host *h);
    struct tfd_conn *next, *previous; /* all of the loop */
    enum tfd_code why;                /* it ended ... */
    struct tfd_status *why_text;      /* ... NULL when OK or out of memory */
    char peer[TFD_PEER_TEXT_MAX];
    struct tfd_origin origin; /* of an accepted one */
};

/* A connection that was accepted; takes fd, also when it fails. */
struct tfd_conn *tfd_conn_adopt(struct tfd_loop *l, int take_fd,
                                const char *peer,
                                const struct tfd_origin *origin);
/* How many that address has. */
int tfd_listener_host_size(const struct tfd_listener_host *h);
/* conn_victim.c: the connection of l that another may have the place of, of the
 * address h, or with NULL of the one that has most; NULL: all are in use. */
struct tfd_conn *tfd_conn_victim(struct tfd_loop *loop,
                                 const struct tfd_listener *l,
                                 const struct tfd_listener_host *h);

#endif
