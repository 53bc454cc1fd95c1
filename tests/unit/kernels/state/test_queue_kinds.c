/*
 * test_queue_kinds.c - kernels/state/queue_kinds.c and queue_batch.c: the order
 * in which each kind gives elements out, and how batches are put together.
 */
#include "tests/support/queue_rig.h"

static struct arig_run *make(const char *op, const char *attrs)
{
    struct arig_run *q = arig_start(op, attrs, NULL, NULL);

    arig_expect_ok(q);
    return q;
}

static struct arig_run *in(struct arig_run *q, const char *types,
                           const char *const *values)
{
    char attrs[80];

    snprintf(attrs, sizeof(attrs), "Tcomponents=%s", types);
    return arig_start("QueueEnqueueV2", attrs, q, values);
}

static struct arig_run *in_many(struct arig_run *q, const char *types,
                                const char *const *values)
{
    char attrs[80];

    snprintf(attrs, sizeof(attrs), "Tcomponents=%s", types);
    return arig_start("QueueEnqueueManyV2", attrs, q, values);
}

static struct arig_run *out_many(struct arig_run *q, const char *types,
                                 const char *n)
{
    char attrs[80];

    snprintf(attrs, sizeof(attrs), "component_types=%s", types);
    return arig_start("QueueDequeueManyV2", attrs, q, ARIG_IN(n));
}

static struct arig_run *out_up_to(struct arig_run *q, const char *types,
                                  const char *n)
{
    char attrs[80];

    snprintf(attrs, sizeof(attrs), "component_types=%s", types);
    return arig_start("QueueDequeueUpToV2", attrs, q, ARIG_IN(n));
}

#define NUMBERS "int32[20] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19"

/* ---- First in, first out ------------------------------------------------- */

static void test_a_ring_grows_and_turns(void **state)
{
    struct arig_run *q =
        make("FIFOQueueV2", "component_types=[int32] shapes=[]");
    char text[32];

    (void)state;
    for (int i = 0; i < 5; i++) {
        arig_expect_ok(in_many(q, "[int32]", ARIG_IN(NUMBERS)));
        arig_expect(out_many(q, "[int32]", "int32 3"), 0, "int32[3] 0 1 2");
        for (int j = 3; j < 20; j++) {
            snprintf(text, sizeof(text), "int32[1] %d", j);
            arig_expect(out_many(q, "[int32]", "int32 1"), 0, text);
        }
    }
    arig_expect_ok(in_many(q, "[int32]", ARIG_IN(NUMBERS)));
    arig_expect_ok(in_many(q, "[int32]", ARIG_IN(NUMBERS)));
    expect_size(q, "int32 40");
}

static void test_components_stay_together(void **state)
{
    struct arig_run *q =
        make("FIFOQueueV2",
             "component_types=[int32,string,double] shapes=[];[];[2]");
    struct arig_run *out;

    (void)state;
    arig_expect_ok(in_many(
        q, "[int32,string,double]",
        ARIG_IN("int32[2] 1 2", "string[2] one two", "double[2,2] 1 2 3 4")));
    arig_expect_ok(in(q, "[int32,string,double]",
                      ARIG_IN("int32 3", "string three", "double[2] 5 6")));
    out = out_many(q, "[int32,string,double]", "int32 3");
    arig_expect(out, 0, "int32[3] 1 2 3");
    arig_expect(out, 1, "string[3] one two three");
    arig_expect(out, 2, "double[3,2] 1 2 3 4 5 6");
}

static void test_elements_without_elements(void **state)
{
    struct arig_run *q =
        make("FIFOQueueV2", "component_types=[float] shapes=[0,3]");

    (void)state;
    arig_expect_ok(in_many(q, "[float]", ARIG_IN("float[2,0,3]")));
    expect_size(q, "int32 2");
    arig_expect(out_many(q, "[float]", "int32 2"), 0, "float[2,0,3]");
}

/* ---- Padding ------------------------------------------------------------- */

static void test_batches_are_padded_with_zeros(void **state)
{
    struct arig_run *q =
        make("PaddingFIFOQueueV2",
             "component_types=[int32,string] shapes=[?,2];[?]");
    struct arig_run *out;

    (void)state;
    arig_expect_ok(
        in(q, "[int32,string]", ARIG_IN("int32[1,2] 1 2", "string[2] a b")));
    arig_expect_ok(in(q, "[int32,string]",
                      ARIG_IN("int32[3,2] 3 4 5 6 7 8", "string[0]")));
    arig_expect_ok(
        in(q, "[int32,string]", ARIG_IN("int32[0,2]", "string[1] c")));
    out = out_many(q, "[int32,string]", "int32 3");
    arig_expect(out, 0, "int32[3,3,2] 1 2 0 0 0 0 3 4 5 6 7 8 0 0 0 0 0 0");
    arig_expect_ok(out);
    assert_int_equal(out->out[1].shape.dim[1], 2);
    arig_expect(out_many(q, "[int32,string]", "int32 0"), 0, "int32[0,0,2]");
}

