/*
 * test_rendezvous.c - daemon/worker/exchange/rendezvous.c and
 * rendezvous_table.c, and what they count by: common/base/id_map.c and
 * request_ids.c.
 */
#include "daemon/worker/exchange/rendezvous.h"

#include "common/base/alloc.h"
#include "common/base/id_map.h"
#include "rpc/core/request_ids.h"
#include "config/limits.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct tfd_loop *loop;
static struct tfd_rendezvous_table *table;

static int setup(void **state)
{
    (void)state;
    loop = tfd_loop_new(NULL);
    table = tfd_rendezvous_table_new(loop, NULL);
    return loop && table ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    tfd_rendezvous_table_free(table);
    tfd_loop_free(loop);
    tfd_alloc_trim();
    return 0;
}

struct waiter {
    struct tfd_waiter waiter;
    int count;
    bool dead;
    float value;
    struct tfd_status st;
};

static void arrived(struct tfd_waiter *w, struct tfd_tensor *take_value,
                    const struct tfd_status *st)
{
    struct waiter *x = (struct waiter *)w;

    if (st)
        x->st = *st;
    else if (take_value->dtype == TFD_DTYPE_INVALID)
        x->dead = true;
    else
        x->value = *(const float *)tfd_tensor_data(take_value);
    tfd_tensor_unref(take_value);
    __atomic_add_fetch(&x->count, 1, __ATOMIC_RELEASE);
}

static struct waiter waiter_of(void)
{
    return (struct waiter){.waiter.arrived = arrived};
}

static struct tfd_tensor scalar(float v)
{
    const struct tfd_shape s = {0, {0}};
    struct tfd_tensor t;

    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, &s, NULL), TFD_OK);
    *(float *)tfd_tensor_data(&t) = v;
    return t;
}

static void send(struct tfd_rendezvous *r, uint64_t key, float v)
{
    struct tfd_tensor t = scalar(v);

    assert_int_equal(tfd_rendezvous_send(r, key, &t, NULL), TFD_OK);
    assert_null(t.buffer);
}

static struct tfd_rendezvous *begin(int64_t step)
{
    struct tfd_rendezvous *r = NULL;

    assert_int_equal(tfd_rendezvous_begin(table, step, 4, &r, NULL), TFD_OK);
    return r;
}

static void test_either_side_may_come_first(void **state)
{
    struct tfd_rendezvous *r = begin(1);
    struct waiter a = waiter_of(), b = waiter_of();

    (void)state;
    send(r, 10, 1);
    tfd_rendezvous_recv(r, 10, &a.waiter);
    assert_true(a.count == 1 && a.value == 1);
    tfd_rendezvous_recv(r, 11, &b.waiter);
    assert_int_equal(b.count, 0);
    send(r, 11, 2);
    assert_true(b.count == 1 && b.value == 2);
    tfd_rendezvous_end(table, r);
    assert_int_equal(tfd_rendezvous_stats(table).count, 0);
}

static void test_a_dead_value_has_no_tensor(void **state)
{
    struct tfd_rendezvous *r = begin(1);
    struct tfd_tensor none = TFD_TENSOR_INIT;
    struct waiter a = waiter_of();

    (void)state;
    assert_int_equal(tfd_rendezvous_send(r, 5, &none, NULL), TFD_OK);
    tfd_rendezvous_recv(r, 5, &a.waiter);
    assert_true(a.count == 1 && a.dead);
    tfd_rendezvous_end(table, r);
}

