/*
 * init_process.h - what the first process of a container owes the others.
 *
 * Threads: the main thread, before any other.
 */
#ifndef TFD_DAEMON_INIT_PROCESS_H
#define TFD_DAEMON_INIT_PROCESS_H

/* As PID 1 the process inherits those whose parents have ended, such as what a
 * health check has started, and they vanish when they end.  Otherwise, and in
 * programs that use libtfd, children are their parents' business: nothing. */
void tfd_init_process_reap(void);

#endif
