/*
 * test_queue.c - kernels/queue*.c: who waits for whom, and what is refused.
 * Orders of elements are in test_queue_kinds.c, threads in
 * test_queue_threads.c.
 */
#include "tests/support/async_rig.h"

/* ---- Queues of one float ------------------------------------------------- */

static struct arig_run *queue(const char *more)
{
    char attrs[200];
    struct arig_run *q;

    snprintf(attrs, sizeof(attrs), "component_types=[float]%s%s",
             *more ? " " : "", more);
    q = arig_start("FIFOQueueV2", attrs, NULL, NULL);
    arig_expect_ok(q);
    return q;
}

static struct arig_run *enqueue(struct arig_run *q, const char *value)
{
    return arig_start("QueueEnqueueV2", "Tcomponents=[float]", q,
                      ARIG_IN(value));
}

static struct arig_run *enqueue_many(struct arig_run *q, const char *values)
{
    return arig_start("QueueEnqueueManyV2", "Tcomponents=[float]", q,
                      ARIG_IN(values));
}

static struct arig_run *dequeue(struct arig_run *q)
{
    return arig_start("QueueDequeueV2", "component_types=[float]", q, NULL);
}

static struct arig_run *dequeue_many(struct arig_run *q, const char *n)
{
    return arig_start("QueueDequeueManyV2", "component_types=[float]", q,
                      ARIG_IN(n));
}

static struct arig_run *dequeue_up_to(struct arig_run *q, const char *n)
{
    return arig_start("QueueDequeueUpToV2", "component_types=[float]", q,
                      ARIG_IN(n));
}

static struct arig_run *close_queue(struct arig_run *q, bool cancel)
{
    return arig_start("QueueCloseV2",
                      cancel ? "cancel_pending_enqueues=true" : "", q, NULL);
}

static void expect_size(struct arig_run *q, const char *text)
{
    arig_expect(arig_start("QueueSizeV2", "", q, NULL), 0, text);
}

static bool is_closed(struct arig_run *q)
{
    struct arig_run *r = arig_start("QueueIsClosedV2", "", q, NULL);

    arig_expect_ok(r);
    return *(tfd_bool *)tfd_tensor_data(&r->out[0]);
}

/* ---- Waiting ------------------------------------------------------------- */

static void test_elements_come_out_in_the_order_they_went_in(void **state)
{
    struct arig_run *q = queue("");

    (void)state;
    arig_expect_ok(enqueue(q, "float 1"));
    arig_expect_ok(enqueue(q, "float[2] 2 3"));
    arig_expect_ok(enqueue_many(q, "float[2] 4 5"));
    expect_size(q, "int32 4");
    arig_expect(dequeue(q), 0, "float 1");
    arig_expect(dequeue(q), 0, "float[2] 2 3");
    arig_expect(dequeue(q), 0, "float 4");
    arig_expect(dequeue(q), 0, "float 5");
    expect_size(q, "int32 0");
}

static void test_who_dequeues_waits_for_an_element(void **state)
{
    struct arig_run *q = queue(""), *first, *second;

    (void)state;
    first = dequeue(q);
    second = dequeue(q);
    arig_expect_waiting(first);
    enqueue(q, "float 1");
    arig_expect(first, 0, "float 1");
    arig_expect_waiting(second);
    enqueue(q, "float 2");
    arig_expect(second, 0, "float 2");
}

static void test_who_enqueues_waits_for_room(void **state)
{
    struct arig_run *q = queue("capacity=1"), *second, *third;

    (void)state;
    arig_expect_ok(enqueue(q, "float 1"));
    second = enqueue(q, "float 2");
    third = enqueue(q, "float 3");
    arig_expect_waiting(second);
    arig_expect(dequeue(q), 0, "float 1");
    arig_expect_ok(second);
    arig_expect_waiting(third);
    arig_expect(dequeue(q), 0, "float 2");
    arig_expect_ok(third);
    arig_expect(dequeue(q), 0, "float 3");
}

