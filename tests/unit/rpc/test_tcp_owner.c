/*
 * test_tcp_owner.c - rpc/conn/tcp_owner.c: whose a connection is, by the kernel
 * and by its tables as text, and what a user can do to be taken for another.
 */
#define _GNU_SOURCE 1 /* memfd_create(), unshare() */

#include "rpc/conn/tcp_owner.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NOBODY 65534

struct pair {
    int listener, client, accepted;
    struct sockaddr_storage peer;
};

static int family_of(const char *ip)
{
    return strchr(ip, ':') ? AF_INET6 : AF_INET;
}

static socklen_t address_of(const char *ip, uint16_t port,
                            struct sockaddr_storage *a)
{
    struct sockaddr_in *four = (struct sockaddr_in *)a;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)a;

    memset(a, 0, sizeof(*a));
    a->ss_family = (sa_family_t)family_of(ip);
    if (a->ss_family == AF_INET) {
        four->sin_port = port;
        assert_int_equal(inet_pton(AF_INET, ip, &four->sin_addr), 1);
        return sizeof(*four);
    }
    six->sin6_port = port;
    assert_int_equal(inet_pton(AF_INET6, ip, &six->sin6_addr), 1);
    return sizeof(*six);
}

/* Connects from an address (NULL: any) to where the listener is, as seen under
 * the address `to`. */
static int connect_from(const char *from, const char *to, int listener)
{
    struct sockaddr_storage a, own;
    socklen_t size = sizeof(own);
    int fd = socket(family_of(to), SOCK_STREAM, 0);

    assert_int_equal(getsockname(listener, (struct sockaddr *)&own, &size), 0);
    if (from) {
        size = address_of(from, 0, &a);
        assert_int_equal(bind(fd, (struct sockaddr *)&a, size), 0);
    }
    /* The port stands at the same place in both families. */
    size = address_of(to, ((struct sockaddr_in *)&own)->sin_port, &a);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, size), 0);
    return fd;
}

/* False without this address on this machine. */
static bool listen_at(const char *ip, int *fd)
{
    struct sockaddr_storage a;
    socklen_t size = address_of(ip, 0, &a);

    *fd = socket(family_of(ip), SOCK_STREAM, 0);
    if (bind(*fd, (struct sockaddr *)&a, size) == 0 && listen(*fd, 8) == 0)
        return true;
    close(*fd);
    return false;
}

static void accept_one(struct pair *p)
{
    socklen_t size = sizeof(p->peer);

    p->accepted = accept(p->listener, (struct sockaddr *)&p->peer, &size);
    assert_true(p->accepted >= 0);
}

static void pair_close(struct pair *p)
{
    if (p->client >= 0)
        close(p->client);
    close(p->accepted);
    close(p->listener);
}

/* As in a sandbox: netlink cannot be opened, and what is there does not work.
 */
static bool no_netlink;

static enum tfd_tcp_owner find(struct pair *p, uint32_t *uid)
{
    struct tfd_tcp_owners o;
    enum tfd_tcp_owner found;

    tfd_tcp_owners_init(&o);
    if (no_netlink) {
        o.diag = open("/dev/null", O_RDWR | O_CLOEXEC);
        o.route = open("/dev/null", O_RDWR | O_CLOEXEC);
    }
    *uid = 4711;
    found =
        tfd_tcp_owners_find(&o, p->accepted, (struct sockaddr *)&p->peer, uid);
    tfd_tcp_owners_deinit(&o);
    return found;
}

/* ---- Users --------------------------------------------------------------- */

static const struct row {
    const char *bound, *from, *to;
} rows[] = {
    {"127.0.0.1", NULL, "127.0.0.1"},
    {"127.0.0.1", "127.3.2.1", "127.0.0.1"},
    {"0.0.0.0", NULL, "127.9.9.9"},
    {"::1", NULL, "::1"},
    {"::", NULL, "::1"},
    {"::", NULL, "127.0.0.1"},        /* IPv4 to a listener of IPv6 */
    {"::", NULL, "::ffff:127.0.0.1"}, /* and of an IPv6 socket */
    {"127.0.0.1", NULL, "::ffff:127.0.0.1"},
};

