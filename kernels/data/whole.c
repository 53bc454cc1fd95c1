/*
 * whole.c - see whole.h.
 */
#include "kernels/data/whole.h"

#include "common/base/container.h"

#include <stdlib.h>

static void finish_whole(struct tfd_whole *w, const struct tfd_status *st)
{
    struct tfd_kctx *k = w->k;

    tfd_step_off_cancel(k->step, &w->cancel);
    tfd_data_close(w->it);
    tfd_data_scope_unref(w->scope);
    free(w);
    if (st->code != TFD_OK)
        tfd_data_element_drop(k->out, k->out_count);
    tfd_kctx_finish(k, st);
}

static void whole_job(struct tfd_job *job)
{
    struct tfd_whole *w = TFD_CONTAINER_OF(job, struct tfd_whole, job);
    struct tfd_status st = TFD_STATUS_INIT;

    (void)w->run(w, &st);
    finish_whole(w, &st);
}

static void whole_cancelled(struct tfd_cancel *c)
{
    tfd_data_scope_cancel(TFD_CONTAINER_OF(c, struct tfd_whole, cancel)->scope);
}

static enum tfd_code open_input(struct tfd_whole *w, const char *path,
                                struct tfd_status *st)
{
    struct tfd_dataset *d;

    TFD_TRY(tfd_dataset_of(&w->k->in[0], &d, st));
    return tfd_data_open(d, w->scope, path, 0, &w->it, st);
}

static enum tfd_code begin_whole(struct tfd_whole *w, const char *path,
                                 struct tfd_status *st)
{
    const struct tfd_data_task task = tfd_data_task_of(w->k->rt);

    w->scope = tfd_data_scope_new(&task, st);
    if (!w->scope)
        return TFD_RESOURCE_EXHAUSTED;
    if (path)
        TFD_TRY(open_input(w, path, st));
    if (!tfd_step_on_cancel(w->k->step, &w->cancel))
        return tfd_fail(st, TFD_CANCELLED, "Operation was cancelled");
    return tfd_crew_submit(task.crew, &w->job, st);
}

void tfd_whole_start(struct tfd_kctx *k, const char *path, tfd_whole_fn *run)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_whole *w = calloc(1, sizeof(*w));

    if (!w) {
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
        tfd_kctx_finish(k, &st);
        return;
    }
    w->job.run = whole_job;
    w->cancel.fn = whole_cancelled;
    w->k = k;
    w->run = run;
    if (begin_whole(w, path, &st) != TFD_OK)
        finish_whole(w, &st);
}
