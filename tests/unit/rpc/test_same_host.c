/*
 * test_same_host.c - rpc/conn/same_host.c: who is found by which address, and
 * who is not believed.
 */
#define _GNU_SOURCE 1

#include "config/allow.h"
#include "rpc/conn/conn_dial.h"
#include "rpc/conn/same_host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Ports that nobody listens on by TCP: names alone are tested, and each process
 * that runs the test has its own. */
static uint16_t port(int i)
{
    return (uint16_t)(1024 + ((unsigned)getpid() * 7 + (unsigned)i) % 60000);
}

static struct sockaddr_storage address(const char *ip, uint16_t number)
{
    struct sockaddr_storage a = {0};
    struct sockaddr_in *four = (struct sockaddr_in *)&a;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&a;

    if (inet_pton(AF_INET, ip, &four->sin_addr) == 1) {
        a.ss_family = AF_INET;
        four->sin_port = htons(number);
    } else {
        assert_int_equal(inet_pton(AF_INET6, ip, &six->sin6_addr), 1);
        a.ss_family = AF_INET6;
        six->sin6_port = htons(number);
    }
    return a;
}

static int listen_at(const char *ip, uint16_t number)
{
    struct sockaddr_storage a = address(ip, number);

    return tfd_same_host_listen((struct sockaddr *)&a, 8);
}

static struct tfd_allow allowed;

static int connect_to(const char *ip, uint16_t number)
{
    struct sockaddr_storage a = address(ip, number);

    return tfd_same_host_connect((struct sockaddr *)&a, &allowed);
}

struct row {
    const char *bound, *dialled;
    int bound_port, dialled_port;
    bool found;
};

static const struct row rows[] = {
    {"127.0.0.1", "127.0.0.1", 0, 0, true},
    {"10.1.2.3", "10.1.2.3", 0, 0, true},
    {"::1", "::1", 0, 0, true},
    {"0.0.0.0", "127.0.0.1", 0, 0, true},
    {"0.0.0.0", "127.9.9.9", 0, 0, true},
    {"::", "127.0.0.1", 0, 0, true},
    {"::", "::1", 0, 0, true},
    {"127.0.0.1", "127.0.0.1", 0, 1, false},
    {"127.0.0.1", "127.0.0.2", 0, 0, false},
    {"127.0.0.1", "::1", 0, 0, false},
    {"10.1.2.3", "127.0.0.1", 0, 0, false},
    {"10.1.2.3", "10.1.2.4", 0, 0, false},
    {"0.0.0.0", "127.0.0.1", 0, 1, false},
    /* Another host may have this address. */
    {"0.0.0.0", "10.1.2.3", 0, 0, false},
    {"::", "fe80::1", 0, 0, false},
};

static void test_a_listener_is_found_by_its_address(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *r = &rows[i];
        int l = listen_at(r->bound, port(r->bound_port));
        int fd = connect_to(r->dialled, port(r->dialled_port));

        assert_true(l >= 0);
        if ((fd >= 0) != r->found)
            print_message("row %zu: %s from %s\n", i, r->bound, r->dialled);
        assert_int_equal(fd >= 0, r->found);
        if (fd >= 0)
            close(fd);
        close(l);
    }
}

static void test_nobody_is_found_when_the_listener_has_gone(void **state)
{
    int l = listen_at("127.0.0.1", port(0));

    (void)state;
    assert_true(l >= 0);
    assert_int_equal(listen_at("127.0.0.1", port(0)), -1); /* it is taken */
    close(l);
    assert_int_equal(connect_to("127.0.0.1", port(0)), -1);
}

static void test_bytes_go_both_ways(void **state)
{
    int l = listen_at("127.0.0.1", port(0));
    int one = connect_to("127.0.0.1", port(0));
    int other = accept(l, NULL, NULL);
    char text[TFD_PEER_TEXT_MAX], expected[TFD_PEER_TEXT_MAX], c = 0;

    (void)state;
    assert_true(one >= 0 && other >= 0);
    assert_int_equal(write(one, "a", 1), 1);
    assert_int_equal(read(other, &c, 1), 1);
    assert_int_equal(c, 'a');
    assert_int_equal(write(other, "b", 1), 1);
    assert_int_equal(read(one, &c, 1), 1);
    assert_int_equal(c, 'b');
    tfd_same_host_peer_text(other, text);
    snprintf(expected, sizeof(expected), "unix:%ld", (long)getpid());
    assert_string_equal(text, expected);
    close(one);
    assert_int_equal(read(other, &c, 1), 0);
    close(other);
    close(l);
}

/* A listener of another user: whoever dials as root does not believe it. */
static int listen_as_nobody(uint16_t number, pid_t *child)
{
    int ready[2];
    char c;

    assert_int_equal(pipe(ready), 0);
    *child = fork();
    if (*child == 0) {
        close(ready[0]);
        if (setuid(65534) != 0 || listen_at("127.0.0.1", number) < 0 ||
            write(ready[1], "r", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    close(ready[1]);
    c = 0;
    (void)!read(ready[0], &c, 1);
    close(ready[0]);
    return c == 'r';
}

static void test_a_listener_of_another_user_is_not_believed(void **state)
{
    pid_t child;
    int fd;

    (void)state;
    if (geteuid() != 0) {
        print_message("only root can be another user\n");
        skip();
    }
    assert_true(listen_as_nobody(port(0), &child));
    assert_int_equal(connect_to("127.0.0.1", port(0)), -1);
    allowed.any = true; /* who may use us need not be believed */
    assert_int_equal(connect_to("127.0.0.1", port(0)), -1);
    allowed = (struct tfd_allow){.uids = {65534}, .count = 1};
    fd = connect_to("127.0.0.1", port(0));
    allowed = (struct tfd_allow){0};
    assert_true(fd >= 0);
    close(fd);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_listener_is_found_by_its_address),
        cmocka_unit_test(test_nobody_is_found_when_the_listener_has_gone),
        cmocka_unit_test(test_bytes_go_both_ways),
        cmocka_unit_test(test_a_listener_of_another_user_is_not_believed),
    };

    return cmocka_run_group_tests_name("same_host", tests, NULL, NULL);
}
