/*
 * continuation.h - what is told that it may go on.
 *
 * Ownership: its owner's; whoever it was given to has it until fn() is called.
 * Threads: fn() from any thread.
 */
#ifndef TFD_COMMON_CONTINUATION_H
#define TFD_COMMON_CONTINUATION_H

struct tfd_continuation {
    void (*fn)(struct tfd_continuation *t);
    struct tfd_continuation *next; /* the rest is of who has it */
    int nodes;
};

#endif
