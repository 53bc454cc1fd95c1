/*
 * test_cuda_intake.c - cuda/intake.c and cuda/copy.c: copies to a device and
 * its kernels do not wait for each other, but where one has what the other
 * needs.
 */
#include "cuda/intake.h"

#include "common/alloc.h"
#include "cuda/copy.h"
#include "daemon/gpu.h"
#include "tests/support/fake_cuda.h"

#include <sched.h>

#define COUNT 32768 /* floats: 128 KiB */
#define SIZE (COUNT * sizeof(float))
#define SMALL 1000

static struct tfd_cuda_device device;
static struct tfd_cuda_pool pinned;

static void begin(size_t limit)
{
    const struct tfd_cuda_device_options o = {
        .driver = &fake_driver, .memory_limit = limit, .pinned = &pinned};
    struct tfd_status st = TFD_STATUS_INIT;

    fake_init();
    fake.total[0] = 256 * FAKE_MIB;
    tfd_cuda_pinned_init(&pinned, &fake_driver, 64 * FAKE_MIB);
    assert_int_equal(tfd_cuda_device_init(&device, &o, &st), TFD_OK);
}

static void end(void)
{
    fake_let_go();
    tfd_cuda_device_deinit(&device);
    tfd_cuda_pool_deinit(&pinned);
    fake_deinit();
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

/* What it has is behind something held: it stays there however long others
 * have the processor. */
static bool is_waiting(void *stream)
{
    bool is = true;
    void *event;

    assert_int_equal(fake_event_make(&event), 0);
    assert_int_equal(fake_event_record(event, stream), 0);
    for (int i = 0; i < 20 && is; i++) {
        sched_yield();
        is = fake_event_query(event) == TFD_CUDA_NOT_READY;
    }
    fake_event_release(event);
    return is;
}

static struct tfd_tensor host_value(int count, float x)
{
    const struct tfd_shape shape = {1, {count}};
    struct tfd_tensor t = TFD_TENSOR_INIT;

    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, &shape, NULL), TFD_OK);
    for (int i = 0; i < count; i++)
        ((float *)tfd_tensor_data(&t))[i] = x;
    return t;
}

static struct tfd_tensor bring(int count, float x)
{
    struct tfd_tensor value = host_value(count, x), out;
    struct tfd_status st = TFD_STATUS_INIT;

    if (tfd_cuda_copy_in(&device, &value, &out, &st) != TFD_OK)
        fail_msg("%s", st.text);
    tfd_tensor_unref(&value);
    return out;
}

/* ---- Kernels ------------------------------------------------------------- */

struct args {
    const float *x;
    int count;
    float *y;
};

static void last(void *args)
{
    const struct args *a = args;

    *a->y = a->x[0] == a->x[a->count - 1] ? a->x[a->count - 1] : -1;
}

static void set(void *args)
{
    *((struct args *)args)->y = 77;
}

/* Enqueues what leaves the value in *y, or -1 if the ends of t differ. */
static void read_value(const struct tfd_tensor *t, float *y)
{
    struct args a = {tfd_tensor_data(t), (int)tfd_tensor_elements(t), y};

    assert_int_equal(tfd_cuda_copy_await(&device, t, 1, NULL), TFD_OK);
    assert_int_equal(fake_launch(device.stream, last, &a, sizeof(a)), 0);
}

static void run_unrelated(void)
{
    float y = 0;
    struct args a = {.y = &y};

    assert_int_equal(fake_launch(device.stream, set, &a, sizeof(a)), 0);
    drain(device.stream);
    assert_true(y == 77);
}

/* The intake has a block for values of COUNT floats. */
static void warm_up(void)
{
    struct tfd_tensor t = bring(COUNT, 1);
    float y;

    read_value(&t, &y);
    tfd_tensor_unref(&t);
    drain(device.stream);
    assert_true(y == 1);
}

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

/* Others are brought, and awaited, where kernels are enqueued. */
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
    assert_int_equal(device.intake.count, 0);
    end();
}

/* ---- Blocks -------------------------------------------------------------- */

