/*
 * stuck_watch.c - see stuck_watch.h.
 *
 *     look --> question: [ part | part | part ]   one for each task
 *                            |
 *                   all have answered --> one is at work, or waits not yet for
 *                                         so long: asked again at a later look
 *                                     --> the line
 */
#define _GNU_SOURCE 1 /* strdup() */
#include "daemon/stuck_watch.h"

#include "common/base/container.h"
#include "common/proto/peer.pb.h"
#include "daemon/master/facts/session_facts.h"
#include "daemon/worker/service/stuck_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOKS_PER_LIMIT 4
#define LOOK_MIN_US 25000u
/* A task that lives answers at once. */
#define ASK_US 2000000u
/* Questions at once, and tasks of one step that are asked. */
#define QUESTIONS_MAX 16
#define PARTS_MAX 1024

struct question;

/* One task's parts of the step. */
struct part {
    struct question *of;
    char task[TFD_DEVICE_NAME_MAX];
    int peer; /* -1: of a session's own cluster */
    bool told;
    enum tfd_code code; /* of the answer, and what it says */
    bool runs;
    int ops;
    uint64_t waited_us;
    char *words; /* NULL: none */
    char owes[TFD_DEVICE_NAME_MAX];
};

struct question {
    struct tfd_stuck_watch *watch; /* NULL: it is gone */
    struct question *next;
    int64_t step;
    uint64_t age_us;
    char session[TFD_SESSION_HANDLE_MAX + 1];
    int waiting; /* for answers, and for all to be asked */
    int count;
    struct part parts[];
};

struct tfd_stuck_watch {
    struct tfd_stuck_watch_options o;
    struct tfd_timer timer;
    struct question *questions;
    int asking;
    /* Of the steps that may be asked after, by their order: how many this look
     * has come by, with which it begins, and the first it had no room for. */
    int passed, first, left_out;
};

/* ---- The line ------------------------------------------------------------ */

struct line {
    struct tfd_stuck_facts facts;
    size_t used;
};

static void add_words(struct line *l, const char *before, const char *task,
                      const char *text)
{
    size_t room = sizeof(l->facts.waits) - l->used;
    int size =
        snprintf(l->facts.waits + l->used, room, "%s%s%s%s%s",
                 l->used ? "; " : "", before, task, *task ? ": " : "", text);

    if (size > 0)
        l->used += (size_t)size < room ? (size_t)size : room - 1;
}

static struct part *part_on(struct question *q, const char *task)
{
    for (int i = 0; *task && i < q->count; i++)
        if (strcmp(q->parts[i].task, task) == 0)
            return &q->parts[i];
    return NULL;
}

static const char *words_of(const struct part *p)
{
    if (p->code != TFD_OK)
        return tfd_code_name(p->code);
    return p->words ? p->words : "nothing waits";
}

/* From one part to who owes it, and so on. */
static void add_chain(struct line *l, struct question *q, struct part *p)
{
    while (*p->owes) {
        struct part *next = part_on(q, p->owes);

        if (next && next->told)
            return;
        add_words(l, "there ", "", next ? words_of(next) : "nothing waits");
        if (!next)
            return;
        next->told = true;
        p = next;
    }
}

static void write_line(struct question *q)
{
    int self = tfd_peers_self(q->watch->o.peers);
    struct line l = {.facts = {.step = q->step, .waited_us = q->age_us}};

    snprintf(l.facts.session, sizeof(l.facts.session), "%s", q->session);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < q->count; i++) {
            struct part *p = &q->parts[i];

            if (p->told || !p->words || (pass == 0) != (p->peer == self))
                continue;
            p->told = true;
            add_words(&l, pass ? "on " : "", pass ? p->task : "", words_of(p));
            add_chain(&l, q, p);
        }
    for (int i = 0; i < q->count; i++) {
        const struct part *p = &q->parts[i];

        l.facts.ops += p->ops;
        if (p->ops > 0 && p->waited_us < l.facts.waited_us)
            l.facts.waited_us = p->waited_us;
    }
    tfd_stuck_write(TFD_LOG_WARN, &l.facts);
}

