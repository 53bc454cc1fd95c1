/*
 * test_cuda_copy_pool.c - cuda/device/copy_pool.c: blocks are used again when
 * nobody reads them, kept within bounds, and given back when memory is short.
 */
#include "tests/support/copy_pool_rig.h"

/* ---- Blocks -------------------------------------------------------------- */

/* There may be one block, so the copy waits for its readers. */
static void test_a_block_is_not_written_while_it_is_read(void **state)
{
    struct tfd_tensor t;
    const void *at;
    float x = 0, y = 0;

    (void)state;
    begin(SIZE * TFD_CUDA_COPY_POOL_PART);
    t = bring(COUNT, 1);
    at = tfd_tensor_data(&t);
    fake_hold(device.stream);
    read_value(&t, &x);
    tfd_tensor_unref(&t);
    t = bring(COUNT, 2);
    assert_ptr_equal(tfd_tensor_data(&t), at);
    assert_true(is_waiting(device.in));
    read_value(&t, &y);
    fake_let_go();
    drain(device.stream);
    assert_true(x == 1);
    assert_true(y == 2);
    tfd_tensor_unref(&t);
    end();
}

static void test_a_value_that_nobody_reads_ends_before_its_block(void **state)
{
    struct tfd_tensor t;
    float y = 0;

    (void)state;
    begin(SIZE * TFD_CUDA_COPY_POOL_PART);
    fake_hold(device.in);
    t = bring(COUNT, 1);
    tfd_tensor_unref(&t);
    assert_true(tfd_cuda_copy_pool_relieve(&device.copy_pool));
    assert_true(is_waiting(device.stream)); /* who gets the memory next */
    t = bring(COUNT, 2);
    read_value(&t, &y);
    fake_let_go();
    drain(device.stream);
    assert_true(y == 2);
    tfd_tensor_unref(&t);
    end();
}

static void test_another_block_is_taken_while_there_may_be_more(void **state)
{
    struct tfd_tensor a, b;
    const void *at;
    float x = 0, y = 0;

    (void)state;
    begin(2 * SIZE * TFD_CUDA_COPY_POOL_PART);
    a = bring(COUNT, 1);
    at = tfd_tensor_data(&a);
    fake_hold(device.stream);
    read_value(&a, &x);
    tfd_tensor_unref(&a);
    b = bring(COUNT, 2);
    assert_ptr_not_equal(tfd_tensor_data(&b), at);
    read_value(&b, &y);
    tfd_tensor_unref(&b);
    assert_int_equal(device.copy_pool.count, 2);
    fake_let_go();
    drain(device.stream);
    assert_true(x == 1);
    assert_true(y == 2);
    end();
}

static void test_steps_that_are_alike_have_values_in_one_place(void **state)
{
    const int counts[3] = {COUNT, COUNT, 3 * COUNT};
    const void *at[3] = {NULL, NULL, NULL};
    struct tfd_tensor t[3];
    float y[3];

    (void)state;
    begin(64 * FAKE_MIB);
    for (int step = 0; step < 5; step++) {
        for (int i = 0; i < 3; i++) {
            t[i] = bring(counts[i], (float)(10 * step + i));
            read_value(&t[i], &y[i]);
        }
        drain(device.stream);
        for (int i = 0; i < 3; i++) {
            if (step)
                assert_ptr_equal(tfd_tensor_data(&t[i]), at[i]);
            at[i] = tfd_tensor_data(&t[i]);
            assert_true(y[i] == (float)(10 * step + i));
        }
        for (int i = 0; i < 3; i++) /* in any order */
            tfd_tensor_unref(&t[step % 2 ? i : 2 - i]);
        drain(device.stream);
    }
    assert_int_equal(device.copy_pool.count, 3);
    end();
}

static void test_what_is_kept_has_a_bound(void **state)
{
    struct tfd_tensor t[300];

    (void)state;
    for (int many = 0; many < 2; many++) {
        const int count = many ? 16384 : 6 * COUNT;
        const int n = many ? 300 : 30;

        begin(many ? 256 * FAKE_MIB : 64 * FAKE_MIB);
        for (int i = 0; i < n; i++)
            t[i] = bring(count, 1);
        for (int i = 0; i < n; i++)
            tfd_tensor_unref(&t[i]);
        assert_int_equal(device.copy_pool.count,
                         many ? TFD_CUDA_COPY_POOL_MAX : 10);
        assert_true(device.copy_pool.size <= 32 * FAKE_MIB);
        end();
    }
}

static void test_a_value_beyond_the_bound_is_not_kept(void **state)
{
    struct tfd_tensor t;
    float y = 0;

    (void)state;
    begin(8 * FAKE_MIB);
    warm_up();
    t = bring(10 * COUNT, 4);
    read_value(&t, &y);
    drain(device.stream);
    assert_true(y == 4);
    tfd_tensor_unref(&t);
    assert_int_equal(device.copy_pool.count, 1); /* and what is, stays */
    end();
}

