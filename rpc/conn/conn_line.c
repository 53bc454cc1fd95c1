/*
 * conn_line.c - who reads how much, and when; see conn_io.h.
 *
 * What a peer sends costs it little and may cost us much: 64 KiB of the
 * smallest frames are milliseconds.  So reading is bounded by time.  A
 * connection that has more to read when its slice is over stands in a line, and
 * for a while afterwards every read of it does, if another one is so too; of
 * the line as a whole a turn of the loop reads for LINE_US, oldest first.  So
 * forty floods cost the others LINE_US a turn, one bulk stream alone is
 * read as soon as something comes, and those who say little never stand there.
 *
 * A new connection costs more than what it sends: to accept it, to make what
 * its protocol needs, to write the page that it asks for, a tenth to half of a
 * millisecond for a hundred bytes; and forty of them are ready at once.  So all
 * that are new stand in a line of their own, of STRANGERS_US a turn, until
 * their handlers call them known, and those for a page for ever.  While
 * somebody stands there, the listener accepts one a turn (listener.c): the
 * others wait in the kernel, where they cost nothing.
 *
 * What comes from connections that we have ended is thrown away, for which they
 * stand in a line of their own, of ENDED_US a turn: a flood that is ended dials
 * again, and hundreds that linger with full sockets cost more than those that
 * are read.
 *
 * How much is read at once follows from what it cost: one read and what is done
 * with it takes about CHUNK_US.
 */
#define _GNU_SOURCE 1 /* libuv's header needs POSIX threads */

#include "common/base/container.h"
#include "rpc/conn/conn_io.h"
#include "rpc/conn/loop_uv.h"

#include <stddef.h>

#define SLICE_US 100
#define LINE_US 200
#define STRANGERS_US 200
#define ENDED_US 200
#define GREEDY_US (1000 * 1000)
#define CHUNK_US 100
#define CHUNK_FIRST (16u << 10)
#define CHUNK_MIN (2u << 10)
#define CHUNK_MAX (1u << 30)

size_t tfd_conn_line_room(struct tfd_conn *c, size_t room)
{
    if (c->chunk == 0)
        c->chunk = CHUNK_FIRST;
    return room < c->chunk ? room : c->chunk;
}

static void learn(struct tfd_conn *c, size_t n, uint64_t took_us)
{
    if (took_us > 2 * CHUNK_US)
        c->chunk = (uint32_t)(n * CHUNK_US / took_us);
    else if (n == c->chunk && c->chunk <= CHUNK_MAX / 2)
        c->chunk *= 2;
    if (c->chunk < CHUNK_MIN)
        c->chunk = CHUNK_MIN;
}

/* True when there is more. */
static bool read_slice(struct tfd_conn *c, uint64_t *now, uint64_t until)
{
    while (c->state == TFD_CONN_OPEN && !c->paused) {
        uint64_t begun = *now;
        size_t n = 0;
        bool more = tfd_conn_read_once(c, &n);

        *now = tfd_loop_now_us(c->loop);
        learn(c, n, *now - begun);
        if (n > 0)
            c->heard_us = *now;
        if (!more)
            return false;
        if (*now >= until) /* its handler may have closed it meanwhile */
            return c->state == TFD_CONN_OPEN && !c->paused;
    }
    return false;
}

/* ---- The line ------------------------------------------------------------ */

static void post(struct tfd_conn_list *l, struct tfd_loop *loop)
{
    if (!l->posted)
        tfd_loop_post(loop, &l->post);
    l->posted = true;
}

/* run: what goes on with this list. */
static void join_line(struct tfd_conn_list *l, struct tfd_conn *c,
                      void (*run)(struct tfd_post *p))
{
    l->post.run = run;
    c->in_line = l;
    c->next_in_line = NULL;
    c->before_in_line = l->first ? l->last : NULL;
    if (l->first)
        l->last->next_in_line = c;
    else
        l->first = c;
    l->last = c;
    post(l, c->loop);
}

static void run_open(struct tfd_post *p);
static void run_strangers(struct tfd_post *p);
static void run_ended(struct tfd_post *p);