/* ---- Answers ------------------------------------------------------------- */

/* Some part waits, none is at work, and none has only begun to wait. */
static bool is_stuck(const struct question *q)
{
    int ops = 0;

    for (int i = 0; i < q->count; i++) {
        const struct part *p = &q->parts[i];

        ops |= p->ops;
        if (p->runs ||
            (p->ops > 0 && p->waited_us < q->watch->o.stuck_after_us))
            return false;
    }
    return ops > 0;
}

/* The answers are not of one moment: a part that says nothing may just have
 * sent what another was waiting for when it was asked. */
static bool is_doubtful(struct question *q)
{
    for (int i = 0; i < q->count; i++) {
        const struct part *p = &q->parts[i];

        if ((p->code == TFD_OK && p->ops == 0) ||
            (*p->owes && !part_on(q, p->owes)))
            return true;
    }
    return false;
}

/* The step may have ended in between. */
static void note_answers(void *ctx, const struct tfd_master_step_facts *f)
{
    struct question *q = ctx;

    if (f->id != q->step || *f->stuck == TFD_STEP_STUCK)
        return;
    if (!is_stuck(q)) {
        *f->stuck = TFD_STEP_MOVES;
    } else if (*f->stuck == TFD_STEP_MOVES && is_doubtful(q)) {
        *f->stuck = TFD_STEP_MAY_BE_STUCK;
    } else {
        *f->stuck = TFD_STEP_STUCK;
        write_line(q);
    }
}

static void free_question(struct question *q)
{
    for (int i = 0; i < q->count; i++)
        free(q->parts[i].words);
    free(q);
}

static void end_question(struct question *q)
{
    struct tfd_stuck_watch *w = q->watch;
    struct question **at = &w->questions;

    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    w->asking--;
    tfd_session_facts_steps(w->o.master, note_answers, q);
    free_question(q);
}

static void one_answer_less(struct question *q)
{
    if (--q->waiting > 0)
        return;
    if (q->watch)
        end_question(q);
    else
        free_question(q);
}

static void keep_answer(struct part *p, const struct tfd_stuck_answer *a)
{
    p->runs = a->runs;
    p->ops = a->facts.ops;
    p->waited_us = a->facts.waited_us;
    p->words = *a->facts.waits ? strdup(a->facts.waits) : NULL;
    memcpy(p->owes, a->facts.owes, sizeof(p->owes));
}

static void waits_answered(void *ctx, const struct tfd_status *st,
                           const struct tfd_incoming *response)
{
    struct part *p = ctx;
    struct tfd_stuck_answer a;

    p->code = st->code;
    if (st->code == TFD_OK) {
        tfd_stuck_decode(response->proto, &a);
        keep_answer(p, &a);
    }
    one_answer_less(p->of);
}

/* ---- Questions ----------------------------------------------------------- */

/* Only a tfd has the method. */
static void ask_part(const struct tfd_stuck_watch *w, struct part *p)
{
    const struct tfd_outcall_options o = {.timeout_us = ASK_US};
    struct tfd_channel *ch = NULL;
    struct tfd_stuck_answer here;
    struct tfd_message m;

    if (p->peer == tfd_peers_self(w->o.peers)) {
        tfd_stuck_steps_ask_here(w->o.worker, p->of->step, &here);
        keep_answer(p, &here);
        return;
    }
    if (p->peer >= 0)
        ch = tfd_peers_channel(w->o.peers, p->peer);
    if (!ch || !tfd_channel_up(ch) ||
        tfd_channel_protocol(ch) != TFD_PROTO_NATIVE) {
        p->code = TFD_UNAVAILABLE;
        return;
    }
    p->of->waiting++;
    tfd_message_init(&m, true);
    tfd_pb_put_int(&m.proto, tfd_StepWaits_step_id_tag, p->of->step);
    (void)tfd_channel_call(ch, TFD_METHOD_GetStepWaits, &m, &o, waits_answered,
                           p);
}

