/* origin.c - see origin.h. */
#define _GNU_SOURCE 1 /* struct ucred */

#include "rpc/conn/origin.h"

#include <arpa/inet.h>
#include <assert.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* In a user namespace the kernel shows every user who is not in it as one,
 * "nobody", who may be this process's own user besides. */
static bool users_are_mapped(void)
{
    unsigned inside = 1, outside = 1, count = 0;
    FILE *f = fopen("/proc/self/uid_map", "re");

    if (!f)
        return false;
    if (fscanf(f, "%u %u %u", &inside, &outside, &count) != 3)
        count = 0;
    fclose(f);
    return inside == 0 && count == UINT32_MAX;
}

static uint32_t overflow_uid(void)
{
    uint32_t uid = 65534;
    FILE *f = fopen("/proc/sys/kernel/overflowuid", "re");

    if (f && fscanf(f, "%" SCNu32, &uid) != 1)
        uid = 65534;
    if (f)
        fclose(f);
    return uid;
}

/* Who stands for users that are not known; TFD_UID_UNKNOWN: nobody does. */
static uint32_t stand_in;
static pthread_once_t stand_in_once = PTHREAD_ONCE_INIT;

static void find_stand_in(void)
{
    stand_in = users_are_mapped() ? TFD_UID_UNKNOWN : overflow_uid();
}

void tfd_origin_set_user(struct tfd_origin *o, uint32_t uid)
{
    (void)pthread_once(&stand_in_once, find_stand_in);
    if (uid == stand_in)
        uid = TFD_UID_UNKNOWN;
    o->same_host = true;
    o->uid = uid;
    if (uid == TFD_UID_UNKNOWN)
        snprintf(o->key, sizeof(o->key), "uid unknown");
    else
        snprintf(o->key, sizeof(o->key), "uid %" PRIu32, uid);
}

static void set_remote(struct tfd_origin *o)
{
    o->same_host = false;
    o->uid = TFD_UID_UNKNOWN;
}

static void of_ipv4(struct tfd_origin *o, const uint8_t address[4])
{
    (void)inet_ntop(AF_INET, address, o->address, sizeof(o->address));
    (void)inet_ntop(AF_INET, address, o->key, sizeof(o->key));
    if (address[0] == IN_LOOPBACKNET)
        tfd_origin_set_user(o, TFD_UID_UNKNOWN);
}

static void of_ipv6(struct tfd_origin *o, const struct in6_addr *address)
{
    struct in6_addr network = *address;
    char text[INET6_ADDRSTRLEN];

    memset(network.s6_addr + 8, 0, 8);
    (void)inet_ntop(AF_INET6, address, o->address, sizeof(o->address));
    (void)inet_ntop(AF_INET6, &network, text, sizeof(text));
    snprintf(o->key, sizeof(o->key), "%s/64", text);
    if (IN6_IS_ADDR_LOOPBACK(address))
        tfd_origin_set_user(o, TFD_UID_UNKNOWN);
}

void tfd_origin_of_tcp(struct tfd_origin *o, const struct sockaddr *peer)
{
    const struct sockaddr_in *four = (const void *)peer;
    const struct sockaddr_in6 *six = (const void *)peer;

    assert(peer->sa_family == AF_INET || peer->sa_family == AF_INET6);
    memset(o, 0, sizeof(*o));
    set_remote(o);
    if (peer->sa_family == AF_INET)
        of_ipv4(o, (const uint8_t *)&four->sin_addr);
    else if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
        of_ipv4(o, six->sin6_addr.s6_addr + 12);
    else
        of_ipv6(o, &six->sin6_addr);
}

void tfd_origin_of_unix(struct tfd_origin *o, int fd)
{
    struct ucred who;
    socklen_t size = sizeof(who);
    bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;

    memset(o, 0, sizeof(*o));
    snprintf(o->address, sizeof(o->address), "unix");
    tfd_origin_set_user(o, known ? who.uid : TFD_UID_UNKNOWN);
}
