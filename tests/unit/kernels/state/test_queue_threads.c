/*
 * test_queue_threads.c - queues and accumulators under threads that put, take,
 * cancel and close at once: nothing is lost, nothing comes twice, everything
 * finishes once.
 */
#include "tests/support/async_rig.h"

#include "common/thread/pool.h"

#include <pthread.h>
#include <sched.h>

#define EACH 200 /* executions of one kind */

static struct arig_run *puts_[EACH], *takes[EACH], *batches[EACH];

/* Everything is made before there are threads: the graph is nobody's then. */
static void make_all(struct arig_run *q)
{
    char value[32];

    for (int i = 0; i < EACH; i++) {
        snprintf(value, sizeof(value), "int32 %d", i + 1);
        puts_[i] = arig_make("QueueEnqueueV2", NULL, "Tcomponents=[int32]", q,
                             ARIG_IN(value));
        takes[i] = arig_make("QueueDequeueV2", NULL, "component_types=[int32]",
                             q, NULL);
        batches[i] =
            arig_make("QueueDequeueManyV2", NULL, "component_types=[int32]", q,
                      ARIG_IN("int32 3"));
    }
}

static void *begin_puts(void *arg)
{
    (void)arg;
    for (int i = 0; i < EACH; i++)
        arig_begin(puts_[i]);
    return NULL;
}

static void *begin_takes(void *arg)
{
    (void)arg;
    for (int i = 0; i < EACH; i++) {
        arig_begin(i % 2 ? takes[i] : batches[i]);
        arig_begin(i % 2 ? batches[i] : takes[i]);
    }
    return NULL;
}

/* Every third is cancelled, before, while or after it waits. */
static void *cancel_some(void *arg)
{
    (void)arg;
    for (int i = 0; i < EACH; i += 3) {
        arig_cancel(takes[i]);
        arig_cancel(batches[i]);
        arig_cancel(puts_[EACH - 1 - i]);
        sched_yield();
    }
    return NULL;
}

static void run_all(void)
{
    void *(*const jobs[])(void *) = {begin_puts, begin_takes, cancel_some};
    pthread_t threads[3];

    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, jobs[i], NULL), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static int64_t sum_of(const struct arig_run *r)
{
    const int32_t *v = tfd_tensor_data(&r->out[0]);
    int64_t sum = 0;

    if (r->st.code != TFD_OK)
        return 0;
    for (int64_t i = 0; i < tfd_tensor_elements(&r->out[0]); i++)
        sum += v[i];
    return sum;
}

static void wait_for(struct arig_run *r)
{
    while (!arig_finished(r))
        sched_yield();
}

/* What came out and what is left is what went in. */
static void check_sums(struct arig_run *q)
{
    struct arig_run *rest;
    int64_t in = 0, out = 0;

    arig_expect_ok(
        arig_start("QueueCloseV2", "cancel_pending_enqueues=true", q, NULL));
    for (int i = 0; i < EACH; i++) {
        wait_for(puts_[i]);
        wait_for(takes[i]);
        wait_for(batches[i]);
        in += puts_[i]->st.code == TFD_OK ? i + 1 : 0;
        out += sum_of(takes[i]) + sum_of(batches[i]);
    }
    rest = arig_start("QueueDequeueUpToV2", "component_types=[int32]", q,
                      ARIG_IN("int32 1000"));
    wait_for(rest);
    assert_int_equal(in, out + sum_of(rest));
}

static void stress(const char *op, const char *more)
{
    struct arig_run *q;
    char attrs[100];

    snprintf(attrs, sizeof(attrs), "component_types=[int32] shapes=[] %s",
             more);
    q = arig_start(op, attrs, NULL, NULL);
    arig_expect_ok(q);
    make_all(q);
    run_all();
    check_sums(q);
}

static void test_a_bounded_queue(void **state)
{
    (void)state;
    stress("FIFOQueueV2", "capacity=4");
}

static void test_an_unbounded_queue(void **state)
{
    (void)state;
    stress("FIFOQueueV2", "capacity=-1");
}

static void test_a_padding_queue(void **state)
{
    (void)state;
    stress("PaddingFIFOQueueV2", "capacity=4");
}

static void test_a_random_queue(void **state)
{
    (void)state;
    stress("RandomShuffleQueueV2", "capacity=9 min_after_dequeue=2");
}

/* A batch above the size that is put together at once goes to the pool. */
static void test_a_large_batch_is_put_together_elsewhere(void **state)
{
    struct arig_run *q, *out;

    (void)state;
    arig.rt.pool = tfd_pool_new(1, NULL);
    q = arig_start("FIFOQueueV2", "component_types=[int32] shapes=[200000]",
                   NULL, NULL);
    out = arig_start("QueueDequeueManyV2", "component_types=[int32]", q,
                     ARIG_IN("int32 3"));
    for (int i = 0; i < 3; i++)
        arig_expect_ok(arig_start("QueueEnqueueV2", "Tcomponents=[int32]", q,
                                  ARIG_IN("int32[200000] 7")));
    wait_for(out);
    tfd_pool_free(arig.rt.pool);
    arig_expect(out, 0, "int32[3,200000] 7");
}

/* ---- Accumulators -------------------------------------------------------- */

static void *apply_all(void *arg)
{
    (void)arg;
    for (int i = 0; i < EACH; i++)
        arig_begin(puts_[i]);
    return NULL;
}

static void *take_all(void *arg)
{
    (void)arg;
    for (int i = 0; i < EACH; i++)
        arig_begin(takes[i]);
    return NULL;
}

static void *cancel_takes(void *arg)
{
    (void)arg;
    for (int i = 0; i < EACH; i += 3) {
        arig_cancel(takes[i]);
        sched_yield();
    }
    return NULL;
}

static void test_an_accumulator(void **state)
{
    void *(*const jobs[])(void *) = {apply_all, take_all, cancel_takes};
    struct arig_run *a =
        arig_start("ResourceConditionalAccumulator",
                   "dtype=float shape=[] reduction_type=SUM", NULL, NULL);
    pthread_t threads[3];
    float sum = 0;

    (void)state;
    for (int i = 0; i < EACH; i++) {
        puts_[i] =
            arig_make("ResourceAccumulatorApplyGradient", NULL, "dtype=float",
                      a, ARIG_IN("int64 1000000", "float 1"));
        takes[i] = arig_make("ResourceAccumulatorTakeGradient", NULL,
                             "dtype=float", a, ARIG_IN("int32 2"));
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, jobs[i], NULL), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < EACH; i++) {
        arig_cancel(takes[i]);
        wait_for(takes[i]);
        if (takes[i]->st.code == TFD_OK)
            sum += *(const float *)tfd_tensor_data(&takes[i]->out[0]);
    }
    puts_[0] = arig_start("ResourceAccumulatorNumAccumulated", "", a, NULL);
    arig_expect_ok(puts_[0]);
    sum += (float)*(const int32_t *)tfd_tensor_data(&puts_[0]->out[0]);
    assert_true(sum == EACH);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, arig_setup, arig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_bounded_queue),
        TEST(test_an_unbounded_queue),
        TEST(test_a_padding_queue),
        TEST(test_a_random_queue),
        TEST(test_a_large_batch_is_put_together_elsewhere),
        TEST(test_an_accumulator),
    };

    return cmocka_run_group_tests_name("queue_threads", tests, NULL, NULL);
}
