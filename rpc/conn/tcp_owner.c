/* tcp_owner.c - see tcp_owner.h. */
#define _GNU_SOURCE 1 /* memmem(), pread() */

#include "rpc/conn/tcp_owner.h"

#include "config/limits.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPLY_SIZE 4096 /* a message about one socket or route has 300 */
#define LOOPBACK_INTERFACE 1

void tfd_tcp_owners_init(struct tfd_tcp_owners *o)
{
    *o = (struct tfd_tcp_owners){.diag = -1, .route = -1};
}

static void close_socket(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void tfd_tcp_owners_deinit(struct tfd_tcp_owners *o)
{
    close_socket(&o->diag);
    close_socket(&o->route);
}

/* ---- Addresses ----------------------------------------------------------- */

static size_t address_size(const struct tfd_tcp_end *e)
{
    return e->family == AF_INET ? 4 : 16;
}

/* An IPv4 address inside IPv6 is IPv4, as in the kernel's tables of sockets. */
static void end_of(struct tfd_tcp_end *e, const struct sockaddr *a)
{
    const struct sockaddr_in *four = (const void *)a;
    const struct sockaddr_in6 *six = (const void *)a;

    memset(e, 0, sizeof(*e));
    if (a->sa_family == AF_INET) {
        e->family = AF_INET;
        e->port = four->sin_port;
        memcpy(e->address, &four->sin_addr, 4);
        return;
    }
    assert(a->sa_family == AF_INET6);
    e->port = six->sin6_port;
    if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
        e->family = AF_INET;
        memcpy(e->address, six->sin6_addr.s6_addr + 12, 4);
        return;
    }
    e->family = AF_INET6;
    e->interface = six->sin6_scope_id;
    memcpy(e->address, &six->sin6_addr, 16);
}

static bool is_loopback(const struct tfd_tcp_end *e)
{
    static const uint8_t one[16] = {[15] = 1};

    return e->family == AF_INET ? e->address[0] == IN_LOOPBACKNET
                                : memcmp(e->address, one, 16) == 0;
}

/* ---- Netlink ------------------------------------------------------------- */

static int open_netlink(int protocol)
{
    return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
                  protocol);
}

/* Sends the request, whose header it completes, and reads the answer to it into
 * reply.  The kernel answers from inside send(), so nothing is waited for.
 * False where that did not work; the socket is closed then. */
static bool ask_kernel(struct tfd_tcp_owners *o, int *fd, int protocol,
                       struct nlmsghdr *request, uint8_t reply[REPLY_SIZE])
{
    const struct nlmsghdr *head = (const void *)reply;
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t n;

    if (*fd < 0)
        *fd = open_netlink(protocol);
    if (*fd < 0)
        return false;
    request->nlmsg_flags = NLM_F_REQUEST;
    request->nlmsg_seq = ++o->sequence;
    n = sendto(*fd, request, request->nlmsg_len, 0, (struct sockaddr *)&kernel,
               sizeof(kernel));
    while (n > 0) {
        socklen_t size = sizeof(kernel);

        n = recvfrom(*fd, reply, REPLY_SIZE, 0, (struct sockaddr *)&kernel,
                     &size);
        if (n >= (ssize_t)sizeof(*head) && head->nlmsg_len <= (size_t)n &&
            head->nlmsg_seq == o->sequence && kernel.nl_pid == 0)
            return true;
    }
    close_socket(fd);
    return false;
}

/* ---- sock_diag ----------------------------------------------------------- */

/* An IPv4 connection of an IPv6 socket is found, and told in IPv6. */
static bool is_end(unsigned family, const uint32_t address[4], uint16_t port,
                   const struct tfd_tcp_end *e)
{
    bool mapped = family == AF_INET6 && e->family == AF_INET;

    return port == e->port &&
           (!mapped ||
            (!address[0] && !address[1] && address[2] == htonl(0xffff))) &&
           memcmp(mapped ? address + 3 : address, e->address,
                  address_size(e)) == 0;
}