static void add_part(const struct tfd_stuck_watch *w, struct question *q,
                     const char *task)
{
    struct part *p = &q->parts[q->count];

    p->of = q;
    p->peer = tfd_peers_find(w->o.peers, tfd_str_of(task));
    snprintf(p->task, sizeof(p->task), "%s", task);
    q->count++;
}

static struct question *new_question(struct tfd_stuck_watch *w,
                                     const struct tfd_master_step_facts *f)
{
    size_t most = f->pending < PARTS_MAX ? (size_t)f->pending : PARTS_MAX;
    struct question *q = calloc(1, sizeof(*q) + most * sizeof(q->parts[0]));

    if (!q)
        return NULL;
    q->watch = w;
    q->step = f->id;
    q->age_us = f->age_us;
    snprintf(q->session, sizeof(q->session), "%s", f->plan->session->handle);
    for (int i = 0; i < f->parts && (size_t)q->count < most; i++) {
        const char *task = tfd_master_step_owes(f->step, i);

        if (task)
            add_part(w, q, task);
    }
    q->next = w->questions;
    w->questions = q;
    w->asking++;
    return q;
}

static bool is_asked(const struct tfd_stuck_watch *w, int64_t step)
{
    for (const struct question *q = w->questions; q; q = q->next)
        if (q->step == step)
            return true;
    return false;
}

/* Steps that are old and move, as many as there are questions, would else keep
 * all others from being asked after. */
static bool has_turn(struct tfd_stuck_watch *w)
{
    int at = w->passed++;

    if (at < w->first)
        return false;
    if (w->asking < QUESTIONS_MAX)
        return true;
    if (w->left_out < 0)
        w->left_out = at;
    return false;
}

/* Answers come later: what a question ends with walks over the steps, too. */
static void begin_question(void *ctx, const struct tfd_master_step_facts *f)
{
    struct tfd_stuck_watch *w = ctx;
    struct question *q;

    if (f->age_us < w->o.stuck_after_us || f->pending == 0 ||
        *f->stuck == TFD_STEP_STUCK || f->plan->partial || !has_turn(w) ||
        is_asked(w, f->id))
        return;
    q = new_question(w, f);
    if (!q)
        return;
    q->waiting = 1;
    for (int i = 0; i < q->count; i++)
        ask_part(w, &q->parts[i]);
}

static void start_look(struct tfd_stuck_watch *w)
{
    uint64_t delay = w->o.stuck_after_us / LOOKS_PER_LIMIT;

    (void)!tfd_timer_start(&w->timer, delay < LOOK_MIN_US ? LOOK_MIN_US : delay,
                           NULL);
}

/* Those that were begun now are all asked. */
static void settle_new(struct tfd_stuck_watch *w, const struct question *before)
{
    struct question *q = w->questions;

    while (q && q != before) {
        struct question *next = q->next;

        one_answer_less(q);
        q = next;
    }
}

static void look(struct tfd_timer *t)
{
    struct tfd_stuck_watch *w =
        TFD_CONTAINER_OF(t, struct tfd_stuck_watch, timer);
    const struct question *before = w->questions;

    w->passed = 0;
    w->left_out = -1;
    tfd_session_facts_steps(w->o.master, begin_question, w);
    w->first = w->left_out < 0 ? 0 : w->left_out; /* the others' turn is next */
    settle_new(w, before);
    start_look(w);
}

/* ---- The watch ----------------------------------------------------------- */

enum tfd_code tfd_stuck_watch_new(const struct tfd_stuck_watch_options *o,
                                  struct tfd_stuck_watch **out,
                                  struct tfd_status *st)
{
    struct tfd_stuck_watch *w = calloc(1, sizeof(*w));

    if (!w)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "No memory to watch for stuck steps");
    w->o = *o;
    tfd_timer_init(&w->timer, o->loop, look);
    if (o->stuck_after_us > 0)
        start_look(w);
    *out = w;
    return TFD_OK;
}

void tfd_stuck_watch_free(struct tfd_stuck_watch *w)
{
    if (!w)
        return;
    tfd_timer_stop(&w->timer);
    for (struct question *q = w->questions; q; q = q->next)
        q->watch = NULL;
    free(w);
}
