/*
 * test_queue_refusals.c - kernels/state/queue*.c: which queues and inputs are
 * refused, and what a queue's name finds.
 */
#include "tests/support/queue_rig.h"

/* ---- What is refused ----------------------------------------------------- */

static void test_queues_that_cannot_be(void **state)
{
    static const struct {
        const char *op, *attrs, *text;
    } cases[] = {
        {"FIFOQueueV2", "component_types=[int32,string] shapes=[2,3]",
         "Different number of component types.  Types: int32, string, Shapes: "
         "[[2,3]]"},
        {"FIFOQueueV2", "component_types=[int32] shapes=[?]",
         "Shape [?] is not fully defined"},
        {"RandomShuffleQueueV2", "component_types=[int32] shapes=<unknown>",
         "Shape <unknown> is not fully defined"},
        {"PaddingFIFOQueueV2", "component_types=[int32]",
         "Shapes must be provided for all components, but received 1 dtypes "
         "and 0 shapes."},
        {"PaddingFIFOQueueV2", "component_types=[int32] shapes=<unknown>",
         "shape <unknown> must have known rank."},
        {"RandomShuffleQueueV2",
         "component_types=[int32] capacity=3 min_after_dequeue=3",
         "min_after_dequeue 3 must be < capacity 3"},
        {"RandomShuffleQueueV2", "component_types=[int32] min_after_dequeue=-1",
         "min_after_dequeue -1 must be >= 0"},
        {"PriorityQueueV2", "component_types=[int32] shapes=",
         "has component shapes [] but requested component shapes were [[]]"},
        {"PriorityQueueV2", "component_types=[int32] shapes=[];[]",
         "Different number of component types.  Types: int64, int32, Shapes: "
         "[[], [], []]"},
        {"FIFOQueueV2", "component_types=[int32] shared_name=_q",
         "shared_name cannot start with '_':_q"},
        {"FIFOQueueV2", "component_types=[int32] container=/x",
         "container contains invalid characters: /x"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        arig_expect_failed(arig_start(cases[i].op, cases[i].attrs, NULL, NULL),
                           TFD_INVALID_ARGUMENT, cases[i].text);
}

static void test_a_shared_queue_is_what_its_first_maker_asked_for(void **state)
{
    static const struct {
        const char *op, *attrs, *text;
    } cases[] = {
        {"FIFOQueueV2", "capacity=4 component_types=[float]",
         "Shared queue 'a' has capacity 3 but requested capacity was 4"},
        {"FIFOQueueV2", "component_types=[float]",
         "Shared queue 'a' has capacity 3 but requested capacity was "
         "2147483647"},
        {"FIFOQueueV2", "capacity=3 component_types=[int32,string]",
         "Shared queue 'a' has component types float but requested component "
         "types were int32, string"},
        {"FIFOQueueV2", "capacity=3 component_types=[float] shapes=[2,3]",
         "Shared queue 'a' has component shapes [] but requested component "
         "shapes were [[2,3]]"},
        {"RandomShuffleQueueV2", "capacity=3 component_types=[float]",
         "Expected FIFOQueue, found RandomShuffleQueueV2"},
        {"PaddingFIFOQueue", "capacity=3 component_types=[float] shapes=[]",
         "Expected FIFOQueue, found PaddingFIFOQueue"},
        {"RandomShuffleQueueV2",
         "capacity=3 component_types=[float] min_after_dequeue=2 seed=1",
         "Shared queue 'r' has min_after_dequeue 1 but requested "
         "min_after_dequeue was 2."},
        {"RandomShuffleQueueV2",
         "capacity=3 component_types=[float] min_after_dequeue=1 seed=2 "
         "seed2=9",
         "Shared queue 'r' has random seeds (1, 0) but requested seeds are (2, "
         "9)."},
    };
    char attrs[200];

    (void)state;
    arig_expect_ok(queue("capacity=3 shared_name=a"));
    arig_expect_ok(arig_start("RandomShuffleQueueV2",
                              "capacity=3 component_types=[float] "
                              "min_after_dequeue=1 seed=1 shared_name=r",
                              NULL, NULL));
    arig_expect_ok(arig_start("RandomShuffleQueueV2",
                              "capacity=3 component_types=[float] "
                              "min_after_dequeue=1 shared_name=r",
                              NULL, NULL));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool random = strstr(cases[i].text, "'r'") != NULL;

        snprintf(attrs, sizeof(attrs), "%s shared_name=%s", cases[i].attrs,
                 random ? "r" : "a");
        arig_expect_failed(arig_start(cases[i].op, attrs, NULL, NULL),
                           TFD_INVALID_ARGUMENT, cases[i].text);
    }
}

static void test_padded_shapes_need_only_be_compatible(void **state)
{
    (void)state;
    arig_expect_ok(arig_start(
        "PaddingFIFOQueueV2",
        "component_types=[float] shapes=[?,2] shared_name=p", NULL, NULL));
    arig_expect_ok(arig_start(
        "PaddingFIFOQueueV2",
        "component_types=[float] shapes=[3,?] shared_name=p", NULL, NULL));
    arig_expect_failed(
        arig_start("PaddingFIFOQueueV2",
                   "component_types=[float] shapes=[3,3] shared_name=p", NULL,
                   NULL),
        TFD_INVALID_ARGUMENT,
        "has component shapes [[?,2]] but requested component shapes were "
        "[[3,3]]");
}

static const struct {
    const char *op, *attrs, *in[4], *text;
} misfits[] = {
    {"QueueEnqueueV2",
     "Tcomponents=[int32]",
     {"int32 1"},
     "Signature mismatch, have: resource, int32-> expected: resource, "
     "float, int32->"},
    {"QueueEnqueueManyV2",
     "Tcomponents=[float,int32,int32]",
     {"float[1] 1", "int32[1] 1", "int32[1] 1"},
     "have: resource, float, int32, int32-> expected: resource, float, "
     "int32->"},
    {"QueueEnqueueV2",
     "Tcomponents=[float,int32]",
     {"float[3] 1", "int32 1"},
     "Shape mismatch in tuple component 0. Expected [2], got [3]"},
    {"QueueEnqueueV2",
     "Tcomponents=[float,int32]",
     {"float[2] 1", "int32[1] 1"},
     "Shape mismatch in tuple component 1. Expected [], got [1]"},
    {"QueueEnqueueManyV2",
     "Tcomponents=[float,int32]",
     {"float[4,2] 1", "int32[3] 1"},
     "Shape mismatch in tuple component 1. Expected [4], got [3]"},
    {"QueueEnqueueManyV2",
     "Tcomponents=[float,int32]",
     {"float 1", "int32[3] 1"},
     "Shape mismatch in tuple component 0. Expected [?,2], got []"},
    {"QueueDequeueV2",
     "component_types=[int32]",
     {NULL},
     "have: resource->int32 expected: resource->float, int32"},
    {"QueueDequeueManyV2",
     "component_types=[int32]",
     {"int32 1"},
     "have: resource, int32->int32 expected: resource, int32->float, "
     "int32"},
    {"QueueDequeueManyV2",
     "component_types=[float,int32]",
     {"int32 -1"},
     "DequeueManyOp requested -1 < 0 elements"},
    {"QueueDequeueUpToV2",
     "component_types=[float,int32]",
     {"int32 -2"},
     "DequeueUpToOp requested -2 < 0 elements"},
    {"QueueDequeueManyV2",
     "component_types=[float,int32]",
     {"int32[2] 1"},
     "n must be a scalar"},
    {"QueueDequeueManyV2",
     "component_types=[float,int32]",
     {"int32[0]"},
     "n must be a scalar"},
    {"QueueDequeueV2",
     "component_types=[float,int32] timeout_ms=5",
     {NULL},
     "Timeout not supported yet."},
    {"QueueEnqueueV2",
     "Tcomponents=[float,int32] timeout_ms=0",
     {"float[2] 1", "int32 1"},
     "Timeout not supported yet."},
};

/* All fail before anything waits. */
static void test_inputs_that_do_not_fit(void **state)
{
    struct arig_run *q =
        arig_start("FIFOQueueV2", "component_types=[float,int32] shapes=[2];[]",
                   NULL, NULL);

    (void)state;
    for (size_t i = 0; i < sizeof(misfits) / sizeof(misfits[0]); i++)
        arig_expect_failed(
            arig_start(misfits[i].op, misfits[i].attrs, q, misfits[i].in),
            TFD_INVALID_ARGUMENT, misfits[i].text);
    expect_size(q, "int32 0");
}

static void test_inputs_of_a_queue_that_tells_no_shapes(void **state)
{
    struct arig_run *q =
        arig_start("FIFOQueueV2", "component_types=[float,int32]", NULL, NULL);

    (void)state;
    arig_expect_failed(arig_start("QueueEnqueueManyV2",
                                  "Tcomponents=[float,int32]", q,
                                  ARIG_IN("float[2] 1", "int32[1] 1")),
                       TFD_INVALID_ARGUMENT,
                       "All input tensors must have the same size in the 0th "
                       "dimension. Component 1 has 1, and should have 2");
    arig_expect_failed(
        arig_start("QueueEnqueueManyV2", "Tcomponents=[float,int32]", q,
                   ARIG_IN("float 1", "int32[1] 1")),
        TFD_INVALID_ARGUMENT, "Component 0 of a batch of elements is a scalar");
    arig_expect_failed(arig_start("QueueDequeueUpToV2",
                                  "component_types=[float,int32]", q,
                                  ARIG_IN("int32 1")),
                       TFD_INVALID_ARGUMENT,
                       "FIFOQueue's DequeueMany and DequeueUpTo require the "
                       "components to have specified shapes.");
}

static void test_a_batch_of_too_many_dimensions_is_refused(void **state)
{
    struct arig_run *q = queue("shapes=[1,1,1,1,1,1,1,1]");

    (void)state;
    arig_expect_ok(enqueue(q, "float[1,1,1,1,1,1,1,1] 1"));
    arig_expect_failed(dequeue_many(q, "int32 1"), TFD_INVALID_ARGUMENT, "9");
}

/* ---- Names --------------------------------------------------------------- */

static void test_a_shared_name_is_one_queue(void **state)
{
    struct arig_run *a = queue("shared_name=s"), *b = queue("shared_name=s");
    struct arig_run *other = queue("shared_name=s container=c");

    (void)state;
    enqueue(a, "float 1");
    arig_expect(dequeue(b), 0, "float 1");
    expect_size(other, "int32 0");
    arig_drop(a);
    arig_release(a);
    expect_size(b, "int32 0");
    assert_int_equal(tfd_containers_count(arig.rt.containers), 2);
}

static void test_a_queue_of_its_own_goes_with_its_kernel(void **state)
{
    struct arig_run *a = queue(""), *b = queue(""), *out;

    (void)state;
    enqueue(a, "float 1");
    expect_size(b, "int32 0");
    arig_expect_failed(
        arig_start("QueueDequeueV2", "component_types=[int32]", a, NULL),
        TFD_INVALID_ARGUMENT, "Signature mismatch");
    assert_int_equal(tfd_containers_count(arig.rt.containers), 2);
    out = dequeue(b); /* who waits keeps it */
    arig_drop(b);
    arig_release(b);
    assert_int_equal(tfd_containers_count(arig.rt.containers), 1);
    arig_cancel(out);
    arig_expect_failed(out, TFD_CANCELLED, "Dequeue");
}

static void test_a_cleared_container_has_a_new_queue(void **state)
{
    struct arig_run *q = queue("shared_name=s"), *out;

    (void)state;
    out = dequeue(q);
    tfd_containers_clear(arig.rt.containers, TFD_STR("t"));
    arig_expect_failed(dequeue(q), TFD_NOT_FOUND, "does not exist");
    arig_expect_waiting(out);
    arig_cancel(out);
    arig_drop(q);
    q->finished = 0;
    arig_begin(q); /* the same kernel makes another */
    arig_expect_ok(enqueue(q, "float 1"));
    arig_expect(dequeue(q), 0, "float 1");
}

static void test_references_are_handles_too(void **state)
{
    struct arig_run *q =
        arig_start("FIFOQueue",
                   "component_types=[float] shapes=[] capacity=2 shared_name=s",
                   NULL, NULL);
    struct arig_run *v2 = queue("shapes=[] capacity=2 shared_name=s"), *out;
    struct tfd_tensor names = TFD_TENSOR_INIT;
    const struct tfd_tstring *s;

    (void)state;
    arig_expect_ok(q);
    assert_int_equal(tfd_variable_read(q->ref_out[0], &names, NULL), TFD_OK);
    s = tfd_tensor_data(&names);
    assert_true(tfd_str_is(tfd_tstring_view(&s[0]), "t"));
    assert_true(tfd_str_is(tfd_tstring_view(&s[1]), "s"));
    tfd_tensor_unref(&names);

    out = arig_start("QueueDequeueMany", "component_types=[float]", q,
                     ARIG_IN("int32 2"));
    arig_expect_ok(arig_start("QueueEnqueue", "Tcomponents=[float]", q,
                              ARIG_IN("float 1")));
    arig_expect_ok(enqueue(v2, "float 2"));
    arig_expect(out, 0, "float[2] 1 2");
    arig_expect_failed(
        arig_start("QueueDequeue", "component_types=[int32]", q, NULL),
        TFD_INVALID_ARGUMENT,
        "have: string_ref->int32 expected: string_ref->float");
    arig_expect_ok(arig_start("QueueClose", "", q, NULL));
    assert_true(is_closed(v2));
}

/* Somebody's variable in the place of a queue's reference. */
static struct arig_run *strings(const char *text)
{
    struct tfd_variable_spec spec = {.type = &tfd_variable_ref_type,
                                     .name = TFD_STR("v"),
                                     .dtype = TFD_STRING,
                                     .shape = {TFD_RANK_UNKNOWN, {0}}};
    struct arig_run *r =
        arig_make("VariableV2", NULL, "dtype=string shape=[]", NULL, NULL);
    struct tfd_tensor value = arig_tensor(text);
    struct tfd_resource *v = NULL;

    assert_int_equal(tfd_variable_make(&spec, &v, NULL), TFD_OK);
    tfd_variable_set((struct tfd_variable *)v, &value);
    r->ref_out[0] = (struct tfd_variable *)v;
    r->finished = 1;
    return r;
}

static void test_names_find_queues(void **state)
{
    (void)state;
    arig_expect_ok(queue("shared_name=s"));
    arig_expect(arig_start("QueueSize", "", strings("string[2] t s"), NULL), 0,
                "int32 0");
    arig_expect_failed(
        arig_start("QueueSize", "", strings("string[2] t x"), NULL),
        TFD_NOT_FOUND, "t/x");
    arig_expect_failed(
        arig_start("QueueSize", "", strings("string[3] t s s"), NULL),
        TFD_INVALID_ARGUMENT,
        "Resource handle must have 2 elements, but had shape: [3]");
    arig_expect_failed(arig_start("QueueSize", "", strings("string t"), NULL),
                       TFD_INVALID_ARGUMENT, "2 elements");
}

static void test_what_is_no_queue_is_refused(void **state)
{
    struct arig_run *v = arig_start(
        "VarHandleOp", "dtype=float shape=[] shared_name=v", NULL, NULL);
    struct arig_run *a =
        arig_start("ResourceConditionalAccumulator",
                   "dtype=float shape=[] shared_name=a", NULL, NULL);

    (void)state;
    arig_expect_failed(arig_start("QueueSizeV2", "", v, NULL),
                       TFD_INVALID_ARGUMENT, "wrong type");
    arig_expect_failed(dequeue(a), TFD_INVALID_ARGUMENT, "wrong type");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, arig_setup, arig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_queues_that_cannot_be),
        TEST(test_a_shared_queue_is_what_its_first_maker_asked_for),
        TEST(test_padded_shapes_need_only_be_compatible),
        TEST(test_inputs_that_do_not_fit),
        TEST(test_inputs_of_a_queue_that_tells_no_shapes),
        TEST(test_a_batch_of_too_many_dimensions_is_refused),
        TEST(test_a_shared_name_is_one_queue),
        TEST(test_a_queue_of_its_own_goes_with_its_kernel),
        TEST(test_a_cleared_container_has_a_new_queue),
        TEST(test_references_are_handles_too),
        TEST(test_names_find_queues),
        TEST(test_what_is_no_queue_is_refused),
    };

    return cmocka_run_group_tests_name("queue_refusals", tests, NULL, NULL);
}