/* States in which the connection is the socket's own; inode 0 is a socket that
 * its process has closed, and then its user is not the process's. */
static bool has_owner(unsigned state, uint64_t inode)
{
    const unsigned live = 1u << TCP_ESTABLISHED | 1u << TCP_FIN_WAIT1 |
                          1u << TCP_FIN_WAIT2 | 1u << TCP_CLOSE_WAIT |
                          1u << TCP_CLOSING | 1u << TCP_LAST_ACK;

    return inode != 0 && state < 32 && (live >> state & 1);
}

enum diag_answer { DIAG_FAILED, DIAG_NONE, DIAG_DEAD, DIAG_USER };

/* The socket with this local and this remote end.  Without an established one
 * the kernel answers with a listener at the local end, which is nobody's here:
 * hence the comparison. */
static enum diag_answer ask_diag(struct tfd_tcp_owners *o,
                                 const struct tfd_tcp_end *local,
                                 const struct tfd_tcp_end *remote,
                                 uint32_t *uid)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } request = {0};
    _Alignas(struct nlmsghdr) uint8_t reply[REPLY_SIZE];
    const struct nlmsghdr *head = (const void *)reply;
    const struct inet_diag_msg *m = NLMSG_DATA(reply);
    const struct nlmsgerr *e = NLMSG_DATA(reply);

    request.head.nlmsg_len = sizeof(request);
    request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.body.sdiag_family = local->family;
    request.body.sdiag_protocol = IPPROTO_TCP;
    request.body.idiag_states = UINT32_MAX;
    request.body.id.idiag_sport = local->port;
    request.body.id.idiag_dport = remote->port;
    memcpy(request.body.id.idiag_src, local->address, 16);
    memcpy(request.body.id.idiag_dst, remote->address, 16);
    /* What a host sends to itself goes through its loopback interface, and a
     * socket may be bound to that. */
    request.body.id.idiag_if =
        local->interface ? local->interface : LOOPBACK_INTERFACE;
    memset(request.body.id.idiag_cookie, 0xff,
           sizeof(request.body.id.idiag_cookie));
    if (!ask_kernel(o, &o->diag, NETLINK_SOCK_DIAG, &request.head, reply))
        return DIAG_FAILED;
    if (head->nlmsg_type == NLMSG_ERROR && head->nlmsg_len >= NLMSG_LENGTH(4))
        return e->error == -ENOENT ? DIAG_NONE : DIAG_FAILED;
    if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        head->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
        return DIAG_FAILED;
    o->diag_works = true;
    if (!is_end(m->idiag_family, m->id.idiag_src, m->id.idiag_sport, local) ||
        !is_end(m->idiag_family, m->id.idiag_dst, m->id.idiag_dport, remote))
        return DIAG_NONE;
    *uid = m->idiag_uid;
    return has_owner(m->idiag_state, m->idiag_inode) ? DIAG_USER : DIAG_DEAD;
}

/* A kernel without the module gives the same error as one that has not found
 * the socket.  Our own socket is certainly there. */
static bool diag_works(struct tfd_tcp_owners *o,
                       const struct tfd_tcp_end *local,
                       const struct tfd_tcp_end *remote)
{
    uint32_t uid;

    if (!o->diag_works)
        (void)ask_diag(o, local, remote, &uid);
    return o->diag_works;
}

/* ---- /proc --------------------------------------------------------------- */

/* "0100007F:1F90 ": words of four bytes in the order of the machine. */
static int print_end(char *text, size_t size, const struct tfd_tcp_end *e,
                     bool mapped)
{
    uint32_t word[4] = {0, 0, htonl(0xffff), 0};
    int used = 0;

    assert(!mapped || e->family == AF_INET);
    if (mapped)
        memcpy(word + 3, e->address, 4);
    else
        memcpy(word, e->address, address_size(e));
    for (int i = 0; i < (mapped || e->family == AF_INET6 ? 4 : 1); i++)
        used +=
            snprintf(text + used, size - (size_t)used, "%08" PRIX32, word[i]);
    return used + snprintf(text + used, size - (size_t)used, ":%04X ",
                           (unsigned)ntohs(e->port));
}

