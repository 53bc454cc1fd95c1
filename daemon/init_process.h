/*
 * init_process.h - does what the first process of a container (PID 1) has to do
 * for the others: it reaps those whose parents have ended, and ends at SIGTERM
 * or SIGINT.
 *
 * Threads: the main thread, before any other.
 */
#ifndef TFD_DAEMON_INIT_PROCESS_H
#define TFD_DAEMON_INIT_PROCESS_H

/* The first thing that main() does.  As PID 1 the process inherits those whose
 * parents have ended, such as what a health check has started, and they vanish
 * when they end; and SIGTERM and SIGINT end it at once until somebody watches
 * for them (daemon/own_name.h, rpc/conn/loop.h), with the exit code a shell
 * would tell of another process.  Otherwise, and in programs that use libtfd,
 * children are their parents' business, and signals have their default meaning:
 * nothing. */
void tfd_init_process_begin(void);

#endif
