/*
 * test_origin.c - rpc/conn/origin.c: who counts as one peer.
 */
#include "rpc/conn/origin.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct tfd_origin origin_of(const char *ip)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(4711)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6,
                               .sin6_port = htons(4711)};
    struct tfd_origin o;

    if (inet_pton(AF_INET, ip, &four.sin_addr) == 1) {
        tfd_origin_of_tcp(&o, (struct sockaddr *)&four);
        return o;
    }
    assert_int_equal(inet_pton(AF_INET6, ip, &six.sin6_addr), 1);
    tfd_origin_of_tcp(&o, (struct sockaddr *)&six);
    return o;
}

static const struct row {
    const char *ip, *address, *key;
    bool same_host;
} rows[] = {
    {"10.0.0.3", "10.0.0.3", "10.0.0.3", false},
    {"255.255.255.255", "255.255.255.255", "255.255.255.255", false},
    {"::ffff:10.0.0.3", "10.0.0.3", "10.0.0.3", false},
    {"2001:db8::1", "2001:db8::1", "2001:db8::/64", false},
    {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64",
     false},
    {"::2", "::2", "::/64", false},
    {"128.0.0.1", "128.0.0.1", "128.0.0.1", false},
    {"126.255.255.255", "126.255.255.255", "126.255.255.255", false},
    {"127.0.0.1", "127.0.0.1", "uid unknown", true},
    {"127.9.8.7", "127.9.8.7", "uid unknown", true},
    {"::ffff:127.0.0.1", "127.0.0.1", "uid unknown", true},
    {"::1", "::1", "uid unknown", true},
};

static void test_an_address_says_who_is_counted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct tfd_origin o = origin_of(rows[i].ip);

        assert_string_equal(o.address, rows[i].address);
        assert_string_equal(o.key, rows[i].key);
        assert_int_equal(o.same_host, rows[i].same_host);
        assert_int_equal(o.uid, TFD_UID_UNKNOWN);
    }
}

static void test_hosts_of_one_network_are_one_peer(void **state)
{
    struct tfd_origin a = origin_of("2001:db8::1:0:0:1");
    struct tfd_origin b = origin_of("2001:db8::ffff:ffff:ffff:ffff");
    struct tfd_origin c = origin_of("2001:db8:0:1::1");

    (void)state;
    assert_string_equal(a.key, b.key);
    assert_string_not_equal(a.key, c.key);
}

static void test_a_unix_socket_says_whose_it_is(void **state)
{
    struct tfd_origin o;
    char key[TFD_ORIGIN_KEY_MAX];
    int pair[2];

    (void)state;
    snprintf(key, sizeof(key), "uid %u", (unsigned)getuid());
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    tfd_origin_of_unix(&o, pair[0]);
    assert_true(o.same_host);
    assert_int_equal(o.uid, getuid());
    assert_string_equal(o.key, key);
    assert_string_equal(o.address, "unix");
    close(pair[0]);
    close(pair[1]);
}

static void test_what_is_no_unix_socket_has_no_user(void **state)
{
    struct tfd_origin o;

    (void)state;
    tfd_origin_of_unix(&o, -1);
    assert_true(o.same_host);
    assert_int_equal(o.uid, TFD_UID_UNKNOWN);
    assert_string_equal(o.key, "uid unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_address_says_who_is_counted),
        cmocka_unit_test(test_hosts_of_one_network_are_one_peer),
        cmocka_unit_test(test_a_unix_socket_says_whose_it_is),
        cmocka_unit_test(test_what_is_no_unix_socket_has_no_user),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
