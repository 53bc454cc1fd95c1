/*
 * stuck_ask.c - asks from task to task what a step that is stuck waits for, and
 * writes the line of the log when nobody is left to ask.
 */
#include "common/base/log.h"
#include "common/proto/peer.pb.h"
#include "daemon/worker/service/step_waits.h"
#include "daemon/worker/service/stuck_steps.h"
#include "daemon/worker/service/worker_service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A task that lives answers at once. */
#define ASK_US 2000000u
/* Tasks in a row; one that is asked twice ends it, too. */
#define HOPS_MAX 8
/* Of a task's part of a step, as it is told. */
#define OPS_MAX 1000000

struct tfd_stuck_question {
    struct tfd_worker_service *worker; /* NULL: it is gone */
    struct tfd_stuck_question *next;
    struct tfd_stuck_facts facts;
    int asked[HOPS_MAX]; /* peers */
    int hops;
    bool moves; /* the part of who was asked last */
};

/* ---- Lines and messages -------------------------------------------------- */

void tfd_stuck_write(enum tfd_log_level level, const struct tfd_stuck_facts *f)
{
    tfd_log(level, "step_stuck",
            "step=\"%lld\" session=%s seconds=%llu ops=%d waits=\"%s\"",
            (long long)f->step, f->session,
            (unsigned long long)(f->waited_us / 1000000), f->ops, f->waits);
}

void tfd_stuck_encode(struct tfd_bytes *b, const struct tfd_stuck_answer *a)
{
    tfd_pb_put_str(b, tfd_StepWaits_text_tag, tfd_str_of(a->facts.waits));
    tfd_pb_put_str(b, tfd_StepWaits_owes_tag, tfd_str_of(a->facts.owes));
    tfd_pb_put_bool(b, tfd_StepWaits_runs_tag, a->runs);
    tfd_pb_put_int(b, tfd_StepWaits_waited_us_tag, (int64_t)a->facts.waited_us);
    tfd_pb_put_int(b, tfd_StepWaits_ops_tag, a->facts.ops);
}

static void copy_text(char *to, size_t size, struct tfd_str from)
{
    snprintf(to, size, TFD_STR_FMT, TFD_STR_ARG(from));
}

/* A peer may say anything. */
static int ops_of(int64_t said)
{
    if (said < 0)
        return 0;
    return said < OPS_MAX ? (int)said : OPS_MAX;
}

void tfd_stuck_decode(struct tfd_str proto, struct tfd_stuck_answer *out)
{
    struct tfd_stuck_facts *facts = &out->facts;
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    *out = (struct tfd_stuck_answer){.runs = false};
    while (tfd_pb_next(&r, &f)) {
        switch (f.tag) {
        case tfd_StepWaits_text_tag:
            copy_text(facts->waits, sizeof(facts->waits), tfd_pb_str(&r, &f));
            break;
        case tfd_StepWaits_owes_tag:
            copy_text(facts->owes, sizeof(facts->owes), tfd_pb_str(&r, &f));
            break;
        case tfd_StepWaits_runs_tag:
            out->runs = tfd_pb_bool(&r, &f);
            break;
        case tfd_StepWaits_waited_us_tag:
            facts->waited_us = (uint64_t)tfd_pb_int64(&r, &f);
            break;
        case tfd_StepWaits_ops_tag:
            facts->ops = ops_of(tfd_pb_int64(&r, &f));
            break;
        default:
            break;
        }
    }
}

/* ---- Questions ----------------------------------------------------------- */

/* It has not moved while others were asked: an answer may have told of a part
 * that had just sent what is waited for. */
static bool still_waits(struct tfd_worker_service *w, int64_t step)
{
    struct tfd_step_waits waits;

    for (struct tfd_step *s = w->steps; s; s = s->next) {
        if (s->id != step)
            continue;
        tfd_step_waits_look(w, s, &waits);
        if (waits.mark != 0 && waits.mark == s->waits_mark)
            return true;
    }
    return false;
}

/* Somebody is at work on it: it is looked at again. */
static void forget_telling(struct tfd_worker_service *w, int64_t step)
{
    for (struct tfd_step *s = w->steps; s; s = s->next)
        if (s->id == step)
            s->waits_told = false;
}

