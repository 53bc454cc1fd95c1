/*
 * init_process.c - see init_process.h.
 *
 * We start no processes, so nobody here waits for one: the kernel may forget
 * each as it ends.
 */
#define _GNU_SOURCE 1 /* getpid() */
#include "daemon/init_process.h"

#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

void tfd_init_process_reap(void)
{
    if (getpid() != 1)
        return;
    signal(SIGCHLD, SIG_IGN);
    /* Those who ended before, as children of the script that became us. */
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}
