/*
 * stuck_ask.c - asks from task to task what a step that is stuck waits for, and
 * writes the line of the log when nobody is left to ask.
 */
#include "common/base/log.h"
#include "common/proto/peer.pb.h"
#include "daemon/worker/service/stuck_steps.h"
#include "daemon/worker/service/worker_service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A task that lives answers at once. */
#define ASK_US 2000000u
/* Tasks in a row; one that is asked twice ends it, too. */
#define HOPS_MAX 8

struct tfd_stuck_question {
    struct tfd_worker_service *worker; /* NULL: it is gone */
    struct tfd_stuck_question *next;
    struct tfd_stuck_facts facts;
    int asked[HOPS_MAX]; /* peers */
    int hops;
};

static void write_line(const struct tfd_stuck_facts *f)
{
    tfd_log(TFD_LOG_WARN, "step_stuck",
            "step=\"%lld\" session=%s seconds=%llu ops=%d waits=\"%s\"",
            (long long)f->step, f->session,
            (unsigned long long)(f->waited_us / 1000000), f->ops, f->waits);
}

static void end_question(struct tfd_stuck_question *q)
{
    struct tfd_stuck_question **at = &q->worker->stuck_questions;

    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    write_line(&q->facts);
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

static void read_answer(struct tfd_stuck_facts *f, struct tfd_str proto)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_str text = TFD_STR_EMPTY, owes = TFD_STR_EMPTY;
    struct tfd_pb_field field;

    while (tfd_pb_next(&r, &field)) {
        if (field.tag == tfd_StepWaits_text_tag)
            text = tfd_pb_str(&r, &field);
        else if (field.tag == tfd_StepWaits_owes_tag)
            owes = tfd_pb_str(&r, &field);
    }
    f->owes[0] = '\0';
    if (owes.size < sizeof(f->owes)) {
        memcpy(f->owes, owes.data, owes.size);
        f->owes[owes.size] = '\0';
    }
    add_answer(f, text.size ? "" : "nothing waits", text);
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
        read_answer(&q->facts, response->proto);
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
        write_line(facts);
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