/* The poll, which would tell in every turn what waits here, is stopped. */
static void join_strangers(struct tfd_conn *c)
{
    join_line(&tfd_loop_line(c->loop)->strangers, c, run_strangers);
    tfd_conn_io_poll(c);
}

/* It has more to read than fits in its slice.  The line is crowded for as long
 * as two connections count as greedy: until the second latest of their ends. */
static void join_greedy(struct tfd_conn *c, uint64_t now)
{
    struct tfd_conn_line *l = tfd_loop_line(c->loop);

    if (l->latest != c && l->crowded_until_us < l->latest_until_us)
        l->crowded_until_us = l->latest_until_us;
    c->greedy_until_us = l->latest_until_us = now + GREEDY_US;
    l->latest = c;
    join_line(&l->open, c, run_open);
}

void tfd_conn_line_leave(struct tfd_conn *c)
{
    struct tfd_conn_list *l = c->in_line;
    struct tfd_conn *before = c->before_in_line, *next = c->next_in_line;

    if (!l)
        return;
    if (before)
        before->next_in_line = next;
    else
        l->first = next;
    if (next)
        next->before_in_line = before;
    else
        l->last = before;
    c->in_line = NULL;
}

static struct tfd_conn_list *list_of(struct tfd_post *p)
{
    return TFD_CONTAINER_OF(p, struct tfd_conn_list, post);
}

static void read_in_turn(struct tfd_conn *c, uint64_t *now)
{
    bool more = read_slice(c, now, *now + SLICE_US);

    if (more && c->stranger)
        join_strangers(c);
    else if (more)
        join_greedy(c, *now);
    if (!c->in_line)
        tfd_conn_io_poll(c); /* where it is known now, or was new */
}

/* Reads for turn_us; one at least. */
static void run_line(struct tfd_conn_list *l, uint64_t turn_us)
{
    uint64_t now = 0, until = 0;

    l->posted = false;
    while (l->first && (now == 0 || now < until)) {
        struct tfd_conn *c = l->first;

        tfd_conn_line_leave(c);
        if (now == 0) {
            now = tfd_loop_now_us(c->loop);
            until = now + turn_us;
        }
        read_in_turn(c, &now);
    }
    if (l->first)
        post(l, l->first->loop);
}

static void run_open(struct tfd_post *p)
{
    run_line(list_of(p), LINE_US);
}

static void run_strangers(struct tfd_post *p)
{
    run_line(list_of(p), STRANGERS_US);
}

/* Throws away for ENDED_US. */
static void run_ended(struct tfd_post *p)
{
    struct tfd_conn_list *l = list_of(p);
    uint64_t until = 0;

    l->posted = false;
    while (l->first) {
        struct tfd_conn *c = l->first;
        uint64_t now = tfd_loop_now_us(c->loop);
        bool more;

        if (until == 0)
            until = now + ENDED_US;
        if (now >= until) {
            post(l, c->loop);
            return;
        }
        tfd_conn_line_leave(c);
        more = tfd_conn_discard_once(c);
        if (more && !tfd_loop_line(c->loop)->ending)
            join_line(l, c, run_ended);
        else
            tfd_conn_io_poll(c); /* where it has not gone with that */
    }
}

void tfd_conn_line_discard(struct tfd_conn *c)
{
    struct tfd_conn_line *l = tfd_loop_line(c->loop);

    if (c->in_line)
        return;
    if (l->ending) {
        (void)tfd_conn_discard_once(c);
        return;
    }
    join_line(&l->ended, c, run_ended);
    tfd_conn_io_poll(c);
}

void tfd_conn_line_read(struct tfd_conn *c)
{
    uint64_t now;

    if (c->in_line)
        return; /* when it has its turn */
    if (c->stranger) {
        join_strangers(c);
        return;
    }
    now = tfd_loop_now_us(c->loop);
    if (now < c->greedy_until_us &&
        now < tfd_loop_line(c->loop)->crowded_until_us)
        join_line(&tfd_loop_line(c->loop)->open, c, run_open);
    else if (read_slice(c, &now, now + SLICE_US))
        join_greedy(c, now);
}
