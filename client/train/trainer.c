/*
 * trainer.c - a trainer from its options: the model read and placed, its
 * checkpoints found; trainer_run.c trains it.
 */
#define _GNU_SOURCE 1 /* strdup() */

#include "client/train/trainer.h"

#include "common/base/pbio.h"
#include "common/proto/config.pb.h"
#include "config/session_config.h"

#include <stdlib.h>
#include <string.h>

static enum tfd_code copy_string(const char **s, struct tfd_status *st)
{
    if (!*s)
        return TFD_OK;
    *s = strdup(*s);
    if (!*s)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a trainer");
    return TFD_OK;
}

static enum tfd_code copy_options(TFD_Trainer *t, const TFD_TrainerOptions *o,
                                  struct tfd_status *st)
{
    const char **strings[] = {&t->o.target, &t->o.meta_file,
                              &t->o.checkpoint_dir, &t->o.worker_device};
    enum tfd_code rc = TFD_OK;

    /* A program built against an older header knows fewer fields. */
    memcpy(&t->o, o,
           o->struct_size < sizeof(t->o) ? o->struct_size : sizeof(t->o));
    for (int i = 0; i < TFD_COUNT(strings); i++)
        if (rc == TFD_OK)
            rc = copy_string(strings[i], st);
        else
            *strings[i] = NULL;
    if (rc == TFD_OK && !t->o.meta_file)
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT, "no meta_file was given");
    return rc;
}

static void put_filter(struct tfd_bytes *b, const char *filter)
{
    tfd_pb_put_str(b, tensorflow_ConfigProto_device_filters_tag,
                   tfd_str_of(filter));
}

/* A worker that waits for another worker would not survive its end, so a
 * session sees the ps tasks and its own. */
static enum tfd_code make_config(TFD_Trainer *t, struct tfd_status *st)
{
    tfd_bytes_init(&t->config, TFD_SESSION_CONFIG_SIZE_MAX);
    if (t->o.ps_tasks > 0 && t->o.worker_device) {
        put_filter(&t->config, "/job:ps");
        put_filter(&t->config, t->o.worker_device);
    }
    tfd_pb_put_bool(&t->config, tensorflow_ConfigProto_allow_soft_placement_tag,
                    true);
    if (t->o.is_chief && t->o.checkpoint_dir)
        tfd_pb_put_bool(&t->config,
                        tensorflow_ConfigProto_saves_before_tasks_leave_tag,
                        true);
    return tfd_bytes_ok(&t->config, "the ConfigProto", st);
}

static enum tfd_code read_model(TFD_Trainer *t, struct tfd_status *st)
{
    static const char *const everywhere[] = {"/"};
    struct tfd_trainer_graph_options o = {t->o.ps_tasks, t->o.worker_device};
    struct tfd_file_roots files;
    struct tfd_bytes bytes;
    enum tfd_code rc;

    TFD_TRY(tfd_file_roots_init(&files, everywhere, 1, st));
    tfd_bytes_init(&bytes, TFD_CAPI_MESSAGE_MAX);
    rc = tfd_file_read_all(&files.access, tfd_str_of(t->o.meta_file), &bytes,
                           st);
    tfd_file_roots_deinit(&files);
    if (rc == TFD_OK) {
        rc = tfd_trainer_graph_init(&t->training, tfd_bytes_view(&bytes), &o,
                                    st);
        if (rc != TFD_OK)
            tfd_status_context(st, "%.300s", t->o.meta_file);
    }
    tfd_bytes_deinit(&bytes);
    return rc;
}

static enum tfd_code open_checkpoints(TFD_Trainer *t, struct tfd_status *st)
{
    if (!t->o.checkpoint_dir || !t->o.is_chief)
        return TFD_OK;
    if (!t->training.restore)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%.300s has no variables to save, and a "
                        "checkpoint_dir was given",
                        t->o.meta_file);
    TFD_TRY((t->o.restore_last_good ? tfd_checkpoints_open_damaged
                                    : tfd_checkpoints_open)(
        &t->checkpoints, t->o.checkpoint_dir, t->training.max_to_keep, st));
    t->has_checkpoints = true;
    return TFD_OK;
}

static enum tfd_code set_up(TFD_Trainer *t, const TFD_TrainerOptions *o,
                            struct tfd_status *st)
{
    TFD_TRY(copy_options(t, o, st));
    TFD_TRY(make_config(t, st));
    TFD_TRY(read_model(t, st));
    return open_checkpoints(t, st);
}

TFD_Trainer *tfd_trainer_on_server(const TFD_TrainerOptions *options,
                                   struct tfd_server *server,
                                   struct tfd_status *st)
{
    TFD_Trainer *t = calloc(1, sizeof(*t));

    if (!t || !(t->status = TF_NewStatus())) {
        free(t);
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a trainer");
        return NULL;
    }
    t->server = server;
    t->saved_step = -1;
    tfd_lock_init(&t->lock, TFD_LOCK_SERVER);
    tfd_cond_init(&t->stop_cond);
    if (set_up(t, options, st) == TFD_OK)
        return t;
    TFD_DeleteTrainer(t);
    return NULL;
}

TFD_Trainer *TFD_NewTrainer(const TFD_TrainerOptions *options,
                            TF_Status *status)
{
    return tfd_trainer_on_server(options, NULL, tfd_capi_status(status));
}

void TFD_StopTraining(TFD_Trainer *trainer)
{
    tfd_lock(&trainer->lock);
    trainer->stop = true;
    tfd_cond_broadcast(&trainer->stop_cond);
    tfd_unlock(&trainer->lock);
}

TF_Session *TFD_TrainerSession(TFD_Trainer *trainer)
{
    return trainer->session;
}

TF_Graph *TFD_TrainerGraph(TFD_Trainer *trainer)
{
    return trainer->training.graph;
}

void TFD_DeleteTrainer(TFD_Trainer *trainer)
{
    if (!trainer)
        return;
    if (trainer->has_checkpoints)
        tfd_checkpoints_close(&trainer->checkpoints);
    if (trainer->training.graph)
        tfd_trainer_graph_deinit(&trainer->training);
    tfd_bytes_deinit(&trainer->config);
    tfd_cond_deinit(&trainer->stop_cond);
    tfd_lock_deinit(&trainer->lock);
    TF_DeleteStatus(trainer->status);
    free((void *)(uintptr_t)trainer->o.target);
    free((void *)(uintptr_t)trainer->o.meta_file);
    free((void *)(uintptr_t)trainer->o.checkpoint_dir);
    free((void *)(uintptr_t)trainer->o.worker_device);
    free(trainer);
}
