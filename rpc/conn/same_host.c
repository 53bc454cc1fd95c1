/* same_host.c - see same_host.h. */
#define _GNU_SOURCE 1 /* struct ucred, SOCK_NONBLOCK */

#include "rpc/conn/same_host.h"

#include "rpc/conn/origin.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* What of a message may wait in the kernel: the usual 208 KiB make a large
 * tensor stop for its reader a dozen times. */
#define BUFFER_SIZE (4 << 20)

static bool is_any(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr ==
               htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(
        &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static bool is_loopback(const struct sockaddr *a)
{
    const struct sockaddr_in *four = (const void *)a;
    const struct sockaddr_in6 *six = (const void *)a;

    if (a->sa_family == AF_INET)
        return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

/* Of the address, or of every address with its port.  An abstract name begins
 * with a zero byte and ends where the length says. */
static socklen_t name_of(const struct sockaddr *a, bool every,
                         struct sockaddr_un *name)
{
    char text[TFD_PEER_TEXT_MAX];
    const char *port;
    int size;

    tfd_dial_peer_text(a, text);
    port = strrchr(text, ':');
    memset(name, 0, sizeof(*name));
    name->sun_family = AF_UNIX;
    size = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "tfd %s%s",
                    every ? "*" : text, every && port ? port : "");
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)size);
}

static int open_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int size = BUFFER_SIZE;

    if (fd >= 0 &&
        setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) != 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    return fd;
}

int tfd_same_host_listen(const struct sockaddr *bound, int backlog)
{
    struct sockaddr_un name;
    socklen_t size = name_of(bound, is_any(bound), &name);
    int fd = open_socket();

    if (fd < 0)
        return -1;
    if (bind(fd, (const struct sockaddr *)&name, size) == 0 &&
        listen(fd, backlog) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Anybody can take a name.  "any" is about who may use us, not about whom we
 * believe. */
static bool is_trusted(int fd, const struct tfd_allow *allow)
{
    struct tfd_allow named = *allow;
    struct tfd_origin who;

    named.any = false;
    tfd_origin_of_unix(&who, fd);
    return tfd_allow_has(&named, who.uid);
}

static int connect_to(const struct sockaddr *to, bool every,
                      const struct tfd_allow *allow)
{
    struct sockaddr_un name;
    socklen_t size = name_of(to, every, &name);
    int fd = open_socket();

    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)&name, size) == 0 &&
        is_trusted(fd, allow))
        return fd;
    close(fd);
    return -1;
}

int tfd_same_host_connect(const struct sockaddr *to,
                          const struct tfd_allow *allow)
{
    int fd = connect_to(to, false, allow);

    return fd < 0 && is_loopback(to) ? connect_to(to, true, allow) : fd;
}

void tfd_same_host_peer_text(int fd, char *text)
{
    struct ucred who = {0};
    socklen_t size = sizeof(who);

    (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size);
    snprintf(text, TFD_PEER_TEXT_MAX, "unix:%ld", (long)who.pid);
}