static void
test_a_batch_larger_than_the_queue_goes_in_piece_by_piece(void **state)
{
    struct arig_run *q = queue("capacity=2 shapes=[]"), *batch, *behind;

    (void)state;
    batch = enqueue_many(q, "float[5] 1 2 3 4 5");
    behind = enqueue(q, "float 6");
    expect_size(q, "int32 2");
    arig_expect_waiting(batch);
    arig_expect(dequeue_many(q, "int32 4"), 0, "float[4] 1 2 3 4");
    arig_expect_ok(batch);
    arig_expect_ok(behind);
    arig_expect(dequeue_many(q, "int32 2"), 0, "float[2] 5 6");
}

static void test_a_queue_without_room_lets_nobody_in(void **state)
{
    struct arig_run *q = queue("capacity=0 shapes=[]"), *in;

    (void)state;
    in = enqueue(q, "float 1");
    arig_expect_waiting(in);
    arig_expect_ok(enqueue_many(q, "float[0]"));
    arig_cancel(in);
    arig_expect_failed(in, TFD_CANCELLED, "Enqueue operation was cancelled");
}

static void test_a_large_dequeue_is_not_overtaken(void **state)
{
    struct arig_run *q = queue("shapes=[]"), *large, *small;

    (void)state;
    enqueue(q, "float 1");
    large = dequeue_many(q, "int32 3");
    small = dequeue(q);
    expect_size(q, "int32 0"); /* what is there has been taken already */
    enqueue(q, "float 2");
    arig_expect_waiting(large);
    arig_expect_waiting(small);
    enqueue_many(q, "float[2] 3 4");
    arig_expect(large, 0, "float[3] 1 2 3");
    arig_expect(small, 0, "float 4");
}

static void test_a_dequeue_of_many_frees_room_as_it_goes(void **state)
{
    struct arig_run *q = queue("capacity=1 shapes=[2]"), *out;

    (void)state;
    out = dequeue_many(q, "int32 2");
    arig_expect_ok(enqueue(q, "float[2] 1 2"));
    arig_expect_ok(enqueue(q, "float[2] 3 4"));
    arig_expect(out, 0, "float[2,2] 1 2 3 4");
}

static void test_nothing_is_dequeued_at_once(void **state)
{
    struct arig_run *q = queue("shapes=[2]"), *waits;

    (void)state;
    waits = dequeue(q);
    arig_expect(dequeue_many(q, "int32 0"), 0, "float[0,2]");
    arig_expect(dequeue_up_to(q, "int32 0"), 0, "float[0,2]");
    arig_expect_waiting(waits);
    enqueue(q, "float[2] 1 2");
    arig_expect_ok(waits);
}

/* ---- Closing ------------------------------------------------------------- */

static void test_a_closed_queue_is_emptied_and_then_refuses(void **state)
{
    struct arig_run *q = queue("shapes=[] shared_name=jobs");

    (void)state;
    enqueue_many(q, "float[2] 1 2");
    assert_false(is_closed(q));
    arig_expect_ok(close_queue(q, false));
    assert_true(is_closed(q));
    arig_expect_failed(enqueue(q, "float 3"), TFD_CANCELLED,
                       "FIFOQueue 'jobs' is closed.");
    arig_expect_failed(enqueue_many(q, "float[2] 3 4"), TFD_CANCELLED,
                       "FIFOQueue 'jobs' is closed.");
    arig_expect_ok(enqueue_many(q, "float[0]"));
    arig_expect(dequeue(q), 0, "float 1");
    arig_expect_failed(dequeue_many(q, "int32 2"), TFD_OUT_OF_RANGE,
                       "FIFOQueue 'jobs' is closed and has insufficient "
                       "elements (requested 2, current size 1)");
    arig_expect(dequeue(q), 0, "float 2");
    arig_expect_failed(dequeue(q), TFD_OUT_OF_RANGE,
                       "FIFOQueue 'jobs' is closed and has insufficient "
                       "elements (requested 1, current size 0)");
}

