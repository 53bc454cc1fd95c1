/*
 * sleep.c - SleepOp, SleepIdentityOp: nodes that take their time; GetDeadline.
 *
 * A node that sleeps has an alarm and no thread.  It ends when the alarm rings,
 * which a cancellation hastens.  TensorFlow's sleep on, whatever happens.
 *
 * What GetDeadline asks for, TensorFlow's server never tells its kernels, so a
 * step that a client limits has none here either.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/runtime.h"
#include "kernels/core/summarize.h"

#include "common/base/container.h"
#include "common/thread/lock.h"

#include <stdlib.h>

/* Elements that a text shows of what should have been one. */
#define SHOWN 3

struct sleeper {
    struct tfd_alarm alarm;
    struct tfd_cancel cancel;
    struct tfd_kctx *k;
    struct tfd_lock lock;
    bool rings, cancelled; /* the lock's */
};

static void wake(struct tfd_alarm *a)
{
    struct sleeper *s = TFD_CONTAINER_OF(a, struct sleeper, alarm);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx *k = s->k;

    tfd_lock(&s->lock);
    s->rings = true;
    tfd_unlock(&s->lock);
    (void)tfd_step_off_cancel(k->step, &s->cancel);
    if (s->cancelled)
        tfd_fail(&st, TFD_CANCELLED, TFD_STR_FMT " was cancelled in its sleep",
                 TFD_STR_ARG(k->node->name));
    else if (k->out_count)
        k->out[0] = tfd_tensor_ref(&k->in[1]);
    tfd_lock_deinit(&s->lock);
    free(s);
    tfd_kctx_finish(k, &st);
}

static void sleep_cancelled(struct tfd_cancel *c)
{
    struct sleeper *s = TFD_CONTAINER_OF(c, struct sleeper, cancel);

    tfd_lock(&s->lock);
    s->cancelled = true;
    if (!s->rings)
        tfd_alarm_ring_now(&s->alarm);
    tfd_unlock(&s->lock);
}

static enum tfd_code read_seconds(const struct tfd_kctx *k, int64_t *out,
                                  struct tfd_status *st)
{
    char shape[TFD_SHAPE_TEXT_MAX];
    struct tfd_bytes values;
    struct tfd_str text;

    if (k->in[0].shape.rank == 0) {
        *out = tfd_check_int_at(&k->in[0], 0);
        return TFD_OK;
    }
    tfd_bytes_init(&values, TFD_STATUS_TEXT_MAX);
    tfd_summarize(&values, &k->in[0], SHOWN);
    text = tfd_bytes_view(&values);
    tfd_fail(st, TFD_INVALID_ARGUMENT,
             "Expected argument 0 to be a scalar. ReceivedTensor<type: int32 "
             "shape: %s values: " TFD_STR_FMT ">",
             tfd_shape_text(&k->in[0].shape, shape), TFD_STR_ARG(text));
    tfd_bytes_deinit(&values);
    return TFD_INVALID_ARGUMENT;
}

/* The lock keeps a cancellation away until there is an alarm to hasten. */
static enum tfd_code fall_asleep(struct sleeper *s, int64_t seconds,
                                 struct tfd_status *st)
{
    enum tfd_code rc;

    tfd_lock(&s->lock);
    rc = tfd_rt_alarm(s->k->rt, &s->alarm, seconds * 1000000, st);
    if (rc == TFD_OK && !tfd_step_on_cancel(s->k->step, &s->cancel)) {
        s->cancelled = true;
        tfd_alarm_ring_now(&s->alarm);
    }
    tfd_unlock(&s->lock);
    return rc;
}

static enum tfd_code begin_sleep(struct tfd_kctx *k, struct tfd_status *st)
{
    struct sleeper *s;
    int64_t seconds;
    enum tfd_code rc;

    TFD_TRY(read_seconds(k, &seconds, st));
    s = calloc(1, sizeof(*s));
    if (!s)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a sleep");
    s->k = k;
    s->alarm.fn = wake;
    s->cancel.fn = sleep_cancelled;
    tfd_lock_init(&s->lock, TFD_LOCK_RESOURCE);
    rc = fall_asleep(s, seconds, st);
    if (rc != TFD_OK) {
        tfd_lock_deinit(&s->lock);
        free(s);
    }
    return rc;
}

static void sleep_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (begin_sleep(k, &st) != TFD_OK)
        tfd_kctx_finish(k, &st);
}

static enum tfd_code deadline_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    (void)k;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Deadline has not ben set.");
}

static const struct tfd_opdef ops[] = {
    {
        .name = "SleepOp",
        .inputs = "sleep_seconds: int32",
        .outputs = "",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "SleepIdentityOp",
        .inputs = "sleep_seconds: int32, input: T",
        .outputs = "output: T",
        .attrs = "T: type",
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "GetDeadline",
        .inputs = "",
        .outputs = "deadline_from_epoch_micros: int64",
        .flags = TFD_OP_STATEFUL,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("SleepOp", NULL, .start = sleep_start,
                   .flags = TFD_KERNEL_WAITS),
    TFD_KERNEL_ANY("SleepIdentityOp", NULL, .start = sleep_start,
                   .flags = TFD_KERNEL_WAITS),
    TFD_KERNEL_ANY("GetDeadline", deadline_compute),
};

const struct tfd_family tfd_family_sleep = {
    .name = "sleep",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
