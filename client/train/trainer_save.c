/*
 * trainer_save.c - checkpoints of a training: saved when it is time, tried
 * again when the disk takes nothing, restored from the last one that is whole.
 *
 * A save that fails for a task that is lost is that task's affair; any other
 * failure but a wrong graph is one of files.
 */
#include "client/train/trainer.h"

#include "client/train/checkpoint_check.h"
#include "common/base/clock.h"
#include "daemon/server.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_FIRST_US INT64_C(1000000)
#define AGAIN_MOST_US INT64_C(60000000)
#define LAST_TRIES 4 /* with pauses of 1, 2 and 4 s */

/* ---- Saying -------------------------------------------------------------- */

void tfd_trainer_say(const TFD_Trainer *t, const char *fmt, ...)
{
    char text[2 * TFD_STATUS_TEXT_MAX + 200];
    va_list args;

    if (!t->o.said)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    t->o.said(t->o.ctx, text);
}

static void trouble(const TFD_Trainer *t, const char *event, const char *path,
                    const char *text)
{
    if (t->o.trouble)
        t->o.trouble(t->o.ctx, event, path, text);
    else
        tfd_trainer_say(t, "%s: %s: %s", event, path, text);
}

/* ---- Saving -------------------------------------------------------------- */

/* Runs what the saver feeds with a prefix. */
static enum tfd_code run_with_path(TFD_Trainer *t, const char *path,
                                   const TF_Output *fetch,
                                   const TF_Operation *target,
                                   struct tfd_status *st)
{
    TF_Tensor *in = TF_AllocateTensor(TF_STRING, NULL, 0, sizeof(TF_TString));
    TF_Tensor *out = NULL;

    if (!in)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a path");
    TF_StringCopy(TF_TensorData(in), path, strlen(path));
    TF_SessionRun(t->session, NULL, &t->training.filename, &in, 1, fetch, &out,
                  fetch ? 1 : 0, &target, target ? 1 : 0, NULL, t->status);
    TF_DeleteTensor(in);
    TF_DeleteTensor(out);
    return tfd_status_copy(st, &t->status->st);
}

static bool is_of_files(enum tfd_code rc)
{
    switch (rc) {
    case TFD_OK:
    case TFD_ABORTED:
    case TFD_CANCELLED:
    case TFD_DEADLINE_EXCEEDED:
    case TFD_INVALID_ARGUMENT:
    case TFD_UNAVAILABLE:
    case TFD_UNIMPLEMENTED:
        return false;
    default:
        return true;
    }
}

static enum tfd_code save_to(TFD_Trainer *t, const char *path,
                             struct tfd_status *st)
{
    enum tfd_code rc = run_with_path(t, path, &t->training.save, NULL, st);

    if (rc == TFD_OK)
        rc = tfd_checkpoints_add(&t->checkpoints, path, st);
    if (t->server)
        tfd_server_count_save(t->server, rc != TFD_OK);
    if (rc == TFD_OK) {
        t->saved_step = t->step;
        t->saved_us = tfd_clock_now_us();
        t->save_again_us = t->save_pause_us = 0;
        tfd_trainer_say(t, "saved step %lld to %s", (long long)t->step, path);
    } else if (is_of_files(rc)) {
        tfd_checkpoints_discard(&t->checkpoints, path);
        trouble(t, "save_failed", path, st->text);
    }
    return rc;
}

enum tfd_code tfd_trainer_save(TFD_Trainer *t, struct tfd_status *st)
{
    char *path;
    enum tfd_code rc;

    if (!t->has_checkpoints || t->saved_step == t->step)
        return TFD_OK;
    path = tfd_checkpoints_path(&t->checkpoints, t->step);
    if (!path)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a path");
    rc = save_to(t, path, st);
    free(path);
    return rc;
}

static bool is_due(const TFD_Trainer *t)
{
    int64_t now = tfd_clock_now_us();

    if (t->save_again_us)
        return now >= t->save_again_us;
    return (t->o.save_steps > 0 &&
            t->step - t->saved_step >= t->o.save_steps) ||
           (t->o.save_secs > 0 &&
            (double)(now - t->saved_us) / 1e6 >= t->o.save_secs);
}

/* A disk that takes nothing is tried again later. */
static enum tfd_code try_to_save(TFD_Trainer *t, struct tfd_status *st)
{
    enum tfd_code rc = tfd_trainer_save(t, st);

    if (!is_of_files(rc))
        return rc;
    tfd_status_clear(st);
    t->save_pause_us = t->save_pause_us ? 2 * t->save_pause_us : AGAIN_FIRST_US;
    if (t->save_pause_us > AGAIN_MOST_US)
        t->save_pause_us = AGAIN_MOST_US;
    t->save_again_us = tfd_clock_now_us() + t->save_pause_us;
    return TFD_OK;
}

enum tfd_code tfd_trainer_save_when_due(TFD_Trainer *t, struct tfd_status *st)
{
    return is_due(t) ? try_to_save(t, st) : TFD_OK;
}

