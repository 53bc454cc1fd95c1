/*
 * test_cuda_capture.c - cuda/device/capture.c: what is captured runs when it is
 * launched, whatever fails and however it ends.
 */
#include "tests/support/capture_rig.h"

static int graphs(void)
{
    int count;

    pthread_mutex_lock(&fake.lock);
    count = fake.graphs;
    pthread_mutex_unlock(&fake.lock);
    return count;
}

/* ---- Launches ------------------------------------------------------------ */

static void test_what_is_captured_runs_when_it_is_launched(void **state)
{
    struct tfd_cuda_capture *c;
    struct tfd_buffer *x;

    (void)state;
    begin();
    x = make(&device.pool.memory, sizeof(int));
    run(device.stream, set, NULL, x, 5);
    c = capture();
    run(c->stream, add, x, x, 2);
    run(c->stream, add, x, x, 10);
    capture_end(c);
    drain(c->stream);
    assert_int_equal(number_in(x), 5);
    launch(c);
    assert_int_equal(number_in(x), 17);
    launch(c);
    launch(c);
    assert_int_equal(number_in(x), 41);
    tfd_cuda_capture_drop(c);
    tfd_buffer_unref(x);
    end();
}

static void test_a_launch_reads_what_is_there_then(void **state)
{
    struct tfd_cuda_capture *c;
    struct tfd_buffer *x, *work, *y;

    (void)state;
    begin();
    x = make(&device.pool.memory, sizeof(int));
    c = capture();
    work = make(c->memory, sizeof(int));
    y = make(c->memory, sizeof(int));
    run(c->stream, add, x, work, 1);
    run(c->stream, add, work, y, 100);
    tfd_buffer_unref(work);
    capture_end(c);
    for (int i = 0; i < 3; i++) {
        run(device.stream, set, NULL, x, 1000 * i);
        launch(c);
        assert_int_equal(number_in(y), 1000 * i + 101);
    }
    tfd_buffer_unref(y);
    tfd_cuda_capture_drop(c);
    tfd_buffer_unref(x);
    end();
}

static void test_a_capture_without_kernels_is_launched(void **state)
{
    struct tfd_cuda_capture *c;

    (void)state;
    begin();
    c = capture();
    capture_end(c);
    launch(c);
    tfd_cuda_capture_drop(c);
    end();
}

static void *add_three(void *arg)
{
    for (int i = 0; i < 3; i++)
        run(device.stream, add, arg, arg, 1);
    drain(device.stream);
    return NULL;
}

static void test_other_threads_are_not_captured(void **state)
{
    struct tfd_cuda_capture *c;
    struct tfd_buffer *x, *y;
    pthread_t thread;

    (void)state;
    begin();
    x = make(&device.pool.memory, sizeof(int));
    y = make(&device.pool.memory, sizeof(int));
    run(device.stream, set, NULL, x, 0);
    run(device.stream, set, NULL, y, 0);
    c = capture();
    pthread_create(&thread, NULL, add_three, x);
    for (int i = 0; i < 3; i++)
        run(c->stream, add, y, y, 1);
    pthread_join(thread, NULL);
    assert_int_equal(number_in(x), 3);
    assert_int_equal(number_in(y), 0);
    capture_end(c);
    launch(c);
    assert_int_equal(number_in(x), 3);
    assert_int_equal(number_in(y), 3);
    tfd_cuda_capture_drop(c);
    tfd_buffer_unref(x);
    tfd_buffer_unref(y);
    end();
}

static void test_several_captures_are_launched_in_turn(void **state)
{
    struct tfd_cuda_capture *c[3];
    struct tfd_buffer *x;

    (void)state;
    begin();
    x = make(&device.pool.memory, sizeof(int));
    run(device.stream, set, NULL, x, 0);
    for (int i = 0; i < 3; i++) {
        c[i] = capture();
        run(c[i]->stream, add, x, x, i == 0 ? 1 : 10 * i);
        capture_end(c[i]);
    }
    for (int i = 0; i < 3; i++)
        launch(c[i]);
    launch(c[0]);
    assert_int_equal(number_in(x), 32);
    for (int i = 0; i < 3; i++)
        tfd_cuda_capture_drop(c[i]);
    assert_int_equal(fake.streams, 5); /* one for all of them */
    tfd_buffer_unref(x);
    end();
}

/* ---- Ends ---------------------------------------------------------------- */

static void *refused(void *arg)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_capture *c;

    (void)arg;
    assert_int_equal(tfd_cuda_capture_begin(&device, &c, &st), TFD_UNAVAILABLE);
    return NULL;
}

