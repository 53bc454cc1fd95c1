/*
 * test_cuda_capture.c - cuda/capture.c: what is captured runs when it is
 * launched, in memory that nobody else has, whatever fails.
 */
#include "cuda/capture.h"

#include "cuda/copy.h"
#include "tests/support/fake_cuda.h"

#define KIB ((size_t)1 << 10)

static struct tfd_cuda_device device;
static struct tfd_cuda_pool pinned;

/* Of 64 MiB, so that captures may have 16. */
static void begin(void)
{
    const struct tfd_cuda_device_options o = {.driver = &fake_driver,
                                              .memory_limit = 64 * FAKE_MIB,
                                              .grows = true,
                                              .pinned = &pinned};
    struct tfd_status st = TFD_STATUS_INIT;

    fake_init();
    tfd_cuda_pinned_init(&pinned, &fake_driver, 64 * FAKE_MIB);
    assert_int_equal(tfd_cuda_device_init(&device, &o, &st), TFD_OK);
}

static void end(void)
{
    tfd_cuda_device_deinit(&device);
    assert_int_equal(device.captures.reserved, 0);
    tfd_cuda_pool_deinit(&pinned);
    fake_deinit();
}

static struct tfd_cuda_capture *capture(void)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_capture *c = NULL;

    assert_int_equal(tfd_cuda_capture_begin(&device, &c, &st), TFD_OK);
    assert_ptr_not_equal(c->stream, device.stream);
    return c;
}

static void capture_end(struct tfd_cuda_capture *c)
{
    struct tfd_status st = TFD_STATUS_INIT;

    assert_int_equal(tfd_cuda_capture_end(c, &st), TFD_OK);
}

static void launch(struct tfd_cuda_capture *c)
{
    struct tfd_status st = TFD_STATUS_INIT;

    assert_int_equal(tfd_cuda_capture_launch(c, &st), TFD_OK);
}

static struct tfd_buffer *make(struct tfd_memory *m, size_t size)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_buffer *b = m->make(m, size, &st);

    assert_non_null(b);
    return b;
}

static void expect(enum tfd_code rc, const struct tfd_status *st,
                   enum tfd_code code, const char *text)
{
    assert_int_equal(rc, code);
    assert_int_equal(st->code, code);
    assert_non_null(strstr(st->text, text));
}

/* Until a stream has done what it has. */
static void drain(void *stream)
{
    void *event;

    assert_int_equal(fake_event_make(&event), 0);
    assert_int_equal(fake_event_record(event, stream), 0);
    assert_int_equal(fake_event_wait(event), 0);
    fake_event_release(event);
}

static int graphs(void)
{
    int count;

    pthread_mutex_lock(&fake.lock);
    count = fake.graphs;
    pthread_mutex_unlock(&fake.lock);
    return count;
}

/* ---- Kernels ------------------------------------------------------------- */

struct args {
    const int *x;
    int *y;
    int number;
};

static void add(void *args)
{
    const struct args *a = args;

    *a->y = *a->x + a->number;
}

static void set(void *args)
{
    const struct args *a = args;

    *a->y = a->number;
}

static void run(void *stream, void (*kernel)(void *),
                const struct tfd_buffer *x, struct tfd_buffer *y, int number)
{
    const struct args a = {x ? x->data : NULL, y->data, number};

    assert_int_equal(fake_launch(stream, kernel, &a, sizeof(a)), 0);
}

