/*
 * spin.h - looking again for a short while before going to sleep.
 *
 * Waking a thread costs a system call on one side, and on the other the time
 * in which a halted processor comes back: 5 us on bare metal, 35 us in a
 * virtual machine, more than all the rest of a small step.  Who expects to wait
 * for less looks again and again instead:
 *
 *     while (!ready) {
 *         tfd_spin_begin(&s);
 *         while (!ready && tfd_spin_again(&s))
 *             ;
 *         if (!ready)
 *             sleep until it is
 *         tfd_spin_end(&s);
 *     }
 *
 * Each place that waits learns from how long it waited: spinning begins when a
 * few waits in a row were short and ends with those that were not, so that a
 * server with nothing to do sleeps.  A turn gives the processor to whoever
 * wants it.  When somebody took it the place sleeps for a while: nobody who has
 * work should pay for one who has none, a processor in use wakes quickly
 * anyway, and one who gave it away gets it back later than one who slept.
 *
 * Threads: one at a time for each struct tfd_spin.
 */
#ifndef TFD_COMMON_SPIN_H
#define TFD_COMMON_SPIN_H

#include <stdbool.h>
#include <stdint.h>

struct tfd_spin {
    int64_t limit_ns; /* 0: never */
    int64_t began_ns;
    int64_t seen_ns;       /* the clock at the last look at it */
    int64_t rest_until_ns; /* others need the processors until then */
    int credit;            /* short waits lately */
    uint32_t turn;
};

/* limit_us: how long to look at most; 0 for never.  All zero is such a one. */
void tfd_spin_init(struct tfd_spin *s, int64_t limit_us);
/* One that spins from the first wait on. */
void tfd_spin_init_eager(struct tfd_spin *s, int64_t limit_us);
void tfd_spin_begin(struct tfd_spin *s);
/* False when it is time to sleep. */
bool tfd_spin_again(struct tfd_spin *s);
int64_t tfd_spin_elapsed_ns(const struct tfd_spin *s); /* since begin */
/* What was waited for is there; in between the thread may have slept. */
void tfd_spin_end(struct tfd_spin *s);
/* The same for who knows how long it was. */
void tfd_spin_learn(struct tfd_spin *s, int64_t waited_ns);
/* Whether the next wait would spin. */
bool tfd_spin_pays(const struct tfd_spin *s);

#endif
