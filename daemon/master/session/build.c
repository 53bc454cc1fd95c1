/*
 * build.c - see build.h.  A build that has its turn is s->building until its
 * done() has returned, so what that starts waits like everything else.
 */
#include "daemon/master/session/build.h"

#include "common/base/atomic.h"
#include "common/base/container.h"
#include "daemon/master/session/session.h"

#include <stddef.h>

static void end_build(struct tfd_build *b)
{
    struct tfd_session *s = b->session;

    b->done(b);
    s->building = NULL;
    tfd_session_unref(s);
}

static void run_job(struct tfd_job *job)
{
    struct tfd_build *b = TFD_CONTAINER_OF(job, struct tfd_build, job);

    b->work(b);
    tfd_loop_post(b->session->master->o.loop, &b->post);
}

static struct tfd_build *take_next(struct tfd_session *s)
{
    struct tfd_build *b = s->builds;

    s->builds = b->next;
    if (!s->builds)
        s->builds_end = &s->builds;
    s->building = b;
    return b;
}

static void advance(struct tfd_session *s)
{
    struct tfd_pool *pool = s->master->builders;

    tfd_session_ref(s);
    while (!s->building && s->builds) {
        struct tfd_build *b = take_next(s);

        if (b->work && b->large && pool) {
            tfd_pool_submit(pool, &b->job);
            break;
        }
        if (b->work)
            b->work(b);
        end_build(b);
    }
    tfd_session_unref(s);
}

static void worked(struct tfd_post *p)
{
    struct tfd_build *b = TFD_CONTAINER_OF(p, struct tfd_build, post);
    struct tfd_session *s = b->session;

    tfd_session_ref(s);
    end_build(b);
    advance(s);
    tfd_session_unref(s);
}

void tfd_build_start(struct tfd_session *s, struct tfd_build *b)
{
    b->session = s;
    b->next = NULL;
    b->job.run = run_job;
    b->post.run = worked;
    tfd_session_ref(s);
    *s->builds_end = b;
    s->builds_end = &b->next;
    advance(s);
}

void tfd_build_stop(struct tfd_build *b)
{
    TFD_STORE_RELAXED(&b->stop, true);
}

void tfd_build_stop_all(struct tfd_session *s)
{
    if (s->building && s->building->work)
        tfd_build_stop(s->building);
    for (struct tfd_build *b = s->builds; b; b = b->next)
        if (b->work)
            tfd_build_stop(b);
}
