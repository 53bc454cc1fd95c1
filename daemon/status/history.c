/*
 * history.c - see history.h.
 */
#include "daemon/status/history.h"

#include "common/base/container.h"
#include "daemon/status/task_state.h"

static void take_sample(struct tfd_history *h)
{
    struct tfd_task_state s;

    tfd_task_state_fill(h->view, &s);
    h->samples[h->count++ % TFD_STATUS_SAMPLES_MAX] =
        (struct tfd_history_sample){
            .at_us = tfd_loop_now_us(h->view->loop),
            .steps_done = s.steps_done,
            .steps_us = s.steps_us,
            .worker_steps_done = s.worker_steps_done,
            .memory_bytes = s.memory_bytes,
        };
}

static void sample_due(struct tfd_timer *t)
{
    struct tfd_history *h = TFD_CONTAINER_OF(t, struct tfd_history, timer);

    take_sample(h);
    if (tfd_timer_start(t, TFD_STATUS_SAMPLE_MS * UINT64_C(1000), NULL) !=
        TFD_OK)
        return; /* what there is stays */
}

void tfd_history_start(struct tfd_history *h, const struct tfd_view *v)
{
    h->view = v;
    h->count = 0;
    tfd_timer_init(&h->timer, v->loop, sample_due);
    sample_due(&h->timer);
}

void tfd_history_stop(struct tfd_history *h)
{
    tfd_timer_stop(&h->timer);
}

int tfd_history_count(const struct tfd_history *h)
{
    return h->count < TFD_STATUS_SAMPLES_MAX ? (int)h->count
                                             : TFD_STATUS_SAMPLES_MAX;
}

const struct tfd_history_sample *tfd_history_at(const struct tfd_history *h,
                                                int i)
{
    uint64_t first = h->count - (uint64_t)tfd_history_count(h);

    return &h->samples[(first + (uint64_t)i) % TFD_STATUS_SAMPLES_MAX];
}
