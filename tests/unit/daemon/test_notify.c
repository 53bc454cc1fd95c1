/*
 * test_notify.c - daemon/notify.c against a socket of the test's own.
 */
#define _GNU_SOURCE 1 /* mkdtemp() */
#include "daemon/notify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Plays systemd: a datagram socket, abstract where the name starts with @. */
static int listen_on(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    size_t size = strlen(path);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    assert_true(fd >= 0);
    memcpy(a.sun_path, path, size);
    if (path[0] == '@')
        a.sun_path[0] = '\0';
    assert_int_equal(
        bind(fd, (struct sockaddr *)&a,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size)),
        0);
    return fd;
}

static void assert_receives(int fd, const char *expected)
{
    char text[1024];
    ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

    assert_true(n >= 0);
    text[n] = '\0';
    assert_string_equal(text, expected);
}

static void check_life(const char *path)
{
    struct tfd_notify n;
    int fd = listen_on(path);

    tfd_notify_open(&n, path);
    tfd_notify_ready(&n, "%s %d: listening", "ps", 0);
    assert_receives(fd, "READY=1\nSTATUS=ps 0: listening");
    tfd_notify_status(&n, "4 peers");
    assert_receives(fd, "STATUS=4 peers");
    tfd_notify_stopping(&n, "draining");
    assert_receives(fd, "STOPPING=1\nSTATUS=draining");
    tfd_notify_close(&n);
    close(fd);
}

static void test_abstract_socket_hears_a_life(void **state)
{
    char path[64];

    (void)state;
    snprintf(path, sizeof(path), "@tfd-test-%d", (int)getpid());
    check_life(path);
}

static void test_socket_in_the_file_system_hears_a_life(void **state)
{
    char dir[] = "/tmp/tfd_test_XXXXXX";
    char path[64];

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/notify", dir);
    check_life(path);
    unlink(path);
    rmdir(dir);
}

static void test_status_cannot_add_keys(void **state)
{
    char path[64];
    struct tfd_notify n;
    int fd;

    (void)state;
    snprintf(path, sizeof(path), "@tfd-test-keys-%d", (int)getpid());
    fd = listen_on(path);
    tfd_notify_open(&n, path);
    tfd_notify_status(&n, "%s", "x\nMAINPID=1\r\n");
    assert_receives(fd, "STATUS=x MAINPID=1  ");
    tfd_notify_close(&n);
    close(fd);
}

static void test_long_status_is_cut(void **state)
{
    char path[64];
    char text[2000];
    struct tfd_notify n;
    int fd;

    (void)state;
    snprintf(path, sizeof(path), "@tfd-test-long-%d", (int)getpid());
    fd = listen_on(path);
    tfd_notify_open(&n, path);
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    tfd_notify_status(&n, "%s", text);
    assert_int_equal(recv(fd, text, sizeof(text), MSG_DONTWAIT), 511);
    tfd_notify_close(&n);
    close(fd);
}

/* A supervisor that stopped reading must not stop us. */
static void test_full_and_vanished_sockets_do_not_block(void **state)
{
    char path[64];
    struct tfd_notify n;
    int fd;

    (void)state;
    snprintf(path, sizeof(path), "@tfd-test-full-%d", (int)getpid());
    fd = listen_on(path);
    tfd_notify_open(&n, path);
    for (int i = 0; i < 10000; i++)
        tfd_notify_status(&n, "line %d", i);
    close(fd);
    tfd_notify_status(&n, "nobody is there");
    tfd_notify_close(&n);
    tfd_notify_status(&n, "closed");
}

static void test_other_values_mean_nobody(void **state)
{
    static const char *const paths[] = {
        NULL,
        "",
        "@",
        "/",
        "relative",
        "vsock:2:1234",
        "/a-name-that-is-longer-than-the-hundred-and-eight-bytes-which-a-"
        "socket-address-holds-on-this-system-or-any-other/notify",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct tfd_notify n;

        tfd_notify_open(&n, paths[i]);
        assert_int_equal(n.fd, -1);
        tfd_notify_ready(&n, "nobody hears this");
        tfd_notify_close(&n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_abstract_socket_hears_a_life),
        cmocka_unit_test(test_socket_in_the_file_system_hears_a_life),
        cmocka_unit_test(test_status_cannot_add_keys),
        cmocka_unit_test(test_long_status_is_cut),
        cmocka_unit_test(test_full_and_vanished_sockets_do_not_block),
        cmocka_unit_test(test_other_values_mean_nobody),
    };

    return cmocka_run_group_tests_name("notify", tests, NULL, NULL);
}
