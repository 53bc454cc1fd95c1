/*
 * task_state.c - see task_state.h.
 */
#include "daemon/status/task_state.h"

#include "common/base/alloc.h"
#include "common/base/log_line.h"
#include "common/base/pbio.h"
#include "common/proto/peer.pb.h"
#include "config/version.h"
#include "daemon/eager/eager.h"
#include "daemon/master/facts/session_facts.h"
#include "daemon/worker/service/stuck_steps.h"
#include "daemon/worker/service/worker.h"
#include "rpc/core/peers.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define NUMBER(field)                                                       \
    {                                                                       \
        tfd_TaskState_##field##_tag, offsetof(struct tfd_task_state, field) \
    }

static const struct {
    uint32_t tag;
    size_t offset;
} numbers[] = {
    NUMBER(up_us),
    NUMBER(draining),
    NUMBER(sessions),
    NUMBER(contexts),
    NUMBER(steps_running),
    NUMBER(steps_done),
    NUMBER(steps_us),
    NUMBER(oldest_step_us),
    NUMBER(worker_steps_running),
    NUMBER(worker_steps_done),
    NUMBER(memory_bytes),
    NUMBER(memory_limit),
    NUMBER(resources),
    NUMBER(warnings),
};

#define NUMBER_COUNT (sizeof(numbers) / sizeof(numbers[0]))

static uint64_t *number_of(struct tfd_task_state *s, size_t i)
{
    return (uint64_t *)((char *)s + numbers[i].offset);
}

/* ---- Of this task -------------------------------------------------------- */

static void note_oldest(void *ctx, const struct tfd_master_step_facts *f)
{
    uint64_t *oldest = ctx;

    if (f->age_us > *oldest)
        *oldest = f->age_us;
}

/* Those that wait for longest stay. */
static void note_waiting(void *ctx, const struct tfd_stuck_step *step)
{
    struct tfd_task_state *s = ctx;
    int at = s->waiting_count;

    if (!*step->waits)
        return;
    while (at > 0 && s->waiting[at - 1].waited_us < step->waited_us)
        at--;
    if (at == TFD_TASK_STATE_WAITING_MAX)
        return;
    if (s->waiting_count < TFD_TASK_STATE_WAITING_MAX)
        s->waiting_count++;
    memmove(&s->waiting[at + 1], &s->waiting[at],
            (size_t)(s->waiting_count - 1 - at) * sizeof(s->waiting[0]));
    s->waiting[at].step = step->step;
    s->waiting[at].waited_us = step->waited_us;
    snprintf(s->waiting[at].waits, sizeof(s->waiting[at].waits), "%.*s",
             TFD_TASK_STATE_WAITS_SIZE - 1, step->waits);
}

static void fill_work(const struct tfd_view *v, struct tfd_task_state *s)
{
    struct tfd_worker_counts worker = tfd_worker_counts(v->worker);
    struct tfd_eager_counts eager = tfd_eager_counts(v->eager);

    s->sessions = (uint64_t)tfd_master_session_count(v->master);
    s->contexts = (uint64_t)eager.contexts;
    s->steps_running =
        (uint64_t)(tfd_master_step_count(v->master) + eager.runs);
    s->steps_done = tfd_master_steps_done(v->master) + eager.runs_done;
    s->steps_us = tfd_master_step_times(v->master)->sum_us;
    s->worker_steps_running = (uint64_t)worker.steps;
    s->worker_steps_done = worker.steps_done;
    s->resources = (uint64_t)worker.resources;
    tfd_session_facts_steps(v->master, note_oldest, &s->oldest_step_us);
    tfd_stuck_steps_each(v->worker, TFD_STATUS_STEPS_MAX, note_waiting, s);
}

