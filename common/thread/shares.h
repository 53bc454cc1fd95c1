/*
 * shares.h - pieces of a loop, dealt out to threads so that each has the same
 * part of one loop after another (affinity scheduling).
 *
 *     pieces    0   1   2   3   4   5   6   7
 *               |--- share 0 --|--- share 1 --|
 *     owner     ---->               ---->
 *     others            <----               <----
 *
 * Ops follow each other over the same tensors, or over what the one before has
 * made: a thread that works on the same elements again finds them in its own
 * cache, and nobody else has to give them up.  Who is done with its own share
 * helps with the others', from that end which their owners come to last.
 *
 * A loop may go backwards: then each owner begins at the end of its share, and
 * others at its beginning.  The thread whose loop it is is the host, those who
 * come to help are guests.  Where there is one share only, it is the host's.
 *
 * Threads: tfd_shares_take() and tfd_shares_left(), any at once.
 */
#ifndef TFD_COMMON_SHARES_H
#define TFD_COMMON_SHARES_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#define TFD_SHARES_MAX 32 /* more threads have one together */

/* Each in a line of the cache of its own. */
struct tfd_share {
    alignas(64) uint64_t left; /* [low, high) in its halves; atomic */
};

struct tfd_shares {
    int count;
    int threads;
    int host; /* its share */
    int64_t piece_count;
    bool back;
    struct tfd_share share[TFD_SHARES_MAX];
};

/* Where a thread is. */
struct tfd_shares_place {
    int own;    /* share */
    bool guest; /* of the only share */
    int empty;  /* shares that it has found so */
};

/* piece_count: 1 to UINT32_MAX; threads: that there may be; host: the index of
 * the one whose loop it is, in [0, threads), and other numbers are as 0. */
void tfd_shares_init(struct tfd_shares *s, int64_t piece_count, int threads,
                     int host, bool back);
/* The host has one share of all, since nobody is likely to come. */
void tfd_shares_init_alone(struct tfd_shares *s, int64_t piece_count,
                           bool back);
struct tfd_shares_place tfd_shares_host(const struct tfd_shares *s);
/* For another thread of this index; never the host's share if there are two. */
struct tfd_shares_place tfd_shares_guest(const struct tfd_shares *s, int index);
/* The next piece for who is there; -1: all are taken. */
int64_t tfd_shares_take(struct tfd_shares *s, struct tfd_shares_place *p);
/* Pieces that nobody has taken, as it was a moment ago. */
int64_t tfd_shares_left(const struct tfd_shares *s);

#endif