static void test_one_capture_at_a_time_is_made(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_capture *c, *d;
    pthread_t thread;

    (void)state;
    begin();
    c = capture();
    pthread_create(&thread, NULL, refused, NULL);
    pthread_join(thread, NULL);
    expect(tfd_cuda_capture_begin(&device, &d, &st), &st, TFD_UNAVAILABLE,
           "GPU:0");
    capture_end(c);
    d = capture();
    tfd_cuda_capture_drop(c);
    c = NULL;
    tfd_cuda_capture_drop(d);
    tfd_cuda_capture_drop(capture());
    end();
}

static void test_a_capture_is_dropped_without_its_end(void **state)
{
    struct tfd_cuda_capture *c;
    struct tfd_buffer *x, *y;

    (void)state;
    begin();
    x = make(&device.pool.memory, sizeof(int));
    run(device.stream, set, NULL, x, 1);
    c = capture();
    y = make(c->memory, sizeof(int));
    run(c->stream, set, NULL, x, 2);
    tfd_cuda_capture_drop(c);
    assert_int_equal(graphs(), 0);
    assert_int_equal(number_in(x), 1);
    tfd_buffer_unref(y);
    c = capture();
    run(c->stream, set, NULL, x, 3);
    capture_end(c);
    launch(c);
    assert_int_equal(number_in(x), 3);
    tfd_cuda_capture_drop(c);
    tfd_buffer_unref(x);
    end();
}

static void test_a_launch_under_way_outlives_its_capture(void **state)
{
    struct tfd_cuda_capture *c;
    struct tfd_buffer *x, *work, *other;

    (void)state;
    begin();
    x = make(&device.pool.memory, sizeof(int));
    c = capture();
    work = make(c->memory, sizeof(int));
    run(c->stream, set, NULL, work, 3);
    run(c->stream, add, work, x, 4);
    tfd_buffer_unref(work);
    capture_end(c);
    fake_hold(device.stream);
    launch(c);
    launch(c);
    tfd_cuda_capture_drop(c);
    assert_int_equal(graphs(), 1);
    /* Perhaps the memory of the capture: used behind it. */
    other = make(&device.pool.memory, 2 * FAKE_MIB);
    run(device.stream, set, NULL, other, -1);
    fake_let_go();
    assert_int_equal(number_in(x), 7);
    assert_int_equal(number_in(other), -1);
    tfd_buffer_unref(other);
    tfd_buffer_unref(x);
    end();
}

static void test_an_idle_capture_is_released_at_once(void **state)
{
    struct tfd_cuda_capture *c;

    (void)state;
    begin();
    c = capture();
    capture_end(c);
    assert_int_equal(graphs(), 1);
    tfd_cuda_capture_drop(c);
    assert_int_equal(graphs(), 0);
    end();
}

/* ---- Errors -------------------------------------------------------------- */

static void test_a_begin_that_fails_leaves_nothing(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_capture *c = NULL;

    (void)state;
    begin();
    fake.stream_error = TFD_CUDA_NO_MEMORY;
    expect(tfd_cuda_capture_begin(&device, &c, &st), &st,
           TFD_RESOURCE_EXHAUSTED, "GPU:0");
    fake.stream_error = 0;
    fake.begin_error = 900;
    tfd_status_clear(&st);
    expect(tfd_cuda_capture_begin(&device, &c, &st), &st, TFD_INTERNAL,
           "the begin of a capture");
    assert_null(c);
    fake.begin_error = 0;
    assert_int_equal(device.lost, 0);
    tfd_cuda_capture_drop(capture());
    end();
}

struct library {
    int prepared, released;
    enum tfd_code code;
};

static enum tfd_code prepare(void *own, struct tfd_cuda_device *d,
                             struct tfd_status *st)
{
    struct library *l = own;

    assert_non_null(d->captures.stream);
    assert_true(tfd_lock_held(&d->lock));
    l->prepared++;
    return l->code == TFD_OK ? TFD_OK : tfd_fail(st, l->code, "no handle");
}

static void release(void *own)
{
    ((struct library *)own)->released++;
}

static void test_libraries_are_prepared_before_the_begin(void **state)
{
    struct library blas = {.code = TFD_OK}, dnn = {.code = TFD_INTERNAL};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_capture *c;

    (void)state;
    begin();
    tfd_cuda_capture_drop(capture());
    device.blas = (struct tfd_cuda_library){&blas, release, prepare};
    tfd_cuda_capture_drop(capture());
    assert_int_equal(blas.prepared, 1);
    device.dnn = (struct tfd_cuda_library){&dnn, release, prepare};
    expect(tfd_cuda_capture_begin(&device, &c, &st), &st, TFD_INTERNAL,
           "no handle");
    dnn.code = TFD_OK;
    tfd_cuda_capture_drop(capture());
    assert_int_equal(dnn.prepared, 2);
    end();
    assert_int_equal(blas.released + dnn.released, 2);
}