static void test_closing_twice(void **state)
{
    struct arig_run *q = queue("shared_name=jobs");

    (void)state;
    arig_expect_ok(close_queue(q, false));
    arig_expect_failed(close_queue(q, false), TFD_CANCELLED,
                       "Queue 'jobs' is already closed.");
    arig_expect_ok(close_queue(q, true));
}

static void test_closing_ends_who_waits_for_elements(void **state)
{
    struct arig_run *q = queue("shapes=[]"), *many, *one, *other;

    (void)state;
    many = dequeue_many(q, "int32 3");
    one = dequeue(q);
    other = dequeue_many(q, "int32 2");
    enqueue_many(q, "float[2] 1 2");
    expect_size(q, "int32 0");
    arig_expect_ok(close_queue(q, false));
    arig_expect_failed(many, TFD_OUT_OF_RANGE, "(requested 1, current size 0)");
    arig_expect(one, 0, "float 1"); /* what was taken went back, in order */
    arig_expect_failed(other, TFD_OUT_OF_RANGE,
                       "(requested 2, current size 1)");
    arig_expect(dequeue(q), 0, "float 2");
}

static void test_closing_waits_for_the_enqueues_before_it(void **state)
{
    struct arig_run *q = queue("capacity=1 shapes=[]"), *before, *closes,
                    *behind;

    (void)state;
    before = enqueue_many(q, "float[3] 1 2 3");
    closes = close_queue(q, false);
    behind = enqueue(q, "float 4");
    arig_expect_waiting(closes);
    assert_false(is_closed(q));
    arig_expect(dequeue(q), 0, "float 1");
    arig_expect_waiting(closes);
    arig_expect(dequeue(q), 0, "float 2");
    arig_expect_ok(before);
    arig_expect_ok(closes);
    arig_expect_failed(behind, TFD_CANCELLED, "is closed.");
    arig_expect(dequeue(q), 0, "float 3");
}

static void test_closing_may_cancel_the_enqueues_before_it(void **state)
{
    struct arig_run *q = queue("capacity=1 shapes=[]"), *batch, *closes, *one;

    (void)state;
    batch = enqueue_many(q, "float[3] 1 2 3");
    closes = close_queue(q, false);
    one = enqueue(q, "float 4");
    arig_expect_ok(close_queue(q, true));
    arig_expect_failed(batch, TFD_CANCELLED, "Enqueue operation was cancelled");
    arig_expect_failed(closes, TFD_CANCELLED, "Close operation was cancelled");
    arig_expect_failed(one, TFD_CANCELLED, "Enqueue operation was cancelled");
    arig_expect(dequeue(q), 0, "float 1");
    arig_expect_failed(dequeue(q), TFD_OUT_OF_RANGE, "is closed");
}

static void test_fewer_will_do_once_the_queue_is_closed(void **state)
{
    struct arig_run *q = queue("shapes=[]"), *some, *none;

    (void)state;
    some = dequeue_up_to(q, "int32 3");
    none = dequeue_up_to(q, "int32 3");
    enqueue_many(q, "float[2] 1 2");
    arig_expect_waiting(some);
    close_queue(q, false);
    arig_expect(some, 0, "float[2] 1 2");
    arig_expect_failed(none, TFD_OUT_OF_RANGE, "(requested 3, current size 0)");
}

static void test_fewer_will_do_and_all_that_come_are_taken(void **state)
{
    struct arig_run *q = queue("capacity=1 shapes=[]"), *in;

    (void)state;
    in = enqueue_many(q, "float[3] 1 2 3");
    close_queue(q, false);
    arig_expect(dequeue_up_to(q, "int32 2"), 0, "float[2] 1 2");
    arig_expect_ok(in);
    arig_expect(dequeue_up_to(q, "int32 2"), 0, "float[1] 3");
}

/* ---- Cancelling ---------------------------------------------------------- */

