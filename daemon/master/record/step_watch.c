/*
 * step_watch.c - see step_watch.h.
 */
#include "daemon/master/record/step_watch.h"

#include "common/base/clock.h"
#include "common/base/pbio.h"
#include "common/proto/config.pb.h"
#include "common/proto/peer.pb.h"
#include "config/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP(field) tfd_TracedStep_##field##_tag

/* More than what is written of a step beside its stats. */
#define BESIDE_STATS ((size_t)TFD_STATUS_TEXT_MAX + 1024)

struct tfd_watched_step {
    uint64_t watch; /* its number */
    int64_t begin_us;
    struct tfd_run_trace *trace; /* own, or its client's */
    bool is_own;
    struct tfd_run_trace own;
};

/* ---- The watch ----------------------------------------------------------- */

void tfd_step_watch_start(struct tfd_step_watch *w, int64_t asked,
                          struct tfd_str session,
                          void (*done)(struct tfd_step_watch *w), void *ctx)
{
    w->active = w->tracer.wants = true;
    snprintf(w->session, sizeof(w->session), TFD_STR_FMT, TFD_STR_ARG(session));
    w->number++;
    w->asked = asked;
    w->begun = w->kept = w->passed = 0;
    w->full = false;
    w->why = NULL;
    w->done = done;
    w->ctx = ctx;
    tfd_bytes_init(&w->steps, TFD_TRACED_STEPS_SIZE_MAX);
}

void tfd_step_watch_drop(struct tfd_step_watch *w)
{
    if (!w->active)
        return;
    w->active = w->tracer.wants = false;
    tfd_bytes_deinit(&w->steps);
}

void tfd_step_watch_stop(struct tfd_step_watch *w, const char *why)
{
    if (!w->active)
        return;
    w->why = w->kept < w->asked ? why : NULL;
    w->tracer.wants = false;
    w->done(w);
    tfd_step_watch_drop(w);
}

void tfd_step_watch_closed(struct tfd_step_watch *w, const char *session)
{
    if (w->active && w->session[0] && strcmp(w->session, session) == 0)
        tfd_step_watch_stop(w, "the session was closed");
}

/* ---- Steps --------------------------------------------------------------- */

static struct tfd_watched_step *new_watched(struct tfd_step_watch *w)
{
    struct tfd_watched_step *step = NULL;

    if (w->under_way < TFD_TRACED_AT_ONCE_MAX)
        step = calloc(1, sizeof(*step));
    if (!step)
        w->passed++;
    return step;
}

static struct tfd_watched_step *begin_watched(struct tfd_tracer *t,
                                              const char *session,
                                              struct tfd_run_trace **trace)
{
    struct tfd_step_watch *w = (struct tfd_step_watch *)t;
    struct tfd_watched_step *step;

    if (w->session[0] && strcmp(w->session, session) != 0)
        return NULL;
    step = new_watched(w);
    if (!step)
        return NULL;
    step->watch = w->number;
    step->begin_us = tfd_clock_wall_us();
    step->is_own = !*trace;
    step->trace = step->is_own ? &step->own : *trace;
    if (step->is_own) {
        tfd_bytes_init(&step->own.stats, TFD_TRACED_STEP_SIZE_MAX);
        tfd_bytes_init(&step->own.graphs, 0);
    }
    step->trace->timeline = true; /* what its client sees is said elsewhere */
    *trace = step->trace;
    w->under_way++;
    w->begun++;
    w->tracer.wants = w->begun < w->asked;
    return step;
}

static bool is_too_large(const struct tfd_bytes *stats)
{
    return stats->failed || stats->size > TFD_TRACED_STEP_SIZE_MAX;
}

static void put_metadata(struct tfd_bytes *b, const struct tfd_bytes *stats)
{
    size_t mark;

    if (is_too_large(stats)) {
        tfd_pb_put_bool(b, STEP(too_large), true);
        return;
    }
    mark = tfd_pb_begin(b, STEP(metadata));
    tfd_pb_put_str_always(b, tensorflow_RunMetadata_step_stats_tag,
                          tfd_bytes_view(stats));
    tfd_pb_finish(b, mark);
}

static void put_watched(struct tfd_bytes *b,
                        const struct tfd_watched_step *step,
                        const struct tfd_step_watched *x)
{
    size_t mark = tfd_pb_begin(b, tfd_TracedSteps_step_tag);

    tfd_pb_put_int(b, STEP(step_id), x->id);
    tfd_pb_put_str(b, STEP(session), tfd_str_of(x->session));
    tfd_pb_put_int(b, STEP(begin_us), step->begin_us);
    /* Rounded up, so that what ended within is within. */
    tfd_pb_put_int(b, STEP(end_us), tfd_clock_wall_us() + 1);
    tfd_pb_put_int(b, STEP(code), (int64_t)x->status->code);
    tfd_pb_put_str(b, STEP(error), tfd_str_of(x->status->text));
    put_metadata(b, &step->trace->stats);
    tfd_pb_finish(b, mark);
}

/* Of a step that does not fit nothing is kept, and of none after it. */
static void keep_watched(struct tfd_step_watch *w,
                         const struct tfd_watched_step *step,
                         const struct tfd_step_watched *x)
{
    const struct tfd_bytes *stats = &step->trace->stats;
    size_t size = is_too_large(stats) ? 0 : stats->size;

    w->full |= w->steps.size + size + BESIDE_STATS > TFD_TRACED_STEPS_SIZE_MAX;
    if (w->full)
        return;
    put_watched(&w->steps, step, x);
    w->kept++;
}

static void end_watched(struct tfd_tracer *t, struct tfd_watched_step *take,
                        const struct tfd_step_watched *x)
{
    struct tfd_step_watch *w = (struct tfd_step_watch *)t;

    if (w->active && take->watch == w->number)
        keep_watched(w, take, x);
    w->under_way--;
    tfd_bytes_deinit(&take->own.stats);
    tfd_bytes_deinit(&take->own.graphs);
    free(take);
}

static void check_watch(struct tfd_tracer *t)
{
    struct tfd_step_watch *w = (struct tfd_step_watch *)t;

    if (w->active && (w->full || w->steps.failed))
        tfd_step_watch_stop(w, "the limit on what is kept was reached");
    else if (w->active && w->kept == w->asked)
        tfd_step_watch_stop(w, NULL);
}

void tfd_step_watch_init(struct tfd_step_watch *w)
{
    static const struct tfd_tracer_ops ops = {begin_watched, end_watched,
                                              check_watch};

    *w = (struct tfd_step_watch){.tracer = {.ops = &ops}};
}