static void test_an_end_that_fails_leaves_the_device_good(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_capture *c;
    struct tfd_buffer *x;

    (void)state;
    begin();
    x = make(&device.pool.memory, sizeof(int));
    run(device.stream, set, NULL, x, 1);
    for (int error = 900; error <= 907; error++) {
        c = capture();
        run(c->stream, set, NULL, x, 2);
        fake.end_error = error;
        tfd_status_clear(&st);
        expect(tfd_cuda_capture_end(c, &st), &st, TFD_INTERNAL, "a capture");
        fake.end_error = 0;
        tfd_cuda_capture_drop(c);
    }
    assert_int_equal(device.lost, 0);
    assert_int_equal(graphs(), 0);
    assert_int_equal(number_in(x), 1);
    tfd_buffer_unref(x);
    end();
}

static void test_no_memory_for_a_graph_is_that(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_capture *c;

    (void)state;
    begin();
    c = capture();
    fake.end_error = TFD_CUDA_NO_MEMORY;
    expect(tfd_cuda_capture_end(c, &st), &st, TFD_RESOURCE_EXHAUSTED,
           "out of memory");
    tfd_cuda_capture_drop(c);
    end();
}

static void test_a_launch_that_fails_may_be_tried_again(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_capture *c;
    struct tfd_buffer *x;

    (void)state;
    begin();
    x = make(&device.pool.memory, sizeof(int));
    run(device.stream, set, NULL, x, 1);
    c = capture();
    run(c->stream, add, x, x, 1);
    capture_end(c);
    fake.launch_error = 1;
    expect(tfd_cuda_capture_launch(c, &st), &st, TFD_INTERNAL,
           "the launch of a capture");
    fake.launch_error = 0;
    assert_int_equal(number_in(x), 1);
    launch(c);
    assert_int_equal(number_in(x), 2);
    tfd_cuda_capture_drop(c);
    tfd_buffer_unref(x);
    end();
}

static void test_a_lost_device_captures_no_more(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_capture *c, *d, *e;

    (void)state;
    begin();
    c = capture();
    capture_end(c);
    launch(c);
    d = capture();
    fake_break(TFD_CUDA_ILLEGAL_ADDRESS);
    expect(tfd_cuda_capture_end(d, &st), &st, TFD_UNAVAILABLE, "lost");
    assert_int_equal(device.lost, TFD_CUDA_ILLEGAL_ADDRESS);
    tfd_status_clear(&st);
    expect(tfd_cuda_capture_begin(&device, &e, &st), &st, TFD_UNAVAILABLE,
           "lost");
    tfd_status_clear(&st);
    expect(tfd_cuda_capture_launch(c, &st), &st, TFD_UNAVAILABLE, "lost");
    tfd_cuda_capture_drop(d);
    tfd_cuda_capture_drop(c);
    end();
}

static void test_a_loss_is_noticed_by_a_launch(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_capture *c;

    (void)state;
    begin();
    c = capture();
    capture_end(c);
    fake.launch_error = 719;
    expect(tfd_cuda_capture_launch(c, &st), &st, TFD_UNAVAILABLE, "lost");
    assert_int_equal(device.lost, 719);
    tfd_cuda_capture_drop(c);
    end();
}

static void test_a_loss_during_a_launch_keeps_the_graph(void **state)
{
    struct tfd_cuda_capture *c;
    struct tfd_buffer *x;

    (void)state;
    begin();
    x = make(&device.pool.memory, sizeof(int));
    c = capture();
    run(c->stream, set, NULL, x, 2);
    capture_end(c);
    fake_hold(device.stream);
    launch(c);
    fake_break(TFD_CUDA_ILLEGAL_ADDRESS);
    tfd_cuda_capture_drop(c);
    tfd_buffer_unref(x);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_captured_runs_when_it_is_launched),
        cmocka_unit_test(test_a_launch_reads_what_is_there_then),
        cmocka_unit_test(test_a_capture_without_kernels_is_launched),
        cmocka_unit_test(test_other_threads_are_not_captured),
        cmocka_unit_test(test_several_captures_are_launched_in_turn),
        cmocka_unit_test(test_one_capture_at_a_time_is_made),
        cmocka_unit_test(test_a_capture_is_dropped_without_its_end),
        cmocka_unit_test(test_a_launch_under_way_outlives_its_capture),
        cmocka_unit_test(test_an_idle_capture_is_released_at_once),
        cmocka_unit_test(test_a_begin_that_fails_leaves_nothing),
        cmocka_unit_test(test_libraries_are_prepared_before_the_begin),
        cmocka_unit_test(test_an_end_that_fails_leaves_the_device_good),
        cmocka_unit_test(test_no_memory_for_a_graph_is_that),
        cmocka_unit_test(test_a_launch_that_fails_may_be_tried_again),
        cmocka_unit_test(test_a_lost_device_captures_no_more),
        cmocka_unit_test(test_a_loss_is_noticed_by_a_launch),
        cmocka_unit_test(test_a_loss_during_a_launch_keeps_the_graph),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
