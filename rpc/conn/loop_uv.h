/*
 * loop_uv.h - what the files that own sockets (conn.c, conn_dial.c,
 * listener.c) need of the loop beyond loop.h.  Nobody else includes it: but for
 * conn_io.c, the rest of the program does not know libuv.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_LOOP_UV_H
#define TFD_RPC_LOOP_UV_H

#include "rpc/conn/loop.h"

#include <stddef.h>

struct tfd_conn;
struct uv_loop_s;

/* Connections that wait for their turn, oldest first. */
struct tfd_conn_list {
    struct tfd_conn *first, *last;
    struct tfd_post post; /* to go on */
    bool posted;
};

/* Those that do not read at once (conn_line.c); zeroes are an empty one. */
struct tfd_conn_line {
    struct tfd_conn_list open, ended; /* of the ended it is thrown away */
    struct tfd_conn_list strangers;   /* the new, and those for a page */
    const struct tfd_conn *latest;    /* that was greedy; only compared */
    uint64_t latest_until_us;         /* until when it counts as that */
    uint64_t crowded_until_us;        /* until when two do */
    /* The loop is about to be freed, which waits for the handles that are
     * polled: nobody joins the ended any more, they stay polled until their
     * peers end too. */
    bool ending;
};

struct tfd_conn_line *tfd_loop_line(struct tfd_loop *l);
struct uv_loop_s *tfd_loop_uv(struct tfd_loop *l);
/* The first of the loop's connections, linked by conn.c. */
struct tfd_conn **tfd_loop_conns(struct tfd_loop *l);

#endif
