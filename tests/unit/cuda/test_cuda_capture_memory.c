/*
 * test_cuda_capture_memory.c - cuda/device/capture.c: a capture works in memory
 * that nobody else has, and has the bytes of host memory that it reads.
 */
#include "tests/support/capture_rig.h"

#include "cuda/device/copy.h"

#define KIB ((size_t)1 << 10)

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
    struct tfd_cuda_memory_pool_stats s;

    tfd_cuda_memory_pool_stats(&device.pool, &s);
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
    struct tfd_cuda_memory_pool_stats stats;
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
    tfd_cuda_memory_pool_stats(&pinned, &stats);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_knows_its_device),
        cmocka_unit_test(test_memory_given_back_is_for_the_same_capture_only),
        cmocka_unit_test(test_memory_is_given_back_with_the_capture),
        cmocka_unit_test(test_a_buffer_outlives_its_capture),
        cmocka_unit_test(test_captures_together_have_a_quarter),
        cmocka_unit_test(test_a_full_device_refuses_captured_memory),
        cmocka_unit_test(test_host_memory_has_the_bytes_of_the_capture),
        cmocka_unit_test(test_a_copy_that_is_not_captured_happens_at_once),
        cmocka_unit_test(test_a_captured_copy_that_fails_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
