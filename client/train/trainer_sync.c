/*
 * trainer_sync.c - the trainer's part in a training in step (trainer.h): what
 * is set at the beginning of a session, and on the chief the thread that takes
 * the gradients of all, updates, and hands out tokens.
 *
 * It is what Python calls the chief's queue runner.  It ends with its session.
 * When it fails by itself it closes the session, so that the step which waits
 * for a token ends, and its failure is the training's.
 */
#include "client/train/trainer.h"

#include "common/base/atomic.h"

static enum tfd_code run_one(TFD_Trainer *t, const TF_Operation *op,
                             TF_Status *status)
{
    TF_SessionRun(t->session, NULL, NULL, NULL, 0, NULL, NULL, 0, &op, 1, NULL,
                  status);
    return (enum tfd_code)TF_GetCode(status);
}

/* Ended from outside, by a session that is closed or a queue that is. */
static bool is_end(enum tfd_code rc)
{
    return rc == TFD_CANCELLED || rc == TFD_OUT_OF_RANGE;
}

static void *run_trainer_sync(void *arg)
{
    TFD_Trainer *t = arg;
    struct tfd_sync_runner *r = &t->sync;
    enum tfd_code rc;

    do
        rc = run_one(t, t->training.sync_update, r->status);
    while (rc == TFD_OK);
    if (!is_end(rc) && !TFD_LOAD_ACQUIRE(&r->ending)) {
        tfd_status_copy(&r->failure, &r->status->st);
        TF_CloseSession(t->session, r->status);
    }
    return NULL;
}

static enum tfd_code start_runner(TFD_Trainer *t, struct tfd_status *st)
{
    struct tfd_sync_runner *r = &t->sync;

    tfd_status_clear(&r->failure);
    r->ending = false;
    r->status = TF_NewStatus();
    if (r->status &&
        pthread_create(&r->thread, NULL, run_trainer_sync, t) == 0) {
        r->started = true;
        return TFD_OK;
    }
    TF_DeleteStatus(r->status);
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "no thread for the updates of a training in step");
}

enum tfd_code tfd_trainer_sync_begin(TFD_Trainer *t, struct tfd_status *st)
{
    const struct tfd_trainer_graph *g = &t->training;

    if (!g->sync_update)
        return TFD_OK;
    if (!t->o.is_chief) {
        (void)run_one(t, g->sync_local_init, t->status);
        return tfd_status_copy(st, &t->status->st);
    }
    if (run_one(t, g->sync_chief_init, t->status) != TFD_OK ||
        run_one(t, g->sync_tokens, t->status) != TFD_OK)
        return tfd_status_copy(st, &t->status->st);
    return start_runner(t, st);
}

enum tfd_code tfd_trainer_sync_end(TFD_Trainer *t, struct tfd_status *st)
{
    struct tfd_sync_runner *r = &t->sync;
    enum tfd_code rc = st->code;

    if (!r->started)
        return rc;
    TFD_STORE_RELEASE(&r->ending, true);
    TF_CloseSession(t->session, t->status);
    pthread_join(r->thread, NULL);
    r->started = false;
    TF_DeleteStatus(r->status);
    /* The step only heard that its session was closed. */
    if (rc != TFD_OK && r->failure.code != TFD_OK) {
        *st = r->failure;
        rc = st->code;
    }
    return rc;
}
