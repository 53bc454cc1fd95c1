/*
 * test_cuda_events.c - cuda/device/events.c: closures run once their stream has
 * come by, in order, whatever happens to the device.
 */
#include "cuda/device/events.h"

#include "tests/support/fake_cuda.h"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int order[32], errors[32];
    int count;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .changed = PTHREAD_COND_INITIALIZER};

struct note {
    struct tfd_cuda_closure closure;
    int number;
};

static void note_passed(struct tfd_cuda_closure *c, int error)
{
    pthread_mutex_lock(&seen.lock);
    seen.order[seen.count] = ((struct note *)c)->number;
    seen.errors[seen.count++] = error;
    pthread_cond_broadcast(&seen.changed);
    pthread_mutex_unlock(&seen.lock);
}

static int seen_count(void)
{
    int count;

    pthread_mutex_lock(&seen.lock);
    count = seen.count;
    pthread_mutex_unlock(&seen.lock);
    return count;
}

static void wait_seen(int count)
{
    pthread_mutex_lock(&seen.lock);
    while (seen.count < count)
        pthread_cond_wait(&seen.changed, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
}

static void begin(struct tfd_cuda_events *q, void **streams, int count)
{
    fake_init();
    seen.count = 0;
    tfd_cuda_events_init(q, &fake_driver, 0);
    for (int i = 0; i < count; i++)
        assert_int_equal(fake_stream_make(&streams[i]), 0);
}

static void end(struct tfd_cuda_events *q, void **streams, int count)
{
    tfd_cuda_events_deinit(q);
    for (int i = 0; i < count; i++)
        fake_stream_release(streams[i]);
    fake_deinit();
}

static void test_closures_wait_for_their_stream(void **state)
{
    struct note n = {.closure.fn = note_passed, .number = 1};
    struct tfd_cuda_events q;
    void *stream;

    (void)state;
    begin(&q, &stream, 1);
    fake_hold(stream);
    tfd_cuda_events_after(&q, stream, &n.closure);
    assert_int_equal(seen_count(), 0);
    fake_let_go();
    wait_seen(1);
    assert_int_equal(seen.errors[0], 0);
    end(&q, &stream, 1);
}

static void test_closures_run_in_the_order_they_came(void **state)
{
    struct note n[20];
    struct tfd_cuda_events q;
    void *streams[2];

    (void)state;
    begin(&q, streams, 2);
    fake_hold(streams[0]);
    for (int i = 0; i < 20; i++) {
        n[i] = (struct note){.closure.fn = note_passed, .number = i};
        tfd_cuda_events_after(&q, streams[i % 2], &n[i].closure);
    }
    assert_int_equal(seen_count(), 0);
    fake_let_go();
    wait_seen(20);
    for (int i = 0; i < 20; i++)
        assert_int_equal(seen.order[i], i);
    end(&q, streams, 2);
}

static void test_events_are_used_again(void **state)
{
    struct tfd_cuda_events q;
    void *stream;

    (void)state;
    begin(&q, &stream, 1);
    for (int i = 0; i < 20; i++) {
        struct note n = {.closure.fn = note_passed, .number = i};

        tfd_cuda_events_after(&q, stream, &n.closure);
        wait_seen(i + 1);
    }
    assert_true(fake.events <= 2);
    end(&q, &stream, 1);
}

static void test_ending_runs_what_is_left(void **state)
{
    struct note n[5];
    struct tfd_cuda_events q;
    void *stream;

    (void)state;
    begin(&q, &stream, 1);
    for (int i = 0; i < 5; i++) {
        n[i] = (struct note){.closure.fn = note_passed, .number = i};
        tfd_cuda_events_after(&q, stream, &n[i].closure);
    }
    end(&q, &stream, 1);
    assert_int_equal(seen.count, 5);
}

static void test_queue_without_closures_has_no_thread(void **state)
{
    struct tfd_cuda_events q;

    (void)state;
    begin(&q, NULL, 0);
    assert_false(q.has_thread);
    end(&q, NULL, 0);
}

static void test_failed_device_fails_all_closures(void **state)
{
    struct note n[4];
    struct tfd_cuda_events q;
    void *stream;

    (void)state;
    begin(&q, &stream, 1);
    fake_hold(stream);
    for (int i = 0; i < 4; i++) {
        n[i] = (struct note){.closure.fn = note_passed, .number = i};
        if (i == 3)
            fake_break(TFD_CUDA_ILLEGAL_ADDRESS);
        tfd_cuda_events_after(&q, stream, &n[i].closure);
    }
    wait_seen(4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(seen.order[i], i);
        assert_int_equal(seen.errors[i], TFD_CUDA_ILLEGAL_ADDRESS);
    }
    fake_let_go();
    end(&q, &stream, 1);
}

static int order_value;

static void set_value(void *args)
{
    order_value = *(int *)args;
}

static void test_streams_are_ordered(void **state)
{
    struct note n = {.closure.fn = note_passed};
    int one = 1, two = 2;
    struct tfd_cuda_events q;
    void *streams[2];

    (void)state;
    begin(&q, streams, 2);
    fake_hold(streams[0]);
    fake_launch(streams[0], set_value, &one, sizeof(one));
    assert_int_equal(tfd_cuda_events_order(&q, streams[0], streams[1]), 0);
    fake_launch(streams[1], set_value, &two, sizeof(two));
    tfd_cuda_events_after(&q, streams[1], &n.closure);
    fake_let_go();
    wait_seen(1);
    assert_int_equal(order_value, 2);
    end(&q, streams, 2);
}

static void test_ordering_on_a_failed_device_fails(void **state)
{
    struct tfd_cuda_events q;
    void *streams[2];

    (void)state;
    begin(&q, streams, 2);
    fake_break(719);
    assert_int_equal(tfd_cuda_events_order(&q, streams[0], streams[1]), 719);
    end(&q, streams, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closures_wait_for_their_stream),
        cmocka_unit_test(test_closures_run_in_the_order_they_came),
        cmocka_unit_test(test_events_are_used_again),
        cmocka_unit_test(test_ending_runs_what_is_left),
        cmocka_unit_test(test_queue_without_closures_has_no_thread),
        cmocka_unit_test(test_failed_device_fails_all_closures),
        cmocka_unit_test(test_streams_are_ordered),
        cmocka_unit_test(test_ordering_on_a_failed_device_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
