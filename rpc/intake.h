/*
 * intake.h - keeps requests on their way in from taking more memory than there
 * is: what does not fit waits in the caller's socket, unread, until something
 * has been freed.
 *
 *     a large request is announced --> tfd_intake_ask() -- fits --> read
 *                                          |
 *                          its connection is not read until admitted()
 *
 * A request fits while the tensors of this process and what was admitted before
 * leave a quarter of the limit free (2 GiB at most), which is what steps
 * compute with.  Small ones always do, so that those which free memory get
 * through on other connections.  And when nothing was admitted for a while one
 * is that only the limit itself bounds: what we wait for may stand behind it.
 * One that is too large even so is admitted in the end, and fails for lack of
 * memory.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_INTAKE_H
#define TFD_RPC_INTAKE_H

#include "rpc/loop.h"

#include <stddef.h>

/* Below, a request is not worth asking for. */
#define TFD_INTAKE_MIN (64u << 10)

/* One connection's place in the line; embedded, all zero before. */
struct tfd_intake_ticket {
    /* From the loop, never from inside tfd_intake_ask(). */
    void (*admitted)(struct tfd_intake_ticket *t);
    uint64_t size, asked_us;
    bool waiting;
    struct tfd_intake_ticket *next;
};

struct tfd_intake {
    struct tfd_loop *loop;
    uint64_t limit; /* 0: none, everything is admitted */
    /* Whether steps compute; may be NULL. */
    bool (*computing)(void *ctx);
    void *ctx;
    uint64_t reserved; /* bytes admitted and not yet in buffers */
    struct tfd_intake_ticket *first, **last;
    uint64_t admitted_us, told_us;
    struct tfd_timer timer;
    /* For status pages. */
    uint32_t waiting;
    uint64_t waiting_size, pauses;
};

void tfd_intake_init(struct tfd_intake *in, struct tfd_loop *l);
void tfd_intake_deinit(struct tfd_intake *in); /* nobody waits */
void tfd_intake_limit(struct tfd_intake *in, uint64_t limit,
                      bool (*computing)(void *ctx), void *ctx);

/* True: read it; size bytes are reserved until tfd_intake_took().  False: the
 * ticket waits, and the same holds once it is admitted(). */
bool tfd_intake_ask(struct tfd_intake *in, struct tfd_intake_ticket *t,
                    uint64_t size);
/* So much of what was reserved lies in buffers now, or will not come. */
void tfd_intake_took(struct tfd_intake *in, uint64_t size);
/* Out of the line; nothing where it does not wait. */
void tfd_intake_leave(struct tfd_intake *in, struct tfd_intake_ticket *t);

#endif
