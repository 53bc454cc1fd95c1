/*
 * main.c - the program; all of it is in command.c.
 */
#include "tools/ctl/ctl.h"

#include <signal.h>

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    return tfd_ctl_main(argc, argv, stdout, stderr);
}
