/*
 * test_queue.c - kernels/state/queue*.c: who waits for whom, and what closing
 * and cancelling do.  Orders of elements are in test_queue_kinds.c, names and
 * what is refused in test_queue_refusals.c, threads in test_queue_threads.c.
 */
#include "tests/support/queue_rig.h"

/* ---- Waiting ------------------------------------------------------------- */

static void test_elements_come_out_in_the_order_they_went_in(void **state)
{
    struct arig_run *q = queue("");

    (void)state;
    arig_expect_ok(enqueue(q, "float 1"));
    arig_expect_ok(enqueue(q, "float[2] 2 3"));
    arig_expect_ok(enqueue_many(q, "float[2] 4 5"));
    expect_size(q, "int32 4");
    arig_expect(dequeue(q), 0, "float 1");
    arig_expect(dequeue(q), 0, "float[2] 2 3");
    arig_expect(dequeue(q), 0, "float 4");
    arig_expect(dequeue(q), 0, "float 5");
    expect_size(q, "int32 0");
}

static void test_who_dequeues_waits_for_an_element(void **state)
{
    struct arig_run *q = queue(""), *first, *second;

    (void)state;
    first = dequeue(q);
    second = dequeue(q);
    arig_expect_waiting(first);
    enqueue(q, "float 1");
    arig_expect(first, 0, "float 1");
    arig_expect_waiting(second);
    enqueue(q, "float 2");
    arig_expect(second, 0, "float 2");
}

static void test_who_enqueues_waits_for_room(void **state)
{
    struct arig_run *q = queue("capacity=1"), *second, *third;

    (void)state;
    arig_expect_ok(enqueue(q, "float 1"));
    second = enqueue(q, "float 2");
    third = enqueue(q, "float 3");
    arig_expect_waiting(second);
    arig_expect(dequeue(q), 0, "float 1");
    arig_expect_ok(second);
    arig_expect_waiting(third);
    arig_expect(dequeue(q), 0, "float 2");
    arig_expect_ok(third);
    arig_expect(dequeue(q), 0, "float 3");
}

static void
test_a_batch_larger_than_the_queue_goes_in_piece_by_piece(void **state)
{
    struct arig_run *q = queue("capacity=2 shapes=[]"), *batch, *behind;

    (void)state;
    batch = enqueue_many(q, "float[5] 1 2 3 4 5");
    behind = enqueue(q, "float 6");
    expect_size(q, "int32 2");
    arig_expect_waiting(batch);
    arig_expect(dequeue_many(q, "int32 4"), 0, "float[4] 1 2 3 4");
    arig_expect_ok(batch);
    arig_expect_ok(behind);
    arig_expect(dequeue_many(q, "int32 2"), 0, "float[2] 5 6");
}

static void test_a_queue_without_room_lets_nobody_in(void **state)
{
    struct arig_run *q = queue("capacity=0 shapes=[]"), *in;

    (void)state;
    in = enqueue(q, "float 1");
    arig_expect_waiting(in);
    arig_expect_ok(enqueue_many(q, "float[0]"));
    arig_cancel(in);
    arig_expect_failed(in, TFD_CANCELLED, "Enqueue operation was cancelled");
}

static void test_a_large_dequeue_is_not_overtaken(void **state)
{
    struct arig_run *q = queue("shapes=[]"), *large, *small;

    (void)state;
    enqueue(q, "float 1");
    large = dequeue_many(q, "int32 3");
    small = dequeue(q);
    expect_size(q, "int32 0"); /* what is there has been taken already */
    enqueue(q, "float 2");
    arig_expect_waiting(large);
    arig_expect_waiting(small);
    enqueue_many(q, "float[2] 3 4");
    arig_expect(large, 0, "float[3] 1 2 3");
    arig_expect(small, 0, "float 4");
}

static void test_a_dequeue_of_many_frees_room_as_it_goes(void **state)
{
    struct arig_run *q = queue("capacity=1 shapes=[2]"), *out;

    (void)state;
    out = dequeue_many(q, "int32 2");
    arig_expect_ok(enqueue(q, "float[2] 1 2"));
    arig_expect_ok(enqueue(q, "float[2] 3 4"));
    arig_expect(out, 0, "float[2,2] 1 2 3 4");
}

static void test_nothing_is_dequeued_at_once(void **state)
{
    struct arig_run *q = queue("shapes=[2]"), *waits;

    (void)state;
    waits = dequeue(q);
    arig_expect(dequeue_many(q, "int32 0"), 0, "float[0,2]");
    arig_expect(dequeue_up_to(q, "int32 0"), 0, "float[0,2]");
    arig_expect_waiting(waits);
    enqueue(q, "float[2] 1 2");
    arig_expect_ok(waits);
}

