/*
 * test_admission.c - which requests are read when memory is short; and links.c,
 * the numbers of connections.
 */
#include "tests/unit/rpc/admission_rig.h"

/* ---- Fitting --------------------------------------------------------------
 */

static void test_without_a_limit_all_fit(void **state)
{
    (void)state;
    rig_open(0);
    for (int i = 0; i < PLACES; i++)
        assert_true(ask(i, UINT64_C(1) << 40));
    rig_close();
}

static void test_three_quarters_are_for_requests_and_what_is_there(void **state)
{
    static const struct {
        uint64_t there, first, second;
        bool fits;
    } cases[] = {
        {0, 50 * MB, 25 * MB, true},       {0, 50 * MB, 25 * MB + 1, false},
        {73 * MB, 0, 2 * MB, true},        {73 * MB, 0, 2 * MB + 1, false},
        {74 * MB, MB, 1, false},           {0, 75 * MB, 1, false},
        {30 * MB, 30 * MB, 15 * MB, true}, {30 * MB, 30 * MB, 16 * MB, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_buffer *there = tfd_buffer_new(cases[i].there);

        rig_open(100 * MB);
        assert_true(ask(0, cases[i].first));
        assert_int_equal(ask(1, cases[i].second), cases[i].fits);
        assert_int_equal(rig.admission.waiting, !cases[i].fits);
        rig_close();
        tfd_buffer_unref(there);
    }
}

static void test_what_lies_in_buffers_counts_once(void **state)
{
    struct tfd_buffer *b;

    (void)state;
    rig_open(100 * MB);
    assert_true(ask(0, 40 * MB));
    b = tfd_buffer_new_empty(40 * MB);
    assert_int_equal(rig.admission.reserved, 40 * MB);
    assert_true(tfd_buffer_charge(b, 30 * MB));
    assert_true(came(0, 30 * MB));
    assert_int_equal(rig.admission.reserved, 10 * MB);
    assert_true(ask(1, 35 * MB));
    took(0);
    took(1);
    tfd_buffer_unref(b);
    assert_true(ask(1, 75 * MB));
    rig_close();
}

/* ---- Windows --------------------------------------------------------------
 */

static void test_what_is_announced_takes_no_room(void **state)
{
    (void)state;
    rig_open(100 * MB);
    for (int i = 0; i < PLACES - 1; i++)
        assert_true(announce(i, UINT64_C(2) << 30));
    assert_int_equal(rig.admission.reserved, (PLACES - 1) * TFD_ADMISSION_MIN);
    assert_true(ask(PLACES - 1, 60 * MB));
    rig_close();
}

static void test_a_window_grows_with_what_has_come(void **state)
{
    uint64_t have = 0;

    (void)state;
    rig_open(100 * MB);
    assert_true(announce(0, 50 * MB));
    for (int looks = 0; have < 50 * MB; looks++) {
        uint64_t window = rig.tickets[0].reserved;

        assert_true(looks < 8);
        assert_true(window <= have * TFD_ADMISSION_GROWTH || looks == 0);
        assert_true(came(0, window));
        have += window;
    }
    assert_int_equal(rig.admission.reserved, 0);
    rig_close();
}

/* Of one connection, however many messages are on their way. */
static void test_a_connection_has_one_window(void **state)
{
    (void)state;
    rig_open(100 * MB);
    for (int i = 0; i < 1000; i++)
        assert_true(announce(0, 10 * MB));
    assert_int_equal(rig.admission.reserved, TFD_ADMISSION_MIN);
    assert_true(came(0, TFD_ADMISSION_MIN));
    assert_int_equal(rig.admission.reserved,
                     TFD_ADMISSION_GROWTH * TFD_ADMISSION_MIN);
    rig_close();
}

static void test_a_window_that_is_not_used_is_taken_back(void **state)
{
    (void)state;
    rig_open(100 * MB);
    assert_true(ask(0, 75 * MB));
    assert_true(came(0, 2 * MB));
    assert_false(ask(1, 70 * MB));
    net_advance(&rig.net, 2100 * MS); /* it sends nothing more */
    assert_int_equal(rig.tickets[0].reserved, TFD_ADMISSION_MIN);
    assert_int_equal(rig.admitted, 1);
    rig_close();
}

/* ---- Waiting --------------------------------------------------------------
 */

static void test_who_waits_is_admitted_when_memory_is_freed(void **state)
{
    struct tfd_buffer *b = tfd_buffer_new(75 * MB);

    (void)state;
    rig_open(100 * MB);
    for (int i = 0; i < 4; i++)
        assert_false(ask(i, 25 * MB));
    assert_int_equal(rig.admission.waiting_size, 100 * MB);
    assert_int_equal(rig.admission.pauses, 4);
    net_advance(&rig.net, 400 * MS);
    assert_int_equal(rig.admitted, 0);
    tfd_buffer_unref(b);
    net_advance(&rig.net, 10 * MS);
    assert_int_equal(rig.admitted, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(rig.order[i], i);
    took(0); /* and freed at once */
    net_advance(&rig.net, 10 * MS);
    assert_int_equal(rig.admitted, 4);
    rig_close();
}

/* Requests that begin every two milliseconds do not put it off. */
static void test_who_waits_is_looked_at_although_others_begin(void **state)
{
    struct tfd_buffer *there = tfd_buffer_new(70 * MB);

    (void)state;
    rig_open(100 * MB);
    assert_false(ask(0, 10 * MB));
    tfd_buffer_unref(there);
    for (int i = 0; i < 10; i++) {
        net_advance(&rig.net, 2 * MS);
        assert_true(announce(1, MB / 8));
        took(1);
    }
    assert_int_equal(rig.admitted, 1);
    assert_int_equal(rig.order[0], 0);
    rig_close();
}

static void test_only_a_small_one_passes_a_large_one(void **state)
{
    (void)state;
    rig_open(100 * MB);
    assert_true(ask(0, 30 * MB));
    assert_false(ask(1, 60 * MB));
    assert_false(ask(2, 2 * MB));
    assert_true(ask(3, MB));
    took(0);
    net_advance(&rig.net, 10 * MS);
    assert_int_equal(rig.admitted, 2);
    assert_int_equal(rig.order[0], 1);
    rig_close();
}

/* Also one that had to wait because nothing at all fitted. */
static void test_a_small_one_passes_later(void **state)
{
    struct tfd_buffer *b = tfd_buffer_new(75 * MB);

    (void)state;
    rig_open(100 * MB);
    assert_false(ask(0, 60 * MB));
    assert_false(ask(1, MB));
    tfd_buffer_unref(b);
    b = tfd_buffer_new(40 * MB);
    net_advance(&rig.net, 10 * MS);
    assert_int_equal(rig.admitted, 1);
    assert_int_equal(rig.order[0], 1);
    tfd_buffer_unref(b);
    rig_close();
}

static void test_who_leaves_makes_room_in_the_line(void **state)
{
    (void)state;
    for (int gone = 1; gone < 4; gone++) {
        rig_open(100 * MB);
        assert_true(ask(0, 75 * MB));
        for (int i = 1; i < 4; i++)
            assert_false(ask(i, 30 * MB));
        tfd_admission_leave(&rig.admission, &rig.tickets[gone]);
        tfd_admission_leave(&rig.admission,
                            &rig.tickets[gone]); /* again: nothing */
        assert_int_equal(rig.admission.waiting, 2);
        assert_false(ask(5, 15 * MB)); /* behind the others */
        took(0);
        net_advance(&rig.net, 10 * MS);
        assert_int_equal(rig.admitted, 3);
        assert_int_equal(rig.order[2], 5);
        rig_close();
    }
}

/* ---- No deadlock ----------------------------------------------------------
 */

static void test_one_is_always_let_in_when_nothing_computes(void **state)
{
    struct tfd_buffer *b = tfd_buffer_new(80 * MB);

    (void)state;
    rig_open(100 * MB);
    rig.computing = false;
    net_advance(&rig.net, 20 * MS);
    assert_true(ask(0, 10 * MB));
    assert_false(ask(1, 5 * MB));
    assert_false(ask(2, 5 * MB));
    for (int i = 0; i < 40; i++) { /* the first is still being read */
        assert_true(came(0, 1));
        net_advance(&rig.net, 10 * MS);
    }
    assert_int_equal(rig.admitted, 0);
    took(0);
    net_advance(&rig.net, 20 * MS);
    assert_int_equal(rig.admitted, 1); /* it was long ago */
    took(1);
    net_advance(&rig.net, 5 * MS);
    assert_int_equal(rig.admitted, 1); /* only just now */
    net_advance(&rig.net, 20 * MS);
    assert_int_equal(rig.admitted, 2);
    rig_close();
    tfd_buffer_unref(b);
}

static void test_who_can_never_fit_is_let_in_late(void **state)
{
    (void)state;
    rig_open(100 * MB);
    rig.computing = false;
    assert_true(ask(0, MB));
    took(0);
    assert_false(ask(1, 200 * MB));
    net_advance(&rig.net, 9900 * MS);
    assert_int_equal(rig.admitted, 0);
    net_advance(&rig.net, 200 * MS);
    assert_int_equal(rig.admitted, 1);
    rig_close();
}

/* A step without end computes, and variables fill more than their share. */
static void test_endless_steps_and_large_variables_stop_nobody(void **state)
{
    struct tfd_buffer *b = tfd_buffer_new(80 * MB);

    (void)state;
    rig_open(100 * MB);
    net_advance(&rig.net, 500 * MS);
    assert_true(ask(0, 10 * MB)); /* nothing was let in for long */
    for (int i = 1; i < PLACES; i++) {
        took(i - 1);
        assert_false(ask(i, 10 * MB));
        net_advance(&rig.net, 300 * MS);
        assert_int_equal(rig.admitted, i - 1);
        net_advance(&rig.net, 220 * MS);
        assert_int_equal(rig.admitted, i);
    }
    rig_close();
    tfd_buffer_unref(b);
}

/* A caller that has sent much and sends nothing more. */
static void test_who_stalls_holds_up_nobody(void **state)
{
    (void)state;
    rig_open(100 * MB);
    assert_true(ask(0, 75 * MB));
    assert_false(ask(1, 20 * MB));
    net_advance(&rig.net, 510 * MS);
    assert_int_equal(rig.admitted, 1);
    rig_close();
}

/* ---- Links ----------------------------------------------------------------
 */

static void test_numbers_of_connections_are_not_used_twice(void **state)
{
    struct tfd_links l = {0};
    uint64_t seen[100];

    (void)state;
    for (int i = 0; i < 100; i++) {
        seen[i] = tfd_links_add(&l);
        assert_true(tfd_links_open(&l, seen[i]));
        for (int k = 0; k < i; k++)
            assert_true(seen[k] != seen[i]);
        if (i % 3)
            tfd_links_remove(&l, seen[i]);
    }
    for (int i = 0; i < 100; i++)
        assert_int_equal(tfd_links_open(&l, seen[i]), i % 3 == 0);
    tfd_links_deinit(&l);
}

static void test_holds_end_with_their_connection(void **state)
{
    struct tfd_links l = {0};
    uint64_t a = tfd_links_add(&l), b;

    (void)state;
    tfd_links_hold(&l, a);
    tfd_links_hold(&l, a);
    tfd_links_unhold(&l, a);
    assert_true(tfd_links_held(&l, a));
    tfd_links_remove(&l, a);
    b = tfd_links_add(&l);
    assert_false(tfd_links_held(&l, a));
    assert_false(tfd_links_held(&l, b));
    tfd_links_hold(&l, b);
    tfd_links_unhold(&l, a); /* of somebody who is gone */
    tfd_links_remove(&l, a);
    assert_true(tfd_links_held(&l, b));
    tfd_links_deinit(&l);
}

static void test_numbers_that_were_never_given_are_nobodys(void **state)
{
    static const uint64_t numbers[] = {0, 2, UINT64_MAX, UINT64_C(1) << 32,
                                       (UINT64_C(1) << 32) + 1};
    struct tfd_links l = {0};

    (void)state;
    (void)tfd_links_add(&l);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        assert_false(tfd_links_open(&l, numbers[i]));
        tfd_links_hold(&l, numbers[i]);
        assert_false(tfd_links_held(&l, numbers[i]));
        tfd_links_unhold(&l, numbers[i]);
        tfd_links_remove(&l, numbers[i]);
    }
    tfd_links_deinit(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_limit_all_fit),
        cmocka_unit_test(
            test_three_quarters_are_for_requests_and_what_is_there),
        cmocka_unit_test(test_what_lies_in_buffers_counts_once),
        cmocka_unit_test(test_who_waits_is_admitted_when_memory_is_freed),
        cmocka_unit_test(test_what_is_announced_takes_no_room),
        cmocka_unit_test(test_a_window_grows_with_what_has_come),
        cmocka_unit_test(test_a_connection_has_one_window),
        cmocka_unit_test(test_a_window_that_is_not_used_is_taken_back),
        cmocka_unit_test(test_who_waits_is_looked_at_although_others_begin),
        cmocka_unit_test(test_only_a_small_one_passes_a_large_one),
        cmocka_unit_test(test_a_small_one_passes_later),
        cmocka_unit_test(test_who_leaves_makes_room_in_the_line),
        cmocka_unit_test(test_one_is_always_let_in_when_nothing_computes),
        cmocka_unit_test(test_who_can_never_fit_is_let_in_late),
        cmocka_unit_test(test_endless_steps_and_large_variables_stop_nobody),
        cmocka_unit_test(test_who_stalls_holds_up_nobody),
        cmocka_unit_test(test_numbers_of_connections_are_not_used_twice),
        cmocka_unit_test(test_holds_end_with_their_connection),
        cmocka_unit_test(test_numbers_that_were_never_given_are_nobodys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
