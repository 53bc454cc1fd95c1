/*
 * queue_rig.h - queues of one float, for tests of kernels/state/queue*.c.
 */
#ifndef TFD_TESTS_SUPPORT_QUEUE_RIG_H
#define TFD_TESTS_SUPPORT_QUEUE_RIG_H

#include "tests/support/async_rig.h"

static inline struct arig_run *queue(const char *more)
{
    char attrs[200];
    struct arig_run *q;

    snprintf(attrs, sizeof(attrs), "component_types=[float]%s%s",
             *more ? " " : "", more);
    q = arig_start("FIFOQueueV2", attrs, NULL, NULL);
    arig_expect_ok(q);
    return q;
}

static inline struct arig_run *enqueue(struct arig_run *q, const char *value)
{
    return arig_start("QueueEnqueueV2", "Tcomponents=[float]", q,
                      ARIG_IN(value));
}

static inline struct arig_run *enqueue_many(struct arig_run *q,
                                            const char *values)
{
    return arig_start("QueueEnqueueManyV2", "Tcomponents=[float]", q,
                      ARIG_IN(values));
}

static inline struct arig_run *dequeue(struct arig_run *q)
{
    return arig_start("QueueDequeueV2", "component_types=[float]", q, NULL);
}

static inline struct arig_run *dequeue_many(struct arig_run *q, const char *n)
{
    return arig_start("QueueDequeueManyV2", "component_types=[float]", q,
                      ARIG_IN(n));
}

static inline struct arig_run *dequeue_up_to(struct arig_run *q, const char *n)
{
    return arig_start("QueueDequeueUpToV2", "component_types=[float]", q,
                      ARIG_IN(n));
}

static inline struct arig_run *close_queue(struct arig_run *q, bool cancel)
{
    return arig_start("QueueCloseV2",
                      cancel ? "cancel_pending_enqueues=true" : "", q, NULL);
}

static inline void expect_size(struct arig_run *q, const char *text)
{
    arig_expect(arig_start("QueueSizeV2", "", q, NULL), 0, text);
}

static inline bool is_closed(struct arig_run *q)
{
    struct arig_run *r = arig_start("QueueIsClosedV2", "", q, NULL);

    arig_expect_ok(r);
    return *(tfd_bool *)tfd_tensor_data(&r->out[0]);
}

#endif