/* What follows the two ends in a line. */
static enum tfd_tcp_owner read_line(const char *rest, uint32_t *uid)
{
    unsigned state;
    uint64_t inode;

    /* st tx:rx tr:when retransmits uid timeout inode */
    if (sscanf(rest, "%x %*x:%*x %*x:%*x %*x %" SCNu32 " %*d %" SCNu64, &state,
               uid, &inode) != 3)
        return TFD_OWNER_UNKNOWN;
    return has_owner(state, inode) ? TFD_OWNER_USER : TFD_OWNER_GONE;
}

static enum tfd_tcp_owner search_table(int fd, const char *ends, uint32_t *uid)
{
    char text[16 << 10];
    size_t have = 0, total = 0;
    ssize_t n;

    while (total < TFD_PROC_TCP_SIZE_MAX &&
           (n = read(fd, text + have, sizeof(text) - 1 - have)) > 0) {
        const char *found, *end;

        have += (size_t)n;
        total += (size_t)n;
        text[have] = '\0';
        end = memrchr(text, '\n', have);
        if (!end)
            return TFD_OWNER_UNKNOWN; /* no such table */
        found = strstr(text, ends);
        if (found && found < end)
            return read_line(found + strlen(ends), uid);
        have -= (size_t)(end + 1 - text);
        memmove(text, end + 1, have);
    }
    return total < TFD_PROC_TCP_SIZE_MAX ? TFD_OWNER_REMOTE : TFD_OWNER_UNKNOWN;
}

enum tfd_tcp_owner tfd_tcp_owners_in_proc(int tcp, int tcp6,
                                          const struct tfd_tcp_end *local,
                                          const struct tfd_tcp_end *remote,
                                          uint32_t *uid)
{
    enum tfd_tcp_owner found = TFD_OWNER_REMOTE;
    char ends[100];

    /* An IPv4 connection may be one of an IPv6 socket. */
    for (int i = 0; i < 2 && found == TFD_OWNER_REMOTE; i++) {
        bool mapped = i == 1 && local->family == AF_INET;
        int fd = i == 0 ? tcp : tcp6, used;

        if (fd < 0 || (i == 0 && local->family == AF_INET6))
            continue;
        used = print_end(ends, sizeof(ends), local, mapped);
        (void)print_end(ends + used, sizeof(ends) - (size_t)used, remote,
                        mapped);
        found = search_table(fd, ends, uid);
    }
    return found;
}

static enum tfd_tcp_owner ask_proc(const struct tfd_tcp_end *local,
                                   const struct tfd_tcp_end *remote,
                                   uint32_t *uid)
{
    int tcp = open("/proc/self/net/tcp", O_RDONLY | O_CLOEXEC);
    int tcp6 = open("/proc/self/net/tcp6", O_RDONLY | O_CLOEXEC);
    enum tfd_tcp_owner found =
        tfd_tcp_owners_in_proc(tcp, tcp6, local, remote, uid);

    if (tcp < 0)
        found = TFD_OWNER_UNKNOWN;
    close_socket(&tcp);
    close_socket(&tcp6);
    return found;
}

/* ---- Is it an address of this host? -------------------------------------- */

/* A route to it that ends here. */
static bool ask_route(struct tfd_tcp_owners *o, const struct tfd_tcp_end *e,
                      bool *is_local)
{
    struct {
        struct nlmsghdr head;
        struct rtmsg body;
        struct rtattr attribute;
        uint8_t address[16];
    } request = {0};
    _Alignas(struct nlmsghdr) uint8_t reply[REPLY_SIZE];
    const struct nlmsghdr *head = (const void *)reply;
    const struct rtmsg *m = NLMSG_DATA(reply);
    size_t size = address_size(e);

    request.head.nlmsg_len =
        (uint32_t)(sizeof(request) - sizeof(request.address) + size);
    request.head.nlmsg_type = RTM_GETROUTE;
    request.body.rtm_family = e->family;
    request.body.rtm_dst_len = (uint8_t)(size * 8);
    request.attribute.rta_type = RTA_DST;
    request.attribute.rta_len = (uint16_t)RTA_LENGTH(size);
    memcpy(request.address, e->address, size);
    if (!ask_kernel(o, &o->route, NETLINK_ROUTE, &request.head, reply))
        return false;
    /* No route to who has just connected: it is not here. */
    *is_local = head->nlmsg_type == RTM_NEWROUTE &&
                head->nlmsg_len >= NLMSG_LENGTH(sizeof(*m)) &&
                m->rtm_type == RTN_LOCAL;
    return true;
}