static void test_several_on_one_key_queue_up(void **state)
{
    struct tfd_rendezvous *r = begin(1);
    struct waiter w[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        send(r, 7, (float)i);
    for (int i = 0; i < 4; i++) {
        w[i] = waiter_of();
        tfd_rendezvous_recv(r, 7, &w[i].waiter);
        assert_true(w[i].count == 1 && w[i].value == (float)i);
    }
    for (int i = 0; i < 4; i++) {
        w[i] = waiter_of();
        tfd_rendezvous_recv(r, 7, &w[i].waiter);
    }
    assert_true(tfd_rendezvous_forget(r, 7, &w[3].waiter));
    assert_true(tfd_rendezvous_forget(r, 7, &w[1].waiter));
    assert_false(tfd_rendezvous_forget(r, 7, &w[1].waiter));
    assert_false(tfd_rendezvous_forget(r, 8, &w[0].waiter));
    send(r, 7, 10);
    send(r, 7, 12);
    assert_true(w[0].value == 10 && w[2].value == 12);
    assert_true(w[1].count == 0 && w[3].count == 0);
    tfd_rendezvous_end(table, r);
}

/* As many keys as a loop has iterations, in a table that began small. */
static void test_many_keys_come_and_go(void **state)
{
    struct tfd_rendezvous *r = begin(1);

    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        struct waiter w = waiter_of();
        uint64_t key = tfd_rendezvous_key(99, 3, i);

        send(r, key, (float)i);
        tfd_rendezvous_recv(r, key, &w.waiter);
        assert_true(w.count == 1 && w.value == (float)i);
    }
    for (uint64_t i = 0; i < 5000; i++)
        send(r, tfd_rendezvous_key(99, 4, i), (float)i);
    for (uint64_t i = 0; i < 5000; i++) {
        struct waiter w = waiter_of();

        tfd_rendezvous_recv(r, tfd_rendezvous_key(99, 4, i), &w.waiter);
        assert_true(w.count == 1 && w.value == (float)i);
    }
    tfd_rendezvous_end(table, r);
}

static void test_frame_and_iteration_are_part_of_a_key(void **state)
{
    (void)state;
    assert_int_equal(tfd_rendezvous_key(5, 0, 0), 5);
    assert_int_not_equal(tfd_rendezvous_key(5, 0, 1),
                         tfd_rendezvous_key(5, 1, 0));
    assert_int_not_equal(tfd_rendezvous_key(5, 7, 1),
                         tfd_rendezvous_key(5, 7, 2));
}

static void test_an_abort_ends_all(void **state)
{
    struct tfd_rendezvous *r = begin(1);
    struct waiter a = waiter_of(), b = waiter_of();
    struct tfd_status why = TFD_STATUS_INIT, st = TFD_STATUS_INIT;
    struct tfd_tensor t = scalar(1);

    (void)state;
    send(r, 1, 1);
    tfd_rendezvous_recv(r, 2, &a.waiter);
    tfd_fail(&why, TFD_INTERNAL, "first");
    tfd_rendezvous_abort(r, &why);
    assert_int_equal(a.st.code, TFD_INTERNAL);
    why.code = TFD_ABORTED;
    tfd_rendezvous_abort(r, &why); /* the first counts */
    tfd_rendezvous_recv(r, 1, &b.waiter);
    assert_int_equal(b.st.code, TFD_INTERNAL);
    assert_int_equal(tfd_rendezvous_send(r, 3, &t, &st), TFD_INTERNAL);
    assert_string_equal(st.text, "first");
    assert_null(t.buffer);
    tfd_rendezvous_end(table, r);
    tfd_rendezvous_cleanup(table, 1);
}

/* ---- Steps --------------------------------------------------------------- */

static void test_a_step_runs_once(void **state)
{
    struct tfd_rendezvous *r = begin(1), *again;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    assert_int_equal(tfd_rendezvous_begin(table, 1, 4, &again, &st),
                     TFD_ABORTED);
    assert_string_equal(st.text, "Step 1 was started twice on this worker");
    tfd_rendezvous_end(table, r);
}

static void test_runs_that_share_a_step(void **state)
{
    struct tfd_rendezvous *a, *b;
    struct tfd_tensor t = scalar(4);
    struct waiter w = waiter_of();

    (void)state;
    assert_int_equal(tfd_rendezvous_join(table, -3, 1, &a, NULL), TFD_OK);
    assert_int_equal(tfd_rendezvous_join(table, -3, 1, &b, NULL), TFD_OK);
    assert_ptr_equal(a, b);
    assert_int_equal(tfd_rendezvous_send(a, 1, &t, NULL), TFD_OK);
    tfd_rendezvous_end(table, a);
    tfd_rendezvous_recv(b, 1, &w.waiter);
    assert_int_equal(w.count, 1);
    tfd_rendezvous_cleanup(table, -3);
    tfd_rendezvous_end(table, b);
    assert_int_equal(tfd_rendezvous_stats(table).count, 0);
}

