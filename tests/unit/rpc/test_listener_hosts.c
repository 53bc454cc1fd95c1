/*
 * test_listener_hosts.c - rpc/conn/listener_hosts.c: which hosts are
 * remembered.
 */
#include "rpc/conn/listener_hosts.h"

#include "config/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static struct tfd_listener_hosts hosts;

static struct tfd_listener_host *enter(int number)
{
    struct tfd_origin from = {.uid = TFD_UID_UNKNOWN};
    struct tfd_listener_host *h;

    snprintf(from.key, sizeof(from.key), "host %d", number);
    h = tfd_listener_hosts_enter(&hosts, &from);
    assert_non_null(h);
    assert_string_equal(h->key, from.key);
    return h;
}

static void leave(struct tfd_listener_host *h)
{
    tfd_listener_hosts_leave(&hosts, h);
}

static void refuse(int number)
{
    struct tfd_listener_host *h = enter(number);

    h->told_us = 1000 + (uint64_t)number;
    leave(h);
}

static bool is_remembered(int number)
{
    struct tfd_listener_host *h = enter(number);
    bool is = h->told_us == 1000 + (uint64_t)number;

    h->told_us = 0; /* and forgotten by this */
    leave(h);
    return is;
}

static void test_connections_of_a_host_are_counted(void **state)
{
    struct tfd_listener_host *a = enter(1), *b = enter(2);

    (void)state;
    assert_ptr_not_equal(a, b);
    assert_ptr_equal(enter(1), a);
    assert_int_equal(a->connections, 2);
    assert_int_equal(b->connections, 1);
    leave(a);
    assert_int_equal(a->connections, 1);
    leave(a);
    leave(b);
    assert_int_equal(hosts.by_key.count, 0);
    tfd_listener_hosts_deinit(&hosts);
}

static void test_a_host_that_was_never_refused_is_forgotten(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        leave(enter(i));
    assert_int_equal(hosts.by_key.count, 0);
    assert_int_equal(hosts.remembered, 0);
    assert_false(is_remembered(3));
    tfd_listener_hosts_deinit(&hosts);
}

/* Whatever it was that it was told. */
static void test_a_refused_host_is_remembered(void **state)
{
    (void)state;
    for (int what = 0; what < 3; what++) {
        struct tfd_listener_host *h = enter(7);

        h->told_us = what == 0 ? 11 : 0;
        h->told_displaced_us = what == 1 ? 12 : 0;
        h->full_until_us = what == 2 ? 13 : 0;
        leave(h);
        assert_int_equal(hosts.remembered, 1);
        assert_ptr_equal(enter(7), h);
        assert_int_equal(hosts.remembered, 0); /* it is held now */
        assert_int_equal(h->told_us + h->told_displaced_us + h->full_until_us,
                         11 + what);
        h->told_us = h->told_displaced_us = h->full_until_us = 0;
        leave(h);
    }
    tfd_listener_hosts_deinit(&hosts);
}

static void test_the_one_refused_longest_ago_is_forgotten(void **state)
{
    const int most = TFD_REFUSED_HOSTS_MAX;

    (void)state;
    for (int i = 0; i < most; i++)
        refuse(i);
    refuse(0); /* again: it is the newest now */
    for (int i = most; i < most + 5; i++)
        refuse(i);
    assert_int_equal(hosts.remembered, most);
    assert_int_equal(hosts.by_key.count, most);
    for (int i = 1; i <= 5; i++)
        assert_false(is_remembered(i));
    for (int i = 6; i < most + 5; i++)
        assert_true(is_remembered(i));
    assert_true(is_remembered(0));
    assert_int_equal(hosts.remembered, 0);
    tfd_listener_hosts_deinit(&hosts);
}

/* However many have connections, they do not count as remembered. */
static void test_hosts_with_connections_are_not_forgotten(void **state)
{
    enum { HELD = 50 };
    struct tfd_listener_host *held[HELD];

    (void)state;
    for (int i = 0; i < HELD; i++) {
        held[i] = enter(i);
        held[i]->told_us = 1000 + (uint64_t)i;
    }
    for (int i = HELD; i < HELD + 3 * TFD_REFUSED_HOSTS_MAX; i++)
        refuse(i);
    assert_int_equal(hosts.by_key.count, HELD + TFD_REFUSED_HOSTS_MAX);
    for (int i = 0; i < HELD; i++) {
        assert_int_equal(held[i]->connections, 1);
        assert_ptr_equal(enter(i), held[i]);
        leave(held[i]);
        leave(held[i]);
        assert_true(is_remembered(i));
    }
    tfd_listener_hosts_deinit(&hosts);
    assert_int_equal(hosts.remembered, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connections_of_a_host_are_counted),
        cmocka_unit_test(test_a_host_that_was_never_refused_is_forgotten),
        cmocka_unit_test(test_a_refused_host_is_remembered),
        cmocka_unit_test(test_the_one_refused_longest_ago_is_forgotten),
        cmocka_unit_test(test_hosts_with_connections_are_not_forgotten),
    };

    return cmocka_run_group_tests_name("listener_hosts", tests, NULL, NULL);
}