enum tfd_code tfd_trainer_save_and_leave(TFD_Trainer *t, struct tfd_status *st)
{
    if (t->save_again_us && !is_due(t))
        return TFD_OK;
    TFD_TRY(try_to_save(t, st));
    if (t->saved_step != t->step)
        return TFD_OK;
    return tfd_fail(st, TFD_UNAVAILABLE,
                    "a task is stopping; training goes on from the checkpoint "
                    "of step %lld when it is back",
                    (long long)t->step);
}

/* Also when it was told to stop: what bounds that is the server's drain. */
static void wait_for(TFD_Trainer *t, int64_t us)
{
    int64_t until = tfd_clock_now_us() + us;

    tfd_lock(&t->lock);
    while (tfd_cond_wait_until(&t->stop_cond, &t->lock, until))
        ;
    tfd_unlock(&t->lock);
}

enum tfd_code tfd_trainer_save_last(TFD_Trainer *t, struct tfd_status *st)
{
    int64_t pause_us = AGAIN_FIRST_US;
    enum tfd_code rc = tfd_trainer_save(t, st);

    for (int i = 1; i < LAST_TRIES && is_of_files(rc); i++) {
        wait_for(t, pause_us);
        pause_us *= 2;
        tfd_status_clear(st);
        rc = tfd_trainer_save(t, st);
    }
    if (is_of_files(rc))
        tfd_status_context(st, "The last save");
    return rc;
}

/* ---- Restoring ----------------------------------------------------------- */

/* The step in "model.ckpt-12"; -1 for another name. */
static int64_t step_of(const char *path)
{
    const char *dash = strrchr(path, '-');
    char *end = NULL;
    long long step = dash ? strtoll(dash + 1, &end, 10) : -1;

    return dash && end != dash + 1 && !*end ? step : -1;
}

static enum tfd_code restore_from(TFD_Trainer *t, const char *path,
                                  struct tfd_status *st)
{
    TFD_TRY(run_with_path(t, path, NULL, t->training.restore, st));
    /* Workers may have gone on by the time the step is read. */
    t->saved_step = step_of(path);
    t->saved_us = tfd_clock_now_us();
    tfd_trainer_say(t, "restored %s", path);
    return TFD_OK;
}

/* The latest one cannot be restored, for *st; if that is its own fault. */
static enum tfd_code restore_older(TFD_Trainer *t, const char *latest,
                                   struct tfd_status *st)
{
    struct tfd_status damage = TFD_STATUS_INIT;
    char text[2 * TFD_STATUS_TEXT_MAX];
    const char *good;

    if (!is_of_files(st->code) ||
        tfd_checkpoint_check(&t->checkpoints.files.access, latest, &damage) ==
            TFD_OK)
        return st->code;
    good = tfd_checkpoints_good(&t->checkpoints);
    tfd_status_clear(st);
    if (!good)
        return tfd_fail(st, TFD_DATA_LOSS,
                        "The latest checkpoint is damaged, and there is none "
                        "before it that is whole: %s",
                        damage.text);
    if (!t->o.restore_last_good)
        return tfd_fail(st, TFD_DATA_LOSS,
                        "The last good checkpoint is %s, which "
                        "--restore=last-good takes; the latest one is damaged: "
                        "%s",
                        good, damage.text);
    snprintf(text, sizeof(text), "restored %s instead; %s", good, damage.text);
    trouble(t, "checkpoint_damaged", latest, text);
    return restore_from(t, good, st);
}

/* The list of checkpoints cannot be believed; one that names none, in a folder
 * without any, is a beginning. */
static enum tfd_code restore_unlisted(TFD_Trainer *t, bool *restored,
                                      struct tfd_status *st)
{
    const struct tfd_checkpoints *c = &t->checkpoints;
    const char *good = tfd_checkpoints_good(&t->checkpoints);
    char text[2 * TFD_STATUS_TEXT_MAX];
    char list[TFD_FILE_NAME_MAX + 16];

    *restored = good != NULL;
    if (!good && c->damage.code == TFD_NOT_FOUND && !c->found_any)
        return TFD_OK;
    if (!good)
        return tfd_fail(st, TFD_DATA_LOSS, "%s; no checkpoint in %s is whole",
                        c->damage.text, c->dir);
    snprintf(list, sizeof(list), "%s/checkpoint", c->dir);
    snprintf(text, sizeof(text), "restored %s instead; %s", good,
             c->damage.text);
    trouble(t, "checkpoint_damaged", list, text);
    return restore_from(t, good, st);
}

enum tfd_code tfd_trainer_restore(TFD_Trainer *t, bool *restored,
                                  struct tfd_status *st)
{
    const char *path = NULL;
    enum tfd_code rc = TFD_OK;

    if (t->o.restore_last_good && t->checkpoints.damage.code != TFD_OK &&
        t->checkpoints.count == 0)
        return restore_unlisted(t, restored, st);
    if (t->has_checkpoints)
        rc = tfd_checkpoints_latest(&t->checkpoints, &path, st);
    *restored = path != NULL;
    if (rc == TFD_OK && path)
        rc = restore_from(t, path, st);
    if (rc != TFD_OK && path)
        rc = restore_older(t, path, st);
    return rc;
}
