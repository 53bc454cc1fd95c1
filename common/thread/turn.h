/*
 * turn.h - what is told that it may go on.
 *
 * Ownership: its owner's; whoever it was given to has it until fn() is called.
 * Threads: fn() from any thread.
 */
#ifndef TFD_COMMON_TURN_H
#define TFD_COMMON_TURN_H

struct tfd_turn {
    void (*fn)(struct tfd_turn *t);
    struct tfd_turn *next; /* the rest is of who has it */
    int nodes;
};

#endif