/* ---- Closing ------------------------------------------------------------- */

static void test_a_closed_queue_is_emptied_and_then_refuses(void **state)
{
    struct arig_run *q = queue("shapes=[] shared_name=jobs");

    (void)state;
    enqueue_many(q, "float[2] 1 2");
    assert_false(is_closed(q));
    arig_expect_ok(close_queue(q, false));
    assert_true(is_closed(q));
    arig_expect_failed(enqueue(q, "float 3"), TFD_CANCELLED,
                       "FIFOQueue 'jobs' is closed.");
    arig_expect_failed(enqueue_many(q, "float[2] 3 4"), TFD_CANCELLED,
                       "FIFOQueue 'jobs' is closed.");
    arig_expect_ok(enqueue_many(q, "float[0]"));
    arig_expect(dequeue(q), 0, "float 1");
    arig_expect_failed(dequeue_many(q, "int32 2"), TFD_OUT_OF_RANGE,
                       "FIFOQueue 'jobs' is closed and has insufficient "
                       "elements (requested 2, current size 1)");
    arig_expect(dequeue(q), 0, "float 2");
    arig_expect_failed(dequeue(q), TFD_OUT_OF_RANGE,
                       "FIFOQueue 'jobs' is closed and has insufficient "
                       "elements (requested 1, current size 0)");
}

static void test_closing_twice(void **state)
{
    struct arig_run *q = queue("shared_name=jobs");

    (void)state;
    arig_expect_ok(close_queue(q, false));
    arig_expect_failed(close_queue(q, false), TFD_CANCELLED,
                       "Queue 'jobs' is already closed.");
    arig_expect_ok(close_queue(q, true));
}

static void test_closing_ends_who_waits_for_elements(void **state)
{
    struct arig_run *q = queue("shapes=[]"), *many, *one, *other;

    (void)state;
    many = dequeue_many(q, "int32 3");
    one = dequeue(q);
    other = dequeue_many(q, "int32 2");
    enqueue_many(q, "float[2] 1 2");
    expect_size(q, "int32 0");
    arig_expect_ok(close_queue(q, false));
    arig_expect_failed(many, TFD_OUT_OF_RANGE, "(requested 1, current size 0)");
    arig_expect(one, 0, "float 1"); /* what was taken went back, in order */
    arig_expect_failed(other, TFD_OUT_OF_RANGE,
                       "(requested 2, current size 1)");
    arig_expect(dequeue(q), 0, "float 2");
}

static void test_closing_waits_for_the_enqueues_before_it(void **state)
{
    struct arig_run *q = queue("capacity=1 shapes=[]"), *before, *closes,
                    *behind;

    (void)state;
    before = enqueue_many(q, "float[3] 1 2 3");
    closes = close_queue(q, false);
    behind = enqueue(q, "float 4");
    arig_expect_waiting(closes);
    assert_false(is_closed(q));
    arig_expect(dequeue(q), 0, "float 1");
    arig_expect_waiting(closes);
    arig_expect(dequeue(q), 0, "float 2");
    arig_expect_ok(before);
    arig_expect_ok(closes);
    arig_expect_failed(behind, TFD_CANCELLED, "is closed.");
    arig_expect(dequeue(q), 0, "float 3");
}

static void test_closing_may_cancel_the_enqueues_before_it(void **state)
{
    struct arig_run *q = queue("capacity=1 shapes=[]"), *batch, *closes, *one;

    (void)state;
    batch = enqueue_many(q, "float[3] 1 2 3");
    closes = close_queue(q, false);
    one = enqueue(q, "float 4");
    arig_expect_ok(close_queue(q, true));
    arig_expect_failed(batch, TFD_CANCELLED, "Enqueue operation was cancelled");
    arig_expect_failed(closes, TFD_CANCELLED,
                       "Enqueue operation was cancelled");
    arig_expect_failed(one, TFD_CANCELLED, "Enqueue operation was cancelled");
    arig_expect(dequeue(q), 0, "float 1");
    arig_expect_failed(dequeue(q), TFD_OUT_OF_RANGE, "is closed");
}

static void test_fewer_will_do_once_the_queue_is_closed(void **state)
{
    struct arig_run *q = queue("shapes=[]"), *some, *none;

    (void)state;
    some = dequeue_up_to(q, "int32 3");
    none = dequeue_up_to(q, "int32 3");
    enqueue_many(q, "float[2] 1 2");
    arig_expect_waiting(some);
    close_queue(q, false);
    arig_expect(some, 0, "float[2] 1 2");
    arig_expect_failed(none, TFD_OUT_OF_RANGE, "(requested 3, current size 0)");
}

