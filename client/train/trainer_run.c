/*
 * trainer_run.c - TFD_Train(): what Python calls a monitored session.
 *
 *     open a session --> prepare --> step, step, ... --> last save, evaluation
 *          ^    (restore, init or wait)     |
 *          +---- pause ---- a task was lost +
 *
 * A session belongs to one try.  ABORTED (a task has restarted) and UNAVAILABLE
 * (it cannot be reached) end the try and not the training; the pauses between
 * tries grow up to recovery_wait_secs while nothing succeeds.  A server that
 * misses a peer says DEADLINE_EXCEEDED after its own wait: that is the end.
 *
 * A task that is told to stop says so with a step's response (leaving.h of the
 * master): the chief saves, and that is the end of the try.
 *
 * A chief that loses its session while the variables live on does not go back
 * to the checkpoint; it restores only what is gone.
 */
#include "client/train/trainer.h"

#include "common/base/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_FIRST_US INT64_C(1000000)
#define RECOVERY_WAIT_SECS 30 /* Python's recovery_wait_secs */

enum outcome { DONE, NOT_READY, LOST, FAILED };

/* ---- Stopping ------------------------------------------------------------ */

static bool is_stopped(TFD_Trainer *t)
{
    bool stop;

    tfd_lock(&t->lock);
    stop = t->stop;
    tfd_unlock(&t->lock);
    return stop;
}

/* False when it was stopped meanwhile. */
static bool pause_for(TFD_Trainer *t, int64_t us)
{
    int64_t until = tfd_clock_now_us() + us;
    bool stop;

    tfd_lock(&t->lock);
    while (!t->stop && tfd_cond_wait_until(&t->stop_cond, &t->lock, until))
        ;
    stop = t->stop;
    tfd_unlock(&t->lock);
    return !stop;
}

/* ---- Runs ---------------------------------------------------------------- */

static enum tfd_code result(const TFD_Trainer *t, struct tfd_status *st)
{
    return tfd_status_copy(st, &t->status->st);
}

static enum tfd_code run_targets(TFD_Trainer *t, TF_Operation *const *ops,
                                 int count, struct tfd_status *st)
{
    if (count == 0)
        return TFD_OK;
    TF_SessionRun(t->session, NULL, NULL, NULL, 0, NULL, NULL, 0,
                  (const TF_Operation *const *)ops, count, NULL, t->status);
    return result(t, st);
}

static enum tfd_code fail_kind(const TF_Output *o, const char *kind,
                               struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "'%.200s' gave no %s",
                    TF_OperationName(o->oper), kind);
}

/* The number in a tensor with one element; false for another one. */
static bool number_in_tensor(const TF_Tensor *t, double *out)
{
    const void *data = TF_TensorElementCount(t) == 1 ? TF_TensorData(t) : NULL;

    if (!data)
        return false;
    switch (TF_TensorType(t)) {
    case TF_FLOAT:
        *out = (double)*(const float *)data;
        return true;
    case TF_DOUBLE:
        *out = *(const double *)data;
        return true;
    case TF_INT64:
        *out = (double)*(const int64_t *)data;
        return true;
    case TF_INT32:
        *out = *(const int32_t *)data;
        return true;
    case TF_BOOL:
        *out = *(const uint8_t *)data;
        return true;
    default:
        return false;
    }
}

static enum tfd_code fetch_number(TFD_Trainer *t, TF_Output fetch, double *out,
                                  struct tfd_status *st)
{
    TF_Tensor *value = NULL;
    enum tfd_code rc;

    TF_SessionRun(t->session, NULL, NULL, NULL, 0, &fetch, &value, 1, NULL, 0,
                  NULL, t->status);
    rc = result(t, st);
    if (rc == TFD_OK && !number_in_tensor(value, out))
        rc = fail_kind(&fetch, "number", st);
    TF_DeleteTensor(value);
    return rc;
}

static enum tfd_code read_step(TFD_Trainer *t, struct tfd_status *st)
{
    double step;

    TFD_TRY(fetch_number(t, t->training.step, &step, st));
    t->step = (int64_t)step;
    return TFD_OK;
}

/* ---- Preparing ----------------------------------------------------------- */

static enum tfd_code all_ready(TFD_Trainer *t, bool *ready,
                               struct tfd_status *st)
{
    int count = t->training.ready_count;
    TF_Tensor **values = calloc((size_t)count + 1, sizeof(TF_Tensor *));
    enum tfd_code rc;
    double value;

