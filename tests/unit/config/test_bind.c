/*
 * test_bind.c - config/bind.c with a name service and interfaces of its own:
 * the functions of the C library are replaced below, so that no test asks the
 * network and every host looks the same.
 */
#define _GNU_SOURCE 1 /* getifaddrs() */
#include "config/bind.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <ifaddrs.h>
#include <netdb.h>

#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- A host with eth0 10.0.0.3 and fd00::3 ------------------------------- */

static bool has_ipv6 = true;

static void set_address(struct sockaddr_storage *to, const char *text)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)to;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;

    memset(to, 0, sizeof(*to));
    to->ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
    if (inet_pton(to->ss_family, text,
                  to->ss_family == AF_INET ? (void *)&v4->sin_addr
                                           : (void *)&v6->sin6_addr) != 1)
        abort();
}

int getifaddrs(struct ifaddrs **out)
{
    static struct sockaddr_storage addresses[4];
    static struct ifaddrs rows[4];

    set_address(&addresses[0], "127.0.0.1");
    set_address(&addresses[1], "10.0.0.3");
    set_address(&addresses[2], "::1");
    set_address(&addresses[3], "fd00::3");
    for (size_t i = 0; i < 4; i++) {
        rows[i].ifa_addr = (struct sockaddr *)&addresses[i];
        rows[i].ifa_next = i < (has_ipv6 ? 3u : 1u) ? &rows[i + 1] : NULL;
    }
    *out = rows;
    return 0;
}

void freeifaddrs(struct ifaddrs *interfaces)
{
    (void)interfaces;
}

/* ---- A name service ------------------------------------------------------ */

static const struct {
    const char *name;
    const char *addresses[3];
    int error;
} names[] = {
    {"ps0", {"10.0.0.3"}, 0},     {"two-homed", {"192.0.2.9", "10.0.0.3"}, 0},
    {"six", {"fd00::3"}, 0},      {"elsewhere", {"192.0.2.9"}, 0},
    {"loop", {"127.0.1.1"}, 0},   {"loop-first", {"127.0.1.1", "10.0.0.3"}, 0},
    {"later", {NULL}, EAI_AGAIN},
};

int getaddrinfo(const char *name, const char *service,
                const struct addrinfo *hints, struct addrinfo **out)
{
    static struct sockaddr_storage addresses[3];
    static struct addrinfo rows[3];
    const char *literal[2] = {name, NULL};
    const char *const *found = NULL;
    unsigned char bytes[16];

    assert_null(service);
    assert_int_equal(hints->ai_socktype, SOCK_STREAM);
    if (inet_pton(AF_INET, name, bytes) == 1 ||
        inet_pton(AF_INET6, name, bytes) == 1)
        found = literal;
    for (size_t i = 0; i < COUNT(names) && !found; i++) {
        if (strcmp(names[i].name, name) != 0)
            continue;
        if (names[i].error)
            return names[i].error;
        found = names[i].addresses;
    }
    if (!found)
        return EAI_NONAME;
    *out = rows;
    for (size_t i = 0; found[i]; i++) {
        set_address(&addresses[i], found[i]);
        rows[i].ai_addr = (struct sockaddr *)&addresses[i];
        rows[i].ai_next = found[i + 1] ? &rows[i + 1] : NULL;
    }
    return 0;
}

void freeaddrinfo(struct addrinfo *found)
{
    (void)found;
}

/* ---- Tests --------------------------------------------------------------- */