/* There may be one block, so the copy waits for its readers. */
static void test_a_block_is_not_written_while_it_is_read(void **state)
{
    struct tfd_tensor t;
    const void *at;
    float x = 0, y = 0;

    (void)state;
    begin(SIZE * TFD_CUDA_INTAKE_PART);
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
    begin(SIZE * TFD_CUDA_INTAKE_PART);
    fake_hold(device.in);
    t = bring(COUNT, 1);
    tfd_tensor_unref(&t);
    assert_true(tfd_cuda_intake_relieve(&device.intake));
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
    begin(2 * SIZE * TFD_CUDA_INTAKE_PART);
    a = bring(COUNT, 1);
    at = tfd_tensor_data(&a);
    fake_hold(device.stream);
    read_value(&a, &x);
    tfd_tensor_unref(&a);
    b = bring(COUNT, 2);
    assert_ptr_not_equal(tfd_tensor_data(&b), at);
    read_value(&b, &y);
    tfd_tensor_unref(&b);
    assert_int_equal(device.intake.count, 2);
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
    assert_int_equal(device.intake.count, 3);
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
        assert_int_equal(device.intake.count, many ? TFD_CUDA_INTAKE_MAX : 10);
        assert_true(device.intake.size <= 32 * FAKE_MIB);
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
    assert_int_equal(device.intake.count, 1); /* and what is, stays */
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
        assert_true(device.intake.size <= 2 * FAKE_MIB);
        assert_true(device.intake.count > 0);
    }
    end();
}

/* ---- Memory -------------------------------------------------------------- */

static struct tfd_cuda_pool_stats stats(void)
{
    struct tfd_cuda_pool_stats s;

    tfd_cuda_pool_stats(&device.pool, &s);
    return s;
}

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
    assert_int_equal(device.intake.count, 8);
    all = tfd_cuda_pool_make(&device.pool, 8 * FAKE_MIB, &st);
    assert_non_null(all);
    assert_int_equal(device.intake.count, 0);
    assert_int_equal(stats().failures, 0);
    assert_null(tfd_cuda_pool_make(&device.pool, 1, &st));
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
    all = tfd_cuda_pool_make(&device.pool, 8 * FAKE_MIB, &st);
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
    assert_int_equal(device.intake.count, 0);
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
        (void)tfd_cuda_intake_relieve(&device.intake);
    for (int i = 0; i < 4; i++) {
        pthread_join(b[i].thread, NULL);
        check_values(&b[i]);
    }
    end();
}

/* ---- Cards of a process -------------------------------------------------- */

static const struct {
    const char *limits; /* of virtual devices */
    int devices, error, peers;
} cards[] = {
    {NULL, 1, 0, 0},   {NULL, 2, 0, 2},    {NULL, 3, 0, 6},
    {NULL, 3, 217, 0}, {"8,8;8", 2, 0, 2}, /* two of one card */
    {"8,8", 2, 0, 0},
};

static void test_cards_reach_each_other_where_they_can(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cards) / sizeof(cards[0]); i++) {
        const struct tfd_cuda_options o = {.count_max = -1,
                                           .virtual_limits = cards[i].limits};
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_gpus *gpus;

        fake_init();
        fake.devices = cards[i].devices;
        fake.peer_error = cards[i].error;
        for (int j = 0; j < FAKE_DEVICES; j++)
            fake.total[j] = 1024 * FAKE_MIB;
        assert_int_equal(tfd_gpus_new(&fake_driver, &o, NULL, NULL, &gpus, &st),
                         TFD_OK);
        assert_int_equal(
            tfd_gpus_count(gpus),
            cards[i].limits && cards[i].peers == 2 ? 3 : cards[i].devices);
        assert_int_equal(fake.peers, cards[i].peers);
        tfd_gpus_free(gpus);
        fake_deinit();
    }
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
        TEST(test_a_block_is_not_written_while_it_is_read),
        TEST(test_a_value_that_nobody_reads_ends_before_its_block),
        TEST(test_another_block_is_taken_while_there_may_be_more),
        TEST(test_steps_that_are_alike_have_values_in_one_place),
        TEST(test_what_is_kept_has_a_bound),
        TEST(test_a_value_beyond_the_bound_is_not_kept),
        TEST(test_sizes_may_change),
        TEST(test_memory_that_is_short_is_given_back),
        TEST(test_a_copy_without_memory_fails),
        TEST(test_a_value_on_its_way_can_be_copied_out),
        TEST(test_a_copy_that_is_refused_leaves_nothing),
        TEST(test_a_lost_device_gets_its_blocks_back),
        TEST(test_threads_bring_values_at_once),
        TEST(test_cards_reach_each_other_where_they_can),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