static void test_a_step_that_is_held(void **state)
{
    struct tfd_rendezvous *r, *again;
    struct waiter w = waiter_of();

    (void)state;
    assert_int_equal(tfd_rendezvous_hold(table, 77, NULL), TFD_OK);
    assert_int_equal(tfd_rendezvous_hold(table, 77, NULL), TFD_OK);
    assert_int_equal(tfd_rendezvous_join(table, 77, 1, &r, NULL), TFD_OK);
    tfd_rendezvous_end(table, r);
    assert_int_equal(tfd_rendezvous_find(table, 77, &again, NULL), TFD_OK);
    assert_ptr_equal(r, again);
    tfd_rendezvous_recv(again, 5, &w.waiter);
    tfd_rendezvous_cleanup(table, 77);
    assert_int_equal(w.st.code, TFD_ABORTED);
    assert_string_equal(w.st.text, "Cleanup 77");
    assert_int_equal(tfd_rendezvous_stats(table).count, 0);
    /* The number may come back: of a context whose view was replaced. */
    assert_int_equal(tfd_rendezvous_find(table, 77, &again, NULL), TFD_ABORTED);
    assert_int_equal(tfd_rendezvous_hold(table, 77, NULL), TFD_OK);
    assert_int_equal(tfd_rendezvous_find(table, 77, &again, NULL), TFD_OK);
    tfd_rendezvous_cleanup(table, 77);
}

static void test_a_peer_may_come_before_its_step(void **state)
{
    struct tfd_rendezvous *early, *r;
    struct tfd_tensor t = scalar(4);
    struct waiter a = waiter_of(), b = waiter_of();

    (void)state;
    assert_int_equal(tfd_rendezvous_find(table, 9, &early, NULL), TFD_OK);
    tfd_rendezvous_push(table, early, 1, &t);
    tfd_rendezvous_recv(early, 2, &a.waiter);
    assert_int_equal(tfd_rendezvous_stats(table).parked_size, sizeof(float));
    r = begin(9);
    assert_ptr_equal(r, early);
    assert_int_equal(tfd_rendezvous_stats(table).parked_size, 0);
    tfd_rendezvous_recv(r, 1, &b.waiter);
    assert_true(b.value == 4);
    send(r, 2, 5);
    assert_true(a.value == 5);
    tfd_rendezvous_end(table, r);
}

static void test_what_is_parked_is_bounded(void **state)
{
    struct tfd_rendezvous *early;
    struct waiter a = waiter_of();

    (void)state;
    assert_int_equal(tfd_rendezvous_find(table, 9, &early, NULL), TFD_OK);
    for (uint64_t i = 0; i <= TFD_PARKED_PUSHES_MAX; i++) {
        struct tfd_tensor none = TFD_TENSOR_INIT;

        tfd_rendezvous_push(table, early, i, &none);
    }
    assert_int_equal(tfd_rendezvous_stats(table).parked_size, 0);
    tfd_rendezvous_recv(early, 0, &a.waiter);
    assert_int_equal(a.st.code, TFD_RESOURCE_EXHAUSTED);
    tfd_rendezvous_cleanup(table, 9);
}

static void test_what_was_sent_stays_until_the_cleanup(void **state)
{
    struct tfd_rendezvous *r = begin(3), *later;
    struct tfd_status st = TFD_STATUS_INIT;
    struct waiter a = waiter_of(), b = waiter_of();

    (void)state;
    send(r, 1, 6);
    send(r, 2, 6);
    tfd_rendezvous_end(table, r);
    assert_int_equal(tfd_rendezvous_find(table, 3, &later, NULL), TFD_OK);
    tfd_rendezvous_recv(later, 1, &a.waiter);
    assert_true(a.value == 6);
    tfd_rendezvous_recv(later, 77, &b.waiter);
    tfd_rendezvous_cleanup(table, 3);
    assert_int_equal(b.st.code, TFD_ABORTED);
    assert_string_equal(b.st.text, "Cleanup 3");
    assert_int_equal(tfd_rendezvous_find(table, 3, &later, &st), TFD_ABORTED);
    assert_string_equal(st.text, "Cleanup 3");
    assert_int_equal(tfd_rendezvous_stats(table).count, 0);
}