    if (!values)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for %d values",
                        count);
    TF_SessionRun(t->session, NULL, NULL, NULL, 0, t->training.ready, values,
                  count, NULL, 0, NULL, t->status);
    rc = result(t, st);
    *ready = rc == TFD_OK;
    for (int i = 0; i < count; i++) {
        if (rc == TFD_OK &&
            (!number_in_tensor(values[i], &value) || value == 0))
            *ready = false;
        TF_DeleteTensor(values[i]);
    }
    free(values);
    return rc;
}

/* Gives the variables values: those of a checkpoint, or initial ones. */
static enum tfd_code restore(TFD_Trainer *t, struct tfd_status *st)
{
    bool restored;

    TFD_TRY(tfd_trainer_restore(t, &restored, st));
    if (restored)
        return TFD_OK;
    return run_targets(t, t->training.init, t->training.init_count, st);
}

static enum tfd_code prepare_chief(TFD_Trainer *t, struct tfd_status *st)
{
    bool ready = false;

    if (t->prepared_once)
        TFD_TRY(all_ready(t, &ready, st));
    if (!ready)
        TFD_TRY(restore(t, st));
    t->prepared_once = true;
    TFD_TRY(run_targets(t, t->training.local_init, t->training.local_init_count,
                        st));
    TFD_TRY(read_step(t, st));
    /* What was restored is saved; a beginning is not. */
    return t->saved_step < 0 ? tfd_trainer_save(t, st) : TFD_OK;
}

static enum tfd_code prepare_worker(TFD_Trainer *t, bool *ready,
                                    struct tfd_status *st)
{
    TFD_TRY(all_ready(t, ready, st));
    if (!*ready)
        return TFD_OK;
    TFD_TRY(run_targets(t, t->training.local_init, t->training.local_init_count,
                        st));
    return read_step(t, st);
}

/* ---- Steps --------------------------------------------------------------- */

static enum tfd_code one_step(TFD_Trainer *t, struct tfd_status *st)
{
    const TF_Output fetches[] = {t->training.step_after, t->training.loss};
    TF_Tensor *values[2] = {NULL, NULL};
    double step = 0, loss = (double)NAN;
    enum tfd_code rc;

    TF_SessionRun(t->session, NULL, NULL, NULL, 0, fetches, values,
                  t->training.loss.oper ? 2 : 1, NULL, 0, NULL, t->status);
    rc = result(t, st);
    if (rc == TFD_OK && !number_in_tensor(values[0], &step))
        rc = fail_kind(&fetches[0], "number", st);
    if (rc == TFD_OK && values[1])
        (void)number_in_tensor(values[1], &loss);
    TF_DeleteTensor(values[0]);
    TF_DeleteTensor(values[1]);
    if (rc != TFD_OK)
        return rc;
    t->step = (int64_t)step;
    t->pause_us = PAUSE_FIRST_US;
    if (t->o.after_step)
        t->o.after_step(t->o.ctx, t->step, loss);
    return TFD_OK;
}

static bool at_end(TFD_Trainer *t)
{
    return (t->o.max_steps > 0 && t->step >= t->o.max_steps) || is_stopped(t);
}

static enum tfd_code train_on(TFD_Trainer *t, struct tfd_status *st)
{
    while (!at_end(t)) {
        enum tfd_code rc = one_step(t, st);

        if (rc == TFD_OUT_OF_RANGE) { /* the input has ended */
            tfd_trainer_say(t, "end of input at step %lld: %s",
                            (long long)t->step, st->text);
            tfd_status_clear(st);
            return TFD_OK;
        }
        if (rc == TFD_OK && t->o.is_chief)
            rc = tfd_c_api_session_task_leaves(t->session)
                     ? tfd_trainer_save_and_leave(t, st)
                     : tfd_trainer_save_when_due(t, st);
        if (rc != TFD_OK)
            return rc;
    }
    return TFD_OK;
}

static enum tfd_code evaluate(TFD_Trainer *t, struct tfd_status *st)
{
    if (is_stopped(t))
        return TFD_OK;
    for (int i = 0; i < t->training.eval_count; i++) {
        double value;

        TFD_TRY(fetch_number(t, t->training.eval[i], &value, st));
        if (t->o.evaluated)
            t->o.evaluated(t->o.ctx, TF_OperationName(t->training.eval[i].oper),
                           value);
    }
    return TFD_OK;
}