static void test_fewer_will_do_and_all_that_come_are_taken(void **state)
{
    struct arig_run *q = queue("capacity=1 shapes=[]"), *in;

    (void)state;
    in = enqueue_many(q, "float[3] 1 2 3");
    close_queue(q, false);
    arig_expect(dequeue_up_to(q, "int32 2"), 0, "float[2] 1 2");
    arig_expect_ok(in);
    arig_expect(dequeue_up_to(q, "int32 2"), 0, "float[1] 3");
}

/* ---- Cancelling ---------------------------------------------------------- */

static void test_a_cancelled_dequeue_gives_back_what_it_took(void **state)
{
    struct arig_run *q = queue("shapes=[]"), *large, *small;

    (void)state;
    enqueue_many(q, "float[2] 1 2");
    large = dequeue_many(q, "int32 3");
    small = dequeue_many(q, "int32 2");
    arig_expect_waiting(small);
    arig_cancel(large);
    arig_expect_failed(large, TFD_CANCELLED, "Dequeue operation was cancelled");
    arig_expect(small, 0, "float[2] 1 2");
}

static void test_a_cancelled_enqueue_makes_way(void **state)
{
    struct arig_run *q = queue("capacity=2 shapes=[]"), *batch, *behind, *last;

    (void)state;
    batch = enqueue_many(q, "float[4] 1 2 3 4");
    behind = enqueue(q, "float 5");
    last = enqueue(q, "float 6");
    arig_cancel(behind); /* in the middle of the line */
    arig_expect_failed(behind, TFD_CANCELLED,
                       "Enqueue operation was cancelled");
    arig_expect_waiting(batch);
    arig_cancel(batch);
    arig_expect_waiting(last);
    arig_expect(dequeue_many(q, "int32 3"), 0, "float[3] 1 2 6");
    arig_expect_ok(last);
}

static void test_a_cancelled_close_closes_nothing(void **state)
{
    struct arig_run *q = queue("capacity=1"), *in, *closes, *behind;

    (void)state;
    enqueue(q, "float 1");
    in = enqueue(q, "float 2");
    closes = close_queue(q, false);
    behind = enqueue(q, "float 3");
    arig_cancel(closes);
    arig_expect_failed(closes, TFD_CANCELLED,
                       "Enqueue operation was cancelled");
    arig_expect(dequeue(q), 0, "float 1");
    arig_expect(dequeue(q), 0, "float 2");
    arig_expect_ok(in);
    arig_expect_ok(behind);
    assert_false(is_closed(q));
}

static void test_a_step_that_is_over_already_gets_nothing(void **state)
{
    struct arig_run *q = queue("shapes=[]"), *r;

    (void)state;
    enqueue(q, "float 1");
    r = arig_make("QueueDequeueV2", NULL, "component_types=[float]", q, NULL);
    arig_cancel(r);
    arig_begin(r);
    arig_expect_failed(r, TFD_CANCELLED, "Dequeue operation was cancelled");
    expect_size(q, "int32 1");
}

static void test_cancelling_what_is_done_does_nothing(void **state)
{
    struct arig_run *q = queue(""), *in, *out;

    (void)state;
    out = dequeue(q);
    in = enqueue(q, "float 1");
    arig_cancel(out);
    arig_cancel(in);
    arig_expect(out, 0, "float 1");
    arig_expect_ok(in);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, arig_setup, arig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elements_come_out_in_the_order_they_went_in),
        TEST(test_who_dequeues_waits_for_an_element),
        TEST(test_who_enqueues_waits_for_room),
        TEST(test_a_batch_larger_than_the_queue_goes_in_piece_by_piece),
        TEST(test_a_queue_without_room_lets_nobody_in),
        TEST(test_a_large_dequeue_is_not_overtaken),
        TEST(test_a_dequeue_of_many_frees_room_as_it_goes),
        TEST(test_nothing_is_dequeued_at_once),
        TEST(test_a_closed_queue_is_emptied_and_then_refuses),
        TEST(test_closing_twice),
        TEST(test_closing_ends_who_waits_for_elements),
        TEST(test_closing_waits_for_the_enqueues_before_it),
        TEST(test_closing_may_cancel_the_enqueues_before_it),
        TEST(test_fewer_will_do_once_the_queue_is_closed),
        TEST(test_fewer_will_do_and_all_that_come_are_taken),
        TEST(test_a_cancelled_dequeue_gives_back_what_it_took),
        TEST(test_a_cancelled_enqueue_makes_way),
        TEST(test_a_cancelled_close_closes_nothing),
        TEST(test_a_step_that_is_over_already_gets_nothing),
        TEST(test_cancelling_what_is_done_does_nothing),
    };

    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