static void test_a_running_step_outlives_its_cleanup(void **state)
{
    struct tfd_rendezvous *r = begin(3);
    struct tfd_tensor t = scalar(1);

    (void)state;
    tfd_rendezvous_cleanup(table, 3);
    assert_int_equal(tfd_rendezvous_send(r, 1, &t, NULL), TFD_ABORTED);
    tfd_rendezvous_end(table, r);
    tfd_rendezvous_cleanup(table, 3); /* and of steps nobody knows */
    tfd_rendezvous_cleanup(table, 4);
}

/* ---- Threads ------------------------------------------------------------- */

#define KEYS 20000

static void *send_all(void *arg)
{
    for (uint64_t i = 0; i < KEYS; i++)
        send(arg, i, (float)i);
    return NULL;
}

static void test_sender_and_receiver_on_two_threads(void **state)
{
    static struct waiter w[KEYS];
    struct tfd_rendezvous *r = begin(1);
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, send_all, r), 0);
    for (uint64_t i = 0; i < KEYS; i++) {
        w[i] = waiter_of();
        tfd_rendezvous_recv(r, i, &w[i].waiter);
    }
    pthread_join(thread, NULL);
    for (int i = 0; i < KEYS; i++)
        assert_true(w[i].count == 1 && w[i].value == (float)i);
    tfd_rendezvous_end(table, r);
}

/* ---- Tables of numbers --------------------------------------------------- */

static void test_an_id_map_finds_what_it_holds(void **state)
{
    struct tfd_id_map m = {0};
    static char values[5000];
    size_t at = 0, seen = 0;

    (void)state;
    assert_null(tfd_id_map_get(&m, 1));
    assert_null(tfd_id_map_remove(&m, 1));
    for (uint64_t i = 0; i < 5000; i++)
        assert_true(tfd_id_map_put(&m, i * 1024, &values[i]));
    for (uint64_t i = 0; i < 5000; i += 2)
        assert_ptr_equal(tfd_id_map_remove(&m, i * 1024), &values[i]);
    for (uint64_t i = 0; i < 5000; i++)
        assert_ptr_equal(tfd_id_map_get(&m, i * 1024),
                         i % 2 ? &values[i] : NULL);
    while (tfd_id_map_next(&m, &at))
        seen++;
    assert_int_equal(seen, 2500);
    assert_int_equal(m.count, 2500);
    tfd_id_map_deinit(&m);
}

static void test_request_ids_are_remembered_for_a_while(void **state)
{
    struct tfd_request_ids r;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    tfd_request_ids_init(&r, 100);
    for (int i = 0; i < 3; i++) /* 0 is nobody's */
        assert_int_equal(tfd_request_ids_add(&r, 0, "X", NULL), TFD_OK);
    for (uint64_t i = 1; i <= 1000; i++)
        assert_int_equal(tfd_request_ids_add(&r, i, "X", NULL), TFD_OK);
    assert_int_equal(tfd_request_ids_add(&r, 950, "X", &st), TFD_ABORTED);
    assert_string_equal(st.text, "The same X request was received twice. "
                                 "request_id: 950");
    assert_int_equal(tfd_request_ids_add(&r, 5, "X", NULL), TFD_OK);
    tfd_request_ids_deinit(&r);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_either_side_may_come_first),
        TEST(test_a_dead_value_has_no_tensor),
        TEST(test_several_on_one_key_queue_up),
        TEST(test_many_keys_come_and_go),
        TEST(test_frame_and_iteration_are_part_of_a_key),
        TEST(test_an_abort_ends_all),
        TEST(test_a_step_runs_once),
        TEST(test_runs_that_share_a_step),
        TEST(test_a_step_that_is_held),
        TEST(test_a_peer_may_come_before_its_step),
        TEST(test_what_is_parked_is_bounded),
        TEST(test_what_was_sent_stays_until_the_cleanup),
        TEST(test_a_running_step_outlives_its_cleanup),
        TEST(test_sender_and_receiver_on_two_threads),
        cmocka_unit_test(test_an_id_map_finds_what_it_holds),
        cmocka_unit_test(test_request_ids_are_remembered_for_a_while),
    };

    return cmocka_run_group_tests_name("rendezvous", tests, NULL, NULL);
}
