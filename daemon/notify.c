/*
 * notify.c - see notify.h.  The protocol is one datagram of "KEY=value" lines.
 */
#define _GNU_SOURCE 1 /* SOCK_CLOEXEC */
#include "daemon/notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* systemd shows one line; more is cut there anyway. */
#define TEXT_MAX 512

void tfd_notify_open(struct tfd_notify *n, const char *path)
{
    size_t size = path ? strlen(path) : 0;

    memset(n, 0, sizeof(*n));
    n->fd = -1;
    if (size < 2 || size >= sizeof(n->to.sun_path) ||
        (path[0] != '/' && path[0] != '@'))
        return;
    n->to.sun_family = AF_UNIX;
    memcpy(n->to.sun_path, path, size);
    if (path[0] == '@')
        n->to.sun_path[0] = '\0'; /* an abstract name is not terminated */
    n->to_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size +
                             (path[0] == '@' ? 0 : 1));
    n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

void tfd_notify_close(struct tfd_notify *n)
{
    if (n->fd >= 0)
        close(n->fd);
    n->fd = -1;
}

static void TFD_PRINTF(3, 0)
    send_status(const struct tfd_notify *n, const char *state, const char *fmt,
                va_list args)
{
    char text[TEXT_MAX];
    int head = snprintf(text, sizeof(text), "%sSTATUS=", state);
    ssize_t sent;

    if (n->fd < 0)
        return;
    if (vsnprintf(text + head, sizeof(text) - (size_t)head, fmt, args) < 0)
        text[head] = '\0';
    /* A break in the text would start a key of its own. */
    for (char *c = text + head; *c; c++)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    sent = sendto(n->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL,
                  (const struct sockaddr *)&n->to, n->to_size);
    (void)sent; /* nobody has to listen */
}

void tfd_notify_ready(const struct tfd_notify *n, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    send_status(n, "READY=1\n", fmt, args);
    va_end(args);
}

void tfd_notify_status(const struct tfd_notify *n, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    send_status(n, "", fmt, args);
    va_end(args);
}

void tfd_notify_alive(const struct tfd_notify *n, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    send_status(n, "WATCHDOG=1\n", fmt, args);
    va_end(args);
}

void tfd_notify_stopping(const struct tfd_notify *n, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    send_status(n, "STOPPING=1\n", fmt, args);
    va_end(args);
}