static void test_shapes_that_cannot_be_padded_are_refused(void **state)
{
    struct arig_run *q =
        make("PaddingFIFOQueueV2", "component_types=[int32] shapes=[?,2]");

    (void)state;
    arig_expect_failed(in(q, "[int32]", ARIG_IN("int32[1,3] 1")),
                       TFD_INVALID_ARGUMENT,
                       "Shape mismatch in tuple component 0. Expected [?,2], "
                       "got [1,3]");
    arig_expect_failed(in(q, "[int32]", ARIG_IN("int32[2] 1")),
                       TFD_INVALID_ARGUMENT, "Expected [?,2], got [2]");
    arig_expect_failed(in_many(q, "[int32]", ARIG_IN("int32[4,1,3] 1")),
                       TFD_INVALID_ARGUMENT, "Expected [4,?,2], got [4,1,3]");
}

static void test_padded_elements_go_back(void **state)
{
    struct arig_run *q =
        make("PaddingFIFOQueueV2", "component_types=[int32] shapes=[?]");
    struct arig_run *out = out_many(q, "[int32]", "int32 3");

    (void)state;
    arig_expect_ok(in(q, "[int32]", ARIG_IN("int32[1] 1")));
    arig_expect_ok(in(q, "[int32]", ARIG_IN("int32[2] 2 3")));
    arig_cancel(out);
    arig_expect_failed(out, TFD_CANCELLED, "Dequeue");
    arig_expect(out_many(q, "[int32]", "int32 2"), 0, "int32[2,2] 1 0 2 3");
}

/* ---- Random -------------------------------------------------------------- */

/* The order is that of TensorFlow 2.21, asked with these seeds. */
static void test_a_seed_gives_the_order_of_tensorflow(void **state)
{
    struct arig_run *q =
        make("RandomShuffleQueueV2",
             "component_types=[int32] shapes=[] seed=87654321 seed2=7");

    (void)state;
    arig_expect_ok(in_many(q, "[int32]", ARIG_IN(NUMBERS)));
    arig_expect(out_many(q, "[int32]", "int32 20"), 0,
                "int32[20] 7 4 19 15 0 8 10 11 14 6 16 1 12 3 17 5 2 18 13 9");
}

static void test_without_a_seed_everything_comes_out_once(void **state)
{
    struct arig_run *q =
        make("RandomShuffleQueueV2", "component_types=[int32] shapes=[]");
    struct arig_run *out;
    int seen[20] = {0};

    (void)state;
    arig_expect_ok(in_many(q, "[int32]", ARIG_IN(NUMBERS)));
    out = out_many(q, "[int32]", "int32 20");
    arig_expect_ok(out);
    for (int i = 0; i < 20; i++)
        seen[((const int32_t *)tfd_tensor_data(&out->out[0]))[i]]++;
    for (int i = 0; i < 20; i++)
        assert_int_equal(seen[i], 1);
}

static void test_some_elements_stay_until_the_queue_is_closed(void **state)
{
    struct arig_run *q = make(
        "RandomShuffleQueueV2",
        "component_types=[int32] shapes=[] capacity=10 min_after_dequeue=2");
    struct arig_run *many, *one;

    (void)state;
    many = out_many(q, "[int32]", "int32 3");
    arig_expect_ok(in_many(q, "[int32]", ARIG_IN("int32[4] 1 2 3 4")));
    arig_expect_waiting(many);
    expect_size(q, "int32 2");
    arig_expect_ok(in(q, "[int32]", ARIG_IN("int32 5")));
    arig_expect_ok(many);
    one = arig_start("QueueDequeueV2", "component_types=[int32]", q, NULL);
    arig_expect_waiting(one);
    arig_expect_ok(close_queue(q, false));
    arig_expect_ok(one);
    expect_size(q, "int32 1");
}

static void test_random_elements_go_back(void **state)
{
    struct arig_run *q =
        make("RandomShuffleQueueV2", "component_types=[int32] shapes=[]");
    struct arig_run *out = out_up_to(q, "[int32]", "int32 25");

    (void)state;
    arig_expect_ok(in_many(q, "[int32]", ARIG_IN(NUMBERS)));
    arig_expect_waiting(out);
    arig_expect_ok(close_queue(q, false));
    arig_expect_ok(out);
    assert_int_equal(out->out[0].shape.dim[0], 20);
    arig_expect_failed(out_many(q, "[int32]", "int32 1"), TFD_OUT_OF_RANGE,
                       "RandomShuffleQueue '_0_node0' is closed and has "
                       "insufficient elements");
}