/* Those of other sizes make room. */
static void test_sizes_may_change(void **state)
{
    struct tfd_tensor t;
    float y = 0;

    (void)state;
    begin(16 * FAKE_MIB);
    for (int i = 1; i < 12; i++) {
        t = bring(i * COUNT, (float)i);
        read_value(&t, &y);
        tfd_tensor_unref(&t);
        drain(device.stream);
        assert_true(y == (float)i);
        assert_true(device.copy_pool.size <= 2 * FAKE_MIB);
        assert_true(device.copy_pool.count > 0);
    }
    end();
}

/* ---- Memory -------------------------------------------------------------- */

static void test_memory_that_is_short_is_given_back(void **state)
{
    struct tfd_buffer *all;
    struct tfd_tensor t[8];
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    begin(8 * FAKE_MIB);
    for (int i = 0; i < 8; i++)
        t[i] = bring(COUNT, 1);
    assert_int_equal(stats().in_use, 8 * SIZE);
    for (int i = 0; i < 8; i++)
        tfd_tensor_unref(&t[i]);
    assert_int_equal(stats().in_use, 0);
    assert_int_equal(device.copy_pool.count, 8);
    all = tfd_cuda_memory_pool_make(&device.pool, 8 * FAKE_MIB, &st);
    assert_non_null(all);
    assert_int_equal(device.copy_pool.count, 0);
    assert_int_equal(stats().failures, 0);
    assert_null(tfd_cuda_memory_pool_make(&device.pool, 1, &st));
    assert_int_equal(st.code, TFD_RESOURCE_EXHAUSTED);
    assert_int_equal(stats().failures, 1);
    tfd_buffer_unref(all);
    warm_up();
    end();
}

static void test_a_copy_without_memory_fails(void **state)
{
    struct tfd_tensor value = host_value(COUNT, 1), out;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_buffer *all;

    (void)state;
    begin(8 * FAKE_MIB);
    warm_up();
    all = tfd_cuda_memory_pool_make(&device.pool, 8 * FAKE_MIB, &st);
    assert_non_null(all);
    assert_int_equal(tfd_cuda_copy_in(&device, &value, &out, &st),
                     TFD_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(st.text, "131072"));
    assert_null(out.buffer);
    tfd_buffer_unref(all);
    warm_up();
    tfd_tensor_unref(&value);
    end();
}

/* ---- Threads ------------------------------------------------------------- */

#define ROUNDS 100

struct bringer {
    pthread_t thread;
    int number;
    float x[ROUNDS][3];
};

static float expected(const struct bringer *b, int i, int j)
{
    return (float)(b->number * 1000 + i * 3 + j);
}

static void *bring_many(void *arg)
{
    struct bringer *b = arg;

    (void)fake_use(0);
    for (int i = 0; i < ROUNDS; i++) {
        struct tfd_tensor t[3];

        for (int j = 0; j < 3; j++) {
            t[j] = bring((1 + (i + j) % 3) * COUNT / 2, expected(b, i, j));
            if ((i + j) % 5)
                read_value(&t[j], &b->x[i][j]);
        }
        for (int j = 0; j < 3; j++)
            tfd_tensor_unref(&t[j]);
        if (i % 4 == 0)
            drain(device.stream);
    }
    drain(device.stream);
    return NULL;
}

static void check_values(const struct bringer *b)
{
    for (int i = 0; i < ROUNDS; i++)
        for (int j = 0; j < 3; j++)
            if ((i + j) % 5)
                assert_true(b->x[i][j] == expected(b, i, j));
}

static void test_threads_bring_values_at_once(void **state)
{
    static struct bringer b[4];

    (void)state;
    begin(4 * FAKE_MIB); /* too little for all of them to have blocks */
    for (int i = 0; i < 4; i++) {
        b[i].number = i;
        assert_int_equal(pthread_create(&b[i].thread, NULL, bring_many, &b[i]),
                         0);
    }
    for (int i = 0; i < 200; i++)
        (void)tfd_cuda_copy_pool_relieve(&device.copy_pool);
    for (int i = 0; i < 4; i++) {
        pthread_join(b[i].thread, NULL);
        check_values(&b[i]);
    }
    end();
}

#define TEST(f) cmocka_unit_test(f)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_block_is_not_written_while_it_is_read),
        TEST(test_a_value_that_nobody_reads_ends_before_its_block),
        TEST(test_another_block_is_taken_while_there_may_be_more),
        TEST(test_steps_that_are_alike_have_values_in_one_place),
        TEST(test_what_is_kept_has_a_bound),
        TEST(test_a_value_beyond_the_bound_is_not_kept),
        TEST(test_sizes_may_change),
        TEST(test_memory_that_is_short_is_given_back),
        TEST(test_a_copy_without_memory_fails),
        TEST(test_threads_bring_values_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
