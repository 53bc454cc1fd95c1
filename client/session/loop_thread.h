/*
 * loop_thread.h - the one event loop of this process's clients.
 *
 * The first session with a target starts its thread, the last one ends it; a
 * program that never connects has none.
 *
 * Threads: any.
 */
#ifndef TFD_CLIENT_LOOP_THREAD_H
#define TFD_CLIENT_LOOP_THREAD_H

#include "rpc/conn/loop.h"

/* Counted; NULL on failure. */
struct tfd_loop *tfd_loop_thread_get(struct tfd_status *st);
/* Everything of the caller on the loop is closed.  Waits for the thread when
 * it was the last. */
void tfd_loop_thread_put(void);

#endif
