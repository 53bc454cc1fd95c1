/*
 * test_admission_late.c - rpc/core/admission.c: who announces requests and does
 * not deliver is late, and small requests share the account of large ones.
 */
#include "tests/unit/rpc/admission_rig.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_does_not_deliver_is_told),
        cmocka_unit_test(test_small_requests_that_stop_are_late),
        cmocka_unit_test(test_small_requests_that_become_complete_are_not_late),
        cmocka_unit_test(test_complete_small_requests_start_nothing),
        cmocka_unit_test(test_small_and_large_requests_share_an_account),
        cmocka_unit_test(test_many_incomplete_small_requests_need_memory),
        cmocka_unit_test(test_who_waits_with_small_requests_may_leave),
        cmocka_unit_test(test_nobody_is_late_after_we_stood_still),
        cmocka_unit_test(test_who_waits_for_us_is_not_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
