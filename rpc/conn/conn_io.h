/*
 * conn_io.h - the parts of a connection (conn_impl.h): conn.c begins and ends
 * it, conn_io.c polls, reads and writes in between, conn_line.c says how much
 * is read in a turn.  Nobody else includes this.
 *
 * The socket, the timer, the dial and the reason of the end are conn.c's; what
 * is queued, paused, blocked and polled for is conn_io.c's, and so are the
 * states DRAINING and LINGER.
 *
 * Errors: whatever goes wrong ends the connection.  None of these functions
 * returns a failure; one that may end it leaves it CLOSED, and its caller looks
 * at the state before it goes on.  The memory stays until the loop turns.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_CONN_IO_H
#define TFD_RPC_CONN_IO_H

#include "rpc/conn/conn_impl.h"

/* ---- conn_io.c ----------------------------------------------------------- */

/* What c->turn runs: writes what is queued, or tells closed() of one that is
 * CLOSED. */
void tfd_conn_io_turn(struct tfd_post *p);
/* It has been dialled: writes what was queued meanwhile, and reads. */
void tfd_conn_io_start(struct tfd_conn *c);
/* From OPEN to DRAINING, and to LINGER once nothing is queued. */
void tfd_conn_io_drain(struct tfd_conn *c);

/* One read.  False: no more in this turn.  *n bytes came. */
bool tfd_conn_read_once(struct tfd_conn *c, size_t *n);
/* One read of what is thrown away, in LINGER.  True: there may be more. */
bool tfd_conn_discard_once(struct tfd_conn *c);
/* It has left the line, or joined it: the poll waits accordingly. */
void tfd_conn_io_poll(struct tfd_conn *c);

/* ---- conn_line.c --------------------------------------------------------- */

/* There is something to read: now, or when it has its turn. */
void tfd_conn_line_read(struct tfd_conn *c);
/* The same in LINGER, for what is thrown away. */
void tfd_conn_line_discard(struct tfd_conn *c);
/* How much of a room one read may fill. */
size_t tfd_conn_line_room(struct tfd_conn *c, size_t room);
/* It is about to go; nothing where it does not stand there. */
void tfd_conn_line_leave(struct tfd_conn *c);

/* ---- conn.c -------------------------------------------------------------- */

/* To CLOSED from anywhere, and the socket with it; tfd_conn_break() is this
 * with a reason. */
void tfd_conn_end(struct tfd_conn *c);
/* The same, because a system call failed: "read from 10.0.0.1:2222: ...". */
void tfd_conn_fail_socket(struct tfd_conn *c, const char *what, int error);
/* Tells closed() and frees c, which neither the handle nor the turn points at
 * any longer. */
void tfd_conn_finalize(struct tfd_conn *c);

/* ---- Both ---------------------------------------------------------------- */

/* The turn runs before the loop sleeps.  Inline, since every write asks. */
static inline void tfd_conn_schedule(struct tfd_conn *c)
{
    if (c->deferred)
        return;
    c->deferred = true;
    tfd_loop_defer(c->loop, &c->turn);
}

#endif
