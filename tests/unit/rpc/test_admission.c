/*
 * test_admission.c - which requests are read when memory is short; and links.c,
 * the numbers of connections.
 */
#include "rpc/core/admission.h"

#include "common/base/alloc.h"
#include "rpc/core/links.h"

#include "tests/support/fake_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MB (UINT64_C(1) << 20)
#define MS UINT64_C(1000)
#define PLACES 8

static struct {
    struct tfd_loop net;
    struct tfd_admission admission;
    struct tfd_admission_ticket tickets[PLACES];
    int order[PLACES]; /* of admission */
    int admitted;
    unsigned late; /* bits by place */
    bool computing;
} rig;

static void admitted(struct tfd_admission_ticket *t)
{
    assert_true(rig.admitted < PLACES);
    assert_false(t->waiting);
    rig.order[rig.admitted++] = (int)(t - rig.tickets);
}

static bool computing(void *ctx)
{
    (void)ctx;
    return rig.computing;
}

static void rig_open(uint64_t limit)
{
    memset(&rig, 0, sizeof(rig));
    net_open(&rig.net);
    tfd_admission_init(&rig.admission, &rig.net);
    tfd_admission_limit(&rig.admission, limit, computing, NULL);
    for (int i = 0; i < PLACES; i++)
        rig.tickets[i].admitted = admitted;
    rig.computing = true;
    net_advance(&rig.net, 60 * 1000 * MS);
    rig.admission.admitted_us = rig.net.now_us; /* just now */
}

static void rig_close(void)
{
    for (int i = 0; i < PLACES; i++)
        tfd_admission_leave(&rig.admission, &rig.tickets[i]);
    assert_int_equal(rig.admission.waiting, 0);
    assert_int_equal(rig.admission.waiting_size, 0);
    tfd_admission_deinit(&rig.admission);
    net_close(&rig.net);
}

static bool announce(int i, uint64_t size)
{
    return tfd_admission_announce(&rig.admission, &rig.tickets[i], size);
}

static bool came(int i, uint64_t size)
{
    return tfd_admission_came(&rig.admission, &rig.tickets[i], size);
}

/* Sixteen times as much has come as is asked for now, in no time. */
static bool ask(int i, uint64_t size)
{
    rig.tickets[i].come = size;
    return announce(i, size);
}

/* All of it lies in buffers now, or never will. */
static void took(int i)
{
    struct tfd_admission_ticket *t = &rig.tickets[i];

    tfd_admission_forget(&rig.admission, t, t->come, t->owed);
}

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

/* ---- Who is late ----------------------------------------------------------
 */

static void late(struct tfd_admission_ticket *t)
{
    rig.late |= 1u << (t - rig.tickets);
    tfd_admission_leave(&rig.admission, t);
}

static void test_who_does_not_deliver_is_told(void **state)
{
    static const uint64_t a_second[] = {0, 1, 1000, 1100, 7 * 1024, MB};

    (void)state;
    rig_open(100 * MB);
    for (int i = 0; i < 6; i++) {
        rig.tickets[i].late = late;
        assert_true(announce(i, UINT64_C(2) << 30));
    }
    rig.tickets[6].late = late; /* we do not read it */
    rig.tickets[6].excused = true;
    assert_true(announce(6, UINT64_C(2) << 30));
    for (int second = 0; second < 100; second++) {
        for (int i = 0; i < 6; i++)
            if (rig.tickets[i].owed > 0 && !rig.tickets[i].waiting)
                (void)came(i, a_second[i]);
        net_advance(&rig.net, 1000 * MS);
        assert_true(second > 25 || rig.late == 0);
    }
    assert_int_equal(rig.late, 7); /* 1 KiB/s is enough */
    assert_int_equal(rig.admission.late, 3);
    rig_close();
}

/* ---- Small requests -------------------------------------------------------
 */

/* What an owner says after a read: so many small requests are incomplete, of
 * which so much has come, and so much came of such requests in this read. */
static bool small(int i, uint32_t incomplete, uint64_t size, uint64_t came_now)
{
    struct tfd_admission_ticket *t = &rig.tickets[i];

    t->incomplete = incomplete;
    t->small_size = size;
    t->small_came = came_now;
    return tfd_admission_small(&rig.admission, t);
}

static void test_small_requests_that_stop_are_late(void **state)
{
    static const struct {
        uint32_t incomplete;
        uint64_t a_second; /* of them */
        bool late;
    } cases[] = {{1, 0, true},       {1, 1, true},         {4096, 0, true},
                 {4096, 1000, true}, {4096, 1100, false},  {1, 1100, false},
                 {0, 0, false},      {0, 7 * 1024, false}, {2, 65536, false}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rig_open(100 * MB);
        rig.tickets[0].late = late;
        for (int second = 0; second < 100 && !rig.late; second++) {
            assert_true(small(0, cases[i].incomplete, 1000, cases[i].a_second));
            net_advance(&rig.net, 1000 * MS);
            assert_true(second > 25 || rig.late == 0);
        }
        assert_int_equal(rig.late, cases[i].late);
        assert_int_equal(rig.admission.late, cases[i].late);
        assert_false(rig.late && rig.tickets[0].active);
        rig_close();
    }
}

/* Whose requests were complete in between begins anew. */
static void test_small_requests_that_become_complete_are_not_late(void **state)
{
    (void)state;
    rig_open(100 * MB);
    rig.tickets[0].late = late;
    for (int second = 0; second < 100; second++) {
        assert_true(small(0, second % 20 != 0, 10, 0));
        net_advance(&rig.net, 1000 * MS);
    }
    assert_int_equal(rig.late, 0);
    rig_close();
}

