/*
 * inflate_line.h - a fair queue for decompression: decides whose compressed
 * message is decompressed next, and for how long.
 *
 * Decompressing a message takes time of the loop thread, up to a second of it,
 * and memory that is a thousand times what the peer has sent.  So all calls of
 * a server stand in one queue:
 *
 *     waiting, in the order they came --> active, in turn, a slice each
 *
 * At most TFD_INFLATING_MAX are active, and one of each peer
 * (rpc/conn/origin.h), so that no peer keeps the others out; only these have
 * memory beside what was sent.  All of them together take LINE_US of a turn of
 * the loop.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_INFLATE_LINE_H
#define TFD_RPC_INFLATE_LINE_H

#include "rpc/conn/loop.h"

/* A call's place; embedded, all zero but for turn and peer while it is in no
 * line. */
struct tfd_inflate_place {
    /* A slice.  True when there is more to do.  False: it has left the line, by
     * tfd_inflate_line_leave(), and may be gone with its call. */
    bool (*turn)(struct tfd_inflate_place *p);
    const char *peer; /* lives as long as the place */
    struct tfd_inflate_line *line;
    struct tfd_inflate_place *next;
    bool active;
};

struct tfd_inflate_queue {
    struct tfd_inflate_place *first, *last;
    int count;
};

struct tfd_inflate_line {
    struct tfd_loop *loop;
    struct tfd_timer timer;
    struct tfd_inflate_queue waiting, active;
    struct tfd_inflate_place *running; /* its turn it is; in no queue */
};

void tfd_inflate_line_init(struct tfd_inflate_line *l, struct tfd_loop *loop);
void tfd_inflate_line_deinit(struct tfd_inflate_line *l); /* it is empty */

/* Its turns begin after the events at hand.  Fails only for lack of memory. */
enum tfd_code tfd_inflate_line_join(struct tfd_inflate_line *l,
                                    struct tfd_inflate_place *p,
                                    struct tfd_status *st) TFD_MUST_USE;
/* Out of its line; nothing where it is in none. */
void tfd_inflate_line_leave(struct tfd_inflate_place *p);

#endif
