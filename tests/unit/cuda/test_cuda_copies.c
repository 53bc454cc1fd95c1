/*
 * test_cuda_copies.c - cuda/device/copy.c: copies to a device and its kernels
 * do not wait for each other, but where one has what the other needs.
 */
#include "tests/support/copy_pool_rig.h"

#define SMALL 1000

/* ---- Overlap ------------------------------------------------------------- */

static void test_a_copy_keeps_no_other_kernel_waiting(void **state)
{
    struct tfd_tensor t;
    float y = 0;

    (void)state;
    for (int warm = 0; warm < 2; warm++) {
        begin(64 * FAKE_MIB);
        if (warm)
            warm_up();
        fake_hold(device.in);
        t = bring(COUNT, 5);
        run_unrelated();
        read_value(&t, &y);
        assert_true(is_waiting(device.stream));
        fake_let_go();
        drain(device.stream);
        assert_true(y == 5);
        tfd_tensor_unref(&t);
        end();
    }
}

static void test_a_kernel_keeps_no_copy_waiting(void **state)
{
    struct tfd_tensor t;
    float y = 0;

    (void)state;
    begin(64 * FAKE_MIB);
    warm_up();
    fake_hold(device.stream);
    t = bring(COUNT, 6);
    drain(device.in);
    assert_true(((float *)tfd_tensor_data(&t))[COUNT - 1] == 6);
    read_value(&t, &y);
    fake_let_go();
    drain(device.stream);
    assert_true(y == 6);
    tfd_tensor_unref(&t);
    end();
}

/* Memory that comes from the pool may be in use. */
static void test_the_first_copy_waits_for_kernels(void **state)
{
    struct tfd_tensor t;
    float y = 0;

    (void)state;
    begin(64 * FAKE_MIB);
    fake_hold(device.stream);
    t = bring(COUNT, 6);
    assert_true(is_waiting(device.in));
    read_value(&t, &y);
    fake_let_go();
    drain(device.stream);
    assert_true(y == 6);
    tfd_tensor_unref(&t);
    end();
}

static void test_mapped_memory_comes_alongside_kernels(void **state)
{
    struct tfd_tensor there = host_value(COUNT, 8), t;
    float y = 0;

    (void)state;
    begin(64 * FAKE_MIB);
    warm_up();
    fake_hold(device.across);
    assert_int_equal(tfd_cuda_copy_mapped(&device, tfd_tensor_data(&there),
                                          &there, &t, NULL),
                     TFD_OK);
    run_unrelated();
    read_value(&t, &y);
    fake_let_go();
    drain(device.stream);
    assert_true(y == 8);
    tfd_tensor_unref(&t);
    tfd_tensor_unref(&there);
    end();
}

static void test_small_copies_are_in_the_order_of_kernels(void **state)
{
    struct tfd_tensor t;
    float y = 0;

    (void)state;
    begin(64 * FAKE_MIB);
    fake_hold(device.in);
    t = bring(SMALL, 3);
    read_value(&t, &y);
    drain(device.stream);
    assert_true(y == 3);
    tfd_tensor_unref(&t);
    assert_int_equal(device.copy_pool.count, 0);
    end();
}

/* ---- Copies of what was brought ------------------------------------------ */

struct copied {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct tfd_tensor t;
    enum tfd_code code;
    bool done;
};

static void take_copy(void *ctx, struct tfd_tensor *take_out,
                      const struct tfd_status *st)
{
    struct copied *c = ctx;

    pthread_mutex_lock(&c->lock);
    c->t = *take_out;
    c->code = st ? st->code : TFD_OK;
    c->done = true;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static void wait_copied(struct copied *c)
{
    pthread_mutex_lock(&c->lock);
    while (!c->done)
        pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

static void test_a_value_on_its_way_can_be_copied_out(void **state)
{
    struct copied c = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
                       TFD_TENSOR_INIT, TFD_OK, false};
    struct tfd_tensor t;

    (void)state;
    begin(64 * FAKE_MIB);
    fake_hold(device.in);
    t = bring(COUNT, 9);
    tfd_cuda_copy_out(&device, &t, take_copy, &c);
    assert_true(is_waiting(device.out));
    fake_let_go();
    wait_copied(&c);
    assert_int_equal(c.code, TFD_OK);
    assert_true(((float *)tfd_tensor_data(&c.t))[COUNT - 1] == 9);
    tfd_tensor_unref(&c.t);
    tfd_tensor_unref(&t);
    end();
}

/* ---- Failures ------------------------------------------------------------ */

static void test_a_copy_that_is_refused_leaves_nothing(void **state)
{
    struct tfd_tensor value = host_value(COUNT, 1), out;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    begin(8 * FAKE_MIB);
    fake.copy_error = FAKE_INVALID;
    assert_int_equal(tfd_cuda_copy_in(&device, &value, &out, &st),
                     TFD_INTERNAL);
    assert_null(out.buffer);
    assert_int_equal(stats().in_use, 0);
    fake.copy_error = 0;
    warm_up();
    tfd_tensor_unref(&value);
    end();
}

static void test_a_lost_device_gets_its_blocks_back(void **state)
{
    struct tfd_tensor value = host_value(COUNT, 1), t, u, out;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    begin(64 * FAKE_MIB);
    warm_up();
    fake_hold(device.in);
    t = bring(COUNT, 2);
    u = bring(COUNT, 3);
    fake_break(TFD_CUDA_ILLEGAL_ADDRESS);
    assert_int_equal(tfd_cuda_copy_await(&device, &t, 1, &st), TFD_UNAVAILABLE);
    tfd_status_clear(&st);
    assert_int_equal(tfd_cuda_copy_in(&device, &value, &out, &st),
                     TFD_UNAVAILABLE);
    tfd_tensor_unref(&t);
    tfd_tensor_unref(&u);
    assert_int_equal(stats().in_use, 0);
    assert_int_equal(device.copy_pool.count, 0);
    tfd_tensor_unref(&value);
    end();
}

#define TEST(f) cmocka_unit_test(f)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_copy_keeps_no_other_kernel_waiting),
        TEST(test_a_kernel_keeps_no_copy_waiting),
        TEST(test_the_first_copy_waits_for_kernels),
        TEST(test_mapped_memory_comes_alongside_kernels),
        TEST(test_small_copies_are_in_the_order_of_kernels),
        TEST(test_a_value_on_its_way_can_be_copied_out),
        TEST(test_a_copy_that_is_refused_leaves_nothing),
        TEST(test_a_lost_device_gets_its_blocks_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