/* One that is complete when the read is over costs nothing at all. */
static void test_complete_small_requests_start_nothing(void **state)
{
    (void)state;
    rig_open(100 * MB);
    for (int i = 0; i < 100; i++) {
        assert_true(small(0, 0, 0, 1000));
        assert_false(rig.tickets[0].active);
        assert_int_equal(rig.net.timer_count, 0);
    }
    assert_true(small(0, 1, 10, 10));
    assert_true(rig.tickets[0].active);
    assert_int_equal(rig.net.timer_count, 1);
    assert_true(small(0, 0, 0, 10));
    assert_false(rig.tickets[0].active);
    assert_int_equal(rig.net.timer_count, 0);
    rig_close();
}

/* A large one that is complete does not end the account of small ones, nor the
 * other way round. */
static void test_small_and_large_requests_share_an_account(void **state)
{
    (void)state;
    rig_open(100 * MB);
    assert_true(announce(0, MB));
    assert_true(small(0, 2, 10, 10));
    assert_true(came(0, TFD_ADMISSION_MIN));
    took(0);
    assert_int_equal(rig.admission.reserved, 0);
    assert_true(rig.tickets[0].active);
    assert_true(announce(0, MB));
    assert_true(small(0, 1, 0, 0));
    assert_true(rig.tickets[0].active);
    took(0);
    assert_true(small(0, 0, 0, 0));
    assert_false(rig.tickets[0].active);
    rig_close();
}

/* Up to a megabyte of incomplete ones is read whatever there is; beyond it the
 * connection waits like one with a large request. */
static void test_many_incomplete_small_requests_need_memory(void **state)
{
    struct tfd_buffer *b = tfd_buffer_new(90 * MB);

    (void)state;
    rig_open(100 * MB);
    rig.tickets[0].late = late;
    assert_true(small(0, 4000, MB, MB));
    assert_int_equal(rig.admission.reserved, 0);
    assert_false(small(0, 4000, MB + 1, 1));
    assert_false(small(0, 4000, MB + 1, 0)); /* still */
    assert_int_equal(rig.admission.waiting, 1);
    assert_true(small(1, 100, 1000, 1000)); /* others are read */
    tfd_buffer_unref(b);
    net_advance(&rig.net, 10 * MS);
    assert_int_equal(rig.admitted, 1);
    assert_int_equal(rig.admission.reserved, TFD_ADMISSION_MIN);
    assert_true(small(0, 4000, MB + TFD_ADMISSION_MIN, TFD_ADMISSION_MIN));
    assert_int_equal(rig.admission.reserved, TFD_ADMISSION_MIN); /* the next */
    assert_true(small(0, 0, 0, 0));
    assert_int_equal(rig.admission.reserved, 0);
    assert_true(small(1, 0, 0, 0));
    rig_close();
}

static void test_who_waits_with_small_requests_may_leave(void **state)
{
    struct tfd_buffer *b = tfd_buffer_new(90 * MB);

    (void)state;
    rig_open(100 * MB);
    assert_false(small(0, 4000, 2 * MB, MB));
    assert_false(small(1, 4000, 2 * MB, MB));
    assert_true(small(1, 0, 0, 0)); /* a deadline ended them */
    assert_int_equal(rig.admission.waiting, 1);
    tfd_admission_leave(&rig.admission, &rig.tickets[0]);
    assert_int_equal(rig.admission.waiting, 0);
    rig_close();
    tfd_buffer_unref(b);
}

/* The clock goes on while a process is stopped; its timers come first then. */
static void test_nobody_is_late_after_we_stood_still(void **state)
{
    (void)state;
    rig_open(100 * MB);
    rig.tickets[0].late = late;
    assert_true(announce(0, 50 * MB));
    net_advance(&rig.net, 1000 * MS);
    rig.net.now_us += 2 * TFD_DELIVERY_MS * MS;
    net_advance(&rig.net, 1);
    assert_int_equal(rig.late, 0);
    for (int i = 0; i < 40 && !rig.late; i++)
        net_advance(&rig.net, 1000 * MS);
    assert_int_equal(rig.late, 1); /* later, it is */
    rig_close();
}

static void test_who_waits_for_us_is_not_late(void **state)
{
    struct tfd_buffer *b = tfd_buffer_new(100 * MB);

    (void)state;
    rig_open(100 * MB);
    rig.tickets[0].late = late;
    assert_false(announce(0, 10 * MB));
    net_advance(&rig.net, 9000 * MS);
    assert_int_equal(rig.late, 0);
    rig_close();
    tfd_buffer_unref(b);
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
        cmocka_unit_test(test_who_does_not_deliver_is_told),
        cmocka_unit_test(test_small_requests_that_stop_are_late),
        cmocka_unit_test(test_small_requests_that_become_complete_are_not_late),
        cmocka_unit_test(test_complete_small_requests_start_nothing),
        cmocka_unit_test(test_small_and_large_requests_share_an_account),
        cmocka_unit_test(test_many_incomplete_small_requests_need_memory),
        cmocka_unit_test(test_who_waits_with_small_requests_may_leave),
        cmocka_unit_test(test_nobody_is_late_after_we_stood_still),
        cmocka_unit_test(test_who_waits_for_us_is_not_late),
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
