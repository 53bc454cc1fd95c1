/*
 * worker_lasting.c - the parts of a worker that outlive steps and graphs: the
 * crew of threads that wait (common/thread/crew.h), and the worlds of functions
 * that iterators call (daemon/worker/run/lasting.h).
 */
#include "daemon/worker/service/worker_service.h"

#include "common/base/atomic.h"
#include "common/base/container.h"
#include "common/thread/crew.h"
#include "config/limits.h"

static void hold_session(void *session)
{
    tfd_task_session_hold(session);
}

static void let_go_session(void *session)
{
    tfd_task_session_let_go(session);
}

static uint64_t *calls_of_session(void *session)
{
    struct tfd_task_session *s = session;

    return &s->lasting_calls;
}

static void less_lasting(struct tfd_lasting_host *h)
{
    struct tfd_worker_service *w =
        TFD_CONTAINER_OF(h, struct tfd_worker_service, lasting);

    if (w->lasts)
        tfd_loop_stop(w->options.loop);
}

static void crew_idle(struct tfd_post *p)
{
    struct tfd_worker_service *w =
        TFD_CONTAINER_OF(p, struct tfd_worker_service, crew_idle);

    w->crew_told = false;
    less_lasting(&w->lasting);
}

static void post_idle(void *arg)
{
    struct tfd_worker_service *w = arg;

    tfd_loop_post(w->options.loop, &w->crew_idle);
}

enum tfd_code tfd_worker_make_lasting(struct tfd_worker_service *w,
                                      struct tfd_status *st)
{
    w->lasting.loop = w->options.loop;
    w->lasting.drop = tfd_lasting_world_let_go;
    w->lasting.hold = hold_session;
    w->lasting.let_go = let_go_session;
    w->lasting.calls_of = calls_of_session;
    w->lasting.less = less_lasting;
    w->crew_idle.run = crew_idle;
    w->crew = tfd_crew_new(TFD_CREW_MAX, st);
    return w->crew ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

static bool has_lasting(struct tfd_worker_service *w)
{
    if (!w->crew_told)
        w->crew_told = tfd_crew_when_idle(w->crew, post_idle, w);
    return w->crew_told || TFD_LOAD_ACQUIRE(&w->lasting.calls) > 0 ||
           TFD_LOAD_ACQUIRE(&w->lasting.worlds) > 0;
}

void tfd_worker_end_lasting(struct tfd_worker_service *w)
{
    if (!w->crew)
        return;
    w->lasts = true;
    while (has_lasting(w))
        tfd_loop_run(w->options.loop);
    w->lasts = false;
    tfd_crew_free(w->crew);
    w->crew = NULL;
}