static void test_our_own_connections_are_ours(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pair p;
        uint32_t uid;

        if (!listen_at(rows[i].bound, &p.listener))
            continue; /* no IPv6 */
        p.client = connect_from(rows[i].from, rows[i].to, p.listener);
        accept_one(&p);
        if (find(&p, &uid) != TFD_OWNER_USER || uid != geteuid())
            fail_msg("row %zu: uid %u", i, uid);
        /* Our side ended, the other is still held. */
        shutdown(p.client, SHUT_WR);
        assert_int_equal(find(&p, &uid), TFD_OWNER_USER);
        pair_close(&p);
    }
}

static bool only_root(void)
{
    if (geteuid() == 0)
        return true;
    print_message("only root can be another user\n");
    return false;
}

/* A process of another user that connects, does what it is told and waits. */
static pid_t be_nobody(struct pair *p, const struct row *r,
                       void (*then)(int fd))
{
    int ready[2];
    char c = 0;
    pid_t child;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        int fd;

        if (setuid(NOBODY) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
            _exit(1);
        fd = connect_from(r->from, r->to, p->listener);
        if (then)
            then(fd);
        (void)!write(ready[1], "r", 1);
        pause();
        _exit(0);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    p->client = -1;
    accept_one(p);
    return child;
}

static void bury(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void test_another_users_are_theirs(void **state)
{
    (void)state;
    if (!only_root())
        skip();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pair p;
        uint32_t uid;
        pid_t child;

        if (!listen_at(rows[i].bound, &p.listener))
            continue;
        child = be_nobody(&p, &rows[i], NULL);
        if (find(&p, &uid) != TFD_OWNER_USER || uid != NOBODY)
            fail_msg("row %zu: uid %u", i, uid);
        bury(child);
        pair_close(&p);
    }
}

/* ---- Sockets that their process has closed ------------------------------- */

static void send_and_close(int fd)
{
    (void)!write(fd, "GET /", 5);
    close(fd);
}

static void send_and_reset(int fd)
{
    struct linger now = {1, 0};

    (void)!write(fd, "GET /", 5);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(fd);
}

/* Of a closed socket the kernel says user 0. */
static void test_a_closed_socket_is_nobodys_not_roots(void **state)
{
    void (*const ends[])(int) = {send_and_close, send_and_reset};

    (void)state;
    if (!only_root())
        skip();
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        struct pair p;
        uint32_t uid;
        pid_t child;

        if (!listen_at(rows[i / 2].bound, &p.listener))
            continue;
        child = be_nobody(&p, &rows[i / 2], ends[i % 2]);
        assert_int_equal(find(&p, &uid), TFD_OWNER_GONE);
        bury(child);
        pair_close(&p);
    }
}

/* Root listens on the port that the closed socket had: the kernel finds that
 * socket instead, and it is root's. */
