/*
 * bind.c - see bind.h.
 */
#define _GNU_SOURCE 1 /* getifaddrs() */
#include "config/bind.h"

#include "config/report.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* The four or sixteen bytes of an address; NULL for other families. */
static const void *bytes_of(const struct sockaddr *a, size_t *size)
{
    if (a->sa_family == AF_INET) {
        *size = sizeof(struct in_addr);
        return &((const struct sockaddr_in *)(const void *)a)->sin_addr;
    }
    if (a->sa_family == AF_INET6) {
        *size = sizeof(struct in6_addr);
        return &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
    }
    return NULL;
}

static bool is_same(const struct sockaddr *a, const struct sockaddr *b)
{
    size_t size = 0, other = 0;
    const void *x = bytes_of(a, &size);
    const void *y = bytes_of(b, &other);

    return x && y && a->sa_family == b->sa_family && memcmp(x, y, size) == 0;
}

static bool is_loopback(const struct sockaddr *a)
{
    size_t size;
    const unsigned char *bytes = bytes_of(a, &size);

    if (!bytes)
        return false;
    return a->sa_family == AF_INET
               ? bytes[0] == 127
               : IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)bytes);
}

static bool is_any(const struct sockaddr *a)
{
    static const unsigned char zero[16];
    size_t size;
    const void *bytes = bytes_of(a, &size);

    return bytes && memcmp(bytes, zero, size) == 0;
}

/* Whether an interface of this host has the address.  All of 127.0.0.0/8 is
 * local although only 127.0.0.1 is listed. */
static bool is_own(const struct sockaddr *a, const struct ifaddrs *interfaces)
{
    if (is_any(a) || is_loopback(a))
        return true;
    for (; interfaces; interfaces = interfaces->ifa_next)
        if (interfaces->ifa_addr && is_same(a, interfaces->ifa_addr))
            return true;
    return false;
}

static void print_address(const struct sockaddr *a, char *text, size_t size)
{
    socklen_t length = a->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                               : sizeof(struct sockaddr_in6);

    if (getnameinfo(a, length, text, (socklen_t)size, NULL, 0,
                    NI_NUMERICHOST) != 0)
        snprintf(text, size, "?");
}

static void set_host(struct tfd_bind *out, const char *host)
{
    size_t size = strlen(host);

    assert(size < sizeof(out->host));
    memcpy(out->host, host, size + 1);
}

/* Every address: one socket for both families, where the kernel has IPv6. */
static enum tfd_code bind_any(struct tfd_bind *out,
                              const struct ifaddrs *interfaces)
{
    set_host(out, "0.0.0.0");
    for (; interfaces; interfaces = interfaces->ifa_next)
        if (interfaces->ifa_addr && interfaces->ifa_addr->sa_family == AF_INET6)
            set_host(out, "::");
    out->any = true;
    out->loopback = false;
    return TFD_OK;
}

/* Up to a few addresses of this host, for the message. */
static void list_own(const struct ifaddrs *interfaces, char *text, size_t size)
{
    char one[NI_MAXHOST];
    int count = 0;

    text[0] = '\0';
    for (; interfaces && count < 6; interfaces = interfaces->ifa_next) {
        const struct sockaddr *a = interfaces->ifa_addr;
        size_t width;

        if (!a || !bytes_of(a, &width) || is_loopback(a))
            continue;
        print_address(a, one, sizeof(one));
        tfd_report_path(text, size, "%s%s", count++ ? ", " : "", one);
    }
    if (count == 0)
        snprintf(text, size, "127.0.0.1 only");
}

static enum tfd_code fail_name(const char *path, const char *host, int error,
                               struct tfd_status *st)
{
    return tfd_fail(st, TFD_UNAVAILABLE,
                    "%s = %s: the name does not resolve (%s); correct it or "
                    "give --bind=ADDR",
                    path, host, gai_strerror(error));
}

static enum tfd_code fail_not_own(const char *path, const char *host,
                                  const struct sockaddr *first,
                                  const struct ifaddrs *interfaces,
                                  struct tfd_status *st)
{
    char address[NI_MAXHOST];
    char own[256];

    print_address(first, address, sizeof(address));
    list_own(interfaces, own, sizeof(own));
    return tfd_fail(st, TFD_FAILED_PRECONDITION,
                    "%s = %s: %s is not an address of this host (%s); give "
                    "--bind=any or --bind=ADDR; where it is a Service in front "
                    "of a pod, --bind=0.0.0.0 or make the Service headless",
                    path, host, address, own);
}

/* The address of the name that this host has: one that others can reach, if
 * there is one. */
static const struct addrinfo *choose_address(const struct addrinfo *found,
                                             const struct ifaddrs *interfaces)
{
    const struct addrinfo *own = NULL;

    for (; found; found = found->ai_next) {
        if (!is_own(found->ai_addr, interfaces))
            continue;
        if (!own || (is_loopback(own->ai_addr) && !is_loopback(found->ai_addr)))
            own = found;
    }
    return own;
}

static enum tfd_code bind_name(const char *path, const char *host,
                               const struct ifaddrs *interfaces,
                               struct tfd_bind *out, struct tfd_status *st)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const struct addrinfo *at;
    enum tfd_code rc = TFD_OK;
    int error = getaddrinfo(host, NULL, &hints, &found);

    if (error != 0 || !found)
        return fail_name(path, host, error ? error : EAI_NONAME, st);
    at = choose_address(found, interfaces);
    if (!at) {
        rc = fail_not_own(path, host, found->ai_addr, interfaces, st);
    } else if (is_any(at->ai_addr)) {
        rc = bind_any(out, interfaces);
    } else {
        print_address(at->ai_addr, out->host, sizeof(out->host));
        out->loopback = is_loopback(at->ai_addr);
        out->loopback_by_name = out->loopback && strcmp(out->host, host) != 0;
    }
    freeaddrinfo(found);
    return rc;
}

static enum tfd_code resolve_bind(const char *bind, const char *own,
                                  const struct ifaddrs *interfaces,
                                  struct tfd_bind *out, struct tfd_status *st)
{
    struct tfd_address address;

    if (bind && strcmp(bind, "any") == 0)
        return bind_any(out, interfaces);
    if (bind && strcmp(bind, "localhost") != 0)
        return bind_name("--bind", bind, interfaces, out, st);
    if (!bind && *own)
        TFD_TRY(tfd_address_parse(own, &address, st));
    if (!bind && *own && strcmp(address.host, "localhost") != 0)
        return bind_name("the address of this task", address.host, interfaces,
                         out, st);
    set_host(out, "127.0.0.1");
    out->loopback = true;
    return TFD_OK;
}

enum tfd_code tfd_bind_resolve(const char *bind, const char *own, int32_t port,
                               struct tfd_bind *out, struct tfd_status *st)
{
    struct ifaddrs *interfaces = NULL;
    enum tfd_code rc;

    memset(out, 0, sizeof(*out));
    out->port = port;
    /* Without the list only loopback counts as ours; that is an error text, not
     * a wrong socket. */
    if (getifaddrs(&interfaces) != 0)
        interfaces = NULL;
    rc = resolve_bind(bind, own, interfaces, out, st);
    if (interfaces)
        freeifaddrs(interfaces);
    return rc;
}

const char *tfd_bind_file_root(const struct tfd_bind *b,
                               const struct tfd_allow *a)
{
    return b->loopback && !tfd_allow_opened(a) ? "/" : NULL;
}