/* ---- Priority ------------------------------------------------------------ */

#define PRIORITY "component_types=[int32] shapes=[] shared_name=p"
#define BOTH "[int64,int32]"

static void test_smaller_priorities_come_first(void **state)
{
    struct arig_run *q = make("PriorityQueueV2", PRIORITY), *out;

    (void)state;
    arig_expect_ok(
        in_many(q, BOTH, ARIG_IN("int64[4] 3 -1 2 9", "int32[4] 3 -1 2 9")));
    arig_expect_ok(in(q, BOTH, ARIG_IN("int64 0", "int32 0")));
    out = out_many(q, BOTH, "int32 5");
    arig_expect(out, 0, "int64[5] -1 0 2 3 9");
    arig_expect(out, 1, "int32[5] -1 0 2 3 9");
}

/* Asked of TensorFlow 2.21. */
static void test_equal_priorities_come_in_the_order_of_tensorflow(void **state)
{
    struct arig_run *q = make("PriorityQueueV2", PRIORITY), *out;

    (void)state;
    arig_expect_ok(in_many(q, BOTH, ARIG_IN("int64[20] 0 1 2", NUMBERS)));
    out = out_many(q, BOTH, "int32 20");
    arig_expect(out, 0, "int64[20] 0 0 0 0 0 0 0 1 1 1 1 1 1 1 2 2 2 2 2 2");
    arig_expect(out, 1,
                "int32[20] 0 6 12 3 9 15 18 13 19 10 4 16 7 1 14 5 2 11 17 8");
}

static void test_a_batch_by_priority_is_taken_at_once(void **state)
{
    struct arig_run *q = make("PriorityQueueV2", PRIORITY), *out;

    (void)state;
    out = out_many(q, BOTH, "int32 3");
    arig_expect_ok(in_many(q, BOTH, ARIG_IN("int64[2] 5 6", "int32[2] 5 6")));
    expect_size(q, "int32 2");
    arig_expect_ok(in(q, BOTH, ARIG_IN("int64 1", "int32 1")));
    arig_expect(out, 1, "int32[3] 1 5 6");
    expect_size(q, "int32 0");
}

static void test_a_closed_queue_of_priorities_gives_what_it_has(void **state)
{
    struct arig_run *q = make("PriorityQueueV2", PRIORITY), *out;

    (void)state;
    arig_expect_ok(
        in_many(q, BOTH, ARIG_IN("int64[3] 3 1 2", "int32[3] 30 10 20")));
    arig_expect_ok(close_queue(q, false));
    arig_expect_failed(out_many(q, BOTH, "int32 4"), TFD_OUT_OF_RANGE,
                       "PriorityQueue 'p' is closed and has insufficient "
                       "elements (requested 4, current size 3)");
    out = out_up_to(q, BOTH, "int32 5");
    arig_expect(out, 0, "int64[3] 1 2 3");
    arig_expect(out, 1, "int32[3] 10 20 30");
    arig_expect_failed(out_up_to(q, BOTH, "int32 5"), TFD_OUT_OF_RANGE,
                       "(requested 5, current size 0)");
}

static void test_a_priority_is_one_number(void **state)
{
    struct arig_run *q = make("PriorityQueueV2", PRIORITY);

    (void)state;
    arig_expect_failed(in(q, BOTH, ARIG_IN("int64[1] 0", "int32 0")),
                       TFD_INVALID_ARGUMENT, "Expected [], got [1]");
    arig_expect_failed(in(q, "[int32,int32]", ARIG_IN("int32 0", "int32 0")),
                       TFD_INVALID_ARGUMENT, "Signature mismatch");
    arig_expect_failed(in_many(q, BOTH, ARIG_IN("int64[1,1] 0", "int32[1] 0")),
                       TFD_INVALID_ARGUMENT, "Expected [1], got [1,1]");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, arig_setup, arig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_ring_grows_and_turns),
        TEST(test_components_stay_together),
        TEST(test_elements_without_elements),
        TEST(test_batches_are_padded_with_zeros),
        TEST(test_shapes_that_cannot_be_padded_are_refused),
        TEST(test_padded_elements_go_back),
        TEST(test_a_seed_gives_the_order_of_tensorflow),
        TEST(test_without_a_seed_everything_comes_out_once),
        TEST(test_some_elements_stay_until_the_queue_is_closed),
        TEST(test_random_elements_go_back),
        TEST(test_smaller_priorities_come_first),
        TEST(test_equal_priorities_come_in_the_order_of_tensorflow),
        TEST(test_a_batch_by_priority_is_taken_at_once),
        TEST(test_a_closed_queue_of_priorities_gives_what_it_has),
        TEST(test_a_priority_is_one_number),
    };

    return cmocka_run_group_tests_name("queue_kinds", tests, NULL, NULL);
}