static void test_a_listener_is_not_taken_for_the_peer(void **state)
{
    struct pair p;
    struct sockaddr_storage a;
    socklen_t size = sizeof(a);
    struct linger now = {1, 0};
    uint32_t uid;
    int one = 1, other;

    (void)state;
    assert_true(listen_at("127.0.0.1", &p.listener));
    p.client = connect_from("127.0.0.1", "127.0.0.1", p.listener);
    getsockname(p.client, (struct sockaddr *)&a, &size);
    accept_one(&p);
    setsockopt(p.client, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(p.client);
    p.client = -1;
    other = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(other, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    assert_int_equal(bind(other, (struct sockaddr *)&a, size), 0);
    assert_int_equal(listen(other, 1), 0);
    assert_int_equal(find(&p, &uid), TFD_OWNER_GONE);
    close(other);
    pair_close(&p);
}

/* Who resets and is followed by another connection of the same addresses does
 * not become its user. */
static void test_a_successor_on_the_same_port_is_not_the_peer(void **state)
{
    struct pair p, q;
    struct sockaddr_storage a, to;
    socklen_t size = sizeof(a);
    struct linger now = {1, 0};
    uint32_t uid;

    (void)state;
    assert_true(listen_at("127.0.0.1", &p.listener));
    p.client = connect_from("127.0.0.1", "127.0.0.1", p.listener);
    getsockname(p.client, (struct sockaddr *)&a, &size);
    getpeername(p.client, (struct sockaddr *)&to, &size);
    accept_one(&p);
    setsockopt(p.client, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(p.client);
    p.client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(p.client, (struct sockaddr *)&a, size), 0);
    assert_int_equal(connect(p.client, (struct sockaddr *)&to, size), 0);
    assert_int_equal(find(&p, &uid), TFD_OWNER_GONE);
    q = p;
    accept_one(&q);
    assert_int_equal(find(&q, &uid), TFD_OWNER_USER);
    close(q.accepted);
    pair_close(&p);
}

/* ---- Remote -------------------------------------------------------------- */

/* The accepted socket is real; the address it is said to come from is not. */
static void test_an_address_of_another_host_is_remote(void **state)
{
    static const struct {
        const char *ip;
        enum tfd_tcp_owner owner;
    } cases[] = {
        {"198.51.100.7", TFD_OWNER_REMOTE},
        {"2001:db8::7", TFD_OWNER_REMOTE},
        {"::ffff:198.51.100.7", TFD_OWNER_REMOTE},
        {"127.0.0.1", TFD_OWNER_UNKNOWN}, /* no socket has this port */
        {"127.200.1.1", TFD_OWNER_UNKNOWN},
        {"::ffff:127.0.0.1", TFD_OWNER_UNKNOWN},
        {"::1", TFD_OWNER_UNKNOWN},
    };
    struct pair p;
    uint32_t uid;

    (void)state;
    assert_true(listen_at("127.0.0.1", &p.listener));
    p.client = connect_from(NULL, "127.0.0.1", p.listener);
    accept_one(&p);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)address_of(cases[i].ip, htons(1), &p.peer);
        if (find(&p, &uid) != cases[i].owner)
            fail_msg("%s", cases[i].ip);
    }
    pair_close(&p);
}

static void test_a_broken_socket_is_unknown(void **state)
{
    struct pair p = {.accepted = -1};
    uint32_t uid;

    (void)state;
    (void)address_of("127.0.0.1", htons(1), &p.peer);
    assert_int_equal(find(&p, &uid), TFD_OWNER_UNKNOWN);
}

/* ---- The kernel's tables as text ----------------------------------------- */

#define HEAD                                                              \
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when " \
    "retrnsmt   uid  timeout inode                                       \n"
#define TAIL " 1 0000000000000000 20 4 30 10 -1   \n"