void tfd_task_state_fill(const struct tfd_view *v, struct tfd_task_state *out)
{
    struct tfd_log_kept kept[TFD_LOG_KEPT_MAX];
    struct tfd_alloc_stats memory;

    memset(out, 0, sizeof(*out));
    snprintf(out->task, sizeof(out->task), "%s",
             tfd_peers_task(v->peers, tfd_peers_self(v->peers)));
    snprintf(out->version, sizeof(out->version), "%s", TFD_VERSION);
    out->incarnation = v->incarnation;
    out->up_us = tfd_loop_now_us(v->loop) - v->start_us;
    out->draining = tfd_service_draining(v->service);
    fill_work(v, out);
    tfd_alloc_stats(&memory);
    out->memory_bytes = memory.in_use;
    out->memory_limit = (uint64_t)v->config->memory_limit;
    (void)tfd_log_ring_read(kept, &out->warnings);
}

/* ---- Messages ------------------------------------------------------------ */

void tfd_task_state_encode(struct tfd_bytes *b, const struct tfd_task_state *s)
{
    struct tfd_task_state copy = *s;

    tfd_pb_put_str(b, tfd_TaskState_task_tag, tfd_str_of(s->task));
    tfd_pb_put_str(b, tfd_TaskState_version_tag, tfd_str_of(s->version));
    tfd_pb_put_fixed64(b, tfd_TaskState_incarnation_tag, s->incarnation);
    for (size_t i = 0; i < NUMBER_COUNT; i++)
        tfd_pb_put_int(b, numbers[i].tag, (int64_t)*number_of(&copy, i));
    for (int i = 0; i < s->waiting_count; i++) {
        size_t mark = tfd_pb_begin(b, tfd_TaskState_waiting_tag);

        tfd_pb_put_int(b, tfd_WaitingStep_step_tag, s->waiting[i].step);
        tfd_pb_put_int(b, tfd_WaitingStep_waited_us_tag,
                       (int64_t)s->waiting[i].waited_us);
        tfd_pb_put_str(b, tfd_WaitingStep_waits_tag,
                       tfd_str_of(s->waiting[i].waits));
        tfd_pb_finish(b, mark);
    }
}

static void copy_text(char *to, size_t room, struct tfd_str from)
{
    size_t size = from.size < room - 1 ? from.size : room - 1;

    if (size > 0)
        memcpy(to, from.data, size);
    to[size] = '\0';
}

static void take_state_number(struct tfd_task_state *s, struct tfd_pb_reader *r,
                              const struct tfd_pb_field *f)
{
    for (size_t i = 0; i < NUMBER_COUNT; i++)
        if (numbers[i].tag == f->tag)
            *number_of(s, i) = (uint64_t)tfd_pb_int64(r, f);
}

/* Beyond those that there is room for they are left out. */
static enum tfd_code read_waiting(struct tfd_str proto,
                                  struct tfd_task_state *s,
                                  struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_waiting_step *step = &s->waiting[s->waiting_count];
    struct tfd_pb_field f;

    if (s->waiting_count == TFD_TASK_STATE_WAITING_MAX)
        return TFD_OK;
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tfd_WaitingStep_step_tag)
            step->step = tfd_pb_int64(&r, &f);
        else if (f.tag == tfd_WaitingStep_waited_us_tag)
            step->waited_us = (uint64_t)tfd_pb_int64(&r, &f);
        else if (f.tag == tfd_WaitingStep_waits_tag)
            copy_text(step->waits, sizeof(step->waits), tfd_pb_str(&r, &f));
    }
    s->waiting_count++;
    return tfd_pb_end(&r, "WaitingStep", st);
}

enum tfd_code tfd_task_state_decode(struct tfd_str proto,
                                    struct tfd_task_state *out,
                                    struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    memset(out, 0, sizeof(*out));
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tfd_TaskState_task_tag)
            copy_text(out->task, sizeof(out->task), tfd_pb_str(&r, &f));
        else if (f.tag == tfd_TaskState_version_tag)
            copy_text(out->version, sizeof(out->version), tfd_pb_str(&r, &f));
        else if (f.tag == tfd_TaskState_incarnation_tag)
            out->incarnation = f.number;
        else if (f.tag == tfd_TaskState_waiting_tag)
            TFD_TRY(read_waiting(tfd_pb_str(&r, &f), out, st));
        else
            take_state_number(out, &r, &f);
    }
    return tfd_pb_end(&r, "TaskState", st);
}
