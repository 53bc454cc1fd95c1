/*
 * notify.h - tells systemd, or whoever started us with NOTIFY_SOCKET, how we
 * are (sd_notify(3) without its library).
 *
 *     READY=1\nSTATUS=ps 0 of 2: listening on 10.0.0.3:2222
 *     WATCHDOG=1\nSTATUS=ps 0 of 2: 4 peers, 2 sessions
 *     STOPPING=1\nSTATUS=draining 3 steps
 *
 * Nobody has to listen: without a socket, and whenever a datagram cannot be
 * delivered, nothing happens.  A supervisor must not be able to stop us by not
 * reading.
 *
 * Threads: loop thread; sends never block.
 */
#ifndef TFD_DAEMON_NOTIFY_H
#define TFD_DAEMON_NOTIFY_H

#include "common/base/status.h"

#include <sys/socket.h>
#include <sys/un.h>

struct tfd_notify {
    int fd; /* -1: nobody listens */
    struct sockaddr_un to;
    socklen_t to_size;
};

/* path: the value of NOTIFY_SOCKET, "/run/..." or "@abstract"; NULL, or
 * anything else, for nobody. */
void tfd_notify_open(struct tfd_notify *n, const char *path);
void tfd_notify_close(struct tfd_notify *n);

/* One line for people; line breaks become spaces.  The service counts as
 * started after ready. */
void tfd_notify_ready(const struct tfd_notify *n, const char *fmt, ...)
    TFD_PRINTF(2, 3);
void tfd_notify_status(const struct tfd_notify *n, const char *fmt, ...)
    TFD_PRINTF(2, 3);
/* The watchdog hears that all is well. */
void tfd_notify_alive(const struct tfd_notify *n, const char *fmt, ...)
    TFD_PRINTF(2, 3);
void tfd_notify_stopping(const struct tfd_notify *n, const char *fmt, ...)
    TFD_PRINTF(2, 3);

#endif