/* Only an address of this host can be bound to. */
static bool can_bind(const struct sockaddr *peer)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } a = {0};
    bool is_four = peer->sa_family == AF_INET;
    socklen_t size = is_four ? sizeof(a.four) : sizeof(a.six);
    int fd = socket(peer->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool bound;

    memcpy(&a, peer, size);
    if (is_four)
        a.four.sin_port = 0;
    else
        a.six.sin6_port = 0;
    bound = fd < 0 || bind(fd, &a.any, size) == 0;
    close_socket(&fd);
    return bound;
}

static bool is_of_host(struct tfd_tcp_owners *o, const struct sockaddr *peer,
                       const struct tfd_tcp_end *from,
                       const struct tfd_tcp_end *to)
{
    bool is_local;

    if (is_loopback(from) || memcmp(from->address, to->address, 16) == 0)
        return true;
    return ask_route(o, from, &is_local) ? is_local : can_bind(peer);
}

/* ---- Together ------------------------------------------------------------ */

/* Nobody else can have had these addresses since the connection was accepted:
 * it is still up. */
static bool is_up(int fd)
{
    struct tcp_info info;
    socklen_t size = sizeof(info);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           (info.tcpi_state == TCP_ESTABLISHED ||
            info.tcpi_state == TCP_CLOSE_WAIT);
}

/* A socket can be left out of a table that changes while it is read. */
static enum tfd_tcp_owner ask_proc_twice(struct tfd_tcp_owners *o,
                                         const struct sockaddr *peer,
                                         const struct tfd_tcp_end *from,
                                         const struct tfd_tcp_end *to,
                                         uint32_t *uid)
{
    enum tfd_tcp_owner found = ask_proc(from, to, uid);

    if (found == TFD_OWNER_USER || found == TFD_OWNER_GONE)
        return found;
    if (!is_of_host(o, peer, from, to))
        return TFD_OWNER_REMOTE;
    found = ask_proc(from, to, uid);
    return found == TFD_OWNER_REMOTE ? TFD_OWNER_UNKNOWN : found;
}

enum tfd_tcp_owner tfd_tcp_owners_find(struct tfd_tcp_owners *o, int fd,
                                       const struct sockaddr *peer,
                                       uint32_t *uid)
{
    struct sockaddr_storage own;
    socklen_t size = sizeof(own);
    struct tfd_tcp_end from, to;
    enum tfd_tcp_owner found = TFD_OWNER_UNKNOWN;
    enum diag_answer answer;

    end_of(&from, peer);
    if (getsockname(fd, (struct sockaddr *)&own, &size) != 0)
        return TFD_OWNER_UNKNOWN;
    end_of(&to, (struct sockaddr *)&own);
    answer = ask_diag(o, &from, &to, uid);
    if (answer == DIAG_NONE && !diag_works(o, &to, &from))
        answer = DIAG_FAILED;
    if (answer == DIAG_FAILED)
        found = ask_proc_twice(o, peer, &from, &to, uid);
    else if (answer == DIAG_USER)
        found = TFD_OWNER_USER;
    else if (answer == DIAG_DEAD)
        found = TFD_OWNER_GONE;
    else if (answer == DIAG_NONE && !is_of_host(o, peer, &from, &to))
        found = TFD_OWNER_REMOTE;
    return found != TFD_OWNER_REMOTE && !is_up(fd) ? TFD_OWNER_GONE : found;
}
