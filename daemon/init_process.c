/*
 * init_process.c - see init_process.h.
 *
 * We start no processes, so nobody here waits for one: the kernel may forget
 * each as it ends.
 *
 * The kernel sends PID 1 no signal that it has no handler for: one that came
 * before the loop watches would be lost, and the container killed later.
 */
#define _GNU_SOURCE 1 /* getpid(), sigaction() */
#include "daemon/init_process.h"

#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static void end_at_once(int number)
{
    _exit(128 + number);
}

/* Also if the script that became us had blocked them, not to lose any. */
static void take_signals(void)
{
    struct sigaction action = {.sa_handler = end_at_once};
    sigset_t taken;

    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigemptyset(&taken);
    sigaddset(&taken, SIGTERM);
    sigaddset(&taken, SIGINT);
    sigprocmask(SIG_UNBLOCK, &taken, NULL);
}

void tfd_init_process_begin(void)
{
    if (getpid() != 1)
        return;
    take_signals();
    signal(SIGCHLD, SIG_IGN);
    /* Those who ended before, as children of the script that became us. */
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}