static int table(const char *text)
{
    int fd = memfd_create("table", MFD_CLOEXEC);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static struct tfd_tcp_end end(const char *ip, uint16_t port)
{
    struct tfd_tcp_end e = {.family = (uint8_t)family_of(ip),
                            .port = htons(port)};

    assert_int_equal(inet_pton(e.family, ip, e.address), 1);
    return e;
}

static enum tfd_tcp_owner search(const char *tcp, const char *tcp6,
                                 const char *from, const char *to,
                                 uint32_t *uid)
{
    struct tfd_tcp_end local = end(from, 0x1234), remote = end(to, 0xabcd);
    int four = tcp ? table(tcp) : -1, six = tcp6 ? table(tcp6) : -1;
    enum tfd_tcp_owner found =
        tfd_tcp_owners_in_proc(four, six, &local, &remote, uid);

    if (four >= 0)
        close(four);
    if (six >= 0)
        close(six);
    return found;
}

#define FOUR(st, uid, inode)                                           \
    HEAD "   0: 0100007F:1234 0100007F:ABCE 01 00000000:00000000 "     \
         "00:00000000 00000000     1        0 7" TAIL                  \
         "   1: 0100007F:1234 0100007F:ABCD " st " 00000000:00000000 " \
         "00:00000000 00000000 " uid "        0 " inode TAIL

#define MAPPED                                                         \
    HEAD "   0: 0000000000000000FFFF00000100007F:1234 "                \
         "0000000000000000FFFF00000100007F:ABCD 01 00000000:00000000 " \
         "02:00000A1B 00000002 77        0 99" TAIL

#define SIX                                                            \
    HEAD "   0: 00000000000000000000000001000000:1234 "                \
         "00000000000000000000000001000000:ABCD 08 00000000:00000000 " \
         "00:00000000 00000000 78        0 99" TAIL

static void test_a_table_is_read(void **state)
{
    static const struct {
        const char *tcp, *tcp6, *ip;
        enum tfd_tcp_owner owner;
        uint32_t uid;
    } cases[] = {
        {FOUR("01", "1000", "5"), NULL, "127.0.0.1", TFD_OWNER_USER, 1000},
        {FOUR("08", "0", "5"), SIX, "127.0.0.1", TFD_OWNER_USER, 0},
        {FOUR("04", "4294967294", "5"), NULL, "127.0.0.1", TFD_OWNER_USER,
         UINT32_MAX - 1},
        {HEAD, MAPPED, "127.0.0.1", TFD_OWNER_USER, 77},
        {NULL, MAPPED, "127.0.0.1", TFD_OWNER_USER, 77},
        {HEAD, SIX, "::1", TFD_OWNER_USER, 78},
        /* Closed, in TIME_WAIT, a listener: nobody's. */
        {FOUR("01", "0", "0"), NULL, "127.0.0.1", TFD_OWNER_GONE, 0},
        {FOUR("06", "0", "0"), NULL, "127.0.0.1", TFD_OWNER_GONE, 0},
        {FOUR("06", "0", "5"), NULL, "127.0.0.1", TFD_OWNER_GONE, 0},
        {FOUR("0A", "0", "5"), NULL, "127.0.0.1", TFD_OWNER_GONE, 0},
        {FOUR("FF", "0", "5"), NULL, "127.0.0.1", TFD_OWNER_GONE, 0},
        {FOUR("", "", ""), NULL, "127.0.0.1", TFD_OWNER_UNKNOWN, 0},
        /* Not there. */
        {HEAD, HEAD, "127.0.0.1", TFD_OWNER_REMOTE, 0},
        {HEAD, SIX, "127.0.0.1", TFD_OWNER_REMOTE, 0},
        {FOUR("01", "1", "5"), HEAD, "127.0.0.2", TFD_OWNER_REMOTE, 0},
        {FOUR("01", "1", "5"), HEAD, "::1", TFD_OWNER_REMOTE, 0},
        {NULL, NULL, "127.0.0.1", TFD_OWNER_REMOTE, 0},
        {"no table", NULL, "127.0.0.1", TFD_OWNER_UNKNOWN, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t uid = 4711;
        enum tfd_tcp_owner owner =
            search(cases[i].tcp, cases[i].tcp6, cases[i].ip, cases[i].ip, &uid);

        if (owner != cases[i].owner ||
            (owner == TFD_OWNER_USER && uid != cases[i].uid))
            fail_msg("case %zu: %d, uid %u", i, (int)owner, uid);
    }
}

/* A line may lie across two reads, and a table beyond the limit is given up. */
static void test_a_long_table_is_read_to_its_end_or_given_up(void **state)
{
    static const char filler[] =
        "   0: 0100007F:1235 0100007F:ABCE 01 00000000:00000000 "
        "00:00000000 00000000     1        0 7" TAIL;
    struct tfd_tcp_end local = end("127.0.0.1", 0x1234);
    struct tfd_tcp_end remote = end("127.0.0.1", 0xabcd);
    uint32_t uid;

    (void)state;
    for (size_t lines = 90; lines < 200000; lines += lines < 300 ? 1 : 90000) {
        FILE *f = tmpfile();
        enum tfd_tcp_owner owner;

        for (size_t i = 0; i < lines; i++)
            fputs(filler, f);
        fputs(FOUR("01", "1000", "5"), f);
        rewind(f);
        owner = tfd_tcp_owners_in_proc(fileno(f), -1, &local, &remote, &uid);
        assert_int_equal(owner,
                         lines <= 300 ? TFD_OWNER_USER : TFD_OWNER_UNKNOWN);
        fclose(f);
    }
}

/* What the text says and what the kernel says is the same. */
static void test_the_real_table_has_our_connection(void **state)
{
    struct pair p;
    struct tfd_tcp_end local = {.family = AF_INET}, remote = local;
    struct sockaddr_in a;
    socklen_t size = sizeof(a);
    uint32_t uid = 4711;
    int tcp = open("/proc/self/net/tcp", O_RDONLY | O_CLOEXEC);

    (void)state;
    if (tcp < 0)
        skip();
    assert_true(listen_at("127.0.0.1", &p.listener));
    p.client = connect_from(NULL, "127.0.0.1", p.listener);
    accept_one(&p);
    getsockname(p.client, (struct sockaddr *)&a, &size);
    memcpy(local.address, &a.sin_addr, 4);
    local.port = a.sin_port;
    getpeername(p.client, (struct sockaddr *)&a, &size);
    memcpy(remote.address, &a.sin_addr, 4);
    remote.port = a.sin_port;
    assert_int_equal(tfd_tcp_owners_in_proc(tcp, -1, &local, &remote, &uid),
                     TFD_OWNER_USER);
    assert_int_equal(uid, geteuid());
    close(tcp);
    pair_close(&p);
}

static int forbid_netlink(void **state)
{
    (void)state;
    no_netlink = true;
    return access("/proc/self/net/tcp", R_OK);
}

static int permit_netlink(void **state)
{
    (void)state;
    no_netlink = false;
    return 0;
}

/* Where that is permitted: the machine's own table may be longer than is read,
 * by what other programs have just closed. */
static int own_network(void **state)
{
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int fd;

    (void)state;
    if (unshare(CLONE_NEWNET) != 0)
        return 0;
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) != 0)
        return -1;
    close(fd);
    return 0;
}