static void test_a_cancelled_dequeue_gives_back_what_it_took(void **state)
{
    struct arig_run *q = queue("shapes=[]"), *large, *small;

    (void)state;
    enqueue_many(q, "float[2] 1 2");
    large = dequeue_many(q, "int32 3");
    small = dequeue_many(q, "int32 2");
    arig_expect_waiting(small);
    arig_cancel(large);
    arig_expect_failed(large, TFD_CANCELLED, "Dequeue operation was cancelled");
    arig_expect(small, 0, "float[2] 1 2");
}

static void test_a_cancelled_enqueue_makes_way(void **state)
{
    struct arig_run *q = queue("capacity=2 shapes=[]"), *batch, *behind, *last;

    (void)state;
    batch = enqueue_many(q, "float[4] 1 2 3 4");
    behind = enqueue(q, "float 5");
    last = enqueue(q, "float 6");
    arig_cancel(behind); /* in the middle of the line */
    arig_expect_failed(behind, TFD_CANCELLED,
                       "Enqueue operation was cancelled");
    arig_expect_waiting(batch);
    arig_cancel(batch);
    arig_expect_waiting(last);
    arig_expect(dequeue_many(q, "int32 3"), 0, "float[3] 1 2 6");
    arig_expect_ok(last);
}

static void test_a_cancelled_close_closes_nothing(void **state)
{
    struct arig_run *q = queue("capacity=1"), *in, *closes, *behind;

    (void)state;
    enqueue(q, "float 1");
    in = enqueue(q, "float 2");
    closes = close_queue(q, false);
    behind = enqueue(q, "float 3");
    arig_cancel(closes);
    arig_expect_failed(closes, TFD_CANCELLED, "Close operation was cancelled");
    arig_expect(dequeue(q), 0, "float 1");
    arig_expect(dequeue(q), 0, "float 2");
    arig_expect_ok(in);
    arig_expect_ok(behind);
    assert_false(is_closed(q));
}

static void test_a_step_that_is_over_already_gets_nothing(void **state)
{
    struct arig_run *q = queue("shapes=[]"), *r;

    (void)state;
    enqueue(q, "float 1");
    r = arig_make("QueueDequeueV2", NULL, "component_types=[float]", q, NULL);
    arig_cancel(r);
    arig_begin(r);
    arig_expect_failed(r, TFD_CANCELLED, "Dequeue operation was cancelled");
    expect_size(q, "int32 1");
}

static void test_cancelling_what_is_done_does_nothing(void **state)
{
    struct arig_run *q = queue(""), *in, *out;

    (void)state;
    out = dequeue(q);
    in = enqueue(q, "float 1");
    arig_cancel(out);
    arig_cancel(in);
    arig_expect(out, 0, "float 1");
    arig_expect_ok(in);
}

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
    struct tfd_variable_spec spec = {.type = &tfd_ref_variable_type,
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
        TEST(test_elements_come_out_in_the_order_they_went_in),
        TEST(test_who_dequeues_waits_for_an_element),
        TEST(test_who_enqueues_waits_for_room),
        TEST(test_a_batch_larger_than_the_queue_goes_in_piece_by_piece),
        TEST(test_a_queue_without_room_lets_nobody_in),
        TEST(test_a_large_dequeue_is_not_overtaken),
        TEST(test_a_dequeue_of_many_frees_room_as_it_goes),
        TEST(test_nothing_is_dequeued_at_once),
        TEST(test_a_closed_queue_is_emptied_and_then_refuses),
        TEST(test_closing_twice),
        TEST(test_closing_ends_who_waits_for_elements),
        TEST(test_closing_waits_for_the_enqueues_before_it),
        TEST(test_closing_may_cancel_the_enqueues_before_it),
        TEST(test_fewer_will_do_once_the_queue_is_closed),
        TEST(test_fewer_will_do_and_all_that_come_are_taken),
        TEST(test_a_cancelled_dequeue_gives_back_what_it_took),
        TEST(test_a_cancelled_enqueue_makes_way),
        TEST(test_a_cancelled_close_closes_nothing),
        TEST(test_a_step_that_is_over_already_gets_nothing),
        TEST(test_cancelling_what_is_done_does_nothing),
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

    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
