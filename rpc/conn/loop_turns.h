/*
 * loop_turns.h - how long the loop's turns were: from when it has something to
 * do until it looks for more.  Who asks for something waits for the turn that
 * is under way, and answers leave at the end of the next.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_LOOP_TURNS_H
#define TFD_RPC_LOOP_TURNS_H

#include "common/measure/histogram.h"

struct tfd_loop;

/* All since it has begun to run; by the clock, so that what the thread had to
 * wait for a processor is in it. */
const struct tfd_histogram *tfd_loop_turns(const struct tfd_loop *l);

#endif