static int number_in(const struct tfd_buffer *b)
{
    drain(device.stream);
    return *(const int *)b->data;
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

/* ---- Memory -------------------------------------------------------------- */

static void test_memory_knows_its_device(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_capture *c;
    struct tfd_buffer *x, *y;

    (void)state;
    begin();
    c = capture();
    assert_ptr_equal(tfd_cuda_device_of(c->memory), &device);
    assert_ptr_equal(tfd_cuda_device_of(&device.pool.memory), &device);
    x = make(c->memory, 2 * sizeof(int));
    y = make(c->memory, 2 * sizeof(int));
    run(c->stream, set, NULL, x, 7);
    assert_int_equal(c->memory->copy_runs(c->memory, c->stream,
                                          (int *)y->data + 1, 4, x->data, 4, 4,
                                          1, &st),
                     TFD_OK);
    capture_end(c);
    launch(c);
    drain(device.stream);
    assert_int_equal(((int *)y->data)[1], 7);
    tfd_buffer_unref(x);
    tfd_buffer_unref(y);
    tfd_cuda_capture_drop(c);
    end();
}

static bool overlap(const struct tfd_buffer *b, const char *at, size_t size)
{
    return (const char *)b->data < at + size &&
           at < (const char *)b->data + b->size;
}

static void test_memory_given_back_is_for_the_same_capture_only(void **state)
{
    struct tfd_buffer *others[32], *b;
    struct tfd_cuda_capture *c, *d;
    const char *at;

    (void)state;
    begin();
    c = capture();
    b = make(c->memory, 64 * KIB);
    at = b->data;
    tfd_buffer_unref(b);
    b = make(c->memory, 64 * KIB);
    assert_ptr_equal(b->data, at);
    tfd_buffer_unref(b);
    capture_end(c);
    d = capture();
    for (int i = 0; i < 32; i++) {
        others[i] =
            make(i % 4 == 0 ? d->memory : &device.pool.memory, 64 * KIB);
        assert_false(overlap(others[i], at, 64 * KIB));
    }
    for (int i = 0; i < 32; i++)
        tfd_buffer_unref(others[i]);
    tfd_cuda_capture_drop(d);
    tfd_cuda_capture_drop(c);
    end();
}

static size_t in_use(void)
{
    struct tfd_cuda_pool_stats s;

    tfd_cuda_pool_stats(&device.pool, &s);
    assert_int_equal(s.in_use, device.captures.reserved);
    return s.in_use;
}

static void test_memory_is_given_back_with_the_capture(void **state)
{
    struct tfd_cuda_capture *c;

    (void)state;
    begin();
    c = capture();
    assert_int_equal(in_use(), 0);
    tfd_buffer_unref(make(c->memory, 1));
    assert_true(in_use() > 0);
    tfd_buffer_unref(make(c->memory, 5 * FAKE_MIB));
    capture_end(c);
    assert_true(in_use() >= 5 * FAKE_MIB);
    tfd_cuda_capture_drop(c);
    assert_int_equal(in_use(), 0);
    end();
}

static void test_a_buffer_outlives_its_capture(void **state)
{
    struct tfd_cuda_capture *c;
    struct tfd_buffer *x, *gone;

    (void)state;
    begin();
    c = capture();
    x = make(c->memory, sizeof(int));
    gone = make(c->memory, FAKE_MIB);
    run(c->stream, set, NULL, x, 33);
    capture_end(c);
    launch(c);
    tfd_cuda_capture_drop(c);
    tfd_buffer_unref(gone);
    assert_int_equal(number_in(x), 33);
    assert_true(in_use() > 0);
    tfd_buffer_unref(x);
    assert_int_equal(in_use(), 0);
    end();
}

static void test_captures_together_have_a_quarter(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_capture *c, *d;
    struct tfd_buffer *b;

    (void)state;
    begin();
    c = capture();
    assert_null(c->memory->make(c->memory, 17 * FAKE_MIB, &st));
    expect(TFD_RESOURCE_EXHAUSTED, &st, TFD_RESOURCE_EXHAUSTED, "17825792");
    assert_non_null(strstr(st.text, "16777216"));
    b = make(c->memory, 10 * FAKE_MIB);
    capture_end(c);
    d = capture();
    tfd_status_clear(&st);
    assert_null(d->memory->make(d->memory, 7 * FAKE_MIB, &st));
    expect(TFD_RESOURCE_EXHAUSTED, &st, TFD_RESOURCE_EXHAUSTED, "7340032");
    assert_non_null(strstr(st.text, "16777216"));
    assert_null(d->memory->make(d->memory, 7 * FAKE_MIB, NULL));
    assert_null(d->memory->make(d->memory, SIZE_MAX, NULL));
    tfd_buffer_unref(b);
    tfd_cuda_capture_drop(c);
    tfd_buffer_unref(make(d->memory, 7 * FAKE_MIB));
    tfd_buffer_unref(make(&device.pool.memory, 40 * FAKE_MIB));
    tfd_cuda_capture_drop(d);
    end();
}

static void test_a_full_device_refuses_captured_memory(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_capture *c;
    struct tfd_buffer *b;

    (void)state;
    begin();
    b = make(&device.pool.memory, 60 * FAKE_MIB);
    c = capture();
    assert_null(c->memory->make(c->memory, 8 * FAKE_MIB, &st));
    expect(TFD_RESOURCE_EXHAUSTED, &st, TFD_RESOURCE_EXHAUSTED, "8388608");
    assert_non_null(strstr(st.text, "GPU:0"));
    assert_int_equal(device.captures.reserved, 0);
    tfd_cuda_capture_drop(c);
    tfd_buffer_unref(b);
    end();
}

/* ---- Host memory that is read -------------------------------------------- */

static void test_host_memory_has_the_bytes_of_the_capture(void **state)
{
    const struct tfd_shape shape = {1, {3}};
    struct tfd_tensor host = TFD_TENSOR_INIT, out = TFD_TENSOR_INIT;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_pool_stats stats;
    struct tfd_cuda_capture *c;
    struct tfd_kctx k = {0};

    (void)state;
    begin();
    assert_int_equal(tfd_tensor_new(&host, TFD_INT32, &shape, &st), TFD_OK);
    for (int i = 0; i < 3; i++)
        ((int *)tfd_tensor_data(&host))[i] = i + 1;
    c = capture();
    k.stream = c->stream;
    k.memory = c->memory;
    assert_int_equal(tfd_cuda_copy_for(&k, &host, &out, &st), TFD_OK);
    capture_end(c);
    memset(tfd_tensor_data(&host), 0, tfd_tensor_size(&host));
    tfd_tensor_unref(&host);
    for (int i = 0; i < 2; i++) {
        memset(tfd_tensor_data(&out), 0, tfd_tensor_size(&out));
        launch(c);
        drain(device.stream);
        assert_int_equal(((int *)tfd_tensor_data(&out))[2], 3);
    }
    fake_hold(device.stream);
    launch(c);
    tfd_cuda_capture_drop(c);
    tfd_cuda_pool_stats(&pinned, &stats);
    assert_true(stats.in_use > 0); /* a launch is yet to read it */
    fake_let_go();
    drain(device.stream);
    tfd_tensor_unref(&out);
    end();
}

static void test_a_copy_that_is_not_captured_happens_at_once(void **state)
{
    const struct tfd_shape shape = {1, {3}}, none = {1, {0}};
    struct tfd_tensor host = TFD_TENSOR_INIT, out = TFD_TENSOR_INIT;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx k = {0};

    (void)state;
    begin();
    k.stream = device.stream;
    k.memory = &device.pool.memory;
    assert_int_equal(tfd_tensor_new(&host, TFD_INT32, &shape, &st), TFD_OK);
    memset(tfd_tensor_data(&host), 1, tfd_tensor_size(&host));
    assert_int_equal(tfd_cuda_copy_for(&k, &host, &out, &st), TFD_OK);
    tfd_tensor_unref(&host);
    drain(device.stream);
    assert_int_equal(*(int *)tfd_tensor_data(&out), 0x01010101);
    tfd_tensor_unref(&out);
    host = (struct tfd_tensor){TFD_INT32, none, NULL};
    k.stream = NULL; /* of a capture */
    assert_int_equal(tfd_cuda_copy_for(&k, &host, &out, &st), TFD_OK);
    assert_null(out.buffer);
    end();
}

static void test_a_captured_copy_that_fails_leaves_nothing(void **state)
{
    const struct tfd_shape shape = {1, {3}}, large = {1, {5 << 20}};
    struct tfd_tensor host = TFD_TENSOR_INIT, out = TFD_TENSOR_INIT;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_capture *c;
    struct tfd_kctx k = {0};

    (void)state;
    begin();
    c = capture();
    k.stream = c->stream;
    k.memory = c->memory;
    assert_int_equal(tfd_tensor_new(&host, TFD_INT32, &shape, &st), TFD_OK);
    fake.copy_error = 1;
    expect(tfd_cuda_copy_for(&k, &host, &out, &st), &st, TFD_INTERNAL, "copy");
    assert_null(out.buffer);
    fake.copy_error = 0;
    tfd_tensor_unref(&host);
    tfd_status_clear(&st);
    assert_int_equal(tfd_tensor_new(&host, TFD_INT32, &large, &st), TFD_OK);
    expect(tfd_cuda_copy_for(&k, &host, &out, &st), &st, TFD_RESOURCE_EXHAUSTED,
           "16777216");
    assert_null(out.buffer);
    tfd_tensor_unref(&host);
    tfd_cuda_capture_drop(c);
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
        cmocka_unit_test(test_memory_knows_its_device),
        cmocka_unit_test(test_memory_given_back_is_for_the_same_capture_only),
        cmocka_unit_test(test_memory_is_given_back_with_the_capture),
        cmocka_unit_test(test_a_buffer_outlives_its_capture),
        cmocka_unit_test(test_captures_together_have_a_quarter),
        cmocka_unit_test(test_a_full_device_refuses_captured_memory),
        cmocka_unit_test(test_host_memory_has_the_bytes_of_the_capture),
        cmocka_unit_test(test_a_copy_that_is_not_captured_happens_at_once),
        cmocka_unit_test(test_a_captured_copy_that_fails_leaves_nothing),
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
