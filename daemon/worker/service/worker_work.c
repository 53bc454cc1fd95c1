/*
 * worker_work.c - says whether a worker has work under way, which a server that
 * drains waits for, and refuses new work where it may have no more.
 */
#include "daemon/worker/service/worker_service.h"

bool tfd_worker_has_work(const struct tfd_worker_service *w)
{
    return w->step_count > 0 || w->registering > 0;
}

void tfd_worker_one_less(struct tfd_worker_service *w)
{
    if (w->waiting && !tfd_worker_has_work(w))
        tfd_loop_stop(w->options.loop);
}

enum tfd_code tfd_worker_check(const struct tfd_worker_service *w,
                               struct tfd_status *st)
{
    if (!w->stopping)
        return TFD_OK;
    return tfd_fail(st, TFD_UNAVAILABLE, "%s is shutting down", w->local.task);
}
