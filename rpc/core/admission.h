/*
 * admission.h - admission control for incoming requests: a large request is
 * read from its socket only once there is memory for it, so that senders are
 * slowed down (TCP's backpressure) instead of the process running out.
 *
 *     a large request is announced --> tfd_admission_announce()
 *     some of it has come          --> tfd_admission_came() -- fits --> read on
 *                                          |
 *                          its connection is not read until admitted()
 *     it is complete, or given up  --> tfd_admission_forget()
 *
 * What is reserved.  An announcement is cheap to make, so it reserves nothing.
 * A connection has a window of reserved bytes behind what has come: 64 KiB at
 * first, then TFD_ADMISSION_GROWTH times as much as has come.  An honest
 * sender soon has room for its whole message and does not stop half-way; one
 * that stops sending loses its window within a second or two.  All messages
 * of a connection share its window.
 *
 * Who is admitted.  A window fits while the tensors of this process and the
 * windows admitted before leave a quarter of the limit free (2 GiB at most),
 * which is what steps compute with.  Two rules keep the line from blocking
 * itself.  Small requests need no window, so those that free memory get
 * through on other connections; and a window below TFD_ADMISSION_SMALL does
 * not wait behind larger ones.  When nothing has been admitted for a while,
 * one request is admitted up to the limit itself, since what would free memory
 * may stand behind it.  One that is too large even so is admitted in the end
 * and fails for lack of memory.
 *
 * Who is too slow.  A sender that owes a message and delivers less than
 * TFD_DELIVERY_SIZE_MIN of it within TFD_DELIVERY_MS, though it is read, is
 * late().  That holds for small requests too, which are not announced: after
 * each read their owner tells how much it has of incomplete ones, which costs
 * nothing while there are none.  Beyond TFD_ADMISSION_SMALL of these on one
 * connection they need a window as well.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_ADMISSION_H
#define TFD_RPC_ADMISSION_H

#include "rpc/conn/loop.h"

#include <stddef.h>

/* Below, a request is not worth asking for. */
#define TFD_ADMISSION_MIN (64u << 10)
#define TFD_ADMISSION_SMALL (1u << 20)
#define TFD_ADMISSION_GROWTH 16

/* One connection's account, and its place in the line; embedded, all zero
 * before. */
struct tfd_admission_ticket {
    /* From the loop, never from inside another function of this file.  late()
     * may end the connection. */
    void (*admitted)(struct tfd_admission_ticket *t);
    void (*late)(struct tfd_admission_ticket *t);
    bool excused; /* by its owner, who does not read it for other reasons */
    /* Its owner's account: requests that are not complete, announced or not;
     * what has come of those that are not announced, and what has come of such
     * ones, also complete ones, since tfd_admission_small() was called. */
    uint32_t incomplete;
    uint64_t small_size, small_came;
    uint64_t owed;           /* announced and not come */
    uint64_t come;           /* of the messages that are not complete */
    uint64_t reserved;       /* of what is owed */
    uint64_t size, asked_us; /* while it waits */
    bool waiting;
    struct tfd_admission_ticket *next;
    bool active; /* owes something; in the list of these */
    struct tfd_admission_ticket *next_active, *previous_active;
    uint64_t came;                /* since the windows were last looked at */
    uint64_t delivered, since_us; /* ... and since its delivery was */
};

struct tfd_admission {
    struct tfd_loop *loop;
    uint64_t limit; /* 0: none, everything is admitted */
    /* Whether steps compute; may be NULL. */
    bool (*computing)(void *ctx);
    void *ctx;
    uint64_t reserved;                          /* of all tickets */
    struct tfd_admission_ticket *first, **last; /* who wait */
    struct tfd_admission_ticket *active;
    uint64_t admitted_us, came_us, told_us, looked_us;
    struct tfd_timer timer;
    /* For status pages. */
    uint32_t waiting;
    uint64_t waiting_size, pauses, late;
};

void tfd_admission_init(struct tfd_admission *in, struct tfd_loop *l);
void tfd_admission_deinit(struct tfd_admission *in); /* nobody waits or owes */
void tfd_admission_limit(struct tfd_admission *in, uint64_t limit,
                         bool (*computing)(void *ctx), void *ctx);

/* A message of so many bytes follows.  True: read on.  False: the ticket waits
 * until it is admitted(). */
bool tfd_admission_announce(struct tfd_admission *in,
                            struct tfd_admission_ticket *t, uint64_t size);
/* So many bytes of what was announced lie in buffers now, which count them.
 * Returns as above. */
bool tfd_admission_came(struct tfd_admission *in,
                        struct tfd_admission_ticket *t, uint64_t size);
/* After a read: looks at the owner's account.  Returns as above. */
bool tfd_admission_small(struct tfd_admission *in,
                         struct tfd_admission_ticket *t);
/* A message is complete or will not be: `come` bytes of it came, `rest` do not
 * any more.  Takes the ticket out of the line when nothing else is owed. */
void tfd_admission_forget(struct tfd_admission *in,
                          struct tfd_admission_ticket *t, uint64_t come,
                          uint64_t rest);
/* The connection is gone, whatever it owed; also of small requests. */
void tfd_admission_leave(struct tfd_admission *in,
                         struct tfd_admission_ticket *t);

#endif