/* ---- One try ------------------------------------------------------------- */

static enum tfd_code run_session(TFD_Trainer *t, bool *ready,
                                 struct tfd_status *st)
{
    *ready = true;
    if (t->o.is_chief)
        TFD_TRY(prepare_chief(t, st));
    else
        TFD_TRY(prepare_worker(t, ready, st));
    if (!*ready)
        return TFD_OK;
    TFD_TRY(tfd_trainer_sync_begin(t, st));
    TFD_TRY(tfd_trainer_queues_begin(t, st));
    TFD_TRY(train_on(t, st));
    if (!t->o.is_chief)
        return TFD_OK;
    TFD_TRY(tfd_trainer_save_last(t, st));
    return evaluate(t, st);
}

static enum tfd_code open_session(TFD_Trainer *t, struct tfd_status *st)
{
    TF_Session *s =
        tfd_c_api_session_open(t->training.graph, t->server, t->o.target,
                               tfd_bytes_view(&t->config), st);

    if (!s)
        return st->code;
    tfd_lock(&t->lock);
    t->session = s;
    tfd_unlock(&t->lock);
    return TFD_OK;
}

static void close_session(TFD_Trainer *t)
{
    TF_Session *s;

    tfd_lock(&t->lock);
    s = t->session;
    t->session = NULL;
    tfd_unlock(&t->lock);
    TF_DeleteSession(s, t->status);
}

/* What a session says whose server is going away. */
static bool ended_by_stop(enum tfd_code rc)
{
    return rc == TFD_CANCELLED || rc == TFD_ABORTED || rc == TFD_UNAVAILABLE ||
           rc == TFD_FAILED_PRECONDITION;
}

static bool is_lost(enum tfd_code rc)
{
    return rc == TFD_ABORTED || rc == TFD_UNAVAILABLE;
}

/* Told before the session is closed, which may wait for the lost task, too. */
static enum outcome try_once(TFD_Trainer *t, struct tfd_status *st)
{
    bool ready = true;
    enum tfd_code rc = open_session(t, st);

    if (rc == TFD_OK) {
        (void)!run_session(t, &ready, st);
        (void)!tfd_trainer_queues_end(t, st);
        rc = tfd_trainer_sync_end(t, st);
    }
    if (is_lost(rc) && !is_stopped(t))
        tfd_trainer_say(t, "lost the session at step %lld: %s",
                        (long long)t->step, st->text);
    close_session(t);
    if (rc == TFD_OK)
        return ready ? DONE : NOT_READY;
    if (is_stopped(t) && ended_by_stop(rc)) {
        if (t->has_checkpoints)
            tfd_trainer_say(t, "stopped without a last checkpoint: %s",
                            st->text);
        tfd_status_clear(st);
        return DONE;
    }
    return is_lost(rc) ? LOST : FAILED;
}

static int64_t longest_pause(const TFD_Trainer *t)
{
    double secs = t->o.recovery_wait_secs > 0 ? t->o.recovery_wait_secs
                                              : RECOVERY_WAIT_SECS;

    return (int64_t)(secs * 1e6);
}

enum tfd_code tfd_trainer_train(TFD_Trainer *t, struct tfd_status *st)
{
    enum outcome outcome = NOT_READY;

    t->pause_us = PAUSE_FIRST_US;
    t->saved_us = tfd_clock_now_us();
    while (!is_stopped(t)) {
        outcome = try_once(t, st);
        if (outcome == DONE)
            return TFD_OK;
        if (outcome == FAILED)
            return st->code;
        if (outcome == NOT_READY)
            tfd_trainer_say(
                t, "waiting until the chief has initialised the variables");
        tfd_status_clear(st);
        if (t->pause_us > longest_pause(t))
            t->pause_us = longest_pause(t);
        if (!pause_for(t, t->pause_us))
            break;
        /* Waiting for a chief that starts is no trouble. */
        if (outcome == LOST)
            t->pause_us *= 2;
    }
    return TFD_OK;
}

void TFD_Train(TFD_Trainer *trainer, TF_Status *status)
{
    (void)!tfd_trainer_train(trainer, tfd_capi_status(status));
}