static void test_addresses_of_this_host(void **state)
{
    static const struct {
        const char *bind;
        const char *own;
        const char *host;
        bool any;
        bool loopback;
    } cases[] = {
        {NULL, "", "127.0.0.1", false, true},
        {NULL, "localhost:2222", "127.0.0.1", false, true},
        {NULL, "127.0.0.1:2222", "127.0.0.1", false, true},
        {NULL, "127.0.0.7:2222", "127.0.0.7", false, true},
        {NULL, "[::1]:2222", "::1", false, true},
        {NULL, "ps0:2222", "10.0.0.3", false, false},
        {NULL, "10.0.0.3:2222", "10.0.0.3", false, false},
        {NULL, "two-homed:2222", "10.0.0.3", false, false},
        {NULL, "six:2222", "fd00::3", false, false},
        {NULL, "loop:2222", "127.0.1.1", false, true},
        {NULL, "loop-first:2222", "10.0.0.3", false, false},
        {NULL, "0.0.0.0:2222", "::", true, false},
        {NULL, "[::]:2222", "::", true, false},
        {"any", "elsewhere:2222", "::", true, false},
        {"localhost", "ps0:2222", "127.0.0.1", false, true},
        {"10.0.0.3", "elsewhere:2222", "10.0.0.3", false, false},
        {"ps0", "", "10.0.0.3", false, false},
        {"::", "", "::", true, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_bind b;
        struct tfd_status st = TFD_STATUS_INIT;

        if (tfd_bind_resolve(cases[i].bind, cases[i].own, 2222, &b, &st) !=
            TFD_OK)
            fail_msg("case %zu: %s", i, st.text);
        assert_string_equal(b.host, cases[i].host);
        assert_int_equal(b.any, cases[i].any);
        assert_int_equal(b.loopback, cases[i].loopback);
        assert_int_equal(b.port, 2222);
    }
}

static void test_other_addresses_are_refused_with_the_flag(void **state)
{
    static const struct {
        const char *bind;
        const char *own;
        enum tfd_code code;
        const char *value;
        const char *why;
    } cases[] = {
        {NULL, "elsewhere:2222", TFD_FAILED_PRECONDITION, "elsewhere",
         "192.0.2.9 is not an address of this host (10.0.0.3, fd00::3)"},
        {NULL, "elsewhere:2222", TFD_FAILED_PRECONDITION, "elsewhere",
         "a Service in front of a pod, --bind=0.0.0.0 or make"},
        {NULL, "192.0.2.1:2222", TFD_FAILED_PRECONDITION, "192.0.2.1", "not"},
        {NULL, "[fd00::4]:2222", TFD_FAILED_PRECONDITION, "fd00::4", "not"},
        {"192.0.2.1", "ps0:2222", TFD_FAILED_PRECONDITION, "192.0.2.1", "not"},
        {NULL, "nowhere:2222", TFD_UNAVAILABLE, "nowhere", "not resolve"},
        {NULL, "later:2222", TFD_UNAVAILABLE, "later", "not resolve"},
        {"eth0", "", TFD_UNAVAILABLE, "eth0", "not resolve"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_bind b;
        struct tfd_status st = TFD_STATUS_INIT;

        assert_int_equal(
            tfd_bind_resolve(cases[i].bind, cases[i].own, 2222, &b, &st),
            cases[i].code);
        assert_non_null(strstr(st.text, cases[i].value));
        assert_non_null(strstr(st.text, cases[i].why));
        assert_non_null(strstr(st.text, "--bind=ADDR"));
    }
}

static void test_own_name_that_means_loopback_is_marked(void **state)
{
    struct tfd_bind b;

    (void)state;
    assert_int_equal(tfd_bind_resolve(NULL, "loop:1", 0, &b, NULL), TFD_OK);
    assert_true(b.loopback_by_name);
    assert_int_equal(tfd_bind_resolve(NULL, "127.0.0.1:1", 0, &b, NULL),
                     TFD_OK);
    assert_false(b.loopback_by_name);
    assert_int_equal(tfd_bind_resolve(NULL, "ps0:1", 0, &b, NULL), TFD_OK);
    assert_false(b.loopback_by_name);
}

static void test_any_is_ipv4_where_there_is_no_ipv6(void **state)
{
    struct tfd_bind b;

    (void)state;
    has_ipv6 = false;
    assert_int_equal(tfd_bind_resolve("any", "", 0, &b, NULL), TFD_OK);
    has_ipv6 = true;
    assert_string_equal(b.host, "0.0.0.0");
}

static void test_files_are_open_to_the_own_user_only(void **state)
{
    struct tfd_allow own = {0}, any = {.any = true};
    struct tfd_allow same = {.uids = {0, geteuid()}, .count = 2};
    struct tfd_allow other = {.uids = {0, geteuid() + 1}, .count = 2};
    struct tfd_bind b;

    (void)state;
    assert_int_equal(tfd_bind_resolve(NULL, "", 0, &b, NULL), TFD_OK);
    assert_string_equal(tfd_bind_file_root(&b, &own), "/");
    assert_string_equal(tfd_bind_file_root(&b, &same), "/");
    assert_null(tfd_bind_file_root(&b, &any));
    assert_null(tfd_bind_file_root(&b, &other));
    assert_int_equal(tfd_bind_resolve("any", "", 0, &b, NULL), TFD_OK);
    assert_null(tfd_bind_file_root(&b, &own));
    assert_int_equal(tfd_bind_resolve(NULL, "ps0:1", 0, &b, NULL), TFD_OK);
    assert_null(tfd_bind_file_root(&b, &own));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_of_this_host),
        cmocka_unit_test(test_other_addresses_are_refused_with_the_flag),
        cmocka_unit_test(test_own_name_that_means_loopback_is_marked),
        cmocka_unit_test(test_any_is_ipv4_where_there_is_no_ipv6),
        cmocka_unit_test(test_files_are_open_to_the_own_user_only),
    };

    return cmocka_run_group_tests_name("bind", tests, NULL, NULL);
}