#define BY_TABLE(test)                                                    \
    {                                                                     \
#test " by the table", test, forbid_netlink, permit_netlink, NULL \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BY_TABLE(test_our_own_connections_are_ours),
        BY_TABLE(test_another_users_are_theirs),
        BY_TABLE(test_a_closed_socket_is_nobodys_not_roots),
        BY_TABLE(test_a_listener_is_not_taken_for_the_peer),
        BY_TABLE(test_a_successor_on_the_same_port_is_not_the_peer),
        BY_TABLE(test_an_address_of_another_host_is_remote),
        cmocka_unit_test(test_our_own_connections_are_ours),
        cmocka_unit_test(test_another_users_are_theirs),
        cmocka_unit_test(test_a_closed_socket_is_nobodys_not_roots),
        cmocka_unit_test(test_a_listener_is_not_taken_for_the_peer),
        cmocka_unit_test(test_a_successor_on_the_same_port_is_not_the_peer),
        cmocka_unit_test(test_an_address_of_another_host_is_remote),
        cmocka_unit_test(test_a_broken_socket_is_unknown),
        cmocka_unit_test(test_a_table_is_read),
        cmocka_unit_test(test_a_long_table_is_read_to_its_end_or_given_up),
        cmocka_unit_test(test_the_real_table_has_our_connection),
    };

    return cmocka_run_group_tests_name("tcp_owner", tests, own_network, NULL);
}