static void end_question(struct tfd_stuck_question *q)
{
    struct tfd_stuck_question **at = &q->worker->stuck_questions;

    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    if (q->moves || !still_waits(q->worker, q->facts.step))
        forget_telling(q->worker, q->facts.step);
    else
        tfd_stuck_write(TFD_LOG_WARN, &q->facts);
    free(q);
}

/* The peer to ask next; -1: nobody, or who was asked before. */
static int next_peer(const struct tfd_stuck_question *q)
{
    struct tfd_peers *peers = q->worker->options.peers;
    int peer;

    if (!peers || !q->facts.owes[0] || q->hops == HOPS_MAX)
        return -1;
    peer = tfd_peers_find(peers, tfd_str_of(q->facts.owes));
    if (peer == tfd_peers_self(peers))
        return -1;
    for (int i = 0; i < q->hops; i++)
        if (q->asked[i] == peer)
            return -1;
    return peer;
}

static void add_answer(struct tfd_stuck_facts *f, const char *what,
                       struct tfd_str text)
{
    size_t used = strlen(f->waits);

    snprintf(f->waits + used, sizeof(f->waits) - used, "; there %s" TFD_STR_FMT,
             what, TFD_STR_ARG(text));
}

/* At work, or waits anew again and again. */
static bool has_moved(const struct tfd_stuck_question *q,
                      const struct tfd_stuck_answer *a)
{
    uint64_t limit_us = q->worker->options.stuck_after_us;

    return a->runs || (a->facts.ops > 0 && a->facts.waited_us < limit_us);
}

static void read_answer(struct tfd_stuck_question *q, struct tfd_str proto)
{
    struct tfd_stuck_answer a;

    tfd_stuck_decode(proto, &a);
    q->moves = has_moved(q, &a);
    memcpy(q->facts.owes, a.facts.owes, sizeof(q->facts.owes));
    if (q->moves)
        q->facts.owes[0] = '\0';
    add_answer(&q->facts, *a.facts.waits ? "" : "nothing waits",
               tfd_str_of(a.facts.waits));
}

static void ask_next(struct tfd_stuck_question *q);

static void waits_answered(void *ctx, const struct tfd_status *st,
                           const struct tfd_incoming *response)
{
    struct tfd_stuck_question *q = ctx;

    if (!q->worker) {
        free(q);
        return;
    }
    if (st->code == TFD_OK) {
        read_answer(q, response->proto);
    } else {
        q->facts.owes[0] = '\0';
        add_answer(&q->facts, "", tfd_str_of(tfd_code_name(st->code)));
    }
    ask_next(q);
}

/* Only a tfd has the method. */
static void ask_next(struct tfd_stuck_question *q)
{
    const struct tfd_outcall_options o = {.timeout_us = ASK_US};
    int peer = next_peer(q);
    struct tfd_channel *ch =
        peer < 0 ? NULL : tfd_peers_channel(q->worker->options.peers, peer);
    struct tfd_message m;

    if (!ch ||
        (tfd_channel_up(ch) && tfd_channel_protocol(ch) != TFD_PROTO_NATIVE)) {
        end_question(q);
        return;
    }
    q->asked[q->hops++] = peer;
    tfd_message_init(&m, true);
    tfd_pb_put_int(&m.proto, tfd_StepWaits_step_id_tag, q->facts.step);
    (void)tfd_channel_call(ch, TFD_METHOD_GetStepWaits, &m, &o, waits_answered,
                           q);
}

void tfd_stuck_ask(struct tfd_worker_service *w,
                   const struct tfd_stuck_facts *facts)
{
    struct tfd_stuck_question *q = calloc(1, sizeof(*q));

    if (!q) {
        tfd_stuck_write(TFD_LOG_WARN, facts);
        return;
    }
    q->worker = w;
    q->facts = *facts;
    q->next = w->stuck_questions;
    w->stuck_questions = q;
    ask_next(q);
}

void tfd_stuck_ask_stop(struct tfd_worker_service *w)
{
    for (struct tfd_stuck_question *q = w->stuck_questions; q; q = q->next)
        q->worker = NULL;
    w->stuck_questions = NULL;
}
